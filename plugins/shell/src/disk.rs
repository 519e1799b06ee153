//! `/workspace`: bashkit's file system over the host's `files`. It keeps nothing, follows nothing, and leaves every rule
//! to the host.

use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bashkit::{DirEntry, FileType, FsBackend, Metadata, Result, async_trait};

use crate::bindings::pibench::plugin::files::{self, Entry, FileError};

/// The mode of everything in the workspace. Modes are not kept: whoever may read a file may also run it.
const MODE: u32 = 0o755;

/// Bytes that cross to the host and back at once.
const PIECE: usize = 4 << 20;

/// The workspace of the session.
pub(crate) struct Disk;

/// Paths arrive absolute from the mount; the host wants them relative.
fn inner(path: &Path) -> Result<&str> {
    let text = path
        .to_str()
        .ok_or_else(|| IoError::new(ErrorKind::InvalidInput, "the file name is not UTF-8"))?;
    Ok(text.trim_matches('/'))
}

fn failed(error: FileError) -> bashkit::Error {
    let error = match error {
        FileError::NotFound => IoError::new(ErrorKind::NotFound, "No such file or directory"),
        FileError::Exists => IoError::new(ErrorKind::AlreadyExists, "File exists"),
        FileError::IsDirectory => IoError::other("is a directory"),
        FileError::NotDirectory => IoError::other("not a directory"),
        FileError::NotEmpty => IoError::other("directory not empty"),
        FileError::Denied(reason) => IoError::new(ErrorKind::PermissionDenied, reason),
        FileError::Quota(reason) => IoError::new(ErrorKind::PermissionDenied, reason),
        FileError::Io(reason) => IoError::other(reason),
    };
    error.into()
}

fn metadata(entry: &Entry) -> Metadata {
    Metadata {
        file_type: if entry.directory {
            FileType::Directory
        } else {
            FileType::File
        },
        size: entry.size,
        mode: MODE,
        // Times are not kept: everything is as old as the command.
        modified: SystemTime::now(),
        created: SystemTime::now(),
    }
}

fn refused(what: &str) -> bashkit::Error {
    IoError::new(ErrorKind::PermissionDenied, what).into()
}

#[async_trait]
impl FsBackend for Disk {
    async fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let path = inner(path)?;
        let mut content = Vec::new();
        loop {
            let piece = files::read(path, content.len() as u64, PIECE as u32).map_err(failed)?;
            let last = piece.len() < PIECE;
            content.extend(piece);
            if last {
                return Ok(content);
            }
        }
    }

    async fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        let path = inner(path)?;
        let (first, rest) = content.split_at(content.len().min(PIECE));
        files::write(path, first).map_err(failed)?;
        for piece in rest.chunks(PIECE) {
            files::append(path, piece).map_err(failed)?;
        }
        Ok(())
    }

    async fn append(&self, path: &Path, content: &[u8]) -> Result<()> {
        let path = inner(path)?;
        if content.is_empty() {
            return files::append(path, content).map_err(failed);
        }
        for piece in content.chunks(PIECE) {
            files::append(path, piece).map_err(failed)?;
        }
        Ok(())
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = inner(path)?;
        if recursive {
            for (end, _) in path.match_indices('/') {
                match files::make_directory(&path[..end]) {
                    Ok(()) | Err(FileError::Exists) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        files::make_directory(path).map_err(failed)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        remove(inner(path)?, recursive).map_err(failed)
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        let entry = files::stat(inner(path)?).map_err(failed)?;
        Ok(metadata(&entry))
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let entries = files::list(inner(path)?).map_err(failed)?;
        let entry = |entry: Entry| DirEntry {
            metadata: metadata(&entry),
            name: entry.name,
        };
        Ok(entries.into_iter().map(entry).collect())
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        match files::stat(inner(path)?) {
            Ok(_) => Ok(true),
            Err(FileError::NotFound | FileError::NotDirectory) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        files::rename(inner(from)?, inner(to)?).map_err(failed)
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let content = self.read(from).await?;
        self.write(to, &content).await
    }

    async fn symlink(&self, _target: &Path, _link: &Path) -> Result<()> {
        Err(refused("links cannot be made in the workspace"))
    }

    async fn read_link(&self, _path: &Path) -> Result<PathBuf> {
        Err(IoError::new(ErrorKind::InvalidInput, "not a link").into())
    }

    async fn chmod(&self, path: &Path, _mode: u32) -> Result<()> {
        self.stat(path).await.map(|_| ())
    }

    async fn set_modified_time(&self, path: &Path, _time: SystemTime) -> Result<()> {
        self.stat(path).await.map(|_| ())
    }
}

/// Removes a file or directory, with everything in it if so asked.
fn remove(path: &str, recursive: bool) -> std::result::Result<(), FileError> {
    match files::remove(path) {
        Err(FileError::NotEmpty) if recursive => {}
        other => return other,
    }
    for entry in files::list(path)? {
        remove(&format!("{path}/{}", entry.name), true)?;
    }
    files::remove(path)
}
