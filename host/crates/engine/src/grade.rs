//! Grades a finished run again: rules by the plan's graders, rubrics by its judge, sums by its protocol. What was played,
//! and what the user agent found while it was, is taken as it stands: it decided what happened next. Each line is written
//! when it is made, so that a grading that was cut off goes on.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;

use super::dossier::Dossier;
use super::episode;
use super::error::RunError;
use super::error::{EpisodeError, Spot};
use super::grading::{self, JUDGE};
use super::plan::Plan;
use super::recorded::{self, RecordedSession};
use super::replay::Replay;
use super::session::{outcome, tracker};
use crate::judge::Judge;
use crate::role::TurnEvidence;
use pibench_core::matcher::Piece;
use pibench_core::message::Usage;
use pibench_core::progress::Progress;
use pibench_core::score;
use pibench_model::place::Place;
use pibench_record::event::{
    Event, Fault, FaultKind, RoleUsage, SessionFinished, SessionStarted, Turn,
};
use pibench_record::folder::{FolderError, read_outline};
use pibench_record::standing::EpisodeTally;
use pibench_record::{Journal, RunFolder, journal};
use pibench_suite::suite::Persona;

/// Grades every episode of `played`, which must be whole, into the plan's folder. What broke outside, a text for each
/// episode that is not graded to its end; the first other error, a rejected request among them, ends all.
pub async fn grade(
    plan: &Plan,
    played: &RunFolder,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<Vec<String>, RunError> {
    plan.folder.adopt_play(played)?;
    let graders = graders(played)?;
    let sessions = plan.episodes().map(|(_, one)| plan.sessions(one).count());
    // Nobody may be listening.
    let _ = progress.send(Progress::Planned {
        sessions: sessions.sum(),
        finished: 0,
    });
    let episodes = plan
        .episodes()
        .map(|(run, persona)| grade_episode(plan, played, persona, run, &graders, progress));
    let mut graded = std::pin::pin!(futures::stream::iter(episodes).buffer_unordered(plan.jobs));
    let mut broken = Vec::new();
    while let Some(episode) = graded.next().await {
        match episode {
            Ok(()) => {}
            Err(error) if error.is_infrastructure() => broken.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(broken)
}

/// Grades an episode. No async function, so that this crate compiles it and none above.
fn grade_episode<'a>(
    plan: &'a Plan,
    played: &'a RunFolder,
    persona: &'a Persona,
    run: u32,
    graders: &'a BTreeSet<String>,
    progress: &'a mpsc::UnboundedSender<Progress>,
) -> BoxFuture<'a, Result<(), EpisodeError>> {
    let graded = async move {
        let mut episode = Episode::new(plan, played, persona, run, graders, progress)?;
        episode.grade().await
    };
    graded.boxed()
}

/// The graders that the sessions were played with: their faults go with their verdicts.
fn graders(played: &RunFolder) -> Result<BTreeSet<String>, FolderError> {
    let outline = read_outline(played.root())?;
    let personas = outline.into_iter().flat_map(|outline| outline.personas);
    let sessions = personas.flat_map(|persona| persona.sessions);
    let items = sessions.flat_map(|session| session.checklist);
    Ok(items.filter_map(|item| item.grader).collect())
}

/// One episode, graded line by line.
struct Episode<'a> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    events: Vec<Event>,
    sessions: Vec<RecordedSession<'a>>,
    /// The place among them of the session that is graded now.
    at: usize,
    /// The agent's own words in it, turn by turn.
    words: Vec<Vec<Piece>>,
    /// What its judges are shown.
    dossier: Option<Dossier<'a>>,
    replay: Replay<'a>,
    judge: Judge,
    place: Place,
    graders: &'a BTreeSet<String>,
    /// What the graded sessions come to.
    tally: EpisodeTally,
    progress: &'a mpsc::UnboundedSender<Progress>,
}

