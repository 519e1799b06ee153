//! `pibench-host confine`: a command that sees one folder and its own installation, and nothing else of the machine, as agents
//! are run. For those that are started by hand beside `serve`.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::cli::ConfineArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_acp::{Hidden, Installation, confine_command, probe};
use pibench_suite::load::SUITE;

/// Where programs are, when the environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables that every command is given, where they are set.
const ALWAYS: [&str; 4] = ["LANG", "LC_ALL", "TERM", "TZ"];

/// Levels of folders below one that are looked through for suites and runs, and entries of all of them together.
const LEVELS: u32 = 4;
const ENTRIES: usize = 20_000;

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
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let folders = hide.iter().map(|folder| {
        let found = folder.canonicalize();
        found.with_context(|| format!("hide the folder {folder}"))
    });
    let folders: Result<Vec<PathBuf>, _> = folders.chain(suites(&here).map(Ok)).collect();
    let mut hidden = Hidden {
        folders: folders.or_exit(Exit::InvalidInput)?,
        homes: home.into_iter().chain([PathBuf::from("/")]).collect(),
    };
    hidden.folders.extend(secrets(workspace.as_std_path()));
    let shown = hidden.check(workspace.as_std_path());
    shown
        .map_err(|error| anyhow!("{error}; give it an empty folder as --workspace"))
        .or_exit(Exit::InvalidInput)?;
    // Not shown with the program that lies beside them either.
    for place in places(&here, command, read) {
        hidden.folders.extend(secrets(&place));
    }
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

/// The folders of which something may be shown: where it is started, where its files lie, and what it is to read.
fn places(here: &Path, command: &[String], read: &[String]) -> Vec<PathBuf> {
    let files = command.iter().filter(|word| word.contains('/'));
    let folders = files.filter_map(|file| Some(here.join(file).parent()?.to_owned()));
    let read = read.iter().map(|path| here.join(path));
    let all = folders.chain(read).chain([here.to_owned()]);
    let mut all: Vec<PathBuf> = all.filter_map(|place| place.canonicalize().ok()).collect();
    all.sort();
    all.dedup();
    all
}

/// The suites, personas and run folders in a folder and below it: each tells what an agent is measured by. Links lead nowhere for a
/// confined command, and are not followed.
fn secrets(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut looked = 0;
    let mut ahead = VecDeque::from([(folder.to_owned(), 0)]);
    while let Some((folder, level)) = ahead.pop_front() {
        found.extend(secret_of(&folder));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            looked += 1;
            if looked > ENTRIES {
                return found;
            }
            if level < LEVELS && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                ahead.push_back((entry.path(), level + 1));
            }
        }
    }
    found
}

/// A folder of a run or a persona, or the suite file in one.
fn secret_of(folder: &Path) -> Option<PathBuf> {
    let holds = |name: &str| folder.join(name).is_file();
    if holds("persona.toml") || (holds("manifest.json") && holds("outline.json")) {
        return Some(folder.to_owned());
    }
    let suite = folder.join(SUITE);
    let text = holds(SUITE).then(|| std::fs::read_to_string(&suite).ok());
    text.flatten()?.contains("personas").then_some(suite)
}
