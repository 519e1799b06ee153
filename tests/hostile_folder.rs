//! Run folders of strangers: links, pipes, files of a terabyte and numbers without end. Whatever looks at one ends soon, in bounded
//! memory, and reads nothing beside it; the copy that nobody touched is reported, verified, shown and printed.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::random_runs::peak;
use crate::scene::{Scene, copy, flowed};

const SESSION: &str = "saltmarsh-exhibit";
const JOURNAL: &str = "journal/law_trainee.r1.jsonl";
const TRAJECTORY: &str = "trajectories/law_trainee.r1/saltmarsh-exhibit.json";

/// What a link leads to.
const SECRET: &str = "beside the run folder";

/// Kilobytes that a look may take at most, and how long.
const MOST: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_mins(3);

/// How a run is looked at.
const LOOKS: [&[&str]; 4] = [
    &["verify", "run"],
    &["trajectory", "run"],
    &["report", "run", "--out", "page"],
    &["show", "run", "--once"],
];

/// A folder `whole` of a finished run.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.play("whole", &["--session", SESSION]);
    scene
}

/// The exit code and all words of a look at the folder `run`, which ends in bounded time and memory.
fn look(scene: &Scene, args: &[&str]) -> (i32, String) {
    let _ = fs::remove_dir_all(scene.path("page"));
    let told = File::create(scene.path("told")).unwrap();
    let mut command = scene.command(args);
    command.stdout(told.try_clone().unwrap()).stderr(told);
    let mut child = command.spawn().unwrap();
    let (begun, mut most) = (Instant::now(), 0);
    let ended = loop {
        most = most.max(peak(child.id()));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{args:?} has no end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let told = fs::read(scene.path("told")).unwrap();
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(most < MOST, "{args:?}: {most} KiB");
    (
        ended
            .code()
            .unwrap_or_else(|| panic!("{args:?}: {ended}, {told}")),
        told,
    )
}

/// A copy of the run, changed.
fn changed(scene: &Scene, change: impl FnOnce(&Path)) {
    let run = scene.path("run");
    let _ = fs::remove_dir_all(&run);
    copy(&scene.path("whole"), &run);
    change(&run);
}

/// Some file of the run's blobs.
fn first_blob(run: &Path) -> String {
    let blobs = fs::read_dir(run.join("blobs")).unwrap();
    let mut names: Vec<_> = blobs.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    format!("blobs/{}", names[0].to_str().unwrap())
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

#[test]
fn the_run_that_nobody_touched_is_looked_at() {
    let scene = scene();
    changed(&scene, |_| {});
    for args in LOOKS {
        let (code, told) = look(&scene, args);
        assert_eq!(code, 0, "{args:?}: {told}");
    }
}

#[test]
fn no_link_in_a_run_folder_is_followed() {
    let scene = scene();
    // A trajectory as it should be, but for a word, by which it is known again.
    let text = fs::read_to_string(scene.path("whole").join(TRAJECTORY)).unwrap();
    let at = text.find("\"title\": \"").unwrap() + "\"title\": \"".len();
    let secret = format!("{}{SECRET} {}", &text[..at], &text[at..]);
    scene.write("secret.json", &secret);
    changed(&scene, |run| {
        fs::write(run.join(TRAJECTORY), &secret).unwrap();
    });
    let (code, told) = look(&scene, &["trajectory", "run"]);
    assert!(code == 0 && told.contains(SECRET), "its twin: {told}");

    for name in [
        TRAJECTORY,
        JOURNAL,
        "results.json",
        "outline.json",
        "seal.json",
        "timing.jsonl",
        "manifest.json",
        "lock",
    ] {
        changed(&scene, |run| {
            fs::remove_file(run.join(name)).unwrap();
            symlink(scene.path("secret.json"), run.join(name)).unwrap();
        });
        for args in LOOKS {
            let (code, told) = look(&scene, args);
            assert!(!told.contains(SECRET), "{name}, {args:?}: {told}");
            if args[0] == "verify" {
                let is_told = flowed(&told).contains("not a regular file");
                assert!(code != 0 && is_told, "{name}: {told}");
            }
        }
    }
    // One to what would do.
    for name in ["results.json", "journal", "trajectories", "blobs"] {
        changed(&scene, |run| {
            fs::rename(run.join(name), scene.path("moved")).unwrap();
            symlink(scene.path("moved"), run.join(name)).unwrap();
        });
        let (code, told) = look(&scene, LOOKS[0]);
        let said = flowed(&told);
        let is_told = said.contains("not a regular file") || said.contains("Not a directory");
        assert!(code != 0 && is_told, "{name}: {told}");
        let moved = scene.path("moved");
        let _ = fs::remove_file(&moved);
        let _ = fs::remove_dir_all(&moved);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let scene = scene();
    for name in [
        "lock",
        "manifest.json",
        "outline.json",
        "results.json",
        "seal.json",
        "timing.jsonl",
        "key.age",
        JOURNAL,
        TRAJECTORY,
    ] {
        changed(&scene, |run| {
            let _ = fs::remove_file(run.join(name));
            pipe(&run.join(name));
        });
        for args in LOOKS {
            let (code, told) = look(&scene, args);
            if args[0] == "verify" {
                let is_told = flowed(&told).contains("not a regular file");
                assert!(code != 0 && is_told, "{name}: {told}");
            }
        }
    }
    changed(&scene, |run| {
        let blob = run.join(first_blob(run));
        fs::remove_file(&blob).unwrap();
        pipe(&blob);
    });
    for args in LOOKS {
        look(&scene, args);
    }
}

#[test]
fn a_file_of_a_terabyte_is_refused_by_its_limit() {
    let scene = scene();
    let lengthen = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
    };
    for name in [
        "lock",
        "manifest.json",
        "outline.json",
        "results.json",
        "seal.json",
        "timing.jsonl",
        JOURNAL,
        TRAJECTORY,
    ] {
        changed(&scene, |run| lengthen(&run.join(name)));
        for args in LOOKS {
            let (code, told) = look(&scene, args);
            if args[0] == "verify" {
                let is_told = flowed(&told).contains("more than the limit of");
                assert!(code != 0 && is_told, "{name}: {told}");
            }
        }
    }
    changed(&scene, |run| lengthen(&run.join(first_blob(run))));
    for args in LOOKS {
        look(&scene, args);
    }
}

#[test]
fn runs_and_parts_without_end_are_refused_and_an_unfinished_run_is_shown() {
    let scene = scene();
    let unfinished = |runs: &str| {
        changed(&scene, |run| {
            for name in ["results.json", "seal.json"] {
                fs::remove_file(run.join(name)).unwrap();
            }
        });
        scene.replace("run/manifest.json", "\"runs\": 1,", runs);
    };
    unfinished("\"runs\": 1,");
    for args in &LOOKS[1..] {
        let (code, told) = look(&scene, args);
        // Nobody plays it: `show` says how to go on.
        assert!(
            code == 0 || flowed(&told).contains("run --resume"),
            "{args:?}: {told}"
        );
    }
    for (runs, said) in [
        ("\"runs\": 4294967295,", "`runs` must be from 1 to 1000"),
        ("\"runs\": 0,", "`runs` must be from 1 to 1000"),
        (
            "\"runs\": 1, \"shard\": { \"index\": 1, \"of\": 4294967295 },",
            "`shard` must be a part",
        ),
        (
            "\"runs\": 1, \"shard\": { \"index\": 1, \"of\": 0 },",
            "`shard` must be a part",
        ),
    ] {
        unfinished(runs);
        let resume: &[&str] = &["run", "--resume", "run"];
        for args in LOOKS.into_iter().chain([resume]) {
            let (code, told) = look(&scene, args);
            let is_told = flowed(&told).contains(said);
            assert!(code != 0 && is_told, "{runs}, {args:?}: {told}");
        }
    }
}
