//! What the agent acts on: the workspace, the apps, the clock, and the tools that lead to them. Every tool call of a
//! session goes through `Environment::call`, whoever makes it.

mod attachments;
mod pages;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::Value;

use pages::Pages;

use super::files::{LONG_RESULT, RESULTS_FOLDER, own_path};
use super::prompts::AgentPrompts;
use super::schedule;
use super::toolbox::Toolbox;
use super::tools::exec::{self, ExecError};
use super::tools::read_file::{self, Read, ReadError};
use super::tools::spawn::{self, Spawned};
use super::tools::{
    Builtin, Refusal, Tool, Web, ask_user, edit_file, excerpt, glob, grep, list_dir, message,
    notebook_edit, save_memory, write_file,
};
use pibench_core::message::ToolCall;
use pibench_core::record::{CallRecord, CallStatus, exact};
use pibench_core::weight::read;
use pibench_model::web::WebError;
use pibench_record::SessionClock;
use pibench_record::event::{Fault, FaultKind, Jobs, Step};
use pibench_sandbox::document::DOCUMENT;
use pibench_sandbox::shell::SHELL;
use pibench_sandbox::workspace::Workspace;
use pibench_sandbox::{App, Documents, GuestFault, Shell};

/// What a model is told that cannot be shown a picture.
const BLIND: &str = "this is a picture, and pictures cannot be shown to this model: work from its name and from the other \
files";

/// What a call is answered with that the turn's time ended.
pub(super) const OUT_OF_TIME: &str = "not run to its end: the time of this turn is used up";

/// Calls to the web that are under way at once: each may hold a page.
const SIDE_BY_SIDE: usize = 8;

/// Calls of one answer that are run.
pub(super) const MOST_CALLS: usize = 128;

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
    pub web: Arc<pibench_model::web::Web>,
    /// Whether the agent's model can be shown pictures.
    pub vision: bool,
    /// What the agent wants to be woken for.
    pub jobs: Jobs,
    /// How often the agent was woken since the last session; 0 in a session.
    pub woken: u32,
    /// Calls of the session so far.
    pub calls: u32,
}

/// A call of the model's, with its arguments: an object where they are one that is read, else their text.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) arguments: Value,
}

/// What one call came to.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) record: CallRecord,
    pub(super) effect: Option<Effect>,
    pub(super) fault: Option<Fault>,
}

/// What a call did beside its result.
#[derive(Debug)]
pub(super) enum Effect {
    /// Text that went to the user.
    Said(String),
    /// A question to the user: it ends the turn.
    Asked(String),
    /// A subagent is to run.
    Spawned(Spawned),
    /// A `Step::Picture` for the model.
    Picture(Step),
}

/// A tool's result before it is recorded.
#[derive(Debug)]
pub(super) enum Ran {
    Done {
        result: String,
        effect: Option<Effect>,
    },
    Refused {
        code: u16,
        message: String,
    },
    Broke(Fault),
}

impl<'a> Request<'a> {
    pub(super) fn of(call: &'a ToolCall) -> Self {
        let arguments = if call.arguments.trim().is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            match read(&call.arguments) {
                Some(Value::Object(fields)) => Value::Object(fields),
                _ => Value::String(call.arguments.clone()),
            }
        };
        Self { call, arguments }
    }

    fn is(&self, tool: Builtin) -> bool {
        self.call.name == tool.name()
    }
}

impl Environment {
    /// Runs one tool call and moves the clock by a second. What is searched past the deadline is not searched to its end.
    pub(super) async fn call(
        &mut self,
        turn: u32,
        request: Request<'_>,
        deadline: Instant,
    ) -> Called {
        let ran = catch_panic(&request.call.name, async {
            match self.read(&request) {
                Ok(tool) => self.run(tool, deadline).await,
                Err(refusal) => refusal.into(),
            }
        });
        let ran = ran.await;
        self.record_call(turn, request, ran)
    }

