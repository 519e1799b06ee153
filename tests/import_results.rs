//! Outputs of the released code, small ones of our own wording: they become a run that is reported, compared and verified,
//! and marked wherever it is shown.

use serde_json::{Value, json};

use crate::scene::{Scene, expect, files, flowed, stderr};

/// When the first message of the outputs was sent.
const BEGIN: f64 = 1_770_000_000.0;

/// Data in the public format: a task that another one depends on.
pub(crate) fn data(scene: &Scene) {
    let write = |path: &str, text: &str| {
        scene.write(&format!("source/data/baker/{path}"), text);
    };
    write(
        "profile.yaml",
        "schema_version: v2\nuser_id: baker\nrole: Runs a small bakery.\n",
    );
    write(
        "episode.yaml",
        "schema_version: v2\nepisode_id: e1\nuser_id: baker\ntasks:\n  - task_id: baker_task_001\n  \
         - task_id: baker_task_002\n    depends_on: [baker_task_001]\n",
    );
    write("tools.yaml", "tool_names: []\n");
    let task = |id: &str, intents: &[&str], rest: &str| {
        let intents: Vec<String> = intents
            .iter()
            .map(|one| format!("    - content: {one}\n"))
            .collect();
        let text = format!(
            "schema_version: v2\ntask_id: {id}\nuser_id: baker\ntask_type: long_term\ntitle: Title of {id}\n\
             trigger: {{type: user}}\nintent:\n  initial_input: Please begin {id}.\n  hidden_intent:\n{}{rest}",
            intents.concat()
        );
        write(&format!("tasks/{id}/task.yaml"), &text);
    };
    task("baker_task_001", &INTENTS[0], "");
    task(
        "baker_task_002",
        &INTENTS[1],
        "objectives:\n  checklist:\n    - criterion: The list names flour.\n    - {criterion: The list is sorted., weight: 3}\n  \
         tools_evaluation_path: data/baker/scripts/two.py\n",
    );
    write(
        "scripts/two.py",
        "def score(history):\n    name = \"mcp_appworld_gmail__send_email\"\n    \
         return {\"sent\": any(item[\"tool_name\"] == name and item[\"result\"][\"response\"].get(\"id\") for item in history)}\n",
    );
    let output = scene.run(&["import", "pi-bench", "source", "--out", "suite"]);
    expect(&output, 0, &[]);
}

const INTENTS: [[&str; 2]; 2] = [
    ["Use the metric units.", "Round up to whole bags."],
    ["Order from the mill.", "Mention the closing day."],
];

const SUITE: &str = "suite/suite.toml";

/// The lines of a JSON lines file.
pub(crate) fn lines(values: &[Value]) -> String {
    let line = |value: &Value| format!("{value}\n");
    values.iter().map(line).collect()
}

pub(crate) fn messages(said: &[(&str, &str)]) -> String {
    let line = |(place, (role, message)): (usize, &(&str, &str))| {
        let seconds = u32::try_from(place).unwrap() * 10;
        json!({"role": role, "message": message, "round": place + 1, "timestamp": BEGIN + f64::from(seconds)})
    };
    lines(&said.iter().enumerate().map(line).collect::<Vec<_>>())
}

pub(crate) fn begins(task: usize) -> Value {
    let intents: Vec<Value> = (1..)
        .zip(INTENTS[task])
        .map(|(idx, content)| json!({"idx": idx, "content": content, "status": "not_provided"}))
        .collect();
    json!({"message": "Hidden intents initialized not_provided=[1, 2]", "data": {"hidden_intents": intents}})
}

pub(crate) fn satisfied(yes: &[usize], open: &[usize]) -> Value {
    json!({"message": "Intent satisfaction completed newly_inferred", "data": {
        "newly_inferred_indexes": yes, "decisions": decisions(yes, open)}})
}

pub(crate) fn asked(yes: &[usize], open: &[usize]) -> Value {
    json!({"message": "Targeted followup completed matched", "data": {
        "matched_indexes": yes, "decisions": decisions(yes, open)}})
}

fn decisions(yes: &[usize], open: &[usize]) -> Vec<Value> {
    open.iter()
        .map(|idx| {
            let (decision, style) = if yes.contains(idx) {
                ("YES", Some("Options"))
            } else {
                ("NO", None)
            };
            json!({"idx": idx, "decision": decision, "style": style})
        })
        .collect()
}

