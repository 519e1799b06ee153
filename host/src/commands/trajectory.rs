//! `pibench-host trajectory`: sessions of a run folder as JSON, one line each, with the real time of their turns. It reads
//! the folder and writes nothing.

use anyhow::anyhow;

use super::report::failure;
use crate::cli::TrajectoryArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::results::SessionLine;
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
    let record = RunRecord::so_far(dir.as_std_path()).map_err(failure)?;
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
        println!("{}", serde_json::to_string(&trajectory).or_exit(Exit::Bug)?);
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
