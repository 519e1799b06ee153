//! What a pack holds: a list of all its files with their digests, which is what somebody signs. It is made of the files alone,
//! so that a folder, an archive of it and an installed copy have the same list.

use std::collections::BTreeMap;

use camino::Utf8Path;
use pibench_core::path::is_hidden;
use pibench_suite::pack::{Pack, plain};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

use crate::PackError;
use crate::manifest::{self, Manifest};

/// The signature's file, in the pack's own folder. It is not on the list that it is made of.
pub const SIGNATURE: &str = "pack.sig";

/// The list's file, in an archive and in an installed pack.
pub const LIST: &str = "pack.json";

/// What a pack may have. The paper's suite of 100 sessions has some 500 files.
pub const FILES_LIMIT: usize = 20_000;
pub const FILE_LIMIT: u64 = 256 << 20;
pub const TOTAL_LIMIT: u64 = 1 << 30;
pub const LIST_LIMIT: u64 = 16 << 20;

/// The longest path, in bytes: what an archive's header has room for.
const PATH_LIMIT: usize = 255;

/// The version of the list.
const VERSION: u32 = 1;

/// The list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    pub version: u32,
    pub name: String,
    pub release: String,
    /// Sorted by path.
    pub files: Vec<File>,
}

/// A file of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Relative to the pack's folder, with `/` between plain components.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Hex.
    pub sha256: String,
}

impl Contents {
    /// The list of a folder. Of what lies in the folder itself, names that begin with a dot are left out (`.git`), and so are
    /// a list and a signature of before.
    pub fn of(folder: &Utf8Path) -> Result<(Self, Manifest), PackError> {
        let (contents, manifest, _) = Self::gather(folder, false)?;
        Ok((contents, manifest))
    }

    /// The list of what its author hands out: folders of runs, and names that begin with a dot wherever they lie, are left out of
    /// it too.
    pub fn of_draft(folder: &Utf8Path) -> Result<(Self, Manifest, Vec<LeftOut>), PackError> {
        Self::gather(folder, true)
    }

    fn gather(
        folder: &Utf8Path,
        is_draft: bool,
    ) -> Result<(Self, Manifest, Vec<LeftOut>), PackError> {
        let refused = |reason: String| PackError::refused(folder, reason);
        let mut pack = Pack::open_as_it_lies(folder).map_err(|error| refused(error.to_string()))?;
        let read = |pack: &mut Pack, path: &str, limit| {
            pack.read(path, limit)
                .map_err(|error| refused(format!("failed to {error}")))
        };
        let text = read(&mut pack, manifest::FILE, manifest::LIMIT).map_err(|error| {
            let help = "a pack has a pack.toml with version = 1, name, release and license";
            match error {
                PackError::Refused { reason, .. } => refused(format!("{reason}; {help}")),
                error @ PackError::Io { .. } => error,
            }
        })?;
        let manifest = manifest_of(&text).map_err(refused)?;
        let mut found = Found {
            is_draft,
            ..Found::default()
        };
        found.collect(&pack, "").map_err(refused)?;
        let mut files = Vec::new();
        for path in found.paths {
            let bytes = read(&mut pack, &path, FILE_LIMIT)?;
            files.push(File {
                size: bytes.len() as u64,
                sha256: sha256(&bytes),
                path,
            });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let contents = Self {
            version: VERSION,
            name: manifest.name.clone(),
            release: manifest.release.clone(),
            files,
        };
        contents.check().map_err(refused)?;
        Ok((contents, manifest, found.left_out))
    }

    /// The first file that is not the same in a folder with this list, and how; None where all are.
    pub fn first_change(&self, there: &Self) -> Option<String> {
        let digests = |contents: &Self| -> BTreeMap<String, String> {
            let files = contents.files.iter();
            files
                .map(|file| (file.path.clone(), file.sha256.clone()))
                .collect()
        };
        let (listed, there) = (digests(self), digests(there));
        let changed = listed.iter().find_map(|(path, sha256)| {
            let how = match there.get(path) {
                Some(other) if other == sha256 => return None,
                Some(_) => "is another",
                None => "is gone",
            };
            Some(format!("`{path}` {how}"))
        });
        let added = || there.keys().find(|path| !listed.contains_key(*path));
        changed.or_else(|| Some(format!("`{}` came to it", added()?)))
    }

    /// Reads a list's text. It is a stranger's: whatever it says holds the limits, and is written as `text` writes it. The
    /// error reads after a colon.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() as u64 > LIST_LIMIT {
            return Err(format!("{LIST} has more than {LIST_LIMIT} bytes"));
        }
        let contents: Self =
            serde_json::from_str(text).map_err(|error| format!("{LIST}: {error}"))?;
        if contents.version != VERSION {
            return Err(format!(
                "{LIST}: version {} is not known; this host reads version {VERSION}",
                contents.version
            ));
        }
        contents.check().map_err(|said| format!("{LIST}: {said}"))?;
        if contents.text() != text {
            return Err(format!("{LIST} is written in another way than packs are"));
        }
        Ok(contents)
    }

    /// What is signed.
    pub fn text(&self) -> String {
        // Texts, numbers and lists of them: nothing that JSON cannot hold.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// What the pack is known by: SHA-256 of the list, hex. It is the same for every archive of the same files.
    pub fn digest(&self) -> String {
        sha256(self.text().as_bytes())
    }

    fn check(&self) -> Result<(), String> {
        manifest::check_name(&self.name)?;
        manifest::check_release("release", &self.release)?;
        if self.files.len() > FILES_LIMIT {
            return Err(format!(
                "{} files, more than the limit of {FILES_LIMIT}",
                self.files.len()
            ));
        }
        let mut total = 0_u64;
        for File { path, size, sha256 } in &self.files {
            check_path(path)?;
            if *size > FILE_LIMIT {
                return Err(format!(
                    "`{path}` has {size} bytes, more than the limit of {FILE_LIMIT}"
                ));
            }
            total = total.saturating_add(*size);
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            if sha256.len() != 64 || !sha256.bytes().all(hex) {
                return Err(format!("the digest of `{path}` is no SHA-256"));
            }
        }
        if total > TOTAL_LIMIT {
            return Err(format!(
                "{total} bytes, more than the limit of {TOTAL_LIMIT}"
            ));
        }
        if !self.files.is_sorted_by(|a, b| a.path < b.path) {
            return Err("its files are not in the order of their names, each once".into());
        }
        look_alikes(self.files.iter().map(|file| file.path.as_str()))?;
        if self.files.iter().all(|file| file.path != manifest::FILE) {
            return Err(format!("it has no {}", manifest::FILE));
        }
        Ok(())
    }
}

