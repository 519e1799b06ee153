//! `pibench-host plugin lock`.

use anyhow::{Context, anyhow};
use camino::Utf8PathBuf;

use crate::cli::PluginLockArgs;
use crate::commands::machine;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_report::escape::line;
use pibench_sandbox::lock;

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
    Ok(Exit::Complete)
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
