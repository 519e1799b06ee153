//! What happens between two sessions: jobs and heartbeats that are due wake the agent, in the order of time and before
//! the next session opens. Each is a turn with a chat of its own. Nobody reads what the agent says then, and nothing of
//! it is scored; what it does to workspace and apps stays.

use std::time::Duration;

use jiff::ToSpan;
use jiff::civil::{DateTime, Time};

use super::episode::Episode;
use super::error::EpisodeError;
use super::plan::AgentRole;
use pibench_agent::{Agent, Channel, TurnDone, TurnEnd, TurnLimits, schedule};
use pibench_core::path::WorkspacePath;
use pibench_model::scripted::Scripted;
use pibench_model::{Model, ModelError};
use pibench_record::event::{Fault, FaultKind, Wake};
use pibench_record::{Event, SessionClock};

/// What the agent is told when nothing else wakes it.
pub(super) const HEARTBEAT: &str = "[heartbeat] You woke up by yourself.";

/// Where the agent notes what it wants to look at when it wakes.
const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// What wakes the agent, and when.
struct Due {
    at: DateTime,
    by: String,
    message: String,
    channel: Channel,
    /// Moments before this one at which it was due, too.
    folded: u32,
}

/// Wakes the agent for everything that is due until the next session. `woken`: how often the record says that it was,
/// since the last session. It ends: what recurs wakes once, and after some wakes no job can be added.
pub(super) async fn play(
    episode: &mut Episode<'_>,
    until: DateTime,
    woken: u32,
) -> Result<(), EpisodeError> {
    episode.environment.woken = woken;
    while let Some(due) = next(episode, until) {
        episode.plan.may_begin_turn()?;
        wake(episode, due, until).await?;
    }
    episode.environment.woken = 0;
    Ok(())
}

/// What is due first. Nothing is due before the agent's first session.
fn next(episode: &Episode<'_>, until: DateTime) -> Option<Due> {
    let environment = &episode.environment;
    let now = environment.clock.now();
    let job = schedule::due(&environment.jobs, until).map(|due| {
        let schedule::Due {
            job,
            at,
            folded,
            or_more,
        } = due;
        Due {
            // A job that was due during the session fires after it.
            at: at.max(now),
            by: job.id.clone(),
            message: format!(
                "[cron {}] {}{}",
                job.id,
                job.message,
                missed(folded, or_more)
            ),
            channel: Channel::Cron,
            folded,
        }
    });
    let before = job.as_ref().map(|job| job.at.saturating_sub(1.second()));
    heartbeat(episode, now, before.unwrap_or(until)).or(job)
}

/// What the agent is told of earlier moments; nothing where there was none.
fn missed(folded: u32, or_more: bool) -> String {
    let at_least = if or_more { "at least " } else { "" };
    match folded {
        0 => String::new(),
        1 => "\n[It was due once before, and did not wake you then.]".into(),
        times => {
            format!("\n[It was due {at_least}{times} times before, and did not wake you then.]")
        }
    }
}

/// The last heartbeat until then, if there is anything to look at; it stands for those since the agent was last awake.
/// Heartbeats are at midnight and at whole intervals since, so that they do not depend on what else happened; one that
/// falls into another wake is left out.
fn heartbeat(episode: &Episode<'_>, now: DateTime, until: DateTime) -> Option<Due> {
    let minutes = i64::from(episode.plan.suite.session.heartbeat_minutes?);
    let path = WorkspacePath::parse(HEARTBEAT_FILE).ok()?;
    let content = episode.environment.workspace.read(&path).ok()?;
    let notes = to_do(content)?;
    let midnight = |moment: DateTime| moment.date().to_datetime(Time::midnight());
    let of_day = |moment: DateTime| moment.duration_since(midnight(moment)).as_mins() / minutes;
    let last = midnight(until).saturating_add((of_day(until) * minutes).minutes());
    let at = Some(last).filter(|last| *last > now)?;
    let days = midnight(until).duration_since(midnight(now)).as_hours() / 24;
    let a_day = (24 * 60 - 1) / minutes + 1;
    let since = days * a_day + of_day(until) - of_day(now);
    let folded = u32::try_from(since - 1).unwrap_or_default();
    Some(Due {
        at,
        by: "heartbeat".into(),
        message: format!(
            "{HEARTBEAT} {HEARTBEAT_FILE} says:\n\n{notes}\n\nDo what is due now. If nothing is, say so and call no tool.{}",
            missed(folded, false)
        ),
        channel: Channel::Heartbeat,
        folded,
    })
}

