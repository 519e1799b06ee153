//! One play of some sessions by one scripted agent, in a run folder that is gone afterwards.

use std::time::Instant;

use camino::Utf8PathBuf;
use tokio::sync::mpsc;

use super::{CheckError, Ground};
use crate::dispatcher;
use crate::dispatcher::Finished;
use crate::plan::{Answers, Plan, Seat, Wanted, resolve};
use crate::temporary::make_temporary_folder;
use pibench_core::player;
use pibench_core::vocabulary::Protocol;
use pibench_record::event::{Event, SessionFinished, Turn};
use pibench_record::results::RunResults;
use pibench_record::{EpisodeState, journal};
use pibench_suite::suite::Suite;

/// One play, with all that is asked of it.
pub(super) struct Play {
    pub(super) results: RunResults,
    pub(super) ends: Vec<End>,
    pub(super) journals: Vec<Vec<u8>>,
    pub(super) seconds: f64,
}

/// How one session was played.
pub(super) struct End {
    pub(super) persona: String,
    pub(super) finished: SessionFinished,
    pub(super) turns: Vec<Turn>,
}

/// Plays these sessions by one agent, in a run folder that is gone afterwards. `variants`: see [`Plan::variants`].
pub(super) async fn play(
    suite: &Suite,
    agent: &'static str,
    sessions: &[String],
    variants: bool,
    ground: &Ground<'_>,
) -> Result<Play, CheckError> {
    let dir = make_temporary_folder().map_err(CheckError::disk)?;
    let out = Utf8PathBuf::try_from(dir.path().join("run")).map_err(CheckError::disk)?;
    let mut suite = suite.clone();
    suite.user = Some(player::LEXICAL.into());
    suite.judge = Some(player::LEXICAL.into());
    suite.filter.sessions = sessions.to_vec();
    suite.runs = Some(1);
    suite.protocol = Protocol::Paper;
    let trial = Wanted {
        plugins: ground.plugins.map(ToOwned::to_owned),
        ..Wanted::default()
    };
    let seat = Seat {
        agent: agent.into(),
        out: Some(out.clone()),
        answers: Answers::None,
    };
    let plan = Plan {
        variants,
        ..resolve(ground.machine, &suite, &trial, seat).await?
    };
    // Of a persona that none of the sessions belongs to there is no journal.
    let personas: Vec<String> = plan
        .personas()
        .filter(|persona| persona.sessions.iter().any(|it| sessions.contains(&it.id)))
        .map(|persona| persona.id.clone())
        .collect();
    // Nobody looks at the progress.
    let (progress, _) = mpsc::unbounded_channel();
    let started = Instant::now();
    let ended = dispatcher::play(plan, false, progress).await?;
    let seconds = started.elapsed().as_secs_f64();
    let results = match ended {
        Finished::All {
            results, broken, ..
        } if broken.is_empty() => *results,
        Finished::All { broken, .. } | Finished::NotBegun { broken, .. } => {
            let reasons = broken.join("; ");
            return Err(CheckError::Broken { agent, reasons });
        }
        Finished::Interrupted { .. } => return Err(CheckError::Interrupted { agent }),
    };
    let (mut ends, mut journals) = (Vec::new(), Vec::new());
    for persona in &personas {
        let path = out.join(format!("journal/{persona}.r1.jsonl"));
        let events = journal::events(path.as_std_path()).map_err(CheckError::disk)?;
        ends.extend(sessions_of(persona, &events));
        journals.push(std::fs::read(&path).map_err(CheckError::disk)?);
    }
    Ok(Play {
        results,
        ends,
        journals,
        seconds,
    })
}

/// How each session of an episode was played.
fn sessions_of(persona: &str, events: &[Event]) -> Vec<End> {
    let mut state = EpisodeState::default();
    let mut ends = Vec::new();
    for event in events {
        state.apply(event);
        if let Event::SessionFinished(finished) = event {
            let played = state.session.take();
            ends.push(End {
                persona: persona.to_owned(),
                finished: (**finished).clone(),
                turns: played.map_or_else(Vec::new, |played| played.turns),
            });
        }
    }
    ends
}
