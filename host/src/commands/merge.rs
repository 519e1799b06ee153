//! `pibench-host merge`: one run of parts that were played apart. It plays nothing: the merged folder is an ordinary one,
//! and what a part lacks is played by `run --resume`, or by its scheduler.

mod there;

use std::path::Path;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::output::print_json;
use super::run::show_rows;
use super::{exit_of, machine, runtime, stored};
use crate::cli::MergeArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::{MergeError, Merged};
use pibench_record::RunFolder;
use pibench_record::folder::Manifest;
use pibench_record::mirror::forget_unsent;
use pibench_record::parts::{MERGED, Part, holds_parts, parts_in};
use pibench_record::results::FaultLine;
use pibench_record::rows::{InFile, Rows, Told, read_told};
use there::{check_merged, check_named};

/// Merges run folders into a new one, or all parts of a folder into its own.
pub(super) fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    merge_parts(args).map(|exit| exit.or_zero(args.exit_zero))
}

fn merge_parts(args: &MergeArgs) -> Result<Exit, Failure> {
    let MergeArgs {
        parts,
        out,
        exit_zero: _,
        json,
    } = args;
    check_named(parts)?;
    if let [all] = parts.as_slice()
        && !all.join("manifest.json").exists()
        && (out.is_none() || holds_parts(all.as_std_path()))
    {
        let out = out.clone().unwrap_or_else(|| all.join(MERGED));
        return merge_all(all, &out, *json);
    }
    let Some(out) = out else {
        return Err(anyhow!(
            "merge: say by --out where the whole run goes, or name the one folder that holds all parts"
        ))
        .or_exit(Exit::Usage);
    };
    let mut folders = Vec::new();
    for path in parts {
        let opened = RunFolder::open(path.as_std_path()).or_exit(Exit::InvalidInput)?;
        folders.push((path.to_string(), opened.0, opened.1));
    }
    let mut draft = draft(&folders, out)?;
    draft.publish().or_exit(Exit::Io)?;
    let exit = show_merged(draft.plan.folder.root(), *json)?;
    if !draft.is_whole {
        let again = stored::name(out.as_str());
        pibench_report::tell!(
            "A part is not played to its end. Go on with: pibench-host run --resume {again}"
        );
        return Ok(Exit::Infrastructure);
    }
    Ok(exit)
}

/// Shows a run by its file, for a long one's lines are not held; its exit.
fn show_merged(run: &Path, json: bool) -> Result<Exit, Failure> {
    let results = read_told(run).or_exit(Exit::Io)?;
    show_rows((&results.head, &results.rows), &results, json, run)?;
    exit_of_faults([&results])
}

fn exit_of_faults<'a>(runs: impl IntoIterator<Item = &'a Told<InFile>>) -> Result<Exit, Failure> {
    let mut kinds = Vec::new();
    for results in runs {
        let read = results.rows.each(&mut |line: &FaultLine| {
            if !kinds.contains(&line.fault.kind) {
                kinds.push(line.fault.kind);
            }
            Ok(())
        });
        read.or_exit(Exit::Io)?;
    }
    Ok(exit_of(&kinds))
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        let exit = match error {
            MergeError::Plan(error) => return error.into(),
            MergeError::Parts(_) => Exit::InvalidInput,
            MergeError::Run(_) => Exit::Io,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}

/// Parts, each with its name, as one run that will be in `out`.
fn draft(parts: &[(String, RunFolder, Manifest)], out: &Utf8Path) -> Result<Merged, Failure> {
    forget_unsent(out.as_std_path()).or_exit(Exit::Io)?;
    Ok(runtime()?.block_on(Merged::draft(&machine()?, out, parts))?)
}

/// Merges the parts of a folder, of each agent by itself. Done again, it shows what it made.
fn merge_all(all: &Utf8Path, out: &Utf8Path, json: bool) -> Result<Exit, Failure> {
    let found = parts_in(all.as_std_path()).or_exit(Exit::InvalidInput)?;
    if found.is_empty() {
        return Err(anyhow!(
            "merge {all}: there is no part in it, as `pibench-host run --shard auto --out {all}` makes them"
        ))
        .or_exit(Exit::InvalidInput);
    }
    complete(all, found.values())?;
    let was_there = out.exists();
    // Made before the first one gets its name: a failure leaves none of them.
    let mut drafts = Vec::new();
    let mut merged: Vec<Utf8PathBuf> = Vec::new();
    let made = found.iter().try_for_each(|(agent, parts)| {
        let out = if agent.is_empty() {
            out.to_owned()
        } else {
            out.join(agent)
        };
        forget_unsent(out.as_std_path()).or_exit(Exit::Io)?;
        if out.exists() {
            check_merged(&out, parts)?;
            merged.push(out);
            return Ok(());
        }
        let mut folders = Vec::new();
        for part in parts {
            let (folder, manifest) = RunFolder::read(&part.dir).or_exit(Exit::Io)?;
            folders.push((part.dir.display().to_string(), folder, manifest));
        }
        drafts.push((out.clone(), draft(&folders, &out)?));
        Ok(())
    });
    if let Err(failure) = made {
        drafts.clear();
        // Made for several agents; it stays where another process has put something into it.
        if !was_there {
            let _ = std::fs::remove_dir(out);
        }
        return Err(failure);
    }
    for (out, mut draft) in drafts {
        draft.publish().or_exit(Exit::Io)?;
        merged.push(out);
    }
    merged.sort();
    let mut all = Vec::new();
    for out in &merged {
        all.push(read_told(out.as_std_path()).or_exit(Exit::Io)?);
    }
    if json && found.len() > 1 {
        print_json(&all)?;
    } else {
        for (out, results) in merged.iter().zip(&all) {
            show_rows(
                (&results.head, &results.rows),
                results,
                json,
                out.as_std_path(),
            )?;
        }
    }
    exit_of_faults(&all)
}

/// Refuses parts that are not all there or not played to their end, and tells of each.
fn complete<'a>(all: &Utf8Path, found: impl Iterator<Item = &'a Vec<Part>>) -> Result<(), Failure> {
    let mut lacking = Vec::new();
    for parts in found {
        let Some(first) = parts.first() else { continue };
        for index in 1..=first.shard.of {
            if !parts.iter().any(|part| part.shard.index == index) {
                lacking.push(format!(
                    "part {index}/{} of {} is not begun",
                    first.shard.of, first.manifest.agent
                ));
            }
        }
        for part in parts {
            let state = part.state().or_exit(Exit::InvalidInput)?;
            if state.far.episodes > 0 || state.is_worked_on {
                lacking.push(format!(
                    "part {} of {} has {} of {} sessions; {}",
                    part.shard,
                    part.manifest.agent,
                    state.far.finished,
                    state.far.sessions,
                    match &state.start {
                        Some(start) if state.is_worked_on => format!("{} plays it", start.node),
                        Some(start) => format!("nobody plays it, the last was {}", start.node),
                        None => "nobody plays it".into(),
                    }
                ));
            }
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "merge {all}: it is not played to its end:\n  {}",
        lacking.join("\n  ")
    ))
    .or_exit(Exit::Infrastructure)
}
