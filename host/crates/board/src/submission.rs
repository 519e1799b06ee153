//! A submission: run folders in one archive, a tar compressed by zstd. It begins with a list of the runs and of their seals;
//! what is signed is that list, for a seal holds the digest of every file of its run.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use pibench_core::record::FileChange;
use pibench_record::event::{Event, Step};
use pibench_record::folder::{read_manifest, read_outline};
use pibench_record::foreign::read_file;
use pibench_record::{RunFolder, journal, standing};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tar::{Archive, Builder, Entry, EntryType, Header};

/// The namespace of a signature over the list.
pub const NAMESPACE: &str = "pibench-submission";

/// The list, first of an archive's entries, and its signature.
const LIST: &str = "submission.json";
const SIGNATURE: &str = "submission.json.sig";

/// What a reader takes of an archive. A run of 100 sessions three times has some 10,000 files and 100 MB.
const MOST_FILES: usize = 500_000;
const MOST_BYTES: u64 = 8 << 30;
const LARGEST_FILE: u64 = 256 << 20;
const LONGEST_LIST: u64 = 1 << 20;

/// What a decompressor holds of earlier bytes at most: 2 to the power of it.
const WINDOW: u32 = 27;
const LEVEL: i32 = 9;

/// The folders and files of a run that are sent. Workspaces follow from the journal, and the log is the machine's. A private run
/// goes as it lies there: encrypted, with its key for the recipients of its pack.
const SENT: [&str; 10] = [
    "manifest.json",
    pibench_vault::KEY_FILE,
    "outline.json",
    "results.json",
    "seal.json",
    "timing.jsonl",
    "preflight.jsonl",
    "journal",
    "blobs",
    "trajectories",
];

/// Why an archive cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    #[error("{doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("read the submission {}: {reason}", path.display())]
    Refused { path: PathBuf, reason: String },
    #[error("submit {}: {reason}", path.display())]
    Run { path: PathBuf, reason: String },
}

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// 1.
    pub version: u32,
    /// The runs, by the name of their folder in the archive.
    pub runs: Vec<Run>,
}

/// A run of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub name: String,
    pub agent: String,
    /// BLAKE3 of `seal.json`, hex.
    pub seal: String,
    /// For whom it was played, as a hub says. Nobody else's word counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitter: Option<Submitter>,
}

/// Whose agent a hub played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitter {
    pub name: String,
    /// The runs that were begun under this name, this one the last: of many, the best one is shown gladly.
    pub attempt: u64,
}

impl List {
    /// The list of finished runs.
    pub fn of(runs: &[PathBuf]) -> Result<Self, SubmissionError> {
        let mut list = Self {
            version: 1,
            runs: Vec::new(),
        };
        for (number, path) in runs.iter().enumerate() {
            let refused = |error: &dyn std::fmt::Display| SubmissionError::Run {
                path: path.clone(),
                reason: error.to_string(),
            };
            let manifest = read_manifest(path).map_err(|error| refused(&error))?;
            let folder = RunFolder::read(path).map_err(|error| refused(&error))?.0;
            list.runs.push(Run {
                name: format!("run-{}", number + 1),
                agent: manifest.agent,
                seal: folder.seal().map_err(|error| refused(&error))?,
                submitter: None,
            });
        }
        Ok(list)
    }

