use proptest::prelude::*;

use super::*;
use crate::wire;
use crate::wire::WireFormat;
use pibench_core::message::{ChatRequest, Image};

fn written(messages: &[Message], tools: &[ToolSpec], temperature: Option<f64>) -> Value {
    let fields = Map::from_iter([("thinking".to_owned(), json!({"type": "adaptive"}))]);
    let habits = Habits {
        model: "m",
        fields: &fields,
        max_output_tokens: Some(32_000),
        output_limit: "max_completion_tokens",
        give_back: None,
    };
    let request = ChatRequest {
        messages,
        tools,
        may_call: true,
        temperature,
        max_output: None,
    };
    json!(wire::request(WireFormat::Anthropic, habits, request))
}

fn read(body: &Value) -> Result<Reply, Unreadable> {
    wire::reply(WireFormat::Anthropic, body.to_string().as_bytes())
}

fn user(text: &str) -> Message {
    Message::User { text: text.into() }
}

fn tool_result(id: &str, text: &str) -> Message {
    Message::Tool {
        call_id: id.into(),
        text: text.into(),
    }
}

fn tool_call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

#[test]
fn a_chat_is_written_as_the_format_wants_it() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    let messages = [
        Message::System { text: "s".into() },
        user("u"),
        Message::Assistant {
            text: "t".into(),
            reasoning: Reasoning::new("hm".into(), vec![thinking.clone()]),
            calls: vec![
                tool_call("1", "read_file", r#"{"path": "a"}"#),
                tool_call("2", "list", "oops"),
                tool_call("3", "list", ""),
            ],
        },
        tool_result("1", "one"),
        Message::Picture {
            text: "a.png".into(),
            image: Some(Image {
                media_type: "image/png".into(),
                data: "AAAA".into(),
            }),
        },
        tool_result("2", "two"),
        tool_result("3", ""),
        user("and now?"),
    ];
    let tools = [ToolSpec {
        name: "list".into(),
        description: "d".into(),
        parameters: json!({"type": "object"}).into(),
    }];
    let expected = json!({
        "model": "m",
        "max_tokens": 32_000,
        "system": "s",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
            {"role": "assistant", "content": [
                thinking,
                {"type": "text", "text": "t"},
                {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "a"}},
                {"type": "tool_use", "id": "2", "name": "list", "input": {"malformed_arguments": "oops"}},
                {"type": "tool_use", "id": "3", "name": "list", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "2", "content": "two"},
                {"type": "tool_result", "tool_use_id": "3", "content": ""},
                {"type": "text", "text": "a.png"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "text", "text": "and now?", "cache_control": {"type": "ephemeral"}},
            ]},
        ],
        "tools": [{"name": "list", "description": "d", "input_schema": {"type": "object"}}],
        "thinking": {"type": "adaptive"},
    });
    assert_eq!(written(&messages, &tools, None), expected);
}

/// The server refuses a chat with blocks of tools that comes without the tools.
#[test]
fn tools_that_must_not_be_called_are_sent_all_the_same() {
    let tools = [ToolSpec {
        name: "list".into(),
        description: "d".into(),
        parameters: json!({"type": "object"}).into(),
    }];
    let habits = Habits {
        model: "m",
        fields: &Map::new(),
        max_output_tokens: None,
        output_limit: "max_completion_tokens",
        give_back: None,
    };
    let request = ChatRequest {
        messages: &[user("u")],
        tools: &tools,
        may_call: false,
        temperature: None,
        max_output: None,
    };
    let body = json!(wire::request(WireFormat::Anthropic, habits, request));
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    assert_eq!(body["tools"][0]["name"], "list");
}

#[test]
fn neighbours_of_one_side_become_one_message_and_no_text_is_empty() {
    let said = |text: &str| Message::Assistant {
        text: text.into(),
        reasoning: None,
        calls: Vec::new(),
    };
    let body = written(&[user(""), said("a"), said(""), user("b")], &[], Some(0.0));
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "(empty)"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "(empty)"}]},
        {"role": "user", "content": [{"type": "text", "text": "b"}]},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(body.get("tools"), None);
}

