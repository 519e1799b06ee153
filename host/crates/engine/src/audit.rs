//! Judges a sample of finished sessions again, with other judges or the same: how far do the scores hang on who judged
//! (paper, section F.1 and Table 6)? What the agent did is taken as it stands, turn by turn, and so is what was asked
//! about it; only the verdicts are made anew. No score of the run changes.

mod against;
mod people;
mod sample;

use std::collections::BTreeSet;

use futures::StreamExt;

use super::grading::is_rubric;
use super::plan::Plan;
use super::recorded::RecordedSession;
use crate::role::RoleError;
use crate::user::Asking;
use pibench_core::record::Status;
use pibench_core::session::Asked;
use pibench_core::statistics::agreement::{Agreement, Rating, agreement};
use pibench_model::ModelError;
use pibench_model::place::Place;
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

/// A session's ratings.
struct Ratings {
    checklist: Vec<Rating<bool>>,
    intents: Vec<Rating<Status>>,
    usage: RoleUsage,
}

/// Judges the sample by the user agents and judges of its plans. `seed` is that of the resampling.
pub async fn audit(sample: &Sample<'_>, seed: u64) -> Audited {
    let judged = sample.sessions.iter().map(|one| async move {
        let name = sample.name(one);
        (name, judge(one.plan, &one.session).await)
    });
    let mut judged = std::pin::pin!(futures::stream::iter(judged).buffered(AT_ONCE));
    let mut usage = RoleUsage::default();
    let (mut checklist, mut intents) = (Vec::new(), Vec::new());
    let (mut faults, mut broken, mut setup) = (Vec::new(), Vec::new(), None);
    while let Some((name, ratings)) = judged.next().await {
        match ratings {
            Ok(ratings) => {
                usage += ratings.usage;
                checklist.push(ratings.checklist);
                intents.push(ratings.intents);
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
        ..compared(sample, &checklist, &intents, seed)
    }
}

/// What ratings of the sample come to, a list for each session that was judged again.
fn compared(
    sample: &Sample<'_>,
    checklist: &[Vec<Rating<bool>>],
    intents: &[Vec<Rating<Status>>],
    seed: u64,
) -> Audited {
    Audited {
        sampled: checklist.len(),
        of: sample.of,
        checklist: agreement(checklist, seed),
        intents: agreement(intents, seed),
        usage: RoleUsage::default(),
        undecided: 0,
        faults: Vec::new(),
        broken: Vec::new(),
        setup: None,
    }
}

async fn judge(plan: &Plan, recorded: &RecordedSession<'_>) -> Result<Ratings, RoleError> {
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
    let mut found = vec![Status::Open; session.intents.len()];
    let mut met: BTreeSet<&str> = BTreeSet::new();
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
        let rubrics = judged_items(turn, &session.checklist);
        let judged = judge
            .rubrics(&rubrics, &session.tool_evidence, &evidence)
            .await?;
        usage.judge += judged.usage;
        let yes = rubrics.iter().zip(&judged.answers);
        met.extend(
            yes.filter(|(_, verdict)| verdict.yes)
                .map(|(item, _)| item.id.as_str()),
        );
    }
    Ok(Ratings {
        checklist: rated_items(recorded)
            .map(|(item, first)| Rating {
                first,
                second: met.contains(&item.id.as_str()),
            })
            .collect(),
        intents: intent_ratings(recorded, &found),
        usage,
    })
}

fn unreadable(error: &FolderError) -> ModelError {
    ModelError::Infrastructure {
        server: "the run folder".into(),
        reason: error.to_string(),
    }
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

fn intent_ratings(recorded: &RecordedSession<'_>, found: &[Status]) -> Vec<Rating<Status>> {
    let recorded = recorded.finished.intents.iter().zip(found);
    recorded
        .map(|(intent, &second)| Rating {
            first: intent.status,
            second,
        })
        .collect()
}
