//! What the sandbox costs: instances, calls, snapshots, memory, compiling and loading. Prints a line for each; the
//! aims stand behind it. Criterion is for what is measured over and over; these are medians of the host's own figures.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use camino::Utf8Path;
use jiff::civil::{DateTime, date};
use pibench_core::record::{CallRecord, CallStatus};
use pibench_sandbox::evidence::Evidence;
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{App, Grader, Limits, Plugin, Plugins, Terms};
use pibench_sdk::testkit::Session;
use serde_json::{Value, json};
use simple_note::SimpleNote;
use tokio::runtime::Runtime;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

fn now() -> DateTime {
    date(2026, 3, 2).at(9, 0, 0, 0)
}

fn plugins(cache: &Path, on_demand: bool) -> Plugins {
    let terms = Terms {
        on_demand,
        ..Terms::default()
    };
    let dirs = vec![root().join("target/plugins")];
    Plugins::on_terms([].into(), dirs, cache, terms)
}

fn note_app(on_demand: bool) -> Arc<Plugin> {
    plugins(&root().join("target/bench-cache"), on_demand)
        .get("simple_note")
        .expect("make plugins")
}

/// One account, with notes of so many bytes together.
fn seed(bytes: usize) -> Value {
    let person = json!({"first_name": "A", "last_name": "B", "email": "a@b.example", "phone_number": null, "password": "p"});
    let note = |index: usize| json!({"owner": "a@b.example", "title": format!("note {index}"), "content": "x".repeat(1000)});
    let notes: Vec<Value> = (0..bytes / 1000).map(note).collect();
    json!({ "people": [person], "records": { "notes": notes } })
}

fn open(runtime: &Runtime, plugin: &Arc<Plugin>, seed: &Value) -> App {
    let opened = App::open(Arc::clone(plugin), Limits::APP, [1; 32], seed, now());
    runtime.block_on(opened).expect("it opens")
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn micros(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let done = work();
    (micros(began), done)
}

fn line(what: &str, figure: f64, unit: &str, aim: &str) {
    println!("{what:<48} {figure:>10.1} {unit:<4} {aim}");
}

/// The host's own figure of making an instance: place, store and instantiation.
fn instantiate(runtime: &Runtime) {
    for (name, on_demand) in [("pooled", false), ("on demand", true)] {
        let plugin = note_app(on_demand);
        let one = |_| {
            let mut app = open(runtime, &plugin, &seed(0));
            app.take_measured()[0].instantiate_us as f64
        };
        let all = (0..2000).map(one).collect();
        let aim = if on_demand { "" } else { "aim: at most 10" };
        line(
            &format!("instantiate simple_note, {name}"),
            median(all),
            "us",
            aim,
        );
    }
}

/// Arguments of `update_note` with 200 bytes.
fn update_of_200_bytes(token: &Value, id: &Value) -> Value {
    let mut update = json!({"access_token": token, "note_id": id, "content": ""});
    let rest = 200_usize.saturating_sub(update.to_string().len());
    update["content"] = json!("d".repeat(rest));
    update
}

async fn done(app: &mut App, tool: &str, arguments: &Value) -> Value {
    let answer = app.call(tool, arguments, now()).await;
    answer.expect("no fault").expect("no refusal")
}

/// A call with 200 bytes of arguments, and the same app, natively, through the same door. Both in turns, so that a busy
/// moment of the machine meets both.
fn call(runtime: &Runtime) {
    const ROUNDS: usize = 400;
    /// As many as a turn may have: between turns the host takes a snapshot and what the calls took.
    const CALLS: usize = 50;

    let plugin = note_app(false);
    let mut app = open(runtime, &plugin, &seed(0));
    let mut native = Session::<SimpleNote>::open(&seed(0));
    native.log_in("a@b.example", "p");
    let note = json!({"title": "t", "content": "c"});
    let id = native.ok("create_note", note)["note_id"].take();
    let update = update_of_200_bytes(&json!(native.token), &id);
    runtime.block_on(async {
        let login = json!({"username": "a@b.example", "password": "p"});
        let token = done(&mut app, "login", &login).await["access_token"].take();
        let note = json!({"access_token": token, "title": "t", "content": "c"});
        let id = done(&mut app, "create_note", &note).await["note_id"].take();
        let sandboxed_update = update_of_200_bytes(&token, &id);
        assert_eq!(sandboxed_update.to_string().len(), update.to_string().len());
        let (mut sandboxed, mut natively) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            for _ in 0..CALLS {
                let began = Instant::now();
                done(&mut app, "update_note", &sandboxed_update).await;
                sandboxed.push(micros(began));
            }
            app.snapshot().await.expect("no fault");
            app.take_measured();
            for _ in 0..CALLS {
                natively.push(timed(|| native.ok("update_note", update.clone())).0);
            }
        }
        let (sandboxed, natively) = (median(sandboxed), median(natively));
        let bytes = update.to_string().len();
        let name = format!("update_note with {bytes} bytes of arguments");
        line(&name, sandboxed, "us", "");
        line("the same natively", natively, "us", "");
        line("  ratio", sandboxed / natively, "", "aim: at most 1.5");
    });
}

