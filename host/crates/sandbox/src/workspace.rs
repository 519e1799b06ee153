//! The one door to a session's files, over cap-std: for the agent's tools, the shell and the
//! graders alike. Everything in the folder is plain files and folders; links are neither made nor
//! followed, and nothing outside of the folder can be named. Quotas are checked before anything is
//! written, and new content is written beside the folder and then renamed: a file is always the old or the new one, and nothing
//! that is put into the folder is in the way.
//!
//! One task owns a [`Workspace`]; [`View`] is its read-only half, for graders. Names are those of
//! the file system, so the folder belongs on a case-sensitive one. What a process beside the host
//! writes into the folder is read safely; what it was is known where the workspace was told to watch (`beside`).

mod beside;
mod change;
mod edit;
mod rights;
mod stage;
#[cfg(test)]
mod tests;
mod view;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use rustix::io::Errno;

use crate::fault::GuestFault;
use pibench_core::path::{PathError, WorkspacePath};

pub use beside::overfull;
pub use change::{Change, MAX_ADDED};
pub use view::{Entry, EntryKind, View};

/// How often the host tries what a process beside it keeps undoing.
const TIMES: u32 = 100;

/// How much a workspace holds (sandbox design, "workspace").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// All files together.
    pub bytes: u64,
    /// Files and folders.
    pub files: u64,
    /// One file.
    pub file_bytes: u64,
    /// Components of a path.
    pub depth: u32,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            files: 10_000,
            file_bytes: 64 << 20,
            depth: 32,
        }
    }
}

/// A field of [`Quota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Bytes,
    Files,
    FileBytes,
    Depth,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes in the workspace",
            Self::Files => "files and folders in the workspace",
            Self::FileBytes => "bytes in one file",
            Self::Depth => "components in a path",
        })
    }
}

/// What a workspace holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub bytes: u64,
    /// Files and folders.
    pub files: u64,
}

impl Usage {
    /// A file that had `old` bytes has `new` ones.
    fn resize(&mut self, old: u64, new: u64) {
        self.bytes = self.bytes.saturating_sub(old) + new;
    }
}

/// Why a workspace did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The folder itself, not something in it.
    #[error("open the workspace {path}: {source}")]
    Open {
        path: Utf8PathBuf,
        source: io::Error,
    },
    #[error("use the path {text:?}: {source}")]
    Path { text: String, source: PathError },
    #[error("find {0}: no such file or folder")]
    NotFound(WorkspacePath),
    #[error("open {0}: links are not allowed in a workspace")]
    Link(WorkspacePath),
    #[error("open {0}: it is a device, pipe or socket")]
    Special(WorkspacePath),
    #[error("use {0} as a file: it is a folder")]
    NotAFile(WorkspacePath),
    #[error("use {0}: something on its way is a file and no folder")]
    NotADirectory(WorkspacePath),
    #[error("remove {0}: the folder is not empty")]
    NotEmpty(WorkspacePath),
    #[error("make {0}: there is something of that name")]
    Exists(WorkspacePath),
    #[error("store {path}: {actual} {limit}, {allowed} are allowed")]
    Quota {
        path: WorkspacePath,
        limit: Limit,
        allowed: u64,
        actual: u64,
    },
    #[error("access {path}: {source}")]
    Io {
        path: WorkspacePath,
        source: io::Error,
    },
}

impl WorkspaceError {
    /// The machine's fault, where it is one: a full or broken disk, too many open files, no memory. A guest that met it
    /// has done nothing wrong, and what it makes of it is no work to be judged.
    pub fn of_the_machine(&self) -> Option<GuestFault> {
        const MACHINES: [Errno; 7] = [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::IO,
            Errno::ROFS,
        ];
        let (Self::Open { source, .. } | Self::Io { source, .. }) = self else {
            return None;
        };
        let code = source.raw_os_error().map(Errno::from_raw_os_error)?;
        let reason = format!("failed to {self}");
        MACHINES
            .contains(&code)
            .then_some(GuestFault::Host { reason })
    }

