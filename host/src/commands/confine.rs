//! `pibench-host confine`: a command that sees one folder and its own installation, and nothing else of the machine, as agents
//! are run. For those that are started by hand beside `serve`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::cli::ConfineArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_acp::{Hidden, Installation, confine_command, listening, probe};
use pibench_core::count::list_first;
use pibench_engine::acp::settings;
use pibench_report::escape;
use pibench_suite::catalog;
use pibench_suite::manifest::AgentFile;
use pibench_vault::keyring;

/// Where programs are, when the environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables that every command is given, where they are set.
const ALWAYS: [&str; 4] = ["LANG", "LC_ALL", "TERM", "TZ"];

/// Sockets that are named.
const NAMED: usize = 8;

/// Runs a command in the place of this process.
pub(super) fn confine(args: &ConfineArgs) -> Result<Exit, Failure> {
    let ConfineArgs {
        workspace,
        environment,
        read,
        hide,
        command,
    } = args;
    let path = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
    let confinement = probe(OsStr::new(&path));
    let confinement = confinement
        .map_err(anyhow::Error::from)
        .or_exit(Exit::Setup)?;
    let workspace = workspace
        .canonicalize_utf8()
        .with_context(|| format!("open the folder {workspace}"))
        .or_exit(Exit::InvalidInput)?;
    let mut given = BTreeMap::from([("PATH".to_owned(), path.clone())]);
    for name in ALWAYS
        .iter()
        .copied()
        .chain(environment.iter().map(String::as_str))
    {
        match std::env::var(name) {
            Ok(value) => drop(given.insert(name.to_owned(), value)),
            Err(_) if ALWAYS.contains(&name) => {}
            Err(_) => {
                return Err(anyhow!(
                    "give the command the variable {name}: it is not set"
                ))
                .or_exit(Exit::Usage);
            }
        }
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    // As all that is hidden: without links.
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let keys = keyring::key_files().iter().map(PathBuf::as_path);
    let named = hide.iter().map(|folder| folder.as_std_path()).chain(keys);
    let folders = named.map(|path| {
        let found = path.canonicalize();
        found.with_context(|| format!("hide the folder {}", path.display()))
    });
    let folders: Result<Vec<PathBuf>, _> = folders.chain(suites(&here).map(Ok)).collect();
    let hidden = Hidden {
        folders: folders.or_exit(Exit::InvalidInput)?,
        homes: home.into_iter().chain([PathBuf::from("/")]).collect(),
        tasks: true,
    };
    let shown = hidden.check_workspace(workspace.as_std_path());
    shown
        .map_err(|error| anyhow!("{error}; give it an empty folder as --workspace"))
        .or_exit(Exit::InvalidInput)?;
    let found = Installation::find(command, read, &OsString::from(path), &here, &hidden);
    let installation = found
        .map_err(anyhow::Error::from)
        .or_exit(Exit::InvalidInput)?;
    let mut confined =
        confine_command(&confinement, &installation, &given, workspace.as_std_path());
    let error = confined.exec();
    Err(anyhow!("start {}: {error}", installation.program.display())).or_exit(Exit::Io)
}

/// What of a suite lies where a checkout or an export has it: an agent that read it would know what it is measured by.
fn suites(here: &Path) -> impl Iterator<Item = PathBuf> {
    let places = [("tasks/suite.toml", "tasks"), ("suite.toml", "personas")];
    let there = places
        .into_iter()
        .filter(|(suite, _)| here.join(suite).is_file());
    there.filter_map(|(_, folder)| here.join(folder).canonicalize().ok())
}

/// What of the machine a confined agent among these reaches beside its network, in words; None where there is nothing.
pub(super) fn reachable(agents: &str, own: &BTreeMap<String, AgentFile>) -> Option<String> {
    let is_confined = |name: &str| matches!(settings(name, own), Some(Ok((_, true))));
    let names = catalog::panel(agents).any(is_confined).then(listening)?;
    let all = list_first(&names, NAMED);
    (!names.is_empty()).then(|| {
        format!(
            "a confined agent reaches what listens at abstract Unix sockets of this machine, with your user id: {}",
            escape::line(&all)
        )
    })
}
