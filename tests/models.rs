//! Real model clients for all three roles, against a server of the tests' own that speaks the `OpenAI` format.

use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scene::{Scene, expect, files, root, short, stderr};

pub(crate) const KEY: &str = "sk-test-4f1d7c93aa";

/// An answer as the server would send it.
pub(crate) fn completion(message: &Value) -> ResponseTemplate {
    let finish = if message.get("tool_calls").is_some() {
        "tool_calls"
    } else {
        "stop"
    };
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 },
    }))
}

pub(crate) fn text(content: &str) -> ResponseTemplate {
    completion(&said(content))
}

pub(crate) fn called(name: &str, arguments: &Value) -> ResponseTemplate {
    completion(&call(name, arguments))
}

pub(crate) fn said(content: &str) -> Value {
    json!({ "role": "assistant", "content": content })
}

pub(crate) fn call(name: &str, arguments: &Value) -> Value {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let calls = json!([{ "id": "c1", "type": "function", "function": function }]);
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

/// Plays all three roles: an agent that writes one file and says so, a user agent that finds nothing satisfied, and a
/// judge that finds everything met.
pub(crate) fn play(request: &Request) -> ResponseTemplate {
    completion(&message(&serde_json::from_slice(&request.body).unwrap()))
}

/// Whether a request is that of a session's memory step.
pub(crate) fn asks_for_memory(body: &Value) -> bool {
    let last = body["messages"].as_array().and_then(|all| all.last());
    let asked = last.and_then(|last| last["content"].as_str());
    asked.is_some_and(|text| text.contains("Call save_memory once:"))
}

/// The answer to a request's body.
pub(crate) fn message(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let content = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    if content(&messages[0]).starts_with("This is a check of the connection.") {
        return said("OK");
    }
    if body["tools"].as_array().is_none_or(Vec::is_empty) {
        return said(&judge(&content(&messages[0]), &content(&messages[1])));
    }
    if asks_for_memory(body) {
        return call(
            "save_memory",
            &json!({ "history_entry": "Worked on it.", "memory_update": "Likes order." }),
        );
    }
    if messages.last().unwrap()["role"] == "tool" {
        return said("I have written out.md.");
    }
    call(
        "write_file",
        &json!({ "path": "out.md", "content": format!("{} messages", messages.len()) }),
    )
}

/// An answer in the format that the prompt asks for.
pub(crate) fn judge(system: &str, prompt: &str) -> String {
    if let Some(at) = system.lines().position(|line| line == "<the message>") {
        let lines: Vec<&str> = system.lines().collect();
        return format!(
            "{}\nAs I said, I want it done properly.\n{}",
            lines[at - 1],
            lines[at + 1]
        );
    }
    let nonce = Regex::new(r"=== (\S+) ITEM")
        .unwrap()
        .captures(system)
        .unwrap()[1]
        .to_owned();
    let list = prompt.rsplit("\n# ").next().unwrap();
    let items = Regex::new(r"(?m)^(\d+)\. (.+)$").unwrap();
    let chooses = system.contains("REASON:");
    let no_to_all = system.contains("has not said") || system.contains("wants certain");
    let block = |found: regex::Captures<'_>| {
        let (number, item) = (&found[1], &found[2]);
        if chooses {
            return format!("=== {nonce} ITEM {number} ===\nTEXT: {item}\nREASON: it comes first");
        }
        // A judge who says yes to this one is not believed.
        let verdict = if no_to_all || is_known(prompt, item) {
            "NO"
        } else {
            "YES"
        };
        format!(
            "=== {nonce} ITEM {number} ===\nTEXT: {item}\nEVIDENCE: as seen\nVERDICT: {verdict}"
        )
    };
    let blocks: Vec<String> = items
        .captures_iter(list)
        .map(block)
        .take(if chooses { 1 } else { 99 })
        .collect();
    blocks.join("\n")
}

