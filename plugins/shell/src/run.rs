//! One command line: the shell is set up with its limits, runs it, and what is left of its output is handed over.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashkit::{
    Bash, Error, ExecOptions, ExecutionLimits, FsLimits, InMemoryFs, LimitExceeded, MountableFs,
    PosixFs,
};

use crate::bindings::exports::pibench::plugin::commands::{Command, Guest, Outcome};
use crate::builtin::{Python, ROOT, STOPPED, Unavailable};
use crate::disk::Disk;
use crate::ends::Ends;
use crate::time::{Sleep, Time};

/// What is kept of each stream, in bytes.
const KEPT: usize = 64 << 10;

/// Files outside of the workspace, together, in bytes: they live in this instance's memory.
const MEMORY_FILES: u64 = 64 << 20;

/// The exit code of a command that waited too long, as the command `timeout` has it.
const TIMED_OUT: i32 = 124;

/// The exported interface.
pub(crate) struct Component;

impl Guest for Component {
    fn run(command: Command) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            // Where everything sleeps, the clock jumps: `sleep` takes no real time and ends in the same order each
            // time.
            .start_paused(true)
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(run(command)),
            Err(error) => Outcome {
                stdout: String::new(),
                stderr: format!("bash: failed to start: {error}\n"),
                exit_code: 1,
                stopped: None,
            },
        }
    }
}

/// Both streams as they come.
struct Streams {
    stdout: Ends,
    stderr: Ends,
}

async fn run(command: Command) -> Outcome {
    let Command {
        line,
        working_directory,
        timeout,
    } = command;
    let streams = Arc::new(Mutex::new(Streams {
        stdout: Ends::new(KEPT),
        stderr: Ends::new(KEPT),
    }));
    let sink = Arc::clone(&streams);
    let options = ExecOptions::new().streaming(Box::new(move |stdout, stderr| {
        let mut streams = sink.lock().unwrap_or_else(PoisonError::into_inner);
        streams.stdout.push(stdout.as_bytes());
        streams.stderr.push(stderr.as_bytes());
    }));
    let ended = match shell(&working_directory, timeout) {
        Ok(mut bash) => bash.exec_with_options(&line, options).await,
        Err(error) => Err(error),
    };
    let (exit_code, message, stopped) = match ended {
        Ok(result) => (result.exit_code, None, None),
        Err(Error::ResourceLimit(LimitExceeded::Timeout(limit))) => {
            let reason = format!("it waited longer than its {} s", limit.as_secs());
            (TIMED_OUT, None, Some(reason))
        }
        Err(Error::ResourceLimit(limit)) => (STOPPED, None, Some(limit.to_string())),
        Err(error @ Error::Parse { .. }) => (2, Some(error.to_string()), None),
        Err(error) => (1, Some(error.to_string()), None),
    };
    let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(message) = message {
        streams.stderr.push(format!("bash: {message}\n").as_bytes());
    }
    let Streams { stdout, stderr } = std::mem::replace(
        &mut *streams,
        Streams {
            stdout: Ends::new(0),
            stderr: Ends::new(0),
        },
    );
    Outcome {
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        exit_code: (exit_code & 0xff) as u8,
        stopped,
    }
}

/// A shell whose only door is the workspace.
fn shell(working_directory: &str, timeout: u32) -> bashkit::Result<Bash> {
    let memory = InMemoryFs::with_limits(FsLimits::new().max_total_bytes(MEMORY_FILES));
    let files = MountableFs::new(Arc::new(memory));
    files.mount(ROOT, Arc::new(PosixFs::new(Disk)))?;
    let time = Time::new();
    let mut builder = Bash::builder()
        .fs(Arc::new(files))
        // No `/etc`, no `/proc`: not even invented ones.
        .rootfs(false)
        .username("agent")
        .hostname("workspace")
        .env("HOME", ROOT)
        .cwd(format!("{ROOT}/{working_directory}").trim_end_matches('/'))
        .limits(limits(timeout))
        .builtin("sleep", Box::new(Sleep(time)))
        .builtin("python3", Box::new(Python(time)))
        .builtin("python", Box::new(Python(time)));
    for command in Unavailable::ALL {
        builder = builder.builtin(command.name(), Box::new(command));
    }
    Ok(builder.build())
}

/// The bounds of one command line, below those of the host, so that a shell that runs into one can still say so.
fn limits(timeout: u32) -> ExecutionLimits {
    ExecutionLimits::new()
        .max_commands(10_000)
        .max_loop_iterations(10_000)
        .max_total_loop_iterations(100_000)
        .max_background_jobs(64)
        // A stream is cut to its ends afterwards; what a redirection writes to a file is bounded by this too.
        .max_stdout_bytes(64 << 20)
        .max_stderr_bytes(1 << 20)
        .timeout(Duration::from_secs(timeout.into()))
}
