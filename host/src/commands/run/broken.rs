//! A run that breaks on the machine or on its own files: what is said, and the exit. Mends nothing.

use super::again::Again;
use crate::commands::stored;
use crate::exit::{Exit, Failure};
use pibench_engine::{EpisodeError, RunError};
use pibench_record::JournalError;
use pibench_report::escape;
use pibench_sandbox::app::OpenError;

/// Says that the machine broke, a full disk perhaps, and how to go on; other failures are the caller's.
pub(super) fn print_broken(failure: Failure, folder: &str, again: &Again) -> Result<Exit, Failure> {
    // What a store refuses for good is no matter of another try.
    let failure = stored::rename(failure);
    if failure.exit != Exit::Io {
        return Err(failure);
    }
    let folder = stored::name(folder);
    pibench_report::tell!("error: failed to {}", escape::line(&failure.reason()));
    pibench_report::tell!("Run folder: {folder} (how far it is: pibench-host show {folder})");
    pibench_report::tell!("Mend it, then go on with: {}", again.command());
    Ok(Exit::Io)
}

pub(super) fn exit_of_error(error: &RunError) -> Exit {
    match error {
        RunError::Episode(EpisodeError::Setup { .. }) | RunError::Memory => Exit::Setup,
        RunError::Episode(
            EpisodeError::Load(_)
            | EpisodeError::Tools { .. }
            | EpisodeError::Begin { .. }
            | EpisodeError::Open(
                OpenError::Records { .. } | OpenError::Load(_) | OpenError::Fault { .. },
            ),
        ) => Exit::InvalidInput,
        // The same line is read by the next start.
        RunError::Journal(JournalError::Corrupt { .. })
        | RunError::Episode(EpisodeError::Journal(JournalError::Corrupt { .. })) => {
            Exit::InvalidInput
        }
        RunError::Task(_) => Exit::Bug,
        RunError::Episode(_)
        | RunError::Journal(_)
        | RunError::Folder(_)
        | RunError::Signals(_) => Exit::Io,
    }
}
