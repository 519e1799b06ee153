//! Private packs: what lies on the disk in clear, who opens what, what may be shown, and whose copy a leak is of.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use camino::Utf8Path;
use pibench_pack::{Contents, archive};
use pibench_suite::suite::Session;
use pibench_vault::files::Files;
use pibench_vault::{Identities, Recipient, files as archived, keyring, people};
use serde_json::Value;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};

use crate::hidden::{assert_hidden, fold, spans};
use crate::models::{play, run as run_at, server};
use crate::openssh::made;
use crate::scene::{
    Scene, copy, expect, files, first_persona, flowed, output, root, short, stderr,
};

const MANIFEST: &str =
    "version = 1\nname = \"clinic\"\nrelease = \"1.0.0\"\nlicense = \"CC-BY-4.0\"\n";
const SUITE: &str = "packs/clinic/1.0.0/suite.toml";
const MODELS: [&str; 8] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m", "--runs", "1",
];

/// A scene with the folder of a pack, the short suite, and the keys of Ana, Bo and Eve.
fn scene() -> Scene {
    let scene = Scene::new();
    copy(short().parent().unwrap(), &scene.path("mine"));
    scene.write("mine/pack.toml", MANIFEST);
    for (at, name) in (1..).zip(["ana", "bo", "eve"]) {
        let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[at; 32]));
        let key = PrivateKey::new(pair, format!("{name}@lab.example")).unwrap();
        let path = scene.write(name, &key.to_openssh(LineEnding::LF).unwrap());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let public = key.public_key().to_openssh().unwrap();
        scene.write(&format!("{name}.pub"), &public);
    }
    scene
}

/// The same with a pack for Ana and Bo, installed.
fn installed() -> Scene {
    let scene = scene();
    let args = ["pack", "mine", "--out", "clinic.pibench", "--recipient"];
    let made = scene.run(&[&args[..], &["ana.pub", "--recipient", "bo.pub"]].concat());
    expect(&made, 0, &[]);
    expect(&install(&scene, "ana"), 0, &[]);
    scene
}

fn install(scene: &Scene, key: &str) -> Output {
    let args = ["pack", "install", "clinic.pibench", "--packs", "packs"];
    scene.run(&[&args[..], &["--identity", key]].concat())
}

fn plays(scene: &Scene, out: &str, more: &[&str]) {
    let args = ["run", SUITE, "--identity", "ana", "--out", out];
    expect(&scene.run(&[&args[..], more].concat()), 0, &[]);
}

fn sessions() -> Vec<Session> {
    first_persona().sessions
}

/// All that lies below a folder, each file as text.
fn texts(dir: &Path) -> Vec<(String, String)> {
    let texts = files(dir).into_iter();
    let text =
        |(name, bytes): (String, Vec<u8>)| (name, String::from_utf8_lossy(&bytes).into_owned());
    texts.map(text).collect()
}

fn assert_nothing_shown(dir: &Path) {
    let texts = texts(dir);
    assert!(texts.len() > 3, "{texts:?}");
    for (name, text) in texts {
        for session in sessions() {
            assert_hidden(&text, &name, &session);
        }
    }
}

