//! `pibench:plugin/workspace`: what a grader reads of a session's files. Denials are values, never traps.

use super::super::bindings::grader::pibench::plugin::{evidence, workspace};
use super::super::state::State;
use crate::workspace::{Entry, EntryKind, View, WorkspaceError};
use pibench_core::path::WorkspacePath;
use pibench_core::vocabulary::Grant;

/// The most that one `read` hands out, in bytes.
const READ: u64 = 16 << 20;

/// The most entries that one `list` hands out.
const ENTRIES: usize = 10_000;

impl evidence::Host for State {}

impl State {
    fn view(&mut self) -> Result<&View, workspace::WorkspaceError> {
        if !self.granted(Grant::Workspace) {
            let why = "the policy grants this plugin no workspace";
            return Err(workspace::WorkspaceError::Denied(why.into()));
        }
        let missing = || workspace::WorkspaceError::Denied("there is no workspace here".into());
        self.workspace.as_ref().ok_or_else(missing)
    }
}

impl workspace::Host for State {
    fn list(
        &mut self,
        path: String,
        recursive: bool,
    ) -> Result<Vec<workspace::Entry>, workspace::WorkspaceError> {
        let path = WorkspacePath::parse_directory(&path).map_err(denied)?;
        let entries = self.view()?.list(&path, recursive).map_err(convert)?;
        if entries.len() > ENTRIES {
            return Err(workspace::WorkspaceError::TooLarge(entries.len() as u64));
        }
        Ok(entries.iter().filter_map(entry).collect())
    }

    fn read(&mut self, path: String) -> Result<Vec<u8>, workspace::WorkspaceError> {
        let path = WorkspacePath::parse(&path).map_err(denied)?;
        let view = self.view()?;
        let size = view.stat(&path).map_err(convert)?.size;
        if size > READ {
            return Err(workspace::WorkspaceError::TooLarge(size));
        }
        view.read(&path).map_err(convert)
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
