//! `OpenAI` chat completions (<https://platform.openai.com/docs/api-reference/chat>) as the many compatible servers
//! speak it: written strictly, read leniently where servers differ and nothing is lost.

use serde_json::{Map, Value, json};

use super::Unreadable;
use crate::model::{ChatRequest, Message, Reply, ToolCall, ToolSpec, Usage};

/// The request's body. A temperature is sent when the request has one.
pub(in crate::model) fn request(model: &str, request: ChatRequest<'_>) -> Value {
    let ChatRequest {
        messages,
        tools,
        temperature,
    } = request;
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages.iter().map(message).collect());
    if !tools.is_empty() {
        body.insert("tools".into(), tools.iter().map(tool).collect());
    }
    if let Some(temperature) = temperature {
        body.insert("temperature".into(), temperature.into());
    }
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Tool { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
        // Reasoning stays here: not every server takes it back, and none needs it to go on.
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls, .. } => {
            let content = (!text.is_empty()).then_some(text);
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let ToolCall {
        id,
        name,
        arguments,
    } = call;
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": object_text(arguments)}})
}

/// Some servers parse the arguments of earlier calls and refuse the whole chat over a malformed one, so those go back
/// wrapped. Well-formed ones go back as they came.
fn object_text(arguments: &str) -> String {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        _ if arguments.trim().is_empty() => "{}".into(),
        _ => json!({"malformed_arguments": arguments}).to_string(),
    }
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec {
        name,
        description,
        parameters,
    } = tool;
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// Reads the body of a successful response.
pub(in crate::model) fn reply(body: &[u8]) -> Result<Reply, Unreadable> {
    let body: Value = serde_json::from_slice(body).map_err(|error| Unreadable::NotJson {
        reason: error.to_string(),
    })?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(Unreadable::Error {
            status: error.get("code").and_then(status).unwrap_or(0),
            message: error_message(&body).unwrap_or_else(|| error.to_string()),
        });
    }
    let choice = body
        .pointer("/choices/0")
        .ok_or_else(|| wrong("it has no `choices`"))?;
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| wrong("its choice has no `message`"))?;
    let (text, inline) = split_thinking(text(message)?);
    Ok(Reply {
        text,
        reasoning: reasoning(message).or(inline),
        calls: calls(message)?,
        usage: usage(body.get("usage").unwrap_or(&Value::Null)),
        truncated: choice.get("finish_reason").and_then(Value::as_str) == Some("length"),
    })
}

/// What an error body says in words, if it says anything.
pub(in crate::model) fn error_message(body: &Value) -> Option<String> {
    let places = ["/error/message", "/error", "/message", "/detail"];
    let found = places
        .iter()
        .find_map(|place| body.pointer(place)?.as_str());
    found.map(str::to_owned)
}

fn status(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok()
}

fn wrong(reason: &str) -> Unreadable {
    Unreadable::WrongShape {
        reason: reason.to_owned(),
    }
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
    let fields = ["reasoning_content", "reasoning"];
    let mut texts = fields
        .iter()
        .filter_map(|field| message.get(*field)?.as_str());
    texts.find(|text| !text.is_empty()).map(str::to_owned)
}

