//! A part of a run as a task of a scheduler plays it: one command that begins or goes on, and ends when it is told to.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::{KEY, play, run, server, text};
use crate::scene::{Scene, assert_fits, copy, expect, files, first_persona, flowed, short, stderr};

/// A task of an array of so many.
fn task(id: &'static str, of: &'static str) -> [(&'static str, &'static str); 3] {
    [
        ("SLURM_ARRAY_TASK_ID", id),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("SLURM_ARRAY_TASK_MAX", of),
    ]
}

/// The worker's command on the short suite, with more arguments.
fn worker<'a>(suite: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let begin = [
        "run",
        suite,
        "--shard",
        "auto",
        "--out",
        "all",
        "--persona",
        "law_trainee",
    ];
    [&begin[..], more].concat()
}

#[test]
fn one_command_begins_a_part_and_goes_on_with_it_and_refuses_another_run() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let args = ["--agent", "reactive", "--runs", "2"];
    scene.play("whole", &args);
    for id in ["1", "2"] {
        expect(
            &scene.run_with(&worker(suite, &args), &task(id, "2")),
            0,
            &[],
        );
    }
    let journal = scene.path("all/part-2/journal/law_trainee.r2.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    let again = scene.run_with(&worker(suite, &args), &task("2", "2"));
    expect(&again, 0, &["finished before"]);
    assert!(std::fs::read(&journal).unwrap() == whole);
    // The same in Kubernetes' words.
    let pod = [("JOB_COMPLETION_INDEX", "1"), ("PIBENCH_PARTS", "2")];
    expect(
        &scene.run_with(&worker(suite, &args), &pod),
        0,
        &["4 finished before"],
    );
    let started = std::fs::read_to_string(scene.path("all/part-2/lock")).unwrap();
    assert!(started.contains("\"number\":3"), "{started}");
    let before = files(&scene.path("all"));
    let seed = [&args[..], &["--seed", "9"]].concat();
    for (more, id, of, said) in [
        (&seed[..], "2", "2", "they differ in `seed`"),
        (
            &args[..],
            "2",
            "4",
            "it has 2/2 of the episodes and not 2/4",
        ),
    ] {
        let refused = scene.run_with(&worker(suite, more), &task(id, of));
        expect(&refused, 3, &["all/part-2", said, "choose another --out"]);
    }
    assert!(
        files(&scene.path("all")) == before,
        "a refusal writes nothing"
    );
    let named = [
        "run",
        suite,
        "--shard",
        "2/2",
        "--persona",
        "law_trainee",
        "--out",
        "all/part-2",
    ];
    expect(
        &scene.run(&[&named[..], &args].concat()),
        0,
        &["4 finished before"],
    );
    let parts = ["merge", "all/part-1", "all/part-2", "--out", "merged"];
    expect(&scene.run(&parts), 0, &[]);
    let merged = std::fs::read(scene.path("merged/results.json")).unwrap();
    assert!(merged == std::fs::read(scene.path("whole/results.json")).unwrap());
}

#[test]
fn a_part_that_nobody_names_is_refused() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    expect(
        &scene.run(&worker(suite, &[])),
        2,
        &["JOB_COMPLETION_INDEX is set", "--shard 2/4"],
    );
    let without = ["run", suite, "--shard", "auto"];
    expect(
        &scene.run_with(&without, &task("1", "2")),
        2,
        &["wants --out DIR"],
    );
    expect(
        &scene.run_with(&worker(suite, &[]), &task("one", "2")),
        2,
        &["`one`, and no number"],
    );
    assert!(!scene.path("all").exists());
}

#[test]
fn a_part_of_several_agents_goes_on_with_those_that_are_there_and_begins_the_others() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let args = ["--agent", "nop", "--agent", "reactive", "--runs", "2"];
    let play = || scene.run_with(&worker(suite, &args), &task("1", "2"));
    expect(&play(), 0, &[]);
    let part = scene.path("all/part-1");
    let comparable = || -> Vec<(String, Vec<u8>)> {
        let all = files(&part).into_iter();
        let of_run = |name: &str| name.contains("journal/") || name.contains("trajectories/");
        all.filter(|(name, _)| of_run(name)).collect()
    };
    let whole = comparable();
    std::fs::remove_dir_all(part.join("reactive")).unwrap();
    expect(&play(), 0, &["4 finished before"]);
    assert!(comparable() == whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_played_to_its_end_can_exit_with_0_whatever_broke_in_it() {
    let scene = Scene::new();
    let refusing = server(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let reason = serde_json::json!({ "error": { "code": "content_filter", "message": "no" } });
        if body["tools"].as_array().is_none_or(Vec::is_empty) {
            text("OK")
        } else {
            ResponseTemplate::new(400).set_body_json(reason)
        }
    })
    .await;
    let suite = short();
    let mut args = vec![
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--no-preflight",
    ];
    args.extend([
        "--runs", "1", "--agent", "openai/m", "--user", "lexical", "--judge", "lexical",
    ]);
    let strict = [&args[..], &["--out", "strict"]].concat();
    expect(&run(&scene, &strict, &refusing), 9, &[]);
    let mild = [&args[..], &["--out", "mild", "--exit-zero"]].concat();
    expect(&run(&scene, &mild, &refusing), 0, &[]);
    let results = |run: &str| std::fs::read(scene.path(run).join("results.json")).unwrap();
    assert!(
        results("strict") == results("mild"),
        "only the code differs"
    );
}

