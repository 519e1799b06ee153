//! The door to a pack's files. Packs come from strangers: nothing is read through a link, from outside of the pack's
//! folder, from another machine, or beyond a limit of size or number, and nothing is written. What was read makes up the
//! pack's digest. The files of a private pack are decrypted into memory, and are read as if they stood there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use pibench_vault::files::Files;
use pibench_vault::keyring;

use pibench_core::form::{difference, differs_in_form_alone};
use pibench_core::path::WorkspacePath;

/// Bytes of all files that one load may read: the workspace's own quota, since staged files are held in memory.
const TOTAL_LIMIT: u64 = 1 << 30;

/// Files that one load may read. The paper's suite of 100 sessions has some 500.
const FILES_LIMIT: usize = 20_000;

/// Entries of one folder that is listed.
const FOLDER_LIMIT: usize = 10_000;

/// The longest relative path: what the common file systems take (`PATH_MAX` of 4,096 less room for the root).
const PATH_LIMIT: usize = 1024;

/// Why a file of the pack was not read. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("read `{path}`: {reason}")]
    NotPlain { path: String, reason: String },
    #[error("read `{path}`: `{link}` is a link, and packs are read without following any")]
    Link { path: String, link: String },
    #[error(
        "read `{path}`: {names} names lead to it (hard links), and a pack's file has one; copy it"
    )]
    HardLink { path: String, names: u64 },
    #[error("read `{0}`: no such file")]
    Missing(String),
    #[error(
        "read `{path}`: no such file, but one of this name {difference}; rename it, or write its name as it is"
    )]
    OtherForm {
        path: String,
        difference: &'static str,
    },
    #[error("read `{0}`: not a regular file")]
    NotAFile(String),
    #[error("read `{path}`: {size} bytes, more than the limit of {limit}")]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("read `{path}`: the pack's files have more than {limit} bytes together")]
    Total { path: String, limit: u64 },
    #[error("read `{path}`: the pack has more than {limit} files")]
    Number { path: String, limit: usize },
    #[error("read `{path}`: the folder has more than {limit} entries")]
    Crowded { path: String, limit: usize },
    #[error("read `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

/// A folder whose files are read. Its clones are doors to the same files for other threads: what they read counts together.
#[derive(Debug, Clone)]
pub struct Pack {
    root: Utf8PathBuf,
    dir: Arc<Dir>,
    read: Arc<Mutex<SoFar>>,
    limits: PackLimits,
    /// Of a private pack.
    private: Arc<Files>,
}

/// What one load read so far.
#[derive(Debug, Default)]
struct SoFar {
    files: BTreeMap<String, blake3::Hash>,
    bytes: u64,
    asked: Asked,
}

/// What one load asked for, whether it is there or not: files, and folders with all that is in them.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub files: BTreeSet<String>,
    pub folders: BTreeSet<String>,
}

/// What one load may read.
#[derive(Debug, Clone, Copy)]
struct PackLimits {
    bytes: u64,
    files: usize,
    entries: usize,
}

impl PackLimits {
    const DEFAULT: Self = Self {
        bytes: TOTAL_LIMIT,
        files: FILES_LIMIT,
        entries: FOLDER_LIMIT,
    };
}

impl Pack {
    /// Opens the folder; `""` is the working directory. The folder itself is the operator's choice and may be a link. That of a
    /// private pack takes a recipient's key.
    pub fn open(root: &Utf8Path) -> io::Result<Self> {
        let mut pack = Self::open_as_it_lies(root)?;
        let folder = if root.as_str().is_empty() {
            Utf8Path::new(".")
        } else {
            root
        };
        let private = keyring::files_of(folder.as_std_path()).map_err(io::Error::other)?;
        let private = private.unwrap_or_default();
        pack.check_private(&private).map_err(io::Error::other)?;
        pack.private = Arc::new(private);
        Ok(pack)
    }

