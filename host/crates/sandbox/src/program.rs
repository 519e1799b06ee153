//! A program that the shell starts, with its share of the command's fuel and time. How it is run is for those who know
//! the plugin.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::civil::DateTime;

use super::bindings::shell::pibench::plugin::python::Outcome;
use super::bindings::tool_app::pibench::plugin::types::Program;
use super::fault::GuestFault;
use crate::workspace::Workspace;

/// How the shell starts Python.
#[derive(Clone)]
pub(super) struct Python {
    /// None: the plugin was not built.
    pub(super) run: Option<Arc<Run>>,
}

/// Runs a program; also says what it took.
pub(super) type Run =
    dyn Fn(Share) -> BoxFuture<'static, (Result<Outcome, GuestFault>, Used)> + Send + Sync;

/// What a program has of the shell that starts it.
pub(super) struct Share {
    pub(super) program: Program,
    pub(super) stdin: Vec<u8>,
    pub(super) files: Option<Workspace>,
    pub(super) now: DateTime,
    /// What passed of the command's time, and what may pass.
    pub(super) time: (Duration, Duration),
    pub(super) key: [u8; 32],
    pub(super) fuel: u64,
    /// What a processor may work for the whole command.
    pub(super) wall: Duration,
}

/// What a program took.
pub(super) struct Used {
    pub(super) fuel: u64,
    /// What passed of the command's time when it ended.
    pub(super) elapsed: Duration,
}
