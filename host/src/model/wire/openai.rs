//! `OpenAI` chat completions (<https://platform.openai.com/docs/api-reference/chat>) as the many compatible servers
//! speak it: written strictly, read leniently where servers differ and nothing is lost.

use serde_json::{Map, Value, json};

use super::{Habits, Unreadable, data_url, object_text, pictures_after_results, wrong};
use crate::model::{ChatRequest, Message, Reasoning, Reply, ToolCall, ToolSpec, Usage};

/// Fields of a message that carry encrypted or signed thinking and go back as they came: `reasoning_details` is
/// `OpenRouter`'s and `MiniMax`'s.
const SEALED: &str = "reasoning_details";

/// The field of a tool call that does: Gemini's signature of the thought behind it.
const SEALED_IN_CALL: &str = "extra_content";

/// The request's body. A temperature is sent when the request has one.
pub(super) fn request(habits: Habits<'_>, request: ChatRequest<'_>) -> Map<String, Value> {
    let ChatRequest {
        messages,
        tools,
        may_call,
        temperature,
    } = request;
    let messages = pictures_after_results(messages);
    let written = messages
        .into_iter()
        .map(|one| message(one, habits.give_back));
    let mut body = Map::new();
    body.insert("model".into(), habits.model.into());
    body.insert("messages".into(), written.collect());
    if !tools.is_empty() {
        body.insert("tools".into(), tools.iter().map(tool).collect());
        if !may_call {
            body.insert("tool_choice".into(), "none".into());
        }
    }
    if let Some(temperature) = temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(limit) = habits.max_output_tokens {
        body.insert("max_completion_tokens".into(), limit.into());
    }
    body
}

