//! What user agent and judge have in common: the evidence of a turn and how a model is shown it, the prompts, the question
//! that is asked until its answer can be read, and the matchers that answer without a model. It decides nothing about
//! intents or items: what is asked, and what an answer means, is the callers'.

#[cfg(test)]
mod attacks;
pub(crate) mod evidence;
pub(crate) mod exhibit;
pub mod fence;
pub(crate) mod known;
pub(crate) mod lexical;
pub mod parse;
pub(crate) mod prompted;
pub mod prompts;
pub(crate) mod questions;
pub(crate) mod released;
pub(crate) mod reread;
#[cfg(test)]
pub(crate) mod tests;

pub use evidence::{Background, Content, TurnEvidence};
pub use prompted::{Exchange, Judged, Prompted, RoleError};

use parse::Verdict;
use pibench_record::event::Vote;

/// A yes or no with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub yes: bool,
    /// One line.
    pub reason: String,
    /// Of several judges.
    pub votes: Vec<Vote>,
}

impl Judgement {
    pub(crate) fn no(reason: &str) -> Self {
        Self {
            yes: false,
            reason: reason.to_owned(),
            votes: Vec::new(),
        }
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        Self {
            yes: verdict.yes,
            reason: verdict.evidence,
            votes: Vec::new(),
        }
    }
}
