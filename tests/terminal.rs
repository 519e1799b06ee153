//! What stands in a terminal: tables that fit it, words that say what is wrong and what to do, and how far a run is.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scene::{Scene, expect, flowed, output, root, stderr};

fn said(scene: &Scene, args: &[&str]) -> String {
    let output = scene.run(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of tables, by what they are drawn with, and those beside them.
fn check_whole_width(text: &str) {
    check_width(text);
    let wide = text.lines().filter(|line| line.chars().count() > 80);
    // A word is copied whole.
    let wide: Vec<&str> = wide
        .filter(|line| line.split_whitespace().count() > 1)
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
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
    check_width(&said(&scene, &["show", "--once", "reference"]));
}

#[test]
fn tables_follow_the_terminal() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let played = [
        "run",
        "mine/suite.toml",
        "--agent",
        "reference",
        "--out",
        "a",
    ];
    said(&scene, &played);
    let widest = |columns: usize| {
        let lines = on_terminal_of(columns, &scene, "report a --all", &[]);
        let frames = lines.iter().filter(|line| line.starts_with('┌'));
        frames.map(|line| line.chars().count()).max().unwrap()
    };
    let (narrow, usual, wide) = (widest(60), widest(80), widest(200));
    assert!(narrow <= 60 && usual <= 80, "{narrow} {usual}");
    assert!((81..=200).contains(&wide), "{wide}");
}

#[test]
fn the_notes_of_reports_and_comparisons_fit_a_terminal_of_80_columns() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let long =
        "a-folder-with-a-name-that-is-so-long-that-it-is-wider-than-a-terminal-of-eighty-columns";
    for (agent, out) in [("reference", "a"), ("reactive", long)] {
        let args = ["run", "mine/suite.toml", "--agent", agent, "--out", out];
        said(&scene, &args);
    }
    for args in [
        &["compare", "a", long][..],
        &["report", "a"],
        &["report", "a", long],
        &["report", "a", "--all"],
    ] {
        check_whole_width(&said(&scene, args));
    }
    let text = said(&scene, &["compare", "a", long]);
    assert!(text.contains(long), "{text}");
}

/// What a terminal of 80 columns was shown of a command, line by line, without what moves and colours it.
fn on_terminal(scene: &Scene, command: &str) -> Vec<String> {
    on_terminal_with(scene, command, &[])
}

/// The same with more variables of the environment.
fn on_terminal_with(scene: &Scene, command: &str, more: &[(&str, &str)]) -> Vec<String> {
    on_terminal_of(80, scene, command, more)
}

/// The same of a terminal with so many columns.
fn on_terminal_of(
    columns: usize,
    scene: &Scene,
    command: &str,
    more: &[(&str, &str)],
) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_pibench-host");
    let script = format!("stty cols {columns} rows 50; exec {program} {command}");
    let mut terminal = scene.started_here("script");
    terminal
        .args(["-qefc", &script, "typescript"])
        .env("TERM", "xterm")
        .env("OPENAI_API_KEY", crate::models::KEY)
        .envs(more.iter().copied());
    let shown = output(&mut terminal);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let moves = regex::Regex::new("\x1b\\[[0-9;?]*[A-Za-z]").unwrap();
    let lines = moves.replace_all(&shown, "\n");
    lines.lines().map(|line| line.trim().to_owned()).collect()
}

/// It takes a while on a first run, before there is anything else to show.
#[test]
fn a_clock_moves_while_plugins_are_compiled() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let command = format!(
        "run {} --session corrie-extension --out run",
        suite.display()
    );
    let cache = scene.path("cache");
    let shown = on_terminal_with(
        &scene,
        &command,
        &[("PIBENCH_CACHE", cache.to_str().unwrap())],
    );
    let clock = regex::Regex::new(r"^compiling \d+ plugins, once  (\d+s)$").unwrap();
    let times = shown.iter().filter_map(|line| clock.captures(line));
    let times: std::collections::BTreeSet<String> = times.map(|found| found[1].into()).collect();
    assert!(times.len() > 1, "the clock stood still: {shown:#?}");
    let told = |part: &str| shown.iter().any(|line| line.contains(part));
    for part in ["compiled rules: ", "compiled gmail: "] {
        assert!(told(part), "`{part}` is not in {shown:#?}");
    }
}

