//! `pibench-host publish`: a run as it may be shown while its suite stays private.

use anyhow::anyhow;
use camino::Utf8Path;

use super::check_new;
use super::signing::{Thing, read_key};
use super::verified::Found;
use crate::cli::pack::{PublishArgs, TranscriptsArg};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_record::folder::{FolderError, Transcripts};
use pibench_record::parts::runs_in;
use pibench_record::publish::{PublishError, check};
use pibench_vault::keyring;

/// Writes what may be shown, and signs it where a key is named.
pub(super) fn publish(args: &PublishArgs) -> Result<Exit, Failure> {
    let PublishArgs {
        run,
        out,
        transcripts,
        key,
    } = args;
    check_new(out)?;
    // Asked for before the work is done.
    let key = key.as_deref().map(read_key).transpose()?;
    let transcripts = match transcripts {
        TranscriptsArg::None => Transcripts::None,
        TranscriptsArg::AfterReveal => Transcripts::AfterReveal,
        TranscriptsArg::All => Transcripts::All,
    };
    pibench_record::publish::publish(run.as_std_path(), out.as_std_path(), transcripts)?;
    let signed = match &key {
        Some(key) => {
            let thing = Thing::Run(out.clone());
            let signature = pibench_signature::sign(key, thing.namespace(), &thing.statement()?);
            thing.put_signature(&signature.or_exit(Exit::InvalidInput)?)?;
            format!("signed by {}", key.fingerprint())
        }
        None => "unsigned".to_owned(),
    };
    println!(
        "{out}: {signed}; `pibench-host verify {out}` tells whether its scores follow from what it shows"
    );
    Ok(Exit::Complete)
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        let exit = match &error {
            PublishError::Folder(FolderError::Write { .. } | FolderError::Exists { .. }) => {
                Exit::Io
            }
            _ => Exit::InvalidInput,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}

/// Verifies a published run: what it shows, and no more.
pub(super) fn verify(dir: &Utf8Path) -> Result<Found, Failure> {
    let (results, problems) = check(dir.as_std_path())?;
    let found = if problems.is_empty() {
        "its seal and chains hold, and its scores follow from the statuses and verdicts that it shows; whether these are \
         what was played, its owner can tell"
            .to_owned()
    } else {
        count(problems.len(), "problem")
    };
    let sessions = results.sessions.len();
    Ok(Found {
        run: dir.to_string(),
        sessions: Some(sessions),
        said: format!("published, {}; {found}", count(sessions, "session")),
        problems,
        ..Found::default()
    })
}

/// Refuses to write what a private run holds where everybody reads it. `runs` are folders of one or of several, as they were named.
pub(super) fn refuse_in_clear(
    runs: impl IntoIterator<Item = impl AsRef<Utf8Path>>,
    doing: &str,
) -> Result<(), Failure> {
    let all = runs.into_iter();
    for run in all.flat_map(|run| runs_in(run.as_ref().as_std_path())) {
        if keyring::is_private(&run) {
            return Err(anyhow!(
                "{doing} {0}: it is private, and this would lie there open; `pibench-host publish {0} --out DIR` makes one \
                 that may be shown",
                run.display()
            ))
            .or_exit(Exit::Usage);
        }
    }
    Ok(())
}
