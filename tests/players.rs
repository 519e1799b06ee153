//! Who plays the roles: a real agent's user and judge are named, and what patterns judged, or a script played, is marked
//! wherever its score is shown.

use std::fs;
use std::process::Output;

use pibench_report::page::index;
use pibench_report::report::Report;
use pibench_report::run_record::RunRecord;
use serde_json::{Value, json};
use wiremock::MockServer;

use crate::models::{play, run, server};
use crate::scene::{Scene, expect, flowed, short, stderr};

const PATTERNS: &str = "by patterns";
const APART: &str = "scripted or by patterns, not comparable";
const SESSION: [&str; 4] = ["--session", "corrie-extension", "--runs", "1"];

fn read(scene: &Scene, path: &str) -> Value {
    serde_json::from_slice(&fs::read(scene.path(path)).unwrap()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Plays one session of the embedded suite by these roles into a folder; what it printed.
fn played(
    scene: &Scene,
    server: &MockServer,
    out: &str,
    [agent, user, judge]: [&str; 3],
) -> Output {
    let suite = short();
    let first = ["run", suite.to_str().unwrap(), "--out", out];
    let roles = ["--agent", agent, "--user", user, "--judge", judge];
    let output = run(scene, &[&first[..], &SESSION, &roles].concat(), server);
    expect(&output, 0, &[]);
    output
}

#[test]
fn a_real_agent_without_a_named_user_and_judge_is_refused_before_anything_is_written() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let both = "--user openai/m --judge openai/m";
    for (args, missing) in [
        (&["run", suite, "--agent", "openai/m"][..], both),
        (
            &["run", suite, "--agent", "openai/m", "--record", "tape"],
            both,
        ),
        (&["run", suite, "--agent", "openai/m", "--dry-run"], both),
        (
            &["run", suite, "--agent", "openai/m", "--print-config"],
            both,
        ),
        (&["run", suite, "--set", "agent=openai/m"], both),
        (
            &["run", suite, "--agent", "nop", "--agent", "openai/m"],
            both,
        ),
        (
            &["run", suite, "--agent", "openai/m", "--user", "openai/m"],
            "--judge openai/m",
        ),
        (
            &[
                "run",
                suite,
                "--agent",
                "openai/m",
                "--set",
                "judge=lexical",
            ],
            "--user openai/m",
        ),
        (
            &["serve", suite, "--stdio"],
            "--user PROVIDER/MODEL --judge PROVIDER/MODEL",
        ),
    ] {
        let typed = format!("pibench-host {} {missing}\n", args.join(" "));
        expect(&scene.run(args), 2, &[&typed, "`lexical`", PATTERNS]);
    }
    assert_eq!(fs::read_dir(scene.dir.path()).unwrap().count(), 0);
    let doctor = scene.run(&["doctor", suite, "--agent", "openai/m"]);
    assert_eq!(doctor.status.code(), Some(3));
    let said = stdout(&doctor);
    let problem =
        "failed to play `openai/m` without a user and a judge; --user openai/m --judge openai/m";
    assert!(flowed(&said).contains(problem), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_that_is_told_plays_and_so_does_a_suite_that_names_both() {
    let scene = Scene::new().with_short();
    let server = server(play).await;
    let suite = ["run", "tasks/suite.toml", "--agent", "openai/m"];
    let refused = scene.run(&[&suite[..], &SESSION, &["--out", "a b"]].concat());
    expect(&refused, 2, &["--out 'a b' --user"]);
    let said = stderr(&refused);
    let line = said.lines().find(|line| line.contains("pibench-host run"));
    let line = line.unwrap().replace("'a b'", "told");
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    expect(&run(&scene, &words, &server), 0, &[]);
    assert!(scene.path("told/results.json").exists());
    scene.replace(
        "tasks/suite.toml",
        "seed = 1",
        "seed = 1\nuser = \"lexical\"\njudge = \"lexical\"",
    );
    let output = run(&scene, &[&suite[..], &SESSION].concat(), &server);
    expect(&output, 0, &["User and judge by patterns:"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_patterns_judged_is_marked_wherever_a_score_is_shown() {
    let scene = Scene::new();
    let server = server(play).await;
    let model = "openai/m";
    let whole = played(&scene, &server, "whole", [model; 3]);
    assert!(!format!("{}{}", stdout(&whole), stderr(&whole)).contains("patterns"));
    let shown = played(&scene, &server, "run", [model, "lexical", "lexical"]);
    for said in [stdout(&shown), stderr(&shown)] {
        assert!(
            flowed(&said).contains("User and judge by patterns:"),
            "{said}"
        );
    }
    let table = stdout(&shown);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    for file in ["run/manifest.json", "run/results.json"] {
        let record = read(&scene, file);
        let players = json!({ "agent": "model", "user": "patterns", "judge": "patterns" });
        assert_eq!(record["players"], players, "{file}");
        assert_eq!(record["protocol_version"], 2, "{file}");
    }
    for format in ["text", "markdown", "csv", "json", "latex"] {
        let said = stdout(&scene.run(&["report", "run", "whole", "--format", format]));
        assert!(
            said.contains("openai/m (run) (by patterns)"),
            "{format}: {said}"
        );
        assert!(
            said.contains("This is so for: openai/m (run)."),
            "{format}: {said}"
        );
        assert!(!said.contains("(whole) (by"), "{format}: {said}");
    }
    let text = stdout(&scene.run(&["report", "run", "whole"]));
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let blocks = [
        "openai/m (whole) (chosen sessions)  ",
        APART,
        "openai/m (run) (by",
        "published, not",
    ];
    let table = text.find("Table 1").unwrap();
    let places = blocks.map(|part| table + text[table..].find(part).unwrap());
    assert!(places.is_sorted() && place("Table 2") > places[3], "{text}");
    expect(
        &scene.run(&["report", "run", "whole", "--out", "out"]),
        0,
        &[],
    );
    for figure in ["figure-3", "figure-4"] {
        let svg = fs::read_to_string(scene.path(&format!("out/figures/{figure}.svg"))).unwrap();
        assert!(svg.contains("openai/m (run) (by patterns)"), "{figure}");
        assert!(
            svg.contains("Triangle: scripted or by patterns"),
            "{figure}"
        );
        assert!(svg.contains("<polygon"), "{figure}");
    }
    let records = ["run", "whole"].map(|dir| RunRecord::read_finished(&scene.path(dir)).unwrap());
    let index = json!(index(&Report::new(records.into(), &[], 1).unwrap()));
    // What models judged stands first.
    assert_eq!(index["runs"][0]["marks"], json!([]));
    assert_eq!(index["runs"][1]["marks"], json!([PATTERNS]));
    assert_eq!(index["runs"][1]["label"], "openai/m (run) (by patterns)");
    let caution = index["comparisons"][0]["cautions"][0].as_str().unwrap();
    assert!(
        caution.starts_with("Judged by patterns on one side"),
        "{caution}"
    );
    let shown = stdout(&scene.run(&["show", "--once", "run"]));
    assert!(shown.contains("openai/m (by patterns)"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_across_kinds_of_judges_says_so_above_and_below() {
    let scene = Scene::new();
    let server = server(play).await;
    let model = "openai/m";
    for (out, roles) in [
        ("one", [model; 3]),
        ("two", [model; 3]),
        ("patterns", [model, "lexical", "lexical"]),
        ("user", [model, "lexical", model]),
        ("other", [model, model, "openai/n"]),
    ] {
        played(&scene, &server, out, roles);
    }
    let compared = |a: &str, b: &str| {
        let json = stdout(&scene.run(&["compare", a, b, "--json"]));
        let json: Value = serde_json::from_str(&json).unwrap();
        (
            stdout(&scene.run(&["compare", a, b])),
            json["cautions"].clone(),
        )
    };
    let (text, cautions) = compared("one", "two");
    assert!(
        !text.contains("patterns") && cautions == json!([]),
        "{text}"
    );
    let (text, cautions) = compared("one", "patterns");
    let caution = "Judged by patterns on one side and by models on the other";
    assert_eq!(text.matches(caution).count(), 2, "{text}");
    assert!(text.contains("patterns (openai/m, by patterns)"), "{text}");
    assert!(
        cautions[0].as_str().unwrap().contains(caution),
        "{cautions}"
    );
    let user = "The user was patterns on one side and a model on the other";
    assert!(cautions[1].as_str().unwrap().contains(user), "{cautions}");
    // Who was patterns is told, and of whom that is not so nothing.
    let (text, cautions) = compared("one", "user");
    assert!(text.contains("user (openai/m, user by patterns)"), "{text}");
    assert!(!text.to_lowercase().contains("judged by"), "{text}");
    assert!(cautions[0].as_str().unwrap().contains(user), "{cautions}");
    let (text, cautions) = compared("one", "other");
    assert!(
        text.contains("Beside their agents the runs differ in `judge`"),
        "{text}"
    );
    assert_eq!(cautions.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_before_a_real_judge_and_a_real_run_that_patterns_grade_are_marked() {
    let scene = Scene::new();
    let server = server(play).await;
    let shown = played(&scene, &server, "nop", ["nop", "openai/m", "openai/m"]);
    assert!(
        stdout(&shown).contains("Scripted agent:"),
        "{}",
        stdout(&shown)
    );
    assert_eq!(read(&scene, "nop/results.json")["scripted"], false);
    let report = stdout(&scene.run(&["report", "nop"]));
    assert!(
        report.contains(APART) && report.contains("nop (scripted agent)"),
        "{report}"
    );

    played(&scene, &server, "whole", ["openai/m"; 3]);
    let grade = ["grade", "whole", "--judge", "lexical", "--out", "graded"];
    let graded = run(&scene, &grade, &server);
    expect(&graded, 0, &[]);
    assert!(stdout(&graded).contains("Judged by patterns:"));
    let manifest = read(&scene, "graded/manifest.json");
    let players = json!({ "agent": "model", "user": "model", "judge": "patterns" });
    assert_eq!(manifest["players"], players);
    let models = manifest["models"].as_object().unwrap();
    assert_eq!(models.keys().collect::<Vec<_>>(), ["agent", "user"]);
    let report = stdout(&scene.run(&["report", "graded"]));
    assert!(report.contains("openai/m (judged by patterns)"), "{report}");
    expect(&run(&scene, &["verify", "graded"], &server), 0, &[]);
}

/// Their names say who played.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_before_there_were_players_are_marked_too() {
    let scene = Scene::new();
    let server = server(play).await;
    played(&scene, &server, "run", ["openai/m", "lexical", "lexical"]);
    for file in ["run/manifest.json", "run/results.json"] {
        let mut record = read(&scene, file);
        for key in ["players", "protocol_version"] {
            assert!(record.as_object_mut().unwrap().remove(key).is_some());
        }
        fs::write(scene.path(file), record.to_string()).unwrap();
    }
    let report = stdout(&scene.run(&["report", "run"]));
    let name = "openai/m (by patterns) (protocol version 1)";
    assert!(report.contains(name), "{report}");
}
