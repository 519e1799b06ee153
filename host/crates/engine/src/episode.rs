//! One persona's episode in one run: opens the workspace and the apps, plays the sessions in order, and can go on where a
//! journal ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use jiff::civil::DateTime;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracing::Instrument;

use super::grading::{self, Graders};
use super::outline;
use super::plan::Plan;
use super::spending::LimitReached;
use super::tools::toolbox;
use super::words::OwnWords;
use super::{session, wake};
use crate::judge::Judge;
use crate::user::UserAgent;
use pibench_agent::environment::guest_fault;
use pibench_agent::{AgentPromptError, Environment};
use pibench_core::path::WorkspacePath;
use pibench_core::progress::Progress;
use pibench_core::record::{FileChange, GuestCall};
use pibench_core::vocabulary::Ablation;
use pibench_model::ModelError;
use pibench_model::place::Place;
use pibench_record::event::{AppMark, EpisodeStarted, Event, Fault, VERSION};
use pibench_record::folder::FolderError;
use pibench_record::standing::{EpisodeResult, EpisodeTally};
use pibench_record::{EpisodeState, Journal, JournalError, RunFolder, SessionClock};
use pibench_sandbox::app::{OpenError, app_key};
use pibench_sandbox::shell::SHELL;
use pibench_sandbox::workspace::{Quota, Workspace, WorkspaceError};
use pibench_sandbox::{App, Documents, Grader, LoadError, Shell};
use pibench_suite::manifest::{Person, Reset};
use pibench_suite::suite::{Persona, Session, USER_MD};

/// Why an episode cannot go on. What was journaled stays; `--resume` goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum EpisodeError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("prepare the tools of persona `{persona}`: {reason}")]
    Tools { persona: String, reason: String },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Prompt(#[from] AgentPromptError),
    #[error("go on with {persona} in run {run}: {reason}")]
    Record {
        persona: String,
        run: u32,
        reason: String,
    },
    /// The run may cost no more. Nothing is lost.
    #[error(transparent)]
    Spent(#[from] LimitReached),
    /// A model's server rejects what it is asked: the operator has to mend it. The turn in flight is not journaled.
    #[error("play {persona}/{session}, turn {turn}: {reason}")]
    Setup {
        persona: String,
        session: String,
        turn: u32,
        reason: String,
    },
    /// Something outside broke. The turn in flight is lost, and nothing else.
    #[error("play {persona}/{session}, turn {turn}: {reason}")]
    Infrastructure {
        persona: String,
        session: String,
        turn: u32,
        reason: String,
    },
}

impl EpisodeError {
    /// What ended a turn (0 between turns) before its model had answered.
    pub(super) fn unanswered(persona: &str, session: &str, turn: u32, error: &ModelError) -> Self {
        let (persona, session) = (persona.to_owned(), session.to_owned());
        let reason = format!("failed to {error}");
        match error {
            ModelError::Setup { .. } => Self::Setup {
                persona,
                session,
                turn,
                reason,
            },
            ModelError::Infrastructure { .. } | ModelError::Refused { .. } => {
                Self::Infrastructure {
                    persona,
                    session,
                    turn,
                    reason,
                }
            }
        }
    }

    /// Whether going on later may succeed.
    pub fn is_infrastructure(&self) -> bool {
        match self {
            Self::Infrastructure { .. } => true,
            Self::Load(LoadError::Fault { fault, .. })
            | Self::Open(
                OpenError::Fault { fault, .. } | OpenError::Load(LoadError::Fault { fault, .. }),
            ) => fault.is_infrastructure(),
            _ => false,
        }
    }
}

/// An episode in play. One task owns it, with its workspace and the stores of its apps.
pub(super) struct Episode<'a> {
    pub(super) plan: &'a Plan,
    pub(super) persona: &'a Persona,
    pub(super) run: u32,
    pub(super) environment: Environment,
    pub(super) graders: Arc<Graders>,
    journal: Journal,
    pub(super) progress: &'a mpsc::UnboundedSender<Progress>,
    /// Where the roles' models are asked from.
    pub(super) place: Place,
    pub(super) user: UserAgent,
    pub(super) judge: Judge,
    /// What the agent was shown in its session, for scripted judges: others read the texts themselves. One for all
    /// sessions, because it takes much room.
    pub(super) words: Option<OwnWords>,
    /// The journal's events, as far as scores are made of them.
    tally: EpisodeTally,
}

