//! What an agent does by itself, as it tells it: its tool calls become calls of the record when they end, with what it said
//! and thought before them. A call that went through the desk is in the record already and is known again.

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Plan, SessionUpdate, ToolCall, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate,
};
use serde_json::{Value, json};

use super::desk::{Desk, Served};
use super::running::SERVER;
use pibench_acp::WORKSPACE;

/// Calls that are open at the same time.
const OPEN: usize = 256;

/// Characters of what a call gave.
const RESULT: usize = 16_000;

/// Bytes of the arguments of one call.
const ARGUMENTS: usize = 64 << 10;

/// The calls of a prompt that have not ended.
pub(super) struct Deeds {
    /// The workspace as the agent sees it.
    root: String,
    open: Vec<ToolCall>,
}

impl Deeds {
    pub(super) fn new(root: String) -> Self {
        Self {
            root,
            open: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self) {
        self.open.clear();
    }

    pub(super) fn update(&mut self, update: SessionUpdate, desk: &Desk) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => desk.say(&text(&chunk)),
            SessionUpdate::AgentThoughtChunk(chunk) => desk.think(&text(&chunk)),
            SessionUpdate::Plan(plan) => desk.think(&outline(&plan)),
            SessionUpdate::ToolCall(call) => {
                let id = call.tool_call_id.clone();
                let mut open = self.open.iter_mut();
                if let Some(known) = open.find(|open| open.tool_call_id == id) {
                    *known = call;
                } else if self.open.len() < OPEN {
                    self.open.push(call);
                }
                self.settle(&id, desk);
            }
            SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                tool_call_id,
                fields,
                ..
            }) => {
                let mut open = self.open.iter_mut();
                if let Some(call) = open.find(|open| open.tool_call_id == tool_call_id) {
                    call.update(fields);
                }
                self.settle(&tool_call_id, desk);
            }
            // The user's own words, and what concerns the client's display only.
            _ => {}
        }
    }

    /// Records a call that has ended.
    fn settle(&mut self, id: &ToolCallId, desk: &Desk) {
        let ended = |call: &ToolCall| {
            call.tool_call_id == *id
                && matches!(
                    call.status,
                    ToolCallStatus::Completed | ToolCallStatus::Failed
                )
        };
        if let Some(place) = self.open.iter().position(ended) {
            let call = self.open.remove(place);
            self.record(&call, desk);
        }
    }

    /// The prompt is over: what has not ended by now never did.
    pub(super) fn close(&mut self, desk: &Desk) {
        for mut call in std::mem::take(&mut self.open) {
            let words = "it did not end before the turn did";
            call.content.push(ToolCallContent::from(words));
            call.status = ToolCallStatus::Failed;
            self.record(&call, desk);
        }
    }

    fn record(&self, call: &ToolCall, desk: &Desk) {
        if desk.claim(|served| self.is_same(call, served)) {
            return;
        }
        let kind = serde_json::to_value(call.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or("other");
        let name = call.name.as_deref().unwrap_or(kind);
        let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        let ok = call.status == ToolCallStatus::Completed;
        let said = desk.take_said();
        let result = shortened(&self.named(&result(call)), RESULT);
        let arguments = self.named(&Self::arguments(call));
        let _ = desk
            .outside()
            .did(&format!("agent.{name}"), arguments, ok, result, said);
    }

    /// The workspace has one name in the record, wherever the agent sees it.
    fn named(&self, text: &str) -> String {
        text.replace(&self.root, WORKSPACE)
    }

    /// The JSON text of what a call was made with.
    fn arguments(call: &ToolCall) -> String {
        let mut arguments = json!({ "title": call.title });
        if let Some(input) = &call.raw_input {
            arguments["input"] = input.clone();
        }
        let paths = call
            .locations
            .iter()
            .map(|location| location.path.to_string_lossy());
        let paths: Vec<Value> = paths.map(|path| path.into_owned().into()).collect();
        if !paths.is_empty() {
            arguments["paths"] = paths.into();
        }
        let text = arguments.to_string();
        if text.len() > ARGUMENTS {
            let title = shortened(&call.title, 1000);
            let told = format!("left out: {} bytes", text.len());
            return json!({ "title": title, "input": told }).to_string();
        }
        text
    }

    /// Whether the agent tells of a call that went through the desk.
    fn is_same(&self, call: &ToolCall, served: &Served) -> bool {
        match served {
            Served::Tool(name) => {
                let named = call.name.as_deref().unwrap_or_default();
                let input = || call.raw_input.as_ref().map(Value::to_string).unwrap_or_default();
                let is_named = |text: &str| text.contains(name.as_str());
                is_named(named) || is_named(&call.title) || (call.title.contains(SERVER) && is_named(&input()))
            }
            Served::File(path) => {
                let whole = format!("{}/{path}", self.root);
                let is_it = |other: &std::path::Path| {
                    let other = other.to_string_lossy();
                    other == whole.as_str() || other == path.as_str()
                };
                let located = call.locations.iter().any(|location| is_it(&location.path));
                located
                    || call.content.iter().any(|content| {
                        matches!(content, ToolCallContent::Diff(diff) if is_it(&diff.path))
                    })
            }
            Served::Terminal(id) => call.content.iter().any(|content| {
                matches!(content, ToolCallContent::Terminal(terminal) if *terminal.terminal_id.0 == **id)
            }),
        }
    }
}

fn text(chunk: &ContentChunk) -> String {
    of_block(&chunk.content)
}

/// A block as text; what is none is named.
fn of_block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[a picture: {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[sound: {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        _ => "[a resource]".into(),
    }
}

fn outline(plan: &Plan) -> String {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let entries = plan.entries.iter().map(|entry| {
        let status = word(serde_json::to_value(&entry.status).unwrap_or_default());
        format!("- [{status}] {}\n", entry.content)
    });
    format!("[plan]\n{}", entries.collect::<String>())
}

/// What a call gave, as text.
fn result(call: &ToolCall) -> String {
    let parts = call.content.iter().map(|content| match content {
        ToolCallContent::Content(content) => of_block(&content.content),
        ToolCallContent::Diff(diff) => format!("[changed {}]", diff.path.display()),
        ToolCallContent::Terminal(terminal) => format!("[terminal {}]", terminal.terminal_id.0),
        _ => String::new(),
    });
    let text = parts.collect::<Vec<_>>().join("\n");
    if !text.trim().is_empty() {
        return text;
    }
    match &call.raw_output {
        Some(Value::String(text)) => text.clone(),
        Some(output) => output.to_string(),
        None => String::new(),
    }
}

/// A text of at most so many characters, with a word on what is left out.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}\n[{} bytes left out]", &text[..end], text.len() - end),
    }
}
