//! What begins a suite of one's own: it passes `check` as it is written, and is what lists and completions say.

use serde_json::Value;

use crate::scene::{Scene, expect, output, stderr};

fn sessions(scene: &Scene, suite: &str) -> Vec<(String, String)> {
    let output = scene.run(&["list", "sessions", suite, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let all = listed.as_array().unwrap().iter();
    all.map(|one| (text(one, "persona"), text(one, "id")))
        .collect()
}

#[test]
fn a_new_suite_persona_and_session_pass_check() {
    let scene = Scene::new();
    let long = "what-the-movers-are-told-before-they-come-on-friday";
    for args in [
        &["suite", "new", "mine"][..],
        &["session", "new", "mine/personas/first", "second"],
        &["persona", "new", "mine/suite.toml", "neighbour"],
        &["session", "new", "mine/personas/neighbour", "another"],
        &["session", "new", "mine/personas/neighbour", long],
    ] {
        expect(&scene.run(args), 0, &["pibench-host check mine/suite.toml"]);
    }
    let found = sessions(&scene, "mine/suite.toml");
    let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(
        found,
        [
            ("first", "first"),
            ("first", "second"),
            ("neighbour", "neighbour-plan"),
            ("neighbour", "another"),
            ("neighbour", long),
        ]
    );
    let output = scene.run(&["check", "mine/suite.toml"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert_eq!(
        stderr(&output).matches("warning").count(),
        0,
        "{}",
        stderr(&output)
    );
}

#[test]
fn nothing_is_drafted_over_a_file_or_under_a_name_that_is_no_id() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let before = std::fs::read(scene.path("mine/suite.toml")).unwrap();
    expect(
        &scene.run(&["suite", "new", "mine"]),
        4,
        &["it is there already"],
    );
    let again = ["persona", "new", "mine/suite.toml", "first"];
    expect(&scene.run(&again), 4, &["it is there already"]);
    for bad in ["../out", "Big", "a b"] {
        let args = ["session", "new", "mine/personas/first", bad];
        expect(&scene.run(&args), 3, &["an id has 1 to 64"]);
    }
    let absent = ["persona", "new", "none/suite.toml", "second"];
    expect(&scene.run(&absent), 3, &["none"]);
    assert_eq!(
        std::fs::read(scene.path("mine/suite.toml")).unwrap(),
        before
    );
}

#[test]
fn lists_with_comments_take_one_more() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let entry = "{ session = \"first\" }";
    let long = format!("\n    {entry} # the move, with \"#\" and ]\n");
    scene.replace("mine/personas/first/persona.toml", entry, &long);
    let first = "\"personas/first\"";
    let long = format!("\n    {first} # Ida\n    # nobody else\n");
    scene.replace("mine/suite.toml", first, &long);
    let session = ["session", "new", "mine/personas/first", "second"];
    expect(&scene.run(&session), 0, &[]);
    // The suite's folder does, as for `check`.
    let persona = ["persona", "new", "mine", "neighbour"];
    expect(&scene.run(&persona), 0, &["pibench-host check mine"]);
    let found = sessions(&scene, "mine");
    let found: Vec<&str> = found.iter().map(|(_, id)| &**id).collect();
    assert_eq!(found, ["first", "second", "neighbour-plan"]);
}

#[test]
fn a_new_session_brings_the_file_that_its_persona_lost() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let persona = "mine/personas/first/persona.toml";
    scene.replace(persona, "files = [{ source = \"house.md\" }]\n", "");
    std::fs::remove_dir_all(scene.path("mine/personas/first/sessions/first")).unwrap();
    scene.replace(persona, "{ session = \"first\" }", "");
    for id in ["second", "third"] {
        let session = ["session", "new", "mine/personas/first", id];
        expect(&scene.run(&session), 0, &[]);
    }
    let output = scene.run(&["check", "mine"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));
}

#[test]
fn no_session_opens_after_the_last_day() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let first = "mine/personas/first/sessions/first/session.toml";
    let session = ["session", "new", "mine/personas/first", "second"];
    scene.replace(first, "2026-03-02T09:00:00", "9999-12-31T23:00:00");
    let told = &["9999-12-31T23:00:00", "an earlier `clock`"];
    expect(&scene.run(&session), 3, told);
    scene.replace(first, "9999-12-31T23:00:00", "9999-12-30T23:00:00");
    expect(&scene.run(&session), 0, &[]);
}

#[test]
fn a_session_wants_the_folder_of_a_persona_that_reads() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    for suite in ["mine", "mine/suite.toml"] {
        let told = &["the folder of a persona", "mine/personas/first"];
        expect(&scene.run(&["session", "new", suite, "x"]), 3, told);
    }
    let persona = "mine/personas/first/persona.toml";
    scene.replace(persona, "version = 1\n", "version = 1\nname = \n");
    let session = ["session", "new", "mine/personas/first", "second"];
    expect(&scene.run(&session), 3, &["persona.toml:3:"]);
    scene.replace(persona, "name = \n", "");
    expect(&scene.run(&session), 0, &[]);
}

