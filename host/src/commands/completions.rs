//! `pibench-host completions`: what shells complete command lines by.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::exit::{Exit, Failure, OrExit};

pub(super) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "pibench-host", &mut script);
    std::io::stdout().write_all(&script).or_exit(Exit::Io)?;
    Ok(Exit::Complete)
}
