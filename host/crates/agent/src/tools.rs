//! The tools that every agent has without an app: which there are, what the model is told of them, and a call's arguments,
//! read once. What the file tools do is decided by their arguments and the workspace alone; they reach no other file, and
//! never fail the session: what goes wrong is a [`Refusal`].

pub(crate) mod ask_user;
pub(crate) mod edit_file;
pub(crate) mod exec;
pub(crate) mod glob;
pub(crate) mod grep;
pub(crate) mod list_dir;
pub(crate) mod message;
pub(crate) mod notebook_edit;
pub mod read_file;
pub(crate) mod save_memory;
mod search;
pub(crate) mod spawn;
pub(crate) mod write_file;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::schedule;
use pibench_core::count::count;
use pibench_core::form::{difference, differs_in_form_alone};
use pibench_core::message::ToolSpec;
use pibench_core::path::{PathError, WorkspacePath};
use pibench_model::web::{FetchArguments, SearchArguments};
use pibench_sandbox::GuestFault;
use pibench_sandbox::workspace::{Workspace, WorkspaceError};

/// The name of [`Builtin::Message`].
pub const MESSAGE: &str = "message";

/// The name of [`Builtin::AskUser`].
pub const ASK_USER: &str = "ask_user";

/// How the answer to a call begins that no tool took.
pub const NOT_TAKEN: [&str; 3] = [BAD_ARGUMENTS, NO_OBJECT, NO_TOOL];
pub(crate) const BAD_ARGUMENTS: &str = "bad arguments: ";
pub(crate) const NO_OBJECT: &str = "the arguments are no JSON object";
pub(crate) const NO_TOOL: &str = "there is no tool ";

/// The most that a tool answers, in characters.
const MAX_CHARACTERS: usize = 128_000;

/// Files of a message and options of a question. More are left out, and the one who wrote them is told.
const MOST_LISTED: usize = 100;

/// Bytes of one text to the user or a subagent.
const MOST_SAID: usize = 256 << 10;

/// What the user read of a message or a question that was sent; None of a call of another tool. Of what a recorded call says beside
/// what these tools take, nothing.
pub fn told(tool: &str, arguments: &Value) -> Option<String> {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let listed = |key: &str| -> Vec<String> {
        let all = arguments[key].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match tool {
        MESSAGE => Some(message::text(text("content"), &listed("media"))),
        ASK_USER => Some(ask_user::text(text("question"), &listed("options"))),
        _ => None,
    }
}

/// A built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    ReadFile,
    WriteFile,
    EditFile,
    ListDir,
    Glob,
    Grep,
    NotebookEdit,
    Exec,
    WebSearch,
    WebFetch,
    Message,
    AskUser,
    Spawn,
    Cron,
    /// Asked for at a session's end.
    SaveMemory,
}

/// What a call asks for: its tool, with arguments that were read.
#[derive(Debug)]
pub(crate) enum Tool<'a> {
    ReadFile(read_file::Arguments),
    WriteFile(write_file::Arguments),
    EditFile(edit_file::Arguments),
    ListDir(list_dir::Arguments),
    Glob(glob::Arguments),
    Grep(grep::Arguments),
    NotebookEdit(notebook_edit::Arguments),
    Exec(exec::Arguments),
    Web(Web),
    Message(message::Arguments),
    AskUser(ask_user::Arguments),
    Spawn(spawn::Arguments),
    Cron(schedule::CronArguments),
    SaveMemory,
    /// A tool of an app, which reads its arguments itself.
    App {
        app: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    },
}

/// What a call asks of the web.
#[derive(Debug)]
pub(crate) enum Web {
    Search(SearchArguments),
    Fetch(FetchArguments),
}

/// A call that a tool did not carry out; nothing has changed. The text says what is wrong and what
/// to try, for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    pub text: String,
    /// The machine broke, and nobody is to be blamed for what was not done.
    pub machine: Option<GuestFault>,
}

impl Refusal {
    pub fn new(text: String) -> Self {
        Self {
            text,
            machine: None,
        }
    }
}