impl<'a> Episode<'a> {
    fn new(
        plan: &'a Plan,
        played: &RunFolder,
        persona: &'a Persona,
        run: u32,
        graders: &'a BTreeSet<String>,
        progress: &'a mpsc::UnboundedSender<Progress>,
    ) -> Result<Self, EpisodeError> {
        let events = journal::events(&played.journal(&persona.id, run))?;
        let place = Place::new(&persona.id, run);
        Ok(Self {
            sessions: recorded::of_episode(plan, persona, run, &events),
            replay: Replay::new(plan, persona, run)?,
            judge: plan.roles.judge.at(&place),
            plan,
            persona,
            run,
            events,
            at: 0,
            words: Vec::new(),
            dossier: None,
            place,
            graders,
            tally: EpisodeTally::default(),
            progress,
        })
    }

    async fn grade(&mut self) -> Result<(), EpisodeError> {
        let path = self.plan.folder.journal(&self.persona.id, self.run);
        let (mut journal, done) = if path.exists() {
            Journal::resume(&path)?
        } else {
            (Journal::create(&path)?, Vec::new())
        };
        for (at, event) in std::mem::take(&mut self.events).iter().enumerate() {
            let known = done.get(at);
            let graded = self.event(event, known).await?;
            self.check_sound()?;
            if known.is_none() {
                journal.append(&graded)?;
            }
        }
        Ok(())
    }

    /// The line with its verdicts made anew, or as it is `known` from a grading that was cut off.
    async fn event(&mut self, event: &Event, known: Option<&Event>) -> Result<Event, EpisodeError> {
        self.replay.follow(event)?;
        // Before anything is made of the line, which may be a stranger's.
        self.check_sound()?;
        Ok(match event {
            Event::EpisodeStarted(recorded) => {
                let mut started = episode::started(self.plan, self.persona, self.run);
                // Who played stays, also where nobody of that name is here.
                started.agent.clone_from(&recorded.agent);
                started.user.clone_from(&recorded.user);
                Event::EpisodeStarted(started)
            }
            Event::SessionStarted(started) => {
                self.begin(started).await?;
                event.clone()
            }
            Event::Turn(turn) => {
                let graded = match known {
                    Some(Event::Turn(known)) => (**known).clone(),
                    _ => self.turn(turn).await?,
                };
                self.replay.regrade(&graded);
                let graded = Event::Turn(Box::new(graded));
                self.tally.apply(&graded);
                graded
            }
            Event::SessionFinished(finished) => {
                Event::SessionFinished(Box::new(self.finish(finished)?))
            }
            Event::Wake(_) | Event::EpisodeFinished => event.clone(),
        })
    }

    async fn begin(&mut self, started: &SessionStarted) -> Result<(), EpisodeError> {
        let faults = self.replay.begin(started).await?;
        if let Some(fault) = faults.first() {
            return Err(self
                .spot(&started.session)
                .infrastructure(0, &fault.message));
        }
        let recorded = self.sessions.get(self.at);
        let recorded = recorded.filter(|one| one.session.id == started.session);
        let Some(recorded) = recorded else {
            return Err(self.record(&format!("session `{}` has no end", started.session)));
        };
        self.words = recorded.own_words(self.plan)?;
        self.dossier = Some(recorded.dossier(self.plan));
        Ok(())
    }

    /// The turn with new verdicts; what they found before, and its faults, are left out.
    async fn turn(&mut self, turn: &Turn) -> Result<Turn, EpisodeError> {
        let mut graded = Turn {
            items: Vec::new(),
            faults: self.faults_of_play(turn),
            usage: RoleUsage {
                judge: Usage::default(),
                ..turn.usage
            },
            ..turn.clone()
        };
        let due = self.replay.due(turn.outcome.is_some());
        let found = self.replay.rules(&due).await?;
        graded.items.extend(found.verdicts);
        let faults = found.unread.into_iter().chain(found.faults);
        for fault in faults {
            if !graded.faults.contains(&fault) {
                graded.faults.push(fault);
            }
        }
        self.place.begin(&turn.session, turn.turn);
        let evidence = self.evidence(turn, &mut graded.faults).await?;
        let session = self.sessions[self.at].session;
        let (judge, folder) = (&self.judge, &self.plan.folder);
        match grading::rubrics(judge, folder, session, &due, &evidence, &mut graded).await {
            Ok(()) => Ok(graded),
            Err(error) => Err(error.at(self.spot(&turn.session), turn.turn)),
        }
    }

