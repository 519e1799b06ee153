//! What this process has spent on models so far. It counts; whether that is too much is for the run to say.

use std::sync::atomic::{AtomicU64, Ordering};

use pibench_core::cost::MicroUsd;
use pibench_core::message::Usage;

/// A running total, shared by all models of a run.
#[derive(Debug, Default)]
pub struct Meter {
    micro_usd: AtomicU64,
    unpriced_calls: AtomicU64,
}

impl Meter {
    pub fn add(&self, usage: &Usage) {
        self.micro_usd.fetch_add(usage.cost.0, Ordering::Relaxed);
        self.unpriced_calls
            .fetch_add(usage.unpriced_calls, Ordering::Relaxed);
    }

    /// Calls without a known price are not in it.
    pub fn spent(&self) -> MicroUsd {
        MicroUsd(self.micro_usd.load(Ordering::Relaxed))
    }

    /// None when the price of a call is not known.
    pub fn known(&self) -> Option<MicroUsd> {
        (self.unpriced_calls.load(Ordering::Relaxed) == 0).then(|| self.spent())
    }
}
