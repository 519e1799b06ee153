//! The scripted agents on a suite: what each must score says whether intents, matchers, items and workflows hold what they
//! promise.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{join, join_all};
use serde::Serialize;

use super::breaks::Breaks;
use super::expected::Unmet;
use super::{CheckError, Ground, Told, examples, expected, play};
use pibench_core::player;
use pibench_record::results::RunResults;
use pibench_suite::manifest::FilterFile;
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Persona, Session, Suite};

/// What the scripted agents did.
#[derive(Debug, Default, Serialize)]
pub struct Plays {
    pub agents: Vec<AgentPlay>,
    /// Wall clock of the second play of `reference`, with plugins compiled and loaded.
    pub seconds: f64,
    /// What could not be played, and why.
    pub left_out: Vec<String>,
}

/// One agent over the suite.
#[derive(Debug, Serialize)]
pub struct AgentPlay {
    pub agent: &'static str,
    /// Percent; null if nothing is scored.
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    /// By persona and session: turns.
    #[serde(skip)]
    pub turns: BTreeMap<(String, String), u32>,
}

/// Plays all of them; sessions without a reference workflow are left out.
pub(super) async fn check(suite: &Suite, ground: &Ground<'_>) -> Result<Told, CheckError> {
    let mut told = Told::default();
    let suite = sound(suite, ground, &mut told.plays.left_out);
    let sessions = playable(&suite, ground);
    if sessions.is_empty() {
        return Ok(told);
    }
    // Side by side: they share nothing.
    let plays = player::SCRIPTED.map(|agent| play::play(&suite, agent, &sessions, false, ground));
    let (plays, examples) = join(join_all(plays), examples::check(&suite, &sessions, ground)).await;
    let (examples, mut breaks) = examples.unwrap_or_else(|error| {
        told.stopped = Some(error);
        (Vec::new(), Breaks::default())
    });
    let mut unmet = Unmet::default();
    for (agent, play) in player::SCRIPTED.into_iter().zip(plays) {
        let play = match play {
            Ok(play) => play,
            Err(error) => {
                if told.plays.agents.is_empty() {
                    let what = format!("any session, as an error stopped the play of `{agent}`");
                    told.plays.left_out.push(what);
                }
                told.stopped = Some(error);
                break;
            }
        };
        for end in &play.ends {
            let problems = expected::told(agent, end, &suite, ground, &mut breaks, &mut unmet);
            told.problems.extend(problems);
        }
        if agent == "reference" {
            let again = play::play(&suite, agent, &sessions, false, ground).await?;
            told.plays.seconds = again.seconds;
            if again.journals != play.journals {
                let message =
                    "two plays of `reference` differ: an app or a grader is not deterministic";
                told.problems.push(Problem::of_file(&suite.path, message));
            }
        }
        told.plays.agents.push(AgentPlay::of(agent, &play.results));
    }
    told.problems.extend(breaks.problems(&suite, ground));
    told.problems.extend(examples);
    Ok(told)
}

impl AgentPlay {
    fn of(agent: &'static str, results: &RunResults) -> Self {
        let lines = results.sessions.iter();
        Self {
            agent,
            proc: results.proc,
            comp: results.comp,
            turns: lines
                .map(|line| ((line.persona.to_string(), line.id.to_string()), line.turns))
                .collect(),
        }
    }
}

/// The suite without what cannot be played: personas of which a session is missing or an app, or whose records are refused, and
/// sessions of which that holds.
fn sound(suite: &Suite, ground: &Ground<'_>, left_out: &mut Vec<String>) -> Suite {
    let mut suite = suite.clone();
    // What a run leaves out or takes away is checked too.
    suite.filter = FilterFile::default();
    suite.ablate = None;
    suite.personas.retain(|persona| {
        let reason = why_no_persona(persona, ground);
        if let Some(reason) = &reason {
            left_out.push(format!("persona {}, as {reason}", persona.id));
        }
        reason.is_none()
    });
    for persona in &mut suite.personas {
        let id = &persona.id;
        let mut gone = BTreeSet::new();
        persona.sessions.retain(|session| {
            let reason = why_no_session(session, id, &gone, ground);
            if let Some(reason) = &reason {
                left_out.push(format!("session {}, as {reason}", session.id));
                gone.insert(session.id.clone());
            }
            reason.is_none()
        });
    }
    suite
}

/// Why nothing of a persona can be played.
fn why_no_persona(persona: &Persona, ground: &Ground<'_>) -> Option<String> {
    if let Some(name) = ground.refusals.own {
        return Some(format!("the agent's tools cannot use `{name}`"));
    }
    let apps = persona.app_names();
    if let Some(app) = apps.iter().find(|app| ground.absent.contains(*app)) {
        return Some(format!("its app `{app}` cannot be used"));
    }
    if !ground.authored.is_whole(&persona.id) {
        return Some("not all of it could be read".into());
    }
    ground.refusals.personas.get(&persona.id).cloned()
}

/// Why a session cannot be played beside the others of its persona, of which these are `gone`.
fn why_no_session(
    session: &Session,
    persona: &str,
    gone: &BTreeSet<String>,
    ground: &Ground<'_>,
) -> Option<String> {
    let mut graders = session.graders();
    if let Some(grader) = graders.find(|grader| ground.absent.contains(*grader)) {
        return Some(format!("its grader `{grader}` cannot be used"));
    }
    if let Some(needed) = session.depends_on.iter().find(|id| gone.contains(*id)) {
        return Some(format!("`{needed}`, which it depends on, is not played"));
    }
    let place = (persona.to_owned(), session.id.clone());
    if ground.refusals.sessions.contains(&place) {
        return Some("a plugin refuses a rule or a record of it".into());
    }
    // A broken checklist, as a weight that is no number, may not even be recorded. Those without one bring what others need.
    let is_judged = !session.checklist.is_empty();
    let is_broken = is_judged && ground.is_broken(persona, &session.id);
    is_broken.then(|| "its file has errors".into())
}

/// The sessions that can be played without a model, of those that are asked for.
fn playable(suite: &Suite, ground: &Ground<'_>) -> Vec<String> {
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    sessions
        .filter(|session| ground.sessions.is_empty() || ground.sessions.contains(&session.id))
        .filter(|session| !session.reference.is_empty())
        .map(|session| session.id.clone())
        .collect()
}
