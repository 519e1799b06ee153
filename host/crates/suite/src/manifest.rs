//! The task files as they are written: TOML, version 1. Wire types only: what they mean is checked in `load`, and what
//! the rest of the host works with is in `suite`.
//!
//! Unknown keys are reported with their place by the loader, so the types do not deny them to serde; the generated
//! JSON Schemas do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use pibench_core::cost::Price;
use pibench_core::size::Memory;
use pibench_core::vocabulary::{
    Ablation, Category, FoundIn, Grant, MatcherFile, Protocol, Scaffold, ScaffoldPrompt, Scope,
    ToolEvidence, When, WireFormat,
};

/// The version of the task formats that this host reads and writes.
pub const VERSION: u32 = 1;

/// The most runs, and jobs, of a suite, as of `--runs` and `--jobs`.
pub const MOST: u32 = 1000;

/// Tokens of the smallest window: the tools of the largest persona take some 20,000 and an answer 8,192.
pub const SMALLEST_WINDOW: u32 = 32_768;

/// Entries of one list (personas, sessions, intents, items, files, steps, people, tools). The largest list of the
/// public data has 173; quadratic work on a thousand entries still takes no time.
pub const LIST_LIMIT: usize = 1000;

/// The most that an item weighs: sums of as many items as there may be stay exact.
pub const HEAVIEST: f64 = 1_000_000.0;

/// The metadata key under which an import keeps what the format has no place for: by it imported data is known.
pub const IMPORTED: &str = "pi_bench";

/// `suite.toml`: which personas are played, and how.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SuiteFile {
    /// The format's version: 1.
    #[schemars(range(min = VERSION, max = VERSION))]
    pub version: u32,
    /// Names the suite in run folders and reports: lower case letters, digits, `-` and `_`.
    pub id: String,
    /// One line for reports.
    #[serde(default)]
    pub title: String,
    /// Persona folders (each with a `persona.toml`), relative to this file, in the order of reports.
    #[schemars(length(min = 1, max = LIST_LIMIT))]
    pub personas: Vec<String>,
    /// Which rules are played: the paper's or those of the released code.
    #[serde(default)]
    pub protocol: Protocol,
    /// The built-in scaffold's profile: which tools the agent has.
    #[serde(default)]
    pub scaffold: Scaffold,
    /// The wording of the built-in scaffold's system prompt.
    #[serde(default)]
    pub scaffold_prompt: ScaffoldPrompt,
    /// The agent under test: `reference`, `reactive`, `nop`, `cheat`, a known model's name, or `PROVIDER/MODEL`; several,
    /// with commas between them, are played side by side.
    #[serde(default = "default_agent")]
    pub agent: String,
    /// The user agent: `lexical`, a known model's name, or `PROVIDER/MODEL`. Default: `lexical` for a scripted agent; a real one
    /// wants it named here or on the command line.
    #[serde(default)]
    pub user: Option<String>,
    /// The judge of rubric items: `lexical`, a known model's name, or `PROVIDER/MODEL`; several, with commas between
    /// them, decide by majority. Default: as for `user`.
    #[serde(default)]
    pub judge: Option<String>,
    /// Independent trajectories of each session. Default: 1 when all three models are scripted, else 3.
    #[serde(default)]
    #[schemars(range(min = 1, max = MOST))]
    pub runs: Option<u32>,
    /// The seed of everything drawn at random.
    #[serde(default)]
    pub seed: u64,
    /// Plays some of the suite only.
    #[serde(default)]
    pub filter: FilterFile,
    /// Episodes played at the same time. Default: the number of processors.
    #[serde(default)]
    #[schemars(range(min = 1, max = MOST))]
    pub jobs: Option<u32>,
    /// Memory of the program itself, such as `4G`: near it no new episode begins, and whoever holds most of it is ended. Default:
    /// no bound.
    #[serde(default)]
    #[schemars(with = "Option<String>", regex(pattern = "^[0-9]+[KMGTkmgt]$"))]
    pub memory: Option<Memory>,
    /// Bounds of a session.
    #[serde(default)]
    pub session: SessionLimits,
    /// When the apps' state is put back.
    #[serde(default)]
    pub state: StateSettings,
    /// What is taken away from the agent, to measure what it is worth.
    #[serde(default)]
    pub ablate: Option<Ablation>,
    /// Plugins by name: a component file relative to this file. Names that are absent are looked up in `--plugins`,
    /// then beside the program.
    #[serde(default)]
    pub plugins: BTreeMap<String, String>,
    /// What plugins of others may use: a policy file relative to this file. `--policy` names another one. Default: nothing.
    #[serde(default)]
    pub policy: Option<String>,
    /// Which plugins are meant, to the byte: a copy of a `pibench.lock`, relative to this file. A plugin that is not in it,
    /// or not what it says, is not loaded, wherever it lies.
    #[serde(default)]
    pub lock: Option<String>,
    /// Lowers the limits of guests.
    #[serde(default)]
    pub limits: LimitOverrides,
    /// Model servers by name, beside the built-in ones.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderFile>,
    /// Models by name, beside the built-in ones.
    #[serde(default)]
    pub models: BTreeMap<String, ModelFile>,
    /// Agents that are processes of their own, by name: `agent = "acp:NAME"` plays one.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentFile>,
    /// What the agent's web is.
    #[serde(default)]
    pub web: WebFile,
}

