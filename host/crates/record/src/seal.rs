//! The seal of a run: digests of a finished run's files. It is written and held against the files as both are read, for a long
//! run's is as long as the run has files.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::iter::Peekable;
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

use super::error::FolderError;
use super::event::VERSION;
use super::foreign::{open_file, read_file};
use super::names::{Files, Names};

/// Digests of a finished run's files: a byte that changes later is found by `verify`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Seal {
    /// 1.
    pub version: u32,
    /// Relative path to BLAKE3, hex.
    pub files: BTreeMap<String, String>,
    /// The blobs that there were, each the BLAKE3 of its content; absent in seals of before they were listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blobs: Option<BTreeSet<String>>,
}

/// Bytes of a line of a seal: a path and a digest.
const LINE_LIMIT: u64 = 64 << 10;

/// Files whose digests are made at once.
const TOGETHER: usize = 1 << 10;

/// A seal of files as they are now; each is read when its line is written. The same text as that of a [`Seal`].
#[derive(Serialize)]
pub(super) struct Sealed<'a> {
    version: u32,
    files: Digests<'a>,
    blobs: List,
}

struct Digests<'a> {
    root: &'a Path,
    files: RefCell<Files>,
}

struct List(RefCell<Names>);

impl<'a> Sealed<'a> {
    pub(super) fn new(root: &'a Path, files: Files, blobs: Names) -> Self {
        Self {
            version: VERSION,
            files: Digests {
                root,
                files: RefCell::new(files),
            },
            blobs: List(RefCell::new(blobs)),
        }
    }
}

