//! One task of the data as a session: its files staged, its checklist as rubrics and rules, and what our format has no
//! place for as metadata.

use std::collections::BTreeMap;
use std::io;

use camino::Utf8Path;
use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use serde_json::{Map, Value, json};

use super::metadata::drop_nulls;
use super::source::{self, TaskYaml};
use super::{Importer, TOOL_PREFIX};
use pibench_core::vocabulary::{Scope, ToolEvidence, When};
use pibench_suite::load::STAGED_LIMIT;
use pibench_suite::manifest::{
    EvidenceFile, IntentFile, ItemFile, RuleFile, SessionFile, StagedFile, Trigger,
};
use pibench_suite::pack::plain;

/// The format has no clock: the first session of an episode opens here, each later one a day after. A Monday.
pub const FIRST_CLOCK: DateTime = date(2026, 3, 2).at(9, 0, 0, 0);

/// What it wraps the results of app tools in.
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
}

/// What the episode's rules need of an imported session.
pub(super) struct Imported {
    /// As the data has them.
    pub(super) has_criteria: bool,
    /// What of them was carried over.
    pub(super) has_items: bool,
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
            accepts: Vec::new(),
            rejects: Vec::new(),
        }),
    }
}
