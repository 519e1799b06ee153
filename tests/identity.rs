//! What makes a run the run that it is: whatever changes a score, and nothing of the machine, of servers, prices and jobs.

use std::time::Duration;

use serde_json::Value;

use crate::models::{open_server, play, run, server, write_lab};
use crate::scene::{Scene, copy, expect, flowed, stderr};

/// Halves a journal, as a process does that is killed.
fn cut(scene: &Scene, journal: &str) -> Vec<u8> {
    let path = scene.path(journal);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    whole
}

#[test]
fn a_run_with_six_jobs_is_verified_and_gone_on_with_on_one_processor() {
    let scene = Scene::new();
    let journal = "run/journal/law_trainee.r2.jsonl";
    scene.play("run", &["--runs", "2", "--jobs", "6"]);
    let pinned = |args: &[&str]| {
        // Without the program the processors are what they are.
        let one = "command -v taskset >/dev/null && taskset -pc 0 $$ >/dev/null";
        let output = scene.command_after(one, args).output().unwrap();
        expect(&output, 0, &[]);
    };
    pinned(&["verify", "run"]);
    pinned(&["review", "run"]);
    pinned(&["grade", "run", "--out", "graded"]);
    pinned(&["verify", "graded"]);
    let whole = cut(&scene, journal);
    pinned(&["run", "--resume", "run"]);
    assert_eq!(std::fs::read(scene.path(journal)).unwrap(), whole);
    cut(&scene, journal);
    let resumed = scene.run(&["run", "--resume", "run", "--jobs", "5"]);
    expect(&resumed, 0, &[]);
    assert_eq!(std::fs::read(scene.path(journal)).unwrap(), whole);
    let manifest = std::fs::read_to_string(scene.path("run/manifest.json")).unwrap();
    for word in ["live_stores", "queue", "jobs"] {
        assert!(!manifest.contains(word), "the manifest holds `{word}`");
    }
}

