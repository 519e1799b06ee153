//! Every setting of a suite can be set on the command line, is shown with where it comes from, and belongs to the run.

use serde_json::Value;

use crate::documents::docx;
use crate::scaffold::suite;
use crate::scene::{Scene, expect, root, short, stderr};

const SUITE: &str = "tasks/suite.toml";

/// Value and origin of a setting.
fn shown(scene: &Scene, args: &[&str], key: &str) -> (Value, String) {
    let output = scene.run(&[&["run", SUITE, "--print-config", "--json"], args].concat());
    expect(&output, 0, &[]);
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let row = rows.iter().find(|row| row["key"] == key);
    let row = row.unwrap_or_else(|| panic!("no {key} in {rows:#?}"));
    (
        row["value"].clone(),
        row["from"].as_str().unwrap().to_owned(),
    )
}

fn check(scene: &Scene, args: &[&str], key: &str, value: impl Into<Value>, from: &str) {
    assert_eq!(
        shown(scene, args, key),
        (value.into(), from.to_owned()),
        "{args:?} {key}"
    );
}

#[test]
fn each_setting_says_its_value_and_where_that_comes_from() {
    let scene = Scene::new().with_short();
    scene.replace(
        SUITE,
        "seed = 1",
        "seed = 1\nablate = \"dependencies\"\n[limits.app]\nfuel = 400000000\n[session]\nmax_turns = 7",
    );
    let policy = "version = 1\n[limits.app]\nfuel = 300000000\nwall_ms = 1000\n";
    scene.write("policy.toml", policy);
    check(&scene, &[], "seed", 1, "tasks/suite.toml:5");
    check(&scene, &["--seed", "9"], "seed", 9, "--seed");
    check(&scene, &["--set", "jobs=3"], "jobs", 3, "--set jobs=3");
    let only = ["--set", "filter.personas=[\"law_trainee\"]"];
    let from = "--set filter.personas=[\"law_trainee\"]";
    let personas = serde_json::json!(["law_trainee"]);
    check(&scene, &only, "filter.personas", personas.clone(), from);
    let named = ["--persona", "law_trainee"];
    check(&scene, &named, "filter.personas", personas, "--persona");
    check(&scene, &["--set", "seed=8"], "seed", 8, "--set seed=8");
    check(&scene, &[], "agent", "reference", "default");
    check(&scene, &["--agent", "nop"], "agent", "nop", "--agent");
    check(
        &scene,
        &["--agent", "nop", "--agent", "cheat"],
        "agent",
        "nop,cheat",
        "--agent",
    );
    check(&scene, &[], "session.max_turns", 7, "tasks/suite.toml:10");
    check(
        &scene,
        &["--set", "session.max_turns=3"],
        "session.max_turns",
        3,
        "--set session.max_turns=3",
    );
    check(&scene, &[], "session.max_iterations", 120, "default");
    check(
        &scene,
        &[],
        "session.heartbeat_minutes",
        Value::Null,
        "default",
    );
    check(&scene, &[], "state.reset", "episode", "default");
    check(&scene, &[], "web.corpus", "corpus", "tasks/suite.toml:13");
    check(&scene, &[], "ablate", "dependencies", "tasks/suite.toml:6");
    check(
        &scene,
        &["--ablate", "none"],
        "ablate",
        Value::Null,
        "--ablate",
    );
    check(
        &scene,
        &[],
        "limits.app.fuel",
        400_000_000,
        "tasks/suite.toml:8",
    );
    check(&scene, &[], "limits.app.wall_ms", 2000, "default");
    let policy = scene.path("policy.toml").canonicalize().unwrap();
    let policy = policy.to_str().unwrap();
    let with = ["--policy", "policy.toml"];
    check(&scene, &with, "limits.app.fuel", 300_000_000, policy);
    check(&scene, &with, "limits.app.wall_ms", 1000, policy);
    check(&scene, &with, "policy", policy, "--policy");
    check(&scene, &["--jobs", "3"], "jobs", 3, "--jobs");
    let (digest, _) = shown(&scene, &[], "plugin.rules.sha256");
    assert_eq!(digest.as_str().unwrap().len(), 64);
    let table = scene.run(&["run", SUITE, "--print-config"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("session.max_turns") && table.contains("tasks/suite.toml:10"));
    assert!(!scene.path("runs").exists(), "nothing is played");
}

#[test]
fn each_option_of_how_it_is_played_says_its_value_and_whether_it_was_given() {
    let scene = Scene::new().with_short();
    let usual = "where a real model takes part";
    for (key, args, value, otherwise) in [
        ("sync", &["--sync"][..], "true", usual),
        ("sync", &["--no-sync"], "false", usual),
        ("no-preflight", &["--no-preflight"], "true", "false"),
        ("grace", &["--grace", "60"], "60", "10"),
        ("grace", &["--grace", "10"], "10", "10"),
        ("exit-zero", &["--exit-zero"], "true", "false"),
    ] {
        check(&scene, &[], key, otherwise, "default");
        check(&scene, args, key, value, args[0]);
    }
}

#[test]
fn what_an_option_says_of_the_agents_model_is_not_shown_as_a_set() {
    let scene = Scene::new().with_short();
    scene.replace(
        SUITE,
        "[web]",
        "[models.mine]\nprovider = \"openai\"\nmodel = \"m\"\n[web]",
    );
    let check = |args: &[&str], key: &str, value: Value, from: &str| {
        let played = ["--user", "lexical", "--judge", "lexical"];
        check(&scene, &[&played[..], args].concat(), key, value, from);
    };
    let warm = ["--agent", "mine", "--temperature", "0.5"];
    let temperature = "models.mine.thinking.temperature";
    check(&warm, temperature, 0.5.into(), "--temperature");
    let typed = "models.mine.thinking.temperature=0.5";
    let set = ["--agent", "mine", "--set", typed];
    check(&set, temperature, 0.5.into(), &format!("--set {typed}"));
    let both = [&warm[..], &["--max-output-tokens", "77"]].concat();
    check(&both, temperature, 0.5.into(), "--temperature");
    let most = "models.mine.max_output_tokens";
    check(&both, most, 77.into(), "--max-output-tokens");
    // The entry of a model that has none comes with what is said of it.
    let new = ["--agent", "lab/m", "--base-url", "http://127.0.0.1:9/v1"];
    let new = [&new[..], &["--max-output-tokens", "77"]].concat();
    let url = "http://127.0.0.1:9/v1".into();
    check(&new, "providers.lab.base_url", url, "--base-url");
    let model = "models.as-asked-1.model";
    check(&new, model, "m".into(), "--max-output-tokens");
}

/// What the shape of a suite file offers, each with a value that is not its default.
#[test]
fn every_setting_of_the_suite_can_be_set() {
    let scene = Scene::new().with_short();
    for set in [
        "title=Another",
        "protocol=pi-bench",
        "scaffold=nanobot-0.1.4",
        "agent=nop",
        "user=openai/m",
        "judge=openai/m",
        "runs=2",
        "seed=5",
        "session.max_turns=3",
        "session.max_iterations=4",
        "session.turn_timeout_s=5",
        "session.window_tokens=40000",
        "session.heartbeat_minutes=60",
        "state.reset=session",
        "ablate=dependencies",
    ] {
        let (key, value) = set.split_once('=').unwrap();
        let value = value.parse::<i64>().map_or(Value::from(value), Value::from);
        check(&scene, &["--set", set], key, value, &format!("--set {set}"));
    }
    let rows = scene.run(&["run", SUITE, "--print-config", "--json"]);
    let rows: Vec<Value> = serde_json::from_slice(&rows.stdout).unwrap();
    let top = |row: &Value| {
        row["key"]
            .as_str()
            .unwrap()
            .split('.')
            .next()
            .unwrap()
            .to_owned()
    };
    let tops: Vec<String> = rows.iter().map(top).collect();
    let schema = scene.run(&["schema", "suite"]);
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        let empty = ["plugins", "providers", "models", "agents"];
        assert!(
            tops.contains(key) || empty.contains(&key.as_str()),
            "{key} is not shown"
        );
    }
    let set = [
        "--set",
        "models.mine.provider=openai",
        "--set",
        "models.mine.model=m",
    ];
    let patterns = ["--set", "user=lexical", "--set", "judge=lexical"];
    let set = [&set[..], &["--set", "agent=mine"], &patterns].concat();
    check(
        &scene,
        &set,
        "models.mine.model",
        "m",
        "--set models.mine.model=m",
    );
}

