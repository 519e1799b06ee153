use proptest::prelude::*;

use super::*;
use crate::wire;
use crate::wire::WireFormat;
use pibench_core::cost::Price;
use pibench_core::message::{ChatRequest, Image};
use pibench_core::weight::MOST_VALUES;

fn habits<'a>(fields: &'a Map<String, Value>, give_back: Option<&'a str>) -> Habits<'a> {
    Habits {
        model: "m",
        fields,
        max_output_tokens: None,
        output_limit: "max_completion_tokens",
        give_back,
    }
}

fn request(model: &str, chat: ChatRequest<'_>) -> Value {
    assert_eq!(model, "m");
    json!(wire::request(
        WireFormat::OpenAi,
        habits(&Map::new(), None),
        chat
    ))
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
    expected.usage.uncounted_calls = 1;
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
        parameters: json!({"type": "object"}).into(),
    }];
    let body = request(
        "m",
        ChatRequest {
            messages: &messages,
            tools: &tools,
            may_call: true,
            temperature: Some(0.0),
            max_output: None,
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
        parameters: json!({"type": "object"}).into(),
    }];
    let body = request(
        "m",
        ChatRequest {
            messages: &[],
            tools: &tools,
            may_call: false,
            temperature: None,
            max_output: None,
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
            max_output: None,
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
    // The template has written the first tag.
    check(&json!({"content": "hm\n</think>\n\nYes."}), &expected);
    let spoken = Reply {
        text: "Between <think> and </think> it thinks.".into(),
        ..Reply::default()
    };
    check(
        &json!({"content": "Between <think> and </think> it thinks."}),
        &spoken,
    );
    // Nobody ends a thought within a line.
    let tag = "It ends with `</think>`; the fee is 40.";
    let of_tag = Reply {
        text: tag.into(),
        ..Reply::default()
    };
    check(&json!({"content": tag}), &of_tag);
    let told = Reply {
        text: "a\n</think>\nb".into(),
        reasoning: thought("hm"),
        ..Reply::default()
    };
    check(
        &json!({"content": "a\n</think>\nb", "reasoning_content": "hm"}),
        &told,
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
        max_output: None,
    };
    let fields = Map::from_iter([("thinking".to_owned(), json!({"type": "enabled"}))]);
    let habits = habits(&fields, Some("reasoning_content"));
    let body = json!(wire::request(WireFormat::OpenAi, habits, chat));
    let expected = json!({
        "model": "m",
        "messages": [{"role": "assistant", "content": "a", "reasoning_content": "hm"}],
        "thinking": {"type": "enabled"},
    });
    assert_eq!(body, expected);
}

/// A server's message as the journal keeps it.
fn kept(message: &Value) -> Vec<Message> {
    let body = json!({"choices": [{"message": message}]});
    let Reply {
        text,
        reasoning,
        calls,
        ..
    } = reply(body.to_string().as_bytes()).unwrap();
    let messages = [Message::Assistant {
        text,
        reasoning,
        calls,
    }];
    serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap()
}

#[test]
fn thinking_that_came_empty_goes_back_empty_and_what_did_not_come_does_not() {
    let sent = |message: &Value| {
        let kept = kept(message);
        let chat = ChatRequest {
            messages: &kept,
            tools: &[],
            may_call: true,
            temperature: None,
            max_output: None,
        };
        let fields = Map::new();
        let habits = habits(&fields, Some("reasoning_content"));
        json!(wire::request(WireFormat::OpenAi, habits, chat))["messages"][0].clone()
    };
    let calls =
        json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let empty =
        json!({"role": "assistant", "content": null, "reasoning_content": "", "tool_calls": calls});
    assert_eq!(sent(&empty), empty);
    for absent in [
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "assistant", "content": null, "reasoning_content": null, "tool_calls": calls}),
    ] {
        assert_eq!(sent(&absent).get("reasoning_content"), None);
    }
}

