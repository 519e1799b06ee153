//! The read-only half of the door: what graders get, and what the other half stands on. It never
//! follows a link, never opens anything but plain files and folders, and never changes a file.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use camino::Utf8Path;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::{Limit, Quota, Usage, WorkspaceError};
use pibench_core::path::WorkspacePath;

/// Reads a workspace's files. Clones share the folder.
#[derive(Debug, Clone)]
pub struct View {
    root: Arc<Dir>,
    quota: Quota,
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    /// A link, a hard link to another name, a device, a pipe or a socket. None can be made through
    /// the door, and none is opened.
    Refused,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: WorkspacePath,
    pub kind: EntryKind,
    /// In bytes; 0 for all but files.
    pub size: u64,
}

impl View {
    /// Opens the folder at `path`, which is trusted: links on the way to it are followed.
    pub fn open(path: &Utf8Path, quota: Quota) -> Result<Self, WorkspaceError> {
        let root = Dir::open_ambient_dir(path, ambient_authority()).map_err(|source| {
            WorkspaceError::Open {
                path: path.to_owned(),
                source,
            }
        })?;
        Ok(Self {
            root: Arc::new(root),
            quota,
        })
    }

    /// A file's content.
    pub fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, WorkspaceError> {
        let (file, _) = self.open_file(path, OpenOptions::new().read(true))?;
        let allowed = self.quota.file_bytes;
        let mut content = Vec::new();
        file.take(allowed.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|source| WorkspaceError::io(path, source))?;
        self.check_file_bytes(content.len() as u64, path)?;
        Ok(content)
    }

    /// At most `length` bytes of a file from `offset` on; fewer only at its end.
    pub fn read_range(
        &self,
        path: &WorkspacePath,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let (mut file, _) = self.open_file(path, OpenOptions::new().read(true))?;
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.take(length).read_to_end(&mut content))
            .map_err(|source| WorkspaceError::io(path, source))?;
        Ok(content)
    }

    /// Opens a plain file, and says its size.
    pub(super) fn open_file(
        &self,
        path: &WorkspacePath,
        options: &OpenOptions,
    ) -> Result<(File, u64), WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(WorkspaceError::NotAFile(path.clone()));
        };
        let directory = self.directory(&parent)?;
        let expected = metadata(&directory, name, path)?;
        self.require_file(&expected, path)?;
        // A pipe that came in between is not waited for.
        let mut options = options.clone();
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = directory
            .open_with(name, &options)
            .map_err(|source| WorkspaceError::io(path, source))?;
        let opened = file
            .metadata()
            .map_err(|source| WorkspaceError::io(path, source))?;
        require_same(&expected, &opened, path)?;
        Ok((file, opened.len()))
    }

    /// What `path` names. Fails with `NotFound` where there is nothing.
    pub fn stat(&self, path: &WorkspacePath) -> Result<Entry, WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Ok(Entry {
                path: path.clone(),
                kind: EntryKind::Directory,
                size: 0,
            });
        };
        let directory = self.directory(&parent)?;
        let found = metadata(&directory, name, path)?;
        Ok(entry(path.clone(), &found))
    }

    /// The entries of a folder, sorted by path; with `recursive`, of everything below it. Entries
    /// whose name is no valid path component are left out: nothing could open them.
    pub fn list(
        &self,
        path: &WorkspacePath,
        recursive: bool,
    ) -> Result<Vec<Entry>, WorkspaceError> {
        let mut entries = Vec::new();
        let directory = self.directory(path)?;
        self.walk(&directory, path, recursive, &mut |path, found| {
            entries.extend(path.map(|path| entry(path, found)));
        })?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// The folders that hold neither a file nor a folder, as far as the quotas go; in no order. After each turn it is asked
    /// for them: of a file no more is looked at than its kind, where its folder holds something already.
    pub(super) fn empty_folders(&self) -> Result<Vec<WorkspacePath>, WorkspaceError> {
        let (mut empty, mut seen) = (Vec::new(), 0);
        let looked = self.look_for_empty(&self.root, &WorkspacePath::ROOT, &mut seen, &mut empty);
        if let Err(error) = looked
            && !error.is_of_the_file()
        {
            return Err(error);
        }
        Ok(empty)
    }

    fn look_for_empty(
        &self,
        directory: &Dir,
        path: &WorkspacePath,
        seen: &mut u64,
        empty: &mut Vec<WorkspacePath>,
    ) -> Result<(), WorkspaceError> {
        let failed = |source| WorkspaceError::io(path, source);
        let mut holds_something = path.is_root();
        for entry in directory.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some((inner, name)) = name
                .to_str()
                .and_then(|name| Some((path.join(name).ok()?, name)))
            else {
                continue;
            };
            *seen += 1;
            if *seen > self.quota.files {
                return Ok(());
            }
            let mut kind = entry.file_type().map_err(failed)?;
            // Not every file system tells it with the name.
            if !kind.is_dir() && !kind.is_file() && !kind.is_symlink() {
                kind = match entry.metadata() {
                    Err(source) if source.kind() == io::ErrorKind::NotFound => continue,
                    found => found.map_err(failed)?.file_type(),
                };
            }
            if kind.is_dir() {
                holds_something = true;
                if inner.depth() as u64 >= u64::from(self.quota.depth) {
                    continue;
                }
                let looked = enter(directory, name, &inner)
                    .and_then(|below| self.look_for_empty(&below, &inner, seen, empty));
                // It may have gone while it was looked at.
                if let Err(error) = looked
                    && !error.is_of_the_file()
                {
                    return Err(error);
                }
            } else if kind.is_file() && !holds_something {
                holds_something = match metadata(directory, name, &inner) {
                    Ok(found) => self::entry(inner, &found).kind == EntryKind::File,
                    Err(error) if error.is_of_the_file() => false,
                    Err(error) => return Err(error),
                };
            }
        }
        if !holds_something {
            empty.push(path.clone());
        }
        Ok(())
    }

    /// Counts everything in the folder, entries with invalid names too.
    pub(super) fn usage(&self) -> Result<Usage, WorkspaceError> {
        let mut usage = Usage::default();
        self.walk(&self.root, &WorkspacePath::ROOT, true, &mut |_, found| {
            usage.files += 1;
            usage.bytes += if found.is_file() { found.len() } else { 0 };
        })?;
        Ok(usage)
    }

    /// The folder itself, for the half that writes.
    pub(super) fn root(&self) -> &Dir {
        &self.root
    }

    /// What the workspace may hold.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Opens a folder, one component after the other.
    pub(super) fn directory(&self, path: &WorkspacePath) -> Result<Arc<Dir>, WorkspaceError> {
        let mut directory = Arc::clone(&self.root);
        for component in path.components() {
            directory = Arc::new(enter(&directory, component, path)?);
        }
        Ok(directory)
    }

    /// Refuses what is no plain file of allowed size.
    pub(super) fn require_file(
        &self,
        found: &Metadata,
        path: &WorkspacePath,
    ) -> Result<(), WorkspaceError> {
        if found.is_symlink() {
            return Err(WorkspaceError::Link(path.clone()));
        }
        if found.is_dir() {
            return Err(WorkspaceError::NotAFile(path.clone()));
        }
        if !found.is_file() {
            return Err(WorkspaceError::Special(path.clone()));
        }
        if found.nlink() > 1 {
            return Err(WorkspaceError::Link(path.clone()));
        }
        self.check_file_bytes(found.len(), path)
    }

    pub(super) fn check_file_bytes(
        &self,
        actual: u64,
        path: &WorkspacePath,
    ) -> Result<(), WorkspaceError> {
        let allowed = self.quota.file_bytes;
        if actual > allowed {
            return Err(WorkspaceError::quota(
                path,
                Limit::FileBytes,
                allowed,
                actual,
            ));
        }
        Ok(())
    }

    /// Calls `visit` for each entry; the path is None for a name that no path can hold.
    pub(super) fn walk(
        &self,
        directory: &Dir,
        path: &WorkspacePath,
        recursive: bool,
        visit: &mut dyn FnMut(Option<WorkspacePath>, &Metadata),
    ) -> Result<(), WorkspaceError> {
        for entry in directory
            .entries()
            .map_err(|source| WorkspaceError::io(path, source))?
        {
            let entry = entry.map_err(|source| WorkspaceError::io(path, source))?;
            let name = entry.file_name();
            let found = match entry.metadata() {
                // It went while it was looked at.
                Err(source) if source.kind() == io::ErrorKind::NotFound => continue,
                found => found.map_err(|source| WorkspaceError::io(path, source))?,
            };
            let inner = name.to_str().and_then(|name| path.join(name).ok());
            visit(inner.clone(), &found);
            let (true, true, Some(inner), Some(name)) =
                (recursive, found.is_dir(), inner, name.to_str())
            else {
                continue;
            };
            self.check_depth(&inner)?;
            match enter(directory, name, &inner) {
                Err(WorkspaceError::NotFound(_) | WorkspaceError::NotADirectory(_)) => {}
                below => self.walk(&below?, &inner, recursive, visit)?,
            }
        }
        Ok(())
    }

    /// Bounds the recursion of `walk` and the number of open folders.
    pub(super) fn check_depth(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let (allowed, actual) = (u64::from(self.quota.depth), path.depth() as u64);
        if actual > allowed {
            return Err(WorkspaceError::quota(path, Limit::Depth, allowed, actual));
        }
        Ok(())
    }
}

