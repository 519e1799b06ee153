//! `pibench-host show`: a run that another process plays, followed in the terminal. It reads the folder and writes nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use camino::Utf8PathBuf;
use tokio::sync::mpsc;

use super::look;
use super::newest::or_newest;
use super::report::failure;
use super::stored::{Stored, name, name_places};
use crate::cli::ShowArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::RunFolder;
use pibench_record::folder::FolderError;
use pibench_record::folder_lock::is_worked_on;
use pibench_record::parts::runs_in;
use pibench_record::parts::{Part, PartState, not_begun, parts_in};
use pibench_record::results::RunResults;
use pibench_report::escape;
use pibench_report::follow::{Follow, state};
use pibench_report::grid::paragraph;
use pibench_report::parts_table::parts_table;
use pibench_report::progress::display;
use pibench_report::run_record::{RecordError, RunRecord, tell_apart};
use pibench_report::table;

/// Between two looks at a folder.
const LOOK: Duration = Duration::from_millis(500);

/// How long a run that is just beginning is waited for, and how young a folder is in which one may begin.
const BEGINNING: Duration = Duration::from_secs(2);

/// Shows runs until they end, or once.
pub(super) fn show(args: &ShowArgs, stored: &Stored) -> Result<Exit, Failure> {
    let dirs = or_newest(&args.runs)?;
    let parts = find_parts(&dirs)?;
    // Who works on a stored run holds no lock that could be looked at.
    let looks_once = args.once || !stored.is_empty();
    if looks_once && !parts.is_empty() {
        println!("{}", parts_table(&parts));
        return Ok(Exit::Complete);
    }
    if looks_once {
        for run in read(&dirs, Instant::now() + BEGINNING)? {
            println!("{}", name(&state(&run)));
            say_changed(&run, stored);
        }
        return Ok(Exit::Complete);
    }
    // Nobody plays what has not begun yet.
    read(&dirs, Instant::now() + BEGINNING)?;
    let (sender, receiver) = mpsc::unbounded_channel();
    let bar = display(receiver, look());
    let mut follow = Follow::default();
    let mut ended = loop {
        // Before the look: what is written after the last process has gone is seen.
        let played = are_worked_on(&dirs);
        let runs = read(&dirs, Instant::now() + BEGINNING)?;
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
    if let [all] = dirs.as_slice()
        && !parts.is_empty()
    {
        println!("{}", parts_table(&find_parts(&dirs)?));
        if let Some(lacking) = not_begun(all.as_std_path()).or_exit(Exit::InvalidInput)? {
            return Err(anyhow!("follow {all} to its end: {lacking}"))
                .or_exit(Exit::Infrastructure);
        }
        if ended.iter().all(|run| run.complete) {
            let merge = format!("Make one run of them by `pibench-host merge {all}`.");
            pibench_report::tell!("{}", paragraph(&merge));
            return Ok(Exit::Complete);
        }
    }
    name_places(&mut ended);
    tell_apart(&mut ended);
    let results = ended.iter().map(|run| (run.label.as_str(), &run.results));
    let results: Vec<(&str, &RunResults)> = results.collect();
    match results.as_slice() {
        _ if !parts.is_empty() => {}
        [(_, one)] => println!("{}", table::results(one)),
        all => println!("{}", table::agents(all)),
    }
    for run in &ended {
        say_changed(run, stored);
    }
    // Nobody goes on with what another program played.
    let is_open = |run: &&RunRecord| !run.complete && !run.results.imported;
    if let Some(cut) = ended.iter().find(is_open) {
        return Err(anyhow!(
            "follow {0} to its end: nobody plays it; go on with `pibench-host run --resume {0}`",
            cut.dir.display()
        ))
        .or_exit(Exit::Infrastructure);
    }
    Ok(Exit::Complete)
}

/// Says of a run that has ended whether its scores are those that it ended with. One that somebody works on is not looked at.
fn say_changed(run: &RunRecord, stored: &Stored) {
    // The copy of a stored run has none of its blobs.
    let changed = if stored.is_empty() {
        RunFolder::changed_since_sealed
    } else {
        RunFolder::changed_but_for_blobs
    };
    if run.ended
        && let Ok(Some(changed)) = changed(&run.dir)
    {
        println!("{}", paragraph(&escape::line(&name(&changed))));
    }
}

/// The parts of the folder that is shown, if it is one of parts that are not merged yet.
fn find_parts(dirs: &[Utf8PathBuf]) -> Result<Vec<(Part, PartState)>, Failure> {
    let [all] = dirs else {
        return Ok(Vec::new());
    };
    let runs = runs_in(all.as_std_path());
    let found = parts_in(all.as_std_path()).or_exit(Exit::InvalidInput)?;
    let found = found.into_values().flatten();
    // What they were merged to is shown as any other run.
    let found = found.filter(|part| runs.contains(&part.dir));
    let stated = found.map(|part| {
        let state = part.state().or_exit(Exit::InvalidInput)?;
        Ok((part, state))
    });
    stated.collect()
}

fn are_worked_on(dirs: &[Utf8PathBuf]) -> bool {
    let dirs = dirs.iter().flat_map(|dir| runs_in(dir.as_std_path()));
    dirs.into_iter().any(|dir| is_worked_on(&dir))
}

/// What runs hold so far. One that somebody begins is there in a moment, and waited for.
fn read(dirs: &[Utf8PathBuf], until: Instant) -> Result<Vec<RunRecord>, Failure> {
    loop {
        let runs = dirs.iter().flat_map(|dir| runs_in(dir.as_std_path()));
        let runs: Result<Vec<RunRecord>, RecordError> =
            runs.map(|dir| RunRecord::so_far(&dir)).collect();
        let error = match runs {
            Ok(runs) => return Ok(runs),
            Err(error) => error,
        };
        let Some(dir) = beginning(&error) else {
            return Err(failure(error));
        };
        if Instant::now() < until {
            std::thread::sleep(LOOK);
        } else if is_worked_on(dir) {
            return Err(anyhow!(
                "follow {0}: it is just beginning, and has no sessions to show yet; look again by `pibench-host show {0}`",
                dir.display()
            ))
            .or_exit(Exit::Infrastructure);
        } else {
            return Err(failure(error));
        }
    }
}

/// The folder of a run that lacks only what the beginning of one lacks.
fn beginning(error: &RecordError) -> Option<&Path> {
    let dir = match error {
        RecordError::NoOutline { path } => path.as_path(),
        RecordError::Folder(FolderError::Read { path, .. })
            if path.ends_with("manifest.json") && !path.exists() =>
        {
            path.parent()?
        }
        _ => return None,
    };
    let changed = dir.metadata().ok()?.modified().ok()?;
    let is_young = changed.elapsed().is_ok_and(|age| age < BEGINNING);
    (is_young || is_worked_on(dir)).then_some(dir)
}
