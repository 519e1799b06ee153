//! One command line: the shell is set up with its limits, runs it, and what is left of its output is handed over.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use bashkit::hooks::{HookAction, ToolEvent};
use bashkit::{Bash, Error, ExecOptions, InMemoryFs, LimitExceeded, MountableFs, PosixFs};

use crate::archive::Gzip;
use crate::bindings::exports::pibench::plugin::commands::{Command, Guest, Outcome};
use crate::builtin::{Python, ROOT, STOPPED, Unavailable};
use crate::cut;
use crate::disk::Disk;
use crate::ends::Ends;
use crate::failure::told;
use crate::limits::{self, DEVICES, KEPT};
use crate::time::{Sleep, Time};
use crate::zip_commands::{Unzip, Zip};

/// The exit code of a command that waited too long, as the command `timeout` has it.
const TIMED_OUT: i32 = 124;

/// The exported interface.
pub(crate) struct Component;

impl Guest for Component {
    fn run(command: Command) -> Outcome {
        // The host hears no more of a panic than this.
        std::panic::set_hook(Box::new(|panic| {
            let file = panic.location().map_or("", Location::file);
            eprintln!("{}", told(file, panic.payload_as_str().unwrap_or_default()));
        }));
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
    let cuts = Cuts::default();
    let (sink, seen) = (Arc::clone(&streams), cuts.clone());
    let options = ExecOptions::new().streaming(Box::new(move |stdout, stderr| {
        let mut streams = sink.lock().unwrap_or_else(PoisonError::into_inner);
        streams.stdout.push(stdout.as_bytes());
        streams.stderr.push(stderr.as_bytes());
        stderr.lines().for_each(|line| seen.look_at(line));
    }));
    let ended = match shell(&working_directory, timeout, cuts.clone()) {
        Ok(mut bash) => bash.exec_with_options(&line, options).await,
        Err(error) => Err(error),
    };
    let (exit_code, message, stopped) = match ended {
        Ok(result) => match cuts.first() {
            // In a pipeline the last command's success would hide it.
            Some(cut) => (result.exit_code.max(1), None, Some(cut)),
            None => (result.exit_code, None, None),
        },
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

/// What a command could not give in full, in words; the first of it. Clones are the same.
#[derive(Clone, Default)]
struct Cuts(Arc<Mutex<Option<String>>>);

impl Cuts {
    /// A line of standard error. One that a redirection takes away is not seen: bashkit's hook behind a command comes after
    /// redirections, and has no standard error.
    fn look_at(&self, line: &str) {
        if cut::is_told(line) {
            self.note(format!("the output is not whole: {line}"));
        }
    }

    fn note(&self, cut: String) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(cut);
    }

    fn first(&self) -> Option<String> {
        let first = self.0.lock();
        first.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Stops a command that would read more of a device than bashkit gives, without a word.
fn endless(event: ToolEvent, cuts: &Cuts) -> HookAction<ToolEvent> {
    let ToolEvent { name, args } = &event;
    let device = DEVICES
        .iter()
        .find(|(device, _)| args.iter().any(|argument| argument == device));
    let Some((device, most)) = device else {
        return HookAction::Continue(event);
    };
    let wanted = match name.as_str() {
        "head" => bytes_of_head(args),
        "cat" if *device == "/dev/zero" => u64::MAX,
        _ => 0,
    };
    if wanted <= *most {
        return HookAction::Continue(event);
    }
    cuts.note(format!(
        "{name} gets at most {most} bytes of {device}: use dd or python3"
    ));
    HookAction::Cancel("more than the device gives".into())
}

/// The bytes that `head` is asked for; all of them where that is not told plainly.
fn bytes_of_head(arguments: &[String]) -> u64 {
    let mut arguments = arguments.iter();
    let count = arguments.find_map(|argument| argument.strip_prefix("-c"));
    match count {
        Some("") => arguments.next().and_then(|count| count.parse().ok()),
        Some(count) => count.parse().ok(),
        None => None,
    }
    .unwrap_or(u64::MAX)
}

/// A shell whose only door is the workspace.
fn shell(working_directory: &str, timeout: u32, cuts: Cuts) -> bashkit::Result<Bash> {
    let memory = InMemoryFs::with_limits(limits::memory_files());
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
        .limits(limits::execution(timeout))
        .session_limits(limits::session())
        .memory_limits(limits::variables())
        .before_tool(Box::new(move |event| endless(event, &cuts)))
        .builtin("sleep", Box::new(Sleep(time)))
        .builtin("zip", Box::new(Zip))
        .builtin("unzip", Box::new(Unzip))
        .builtin("python3", Box::new(Python(time)))
        .builtin("python", Box::new(Python(time)));
    for name in ["gzip", "gunzip", "zcat"] {
        builder = builder.builtin(name, Box::new(Gzip(name)));
    }
    for command in Unavailable::ALL {
        builder = builder.builtin(command.name(), Box::new(command));
    }
    Ok(builder.build())
}
