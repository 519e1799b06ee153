//! What reading a suite's files cannot tell, for its author: whether its plugins and rules can be used, and how the scripted
//! agents fare with it. It asks no model.

mod breaks;
mod examples;
mod expected;
mod guests;
mod play;
mod plays;
mod reading;
mod refusals;
mod script;

use std::collections::BTreeSet;
use std::error::Error;

use camino::{Utf8Path, Utf8PathBuf};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::error::RunError;
use crate::plan::{Machine, PlanError};
use pibench_suite::problem::Problem;
use pibench_suite::suite::Suite;
use pibench_suite::validate::Authored;

pub use guests::There;
pub use plays::{AgentPlay, Plays};
pub use reading::as_read;
pub use refusals::Refusals;

/// What is known of a suite before it is played.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub machine: &'a Machine,
    /// The operator's folder of plugins.
    pub plugins: Option<&'a Utf8Path>,
    pub authored: &'a Authored<'a>,
    /// Plugins that cannot be used.
    pub absent: &'a BTreeSet<String>,
    /// Files with errors: how their sessions play says nothing new.
    pub broken: &'a BTreeSet<Utf8PathBuf>,
    /// Rules and records that plugins refuse.
    pub refusals: &'a Refusals,
    /// Only these sessions and those that they depend on; empty for all.
    pub sessions: &'a [String],
}

impl Ground<'_> {
    /// Whether a session's file has errors that its loading told.
    fn is_broken(&self, persona: &str, session: &str) -> bool {
        let file = self.authored.file(persona, session);
        file.is_some_and(|file| self.broken.contains(file))
    }
}

/// What came of playing a suite.
#[derive(Debug, Default)]
pub struct Told {
    pub plays: Plays,
    pub problems: Vec<Problem>,
    /// Why not everything was played to its end.
    pub stopped: Option<CheckError>,
}

/// Why a play did not come to its end. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("play `{agent}`: {reasons}")]
    Broken {
        agent: &'static str,
        reasons: String,
    },
    /// By the user.
    #[error("play `{agent}`: interrupted")]
    Interrupted { agent: &'static str },
    #[error(transparent)]
    Disk(Box<dyn Error + Send + Sync>),
}

impl CheckError {
    fn disk(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Disk(reason.into())
    }
}

/// Plays the suite by each scripted agent, and carries out the examples of its rules. No async function, so that this crate
/// compiles the plays and none above.
pub fn play_scripted<'a>(
    suite: &'a Suite,
    ground: &'a Ground<'a>,
) -> BoxFuture<'a, Result<Told, CheckError>> {
    plays::check(suite, ground).boxed()
}
