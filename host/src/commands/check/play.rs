//! The scripted agents on a suite, for `check`: what each must score says whether intents, matchers, items and workflows
//! hold what they promise. Every play has a run folder of its own that is gone afterwards.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::anyhow;
use camino::Utf8PathBuf;
use serde::Serialize;
use tokio::sync::mpsc;

use super::super::run::planned_suite;
use super::super::runtime;
use crate::cli::{CheckArgs, ProtocolArg, RunArgs};
use crate::eval::record::{Outcome, Status};
use crate::exit::{Exit, Failure, OrExit};
use crate::model::cassette::Tape;
use crate::run::Finished;
use crate::store::event::{Event, SessionFinished};
use crate::store::journal;
use crate::store::results::RunResults;
use crate::task::problem::Problem;
use crate::task::suite::Suite;
use crate::task::validate::{Authored, Part};

/// Proc and Comp that an agent without work stays under (percent).
const CHEAT_BOUND: f64 = 5.0;

/// What the scripted agents did.
#[derive(Debug, Default, Serialize)]
pub(super) struct Plays {
    pub(super) agents: Vec<AgentPlay>,
    /// Wall clock of the second play of `reference`, with plugins compiled and loaded.
    pub(super) seconds: f64,
}

/// One agent over the suite.
#[derive(Debug, Serialize)]
pub(super) struct AgentPlay {
    pub(super) agent: &'static str,
    /// Percent; null if nothing is scored.
    pub(super) proc: Option<f64>,
    pub(super) comp: Option<f64>,
    /// By persona and session: turns.
    #[serde(skip)]
    pub(super) turns: BTreeMap<(String, String), u32>,
}

impl Plays {
    /// Agent, Proc and Comp, for a table.
    pub(super) fn lines(&self) -> Vec<(&'static str, Option<f64>, Option<f64>)> {
        let agents = self.agents.iter();
        agents
            .map(|play| (play.agent, play.proc, play.comp))
            .collect()
    }
}

/// One play, with all that is asked of it.
struct Play {
    results: RunResults,
    finished: Vec<(String, SessionFinished)>,
    journals: Vec<Vec<u8>>,
    seconds: f64,
}

/// Plays all of them; sessions without a reference workflow are left out.
pub(super) fn check(
    suite: &Suite,
    authored: &Authored<'_>,
    args: &CheckArgs,
) -> Result<(Plays, Vec<Problem>), Failure> {
    let sessions = playable(suite, args);
    let mut plays = Plays::default();
    let mut problems = Vec::new();
    if sessions.is_empty() {
        return Ok((plays, problems));
    }
    for agent in ["reference", "reactive", "nop", "cheat"] {
        let play = play(suite, agent, &sessions, args)?;
        for (persona, finished) in &play.finished {
            let told = wrong(agent, finished);
            problems.extend(told.into_iter().map(|(part, message, help)| {
                authored.session_problem(persona, &finished.session, part, message, help)
            }));
        }
        if agent == "reference" {
            let again = self::play(suite, agent, &sessions, args)?;
            plays.seconds = again.seconds;
            if again.journals != play.journals {
                let message =
                    "two plays of `reference` differ: an app or a grader is not deterministic";
                problems.push(Problem::of_file(&suite.path, message));
            }
        }
        let lines = play.results.sessions.iter();
        plays.agents.push(AgentPlay {
            agent,
            proc: play.results.proc,
            comp: play.results.comp,
            turns: lines
                .map(|line| ((line.persona.clone(), line.id.clone()), line.turns))
                .collect(),
        });
    }
    Ok((plays, problems))
}

/// The sessions that can be played without a model, of those that are asked for.
fn playable(suite: &Suite, args: &CheckArgs) -> Vec<String> {
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    sessions
        .filter(|session| args.session.is_empty() || args.session.contains(&session.id))
        .filter(|session| !session.reference.is_empty())
        .map(|session| session.id.clone())
        .collect()
}

fn play(
    suite: &Suite,
    agent: &str,
    sessions: &[String],
    args: &CheckArgs,
) -> Result<Play, Failure> {
    let dir = tempfile::tempdir().or_exit(Exit::Io)?;
    let out = Utf8PathBuf::try_from(dir.path().join("run")).or_exit(Exit::Io)?;
    let run = RunArgs {
        agent: vec![agent.into()],
        user: Some("lexical".into()),
        judge: vec!["lexical".into()],
        session: sessions.to_vec(),
        runs: Some(1),
        protocol: Some(ProtocolArg::Paper),
        plugins: args.plugins.clone(),
        policy: args.policy.clone(),
        out: Some(out.clone()),
        ..RunArgs::default()
    };
    let plan = planned_suite(suite.clone(), &run, Tape::Silent)?;
    // Of a persona that none of the sessions belongs to there is no journal.
    let personas: Vec<String> = plan
        .personas()
        .filter(|persona| persona.sessions.iter().any(|it| sessions.contains(&it.id)))
        .map(|persona| persona.id.clone())
        .collect();
    // Nobody looks at the progress.
    let (progress, _) = mpsc::unbounded_channel();
    let started = Instant::now();
    let ended = runtime()?.block_on(crate::run::play(plan, false, progress));
    let seconds = started.elapsed().as_secs_f64();
    let results = match ended.or_exit(Exit::InvalidInput)? {
        Finished::All {
            results, broken, ..
        } if broken.is_empty() => *results,
        Finished::All { broken, .. } => {
            return Err(anyhow!("play `{agent}`: {}", broken.join("; ")))
                .or_exit(Exit::Infrastructure);
        }
        Finished::Interrupted => {
            return Err(anyhow!("play `{agent}`: interrupted")).or_exit(Exit::Interrupted);
        }
    };
    let mut finished = Vec::new();
    let mut journals = Vec::new();
    for persona in personas {
        let path = out.join(format!("journal/{persona}.r1.jsonl"));
        let events = journal::events(path.as_std_path()).or_exit(Exit::Io)?;
        finished.extend(events.into_iter().filter_map(|event| match event {
            Event::SessionFinished(finished) => Some((persona.clone(), *finished)),
            _ => None,
        }));
        journals.push(std::fs::read(&path).or_exit(Exit::Io)?);
    }
    Ok(Play {
        results,
        finished,
        journals,
        seconds,
    })
}

type Told = (Part<'static>, String, &'static str);

/// What one session's end under one agent says against the session.
fn wrong(agent: &str, finished: &SessionFinished) -> Vec<Told> {
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
    for (index, item) in items.iter().enumerate() {
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