    /// The same with the files that lie there and no other: those of a private pack stay encrypted.
    pub fn open_as_it_lies(root: &Utf8Path) -> io::Result<Self> {
        let folder = if root.as_str().is_empty() {
            Utf8Path::new(".")
        } else {
            root
        };
        let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
        Ok(Self {
            root: root.to_owned(),
            dir: Arc::new(dir),
            read: Arc::default(),
            limits: PackLimits::DEFAULT,
            private: Arc::default(),
        })
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses private files under names that no file of a pack has, or that other files have. The error reads after a colon.
    fn check_private(&self, private: &Files) -> Result<(), String> {
        for path in private.keys() {
            let shown = path.escape_debug();
            plain(path).map_err(|reason| format!("the private file `{shown}`: {reason}"))?;
            if self.look(path).is_ok() {
                return Err(format!("`{shown}` stands in it twice, open and private"));
            }
            let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
            if folders.any(|folder| private.contains_key(folder) || self.is_file(folder)) {
                return Err(format!("`{shown}` stands below a file"));
            }
        }
        Ok(())
    }

    /// The path of a file as people reach it.
    pub fn shown(&self, path: &str) -> Utf8PathBuf {
        self.root.join(path)
    }

    /// The content of a file of at most `limit` bytes.
    pub fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.so_far().asked.files.insert(path.to_owned());
        let size = self.size(path)?;
        let too_large = |size| ReadError::TooLarge {
            path: path.to_owned(),
            size,
            limit,
        };
        if size > limit {
            return Err(too_large(size));
        }
        let PackLimits { bytes, files, .. } = self.limits;
        let mut so_far = self.so_far();
        so_far.bytes += size;
        if so_far.bytes > bytes {
            return Err(ReadError::Total {
                path: path.to_owned(),
                limit: bytes,
            });
        }
        if so_far.files.len() >= files {
            return Err(ReadError::Number {
                path: path.to_owned(),
                limit: files,
            });
        }
        drop(so_far);
        let failed = |source| ReadError::Io {
            path: path.to_owned(),
            source,
        };
        let content = if let Some(content) = self.private.get(path) {
            content.clone()
        } else {
            let mut content = Vec::new();
            let file = self.dir.open(path).map_err(failed)?;
            file.take(limit + 1)
                .read_to_end(&mut content)
                .map_err(failed)?;
            content
        };
        // The file may have grown since it was looked at.
        if content.len() as u64 > limit {
            return Err(too_large(content.len() as u64));
        }
        let hash = blake3::hash(&content);
        self.so_far().files.insert(path.to_owned(), hash);
        Ok(content)
    }

    /// The size of a regular file, when no part of the path is a link.
    fn size(&self, path: &str) -> Result<u64, ReadError> {
        if let Some(content) = self.private.get(path) {
            return Ok(content.len() as u64);
        }
        if self.is_private_folder(path) {
            return Err(ReadError::NotAFile(path.to_owned()));
        }
        let found = self.look(path)?;
        if !found.is_file() {
            return Err(ReadError::NotAFile(path.to_owned()));
        }
        // Another name may stand outside of the pack: its content is then not the pack's to hand out.
        if found.nlink() > 1 {
            return Err(ReadError::HardLink {
                path: path.to_owned(),
                names: found.nlink(),
            });
        }
        Ok(found.len())
    }

    /// What stands at a path, when no part of the path is a link.
    fn look(&self, path: &str) -> Result<Metadata, ReadError> {
        plain(path).map_err(|reason| ReadError::NotPlain {
            path: path.to_owned(),
            reason,
        })?;
        let ends = path.match_indices('/').map(|(end, _)| end);
        for end in ends {
            self.look_at(path, &path[..end])?;
        }
        self.look_at(path, path)
    }

