//! Runs as tables: which there are, what each column holds, and their rows.

use serde_json::{Value, json};

use super::{ExportError, Played, played};
use crate::run_record::{CUT, RunRecord, asked};
use pibench_core::player::Mark;
use pibench_core::vocabulary::When;
use pibench_record::event::Step;
use pibench_record::folder::Manifest;
use pibench_record::outline::SessionOutline;
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
const FORMS: [Form; 8] = [
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
            ("protocol", Text),
            ("protocol_version", Whole),
            ("scaffold", Text),
            ("scaffold_prompt", Text),
            ("scaffold_prompt_digest", Text),
            ("prompts_version", Whole),
            ("prompts_digest", Text),
            ("max_turns", Whole),
            ("max_iterations", Whole),
            ("state_reset", Text),
            ("temperature", Number),
            ("max_output_tokens", Whole),
            ("ablate", Text),
            ("agent_player", Text),
            ("user_player", Text),
            ("judge_player", Text),
            ("imported", Truth),
            ("marks", Text),
            ("apart", Truth),
            // A text: not every reader holds 64 bits without a sign.
            ("seed", Text),
            ("personas", Text),
            ("sessions", Text),
            ("shard", Text),
            ("scored", Whole),
            ("of", Whole),
            ("comp_scored", Whole),
            ("comp_of", Whole),
            ("unplayed", Whole),
        ],
    ),
    (
        "sessions",
        true,
        &[
            ("title", Text),
            ("category", Text),
            ("group", Text),
            ("outcome", Text),
            ("scored", Truth),
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
        "items",
        true,
        &[
            ("item", Text),
            ("weight", Number),
            ("when", Text),
            ("met", Truth),
        ],
    ),
    (
        "verdicts",
        true,
        &[
            ("turn", Whole),
            ("item", Text),
            ("weight", Number),
            ("when", Text),
            ("pass", Truth),
            ("reason", Text),
            ("votes", Text),
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
            ("uncounted_calls", Whole),
            ("cost", Whole),
        ],
    ),
];

/// The tables of these runs.
pub(super) fn tables(runs: &[RunRecord]) -> Result<[Table; 8], ExportError> {
    let mut tables = FORMS.map(Table::new);
    for (at, run) in runs.iter().enumerate() {
        tables[0].rows.push(run_row(at, run));
        for one in played(run)? {
            let tables = tables.each_mut().map(|table| &mut table.rows);
            enter(at, run, &one, tables);
        }
    }
    Ok(tables)
}

/// A run with its scores and what sets it apart from others, by the names of `manifest.json` and `results.json`.
pub(super) fn run_row(at: usize, run: &RunRecord) -> Value {
    let RunRecord {
        manifest, results, ..
    } = run;
    let scores = json!({
        "run_id": at, "folder": run.place, "suite": results.suite, "agent": results.agent,
        "user": results.user, "judge": results.judge, "scripted": results.scripted, "runs": results.runs,
        "proc": results.proc, "comp": results.comp, "proc_std": results.proc_std, "comp_std": results.comp_std,
        "cost": results.cost, "started": manifest.started, "host": manifest.host,
        "suite_digest": manifest.suite_digest,
    });
    let players = results.players;
    let marks = players.marks().into_iter().map(Mark::words);
    let marks: Vec<&str> = marks.chain(run.is_cut().then_some(CUT)).collect();
    let chosen = |ids: &[String]| (!ids.is_empty()).then(|| ids.join(", "));
    let of_comp = results.comp_scored.unwrap_or(results.scored);
    let apart = json!({
        "protocol": manifest.protocol, "protocol_version": manifest.protocol_version, "scaffold": manifest.scaffold,
        "scaffold_prompt": manifest.scaffold_prompt, "prompts_version": manifest.prompts_version,
        "ablate": results.ablate, "agent_player": players.agent, "user_player": players.user,
        "judge_player": players.judge, "imported": results.imported,
        "marks": (!marks.is_empty()).then(|| marks.join(", ")), "apart": run.is_apart(),
        "seed": manifest.seed.to_string(), "personas": chosen(&manifest.personas),
        "sessions": chosen(&manifest.sessions), "shard": manifest.shard.map(|shard| shard.to_string()),
        "scored": results.scored.scored, "of": results.scored.of, "comp_scored": of_comp.scored, "comp_of": of_comp.of,
        "unplayed": run.sessions - run.played,
    });
    joined(joined(scores, apart), played_by(manifest))
}

