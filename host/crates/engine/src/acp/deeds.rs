//! What an agent does by itself, as it tells it: its tool calls become calls of the record when they end, with what it said
//! and thought before them. A call that went through the desk is in the record already and is known again.

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Meta, Plan, SessionUpdate, ToolCall, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate,
};
use serde_json::{Value, json};

use super::desk::{Desk, SERVER, Served};
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
    open: Vec<Open>,
}

/// A call that has not ended.
struct Open {
    call: ToolCall,
    /// What its command said, of an agent that tells that as it comes and not in the call's content.
    output: String,
    /// What its command ended with, likewise.
    exit: Option<i64>,
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
                if let Some(known) = open.find(|open| open.call.tool_call_id == id) {
                    known.call = call;
                } else if self.open.len() < OPEN {
                    self.open.push(Open {
                        call,
                        output: String::new(),
                        exit: None,
                    });
                }
                self.settle(&id, desk);
            }
            SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                tool_call_id,
                fields,
                meta,
                ..
            }) => {
                let mut open = self.open.iter_mut();
                if let Some(open) = open.find(|open| open.call.tool_call_id == tool_call_id) {
                    open.call.update(fields);
                    open.hear(&meta.unwrap_or_default());
                }
                self.settle(&tool_call_id, desk);
            }
            // The user's own words, and what concerns the client's display only.
            _ => {}
        }
    }

    /// The call that an agent asks about, with what it told of it before.
    pub(super) fn asked_of(&self, asked: ToolCallUpdate) -> ToolCall {
        let id = asked.tool_call_id;
        let mut open = self.open.iter();
        let known = open.find(|open| open.call.tool_call_id == id);
        let known = known.map(|open| open.call.clone());
        let mut call = known.unwrap_or_else(|| ToolCall::new(id, ""));
        call.update(asked.fields);
        call
    }

    /// Records a call that has ended.
    fn settle(&mut self, id: &ToolCallId, desk: &Desk) {
        let ended = |Open { call, .. }: &Open| {
            call.tool_call_id == *id
                && matches!(
                    call.status,
                    ToolCallStatus::Completed | ToolCallStatus::Failed
                )
        };
        if let Some(place) = self.open.iter().position(ended) {
            let open = self.open.remove(place);
            self.record(&open, desk);
        }
    }

    /// The prompt is over: what has not ended by now never did.
    pub(super) fn close(&mut self, desk: &Desk) {
        for mut open in std::mem::take(&mut self.open) {
            let words = "it did not end before the turn did";
            open.call.content.push(ToolCallContent::from(words));
            open.call.status = ToolCallStatus::Failed;
            self.record(&open, desk);
        }
    }

    fn record(&self, open: &Open, desk: &Desk) {
        let call = &open.call;
        if desk.claim(|served| self.is_same(call, served)) {
            return;
        }
        let kind = serde_json::to_value(call.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or("other");
        let name = desk.cut(call.name.as_deref().unwrap_or(kind).to_owned());
        let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        let ok = call.status == ToolCallStatus::Completed;
        let said = desk.take_said();
        let result = shortened(&self.named(&desk.cut(open.result())), RESULT);
        let arguments = self.named(&Self::arguments(call, desk));
        let _ = desk
            .outside()
            .did(&format!("agent.{name}"), arguments, ok, result, said);
    }

    /// The workspace has one name in the record, wherever the agent sees it.
    fn named(&self, text: &str) -> String {
        text.replace(&self.root, WORKSPACE)
    }

    /// The JSON text of what a call was made with.
    fn arguments(call: &ToolCall, desk: &Desk) -> String {
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
        let arguments = desk.cut_value(arguments);
        let text = arguments.to_string();
        if text.len() > ARGUMENTS {
            let title = shortened(arguments["title"].as_str().unwrap_or_default(), 1000);
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

impl Open {
    /// What Codex tells of its commands beside the protocol's own fields.
    fn hear(&mut self, meta: &Meta) {
        let field = |what: &str, name: &str| meta.get(what)?.get(name);
        if let Some(Value::String(text)) = field("terminal_output_delta", "data") {
            self.output.push_str(text);
        }
        let exit = field("terminal_exit", "exit_code").and_then(Value::as_i64);
        self.exit = exit.or(self.exit);
    }

    /// What the call gave, as text.
    fn result(&self) -> String {
        let Self { call, output, exit } = self;
        let is_heard = !output.is_empty() || exit.is_some();
        let mut parts: Vec<String> = Vec::new();
        if !output.is_empty() {
            parts.push(output.trim_end().to_owned());
        }
        // As the tool `exec` says it.
        parts.extend(exit.map(|exit| format!("Exit code: {exit}")));
        parts.extend(call.content.iter().filter_map(|content| match content {
            ToolCallContent::Content(content) => Some(of_block(&content.content)),
            ToolCallContent::Diff(diff) => Some(format!("[changed {}]", diff.path.display())),
            ToolCallContent::Terminal(_) if is_heard => None,
            ToolCallContent::Terminal(terminal) => {
                Some(format!("[terminal {}]", terminal.terminal_id.0))
            }
            _ => None,
        }));
        let text = parts.join("\n");
        if !text.trim().is_empty() {
            return text;
        }
        match &call.raw_output {
            Some(Value::String(text)) => text.clone(),
            Some(output) => output.to_string(),
            None => String::new(),
        }
    }
}

/// A text of at most so many characters, with a word on what is left out.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}\n[{} bytes left out]", &text[..end], text.len() - end),
    }
}
