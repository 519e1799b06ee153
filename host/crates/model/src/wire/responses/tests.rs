use proptest::prelude::*;

use super::*;
use crate::wire;
use crate::wire::WireFormat;
use pibench_core::message::{ChatRequest, Image};

fn written(messages: &[Message], tools: &[ToolSpec], may_call: bool) -> Value {
    let fields = Map::from_iter([("reasoning".to_owned(), json!({"effort": "medium"}))]);
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
        may_call,
        temperature: None,
        max_output: None,
    };
    json!(wire::request(WireFormat::Responses, habits, request))
}

fn read(body: &Value) -> Result<Reply, Unreadable> {
    wire::reply(WireFormat::Responses, body.to_string().as_bytes())
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn list() -> ToolSpec {
    ToolSpec {
        name: "list".into(),
        description: "d".into(),
        parameters: json!({"type": "object"}).into(),
    }
}

#[test]
fn a_chat_is_written_as_the_format_wants_it() {
    let thinking = json!({"type": "reasoning", "summary": [], "encrypted_content": "xyz"});
    let result = |id: &str| Message::Tool {
        call_id: id.into(),
        text: "t".into(),
    };
    let messages = [
        Message::System { text: "s".into() },
        Message::User { text: "u".into() },
        Message::Assistant {
            text: "I will look.".into(),
            reasoning: Reasoning::new(
                String::new(),
                vec![thinking.clone(), json!({"text": 12, "phase": "commentary"})],
            ),
            calls: vec![
                call("1", "read_file", r#"{"path": "a"}"#),
                call("2", "list", "oops"),
            ],
        },
        result("1"),
        Message::Picture {
            text: "a.png".into(),
            image: Some(Image {
                media_type: "image/png".into(),
                data: "AAAA".into(),
            }),
        },
        result("2"),
    ];
    let expected = json!({
        "model": "m",
        "instructions": "s",
        "input": [
            {"role": "user", "content": "u"},
            thinking,
            {"role": "assistant", "content": "I will look.", "phase": "commentary"},
            {"type": "function_call", "call_id": "1", "name": "read_file", "arguments": "{\"path\": \"a\"}"},
            {"type": "function_call", "call_id": "2", "name": "list",
             "arguments": "{\"malformed_arguments\":\"oops\"}"},
            {"type": "function_call_output", "call_id": "1", "output": "t"},
            {"type": "function_call_output", "call_id": "2", "output": "t"},
            {"role": "user", "content": [
                {"type": "input_text", "text": "a.png"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
            ]},
        ],
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "name": "list", "description": "d", "parameters": {"type": "object"},
                   "strict": false}],
        "max_output_tokens": 32_000,
        "reasoning": {"effort": "medium"},
    });
    assert_eq!(written(&messages, &[list()], true), expected);
}

#[test]
fn tools_that_must_not_be_called_are_sent_all_the_same() {
    let body = written(&[], &[list()], false);
    assert_eq!(body["tool_choice"], "none");
    assert_eq!(body["tools"][0]["name"], "list");
}

#[test]
fn text_thinking_calls_and_usage_are_read_and_go_back_as_they_came() {
    let body = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [
            {"id": "rs_1", "type": "reasoning", "encrypted_content": "xyz",
             "summary": [{"type": "summary_text", "text": "hm"}]},
            {"id": "rs_2", "type": "reasoning", "summary": []},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
             "content": [{"type": "output_text", "text": "I will ", "annotations": []},
                         {"type": "output_text", "text": "look.", "annotations": []}]},
            {"id": "rs_3", "type": "reasoning", "encrypted_content": "zyx", "summary": []},
            {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "list",
             "arguments": "{\"x\":1}", "status": "completed"},
            {"id": "ws_1", "type": "web_search_call", "status": "completed"},
        ],
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
            "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 30}, "total_tokens": 140,
        },
    });
    let reply = read(&body).unwrap();
    let first = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "xyz",
        "summary": [{"type": "summary_text", "text": "hm"}],
    });
    let second =
        json!({"type": "reasoning", "id": "rs_3", "encrypted_content": "zyx", "summary": []});
    let message = json!({"text": 12, "phase": "commentary"});
    let expected = Reply {
        text: "I will look.".into(),
        reasoning: Reasoning::new("hm".into(), vec![first.clone(), message, second.clone()]),
        calls: vec![call("call_1", "list", r#"{"x":1}"#)],
        usage: Usage {
            calls: 1,
            input_tokens: 100,
            cached_tokens: 60,
            output_tokens: 40,
            reasoning_tokens: 30,
            cache_write_tokens: 20,
            ..Usage::default()
        },
        truncated: false,
        repaired: false,
        done: Vec::new(),
    };
    assert_eq!(reply, expected);
    let Reply {
        text,
        reasoning,
        calls,
        ..
    } = reply;
    let messages = [Message::Assistant {
        text,
        reasoning,
        calls,
    }];
    // As the journal keeps it.
    let kept: Vec<Message> =
        serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap();
    let expected = json!([
        first,
        {"role": "assistant", "content": "I will look.", "phase": "commentary"},
        second,
        {"type": "function_call", "call_id": "call_1", "name": "list", "arguments": "{\"x\":1}"},
    ]);
    assert_eq!(written(&kept, &[], true)["input"], expected);
}

#[test]
fn no_more_was_cached_than_was_sent() {
    let body = json!({
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}],
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4_000}},
    });
    let usage = read(&body).unwrap().usage;
    assert_eq!((usage.input_tokens, usage.cached_tokens), (10, 10));
}

#[test]
fn a_cut_answer_and_a_refusal_are_known() {
    let body = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []});
    assert!(read(&body("max_output_tokens")).unwrap().truncated);
    let filtered = read(&body("content_filter")).unwrap_err();
    assert!(
        matches!(filtered, Unreadable::Declined { .. }),
        "{filtered:?}"
    );
    let refusal = json!({"output": [
        {"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]},
    ]});
    assert_eq!(read(&refusal).unwrap().text, "I will not.");
}

fn check_unreadable(body: &Value, expected: &str) {
    let message = format!("{:?}", read(body).unwrap_err());
    assert!(message.contains(expected), "{message}");
}

#[test]
fn unreadable_answers_are_told_apart() {
    check_unreadable(&json!({"choices": []}), "no list `output`");
    check_unreadable(&json!({"output": "text"}), "no list `output`");
    check_unreadable(&json!({"output": [{}]}), "no `type`");
    check_unreadable(
        &json!({"output": [{"type": "message", "content": "a"}]}),
        "no list `content`",
    );
    check_unreadable(
        &json!({"output": [{"type": "function_call", "name": "f"}]}),
        "no call_id",
    );
    let failed = |code: &str| json!({"status": "failed", "error": {"code": code, "message": "sorry"}, "output": []});
    check_unreadable(&failed("server_error"), "status: 500, message: \"sorry\"");
    check_unreadable(
        &failed("rate_limit_exceeded"),
        "status: 429, message: \"sorry\"",
    );
    check_unreadable(&failed("invalid_prompt"), "status: 0, message: \"sorry\"");
}

proptest! {
    #[test]
    fn any_output_is_read_or_refused(junk in "[\\[\\]{}\",:a-z0-9]{0,60}", text in any::<String>()) {
        let _ = wire::reply(WireFormat::Responses, format!("{{\"output\":{junk}}}").as_bytes());
        let body = json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]});
        prop_assert_eq!(read(&body).unwrap().text, text);
    }
}
