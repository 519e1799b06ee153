//! What this process has spent on models so far, and what it waits for. It counts; whether that is too much is for the run to
//! say.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use pibench_core::cost::MicroUsd;
use pibench_core::message::Usage;
use pibench_core::progress::{AtWork, Playing, Progress};

/// A running total, shared by all models of a run.
#[derive(Debug, Default)]
pub struct Meter {
    calls: AtomicU64,
    micro_usd: AtomicU64,
    unpriced_calls: AtomicU64,
    /// Who first answered this process for a sum that nobody knows.
    unknown: OnceLock<String>,
    tokens: AtomicU64,
    in_flight: AtomicU64,
    waits: Mutex<Waits>,
    at_work: Mutex<AtWork>,
    payee: Option<Payee>,
}

/// Who hears of each sum that is paid, as its answer comes.
struct Payee(Box<dyn Fn(MicroUsd) + Send + Sync>);

impl fmt::Debug for Payee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Payee")
    }
}

/// What is waited for, by the number of the wait.
#[derive(Debug, Default)]
struct Waits {
    next: u64,
    told: BTreeMap<u64, String>,
}

/// A call that is under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Flight<'a>(&'a Meter);

/// A wait before another attempt, until it is dropped.
#[derive(Debug)]
pub(super) struct Wait<'a>(&'a Meter, u64);

impl Meter {
    /// One that tells each sum that is paid, on the thread that was answered and before the answer is used. What an earlier
    /// process paid is not told.
    pub fn telling(payee: impl Fn(MicroUsd) + Send + Sync + 'static) -> Self {
        Self {
            payee: Some(Payee(Box::new(payee))),
            ..Self::default()
        }
    }

    /// Counts an answer that this process paid a server for.
    pub(super) fn pay(&self, usage: &Usage, server: impl FnOnce() -> String) {
        self.add(usage);
        if usage.unpriced_calls > 0 {
            self.unknown.get_or_init(server);
        }
        if let Some(Payee(tell)) = &self.payee
            && !usage.cost.is_zero()
        {
            tell(usage.cost);
        }
    }

    /// Counts what is known from a record.
    pub fn add(&self, usage: &Usage) {
        add(&self.calls, usage.calls);
        add(&self.micro_usd, usage.cost.0);
        add(&self.unpriced_calls, usage.unpriced_calls);
        add(&self.tokens, usage.tokens());
    }

    /// Input and output.
    pub fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// Calls that models are at work on.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// What is waited for, the longest wait first: `openai: status 429, waiting 12 s, try 3 of 7`.
    pub fn waits(&self) -> Vec<String> {
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.told.values().cloned().collect()
    }

    /// Who is at work changes with this.
    pub fn enter(&self, event: &Progress) {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        at_work.enter(event);
    }

    /// The episodes that are being played.
    pub fn at_work(&self) -> Vec<Playing> {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        at_work.all()
    }

    pub(super) fn flight(&self) -> Flight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Flight(self)
    }

    pub(super) fn wait(&self, what: String) -> Wait<'_> {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waits.next;
        waits.next += 1;
        waits.told.insert(number, what);
        Wait(self, number)
    }

    /// What was paid beyond what a record has: its calls, and their cost as far as all prices are known.
    pub fn beyond(&self, recorded: &Usage) -> Usage {
        let beyond = |of: &AtomicU64, recorded| of.load(Ordering::Relaxed).saturating_sub(recorded);
        Usage {
            calls: beyond(&self.calls, recorded.calls),
            unpriced_calls: beyond(&self.unpriced_calls, recorded.unpriced_calls),
            cost: MicroUsd(beyond(&self.micro_usd, recorded.cost.0)),
            ..Usage::default()
        }
    }

    /// Calls without a known price are not in it.
    pub fn spent(&self) -> MicroUsd {
        MicroUsd(self.micro_usd.load(Ordering::Relaxed))
    }

    /// A server that answered this process, and it is not known for what.
    pub fn unknown(&self) -> Option<&str> {
        self.unknown.get().map(String::as_str)
    }

    /// None when the price of a call is not known.
    pub fn known(&self) -> Option<MicroUsd> {
        (self.unpriced_calls.load(Ordering::Relaxed) == 0).then(|| self.spent())
    }
}

/// A record may hold any number: a sum stays at the largest and never begins again at 0.
fn add(sum: &AtomicU64, more: u64) {
    let added = |sum: u64| Some(sum.saturating_add(more));
    // It always has a next number.
    let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added);
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let Self(meter, number) = self;
        let mut waits = meter.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.told.remove(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_paid_is_told_and_what_was_paid_before_is_not() {
        let told = std::sync::Arc::new(AtomicU64::new(0));
        let meter = Meter::telling({
            let told = std::sync::Arc::clone(&told);
            move |MicroUsd(sum)| {
                told.fetch_add(sum, Ordering::Relaxed);
            }
        });
        let of = |micro| Usage {
            cost: MicroUsd(micro),
            ..Usage::default()
        };
        meter.add(&of(100));
        meter.pay(&of(7), String::new);
        meter.pay(&of(8), String::new);
        assert_eq!(
            (meter.spent(), told.load(Ordering::Relaxed)),
            (MicroUsd(115), 15)
        );
    }

    #[test]
    fn sums_stay_at_the_largest_number() {
        let meter = Meter::default();
        let of = |input_tokens, output_tokens| Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        };
        meter.add(&of(7, 1));
        assert_eq!(meter.tokens(), 8);
        meter.add(&of(u64::MAX, 1));
        meter.add(&of(7, 1));
        assert_eq!(meter.tokens(), u64::MAX);
    }

    #[test]
    fn what_is_under_way_is_told_until_it_ends() {
        let meter = Meter::default();
        let (flight, first) = (meter.flight(), meter.wait("a".into()));
        let second = meter.wait("b".into());
        assert_eq!(
            (meter.in_flight(), meter.waits()),
            (1, vec!["a".into(), "b".into()])
        );
        drop((flight, first));
        assert_eq!((meter.in_flight(), meter.waits()), (0, vec!["b".into()]));
        drop(second);
        assert!(meter.waits().is_empty());
    }
}
