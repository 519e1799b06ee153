//! Whole runs of random suites (with an app, rules and staged files, and without) with a model that answers at random,
//! each played at once and once more with kills in between: the same bytes, no panic, and memory within a bound.
//! `RANDOM_RUNS=10000` for more of them, `RANDOM_FIRST=8` for others.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::process::Stdio;

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::{asks_for_memory, is_preflight};
use crate::scaffold;
use crate::scene::{Scene, files};

/// Kilobytes that no run may need.
const MOST: u64 = 512 << 10;

/// Numbers that follow from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn of(seed: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        Self(hasher.finish())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn of_these<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let place = self.below(all.len() as u64);
        all[usize::try_from(place).unwrap()]
    }

    fn text(&mut self) -> String {
        const WORDS: [&str; 16] = [
            "blue",
            "noon",
            "a.md",
            "Which?",
            "{",
            "}",
            "\u{1b}[2J",
            "VERDICT: YES",
            "\u{202e}",
            "[end 0]",
            "\"",
            "\\",
            "\n",
            "\u{0}",
            "=== ITEM 1 ===",
            "é",
        ];
        let words: Vec<&str> = (0..self.below(12)).map(|_| self.of_these(&WORDS)).collect();
        words.join(" ")
    }

    fn path(&mut self) -> String {
        let name = self.of_these(&[
            "a.md",
            "b/c.md",
            "../x",
            "/etc/passwd",
            "memory/MEMORY.md",
            "memory",
            "HEARTBEAT.md",
            "skills",
            "",
            "a.md/",
            "n\u{0}l",
        ]);
        name.to_owned()
    }

    fn command(&mut self) -> String {
        let first = self.of_these(&[
            "cat",
            "echo",
            "rm -r",
            "mkdir -p",
            "ls -R",
            "mv b",
            "mv a.md",
            "seq 30000; ls",
            "(",
        ]);
        let rest = self.path().replace('\0', "");
        let to = self.of_these(&["", "> a.md", "| sort", "; false", "&"]);
        format!("{first} '{rest}' {to}")
    }

    fn call(&mut self) -> (&'static str, Value) {
        match self.below(15) {
            0 => (
                "write_file",
                json!({ "path": self.path(), "content": self.text() }),
            ),
            1 => (
                "read_file",
                json!({ "path": self.path(), "offset": self.below(4) }),
            ),
            2 => (
                "edit_file",
                json!({ "path": self.path(), "old_text": self.text(), "new_text": self.text() }),
            ),
            3 => ("list_dir", json!({ "path": self.path() })),
            4 => ("grep", json!({ "pattern": self.text(), "path": "." })),
            5 => ("glob", json!({ "pattern": self.text() })),
            6 => (
                "message",
                json!({ "content": self.text(), "media": [self.path()] }),
            ),
            7 => ("ask_user", json!({ "question": self.text() })),
            8 => ("no_such_tool", json!({ "a": self.text() })),
            9 => ("exec", json!({ "command": self.command() })),
            10 => (
                "simple_note__login",
                json!({ "username": self.of_these(&["p@a.example", "x"]), "password": "word-1" }),
            ),
            11 => (
                "simple_note__create_note",
                json!({ "title": self.text(), "content": self.text() }),
            ),
            12 => (
                "simple_note__search_notes",
                json!({ "query": self.text(), "page_limit": self.below(30) }),
            ),
            13 => (
                "simple_note__delete_note",
                json!({ "note_id": self.below(4) }),
            ),
            _ => ("write_file", json!([self.text()])),
        }
    }

    fn answer(&mut self) -> Value {
        match self.below(8) {
            0 => scaffold::text(""),
            1..=3 => scaffold::text(&self.text()),
            _ => {
                let calls: Vec<_> = (0..=self.below(4)).map(|_| self.call()).collect();
                scaffold::calls(&calls)
            }
        }
    }
}

/// A persona with one to three sessions of one to three intents, each with an app, a rule and a file or without.
fn write_suite(scene: &Scene, random: &mut Random) {
    scene.write(
        "tasks/suite.toml",
        "version = 1\nid = \"t\"\npersonas = [\"p\"]\nuser = \"lexical\"\njudge = \"lexical\"\nruns = 1\n\
         [session]\nmax_turns = 4\nmax_iterations = 4\n",
    );
    let sessions = 1 + random.below(3);
    let episode: Vec<String> = (0..sessions)
        .map(|n| format!("{{ session = \"s{n}\" }}"))
        .collect();
    let app = random.below(2) == 0;
    let notes = "tools = [\"simple_note__*\"]\nworld = false\n[[people]]\nfirst_name = \"P\"\nlast_name = \"P\"\n\
                 email = \"p@a.example\"\nphone_number = \"5550100001\"\npassword = \"word-1\"\n";
    scene.write(
        "tasks/p/persona.toml",
        &format!(
            "version = 1\nid = \"p\"\nname = \"P\"\nprofile = \"A person.\"\nepisode = [{}]\n{}",
            episode.join(", "),
            if app { notes } else { "" }
        ),
    );
    for number in 0..sessions {
        write_session(scene, random, number, app);
    }
}

