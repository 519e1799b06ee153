//! Copies of a private pack that tell whose they were: one for each recipient, with a canary of its own in each text file, and the
//! wording that is drawn for it where the author says that two do as well. A leaked text is held against the owner's ledger.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use pibench_suite::depth::too_deep;
use pibench_vault::Recipient;
use pibench_vault::files::Files;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::PackError;
use crate::contents::sha256;

/// The author's file of wordings, in the pack's own folder. It is in no private copy.
pub const WORDINGS: &str = "wordings.toml";

/// The owner's ledger, beside the copies.
pub const LEDGER: &str = "ledger.json";

/// What canaries begin with.
pub const CANARY: &str = "pibench-canary-";

const VERSION: u32 = 1;

/// Bytes of the file of wordings, and of a ledger.
pub const WORDINGS_LIMIT: u64 = 1 << 20;
pub const LEDGER_LIMIT: u64 = 64 << 20;

/// Letters of a wording: a clause, not a page.
const WORDING_LIMIT: usize = 200;
const WORDINGS_MOST: usize = 1_000;

/// `wordings.toml`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WordingsFile {
    version: u32,
    #[serde(default)]
    wordings: Vec<Wording>,
}

/// Two wordings of which either does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// A file of the pack that is encrypted.
    pub path: String,
    /// As it stands there, once.
    pub text: String,
    /// What may stand there as well.
    pub other: String,
}

/// Who got what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// 1.
    pub version: u32,
    pub name: String,
    pub release: String,
    pub wordings: Vec<Wording>,
    pub copies: Vec<Copy>,
}

/// One recipient's copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// The public key.
    pub recipient: String,
    /// Of an OpenSSH key; else empty.
    pub comment: String,
    /// The archive's name.
    pub archive: String,
    pub canary: String,
    /// Of each wording, whether it is the other one.
    pub other: Vec<bool>,
}

impl Copy {
    /// Whose it is, for people: the key, and behind it what its holder wrote beside it, which anybody may write.
    pub fn shown(&self) -> String {
        let key = fingerprint(&self.recipient).unwrap_or_else(|| self.recipient.clone());
        if self.comment.is_empty() {
            key
        } else {
            format!("{key} (calls itself {})", self.comment)
        }
    }
}

/// Of a key of OpenSSH, as `ssh-keygen -l` prints it.
fn fingerprint(recipient: &str) -> Option<String> {
    let (_, key) = recipient.split_once(' ')?;
    let key = STANDARD.decode(key).ok()?;
    let digest = STANDARD_NO_PAD.encode(Sha256::digest(key));
    Some(format!("SHA256:{digest}"))
}

/// Reads the author's wordings, and holds them against the files. The errors, one for each that is wrong, read after a colon.
pub fn wordings(text: &str, files: &Files) -> Result<Vec<Wording>, Vec<String>> {
    let wordings = read(text).map_err(|reason| vec![reason])?;
    let mut marked = files.clone();
    let mut wrong = Vec::new();
    for (at, wording) in wordings.iter().enumerate() {
        if let Err(reason) = place(&mut marked, wording) {
            let number = at + 1;
            wrong.push(format!("wording {number}, of `{}`: {reason}", wording.path));
        }
    }
    if wrong.is_empty() {
        Ok(wordings)
    } else {
        Err(wrong)
    }
}

/// Reads the author's wordings. The error reads after a colon.
pub fn read(text: &str) -> Result<Vec<Wording>, String> {
    if too_deep(text).is_some() {
        return Err("nested too deep".into());
    }
    let file: WordingsFile = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.version != VERSION {
        return Err(format!("version {} is not known", file.version));
    }
    if file.wordings.len() > WORDINGS_MOST {
        return Err(format!("more than {WORDINGS_MOST} wordings"));
    }
    Ok(file.wordings)
}

/// Puts the other wording into a file.
fn place(files: &mut Files, wording: &Wording) -> Result<(), String> {
    let Wording { path, text, other } = wording;
    for one in [text, other] {
        if one.is_empty() || one.chars().count() > WORDING_LIMIT || one.contains('\n') {
            return Err(format!(
                "a wording has 1 to {WORDING_LIMIT} letters, in one line"
            ));
        }
    }
    let bytes = files
        .get_mut(path)
        .ok_or("no file of that name is encrypted")?;
    let content = std::str::from_utf8(bytes).map_err(|_| "it is no text")?;
    let count = content.matches(text.as_str()).count();
    if count != 1 {
        return Err(format!(
            "`text` stands in it {count} times, and has to stand once"
        ));
    }
    if content.contains(other.as_str()) {
        return Err("`other` stands in it too".into());
    }
    let changed = content.replacen(text.as_str(), other, 1);
    if Path::new(path).extension().is_some_and(|end| end == "toml")
        && let Err(error) = toml::from_str::<toml::Table>(&changed)
    {
        return Err(format!("with `other` it is no TOML: {error}"));
    }
    *bytes = changed.into_bytes();
    Ok(())
}