/// Whether an item is the one whose answer is known: it is not of the embedded session that the prompt shows.
pub(crate) fn is_known(prompt: &str, item: &str) -> bool {
    static SESSIONS: OnceLock<Vec<(String, Vec<String>)>> = OnceLock::new();
    let sessions = SESSIONS.get_or_init(|| {
        let files = files(&root().join("tasks/personas")).into_iter();
        let files = files.filter(|(name, _)| name.ends_with("session.toml"));
        files
            .map(|(_, text)| asked_about(&String::from_utf8(text).unwrap()))
            .collect()
    });
    let shown = |(request, _): &&(String, Vec<String>)| prompt.contains(request.as_str());
    match sessions.iter().find(shown) {
        Some((_, items)) => !items.iter().any(|text| text == item),
        None => item.contains("as its file reference"),
    }
}

/// The first line of a session's request, and the texts of its intents and items, each on one line.
fn asked_about(session: &str) -> (String, Vec<String>) {
    let session: toml::Table = session.parse().unwrap();
    let request = session["request"].as_str().unwrap().trim();
    let list = |key: &str, text: &str| -> Vec<String> {
        let entries = session.get(key).and_then(toml::Value::as_array);
        let entries = entries.into_iter().flatten();
        entries
            .map(|entry| entry[text].as_str().unwrap())
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let items = [list("intents", "content"), list("checklist", "criterion")].concat();
    (request.lines().next().unwrap().to_owned(), items)
}

pub(crate) fn run(scene: &Scene, args: &[&str], server: &MockServer) -> Output {
    let url = format!("{}/v1", server.uri());
    tokio::task::block_in_place(|| {
        scene.run_with(args, &[("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", KEY)])
    })
}

/// A server of chat completions. It answers the question before the first session by itself.
pub(crate) async fn server(
    respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    let respond = move |request: &Request| {
        if is_preflight(request) {
            text("OK")
        } else {
            respond(request)
        }
    };
    server_at("/v1/chat/completions", respond).await
}

/// Whether it is the question before the first session.
pub(crate) fn is_preflight(request: &Request) -> bool {
    String::from_utf8_lossy(&request.body).contains("This is a check of the connection.")
}

/// A server that answers at one path, to who has the key.
pub(crate) async fn server_at(
    at: &str,
    respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path(at))
        .and(header("authorization", format!("Bearer {KEY}")))
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

const ALL: [&str; 6] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
];

