//! The checklist's verdicts and the intents of a result file, held against the log and the suite.

use std::collections::BTreeSet;

use super::super::PlayedTurn;
use super::super::source::{CriterionScore, ResultFile, TurnEvaluation, Whole};
use super::Found;
use pibench_core::record::Status;
use pibench_core::score::{ItemScore, comp};
use pibench_suite::suite::{Grading, Item, Session};

/// What the reference writes before the name of a rule script's check.
const CHECK_PREFIX: &str = "[tools] ";

/// What the reading and writing of a number may change of it, as a part of it.
const ROUNDING: f64 = 1e-9;

pub(super) fn same_session(result: &Whole<ResultFile>, path: &str) -> Found<()> {
    let id = &result.value.task.task_id;
    if path.rsplit('/').next() == Some(id) {
        return Ok(());
    }
    Err(result.problem("task_id", format!("the result is of another task, `{id}`")))
}

/// The result's own account of the intents must be that of the log.
pub(super) fn same_statuses(result: &Whole<ResultFile>, turns: &[PlayedTurn]) -> Found<()> {
    let Some(told) = &result.value.task.proactiveness else {
        return Ok(());
    };
    let of_log = |status| {
        let changes = turns.iter().flat_map(|turn| &turn.changes);
        let found = changes.filter(|change| change.status == status);
        let mut numbers: Vec<usize> = found.map(|change| change.intent + 1).collect();
        numbers.sort_unstable();
        numbers
    };
    for (name, told, status) in [
        (
            "inferred_intent_indexes",
            &told.inferred_intent_indexes,
            Status::Completed,
        ),
        (
            "matched_intent_indexes",
            &told.matched_intent_indexes,
            Status::Inferred,
        ),
    ] {
        let mut told = told.clone();
        told.sort_unstable();
        let logged = of_log(status);
        if told != logged {
            let message =
                format!("`{name}` is {told:?}, and the log of the session has {logged:?}");
            return Err(result.problem(name, message));
        }
    }
    Ok(())
}

/// What a result says of a checklist.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// False when the result should have some and has none.
    pub(super) complete: bool,
    /// Checks that the suite does not have: its import found no rule script.
    pub(super) unknown: BTreeSet<String>,
}

/// Puts the checklist's verdicts into their turns.
pub(super) fn verdicts(
    result: &Whole<ResultFile>,
    session: &Session,
    turns: &mut [PlayedTurn],
) -> Found<Verdicts> {
    let Some(checklist) = &result.value.task.checklist else {
        return Ok(Verdicts {
            complete: session.checklist.is_empty(),
            ..Verdicts::default()
        });
    };
    let mut unknown = BTreeSet::new();
    let best = of_items(result, session, &checklist.criterion_scores, &mut unknown)?;
    for TurnEvaluation {
        turn_index,
        criterion_scores,
        llm_evaluation,
    } in &checklist.turn_evaluations
    {
        let verdicts = of_items(result, session, criterion_scores, &mut unknown)?;
        let place = turn_index.checked_sub(1);
        let Some(turn) = place.and_then(|place| turns.get_mut(place)) else {
            let message = format!("turn {turn_index} is evaluated and was not played");
            return Err(result.problem("turn_evaluations", message));
        };
        turn.verdicts = verdicts;
        turn.replies.clone_from(&llm_evaluation.raw_responses);
    }
    for (id, met) in &best {
        let ever = turns
            .iter()
            .flat_map(|turn| &turn.verdicts)
            .any(|(item, yes)| item == id && *yes);
        if ever != *met {
            let message = format!("item `{id}` is not the best of its turns");
            return Err(result.problem("criterion_scores", message));
        }
    }
    // A check that the suite lacks counted there.
    if unknown.is_empty() {
        same_average(result, session, checklist.average_score, &best)?;
    }
    Ok(Verdicts {
        complete: true,
        unknown,
    })
}

/// The scores of a list by item, which is known by its text.
fn of_items(
    result: &Whole<ResultFile>,
    session: &Session,
    scores: &[CriterionScore],
    unknown: &mut BTreeSet<String>,
) -> Found<Vec<(String, bool)>> {
    let mut items: Vec<Option<&Item>> = session.checklist.iter().map(Some).collect();
    let mut found = Vec::new();
    for score in scores {
        let criterion = &score.criterion;
        let met = match score.value {
            0 => false,
            1 => true,
            other => {
                let message = format!("the value {other} is neither 0 nor 1");
                return Err(result.problem(criterion, message));
            }
        };
        let text = criterion.trim();
        let own = items
            .iter_mut()
            .find(|item| item.is_some_and(|item| criterion_of(item) == text));
        match own.and_then(Option::take) {
            Some(item) => {
                same_weight(result, score, item)?;
                found.push((item.id.clone(), met));
            }
            None if text.starts_with(CHECK_PREFIX) => {
                unknown.insert(text.to_owned());
            }
            None => {
                let id = &session.id;
                let message = format!("this is no item of session `{id}` of the suite");
                return Err(result.problem(criterion, message));
            }
        }
    }
    match items.into_iter().flatten().next() {
        Some(item) => {
            let message = format!("no score of item `{}` of the suite", item.id);
            Err(result.problem("criterion_scores", message))
        }
        None => Ok(found),
    }
}

/// Another weight is of other data, as another text is: what was met would give another score here.
fn same_weight(result: &Whole<ResultFile>, score: &CriterionScore, item: &Item) -> Found<()> {
    let Item { id, weight, .. } = item;
    match score.weight {
        Some(theirs) if differ(theirs, *weight) => {
            let message = format!(
                "this was scored by the weight {theirs}; item `{id}` of the suite has {weight}"
            );
            Err(result.problem(&score.criterion, message))
        }
        _ => Ok(()),
    }
}

/// The result's own score must be that of what it says was met.
fn same_average(
    result: &Whole<ResultFile>,
    session: &Session,
    told: Option<f64>,
    best: &[(String, bool)],
) -> Found<()> {
    let met = |id: &str| best.iter().any(|(item, met)| item == id && *met);
    let score = |item: &Item| ItemScore {
        id: item.id.clone(),
        weight: item.weight,
        met: met(&item.id),
    };
    let items: Vec<ItemScore> = session.checklist.iter().map(score).collect();
    match (told, comp(&items)) {
        (Some(theirs), Some(ours)) if differ(theirs, ours) => {
            let message = format!(
                "`average_score` is {theirs:.4}, and its values and weights give {ours:.4}"
            );
            Err(result.problem("\"average_score\"", message))
        }
        _ => Ok(()),
    }
}

fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > ROUNDING * one.abs().max(other.abs())
}

fn criterion_of(item: &Item) -> String {
    let text = item.criterion.trim();
    match item.grading {
        Grading::Rubric { .. } => text.to_owned(),
        Grading::Rule(_) => format!("{CHECK_PREFIX}{text}"),
    }
}
