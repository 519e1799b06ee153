//! What a grader may look at, as the host has it. It is read only.

use std::sync::Arc;

use serde_json::Value;

use pibench_core::record::{CallRecord, FileChange, Utterance};

/// What a grader may look at: the session up to the graded turn, nothing of another one.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub turn: u32,
    pub calls: &'a [CallRecord],
    pub messages: &'a [Utterance],
    pub changes: &'a [FileChange],
    pub apps: &'a [AppState],
}

impl Evidence<'_> {
    /// Of all its texts.
    pub(super) fn bytes(&self) -> usize {
        let call = |call: &CallRecord| call.result.len() + size_of_json(&call.arguments);
        let calls: usize = self.calls.iter().map(call).sum();
        let messages: usize = self.messages.iter().map(|message| message.text.len()).sum();
        let changes: usize = self.changes.iter().map(|change| change.path.len()).sum();
        let apps = self.apps.iter().map(|app| app.before.len() + app.now.len());
        calls + messages + changes + apps.sum::<usize>()
    }
}

/// About as many bytes as a value has as text.
fn size_of_json(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| 1 + size_of_json(item)).sum(),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| key.len() + 4 + size_of_json(value);
            fields.iter().map(field).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// The state of one app, as JSON texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppState {
    pub app: String,
    pub before: Arc<str>,
    pub now: Arc<str>,
}
