//! What the agent acts on: the workspace, the apps, the clock, and the tools that lead to them. Every tool call of a
//! session goes through `Environment::call`, whoever makes it.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::chat::LONG_RESULT;
use super::context::{RESULTS_FOLDER, own_path};
use super::memory::{self, SAVE_MEMORY};
use super::prompts::AgentPrompts;
use super::schedule::{self, CRON, CronArguments};
use super::subagent::Spawned;
use super::tokens;
use super::tools::exec::{self, EXEC, ExecError};
use super::tools::read_file::{self, Read, ReadError};
use super::tools::{ASK_USER, Builtin, MESSAGE, parameters};
use pibench_core::message::{ToolCall, ToolSpec};
use pibench_core::path::WorkspacePath;
use pibench_core::record::{CallRecord, CallStatus};
use pibench_core::vocabulary::Scaffold;
use pibench_model::web::{FetchArguments, SearchArguments, Web};
use pibench_record::SessionClock;
use pibench_record::event::{Fault, FaultKind, Jobs, Step};
use pibench_sandbox::document::DOCUMENT;
use pibench_sandbox::shell::SHELL;
use pibench_sandbox::workspace::{EntryKind, Workspace, WorkspaceError};
use pibench_sandbox::{App, ArgumentCheck, Documents, GuestFault, Shell};

const SPAWN: &str = "spawn";
const WEB_SEARCH: &str = "web_search";
const WEB_FETCH: &str = "web_fetch";

/// The tools of the released code's scaffold.
const OLD_TOOLS: [&str; 9] = [
    "read_file",
    "write_file",
    "edit_file",
    "list_dir",
    EXEC,
    WEB_SEARCH,
    WEB_FETCH,
    MESSAGE,
    CRON,
];

/// What a model is told that cannot be shown a picture.
const BLIND: &str = "this is a picture, and pictures cannot be shown to this model: work from its name and from the other \
files";

/// What a subagent goes without: it speaks to nobody, and leaves nothing running.
const NOT_OF_SUBAGENTS: [&str; 4] = [MESSAGE, ASK_USER, SPAWN, CRON];

/// What a call is answered with that the turn's time ended.
pub(super) const OUT_OF_TIME: &str = "not run to its end: the time of this turn is used up";

/// Files of a message and options of a question. More are left out, and the one who wrote them is told.
const MOST_LISTED: usize = 100;

/// Bytes of one text to the user or a subagent.
const MOST_SAID: usize = 256 << 10;

/// Calls of one answer that are run.
pub(super) const MOST_CALLS: usize = 128;

/// What a question without words is answered with.
const NO_QUESTION: &str = "`question` is empty, so nothing was asked: write what you want to know";

/// The tools of one persona: what the model is told of them, and the check of their arguments.
#[derive(Debug, Clone)]
pub struct Toolbox(Arc<ToolboxInner>);

#[derive(Debug)]
struct ToolboxInner {
    specs: Vec<ToolSpec>,
    /// Of all specs; counted when first asked for.
    tokens: OnceLock<usize>,
    checks: Checks,
    /// Built-in tools but for those that are the agent's own matter.
    of_subagent: Option<Toolbox>,
}

/// By the tools' names.
type Checks = HashMap<String, Arc<ArgumentCheck>>;

/// Tells the user something while the work goes on.
#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct MessageArguments {
    content: String,
    /// Files that go with it.
    #[serde(default)]
    media: Vec<String>,
}

/// Asks the user a question and ends the turn; the answer comes as this call's result.
#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct QuestionArguments {
    question: String,
    /// To choose from.
    #[serde(default)]
    options: Vec<String>,
}

/// Lets a subagent with the tools for files and the web do what task says, all that it knows; its result comes as a
/// message.
#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SpawnArguments {
    task: String,
    #[serde(default)]
    label: Option<String>,
}

