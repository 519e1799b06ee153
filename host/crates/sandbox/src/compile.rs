//! Compiling a component that nobody vouches for, in a process of its own: this program again, with limits that it sets
//! itself before it looks at the first byte. The one place where the host starts a process. It hands over bytes and
//! takes bytes; the child gets no environment, no argument of a guest's choice, and writes no file.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::engine::{self, Effort};
use super::fault::bounded;
use super::limits::LoadLimits;
use super::profile::Profile;
use super::served::patience;

/// The hidden command that is the child.
pub const COMMAND: &str = "compile-component";

/// The child's own words for its exit.
const INVALID: i32 = 3;
const TOO_SLOW: i32 = 4;
const STARVED: i32 = 5;

/// Threads that compile.
const THREADS: u32 = 2;

/// How often the child looks at its time at least.
const TICK: Duration = Duration::from_millis(100);

/// More compiled code than this is not taken; the Python component's is some 130 MiB.
const CODE: u64 = 512 << 20;

/// Why there is no compiled component.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("it cannot be compiled: {0}")]
    Invalid(String),
    #[error("compiling it takes two processors longer than {} ms", .0.as_millis())]
    TooSlow(Duration),
    #[error(
        "the machine is busy, and had hardly a processor for compiling it; try again when it is not"
    )]
    Starved,
    #[error("compiling it takes more than {0} bytes of memory")]
    TooLarge(usize),
    #[error("the compiling process failed: {0}")]
    Host(String),
}

/// Compiles in a child process, `program` being this program.
pub(super) fn in_child(
    program: &Path,
    profile: Profile,
    wasm: &[u8],
    limits: LoadLimits,
) -> Result<Vec<u8>, CompileError> {
    let LoadLimits {
        component_bytes: _,
        compile_wall,
        compile_memory,
    } = limits;
    let host = |error: std::io::Error| CompileError::Host(error.to_string());
    #[expect(
        clippy::disallowed_methods,
        reason = "the one process that the host starts: itself, under limits"
    )]
    let mut command = std::process::Command::new(program);
    let mut child = command
        .arg(COMMAND)
        .arg(profile.name())
        .arg(compile_wall.as_millis().to_string())
        .arg(compile_memory.to_string())
        .env_clear()
        // Each thread reserves address space for its allocator and its stack.
        .env("RAYON_NUM_THREADS", THREADS.to_string())
        .env("MALLOC_ARENA_MAX", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(host)?;
    // The child reads all before it writes; one that ends early is told by its exit.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(wasm);
    }
    let mut code = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(CODE).read_to_end(&mut code).map_err(host)?;
    }
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let mut bytes = Vec::new();
        stderr.take(8192).read_to_end(&mut bytes).map_err(host)?;
        said = String::from_utf8_lossy(&bytes).into_owned();
    }
    let status = child.wait().map_err(host)?;
    judge(status, &said, limits).map(|()| code)
}

fn judge(status: ExitStatus, said: &str, limits: LoadLimits) -> Result<(), CompileError> {
    // Of the allocator, of reading, of mmap, and of a thread that gets no stack.
    let no_memory = [
        "memory allocation of",
        "out of memory",
        "Cannot allocate memory",
        "Resource temporarily unavailable",
    ]
    .iter()
    .any(|words| said.contains(words));
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        _ if no_memory => Err(CompileError::TooLarge(limits.compile_memory)),
        (Some(INVALID), _) => Err(CompileError::Invalid(bounded(said.trim()))),
        (Some(STARVED), _) => Err(CompileError::Starved),
        // SIGKILL and SIGXCPU are what the limit of processor time ends with.
        (Some(TOO_SLOW), _) | (None, Some(9 | 24)) => {
            Err(CompileError::TooSlow(limits.compile_wall))
        }
        _ => Err(CompileError::Host(format!(
            "{status}: {}",
            bounded(said.trim())
        ))),
    }
}

/// The child: limits itself, reads a component from stdin, writes compiled code to stdout, and ends.
pub fn child(profile: Profile, wall: Duration, memory: usize) -> ! {
    // Who started it reads the code to its end before these words: they have to fit into a pipe.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{}", bounded(&panic.to_string()));
    }));
    let code = match compile(profile, wall, memory) {
        Ok(()) => 0,
        Err(reason) => {
            eprintln!("{}", bounded(&reason));
            INVALID
        }
    };
    std::process::exit(code);
}

/// The exit of a child that has worked for too long, or waited for a processor without end. Other work of the machine makes none
/// late.
fn late(worked: Duration, elapsed: Duration, wall: Duration) -> Option<i32> {
    if worked >= wall.saturating_mul(THREADS) {
        return Some(TOO_SLOW);
    }
    (elapsed >= patience(wall)).then_some(STARVED)
}

/// The processor time of all threads of this process.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn compile(profile: Profile, wall: Duration, memory: usize) -> Result<(), String> {
    let alarm = std::thread::Builder::new().name("alarm".into());
    // A thread and not a signal: what the compiler does cannot keep it from ending the process.
    let started = alarm.spawn(move || {
        let begun = Instant::now();
        let code = loop {
            std::thread::sleep(wall.min(TICK));
            if let Some(code) = late(processor_time(), begun.elapsed(), wall) {
                break code;
            }
        };
        std::process::exit(code);
    });
    started.map_err(|error| format!("start the alarm: {error}"))?;
    let limit = |resource, most: u64| {
        let rlimit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, rlimit).map_err(|error| format!("limit the process: {error}"))
    };
    limit(Resource::As, memory as u64)?;
    limit(Resource::Cpu, wall.as_secs().max(1) * u64::from(THREADS))?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    let mut wasm = Vec::new();
    std::io::stdin()
        .read_to_end(&mut wasm)
        .map_err(|error| format!("read the component: {error}"))?;
    let engine = engine::compiler(profile, Effort::Full).map_err(|error| format!("{error:#}"))?;
    let code = engine
        .precompile_component(&wasm)
        .map_err(|error| format!("{error:#}"))?;
    std::io::stdout()
        .write_all(&code)
        .map_err(|error| format!("hand over the code: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_makes_no_compiling_late_and_work_without_end_does() {
        let wall = Duration::from_mins(1);
        assert_eq!(late(wall, wall, wall), None);
        // Beside others it got a tenth of a processor.
        assert_eq!(late(wall, wall * 10, wall), None);
        assert_eq!(late(wall * 2, wall, wall), Some(TOO_SLOW));
        assert_eq!(late(wall, patience(wall), wall), Some(STARVED));
    }
}
