//! Runs as tables: which there are, what each column holds, and their rows.

use serde_json::{Map, Value, json};

use super::{ExportError, Played, played};
use crate::run_record::RunRecord;
use pibench_record::event::Step;
use pibench_record::results::SessionLine;

/// What a column holds. In each a value may be missing: null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    Truth,
}

use Kind::{Number, Text, Truth, Whole};

/// One table. A row has all columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Whether a row is of a session, and begins with what names it.
    of_sessions: bool,
    columns: &'static [(&'static str, Kind)],
    pub(super) rows: Vec<Value>,
}

/// What names a session. `run_id` is the number of a run's place among those that were named.
const SESSION: [(&str, Kind); 4] = [
    ("run_id", Whole),
    ("persona", Text),
    ("session", Text),
    ("run", Whole),
];

impl Table {
    /// Empty.
    fn new((name, of_sessions, columns): Form) -> Self {
        Self {
            name,
            of_sessions,
            columns,
            rows: Vec::new(),
        }
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        let first = if self.of_sessions { &SESSION[..] } else { &[] };
        first.iter().chain(self.columns).copied()
    }
}

/// Name, whether a row begins with its session, and what follows.
type Form = (&'static str, bool, &'static [(&'static str, Kind)]);

/// All tables.
const FORMS: [Form; 7] = [
    (
        "runs",
        false,
        &[
            ("run_id", Whole),
            ("folder", Text),
            ("suite", Text),
            ("agent", Text),
            ("user", Text),
            ("judge", Text),
            ("scripted", Truth),
            ("runs", Whole),
            ("proc", Number),
            ("comp", Number),
            ("proc_std", Number),
            ("comp_std", Number),
            ("cost", Whole),
            ("started", Text),
            ("host", Text),
            ("suite_digest", Text),
        ],
    ),
    (
        "sessions",
        true,
        &[
            ("title", Text),
            ("category", Text),
            ("outcome", Text),
            ("turns", Whole),
            ("proc", Number),
            ("proc_scored", Number),
            ("comp", Number),
            ("weight", Whole),
            ("cost", Whole),
        ],
    ),
    (
        "turns",
        true,
        &[
            ("turn", Whole),
            ("clock", Text),
            ("message", Text),
            ("response", Text),
        ],
    ),
    (
        "calls",
        true,
        &[
            ("turn", Whole),
            ("number", Whole),
            ("tool", Text),
            ("arguments", Text),
            ("status", Text),
            ("code", Whole),
            ("result", Text),
        ],
    ),
    ("intents", true, &[("intent", Text), ("status", Text)]),
    (
        "verdicts",
        true,
        &[
            ("turn", Whole),
            ("item", Text),
            ("pass", Truth),
            ("reason", Text),
        ],
    ),
    (
        "usage",
        true,
        &[
            ("role", Text),
            ("calls", Whole),
            ("input_tokens", Whole),
            ("cached_tokens", Whole),
            ("output_tokens", Whole),
            ("reasoning_tokens", Whole),
            ("cost", Whole),
        ],
    ),
];

/// The tables of these runs.
pub(super) fn tables(runs: &[RunRecord]) -> Result<[Table; 7], ExportError> {
    let mut tables = FORMS.map(Table::new);
    for (at, run) in runs.iter().enumerate() {
        enter(at, run, tables.each_mut().map(|table| &mut table.rows))?;
    }
    Ok(tables)
}

fn enter(at: usize, run: &RunRecord, tables: [&mut Vec<Value>; 7]) -> Result<(), ExportError> {
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
