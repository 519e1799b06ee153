//! Verifying an imported run: whether its scores follow from the statuses and verdicts that were taken over, and whether
//! a byte was changed since. That it was played so nobody here can say: the workspace, the apps' states and what the
//! user agent was asked are not in it, so no rule is graded again.

use super::{met, statuses};
use crate::Verified;
use pibench_core::score;
use pibench_core::score::{IntentCounts, ItemScore};
use pibench_import::results::follow;
use pibench_record::event::{Event, SessionFinished, Turn};
use pibench_record::folder::FolderError;
use pibench_record::outline::{Outline, PersonaOutline, SessionOutline};
use pibench_record::results::difference;
use pibench_record::standing::{EpisodeResults, episode, standing};
use pibench_record::state::{EpisodeState, SessionState};
use pibench_record::trajectory::{Place, Trajectory};
use pibench_record::{Manifest, RunFolder};

/// Verifies every episode of an imported run.
pub fn verify(
    folder: &RunFolder,
    manifest: &Manifest,
    outline: &Outline,
) -> Result<Verified, FolderError> {
    let mut verified = Verified::default();
    for run in 1..=manifest.runs {
        for persona in &outline.personas {
            match episode(folder.root(), &persona.id, run) {
                Ok(events) => {
                    let place = Place {
                        suite: &manifest.suite,
                        persona: &persona.id,
                        run,
                        title: "",
                        category: None,
                    };
                    Replay::new(folder, persona, manifest, place, &mut verified).events(&events)?;
                }
                Err(error) => verified.problems.push(format!("failed to {error}")),
            }
        }
    }
    for (name, broken) in folder.broken_seals()? {
        verified.problems.push(format!("{name}: {broken}"));
    }
    // A journal that cannot be read is told above.
    let found = standing(
        folder.root(),
        manifest,
        &outline.personas,
        EpisodeResults::new(),
    );
    if let Ok(found) = found {
        let again = manifest.made_anew();
        let difference = difference(found, &again, |found| folder.has_results(found))?;
        verified.problems.extend(difference);
    }
    Ok(verified)
}

struct Replay<'a> {
    folder: &'a RunFolder,
    persona: &'a PersonaOutline,
    manifest: &'a Manifest,
    place: Place<'a>,
    verified: &'a mut Verified,
    state: EpisodeState,
}

impl<'a> Replay<'a> {
    fn new(
        folder: &'a RunFolder,
        persona: &'a PersonaOutline,
        manifest: &'a Manifest,
        place: Place<'a>,
        verified: &'a mut Verified,
    ) -> Self {
        Self {
            folder,
            persona,
            manifest,
            place,
            verified,
            state: EpisodeState::new(manifest.ablate),
        }
    }

    fn problem(&mut self, session: &str, what: &str) {
        let Place { persona, run, .. } = self.place;
        let problem = format!("{persona}/{session}, run {run}: {what}");
        self.verified.problems.push(problem);
    }

    fn events(&mut self, events: &[Event]) -> Result<(), FolderError> {
        for event in events {
            self.state.apply(event);
            match event {
                Event::EpisodeStarted(started) => {
                    let same = started.suite_digest == self.manifest.suite_digest
                        && started.agent == self.manifest.agent
                        && started.persona == self.persona.id;
                    if !same {
                        self.problem("", "the journal is of another run than the manifest");
                    }
                }
                Event::SessionStarted(started) => self.blob(&started.session, &started.system),
                Event::Turn(turn) => {
                    self.verified.turns += 1;
                    let exchanges = turn.items.iter().filter_map(|item| item.exchange.as_ref());
                    for exchange in exchanges {
                        self.blob(&turn.session, exchange);
                    }
                }
                Event::SessionFinished(finished) => self.check_finished(finished)?,
                Event::Wake(wake) => self.problem(&wake.by, "no imported run is woken"),
                Event::EpisodeFinished => {}
            }
        }
        Ok(())
    }

    fn check_finished(&mut self, finished: &SessionFinished) -> Result<(), FolderError> {
        self.verified.sessions += 1;
        let id = &finished.session;
        let persona = self.persona;
        let session = persona.sessions.iter().find(|session| session.id == *id);
        let (Some(session), Some(played)) = (session, self.state.session.take()) else {
            self.problem(id, "no session of the suite begins and ends so");
            return Ok(());
        };
        let SessionState { started, turns, .. } = played;
        if !follows(session, finished, &turns) {
            let what = "its intents, turns or outcome do not follow from its turns";
            self.problem(id, what);
        }
        if !scored(session, finished, &turns) {
            let what = "its scores do not follow from its verdicts and statuses";
            self.problem(id, what);
        }
        let place = Place {
            title: &session.title,
            category: session.category,
            ..self.place
        };
        let run = place.run;
        let trajectory = Trajectory::new(&place, started, turns, finished.clone(), self.folder)?;
        if !self
            .folder
            .has_trajectory(&persona.id, run, id, &trajectory)?
        {
            self.problem(id, "its trajectory is not what the journal says");
        }
        Ok(())
    }

    fn blob(&mut self, session: &str, name: &str) {
        if let Err(error) = self.folder.blob(name) {
            self.problem(session, &format!("failed to {error}"));
        }
    }
}

/// The rules of the released code, run again over the changes that were taken over.
fn follows(session: &SessionOutline, finished: &SessionFinished, turns: &[Turn]) -> bool {
    let changes: Vec<_> = turns.iter().flat_map(|turn| turn.intents.clone()).collect();
    let count = u32::try_from(turns.len()).unwrap_or(u32::MAX);
    let ended = turns.last().and_then(|turn| turn.outcome);
    let tracker = follow(session.intents.len(), count, &changes, ended);
    let recorded: Vec<_> = finished.intents.iter().map(|one| one.status).collect();
    tracker.is_ok_and(|tracker| {
        tracker.statuses() == recorded
            && tracker.outcome() == Some(finished.outcome)
            && finished.turns == count
    })
}

fn scored(session: &SessionOutline, finished: &SessionFinished, turns: &[Turn]) -> bool {
    let items: Vec<ItemScore> = session
        .checklist
        .iter()
        .map(|item| ItemScore {
            id: item.id.clone(),
            weight: item.weight,
            met: met(&item.id, turns),
        })
        .collect();
    let statuses = statuses(session.intents.len(), turns);
    let proc = IntentCounts::of(&statuses).proc().unwrap_or_default();
    finished.items == items
        && finished.comp == score::comp(&items)
        && (finished.proc - proc).abs() < f64::EPSILON
}
