//! Where plugins come from: compiled code that this installation did not write is not run, a folder's lock holds, and
//! plugins of others get what the policy grants and nothing else.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pibench_core::record::GuestOutcome;
use pibench_core::vocabulary::Grant;
use pibench_sandbox::{App, Limits, Plugin, Plugins, Terms};
use pibench_suite::manifest::{PluginPolicy, PolicyFile};
use serde_json::{Value, json};

use crate::guest::{Guest, call, now, open, tight};
use crate::scene::{Scene, cache, expect, hostile, root, stderr};

/// Loads the hostile app through a cache of its own and sees that it works.
fn works(dir: &Path, name: &str) {
    let plugins = Plugins::new([].into(), Vec::new(), dir);
    let plugin = plugins.load_file(name, &hostile(name)).unwrap();
    assert_eq!(plugin.name, name);
}

/// The cached code of the one plugin in a cache.
fn cached(dir: &Path) -> PathBuf {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut found = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "aot"));
    let path = found.next().expect("something is cached");
    assert!(found.next().is_none());
    path
}

fn app_cache() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    works(&cache, "app");
    let file = cached(&cache);
    let code = std::fs::read(&file).unwrap();
    (dir, file, code)
}

/// Something else stands in the place of the cached code: it is not used, and made again.
fn replaced(with: impl FnOnce(&Path, Vec<u8>)) {
    let (_dir, file, code) = app_cache();
    with(&file, code.clone());
    works(file.parent().unwrap(), "app");
    let now = std::fs::symlink_metadata(&file).unwrap();
    assert!(now.is_file(), "made again");
    let again = std::fs::read(&file).unwrap();
    works(file.parent().unwrap(), "app");
    assert!(again == std::fs::read(&file).unwrap(), "and used");
}

#[test]
fn changed_code_is_made_again() {
    replaced(|file, mut code| {
        let middle = code.len() / 2;
        code[middle] ^= 1;
        std::fs::write(file, code).unwrap();
    });
    replaced(|file, code| std::fs::write(file, &code[..code.len() / 2]).unwrap());
    replaced(|file, _| std::fs::write(file, "").unwrap());
}

#[test]
fn code_of_another_installation_or_plugin_is_made_again() {
    replaced(|file, _| {
        let (_other, _, foreign) = app_cache();
        std::fs::write(file, foreign).unwrap();
    });
    replaced(|file, _| {
        // The same installation's code of another plugin: the key is right, the name is not.
        let folder = file.parent().unwrap();
        std::fs::rename(file, folder.join("kept")).unwrap();
        works(folder, "grader");
        std::fs::rename(cached(folder), file).unwrap();
    });
}

#[test]
fn a_plugin_that_changed_after_it_was_told_of_is_not_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("app.wasm");
    for (later, loaded) in [("app", true), ("grader", false)] {
        std::fs::copy(hostile("app"), &file).unwrap();
        let plugins = Plugins::new([].into(), vec![dir.path().to_owned()], cache());
        let told = plugins.papers("app").unwrap();
        std::fs::copy(hostile(later), &file).unwrap();
        match plugins.get("app") {
            Ok(plugin) => assert_eq!((plugin.sha256 == told.sha256, loaded), (true, true)),
            Err(error) => {
                assert!(!loaded, "{error}");
                assert!(error.to_string().contains("was changed since"), "{error}");
            }
        }
    }
}

#[test]
fn a_link_in_the_cache_is_not_followed() {
    replaced(|file, code| {
        let elsewhere = file.with_file_name("elsewhere");
        std::fs::write(&elsewhere, code).unwrap();
        std::fs::remove_file(file).unwrap();
        symlink(&elsewhere, file).unwrap();
    });
}

