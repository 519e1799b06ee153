//! The examples of rules, each carried out by itself: what an author says must pass does, and what must not does not. All of
//! them are one play of a suite that has a persona for each.

use super::play::{End, play};
use super::{CheckError, Ground};
use pibench_core::record::CallStatus;
use pibench_record::event::{Step, Turn};
use pibench_suite::manifest::SessionLimits;
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Intent, Persona, Session, Suite};
use pibench_suite::validate::History;

/// Characters of a refused call's answer that are told.
const ANSWER: usize = 300;

const UNJUDGED: &str = "see that the session can be played: `run --session` tells more";

/// Plays the examples of these sessions' rules.
pub(super) async fn check(
    suite: &Suite,
    sessions: &[String],
    ground: &Ground<'_>,
) -> Result<Vec<Problem>, CheckError> {
    let mut histories = ground.authored.histories();
    histories.retain(|history| {
        let asked = sessions.iter().any(|id| id == history.session);
        asked && !ground.is_broken(history.persona, history.session)
    });
    // What was left out of the suite has no persona here.
    let (histories, personas): (Vec<History<'_>>, Vec<Persona>) = histories
        .into_iter()
        .filter_map(|history| {
            let persona = persona(suite, &history)?;
            Some((history, persona))
        })
        .unzip();
    if histories.is_empty() {
        return Ok(Vec::new());
    }
    let personas = personas.into_iter().enumerate();
    let alone = Suite {
        personas: personas
            .map(|(at, persona)| Persona {
                id: name(at),
                ..persona
            })
            .collect(),
        session: SessionLimits {
            max_turns: 1,
            ..suite.session
        },
        ..suite.clone()
    };
    let played: Vec<String> = histories
        .iter()
        .map(|history| history.session.to_owned())
        .collect();
    let play = play(&alone, "reference", &played, ground).await?;
    let ends = histories.iter().enumerate().map(|(at, history)| {
        let is_its =
            |end: &&End| end.persona == name(at) && end.finished.session == history.session;
        (history, play.ends.iter().find(is_its))
    });
    let told = ends.filter_map(|(history, end)| {
        let (message, help) = wrong(history.accepted, end.and_then(|end| end.turns.first()))?;
        let History {
            persona, session, ..
        } = *history;
        let part = history.part();
        Some(
            ground
                .authored
                .session_problem(persona, session, part, message, help),
        )
    });
    Ok(told.collect())
}

fn name(at: usize) -> String {
    format!("example-{at}")
}

/// The persona with the one session, after those that it depends on; nothing is judged but the one item.
fn persona(suite: &Suite, history: &History<'_>) -> Option<Persona> {
    let mut personas = suite.personas.iter();
    let persona = personas.find(|persona| persona.id == history.persona)?;
    let mut sessions = persona.sessions.iter();
    let Session { depends_on, .. } = sessions.find(|session| session.id == history.session)?;
    let needed =
        |session: &&Session| session.id == history.session || depends_on.contains(&session.id);
    let sessions = persona.sessions.iter().filter(needed).cloned();
    let sessions = sessions.map(|session| {
        let mut session = Session {
            intents: session.intents.into_iter().take(1).map(unmatched).collect(),
            ..session
        };
        if session.id == history.session {
            session.checklist = vec![session.checklist.swap_remove(history.item)];
            session.reference.clone_from(&history.steps);
        }
        session
    });
    Some(persona.with_sessions(sessions.collect()))
}

/// An intent that is no matter: a session has at least one.
fn unmatched(intent: Intent) -> Intent {
    Intent {
        satisfied: None,
        asked: None,
        ..intent
    }
}

/// What the one turn of an example says against it, and the remedy.
fn wrong(accepted: bool, turn: Option<&Turn>) -> Option<(String, &'static str)> {
    let Some(turn) = turn else {
        return Some(("this history was not played".into(), UNJUDGED));
    };
    let mut calls = turn.steps.iter().flat_map(Step::calls);
    if let Some(call) = calls.find(|call| call.status != CallStatus::Ok) {
        let answer: String = call.result.chars().take(ANSWER).collect();
        return Some((
            format!(
                "a step of this history fails: `{}` answers {answer}",
                call.tool
            ),
            "correct the step: an example is carried out as it is written",
        ));
    }
    if let Some(fault) = turn.faults.first() {
        return Some((
            format!("the grader breaks on this history: {}", fault.message),
            "mend the grader: it judges every history",
        ));
    }
    match turn.items.first() {
        None => Some(("this history came to no verdict".into(), UNJUDGED)),
        Some(verdict) if verdict.pass == accepted => None,
        Some(verdict) if accepted => Some((
            format!("the rule does not accept this history: {}", verdict.reason),
            "widen the rule, or correct the example",
        )),
        Some(verdict) => Some((
            format!("the rule accepts this history: {}", verdict.reason),
            "tie the rule to what only good work shows, or correct the example",
        )),
    }
}
