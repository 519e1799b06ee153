//! Runs that another program played: its outputs become a run folder that reports read as any other, and what of such a
//! folder can be verified is. It plays nothing, and no clock, call status or cost is made up for what the outputs do not
//! tell.

mod deviations;
mod verify;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::outline;
use super::plan::UNKNOWN;
use crate::role::Exchange;
use pibench_core::message::{Reasoning, ToolCall, Usage};
use pibench_core::player::Players;
use pibench_core::record::{CallRecord, CallStatus, Outcome, Status};
use pibench_core::score;
use pibench_core::score::{IntentCounts, ItemScore};
use pibench_core::vocabulary::{PROTOCOL_VERSION, Protocol};
use pibench_import::results::{Episode, Outputs, Played, PlayedStep, PlayedTurn};
use pibench_record::event::{
    EpisodeStarted, Event, Fault, FaultKind, IntentJudgement, IntentStatus, ItemVerdict, RoleUsage,
    SessionFinished, SessionStarted, Stage, Step, Turn, VERSION,
};
use pibench_record::folder::{FolderError, Imported, Timing};
use pibench_record::journal::JournalError;
use pibench_record::outline::{Described, Outline};
use pibench_record::results::RunResults;
use pibench_record::standing::{EpisodeResults, standing};
use pibench_record::trajectory::{Place, Trajectory};
use pibench_record::{Journal, Manifest, RunFolder};
use pibench_suite::suite::{Session, Suite};

pub use deviations::deviations;
pub use verify::verify;

/// The format's name in manifests.
const FORMAT: &str = "pi-bench";

/// Why no run folder was made.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverError {
    #[error("make {}: it is there already; choose another --out", path.display())]
    Exists { path: PathBuf },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// By its place in the run folder.
    #[error("{0}")]
    Unwritten(String),
    #[error("write {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Makes the run folder `out` of outputs that were read from `source`: whole, or not at all.
pub fn take_over(
    outputs: &Outputs,
    suite: &Suite,
    suite_path: String,
    source: String,
    out: &Path,
) -> Result<RunResults, TakeOverError> {
    if out.exists() {
        let path = out.to_owned();
        return Err(TakeOverError::Exists { path });
    }
    let failed = |source| TakeOverError::Io {
        path: out.to_owned(),
        source,
    };
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent).map_err(failed)?;
    let staging = tempfile::Builder::new()
        .prefix(".import-")
        .tempdir_in(parent)
        .map_err(failed)?;
    let unfinished = staging.path().join("run");
    let manifest = manifest(outputs, suite, suite_path, source);
    let results = fill(&unfinished, &manifest, outputs, suite).map_err(|error| {
        // The folder that it names goes away: it is of what that would have become.
        let (from, to) = (unfinished.to_string_lossy(), out.to_string_lossy());
        TakeOverError::Unwritten(error.to_string().replace(&*from, &to))
    })?;
    std::fs::rename(&unfinished, out).map_err(failed)?;
    Ok(results)
}

fn fill(
    root: &Path,
    manifest: &Manifest,
    outputs: &Outputs,
    suite: &Suite,
) -> Result<RunResults, TakeOverError> {
    let folder = RunFolder::create(root, manifest)?;
    let outline = outline_of(outputs, suite);
    folder.put_outline(&outline)?;
    for episode in &outputs.episodes {
        write_episode(episode, outputs, suite, &folder)?;
    }
    let results = standing(
        folder.root(),
        manifest,
        &outline.personas,
        EpisodeResults::new(),
    )?;
    folder.put_results(&results)?;
    Ok(results)
}

fn manifest(outputs: &Outputs, suite: &Suite, suite_path: String, source: String) -> Manifest {
    let turns = outputs
        .episodes
        .iter()
        .flat_map(|episode| &episode.sessions)
        .flat_map(|session| &session.turns);
    let first = turns.map(|turn| turn.asked_at).min().unwrap_or_default();
    let mut personas: Vec<String> = Vec::new();
    for episode in &outputs.episodes {
        if !personas.contains(&episode.persona) {
            personas.push(episode.persona.clone());
        }
    }
    Manifest {
        version: VERSION,
        host: env!("CARGO_PKG_VERSION").into(),
        started: moment(first).to_string(),
        suite: suite.id.clone(),
        suite_path,
        suite_digest: suite.digest.clone(),
        suite_parts: suite.parts.clone(),
        protocol: Protocol::PiBench,
        protocol_version: PROTOCOL_VERSION,
        scaffold: suite.scaffold,
        scaffold_prompt: None,
        scaffold_prompt_digest: None,
        agent: outputs.model.clone(),
        user: UNKNOWN.into(),
        judge: UNKNOWN.into(),
        players: Players::IMPORTED,
        models: BTreeMap::new(),
        process: None,
        runs: outputs.runs,
        seed: 0,
        personas,
        sessions: Vec::new(),
        ablate: None,
        shard: None,
        graded: None,
        set: Vec::new(),
        plugin_dirs: Vec::new(),
        prompts: None,
        prompts_version: None,
        prompts_digest: String::new(),
        policy: None,
        policy_digest: None,
        plugins: BTreeMap::new(),
        limits: BTreeMap::new(),
        max_cost: None,
        published: None,
        imported: Some(Imported {
            format: FORMAT.into(),
            path: source,
            digest: outputs.digest.clone(),
        }),
    }
}