/// Servers without a parser for a model's thinking leave it at the start of the text.
fn split_thinking(text: String) -> (String, Option<String>) {
    let thinking = text
        .trim_start()
        .strip_prefix("<think>")
        .and_then(|rest| rest.split_once("</think>"));
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
fn usage(usage: &Value) -> Usage {
    let count = |places: &[&str]| {
        let mut counts = places
            .iter()
            .filter_map(|place| usage.pointer(place)?.as_u64());
        counts.next().unwrap_or(0)
    };
    Usage {
        calls: 1,
        input_tokens: count(&["/prompt_tokens"]),
        cached_tokens: count(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
        ]),
        output_tokens: count(&["/completion_tokens"]),
        reasoning_tokens: count(&["/completion_tokens_details/reasoning_tokens"]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(message: &Value, expected: &Reply) {
        let body = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
        let mut expected = expected.clone();
        expected.usage.calls = 1;
        assert_eq!(
            reply(body.to_string().as_bytes()),
            Ok(expected),
            "{message}"
        );
    }

    fn check_unreadable(body: &str, expected: &str) {
        let message = format!("{:?}", reply(body.as_bytes()).unwrap_err());
        assert!(message.contains(expected), "{message}");
    }

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn a_chat_is_written_as_the_format_wants_it() {
        let messages = [
            Message::System { text: "s".into() },
            Message::User { text: "u".into() },
            Message::Assistant {
                text: String::new(),
                reasoning: Some("r".into()),
                calls: vec![
                    call("1", "read_file", r#"{"path": "a"}"#),
                    call("2", "list", "oops"),
                ],
            },
            Message::Tool {
                call_id: "1".into(),
                text: "t".into(),
            },
        ];
        let tools = [ToolSpec {
            name: "list".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        }];
        let body = request(
            "m",
            ChatRequest {
                messages: &messages,
                tools: &tools,
                temperature: Some(0.0),
            },
        );
        let expected = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a\"}"}},
                    {"id": "2", "type": "function",
                     "function": {"name": "list", "arguments": "{\"malformed_arguments\":\"oops\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "1", "content": "t"},
            ],
            "tools": [{"type": "function",
                       "function": {"name": "list", "description": "d", "parameters": {"type": "object"}}}],
            "temperature": 0.0,
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn what_is_not_asked_for_is_not_sent() {
        let body = request(
            "m",
            ChatRequest {
                messages: &[],
                tools: &[],
                temperature: None,
            },
        );
        assert_eq!(body, json!({"model": "m", "messages": []}));
    }

    #[test]
    fn parallel_calls_keep_their_raw_arguments() {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1"}},
            {"id": "", "type": "function", "function": {"name": "g", "arguments": {"y": 2}}},
            {"function": {"name": "h"}},
        ]});
        let expected = Reply {
            calls: vec![
                call("a", "f", "{\"x\": 1"),
                call("call_1", "g", r#"{"y":2}"#),
                call("call_2", "h", ""),
            ],
            ..Reply::default()
        };
        check(&message, &expected);
    }

    #[test]
    fn thinking_is_kept_apart_from_the_answer() {
        let expected = Reply {
            text: "Yes.".into(),
            reasoning: Some("hm".into()),
            ..Reply::default()
        };
        check(
            &json!({"content": "Yes.", "reasoning_content": "hm"}),
            &expected,
        );
        check(
            &json!({"content": "Yes.", "reasoning": "hm", "reasoning_content": ""}),
            &expected,
        );
        check(
            &json!({"content": "\n<think>\nhm\n</think>\n\nYes."}),
            &expected,
        );
        let open = Reply {
            text: "<think> no end".into(),
            ..Reply::default()
        };
        check(&json!({"content": "<think> no end"}), &open);
    }

    #[test]
    fn content_comes_in_several_shapes() {
        let expected = Reply {
            text: "ab".into(),
            ..Reply::default()
        };
        check(
            &json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            &expected,
        );
        check(&json!({"content": null, "refusal": "ab"}), &expected);
        check(&json!({}), &Reply::default());
    }

    #[test]
    fn usage_and_truncation_are_read() {
        let body = json!({
            "choices": [{"message": {"content": "a"}, "finish_reason": "length"}],
            "usage": {
                "prompt_tokens": 10, "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5},
            },
        });
        let reply = reply(body.to_string().as_bytes()).unwrap();
        assert!(reply.truncated);
        let expected = Usage {
            calls: 1,
            input_tokens: 10,
            cached_tokens: 4,
            output_tokens: 7,
            reasoning_tokens: 5,
        };
        assert_eq!(reply.usage, expected);
    }

    #[test]
    fn unreadable_answers_are_told_apart() {
        check_unreadable("<html>", "NotJson");
        check_unreadable("", "NotJson");
        check_unreadable("{\"choices\": [", "NotJson");
        check_unreadable("[]", "no `choices`");
        check_unreadable(r#"{"choices": []}"#, "no `choices`");
        check_unreadable(r#"{"choices": [{"message": "a"}]}"#, "no `message`");
        check_unreadable(r#"{"choices": [{"message": {"content": 7}}]}"#, "no text");
        check_unreadable(
            r#"{"choices": [{"message": {"tool_calls": 7}}]}"#,
            "no list",
        );
        check_unreadable(
            r#"{"choices": [{"message": {"tool_calls": [{}]}}]}"#,
            "no name",
        );
        check_unreadable(
            r#"{"error": {"message": "busy", "code": 503}}"#,
            "status: 503, message: \"busy\"",
        );
        check_unreadable(r#"{"error": "busy"}"#, "status: 0, message: \"busy\"");
    }

    #[test]
    fn bytes_that_are_no_text_are_unreadable() {
        let reply = reply(b"{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}");
        assert!(
            matches!(reply, Err(Unreadable::NotJson { .. })),
            "{reply:?}"
        );
    }

    proptest! {
        #[test]
        fn any_message_is_read_or_refused(content in any::<String>(), junk in "[\\[\\]{}\",:a-z0-9]{0,60}") {
            let _ = reply(junk.as_bytes());
            let _ = reply(format!("{{\"choices\":[{{\"message\":{junk}}}]}}").as_bytes());
            let body = json!({"choices": [{"message": {"content": content, "reasoning": "r"}}]});
            prop_assert!(reply(body.to_string().as_bytes()).is_ok());
        }
    }
}
