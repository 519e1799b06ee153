//! One session: the agent's turn, the user agent's two stages, the graders and the judge, one journal line; and again,
//! until the rules end it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tracing::Instrument;

use super::dossier::{Dossier, Past};
use super::episode::{Episode, stage};
use super::error::{EpisodeError, Spot};
use super::grading::{self, Checklist, JUDGE};
use super::plan::{AgentRole, Plan};
use super::stages::Stages;
use super::turn;
use super::wake::HEARTBEAT;
use super::words;
use crate::role::TurnEvidence;
use pibench_agent::environment::guest_fault;
use pibench_agent::{Agent, Channel, TurnDone, TurnEnd, TurnLimits};
use pibench_core::matcher::Piece;
use pibench_core::path::WorkspacePath;
use pibench_core::progress::Progress;
use pibench_core::record::{CallRecord, FileChange, Outcome, Utterance};
use pibench_core::score;
use pibench_core::score::IntentCounts;
use pibench_core::session::{Next, SessionError, Tracker};
use pibench_model::scripted::Scripted;
use pibench_model::{Model, ModelError};
use pibench_record::event::{
    AppMark, Fault, FaultKind, Inputs, IntentStatus, RoleUsage, SessionFinished, SessionStarted,
    Turn,
};
use pibench_record::folder::Timing;
use pibench_record::state::SessionState;
use pibench_record::trajectory::{Place, Trajectory};
use pibench_record::{Event, SessionClock};
use pibench_sandbox::App;
use pibench_sandbox::app::app_key;
use pibench_sandbox::evidence::{AppState, Evidence};
use pibench_suite::manifest::{Reset, Trigger};
use pibench_suite::suite::{Item, Persona, Session};

/// A session in play.
struct Play<'e, 'a> {
    episode: &'e mut Episode<'a>,
    session: &'a Session,
    tracker: Tracker,
    checklist: Checklist,
    /// The conversation so far.
    messages: Arc<Vec<Utterance>>,
    calls: Arc<Vec<CallRecord>>,
    changes: Arc<Vec<FileChange>>,
    /// The agent's own words so far.
    pieces: Arc<Vec<Piece>>,
    /// What judges are shown.
    dossier: Dossier<'a>,
    /// The apps' states when the session began.
    before: States,
    marks: BTreeMap<String, AppMark>,
    usage: RoleUsage,
    started: SessionStarted,
    turns: Vec<Turn>,
}

/// Plays a session to its end, or on from where it was cut off. `follows`: whether another one does that can know of it.
pub(super) async fn play<'a>(
    episode: &mut Episode<'a>,
    session: &'a Session,
    in_flight: Option<SessionState>,
    follows: bool,
) -> Result<(), EpisodeError> {
    episode.tell(Progress::SessionStarted {
        persona: episode.plan.shown(&episode.persona.id),
        run: episode.run,
        session: session.id.clone(),
    });
    episode.environment.calls = 0;
    let (begun, turns) = if let Some(open) = in_flight {
        let SessionState { started, turns, .. } = open;
        let (before, faults) = if session.has_rules() {
            let (plan, persona) = (episode.plan, &episode.persona.id);
            states_before(plan, persona, episode.run, &started.apps).await?
        } else {
            Default::default()
        };
        // Those of guests are in its record already.
        none_outside(episode, session, &faults)?;
        (Begun { started, before }, turns)
    } else {
        (start(episode, session).await?, Vec::new())
    };
    play_on(episode, session, begun, &turns, follows).await
}

/// Plays a session that has begun, after these turns of it.
pub(super) async fn play_on<'a>(
    episode: &mut Episode<'a>,
    session: &'a Session,
    begun: Begun,
    turns: &[Turn],
    follows: bool,
) -> Result<(), EpisodeError> {
    let Begun { started, before } = begun;
    let model = model(episode, session);
    let system = String::from_utf8_lossy(&episode.plan.folder.blob(&started.system)?).into_owned();
    let toolbox = episode.environment.toolbox.clone();
    let setup = episode.setup(channel(session));
    let mut agent = Agent::new(&model, setup, &toolbox, system.clone());
    let mut play = Play::new(episode, session, &started, before, &system);
    for turn in turns {
        agent.replay(turn);
    }
    let mut message = play.replay(turns, started.message)?;
    while let Next::AgentTurn { turn } = *play.tracker.next() {
        play.episode.plan.may_begin_turn()?;
        play.episode.place.begin(&session.id, turn);
        let span = tracing::info_span!("turn", turn);
        let played = play.turn(&mut agent, turn, &message);
        let Some(next) = played.instrument(span).await? else {
            break;
        };
        message = next;
    }
    play.episode.place.begin(&session.id, 0);
    play.finish(&mut agent, follows).await
}