impl Toolbox {
    /// The built-in tools of a profile, that of the memory step, and those of the apps. An error names the tool whose
    /// schema is none.
    pub fn new(
        scaffold: Scaffold,
        apps: impl IntoIterator<Item = ToolSpec>,
    ) -> Result<Self, String> {
        let own = builtin(scaffold);
        let all = own.iter().cloned().chain([memory::tool()]).chain(apps);
        let specs: Vec<ToolSpec> = all.collect();
        let checks = compiled(&specs)?;
        let of_subagent = |spec: &ToolSpec| !NOT_OF_SUBAGENTS.contains(&spec.name.as_str());
        let subagents = own.into_iter().filter(of_subagent).collect();
        let subagents = Self::of(subagents, &checks, None);
        Ok(Self::of(specs, &checks, Some(subagents)))
    }

    /// The box of these tools; `checks` has theirs among others.
    fn of(specs: Vec<ToolSpec>, checks: &Checks, of_subagent: Option<Self>) -> Self {
        let own = |spec: &ToolSpec| {
            let (name, check) = checks.get_key_value(&spec.name)?;
            Some((name.clone(), Arc::clone(check)))
        };
        Self(Arc::new(ToolboxInner {
            checks: specs.iter().filter_map(own).collect(),
            specs,
            tokens: OnceLock::new(),
            of_subagent,
        }))
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.0.specs
    }

    /// Tokens of the specs, which go with every question.
    pub fn tokens(&self) -> usize {
        *self
            .0
            .tokens
            .get_or_init(|| tokens::of_tools(&self.0.specs))
    }

    /// Whether a tool is among them.
    pub fn has(&self, tool: &str) -> bool {
        self.0.checks.contains_key(tool)
    }

    /// The tools of a subagent. It has none of its own: its box is the same.
    pub(super) fn of_subagent(&self) -> Self {
        self.0.of_subagent.as_ref().unwrap_or(self).clone()
    }

    /// What is wrong with a call before any tool runs; None when nothing is.
    fn objection(&self, tool: &str, arguments: &Value) -> Option<String> {
        let Some(check) = self.0.checks.get(tool) else {
            return Some(self.unknown(tool));
        };
        if let Value::String(text) = arguments {
            return Some(format!(
                "the arguments are no JSON object: {}",
                excerpt(text)
            ));
        }
        let objection = check.objection(arguments)?;
        Some(format!("bad arguments: {objection}"))
    }

    /// There is no such tool; the nearest name, if there is one.
    fn unknown(&self, tool: &str) -> String {
        let nearest = self
            .specs()
            .iter()
            .map(|spec| (strsim::jaro_winkler(&spec.name, tool), &spec.name))
            .filter(|(likeness, _)| *likeness > 0.85)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match nearest {
            Some((_, name)) => format!("there is no tool `{tool}`; did you mean `{name}`?"),
            None => format!("there is no tool `{tool}`"),
        }
    }
}

/// What checks a call of each tool.
fn compiled(specs: &[ToolSpec]) -> Result<Checks, String> {
    let one = |spec: &ToolSpec| {
        let check = ArgumentCheck::new(&spec.parameters)
            .map_err(|error| format!("the schema of `{}` is not taken: {error}", spec.name))?;
        Ok((spec.name.clone(), Arc::new(check)))
    };
    specs.iter().map(one).collect()
}

/// All built-in tools of a profile, in the order in which they are offered.
pub fn builtin(scaffold: Scaffold) -> Vec<ToolSpec> {
    let mut specs: Vec<ToolSpec> = Builtin::ALL.iter().map(|builtin| builtin.spec()).collect();
    specs.push(exec::spec());
    specs.push(spec::<SearchArguments>(WEB_SEARCH));
    specs.push(spec::<FetchArguments>(WEB_FETCH));
    specs.push(spec::<MessageArguments>(MESSAGE));
    specs.push(spec::<QuestionArguments>(ASK_USER));
    specs.push(spec::<SpawnArguments>(SPAWN));
    specs.push(spec::<CronArguments>(CRON));
    if scaffold == Scaffold::Nanobot014 {
        specs.retain(|spec| OLD_TOOLS.contains(&spec.name.as_str()));
        specs.iter_mut().for_each(without_recursion);
    }
    specs
}