    /// Whether it says something of a file or folder alone: it is gone, locked, another thing or too large. A process beside the
    /// host makes it so whenever it likes.
    fn is_of_the_file(&self) -> bool {
        match self {
            Self::Open { .. } => false,
            Self::Io { source, .. } => match source.raw_os_error() {
                None => self.is_of_a_replaced_file(),
                Some(code) => {
                    let links_or_sockets = [Errno::LOOP, Errno::NXIO];
                    source.kind() == io::ErrorKind::PermissionDenied
                        || links_or_sockets.contains(&Errno::from_raw_os_error(code))
                }
            },
            _ => true,
        }
    }

    /// Whether it was replaced while it was opened, which no error of the system says.
    fn is_of_a_replaced_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.raw_os_error().is_none())
    }

    /// Whether a process beside the host has taken a lease of it, so that it cannot be opened without waiting.
    fn is_of_a_leased_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::WouldBlock)
    }

    fn io(path: &WorkspacePath, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path.clone()),
            io::ErrorKind::DirectoryNotEmpty => Self::NotEmpty(path.clone()),
            io::ErrorKind::IsADirectory => Self::NotAFile(path.clone()),
            io::ErrorKind::NotADirectory => Self::NotADirectory(path.clone()),
            _ => Self::Io {
                path: path.clone(),
                source,
            },
        }
    }

    fn quota(path: &WorkspacePath, limit: Limit, allowed: u64, actual: u64) -> Self {
        Self::Quota {
            path: path.clone(),
            limit,
            allowed,
            actual,
        }
    }
}

/// Reads a path; an error tells the text.
pub fn parse_path(text: &str) -> Result<WorkspacePath, WorkspaceError> {
    WorkspacePath::parse(text).map_err(|source| WorkspaceError::Path {
        text: text.to_owned(),
        source,
    })
}

/// A session's files, to read and write.
#[derive(Debug)]
pub struct Workspace {
    view: View,
    place: Arc<Place>,
    books: Arc<Mutex<Books>>,
}

/// Where the folder lies.
#[derive(Debug)]
struct Place {
    above: Dir,
    name: String,
    /// What new content is called until it is whole, beside the folder: who works in the folder does not see it.
    incoming: String,
}

/// Whether the quota of the whole workspace bounds a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Within,
    Beyond,
}

/// What is counted and remembered beside the files themselves.
#[derive(Debug)]
struct Books {
    usage: Usage,
    tracker: change::Tracker,
    /// Sorted; None where something may have been written since it was last asked for.
    empty_folders: Option<Vec<String>>,
}

impl Workspace {
    /// Makes the folder, and those above it, and opens it. It must not exist yet.
    pub fn create(path: &Utf8Path, quota: Quota) -> Result<Self, WorkspaceError> {
        let place = Place::create(path).map_err(|source| WorkspaceError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::new(View::open(path, quota)?, place, Usage::default()))
    }

    /// Opens an existing folder and counts what it holds. A workspace over its quota opens, but
    /// takes nothing more.
    pub fn open(path: &Utf8Path, quota: Quota) -> Result<Self, WorkspaceError> {
        let view = View::open(path, quota)?;
        let place = Place::find(path).map_err(|source| WorkspaceError::Open {
            path: path.to_owned(),
            source,
        })?;
        let usage = view.usage()?;
        Ok(Self::new(view, place, usage))
    }

    fn new(view: View, place: Place, usage: Usage) -> Self {
        let tracker = change::Tracker::default();
        Self {
            view,
            place: Arc::new(place),
            books: Arc::new(Mutex::new(Books {
                usage,
                tracker,
                empty_folders: None,
            })),
        }
    }

    /// A second hold on the same files, for a guest that writes on the owner's behalf while the owner waits: quotas and
    /// changes are counted together.
    #[must_use]
    pub fn share(&self) -> Self {
        Self {
            view: self.view.clone(),
            place: Arc::clone(&self.place),
            books: Arc::clone(&self.books),
        }
    }