/// How many hidden intents are told somewhere below a folder.
fn told(dir: &Path) -> usize {
    let texts: Vec<String> = texts(dir).iter().map(|(_, text)| fold(text)).collect();
    let all = sessions();
    let intents = all.iter().flat_map(|session| &session.intents);
    let is_told = |content: &str| {
        let spans = spans(content);
        let has = |text: &String| spans.iter().any(|span| text.contains(span.as_str()));
        texts.iter().any(has)
    };
    intents.filter(|intent| is_told(&intent.content)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_a_private_pack_or_its_runs_tells_a_secret_and_those_of_an_open_one_do() {
    let scene = installed();
    let server = server(play).await;
    let play_it = |suite: &str, out: &str| {
        let args = ["run", suite, "--json", "--out", out, "--identity", "ana"];
        let output = run_at(&scene, &[&args[..], &MODELS].concat(), &server);
        expect(&output, 0, &[]);
        output
    };
    let output = play_it(SUITE, "private");
    for session in sessions() {
        assert_hidden(&stderr(&output), "stderr", &session);
        assert_hidden(&String::from_utf8_lossy(&output.stdout), "stdout", &session);
    }
    assert_nothing_shown(&scene.path("packs"));
    assert_nothing_shown(&scene.path("private"));
    assert_eq!(told(&scene.path("private")), 0);
    // Its twin shows that the search finds what is there: every intent was told to the user agent and the judge.
    let open = play_it("mine/suite.toml", "open");
    let all: usize = sessions().iter().map(|one| one.intents.len()).sum();
    assert_eq!(told(&scene.path("open")), all);
    // Whoever has the key has the whole run.
    expect(
        &scene.run(&["verify", "private", "--identity", "bo"]),
        0,
        &[],
    );
    assert_eq!(output.stdout, open.stdout);
}

#[test]
fn parts_of_a_private_suite_are_for_where_its_key_can_be() {
    let scene = installed();
    let script = |scheduler| {
        let args = [
            "script",
            scheduler,
            "--identity",
            "ana",
            "--out",
            "all",
            "--",
        ];
        scene.run(&[&args[..], &[SUITE]].concat())
    };
    let slurm = script("slurm");
    expect(&slurm, 0, &[]);
    let text = String::from_utf8_lossy(&slurm.stdout);
    assert!(text.contains("PIBENCH_IDENTITY=FILE"), "{text}");
    let merge = text.split("merge() {").nth(1).unwrap();
    assert!(merge.trim_start().starts_with("read_keys"), "{text}");
    expect(&script("kubernetes"), 2, &["pods are given no key"]);
}

#[test]
fn what_a_private_run_leaves_beside_its_folder_tells_no_secret() {
    let scene = installed();
    std::fs::create_dir(scene.path("tmp")).unwrap();
    let args = ["run", SUITE, "--identity", "ana", "--out", "out"];
    let mut run = scene.command(&[&args[..], &["--session", "corrie-extension"]].concat());
    run.env("PIBENCH_CACHE", scene.path("cache"));
    run.env("TMPDIR", scene.path("tmp"));
    expect(&output(&mut run), 0, &[]);
    // Compiled code, which is of plugins alone.
    for (name, _) in files(&scene.path("cache")) {
        if Path::new(&name)
            .extension()
            .is_some_and(|kind| kind == "aot")
        {
            std::fs::remove_file(scene.path("cache").join(name)).unwrap();
        }
    }
    assert_nothing_shown(&scene.path("cache"));
    assert_eq!(files(&scene.path("tmp")), []);
}

/// What a rule's script prints and raises may be of the rule.
#[test]
fn the_log_of_a_private_run_keeps_names_and_numbers_and_that_of_an_open_one_every_text() {
    if !root().join("target/plugins/python.wasm").exists() {
        eprintln!("skipped: there is no python.wasm");
        return;
    }
    let scene = scene();
    let session = "mine/personas/law_trainee/sessions/corrie-extension";
    scene.write(
        &format!("{session}/judge.py"),
        "def score(history):\n    print('the rule says forty minutes')\n    if history:\n        raise ValueError('it wants forty minutes')\n    return {'x': 1}\n",
    );
    let file = format!("{session}/session.toml");
    let text = std::fs::read_to_string(scene.path(&file)).unwrap();
    let item = "\n[[checklist]]\nid = \"scripted\"\ncriterion = \"The script says yes\"\n[checklist.rule]\ngrader = \"python\"\nscript = \"judge.py\"\ncheck = \"x\"\n";
    scene.write(&file, &(text + item));
    let args = [
        "pack",
        "mine",
        "--out",
        "clinic.pibench",
        "--recipient",
        "ana.pub",
    ];
    expect(&scene.run(&args), 0, &[]);
    expect(&install(&scene, "ana"), 0, &[]);
    let log_of = |suite: &str, out: &str| {
        let args = [
            "run",
            suite,
            "--identity",
            "ana",
            "--out",
            out,
            "--session",
            "corrie-extension",
        ];
        expect(&scene.run(&args), 5, &[]);
        std::fs::read_to_string(scene.path(out).join("log.jsonl")).unwrap()
    };
    let open = log_of("mine/suite.toml", "open");
    assert!(
        open.contains("the rule says forty") && open.contains("it wants forty"),
        "{open}"
    );
    let private = log_of(SUITE, "private");
    assert!(!private.contains("forty"), "{private}");
    for kept in [
        "\"grader\":\"python\"",
        "\"ended\":\"turn\"",
        "corrie-extension",
        "\"ms\":",
    ] {
        assert!(private.contains(kept), "`{kept}` is not in {private}");
    }
}

#[test]
fn who_has_no_recipients_key_is_told_so_and_verifies_chain_and_seal() {
    let scene = installed();
    plays(&scene, "run", &["--agent", "reference"]);
    let commands: [&[&str]; 8] = [
        &["run", SUITE, "--agent", "nop", "--out", "other"],
        &["check", SUITE],
        &["list", SUITE],
        &["show", "run", "--once"],
        &["report", "run"],
        &["trajectory", "run"],
        &["run", "--resume", "run"],
        &["grade", "run", "--judge", "lexical", "--out", "other"],
    ];
    for command in commands {
        let output = scene.run(command);
        let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        assert_ne!(output.status.code(), Some(0), "{command:?}: {said}");
        assert!(said.contains("--identity"), "{command:?}: {said}");
        let eve = scene.run(&[command, &["--identity", "eve"]].concat());
        let said = stderr(&eve) + &String::from_utf8_lossy(&eve.stdout);
        assert!(said.contains("none of the keys is a recipient's"), "{said}");
        assert!(!scene.path("other").exists(), "{command:?}");
        if command[0] != "run" && command[0] != "grade" {
            let bo = scene.run(&[command, &["--identity", "bo"]].concat());
            assert_eq!(bo.status.code(), Some(0), "{command:?}: {}", stderr(&bo));
        }
    }
    expect(&install(&scene, "eve"), 3, &["none of the keys"]);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(scene.path("eve"), open).unwrap();
    expect(
        &install(&scene, "eve"),
        3,
        &["others may read it (mode 644)"],
    );
    let closed = scene.run(&["verify", "run"]);
    expect(&closed, 0, &[]);
    let said = flowed(&String::from_utf8_lossy(&closed.stdout));
    assert!(said.contains("its seal and their chains hold"), "{said}");
    // Its twin: one byte of a journal, then one of a blob.
    for name in ["journal/law_trainee.r1.jsonl", "blobs"] {
        let mut path = scene.path("run").join(name);
        if path.is_dir() {
            path = std::fs::read_dir(path)
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path();
        }
        let was = std::fs::read(&path).unwrap();
        let mut now = was.clone();
        let at = now.len() / 2;
        now[at] = if now[at] == b'A' { b'B' } else { b'A' };
        std::fs::write(&path, &now).unwrap();
        let output = scene.run(&["verify", "run"]);
        expect(&output, 3, &[]);
        let said = flowed(&String::from_utf8_lossy(&output.stdout));
        assert!(said.contains("it was changed after the run"), "{said}");
        expect(&scene.run(&["verify", "run", "--identity", "ana"]), 3, &[]);
        std::fs::write(&path, was).unwrap();
    }
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[test]
fn without_a_key_the_archive_is_named_and_no_folder_that_it_was_unpacked_to() {
    let scene = installed();
    let archive = "clinic.pibench";
    let said = "clinic.pibench, which is private: it takes the private key of a recipient";
    for command in [
        &["pack", "install", archive, "--packs", "packs"][..],
        &["pack", "diff", archive, archive, "--packs", "packs"],
    ] {
        let output = scene.run(command);
        expect(&output, 3, &[said, archive]);
        let told = stderr(&output);
        for place in [".new-pack", &*std::env::temp_dir().to_string_lossy()] {
            assert!(!told.contains(place), "{told}");
        }
    }
}

#[test]
fn a_key_with_a_passphrase_opens_by_it_alone() {
    let Some((dir, key)) = made(&["ed25519"], "quince jam") else {
        return;
    };
    let scene = scene();
    let public = dir.path().join("key.pub");
    let args = ["pack", "mine", "--out", "clinic.pibench", "--recipient"];
    let args = [&args[..], &[public.to_str().unwrap()]].concat();
    expect(&scene.run(&args), 0, &[]);
    let key = key.to_str().unwrap();
    expect(&install(&scene, key), 3, &["set PIBENCH_KEY_PASSPHRASE"]);
    let args = ["pack", "install", "clinic.pibench", "--packs", "packs"];
    let with = |passphrase| {
        let variables = [
            ("PIBENCH_KEY_PASSPHRASE", passphrase),
            ("PIBENCH_IDENTITY", key),
        ];
        scene.run_with(&args, &variables)
    };
    expect(&with("plum jam"), 3, &["is not the key's passphrase"]);
    expect(&with("quince jam"), 0, &[]);
}

#[test]
fn a_private_run_is_the_same_bytes_cut_or_in_parts() {
    let scene = installed();
    let twice = ["--agent", "reactive", "--runs", "2"];
    plays(&scene, "whole", &twice);
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        plays(&scene, &out, &[&twice[..], &["--shard", part]].concat());
    }
    let merge = [
        "merge",
        "part-1",
        "part-2",
        "--out",
        "merged",
        "--identity",
        "ana",
    ];
    expect(&scene.run(&merge), 0, &[]);
    let record = |out: &str| {
        let mut found = files(&scene.path(out));
        found.retain(|(name, _)| {
            ["journal/", "blobs/", "trajectories/"]
                .iter()
                .any(|dir| name.starts_with(dir))
        });
        found
    };
    assert_eq!(record("merged"), record("whole"));
    // Cut in the middle, and gone on with.
    copy(&scene.path("whole"), &scene.path("cut"));
    let journal = scene.path("cut/journal/law_trainee.r1.jsonl");
    let text = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() / 2]).unwrap();
    for gone in ["results.json", "seal.json"] {
        std::fs::remove_file(scene.path("cut").join(gone)).unwrap();
    }
    let resume = ["run", "--resume", "cut", "--identity", "bo"];
    expect(&scene.run(&resume), 0, &[]);
    assert_eq!(record("cut"), record("whole"));
    // The parts of a pack with another key are none of this run.
    let other = scene.path("part-2/key.age");
    let identities = Recipient::read(scene.path("ana.pub").to_str().unwrap()).unwrap();
    let [(_, key), _] = keyring::lock(&Files::new(), b"", &identities).unwrap();
    std::fs::write(other, key).unwrap();
    let output = scene.run(&[
        "merge",
        "part-1",
        "part-2",
        "--out",
        "m2",
        "--identity",
        "ana",
    ]);
    assert_ne!(output.status.code(), Some(0));
    assert!(!scene.path("m2").exists());
}

