//! What the harness itself costs, with scripted models and real guests. `make bench` prints it; figures in documents
//! come from here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use camino::Utf8Path;
use criterion::{Criterion, criterion_group, criterion_main};
use jiff::civil::date;
use pibench_core::path::WorkspacePath;
use pibench_record::{Event, Journal, journal};
use pibench_sandbox::evidence::Evidence;
use pibench_sandbox::shell::{CommandLine, Shell};
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{App, Grader, Limits, Plugins};
use serde_json::json;
use tokio::net::TcpListener;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

fn plugins() -> Plugins {
    Plugins::new(
        BTreeMap::new(),
        vec![root().join("target/plugins")],
        &root().join("target/bench-cache"),
    )
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The embedded suite from process start to process end, compiled plugins cached.
#[expect(clippy::disallowed_methods, reason = "the program itself is measured")]
fn embedded_suite(bench: &mut Criterion) {
    let program = root().join("target/release/pibench-host");
    assert!(
        program.exists(),
        "run `make bench`, which builds the program first"
    );
    let cache = root().join("target/bench-cache");
    let dir = tempfile::tempdir().expect("a folder");
    let mut run = 0;
    bench
        .benchmark_group("program")
        .sample_size(20)
        .bench_function("embedded suite, warm", |bench| {
            bench.iter(|| {
                run += 1;
                let out = dir.path().join(run.to_string());
                let output = Command::new(&program)
                    .args(["run", "tasks/suite.toml", "--json", "--out"])
                    .arg(&out)
                    .env("PIBENCH_CACHE", &cache)
                    .current_dir(root())
                    .output()
                    .expect("the program starts");
                assert!(output.status.success());
            });
        });
    bench
        .benchmark_group("program")
        .sample_size(20)
        .bench_function("--help", |bench| {
            bench.iter(|| {
                Command::new(&program)
                    .arg("--help")
                    .output()
                    .expect("the program starts")
            });
        });
}

fn tool_call(bench: &mut Criterion) {
    let runtime = runtime();
    let plugin = plugins().get("simple_note").expect("make plugins");
    let now = date(2026, 3, 2).at(9, 0, 0, 0);
    let person = json!({"first_name": "A", "last_name": "B", "email": "a@b.example", "phone_number": null, "password": "p"});
    let seed = json!({ "people": [person], "records": {} });
    let mut group = bench.benchmark_group("app");
    let open = || App::open(Arc::clone(&plugin), Limits::APP, [1; 32], &seed, now);
    group.bench_function("open simple_note", |bench| {
        bench.iter(|| runtime.block_on(open()).expect("it opens"));
    });
    let mut app = runtime.block_on(open()).expect("it opens");
    let login = json!({"username": "a@b.example", "password": "p"});
    let token = runtime
        .block_on(app.call("login", &login, now))
        .expect("no fault")
        .expect("no refusal");
    let token = token["access_token"].clone();
    let note = json!({"access_token": token, "title": "t", "content": "c"});
    let id = runtime
        .block_on(app.call("create_note", &note, now))
        .expect("no fault")
        .expect("no refusal");
    let show = json!({"access_token": token, "note_id": id["note_id"]});
    group.bench_function("show_note", |bench| {
        bench.iter(|| {
            runtime
                .block_on(app.call("show_note", &show, now))
                .expect("no fault")
                .expect("no refusal")
        });
    });
    group.bench_function("update_note and snapshot", |bench| {
        let update = json!({"access_token": token, "note_id": id["note_id"], "content": "d"});
        bench.iter(|| {
            runtime
                .block_on(app.call("update_note", &update, now))
                .expect("no fault")
                .expect("no refusal");
            runtime.block_on(app.snapshot()).expect("no fault").len()
        });
    });
    group.finish();
}

fn graders(bench: &mut Criterion) {
    let runtime = runtime();
    let plugins = plugins();
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = Workspace::open(
        Utf8Path::from_path(dir.path()).expect("UTF-8"),
        Quota::default(),
    )
    .expect("it opens");
    let evidence = Evidence {
        turn: 1,
        calls: &[],
        messages: &[],
        changes: &[],
        apps: &[],
    };
    let mut group = bench.benchmark_group("grader");
    let rules =
        Grader::new(plugins.get("rules").expect("make plugins"), Limits::GRADER).expect("a grader");
    let config = json!({ "called": { "tool": "gmail__send_email" } });
    group.bench_function("rules, fresh instance", |bench| {
        bench.iter(|| {
            runtime
                .block_on(rules.grade(&config, &evidence, workspace.view()))
                .expect("no fault")
        });
    });
    let Ok(python) = plugins.get("python") else {
        eprintln!("no python plugin: its bench is left out");
        return;
    };
    let python = Grader::new(python, Limits::PYTHON).expect("a grader");
    let script = "import re, json\n\ndef score(history):\n    return {'sent': int(any(re.search('send', c['tool_name']) for c in history))}\n";
    let config = json!({ "script": script, "protocol": "paper" });
    group.bench_function("python rule script, fresh instance", |bench| {
        bench.iter(|| {
            runtime
                .block_on(python.grade(&config, &evidence, workspace.view()))
                .expect("no fault")
        });
    });
    group.finish();
}

/// A command line and a Python program, each in an instance of its own.
fn shell(bench: &mut Criterion) {
    let runtime = runtime();
    let shell = Shell::new(Arc::new(plugins()), Limits::SHELL, [1; 32]);
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = Workspace::open(
        Utf8Path::from_path(dir.path()).expect("UTF-8"),
        Quota::default(),
    )
    .expect("it opens");
    std::fs::write(dir.path().join("a.csv"), "b,2\na,1\n").expect("it is written");
    let run = |line: &str| {
        let command = CommandLine {
            line,
            working_directory: &WorkspacePath::ROOT,
            timeout: 60,
            now: date(2026, 3, 2).at(9, 0, 0, 0),
        };
        let output = runtime
            .block_on(shell.run(&workspace, command))
            .expect("no fault");
        assert_eq!(output.exit_code, 0, "{output:?}");
        output.fuel
    };
    let mut group = bench.benchmark_group("shell");
    let pipeline = "cat a.csv | grep , | sort | cut -d, -f1 | tr a-z A-Z";
    group.bench_function("a pipeline of five commands, fresh instance", |bench| {
        bench.iter(|| run(pipeline));
    });
    let python =
        "python3 -c 'import csv; print(sum(int(n) for _, n in csv.reader(open(\"a.csv\"))))'";
    group.bench_function("python3 on a file, fresh instances", |bench| {
        bench.iter(|| run(python));
    });
    group.finish();
}

/// How long a model of the bench takes to answer.
const ANSWER: Duration = Duration::from_millis(500);

/// A session of four intents: the agent answers five turns with one call each, and the memory step takes the sixth, so
/// that 3.0 s are the model's own. `tools`: of the persona's apps.
fn write_suite(dir: &Path, base_url: &str, sessions: usize, tools: &str) {
    let suite = format!(
        "version = 1\nid = \"load\"\npersonas = [\"p\"]\n[providers.mock]\nbase_url = \"{base_url}/v1\"\n\
         concurrency = {sessions}\n"
    );
    let persona = format!(
        "version = 1\nid = \"p\"\nname = \"Ada Quill\"\nprofile = \"A clerk.\"\ntools = [{tools}]\n\
         [[episode]]\nsession = \"s\"\n"
    );
    let mut session = "version = 1\nid = \"s\"\ntitle = \"Load\"\nclock = 2026-03-02T09:00:00\n\
                       request = \"Sort the shelf.\"\n"
        .to_owned();
    for number in 1..=4 {
        let intent = format!("[[intents]]\nid = \"i{number}\"\ncontent = \"Wish {number}.\"\n");
        session.push_str(&intent);
    }
    let write = |path: &str, text: &str| {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("suite.toml", &suite);
    write("p/persona.toml", &persona);
    write("p/sessions/s/session.toml", &session);
}

/// Answers so far, and the microseconds that they took in truth: a timer wakes late.
static ANSWERS: AtomicU64 = AtomicU64::new(0);
static ANSWERING: AtomicU64 = AtomicU64::new(0);

/// What six answers took on average since this was asked last.
fn models_own() -> Duration {
    let answers = ANSWERS.swap(0, Ordering::Relaxed).max(1);
    Duration::from_micros(6 * ANSWERING.swap(0, Ordering::Relaxed) / answers)
}

/// Answers each chat after the same time. It runs beside the program on the same processors, so it looks at a body and
/// does not parse it.
async fn answer(body: Bytes) -> impl IntoResponse {
    let asked = Instant::now();
    let memory = str::from_utf8(&body).is_ok_and(|body| body.contains("Call save_memory once"));
    let arguments = json!({"history_entry": "Sorted.", "memory_update": ""}).to_string();
    let call = json!([{"id": "1", "type": "function", "function": {"name": "save_memory", "arguments": arguments}}]);
    let message = if memory {
        json!({"role": "assistant", "content": null, "tool_calls": call})
    } else {
        json!({"role": "assistant", "content": "OK."})
    };
    tokio::time::sleep(ANSWER).await;
    let took = u64::try_from(asked.elapsed().as_micros()).expect("less than a century");
    ANSWERING.fetch_add(took, Ordering::Relaxed);
    ANSWERS.fetch_add(1, Ordering::Relaxed);
    let json = [(CONTENT_TYPE, "application/json")];
    (json, json!({"choices": [{"message": message}]}).to_string())
}

/// Serves [`answer`] at a port of this machine; gives the server's address.
async fn serve_model() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async { axum::serve(listener, Router::new().fallback(answer)).await });
    format!("http://{address}")
}

