//! Who may sign: the file `allowed_signers` and the list of revoked keys, as ssh-keygen(1) describes them. What this reader
//! does not hold to is refused by name, and never passed over.

use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ssh_key::public::KeyData;
use ssh_key::{HashAlg, PublicKey};

use crate::{SignatureError, Signer, key};

/// Bytes of a file.
const FILE_LIMIT: u64 = 1 << 20;

/// Bytes of a line.
const LINE_LIMIT: usize = 16 << 10;

/// Those who may sign, and the keys that may no longer.
#[derive(Debug, Clone, Default)]
pub struct AllowedSigners {
    /// For messages.
    shown: String,
    entries: Vec<Entry>,
    revoked: Vec<KeyData>,
    /// The file of these, for messages.
    revoked_shown: String,
}

/// A line of the file.
#[derive(Debug, Clone)]
struct Entry {
    principals: Vec<String>,
    /// Patterns; None where the line allows every namespace.
    namespaces: Option<Vec<String>>,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
    key: KeyData,
}

impl AllowedSigners {
    /// Reads the file of those who may sign.
    pub fn read(path: &Path) -> Result<Self, SignatureError> {
        let shown = path.display().to_string();
        Self::parse(&shown, &text_of(path, &shown)?)
    }

    /// Reads the text of such a file; `shown` is what messages call it.
    pub fn parse(shown: &str, text: &str) -> Result<Self, SignatureError> {
        let entries = lines(shown, text, entry)?;
        if entries.is_empty() {
            return Err(SignatureError::Read {
                what: shown.to_owned(),
                reason: "it names nobody; a line is `NAME@HOST ssh-ed25519 AAAA...`".into(),
            });
        }
        Ok(Self {
            shown: shown.to_owned(),
            entries,
            revoked: Vec::new(),
            revoked_shown: String::new(),
        })
    }

    /// Takes the keys of a file (one public key a line) for revoked, whoever they are of.
    pub fn revoke(mut self, path: &Path) -> Result<Self, SignatureError> {
        let shown = path.display().to_string();
        let text = text_of(path, &shown)?;
        self.revoked = lines(&shown, &text, |line| public_key(line.trim()))?;
        self.revoked_shown = shown;
        Ok(self)
    }

    /// Who holds the key, as far as a line allows it for `namespace` at the time `at`.
    pub(crate) fn signer(
        &self,
        key: &PublicKey,
        namespace: &str,
        at: Timestamp,
    ) -> Result<Signer, SignatureError> {
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        if self.revoked.contains(key.key_data()) {
            return Err(SignatureError::Revoked {
                fingerprint,
                by: self.revoked_shown.clone(),
            });
        }
        let own = self
            .entries
            .iter()
            .filter(|entry| entry.key == *key.key_data());
        let mut refused = None;
        for entry in own {
            match entry.allows(namespace, at) {
                Ok(()) => {
                    return Ok(Signer {
                        principal: entry.principals[0].clone(),
                        aliases: entry.principals[1..].to_vec(),
                        fingerprint,
                    });
                }
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        Err(match refused {
            Some(reason) => SignatureError::NotAllowed {
                fingerprint,
                signers: self.shown.clone(),
                reason,
            },
            None => SignatureError::Unknown {
                fingerprint,
                key: key.to_openssh().unwrap_or_default().trim_end().to_owned(),
                signers: self.shown.clone(),
            },
        })
    }
}

impl Entry {
    /// The error reads after "allows the key".
    fn allows(&self, namespace: &str, at: Timestamp) -> Result<(), String> {
        let of = self.principals.join(",");
        if let Some(patterns) = &self.namespaces
            && !allowed_by(patterns, namespace)
        {
            let patterns = patterns.join(",");
            return Err(format!(
                "of {of} for `{patterns}` only, and not for `{namespace}`"
            ));
        }
        match (self.after, self.before) {
            (Some(after), _) if at < after => Err(format!("of {of} from {after} on only")),
            (_, Some(before)) if at > before => {
                Err(format!("of {of} until {before} only: it is expired"))
            }
            _ => Ok(()),
        }
    }
}

fn text_of(path: &Path, shown: &str) -> Result<String, SignatureError> {
    let failed = |reason: String| SignatureError::Read {
        what: shown.to_owned(),
        reason,
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(FILE_LIMIT + 1).read_to_end(&mut bytes));
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(failed(format!("it has more than {FILE_LIMIT} bytes")));
    }
    if bytes.starts_with(b"SSHKRL\n\0") {
        return Err(failed(
            "it is a KRL, which is not read here; write the revoked public keys into a file, one a line".into(),
        ));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is no UTF-8".into()))
}

/// What the lines say that are neither empty nor comments. An error names the line.
fn lines<T>(
    shown: &str,
    text: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, SignatureError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    });
    let parsed = lines.map(|(number, line)| {
        let parsed = if line.len() > LINE_LIMIT {
            Err(format!("more than {LINE_LIMIT} bytes"))
        } else {
            read(line)
        };
        parsed.map_err(|reason| SignatureError::Read {
            what: format!("{shown}, line {number}"),
            reason,
        })
    });
    parsed.collect()
}

