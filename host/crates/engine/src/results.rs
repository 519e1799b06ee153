//! The scores of a run, made from the events of its journals and the task files alone: nothing else that was in memory
//! while it was played counts.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::plan::Plan;
use super::spending::spent;
use pibench_core::aggregate::{
    PersonaScore, PersonaSummary, RunScore, SessionResult, SessionScore, SuiteScore,
};
use pibench_core::record::{Outcome, Status};
use pibench_core::score::{IntentCounts, percent};
use pibench_core::vocabulary::{PROTOCOL_VERSION, When};
use pibench_record::event::{Event, RoleUsage, SessionFinished, VERSION};
use pibench_record::journal;
use pibench_record::journal::JournalError;
use pibench_record::results::{
    FaultLine, PersonaResult, RunResults, SessionLine, faults_of, marked_prompt, whole_cost,
};
use pibench_suite::suite::{Persona, Session};

/// What the events of one journal say.
pub(super) struct EpisodeResult {
    usage: RoleUsage,
    faults: Vec<FaultLine>,
    sessions: Vec<SessionLine>,
    score: PersonaScore,
}

/// Episodes whose journals were read, by run and persona.
pub(super) type EpisodeResults = BTreeMap<(u32, String), EpisodeResult>;

/// Reads every journal of the run.
pub fn collect(plan: &Plan) -> Result<RunResults, JournalError> {
    collect_others(plan, EpisodeResults::new())
}

/// Reads every journal of the run that was not read since its end.
pub(super) fn collect_others(
    plan: &Plan,
    mut known: EpisodeResults,
) -> Result<RunResults, JournalError> {
    let mut episodes = Vec::new();
    for (run, persona) in plan.episodes() {
        episodes.push((run, persona, known.remove(&(run, persona.id.clone()))));
    }
    let episode = |(run, persona, known)| match known {
        Some(episode) => Ok((run, episode)),
        None => Ok((run, read(plan, persona, run)?)),
    };
    let episodes = episodes.into_par_iter().map(episode);
    let mut sessions = Vec::new();
    let mut faults = Vec::new();
    let mut usage = RoleUsage::default();
    let mut runs: BTreeMap<u32, Vec<PersonaScore>> = BTreeMap::new();
    for (run, episode) in episodes.collect::<Result<Vec<_>, JournalError>>()? {
        usage += episode.usage;
        faults.extend(episode.faults);
        sessions.extend(episode.sessions);
        runs.entry(run).or_default().push(episode.score);
    }
    let runs: Vec<RunScore> = runs.into_values().map(RunScore::new).collect();
    let roles = &plan.roles;
    let score = SuiteScore::new(&runs);
    let preflight = plan.folder.preflight();
    Ok(RunResults {
        version: VERSION,
        suite: plan.suite.id.clone(),
        agent: roles.agent_name.clone(),
        user: roles.user_name.clone(),
        judge: roles.judge_name.clone(),
        players: roles.players(),
        protocol_version: PROTOCOL_VERSION,
        scripted: roles.scripted(),
        runs: plan.runs,
        ablate: plan.ablate,
        scaffold_prompt: marked_prompt(Some(roles.agent_prompts.wording)),
        proc: score.proc.map(percent),
        comp: score.comp.map(percent),
        proc_std: score.proc_std.map(percent),
        comp_std: score.comp_std.map(percent),
        scored: score.proc_sessions,
        at_end: at_end(plan),
        personas: score.personas.iter().map(persona_result).collect(),
        sessions,
        faults,
        imported: false,
        usage,
        preflight,
        cost: whole_cost(usage, preflight),
    })
}

/// The checklist items of which the last turn alone counts.
fn at_end(plan: &Plan) -> usize {
    let sessions = plan.personas().flat_map(|one| plan.sessions(one));
    let items = sessions.flat_map(|session| &session.checklist);
    items.filter(|item| item.when == When::End).count()
}

/// Reads the journal of an episode.
fn read(plan: &Plan, persona: &Persona, run: u32) -> Result<EpisodeResult, JournalError> {
    let path = plan.folder.journal(&persona.id, run);
    let events = if path.exists() {
        journal::events(&path)?
    } else {
        Vec::new()
    };
    Ok(of(plan, persona, run, &events))
}