#[test]
fn a_cache_that_others_may_reach_is_not_used() {
    let unused = |prepare: &dyn Fn(&Path, &Path)| {
        let dir = tempfile::tempdir().unwrap();
        let (cache, real) = (dir.path().join("cache"), dir.path().join("real"));
        std::fs::create_dir(&real).unwrap();
        prepare(&cache, &real);
        works(&cache, "app");
        for folder in [&cache, &real] {
            let entries = std::fs::read_dir(folder).map(Iterator::count);
            assert!(entries.is_ok_and(|count| count <= 1), "{folder:?} was used");
        }
    };
    unused(&|cache, real| symlink(real, cache).unwrap());
    unused(&|cache, _| {
        std::fs::create_dir(cache).unwrap();
        std::fs::set_permissions(cache, PermissionsExt::from_mode(0o777)).unwrap();
    });
    unused(&|cache, _| {
        std::fs::create_dir(cache).unwrap();
        std::fs::set_permissions(cache, PermissionsExt::from_mode(0o700)).unwrap();
        // A key that others may read signs nothing.
        std::fs::write(cache.join("key"), [7; 32]).unwrap();
        std::fs::set_permissions(cache.join("key"), PermissionsExt::from_mode(0o644)).unwrap();
    });
}

#[test]
fn the_cache_is_the_users_alone() {
    let (_dir, file, _) = app_cache();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(mode(&file.with_file_name("key")), 0o600);
    assert_eq!(mode(&file) & 0o077, 0);
}

#[test]
fn compiled_code_is_no_plugin() {
    let (_dir, file, code) = app_cache();
    let scene = Scene::new();
    for bytes in [&code[..], &code[32..]] {
        std::fs::write(scene.path("app.wasm"), bytes).unwrap();
        let output = scene.run(&["check", "app.wasm"]);
        expect(&output, 3, &["no WebAssembly component"]);
    }
    assert!(file.exists());
}

/// A folder with the hostile grader in it.
fn pack() -> Scene {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("pack")).unwrap();
    std::fs::copy(hostile("grader"), scene.path("pack/grader.wasm")).unwrap();
    scene
}

#[test]
fn a_lock_holds_what_it_pins() {
    let scene = pack();
    let check = |path: &str| scene.run(&["check", path]);
    expect(&check("pack/grader.wasm"), 0, &[]);
    let locked = scene.run(&["plugin", "lock", "--plugins", "pack"]);
    expect(&locked, 0, &[]);
    let text = std::fs::read_to_string(scene.path("pack/pibench.lock")).unwrap();
    for part in [
        "version = 1",
        "[[plugin]]",
        "name = \"grader\"",
        "wit = \"0.1.0\"",
        "sha256 = ",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    expect(&check("pack/grader.wasm"), 0, &[]);
    let mut wasm = std::fs::read(scene.path("pack/grader.wasm")).unwrap();
    // A custom section more: it runs the same, and is not what was pinned.
    wasm.extend(b"\x00\x05\x04note");
    std::fs::write(scene.path("pack/grader.wasm"), &wasm).unwrap();
    expect(
        &check("pack/grader.wasm"),
        3,
        &["pins the size", "pibench-host plugin lock --plugins pack"],
    );
    std::fs::copy(hostile("app"), scene.path("pack/app.wasm")).unwrap();
    expect(&check("pack/app.wasm"), 3, &["not in pack/pibench.lock"]);
    expect(&scene.run(&["plugin", "lock", "--plugins", "pack"]), 0, &[]);
    expect(&check("pack/grader.wasm"), 0, &[]);
    expect(&check("pack/app.wasm"), 0, &[]);
    scene.write("pack/pibench.lock", "version = 1\nplugins = []\n");
    expect(&check("pack/grader.wasm"), 3, &["pibench.lock", "line 2"]);
}

/// The first look at a stranger's plugin must not hang on what lies beside it, nor show what it leads to.
#[test]
fn a_strangers_lock_leads_to_no_other_file_and_is_no_pipe() {
    let scene = pack();
    let inspect = ["plugin", "inspect", "pack/grader.wasm"];
    let lock = scene.path("pack/pibench.lock");
    let secret = scene.write("secret", "sk-of-the-operator\n");
    for target in [secret.as_path(), Path::new("/dev/zero")] {
        symlink(target, &lock).unwrap();
        let output = scene.run(&inspect);
        expect(&output, 3, &["pack/pibench.lock: it is not a regular file"]);
        std::fs::remove_file(&lock).unwrap();
    }
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &lock, mode).unwrap();
    expect(&scene.run(&inspect), 3, &["it is not a regular file"]);
    std::fs::remove_file(&lock).unwrap();
    std::fs::copy(&secret, &lock).unwrap();
    let output = scene.run(&inspect);
    expect(&output, 3, &["pack/pibench.lock: line "]);
    assert!(!stderr(&output).contains("operator"), "{}", stderr(&output));
    std::fs::remove_file(&lock).unwrap();
    expect(&scene.run(&["plugin", "lock", "--plugins", "pack"]), 0, &[]);
    expect(&scene.run(&inspect), 0, &[]);
}

