//! What an agent's process is started from: the entry that its name means, its program, what of the environment it is given,
//! and that it can be confined here. All of it is decided before a session begins, so that what the operator must mend is told
//! at once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use pibench_acp::{
    Hidden, Installation, Keep, KeptSession, Launch, NotConfined, NotFound, bridge, probe,
};
use pibench_core::message::Usage;
use pibench_core::player;
use pibench_core::secrets::{Secrets, credentials};
use pibench_door::Door;
use pibench_model::ModelError;
use pibench_model::external::{External, Outside};
use pibench_model::provider::process_environment;
use pibench_record::RunFolder;
use pibench_sandbox::workspace::{View, remove_folder};
use pibench_suite::catalog;
use pibench_suite::manifest::{AgentFile, AgentHome, AgentTools, Isolation};
use pibench_suite::suite::Suite;
use pibench_vault::keyring;

use crate::error::EpisodeError;
use crate::plan::{AgentRole, Plan};

/// What every agent is given of the environment, where it is set.
const ALWAYS: [&str; 8] = [
    "LANG",
    "LC_ALL",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
];

/// Bytes of a token.
const TOKEN: usize = 32;

/// Where programs are, when the environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why no process of an agent's can be started.
#[derive(Debug, thiserror::Error)]
pub enum ReadyError {
    #[error("play `{name}`: {reason}")]
    Unknown { name: String, reason: String },
    #[error(transparent)]
    NotFound(#[from] NotFound),
    #[error(
        "write the agent's bridge, a copy of this program without its suite, into the cache: {0}"
    )]
    Bridge(std::io::Error),
    #[error(
        "{0}; or let it run unconfined by --agent-unconfined: it can then read the suite with its hidden intents, and the scores \
         say so"
    )]
    NotConfined(#[from] NotConfined),
    #[error(
        "give the agent the variable {variable}: its value is or holds the key of {other}, too; give the agent a key of its own"
    )]
    Key { variable: String, other: String },
}

/// Whose fault the end of an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The operator's: a login, a wrong program.
    Setup(String),
    Own(String),
}

/// An agent that can be started again and again.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// As it was asked for.
    pub name: String,
    pub launch: Launch,
    pub tools: AgentTools,
    /// The mode of its own in which it works; None for its usual one.
    pub mode: Option<String>,
    /// What outlives a process; None where nothing is played.
    pub keep: Option<Keep>,
}

/// The settings of an agent by its name, and whether it is confined; None for a name of another kind.
pub fn settings(
    name: &str,
    own: &BTreeMap<String, AgentFile>,
) -> Option<Result<(AgentFile, bool), ReadyError>> {
    let (what, confined) = player::process(name)?;
    let found = catalog::agent(what, own);
    let named = |reason| ReadyError::Unknown {
        name: name.to_owned(),
        reason,
    };
    let with = |agent: AgentFile| {
        let confined = confined && agent.isolation == Isolation::Bubblewrap;
        (agent, confined)
    };
    Some(found.map(with).map_err(named))
}

/// Finds all that an agent is started from.
pub fn prepare(
    name: &str,
    suite: &Suite,
    hidden: Hidden,
    workspace: &Path,
    keep: Option<Keep>,
) -> Result<Prepared, ReadyError> {
    let unknown = || ReadyError::Unknown {
        name: name.to_owned(),
        reason: "it is no agent of a process of its own".into(),
    };
    let (agent, confined) = settings(name, &suite.agents).ok_or_else(unknown)??;
    let AgentFile {
        command,
        environment,
        set,
        cwd,
        isolation: _,
        read,
        tools,
        home,
        mode,
    } = agent;
    let path = process_environment("PATH").unwrap_or_else(|| PATH.to_owned());
    let mut given: BTreeMap<String, String> = BTreeMap::from([("PATH".to_owned(), path.clone())]);
    let names = ALWAYS
        .iter()
        .copied()
        .chain(environment.iter().map(String::as_str));
    given.extend(names.filter_map(|name| Some((name.to_owned(), process_environment(name)?))));
    // An agent that is not confined works as its operator does.
    if !confined {
        let names = ["HOME", "USER", "LOGNAME"];
        given.extend(
            names
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), process_environment(name)?))),
        );
    }
    let carriers: Vec<String> = environment.into_iter().chain(set.keys().cloned()).collect();
    given.extend(set);
    if confined {
        check_keys(suite, &given)?;
    }
    let carried = carriers.iter().filter_map(|name| given.get_key_value(name));
    let carried = carried.map(|(name, value)| (name.as_str(), value.as_str()));
    // Every agent is given these, whatever its entry names.
    let proxies = ["HTTPS_PROXY", "HTTP_PROXY"].into_iter().flat_map(|name| {
        let address = given.get(name).map_or("", String::as_str);
        credentials(address)
            .into_iter()
            .map(move |text| (name, text))
    });
    let secrets = Secrets::new(carried.chain(proxies));
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let hidden = if confined { hidden } else { Hidden::default() };
    let path = OsString::from(path);
    let installation = Installation::find(&command, &read, &path, &here, &hidden)?;
    let confined = confined.then(|| probe(&path)).transpose()?;
    Ok(Prepared {
        name: name.to_owned(),
        launch: Launch {
            installation,
            secrets,
            environment: given,
            workspace: workspace.to_owned(),
            directory: cwd.unwrap_or_default(),
            home: keep
                .as_ref()
                .filter(|_| home == AgentHome::Episode)
                .map(Keep::home),
            bridge: bridge().map_err(ReadyError::Bridge)?,
            confined,
        },
        tools,
        mode,
        keep,
    })
}

