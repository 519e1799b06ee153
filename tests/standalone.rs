//! The program alone: away from any checkout and build it has its suite and its plugins.

use std::os::unix::fs::PermissionsExt;

use pibench_host::embedded;
use serde_json::Value;

use crate::scene::{Scene, cache, expect, files, root, stderr};

/// Whether this build carries anything: `make` sees to it, cargo alone does not.
fn carries() -> bool {
    embedded::archive().is_some()
}

#[test]
fn the_program_alone_plays_its_suite_anywhere() {
    let scene = Scene::new();
    let args = ["run", "--json", "--persona", "law_trainee", "--out", "run"];
    let output = scene.alone(&args).output().unwrap();
    if !carries() {
        return expect(&output, 3, &["tasks/suite.toml"]);
    }
    expect(&output, 0, &["Scripted models"]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["proc"], 100.0);
    let verified = scene.alone(&["verify", "run"]).output().unwrap();
    expect(&verified, 0, &[]);
}

#[test]
fn what_the_program_carries_is_unpacked_once_and_for_its_user_alone() {
    let scene = Scene::new();
    let cache = scene.path("cache");
    let run = || {
        let mut command = scene.alone(&["run", "--session", "none-such"]);
        command.env("PIBENCH_CACHE", &cache).output().unwrap()
    };
    let output = run();
    if !carries() {
        return;
    }
    expect(&output, 2, &["find session `none-such`"]);
    let folder = || {
        let entries = std::fs::read_dir(&cache).unwrap();
        let mut entries = entries.map(|entry| entry.unwrap().path());
        entries.find(|path| path.to_string_lossy().contains("embedded-"))
    };
    let unpacked = folder().unwrap();
    let mode = unpacked.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(unpacked.join("plugins/pibench.lock").is_file());
    let before = unpacked.metadata().unwrap().modified().unwrap();
    expect(&run(), 2, &["find session `none-such`"]);
    assert_eq!(unpacked.metadata().unwrap().modified().unwrap(), before);
    // A folder that others may write to could hold anybody's plugins.
    std::fs::remove_dir_all(&unpacked).unwrap();
    std::fs::set_permissions(&cache, PermissionsExt::from_mode(0o777)).unwrap();
    expect(&run(), 4, &["unpack the built-in suite", "PIBENCH_CACHE"]);
    assert_eq!(folder(), None);
}

#[test]
fn the_suite_of_the_working_directory_and_a_named_one_win() {
    let scene = Scene::new().with_short();
    scene.replace("tasks/suite.toml", "id = \"embedded\"", "id = \"mine\"");
    for named in [&[][..], &["tasks/suite.toml"]] {
        let args = [&["run", "--print-config", "--json"], named].concat();
        let output = scene.run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(shown.contains("\"mine\""), "{shown}");
    }
}

#[test]
fn the_suite_is_exported_into_a_new_folder() {
    let scene = Scene::new();
    let output = scene.run(&["suite", "export", "mine"]);
    if !carries() {
        return expect(&output, 3, &["built without one", "make"]);
    }
    expect(&output, 0, &[]);
    let exported = files(&scene.path("mine"));
    let has = |wanted: &str| exported.iter().any(|(path, _)| path == wanted);
    assert!(has("suite.toml") && has("personas/law_trainee/persona.toml"));
    let output = scene.run(&["list", "mine/suite.toml"]);
    expect(&output, 0, &[]);
    expect(
        &scene.run(&["suite", "export", "mine"]),
        4,
        &["must be a new folder"],
    );
}

#[test]
fn the_version_names_commit_and_engine() {
    let scene = Scene::new();
    let said = |option| String::from_utf8(scene.run(&[option]).stdout).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(said("-V"), format!("pibench-host {version}\n"));
    let long = said("--version");
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("pibench-host {version}"));
    assert!(lines[1].starts_with("commit "), "{long}");
    assert!(lines[2].starts_with("engine wasmtime 4"), "{long}");
}

#[test]
fn a_plugin_of_the_agents_tools_is_compiled_beside_the_play_and_told_so() {
    let scene = Scene::new();
    // All but the smallest of them are compiled already.
    scene.play("before", &[]);
    let lock = std::fs::read_to_string(root().join("target/plugins/pibench.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let pinned = lock["plugin"].as_array().unwrap().iter();
    let document = pinned
        .clone()
        .find(|one| one["name"].as_str() == Some("document"));
    let digest = document.unwrap()["sha256"].as_str().unwrap();
    let own = root()
        .join("target")
        .join(format!("cache-{}", std::process::id()));
    std::fs::create_dir(&own).unwrap();
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(cache()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_file() && !name.starts_with(digest) {
            let _ = std::fs::hard_link(&path, own.join(name));
        }
    }
    let suite = root().join("tasks/suite.toml");
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--out",
    ];
    let run = |out| {
        let args = [&args[..], &[out]].concat();
        scene.run_with(&args, &[("PIBENCH_CACHE", own.to_str().unwrap())])
    };
    let (first, kept) = (run("first"), own.join("key").is_file());
    expect(&first, 0, &["compiling document, once\n"]);
    std::fs::remove_dir_all(&own).unwrap();
    assert!(kept);
    assert!(
        !stderr(&scene.run(&["run", suite.to_str().unwrap(), "--out", "again"]))
            .contains("compiling")
    );
}