/// What the file says; None where it holds headings only. A byte order mark of Windows is none of its text.
fn to_do(content: Vec<u8>) -> Option<String> {
    let notes = String::from_utf8(content).ok()?;
    let notes = notes.trim_start_matches('\u{feff}').trim();
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    (!notes.lines().all(is_empty)).then(|| notes.to_owned())
}

async fn wake(episode: &mut Episode<'_>, due: Due, until: DateTime) -> Result<(), EpisodeError> {
    let Due {
        at,
        by,
        message,
        channel,
        folded,
    } = due;
    episode.place.begin(&format!("wake by {by} at {at}"), 0);
    let setup = episode.setup(channel);
    let model = model(episode);
    let environment = &mut episode.environment;
    environment.clock = SessionClock::new(at);
    environment.calls = 0;
    environment.woken += 1;
    schedule::mark_fired(&mut environment.jobs, &by, until);
    let system = Agent::system_prompt(environment)?;
    let blob = episode.plan.folder.put_blob(system.as_bytes())?;
    let limits = episode.plan.suite.session;
    let limits = TurnLimits {
        iterations: limits.max_iterations,
        timeout: Duration::from_secs(limits.turn_timeout_s),
    };
    let mut agent = Agent::new(&model, setup, &environment.toolbox, system);
    let done = agent.turn(environment, 0, &message, limits).await;
    let faults = faults(episode, &by, &done)?;
    let changes = episode.take_changes(0, &done.steps)?;
    let folders = episode.take_folders()?;
    let marks = episode
        .mark_apps(&mut std::collections::BTreeMap::new())
        .await?;
    episode.environment.clock.turn();
    let wake = Wake {
        by,
        clock: SessionClock::new(at).to_string(),
        message,
        folded,
        system: blob,
        steps: done.steps,
        changes,
        folders,
        apps: marks.apps,
        faults: [faults, marks.faults].concat(),
        jobs: episode.environment.jobs.clone(),
        usage: done.usage,
    };
    Ok(episode.append(&Event::Wake(Box::new(wake)))?)
}

/// The agent's model between sessions. A script belongs to its session: here it says nothing.
fn model(episode: &Episode<'_>) -> Model {
    match &episode.plan.roles.agent {
        AgentRole::Client(client) => Model::Client(client.at(&episode.place)),
        AgentRole::External(external) => Model::External(external.clone()),
        AgentRole::Process => episode.process(),
        AgentRole::Reference | AgentRole::Reactive | AgentRole::Nop | AgentRole::Cheat => {
            Model::Scripted(Scripted::Nop)
        }
    }
}

/// What broke. A broken connection or machine ends the episode: the wake is not journaled, and resume plays it again.
fn faults(episode: &Episode<'_>, by: &str, done: &TurnDone) -> Result<Vec<Fault>, EpisodeError> {
    let session = format!("the wake by {by}");
    let spot = episode.spot(&session);
    let mut faults = done.faults.clone();
    let (cause, message) = match &done.end {
        TurnEnd::Answered => return Ok(faults),
        TurnEnd::Timeout => (
            "timeout",
            "failed to finish in the time of a turn".to_owned(),
        ),
        TurnEnd::Model(error @ ModelError::Refused { .. }) => {
            ("refused", format!("failed to {error}"))
        }
        TurnEnd::Model(error) => {
            return Err(spot.unanswered(0, error));
        }
        TurnEnd::Infrastructure => {
            let reason = done.faults.last().map(|fault| fault.message.clone());
            return Err(
                spot.infrastructure(0, reason.unwrap_or_else(|| "a guest timed out".into()))
            );
        }
    };
    faults.push(Fault {
        kind: FaultKind::Model,
        source: "agent".into(),
        cause: cause.into(),
        message,
    });
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_before_is_told_as_far_as_it_was_counted() {
        let told = |folded, or_more| missed(folded, or_more).trim_start().to_owned();
        let ending = "times before, and did not wake you then.]";
        assert_eq!(told(0, false), "");
        assert_eq!(told(10_079, false), format!("[It was due 10079 {ending}"));
        assert_eq!(
            told(1_000, true),
            format!("[It was due at least 1000 {ending}")
        );
    }

    #[test]
    fn headings_alone_wake_nobody_as_editors_on_windows_write_them_too() {
        let told = |text: &str| to_do(text.into());
        assert_eq!(told("# Due\n\n## Later\n"), None);
        assert_eq!(told("\u{feff}# Due\r\n\r\n"), None);
        let due = told("\u{feff}# Due\r\nThe tide.\r\n");
        assert_eq!(due.as_deref(), Some("# Due\r\nThe tide."));
    }
}