    async fn evidence(
        &mut self,
        turn: &Turn,
        faults: &mut Vec<Fault>,
    ) -> Result<TurnEvidence, EpisodeError> {
        let at = (turn.turn as usize).saturating_sub(1);
        let recorded = &self.sessions[self.at];
        let made = match &mut self.dossier {
            Some(dossier) => recorded.evidence(self.plan, dossier, at, faults).await,
            None => return Err(self.record("a turn outside of a session")),
        };
        let made = made.map_err(|fault| {
            self.spot(&turn.session)
                .infrastructure(turn.turn, &fault.message)
        })?;
        Ok(made.with_pieces(&self.words, at))
    }

    fn faults_of_play(&self, turn: &Turn) -> Vec<Fault> {
        let of_grading = |fault: &&Fault| match fault.kind {
            FaultKind::Judge => fault.source == JUDGE,
            FaultKind::Guest => self.graders.contains(&fault.source),
            FaultKind::Model | FaultKind::Infrastructure => false,
        };
        let faults = turn.faults.iter();
        faults.filter(|fault| !of_grading(fault)).cloned().collect()
    }

    /// The session's scores by its new verdicts, and its trajectory.
    fn finish(&mut self, finished: &SessionFinished) -> Result<SessionFinished, EpisodeError> {
        let Some(ended) = self.replay.end() else {
            return Ok(finished.clone());
        };
        let (open, session) = (&ended.session.id, &finished.session);
        if session != open {
            let reason = format!("session {session:?} ends, and `{open}` is the one that is open");
            return Err(self.record(&reason));
        }
        self.at += 1;
        let tracker = tracker(self.plan, ended.session, &ended.record.turns);
        let tracker = tracker.map_err(|error| {
            let reason = format!("the session's rules do not give its changes: {error}");
            self.record(&format!("{}: {reason}", finished.session))
        })?;
        let statuses = finished.intents.iter().map(|intent| intent.status);
        if !tracker.statuses().iter().copied().eq(statuses) {
            let reason = "its intents do not follow from its turns";
            return Err(self.record(&format!("{}: {reason}", finished.session)));
        }
        let items = ended.checklist.scores(&ended.session.checklist);
        let mut usage = RoleUsage {
            judge: Usage::default(),
            ..finished.usage
        };
        for turn in &ended.record.turns {
            usage.judge += turn.usage.judge;
        }
        let graded = SessionFinished {
            outcome: outcome(&tracker, &ended.record.turns).unwrap_or(finished.outcome),
            proc: tracker.counts().proc().unwrap_or_default(),
            comp: score::comp(&items),
            items,
            usage,
            ..finished.clone()
        };
        let trajectory = self.replay.trajectory(&ended, graded.clone())?;
        let (folder, persona) = (&self.plan.folder, &self.persona.id);
        folder.put_trajectory(persona, self.run, &graded.session, &trajectory)?;
        self.tally
            .apply(&Event::SessionFinished(Box::new(graded.clone())));
        let ended = episode::ended(self.plan, self.persona, self.run, &self.tally, &graded);
        // Nobody may be listening.
        let _ = self.progress.send(ended);
        Ok(graded)
    }

    /// What does not follow from the record is graded no further.
    fn check_sound(&self) -> Result<(), EpisodeError> {
        match self.replay.problems.first() {
            None => Ok(()),
            Some(problem) => Err(self.record(problem)),
        }
    }

    fn spot<'s>(&'s self, session: &'s str) -> Spot<'s> {
        Spot {
            persona: &self.persona.id,
            run: self.run,
            session,
        }
    }

    fn record(&self, reason: &str) -> EpisodeError {
        self.spot("").record(reason)
    }
}