pub(crate) fn replied(updated: &[usize]) -> Value {
    json!({"message": "Reply built updated_indexes", "data": {"updated_indexes": updated}})
}

pub(crate) fn ends(status: &str) -> Value {
    json!({"message": format!("Task finished task_id=x status={status} turns=2 elapsed_ms=9 detail=-"), "data": {}})
}

/// Of the second task's items: two criteria, and the script's check.
const WEIGHTS: [f64; 3] = [1.0, 3.0, 1.0];

pub(crate) fn result(
    task: &str,
    inferred: &[usize],
    matched: &[usize],
    turns: &[[u8; 3]],
) -> String {
    let scores = |values: [u8; 3]| -> Vec<Value> {
        let criteria = [
            "The list names flour.",
            "The list is sorted.",
            "[tools] sent",
        ];
        (1..)
            .zip(criteria.iter().zip(values).zip(WEIGHTS))
            .map(|(index, ((criterion, value), weight))| {
                json!({"index": index, "criterion": criterion, "weight": weight, "score": "", "value": value})
            })
            .collect()
    };
    let best = |place: usize| turns.iter().map(|turn| turn[place]).max().unwrap_or(0);
    let evaluations: Vec<Value> = (1..)
        .zip(turns)
        .map(|(turn, values): (u32, _)| {
            json!({"turn_index": turn, "criterion_scores": scores(*values),
                "llm_evaluation": {"prompt": "p", "raw_responses": ["<c1>YES</c1>"]}})
        })
        .collect();
    let met = [best(0), best(1), best(2)];
    let weighed = met.iter().zip(WEIGHTS);
    let average: f64 = weighed.map(|(met, weight)| f64::from(*met) * weight).sum();
    let average = average / WEIGHTS.iter().sum::<f64>();
    let checklist = (!turns.is_empty()).then(|| {
        json!({"criterion_scores": scores(met), "turn_evaluations": evaluations, "average_score": average})
    });
    let value = json!({
        "user_id": "baker", "agent_id": "some/model",
        "overall_checklist_average_score": 0.4, "overall_proactiveness_average_score": 0.75,
        "task": {"task_id": task, "title": "t", "checklist": checklist, "proactiveness": {
            "inferred_intent_indexes": inferred, "matched_intent_indexes": matched}},
    });
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

/// Writes the outputs of one run of both tasks. The first: an intent satisfied, one told. The second: one asked for, then
/// one satisfied.
pub(crate) fn outputs(scene: &Scene, model: &str) {
    let file = |task: &str, path: &str, text: &str| {
        scene.write(&format!("outputs/{model}/baker/{task}/{path}"), text);
    };
    let (one, two) = ("baker_task_001", "baker_task_002");
    let talk = [
        ("user", "Please begin."),
        ("assistant", "First answer."),
        ("user", "Round up to whole bags."),
        ("assistant", "Second answer."),
    ];
    file(
        one,
        "history/20260202_100000-messages.jsonl",
        &messages(&talk),
    );
    file(
        one,
        "history/20260202_100000-log.jsonl",
        &lines(&[
            begins(0),
            satisfied(&[1], &[1, 2]),
            asked(&[], &[2]),
            replied(&[2]),
            json!({"message": "Intent satisfaction skipped: none remain", "data": {}}),
            ends("SUCCESS"),
        ]),
    );
    // An earlier attempt, and the evaluation's own log, which count for nothing.
    file(one, "history/20260202_090000-messages.jsonl", "broken");
    file(one, "history/20260202_120000-log.jsonl", "broken");
    file(
        one,
        "eval/results/20260202_120000_result.json",
        &result(one, &[1], &[], &[]),
    );
    file(
        two,
        "history/20260202_110000-messages.jsonl",
        &messages(&talk),
    );
    file(
        two,
        "history/20260202_110000-log.jsonl",
        &lines(&[
            begins(1),
            satisfied(&[], &[1, 2]),
            asked(&[1], &[1, 2]),
            replied(&[1]),
            satisfied(&[2], &[2]),
            ends("SUCCESS"),
        ]),
    );
    file(
        two,
        "eval/results/20260202_120000_result.json",
        &result(two, &[2], &[1], &[[1, 0, 0], [0, 0, 1]]),
    );
    for task in [one, two] {
        let turn = |place: usize| {
            let chat = json!([
                {"role": "system", "content": "You assist."},
                {"role": "user", "content": "Please begin."},
                {"role": "assistant", "content": "", "reasoning_content": "think", "tool_calls": [{"id": "c1",
                    "function": {"name": "mcp_appworld_gmail__send_email", "arguments": "{\"to\": \"mill\"}"}}]},
                {"role": "tool", "tool_call_id": "c1", "name": "mcp_appworld_gmail__send_email", "content": "cut"},
                {"role": "assistant", "content": talk[place * 2 - 1].1},
            ]);
            let steps = json!([{"name": "mcp_appworld_gmail__send_email", "arguments": {"to": "mill"},
                "result": "{\"response\": {\"id\": 7}}"}]);
            json!({"session_key": "s", "messages": chat, "tool_steps": steps}).to_string()
        };
        for place in [1, 2] {
            let path = format!("eval/trace_logs/20260202_120000/turn_{place}.json");
            file(task, &path, &turn(place));
        }
    }
}

pub(crate) fn imported() -> Scene {
    let scene = Scene::new();
    data(&scene);
    outputs(&scene, "some_model__run01");
    outputs(&scene, "some_model__run02");
    scene
}

pub(crate) fn import(scene: &Scene, args: &[&str]) -> std::process::Output {
    let args = [
        &[
            "import", "results", "outputs", "--suite", SUITE, "--out", "run",
        ],
        args,
    ];
    scene.run(&args.concat())
}

pub(crate) fn read(scene: &Scene, path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path(path)).unwrap()).unwrap()
}

