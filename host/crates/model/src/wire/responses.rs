//! `OpenAI` responses (<https://platform.openai.com/docs/api-reference/responses>), for models that think and call tools
//! in one. Nothing is stored at the server: each request holds the whole chat, with the encrypted thinking as it came.
//! The servers' own tools are never offered.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::order::{Blocks, Piece, pieces};
use super::{Habits, Unreadable, data_url, object_text, pictures_after_results, tokens, wrong};
use pibench_core::message::{Message, Reasoning, Reply, ToolCall, ToolSpec, Usage};

/// What is asked for beside the answer: thinking that can be given back.
const SEALED: &str = "reasoning.encrypted_content";

/// The field of a message that says whether it goes before calls or ends the turn; it is given back with it.
const PHASE: &str = "phase";

/// The request's body, as far as it is not the same in other formats.
pub(super) fn request(habits: Habits<'_>, messages: &[Message]) -> Map<String, Value> {
    let ordered = pictures_after_results(messages);
    let system: Vec<&str> = messages.iter().filter_map(system_text).collect();
    let input: Vec<Value> = ordered.into_iter().flat_map(items).collect();
    let mut body = Map::new();
    body.insert("model".into(), habits.model.into());
    if !system.is_empty() {
        body.insert("instructions".into(), system.join("\n\n").into());
    }
    body.insert("input".into(), input.into());
    body.insert("store".into(), false.into());
    body.insert("include".into(), json!([SEALED]));
    if let Some(limit) = habits.max_output_tokens {
        body.insert("max_output_tokens".into(), limit.into());
    }
    body
}

fn system_text(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// A message as items. Only sealed thinking has an id: for any other, the server would look for what it did not store.
fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::System { .. } => Vec::new(),
        Message::User { text } | Message::Picture { text, image: None } => {
            vec![json!({"role": "user", "content": text})]
        }
        Message::Tool { call_id, text } => {
            vec![json!({"type": "function_call_output", "call_id": call_id, "output": text})]
        }
        Message::Picture {
            text,
            image: Some(image),
        } => vec![json!({"role": "user", "content": [
            {"type": "input_text", "text": text},
            {"type": "input_image", "detail": "auto", "image_url": data_url(image)},
        ]})],
        Message::Assistant {
            text,
            reasoning,
            calls,
        } => assistant(text, reasoning.as_ref(), calls),
    }
}

fn assistant(text: &str, reasoning: Option<&Reasoning>, calls: &[ToolCall]) -> Vec<Value> {
    let written = |piece: Piece<'_>| match piece {
        Piece::Sealed(item) => item.clone(),
        Piece::Text { text, phase } => {
            let mut message = json!({"role": "assistant", "content": text});
            if let Some(phase) = phase {
                message[PHASE] = phase.clone();
            }
            message
        }
        Piece::Call(call) => {
            let arguments = object_text(&call.arguments);
            json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
        }
    };
    let pieces = pieces(text, reasoning, calls);
    pieces.into_iter().map(written).collect()
}

/// A tool as the format writes it.
#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    function: &'a ToolSpec,
    /// Not: a strict schema must name every property as required, and the tools have optional ones.
    strict: bool,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(function: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            function,
            strict: false,
        }
    }
}

/// Reads the body of a successful response.
pub(super) fn reply(body: &Value) -> Result<Reply, Unreadable> {
    let output = body
        .get("output")
        .and_then(Value::as_array)
        .ok_or_else(|| wrong("it has no list `output`"))?;
    let cut = body.pointer("/incomplete_details/reason");
    let cut = cut.and_then(Value::as_str);
    if cut == Some("content_filter") {
        return Err(Unreadable::Declined {
            reason: "the server's filter of contents stopped its answer".into(),
            usage: usage(body),
        });
    }
    let mut reply = Reply {
        usage: usage(body),
        truncated: cut == Some("max_output_tokens"),
        ..Reply::default()
    };
    let (mut thought, mut blocks) = (String::new(), Blocks::default());
    for item in output {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                let text = said(item)?;
                blocks.text(&text, item.get(PHASE).filter(|phase| !phase.is_null()));
                reply.text.push_str(&text);
            }
            Some("reasoning") => {
                thought.push_str(&texts(item, "summary"));
                thought.push_str(&texts(item, "content"));
                if let Some(item) = sealed(item) {
                    blocks.seal(item);
                }
            }
            Some("function_call") => {
                let call = call(item)?;
                blocks.call(&call);
                reply.calls.push(call);
            }
            // Items of tools that the host never offers.
            Some(_) => {}
            None => return Err(wrong("an item of its `output` has no `type`")),
        }
    }
    reply.reasoning = Reasoning::new(thought, blocks.into_values());
    Ok(reply)
}

/// A message's text. A refusal is what the model said, too.
fn said(item: &Value) -> Result<String, Unreadable> {
    let parts = item
        .get("content")
        .and_then(Value::as_array)
        .ok_or_else(|| wrong("a message of its `output` has no list `content`"))?;
    let text = |part: &Value| {
        Some(
            part.get("text")
                .or(part.get("refusal"))?
                .as_str()?
                .to_owned(),
        )
    };
    Ok(parts.iter().filter_map(text).collect())
}

fn texts(item: &Value, field: &str) -> String {
    let parts = item.get(field).and_then(Value::as_array);
    let texts = parts.into_iter().flatten();
    texts
        .filter_map(|part| part.get("text")?.as_str())
        .collect()
}

/// Thinking as it can be given back; None where the server kept it to itself.
fn sealed(item: &Value) -> Option<Value> {
    let sealed = item.get("encrypted_content")?.as_str()?;
    let summary = item.get("summary").cloned().unwrap_or_else(|| json!([]));
    let mut back = json!({"type": "reasoning", "summary": summary, "encrypted_content": sealed});
    if let Some(id) = item.get("id").filter(|id| id.is_string()) {
        back["id"] = id.clone();
    }
    Some(back)
}

fn call(item: &Value) -> Result<ToolCall, Unreadable> {
    let text = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default();
    let (id, name) = (text("call_id"), text("name"));
    if id.is_empty() || name.is_empty() {
        return Err(wrong("a function call has no call_id or no name"));
    }
    Ok(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: text("arguments").to_owned(),
    })
}

/// Missing counts are 0: usage is accounting, and no reason to lose an answer.
fn usage(body: &Value) -> Usage {
    let usage = &body["usage"];
    let count = |place: &str| usage.pointer(place).and_then(tokens).unwrap_or(0);
    let input_tokens = count("/input_tokens");
    Usage {
        calls: 1,
        input_tokens,
        cached_tokens: count("/input_tokens_details/cached_tokens").min(input_tokens),
        output_tokens: count("/output_tokens"),
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
        cache_write_tokens: count("/input_tokens_details/cache_write_tokens"),
        uncounted_calls: u64::from(tokens(&usage["output_tokens"]).is_none()),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests;