fn snapshots(runtime: &Runtime) {
    let plugin = note_app(false);
    let seed = seed(1_000_000);
    let (mut takes, mut restores, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..50 {
        let mut app = open(runtime, &plugin, &seed);
        let login = json!({"username": "a@b.example", "password": "p"});
        runtime.block_on(done(&mut app, "login", &login));
        let (took, snapshot) =
            timed(|| runtime.block_on(app.snapshot()).expect("no fault").to_vec());
        takes.push(took);
        bytes = snapshot.len();
        let resumed = App::resume(Arc::clone(&plugin), Limits::APP, [1; 32], snapshot, 1);
        let (took, app) = timed(|| runtime.block_on(resumed).expect("it resumes"));
        restores.push(took);
        drop(app);
    }
    let kb = bytes / 1000;
    line(&format!("snapshot of {kb} kB"), median(takes), "us", "");
    line(&format!("restore of {kb} kB"), median(restores), "us", "");
}

/// Resident memory of this process, in bytes.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse::<f64>().ok());
    pages.unwrap_or_default() * 4096.0
}

fn live_stores(runtime: &Runtime) {
    let plugin = note_app(false);
    drop(open(runtime, &plugin, &seed(0)));
    let before = resident();
    let apps: Vec<App> = (0..1000)
        .map(|_| open(runtime, &plugin, &seed(0)))
        .collect();
    let each = (resident() - before) / 1000.0 / 1024.0;
    let live = apps.iter().filter(|app| app.is_live()).count();
    line(
        &format!("{live} live stores of simple_note, each"),
        each,
        "KiB",
        "aim: below 1048",
    );
}

/// More open apps than there are places: those that rest are snapshots.
fn open_sessions(runtime: &Runtime) {
    const SESSIONS: usize = 10_000;
    let plugin = note_app(false);
    drop(open(runtime, &plugin, &seed(0)));
    let before = resident();
    let apps: Vec<App> = (0..SESSIONS)
        .map(|_| open(runtime, &plugin, &seed(0)))
        .collect();
    let all = (resident() - before) / f64::from(1 << 30);
    let live = apps.iter().filter(|app| app.is_live()).count();
    line(
        &format!("{SESSIONS} sessions with an open app, {live} live"),
        all,
        "GiB",
        "aim: below 1.5",
    );
}

