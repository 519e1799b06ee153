//! Two runs compared: equal ones differ by nothing, and runs of different suites are not compared at all.

use serde_json::{Value, json};

use crate::models::{play, run, server};
use crate::scene::{Scene, expect, first_persona, flowed, root, stderr};

#[test]
fn equal_runs_differ_by_nothing_and_different_ones_by_what_they_scored() {
    let scene = Scene::new();
    for (out, agent) in [("a", "reference"), ("b", "reference"), ("c", "nop")] {
        scene.play(out, &["--agent", agent, "--runs", "2"]);
    }
    let compared = |a: &str, b: &str| -> Value {
        let output = scene.run(&["compare", a, b, "--json"]);
        expect(&output, 0, &[]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let same = compared("a", "b");
    assert_eq!(same["proc"]["overall"]["difference"], 0.0);
    assert_eq!(same["proc"]["overall"]["p_value"], 1.0);
    let mut units = first_persona().sessions;
    units.retain(|session| !session.checklist.is_empty());
    assert_eq!(same["proc"]["shared"], units.len());
    let other = compared("a", "c");
    assert_eq!(other["comp"]["overall"]["difference"], -100.0);
    let text = String::from_utf8(scene.run(&["compare", "a", "c"]).stdout).unwrap();
    assert!(
        text.contains("scripted") && text.contains("saltmarsh-statement"),
        "{text}"
    );
}

#[test]
fn what_was_changed_since_it_was_sealed_is_said_wherever_its_scores_are_given_out() {
    let scene = Scene::new();
    scene.play("a", &["--session", "saltmarsh-exhibit"]);
    let said = |args: &[&str]| {
        let output = scene.run(args);
        expect(&output, 0, &[]);
        String::from_utf8(output.stdout).unwrap()
    };
    let words = "changed since it was sealed";
    for args in [&["compare", "a", "a"][..], &["report", "a"]] {
        let whole = said(args);
        assert!(!whole.contains(words), "{whole}");
    }
    let journals = scene.path("a/journal");
    let journal = std::fs::read_dir(journals).unwrap().next().unwrap();
    let journal = journal.unwrap().path();
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{text} ")).unwrap();
    for args in [
        &["compare", "a", "a"][..],
        &["compare", "a", "a", "--json"],
        &["report", "a"],
        &["report", "a", "--format", "json"],
    ] {
        let changed = said(args);
        assert!(changed.contains(words), "{changed}");
        assert!(changed.contains("pibench-host verify a"), "{changed}");
    }
    std::fs::write(&journal, text).unwrap();
    let again = said(&["report", "a"]);
    assert!(!again.contains(words), "{again}");
    let out = ["export", "a", "--format", "jsonl", "--out"];
    let exported = |to: &str| {
        let output = scene.run(&[&out[..], &[to]].concat());
        expect(&output, 0, &[]);
        flowed(&stderr(&output))
    };
    let shown = |more: &[&str]| flowed(&said(&[&["show", "a"], more].concat()));
    let whole = [exported("whole"), shown(&["--once"]), shown(&[])];
    assert!(whole.iter().all(|text| !text.contains(words)), "{whole:?}");
    let results = scene.path("a/results.json");
    let text = std::fs::read_to_string(&results).unwrap();
    std::fs::write(&results, format!("{text} ")).unwrap();
    for text in [exported("changed"), shown(&["--once"]), shown(&[])] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_blob_that_is_gone_is_said_wherever_scores_are_given_out() {
    let scene = Scene::new();
    scene.play("a", &["--session", "saltmarsh-exhibit"]);
    let blobs = std::fs::read_dir(scene.path("a/blobs")).unwrap();
    let blob = blobs.map(|entry| entry.unwrap().path()).next().unwrap();
    let name = blob.file_name().unwrap().to_str().unwrap();
    let words = format!("was changed since it was sealed (blobs/{name}: it is gone)");
    let content = std::fs::read(&blob).unwrap();
    for is_gone in [false, true] {
        if is_gone {
            std::fs::remove_file(&blob).unwrap();
        }
        let out = format!("out-{is_gone}");
        for args in [
            &["compare", "a", "a"][..],
            &["report", "a"],
            &["show", "a", "--once"],
            &["export", "a", "--format", "jsonl", "--out", &out],
        ] {
            let output = scene.run(args);
            expect(&output, 0, &[]);
            let said = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
            assert_eq!(flowed(&said).contains(&words), is_gone, "{said}");
        }
    }
    // Of each it is said once.
    let verified = scene.run(&["verify", "a"]);
    expect(&verified, 3, &[]);
    let said = flowed(&String::from_utf8(verified.stdout).unwrap());
    let words = format!("blobs/{name}: it is gone");
    assert_eq!(said.matches(&words).count(), 1, "{said}");
    std::fs::write(&blob, content).unwrap();
    expect(&scene.run(&["verify", "a"]), 0, &[]);
}

#[test]
fn what_a_killed_process_left_of_a_run_folder_is_removed_and_one_in_the_making_is_not() {
    let scene = Scene::new();
    scene.write("runs/.new-run-killed/lock", "");
    scene.write("runs/.new-run-killed/manifest.json", "{}");
    let lock = scene.write("runs/.new-run-played/lock", "");
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    scene.play("runs/a", &["--session", "saltmarsh-exhibit"]);
    assert!(!scene.path("runs/.new-run-killed").exists());
    assert!(lock.exists());
    drop(held);
    scene.play("runs/b", &["--session", "saltmarsh-exhibit"]);
    assert!(!lock.exists());
}

/// Below a folder where others may write, too.
#[test]
fn nobody_else_writes_into_a_run_folder_and_a_link_in_its_place_leads_nowhere() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scene = Scene::new();
    scene.write("shared/readme", "");
    let shared = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(scene.path("shared"), shared).unwrap();
    scene.play("shared/run", &["--session", "saltmarsh-exhibit"]);
    let mode = scene.path("shared/run").metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o002, 0, "{:o}", mode.mode());
    symlink(scene.path("victim"), scene.path("shared/link")).unwrap();
    let suite = crate::scene::short();
    let args = ["run", suite.to_str().unwrap(), "--out", "shared/link"];
    let refused = scene.run(&args);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    assert!(!scene.path("victim").exists());
}

#[test]
fn a_run_that_is_named_twice_is_called_so() {
    let scene = Scene::new();
    for out in ["a", "b"] {
        scene.play(out, &["--session", "saltmarsh-exhibit"]);
    }
    let said = |args: &[&str]| {
        let output = scene.run(args);
        expect(&output, 0, &[]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    let (of_compare, of_report) = ("A and B are the same run folder", "is named more than once");
    for (other, is_same) in [("b", false), ("a", true), ("./a", true)] {
        for more in [&[][..], &["--json"]] {
            let compared = said(&[&["compare", "a", other], more].concat());
            assert_eq!(compared.contains(of_compare), is_same, "{compared}");
        }
        let report = said(&["report", "a", other]);
        assert_eq!(report.contains(of_report), is_same, "{report}");
    }
}

/// What runs differ in beside their agents, each once; nothing where they were asked in the same way.
#[tokio::test(flavor = "multi_thread")]
async fn how_the_agent_was_asked_is_told_beside_user_and_judge() {
    let scene = Scene::new();
    let server = server(play).await;
    let prompts = root().join("host/crates/engine/prompts/rubric.md");
    let prompts = std::fs::read_to_string(prompts).unwrap();
    let block = "{% block system %}\n";
    let own = prompts.replacen(block, &format!("{block}Be strict.\n"), 1);
    assert_ne!(own, prompts);
    scene.write("own/rubric.md", &own);
    let suite = crate::scene::short();
    let first = ["run", suite.to_str().unwrap()];
    let (agent, other) = ("openai/m", "openai/n");
    let roles = ["--agent", agent, "--user", other, "--judge", other];
    for (out, more) in [
        ("plain", &[][..]),
        ("again", &[]),
        ("seed", &["--seed", "9"]),
        ("warm", &["--temperature", "0.7"]),
        ("short", &["--max-output-tokens", "900"]),
        ("prompts", &["--prompts", "own"]),
    ] {
        let chosen = ["--session", "corrie-extension", "--runs", "1"];
        let args = [&first[..], &roles, &chosen, &["--out", out], more].concat();
        expect(&run(&scene, &args, &server), 0, &[]);
    }
    for (other, differ) in [
        ("again", None),
        ("seed", Some("`seed`")),
        ("warm", Some("the temperature of the agent's model")),
        (
            "short",
            Some("the output tokens that the agent's model may use"),
        ),
        ("prompts", Some("the prompts")),
    ] {
        let output = scene.run(&["compare", "plain", other, "--json"]);
        expect(&output, 0, &[]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = differ.map(|what| {
            format!(
                "Beside their agents the runs differ in {what}: what that makes out is part of the difference."
            )
        });
        let said: Vec<String> = said.into_iter().collect();
        assert_eq!(found["cautions"], json!(said), "{other}");
    }
}

#[test]
fn a_run_without_dependencies_is_called_so_with_what_is_left_out() {
    let scene = Scene::new();
    for out in ["whole", "again"] {
        scene.play(out, &["--agent", "reference"]);
    }
    let alone = ["--agent", "reference", "--ablate", "dependencies"];
    scene.play("alone", &alone);
    let sessions = first_persona().sessions;
    let all = sessions.len();
    let finals = sessions.iter().filter(|one| !one.depends_on.is_empty());
    let others = all - finals.count();
    assert!(others > 0);
    let said = |a: &str, b: &str, more: &[&str]| {
        let output = scene.run(&[&["compare", a, b], more].concat());
        expect(&output, 0, &[]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    for more in [&[][..], &["--json"]] {
        let (one, other) = (said("whole", "alone", more), said("alone", "whole", more));
        for (text, side, whole) in [(one, "B", "A"), (other, "A", "B")] {
            let without = format!("{side} was played without dependencies");
            assert!(text.contains(&without), "{text}");
            let left = format!("{others} of {whole}'s {all} sessions are left out");
            assert!(text.contains(&left), "{text}");
        }
        let alike = said("whole", "again", more);
        assert!(!alike.contains("without dependencies"), "{alike}");
        assert!(!alike.contains("left out"), "{alike}");
    }
}

#[test]
fn runs_under_another_protocol_are_not_compared() {
    let scene = Scene::new();
    scene.play("a", &[]);
    scene.play("b", &["--protocol", "pi-bench"]);
    expect(
        &scene.run(&["compare", "a", "b"]),
        3,
        &[
            "same suite under the same protocol",
            "`pibench-host report a b` shows them side by side",
        ],
    );
    expect(&scene.run(&["report", "a", "b"]), 0, &[]);
    expect(
        &scene.run(&["compare", "a", "nothing"]),
        3,
        &["manifest.json"],
    );
}
