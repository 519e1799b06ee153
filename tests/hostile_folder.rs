//! Run folders of strangers: links, pipes, files of a terabyte and numbers without end. Whatever looks at one ends soon, in bounded
//! memory, and reads nothing beside it; the copy that nobody touched is reported, verified, shown and printed.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use pibench_core::message::Usage;
use serde_json::{Value, json};

use crate::random_runs::peak;
use crate::scene::{Scene, copy, expect, files, flowed, stderr};

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

/// Puts other events in the place of each of the journal's, and makes its chain and its seal anew.
fn forge(run: &Path, change: impl Fn(Value) -> Vec<Value>) {
    let was = fs::read_to_string(run.join(JOURNAL)).unwrap();
    let (mut text, mut last) = (String::new(), blake3::hash(b""));
    let events = was.lines().map(|line| serde_json::from_str(line).unwrap());
    for (number, mut event) in events.flat_map(change).enumerate() {
        event["n"] = (number + 1).into();
        event["prev"] = last.to_hex().as_str().into();
        let line = event.to_string();
        last = blake3::hash(line.as_bytes());
        text += &line;
        text.push('\n');
    }
    put_sealed(run, JOURNAL, &text);
}

/// Puts another text in the place of a file, and makes the seal anew.
fn put_sealed(run: &Path, name: &str, text: &str) {
    let digest = |text: &[u8]| blake3::hash(text).to_hex().to_string();
    let was = fs::read(run.join(name)).unwrap();
    let seal = fs::read_to_string(run.join("seal.json")).unwrap();
    let seal = seal.replace(&digest(&was), &digest(text.as_bytes()));
    fs::write(run.join("seal.json"), seal).unwrap();
    fs::write(run.join(name), text).unwrap();
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
fn results_of_runs_without_end_are_refused() {
    let scene = scene();
    let compare: &[&str] = &["compare", "whole", "run"];
    let export: &[&str] = &["export", "run", "--format", "jsonl", "--out", "tables"];
    for (runs, is_taken) in [("1", true), ("4294967295", false), ("0", false)] {
        changed(&scene, |run| {
            let path = run.join("results.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(
                &path,
                text.replacen("\"runs\": 1,", &format!("\"runs\": {runs},"), 1),
            )
            .unwrap();
        });
        for args in [LOOKS[2], LOOKS[3], compare, export] {
            let (code, told) = look(&scene, args);
            let is_told = flowed(&told).contains("`runs` must be from 1 to 1000");
            let as_it_should = if is_taken {
                code == 0
            } else {
                code != 0 && is_told
            };
            assert!(as_it_should, "{runs}, {args:?}: {told}");
        }
        let _ = fs::remove_dir_all(scene.path("tables"));
    }
}

#[test]
fn a_file_whose_name_acts_on_a_terminal_is_told_of_without_acting() {
    let scene = scene();
    changed(&scene, |run| {
        fs::write(run.join("\u{1b}[31mred\u{7}"), "added").unwrap();
    });
    let export: &[&str] = &["export", "run", "--format", "jsonl", "--out", "tables"];
    for args in [LOOKS[0], LOOKS[2], LOOKS[3], export] {
        let (_, told) = look(&scene, args);
        let is_told = told.contains("[31mred") && !told.contains(['\u{1b}', '\u{7}']);
        assert!(is_told, "{args:?}: {told}");
    }
}

/// In a folder of a stranger's a link leads to another's run, which would stand in what is made of that folder.
#[test]
fn a_link_to_a_run_is_no_run_of_the_folder_that_it_lies_in() {
    let scene = scene();
    fs::create_dir(scene.path("many")).unwrap();
    copy(&scene.path("whole"), &scene.path("many/own"));
    let report = |folder: &str| {
        let output = scene.run(&["report", folder, "--format", "json"]);
        expect(&output, 0, &[]);
        let told = flowed(&stderr(&output));
        (String::from_utf8(output.stdout).unwrap(), told)
    };
    let (before, told) = report("many");
    assert!(!told.contains("left out"), "{told}");
    symlink(scene.path("whole"), scene.path("many/other")).unwrap();
    let (after, told) = report("many");
    assert_eq!(after, before);
    assert!(told.contains("left out: many/other: a link"), "{told}");
    // A run that is named itself may be a link.
    let (_, told) = report("many/other");
    assert!(!told.contains("left out"), "{told}");
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

/// A journal that ends a session under another name, which whoever writes its trajectory would make a path of.
#[test]
fn the_name_of_a_session_in_a_journal_leads_out_of_no_folder() {
    let scene = scene();
    let victim = scene.write("victim/settings.json", "mine");
    let absolute = victim.with_extension("");
    let grade: &[&str] = &["grade", "run", "--out", "graded"];
    let publish: &[&str] = &[
        "publish",
        "run",
        "--out",
        "shown",
        "--transcripts",
        "after-reveal",
    ];
    let look_anew = |args: &[&str]| {
        for out in ["graded", "shown"] {
            let _ = fs::remove_dir_all(scene.path(out));
        }
        look(&scene, args)
    };
    changed(&scene, |run| forge(run, |event| vec![event]));
    for args in [grade, publish] {
        let (code, told) = look_anew(args);
        assert_eq!(code, 0, "its twin: {told}");
    }
    for name in [absolute.to_str().unwrap(), "../../../victim/settings", "s"] {
        changed(&scene, |run| {
            forge(run, |event| {
                if event["event"] != "session_finished" {
                    return vec![event];
                }
                let mut other = event.clone();
                other["session"] = name.into();
                vec![other, event]
            });
        });
        let (code, told) = look_anew(grade);
        let said = format!("`{SESSION}` is the one that is open");
        assert!(code != 0 && flowed(&told).contains(&said), "{name}: {told}");
        assert!(!scene.path("graded/trajectories/law_trainee.r1").exists());
        if name.contains('/') {
            let (code, told) = look_anew(publish);
            let is_told = flowed(&told).contains("no names of a session");
            assert!(code == 3 && is_told, "{name}: {told}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{name}");
        assert_eq!(fs::read_dir(scene.path("victim")).unwrap().count(), 1);
    }
    // The persona of an outline is one, too.
    changed(&scene, |run| {
        let outline = fs::read_to_string(run.join("outline.json")).unwrap();
        let forged = outline.replace("\"law_trainee\"", "\"../../victim/p\"");
        assert_ne!(forged, outline);
        put_sealed(run, "outline.json", &forged);
    });
    let (code, told) = look_anew(publish);
    let is_told = flowed(&told).contains("no name of a persona");
    assert!(code == 3 && is_told, "{told}");
    assert_eq!(fs::read_dir(scene.path("victim")).unwrap().count(), 1);
}

#[test]
fn a_run_is_not_gone_on_with_through_a_link() {
    let scene = scene();
    let victim = scene.write("victim", "mine");
    let resume = |change: &dyn Fn(&Path)| {
        changed(&scene, |run| {
            for name in ["results.json", "seal.json"] {
                fs::remove_file(run.join(name)).unwrap();
            }
            let text = fs::read_to_string(run.join(JOURNAL)).unwrap();
            let begun: Vec<&str> = text.split_inclusive('\n').take(2).collect();
            fs::write(run.join(JOURNAL), begun.concat()).unwrap();
            change(run);
        });
        look(&scene, &["run", "--resume", "run"])
    };
    for name in ["log.jsonl", "timing.jsonl", "preflight.jsonl"] {
        let (code, told) = resume(&|run| {
            let _ = fs::remove_file(run.join(name));
            symlink(&victim, run.join(name)).unwrap();
        });
        let said = flowed(&told);
        let is_told = said.contains(name) && said.contains("it is a link");
        assert!(code == 3 && is_told, "{name}: {told}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
    for name in ["log.jsonl", "timing.jsonl", "lock"] {
        let (code, told) = resume(&|run| {
            fs::remove_file(run.join(name)).unwrap();
            fs::hard_link(&victim, run.join(name)).unwrap();
        });
        let is_told = flowed(&told).contains("it has another name too");
        assert!(code != 0 && is_told, "{name}: {told}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
    let (code, told) = resume(&|_| {});
    assert_eq!(code, 0, "its twin: {told}");
}

/// Of what an agent or a task leaves in a workspace, the name alone may tell something.
#[test]
fn names_of_folders_and_jobs_are_published_where_what_is_done_is_shown_and_nowhere_else() {
    const NAME: &str = "merger-2027";
    let scene = scene();
    changed(&scene, |run| {
        forge(run, |mut event| match event["event"].as_str().unwrap() {
            "session_started" => {
                let wake = json!({
                    "event": "wake", "by": NAME, "clock": event["clock"], "message": "", "system": event["system"],
                    "steps": [], "folders": [NAME], "jobs": { "made": 0, "open": [] }, "usage": Usage::default(),
                });
                event["folders"] = json!([NAME]);
                vec![wake, event]
            }
            "turn" => {
                event["folders"] = json!([NAME]);
                vec![event]
            }
            _ => vec![event],
        });
    });
    for (transcripts, is_shown) in [("none", false), ("after-reveal", true), ("all", true)] {
        let args = ["publish", "run", "--out", transcripts, "--transcripts"];
        expect(&scene.run(&[&args[..], &[transcripts]].concat()), 0, &[]);
        let published = files(&scene.path(transcripts));
        let has =
            |(_, content): &(String, Vec<u8>)| String::from_utf8_lossy(content).contains(NAME);
        assert_eq!(published.iter().any(has), is_shown, "{transcripts}");
        expect(&scene.run(&["verify", transcripts]), 0, &[]);
    }
}
