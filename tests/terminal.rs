//! What stands in a terminal: tables that fit it, words that say what is wrong and what to do, and how far a run is.

use std::fs;

use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::scene::{Scene, expect, root, stderr};

fn said(scene: &Scene, args: &[&str]) -> String {
    let output = scene.run(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of tables, by what they are drawn with.
fn check_width(text: &str) {
    let drawn = text
        .lines()
        .filter(|line| line.starts_with(['│', '┌', '╞', '└']));
    let wide: Vec<&str> = drawn.filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(text.contains('│'), "no table: {text}");
}

#[test]
fn every_table_fits_a_terminal_of_80_columns() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    for agent in ["reference", "reactive"] {
        let args = ["run", "mine/suite.toml", "--agent", agent, "--out", agent];
        check_width(&said(&scene, &args));
    }
    for args in [
        &["compare", "reference", "reactive"][..],
        &["report", "reference", "reactive", "--all"],
        &["show", "--once", "reference"],
    ] {
        check_width(&said(&scene, args));
    }
}

#[test]
fn no_value_of_a_setting_is_broken_and_only_one_that_is_too_long_leaves_the_80_columns() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let args = ["run", suite.to_str().unwrap(), "--print-config"];
    let shown = said(&scene, &args);
    for line in shown.lines().filter(|line| line.chars().count() > 80) {
        assert_eq!(line.split_whitespace().count(), 1, "{line}");
    }
    let rows = said(&scene, &[&args[..], &["--json"]].concat());
    let rows: Vec<Value> = serde_json::from_str(&rows).unwrap();
    assert!(rows.len() > 80, "{}", rows.len());
    for value in rows.iter().flat_map(|row| [&row["value"], &row["from"]]) {
        let words = value.as_str().into_iter().flat_map(str::split_whitespace);
        for word in words {
            assert!(shown.contains(word), "{word}");
        }
    }
}

#[test]
fn no_id_is_broken_in_a_table() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let suite = suite.to_str().unwrap();
    let listed = said(&scene, &["list", "sessions", suite]);
    check_width(&listed);
    // The longest one, and one that others depend on.
    for id in [
        "saltmarsh-chronology",
        "saltmarsh-statement",
        "lease-clauses",
    ] {
        assert!(listed.contains(id), "{id}: {listed}");
    }
    let args = ["run", suite, "--persona", "law_trainee", "--out", "a"];
    let played = said(&scene, &args);
    for text in [
        played,
        said(&scene, &["show", "--once", "a"]),
        said(&scene, &["compare", "a", "a"]),
    ] {
        check_width(&text);
        assert!(text.contains("  saltmarsh-statement "), "{text}");
        assert!(text.contains("100.0"), "{text}");
    }
}

#[test]
fn a_report_prints_what_is_asked_first_and_names_the_rest() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    said(&scene, &["run", "mine/suite.toml", "--out", "a"]);
    let short = said(&scene, &["report", "a"]);
    assert!(short.contains("Table 1: ") && short.contains("How sure the scores are"));
    assert!(
        short.contains("- Table 7: ") && short.contains("--all"),
        "{short}"
    );
    assert!(!short.contains("Provided"), "{short}");
    let all = said(&scene, &["report", "a", "--all"]);
    assert!(all.len() > short.len() && !all.contains("--all"), "{all}");
    // GPT-5.4 of the paper stands whole, however many columns there are.
    assert!(all.contains("Gemini 3.1 Pro"), "{all}");
}

#[test]
fn a_comparison_ends_with_what_it_comes_to() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    for agent in ["reference", "nop"] {
        said(
            &scene,
            &["run", "mine/suite.toml", "--agent", agent, "--out", agent],
        );
    }
    let text = said(&scene, &["compare", "reference", "reference"]);
    assert!(
        text.trim_end().ends_with("in Comp there is no difference."),
        "{text}"
    );
    let text = said(&scene, &["compare", "reference", "nop"]);
    assert!(text.contains("In short: "), "{text}");
}