/// Plays the short episode into `run`, with a model in all three roles.
pub(crate) fn play_short(scene: &Scene, server: &MockServer, more: &[&str]) -> Output {
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--json",
        "--out",
        "run",
        "--runs",
        "1",
    ];
    run(scene, &[&args, ALL.as_slice(), more].concat(), server)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_plays_all_three_roles_and_the_key_stays_out_of_every_file() {
    let scene = Scene::new();
    let server = server(play).await;
    let output = play_short(&scene, &server, &[]);
    expect(&output, 0, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["scripted"], false);
    assert_eq!(
        results["proc"], 0.0,
        "nothing was satisfied or asked: {results:#}"
    );
    let comp = results["comp"].as_f64().unwrap();
    assert!(
        comp > 0.0 && comp < 100.0,
        "rubrics are met and rules are not: {comp}"
    );
    let journal = std::fs::read_to_string(scene.path("run/journal/law_trainee.r1.jsonl")).unwrap();
    assert!(
        journal.contains("\"message\":\"As I said, I want it done properly."),
        "the user agent's own words"
    );
    assert!(journal.contains("\"input_tokens\":100"));
    assert!(!journal.contains("\"kind\":\"judge\""));
    assert!(
        std::fs::read_to_string(scene.path("run/workspaces/law_trainee.r1/memory/MEMORY.md"))
            .unwrap()
            .contains("order")
    );
    for (name, content) in files(&scene.path("run")) {
        assert!(
            !String::from_utf8_lossy(&content).contains(KEY),
            "{name} holds the key"
        );
    }
    assert!(!stderr(&output).contains(KEY));
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_infrastructure_ends_with_its_code_and_is_gone_on_with() {
    let scene = Scene::new();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    // From the 40th call on nobody is let in for two hours: too long to be waited for.
    let server = server(
        move |request| match counted.fetch_add(1, Ordering::SeqCst) {
            40..50 => ResponseTemplate::new(503)
                .insert_header("retry-after", "7200")
                .set_body_string("come back later"),
            _ => play(request),
        },
    )
    .await;
    let output = play_short(&scene, &server, &[]);
    let lost = "of turns that were cut off are not in the table; what they cost: unknown";
    let asked = "it asks for a wait of 2 h (Retry-After), and 5 min is the longest that a run waits: go on later";
    expect(
        &output,
        6,
        &["come back later", asked, lost, "run --resume"],
    );
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcomes: Vec<&str> = results["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["outcome"].as_str().unwrap())
        .collect();
    assert!(
        outcomes.contains(&"complete") && outcomes.contains(&"unplayed"),
        "{outcomes:?}"
    );
    let unplayed = outcomes.iter().filter(|outcome| **outcome == "unplayed");
    assert_eq!(results["unplayed"], unplayed.count());
    let before = std::fs::read(scene.path("run/journal/law_trainee.r1.jsonl")).unwrap();
    calls.store(100, Ordering::SeqCst);
    let resumed = run(&scene, &["run", "--resume", "run", "--json"], &server);
    expect(&resumed, 0, &["finished before"]);
    assert!(!stderr(&resumed).contains("cut off"), "nothing is lost now");
    let after = std::fs::read(scene.path("run/journal/law_trainee.r1.jsonl")).unwrap();
    assert!(
        after.starts_with(&before),
        "what was finished is not played again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_never_parses_leaves_the_session_unscored() {
    let scene = Scene::new();
    let server = server(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
        {
            play(request)
        } else {
            text("Looks fine!")
        }
    })
    .await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--json",
        "--out",
        "run",
        "--judge",
        "openai/m",
    ];
    let output = run(&scene, &args, &server);
    expect(&output, 8, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["comp"], Value::Null, "never a silent score");
    assert_eq!(results["scored"]["scored"], 0);
    assert_eq!(results["faults"][0]["kind"], "judge");
    assert_eq!(results["sessions"][3]["outcome"], "judge_fault");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_is_a_model_fault_and_counts() {
    let scene = Scene::new();
    let server =
        server(|_| ResponseTemplate::new(400).set_body_string("against our content policy")).await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--json",
        "--out",
        "run",
        "--agent",
        "openai/m",
        "--user",
        "lexical",
        "--judge",
        "lexical",
        "--runs",
        "1",
    ];
    let output = run(&scene, &args, &server);
    // The turn that was broken off is one, wherever it is told.
    expect(&output, 9, &[": model_fault, 1 turn, "]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["sessions"][0]["outcome"], "model_fault");
    assert_eq!(results["sessions"][0]["turns"], 1);
    assert_eq!(results["proc"], 0.0);
    assert_eq!(results["faults"][0]["kind"], "model");
    assert!(
        results["faults"][0]["message"]
            .as_str()
            .unwrap()
            .contains("against our content policy"),
        "{results:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_comes_as_an_answer_is_paid_for() {
    let scene = Scene::new();
    let server = server(|_| {
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "message": { "content": "" }, "finish_reason": "content_filter" }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 10 },
        }))
    })
    .await;
    let suite = short();
    let session = [
        "--session",
        "corrie-extension",
        "--out",
        "run",
        "--json",
        "--no-preflight",
    ];
    let roles = [
        "--agent", "openai/m", "--user", "lexical", "--judge", "openai/m", "--runs", "1",
    ];
    let args = [&["run", suite.to_str().unwrap()], &session[..], &roles].concat();
    expect(&run(&scene, &args, &server), 8, &[]);
    let results = std::fs::read_to_string(scene.path("run/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let asked = server.received_requests().await.unwrap().len();
    let count = |role: &str, key: &str| results["usage"][role][key].as_u64().unwrap();
    assert!(count("agent", "calls") > 0 && count("judge", "calls") > 0);
    let both = |key| count("agent", key) + count("judge", key);
    assert_eq!(both("calls"), asked as u64, "{results:#}");
    assert_eq!(both("input_tokens"), 100 * asked as u64);
    assert_eq!(both("output_tokens"), 10 * asked as u64);
}

/// A session that a role breaks off is journaled turn and end apart: killed between them, the run still ends with the
/// same bytes, and verifies.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_off_session_is_gone_on_with_and_verifies() {
    for (role, outcome, exit) in [
        ("--agent", "model_fault", 9),
        ("--user", "judge_fault", 8),
        ("--judge", "judge_fault", 8),
    ] {
        let scene = Scene::new();
        let server = server(move |_| match role {
            "--agent" => ResponseTemplate::new(400).set_body_string("against our content policy"),
            _ => text("Looks fine!"),
        })
        .await;
        let suite = short();
        let args = [
            "run",
            suite.to_str().unwrap(),
            "--session",
            "corrie-extension",
            "--json",
            "--out",
            "run",
            "--runs",
            "1",
            "--set",
            "user=lexical",
            "--set",
            "judge=lexical",
            role,
            "openai/m",
        ];
        let output = run(&scene, &args, &server);
        expect(&output, exit, &[]);
        let results: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(results["sessions"][0]["outcome"], outcome, "{role}");
        let verified = run(&scene, &["verify", "run"], &server);
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert_eq!(
            verified.status.code(),
            Some(0),
            "{role}: {said}{}",
            stderr(&verified)
        );

        let path = scene.path("run/journal/law_trainee.r1.jsonl");
        let journal = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        let broken = lines
            .iter()
            .rposition(|line| line.contains("\"event\":\"turn\""))
            .unwrap();
        let cut = lines[..=broken].concat();
        assert!(cut.len() < journal.len(), "{role}: the turn is not last");
        std::fs::write(&path, cut).unwrap();
        std::fs::remove_file(scene.path("run/results.json")).unwrap();
        let output = run(&scene, &["run", "--resume", "run", "--json"], &server);
        expect(&output, exit, &[]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), journal, "{role}");
    }
}

