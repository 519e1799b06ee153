//! The whole way that docs/sharing.md tells, run as it stands there: a pack with a grader is signed, taken by policy, encrypted,
//! measured by three, and a board ranks the two that are honest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use pibench_board::submission::{self, List};
use pibench_suite::load::load;
use pibench_vault::{Identities, Key};
use serde_json::Value;
use wiremock::MockServer;

use crate::board::send_list;
use crate::hidden::assert_hidden;
use crate::hub::Hub;
use crate::models::{KEY, play, server};
use crate::openssh::made;
use crate::scene::{Scene, expect, files, root, stderr};
use crate::verify::forge;

/// The section's blocks of commands.
fn blocks() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/sharing.md")).unwrap();
    let (_, section) = page
        .split_once("\n## The whole way, in commands\n")
        .unwrap();
    assert!(!section.contains("\n## "), "it is the last section");
    let parts = section.split("```\n").skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// The pack that Ana wrote: two sessions, and a rule of the first one by her own grader.
fn write_pack(scene: &Scene) {
    for args in [
        &["suite", "new", "clinic"][..],
        &["session", "new", "clinic/personas/first", "second"],
    ] {
        expect(&scene.run(args), 0, &[]);
    }
    scene.write(
        "clinic/pack.toml",
        "version = 1\nname = \"clinic\"\nrelease = \"1.0.0\"\nlicense = \"MIT\"\nauthors = [\"Ana <ana@lab.example>\"]\n",
    );
    scene.write("clinic/LICENSE", "Take it, and say whose it is.\n");
    fs::create_dir(scene.path("clinic/plugins")).unwrap();
    let rules = root().join("target/plugins/rules.wasm");
    fs::copy(rules, scene.path("clinic/plugins/own.wasm")).unwrap();
    let add = |path: &str, more: &str| {
        let text = fs::read_to_string(scene.path(path)).unwrap();
        scene.write(path, &(text + more));
    };
    add(
        "clinic/suite.toml",
        "\n[plugins]\nown = \"plugins/own.wasm\"\n",
    );
    add(
        "clinic/personas/first/sessions/first/session.toml",
        "
[[checklist]]
id = \"house-read\"
criterion = \"the note on the house was opened\"

[checklist.rule]
grader = \"own\"
config = { called = { tool = \"read_file\", arguments = { path = \"house.md\" } } }
accepts = [[{ tool = \"read_file\", arguments = { path = \"house.md\" } }]]
rejects = [[{ tool = \"write_file\", arguments = { path = \"first.md\", content = \"08:00\" } }]]
",
    );
}

/// The shell in a scene's folder, with the program at hand and models that answer.
fn shell(scene: &Scene, server: &MockServer, lines: &str) -> Command {
    scene.write("lines.sh", lines);
    let program = scene.alone(&[]).get_program().to_owned();
    let folder = Path::new(&program).parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let mut command = scene.started_here("bash");
    command
        .args(["-eu", "lines.sh"])
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("OPENAI_BASE_URL", format!("{}/v1", server.uri()))
        .env("OPENAI_API_KEY", KEY)
        .env("TMPDIR", scene.path("tmp"));
    command
}

fn run(mut command: Command) -> String {
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// What a recipient does who would have liked to be found better: a verdict is changed, and all that follows from it is made
/// anew, with the key that the recipient has.
fn cheat(scene: &Scene, run: &str, name: &str) {
    let mut identities = Identities::default();
    identities.add(&scene.path(name), None).unwrap();
    let encrypted = fs::read(scene.path(&format!("{run}/key.age"))).unwrap();
    let key = Key::of(&identities.decrypt(&encrypted, 1 << 10).unwrap()).unwrap();
    let path = format!("{run}/journal/first.r1.jsonl");
    let mut changed = 0;
    forge(scene, &path, |line| {
        let private = STANDARD.decode(line["private"].as_str().unwrap()).unwrap();
        let event = String::from_utf8(key.decrypt(&private).unwrap()).unwrap();
        let other = if event.contains("\"session_finished\"") {
            event.replace("\"provided\"", "\"completed\"")
        } else {
            event.clone()
        };
        changed += usize::from(other != event);
        line["private"] = STANDARD
            .encode(key.encrypt(other.as_bytes()).unwrap())
            .into();
    });
    assert!(changed > 0, "nothing was there to be changed");
    let lines = fs::read(scene.path(&path)).unwrap();
    let seal = scene.path(&format!("{run}/seal.json"));
    let mut sealed: Value = serde_json::from_slice(&fs::read(&seal).unwrap()).unwrap();
    sealed["files"]["journal/first.r1.jsonl"] = blake3::hash(&lines).to_hex().to_string().into();
    fs::write(&seal, serde_json::to_string_pretty(&sealed).unwrap() + "\n").unwrap();
    let runs = [scene.path(run)];
    fs::remove_file(scene.path(&format!("sent/{name}.submission"))).unwrap();
    send_list(scene, &List::of(&runs).unwrap(), name, name, &runs);
}

/// Texts of more than a few words in a value.
fn texts(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) if text.len() >= 20 => vec![text.clone()],
        toml::Value::Array(entries) => entries.iter().flat_map(texts).collect(),
        toml::Value::Table(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// All that a session file says of what is hidden: intents and items with their patterns and examples, rules, references.
fn all_hidden(scene: &Scene, session: &str) -> Vec<String> {
    let path = format!("clinic/personas/first/sessions/{session}/session.toml");
    let file: toml::Table = fs::read_to_string(scene.path(&path))
        .unwrap()
        .parse()
        .unwrap();
    let parts = ["intents", "checklist", "reference"].map(|key| file.get(key).map(texts));
    let all: Vec<String> = parts.into_iter().flatten().flatten().collect();
    assert!(all.len() > 3, "{session}");
    all
}

/// Nothing that is hidden stands in clear in any file below a folder.
fn assert_nothing_shown(scene: &Scene, folder: &str) {
    let suite = scene.path("clinic/suite.toml");
    let suite = load(Utf8Path::from_path(&suite).unwrap()).unwrap().suite;
    let all = files(&scene.path(folder));
    assert!(all.len() > 3, "{folder}");
    for (name, bytes) in all {
        let text = String::from_utf8_lossy(&bytes);
        for session in &suite.personas[0].sessions {
            assert_hidden(&text, &name, session);
            for secret in all_hidden(scene, &session.id) {
                assert!(!text.contains(&secret), "{folder}/{name} shows {secret}");
            }
        }
    }
}

/// As the board's keeper checks a submission.
const CHECK: [&str; 10] = [
    "submit",
    "check",
    "--suite",
    "packs/clinic/1.0.0/suite.toml",
    "--policy",
    "policy.toml",
    "--rules",
    "board.toml",
    "--signers",
    "signers",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_page_on_sharing_plays_from_the_first_key_to_the_board() {
    if made(&["ed25519"], "").is_none() {
        return;
    }
    let scene = Scene::new();
    let server = server(play).await;
    fs::create_dir(scene.path("tmp")).unwrap();
    write_pack(&scene);
    let blocks = blocks();
    let [sign, take, measure, host, hub, rank] = blocks.as_slice() else {
        panic!("the page has {} blocks", blocks.len());
    };
    let shell = |lines: &str| shell(&scene, &server, lines);
    run(shell(sign));
    run(shell(take));
    let manifest = fs::read(scene.path("trial/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(
        manifest["plugins"]["own"]["signed"]["by"],
        "ana@lab.example"
    );
    run(shell(measure));
    assert_nothing_shown(&scene, "packs");
    cheat(&scene, "dan-run", "dan");
    assert_nothing_shown(&scene, "ben-run");
    run(shell(host));
    let hub = Hub::started(shell(&format!("exec {hub}")));
    let token = fs::read_to_string(scene.path("eve.token")).unwrap();
    let eve = hub.as_of(token.trim());
    let begun = eve.begin().await;
    let episode = eve.open(&begun).await;
    eve.play(&episode).await;
    assert_eq!(eve.ended(&begun).await["state"], "finished");
    assert_eq!(hub.end(), Some(0));
    assert_nothing_shown(&scene, "books");
    // One who sends a record of the private suite in clear does not get it onto the site, nor what its changed verdicts should be.
    forge(&scene, "trial/journal/first.r1.jsonl", |line| {
        let items = line.get_mut("items").and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            item["pass"] = (item["pass"] != true).into();
        }
    });
    let open = [scene.path("trial")];
    let out = scene.path("sent/open.submission");
    submission::write(&out, &List::of(&open).unwrap(), None, &open).unwrap();
    let check_open = [&CHECK[..], &["sent/open.submission", "--identity", "mia"]];
    let output = scene.run(&check_open.concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("its record lies in it open"), "{said}");
    let said = run(shell(rank));
    assert!(
        said.contains("2 runs ranked, 2 submissions refused"),
        "{said}"
    );
    assert_nothing_shown(&scene, "site");
    assert_eq!(
        files(&scene.path("tmp")),
        [],
        "what was unpacked for a moment is gone"
    );
    assert_ranked(&scene);
    // Who has a key is told what it is.
    let check = [&CHECK[..], &["sent/dan.submission"]].concat();
    let with = scene.run(&[&check[..], &["--identity", "ben"]].concat());
    let said = String::from_utf8(with.stdout).unwrap();
    assert_eq!(with.status.code(), Some(3), "{said}");
    assert!(said.contains("do not follow from its turns"), "{said}");
    let without = scene.run(&check);
    assert_eq!(without.status.code(), Some(3));
    let said = String::from_utf8_lossy(&without.stdout).into_owned() + &stderr(&without);
    assert!(said.contains("which is private"), "{said}");
}

/// The site ranks Ben's and Eve's, and says why it does not rank the others.
fn assert_ranked(scene: &Scene) {
    let board = fs::read(scene.path("site/board.json")).unwrap();
    let board: Value = serde_json::from_slice(&board).unwrap();
    let rankings = board["rankings"].as_array().unwrap();
    assert_eq!(rankings.len(), 1, "they stand in one: {board}");
    let rows = rankings[0]["rows"].as_array().unwrap().iter();
    let verified: BTreeMap<&str, &str> = rows
        .map(|row| {
            (
                row["agent"].as_str().unwrap(),
                row["verified"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("external:mine", "played-by-board"),
        ("openai/ben", "replayed"),
    ];
    assert_eq!(verified, BTreeMap::from(expected), "{board}");
    assert_eq!(board["refused"][0]["name"], "dan");
    let reasons = board["refused"][0]["reasons"].to_string();
    assert!(
        reasons.contains("its private record does not hold together"),
        "{reasons}"
    );
    let reasons = board["refused"][1]["reasons"].as_array().unwrap();
    let [unsigned, open] = &reasons[..] else {
        panic!("{reasons:?}");
    };
    assert!(unsigned.to_string().contains("nobody signed it"));
    assert!(open.to_string().contains("run-1: its suite is private"));
}