fn model(episode: &Episode<'_>, session: &Session) -> Model {
    let steps = || session.reference.clone();
    Model::Scripted(match &episode.plan.roles.agent {
        AgentRole::Client(client) => return Model::Client(client.at(&episode.place)),
        AgentRole::External(external) => return Model::External(external.clone()),
        AgentRole::Process => return episode.process(),
        AgentRole::Reference => Scripted::Reference { steps: steps() },
        AgentRole::Reactive => Scripted::Reactive {
            steps: steps(),
            intents: session.intents.len(),
        },
        AgentRole::Nop => Scripted::Nop,
        AgentRole::Cheat => Scripted::Cheat,
    })
}

fn channel(session: &Session) -> Channel {
    match session.trigger {
        Trigger::User => Channel::Chat,
        Trigger::Environment { .. } => Channel::Environment,
        Trigger::Heartbeat => Channel::Heartbeat,
    }
}

/// The apps' states as graders see them, by app.
type States = BTreeMap<String, Arc<str>>;

/// A session before its first turn.
#[derive(Clone)]
pub(super) struct Begun {
    pub(super) started: SessionStarted,
    /// The apps' states, where a rule may ask for them.
    before: States,
}

/// Sets the clock, stages the files, binds the apps: first what the sessions of its group bring that are left out,
/// then its own.
pub(super) async fn start(
    episode: &mut Episode<'_>,
    session: &Session,
) -> Result<Begun, EpisodeError> {
    let plan = episode.plan;
    episode.environment.clock = SessionClock::new(session.clock);
    for other in plan.unplayed(episode.persona, session) {
        stage_files(episode, other)?;
        if keeps_records(plan) {
            add_records(episode, other).await?;
        }
    }
    stage_files(episode, session)?;
    add_records(episode, session).await?;
    let system = Agent::system_prompt(&episode.environment)?;
    let system = episode.plan.folder.put_blob(system.as_bytes())?;
    let changes = episode.take_changes(0, &[])?;
    let folders = episode.take_folders()?;
    let marks = episode.mark_apps(&mut BTreeMap::new()).await?;
    let (mut before, unread) = if session.has_rules() {
        episode.states().await
    } else {
        Default::default()
    };
    before.retain(|app, _| marks.apps.contains_key(app));
    let faults = [marks.faults, unread].concat();
    none_outside(episode, session, &faults)?;
    for fault in &faults {
        tracing::warn!(source = %fault.source, message = %fault.message, "fault");
    }
    let started = SessionStarted {
        session: session.id.clone(),
        clock: episode.environment.clock.to_string(),
        message: opening(session),
        system,
        inputs: inputs(plan, episode.persona, session),
        changes,
        folders,
        apps: marks.apps,
        faults,
    };
    episode.append(&Event::SessionStarted(started.clone()))?;
    Ok(Begun { started, before })
}

fn stage_files(episode: &mut Episode<'_>, session: &Session) -> Result<(), EpisodeError> {
    for file in &session.files {
        stage(
            &mut episode.environment.workspace,
            &file.path,
            &file.content,
        )?;
    }
    Ok(())
}

/// Adds a session's records at its own time, which is past where the session is not played.
async fn add_records(episode: &mut Episode<'_>, session: &Session) -> Result<(), EpisodeError> {
    for (name, records) in &session.apps {
        if let Some(app) = episode.environment.apps.get_mut(name)
            && let Err(error) = app.add(records, session.clock).await
        {
            return Err(episode.spot(&session.id).begins(error));
        }
    }
    Ok(())
}