/// The suite, with the personas that are there as those that were to be played.
fn outline_of(outputs: &Outputs, suite: &Suite) -> Outline {
    let personas = suite.personas.iter().map(|persona| {
        let played = outputs
            .episodes
            .iter()
            .any(|episode| episode.persona == persona.id);
        outline::persona_with(persona, |_| played, |_| false)
    });
    let mut tools: Vec<&str> = suite
        .personas
        .iter()
        .flat_map(|persona| &persona.tools)
        .map(String::as_str)
        .filter(|tool| !tool.ends_with('*'))
        .collect();
    tools.sort_unstable();
    tools.dedup();
    Outline {
        version: VERSION,
        suite: suite.id.clone(),
        title: suite.title.clone(),
        scripted: false,
        personas: personas.collect(),
        // The reference's agent read its own descriptions.
        tools: tools
            .into_iter()
            .map(|name| Described {
                name: name.to_owned(),
                description: String::new(),
            })
            .collect(),
        skills: outline::skills(suite),
    }
}

fn write_episode(
    episode: &Episode,
    outputs: &Outputs,
    suite: &Suite,
    folder: &RunFolder,
) -> Result<(), TakeOverError> {
    let Episode {
        run,
        persona,
        sessions,
        ..
    } = episode;
    let mut journal = Journal::create(&folder.journal(persona, *run))?;
    journal.append(&Event::EpisodeStarted(EpisodeStarted {
        version: VERSION,
        suite: suite.id.clone(),
        suite_digest: suite.digest.clone(),
        persona: persona.clone(),
        run: *run,
        seed: 0,
        protocol: Protocol::PiBench,
        agent: outputs.model.clone(),
        user: UNKNOWN.into(),
        judge: UNKNOWN.into(),
    }))?;
    let own = suite.personas.iter().filter(|one| one.id == *persona);
    for session in own.flat_map(|persona| &persona.sessions) {
        let played = sessions.iter().find(|played| played.session == session.id);
        let Some(played) = played else { continue };
        let (started, turns, finished) = session_of(played, session, folder)?;
        journal.append(&Event::SessionStarted(started.clone()))?;
        for (turn, played) in turns.iter().zip(&played.turns) {
            journal.append(&Event::Turn(Box::new(turn.clone())))?;
            folder.put_timing(&timing(persona, *run, turn, played))?;
        }
        journal.append(&Event::SessionFinished(Box::new(finished.clone())))?;
        let place = Place {
            suite: &suite.id,
            persona,
            run: *run,
            title: &session.title,
            category: session.category,
        };
        let trajectory = Trajectory::new(&place, started, turns, finished, folder)?;
        folder.put_trajectory(persona, *run, &session.id, &trajectory)?;
    }
    Ok(journal.append(&Event::EpisodeFinished)?)
}

fn timing(persona: &str, run: u32, turn: &Turn, played: &PlayedTurn) -> Timing {
    let ms = played.took.unwrap_or_default();
    let ended = played
        .asked_at
        .saturating_add(i64::try_from(ms).unwrap_or_default());
    Timing {
        persona: persona.to_owned(),
        run,
        session: turn.session.clone(),
        turn: turn.turn,
        ms,
        ended: moment(ended).to_string(),
        guests: Vec::new(),
    }
}

fn session_of(
    played: &Played,
    session: &Session,
    folder: &RunFolder,
) -> Result<(SessionStarted, Vec<Turn>, SessionFinished), FolderError> {
    let mut calls = 0;
    let mut turns = Vec::new();
    for (number, turn) in (1..).zip(&played.turns) {
        turns.push(turn_of(number, turn, session, &mut calls, folder)?);
    }
    for place in 1..turns.len() {
        turns[place - 1].next = Some(turns[place].message.clone());
    }
    if let Some(last) = turns.last_mut() {
        last.outcome = Some(played.outcome);
        last.faults = faults(played);
    }
    let first = turns.first();
    let started = SessionStarted {
        session: session.id.clone(),
        clock: first.map_or_else(String::new, |turn| turn.clock.clone()),
        message: first.map_or_else(String::new, |turn| turn.message.clone()),
        system: folder.put_blob(played.system.as_bytes())?,
        inputs: Vec::new(),
        changes: Vec::new(),
        folders: None,
        apps: BTreeMap::new(),
        faults: Vec::new(),
    };
    let statuses = statuses(session.intents.len(), &turns);
    let items = items(session, &turns);
    let finished = SessionFinished {
        session: session.id.clone(),
        outcome: played.outcome,
        turns: u32::try_from(turns.len()).unwrap_or(u32::MAX),
        intents: session
            .intents
            .iter()
            .zip(&statuses)
            .map(|(intent, status)| IntentStatus {
                intent: intent.id.clone(),
                status: *status,
            })
            .collect(),
        proc: IntentCounts::of(&statuses).proc().unwrap_or_default(),
        comp: score::comp(&items),
        items,
        memory: Vec::new(),
        changes: Vec::new(),
        faults: Vec::new(),
        usage: RoleUsage::default(),
    };
    Ok((started, turns, finished))
}