/// An agent that is a process of its own and speaks the Agent Client Protocol on its standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AgentFile {
    /// The program and its arguments.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Environment variables that it is given, by name, as this program has them.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Environment variables that it is given with these values.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Where it works: a folder of the workspace. Default: the workspace itself.
    #[serde(default)]
    pub cwd: Option<String>,
    /// What keeps it from the rest of the machine.
    #[serde(default)]
    pub isolation: Isolation,
    /// Folders and files of its installation that it can read when it is confined, beside those that its program lies in.
    #[serde(default)]
    pub read: Vec<String>,
    /// Which tools it is offered over MCP.
    #[serde(default)]
    pub tools: AgentTools,
    /// How long its home lasts when it is confined.
    #[serde(default)]
    pub home: AgentHome,
    /// The mode in which it works, of those that it has (`session/set_mode`). Default: the one that it starts in.
    #[serde(default)]
    pub mode: Option<String>,
}

/// How long the home of a confined agent lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentHome {
    /// As long as its process.
    #[default]
    Process,
    /// Until its episode is over: an agent that keeps its sessions there and can load them goes on with one where a run was cut off.
    Episode,
}

/// What keeps an agent's process from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Its own view of files and processes, made by `bwrap`: the workspace, its installation and the system's programs.
    #[default]
    Bubblewrap,
    /// Nothing: it could read the suite with its hidden intents. Scores say so.
    None,
}

/// Which of the scaffold's tools an agent with tools of its own is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentTools {
    /// The persona's apps, the web, `ask_user`, `message` and `cron`: it has files and commands of its own.
    #[default]
    Apps,
    /// Those for files and the sandboxed shell too.
    All,
}

/// What of a suite is played; empty lists leave nothing out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct FilterFile {
    /// Ids of personas.
    pub personas: Vec<String>,
    /// Ids of sessions; those that they depend on are played too.
    pub sessions: Vec<String>,
}

/// What the agent's web is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct WebFile {
    /// Where searches and pages come from.
    pub provider: WebProvider,
    /// For `offline`: a folder of pages beside the suite file: Markdown files, each with a block of `url` and `title` at
    /// its top.
    pub corpus: Option<String>,
    /// For `searxng`: the server's address, without `/search`.
    #[schemars(regex(pattern = "^https?://"))]
    pub url: Option<String>,
}

