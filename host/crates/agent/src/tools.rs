//! The tools that every agent has without an app: the file tools. What they do is decided by their
//! arguments and the workspace alone; they reach no other file, and never fail the session: what
//! goes wrong is a [`Refusal`].

mod edit_file;
pub mod exec;
mod glob;
mod grep;
mod list_dir;
mod notebook_edit;
pub mod read_file;
mod search;
mod write_file;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use pibench_core::message::ToolSpec;
use pibench_core::path::{PathError, WorkspacePath};
use pibench_sandbox::workspace::{Workspace, WorkspaceError};

/// Tells the user something; the loop itself carries it out.
pub const MESSAGE: &str = "message";

/// Asks the user and ends the turn; the loop itself carries it out.
pub const ASK_USER: &str = "ask_user";

/// The most that a tool answers, in characters.
const MAX_CHARACTERS: usize = 128_000;

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
}

/// A call that a tool did not carry out; nothing has changed. The text says what is wrong and what
/// to try, for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Builtin {
    /// In the order in which they are offered.
    pub const ALL: [Self; 7] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::ListDir,
        Self::Glob,
        Self::Grep,
        Self::NotebookEdit,
    ];

    /// The tool with this name, as the model writes it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
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
        }
    }

    /// Whether a call leaves the workspace as it is, so that it may run beside others.
    pub fn read_only(self) -> bool {
        matches!(
            self,
            Self::ReadFile | Self::ListDir | Self::Glob | Self::Grep
        )
    }

    /// The tool as the model sees it.
    pub fn spec(self) -> ToolSpec {
        let (description, parameters) = match self {
            Self::ReadFile => (read_file::DESCRIPTION, parameters::<read_file::Arguments>()),
            Self::WriteFile => (
                write_file::DESCRIPTION,
                parameters::<write_file::Arguments>(),
            ),
            Self::EditFile => (edit_file::DESCRIPTION, parameters::<edit_file::Arguments>()),
            Self::ListDir => (list_dir::DESCRIPTION, parameters::<list_dir::Arguments>()),
            Self::Glob => (glob::DESCRIPTION, parameters::<glob::Arguments>()),
            Self::Grep => (grep::DESCRIPTION, parameters::<grep::Arguments>()),
            Self::NotebookEdit => (
                notebook_edit::DESCRIPTION,
                parameters::<notebook_edit::Arguments>(),
            ),
        };
        ToolSpec {
            name: self.name().into(),
            description: description.into(),
            parameters: parameters.into(),
        }
    }

    /// Carries out a call. `arguments` are checked against the schema of [`Self::spec`] first.
    pub fn run(self, workspace: &mut Workspace, arguments: &Value) -> Result<String, Refusal> {
        match self {
            Self::ReadFile => read_file::run(workspace, &self.parse(arguments)?),
            Self::WriteFile => write_file::run(workspace, &self.parse(arguments)?),
            Self::EditFile => edit_file::run(workspace, &self.parse(arguments)?),
            Self::ListDir => list_dir::run(workspace, &self.parse(arguments)?),
            Self::Glob => glob::run(workspace, &self.parse(arguments)?),
            Self::Grep => grep::run(workspace, self.parse(arguments)?),
            Self::NotebookEdit => notebook_edit::run(workspace, &self.parse(arguments)?),
        }
    }

    /// A search under way, for who runs it slice by slice.
    pub(super) fn search(
        workspace: &Workspace,
        arguments: &Value,
    ) -> Result<grep::Search, Refusal> {
        grep::Search::new(workspace, Self::Grep.parse(arguments)?)
    }

    fn parse<T: DeserializeOwned>(self, arguments: &Value) -> Result<T, Refusal> {
        // Taken from an array, serde would read the fields by position.
        if !arguments.is_object() {
            return Err(Refusal(format!(
                "the arguments are no JSON object; {}",
                self.usage()
            )));
        }
        T::deserialize(arguments).map_err(|error| {
            Refusal(format!(
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

/// The JSON Schema of an argument struct.
pub(super) fn parameters<T: JsonSchema>() -> Value {
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
    Refusal(format!(
        "the path {text:?} is not accepted: {error}. Give a path relative to the workspace, such as \
         notes/plan.md"
    ))
}

/// A refusal with what to try instead.
fn refusal(error: &WorkspaceError) -> Refusal {
    let hint = match error {
        WorkspaceError::NotFound(_) => "Look with list_dir for what there is",
        WorkspaceError::NotAFile(_) => "Use list_dir for a folder, or name a file in it",
        WorkspaceError::NotADirectory(_) => {
            "Use list_dir on the folders above it to find the right path"
        }
        WorkspaceError::Quota { .. } => "Store less, in fewer or smaller files",
        _ => "Try another file",
    };
    Refusal(format!("failed to {error}. {hint}"))
}

/// The text of a file; what is no UTF-8 text is refused.
fn read_text(workspace: &Workspace, path: &WorkspacePath) -> Result<String, Refusal> {
    let content = workspace.read(path).map_err(|error| refusal(&error))?;
    let size = content.len();
    match String::from_utf8(content) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(Refusal(format!(
            "{path} is a binary file of {size} bytes and cannot be shown or edited as text; only UTF-8 \
             text can. Work from another file, or ask for its content as text"
        ))),
    }
}

/// `1 line`, `2 lines`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use pibench_sandbox::workspace::Quota;

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
        let Refusal(text) = tool.run(workspace, arguments).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn every_tool_is_found_by_its_name_and_no_other_is() {
        for tool in Builtin::ALL {
            assert_eq!(Builtin::named(tool.name()), Some(tool));
        }
        assert_eq!(Builtin::named(MESSAGE), None);
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
                    "offset": {"description": "The first line.", "type": "integer", "minimum": 1},
                    "limit": {"description": "Lines.", "type": "integer", "minimum": 1, "default": 2000},
                    "pages": {
                        "description": "Pages, slides or sheets, such as 21-40: at most 20, by default the first.",
                        "type": "string",
                    },
                },
                "required": ["path"],
            })
        );
        for tool in Builtin::ALL {
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
}
