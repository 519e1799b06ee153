//! What each scripted agent must come to: what a session's end says against the session, with the remedy.

use std::collections::BTreeSet;

use super::Ground;
use super::breaks::Breaks;
use super::examples::ANSWER;
use super::play::End;
use pibench_agent::tools::NOT_TAKEN;
use pibench_core::record::{CallStatus, Outcome, Status};
use pibench_core::score::ItemScore;
use pibench_record::event;
use pibench_record::event::{FaultKind, ItemVerdict, SessionFinished, Turn};
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Grading, Session, Step, Suite};
use pibench_suite::validate::Part;

/// Proc and Comp that an agent without work stays under (percent).
const CHEAT_BOUND: f64 = 5.0;

/// The items that the reference workflow does not meet, by persona, session and id: that `reactive`, which carries it out too,
/// does not meet them either is told by that.
pub(super) type Unmet = BTreeSet<(String, String, String)>;

/// What the end of a session says against it. Plugins that broke in it are added to `breaks`, and what `reference` does not
/// meet to `unmet`; it is the first to be asked about.
pub(super) fn told(
    agent: &'static str,
    end: &End,
    suite: &Suite,
    ground: &Ground<'_>,
    breaks: &mut Breaks,
    unmet: &mut Unmet,
) -> Vec<Problem> {
    let End {
        persona,
        finished,
        turns,
    } = end;
    let id = &finished.session;
    if ground.is_broken(persona, id) {
        return Vec::new();
    }
    let faulty = faults(agent, end, breaks);
    let authored = ground.authored;
    let session = suite.find_session(persona, id).map(|(_, session)| session);
    let mut told = wrong(agent, finished);
    for (index, item) in finished.items.iter().enumerate() {
        let place = (persona.clone(), id.clone(), item.id.clone());
        let is_told = agent == "reactive" && unmet.contains(&place);
        if is_told || faulty.contains(&index) {
            continue;
        }
        if agent == "reference" && !item.met {
            unmet.insert(place);
        }
        let reason = session.map_or_else(String::new, |session| reason(session, index, turns));
        told.extend(wrong_item(agent, index, item, &reason));
    }
    let told = told
        .into_iter()
        .map(|(part, message, help)| authored.session_problem(persona, id, part, message, help));
    let mut told: Vec<Problem> = told.collect();
    if let (Some(session), "reference") = (session, agent) {
        told.extend(mistaken(session, turns).into_iter().map(|message| {
            let part = Part::Key("reference");
            let help = "correct the step: the workflow is carried out as it is written";
            let problem = authored.session_problem(persona, id, part, message, help);
            problem.warning()
        }));
    }
    told
}

type Told = (Part<'static>, String, &'static str);

/// Enters the guests that broke. The items that their graders left without a verdict.
fn faults(agent: &'static str, end: &End, breaks: &mut Breaks) -> BTreeSet<usize> {
    let End {
        persona,
        finished,
        turns,
    } = end;
    let place = (persona.as_str(), finished.session.as_str());
    let mut faulty = BTreeSet::new();
    for turn in turns {
        for fault in turn.faults.iter().filter(|it| it.kind == FaultKind::Guest) {
            let failed = |verdict: &&ItemVerdict| !verdict.pass && verdict.reason == fault.message;
            let index = |verdict: &ItemVerdict| {
                let items = &finished.items;
                items.iter().position(|item| item.id == verdict.item)
            };
            let items: Vec<usize> = turn.items.iter().filter(failed).filter_map(index).collect();
            breaks.in_play(agent, place, items.first().copied(), &fault.message);
            faulty.extend(items);
        }
    }
    faulty
}

