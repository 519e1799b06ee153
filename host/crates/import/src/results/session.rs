//! One session of the reference's outputs: its files found and joined into turns, its words translated, and everything
//! that two files say held against each other.

use jiff::Timestamp;

use super::source::{
    Decision, Folder, HiddenLine, Lines, LogLine, MessageLine, Placed, ResultFile, Whole,
};
use super::{Played, PlayedTurn, follow};
use pibench_core::record::{Outcome, Status};
use pibench_core::session::{IntentChange, Style};
use pibench_suite::problem::Problem;
use pibench_suite::suite::Session;

mod chat;
mod verdict;

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

/// Why a session is not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// What is there contradicts itself, the format or the suite.
    Problem(Box<Problem>),
    /// It was not finished, or has no place here: left out, and unscored.
    Left(String),
}

impl From<Box<Problem>> for Unread {
    fn from(problem: Box<Problem>) -> Self {
        Self::Problem(problem)
    }
}

/// Reads `<user>/<task>`.
pub(super) fn read(folder: &mut Folder, path: &str, session: &Session) -> Result<Read, Unread> {
    let history = format!("{path}/history");
    let names = folder.names(&history)?;
    let Some(time) = latest(&names, "-messages.jsonl") else {
        return Err(left(folder, &history, "no <time>-messages.jsonl"));
    };
    let said = format!("{history}/{time}-messages.jsonl");
    let file = format!("{history}/{time}-log.jsonl");
    if !names.contains(&format!("{time}-log.jsonl")) {
        return Err(left(folder, &file, "no such file"));
    }
    let messages = folder.lines(&said)?;
    let log: Lines<LogLine> = folder.lines(&file)?;
    if messages.cut {
        return Err(left(folder, &said, "its last line is cut"));
    }
    if log.values.is_empty() {
        return Err(left(folder, &file, "nothing is logged"));
    }
    let mut turns = conversation(&messages)?;
    if let Some(number) = same_intents(&log, session)? {
        let what = format!("intent {number} starts as `provided`; here every intent starts open");
        return Err(left(folder, &file, &what));
    }
    judgements(&log, session, &mut turns)?;
    let (mut outcome, mut fault) = ending(&log, &turns)?;
    let mut notes = Vec::new();
    if let Some(what) = unfinished(&log) {
        let file = folder.shown(&file);
        notes.push(format!("{file}: {what}; the session is unscored"));
    }

    let results = format!("{path}/eval/results");
    let evaluated = latest(&folder.names(&results)?, "_result.json");
    let (mut proc, mut comp, mut system) = (None, None, String::new());
    if let Some(evaluated) = &evaluated {
        let result: Whole<ResultFile> =
            folder.json(&format!("{results}/{evaluated}_result.json"))?;
        verdict::same_session(&result, path)?;
        verdict::same_statuses(&result, &turns)?;
        settle(outcome, &mut turns);
        let verdicts = verdict::verdicts(&result, session, &mut turns)?;
        let shown = folder.shown(path);
        notes.extend(verdicts.unknown.iter().map(|criterion| {
            format!("{shown}: `{criterion}` is no item of the suite; its verdicts are not there")
        }));
        if !verdicts.complete && outcome.scored() {
            outcome = Outcome::JudgeFault;
            fault = Some("the result has no checklist: its judge gave no answer".into());
        }
        proc = result.value.overall_proactiveness_average_score;
        comp = result.value.overall_checklist_average_score;
        let traces = format!("{path}/eval/trace_logs/{evaluated}");
        system = chat::read(folder, &traces, &mut turns, &mut notes)?;
    } else {
        let what = "no <time>_result.json: the session was not evaluated and is unscored";
        notes.push(format!("{}: {what}", folder.shown(&results)));
        outcome = Outcome::Infrastructure;
        fault = Some("the session was not evaluated".into());
        settle(outcome, &mut turns);
    }
    by_the_rules(&log, session, &turns, outcome)?;
    Ok(Read {
        played: Played {
            session: session.id.clone(),
            turns,
            outcome,
            fault,
            system,
        },
        proc,
        comp,
        evaluated: evaluated.unwrap_or_default(),
        notes,
    })
}

fn left(folder: &Folder, file: &str, what: &str) -> Unread {
    let what = format!("{}: {what}; the session is unscored", folder.shown(file));
    Unread::Left(what)
}