/// How many sessions a journal has finished.
pub(super) fn finished_sessions(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| matches!(event, Event::SessionFinished(_)))
        .count()
}

/// The first line of an episode's journal.
pub(super) fn started(plan: &Plan, persona: &Persona, run: u32) -> EpisodeStarted {
    let Plan {
        suite,
        protocol,
        seed,
        roles,
        ..
    } = plan;
    EpisodeStarted {
        version: VERSION,
        suite: suite.id.clone(),
        suite_digest: suite.digest.clone(),
        persona: persona.id.clone(),
        run,
        seed: *seed,
        protocol: *protocol,
        agent: roles.agent_name.clone(),
        user: roles.user_name.clone(),
        judge: roles.judge_name.clone(),
    }
}

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
    let past = EpisodeState::of(&events, plan.ablate);
    let tally = EpisodeTally::of(&events);
    let result = |tally: EpisodeTally| {
        let outline = outline::persona(plan, persona);
        tally.result(plan.protocol, &outline, run)
    };
    if past.over {
        return Ok(result(tally));
    }
    let place = Place::new(&persona.id, run);
    let mut episode = Episode {
        user: plan.roles.user.at(&place),
        judge: plan.roles.judge.at(&place),
        words: plan.roles.lexical().then(|| OwnWords::new(plan.protocol)),
        place,
        plan,
        persona,
        run,
        environment: open(plan, persona, run, &past).await?,
        graders: Arc::new(grading::load(plan, plan.sessions(persona))?),
        journal,
        progress,
        tally,
    };
    drop(opening);
    episode.play(past).await?;
    Ok(result(episode.tally))
}

async fn open(
    plan: &Plan,
    persona: &Persona,
    run: u32,
    past: &EpisodeState,
) -> Result<Environment, EpisodeError> {
    let workspace = open_workspace(&plan.folder, persona, run, past)?;
    let toolbox = toolbox(plan, persona).await?;
    let mut apps = BTreeMap::new();
    for name in persona.app_names() {
        let plugin = plan.plugins.get(&name)?;
        let key = app_key(plan.seed, run, &persona.id, &name);
        let app = match past.apps.get(&name) {
            Some(AppMark { snapshot, calls }) => {
                App::resume(
                    plugin,
                    plan.app_limits,
                    key,
                    plan.folder.blob(snapshot)?,
                    *calls,
                )
                .await?
            }
            None => {
                App::open(
                    plugin,
                    plan.app_limits,
                    key,
                    &seed(persona, &name),
                    first_clock(persona),
                )
                .await?
            }
        };
        apps.insert(name, app);
    }
    let clock = past
        .clock
        .unwrap_or_else(|| SessionClock::new(first_clock(persona)));
    Ok(Environment {
        workspace,
        apps,
        shell: Shell::new(
            Arc::clone(&plan.plugins),
            plan.shell_limits,
            app_key(plan.seed, run, &persona.id, SHELL),
        ),
        documents: Documents::new(Arc::clone(&plan.plugins), plan.document_limits),
        clock,
        toolbox,
        prompts: Arc::clone(&plan.roles.agent_prompts),
        web: Arc::clone(&plan.web),
        vision: plan.roles.agent.has_vision(),
        jobs: past.jobs.clone(),
        woken: 0,
        calls: 0,
    })
}

fn first_clock(persona: &Persona) -> DateTime {
    persona
        .sessions
        .first()
        .map(|session| session.clock)
        .unwrap_or_default()
}

/// What an app starts from: the persona's people and records.
fn seed(persona: &Persona, app: &str) -> Value {
    let none = json!({});
    let records = persona.apps.get(app).unwrap_or(&none);
    app_seed(&persona.people, records, persona.world, app)
}

/// People with their passwords in this app, and records, as an app is opened on them.
pub fn app_seed(people: &[Person], records: &Value, world: bool, app: &str) -> Value {
    let people: Vec<Value> = people.iter().map(|person| account(person, app)).collect();
    let mut seed = json!({ "people": people, "records": records });
    // Apps that know no world are not asked to do without it.
    if !world {
        seed["world"] = json!(false);
    }
    seed
}