/// No variable of a confined agent's may hold a key by which the user agent, the judge or the web's search is asked, nor hold it
/// among other things.
fn check_keys(suite: &Suite, given: &BTreeMap<String, String>) -> Result<(), ReadyError> {
    let catalog = catalog::Catalog::with(&suite.providers, &suite.models);
    let roles = [("the user agent", &suite.user), ("the judge", &suite.judge)];
    let mut keys: Vec<(&str, String)> = Vec::new();
    for (role, names) in roles {
        let names = names.as_deref().into_iter().flat_map(catalog::panel);
        for name in names.filter(|name| player::is_model(name)) {
            let preset = catalog
                .models
                .get(name)
                .map(|model| model.provider.as_str());
            let provider = preset.or_else(|| Some(name.split_once('/')?.0));
            let provider = provider.and_then(|provider| catalog.providers.get(provider));
            let key = provider.and_then(|provider| provider.key_env.as_deref());
            keys.extend(key.map(|key| (key, format!("{role}, `{name}`"))));
        }
    }
    if suite.web.provider == pibench_suite::manifest::WebProvider::Brave {
        keys.push(("BRAVE_API_KEY", "the web's search".to_owned()));
    }
    for (name, other) in keys {
        // As it is sent.
        let key = process_environment(name).unwrap_or_default();
        let key = key.trim();
        let secrets = Secrets::new([(name, key)]);
        let holds = |value: &str| value.trim() == key || secrets.are_in(value);
        let mut given = given.iter().filter(|_| !key.is_empty());
        if let Some((variable, _)) = given.find(|(_, value)| holds(value)) {
            return Err(ReadyError::Key {
                variable: variable.clone(),
                other,
            });
        }
    }
    Ok(())
}

/// An episode's agent: its two halves, one of which plays.
pub(in super::super) struct Employed<'p> {
    /// What the loop asks in the place of a model.
    pub(in super::super) external: External,
    prepared: Prepared,
    outside: Outside,
    door: Door,
    token: String,
    folder: &'p RunFolder,
}

/// The agent of an episode, ready to be started in its workspace; None where the agent is no process.
pub(in super::super) async fn employ<'p>(
    plan: &'p Plan,
    persona: &str,
    run: u32,
) -> Result<Option<Employed<'p>>, EpisodeError> {
    if !matches!(plan.roles.agent, AgentRole::Process) {
        return Ok(None);
    }
    let broken = |reason: String| EpisodeError::Infrastructure {
        persona: persona.to_owned(),
        session: "the agent's process".into(),
        turn: 0,
        reason,
    };
    let prepared = of_plan(plan, persona, run);
    let prepared = prepared.map_err(|error| EpisodeError::Setup {
        persona: persona.to_owned(),
        session: "the agent's process".into(),
        turn: 0,
        reason: format!("failed to {error}"),
    })?;
    let door = Door::open(0).await;
    let door = door.map_err(|error| broken(format!("failed to {error}")))?;
    let token = token().map_err(broken)?;
    let external = External::default();
    let outside = external.outside();
    let outside = outside.ok_or_else(|| broken("its other half is taken".into()))?;
    Ok(Some(Employed {
        external,
        prepared,
        outside,
        door,
        token,
        folder: &plan.folder,
    }))
}

/// What an agent shows to be let in.
pub(super) fn token() -> Result<String, String> {
    let mut token = [0; TOKEN];
    getrandom::fill(&mut token).map_err(|error| format!("failed to draw a token: {error}"))?;
    Ok(blake3::hash(&token).to_hex().to_string())
}

