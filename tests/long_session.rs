//! A session of two hundred turns with five megabytes of results: what the model is sent fits its window, and the record
//! has everything, once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use pibench_agent::tokens;
use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use crate::models;
use crate::scene::{Scene, expect, files};

const TURNS: usize = 200;
const CALLS: usize = 1;
const WINDOW: usize = 64 << 10;

/// With a file's number behind it: what stands at its end, and nowhere else.
const MARK: &str = "the end of part ";

/// A file of 26 KB, of which each line is like no other.
fn part(file: usize) -> String {
    let lines = (0..500)
        .map(|line| format!("part {file:03}, line {line:03}: what was noted in that hour\n"));
    lines.collect::<String>() + &format!("{MARK}{file:03}\n")
}

fn suite(scene: &Scene) {
    scene.write(
        "tasks/suite.toml",
        "version = 1\nid = \"t\"\npersonas = [\"p\"]\nuser = \"lexical\"\njudge = \"lexical\"\nruns = 1\n[session]\nmax_turns = 200\n",
    );
    scene.write(
        "tasks/p/persona.toml",
        "version = 1\nid = \"p\"\nname = \"P\"\nprofile = \"A person.\"\nepisode = [{ session = \"one\" }]\n",
    );
    let head = "version = 1\nid = \"one\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Read it all.\"\n";
    // One is told after each turn but the last.
    let intents = (1..TURNS).map(|intent| {
        format!("[[intents]]\nid = \"i{intent}\"\ncontent = \"Wish number {intent}.\"\n")
    });
    let files = (0..TURNS * CALLS).map(|file| {
        let path = format!("{file:03}.txt");
        scene.write(&format!("tasks/p/sessions/one/{path}"), &part(file));
        format!("[[files]]\nsource = \"{path}\"\npath = \"{path}\"\n")
    });
    let session: String = std::iter::once(head.to_owned())
        .chain(intents)
        .chain(files)
        .collect();
    scene.write("tasks/p/sessions/one/session.toml", &session);
}

/// Reads a file in each turn, and says so.
fn answer(asked: &AtomicUsize, request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    if models::asks_for_memory(&body) {
        let saved = json!({ "history_entry": "Read.", "memory_update": "Reads." });
        return models::called("save_memory", &saved);
    }
    let number = asked.fetch_add(1, Ordering::Relaxed);
    let (turn, call) = (number / (CALLS + 1), number % (CALLS + 1));
    if call == CALLS {
        return models::text("I have read this part.");
    }
    let path = format!("{:03}.txt", turn * CALLS + call);
    models::called("read_file", &json!({ "path": path }))
}

/// Tokens of a request, as the host counts them: what is said, what is called, what is offered.
fn tokens_of(body: &Value) -> usize {
    let messages = body["messages"].as_array().unwrap().iter();
    let said = messages.map(|message| {
        let calls = message["tool_calls"].as_array();
        let called = calls.into_iter().flatten().map(|call| {
            let function = &call["function"];
            tokens::of_text(function["name"].as_str().unwrap())
                + tokens::of_text(function["arguments"].as_str().unwrap())
        });
        tokens::of_text(message["content"].as_str().unwrap_or_default()) + called.sum::<usize>()
    });
    said.sum::<usize>() + tokens::of_text(&body["tools"].to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_turns_with_five_megabytes_fit_the_window_and_are_recorded_whole_and_once() {
    let scene = Scene::new();
    suite(&scene);
    let asked = AtomicUsize::new(0);
    let server = models::server(move |request| answer(&asked, request)).await;
    let args = [
        "run",
        "tasks/suite.toml",
        "--agent",
        "openai/m",
        "--out",
        "run",
    ];
    expect(&models::run(&scene, &args, &server), 0, &[]);

    let mut largest = 0;
    for request in server.received_requests().await.unwrap() {
        let tokens = tokens_of(&serde_json::from_slice(&request.body).unwrap());
        assert!(tokens <= WINDOW, "{tokens} tokens");
        // No vocabulary has more than 4.2 bytes of such a text to a token.
        assert!(
            request.body.len() <= WINDOW * 4,
            "{} bytes",
            request.body.len()
        );
        largest = largest.max(tokens);
    }
    assert!(largest > WINDOW / 2, "the window is used: {largest}");

    let journal = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
    let (mut read, mut results, mut turns) = (BTreeSet::new(), 0, String::new());
    for line in journal.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if event["event"] != "turn" {
            continue;
        }
        // What the user agent said of each open wish: none of what the model was sent or sent.
        event.as_object_mut().unwrap().remove("judgements");
        turns += &event.to_string();
        for step in event["steps"].as_array().unwrap() {
            if step["step"] != "call" {
                continue;
            }
            let result = step["record"]["result"].as_str().unwrap();
            let path = step["record"]["arguments"]["path"].as_str().unwrap();
            let file: usize = path.trim_end_matches(".txt").parse().unwrap();
            for (number, line) in part(file).lines().enumerate() {
                let shown = format!("{}| {line}\n", number + 1);
                assert!(result.contains(&shown), "{path} lacks {shown}");
            }
            results += result.len();
            assert!(read.insert(file), "{path} was read twice");
        }
    }
    assert_eq!(read.len(), TURNS * CALLS);
    assert!(results > 5_000_000, "{results}");
    is_once("the journal's turns", &turns);
    let beside = turns.len() - results;
    assert!(
        beside < 400_000,
        "{beside} bytes of the turns are no result"
    );

    let found = files(&scene.path("run"));
    let of = |folder: &str| -> String {
        let inside = found.iter().filter(|(name, _)| name.starts_with(folder));
        inside
            .map(|(_, content)| String::from_utf8_lossy(content))
            .collect()
    };
    is_once("the blobs", &of("blobs/"));
    let trajectory: Value = serde_json::from_str(&of("trajectories/")).unwrap();
    is_once("the trajectory", &trajectory["turns"].to_string());
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// Each file's end stands in a text once.
fn is_once(what: &str, text: &str) {
    let mut times = BTreeMap::new();
    for (at, _) in text.match_indices(MARK) {
        *times.entry(&text[at + MARK.len()..][..3]).or_insert(0) += 1;
    }
    assert_eq!(times.len(), TURNS * CALLS, "{what}");
    assert!(times.values().all(|times| *times == 1), "{what}: {times:?}");
}