#[test]
fn what_would_lie_there_open_is_refused() {
    let scene = installed();
    plays(&scene, "run", &["--agent", "reference"]);
    plays(&scene, "two", &["--agent", "reference", "--agent", "nop"]);
    let commands: [&[&str]; 8] = [
        &["report", "run", "--out", "out"],
        &["export", "run", "--format", "jsonl", "--out", "out"],
        &["report", "two", "--out", "out"],
        &["export", "two", "--format", "jsonl", "--out", "out"],
        &["audit", "run", "--sheet", "out"],
        &[
            "run", SUITE, "--agent", "nop", "--record", "tape", "--out", "out",
        ],
        &[
            "run",
            SUITE,
            "--agent",
            "nop",
            "--judge-cache",
            "tape",
            "--out",
            "out",
        ],
        &[
            "run",
            SUITE,
            "--agent",
            "nop",
            "--otlp",
            "http://127.0.0.1:9",
            "--otlp-messages",
            "--out",
            "out",
        ],
    ];
    for command in commands {
        let output = scene.run(&[command, &["--identity", "ana"]].concat());
        assert_ne!(output.status.code(), Some(0), "{command:?}");
        let said = stderr(&output);
        assert!(
            said.contains("private") && said.contains("lie there open"),
            "{command:?}: {said}"
        );
        assert!(
            !scene.path("out").exists() && !scene.path("tape").exists(),
            "{command:?}"
        );
    }
    // Their twin: a folder that may be shown.
    expect(
        &scene.run(&["publish", "run", "--out", "shown", "--identity", "ana"]),
        0,
        &[],
    );
    for command in &commands[..2] {
        let args: Vec<&str> = command
            .iter()
            .map(|&one| if one == "run" { "shown" } else { one })
            .collect();
        expect(&scene.run(&args), 0, &[]);
        let out = scene.path("out");
        std::fs::remove_dir_all(out).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_of_a_private_run_has_the_names_that_are_published_and_no_words() {
    let scene = installed();
    plays(&scene, "run", &["--agent", "reference"]);
    let server = server(play).await;
    let audit = ["audit", "run", "--judge", "openai/m", "--json"];
    let audit = [&audit[..], &["--identity", "ana"]].concat();
    let output = run_at(&scene, &audit, &server);
    expect(&output, 0, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("\"reason\""), "{said}");
    let sessions = sessions();
    let intents = sessions.iter().flat_map(|one| &one.intents);
    for intent in intents {
        assert!(!said.contains(&format!("\"{}\"", intent.id)), "{said}");
    }
    let publish = ["publish", "run", "--out", "shown", "--identity", "ana"];
    expect(&scene.run(&publish), 0, &[]);
    let shown = std::fs::read_to_string(scene.path("shown/outline.json")).unwrap();
    let found: Value = serde_json::from_str(&said).unwrap();
    let sessions = found[0]["sessions"].as_array().unwrap();
    assert!(!sessions.is_empty());
    for one in sessions {
        for intent in one["intents"].as_array().unwrap() {
            let name = intent["id"].as_str().unwrap();
            assert!(
                name.starts_with("hidden-") && shown.contains(name),
                "{name}"
            );
        }
    }
}

/// A key pair of age's own, as its tests have it.
pub(crate) const AGE: [&str; 2] = [
    "AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33",
    "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa",
];

#[test]
fn a_key_of_age_opens_a_pack_and_its_runs_and_another_does_not() {
    let scene = scene();
    let pack = [
        "pack",
        "mine",
        "--out",
        "clinic.pibench",
        "--recipient",
        AGE[1],
    ];
    expect(&scene.run(&pack), 0, &[]);
    let path = scene.write("age.key", AGE[0]);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_ne!(install(&scene, "ana").status.code(), Some(0));
    // Whoever names the public half is told so.
    expect(&install(&scene, "ana.pub"), 3, &["it is a public key"]);
    expect(&install(&scene, "age.key"), 0, &[]);
    let run = ["run", SUITE, "--out", "run", "--agent", "nop"];
    assert_ne!(
        scene
            .run(&[&run[..], &["--identity", "ana"]].concat())
            .status
            .code(),
        Some(0)
    );
    let key = ["--identity", "age.key"];
    expect(&scene.run(&[&run[..], &key].concat()), 0, &[]);
    expect(&scene.run(&[&["verify", "run"][..], &key].concat()), 0, &[]);
    assert_nothing_shown(&scene.path("run"));
    assert_nothing_shown(&scene.path("packs"));
}

/// A persona's name and the titles of its sessions stand in files that are encrypted, and no agent is shown them as such.
fn assert_heads(shown: &Path, is_open: bool) {
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(shown.join(name)).unwrap()).unwrap()
    };
    let persona = first_persona();
    let (name, title) = if is_open {
        (persona.name.as_str(), None)
    } else {
        (persona.id.as_str(), Some("withheld"))
    };
    let outline = &read("outline.json")["personas"][0];
    assert_eq!(outline["name"], name);
    let outlined = outline["sessions"].as_array().unwrap();
    assert_eq!(outlined.len(), persona.sessions.len());
    for (outlined, session) in outlined.iter().zip(&persona.sessions) {
        let title = title.unwrap_or(&session.title);
        assert_eq!(outlined["title"], title);
        let whole = format!("trajectories/{}.r1/{}.json", persona.id, session.id);
        if shown.join(&whole).exists() {
            assert_eq!(read(&whole)["title"], title, "{whole}");
        }
    }
}