#[test]
fn outputs_become_a_run_with_its_words_translated() {
    let scene = imported();
    let output = import(&scene, &[]);
    expect(&output, 0, &["note: not taken over"]);
    // The figures that the outputs tell are those of the run.
    assert!(
        !stderr(&output).contains("the outputs say"),
        "{}",
        stderr(&output)
    );
    let results = read(&scene, "run/results.json");
    assert_eq!(results["imported"], true);
    assert_eq!(results["runs"], 2);
    assert_eq!(results["agent"], "some_model");
    // (1 + 2) of 4 intents in the group; 1 + 1 of the weights 1 + 3 + 1.
    assert_eq!(
        (&results["proc"], &results["comp"]),
        (&json!(75.0), &json!(40.0))
    );
    let session = |place: usize| results["sessions"][place]["intents"].clone();
    assert_eq!(
        session(0),
        json!({"completed": 1, "inferred": 0, "provided": 1, "open": 0})
    );
    assert_eq!(
        session(1),
        json!({"completed": 1, "inferred": 1, "provided": 0, "open": 0})
    );
    let trajectory = read(&scene, "run/trajectories/baker.r1/baker_task_002.json");
    let turn = &trajectory["turns"][0];
    assert_eq!(turn["intents"][0]["style"], "options");
    assert_eq!(turn["next"], "Round up to whole bags.");
    let call = &turn["steps"][1]["record"];
    assert_eq!(call["tool"], "gmail__send_email");
    assert_eq!(call["result"], "{\"id\":7}");
    assert_eq!(turn["clock"], "2026-02-02T02:40:00");
    let manifest = read(&scene, "run/manifest.json");
    assert_eq!(manifest["imported"]["format"], "pi-bench");
    assert_eq!(manifest["protocol"], "pi-bench");
}

#[test]
fn an_imported_run_is_reported_as_such_everywhere() {
    let scene = imported();
    let output = import(&scene, &[]);
    let mark = "Imported, not played here";
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said(&output).contains(mark), "{}", said(&output));
    let report = scene.run(&["report", "run", "--out", "report"]);
    expect(&report, 0, &[]);
    let text = said(&report);
    assert!(
        text.contains(mark) && text.contains("some_model (imported)"),
        "{text}"
    );
    for (name, content) in files(&scene.path("report")) {
        let content = String::from_utf8_lossy(&content);
        // A table that a run cannot support has no rows to mark.
        let sheet = std::path::Path::new(&name).extension() == Some("csv".as_ref());
        if sheet && (content.starts_with("missing") || content.lines().count() < 2) {
            continue;
        }
        // LaTeX has its commas in braces.
        assert!(content.contains("not played here"), "{name}");
    }
}