#[test]
fn signed_thinking_goes_back_as_it_came() {
    let details = json!([{"type": "reasoning.encrypted", "data": "xyz"}, {"type": "reasoning.text", "text": "hm"}]);
    let signature = json!({"google": {"thought_signature": "abc"}});
    let message = json!({"role": "assistant", "content": null, "reasoning_details": details, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": signature},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]});
    let kept = kept(&message);
    let Message::Assistant { reasoning, .. } = &kept[0] else {
        panic!("{kept:?}");
    };
    assert_eq!(reasoning.as_ref().unwrap().text, "hm");
    let chat = ChatRequest {
        messages: &kept,
        tools: &[],
        may_call: true,
        temperature: None,
        max_output: None,
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
        max_output: None,
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
fn no_more_was_cached_than_was_sent() {
    let body = json!({
        "choices": [{"message": {"content": "a"}}],
        "usage": {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4_000}},
    });
    let usage = reply(body.to_string().as_bytes()).unwrap().usage;
    assert_eq!((usage.input_tokens, usage.cached_tokens), (10, 10));
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
    for finish in [
        "content_filter",
        "sensitive",
        "SAFETY",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "BLOCKLIST",
        "SPII",
        "IMAGE_SAFETY",
        "content_filter: PROHIBITED_CONTENT",
    ] {
        let body = json!({"choices": [{"message": {"content": ""}, "finish_reason": finish}]});
        let said = format!("stopped its answer ({finish})");
        check_unreadable(&body.to_string(), &said);
        // Gemini sends no message at all.
        let body = json!({"choices": [{"finish_reason": finish}]});
        check_unreadable(&body.to_string(), "Declined");
    }
    for finish in ["stop", "OTHER", "safety_net"] {
        let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": finish}]});
        assert_eq!(reply(body.to_string().as_bytes()).unwrap().text, "a");
    }
}

#[test]
fn an_answer_that_was_cut_is_known_by_each_servers_word() {
    for (finish, expected) in [
        ("length", true),
        ("MAX_TOKENS", true),
        ("model_length", true),
        ("stop", false),
        ("eos", false),
    ] {
        let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": finish}]});
        let reply = reply(body.to_string().as_bytes()).unwrap();
        assert_eq!(reply.truncated, expected, "{finish}");
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
fn an_answer_of_too_many_values_is_not_taken_apart_in_any_format() {
    let body = |more: usize| {
        let more = "[],".repeat(more);
        format!(r#"{{"choices":[{{"message":{{"content":"a"}}}}],"more":[{more}0]}}"#)
    };
    for format in [
        WireFormat::OpenAi,
        WireFormat::Anthropic,
        WireFormat::Responses,
    ] {
        let refused = wire::reply(format, body(MOST_VALUES / 2).as_bytes());
        assert!(
            matches!(&refused, Err(Unreadable::TooMuch { reason })
                if reason == "its answer holds more than 200000 values"),
            "{refused:?}"
        );
    }
    assert_eq!(
        reply(body(MOST_VALUES / 2 - 20).as_bytes()).unwrap().text,
        "a"
    );
}

#[test]
fn arguments_of_too_many_values_go_back_as_a_text() {
    let sent = |lists: usize| {
        let arguments = format!(r#"{{"a":[{}0]}}"#, "[],".repeat(lists));
        let message = Message::Assistant {
            text: String::new(),
            reasoning: None,
            calls: vec![call("1", "f", &arguments)],
        };
        let chat = ChatRequest {
            messages: &[message],
            tools: &[],
            may_call: true,
            temperature: None,
            max_output: None,
        };
        let body = request("m", chat);
        let sent = &body["messages"][0]["tool_calls"][0]["function"]["arguments"];
        (sent.as_str().unwrap().to_owned(), arguments)
    };
    let (sent_few, few) = sent(10);
    assert_eq!(sent_few, few);
    let (sent_many, many) = sent(MOST_VALUES / 2);
    assert_eq!(
        sent_many,
        json!({ "malformed_arguments": many }).to_string()
    );
}

#[test]
fn a_count_of_tokens_that_no_call_can_have_is_none() {
    let most = Usage::MOST_TOKENS;
    for (count, expected) in [
        (json!(most), most),
        (json!(most + 1), 0),
        (json!(i64::MAX), 0),
        (json!(u64::MAX), 0),
        (json!(-5), 0),
    ] {
        let chat = json!({
            "choices": [{"message": {"content": "a"}}],
            "usage": {"prompt_tokens": count, "completion_tokens": count},
        });
        let counted = json!({"input_tokens": count, "output_tokens": count});
        for (format, body) in [
            (WireFormat::OpenAi, chat),
            (
                WireFormat::Anthropic,
                json!({"content": [], "usage": counted}),
            ),
            (
                WireFormat::Responses,
                json!({"output": [], "usage": counted}),
            ),
        ] {
            let body = body.to_string();
            let usage = wire::reply(format, body.as_bytes()).unwrap().usage;
            let found = (usage.input_tokens, usage.output_tokens);
            assert_eq!(found, (expected, expected), "{body}");
        }
    }
}

#[test]
fn a_call_of_which_the_input_alone_is_counted_is_uncounted() {
    let price = Price {
        input: 1.0,
        cached: None,
        cache_write: None,
        output: 1.0,
    };
    let check = |format, body: Value, cost: Option<u64>| {
        let usage = wire::reply(format, body.to_string().as_bytes())
            .unwrap()
            .usage;
        assert_eq!(usage.input_tokens, 10, "{body}");
        let usage = usage.priced(Some(&price));
        assert_eq!(usage.known_cost().map(|cost| cost.0), cost, "{body}");
        assert_eq!(usage.lacks_counts(), cost.is_none(), "{body}");
    };
    let chat = |usage: Value| json!({"choices": [{"message": {"content": "a"}}], "usage": usage});
    for (output, cost) in [
        (json!(12), Some(22)),
        (json!(0), Some(10)),
        (json!(12.0), None),
        (json!("12"), None),
        (Value::Null, None),
    ] {
        let body = chat(json!({"prompt_tokens": 10, "completion_tokens": output}));
        check(WireFormat::OpenAi, body, cost);
        let usage = json!({"input_tokens": 10, "output_tokens": output});
        let body = json!({"content": [], "usage": usage});
        check(WireFormat::Anthropic, body, cost);
        check(
            WireFormat::Responses,
            json!({"output": [], "usage": usage}),
            cost,
        );
    }
    // The total tells it, too.
    let body = chat(json!({"prompt_tokens": 10, "total_tokens": 22}));
    check(WireFormat::OpenAi, body, Some(22));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let body = b"{\"choices\": [{\"message\": {\"content\": \"a\xffb\"}}]}";
    let found = reply(body).unwrap();
    assert_eq!((found.text.as_str(), found.repaired), ("a\u{fffd}b", true));
    let cut = reply(&body[..body.len() - 3]);
    assert!(matches!(cut, Err(Unreadable::NotJson { .. })), "{cut:?}");
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
