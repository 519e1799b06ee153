//! Words that files, records and rules share, as they stand in TOML and JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the rules that both protocols share in this host: who is shown what, and how it becomes a score. Scores are
/// compared within one. It rises with every change of what a score means:
///
/// 1. The first; runs whose manifest names none.
/// 2. A real agent's user agent and judge are named, and the record says who played each role. Both see the session's earlier
///    work, every call and every changed file; of an intent only what is missing is told. What a server rejects is unscored.
///    The agent's system prompt is neutral, its recurring jobs are folded, and `save_memory` is a tool of every request.
pub const PROTOCOL_VERSION: u32 = 2;

/// The rules of a session (state machine, evidence, parsing, aggregation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// As the paper writes it (sections 3.4 and 3.5, appendices B and C).
    #[default]
    Paper,
    /// As the released code does it.
    PiBench,
}

/// The tools that the built-in scaffold gives the agent, beside those of the apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Scaffold {
    /// The paper's 14 general and web tools.
    #[default]
    #[serde(rename = "nanobot-0.1.5")]
    Nanobot015,
    /// The nine of the released code; `list_dir` does not list what is below a folder's folders.
    #[serde(rename = "nanobot-0.1.4")]
    Nanobot014,
}

/// The wording of the built-in scaffold's system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaffoldPrompt {
    /// What there is and how a turn ends. It says nothing of what users leave unsaid or of when to ask, which is measured.
    #[default]
    Neutral,
    /// The same with advice on both, to measure what that is worth.
    Coached,
}

/// A run without something that the agent otherwise has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ablation {
    /// The final session of each dependency group alone (paper, Figure 5): its workspace, memory and apps are as at the
    /// episode's start, with the files and records that the group's other sessions bring, and nothing that was made there.
    Dependencies,
}

/// Something that a plugin may be let to use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// The session's clock. Without it, the plugin sees a fixed moment.
    Clock,
    /// Numbers of the run's seed. Without it, the plugin draws the same ones in every run.
    Random,
    /// Lines in the host's log. Without it, they are dropped.
    Log,
    /// The session's files, read-only but for the shell. Without it, every path is denied.
    Workspace,
    /// Of an app: files of the file system app that a call of it names, with that app's token. Without it, none is handed
    /// over.
    Attachments,
}

impl Grant {
    /// All, in the order of documents.
    pub const ALL: [Self; 5] = [
        Self::Clock,
        Self::Random,
        Self::Log,
        Self::Workspace,
        Self::Attachments,
    ];

    /// As policies write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Random => "random",
            Self::Log => "log",
            Self::Workspace => "workspace",
            Self::Attachments => "attachments",
        }
    }
}

/// What a model server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WireFormat {
    /// Chat completions, as `OpenAI` defined them and many servers speak them.
    #[default]
    OpenAi,
    /// Messages, as Anthropic defined them.
    Anthropic,
    /// Responses, as `OpenAI` defined them for models that think between calls; nothing is stored at the server.
    Responses,
}

/// The 18 kinds of work (the paper's Table 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[rustfmt::skip]
pub enum Category { A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R }

/// A place from which an intent can be recovered (paper, section 3.2). A `quote` is some words that stand there, white
/// space and case aside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(deny_unknown_fields)]
pub enum FoundIn {
    /// A file that this or an earlier session stages, or that an earlier session's reference workflow writes.
    File {
        /// In the workspace.
        path: String,
        quote: String,
    },
    /// The records of an app, from the persona or from a session up to this one.
    App { app: String, quote: String },
    /// An earlier session: an intent of it that persists, or words of its request.
    Session {
        session: String,
        #[serde(default)]
        intent: Option<String>,
        #[serde(default)]
        quote: Option<String>,
    },
    /// The workspace's `USER.md`.
    Memory { quote: String },
    /// A targeted question: the intent has an `asked`.
    Question,
}

/// How far an intent reaches (paper, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Holds for this session.
    #[default]
    Session,
    /// Holds for later sessions too.
    Persistent,
}

/// Which turns count for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Any turn: the maximum over turns (paper, equation 4).
    #[default]
    Ever,
    /// The last turn only.
    End,
}

/// What the scripted judges look for in the agent's own words. It matches when one piece of text (a response, the
/// arguments of one call, what one file gained) holds an alternative of each group, and none of `none`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MatcherFile {
    /// `response`, `arguments` (of any call), `files` (any), `call:<tool>`, `file:<glob>`. Default: all.
    #[serde(default)]
    pub within: Vec<String>,
    /// Groups of alternatives. Each is a regular expression (crate regex), without regard to case; white space in the
    /// text counts as one blank, or as one line end where it holds any, and a blank in the pattern matches both, as `.`
    /// does. In a pattern of ASCII characters only, `\w`, `\d`, `\b` know ASCII letters only and `.`
    /// is a byte; `(?u)` at its start makes it a Unicode pattern, as any other is.
    pub all: Vec<Vec<String>>,
    #[serde(default)]
    pub none: Vec<String>,
    /// Texts that must match, whatever `within` says; `check` tries them and wants two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// Texts that are near and must not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejects: Vec<String>,
}

/// Stands for all arguments, or for the whole result, where a path into them is asked for.
pub const WHOLE: &str = "*";

/// The selected fields of one tool's calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ToolEvidence {
    pub tool: String,
    /// Dotted paths into the arguments; `*` for all of them.
    #[serde(default)]
    pub call: Vec<String>,
    /// Dotted paths into the result; `*` for the whole of it.
    #[serde(default)]
    pub result: Vec<String>,
}