/// A judge that fails in one turn costs the session its score, and nothing else: it plays on.
#[tokio::test(flavor = "multi_thread")]
async fn a_judge_fault_does_not_end_the_session() {
    let scene = Scene::new();
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    // Five attempts of the first turn with rubrics fail.
    let server = server(
        move |request| match counted.fetch_add(1, Ordering::SeqCst) {
            0..5 => text("Looks fine!"),
            _ => play(request),
        },
    )
    .await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--session",
        "corrie-extension",
        "--json",
        "--out",
        "run",
        "--runs",
        "1",
        "--agent",
        "reactive",
        "--judge",
        "openai/m",
    ];
    let output = run(&scene, &args, &server);
    expect(&output, 8, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let session = &results["sessions"][0];
    assert_eq!(session["outcome"], "judge_fault");
    assert!(session["turns"].as_u64().unwrap() > 1, "{session}");
    let open = &session["intents"]["open"];
    assert_eq!(open, 0, "every intent was told: {session}");
    assert_eq!(
        results["faults"].as_array().unwrap().len(),
        1,
        "{results:#}"
    );
    let message = results["faults"][0]["message"].as_str().unwrap();
    assert!(message.contains("its replies are in blob "), "{message}");
    let verified = run(&scene, &["verify", "run"], &server);
    assert_eq!(verified.status.code(), Some(0), "{}", stderr(&verified));
}

