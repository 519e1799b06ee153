//! Providers cache what begins alike: within a session each request is the one before with more at its end.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::{self, asks_for_memory, call, completion, said};
use crate::responses;
use crate::scaffold::{suite, turns};
use crate::scene::{Scene, expect};

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Bulky results in a session: the scaffold keeps the last ten of them when room is needed.
const READS: usize = 24;

/// An agent that reads a lot, looks at a picture, lets a subagent work and asks its user: what it says to a request of chat
/// completions.
fn answer(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    if asks_for_memory(body) {
        let saved = json!({ "history_entry": "Read.", "memory_update": "Reads." });
        return call("save_memory", &saved);
    }
    let calls_so_far = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .count();
    let is_subagent = !names(body).contains(&"message".to_owned());
    match calls_so_far {
        _ if is_subagent && messages.len() > 2 => said("It has many lines."),
        _ if is_subagent => call("read_file", &json!({ "path": "lines.txt" })),
        3 => call("read_file", &json!({ "path": "pixel.png" })),
        5 => call("spawn", &json!({ "task": "Count the lines." })),
        8 => call("ask_user", &json!({ "question": "Which part?" })),
        // The user is heard now and then.
        10 | 15 | 20 if messages.last().unwrap()["role"] == "tool" => said("So far."),
        READS.. => said("I have read it."),
        number => {
            let part = json!({ "path": "lines.txt", "offset": number * 10 + 1, "limit": 60 });
            call("read_file", &part)
        }
    }
}

/// How a server speaks.
struct Wire {
    format: &'static str,
    /// The chat's key in a request.
    chat: &'static str,
    /// A request as one of chat completions.
    as_chat: fn(&Value) -> Value,
    /// A message of chat completions as an answer.
    answered: fn(&Value) -> ResponseTemplate,
}

const WIRES: [Wire; 3] = [
    Wire {
        format: "openai",
        chat: "messages",
        as_chat: Value::clone,
        answered: completion,
    },
    Wire {
        format: "responses",
        chat: "input",
        as_chat: responses::as_chat,
        answered: responses::answered,
    },
    Wire {
        format: "anthropic",
        chat: "messages",
        as_chat: of_blocks,
        answered: as_blocks,
    },
];

/// A request of Anthropic's format as one of chat completions: a message for each block.
fn of_blocks(body: &Value) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": body["system"] })];
    for turn in body["messages"].as_array().unwrap() {
        let blocks = turn["content"].as_array().unwrap();
        messages.extend(blocks.iter().map(|block| match block["type"].as_str() {
            Some("tool_result") => json!({ "role": "tool", "content": block["content"] }),
            _ => json!({ "role": turn["role"], "content": block["text"] }),
        }));
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<Value> = tools.map(|tool| json!({ "function": tool })).collect();
    json!({ "messages": messages, "tools": tools })
}

/// A message of chat completions as an answer of Anthropic's format.
fn as_blocks(said: &Value) -> ResponseTemplate {
    let text = said["content"].as_str();
    let text = text.map(|text| json!({ "type": "text", "text": text }));
    let calls = said["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.map(|call| {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let input: Value = serde_json::from_str(arguments).unwrap();
        json!({ "type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input })
    });
    let content: Vec<Value> = text.into_iter().chain(calls).collect();
    let ended = match said["tool_calls"] {
        Value::Null => "end_turn",
        _ => "tool_use",
    };
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": ended,
        "usage": { "input_tokens": 100, "output_tokens": 10 },
    }))
}

async fn server(wire: &Wire) -> MockServer {
    let server = MockServer::start().await;
    let (as_chat, answered) = (wire.as_chat, wire.answered);
    let respond = move |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        answered(&answer(&as_chat(&body)))
    };
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

