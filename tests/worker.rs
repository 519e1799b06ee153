//! A part of a run as a task of a scheduler plays it: one command that begins or goes on, and ends when it is told to.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wiremock::MockServer;
use wiremock::ResponseTemplate;

use crate::models::{KEY, play, run, server, text};
use crate::scene::{Scene, expect, files, first_persona, short, stderr};

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
