//! The journal's events, version 1: one JSON line each, a whole turn at a time. Nothing in them depends on the machine,
//! the real time or the number of jobs, so that two runs can be compared byte by byte.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pibench_core::message::{Reasoning, ToolCall, Usage};
use pibench_core::record::{CallRecord, FileChange, Outcome, Status};
use pibench_core::score::ItemScore;
use pibench_core::session::IntentChange;
use pibench_core::vocabulary::Protocol;

/// The version of the journal and of the files made from it.
pub const VERSION: u32 = 1;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line.
    EpisodeStarted(EpisodeStarted),
    /// Files are staged, records added, the clock set.
    SessionStarted(SessionStarted),
    /// The agent has answered, the user agent has moved, graders and judge have spoken.
    Turn(Box<Turn>),
    /// The session is over and the memory step done.
    SessionFinished(Box<SessionFinished>),
    /// A job or a heartbeat woke the agent before a session.
    Wake(Box<Wake>),
    /// The last line.
    EpisodeFinished,
}

impl Event {
    /// The files that changed up to this line, since the one before.
    pub fn changes(&self) -> &[FileChange] {
        match self {
            Self::SessionStarted(started) => &started.changes,
            Self::Turn(turn) => &turn.changes,
            Self::SessionFinished(finished) => &finished.changes,
            Self::Wake(wake) => &wake.changes,
            Self::EpisodeStarted(_) | Self::EpisodeFinished => &[],
        }
    }

    /// The workspace's folders that hold nothing, where the line tells them.
    pub fn folders(&self) -> Option<&[String]> {
        match self {
            Self::SessionStarted(started) => started.folders.as_deref(),
            Self::Turn(turn) => turn.folders.as_deref(),
            Self::Wake(wake) => wake.folders.as_deref(),
            Self::SessionFinished(_) | Self::EpisodeStarted(_) | Self::EpisodeFinished => None,
        }
    }

    /// The apps' states that the line tells, by app.
    pub fn apps(&self) -> impl Iterator<Item = (&String, &AppMark)> {
        let apps = match self {
            Self::SessionStarted(started) => Some(&started.apps),
            Self::Turn(turn) => Some(&turn.apps),
            Self::Wake(wake) => Some(&wake.apps),
            Self::SessionFinished(_) | Self::EpisodeStarted(_) | Self::EpisodeFinished => None,
        };
        apps.into_iter().flatten()
    }
}

/// The field `event` of an event's object.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    EpisodeStarted,
    SessionStarted,
    Turn,
    SessionFinished,
    Wake,
    EpisodeFinished,
}

impl EventKind {
    /// The event of an object that has this kind. By hand: serde, told to find out by itself, takes an object apart into
    /// a tree before it makes an event of it, which takes twice as long.
    pub fn read(self, object: &[u8]) -> serde_json::Result<Event> {
        Ok(match self {
            Self::EpisodeStarted => Event::EpisodeStarted(serde_json::from_slice(object)?),
            Self::SessionStarted => Event::SessionStarted(serde_json::from_slice(object)?),
            Self::Turn => Event::Turn(serde_json::from_slice(object)?),
            Self::SessionFinished => Event::SessionFinished(serde_json::from_slice(object)?),
            Self::Wake => Event::Wake(serde_json::from_slice(object)?),
            Self::EpisodeFinished => Event::EpisodeFinished,
        })
    }
}

/// What is played, by whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeStarted {
    /// 1.
    pub version: u32,
    pub suite: String,
    /// BLAKE3 over the parts of the suite that change a score.
    pub suite_digest: String,
    pub persona: String,
    /// 1, 2, 3, ...
    pub run: u32,
    pub seed: u64,
    pub protocol: Protocol,
    pub agent: String,
    pub user: String,
    pub judge: String,
}

/// A session begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStarted {
    pub session: String,
    /// The session clock.
    pub clock: String,
    /// What the agent is told first.
    pub message: String,
    /// The agent's system prompt: the name of its blob.
    pub system: String,
    /// What it is given of earlier sessions of its group that are not played, in the episode's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Inputs>,
    /// The staged files, those of `inputs` among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// The workspace's folders that hold nothing, where they are not those of the line before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    /// The apps' states, by app.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub apps: BTreeMap<String, AppMark>,
    /// Apps that could not say their state: graders see none of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// What a session brings that is not played itself: never what would have been made or remembered in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    pub session: String,
    /// Paths in the workspace; a later session may stage the same one again.
    pub files: Vec<String>,
    /// The apps that it adds records to.
    pub apps: Vec<String>,
}

/// The state of an app at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppMark {
    /// The snapshot: the name of its blob.
    pub snapshot: String,
    /// Calls so far in the episode.
    pub calls: u64,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    pub session: String,
    /// 1, 2, 3, ...
    pub turn: u32,
    /// The session clock when the turn began.
    pub clock: String,
    /// What the agent was told.
    pub message: String,
    /// What the agent did, in order; each text stands here once.
    pub steps: Vec<Step>,
    /// All text that went to the user.
    pub response: String,
    /// Answers that hold the call of a tool in their text, where nothing reads it: nothing was called.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_calls: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// The workspace's folders that hold nothing, where they are not those of the line before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    /// The apps whose state the turn changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub apps: BTreeMap<String, AppMark>,
    /// What the user agent found, stage by stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<IntentJudgement>,
    /// The intents that became terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<IntentChange>,
    /// What graders and judge found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemVerdict>,
    /// The agent's jobs, when the turn changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Jobs>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The user agent's next message; None ends the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// `next` answers a question for a plain fact, such as a password, and tells no intent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers_fact: bool,
    /// The exchange in which a model chose and wrote `next`: the name of its blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_exchange: Option<String>,
    /// Set on the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    pub usage: RoleUsage,
}