#[test]
fn of_a_session_that_was_not_played_no_request_is_published() {
    let scene = installed();
    plays(&scene, "run", &["--session", "corrie-extension"]);
    let args = ["publish", "run", "--out", "shown", "--identity", "ana"];
    let more = ["--transcripts", "after-reveal"];
    expect(&scene.run(&[&args[..], &more].concat()), 0, &[]);
    expect(&scene.run(&["verify", "shown"]), 0, &[]);
    let outline = std::fs::read(scene.path("shown/outline.json")).unwrap();
    let outline: Value = serde_json::from_slice(&outline).unwrap();
    let sessions = outline["personas"][0]["sessions"].as_array().unwrap();
    let played = sessions.iter().filter(|one| one["planned"] == true);
    let played = played.count();
    assert!(0 < played && played < sessions.len(), "{played}");
    for session in sessions {
        let is_withheld = session["request"] == "withheld";
        assert_eq!(is_withheld, session["planned"] == false, "{session}");
    }
    for list in ["tools", "skills"] {
        assert!(!outline[list].as_array().unwrap().is_empty(), "{list}");
    }
}

#[test]
fn where_a_persona_was_not_played_no_tools_and_skills_are_published() {
    let scene = Scene::new().with_short();
    let [played, other] = ["law_trainee", "idle"].map(|id| format!("tasks/personas/{id}"));
    copy(&scene.path(&played), &scene.path(&other));
    let persona = format!("{other}/persona.toml");
    scene.replace(&persona, "id = \"law_trainee\"", "id = \"idle\"");
    let listed = "\"personas/law_trainee\"";
    let both = format!("{listed}, \"personas/idle\"");
    scene.replace("tasks/suite.toml", listed, &both);
    let run = ["run", "tasks/suite.toml", "--persona", "law_trainee"];
    let run = [&run[..], &["--session", "corrie-extension", "--out", "run"]].concat();
    expect(&scene.run(&run), 0, &[]);
    for (transcripts, is_told) in [("after-reveal", false), ("all", true)] {
        let publish = ["publish", "run", "--out", transcripts];
        let publish = [&publish[..], &["--transcripts", transcripts]].concat();
        expect(&scene.run(&publish), 0, &[]);
        let outline = scene.path(transcripts).join("outline.json");
        let outline: Value = serde_json::from_slice(&std::fs::read(outline).unwrap()).unwrap();
        for list in ["tools", "skills"] {
            let told = !outline[list].as_array().unwrap().is_empty();
            assert_eq!(told, is_told, "{transcripts}: {list}");
        }
    }
}