/// The result of an episode with these events.
pub(super) fn of(plan: &Plan, persona: &Persona, run: u32, events: &[Event]) -> EpisodeResult {
    let score = score(plan, persona, events);
    EpisodeResult {
        usage: spent(events),
        faults: faults_of(&persona.id, run, events),
        sessions: lines(plan, persona, run, events, &score.sessions),
        score,
    }
}

/// An event, if the result of an episode that comes to its end depends on it: few do, and what was said and done takes
/// much room.
pub(super) fn scored(event: Event) -> Option<Event> {
    let counts = match &event {
        Event::SessionStarted(started) => !started.faults.is_empty(),
        // What it used stands in the session's end too.
        Event::Turn(turn) => !turn.faults.is_empty(),
        Event::SessionFinished(_) | Event::Wake(_) => true,
        Event::EpisodeStarted(_) | Event::EpisodeFinished => false,
    };
    counts.then_some(event)
}

/// Whether every episode was played to its end.
pub fn is_whole(plan: &Plan) -> Result<bool, JournalError> {
    for (run, persona) in plan.episodes() {
        let path = plan.folder.journal(&persona.id, run);
        if !path.exists() || !matches!(journal::events(&path)?.last(), Some(Event::EpisodeFinished))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn persona_result(score: &PersonaSummary) -> PersonaResult {
    PersonaResult {
        id: score.id.clone(),
        proc: score.proc.map(percent),
        comp: score.comp.map(percent),
        scored: score.proc_sessions,
    }
}

fn finished<'a>(events: &'a [Event], session: &str) -> Option<&'a SessionFinished> {
    events.iter().find_map(|event| match event {
        Event::SessionFinished(finished) if finished.session == session => Some(&**finished),
        _ => None,
    })
}

fn score(plan: &Plan, persona: &Persona, events: &[Event]) -> PersonaScore {
    let sessions: Vec<SessionScore> = plan
        .sessions(persona)
        .map(|session| session_score(session, finished(events, &session.id)))
        .collect();
    PersonaScore::new(&persona.id, plan.protocol, &sessions)
}

/// A session without an end in the journal was stopped by something outside.
fn session_score(session: &Session, finished: Option<&SessionFinished>) -> SessionScore {
    let open = vec![Status::Open; session.intents.len()];
    let statuses = finished.map_or(open, |finished| {
        finished
            .intents
            .iter()
            .map(|intent| intent.status)
            .collect()
    });
    SessionScore {
        id: session.id.clone(),
        depends_on: session.depends_on.clone(),
        dependency_only: session.dependency_only,
        has_checklist: !session.checklist.is_empty(),
        intents: IntentCounts::of(&statuses),
        comp: finished.and_then(|finished| finished.comp),
        outcome: finished.map_or(Outcome::Infrastructure, |finished| finished.outcome),
    }
}

fn lines(
    plan: &Plan,
    persona: &Persona,
    run: u32,
    events: &[Event],
    results: &[SessionResult],
) -> Vec<SessionLine> {
    let sessions = plan.sessions(persona).zip(results);
    let line = |(session, result): (&Session, &SessionResult)| SessionLine {
        id: session.id.clone(),
        persona: persona.id.clone(),
        run,
        proc: result.proc.map(percent),
        proc_scored: result.proc_scored.map(percent),
        weight: result.weight,
        comp: result.comp.map(percent),
        turns: finished(events, &session.id).map_or(0, |finished| finished.turns),
        outcome: result.outcome,
        intents: result.intents,
        no_offline_matcher: plan.roles.lacks_matcher(session),
        usage: used(events, &session.id),
        cost: used(events, &session.id).total().known_cost(),
    };
    sessions.map(line).collect()
}

/// What a session has used; nothing when it has not come to its end.
fn used(events: &[Event], session: &str) -> RoleUsage {
    finished(events, session).map_or_else(RoleUsage::default, |finished| finished.usage)
}
