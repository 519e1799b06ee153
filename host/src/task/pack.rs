//! The door to a pack's files. Packs come from strangers: nothing is read through a link, from outside of the pack's
//! folder, or beyond a size limit, and nothing is written. What was read makes up the pack's digest.

use std::collections::BTreeMap;
use std::io::{self, Read};

use camino::{Utf8Path, Utf8PathBuf};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

/// Bytes of all files that one load may read: the workspace's own quota, since staged files are held in memory.
const TOTAL_LIMIT: u64 = 1 << 30;

/// The longest relative path: what the common file systems take (`PATH_MAX` of 4,096 less room for the root).
const PATH_LIMIT: usize = 1024;

/// Why a file of the pack was not read. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("read `{path}`: {reason}")]
    NotPlain { path: String, reason: &'static str },
    #[error("read `{path}`: `{link}` is a link, and packs are read without following any")]
    Link { path: String, link: String },
    #[error("read `{0}`: no such file")]
    Missing(String),
    #[error("read `{0}`: not a regular file")]
    NotAFile(String),
    #[error("read `{path}`: {size} bytes, more than the limit of {limit}")]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("read `{path}`: the pack's files have more than {TOTAL_LIMIT} bytes together")]
    Total { path: String },
    #[error("read `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

/// A folder whose files are read.
#[derive(Debug)]
pub(super) struct Pack {
    root: Utf8PathBuf,
    dir: Dir,
    read: BTreeMap<String, blake3::Hash>,
    bytes: u64,
}

impl Pack {
    /// Opens the folder; `""` is the working directory. The folder itself is the operator's choice and may be a link.
    pub(super) fn open(root: &Utf8Path) -> io::Result<Self> {
        let folder = if root.as_str().is_empty() {
            Utf8Path::new(".")
        } else {
            root
        };
        let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
        Ok(Self {
            root: root.to_owned(),
            dir,
            read: BTreeMap::new(),
            bytes: 0,
        })
    }

    /// The path of a file as people reach it.
    pub(super) fn shown(&self, path: &str) -> Utf8PathBuf {
        self.root.join(path)
    }

    /// The content of a file of at most `limit` bytes.
    pub(super) fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let size = self.size(path)?;
        let too_large = |size| ReadError::TooLarge {
            path: path.to_owned(),
            size,
            limit,
        };
        if size > limit {
            return Err(too_large(size));
        }
        self.bytes += size;
        if self.bytes > TOTAL_LIMIT {
            return Err(ReadError::Total {
                path: path.to_owned(),
            });
        }
        let failed = |source| ReadError::Io {
            path: path.to_owned(),
            source,
        };
        let mut content = Vec::new();
        self.dir
            .open(path)
            .map_err(failed)?
            .take(limit + 1)
            .read_to_end(&mut content)
            .map_err(failed)?;
        // The file may have grown since it was looked at.
        if content.len() as u64 > limit {
            return Err(too_large(content.len() as u64));
        }
        self.read.insert(path.to_owned(), blake3::hash(&content));
        Ok(content)
    }

    /// The size of a regular file, when no part of the path is a link.
    fn size(&self, path: &str) -> Result<u64, ReadError> {
        let found = self.look(path)?;
        if !found.is_file() {
            return Err(ReadError::NotAFile(path.to_owned()));
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
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    ReadError::Missing(path.to_owned())
                }
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

    /// The names of what stands in a folder, sorted; `""` is the root. Names that are no UTF-8 are replaced by a
    /// readable form, under which nothing will be found.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let failed = |source| ReadError::Io {
            path: folder.to_owned(),
            source,
        };
        let entries = if folder.is_empty() {
            self.dir.entries().map_err(failed)?
        } else {
            self.look(folder)?;
            self.dir.read_dir(folder).map_err(failed)?
        };
        let name = |entry: io::Result<cap_std::fs::DirEntry>| {
            Ok(entry?.file_name().to_string_lossy().into_owned())
        };
        let mut names: Vec<String> = entries
            .map(name)
            .collect::<io::Result<_>>()
            .map_err(failed)?;
        names.sort();
        Ok(names)
    }

    /// Whether a folder stands there, reached without a link.
    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.look(path).is_ok_and(|found| found.is_dir())
    }

    /// BLAKE3 over the path and content of every file that was read, in the order of the paths; hex.
    pub(super) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, content) in &self.read {
            // The length keeps (path, content) pairs apart.
            hasher
                .update(&(path.len() as u64).to_le_bytes())
                .update(path.as_bytes())
                .update(content.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Refuses paths that are not relative with plain components, the same on every system. The error reads after a colon.
pub(super) fn plain(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("the path is empty");
    }
    if path.len() > PATH_LIMIT {
        return Err("the path has more than 1024 bytes");
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return Err("the path is absolute; it must be relative");
    }
    if path.chars().any(|c| c == '\\' || c.is_control()) {
        return Err("the path has a backslash or a control character; parts are joined by `/`");
    }
    if path.split('/').any(|part| part == "..") {
        return Err("the path leaves its folder by `..`");
    }
    if path.split('/').any(|part| part.is_empty() || part == ".") {
        return Err("the path has an empty or `.` part");
    }
    Ok(())
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
            "", "/a", "../a", "a/../b", "a/..", "./a", "a//b", "a/", "a\\b", "C:/a", "a\0", "a\nb",
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