#[test]
fn text_thinking_and_parallel_calls_are_read() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    let hidden = json!({"type": "redacted_thinking", "data": "xyz"});
    let reply = read(&json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            thinking, hidden,
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
            {"type": "something_new"},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000,
            "output_tokens": 40,
        },
    }))
    .unwrap();
    assert_eq!(reply.text, "I will look.");
    let reasoning = reply.reasoning.unwrap();
    assert_eq!(reasoning.text, "hm");
    assert_eq!(reasoning.blocks, [thinking, hidden]);
    let calls = [
        tool_call("toolu_1", "f", r#"{"x":1}"#),
        tool_call("toolu_2", "g", "{}"),
    ];
    assert_eq!(reply.calls, calls);
    assert!(!reply.truncated);
    let usage = Usage {
        calls: 1,
        input_tokens: 3_210,
        cached_tokens: 3_000,
        cache_write_tokens: 200,
        output_tokens: 40,
        ..Usage::default()
    };
    assert_eq!(reply.usage, usage);
}

#[test]
fn thinking_between_text_and_calls_goes_back_where_it_stood() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "one"},
        {"type": "text", "text": "I look."},
        {"type": "redacted_thinking", "data": "two"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "well", "signature": "three"},
        {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}},
    ]);
    let reply = read(&json!({"content": content, "stop_reason": "tool_use"})).unwrap();
    let message = Message::Assistant {
        text: reply.text,
        reasoning: reply.reasoning,
        calls: reply.calls,
    };
    let body = written(&[user("u"), message], &[], None);
    assert_eq!(body["messages"][1]["content"], content);
}

#[test]
fn a_cut_answer_is_known() {
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        let reply = read(&json!({"content": [], "stop_reason": reason})).unwrap();
        assert!(reply.truncated, "{reason}");
    }
    assert!(
        !read(&json!({"content": [], "stop_reason": "end_turn"}))
            .unwrap()
            .truncated
    );
}

#[test]
fn a_refusal_is_no_empty_answer() {
    check_unreadable(
        &json!({"content": [], "stop_reason": "refusal"}),
        "Declined",
    );
    // It is paid for.
    let usage = json!({"input_tokens": 7, "output_tokens": 2});
    check_unreadable(
        &json!({"content": [], "stop_reason": "refusal", "usage": usage}),
        "input_tokens: 7,",
    );
}

fn check_unreadable(body: &Value, expected: &str) {
    let message = format!("{:?}", read(body).unwrap_err());
    assert!(message.contains(expected), "{message}");
}

#[test]
fn unreadable_answers_are_told_apart() {
    check_unreadable(&json!({"choices": []}), "no list `content`");
    check_unreadable(&json!({"content": "text"}), "no list `content`");
    check_unreadable(&json!({"content": ["text"]}), "no `type`");
    check_unreadable(
        &json!({"content": [{"type": "text", "text": 7}]}),
        "no text",
    );
    check_unreadable(&json!({"content": [{"type": "thinking"}]}), "no text");
    check_unreadable(
        &json!({"content": [{"type": "tool_use", "id": "a", "input": {}}]}),
        "no name",
    );
    check_unreadable(
        &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        "message: \"Overloaded\"",
    );
}

proptest! {
    #[test]
    fn any_content_is_read_or_refused(junk in "[\\[\\]{}\",:a-z0-9]{0,60}", text in any::<String>()) {
        let _ = wire::reply(WireFormat::Anthropic, format!("{{\"content\":{junk}}}").as_bytes());
        let body = json!({"content": [{"type": "text", "text": text}]});
        prop_assert_eq!(read(&body).unwrap().text, text);
    }
}
