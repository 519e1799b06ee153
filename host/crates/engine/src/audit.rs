//! Judges a sample of finished sessions again, with other judges or the same: how far do the scores hang on who judged
//! (paper, section F.1 and Table 6)? What the agent did is taken as it stands, turn by turn, and so is what was asked
//! about it; only the verdicts are made anew. No score of the run changes.

mod against;
mod people;
mod sample;

use std::collections::BTreeMap;

use futures::StreamExt;

use super::grading::is_rubric;
use super::plan::Plan;
use super::recorded::RecordedSession;
use crate::role::{Judgement, RoleError};
use crate::user::Asking;
use pibench_core::record::Status;
use pibench_core::session::Asked;
use pibench_core::statistics::agreement::{Agreement, Rating, agreement};
use pibench_model::ModelError;
use pibench_model::place::Place;
use pibench_record::audited::{Both, JudgedAgain};
use pibench_record::event::{RoleUsage, Stage, Turn};
use pibench_record::folder::FolderError;
use pibench_suite::suite::{Intent, Item};

pub use against::{Against, AgainstError, Disagreement, hold_against};
pub use people::{audit_by_people, ballot};
pub use sample::Sample;

/// Sessions that are judged at the same time.
const AT_ONCE: usize = 16;

/// What an audit found. The first rating is the run's, the second the audit's.
#[derive(Debug)]
pub struct Audited {
    /// Sessions that were judged again, of those that are scored.
    pub sampled: usize,
    pub of: usize,
    /// Rubric items: met or not.
    pub checklist: Option<Agreement>,
    /// Hidden intents: completed, inferred, provided or open.
    pub intents: Option<Agreement>,
    /// What both say of each of these sessions.
    pub sessions: Vec<JudgedAgain>,
    pub usage: RoleUsage,
    /// Questions without a majority among the people asked; they count in nothing.
    pub undecided: usize,
    /// Sessions that could not be judged again, each with the reason; they count in nothing.
    pub faults: Vec<String>,
    /// What broke outside: the audit is not whole.
    pub broken: Vec<String>,
    /// Why it was stopped: the operator has to mend something.
    pub setup: Option<String>,
}

/// Judges the sample by the user agents and judges of its plans. `seed` is that of the resampling.
pub async fn audit(sample: &Sample<'_>, seed: u64) -> Audited {
    let judged = sample.sessions.iter().map(|one| async move {
        let name = sample.name(one);
        (name, judge(one.plan, &one.session).await)
    });
    let mut judged = std::pin::pin!(futures::stream::iter(judged).buffered(AT_ONCE));
    let mut usage = RoleUsage::default();
    let mut sessions = Vec::new();
    let (mut faults, mut broken, mut setup) = (Vec::new(), Vec::new(), None);
    while let Some((name, found)) = judged.next().await {
        match found {
            Ok((session, used)) => {
                usage += used;
                sessions.push(session);
            }
            Err(error @ RoleError::Model(ModelError::Infrastructure { .. })) => {
                broken.push(format!("judge {name}: {error}"));
            }
            Err(error @ RoleError::Model(ModelError::Setup { .. })) => {
                setup = Some(format!("judge {name}: {error}"));
                break;
            }
            Err(error) => faults.push(format!("judge {name}: {error}")),
        }
    }
    Audited {
        usage,
        faults,
        broken,
        setup,
        ..compared(sample, sessions, seed)
    }
}

/// What the verdicts on those sessions of the sample come to that were judged again.
fn compared(sample: &Sample<'_>, sessions: Vec<JudgedAgain>, seed: u64) -> Audited {
    let checklist: Vec<_> = sessions.iter().map(|one| ratings(&one.checklist)).collect();
    let intents: Vec<_> = sessions.iter().map(|one| ratings(&one.intents)).collect();
    let asked = sessions.iter();
    let asked = asked.map(|one| one.checklist.len() + one.intents.len());
    let rated = checklist.iter().map(Vec::len);
    let rated = rated.chain(intents.iter().map(Vec::len));
    Audited {
        sampled: sessions.len(),
        of: sample.of,
        checklist: agreement(&checklist, seed),
        intents: agreement(&intents, seed),
        undecided: asked.sum::<usize>() - rated.sum::<usize>(),
        sessions,
        usage: RoleUsage::default(),
        faults: Vec::new(),
        broken: Vec::new(),
        setup: None,
    }
}

/// What both decided.
fn ratings<T: Copy>(session: &[Both<T>]) -> Vec<Rating<T>> {
    let rated = session.iter().filter_map(|one| {
        let (first, second) = (one.first, one.second?);
        Some(Rating { first, second })
    });
    rated.collect()
}

/// A session of the record with these verdicts on it.
fn judged_again(
    plan: &Plan,
    recorded: &RecordedSession<'_>,
    checklist: Vec<Both<bool>>,
    intents: Vec<Both<Status>>,
) -> JudgedAgain {
    JudgedAgain {
        folder: plan.folder.root().display().to_string(),
        persona: recorded.persona.id.clone(),
        run: recorded.run,
        session: recorded.session.id.clone(),
        checklist,
        intents,
    }
}

/// Where an intent stands, and what the judge said of it last.
#[derive(Clone, Default)]
struct Found {
    status: Status,
    reason: String,
}

