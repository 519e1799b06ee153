//! Turns the public π-Bench data (schema v2, YAML) into a suite of ours. It reads through the same door as suites are
//! read, writes a new folder in one piece or nothing, and says of everything that it left behind. It runs no script:
//! what checks a rule script has is asked of the caller.

mod source;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use serde_json::{Map, Value, json};

use self::source::{EpisodeYaml, Input, ProfileYaml, TaskYaml, ToolsYaml};
use self::write::Staging;
use super::load::{STAGED_LIMIT, is_id, load};
use super::manifest::{
    EpisodeEntry, EvidenceFile, IntentFile, ItemFile, PersonaFile, Protocol, RuleFile, Scaffold,
    Scope, SessionFile, SessionLimits, StagedFile, SuiteFile, ToolEvidence, Trigger, WebFile, When,
};
use super::pack::plain;
use super::problem::{Problem, Problems};

/// The format has no clock: the first session of an episode opens here, each later one a day after. A Monday.
const FIRST_CLOCK: DateTime = date(2026, 3, 2).at(9, 0, 0, 0);

/// The metadata key under which an import keeps what the format has no place for: by it imported data is known.
pub(super) const IMPORTED: &str = "pi_bench";

/// What the released code writes before the names of app tools.
const TOOL_PREFIX: &str = "mcp_appworld_";

/// What it wraps the results of app tools in.
const RESULT_PREFIX: &str = "response.";

/// Asked for the check names of a rule script, given its text.
pub type ListChecks<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<String>, String>;

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub personas: usize,
    pub sessions: usize,
    pub intents: usize,
    pub rubrics: usize,
    pub rules: usize,
    /// Asset files, now staged by their sessions.
    pub files: usize,
    /// What could not be carried over, one line each. The import is complete when there is none.
    pub left_out: Vec<String>,
    /// What a user should know, and lost nothing by.
    pub notes: Vec<String>,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The data breaks its own format.
    #[error("import data that breaks the format:\n{0}")]
    Rejected(Problems),
    /// The data keeps its format, and the suite made of it breaks ours.
    #[error("make a suite of the data:\n{0}")]
    Unloadable(Problems),
    #[error("import into {0}: it exists already")]
    Exists(Utf8PathBuf),
    #[error("write {path}: {source}")]
    Io {
        path: Utf8PathBuf,
        source: io::Error,
    },
}

/// Imports a folder that holds `data/<user>/...`, or the `data` folder itself, into the new folder `out`. The tools of an
/// app that `has_app` does not know are left out, so that what is there can be played.
pub fn import(
    source: &Utf8Path,
    out: &Utf8Path,
    list_checks: ListChecks<'_>,
    has_app: &dyn Fn(&str) -> bool,
) -> Result<Report, ImportError> {
    if out.symlink_metadata().is_ok() {
        return Err(ImportError::Exists(out.to_owned()));
    }
    let input =
        Input::open(source).map_err(|problem| ImportError::Rejected(Problems(vec![*problem])))?;
    let failed = |source| ImportError::Io {
        path: out.to_owned(),
        source,
    };
    let staging = Staging::beside(out).map_err(failed)?;
    let mut importer = Importer {
        input,
        staging,
        list_checks,
        has_app,
        report: Report::default(),
        problems: Vec::new(),
    };
    importer.suite().map_err(failed)?;
    let Importer {
        staging,
        report,
        problems,
        ..
    } = importer;
    if !problems.is_empty() {
        return Err(ImportError::Rejected(Problems(problems)));
    }
    if let Err(Problems(mut problems)) = load(&staging.path("suite.toml")) {
        problems.retain(Problem::is_error);
        return Err(ImportError::Unloadable(Problems(problems)));
    }
    staging.publish(out).map_err(failed)?;
    Ok(report)
}

struct Importer<'a> {
    input: Input,
    staging: Staging,
    list_checks: ListChecks<'a>,
    has_app: &'a dyn Fn(&str) -> bool,
    report: Report,
    problems: Vec<Problem>,
}