/// Whether a session finds the records that earlier ones brought.
fn keeps_records(plan: &Plan) -> bool {
    plan.suite.reset == Reset::Episode
}

/// What a session is given of those of its group that are not played.
pub(super) fn inputs(plan: &Plan, persona: &Persona, session: &Session) -> Vec<Inputs> {
    let inputs = |other: &Session| Inputs {
        session: other.id.clone(),
        files: other.files.iter().map(|file| file.path.clone()).collect(),
        apps: other
            .apps
            .keys()
            .filter(|_| keeps_records(plan))
            .cloned()
            .collect(),
    };
    let unplayed = plan.unplayed(persona, session).into_iter();
    unplayed.map(inputs).collect()
}

/// The apps' states as they were, by what the record keeps of them; of an app that faults there is none.
async fn states_before(
    plan: &Plan,
    persona: &str,
    run: u32,
    apps: &BTreeMap<String, AppMark>,
) -> Result<(States, Vec<Fault>), EpisodeError> {
    let (mut before, mut faults) = (BTreeMap::new(), Vec::new());
    for (name, mark) in apps {
        let key = app_key(plan.seed, run, persona, name);
        let (plugin, snapshot) = (plan.plugins.get(name)?, plan.folder.blob(&mark.snapshot)?);
        let mut app = App::resume(plugin, plan.app_limits, key, snapshot, mark.calls).await?;
        match app.state().await {
            Ok(state) => {
                before.insert(name.clone(), state);
            }
            Err(fault) => faults.push(guest_fault(name, &fault)),
        }
    }
    Ok((before, faults))
}

/// A fault of the machine at the session's beginning or end ends the episode; one of a guest is data.
fn none_outside(
    episode: &Episode<'_>,
    session: &Session,
    faults: &[Fault],
) -> Result<(), EpisodeError> {
    let outside = |fault: &&Fault| fault.kind == FaultKind::Infrastructure;
    match faults.iter().find(outside) {
        Some(fault) => Err(episode.spot(&session.id).infrastructure(0, &fault.message)),
        None => Ok(()),
    }
}

/// What the agent is told first: a user's message as it is; a signal as what it is, so that nobody seems to have said it.
fn opening(session: &Session) -> String {
    match &session.trigger {
        Trigger::User => session.request.clone(),
        Trigger::Environment { source, payload } => {
            let signal = json!({ "signal": source, "text": session.request, "payload": payload });
            format!(
                "[environment signal]\n{}",
                serde_json::to_string_pretty(&signal).unwrap_or_default()
            )
        }
        Trigger::Heartbeat => format!("{HEARTBEAT}\n{}", session.request),
    }
}

impl<'e, 'a> Play<'e, 'a> {
    fn new(
        episode: &'e mut Episode<'a>,
        session: &'a Session,
        started: &SessionStarted,
        before: States,
        system: &str,
    ) -> Self {
        let plan = episode.plan;
        if let Some(words) = &mut episode.words {
            words::prepare(session);
            words.clear();
            words.show(system);
            for file in &session.files {
                words.show(&String::from_utf8_lossy(&file.content));
            }
        }
        Self {
            session,
            tracker: Tracker::new(
                plan.protocol,
                session.intents.len(),
                plan.suite.session.max_turns,
            ),
            checklist: Checklist::new(&session.checklist),
            messages: Arc::default(),
            calls: Arc::default(),
            changes: Arc::default(),
            pieces: Arc::default(),
            dossier: Dossier::new(plan, episode.persona, episode.run, session),
            before,
            marks: started.apps.clone(),
            usage: RoleUsage::default(),
            started: started.clone(),
            turns: Vec::new(),
            episode,
        }
    }

    /// Takes the turns of the record; the message that opens the next one.
    fn replay(&mut self, turns: &[Turn], opening: String) -> Result<String, EpisodeError> {
        let mut message = opening;
        for turn in turns {
            let wrong = grading::wrong_verdicts(&self.session.checklist, &turn.items);
            if let Some(wrong) = wrong.first() {
                let reason = format!("session `{}`, turn {}: {wrong}", turn.session, turn.turn);
                return Err(self.spot().record(reason));
            }
            let pieces = self.take_own_words(turn);
            Arc::make_mut(&mut self.pieces).extend(pieces);
            self.usage += turn.usage;
            self.marks.extend(turn.apps.clone());
            self.keep(turn);
            self.turns.push(turn.clone());
            self.episode.environment.calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
            message = turn.next.clone().unwrap_or_default();
        }
        self.tracker = tracker(self.episode.plan, self.session, turns)
            .map_err(|error| self.spot().record(error.to_string()))?;
        Ok(message)
    }

