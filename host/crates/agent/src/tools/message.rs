//! `message`: a text to the user while the work goes on, with files of the workspace. Who runs the turn carries it.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MOST_LISTED, Refusal, bounded};
use pibench_core::path::WorkspacePath;
use pibench_sandbox::GuestFault;
use pibench_sandbox::workspace::{EntryKind, Workspace, WorkspaceError};

/// While the work goes on.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Arguments {
    content: String,
    /// Files.
    #[serde(default)]
    media: Vec<String>,
}

/// What the agent is told, and what the user reads. A message goes when each of its files is there.
pub(crate) fn write(
    workspace: &Workspace,
    arguments: Arguments,
) -> Result<(String, String), Refusal> {
    let Arguments { content, mut media } = arguments;
    let left_out = media.len().saturating_sub(MOST_LISTED);
    media.truncate(MOST_LISTED);
    for file in &media {
        let path = WorkspacePath::parse(file).map_err(|error| unsent(file, &error, None))?;
        find(workspace, &path).map_err(|error| unsent(file, &error, error.of_the_machine()))?;
    }
    let text = text(content, &media);
    let told = match left_out {
        0 => "The user has it.".into(),
        more => {
            format!(
                "The user has it, without the last {more} files: a message takes {MOST_LISTED}."
            )
        }
    };
    Ok((told, text))
}

pub(crate) fn unsent(file: &str, reason: &dyn Display, machine: Option<GuestFault>) -> Refusal {
    Refusal {
        text: format!("nothing was sent: the file {file:?}: {reason}"),
        machine,
    }
}

/// What the user reads: the words, and a line for each file.
pub(super) fn text(content: String, media: &[String]) -> String {
    let listed = media.iter().take(MOST_LISTED);
    listed.fold(bounded(content), |text, file| {
        format!("{text}\n[file: {file}]")
    })
}

/// What the door says of a file that cannot be read.
fn find(workspace: &Workspace, path: &WorkspacePath) -> Result<(), WorkspaceError> {
    match workspace.stat(path) {
        Ok(entry) if entry.kind == EntryKind::File => Ok(()),
        _ => workspace.read(path).map(drop),
    }
}
