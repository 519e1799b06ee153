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
    /// Finished, with faults of guests, judges or models.
    Faults,
    /// Something outside broke; `run --resume` goes on.
    Infrastructure,
    /// The run cost as much as it may; `run --resume` goes on.
    Spent,
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
            Self::Faults => 5,
            Self::Infrastructure => 6,
            Self::Spent => 7,
            Self::Interrupted => 130,
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
