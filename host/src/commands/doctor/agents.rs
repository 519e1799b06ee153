//! Agents that are processes of their own: whether each can be found, confined and started, and opens a session, and what it
//! reaches of the machine all the same.

use std::time::Instant;

use super::Finding;
use crate::commands::confine::reachable;
use crate::commands::{make_temporary_folder, runtime};
use crate::exit::Failure;
use pibench_core::player;
use pibench_engine::acp::{greet, hide, prepare};
use pibench_suite::catalog;
use pibench_suite::catalog::{ReadyAgent, ready_agents};
use pibench_suite::suite::Suite;

/// Starts each agent, and tells it nothing but hello.
pub(super) fn look(suite: &Suite) -> Result<Vec<Finding>, Failure> {
    let names = catalog::panel(&suite.agent).filter(|name| player::process(name).is_some());
    let looked: Result<Vec<Finding>, Failure> = names.map(|name| look_at(name, suite)).collect();
    let mut findings = looked?;
    findings.extend(reachable(&suite.agent, &suite.agents).map(|found| {
        let remedy = "end what listens there, or play where nothing does: SECURITY.md";
        Finding::warning("sockets", found, remedy)
    }));
    Ok(findings)
}

fn look_at(name: &str, suite: &Suite) -> Result<Finding, Failure> {
    // Of a built-in one it is known what is mostly missing.
    let what = player::process(name).map_or(name, |(what, _)| what);
    let ready = ready_agents()
        .remove(what)
        .filter(|_| !suite.agents.contains_key(what));
    let remedy = match &ready {
        Some(ReadyAgent { install, needs, .. }) => {
            let needs = needs.join(" or ");
            format!("`{install}` installs it, and it needs {needs}: docs/agents.md")
        }
        None => "docs/agents.md says what an agent needs".to_owned(),
    };
    let problem = |error: &dyn std::fmt::Display| {
        Finding::problem("agent", format!("failed to {error}"), remedy.clone())
    };
    let folder = make_temporary_folder()?;
    let prepared = match prepare(name, suite, hide(suite, None), folder.path(), None) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(problem(&error)),
    };
    let needs = ready.map(|ready| ready.needs).unwrap_or_default();
    let given = &prepared.launch.environment;
    let is_confined = prepared.launch.confined.is_some();
    // One that is not confined may find its login in the operator's home.
    if is_confined && !needs.is_empty() && !needs.iter().any(|key| given.contains_key(key)) {
        let found = format!("{name} is given no key: {} is not set", needs.join(" or "));
        let remedy = format!("export {}=...", needs[0]);
        return Ok(Finding::problem("agent", found, remedy));
    }
    let began = Instant::now();
    let greeted = runtime()?.block_on(greet(&prepared));
    Ok(match greeted {
        Ok(memory) => {
            let confined = if is_confined {
                "confined"
            } else {
                "unconfined"
            };
            let ms = began.elapsed().as_millis();
            let program = prepared.launch.installation.program;
            let program = program.display();
            let found = format!(
                "{name} ({program}), {confined}, opened a session in {ms} ms and holds {} MiB{}",
                memory >> 20,
                fitting(memory),
            );
            Finding::ok("agent", found)
        }
        Err(error) => problem(&error),
    })
}

/// How many such agents the machine has room for now, for `--jobs`; nothing where that is not known.
fn fitting(memory: u64) -> String {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = told
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = free.and_then(|free| free.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let agents = free.and_then(|free| (free << 10).checked_div(memory));
    agents.map_or_else(String::new, |agents| {
        format!(": {agents} such fit into the free memory")
    })
}