/// The most memory that a process had so far, in MiB.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// Whether a group that criterion does not measure is wanted: as its filter, the first argument, says.
fn is_wanted(group: &str) -> bool {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    filter.is_none_or(|filter| group.contains(&filter))
}

/// Many sessions at once on a slow model: what the harness adds to the model's own time, and the memory of so many live
/// sessions, without apps and with one that is open in each. One figure for each whole run; a run takes seconds, so
/// nothing is sampled.
fn many_sessions(_: &mut Criterion) {
    if !is_wanted("many sessions") {
        return;
    }
    // The server's connections must not stop it either.
    pibench_host::open_files::make_room();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let base_url = runtime.block_on(serve_model());
    // Kept until all have run: ext4 passes over the places of what was deleted a moment ago, one by one.
    let mut dirs = Vec::new();
    for (sessions, tools, what) in [
        (300, "", "300 sessions at once"),
        (300, "", "300 sessions at once"),
        (300, "", "300 sessions at once"),
        (1000, "", "1,000 sessions at once"),
        (
            1000,
            "\"simple_note__*\"",
            "1,000 sessions at once, each with a notebook",
        ),
    ] {
        let dir = tempfile::tempdir().expect("a folder");
        write_suite(dir.path(), &base_url, sessions, tools);
        let sessions = sessions.to_string();
        let played = program(
            dir.path(),
            &[
                "run",
                "suite.toml",
                "--agent",
                "mock/m",
                "--user",
                "lexical",
                "--judge",
                "lexical",
                "--out",
                "run",
                "--runs",
                &sessions,
                "--jobs",
                &sessions,
            ],
        );
        println!(
            "{what}, six calls of {} ms each: {played} (the model's own: {:.3} s)",
            ANSWER.as_millis(),
            models_own().as_secs_f64(),
        );
        dirs.push(dir);
    }
}

