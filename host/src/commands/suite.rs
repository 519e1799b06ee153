//! `pibench-host suite`: suites as folders, for those who read or write them.

use anyhow::{Context, anyhow};
use camino::Utf8Path;

use crate::cli::{SuiteArgs, SuiteCommand};
use crate::embedded;
use crate::exit::{Exit, Failure, OrExit};

pub(super) fn suite(args: &SuiteArgs) -> Result<Exit, Failure> {
    match &args.command {
        SuiteCommand::Export { dir } => export(dir),
    }
}

/// Writes the suite that the program carries.
fn export(dir: &Utf8Path) -> Result<Exit, Failure> {
    let archive = embedded::archive().ok_or_else(|| {
        anyhow!("export the suite: this program was built without one; build it with `make`")
    });
    let archive = archive.or_exit(Exit::InvalidInput)?;
    let written =
        std::fs::create_dir(dir).and_then(|()| archive.export("suite/", dir.as_std_path()));
    written
        .with_context(|| format!("write the suite into {dir}, which must be a new folder"))
        .or_exit(Exit::Io)?;
    println!("{dir}/suite.toml");
    Ok(Exit::Complete)
}
