//! Recordings: a run that was recorded against a model is played again without one, byte for byte.

use std::path::Path;

use serde_json::Value;

use crate::models::{KEY, play, run, server};
use crate::scene::{Scene, expect, files, flowed, short, stderr};

const ALL: [&str; 6] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
];

fn whole<'a>(suite: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["run", suite, "--out", out];
    [&first[..], &ALL[..], more].concat()
}

fn args<'a>(suite: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let more = [&["--runs", "1"], more].concat();
    whole(suite, out, &more)
}

fn of(run: &Path, part: &str) -> Vec<(String, Vec<u8>)> {
    files(&run.join(part))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_replays_offline_to_the_same_bytes() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let server = server(play).await;
    let output = run(
        &scene,
        &whole(suite, "live", &["--runs", "2", "--record", "tape"]),
        &server,
    );
    expect(&output, 0, &[]);
    let asked = server.received_requests().await.unwrap().len();
    for (name, content) in files(&scene.path("tape")) {
        assert!(
            !String::from_utf8_lossy(&content).contains(KEY),
            "{name} holds the key"
        );
    }
    // No key, no server, another number of jobs.
    for jobs in ["1", "4"] {
        let out = format!("again{jobs}");
        let output = scene.run(&whole(
            suite,
            &out,
            &["--runs", "2", "--replay", "tape", "--jobs", jobs],
        ));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(of(&scene.path(&out), "journal").len(), 2, "two runs");
        for part in ["journal", "blobs", "trajectories"] {
            let (live, again) = (of(&scene.path("live"), part), of(&scene.path(&out), part));
            assert!(live == again, "{part} with {jobs} jobs");
        }
    }
    assert_eq!(server.received_requests().await.unwrap().len(), asked);
    let again = scene.run(&whole(suite, "other", &["--runs", "2", "--record", "tape"]));
    expect(&again, 3, &["it holds recordings already"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_not_recorded_is_named_with_the_nearest() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let server = server(play).await;
    expect(
        &run(&scene, &args(suite, "live", &["--record", "tape"]), &server),
        0,
        &[],
    );
    // Another seed draws other delimiters for the prompts of the user agent.
    let output = scene.run(&args(suite, "other", &["--replay", "tape", "--seed", "9"]));
    expect(
        &output,
        6,
        &[
            "it has no answer for request",
            "of the User (openai/m) at law_trainee/",
            "the nearest recorded one",
            "differs from message 1 on",
        ],
    );
    // Going on with it would lack the same answer.
    let said = flowed(&stderr(&output));
    let mend = "play with the suite, the options and the program that it was made with, into another --out; or record anew";
    assert!(said.contains(mend) && !said.contains("--resume"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn judges_that_were_asked_before_are_not_asked_again() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let server = server(play).await;
    let run = |out: &str| {
        let first = ["run", suite, "--json", "--runs", "1", "--out", out];
        let more = [
            "--judge",
            "openai/m",
            "--judge-cache",
            "cache",
            "--no-preflight",
        ];
        let output = run(&scene, &[&first[..], &more[..]].concat(), &server);
        expect(&output, 0, &[]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let first = run("one");
    let asked = server.received_requests().await.unwrap().len();
    let second = run("two");
    assert!(asked > 0 && first["usage"]["judge"]["calls"] == asked as u64);
    assert_eq!(server.received_requests().await.unwrap().len(), asked);
    assert_eq!(second["usage"]["judge"]["calls"], 0);
    assert_eq!(
        (&first["proc"], &first["comp"]),
        (&second["proc"], &second["comp"])
    );
}