impl Builtin {
    /// Those that are offered for the work, in the order in which they are.
    pub const OFFERED: [Self; 14] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::ListDir,
        Self::Glob,
        Self::Grep,
        Self::NotebookEdit,
        Self::Exec,
        Self::WebSearch,
        Self::WebFetch,
        Self::Message,
        Self::AskUser,
        Self::Spawn,
        Self::Cron,
    ];

    /// The tool with this name, as the model writes it.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::OFFERED.into_iter().chain([Self::SaveMemory]);
        all.find(|tool| tool.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::ListDir => "list_dir",
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::NotebookEdit => "notebook_edit",
            Self::Exec => "exec",
            Self::WebSearch => "web_search",
            Self::WebFetch => "web_fetch",
            Self::Message => MESSAGE,
            Self::AskUser => ASK_USER,
            Self::Spawn => "spawn",
            Self::Cron => "cron",
            Self::SaveMemory => "save_memory",
        }
    }

    /// Whether the same can be had by another call, so that its result may give way when the chat is full.
    pub fn is_repeatable(self) -> bool {
        matches!(
            self,
            Self::ReadFile
                | Self::ListDir
                | Self::Glob
                | Self::Grep
                | Self::Exec
                | Self::WebSearch
                | Self::WebFetch
        )
    }

    /// The tool as the model sees it.
    pub fn spec(self) -> ToolSpec {
        match self {
            Self::ReadFile => self.described::<read_file::Arguments>(read_file::DESCRIPTION),
            Self::WriteFile => self.described::<write_file::Arguments>(write_file::DESCRIPTION),
            Self::EditFile => self.described::<edit_file::Arguments>(edit_file::DESCRIPTION),
            Self::ListDir => self.described::<list_dir::Arguments>(list_dir::DESCRIPTION),
            Self::Glob => self.described::<glob::Arguments>(glob::DESCRIPTION),
            Self::Grep => self.described::<grep::Arguments>(grep::DESCRIPTION),
            Self::NotebookEdit => {
                self.described::<notebook_edit::Arguments>(notebook_edit::DESCRIPTION)
            }
            Self::Exec => self.described::<exec::Arguments>(exec::DESCRIPTION),
            Self::WebSearch => self.commented::<SearchArguments>(),
            Self::WebFetch => self.commented::<FetchArguments>(),
            Self::Message => self.commented::<message::Arguments>(),
            Self::AskUser => self.commented::<ask_user::Arguments>(),
            Self::Spawn => self.commented::<spawn::Arguments>(),
            Self::Cron => self.commented::<schedule::CronArguments>(),
            Self::SaveMemory => self.commented::<save_memory::Saved>(),
        }
    }

    fn described<T: JsonSchema>(self, description: &str) -> ToolSpec {
        ToolSpec {
            name: self.name().into(),
            description: description.into(),
            parameters: parameters::<T>().into(),
        }
    }

    /// The comment on its arguments is what the model is told.
    fn commented<T: JsonSchema>(self) -> ToolSpec {
        let schema = schemars::schema_for!(T).to_value();
        let description = schema["description"].as_str().unwrap_or_default();
        // A line's end in a comment is none in what is said.
        self.described::<T>(&description.replace('\n', " "))
    }

    fn parse<T: DeserializeOwned>(self, arguments: &Value) -> Result<T, Refusal> {
        // Taken from an array, serde would read the fields by position.
        if !arguments.is_object() {
            return Err(Refusal::new(format!("{NO_OBJECT}; {}", self.usage())));
        }
        T::deserialize(arguments).map_err(|error| {
            Refusal::new(format!(
                "the arguments do not fit: {error}; {}",
                self.usage()
            ))
        })
    }

    /// One line that says which arguments the tool takes: `read_file takes path: string, offset?:
    /// integer`.
    fn usage(self) -> String {
        let parameters = self.spec().parameters;
        let required = parameters["required"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let arguments: Vec<String> = parameters["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| {
                let mark = if required.iter().any(|other| other == name) {
                    ""
                } else {
                    "?"
                };
                format!("{name}{mark}: {}", schema["type"].as_str().unwrap_or("any"))
            })
            .collect();
        format!("{} takes {}", self.name(), arguments.join(", "))
    }
}

impl<'a> Tool<'a> {
    /// Reads a call. `arguments` are checked against the schema of the tool first.
    pub(crate) fn parse(name: &'a str, arguments: &'a Value) -> Result<Self, Refusal> {
        let Some(builtin) = Builtin::named(name) else {
            let (app, tool) = name
                .split_once("__")
                .ok_or_else(|| Refusal::new(format!("{NO_TOOL}`{name}`")))?;
            return Ok(Self::App {
                app,
                tool,
                arguments,
            });
        };
        Ok(match builtin {
            Builtin::ReadFile => Self::ReadFile(builtin.parse(arguments)?),
            Builtin::WriteFile => Self::WriteFile(builtin.parse(arguments)?),
            Builtin::EditFile => Self::EditFile(builtin.parse(arguments)?),
            Builtin::ListDir => Self::ListDir(builtin.parse(arguments)?),
            Builtin::Glob => Self::Glob(builtin.parse(arguments)?),
            Builtin::Grep => Self::Grep(builtin.parse(arguments)?),
            Builtin::NotebookEdit => Self::NotebookEdit(builtin.parse(arguments)?),
            Builtin::Exec => Self::Exec(builtin.parse(arguments)?),
            Builtin::WebSearch => Self::Web(Web::Search(builtin.parse(arguments)?)),
            Builtin::WebFetch => Self::Web(Web::Fetch(builtin.parse(arguments)?)),
            Builtin::Message => Self::Message(builtin.parse(arguments)?),
            Builtin::AskUser => Self::AskUser(builtin.parse(arguments)?),
            Builtin::Spawn => Self::Spawn(builtin.parse(arguments)?),
            Builtin::Cron => Self::Cron(builtin.parse(arguments)?),
            Builtin::SaveMemory => Self::SaveMemory,
        })
    }
}