#[test]
fn what_is_published_shows_what_its_owner_allows_and_its_scores_follow() {
    let scene = installed();
    plays(&scene, "run", &["--agent", "reactive"]);
    let all: usize = sessions().iter().map(|one| one.intents.len()).sum();
    let public = std::fs::read_to_string(scene.path("ana.pub")).unwrap();
    scene.write("signers", &format!("ana@lab.example {public}\n"));
    for transcripts in ["none", "after-reveal", "all"] {
        let args = ["publish", "run", "--out", transcripts, "--identity", "ana"];
        let more = ["--transcripts", transcripts, "--key", "ana"];
        expect(&scene.run(&[&args[..], &more].concat()), 0, &[]);
        let verified = scene.run(&["verify", transcripts, "--signers", "signers"]);
        expect(&verified, 0, &[]);
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(said.contains("ana@lab.example"), "{said}");
        // The same once more is the same bytes, its signature too.
        let again = ["publish", "run", "--out", "again", "--identity", "ana"];
        expect(&scene.run(&[&again[..], &more].concat()), 0, &[]);
        assert_eq!(files(&scene.path("again")), files(&scene.path(transcripts)));
        std::fs::remove_dir_all(scene.path("again")).unwrap();
        // Of all that it does not show it has the digest.
        let manifest = std::fs::read(scene.path(&format!("{transcripts}/manifest.json"))).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let seal = std::fs::read(scene.path("run/seal.json")).unwrap();
        let seal = blake3::hash(&seal).to_hex().to_string();
        assert_eq!(manifest["published"]["seal"], seal);
        let shown = scene.path(transcripts);
        for name in ["manifest.json", "outline.json", "results.json"] {
            let text = std::fs::read_to_string(shown.join(name)).unwrap();
            assert!(!text.contains(scene.path("").to_str().unwrap()), "{name}");
        }
        let name = &first_persona().name;
        let is_named = texts(&shown).iter().any(|(_, text)| text.contains(name));
        // The agent may have been told the name, which then stands in the transcript.
        assert!(is_named || transcripts != "all", "{name}");
        assert!(!is_named || transcripts != "none", "{name}");
        assert_heads(&shown, transcripts == "all");
        // `reactive` is told every intent: after it is told, it may be shown; what is asked of the work may not.
        let expected = if transcripts == "none" { 0 } else { all };
        assert_eq!(told(&shown), expected, "{transcripts}");
        let page: BTreeSet<_> = files(&shown).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            page.iter().any(|name| name.starts_with("trajectories/")),
            transcripts != "none"
        );
        let criterion = &sessions()[2].checklist[0].criterion;
        let has = texts(&shown)
            .iter()
            .any(|(_, text)| fold(text).contains(&fold(criterion)));
        assert_eq!(has, transcripts == "all", "{transcripts}: {criterion}");
    }
    assert_nothing_shown(&scene.path("none"));
    // Nor does one that was graded again say where the first one lies.
    let again = ["grade", "run", "--out", "graded", "--identity", "ana"];
    expect(&scene.run(&again), 0, &[]);
    let args = ["publish", "graded", "--out", "shown", "--identity", "ana"];
    expect(&scene.run(&args), 0, &[]);
    expect(&scene.run(&["verify", "shown"]), 0, &[]);
    let manifest = std::fs::read_to_string(scene.path("shown/manifest.json")).unwrap();
    assert!(manifest.contains("\"from\": \"run\""), "{manifest}");
    assert!(!manifest.contains(scene.path("").to_str().unwrap()));
    // A score that does not follow from what is shown.
    let path = scene.path("none/results.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut results: Value = serde_json::from_str(&text).unwrap();
    results["proc"] = 99.0.into();
    std::fs::write(&path, serde_json::to_string_pretty(&results).unwrap()).unwrap();
    let output = scene.run(&["verify", "none"]);
    expect(&output, 3, &[]);
    let said = flowed(&String::from_utf8_lossy(&output.stdout));
    assert!(
        said.contains("its scores are not those of the journals"),
        "{said}"
    );
    assert_refused(&scene);
}

/// Nothing is made of what is published already, or not finished.
fn assert_refused(scene: &Scene) {
    expect(
        &scene.run(&["publish", "all", "--out", "again"]),
        3,
        &["published already"],
    );
    // Nor is one gone on with, and nothing is written into it.
    let shown = files(&scene.path("all"));
    let resume = ["run", "--resume", "all"];
    let told = "go on with all: it is a published run; name the run that it was made of";
    expect(&scene.run(&resume), 3, &[told]);
    assert_eq!(files(&scene.path("all")), shown);
    std::fs::remove_file(scene.path("run/results.json")).unwrap();
    let unfinished = ["publish", "run", "--out", "again", "--identity", "ana"];
    expect(&scene.run(&unfinished), 3, &["not finished"]);
}