    /// For who writes.
    fn books(&self) -> MutexGuard<'_, Books> {
        let mut books = self.read_books();
        books.empty_folders = None;
        books
    }

    fn read_books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The read-only half, to hand out.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What the workspace holds now.
    pub fn usage(&self) -> Usage {
        self.read_books().usage
    }

    /// See [`View::read`].
    pub fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, WorkspaceError> {
        self.view.read(path)
    }

    /// See [`View::stat`].
    pub fn stat(&self, path: &WorkspacePath) -> Result<Entry, WorkspaceError> {
        self.view.stat(path)
    }

    /// See [`View::list`].
    pub fn list(
        &self,
        path: &WorkspacePath,
        recursive: bool,
    ) -> Result<Vec<Entry>, WorkspaceError> {
        self.view.list(path, recursive)
    }

    /// Makes or replaces a file, and the folders above it. On an error the file is as it was;
    /// folders may have been made.
    pub fn write(&mut self, path: &WorkspacePath, content: &[u8]) -> Result<(), WorkspaceError> {
        self.put(path, content, Room::Within)
    }

    fn put(
        &mut self,
        path: &WorkspacePath,
        content: &[u8],
        limit: Room,
    ) -> Result<(), WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(WorkspaceError::NotAFile(path.clone()));
        };
        self.view.check_depth(path)?;
        self.view.check_file_bytes(content.len() as u64, path)?;
        let mut books = self.books();
        let old = self.replaced_bytes(path)?;
        if limit == Room::Within {
            self.check_room(books.usage, path, old, content.len() as u64)?;
        }
        books.tracker.touch(&self.view, path)?;
        let directory = self.make_directories(&mut books.usage, &parent)?;
        let Place {
            above, incoming, ..
        } = &*self.place;
        let written = self.place.write(content);
        let renamed = written.and_then(|()| above.rename(incoming, &directory, name));
        if let Err(source) = renamed {
            // It may not exist; the first error is the one to tell.
            let _ = above.remove_file(incoming);
            return Err(WorkspaceError::io(path, source));
        }
        books.usage.files += u64::from(old.is_none());
        books.usage.resize(old.unwrap_or(0), content.len() as u64);
        Ok(())
    }

    /// Removes a file or an empty folder.
    pub fn remove(&mut self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(WorkspaceError::NotAFile(path.clone()));
        };
        let mut books = self.books();
        let directory = self.view.directory(&parent)?;
        let found = view::metadata(&directory, name, path)?;
        if found.is_dir() {
            directory
                .remove_dir(name)
                .map_err(|source| WorkspaceError::io(path, source))?;
        } else {
            self.view.require_file(&found, path)?;
            books.tracker.touch(&self.view, path)?;
            directory
                .remove_file(name)
                .map_err(|source| WorkspaceError::io(path, source))?;
            books.tracker.note_gone(path);
            books.usage.resize(found.len(), 0);
        }
        books.usage.files = books.usage.files.saturating_sub(1);
        Ok(())
    }

    /// The files that changed through the door since the last call, sorted by path, and starts a
    /// new period. A file that was made and removed, or written with its own content, has not
    /// changed.
    pub fn take_changes(&mut self) -> Result<Vec<Change>, WorkspaceError> {
        let mut changes = Vec::new();
        self.take_contents(|change, _| {
            changes.push(change);
            Ok::<_, WorkspaceError>(())
        })?;
        Ok(changes)
    }

    /// The same, one after the other, each with what the file holds; None where it is gone. What is given is what was compared: a
    /// process beside the host may have written another thing by now.
    pub fn take_contents<E: From<WorkspaceError>>(
        &mut self,
        give: impl FnMut(Change, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.read_books().tracker.take(&self.view, give)
    }

    /// Gives the host rights on what has this path that a process beside it may have taken away; nothing, where there is nothing.
    fn take_rights(&self, path: &WorkspacePath, wanted: u32) -> Result<(), WorkspaceError> {
        let taken = match path.split_last() {
            None => self.place.take_rights(wanted),
            Some((parent, name)) => {
                let directory = self.view.directory(&parent)?;
                directory
                    .symlink_metadata(name)
                    .and_then(|found| rights::take(&directory, name, &found, wanted))
            }
        };
        match taken.map_err(|source| WorkspaceError::io(path, source)) {
            Err(WorkspaceError::NotFound(_)) => Ok(()),
            taken => taken,
        }
    }

    /// The size of the file that a write would replace; None where there is none.
    fn replaced_bytes(&self, path: &WorkspacePath) -> Result<Option<u64>, WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(WorkspaceError::NotAFile(path.clone()));
        };
        let found = match self
            .view
            .directory(&parent)
            .and_then(|parent| view::metadata(&parent, name, path))
        {
            Err(WorkspaceError::NotFound(_)) => return Ok(None),
            found => found?,
        };
        self.view.require_file(&found, path)?;
        Ok(Some(found.len()))
    }

    /// Checks the quotas of the whole workspace for a file that grows from `old` to `new` bytes.
    fn check_room(
        &self,
        usage: Usage,
        path: &WorkspacePath,
        old: Option<u64>,
        new: u64,
    ) -> Result<(), WorkspaceError> {
        let Quota {
            bytes,
            files,
            file_bytes: _,
            depth: _,
        } = *self.view.quota();
        let after = usage.bytes.saturating_sub(old.unwrap_or(0)) + new;
        if after > bytes && after > usage.bytes {
            return Err(WorkspaceError::quota(path, Limit::Bytes, bytes, after));
        }
        if old.is_some() {
            return Ok(());
        }
        let after = usage.files + self.missing_entries(path)?;
        if after > files {
            return Err(WorkspaceError::quota(path, Limit::Files, files, after));
        }
        Ok(())
    }

    /// How many entries a new file at `path` adds: itself and the folders that are missing above
    /// it.
    fn missing_entries(&self, path: &WorkspacePath) -> Result<u64, WorkspaceError> {
        let mut missing = 1;
        let mut above = path.parent();
        while let Some(folder) = above {
            match self.view.directory(&folder) {
                Ok(_) => break,
                Err(WorkspaceError::NotFound(_)) => missing += 1,
                Err(error) => return Err(error),
            }
            above = folder.parent();
        }
        Ok(missing)
    }

    /// Opens a folder, making what is missing.
    fn make_directories(
        &self,
        usage: &mut Usage,
        path: &WorkspacePath,
    ) -> Result<Arc<Dir>, WorkspaceError> {
        let mut directory = self.view.directory(&WorkspacePath::ROOT)?;
        for component in path.components() {
            match directory.create_dir(component) {
                Ok(()) => usage.files += 1,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(WorkspaceError::io(path, source)),
            }
            directory = Arc::new(view::enter(&directory, component, path)?);
        }
        Ok(directory)
    }
}

