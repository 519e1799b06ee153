//! `pibench-host trajectory`: sessions of a run folder as JSON, one line each, with the real time of their turns. It reads
//! the folder and writes nothing.

use anyhow::anyhow;
use camino::Utf8Path;

use super::output::print_json;
use super::report::{check_one, failure};
use crate::cli::TrajectoryArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::list_first;
use pibench_core::near::did_you_mean;
use pibench_record::results::{RunResults, SessionLine};
use pibench_record::trajectory::Timed;
use pibench_report::run_record::RunRecord;

/// Prints what is chosen and played to its end.
pub(super) fn trajectory(args: &TrajectoryArgs) -> Result<Exit, Failure> {
    let TrajectoryArgs {
        dir,
        persona,
        session,
        run,
    } = args;
    check_one(dir)?;
    let record = RunRecord::so_far(dir.as_std_path()).map_err(failure)?;
    check_there(args, &record.results)?;
    let is_chosen = |line: &&SessionLine| {
        (persona.is_empty() || persona.iter().any(|id| line.persona == *id))
            && (session.is_empty() || session.iter().any(|id| line.id == *id))
            && run.is_none_or(|run| run == line.run)
    };
    let mut timed = Timed::new(dir.as_std_path());
    let mut printed = 0;
    for line in record.results.sessions.iter().filter(is_chosen) {
        let found = timed.trajectory(&line.persona, line.run, &line.id);
        let Some(trajectory) = found.or_exit(Exit::InvalidInput)? else {
            continue;
        };
        print_json(&trajectory)?;
        printed += 1;
    }
    if printed == 0 {
        return Err(anyhow!(
            "find such a session in {dir}: none of those chosen is played to its end; `pibench-host show --once {dir}` says how far it is"
        ))
        .or_exit(Exit::InvalidInput);
    }
    Ok(Exit::Complete)
}

/// Names that are told of those that there are.
const MOST_NAMED: usize = 20;

/// That the run has what is chosen by name, played or not.
fn check_there(args: &TrajectoryArgs, results: &RunResults) -> Result<(), Failure> {
    let TrajectoryArgs {
        dir,
        persona,
        session,
        run,
    } = args;
    let lines = &results.sessions;
    let personas: Vec<&str> = lines.iter().map(|line| &*line.persona).collect();
    check_known(dir, "persona", persona, personas)?;
    let of_personas = lines
        .iter()
        .filter(|line| persona.is_empty() || persona.iter().any(|id| line.persona == *id));
    check_known(
        dir,
        "session",
        session,
        of_personas.map(|line| &*line.id).collect(),
    )?;
    if let Some(run) = run.filter(|run| !(1..=results.runs).contains(run)) {
        return Err(anyhow!(
            "find run {run} in {dir}: it has 1 to {}",
            results.runs
        ))
        .or_exit(Exit::InvalidInput);
    }
    Ok(())
}

fn check_known(
    dir: &Utf8Path,
    what: &str,
    chosen: &[String],
    mut known: Vec<&str>,
) -> Result<(), Failure> {
    let Some(unknown) = chosen.iter().find(|id| !known.contains(&id.as_str())) else {
        return Ok(());
    };
    let meant = did_you_mean(unknown, known.iter().copied());
    known.sort_unstable();
    known.dedup();
    Err(anyhow!(
        "find {what} `{unknown}` in {dir}{meant}: it has {}",
        list_first(known, MOST_NAMED)
    ))
    .or_exit(Exit::InvalidInput)
}