    /// What matchers are held against: nothing, where there are none.
    /// Where it is, for errors.
    fn spot(&self) -> Spot<'_> {
        self.episode.spot(&self.session.id)
    }

    fn user_stages(&mut self) -> Stages<'_> {
        Stages {
            spot: self.episode.spot(&self.session.id),
            folder: &self.episode.plan.folder,
            persona: self.episode.persona,
            session: self.session,
            user: &self.episode.user,
            tracker: &mut self.tracker,
        }
    }

    fn take_own_words(&mut self, turn: &Turn) -> Vec<Piece> {
        if self.session.matchers().next().is_none() {
            return Vec::new();
        }
        let words = self.episode.words.as_mut();
        words.map(|words| words.pieces(turn)).unwrap_or_default()
    }

    /// Plays and journals one turn; the user's next message, or None at the end.
    async fn turn(
        &mut self,
        agent: &mut Agent<'_>,
        number: u32,
        message: &str,
    ) -> Result<Option<String>, EpisodeError> {
        let began = Instant::now();
        let limits = self.episode.plan.suite.session;
        let limits = TurnLimits {
            iterations: limits.max_iterations,
            timeout: Duration::from_secs(limits.turn_timeout_s),
        };
        let clock = self.episode.environment.clock.to_string();
        let jobs = self.episode.environment.jobs.clone();
        let done = agent
            .turn(&mut self.episode.environment, number, message, limits)
            .await;
        let mut turn = self.turn_of(number, clock, message, &done).await?;
        let now = &self.episode.environment.jobs;
        turn.jobs = (*now != jobs).then(|| now.clone());
        let pieces = self.take_own_words(&turn);
        self.keep(&turn);
        self.end_of_turn(&done, number)?;
        let evidence = self.evidence(&mut turn, pieces).await?;
        turn.next = self.user_stages().play(&mut turn, &evidence).await?;
        turn.outcome = self.tracker.outcome();
        self.grade(&mut turn, &evidence).await?;
        if let Some(fault) = turn
            .faults
            .iter()
            .find(|fault| fault.kind == FaultKind::Infrastructure)
        {
            return Err(self.spot().infrastructure(number, &fault.message));
        }
        self.usage += turn.usage;
        self.checklist.take(&self.session.checklist, &turn.items);
        self.episode.environment.clock.turn();
        for fault in &turn.faults {
            let Fault {
                kind,
                source,
                message,
                ..
            } = fault;
            tracing::warn!(?kind, %source, %message, "fault");
        }
        let next = turn.next.clone();
        self.turns.push(turn.clone());
        self.episode.append(&Event::Turn(Box::new(turn)))?;
        self.report(number, began)?;
        Ok(next)
    }

    async fn turn_of(
        &mut self,
        number: u32,
        clock: String,
        message: &str,
        done: &TurnDone,
    ) -> Result<Turn, EpisodeError> {
        let changes = self.episode.take_changes(number, &done.steps)?;
        let folders = self.episode.take_folders()?;
        let marks = self.episode.mark_apps(&mut self.marks).await?;
        let mut faults = done.faults.clone();
        faults.extend(marks.faults);
        if let TurnEnd::Model(error) = &done.end {
            faults.push(Fault {
                kind: FaultKind::Model,
                source: "agent".into(),
                cause: "refused".into(),
                message: format!("failed to {error}"),
            });
        }
        Ok(Turn {
            session: self.session.id.clone(),
            turn: number,
            clock,
            message: message.to_owned(),
            steps: done.steps.clone(),
            response: done.response.clone(),
            written_calls: done.written_calls,
            changes,
            folders,
            apps: marks.apps,
            faults,
            usage: RoleUsage {
                agent: done.usage,
                ..RoleUsage::default()
            },
            ..Turn::default()
        })
    }

    fn keep(&mut self, turn: &Turn) {
        // What judges were shown of the last turn is gone: nothing is copied here.
        Arc::make_mut(&mut self.messages).extend(turn::messages(turn));
        Arc::make_mut(&mut self.calls).extend(turn::calls(turn).cloned());
        Arc::make_mut(&mut self.changes).extend(turn.changes.clone());
        self.checklist.take(&self.session.checklist, &turn.items);
    }

    /// Tells the rules how the agent's turn ended.
    fn end_of_turn(&mut self, done: &TurnDone, turn: u32) -> Result<(), EpisodeError> {
        let told = match &done.end {
            TurnEnd::Answered => self.tracker.turn_done().map(drop),
            TurnEnd::Timeout => self.tracker.break_off(Outcome::TurnTimeout).map(drop),
            TurnEnd::Model(ModelError::Refused { .. }) => {
                self.tracker.break_off(Outcome::ModelFault).map(drop)
            }
            TurnEnd::Model(error) => return Err(self.spot().unanswered(turn, error)),
            TurnEnd::Infrastructure => {
                let reason = done
                    .faults
                    .last()
                    .map_or("a guest timed out", |fault| &fault.message);
                return Err(self.spot().infrastructure(turn, reason));
            }
        };
        told.map_err(|error| self.spot().rules(&error))
    }

    /// What judges may look at: this turn, and the session so far.
    async fn evidence(
        &mut self,
        turn: &mut Turn,
        pieces: Vec<Piece>,
    ) -> Result<TurnEvidence, EpisodeError> {
        Arc::make_mut(&mut self.pieces).extend(pieces.iter().cloned());
        let past = Past {
            messages: Arc::clone(&self.messages),
            calls: Arc::clone(&self.calls),
            changes: Arc::clone(&self.changes),
        };
        let workspace = self.episode.seen();
        let read = |path: &str| workspace.read(&WorkspacePath::parse(path).ok()?).ok();
        let mut faults = Vec::new();
        let made = self.dossier.evidence(turn, past, read, &mut faults).await;
        turn.faults.extend(faults);
        let spot = self.spot();
        let made = made.map_err(|fault| spot.infrastructure(turn.turn, &fault.message))?;
        Ok(TurnEvidence {
            pieces,
            all_pieces: Arc::clone(&self.pieces),
            ..made
        })
    }

    /// Rules and rubrics of this turn.
    async fn grade(
        &mut self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
    ) -> Result<(), EpisodeError> {
        let items = &self.session.checklist;
        if items.is_empty() {
            return Ok(());
        }
        let due = self
            .checklist
            .due(self.episode.plan.protocol, items, turn.outcome.is_some());
        self.grade_rules(turn, &due).await?;
        let judge = self.episode.judge.clone();
        let folder = &self.episode.plan.folder;
        let asked = grading::rubrics(&judge, folder, self.session, &due, evidence, turn).await;
        asked.map_err(|error| error.at(self.spot(), turn.turn))
    }

    async fn grade_rules(
        &mut self,
        turn: &mut Turn,
        due: &[(usize, &Item)],
    ) -> Result<(), EpisodeError> {
        if due.iter().all(|(_, item)| grading::is_rubric(item)) {
            return Ok(());
        }
        let (states, faults) = self.episode.states().await;
        turn.faults.extend(faults);
        let state = |(app, before): (&String, &Arc<str>)| AppState {
            app: app.clone(),
            before: before.clone(),
            now: states.get(app).unwrap_or(before).clone(),
        };
        let apps: Vec<AppState> = self.before.iter().map(state).collect();
        let evidence = Evidence {
            turn: turn.turn,
            calls: &self.calls,
            messages: &self.messages,
            changes: &self.changes,
            apps: &apps,
        };
        let workspace = self.episode.seen().clone();
        let graders = Arc::clone(&self.episode.graders);
        let protocol = self.episode.plan.protocol;
        let graded = grading::grade(&graders, protocol, due, &evidence, &workspace).await;
        turn.items.extend(graded.verdicts);
        turn.faults.extend(graded.faults);
        Ok(())
    }

    fn report(&mut self, turn: u32, began: Instant) -> Result<(), EpisodeError> {
        let guests = self.episode.take_measured();
        let Episode {
            plan, persona, run, ..
        } = &*self.episode;
        self.episode.tell(Progress::TurnFinished {
            persona: plan.shown(&persona.id),
            run: *run,
            session: self.session.id.clone(),
            turn,
            is_last: self.tracker.outcome().is_some(),
        });
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let timing = Timing {
            persona: persona.id.clone(),
            run: *run,
            session: self.session.id.clone(),
            turn,
            ms,
            ended: jiff::Timestamp::now().to_string(),
            guests,
        };
        Ok(plan.folder.put_timing(&timing)?)
    }

    /// The memory step, if another session follows, the scores, the last line of the session.
    async fn finish(mut self, agent: &mut Agent<'_>, follows: bool) -> Result<(), EpisodeError> {
        let outcome = outcome(&self.tracker, &self.turns).unwrap_or(Outcome::MaxTurns);
        let remembered = agent
            .finish(&mut self.episode.environment, follows)
            .await
            .map_err(|error| self.spot().unanswered(self.tracker.turns(), &error))?;
        none_outside(self.episode, self.session, remembered.fault.as_slice())?;
        self.usage.agent += remembered.usage;
        let changes = self.episode.take_changes(0, &[])?;
        let scores = self.checklist.scores(&self.session.checklist);
        let statuses = self.tracker.statuses();
        let intents = self.session.intents.iter().zip(statuses);
        let finished = SessionFinished {
            session: self.session.id.clone(),
            outcome,
            turns: self.tracker.turns(),
            intents: intents
                .map(|(intent, &status)| IntentStatus {
                    intent: intent.id.clone(),
                    status,
                })
                .collect(),
            proc: IntentCounts::of(statuses).proc().unwrap_or_default(),
            comp: score::comp(&scores),
            items: scores,
            memory: remembered.steps,
            changes,
            faults: remembered.fault.into_iter().collect(),
            usage: self.usage,
        };
        let Episode {
            plan, persona, run, ..
        } = &*self.episode;
        let place = Place {
            suite: &plan.suite.id,
            persona: &persona.id,
            run: *run,
            title: &self.session.title,
            category: self.session.category,
        };
        let trajectory = Trajectory::new(
            &place,
            self.started,
            self.turns,
            finished.clone(),
            &plan.folder,
        )?;
        // Before the journal's line: a finished session never lacks its trajectory.
        plan.folder
            .put_trajectory(&persona.id, *run, &self.session.id, &trajectory)?;
        let SessionFinished { outcome, turns, .. } = &finished;
        tracing::info!(
            ?outcome,
            turns,
            proc = finished.proc,
            comp = finished.comp,
            scored = outcome.scored(),
            "finished"
        );
        let finished = Event::SessionFinished(Box::new(finished));
        Ok(self.episode.append(&finished)?)
    }
}

