//! The public data as it is written: YAML, schema v2. Types and their reading only.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use pibench_suite::pack::{Pack, ReadError};
use pibench_suite::problem::{Problem, Source};

/// The only version of the format that is read.
const SCHEMA: &str = "v2";

/// Bytes of a YAML file or a script; the largest public one has 20 KiB.
const TEXT_LIMIT: u64 = 1 << 20;

/// Aliases of one YAML file, and the nodes that they may stand for: the public data uses none.
const ALIAS_LIMIT: usize = 64;

/// A format with its version and the keys that its type names.
pub(super) trait Format: DeserializeOwned {
    const KEYS: &'static [&'static str];
    fn version(&self) -> &str;
    /// Where the keys go that the type does not name.
    fn rest(&mut self) -> &mut Map<String, Value>;
    /// The same below the top level.
    fn nested(&mut self, _whole: &Value) {}
}

/// `profile.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct ProfileYaml {
    pub(super) schema_version: String,
    pub(super) user_id: String,
    pub(super) role: String,
    #[serde(default)]
    pub(super) preferences: Option<Value>,
    #[serde(default)]
    pub(super) long_term_goals: Vec<String>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

impl Format for ProfileYaml {
    const KEYS: &'static [&'static str] = &[
        "schema_version",
        "user_id",
        "role",
        "preferences",
        "long_term_goals",
    ];

    fn version(&self) -> &str {
        &self.schema_version
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }
}

/// `episode.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct EpisodeYaml {
    pub(super) schema_version: String,
    pub(super) episode_id: String,
    #[serde(default)]
    pub(super) user_id: Option<String>,
    pub(super) tasks: Vec<EntryYaml>,
    #[serde(default)]
    pub(super) runtime: Option<Value>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryYaml {
    pub(super) task_id: String,
    #[serde(default)]
    pub(super) depends_on: Vec<String>,
}

impl Format for EpisodeYaml {
    const KEYS: &'static [&'static str] = &[
        "schema_version",
        "episode_id",
        "user_id",
        "tasks",
        "runtime",
    ];

    fn version(&self) -> &str {
        &self.schema_version
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }
}

/// `tools.yaml`; it has no version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolsYaml {
    #[serde(default = "schema")]
    schema_version: String,
    pub(super) tool_names: Vec<String>,
    #[serde(skip)]
    rest: Map<String, Value>,
}

fn schema() -> String {
    SCHEMA.to_owned()
}

impl Format for ToolsYaml {
    const KEYS: &'static [&'static str] = &["schema_version", "tool_names"];

    fn version(&self) -> &str {
        &self.schema_version
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }
}

/// `task.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct TaskYaml {
    pub(super) schema_version: String,
    pub(super) task_id: String,
    pub(super) user_id: String,
    #[serde(default)]
    pub(super) environment_id: Option<String>,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) task_type: TaskType,
    pub(super) trigger: Value,
    pub(super) intent: IntentYaml,
    #[serde(default)]
    pub(super) objectives: Option<ObjectivesYaml>,
    #[serde(default)]
    pub(super) metadata: Option<Map<String, Value>>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

impl Format for TaskYaml {
    const KEYS: &'static [&'static str] = &[
        "schema_version",
        "task_id",
        "user_id",
        "environment_id",
        "title",
        "description",
        "task_type",
        "trigger",
        "intent",
        "objectives",
        "metadata",
    ];

    fn version(&self) -> &str {
        &self.schema_version
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }

    fn nested(&mut self, whole: &Value) {
        self.intent.rest = unnamed(&whole["intent"], &["initial_input", "hidden_intent"]);
    }
}

#[derive(Debug, Clone, Copy, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TaskType {
    ShortTermIndependent,
    ShortTermContextual,
    LongTerm,
}

