//! The run folder: what stands in it is whole, and follows from its schema.

use pibench_record::journal::events;
use pibench_record::{Event, Manifest};
use serde_json::Value;

use crate::json_schema::JsonSchema;
use crate::scene::{Scene, files, first_persona};

#[test]
fn every_file_of_a_run_is_there_and_named_as_documented() {
    let scene = Scene::new();
    scene.play("run", &["--runs", "2"]);
    let mut names: Vec<String> = files(&scene.path("run"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    names.retain(|name| !name.starts_with("blobs/") && !name.starts_with("workspaces/"));
    let mut sessions: Vec<String> = first_persona()
        .sessions
        .into_iter()
        .map(|session| session.id)
        .collect();
    sessions.sort();
    let mut expected: Vec<String> = vec![
        "journal/law_trainee.r1.jsonl".into(),
        "journal/law_trainee.r2.jsonl".into(),
    ];
    expected.extend([
        "lock".into(),
        "log.jsonl".into(),
        "manifest.json".into(),
        "outline.json".into(),
        "results.json".into(),
        "seal.json".into(),
        "timing.jsonl".into(),
    ]);
    for run in ["r1", "r2"] {
        expected.extend(
            sessions
                .iter()
                .map(|session| format!("trajectories/law_trainee.{run}/{session}.json")),
        );
    }
    assert_eq!(names, expected);
}

#[test]
fn each_text_stands_in_the_journal_once() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let events = events(&scene.path("run/journal/law_trainee.r1.jsonl")).unwrap();
    assert!(matches!(events.first(), Some(Event::EpisodeStarted(_))));
    assert!(matches!(events.last(), Some(Event::EpisodeFinished)));
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, Event::SessionFinished(_)))
            .count(),
        first_persona().sessions.len()
    );
}

#[test]
fn the_journal_fits_its_schema() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "cheat"]);
    let schema: Value = serde_json::from_slice(&scene.run(&["schema", "journal"]).stdout).unwrap();
    let schema = JsonSchema::new(schema);
    let journal = std::fs::read_to_string(scene.path("run/journal/law_trainee.r1.jsonl")).unwrap();
    for line in journal.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(schema.objection(&event), None, "{line}");
    }
    let nothing = serde_json::json!({ "event": "nothing" });
    assert!(schema.objection(&nothing).is_some());
}

#[test]
fn the_manifest_traces_a_score_to_what_made_it() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let manifest: Manifest =
        serde_json::from_slice(&std::fs::read(scene.path("run/manifest.json")).unwrap()).unwrap();
    assert_eq!(
        manifest.plugins.keys().collect::<Vec<_>>(),
        [
            "document",
            "gmail",
            "phone",
            "python",
            "rules",
            "shell",
            "simple_note",
            "splitwise",
            "todoist"
        ]
    );
    assert!(
        manifest
            .plugins
            .values()
            .all(|mark| mark.sha256.len() == 64)
    );
    assert_eq!(manifest.suite_digest.len(), 64);
    assert_eq!(manifest.prompts_version, Some(8));
    assert_eq!(manifest.prompts_digest.len(), 64);
    assert_eq!(manifest.limits["app"]["fuel"], 500_000_000);
}