/// A worker that waits for its model.
fn waiting(scene: &Scene, server: &MockServer, grace: &str) -> Child {
    let suite = short();
    let models = [
        "--runs", "1", "--agent", "openai/m", "--user", "lexical", "--judge", "lexical",
    ];
    let args = worker(suite.to_str().unwrap(), &models);
    let mut command = scene.command(&[&args[..], &["--no-preflight", "--grace", grace]].concat());
    command
        .envs(task("1", "1"))
        .env("OPENAI_BASE_URL", format!("{}/v1", server.uri()))
        .env("OPENAI_API_KEY", KEY)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

async fn first_request(server: &MockServer) {
    while server.received_requests().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

fn lines(scene: &Scene) -> Vec<String> {
    let journal = scene.path("all/part-1/journal/law_trainee.r1.jsonl");
    let text = std::fs::read_to_string(journal).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_have_begun_are_played_on_within_the_grace_and_no_other_begins() {
    for signal in [Signal::TERM, Signal::USR1] {
        let scene = Scene::new();
        let slow = server(|request| play(request).set_delay(Duration::from_millis(300))).await;
        let child = waiting(&scene, &slow, "3600");
        first_request(&slow).await;
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        expect(&output, 130, &["Interrupted. Go on with"]);
        assert!(!stderr(&output).contains("panicked"));
        let lines = lines(&scene);
        let turns = lines
            .iter()
            .filter(|line| line.contains("\"event\":\"turn\""))
            .count();
        assert_eq!(turns, 1, "the one in flight: {lines:?}");
        assert!(!scene.path("all/part-1/results.json").exists());
        let quick = server(play).await;
        let args = ["run", "--resume", "all/part-1"];
        expect(&run(&scene, &args, &quick), 0, &[]);
        let sessions = first_persona().sessions.len();
        let ended = |line: &&String| line.contains("\"event\":\"session_finished\"");
        assert_eq!(self::lines(&scene).iter().filter(ended).count(), sessions);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_takes_longer_than_the_grace_is_cut() {
    let scene = Scene::new();
    let late = server(|_| ResponseTemplate::new(200).set_delay(Duration::from_mins(5))).await;
    let child = waiting(&scene, &late, "2");
    first_request(&late).await;
    let asked = Instant::now();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    expect(&output, 130, &["Interrupted. Go on with"]);
    assert!(
        asked.elapsed() < Duration::from_mins(4),
        "it waits for no answer"
    );
    assert!(
        !lines(&scene)
            .iter()
            .any(|line| line.contains("\"event\":\"turn\""))
    );
}

/// Before the first turn there is nothing to be played to its end.
#[test]
fn a_signal_before_the_first_turn_ends_the_program_with_the_same_code() {
    let scene = Scene::new();
    // Whoever reads it waits for somebody who writes, so that the program is at its prompts for as long as is wanted.
    let prompt = scene.write("prompts/other", "").with_file_name("system.md");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &prompt,
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    std::fs::remove_file(scene.path("prompts/other")).unwrap();
    let suite = short();
    let args = worker(suite.to_str().unwrap(), &["--prompts", "prompts"]);
    let mut command = scene.command(&args);
    command.envs(task("1", "1")).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let writes = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    // It can be opened for writing when it is being read.
    while rustix::fs::open(&prompt, writes, rustix::fs::Mode::empty()).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended already");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    expect(&child.wait_with_output().unwrap(), 130, &[]);
    assert!(!scene.path("all").exists());
}

#[test]
fn a_part_whose_folder_holds_nothing_yet_is_begun() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let play = |more: &[&'static str]| scene.run_with(&worker(suite, more), &task("1", "2"));
    for files in [&[][..], &["lock"], &["manifest.json", "lock"]] {
        std::fs::create_dir_all(scene.path("all/part-1")).unwrap();
        for name in files {
            scene.write(&format!("all/part-1/{name}"), "");
        }
        expect(&play(&["--runs", "2"]), 0, &[]);
        std::fs::remove_dir_all(scene.path("all")).unwrap();
    }
    std::fs::create_dir_all(scene.path("all/part-1/nop")).unwrap();
    expect(
        &play(&["--runs", "2", "--agent", "nop", "--agent", "cheat"]),
        0,
        &[],
    );
    std::fs::remove_dir_all(scene.path("all")).unwrap();
    let kept = scene.write("all/part-1/notes.txt", "mine");
    expect(&play(&["--runs", "2"]), 4, &["all/part-1", "`notes.txt`"]);
    assert!(kept.exists());
}

#[test]
fn a_place_that_a_command_cannot_write_is_refused_and_nothing_is_made() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    for (args, said) in [
        (
            &["run", suite, "--out", "S3://runs/a"][..],
            "s3://, gs:// or az://",
        ),
        (
            &["run", suite, "--out", "s3:/runs/a"],
            "s3://, gs:// or az://",
        ),
        (
            &["run", suite, "--record", "s3://runs/a"],
            "of this machine",
        ),
        (&["serve", suite, "--out", "s3://runs/a"], "of this machine"),
        (
            &["report", "a", "--out", "http://runs/a"],
            "of this machine",
        ),
        (&["report", "S3://runs/a"], "read S3://runs/a"),
        (
            &["export", "a", "--format", "jsonl", "--out", "gs://runs/a"],
            "of this machine",
        ),
    ] {
        expect(&scene.run(args), 2, &["//runs/a".get(1..).unwrap(), said]);
    }
    let left = std::fs::read_dir(scene.dir.path()).unwrap().count();
    assert_eq!(left, 0, "no folder is called as a scheme");
}

/// Nobody is asked who could answer otherwise in a while.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_refuses_for_good_ends_with_the_code_for_what_the_operator_mends() {
    let scene = Scene::new();
    let denying = server(|_| ResponseTemplate::new(403)).await;
    let uri = denying.uri();
    let keys = [
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_ENDPOINT", uri.as_str()),
    ];
    let verify = |place: &str, more: &[(&str, &str)]| {
        let variables = [&keys[..], more].concat();
        tokio::task::block_in_place(|| scene.run_with(&["verify", place], &variables))
    };
    let plain = verify("s3://runs/a", &[]);
    expect(&plain, 10, &["s3://runs", "AWS_ALLOW_HTTP=true"]);
    let denied = verify("s3://runs/a", &[("AWS_ALLOW_HTTP", "true")]);
    expect(&denied, 10, &["s3://runs", "AWS_ACCESS_KEY_ID"]);
    let keyless = verify("gs://runs/a", &[("GOOGLE_SERVICE_ACCOUNT", "/nowhere")]);
    expect(&keyless, 10, &["gs://runs"]);
}

/// A store whose bucket `runs` has the files below a folder; one of this name comes too late.
async fn store(dir: PathBuf, late: &'static str) -> MockServer {
    let server = MockServer::start().await;
    let answer = move |request: &Request| {
        let asked = |name: &str| {
            let mut pairs = request.url.query_pairs();
            let found = pairs.find(|(key, _)| **key == *name);
            found.map(|(_, value)| value.into_owned())
        };
        if asked("list-type").is_some() {
            let below = asked("prefix").unwrap_or_default();
            let mut listed = String::new();
            for (name, bytes) in files(&dir) {
                if name.starts_with(&below) {
                    let size = bytes.len();
                    let _ = write!(
                        listed,
                        "<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>{size}</Size></Contents>"
                    );
                }
            }
            let text = format!(
                "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"
            );
            return ResponseTemplate::new(200).set_body_raw(text, "application/xml");
        }
        let name = request.url.path().trim_start_matches("/runs/");
        let Ok(bytes) = std::fs::read(dir.join(name)) else {
            return ResponseTemplate::new(404);
        };
        let found = ResponseTemplate::new(200)
            .insert_header("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            .insert_header("etag", "\"one\"")
            .set_body_bytes(bytes);
        if name.ends_with(late) {
            return found.set_delay(Duration::from_mins(5));
        }
        found
    };
    let mock = Mock::given(any()).respond_with(answer);
    mock.mount(&server).await;
    server
}

fn keys(uri: &str) -> [(&str, &str); 4] {
    [
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_ENDPOINT", uri),
        ("AWS_ALLOW_HTTP", "true"),
    ]
}

/// Hidden intents lie in it.
#[tokio::test(flavor = "multi_thread")]
async fn the_copy_of_a_stored_run_is_its_users_alone_and_goes_with_a_signal() {
    let scene = Scene::new();
    scene.write("stored/a/outline.json", "{}");
    scene.write("stored/a/manifest.json", "{}");
    let store = store(scene.path("stored"), "manifest.json").await;
    let uri = store.uri();
    for signal in [Signal::TERM, Signal::INT] {
        let copies = scene.path("copies");
        std::fs::create_dir_all(&copies).unwrap();
        let mut looking = scene
            .command(&["verify", "s3://runs/a"])
            .envs(keys(&uri))
            .env("TMPDIR", &copies)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let copy = || std::fs::read_dir(&copies).unwrap().next();
        let is_fetched = || {
            let copy = copy().map(|copy| copy.unwrap().path());
            copy.is_some_and(|copy| copy.join("a/outline.json").exists())
        };
        while !is_fetched() {
            assert!(looking.try_wait().unwrap().is_none(), "it has ended");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let made = copy().unwrap().unwrap().metadata().unwrap();
        assert_eq!(made.permissions().mode() & 0o777, 0o700);
        kill_process(Pid::from_child(&looking), signal).unwrap();
        assert_eq!(looking.wait().unwrap().code(), Some(130), "{signal:?}");
        assert!(copy().is_none(), "{signal:?}: the copy stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_a_stored_run_names_its_place_and_not_the_copy() {
    let scene = Scene::new();
    scene.play("stored/a", &["--agent", "nop", "--runs", "1"]);
    copy(&scene.path("stored/a"), &scene.path("b"));
    copy(&scene.path("b"), &scene.path("stored/whole"));
    scene.write("stored/a/added", "later");
    let store = store(scene.path("stored"), "no such file").await;
    let uri = store.uri();
    for args in [
        &["export", "s3://runs/a", "--format", "jsonl", "--out", "out"][..],
        &["compare", "s3://runs/a", "b"],
        &["report", "s3://runs/a"],
    ] {
        let output = tokio::task::block_in_place(|| scene.run_with(args, &keys(&uri)));
        expect(&output, 0, &[]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = flowed(&(printed + &stderr(&output)));
        assert!(!said.contains("pibench-store-"), "{args:?}: {said}");
        let told = "s3://runs/a was changed since it was sealed";
        let what_to_do = "`pibench-host verify s3://runs/a`";
        assert!(said.contains(told) && said.contains(what_to_do), "{said}");
    }
    // Who only asks how far it is does without its blobs, and misses none.
    for (run, is_changed) in [("a", true), ("whole", false)] {
        let place = format!("s3://runs/{run}");
        let show = || scene.run_with(&["show", &place], &keys(&uri));
        let output = tokio::task::block_in_place(show);
        expect(&output, 0, &[]);
        let said = flowed(&String::from_utf8_lossy(&output.stdout));
        let told = said.contains(&format!("{place} was changed since it was sealed (added"));
        assert_eq!(told, is_changed, "{said}");
        assert!(is_changed || !said.contains("was changed"), "{said}");
    }
}

/// The seal of a run has all that lies in its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_the_place_of_another_in_a_store_is_refused_as_on_a_disk() {
    let scene = Scene::new();
    scene.play("stored/fin", &["--agent", "nop", "--runs", "1"]);
    let store = store(scene.path("stored"), "no such file").await;
    let uri = store.uri();
    let run = |args: &[&str]| tokio::task::block_in_place(|| scene.run_with(args, &keys(&uri)));
    let suite = short();
    let out = |place: &str| run(&["run", suite.to_str().unwrap(), "--out", place]);
    for place in ["s3://runs/fin/inner", "s3://runs/fin/workspaces/a/b"] {
        let said = format!(
            "make {place}: it would lie in the run folder s3://runs/fin, which nothing may be added to; choose another --out"
        );
        expect(&out(place), 3, &[&said]);
    }
    let graded = run(&["grade", "s3://runs/fin", "--out", "s3://runs/fin/graded"]);
    expect(&graded, 3, &["make s3://runs/fin/graded: it would lie in"]);
    // This store takes nothing, which is told of every other place.
    let said = ["write to s3://runs/beside"];
    expect(&out("s3://runs/beside/fin"), 10, &said);
}

#[test]
fn what_lacks_a_part_is_told_as_such_and_not_as_a_run() {
    let scene = Scene::new();
    let suite = short();
    let worker = worker(suite.to_str().unwrap(), &["--runs", "2"]);
    expect(&scene.run_with(&worker, &task("1", "2")), 0, &[]);
    let lacking = "1 of 2 parts are begun, and not 2";
    let verified = scene.run(&["verify", "all"]);
    expect(&verified, 3, &[lacking]);
    assert!(verified.stdout.is_empty(), "nothing is said to follow");
    let reported = scene.run(&["report", "all"]);
    expect(&reported, 0, &[]);
    assert!(String::from_utf8_lossy(&reported.stdout).contains(lacking));
    let shown = scene.run(&["show", "all"]);
    expect(&shown, 6, &[lacking]);
    assert!(!stderr(&shown).contains("Make one run"));
    expect(&scene.run_with(&worker, &task("2", "2")), 0, &[]);
    expect(
        &scene.run(&["show", "all"]),
        0,
        &["Make one run of them by `pibench-host merge"],
    );
    expect(&scene.run(&["verify", "all"]), 0, &[]);
}

#[test]
fn what_cannot_be_merged_is_called_by_its_name() {
    let scene = Scene::new().with_short();
    let suite = scene.path("tasks/suite.toml");
    let suite = suite.to_str().unwrap();
    for part in ["1", "2"] {
        let worker = worker(suite, &["--runs", "2"]);
        expect(
            &scene.run_with(&worker, &task(if part == "1" { "1" } else { "2" }, "2")),
            0,
            &[],
        );
    }
    scene.write("file", "");
    expect(
        &scene.run(&["merge", "nowhere"]),
        3,
        &["merge nowhere: there is nothing"],
    );
    expect(
        &scene.run(&["merge", "file"]),
        3,
        &["merge file: it is no folder"],
    );
    let (one, two) = ("all/part-1", "all/part-2");
    copy(&scene.path(one), &scene.path("copy"));
    expect(
        &scene.run(&["merge", one, two, "copy", "--out", "x"]),
        3,
        &["merge all/part-1 and copy: both are part 1/2"],
    );
    expect(
        &scene.run(&["merge", one, two, "./all/part-1", "--out", "x"]),
        3,
        &["merge ./all/part-1: it is named twice"],
    );
    std::fs::create_dir(scene.path("all/run")).unwrap();
    expect(
        &scene.run(&["merge", "all"]),
        4,
        &["all/run", "it is there already, and is no run folder"],
    );
    assert!(scene.path("all/run").is_dir(), "whoever made it keeps it");
    std::fs::remove_dir(scene.path("all/run")).unwrap();
    let session = "tasks/personas/law_trainee/sessions/corrie-extension/session.toml";
    scene.replace(session, "title = \"", "title = \"The ");
    let changed = scene.run(&["merge", "all"]);
    expect(
        &changed,
        3,
        &[
            "all/part-1 and all/part-2",
            "changed since it was begun",
            "its suite is",
        ],
    );
    assert!(!stderr(&changed).contains("all/run"), "it never was");
}

/// All parts of the short suite's episodes, each by a task of its own, in `all`.
fn play_parts(scene: &Scene, of: &'static str, more: &[&str]) {
    let suite = short();
    for id in ["1", "2", "3", "4"].into_iter().filter(|id| *id <= of) {
        let output = scene.run_with(&worker(suite.to_str().unwrap(), more), &task(id, of));
        expect(&output, 0, &[]);
    }
}

#[test]
fn a_folder_of_parts_is_merged_when_all_are_played_and_again_without_a_change() {
    let scene = Scene::new();
    let args = ["--agent", "reactive", "--runs", "3"];
    scene.play(
        "whole",
        &[&["--persona", "law_trainee"], &args[..]].concat(),
    );
    play_parts(&scene, "3", &args);
    std::fs::rename(scene.path("all/part-3"), scene.path("later")).unwrap();
    let journal = scene.path("all/part-2/journal/law_trainee.r2.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    let lacking = scene.run(&["merge", "all"]);
    expect(
        &lacking,
        6,
        &[
            "part 3/3 of reactive is not begun",
            "part 2/3 of reactive has",
        ],
    );
    assert!(!stderr(&lacking).contains("part 1/3"));
    assert!(!scene.path("all/run").exists());
    std::fs::write(&journal, whole).unwrap();
    std::fs::rename(scene.path("later"), scene.path("all/part-3")).unwrap();
    let before = files(&scene.path("all"));
    let elsewhere = scene.run(&["merge", "all", "--out", "elsewhere"]);
    expect(&elsewhere, 0, &[]);
    assert!(
        files(&scene.path("all")) == before,
        "the parts are only read"
    );
    let first = scene.run(&["merge", "all"]);
    expect(&first, 0, &[]);
    let made = files(&scene.path("all/run"));
    let again = scene.run(&["merge", "all"]);
    expect(&again, 0, &[]);
    assert!(again.stdout == first.stdout && files(&scene.path("all/run")) == made);
    for name in ["results.json", "journal/law_trainee.r3.jsonl"] {
        let of = |run: &str| std::fs::read(scene.path(run).join(name)).unwrap();
        assert!(of("all/run") == of("whole"), "{name}");
    }
    expect(&scene.run(&["verify", "all/run"]), 0, &[]);
    let report = |run: &str| String::from_utf8(scene.run(&["report", run]).stdout).unwrap();
    // What was merged is reported and not its parts.
    assert_eq!(report("all"), report("whole"));
    let journal = scene.path("all/run/journal/law_trainee.r1.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() / 2]).unwrap();
    expect(
        &scene.run(&["merge", "all"]),
        4,
        &["is not what the parts come to now"],
    );
    expect(
        &scene.run(&["merge", "whole/journal"]),
        3,
        &["there is no part in it"],
    );
    expect(
        &scene.run(&["merge", "all/part-1", "all/part-2"]),
        2,
        &["say by --out"],
    );
}

#[test]
fn one_part_that_is_verified_says_which_it_is_and_how_the_whole_run_is_made() {
    let scene = Scene::new();
    play_parts(&scene, "2", &["--agent", "reactive", "--runs", "2"]);
    expect(&scene.run(&["merge", "all"]), 0, &[]);
    let verified = |args: &[&str]| {
        let output = scene.run(&[&["verify"], args].concat());
        expect(&output, 0, &[]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    let told = verified(&["all/part-2"]);
    let part = "all/part-2: part 2 of 2 of a run, and nothing was said of the others; `pibench-host merge all` makes";
    assert!(told.contains(part), "{told}");
    assert!(!verified(&["all"]).contains("part"), "it is whole");
    let json = |run| -> Value { serde_json::from_str(&verified(&[run, "--json"])).unwrap() };
    let part = json("all/part-2");
    assert_eq!(
        part["part"],
        json!({ "index": 2, "of": 2, "merge": "pibench-host merge all" })
    );
    assert_eq!(
        (&part["run"], &part["problems"]),
        (&json!("all/part-2"), &json!([]))
    );
    let whole = json("all/run");
    assert_eq!(whole["part"], Value::Null);
    let sessions = |of: &Value| of["sessions"].as_u64().unwrap();
    assert_eq!(sessions(&whole), 2 * sessions(&part));
    // A part that lies by itself does not say where the others are.
    std::fs::rename(scene.path("all/part-1"), scene.path("alone")).unwrap();
    assert!(verified(&["alone"]).contains("`pibench-host merge PART... --out DIR`"));
}

#[test]
fn parts_of_several_agents_are_merged_to_a_run_of_each() {
    let scene = Scene::new();
    let args = ["--agent", "nop", "--agent", "reactive", "--runs", "2"];
    play_parts(&scene, "2", &args);
    expect(&scene.run(&["merge", "all"]), 0, &[]);
    for agent in ["nop", "reactive"] {
        scene.play(agent, &["--agent", agent, "--runs", "2"]);
        let results = |run: &str| std::fs::read(scene.path(run).join("results.json")).unwrap();
        assert!(
            results(&format!("all/run/{agent}")) == results(agent),
            "{agent}"
        );
        expect(&scene.run(&["verify", &format!("all/run/{agent}")]), 0, &[]);
    }
    // Cut off between the two: the other is made, and the first stays.
    std::fs::remove_dir_all(scene.path("all/run/nop")).unwrap();
    let reactive = files(&scene.path("all/run/reactive"));
    let json = scene.run(&["merge", "all", "--json"]);
    expect(&json, 0, &[]);
    let all: Vec<serde_json::Value> = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        all.iter().map(|one| &one["agent"]).collect::<Vec<_>>(),
        ["nop", "reactive"]
    );
    assert!(files(&scene.path("all/run/reactive")) == reactive);
    // A failure leaves none of them, those that would have been made before it neither.
    std::fs::remove_dir_all(scene.path("all/run")).unwrap();
    std::os::unix::fs::symlink(
        "/etc/hostname",
        scene.path("all/part-2/reactive/blobs/link"),
    )
    .unwrap();
    expect(
        &scene.run(&["merge", "all"]),
        4,
        &["neither a file nor a folder"],
    );
    assert!(!scene.path("all/run").exists());
}

#[test]
fn parts_are_shown_added_up() {
    let scene = Scene::new();
    play_parts(&scene, "2", &["--agent", "reactive", "--runs", "2"]);
    let journal = scene.path("all/part-2/journal/law_trainee.r2.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let end = text.find("\"event\":\"session_finished\"").unwrap();
    std::fs::write(&journal, &text[..=end + text[end..].find('\n').unwrap()]).unwrap();
    let hours_ago = journal.metadata().unwrap().modified().unwrap() - Duration::from_hours(5);
    let file = std::fs::File::options().append(true).open(&journal);
    file.unwrap().set_modified(hours_ago).unwrap();
    let start = r#"{"node":"n7","number":43,"at":"2026-01-01T00:00:00Z"}"#;
    scene.write("all/part-2/lock", start);
    let shown = scene.run_with(&["show", "all", "--once"], &[]);
    expect(&shown, 0, &[]);
    let said = String::from_utf8(shown.stdout).unwrap();
    assert_fits(&said);
    let sessions = first_persona().sessions.len();
    for part in [
        "1/2".to_owned(),
        "nobody plays it".to_owned(),
        format!("{sessions}/{sessions}"),
        format!("1/{sessions}"),
        format!(
            "{} of {} sessions finished in the 2 of 2 parts",
            sessions + 1,
            2 * sessions
        ),
        "0 playing, 1 waiting to be gone on with".to_owned(),
    ] {
        assert!(flowed(&said).contains(&part), "`{part}` is not in:\n{said}");
    }
    // Node, start and age of the last line are those of one part.
    let cut = said.lines().find(|line| line.contains("2/2")).unwrap();
    for cell in ["n7", "43", "5 h"] {
        assert!(cut.contains(cell), "`{cell}` is not in: {cut}");
    }
}

/// Plays a part of two, of a model that has a price, until this much is spent by both.
fn play_priced(scene: &Scene, url: &str, part: &'static str, most: &str) -> std::process::Output {
    let suite = short();
    let price = "models.m.price={input=100.0,output=100.0}";
    let mut args = vec!["--runs", "2", "--no-preflight", "--jobs", "1"];
    args.extend(["--user", "lexical", "--judge", "lexical", "--agent", "m"]);
    args.extend(["--set", "models.m.provider=openai"]);
    args.extend(["--set", "models.m.model=m", "--set", price]);
    args.extend(["--max-cost", most]);
    let mut variables = task(part, "2").to_vec();
    variables.extend([("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", KEY)]);
    let args = worker(suite.to_str().unwrap(), &args);
    tokio::task::block_in_place(|| scene.run_with(&args, &variables))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_parts_have_one_bound_of_cost() {
    let scene = Scene::new();
    let server = server(play).await;
    let url = format!("{}/v1", server.uri());
    let play = |part| play_priced(&scene, &url, part, "0.05");
    expect(&play("1"), 7, &["start another turn", "--max-cost is 0.05"]);
    expect(&play("2"), 7, &["start another turn"]);
    let turns = |part: u32| {
        let journal = format!("all/part-{part}/journal/law_trainee.r{part}.jsonl");
        let text = std::fs::read_to_string(scene.path(&journal)).unwrap_or_default();
        text.matches("\"event\":\"turn\"").count()
    };
    assert!(turns(1) > 0, "the first had money");
    assert_eq!(turns(2), 0, "the second found nothing left");
    // What the first spent on turns that it lost is known to its next process.
    let journal = scene.path("all/part-1/journal/law_trainee.r1.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, &text[..=text.find('\n').unwrap()]).unwrap();
    expect(&play("1"), 7, &["start another turn"]);
    assert_eq!(turns(1), 0);
}

/// Answers when the other part has asked too: on a busy machine one could be done before the other begins.
fn once_both_asked(
    asked: Arc<[AtomicBool; 2]>,
    part: usize,
) -> impl Fn(&Request) -> ResponseTemplate {
    let until = Instant::now() + Duration::from_mins(2);
    move |request| {
        asked[part].store(true, Ordering::Relaxed);
        while !asked[1 - part].load(Ordering::Relaxed) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        play(request)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_play_at_once_exceed_their_bound_by_a_turn_each_at_most() {
    let scene = Scene::new();
    let asked = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let ours = server(once_both_asked(asked.clone(), 0)).await;
    let others = server(once_both_asked(asked, 1)).await;
    let most = 400_000;
    let outputs = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let play = |part, server: &MockServer| {
                let (scene, url) = (&scene, format!("{}/v1", server.uri()));
                scope.spawn(move || play_priced(scene, &url, part, "0.4"))
            };
            [play("1", &ours), play("2", &others)].map(|part| part.join().unwrap())
        })
    });
    for output in &outputs {
        expect(output, 7, &["start another turn"]);
    }
    let mut all = 0;
    let mut dearest = 0;
    for part in 1..=2 {
        let spent = scene.path(&format!("all/spent/{part}"));
        let spent: u64 = std::fs::read_to_string(spent)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert!(spent > 0, "part {part} played");
        all += spent;
        let journal = format!("all/part-{part}/journal/law_trainee.r{part}.jsonl");
        let text = std::fs::read_to_string(scene.path(&journal)).unwrap();
        for line in text.lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            dearest = dearest.max(event["usage"]["agent"]["cost"].as_u64().unwrap_or(0));
        }
    }
    assert!(dearest > 0, "a turn has a price");
    assert!(
        all >= most && all <= most + 2 * dearest,
        "{all} of {most}, a turn at most {dearest}"
    );
}

#[test]
fn a_run_that_is_synced_turn_by_turn_has_the_same_bytes() {
    let scene = Scene::new();
    let record = |run: &str| -> Vec<(String, Vec<u8>)> {
        let all = files(&scene.path(run)).into_iter();
        let apart = [
            "lock",
            "timing.jsonl",
            "log.jsonl",
            "manifest.json",
            "seal.json",
        ];
        all.filter(|(name, _)| !apart.contains(&name.as_str()))
            .collect()
    };
    scene.play("plain", &["--no-sync"]);
    scene.play("synced", &["--sync"]);
    assert!(record("plain") == record("synced"));
    expect(&scene.run(&["verify", "synced"]), 0, &[]);
    let resumed = scene.run(&["run", "--resume", "synced", "--sync"]);
    expect(&resumed, 0, &["4 finished before"]);
}

fn script(scene: &Scene, scheduler: &str, out: &str, more: &[&str]) -> std::process::Output {
    let suite = short();
    let options = ["--", suite.to_str().unwrap(), "--persona", "law_trainee"];
    scene.run_with(
        &[&["script", scheduler, "--out", out], &options[..], more].concat(),
        &[
            ("OPENAI_API_KEY", KEY),
            ("AWS_SECRET_ACCESS_KEY", "the store's own key"),
        ],
    )
}

#[test]
fn a_script_for_slurm_plays_as_many_parts_as_there_are_episodes_and_holds_no_key() {
    let scene = Scene::new();
    let output = script(&scene, "slurm", "all", &["--runs", "3", "--set", "seed=7"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let dir = scene.dir.path().canonicalize().unwrap();
    for part in [
        "#!/bin/bash\n".to_owned(),
        "export PIBENCH_PARTS=3\n".to_owned(),
        format!("out={}/all\n", dir.display()),
        "--persona law_trainee --runs 3 --set seed=7 &\n".to_owned(),
        "#SBATCH --signal=B:USR1@120\n".to_owned(),
    ] {
        assert!(text.contains(&part), "`{part}` is not in:\n{text}");
    }
    assert!(!text.contains(KEY));
    // A shell takes it, and what it is told.
    let path = scene.write("play.sh", &text);
    let mut shell = scene.command_after(&format!("exec bash -n {}", path.display()), &[]);
    expect(&shell.output().unwrap(), 0, &[]);
    assert!(!scene.path("all").exists(), "nothing is made");
}

#[test]
fn parts_that_have_no_episode_are_told_of_and_are_no_fault() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let printed = |parts| {
        let first = ["script", "slurm", "--out", "all", "--parts", parts, "--"];
        let options = [suite, "--persona", "law_trainee", "--runs", "3"];
        scene.run(&[&first[..], &options].concat())
    };
    let many = printed("5");
    expect(
        &many,
        0,
        &["2 parts of 5 will have nothing to play: there are 3 episodes; --parts 3"],
    );
    assert!(String::from_utf8_lossy(&many.stdout).contains("export PIBENCH_PARTS=5\n"));
    assert_eq!(stderr(&printed("3")), "");
    // Such a part is played to its end at once, and merged.
    let args = ["--agent", "reactive", "--runs", "1"];
    for id in ["1", "2"] {
        let output = scene.run_with(&worker(suite, &args), &task(id, "2"));
        expect(&output, 0, &[]);
    }
    expect(&scene.run(&["merge", "all"]), 0, &[]);
    expect(&scene.run(&["verify", "all/run"]), 0, &[]);
}

#[test]
fn what_a_script_cannot_hold_is_refused() {
    let scene = Scene::new();
    let with_key = format!("models.m.model={KEY}");
    scene.write("file", "");
    for (scheduler, out, more, code, said) in [
        (
            "slurm",
            "all",
            &["--shard", "1/2"][..],
            2,
            "leave it out after --",
        ),
        ("slurm", "", &[], 2, "name the folder of all parts"),
        ("slurm", "file", &[], 2, "it is a file"),
        ("slurm", "s3://runs", &[], 2, "want a path in the bucket"),
        (
            "slurm",
            "s3://me:word@runs/a",
            &[],
            2,
            "a name, password or key stands",
        ),
        (
            "slurm",
            "all",
            &["--set", "title=the store's own key"],
            2,
            "the key of AWS_SECRET_ACCESS_KEY",
        ),
        (
            "slurm",
            "all",
            &["--runs", "none"],
            2,
            "invalid value 'none'",
        ),
        (
            "slurm",
            "all",
            &["--persona", "nobody"],
            2,
            "find persona `nobody`",
        ),
        ("slurm", "al\"l", &[], 2, "Slurm takes no path"),
        (
            "slurm",
            "all",
            &["--set", "models.m.provider=openai", "--set", &with_key],
            2,
            "the key of OPENAI_API_KEY",
        ),
        (
            "slurm",
            "all",
            &[
                "--agent",
                "lab/m",
                "--user",
                "lexical",
                "--judge",
                "lexical",
                "--base-url",
                "http://a:b@127.0.0.1/v1",
            ],
            2,
            "a name, password or key stands",
        ),
        ("kubernetes", "all", &[], 2, "want an absolute path"),
        ("kubernetes", "/runs/Spring", &[], 2, "want small letters"),
        ("kubernetes", "/spring", &[], 2, "mounted over everything"),
    ] {
        let output = script(&scene, scheduler, out, more);
        expect(&output, code, &[said]);
        assert!(output.stdout.is_empty(), "{said}");
    }
}

#[test]
fn a_script_holds_no_key_in_the_query_of_an_address() {
    let scene = Scene::new();
    let to = |address| script(&scene, "slurm", "all", &["--otlp", address]);
    let said = "a name, password or key stands in the address";
    expect(&to("http://collector.example/?api_key=hunter2"), 2, &[said]);
    expect(&to("http://collector.example/?tenant=lab"), 0, &[]);
}

#[test]
fn a_task_of_slurm_reads_keys_as_they_stand_and_fails_without_the_file_that_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let output = script(&scene, "slurm", "all", &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    // In the host's place one that tells what it is given.
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let told = "#!/bin/bash\nprintf '%s|%s' \"$OPENAI_API_KEY\" \"$OTHER\" > told\n";
    mode(&scene.write("host", told), 0o755);
    let line = text.lines().find(|line| line.starts_with("host=")).unwrap();
    scene.write("play.sh", &text.replace(line, "host=./host"));
    let play = |keys: &str| {
        let part = ["play.sh", "part"];
        let mut shell = scene.started_here("bash");
        let shell = shell
            .args(part)
            .env("PIBENCH_KEYS", keys)
            .envs(task("1", "1"));
        shell.output().unwrap()
    };
    let keys = scene.write(
        "keys",
        "# mine\n\nOPENAI_API_KEY=a$(touch made)'b\"==\nOTHER= two words=",
    );
    mode(&keys, 0o600);
    expect(&play("keys"), 0, &[]);
    let told = std::fs::read_to_string(scene.path("told")).unwrap();
    assert_eq!(told, "a$(touch made)'b\"==| two words=");
    assert!(!scene.path("made").exists());
    expect(&play("nowhere"), 3, &["PIBENCH_KEYS names nowhere"]);
    mode(&scene.write("odd", "export A=b\n"), 0o600);
    expect(&play("odd"), 3, &["a line of odd is not NAME=value"]);
}

#[test]
fn manifests_for_kubernetes_ask_for_no_privilege_and_name_a_secret() {
    let scene = Scene::new();
    let output = script(
        &scene,
        "kubernetes",
        "/runs/spring",
        &["--agent", "nop", "--agent", "cheat"],
    );
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "completionMode: Indexed\n  completions: 1\n",
        "values: [1, 2, 3, 7, 10]",
        "args: [\"run\",\"--shard\",\"auto\",\"--exit-zero\",\"--grace\",\"110\",\"--out\",\"/runs/spring\"",
        "args: [\"verify\",\"/runs/spring/run/nop\"]",
        "args: [\"verify\",\"/runs/spring/run/cheat\"]",
        "mountPath: \"/runs\"",
        // The volume itself is root's: what the program makes in it is its own.
        "{name: PIBENCH_CACHE, value: /cache/pibench-host}",
        "capabilities: {drop: [ALL]}",
        "secretRef: {name: spring-keys, optional: true}",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(!text.contains(KEY) && !text.contains("kueue"));
    let queued = scene.run(&[
        "script",
        "kubernetes",
        "--out",
        "/runs/spring",
        "--queue",
        "q",
        "--",
        short().to_str().unwrap(),
    ]);
    let text = String::from_utf8(queued.stdout).unwrap();
    assert!(text.contains("kueue.x-k8s.io/queue-name: q\n") && text.contains("suspend: true"));
}

#[test]
fn manifests_are_a_base_of_kustomize_with_an_overlay() {
    let scene = Scene::new();
    let suite = short();
    let of = |scheduler: &str, out: &str, more: &[&str]| {
        let args = ["script", scheduler, "--out", out];
        scene.run(&[&args[..], more, &["--", suite.to_str().unwrap()]].concat())
    };
    let printed = of("kubernetes", "/runs/spring", &[]);
    let image = ["--image", "registry.example:5000/host:1"];
    for (dir, out, more) in [
        ("k", "/runs/spring", &[][..]),
        ("s", "s3://runs/spring", &image),
    ] {
        expect(
            &of("kubernetes", out, &[&["--kustomize", dir], more].concat()),
            0,
            &[],
        );
        let read =
            |path: &str| std::fs::read_to_string(scene.path(&format!("{dir}/{path}"))).unwrap();
        let run = read("base/run.yaml");
        assert!(dir == "s" || run.as_bytes() == printed.stdout);
        assert!(read("base/kustomization.yaml").contains("resources: [run.yaml]"));
        let overlay = read("overlays/mine/kustomization.yaml");
        assert!(overlay.contains("resources: [../../base]"), "{overlay}");
        assert_eq!(
            overlay.contains("PersistentVolumeClaim"),
            dir == "k",
            "{overlay}"
        );
        let name = if dir == "k" {
            "pibench-host"
        } else {
            "registry.example:5000/host"
        };
        assert!(
            overlay.contains(&format!("{{name: \"{name}\",")),
            "{overlay}"
        );
        // What it changes is there.
        for path in ["storage: 20Gi", "cpu: 500m", "limits: {memory: 2Gi}"] {
            assert!(
                run.contains(path) || (dir == "s" && path.starts_with("storage")),
                "{run}"
            );
        }
    }
    expect(
        &of("kubernetes", "/runs/spring", &["--kustomize", "k"]),
        4,
        &["it is there already"],
    );
    expect(
        &of("slurm", "all", &["--kustomize", "x"]),
        2,
        &["for kubernetes"],
    );
    assert!(!scene.path("x").exists());
}