fn message(message: &Message, give_back: Option<&str>) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Tool { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
        Message::Picture { text, image: None } => json!({"role": "user", "content": text}),
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
        && !reasoning.text.is_empty()
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

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec {
        name,
        description,
        parameters,
    } = tool;
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// Reads the body of a successful response.
pub(super) fn reply(body: &Value) -> Result<Reply, Unreadable> {
    let choice = body
        .pointer("/choices/0")
        .ok_or_else(|| wrong("it has no `choices`"))?;
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| wrong("its choice has no `message`"))?;
    let finish = choice.get("finish_reason").and_then(Value::as_str);
    // `sensitive` is GLM's word for it.
    if let Some(finish @ ("content_filter" | "sensitive")) = finish {
        return Err(Unreadable::Declined {
            reason: format!("the server's filter of contents stopped its answer ({finish})"),
        });
    }
    let (text, inline) = split_thinking(text(message)?);
    let calls = calls(message)?;
    let thought = reasoning(message).or(inline).unwrap_or_default();
    Ok(Reply {
        text,
        reasoning: Reasoning::new(thought, sealed(message, &calls)),
        calls,
        usage: usage(body.get("usage").unwrap_or(&Value::Null)),
        truncated: finish == Some("length"),
    })
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
    let fields = ["reasoning_content", "reasoning"];
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
    let input_tokens = count(&["/prompt_tokens"]);
    // Gemini leaves its thinking out of the one count and not of the other.
    let beside_input = count(&["/total_tokens"]).saturating_sub(input_tokens);
    Usage {
        calls: 1,
        input_tokens,
        cached_tokens: count(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
        ]),
        output_tokens: count(&["/completion_tokens"]).max(beside_input),
        reasoning_tokens: count(&["/completion_tokens_details/reasoning_tokens"]),
        cache_write_tokens: count(&["/prompt_tokens_details/cache_write_tokens"]),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Image;
    use crate::model::wire::{self, WireFormat};

    fn habits<'a>(fields: &'a Map<String, Value>, give_back: Option<&'a str>) -> Habits<'a> {
        Habits {
            model: "m",
            fields,
            max_output_tokens: None,
            give_back,
        }
    }

    fn request(model: &str, chat: ChatRequest<'_>) -> Value {
        assert_eq!(model, "m");
        wire::request(WireFormat::OpenAi, habits(&Map::new(), None), chat)
    }

    fn reply(body: &[u8]) -> Result<Reply, Unreadable> {
        wire::reply(WireFormat::OpenAi, body)
    }

    fn thought(text: &str) -> Option<Reasoning> {
        Reasoning::new(text.into(), Vec::new())
    }

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
                reasoning: thought("r"),
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
                may_call: true,
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
    fn tools_that_must_not_be_called_are_sent_all_the_same() {
        let tools = [ToolSpec {
            name: "list".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        }];
        let body = request(
            "m",
            ChatRequest {
                messages: &[],
                tools: &tools,
                may_call: false,
                temperature: None,
            },
        );
        assert_eq!(body["tool_choice"], "none");
        assert_eq!(body["tools"][0]["function"]["name"], "list");
    }

    #[test]
    fn what_is_not_asked_for_is_not_sent() {
        let body = request(
            "m",
            ChatRequest {
                messages: &[],
                tools: &[],
                may_call: true,
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
            reasoning: thought("hm"),
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
    fn thinking_goes_back_in_the_field_that_the_server_wants() {
        let messages = [Message::Assistant {
            text: "a".into(),
            reasoning: thought("hm"),
            calls: Vec::new(),
        }];
        let chat = ChatRequest {
            messages: &messages,
            tools: &[],
            may_call: true,
            temperature: None,
        };
        let fields = Map::from_iter([("thinking".to_owned(), json!({"type": "enabled"}))]);
        let body = wire::request(
            WireFormat::OpenAi,
            habits(&fields, Some("reasoning_content")),
            chat,
        );
        let expected = json!({
            "model": "m",
            "messages": [{"role": "assistant", "content": "a", "reasoning_content": "hm"}],
            "thinking": {"type": "enabled"},
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn signed_thinking_goes_back_as_it_came() {
        let details = json!([{"type": "reasoning.encrypted", "data": "xyz"}, {"type": "reasoning.text", "text": "hm"}]);
        let signature = json!({"google": {"thought_signature": "abc"}});
        let message = json!({"role": "assistant", "content": null, "reasoning_details": details, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": signature},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ]});
        let body = json!({"choices": [{"message": message}]});
        let Reply {
            text,
            reasoning,
            calls,
            ..
        } = reply(body.to_string().as_bytes()).unwrap();
        assert_eq!(reasoning.as_ref().unwrap().text, "hm");
        let messages = [Message::Assistant {
            text,
            reasoning,
            calls,
        }];
        // As the journal keeps it.
        let kept: Vec<Message> =
            serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap();
        let chat = ChatRequest {
            messages: &kept,
            tools: &[],
            may_call: true,
            temperature: None,
        };
        assert_eq!(request("m", chat)["messages"][0], message);
    }

    #[test]
    fn pictures_stand_after_all_results() {
        let tool = |id: &str| Message::Tool {
            call_id: id.into(),
            text: "t".into(),
        };
        let picture = Message::Picture {
            text: "a.png".into(),
            image: Some(Image {
                media_type: "image/png".into(),
                data: "AAAA".into(),
            }),
        };
        let gone = Message::Picture {
            text: "b.png".into(),
            image: None,
        };
        let messages = [tool("1"), picture, gone, tool("2")];
        let chat = ChatRequest {
            messages: &messages,
            tools: &[],
            may_call: true,
            temperature: None,
        };
        let expected = json!([
            {"role": "tool", "tool_call_id": "1", "content": "t"},
            {"role": "tool", "tool_call_id": "2", "content": "t"},
            {"role": "user", "content": [
                {"type": "text", "text": "a.png"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
            {"role": "user", "content": "b.png"},
        ]);
        assert_eq!(request("m", chat)["messages"], expected);
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
            ..Usage::default()
        };
        assert_eq!(reply.usage, expected);
    }

    #[test]
    fn thinking_that_only_the_total_holds_is_output() {
        let body = json!({
            "choices": [{"message": {"content": "a"}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 117},
        });
        let usage = reply(body.to_string().as_bytes()).unwrap().usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (10, 107));
    }

    #[test]
    fn an_answer_that_a_filter_stopped_is_a_refusal() {
        for finish in ["content_filter", "sensitive"] {
            let body = json!({"choices": [{"message": {"content": ""}, "finish_reason": finish}]});
            check_unreadable(&body.to_string(), "Declined");
        }
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
