//! The script of a job array for Slurm.

use anyhow::anyhow;
use camino::Utf8PathBuf;
use minijinja::context;

use super::render;
use crate::cli::ScriptArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_store::is_stored;

const SLURM: &str = include_str!("../../../templates/cluster/slurm.sh");

/// A task for each part.
pub(super) fn script(args: &ScriptArgs, parts: u32) -> Result<String, Failure> {
    let here = std::env::current_dir().or_exit(Exit::Io)?;
    let here = Utf8PathBuf::try_from(here).or_exit(Exit::Io)?;
    let program = std::env::current_exe().or_exit(Exit::Io)?;
    let program = Utf8PathBuf::try_from(program).or_exit(Exit::Io)?;
    let stored = is_stored(args.out.as_str());
    let (out, log) = if stored {
        // Slurm writes what a task says into files.
        let name = args.out.file_name().unwrap_or("run");
        (args.out.clone(), here.join(format!("{name}-log")))
    } else {
        let out = here.join(&args.out);
        let log = out.join("log");
        (out, log)
    };
    for path in [&here, &out, &log] {
        // Slurm reads some of these in paths of its own, and has no way to write them otherwise.
        if path.as_str().contains(['"', '%', '\\', '\n']) {
            return Err(anyhow!(
                "print a script for {path}: Slurm takes no path with a quote, a percent sign, a backslash or a line break"
            ))
            .or_exit(Exit::Usage);
        }
    }
    if args.image.is_some() || args.queue.is_some() {
        return Err(anyhow!(
            "print a script for Slurm: --image and --queue are for Kubernetes"
        ))
        .or_exit(Exit::Usage);
    }
    let options: Vec<String> = args.options.iter().map(|word| quoted(word)).collect();
    render(
        SLURM,
        context! {
            parts, options, at_once => args.at_once,
            here_plain => here.as_str(), out_plain => out.as_str(), host_plain => program.as_str(),
            host => quoted(program.as_str()), out => quoted(out.as_str()),
            log_plain => log.as_str(), log => quoted(log.as_str()),
        },
    )
}

/// A word as a shell has to be told it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
