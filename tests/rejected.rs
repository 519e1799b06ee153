//! Requests that a server rejects: nothing of them is scored, the run stops at the first, and goes on when it is mended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::models::{KEY, play, play_short, run, server};
use crate::scene::{Scene, expect, files, short, stderr};

const JOURNAL: &str = "run/journal/law_trainee.r1.jsonl";

/// As `OpenAI` rejects a key that it knows no longer.
fn revoked() -> ResponseTemplate {
    ResponseTemplate::new(401).set_body_json(json!({ "error": {
        "message": format!("Incorrect API key\u{202e} provided: {KEY}.\u{1b}[31m"),
        "type": "invalid_request_error", "param": null, "code": "invalid_api_key",
    } }))
}

/// As it rejects an account without money.
fn quota() -> ResponseTemplate {
    ResponseTemplate::new(429).set_body_json(json!({ "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
    } }))
}

fn unpaid() -> ResponseTemplate {
    ResponseTemplate::new(402).set_body_string("no credit left")
}

fn of_agent(request: &Request) -> bool {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty())
}

fn of_others(request: &Request) -> bool {
    !of_agent(request)
}

/// A server that rejects what is asked from the 30th request on, if `which` is true of it, until it is mended; how often it
/// did.
async fn rejecting(
    rejection: fn() -> ResponseTemplate,
    which: fn(&Request) -> bool,
) -> (MockServer, Arc<AtomicBool>, Arc<AtomicU32>) {
    let mended = Arc::new(AtomicBool::new(false));
    let rejected = Arc::new(AtomicU32::new(0));
    let (is_mended, count, asked) = (mended.clone(), rejected.clone(), AtomicU32::new(0));
    let server = server(move |request| {
        let late = asked.fetch_add(1, Ordering::SeqCst) >= 30;
        if late && which(request) && !is_mended.load(Ordering::SeqCst) {
            count.fetch_add(1, Ordering::SeqCst);
            return rejection();
        }
        play(request)
    })
    .await;
    (server, mended, rejected)
}

