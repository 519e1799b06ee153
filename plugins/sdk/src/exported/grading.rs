//! A [`Grader`] behind the world's export.

use std::marker::PhantomData;

use crate::bindings::grader::exports::pibench::plugin::grading as export;
use crate::bindings::grader::pibench::plugin::{evidence as wit, workspace as host};
use crate::grader::{
    AppState, Call, CallStatus, ChangeKind, Entry, Evidence, FileChange, Grader, Message, Speaker,
    Workspace, WorkspaceError,
};

/// What the export macro hands to the bindings.
pub struct ExportedGrader<G>(PhantomData<G>);

impl<G: Grader> export::Guest for ExportedGrader<G> {
    fn list_checks(config: String) -> Result<Vec<export::Check>, String> {
        let checks = G::list_checks(&config)?;
        Ok(checks
            .into_iter()
            .map(|check| export::Check {
                id: check.id,
                description: check.description,
            })
            .collect())
    }

    fn grade(config: String, evidence: export::Evidence) -> Result<Vec<export::Verdict>, String> {
        let verdicts = G::grade(&config, &Evidence::from(evidence), &HostWorkspace)?;
        let convert = |verdict: crate::grader::Verdict| export::Verdict {
            check: verdict.check,
            pass: verdict.pass,
            reason: verdict.reason,
        };
        Ok(verdicts.into_iter().map(convert).collect())
    }
}

/// The host's workspace.
struct HostWorkspace;

impl Workspace for HostWorkspace {
    fn list(&self, path: &str, recursive: bool) -> Result<Vec<Entry>, WorkspaceError> {
        let convert = |entry: host::Entry| Entry {
            path: entry.path,
            directory: entry.directory,
            size: entry.size,
        };
        Ok(host::list(path, recursive)?
            .into_iter()
            .map(convert)
            .collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        Ok(host::read(path)?)
    }
}

impl From<host::WorkspaceError> for WorkspaceError {
    fn from(error: host::WorkspaceError) -> Self {
        match error {
            host::WorkspaceError::NotFound => Self::NotFound,
            host::WorkspaceError::Denied(reason) => Self::Denied(reason),
            host::WorkspaceError::TooLarge(size) => Self::TooLarge(size),
            host::WorkspaceError::WrongKind => Self::WrongKind,
            host::WorkspaceError::Io(reason) => Self::Io(reason),
        }
    }
}

impl From<wit::Evidence> for Evidence {
    fn from(evidence: wit::Evidence) -> Self {
        let wit::Evidence {
            turn,
            calls,
            messages,
            changes,
            apps,
        } = evidence;
        Self {
            turn,
            calls: calls.into_iter().map(Call::from).collect(),
            messages: messages.into_iter().map(Message::from).collect(),
            changes: changes.into_iter().map(FileChange::from).collect(),
            apps: apps.into_iter().map(AppState::from).collect(),
        }
    }
}

impl From<wit::Call> for Call {
    fn from(call: wit::Call) -> Self {
        let wit::Call {
            number,
            turn,
            tool,
            arguments,
            status,
            code,
            result,
        } = call;
        let status = match status {
            wit::CallStatus::Ok => CallStatus::Ok,
            wit::CallStatus::ToolError => CallStatus::ToolError,
            wit::CallStatus::Failed => CallStatus::Failed,
        };
        Self {
            number,
            turn,
            tool,
            arguments,
            status,
            code,
            result,
        }
    }
}

impl From<wit::Message> for Message {
    fn from(message: wit::Message) -> Self {
        let wit::Message {
            turn,
            speaker,
            text,
        } = message;
        let speaker = match speaker {
            wit::Speaker::User => Speaker::User,
            wit::Speaker::Agent => Speaker::Agent,
        };
        Self {
            turn,
            speaker,
            text,
        }
    }
}

impl From<wit::FileChange> for FileChange {
    fn from(change: wit::FileChange) -> Self {
        let wit::FileChange { turn, path, kind } = change;
        let kind = match kind {
            wit::ChangeKind::Created => ChangeKind::Created,
            wit::ChangeKind::Modified => ChangeKind::Modified,
            wit::ChangeKind::Deleted => ChangeKind::Deleted,
        };
        Self { turn, path, kind }
    }
}

impl From<wit::AppState> for AppState {
    fn from(state: wit::AppState) -> Self {
        let wit::AppState { app, before, now } = state;
        Self { app, before, now }
    }
}
