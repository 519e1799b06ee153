//! Runs in parts, runs without something, and runs whose process is killed: the record is that of one whole run.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::models::{KEY, play, run, server};
use crate::scene::{Scene, expect, files, first_persona, short};

/// The files of a run folder that do not depend on when and where it was played.
pub(crate) fn comparable(scene: &Scene, run: &str) -> Vec<(String, Vec<u8>)> {
    let apart = [
        "lock",
        "timing.jsonl",
        "log.jsonl",
        "manifest.json",
        "seal.json",
    ];
    files(&scene.path(run))
        .into_iter()
        .filter(|(name, _)| !apart.contains(&name.as_str()))
        .collect()
}

#[test]
fn four_parts_merge_to_the_bytes_of_one_run() {
    let scene = Scene::new();
    let args = ["--agent", "reactive", "--runs", "6"];
    scene.play("whole", &args);
    for part in 1..=4 {
        let shard = format!("{part}/4");
        let results = scene.play(
            &format!("part{part}"),
            &[&args[..], &["--shard", &shard]].concat(),
        );
        let sessions = results["sessions"].as_array().unwrap().len();
        // Six episodes: two, two, one and one.
        let episodes = if part <= 2 { 2 } else { 1 };
        assert_eq!(
            sessions,
            episodes * first_persona().sessions.len(),
            "{shard}"
        );
    }
    let merged = scene.run(&[
        "merge", "part3", "part1", "part4", "part2", "--out", "merged",
    ]);
    expect(&merged, 0, &[]);
    assert!(comparable(&scene, "merged") == comparable(&scene, "whole"));
    expect(&scene.run(&["verify", "merged"]), 0, &[]);
}

/// How much lies below a folder that another process works on.
fn entries(dir: &std::path::Path) -> usize {
    let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let below = found.map(|entry| 1 + entries(&entry.path()));
    below.sum()
}

/// Killed at any moment, `merge` has made the whole folder or none, and the next one finds nothing in its way.
#[test]
fn a_killed_merge_leaves_nothing() {
    let scene = Scene::new();
    for part in ["1/2", "2/2"] {
        let out = format!("part{}", &part[..1]);
        scene.play(&out, &["--runs", "2", "--shard", part]);
    }
    let merge = |out: &str| scene.command(&["merge", "part1", "part2", "--out", out]);
    expect(&merge("out/first").output().unwrap(), 0, &[]);
    let whole = entries(&scene.path("out"));
    let (mut kills, mut rounds) = (0, 0);
    for step in 0..40 {
        let mut child = merge("out/merged")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let enough = whole + whole * step / 40;
        while entries(&scene.path("out")) < enough && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        let ended = child.wait().unwrap();
        kills += u32::from(ended.code().is_none());
        rounds += 1;
        let merged = scene.path("out/merged");
        if merged.exists() {
            expect(&scene.run(&["verify", "out/merged"]), 0, &[]);
            std::fs::remove_dir_all(merged).unwrap();
        } else {
            assert!(ended.code().is_none(), "{ended}");
        }
    }
    assert!(kills > rounds / 4, "{kills} of {rounds}");
    expect(&merge("out/merged").output().unwrap(), 0, &[]);
    let left: Vec<_> = std::fs::read_dir(scene.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != "first" && name != "merged")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(comparable(&scene, "out/merged") == comparable(&scene, "out/first"));
}