/// The text of `pack.toml`. The error reads after a colon.
pub fn manifest_of(bytes: &[u8]) -> Result<Manifest, String> {
    let file = manifest::FILE;
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{file} is no UTF-8"))?;
    Manifest::parse(text).map_err(|said| format!("{file}: {said}"))
}

/// Hex.
pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// What lies in an author's folder and is in no pack of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// A file, or a folder with all that is in it.
    pub path: String,
    /// Reads behind the path.
    pub why: &'static str,
}

/// The paths of a folder's files.
#[derive(Debug, Default)]
struct Found {
    paths: Vec<String>,
    /// Whether it is an author's folder, of which some things are left out.
    is_draft: bool,
    left_out: Vec<LeftOut>,
}

impl Found {
    fn collect(&mut self, pack: &Pack, folder: &str) -> Result<(), String> {
        let names = pack.names(folder).map_err(|error| error.to_string())?;
        for name in names {
            if folder.is_empty() && (name == LIST || name == SIGNATURE) {
                continue;
            }
            let is_hidden = name.starts_with('.');
            let path = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            if is_hidden && (self.is_draft || folder.is_empty()) {
                self.leave_out(path, "its name begins with a dot");
                continue;
            }
            check_path(&path)?;
            if !pack.is_folder(&path) {
                self.paths.push(path);
            } else if self.is_draft && is_run(pack, &path) {
                self.leave_out(path, "it is a run");
            } else {
                self.collect(pack, &path)?;
            }
            if self.paths.len() > FILES_LIMIT {
                return Err(format!("it has more than {FILES_LIMIT} files"));
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: String, why: &'static str) {
        self.left_out.push(LeftOut { path, why });
    }
}

/// Whether a folder is that of a run: what was said in it is nobody's who gets the pack.
fn is_run(pack: &Pack, folder: &str) -> bool {
    // One of the two alone may be anything.
    let names = pack.names(folder).unwrap_or_default();
    names.iter().any(|name| name == "manifest.json") && pack.is_folder(&format!("{folder}/journal"))
}

fn check_path(path: &str) -> Result<(), String> {
    let shown = path.escape_debug();
    if path.len() > PATH_LIMIT {
        return Err(format!(
            "the path `{shown}` has more than {PATH_LIMIT} bytes"
        ));
    }
    plain(path).map_err(|reason| format!("`{shown}`: {reason}"))?;
    // A list or a signature beside the pack's own would be taken for it.
    let folded = folded(path);
    if folded == LIST || folded == SIGNATURE {
        return Err(format!("`{shown}`: the name is the archive's own"));
    }
    Ok(())
}

/// Refuses two names that look the same or that some file system takes for the same, and a file in the place of a folder.
fn look_alikes<'a>(paths: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    // Folders come by way of their files; one is seen many times under the same name.
    let mut folders: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        for (end, _) in path.match_indices('/') {
            let folder = &path[..end];
            let known = *folders.entry(folded(folder)).or_insert(folder);
            if known != folder {
                return Err(twice(known, folder));
            }
        }
        if let Some(other) = seen.insert(folded(path), path) {
            return Err(twice(other, path));
        }
    }
    let mut skeletons: BTreeMap<String, &str> = BTreeMap::new();
    // Of one alphabet, `l` and `1` are two letters; of two, nobody sees which it is.
    for path in seen.values() {
        let skeleton: String = skeleton(path).collect();
        if let Some(other) = skeletons.insert(skeleton, path)
            && !(other.is_ascii() && path.is_ascii())
        {
            return Err(twice(other, path));
        }
    }
    match seen.iter().find(|(name, _)| folders.contains_key(*name)) {
        Some((_, path)) => Err(format!("`{}` is a file and a folder", path.escape_debug())),
        None => Ok(()),
    }
}

fn twice(one: &str, other: &str) -> String {
    format!(
        "`{}` and `{}` are one name to a reader or a file system; give one of them another",
        one.escape_debug(),
        other.escape_debug()
    )
}

/// A name as a reader, or a file system that knows no case, takes it: compatibility forms, case and what is not seen are gone.
fn folded(path: &str) -> String {
    let seen = path.nfkc().filter(|&c| !is_hidden(c));
    let lower = seen.flat_map(char::to_lowercase).collect::<String>();
    // Full case folding, as far as upper and lower case say it: `ß` and `SS` are one name.
    let upper = lower.chars().flat_map(char::to_uppercase);
    let folded = upper.flat_map(char::to_lowercase).collect::<String>();
    folded.nfkc().collect()
}
