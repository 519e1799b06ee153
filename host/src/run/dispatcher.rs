//! Episodes side by side: one task each, as many at a time as there are jobs. An episode that breaks leaves the others
//! alone.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::episode::{self, EpisodeError};
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
    plan.folder.put_outline(&outline(&plan).await?)?;
    let plan = Arc::new(plan);
    report_planned(&plan, resume, &progress)?;
    let jobs = Arc::new(Semaphore::new(plan.jobs));
    let mut tasks: JoinSet<Result<(), EpisodeError>> = JoinSet::new();
    for (run, persona) in plan.episodes() {
        let (plan, jobs, progress) = (Arc::clone(&plan), Arc::clone(&jobs), progress.clone());
        let persona = persona.id.clone();
        tasks.spawn(async move {
            // The semaphore is never closed, so a permit always comes.
            let _permit = jobs.acquire_owned().await.ok();
            episode::play(&plan, &persona, run, resume, &progress).await
        });
    }
    let Joined { broken, spent } = tokio::select! {
        joined = join_all(&mut tasks) => joined?,
        _ = tokio::signal::ctrl_c() => {
            tasks.shutdown().await;
            return Ok(Finished::Interrupted);
        }
    };
    let results = results::collect(&plan)?;
    plan.folder.put_results(&results)?;
    Ok(Finished::All {
        results: Box::new(results),
        broken,
        spent,
    })
}

/// How the episodes ended that did not come to their end.
#[derive(Default)]
struct Joined {
    broken: Vec<String>,
    spent: Option<String>,
}

/// Waits for all episodes. What broke outside leaves the others alone and is told at the end; the first other error ends
/// the run, after the episodes that still play.
async fn join_all(tasks: &mut JoinSet<Result<(), EpisodeError>>) -> Result<Joined, RunError> {
    let mut joined = Joined::default();
    let mut first = Ok(());
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(Err(error)) if error.is_infrastructure() => joined.broken.push(error.to_string()),
            Ok(Err(error @ EpisodeError::Spent(_))) => joined.spent = Some(error.to_string()),
            Ok(ended) => first = first.and(ended.map_err(RunError::from)),
            Err(error) => first = first.and(Err(error.into())),
        }
    }
    first.map(|()| joined)
}

fn report_planned(
    plan: &Plan,
    resume: bool,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<(), RunError> {
    let mut sessions = 0;
    let mut finished = 0;
    for (run, persona) in plan.episodes() {
        sessions += plan.sessions(persona).count();
        let path = plan.folder.journal(&persona.id, run);
        if resume && path.exists() {
            let events = journal::events(&path)?;
            plan.spending.enter(&events);
            finished += episode::finished_sessions(&events);
        }
    }
    // Nobody may be listening.
    let _ = progress.send(Progress::Planned { sessions, finished });
    Ok(())
}
