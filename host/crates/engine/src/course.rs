//! An episode from its start, or from where its journal ends, to its last line: wakes and sessions in their order.

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracing::Instrument;

use super::episode::{self, Episode};
use super::error::EpisodeError;
use super::plan::Plan;
use super::{acp, session, wake};
use pibench_core::progress::Progress;
use pibench_core::vocabulary::Ablation;
use pibench_record::event::Event;
use pibench_record::standing::{EpisodeResult, EpisodeTally};
use pibench_record::{EpisodeState, Journal, journal};
use pibench_suite::manifest::Reset;
use pibench_suite::suite::Session;

/// Plays an episode, from its start or from where its journal ends, and says what came of it. `opening` bounds how many
/// are opened at once.
pub(super) async fn play(
    plan: &Plan,
    persona: &str,
    run: u32,
    resume: bool,
    opening: OwnedSemaphorePermit,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<EpisodeResult, EpisodeError> {
    let persona = plan
        .suite
        .personas
        .iter()
        .find(|other| other.id == persona)
        .ok_or_else(|| {
            let reason = "the suite has no such persona".into();
            EpisodeError::Record {
                persona: persona.into(),
                run,
                reason,
            }
        })?;
    let path = plan.folder.journal(&persona.id, run);
    let (journal, events) = if resume && path.exists() {
        Journal::resume(&path)?
    } else {
        (Journal::create(&path)?, Vec::new())
    };
    let journal = journal.on(plan.folder.disk());
    let past = EpisodeState::of(&events, plan.ablate);
    let tally = EpisodeTally::of(&events);
    if past.over {
        return Ok(episode::result(plan, persona, run, tally));
    }
    plan.stop.check()?;
    let employed = acp::employ(plan, &persona.id, run).await?;
    let mut episode = Episode::open(plan, persona, run, &past, journal, tally, progress).await?;
    if let Some(employed) = &employed {
        episode.set_player(employed.external.clone(), &past)?;
    }
    drop(opening);
    // The agent's process ends with the episode, whatever ends that, and hears of a turn that was cut off before.
    let view = episode.environment.workspace.view().clone();
    let is_process = employed.is_some();
    let agent = async {
        // Boxed: most episodes have none.
        if let Some(employed) = employed {
            Box::pin(employed.play(view)).await;
        }
    };
    let played = async {
        let played = play_sessions(&mut episode, past).await;
        episode.let_go();
        played
    };
    let (played, ()) = tokio::join!(played, agent);
    played?;
    // All that counts is in the journal: what cannot be removed stays, as what a container made that its agent started.
    if is_process && let Err(error) = episode.make_workspace_anew() {
        tracing::warn!(%error, persona = %persona.id, run, "what the agent left in its workspace beside what is recorded stays there");
    }
    episode.finish()?;
    if is_process {
        acp::forget(plan, &persona.id, run);
    }
    Ok(episode.result())
}

/// Plays the sessions that are not finished, each after what wakes the agent before it.
async fn play_sessions(
    episode: &mut Episode<'_>,
    mut past: EpisodeState,
) -> Result<(), EpisodeError> {
    if !past.started {
        let started = episode::started(episode.plan, episode.persona, episode.run);
        episode.append(&Event::EpisodeStarted(started))?;
    }
    let plan = episode.plan;
    let alone = plan.ablate == Some(Ablation::Dependencies);
    let (variants, sessions): (Vec<&Session>, Vec<&Session>) = plan
        .sessions(episode.persona)
        .partition(|session| plan.variants && !session.dependency_only);
    for (at, &session) in sessions.iter().enumerate() {
        if past.finished.contains(&session.id) {
            continue;
        }
        let in_flight = past.take_open_session();
        if in_flight.is_none() && alone {
            episode.begin_anew().await?;
        } else if in_flight.is_none() {
            pass_to(episode, session, std::mem::take(&mut past.woken)).await?;
        }
        let span = tracing::info_span!("session", session = %session.id);
        // A session that is played alone is followed by none that can know of it.
        let follows = !alone && (at + 1 < sessions.len() || !variants.is_empty());
        let played = session::play(episode, session, in_flight, follows);
        played.instrument(span).await?;
    }
    play_variants(episode, &variants).await
}

/// What comes before a session: apps made anew where each session has its own, and what wakes the agent.
async fn pass_to(
    episode: &mut Episode<'_>,
    session: &Session,
    woken: u32,
) -> Result<(), EpisodeError> {
    if episode.plan.suite.reset == Reset::Session {
        episode.reset_apps(session.clock).await?;
    }
    let span = tracing::debug_span!("wake", before = %session.id);
    let played = wake::play(episode, session.clock, woken);
    played.instrument(span).await
}

/// Plays sessions that begin alike, each from where the first of them began: what one does, no other finds.
async fn play_variants<'a>(
    episode: &mut Episode<'a>,
    variants: &[&'a Session],
) -> Result<(), EpisodeError> {
    let Some(&first) = variants.first() else {
        return Ok(());
    };
    pass_to(episode, first, 0).await?;
    let mut begun = session::start(episode, first).await?;
    let journal = episode
        .plan
        .folder
        .journal(&episode.persona.id, episode.run);
    let past = EpisodeState::of(&journal::events(&journal)?, episode.plan.ablate);
    for (at, &session) in variants.iter().enumerate() {
        if at > 0 {
            episode.return_to(&past).await?;
            begun.started.session.clone_from(&session.id);
            episode.append(&Event::SessionStarted(begun.started.clone()))?;
        }
        let span = tracing::info_span!("session", session = %session.id);
        let played = session::play_on(episode, session, begun.clone(), &[], false);
        played.instrument(span).await?;
    }
    Ok(())
}