/// The first session has a judge that cannot be read, and no score; the others are judged.
#[tokio::test(flavor = "multi_thread")]
async fn the_live_line_shows_no_score_that_the_table_withholds() {
    let scene = Scene::new();
    let server = MockServer::start().await;
    let slow = Duration::from_millis(150);
    let answer = move |request: &Request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let answer = if text.contains("Corrie") && !text.contains("check of the connection") {
            crate::models::text("Looks fine!")
        } else {
            crate::models::play(request)
        };
        answer.set_delay(slow)
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let suite = root().join("tasks/suite.toml");
    let command = format!(
        "run {} --session corrie-extension --session filing-board --session intake-notes --user lexical --judge openai/m --runs 1 --set \
         'providers.openai.base_url=\"{}/v1\"' --out run",
        suite.display(),
        server.uri(),
    );
    let shown = on_terminal(&scene, &command);
    let at = |part: &str| {
        let found = shown.iter().position(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {shown:#?}"))
    };
    let of = |session: &str| format!("law_trainee/{session} run 1: ");
    let first = &shown[at(&of("corrie-extension"))];
    assert!(
        first.contains("judge_fault") && first.contains("Proc -, Comp -"),
        "{first}"
    );
    // The line moved while nothing had a score, and told none; then it told that of those that have one.
    let scored = shown.iter().position(|line| line.contains("so far"));
    let scored = scored.unwrap_or_else(|| panic!("{shown:#?}"));
    let second = at(&of("filing-board"));
    assert!(scored >= second, "{shown:#?}");
    let moved = shown[at(&of("corrie-extension"))..second].iter();
    assert!(
        moved.clone().any(|line| line.contains("at work")),
        "{shown:#?}"
    );
    let line = &shown[second];
    let own = line.split("Proc ").nth(1).unwrap().split(',').next();
    let means = shown.iter().filter(|line| line.contains("so far"));
    for mean in means {
        assert!(
            mean.contains(&format!("Proc {} so far", own.unwrap())),
            "{mean}"
        );
    }
    let row = shown
        .iter()
        .rfind(|line| line.contains("│   corrie-extension"));
    let row: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(row[3..6], ["-", "-", "-"], "{row:?}");
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
        flowed(&text).contains("A and B are the same run folder"),
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
fn an_address_that_is_none_is_told_in_the_words_of_its_option() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let want = "want http://HOST:PORT/v1 or https://HOST/v1";
    for (url, told) in [
        ("127.0.0.1:8000/v1", "use --base-url `127.0.0.1:8000/v1`: "),
        ("https:///v1", "use --base-url `https:///v1`: "),
        ("", "use --base-url (it is empty): "),
        ("me:hidden@host/v1", "use --base-url: "),
    ] {
        let args = ["--agent", "lab/m", "--base-url", url];
        let output = scene.run(&[&["run", "mine/suite.toml"], &args[..]].concat());
        expect(&output, 2, &[told, want]);
        let said = stderr(&output);
        assert!(
            !said.contains("hidden") && !said.contains("--set"),
            "{said}"
        );
    }
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

/// What cannot be written is told once, and not as a bug; what was played is there all the same.
#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let scene = Scene::new();
    let suite = crate::scene::short();
    let run = [
        "run",
        suite.to_str().unwrap(),
        "--agent",
        "nop",
        "--out",
        "run",
    ];
    let to = |redirected: &str, args: &[&str]| {
        scene
            .command_after(&format!("exec > {redirected}"), args)
            .output()
            .unwrap()
    };
    for args in [&run[..], &["report", "run"], &["list"], &["verify", "run"]] {
        let output = to("/dev/full", args);
        expect(&output, 4, &["write to standard output: No space left"]);
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    }
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    expect(&to("/dev/null", &["report", "run"]), 0, &[]);
}
