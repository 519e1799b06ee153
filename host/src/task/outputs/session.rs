//! One session of the reference's outputs: its files found and joined into turns, its words translated, and everything
//! that two files say held against each other.

use super::source::{
    CriterionScore, Decision, Folder, HiddenLine, Lines, LogLine, MessageLine, Placed, ResultFile,
    TurnEvaluation, Whole,
};
use super::{Played, PlayedTurn};
use crate::eval::record::{Outcome, Status};
use crate::eval::session::{IntentChange, Style};
use crate::task::problem::Problem;
use crate::task::suite::{Grading, Item, Session};

mod chat;

/// What the reference writes before the name of a rule script's check.
const CHECK_PREFIX: &str = "[tools] ";

type Found<T> = Result<T, Box<Problem>>;

/// A session and what its files say beside it.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) played: Played,
    /// When it was evaluated; empty when it was not.
    pub(super) evaluated: String,
    /// The persona's scores as they stood then, fractions.
    pub(super) proc: Option<f64>,
    pub(super) comp: Option<f64>,
    /// What is not there.
    pub(super) notes: Vec<String>,
}

/// Reads `<user>/<task>`.
pub(super) fn read(folder: &mut Folder, path: &str, session: &Session) -> Found<Read> {
    let history = format!("{path}/history");
    let Some(time) = latest(&folder.names(&history)?, "-messages.jsonl") else {
        return Err(folder.problem(&history, "no <time>-messages.jsonl"));
    };
    let mut turns = conversation(&folder.lines(&format!("{history}/{time}-messages.jsonl"))?)?;
    let log: Lines<LogLine> = folder.lines(&format!("{history}/{time}-log.jsonl"))?;
    same_intents(&log, session)?;
    judgements(&log, session, &mut turns)?;
    let (mut outcome, mut fault) = ending(&log, &turns)?;
    settle(outcome, &mut turns);

    let mut notes = Vec::new();
    let results = format!("{path}/eval/results");
    let Some(evaluated) = latest(&folder.names(&results)?, "_result.json") else {
        return Err(folder.problem(
            &results,
            "no <time>_result.json: the session was not evaluated",
        ));
    };
    let result: Whole<ResultFile> = folder.json(&format!("{results}/{evaluated}_result.json"))?;
    same_session(&result, path)?;
    same_statuses(&result, &turns)?;
    if !verdicts(&result, session, &mut turns)? && outcome.scored() {
        outcome = Outcome::JudgeFault;
        fault = Some("the result has no checklist: its judge gave no answer".into());
    }
    let traces = format!("{path}/eval/trace_logs/{evaluated}");
    let system = chat::read(folder, &traces, &mut turns, &mut notes)?;
    Ok(Read {
        played: Played {
            session: session.id.clone(),
            turns,
            outcome,
            fault,
            system,
        },
        proc: result.value.overall_proactiveness_average_score,
        comp: result.value.overall_checklist_average_score,
        evaluated,
        notes,
    })
}

/// The latest time of the files with this ending: `20260501_120000`.
fn latest(names: &[String], ending: &str) -> Option<String> {
    let times = names.iter().filter_map(|name| name.strip_suffix(ending));
    let is_time = |time: &&str| {
        time.len() == 15
            && time.bytes().enumerate().all(|(at, byte)| match at {
                8 => byte == b'_',
                _ => byte.is_ascii_digit(),
            })
    };
    times.filter(is_time).max().map(str::to_owned)
}

/// One turn for each message of the user.
fn conversation(messages: &Lines<MessageLine>) -> Found<Vec<PlayedTurn>> {
    let mut turns: Vec<PlayedTurn> = Vec::new();
    for line in &messages.lines {
        let MessageLine {
            role,
            message,
            timestamp,
        } = &line.value;
        let answered = turns.last().is_none_or(|turn| turn.took.is_some());
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        let at = (timestamp * 1000.0) as i64;
        match (role.as_str(), answered) {
            ("user", true) => turns.push(PlayedTurn {
                message: message.clone(),
                asked_at: at,
                ..PlayedTurn::default()
            }),
            ("assistant", false) => {
                if let Some(turn) = turns.last_mut() {
                    turn.response.clone_from(message);
                    turn.took = Some(u64::try_from(at - turn.asked_at).unwrap_or_default());
                }
            }
            ("user" | "assistant", _) => {
                let message = format!("two messages of the {role} without one between them");
                return Err(messages.problem(line, message));
            }
            (role, _) => {
                return Err(messages.problem(line, format!("unknown role `{role}`")));
            }
        }
    }
    if turns.is_empty() {
        return Err(messages.of_file("no messages"));
    }
    Ok(turns)
}