/// Where the agent's searches and pages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebProvider {
    /// The suite's own pages: a run can be repeated.
    #[default]
    Offline,
    /// The real web, searched with Brave. The key comes from `BRAVE_API_KEY`.
    Brave,
    /// The real web, searched with a `SearXNG` server.
    Searxng,
}

fn default_agent() -> String {
    "reference".into()
}

/// Bounds of a session.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct SessionLimits {
    /// Turns after which a session ends, its open intents not proactive.
    #[schemars(range(min = 1))]
    pub max_turns: u32,
    /// Calls of the model in one turn, after which the agent is told to stop.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
    /// Wall clock of one turn of the agent, in seconds.
    #[schemars(range(min = 1))]
    pub turn_timeout_s: u64,
    /// Tokens that fit the agent's model: messages, tools and answer together, by the host's own estimate.
    #[schemars(range(min = SMALLEST_WINDOW))]
    pub window_tokens: u32,
    /// Minutes between heartbeats, on the session clock and between sessions only: the agent then reads `HEARTBEAT.md`
    /// of its workspace, if there is one. Left out: no heartbeats.
    #[schemars(range(min = 1))]
    pub heartbeat_minutes: Option<u32>,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_turns: 30,
            max_iterations: 120,
            turn_timeout_s: 1800,
            window_tokens: 65_536,
            heartbeat_minutes: None,
        }
    }
}

/// When the apps' state is put back.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct StateSettings {
    pub reset: Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    /// App state persists through the episode.
    #[default]
    Episode,
    /// Each session starts from the persona's records and its own.
    Session,
}

/// Limits of guests that a suite or a policy may lower; a value above the host's is an error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct LimitOverrides {
    pub app: LimitOverride,
    /// Compiled graders and Python rule scripts.
    pub grader: LimitOverride,
    /// Of a command with a timeout of 60 seconds; fuel and time scale with another.
    pub shell: LimitOverride,
    /// Reading a document for `read_file`.
    pub document: LimitOverride,
    /// Loading a component.
    pub load: LoadOverride,
}

/// What one call of a guest may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct LimitOverride {
    /// Units of work of one call (about one per wasm instruction).
    #[schemars(range(min = 1))]
    pub fuel: Option<u64>,
    /// Processor time of one call, in milliseconds.
    #[schemars(range(min = 1))]
    pub wall_ms: Option<u64>,
    /// Linear memory and tables together, in bytes.
    #[schemars(range(min = 1))]
    pub memory_bytes: Option<u64>,
    /// A text that the guest returns, in bytes.
    #[schemars(range(min = 1))]
    pub result_bytes: Option<u64>,
    /// Nesting of JSON that the guest returns.
    #[schemars(range(min = 1))]
    pub json_depth: Option<u64>,
    /// Values in JSON that the guest returns.
    #[schemars(range(min = 1))]
    pub json_nodes: Option<u64>,
    /// Log lines and standard output of one instance, in bytes.
    #[schemars(range(min = 1))]
    pub log_bytes: Option<u64>,
    /// What one host call may copy out of the guest, in bytes.
    #[schemars(range(min = 1))]
    pub hostcall_bytes: Option<u64>,
    /// Handles that the guest may hold at once.
    #[schemars(range(min = 1))]
    pub handles: Option<u64>,
    /// Things of the host behind handles, at once.
    #[schemars(range(min = 1))]
    pub resources: Option<u64>,
    /// A snapshot of an app's state, in bytes.
    #[schemars(range(min = 1))]
    pub snapshot_bytes: Option<u64>,
    /// Instances of this kind at once.
    #[schemars(range(min = 1))]
    pub live_stores: Option<u64>,
    /// How long a call waits for one of them, in milliseconds.
    #[schemars(range(min = 1))]
    pub queue_ms: Option<u64>,
}