/// The old `list_dir` lists one folder, whole.
fn without_recursion(spec: &mut ToolSpec) {
    if spec.name != Builtin::ListDir.name() {
        return;
    }
    let mut parameters = Value::clone(&spec.parameters);
    if let Some(properties) = parameters["properties"].as_object_mut() {
        properties.retain(|name, _| name == "path");
    }
    spec.parameters = parameters.into();
}

pub(super) fn spec<T: JsonSchema>(name: &str) -> ToolSpec {
    let described = schemars::schema_for!(T).to_value();
    let description = described["description"].as_str().unwrap_or_default();
    ToolSpec {
        name: name.into(),
        // A line's end in a comment is none in what is said.
        description: description.replace('\n', " "),
        parameters: parameters::<T>().into(),
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

/// A model's arguments: an object where they are one, else the text itself.
pub(super) fn arguments(call: &ToolCall) -> Value {
    if call.arguments.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        _ => Value::String(call.arguments.clone()),
    }
}

/// What the agent acts on. One task owns it.
#[derive(Debug)]
pub struct Environment {
    pub workspace: Workspace,
    /// By app name.
    pub apps: BTreeMap<String, App>,
    pub shell: Shell,
    pub documents: Documents,
    pub clock: SessionClock,
    pub toolbox: Toolbox,
    /// What the agent and its subagents are told of how they work.
    pub prompts: Arc<AgentPrompts>,
    pub web: Arc<Web>,
    /// Whether the agent's model can be shown pictures.
    pub vision: bool,
    /// What the agent wants to be woken for.
    pub jobs: Jobs,
    /// How often the agent was woken since the last session; 0 in a session.
    pub woken: u32,
    /// Calls of the session so far.
    pub calls: u32,
}

/// What one call came to.
#[derive(Debug)]
pub struct Called {
    pub record: CallRecord,
    /// Text that went to the user.
    pub said: Option<String>,
    /// A question to the user.
    pub ends_turn: bool,
    pub fault: Option<Fault>,
    /// A subagent that is to run.
    pub spawned: Option<Spawned>,
    /// A `Step::Picture` for the model.
    pub picture: Option<Step>,
}

/// What a call did beside its result.
#[derive(Debug, Default)]
struct Effects {
    said: Option<String>,
    spawned: Option<Spawned>,
    picture: Option<Step>,
}

/// A tool's result before it is recorded.
#[derive(Debug)]
pub(super) enum Ran {
    Ok(String),
    Refused { code: u16, message: String },
    Broke(Fault),
}

impl Environment {
    /// Runs one tool call and moves the clock by a second. What is searched past the deadline is not searched to its end.
    pub async fn call(&mut self, turn: u32, call: &ToolCall, deadline: Instant) -> Called {
        let arguments = arguments(call);
        if let Some(objection) = self.toolbox.objection(&call.name, &arguments) {
            return self.refuse(turn, call, &objection);
        }
        let mut effects = Effects::default();
        let running = self.dispatch(&call.name, &arguments, deadline, &mut effects);
        let ran = caught(&call.name, running).await;
        let mut called = self.called(turn, call, ran);
        let Effects {
            said,
            spawned,
            picture,
        } = effects;
        called.ends_turn = call.name == ASK_USER && said.is_some();
        called.said = said;
        called.spawned = spawned;
        called.picture = picture;
        called
    }

    async fn dispatch(
        &mut self,
        name: &str,
        arguments: &Value,
        deadline: Instant,
        effects: &mut Effects,
    ) -> Ran {
        match name {
            MESSAGE => match parsed::<MessageArguments>(arguments) {
                Ok(message) => self.message(message, &mut effects.said),
                Err(refused) => refused,
            },
            ASK_USER => parsed(arguments).map_or_else(
                |refused| refused,
                |question: QuestionArguments| {
                    if question.question.trim().is_empty() {
                        return refused(NO_QUESTION.into());
                    }
                    effects.said = Some(question.text());
                    Ran::Ok(String::new())
                },
            ),
            SAVE_MEMORY => refused(memory::NOT_NOW.into()),
            SPAWN => parsed(arguments).map_or_else(
                |refused| refused,
                |arguments: SpawnArguments| {
                    let task = arguments.spawned();
                    let answer = format!(
                        "Subagent `{}` is at work; its result comes as a message.",
                        task.label
                    );
                    effects.spawned = Some(task);
                    Ran::Ok(answer)
                },
            ),
            CRON => parsed(arguments).map_or_else(
                |refused| refused,
                |arguments| {
                    let now = self.clock.now();
                    schedule::cron(&mut self.jobs, arguments, now, self.woken)
                        .map_or_else(refused, Ran::Ok)
                },
            ),
            WEB_SEARCH | WEB_FETCH => fetch(&self.web, name, arguments).await,
            name if name == Builtin::ReadFile.name() => {
                self.read_file(arguments, &mut effects.picture).await
            }
            name if name == Builtin::Grep.name() => self.search(arguments, deadline).await,
            name => self.run(name, arguments).await,
        }
    }

    /// Other episodes have their turn between two slices.
    async fn search(&mut self, arguments: &Value, deadline: Instant) -> Ran {
        let mut search = match Builtin::search(&self.workspace, arguments) {
            Ok(search) => search,
            Err(refusal) => return refused(refusal.to_string()),
        };
        while search.step(&self.workspace) {
            tokio::task::yield_now().await;
            if Instant::now() >= deadline {
                return refused(OUT_OF_TIME.into());
            }
        }
        Ran::Ok(search.text())
    }

    /// Starts the calls to the web among those of one answer, all side by side, and waits for all of them. By place.
    pub(super) async fn fetch_ahead(&mut self, calls: &[ToolCall]) -> HashMap<usize, Ran> {
        let is_web = |call: &ToolCall| [WEB_SEARCH, WEB_FETCH].contains(&call.name.as_str());
        let asking = |call: &&ToolCall| call.name != ASK_USER;
        let web: Vec<(usize, &ToolCall, Value)> = calls
            .iter()
            .take(MOST_CALLS)
            .take_while(asking)
            .enumerate()
            .filter(|(_, call)| is_web(call))
            .map(|(place, call)| (place, call, arguments(call)))
            .filter(|(_, call, given)| self.toolbox.objection(&call.name, given).is_none())
            .collect();
        if web.len() < 2 {
            return HashMap::new();
        }
        let door = &*self.web;
        let started = web.iter().map(|(place, call, given)| async move {
            let running = fetch(door, &call.name, given);
            (*place, caught(&call.name, running).await)
        });
        join_all(started).await.into_iter().collect()
    }

    /// Records a call that was carried out ahead.
    pub(super) fn fetched(&mut self, turn: u32, call: &ToolCall, ran: Ran) -> Called {
        self.called(turn, call, ran)
    }

    fn called(&mut self, turn: u32, call: &ToolCall, ran: Ran) -> Called {
        let (status, code, result, fault) = match ran {
            Ran::Ok(result) => (CallStatus::Ok, 0, result, None),
            Ran::Refused { code, message } => (CallStatus::ToolError, code, message, None),
            Ran::Broke(fault) => (CallStatus::Failed, 0, fault.message.clone(), Some(fault)),
        };
        Called {
            record: self.record(turn, call, status, code, result),
            said: None,
            ends_turn: false,
            fault,
            spawned: None,
            picture: None,
        }
    }

    /// A message goes to the user when each of its files is there.
    fn message(&self, message: MessageArguments, said: &mut Option<String>) -> Ran {
        let MessageArguments { content, mut media } = message;
        let left_out = media.len().saturating_sub(MOST_LISTED);
        media.truncate(MOST_LISTED);
        for file in &media {
            let found = WorkspacePath::parse(file)
                .map_err(|error| error.to_string())
                .and_then(|path| self.is_readable(&path).map_err(|error| error.to_string()));
            if let Err(reason) = found {
                return refused(format!("nothing was sent: the file {file:?}: {reason}"));
            }
        }
        let text = media.iter().fold(said_of(content), |text, file| {
            format!("{text}\n[file: {file}]")
        });
        *said = Some(text);
        Ran::Ok(match left_out {
            0 => "The user has it.".into(),
            more => format!(
                "The user has it, without the last {more} files: a message takes {MOST_LISTED}."
            ),
        })
    }

    /// What the door says of a file that cannot be read.
    fn is_readable(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        match self.workspace.stat(path) {
            Ok(entry) if entry.kind == EntryKind::File => Ok(()),
            _ => self.workspace.read(path).map(drop),
        }
    }

    /// Puts a result that is too long for a chat into a file of the workspace; the file's path. A file that was read is
    /// its own copy.
    pub(super) fn keep_long(&mut self, record: &CallRecord) -> Option<String> {
        let CallRecord {
            tool,
            arguments,
            result,
            ..
        } = record;
        if result.len() <= LONG_RESULT || result.chars().count() <= LONG_RESULT {
            return None;
        }
        if tool == Builtin::ReadFile.name() {
            return arguments["path"].as_str().map(str::to_owned);
        }
        // The clock moves with every call, so the name is free.
        let moment = self.clock.to_string().replace(':', "-");
        let path = format!("{RESULTS_FOLDER}/{moment}.txt");
        // A workspace that is full keeps nothing: the chat then shortens the result.
        let written = self.workspace.write(&own_path(&path), result.as_bytes());
        written.ok().map(|()| path)
    }

    /// A call that no tool is run for.
    pub(super) fn refuse(&mut self, turn: u32, call: &ToolCall, why: &str) -> Called {
        let record = self.record(turn, call, CallStatus::ToolError, 0, why.into());
        Called {
            record,
            said: None,
            ends_turn: false,
            fault: None,
            spawned: None,
            picture: None,
        }
    }

    fn record(
        &mut self,
        turn: u32,
        call: &ToolCall,
        status: CallStatus,
        code: u16,
        result: String,
    ) -> CallRecord {
        self.calls += 1;
        self.clock.call();
        let arguments = arguments(call);
        CallRecord {
            number: self.calls,
            turn,
            tool: call.name.clone(),
            arguments,
            status,
            code,
            result,
        }
    }

    async fn run(&mut self, name: &str, arguments: &Value) -> Ran {
        if let Some((app, tool)) = name.split_once("__") {
            return self.run_app(app, tool, arguments).await;
        }
        if name == EXEC {
            return self.run_shell(arguments).await;
        }
        let Some(builtin) = Builtin::named(name) else {
            return Ran::Refused {
                code: 0,
                message: format!("there is no tool `{name}`"),
            };
        };
        match builtin.run(&mut self.workspace, arguments) {
            Ok(text) => Ran::Ok(text),
            Err(refusal) => Ran::Refused {
                code: 0,
                message: refusal.to_string(),
            },
        }
    }

    async fn read_file(&mut self, arguments: &Value, picture: &mut Option<Step>) -> Ran {
        match read_file::read(&self.documents, &self.workspace, arguments).await {
            Ok(Read::Text(text)) => Ran::Ok(text),
            Ok(Read::Picture { .. }) if !self.vision => refused(BLIND.to_owned()),
            Ok(Read::Picture { text, step }) => {
                *picture = Some(step);
                Ran::Ok(text)
            }
            Err(ReadError::Refused(refusal)) => refused(refusal.to_string()),
            Err(ReadError::Broke(fault)) => Ran::Broke(guest_fault(DOCUMENT, &fault)),
        }
    }

    async fn run_shell(&mut self, arguments: &Value) -> Ran {
        match exec::run(&self.shell, &self.workspace, &self.clock, arguments).await {
            Ok(text) => Ran::Ok(text),
            Err(ExecError::Refused(refusal)) => refused(refusal.to_string()),
            Err(ExecError::Broke(fault)) => Ran::Broke(guest_fault(SHELL, &fault)),
        }
    }

    async fn run_app(&mut self, name: &str, tool: &str, arguments: &Value) -> Ran {
        let Some(app) = self.apps.get_mut(name) else {
            return Ran::Refused {
                code: 404,
                message: format!("there is no app `{name}`"),
            };
        };
        let answer = app.call(tool, arguments, self.clock.now()).await;
        let log = app.take_log();
        if !log.is_empty() {
            tracing::info!(app = name, "{log}");
        }
        match answer {
            Ok(Ok(value)) => Ran::Ok(value.to_string()),
            Ok(Err(refusal)) => Ran::Refused {
                code: refusal.status,
                message: refusal.message,
            },
            Err(fault) => Ran::Broke(guest_fault(name, &fault)),
        }
    }
}

/// A tool's result, also where it panics: then that call has failed by a bug of ours, and the turn goes on. It is not the
/// machine's fault, which would leave the session unscored: no model may come to that by what it writes.
async fn caught(tool: &str, running: impl Future<Output = Ran>) -> Ran {
    let panic = match AssertUnwindSafe(running).catch_unwind().await {
        Ok(ran) => return ran,
        Err(panic) => panic,
    };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    Ran::Broke(Fault {
        kind: FaultKind::Guest,
        source: tool.into(),
        cause: "host".into(),
        message: format!(
            "{tool} broke by a bug of the host: {}",
            excerpt(text.unwrap_or("without a word"))
        ),
    })
}

/// A guest's fault as the record keeps it.
pub fn guest_fault(plugin: &str, fault: &GuestFault) -> Fault {
    let kind = if fault.is_infrastructure() {
        FaultKind::Infrastructure
    } else {
        FaultKind::Guest
    };
    Fault {
        kind,
        source: plugin.into(),
        cause: fault.kind().into(),
        message: format!("{plugin} {fault}"),
    }
}

/// Arguments that fit the schema already.
fn parsed<T: for<'de> Deserialize<'de>>(arguments: &Value) -> Result<T, Ran> {
    T::deserialize(arguments).map_err(|error| refused(format!("bad arguments: {error}")))
}

fn refused(message: String) -> Ran {
    Ran::Refused { code: 0, message }
}

/// A call to the web. It changes nothing, so that several can be under way.
async fn fetch(web: &Web, tool: &str, arguments: &Value) -> Ran {
    let answer = if tool == WEB_SEARCH {
        match parsed(arguments) {
            Ok(arguments) => web.search(&arguments).await,
            Err(refused) => return refused,
        }
    } else {
        match parsed(arguments) {
            Ok(arguments) => web.fetch(&arguments).await,
            Err(refused) => return refused,
        }
    };
    match answer {
        Ok(text) => Ran::Ok(text),
        Err(error) => refused(format!("failed to {error}")),
    }
}

impl SpawnArguments {
    fn spawned(self) -> Spawned {
        let Self { task, label } = self;
        let label = label.as_ref().unwrap_or(&task).chars();
        let label = label.take(40).collect();
        Spawned {
            task: said_of(task),
            label,
        }
    }
}

impl QuestionArguments {
    /// What the user reads: the question, and a line for each option.
    fn text(self) -> String {
        let Self { question, options } = self;
        let listed = options.iter().take(MOST_LISTED);
        let text = listed.fold(said_of(question), |text, option| {
            format!("{text}\n- {option}")
        });
        match options.len().saturating_sub(MOST_LISTED) {
            0 => text,
            more => format!("{text}\n[{more} more options were left out: at most {MOST_LISTED}]"),
        }
    }
}

/// A text within its limit.
fn said_of(text: String) -> String {
    if text.len() <= MOST_SAID {
        return text;
    }
    let head = &text[..text.floor_char_boundary(MOST_SAID)];
    let all = text.len();
    format!("{head}\n[cut: of {all} bytes, at most {MOST_SAID} are told]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_tool_is_a_fault_of_that_call() {
        let text = "one too many".to_owned();
        let Ran::Broke(fault) = caught("grep", async { panic!("{text}") }).await else {
            panic!("not caught")
        };
        assert_eq!(
            (fault.kind, fault.cause.as_str()),
            (FaultKind::Guest, "host")
        );
        assert_eq!(
            fault.message,
            "grep broke by a bug of the host: one too many"
        );
        let granted = caught("grep", async { Ran::Ok("found".into()) }).await;
        assert!(matches!(granted, Ran::Ok(text) if text == "found"));
    }
}
