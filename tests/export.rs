//! What `export` writes for other tools, read without them; `make interop-export` has the tools themselves read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use crate::report::leave_last_unplayed;
use crate::scene::{Scene, expect, files, root};

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
        "calls", "intents", "items", "runs", "sessions", "turns", "usage", "verdicts",
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

fn table(scene: &Scene, path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.path(path)).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn what_sets_a_run_apart_is_told_in_every_format() {
    let scene = Scene::new();
    let apart = [
        "--agent",
        "reactive",
        "--protocol",
        "pi-bench",
        "--scaffold",
        "nanobot-0.1.4",
        "--scaffold-prompt",
        "coached",
        "--seed",
        "18446744073709551615",
        "--session",
        "corrie-extension",
    ];
    let results = scene.play("run", &apart);
    assert_eq!(results["protocol"], "pi-bench");
    assert_eq!(results["scaffold"], "nanobot-0.1.4");
    scene.play("plain", &["--agent", "reactive"]);
    let export = |format: &str| {
        let args = [
            "export", "plain", "run", "--format", format, "--out", format,
        ];
        expect(&scene.run(&args), 0, &[]);
    };
    export("jsonl");
    let runs = table(&scene, "jsonl/runs.jsonl");
    let told = [
        ("protocol", "paper", "pi-bench"),
        ("scaffold", "nanobot-0.1.5", "nanobot-0.1.4"),
        ("scaffold_prompt", "neutral", "coached"),
        ("agent_player", "scripted", "scripted"),
        ("user_player", "patterns", "patterns"),
        ("judge_player", "patterns", "patterns"),
        ("marks", "scripted", "scripted"),
    ];
    for (column, plain, other) in told {
        assert_eq!([&runs[0][column], &runs[1][column]], [plain, other]);
    }
    assert_eq!(runs[0]["sessions"], Value::Null);
    assert_eq!(runs[1]["sessions"], "corrie-extension");
    assert_eq!(runs[1]["seed"], "18446744073709551615");
    for column in ["scored", "of", "comp_scored", "comp_of"] {
        assert_eq!(runs[1][column], 1, "{column}");
    }
    assert_eq!(runs[1]["apart"], true);
    export("hf");
    let card = std::fs::read_to_string(scene.path("hf/README.md")).unwrap();
    assert!(
        card.contains("protocol paper, scaffold nanobot-0.1.5"),
        "{card}"
    );
    assert!(
        card.contains("(coached prompt) (chosen sessions); protocol pi-bench"),
        "{card}"
    );
    assert!(card.contains("1 of 1 scored"), "{card}");
    export("inspect");
    let log = File::open(scene.path("inspect/run-1.eval")).unwrap();
    let mut log = zip::ZipArchive::new(log).unwrap();
    let header: Value = serde_json::from_reader(log.by_name("header.json").unwrap()).unwrap();
    assert_eq!(header["eval"]["metadata"], runs[1]);
    export("atif");
    let written = read(&scene, "atif/run-1/law_trainee.r1/corrie-extension.json");
    assert_eq!(written["agent"]["extra"]["protocol"], "pi-bench");
}

/// The columns of the tables in the documentation.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("docs/results.md")).unwrap();
    let (_, text) = text.split_once("## Tables of `export`").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let names = |cell: &str| -> Vec<String> {
        let quoted = cell.split('`').skip(1).step_by(2);
        quoted.map(str::to_owned).collect()
    };
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut tables = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').collect();
        // A cell without a name stands for the one above.
        if !cells[1].trim().is_empty() {
            tables = names(cells[1]);
        }
        for table in &tables {
            let columns = told.entry(table.clone()).or_default();
            columns.extend(names(cells[2]));
        }
    }
    told
}

#[test]
fn every_column_of_the_tables_is_documented_and_no_other() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reference"]);
    export(&scene, "jsonl");
    let told = documented();
    assert_eq!(told.len(), 8);
    for (name, columns) in told {
        let rows = table(&scene, &format!("jsonl/{name}.jsonl"));
        let row = rows[0].as_object().unwrap();
        let written: BTreeSet<String> = row.keys().cloned().collect();
        assert_eq!(columns, written, "docs/results.md, {name}");
    }
}

