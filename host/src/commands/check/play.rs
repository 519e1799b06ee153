//! The scripted agents on a suite, for `check`: what each must score says whether intents, matchers, items and workflows
//! hold what they promise. Every play has a run folder of its own that is gone afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anyhow::anyhow;
use camino::Utf8PathBuf;
use serde::Serialize;
use tokio::sync::mpsc;

use super::super::{machine, runtime};
use super::history;
use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::player;
use pibench_core::record::{Outcome, Status};
use pibench_core::vocabulary::Protocol;
use pibench_engine::Finished;
use pibench_engine::plan::{Answers, Seat, Wanted, resolve};
use pibench_record::event::{Event, FaultKind, ItemVerdict, SessionFinished, Turn};
use pibench_record::journal;
use pibench_record::results::RunResults;
use pibench_report::check as report;
use pibench_suite::manifest::FilterFile;
use pibench_suite::problem::Problem;
use pibench_suite::suite::Suite;
use pibench_suite::validate::{Authored, Part};

/// Proc and Comp that an agent without work stays under (percent).
const CHEAT_BOUND: f64 = 5.0;

/// What is known of a suite before it is played.
pub(super) struct Ground<'a> {
    pub(super) authored: &'a Authored<'a>,
    /// Plugins that cannot be used.
    pub(super) absent: &'a BTreeSet<String>,
    /// Files with errors: how their sessions play says nothing new.
    pub(super) broken: &'a BTreeSet<Utf8PathBuf>,
    pub(super) args: &'a CheckArgs,
}

impl Ground<'_> {
    /// Whether a session's file has errors that its loading told.
    pub(super) fn is_broken(&self, persona: &str, session: &str) -> bool {
        let file = self.authored.file(persona, session);
        file.is_some_and(|file| self.broken.contains(file))
    }
}

/// What the scripted agents did.
#[derive(Debug, Default, Serialize)]
pub(super) struct Plays {
    pub(super) agents: Vec<AgentPlay>,
    /// Wall clock of the second play of `reference`, with plugins compiled and loaded.
    pub(super) seconds: f64,
    /// What could not be played, and why.
    pub(super) left_out: Vec<String>,
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
    fn lines(&self) -> Vec<(&'static str, Option<f64>, Option<f64>)> {
        let agents = self.agents.iter();
        agents
            .map(|play| (play.agent, play.proc, play.comp))
            .collect()
    }

    /// The table, and a line for each thing that was not played.
    pub(super) fn text(&self) -> String {
        let line = |what: &String| format!("Not played: {what}.\n");
        let left_out: String = self.left_out.iter().map(line).collect();
        if self.agents.is_empty() && !left_out.is_empty() {
            return left_out;
        }
        report::plays(&self.lines(), self.seconds) + &left_out
    }
}

/// One play, with all that is asked of it.
pub(super) struct Play {
    results: RunResults,
    pub(super) ends: Vec<End>,
    journals: Vec<Vec<u8>>,
    seconds: f64,
}

/// How one session was played.
pub(super) struct End {
    pub(super) persona: String,
    pub(super) finished: SessionFinished,
    pub(super) turns: Vec<Turn>,
}

/// Plays all of them; sessions without a reference workflow are left out.
pub(super) fn check(suite: &Suite, ground: &Ground<'_>) -> Result<(Plays, Vec<Problem>), Failure> {
    let mut plays = Plays::default();
    let suite = sound(suite, ground, &mut plays.left_out);
    let sessions = playable(&suite, ground.args);
    let mut problems = Vec::new();
    if sessions.is_empty() {
        return Ok((plays, problems));
    }
    for agent in ["reference", "reactive", "nop", "cheat"] {
        let play = match play(&suite, agent, &sessions, ground.args) {
            Ok(play) => play,
            Err(failure) => {
                problems.push(unplayed(&suite, failure)?);
                return Ok((plays, problems));
            }
        };
        problems.extend(play.ends.iter().flat_map(|end| told(agent, end, ground)));
        if agent == "reference" {
            let again = self::play(&suite, agent, &sessions, ground.args)?;
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
    match history::check(&suite, &sessions, ground) {
        Ok(told) => problems.extend(told),
        Err(failure) => problems.push(unplayed(&suite, failure)?),
    }
    Ok((plays, problems))
}

/// Why a play did not come to its end, beside what was found before: but for a user who stopped it.
fn unplayed(suite: &Suite, failure: Failure) -> Result<Problem, Failure> {
    if failure.exit == Exit::Interrupted {
        return Err(failure);
    }
    let message = format!("cannot {}", failure.reason());
    Ok(Problem::of_file(&suite.path, message))
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

/// What the end of a session says against it.
fn told(agent: &str, end: &End, ground: &Ground<'_>) -> Vec<Problem> {
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

/// The sessions that can be played without a model, of those that are asked for.
fn playable(suite: &Suite, args: &CheckArgs) -> Vec<String> {
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    sessions
        .filter(|session| args.session.is_empty() || args.session.contains(&session.id))
        .filter(|session| !session.reference.is_empty())
        .map(|session| session.id.clone())
        .collect()
}

pub(super) fn play(
    suite: &Suite,
    agent: &str,
    sessions: &[String],
    args: &CheckArgs,
) -> Result<Play, Failure> {
    let dir = tempfile::tempdir().or_exit(Exit::Io)?;
    let out = Utf8PathBuf::try_from(dir.path().join("run")).or_exit(Exit::Io)?;
    let mut suite = suite.clone();
    suite.user = Some(player::LEXICAL.into());
    suite.judge = Some(player::LEXICAL.into());
    suite.filter.sessions = sessions.to_vec();
    suite.runs = Some(1);
    suite.protocol = Protocol::Paper;
    let trial = Wanted {
        plugins: args.plugins.clone(),
        ..Wanted::default()
    };
    let seat = Seat {
        agent: agent.into(),
        out: Some(out.clone()),
        answers: Answers::None,
    };
    let runtime = runtime()?;
    let plan = runtime.block_on(resolve(&machine()?, &suite, &trial, seat))?;
    // Of a persona that none of the sessions belongs to there is no journal.
    let personas: Vec<String> = plan
        .personas()
        .filter(|persona| persona.sessions.iter().any(|it| sessions.contains(&it.id)))
        .map(|persona| persona.id.clone())
        .collect();
    // Nobody looks at the progress.
    let (progress, _) = mpsc::unbounded_channel();
    let started = Instant::now();
    let ended = runtime.block_on(pibench_engine::play(plan, false, progress));
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
    let mut ends = Vec::new();
    let mut journals = Vec::new();
    for persona in personas {
        let path = out.join(format!("journal/{persona}.r1.jsonl"));
        let events = journal::events(path.as_std_path()).or_exit(Exit::Io)?;
        let mut turns = Vec::new();
        for event in events {
            match event {
                Event::Turn(turn) => turns.push(*turn),
                Event::SessionFinished(finished) => ends.push(End {
                    persona: persona.clone(),
                    finished: *finished,
                    turns: std::mem::take(&mut turns),
                }),
                _ => {}
            }
        }
        journals.push(std::fs::read(&path).or_exit(Exit::Io)?);
    }
    Ok(Play {
        results,
        ends,
        journals,
        seconds,
    })
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