impl Importer<'_> {
    fn suite(&mut self) -> io::Result<()> {
        let users = match self.input.users() {
            Ok(users) => users,
            Err(problem) => {
                self.problems.push(*problem);
                return Ok(());
            }
        };
        let mut personas = Vec::new();
        for user in users {
            if let Some(id) = self.persona(&user)? {
                if personas.contains(&id) {
                    self.reject(&user, format!("a second user with the id `{id}`"));
                }
                personas.push(id);
            }
        }
        self.report.personas = personas.len();
        self.report.notes.push(
            "the data has no people, app records, reference workflows or offline matchers: its apps start empty, and \
             scripted models find no intent satisfied"
                .to_owned(),
        );
        let suite = SuiteFile {
            version: super::manifest::VERSION,
            id: "pi-bench".to_owned(),
            title: "π-Bench".to_owned(),
            personas: personas.iter().map(|id| format!("personas/{id}")).collect(),
            protocol: Protocol::Paper,
            scaffold: Scaffold::default(),
            // The data has no reference workflows to play, so the scripted agent that needs none.
            agent: "nop".to_owned(),
            user: "lexical".to_owned(),
            judge: "lexical".to_owned(),
            runs: None,
            seed: 0,
            session: SessionLimits::default(),
            state: super::manifest::StateSettings::default(),
            ablate: None,
            plugins: BTreeMap::new(),
            limits: super::manifest::LimitOverrides::default(),
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            web: WebFile::default(),
        };
        self.staging.write_toml("suite.toml", &suite)
    }

    /// Imports one user; the answer is the persona's id. `user` is the folder.
    fn persona(&mut self, user: &str) -> io::Result<Option<String>> {
        let profile = self
            .input
            .yaml::<ProfileYaml>(&format!("{user}/profile.yaml"));
        let episode = self
            .input
            .yaml::<EpisodeYaml>(&format!("{user}/episode.yaml"));
        let tools = self.input.yaml::<ToolsYaml>(&format!("{user}/tools.yaml"));
        let (Some(profile), Some(episode), Some(tools)) = (
            self.accept(profile),
            self.accept(episode),
            self.accept(tools),
        ) else {
            return Ok(None);
        };
        let ProfileYaml {
            user_id,
            role,
            preferences,
            long_term_goals,
            rest: profile_rest,
            ..
        } = profile;
        let Some(id) = to_id(&user_id) else {
            self.reject(
                user,
                format!("the user id `{user_id}` has no letter or digit"),
            );
            return Ok(None);
        };
        if episode.runtime.is_some() {
            self.report.notes.push(format!(
                "{user}/episode.yaml: `runtime` is not needed here: apps run in the host"
            ));
        }
        let sessions = self.sessions(user, &id, &episode)?;
        self.leftovers(user, &episode);
        let skills = self.copy(
            &format!("{user}/skills"),
            &format!("personas/{id}/skills"),
            &[],
        )?;
        let mut ours = Map::new();
        ours.insert("user_id".to_owned(), json!(user_id));
        ours.insert("tool_names".to_owned(), json!(tools.tool_names));
        ours.insert("episode_id".to_owned(), json!(episode.episode_id));
        ours.insert("long_term_goals".to_owned(), json!(long_term_goals));
        ours.insert(
            "preferences".to_owned(),
            preferences.clone().unwrap_or_default(),
        );
        ours.extend(profile_rest);
        ours.extend(episode.rest);
        if !skills.is_empty() {
            let count = skills.len();
            self.report.notes.push(format!(
                "{user}/skills: {count} files copied to personas/{id}/skills"
            ));
        }
        let persona = PersonaFile {
            version: super::manifest::VERSION,
            id: id.clone(),
            name: user_id.replace('_', " "),
            profile: profile_text(&role, preferences.as_ref(), &long_term_goals),
            user_md: self.user_md(user),
            tools: self.tools(user, tools),
            skills: self.skills(user, &skills),
            people: Vec::new(),
            world: true,
            apps: BTreeMap::new(),
            episode: sessions,
            metadata: self.metadata(user, Map::new(), ours),
        };
        self.staging
            .write_toml(&format!("personas/{id}/persona.toml"), &persona)?;
        Ok(Some(id))
    }

    /// The skills among copied files: folders that hold a `SKILL.md` and have a name that ours can have.
    fn skills(&mut self, user: &str, files: &[String]) -> Vec<String> {
        let folders = files
            .iter()
            .filter_map(|file| file.strip_suffix("/SKILL.md"));
        let (named, others): (Vec<&str>, Vec<&str>) =
            folders.partition(|folder| super::load::is_id(folder));
        for folder in others {
            let path = format!("{user}/skills/{folder}");
            self.leave_out(&path, "its name is no id, so the persona does not have it");
        }
        named.into_iter().map(str::to_owned).collect()
    }

    /// Takes what was read, or keeps what is wrong with it.
    fn accept<T>(&mut self, read: Result<T, Box<Problem>>) -> Option<T> {
        read.map_err(|problem| self.problems.push(*problem)).ok()
    }

    fn reject(&mut self, path: &str, message: impl Into<String>) {
        self.problems
            .push(Problem::of_file(&self.input.shown(path), message));
    }

    fn leave_out(&mut self, path: &str, what: impl std::fmt::Display) {
        self.report.left_out.push(format!("{path}: {what}"));
    }

    /// What stands in a folder that is there; a folder that cannot be listed is left out.
    fn names(&mut self, folder: &str) -> Vec<String> {
        self.input.names(folder).unwrap_or_else(|reason| {
            self.leave_out(folder, reason);
            Vec::new()
        })
    }

    fn user_md(&mut self, user: &str) -> String {
        self.input
            .text(&format!("{user}/USER.md"))
            .unwrap_or_default()
    }

    fn tools(&mut self, user: &str, file: ToolsYaml) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        let mut missing: BTreeMap<String, usize> = BTreeMap::new();
        for name in file.tool_names {
            let tool = name.strip_prefix(TOOL_PREFIX).unwrap_or(&name).to_owned();
            if !tool.contains("__") {
                self.leave_out(
                    &format!("{user}/tools.yaml"),
                    format!("`{name}` is no app tool"),
                );
            } else if let Some((app, _)) = tool
                .split_once("__")
                .filter(|(app, _)| !(self.has_app)(app))
            {
                *missing.entry(app.to_owned()).or_default() += 1;
            } else if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        for (app, count) in missing {
            let line = format!("there is no plugin for app `{app}`: {count} of its tools");
            self.leave_out(&format!("{user}/tools.yaml"), line);
        }
        tools
    }

    /// What stands in a user's folder and is no part of the format.
    fn leftovers(&mut self, user: &str, episode: &EpisodeYaml) {
        const KNOWN: [&str; 7] = [
            "USER.md",
            "episode.yaml",
            "profile.yaml",
            "scripts",
            "skills",
            "tasks",
            "tools.yaml",
        ];
        let names = self.names(user);
        for name in names.iter().filter(|name| !KNOWN.contains(&name.as_str())) {
            self.leave_out(&format!("{user}/{name}"), "no part of the format");
        }
        let folder = format!("{user}/tasks");
        for name in self.names(&folder) {
            if !episode.tasks.iter().any(|task| task.task_id == name) {
                self.leave_out(&format!("{folder}/{name}"), "no task of the episode");
            }
        }
        let folder = format!("{user}/scripts");
        for name in self.names(&folder) {
            let path = format!("{folder}/{name}");
            if !self.input.was_read(&path) {
                self.leave_out(&path, "a script that no task of the episode names");
            }
        }
    }

    /// Imports the sessions of an episode, and says in which order they stand.
    fn sessions(
        &mut self,
        user: &str,
        persona: &str,
        episode: &EpisodeYaml,
    ) -> io::Result<Vec<EpisodeEntry>> {
        let path = format!("{user}/episode.yaml");
        let mut entries: Vec<EpisodeEntry> = Vec::new();
        // The sessions so far, and whether each has criteria.
        let mut criteria: BTreeMap<&str, bool> = BTreeMap::new();
        let mut depended = BTreeSet::new();
        for (position, task) in episode.tasks.iter().enumerate() {
            let name = task.task_id.as_str();
            let Some(id) =
                to_id(name).filter(|id| entries.iter().all(|entry| entry.session != *id))
            else {
                self.reject(
                    &path,
                    format!("the task id `{name}` stands twice or has no letter or digit"),
                );
                continue;
            };
            for (nth, dependency) in task.depends_on.iter().enumerate() {
                let wrong = if task.depends_on[..nth].contains(dependency) {
                    "stands twice"
                } else if dependency == name {
                    "is the task itself"
                } else if !criteria.contains_key(dependency.as_str()) {
                    "is no earlier task"
                } else if criteria[dependency.as_str()] {
                    "has criteria of its own"
                } else if !depended.insert(dependency.clone()) {
                    "belongs to another group already"
                } else {
                    continue;
                };
                self.reject_at(
                    &path,
                    dependency,
                    format!("depends_on of `{name}`: `{dependency}` {wrong}"),
                );
            }
            let Some(session) = self.session(user, persona, name, &id, position)? else {
                // Rejected already; those that depend on it are not to blame.
                criteria.insert(name, false);
                continue;
            };
            criteria.insert(name, session.has_criteria);
            if !task.depends_on.is_empty() && !session.has_criteria {
                self.reject_at(
                    &path,
                    name,
                    format!("`{name}` has depends_on and no criteria"),
                );
            }
            let depends_on = if session.has_items {
                task.depends_on.iter().filter_map(|id| to_id(id)).collect()
            } else {
                Vec::new()
            };
            if depends_on.len() < task.depends_on.len() {
                self.leave_out(
                    &path,
                    format!("depends_on of `{name}`: none of its criteria could be carried over"),
                );
            }
            entries.push(EpisodeEntry {
                session: id,
                depends_on,
            });
        }
        Ok(entries)
    }

    fn reject_at(&mut self, path: &str, needle: &str, message: String) {
        let problem = self.input.problem(path, needle, message);
        self.problems.push(problem);
    }

    fn session(
        &mut self,
        user: &str,
        persona: &str,
        name: &str,
        id: &str,
        position: usize,
    ) -> io::Result<Option<Imported>> {
        let folder = format!("{user}/tasks/{name}");
        let path = format!("{folder}/task.yaml");
        let task = self.input.yaml::<TaskYaml>(&path);
        let Some(task) = self.accept(task) else {
            return Ok(None);
        };
        if !self.fits(&path, name, &task) {
            return Ok(None);
        }
        let out = format!("personas/{persona}/sessions/{id}");
        let files = self.assets(&folder, &out)?;
        let ours = self.origin(&path, &task);
        let TaskYaml {
            schema_version: _,
            task_id,
            user_id: _,
            environment_id: _,
            title,
            description,
            task_type: _,
            trigger,
            intent,
            objectives,
            metadata,
            rest: _,
        } = task;
        let objectives = objectives.unwrap_or_default();
        let has_criteria =
            !objectives.checklist.is_empty() || objectives.tools_evaluation_path.is_some();
        let mut checklist: Vec<ItemFile> = objectives
            .checklist
            .into_iter()
            .enumerate()
            .map(rubric)
            .collect();
        self.report.rubrics += checklist.len();
        let tools = self.evidence(&path, objectives.tools);
        if let Some(script) = &objectives.tools_evaluation_path {
            let mut shown: Vec<&str> = tools.iter().map(|tool| tool.tool.as_str()).collect();
            shown.dedup();
            let rules = self.rules(&path, script, &out, &shown)?;
            self.report.rules += rules.len();
            checklist.extend(rules);
        }

        let session = SessionFile {
            version: super::manifest::VERSION,
            id: id.to_owned(),
            title: if title.trim().is_empty() {
                task_id
            } else {
                title
            },
            description,
            category: None,
            clock: clock(position),
            trigger: trigger_of(trigger),
            request: intent.initial_input,
            intents: (1..)
                .zip(intent.hidden_intent)
                .map(|(number, hidden)| intent_of(number, hidden.content))
                .collect(),
            checklist,
            files,
            apps: BTreeMap::new(),
            evidence: EvidenceFile {
                files_read: self.files_read(&path, objectives.files_read),
                tools,
            },
            reference: Vec::new(),
            metadata: self.metadata(&path, metadata.unwrap_or_default(), ours),
        };
        self.report.sessions += 1;
        self.report.intents += session.intents.len();
        let has_items = !session.checklist.is_empty();
        self.staging
            .write_toml(&format!("{out}/session.toml"), &session)?;
        Ok(Some(Imported {
            has_criteria,
            has_items,
        }))
    }

    /// What our format has no place for, kept as metadata.
    fn origin(&mut self, path: &str, task: &TaskYaml) -> Map<String, Value> {
        let statuses: Map<String, Value> = (1..)
            .zip(&task.intent.hidden_intent)
            .filter_map(|(number, hidden)| Some((format!("i{number}"), json!(hidden.status?))))
            .collect();
        for (id, _) in statuses.iter().filter(|(_, status)| *status == "provided") {
            let what =
                format!("the intent {id} starts as `provided`; here every intent starts open");
            self.leave_out(path, what);
        }
        let script = task
            .objectives
            .as_ref()
            .and_then(|objectives| objectives.tools_evaluation_path.as_ref());
        let mut origin: Map<String, Value> = [
            ("task_id", json!(task.task_id)),
            ("user_id", json!(task.user_id)),
            ("environment_id", json!(task.environment_id)),
            ("task_type", json!(task.task_type)),
            ("trigger", task.trigger.clone()),
            ("tools_evaluation_path", json!(script)),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        origin.extend(task.rest.clone());
        if !statuses.is_empty() {
            origin.insert("intent_status".to_owned(), Value::Object(statuses));
        }
        if !task.intent.rest.is_empty() {
            origin.insert("intent".to_owned(), Value::Object(task.intent.rest.clone()));
        }
        origin
    }

    /// The rules of the format that its types do not say.
    fn fits(&mut self, path: &str, name: &str, task: &TaskYaml) -> bool {
        let before = self.problems.len();
        if task.task_id != name {
            self.reject_at(
                path,
                "task_id",
                format!(
                    "the task id `{}` is not the folder's name, `{name}`",
                    task.task_id
                ),
            );
        }
        if task.intent.hidden_intent.is_empty() {
            self.reject_at(path, "hidden_intent", "no hidden intents".to_owned());
        }
        if task.intent.rest.contains_key("detailed_intent") {
            self.reject_at(
                path,
                "detailed_intent",
                "`intent.detailed_intent` is not allowed in v2".to_owned(),
            );
        }
        if !matches!(
            task.trigger["type"].as_str(),
            Some("user" | "user_query" | "environmental_signal")
        ) {
            let message = format!("unknown trigger type {}", task.trigger["type"]);
            self.reject_at(path, "trigger", message);
        }
        let items = task
            .objectives
            .iter()
            .flat_map(|objectives| &objectives.checklist);
        for item in items.filter(|item| !item.weight.is_finite() || item.weight <= 0.0) {
            self.reject_at(
                path,
                "weight",
                format!("the weight {} is not above 0", item.weight),
            );
        }
        let tools = task
            .objectives
            .iter()
            .flat_map(|objectives| &objectives.tools);
        for tool in tools.filter(|tool| tool.len() != 1) {
            self.reject_at(
                path,
                "tools:",
                format!(
                    "an item of `objectives.tools` has {} keys, not one",
                    tool.len()
                ),
            );
        }
        self.problems.len() == before
    }

    /// Copies every file of a task's folder but the task itself; they are staged under the same paths.
    fn assets(&mut self, folder: &str, out: &str) -> io::Result<Vec<StagedFile>> {
        let copied = self.copy(folder, &format!("{out}/files"), &["task.yaml"])?;
        self.report.files += copied.len();
        let stage = |path: String| {
            let nested = path.contains('/');
            StagedFile {
                source: format!("files/{path}"),
                path: nested.then_some(path),
            }
        };
        Ok(copied.into_iter().map(stage).collect())
    }

    /// Copies the files below a folder of the source but for `except`, and says which, relative to it.
    fn copy(&mut self, folder: &str, out: &str, except: &[&str]) -> io::Result<Vec<String>> {
        let mut copied = Vec::new();
        let mut open = self.names(folder);
        open.reverse();
        while let Some(name) = open.pop() {
            let path = format!("{folder}/{name}");
            if except.contains(&name.as_str()) {
                continue;
            }
            if self.input.is_folder(&path) {
                let below = self.names(&path);
                open.extend(
                    below
                        .into_iter()
                        .rev()
                        .map(|below| format!("{name}/{below}")),
                );
                continue;
            }
            match self.input.bytes(&path, STAGED_LIMIT) {
                Ok(content) => {
                    self.staging.write(&format!("{out}/{name}"), &content)?;
                    copied.push(name);
                }
                Err(reason) => self.leave_out(&path, reason),
            }
        }
        Ok(copied)
    }

    /// One rule item for each check of the script, which is copied beside the session file.
    fn rules(
        &mut self,
        path: &str,
        script: &str,
        out: &str,
        shown: &[&str],
    ) -> io::Result<Vec<ItemFile>> {
        let text = match self.input.script(script) {
            Ok(text) => text,
            Err(reason) => {
                self.leave_out(path, format!("the rule script {script}: {reason}"));
                return Ok(Vec::new());
            }
        };
        let checks = match (self.list_checks)(&text) {
            Ok(checks) => checks,
            Err(reason) => {
                self.leave_out(
                    path,
                    format!("the checks of {script} could not be listed: {reason}"),
                );
                return Ok(Vec::new());
            }
        };
        let name = Utf8Path::new(script).file_name().unwrap_or("grader.py");
        self.staging
            .write(&format!("{out}/{name}"), text.as_bytes())?;
        Ok((1..)
            .zip(checks)
            .map(|(number, check)| rule(number, check, name, shown))
            .collect())
    }

    fn files_read(&mut self, path: &str, files: Vec<String>) -> Vec<String> {
        let mut kept = Vec::new();
        for file in files {
            let name = file.strip_prefix("./").unwrap_or(&file);
            match plain(name) {
                Ok(()) => kept.push(name.to_owned()),
                Err(reason) => self.leave_out(path, format!("files_read `{file}`: {reason}")),
            }
        }
        kept
    }

    /// Our tools have no prefix, and the results of our apps no wrapping.
    fn evidence(
        &mut self,
        path: &str,
        tools: Vec<BTreeMap<String, source::FieldsYaml>>,
    ) -> Vec<ToolEvidence> {
        let mut evidence = Vec::new();
        for (name, fields) in tools.into_iter().flatten() {
            let app = name.strip_prefix(TOOL_PREFIX);
            let mut result = Vec::new();
            for field in fields.result {
                match (app, field.strip_prefix(RESULT_PREFIX)) {
                    (Some(_), Some(bare)) => result.push(bare.to_owned()),
                    (Some(_), None) if field == "response" => {
                        self.leave_out(path, format!("the whole result of `{name}` as evidence"));
                    }
                    _ => result.push(field),
                }
            }
            evidence.push(ToolEvidence {
                tool: app.unwrap_or(&name).to_owned(),
                call: fields.call,
                result,
            });
        }
        evidence
    }

    /// The file's own metadata, with ours under one key of it. TOML has no null: a null is told and left out.
    fn metadata(
        &mut self,
        path: &str,
        own: Map<String, Value>,
        ours: Map<String, Value>,
    ) -> BTreeMap<String, Value> {
        let mut metadata = own;
        if metadata.contains_key(IMPORTED) {
            self.leave_out(
                path,
                format!("metadata key `{IMPORTED}`: the import uses it"),
            );
        }
        // What was absent says nothing.
        let ours = ours
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect();
        metadata.insert(IMPORTED.to_owned(), Value::Object(ours));
        let mut value = Value::Object(metadata);
        for place in drop_nulls(&mut value, "metadata") {
            self.leave_out(path, format!("{place}: null"));
        }
        let fields = value
            .as_object_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        fields.into_iter().collect()
    }
}