/// Draws what each recipient gets: a canary, and wordings that no other has all of. The author's own text is nobody's copy.
pub fn draw(
    (name, release): (&str, &str),
    wordings: Vec<Wording>,
    recipients: &[Recipient],
) -> Result<Ledger, PackError> {
    let refused = |reason: String| PackError::refused(name, reason);
    let enough = wordings.len() >= 32 || recipients.len() < 1 << wordings.len();
    if !wordings.is_empty() && !enough {
        return Err(refused(format!(
            "{} wordings tell {} recipients apart, and there are {}; write more into {WORDINGS}",
            wordings.len(),
            (1_u64 << wordings.len()) - 1,
            recipients.len()
        )));
    }
    let mut copies: Vec<Copy> = Vec::new();
    for recipient in recipients {
        let mut drawn = [0; 144];
        let other = loop {
            getrandom::fill(&mut drawn).map_err(|error| refused(error.to_string()))?;
            let bits = drawn[16..].iter();
            let bits = bits.flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
            let other: Vec<bool> = bits.take(wordings.len()).collect();
            let is_new = other.contains(&true) && copies.iter().all(|copy| copy.other != other);
            if wordings.is_empty() || is_new {
                break other;
            }
        };
        let number = copies.len() + 1;
        copies.push(Copy {
            recipient: recipient.text.clone(),
            comment: recipient.comment.clone(),
            archive: format!("{name}-{release}-{number:03}.pibench"),
            canary: format!("{CANARY}{}", &sha256(&drawn[..16])[..32]),
            other,
        });
    }
    Ok(Ledger {
        version: VERSION,
        name: name.to_owned(),
        release: release.to_owned(),
        wordings,
        copies,
    })
}

/// The files of one copy.
pub fn mark(files: &Files, ledger: &Ledger, copy: &Copy) -> Result<Files, String> {
    let mut files = files.clone();
    for (wording, other) in ledger.wordings.iter().zip(&copy.other) {
        if *other {
            place(&mut files, wording)?;
        }
    }
    for (path, bytes) in &mut files {
        if Path::new(path).extension().is_some_and(|end| end == "toml") {
            let told = "of a private suite; no part of it belongs into training data or on a page";
            bytes.extend(format!("\n# {} {told}\n", copy.canary).bytes());
        }
    }
    Ok(files)
}

/// What speaks for one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace<'a> {
    pub copy: &'a Copy,
    pub has_canary: bool,
    /// Wordings in the text that are this copy's, of those of which it has one.
    pub agree: usize,
    pub of: usize,
}

/// What of the ledger stands in a leaked text.
#[derive(Debug)]
struct Marks {
    text: String,
    /// Wordings of which one of the pair stands there, and whether it is the other one.
    single: BTreeMap<usize, bool>,
    /// Pairs of which both stand there.
    both: usize,
}

impl Marks {
    fn of(ledger: &Ledger, leaked: &str) -> Self {
        // Where lines are broken is nobody's mark.
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut marks = Self {
            text: plain(leaked),
            single: BTreeMap::new(),
            both: 0,
        };
        for (at, wording) in ledger.wordings.iter().enumerate() {
            let stands = |one: &str| marks.text.contains(&plain(one));
            match (stands(&wording.text), stands(&wording.other)) {
                (true, true) => marks.both += 1,
                (false, false) => {}
                (_, other) => {
                    marks.single.insert(at, other);
                }
            }
        }
        marks
    }
}

/// Holds a leaked text against the ledger: the likeliest first, those of whom nothing speaks left out.
pub fn trace<'a>(ledger: &'a Ledger, leaked: &str) -> Vec<Trace<'a>> {
    let Marks { text, single, .. } = Marks::of(ledger, leaked);
    let mut traces: Vec<_> = ledger
        .copies
        .iter()
        .map(|copy| Trace {
            copy,
            has_canary: text.contains(&copy.canary),
            agree: single
                .iter()
                .filter(|(at, other)| copy.other.get(**at) == Some(other))
                .count(),
            of: single.len(),
        })
        .filter(|trace| trace.has_canary || trace.agree > 0)
        .collect();
    traces.sort_by_key(|trace| std::cmp::Reverse((trace.has_canary, trace.agree)));
    traces
}

/// How many wordings of a leaked text are the author's own, where nothing in it is of a copy alone; 0 where something is.
pub fn unmarked(ledger: &Ledger, leaked: &str) -> usize {
    let Marks { text, single, both } = Marks::of(ledger, leaked);
    let mut canaries = ledger.copies.iter().map(|copy| &copy.canary);
    let is_of_copy = both > 0 || single.values().any(|other| *other);
    if is_of_copy || canaries.any(|canary| text.contains(canary)) {
        return 0;
    }
    single.len()
}

