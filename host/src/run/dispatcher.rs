//! Episodes side by side: one task each, as many at a time as there are jobs. An episode that breaks leaves the others
//! alone.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

use super::episode::{self, EpisodeError};
use super::log::Log;
use super::outline::outline;
use super::plan::Plan;
use super::results;
use crate::report::progress::Progress;
use crate::store::JournalError;
use crate::store::folder::FolderError;
use crate::store::journal;
use crate::store::results::RunResults;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("play an episode: its task ended without an answer: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// How a run ended.
#[derive(Debug)]
pub enum Finished {
    /// Every episode was played to its end, or as far as what is outside let it.
    All {
        results: Box<RunResults>,
        /// What broke outside, a text for each episode; empty when nothing did.
        broken: Vec<String>,
        /// Why episodes were stopped before their end: the run may cost no more.
        spent: Option<String>,
    },
    /// The user stopped it; the folder can be gone on with.
    Interrupted,
}

/// Plays what is planned and not played yet, and scores it. `resume` says that journals may be there already.
pub async fn play(
    plan: Plan,
    resume: bool,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<Finished, RunError> {
    let mut finished = play_all(vec![plan], resume, progress).await?;
    // One plan has one end.
    Ok(finished.pop().unwrap_or(Finished::Interrupted))
}

/// Plays several plans side by side, as many episodes at a time as the first has jobs; how each ended, in their order. An
/// episode of each plan is begun before the next one of any.
pub async fn play_all(
    plans: Vec<Plan>,
    resume: bool,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<Vec<Finished>, RunError> {
    for plan in &plans {
        plan.folder.put_outline(&outline(plan).await?)?;
    }
    report_planned(&plans, resume, &progress)?;
    for plan in &plans {
        if !results::is_whole(plan)? {
            plan.folder.unseal()?;
        }
    }
    let jobs = Arc::new(Semaphore::new(plans.first().map_or(1, |plan| plan.jobs)));
    let plans: Vec<Arc<Plan>> = plans.into_iter().map(Arc::new).collect();
    let mut tasks: JoinSet<(usize, Result<(), EpisodeError>)> = JoinSet::new();
    for (of, run, persona) in in_turn(&plans) {
        let (plan, jobs, progress) = (Arc::clone(&plans[of]), Arc::clone(&jobs), progress.clone());
        let log = plan.log.as_ref().map(Log::dispatch);
        let episode = async move {
            // The semaphore is never closed, so a permit always comes.
            let _permit = jobs.acquire_owned().await.ok();
            let agent = &plan.roles.agent_name;
            let span = tracing::info_span!("episode", %agent, %persona, run);
            let played = episode::play(&plan, &persona, run, resume, &progress);
            (of, played.instrument(span).await)
        };
        match log {
            Some(log) => tasks.spawn(episode.with_subscriber(log)),
            None => tasks.spawn(episode),
        };
    }
    let mut joined: Vec<Joined> = plans.iter().map(|_| Joined::default()).collect();
    tokio::select! {
        ended = join_all(&mut tasks, &mut joined) => ended?,
        _ = tokio::signal::ctrl_c() => {
            tasks.shutdown().await;
            return Ok(plans.iter().map(|_| Finished::Interrupted).collect());
        }
    }
    let mut finished = Vec::new();
    for (plan, Joined { broken, spent }) in plans.iter().zip(joined) {
        let results = results::collect(plan)?;
        plan.folder.put_results(&results)?;
        finished.push(Finished::All {
            results: Box::new(results),
            broken,
            spent,
        });
    }
    Ok(finished)
}

/// The episodes of all plans: the first of each, the second of each, and so on, each with its plan's place.
fn in_turn(plans: &[Arc<Plan>]) -> Vec<(usize, u32, String)> {
    let mut episodes: Vec<(usize, usize, u32, String)> = Vec::new();
    for (of, plan) in plans.iter().enumerate() {
        let own = plan.episodes().enumerate();
        episodes.extend(own.map(|(at, (run, persona))| (at, of, run, persona.id.clone())));
    }
    episodes.sort_by_key(|&(at, of, ..)| (at, of));
    let named = episodes.into_iter();
    named
        .map(|(_, of, run, persona)| (of, run, persona))
        .collect()
}

/// How the episodes ended that did not come to their end.
#[derive(Default)]
struct Joined {
    broken: Vec<String>,
    spent: Option<String>,
}

/// Waits for all episodes. What broke outside leaves the others alone and is told at the end; the first other error ends
/// the run, after the episodes that still play.
async fn join_all(
    tasks: &mut JoinSet<(usize, Result<(), EpisodeError>)>,
    joined: &mut [Joined],
) -> Result<(), RunError> {
    let mut first = Ok(());
    while let Some(ended) = tasks.join_next().await {
        let (of, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                first = first.and(Err(error.into()));
                continue;
            }
        };
        match ended {
            Err(error) if error.is_infrastructure() => joined[of].broken.push(error.to_string()),
            Err(error @ EpisodeError::Spent(_)) => joined[of].spent = Some(error.to_string()),
            ended => first = first.and(ended.map_err(RunError::from)),
        }
    }
    first
}

fn report_planned(
    plans: &[Plan],
    resume: bool,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<(), RunError> {
    let mut sessions = 0;
    let mut finished = 0;
    for plan in plans {
        for (run, persona) in plan.episodes() {
            sessions += plan.sessions(persona).count();
            let path = plan.folder.journal(&persona.id, run);
            if resume && path.exists() {
                let events = journal::events(&path)?;
                plan.spending.enter(&events);
                finished += episode::finished_sessions(&events);
            }
        }
    }
    // Nobody may be listening.
    let _ = progress.send(Progress::Planned { sessions, finished });
    Ok(())
}
