//! Packs from strangers: whatever stands in one, `check` and `run` refuse it with a message and the exit code of a wrong
//! input, nothing outside of it is read, and nothing is written. The pack without the attack is played.

use std::fs;
use std::path::PathBuf;

use crate::random_runs::peak;
use crate::scene::{Scene, expect};

const SESSION: &str = r#"version = 1
id = "move"
title = "The move"
clock = 2026-03-02T09:00:00
request = "Can you plan the move?"

[[files]]
source = "list.md"

[[intents]]
id = "written"
content = "The plan belongs into plan.md."
found_in = [{ kind = "question" }]

[intents.satisfied]
within = ["file:plan.md"]
all = [['movers']]
accepts = ["The movers come at 8.", "Friday: movers"]
rejects = ["They come at 8.", "Nobody comes."]

[intents.asked]
all = [['which file[^.?!]*\?']]
accepts = ["Into which file?", "Which file is it for?"]
rejects = ["Anything else?", "A file?"]

[[checklist]]
id = "plan"
criterion = "The plan speaks of the movers"

[checklist.rule]
grader = "rules"
config = { called = { tool = "write_file", arguments = { path = "plan.md" } } }

[[reference]]
serves = ["written"]
tool = "write_file"
arguments = { path = "plan.md", content = "The movers come at 8." }

[[reference]]
say = "It is in plan.md."
"#;

const PERSONA: &str = r#"version = 1
id = "ida"
name = "Ida Vale"
profile = "Moves to the harbour."
episode = [{ session = "move" }]
"#;

const SUITE: &str = "version = 1\nid = \"pack\"\npersonas = [\"ida\"]\n";

/// A pack in a folder, and a secret beside it.
struct Pack(Scene);

impl Pack {
    fn sound() -> Self {
        let scene = Scene::new();
        scene.write("secret.md", "a secret of the machine");
        scene.write("pack/suite.toml", SUITE);
        scene.write("pack/ida/persona.toml", PERSONA);
        scene.write("pack/ida/sessions/move/session.toml", SESSION);
        scene.write("pack/ida/sessions/move/list.md", "- boxes\n");
        Self(scene)
    }

    fn session(&self, file: &str) -> PathBuf {
        self.0.path("pack/ida/sessions/move").join(file)
    }

    fn edit(self, from: &str, to: &str) -> Self {
        self.0
            .replace("pack/ida/sessions/move/session.toml", from, to);
        self
    }

    /// Both commands refuse it, in these words, and leave no run folder behind.
    #[track_caller]
    fn refused(&self, said: &[&str]) {
        for args in [
            ["check", "pack"].as_slice(),
            &["run", "pack/suite.toml", "--out", "run"],
        ] {
            let output = self.0.run(args);
            expect(&output, 3, said);
            let all = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&all);
            assert!(!text.contains("a secret"), "the secret is told:\n{text}");
            assert!(!text.contains('\u{1b}'), "it drives the terminal:\n{text}");
        }
        assert!(!self.0.path("run").exists(), "something was written");
    }
}

#[test]
fn the_pack_without_an_attack_is_played() {
    let pack = Pack::sound();
    expect(&pack.0.run(&["check", "pack"]), 0, &[]);
    expect(
        &pack.0.run(&["run", "pack/suite.toml", "--out", "run"]),
        0,
        &[],
    );
}

#[test]
fn paths_lead_nowhere_but_into_the_pack() {
    const SOURCE: &str = "source = \"list.md\"";
    for (source, said) in [
        ("../../../../secret.md", "leaves its folder by `..`"),
        ("x/../../../../../secret.md", "leaves its folder by `..`"),
        ("/etc/passwd", "the path is absolute"),
        ("C:/secret.md", "the path is absolute"),
        (r"..\\..\\secret.md", "a backslash or a control character"),
        (r"list.md\u0000.png", "a backslash or a control character"),
        (r"\u001b[2Jlist.md", "a backslash or a control character"),
        (r"\uFF0E\uFF0E/secret.md", "with `..`"),
        (r".\u200B./secret.md", "with `..`"),
        (r"list\u202Edm.exe", "U+202E"),
        (r"..\uFF0Fsecret.md", "U+FF0F"),
        ("https://pack.example/list.md", "is an address"),
        ("file:///etc/passwd", "is an address"),
        ("", "the path is empty"),
        (".", "an empty or `.` part"),
    ] {
        let pack = Pack::sound().edit(SOURCE, &format!("source = \"{source}\""));
        pack.refused(&["session.toml:8:10: ", said]);
        let staged = format!("{SOURCE}\npath = \"{source}\"");
        let pack = Pack::sound().edit(SOURCE, &staged);
        pack.refused(&["session.toml:9:8: ", said]);
    }
}