/// The JSON Schema of an argument struct.
fn parameters<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T);
    // The tool says it already.
    schema.remove("description");
    schema.to_value()
}

/// The path of a file as the agent wrote it.
fn file_path(text: &str) -> Result<WorkspacePath, Refusal> {
    WorkspacePath::parse(text).map_err(|error| path_refusal(text, &error))
}

/// The path of a folder as the agent wrote it.
fn directory_path(text: &str) -> Result<WorkspacePath, Refusal> {
    WorkspacePath::parse_directory(text).map_err(|error| path_refusal(text, &error))
}

fn path_refusal(text: &str, error: &PathError) -> Refusal {
    Refusal::new(format!(
        "the path {text:?} is not accepted: {error}. Give a path relative to the workspace, such as \
         notes/plan.md"
    ))
}

/// A refusal with what to try instead.
pub(crate) fn refusal(error: &WorkspaceError) -> Refusal {
    let hint = match error {
        WorkspaceError::NotFound(_) => "Look with list_dir for what there is",
        WorkspaceError::NotAFile(_) => "Use list_dir for a folder, or name a file in it",
        WorkspaceError::NotADirectory(_) => {
            "Use list_dir on the folders above it to find the right path"
        }
        WorkspaceError::Quota { .. } => "Store less, in fewer or smaller files",
        _ => "Try another file",
    };
    Refusal {
        text: format!("failed to {error}. {hint}"),
        machine: error.of_the_machine(),
    }
}

/// The same where something is looked for: what is there under a name that looks like it is told.
fn refusal_to_find(workspace: &Workspace, error: &WorkspaceError) -> Refusal {
    let refusal = refusal(error);
    let WorkspaceError::NotFound(path) = error else {
        return refusal;
    };
    let Some(there) = looks_like(workspace, path) else {
        return refusal;
    };
    let difference = difference(path.as_str(), there.as_str());
    Refusal::new(format!(
        "failed to {error}, but one of this name {difference}. Take its path from list_dir letter by letter, or \
         name it in exec by a pattern such as *.md"
    ))
}

/// What is there under a name that looks like this one and is another.
fn looks_like(workspace: &Workspace, path: &WorkspacePath) -> Option<WorkspacePath> {
    if path.as_str().is_ascii() {
        return None;
    }
    let entries = workspace.list(&WorkspacePath::ROOT, true).ok()?;
    let mut paths = entries.into_iter().map(|entry| entry.path);
    paths.find(|there| differs_in_form_alone(path.as_str(), there.as_str()))
}

/// The text of a file; what is no UTF-8 text is refused.
fn read_text(workspace: &Workspace, path: &WorkspacePath) -> Result<String, Refusal> {
    let content = workspace.read(path);
    let content = content.map_err(|error| refusal_to_find(workspace, &error))?;
    let size = content.len();
    match String::from_utf8(content) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(Refusal::new(format!(
            "{path} is a binary file of {size} bytes and cannot be shown or edited as text; only UTF-8 \
             text can. If it is text in another encoding, python3 by exec reads it: open(path, encoding=...). Or \
             work from another file"
        ))),
    }
}

/// A text to the user or a subagent within its limit.
fn bounded(text: String) -> String {
    if text.len() <= MOST_SAID {
        return text;
    }
    let head = &text[..text.floor_char_boundary(MOST_SAID)];
    let all = text.len();
    format!("{head}\n[cut: of {all} bytes, at most {MOST_SAID} are told]")
}