#[test]
fn a_suite_names_the_policy_that_holds_without_another() {
    let scene = Scene::new().with_short();
    let plugins = scene.path("plugins");
    std::fs::create_dir(&plugins).unwrap();
    let rules = root().join("target/plugins/rules.wasm");
    std::fs::copy(rules, plugins.join("rules.wasm")).unwrap();
    let with = ["--plugins", "plugins"];
    let grants = "plugin.rules.grants";
    check(&scene, &with, grants, serde_json::json!([]), "default");
    check(&scene, &with, "policy", Value::Null, "default");

    scene.replace(SUITE, "seed = 1", "seed = 1\npolicy = \"../policy.toml\"");
    expect(
        &scene.run(&["run", SUITE, "--out", "run"]),
        3,
        &["tasks/suite.toml:6", "no such file: tasks/../policy.toml"],
    );
    scene.write(
        "policy.toml",
        "version = 1\n[plugins.rules]\ngrants = [\"workspace\"]\n",
    );
    let path = scene.path("policy.toml").canonicalize().unwrap();
    let path = path.to_str().unwrap();
    check(&scene, &with, "policy", path, "tasks/suite.toml:6");
    let workspace = serde_json::json!(["workspace"]);
    check(&scene, &with, grants, workspace, path);

    let none = scene.write("none.toml", "version = 1\n[limits.app]\nwall_ms = 1000\n");
    let none = none.canonicalize().unwrap();
    let over = [&with[..], &["--policy", "none.toml"]].concat();
    check(&scene, &over, "policy", none.to_str().unwrap(), "--policy");
    check(&scene, &over, grants, serde_json::json!([]), "default");

    let run = [&["run", SUITE, "--out", "run"], &with[..]].concat();
    expect(&scene.run(&run), 0, &[]);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    scene.write("policy.toml", "version = 1\n");
    expect(
        &scene.run(&["run", "--resume", "run"]),
        3,
        &["changed since it was begun: the grants of plugin `rules`"],
    );
}