fn account(person: &Person, app: &str) -> Value {
    let Person {
        first_name,
        last_name,
        email,
        phone_number,
        password,
        passwords,
    } = person;
    json!({
        "first_name": first_name,
        "last_name": last_name,
        "email": email,
        "phone_number": phone_number,
        "password": passwords.get(app).or(password.as_ref()),
    })
}

/// The workspace as the journal has it. A folder from before is made anew: what a killed process wrote after its last
/// line must not stay.
fn open_workspace(
    folder: &RunFolder,
    persona: &Persona,
    run: u32,
    past: &EpisodeState,
) -> Result<Workspace, EpisodeError> {
    let path = folder.workspace(&persona.id, run);
    let failed = |reason: String| EpisodeError::Record {
        persona: persona.id.clone(),
        run,
        reason,
    };
    if path.exists() {
        std::fs::remove_dir_all(&path)
            .map_err(|error| failed(format!("clear {}: {error}", path.display())))?;
    }
    let utf8 = Utf8Path::from_path(&path)
        .ok_or_else(|| failed(format!("{} is not UTF-8", path.display())))?;
    let mut workspace = Workspace::create(utf8, Quota::default())?;
    if past.finished.is_empty() && past.session.is_none() {
        furnish(&mut workspace, persona)?;
    }
    for (path, blob) in &past.files {
        write(&mut workspace, path, &folder.blob(blob)?)?;
    }
    if !past.files.is_empty() {
        // These changes are in the journal already.
        workspace.take_changes()?;
    }
    Ok(workspace)
}

/// What stands in the workspace before the first session: what the agent is told of the user, its skills, and the
/// persona's files.
fn furnish(workspace: &mut Workspace, persona: &Persona) -> Result<(), WorkspaceError> {
    if !persona.user_md.is_empty() {
        write(workspace, USER_MD, persona.user_md.as_bytes())?;
    }
    for file in persona.skills.iter().chain(&persona.files) {
        write(workspace, &file.path, &file.content)?;
    }
    Ok(())
}

pub(super) fn write(
    workspace: &mut Workspace,
    path: &str,
    content: &[u8],
) -> Result<(), WorkspaceError> {
    let path = WorkspacePath::parse(path).map_err(|source| WorkspaceError::Path {
        text: path.to_owned(),
        source,
    })?;
    workspace.write(&path, content)
}