/// The results must be of the data that the suite was made of.
fn same_intents(log: &Lines<LogLine>, session: &Session) -> Found<()> {
    let begins =
        |line: &&Placed<LogLine>| line.value.message.starts_with("Hidden intents initialized");
    let Some(line) = log.lines.iter().find(begins) else {
        return Err(log.of_file("no line `Hidden intents initialized`"));
    };
    let intents: Vec<HiddenLine> =
        log.part(line, &line.value.data["hidden_intents"], "hidden_intents")?;
    let same = intents.len() == session.intents.len()
        && intents
            .iter()
            .zip(&session.intents)
            .all(|(theirs, ours)| theirs.content.trim() == ours.content.trim());
    if !same {
        let id = &session.id;
        let message = format!("these are not the hidden intents of session `{id}` of the suite");
        return Err(log.problem(line, message));
    }
    if let Some(place) = intents.iter().position(|one| one.status == "provided") {
        let message = format!(
            "intent {} starts as `provided`; here every intent starts open",
            place + 1
        );
        return Err(log.problem(line, message));
    }
    Ok(())
}

/// What the user agent found in each turn, in our words: its *inferred* is *completed*, its *provided* is *inferred* when
/// the agent had asked and *provided* when it had not.
fn judgements(log: &Lines<LogLine>, session: &Session, turns: &mut [PlayedTurn]) -> Found<()> {
    let mut turn = 0_usize;
    for line in &log.lines {
        let message = &line.value.message;
        let stage_one = message.starts_with("Intent satisfaction completed");
        if stage_one || message.starts_with("Intent satisfaction skipped") {
            turn += 1;
        } else if !message.starts_with("Targeted followup completed")
            && !message.starts_with("Reply built")
        {
            continue;
        }
        let now = u32::try_from(turn).unwrap_or(u32::MAX);
        let Some(played) = turn
            .checked_sub(1)
            .and_then(|place| turns.get_mut(place))
            .filter(|played| played.took.is_some())
        else {
            return Err(log.problem(line, format!("turn {turn} has no answer of the agent")));
        };
        let change = |intent: usize, status, style| IntentChange {
            turn: now,
            intent,
            status,
            style,
        };
        if stage_one {
            let decisions = decisions(log, line, session)?;
            played.satisfied = yes_or_no(&decisions);
            for intent in indexes(log, line, session, "newly_inferred_indexes")? {
                played.changes.push(change(intent, Status::Completed, None));
            }
        } else if message.starts_with("Targeted followup completed") {
            let decisions = decisions(log, line, session)?;
            played.asked = yes_or_no(&decisions);
            for intent in indexes(log, line, session, "matched_indexes")? {
                let style = decisions
                    .iter()
                    .find(|(place, _)| *place == intent)
                    .and_then(|(_, decision)| style(decision));
                if style.is_none() {
                    let message = format!("intent {} is asked for in no known style", intent + 1);
                    return Err(log.problem(line, message));
                }
                played.changes.push(change(intent, Status::Inferred, style));
            }
        } else if message.starts_with("Reply built") {
            let answered = played
                .changes
                .iter()
                .any(|change| change.status == Status::Inferred);
            for intent in indexes(log, line, session, "updated_indexes")? {
                if !answered {
                    played.changes.push(change(intent, Status::Provided, None));
                }
            }
        }
    }
    Ok(())
}

/// The judgements of a line, by intent.
fn decisions(
    log: &Lines<LogLine>,
    line: &Placed<LogLine>,
    session: &Session,
) -> Found<Vec<(usize, Decision)>> {
    let found: Vec<Decision> = log.part(line, &line.value.data["decisions"], "decisions")?;
    let place = |decision: Decision| {
        Ok((
            place_of(log, line, session, decision.idx, "decisions")?,
            decision,
        ))
    };
    found.into_iter().map(place).collect()
}

fn yes_or_no(decisions: &[(usize, Decision)]) -> Vec<(usize, bool)> {
    let yes = |decision: &Decision| decision.answer.eq_ignore_ascii_case("yes");
    decisions
        .iter()
        .map(|(intent, decision)| (*intent, yes(decision)))
        .collect()
}

fn style(decision: &Decision) -> Option<Style> {
    match decision.style.as_deref()?.trim().to_lowercase().as_str() {
        "clarify" => Some(Style::Clarify),
        "options" => Some(Style::Options),
        _ => None,
    }
}

/// A list of the reference's numbers, which count from 1, as places.
fn indexes(
    log: &Lines<LogLine>,
    line: &Placed<LogLine>,
    session: &Session,
    name: &str,
) -> Found<Vec<usize>> {
    let numbers: Vec<usize> = log.part(line, &line.value.data[name], name)?;
    let place = |number: usize| place_of(log, line, session, number, name);
    numbers.into_iter().map(place).collect()
}

fn place_of(
    log: &Lines<LogLine>,
    line: &Placed<LogLine>,
    session: &Session,
    number: usize,
    name: &str,
) -> Found<usize> {
    let place = number.checked_sub(1);
    let place = place.filter(|place| *place < session.intents.len());
    place.ok_or_else(|| {
        let count = session.intents.len();
        log.problem(
            line,
            format!("`{name}`: {number} is none of the {count} intents"),
        )
    })
}

