//! Run folders that cannot be written, are damaged, or may only be looked at: a clear error, and what was written stays
//! readable. Nothing here depends on permissions, which do not bind whoever runs as root.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use pibench_record::journal;

use crate::scene::{Scene, expect, files, first_persona, output, short};

const JOURNAL: &str = "run/journal/law_trainee.r1.jsonl";

/// A run that was cut in its middle, and the whole journal.
fn half(scene: &Scene) -> Vec<u8> {
    scene.play("run", &["--agent", "reactive"]);
    let whole = fs::read(scene.path(JOURNAL)).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    fs::write(scene.path(JOURNAL), lines[..lines.len() / 2].concat()).unwrap();
    fs::remove_file(scene.path("run/results.json")).unwrap();
    fs::remove_file(scene.path("run/timing.jsonl")).unwrap();
    whole
}

/// Each line is whole, and the folder is shown.
fn is_readable(scene: &Scene) -> usize {
    let output = scene.run(&["show", "run", "--once"]);
    expect(&output, 0, &[]);
    journal::events(&scene.path(JOURNAL)).unwrap().len()
}

#[test]
fn a_full_disk_ends_the_run_with_the_files_name_and_what_was_written_is_gone_on_with() {
    let scene = Scene::new();
    let whole = half(&scene);
    let before = is_readable(&scene);
    // A file of the process has at most so many blocks of 512 bytes, which this one has already.
    let full = File::create(scene.path("run/timing.jsonl")).unwrap();
    full.set_len(1 << 30).unwrap();
    let shell = format!("trap '' XFSZ; ulimit -f {}", (1 << 30) / 512);
    let output = output(&mut scene.command_after(&shell, &["run", "--resume", "run"]));
    expect(
        &output,
        4,
        &["failed to write", "timing.jsonl", "File too large"],
    );
    assert!(is_readable(&scene) > before, "the turn was journaled");
    fs::remove_file(scene.path("run/timing.jsonl")).unwrap();
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert!(fs::read(scene.path(JOURNAL)).unwrap() == whole);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[test]
fn a_folder_that_cannot_be_written_ends_the_run_with_its_name() {
    let scene = Scene::new();
    scene.write("file", "");
    let suite = short();
    let args = ["run", suite.to_str().unwrap(), "--out", "file/run"];
    expect(
        &scene.run(&args),
        4,
        &["error: failed to write file/run (--out names another place): not a directory\n"],
    );
    assert_eq!(files(scene.dir.path()), [("file".to_owned(), Vec::new())]);

    let whole = half(&scene);
    for (folder, code, said) in [
        ("blobs", 3, "Not a directory"),
        ("trajectories", 3, "Not a directory"),
        ("workspaces", 4, "Not a directory"),
    ] {
        let (there, apart) = (scene.path("run").join(folder), scene.path(folder));
        fs::rename(&there, &apart).unwrap();
        fs::write(&there, "").unwrap();
        let output = scene.run(&["run", "--resume", "run"]);
        expect(&output, code, &[folder, said]);
        fs::remove_file(&there).unwrap();
        fs::rename(&apart, &there).unwrap();
        is_readable(&scene);
    }
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert!(fs::read(scene.path(JOURNAL)).unwrap() == whole);
}

#[test]
fn a_damaged_line_is_named_and_stays_and_a_cut_one_is_dropped() {
    let scene = Scene::new();
    let whole = half(&scene);
    let sound = fs::read(scene.path(JOURNAL)).unwrap();
    let second = sound.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut changed = sound.clone();
    changed[second + 40] ^= 1;
    let mut garbled = sound[..second].to_vec();
    garbled.extend(b"not a line\n");
    garbled.extend(&sound[second..]);
    let mut swapped: Vec<&[u8]> = sound.split_inclusive(|byte| *byte == b'\n').collect();
    swapped.swap(1, 2);
    for damaged in [changed, garbled, swapped.concat()] {
        fs::write(scene.path(JOURNAL), &damaged).unwrap();
        let place = "law_trainee.r1.jsonl:";
        for args in [
            ["run", "--resume", "run"].as_slice(),
            &["show", "run", "--once"],
        ] {
            // A scheduler does not hand it in again.
            expect(
                &scene.run(args),
                3,
                &["failed to read", place, "what stands before it is whole"],
            );
        }
        let found = fs::read(scene.path(JOURNAL)).unwrap();
        assert!(found == damaged, "nothing is written over");
    }
    for cut in [sound.len() - 1, sound.len() - 30, second + 1, 1] {
        fs::write(scene.path(JOURNAL), &sound[..cut]).unwrap();
        is_readable(&scene);
        expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
        assert!(fs::read(scene.path(JOURNAL)).unwrap() == whole, "{cut}");
        fs::remove_file(scene.path("run/results.json")).unwrap();
    }
}

/// A task that hangs where nothing can take it back, as a slow disk lets it, or a terminal that is held: the first Ctrl-C waits for it.
#[test]
fn a_second_interrupt_ends_the_program_at_once_and_nothing_is_lost() {
    let scene = Scene::new();
    let whole = half(&scene);
    let begun = fs::read_to_string(scene.path(JOURNAL)).unwrap();
    let finished = begun.matches("\"event\":\"session_finished\"").count();
    let open = &first_persona().sessions[finished].id;
    let trajectory = scene.path(&format!("run/trajectories/law_trainee.r1/{open}.json"));
    fs::remove_file(&trajectory).unwrap();
    let pipe = scene.path("told");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    // Nobody reads it, and it is full.
    let mut ours = File::options();
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let ours = ours.read(true).write(true).custom_flags(no_wait);
    let mut ours = ours.open(&pipe).unwrap();
    while ours.write_all(b" ").is_ok() {}
    let theirs = File::options().write(true).open(&pipe).unwrap();
    let mut command = scene.command(&["run", "--resume", "run", "--quiet"]);
    // All that is said there is that a session has ended.
    command.env("PIBENCH_LOG", "pibench_engine::session=info");
    command.stdout(Stdio::null()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    while !trajectory.exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    // Its last line stays behind that for ever.
    let pid = rustix::process::Pid::from_child(&child);
    let status = loop {
        // Two that come at once are one.
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
    let now = fs::read_to_string(scene.path(JOURNAL)).unwrap();
    let now = now.matches("\"event\":\"session_finished\"").count();
    assert_eq!(now, finished, "it hung");
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert!(fs::read(scene.path(JOURNAL)).unwrap() == whole);
}

/// When anything in a folder was last written, made or removed.
fn touched(dir: &Path) -> Vec<(String, SystemTime)> {
    let mut found = vec![(
        dir.display().to_string(),
        dir.metadata().unwrap().modified().unwrap(),
    )];
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(touched(&path));
        } else {
            let modified = path.metadata().unwrap().modified().unwrap();
            found.push((path.display().to_string(), modified));
        }
    }
    found.sort();
    found
}

#[test]
fn what_looks_at_a_run_opens_nothing_of_it_for_writing() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive"]);
    let lock = scene.path("run/lock");
    let looks = |kind: &str| {
        let before = touched(&scene.path("run"));
        let graded = format!("graded-{kind}");
        for args in [
            ["verify", "run"].as_slice(),
            &["review", "run"],
            &["report", "run"],
            &["compare", "run", "run"],
            &["show", "run", "--once"],
            &["trajectory", "run"],
            &["grade", "run", "--out", &graded],
        ] {
            expect(&scene.run(args), 0, &[]);
        }
        assert_eq!(touched(&scene.path("run")), before, "{kind}");
    };
    // Nobody gets the lock alone while another has it with others.
    let shared = File::open(&lock).unwrap();
    shared.lock_shared().unwrap();
    looks("shared");
    expect(
        &scene.run(&["run", "--resume", "run"]),
        4,
        &["another process works on it"],
    );
    shared.unlock().unwrap();
    // A copy may be without.
    fs::remove_file(&lock).unwrap();
    looks("without");
    assert!(!lock.exists());
    // Who works on it keeps others from looking.
    let working = File::create(&lock).unwrap();
    working.lock().unwrap();
    let said = &["another process works on it"];
    expect(&scene.run(&["verify", "run"]), 4, said);
    let grade = ["grade", "run", "--out", "none"];
    expect(&scene.run(&grade), 3, said);
}

#[test]
fn the_files_of_a_run_folder_are_for_whom_the_umask_lets() {
    for (umask, folders, plain) in [("022", 0o755, 0o644), ("077", 0o700, 0o600)] {
        let scene = Scene::new();
        let mut command = scene.command_after(&format!("umask {umask}"), &["run"]);
        let played = command
            .arg(short())
            .args(["--persona", "law_trainee", "--out", "run"])
            .output()
            .unwrap();
        expect(&played, 0, &[]);
        let mut seen = 0;
        let mut open = vec![scene.path("run")];
        while let Some(path) = open.pop() {
            let metadata = path.metadata().unwrap();
            let expected = if metadata.is_dir() { folders } else { plain };
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, expected, "{} under {umask}", path.display());
            if metadata.is_dir() {
                open.extend(
                    fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
            seen += 1;
        }
        assert!(seen > 30, "{seen}");
    }
}
