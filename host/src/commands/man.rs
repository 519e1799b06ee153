//! `pibench-host man`: the help as manual pages.

use std::io::Write;

use anyhow::Context;
use camino::Utf8Path;
use clap::CommandFactory;
use clap_mangen::{Man, generate_to};

use crate::cli::Cli;
use crate::exit::{Exit, Failure, OrExit};

/// Prints the program's page, or writes those of all commands.
pub(super) fn man(out: Option<&Utf8Path>) -> Result<Exit, Failure> {
    let command = Cli::command();
    if let Some(dir) = out {
        let written = std::fs::create_dir_all(dir).and_then(|()| generate_to(command, dir));
        written
            .with_context(|| format!("write manual pages into {dir}"))
            .or_exit(Exit::Io)?;
        return Ok(Exit::Complete);
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).or_exit(Exit::Io)?;
    std::io::stdout().write_all(&page).or_exit(Exit::Io)?;
    Ok(Exit::Complete)
}
