//! Judges a sample of finished sessions again, with other judges or the same: how far do the scores hang on who judged
//! (paper, section F.1 and Table 6)? What the agent did is taken as it stands, turn by turn, and so is what was asked
//! about it; only the verdicts are made anew. No score of the run changes.

use futures::StreamExt;

use super::dispatcher::RunError;
use super::grading::is_rubric;
use super::plan::Plan;
use super::record::{self, RecordedSession};
use crate::eval::record::Status;
use crate::eval::session::Asked;
use crate::eval::statistics::agreement::{Agreement, Rating, agreement};
use crate::model::ModelError;
use crate::model::place::Place;
use crate::store::event::{RoleUsage, Stage, Turn};
use crate::task::suite::{Intent, Item};
use crate::user::{Asking, RoleError};

/// Sessions that are judged at the same time.
const AT_ONCE: usize = 16;

/// What an audit found. The first rating is the run's, the second the audit's.
#[derive(Debug)]
pub struct Audited {
    /// Sessions that were judged again, of those that are finished.
    pub sampled: usize,
    pub of: usize,
    /// Rubric items: met or not.
    pub checklist: Option<Agreement>,
    /// Hidden intents: completed, inferred, provided or open.
    pub intents: Option<Agreement>,
    pub usage: RoleUsage,
    /// Sessions that could not be judged again, each with the reason; they count in nothing.
    pub faults: Vec<String>,
    /// What broke outside: the audit is not whole.
    pub broken: Vec<String>,
    /// Why it was stopped: the operator has to mend something.
    pub setup: Option<String>,
}

/// A session's ratings.
struct Ratings {
    checklist: Vec<Rating<bool>>,
    intents: Vec<Rating<Status>>,
    usage: RoleUsage,
}

/// Judges `sample` sessions, drawn uniformly by `seed`, by the plan's user agent and judge.
pub async fn audit(plan: &Plan, sample: usize, seed: u64) -> Result<Audited, RunError> {
    let mut sessions = record::sessions(plan)?;
    let of = sessions.len();
    sessions.sort_by_cached_key(|session| draw(session, seed));
    sessions.truncate(sample);
    let judged = sessions
        .iter()
        .map(|session| async move { (session.name(), judge(plan, session).await) });
    let mut judged = std::pin::pin!(futures::stream::iter(judged).buffered(AT_ONCE));
    let mut audited = Audited {
        sampled: 0,
        of,
        checklist: None,
        intents: None,
        usage: RoleUsage::default(),
        faults: Vec::new(),
        broken: Vec::new(),
        setup: None,
    };
    let (mut checklist, mut intents) = (Vec::new(), Vec::new());
    while let Some((name, ratings)) = judged.next().await {
        match ratings {
            Ok(ratings) => {
                audited.sampled += 1;
                audited.usage += ratings.usage;
                checklist.push(ratings.checklist);
                intents.push(ratings.intents);
            }
            Err(error @ RoleError::Model(ModelError::Infrastructure { .. })) => {
                audited.broken.push(format!("judge {name}: {error}"));
            }
            Err(error @ RoleError::Model(ModelError::Setup { .. })) => {
                audited.setup = Some(format!("judge {name}: {error}"));
                break;
            }
            Err(error) => audited.faults.push(format!("judge {name}: {error}")),
        }
    }
    audited.checklist = agreement(&checklist, seed);
    audited.intents = agreement(&intents, seed);
    Ok(audited)
}

/// A number that no order of runs and sessions has a part in.
fn draw(session: &RecordedSession<'_>, seed: u64) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("pibench-host sample of an audit, version 1");
    hasher.update(&seed.to_le_bytes());
    hasher.update(session.name().as_bytes());
    *hasher.finalize().as_bytes()
}

async fn judge(plan: &Plan, recorded: &RecordedSession<'_>) -> Result<Ratings, RoleError> {
    let place = Place::new(&recorded.persona.id, recorded.run);
    let user = plan.roles.user.at(&place);
    let judge = plan.roles.judge.at(&place);
    let session = recorded.session;
    let mut usage = RoleUsage::default();
    let mut dossier = recorded.dossier(plan);
    let mut found = vec![Status::Open; session.intents.len()];
    let mut met = vec![false; session.checklist.len()];
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
        let open = asked_about(turn, Stage::Satisfaction, &session.intents);
        let judged = user.satisfied(&texts(&open), &evidence).await?;
        usage.user += judged.usage;
        for (&(index, _), verdict) in open.iter().zip(&judged.answers) {
            terminal(&mut found[index], verdict.yes, Status::Completed);
        }
        let open = asked_about(turn, Stage::Question, &session.intents);
        let Asking { judged, .. } = user.asked(&texts(&open), &evidence).await?;
        usage.user += judged.usage;
        for (&(index, _), question) in open.iter().zip(&judged.answers) {
            terminal(
                &mut found[index],
                question.asked != Asked::No,
                Status::Inferred,
            );
        }
        for change in &turn.intents {
            if let Some(status) = found.get_mut(change.intent) {
                terminal(status, change.status == Status::Provided, Status::Provided);
            }
        }
        let items = judged_items(turn, &session.checklist);
        let rubrics: Vec<&Item> = items.iter().map(|&(_, item)| item).collect();
        let judged = judge
            .rubrics(&rubrics, &session.tool_evidence, &evidence)
            .await?;
        usage.judge += judged.usage;
        for (&(index, _), verdict) in items.iter().zip(&judged.answers) {
            met[index] |= verdict.yes;
        }
    }
    Ok(Ratings {
        checklist: checklist_ratings(recorded, &met),
        intents: intent_ratings(recorded, &found),
        usage,
    })
}

/// The first status that an intent gets stands.
fn terminal(status: &mut Status, yes: bool, to: Status) {
    if yes && *status == Status::Open {
        *status = to;
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
fn judged_items<'a>(turn: &Turn, items: &'a [Item]) -> Vec<(usize, &'a Item)> {
    let judged = turn.items.iter().filter_map(|verdict| {
        let index = items.iter().position(|item| item.id == verdict.item)?;
        Some((index, &items[index]))
    });
    judged.filter(|(_, item)| is_rubric(item)).collect()
}

/// Items that were never judged, because the judge gave no answer, have no rating.
fn checklist_ratings(recorded: &RecordedSession<'_>, met: &[bool]) -> Vec<Rating<bool>> {
    let was_judged = |item: &Item| {
        let mut verdicts = recorded.turns.iter().flat_map(|one| &one.turn.items);
        verdicts.any(|verdict| verdict.item == item.id)
    };
    let scores = recorded.finished.items.iter().zip(met);
    let rated = recorded.session.checklist.iter().zip(scores);
    rated
        .filter(|(item, _)| is_rubric(item) && was_judged(item))
        .map(|(_, (score, &second))| Rating {
            first: score.met,
            second,
        })
        .collect()
}

fn intent_ratings(recorded: &RecordedSession<'_>, found: &[Status]) -> Vec<Rating<Status>> {
    let recorded = recorded.finished.intents.iter().zip(found);
    recorded
        .map(|(intent, &second)| Rating {
            first: intent.status,
            second,
        })
        .collect()
}