#[test]
fn a_suites_lock_says_which_plugins_are_meant_wherever_they_lie() {
    let scene = Scene::new().with_short();
    let lock = std::fs::read_to_string(root().join("target/plugins/pibench.lock")).unwrap();
    scene.write("tasks/plugins.lock", &lock);
    let set = ["--set", "lock=plugins.lock"];
    check(
        &scene,
        &set,
        "lock",
        "plugins.lock",
        "--set lock=plugins.lock",
    );
    scene.replace(SUITE, "seed = 1", "seed = 1\nlock = \"plugins.lock\"");
    expect(&scene.run(&["run", SUITE, "--out", "run"]), 0, &[]);
    expect(&scene.run(&["check", SUITE]), 0, &[]);

    let (head, tail) = lock.split_once("name = \"gmail\"").unwrap();
    let (before, digest) = tail.split_once("sha256 = \"").unwrap();
    let other = if digest.starts_with('0') { '1' } else { '0' };
    let changed = format!(
        "{head}name = \"gmail\"{before}sha256 = \"{other}{}",
        &digest[1..]
    );
    let without = format!(
        "{head}name = \"other\"{}",
        tail.replacen("gmail.wasm", "other.wasm", 1)
    );
    for (text, said) in [
        (changed, "plugins.lock pins sha256"),
        (without, "it is not in tasks/plugins.lock"),
        ("version = 2".to_owned(), "version 2 of the format"),
    ] {
        scene.write("tasks/plugins.lock", &text);
        expect(&scene.run(&["run", SUITE, "--out", "other"]), 3, &[said]);
        assert!(!scene.path("other").exists(), "{said}");
    }
}

#[test]
fn what_is_set_is_checked_by_the_schema() {
    let scene = Scene::new().with_short();
    for (set, said) in [
        ("session.max_turn=5", &["max_turn", "max_turns"][..]),
        ("session.max_turns=many", &["max_turns", "with --set"]),
        ("session.max_turns=0", &["`max_turns` must be at least 1"]),
        ("sede=1", &["sede"]),
        ("agent=unheard-of", &["unheard-of"]),
        ("limits.app.fuel=900000000000", &["fuel"]),
    ] {
        let output = scene.run(&["run", SUITE, "--out", "run", "--set", set]);
        expect(&output, 3, said);
        assert!(!scene.path("run").exists(), "{set}");
    }
    expect(
        &scene.run(&["run", SUITE, "--set", "max_turns"]),
        2,
        &["KEY=VALUE"],
    );
}

