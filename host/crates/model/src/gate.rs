//! How many calls a provider is sent at the same time, and how fast: as many as it takes, found out as a network finds
//! out its bandwidth (slow start, additive increase, multiplicative decrease; RFC 5681), and never faster than the rates
//! that the operator set. It waits and counts; it sends nothing and reads no answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::provider::RateLimits;

/// Calls at the same time before anything is known of a provider. Low enough for any account, and doubled with every
/// round of answers.
const FIRST_WINDOW: f64 = 8.0;

/// Calls at the same time at most, unless the operator says otherwise: beyond what one machine's episodes can use.
const WIDEST_WINDOW: f64 = 512.0;

/// How a call went, as far as the provider's load is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// It answered.
    Answered,
    /// It said that it is asked too much.
    TooMuch,
    /// It says nothing of its load.
    Unknown,
}

/// The way to one provider.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    freed: Notify,
    widest: f64,
    /// Seconds between two requests.
    per_request: f64,
    /// Seconds for each token.
    per_token: f64,
}

#[derive(Debug)]
struct State {
    in_flight: usize,
    window: f64,
    /// Below it the window grows by one with every answer, above it by one with every round of answers.
    threshold: f64,
    /// How often the window was cut. Calls that began before a cut do not cut again: they tell of the same moment.
    cuts: u64,
    next_request: Option<Instant>,
    next_token: Option<Instant>,
}

/// A call's place among those that are under way. Dropped without a word, it only makes room.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    gate: &'a Gate,
    cuts: u64,
}

impl Gate {
    pub(super) fn new(limits: RateLimits) -> Self {
        let RateLimits {
            concurrency,
            requests_per_minute,
            tokens_per_minute,
        } = limits;
        let seconds =
            |per_minute: Option<u32>| per_minute.map_or(0.0, |rate| 60.0 / f64::from(rate));
        let state = State {
            in_flight: 0,
            window: concurrency.map_or(FIRST_WINDOW, f64::from),
            threshold: f64::INFINITY,
            cuts: 0,
            next_request: None,
            next_token: None,
        };
        Self {
            state: Mutex::new(state),
            freed: Notify::new(),
            widest: concurrency.map_or(WIDEST_WINDOW, f64::from),
            per_request: seconds(requests_per_minute),
            per_token: seconds(tokens_per_minute),
        }
    }