/// What the episode's rules need of an imported session.
struct Imported {
    /// As the data has them.
    has_criteria: bool,
    /// What of them was carried over.
    has_items: bool,
}

/// An id of ours that is as like as can be.
fn to_id(name: &str) -> Option<String> {
    let fold = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' => c,
        _ => '-',
    };
    let id: String = name.chars().map(fold).collect();
    let id = id.trim_matches(['-', '_']).to_owned();
    is_id(&id).then_some(id)
}

fn clock(position: usize) -> toml::value::Datetime {
    let days = i64::try_from(position).unwrap_or(i64::MAX);
    let moment = FIRST_CLOCK.saturating_add(days.min(10_000).days());
    let part = |number: i8| u8::try_from(number).unwrap_or_default();
    let date = toml::value::Date {
        year: u16::try_from(moment.year()).unwrap_or_default(),
        month: part(moment.month()),
        day: part(moment.day()),
    };
    let time = toml::value::Time {
        hour: part(moment.hour()),
        minute: part(moment.minute()),
        second: Some(part(moment.second())),
        nanosecond: None,
    };
    toml::value::Datetime {
        date: Some(date),
        time: Some(time),
        offset: None,
    }
}

fn profile_text(role: &str, preferences: Option<&Value>, goals: &[String]) -> String {
    let preference = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    };
    let preferences: Vec<String> = preferences
        .and_then(Value::as_object)
        .map(|preferences| preferences.iter().map(preference).collect())
        .unwrap_or_default();
    let mut text = role.trim_end().to_owned() + "\n";
    for (title, lines) in [
        ("Preferences", preferences.as_slice()),
        ("Long-term goals", goals),
    ] {
        if !lines.is_empty() {
            text.extend(["\n## ", title, "\n- ", &lines.join("\n- "), "\n"]);
        }
    }
    text
}

