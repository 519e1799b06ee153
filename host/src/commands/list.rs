//! `pibench-host list`: what a suite holds, and the tools that there are.

use anyhow::anyhow;

use super::{embedded_suite, machine, offered_tools, runtime, show_problems};
use crate::cli::ListArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{limits, open, search};
use pibench_suite::load::load;
use pibench_suite::manifest::PolicyFile;
use pibench_suite::statistics::{render, statistics};

/// Prints the counts of the paper's Tables 2, 3 and 5.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let path = args.suite.clone().map_or_else(embedded_suite, Ok)?;
    let loaded = load(&path).map_err(|problems| {
        show_problems(&problems.0);
        Failure {
            exit: Exit::InvalidInput,
            error: anyhow!("load {path}"),
        }
    })?;
    let suite = loaded.suite;
    let machine = machine()?;
    let policy = PolicyFile::default();
    let limits = limits(&suite, &policy)?;
    let dirs = search(&machine, args.plugins.as_deref());
    let of_suite = suite.plugins.clone();
    let plugins = open(&machine, of_suite, dirs, &limits, policy, None)?;
    let apps = plugins.tool_apps().or_exit(Exit::InvalidInput)?;
    let tools = runtime()?.block_on(offered_tools(&suite, &plugins, apps))?;
    let names: Vec<String> = tools.into_iter().map(|tool| tool.name).collect();
    print!("{}", render(&statistics(&suite, &names)));
    Ok(Exit::Complete)
}
