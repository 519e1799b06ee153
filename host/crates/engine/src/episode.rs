//! One persona's episode in one run: its workspace, its apps and its journal, opened as they are at the start or where the
//! journal ends. Sessions and wakes are played on it; it knows neither.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use jiff::civil::DateTime;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::error::{EpisodeError, Spot};
use super::grading::{self, Graders};
use super::outline;
use super::plan::{AgentRole, Plan};
use super::temporary::make_temporary_folder;
use super::turn::{repeats, results};
use super::words::OwnWords;
use crate::judge::Judge;
use crate::user::UserAgent;
use pibench_agent::environment::guest_fault;
use pibench_agent::{Channel, Environment, Setup};
use pibench_core::path::WorkspacePath;
use pibench_core::progress::{Progress, Spent};
use pibench_core::record::{FileChange, GuestCall};
use pibench_core::vocabulary::Protocol;
use pibench_model::Model;
use pibench_model::external::External;
use pibench_model::place::Place;
use pibench_record::event::{
    AppMark, EpisodeStarted, Event, Fault, SessionFinished, Step, VERSION,
};
use pibench_record::standing::{EpisodeResult, EpisodeTally};
use pibench_record::{EpisodeState, Journal, JournalError, RunFolder, SessionClock, journal};
use pibench_sandbox::app::app_key;
use pibench_sandbox::policy::Origin;
use pibench_sandbox::shell::SHELL;
use pibench_sandbox::workspace::{
    Quota, View, Workspace, WorkspaceError, parse_path, remove_folder,
};
use pibench_sandbox::{App, Documents, Grader, Shell};
use pibench_suite::manifest::Person;
use pibench_suite::suite::{Persona, USER_MD};

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
    /// The workspace's folders that hold nothing, as the journal has them.
    folders: Vec<String>,
    /// The agent, where it is a process of its own: what it does to files is found by comparison.
    external: Option<External>,
    /// What is judged and graded of such an agent's workspace, in which it may be at work all the time.
    recorded: Option<Recorded>,
}

/// A workspace as the journal has it, in a folder that nobody else writes to.
struct Recorded {
    workspace: Workspace,
    _dir: tempfile::TempDir,
}

impl Recorded {
    fn open(folder: &RunFolder, past: &EpisodeState) -> Result<Self, String> {
        let dir = make_temporary_folder()?;
        let path = dir.path().join("workspace");
        let path = Utf8Path::from_path(&path).ok_or("use a temporary folder: it is not UTF-8")?;
        let workspace = Workspace::create(path, Quota::default());
        let mut workspace = workspace.map_err(|error| error.to_string())?;
        restore(&mut workspace, folder, past).map_err(|error| error.to_string())?;
        Ok(Self {
            workspace,
            _dir: dir,
        })
    }
}

/// Puts in what the journal has of a workspace.
fn restore(
    workspace: &mut Workspace,
    folder: &RunFolder,
    past: &EpisodeState,
) -> Result<(), EpisodeError> {
    for (path, blob) in &past.files {
        stage(workspace, path, &folder.blob(blob)?)?;
    }
    Ok(workspace.set_empty_folders(&past.folders)?)
}

