//! What authors of plugins use: new projects build, pass their tests and the standard suite, and score in their example;
//! our own plugins pass the suite too; the guide's commands work as they are written.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

use crate::scene::{Scene, cache, carries, expect, hostile, root, stderr};

/// A folder of this name that is the same in every run, so that cargo builds a project anew and keeps nothing of the
/// last one.
fn folder(name: &str) -> PathBuf {
    let folder = root().join("target/tmp/authors").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A shell in a folder, with the program on its path and without a network. Crates are those of the workspace: they are
/// there already.
fn shell(folder: &Path, script: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin("pibench-host");
    let beside = program.parent().unwrap().to_str().unwrap();
    let path = format!("{beside}:{}", std::env::var("PATH").unwrap());
    Command::new("sh")
        .args(["-euc", script])
        .current_dir(folder)
        .env("PATH", path)
        .env("PIBENCH_CACHE", cache())
        .env("CARGO_TARGET_DIR", root().join("target"))
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .unwrap()
}

#[track_caller]
fn succeeds(folder: &Path, script: &str) -> String {
    let output = shell(folder, script);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    said
}

/// Proc and Comp of a project's example under an agent.
fn scores(project: &Path, agent: &str) -> (f64, f64) {
    let script = format!(
        "pibench-host run example/suite.toml --policy policy.toml --agent {agent} --out run-{agent} --json"
    );
    let results: Value = serde_json::from_str(&succeeds(project, &script)).unwrap();
    (
        results["proc"].as_f64().unwrap(),
        results["comp"].as_f64().unwrap(),
    )
}

fn check_example(project: &Path) {
    let policy = std::fs::read_to_string(project.join("policy.toml")).unwrap();
    assert!(policy.contains("Without one, both refuse the plugin."));
    for command in ["run example/suite.toml", "check example"] {
        let output = shell(project, &format!("pibench-host {command}"));
        expect(&output, 3, &["no policy says whether it gets that"]);
    }
    succeeds(project, "pibench-host check example --policy policy.toml");
    assert_eq!(scores(project, "reference"), (100.0, 100.0));
    assert_eq!(scores(project, "nop"), (0.0, 0.0));
}

/// The commands of the guide: every `sh` block of its section.
fn guide() -> String {
    let text = std::fs::read_to_string(root().join("plugins/README.md")).unwrap();
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("From nothing to a working grader"))
        .unwrap();
    let blocks: Vec<&str> = section
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 3, "{blocks:?}");
    blocks.concat()
}

#[test]
#[ignore = "builds projects: `make authors`"]
fn the_guides_commands_lead_to_a_working_grader() {
    let folder = folder("guide");
    let said = succeeds(&folder, &guide());
    for part in ["0 failed", "grader", "100.0   100.0", "0.0    0.0"] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    check_example(&folder.join("wrote"));
}

#[test]
#[ignore = "builds projects: `make authors`"]
fn a_new_tool_app_builds_passes_its_tests_and_works() {
    let folder = folder("tool-app");
    succeeds(&folder, "pibench-host plugin new tool-app tally");
    let project = folder.join("tally");
    succeeds(
        &project,
        "cargo test --release; pibench-host plugin build; pibench-host plugin test tally.wasm",
    );
    check_example(&project);
}

#[test]
#[ignore = "builds projects: `make authors`"]
fn new_projects_in_python_build_pass_their_tests_and_work() {
    let venv = root().join("target/venv");
    if !venv.join("bin/componentize-py").exists() {
        eprintln!("skipped: make built no Python plugin here");
        return;
    }
    let folder = folder("python");
    for (world, name, tests, config) in [
        (
            "grader",
            "wrote_py",
            "tests/test_grader.py",
            r#"--config '{"path": "notes/plan.md"}'"#,
        ),
        ("tool-app", "tally_py", "tests/test_app.py", ""),
    ] {
        succeeds(
            &folder,
            &format!("pibench-host plugin new {world} {name} --lang python"),
        );
        let project = folder.join(name);
        let venv = venv.display();
        succeeds(
            &project,
            &format!(
                "python3 -B -m unittest {tests}; pibench-host plugin build --venv {venv}; \
                 pibench-host plugin test {name}.wasm {config}"
            ),
        );
        check_example(&project);
        the_cause_of_a_failed_build_stands_last(&project, &venv.to_string());
    }
}

