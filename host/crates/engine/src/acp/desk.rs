//! What an agent's process and its MCP connection have in common: the way to the session, what was said since the last call,
//! and which calls went through here already. It is the MCP server of the agent: the persona's tools, while a message is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::serve::{answered, refused, tool};
use pibench_core::message::ToolSpec;
use pibench_core::secrets::Secrets;
use pibench_model::external::{Called, Outside, Said};
use pibench_suite::manifest::AgentTools;

/// The name of our MCP server among the agent's.
pub(super) const SERVER: &str = "pibench";

/// Tools of the scaffold's own: an agent has its own memory and its own subagents.
const OF_SCAFFOLD: [&str; 2] = ["spawn", "save_memory"];

/// Tools for files and commands, which such an agent mostly has too.
const OF_WORKSPACE: [&str; 8] = [
    "read_file",
    "write_file",
    "edit_file",
    "list_dir",
    "glob",
    "grep",
    "notebook_edit",
    "exec",
];

/// Bytes of one text that are kept of what an agent says or thinks between two calls.
const TEXT: usize = 1 << 20;

/// The most bytes of a character.
const CHARACTER: usize = 4;

/// Calls that are remembered to know them again.
const SERVED: usize = 1024;

const INSTRUCTIONS: &str = "The apps of the user whom you assist. What you do with them is done for real in the user's world.";

/// The way to the session that is played.
#[derive(Debug, Clone)]
pub(super) struct Desk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    outside: Outside,
    tools: AgentTools,
    /// What is cut out of all that the agent tells. What it has done here is done, and recorded, as it asks.
    secrets: Secrets,
    specs: Lock<Arc<Vec<ToolSpec>>>,
    /// A message is being worked on.
    open: AtomicBool,
    /// Held while a call runs: calls are made one after the other.
    calling: Mutex<()>,
    said: Lock<Saying>,
    served: Lock<Vec<Served>>,
}

#[derive(Debug, Default)]
struct Saying {
    said: Said,
    /// The last text that a call took with it.
    last: String,
}

/// A call that went through here, by what the agent's own word of it may show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Served {
    Tool(String),
    /// A file of the workspace.
    File(String),
    Terminal(String),
}

impl Desk {
    pub(super) fn new(outside: Outside, tools: AgentTools, secrets: Secrets) -> Self {
        Self(Arc::new(Inner {
            outside,
            tools,
            secrets,
            specs: Lock::default(),
            open: AtomicBool::new(false),
            calling: Mutex::default(),
            said: Lock::default(),
            served: Lock::default(),
        }))
    }

    pub(super) fn outside(&self) -> &Outside {
        &self.0.outside
    }

    /// These are the tools from here on: an agent asks for them before its first message.
    pub(super) fn offer(&self, tools: Vec<ToolSpec>) {
        *lock(&self.0.specs) = Arc::new(tools);
    }

    /// A message is open now.
    pub(super) fn open(&self) {
        *lock(&self.0.said) = Saying::default();
        lock(&self.0.served).clear();
        self.0.open.store(true, Ordering::Relaxed);
    }

    /// No message is open: no call is made any more.
    pub(super) fn close(&self) {
        self.0.open.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Relaxed)
    }

    pub(super) fn say(&self, text: &str) {
        append(&mut lock(&self.0.said).said.text, text);
    }

    pub(super) fn think(&self, text: &str) {
        append(&mut lock(&self.0.said).said.thoughts, text);
    }

    /// A text of the agent's without its secrets. Before it is shortened: a part of one would not be known.
    pub(super) fn cut(&self, text: String) -> String {
        self.0.secrets.cut(text)
    }

    /// The same of all texts in a value.
    pub(super) fn cut_value(&self, mut value: Value) -> Value {
        self.0.secrets.cut_value(&mut value);
        value
    }

    /// What was said since the last call, without its secrets: they come in pieces.
    pub(super) fn take_said(&self) -> Said {
        let mut saying = lock(&self.0.said);
        let mut said = std::mem::take(&mut saying.said);
        for text in [&mut said.text, &mut said.thoughts] {
            if text.len() > TEXT - CHARACTER {
                let whole = self.0.secrets.without_torn_end(text.as_bytes()).len();
                text.truncate(text.floor_char_boundary(whole));
            }
            *text = self.cut(std::mem::take(text));
        }
        if !said.text.trim().is_empty() {
            saying.last.clone_from(&said.text);
        }
        said
    }

    /// What was said after the last call; where that is nothing, what was said last.
    pub(super) fn last_said(&self) -> Said {
        let said = self.take_said();
        let text = if said.text.trim().is_empty() {
            lock(&self.0.said).last.clone()
        } else {
            said.text
        };
        Said { text, ..said }
    }

    /// Makes a call of one of the scaffold's tools or the apps'; the result, or why there is none.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: &Value,
        served: Served,
    ) -> Result<String, String> {
        let _calling = self.0.calling.lock().await;
        if !self.is_open() {
            return Err("no message is open: the turn is over".into());
        }
        let said = self.take_said();
        {
            let mut all = lock(&self.0.served);
            if all.len() < SERVED {
                all.push(served);
            }
        }
        let called = self.0.outside.call(name, arguments.to_string(), said).await;
        let Called { text, ended } = called.map_err(|_| "the run was broken off".to_owned())?;
        if ended {
            self.close();
        }
        // As the scaffold words what went wrong.
        if text.starts_with("Error") {
            return Err(text);
        }
        Ok(text)
    }

    /// Whether a call that the agent tells of is one that went through here: each is known again once.
    pub(super) fn claim(&self, is_it: impl Fn(&Served) -> bool) -> bool {
        let mut all = lock(&self.0.served);
        let place = all.iter().position(is_it);
        place.map(|place| all.remove(place)).is_some()
    }

    fn offered(&self) -> Vec<ToolSpec> {
        let specs = Arc::clone(&lock(&self.0.specs));
        let is_offered = |spec: &&ToolSpec| {
            let name = spec.name.as_str();
            let files = self.0.tools == AgentTools::Apps && OF_WORKSPACE.contains(&name);
            !files && !OF_SCAFFOLD.contains(&name)
        };
        specs.iter().filter(is_offered).cloned().collect()
    }
}

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("pibench-host", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = self.offered();
        Ok(ListToolsResult::with_all_items(
            offered.iter().map(tool).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let arguments: JsonObject = request.arguments.unwrap_or_default();
        let result: CallToolResult = if self.offered().iter().any(|spec| spec.name == name) {
            let served = Served::Tool(name.to_owned());
            match self.call(name, &Value::Object(arguments), served).await {
                Ok(text) => answered(&text),
                Err(reason) => refused(&reason),
            }
        } else {
            refused(&format!("there is no tool `{name}`"))
        };
        Ok(result.into())
    }
}

fn append(text: &mut String, more: &str) {
    let room = TEXT.saturating_sub(text.len());
    text.push_str(&more[..more.floor_char_boundary(room)]);
}

fn lock<T>(lock: &Lock<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