#[derive(Debug, Deserialize)]
pub(super) struct IntentYaml {
    pub(super) initial_input: String,
    pub(super) hidden_intent: Vec<HiddenYaml>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HiddenYaml {
    pub(super) content: String,
    #[serde(default)]
    pub(super) status: Option<StatusYaml>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusYaml {
    NotProvided,
    Provided,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectivesYaml {
    #[serde(default)]
    pub(super) checklist: Vec<CriterionYaml>,
    #[serde(default)]
    pub(super) files_read: Vec<String>,
    #[serde(default)]
    pub(super) tools: Vec<BTreeMap<String, FieldsYaml>>,
    #[serde(default)]
    pub(super) tools_evaluation_path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CriterionYaml {
    pub(super) criterion: String,
    #[serde(default = "one")]
    pub(super) weight: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldsYaml {
    #[serde(default)]
    pub(super) call: Vec<String>,
    #[serde(default)]
    pub(super) result: Vec<String>,
}

/// The folder that is imported.
#[derive(Debug)]
pub(super) struct Input {
    pack: Pack,
    /// `data/`, or nothing when the data folder itself was given.
    data: &'static str,
    scripts: BTreeSet<String>,
}

impl Input {
    pub(super) fn open(source: &Utf8Path) -> Result<Self, Box<Problem>> {
        let pack = Pack::open(source).map_err(|error| {
            Box::new(Problem::of_file(
                source,
                format!("cannot open the folder: {error}"),
            ))
        })?;
        let data = if pack.is_folder("data") { "data/" } else { "" };
        Ok(Self {
            pack,
            data,
            scripts: BTreeSet::new(),
        })
    }

    /// The users' folders, sorted.
    pub(super) fn users(&self) -> Result<Vec<String>, Box<Problem>> {
        let folder = self.data.trim_end_matches('/');
        let unreadable = |message| Box::new(Problem::of_file(&self.pack.shown(folder), message));
        let users = self.names("").map_err(unreadable)?;
        let users: Vec<String> = users
            .into_iter()
            .filter(|name| {
                !name.starts_with('.') && self.pack.is_folder(&format!("{}{name}", self.data))
            })
            .collect();
        if users.is_empty() {
            let problem = Problem::of_file(&self.pack.shown(folder), "no users");
            return Err(Box::new(
                problem.help("give the folder that holds data/<user>/episode.yaml"),
            ));
        }
        Ok(users)
    }

    fn path(&self, path: &str) -> String {
        format!("{}{path}", self.data)
    }

    pub(super) fn shown(&self, path: &str) -> Utf8PathBuf {
        self.pack.shown(&self.path(path))
    }

    /// What stands in a folder; nothing when there is none.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        match self.pack.names(self.path(folder).trim_end_matches('/')) {
            Err(ReadError::Missing(_)) => Ok(Vec::new()),
            names => names.map_err(|error| format!("cannot {error}")),
        }
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.pack.is_folder(&self.path(path))
    }

    pub(super) fn bytes(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        let path = self.path(path);
        self.read(&path, limit)
    }

    fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        self.pack.read(path, limit).map_err(|error| match error {
            ReadError::Missing(_) => "no such file".to_owned(),
            other => format!("cannot {other}"),
        })
    }

    /// A text file; the error says why there is none.
    pub(super) fn text(&mut self, path: &str) -> Result<String, String> {
        let content = self.bytes(path, TEXT_LIMIT)?;
        String::from_utf8(content).map_err(|_| "not UTF-8".to_owned())
    }

    /// A rule script, whose path starts at the folder above `data`.
    pub(super) fn script(&mut self, path: &str) -> Result<String, String> {
        let below = path
            .strip_prefix("data/")
            .ok_or("the path does not start with data/")?;
        if Utf8Path::new(below).extension() != Some("py") {
            return Err("not a Python file".to_owned());
        }
        let text = self.text(below)?;
        self.scripts.insert(below.to_owned());
        Ok(text)
    }

    /// Whether a script was asked for and found.
    pub(super) fn was_read(&self, path: &str) -> bool {
        self.scripts.contains(path)
    }

    /// Reads a file of one format, with the keys that its type does not name.
    pub(super) fn yaml<T: Format>(&mut self, path: &str) -> Result<T, Box<Problem>> {
        let shown = self.shown(path);
        let text = self
            .text(path)
            .map_err(|reason| Box::new(Problem::of_file(&shown, reason)))?;
        let source = Source {
            path: shown,
            text: text.into(),
        };
        let whole: Value = parse(&source)?;
        let mut file: T = parse(&source)?;
        if file.version() != SCHEMA {
            let message = format!("schema version `{}` is not known", file.version());
            let problem = at(&source, "schema_version", message);
            return Err(Box::new(problem.help("this host imports v2")));
        }
        *file.rest() = unnamed(&whole, T::KEYS);
        file.nested(&whole);
        Ok(file)
    }

    /// A problem of a file that was read before, at the first place of a word.
    pub(super) fn problem(&mut self, path: &str, needle: &str, message: String) -> Problem {
        let shown = self.shown(path);
        match self.text(path) {
            Ok(text) => at(
                &Source {
                    path: shown,
                    text: text.into(),
                },
                needle,
                message,
            ),
            Err(_) => Problem::of_file(&shown, message),
        }
    }
}

fn at(source: &Source, needle: &str, message: String) -> Problem {
    let start = source.text.find(needle).unwrap_or(0);
    Problem::at(source, start..start + needle.len(), message)
}

fn parse<T: DeserializeOwned>(source: &Source) -> Result<T, Box<Problem>> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: ALIAS_LIMIT, max_anchors: ALIAS_LIMIT },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(&source.text, options).map_err(|error| {
        let location = error.location();
        let line = location.map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
        let column = location.map_or(1, |location| {
            usize::try_from(location.column()).unwrap_or(1)
        });
        let before: usize = source
            .text
            .split_inclusive('\n')
            .take(line.saturating_sub(1))
            .map(str::len)
            .sum();
        let start = before
            + source.text[before..]
                .chars()
                .take(column.saturating_sub(1))
                .map(char::len_utf8)
                .sum::<usize>();
        let message = error.to_string();
        // The place is told before the message already.
        let place = format!(" at line {line}, column {column}");
        let message = message.strip_suffix(&place).unwrap_or(&message);
        Box::new(Problem::at(source, start..start + 1, message))
    })
}

/// The keys of a map that are not among `named`.
fn unnamed(value: &Value, named: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(key, _)| !named.contains(&key.as_str()))
        .map(|(key, field)| (key.clone(), field.clone()))
        .collect()
}
