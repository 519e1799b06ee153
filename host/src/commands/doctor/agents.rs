//! Agents that are processes of their own: whether each can be found, confined and started, and opens a session.

use std::time::Instant;

use super::Finding;
use crate::commands::runtime;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::player;
use pibench_engine::acp::{Hidden, greet, prepare};
use pibench_suite::catalog;
use pibench_suite::catalog::{ReadyAgent, ready_agents};
use pibench_suite::suite::Suite;

/// Starts each agent, and tells it nothing but hello.
pub(super) fn look(suite: &Suite) -> Result<Vec<Finding>, Failure> {
    let names = catalog::panel(&suite.agent).filter(|name| player::process(name).is_some());
    names.map(|name| look_at(name, suite)).collect()
}

fn look_at(name: &str, suite: &Suite) -> Result<Finding, Failure> {
    // Of a built-in one it is known what is mostly missing.
    let what = player::process(name).map_or(name, |(what, _)| what);
    let ready = ready_agents()
        .remove(what)
        .filter(|_| !suite.agents.contains_key(what));
    let remedy = match ready {
        Some(ReadyAgent { install, needs, .. }) => {
            format!("`{install}` installs it, and it needs {needs}: docs/agents.md")
        }
        None => "docs/agents.md says what an agent needs".to_owned(),
    };
    let problem = |error: &dyn std::fmt::Display| {
        Finding::problem("agent", format!("failed to {error}"), remedy.clone())
    };
    let folder = tempfile::tempdir().or_exit(Exit::Io)?;
    let prepared = match prepare(name, suite, Hidden::default(), folder.path(), None) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(problem(&error)),
    };
    let began = Instant::now();
    let greeted = runtime()?.block_on(greet(&prepared));
    Ok(match greeted {
        Ok(()) => {
            let confined = match prepared.launch.confined {
                Some(_) => "confined",
                None => "unconfined",
            };
            let ms = began.elapsed().as_millis();
            let program = prepared.launch.installation.program;
            let program = program.display();
            Finding::ok(
                "agent",
                format!("{name} ({program}), {confined}, opened a session in {ms} ms"),
            )
        }
        Err(error) => problem(&error),
    })
}
