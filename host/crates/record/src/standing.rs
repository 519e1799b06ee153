//! The scores of a run folder from its outline and its journals alone, also while it plays or when nothing but the folder
//! is at hand. It loads no suite and writes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::event::{Event, RoleUsage, SessionFinished, VERSION};
use super::folder::{Manifest, read_preflight};
use super::journal::{self, JournalError};
use super::outline::{Outline, PersonaOutline, SessionOutline};
use super::results::{
    PersonaResult, RunResults, SessionLine, faults_of, marked_prompt, whole_cost,
};
use pibench_core::aggregate::{PersonaScore, RunScore, SessionScore, SuiteScore};
use pibench_core::record::Outcome;
use pibench_core::score::{IntentCounts, percent};

/// The scores over what is finished.
pub fn standing(
    dir: &Path,
    manifest: &Manifest,
    outline: &Outline,
) -> Result<RunResults, JournalError> {
    let mut sessions = Vec::new();
    let mut faults = Vec::new();
    let mut usage = RoleUsage::default();
    let mut runs: BTreeMap<u32, Vec<PersonaScore>> = BTreeMap::new();
    for (run, persona) in episodes(manifest, outline) {
        let events = episode(dir, &persona.id, run)?;
        faults.extend(faults_of(&persona.id, run, &events));
        let planned: Vec<&SessionOutline> = planned(persona).collect();
        let scores: Vec<SessionScore> = planned
            .iter()
            .map(|session| session_score(session, finished(&events, &session.id)))
            .collect();
        let score = PersonaScore::new(&persona.id, manifest.protocol, &scores);
        let lines = lines(persona, run, &planned, &score, &events);
        for line in &lines {
            usage += line.usage;
        }
        sessions.extend(lines);
        runs.entry(run).or_default().push(score);
    }
    let runs: Vec<RunScore> = runs.into_values().map(RunScore::new).collect();
    let score = SuiteScore::new(&runs);
    let preflight = read_preflight(dir);
    Ok(RunResults {
        version: VERSION,
        suite: manifest.suite.clone(),
        agent: manifest.agent.clone(),
        user: manifest.user.clone(),
        judge: manifest.judge.clone(),
        players: manifest.players,
        protocol_version: manifest.protocol_version,
        scripted: manifest.players.scripted(),
        runs: manifest.runs,
        ablate: manifest.ablate,
        scaffold_prompt: marked_prompt(manifest.scaffold_prompt.as_deref()),
        proc: score.proc.map(percent),
        comp: score.comp.map(percent),
        proc_std: score.proc_std.map(percent),
        comp_std: score.comp_std.map(percent),
        scored: score.proc_sessions,
        at_end: at_end(outline),
        personas: score
            .personas
            .iter()
            .map(|persona| PersonaResult {
                id: persona.id.clone(),
                proc: persona.proc.map(percent),
                comp: persona.comp.map(percent),
                scored: persona.proc_sessions,
            })
            .collect(),
        sessions,
        faults,
        imported: manifest.imported.is_some(),
        usage,
        preflight,
        cost: whole_cost(usage, preflight),
    })
}

fn at_end(outline: &Outline) -> usize {
    let sessions = outline.personas.iter().flat_map(planned);
    let items = sessions.flat_map(|session| &session.checklist);
    items.filter(|item| item.at_end).count()
}

/// The episodes of the folder, in the order of their play.
fn episodes<'a>(
    manifest: &'a Manifest,
    outline: &'a Outline,
) -> impl Iterator<Item = (u32, &'a PersonaOutline)> {
    let all = (1..=manifest.runs).flat_map(|run| {
        let personas = outline.personas.iter();
        let played = personas.filter(|persona| planned(persona).next().is_some());
        played.map(move |persona| (run, persona))
    });
    let ours = |number| manifest.shard.is_none_or(|shard| shard.has(number));
    let numbered = all.enumerate().filter(move |(number, _)| ours(*number));
    numbered.map(|(_, episode)| episode)
}

fn planned(persona: &PersonaOutline) -> impl Iterator<Item = &SessionOutline> {
    persona.sessions.iter().filter(|session| session.planned)
}

/// Where an episode's journal stands; None if the persona's name is no part of a path.
pub fn journal_path(dir: &Path, persona: &str, run: u32) -> Option<PathBuf> {
    let file = format!("{persona}.r{run}.jsonl");
    is_plain(persona).then(|| dir.join("journal").join(file))
}

/// The whole lines of an episode's journal; nothing if it has none yet.
pub fn episode(dir: &Path, persona: &str, run: u32) -> Result<Vec<Event>, JournalError> {
    match journal_path(dir, persona, run).filter(|path| path.exists()) {
        Some(path) => journal::events(&path),
        None => Ok(Vec::new()),
    }
}

fn finished<'a>(events: &'a [Event], session: &str) -> Option<&'a SessionFinished> {
    events.iter().find_map(|event| match event {
        Event::SessionFinished(finished) if finished.session == session => Some(&**finished),
        _ => None,
    })
}

fn session_score(session: &SessionOutline, finished: Option<&SessionFinished>) -> SessionScore {
    let statuses: Vec<_> = finished
        .iter()
        .flat_map(|finished| &finished.intents)
        .map(|intent| intent.status)
        .collect();
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
    persona: &PersonaOutline,
    run: u32,
    planned: &[&SessionOutline],
    score: &PersonaScore,
    events: &[Event],
) -> Vec<SessionLine> {
    let turns = |session: &str| {
        let turns = events
            .iter()
            .filter(|event| matches!(event, Event::Turn(turn) if turn.session == session));
        u32::try_from(turns.count()).unwrap_or(u32::MAX)
    };
    let used = |session: &str| {
        finished(events, session).map_or_else(RoleUsage::default, |finished| finished.usage)
    };
    let line = |(session, result): (&&SessionOutline, &pibench_core::aggregate::SessionResult)| {
        SessionLine {
            id: session.id.clone(),
            persona: persona.id.clone(),
            run,
            proc: result.proc.map(percent),
            proc_scored: result.proc_scored.map(percent),
            weight: result.weight,
            comp: result.comp.map(percent),
            turns: turns(&session.id),
            outcome: result.outcome,
            intents: result.intents,
            no_offline_matcher: session.no_offline_matcher,
            usage: used(&session.id),
            cost: used(&session.id).total().known_cost(),
        }
    };
    planned.iter().zip(&score.sessions).map(line).collect()
}

/// Whether a word of a record may become a part of a path: a folder from a stranger must not name files outside of it.
pub fn is_plain(id: &str) -> bool {
    !id.is_empty() && !id.contains(['/', '\0']) && id != ".." && id != "."
}
