//! `pibench-host show`: a run that another process plays, followed in the terminal. It reads the folder and writes nothing.

use std::time::Duration;

use anyhow::anyhow;
use tokio::sync::mpsc;

use super::look;
use super::report::failure;
use crate::cli::ShowArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::folder::runs_in;
use pibench_record::folder_lock::is_worked_on;
use pibench_record::results::RunResults;
use pibench_report::follow::{Follow, state};
use pibench_report::progress::display;
use pibench_report::run_record::{RecordError, RunRecord};
use pibench_report::table;

/// Between two looks at a folder.
const LOOK: Duration = Duration::from_millis(500);

/// Shows runs until they end, or once.
pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.once {
        for run in read(args)? {
            println!("{}", state(&run));
        }
        return Ok(Exit::Complete);
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let bar = display(receiver, look());
    let mut follow = Follow::default();
    let ended = loop {
        // Before the look: what is written after the last process has gone is seen.
        let played = worked_on(args);
        let runs = read(args)?;
        for news in follow.look(&runs) {
            // The display ends after this loop.
            let _ = sender.send(news);
        }
        if !played {
            break runs;
        }
        std::thread::sleep(LOOK);
    };
    drop(sender);
    let _ = bar.join();
    let results: Vec<&RunResults> = ended.iter().map(|run| &run.results).collect();
    match results.as_slice() {
        [one] => println!("{}", table::results(one)),
        all => println!("{}", table::agents(all)),
    }
    if let Some(cut) = ended.iter().find(|run| !run.complete) {
        return Err(anyhow!(
            "follow {0} to its end: nobody plays it; go on with `pibench-host run --resume {0}`",
            cut.dir.display()
        ))
        .or_exit(Exit::Infrastructure);
    }
    Ok(Exit::Complete)
}

fn worked_on(args: &ShowArgs) -> bool {
    let dirs = args.runs.iter().flat_map(|dir| runs_in(dir.as_std_path()));
    dirs.into_iter().any(|dir| is_worked_on(&dir))
}

fn read(args: &ShowArgs) -> Result<Vec<RunRecord>, Failure> {
    let dirs = args.runs.iter().flat_map(|dir| runs_in(dir.as_std_path()));
    let runs: Result<Vec<RunRecord>, RecordError> =
        dirs.map(|dir| RunRecord::so_far(&dir)).collect();
    runs.map_err(failure)
}
