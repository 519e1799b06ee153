//! Prompts of one's own, given on the command line.

use serde_json::Value;

use crate::models::{play, run, server};
use crate::scene::{Scene, embedded, expect, root};

const MARK: &str = "You are the strict grader of the harbour office.";

fn manifest(scene: &Scene, run: &str) -> Value {
    let text = std::fs::read_to_string(scene.path(run).join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_a_folder_reach_the_model_and_the_record() {
    let scene = Scene::new();
    let built_in = std::fs::read_to_string(root().join("host/prompts/rubric.md")).unwrap();
    let own = built_in.replacen(
        "{% block system %}\n",
        &format!("{{% block system %}}\n{MARK}\n"),
        1,
    );
    assert_ne!(own, built_in);
    scene.write("own/rubric.md", &own);
    let suite = embedded();
    let args = |out, more: &[&'static str]| {
        let first = [
            "run",
            suite.to_str().unwrap(),
            "--session",
            "corrie-extension",
            "--runs",
            "1",
            "--judge",
            "openai/m",
            "--no-preflight",
            "--out",
            out,
        ];
        [&first[..], more].concat()
    };
    let mut marked = Vec::new();
    for (out, more) in [("plain", &[][..]), ("own_words", &["--prompts", "own"])] {
        let server = server(play).await;
        expect(&run(&scene, &args(out, more), &server), 0, &[]);
        let asked = server.received_requests().await.unwrap();
        let with = asked
            .iter()
            .filter(|request| String::from_utf8_lossy(&request.body).contains(MARK));
        marked.push((asked.len(), with.count()));
    }
    let [(asked, none), (again, all)] = marked[..] else {
        unreachable!()
    };
    assert!(
        asked > 0 && none == 0 && again > 0 && all == again,
        "{marked:?}"
    );
    let [plain, own_words] = ["plain", "own_words"].map(|run| manifest(&scene, run));
    assert_ne!(plain["prompts_digest"], own_words["prompts_digest"]);
    assert_eq!(plain["prompts"], Value::Null);
    assert!(own_words["prompts"].as_str().unwrap().ends_with("/own"));
    // What a score depends on does not change under a run.
    scene.write("own/rubric.md", &own.replace(MARK, "You are lenient."));
    expect(
        &scene.run(&["run", "--resume", "own_words"]),
        3,
        &["changed since it was begun: the prompts"],
    );
}

#[test]
fn prompts_of_an_older_version_are_refused_with_what_is_new() {
    let scene = Scene::new();
    let built_in = std::fs::read_to_string(root().join("host/prompts/satisfaction.md")).unwrap();
    let old = built_in.replace("{{ earlier or \"Nothing.\" }}", "");
    assert_ne!(old, built_in);
    scene.write("old/satisfaction.md", &old);
    let suite = embedded();
    let args = ["run", suite.to_str().unwrap(), "--prompts", "old"];
    let said = "use the prompt satisfaction.md: it never shows `{{ earlier }}`, which the built-in prompts of version 2 do";
    expect(&scene.run(&args), 3, &[said]);
}
