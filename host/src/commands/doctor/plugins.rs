//! The plugins that a suite and the agent's own tools need.

use std::collections::BTreeSet;

use super::Finding;
use pibench_engine::plan::{Guests, OF_TOOLS};
use pibench_sandbox::{LoadError, Plugins};
use pibench_suite::suite::Suite;

/// The plugins that the suite and the agent's own tools need: each that cannot be used, and one line for the others.
pub(super) fn look(suite: &Suite, guests: &Guests) -> Vec<Finding> {
    let plugins = &guests.plugins;
    let needed = suite.plugin_names();
    let own = OF_TOOLS.map(str::to_owned);
    let names: BTreeSet<String> = needed.iter().cloned().chain(own).collect();
    let (mut findings, mut there) = (Vec::new(), Vec::new());
    for name in &names {
        let papers = plugins.papers(name).and_then(|papers| {
            let misnamed = Guests::find_misnamed(name, &papers);
            if misnamed.is_none() {
                plugins.decide(name, &papers)?;
            }
            Ok((papers, misnamed))
        });
        match papers {
            Ok((_, Some(reason))) => {
                let found = format!("failed to {reason}");
                findings.push(Finding::problem("plugins", found, "give it another name"));
            }
            Ok((papers, None)) => there.push((name.as_str(), papers.pinned)),
            Err(error @ LoadError::Missing { .. }) if !needed.contains(name) => {
                let found = format!("failed to {error}");
                findings.push(Finding::warning(
                    "plugins",
                    found,
                    "the agent's tools go without it",
                ));
            }
            Err(error) => {
                let found = format!("failed to {error}");
                findings.push(Finding::problem("plugins", found, "mend or build it"));
            }
        }
    }
    findings.push(usable(&there, plugins));
    findings
}

fn usable(there: &[(&str, bool)], plugins: &Plugins) -> Finding {
    let names = |of: &dyn Fn(&(&str, bool)) -> bool| -> Vec<&str> {
        let found = there.iter().filter(|one| of(one));
        found.map(|(name, _)| *name).collect()
    };
    let loose = names(&|(_, pinned)| !pinned);
    let uncompiled = names(&|(name, _)| !plugins.is_compiled(name));
    let mut found = format!("{} needed and found", there.len());
    if !uncompiled.is_empty() {
        let later = uncompiled.join(", ");
        found = format!("{found}; compiled when they are first used: {later}");
    }
    if loose.is_empty() {
        return Finding::ok("plugins", format!("{found}; all pinned"));
    }
    let found = format!("{found}; not pinned: {}", loose.join(", "));
    Finding::warning("plugins", found, "`pibench-host plugin lock` pins a folder")
}