async fn check_stopped(
    rejection: fn() -> ResponseTemplate,
    which: fn(&Request) -> bool,
    said: &str,
    remedy: &str,
) {
    let scene = Scene::new();
    let (server, mended, rejected) = rejecting(rejection, which).await;
    let output = play_short(&scene, &server, &[]);
    let go_on = "Mend it, then go on with: pibench-host run --resume ";
    let anew = "with others it is a new one, by the same command and another --out";
    expect(&output, 10, &[said, remedy, go_on, anew]);
    let times = rejected.load(Ordering::SeqCst);
    assert_eq!(times, 1, "it is not asked again");
    let talk = stderr(&output);
    assert!(
        !talk.contains(KEY) && !talk.contains(['\u{1b}', '\u{202e}']),
        "{talk}"
    );
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["faults"], json!([]), "{results:#}");
    let sessions = results["sessions"].as_array().unwrap();
    assert_eq!(sessions[0]["outcome"], "complete");
    let last = sessions.last().unwrap();
    assert_eq!((&last["proc"], &last["comp"]), (&Value::Null, &Value::Null));
    let before = std::fs::read(scene.path(JOURNAL)).unwrap();

    // The question before the first session would tell it, were it not left out.
    let again = ["run", "--resume", "run", "--json", "--no-preflight"];
    expect(&run(&scene, &again, &server), 10, &[said]);
    assert_eq!(std::fs::read(scene.path(JOURNAL)).unwrap(), before);
    mended.store(true, Ordering::SeqCst);
    expect(&run(&scene, &again, &server), 0, &["finished before"]);
    let after = std::fs::read(scene.path(JOURNAL)).unwrap();
    assert!(after.starts_with(&before), "nothing is played twice");
    expect(&run(&scene, &["verify", "run"], &server), 0, &[]);
    for (name, content) in files(&scene.path("run")) {
        assert!(!String::from_utf8_lossy(&content).contains(KEY), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_stops_the_run_unscored_and_it_goes_on_when_it_is_mended() {
    let said = "status 401: Incorrect API key";
    let remedy = "check the key in OPENAI_API_KEY";
    check_stopped(revoked, of_agent, said, remedy).await;
    check_stopped(revoked, of_others, said, remedy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_account_stops_the_run_and_is_not_asked_seven_times() {
    let remedy = "fill up the account at openai";
    let said = "status 429: You exceeded your current quota";
    check_stopped(quota, of_agent, said, remedy).await;
    check_stopped(unpaid, of_others, "status 402: no credit left", remedy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_further_episode_begins_after_a_rejection() {
    let scene = Scene::new();
    let (server, mended, _) = rejecting(revoked, of_agent).await;
    let suite = short();
    let first = ["run", suite.to_str().unwrap(), "--persona", "law_trainee"];
    let runs = ["--runs", "4", "--jobs", "1", "--out", "run"];
    let roles = [
        "--agent", "openai/m", "--user", "lexical", "--judge", "lexical",
    ];
    let args = [&first[..], &runs, &roles].concat();
    expect(&run(&scene, &args, &server), 10, &["status 401"]);
    let journals = || files(&scene.path("run/journal")).len();
    assert!(journals() < 4, "{}", journals());
    mended.store(true, Ordering::SeqCst);
    let resume = ["run", "--resume", "run", "--jobs", "1"];
    expect(&run(&scene, &resume, &server), 0, &[]);
    assert_eq!(journals(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_judge_of_a_finished_run_stops_grade_and_audit() {
    let scene = Scene::new();
    let playing = server(play).await;
    expect(&play_short(&scene, &playing, &[]), 0, &[]);
    let rejects = Arc::new(AtomicBool::new(true));
    let does = rejects.clone();
    let judging = server(move |request| {
        if does.load(Ordering::SeqCst) {
            revoked()
        } else {
            play(request)
        }
    })
    .await;
    let grade = ["grade", "run", "--out", "graded", "--judge", "openai/n"];
    let audit = ["audit", "run", "--judge", "openai/n"];
    let said = ["status 401", "check the key in OPENAI_API_KEY"];
    for args in [&grade[..], &audit] {
        expect(&run(&scene, args, &judging), 10, &said);
    }
    rejects.store(false, Ordering::SeqCst);
    for args in [&grade[..], &audit] {
        expect(&run(&scene, args, &judging), 0, &[]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_too_long_names_the_setting_and_a_refusal_is_scored() {
    let too_long = || {
        ResponseTemplate::new(400).set_body_json(json!({ "error": {
            "message": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens.",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded",
        } }))
    };
    let content = || {
        ResponseTemplate::new(400).set_body_json(json!({ "error": {
            "message": "The response was filtered due to the prompt triggering our content management policy.",
            "type": null, "param": "prompt", "code": "content_filter",
        } }))
    };
    let window = "set `[session] window_tokens` to 49152, for its context is 65536 tokens";
    let check = async |rejection, code, said| {
        let scene = Scene::new();
        let (server, ..) = rejecting(rejection, of_agent).await;
        expect(&play_short(&scene, &server, &[]), code, &[said]);
        let journal = std::fs::read_to_string(scene.path(JOURNAL)).unwrap();
        assert_eq!(journal.contains("model_fault"), code == 9);
    };
    check(too_long, 10, window).await;
    check(content, 9, "model_fault").await;
}

/// As something answers that is no model's server.
fn healthy() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "status": "ok" }))
}

/// What never answered as a model is the operator's to mend, whoever it plays, and its sessions have no score.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_no_models_stops_the_run_unscored() {
    let said = "its answer is not in the format";
    let remedy = "check the address in OPENAI_BASE_URL, and its `format`";
    for which in [of_agent, of_others] {
        let scene = Scene::new();
        let server = server(move |request| {
            if which(request) {
                healthy()
            } else {
                play(request)
            }
        })
        .await;
        let output = play_short(&scene, &server, &["--no-preflight"]);
        expect(&output, 10, &[said, remedy]);
        let results: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(results["faults"], json!([]), "{results:#}");
        let sessions = results["sessions"].as_array().unwrap();
        assert!(sessions.iter().all(|one| one["proc"].is_null()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_has_answered_is_at_fault_for_what_is_no_reply() {
    // Each role has answered the question before the first session.
    for (which, fault, code) in [
        (of_agent as fn(&Request) -> bool, "model_fault", 9),
        (of_others, "judge_fault", 8),
    ] {
        let scene = Scene::new();
        let (server, ..) = rejecting(healthy, which).await;
        let output = play_short(&scene, &server, &[]);
        expect(&output, code, &[]);
        let journal = std::fs::read_to_string(scene.path(JOURNAL)).unwrap();
        assert!(journal.contains(fault));
    }
}

/// A server that cannot read what its own model wrote, and one that broke while it wrote.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_its_server_cannot_read_is_scored_and_an_answer_that_it_broke_off_is_not() {
    let unread = || {
        ResponseTemplate::new(500).set_body_json(json!({ "error": {
            "code": 500, "message": "Failed to parse input at pos 40: <tool_call>", "type": "server_error",
        } }))
    };
    let broken = || {
        ResponseTemplate::new(200).set_body_json(json!({ "choices": [{
            "index": 0, "finish_reason": "error", "error": { "code": 402, "message": "Out of credit" },
            "message": { "role": "assistant", "content": "I started to" },
        }] }))
    };
    let check = async |answer, code, said, outcome| {
        let scene = Scene::new();
        let (server, ..) = rejecting(answer, of_agent).await;
        expect(&play_short(&scene, &server, &[]), code, &[said]);
        let journal = std::fs::read_to_string(scene.path(JOURNAL)).unwrap();
        assert!(!journal.contains("I started to"));
        assert_eq!(journal.contains("Failed to parse input"), outcome);
        assert_eq!(journal.contains("model_fault"), outcome);
    };
    check(unread, 9, "", true).await;
    check(broken, 10, "status 402: Out of credit", false).await;
}

/// A run for an agent from outside is gone on with by the command that began it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_an_agent_from_outside_that_cannot_begin_is_begun_anew_by_the_same_command() {
    let scene = Scene::new();
    crate::scaffold::suite(&scene, "", "");
    let server = crate::models::server_at("/v1/chat/completions", |_| revoked()).await;
    let first = ["serve", "tasks/suite.toml", "--out", "run", "--stdio"];
    let roles = ["--user", "openai/m", "--judge", "lexical"];
    let output = run(&scene, &[&first[..], &roles].concat(), &server);
    let anew = "Mend it, then give the same command again";
    expect(&output, 10, &["status 401", anew]);
    assert!(!scene.path("run").exists());
}