/// Of how many wordings both stand in a leaked text, as no single copy has them.
pub fn pooled(ledger: &Ledger, leaked: &str) -> usize {
    Marks::of(ledger, leaked).both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        [
            ("a.toml", "t = 'in the morning, as a rule'\n"),
            ("b.bin", "\u{0}"),
        ]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into()
    }

    const TWO: &str = "version = 1\n[[wordings]]\npath = 'a.toml'\ntext = 'in the morning'\nother = 'early in the day'\n\
        [[wordings]]\npath = 'a.toml'\ntext = 'as a rule'\nother = 'mostly'\n";

    #[test]
    fn wordings_stand_once_and_leave_the_file_readable() {
        assert_eq!(wordings(TWO, &files()).unwrap().len(), 2);
        let check = |from: &str, to: &str, expected: &str| {
            let said = wordings(&TWO.replacen(from, to, 1), &files()).unwrap_err();
            assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
        };
        check("'in the morning'", "'at noon'", "stands in it 0 times");
        check("'early in the day'", "'rule'", "stands in it too");
        check("'early in the day'", "\"it's early\"", "no TOML");
        check("a.toml", "c.toml", "no file of that name");
        check("'a.toml'", "'b.bin'", "0 times");
        check("version = 1", "version = 2", "not known");
        let both = TWO.replace("a.toml", "c.toml");
        assert_eq!(wordings(&both, &files()).unwrap_err().len(), 2);
    }

    #[test]
    fn a_recipient_is_called_by_the_key_and_its_comment_is_its_own_word() {
        let key =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILZHkRYjOGZfpUZSm+w3gJCYFPEkhOHwYj1Ba8fYVBYd";
        let copy = |recipient: &str, comment: &str| Copy {
            recipient: recipient.into(),
            comment: comment.into(),
            archive: "p-1.0.0-001.pibench".into(),
            canary: String::new(),
            other: Vec::new(),
        };
        let printed = "SHA256:ip85lZQKLccqgGHoDLtWHy2p1v2X4xiHiMSLNKS2i4Q";
        assert_eq!(copy(key, "").shown(), printed);
        let named = format!("{printed} (calls itself root@vm)");
        assert_eq!(copy(key, "root@vm").shown(), named);
        assert_eq!(copy("age1qqq", "").shown(), "age1qqq");
    }

    #[test]
    fn a_leaked_copy_tells_whose_it_was_by_canary_or_wording() {
        let keys =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILZHkRYjOGZfpUZSm+w3gJCYFPEkhOHwYj1Ba8fYVBYd";
        let one = Recipient::read(&format!("{keys} ana@lab.example")).unwrap();
        let recipients: Vec<_> = (0..3).map(|_| one[0].clone()).collect();
        let two = wordings(TWO, &files()).unwrap();
        let ledger = draw(("p", "1.0.0"), two.clone(), &recipients).unwrap();
        for copy in &ledger.copies {
            let marked = mark(&files(), &ledger, copy).unwrap();
            let text = String::from_utf8(marked["a.toml"].clone()).unwrap();
            assert_eq!(marked["b.bin"], files()["b.bin"]);
            let found = trace(&ledger, &text);
            assert!(found[0].copy == copy && found[0].has_canary, "{text}");
            // Somebody took the canary out, and broke the lines anew.
            let (text, _) = text.split_once("\n#").unwrap();
            let found = trace(&ledger, &text.replace(' ', "\n"));
            assert!(found[0].copy == copy && (found[0].agree, found[0].of) == (2, 2));
            assert!(found.iter().skip(1).all(|other| other.agree < 2));
        }
        assert_eq!(trace(&ledger, "something else"), []);
        let four: Vec<_> = (0..4).map(|_| one[0].clone()).collect();
        let said = draw(("p", "1.0.0"), two, &four).unwrap_err().to_string();
        assert!(said.contains("tell 3 recipients apart"), "{said}");
    }

    #[test]
    fn the_authors_own_text_is_nobodys_copy_and_two_copies_together_are_told() {
        let keys =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILZHkRYjOGZfpUZSm+w3gJCYFPEkhOHwYj1Ba8fYVBYd";
        let one = Recipient::read(keys).unwrap();
        let recipients: Vec<_> = (0..3).map(|_| one[0].clone()).collect();
        let two = wordings(TWO, &files()).unwrap();
        let ledger = draw(("p", "1.0.0"), two, &recipients).unwrap();
        let text = |files: &Files| String::from_utf8(files["a.toml"].clone()).unwrap();
        let own = text(&files());
        assert_eq!((unmarked(&ledger, &own), pooled(&ledger, &own)), (2, 0));
        // No copy is taken for it, nor it for a copy.
        assert!(trace(&ledger, &own).iter().all(|one| one.agree < 2));
        for copy in &ledger.copies {
            let marked = text(&mark(&files(), &ledger, copy).unwrap());
            let (bare, _) = marked.split_once("\n#").unwrap();
            for leaked in [marked.as_str(), bare, copy.canary.as_str()] {
                assert_eq!(unmarked(&ledger, leaked), 0, "{leaked}");
                assert_eq!(pooled(&ledger, leaked), 0, "{leaked}");
            }
            let other = copy.other.iter().filter(|other| **other).count();
            assert_eq!(pooled(&ledger, &format!("{own}{bare}")), other);
        }
        assert_eq!(unmarked(&ledger, "something else"), 0);
    }
}
