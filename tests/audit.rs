//! Looking at the judges of a run: doubtful moves of the simulator, and a sample judged again.

use regex::Regex;
use serde_json::Value;
use wiremock::{Request, ResponseTemplate};

use crate::models::{is_known, play, run, server};
use crate::scene::{Scene, embedded, expect, files, stderr};

const ALL: [&str; 6] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
];

/// Says no where the other judge says yes, and the other way round; but not to what nobody can have done.
fn contrary(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let same = play(request);
    if body["tools"].is_array() {
        return same;
    }
    let prompt = body["messages"][1]["content"].as_str().unwrap();
    let system = body["messages"][0]["content"].as_str().unwrap();
    let text = crate::models::judge(system, prompt);
    let block = Regex::new(r"(?s)(TEXT: [^\n]*)(.*?VERDICT: )(YES|NO)").unwrap();
    let flipped = block.replace_all(&text, |found: &regex::Captures<'_>| {
        let known = is_known(prompt, found[1].trim_start_matches("TEXT: "));
        let verdict = if known || &found[3] == "YES" {
            "NO"
        } else {
            "YES"
        };
        format!("{}{}{verdict}", &found[1], &found[2])
    });
    crate::models::text(&flipped)
}

fn played(scene: &Scene, server: &wiremock::MockServer) {
    let suite = embedded();
    let suite = suite.to_str().unwrap();
    let first = [
        "run",
        suite,
        "--persona",
        "law_trainee",
        "--runs",
        "2",
        "--out",
        "run",
    ];
    expect(
        &run(scene, &[&first[..], &ALL[..]].concat(), server),
        0,
        &[],
    );
}

fn audit(scene: &Scene, server: &wiremock::MockServer, more: &[&str]) -> Value {
    let first = ["audit", "run", "--judge", "openai/m", "--json"];
    let output = run(scene, &[&first[..], more].concat(), server);
    expect(&output, 0, &[]);
    serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_by_the_same_judge_agrees_and_by_a_contrary_one_does_not() {
    let scene = Scene::new();
    let same = server(play).await;
    played(&scene, &same);
    let before = files(&scene.path("run"));
    let found = audit(&scene, &same, &[]);
    assert_eq!((&found["sampled"], &found["of"]), (&8.into(), &8.into()));
    assert_eq!(found["checklist"]["disagreements"], 0);
    assert_eq!(found["intents"]["disagreements"], 0);
    let items = found["checklist"]["judgements"].as_u64().unwrap();
    let intents = found["intents"]["judgements"].as_u64().unwrap();
    assert!(items > 0 && intents > items, "{found}");

    let other = server(contrary).await;
    let found = audit(&scene, &other, &[]);
    assert_eq!(
        found["checklist"]["disagreements"], items,
        "every rubric item was met before"
    );
    assert_eq!(
        found["intents"]["disagreements"], intents,
        "none was satisfied before"
    );
    assert_eq!(found["intents"]["rate"], 100.0);
    assert!(
        found["intents"]["kappa"].as_f64().unwrap() <= 0.0,
        "{found}"
    );

    let sample = audit(&scene, &same, &["--sample", "3"]);
    assert_eq!((&sample["sampled"], &sample["of"]), (&3.into(), &8.into()));
    assert_eq!(
        files(&scene.path("run")),
        before,
        "no audit changes the run"
    );
    let output = run(
        &scene,
        &["audit", "run", "--judge", "openai/m", "--judge", "openai/n"],
        &same,
    );
    expect(&output, 0, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "openai/n",
        "8 of 8",
        "checklist (Comp)",
        "intents (Proc)",
        "0.00 %",
        "kappa",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_whose_judge_cannot_be_read_names_the_session() {
    let scene = Scene::new();
    let same = server(play).await;
    played(&scene, &same);
    let silent = server(|_| crate::models::text("Looks fine!")).await;
    let output = run(
        &scene,
        &["audit", "run", "--judge", "openai/m", "--sample", "1"],
        &silent,
    );
    expect(
        &output,
        8,
        &["failed to judge law_trainee/", "in 5 attempts"],
    );
    expect(
        &run(&scene, &["audit", "run", "--judge", "lexical"], &same),
        2,
        &["want a model"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_names_the_moves_of_a_vague_user() {
    let scene = Scene::new();
    // Its user says "As I said, I want it done properly." whatever it has to tell.
    let server = server(play).await;
    played(&scene, &server);
    let output = scene.run(&["review", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("did not tell the intent (intent `") && said.contains("[blobs/"),
        "{said}"
    );
    assert!(said.contains("run: 8 sessions, "), "{said}");
    let output = scene.run(&["review", "run", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = &list.as_array().unwrap()[0];
    assert_eq!((&one["doubt"], &one["turn"]), (&"untold".into(), &1.into()));
    let blob = format!("run/blobs/{}", one["exchange"].as_str().unwrap());
    assert!(
        std::fs::read_to_string(scene.path(&blob))
            .unwrap()
            .contains("answer.md")
    );
}

#[test]
fn a_scripted_run_tells_intents_word_for_word_and_has_nothing_doubtful() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive", "--persona", "law_trainee"]);
    let output = scene.run(&["review", "run"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("run: 4 sessions, 0 doubtful moves"), "{said}");
}
