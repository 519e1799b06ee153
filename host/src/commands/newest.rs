//! The run that is meant where none is named: the one that was begun last below `runs/`, where `run` writes when it is
//! not told where.

use std::fs;
use std::time::SystemTime;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use crate::exit::{Exit, Failure, OrExit};

/// Where `run` puts folders by itself.
const RUNS: &str = "runs";

/// The folders that are named; where none is, the newest of `runs/`, which is told on stderr.
///
/// # Errors
///
/// None is named and there is none.
pub(super) fn or_newest(named: &[Utf8PathBuf]) -> Result<Vec<Utf8PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let newest = find_newest(Utf8Path::new(RUNS)).ok_or_else(|| {
        anyhow!("find a run: none is named, and {RUNS}/ of the current folder holds none; name its folder")
    });
    let newest = newest.or_exit(Exit::InvalidInput)?;
    if !super::talk().quiet {
        pibench_report::tell!("{newest}, the newest run here.");
    }
    Ok(vec![newest])
}

/// By when its manifest was written; of two in one moment the last by name.
fn find_newest(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let runs = entries.filter_map(|entry| {
        let run = entry.path().to_owned();
        Some((begun(&run)?, run))
    });
    runs.max().map(|(_, run)| run)
}

/// When a run's manifest was written, or that of the first of several agents' runs below it.
fn begun(folder: &Utf8Path) -> Option<SystemTime> {
    let written = |run: &Utf8Path| {
        fs::metadata(run.join("manifest.json"))
            .ok()?
            .modified()
            .ok()
    };
    let below = || {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        entries.filter_map(|entry| written(entry.path())).min()
    };
    written(folder).or_else(below)
}
