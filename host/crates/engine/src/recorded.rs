//! What a judge may look at, made again from the record: the same evidence that was shown when the turn was played. It
//! plays nothing and reads blobs only.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dossier::{Dossier, Past};
use super::plan::Plan;
use super::turn::{calls, messages};
use super::words::OwnWords;
use crate::role::TurnEvidence;
use pibench_core::matcher::Piece;
use pibench_record::event::{Event, Fault, SessionFinished, SessionStarted, Turn};
use pibench_record::folder::FolderError;
use pibench_record::journal;
use pibench_record::journal::JournalError;
use pibench_record::state::{EpisodeState, SessionState};
use pibench_suite::suite::{Persona, Session};

/// A finished session of the record, with what its files held after each turn.
#[derive(Debug)]
pub(super) struct RecordedSession<'a> {
    pub(super) persona: &'a Persona,
    pub(super) run: u32,
    pub(super) session: &'a Session,
    pub(super) started: SessionStarted,
    /// What the files held when it began: path to blob.
    staged: BTreeMap<String, String>,
    pub(super) turns: Vec<RecordedTurn>,
    pub(super) finished: SessionFinished,
}

#[derive(Debug)]
pub(super) struct RecordedTurn {
    pub(super) turn: Turn,
    /// Path to blob.
    files: BTreeMap<String, String>,
}

#[cfg(test)]
impl<'a> RecordedSession<'a> {
    pub(super) fn new(
        persona: &'a Persona,
        session: &'a Session,
        turns: Vec<RecordedTurn>,
        finished: SessionFinished,
    ) -> Self {
        Self {
            persona,
            run: 1,
            session,
            started: SessionStarted {
                session: session.id.clone(),
                clock: session.clock.to_string(),
                message: session.request.clone(),
                system: String::new(),
                inputs: Vec::new(),
                changes: Vec::new(),
                folders: None,
                apps: BTreeMap::new(),
                faults: Vec::new(),
            },
            staged: BTreeMap::new(),
            turns,
            finished,
        }
    }
}

#[cfg(test)]
impl RecordedTurn {
    pub(super) fn new(turn: Turn) -> Self {
        Self {
            turn,
            files: BTreeMap::new(),
        }
    }
}

/// Every finished session of a run folder, in the order of runs, personas and journals.
pub(super) fn sessions(plan: &Plan) -> Result<Vec<RecordedSession<'_>>, JournalError> {
    let mut sessions = Vec::new();
    for run in 1..=plan.runs {
        for persona in plan.personas() {
            let path = plan.folder.journal(&persona.id, run);
            if path.exists() {
                let events = journal::events(&path)?;
                sessions.extend(of_episode(plan, persona, run, &events));
            }
        }
    }
    Ok(sessions)
}

pub(super) fn of_episode<'a>(
    plan: &Plan,
    persona: &'a Persona,
    run: u32,
    events: &[Event],
) -> Vec<RecordedSession<'a>> {
    let mut state = EpisodeState::new(plan.ablate);
    let (mut sessions, mut staged, mut after_turns) = (Vec::new(), BTreeMap::new(), Vec::new());
    for event in events {
        state.apply(event);
        match event {
            Event::SessionStarted(_) => {
                staged.clone_from(&state.files);
                after_turns.clear();
            }
            Event::Turn(_) => after_turns.push(state.files.clone()),
            Event::SessionFinished(finished) => {
                let mut known = persona.sessions.iter();
                let Some(session) = known.find(|one| one.id == finished.session) else {
                    continue;
                };
                let Some(SessionState { started, turns, .. }) = state.session.take() else {
                    continue;
                };
                let turns = turns.into_iter().zip(after_turns.drain(..));
                sessions.push(RecordedSession {
                    persona,
                    run,
                    session,
                    started,
                    staged: std::mem::take(&mut staged),
                    turns: turns
                        .map(|(turn, files)| RecordedTurn { turn, files })
                        .collect(),
                    finished: (**finished).clone(),
                });
            }
            Event::EpisodeStarted(_) | Event::Wake(_) | Event::EpisodeFinished => {}
        }
    }
    sessions
}

impl<'a> RecordedSession<'a> {
    /// Names it in messages.
    pub(super) fn name(&self) -> String {
        format!("{}/{}, run {}", self.persona.id, self.session.id, self.run)
    }

    /// The agent's own words, turn by turn.
    pub(super) fn own_words(&self, plan: &Plan) -> Result<Vec<Vec<Piece>>, FolderError> {
        let mut words = OwnWords::new(plan.protocol);
        let shown = |name: &str| plan.folder.blob(name);
        words.show(&String::from_utf8_lossy(&shown(&self.started.system)?));
        for file in &self.session.files {
            if let Some(blob) = self.staged.get(&file.path) {
                words.show(&String::from_utf8_lossy(&shown(blob)?));
            }
        }
        let turns = self.turns.iter();
        Ok(turns.map(|one| words.pieces(&one.turn)).collect())
    }

    /// Its evidence is made of this.
    pub(super) fn dossier<'p>(&self, plan: &'p Plan) -> Dossier<'p>
    where
        'a: 'p,
    {
        Dossier::new(plan, self.persona, self.run, self.session)
    }

    /// What was shown to judges after this turn (an index).
    pub(super) async fn evidence(
        &self,
        plan: &Plan,
        dossier: &mut Dossier<'_>,
        at: usize,
        faults: &mut Vec<Fault>,
    ) -> Result<TurnEvidence, Fault> {
        let past: Vec<&Turn> = self.turns[..=at].iter().map(|one| &one.turn).collect();
        let RecordedTurn { turn, files } = &self.turns[at];
        let messages = past.iter().flat_map(|turn| messages(turn));
        let calls = past.iter().flat_map(|turn| calls(turn)).cloned();
        let changes = past.iter().flat_map(|turn| turn.changes.clone());
        let past = Past {
            messages: Arc::new(messages.collect()),
            calls: Arc::new(calls.collect()),
            changes: Arc::new(changes.collect()),
        };
        let read = |path: &str| plan.folder.blob(files.get(path)?).ok();
        dossier.evidence(turn, past, read, faults).await
    }
}
