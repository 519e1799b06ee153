//! Why there is no plan. What is said has its causes below it; who has to mend it decides how the program ends.

use std::error::Error;

use camino::Utf8PathBuf;
use pibench_core::count::count;
use pibench_suite::problem::{Problem, Problems};

/// What is done with a run that is played further, as failures say it.
pub(super) const GO_ON: &str = "go on with";

/// Anything that says what is wrong.
type Reason = Box<dyn Error + Send + Sync>;

/// Why there is no plan. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A suite file with errors.
    #[error("load {path}: {}", counted(problems))]
    Suite {
        path: Utf8PathBuf,
        problems: Problems,
    },
    /// A policy with errors.
    #[error("load {path}")]
    Policy {
        path: Utf8PathBuf,
        problems: Problems,
    },
    /// What was asked for cannot be: it has to be asked for otherwise.
    #[error(transparent)]
    Asked(Reason),
    /// A file, a folder or a plugin is not what it has to be.
    #[error(transparent)]
    Input(Reason),
    /// Something could not be read, written or locked.
    #[error(transparent)]
    Disk(Reason),
}

impl PlanError {
    pub(super) fn asked(reason: impl Into<Reason>) -> Self {
        Self::Asked(reason.into())
    }

    pub(super) fn input(reason: impl Into<Reason>) -> Self {
        Self::Input(reason.into())
    }

    pub(super) fn disk(reason: impl Into<Reason>) -> Self {
        Self::Disk(reason.into())
    }
}

fn counted(problems: &Problems) -> String {
    let errors = problems.0.iter().filter(|one| Problem::is_error(one));
    count(errors.count(), "error")
}
