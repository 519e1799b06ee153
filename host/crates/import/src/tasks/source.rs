//! The public data as it is written: YAML, schema v2. Types and their reading only.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::yaml;
use pibench_suite::pack::{Pack, ReadError};
use pibench_suite::problem::{Problem, Source};

/// The only version of the format that is read.
const SCHEMA: &str = "v2";

/// Bytes of a YAML file or a script; the largest public one has 20 KiB.
const TEXT_LIMIT: u64 = 1 << 20;

/// A format with its version and the keys that its type names.
pub(super) trait Format: DeserializeOwned {
    const KEYS: &'static [&'static str];
    fn version(&self) -> &str;
    /// Where the keys go that the type does not name.
    fn rest(&mut self) -> &mut Map<String, Value>;
    /// The same below the top level.
    fn take_nested(&mut self, _whole: &Value) {}
}

/// `profile.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct ProfileYaml {
    #[serde(default = "schema")]
    pub(super) schema_version: String,
    pub(super) user_id: String,
    /// A text, or a map that has it under `role_text`.
    #[serde(deserialize_with = "role")]
    pub(super) role: String,
    #[serde(default)]
    pub(super) preferences: Option<Value>,
    #[serde(default, deserialize_with = "or_default")]
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
    #[serde(default = "schema")]
    pub(super) schema_version: String,
    pub(super) episode_id: String,
    #[serde(default)]
    pub(super) user_id: Option<String>,
    /// Each an [`EntryYaml`], or wrong for itself.
    tasks: Vec<Value>,
    #[serde(default)]
    pub(super) runtime: Option<Value>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EntryYaml {
    pub(super) task_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) depends_on: Vec<String>,
}