#[test]
fn runs_of_one_agent_have_a_name_each_on_the_card_and_their_settings_in_the_table() {
    let scene = Scene::new();
    scene.play("one/run", &["--agent", "reactive"]);
    scene.play("two/run", &["--agent", "reactive"]);
    let set = ["--set", "session.max_turns=7"];
    scene.play("short", &[&["--agent", "reactive"], &set[..]].concat());
    let to = |format: &str| {
        let runs = ["export", "one/run", "two/run", "short"];
        let args = [&runs[..], &["--format", format, "--out", format]].concat();
        expect(&scene.run(&args), 0, &[]);
    };
    to("hf");
    let card = std::fs::read_to_string(scene.path("hf/README.md")).unwrap();
    for (at, name) in ["one/run", "two/run", "short"].into_iter().enumerate() {
        let told = format!("- run_id {at}: reactive ({name}) (scripted); ");
        assert!(card.contains(&told), "`{told}` is not in: {card}");
    }
    let runs = table(&scene, "hf/data/runs.jsonl");
    assert_eq!(runs[0]["max_turns"], 30);
    assert_eq!(runs[2]["max_turns"], 7);
    assert_eq!(runs[0]["state_reset"], "episode");
    for column in ["prompts_digest", "scaffold_prompt_digest"] {
        assert_eq!(runs[0][column].as_str().unwrap().len(), 64, "{column}");
    }
    // No model was asked.
    assert_eq!(runs[0]["temperature"], Value::Null);
    let alone = scene.run(&["export", "short", "--format", "hf", "--out", "alone"]);
    expect(&alone, 0, &[]);
    let card = std::fs::read_to_string(scene.path("alone/README.md")).unwrap();
    assert!(card.contains(": reactive (scripted); "), "{card}");
}

/// Rows of a table that are of the same session.
fn of_session<'a>(rows: &'a [Value], session: &'a Value) -> impl Iterator<Item = &'a Value> {
    let keys = ["run_id", "persona", "session", "run"];
    let is_it = move |row: &&Value| keys.iter().all(|key| row[key] == session[key]);
    rows.iter().filter(is_it)
}

/// Proc over the sessions of its group, from the table of intents.
fn pooled(sessions: &[Value], intents: &[Value], last: &Value) -> f64 {
    let group = sessions.iter().filter(|one| {
        let keys = ["run_id", "persona", "run", "group"];
        let is_member = !last["group"].is_null() && keys.iter().all(|key| one[key] == last[key]);
        is_member || one["session"] == last["session"] && one["run"] == last["run"]
    });
    let (mut met, mut all) = (0.0, 0.0);
    for member in group {
        assert_eq!(member["scored"], true);
        for intent in of_session(intents, member) {
            all += 1.0;
            met += f64::from(u8::from(
                intent["status"] == "completed" || intent["status"] == "inferred",
            ));
        }
    }
    100.0 * met / all
}

/// Comp of a session, by its verdicts.
fn comp(verdicts: &[Value], items: &[Value], session: &Value) -> f64 {
    let (mut met, mut all) = (0.0, 0.0);
    for item in of_session(items, session) {
        let weight = item["weight"].as_f64().unwrap();
        let mut graded = of_session(verdicts, session).filter(|row| row["item"] == item["item"]);
        let is_met = match item["when"].as_str().unwrap() {
            "end" => graded
                .last()
                .is_some_and(|row| row["pass"] == true && row["turn"] == session["turns"]),
            _ => graded.any(|row| row["pass"] == true),
        };
        assert_eq!(item["met"], is_met, "{item}");
        all += weight;
        met += if is_met { weight } else { 0.0 };
    }
    100.0 * met / all
}

