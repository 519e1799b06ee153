//! `pibench-host list`: what a suite holds, and the tools that there are.

use anyhow::anyhow;

use super::run::EMBEDDED;
use super::{guest_limits, offered_tools, plugin_dirs, plugins, runtime, show_problems};
use crate::cli::ListArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_suite::load::load;
use pibench_suite::manifest::PolicyFile;
use pibench_suite::statistics::{render, statistics};

/// Prints the counts of the paper's Tables 2, 3 and 5.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let path = args.suite.clone().unwrap_or_else(|| EMBEDDED.into());
    let loaded = load(&path).map_err(|problems| {
        show_problems(&problems.0);
        Failure {
            exit: Exit::InvalidInput,
            error: anyhow!("load {path}"),
        }
    })?;
    let suite = loaded.suite;
    let policy = PolicyFile::default();
    let plugins = plugins(
        suite.plugins.clone(),
        plugin_dirs(args.plugins.as_deref()),
        &guest_limits(&suite, &policy)?,
        policy,
        None,
    )?;
    let apps = plugins.tool_apps().or_exit(Exit::InvalidInput)?;
    let tools = runtime()?.block_on(offered_tools(&suite, &plugins, apps))?;
    let names: Vec<String> = tools.into_iter().map(|tool| tool.name).collect();
    print!("{}", render(&statistics(&suite, &names)));
    Ok(Exit::Complete)
}
