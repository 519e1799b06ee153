//! What apps share, and only through the host: a mail attaches a file of the file system app where the policy lets it;
//! under the rules of the released code lists leave nothing out.

use serde_json::Value;

use crate::scene::{Scene, stderr};

/// Writes a file, mails it, and searches the notes.
const WORK: &str = r#"
[[reference]]
tool = "file_system__login"
save = "files"
arguments = { username = "ida@vale.example", password = "tide-17-lamp" }

[[reference]]
tool = "file_system__create_file"
arguments = { access_token = "{{files.access_token}}", file_path = "~/plan.txt", content = "Movers at eight." }

[[reference]]
tool = "gmail__login"
save = "mail"
arguments = { username = "ida@vale.example", password = "tide-17-lamp" }

[[reference]]
tool = "gmail__send_email"
arguments = { access_token = "{{mail.access_token}}", email_addresses = ["ida@vale.example"], subject = "Plan", body = "Here.", attachment_file_paths = ["PATH"], file_system_access_token = "{{files.access_token}}" }

[[reference]]
tool = "simple_note__login"
save = "notes"
arguments = { username = "ida@vale.example", password = "tide-17-lamp" }

[[reference]]
tool = "simple_note__search_notes"
arguments = { access_token = "{{notes.access_token}}", query = "harbour" }

[[reference]]
tool = "read_file""#;

const NOTES: &str = r#"
tools = ["file_system__*", "gmail__*", "simple_note__*"]
world = false

[[apps.simple_note.notes]]
owner = "ida@vale.example"
title = "Harbour"
content = "Berth nine."

[[apps.simple_note.notes]]
owner = "ida@vale.example"
title = "Timber"
content = "Two loads."

[[people]]"#;

/// The calls of a session of this work, with more arguments of `run`.
fn calls(path: &str, policy: &str, args: &[&str]) -> Vec<Value> {
    let scene = Scene::new();
    let made = scene.run(&["suite", "new", "suite"]);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let work = WORK.replace("PATH", path);
    scene.replace(
        "suite/personas/first/sessions/first/session.toml",
        "\n[[reference]]\ntool = \"read_file\"",
        &work,
    );
    scene.replace("suite/personas/first/persona.toml", "\n[[people]]", NOTES);
    scene.write("policy.toml", policy);
    let run = [
        "run",
        "suite/suite.toml",
        "--out",
        "run",
        "--policy",
        "policy.toml",
    ];
    let output = scene.run(&[&run, args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let file = scene.path("run/trajectories/first.r1/first.json");
    let trajectory: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut calls = Vec::new();
    collect(&trajectory, &mut calls);
    calls
}

/// Every call of a trajectory, wherever it stands: an object with a tool and a result.
fn collect(value: &Value, calls: &mut Vec<Value>) {
    match value {
        Value::Object(fields) if fields.contains_key("tool") && fields.contains_key("result") => {
            calls.push(value.clone());
        }
        Value::Object(fields) => fields.values().for_each(|value| collect(value, calls)),
        Value::Array(values) => values.iter().for_each(|value| collect(value, calls)),
        _ => {}
    }
}

#[track_caller]
fn result(calls: &[Value], tool: &str) -> String {
    let call = calls.iter().find(|call| call["tool"] == tool);
    call.unwrap_or_else(|| panic!("{tool} is not among {calls:?}"))["result"].to_string()
}

#[test]
fn a_mail_attaches_a_file_of_the_file_system_app_where_the_policy_lets_it() {
    let open = "version = 1\n";
    let sent = result(&calls("~/plan.txt", open, &[]), "gmail__send_email");
    assert!(sent.contains("The email is sent."), "{sent}");

    let closed = "version = 1\n[plugins.gmail]\ngrants = [\"clock\", \"random\", \"log\"]\n";
    let denied = result(&calls("~/plan.txt", closed, &[]), "gmail__send_email");
    assert!(
        denied.contains("the file system app is not connected"),
        "{denied}"
    );

    let granted = "version = 1\n[plugins.gmail]\ngrants = [\"clock\", \"random\", \"log\", \"attachments\"]\n";
    let sent = result(&calls("~/plan.txt", granted, &[]), "gmail__send_email");
    assert!(sent.contains("The email is sent."), "{sent}");

    let missing = result(&calls("~/none.txt", open, &[]), "gmail__send_email");
    assert!(
        missing.contains("~/none.txt cannot be attached: There is no file"),
        "{missing}"
    );
}

#[test]
fn a_query_leaves_out_what_does_not_match_but_under_the_released_rules() {
    let policy = "version = 1\n";
    let found = result(
        &calls("~/plan.txt", policy, &[]),
        "simple_note__search_notes",
    );
    assert!(
        found.contains("Harbour") && !found.contains("Timber"),
        "{found}"
    );

    let released = ["--protocol", "pi-bench"];
    let found = result(
        &calls("~/plan.txt", policy, &released),
        "simple_note__search_notes",
    );
    let at = |title| {
        found
            .find(title)
            .unwrap_or_else(|| panic!("{title}: {found}"))
    };
    assert!(at("Harbour") < at("Timber"));
}
