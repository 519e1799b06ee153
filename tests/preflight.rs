//! The question before the first session, and bounds on the number of tools that are known before anything is asked.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::models::{is_preflight, message, play, play_short, run, server_at, text};
use crate::scaffold;
use crate::scene::{Scene, expect, files, short, stderr};

const CHAT: &str = "/v1/chat/completions";

/// More than a hundred tools of apps.
const MANY: &str = "tools = [\"amazon__*\", \"gmail__*\", \"phone__*\", \"splitwise__*\", \"spotify__*\", \"todoist__*\"]";

/// Less than twenty.
const FEW: &str = "tools = [\"simple_note__*\"]";

const ROLES: [&str; 6] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
];

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

fn tools(request: &Request) -> usize {
    body(request)["tools"].as_array().map_or(0, Vec::len)
}

/// A server that takes no more tools than `OpenAI`'s, as long as it is strict.
async fn strict(is_strict: Arc<AtomicBool>) -> MockServer {
    server_at(CHAT, move |request| {
        let count = tools(request);
        if count <= 128 || !is_strict.load(Ordering::SeqCst) {
            return play(request);
        }
        let words = format!(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length \
             {count} instead."
        );
        ResponseTemplate::new(400).set_body_json(json!({ "error": {
            "message": words, "type": "invalid_request_error", "param": "tools", "code": "array_above_max_length",
        } }))
    })
    .await
}

async fn asked(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.unwrap()
}

/// Nothing is played with a model that would take none of it.
#[tokio::test(flavor = "multi_thread")]
async fn too_many_tools_are_told_before_anything_is_played() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", MANY);
    let is_strict = Arc::new(AtomicBool::new(true));
    let server = strict(is_strict.clone()).await;
    let args = [&["run", "tasks/suite.toml", "--out", "run"][..], &ROLES].concat();
    let said = [
        "failed to pass the preflight: ask openai/m at 127.0.0.1",
        "array too long. Expected an array with maximum length 128",
        "shorten `tools` of the persona",
        "Mend it, then give the same command again: nothing was played",
    ];
    let refused = run(&scene, &args, &server);
    expect(&refused, 10, &said);
    assert!(refused.stdout.is_empty(), "there is no table of nothing");
    assert_eq!(asked(&server).await.len(), 3, "each role was asked once");
    assert!(!scene.path("run").exists());
    is_strict.store(false, Ordering::SeqCst);
    let begun = run(&scene, &args, &server);
    expect(&begun, 0, &["preflight: agent openai/m with "]);
    assert_eq!(files(&scene.path("run/journal")).len(), 1);
}

/// The same count of whatever was sent is that of a context that is too short.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cuts_what_it_is_sent_is_told_before_anything_is_played() {
    let counting = async |tokens: u64, more: Option<&'static str>| {
        let scene = Scene::new();
        scaffold::suite(&scene, "", MANY);
        let respond = move |request: &Request| {
            let counted = if tools(request) > 0 { tokens } else { 100 };
            ResponseTemplate::new(200).set_body_json(json!({
                "choices": [{ "index": 0, "message": message(&body(request)), "finish_reason": "stop" }],
                "usage": { "prompt_tokens": counted, "completion_tokens": 10 },
            }))
        };
        let server = server_at(CHAT, respond).await;
        let args = ["run", "tasks/suite.toml", "--out", "run"];
        let args = [&args[..], &ROLES, more.as_slice()].concat();
        let output = run(&scene, &args, &server);
        (output, scene.path("run").exists())
    };
    for (tokens, more) in [
        (4_096, None),
        (2_050, None),
        (4_096, Some("--no-preflight")),
    ] {
        let (output, is_begun) = counting(tokens, more).await;
        let said = format!("it counted {tokens} tokens of a request that has ");
        let mend = "serve `m` with a context as long as `[session] window_tokens`";
        expect(&output, 10, &[&said, mend, "OLLAMA_CONTEXT_LENGTH"]);
        assert!(!is_begun || more.is_some());
    }
    let (output, _) = counting(40_000, None).await;
    expect(&output, 0, &["ok, "]);
    assert!(!stderr(&output).contains("at the least"));
    // It may count otherwise: it is told, and played with.
    let (output, _) = counting(4_000, None).await;
    expect(&output, 0, &["its server counted 4000 tokens"]);
}

