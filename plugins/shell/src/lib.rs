//! The agent's shell as a component of world `pibench:plugin/shell`: bash and its usual commands, by bashkit, on the
//! session's workspace. Each command line runs in an instance of its own.
//!
//! Nothing here reaches the machine: `/workspace` is the host's `files` interface, every other path lives in the
//! instance's memory and goes with it, `python3` asks the host, and what needs a network says that there is none.

pub mod cut;
pub mod ends;
pub mod failure;
pub mod gzip;
pub mod interval;
pub mod python_line;
pub mod zipped;

#[cfg(target_family = "wasm")]
#[allow(
    unsafe_code,
    clippy::pedantic,
    unreachable_pub,
    reason = "generated code"
)]
mod bindings {
    wit_bindgen::generate!({
        world: "shell",
        path: "../../wit",
    });

    export!(Component with_types_in self);

    use crate::run::Component;
}
#[cfg(target_family = "wasm")]
mod archive;
#[cfg(target_family = "wasm")]
mod builtin;
#[cfg(target_family = "wasm")]
mod disk;
#[cfg(target_family = "wasm")]
mod limits;
#[cfg(target_family = "wasm")]
mod run;
#[cfg(target_family = "wasm")]
mod time;
#[cfg(target_family = "wasm")]
mod zip_commands;