/// The steps of a reference workflow whose calls came to nothing by their author's mistake: no tool took them, or their result
/// was to be saved. Any other refusal may be meant.
fn mistaken(session: &Session, turns: &[Turn]) -> Vec<String> {
    let steps = session.reference.iter().zip(1_usize..);
    let steps = steps.filter_map(|(step, number)| match step {
        Step::Call { tool, save, .. } => Some((number, tool, save.is_some())),
        Step::Say { .. } => None,
    });
    // It makes its calls one by one, all in its first turn.
    let played = turns.first().into_iter().flat_map(|turn| &turn.steps);
    let calls = played.flat_map(event::Step::calls);
    let mut told = Vec::new();
    for ((number, tool, saves), call) in steps.zip(calls) {
        let is_of_arguments = NOT_TAKEN.iter().any(|text| call.result.starts_with(text));
        let is_refused = call.status == CallStatus::ToolError;
        if call.tool == *tool && is_refused && (is_of_arguments || saves) {
            let answer: String = call.result.chars().take(ANSWER).collect();
            told.push(format!(
                "step {number} of the reference workflow fails: `{tool}` answers {answer}"
            ));
        }
    }
    told
}

/// What the grader of a rule said last against an item, to stand behind a message: a matcher's words are the author's own.
fn reason(session: &Session, index: usize, turns: &[Turn]) -> String {
    let item = session.checklist.get(index);
    let Some(item) = item.filter(|item| matches!(item.grading, Grading::Rule(_))) else {
        return String::new();
    };
    let mut verdicts = turns.iter().rev().flat_map(|turn| &turn.items);
    let last = verdicts.find(|verdict| verdict.item == item.id && !verdict.pass);
    let reason = last.map_or("", |verdict| verdict.reason.trim());
    if reason.is_empty() {
        return String::new();
    }
    let reason: String = reason.chars().take(ANSWER).collect();
    format!(": {reason}")
}

/// What one item's end under an agent says against it.
fn wrong_item(agent: &str, index: usize, item: &ItemScore, reason: &str) -> Option<Told> {
    let id = &item.id;
    if matches!(agent, "reference" | "reactive") && !item.met {
        return Some((
            Part::Item(index),
            format!("`{agent}` does not meet the item `{id}`{reason}"),
            "mend the workflow, or the matcher or rule that misses good work",
        ));
    }
    let is_given = agent == "nop" && item.met;
    is_given.then(|| {
        (
            Part::Item(index),
            format!("`nop`, who does nothing, meets the item `{id}`"),
            "put a positive condition beside the negative one",
        )
    })
}

/// What one session's end under one agent says against the session, but for its items.
fn wrong(agent: &str, finished: &SessionFinished) -> Vec<Told> {
    let SessionFinished {
        outcome,
        intents,
        proc,
        comp,
        ..
    } = finished;
    let mut told: Vec<Told> = Vec::new();
    if *outcome != Outcome::Complete {
        told.push((
            Part::Session,
            format!("`{agent}` ends it as {outcome:?}"),
            "play it alone with `run --session` and read its trajectory",
        ));
    }
    let unasked = |status| status == Status::Completed;
    for (index, intent) in intents.iter().enumerate() {
        let id = &intent.intent;
        if agent == "reference" && !unasked(intent.status) {
            told.push((
                Part::Intent(index),
                format!("`reference` leaves the intent `{id}` unsatisfied"),
                "mend the workflow, or the matcher that misses good work",
            ));
        }
        let proactive = matches!(intent.status, Status::Completed | Status::Inferred);
        if matches!(agent, "reactive" | "nop") && proactive {
            told.push((
                Part::Intent(index),
                format!("`{agent}`, who says nothing, gets the intent `{id}`"),
                "a matcher takes an empty answer for work",
            ));
        }
    }
    let comp = comp.unwrap_or_default();
    if agent == "cheat" && (proc * 100.0 >= CHEAT_BOUND || comp * 100.0 >= CHEAT_BOUND) {
        told.push((
            Part::Session,
            format!(
                "`cheat` scores {:.1} / {:.1}: {}",
                proc * 100.0,
                comp * 100.0,
                gained(finished)
            ),
            "a matcher or rule takes echoes, keywords or claims for work",
        ));
    }
    told
}

/// What a session gave to an agent, by name.
fn gained(finished: &SessionFinished) -> String {
    let intents = finished.intents.iter();
    let intents = intents
        .filter(|intent| matches!(intent.status, Status::Completed | Status::Inferred))
        .map(|intent| intent.intent.as_str());
    let items = finished.items.iter().filter(|item| item.met);
    let all: Vec<&str> = intents.chain(items.map(|item| item.id.as_str())).collect();
    all.join(", ")
}
