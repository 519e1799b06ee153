//! Anthropic messages (<https://docs.anthropic.com/en/api/messages>). Thinking blocks come back to the server unchanged,
//! signature and all and in their places, as it demands of an answer with tool calls; what was thought is read from them
//! and never written.

use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::order::{Blocks, Piece, pieces};
use super::{Habits, Unreadable, object, pictures_after_results, tokens, wrong};
use pibench_core::message::{Image, Message, Reasoning, Reply, ToolCall, ToolSpec, Usage};
use pibench_core::schema::Schema;

/// The version of the format, which every request names.
pub(super) const VERSION: (HeaderName, HeaderValue) = (
    HeaderName::from_static("anthropic-version"),
    HeaderValue::from_static("2023-06-01"),
);

/// The format has no default for the longest answer. Every model in service takes this one.
const MAX_TOKENS: u32 = 8_192;

/// Stands for an empty text, which the format refuses.
const EMPTY: &str = "(empty)";

/// The request's body, as far as it is not the same in other formats. The chat up to its end is marked for the provider's
/// cache when tools come with it: it grows by a few messages with each call of an agent's turn.
pub(super) fn request(
    habits: Habits<'_>,
    messages: &[Message],
    has_tools: bool,
) -> Map<String, Value> {
    let system: Vec<&str> = messages.iter().filter_map(system_text).collect();
    let mut turns = turns(messages);
    if has_tools {
        mark_for_cache(&mut turns);
    }
    let mut body = Map::new();
    body.insert("model".into(), habits.model.into());
    let limit = habits.max_output_tokens.unwrap_or(MAX_TOKENS);
    body.insert("max_tokens".into(), limit.into());
    if !system.is_empty() {
        body.insert("system".into(), system.join("\n\n").into());
    }
    body.insert("messages".into(), turns.into());
    body
}

fn system_text(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// User and assistant in turn: neighbours of the same side become one message, results of tools first in it.
fn turns(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in pictures_after_results(messages) {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", vec![text_block(text)]),
            Message::Tool { call_id, text } => ("user", vec![result(call_id, text)]),
            Message::Picture { text, image } => ("user", picture(text, image.as_ref())),
            Message::Assistant {
                text,
                reasoning,
                calls,
            } => ("assistant", assistant(text, reasoning.as_ref(), calls)),
        };
        match turns.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let written = |(role, content): (&str, Vec<Value>)| json!({"role": role, "content": content});
    turns.into_iter().map(written).collect()
}

fn text_block(text: &str) -> Value {
    let text = if text.trim().is_empty() { EMPTY } else { text };
    json!({"type": "text", "text": text})
}

fn result(call_id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call_id, "content": text})
}

fn picture(text: &str, image: Option<&Image>) -> Vec<Value> {
    let shown = image.map(|Image { media_type, data }| {
        let source = json!({"type": "base64", "media_type": media_type, "data": data});
        json!({"type": "image", "source": source})
    });
    std::iter::once(text_block(text)).chain(shown).collect()
}

fn assistant(text: &str, reasoning: Option<&Reasoning>, calls: &[ToolCall]) -> Vec<Value> {
    let written = |piece: Piece<'_>| match piece {
        Piece::Sealed(block) => Some(block.clone()),
        Piece::Text { text, .. } => (!text.trim().is_empty()).then(|| text_block(text)),
        Piece::Call(call) => {
            let input = object(&call.arguments);
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}))
        }
    };
    let pieces = pieces(text, reasoning, calls);
    let mut content: Vec<Value> = pieces.into_iter().filter_map(written).collect();
    if calls.is_empty() && text.trim().is_empty() {
        content.push(text_block(text));
    }
    content
}

fn mark_for_cache(turns: &mut [Value]) {
    let last = turns
        .last_mut()
        .and_then(|turn| turn["content"].as_array_mut());
    if let Some(block) = last.and_then(|content| content.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// A tool as the format writes it.
#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Schema,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        let ToolSpec {
            name,
            description,
            parameters,
        } = tool;
        Self {
            name,
            description,
            input_schema: parameters,
        }
    }
}

/// Reads the body of a successful response.
pub(super) fn reply(body: &Value) -> Result<Reply, Unreadable> {
    let content = body
        .get("content")
        .and_then(Value::as_array)
        .ok_or_else(|| wrong("it has no list `content`"))?;
    let stopped = body.get("stop_reason").and_then(Value::as_str);
    if stopped == Some("refusal") {
        return Err(Unreadable::Declined {
            reason: "the model refused to answer (stop_reason refusal)".into(),
            usage: usage(body),
        });
    }
    let mut reply = Reply {
        usage: usage(body),
        truncated: matches!(
            stopped,
            Some("max_tokens" | "model_context_window_exceeded")
        ),
        ..Reply::default()
    };
    let (mut thought, mut blocks) = (String::new(), Blocks::default());
    for block in content {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = text_of(block, "text")?;
                blocks.text(text, None);
                reply.text.push_str(text);
            }
            Some("thinking") => {
                thought.push_str(text_of(block, "thinking")?);
                blocks.seal(block.clone());
            }
            Some("redacted_thinking") => blocks.seal(block.clone()),
            Some("tool_use") => {
                let call = call(block)?;
                blocks.call(&call);
                reply.calls.push(call);
            }
            // Blocks of tools that the host never offers.
            Some(_) => {}
            None => return Err(wrong("a block of its `content` has no `type`")),
        }
    }
    reply.reasoning = Reasoning::new(thought, blocks.into_values());
    Ok(reply)
}

fn text_of<'a>(block: &'a Value, field: &str) -> Result<&'a str, Unreadable> {
    let text = block.get(field).and_then(Value::as_str);
    text.ok_or_else(|| wrong("a block of its `content` has no text"))
}

fn call(block: &Value) -> Result<ToolCall, Unreadable> {
    let text = |field: &str| block.get(field).and_then(Value::as_str).unwrap_or_default();
    let (id, name) = (text("id"), text("name"));
    if id.is_empty() || name.is_empty() {
        return Err(wrong("a tool call has no id or no name"));
    }
    let input = block.get("input").filter(|input| !input.is_null());
    Ok(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: input.map_or_else(String::new, Value::to_string),
    })
}

/// Missing counts are 0: usage is accounting, and no reason to lose an answer. The format counts cached input apart.
fn usage(body: &Value) -> Usage {
    let usage = &body["usage"];
    let count = |field: &str| usage.get(field).and_then(tokens).unwrap_or(0);
    let (cached, written) = (
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
    );
    let thinking = usage.pointer("/output_tokens_details/thinking_tokens");
    Usage {
        calls: 1,
        input_tokens: count("input_tokens")
            .saturating_add(cached)
            .saturating_add(written),
        cached_tokens: cached,
        cache_write_tokens: written,
        output_tokens: count("output_tokens"),
        reasoning_tokens: thinking.and_then(tokens).unwrap_or(0),
        uncounted_calls: u64::from(tokens(&usage["output_tokens"]).is_none()),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests;
