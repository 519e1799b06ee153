//! `pibench:plugin/workspace`: what a grader reads of a session's files. Denials are values, never traps; work is charged, and
//! a machine that has no room ends the call.

use super::super::bindings::grader::pibench::plugin::{evidence, workspace};
use super::super::state::{ENTRY, State};
use crate::workspace::{Entry, EntryKind, View, WorkspaceError};
use pibench_core::path::{PathError, WorkspacePath};
use pibench_core::vocabulary::Grant;

/// The most that one `read` hands out, in bytes.
const READ: u64 = 16 << 20;

/// The most entries that one `list` hands out.
const ENTRIES: usize = 10_000;

impl evidence::Host for State {}

type Answer<T> = wasmtime::Result<Result<T, workspace::WorkspaceError>>;

impl State {
    /// Looks at the workspace. What the machine is to blame for ends the call.
    fn look<T>(
        &mut self,
        path: Result<WorkspacePath, PathError>,
        look: impl FnOnce(&View, &WorkspacePath) -> Result<T, WorkspaceError>,
    ) -> Answer<T> {
        self.charge(0)?;
        let path = match path {
            Ok(path) => path,
            Err(error) => return Ok(Err(denied(error))),
        };
        let view = match self.view() {
            Ok(view) => view,
            Err(error) => return Ok(Err(error)),
        };
        match look(view, &path) {
            Ok(found) => Ok(Ok(found)),
            Err(error) => match error.of_the_machine() {
                Some(fault) => Err(wasmtime::Error::new(fault)),
                None => Ok(Err(convert(error))),
            },
        }
    }

    fn view(&mut self) -> Result<&View, workspace::WorkspaceError> {
        if !self.may_use(Grant::Workspace) {
            let why = "the policy grants this plugin no workspace";
            return Err(workspace::WorkspaceError::Denied(why.into()));
        }
        let missing = || workspace::WorkspaceError::Denied("there is no workspace here".into());
        self.workspace.as_ref().ok_or_else(missing)
    }
}

impl workspace::Host for State {
    fn list(&mut self, path: String, recursive: bool) -> Answer<Vec<workspace::Entry>> {
        self.charge_path(&path)?;
        let path = WorkspacePath::parse_directory(&path);
        let listed = self.look(path, |view, path| view.list(path, recursive))?;
        let entries = match listed {
            Ok(entries) => entries,
            Err(error) => return Ok(Err(error)),
        };
        self.charge(entries.len() * ENTRY)?;
        if entries.len() > ENTRIES {
            return Ok(Err(workspace::WorkspaceError::TooLarge(
                entries.len() as u64
            )));
        }
        Ok(Ok(entries.iter().filter_map(entry).collect()))
    }

    fn read(&mut self, path: String) -> Answer<Vec<u8>> {
        self.charge_path(&path)?;
        let path = WorkspacePath::parse(&path);
        let size = match self.look(path.clone(), View::stat)? {
            Ok(found) => found.size,
            Err(error) => return Ok(Err(error)),
        };
        if size > READ {
            return Ok(Err(workspace::WorkspaceError::TooLarge(size)));
        }
        self.charge(usize::try_from(size).unwrap_or(usize::MAX))?;
        self.look(path, View::read)
    }
}

/// Links and devices are not shown: nothing could open them.
fn entry(entry: &Entry) -> Option<workspace::Entry> {
    let directory = match entry.kind {
        EntryKind::File => false,
        EntryKind::Directory => true,
        EntryKind::Refused => return None,
    };
    Some(workspace::Entry {
        path: entry.path.to_string(),
        directory,
        size: entry.size,
    })
}

fn denied(error: impl std::fmt::Display) -> workspace::WorkspaceError {
    workspace::WorkspaceError::Denied(error.to_string())
}

fn convert(error: WorkspaceError) -> workspace::WorkspaceError {
    match error {
        WorkspaceError::NotFound(_) => workspace::WorkspaceError::NotFound,
        WorkspaceError::NotAFile(_) | WorkspaceError::NotADirectory(_) => {
            workspace::WorkspaceError::WrongKind
        }
        WorkspaceError::Path { .. } | WorkspaceError::Link(_) | WorkspaceError::Special(_) => {
            denied(error)
        }
        other => workspace::WorkspaceError::Io(other.to_string()),
    }
}