/// The private files of an archive's pack, as a recipient could take them out.
fn opened(scene: &Scene, name: &str, key: &str) -> Files {
    let mut identities = Identities::default();
    identities.add(&scene.path(key), None).unwrap();
    let dir = tempfile::tempdir().unwrap();
    archive::unpack(&scene.path(name), dir.path()).unwrap();
    let encrypted = std::fs::read(dir.path().join("private.age")).unwrap();
    let packed = identities.decrypt(&encrypted, 1 << 30).unwrap();
    let mut files = archived::unpack(&packed).unwrap();
    // By these it is known what it belongs to.
    for name in ["key.age", "pack.toml"] {
        let own = std::fs::read(dir.path().join(name)).unwrap();
        assert_eq!(files.remove(name), Some(own));
    }
    files
}

/// The owner's own words are nobody's copy alone, and two wordings of a pair are of several.
fn assert_own_and_pooled(scene: &Scene, own: &str, marked: &str) {
    let trace = |leaked: &str| {
        scene.write("leaked", leaked);
        let traced = scene.run(&["pack", "trace", "copies/ledger.json", "leaked"]);
        expect(&traced, 0, &[]);
        String::from_utf8(traced.stdout).unwrap()
    };
    let said = trace(own);
    let unmarked = "Your own, unmarked pack has all of it too: 2 of 2 wordings.";
    assert!(said.starts_with(unmarked), "{said}");
    assert_eq!(said.matches("2 of 2 wordings").count(), 1, "{said}");
    let said = trace(&format!("{own}{marked}"));
    assert!(said.contains("marks of several copies"), "{said}");
    let said = trace(marked);
    let is_odd = said.contains("several copies") || said.contains("Your own");
    assert!(!is_odd, "{said}");
}

#[test]
fn a_leak_of_one_recipients_copy_names_that_recipient() {
    let scene = scene();
    let session = "personas/law_trainee/sessions/corrie-extension/session.toml";
    let line = std::fs::read_to_string(scene.path(&format!("mine/{session}"))).unwrap();
    let title = line
        .lines()
        .find(|line| line.starts_with("title = "))
        .unwrap();
    let exhibit = "personas/law_trainee/sessions/saltmarsh-exhibit/session.toml";
    let own = [session, exhibit].map(|path| {
        let text = std::fs::read_to_string(scene.path(&format!("mine/{path}")));
        text.unwrap()
    });
    let second = own[1].lines().find(|line| line.starts_with("title = "));
    let second = second.unwrap();
    let wording = |path: &str, text: &str, other: &str| {
        format!("[[wordings]]\npath = {path:?}\ntext = {text:?}\nother = {other:?}\n")
    };
    let first = wording(session, title, "title = \"Time for the other side\"");
    let second = wording(exhibit, second, "title = \"A paper for the file\"");
    scene.write(
        "mine/wordings.toml",
        &format!("version = 1\n{first}{second}"),
    );
    let args = ["pack", "mine", "--out", "copies", "--each"];
    let both = ["--recipient", "ana.pub", "--recipient", "bo.pub"];
    let made = scene.run(&[&args[..], &both].concat());
    expect(&made, 0, &[]);
    let said = String::from_utf8(made.stdout).unwrap();
    let first = "copies/clinic-1.0.0-001.pibench: for SHA256:";
    assert!(said.contains(first), "{said}");
    for (at, key) in [(1, "ana"), (2, "bo")] {
        let files = opened(&scene, &format!("copies/clinic-1.0.0-{at:03}.pibench"), key);
        assert!(!files.contains_key("wordings.toml"));
        let text = [&files[session][..], &files[exhibit]].concat();
        let text = String::from_utf8(text).unwrap();
        let canary = text.lines().last().unwrap();
        for leaked in [text.replace(canary, ""), canary.to_owned()] {
            scene.write("leaked", &leaked);
            let traced = scene.run(&["pack", "trace", "copies/ledger.json", "leaked"]);
            expect(&traced, 0, &[]);
            let said = String::from_utf8(traced.stdout).unwrap();
            let first = said.lines().next().unwrap();
            // By its key: what stands beside it is its holder's own word.
            let archive = format!("clinic-1.0.0-{at:03}.pibench: for SHA256:");
            assert!(first.starts_with(&archive), "{said}");
            let comment = format!(" (calls itself {key}@lab.example): ");
            assert!(first.contains(&comment), "{said}");
        }
    }
    scene.write("leaked", "Nothing of it.");
    let traced = scene.run(&["pack", "trace", "copies/ledger.json", "leaked"]);
    let said = String::from_utf8(traced.stdout).unwrap();
    assert!(said.contains("Nothing in it is a mark"), "{said}");
    let files = opened(&scene, "copies/clinic-1.0.0-001.pibench", "ana");
    let text = [&files[session][..], &files[exhibit]].concat();
    assert_own_and_pooled(&scene, &own.concat(), &String::from_utf8(text).unwrap());
    // A copy is a pack as any other to its recipient, and nothing to another.
    let args = [
        "pack",
        "install",
        "copies/clinic-1.0.0-001.pibench",
        "--packs",
        "packs",
    ];
    expect(
        &scene.run(&[&args[..], &["--identity", "bo"]].concat()),
        3,
        &["none of the keys"],
    );
    expect(
        &scene.run(&[&args[..], &["--identity", "ana"]].concat()),
        0,
        &[],
    );
    plays(&scene, "run", &["--agent", "reference"]);
}