/// What was there before stays: the folders above a run's, and a run that is gone on with.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_begin_leaves_no_folder_that_it_made_and_every_other() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", FEW);
    let rejects = Arc::new(AtomicBool::new(true));
    let does = Arc::clone(&rejects);
    let server = server_at(CHAT, move |request| {
        if does.load(Ordering::SeqCst) {
            ResponseTemplate::new(401).set_body_string("no such key")
        } else {
            play(request)
        }
    })
    .await;
    let first = ["run", "tasks/suite.toml", "--runs", "1"];
    let others = ["--user", "lexical", "--judge", "lexical", "--agent"];
    let begin = |more: &[&'static str]| {
        let args = [&first[..], &others, more].concat();
        let output = run(&scene, &args, &server);
        assert!(output.status.code() == Some(0) || output.stdout.is_empty());
        output
    };
    let left = || {
        let entries = std::fs::read_dir(scene.dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "tasks").collect::<Vec<_>>()
    };
    let said = [
        "status 401: no such key",
        "nothing was played, and no run folder",
    ];
    expect(&begin(&["openai/m"]), 10, &said);
    expect(&begin(&["openai/m", "--out", "new/er/run"]), 10, &said);
    let two = ["openai/m", "--agent", "openai/n", "--out", "two"];
    expect(&begin(&two), 10, &said);
    assert!(left().is_empty(), "{:?}", left());
    std::fs::create_dir_all(scene.path("mine")).unwrap();
    expect(&begin(&["openai/m", "--out", "mine/er/run"]), 10, &said);
    assert_eq!(left(), ["mine"]);
    assert_eq!(std::fs::read_dir(scene.path("mine")).unwrap().count(), 0);

    rejects.store(false, Ordering::SeqCst);
    expect(&begin(&["openai/m", "--out", "mine/run"]), 0, &[]);
    rejects.store(true, Ordering::SeqCst);
    let journal = files(&scene.path("mine/run/journal"));
    let path = scene.path("mine/run/journal").join(&journal[0].0);
    let text = String::from_utf8(journal[0].1.clone()).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    std::fs::write(&path, &text[..cut]).unwrap();
    let resumed = run(&scene, &["run", "--resume", "mine/run"], &server);
    let go_on = [
        "status 401: no such key",
        "Mend it, then go on with: pibench-host run --resume ",
    ];
    expect(&resumed, 10, &go_on);
    assert!(resumed.stdout.is_empty());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text[..cut]);
}

/// A server's own bound stops the run before a folder is made.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_longer_than_the_provider_takes_is_refused_before_anything_is_asked() {
    let scene = Scene::new();
    let server = server_at(CHAT, play).await;
    let uri = server.uri();
    let lab = |most: u32| {
        let key = "key_env = \"OPENAI_API_KEY\"";
        format!("[providers.lab]\nbase_url = \"{uri}/v1\"\n{key}\nmax_tools = {most}\n")
    };
    let roles = [
        "--agent", "lab/m", "--user", "lexical", "--judge", "lexical",
    ];
    let args = [&["run", "tasks/suite.toml", "--out", "run"][..], &roles].concat();
    scaffold::suite(&scene, &lab(20), FEW);
    let said = [
        "play p with lab/m: it has ",
        "lab takes 20 in a request",
        "`max_tools` of [providers.lab]",
    ];
    expect(&run(&scene, &args, &server), 3, &said);
    let dry = [&args[..], &["--dry-run"]].concat();
    expect(&run(&scene, &dry, &server), 3, &said);
    assert!(!scene.path("run").exists() && asked(&server).await.is_empty());
    scaffold::suite(&scene, &lab(200), FEW);
    expect(&run(&scene, &args, &server), 0, &[]);
}

