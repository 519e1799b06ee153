//! The log of a run: a line for everything that was played, in a file that nothing depends on and that holds no key.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::models::{KEY, play, play_short, server};
use crate::scene::{Scene, expect, first_persona, stderr};

fn lines(scene: &Scene, run: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.path(run).join("log.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_talkative_log_has_every_span_and_neither_key_nor_intent() {
    let scene = Scene::new();
    let server = server(play).await;
    let output = play_short(&scene, &server, &["--log-level", "trace"]);
    expect(&output, 0, &[]);
    let lines = lines(&scene, "run");
    let ended: BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| line["ended"].as_str())
        .collect();
    for span in ["episode", "session", "turn", "call"] {
        assert!(ended.contains(span), "{span} is not in {ended:?}");
    }
    let call = lines.iter().find(|line| line["ended"] == "call").unwrap();
    assert_eq!(call["episode"]["persona"], "law_trainee");
    assert_eq!(call["episode"]["run"], 1);
    assert_eq!(call["episode"]["agent"], "openai/m");
    assert_eq!(call["session"]["session"], "saltmarsh-chronology");
    assert_eq!(call["turn"]["turn"], 1);
    assert_eq!(call["call"]["tool"], "write_file");
    assert!(call["ms"].as_f64().unwrap() >= 0.0);
    assert_eq!(
        lines
            .iter()
            .filter(|line| line["message"] == "finished")
            .count(),
        first_persona().sessions.len()
    );

    let text = std::fs::read_to_string(scene.path("run/log.jsonl")).unwrap();
    assert!(!text.contains(KEY) && !stderr(&output).contains(KEY));
    let outline = std::fs::read(scene.path("run/outline.json")).unwrap();
    let outline: Value = serde_json::from_slice(&outline).unwrap();
    let sessions = outline["personas"][0]["sessions"].as_array().unwrap();
    let intents = sessions
        .iter()
        .flat_map(|one| one["intents"].as_array().unwrap());
    for intent in intents {
        let start: String = intent["content"]
            .as_str()
            .unwrap()
            .chars()
            .take(40)
            .collect();
        assert!(!text.contains(start.trim()), "{start}");
    }
}

#[test]
fn a_log_goes_on_and_can_be_quieter_or_off() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop"]);
    let first = lines(&scene, "run").len();
    assert!(first > 8, "{first}");
    let journal = scene.path("run/journal/law_trainee.r1.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    expect(&scene.run(&["run", "--resume", "run", "--json"]), 0, &[]);
    assert!(lines(&scene, "run").len() > first);
    scene.play("warnings", &["--agent", "nop", "--log-level", "warn"]);
    assert_eq!(lines(&scene, "warnings").len(), 0);
    scene.play("off", &["--agent", "nop", "--log-level", "off"]);
    assert!(!scene.path("off/log.jsonl").exists());
    expect(
        &scene.run(&["run", "--log-level", "loud"]),
        2,
        &["--log-level"],
    );
}