impl Episode<'_> {
    async fn play(&mut self, mut past: EpisodeState) -> Result<(), EpisodeError> {
        if !past.started {
            self.start()?;
        }
        for session in self.plan.sessions(self.persona) {
            if past.finished.contains(&session.id) {
                continue;
            }
            let in_flight = past.take_open_session();
            if in_flight.is_none() && self.plan.ablate == Some(Ablation::Dependencies) {
                self.begin_anew().await?;
            } else if in_flight.is_none() {
                if self.plan.suite.reset == Reset::Session {
                    self.reset_apps(session.clock).await?;
                }
                let span = tracing::debug_span!("wake", before = %session.id);
                let woken = std::mem::take(&mut past.woken);
                let played = wake::play(self, session.clock, woken);
                played.instrument(span).await?;
            }
            let span = tracing::info_span!("session", session = %session.id);
            let played = session::play(self, session, in_flight);
            played.instrument(span).await?;
        }
        Ok(self.append(&Event::EpisodeFinished)?)
    }

    /// Whether a session comes after this one that can know of it.
    pub(super) fn is_followed(&self, session: &Session) -> bool {
        let alone = self.plan.ablate == Some(Ablation::Dependencies);
        let last = self.plan.sessions(self.persona).last();
        !alone && last.is_some_and(|last| last.id != session.id)
    }

    fn start(&mut self) -> Result<(), EpisodeError> {
        let started = started(self.plan, self.persona, self.run);
        Ok(self.append(&Event::EpisodeStarted(started))?)
    }

    /// Adds an event to the journal.
    pub(super) fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.journal.append(event)?;
        self.tally.apply(event);
        Ok(())
    }

    /// All as at the episode's start, for a session that is played alone.
    async fn begin_anew(&mut self) -> Result<(), EpisodeError> {
        self.reset_apps(first_clock(self.persona)).await?;
        self.reset_workspace()?;
        self.environment.jobs.open.clear();
        Ok(())
    }

    async fn reset_apps(&mut self, clock: DateTime) -> Result<(), EpisodeError> {
        for (name, app) in &mut self.environment.apps {
            let plugin = self.plan.plugins.get(name)?;
            let key = app_key(self.plan.seed, self.run, &self.persona.id, name);
            let seed = seed(self.persona, name);
            *app = App::open(plugin, self.plan.app_limits, key, &seed, clock).await?;
        }
        Ok(())
    }

    /// The workspace as at the episode's start, without what earlier sessions left, memory among it.
    fn reset_workspace(&mut self) -> Result<(), EpisodeError> {
        let workspace = &mut self.environment.workspace;
        // Sorted by path: what is in a folder comes after it, so it goes first.
        for entry in workspace.list(&WorkspacePath::ROOT, true)?.iter().rev() {
            workspace.remove(&entry.path)?;
        }
        furnish(workspace, self.persona)?;
        Ok(())
    }

    /// What changed in the workspace since the last call, with the new content kept as blobs.
    pub(super) fn take_changes(&mut self, turn: u32) -> Result<Vec<FileChange>, EpisodeError> {
        let changes = self.environment.workspace.take_changes()?;
        let mut kept = Vec::new();
        for change in changes {
            let blob = match self.environment.workspace.read(&change.path) {
                Ok(content) => Some(self.plan.folder.put_blob(&content)?),
                Err(WorkspaceError::NotFound(_)) => None,
                Err(error) => return Err(error.into()),
            };
            let path = change.path.to_string();
            // What a file of the scaffold's own gained stands in the call's record.
            let added = if session::is_kept_result(&path) {
                String::new()
            } else {
                change.added
            };
            kept.push(FileChange {
                turn,
                path,
                kind: change.kind,
                blob,
                before: change.before,
                added,
            });
        }
        Ok(kept)
    }

    /// Keeps the apps' states. Those that changed since `known` are told, and `known` is brought up to date.
    pub(super) async fn mark_apps(
        &mut self,
        known: &mut BTreeMap<String, AppMark>,
    ) -> Result<Marks, EpisodeError> {
        let mut marks = Marks::default();
        for (name, app) in &mut self.environment.apps {
            let calls = app.calls();
            let snapshot = match app.snapshot().await {
                Ok(bytes) => self.plan.folder.put_blob(bytes)?,
                Err(fault) => {
                    marks.faults.push(guest_fault(name, &fault));
                    continue;
                }
            };
            let mark = AppMark { snapshot, calls };
            if known.get(name) != Some(&mark) {
                known.insert(name.clone(), mark.clone());
                marks.apps.insert(name.clone(), mark);
            }
        }
        Ok(marks)
    }

    /// What the calls into guests took since the last call of this.
    pub(super) fn take_measured(&mut self) -> Vec<GuestCall> {
        let apps = self.environment.apps.values_mut();
        let mut measured: Vec<GuestCall> = apps.flat_map(App::take_measured).collect();
        measured.extend(self.graders.values().flat_map(Grader::take_measured));
        measured.extend(self.environment.shell.take_measured());
        measured
    }

    /// The apps' states as graders see them. An app that faults has none.
    pub(super) async fn states(&mut self) -> (BTreeMap<String, Arc<str>>, Vec<Fault>) {
        let mut states = BTreeMap::new();
        let mut faults = Vec::new();
        for (name, app) in &mut self.environment.apps {
            match app.state().await {
                Ok(state) => {
                    states.insert(name.clone(), state);
                }
                Err(fault) => faults.push(guest_fault(name, &fault)),
            }
        }
        (states, faults)
    }
}

/// Apps whose state was kept, and those that could not say it.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) apps: BTreeMap<String, AppMark>,
    pub(super) faults: Vec<Fault>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_sandbox::GuestFault;

    #[test]
    fn an_app_that_got_no_time_to_open_is_tried_again_and_one_that_traps_is_not() {
        let open = |fault| {
            EpisodeError::from(OpenError::Fault {
                app: "a".into(),
                fault,
            })
        };
        let load = |fault| {
            EpisodeError::from(LoadError::Fault {
                name: "a".into(),
                fault,
            })
        };
        let (late, greedy) = (
            GuestFault::Timeout { limit_ms: 1 },
            GuestFault::Fuel { limit: 1 },
        );
        assert!(open(late.clone()).is_infrastructure() && load(late).is_infrastructure());
        assert!(!open(greedy.clone()).is_infrastructure() && !load(greedy).is_infrastructure());
    }
}