/// What loading a component may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct LoadOverride {
    /// A component file, in bytes.
    #[schemars(range(min = 1))]
    pub component_bytes: Option<u64>,
    /// Compiling it: milliseconds of two processors.
    #[schemars(range(min = 1))]
    pub compile_wall_ms: Option<u64>,
    /// Compiling it: address space of the compiling process, in bytes.
    #[schemars(range(min = 1))]
    pub compile_memory_bytes: Option<u64>,
}

impl LimitOverride {
    /// What is set, by the names that files have for it.
    pub fn named(&self) -> Vec<(String, u64)> {
        named(self)
    }
}

impl LoadOverride {
    /// What is set, by the names that files have for it.
    pub fn named(&self) -> Vec<(String, u64)> {
        named(self)
    }
}

fn named(limits: &impl Serialize) -> Vec<(String, u64)> {
    let Ok(Value::Object(limits)) = serde_json::to_value(limits) else {
        return Vec::new();
    };
    let set = |(name, value): (String, Value)| Some((name, value.as_u64()?));
    limits.into_iter().filter_map(set).collect()
}

/// `pilots.toml`: what blind plays of the suite's sessions came to, for its authors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PilotsFile {
    /// The format's version: 1.
    #[schemars(range(min = VERSION, max = VERSION))]
    pub version: u32,
    #[serde(default)]
    pub pilots: Vec<Pilot>,
}

/// One play.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Pilot {
    pub id: String,
    /// What kind of model or reader the agent was.
    pub agent: String,
    /// The same of user agent and judge.
    pub judge: String,
    /// The suite's digest when it was played.
    pub suite: String,
    pub sessions: Vec<PilotSession>,
}

/// How one session went in a pilot. Intents are named by their ids, as they were then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PilotSession {
    pub persona: String,
    pub session: String,
    pub turns: u32,
    /// Met or asked about in the first turn.
    pub first: Vec<String>,
    pub completed: Vec<String>,
    pub inferred: Vec<String>,
    pub provided: Vec<String>,
    pub open: Vec<String>,
    /// Percent of the session's own intents.
    pub proc: f64,
    /// Percent; left out without a checklist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comp: Option<f64>,
}

impl PilotSession {
    /// Every intent of the session, as it was then.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.completed, &self.inferred, &self.provided, &self.open];
        lists.into_iter().flatten().map(String::as_str)
    }

    /// Whether an intent was satisfied or asked about before it was told.
    pub fn met(&self, intent: &str) -> bool {
        let mut met = self.completed.iter().chain(&self.inferred);
        met.any(|one| one == intent)
    }
}

/// `policy.toml`: what the operator lets plugins of others have. A plugin gets what it asks for by its imports and is
/// granted here; without an entry, nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyFile {
    /// The format's version: 1.
    #[schemars(range(min = VERSION, max = VERSION))]
    pub version: u32,
    /// Lowers the limits of all guests.
    #[serde(default)]
    pub limits: LimitOverrides,
    /// By plugin name.
    #[serde(default)]
    pub plugins: BTreeMap<String, PluginPolicy>,
    /// Who may sign plugins: a file of the form of OpenSSH's `allowed_signers`, relative to this one.
    #[serde(default)]
    pub allowed_signers: Option<String>,
    /// Keys that may no longer sign, one public key a line: a file relative to this one.
    #[serde(default)]
    pub revoked_keys: Option<String>,
    /// What those may grant who sign, by a name of theirs in `allowed_signers`.
    #[serde(default)]
    pub signers: BTreeMap<String, SignerPolicy>,
    /// Whether plugins of others are loaded only where one of `signers` signed them.
    #[serde(default)]
    pub require_signed: bool,
}

/// What a signature is good for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SignerPolicy {
    /// Names of the plugins that they may sign; `*` for all.
    pub plugins: Vec<String>,
    /// Interfaces that a plugin that they signed may use, unless `[plugins.NAME]` says otherwise. Default: none.
    #[serde(default)]
    pub grants: Vec<Grant>,
}