fn trigger_of(trigger: Value) -> Trigger {
    let Value::Object(mut fields) = trigger else {
        return Trigger::User;
    };
    if fields.remove("type").as_ref().and_then(Value::as_str) != Some("environmental_signal") {
        return Trigger::User;
    }
    let source = match fields.remove("source") {
        Some(Value::String(source)) => source,
        Some(other) => other.to_string(),
        None => "environment".to_owned(),
    };
    let mut payload = Value::Object(fields);
    // Told with the metadata, which holds the whole trigger.
    drop_nulls(&mut payload, "");
    Trigger::Environment { source, payload }
}

fn intent_of(number: usize, content: String) -> IntentFile {
    IntentFile {
        id: format!("i{number}"),
        content,
        scope: Scope::Session,
        satisfied: None,
        asked: None,
        found_in: Vec::new(),
    }
}

fn rubric((index, item): (usize, source::CriterionYaml)) -> ItemFile {
    ItemFile {
        id: format!("c{}", index + 1),
        criterion: item.criterion,
        weight: item.weight,
        when: When::Ever,
        met: None,
        rule: None,
    }
}

/// Under `pi-bench` a script is shown the calls of the session's `objectives.tools` only.
fn rule(number: usize, check: String, script: &str, shown: &[&str]) -> ItemFile {
    let config = match shown {
        [] => Value::Null,
        shown => json!({ "tools": shown }),
    };
    ItemFile {
        id: format!("r{number}"),
        criterion: check.clone(),
        weight: 1.0,
        when: When::Ever,
        met: None,
        rule: Some(RuleFile {
            grader: "python".to_owned(),
            config,
            script: Some(script.to_owned()),
            check: Some(check),
        }),
    }
}

/// Takes nulls out of a value and says where they stood.
fn drop_nulls(value: &mut Value, place: &str) -> Vec<String> {
    let mut dropped = Vec::new();
    match value {
        Value::Object(fields) => {
            fields.retain(|key, field| {
                if field.is_null() {
                    dropped.push(format!("{place}.{key}"));
                }
                !field.is_null()
            });
            for (key, field) in fields {
                dropped.extend(drop_nulls(field, &format!("{place}.{key}")));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                dropped.extend(drop_nulls(item, &format!("{place}[{index}]")));
            }
            if items.iter().any(Value::is_null) {
                dropped.push(format!("{place}[]"));
                items.retain(|item| !item.is_null());
            }
        }
        _ => {}
    }
    dropped
}

#[cfg(test)]
mod tests;