fn entry(line: &str) -> Result<Entry, String> {
    let (principals, rest) = word(line.trim())?;
    let principals: Vec<String> = principals.split(',').map(str::to_owned).collect();
    for name in &principals {
        principal(name)?;
    }
    let mut entry = Entry {
        principals,
        namespaces: None,
        after: None,
        before: None,
        key: KeyData::Ed25519(ssh_key::public::Ed25519PublicKey([0; 32])),
    };
    let (options, key) = word(rest)?;
    let key = if is_kind(&options) {
        rest
    } else {
        entry.set(&options)?;
        key
    };
    entry.key = public_key(key)?;
    Ok(entry)
}

/// A name stands for itself: who may do what is said of people, and a pattern is nobody.
fn principal(name: &str) -> Result<(), String> {
    let refused = if name.is_empty() {
        "an empty name"
    } else if name.contains(['*', '?']) || name.starts_with('!') {
        "a pattern, and each signer is named here; write the name itself"
    } else if name.chars().any(char::is_control) {
        "a control character"
    } else {
        return Ok(());
    };
    Err(format!("`{}` is {refused}", name.escape_debug()))
}

/// Whether a word is the kind of a key, with which the key begins where there are no options.
fn is_kind(word: &str) -> bool {
    ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]
        .iter()
        .any(|kind| word.starts_with(kind))
}

/// The first word and what follows it; spaces within quotes belong to the word.
fn word(text: &str) -> Result<(String, &str), String> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' if !escaped => quoted = !quoted,
            ' ' | '\t' if !quoted => {
                return Ok((text[..at].to_owned(), text[at..].trim_start()));
            }
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
    }
    Err(if quoted {
        "a quote is open at its end".into()
    } else {
        "it ends before the key; a line is `NAME@HOST ssh-ed25519 AAAA...`".into()
    })
}

fn public_key(text: &str) -> Result<KeyData, String> {
    let kind = text.split([' ', '\t']).next().unwrap_or_default();
    if kind.contains("-cert-v") {
        return Err(format!(
            "`{kind}` is a certificate, and authorities are not followed here; name each key itself"
        ));
    }
    let read = PublicKey::from_openssh(text.trim());
    let read = read.map_err(|error| format!("it holds no public key of OpenSSH ({error})"))?;
    key::strong(read.key_data())?;
    Ok(read.key_data().clone())
}

impl Entry {
    /// Takes over the options of the line: words with commas between them.
    fn set(&mut self, options: &str) -> Result<(), String> {
        for option in split(options) {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(unquoted(value)?)),
                None => (option.as_str(), None),
            };
            match (name.to_ascii_lowercase().as_str(), value) {
                ("cert-authority", _) => {
                    return Err("`cert-authority` is not taken: authorities are not followed here; name each key itself".into());
                }
                ("namespaces", Some(value)) if self.namespaces.is_none() => {
                    self.namespaces = Some(value.split(',').map(str::to_owned).collect());
                }
                ("valid-after", Some(value)) if self.after.is_none() => {
                    self.after = Some(time(&value)?);
                }
                ("valid-before", Some(value)) if self.before.is_none() => {
                    self.before = Some(time(&value)?);
                }
                ("namespaces" | "valid-after" | "valid-before", Some(_)) => {
                    return Err(format!("`{name}` stands in it twice"));
                }
                ("namespaces" | "valid-after" | "valid-before", None) => {
                    return Err(format!("`{name}` has no value"));
                }
                _ => {
                    return Err(format!(
                        "the option `{}` is not known; there are namespaces, valid-after and valid-before",
                        name.escape_debug()
                    ));
                }
            }
        }
        if let (Some(after), Some(before)) = (self.after, self.before)
            && after >= before
        {
            return Err("`valid-after` is not before `valid-before`".into());
        }
        Ok(())
    }
}