#[test]
fn a_merged_run_that_lacks_something_is_gone_on_with() {
    let scene = Scene::new();
    let args = ["--agent", "reactive", "--runs", "2"];
    scene.play("whole", &args);
    for part in ["1/2", "2/2"] {
        let out = format!("part{}", &part[..1]);
        scene.play(&out, &[&args[..], &["--shard", part]].concat());
    }
    let journal = scene.path("part2/journal/law_trainee.r2.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let half: String = text
        .split_inclusive('\n')
        .take(text.lines().count() / 2)
        .collect();
    std::fs::write(&journal, half).unwrap();
    let merged = scene.run(&["merge", "part1", "part2", "--out", "merged"]);
    expect(&merged, 6, &["run --resume merged"]);
    expect(&scene.run(&["run", "--resume", "merged"]), 0, &[]);
    assert!(comparable(&scene, "merged") == comparable(&scene, "whole"));
}

#[test]
fn parts_may_have_their_policy_in_different_places() {
    let scene = Scene::new();
    for part in ["1", "2"] {
        let policy = format!("policy{part}.toml");
        scene.write(&policy, "version = 1\n");
        let (out, shard) = (format!("part{part}"), format!("{part}/2"));
        scene.play(
            &out,
            &["--runs", "2", "--shard", &shard, "--policy", &policy],
        );
    }
    let merged = scene.run(&["merge", "part1", "part2", "--out", "merged"]);
    expect(&merged, 0, &[]);
    scene.write("part2/blobs/other", "kept");
    std::os::unix::fs::symlink("/etc/hostname", scene.path("part2/blobs/link")).unwrap();
    let merged = scene.run(&["merge", "part1", "part2", "--out", "again"]);
    expect(&merged, 4, &["neither a file nor a folder"]);
    assert!(!scene.path("again").exists());
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let scene = Scene::new();
    scene.play("one", &["--runs", "2", "--shard", "1/2"]);
    scene.play("two", &["--runs", "2", "--shard", "2/2", "--seed", "9"]);
    scene.play("whole", &[]);
    for (parts, said) in [
        (&["one"][..], "missing 2/2"),
        (&["one", "two"], "they differ in `seed`"),
        (&["one", "one"], "merge one: it is named twice"),
        (&["one", "whole"], "it is a whole run"),
        (&["nowhere"], "merge nowhere: there is nothing"),
    ] {
        let output = scene.run(&[&["merge"], parts, &["--out", "merged"]].concat());
        expect(&output, 3, &[said]);
        assert!(!scene.path("merged").exists(), "{said}");
    }
    let suite = short();
    let output = scene.run(&["run", suite.to_str().unwrap(), "--shard", "3/2"]);
    expect(&output, 2, &["I/N with I from 1 to N"]);
}

#[test]
fn without_dependencies_each_final_session_starts_from_nothing() {
    let scene = Scene::new().with_short();
    // A second group, so that one final session follows another.
    scene.replace(
        "tasks/personas/law_trainee/persona.toml",
        "[\"saltmarsh-chronology\", \"saltmarsh-exhibit\"]",
        "[\"saltmarsh-exhibit\"]",
    );
    scene.replace(
        "tasks/personas/law_trainee/persona.toml",
        "{ session = \"corrie-extension\" }",
        "{ session = \"corrie-extension\", depends_on = [\"saltmarsh-chronology\"] }",
    );
    let play = |out: &str, args: &[&str]| -> Value {
        let args = [&["run", "tasks/suite.toml", "--json", "--out", out], args].concat();
        let output = scene.run(&args);
        expect(&output, 0, &[]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let full = play("full", &[]);
    let ablated = play("ablated", &["--ablate", "dependencies"]);
    assert_eq!(ablated["ablate"], "dependencies");
    let sessions = ablated["sessions"].as_array().unwrap();
    let ids: Vec<&str> = sessions.iter().map(|s| s["id"].as_str().unwrap()).collect();
    let finals = full["sessions"].as_array().unwrap().iter();
    let finals: Vec<&str> = finals
        .filter(|s| s["weight"].as_u64() > Some(1))
        .map(|s| s["id"].as_str().unwrap())
        .collect();
    assert!(ids.len() > 1 && ids == finals, "{ids:?}");
    for session in sessions {
        assert_eq!(session["weight"], 1, "its own intents alone");
        assert_eq!(session["proc_scored"], session["proc"]);
    }
    let journal = scene.path("ablated/journal/law_trainee.r1.jsonl");
    let journal = std::fs::read_to_string(journal).unwrap();
    let started: Vec<Value> = journal
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|event: &Value| event["event"] == "session_started")
        .collect();
    let begun = started[1]["changes"].as_array().unwrap();
    assert!(
        begun.iter().any(|change| change["kind"] == "deleted"),
        "what the first session made is gone: {begun:?}"
    );
    assert!(!journal.contains("memory/HISTORY.md"), "nobody remembers");
    expect(&scene.run(&["verify", "ablated"]), 0, &[]);

    let compared = scene.run(&["compare", "full", "ablated", "--json"]);
    expect(&compared, 0, &[]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!(compared["sessions"].as_array().unwrap().len(), finals.len());
}

/// A hundred times, a process is killed when its journal has grown to a length that nobody chose.
#[test]
fn a_hundred_kills_lose_nothing() {
    let scene = Scene::new();
    scene.play("whole", &["--agent", "reactive", "--runs", "4"]);
    let length = |run: &str| -> u64 {
        let journals = std::fs::read_dir(scene.path(run).join("journal"));
        let journals = journals.into_iter().flatten().flatten();
        journals
            .map(|entry| entry.metadata().map_or(0, |data| data.len()))
            .sum()
    };
    let suite = short();
    let mut kills = 0;
    let mut random = 0x2545_f491_u64;
    for round in 0.. {
        if kills >= 100 {
            break;
        }
        assert!(round < 100, "only {kills} kills in {round} runs");
        let out = format!("killed{round}");
        loop {
            let mut command = if scene.path(&out).exists() {
                scene.command(&["run", "--resume", &out])
            } else {
                let suite = suite.to_str().unwrap();
                let run = ["run", suite, "--agent", "reactive", "--runs", "4"];
                let into = ["--persona", "law_trainee", "--out", &out];
                scene.command(&[run.as_slice(), &into].concat())
            };
            let said = std::fs::File::create(scene.path("said")).unwrap();
            command.stdout(Stdio::null()).stderr(said);
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let enough = length(&out) + (random >> 33) % (length("whole") / 6);
            let mut child = command.spawn().unwrap();
            let ended = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break Some(status);
                }
                if length(&out) > enough {
                    child.kill().unwrap();
                    break None;
                }
                // Often enough to kill anywhere, and seldom enough to leave the processor to what is killed.
                std::thread::sleep(Duration::from_micros(500));
            };
            child.wait().unwrap();
            match ended {
                Some(status) => {
                    let said = std::fs::read_to_string(scene.path("said")).unwrap();
                    assert_eq!(status.code(), Some(0), "{out} after {kills} kills: {said}");
                    break;
                }
                None => kills += 1,
            }
        }
        let (found, whole) = (comparable(&scene, &out), comparable(&scene, "whole"));
        let differs = found.iter().filter(|file| !whole.contains(file));
        let names: Vec<&String> = differs.map(|(name, _)| name).collect();
        assert!(found == whole, "{out} after {kills} kills: {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_says_how_to_go_on_and_does() {
    let scene = Scene::new();
    let late =
        server(|_| wiremock::ResponseTemplate::new(200).set_delay(Duration::from_mins(1))).await;
    let suite = short();
    let (begin, into) = (
        ["run", suite.to_str().unwrap()],
        ["--persona", "law_trainee", "--out", "run"],
    );
    let with = [
        "--runs", "1", "--agent", "openai/m", "--user", "lexical", "--judge", "lexical",
    ];
    let mut command = scene.command(&[begin.as_slice(), &into, &with].concat());
    command
        .env("OPENAI_BASE_URL", format!("{}/v1", late.uri()))
        .env("OPENAI_API_KEY", KEY)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    while late.received_requests().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    expect(&output, 130, &["Interrupted. Go on with", "run --resume"]);
    assert!(!crate::scene::stderr(&output).contains("panicked"));
    assert!(!scene.path("run/results.json").exists());
    let quick = server(play).await;
    expect(&run(&scene, &["run", "--resume", "run"], &quick), 0, &[]);
}
