//! A session in one document, with what its turns took; the run folder's files are without, and the same each time.

use serde_json::Value;

use crate::json_schema::JsonSchema;
use crate::scene::{Scene, expect, first_persona};

/// What `trajectory` prints, a document each line.
fn printed(scene: &Scene, args: &[&str]) -> Vec<Value> {
    let output = scene.run(&[&["trajectory", "run"], args].concat());
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let documents = text.lines();
    documents
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn schema(scene: &Scene) -> JsonSchema {
    let output = scene.run(&["schema", "trajectory"]);
    expect(&output, 0, &[]);
    JsonSchema::new(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn one_document_has_a_session_with_what_each_turn_and_each_call_of_a_guest_took() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive", "--runs", "2"]);
    let schema = schema(&scene);
    let documents = printed(&scene, &[]);
    let sessions = first_persona().sessions.len();
    assert_eq!(documents.len(), 2 * sessions, "two runs of all sessions");
    let mut guests = 0;
    for mut document in documents {
        assert_eq!(document["version"], 1);
        assert_eq!(schema.objection(&document), None);
        let turns = document["turns"].as_array().unwrap().len();
        let timing = document.as_object_mut().unwrap().remove("timing").unwrap();
        let timing = timing.as_array().unwrap();
        let numbers: Vec<u64> = timing
            .iter()
            .map(|turn| turn["turn"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (1..=turns as u64).collect::<Vec<u64>>());
        for turn in timing {
            assert!(turn["ms"].is_u64() && turn["ended"].as_str().unwrap().ends_with('Z'));
            for call in turn["guests"].as_array().unwrap() {
                assert!(call["instantiate_us"].is_u64() && call["run_us"].as_u64().unwrap() > 0);
                guests += 1;
            }
        }
        // Without it, the document is the file of the run folder.
        let path = format!(
            "run/trajectories/{}.r{}/{}.json",
            document["persona"].as_str().unwrap(),
            document["run"],
            document["started"]["session"].as_str().unwrap()
        );
        let text = std::fs::read(scene.path(&path)).unwrap();
        assert_eq!(document, serde_json::from_slice::<Value>(&text).unwrap());
    }
    assert!(guests > 8, "{guests}");
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[test]
fn the_sessions_are_chosen_by_name_and_one_that_is_not_there_is_an_error() {
    let scene = Scene::new();
    scene.play("run", &["--runs", "2"]);
    let args = ["--session", "saltmarsh-exhibit", "--run", "2"];
    let documents = printed(&scene, &args);
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0]["started"]["session"], "saltmarsh-exhibit");
    assert_eq!(documents[0]["run"], 2);
    let output = scene.run(&["trajectory", "run", "--session", "none"]);
    expect(
        &output,
        3,
        &["find session `none` in run: it has", "saltmarsh-exhibit"],
    );
    for (args, said) in [
        (
            &["--session", "saltmarsh-exhibits"][..],
            "find session `saltmarsh-exhibits` in run (did you mean `saltmarsh-exhibit`?): it has",
        ),
        (
            &["--persona", "nobody"],
            "find persona `nobody` in run: it has law_trainee",
        ),
        (&["--run", "3"], "find run 3 in run: it has 1 to 2"),
    ] {
        let output = scene.run(&[&["trajectory", "run"], args].concat());
        expect(&output, 3, &[said]);
    }
    expect(
        &scene.run(&["trajectory", "tasks"]),
        3,
        &["is this a run folder?"],
    );
}

#[test]
fn a_folder_of_runs_names_those_that_it_holds() {
    let scene = Scene::new();
    for run in ["both/one", "both/two"] {
        scene.play(run, &["--session", "saltmarsh-exhibit"]);
    }
    let held = "read both: it is no run but holds some: name one of both/one, both/two";
    expect(&scene.run(&["trajectory", "both"]), 3, &[held]);
    expect(&scene.run(&["compare", "both/one", "both"]), 3, &[held]);
    expect(&scene.run(&["trajectory", "both/one"]), 0, &[]);
    expect(&scene.run(&["compare", "both/one", "both/two"]), 0, &[]);
    std::fs::remove_file(scene.path("both/two/results.json")).unwrap();
    let unfinished = "failed to compare both/two: it is not played to its end";
    let output = scene.run(&["compare", "both/one", "both/two"]);
    expect(&output, 3, &[unfinished]);
}

#[test]
fn what_is_not_seen_is_written_by_its_code_and_read_as_it_was() {
    const HOSTILE: &str =
        "\u{1b}[2J\u{9b}2J\u{85}\u{7f}\u{202e}\u{2066}\u{2028}\u{200b}\u{200d}é \u{1f600}";
    let scene = Scene::new();
    scene.play("run", &["--session", "saltmarsh-exhibit"]);
    let path = "run/trajectories/law_trainee.r1/saltmarsh-exhibit.json";
    let text = std::fs::read(scene.path(path)).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    document["turns"][0]["response"] = HOSTILE.into();
    scene.write(path, &document.to_string());
    let output = scene.run(&["trajectory", "run"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let is_hidden = |c: char| HOSTILE.contains(c) && !"[2Jé \u{1f600}".contains(c);
    assert_eq!(text.chars().find(|&c| is_hidden(c)), None, "{text:?}");
    assert!(text.contains("\\u202e") && text.contains("é \u{1f600}"));
    let printed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(printed["turns"][0]["response"], HOSTILE);
}

#[test]
fn a_trajectory_that_is_none_is_told() {
    let scene = Scene::new();
    scene.play("run", &["--session", "saltmarsh-exhibit"]);
    let path = "run/trajectories/law_trainee.r1/saltmarsh-exhibit.json";
    scene.write(path, "{");
    let output = scene.run(&["trajectory", "run"]);
    expect(&output, 3, &["saltmarsh-exhibit.json", "EOF"]);
}
