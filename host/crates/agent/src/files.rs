//! The scaffold's own files in the workspace: where they are, and how they are read. The agent may change each of them.

use pibench_core::path::WorkspacePath;
use pibench_sandbox::workspace::{Workspace, WorkspaceError};

/// Where results are kept that are too long for the chat.
pub const RESULTS_FOLDER: &str = "tool-results";

/// Characters of a result above which it is kept in a file of that folder and shown in part.
pub(super) const LONG_RESULT: usize = 16_000;

/// What stays of the last sessions, always in the prompt.
pub(super) const MEMORY: &str = "memory/MEMORY.md";

/// The log of sessions, for the agent to search.
pub(super) const HISTORY: &str = "memory/HISTORY.md";

/// One of the scaffold's own paths.
pub(super) fn own_path(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).expect("the scaffold's own paths are plain, and a test uses each")
}

/// A text file, empty when it cannot be read: the agent may have made a folder of it, or a file too large.
pub(super) fn read(workspace: &Workspace, path: &str) -> Result<String, WorkspaceError> {
    match workspace.read(&own_path(path)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(error) if error.of_the_machine().is_some() => Err(error),
        Err(_) => Ok(String::new()),
    }
}