/// One thing that the agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The model answered.
    Reply {
        text: String,
        #[serde(flatten)]
        reasoning: Option<Reasoning>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// A tool was called.
    Call {
        id: String,
        record: CallRecord,
        /// The file that holds a result too long for the chat, which shows its beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// A picture that a tool gave. The model sees it behind all results of the same answer.
    Picture {
        /// The file, as the agent named it.
        path: String,
        media_type: String,
        /// Base64 (RFC 4648, section 4).
        data: String,
    },
    /// The scaffold spoke to the user in the agent's place.
    Notice { text: String },
    /// The scaffold asked the model to go on.
    Nudge { text: String },
    /// A subagent worked on a part of the task; the agent was told its result.
    Subagent {
        label: String,
        task: String,
        steps: Vec<Self>,
        result: String,
    },
    /// The chat's oldest turns gave way to a summary, which memory keeps too.
    Consolidated { steps: Vec<Self>, summary: String },
}

impl Step {
    /// The tool calls of the step: those of a subagent are the agent's own.
    pub fn calls(&self) -> Box<dyn Iterator<Item = &CallRecord> + '_> {
        match self {
            Self::Call { record, .. } => Box::new(std::iter::once(record)),
            Self::Subagent { steps, .. } => Box::new(steps.iter().flat_map(Self::calls)),
            Self::Reply { .. }
            | Self::Picture { .. }
            | Self::Notice { .. }
            | Self::Nudge { .. }
            | Self::Consolidated { .. } => Box::new(std::iter::empty()),
        }
    }
}

/// What the agent wants to be woken for, on the session clock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Jobs {
    /// Jobs that were ever made, for names.
    pub made: u32,
    /// In the order in which they were made.
    pub open: Vec<Job>,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// `job-1`, `job-2`, ...
    pub id: String,
    /// What the agent is told when it is due.
    pub message: String,
    pub when: When,
    /// The next moment, local: `2026-03-02T09:00:00`.
    #[schemars(with = "String")]
    pub next: DateTime,
}

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Again and again, after so many seconds.
    EverySeconds(u32),
    /// By a cron expression of five fields, in a time zone when it names one.
    Cron {
        expression: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
    },
    /// Once.
    At,
}

/// A turn of the agent between two sessions: nobody reads what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wake {
    /// What woke the agent: a job's id, or `heartbeat`.
    pub by: String,
    /// The session clock.
    pub clock: String,
    /// What the agent was told.
    pub message: String,
    /// Moments before this one that it was due at, too, and that woke nobody; of a cron
    /// expression 1000 stands for more, too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded: u32,
    /// The agent's system prompt: the name of its blob.
    pub system: String,
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// The workspace's folders that hold nothing, where they are not those of the line before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    /// The apps' states, by app.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub apps: BTreeMap<String, AppMark>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The jobs that are open now.
    pub jobs: Jobs,
    pub usage: Usage,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What the user agent found for one intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntentJudgement {
    /// The intent's id.
    pub intent: String,
    pub stage: Stage,
    pub yes: bool,
    /// The evidence, in the judge's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The exchange with the model: the name of its blob. None for the scripted user agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
}

/// The two stages of intent assignment (paper, appendix B.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Satisfaction,
    Question,
}

/// What a grader or the judge found for one checklist item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ItemVerdict {
    /// The item's id.
    pub item: String,
    pub pass: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What each of several judges said; empty of one alone, and in journals of before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
}

/// What one of several judges said of a checklist item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    /// The model as it was asked for.
    pub judge: String,
    pub pass: bool,
}

/// Something that broke.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    pub kind: FaultKind,
    /// The plugin, tool or model.
    pub source: String,
    /// `fuel`, `memory`, `trap`, ... for a guest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    pub message: String,
}

/// Who broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    Guest,
    Judge,
    Model,
    Infrastructure,
}

/// Tokens by role.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoleUsage {
    pub agent: Usage,
    pub user: Usage,
    pub judge: Usage,
}

impl RoleUsage {
    /// All roles together.
    pub fn total(self) -> Usage {
        let Self {
            mut agent,
            user,
            judge,
        } = self;
        agent += user;
        agent += judge;
        agent
    }

    /// Whether nobody was asked.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for RoleUsage {
    fn add_assign(&mut self, other: Self) {
        let Self { agent, user, judge } = other;
        self.agent += agent;
        self.user += user;
        self.judge += judge;
    }
}

/// A session's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFinished {
    pub session: String,
    pub outcome: Outcome,
    pub turns: u32,
    /// In the order of the task file.
    pub intents: Vec<IntentStatus>,
    pub items: Vec<ItemScore>,
    /// Share of the session's own intents, 0 to 1.
    pub proc: f64,
    /// 0 to 1; None without a checklist.
    pub comp: Option<f64>,
    /// The memory step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Step>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    pub usage: RoleUsage,
}

/// Where an intent ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntentStatus {
    pub intent: String,
    pub status: Status,
}