#[test]
fn the_next_step_of_a_session_that_is_made_in_its_folder_names_the_suite() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let mut command = scene.command(&["session", "new", ".", "second"]);
    command.current_dir(scene.path("mine/personas/first"));
    expect(&output(&mut command), 0, &["mine/suite.toml"]);
}

#[test]
fn a_suite_is_listed_for_people_and_programs() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let output = scene.run(&["list", "sessions", "mine/suite.toml"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("A plan for the move"), "{said}");
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
    let output = scene.run(&["list", "--json", "mine/suite.toml"]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["total"]["sessions"], 1);
    assert_eq!(listed["personas"][0]["id"], "first");
    assert_eq!(listed["sessions"][0]["id"], "first");
    assert_eq!(listed["sessions"][0]["category"], "A");
    // A suite may be named by its folder.
    let by_folder = scene.run(&["list", "--json", "mine"]);
    assert_eq!(by_folder.stdout, output.stdout);
    expect(
        &scene.run(&["run", "mine", "--agent", "nop", "--out", "run"]),
        0,
        &[],
    );
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    expect(&scene.run(&["list", "nowhere"]), 3, &["nowhere"]);
}

#[test]
fn shells_complete_and_man_reads_every_command() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = scene.run(&["completions", shell]);
        expect(&output, 0, &[]);
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(script.contains("trajectory"), "{shell}");
    }
    expect(&scene.run(&["completions", "cmd"]), 2, &["possible values"]);
    let page = String::from_utf8(scene.run(&["man"]).stdout).unwrap();
    assert!(page.contains(".TH pibench-host 1"), "{page}");
    expect(&scene.run(&["man", "--out", "pages"]), 0, &[]);
    for page in [
        "pibench-host.1",
        "pibench-host-run.1",
        "pibench-host-plugin-new.1",
    ] {
        assert!(scene.path("pages").join(page).is_file(), "{page}");
    }
}

/// What --print-config says of the suite's settings.
fn config(scene: &Scene, args: &[&str], variables: &[(&str, &str)]) -> String {
    let args = [
        &["run", "mine/suite.toml", "--print-config", "--json"],
        args,
    ]
    .concat();
    let output = scene.run_with(&args, variables);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_first_try_needs_no_settings_in_a_file() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let judged = ["--user", "lexical", "--judge", "lexical"];
    let url = "http://127.0.0.1:9/v1";
    let own = [
        "--agent",
        "lab/small",
        "--base-url",
        url,
        "--temperature",
        "0.25",
    ];
    let said = config(&scene, &[&own[..], &judged].concat(), &[]);
    for part in ["providers.lab.base_url", url, "thinking", "0.25", "small"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A provider that is known keeps its habits, and its key where there is one.
    let known = [
        "--agent",
        "openai/small",
        "--base-url",
        url,
        "--max-output-tokens",
        "77",
    ];
    let args = [&known[..], &judged].concat();
    let said = config(&scene, &args, &[("OPENAI_API_KEY", "")]);
    assert!(
        said.contains("providers.openai-for-agent.base_url"),
        "{said}"
    );
    assert!(!said.contains("providers.openai.base_url"), "{said}");
    assert!(
        said.contains("max_completion_tokens") && said.contains("77"),
        "{said}"
    );
    assert!(!said.contains("OPENAI_API_KEY"), "{said}");
    let said = config(&scene, &args, &[("OPENAI_API_KEY", "secret-of-mine")]);
    assert!(
        said.contains("OPENAI_API_KEY") && !said.contains("secret-of-mine"),
        "{said}"
    );
    let scripted = [
        "run",
        "mine/suite.toml",
        "--agent",
        "nop",
        "--temperature",
        "1",
    ];
    expect(&scene.run(&scripted), 2, &["`nop`", "scripted"]);
}

#[test]
fn quiet_says_nothing_and_verbose_says_more() {
    let scene = Scene::new();
    expect(&scene.run(&["suite", "new", "mine"]), 0, &[]);
    let said = |option: &[&str], out: &str| {
        let args = [&["run", "mine/suite.toml", "--out", out], option].concat();
        let output = scene.run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("overall"));
        stderr(&output)
    };
    assert_eq!(said(&["-q"], "a"), "");
    let usual = said(&[], "b");
    assert!(usual.contains("Run folder: "), "{usual}");
    let more = said(&["-v"], "c");
    assert!(
        more.contains("session") && more.len() > usual.len(),
        "{more}"
    );
}