/// Whether the judge of rubrics gave no answer in this turn, which leaves the session unscored.
pub(super) fn lacks_verdicts(turn: &Turn) -> bool {
    let by_judge = |fault: &Fault| fault.kind == FaultKind::Judge && fault.source == JUDGE;
    turn.faults.iter().any(by_judge)
}

/// How a session ended, by its rules and its record.
pub(super) fn outcome(tracker: &Tracker, turns: &[Turn]) -> Option<Outcome> {
    if turns.iter().any(lacks_verdicts) {
        return Some(Outcome::JudgeFault);
    }
    tracker.outcome()
}

/// The rules' state after these turns of the record.
pub(super) fn tracker(
    plan: &Plan,
    session: &Session,
    turns: &[Turn],
) -> Result<Tracker, SessionError> {
    let changes: Vec<_> = turns.iter().flat_map(|turn| turn.intents.clone()).collect();
    let facts = turns.iter().filter(|turn| turn.answers_fact);
    let facts: Vec<u32> = facts.map(|turn| turn.turn).collect();
    Tracker::replay(
        plan.played_by,
        session.intents.len(),
        plan.suite.session.max_turns,
        u32::try_from(turns.len()).unwrap_or(u32::MAX),
        &changes,
        &facts,
        turns.last().and_then(|turn| turn.outcome),
    )
}
