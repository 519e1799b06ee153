//! The program's exit codes: one table, documented in the README.

use std::process::ExitCode;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything that was asked for is done.
    Complete,
    /// A bug of the host.
    Bug,
    /// The command line is wrong.
    Usage,
    /// An input is wrong, or an import left something out.
    InvalidInput,
    /// A file could not be read or written, or a run folder is locked.
    Io,
    /// Finished, with faults of guests.
    GuestFaults,
    /// Something outside broke; `run --resume` goes on.
    Infrastructure,
    /// The run cost as much as it may; `run --resume` goes on.
    Spent,
    /// Finished, with faults of judges.
    JudgeFaults,
    /// Finished, with failures of models.
    ModelFaults,
    /// A model's server or a store rejects what it is asked, or the process has no room for an episode; `run --resume` goes on when
    /// that is mended.
    Setup,
    /// Interrupted by the user.
    Interrupted,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::Bug => 1,
            Self::Usage => 2,
            Self::InvalidInput => 3,
            Self::Io => 4,
            Self::GuestFaults => 5,
            Self::Infrastructure => 6,
            Self::Spent => 7,
            Self::JudgeFaults => 8,
            Self::ModelFaults => 9,
            Self::Setup => 10,
            Self::Interrupted => pibench_engine::INTERRUPTED,
        }
    }
}

impl Exit {
    /// With `exit_zero`, complete for everything that was played to its end.
    #[must_use]
    pub fn or_zero(self, exit_zero: bool) -> Self {
        match self {
            Self::GuestFaults | Self::JudgeFaults | Self::ModelFaults if exit_zero => {
                Self::Complete
            }
            exit => exit,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A command's failure: what to say, and how to exit.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// Reads after "error: failed to ".
    pub error: anyhow::Error,
}

impl Failure {
    /// The error with its causes. A cause that the error above it names by itself is told once.
    pub fn reason(&self) -> String {
        let mut causes = self.error.chain().map(ToString::to_string);
        let mut reason = causes.next().unwrap_or_default();
        for cause in causes {
            if !reason.ends_with(&cause) {
                reason = format!("{reason}: {cause}");
            }
        }
        reason
    }
}

/// Names the exit of an error where it passes.
pub trait OrExit<T> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            exit,
            error: error.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("write {path}: {source}")]
    struct Named {
        path: &'static str,
        source: std::io::Error,
    }

    fn check(error: anyhow::Error, expected: &str) {
        let exit = Exit::Io;
        assert_eq!(Failure { exit, error }.reason(), expected);
    }

    #[test]
    fn a_cause_is_told_once_whether_the_error_names_it_or_not() {
        let full = || std::io::Error::other("the disk is full");
        let named = || Named {
            path: "a",
            source: full(),
        };
        check(named().into(), "write a: the disk is full");
        let above = anyhow::Error::from(named()).context("play b");
        check(above, "play b: write a: the disk is full");
        let unnamed = Err::<(), _>(full()).context("play b").unwrap_err();
        check(unnamed, "play b: the disk is full");
    }
}
