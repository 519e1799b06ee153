//! The embedded suite under the scripted agents: what each must score says whether suite and host are right.

use camino::Utf8Path;
use pibench_suite::load::load;
use serde_json::Value;

use crate::scene::{Scene, embedded, files, flowed, root};

fn scores(agent: &str, protocol: &str) -> (f64, f64, Value) {
    let scene = Scene::new();
    let results = scene.play_all("run", &["--agent", agent, "--protocol", protocol]);
    assert_eq!(results["scripted"], true);
    (
        results["proc"].as_f64().unwrap(),
        results["comp"].as_f64().unwrap(),
        results,
    )
}

/// What the play says else.
fn check(agent: &str, protocol: &str, expected: (f64, f64)) -> Value {
    let (proc, comp, results) = scores(agent, protocol);
    assert_eq!(
        (proc, comp),
        expected,
        "{agent} {protocol}: {:#}",
        results["sessions"]
    );
    results
}

#[test]
fn the_reference_scores_everything_and_its_results_have_the_documented_shape() {
    let results = check("reference", "paper", (100.0, 100.0));
    assert_documented_shape(&results);
}

#[test]
fn the_released_codes_protocol_gives_the_reference_what_the_document_says() {
    let (proc, comp, _) = scores("reference", "pi-bench");
    let document = std::fs::read_to_string(root().join("docs/protocols.md")).unwrap();
    let told = format!(
        "--protocol pi-bench` gives Proc {proc:.1} and Comp {comp:.1}, where `paper` gives 100 and 100"
    );
    assert!(
        flowed(&document).contains(&told),
        "it does not say `{told}`"
    );
}

#[test]
fn a_reactive_agent_completes_in_a_turn_for_each_intent_and_one_more_and_is_never_proactive() {
    let results = check("reactive", "paper", (0.0, 100.0));
    for session in results["sessions"].as_array().unwrap() {
        let provided = session["intents"]["provided"].as_u64().unwrap();
        assert_eq!(
            session["turns"].as_u64().unwrap(),
            provided + 1,
            "{session}"
        );
    }
}

#[test]
fn an_agent_that_does_nothing_scores_nothing() {
    check("nop", "paper", (0.0, 0.0));
    check("nop", "pi-bench", (0.0, 0.0));
}

#[test]
fn a_cheating_agent_stays_under_five() {
    for protocol in ["paper", "pi-bench"] {
        let (proc, comp, results) = scores("cheat", protocol);
        assert!(
            proc < 5.0 && comp < 5.0,
            "{proc} / {comp}: {:#}",
            results["sessions"]
        );
    }
}

#[test]
fn journals_are_the_same_bytes_for_one_job_and_eight() {
    let scene = Scene::new();
    let personas = load(Utf8Path::from_path(&embedded()).unwrap());
    let personas = personas.unwrap().suite.personas.len();
    // The one that calls every tool takes longer, and one run of it shows as much.
    for (agent, runs) in [("reference", 2), ("cheat", 1)] {
        let journals = |out: &str, jobs: &str| {
            let many = runs.to_string();
            scene.play_all(out, &["--agent", agent, "--runs", &many, "--jobs", jobs]);
            files(&scene.path(out).join("journal"))
        };
        let one = journals(&format!("{agent}-1"), "1");
        let eight = journals(&format!("{agent}-8"), "8");
        assert_eq!(one.len(), personas * runs);
        assert!(one == eight, "{agent}: the journals differ");
    }
}

#[test]
fn another_seed_gives_another_journal() {
    let scene = Scene::new();
    let journal = |out: &str, seed: &str| {
        scene.play(out, &["--seed", seed]);
        files(&scene.path(out).join("journal"))
    };
    assert!(journal("a", "1") == journal("b", "1"));
    assert!(journal("c", "2") != journal("d", "1"));
}

#[test]
fn one_session_brings_those_that_it_depends_on() {
    let scene = Scene::new();
    let results = scene.play("run", &["--session", "saltmarsh-statement"]);
    let sessions = results["sessions"].as_array().unwrap();
    let ids: Vec<&str> = sessions
        .iter()
        .map(|session| session["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "saltmarsh-chronology",
            "saltmarsh-exhibit",
            "saltmarsh-statement"
        ]
    );
}

fn assert_documented_shape(results: &Value) {
    for key in [
        "proc", "comp", "proc_std", "comp_std", "scripted", "runs", "personas", "sessions",
        "faults",
    ] {
        assert!(results.get(key).is_some(), "{key}");
    }
    assert_eq!(results["proc_std"], Value::Null);
    let session = &results["sessions"][0];
    for key in [
        "id",
        "persona",
        "run",
        "proc",
        "proc_scored",
        "comp",
        "turns",
        "outcome",
        "intents",
    ] {
        assert!(session.get(key).is_some(), "{key}");
    }
    assert_eq!(
        session["proc_scored"],
        Value::Null,
        "a session that is only a dependency"
    );
    assert_eq!(
        session["comp"],
        Value::Null,
        "a session without a checklist"
    );
    for key in ["completed", "inferred", "provided", "open"] {
        assert!(session["intents"].get(key).is_some(), "{key}");
    }
}
