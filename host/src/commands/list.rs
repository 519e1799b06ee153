//! `pibench-host list`: what a suite holds.

use std::collections::BTreeSet;

use anyhow::anyhow;

use super::{guest_limits, plugin_dirs, plugins, runtime, show_problems};
use crate::agent::Toolbox;
use crate::cli::ListArgs;
use crate::exit::{Exit, Failure, OrExit};
use crate::plugin::{App, Limits, Plugins};
use crate::task::load::load;
use crate::task::manifest::PolicyFile;
use crate::task::statistics::{render, statistics};
use crate::task::suite::Suite;

/// Prints the counts of the paper's Tables 2, 3 and 5.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let loaded = load(&args.suite).map_err(|problems| {
        show_problems(&problems.0);
        Failure {
            exit: Exit::InvalidInput,
            error: anyhow!("load {}", args.suite),
        }
    })?;
    let policy = PolicyFile::default();
    let plugins = plugins(
        loaded.suite.plugins.clone(),
        plugin_dirs(args.plugins.as_deref()),
        &guest_limits(&loaded.suite, &policy)?,
        policy,
    )?;
    let tools = runtime()?.block_on(tools(&loaded.suite, &plugins))?;
    print!("{}", render(&statistics(&loaded.suite, &tools)));
    Ok(Exit::Complete)
}

/// The tools that the suite's personas have, built-in ones among them.
async fn tools(suite: &Suite, plugins: &Plugins) -> Result<Vec<String>, Failure> {
    let builtin = Toolbox::new(suite.scaffold, [])
        .map_err(|reason| anyhow!(reason))
        .or_exit(Exit::Bug)?;
    let mut tools: BTreeSet<String> = builtin
        .specs()
        .iter()
        .map(|spec| spec.name.clone())
        .collect();
    for persona in &suite.personas {
        for app in persona.app_names() {
            let plugin = plugins.get(&app).or_exit(Exit::InvalidInput)?;
            let listed = App::list_tools(&plugin, Limits::APP)
                .await
                .or_exit(Exit::InvalidInput)?;
            let wanted = |name: &String| {
                persona.tools.contains(name) || persona.tools.contains(&format!("{app}__*"))
            };
            tools.extend(listed.into_iter().map(|tool| tool.name).filter(wanted));
        }
    }
    Ok(tools.into_iter().collect())
}