#[test]
fn nothing_is_read_of_a_component_that_is_not_as_its_lock_says() {
    let scene = pack();
    expect(&scene.run(&["plugin", "lock", "--plugins", "pack"]), 0, &[]);
    scene.write("pack/grader.wasm", "no wasm");
    for command in [
        &["check", "pack/grader.wasm"][..],
        &["plugin", "inspect", "pack/grader.wasm"],
    ] {
        let output = scene.run(command);
        expect(&output, 3, &["pins the size"]);
        assert!(!stderr(&output).contains("no WebAssembly component"));
    }
}

/// The program's own in the place of one that was pinned and is gone would be played with unseen.
#[test]
fn a_component_that_a_lock_pins_and_that_is_gone_is_not_filled_in() {
    let scene = Scene::new();
    let plugins = scene.path("plugins");
    crate::scene::copy(&root().join("target/plugins"), &plugins);
    std::fs::remove_file(plugins.join("gmail.wasm")).unwrap();
    let suite = crate::scene::short();
    let list = ["list", suite.to_str().unwrap(), "--plugins", "plugins"];
    // The same bytes lie beside the program.
    let policy = root().join("target/plugins");
    let own = std::fs::read_to_string(policy.join("pibench.lock")).unwrap();
    expect(&scene.run(&list), 0, &[]);
    let entry = own.find("name = \"gmail\"").unwrap();
    let digest = entry + own[entry..].find("sha256 = \"").unwrap() + "sha256 = \"".len();
    let other = format!(
        "{}{}{}",
        &own[..digest],
        "0".repeat(64),
        &own[digest + 64..]
    );
    scene.write("plugins/pibench.lock", &other);
    let said = [
        "load plugin `gmail`: plugins/pibench.lock pins it, and there is no plugins/gmail.wasm",
        "`pibench-host plugin lock --plugins plugins`",
    ];
    expect(&scene.run(&list), 3, &said);
    let run = ["run", suite.to_str().unwrap(), "--plugins", "plugins"];
    let output = scene.run(&[&run[..], &["--out", "run"]].concat());
    expect(&output, 3, &said);
    let told = stderr(&output);
    assert!(
        !told.contains("compiling"),
        "told before anything else: {told}"
    );
    assert!(!scene.path("run").exists(), "something was played");
}

#[test]
fn a_lock_of_something_else_is_not_written() {
    let scene = pack();
    scene.write("pack/broken.wasm", "no wasm");
    let output = scene.run(&["plugin", "lock", "--plugins", "pack"]);
    expect(&output, 3, &["broken.wasm", "no WebAssembly component"]);
    assert!(!scene.path("pack/pibench.lock").exists());
    expect(
        &scene.run(&["plugin", "lock", "--plugins", "nowhere"]),
        3,
        &["nowhere"],
    );
}