/// The beginning of a foreign text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use pibench_sandbox::workspace::Quota;

    #[test]
    fn a_question_is_read_with_as_many_options_as_its_tool_takes() {
        let asked = |arguments| told(ASK_USER, &arguments).unwrap();
        let few = json!({"question": "Which?", "options": ["a", 2, "b"]});
        assert_eq!(asked(few), "Which?\n- a\n- b");
        let message = json!({"content": "Here.", "media": ["a.md"], "channel": "mail"});
        let read = told(MESSAGE, &message);
        assert_eq!(read.as_deref(), Some("Here.\n[file: a.md]"));
        let options: Vec<String> = (0..400_000).map(|number| number.to_string()).collect();
        let many = asked(json!({"question": "Which?", "options": options}));
        assert_eq!(many.lines().count(), 1 + MOST_LISTED + 1);
        assert_eq!(told("exec", &json!({"content": "ls"})), None);
    }

    /// The file tools.
    const FILES: [Builtin; 7] = [
        Builtin::ReadFile,
        Builtin::WriteFile,
        Builtin::EditFile,
        Builtin::ListDir,
        Builtin::Glob,
        Builtin::Grep,
        Builtin::NotebookEdit,
    ];

    impl Builtin {
        /// Carries out a call of a file tool.
        pub(super) fn run(
            self,
            workspace: &mut Workspace,
            arguments: &Value,
        ) -> Result<String, Refusal> {
            match Tool::parse(self.name(), arguments)? {
                Tool::ReadFile(arguments) => read_file::run(workspace, &arguments),
                Tool::WriteFile(arguments) => write_file::run(workspace, &arguments),
                Tool::EditFile(arguments) => edit_file::run(workspace, &arguments),
                Tool::ListDir(arguments) => list_dir::run(workspace, &arguments),
                Tool::Glob(arguments) => glob::run(workspace, &arguments),
                Tool::Grep(arguments) => {
                    let mut search = grep::Search::new(workspace, arguments)?;
                    while search.step(workspace)? {}
                    Ok(search.text())
                }
                Tool::NotebookEdit(arguments) => notebook_edit::run(workspace, &arguments),
                other => panic!("{other:?} is no file tool"),
            }
        }
    }

    /// An empty workspace; the folder goes when the first part is dropped.
    pub(super) fn workspace() -> (TempDir, Workspace) {
        let outer = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(outer.path().join("ws")).unwrap();
        let workspace = Workspace::create(&path, Quota::default()).unwrap();
        (outer, workspace)
    }

    /// Writes a file past the tools.
    pub(super) fn put(workspace: &mut Workspace, path: &str, content: &str) {
        workspace
            .write(&WorkspacePath::parse(path).unwrap(), content.as_bytes())
            .unwrap();
    }

    /// The text of a file, past the tools.
    pub(super) fn get(workspace: &Workspace, path: &str) -> String {
        String::from_utf8(
            workspace
                .read(&WorkspacePath::parse(path).unwrap())
                .unwrap(),
        )
        .unwrap()
    }

    /// Checks that a call is refused with a text that holds `expected`.
    pub(super) fn check_refused(
        workspace: &mut Workspace,
        tool: Builtin,
        arguments: &Value,
        expected: &str,
    ) {
        let Refusal { text, .. } = tool.run(workspace, arguments).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn every_tool_is_found_by_its_name_and_no_other_is() {
        for tool in Builtin::OFFERED.into_iter().chain([Builtin::SaveMemory]) {
            assert_eq!(Builtin::named(tool.name()), Some(tool));
        }
        assert_eq!(Builtin::named("gmail__send"), None);
    }

    #[test]
    fn a_specification_has_a_closed_schema_with_defaults() {
        let spec = Builtin::ReadFile.spec();
        let shown: Value = serde_json::from_str(spec.parameters.text()).unwrap();
        assert_eq!(
            shown,
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "offset": {"description": "From 1.", "type": "integer"},
                    "limit": {"description": "Lines.", "type": "integer", "default": 2000},
                    "pages": {
                        "description": "Slides, sheets, too: 21-40, at most 20, by default the first.",
                        "type": "string",
                    },
                },
                "required": ["path"],
            })
        );
        for tool in FILES {
            let spec = tool.spec();
            assert_eq!(spec.name, tool.name());
            assert!(!spec.description.is_empty());
            assert_eq!(spec.parameters["additionalProperties"], json!(false));
            assert!(spec.parameters["properties"]["path"].is_object());
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused_with_what_would() {
        let (_folder, mut workspace) = workspace();
        let mut check = |arguments, expected| {
            check_refused(&mut workspace, Builtin::ReadFile, &arguments, expected);
        };
        check(
            json!({}),
            "missing field `path`; read_file takes path: string, offset?: integer, limit?: integer",
        );
        check(json!({"path": "a", "mode": "r"}), "unknown field `mode`");
        check(
            json!({"path": 1}),
            "invalid type: integer `1`, expected a string",
        );
        check(
            json!({"path": "a", "offset": "1"}),
            "invalid type: string \"1\"",
        );
        check(
            json!({"path": "a", "offset": 0}),
            "invalid value: integer `0`",
        );
        check(
            json!({"path": "a", "offset": -1}),
            "invalid value: integer `-1`",
        );
        check(json!(["a"]), "no JSON object");
        check(json!("a"), "no JSON object");
    }

    #[test]
    fn no_tool_sees_outside_of_the_workspace() {
        let (folder, mut workspace) = workspace();
        std::fs::write(folder.path().join("secret"), "hidden").unwrap();
        std::os::unix::fs::symlink("../secret", folder.path().join("ws/link")).unwrap();
        put(&mut workspace, "plain", "granted");
        for path in [
            "../secret",
            "/etc/passwd",
            "a/../../secret",
            "\u{2025}/secret",
            "/proc/self/environ",
            "a\0",
        ] {
            for (tool, arguments) in calls(path) {
                check_refused(&mut workspace, tool, &arguments, "is not accepted");
            }
        }
        for (tool, arguments) in calls("link") {
            check_refused(&mut workspace, tool, &arguments, "links are not allowed");
        }
        for path in ["plain", "./plain", "/workspace/plain"] {
            assert!(
                Builtin::ReadFile
                    .run(&mut workspace, &json!({"path": path}))
                    .unwrap()
                    .contains("granted")
            );
        }
        assert_eq!(
            std::fs::read_to_string(folder.path().join("secret")).unwrap(),
            "hidden"
        );
    }

    /// One call of each tool on `path`.
    fn calls(path: &str) -> [(Builtin, Value); 6] {
        [
            (Builtin::ReadFile, json!({"path": path})),
            (Builtin::WriteFile, json!({"path": path, "content": "x"})),
            (
                Builtin::EditFile,
                json!({"path": path, "old_text": "hidden", "new_text": "x"}),
            ),
            (Builtin::ListDir, json!({"path": path})),
            (Builtin::Glob, json!({"path": path, "pattern": "*"})),
            (
                Builtin::Grep,
                json!({"path": path, "pattern": "hidden", "output_mode": "content"}),
            ),
        ]
    }

    #[test]
    fn a_refusal_says_what_to_try() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a/b", "x");
        let mut check = |path, expected| {
            check_refused(
                &mut workspace,
                Builtin::ReadFile,
                &json!({"path": path}),
                expected,
            );
        };
        check(
            "c",
            "failed to find c: no such file or folder. Look with list_dir",
        );
        check(
            "a",
            "failed to use a as a file: it is a folder. Use list_dir",
        );
        check("a/b/c", "Use list_dir on the folders above");
    }

    #[test]
    fn a_name_that_looks_the_same_is_told_and_reaches_nothing() {
        let (_folder, mut workspace) = workspace();
        let (whole, apart) = ("\u{e9}t\u{e9}", "e\u{301}te\u{301}");
        put(&mut workspace, &format!("{apart}/{apart}.md"), "x");
        let form = "in another Unicode form (decomposed there, composed here)";
        let told = format!("no such file or folder, but one of this name {form}");
        for path in [
            format!("{apart}/{whole}.md"),
            format!("{whole}/{apart}.md"),
            format!("{whole}/{whole}.md"),
        ] {
            for (tool, arguments) in [
                (Builtin::ReadFile, json!({"path": path})),
                (Builtin::Grep, json!({"path": path, "pattern": "x"})),
                (
                    Builtin::EditFile,
                    json!({"path": path, "old_text": "x", "new_text": "y"}),
                ),
            ] {
                check_refused(&mut workspace, tool, &arguments, &told);
            }
        }
        let mut check = |tool, path, expected| {
            check_refused(&mut workspace, tool, &json!({"path": path}), expected);
        };
        check(Builtin::ListDir, whole, &told);
        check(Builtin::ReadFile, "\u{e9}", "Look with list_dir");
        // What is written is written under the name that was given.
        let path = format!("{apart}/{whole}.md");
        let arguments = json!({"path": path, "content": "y"});
        let said = Builtin::WriteFile.run(&mut workspace, &arguments).unwrap();
        let told =
            format!("Created {path} (1 line, 1 byte); another file of this name is there {form}");
        assert_eq!(said, told);
        assert_eq!(get(&workspace, &path), "y");
        assert_eq!(get(&workspace, &format!("{apart}/{apart}.md")), "x");
    }
}
