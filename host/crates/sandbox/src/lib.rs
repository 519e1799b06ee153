//! Guests: tool apps and graders as WebAssembly components, run with fuel, deadlines and memory limits, and with nothing
//! of the machine in reach. Every other crate sees typed values and typed faults; wasmtime does not leave this one. `workspace` is
//! the door to a session's files.

pub mod app;
pub mod arguments;
mod bindings;
#[cfg(test)]
mod boundary;
mod cache;
mod clock;
pub mod compile;
pub mod component;
pub mod conformance;
pub mod convert;
pub mod described;
pub mod document;
pub mod engine;
pub mod evidence;
pub mod fault;
pub mod grader;
mod host;
pub mod limits;
mod live;
pub mod load;
pub mod lock;
pub mod plugin;
pub mod policy;
mod profile;
mod program;
mod python;
mod seats;
mod served;
pub mod shell;
pub mod signed;
mod state;
pub mod workspace;

pub use app::{App, OpenError};
pub use arguments::ArgumentCheck;
pub use cache::{
    files as cache_files, keep_said, size as cache_size, usable as cache_usable, was_said,
};
pub use document::Documents;
pub use fault::GuestFault;
pub use grader::Grader;
pub use limits::{GuestLimits, Limits, LoadLimits};
pub use load::{Plugins, Terms};
pub use plugin::{LoadError, Plugin, World};
pub use profile::Profile;
pub use seats::count_waits;
pub use shell::Shell;
