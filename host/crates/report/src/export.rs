//! Runs in the formats of other tools: tables as JSON lines, a data-set folder of them, and a log that Inspect reads. From
//! records alone; ids are those of the run folder, in every format.

mod inspect;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::record::RunRecord;
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
}

/// A session that was played, with its line of the results.
struct Played<'a> {
    line: &'a SessionLine,
    trajectory: Trajectory,
}

/// Writes runs into a new folder; the files, in the order in which they were written.
pub fn export(runs: &[RunRecord], format: Format, out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let failed = |source| ExportError::Write {
        path: out.to_owned(),
        source,
    };
    fs::create_dir(out).map_err(failed)?;
    match format {
        Format::Jsonl => tables(runs, out),
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

/// The tables' names; each row has the keys of the one that it belongs to.
const TABLES: [&str; 7] = [
    "runs", "sessions", "turns", "calls", "intents", "verdicts", "usage",
];

/// What a run is called in every table: the number of its place among those that were named.
fn tables(runs: &[RunRecord], out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let mut rows: [Vec<Value>; 7] = Default::default();
    for (at, run) in runs.iter().enumerate() {
        enter(at, run, &mut rows)?;
    }
    let mut written = Vec::new();
    for (name, rows) in TABLES.iter().zip(rows) {
        let path = out.join(format!("{name}.jsonl"));
        let lines = rows.iter().map(|row| format!("{row}\n"));
        write(&path, lines.collect::<String>().as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

fn enter(at: usize, run: &RunRecord, tables: &mut [Vec<Value>; 7]) -> Result<(), ExportError> {
    let [runs, sessions, turns, calls, intents, verdicts, usage] = tables;
    let results = &run.results;
    runs.push(json!({
        "run_id": at, "folder": run.dir.display().to_string(), "suite": results.suite, "agent": results.agent,
        "user": results.user, "judge": results.judge, "scripted": results.scripted, "runs": results.runs,
        "proc": results.proc, "comp": results.comp, "proc_std": results.proc_std, "comp_std": results.comp_std,
        "cost": results.cost, "started": run.manifest.started, "host": run.manifest.host,
        "suite_digest": run.manifest.suite_digest,
    }));
    for Played { line, trajectory } in played(run)? {
        let key = |more: Value| keyed(at, line, more);
        sessions.push(key(json!({
            "title": trajectory.title, "category": trajectory.category, "outcome": line.outcome, "turns": line.turns,
            "proc": line.proc, "proc_scored": line.proc_scored, "comp": line.comp, "weight": line.weight,
            "cost": line.cost,
        })));
        for (role, used) in [
            ("agent", line.usage.agent),
            ("user", line.usage.user),
            ("judge", line.usage.judge),
        ] {
            usage.push(key(json!({
                "role": role, "calls": used.calls, "input_tokens": used.input_tokens,
                "cached_tokens": used.cached_tokens, "output_tokens": used.output_tokens,
                "reasoning_tokens": used.reasoning_tokens, "cost": used.known_cost(),
            })));
        }
        for status in &trajectory.finished.intents {
            intents.push(key(
                json!({ "intent": status.intent, "status": status.status }),
            ));
        }
        for turn in &trajectory.turns {
            turns.push(key(json!({
                "turn": turn.turn, "clock": turn.clock, "message": turn.message, "response": turn.response,
            })));
            for call in turn.steps.iter().flat_map(Step::calls) {
                calls.push(key(json!({
                    "turn": turn.turn, "number": call.number, "tool": call.tool,
                    // A text: a column of one type, whatever the tool takes.
                    "arguments": call.arguments.to_string(), "status": call.status, "code": call.code,
                    "result": call.result,
                })));
            }
            for verdict in &turn.items {
                verdicts.push(key(json!({
                    "turn": turn.turn, "item": verdict.item, "pass": verdict.pass, "reason": verdict.reason,
                })));
            }
        }
    }
    Ok(())
}

fn keyed(at: usize, line: &SessionLine, more: Value) -> Value {
    let mut row = Map::new();
    row.insert("run_id".into(), at.into());
    row.insert("persona".into(), line.persona.as_str().into());
    row.insert("session".into(), line.id.as_str().into());
    row.insert("run".into(), line.run.into());
    if let Value::Object(more) = more {
        row.extend(more);
    }
    row.into()
}

/// The tables below `data/`, and a card that says which file is which table.
fn data_set(runs: &[RunRecord], out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let data = out.join("data");
    fs::create_dir(&data).map_err(|source| ExportError::Write {
        path: data.clone(),
        source,
    })?;
    let mut written = tables(runs, &data)?;
    let configs = TABLES
        .iter()
        .map(|name| format!("- config_name: {name}\n  data_files: data/{name}.jsonl\n"));
    let agents = runs.iter().enumerate().map(|(at, run)| {
        let name = super::escape::line(&run.marked());
        format!("- run_id {at}: {name}\n")
    });
    let banner = runs
        .iter()
        .flat_map(|run| run.results.players.marks())
        .next()
        .map_or_else(String::new, |mark| format!("{}\n\n", mark.sentence()));
    let card = format!(
        "---\nconfigs:\n{}---\n\n# Runs of pibench-host\n\n{banner}Hidden intents and checklists stand in these tables: do not \
         train on them what is to be measured by them.\n\n{}",
        configs.collect::<String>(),
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
    said(&turn.steps, &mut all);
    all
}

fn said(steps: &[Step], all: &mut Vec<Value>) {
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