    /// What stands at one part of a path, when it is no link.
    fn look_at(&self, path: &str, part: &str) -> Result<Metadata, ReadError> {
        let found = self
            .dir
            .symlink_metadata(part)
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => self.missing(path, part),
                _ => ReadError::Io {
                    path: path.to_owned(),
                    source,
                },
            })?;
        if found.is_symlink() {
            return Err(ReadError::Link {
                path: path.to_owned(),
                link: part.to_owned(),
            });
        }
        Ok(found)
    }

    /// What to say of a path of which this part is not there: a name that looks like it may be.
    fn missing(&self, path: &str, part: &str) -> ReadError {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let names = if name.is_ascii() {
            Vec::new()
        } else {
            self.names(folder).unwrap_or_default()
        };
        let mut names = names.iter();
        match names.find(|there| differs_in_form_alone(name, there)) {
            Some(there) => ReadError::OtherForm {
                path: path.to_owned(),
                difference: difference(name, there),
            },
            None => ReadError::Missing(path.to_owned()),
        }
    }

    /// The names of what stands in a folder, sorted; `""` is the root. Names that are no UTF-8 are replaced by a
    /// readable form, under which nothing will be found.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let failed = |source| ReadError::Io {
            path: folder.to_owned(),
            source,
        };
        let is_private = self.is_private_folder(folder);
        let entries = if folder.is_empty() {
            Some(self.dir.entries().map_err(failed)?)
        } else {
            match self.look(folder) {
                Ok(_) => Some(self.dir.read_dir(folder).map_err(failed)?),
                Err(ReadError::Missing(_)) if is_private => None,
                Err(error) => return Err(error),
            }
        };
        let name = |entry: io::Result<cap_std::fs::DirEntry>| {
            Ok(entry?.file_name().to_string_lossy().into_owned())
        };
        let most = self.limits.entries;
        let entries = entries.into_iter().flatten();
        let mut names: Vec<String> = entries
            .take(most.saturating_add(1))
            .map(name)
            .collect::<io::Result<_>>()
            .map_err(failed)?;
        names.extend(self.private_names(folder));
        names.sort();
        names.dedup();
        if names.len() > most {
            return Err(ReadError::Crowded {
                path: folder.to_owned(),
                limit: most,
            });
        }
        Ok(names)
    }

    /// The paths of private files below a folder, relative to it.
    fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let first = self.private.range(prefix.clone()..);
        first.map_while(move |(path, _)| path.strip_prefix(&prefix))
    }

    fn private_names(&self, folder: &str) -> impl Iterator<Item = String> {
        let first = |path: &str| path.split('/').next().unwrap_or(path).to_owned();
        self.below(folder).map(first)
    }

    fn is_private_folder(&self, path: &str) -> bool {
        self.below(path).next().is_some()
    }

    /// Whether a folder stands there, reached without a link.
    pub fn is_folder(&self, path: &str) -> bool {
        self.is_private_folder(path) || self.look(path).is_ok_and(|found| found.is_dir())
    }

    /// Whether a file stands there, reached without a link.
    pub(super) fn is_file(&self, path: &str) -> bool {
        self.private.contains_key(path) || self.look(path).is_ok_and(|found| found.is_file())
    }

    /// Notes that all of a folder is asked for.
    pub(super) fn ask_folder(&self, path: &str) {
        self.so_far().asked.folders.insert(path.to_owned());
    }

    pub(super) fn asked(&self) -> Asked {
        self.so_far().asked.clone()
    }

    /// BLAKE3 of the content of every file that was read, by path.
    pub(super) fn files(&self) -> BTreeMap<String, blake3::Hash> {
        self.so_far().files.clone()
    }

    /// BLAKE3 over the path and content of every file that was read, in the order of the paths; hex.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, content) in &self.so_far().files {
            // The length keeps (path, content) pairs apart.
            hasher
                .update(&(path.len() as u64).to_le_bytes())
                .update(path.as_bytes())
                .update(content.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Refuses paths that are not relative with plain components, the same on every system, and what a reader would take for
/// another path than the system does. The error reads after a colon.
pub fn plain(path: &str) -> Result<(), String> {
    if path.contains("://") {
        return Err("the path is an address; a pack has its files in itself".into());
    }
    let refused = if path.is_empty() {
        "the path is empty"
    } else if path.len() > PATH_LIMIT {
        "the path has more than 1024 bytes"
    } else if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        "the path is absolute; it must be relative"
    } else if path.chars().any(|c| c == '\\' || c.is_control()) {
        "the path has a backslash or a control character; parts are joined by `/`"
    } else if path.split('/').any(|part| part == "..") {
        "the path leaves its folder by `..`"
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        "the path has an empty or `.` part"
    } else {
        // Staged files go into a workspace, whose rules know the look-alikes too.
        return WorkspacePath::parse(path)
            .map(drop)
            .map_err(|error| error.to_string());
    };
    Err(refused.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_plain_relative_paths_only() {
        for good in ["a", "a/b.txt", "..a/b", "a b/é.md"] {
            assert_eq!(plain(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/a",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "C:/a",
            "a\0",
            "a\nb",
            "https://pack.example/a",
            "a/\u{ff0e}\u{ff0e}/b",
            "a/.\u{200b}./b",
            "a\u{202e}txt.exe",
        ] {
            assert!(plain(bad).is_err(), "{bad:?}");
        }
    }

    fn pack(files: &[(&str, &str)]) -> (tempfile::TempDir, Pack) {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let pack = Pack::open(Utf8Path::from_path(folder.path()).unwrap()).unwrap();
        (folder, pack)
    }

    #[test]
    fn reads_up_to_the_limit() {
        let (_folder, mut pack) = pack(&[("a/b", "1234")]);
        assert_eq!(pack.read("a/b", 4).unwrap(), b"1234");
        assert_eq!(
            pack.read("a/b", 3).unwrap_err().to_string(),
            "read `a/b`: 4 bytes, more than the limit of 3"
        );
        assert_eq!(
            pack.read("a", 4).unwrap_err().to_string(),
            "read `a`: not a regular file"
        );
        assert_eq!(
            pack.read("a/b/c", 4).unwrap_err().to_string(),
            "read `a/b/c`: no such file"
        );
        assert_eq!(
            pack.read("x", 4).unwrap_err().to_string(),
            "read `x`: no such file"
        );
    }

    #[test]
    fn a_name_that_looks_the_same_is_told() {
        let (whole, apart) = ("\u{e9}t\u{e9}", "e\u{301}te\u{301}");
        let (_folder, mut pack) = pack(&[(&format!("a/{apart}/b"), "1")]);
        assert_eq!(pack.read(&format!("a/{apart}/b"), 9).unwrap(), b"1");
        let path = format!("a/{whole}/b");
        assert_eq!(
            pack.read(&path, 9).unwrap_err().to_string(),
            format!(
                "read `{path}`: no such file, but one of this name in another Unicode form (decomposed there, composed \
                 here); rename it, or write its name as it is"
            )
        );
        let error = pack.read("a/\u{e9}", 9).unwrap_err().to_string();
        assert!(error.ends_with("no such file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn follows_no_link_in_any_part_of_the_path() {
        let (folder, mut pack) = pack(&[("real/file", "1")]);
        std::os::unix::fs::symlink("real", folder.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("file", folder.path().join("real/link")).unwrap();
        for (path, link) in [("folder/file", "folder"), ("real/link", "real/link")] {
            let error = pack.read(path, 9).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("read `{path}`: `{link}` is a link")),
                "{error}"
            );
        }
        assert_eq!(pack.read("real/file", 9).unwrap(), b"1");
    }

    #[test]
    fn takes_no_file_that_has_a_second_name() {
        let (folder, mut pack) = pack(&[("secret", "1"), ("copy", "1")]);
        std::fs::hard_link(folder.path().join("secret"), folder.path().join("file")).unwrap();
        assert_eq!(
            pack.read("file", 9).unwrap_err().to_string(),
            "read `file`: 2 names lead to it (hard links), and a pack's file has one; copy it"
        );
        assert_eq!(pack.read("copy", 9).unwrap(), b"1");
    }

    #[test]
    fn private_files_have_plain_names_of_their_own() {
        let (_folder, mut pack) = pack(&[("a/b", "1")]);
        let files = |paths: &[&str]| -> Files {
            let files = paths.iter().map(|path| ((*path).to_owned(), b"2".to_vec()));
            files.collect()
        };
        for bad in ["../x", "/x", "a/../../x", "", "a//x", "a/b", "a/b/c"] {
            assert!(pack.check_private(&files(&[bad])).is_err(), "{bad}");
        }
        assert!(pack.check_private(&files(&["c", "c/d"])).is_err());
        let good = files(&["a/c", "d/e/f", "d0"]);
        pack.check_private(&good).unwrap();
        pack.private = Arc::new(good);
        assert_eq!(pack.read("d/e/f", 9).unwrap(), b"2");
        assert_eq!(pack.read("a/b", 9).unwrap(), b"1");
        assert_eq!(pack.names("").unwrap(), ["a", "d", "d0"]);
        assert_eq!(pack.names("a").unwrap(), ["b", "c"]);
        assert_eq!(pack.names("d").unwrap(), ["e"]);
        assert!(pack.is_folder("d/e") && pack.is_file("d/e/f") && !pack.is_file("d/e"));
        assert!(pack.names("x").is_err() && pack.read("d/e", 9).is_err());
        let error = pack.read("d/e/f", 0).unwrap_err().to_string();
        assert_eq!(error, "read `d/e/f`: 1 bytes, more than the limit of 0");
    }

    #[test]
    fn all_files_and_entries_have_a_limit() {
        let (_folder, mut pack) = pack(&[("a", "12"), ("b", "34"), ("c", "5"), ("d", "")]);
        pack.limits = PackLimits {
            bytes: 4,
            files: 3,
            entries: 3,
        };
        let error = pack.names("").unwrap_err().to_string();
        assert_eq!(error, "read ``: the folder has more than 3 entries");
        pack.limits.entries = 4;
        assert_eq!(pack.names("").unwrap().len(), 4);
        pack.read("a", 9).unwrap();
        pack.read("b", 9).unwrap();
        let error = pack.read("c", 9).unwrap_err().to_string();
        assert_eq!(
            error,
            "read `c`: the pack's files have more than 4 bytes together"
        );
        pack.limits.bytes = 9;
        pack.read("c", 9).unwrap();
        let error = pack.read("d", 9).unwrap_err().to_string();
        assert_eq!(error, "read `d`: the pack has more than 3 files");
    }

    #[test]
    fn what_two_doors_read_counts_together() {
        let (_folder, mut pack) = pack(&[("a", "12"), ("b", "34"), ("c", "5")]);
        pack.limits.bytes = 4;
        let mut other = pack.clone();
        other.read("a", 9).unwrap();
        pack.read("b", 9).unwrap();
        let error = other.read("c", 9).unwrap_err().to_string();
        assert_eq!(
            error,
            "read `c`: the pack's files have more than 4 bytes together"
        );
        assert_eq!(pack.files().keys().collect::<Vec<_>>(), ["a", "b"]);
        pack.limits.files = 2;
        pack.limits.bytes = 9;
        let error = pack.clone().read("c", 9).unwrap_err().to_string();
        assert_eq!(error, "read `c`: the pack has more than 2 files");
    }

    #[test]
    fn digest_depends_on_paths_and_contents_and_not_on_the_order_of_reading() {
        let digest = |files: &[(&str, &str)], order: &[&str]| {
            let (_folder, mut pack) = pack(files);
            for path in order {
                pack.read(path, 9).unwrap();
            }
            pack.digest()
        };
        let first = digest(&[("a", "1"), ("b", "2")], &["a", "b"]);
        assert_eq!(first, digest(&[("a", "1"), ("b", "2")], &["b", "a", "a"]));
        assert_ne!(first, digest(&[("a", "2"), ("b", "1")], &["a", "b"]));
        assert_ne!(first, digest(&[("a", "1"), ("b", "2")], &["a"]));
    }
}
