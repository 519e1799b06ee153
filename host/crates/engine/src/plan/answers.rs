//! What becomes of the answers that a run gets from outside: of its models, and of the real web beside them.

use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};

use super::PlanError;
use pibench_model::cassette;
use pibench_model::cassette::{Cassette, Tape};
use pibench_model::provider::process_environment;
use pibench_model::web::{Corpus, Engine, Live, Recording, Source, Web};
use pibench_suite::manifest::{WebFile, WebProvider};
use pibench_suite::suite::Suite;
use pibench_vault::keyring;

/// The environment variable with the key of Brave's search.
const BRAVE_KEY: &str = "BRAVE_API_KEY";

/// Whether a suite lies in a private pack: what it hides is written nowhere in clear.
pub fn is_private(suite: &Suite) -> bool {
    let folder = suite.path.parent();
    folder.is_some_and(|folder| keyring::is_private(folder.as_std_path()))
}

/// Where answers come from, and where they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answers {
    /// Models are asked, and nothing is kept.
    #[default]
    Asked,
    /// No model is asked at all, and no key is needed.
    None,
    /// Each answer is written into this folder.
    Recorded(Utf8PathBuf),
    /// Each answer comes from this folder, and no key is needed.
    Replayed(Utf8PathBuf),
    /// Judges are asked only what this folder has no answer to.
    Cached(Utf8PathBuf),
}

impl Answers {
    /// The same of one of several agents: a recording knows one agent's answers, so each has a folder of its own; the
    /// answers of judges are everybody's.
    #[must_use]
    pub fn of_agent(&self, name: &str) -> Self {
        match self {
            Self::Recorded(dir) => Self::Recorded(dir.join(name)),
            Self::Replayed(dir) => Self::Replayed(dir.join(name)),
            all => all.clone(),
        }
    }

    /// Whether another agent's tape does for this one's too.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::Recorded(_) | Self::Replayed(_))
    }

    /// `again`: a recording is gone on with. A private suite's prompts and answers are written nowhere but into its runs.
    pub(super) fn tape(&self, suite: &Suite, again: bool) -> Result<Tape, PlanError> {
        if let Self::Recorded(dir) | Self::Cached(dir) = self
            && is_private(suite)
        {
            let reason = format!(
                "write answers into {dir}: they hold what {} keeps private, and would lie there open; play without \
                 --record and --judge-cache",
                suite.path
            );
            return Err(PlanError::input(reason));
        }
        let tape = match self {
            Self::Asked => return Ok(Tape::Off),
            Self::None => return Ok(Tape::Silent),
            Self::Recorded(dir) => Cassette::record(dir.as_std_path(), again).map(Tape::Record),
            Self::Replayed(dir) => Cassette::replay(dir.as_std_path()).map(Tape::Replay),
            Self::Cached(dir) => Cassette::cache(dir.as_std_path()).map(Tape::Cache),
        };
        tape.map_err(PlanError::input)
    }

    /// The agents' web, as the suite wants it. The real one is recorded and replayed with the models.
    pub(super) fn web(&self, suite: &Suite) -> Result<Web, PlanError> {
        let WebFile { provider, url, .. } = &suite.web;
        let file = |dir: &Utf8Path| -> PathBuf { dir.join(cassette::WEB).into_std_path_buf() };
        let engine = match provider {
            WebProvider::Offline => return Ok(offline(suite)),
            _ if let Self::Replayed(dir) = self => {
                let recording = Recording::replay(&file(dir)).map_err(PlanError::input)?;
                return Ok(Web::new(Source::Recorded, Some(recording)));
            }
            WebProvider::Brave => {
                let key = process_environment(BRAVE_KEY).filter(|key| !key.is_empty());
                let key = key.ok_or_else(|| {
                    format!("search with Brave: the environment variable {BRAVE_KEY} is not set")
                });
                Engine::brave(key.map_err(PlanError::asked)?)
            }
            WebProvider::Searxng => Engine::searxng(url.as_deref().unwrap_or_default()),
        };
        let live = Live::new(engine).map_err(|reason| format!("set up the web: {reason}"));
        let recording = match self {
            Self::Recorded(dir) => Some(Recording::record(&file(dir)).map_err(PlanError::disk)?),
            _ => None,
        };
        let live = live.map_err(PlanError::asked)?;
        Ok(Web::new(Source::Live(live), recording))
    }
}

/// The suite's own pages.
pub(super) fn offline(suite: &Suite) -> Web {
    Web::offline(Corpus::new(suite.corpus.clone()))
}
