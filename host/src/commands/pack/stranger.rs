//! What a pack must be like, whoever made it: a suite that loads, without a word that is the operator's, and plugins that are
//! pinned and that this host would load.

use std::collections::BTreeMap;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use crate::commands::{machine, show_problems};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::open;
use pibench_pack::{Contents, File, Manifest, PackError, suite_file};
use pibench_sandbox::{GuestLimits, lock};
use pibench_suite::load::load;
use pibench_suite::manifest::PolicyFile;
use pibench_suite::problem::Problem;
use pibench_suite::suite::Suite;

/// Checks the folder of a pack; its suite. `shown`: what the pack is called in the suite's problems.
pub(super) fn check(
    folder: &Utf8Path,
    shown: &Utf8Path,
    contents: &Contents,
    manifest: &Manifest,
) -> Result<Suite, Failure> {
    check_host(folder, manifest)?;
    suite_file::check(folder, contents)?;
    let path = folder.join(suite_file::FILE);
    let suite = match load(&path) {
        Ok(loaded) => loaded.suite,
        Err(problems) => {
            show_moved(problems.0, folder, shown);
            return Err(anyhow!(
                "take {path} for a suite: it has the problems above"
            ))
            .or_exit(Exit::InvalidInput);
        }
    };
    check_plugins(folder, contents)?;
    Ok(suite)
}

/// Refuses what needs a newer host.
pub(super) fn check_host(folder: &Utf8Path, manifest: &Manifest) -> Result<(), PackError> {
    let host = env!("CARGO_PKG_VERSION");
    if manifest.plays_on(host) {
        return Ok(());
    }
    let needed = manifest.host.as_deref().unwrap_or_default();
    let reason = format!("it needs a pibench-host of {needed}, and this is {host}");
    Err(PackError::refused(folder, reason))
}

/// Shows problems of a folder that nobody knows by the name of what is in it.
pub(super) fn show_moved(problems: Vec<Problem>, folder: &Utf8Path, shown: &Utf8Path) {
    let problems = problems.into_iter();
    let problems: Vec<_> = problems.map(|one| one.moved(folder, shown)).collect();
    show_problems(&problems);
}

/// Every component is pinned by the lock beside it, and one that this host would load. None is compiled.
pub(super) fn check_plugins(folder: &Utf8Path, contents: &Contents) -> Result<(), Failure> {
    let wasm = |path: &str| Utf8Path::new(path).extension() == Some("wasm");
    let mut folders: BTreeMap<Utf8PathBuf, Vec<&File>> = BTreeMap::new();
    for file in contents.files.iter().filter(|file| wasm(&file.path)) {
        let path = folder.join(&file.path);
        let dir = path.parent().unwrap_or(folder);
        folders.entry(dir.to_owned()).or_default().push(file);
    }
    for (dir, components) in &folders {
        check_folder(folder, dir, components)?;
    }
    Ok(())
}

/// The components of one folder, by its lock, which is read once: their author may have made both long.
fn check_folder(folder: &Utf8Path, dir: &Utf8Path, components: &[&File]) -> Result<(), Failure> {
    let pins = dir.join(lock::FILE);
    let lock = lock::read(pins.as_std_path());
    let lock = lock
        .map_err(|error| {
            let pin = format!("pin its plugins by `pibench-host plugin lock --plugins {dir}`");
            anyhow!("{error}; {pin}")
        })
        .or_exit(Exit::InvalidInput)?;
    let pinned = lock.plugins.iter();
    let pinned: BTreeMap<&str, &str> = pinned
        .map(|one| (one.name.as_str(), one.sha256.as_str()))
        .collect();
    let mut places = BTreeMap::new();
    for file in components {
        let path = folder.join(&file.path);
        let name = path.file_stem().unwrap_or_default().to_owned();
        if pinned.get(name.as_str()) != Some(&file.sha256.as_str()) {
            let reason = format!("`{}` is not as {pins} pins it", file.path);
            return Err(PackError::refused(folder, reason).into());
        }
        places.insert(name, path);
    }
    let names: Vec<String> = places.keys().cloned().collect();
    let limits = GuestLimits::default();
    let plugins = open(
        &machine()?,
        places,
        Vec::new(),
        &limits,
        PolicyFile::default(),
        None,
    )?;
    for name in &names {
        plugins.papers(name).or_exit(Exit::InvalidInput)?;
    }
    Ok(())
}

/// The plugins that a suite needs and that neither its pack nor this machine has.
pub(super) fn missing(suite: &Suite) -> Result<Vec<String>, Failure> {
    let own = machine()?.own;
    let there = |name: &String| {
        suite.plugins.contains_key(name)
            || own
                .iter()
                .any(|dir| dir.join(format!("{name}.wasm")).is_file())
    };
    let needed = suite.plugin_names().into_iter();
    Ok(needed.filter(|name| !there(name)).collect())
}