#[test]
fn personas_and_scripts_come_from_the_pack_too() {
    for (folder, said) in [
        ("../ida", "leaves its folder"),
        ("/tmp", "is absolute"),
        ("https://pack.example/ida", "is an address"),
    ] {
        let pack = Pack::sound();
        pack.0.replace("pack/suite.toml", "ida", folder);
        pack.refused(&["suite.toml:3:13: ", said]);
    }
    let rule = "grader = \"rules\"\nconfig = { called = { tool = \"write_file\", arguments = { path = \"plan.md\" } } }";
    for (script, said) in [
        ("../../../../secret.md", "leaves its folder"),
        ("https://pack.example/check.py", "is an address"),
    ] {
        let python = format!("grader = \"python\"\nscript = \"{script}\"");
        Pack::sound()
            .edit(rule, &python)
            .refused(&["session.toml:", said]);
    }
}

#[test]
fn links_pipes_and_folders_are_no_files() {
    let pack = Pack::sound();
    fs::remove_file(pack.session("list.md")).unwrap();
    std::os::unix::fs::symlink("../../../../secret.md", pack.session("list.md")).unwrap();
    pack.refused(&["session.toml:8:10: ", "is a link"]);

    let pack = Pack::sound();
    fs::remove_file(pack.session("list.md")).unwrap();
    fs::hard_link(pack.0.path("secret.md"), pack.session("list.md")).unwrap();
    pack.refused(&["session.toml:8:10: ", "2 names lead to it"]);

    let pack = Pack::sound();
    fs::remove_file(pack.session("session.toml")).unwrap();
    fs::hard_link(pack.0.path("secret.md"), pack.session("session.toml")).unwrap();
    pack.refused(&["persona.toml:5:24: ", "2 names lead to it"]);

    let pack = Pack::sound();
    fs::rename(pack.0.path("pack/ida"), pack.0.path("outside")).unwrap();
    std::os::unix::fs::symlink("../outside", pack.0.path("pack/ida")).unwrap();
    pack.refused(&["suite.toml:3:13: ", "`ida` is a link"]);

    let pack = Pack::sound();
    fs::remove_file(pack.session("list.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        pack.session("list.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    pack.refused(&["session.toml:8:10: ", "not a regular file"]);
}

/// A file that takes no room and has this size.
fn sparse(path: PathBuf, size: u64) {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(size)
        .unwrap();
}

#[test]
fn huge_files_are_not_read() {
    let pack = Pack::sound();
    sparse(pack.session("list.md"), 1 << 40);
    pack.refused(&[
        "session.toml:8:10: ",
        "1099511627776 bytes, more than the limit of 67108864",
    ]);
    let pack = Pack::sound();
    sparse(pack.session("session.toml"), 1 << 40);
    pack.refused(&["persona.toml:5:24: ", "more than the limit of 1048576"]);
    let pack = Pack::sound();
    sparse(pack.0.path("pack/suite.toml"), 1 << 40);
    pack.refused(&["suite.toml: ", "more than the limit of 1048576"]);
}

#[test]
fn thousands_of_files_and_sessions_are_refused() {
    let one = "[[files]]\nsource = \"list.md\"\n";
    let many: Vec<String> = (0..1001)
        .map(|number| format!("{one}path = \"{number}.md\"\n"))
        .collect();
    let many = many.concat();
    Pack::sound()
        .edit(one, &many)
        .refused(&["session.toml:", "1001", "1000"]);
    let pack = Pack::sound();
    let many = "{ session = \"move\" },".repeat(1001);
    pack.0
        .replace("pack/ida/persona.toml", "{ session = \"move\" }", &many);
    pack.refused(&["persona.toml:", "1001", "1000"]);
}

/// Kilobytes and seconds of a processor that a pack of any size may take until it is refused.
const MOST: u64 = 512 << 10;
const SECONDS: u32 = 60;

#[test]
fn a_pack_of_a_hundred_thousand_sessions_is_refused_by_its_limit_in_bounded_time_and_memory() {
    let scene = Scene::new();
    let list = |many: u32, each: &dyn Fn(u32) -> String| {
        let all: Vec<String> = (0..many).map(each).collect();
        all.join(", ")
    };
    let personas = list(100, &|number| format!("\"p{number}\""));
    scene.write(
        "pack/suite.toml",
        &format!("version = 1\nid = \"big\"\npersonas = [{personas}]\n"),
    );
    let episode = list(1000, &|number| format!("{{ session = \"s{number}\" }}"));
    for persona in 0..100 {
        let text = format!(
            "version = 1\nid = \"p{persona}\"\nname = \"P\"\nprofile = \"A person.\"\nepisode = [{episode}]\n"
        );
        scene.write(&format!("pack/p{persona}/persona.toml"), &text);
        // More than may be read: the others are only named.
        let there = if persona < 21 { 1000 } else { 0 };
        for session in 0..there {
            let text = format!(
                "version = 1\nid = \"s{session}\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Begin.\"\n\
                 [[intents]]\nid = \"one\"\ncontent = \"In blue.\"\n"
            );
            scene.write(
                &format!("pack/p{persona}/sessions/s{session}/session.toml"),
                &text,
            );
        }
    }
    for args in [
        ["check", "pack"].as_slice(),
        &["run", "pack/suite.toml", "--out", "run"],
        &["list", "pack/suite.toml"],
    ] {
        let told = fs::File::create(scene.path("told")).unwrap();
        let mut command = scene.command_after(&format!("ulimit -t {SECONDS}"), args);
        command.stdout(told.try_clone().unwrap()).stderr(told);
        let mut child = command.spawn().unwrap();
        let mut most = 0;
        let ended = loop {
            most = most.max(peak(child.id()));
            if let Some(ended) = child.try_wait().unwrap() {
                break ended;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        println!("{args:?}: {} MiB at most", most >> 10);
        let told = fs::read_to_string(scene.path("told")).unwrap();
        assert_eq!(ended.code(), Some(3), "{args:?}: {ended}");
        assert!(
            told.contains("the pack has more than 20000 files"),
            "{args:?}"
        );
        assert!((1..MOST).contains(&most), "{args:?}: {most} KiB");
    }
    assert!(!scene.path("run").exists(), "something was written");
}

#[test]
fn deep_and_broken_task_files_are_refused_with_their_place() {
    let deep = 100_000;
    // Each part is below the parser's own bound.
    let mixed = format!("{{{}a = ", "a.".repeat(78));
    for (what, text) in [
        (
            "lists",
            format!("x = {}{}", "[".repeat(deep), "]".repeat(deep)),
        ),
        ("open lists", format!("x = {}", "[".repeat(deep))),
        (
            "tables",
            format!("x = {}1{}", "{a=".repeat(deep), "}".repeat(deep)),
        ),
        ("dotted key", format!("{}x = 1", "a.".repeat(deep))),
        ("header", format!("[{}x]", "a.".repeat(deep))),
        ("list header", format!("[[{}x]]", "a.".repeat(deep))),
        (
            "all of them",
            format!("x = {}1{}", mixed.repeat(79), "}".repeat(79)),
        ),
        ("no TOML", "\u{fffd}".repeat(3)),
    ] {
        for file in [
            "pack/suite.toml",
            "pack/ida/persona.toml",
            "pack/ida/sessions/move/session.toml",
        ] {
            let pack = Pack::sound();
            let old = fs::read_to_string(pack.0.path(file)).unwrap();
            pack.0.write(file, &format!("{old}\n{text}\n"));
            eprintln!("{what} in {file}");
            pack.refused(&[".toml"]);
        }
    }
}