/// What one plugin may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct PluginPolicy {
    /// Interfaces that the plugin may use. Those of the host's own plugins are granted without a word; for them a list
    /// here takes away what it does not name.
    pub grants: Option<Vec<Grant>>,
    /// Lowers the limits of its calls. `live_stores` and `queue_ms` belong to all guests of a kind.
    pub limits: LimitOverride,
}

/// A model server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProviderFile {
    /// What is spoken there.
    #[serde(default)]
    pub format: WireFormat,
    /// Up to and without `/chat/completions`, `/responses` or `/messages`, as in `https://api.openai.com/v1`.
    #[schemars(regex(pattern = "^https?://[^/]"))]
    pub base_url: String,
    /// An environment variable that replaces `base_url`; the key may then be absent.
    #[serde(default)]
    pub base_url_env: Option<String>,
    /// The environment variable that holds the key; absent for servers that need none.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The header that carries the key as it is, where it is not the format's own: `api-key`.
    #[serde(default)]
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub key_header: Option<String>,
    /// Whether a temperature is sent for the user agent and the judge.
    #[serde(default = "yes")]
    pub temperature: bool,
    /// The field of an assistant's message in which its earlier thinking goes back, where the server wants that:
    /// `reasoning_content`.
    #[serde(default)]
    pub give_back: Option<String>,
    /// Tools that a request may have, where the server has a bound. A persona with more is refused before anything is
    /// played.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_tools: Option<u32>,
    /// The field of chat completions that bounds an answer, in tokens.
    #[serde(default = "max_tokens")]
    pub output_limit: String,
    /// Calls at the same time: as many from the start, and never more. Absent: found out, from a few upwards.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u32>,
    /// Input and output together.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u32>,
}

fn max_tokens() -> String {
    "max_tokens".into()
}

fn yes() -> bool {
    true
}

/// A model by a name of its own, with what is special about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ModelFile {
    /// A built-in provider or one of the suite's.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// What is spoken to this model, where it is not what the provider speaks to others.
    #[serde(default)]
    pub format: Option<WireFormat>,
    /// Whether it can be shown pictures. A model that cannot is told so when it reads one.
    #[serde(default = "yes")]
    pub vision: bool,
    /// Whether a temperature is sent for the user agent and the judge. Absent: as the provider has it.
    #[serde(default)]
    pub temperature: Option<bool>,
    /// Fields of the request's body that switch thinking on: the agent's.
    #[serde(default)]
    pub thinking: BTreeMap<String, Value>,
    /// Fields of the request's body that switch thinking off: the user agent's and the judge's.
    #[serde(default)]
    pub plain: BTreeMap<String, Value>,
    /// It thinks whatever `plain` says: as user agent and judge it is given room for that.
    #[serde(default)]
    pub always_thinks: bool,
    /// The longest answer, in tokens, thinking among them. The Anthropic format needs one.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
    /// Tools that a request to this model may have, where that is another number than the provider's.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_tools: Option<u32>,
    /// US dollars per million tokens. Absent: costs are unknown.
    #[serde(default)]
    #[schemars(extend("additionalProperties" = { "minimum": 0 }))]
    pub price: Option<Price>,
}