    /// Waits for a place among the calls under way.
    pub(super) async fn enter(&self) -> Entry<'_> {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(entry) = self.try_enter() {
                return entry;
            }
            freed.await;
        }
    }

    fn try_enter(&self) -> Option<Entry<'_>> {
        let mut state = self.state();
        if state.in_flight as f64 + 1.0 > state.window.max(1.0) {
            return None;
        }
        state.in_flight += 1;
        Some(Entry {
            gate: self,
            cuts: state.cuts,
        })
    }

    /// Takes a call of so many tokens into account; how long it has to wait for its turn.
    pub(super) fn reserve(&self, tokens: u64, now: Instant) -> Duration {
        let mut state = self.state();
        let requests = pace(&mut state.next_request, self.per_request, now);
        let tokens = pace(&mut state.next_token, self.per_token * tokens as f64, now);
        requests.max(tokens)
    }

    /// Takes tokens into account that were not known before.
    pub(super) fn charge(&self, tokens: u64, now: Instant) {
        let mut state = self.state();
        pace(&mut state.next_token, self.per_token * tokens as f64, now);
    }

    fn leave(&self, entry_cuts: u64, load: Load) {
        let mut state = self.state();
        state.in_flight -= 1;
        match load {
            Load::Answered if state.window < state.threshold => state.window += 1.0,
            Load::Answered => state.window += 1.0 / state.window,
            Load::TooMuch if entry_cuts == state.cuts => {
                state.threshold = (state.window / 2.0).max(1.0);
                state.window = state.threshold;
                state.cuts += 1;
            }
            Load::TooMuch | Load::Unknown => {}
        }
        state.window = state.window.min(self.widest);
        drop(state);
        // A call that leaves makes room for itself, and an answer for one more.
        self.freed.notify_one();
        self.freed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The wait until `next`, which moves on by what is taken now. Nothing is saved up: a pause allows no burst.
fn pace(next: &mut Option<Instant>, takes: f64, now: Instant) -> Duration {
    if takes <= 0.0 {
        return Duration::ZERO;
    }
    let start = next.map_or(now, |next| next.max(now));
    *next = start.checked_add(Duration::from_secs_f64(takes.min(3_600.0)));
    start.duration_since(now)
}

impl Entry<'_> {
    /// The call is over.
    pub(super) fn finish(self, load: Load) {
        self.gate.leave(self.cuts, load);
        // Its room is made already.
        std::mem::forget(self);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.cuts, Load::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(gate: &Gate) -> f64 {
        gate.state().window
    }

    fn fill(gate: &Gate) -> Vec<Entry<'_>> {
        std::iter::from_fn(|| gate.try_enter()).collect()
    }

    #[test]
    fn the_window_doubles_with_every_round_of_answers_until_it_is_cut() {
        let gate = Gate::new(RateLimits::default());
        for expected in [8, 16, 32] {
            let entries = fill(&gate);
            assert_eq!(entries.len(), expected);
            for entry in entries {
                entry.finish(Load::Answered);
            }
        }
        let entries = fill(&gate);
        for entry in entries {
            entry.finish(Load::TooMuch);
        }
        assert!((window(&gate) - 32.0).abs() < 1e-9, "one round cuts once");
        for entry in fill(&gate) {
            entry.finish(Load::Answered);
        }
        assert!((32.9..33.0).contains(&window(&gate)), "one more in a round");
    }

    #[test]
    fn it_is_never_narrower_than_one_call() {
        let gate = Gate::new(RateLimits::default());
        for _ in 0..20 {
            gate.try_enter().unwrap().finish(Load::TooMuch);
        }
        assert_eq!(fill(&gate).len(), 1);
    }

    #[test]
    fn a_given_width_is_taken_at_once_and_never_exceeded() {
        let gate = Gate::new(RateLimits {
            concurrency: Some(3),
            ..RateLimits::default()
        });
        for _ in 0..2 {
            let entries = fill(&gate);
            assert_eq!(entries.len(), 3);
            for entry in entries {
                entry.finish(Load::Answered);
            }
        }
    }

    #[tokio::test]
    async fn a_call_waits_for_a_place_and_a_dropped_one_makes_room() {
        let gate = Gate::new(RateLimits {
            concurrency: Some(1),
            ..RateLimits::default()
        });
        let first = gate.enter().await;
        let second = gate.enter();
        let mut second = std::pin::pin!(second);
        assert!(futures::poll!(second.as_mut()).is_pending());
        drop(first);
        second.await.finish(Load::Answered);
    }

    #[test]
    fn requests_and_tokens_are_spaced() {
        let gate = Gate::new(RateLimits {
            requests_per_minute: Some(60),
            tokens_per_minute: Some(60_000),
            ..RateLimits::default()
        });
        let now = Instant::now();
        let waits: Vec<f64> = [100, 100, 5_000, 1]
            .into_iter()
            .map(|tokens| gate.reserve(tokens, now).as_secs_f64())
            .collect();
        assert_eq!(waits, [0.0, 1.0, 2.0, 5.2]);
        gate.charge(1_000, now);
        assert!((gate.reserve(1, now).as_secs_f64() - 6.201).abs() < 1e-6);
    }

    #[test]
    fn without_rates_nobody_waits() {
        let gate = Gate::new(RateLimits::default());
        let now = Instant::now();
        for _ in 0..1_000 {
            assert_eq!(gate.reserve(1 << 40, now), Duration::ZERO);
        }
    }
}
