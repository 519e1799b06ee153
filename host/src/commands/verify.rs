//! `pibench-host verify`: whether a run's scores follow from its record.

use super::{run::reopened, runtime};
use crate::cli::VerifyArgs;
use crate::exit::{Exit, Failure, OrExit};
use crate::model::cassette::Tape;
use crate::run;

/// Verifies a run folder and says everything that does not follow.
pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let plan = reopened(&args.run, None, Tape::Silent)?;
    let verified = runtime()?.block_on(run::verify(&plan)).or_exit(Exit::Io)?;
    for problem in &verified.problems {
        println!("{problem}");
    }
    let run::Verified {
        sessions,
        turns,
        rules,
        problems,
    } = &verified;
    println!(
        "{}: {sessions} sessions, {turns} turns, {rules} rule verdicts made again; {}",
        args.run,
        if problems.is_empty() {
            "every score follows from the record".into()
        } else {
            format!("{} problems", problems.len())
        }
    );
    Ok(if problems.is_empty() {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}