    /// The tool that a call is for, and its arguments.
    fn read<'a>(&self, request: &'a Request<'_>) -> Result<Tool<'a>, Refusal> {
        let Request { call, arguments } = request;
        match self.toolbox.objection(&call.name, arguments) {
            Some(objection) => Err(Refusal::new(objection)),
            None => Tool::parse(&call.name, arguments),
        }
    }

    async fn run(&mut self, tool: Tool<'_>, deadline: Instant) -> Ran {
        match tool {
            Tool::ReadFile(arguments) => self.read_file(&arguments).await,
            Tool::WriteFile(arguments) => write_file::run(&mut self.workspace, &arguments).into(),
            Tool::EditFile(arguments) => edit_file::run(&mut self.workspace, &arguments).into(),
            Tool::ListDir(arguments) => list_dir::run(&self.workspace, &arguments).into(),
            Tool::Glob(arguments) => glob::run(&self.workspace, &arguments).into(),
            Tool::Grep(arguments) => self.search(arguments, deadline).await,
            Tool::NotebookEdit(arguments) => {
                notebook_edit::run(&mut self.workspace, &arguments).into()
            }
            Tool::Exec(arguments) => self.run_shell(arguments).await,
            Tool::Web(asked) => fetch(&self.web, &self.documents, &asked, deadline).await,
            Tool::Message(arguments) => match message::write(&self.workspace, arguments) {
                Ok((result, text)) => Ran::with(result, Effect::Said(text)),
                Err(refusal) => refusal.into(),
            },
            Tool::AskUser(arguments) => match ask_user::write(arguments) {
                Ok(text) => Ran::with(String::new(), Effect::Asked(text)),
                Err(refusal) => refusal.into(),
            },
            Tool::Spawn(arguments) => {
                let (result, spawned) = spawn::order(arguments);
                Ran::with(result, Effect::Spawned(spawned))
            }
            Tool::Cron(arguments) => {
                let now = self.clock.now();
                let done = schedule::cron(&mut self.jobs, arguments, now, self.woken);
                done.map_err(Refusal::new).into()
            }
            Tool::SaveMemory => Refusal::new(save_memory::NOT_NOW.into()).into(),
            Tool::App {
                app,
                tool,
                arguments,
            } => self.run_app(app, tool, arguments).await,
        }
    }

    /// Other episodes have their turn between two slices.
    async fn search(&mut self, arguments: grep::Arguments, deadline: Instant) -> Ran {
        let mut search = match grep::Search::new(&self.workspace, arguments) {
            Ok(search) => search,
            Err(refusal) => return refusal.into(),
        };
        loop {
            match search.step(&self.workspace) {
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => return Ran::done(search.text()),
                Err(refusal) => return refusal.into(),
            }
            if Instant::now() >= deadline {
                return Refusal::new(OUT_OF_TIME.into()).into();
            }
        }
    }