#[test]
fn what_is_set_belongs_to_the_run() {
    let scene = Scene::new();
    let set = ["--agent", "reactive", "--set", "session.max_turns=1"];
    let results = scene.play("run", &set);
    let sessions = results["sessions"].as_array().unwrap();
    assert!(
        sessions.iter().all(|line| line["turns"] == 1),
        "{results:#}"
    );
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    let journal = scene.path("run/journal/law_trainee.r1.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    expect(&scene.run(&["run", "--resume", "run", "--json"]), 0, &[]);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
    scene.play("plain", &["--agent", "reactive"]);
    expect(&scene.run(&["compare", "run", "plain"]), 3, &["same suite"]);
    let suite = short();
    let suite = suite.to_str().unwrap();
    expect(
        &scene.run(&["run", suite, "--resume", "run", "--set", "seed=2"]),
        2,
        &["cannot be used with"],
    );
}

#[test]
fn the_document_readers_limits_are_lowered_as_the_others_are() {
    let scene = Scene::new();
    suite(&scene, "[limits.document]\nwall_ms = 20000\n", "");
    let session = "tasks/p/sessions/one/session.toml";
    let text = std::fs::read_to_string(scene.path(session)).unwrap();
    let more = "[[files]]\nsource = \"a.docx\"\n[[reference]]\ntool = \"read_file\"\narguments = { path = \"a.docx\" }\n";
    scene.write(session, &(text + more));
    let document = docx("<w:p><w:r><w:t>Two keys.</w:t></w:r></w:p>");
    std::fs::write(scene.path("tasks/p/sessions/one/a.docx"), document).unwrap();
    scene.write(
        "policy.toml",
        "version = 1\n[limits.document]\nfuel = 1000\n",
    );

    check(
        &scene,
        &[],
        "limits.document.wall_ms",
        20_000,
        "tasks/suite.toml:8",
    );
    let set = ["--set", "limits.document.fuel=900"];
    let from = "--set limits.document.fuel=900";
    check(&scene, &set, "limits.document.fuel", 900, from);
    let policy = scene.path("policy.toml").canonicalize().unwrap();
    let with = ["--policy", "policy.toml"];
    check(
        &scene,
        &with,
        "limits.document.fuel",
        1000,
        policy.to_str().unwrap(),
    );
    let raised = ["run", SUITE, "--set", "limits.document.fuel=900000000000"];
    expect(
        &scene.run(&raised),
        3,
        &["[limits.document]: fuel = 900000000000"],
    );
    let zero = ["run", SUITE, "--set", "limits.document.fuel=0"];
    expect(&scene.run(&zero), 3, &["`fuel` must be above 0"]);

    let read = |out: &str, more: &[&str]| -> String {
        let output = scene.run(&[&["run", SUITE, "--out", out], more].concat());
        expect(&output, 0, &[]);
        let journal = scene.path(out).join("journal/p.r1.jsonl");
        std::fs::read_to_string(journal).unwrap()
    };
    let granted = read("granted", &[]);
    assert!(
        granted.contains("Two keys.") && !granted.contains("fuel"),
        "{granted}"
    );
    let denied = read("denied", &with);
    assert!(
        denied.contains("used up its fuel of 1000 units") && !denied.contains("Two keys."),
        "{denied}"
    );
}

#[test]
fn a_policy_that_names_a_plugin_that_is_not_there_is_told() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let said = |plugin: &str, args: &[&str]| {
        let policy = format!("version = 1\n[plugins.{plugin}]\nlimits.fuel = 100000\n");
        scene.write("policy.toml", &policy);
        stderr(&scene.run(&[args, &["--policy", "policy.toml"]].concat()))
    };
    for args in [
        ["run", SUITE, "--print-config"].as_slice(),
        &["check", SUITE],
    ] {
        let unknown = said("ruels", args);
        assert!(
            unknown.contains("The policy names plugin ruels, which is in no folder of plugins"),
            "{unknown}"
        );
        let known = said("rules", args);
        assert!(!known.contains("The policy names"), "{known}");
    }
}
