//! How far the patterns of a suite as it is now agree with those who judged a run: for its author, who writes patterns that
//! shall do as a reader would. It changes no score.

use std::collections::BTreeMap;

use serde::Serialize;

use super::judge;
use crate::plan::Plan;
use crate::recorded::{RecordedSession, sessions};
use crate::role::RoleError;
use pibench_core::record::Status;
use pibench_record::folder::{FolderError, read_outline};
use pibench_record::outline::SessionOutline;
use pibench_suite::manifest::PilotSession;

/// What came of holding patterns against a run.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Against {
    /// Hidden intents: how many have the status by patterns that they have in the record, of all.
    pub intents: (usize, usize),
    /// Rubric items, met or not: the same.
    pub rubrics: (usize, usize),
    pub disagreements: Vec<Disagreement>,
    /// How the run's sessions went, as `pilots.toml` keeps it.
    pub sessions: Vec<PilotSession>,
    /// Sessions whose intents or items are other ones now, by name: nothing is said of them.
    pub changed: Vec<String>,
}

/// One intent or item on which patterns and record differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// Persona, session and run.
    pub session: String,
    /// The intent's or item's id.
    pub id: String,
    /// What the record says: `completed`, `inferred`, `provided`, `open`, `met` or `not met`.
    pub recorded: &'static str,
    /// What patterns say.
    pub patterns: &'static str,
}

/// Why a run cannot be held against. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum AgainstError {
    #[error("read the run's outline: {0}")]
    Outline(#[from] FolderError),
    #[error("read a journal: {0}")]
    Journal(#[from] pibench_record::JournalError),
    #[error("judge {session}: {reason}")]
    Judge { session: String, reason: RoleError },
}

/// Judges every session of a run by patterns. The plan is that of `Purpose::Against`.
pub async fn hold_against(plan: &Plan) -> Result<Against, AgainstError> {
    let outline = read_outline(plan.folder.root())?;
    let then: BTreeMap<(&str, &str), &SessionOutline> = outline
        .iter()
        .flat_map(|outline| &outline.personas)
        .flat_map(|persona| {
            let sessions = persona.sessions.iter();
            sessions.map(|session| ((persona.id.as_str(), session.id.as_str()), session))
        })
        .collect();
    let mut found = Against::default();
    for recorded in sessions(plan)? {
        found.sessions.push(pilot(&recorded));
        let then = then.get(&(recorded.persona.id.as_str(), recorded.session.id.as_str()));
        if !then.is_some_and(|then| asks_the_same(then, &recorded)) {
            found.changed.push(recorded.name());
            continue;
        }
        found.add(plan, &recorded).await?;
    }
    Ok(found)
}

/// How one session went.
fn pilot(recorded: &RecordedSession<'_>) -> PilotSession {
    let finished = &recorded.finished;
    let ended = |status: Status| {
        let intents = finished.intents.iter();
        let ended = intents.filter(move |intent| intent.status == status);
        ended.map(|intent| intent.intent.clone()).collect()
    };
    let first = recorded.turns.first().into_iter();
    let first = first
        .flat_map(|one| &one.turn.intents)
        .filter_map(|change| {
            let met = matches!(change.status, Status::Completed | Status::Inferred);
            let intent = finished.intents.get(change.intent)?;
            met.then(|| intent.intent.clone())
        });
    PilotSession {
        persona: recorded.persona.id.clone(),
        session: recorded.session.id.clone(),
        turns: finished.turns,
        first: first.collect(),
        completed: ended(Status::Completed),
        inferred: ended(Status::Inferred),
        provided: ended(Status::Provided),
        open: ended(Status::Open),
        proc: tenths(finished.proc),
        comp: finished.comp.map(tenths),
    }
}

/// A share as percent, to one place.
fn tenths(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

/// Whether a session had these intents and items when it was played. How patterns find them may be another way now.
fn asks_the_same(then: &SessionOutline, recorded: &RecordedSession<'_>) -> bool {
    let now = recorded.session;
    let intents = now.intents.iter().map(|one| (&one.id, &one.content));
    let items = now.checklist.iter().map(|one| (&one.id, &one.criterion));
    then.intents
        .iter()
        .map(|one| (&one.id, &one.content))
        .eq(intents)
        && then
            .checklist
            .iter()
            .map(|one| (&one.id, &one.criterion))
            .eq(items)
}

impl Against {
    async fn add(
        &mut self,
        plan: &Plan,
        recorded: &RecordedSession<'_>,
    ) -> Result<(), AgainstError> {
        let judged = judge(plan, recorded).await;
        let (judged, _) = judged.map_err(|reason| AgainstError::Judge {
            session: recorded.name(),
            reason,
        })?;
        for one in &judged.intents {
            let said = [one.first, one.second.unwrap_or_default()].map(status);
            self.intents = self.count(self.intents, recorded, &one.id, said);
        }
        for one in &judged.checklist {
            let said = [one.first, one.second.unwrap_or_default()].map(met);
            self.rubrics = self.count(self.rubrics, recorded, &one.id, said);
        }
        Ok(())
    }

    fn count(
        &mut self,
        (agreed, all): (usize, usize),
        recorded: &RecordedSession<'_>,
        id: &str,
        [said, patterns]: [&'static str; 2],
    ) -> (usize, usize) {
        if said == patterns {
            return (agreed + 1, all + 1);
        }
        self.disagreements.push(Disagreement {
            session: recorded.name(),
            id: id.to_owned(),
            recorded: said,
            patterns,
        });
        (agreed, all + 1)
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Open => "open",
        Status::Completed => "completed",
        Status::Inferred => "inferred",
        Status::Provided => "provided",
    }
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "not met" }
}
