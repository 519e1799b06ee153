//! Power cuts at every change that a run asks of its file system, which is one of the test's own: it forgets what was not
//! synced. What is left is gone on with, to the bytes of a run that was never cut.

mod disk;
mod mount;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use crate::models::{play as answer, run, server};
use crate::parts::comparable;
use crate::scene::{Scene, expect};

use disk::{Change, Disk, Luck, Tree};
use mount::{Mount, mounts};

/// A persona with two short sessions, in which files are made.
fn write_suite(scene: &Scene) {
    let persona = "version = 1\nid = \"p\"\nname = \"Ada Quill\"\nprofile = \"A clerk.\"\n\
                   [[episode]]\nsession = \"one\"\n[[episode]]\nsession = \"two\"\n";
    scene.write(
        "two/suite.toml",
        "version = 1\nid = \"two\"\npersonas = [\"p\"]\n",
    );
    scene.write("two/p/persona.toml", persona);
    for id in ["one", "two"] {
        let session = format!(
            r#"version = 1
id = "{id}"
title = "Shelves"
clock = 2026-03-02T09:00:00
request = "Sort them."
[[intents]]
id = "colour"
content = "By colour."
[intents.satisfied]
all = [['by colour']]
[[intents]]
id = "red"
content = "The red ones first."
[intents.satisfied]
all = [['red first']]
[[reference]]
tool = "write_file"
arguments = {{ path = "{id}.md", content = "By colour, red first." }}
[[reference]]
say = "They are sorted by colour, red first."
"#
        );
        scene.write(&format!("two/p/sessions/{id}/session.toml"), &session);
    }
}

/// A task of a scheduler: begins a part that is not there, and goes on with one that is.
fn play(scene: &Scene, all: &str) -> Output {
    let begin = ["run", "two/suite.toml", "--agent", "reactive", "--sync"];
    let into = [
        "--runs", "1", "--jobs", "1", "--shard", "auto", "--out", all,
    ];
    let task = ["ID", "MIN", "MAX"].map(|what| format!("SLURM_ARRAY_TASK_{what}"));
    let task = task.each_ref().map(|name| (name.as_str(), "1"));
    scene.run_with(&[&begin[..], &into].concat(), &task)
}

/// Gives whatever a cut of the power can leave, each once, and when. Lines that the program went by are there in each.
fn each_left(changes: &[Change], mut take: impl FnMut(String, Tree)) {
    let (mut disk, mut seen) = (Disk::new(), BTreeSet::new());
    let mut promised = BTreeMap::new();
    for (number, change) in changes.iter().enumerate() {
        disk.does(change);
        // It goes by it from now on that these lines are there.
        if let Change::Sync(node) = change
            && let Some(path) = disk.path(*node)
            && path.contains("/journal/")
        {
            let path = path.trim_start_matches('/').to_owned();
            promised.insert(path, lines(&disk.node(*node).bytes));
        }
        for luck in [Luck::Nothing, Luck::Names] {
            let cut = format!("cut after change {number}, {luck:?} of what was not synced");
            let tree = disk.left(luck);
            for (path, promised) in &promised {
                let there = tree.get(path).and_then(Option::as_deref).map_or(0, lines);
                assert!(
                    there >= *promised,
                    "{cut}: {there} of {promised} lines in {path}"
                );
            }
            if seen.insert(*hash(&tree).as_bytes()) {
                take(cut, tree);
            }
        }
    }
}

fn hash(tree: &Tree) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in tree {
        hasher.update(path.as_bytes()).update(&[0]);
        hasher.update(bytes.as_deref().unwrap_or(b"a folder"));
    }
    hasher.finalize()
}

fn lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

fn put(tree: &Tree, dir: &Path) {
    std::fs::create_dir(dir).unwrap();
    for (path, bytes) in tree {
        match bytes {
            None => std::fs::create_dir(dir.join(path)).unwrap(),
            Some(bytes) => std::fs::write(dir.join(path), bytes).unwrap(),
        }
    }
}

/// Goes on with what is left; it has to become the whole.
fn go_on(scene: &Scene, place: &str, cut: &str, tree: &Tree, whole: &[(String, Vec<u8>)]) {
    put(tree, &scene.path(place));
    let output = play(scene, &format!("{place}/all"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{cut}: {said}");
    let found = comparable(scene, &format!("{place}/all/part-1"));
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&found), names(whole), "{cut}");
    assert!(found == whole, "{cut}");
    std::fs::remove_dir_all(scene.path(place)).unwrap();
}