/// Neither the suite nor the plugins lie where the run was played.
#[test]
fn a_run_is_verified_where_everything_lies_elsewhere() {
    let scene = Scene::new().with_short();
    let suite = ["run", "tasks/suite.toml", "--out", "run"];
    expect(&scene.run(&suite), 0, &[]);
    let path = scene.path("run/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest["plugin_dirs"] = serde_json::json!(["/nowhere"]);
    std::fs::write(&path, manifest.to_string()).unwrap();
    std::fs::rename(scene.path("tasks"), scene.path("moved")).unwrap();
    let gone = [
        "verify run: its suite's file ",
        "tasks/suite.toml is not there; put it back",
    ];
    expect(&scene.run(&["verify", "run"]), 3, &gone);
    let here = ["--suite", "moved/suite.toml"];
    expect(
        &scene.run(&[&["review", "run"], &here[..]].concat()),
        0,
        &[],
    );
    // The manifest was changed here, which verify finds, and nothing else.
    let verified = scene.run(&[&["verify", "run"], &here[..]].concat());
    expect(&verified, 3, &[]);
    let said = flowed(&String::from_utf8_lossy(&verified.stdout));
    assert!(
        said.contains("manifest.json: it was changed after the run"),
        "{said}"
    );
    assert!(said.ends_with("; 1 problem"), "{said}");
}

#[test]
fn parts_of_one_run_may_have_other_jobs() {
    let scene = Scene::new();
    for (out, shard, jobs) in [("one", "1/2", "1"), ("two", "2/2", "7")] {
        let set = format!("jobs={jobs}");
        let more = ["--shard", shard, "--jobs", jobs, "--set", &set];
        scene.play(out, &[&["--runs", "2"], &more[..]].concat());
    }
    expect(
        &scene.run(&["merge", "one", "two", "--out", "merged"]),
        0,
        &[],
    );
    expect(&scene.run(&["verify", "merged"]), 0, &[]);
    let session = ["--runs", "2", "--shard", "2/2"];
    scene.play(
        "short",
        &[&session[..], &["--set", "session.max_turns=3"]].concat(),
    );
    expect(
        &scene.run(&["merge", "one", "short", "--out", "other"]),
        3,
        &["they differ in the suite's `session.max_turns`"],
    );
    assert!(!scene.path("other").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_other_jobs_is_audited() {
    let scene = Scene::new();
    scene.play("run", &["--jobs", "6"]);
    let server = server(play).await;
    let audit = ["audit", "run", "--judge", "openai/m", "--sample", "1"];
    expect(&run(&scene, &audit, &server), 0, &[]);
}

#[test]
fn a_policy_may_have_other_places_and_no_other_fuel() {
    let scene = Scene::new();
    let policy = |limit: &str| {
        scene.write(
            "policy.toml",
            &format!("version = 1\n[limits.app]\n{limit}\n"),
        )
    };
    policy("live_stores = 900");
    scene.play("run", &["--policy", "policy.toml"]);
    policy("live_stores = 2\nqueue_ms = 50000");
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    policy("fuel = 400000000");
    expect(
        &scene.run(&["verify", "run"]),
        3,
        &["the limits of `app`", "the limits of plugin `gmail`"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_prices_and_jobs_may_change_under_a_run_and_answers_may_not() {
    let scene = Scene::new();
    let (first, second) = (
        open_server(Duration::ZERO).await,
        open_server(Duration::ZERO).await,
    );
    write_lab(&scene, &first.uri());
    let suite = std::fs::read_to_string(scene.path("suite.toml")).unwrap();
    let model = "[models.mine]\nprovider = \"lab\"\nmodel = \"m\"\n";
    scene.write("suite.toml", &(suite.clone() + model));
    let ran = |args: &[&str]| tokio::task::block_in_place(|| scene.run(args));
    let play = |out: &str| {
        let roles = ["--agent", "mine", "--user", "mine", "--judge", "mine"];
        let first = ["run", "suite.toml", "--runs", "1", "--out", out];
        expect(&ran(&[&first[..], &roles].concat()), 0, &[]);
    };
    play("run");
    copy(&scene.path("run"), &scene.path("cut"));
    cut(&scene, "cut/journal/p.r1.jsonl");
    copy(&scene.path("cut"), &scene.path("again"));

    let elsewhere = suite
        .replace(&first.uri(), &second.uri())
        .replace("concurrency = 40", "concurrency = 3")
        .replace("id = \"lab\"", "id = \"lab\"\njobs = 3");
    let dearer = format!("{model}price = {{ input = 1.0, output = 2.0 }}\n");
    scene.write("suite.toml", &(elsewhere.clone() + &dearer));
    expect(&ran(&["verify", "run"]), 0, &[]);
    expect(&ran(&["run", "--resume", "cut"]), 0, &[]);
    assert!(!second.received_requests().await.unwrap().is_empty());
    play("other");
    expect(&ran(&["compare", "run", "other"]), 0, &[]);

    let thinks = format!("{dearer}plain = {{ deep = true }}\n");
    scene.write("suite.toml", &(elsewhere.clone() + &thinks));
    let refused = ran(&["run", "--resume", "again"]);
    expect(&refused, 3, &["the settings of the user's model"]);
    assert!(
        !stderr(&refused).contains("agent's"),
        "its field is another"
    );
    expect(&ran(&["verify", "run"]), 0, &[]);

    let shorter = format!("{dearer}[session]\nmax_turns = 1\n");
    scene.write("suite.toml", &(elsewhere + &shorter));
    for refused in [ran(&["verify", "run"]), ran(&["run", "--resume", "again"])] {
        expect(&refused, 3, &["the suite's `session.max_turns`"]);
    }
    play("short");
    expect(
        &ran(&["compare", "run", "short"]),
        3,
        &["they differ in the suite's `session.max_turns`"],
    );
}

#[test]
fn what_was_changed_is_named_and_another_version_of_the_rules_is_refused() {
    let scene = Scene::new().with_short();
    let suite = ["run", "tasks/suite.toml", "--out", "run"];
    expect(&scene.run(&suite), 0, &[]);
    let session = "tasks/personas/law_trainee/sessions/corrie-extension/session.toml";
    scene.replace(session, "title = \"", "title = \"The ");
    expect(
        &scene.run(&["run", "--resume", "run"]),
        3,
        &[
            "changed since it was begun: the suite's `personas/law_trainee/sessions/corrie-extension`;",
        ],
    );
    scene.replace(session, "title = \"The ", "title = \"");
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    let path = scene.path("run/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(manifest["protocol_version"], 2);
    manifest.as_object_mut().unwrap().remove("protocol_version");
    std::fs::write(&path, manifest.to_string()).unwrap();
    for command in [
        &["verify", "run"][..],
        &["run", "--resume", "run"],
        &["grade", "run", "--out", "graded"],
    ] {
        let said = "played by version 1 of the protocol, and this host has version 2";
        expect(&scene.run(command), 3, &[said]);
    }
    expect(&scene.run(&["report", "run"]), 0, &[]);
}
