//! A component by itself: whether it loads, what it has, and what it asks for.

use std::sync::Arc;

use camino::Utf8Path;
use serde_json::json;

use super::Found;
use crate::cli::CheckArgs;
use crate::commands::{machine, runtime};
use crate::exit::Failure;
use pibench_core::count::count;
use pibench_engine::plan::{open, read_policy};
use pibench_sandbox::policy::Grants;
use pibench_sandbox::{App, GuestLimits, Limits, Plugin, World};
use pibench_suite::problem::Problem;

/// A plugin by itself: it loads, imports nothing foreign, and says what it has.
pub(super) fn check(path: &Utf8Path, args: &CheckArgs) -> Result<Found, Failure> {
    let policy = args.policy.as_deref().map(read_policy).transpose()?;
    let policy = policy.map(|loaded| loaded.policy).unwrap_or_default();
    let limits = GuestLimits::default();
    let plugins = open(&machine()?, [].into(), Vec::new(), &limits, policy, None)?;
    let name = path.file_stem().unwrap_or("plugin");
    let plugin = match plugins.load_file(name, path.as_std_path()) {
        Ok(plugin) => Arc::new(plugin),
        Err(error) => return Ok(Found::of(vec![Problem::of_file(path, error.to_string())])),
    };
    if plugin.world() != World::ToolApp {
        let world = plugin.world().name();
        return Ok(Found {
            problems: Vec::new(),
            text: format!(
                "{path}: {world}, {} bytes; {}\n",
                plugin.size,
                asks(&plugin)
            ),
            value: json!({
                "world": world,
                "bytes": plugin.size,
                "asks": plugin.declared.names(),
                "grants": plugin.grants.names(),
            }),
        });
    }
    match runtime()?.block_on(App::list_tools(&plugin, Limits::APP)) {
        Ok(tools) => Ok(Found {
            problems: Vec::new(),
            text: format!(
                "{path}: tool app, {}, {} bytes; {}\n",
                count(tools.len(), "tool"),
                plugin.size,
                asks(&plugin)
            ),
            value: json!({
                "world": "tool-app",
                "tools": tools.len(),
                "bytes": plugin.size,
                "asks": plugin.declared.names(),
                "grants": plugin.grants.names(),
            }),
        }),
        Err(error) => Ok(Found::of(vec![Problem::of_file(path, error.to_string())])),
    }
}

/// What a plugin asks for, and what of it it gets.
fn asks(plugin: &Plugin) -> String {
    let list = |grants: Grants| match grants.names().as_slice() {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    format!(
        "asks for {}, is granted {}",
        list(plugin.declared),
        list(plugin.grants)
    )
}
