//! The examples of rules, each carried out by itself: what an author says must pass does, and what must not does not. All of
//! them are one play of a suite that has a persona for each session, of which its examples are variants.

use super::breaks::Breaks;
use super::play::{End, play};
use super::{CheckError, Ground};
use pibench_core::record::CallStatus;
use pibench_record::event::{Step, Turn};
use pibench_suite::manifest::SessionLimits;
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Intent, Persona, Session, Suite};
use pibench_suite::validate::History;

/// Characters of a refused call's answer that are told.
pub(super) const ANSWER: usize = 300;

const UNJUDGED: &str = "see that the session can be played: `run --session` tells more";

/// Plays the examples of these sessions' rules. What their graders break on is apart: it shows elsewhere too.
pub(super) async fn check(
    suite: &Suite,
    sessions: &[String],
    ground: &Ground<'_>,
) -> Result<(Vec<Problem>, Breaks), CheckError> {
    let mut histories = ground.authored.histories();
    histories.retain(|history| {
        let asked = sessions.iter().any(|id| id == history.session);
        let is_broken = ground.is_broken(history.persona, history.session);
        // What was left out of the suite is not played.
        let found = suite.find_session(history.persona, history.session);
        asked && !is_broken && found.is_some()
    });
    if histories.is_empty() {
        return Ok((Vec::new(), Breaks::default()));
    }
    let histories: Vec<(usize, History<'_>)> = histories.into_iter().enumerate().collect();
    // Those of a session stand together.
    let alike = |(_, a): &(usize, History<'_>), (_, b): &(usize, History<'_>)| {
        (a.persona, a.session) == (b.persona, b.session)
    };
    let of_sessions = histories.chunk_by(alike);
    let alone = Suite {
        personas: of_sessions
            .filter_map(|examples| persona(suite, examples))
            .collect(),
        session: SessionLimits {
            max_turns: 1,
            ..suite.session
        },
        ..suite.clone()
    };
    let played: Vec<String> = histories.iter().map(|(at, _)| name(*at)).collect();
    let play = play(&alone, "reference", &played, true, ground).await?;
    let ends = histories.iter().map(|(at, history)| {
        let is_its = |end: &&End| end.finished.session == name(*at);
        (history, play.ends.iter().find(is_its))
    });
    let (mut told, mut breaks) = (Vec::new(), Breaks::default());
    for (history, end) in ends {
        let History {
            persona, session, ..
        } = *history;
        let part = history.part();
        let authored = ground.authored;
        match wrong(history.accepted, end.and_then(|end| end.turns.first())) {
            Some(Wrong::Breaks(cause)) => {
                breaks.on_example((persona, session), history.item, part, cause);
            }
            Some(Wrong::Told(message, help)) => {
                told.push(authored.session_problem(persona, session, part, message, help));
            }
            None => {}
        }
    }
    Ok((told, breaks))
}

/// What speaks against an example.
enum Wrong<'t> {
    /// With the remedy.
    Told(String, &'static str),
    /// The grader broke on it, in these words.
    Breaks(&'t str),
}

/// What the example of this number is played as: no session has such an id.
fn name(at: usize) -> String {
    format!("example.{at}")
}

/// The persona with the sessions that the one of these examples depends on, and then a session for each example: nothing is
/// judged but its one item.
fn persona(suite: &Suite, examples: &[(usize, History<'_>)]) -> Option<Persona> {
    let (first, history) = examples.first()?;
    let (persona, session) = suite.find_session(history.persona, history.session)?;
    let earlier = persona.sessions.iter();
    let earlier = earlier.filter(|earlier| session.depends_on.contains(&earlier.id));
    let earlier = earlier.map(|earlier| Session {
        dependency_only: true,
        ..barely_asked(earlier)
    });
    let variants = examples.iter().map(|(at, history)| Session {
        id: name(*at),
        checklist: session
            .checklist
            .get(history.item)
            .cloned()
            .into_iter()
            .collect(),
        reference: history.steps.clone(),
        dependency_only: false,
        ..barely_asked(session)
    });
    Some(Persona {
        id: name(*first),
        ..persona.with_sessions(earlier.chain(variants).collect())
    })
}

/// The session with one intent that is no matter: it has at least one.
fn barely_asked(session: &Session) -> Session {
    let intents = session.intents.iter().take(1).cloned();
    Session {
        intents: intents.map(unmatched).collect(),
        ..session.clone()
    }
}

/// An intent that is no matter.
fn unmatched(intent: Intent) -> Intent {
    Intent {
        satisfied: None,
        asked: None,
        ..intent
    }
}

/// What the one turn of an example says against it.
fn wrong(accepted: bool, turn: Option<&Turn>) -> Option<Wrong<'_>> {
    let Some(turn) = turn else {
        return Some(Wrong::Told("this history was not played".into(), UNJUDGED));
    };
    let mut calls = turn.steps.iter().flat_map(Step::calls);
    if let Some(call) = calls.find(|call| call.status != CallStatus::Ok) {
        let answer: String = call.result.chars().take(ANSWER).collect();
        return Some(Wrong::Told(
            format!(
                "a step of this history fails: `{}` answers {answer}",
                call.tool
            ),
            "correct the step: an example is carried out as it is written",
        ));
    }
    if let Some(fault) = turn.faults.first() {
        return Some(Wrong::Breaks(&fault.message));
    }
    match turn.items.first() {
        None => Some(Wrong::Told(
            "this history came to no verdict".into(),
            UNJUDGED,
        )),
        Some(verdict) if verdict.pass == accepted => None,
        Some(verdict) if accepted => Some(Wrong::Told(
            format!("the rule does not accept this history: {}", verdict.reason),
            "widen the rule, or correct the example",
        )),
        Some(verdict) => Some(Wrong::Told(
            format!("the rule accepts this history: {}", verdict.reason),
            "tie the rule to what only good work shows, or correct the example",
        )),
    }
}