/// What `verify` will ask of the run: that the statuses and the end follow from the turns.
fn by_the_rules(
    log: &Lines<LogLine>,
    session: &Session,
    turns: &[PlayedTurn],
    outcome: Outcome,
) -> Found<()> {
    let changes: Vec<IntentChange> = turns.iter().flat_map(|turn| turn.changes.clone()).collect();
    let count = u32::try_from(turns.len()).unwrap_or(u32::MAX);
    let reason = match follow(session.intents.len(), count, &changes, Some(outcome)) {
        Ok(tracker) if tracker.outcome() == Some(outcome) => return Ok(()),
        Ok(tracker) => {
            let open = tracker
                .statuses()
                .iter()
                .filter(|status| **status == Status::Open);
            format!("{} of its intents are open", open.count())
        }
        Err(error) => error.to_string(),
    };
    let message = format!("the session cannot have ended so after {count} turns: {reason}");
    Err(match log.values.iter().rfind(|line| is_end(line)) {
        Some(line) => log.problem(line, message),
        None => log.of_file(message),
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
    for line in &messages.values {
        let MessageLine {
            role,
            message,
            timestamp,
        } = &line.value;
        let answered = turns.last().is_none_or(|turn| turn.took.is_some());
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        let at = (timestamp * 1000.0) as i64;
        if Timestamp::from_millisecond(at).is_err() {
            let message = format!("`timestamp`: {timestamp} seconds since 1970 are no moment");
            return Err(messages.problem(line, message));
        }
        match (role.as_str(), answered) {
            ("user", true) => turns.push(PlayedTurn {
                message: message.clone(),
                asked_at: at,
                ..PlayedTurn::default()
            }),
            ("assistant", false) => {
                if let Some(turn) = turns.last_mut() {
                    turn.response.clone_from(message);
                    turn.took =
                        Some(u64::try_from(at.saturating_sub(turn.asked_at)).unwrap_or_default());
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

/// The results must be of the data that the suite was made of. The answer is the number of an intent that the user told
/// at once, where there is one.
fn same_intents(log: &Lines<LogLine>, session: &Session) -> Found<Option<usize>> {
    let begins =
        |line: &&Placed<LogLine>| line.value.message.starts_with("Hidden intents initialized");
    let Some(line) = log.values.iter().find(begins) else {
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
    let provided = intents.iter().position(|one| one.status == "provided");
    Ok(provided.map(|place| place + 1))
}

/// What the user agent found in each turn, in our words: its *inferred* is *completed*, its *provided* is *inferred* when
/// the agent had asked and *provided* when it had not.
fn judgements(log: &Lines<LogLine>, session: &Session, turns: &mut [PlayedTurn]) -> Found<()> {
    let mut turn = 0_usize;
    let mut settled = vec![Status::Open; session.intents.len()];
    for line in &log.values {
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
        let mut change = |intent: usize, status, style| {
            let before = std::mem::replace(&mut settled[intent], status);
            if before != Status::Open {
                let number = intent + 1;
                let message =
                    format!("intent {number} is not open any more: it was {before:?} before");
                return Err(log.problem(line, message.to_lowercase()));
            }
            Ok(IntentChange {
                turn: now,
                intent,
                status,
                style,
            })
        };
        if stage_one {
            let decisions = decisions(log, line, session)?;
            played.satisfied = yes_or_no(&decisions);
            for intent in indexes(log, line, session, "newly_inferred_indexes")? {
                played
                    .changes
                    .push(change(intent, Status::Completed, None)?);
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
                played
                    .changes
                    .push(change(intent, Status::Inferred, style)?);
            }
        } else if message.starts_with("Reply built") {
            let answered = played
                .changes
                .iter()
                .any(|change| change.status == Status::Inferred);
            for intent in indexes(log, line, session, "updated_indexes")? {
                if !answered {
                    played.changes.push(change(intent, Status::Provided, None)?);
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

fn is_end(line: &Placed<LogLine>) -> bool {
    line.value.message.starts_with("Task finished")
}

/// What of a log is not there whose program was killed.
fn unfinished(log: &Lines<LogLine>) -> Option<&'static str> {
    if log.cut {
        return Some("its last line is cut");
    }
    let ended = log.values.iter().any(is_end);
    (!ended).then_some("no line `Task finished`")
}

/// How the session ended, and what broke.
fn ending(log: &Lines<LogLine>, turns: &[PlayedTurn]) -> Found<(Outcome, Option<String>)> {
    if log.cut {
        return Ok((Outcome::Infrastructure, Some("the log is cut".into())));
    }
    let Some(line) = log.values.iter().rfind(|line| is_end(line)) else {
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
