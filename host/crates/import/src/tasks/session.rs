//! One task of the data as a session: its files staged, its checklist as rubrics and rules, and what our format has no
//! place for as metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use camino::Utf8Path;
use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use serde_json::{Map, Value, json};

use super::metadata::drop_nulls;
use super::source::{self, TaskYaml, ToolYaml};
use super::{Importer, TOOL_PREFIX, script};
use pibench_core::vocabulary::{Scope, ToolEvidence, WHOLE, When};
use pibench_suite::load::STAGED_LIMIT;
use pibench_suite::manifest::{
    EvidenceFile, IntentFile, ItemFile, RuleFile, SessionFile, StagedFile, Trigger,
};
use pibench_suite::pack::plain;
use pibench_suite::problem::Problem;

/// The format has no clock: the first session of an episode opens here, each later one a day after. A Monday.
pub const FIRST_CLOCK: DateTime = date(2026, 3, 2).at(9, 0, 0, 0);

/// What of a task's folder the released code does not stage.
const NO_ASSETS: [&str; 4] = ["task.yaml", ".history", ".result", ".eval_result"];

/// What it wraps the results of app tools in.
const RESULT: &str = "response";
const RESULT_PREFIX: &str = "response.";

impl Importer<'_> {
    pub(super) fn session(
        &mut self,
        user: &str,
        persona: &str,
        name: &str,
        id: &str,
        position: usize,
    ) -> io::Result<Option<Imported>> {
        let folder = format!("{user}/tasks/{name}");
        let path = format!("{folder}/task.yaml");
        let Some(task) = self.read_task(&path, name) else {
            return Ok(None);
        };
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
            unknown,
        } = task;
        for key in unknown {
            self.leave_out(&path, format!("{key}: no key of the format"));
        }
        let mut objectives = objectives.unwrap_or_default();
        // Read before, with what is wrong.
        let named = objectives.tools().unwrap_or_default();
        let has_criteria =
            !objectives.checklist.is_empty() || objectives.tools_evaluation_path.is_some();
        let exact: BTreeSet<&str> = named.iter().map(|tool| tool.name.as_str()).collect();
        let exact: Vec<String> = exact.into_iter().map(str::to_owned).collect();
        let tools = evidence(named);
        let mut checklist = rubrics(std::mem::take(&mut objectives.checklist));
        if let Some(script) = &objectives.tools_evaluation_path {
            checklist.extend(self.rules(user, &path, script, &out, &exact)?);
        }
        let session = SessionFile {
            version: pibench_suite::manifest::VERSION,
            id: id.to_owned(),
            title: if title.trim().is_empty() {
                task_id
            } else {
                title
            },
            description,
            category: None,
            clock: clock(position),
            trigger: self.trigger(&path, trigger),
            request: intent.initial_input,
            intents: intents(intent.hidden_intent),
            checklist,
            files,
            apps: BTreeMap::new(),
            evidence: EvidenceFile {
                files_read: self.files_read(&path, objectives.files_read),
                tools,
            },
            reference: Vec::new(),
            metadata: self.metadata(&path, map_of(metadata), ours),
        };
        let has_items = !session.checklist.is_empty();
        self.staging
            .write_toml(&format!("{out}/session.toml"), &session)?;
        self.make(&out, &path, Some(session));
        Ok(Some(Imported {
            has_criteria,
            has_items,
        }))
    }

    /// The task of a file; None when it has to be left out, which is told.
    fn read_task(&mut self, path: &str, name: &str) -> Option<TaskYaml> {
        let problems = match self.input.yaml::<TaskYaml>(path) {
            Ok(task) => match self.breaches(path, name, &task) {
                problems if problems.is_empty() => return Some(task),
                problems => problems,
            },
            Err(problem) => vec![*problem],
        };
        self.leave_out_for(path, &problems);
        None
    }

    /// What our format has no place for, kept as metadata.
    fn origin(&mut self, path: &str, task: &TaskYaml) -> Map<String, Value> {
        let statuses: Map<String, Value> = (1..)
            .zip(&task.intent.hidden_intent)
            .filter_map(|(number, hidden)| {
                Some((format!("i{number}"), json!(hidden.status.as_ref()?)))
            })
            .collect();
        for (id, status) in statuses.iter().filter(|(_, it)| *it != "not_provided") {
            let what = format!("the intent {id} starts as {status}; here every intent starts open");
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

    /// What breaks the rules of the format that its types do not say.
    fn breaches(&mut self, path: &str, name: &str, task: &TaskYaml) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |needle: &str, message: String| {
            problems.push(self.input.problem(path, needle, message));
        };
        if task.task_id != name {
            let id = &task.task_id;
            let message = format!("the task id `{id}` is not the folder's name, `{name}`");
            add("task_id", message);
        }
        if task.intent.hidden_intent.is_empty() {
            add("hidden_intent", "no hidden intents".to_owned());
        }
        if task.intent.rest.contains_key("detailed_intent") {
            let message = "`intent.detailed_intent` is not allowed in v2".to_owned();
            add("detailed_intent", message);
        }
        let objectives = task.objectives.iter();
        let items = objectives.clone().flat_map(|it| &it.checklist);
        for item in items.filter(|item| !item.weight.is_finite() || item.weight <= 0.0) {
            let message = format!("the weight {} is not above 0", item.weight);
            add("weight", message);
        }
        for message in objectives.filter_map(|objectives| objectives.tools().err()) {
            add("tools:", message);
        }
        problems
    }

    /// What we know is mapped; every other signal opens the session as a message of the user's.
    fn trigger(&mut self, path: &str, trigger: Value) -> Trigger {
        let kind = trigger["type"].as_str().map(str::to_owned);
        match kind.as_deref() {
            Some("user" | "user_query") => Trigger::User,
            Some("environmental_signal" | "env") => environment(trigger),
            other => {
                let kind =
                    other.map_or_else(|| trigger["type"].to_string(), |it| format!("`{it}`"));
                let what = format!("{path}: the trigger type {kind} is not known here");
                let then =
                    "the request comes from the user, and the trigger is kept in the metadata";
                self.report.notes.push(format!("{what}: {then}"));
                Trigger::User
            }
        }
    }

    /// Copies every file of a task's folder but the task itself; they are staged under the same paths.
    fn assets(&mut self, folder: &str, out: &str) -> io::Result<Vec<StagedFile>> {
        let copied = self.copy(folder, &format!("{out}/files"), &NO_ASSETS)?;
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
    pub(super) fn copy(
        &mut self,
        folder: &str,
        out: &str,
        except: &[&str],
    ) -> io::Result<Vec<String>> {
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
        user: &str,
        path: &str,
        script: &str,
        out: &str,
        shown: &[String],
    ) -> io::Result<Vec<ItemFile>> {
        let text = match self.input.script(script) {
            Ok(text) => text,
            Err(reason) => {
                self.leave_out(path, format!("the rule script {script}: {reason}"));
                return Ok(Vec::new());
            }
        };
        self.tell_missing_files(user, script, &text);
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

    /// A script may open files of its own repository, which no data set ships.
    fn tell_missing_files(&mut self, user: &str, script: &str, text: &str) {
        let tasks = self.names(&format!("{user}/tasks"));
        let mut missing = script::paths(text);
        missing.retain(|path| {
            let staged = |task: &String| self.input.is_file(&format!("{user}/tasks/{task}/{path}"));
            !tasks.iter().any(staged)
        });
        if !missing.is_empty() {
            let files = missing.join("`, `");
            let note = format!(
                "{script} names `{files}`: no task brings it, so it is there only if the agent makes it"
            );
            // Several tasks may have one script.
            if !self.report.notes.contains(&note) {
                self.report.notes.push(note);
            }
        }
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
}

/// What the episode's rules need of an imported session.
pub(super) struct Imported {
    /// As the data has them.
    pub(super) has_criteria: bool,
    /// What of them was carried over.
    pub(super) has_items: bool,
}

/// Our tools have no prefix, and the results of our apps no wrapping.
fn evidence(tools: Vec<ToolYaml>) -> Vec<ToolEvidence> {
    let mut evidence = Vec::new();
    for ToolYaml { name, fields } in tools {
        let app = name.strip_prefix(TOOL_PREFIX);
        let source::FieldsYaml { call, result } = fields;
        let bare = |field: String| match field.strip_prefix(RESULT_PREFIX) {
            _ if app.is_none() => field,
            None if field == RESULT => WHOLE.to_owned(),
            None => field,
            Some(bare) => bare.to_owned(),
        };
        evidence.push(ToolEvidence {
            tool: app.unwrap_or(&name).to_owned(),
            call,
            result: result.into_iter().map(bare).collect(),
        });
    }
    evidence
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

fn environment(trigger: Value) -> Trigger {
    let Value::Object(mut fields) = trigger else {
        return Trigger::User;
    };
    fields.remove("type");
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

/// As the released code takes metadata that is no map.
fn map_of(metadata: Value) -> Map<String, Value> {
    match metadata {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        other => [("value".to_owned(), other)].into_iter().collect(),
    }
}

fn intents(hidden: Vec<source::HiddenYaml>) -> Vec<IntentFile> {
    let intent = |(number, hidden): (usize, source::HiddenYaml)| IntentFile {
        id: format!("i{number}"),
        content: hidden.content,
        scope: Scope::Session,
        satisfied: None,
        asked: None,
        found_in: Vec::new(),
    };
    (1..).zip(hidden).map(intent).collect()
}

/// An item without words is none.
fn rubrics(criteria: Vec<source::CriterionYaml>) -> Vec<ItemFile> {
    let rubric = |(number, item): (usize, source::CriterionYaml)| ItemFile {
        id: format!("c{number}"),
        criterion: item.criterion,
        weight: item.weight,
        when: When::Ever,
        met: None,
        rule: None,
    };
    let criteria = criteria
        .into_iter()
        .filter(|item| !item.criterion.trim().is_empty());
    (1..).zip(criteria).map(rubric).collect()
}

/// Under `pi-bench` a script is shown the calls of the session's `objectives.tools` only, by the names that stand there: to one
/// that leaves the prefix of app tools out no call is shown, as in the released code.
fn rule(number: usize, check: String, script: &str, shown: &[String]) -> ItemFile {
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
            accepts: Vec::new(),
            rejects: Vec::new(),
        }),
    }
}
