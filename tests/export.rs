//! What `export` writes for other tools, read without them; `make interop-export` has the tools themselves read it.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use crate::scene::{Scene, expect, files};

fn read(scene: &Scene, path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path(path)).unwrap()).unwrap()
}

fn export(scene: &Scene, format: &str) {
    let output = scene.run(&["export", "run", "--format", format, "--out", format]);
    expect(&output, 0, &[]);
}

fn cell(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::Double(value) => (*value).into(),
        Field::Str(value) => value.as_str().into(),
        other => panic!("no column holds {other}"),
    }
}

#[test]
fn the_tables_are_the_same_as_lines_and_as_columns() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reference", "--runs", "2"]);
    export(&scene, "jsonl");
    export(&scene, "parquet");
    let tables = [
        "calls", "intents", "runs", "sessions", "turns", "usage", "verdicts",
    ];
    let named = |folder: &str| -> Vec<String> {
        let files = files(&scene.path(folder)).into_iter();
        files.map(|(path, _)| path).collect()
    };
    assert_eq!(named("jsonl"), tables.map(|name| format!("{name}.jsonl")));
    assert_eq!(
        named("parquet"),
        tables.map(|name| format!("{name}.parquet"))
    );
    for name in tables {
        let file = File::open(scene.path(&format!("parquet/{name}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let rows = rows.map(|row| {
            let row = row.unwrap();
            let cells = row.get_column_iter();
            cells
                .map(|(name, field)| (name.clone(), cell(field)))
                .collect::<Value>()
        });
        let text = std::fs::read_to_string(scene.path(&format!("jsonl/{name}.jsonl"))).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!lines.is_empty(), "{name}");
        assert_eq!(rows.collect::<Vec<Value>>(), lines, "{name}");
    }
}

#[test]
fn a_trajectory_has_the_messages_calls_results_and_scores_of_its_session() {
    let scene = Scene::new();
    let results = scene.play("run", &["--agent", "reference"]);
    export(&scene, "atif");
    for line in results["sessions"].as_array().unwrap() {
        let id = line["id"].as_str().unwrap();
        let written = read(&scene, &format!("atif/run-0/law_trainee.r1/{id}.json"));
        let played = read(
            &scene,
            &format!("run/trajectories/law_trainee.r1/{id}.json"),
        );
        assert_eq!(written["schema_version"], "ATIF-v1.8");
        assert_eq!(written["agent"]["model_name"], "reference");
        assert_eq!(written["extra"]["proc"], line["proc"]);
        assert_eq!(written["extra"]["outcome"], line["outcome"]);
        let steps = written["steps"].as_array().unwrap();
        let numbers: Vec<u64> = steps
            .iter()
            .map(|step| step["step_id"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<_>>());
        assert!(
            steps[0]["source"] == "system" && steps[0]["message"].as_str().unwrap().len() > 100
        );
        let said: Vec<&Value> = steps
            .iter()
            .filter(|step| step["source"] == "user")
            .map(|step| &step["message"])
            .collect();
        let turns = played["turns"].as_array().unwrap();
        let told: Vec<&Value> = turns.iter().map(|turn| &turn["message"]).collect();
        assert_eq!(said, told, "{id}");
        let calls: Vec<&Value> = turns
            .iter()
            .flat_map(|turn| turn["steps"].as_array().unwrap())
            .filter(|step| step["step"] == "call")
            .collect();
        let observed: Vec<&Value> = steps
            .iter()
            .filter_map(|step| step["observation"]["results"].as_array())
            .flatten()
            .collect();
        assert_eq!(observed.len(), calls.len(), "{id}");
        for (observed, call) in observed.iter().zip(calls) {
            assert_eq!(observed["source_call_id"], call["id"], "{id}");
            assert_eq!(observed["content"], call["record"]["result"], "{id}");
        }
    }
}

#[test]
fn an_unfinished_run_and_a_folder_that_is_there_are_refused() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop", "--session", "corrie-extension"]);
    std::fs::create_dir(scene.path("there")).unwrap();
    let into = |out: &str| scene.run(&["export", "run", "--format", "parquet", "--out", out]);
    expect(&into("there"), 4, &["write there: it is there already"]);
    expect(&into("new"), 0, &[]);
    std::fs::remove_file(scene.path("run/results.json")).unwrap();
    expect(
        &into("newer"),
        3,
        &["not played to its end", "--resume run"],
    );
    assert!(!scene.path("newer").exists());
    let unfinished = std::fs::read_dir(scene.dir.path()).unwrap();
    let mut names = unfinished.map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with(".new-")));
}