impl EpisodeYaml {
    /// The entries in their order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Result<EntryYaml, String>> {
        let entries = self.tasks.iter().cloned();
        entries.map(|entry| serde_json::from_value(entry).map_err(|error| error.to_string()))
    }
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
pub(super) struct ToolsYaml {
    #[serde(default = "schema")]
    schema_version: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) tool_names: Vec<String>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Role {
        Text(String),
        Map { role_text: String },
    }
    let role = Role::deserialize(deserializer)?;
    let (Role::Text(text) | Role::Map { role_text: text }) = role;
    Ok(text)
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
    #[serde(default)]
    pub(super) user_id: Option<String>,
    #[serde(default)]
    pub(super) environment_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) title: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) description: String,
    /// Any text: the released code looks at none.
    #[serde(default)]
    pub(super) task_type: Option<String>,
    #[serde(default)]
    pub(super) trigger: Value,
    pub(super) intent: IntentYaml,
    #[serde(default)]
    pub(super) objectives: Option<ObjectivesYaml>,
    #[serde(default)]
    pub(super) metadata: Value,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
    /// Keys of its lists that the format does not have, by their place.
    #[serde(skip)]
    pub(super) unknown: Vec<String>,
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

    fn take_nested(&mut self, whole: &Value) {
        self.intent.rest = unnamed(&whole["intent"], &["initial_input", "hidden_intent"]);
        let objectives = &whole["objectives"];
        self.unknown = [
            unknown(
                "hidden_intent",
                &whole["intent"]["hidden_intent"],
                &["content", "status"],
            ),
            unknown(
                "checklist",
                &objectives["checklist"],
                &["criterion", "weight"],
            ),
        ]
        .concat();
        for (place, tool) in objectives["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            for (name, fields) in unnamed(tool, &SIDES) {
                let keys = unnamed(&fields, &SIDES);
                let keys = keys
                    .keys()
                    .map(|key| format!("tools[{place}].{name}.{key}"));
                self.unknown.extend(keys);
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct IntentYaml {
    /// Wanted: a session that nothing is said in cannot be played.
    pub(super) initial_input: String,
    pub(super) hidden_intent: Vec<HiddenYaml>,
    #[serde(skip)]
    pub(super) rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HiddenYaml {
    pub(super) content: String,
    /// `not_provided` or `provided`.
    #[serde(default)]
    pub(super) status: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectivesYaml {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) checklist: Vec<CriterionYaml>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) files_read: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    tools: Vec<Map<String, Value>>,
    #[serde(default)]
    pub(super) tools_evaluation_path: Option<String>,
}

/// What of a call an item of `tools` may select.
const SIDES: [&str; 2] = ["call", "result"];

/// One item of `tools`: `{name: {call: [..], result: [..]}}`, or the lists beside the name.
#[derive(Debug)]
pub(super) struct ToolYaml {
    pub(super) name: String,
    pub(super) fields: FieldsYaml,
}

impl ObjectivesYaml {
    /// The items of `tools`, or what is wrong with one.
    pub(super) fn tools(&self) -> Result<Vec<ToolYaml>, String> {
        self.tools.iter().map(tool).collect()
    }
}

fn tool(item: &Map<String, Value>) -> Result<ToolYaml, String> {
    let names = item
        .iter()
        .filter(|(key, _)| !SIDES.contains(&key.as_str()));
    let names: Vec<(&String, &Value)> = names.collect();
    let [(name, fields)] = names.as_slice() else {
        let count = names.len();
        return Err(format!(
            "an item of `objectives.tools` names {count} tools, not one"
        ));
    };
    let mut fields = match fields {
        Value::Null => Map::new(),
        Value::Object(fields) => fields.clone(),
        _ => return Err(format!("`{name}` in `objectives.tools` is no map")),
    };
    for side in SIDES {
        if let Some(paths) = item.get(side).filter(|_| !fields.contains_key(side)) {
            fields.insert(side.to_owned(), paths.clone());
        }
        // The index of a list may be written as the number that it is.
        let paths = fields.get_mut(side).and_then(Value::as_array_mut);
        for path in paths.into_iter().flatten().filter(|path| path.is_number()) {
            *path = path.to_string().into();
        }
    }
    let fields = serde_json::from_value(Value::Object(fields));
    let fields = fields.map_err(|error| format!("`{name}` in `objectives.tools`: {error}"))?;
    let name = name.trim().to_owned();
    Ok(ToolYaml { name, fields })
}

#[derive(Debug, Deserialize)]
pub(super) struct CriterionYaml {
    pub(super) criterion: String,
    #[serde(default = "one")]
    pub(super) weight: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FieldsYaml {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) call: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) result: Vec<String>,
}

/// A key that stands there without a value says as much as no key.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    field: D,
) -> Result<T, D::Error> {
    Option::deserialize(field).map(Option::unwrap_or_default)
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

    /// A path as it was before [`Self::shown`].
    pub(super) fn relative(&self, shown: &Utf8Path) -> String {
        let data = self.shown("");
        shown.strip_prefix(&data).unwrap_or(shown).to_string()
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

    pub(super) fn is_file(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else {
            return false;
        };
        let names = self.names(folder).unwrap_or_default();
        names.iter().any(|one| one == name) && !self.is_folder(path)
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
        let (mut file, whole): (T, Value) = yaml::read(&source.text)
            .and_then(|node| Ok((node.read()?, node.to_json())))
            .map_err(|error| {
                Box::new(Problem::at(&source, error.at..error.at + 1, error.message))
            })?;
        if file.version() != SCHEMA {
            let message = format!("schema version `{}` is not known", file.version());
            let problem = at(&source, "schema_version", message);
            return Err(Box::new(problem.help("this host imports v2")));
        }
        *file.rest() = unnamed(&whole, T::KEYS);
        file.take_nested(&whole);
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

/// The keys of a map that are not among `named`.
fn unnamed(value: &Value, named: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(key, _)| !named.contains(&key.as_str()))
        .map(|(key, field)| (key.clone(), field.clone()))
        .collect()
}

/// Keys of the maps in a list that are not among `named`: `checklist[2].note`.
fn unknown(list: &str, items: &Value, named: &[&str]) -> Vec<String> {
    let items = items.as_array().into_iter().flatten().enumerate();
    items
        .flat_map(|(place, item)| {
            let keys = unnamed(item, named);
            keys.into_iter()
                .map(move |(key, _)| format!("{list}[{place}].{key}"))
        })
        .collect()
}