/// What is known of `OpenAI` holds for its own address: who replaces it knows better.
#[test]
fn the_bound_of_a_known_provider_needs_no_line_of_the_suite() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", MANY);
    let roles = [
        "--agent", "openai/m", "--user", "lexical", "--judge", "lexical",
    ];
    let args = [&["run", "tasks/suite.toml", "--dry-run"][..], &roles].concat();
    let said = ["play p with openai/m", "openai takes 128 in a request"];
    expect(&scene.run(&args), 3, &said);
    let own = [("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")];
    expect(&scene.run_with(&args, &own), 0, &[]);
    scaffold::suite(&scene, "", FEW);
    expect(&scene.run(&args), 0, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_is_asked_once_as_in_the_sessions() {
    let scene = Scene::new();
    let server = server_at(CHAT, play).await;
    let output = play_short(&scene, &server, &[]);
    let said = [
        "preflight: agent openai/m with ",
        " tools (law_trainee) ok, ",
        "; user openai/m ok, ",
        "; judge openai/m ok, ",
    ];
    expect(&output, 0, &said);
    let all = asked(&server).await;
    let (questions, sessions): (Vec<&Request>, Vec<&Request>) =
        all.iter().partition(|request| is_preflight(request));
    assert_eq!(questions.len(), 3);
    let with_tools = questions.iter().find(|request| tools(request) > 0);
    let of_session = sessions.iter().find(|request| tools(request) > 1).unwrap();
    assert_eq!(
        body(with_tools.unwrap())["tools"],
        body(of_session)["tools"]
    );
    for question in questions {
        let of_judge = tools(question) == 0;
        let temperature = if of_judge { json!(0.0) } else { Value::Null };
        let sent = body(question);
        assert_eq!(sent["temperature"], temperature);
        assert_eq!(sent["max_completion_tokens"], 1024, "a word will do");
    }
    // A run that is whole asks nobody.
    let resumed = run(&scene, &["run", "--resume", "run"], &server);
    expect(&resumed, 0, &[]);
    assert_eq!(asked(&server).await.len(), all.len());
}

#[test]
fn a_model_that_plays_all_roles_and_is_out_of_reach_is_told_of_once() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", FEW);
    let nobody = [("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")];
    let output = scene.run_with(
        &[&["run", "tasks/suite.toml"][..], &ROLES].concat(),
        &nobody,
    );
    let said = stderr(&output);
    assert_eq!(said.matches("Connection refused").count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_left_out_and_scripts_are_not_asked() {
    let scene = Scene::new();
    let server = server_at(CHAT, play).await;
    let unasked = |output: &Output| {
        expect(output, 0, &[]);
        assert!(!stderr(output).contains("preflight"));
    };
    unasked(&play_short(&scene, &server, &["--no-preflight"]));
    assert!(!asked(&server).await.iter().any(is_preflight));
    assert!(!scene.path("run/preflight.jsonl").exists());
    let suite = short();
    let first = ["run", suite.to_str().unwrap(), "--persona", "law_trainee"];
    unasked(&scene.run(&[&first[..], &["--out", "scripted"]].concat()));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_replayed_and_a_recording_from_before_it_is_too() {
    let scene = Scene::new();
    let server = server_at(CHAT, play).await;
    let suite = short();
    let first = ["run", suite.to_str().unwrap(), "--runs", "1", "--session"];
    let args = |more: [&'static str; 5]| [&first[..], &more, &ROLES].concat();
    let live = args(["corrie-extension", "--out", "live", "--record", "tape"]);
    expect(&run(&scene, &live, &server), 0, &["preflight: agent "]);
    let count = asked(&server).await.len();
    let read = |path: &str| std::fs::read(scene.path(path)).unwrap();
    let again = args(["corrie-extension", "--out", "again", "--replay", "tape"]);
    expect(&scene.run(&again), 0, &[" tools (law_trainee) ok, "]);
    let results = ["live/results.json", "again/results.json"].map(read);
    assert_eq!(results[0], results[1], "what it cost, too");
    std::fs::remove_file(scene.path("tape/preflight.r0.jsonl")).unwrap();
    let old = args(["corrie-extension", "--out", "old", "--replay", "tape"]);
    expect(&scene.run(&old), 0, &["; judge openai/m not recorded"]);
    let journals = ["live", "old"].map(|run| read(&format!("{run}/journal/law_trainee.r1.jsonl")));
    assert_eq!(journals[0], journals[1]);
    assert_eq!(asked(&server).await.len(), count);
}

/// A user agent or judge without a word, and an answer that nobody can read, are of no use in the sessions either.
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_answer_it_plays_nothing() {
    let check = async |answer: ResponseTemplate, code, said| {
        let respond = move |request: &Request| {
            if is_preflight(request) && tools(request) == 0 {
                answer.clone()
            } else {
                play(request)
            }
        };
        let (scene, server) = (Scene::new(), server_at(CHAT, respond).await);
        let output = play_short(&scene, &server, &[]);
        expect(&output, code, &[said, "ive the same command again"]);
        assert!(output.stdout.is_empty() && !scene.path("run").exists());
    };
    check(text(""), 10, "it answered the preflight without a word").await;
    let shapeless = ResponseTemplate::new(400).set_body_string("against our content policy");
    check(shapeless, 10, "against our content policy").await;
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "7200");
    check(busy, 6, "failed to pass the preflight: reach openai/m").await;
}

#[test]
fn a_dry_run_counts_it() {
    let scene = Scene::new();
    let suite = short();
    let first = ["run", suite.to_str().unwrap(), "--dry-run", "--json"];
    let calls = |more: &[&str]| -> Vec<u64> {
        let persona = ["--persona", "law_trainee"];
        let output = scene.run(&[&first[..], &persona, &ROLES, more].concat());
        expect(&output, 0, &[]);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let roles = said["agents"][0]["roles"].as_array().unwrap();
        let calls = roles.iter().map(|role| role["calls"].as_u64().unwrap());
        calls.collect()
    };
    let without = calls(&["--no-preflight"]);
    let with: Vec<u64> = without.iter().map(|calls| calls + 1).collect();
    assert_eq!(calls(&[]), with);
}
