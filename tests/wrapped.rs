//! How an app's answers reach the agent's model: as they are with their status, or wrapped without one as the released
//! code has them (`--protocol pi-bench`).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::scaffold::{RUN, calls, play, suite, text, turns};
use crate::scene::{Scene, expect};

const PERSONA: &str = "world = false\ntools = [\"simple_note__*\"]\npeople = [{ first_name = \"Ida\", \
                       last_name = \"Vale\", email = \"ida@vale.example\", password = \"pw\" }]\n";

/// Plays an agent that logs in, asks for a note that it may not see and for one that is not there, and lists a folder;
/// the four results as its model was told them.
async fn told(protocol: &str) -> (Scene, Vec<String>) {
    let scene = Scene::new();
    suite(&scene, "", PERSONA);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    let args = [&RUN[..], &["--protocol", protocol]].concat();
    let output = play(&scene, &args, move |asked| {
        let results = asked.messages.iter().filter(|it| it["role"] == "tool");
        let results: Vec<String> = results
            .filter_map(|it| it["content"].as_str().map(str::to_owned))
            .collect();
        if results.is_empty() {
            return calls(&[
                (
                    "simple_note__login",
                    json!({ "username": "ida@vale.example", "password": "pw" }),
                ),
                ("simple_note__show_note", json!({ "note_id": 1 })),
                (
                    "simple_note__show_profile",
                    json!({ "email": "nobody@vale.example" }),
                ),
                ("list_dir", json!({ "path": "." })),
            ]);
        }
        let mut heard = heard.lock().unwrap();
        if heard.is_empty() {
            *heard = results;
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let told = told.lock().unwrap().clone();
    (scene, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_released_codes_agent_gets_every_answer_of_an_app_wrapped_and_no_status() {
    let (scene, told) = told("pi-bench").await;
    let response = |text: &str| -> Value {
        let wrapped: Value = serde_json::from_str(text).unwrap();
        assert_eq!(wrapped.as_object().unwrap().len(), 1, "{text}");
        wrapped["response"].clone()
    };
    assert_eq!(response(&told[0])["token_type"], "Bearer");
    for refused in &told[1..3] {
        let response = response(refused);
        assert!(response["message"].is_string(), "{refused}");
        assert_eq!(response.as_object().unwrap().len(), 1, "{refused}");
    }
    assert!(!told[3].contains("response"), "{}", told[3]);
    // What is kept for graders and readers has the status.
    assert_eq!(statuses(&scene), [0, 401, 409]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_papers_agent_gets_the_answers_of_an_app_as_they_are_and_every_status() {
    let (scene, told) = told("paper").await;
    let login: Value = serde_json::from_str(&told[0]).unwrap();
    assert_eq!(login["token_type"], "Bearer");
    assert!(told[1].starts_with("Error 401: "), "{}", told[1]);
    assert!(told[2].starts_with("Error 409: "), "{}", told[2]);
    assert_eq!(statuses(&scene), [0, 401, 409]);
}

/// The codes of the app's calls in the first turn, as journaled.
fn statuses(scene: &Scene) -> Vec<u64> {
    let steps = turns(scene)[0]["steps"].clone();
    let records = steps.as_array().unwrap().iter().map(|step| &step["record"]);
    let apps = records.filter(|record| record["tool"].as_str().is_some_and(|it| it.contains("__")));
    apps.map(|record| record["code"].as_u64().unwrap_or_default())
        .collect()
}
