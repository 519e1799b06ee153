//! What the scaffold itself costs, with a scripted model: a turn, a long session, and the memory of a session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use jiff::civil::date;
use pibench_agent::{Agent, AgentPrompts, Channel, Environment, Setup, Toolbox, TurnLimits};
use pibench_core::path::WorkspacePath;
use pibench_core::vocabulary::{Protocol, Scaffold, ScaffoldPrompt};
use pibench_model::Model;
use pibench_model::scripted::Scripted;
use pibench_model::web::{Corpus, Web};
use pibench_record::SessionClock;
use pibench_record::event::Jobs;
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{Documents, Limits, Plugins, Shell};
use pibench_suite::suite::Step;
use serde_json::json;

const LIMITS: TurnLimits = TurnLimits {
    iterations: 500,
    timeout: Duration::from_mins(1),
};

const SETUP: Setup = Setup {
    protocol: Protocol::Paper,
    window: 65_536,
    channel: Channel::Chat,
};

/// A workspace with one file of 2 KiB.
fn environment(dir: &std::path::Path) -> Environment {
    let path = Utf8Path::from_path(dir).expect("UTF-8");
    let mut workspace = Workspace::open(path, Quota::default()).expect("it opens");
    let file = WorkspacePath::parse("note.md").expect("a path");
    workspace
        .write(
            &file,
            "a line of sixty-four characters, as notes and letters have them\n"
                .repeat(32)
                .as_bytes(),
        )
        .expect("room");
    let prompts = AgentPrompts::new(ScaffoldPrompt::default(), None, None);
    // No tool of these benches calls a guest.
    let plugins = Arc::new(Plugins::new(BTreeMap::new(), Vec::new(), dir));
    Environment {
        workspace,
        apps: BTreeMap::new(),
        shell: Shell::new(Arc::clone(&plugins), Limits::SHELL, [1; 32]),
        documents: Documents::new(plugins, Limits::DOCUMENT),
        clock: SessionClock::new(date(2026, 3, 2).at(9, 0, 0, 0)),
        toolbox: Toolbox::new(Scaffold::default(), []).expect("schemas"),
        prompts: Arc::new(prompts.expect("built-in prompts")),
        web: Arc::new(Web::offline(Corpus::default())),
        vision: true,
        jobs: Jobs::default(),
        woken: 0,
        calls: 0,
    }
}

/// A workflow of so many calls. Each is another one: the same call is refused after three times.
fn model(calls: usize) -> Model {
    let call = |number: usize| Step::Call {
        tool: "read_file".into(),
        arguments: json!({ "path": "note.md", "limit": 100 + number }),
        save: None,
    };
    let steps = (0..calls).map(call).collect();
    Model::Scripted(Scripted::Reference { steps })
}

fn turns(bench: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let dir = tempfile::tempdir().expect("a folder");
    let mut environment = environment(dir.path());
    let mut group = bench.benchmark_group("scaffold");
    // 5: a usual turn. 60, 120, 240: results of 2 KiB in a session that grows; the time has to grow with it, no faster.
    for calls in [5, 60, 120, 240] {
        let model = model(calls);
        let system = Agent::system_prompt(&environment).expect("a prompt");
        group.bench_with_input(
            BenchmarkId::new("calls of 2 KiB", calls),
            &calls,
            |bench, _| {
                bench.iter(|| {
                    let mut agent = Agent::new(&model, SETUP, &environment.toolbox, system.clone());
                    let turn = agent.turn(&mut environment, 1, "Read the note.", LIMITS);
                    runtime.block_on(turn).steps.len()
                });
            },
        );
    }
    group.finish();
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn memory(_: &mut Criterion) {
    const SESSIONS: u64 = 200;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let model = model(20);
    let dir = tempfile::tempdir().expect("a folder");
    let before = resident();
    let mut live = Vec::new();
    for number in 0..SESSIONS {
        let dir = dir.path().join(number.to_string());
        std::fs::create_dir(&dir).expect("a folder");
        let mut environment = environment(&dir);
        let system = Agent::system_prompt(&environment).expect("a prompt");
        let mut agent = Agent::new(&model, SETUP, &environment.toolbox, system);
        runtime.block_on(agent.turn(&mut environment, 1, "Read the note.", LIMITS));
        live.push((agent, environment));
    }
    let each = (resident() - before) / SESSIONS;
    println!(
        "scaffold/memory of a live session with 20 results of 2 KiB: {} KiB",
        each / 1024
    );
    drop(live);
}

criterion_group!(benches, turns, memory);
criterion_main!(benches);
