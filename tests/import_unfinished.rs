//! Outputs of the released code that are not whole, or say what no session can have been: what is missing is told and
//! unscored while the rest is taken, and so is what contradicts the rules.

use serde_json::{Value, json};

use crate::import_results::{
    asked, assert_taken_but_last, begins, data, ends, import, imported, leaves_out, lines,
    messages, outputs, read, replied, result, satisfied,
};
use crate::scene::{Scene, expect, flowed, stderr};

const RUN2: &str = "outputs/some_model__run02/baker";

/// What `verify` would reject is not written in the first place.
#[test]
fn ends_that_do_not_follow_from_the_turns_are_left_out_by_file_and_line() {
    let log = "baker_task_002/history/20260202_110000-log.jsonl";
    let (last, open) = (
        "\"newly_inferred_indexes\":[2]",
        "\"newly_inferred_indexes\":[]",
    );
    leaves_out(
        log,
        last,
        "\"newly_inferred_indexes\":[1]",
        "5:1: intent 1 is not open any more: it was inferred before",
    );
    let scene = imported();
    let result = format!("{RUN2}/baker_task_002/eval/results/20260202_120000_result.json");
    let mut value = read(&scene, &result);
    value["task"]["proactiveness"]["inferred_intent_indexes"] = json!([]);
    scene.write(&result, &value.to_string());
    scene.replace(&format!("{RUN2}/{log}"), last, open);
    expect(
        &import(&scene, &[]),
        3,
        &[
            &format!("{RUN2}/{log}:6:1: the session cannot have ended so after 2 turns"),
            "left out in all: 1 session",
        ],
    );
    assert_taken_but_last(&scene);
}

fn unscored(said: &[&str], change: impl Fn(&Scene)) {
    let scene = imported();
    change(&scene);
    expect(&import(&scene, &[]), 3, said);
    let results = read(&scene, "run/results.json");
    // By how it was broken off: with an end in the record, or without one.
    let outcome = results["sessions"][3]["outcome"].as_str().unwrap();
    assert!(
        ["infrastructure", "unplayed"].contains(&outcome),
        "{outcome}"
    );
    assert_eq!(results["sessions"][1]["outcome"], "complete");
    assert_eq!(results["sessions"][2]["outcome"], "complete");
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[test]
fn one_session_that_was_not_finished_does_not_stop_the_others() {
    let task = format!("{RUN2}/baker_task_002");
    let log = format!("{task}/history/20260202_110000-log.jsonl");
    unscored(
        &["the session was not evaluated and is unscored"],
        |scene| {
            std::fs::remove_dir_all(scene.path(&format!("{task}/eval"))).unwrap();
        },
    );
    unscored(
        &["no <time>-messages.jsonl; the session is unscored"],
        |scene| {
            std::fs::remove_dir_all(scene.path(&format!("{task}/history"))).unwrap();
        },
    );
    unscored(
        &["log.jsonl: no such file; the session is unscored"],
        |scene| {
            std::fs::remove_file(scene.path(&log)).unwrap();
        },
    );
    // The program was killed while it wrote the end; what was evaluated is that of before.
    unscored(
        &["log.jsonl: its last line is cut; the session is unscored"],
        |scene| {
            let text = std::fs::read_to_string(scene.path(&log)).unwrap();
            std::fs::write(scene.path(&log), &text[..text.len() - 20]).unwrap();
        },
    );
    unscored(
        &["log.jsonl: no line `Task finished`; the session is unscored"],
        |scene| {
            let text = std::fs::read_to_string(scene.path(&log)).unwrap();
            let (before, _) = text.trim_end().rsplit_once('\n').unwrap();
            std::fs::write(scene.path(&log), format!("{before}\n")).unwrap();
        },
    );
    unscored(
        &["messages.jsonl: its last line is cut; the session is unscored"],
        |scene| {
            let path = scene.path(&format!("{task}/history/20260202_110000-messages.jsonl"));
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, &text[..text.len() - 20]).unwrap();
        },
    );
    unscored(
        &["intent 1 starts as `provided`; here every intent starts open"],
        |scene| {
            scene.replace(&log, "not_provided\"", "provided\"");
        },
    );
    // A line that is cut within the file was changed by somebody.
    leaves_out(
        "baker_task_002/history/20260202_110000-log.jsonl",
        "\n{",
        "\n{\"x\n{",
        "3:1: control character",
    );
}

/// The reference evaluates what its user broke off, with what the last turn had.
#[test]
fn a_session_that_was_broken_off_and_evaluated_is_taken() {
    let scene = Scene::new();
    data(&scene);
    outputs(&scene, "some_model");
    let task = "outputs/some_model/baker/baker_task_001";
    let chat = [
        ("user", "Please begin."),
        ("assistant", "First answer."),
        ("user", "Round up to whole bags."),
        ("assistant", "Second answer."),
    ];
    let told = "log.jsonl: no line `Task finished`; the session is unscored";
    for (end, code, said) in [
        (Some("EXITED_BY_USER"), 0, "note: not taken over"),
        (None, 3, told),
    ] {
        let mut log = vec![
            begins(0),
            satisfied(&[], &[1, 2]),
            asked(&[], &[1, 2]),
            replied(&[1]),
            satisfied(&[2], &[2]),
        ];
        log.extend(end.map(ends));
        for (path, text) in [
            ("history/20260202_100000-messages.jsonl", messages(&chat)),
            ("history/20260202_100000-log.jsonl", lines(&log)),
            (
                "eval/results/20260202_120000_result.json",
                result("baker_task_001", &[2], &[], &[]),
            ),
        ] {
            scene.write(&format!("{task}/{path}"), &text);
        }
        let output = import(&scene, &[]);
        expect(&output, code, &[said]);
        let results = read(&scene, "run/results.json");
        assert_eq!(results["sessions"][0]["outcome"], "infrastructure");
        expect(&scene.run(&["verify", "run"]), 0, &[]);
        std::fs::remove_dir_all(scene.path("run")).unwrap();
    }
}

