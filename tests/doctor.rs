//! `doctor`: what would keep a run from working here, each with its remedy.

use std::os::unix::fs::symlink;
use std::process::Output;

use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::models::{KEY, play, run, server_at};
use crate::scaffold;
use crate::scene::{Scene, assert_fits, expect, flowed, output, short};

const CHAT: &str = "/v1/chat/completions";

fn examined(scene: &Scene, server: &MockServer, more: &[&str]) -> Output {
    let suite = short();
    let first = [
        "doctor",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
    ];
    let roles = [
        "--agent", "openai/m", "--user", "openai/m", "--judge", "lexical",
    ];
    run(scene, &[&first[..], &roles, more].concat(), server)
}

#[track_caller]
fn check(output: &Output, code: i32, lines: &[&str]) {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{said}{}",
        crate::scene::stderr(output)
    );
    assert_fits(&said);
    let flow = flowed(&said);
    for line in lines {
        assert!(flow.contains(&flowed(line)), "`{line}` is not in:\n{said}");
    }
    assert!(!said.contains(KEY) && !said.contains('\u{1b}'), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_machine_is_told_line_by_line_and_nothing_is_played() {
    let scene = Scene::new();
    let server = server_at(CHAT, play).await;
    let output = examined(&scene, &server, &[]);
    let lines = [
        "ok       keys         OPENAI_API_KEY is set, for openai/m",
        "ok       models       agent openai/m with ",
        " tools (law_trainee) ok, ",
        "ok       models       user openai/m ok, ",
        " plugins      ",
        "ok       cache        ",
        "ok       open files   enough for ",
        " disk         ",
        " free at runs",
    ];
    check(&output, 0, &lines);
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
    assert_eq!(std::fs::read_dir(scene.dir.path()).unwrap().count(), 0);
    let output = examined(&scene, &server, &["--json", "--jobs", "2"]);
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let files = findings.iter().find(|line| line["check"] == "open files");
    let files = files.unwrap();
    assert_eq!(files["state"], "ok");
    assert_eq!(files["remedy"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_agents_each_is_asked_and_the_others_once() {
    let scene = Scene::new();
    let server = server_at(CHAT, play).await;
    let suite = short();
    let first = [
        "doctor",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
    ];
    let roles = [
        "--agent",
        "openai/m, openai/n",
        "--user",
        "openai/m",
        "--judge",
        "lexical",
    ];
    let output = run(&scene, &[&first[..], &roles].concat(), &server);
    let lines = [
        "agent openai/m with ",
        "agent openai/n with ",
        "user openai/m ok",
    ];
    check(&output, 0, &lines);
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_rejects_is_a_problem_with_its_remedy() {
    let scene = Scene::new();
    let words = format!("Incorrect API key provided: {KEY}\u{1b}[2J");
    let server = server_at(CHAT, move |_| {
        ResponseTemplate::new(401).set_body_json(json!({ "error": { "message": words } }))
    })
    .await;
    let output = examined(&scene, &server, &[]);
    let lines = [
        "problem  models       user openai/m failed to ask openai/m at 127.0.0.1",
        "status 401: Incorrect API key provided: [key] [2J; check the key in OPENAI_API_KEY",
    ];
    check(&output, 3, &lines);
}

#[test]
fn keys_names_and_certificates_that_are_missing_are_told_without_asking_anybody() {
    let scene = Scene::new();
    let suite = short();
    let first = ["doctor", suite.to_str().unwrap(), "--user", "lexical"];
    let args = |more: [&'static str; 4]| [&first[..], &more].concat();
    let output = scene.run(&args(["--agent", "anthropic/m", "--judge", "unheard/of"]));
    let lines = [
        "problem  keys         failed to find the key for `anthropic/m`: the environment variable ANTHROPIC_API_KEY is \
         not set; export ANTHROPIC_API_KEY=...",
        "problem  models       failed to find the provider of `unheard/of`",
    ];
    check(&output, 3, &lines);
    let none = scene.write("none/none.pem", "");
    let variables = [
        ("OPENAI_API_KEY", KEY),
        ("SSL_CERT_FILE", none.to_str().unwrap()),
        ("SSL_CERT_DIR", none.parent().unwrap().to_str().unwrap()),
    ];
    let openai = args(["--agent", "openai/m", "--judge", "lexical"]);
    let problem = "problem  certificates failed to set up the HTTP client";
    check(&scene.run_with(&openai, &variables), 3, &[problem]);
    let scripted = args(["--agent", "nop", "--judge", "lexical"]);
    let all = "ok       models       all scripted: no model is asked";
    check(&scene.run(&scripted), 0, &[all]);
}

#[test]
fn a_plugin_that_is_not_there_a_cache_of_others_and_few_files_are_told() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    scaffold::suite(&scene, "", "tools = [\"not_there__*\"]");
    let missing = "problem  plugins      failed to find plugin `not_there`: looked for ";
    check(&scene.run(&["doctor", "tasks/suite.toml"]), 3, &[missing]);
    let link = scene.path("link");
    symlink(scene.dir.path(), &link).unwrap();
    let variables = [("PIBENCH_CACHE", link.to_str().unwrap())];
    let lines = [
        "warning  cache        ",
        "name a folder of yours by PIBENCH_CACHE",
    ];
    check(&scene.run_with(&["doctor", suite], &variables), 0, &lines);
    let mut few = scene.command_after("ulimit -n 128", &["doctor", suite, "--jobs", "40"]);
    let bounded = "warning  open files   enough for 8 episodes at once, and 40 are to be played; 8 are played at once";
    check(&few.output().unwrap(), 0, &[bounded]);
    expect(&scene.run(&["doctor", "gone.toml"]), 3, &["gone.toml"]);
}

#[test]
fn too_little_room_for_one_episode_is_a_problem_and_refused_and_just_enough_plays() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let after = |bound: &str, args: &[&str]| output(&mut scene.command_after(bound, args));
    let run = ["run", suite, "--jobs", "2", "--runs", "2", "--out"];
    for (bound, found, remedy) in [
        (
            "ulimit -n 63",
            "open files   at most 63 files may be open, and 64 are needed",
            "`ulimit -n 1024`",
        ),
        (
            "ulimit -v 4000000",
            "addresses    the address space is bounded to 3906 MiB",
            "`ulimit -v unlimited`",
        ),
    ] {
        let problem = format!("problem  {found}");
        check(&after(bound, &["doctor", suite]), 3, &[&problem, remedy]);
        let refused = after(bound, &[&run[..], &["run"]].concat());
        expect(&refused, 10, &["find room to play: ", remedy]);
        assert!(!scene.path("run").exists(), "something was made");
    }
    let few = after("ulimit -n 64", &[&run[..], &["few"]].concat());
    let said = "not enough open files for 2 episodes at once (`ulimit -Hn`): 1 are played at once";
    expect(&few, 0, &[said]);
    // Threads would wait for files for ever.
    let verified = after("ulimit -n 16", &["verify", "few"]);
    expect(&verified, 10, &["find room to play: "]);
    let bound = "ulimit -v 90000000";
    let little = after(bound, &[&run[..], &["little"]].concat());
    let said = "not enough address space for 2 episodes at once (`ulimit -Hv`): 1 are played";
    expect(&little, 0, &[said]);
    let line = "warning  addresses    enough for 1 episode at once, and 2 are to be played";
    check(&after(bound, &["doctor", suite, "--jobs", "2"]), 0, &[line]);
}