fn names(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The bytes of a request up to its closing marks, and of those how many the next one begins with.
fn repeated(chat: &str, one: &[u8], next: &[u8]) -> (usize, usize) {
    let body: Value = serde_json::from_slice(one).unwrap();
    let messages = body[chat].to_string();
    let text = std::str::from_utf8(one).unwrap();
    let end = text.find(&messages).unwrap() + messages.len() - "]".len();
    let same = one.iter().zip(next).take_while(|(a, b)| a == b).count();
    (end, same.min(end))
}

/// A session with much to read, whose model is at a server.
fn write(scene: &Scene, wire: &Wire, server: &MockServer) {
    let (format, uri) = (wire.format, server.uri());
    let lab = format!("[providers.lab]\nformat = \"{format}\"\nbase_url = \"{uri}/v1\"\n");
    suite(scene, &lab, "");
    let intents: Vec<String> = (0..4)
        .map(|number| format!("[[intents]]\nid = \"i{number}\"\ncontent = \"Wish {number}.\"\n"))
        .collect();
    let intents = intents.concat();
    let files = "[[files]]\nsource = \"lines.txt\"\npath = \"lines.txt\"\n\
                 [[files]]\nsource = \"pixel.png\"\npath = \"pixel.png\"\n";
    scene.write(
        "tasks/p/sessions/one/session.toml",
        &format!(
            "version = 1\nid = \"one\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Read it.\"\n{intents}{files}"
        ),
    );
    let lines: Vec<String> = (0..400)
        .map(|line| format!("line {line:03}: what was noted then\n"))
        .collect();
    scene.write("tasks/p/sessions/one/lines.txt", &lines.concat());
    let pixel = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, PIXEL);
    std::fs::write(scene.path("tasks/p/sessions/one/pixel.png"), pixel.unwrap()).unwrap();
}

/// Plays the session; of the bytes that a request of its chats could repeat, those that it has, and how many there are.
async fn play(wire: &Wire) -> (usize, usize) {
    let scene = Scene::new();
    let server = server(wire).await;
    write(&scene, wire, &server);
    let first = ["run", "tasks/suite.toml", "--out", "run", "--no-preflight"];
    let roles = [
        "--agent", "lab/m", "--user", "lexical", "--judge", "lexical",
    ];
    let output = models::run(&scene, &[&first[..], &roles].concat(), &server);
    expect(&output, 0, &[]);
    let of_one = |turn: &Value| turn["session"] == "one";
    let first = turns(&scene).into_iter().filter(of_one).count();
    assert!(first > 3, "{first} turns");

    // A chat is known by what it begins with: a session's, or a subagent's.
    let mut chats: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut memory_steps = 0;
    for request in server.received_requests().await.unwrap() {
        let body = (wire.as_chat)(&serde_json::from_slice(&request.body).unwrap());
        memory_steps += usize::from(asks_for_memory(&body));
        let chat = body["messages"].as_array().unwrap()[..2].to_vec();
        chats
            .entry(Value::from(chat).to_string())
            .or_default()
            .push(request.body);
    }
    assert_eq!(memory_steps, 1, "none after the episode's last session");
    let longest = chats.values().map(Vec::len).max().unwrap();
    assert!(longest > READS, "{longest} requests");
    let (mut all, mut same) = (0, 0);
    for pair in chats.values().flat_map(|requests| requests.windows(2)) {
        let (whole, repeats) = repeated(wire.chat, &pair[0], &pair[1]);
        (all, same) = (all + whole, same + repeats);
    }
    println!(
        "{}: {same} of {all} bytes repeat the request before",
        wire.format
    );
    (same, all)
}

#[tokio::test(flavor = "multi_thread")]
async fn within_a_session_each_request_is_the_one_before_with_more_at_its_end() {
    let (same, all) = play(&WIRES[0]).await;
    assert_eq!(same, all);
}

/// Where a format marks the chat's end, the mark goes on with it.
#[tokio::test(flavor = "multi_thread")]
async fn the_other_formats_repeat_the_request_before_but_for_the_mark_at_its_end() {
    for wire in &WIRES[1..] {
        let (same, all) = play(wire).await;
        assert!(same * 100 >= all * 99, "{}: {same} of {all}", wire.format);
    }
}
