//! The scripted agents on a suite: what each must score says whether intents, matchers, items and workflows hold what they
//! promise.

use std::collections::BTreeMap;

use futures::future::{join, join_all};
use serde::Serialize;

use super::{CheckError, Ground, Told, examples, expected, play};
use pibench_core::player;
use pibench_record::results::RunResults;
use pibench_suite::manifest::FilterFile;
use pibench_suite::problem::Problem;
use pibench_suite::suite::Suite;

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
    for (agent, play) in player::SCRIPTED.into_iter().zip(plays) {
        let play = match play {
            Ok(play) => play,
            Err(error) => {
                told.stopped = Some(error);
                return Ok(told);
            }
        };
        let ends = play.ends.iter();
        told.problems
            .extend(ends.flat_map(|end| expected::told(agent, end, ground)));
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
    match examples {
        Ok(problems) => told.problems.extend(problems),
        Err(error) => told.stopped = Some(error),
    }
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

/// The suite without what cannot be played: personas of which a session is missing or an app, and sessions whose grader is.
fn sound(suite: &Suite, ground: &Ground<'_>, left_out: &mut Vec<String>) -> Suite {
    let Ground {
        authored, absent, ..
    } = ground;
    let mut suite = suite.clone();
    // What a run leaves out or takes away is checked too.
    suite.filter = FilterFile::default();
    suite.ablate = None;
    suite.personas.retain(|persona| {
        let apps = persona.app_names();
        let app = apps.iter().find(|app| absent.contains(*app));
        let reason = match app {
            Some(app) => format!("its app `{app}` cannot be used"),
            None if !authored.is_whole(&persona.id) => "not all of it could be read".into(),
            None => return true,
        };
        left_out.push(format!("persona {}, as {reason}", persona.id));
        false
    });
    for persona in &mut suite.personas {
        persona.sessions.retain(|session| {
            let grader = session.graders().find(|grader| absent.contains(*grader));
            if let Some(grader) = grader {
                let id = &session.id;
                left_out.push(format!(
                    "session {id}, as its grader `{grader}` cannot be used"
                ));
            }
            grader.is_none()
        });
    }
    suite
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