/// A new server and a new model are a few lines of the suite.
#[tokio::test(flavor = "multi_thread")]
async fn a_suite_names_its_own_models() {
    let scene = Scene::new().with_short();
    let server = server(play).await;
    let lines = format!(
        "[providers.lab]\nbase_url = \"{}/v1\"\nkey_env = \"OPENAI_API_KEY\"\nconcurrency = 4\n\
         [models.mine]\nprovider = \"lab\"\nmodel = \"m-1\"\ntemperature = false\nthinking = {{ deep = true }}\n\
         price = {{ input = 1.0, output = 2.0 }}\n",
        server.uri()
    );
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    scene.write("tasks/suite.toml", &format!("{suite}\n{lines}"));
    let args = [
        "run",
        "tasks/suite.toml",
        "--session",
        "corrie-extension",
        "--json",
        "--out",
        "run",
        "--runs",
        "1",
        "--agent",
        "mine",
        "--user",
        "lexical",
        "--judge",
        "mine",
        "--judge",
        "lab/other",
    ];
    let output = run(&scene, &args, &server);
    expect(&output, 0, &["cost unknown"]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["judge"], "mine,lab/other");
    let agent = &results["usage"]["agent"];
    let calls = agent["calls"].as_u64().unwrap();
    assert_eq!(
        agent["cost"],
        120 * calls,
        "100 tokens in and 10 out: {agent}"
    );
    assert_eq!(results["cost"], Value::Null, "the other judge has no price");
    let requests = server.received_requests().await.unwrap();
    let bodies: Vec<Value> = requests
        .iter()
        .map(|request| request.body_json().unwrap())
        .collect();
    for body in &bodies {
        let agent = body["tools"].is_array();
        assert_eq!(body["deep"], if agent { json!(true) } else { Value::Null });
        let other = body["model"] == "other";
        assert_eq!(
            body["temperature"],
            if other { json!(0.0) } else { Value::Null }
        );
    }
    assert!(bodies.iter().any(|body| body["model"] == "m-1"));
}

/// The models that a server was asked for, each once.
async fn models(server: &MockServer) -> Vec<String> {
    let asked = server.received_requests().await.unwrap();
    let mut models: Vec<String> = asked
        .iter()
        .map(|one| serde_json::from_slice::<Value>(&one.body).unwrap())
        .map(|body| body["model"].as_str().unwrap().to_owned())
        .collect();
    models.sort_unstable();
    models.dedup();
    models
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_address_is_the_agents_alone_and_belongs_to_the_run() {
    let scene = Scene::new();
    let (own, usual) = (server(play).await, server(play).await);
    let (suite, url) = (short(), format!("{}/v1", own.uri()));
    let begin = |judge: &'static str, out: &'static str| {
        let args = [
            "run",
            suite.to_str().unwrap(),
            "--session",
            "corrie-extension",
            "--runs",
            "1",
            "--agent",
            "openai/agent",
            "--base-url",
            &url,
            "--user",
            "openai/user",
            "--judge",
            judge,
            "--out",
            out,
        ];
        run(&scene, &args, &usual)
    };
    let apart = begin("openai/judge", "apart");
    expect(&apart, 0, &[]);
    assert!(!stderr(&apart).contains("--base-url is the agent's alone"));
    assert_eq!(models(&own).await, ["agent"]);
    assert_eq!(models(&usual).await, ["judge", "user"]);
    // By the same name, too.
    let said = "--base-url is the agent's alone: the judge `openai/agent` is asked at";
    let output = begin("openai/agent", "same");
    let text = stderr(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains(said), "{text}");
    assert_eq!(models(&usual).await, ["agent", "judge", "user"]);
    // A run that is gone on with has it.
    let journal = scene.path("apart/journal/law_trainee.r1.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let first = whole.split_inclusive('\n').next().unwrap();
    std::fs::write(&journal, first).unwrap();
    std::fs::remove_file(scene.path("apart/results.json")).unwrap();
    let before = own.received_requests().await.unwrap().len();
    let resumed = run(&scene, &["run", "--resume", "apart"], &usual);
    expect(&resumed, 0, &[]);
    assert_eq!(models(&own).await, ["agent"]);
    assert!(own.received_requests().await.unwrap().len() > before);
}

/// What was answered in a turn that Ctrl-C cuts off is in no table, and is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_says_what_was_paid_for_turns_that_were_cut_off() {
    let scene = Scene::new();
    let calls = AtomicU32::new(0);
    // The turn's first answer comes, and its second does not.
    let server = server(move |request| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => play(request),
        _ => play(request).set_delay(Duration::from_mins(1)),
    })
    .await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--runs",
        "1",
        "--agent",
        "openai/m",
        "--user",
        "lexical",
        "--judge",
        "lexical",
        "--out",
        "run",
    ];
    let mut command = scene.command(&args);
    command
        .env("OPENAI_BASE_URL", format!("{}/v1", server.uri()))
        .env("OPENAI_API_KEY", KEY)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    // The question before the first session is the first.
    while server.received_requests().await.unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let lost = "1 answers of turns that were cut off are not in the table; what they cost: unknown";
    expect(&output, 130, &[lost, "Interrupted. Go on with"]);
}

