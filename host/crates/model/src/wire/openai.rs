//! `OpenAI` chat completions (<https://platform.openai.com/docs/api-reference/chat>) as the many compatible servers
//! speak it: written strictly, read leniently where servers differ and nothing is lost.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Habits, Unreadable, data_url, error_codes, error_message, object_text, pictures_after_results,
    status, tokens, wrong,
};
use pibench_core::message::{Message, Reasoning, Reply, ToolCall, ToolSpec, Usage};

/// Fields of a message that carry encrypted or signed thinking and go back as they came: `reasoning_details` is
/// `OpenRouter`'s and `MiniMax`'s.
const SEALED: &str = "reasoning_details";

/// The field of a tool call that does: Gemini's signature of the thought behind it.
const SEALED_IN_CALL: &str = "extra_content";

/// The field of readable thinking that some servers want back though it is empty.
const THOUGHT: &str = "reasoning_content";

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// By itself, or by a word that is not known.
    Whole,
    /// At the limit of output tokens, or of the context.
    Cut,
    /// By a filter of contents.
    Filtered,
    /// By the server's own failure.
    Broken,
}

/// Servers' words for it, in lower case.
const FINISHES: [(Finish, &[&str]); 3] = [
    (
        Finish::Cut,
        &[
            "length",
            // Gemini, Mistral, Z.ai.
            "max_tokens",
            "model_length",
            "model_context_window_exceeded",
        ],
    ),
    (
        Finish::Filtered,
        &[
            "content_filter",
            // Z.ai, Bedrock, Cohere.
            "sensitive",
            "content_filtered",
            "guardrail_intervened",
            "error_toxic",
            // Gemini.
            "safety",
            "prohibited_content",
            "recitation",
            "blocklist",
            "spii",
            "model_armor",
            "image_safety",
            "image_prohibited_content",
            "image_recitation",
        ],
    ),
    (
        Finish::Broken,
        &[
            // OpenRouter, Mistral, vLLM, watsonx.
            "error",
            // DeepSeek, Z.ai.
            "insufficient_system_resource",
            "network_error",
            // vLLM and SGLang, watsonx, Cohere.
            "abort",
            "cancelled",
            "time_limit",
            "timeout",
            "model_error",
        ],
    ),
];

impl Finish {
    /// Some servers say more behind a colon.
    fn of(word: &str) -> Self {
        let word = word.split(':').next().unwrap_or_default().trim();
        let word = word.to_ascii_lowercase();
        let known = FINISHES
            .iter()
            .find(|(_, words)| words.contains(&word.as_str()));
        known.map_or(Self::Whole, |&(finish, _)| finish)
    }
}

/// The request's body, as far as it is not the same in other formats.
pub(super) fn request(habits: Habits<'_>, messages: &[Message]) -> Map<String, Value> {
    let messages = pictures_after_results(messages);
    let written = messages
        .into_iter()
        .map(|one| message(one, habits.give_back));
    let mut body = Map::new();
    body.insert("model".into(), habits.model.into());
    body.insert("messages".into(), written.collect());
    if let Some(limit) = habits.max_output_tokens {
        body.insert(habits.output_limit.into(), limit.into());
    }
    body
}

fn message(message: &Message, give_back: Option<&str>) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } | Message::Picture { text, image: None } => {
            json!({"role": "user", "content": text})
        }
        Message::Tool { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
        Message::Picture {
            text,
            image: Some(image),
        } => json!({"role": "user", "content": [
            {"type": "text", "text": text},
            {"type": "image_url", "image_url": {"url": data_url(image)}},
        ]}),
        Message::Assistant {
            text,
            reasoning,
            calls,
        } => assistant(text, reasoning.as_ref(), calls, give_back),
    }
}

