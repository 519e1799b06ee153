//! Providers cache what begins alike: within a session each request is the one before with more at its end.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use crate::models::{self, asks_for_memory, completion, is_preflight, said, server};
use crate::scaffold::{suite, turns};
use crate::scene::{Scene, expect};

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Bulky results in a session: the scaffold keeps the last ten of them when room is needed.
const READS: usize = 24;

/// An agent that reads a lot, looks at a picture, lets a subagent work and asks its user.
fn answer(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    if asks_for_memory(&body) {
        let saved = json!({ "history_entry": "Read.", "memory_update": "Reads." });
        return models::called("save_memory", &saved);
    }
    let calls_so_far = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .count();
    let is_subagent = !names(&body).contains(&"message".to_owned());
    match calls_so_far {
        _ if is_subagent && messages.len() > 2 => completion(&said("It has many lines.")),
        _ if is_subagent => models::called("read_file", &json!({ "path": "lines.txt" })),
        3 => models::called("read_file", &json!({ "path": "pixel.png" })),
        5 => models::called("spawn", &json!({ "task": "Count the lines." })),
        8 => models::called("ask_user", &json!({ "question": "Which part?" })),
        // The user is heard now and then.
        10 | 15 | 20 if messages.last().unwrap()["role"] == "tool" => completion(&said("So far.")),
        READS.. => completion(&said("I have read it.")),
        number => {
            let part = json!({ "path": "lines.txt", "offset": number * 10 + 1, "limit": 60 });
            models::called("read_file", &part)
        }
    }
}

fn names(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The bytes of a request up to its closing marks, and of those how many the next one begins with.
fn repeated(one: &[u8], next: &[u8]) -> (usize, usize) {
    let body: Value = serde_json::from_slice(one).unwrap();
    let messages = body["messages"].to_string();
    let text = std::str::from_utf8(one).unwrap();
    let end = text.find(&messages).unwrap() + messages.len() - "]".len();
    let same = one.iter().zip(next).take_while(|(a, b)| a == b).count();
    (end, same.min(end))
}

#[tokio::test(flavor = "multi_thread")]
async fn within_a_session_each_request_is_the_one_before_with_more_at_its_end() {
    let scene = Scene::new();
    suite(&scene, "", "");
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
    let server = server(answer).await;
    let args = [
        "run",
        "tasks/suite.toml",
        "--agent",
        "openai/m",
        "--user",
        "lexical",
        "--judge",
        "lexical",
        "--out",
        "run",
    ];
    let output = models::run(&scene, &args, &server);
    expect(&output, 0, &[]);
    let first: Vec<Value> = turns(&scene)
        .into_iter()
        .filter(|turn| turn["session"] == "one")
        .collect();
    assert!(first.len() > 3, "{} turns", first.len());

    // A chat is known by what it begins with: a session's, or a subagent's.
    let mut chats: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut memory_steps = 0;
    let asked = server.received_requests().await.unwrap().into_iter();
    for request in asked.filter(|request| !is_preflight(request)) {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        memory_steps += usize::from(asks_for_memory(&body));
        let chat = body["messages"].as_array().unwrap()[..2].to_vec();
        chats
            .entry(Value::from(chat).to_string())
            .or_default()
            .push(request.body);
    }
    assert_eq!(memory_steps, 1, "none after the episode's last session");
    let (mut all, mut same) = (0, 0);
    for pair in chats.values().flat_map(|requests| requests.windows(2)) {
        let (whole, repeats) = repeated(&pair[0], &pair[1]);
        assert_eq!(whole, repeats, "{}", String::from_utf8_lossy(&pair[1]));
        (all, same) = (all + whole, same + repeats);
    }
    let longest = chats.values().map(Vec::len).max().unwrap();
    assert!(longest > READS, "{longest} requests");
    println!("{same} of {all} bytes repeat the request before");
}
