//! The program: reads the command line, runs one command, exits with its code.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use pibench_engine::stop;
use pibench_host::cli::{Cli, Command, TalkArgs};
use pibench_host::commands;
use pibench_host::embedded;
use pibench_host::exit::{Exit, Failure};
use pibench_host::open_files;
use pibench_model::told::MESSAGES;
use pibench_report::escape::lines;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Empty in a program that was built without `make`.
static ARCHIVE: &[u8] = include_bytes!(env!("PIBENCH_ARCHIVE"));

fn main() -> ExitCode {
    embedded::carry(ARCHIVE);
    open_files::make_room();
    stop_when_unwritten();
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter(cli.talk))
        .without_time()
        .log_internal_errors(false)
        .init();
    end_by_signals(&cli.command);
    match commands::dispatch(cli) {
        Ok(exit) => exit.into(),
        // Who stops to read is told nothing more.
        Err(failure) if is_unread(&failure) => failure.exit.into(),
        Err(failure) => {
            // What a file holds may stand in the reason: it must not reach the terminal as it is.
            let reason = lines(&failure.reason());
            pibench_report::tell!("error: failed to {reason}");
            if failure.exit == Exit::Bug {
                pibench_report::tell!(
                    "This is a bug of pibench-host; please report it with the command line above."
                );
            }
            failure.exit.into()
        }
    }
}

/// What the program logs on stderr beside a run: by the environment, else as was asked for. The text of messages never.
fn filter(talk: TalkArgs) -> EnvFilter {
    let asked = || EnvFilter::try_new(talk.filter()?).ok();
    let own = std::env::var_os("PIBENCH_LOG").map(|_| EnvFilter::from_env("PIBENCH_LOG"));
    let filter = own.or_else(asked).unwrap_or_default();
    match format!("{MESSAGES}=off").parse() {
        Ok(none) => filter.add_directive(none),
        Err(_) => filter,
    }
}

/// A scheduler that wants a run to end is heard before the first turn too, and by whatever is a container's program.
fn end_by_signals(command: &Command) {
    let is_run = matches!(command, Command::Run(_) | Command::Serve(_));
    if (is_run || std::process::id() == 1)
        && let Err(error) = stop::end_at_once()
    {
        // The scheduler kills it a little later.
        tracing::warn!("signals are not heard: {error}");
    }
}

/// Whether what went wrong is that nobody reads the output any more.
fn is_unread(failure: &Failure) -> bool {
    let error = failure.error.downcast_ref::<io::Error>();
    failure.exit == Exit::Io && error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Who stops to read, as `| head` does, wants no more; a disk that is full is told of. The signal that ends other programs would
/// end this one at a broken connection too, so it stays off, and what `println!` makes of either ends here.
fn stop_when_unwritten() {
    let complain = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let reason = panic.payload_as_str().unwrap_or_default();
        let Some(reason) = reason.strip_prefix("failed printing to stdout: ") else {
            return complain(panic);
        };
        if !reason.contains("Broken pipe") {
            pibench_report::tell!("error: failed to write to standard output: {reason}");
        }
        std::process::exit(Exit::Io.code().into());
    }));
}
