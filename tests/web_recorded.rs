//! The real web in a run that is recorded, and the same run without web, model and key.

use serde_json::json;
use wiremock::matchers::{method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::scaffold::{Asked, calls, play, suite, text};
use crate::scene::{Scene, expect, files};

/// Searches, tries a page of this machine, and says what it was told.
fn searcher(asked: &Asked) -> serde_json::Value {
    if asked.last().contains("Request one.") {
        return calls(&[
            ("web_search", json!({ "query": "when is high water" })),
            ("web_fetch", json!({ "url": "http://127.0.0.1:9/" })),
        ]);
    }
    if asked.any("High water is at noon.") {
        return text("It is at noon.");
    }
    text("Noted.")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_the_real_web_is_recorded_and_replayed() {
    let scene = Scene::new();
    let engine = MockServer::start().await;
    let found = json!({ "results": [
        { "title": "Tides", "url": "https://tides.example/", "content": "High water is at noon." },
    ]});
    Mock::given(method("GET"))
        .and(path("/search"))
        .and(query_param("q", "when is high water"))
        .respond_with(ResponseTemplate::new(200).set_body_json(found))
        .expect(1)
        .mount(&engine)
        .await;
    let web = format!(
        "[web]\nprovider = \"searxng\"\nurl = \"{}\"\n",
        engine.uri()
    );
    suite(&scene, &web, "");
    let args = |out, tape| {
        [
            "run",
            "tasks/suite.toml",
            "--agent",
            "openai/m",
            "--out",
            out,
            tape,
            "tape/first",
        ]
    };
    // The folder of the recording is not there yet.
    expect(
        &play(&scene, &args("live", "--record"), searcher).await,
        0,
        &[],
    );
    let kept = std::fs::read_to_string(scene.path("tape/first/web.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert!(
        kept.contains("is not an address of the public web"),
        "{kept}"
    );
    let journal = std::fs::read_to_string(scene.path("live/journal/p.r1.jsonl")).unwrap();
    assert!(journal.contains("It is at noon."), "{journal}");
    // No key and no model; the search service was asked once, which its mock checks at the end.
    expect(&scene.run(&args("again", "--replay")), 0, &[]);
    for part in ["journal", "blobs", "trajectories"] {
        let [live, again] = ["live", "again"].map(|run| files(&scene.path(run).join(part)));
        assert_eq!(live, again, "{part}");
    }
    expect(
        &scene.run(&args("third", "--record")),
        3,
        &["it holds recordings already"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_without_its_key_leaves_no_run_folder() {
    let scene = Scene::new();
    suite(&scene, "[web]\nprovider = \"brave\"\n", "");
    let output = scene.run(&["run", "tasks/suite.toml", "--out", "run"]);
    expect(&output, 2, &["BRAVE_API_KEY is not set"]);
    assert!(!scene.path("run").exists());
}