fn assistant(
    text: &str,
    reasoning: Option<&Reasoning>,
    calls: &[ToolCall],
    give_back: Option<&str>,
) -> Value {
    let blocks = reasoning.map_or(&[][..], |reasoning| &reasoning.blocks);
    let content = (calls.is_empty() || !text.is_empty()).then_some(text);
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), content.into());
    if let (Some(field), Some(reasoning)) = (give_back, reasoning)
        // Neither a text nor a block: it came empty, and goes back so.
        && (!reasoning.text.is_empty() || blocks.is_empty())
    {
        message.insert(field.into(), reasoning.text.as_str().into());
    }
    if let Some(sealed) = blocks.iter().find_map(|block| block.get(SEALED)) {
        message.insert(SEALED.into(), sealed.clone());
    }
    if !calls.is_empty() {
        let written = calls.iter().map(|one| call(one, blocks));
        message.insert("tool_calls".into(), written.collect());
    }
    Value::Object(message)
}

fn call(call: &ToolCall, blocks: &[Value]) -> Value {
    let ToolCall {
        id,
        name,
        arguments,
    } = call;
    let mut written = json!({"id": id, "type": "function", "function": {"name": name, "arguments": object_text(arguments)}});
    let sealed = blocks.iter().find(|block| block["call"] == **id);
    if let Some(sealed) = sealed.and_then(|block| block.get(SEALED_IN_CALL)) {
        written[SEALED_IN_CALL] = sealed.clone();
    }
    written
}

/// A tool as the format writes it.
#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    r#type: &'static str,
    /// A spec has the names of this format's functions.
    function: &'a ToolSpec,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(function: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            function,
        }
    }
}

/// Reads the body of a successful response.
pub(super) fn reply(body: &Value) -> Result<Reply, Unreadable> {
    let choice = body
        .pointer("/choices/0")
        .ok_or_else(|| wrong("it has no `choices`"))?;
    let word = choice.get("finish_reason").and_then(Value::as_str);
    let word = word.unwrap_or_default();
    let finish = Finish::of(word);
    if finish == Finish::Broken || choice.get("error").is_some_and(|error| !error.is_null()) {
        return Err(broken(choice, word));
    }
    if finish == Finish::Filtered {
        return Err(Unreadable::Declined {
            reason: format!("the server's filter of contents stopped its answer ({word})"),
            usage: usage(body),
        });
    }
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| wrong("its choice has no `message`"))?;
    let told = reasoning(message);
    let (text, inline) = split_thinking(text(message)?, told.is_some());
    let calls = calls(message)?;
    let thought = told.or(inline).unwrap_or_default();
    let is_empty = || message.get(THOUGHT).is_some_and(Value::is_string);
    let reasoning = Reasoning::new(thought, sealed(message, &calls));
    Ok(Reply {
        text,
        reasoning: reasoning.or_else(|| is_empty().then(Reasoning::default)),
        calls,
        usage: usage(body),
        truncated: finish == Finish::Cut,
        repaired: false,
        done: Vec::new(),
    })
}

/// What a server says that broke while the model answered. It is read as an error in the place of the whole answer is.
fn broken(choice: &Value, finish: &str) -> Unreadable {
    let message = error_message(choice)
        .unwrap_or_else(|| format!("its answer was broken off (finish_reason {finish})"));
    let codes = error_codes(choice);
    let code = choice.pointer("/error/code").and_then(status);
    match code.filter(|code| (400..600).contains(code)) {
        Some(status) => Unreadable::Error {
            status,
            message,
            codes,
        },
        None => Unreadable::Broken { message, codes },
    }
}

