//! What the apps cost over the world: opening them, what they occupy, and single calls, each the first of its kind as
//! well as the thousandth. `make bench` prints it; figures in documents come from here.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::civil::{DateTime, date};
use pibench_sandbox::{App, Limits, Plugins};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const APPS: [&str; 8] = [
    "amazon",
    "gmail",
    "phone",
    "simple_note",
    "splitwise",
    "spotify",
    "todoist",
    "file_system",
];

/// Tools that take no token.
const PUBLIC: [&str; 2] = ["search_users", "search_products"];

/// Calls of one kind.
const CALLS: usize = 1000;
/// Apps that are open at once when the memory of one is measured.
const OPEN: usize = 32;

/// The bench of one app: it is open over the world, and somebody is logged in.
struct Bench<'a> {
    runtime: &'a Runtime,
    app: App,
    name: &'static str,
    token: Value,
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let plugins = Plugins::new(
        BTreeMap::new(),
        vec![root.join("target/plugins")],
        &root.join("target/bench-cache"),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!("\nopen over the world, of {OPEN}: median, and memory of one");
    for name in APPS {
        opening(&runtime, &plugins, name);
    }
    println!("\ncalls over the world, {CALLS} of each: first, median, p99");
    notes(&mut Bench::new(&runtime, &plugins, "simple_note"));
    mail(&mut Bench::new(&runtime, &plugins, "gmail"));
    for tasks in [10, 1000] {
        tasks_in_a_section(&mut Bench::new(&runtime, &plugins, "todoist"), tasks);
    }
    products(&mut Bench::new(&runtime, &plugins, "amazon"));
    for name in APPS {
        Bench::new(&runtime, &plugins, name).snapshots(&plugins);
    }
}

fn opening(runtime: &Runtime, plugins: &Plugins, name: &str) {
    // The first one compiles.
    drop(open(runtime, plugins, name));
    let before = resident();
    let mut times = Vec::new();
    let mut apps = Vec::new();
    for _ in 0..OPEN {
        let start = Instant::now();
        apps.push(open(runtime, plugins, name));
        times.push(start.elapsed());
    }
    let occupied = resident().saturating_sub(before) / OPEN;
    times.sort_unstable();
    println!("{name:>14}  {:>9.1?}  {:>6} KiB", times[OPEN / 2], occupied);
}

fn open(runtime: &Runtime, plugins: &Plugins, name: &str) -> App {
    let plugin = plugins.get(name).expect("make plugins");
    let seed = json!({
        "people": [{
            "first_name": "Ida", "last_name": "Vale", "email": "ida@vale.example", "phone_number": "5550140300",
            "password": "pw",
        }],
        "records": {},
    });
    let opened = App::open(Arc::clone(&plugin), Limits::APP, [1; 32], &seed, now());
    runtime.block_on(opened).expect("it opens")
}

fn now() -> DateTime {
    date(2026, 3, 2).at(9, 0, 0, 0)
}

/// Memory of this process that is its own, in KiB; 0 where the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

impl<'a> Bench<'a> {
    fn new(runtime: &'a Runtime, plugins: &Plugins, name: &'static str) -> Self {
        let mut bench = Self {
            runtime,
            app: open(runtime, plugins, name),
            name,
            token: Value::Null,
        };
        let username = if name == "phone" {
            "5550140300"
        } else {
            "ida@vale.example"
        };
        let login = json!({"username": username, "password": "pw"});
        bench.token = bench.call("login", login)["access_token"].clone();
        bench
    }

    fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        if !self.token.is_null() && !PUBLIC.contains(&tool) {
            arguments["access_token"] = self.token.clone();
        }
        let answer = self
            .runtime
            .block_on(self.app.call(tool, &arguments, now()));
        let answer = answer.expect("no fault").expect("no refusal");
        // As at the end of a turn: or the calls to repeat after a fault would be kept for ever.
        if self.app.calls().is_multiple_of(64) {
            self.runtime
                .block_on(self.app.snapshot())
                .expect("a snapshot");
        }
        answer
    }

    /// Times calls with arguments that are made for each.
    fn measure(&mut self, what: &str, tool: &str, arguments: impl Fn(usize) -> Value) {
        let mut times = Vec::new();
        for number in 0..CALLS {
            let mut arguments = arguments(number);
            if !PUBLIC.contains(&tool) {
                arguments["access_token"] = self.token.clone();
            }
            let start = Instant::now();
            let answer = self
                .runtime
                .block_on(self.app.call(tool, &arguments, now()));
            times.push(start.elapsed());
            answer.expect("no fault").expect("no refusal");
            if number % 64 == 0 {
                self.runtime
                    .block_on(self.app.snapshot())
                    .expect("a snapshot");
            }
        }
        report(self.name, what, times);
    }

    /// The state of an app that somebody used: as bytes, in a new instance, and both: a second app that goes on alike.
    fn snapshots(&mut self, plugins: &Plugins) {
        let plugin = plugins.get(self.name).expect("make plugins");
        let (tool, arguments) = match self.name {
            "phone" => ("get_current_date_and_time", json!({})),
            _ => (
                "login",
                json!({"username": "ida@vale.example", "password": "pw"}),
            ),
        };
        let (mut takes, mut restores, mut forks) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..CALLS / 10 {
            let called = self
                .runtime
                .block_on(self.app.call(tool, &arguments, now()));
            called.expect("no fault").expect("no refusal");
            let start = Instant::now();
            let result = self.runtime.block_on(self.app.snapshot());
            let snapshot = result.expect("a snapshot").to_vec();
            takes.push(start.elapsed());
            bytes = snapshot.len();
            let calls = self.app.calls();
            let plugin = Arc::clone(&plugin);
            let middle = Instant::now();
            let resumed = App::resume(plugin, Limits::APP, [1; 32], snapshot, calls);
            let fork = self.runtime.block_on(resumed).expect("it resumes");
            restores.push(middle.elapsed());
            forks.push(start.elapsed());
            drop(fork);
        }
        report(self.name, &format!("snapshot, {bytes} bytes"), takes);
        report(self.name, "restore", restores);
        report(self.name, "fork", forks);
    }
}

fn report(name: &str, what: &str, mut times: Vec<Duration>) {
    let first = times[0];
    times.sort_unstable();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{name:>14}  {what:<34}  {first:>9.1?}  {median:>9.1?}  {p99:>9.1?}");
}

fn notes(bench: &mut Bench) {
    bench.measure("create_note", "create_note", |number| {
        json!({"title": format!("Note {number}"), "content": "Something to remember.", "tags": ["home"]})
    });
}

fn mail(bench: &mut Bench) {
    let users = bench.call(
        "search_users",
        json!({"query": "larkmail", "page_limit": 1}),
    );
    let to = users[0]["email"].clone();
    bench.measure("send_email", "send_email", |number| {
        json!({"email_addresses": [to], "subject": format!("Hello {number}"), "body": "How are you?"})
    });
}

fn tasks_in_a_section(bench: &mut Bench, tasks: usize) {
    let project = bench.call("create_project", json!({"name": "Work"}))["project_id"].clone();
    let section = bench.call(
        "create_section",
        json!({"project_id": project, "name": "Next"}),
    );
    let task = |number| {
        json!({
            "project_id": project, "section_id": section["section_id"], "title": format!("Task {number}"),
            "description": "",
        })
    };
    // As many as are asked for while it is measured: each one that is added is taken away again.
    for number in 0..tasks {
        bench.call("create_task", task(number));
    }
    let what = format!("create_task, {tasks} in the section");
    let mut times = Vec::new();
    for number in 0..CALLS {
        let mut arguments = task(number);
        arguments["access_token"] = bench.token.clone();
        let start = Instant::now();
        let answer = bench
            .runtime
            .block_on(bench.app.call("create_task", &arguments, now()));
        times.push(start.elapsed());
        let created = answer.expect("no fault").expect("no refusal");
        bench.call("delete_task", json!({"task_id": created["task_id"]}));
    }
    report(bench.name, &what, times);
}

fn products(bench: &mut Bench) {
    const QUERIES: [&str; 4] = [
        "warm desk lamp",
        "wool sweater in blue",
        "noise",
        "tent for two",
    ];
    bench.measure(
        "search_products",
        "search_products",
        |number| json!({"query": QUERIES[number % QUERIES.len()]}),
    );
    bench.measure("search_products, sorted and filtered", "search_products", |number| {
        json!({"query": QUERIES[number % QUERIES.len()], "max_price": 100, "sort_by": "-rating"})
    });
}
