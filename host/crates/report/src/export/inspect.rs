//! A run as Inspect's log: one sample for each session, one epoch for each run, our scores beside the overall ones. It writes
//! what its reader wants and nothing of its own making: ids stand in the metadata.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::tables::run_row;
use super::{ExportError, Played, messages, write};
use crate::run_record::RunRecord;
use pibench_core::message::Usage;

/// Writes the log of one run.
pub(super) fn log(
    at: usize,
    run: &RunRecord,
    played: &[Played<'_>],
    out: &Path,
) -> Result<PathBuf, ExportError> {
    // A suite's id and an agent's name may be anybody's words: the file is named by the run's place.
    let path = out.join(format!("run-{at}.eval"));
    let samples: Vec<(String, Value)> = played
        .iter()
        .map(|one| {
            let (id, epoch) = (sample_id(one), one.line.run);
            (format!("samples/{id}_epoch_{epoch}.json"), sample(run, one))
        })
        .collect();
    let summaries: Vec<Value> = samples.iter().map(|(_, sample)| summary(sample)).collect();
    let header = header(at, run, played);
    let start = json!({ "version": 2, "eval": header["eval"], "plan": header["plan"] });
    let mut files = vec![
        ("_journal/start.json".to_owned(), start),
        ("summaries.json".to_owned(), summaries.into()),
        ("header.json".to_owned(), header),
    ];
    files.extend(samples);
    let packed = pack(&files).map_err(|source| ExportError::Pack {
        path: path.clone(),
        source,
    })?;
    write(&path, &packed)?;
    Ok(path)
}

fn pack(files: &[(String, Value)]) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        zip.start_file(name.as_str(), options)?;
        zip.write_all(content.to_string().as_bytes())?;
    }
    Ok(zip.finish()?.into_inner())
}

fn sample_id(played: &Played<'_>) -> String {
    format!("{}-{}", played.line.persona, played.line.id)
}

/// Where the run began, as a moment with its zone.
fn started(run: &RunRecord) -> &str {
    &run.manifest.started
}

/// When its last turn ended; empty where nobody recorded it, as Inspect has it.
fn completed(run: &RunRecord) -> String {
    run.timings()
        .map(|timing| timing.ended)
        .max()
        .unwrap_or_default()
}

/// One for each run: two of one model are not the same evaluation.
fn eval_id(run: &RunRecord) -> String {
    let run = (
        &run.manifest.suite_digest,
        &run.results.agent,
        started(run),
        &run.dir,
    );
    let digest = blake3::hash(format!("{run:?}").as_bytes()).to_hex();
    digest[..22].to_owned()
}

fn header(at: usize, run: &RunRecord, played: &[Played<'_>]) -> Value {
    let results = &run.results;
    let mut ids: Vec<String> = played.iter().map(sample_id).collect();
    ids.sort();
    ids.dedup();
    // Not `mean`: groups, personas and runs have their weights in it, and the samples' plain mean is another.
    let score = |name: &str, overall: f64| {
        json!({
            "name": name, "scorer": name, "params": {},
            "metrics": { "overall": { "name": "overall", "value": overall, "params": {} } },
        })
    };
    let scores: Vec<Value> = [("proc", results.proc), ("comp", results.comp)]
        .into_iter()
        .filter_map(|(name, overall)| Some(score(name, overall?)))
        .collect();
    json!({
        "version": 2,
        "status": if run.is_cut() { "cancelled" } else { "success" },
        "eval": {
            "eval_id": eval_id(run), "run_id": run.place,
            "created": started(run), "task": results.suite, "task_id": results.suite, "task_version": 0,
            "task_attribs": {}, "task_args": {},
            "dataset": { "name": results.suite, "samples": ids.len(), "sample_ids": ids, "shuffled": false },
            "model": format!("pibench/{}", results.agent), "model_args": {},
            "config": { "epochs": results.runs },
            "packages": { "pibench-host": run.manifest.host },
            "metadata": run_row(at, run),
        },
        "plan": { "name": "plan", "steps": [], "config": {} },
        "results": {
            "total_samples": run.sessions, "completed_samples": played.len(), "scores": scores,
        },
        "stats": {
            "started_at": started(run), "completed_at": completed(run),
            "model_usage": model_usage(&format!("pibench/{}", results.agent), &results.usage.agent),
        },
    })
}

/// Nothing where no server counted the tokens: Inspect knows only numbers.
fn model_usage(model: &str, usage: &Usage) -> Value {
    if usage.is_uncounted() {
        return json!({});
    }
    json!({ (model): {
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "total_tokens": usage.tokens(),
        "input_tokens_cache_read": usage.cached_tokens, "reasoning_tokens": usage.reasoning_tokens,
    } })
}

fn sample(run: &RunRecord, played: &Played<'_>) -> Value {
    let Played { line, trajectory } = played;
    let turns = &trajectory.turns;
    let all: Vec<Value> = turns.iter().flat_map(messages).collect();
    let last = turns.last().map_or("", |turn| turn.response.as_str());
    let model = format!("pibench/{}", run.results.agent);
    let mut scores = Map::new();
    for (name, value) in [("proc", line.proc), ("comp", line.comp)] {
        if let Some(value) = value {
            let score =
                json!({ "value": value, "answer": last, "explanation": null, "metadata": {} });
            scores.insert(name.into(), score);
        }
    }
    json!({
        "id": sample_id(played), "epoch": line.run, "input": trajectory.started.message, "target": "",
        "messages": all,
        "output": {
            "model": model,
            "choices": [{ "message": { "role": "assistant", "content": last, "source": "generate" }, "stop_reason": "stop" }],
        },
        "scores": scores, "store": {}, "events": events(played), "attachments": {},
        "model_usage": model_usage(&model, &line.usage.agent),
        "metadata": {
            "persona": line.persona, "session": line.id, "run": line.run, "title": trajectory.title,
            "category": trajectory.category, "outcome": line.outcome, "turns": line.turns, "weight": line.weight,
            "proc_scored": line.proc_scored,
            "intents": trajectory.finished.intents, "checklist": trajectory.finished.items,
        },
    })
}

/// The calls of tools, on the session's clock.
fn events(played: &Played<'_>) -> Vec<Value> {
    let turns = played.trajectory.turns.iter();
    let calls = turns.flat_map(|turn| {
        let calls = turn
            .steps
            .iter()
            .flat_map(pibench_record::event::Step::calls);
        calls.map(move |call| {
            let arguments = call.arguments.as_object().cloned().unwrap_or_default();
            json!({
                "event": "tool", "type": "function", "id": format!("{}-{}", turn.turn, call.number),
                "function": call.tool, "arguments": arguments, "result": call.result, "events": [],
                // The session's clock has no zone; it is told as UTC.
                "timestamp": format!("{}+00:00", turn.clock), "working_start": 0.0,
            })
        })
    });
    calls.collect()
}

/// What lists of samples show.
fn summary(sample: &Value) -> Value {
    let keys = [
        "id",
        "epoch",
        "input",
        "target",
        "scores",
        "metadata",
        "model_usage",
    ];
    let mut all: Map<String, Value> = keys
        .into_iter()
        .map(|key| (key.to_owned(), sample[key].clone()))
        .collect();
    all.insert("completed".into(), true.into());
    all.into()
}