/// What goes back as it came.
fn sealed(message: &Map<String, Value>, calls: &[ToolCall]) -> Vec<Value> {
    let details = message.get(SEALED).filter(|details| !is_nothing(details));
    let whole = details.map(|details| json!({ SEALED: details }));
    let raw = message.get("tool_calls").and_then(Value::as_array);
    let of_calls = raw
        .into_iter()
        .flatten()
        .zip(calls)
        .filter_map(|(raw, call)| {
            let sealed = raw
                .get(SEALED_IN_CALL)
                .filter(|sealed| !is_nothing(sealed))?;
            Some(json!({"call": call.id, SEALED_IN_CALL: sealed}))
        });
    whole.into_iter().chain(of_calls).collect()
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Content is a text, a list of parts, or null beside tool calls. A refusal is what the model said, too.
fn text(message: &Map<String, Value>) -> Result<String, Unreadable> {
    let text = match message.get("content") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect()
        }
        Some(_) => return Err(wrong("its `content` is no text")),
    };
    match message.get("refusal").and_then(Value::as_str) {
        Some(refusal) if text.is_empty() => Ok(refusal.to_owned()),
        _ => Ok(text),
    }
}

fn reasoning(message: &Map<String, Value>) -> Option<String> {
    let fields = [THOUGHT, "reasoning"];
    let mut texts = fields
        .iter()
        .filter_map(|field| message.get(*field)?.as_str());
    let whole = texts.find(|text| !text.is_empty()).map(str::to_owned);
    whole.or_else(|| {
        let details = message.get(SEALED)?.as_array()?.iter();
        let texts: String = details
            .filter_map(|detail| detail.get("text").or(detail.get("summary"))?.as_str())
            .collect();
        (!texts.is_empty()).then_some(texts)
    })
}

/// Servers without a parser for a model's thinking leave it at the start of the text, without its first tag where the
/// model's template has written that. `is_told`: the server has told it apart.
fn split_thinking(text: String, is_told: bool) -> (String, Option<String>) {
    let start = text.trim_start();
    let thinking = match start.strip_prefix("<think>") {
        Some(rest) => rest.split_once("</think>"),
        None if is_told => None,
        // Who goes on in the line speaks of the tag.
        None => start.split_once("</think>").filter(|(thinking, rest)| {
            !thinking.contains("<think>") && (rest.is_empty() || rest.starts_with('\n'))
        }),
    };
    match thinking {
        Some((thinking, answer)) => {
            let thinking = thinking.trim();
            let kept = (!thinking.is_empty()).then(|| thinking.to_owned());
            (answer.trim_start().to_owned(), kept)
        }
        None => (text, None),
    }
}

fn calls(message: &Map<String, Value>) -> Result<Vec<ToolCall>, Unreadable> {
    match message.get("tool_calls") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(calls)) => calls.iter().enumerate().map(read_call).collect(),
        Some(_) => Err(wrong("its `tool_calls` is no list")),
    }
}

fn read_call((index, call): (usize, &Value)) -> Result<ToolCall, Unreadable> {
    let name = call
        .pointer("/function/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if name.is_empty() {
        return Err(wrong("a tool call has no name"));
    }
    let arguments = match call.pointer("/function/arguments") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
    Ok(ToolCall {
        // Some local servers leave the id out.
        id: if id.is_empty() {
            format!("call_{index}")
        } else {
            id.to_owned()
        },
        name: name.to_owned(),
        arguments,
    })
}

/// Missing counts are 0: usage is accounting, and no reason to lose an answer.
fn usage(body: &Value) -> Usage {
    let usage = &body["usage"];
    let counted = |place: &&str| usage.pointer(place).and_then(tokens);
    let count = |places: &[&str]| places.iter().find_map(counted).unwrap_or(0);
    let input_tokens = count(&["/prompt_tokens"]);
    // Gemini leaves its thinking out of the one count and not of the other.
    let beside_input = count(&["/total_tokens"]).saturating_sub(input_tokens);
    let says = ["/completion_tokens", "/total_tokens"]
        .iter()
        .find_map(counted);
    Usage {
        calls: 1,
        input_tokens,
        cached_tokens: count(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
        ])
        .min(input_tokens),
        output_tokens: count(&["/completion_tokens"]).max(beside_input),
        reasoning_tokens: count(&["/completion_tokens_details/reasoning_tokens"]),
        cache_write_tokens: count(&["/prompt_tokens_details/cache_write_tokens"]),
        uncounted_calls: u64::from(says.is_none()),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests;
