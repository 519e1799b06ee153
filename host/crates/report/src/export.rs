//! Runs in the formats of other tools: tables as JSON lines and Parquet, a data-set folder of them, a log that Inspect reads,
//! and trajectories. From records alone; ids are those of the run folder, in every format.

mod atif;
mod inspect;
mod parquet;
mod tables;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::run_record::RunRecord;
use pibench_record::event::{Step, Turn};
use pibench_record::folder::FolderError;
use pibench_record::results::SessionLine;
use pibench_record::trajectory::{Timed, Trajectory};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One file for each table, a JSON object each line.
    Jsonl,
    /// The same as a data-set folder with its card.
    Hf,
    /// A log for each run, as `inspect_ai` writes it.
    Inspect,
    /// A trajectory for each session, in the Agent Trajectory Interchange Format.
    Atif,
    /// One file for each table, a column of one type each.
    Parquet,
}

/// Why nothing was written. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("write {}: {source}", path.display())]
    Pack {
        path: PathBuf,
        source: zip::result::ZipError,
    },
    #[error("write {}: {source}", path.display())]
    Columns {
        path: PathBuf,
        source: ::parquet::errors::ParquetError,
    },
}

/// A session that was played, with its line of the results.
struct Played<'a> {
    line: &'a SessionLine,
    trajectory: Trajectory,
}

/// Writes runs into a new folder, which is there whole or not at all; the files, in the order in which they were written.
pub fn export(runs: &[RunRecord], format: Format, out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let failed = |source| ExportError::Write {
        path: out.to_owned(),
        source,
    };
    let draft = Draft::of(out).map_err(failed)?;
    let written = fill(runs, format, draft.path())?;
    let named = written
        .iter()
        .map(|path| out.join(path.strip_prefix(draft.path()).unwrap_or(path)))
        .collect();
    draft.publish().map_err(failed)?;
    Ok(named)
}

fn fill(runs: &[RunRecord], format: Format, out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    match format {
        Format::Jsonl => lines(runs, out),
        Format::Parquet => {
            let tables = tables::tables(runs)?;
            let files = tables.iter().map(|table| parquet::file(table, out));
            files.collect()
        }
        Format::Atif => {
            let mut written = Vec::new();
            for (at, run) in runs.iter().enumerate() {
                written.extend(atif::trajectories(at, run, &played(run)?, out)?);
            }
            Ok(written)
        }
        Format::Hf => data_set(runs, out),
        Format::Inspect => {
            let logs = runs.iter().enumerate();
            logs.map(|(at, run)| inspect::log(at, run, &played(run)?, out))
                .collect()
        }
    }
}

fn played(run: &RunRecord) -> Result<Vec<Played<'_>>, ExportError> {
    let mut timed = Timed::new(&run.dir);
    let mut all = Vec::new();
    for line in &run.results.sessions {
        let found = timed.trajectory(&line.persona, line.run, &line.id)?;
        all.extend(found.map(|trajectory| Played { line, trajectory }));
    }
    Ok(all)
}

/// The tables as JSON lines.
fn lines(runs: &[RunRecord], out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let mut written = Vec::new();
    for table in tables::tables(runs)? {
        let path = out.join(format!("{}.jsonl", table.name));
        let lines = table.rows.iter().map(|row| format!("{row}\n"));
        write(&path, lines.collect::<String>().as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

/// The tables below `data/`, and a card that says which file is which table.
fn data_set(runs: &[RunRecord], out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let data = out.join("data");
    fs::create_dir(&data).map_err(|source| ExportError::Write {
        path: data.clone(),
        source,
    })?;
    let mut written = lines(runs, &data)?;
    let names = written.iter().filter_map(|path| path.file_stem());
    let configs = names.map(|name| {
        let name = name.to_string_lossy();
        format!("- config_name: {name}\n  data_files: data/{name}.jsonl\n")
    });
    let configs: String = configs.collect();
    let agents = runs.iter().enumerate().map(|(at, run)| {
        let name = super::escape::markdown(&super::tables::name(run));
        let row = tables::run_row(at, run);
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!(
            "- run_id {at}: {name}; protocol {}, scaffold {}, {} of {} scored\n",
            word("protocol"),
            word("scaffold"),
            row["scored"],
            row["of"]
        )
    });
    let banner = runs
        .iter()
        .flat_map(|run| run.results.players.marks())
        .next()
        .map_or_else(String::new, |mark| format!("{}\n\n", mark.sentence()));
    let card = format!(
        "---\nconfigs:\n{}---\n\n# Runs of pibench-host\n\n{banner}Hidden intents and checklists stand in these tables: do not \
         train on them what is to be measured by them.\n\n{}",
        configs,
        agents.collect::<String>()
    );
    let path = out.join("README.md");
    write(&path, card.as_bytes())?;
    written.push(path);
    Ok(written)
}

fn write(path: &Path, content: &[u8]) -> Result<(), ExportError> {
    let written = fs::File::create(path).and_then(|mut file| file.write_all(content));
    written.map_err(|source| ExportError::Write {
        path: path.to_owned(),
        source,
    })
}

/// A turn's steps as messages of a chat, with what the user said before.
fn messages(turn: &Turn) -> Vec<Value> {
    let mut all = vec![json!({ "role": "user", "content": turn.message })];
    push_said(&turn.steps, &mut all);
    all
}

fn push_said(steps: &[Step], all: &mut Vec<Value>) {
    for step in steps {
        match step {
            Step::Reply { text, calls, .. } => {
                let calls: Vec<Value> = calls
                    .iter()
                    .map(|call| {
                        let arguments: Option<Map<String, Value>> =
                            serde_json::from_str(&call.arguments).ok();
                        json!({
                            "id": call.id, "function": call.name, "arguments": arguments.unwrap_or_default(),
                            "type": "function",
                        })
                    })
                    .collect();
                let mut message = json!({ "role": "assistant", "content": text, "source": "generate" });
                if !calls.is_empty() {
                    message["tool_calls"] = calls.into();
                }
                all.push(message);
            }
            Step::Call { id, record, .. } => all.push(json!({
                "role": "tool", "content": record.result, "tool_call_id": id, "function": record.tool,
            })),
            Step::Notice { text } => {
                all.push(json!({ "role": "assistant", "content": text }));
            }
            Step::Nudge { text } => all.push(json!({ "role": "user", "content": text })),
            // A subagent's chat and the summing up are not the agent's own; their results stand in the calls.
            Step::Picture { .. } | Step::Subagent { .. } | Step::Consolidated { .. } => {}
        }
    }
}
