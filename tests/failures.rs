//! What lay behind missed intents, told from the record alone.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::scaffold::{RUN, calls, play, suite, text};
use crate::scene::{Scene, expect};

/// The line of the only run in the sheet of failure patterns, as words, by column.
fn line(scene: &Scene) -> Vec<String> {
    let output = scene.run(&["report", "run", "--format", "json"]);
    expect(&output, 0, &[]);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut sheets = all["tables"].as_array().unwrap().iter();
    let sheet = sheets.find(|sheet| sheet["id"] == "failures");
    let sheet = sheet.unwrap_or_else(|| panic!("no such sheet: {all}"));
    let cells = sheet["rows"][0]["cells"].as_array().unwrap().iter();
    let word = |cell: &Value| match &cell["words"] {
        Value::String(words) => words.clone(),
        _ => cell["count"].to_string(),
    };
    cells.skip(1).map(word).collect()
}

/// Two sessions, each with an intent that is missed: one that only a question brings out, one that stands in a file and in
/// the session before. The agent writes a file in the first, and makes these calls in the second.
async fn missed(second: &'static [(&'static str, &'static str)]) -> Vec<String> {
    let scene = Scene::new();
    suite(&scene, "", "");
    let place = |session: &str, found_in: &str| {
        let path = format!("tasks/p/sessions/{session}/session.toml");
        let intent = "content = \"In blue.\"\n";
        scene.replace(&path, intent, &format!("{intent}found_in = [{found_in}]\n"));
    };
    place("one", "{ kind = \"question\" }");
    let file = "{ kind = \"file\", path = \"a.md\", quote = \"as the sea is\" }";
    let session = "{ kind = \"session\", session = \"one\", intent = \"i\" }";
    place(
        "two",
        &format!("{file}, {session}, {{ kind = \"question\" }}"),
    );
    scene.write("tasks/p/sessions/two/a.md", "Paint it\nas the\nsea is.\n");
    let two = "tasks/p/sessions/two/session.toml";
    scene.replace(
        two,
        "[[intents]]",
        "files = [{ source = \"a.md\" }]\n[[intents]]",
    );
    let args = [&RUN[..], &["--user", "lexical", "--judge", "lexical"]].concat();
    let output = play(&scene, &args, move |asked| {
        let answered = asked.messages.last().unwrap()["role"] == "tool";
        if answered || asked.any("In blue.") {
            text("Done.")
        } else if asked.any("Request one.") {
            calls(&[("write_file", json!({ "path": "b.md", "content": "x" }))])
        } else if second.is_empty() {
            text("Here.")
        } else {
            let made = second
                .iter()
                .map(|(tool, path)| (*tool, json!({ "path": path })));
            calls(&made.collect::<Vec<_>>())
        }
    })
    .await;
    expect(&output, 0, &[]);
    line(&scene)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_intent_is_told_with_its_places_and_whether_the_agent_had_opened_one() {
    let counts = ["2 of 2", "1", "1", "0", "0", "1", "0"];
    let check = |line: Vec<String>, opened: &str, unlooked: &str| {
        assert_eq!(line[..7], counts);
        assert_eq!(line[7..], [opened, "0", "0 of 0", unlooked]);
    };
    check(missed(&[]).await, "0 of 1", "1 of 1");
    check(missed(&[("read_file", "a.md")]).await, "1 of 1", "1 of 1");
    // A file of the session before opens that session, and is no look at it there.
    check(missed(&[("read_file", "b.md")]).await, "1 of 1", "1 of 1");
    check(
        missed(&[("read_file", "none.md")]).await,
        "0 of 1",
        "1 of 1",
    );
}

/// A run whose second session brings a note with this key, and how often its model was asked.
async fn with_note(key: &str) -> (Output, usize) {
    let scene = Scene::new();
    let person = "tools = [\"simple_note__*\"]\npeople = [{ first_name = \"Ada\", last_name = \"P\", \
        email = \"ada@p.example\", password = \"x\" }]";
    suite(&scene, "", person);
    let two = "tasks/p/sessions/two/session.toml";
    let file = std::fs::read_to_string(scene.path(two)).unwrap();
    let note = format!(
        "[[apps.simple_note.notes]]\nowner = \"ada@p.example\"\ntitle = \"T\"\n\
         created_at = \"2026-03-02T12:00:00\"\n{key} = \"y\"\n"
    );
    scene.write(two, &(file + &note));
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let args = [&RUN[..], &["--user", "lexical", "--judge", "lexical"]].concat();
    let output = play(&scene, &args, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        text("Done.")
    })
    .await;
    (output, asked.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_an_app_refuses_end_a_run_before_its_first_turn_and_others_do_not() {
    let (refused, asked) = with_note("contnt").await;
    let said = "begin p/two: failed to open app `simple_note`: notes[0]: unknown field `contnt`";
    expect(&refused, 3, &[said]);
    assert_eq!(asked, 0);
    let (granted, asked) = with_note("content").await;
    expect(&granted, 0, &[]);
    assert!(asked > 0);
}

#[test]
fn the_reference_misses_nothing_and_who_works_too_late_misses_all() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let reference = line(&scene);
    assert!(reference[0].starts_with("0 of "), "{reference:?}");
    assert_eq!(reference[7], "0 of 0");
    std::fs::rename(scene.path("run"), scene.path("reference")).unwrap();
    scene.play("run", &["--agent", "reactive"]);
    let reactive = line(&scene);
    let (missed, of) = reactive[0].split_once(" of ").unwrap();
    assert_eq!(missed, of);
    assert!(
        reactive[7].starts_with("0 of ") && reactive[7] != "0 of 0",
        "{reactive:?}"
    );
    let (yet, whole) = reactive[9].split_once(" of ").unwrap();
    assert!(yet == whole && whole != "0", "{reactive:?}");
}