fn write_session(scene: &Scene, random: &mut Random, number: u64, app: bool) {
    let dir = format!("tasks/p/sessions/s{number}");
    let mut session = format!(
        "version = 1\nid = \"s{number}\"\ntitle = \"T\"\nclock = 2026-03-0{}T09:00:00\nrequest = \"Request {number}.\"\n",
        number + 1
    );
    if random.below(2) == 0 {
        scene.write(&format!("{dir}/a.md"), &random.text());
        session += "files = [{ source = \"a.md\" }]\n";
    }
    for intent in 0..=random.below(3) {
        let word = random.of_these(&["blue", "noon", "which", "é", "item"]);
        let _ = write!(
            session,
            "[[intents]]\nid = \"i{intent}\"\ncontent = \"It is {word}.\"\n\
             satisfied = {{ all = [[\"{word}\"]] }}\nasked = {{ all = [[\"{word}[^?]*\\\\?\"]] }}\n"
        );
    }
    let conditions = [
        "file = { path = \"a.md\", changed = true }",
        "called = { tool = \"*\", count = { min = 3 } }",
        "said = { text = { matches = \"(?i)blue|noon\" } }",
        "app = { name = \"simple_note\", records = \"notes\", where = { title = { contains = \"a\" } } }",
    ];
    let rules = random.below(3);
    for rule in 0..rules {
        let kinds = if app { 4 } else { 3 };
        let condition = random.of_these(&conditions[..kinds]);
        let _ = write!(
            session,
            "[[checklist]]\nid = \"r{rule}\"\ncriterion = \"It is so.\"\n[checklist.rule]\ngrader = \"rules\"\n\
             config = {{ {condition} }}\n"
        );
    }
    scene.write(&format!("{dir}/session.toml"), &session);
}

/// The kilobytes that a process had at most, as long as it can be asked.
pub(crate) fn peak(id: u32) -> u64 {
    let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    // Until it has begun it is a copy of the process that starts it.
    if name.trim_end() != "pibench-host" {
        return 0;
    }
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok())
        .unwrap_or(0)
}

fn length(scene: &Scene, run: &str) -> u64 {
    let journal = scene.path(run).join("journal/p.r1.jsonl");
    journal.metadata().map_or(0, |data| data.len())
}

/// Plays; `kill`: until the journal has so many bytes. The exit code, None for one that was killed.
fn play(scene: &Scene, args: &[&str], url: &str, out: &str, kill: Option<u64>) -> Option<i32> {
    let mut command = scene.command(args);
    command
        .env("OPENAI_BASE_URL", url)
        .env("OPENAI_API_KEY", "k")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(scene.path("stderr")).unwrap());
    let mut child = command.spawn().unwrap();
    let mut most = 0;
    let ended = loop {
        most = most.max(peak(child.id()));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        if kill.is_some_and(|enough| length(scene, out) > enough) {
            let _ = child.kill();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    let said = std::fs::read_to_string(scene.path("stderr")).unwrap();
    assert!(!said.contains("panicked"), "{said}");
    assert!(most < MOST, "{most} KiB");
    let code = ended.code();
    assert!(
        code.is_none() || matches!(code, Some(0 | 5 | 9)),
        "{code:?}: {said}"
    );
    code
}

/// What does not depend on when it was played.
fn record(scene: &Scene, run: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = files(&scene.path(run));
    found.retain(|(name, _)| {
        ["journal/", "trajectories/", "workspaces/"]
            .iter()
            .any(|dir| name.starts_with(dir))
    });
    found
}

fn one(seed: u64, url: &str) -> u64 {
    let mut random = Random::of(seed);
    let scene = Scene::new();
    write_suite(&scene, &mut random);
    let begin = |out: &'static str| {
        [
            "run",
            "tasks/suite.toml",
            "--agent",
            "openai/m",
            "--out",
            out,
        ]
    };
    assert!(play(&scene, &begin("whole"), url, "whole", None).is_some());
    let whole = length(&scene, "whole");
    let mut kills = 0;
    for _ in 0..=random.below(3) {
        let enough = random.below(whole);
        let ended = if scene.path("cut/manifest.json").exists() {
            play(
                &scene,
                &["run", "--resume", "cut"],
                url,
                "cut",
                Some(enough),
            )
        } else {
            play(&scene, &begin("cut"), url, "cut", Some(enough))
        };
        kills += u64::from(ended.is_none());
    }
    let last = if scene.path("cut/manifest.json").exists() {
        play(&scene, &["run", "--resume", "cut"], url, "cut", None)
    } else {
        play(&scene, &begin("cut"), url, "cut", None)
    };
    assert!(last.is_some());
    let (cut, whole) = (record(&scene, "cut"), record(&scene, "whole"));
    let differ = whole.iter().zip(&cut).find(|(one, other)| one != other);
    if let Some(((name, _), (other, _))) = differ {
        let kept = scene.dir.keep();
        panic!("seed {seed}: {name} and {other} in {}", kept.display());
    }
    assert_eq!(whole.len(), cut.len(), "seed {seed}");
    kills
}

#[tokio::test(flavor = "multi_thread")]
async fn random_runs_that_are_killed_and_gone_on_with_are_those_that_were_not() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |number| number.parse().unwrap())
    };
    let (first, runs) = (number("RANDOM_FIRST", 0), number("RANDOM_RUNS", 8));
    let respond = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let reply = if is_preflight(request) {
            scaffold::text("OK")
        } else if asks_for_memory(&body) {
            let saved = json!({ "history_entry": "Played.", "memory_update": "Blue." });
            scaffold::calls(&[("save_memory", saved)])
        } else {
            // The same question has the same answer.
            Random::of(body["messages"].to_string()).answer()
        };
        ResponseTemplate::new(200).set_body_json(reply)
    };
    // What was asked is wanted by nobody.
    let server = MockServer::builder()
        .disable_request_recording()
        .start()
        .await;
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let url = format!("{}/v1", server.uri());
    let mut kills = 0;
    for played in 1..=runs {
        kills += tokio::task::block_in_place(|| one(first + played - 1, &url));
        if played % 100 == 0 {
            println!("{played} runs, {kills} kills");
        }
    }
    assert!(kills > 0, "nothing was killed");
    println!("{runs} runs, {kills} kills");
}
