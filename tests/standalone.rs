//! The program alone: away from any checkout and build it has its suite and its plugins.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use serde_json::Value;

use crate::scene::{Scene, cache, carries, expect, files, output, root, stderr};

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
    for args in [&["verify", "run"][..], &["verify", "run", "--foreign"]] {
        let verified = scene.alone(args).output().unwrap();
        expect(&verified, 0, &[]);
    }
}

/// What the program carries is its own wherever it was unpacked, though it lies there still.
#[test]
fn a_run_is_looked_at_merged_and_gone_on_with_by_another_cache_than_it_was_played_by() {
    let scene = Scene::new();
    if !carries() {
        return;
    }
    // Both hold compiled plugins, and nothing unpacked.
    let caches = [(); 2].map(|()| cache_without(&[]).0);
    let run = |at: usize, args: &[&str]| {
        let mut command = scene.alone(args);
        let ran = output(command.env("PIBENCH_CACHE", caches[at].path()));
        expect(&ran, 0, &[]);
        assert!(!stderr(&ran).contains("does not grant"), "{}", stderr(&ran));
    };
    for (at, shard, out) in [(0, "1/2", "one"), (1, "2/2", "two")] {
        let args = ["run", "--session", "corrie-extension", "--runs", "2"];
        run(at, &[&args[..], &["--shard", shard, "--out", out]].concat());
    }
    run(1, &["merge", "one", "two", "--out", "whole"]);
    for at in [0, 1] {
        run(at, &["verify", "whole"]);
        run(at, &["run", "--resume", "one"]);
        let (sheet, graded) = (format!("{at}.html"), format!("graded-{at}"));
        run(at, &["audit", "whole", "--sheet", &sheet]);
        run(at, &["grade", "whole", "--out", &graded]);
        run(1 - at, &["verify", &graded]);
    }
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
    expect(&run(), 3, &["unpack the built-in suite", "PIBENCH_CACHE"]);
    assert_eq!(folder(), None);
}

/// A suite of another's making could name a server of theirs for this user's key.
#[test]
fn what_others_may_have_unpacked_is_not_played_and_what_is_its_users_own_is() {
    let scene = Scene::new();
    if !carries() {
        return;
    }
    let cache = scene.path("cache");
    let run = || {
        let mut command = scene.alone(&["run", "--session", "none-such"]);
        command.env("PIBENCH_CACHE", &cache).output().unwrap()
    };
    let granted = || expect(&run(), 2, &["find session `none-such`"]);
    granted();
    let entries = std::fs::read_dir(&cache).unwrap();
    let mut entries = entries.map(|entry| entry.unwrap().path());
    let unpacked = entries.find(|path| path.to_string_lossy().contains("embedded-"));
    let unpacked = unpacked.unwrap();
    let suite = unpacked.join("suite/suite.toml");
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    for path in [&cache, &unpacked, &suite] {
        let mode = path.metadata().unwrap().permissions().mode();
        allow(path, 0o777);
        expect(
            &run(),
            3,
            &["others may write to it", path.to_str().unwrap()],
        );
        allow(path, mode);
        granted();
        // Only root can give away what is its own.
        if chown(path, Some(65_532), None).is_ok() {
            expect(&run(), 3, &["belongs to somebody else", "PIBENCH_CACHE"]);
            chown(path, Some(0), None).unwrap();
            granted();
        }
    }
    let whole = std::fs::read(&suite).unwrap();
    allow(&suite, 0o644);
    std::fs::write(&suite, "").unwrap();
    expect(&run(), 3, &["suite.toml is not what was unpacked there"]);
    std::fs::write(&suite, whole).unwrap();
    granted();
    let moved = scene.path("moved");
    std::fs::rename(&unpacked, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &unpacked).unwrap();
    expect(&run(), 3, &["is a link"]);
}

