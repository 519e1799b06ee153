//! `pibench:plugin/files`: the workspace as the shell reads and writes it. Denials and quotas are values; traps are
//! that of a shell which moves more bytes than its fuel allows, and that of a machine which has no room.

use super::super::bindings::shell::pibench::plugin::files::{self, FileError};
use super::super::state::{ENTRY, MOVED, State};
use crate::workspace::{Entry, EntryKind, Workspace, WorkspaceError};
use pibench_core::path::WorkspacePath;
use pibench_core::vocabulary::Grant;

/// The most that one `read` hands out, in bytes (see `wit/files.wit`).
const READ: u32 = 8 << 20;

type Answer<T> = wasmtime::Result<Result<T, FileError>>;

impl State {
    /// Does something with the workspace, for `bytes` of the budget.
    fn with_files<T>(
        &mut self,
        bytes: usize,
        path: &str,
        act: impl FnOnce(&mut Workspace, WorkspacePath) -> Result<T, WorkspaceError>,
    ) -> Answer<T> {
        self.charge(bytes)?;
        self.charge_path(path)?;
        if !self.may_use(Grant::Workspace) {
            let reason = "the policy grants this plugin no workspace".into();
            return Ok(Err(FileError::Denied(reason)));
        }
        let Some(workspace) = &mut self.files else {
            let reason = "there is no workspace here".into();
            return Ok(Err(FileError::Denied(reason)));
        };
        let path = match WorkspacePath::parse_directory(path) {
            Ok(path) => path,
            Err(error) => return Ok(Err(FileError::Denied(error.to_string()))),
        };
        match act(workspace, path) {
            Ok(done) => Ok(Ok(done)),
            Err(error) => match error.of_the_machine() {
                Some(fault) => Err(wasmtime::Error::new(fault)),
                None => Ok(Err(convert(&error))),
            },
        }
    }
}

impl files::Host for State {
    fn stat(&mut self, path: String) -> Answer<files::Entry> {
        self.with_files(0, &path, |workspace, path| {
            let found = workspace.stat(&path)?;
            entry(&found).ok_or(WorkspaceError::Link(path))
        })
    }

    fn list(&mut self, path: String) -> Answer<Vec<files::Entry>> {
        let listed = self.with_files(0, &path, |workspace, path| workspace.list(&path, false))?;
        self.charge(listed.as_ref().map_or(0, |entries| entries.len() * ENTRY))?;
        Ok(listed.map(|entries| entries.iter().filter_map(entry).collect()))
    }

    fn read(&mut self, path: String, offset: u64, length: u32) -> Answer<Vec<u8>> {
        let length = length.min(READ);
        let read = self.with_files(0, &path, |workspace, path| {
            workspace
                .view()
                .read_range(&path, offset, u64::from(length))
        })?;
        self.charge(read.as_ref().map_or(0, Vec::len))?;
        Ok(read)
    }

    fn write(&mut self, path: String, content: Vec<u8>) -> Answer<()> {
        self.with_files(content.len(), &path, |workspace, path| {
            require_parent(workspace, &path)?;
            workspace.write(&path, &content)
        })
    }

    fn append(&mut self, path: String, content: Vec<u8>) -> Answer<()> {
        self.with_files(content.len(), &path, |workspace, path| {
            require_parent(workspace, &path)?;
            workspace.append(&path, &content)
        })
    }

    fn make_directory(&mut self, path: String) -> Answer<()> {
        self.with_files(0, &path, |workspace, path| workspace.make_directory(&path))
    }

    fn remove(&mut self, path: String) -> Answer<()> {
        self.with_files(0, &path, |workspace, path| workspace.remove(&path))
    }

    fn rename(&mut self, from: String, to: String) -> Answer<()> {
        self.charge_path(&to)?;
        let to = match WorkspacePath::parse_directory(&to) {
            Ok(to) => to,
            Err(error) => return Ok(Err(FileError::Denied(error.to_string()))),
        };
        let moved = self.with_files(0, &from, |workspace, from| workspace.rename(&from, &to))?;
        self.charge(*moved.as_ref().unwrap_or(&0) * MOVED)?;
        Ok(moved.map(drop))
    }
}

/// The door makes folders above a new file; a shell expects an error.
pub(super) fn require_parent(
    workspace: &Workspace,
    path: &WorkspacePath,
) -> Result<(), WorkspaceError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    match workspace.stat(&parent)?.kind {
        EntryKind::Directory => Ok(()),
        EntryKind::File | EntryKind::Refused => Err(WorkspaceError::NotADirectory(parent)),
    }
}

/// Links and devices are not shown: nothing could open them.
fn entry(entry: &Entry) -> Option<files::Entry> {
    let directory = match entry.kind {
        EntryKind::File => false,
        EntryKind::Directory => true,
        EntryKind::Refused => return None,
    };
    let name = entry.path.split_last().map(|(_, name)| name.to_owned());
    Some(files::Entry {
        name: name.unwrap_or_default(),
        directory,
        size: entry.size,
    })
}

fn convert(error: &WorkspaceError) -> FileError {
    match error {
        WorkspaceError::NotFound(_) => FileError::NotFound,
        WorkspaceError::Exists(_) => FileError::Exists,
        WorkspaceError::NotAFile(_) => FileError::IsDirectory,
        WorkspaceError::NotADirectory(_) => FileError::NotDirectory,
        WorkspaceError::NotEmpty(_) => FileError::NotEmpty,
        WorkspaceError::Path { .. } | WorkspaceError::Link(_) | WorkspaceError::Special(_) => {
            FileError::Denied(error.to_string())
        }
        WorkspaceError::Quota { .. } => FileError::Quota(error.to_string()),
        WorkspaceError::Open { .. } | WorkspaceError::Io { .. } => {
            FileError::Io("the host could not access it".into())
        }
    }
}
