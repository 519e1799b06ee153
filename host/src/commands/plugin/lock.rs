//! `pibench-host plugin lock`.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::PluginLockArgs;
use crate::commands::{machine, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_report::escape::line;
use pibench_sandbox::described::{self, Described};
use pibench_sandbox::{App, Limits, Plugins, Terms, lock};
use pibench_suite::manifest::PolicyFile;

/// Pins every component of a folder.
pub(super) fn lock(args: &PluginLockArgs) -> Result<Exit, Failure> {
    let dir = match &args.plugins {
        Some(dir) => dir.clone(),
        None => own_dir()?,
    };
    let lock = lock::write(dir.as_std_path()).or_exit(Exit::InvalidInput)?;
    for plugin in &lock.plugins {
        let lock::Locked {
            name,
            version,
            wit: _,
            sha256,
            size,
            source: _,
        } = plugin;
        let version = if version.is_empty() { "-" } else { version };
        println!(
            "{}",
            line(&format!("{name} {version} {sha256} {size} bytes"))
        );
    }
    println!(
        "{dir}/{}: {}",
        lock::FILE,
        count(lock.plugins.len(), "plugin")
    );
    if args.tools {
        let apps = describe(&dir)?;
        println!("{dir}/{}: {}", described::FILE, count(apps, "app"));
    }
    Ok(Exit::Complete)
}

/// Writes down what the apps of a folder say of their tools, once they are pinned; how many apps there are.
fn describe(dir: &Utf8Path) -> Result<usize, Failure> {
    let machine = machine()?;
    let dirs = vec![dir.as_std_path().to_owned()];
    let terms = Terms {
        policy: Some(PolicyFile::default()),
        own: dirs.clone(),
        compiler: Some(machine.compiler),
        ..Terms::default()
    };
    let plugins = Plugins::on_terms(BTreeMap::new(), dirs, &machine.cache, terms);
    let runtime = runtime()?;
    let mut all = Described::default();
    let apps = plugins.tool_apps().or_exit(Exit::InvalidInput)?;
    for app in &apps {
        let plugin = plugins.get(app).or_exit(Exit::InvalidInput)?;
        let listed = runtime.block_on(App::list_tools(&plugin, Limits::APP));
        let listed = listed.or_exit(Exit::InvalidInput)?.into_iter();
        let told = listed.map(|tool| (tool.name, tool.description));
        all.add(&plugin.sha256, told.collect());
    }
    all.write(dir.as_std_path()).or_exit(Exit::Io)?;
    Ok(apps.len())
}

fn own_dir() -> Result<Utf8PathBuf, Failure> {
    machine()?
        .own
        .into_iter()
        .find(|dir| dir.is_dir())
        .ok_or_else(|| anyhow!("find plugins beside the program; name their folder by --plugins"))
        .and_then(|dir| Utf8PathBuf::from_path_buf(dir).map_err(|dir| anyhow!("{}", dir.display())))
        .context("pin plugins")
        .or_exit(Exit::Io)
}