/// The metadata of a name in `directory`, of a link itself and not of what it points to.
pub(super) fn metadata(
    directory: &Dir,
    name: &str,
    path: &WorkspacePath,
) -> Result<Metadata, WorkspaceError> {
    directory
        .symlink_metadata(name)
        .map_err(|source| WorkspaceError::io(path, source))
}

/// Opens the folder `name` of `directory`; `path` is for messages.
pub(super) fn enter(
    directory: &Dir,
    name: &str,
    path: &WorkspacePath,
) -> Result<Dir, WorkspaceError> {
    let expected = metadata(directory, name, path)?;
    if expected.is_symlink() {
        return Err(WorkspaceError::Link(path.clone()));
    }
    if !expected.is_dir() {
        return Err(WorkspaceError::NotADirectory(path.clone()));
    }
    let opened = directory
        .open_dir(name)
        .map_err(|source| WorkspaceError::io(path, source))?;
    let found = opened
        .dir_metadata()
        .map_err(|source| WorkspaceError::io(path, source))?;
    require_same(&expected, &found, path)?;
    Ok(opened)
}

/// What was opened must be what was looked at: opening follows links, so one that came in between
/// is caught here.
fn require_same(
    expected: &Metadata,
    opened: &Metadata,
    path: &WorkspacePath,
) -> Result<(), WorkspaceError> {
    if (expected.dev(), expected.ino()) == (opened.dev(), opened.ino()) {
        return Ok(());
    }
    Err(WorkspaceError::io(
        path,
        io::Error::other("it was replaced while it was opened"),
    ))
}

pub(super) fn entry(path: WorkspacePath, found: &Metadata) -> Entry {
    let (kind, size) = if found.is_dir() {
        (EntryKind::Directory, 0)
    } else if found.is_file() && found.nlink() == 1 {
        (EntryKind::File, found.len())
    } else {
        (EntryKind::Refused, 0)
    };
    Entry { path, kind, size }
}
