//! `pibench-host verify`: whether a run's scores follow from its record.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::newest::or_newest;
use super::{machine, runtime, stored};
use crate::cli::VerifyArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{Purpose, reopen};
use pibench_engine::{Extent, Verified};
use pibench_report::escape::line;

use pibench_record::RunFolder;
use pibench_record::folder::{read_manifest, read_outline, runs_in};

/// Verifies a run folder, or each of those that it holds, and says everything that does not follow.
pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let named = or_newest(args.run.as_slice())?;
    let mut exit = Exit::Complete;
    for run in named.iter().flat_map(|dir| runs_in(dir.as_std_path())) {
        let run = Utf8PathBuf::try_from(run).or_exit(Exit::InvalidInput)?;
        let found = verify_run(&run, args.suite.as_deref())?;
        if exit == Exit::Complete {
            exit = found;
        }
    }
    Ok(exit)
}

fn verify_run(run: &Utf8Path, suite: Option<&Utf8Path>) -> Result<Exit, Failure> {
    let manifest = read_manifest(run.as_std_path()).or_exit(Exit::InvalidInput)?;
    if manifest.imported.is_some() {
        return verify_imported(run);
    }
    let purpose = Purpose::Look { suite };
    let plan = reopen(&machine()?, run, purpose)?;
    let verified = runtime()?
        .block_on(pibench_engine::verify(&plan, Extent::Whole))
        .or_exit(Exit::Io)?;
    let rules = format!("{} rule verdicts made again", verified.rules);
    let sound = "every score follows from the record";
    Ok(print_verified(run, &verified, &rules, sound))
}

/// A run that another program played: its record is held to be what that program wrote.
fn verify_imported(dir: &Utf8Path) -> Result<Exit, Failure> {
    let verified = follow_imported(dir)?;
    let rules = "imported, not played here, so that no rule was graded again and nothing says that it was played so";
    let sound = "every score follows from the statuses and verdicts that were taken over";
    Ok(print_verified(dir, &verified, rules, sound))
}

/// What does not follow from the record of an imported run.
pub(super) fn follow_imported(dir: &Utf8Path) -> Result<Verified, Failure> {
    let (folder, manifest) = RunFolder::read(dir.as_std_path()).or_exit(Exit::Io)?;
    let outline = read_outline(dir.as_std_path()).or_exit(Exit::InvalidInput)?;
    let outline = outline
        .ok_or_else(|| anyhow!("verify {dir}: it has no outline.json"))
        .or_exit(Exit::InvalidInput)?;
    pibench_engine::imported::verify(&folder, &manifest, &outline).or_exit(Exit::Io)
}

fn print_verified(dir: &Utf8Path, verified: &Verified, rules: &str, sound: &str) -> Exit {
    let Verified {
        sessions,
        turns,
        rules: _,
        problems,
    } = verified;
    for problem in problems {
        println!("{}", line(problem));
    }
    let found = if problems.is_empty() {
        sound.into()
    } else {
        format!("{} problems", problems.len())
    };
    let dir = stored::name(dir.as_str());
    println!("{dir}: {sessions} sessions, {turns} turns, {rules}; {found}");
    if problems.is_empty() {
        Exit::Complete
    } else {
        Exit::InvalidInput
    }
}