#[test]
fn a_synced_run_whose_power_is_cut_at_any_change_loses_nothing_that_was_done() {
    if !mounts() {
        return;
    }
    let scene = Scene::new();
    write_suite(&scene);
    expect(&play(&scene, "whole/all"), 0, &[]);
    let whole = comparable(&scene, "whole/all/part-1");
    let mount = Mount::new(None).unwrap();
    let all = mount.path.join("all");
    expect(&play(&scene, all.to_str().unwrap()), 0, &[]);
    let changes = mount.changes();
    // When the program has said that it is done, nothing is left to be played.
    let mut disk = Disk::new();
    for change in &changes {
        disk.does(change);
    }
    put(&disk.left(Luck::Nothing), &scene.path("done"));
    assert!(comparable(&scene, "done/all/part-1") == whole);

    let mut number = 0;
    std::thread::scope(|scope| {
        let (sender, left) = sync_channel::<(usize, String, Tree)>(2);
        let left = Arc::new(Mutex::new(left));
        for _ in 0..2 {
            let (scene, whole, left) = (&scene, &whole, Arc::clone(&left));
            scope.spawn(move || {
                loop {
                    let next = left.lock().unwrap().recv();
                    let Ok((number, cut, tree)) = next else { break };
                    go_on(scene, &format!("cut{number}"), &cut, &tree, whole);
                }
            });
        }
        // Those who go on have failed where they do not take it.
        drop(left);
        each_left(&changes, |cut, tree| {
            number += 1;
            sender.send((number, cut, tree)).unwrap();
        });
    });
    println!("{} changes leave {number} folders", changes.len());
    // The same with a process that is killed at the change.
    for part in 1..8 {
        let cut = changes.len() * part / 8;
        let mount = Mount::new(Some(cut)).unwrap();
        let all = mount.path.join("all");
        let killed = play(&scene, all.to_str().unwrap());
        assert_eq!(killed.status.signal(), Some(9), "at change {cut}");
        let changes = mount.changes();
        assert_eq!(changes.len(), cut);
        let mut disk = Disk::new();
        for change in &changes {
            disk.does(change);
        }
        let left = disk.left(Luck::Nothing);
        go_on(&scene, &format!("killed{part}"), "killed", &left, &whole);
    }
}

/// How often a run syncs on such a file system, and lines that a journal has.
fn syncs(mount: Mount) -> (usize, usize) {
    let changes = mount.changes();
    let mut disk = Disk::new();
    let mut syncs = 0;
    for change in &changes {
        disk.does(change);
        syncs += usize::from(matches!(change, Change::Sync(_)));
    }
    let tree = disk.left(Luck::Nothing);
    let journals = tree.iter().filter(|(path, _)| path.contains("journal/"));
    let written = journals.map(|(_, bytes)| bytes.as_deref().map_or(0, lines));
    (syncs, written.sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_models_play_is_synced_and_what_is_scripted_is_not() {
    if !tokio::task::block_in_place(mounts) {
        return;
    }
    let scene = Scene::new();
    write_suite(&scene);
    let begin = ["run", "two/suite.toml", "--runs", "1", "--no-preflight"];
    let played = async |players: &[&str]| {
        let mount = tokio::task::block_in_place(|| Mount::new(None)).unwrap();
        let out = mount.path.join("run").to_str().unwrap().to_owned();
        let args = [&begin[..], players, &["--out", &out]].concat();
        expect(&run(&scene, &args, &server(answer).await), 0, &[]);
        tokio::task::block_in_place(|| syncs(mount))
    };
    let patterns = ["--user", "lexical", "--judge", "lexical", "--agent"];
    let (synced, lines) = played(&[&patterns[..], &["openai/m"]].concat()).await;
    // Each line at least, and more than one of the names that it needs.
    assert!(
        lines > 2 && synced > 2 * lines,
        "{synced} for {lines} lines"
    );
    let (scripted, _) = played(&[&patterns[..], &["reference"]].concat()).await;
    assert_eq!(scripted, 0);
}
