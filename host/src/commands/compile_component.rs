//! `pibench-host compile-component`: the compiling child. Not for people: `plugin::compile` runs it.

use std::time::Duration;

use anyhow::anyhow;

use crate::cli::CompileArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_sandbox::{Profile, compile};

/// Compiles stdin to stdout and ends the process.
pub(super) fn compile_component(args: &CompileArgs) -> Result<Exit, Failure> {
    let profile = Profile::named(&args.profile)
        .ok_or_else(|| anyhow!("find the profile `{}`", args.profile))
        .or_exit(Exit::Usage)?;
    compile::child(profile, Duration::from_millis(args.wall_ms), args.memory)
}
