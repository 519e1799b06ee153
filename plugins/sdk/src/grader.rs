//! Graders: the trait that a plugin implements, and the evidence it reads.
//!
//! The types mirror `wit/grader.wit` and `wit/host.wit`, which say what each field holds. They are plain Rust, so that
//! a grader can be tested natively: build an [`Evidence`], hand over a [`Workspace`] of your own, look at the verdicts.
//! Nothing here judges.

/// A deterministic judge: a pure function from evidence to verdicts. The host makes a fresh instance for every call,
/// so nothing can be kept between two of them. Finish with [`export_grader!`](crate::export_grader).
pub trait Grader {
    /// The checks of a configuration (json, the `config` table of the task file's item), at least one, each id once.
    /// An error says what is wrong with the configuration.
    fn list_checks(config: &str) -> Result<Vec<Check>, String>;

    /// One verdict for each check. A missing one counts as failed; an error is a guest fault.
    fn grade(
        config: &str,
        evidence: &Evidence,
        workspace: &dyn Workspace,
    ) -> Result<Vec<Verdict>, String>;
}

/// One thing that a grader can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Unique within the configuration.
    pub id: String,
    /// For reports; may be empty.
    pub description: String,
}

/// What a grader found for one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The check's id.
    pub check: String,
    pub pass: bool,
    /// Why, with the evidence: for reports, at most 4 KiB.
    pub reason: String,
}

/// Everything that happened in the session up to the turn that is graded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The turn that is graded: 1, 2, 3, ...
    pub turn: u32,
    /// Every call so far, in order, failed ones too.
    pub calls: Vec<Call>,
    pub messages: Vec<Message>,
    pub changes: Vec<FileChange>,
    pub apps: Vec<AppState>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// 1, 2, 3, ... over the session.
    pub number: u32,
    pub turn: u32,
    /// As the agent called it: `read_file`, `gmail__send_email`.
    pub tool: String,
    /// json, an object.
    pub arguments: String,
    pub status: CallStatus,
    /// The HTTP-like status of a [`CallStatus::ToolError`] of an app: 401, 409, 422; 0 elsewhere.
    pub code: u16,
    /// json for app tools, a plain text for built-in ones. For a refusal, its message.
    pub result: String,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// The tool did its work.
    Ok,
    /// The tool refused: wrong arguments, unknown id, a rule of the service.
    ToolError,
    /// The tool broke: nothing is known of its effect.
    Failed,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub turn: u32,
    pub speaker: Speaker,
    pub text: String,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Agent,
}

/// One file that a turn changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub turn: u32,
    /// Relative to the workspace's root.
    pub path: String,
    pub kind: ChangeKind,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Created,
    Modified,
    Deleted,
}

/// The state of one app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppState {
    /// `gmail`
    pub app: String,
    /// json, when the session began, after its own records were added.
    pub before: String,
    /// json, now.
    pub now: String,
}

/// The session's workspace, read-only, at the moment of grading. Paths are relative and use `/`.
pub trait Workspace {
    /// The entries of a directory, sorted by path; `""` is the root. With `recursive`, of everything below it.
    fn list(&self, path: &str, recursive: bool) -> Result<Vec<Entry>, WorkspaceError>;

    /// A file's content.
    fn read(&self, path: &str) -> Result<Vec<u8>, WorkspaceError>;
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the workspace's root.
    pub path: String,
    pub directory: bool,
    /// In bytes; 0 for a directory.
    pub size: u64,
}

/// Why a path could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// No such file or directory.
    #[error("no such file or directory")]
    NotFound,
    /// The path leaves the workspace, is no plain path, or leads through a link.
    #[error("the path is denied: {0}")]
    Denied(String),
    /// The file, in bytes, or the listing, in entries, is larger than the host hands out.
    #[error("too large: {0}")]
    TooLarge(u64),
    /// A directory where a file is needed, or the other way round.
    #[error("a directory where a file is needed, or the other way round")]
    WrongKind,
    /// The host could not read it.
    #[error("the host could not read it: {0}")]
    Io(String),
}