/// How the session ended, and what broke.
fn ending(log: &Lines<LogLine>, turns: &[PlayedTurn]) -> Found<(Outcome, Option<String>)> {
    let finished = |line: &&Placed<LogLine>| line.value.message.starts_with("Task finished");
    let Some(line) = log.lines.iter().rfind(finished) else {
        let fault = "the log has no end of the session: it was broken off";
        return Ok((Outcome::Infrastructure, Some(fault.into())));
    };
    let message = &line.value.message;
    let status = message
        .split_whitespace()
        .find_map(|word| word.strip_prefix("status="));
    let detail = message.split_once("detail=").map_or("", |(_, text)| text);
    let answered = turns.last().is_some_and(|turn| turn.took.is_some());
    match (status, answered) {
        (Some("SUCCESS"), true) => Ok((Outcome::Complete, None)),
        // The last answer of the user, which no turn follows, is written all the same.
        (Some("MAX_TURNS"), _) => Ok((Outcome::MaxTurns, None)),
        (Some("TIMEOUT"), false) => Ok((
            Outcome::TurnTimeout,
            Some("the agent did not answer in time".into()),
        )),
        (Some("ERROR"), true) => Ok((
            Outcome::JudgeFault,
            Some(format!("the user agent failed: {detail}")),
        )),
        (Some("ERROR" | "EXITED_BY_USER"), _) => Ok((
            Outcome::Infrastructure,
            Some(format!("the session was broken off: {detail}")),
        )),
        (Some("SUCCESS"), false) => Err(log.problem(
            line,
            "the session ended well, and its last message has no answer",
        )),
        (Some("TIMEOUT"), true) => {
            Err(log.problem(line, "a turn timed out, and the last message has an answer"))
        }
        (other, _) => {
            let status = other.unwrap_or_default();
            Err(log.problem(line, format!("unknown status `{status}`")))
        }
    }
}

/// Takes out of the last turn what our rules do not have there.
fn settle(outcome: Outcome, turns: &mut Vec<PlayedTurn>) {
    if outcome == Outcome::MaxTurns && turns.last().is_some_and(|turn| turn.took.is_none()) {
        turns.pop();
    }
    let Some(last) = turns.last_mut() else {
        return;
    };
    match outcome {
        // What the user told in the message that nobody read: neither here nor there is it proactive.
        Outcome::MaxTurns => last
            .changes
            .retain(|change| change.status != Status::Provided),
        Outcome::Infrastructure => last.changes.clear(),
        _ => {}
    }
}

fn same_session(result: &Whole<ResultFile>, path: &str) -> Found<()> {
    let id = &result.value.task.task_id;
    if path.rsplit('/').next() == Some(id) {
        return Ok(());
    }
    Err(result.problem("task_id", format!("the result is of another task, `{id}`")))
}

/// The result's own account of the intents must be that of the log.
fn same_statuses(result: &Whole<ResultFile>, turns: &[PlayedTurn]) -> Found<()> {
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

/// Puts the checklist's verdicts into their turns; false when the result should have some and has none.
fn verdicts(
    result: &Whole<ResultFile>,
    session: &Session,
    turns: &mut [PlayedTurn],
) -> Found<bool> {
    let Some(checklist) = &result.value.task.checklist else {
        return Ok(session.checklist.is_empty());
    };
    let best = of_items(result, session, &checklist.criterion_scores)?;
    for TurnEvaluation {
        turn_index,
        criterion_scores,
        llm_evaluation,
    } in &checklist.turn_evaluations
    {
        let verdicts = of_items(result, session, criterion_scores)?;
        let place = turn_index.checked_sub(1);
        let Some(turn) = place.and_then(|place| turns.get_mut(place)) else {
            let message = format!("turn {turn_index} is evaluated and was not played");
            return Err(result.problem("turn_evaluations", message));
        };
        turn.verdicts = verdicts;
        turn.replies.clone_from(&llm_evaluation.raw_responses);
    }
    for (id, met) in best {
        let ever = turns
            .iter()
            .flat_map(|turn| &turn.verdicts)
            .any(|(item, yes)| *item == id && *yes);
        if ever != met {
            let message = format!("item `{id}` is not the best of its turns");
            return Err(result.problem("criterion_scores", message));
        }
    }
    Ok(true)
}

/// The scores of a list by item; they stand in the order of the task.
fn of_items(
    result: &Whole<ResultFile>,
    session: &Session,
    scores: &[CriterionScore],
) -> Found<Vec<(String, bool)>> {
    if scores.len() != session.checklist.len() {
        let message = format!(
            "{} criteria, and session `{}` of the suite has {}",
            scores.len(),
            session.id,
            session.checklist.len()
        );
        return Err(result.problem("criterion_scores", message));
    }
    let mut found = Vec::new();
    for (score, item) in scores.iter().zip(&session.checklist) {
        if score.criterion.trim() != criterion(item) {
            let message = format!("this is not item `{}` of the suite", item.id);
            return Err(result.problem(&score.criterion, message));
        }
        found.push((item.id.clone(), score.value == 1));
    }
    Ok(found)
}

fn criterion(item: &Item) -> String {
    let text = item.criterion.trim();
    match item.grading {
        Grading::Rubric { .. } => text.to_owned(),
        Grading::Rule(_) => format!("{CHECK_PREFIX}{text}"),
    }
}