#[test]
fn check_says_what_a_plugin_asks_for_and_gets() {
    let scene = pack();
    scene.write(
        "policy.toml",
        "version = 1\n[plugins.grader]\ngrants = [\"workspace\"]\n",
    );
    let said = |args: &[&str]| {
        let output = scene.run(&[&["check", "pack/grader.wasm"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let denied = said(&[]);
    assert!(
        denied.contains("workspace") && denied.contains("is granted nothing"),
        "{denied}"
    );
    let granted = said(&["--policy", "policy.toml"]);
    assert!(granted.contains("is granted workspace\n"), "{granted}");
    let raised = "version = 1\n[plugins.grader]\nlimits.fuel = 999000000000\n";
    scene.write("policy.toml", raised);
    let output = scene.run(&["check", "pack/grader.wasm", "--policy", "policy.toml"]);
    expect(
        &output,
        3,
        &["fuel = 999000000000", "above the host's limit"],
    );
}

/// A stranger's plugin, under a policy that grants it so much.
fn strange(guest: &str, grants: Option<&[Grant]>) -> Arc<Plugin> {
    let plugins = strangers(guest, grants);
    Arc::new(plugins.load_file(guest, &hostile(guest)).unwrap())
}

fn strangers(name: &str, grants: Option<&[Grant]>) -> Plugins {
    let plugin = PluginPolicy {
        grants: grants.map(<[Grant]>::to_vec),
        ..PluginPolicy::default()
    };
    let terms = Terms {
        policy: Some(PolicyFile {
            plugins: [(name.to_owned(), plugin)].into(),
            ..PolicyFile::default()
        }),
        ..Terms::default()
    };
    Plugins::on_terms([].into(), Vec::new(), cache(), terms)
}

async fn drawn(grants: Option<&[Grant]>, key: u8) -> Value {
    let seed = json!({ "people": [], "records": {} });
    let plugin = strange("app", grants);
    let app = App::open(plugin, Limits::APP, [key; 32], &seed, now()).await;
    let mut app = app.unwrap();
    app.call("draw", &json!({}), now()).await.unwrap().unwrap()
}

#[tokio::test]
async fn without_random_the_run_decides_nothing() {
    assert_eq!(drawn(None, 1).await, drawn(None, 2).await);
    let granted = Some([Grant::Random].as_slice());
    assert_ne!(drawn(granted, 1).await, drawn(granted, 2).await);
    assert_eq!(drawn(granted, 1).await, drawn(granted, 1).await);
}

/// Answers with the year that it sees.
fn year() -> Guest {
    Guest::honest()
        .answering("0000")
        .with(r#"(import "pibench:plugin/clock@0.1.0" "now" (func $now (param i32)))
            (func $digit (param $place i32) (param $unit i32)
                (i32.store8 (i32.add (i32.const 1025) (local.get $place)) (i32.add (i32.const 48)
                    (i32.rem_u (i32.div_u (i32.load16_u (i32.const 300)) (local.get $unit)) (i32.const 10)))))"#)
        .doing(
            "call",
            "(call $now (i32.const 300))
            (i32.store8 (i32.const 1024) (i32.const 49))
            (call $digit (i32.const 0) (i32.const 100))
            (call $digit (i32.const 1) (i32.const 10))
            (call $digit (i32.const 2) (i32.const 1))
            (i32.const 160)",
        )
}

async fn asked(guest: &Guest, grants: Option<&[Grant]>) -> (Value, String, GuestOutcome) {
    let plugin = guest.load_by(&strangers("guest", grants)).unwrap();
    let mut app = open(plugin, tight()).await.unwrap();
    app.take_measured();
    let answer = call(&mut app).await.unwrap();
    let outcome = app.take_measured().remove(0).outcome;
    (answer, app.take_log(), outcome)
}

fn denied(interface: &str) -> GuestOutcome {
    GuestOutcome::Denied {
        interface: interface.into(),
    }
}

#[tokio::test]
async fn without_clock_the_moment_is_fixed() {
    let (answer, _, outcome) = asked(&year(), None).await;
    assert_eq!((answer, outcome), (json!(1000), denied("clock")));
    let (answer, _, outcome) = asked(&year(), Some(&[Grant::Clock])).await;
    assert_eq!((answer, outcome), (json!(1026), GuestOutcome::Ok));
}

#[tokio::test]
async fn without_log_nothing_is_kept() {
    let talks = Guest::honest()
        .with(r#"(import "pibench:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#)
        .doing(
            "call",
            "(call $log (i32.const 1) (i32.const 192) (i32.const 2)) (i32.const 160)",
        );
    let (_, log, outcome) = asked(&talks, None).await;
    assert_eq!((log.as_str(), outcome), ("", denied("log")));
    let (_, log, outcome) = asked(&talks, Some(&[Grant::Log])).await;
    assert_eq!((log.as_str(), outcome), ("info: {}\n", GuestOutcome::Ok));
}

#[tokio::test]
async fn without_workspace_every_path_is_denied() {
    use pibench_sandbox::Grader;
    use pibench_sandbox::evidence::Evidence;
    use pibench_sandbox::workspace::{Quota, Workspace};
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("note.md"), "granted").unwrap();
    let path = camino::Utf8Path::from_path(dir.path()).unwrap();
    let workspace = Workspace::open(path, Quota::default()).unwrap();
    let evidence = Evidence {
        turn: 1,
        calls: &[],
        messages: &[],
        changes: &[],
        apps: &[],
    };
    let read = async |grants: Option<&[Grant]>| -> (String, GuestOutcome) {
        let grader = Grader::new(strange("grader", grants), Limits::GRADER).unwrap();
        let config = json!({ "do": "read workspace", "path": "note.md" });
        let verdicts = grader.grade(&config, &evidence, workspace.view()).await;
        let outcome = grader.take_measured().remove(0).outcome;
        (verdicts.unwrap().remove(0).reason, outcome)
    };
    let (said, outcome) = read(None).await;
    assert!(said.contains("Denied(\"the policy"), "{said}");
    assert_eq!(outcome, denied("workspace"));
    let (said, outcome) = read(Some(&[Grant::Workspace])).await;
    assert!(said.starts_with("Ok("), "{said}");
    assert_eq!(outcome, GuestOutcome::Ok);
}

#[test]
fn the_manifest_says_what_plugins_were_granted_and_resume_holds_to_it() {
    let scene = Scene::new().with_short();
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    let path = "tasks/personas/law_trainee/sessions/corrie-extension/session.toml";
    let session = std::fs::read_to_string(scene.path(path)).unwrap();
    scene.write(
        "tasks/suite.toml",
        &format!(
            "{suite}\n[plugins]\nhostile = \"{}\"\n",
            hostile("grader").display()
        ),
    );
    scene.write(
        path,
        &format!(
            "{session}\n[[checklist]]\nid = \"strange\"\ncriterion = \"passes\"\n[checklist.rule]\n\
            grader = \"hostile\"\nconfig = {{ do = \"pass\" }}\n"
        ),
    );
    let policy =
        "version = 1\n[plugins.hostile]\ngrants = [\"workspace\"]\nlimits.fuel = 1000000\n";
    scene.write("policy.toml", policy);
    let run = |out: &str, more: &[&str]| {
        let output = scene.run(&[&["run", "tasks/suite.toml", "--out", out], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let manifest = std::fs::read(scene.path(out).join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        (manifest, stderr(&output))
    };
    scene.write("none.toml", "version = 1\n[plugins.hostile]\ngrants = []\n");
    let (manifest, said) = run("without", &["--policy", "none.toml"]);
    assert_eq!(manifest["plugins"]["hostile"]["grants"], json!([]));
    assert!(said.contains("Plugin hostile asks for"), "{said}");
    let (manifest, _) = run("with", &["--policy", "policy.toml"]);
    assert!(manifest["policy_digest"].is_string());
    let mark = &manifest["plugins"]["hostile"];
    assert_eq!(mark["grants"], json!(["workspace"]));
    assert_eq!(mark["limits"]["fuel"], 1_000_000);
    assert_eq!(mark["pinned"], false);
    assert!(mark["interface"].is_string());
    scene.replace(
        "policy.toml",
        "limits.fuel = 1000000",
        "limits.fuel = 2000000",
    );
    expect(
        &scene.run(&["run", "--resume", "with"]),
        3,
        &["changed since it was begun: the limits of plugin `hostile`"],
    );
    scene.replace(
        "policy.toml",
        "limits.fuel = 2000000",
        "limits.fuel = 1000000",
    );
    expect(&scene.run(&["run", "--resume", "with"]), 0, &[]);
}

/// Played without a word of the operator, its grader would find every path denied and score 0.
#[test]
fn a_plugin_that_no_policy_speaks_of_is_refused_before_play() {
    let scene = Scene::new().with_short();
    let path = "tasks/personas/law_trainee/sessions/corrie-extension/session.toml";
    scene.replace(path, "grader = \"rules\"", "grader = \"mine\"");
    let rules = root().join("target/plugins/rules.wasm");
    std::fs::copy(rules, scene.path("tasks/mine.wasm")).unwrap();
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    scene.write(
        "tasks/suite.toml",
        &format!("{suite}\n[plugins]\nmine = \"mine.wasm\"\n"),
    );
    let said = [
        "plugin `mine`: it asks for",
        "workspace",
        "[plugins.mine]",
        "--policy",
    ];
    let run = ["run", "tasks/suite.toml", "--out", "run"];
    expect(&scene.run(&run), 3, &said);
    assert!(!scene.path("run").exists(), "something was played");
    expect(&scene.run(&["check", "tasks/suite.toml"]), 3, &said);
    let doctor = scene.run(&["doctor", "tasks/suite.toml"]);
    let told = String::from_utf8(doctor.stdout).unwrap();
    let problem = "failed to use plugin `mine`: it asks for";
    assert!(told.contains(problem), "{told}");
    assert_eq!(doctor.status.code(), Some(3));
    // Who only lowers its limits has not said whether it gets what it asks for.
    let policy = "version = 1\n[plugins.mine]\nlimits.fuel = 100000000\n";
    scene.write("policy.toml", policy);
    let with = ["--policy", "policy.toml"];
    expect(&scene.run(&[&run[..], &with].concat()), 3, &said);
    scene.write(
        "policy.toml",
        "version = 1\n[plugins.mine]\ngrants = [\"log\", \"workspace\"]\n",
    );
    expect(&scene.run(&[&run[..], &with].concat()), 0, &[]);
    let check = ["check", "tasks/suite.toml"];
    expect(&scene.run(&[&check[..], &with].concat()), 0, &[]);
}

#[test]
fn each_call_of_a_guest_is_measured() {
    let scene = Scene::new();
    scene.play("run", &["--session", "corrie-extension"]);
    let timing = std::fs::read_to_string(scene.path("run/timing.jsonl")).unwrap();
    let line: Value = serde_json::from_str(timing.lines().next().unwrap()).unwrap();
    let calls = line["guests"].as_array().unwrap();
    let tool = calls
        .iter()
        .find(|call| call["function"].as_str().unwrap().starts_with("call "))
        .unwrap();
    assert_eq!(tool["outcome"], "ok", "{tool}");
    for key in ["fuel", "peak_memory", "run_us"] {
        assert!(tool[key].as_u64().unwrap() > 0, "{key}: {tool}");
    }
    assert!(calls.iter().any(|call| call["function"] == "grade"
        && call["instantiate_us"].as_u64().unwrap() > 0));
}