fn the_cause_of_a_failed_build_stands_last(project: &Path, venv: &str) {
    let script = format!("RUST_BACKTRACE=1 pibench-host plugin build --venv {venv}");
    for (line, cause) in [
        ("x = {}['nothing']", "KeyError: 'nothing'"),
        ("def broken(:", "SyntaxError: invalid syntax"),
        (
            "import nowhere",
            "ModuleNotFoundError: No module named 'nowhere'",
        ),
    ] {
        let plugin = project.join("src/plugin.py");
        let whole = std::fs::read_to_string(&plugin).unwrap();
        std::fs::write(&plugin, format!("{line}\n{whole}")).unwrap();
        let output = shell(project, &script);
        std::fs::write(&plugin, whole).unwrap();
        expect(&output, 3, &["\"src/plugin.py\", line 1", line]);
        let said = stderr(&output);
        assert_eq!(
            said.lines().last(),
            Some(&*format!("error: failed to build .: {cause}"))
        );
        assert!(said.lines().count() < 12, "{said}");
    }
}

/// Configurations that our graders must take.
const CONFIGS: [(&str, &[&str]); 2] = [
    (
        "rules",
        &[
            r#"{"called": {"tool": "gmail__send_email", "count": {"max": 2}}}"#,
            r#"{"all": [{"file": {"path": "notes/*.md"}}, {"not": {"said": {"text": {"contains": "sent"}}}}]}"#,
            r#"{"app": {"name": "simple_note", "records": "notes", "where": {"title": {"contains": "plan"}}}}"#,
        ],
    ),
    (
        "python",
        &[
            r#"{"script": "def score(history):\n    return {'many': len(history) > 3, 'any': bool(history)}\n"}"#,
        ],
    ),
];

#[test]
fn our_own_plugins_pass_the_standard_suite() {
    let scene = Scene::new();
    for app in [
        "amazon",
        "file_system",
        "gmail",
        "phone",
        "simple_note",
        "splitwise",
        "spotify",
        "todoist",
    ] {
        passes(&scene, app, &[]);
    }
    for (grader, configs) in CONFIGS {
        passes(&scene, grader, configs);
    }
}

#[track_caller]
fn passes(scene: &Scene, name: &str, configs: &[&str]) {
    let file = root().join(format!("target/plugins/{name}.wasm"));
    if name == "python" && !file.exists() {
        eprintln!("skipped: make built no Python plugin here");
        return;
    }
    let mut args = vec!["plugin", "test", file.to_str().unwrap()];
    args.extend(configs.iter().flat_map(|config| ["--config", config]));
    let output = scene.run(&args);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert!(said.contains("ok    determinism"), "{said}");
}

#[test]
fn our_apps_answer_the_calls_of_their_conformance_files() {
    let scene = Scene::new();
    for app in [
        "amazon",
        "file_system",
        "gmail",
        "phone",
        "simple_note",
        "splitwise",
        "spotify",
        "todoist",
    ] {
        let file = root().join(format!("target/plugins/{app}.wasm"));
        let calls = root().join(format!("plugins/{app}/conformance.jsonl"));
        let run = |calls: &Path| {
            let calls = calls.to_str().unwrap();
            scene.run(&["plugin", "test", file.to_str().unwrap(), "--calls", calls])
        };
        let output = run(&calls);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
        let text = std::fs::read_to_string(&calls).unwrap();
        let wrong = scene.write(
            "wrong.jsonl",
            &text.replace("\"status\":422", "\"status\":421"),
        );
        let output = run(&wrong);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(
            said.contains("FAIL  calls: line ") && said.contains("instead of 421"),
            "{said}"
        );
    }
}