impl Serialize for Digests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut files = self.files.borrow_mut();
        loop {
            let some: Result<Vec<String>, _> = files.by_ref().take(TOGETHER).collect();
            let some = some.map_err(S::Error::custom)?;
            if some.is_empty() {
                return map.end();
            }
            let digests: Result<Vec<String>, _> = some
                .par_iter()
                .map(|path| digest(self.root, path))
                .collect();
            for (path, digest) in some.iter().zip(digests.map_err(S::Error::custom)?) {
                map.serialize_entry(path, &digest)?;
            }
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for name in &mut *self.0.borrow_mut() {
            list.serialize_element(&name.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

/// The digest of a file of the folder. Some are as long as the run.
pub(super) fn digest(root: &Path, path: &str) -> Result<String, FolderError> {
    let path = root.join(path);
    let mut hasher = blake3::Hasher::new();
    let read = open_file(root, &path).and_then(|file| hasher.update_reader(file).map(drop));
    read.map_err(|error| FolderError::Read {
        path,
        reason: error.to_string(),
    })?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The bytes of a file of the folder.
pub(super) fn plain_file(root: &Path, path: &str) -> Result<Vec<u8>, FolderError> {
    let path = root.join(path);
    read_file(root, &path).map_err(|error| FolderError::Read {
        path,
        reason: error.to_string(),
    })
}

/// What is wrong with a file or blob that is sealed and not there.
pub(super) const GONE: &str = "it is gone";

/// Why a seal is not held against the files.
#[derive(Debug)]
pub(super) enum Unsound {
    /// Its text is not that of a seal, or not as it was written.
    Text,
    Unreadable(std::io::Error),
    Folder(FolderError),
}

impl From<std::io::Error> for Unsound {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<FolderError> for Unsound {
    fn from(error: FolderError) -> Self {
        Self::Folder(error)
    }
}

/// What of a folder is not as its seal says.
#[derive(Debug, Default)]
pub(super) struct Broken {
    /// Changed or gone, each with what is wrong.
    pub(super) files: Vec<(String, String)>,
    pub(super) added: Vec<String>,
    pub(super) added_blobs: Vec<String>,
    /// Listed, and not there. The content of those that are there is not looked at.
    pub(super) gone_blobs: Vec<String>,
}

/// Holds a seal against the files that would be sealed now, and the blobs.
pub(super) fn compare(
    seal: &Path,
    root: &Path,
    files: Files,
    blobs: Names,
) -> Result<Broken, Unsound> {
    let mut lines = Lines {
        reader: BufReader::new(open_file(root, seal)?),
        line: String::new(),
    };
    let mut broken = Broken::default();
    let mut found = files.peekable();
    lines.is("{")?;
    let version = lines.next()?;
    let number = version
        .strip_prefix("  \"version\": ")
        .and_then(|rest| rest.strip_suffix(','));
    let is_number = |text: &str| {
        let number = text.parse::<u32>();
        number.is_ok_and(|number| number.to_string() == text)
    };
    number.filter(|text| is_number(text)).ok_or(Unsound::Text)?;
    let opening = lines.next()?.to_owned();
    let opening = opening.strip_prefix("  \"files\": ").ok_or(Unsound::Text)?;
    let closing = if opening == "{" {
        lines.files(root, &mut found, &mut broken)?
    } else {
        opening.to_owned()
    };
    for path in found {
        broken.added.push(path?);
    }
    match closing.trim_start() {
        "}" | "{}" => {}
        "}," | "{}," => match lines.next()? {
            "  \"blobs\": [" => lines.blobs(blobs, &mut broken)?,
            "  \"blobs\": []" => {
                broken.added_blobs = blobs.collect::<Result<_, _>>()?;
            }
            _ => return Err(Unsound::Text),
        },
        _ => return Err(Unsound::Text),
    }
    lines.is("}")?;
    if lines.reader.fill_buf()?.is_empty() {
        return Ok(broken);
    }
    Err(Unsound::Text)
}

/// The lines of a seal as it is written.
struct Lines {
    reader: BufReader<File>,
    line: String,
}

impl Lines {
    /// Without its end.
    fn next(&mut self) -> Result<&str, Unsound> {
        self.line.clear();
        let mut bounded = self.reader.by_ref().take(LINE_LIMIT);
        match bounded.read_line(&mut self.line) {
            Ok(_) => self.line.strip_suffix('\n').ok_or(Unsound::Text),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(Unsound::Text),
            Err(error) => Err(error.into()),
        }
    }

    fn is(&mut self, wanted: &str) -> Result<(), Unsound> {
        (self.next()? == wanted).then_some(()).ok_or(Unsound::Text)
    }

    /// The line that closes it.
    fn files(
        &mut self,
        root: &Path,
        found: &mut Peekable<Files>,
        broken: &mut Broken,
    ) -> Result<String, Unsound> {
        let (mut last, mut is_last) = (None, false);
        let mut there = Vec::new();
        loop {
            let line = self.next()?;
            let Some(entry) = line.strip_prefix("    ") else {
                let closing = line.to_owned();
                check(root, &mut there, broken);
                return is_last.then_some(closing).ok_or(Unsound::Text);
            };
            let (path, digest, is_next_last) = sealed_file(entry).ok_or(Unsound::Text)?;
            // Each once, in their order.
            if is_last || last.as_ref().is_some_and(|last| path <= *last) {
                return Err(Unsound::Text);
            }
            is_last = is_next_last;
            while let Some(added) =
                found.next_if(|one| one.as_ref().map_or(true, |one| *one < path))
            {
                broken.added.push(added?);
            }
            let is_there = found.next_if(|one| one.as_ref().is_ok_and(|one| *one == path));
            there.push((path.clone(), is_there.is_some().then_some(digest)));
            if there.len() == TOGETHER {
                check(root, &mut there, broken);
            }
            last = Some(path);
        }
    }

    fn blobs(&mut self, blobs: Names, broken: &mut Broken) -> Result<(), Unsound> {
        let (mut last, mut is_last) = (None, false);
        let mut found = blobs.peekable();
        loop {
            let line = self.next()?;
            let Some(entry) = line.strip_prefix("    ") else {
                let is_whole = is_last && line == "  ]";
                for name in found {
                    broken.added_blobs.push(name?);
                }
                return is_whole.then_some(()).ok_or(Unsound::Text);
            };
            let text = entry.strip_suffix(',');
            let name: String =
                serde_json::from_str(text.unwrap_or(entry)).map_err(|_| Unsound::Text)?;
            let is_written_so =
                serde_json::to_string(&name).is_ok_and(|it| it == text.unwrap_or(entry));
            if is_last || !is_written_so || last.as_ref().is_some_and(|last| name <= *last) {
                return Err(Unsound::Text);
            }
            is_last = text.is_none();
            while let Some(added) =
                found.next_if(|one| one.as_ref().map_or(true, |one| *one < name))
            {
                broken.added_blobs.push(added?);
            }
            let is_there = found.next_if(|one| one.as_ref().is_ok_and(|one| *one == name));
            if is_there.is_none() {
                broken.gone_blobs.push(name.clone());
            }
            last = Some(name);
        }
    }
}

/// Path and digest of a line, and whether it says that no other follows; None if it is not written so.
fn sealed_file(entry: &str) -> Option<(String, String, bool)> {
    let text = entry.strip_suffix(',');
    let pair = text.unwrap_or(entry);
    let mut texts = serde_json::Deserializer::from_str(pair).into_iter::<String>();
    let path = texts.next()?.ok()?;
    let digest = pair.get(texts.byte_offset()..)?.strip_prefix(": ")?;
    let digest: String = serde_json::from_str(digest).ok()?;
    let quoted = |text: &String| serde_json::to_string(text).ok();
    let again = format!("{}: {}", quoted(&path)?, quoted(&digest)?);
    (again == pair).then_some((path, digest, text.is_none()))
}

/// Makes the digests of files again. A seal is as foreign as its folder: no file is read because it says so, but those that
/// are there.
fn check(root: &Path, there: &mut Vec<(String, Option<String>)>, broken: &mut Broken) {
    let gone = |path| Some((path, GONE.to_owned()));
    let wrong = |(path, sealed): (String, Option<String>)| match sealed {
        Some(sealed) => match digest(root, &path) {
            Ok(now) if now == sealed => None,
            Ok(_) => Some((path, "it was changed after the run".to_owned())),
            Err(_) if root.join(&path).symlink_metadata().is_err() => gone(path),
            Err(FolderError::Read { reason, .. }) => Some((path, reason)),
            Err(error) => Some((path, error.to_string())),
        },
        None => gone(path),
    };
    let found = there.par_drain(..).filter_map(wrong);
    broken.files.extend(found.collect::<Vec<_>>());
}
