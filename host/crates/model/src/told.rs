//! The text of messages and calls for an operator's collector, in the JSON that OpenTelemetry's conventions for generative models
//! have (`gen_ai.input.messages` and its like). Only what asks for the target [`MESSAGES`] by its name hears it: no log, and no line on
//! stderr. Pictures are named and not shown.

use serde_json::{Value, json};

use pibench_core::message::{Message, Reasoning, Reply, ToolCall};
use pibench_core::weight::read;

/// The target of events that hold text.
pub const MESSAGES: &str = "messages";

/// Fields of such events, and their names in OpenTelemetry.
pub const NAMES: [(&str, &str); 5] = [
    ("system_instructions", "gen_ai.system_instructions"),
    ("input_messages", "gen_ai.input.messages"),
    ("output_messages", "gen_ai.output.messages"),
    ("call_arguments", "gen_ai.tool.call.arguments"),
    ("call_result", "gen_ai.tool.call.result"),
];

/// Whether anybody listens.
fn is_asked_for() -> bool {
    tracing::enabled!(target: MESSAGES, tracing::Level::INFO)
}

/// Tells what a model is asked, in the span that is entered.
pub(crate) fn question(messages: &[Message]) {
    if is_asked_for() {
        let (system, input) = parts_of(messages);
        tracing::info!(target: MESSAGES, system_instructions = system.to_string(), input_messages = input.to_string());
    }
}

/// Tells what it answered.
pub(crate) fn answer(reply: &Reply) {
    if is_asked_for() {
        tracing::info!(target: MESSAGES, output_messages = written(reply).to_string());
    }
}

/// Tells what a call of a tool was given and what came of it.
pub fn call(arguments: &Value, result: &str) {
    if is_asked_for() {
        tracing::info!(target: MESSAGES, call_arguments = arguments.to_string(), call_result = result);
    }
}

/// The instructions, and the rest of the chat.
fn parts_of(messages: &[Message]) -> (Value, Value) {
    let (mut system, mut input) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            Message::System { text: said } => system.push(text(said)),
            Message::User { text: said } | Message::Picture { text: said, .. } => {
                input.push(json!({ "role": "user", "parts": [text(said)] }));
            }
            Message::Assistant {
                text,
                reasoning,
                calls,
            } => input.push(json!({
                "role": "assistant", "parts": said(text, reasoning.as_ref(), calls),
            })),
            Message::Tool { call_id, text } => input.push(json!({
                "role": "tool",
                "parts": [{ "type": "tool_call_response", "id": call_id, "response": text }],
            })),
        }
    }
    (system.into(), input.into())
}

fn written(reply: &Reply) -> Value {
    let finish = match reply {
        reply if reply.truncated => "length",
        reply if reply.calls.is_empty() => "stop",
        _ => "tool_call",
    };
    json!([{
        "role": "assistant",
        "parts": said(&reply.text, reply.reasoning.as_ref(), &reply.calls),
        "finish_reason": finish,
    }])
}

fn text(said: &str) -> Value {
    json!({ "type": "text", "content": said })
}

fn said(words: &str, reasoning: Option<&Reasoning>, calls: &[ToolCall]) -> Vec<Value> {
    let thought = reasoning.map(|reasoning| reasoning.text.as_str());
    let thought = thought.filter(|thought| !thought.is_empty());
    let thought = thought.map(|thought| json!({ "type": "reasoning", "content": thought }));
    let words = (!words.is_empty()).then(|| text(words));
    let calls = calls.iter().map(|call| {
        // What is no JSON, or holds too much, is told as it was written.
        let arguments = read(&call.arguments).unwrap_or_else(|| call.arguments.clone().into());
        json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments })
    });
    thought.into_iter().chain(words).chain(calls).collect()
}

#[cfg(test)]
mod tests {
    use pibench_core::message::Image;

    use super::*;

    fn called(arguments: &str) -> ToolCall {
        ToolCall {
            id: "c1".into(),
            name: "read_file".into(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn a_chat_has_its_instructions_apart_and_its_parts_by_their_kinds() {
        let chat = [
            Message::System { text: "be".into() },
            Message::User { text: "do".into() },
            Message::Assistant {
                text: String::new(),
                reasoning: Reasoning::new("hm".into(), vec![json!("sealed")]),
                calls: vec![called(r#"{"path":"a"}"#), called("{")],
            },
            Message::Tool {
                call_id: "c1".into(),
                text: "there".into(),
            },
            Message::Picture {
                text: "a.png".into(),
                image: Some(Image {
                    media_type: "image/png".into(),
                    data: "QUJD".into(),
                }),
            },
        ];
        let (system, input) = parts_of(&chat);
        assert_eq!(system, json!([{ "type": "text", "content": "be" }]));
        assert_eq!(
            input,
            json!([
                { "role": "user", "parts": [{ "type": "text", "content": "do" }] },
                { "role": "assistant", "parts": [
                    { "type": "reasoning", "content": "hm" },
                    { "type": "tool_call", "id": "c1", "name": "read_file", "arguments": { "path": "a" } },
                    { "type": "tool_call", "id": "c1", "name": "read_file", "arguments": "{" },
                ] },
                { "role": "tool", "parts": [{ "type": "tool_call_response", "id": "c1", "response": "there" }] },
                { "role": "user", "parts": [{ "type": "text", "content": "a.png" }] },
            ])
        );
    }

    #[test]
    fn an_answer_says_why_it_ended() {
        let ended = |reply: Reply| written(&reply)[0]["finish_reason"].clone();
        assert_eq!(ended(Reply::default()), "stop");
        let calls = vec![called("{}")];
        let reply = Reply {
            calls,
            ..Reply::default()
        };
        assert_eq!(ended(reply.clone()), "tool_call");
        let truncated = true;
        assert_eq!(ended(Reply { truncated, ..reply }), "length");
    }
}
