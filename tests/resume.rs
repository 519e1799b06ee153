//! A run that was cut off anywhere goes on, and ends with the same bytes as one that was not.

use std::path::Path;

use crate::scene::{Scene, copy, expect, files, short};

/// Every way to cut the journal: after each line, and in the middle of each.
fn cuts(journal: &[u8]) -> Vec<usize> {
    let ends = journal
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.collect();
    let middles = ends.iter().map(|end| end - 20);
    let mut cuts: Vec<usize> = middles.chain(ends.iter().copied()).collect();
    cuts.sort_unstable();
    cuts
}

fn journal_of(run: &Path) -> std::path::PathBuf {
    run.join("journal/law_trainee.r1.jsonl")
}

#[test]
fn a_run_cut_anywhere_ends_with_the_same_bytes() {
    let scene = Scene::new();
    for agent in ["reference", "reactive"] {
        // One group and a session by itself: what is tried grows with the square of what is played.
        let few = [
            "--session",
            "saltmarsh-statement",
            "--session",
            "corrie-extension",
        ];
        scene.play(agent, &[&["--agent", agent][..], &few].concat());
        let whole = scene.path(agent);
        let journal = std::fs::read(journal_of(&whole)).unwrap();
        let results = std::fs::read(whole.join("results.json")).unwrap();
        for cut in cuts(&journal) {
            let name = format!("{agent}-{cut}");
            let run = scene.path(&name);
            copy(&whole, &run);
            std::fs::remove_file(run.join("results.json")).unwrap();
            std::fs::write(journal_of(&run), &journal[..cut]).unwrap();
            // What a killed process had written after its last line must not count.
            std::fs::write(run.join("workspaces/law_trainee.r1/stray.md"), "stray").unwrap();
            expect(&scene.run(&["run", "--resume", &name, "--json"]), 0, &[]);
            assert!(
                std::fs::read(journal_of(&run)).unwrap() == journal,
                "{agent} cut at {cut}"
            );
            assert!(
                std::fs::read(run.join("results.json")).unwrap() == results,
                "{agent} cut at {cut}"
            );
            let workspaces = |run: &Path| files(&run.join("workspaces"));
            assert!(
                cut == journal.len() || workspaces(&run) == workspaces(&whole),
                "{agent} cut at {cut}"
            );
        }
    }
}

#[test]
fn a_changed_suite_cannot_be_gone_on_with() {
    let scene = Scene::new().with_short();
    expect(
        &scene.run(&["run", "tasks/suite.toml", "--out", "run", "--json"]),
        0,
        &[],
    );
    scene.replace(
        "tasks/suite.toml",
        "seed = 1",
        "seed = 1\nstate.reset = \"session\"",
    );
    expect(
        &scene.run(&["run", "--resume", "run"]),
        3,
        &["changed since it was begun: the suite's `state.reset`"],
    );
}

#[test]
fn a_suite_beside_a_run_that_is_gone_on_with_is_refused() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let suite = short();
    for command in ["run", "serve"] {
        let output = scene.run(&[command, suite.to_str().unwrap(), "--resume", "run"]);
        expect(
            &output,
            2,
            &[
                "goes on with the suite that it was begun with",
                "leave out ",
            ],
        );
    }
}

#[test]
fn a_damaged_journal_is_named_with_its_line() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let path = journal_of(&scene.path("run"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"turn\":1", "\"turn\":7", 1)).unwrap();
    expect(
        &scene.run(&["run", "--resume", "run"]),
        3,
        &["law_trainee.r1.jsonl:", "was changed after"],
    );
}

#[test]
fn an_existing_folder_is_refused_with_the_command_to_use() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let suite = crate::scene::short();
    let output = scene.run(&["run", suite.to_str().unwrap(), "--out", "run"]);
    expect(&output, 4, &["pibench-host run --resume run"]);
}

#[test]
fn a_disk_that_takes_nothing_more_is_told_with_the_command_that_goes_on() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let run = scene.path("run");
    let place = run.join("trajectories/law_trainee.r1");
    let journal = std::fs::read_to_string(journal_of(&run)).unwrap();
    let first = journal.split_inclusive('\n').next().unwrap();
    std::fs::write(journal_of(&run), first).unwrap();
    std::fs::remove_file(run.join("results.json")).unwrap();
    // No folder can be made where a file is.
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::write(&place, "").unwrap();
    let resume = ["run", "--resume", "run"];
    let said = [
        "error: failed to ",
        "/run (how far it is: pibench-host show ",
        "go on with: pibench-host run --resume ",
    ];
    expect(&scene.run(&resume), 4, &said);
    std::fs::remove_file(&place).unwrap();
    expect(&scene.run(&resume), 0, &[]);
    assert_eq!(std::fs::read_to_string(journal_of(&run)).unwrap(), journal);
}

#[test]
fn a_second_process_is_kept_out() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let lock = std::fs::File::options()
        .write(true)
        .open(scene.path("run/lock"))
        .unwrap();
    lock.lock().unwrap();
    expect(
        &scene.run(&["run", "--resume", "run"]),
        4,
        &["another process works on it"],
    );
    lock.unlock().unwrap();
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
}
