//! The program: reads the command line, runs one command, exits with its code.

use std::process::ExitCode;

use clap::Parser;
use pibench_host::cli::Cli;
use pibench_host::commands;
use pibench_host::exit::Exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::from_env("PIBENCH_LOG"))
        .without_time()
        .init();
    match commands::dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("error: failed to {:#}", failure.error);
            if failure.exit == Exit::Bug {
                eprintln!(
                    "This is a bug of pibench-host; please report it with the command line above."
                );
            }
            failure.exit.into()
        }
    }
}
