//! The commands that an agent has run for it in terminals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Lock};

use agent_client_protocol_schema::v1::TerminalExitStatus;
use tokio::sync::watch;

/// The commands of a session by their id, and what each has come to: None while it runs.
pub(super) type Terminals = Arc<Lock<BTreeMap<String, watch::Receiver<Option<Output>>>>>;

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) text: String,
    /// None for one that was stopped, or refused.
    pub(super) code: Option<u32>,
}

impl Output {
    /// What the tool `exec` says, taken apart: its last line has the exit code.
    pub(super) fn of_exec(text: &str) -> Self {
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        match last.strip_prefix("Exit code: ") {
            Some(code) => Self {
                text: before.to_owned(),
                code: code.trim().parse().ok(),
            },
            None => Self {
                text: text.to_owned(),
                code: None,
            },
        }
    }
}

pub(super) fn exit_status(code: Option<u32>) -> TerminalExitStatus {
    let status = TerminalExitStatus::new();
    match code {
        Some(code) => status.exit_code(code),
        None => status.signal("TERM".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_exec_is_taken_apart() {
        let whole = Output::of_exec("a\nb\nExit code: 3");
        let expected = Output {
            text: "a\nb".into(),
            code: Some(3),
        };
        assert_eq!(whole, expected);
        assert_eq!(Output::of_exec("Exit code: 0").code, Some(0));
        assert_eq!(Output::of_exec("stopped").code, None);
    }
}