#[test]
fn without_a_home_each_user_has_a_cache_of_an_own_name() {
    let scene = Scene::new();
    if !carries() {
        return;
    }
    let run = |temporary: &str| {
        let mut command = scene.alone(&["run", "--session", "none-such"]);
        for variable in ["PIBENCH_CACHE", "XDG_CACHE_HOME", "HOME"] {
            command.env_remove(variable);
        }
        let ran = command.env("TMPDIR", scene.path(temporary)).output();
        ran.unwrap()
    };
    let user = rustix::process::geteuid().as_raw();
    let name = |temporary: &str| scene.path(&format!("{temporary}/pibench-host-cache-{user}"));
    std::fs::create_dir(scene.path("mine")).unwrap();
    expect(&run("mine"), 2, &["find session `none-such`"]);
    let made = name("mine").metadata().unwrap().permissions();
    assert_eq!(made.mode() & 0o777, 0o700);
    // Somebody else was there before.
    std::fs::create_dir_all(name("theirs")).unwrap();
    std::fs::set_permissions(name("theirs"), PermissionsExt::from_mode(0o777)).unwrap();
    let told = ["others may write to it", "name another folder"];
    expect(&run("theirs"), 3, &told);
    let left = std::fs::read_dir(name("theirs")).unwrap().count();
    assert_eq!(left, 0);
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
fn a_suite_for_which_there_is_no_room_is_not_exported_by_halves() {
    let scene = Scene::new();
    if !carries() {
        return;
    }
    // A file of the process has at most so many blocks of 512 bytes.
    let shell = "trap '' XFSZ; ulimit -f 20";
    let mut export = scene.command_after(shell, &["suite", "export", "mine"]);
    expect(
        &export.output().unwrap(),
        4,
        &["write the suite into mine: File too large"],
    );
    let left = std::fs::read_dir(scene.path(".")).unwrap().count();
    assert_eq!(left, 0, "something was left behind");
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

/// Asked before anything else is done with the program; no archive is built here.
#[test]
fn a_program_that_is_too_large_is_not_packed() {
    let scene = Scene::new();
    let packed = |bytes: u64| {
        let program = scene.write("program", "#!/bin/sh\nexit 7\n");
        let file = std::fs::File::options().write(true).open(program).unwrap();
        file.set_len(bytes).unwrap();
        let mut command = scene.started_here("sh");
        let script = root().join("host/packages/dist.sh");
        output(command.arg(script).arg("./program"))
    };
    let told = "failed to pack ./program: it has 60000001 bytes, more than 60000000";
    expect(&packed(60_000_001), 1, &[told]);
    assert!(!scene.path("target").exists());
    let most = stderr(&packed(60_000_000));
    assert!(!most.contains("bytes"), "{most}");
}

/// Where nothing is written down, each app is asked.
#[test]
fn what_the_build_wrote_down_of_the_apps_tools_is_what_the_apps_say() {
    let scene = Scene::new();
    let built = root().join("target/plugins");
    assert!(built.join("tools.json").exists(), "`make` writes it");
    std::fs::create_dir(scene.path("plugins")).unwrap();
    for entry in std::fs::read_dir(built).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "tools.json" {
            let to = scene.path("plugins").join(entry.file_name());
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
    let suite = root().join("tasks/suite.toml");
    let args = |out| {
        let suite = suite.to_str().unwrap();
        let session = "corrie-extension";
        ["run", suite, "--session", session, "--out", out]
    };
    expect(&scene.run(&args("written")), 0, &[]);
    expect(&output(&mut scene.alone(&args("asked"))), 0, &[]);
    let outline = |out: &str| std::fs::read_to_string(scene.path(out).join("outline.json"));
    let written = outline("written").unwrap();
    assert!(written.contains("amazon__") && written == outline("asked").unwrap());
}

/// The tools of all apps stand in the outline, and it is the same as that of a run that has them.
#[test]
fn an_app_that_nothing_is_played_with_is_not_compiled() {
    let scene = Scene::new();
    let (own, digests) = cache_without(&["amazon", "spotify"]);
    let suite = root().join("tasks/suite.toml");
    let args = |out| {
        let suite = suite.to_str().unwrap();
        let session = "corrie-extension";
        ["run", suite, "--session", session, "--out", out]
    };
    expect(&scene.run(&args("before")), 0, &[]);
    let variables = [("PIBENCH_CACHE", own.path().to_str().unwrap())];
    let output = scene.run_with(&args("first"), &variables);
    expect(&output, 0, &[]);
    assert!(!stderr(&output).contains("compil"), "{}", stderr(&output));
    let compiled = std::fs::read_dir(own.path()).unwrap();
    let mut compiled = compiled.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let of_these = |name: &String| digests.iter().any(|digest| name.starts_with(digest));
    assert!(!compiled.any(|name| of_these(&name)));
    let read = |path: &str| std::fs::read_to_string(scene.path(path)).unwrap();
    let outline = read("first/outline.json");
    assert!(outline.contains("amazon__") && outline.contains("spotify__"));
    assert!(outline == read("before/outline.json"));
    let journal = |out: &str| files(&scene.path(out).join("journal"));
    assert!(journal("first") == journal("before"));
    let verified = scene.run_with(&["verify", "first"], &variables);
    expect(&verified, 0, &[]);
}

/// A folder for compiled plugins that has all but these, and these plugins' digests; the folder goes with the answer.
fn cache_without(names: &[&str]) -> (tempfile::TempDir, Vec<String>) {
    let lock = std::fs::read_to_string(root().join("target/plugins/pibench.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let pinned = lock["plugin"].as_array().unwrap().iter();
    let left_out = pinned.filter(|one| names.contains(&one["name"].as_str().unwrap()));
    let left_out: Vec<String> = left_out
        .map(|one| one["sha256"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(left_out.len(), names.len());
    let own = tempfile::tempdir_in(root().join("target")).unwrap();
    for entry in std::fs::read_dir(cache()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_file()
            && !left_out
                .iter()
                .any(|digest| name.starts_with(digest.as_str()))
        {
            let _ = std::fs::hard_link(&path, own.path().join(name));
        }
    }
    (own, left_out)
}

#[test]
fn of_several_plugins_each_is_told_when_it_is_compiled() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--session",
        "corrie-extension",
        "--out",
    ];
    // Everything else is compiled there.
    expect(&scene.run(&[&args[..], &["before"]].concat()), 0, &[]);
    let (own, _) = cache_without(&["gmail", "rules"]);
    let variables = [("PIBENCH_CACHE", own.path().to_str().unwrap())];
    let output = scene.run_with(&[&args[..], &["first"]].concat(), &variables);
    let told = [
        "compiling 2 plugins, once\n",
        "compiled gmail: ",
        "compiled rules: ",
        "compiled 2 plugins: ",
    ];
    expect(&output, 0, &told);
    let said = stderr(&output);
    let places = told.map(|part| said.find(part).unwrap());
    assert!(places[0] < places[1].min(places[2]) && places[1].max(places[2]) < places[3]);
}

#[test]
fn what_was_never_compiled_is_compiled_quickly_or_beside_the_play_told_and_scored_the_same() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let run = |out: &str, cache: Option<&Path>| {
        let suite = suite.to_str().unwrap();
        let args = ["run", suite, "--persona", "law_trainee", "--out", out];
        match cache {
            Some(dir) => scene.run_with(&args, &[("PIBENCH_CACHE", dir.to_str().unwrap())]),
            None => scene.run(&args),
        }
    };
    // Everything is compiled well there.
    expect(&run("before", None), 0, &[]);
    let (own, digests) = cache_without(&["document", "gmail"]);
    let first = run("first", Some(own.path()));
    let told = [
        "compiling gmail, once\n",
        "compiled gmail: ",
        "compiling document, once\n",
    ];
    expect(&first, 0, &told);
    // Other tests leave quickly compiled plugins in the folder that this one was made from.
    let kept = |end: &str| {
        let entries = std::fs::read_dir(own.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let of_these = |name: &String| digests.iter().any(|digest| name.starts_with(digest));
        names
            .filter(|name| of_these(name) && name.ends_with(end))
            .count()
    };
    // A run that lasts compiles them again, and well; this one ends before or after.
    assert!(kept("-quick.lock") == 2 && kept("-quick.aot") <= 2);
    let second = run("second", Some(own.path()));
    expect(&second, 0, &[]);
    assert!(!stderr(&second).contains("compil"), "{}", stderr(&second));
    let journal = |out: &str| files(&scene.path(out).join("journal"));
    assert!(journal("first") == journal("before"));
    assert!(journal("second") == journal("before"));
}

#[test]
fn a_dry_run_compiles_as_quickly_as_a_run() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--session",
        "corrie-extension",
    ];
    // Everything else is compiled there.
    expect(
        &scene.run(&[&args[..], &["--out", "before"]].concat()),
        0,
        &[],
    );
    let (own, digests) = cache_without(&["gmail"]);
    let variables = [("PIBENCH_CACHE", own.path().to_str().unwrap())];
    let dry = scene.run_with(&[&args[..], &["--dry-run"]].concat(), &variables);
    expect(&dry, 0, &["compiling gmail, once\n"]);
    let entries = std::fs::read_dir(own.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let of_gmail = |name: &String| name.starts_with(&digests[0]) && name.contains(".aot");
    let compiled: Vec<String> = names.filter(of_gmail).collect();
    assert_eq!(compiled.len(), 1, "{compiled:?}");
    assert!(compiled[0].contains("-quick."), "{compiled:?}");
}

#[test]
fn python_is_compiled_for_rules_in_python_alone_and_that_is_told() {
    if !root().join("target/plugins/python.wasm").exists() {
        // A machine without python3 builds the project without it.
        return;
    }
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    for session in ["corrie-extension", "dinner-split"] {
        let suite = suite.to_str().unwrap();
        let run = ["run", suite, "--session", session, "--out", session];
        expect(&scene.run(&run), 0, &[]);
        // Everything else is compiled there, and well.
        expect(&scene.run(&["verify", session]), 0, &[]);
    }
    let (own, _) = cache_without(&["python"]);
    let variables = [("PIBENCH_CACHE", own.path().to_str().unwrap())];
    let without = scene.run_with(&["verify", "corrie-extension"], &variables);
    expect(&without, 0, &[]);
    assert!(!stderr(&without).contains("compil"), "{}", stderr(&without));
    let by_python = scene.run_with(&["verify", "dinner-split"], &variables);
    let told = ["compiling python, once\n", "compiled python: "];
    expect(&by_python, 0, &told);
}
