//! A finished run verifies; with any byte changed it does not.

use serde_json::Value;

use crate::scene::{Scene, copy, expect, files, first_persona};

#[test]
fn a_finished_run_verifies() {
    let scene = Scene::new();
    let sessions = format!("{} sessions", 2 * first_persona().sessions.len());
    for (agent, protocol) in [
        ("reference", "paper"),
        ("reactive", "paper"),
        ("cheat", "pi-bench"),
    ] {
        let out = format!("{agent}-{protocol}");
        scene.play(
            &out,
            &["--agent", agent, "--protocol", protocol, "--runs", "2"],
        );
        let output = scene.run(&["verify", &out]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(
            said.contains(&sessions) && said.contains("every score follows"),
            "{said}"
        );
    }
}

/// One byte in the middle of every file, and one more at the end of the seal, which nothing else covers.
#[test]
fn a_changed_byte_in_any_file_is_found() {
    let scene = Scene::new();
    scene.play("run", &["--session", "saltmarsh-exhibit"]);
    let proved = |name: &str| !["lock", "log.jsonl"].contains(&name);
    let mut changed = Vec::new();
    for (name, mut content) in files(&scene.path("run")) {
        if name == "seal.json" {
            changed.push((name.clone(), [&content[..], b" "].concat()));
        }
        if proved(&name) {
            let middle = content.len() / 2;
            content[middle] ^= 1;
            changed.push((name, content));
        }
    }
    let mut tried = 0;
    for (name, content) in changed {
        let copied = scene.path("copy");
        let _ = std::fs::remove_dir_all(&copied);
        copy(&scene.path("run"), &copied);
        std::fs::write(copied.join(&name), content).unwrap();
        let output = scene.run(&["verify", "copy"]);
        assert_ne!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        tried += 1;
    }
    assert!(tried > 8, "{tried}");
}

/// A forged journal whose hashes are right again is found by its content.
#[test]
fn a_score_that_does_not_follow_is_found() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop"]);
    let path = scene.path("run/journal/law_trainee.r1.jsonl");
    let mut previous = blake3::hash(b"");
    let mut forged = String::new();
    for line in std::fs::read_to_string(&path).unwrap().lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["prev"] = previous.to_hex().as_str().into();
        if event["event"] == "session_finished" {
            event["proc"] = 1.0.into();
            for intent in event["intents"].as_array_mut().unwrap() {
                intent["status"] = "completed".into();
            }
        }
        let text = event.to_string();
        previous = blake3::hash(text.as_bytes());
        forged.push_str(&text);
        forged.push('\n');
    }
    std::fs::write(&path, forged).unwrap();
    let output = scene.run(&["verify", "run"]);
    expect(&output, 3, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("do not follow from its turns"), "{said}");
}
