//! The standard suite that every plugin must pass: what `wit/` asks for and no compiler checks. It calls the plugin as
//! the host does, under the host's limits, with arguments and evidence drawn from a fixed seed, so that a finding is
//! found again. It judges no plugin's purpose: that is what the author's own tests are for.

mod app;
mod calls;
mod draw;
mod grader;

use std::sync::Arc;

use serde_json::Value;

pub use calls::repeat;

use super::plugin::{Plugin, World};
use super::{GuestFault, Limits};

/// What one check of the suite found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The check's name.
    pub check: &'static str,
    /// What was seen, or what is wrong.
    pub found: Result<String, String>,
}

/// Runs the suite. `configs` are configurations that a grader must take, or seeds that an app must open on (see
/// `wit/`); without one, a grader gets `{}` and an app two people and no records.
pub async fn examine(plugin: &Arc<Plugin>, configs: &[Value]) -> Vec<Finding> {
    match plugin.world() {
        World::ToolApp => app::examine(plugin, configs).await,
        World::Grader => grader::examine(plugin, configs).await,
        World::Shell | World::Document => {
            let reason =
                "the suite is for tool apps and graders: this is a plugin of the host's own";
            vec![finding("world", Err(reason.into()))]
        }
    }
}

fn finding(check: &'static str, found: Result<String, String>) -> Finding {
    Finding { check, found }
}

/// Whether a fault is a limit that was broken, and not a trap.
fn is_limit(fault: &GuestFault) -> bool {
    match fault {
        GuestFault::Fuel { .. }
        | GuestFault::Memory { .. }
        | GuestFault::Timeout { .. }
        | GuestFault::Busy { .. }
        | GuestFault::Slept { .. }
        | GuestFault::BadOutput { .. } => true,
        GuestFault::Trap { .. }
        | GuestFault::Failed { .. }
        | GuestFault::Overloaded { .. }
        | GuestFault::Crowded { .. }
        | GuestFault::Host { .. } => false,
    }
}

/// The limits of a call of the plugin's profile.
fn limits(plugin: &Plugin) -> Limits {
    match (plugin.world(), plugin.profile) {
        (World::ToolApp, _) => Limits::APP,
        (World::Grader, super::Profile::Python) => Limits::PYTHON,
        (World::Grader, _) => Limits::GRADER,
        (World::Shell, _) => Limits::SHELL,
        (World::Document, _) => Limits::DOCUMENT,
    }
}

/// A value in a message: its JSON, cut.
fn shown(value: &Value) -> String {
    const MOST: usize = 300;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
