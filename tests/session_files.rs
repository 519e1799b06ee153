//! One workspace in a session: what the shell writes the file tools read, and a picture is shown to the model.

use serde_json::{Value, json};

use crate::scaffold::{RUN, calls, play, suite, text, turns};
use crate::scene::{Scene, expect};

/// The steps of the first turn.
fn steps(scene: &Scene) -> Vec<Value> {
    turns(scene)[0]["steps"].as_array().unwrap().clone()
}

/// Plays a session in which the agent makes these calls, one answer for each list.
async fn session(scene: &Scene, answers: Vec<Vec<(&'static str, Value)>>) {
    suite(scene, "", "");
    let output = play(scene, &RUN, move |asked| {
        if !asked.any("Request one.") || asked.any("In blue.") {
            return text("Noted.");
        }
        let given = asked
            .messages
            .iter()
            .filter(|message| message["role"] == "assistant");
        match answers.get(given.count()) {
            Some(answer) => calls(answer),
            None => text("Done."),
        }
    })
    .await;
    expect(&output, 0, &[]);
}

/// What the shell and the file tools do, and what they are refused.
fn deeds() -> Vec<(&'static str, Value)> {
    vec![
        (
            "write_file",
            json!({ "path": "notes/a.txt", "content": "one\ntwo\n" }),
        ),
        (
            "exec",
            json!({ "command": "tr a-z A-Z < a.txt > b.txt; wc -l *.txt", "working_dir": "notes" }),
        ),
        ("read_file", json!({ "path": "notes/b.txt" })),
        (
            "exec",
            json!({ "command": "cat /etc/passwd; echo $RANDOM; date" }),
        ),
        ("exec", json!({ "command": "while :; do echo x; done" })),
        ("exec", json!({ "command": "pwd", "working_dir": "../" })),
        ("exec", json!({ "command": "pwd", "working_dir": "none" })),
        ("exec", json!({ "command": "pwd", "timeout": 601 })),
        ("exec", json!({ "command": "echo on" })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_and_the_file_tools_work_on_the_same_files() {
    let scene = Scene::new();
    session(&scene, vec![deeds()]).await;
    let steps = steps(&scene);
    let call = |place: usize| {
        let record = &steps[place]["record"];
        let read = |key: &str| record[key].as_str().unwrap().to_owned();
        (read("status"), read("result"))
    };
    assert_eq!(call(2).1, " 2 a.txt\n 2 b.txt\n 4 total\nExit code: 0");
    assert_eq!(call(3).1, "1| ONE\n2| TWO\n(lines 1-2 of 2; end of file)");
    let (status, result) = call(4);
    assert_eq!(status, "ok");
    assert!(
        result.contains("STDERR:\n") && result.contains("No such file"),
        "{result}"
    );
    assert!(
        result.contains("2026") && !result.contains("root:"),
        "{result}"
    );
    let (_, result) = call(5);
    assert!(
        result.ends_with(
            "The command was stopped: maximum command count exceeded (200000)\nExit code: 137"
        ),
        "{result}"
    );
    for (place, said) in [
        (6, "is not accepted"),
        (7, "failed to find none"),
        (8, "timeout"),
    ] {
        let (status, result) = call(place);
        assert!(
            status == "tool_error" && result.contains(said),
            "{status}: {result}"
        );
    }
    assert_eq!(call(9).1, "on\nExit code: 0");
    let played = turns(&scene);
    let changed: Vec<&str> = played[0]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    assert!(
        changed.contains(&"notes/a.txt") && changed.contains(&"notes/b.txt"),
        "{changed:?}"
    );
    let again = Scene::new();
    session(&again, vec![deeds()]).await;
    assert_eq!(
        turns(&again),
        turns(&scene),
        "the same session gives the same record"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_eyes_is_told_so_and_goes_on() {
    let scene = Scene::new();
    let blind = "[models.blind]\nprovider = \"openai\"\nmodel = \"m\"\nvision = false\n";
    suite(&scene, blind, "");
    let output = play(&scene, &RUN, |asked| {
        let no_picture = |message: &Value| !message["content"].is_array();
        assert!(asked.messages.iter().all(no_picture), "a picture was sent");
        if asked
            .last()
            .contains("pictures cannot be shown to this model")
        {
            return text("I cannot see it.");
        }
        if asked.last().contains("Exit code: 0") {
            return calls(&[("read_file", json!({ "path": "a.png" }))]);
        }
        if asked.last().contains("Request one.") {
            return calls(&[(
                "exec",
                json!({ "command": "echo iVBORw0KGgoA | base64 -d > a.png" }),
            )]);
        }
        text("Noted.")
    })
    .await;
    // `openai/m` has the habits of the entry for the same model.
    expect(&output, 0, &[]);
    let kinds: Vec<String> = steps(&scene)
        .iter()
        .map(|step| step["step"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["reply", "call", "reply", "call", "reply"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_shown_behind_the_results() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        let parts = asked
            .messages
            .iter()
            .rev()
            .find_map(|message| message["content"].as_array());
        if let Some(parts) = parts {
            assert_eq!(asked.messages.last().unwrap()["role"], "user");
            let url = parts[1]["image_url"]["url"].as_str().unwrap();
            assert_eq!(url, "data:image/png;base64,iVBORw0KGgoA");
            return text("I see it.");
        }
        if asked.last().contains("Exit code: 0") {
            return calls(&[
                ("read_file", json!({ "path": "a.png" })),
                ("list_dir", json!({ "path": "." })),
            ]);
        }
        if asked.last().contains("Request one.") {
            return calls(&[(
                "exec",
                json!({ "command": "echo iVBORw0KGgoA | base64 -d > a.png" }),
            )]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let steps = steps(&scene);
    let kinds: Vec<&str> = steps
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["reply", "call", "reply", "call", "call", "picture", "reply"]
    );
    assert_eq!(
        steps[3]["record"]["result"],
        "(a.png is a picture, image/png, 9 bytes; it is shown to you next)"
    );
    assert_eq!(steps[5]["path"], "a.png");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_sleeps_too_long_ends_with_124_and_the_session_goes_on() {
    let scene = Scene::new();
    let deeds = vec![
        vec![(
            "exec",
            json!({ "command": "echo kept > a.txt; sleep 1h; echo never > a.txt", "timeout": 30 }),
        )],
        vec![("exec", json!({ "command": "cat a.txt" }))],
    ];
    session(&scene, deeds).await;
    let steps = steps(&scene);
    let result = |place: usize| {
        steps[place]["record"]["result"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let slept = result(1);
    assert!(
        slept.contains("waited longer than its 30 s") && slept.ends_with("Exit code: 124"),
        "{slept}"
    );
    assert_eq!(result(3), "kept\nExit code: 0");
    let turns = turns(&scene);
    assert!(turns[0]["faults"].is_null(), "{}", turns[0]["faults"]);
    assert_eq!(
        turns.last().unwrap()["session"],
        "two",
        "it goes on to its end"
    );
}

/// The agent makes a folder where the next session's file goes, and files where the scaffold has folders.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_leaves_in_the_way_gets_another_name_and_a_free_way_is_left_alone() {
    for in_the_way in [true, false] {
        let scene = Scene::new();
        suite(&scene, "", "");
        let second = "tasks/p/sessions/two/session.toml";
        let session = std::fs::read_to_string(scene.path(second)).unwrap();
        let files = "[[files]]\nsource = \"plan.md\"\n";
        scene.write(second, &(session + files));
        scene.write("tasks/p/sessions/two/plan.md", "The plan.");
        let command = if in_the_way {
            "mkdir -p plan.md empty; echo own > plan.md/a.txt; rm -rf memory skills; touch memory skills"
        } else {
            "mkdir -p empty; echo own > a.txt"
        };
        let output = play(&scene, &RUN, move |asked| {
            if asked.messages.len() == 2 && asked.any("Request one.") {
                return calls(&[("exec", json!({ "command": command }))]);
            }
            text("In blue.")
        })
        .await;
        expect(&output, 0, &[]);
        let workspace = scene.path("run/workspaces/p.r1");
        let read = |path: &str| std::fs::read_to_string(workspace.join(path)).ok();
        assert_eq!(read("plan.md").as_deref(), Some("The plan."));
        let moved = read("plan.md.before/a.txt");
        assert_eq!(moved.as_deref(), in_the_way.then_some("own\n"));
        assert_eq!(read("memory.before").is_some(), in_the_way);
        assert!(read("memory/HISTORY.md").is_some());
        let journal = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
        assert!(journal.contains("\"folders\":[\"empty\""), "{journal}");
        expect(&scene.run(&["verify", "run"]), 0, &[]);
    }
}