/// The clock that the reference knows is the real one.
fn moment(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

fn clock(milliseconds: i64) -> String {
    let local = moment(milliseconds).to_zoned(TimeZone::UTC).datetime();
    local.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

fn turn_of(
    number: u32,
    played: &PlayedTurn,
    session: &Session,
    calls: &mut u32,
    folder: &RunFolder,
) -> Result<Turn, FolderError> {
    let judged = |stage| {
        move |(intent, yes): &(usize, bool)| IntentJudgement {
            intent: session.intents[*intent].id.clone(),
            stage,
            yes: *yes,
            reason: String::new(),
            exchange: None,
        }
    };
    let satisfied = played.satisfied.iter().map(judged(Stage::Satisfaction));
    let asked = played.asked.iter().map(judged(Stage::Question));
    let exchange = exchange(&played.replies)
        .map(|text| folder.put_blob(text.as_bytes()))
        .transpose()?;
    let verdict = |(item, pass): &(String, bool)| {
        let rubric = session
            .checklist
            .iter()
            .any(|one| one.id == *item && super::grading::is_rubric(one));
        ItemVerdict {
            item: item.clone(),
            pass: *pass,
            reason: String::new(),
            votes: Vec::new(),
            exchange: exchange.clone().filter(|_| rubric),
        }
    };
    Ok(Turn {
        session: session.id.clone(),
        turn: number,
        clock: clock(played.asked_at),
        message: played.message.clone(),
        steps: played
            .steps
            .iter()
            .map(|step| step_of(step, number, calls))
            .collect(),
        response: played.response.clone(),
        judgements: satisfied.chain(asked).collect(),
        intents: played.changes.clone(),
        items: played.verdicts.iter().map(verdict).collect(),
        ..Turn::default()
    })
}

/// The judge's answers as other runs keep them, without what the outputs do not tell.
fn exchange(replies: &[String]) -> Option<String> {
    let exchange = Exchange {
        model: UNKNOWN.into(),
        prompt: String::new(),
        prompt_hash: String::new(),
        temperature: None,
        order: Vec::new(),
        replies: replies.to_vec(),
        usage: Usage::default(),
    };
    // Texts and numbers: nothing that JSON cannot hold.
    let text = serde_json::to_string(&[exchange]).ok()?;
    (!replies.is_empty()).then_some(text)
}

fn step_of(step: &PlayedStep, turn: u32, number: &mut u32) -> Step {
    match step {
        PlayedStep::Reply {
            text,
            reasoning,
            calls,
        } => Step::Reply {
            text: text.clone(),
            reasoning: reasoning.clone().map(|text| Reasoning {
                text,
                blocks: Vec::new(),
            }),
            calls: calls
                .iter()
                .map(|(id, name, arguments)| ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                })
                .collect(),
        },
        PlayedStep::Call {
            id,
            tool,
            arguments,
            exact,
            result,
        } => {
            *number += 1;
            Step::Call {
                id: id.clone(),
                record: CallRecord {
                    exact: exact.clone(),
                    number: *number,
                    turn,
                    tool: tool.clone(),
                    arguments: arguments.clone(),
                    // The reference keeps none.
                    status: CallStatus::Ok,
                    code: 0,
                    result: result.clone(),
                },
                file: None,
            }
        }
    }
}

fn faults(played: &Played) -> Vec<Fault> {
    let kind = match played.outcome {
        Outcome::JudgeFault => FaultKind::Judge,
        Outcome::TurnTimeout | Outcome::ModelFault => FaultKind::Model,
        _ => FaultKind::Infrastructure,
    };
    let fault = |message: &String| Fault {
        kind,
        source: FORMAT.into(),
        cause: String::new(),
        message: message.clone(),
    };
    played.fault.iter().map(fault).collect()
}

fn statuses(intents: usize, turns: &[Turn]) -> Vec<Status> {
    let mut statuses = vec![Status::Open; intents];
    for change in turns.iter().flat_map(|turn| &turn.intents) {
        if let Some(status) = statuses.get_mut(change.intent) {
            *status = change.status;
        }
    }
    statuses
}

/// The best of all turns, as the format has no other.
fn items(session: &Session, turns: &[Turn]) -> Vec<ItemScore> {
    let score = |id: &str, weight| ItemScore {
        id: id.to_owned(),
        weight,
        met: met(id, turns),
    };
    let items = session.checklist.iter();
    items.map(|item| score(&item.id, item.weight)).collect()
}

fn met(item: &str, turns: &[Turn]) -> bool {
    let mut verdicts = turns.iter().flat_map(|turn| &turn.items);
    verdicts.any(|verdict| verdict.item == item && verdict.pass)
}