#[test]
fn hostile_plugins_fail_the_standard_suite() {
    let scene = Scene::new();
    for (name, failed) in [
        ("app", "FAIL  limits: loop"),
        ("grader", "FAIL  bad configurations"),
    ] {
        let output = scene.run(&["plugin", "test", hostile(name).to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(failed), "{said}");
    }
}

#[test]
fn an_app_answers_calls_line_by_line() {
    let scene = Scene::new();
    let person =
        r#"{"first_name": "A", "last_name": "B", "email": "a@b.example", "password": "p"}"#;
    scene.write(
        "seed.json",
        &format!(r#"{{"people": [{person}], "records": {{}}}}"#),
    );
    let app = root().join("target/plugins/simple_note.wasm");
    let call = |lines: &str| {
        let mut command = scene.command(&[
            "plugin",
            "call",
            app.to_str().unwrap(),
            "--seed",
            "seed.json",
        ]);
        scene.write("calls", lines);
        command.stdin(std::fs::File::open(scene.path("calls")).unwrap());
        command.output().unwrap()
    };
    let login = r#"{"call": "login", "arguments": {"username": "a@b.example", "password": "p"}}"#;
    let output = call(&format!(
        "{login}\n{{\"call\": \"show_note\", \"arguments\": {{}}}}\n"
    ));
    expect(&output, 0, &[]);
    let lines: Vec<Value> = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["status"], 200);
    assert_eq!(lines[0]["answer"]["token_type"], "Bearer");
    assert_eq!(lines[1]["status"], 401);
    let output = call(&format!("{login}\nnot a call\n"));
    expect(&output, 3, &["read line 2 of stdin"]);
}

#[test]
fn a_plugin_is_shown_from_the_outside() {
    let scene = Scene::new();
    let app = root().join("target/plugins/simple_note.wasm");
    let output = scene.run(&["plugin", "inspect", app.to_str().unwrap()]);
    expect(&output, 0, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "simple_note: tool-app",
        "pibench:plugin 0.1.0",
        "asks for clock",
        "pibench:plugin/clock@0.1.0",
        "simple_note__create_note(title, content, tags?, pinned?, access_token?)",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    // One of the program's own is found by its name.
    let named = scene.run(&["plugin", "inspect", "simple_note"]);
    expect(&named, 0, &[]);
    assert_eq!(String::from_utf8(named.stdout).unwrap(), said);
    for none in ["simple_notes", "./simple_note"] {
        let output = scene.run(&["plugin", "inspect", none]);
        expect(&output, 3, &["there is no such file"]);
    }
    if carries() {
        let alone = scene.alone(&["plugin", "inspect", "simple_note"]).output();
        let said = String::from_utf8(alone.unwrap().stdout).unwrap();
        assert!(said.contains("simple_note__create_note("), "{said}");
    }
    let grader = root().join("target/plugins/rules.wasm");
    let config = r#"{"called": {"tool": "read_file"}}"#;
    let output = scene.run(&[
        "plugin",
        "inspect",
        grader.to_str().unwrap(),
        "--config",
        config,
        "--json",
    ]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["version"], 1);
    assert_eq!(shown["world"], "grader");
    assert_eq!(shown["checks"], serde_json::json!(["met"]));
    assert_eq!(shown["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(
        shown["size"].as_u64().unwrap(),
        grader.metadata().unwrap().len()
    );
}

#[test]
fn a_name_that_is_none_a_folder_that_is_there_and_a_missing_sdk_are_refused() {
    let scene = Scene::new();
    expect(
        &scene.run(&["plugin", "new", "grader", "../evil"]),
        2,
        &["../evil", "lower case"],
    );
    expect(
        &scene.run(&["plugin", "new", "grader", "gmail"]),
        2,
        &["gmail", "taken", "the host has a plugin of this name"],
    );
    expect(
        &scene.run(&["plugin", "new", "tool-app", "shell"]),
        2,
        &["shell", "taken", "the host has a plugin of this name"],
    );
    expect(
        &scene.run(&["plugin", "new", "tool-app", "test"]),
        2,
        &["test", "taken", "Rust has this word for itself"],
    );
    scene.write("there/file", "");
    expect(
        &scene.run(&["plugin", "new", "grader", "wrote", "--out", "there"]),
        4,
        &["there already"],
    );
    expect(
        &scene.run(&["plugin", "new", "grader", "wrote", "--sdk", "there"]),
        3,
        &["pibench-sdk in there", "--sdk DIR"],
    );
    let alone = ["plugin", "new", "grader", "wrote"];
    let alone = scene.alone(&alone).output().unwrap();
    expect(
        &alone,
        3,
        &[
            "pibench-sdk: it is plugins/sdk of a checkout",
            "--lang python",
        ],
    );
    expect(
        &scene.run(&["plugin", "build", "there"]),
        3,
        &["Cargo.toml"],
    );
    let app = root().join("target/plugins/rules.wasm");
    expect(
        &scene.run(&["plugin", "test", app.to_str().unwrap(), "--config", "{"]),
        2,
        &["--config `{`", "no JSON"],
    );
    let long = "{".repeat(1000);
    let output = scene.run(&[
        "plugin",
        "inspect",
        app.to_str().unwrap(),
        "--config",
        &long,
    ]);
    expect(&output, 2, &["{{{ ...`: no JSON"]);
    assert!(output.stderr.len() < 200, "it is not echoed whole");
    assert!(!scene.path("wrote").exists());
}
