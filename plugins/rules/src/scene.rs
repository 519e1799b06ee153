//! The evidence as conditions look at it: JSON parsed at most once, responses put together, files by name. It judges nothing.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use pibench_sdk::grader::{AppState, Call, ChangeKind, Evidence, FileChange, Speaker, Workspace};
use serde_json::{Map, Value};

use crate::finding::Undecided;
use crate::form::{composed, read_json};

/// Everything that a condition may look at.
pub(crate) struct Scene<'a> {
    pub(crate) calls: Vec<ParsedCall<'a>>,
    /// The response of each turn that has one: the agent's messages, joined by line feeds.
    pub(crate) responses: BTreeMap<u32, String>,
    pub(crate) changes: &'a [FileChange],
    pub(crate) apps: Vec<ParsedApp<'a>>,
    pub(crate) workspace: &'a dyn Workspace,
}

/// A call and its JSON, read when it is first looked at.
pub(crate) struct ParsedCall<'a> {
    pub(crate) call: &'a Call,
    arguments: OnceCell<Value>,
    result: OnceCell<Value>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(evidence: &'a Evidence, workspace: &'a dyn Workspace) -> Self {
        let mut responses: BTreeMap<u32, String> = BTreeMap::new();
        for message in evidence
            .messages
            .iter()
            .filter(|message| message.speaker == Speaker::Agent)
        {
            let response = responses.entry(message.turn).or_default();
            if !response.is_empty() {
                response.push('\n');
            }
            response.push_str(&composed(&message.text));
        }
        Self {
            calls: evidence.calls.iter().map(ParsedCall::new).collect(),
            responses,
            changes: &evidence.changes,
            apps: evidence.apps.iter().map(ParsedApp::new).collect(),
            workspace,
        }
    }

    /// What happened last to a file in this session.
    pub(crate) fn last_change(&self, path: &str) -> Option<ChangeKind> {
        self.changes
            .iter()
            .rev()
            .find(|change| change.path == path)
            .map(|change| change.kind)
    }
}

impl<'a> ParsedCall<'a> {
    fn new(call: &'a Call) -> Self {
        Self {
            call,
            arguments: OnceCell::new(),
            result: OnceCell::new(),
        }
    }

    pub(crate) fn arguments(&self) -> &Value {
        self.arguments
            .get_or_init(|| json_or_text(&self.call.arguments))
    }

    /// An app's answer as JSON; a built-in tool's result and a refusal as a text.
    pub(crate) fn result(&self) -> &Value {
        self.result.get_or_init(|| {
            if self.call.tool.contains("__") {
                json_or_text(&self.call.result)
            } else {
                Value::from(composed(&self.call.result))
            }
        })
    }
}

/// The record lists of a state, by name.
pub(crate) type Lists = Map<String, Value>;

/// An app and the JSON of its states, read when it is first looked at.
pub(crate) struct ParsedApp<'a> {
    state: &'a AppState,
    /// Each is none where its text is no object.
    before: OnceCell<Option<Lists>>,
    now: OnceCell<Option<Lists>>,
}

impl<'a> ParsedApp<'a> {
    fn new(state: &'a AppState) -> Self {
        Self {
            state,
            before: OnceCell::new(),
            now: OnceCell::new(),
        }
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.state.app
    }

    /// The states at the start and now: one and the same where nothing happened.
    pub(crate) fn lists(&self) -> Result<(&Lists, &Lists), Undecided> {
        let AppState { app, before, now } = self.state;
        let wrong = || Undecided(format!("the state of {app} is no JSON object"));
        let first = self.before.get_or_init(|| object(before));
        let first = first.as_ref().ok_or_else(wrong)?;
        if before == now {
            return Ok((first, first));
        }
        let second = self.now.get_or_init(|| object(now));
        Ok((first, second.as_ref().ok_or_else(wrong)?))
    }
}

fn object(text: &str) -> Option<Lists> {
    match read_json(text) {
        Ok(Value::Object(lists)) => Some(lists),
        _ => None,
    }
}

/// JSON where the text is JSON, else the text itself.
pub(crate) fn json_or_text(text: &str) -> Value {
    read_json(text).unwrap_or_else(|_| Value::from(composed(text)))
}