/// `persona.toml`: one simulated user and the order of the episode.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PersonaFile {
    /// The format's version: 1.
    #[schemars(range(min = VERSION, max = VERSION))]
    pub version: u32,
    /// The same as the folder's name.
    pub id: String,
    pub name: String,
    /// Occupation, routines, preferences, working style, goals: Markdown. Only the user agent reads it.
    pub profile: String,
    /// What the workspace's `USER.md` says at the start: what this user would have told any assistant.
    #[serde(default)]
    pub user_md: String,
    /// Plain facts that this user tells whoever asks, by what they are: `"home address" = "..."`. No question for one costs
    /// the agent a hidden intent. The user's own mail address, phone number and passwords under `people` are such too.
    #[serde(default)]
    #[schemars(extend("maxProperties" = LIST_LIMIT))]
    pub facts: BTreeMap<String, String>,
    /// The app tools that the agent has, `<app>__<tool>`; `<app>__*` stands for all of the app's.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub tools: Vec<String>,
    /// Skills that the workspace holds from the start: folders with a `SKILL.md`, in the persona's own `skills/` or in
    /// the one beside the suite file.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub skills: Vec<String>,
    /// Files that the workspace holds from the start, such as what every session presupposes.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub files: Vec<StagedFile>,
    /// The people who have accounts in the apps, the user among them.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub people: Vec<Person>,
    /// Whether the apps hold the generated world too: its people, shop, music and all that. Default: true.
    #[serde(default = "with_world")]
    pub world: bool,
    /// A folder of `seeds/` beside the suite file that several personas start from: people in `people.json`, the records
    /// of each app in `<app>.json`. The persona's own people and records come after them.
    #[serde(default)]
    pub seed: Option<String>,
    /// Records of the apps at the start, by app: what they hold is the app's own format.
    #[serde(default)]
    pub apps: BTreeMap<String, Value>,
    /// The sessions in their order.
    #[schemars(length(min = 1, max = LIST_LIMIT))]
    pub episode: Vec<EpisodeEntry>,
    /// Free: kept, never interpreted.
    #[serde(default)]
    pub metadata: BTreeMap<String, Value>,
}

fn with_world() -> bool {
    true
}

/// Somebody with accounts in the apps.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Person {
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    #[serde(default)]
    pub phone_number: Option<String>,
    /// The password in every app.
    #[serde(default)]
    pub password: Option<String>,
    /// The password in one app, where it differs.
    #[serde(default)]
    pub passwords: BTreeMap<String, String>,
}

/// One place of the episode.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EpisodeEntry {
    /// The session's id; its file is `sessions/<id>/session.toml`.
    pub session: String,
    /// Earlier sessions of the same group. Only a group's final session has any.
    #[serde(default)]
    pub depends_on: Vec<String>,
}

/// `session.toml`: one task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SessionFile {
    /// The format's version: 1.
    #[schemars(range(min = VERSION, max = VERSION))]
    pub version: u32,
    /// The same as the folder's name.
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub description: String,
    /// The paper's Table 5.
    #[serde(default)]
    pub category: Option<Category>,
    /// The session clock's start, a local date and time: `2026-03-02T09:00:00`.
    #[schemars(with = "String", extend("format" = "partial-date-time"))]
    pub clock: toml::value::Datetime,
    /// What opens the session.
    #[serde(default)]
    pub trigger: Trigger,
    /// The first message, or the text of the signal.
    pub request: String,
    /// What the user does not say. At least one, in the order of the work.
    #[schemars(length(min = 1, max = LIST_LIMIT))]
    pub intents: Vec<IntentFile>,
    /// What must be true at the end. Empty for a session that is only a dependency.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub checklist: Vec<ItemFile>,
    /// Files that the session puts into the workspace.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub files: Vec<StagedFile>,
    /// Records that the session adds to the apps, by app.
    #[serde(default)]
    pub apps: BTreeMap<String, Value>,
    /// What the judge of rubric items sees beside the conversation.
    #[serde(default)]
    pub evidence: EvidenceFile,
    /// A workflow that satisfies every intent and item unasked, for the scripted models.
    #[serde(default)]
    #[schemars(length(max = LIST_LIMIT))]
    pub reference: Vec<StepFile>,
    /// Free: kept, never interpreted.
    #[serde(default)]
    pub metadata: BTreeMap<String, Value>,
}

/// What opens a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(deny_unknown_fields)]
pub enum Trigger {
    /// A message of the user.
    #[default]
    User,
    /// A structured input from outside.
    Environment {
        /// Who sends it: `calendar-webhook`, `court-feed`.
        source: String,
        /// The input itself, delivered as JSON after the request's text.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        payload: Value,
    },
    /// The agent wakes by itself.
    Heartbeat,
}

