//! `pibench-host view`: the report's page on this machine, following runs that still play.

use std::path::PathBuf;
use std::time::Duration;

use super::newest::or_newest;
use super::report::failure;
use super::runtime;
use super::stored::Stored;
use crate::cli::ViewArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_report::run_record::RunRecord;
use pibench_report::viewer::Viewer;

/// Serves until it is interrupted.
pub(super) fn view(args: &ViewArgs, stored: &Stored) -> Result<Exit, Failure> {
    let ViewArgs { runs, port, seed } = args;
    let dirs: Vec<PathBuf> = or_newest(runs)?.iter().map(Into::into).collect();
    // What cannot be read is told here, and not by an empty page.
    for dir in &dirs {
        RunRecord::all_so_far(dir).map_err(failure)?;
    }
    runtime()?.block_on(async {
        let viewer = Viewer::bind(*port).await.or_exit(Exit::Io)?;
        println!("{}", viewer.url());
        pibench_report::tell!("The address is for this machine and holds its key. Ctrl-C ends it.");
        tokio::select! {
            () = viewer.serve(dirs, *seed) => {}
            lost = follow(stored) => return Err(lost),
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(Exit::Complete)
    })
}

/// Between two looks at a store.
const LOOK: Duration = Duration::from_secs(5);

/// Keeps copies as their stores are; returns when one cannot be reached.
async fn follow(stored: &Stored) -> Failure {
    if stored.is_empty() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        if let Err(lost) = tokio::task::block_in_place(|| stored.refresh()) {
            return lost;
        }
    }
}