    /// What is signed.
    pub fn text(&self) -> String {
        // Text and lists alone.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Writes an archive, which appears whole.
pub fn write(
    out: &Path,
    list: &List,
    signature: Option<&str>,
    runs: &[PathBuf],
) -> Result<(), SubmissionError> {
    let failed = |source| SubmissionError::Io {
        doing: "write",
        path: out.to_owned(),
        source,
    };
    let dir = out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(failed)?;
    let written = || {
        let file = tempfile::NamedTempFile::new_in(dir)?;
        let packed = zstd::Encoder::new(file, LEVEL)?;
        let mut tar = Builder::new(packed);
        add(&mut tar, LIST, list.text().as_bytes())?;
        if let Some(signature) = signature {
            add(&mut tar, SIGNATURE, signature.as_bytes())?;
        }
        for (run, path) in list.runs.iter().zip(runs) {
            for name in SENT {
                add_below(
                    &mut tar,
                    path,
                    &path.join(name),
                    &format!("{}/{name}", run.name),
                )?;
            }
        }
        let file = tar.into_inner()?.finish()?;
        file.persist_noclobber(out).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(failed)
}

fn add_below<W: Write>(
    tar: &mut Builder<W>,
    run: &Path,
    path: &Path,
    name: &str,
) -> io::Result<()> {
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !data.is_dir() {
        return add(tar, name, &read_file(run, path)?);
    }
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    for below in names {
        add_below(tar, run, &path.join(&below), &format!("{name}/{below}"))?;
    }
    Ok(())
}

fn add<W: Write>(tar: &mut Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_entry_type(EntryType::Regular);
    tar.append_data(&mut header, name, bytes)
}

/// An archive that was unpacked.
#[derive(Debug)]
pub struct Unpacked {
    pub list: List,
    /// The bytes that were signed, and the armored signature; None where nobody signed.
    pub text: String,
    pub signature: Option<String>,
    /// BLAKE3 of the archive's bytes, hex.
    pub digest: String,
    /// The run folders, as in the list.
    pub runs: Vec<PathBuf>,
}

/// Unpacks an archive into a new folder. It is a stranger's: nothing but plain files of runs is taken, no name leads out of the
/// folder, and no more than the limits.
pub fn unpack(path: &Path, to: &Path) -> Result<Unpacked, SubmissionError> {
    let refused = |reason: String| SubmissionError::Refused {
        path: path.to_owned(),
        reason,
    };
    let failed = |source| SubmissionError::Io {
        doing: "unpack",
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(refused("it is no file".into()));
    }
    let mut digest = blake3::Hasher::new();
    digest.update_reader(file).map_err(failed)?;
    let packed = zstd::Decoder::new(File::open(path).map_err(failed)?);
    let mut packed = packed.map_err(failed)?;
    packed.window_log_max(WINDOW).map_err(failed)?;
    let mut text = None;
    let mut signature = None;
    let mut seen = BTreeSet::new();
    // Padding counts: a tar can be empty for terabytes.
    let mut tar = Archive::new(packed.take(MOST_BYTES));
    // As they stand there: extensions of the format give names of any length, in as much memory.
    let entries = tar.entries().map_err(|error| refused(error.to_string()))?;
    for entry in entries.raw(true) {
        let mut entry =
            entry.map_err(|error| refused(format!("it is no whole archive ({error})")))?;
        let name = entry.path_bytes().into_owned();
        let name =
            String::from_utf8(name).map_err(|_| refused("a name in it is no UTF-8".into()))?;
        let shown = name.escape_debug().to_string();
        is_taken(&entry, &shown).map_err(refused)?;
        if !seen.insert(name.clone()) {
            return Err(refused(format!("`{shown}` is in it twice")));
        }
        if seen.len() > MOST_FILES {
            return Err(refused(format!("it has more than {MOST_FILES} files")));
        }
        if name == LIST || name == SIGNATURE {
            if entry.size() > LONGEST_LIST {
                return Err(refused(format!(
                    "`{shown}` has more than {LONGEST_LIST} bytes"
                )));
            }
            let mut found = String::new();
            entry
                .read_to_string(&mut found)
                .map_err(|error| refused(format!("`{shown}`: {error}")))?;
            *if name == LIST {
                &mut text
            } else {
                &mut signature
            } = Some(found);
            continue;
        }
        let within =
            place(&name).ok_or_else(|| refused(format!("`{shown}` is no file of a run")))?;
        put(&mut entry, &to.join(within)).map_err(|error| match error.raw_os_error() {
            // The system's word, of a full disk or a broken one, is about no archive.
            Some(_) => failed(error),
            None => refused(format!("`{shown}` is not whole ({error})")),
        })?;
    }
    check_end(tar.into_inner()).map_err(refused)?;
    let text = text.ok_or_else(|| refused(format!("it has no {LIST}")))?;
    let list: List =
        serde_json::from_str(&text).map_err(|error| refused(format!("{LIST}: {error}")))?;
    let runs = runs_of(&list, to).map_err(refused)?;
    make_folders(&runs).map_err(failed)?;
    Ok(Unpacked {
        list,
        text,
        signature,
        digest: digest.finalize().to_hex().to_string(),
        runs,
    })
}

/// Puts an entry's bytes into a new file.
fn put(entry: &mut impl Read, target: &Path) -> io::Result<()> {
    if let Some(dir) = target.parent() {
        fs::create_dir_all(dir)?;
    }
    io::copy(entry, &mut File::create_new(target)?).map(drop)
}

/// Makes the folders that a run has, and that an archive leaves out where they hold nothing.
fn make_folders(runs: &[PathBuf]) -> io::Result<()> {
    for run in runs {
        for name in ["journal", "blobs", "trajectories", "workspaces"] {
            fs::create_dir_all(run.join(name))?;
        }
    }
    Ok(())
}

/// Behind the end of a tar some readers see another one.
fn check_end(mut rest: io::Take<impl Read>) -> Result<(), String> {
    let mut block = [0; 4096];
    loop {
        match rest.read(&mut block) {
            Ok(0) => break,
            Ok(read) if block[..read].iter().all(|&byte| byte == 0) => {}
            Ok(_) => return Err("something stands behind its end".into()),
            Err(error) => {
                return Err(format!(
                    "it is no whole archive, or something stands behind its end ({error})"
                ));
            }
        }
    }
    if rest.limit() == 0 {
        return Err(format!("unpacked it has more than {MOST_BYTES} bytes"));
    }
    Ok(())
}

/// Whether an entry is a plain file that is not too large.
fn is_taken(entry: &Entry<'_, impl Read>, shown: &str) -> Result<(), String> {
    if entry.header().entry_type() != EntryType::Regular {
        return Err(format!("`{shown}` is no plain file"));
    }
    if entry.size() > LARGEST_FILE {
        return Err(format!(
            "`{shown}` has {} bytes, more than the limit of {LARGEST_FILE}",
            entry.size()
        ));
    }
    Ok(())
}

/// The folders that a list names, each with its seal.
fn runs_of(list: &List, to: &Path) -> Result<Vec<PathBuf>, String> {
    if list.version != 1 {
        return Err(format!(
            "{LIST} has version {}, and 1 is read",
            list.version
        ));
    }
    let mut runs = Vec::new();
    for (number, run) in list.runs.iter().enumerate() {
        if run.name != format!("run-{}", number + 1) {
            return Err(format!(
                "{LIST} names its runs otherwise than run-1, run-2, ..."
            ));
        }
        let path = to.join(&run.name);
        let seal = fs::read(path.join("seal.json"));
        let seal = seal.map_err(|error| format!("the seal of {}: {error}", run.name))?;
        if blake3::hash(&seal).to_hex().as_str() != run.seal {
            return Err(format!(
                "the seal of {} is not the one that is listed",
                run.name
            ));
        }
        runs.push(path);
    }
    let named: BTreeSet<&str> = list.runs.iter().map(|run| run.name.as_str()).collect();
    let entries = fs::read_dir(to).map_err(|error| error.to_string())?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| named.contains(name)) {
            return Err(format!("{} is not on its list", name.display()));
        }
    }
    if runs.is_empty() {
        return Err("it has no run".into());
    }
    Ok(runs)
}

/// What tells a run from others, whoever it is said to be of: BLAKE3 of what was played, hex. Names of players, the chain, numbers of
/// tokens, reasons of judges, and the how manieth run an episode is, can be written anew by whoever copies a run, and no check fails.
/// What rules, graders and judges looked at is left.
pub fn digest_played(run: &Path) -> Result<String, SubmissionError> {
    let refused = |reason: &dyn std::fmt::Display| SubmissionError::Refused {
        path: run.to_owned(),
        reason: reason.to_string(),
    };
    let (folder, manifest) = RunFolder::read(run).map_err(|error| refused(&error))?;
    let outline = read_outline(run).map_err(|error| refused(&error))?;
    let outline = outline.ok_or_else(|| refused(&"it has no outline.json"))?;
    let mut episodes = Vec::new();
    for (number, persona) in standing::played(&manifest, &outline.personas) {
        let events = journal::events(&folder.journal(&persona.id, number));
        let events = events.map_err(|error| refused(&error))?;
        let played: Vec<Value> = events.iter().filter_map(played).collect();
        episodes.push(json!([persona.id, played]).to_string());
    }
    episodes.sort();
    let text = episodes.join("\n");
    Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
}

/// What was said to whom, called and written.
fn played(event: &Event) -> Option<Value> {
    match event {
        Event::EpisodeStarted(_) | Event::EpisodeFinished => None,
        Event::SessionStarted(started) => Some(json!([started.session, started.message])),
        Event::Turn(turn) => Some(json!([
            turn.message,
            turn.response,
            calls(&turn.steps),
            changes(&turn.changes)
        ])),
        Event::SessionFinished(finished) => {
            Some(json!([calls(&finished.memory), changes(&finished.changes)]))
        }
        Event::Wake(wake) => Some(json!([
            wake.by,
            wake.clock,
            calls(&wake.steps),
            changes(&wake.changes)
        ])),
    }
}

fn calls(steps: &[Step]) -> Vec<Value> {
    let calls = steps.iter().flat_map(Step::calls);
    calls
        .map(|call| json!([call.tool, call.arguments, call.status]))
        .collect()
}

fn changes(changes: &[FileChange]) -> Vec<Value> {
    let changes = changes.iter();
    changes
        .map(|change| json!([change.path, change.blob]))
        .collect()
}

/// Where a file belongs, if it is one of a run's.
fn place(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let plain = |part: &&str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.starts_with('.') && part.len() <= 200 && part.chars().all(allowed)
    };
    // As it was written: no `//`, `./` or end in `/`, which mean the same to a file system.
    let is_plain = parts.iter().all(plain) && parts.join("/") == name;
    let [_, first, rest @ ..] = parts.as_slice() else {
        return None;
    };
    let fits = match *first {
        "journal" | "blobs" => rest.len() == 1,
        "trajectories" => rest.len() == 2,
        file => rest.is_empty() && SENT.contains(&file),
    };
    (is_plain && fits).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run folder as far as an archive looks at it.
    fn packed(list: &List, more: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut tar = Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
        add(&mut tar, LIST, list.text().as_bytes()).unwrap();
        add(&mut tar, "run-1/seal.json", b"{}").unwrap();
        for (name, kind, bytes) in more {
            let mut header = Header::new_ustar();
            // A name that no honest writer writes.
            header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_entry_type(*kind);
            if *kind == EntryType::Symlink {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            tar.append(&header, *bytes).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn list() -> List {
        List {
            version: 1,
            runs: vec![Run {
                name: "run-1".into(),
                agent: "a/b".into(),
                seal: blake3::hash(b"{}").to_hex().to_string(),
                submitter: None,
            }],
        }
    }

    fn read(bytes: &[u8]) -> Result<Unpacked, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.submission");
        fs::write(&file, bytes).unwrap();
        let to = dir.path().join("to");
        fs::create_dir(&to).unwrap();
        let read = unpack(&file, &to).map_err(|error| error.to_string());
        // Nothing came to lie beside the folder.
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        read
    }

    fn check(more: &[(&str, EntryType, &[u8])], expected: &str) {
        match read(&packed(&list(), more)) {
            Ok(_) => assert_eq!(expected, "", "{more:?}"),
            Err(said) => assert!(!expected.is_empty() && said.contains(expected), "{said}"),
        }
    }

    #[test]
    fn an_archive_holds_files_of_runs_and_nothing_else() {
        let file = EntryType::Regular;
        check(&[("run-1/blobs/0a", file, b"x")], "");
        check(&[("run-1/journal/p.r1.jsonl", file, b"x")], "");
        for name in [
            "../out",
            "/etc/out",
            "run-1/../../out",
            "run-1/blobs/../../../out",
            "run-1/blobs//a",
            "run-1/./blobs/a",
            "run-1/blobs/a/b",
            "run-1/lock",
            "run-1/workspaces/a",
            "run-1/blobs/.a",
            "run-1/blobs/\u{fb01}",
            "out",
        ] {
            check(&[(name, file, b"x")], "is no file of a run");
        }
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Directory,
            EntryType::Fifo,
            EntryType::Char,
        ] {
            check(&[("run-1/blobs/a", kind, b"")], "is no plain file");
        }
        check(
            &[("run-1/blobs/a", file, b"x"), ("run-1/blobs/a", file, b"y")],
            "is in it twice",
        );
        check(&[("run-2/blobs/a", file, b"x")], "is not on its list");
        check(&[("run-1/seal.json", file, b"{}")], "is in it twice");
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        // A gigabyte of nothing in some kilobytes; its header alone is looked at.
        let mut header = Header::new_ustar();
        header.set_path("run-1/blobs/a").unwrap();
        header.set_size(1 << 30);
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
        bomb.write_all(header.as_bytes()).unwrap();
        io::copy(&mut io::repeat(0).take(1 << 30), &mut bomb).unwrap();
        let said = read(&bomb.finish().unwrap()).unwrap_err();
        assert!(said.contains("more than the limit"), "{said}");
        // A name of a gigabyte, in an extension of the format.
        for kind in [EntryType::GNULongName, EntryType::XHeader] {
            header.set_entry_type(kind);
            header.set_cksum();
            let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
            bomb.write_all(header.as_bytes()).unwrap();
            io::copy(&mut io::repeat(0).take(1 << 30), &mut bomb).unwrap();
            let said = read(&bomb.finish().unwrap()).unwrap_err();
            assert!(said.contains("is no plain file"), "{said}");
        }
    }

    #[test]
    fn a_list_says_what_is_there() {
        let mut other = list();
        other.runs[0].seal = blake3::hash(b"other").to_hex().to_string();
        let said = read(&packed(&other, &[])).unwrap_err();
        assert!(said.contains("is not the one that is listed"), "{said}");
        other = list();
        other.runs[0].name = "../run-1".into();
        let said = read(&packed(&other, &[])).unwrap_err();
        assert!(said.contains("names its runs otherwise"), "{said}");
        let said = read(&[1, 2, 3]).unwrap_err();
        assert!(said.contains("read"), "{said}");
    }

    #[test]
    fn nothing_stands_behind_the_end() {
        let good = packed(&list(), &[]);
        read(&good).unwrap();
        let other = zstd::encode_all(&b"more"[..], 1).unwrap();
        for more in [&good[..], &other, b"more"] {
            let said = read(&[&good[..], more].concat()).unwrap_err();
            assert!(said.contains("something stands behind its end"), "{said}");
        }
        let tar = zstd::decode_all(&good[..]).unwrap();
        let with = |more: &[u8]| {
            let bytes = zstd::encode_all(&[&tar[..], more].concat()[..], 1).unwrap();
            read(&bytes)
        };
        with(&[0; 1024]).unwrap();
        let said = with(&tar).unwrap_err();
        assert!(said.contains("something stands behind its end"), "{said}");
    }

    proptest::proptest! {
        #[test]
        fn no_changed_byte_does_more_than_to_be_refused(at in 0usize..400, byte in 0u8..) {
            let mut bytes = packed(&list(), &[("run-1/blobs/0a", EntryType::Regular, b"x")]);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = read(&bytes);
        }
    }
}
