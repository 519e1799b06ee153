//! The agent's shell: each command line in a fresh instance, on the session's workspace. It starts no process, and what a
//! command does to the workspace is done by the same door as every file tool.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::civil::DateTime;

use super::bindings::shell::Shell as Guest;
use super::bindings::shell::exports::pibench::plugin::commands;
use super::fault::{GuestFault, bounded};
use super::limits::Limits;
use super::live::{Live, not_run};
use super::load::Plugins;
use super::plugin::{LoadError, Pre, World};
use super::program::Python;
use super::python::runner;
use super::state::Reach;
use crate::workspace::Workspace;
use pibench_core::path::WorkspacePath;
use pibench_core::record::GuestCall;

/// The plugin's name.
pub const SHELL: &str = "shell";

/// The plugin that runs its Python programs.
pub const PYTHON: &str = "python";

/// The seconds that a command's fuel is meant for; another timeout scales it.
pub const TIMEOUT: u32 = 60;

/// Runs command lines. The plugins are loaded when the first one is run.
#[derive(Debug)]
pub struct Shell {
    plugins: Arc<Plugins>,
    limits: Limits,
    key: [u8; 32],
    measured: Mutex<Vec<GuestCall>>,
}

/// One command line.
#[derive(Debug, Clone, Copy)]
pub struct CommandLine<'a> {
    pub line: &'a str,
    pub working_directory: &'a WorkspacePath,
    /// In seconds.
    pub timeout: u32,
    /// The session's moment; part of the key of the command's randomness.
    pub now: DateTime,
}

/// How a command line ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The beginning and the end, as are `stderr`.
    pub stdout: String,
    pub stderr: String,
    pub exit_code: u8,
    /// A limit of the shell that ended it early.
    pub stopped: Option<String>,
    /// Units that it took, with its Python programs.
    pub fuel: u64,
}

impl Shell {
    /// `limits` are those of a command of [`TIMEOUT`] seconds. `key` decides all randomness.
    pub fn new(plugins: Arc<Plugins>, limits: Limits, key: [u8; 32]) -> Self {
        Self {
            plugins,
            limits,
            key,
            measured: Mutex::default(),
        }
    }

    /// Runs a command line. What it changed in the workspace before a fault stays changed.
    pub async fn run(
        &self,
        workspace: &Workspace,
        command: CommandLine<'_>,
    ) -> Result<Output, GuestFault> {
        let host = |error: &dyn std::fmt::Display| GuestFault::Host {
            reason: error.to_string(),
        };
        let plugin = self.plugins.get(SHELL).map_err(|error| host(&error))?;
        let python = self.python().map_err(|error| host(&error))?;
        let Pre::Shell(pre) = &plugin.pre else {
            return Err(host(&plugin.wrong_world(World::Shell)));
        };
        let limits = scaled(plugin.capped(self.limits), command.timeout);
        let files = workspace.share();
        let reach = Reach::Shell { files, python };
        let key = command_key(&self.key, command.now);
        let began = Instant::now();
        let made = plugin
            .start(limits, key, reach, async |store| {
                pre.instantiate_async(store).await
            })
            .await;
        let mut live: Live<Guest> = match made {
            Ok(live) => live,
            Err(fault) => {
                self.measure(not_run(SHELL, "run".into(), &fault, began.elapsed()));
                return Err(fault);
            }
        };
        let made = began.elapsed();
        let asked = commands::Command {
            line: command.line.to_owned(),
            working_directory: command.working_directory.as_str().to_owned(),
            timeout: command.timeout,
        };
        let ran = live
            .call(limits, command.now, async |live: &mut Live<Guest>| {
                // What the agent gave, and nothing more: the shell's own timeout comes first.
                let time = Duration::from_secs(command.timeout.into());
                live.store.data().clocks.arm(time);
                let commands = live.guest.pibench_plugin_commands();
                commands.call_run(&mut live.store, &asked).await
            })
            .await;
        let log = live.store.data().log.take();
        if !log.is_empty() {
            tracing::info!(plugin = plugin.name, "{log}");
        }
        let fuel = ran.fuel();
        self.measure(ran.record(SHELL, "run".into(), made, false));
        let ended = ran.result.map_err(|fault| fault.with_last_words(&log))?;
        checked(ended, limits, fuel)
    }

    /// What the commands since the last call of this took.
    pub fn take_measured(&self) -> Vec<GuestCall> {
        let measured = self.measured.lock();
        std::mem::take(&mut measured.unwrap_or_else(PoisonError::into_inner))
    }

    fn measure(&self, call: GuestCall) {
        let measured = self.measured.lock();
        measured.unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// The plugin for `python3`; a machine without it has a shell that says so.
    fn python(&self) -> Result<Python, LoadError> {
        let plugin = match self.plugins.get(PYTHON) {
            Ok(plugin) => Some(plugin),
            Err(LoadError::Missing { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(runner(plugin))
    }
}

/// Fuel and time of a command with its own timeout.
fn scaled(limits: Limits, timeout: u32) -> Limits {
    Limits {
        fuel: limits.fuel / u64::from(TIMEOUT) * u64::from(timeout),
        wall: limits.wall * timeout / TIMEOUT + STARTING,
        ..limits
    }
}

/// Beside what a command itself takes.
const STARTING: Duration = Duration::from_millis(500);

fn command_key(key: &[u8; 32], now: DateTime) -> [u8; 32] {
    *blake3::keyed_hash(key, format!("command at {now}").as_bytes()).as_bytes()
}

fn checked(outcome: commands::Outcome, limits: Limits, fuel: u64) -> Result<Output, GuestFault> {
    let commands::Outcome {
        stdout,
        stderr,
        exit_code,
        stopped,
    } = outcome;
    for (what, text) in [("output", &stdout), ("error output", &stderr)] {
        if text.len() > limits.result_bytes {
            let (bytes, most) = (text.len(), limits.result_bytes);
            let reason = format!("{bytes} bytes of {what}, more than {most}");
            return Err(GuestFault::BadOutput { reason });
        }
    }
    Ok(Output {
        stdout,
        stderr,
        exit_code,
        stopped: stopped.as_deref().map(bounded),
        fuel,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_and_time_scale_with_the_timeout() {
        let base = Limits::SHELL;
        assert_eq!(scaled(base, TIMEOUT).fuel, base.fuel / 60 * 60);
        assert_eq!(scaled(base, 1).fuel, base.fuel / 60);
        assert_eq!(scaled(base, 600).wall, base.wall * 10 + STARTING);
    }
}