#[test]
fn a_check_that_the_suite_lacks_is_told_and_the_rest_is_taken() {
    let scene = imported();
    let session = "suite/personas/baker/sessions/baker_task_002/session.toml";
    let text = std::fs::read_to_string(scene.path(session)).unwrap();
    let items: Vec<&str> = text.split("[[checklist]]").collect();
    let without: Vec<&str> = items
        .into_iter()
        .filter(|item| !item.contains("two.py"))
        .collect();
    std::fs::write(scene.path(session), without.join("[[checklist]]")).unwrap();
    expect(
        &import(&scene, &[]),
        3,
        &["baker_task_002: `[tools] sent` is no item of the suite"],
    );
    let results = read(&scene, "run/results.json");
    // The best turns have the first item of the weights 1 and 3.
    assert_eq!(results["comp"], json!(25.0));
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

fn calls(scene: &Scene, turn: usize) -> Vec<Value> {
    let trajectory = read(scene, "run/trajectories/baker.r2/baker_task_002.json");
    let steps = trajectory["turns"][turn]["steps"].as_array().unwrap();
    let calls = steps.iter().map(|step| step["record"].clone());
    calls.filter(|call| !call.is_null()).collect()
}

#[test]
fn calls_belong_to_the_turn_that_their_file_names() {
    let traces = format!("{RUN2}/baker_task_002/eval/trace_logs/20260202_120000");
    let scene = imported();
    std::fs::remove_file(scene.path(&format!("{traces}/turn_1.json"))).unwrap();
    scene.write(&format!("{traces}/turn_7.json"), "{}");
    expect(
        &import(&scene, &[]),
        3,
        &["1 files for 2 turns", "turn_7.json: turn 7 was not played"],
    );
    assert_eq!((calls(&scene, 0).len(), calls(&scene, 1).len()), (0, 1));

    // Files with times are paired where there are as many as turns.
    for (files, said, found) in [
        (&["100500", "101500"][..], "", (1, 1)),
        (&["100500"], "1 files with a time for 2 turns", (0, 0)),
    ] {
        let scene = imported();
        let text = std::fs::read_to_string(scene.path(&format!("{traces}/turn_1.json"))).unwrap();
        std::fs::remove_dir_all(scene.path(&traces)).unwrap();
        for time in files {
            scene.write(&format!("{traces}/turn_20260202_{time}.json"), &text);
        }
        let output = import(&scene, &[]);
        expect(&output, if said.is_empty() { 0 } else { 3 }, &[said]);
        assert_eq!((calls(&scene, 0).len(), calls(&scene, 1).len()), found);
    }
}

#[test]
fn a_list_of_calls_that_names_other_tools_than_the_chat_is_not_taken() {
    let scene = imported();
    let file = format!("{RUN2}/baker_task_002/eval/trace_logs/20260202_120000/turn_1.json");
    let mut turn = read(&scene, &file);
    turn["tool_steps"][0]["name"] = json!("mcp_appworld_gmail__show_profile");
    scene.write(&file, &turn.to_string());
    expect(
        &import(&scene, &[]),
        3,
        &["turn_1.json: its list of calls names other tools than its chat"],
    );
    let calls = calls(&scene, 0);
    assert_eq!(calls[0]["tool"], "gmail__send_email");
    assert_eq!(calls[0]["result"], "cut");
}

#[test]
fn runs_keep_the_order_of_their_numbers_and_gaps_are_told() {
    let scene = Scene::new();
    data(&scene);
    for run in ["run1", "run2", "run10"] {
        outputs(&scene, &format!("some_model__{run}"));
    }
    std::fs::remove_dir_all(scene.path("outputs/some_model__run2/baker/baker_task_002")).unwrap();
    let output = import(&scene, &[]);
    expect(
        &output,
        3,
        &["some_model__run10: there is no run 3; this is run 3 here"],
    );
    let text = stderr(&output);
    assert!(!text.contains("there is no run 2"), "{text}");
    let results = read(&scene, "run/results.json");
    assert_eq!(results["sessions"][3]["outcome"], "unplayed");
    assert_eq!(results["sessions"][5]["outcome"], "complete");

    outputs(&scene, "some_model__run02");
    std::fs::remove_dir_all(scene.path("run")).unwrap();
    expect(
        &import(&scene, &[]),
        3,
        &["run 2 a second time", "nothing was written"],
    );
}

#[test]
fn a_persona_that_a_run_lacks_or_has_twice_is_told() {
    let scene = imported();
    std::fs::remove_dir_all(scene.path(RUN2)).unwrap();
    scene.write("outputs/some_model__run01/Baker/baker_task_001/x", "");
    let output = import(&scene, &[]);
    expect(
        &output,
        3,
        &[
            "some_model__run02/baker: the persona is not there; its sessions of this run are unscored",
            "some_model__run01/Baker: the same here as `baker`, which was taken",
        ],
    );
    let results = read(&scene, "run/results.json");
    assert_eq!(results["sessions"][0]["outcome"], "complete");
    assert_eq!(results["sessions"][2]["outcome"], "unplayed");
    assert_eq!(results["scored"], json!({"scored": 1, "of": 2}));
    assert_eq!(results["unplayed"], 2);
    // Nobody goes on with it.
    expect(&scene.run(&["show", "run"]), 0, &[]);
    let shown = scene.run(&["show", "--once", "run"]);
    let shown = flowed(&String::from_utf8(shown.stdout).unwrap());
    let said = "sessions finished, the others not imported";
    assert!(shown.contains(said), "{shown}");
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}
