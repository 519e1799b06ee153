//! Run folders in an object store, given as `s3://BUCKET/PATH` and the like: every command works on a copy on this machine,
//! and what it writes goes to the store as it is written.

use std::io;
use std::sync::OnceLock;

use anyhow::anyhow;
use camino::Utf8PathBuf;
use pibench_engine::stop::Scheduler;
use pibench_record::folder::FolderError;
use pibench_report::run_record::RunRecord;
use pibench_store::{Checkout, StoreError, Wanted, is_stored};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::part::place;
use super::places::{Place, places};
use crate::cli::Command;
use crate::exit::{Exit, Failure, OrExit};

/// What of a command's places lies in stores. The copies go with it.
#[derive(Debug, Default)]
pub(super) struct Stored {
    checkouts: Vec<Checkout>,
}

/// The copies' folders, and the places that they are copies of.
static NAMES: OnceLock<Vec<(String, String)>> = OnceLock::new();

impl Stored {
    /// Fetches what a command wants of stores, and names the copies in its place.
    pub(super) fn fetch(command: &mut Command) -> Result<Self, Failure> {
        if let Command::Run(args) = command
            && args.out.as_ref().is_some_and(|out| is_stored(out.as_str()))
        {
            // Of all parts only that of this task is fetched.
            *args = place(args)?;
        }
        let mut stored = Self::default();
        let mut names = Vec::new();
        let resumes = matches!(command, Command::Run(args) if args.resume.is_some());
        let blobs = !matches!(command, Command::Show(_));
        let interrupted = match command {
            // It hears signals itself.
            Command::Run(_) => None,
            // Ctrl-C is how it ends.
            Command::View(_) => Some(Exit::Complete),
            _ => Some(Exit::Interrupted),
        };
        for Place { path, is_written } in places(command) {
            if !is_stored(path.as_str()) {
                continue;
            }
            let url = path.as_str().trim_end_matches('/').to_owned();
            let (above, name) = split(&url)?;
            if let (true, Some(interrupted)) = (stored.is_empty(), interrupted) {
                end_by_signals(interrupted).or_exit(Exit::Io)?;
            }
            let wanted = Wanted {
                part: Some(name.clone()),
                blobs,
            };
            let checkout = Checkout::open(&above, wanted, std::env::vars());
            let checkout = checkout.or_exit(Exit::Io)?;
            // As on a disk: the copy has nothing of what lies above it.
            if is_written
                && !resumes
                && let Some(run) = checkout.run_around().or_exit(Exit::Io)?
            {
                let (path, run) = (url.into(), run.into());
                return Err(FolderError::Within { path, run }).or_exit(Exit::InvalidInput);
            }
            if is_written {
                checkout.mount().or_exit(Exit::Io)?;
            }
            let dir = std::fs::canonicalize(checkout.dir()).or_exit(Exit::Io)?;
            let dir = Utf8PathBuf::try_from(dir).or_exit(Exit::Io)?;
            *path = dir.join(&name);
            names.push((dir.into_string(), above));
            stored.checkouts.push(checkout);
        }
        // One command line a process.
        let _ = NAMES.set(names);
        Ok(stored)
    }

    /// Whether anything is a copy.
    pub(super) fn is_empty(&self) -> bool {
        self.checkouts.is_empty()
    }

    /// Fetches what came since.
    pub(super) fn refresh(&self) -> Result<(), Failure> {
        let mut checkouts = self.checkouts.iter();
        checkouts.try_for_each(|checkout| checkout.refresh().or_exit(Exit::Io))
    }
}

/// From now on a signal ends the process only after the copies, with the exit of Ctrl-C or of one that a scheduler ends.
fn end_by_signals(interrupted: Exit) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let mut scheduler = Scheduler::heard()?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    drop(entered);
    std::thread::Builder::new().spawn(move || {
        let exit = runtime.block_on(async {
            tokio::select! {
                () = scheduler.says_stop() => Exit::Interrupted,
                _ = interrupt.recv() => interrupted,
            }
        });
        pibench_store::end(exit.code())
    })?;
    Ok(())
}

/// Tells runs by the places that were given.
pub(super) fn name_places(records: &mut [RunRecord]) {
    for record in records {
        record.place = name(&record.place);
    }
}

/// A text in which places stand, with those that were given in place of their copies.
pub(super) fn name(text: &str) -> String {
    let names = NAMES.get().map(Vec::as_slice).unwrap_or_default();
    let mut text = text.to_owned();
    for (copy, place) in names {
        text = text.replace(copy, place);
    }
    text
}

/// Says a failure in the places that were given. What a store refuses for good is for the operator to mend, and another try by a
/// scheduler changes nothing.
pub(super) fn rename(failure: Failure) -> Failure {
    let mut failure = failure;
    if StoreError::below(failure.error.as_ref()).is_some_and(StoreError::is_lasting) {
        failure.exit = Exit::Setup;
    }
    let reason = failure.reason();
    let named = name(&reason);
    if named == reason {
        return failure;
    }
    Failure {
        exit: failure.exit,
        error: anyhow!(named),
    }
}

/// Where a run lies: the place above it, and its own name.
pub(super) fn split(url: &str) -> Result<(String, String), Failure> {
    let parts = url.rsplit_once('/').filter(|(above, name)| {
        // Behind the bucket.
        let bucket = above
            .split_once("://")
            .is_some_and(|(_, bucket)| !bucket.is_empty());
        bucket && !name.is_empty()
    });
    parts
        .map(|(above, name)| (above.to_owned(), name.to_owned()))
        .ok_or_else(|| anyhow!("open {url}: want a path in the bucket, as in {url}/my-run"))
        .or_exit(Exit::Usage)
}