impl Employed<'_> {
    /// Plays as the agent, until nobody has the other half any more and it was told all that was said until then.
    pub(in super::super) async fn play(self, view: View) {
        let Self {
            external,
            prepared,
            outside,
            door,
            token,
            folder,
        } = self;
        drop(external);
        super::play(prepared, outside, view, door, token, folder).await;
    }
}

/// Where what outlives the processes of an episode's agent is kept.
fn keep(plan: &Plan, persona: &str, run: u32) -> Keep {
    Keep::new(plan.folder.agent(persona, run))
}

/// An episode is over: nothing of its agent's is kept.
pub(in super::super) fn forget(plan: &Plan, persona: &str, run: u32) {
    let keep = keep(plan, persona, run);
    if let Err(error) = clear_home(&keep).and_then(|()| keep.remove()) {
        tracing::warn!(%error, persona, run, "what the agent's processes kept is left in the run folder");
    }
}

/// Takes a kept home away, whatever rights its agent took from the folders in it.
fn clear_home(keep: &Keep) -> std::io::Result<()> {
    // One of another name goes with all that is kept.
    Utf8Path::from_path(&keep.home()).map_or(Ok(()), remove_folder)
}

/// What no confined agent may see: the suite, who may do what, the run's folder, the private keys that open packs, the operator's
/// home, and suites and runs that lie beside its program.
pub fn hide(suite: &Suite, run: Option<PathBuf>) -> Hidden {
    let here = |folder: &&Path| !folder.as_os_str().is_empty();
    let folder = suite.path.as_std_path().parent().filter(here);
    let policy = suite.policy.iter().map(|path| path.as_std_path());
    let keys = keyring::key_files().iter().map(PathBuf::as_path);
    let folder = folder.unwrap_or(Path::new("."));
    let folders = policy.chain(keys).chain([folder]).map(whole);
    let home = process_environment("HOME").map(|home| whole(Path::new(&home)));
    Hidden {
        folders: folders.chain(run).collect(),
        homes: home.into_iter().chain([PathBuf::from("/")]).collect(),
        tasks: true,
    }
}

/// A path without links, where it is there.
fn whole(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What an agent of this run is started from.
fn of_plan(plan: &Plan, persona: &str, run: u32) -> Result<Prepared, ReadyError> {
    let root = whole(plan.folder.root());
    // It is made when the episode is opened.
    let workspace = plan.folder.workspace(persona, run);
    let workspace = workspace
        .strip_prefix(plan.folder.root())
        .map(|below| root.join(below));
    let workspace = workspace.unwrap_or_default();
    let (name, suite) = (&plan.roles.agent_name, &plan.suite);
    let hidden = hide(suite, Some(root));
    let keep = keep(plan, persona, run);
    prepare(name, suite, hidden, &workspace, Some(keep))
}

impl Prepared {
    /// The session that was played before, where what it was told first is this and the agent's home was kept.
    pub(super) fn kept(&self, of: &str) -> Option<String> {
        let has_home = self.launch.confined.is_none() || self.launch.home.is_some();
        self.keep.as_ref().filter(|_| has_home)?.session(of)
    }

    /// A new process begins with nothing.
    pub(super) fn begin_anew(&self) -> Result<(), ModelError> {
        let Some(keep) = &self.keep else {
            return Ok(());
        };
        clear_home(keep)
            .and_then(|()| keep.begin(self.launch.home.is_some()))
            .map_err(|error| self.setup(format!("make its home: {error}")))
    }

    /// Notes the session that is played from here on.
    pub(super) fn note(&self, id: &str, of: String) -> Result<(), ModelError> {
        let Some(keep) = &self.keep else {
            return Ok(());
        };
        let id = id.to_owned();
        keep.put(&KeptSession { id, of })
            .map_err(|error| self.setup(format!("note its session: {error}")))
    }

    /// What the operator must mend.
    pub(super) fn setup(&self, reason: String) -> ModelError {
        ModelError::Setup {
            server: format!("the agent `{}`", self.name),
            reason: self.launch.secrets.cut(reason),
            remedy: "try it by `pibench-host doctor` with the same --agent; with another command line or entry it is a new run"
                .into(),
        }
    }

    /// What the agent did wrong.
    pub(super) fn fault(&self, reason: String) -> ModelError {
        ModelError::Refused {
            server: format!("the agent `{}`", self.name),
            reason: self.launch.secrets.cut(reason),
            usage: Box::new(Usage::untold()),
        }
    }

    pub(super) fn error(&self, refusal: Refusal) -> ModelError {
        match refusal {
            Refusal::Setup(reason) => self.setup(reason),
            Refusal::Own(reason) => self.fault(reason),
        }
    }
}