/// Does to a workspace what was recorded; `blob` gives what a file holds, or None where nobody has it.
pub(super) fn follow(
    workspace: &mut Workspace,
    changes: &[FileChange],
    mut blob: impl FnMut(&str) -> Result<Option<Vec<u8>>, EpisodeError>,
) -> Result<(), EpisodeError> {
    // What goes may stand where something else comes.
    for change in changes.iter().filter(|change| change.blob.is_none()) {
        if let Ok(path) = WorkspacePath::parse(&change.path) {
            workspace.remove(&path)?;
        }
    }
    for change in changes {
        if let Some(name) = &change.blob
            && let Some(content) = blob(name)?
        {
            stage(workspace, &change.path, &content)?;
        }
    }
    Ok(())
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

/// What an episode's lines come to.
pub(super) fn result(
    plan: &Plan,
    persona: &Persona,
    run: u32,
    tally: EpisodeTally,
) -> EpisodeResult {
    let outline = outline::persona(plan, persona);
    tally.result(plan.protocol, &outline, run)
}

/// A session's end for the displays, when the tally has it.
pub(super) fn ended(
    plan: &Plan,
    persona: &Persona,
    run: u32,
    tally: &EpisodeTally,
    finished: &SessionFinished,
) -> Progress {
    let outline = outline::persona(plan, persona);
    let is_scored = finished.outcome.scored();
    Progress::SessionFinished {
        persona: plan.shown(&persona.id),
        run,
        session: finished.session.clone(),
        outcome: finished.outcome,
        turns: tally.turns(&finished.session),
        proc: is_scored.then_some(finished.proc),
        comp: finished.comp.filter(|_| is_scored),
        counted: tally.counted(plan.protocol, &outline, &finished.session),
        spent: spent(plan),
    }
}

pub(super) fn spent(plan: &Plan) -> Spent {
    if !plan.roles.paid() {
        return Spent::Nothing;
    }
    // An agent from outside pays for itself, and does not say what.
    let outside = matches!(plan.roles.agent, AgentRole::External(_));
    if outside || !plan.roles.unpriced.is_empty() {
        return Spent::Unknown;
    }
    let known = plan.spending.meter.known();
    known.map_or(Spent::Unknown, Spent::Known)
}

/// Opens what the agent acts on. `kept`: apps that are as `past` has them.
async fn open_environment(
    plan: &Plan,
    persona: &Persona,
    run: u32,
    past: &EpisodeState,
    mut kept: BTreeMap<String, App>,
) -> Result<Environment, EpisodeError> {
    let workspace = open_workspace(&plan.folder, persona, run, past)?;
    let toolbox = plan.toolbox(persona).await?;
    let mut apps = BTreeMap::new();
    for name in persona.app_names() {
        if let Some(app) = kept.remove(&name) {
            apps.insert(name, app);
            continue;
        }
        let plugin = plan.plugins.get(&name)?;
        let key = app_key(plan.seed, run, &persona.id, &name);
        let app = if let Some(AppMark { snapshot, calls }) = past.apps.get(&name) {
            let snapshot = plan.folder.blob(snapshot)?;
            App::resume(plugin, plan.app_limits, key, snapshot, *calls).await?
        } else {
            let mut seed = seed(persona, &name);
            // Apps of others may not know the word.
            if plan.protocol == Protocol::PiBench && plugin.origin == Origin::Own {
                seed["all_rows"] = json!(true);
            }
            let clock = first_clock(persona);
            let opened = App::open(plugin, plan.app_limits, key, &seed, clock).await;
            opened.map_err(|error| EpisodeError::Begin {
                place: persona.id.clone(),
                error: Box::new(error),
            })?
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

pub(super) fn first_clock(persona: &Persona) -> DateTime {
    persona
        .sessions
        .first()
        .map(|session| session.clock)
        .unwrap_or_default()
}

/// What an app starts from: the persona's people and records.
pub(super) fn seed(persona: &Persona, app: &str) -> Value {
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
    let utf8 = Utf8Path::from_path(&path)
        .ok_or_else(|| failed(format!("{} is not UTF-8", path.display())))?;
    remove_folder(utf8)
        .map_err(|error| failed(format!("clear {}: {error}; remove it", path.display())))?;
    let mut workspace = Workspace::create(utf8, Quota::default())?;
    if past.finished.is_empty() && past.session.is_none() {
        furnish(&mut workspace, persona)?;
    }
    restore(&mut workspace, folder, past)?;
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
        stage(workspace, USER_MD, persona.user_md.as_bytes())?;
    }
    for file in persona.skills.iter().chain(&persona.files) {
        stage(workspace, &file.path, &file.content)?;
    }
    Ok(())
}

/// See [`Workspace::stage`].
pub(super) fn stage(
    workspace: &mut Workspace,
    path: &str,
    content: &[u8],
) -> Result<(), WorkspaceError> {
    workspace.stage(&parse_path(path)?, content)
}

impl<'a> Episode<'a> {
    /// Tells the displays, of this process and of those who follow the run from its folder.
    pub(super) fn tell(&self, event: Progress) {
        self.plan.spending.meter.enter(&event);
        // Nobody may be listening.
        let _ = self.progress.send(event);
    }

    /// Opens it as `past` left it, with the journal in which it goes on.
    pub(super) async fn open(
        plan: &'a Plan,
        persona: &'a Persona,
        run: u32,
        past: &EpisodeState,
        journal: Journal,
        tally: EpisodeTally,
        progress: &'a mpsc::UnboundedSender<Progress>,
    ) -> Result<Self, EpisodeError> {
        let place = Place::new(&persona.id, run);
        Ok(Self {
            user: plan.roles.user.at(&place),
            judge: plan.roles.judge.at(&place),
            words: plan.roles.lexical().then(|| OwnWords::new(plan.protocol)),
            place,
            plan,
            persona,
            run,
            environment: open_environment(plan, persona, run, past, BTreeMap::new()).await?,
            graders: Arc::new(grading::load(plan, plan.sessions(persona))?),
            journal,
            progress,
            tally,
            folders: past.folders.clone(),
            external: None,
            recorded: None,
        })
    }

    /// Its agent is a process of its own, which finds the workspace as `past` has it.
    pub(super) fn set_player(
        &mut self,
        external: External,
        past: &EpisodeState,
    ) -> Result<(), EpisodeError> {
        self.external = Some(external);
        // From here on what it does to files is found, and what is recorded of that is kept beside.
        let recorded = Recorded::open(&self.plan.folder, past);
        let recorded = recorded.map_err(|reason| EpisodeError::Record {
            persona: self.persona.id.clone(),
            run: self.run,
            reason: format!(
                "cannot keep a copy of the workspace in the temporary folder (TMPDIR): {reason}"
            ),
        })?;
        self.recorded = Some(recorded);
        Ok(self.environment.workspace.watch()?)
    }

    /// The workspace for judges and graders, as it was recorded last: what a process of the agent's does meanwhile counts to the
    /// next turn. An agent that acts by calls alone has changed nothing since.
    pub(super) fn seen(&self) -> &View {
        let recorded = self.recorded.as_ref();
        let workspace = recorded.map_or(&self.environment.workspace, |known| &known.workspace);
        workspace.view()
    }

    /// No more sessions are played by its agent.
    pub(super) fn let_go(&mut self) {
        self.external = None;
    }

    /// The agent's process in the place of a model.
    pub(super) fn process(&self) -> Model {
        // Whoever plays by a process has one.
        Model::External(self.external.clone().unwrap_or_default())
    }

    /// What it came to.
    pub(super) fn result(self) -> EpisodeResult {
        result(self.plan, self.persona, self.run, self.tally)
    }

    /// How the agent is set up in each of its sessions.
    pub(super) fn setup(&self, channel: Channel) -> Setup {
        Setup {
            protocol: self.plan.protocol,
            window: self.plan.suite.session.window_tokens as usize,
            channel,
        }
    }

    /// A session of it, for errors.
    pub(super) fn spot<'s>(&'s self, session: &'s str) -> Spot<'s> {
        Spot {
            persona: &self.persona.id,
            run: self.run,
            session,
        }
    }

    /// Adds an event to the journal. A session that ends by it is told.
    pub(super) fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.journal.append(event)?;
        self.tally.apply(event);
        if let Event::SessionFinished(finished) = event {
            let (persona, run) = (self.persona, self.run);
            self.tell(ended(self.plan, persona, run, &self.tally, finished));
        }
        Ok(())
    }

    /// Makes the workspace anew as the journal has it: what a process of the agent's left there and is not recorded goes. The
    /// process has ended.
    pub(super) fn make_workspace_anew(&mut self) -> Result<(), EpisodeError> {
        let journal = self.plan.folder.journal(&self.persona.id, self.run);
        let past = EpisodeState::of(&journal::events(&journal)?, self.plan.ablate);
        self.environment.workspace =
            open_workspace(&self.plan.folder, self.persona, self.run, &past)?;
        Ok(())
    }

    /// Adds its last line. Nobody makes its workspace again after that.
    pub(super) fn finish(&mut self) -> Result<(), EpisodeError> {
        self.plan
            .folder
            .sync_workspace(&self.persona.id, self.run)?;
        Ok(self.append(&Event::EpisodeFinished)?)
    }

    /// All as at the episode's start, for a session that is played alone.
    pub(super) async fn begin_anew(&mut self) -> Result<(), EpisodeError> {
        self.reset_apps(first_clock(self.persona)).await?;
        self.reset_workspace()?;
        self.environment.jobs.open.clear();
        Ok(())
    }

    /// All as it was when the session began that the record ends in. Turns change an app by calls alone: one that was not
    /// called stays.
    pub(super) async fn return_to(&mut self, past: &EpisodeState) -> Result<(), EpisodeError> {
        let mut kept = std::mem::take(&mut self.environment.apps);
        kept.retain(|name, app| {
            past.apps
                .get(name)
                .is_some_and(|mark| mark.calls == app.calls())
        });
        let opened = open_environment(self.plan, self.persona, self.run, past, kept);
        self.environment = opened.await?;
        self.folders.clone_from(&past.folders);
        Ok(())
    }

    /// The apps as at the start, at this moment.
    pub(super) async fn reset_apps(&mut self, clock: DateTime) -> Result<(), EpisodeError> {
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
        workspace.clear()?;
        furnish(workspace, self.persona)?;
        Ok(())
    }

    /// What changed in the workspace since the last call, by these steps of the agent, with the new content kept as blobs.
    pub(super) fn take_changes(
        &mut self,
        turn: u32,
        steps: &[Step],
    ) -> Result<Vec<FileChange>, EpisodeError> {
        if self.external.is_some() {
            for told in self.environment.workspace.compare()? {
                tracing::warn!(%told, "the agent left something in the workspace that is not kept");
            }
        }
        let folder = &self.plan.folder;
        let results = results(folder, steps.iter().flat_map(Step::calls));
        let mut kept = Vec::new();
        let workspace = &mut self.environment.workspace;
        workspace.take_contents(|change, content| {
            let blob = content.map(|content| folder.put_blob(content));
            let before = change.before.map(|hash| folder.name_of(&hash));
            let mut change = FileChange {
                turn,
                path: change.path.to_string(),
                kind: change.kind,
                blob: blob.transpose()?,
                before: before.transpose()?,
                added: change.added,
            };
            // What a file of the scaffold's own gained stands in the call's record.
            if repeats(&change, &results) {
                change.added.clear();
            }
            kept.push(change);
            Ok::<_, EpisodeError>(())
        })?;
        if let Some(recorded) = &mut self.recorded {
            follow(&mut recorded.workspace, &kept, |blob| {
                Ok(Some(folder.blob(blob)?))
            })?;
        }
        Ok(kept)
    }

    /// The workspace's folders that hold nothing, if they are not those of the last call.
    pub(super) fn take_folders(&mut self) -> Result<Option<Vec<String>>, EpisodeError> {
        let folders = self.environment.workspace.empty_folders()?;
        if let Some(recorded) = &mut self.recorded {
            recorded.workspace.set_empty_folders(&folders)?;
        }
        if folders == self.folders {
            return Ok(None);
        }
        self.folders.clone_from(&folders);
        Ok(Some(folders))
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
