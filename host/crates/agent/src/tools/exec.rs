//! `exec`: a command line in the sandboxed shell. What the shell may do is decided in `sandbox/shell`; here its answer
//! becomes a text. A command that fails, or that a limit ends, is an answer too.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Refusal, directory_path};
use pibench_record::SessionClock;
use pibench_sandbox::GuestFault;
use pibench_sandbox::shell::{CommandLine, Output, Shell, TIMEOUT};
use pibench_sandbox::workspace::Workspace;

pub(super) const DESCRIPTION: &str = "\
    A sandboxed bash with sed, awk, jq, tar and so on, python3 with its standard library and PyYAML. /workspace stays; \
    variables, /tmp and background jobs do not. Python has no /tmp, threads, processes, sockets, signals, ssl, bz2, \
    lzma, ctypes, tkinter; pools and asyncio work one by one. Most tools need UTF-8. No network, no installing.";

/// The most that is shown of each stream, in characters: one half from its beginning, one from its end.
const MAX_SHOWN: usize = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    command: String,
    /// By default the workspace.
    #[serde(default)]
    #[schemars(with = "String")]
    working_dir: Option<String>,
    /// Seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 600))]
    timeout: u32,
}

fn default_timeout() -> u32 {
    TIMEOUT
}

/// How a call ends that is not answered.
#[derive(Debug)]
pub(crate) enum ExecError {
    Refused(Refusal),
    /// The shell could not be run, or took more real time than it has: the machine is to blame.
    Broke(GuestFault),
}

/// Runs a command line.
pub(crate) async fn run(
    shell: &Shell,
    workspace: &Workspace,
    clock: &SessionClock,
    arguments: Arguments,
) -> Result<String, ExecError> {
    let Arguments {
        command,
        working_dir,
        timeout,
    } = arguments;
    let directory =
        directory_path(working_dir.as_deref().unwrap_or("")).map_err(ExecError::Refused)?;
    workspace
        .view()
        .list(&directory, false)
        .map_err(|error| ExecError::Refused(super::refusal(&error)))?;
    let command = CommandLine {
        line: &command,
        working_directory: &directory,
        timeout,
        now: clock.now(),
    };
    match shell.run(workspace, command).await {
        Ok(output) => Ok(text(&output)),
        Err(fault) if fault.is_infrastructure() => Err(ExecError::Broke(fault)),
        Err(fault) => Err(refused(format!(
            "the command was stopped: it {fault}. What it wrote to the workspace so far is there. {}",
            remedy(&fault)
        ))),
    }
}

/// What to try after a fault.
fn remedy(fault: &GuestFault) -> &'static str {
    match fault {
        // A panic: the program cannot take what it was given, however little that is.
        GuestFault::Trap { trap } if trap.contains("`unreachable`") => {
            "A tool in it failed on this input, and may work on another: take another tool, or python3"
        }
        _ => "Do less at once",
    }
}

fn refused(text: String) -> ExecError {
    ExecError::Refused(Refusal::new(text))
}

fn text(output: &Output) -> String {
    let Output {
        stdout,
        stderr,
        exit_code,
        stopped,
        fuel: _,
    } = output;
    let mut text = shown(stdout);
    if !stderr.is_empty() {
        separate(&mut text);
        text.push_str("STDERR:\n");
        text.push_str(&shown(stderr));
    }
    separate(&mut text);
    // Writing to a string cannot fail.
    if let Some(reason) = stopped {
        let _ = writeln!(text, "The command was stopped: {reason}");
    }
    let _ = write!(text, "Exit code: {exit_code}");
    text
}

fn separate(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Both ends of a text that is too long.
fn shown(text: &str) -> String {
    let total = text.chars().count();
    if total <= MAX_SHOWN {
        return text.to_owned();
    }
    let half = MAX_SHOWN / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(total - half).collect();
    format!(
        "{head}\n[... {} characters left out ...]\n{tail}",
        total - 2 * half
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Builtin;

    fn check(stdout: &str, stderr: &str, exit_code: u8, stopped: Option<&str>, expected: &str) {
        let output = Output {
            stdout: stdout.into(),
            stderr: stderr.into(),
            exit_code,
            stopped: stopped.map(Into::into),
            fuel: 0,
        };
        assert_eq!(text(&output), expected);
    }

    #[test]
    fn an_answer_has_output_then_errors_then_the_exit_code() {
        check("a\n", "", 0, None, "a\nExit code: 0");
        check("a", "b", 1, None, "a\nSTDERR:\nb\nExit code: 1");
        check("", "", 0, None, "Exit code: 0");
        let stopped = "The command was stopped: too many\nExit code: 137";
        check("", "", 137, Some("too many"), stopped);
    }

    #[test]
    fn a_long_stream_is_shown_by_its_two_ends() {
        let long = format!("{}{}{}", "ä".repeat(5000), "x".repeat(7), "ö".repeat(5000));
        let text = shown(&long);
        assert!(text.starts_with("ää") && text.ends_with("öö"));
        assert!(
            text.contains("\n[... 7 characters left out ...]\n"),
            "{text}"
        );
        assert!(!text.contains('x'));
    }

    #[test]
    fn a_tool_that_fails_on_its_input_is_not_to_do_less() {
        let trap = |trap: &str| GuestFault::Trap { trap: trap.into() };
        let panic = trap("wasm trap: wasm `unreachable` instruction executed; it wrote: awk: no");
        assert!(remedy(&panic).ends_with("take another tool, or python3"));
        for fault in [trap("call stack exhausted"), GuestFault::Fuel { limit: 1 }] {
            assert_eq!(remedy(&fault), "Do less at once");
        }
    }

    #[test]
    fn the_schema_bounds_the_timeout() {
        let timeout = &Builtin::Exec.spec().parameters["properties"]["timeout"];
        assert_eq!(timeout["minimum"], 1);
        assert_eq!(timeout["maximum"], 600);
        assert_eq!(timeout["default"], 60);
    }
}