impl Place {
    fn find(path: &Utf8Path) -> io::Result<Self> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::other("the path has no name at its end"))?;
        Ok(Self {
            above: Dir::open_ambient_dir(folder_above(path), ambient_authority())?,
            name: name.to_owned(),
            incoming: format!("{name}.incoming"),
        })
    }

    /// Makes the folder, which must not exist, and those above it.
    fn create(path: &Utf8Path) -> io::Result<Self> {
        Dir::create_ambient_dir_all(folder_above(path), ambient_authority())?;
        let place = Self::find(path)?;
        place.above.create_dir(&place.name)?;
        // Left behind where the host was killed in the middle of a write.
        stage::remove(&place.above, place.incoming.as_ref())?;
        Ok(place)
    }

    /// Gives the host rights on the folder itself.
    fn take_rights(&self, wanted: u32) -> io::Result<()> {
        let found = self.above.symlink_metadata(&self.name)?;
        rights::take(&self.above, &self.name, &found, wanted)
    }

    /// Writes new content, to be renamed. It is made anew, so that nothing is followed that stands in its place.
    fn write(&self, content: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = match self.above.open_with(&self.incoming, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                stage::remove(&self.above, self.incoming.as_ref())?;
                self.above.open_with(&self.incoming, &options)?
            }
            opened => opened?,
        };
        file.write_all(content)
    }
}

/// Removes a folder with all that is in it, whatever rights a process beside the host took from it. Where there is none, nothing
/// is done.
pub fn remove_folder(path: &Utf8Path) -> io::Result<()> {
    match Place::find(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        place => {
            let place = place?;
            stage::remove(&place.above, place.name.as_ref())
        }
    }
}

fn folder_above(path: &Utf8Path) -> &Utf8Path {
    match path.parent() {
        Some(parent) if !parent.as_str().is_empty() => parent,
        _ => Utf8Path::new("."),
    }
}
