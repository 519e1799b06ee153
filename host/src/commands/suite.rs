//! `pibench-host suite`, `persona` and `session`: suites as folders, for those who read or write them.

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::{PersonaCommand, SessionCommand, SuiteCommand};
use crate::embedded;
use crate::exit::{Exit, Failure, OrExit};
use pibench_report::draft as folder;
use pibench_suite::draft;
use pibench_suite::draft::{Draft, DraftError};
use pibench_suite::load::{SUITE, suite_above};

pub(super) fn suite(command: &SuiteCommand) -> Result<Exit, Failure> {
    match command {
        SuiteCommand::Export { dir } => export(dir),
        SuiteCommand::New { dir } => {
            let file = dir.join(SUITE);
            write_draft(draft::suite(dir), &format!("check {file}"))
        }
    }
}

pub(super) fn persona(command: &PersonaCommand) -> Result<Exit, Failure> {
    let PersonaCommand::New { suite, id } = command;
    write_draft(draft::persona(suite, id), &format!("check {suite}"))
}

pub(super) fn session(command: &SessionCommand) -> Result<Exit, Failure> {
    let SessionCommand::New { persona, id } = command;
    let suite = suite_above(persona);
    let suite = suite.as_deref().unwrap_or(persona);
    let next = format!("check {suite} --session {id}");
    write_draft(draft::session(persona, id), &next)
}

/// Writes the suite that the program carries.
fn export(dir: &Utf8Path) -> Result<Exit, Failure> {
    let archive = embedded::archive().ok_or_else(|| {
        anyhow!("export the suite: this program was built without one; build it with `make`")
    });
    let archive = archive.or_exit(Exit::InvalidInput)?;
    if dir.exists() {
        return Err(anyhow!(
            "write the suite into {dir}: it is there already, and must be a new folder"
        ))
        .or_exit(Exit::Io);
    }
    let write = || {
        let draft = folder::Draft::of(dir.as_std_path())?;
        archive.export("suite/", draft.path())?;
        draft.publish()
    };
    let written: std::io::Result<()> = write();
    written
        .with_context(|| format!("write the suite into {dir}"))
        .or_exit(Exit::Io)?;
    println!("{dir}/{SUITE}");
    Ok(Exit::Complete)
}

/// Writes a draft, nothing of it over a file that was not to be changed, and says what comes next.
fn write_draft(draft: Result<Draft, DraftError>, next: &str) -> Result<Exit, Failure> {
    let Draft { new, changed } = draft.or_exit(Exit::InvalidInput)?;
    if let Some((path, _)) = new.iter().find(|(path, _)| path.exists()) {
        return Err(anyhow!("write {path}: it is there already")).or_exit(Exit::Io);
    }
    for (path, text) in new.iter().chain(&changed) {
        write(path, text).or_exit(Exit::Io)?;
        println!("{path}");
    }
    pibench_report::tell!("Next: rewrite it, and look at it with `pibench-host {next}`");
    Ok(Exit::Complete)
}

fn write(path: &Utf8PathBuf, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Utf8Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("make {folder}"))?;
    std::fs::write(path, text).with_context(|| format!("write {path}"))
}