#[test]
fn an_imported_run_is_compared_with_one_that_is_played() {
    let scene = imported();
    expect(&import(&scene, &[]), 0, &[]);
    let play = [
        "run",
        SUITE,
        "--protocol",
        "pi-bench",
        "--out",
        "ours",
        "--json",
    ];
    expect(&scene.run(&play), 0, &[]);
    let output = scene.run(&["compare", "run", "ours"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("some_model, imported"), "{text}");
}

#[test]
fn an_imported_run_verifies_until_a_byte_is_changed() {
    let scene = imported();
    expect(&import(&scene, &[]), 0, &[]);
    let output = scene.run(&["verify", "run"]);
    let text = flowed(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("4 sessions, 8 turns") && text.contains("no rule was graded again"),
        "{text}"
    );
    for (name, content) in files(&scene.path("run")) {
        if name == "lock" || name == "timing.jsonl" {
            continue;
        }
        let mut changed = content.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        std::fs::write(scene.path("run").join(&name), changed).unwrap();
        let code = scene.run(&["verify", "run"]).status.code();
        assert_ne!(code, Some(0), "{name}");
        std::fs::write(scene.path("run").join(&name), content).unwrap();
    }
}

#[test]
fn an_imported_run_is_not_gone_on_with() {
    let scene = imported();
    expect(&import(&scene, &[]), 0, &[]);
    let output = scene.run(&["run", "--resume", "run"]);
    expect(&output, 3, &["it was imported and not played here"]);
}

#[test]
fn a_run_is_no_output_to_import() {
    let scene = imported();
    expect(&import(&scene, &[]), 0, &[]);
    let again = scene.run(&[
        "import", "results", "run", "--suite", SUITE, "--out", "again",
    ]);
    expect(
        &again,
        3,
        &[
            "a run of this program",
            "report, grade and verify take it as it is",
        ],
    );
    assert!(!scene.path("again").exists());
}

#[test]
fn what_is_missing_is_told_and_unscored() {
    let scene = imported();
    let gone = "outputs/some_model__run02/baker";
    std::fs::remove_dir_all(scene.path(&format!("{gone}/baker_task_001"))).unwrap();
    let traces = format!("{gone}/baker_task_002/eval/trace_logs");
    std::fs::remove_dir_all(scene.path(&traces)).unwrap();
    scene.write(&format!("{gone}/baker_task_009/x"), "");
    let output = import(&scene, &[]);
    expect(
        &output,
        3,
        &[
            "baker_task_001: the session is not there; it is unscored",
            "0 files for 2 turns",
            "baker_task_009: no session of the suite",
        ],
    );
    let results = read(&scene, "run/results.json");
    assert_eq!(results["sessions"][2]["outcome"], "unplayed");
    assert_eq!(results["scored"], json!({"scored": 1, "of": 2}));
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// How a session ended that did not end well.
#[test]
fn ends_of_sessions_are_translated() {
    for (status, cut, outcome, said) in [
        ("MAX_TURNS", 0, "max_turns", ""),
        ("TIMEOUT", 1, "turn_timeout", "did not answer in time"),
        ("ERROR", 0, "judge_fault", "the user agent failed"),
        ("ERROR", 1, "infrastructure", "broken off"),
        ("EXITED_BY_USER", 1, "infrastructure", "broken off"),
    ] {
        let scene = Scene::new();
        data(&scene);
        outputs(&scene, "some_model");
        let task = "outputs/some_model/baker/baker_task_001";
        let chat = [
            ("user", "Please begin."),
            ("assistant", "First answer."),
            ("user", "Use the metric units."),
            ("assistant", "Second answer."),
            ("user", "Round up to whole bags."),
        ];
        let mut log = vec![
            begins(0),
            satisfied(&[], &[1, 2]),
            asked(&[], &[1, 2]),
            replied(&[1]),
        ];
        // The last answer of the user comes after the last turn.
        let mut said_until = 4 - cut;
        if status == "MAX_TURNS" {
            said_until = 5;
            log.extend([satisfied(&[], &[2]), asked(&[], &[2]), replied(&[2])]);
        }
        log.push(ends(status));
        for (path, text) in [
            (
                "history/20260202_100000-messages.jsonl",
                messages(&chat[..said_until]),
            ),
            ("history/20260202_100000-log.jsonl", lines(&log)),
            (
                "eval/results/20260202_120000_result.json",
                result("baker_task_001", &[], &[], &[]),
            ),
        ] {
            scene.write(&format!("{task}/{path}"), &text);
        }
        let output = import(&scene, &[]);
        let results = read(&scene, "run/results.json");
        assert_eq!(results["sessions"][0]["outcome"], outcome, "{status}");
        assert_eq!(results["sessions"][0]["turns"], 2, "{status}");
        assert!(
            results["faults"].to_string().contains(said),
            "{status}: {}",
            results["faults"]
        );
        assert!(
            output.status.code() == Some(0) || cut == 1,
            "{}",
            stderr(&output)
        );
        expect(&scene.run(&["verify", "run"]), 0, &[]);
    }
}

/// What is said of the outputs after one edit; the session is left out then, and the others are taken.
#[track_caller]
pub(crate) fn leaves_out(file: &str, from: &str, to: &str, said: &str) {
    let scene = imported();
    let path = format!("outputs/some_model__run02/baker/{file}");
    scene.replace(&path, from, to);
    let output = import(&scene, &[]);
    let told = format!("left out: {path}:{said}");
    let all = "left out in all: 1 session that could not be read";
    expect(&output, 3, &[&told, "; the session is unscored", all]);
    assert_taken_but_last(&scene);
}

/// The second session of the second run has no line, and what is there verifies.
#[track_caller]
pub(crate) fn assert_taken_but_last(scene: &Scene) {
    let results = read(scene, "run/results.json");
    let outcomes = results["sessions"].as_array().unwrap().iter();
    let outcomes: Vec<&str> = outcomes.map(|it| it["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["complete", "complete", "complete", "unplayed"]);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// It is rather another suite's then, or no output at all.
#[test]
fn nothing_is_written_where_no_session_can_be_read() {
    let scene = imported();
    let paths = ["run01", "run02"].map(|run| format!("outputs/some_model__{run}/baker"));
    for path in &paths {
        for (task, time) in [("001", "100000"), ("002", "110000")] {
            let log = format!("{path}/baker_task_{task}/history/20260202_{time}-log.jsonl");
            assert!(scene.path(&log).exists(), "{log}");
            scene.write(&log, "no JSON\n");
        }
    }
    let output = import(&scene, &[]);
    let last = format!(
        "{}/baker_task_002/history/20260202_110000-log.jsonl:1:2: expected",
        paths[1]
    );
    expect(&output, 3, &[&last, "nothing was written"]);
    let left = std::fs::read_dir(scene.dir.path()).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

/// Nor where no session was finished.
#[test]
fn nothing_is_written_where_every_session_is_left_out() {
    let scene = imported();
    for run in ["run01", "run02"] {
        for task in ["001", "002"] {
            let history = format!("outputs/some_model__{run}/baker/baker_task_{task}/history");
            std::fs::remove_dir_all(scene.path(&history)).unwrap();
        }
    }
    let output = import(&scene, &[]);
    let said = [
        "no <time>-messages.jsonl; the session is unscored",
        "no session of the suite that can be read",
        "nothing was written",
    ];
    expect(&output, 3, &said);
    assert!(!scene.path("run").exists());
}

#[test]
fn what_is_malformed_is_left_out_by_file_and_line() {
    let log = "baker_task_002/history/20260202_110000-log.jsonl";
    let talk = "baker_task_002/history/20260202_110000-messages.jsonl";
    let result = "baker_task_002/eval/results/20260202_120000_result.json";
    leaves_out(
        log,
        "Order from the mill.",
        "Order from the shop.",
        "1:1: these are not the hidden intents",
    );
    leaves_out(
        log,
        "\"matched_indexes\":[1]",
        "\"matched_indexes\":[4]",
        "3:1: `matched_indexes`: 4 is none of the 2",
    );
    leaves_out(
        log,
        "\"Options\"",
        "\"Poem\"",
        "3:1: intent 1 is asked for in no known style",
    );
    leaves_out(
        log,
        "status=SUCCESS",
        "status=FINE",
        "6:1: unknown status `FINE`",
    );
    leaves_out(
        log,
        "\"data\":{\"hidden",
        "\"data\":{{\"hidden",
        "1:69: key must be a string",
    );
    leaves_out(
        talk,
        "\"role\":\"assistant\"",
        "\"role\":\"user\"",
        "2:1: two messages of the user",
    );
    leaves_out(
        talk,
        "\"role\":\"user\"",
        "\"role\":\"tool\"",
        "1:1: unknown role `tool`",
    );
    leaves_out(
        result,
        "\"task_id\": \"baker_task_002\"",
        "\"task_id\": \"x\"",
        "7:6: the result is of another task",
    );
    leaves_out(
        result,
        "The list is sorted.",
        "The list is short.",
        "20:25: this is no item of session `baker_task_002`",
    );
    leaves_out(
        result,
        "\"turn_index\": 2",
        "\"turn_index\": 3",
        "33:8: turn 3 is evaluated and was not played",
    );
    leaves_out(
        result,
        "\"value\": 1",
        "\"value\": 2",
        "13:25: the value 2 is neither 0 nor 1",
    );
    leaves_out(talk, "1770000000.0", "1e300", "1:1: `timestamp`: 1");
}

/// Each value has its weight there too, and all of them their sum.
#[test]
fn what_was_scored_by_other_weights_is_left_out_by_file_and_line() {
    let result = "baker_task_002/eval/results/20260202_120000_result.json";
    leaves_out(
        result,
        "\"weight\": 3.0",
        "\"weight\": 30.0",
        "20:25: this was scored by the weight 30; item `c2` of the suite has 3",
    );
    leaves_out(
        result,
        "\"average_score\": 0.4",
        "\"average_score\": 0.9167",
        "99:7: `average_score` is 0.9167, and its values and weights give 0.4000",
    );
    // Where they are as the suite's, or are not told, nothing is.
    let scene = imported();
    let path = format!("outputs/some_model__run02/baker/{result}");
    scene.replace(&path, "\"weight\": 3.0", "\"weight\": 3");
    scene.replace(&path, "\"weight\": 1.0,", "");
    scene.replace(&path, "\"average_score\": 0.4", "\"average_score\": null");
    expect(&import(&scene, &[]), 0, &[]);
    assert_eq!(read(&scene, "run/results.json")["comp"], json!(40.0));
}

/// Old results that nest, grow or never end are left out with their place.
#[test]
fn bombs_in_results_are_left_out() {
    let result = "baker_task_002/eval/results/20260202_120000_result.json";
    let talk = "baker_task_002/history/20260202_110000-messages.jsonl";
    let deep = format!("\"value\": {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    leaves_out(result, "\"value\": 1", &deep, "");
    let keys = format!("\"role\":{}", "{\"role\":".repeat(100_000));
    leaves_out(talk, "\"role\":\"user\"", &keys, "1:");
    let huge = format!("\"value\": 1{}", "0".repeat(1 << 20));
    leaves_out(result, "\"value\": 1", &huge, "");
}

#[test]
fn several_models_are_told_apart() {
    let scene = imported();
    outputs(&scene, "other");
    expect(
        &import(&scene, &[]),
        3,
        &["outputs of several models: other, some_model", "--model"],
    );
    expect(
        &import(&scene, &["--model", "none"]),
        3,
        &["no model `none`"],
    );
    expect(&import(&scene, &["--model", "some/model"]), 0, &[]);
    expect(
        &import(&scene, &["--model", "other"]),
        4,
        &["make run: it is there already; choose another --out"],
    );
}

/// Who played has a name and no server; rules that were added since are graded on the calls that were taken over.
#[test]
fn an_imported_run_is_graded_by_a_named_judge_and_nobody_else_is_asked() {
    let scene = imported();
    expect(&import(&scene, &[]), 0, &[]);
    let grade = |args: &[&str]| scene.run(&[&["grade", "run", "--out", "graded"], args].concat());
    expect(
        &grade(&[]),
        3,
        &["it is imported and does not say who judged", "--judge"],
    );
    expect(&grade(&["--judge", "lexical"]), 0, &[]);
    let results = read(&scene, "graded/results.json");
    assert_eq!(
        (&results["agent"], &results["imported"]),
        (&json!("some_model"), &json!(true))
    );
    expect(&scene.run(&["verify", "graded"]), 0, &[]);
    // The script looks for the call's name and for its result in one wrapping.
    let trajectory = read(&scene, "graded/trajectories/baker.r1/baker_task_002.json");
    let verdict = &trajectory["turns"][0]["items"];
    let sent = verdict
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["item"] == "r1");
    assert_eq!(sent.unwrap()["pass"], true, "{verdict}");
}
