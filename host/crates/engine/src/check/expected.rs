//! What each scripted agent must come to: what a session's end says against the session, with the remedy.

use std::collections::{BTreeMap, BTreeSet};

use super::Ground;
use super::play::End;
use pibench_core::record::{Outcome, Status};
use pibench_record::event::{FaultKind, ItemVerdict, SessionFinished, Turn};
use pibench_suite::problem::Problem;
use pibench_suite::validate::Part;

/// Proc and Comp that an agent without work stays under (percent).
const CHEAT_BOUND: f64 = 5.0;

/// What the end of a session says against it.
pub(super) fn told(agent: &str, end: &End, ground: &Ground<'_>) -> Vec<Problem> {
    let End {
        persona,
        finished,
        turns,
    } = end;
    let id = &finished.session;
    if ground.is_broken(persona, id) {
        return Vec::new();
    }
    let (mut told, faulty) = faults(agent, finished, turns);
    told.extend(wrong(agent, finished, &faulty));
    let told = told.into_iter();
    told.map(|(part, message, help)| {
        let authored = ground.authored;
        authored.session_problem(persona, id, part, message, help)
    })
    .collect()
}

type Told = (Part<'static>, String, &'static str);

/// The guests that broke, and the items that their graders left without a verdict. Each is told once, however many turns it
/// broke in.
fn faults(agent: &str, finished: &SessionFinished, turns: &[Turn]) -> (Vec<Told>, BTreeSet<usize>) {
    let mut told = BTreeMap::new();
    let mut faulty = BTreeSet::new();
    for turn in turns {
        for fault in turn.faults.iter().filter(|it| it.kind == FaultKind::Guest) {
            let failed = |verdict: &&ItemVerdict| !verdict.pass && verdict.reason == fault.message;
            let place = |verdict: &ItemVerdict| {
                let items = &finished.items;
                items.iter().position(|item| item.id == verdict.item)
            };
            let items: Vec<usize> = turn.items.iter().filter(failed).filter_map(place).collect();
            let message = format!("under `{agent}` {}", fault.message);
            told.insert(message, items.first().copied());
            faulty.extend(items);
        }
    }
    let told = told.into_iter().map(|(message, item)| match item {
        Some(index) => (
            Part::Item(index),
            format!("the grader breaks: {message}"),
            "mend the grader: it judges every history, one without any call too",
        ),
        None => (
            Part::Session,
            format!("a plugin breaks: {message}"),
            "mend the plugin: it answers every call, if only by refusing it",
        ),
    });
    (told.collect(), faulty)
}

/// What one session's end under one agent says against the session. `faulty` items were judged by nobody.
fn wrong(agent: &str, finished: &SessionFinished, faulty: &BTreeSet<usize>) -> Vec<Told> {
    let SessionFinished {
        outcome,
        intents,
        items,
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
    let judged = items.iter().enumerate();
    for (index, item) in judged.filter(|(index, _)| !faulty.contains(index)) {
        let id = &item.id;
        if matches!(agent, "reference" | "reactive") && !item.met {
            told.push((
                Part::Item(index),
                format!("`{agent}` does not meet the item `{id}`"),
                "mend the workflow, or the matcher or rule that misses good work",
            ));
        }
        if agent == "nop" && item.met {
            told.push((
                Part::Item(index),
                format!("`nop`, who does nothing, meets the item `{id}`"),
                "put a positive condition beside the negative one",
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