/// A suite with one session, `s`, and one server, `lab`.
pub(crate) fn write_lab(scene: &Scene, base_url: &str) {
    let suite = format!(
        "version = 1\nid = \"lab\"\npersonas = [\"p\"]\nuser = \"lexical\"\njudge = \"lexical\"\n\
         [providers.lab]\nbase_url = \"{base_url}/v1\"\nconcurrency = 40\n"
    );
    scene.write("suite.toml", &suite);
    scene.write(
        "p/persona.toml",
        "version = 1\nid = \"p\"\nname = \"Ada\"\nprofile = \"A clerk.\"\n[[episode]]\nsession = \"s\"\n",
    );
    scene.write(
        "p/sessions/s/session.toml",
        "version = 1\nid = \"s\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Begin.\"\n\
         [[intents]]\nid = \"i\"\ncontent = \"In blue.\"\n",
    );
}

/// Answers whoever asks, as an agent without a key does.
pub(crate) async fn open_server(delay: Duration) -> MockServer {
    let server = MockServer::start().await;
    let answer = move |request: &Request| play(request).set_delay(delay);
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

const LAB: [&str; 6] = ["run", "suite.toml", "--agent", "lab/m", "--out", "run"];

#[tokio::test(flavor = "multi_thread")]
async fn as_many_episodes_are_played_at_once_as_files_may_be_open() {
    let server = open_server(Duration::from_millis(200)).await;
    let run = |shell: &str| {
        let scene = Scene::new();
        write_lab(&scene, &server.uri());
        let args = [&LAB[..], &["--runs", "40", "--jobs", "40"]].concat();
        let output = tokio::task::block_in_place(|| scene.command_after(shell, &args).output());
        let output = output.unwrap();
        expect(&output, 0, &[]);
        stderr(&output)
    };
    // Three times as many would be open; what the system lets the program have it takes.
    let raised = run("ulimit -Sn 64");
    assert!(!raised.contains("at once"), "{raised}");
    let bounded = run("ulimit -n 128");
    assert!(bounded.contains("8 are played at once"), "{bounded}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_reached_from_a_machine_without_certificates() {
    let server = open_server(Duration::ZERO).await;
    let run = |base_url: &str| {
        let scene = Scene::new();
        write_lab(&scene, base_url);
        let none = scene.write("none/none.pem", "");
        let variables = [
            ("SSL_CERT_FILE", none.to_str().unwrap()),
            ("SSL_CERT_DIR", none.parent().unwrap().to_str().unwrap()),
        ];
        let output = tokio::task::block_in_place(|| scene.run_with(&LAB, &variables));
        (output, scene.path("run").exists())
    };
    let (plain, played) = run(&server.uri());
    expect(&plain, 0, &[]);
    assert!(played);
    let (secured, played) = run("https://127.0.0.1:1");
    expect(&secured, 2, &["set up `lab/m`", "SSL_CERT_FILE"]);
    assert!(!played);
}