    /// Carries out the calls to the web among those of one answer, some side by side, until the deadline. By place.
    pub(super) async fn fetch_ahead(
        &mut self,
        requests: &[Request<'_>],
        deadline: Instant,
    ) -> HashMap<usize, Ran> {
        let web = requests
            .iter()
            .take(MOST_CALLS)
            .take_while(|request| !request.is(Builtin::AskUser))
            .enumerate()
            .filter(|(_, request)| request.is(Builtin::WebSearch) || request.is(Builtin::WebFetch));
        let web: Vec<(usize, &str, Web)> = web
            .filter_map(|(place, request)| {
                // One that cannot be read without a panic is told of in its own place.
                let read = catch_unwind(AssertUnwindSafe(|| self.read(request))).ok()?;
                match read {
                    Ok(Tool::Web(asked)) => Some((place, request.call.name.as_str(), asked)),
                    _ => None,
                }
            })
            .collect();
        if web.len() < 2 {
            return HashMap::new();
        }
        let (door, documents) = (&*self.web, &self.documents);
        let mut fetched = HashMap::new();
        for some in web.chunks(SIDE_BY_SIDE) {
            let started = some.iter().map(|(place, name, asked)| async move {
                (
                    *place,
                    catch_panic(name, fetch(door, documents, asked, deadline)).await,
                )
            });
            fetched.extend(join_all(started).await);
        }
        fetched
    }

    /// Records a call that was carried out.
    pub(super) fn record_call(&mut self, turn: u32, request: Request<'_>, ran: Ran) -> Called {
        let (status, code, result, effect, fault) = match ran {
            Ran::Done { result, effect } => (CallStatus::Ok, 0, result, effect, None),
            Ran::Refused { code, message } => (CallStatus::ToolError, code, message, None, None),
            Ran::Broke(fault) => {
                let message = fault.message.clone();
                (CallStatus::Failed, 0, message, None, Some(fault))
            }
        };
        self.calls += 1;
        self.clock.call();
        let exact = exact(&request.call.arguments).filter(|_| request.arguments.is_object());
        let record = CallRecord {
            exact,
            number: self.calls,
            turn,
            tool: request.call.name.clone(),
            arguments: request.arguments,
            status,
            code,
            result,
        };
        Called {
            record,
            effect,
            fault,
        }
    }

    /// A call that an agent from outside carried out by itself.
    pub(super) fn record_elsewhere(
        &mut self,
        turn: u32,
        request: Request<'_>,
        ok: bool,
        text: &str,
    ) -> Called {
        let ran = if ok {
            Ran::done(text.to_owned())
        } else {
            Refusal::new(text.to_owned()).into()
        };
        self.record_call(turn, request, ran)
    }

    /// A call that no tool is run for.
    pub(super) fn refuse(&mut self, turn: u32, request: Request<'_>, why: &str) -> Called {
        self.record_call(turn, request, Refusal::new(why.into()).into())
    }

    /// Puts a result that is too long for a chat into a file of the workspace; the file's path. A file that was read is
    /// its own copy. A fault is the machine's.
    pub(super) fn keep_long(&mut self, record: &CallRecord) -> Result<Option<String>, Fault> {
        let CallRecord {
            tool,
            arguments,
            result,
            ..
        } = record;
        if result.len() <= LONG_RESULT || result.chars().count() <= LONG_RESULT {
            return Ok(None);
        }
        if tool == Builtin::ReadFile.name() {
            return Ok(arguments["path"].as_str().map(str::to_owned));
        }
        // The clock moves with every call, so the name is free.
        let moment = self.clock.to_string().replace(':', "-");
        let path = format!("{RESULTS_FOLDER}/{moment}.txt");
        match self.workspace.write(&own_path(&path), result.as_bytes()) {
            Ok(()) => Ok(Some(path)),
            Err(error) => match error.of_the_machine() {
                Some(fault) => Err(guest_fault("workspace", &fault)),
                // A workspace that is full keeps nothing: the chat then shortens the result.
                None => Ok(None),
            },
        }
    }

    async fn read_file(&mut self, arguments: &read_file::Arguments) -> Ran {
        match read_file::read(&self.documents, &self.workspace, arguments).await {
            Ok(Read::Text(text)) => Ran::done(text),
            Ok(Read::Picture { .. }) if !self.vision => Refusal::new(BLIND.into()).into(),
            Ok(Read::Picture { text, step }) => Ran::with(text, Effect::Picture(step)),
            Err(ReadError::Refused(refusal)) => refusal.into(),
            Err(ReadError::Broke(fault)) => Ran::Broke(guest_fault(DOCUMENT, &fault)),
        }
    }

    async fn run_shell(&mut self, arguments: exec::Arguments) -> Ran {
        match exec::run(&self.shell, &self.workspace, &self.clock, arguments).await {
            Ok(text) => Ran::done(text),
            Err(ExecError::Refused(refusal)) => refusal.into(),
            Err(ExecError::Broke(fault)) => Ran::Broke(guest_fault(SHELL, &fault)),
        }
    }

    async fn run_app(&mut self, name: &str, tool: &str, arguments: &Value) -> Ran {
        let mut arguments = Cow::Borrowed(arguments);
        match attachments::read(self, name, tool, &arguments).await {
            Ok(files) if files.is_empty() => {}
            Ok(files) => arguments.to_mut()[attachments::ARGUMENT] = files.into(),
            Err(ran) => return ran,
        }
        let Some(app) = self.apps.get_mut(name) else {
            return Ran::Refused {
                code: 404,
                message: format!("there is no app `{name}`"),
            };
        };
        let answer = app.call(tool, &arguments, self.clock.now()).await;
        let log = app.take_log();
        if !log.is_empty() {
            tracing::info!(app = name, "{log}");
        }
        match answer {
            Ok(Ok(value)) => Ran::done(value.to_string()),
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
async fn catch_panic(tool: &str, running: impl Future<Output = Ran>) -> Ran {
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

/// A call to the web. It changes nothing, so that several can be under way, and one can be broken off.
async fn fetch(
    door: &pibench_model::web::Web,
    documents: &Documents,
    asked: &Web,
    deadline: Instant,
) -> Ran {
    let answer = async {
        match asked {
            Web::Search(arguments) => door.search(arguments).await,
            Web::Fetch(arguments) => door.fetch(arguments, &Pages(documents)).await,
        }
    };
    match tokio::time::timeout_at(deadline.into(), answer).await {
        Ok(Ok(text)) => Ran::done(text),
        Ok(Err(WebError::Crowded(crowded))) => Ran::Broke(guest_fault("web", &crowded.into())),
        Ok(Err(WebError::Machine(reason))) => {
            Ran::Broke(guest_fault(DOCUMENT, &GuestFault::Host { reason }))
        }
        Ok(Err(error)) => Refusal::new(format!("failed to {error}")).into(),
        Err(_) => Refusal::new(OUT_OF_TIME.into()).into(),
    }
}

impl Ran {
    fn done(result: String) -> Self {
        let effect = None;
        Self::Done { result, effect }
    }

    fn with(result: String, effect: Effect) -> Self {
        let effect = Some(effect);
        Self::Done { result, effect }
    }
}

impl From<Refusal> for Ran {
    fn from(Refusal { text, machine }: Refusal) -> Self {
        match machine {
            // The model has done nothing wrong, and what it makes of it is no work to be judged.
            Some(fault) => Self::Broke(guest_fault("workspace", &fault)),
            None => Self::Refused {
                code: 0,
                message: text,
            },
        }
    }
}

impl From<Result<String, Refusal>> for Ran {
    fn from(answer: Result<String, Refusal>) -> Self {
        answer.map_or_else(Self::from, Self::done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_nobodys_work_and_a_full_quota_the_models() {
        use pibench_core::path::WorkspacePath;
        use pibench_sandbox::workspace::{Limit, WorkspaceError};
        let path = WorkspacePath::parse("a").unwrap();
        let full = WorkspaceError::Io {
            path: path.clone(),
            // ENOSPC
            source: std::io::Error::from_raw_os_error(28),
        };
        let Ran::Broke(fault) = Ran::from(crate::tools::refusal(&full)) else {
            panic!("taken for the model's")
        };
        assert_eq!(fault.kind, FaultKind::Infrastructure);
        let unsent = message::unsent("a", &full, full.of_the_machine());
        assert!(matches!(Ran::from(unsent), Ran::Broke(_)));
        let quota = WorkspaceError::Quota {
            path,
            limit: Limit::Bytes,
            allowed: 1,
            actual: 2,
        };
        let refused = Ran::from(crate::tools::refusal(&quota));
        assert!(matches!(refused, Ran::Refused { .. }), "{refused:?}");
    }

    #[tokio::test]
    async fn a_panic_in_a_tool_is_a_fault_of_that_call() {
        let text = "one too many".to_owned();
        let Ran::Broke(fault) = catch_panic("grep", async { panic!("{text}") }).await else {
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
        let granted = catch_panic("grep", async { Ran::done("found".into()) }).await;
        assert!(matches!(granted, Ran::Done { result, .. } if result == "found"));
    }
}