#[test]
fn a_folder_with_a_private_packs_files_or_a_private_key_is_not_packed_and_one_that_speaks_of_them_is()
 {
    let scene = installed();
    let pack = |folder: &str, more: &[&str]| {
        scene.run(&[&["pack", folder, "--out", "again.pibench"][..], more].concat())
    };
    let refused = |folder: &str, words: &[&str]| {
        // Encrypted, a key would be its recipients'.
        for more in [&[][..], &["--recipient", "ana.pub"]] {
            expect(&pack(folder, more), 3, words);
            assert!(!scene.path("again.pibench").exists());
        }
    };
    let pass_on = "pass its archive on as it is";
    refused(
        "packs/clinic/1.0.0",
        &["`key.age` is a private pack's", pass_on],
    );
    std::fs::create_dir(scene.path("mine/old")).unwrap();
    let files = scene.path("packs/clinic/1.0.0/private.age");
    std::fs::copy(files, scene.path("mine/old/private.age")).unwrap();
    refused("mine", &["`old/private.age` is a private pack's", pass_on]);
    std::fs::remove_dir_all(scene.path("mine/old")).unwrap();
    let ana = std::fs::read_to_string(scene.path("ana")).unwrap();
    let body = "MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH";
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let post_quantum = AGE[0].replace("KEY-1", "KEY-PQ-1");
    for (key, kind) in [
        (ana.as_str(), "OpenSSH"),
        (AGE[0], "age"),
        (post_quantum.as_str(), "age"),
        (pem.as_str(), "PEM"),
    ] {
        scene.write("mine/notes.txt", &format!("For later:\n{key}\n"));
        let words = format!("`notes.txt` holds a private key of {kind}");
        refused("mine", &[&words, "move it out of the folder"]);
    }
    // The twin: public keys, and words about private ones.
    let public = std::fs::read_to_string(scene.path("ana.pub")).unwrap();
    let told = "It begins with -----BEGIN OPENSSH PRIVATE KEY-----, or AGE-SECRET-KEY-1: show it to nobody.";
    scene.write("mine/notes.txt", &format!("{public}\n{}\n{told}\n", AGE[1]));
    expect(&pack("mine", &[]), 0, &[]);
    std::fs::remove_file(scene.path("again.pibench")).unwrap();
    expect(&pack("mine", &["--recipient", "ana.pub"]), 0, &[]);
}