#[test]
fn the_scores_can_be_made_again_from_the_tables() {
    let scene = Scene::new().with_short();
    let session = |id: &str| format!("tasks/personas/law_trainee/sessions/{id}/session.toml");
    let of_items = session("corrie-extension");
    scene.replace(
        &of_items,
        "id = \"new-date\"",
        "id = \"new-date\"\nweight = 3",
    );
    scene.replace(&of_items, "'gareth\\.lune@'", "'nobody here'");
    scene.replace(
        &of_items,
        "id = \"three-days\"",
        "id = \"three-days\"\nwhen = \"end\"",
    );
    let of_intents = session("saltmarsh-chronology");
    for pattern in [
        "'(?m)^\\W{0,3}2025-01-23\\b'",
        "'visit|measur\\w*|diary|\\b(which|what) day (was|is) (it|that)\\b'",
    ] {
        scene.replace(&of_intents, pattern, "'nobody here'");
    }
    let args = ["run", "tasks/suite.toml", "--agent", "reference"];
    let more = ["--runs", "2", "--out", "run"];
    expect(&scene.run(&[&args[..], &more].concat()), 0, &[]);
    let results = read(&scene, "run/results.json");
    export(&scene, "jsonl");
    let rows = |name: &str| table(&scene, &format!("jsonl/{name}.jsonl"));
    let [sessions, intents, items, verdicts] =
        ["sessions", "intents", "items", "verdicts"].map(rows);
    let (mut weights, mut procs, mut comps) = (0.0, 0.0, 0.0);
    for line in sessions.iter().filter(|line| line["weight"] != 0) {
        let weight = line["weight"].as_f64().unwrap();
        weights += weight;
        procs += weight * pooled(&sessions, &intents, line);
        comps += weight * comp(&verdicts, &items, line);
    }
    // Both runs have the same weights.
    for (score, sum) in [("proc", procs), ("comp", comps)] {
        let told = results[score].as_f64().unwrap();
        assert_eq!(format!("{told:.9}"), format!("{:.9}", sum / weights));
        assert!(told > 50.0 && told < 100.0, "{score}: {told}");
    }
    let weighed = verdicts.iter().find(|row| row["item"] == "new-date");
    assert_eq!(weighed.unwrap()["weight"], 3.0);
    let at_end = verdicts.iter().find(|row| row["item"] == "three-days");
    assert_eq!(at_end.unwrap()["when"], "end");
    let last = |id: &str| {
        let line = sessions.iter().find(|line| line["session"] == id);
        line.unwrap()["group"].clone()
    };
    assert_eq!(last("saltmarsh-exhibit"), "saltmarsh-statement");
    assert_eq!(last("saltmarsh-statement"), "saltmarsh-statement");
    assert_eq!(last("corrie-extension"), Value::Null);
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
fn a_run_that_was_not_played_to_its_end_is_no_success() {
    let scene = Scene::new();
    let header = |out: &str| -> Value {
        let args = ["export", "run", "--format", "inspect", "--out", out];
        expect(&scene.run(&args), 0, &[]);
        let log = File::open(scene.path(&format!("{out}/run-0.eval"))).unwrap();
        let mut log = zip::ZipArchive::new(log).unwrap();
        serde_json::from_reader(log.by_name("header.json").unwrap()).unwrap()
    };
    let results = scene.play("run", &["--agent", "reactive"]);
    let whole = header("whole");
    assert_eq!(whole["status"], "success");
    assert_eq!(whole["eval"]["metadata"]["unplayed"], 0);
    assert_eq!(whole["eval"]["metadata"]["marks"], "scripted");
    let times = ["started_at", "completed_at"].map(|time| whole["stats"][time].as_str().unwrap());
    assert!(times[0] < times[1], "{times:?}");
    // Not the name of what a reader of samples would make of them.
    let metrics = &whole["results"]["scores"][0]["metrics"];
    assert!(metrics["mean"].is_null(), "{metrics}");
    assert_eq!(metrics["overall"]["value"], results["proc"]);

    leave_last_unplayed(&scene, "run");
    let cut = header("cut");
    assert_eq!(cut["status"], "cancelled");
    assert_eq!(cut["results"]["total_samples"], 4);
    assert_eq!(cut["eval"]["metadata"]["unplayed"], 1);
    assert_eq!(
        cut["eval"]["metadata"]["marks"],
        "scripted, not played to its end"
    );
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
        &["export run: it is not played to its end", "--resume run"],
    );
    assert!(!scene.path("newer").exists());
    let unfinished = std::fs::read_dir(scene.dir.path()).unwrap();
    let mut names = unfinished.map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with(".new-")));
}
