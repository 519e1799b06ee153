//! Why an episode or a run cannot go on: what was journaled stays in any case.

use super::stop::Stopped;
use pibench_agent::AgentPromptError;
use pibench_core::cost::MicroUsd;
use pibench_core::session::SessionError;
use pibench_model::ModelError;
use pibench_record::JournalError;
use pibench_record::folder::FolderError;
use pibench_sandbox::LoadError;
use pibench_sandbox::app::OpenError;
use pibench_sandbox::workspace::WorkspaceError;

/// The bound of `--max-cost` is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("start another turn: {spent} are spent, and --max-cost is {limit}")]
pub struct LimitReached {
    pub spent: MicroUsd,
    pub limit: MicroUsd,
}

/// `--max-cost` cannot be kept to: a server does not say how many tokens it took.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "keep to --max-cost: {server} sends no count of tokens (`usage`) or none of its output, so that nobody knows what its answers \
     cost; have it send that, or set the bound aside by --max-cost inf"
)]
pub struct Uncounted {
    pub server: String,
}

/// Why an episode cannot go on. What was journaled stays; `--resume` goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum EpisodeError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An app does not take the records that a persona or a session brings.
    #[error("begin {place}: failed to {error}")]
    Begin {
        place: String,
        error: Box<OpenError>,
    },
    #[error("prepare the tools of persona `{persona}`: {reason}")]
    Tools { persona: String, reason: String },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Prompt(#[from] AgentPromptError),
    #[error("go on with {persona} in run {run}: {reason}")]
    Record {
        persona: String,
        run: u32,
        reason: String,
    },
    /// The run may cost no more. Nothing is lost.
    #[error(transparent)]
    Spent(#[from] LimitReached),
    /// Nobody knows what the run costs, which has a bound. Nothing is lost.
    #[error(transparent)]
    Uncounted(#[from] Uncounted),
    /// A scheduler wants the process to end. Nothing is lost.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A model's server rejects what it is asked: the operator has to mend it. The turn in flight is not journaled.
    #[error("play {persona}/{session}, turn {turn}: {reason}")]
    Setup {
        persona: String,
        session: String,
        turn: u32,
        reason: String,
    },
    /// Something outside broke. The turn in flight is lost, and nothing else.
    #[error("play {persona}/{session}, turn {turn}: {reason}")]
    Infrastructure {
        persona: String,
        session: String,
        turn: u32,
        reason: String,
    },
}

/// A session of an episode, as errors name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) persona: &'a str,
    pub(super) run: u32,
    pub(super) session: &'a str,
}

impl Spot<'_> {
    /// The record does not hold what it must.
    pub(super) fn record(self, reason: impl Into<String>) -> EpisodeError {
        EpisodeError::Record {
            persona: self.persona.to_owned(),
            run: self.run,
            reason: reason.into(),
        }
    }

    /// The machine, or what is outside of it, broke in a turn (0 between turns).
    pub(super) fn infrastructure(self, turn: u32, reason: impl Into<String>) -> EpisodeError {
        EpisodeError::Infrastructure {
            persona: self.persona.to_owned(),
            session: self.session.to_owned(),
            turn,
            reason: reason.into(),
        }
    }

    /// An app does not take the session's records.
    pub(super) fn begins(self, error: OpenError) -> EpisodeError {
        EpisodeError::Begin {
            place: format!("{}/{}", self.persona, self.session),
            error: Box::new(error),
        }
    }

    /// The rules of a session do not take what they were told.
    pub(super) fn rules(self, error: &SessionError) -> EpisodeError {
        self.record(format!("the session's rules refused a step: {error}"))
    }

    /// A model gave no answer in a turn.
    pub(super) fn unanswered(self, turn: u32, error: &ModelError) -> EpisodeError {
        EpisodeError::unanswered(self.persona, self.session, turn, error)
    }
}

impl EpisodeError {
    /// What ended a turn (0 between turns) before its model had answered.
    pub(super) fn unanswered(persona: &str, session: &str, turn: u32, error: &ModelError) -> Self {
        let (persona, session) = (persona.to_owned(), session.to_owned());
        let reason = format!("failed to {error}");
        match error {
            ModelError::Setup { .. } | ModelError::Window { .. } => Self::Setup {
                persona,
                session,
                turn,
                reason,
            },
            ModelError::Infrastructure { .. } | ModelError::Refused { .. } => {
                Self::Infrastructure {
                    persona,
                    session,
                    turn,
                    reason,
                }
            }
        }
    }

    /// Whether going on later may succeed.
    pub fn is_infrastructure(&self) -> bool {
        match self {
            Self::Infrastructure { .. } => true,
            Self::Load(LoadError::Fault { fault, .. }) => fault.is_infrastructure(),
            Self::Open(error) => is_of_machine(error),
            Self::Begin { error, .. } => is_of_machine(error),
            _ => false,
        }
    }
}

/// Whether an app could not be opened for want of the machine's.
pub(super) fn is_of_machine(error: &OpenError) -> bool {
    match error {
        OpenError::Fault { fault, .. } | OpenError::Load(LoadError::Fault { fault, .. }) => {
            fault.is_infrastructure()
        }
        _ => false,
    }
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(
        "bound the program's memory: this system does not tell how much a program uses (Linux does); leave `--memory`, or `memory` in the suite file, out"
    )]
    Memory,
    #[error("listen for signals: {0}")]
    Signals(std::io::Error),
    #[error("play an episode: its task ended without an answer: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl RunError {
    /// Whether the machine lacked something, such as memory or room on its disk: it says nothing of what was looked at.
    pub fn is_of_machine(&self) -> bool {
        match self {
            Self::Episode(EpisodeError::Workspace(error)) => error.of_the_machine().is_some(),
            Self::Episode(error) => error.is_infrastructure(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::path::WorkspacePath;
    use pibench_sandbox::GuestFault;

    #[test]
    fn an_app_that_got_no_time_to_open_is_tried_again_and_one_that_traps_is_not() {
        let open = |fault| {
            EpisodeError::from(OpenError::Fault {
                app: "a".into(),
                fault,
            })
        };
        let load = |fault| {
            EpisodeError::from(LoadError::Fault {
                name: "a".into(),
                fault,
            })
        };
        let (late, greedy) = (
            GuestFault::Timeout { limit_ms: 1 },
            GuestFault::Fuel { limit: 1 },
        );
        assert!(open(late.clone()).is_infrastructure() && load(late).is_infrastructure());
        assert!(!open(greedy.clone()).is_infrastructure() && !load(greedy).is_infrastructure());
    }

    #[test]
    fn a_full_disk_says_nothing_of_a_record_and_a_path_that_is_a_folder_does() {
        let path = WorkspacePath::parse("a").unwrap();
        let of = |error: WorkspaceError| RunError::from(EpisodeError::from(error)).is_of_machine();
        // ENOSPC
        let source = std::io::Error::from_raw_os_error(28);
        assert!(of(WorkspaceError::Io {
            path: path.clone(),
            source
        }));
        assert!(!of(WorkspaceError::NotAFile(path)));
    }
}