/// A pack that a stranger encrypted to Ana: whatever it holds, it is read as any other.
#[test]
fn private_files_of_a_stranger_are_held_to_what_open_ones_are() {
    let scene = installed();
    let dir = scene.path("packs/clinic/1.0.0");
    // A folder as a stranger hands it over, and not one that was installed.
    std::fs::remove_file(dir.join("pack.json")).unwrap();
    let sound = opened(&scene, "clinic.pibench", "ana");
    let to = Recipient::read(scene.path("ana.pub").to_str().unwrap()).unwrap();
    let check = |name: Option<&str>, said: &str| {
        let mut files = sound.clone();
        files.extend(name.map(|name| (name.to_owned(), b"x".to_vec())));
        for (name, bytes) in keyring::lock(&files, MANIFEST.as_bytes(), &to).unwrap() {
            std::fs::write(dir.join(name), bytes).unwrap();
        }
        let output = scene.run(&["list", SUITE, "--identity", "ana"]);
        let code = if said.is_empty() { 0 } else { 3 };
        expect(&output, code, &[said]);
    };
    check(None, "");
    for bad in ["a\\b", "a\u{202e}b", "a://b"] {
        check(Some(bad), "the private file");
    }
    check(Some("suite.toml"), "stands in it twice");
    check(Some("suite.toml/x"), "stands below a file");
    check(
        Some("personas/law_trainee/persona.toml/x"),
        "stands below a file",
    );
    let no_age = "not encrypted as age does it";
    for (name, bytes, said) in [
        ("private.age", &b"rubbish"[..], no_age),
        ("private.age", b"", no_age),
        ("key.age", b"rubbish", "made beside another key.age"),
    ] {
        check(None, "");
        std::fs::write(dir.join(name), bytes).unwrap();
        let run = [
            "run",
            SUITE,
            "--agent",
            "nop",
            "--out",
            "run",
            "--identity",
            "ana",
        ];
        let output = scene.run(&run);
        assert_ne!(output.status.code(), Some(0), "{name}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
        assert!(!scene.path("run").exists(), "{name}");
    }
}

/// An archive's files as anybody has them: what is encrypted stays so.
fn take_apart(scene: &Scene, name: &str, to: &str) {
    std::fs::create_dir(scene.path(to)).unwrap();
    archive::unpack(&scene.path(name), &scene.path(to)).unwrap();
}

/// Eve can read a pack of her own and not Ana's. Ana can read both: she would keep what Ana's holds under the key of Eve's.
#[test]
fn private_files_are_taken_beside_the_key_and_the_name_that_they_were_made_for_and_beside_no_other()
{
    let scene = scene();
    let pack = |folder: &str, out: &str, more: &[&str]| {
        let args = ["pack", folder, "--out", out, "--recipient", "ana.pub"];
        expect(&scene.run(&[&args[..], more].concat()), 0, &[]);
        take_apart(&scene, out, &format!("parts/{out}"));
    };
    std::fs::create_dir(scene.path("parts")).unwrap();
    pack("mine", "clinic.pibench", &[]);
    copy(&scene.path("mine"), &scene.path("hers"));
    scene.replace("hers/pack.toml", "clinic", "evil");
    pack("hers", "evil.pibench", &["--recipient", "eve.pub"]);
    let check = |said: &str, change: &dyn Fn(&Path)| {
        let folder = scene.path("swapped");
        copy(&scene.path("parts/evil.pibench"), &folder);
        change(&folder);
        let place = Utf8Path::from_path(&folder).unwrap();
        let (contents, _) = Contents::of(place).unwrap();
        let file = scene.path("swapped.pibench");
        archive::write(&file, place, &contents, None).unwrap();
        let ana = ["--identity", "ana"];
        let install = ["pack", "install", "swapped.pibench", "--packs", "packs"];
        let run = ["run", "swapped/suite.toml", "--out", "run"];
        for command in [&install[..], &run] {
            let output = scene.run(&[command, &ana].concat());
            let is_taken = output.status.code() == Some(0);
            assert_eq!(is_taken, said.is_empty(), "{}", stderr(&output));
            assert!(stderr(&output).contains(said), "{}", stderr(&output));
        }
        assert_eq!(scene.path("run").exists(), said.is_empty());
        assert_eq!(scene.path("packs/evil").exists(), said.is_empty());
        std::fs::remove_file(file).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    };
    let swap = |names: &[&str], to: &Path| {
        for name in names {
            let of_ana = scene.path("parts/clinic.pibench").join(name);
            std::fs::copy(of_ana, to.join(name)).unwrap();
        }
    };
    check("made beside another key.age", &|to| {
        swap(&["private.age"], to);
    });
    check("made beside another pack.toml", &|to| {
        swap(&["private.age", "key.age"], to);
    });
    // Without any key its runs would lie open.
    check("made beside another key.age", &|to| {
        swap(&["private.age", "pack.toml"], to);
        std::fs::remove_file(to.join("key.age")).unwrap();
    });
    // As packs were made that could be put together so.
    let to = Recipient::read(scene.path("ana.pub").to_str().unwrap()).unwrap();
    let packed = archived::pack(&opened(&scene, "clinic.pibench", "ana")).unwrap();
    let early = people::encrypt(&packed, &to).unwrap();
    check("does not say to which key.age it belongs", &|to| {
        std::fs::write(to.join("private.age"), &early).unwrap();
    });
    // The twins: hers as she made it, and Ana's.
    check("", &|_| {});
    expect(&install(&scene, "ana"), 0, &[]);
    plays(&scene, "own", &["--agent", "nop"]);
}

/// A run folder as it is before its first session, with a key.
fn begun(scene: &Scene, name: &str, key: Option<&[u8]>) {
    copy(&scene.path("run"), &scene.path(name));
    let folder = scene.path(name);
    for dir in ["journal", "blobs", "trajectories"] {
        std::fs::remove_dir_all(folder.join(dir)).unwrap();
        std::fs::create_dir(folder.join(dir)).unwrap();
    }
    for file in ["outline.json", "results.json", "seal.json", "timing.jsonl"] {
        std::fs::remove_file(folder.join(file)).unwrap();
    }
    let kept = folder.join("key.age");
    let changed = match key {
        Some(key) => std::fs::write(kept, key),
        None => std::fs::remove_file(kept),
    };
    changed.unwrap();
}

#[test]
fn a_run_folder_with_another_key_than_its_packs_is_not_gone_on_with() {
    let scene = installed();
    plays(&scene, "run", &["--agent", "nop"]);
    let both = ["ana.pub", "eve.pub"].into_iter().flat_map(|name| {
        let path = scene.path(name);
        Recipient::read(path.to_str().unwrap()).unwrap()
    });
    let both: Vec<Recipient> = both.collect();
    let [(_, other), _] = keyring::lock(&Files::new(), b"", &both).unwrap();
    let own = std::fs::read(scene.path("run/key.age")).unwrap();
    for (name, key, is_own) in [
        ("under-other", Some(&other), false),
        ("in-clear", None, false),
        ("under-own", Some(&own), true),
    ] {
        begun(&scene, name, key.map(Vec::as_slice));
        let output = scene.run(&["run", "--resume", name, "--identity", "ana"]);
        let said = stderr(&output);
        assert_eq!(output.status.code() == Some(0), is_own, "{name}: {said}");
        let is_told = said.contains("its key.age is not that of");
        assert_eq!(is_told, !is_own, "{name}: {said}");
        let results = scene.path(name).join("results.json");
        assert_eq!(results.exists(), is_own, "{name}");
    }
}

#[test]
fn a_diff_of_private_releases_names_the_files_that_are_encrypted() {
    let scene = installed();
    let diff = |a: &str, b: &str| {
        let args = ["pack", "diff", a, b, "--json", "--packs", "packs"];
        let output = scene.run(&[&args[..], &["--identity", "ana"]].concat());
        expect(&output, 0, &[]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        found["difference"]["files"].clone()
    };
    // The same files, encrypted or not; the author's wordings are in no private pack.
    scene.write("mine/wordings.toml", "version = 1\n");
    for release in ["clinic.pibench", "clinic@1.0.0"] {
        assert_eq!(diff(release, "mine"), serde_json::json!({}));
        assert_eq!(diff("mine", release), serde_json::json!({}));
    }
    let readings = "mine/personas/law_trainee/readings.md";
    let text = std::fs::read_to_string(scene.path(readings)).unwrap();
    scene.write(readings, &format!("{text}\nOne more.\n"));
    let args = ["pack", "mine", "--out", "next.pibench", "--recipient"];
    expect(&scene.run(&[&args[..], &["ana.pub"]].concat()), 0, &[]);
    let changed = serde_json::json!({ "personas/law_trainee/readings.md": "changed" });
    assert_eq!(diff("clinic.pibench", "next.pibench"), changed);
    assert_eq!(diff("clinic.pibench", "mine"), changed);
}
