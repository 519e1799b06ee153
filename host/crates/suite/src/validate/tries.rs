//! What all tries of matchers together may cost, so that no file of many small ones keeps `check` busy for hours: how much a
//! try costs is told before it is made, by the matcher's states and the text's length.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pibench_core::matcher::{Matcher, Piece};

/// States times bytes of all tries of a suite. A suite of 100 sessions stays far below; this many take seconds, and at the
/// worst some minutes.
const MOST: u64 = 1 << 38;

/// The tries of one suite so far.
#[derive(Debug, Default)]
pub(super) struct Tries(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    all: u64,
    /// By the session's and the matcher's names.
    each: BTreeMap<String, u64>,
}

impl Tries {
    /// Whether a matcher reads a piece of text; None once the budget is spent.
    pub(super) fn reads(
        &self,
        name: impl FnOnce() -> String,
        matcher: &Matcher,
        text: &str,
        piece: &Piece,
    ) -> Option<bool> {
        let cost = (matcher.units() as u64).saturating_mul(text.len() as u64);
        self.may_spend(name, cost).then(|| matcher.reads(piece))
    }

    fn may_spend(&self, name: impl FnOnce() -> String, cost: u64) -> bool {
        let mut counted = self.counted();
        if counted.all > MOST {
            return false;
        }
        counted.all = counted.all.saturating_add(cost);
        let own = counted.each.entry(name()).or_default();
        *own = own.saturating_add(cost);
        counted.all <= MOST
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That the budget is spent, and on whom.
    pub(super) fn spent(&self) -> Option<String> {
        let counted = self.counted();
        let (name, cost) = counted.each.iter().max_by_key(|(_, cost)| **cost)?;
        (counted.all > MOST).then(|| {
            format!(
                "to try all matchers costs more than {MOST} states times bytes, most of it for `{name}`: {cost}; say less with it, or give it fewer and shorter examples: the rest was not tried"
            )
        })
    }
}