/// The settings of the suite and of the agent's model, and the prompts, that a run was played by.
fn played_by(manifest: &Manifest) -> Value {
    let part = |key: &str| -> Option<Value> {
        let text = manifest.suite_parts.get(key)?;
        serde_json::from_str(text).ok()
    };
    // Of an import nobody knows them.
    let prompts = Some(&manifest.prompts_digest).filter(|digest| !digest.is_empty());
    let (temperature, max_output_tokens) = asked(manifest);
    json!({
        "scaffold_prompt_digest": manifest.scaffold_prompt_digest, "prompts_digest": prompts,
        "max_turns": part("session.max_turns"), "max_iterations": part("session.max_iterations"),
        "state_reset": part("state.reset"), "temperature": temperature.and_then(Value::as_f64),
        "max_output_tokens": max_output_tokens,
    })
}

fn enter(at: usize, run: &RunRecord, one: &Played<'_>, tables: [&mut Vec<Value>; 8]) {
    let [_, sessions, turns, calls, intents, items, verdicts, usage] = tables;
    let Played { line, trajectory } = one;
    let key = |more: Value| keyed(at, line, more);
    sessions.push(key(json!({
        "title": trajectory.title, "category": trajectory.category, "group": group(run, line),
        "outcome": line.outcome, "scored": line.outcome.scored(), "turns": line.turns, "proc": line.proc,
        "proc_scored": line.proc_scored, "comp": line.comp, "weight": line.weight, "cost": line.cost,
    })));
    for (role, used) in [
        ("agent", line.usage.agent),
        ("user", line.usage.user),
        ("judge", line.usage.judge),
    ] {
        let told = |tokens| used.known(tokens);
        usage.push(key(json!({
            "role": role, "calls": used.calls, "input_tokens": told(used.input_tokens),
            "cached_tokens": told(used.cached_tokens), "output_tokens": told(used.output_tokens),
            "reasoning_tokens": told(used.reasoning_tokens), "uncounted_calls": used.uncounted_calls,
            "cost": used.known_cost(),
        })));
    }
    for status in &trajectory.finished.intents {
        intents.push(key(
            json!({ "intent": status.intent, "status": status.status }),
        ));
    }
    for item in &trajectory.finished.items {
        items.push(key(json!({
            "item": item.id, "weight": item.weight, "when": when(run, line, &item.id), "met": item.met,
        })));
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
            let mut items = trajectory.finished.items.iter();
            let item = items.find(|item| item.id == verdict.item);
            verdicts.push(key(json!({
                "turn": turn.turn, "item": verdict.item, "weight": item.map(|item| item.weight),
                "when": when(run, line, &verdict.item), "pass": verdict.pass, "reason": verdict.reason,
                // A text, as arguments are: one type, however many judges there were.
                "votes": (!verdict.votes.is_empty()).then(|| json!(verdict.votes).to_string()),
            })));
        }
    }
}

/// The sessions of a line's persona, as the outline has them; none where the folder is of before outlines.
fn sessions_beside<'a>(run: &'a RunRecord, line: &SessionLine) -> &'a [SessionOutline] {
    let personas = run.outline.iter().flat_map(|outline| &outline.personas);
    let mut personas = personas.filter(|persona| line.persona == persona.id);
    let persona = personas.next();
    persona.map_or(&[][..], |persona| persona.sessions.as_slice())
}

/// The final session of the dependency group; None of a session that stands alone.
fn group<'a>(run: &'a RunRecord, line: &SessionLine) -> Option<&'a str> {
    let last = sessions_beside(run, line).iter().find(|last| {
        let is_last = line.id == last.id && !last.depends_on.is_empty();
        is_last || last.depends_on.iter().any(|id| line.id == *id)
    });
    last.map(|last| last.id.as_str())
}

/// Which turns count for an item, as task files say it.
fn when(run: &RunRecord, line: &SessionLine, item: &str) -> Option<When> {
    let sessions = sessions_beside(run, line).iter();
    let mut items = sessions
        .filter(|session| line.id == session.id)
        .flat_map(|session| &session.checklist);
    let found = items.find(|one| one.id == item)?;
    Some(if found.at_end { When::End } else { When::Ever })
}

fn joined(first: Value, more: Value) -> Value {
    let (Value::Object(mut row), Value::Object(more)) = (first, more) else {
        return Value::Null;
    };
    row.extend(more);
    row.into()
}

fn keyed(at: usize, line: &SessionLine, more: Value) -> Value {
    let session = json!({
        "run_id": at, "persona": line.persona.as_str(), "session": line.id.as_str(), "run": line.run,
    });
    joined(session, more)
}
