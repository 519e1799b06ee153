//! Public data as strangers have it, through the program: keys that nobody knows, huge and broken files, one bad task among
//! many. What cannot be read is a line each, the rest is written and passes `check` in few words.

use std::process::Output;

use crate::scene::{Scene, expect};

const TASKS: usize = 19;

fn task(number: usize) -> String {
    format!(
        "schema_version: v2\ntask_id: t{number}\nuser_id: clerk\ntask_type: val\ntitle: Round {number}\n\
         trigger: {{type: env}}\nintent:\n  initial_input: Look around.\n  hidden_intent:\n    - content: Tell what is there.\n\
         objectives:\n  checklist:\n    - criterion: All of it is told.\n"
    )
}

fn path(number: usize) -> String {
    format!("source/data/clerk/tasks/t{number}/task.yaml")
}

/// A sound data set.
fn sound() -> Scene {
    let scene = Scene::new();
    let profile = "schema_version: v2\nuser_id: clerk\nrole: Keeps the registry.\n";
    scene.write("source/data/clerk/profile.yaml", profile);
    scene.write("source/data/clerk/tools.yaml", "tool_names: []\n");
    let ids: Vec<String> = (1..=TASKS).map(|n| format!("{{task_id: t{n}}}")).collect();
    let episode = format!(
        "schema_version: v2\nepisode_id: e\nuser_id: clerk\ntasks: [{}]\n",
        ids.join(", ")
    );
    scene.write("source/data/clerk/episode.yaml", &episode);
    for number in 1..=TASKS {
        scene.write(&path(number), &task(number));
    }
    scene
}

fn import(scene: &Scene) -> Output {
    scene.run(&["import", "pi-bench", "source", "--out", "suite"])
}

fn told(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8(all).unwrap()
}

#[test]
fn odd_tasks_are_a_line_each_and_the_others_are_written_and_played() {
    let scene = sound();
    scene.write(&path(3), "\u{1}: [");
    scene.write(&path(4), &"x: y\n".repeat(300_000));
    scene.write(
        &path(5),
        &format!(
            "a: &a [1, 1]\nb: {}1{}\n",
            "[".repeat(5000),
            "]".repeat(5000)
        ),
    );
    let bomb: Vec<String> = (1..30)
        .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1))
        .collect();
    let bomb = bomb.concat();
    scene.write(&path(6), &format!("a0: &a0 [x]\n{bomb}{}", task(6)));
    scene.write(
        &path(7),
        &task(7).replace("title: Round 7", "title: 'Round"),
    );
    scene.write(&path(8), &task(8).replace("v2", "v9"));
    scene.write(&path(9), &task(9).replace("title:", "color: blue\ntitle:"));
    scene.write(
        &path(10),
        &task(10).replace("title: Round 10", "title: 'Round\nand round'"),
    );
    std::fs::write(scene.path(&path(11)), [0xff, 0xfe, 0x00, 0x80]).unwrap();
    scene.write(
        "source/data/clerk/tools.yaml",
        "tool_names: []\nshelf: oak\n",
    );
    let output = import(&scene);
    expect(&output, 3, &["left out"]);
    let said = told(&output);
    for bad in [3, 4, 5, 6, 7, 8, 11] {
        let named = format!("clerk/tasks/t{bad}/task.yaml");
        let lines = said.lines().filter(|line| line.contains(&named));
        let lines: Vec<&str> = lines.collect();
        assert!(
            lines.len() == 1 && lines[0].contains("left out: "),
            "{lines:?}"
        );
        assert!(lines[0].len() < 500, "{lines:?}");
    }
    assert!(
        said.contains("left out: clerk/tools.yaml: shelf: no key of the format"),
        "{said}"
    );
    assert!(!said.contains('\u{1}'), "{said}");
    let kept = scene.path("suite/personas/clerk/sessions/t9/session.toml");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains("color = \"blue\""), "{kept}");
    let written = scene.path("suite/personas/clerk/sessions");
    assert_eq!(std::fs::read_dir(written).unwrap().count(), TASKS - 7);
    let run = ["run", "suite/suite.toml", "--agent", "nop", "--out", "run"];
    expect(&scene.run(&run), 0, &[]);
}

#[test]
fn a_user_without_a_file_is_left_out_by_name_and_the_others_are_written() {
    let scene = sound();
    let of_anna = |file: &str, text: &str| {
        let text = format!("schema_version: v2\nuser_id: anna\n{text}");
        scene.write(&format!("source/data/anna/{file}.yaml"), &text);
    };
    of_anna("profile", "role: Files.\n");
    of_anna("episode", "episode_id: a\ntasks: [{task_id: a1}]\n");
    let output = import(&scene);
    expect(&output, 3, &["left out"]);
    let said = told(&output);
    assert!(
        said.contains("left out: anna: the user with all tasks, for want of that file"),
        "{said}"
    );
    assert!(scene.path("suite/personas/clerk").exists());
}

#[test]
fn what_check_says_of_nineteen_imported_sessions_is_grouped() {
    let scene = sound();
    expect(&import(&scene), 0, &[]);
    let output = scene.run(&["check", "suite"]);
    let said = told(&output);
    let words = said.lines().take_while(|line| !line.starts_with("persona"));
    let words: Vec<&str> = words.filter(|line| line.contains("session.toml")).collect();
    assert!((1..=8).contains(&words.len()), "{said}");
    assert!(
        words.iter().any(|line| line.contains(&TASKS.to_string())),
        "{said}"
    );
}

#[test]
fn of_a_data_set_without_a_persona_that_can_be_read_nothing_is_written() {
    let scene = sound();
    scene.write("source/data/clerk/profile.yaml", "role: [");
    let output = import(&scene);
    expect(&output, 3, &["clerk/profile.yaml"]);
    assert!(!scene.path("suite").exists(), "something was written");
}
