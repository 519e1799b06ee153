//! `pibench-host prompts`: the built-in prompts as a folder, for those who write their own.

use std::{fs, io};

use anyhow::{Context, anyhow};

use crate::cli::PromptsCommand;
use crate::exit::{Exit, Failure, OrExit};
use pibench_agent::AgentPrompts;
use pibench_engine::role::prompts::Prompts;
use pibench_report::draft::Draft;

/// Writes the built-in prompts, each under the name by which `--prompts` takes its place.
pub(super) fn prompts(command: &PromptsCommand) -> Result<Exit, Failure> {
    let PromptsCommand::Export { dir } = command;
    if dir.exists() {
        return Err(anyhow!(
            "write the prompts into {dir}: it is there already, and must be a new folder"
        ))
        .or_exit(Exit::Io);
    }
    let write = || {
        let draft = Draft::of(dir.as_std_path())?;
        for (file, text) in Prompts::built_in().chain(AgentPrompts::BUILT_IN) {
            fs::write(draft.path().join(file), text)?;
        }
        draft.publish()
    };
    let written: io::Result<()> = write();
    written
        .with_context(|| format!("write the prompts into {dir}"))
        .or_exit(Exit::Io)?;
    println!("{dir}");
    pibench_report::tell!(
        "Next: delete those that stay as they are, rewrite the others, and play with `pibench-host run --prompts {dir}`"
    );
    Ok(Exit::Complete)
}