#[test]
fn a_slip_of_the_pen_is_answered_with_what_was_meant() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let run = |args: &[&str]| scene.run(&[&["run", "mine/suite.toml"], args].concat());
    let said = ["`refrence`", "did you mean `reference`", "PROVIDER/MODEL"];
    expect(&run(&["--agent", "refrence"]), 2, &said);
    for (option, name, meant) in [
        (
            "--persona",
            "frist",
            "find persona `frist` (did you mean `first`?): the suite has first",
        ),
        (
            "--session",
            "firsst",
            "find session `firsst` (did you mean `first`?): the suite has first",
        ),
    ] {
        expect(&run(&[option, name]), 2, &[meant]);
    }
    let elsewhere = [
        "--agent", "opnai/m", "--user", "lexical", "--judge", "lexical",
    ];
    let meant = "find the provider of `opnai/m` (did you mean `openai`?): known are ";
    expect(&run(&elsewhere), 2, &[meant]);
    let roles = "--user PROVIDER/MODEL --judge PROVIDER/MODEL";
    expect(&run(&["--agent", "acp:claude-agent-acp"]), 2, &[roles]);
    let meant = "find schema `manfest` (did you mean `manifest`?): there are ";
    expect(&scene.run(&["schema", "manfest"]), 2, &[meant]);
    let judged = [
        "--agent", "gpt-5.4", "--user", "lexical", "--judge", "lexcal",
    ];
    expect(
        &run(&judged),
        2,
        &["judge `lexcal`", "did you mean `lexical`"],
    );
    let args = [
        "run",
        "mine/suite.toml",
        "--agent",
        "openai/m",
        "--user",
        "lexical",
        "--judge",
        "lexical",
    ];
    let wrong = [
        ("OPENAI_BASE_URL", "127.0.0.1:8000"),
        ("OPENAI_API_KEY", "key-of-nobody"),
    ];
    let told = ["OPENAI_BASE_URL", "`127.0.0.1:8000`", "want http://"];
    expect(&scene.run_with(&args, &wrong), 2, &told);
    let secret = [
        ("OPENAI_BASE_URL", "me:hidden@host"),
        ("OPENAI_API_KEY", "key-of-nobody"),
    ];
    let output = scene.run_with(&args, &secret);
    assert!(!stderr(&output).contains("hidden"), "{}", stderr(&output));
    let absent = scene.run(&["check", "mine/suite.toml", "--session", "none"]);
    expect(&absent, 2, &["has no such session", "list sessions"]);
    scene.replace(
        "mine/suite.toml",
        "[\"personas/first\"]",
        "[\"personas/first\"]\n[plugins]\nown = \"own.wasm\"",
    );
    scene.replace(
        "mine/personas/first/persona.toml",
        "files =",
        "tools = [\"own__*\"]\nfiles =",
    );
    expect(&run(&[]), 3, &["own.wasm", "pibench-host plugin build"]);
}

#[test]
fn serve_offers_no_option_that_it_refuses() {
    let help = said(&Scene::new(), &["serve", "--help"]);
    for option in ["--agent", "--dry-run", "--temperature"] {
        assert!(!help.contains(option), "{option}: {help}");
    }
    assert!(help.contains("--user"), "{help}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_not_there_is_told() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let server = MockServer::start().await;
    let missing = ResponseTemplate::new(404);
    Mock::given(any())
        .respond_with(missing)
        .mount(&server)
        .await;
    let url = format!("{}/api", server.uri());
    let args = [
        "run",
        "mine/suite.toml",
        "--agent",
        "lab/m",
        "--base-url",
        &url,
        "--user",
        "lexical",
        "--judge",
        "lexical",
    ];
    expect(&scene.run(&args), 10, &["/api/chat/completions"]);
}

#[test]
fn a_run_that_nobody_plays_is_interrupted_and_says_how_to_go_on() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    said(
        &scene,
        &[
            "run",
            "mine/suite.toml",
            "--agent",
            "reactive",
            "--out",
            "a",
        ],
    );
    let journal = scene.path("a/journal/first.r1.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    fs::write(&journal, lines[..3].concat()).unwrap();
    fs::remove_file(scene.path("a/results.json")).unwrap();
    fs::remove_dir_all(scene.path("a/trajectories")).unwrap();
    let text = said(&scene, &["show", "--once", "a"]);
    assert!(
        text.contains("│   first") && text.contains("interrupted"),
        "{text}"
    );
    assert!(text.contains("run --resume a"), "{text}");
    // Who holds the lock plays it.
    let lock = fs::File::open(scene.path("a/lock")).unwrap();
    lock.lock().unwrap();
    let text = said(&scene, &["show", "--once", "a"]);
    assert!(
        text.contains("playing") && !text.contains("interrupted"),
        "{text}"
    );
}