/// One hidden intent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct IntentFile {
    /// Unique within the session.
    pub id: String,
    /// The requirement, as the user would state it.
    pub content: String,
    #[serde(default)]
    pub scope: Scope,
    /// When the scripted user agent finds it satisfied.
    #[serde(default)]
    pub satisfied: Option<MatcherFile>,
    /// When the scripted user agent finds it asked for. Looks at each question of the response by itself: a sentence of
    /// at most 400 characters that ends in a question mark.
    #[serde(default)]
    pub asked: Option<MatcherFile>,
    /// Where an agent can find it. `check` wants at least one place, and looks for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found_in: Vec<FoundIn>,
}

/// One checklist item: a rubric, unless it has a `rule`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ItemFile {
    /// Unique within the session.
    pub id: String,
    /// What must be true, for people and for the judge of rubrics.
    pub criterion: String,
    #[serde(default = "one")]
    #[schemars(range(max = HEAVIEST), extend("exclusiveMinimum" = 0))]
    pub weight: f64,
    #[serde(default)]
    pub when: When,
    /// When the scripted judge says YES to a rubric.
    #[serde(default)]
    pub met: Option<MatcherFile>,
    /// The grader that decides instead of a judge.
    #[serde(default)]
    pub rule: Option<RuleFile>,
}

fn one() -> f64 {
    1.0
}

/// A deterministic grader and what it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RuleFile {
    /// The grader plugin: `rules`, `python`, or one of the suite's own.
    pub grader: String,
    /// The grader's own configuration.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub config: Value,
    /// A file beside the session file whose text is handed to the grader as the configuration's `script`.
    #[serde(default)]
    pub script: Option<String>,
    /// Which of the grader's checks this item is; may be left out when there is one.
    #[serde(default)]
    pub check: Option<String>,
    /// Histories that must pass, each a list of steps as in `reference`. `check` plays each by itself and asks the grader.
    /// What a step uses and none before it saved is fetched as the reference workflow does it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LIST_LIMIT), inner(length(min = 1, max = LIST_LIMIT)))]
    pub accepts: Vec<Vec<StepFile>>,
    /// Histories that are near and must not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LIST_LIMIT), inner(length(min = 1, max = LIST_LIMIT)))]
    pub rejects: Vec<Vec<StepFile>>,
}

impl RuleFile {
    /// Whether both ask the same of the same grader.
    pub fn asks_as(&self, other: &Self) -> bool {
        let asked = |rule: &Self| {
            let RuleFile {
                grader,
                config,
                script,
                check,
                accepts: _,
                rejects: _,
            } = rule.clone();
            (grader, config, script, check)
        };
        asked(self) == asked(other)
    }
}

/// A file that a session, or the persona at the start, puts into the workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StagedFile {
    /// Beside the file that names it.
    pub source: String,
    /// In the workspace; default: the source's file name.
    #[serde(default)]
    pub path: Option<String>,
}

/// What the judge of rubric items sees beside the conversation (paper, appendix C.5).
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct EvidenceFile {
    /// Workspace files whose content is shown.
    pub files_read: Vec<String>,
    /// Tools whose calls are shown.
    pub tools: Vec<ToolEvidence>,
}

/// One step of a reference workflow: a tool call or a part of the response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StepFile {
    /// The intents that the step serves.
    #[serde(default)]
    pub serves: Vec<String>,
    /// The tool to call.
    #[serde(default)]
    pub tool: Option<String>,
    /// Its arguments. A string `{{name.path}}` stands for a value of the result that an earlier step saved.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// Keeps the result under this name.
    #[serde(default)]
    pub save: Option<String>,
    /// Text for the user; the parts make up the turn's response.
    #[serde(default)]
    pub say: Option<String>,
}