/// A rule script, each time in a fresh interpreter: as a grader of the suite is called.
fn python(runtime: &Runtime) {
    const SCRIPT: &str = "import re, json\n\n\
        def score(history):\n    return {'sent': int(any(re.search('send', c['tool_name']) for c in history))}\n";
    let Ok(plugin) = plugins(&root().join("target/bench-cache"), false).get("python") else {
        return println!("no python plugin: its bench is left out");
    };
    let grader = Grader::new(plugin, Limits::PYTHON).expect("a grader");
    let dir = tempfile::tempdir().expect("a folder");
    let folder = Utf8Path::from_path(dir.path()).expect("UTF-8");
    let workspace = Workspace::open(folder, Quota::default()).expect("it opens");
    let grade = |protocol: &str, turn: u32, calls: &[CallRecord], script: &str| {
        let config = json!({"script": script, "protocol": protocol});
        let evidence = Evidence {
            turn,
            calls,
            messages: &[],
            changes: &[],
            apps: &[],
        };
        let verdict = grader.grade(&config, &evidence, workspace.view());
        timed(|| runtime.block_on(verdict).expect("no fault")).0 / 1e3
    };
    let warm = |protocol: &str, turn: u32, calls: &[CallRecord], script: &str| {
        median(
            (0..200)
                .map(|_| grade(protocol, turn, calls, script))
                .collect(),
        )
    };
    line(
        "python grade, first",
        grade("paper", 1, &[], SCRIPT),
        "ms",
        "",
    );
    grader.take_measured();
    let bare = warm("paper", 1, &[], SCRIPT);
    line("python grade, warm", bare, "ms", "aim: below 2.5");
    let measured = grader.take_measured();
    let instantiate = measured.iter().map(|call| call.instantiate_us as f64 / 1e3);
    line(
        "  of that its instance",
        median(instantiate.collect()),
        "ms",
        "",
    );
    // Calls of another turn are handed over and not read.
    let calls = calls_of_a_session();
    let copied = warm("pi-bench", 2, &calls, SCRIPT);
    let read = warm("paper", 1, &calls, IDLE);
    let all = warm("paper", 1, &calls, SCRIPT);
    line("python grade of 200 calls, 200 KB, warm", all, "ms", "");
    line(
        "  of that the copy of the evidence",
        copied - bare,
        "ms",
        "",
    );
    line("  of that its JSON", read - copied, "ms", "");
    line("  of that the script", (all - read).max(0.0), "ms", "");
}

/// A script that looks at nothing.
const IDLE: &str = "def score(history):\n    return {'sent': 0}\n";

/// As many as a long session has, of a usual size.
fn calls_of_a_session() -> Vec<CallRecord> {
    let rows = vec![json!({"note_id": 7, "title": "Two courts", "tags": ["law", "urgent"]}); 16];
    let result = json!(rows).to_string();
    (1..=200)
        .map(|number| CallRecord {
            number,
            turn: 1,
            tool: "simple_note__search_notes".into(),
            arguments: json!({"query": "court", "page_limit": 20}),
            exact: None,
            status: CallStatus::Ok,
            code: 0,
            result: result.clone(),
        })
        .collect()
}

/// Compiled anew in a folder of its own, then loaded from it by another process's eyes.
fn loading() {
    let dir = root().join("target/plugins");
    let mut names: Vec<String> = std::fs::read_dir(&dir)
        .expect("make plugins")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".wasm").map(str::to_owned))
        .collect();
    names.sort();
    let cache = tempfile::tempdir().expect("a folder");
    // One set of engines: building them is not loading.
    let plugins = plugins(cache.path(), false);
    for what in ["compile", "load compiled"] {
        for name in &names {
            // By its file: every time anew.
            let path = dir.join(format!("{name}.wasm"));
            let (us, _) = timed(|| plugins.load_file(name, &path).expect("it loads"));
            line(&format!("{what} {name}"), us / 1e3, "ms", "");
        }
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    // Names of groups as arguments: only those.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let groups: [(&str, &dyn Fn()); 7] = [
        ("instantiate", &|| instantiate(&runtime)),
        ("call", &|| call(&runtime)),
        ("snapshots", &|| snapshots(&runtime)),
        ("live_stores", &|| live_stores(&runtime)),
        ("open_sessions", &|| open_sessions(&runtime)),
        ("python", &|| python(&runtime)),
        ("loading", &loading),
    ];
    for (name, group) in groups {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            group();
        }
    }
}