/// The parts between commas that stand outside of quotes.
fn split(options: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut escaped = false;
    for letter in options.chars() {
        match letter {
            ',' if !quoted => parts.push(String::new()),
            _ => {
                if letter == '"' && !escaped {
                    quoted = !quoted;
                }
                if let Some(part) = parts.last_mut() {
                    part.push(letter);
                }
            }
        }
        escaped = letter == '\\' && !escaped;
    }
    parts
}

fn unquoted(value: &str) -> Result<String, String> {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) => Ok(inner.replace("\\\"", "\"")),
        None if value.contains('"') => Err(format!("`{value}` is half in quotes")),
        None => Ok(value.to_owned()),
    }
}

/// A time as ssh-keygen(1) writes it: YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in the time zone of this machine or, with a Z
/// behind, in UTC.
fn time(text: &str) -> Result<Timestamp, String> {
    let refused = || {
        format!(
            "`{}` is no time; write YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with a Z behind for UTC",
            text.escape_debug()
        )
    };
    let (digits, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(digits) => (digits, TimeZone::UTC),
        None => (text, TimeZone::system()),
    };
    let wanted = matches!(digits.len(), 8 | 12 | 14);
    if !wanted || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    let padded = format!("{digits:0<14}");
    let read = DateTime::strptime("%Y%m%d%H%M%S", &padded);
    let zoned = read.and_then(|time| time.to_zoned(zone));
    zoned.map(|zoned| zoned.timestamp()).map_err(|_| refused())
}

/// Whether a list of patterns takes a name: one matches, and none with `!` before it does.
fn allowed_by(patterns: &[String], name: &str) -> bool {
    let denied = patterns
        .iter()
        .filter_map(|pattern| pattern.strip_prefix('!'));
    if denied.into_iter().any(|pattern| matches(pattern, name)) {
        return false;
    }
    let mut granted = patterns.iter().filter(|pattern| !pattern.starts_with('!'));
    granted.any(|pattern| matches(pattern, name))
}

/// Whether a pattern with `*` and `?` is a name, in time of the product of both.
fn matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // Which beginnings of the name the pattern so far takes.
    let mut taken = vec![false; name.len() + 1];
    taken[0] = true;
    for letter in pattern.chars() {
        if letter == '*' {
            for end in 1..=name.len() {
                taken[end] |= taken[end - 1];
            }
        } else {
            for end in (1..=name.len()).rev() {
                taken[end] = taken[end - 1] && (letter == '?' || letter == name[end - 1]);
            }
            taken[0] = false;
        }
    }
    taken[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_openssh_writes_them() {
        let read = |text| time(text).unwrap().to_string();
        assert_eq!(read("20260102Z"), "2026-01-02T00:00:00Z");
        assert_eq!(read("202601020304Z"), "2026-01-02T03:04:00Z");
        assert_eq!(read("20260102030405Z"), "2026-01-02T03:04:05Z");
        for bad in [
            "",
            "Z",
            "2026",
            "20261302Z",
            "2026-01-02",
            "202601020304050Z",
            "2026010２",
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn patterns_of_namespaces_are_those_of_openssh() {
        let check = |patterns: &str, name: &str| {
            let patterns: Vec<String> = patterns.split(',').map(str::to_owned).collect();
            allowed_by(&patterns, name)
        };
        assert!(check("git,pibench-run", "pibench-run"));
        assert!(check("pibench-*", "pibench-run"));
        assert!(check("pibench-r?n", "pibench-run"));
        assert!(check("*", ""));
        assert!(!check("pibench", "pibench-run"));
        assert!(!check("pibench-*,!pibench-run", "pibench-run"));
        assert!(!check("!git", "pibench-run"));
        assert!(!check("?", ""));
        // Ever more stars take no more than the product of both lengths.
        assert!(!check(&"*a".repeat(4000), &"a".repeat(300)));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader(text: String) {
            let _ = AllowedSigners::parse("signers", &text);
            let _ = AllowedSigners::parse("signers", &format!("a {text} ssh-ed25519 AAAA"));
        }
    }
}
