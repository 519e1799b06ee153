//! The host's side of the imports: one file per interface that does more than one thing.

pub(super) mod clocks;
pub(super) mod files;
pub(super) mod wasi_files;
mod workspace;

use super::bindings::tool_app::pibench::plugin::{clock, log, random, types};
use super::fault::bounded;
use super::state::State;
use pibench_core::vocabulary::Grant;

impl types::Host for State {}

impl clock::Host for State {
    fn now(&mut self) -> clock::Datetime {
        self.may_use(Grant::Clock);
        super::convert::datetime(self.clocks.moment())
    }
}

impl random::Host for State {
    fn next(&mut self) -> u64 {
        self.may_use(Grant::Random);
        self.draw()
    }
}

impl log::Host for State {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.charge(message.len())?;
        if !self.may_use(Grant::Log) {
            return Ok(());
        }
        let level = match level {
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        self.log
            .write(format!("{level}: {}\n", bounded(&message)).as_bytes());
        Ok(())
    }
}