/// What a run of the program took.
struct Took {
    time: Duration,
    /// MiB at most.
    memory: u64,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { time, memory } = self;
        write!(f, "{:.2} s, {memory} MiB", time.as_secs_f64())
    }
}

/// Starts the program in a folder.
#[expect(clippy::disallowed_methods, reason = "the program itself is measured")]
fn start(dir: &Path, args: &[&str]) -> std::process::Child {
    Command::new(root().join("target/release/pibench-host"))
        .args(args)
        .current_dir(dir)
        .env("PIBENCH_CACHE", root().join("target/bench-cache"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Runs the program to its end, which must be a good one.
fn program(dir: &Path, args: &[&str]) -> Took {
    let began = Instant::now();
    let mut child = start(dir, args);
    let mut memory = 0;
    let status = loop {
        memory = peak(child.id()).unwrap_or(memory);
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert!(status.success(), "{args:?} failed");
    Took {
        time: began.elapsed(),
        memory,
    }
}

/// Personas of the scripted suite, and sessions of each.
const PERSONAS: usize = 5;
const EPISODE: usize = 20;

/// 100 sessions of four intents with a workflow of one call and a rule: `reference` plays each in one turn, `nop` in five.
fn write_scripted(dir: &Path) {
    let write = |path: String, text: String| {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    let list = |part: &dyn Fn(usize) -> String, count: usize| -> String {
        (1..=count).map(part).collect()
    };
    let personas = list(&|p| format!("\"p{p}\", "), PERSONAS);
    let suite = format!("version = 1\nid = \"scripted\"\npersonas = [{personas}]\n");
    write("suite.toml".into(), suite);
    for p in 1..=PERSONAS {
        let episode = list(&|s| format!("[[episode]]\nsession = \"s{s}\"\n"), EPISODE);
        let persona = format!(
            "version = 1\nid = \"p{p}\"\nname = \"Ada Quill\"\nprofile = \"A clerk.\"\n{episode}"
        );
        write(format!("p{p}/persona.toml"), persona);
        for s in 1..=EPISODE {
            let intents = list(
                &|i| {
                    format!(
                        "[[intents]]\nid = \"i{i}\"\ncontent = \"Shelf {i} is sorted by colour.\"\n\
                         [intents.satisfied]\nall = [['shelf {i}\\b']]\n"
                    )
                },
                4,
            );
            let said = list(&|i| format!("Shelf {i} by colour. "), 4);
            let session = format!(
                "version = 1\nid = \"s{s}\"\ntitle = \"Load\"\nclock = 2026-03-{s:02}T09:00:00\n\
                 request = \"Sort the shelves.\"\n{intents}\
                 [[checklist]]\nid = \"c\"\ncriterion = \"The list is there.\"\n\
                 [checklist.rule]\ngrader = \"rules\"\n[checklist.rule.config.file]\npath = \"list{s}.md\"\n\
                 [[reference]]\ntool = \"write_file\"\n\
                 arguments = {{ path = \"list{s}.md\", content = \"red, blue\" }}\n\
                 [[reference]]\nsay = \"{said}\"\n"
            );
            write(format!("p{p}/sessions/s{s}/session.toml"), session);
        }
    }
}

/// Scripted sessions in numbers, the way to the first turn, and going on with a long run. One figure each, for whole runs.
fn engine(bench: &mut Criterion) {
    if !is_wanted("engine") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    write_scripted(dir.path());
    let run = |out: &str, more: &[&str]| {
        let first = ["run", "suite.toml", "--jobs", "2", "--out", out];
        program(dir.path(), &[&first[..], more].concat())
    };
    run("cold", &["--persona", "p1"]);
    for warm in 1..=3 {
        let took = run(&format!("warm{warm}"), &[]);
        println!("100 scripted sessions, two jobs, warm: {took}");
    }
    let took = run("many", &["--runs", "50"]);
    println!("5,000 scripted sessions, two jobs: {took}");
    let took = run("long", &["--runs", "20", "--agent", "nop"]);
    println!("10,000 scripted turns in 2,000 sessions: {took}");
    let journal = dir.path().join("long/journal/p5.r20.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let turn = text.rfind("\"event\":\"turn\"").expect("a turn");
    std::fs::write(&journal, &text[..turn]).expect("a cut journal");
    let took = program(dir.path(), &["run", "--resume", "long"]);
    println!("resume of a run of 10,000 turns that lacks its last: {took}");
    first_turn(dir.path());
    journal_lines(bench, &dir.path().join("long/journal/p1.r1.jsonl"));
}

fn first_turn(dir: &Path) {
    let mut times: Vec<Duration> = (0..10)
        .map(|number| {
            let out = format!("first{number}");
            let journal = dir.join(&out).join("journal/p1.r1.jsonl");
            let began = Instant::now();
            let args = ["run", "suite.toml", "--persona", "p1", "--out", &out];
            let mut child = start(dir, &args);
            let there = || {
                std::fs::read_to_string(&journal)
                    .is_ok_and(|text| text.contains("\"event\":\"turn\""))
            };
            while !there() {
                std::thread::sleep(Duration::from_micros(500));
            }
            let time = began.elapsed();
            child.wait().expect("a status");
            time
        })
        .collect();
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1000.0;
    println!("program start to the first turn in the journal: {median:.0} ms (median of 10)");
}

/// What the record of a turn costs: one line of a real journal, hashed and written.
fn journal_lines(bench: &mut Criterion, path: &Path) {
    let events = journal::events(path).expect("a journal");
    let turn = events.iter().find(|event| matches!(event, Event::Turn(_)));
    let turn = turn.expect("a turn");
    let dir = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::create(&dir.path().join("j.jsonl")).expect("a journal");
    bench.bench_function("journal line of a turn", |bench| {
        bench.iter(|| journal.append(turn).expect("a line"));
    });
}

criterion_group!(
    benches,
    many_sessions,
    embedded_suite,
    tool_call,
    graders,
    shell,
    engine
);
criterion_main!(benches);