impl Found {
    /// The first status that it gets stands.
    fn hear(&mut self, yes: bool, to: Status, reason: &str) {
        if self.status != Status::Open {
            return;
        }
        reason.clone_into(&mut self.reason);
        if yes {
            self.status = to;
        }
    }
}

async fn judge(
    plan: &Plan,
    recorded: &RecordedSession<'_>,
) -> Result<(JudgedAgain, RoleUsage), RoleError> {
    let place = Place::new(&recorded.persona.id, recorded.run);
    let user = plan.roles.user.at(&place);
    let judge = plan.roles.judge.at(&place);
    let session = recorded.session;
    let mut usage = RoleUsage::default();
    let mut dossier = recorded.dossier(plan);
    // Models read the evidence itself.
    let words = if plan.roles.lexical() {
        let words = recorded.own_words(plan);
        words.map_err(|error| unreadable(&error))?
    } else {
        Vec::new()
    };
    let mut found = vec![Found::default(); session.intents.len()];
    let mut met: BTreeMap<&str, Judgement> = BTreeMap::new();
    for (at, one) in recorded.turns.iter().enumerate() {
        let turn = &one.turn;
        place.begin(&session.id, turn.turn);
        // Faults of the document reader are in the record.
        let mut faults = Vec::new();
        let evidence = recorded.evidence(plan, &mut dossier, at, &mut faults).await;
        let evidence = evidence.map_err(|fault| ModelError::Infrastructure {
            server: fault.source,
            reason: fault.message,
        })?;
        let evidence = evidence.with_pieces(&words, at);
        let open = asked_about(turn, Stage::Satisfaction, &session.intents);
        let judged = user.satisfied(&texts(&open), &evidence).await?;
        usage.user += judged.usage;
        for (&(index, _), verdict) in open.iter().zip(&judged.answers) {
            found[index].hear(verdict.yes, Status::Completed, &verdict.reason);
        }
        let open = asked_about(turn, Stage::Question, &session.intents);
        let Asking { judged, .. } = user.asked(&texts(&open), &evidence).await?;
        usage.user += judged.usage;
        for (&(index, _), question) in open.iter().zip(&judged.answers) {
            let yes = question.asked != Asked::No;
            found[index].hear(yes, Status::Inferred, &question.reason);
        }
        for change in &turn.intents {
            if let Some(found) = found.get_mut(change.intent)
                && change.status == Status::Provided
                && found.status == Status::Open
            {
                found.status = Status::Provided;
            }
        }
        let rubrics = judged_items(turn, &session.checklist);
        let judged = judge
            .rubrics(&rubrics, &session.tool_evidence, &evidence)
            .await?;
        usage.judge += judged.usage;
        for (item, verdict) in rubrics.iter().zip(judged.answers) {
            // The first yes stands.
            let said = met.entry(&item.id).or_insert_with(|| Judgement::no(""));
            if !said.yes {
                *said = verdict;
            }
        }
    }
    let checklist = rated_items(recorded).map(|(item, first)| {
        let said = met.get(item.id.as_str());
        let reason = said.map_or("", |said| said.reason.as_str());
        let second = said.is_some_and(|said| said.yes);
        Both::new(&item.id, first, Some(second), reason)
    });
    let intents = recorded.finished.intents.iter().zip(&found);
    let intents = intents.map(|(intent, Found { status, reason })| {
        Both::new(&intent.intent, intent.status, Some(*status), reason)
    });
    let session = judged_again(plan, recorded, checklist.collect(), intents.collect());
    Ok((session, usage))
}

fn unreadable(error: &FolderError) -> ModelError {
    ModelError::Infrastructure {
        server: "the run folder".into(),
        reason: error.to_string(),
    }
}

/// The intents that a stage of the record judged in this turn.
fn asked_about<'a>(turn: &Turn, stage: Stage, intents: &'a [Intent]) -> Vec<(usize, &'a Intent)> {
    let of_stage = turn.judgements.iter().filter(|one| one.stage == stage);
    of_stage
        .filter_map(|one| {
            let index = intents.iter().position(|intent| intent.id == one.intent)?;
            Some((index, &intents[index]))
        })
        .collect()
}

fn texts<'a>(open: &[(usize, &'a Intent)]) -> Vec<&'a Intent> {
    open.iter().map(|&(_, intent)| intent).collect()
}

/// The rubric items that were judged in this turn.
fn judged_items<'a>(turn: &Turn, items: &'a [Item]) -> Vec<&'a Item> {
    let judged = turn.items.iter().filter_map(|verdict| {
        let mut items = items.iter();
        items.find(|item| item.id == verdict.item)
    });
    judged.filter(|item| is_rubric(item)).collect()
}

/// The rubric items that have a rating, met or not: not those that the judge gave no answer to.
fn rated_items<'a>(
    recorded: &'a RecordedSession<'_>,
) -> impl Iterator<Item = (&'a Item, bool)> + 'a {
    let was_judged = move |item: &Item| {
        let mut verdicts = recorded.turns.iter().flat_map(|one| &one.turn.items);
        verdicts.any(|verdict| verdict.item == item.id)
    };
    let scores = recorded.finished.items.iter();
    let items = recorded.session.checklist.iter().zip(scores);
    items
        .filter(move |(item, _)| is_rubric(item) && was_judged(item))
        .map(|(item, score)| (item, score.met))
}
