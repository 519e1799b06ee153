//! A session's evidence, turn by turn: the same while it is played and when it is made again from the record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contents::Contents;
use super::plan::Plan;
use super::turn::{final_text, is_kept_result, repeats, results};
use crate::role::{Background, TurnEvidence};
use pibench_core::record::{CallRecord, FileChange, Utterance};
use pibench_core::vocabulary::Scope;
use pibench_record::event::{Fault, Turn};
use pibench_suite::suite::{Persona, Session};

/// What judges are shown of one session.
pub(super) struct Dossier<'a> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    session: &'a Session,
    contents: Contents,
    background: Arc<Background>,
}

/// The session up to a turn and with it.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) messages: Arc<Vec<Utterance>>,
    pub(super) calls: Arc<Vec<CallRecord>>,
    pub(super) changes: Arc<Vec<FileChange>>,
}

impl<'a> Dossier<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        persona: &'a Persona,
        run: u32,
        session: &'a Session,
    ) -> Self {
        let background = Background {
            user: persona.name.clone(),
            facts: persona.plain_facts(),
            intents: session
                .intents
                .iter()
                .map(|intent| intent.content.clone())
                .collect(),
            elsewhere: elsewhere(persona, session),
        };
        Self {
            plan,
            persona,
            run,
            session,
            contents: Contents::new(plan),
            background: Arc::new(background),
        }
    }

    /// What judges may look at after a turn; `read` gives what a file held then. The scripted ones have pieces beside it.
    /// A document reader that broke is added to the faults; one that had no time is an error.
    pub(super) async fn evidence(
        &mut self,
        turn: &Turn,
        past: Past,
        read: impl Fn(&str) -> Option<Vec<u8>>,
        faults: &mut Vec<Fault>,
    ) -> Result<TurnEvidence, Fault> {
        let Past {
            messages,
            calls,
            changes,
        } = past;
        let changes = self.without_kept_results(&calls, changes);
        let mut files = BTreeMap::new();
        if self.plan.roles.asks_models() {
            let written = changes.iter().map(|change| &change.path);
            let paths: BTreeSet<&String> = written.chain(&self.session.files_read).collect();
            for path in paths {
                let content = self.contents.of(path, read(path), faults).await?;
                files.insert(path.clone(), content);
            }
        }
        Ok(TurnEvidence {
            protocol: self.plan.protocol,
            turn: turn.turn,
            response: turn.response.clone(),
            final_text: final_text(turn),
            files,
            files_read: self.session.files_read.clone(),
            messages,
            all_calls: calls,
            all_changes: changes,
            background: Arc::clone(&self.background),
            nonce: self.place(turn.turn),
            pieces: Vec::new(),
            all_pieces: Arc::default(),
        })
    }

    /// What the scaffold kept of a call's result repeats that call.
    fn without_kept_results(
        &self,
        calls: &[CallRecord],
        changes: Arc<Vec<FileChange>>,
    ) -> Arc<Vec<FileChange>> {
        if !changes.iter().any(|change| is_kept_result(&change.path)) {
            return changes;
        }
        let results = results(&self.plan.folder, calls);
        let own = changes.iter().filter(|change| !repeats(change, &results));
        Arc::new(own.cloned().collect())
    }

    /// Names a turn within everything that is ever run.
    fn place(&self, turn: u32) -> String {
        let (seed, run) = (self.plan.seed, self.run);
        format!(
            "{seed}/{run}/{}/{}/{turn}",
            self.persona.id, self.session.id
        )
    }
}

/// What is asked for in the sessions that are in no group with this one: a group works on one matter.
fn elsewhere(persona: &Persona, session: &Session) -> Vec<String> {
    let group = |one: &Session| {
        let last = persona
            .sessions
            .iter()
            .find(|last| last.depends_on.contains(&one.id));
        last.map_or_else(|| one.id.clone(), |last| last.id.clone())
    };
    let own = group(session);
    let others = persona.sessions.iter().filter(|one| group(one) != own);
    let texts = others.flat_map(|one| {
        let passing = one.intents.iter().filter(|one| one.scope == Scope::Session);
        let intents = passing.map(|intent| &intent.content);
        intents.chain(one.checklist.iter().map(|item| &item.criterion))
    });
    texts.cloned().collect()
}
