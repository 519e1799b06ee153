//! The clocks of a guest. A call begins at the session's moment, and within it time passes by sleeping only: a sleep
//! moves the clocks and waits for nothing. The machine's clocks are out of reach.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::civil::DateTime;
use wasmtime_wasi::clocks::HostWallClock;

/// What a reading moves the clocks of a guest that may wait by looking at them, so that it ends. Two readings differ, as
/// those of a real clock do, and an hour of looking is within nobody's fuel.
pub(super) const READING: Duration = Duration::from_micros(10);

/// A sleep that is longer than the call may take: the same each time, because no real time is in it.
#[derive(Debug, thiserror::Error)]
#[error("it slept past the end of its time")]
pub(super) struct Overslept;

/// The clocks of one store. Clones are the same clocks.
#[derive(Clone)]
pub(super) struct Clocks(Arc<Mutex<Passing>>);

struct Passing {
    /// The session's moment, at which the call begins.
    moment: DateTime,
    /// What passed since.
    elapsed: Duration,
    /// What may pass.
    most: Duration,
    reading: Duration,
    overslept: bool,
}

/// What a guest sees that no moment was set for: a grader, and who is not granted the clock.
const FIXED: DateTime = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);

impl Clocks {
    /// `moved_by_readings`: not for a guest that looks at the clock for other reasons than the time, as the shell does.
    pub(super) fn new(moved_by_readings: bool) -> Self {
        Self(Arc::new(Mutex::new(Passing {
            moment: FIXED,
            elapsed: Duration::ZERO,
            most: Duration::ZERO,
            reading: if moved_by_readings {
                READING
            } else {
                Duration::ZERO
            },
            overslept: false,
        })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Passing) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a call, in which at most `most` passes.
    pub(super) fn arm(&self, most: Duration) {
        self.resume(Duration::ZERO, most);
    }

    /// Goes on from another guest's clocks: at `elapsed` of `most`.
    pub(super) fn resume(&self, elapsed: Duration, most: Duration) {
        self.with(|passing| {
            passing.elapsed = elapsed;
            passing.most = most;
            passing.overslept = false;
        });
    }

    /// What passed, and what may pass.
    pub(super) fn passed(&self) -> (Duration, Duration) {
        self.with(|passing| (passing.elapsed, passing.most))
    }

    pub(super) fn set_moment(&self, now: DateTime) {
        self.with(|passing| passing.moment = now);
    }

    /// The session's moment. It stands still in a call.
    pub(super) fn moment(&self) -> DateTime {
        self.with(|passing| passing.moment)
    }

    /// The session's moment, since 1970.
    pub(super) fn moment_since_1970(&self) -> Duration {
        let seconds = self
            .moment()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .map_or(0, |z| z.timestamp().as_second());
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    pub(super) fn read(&self) -> Duration {
        let elapsed = self.with(|passing| {
            passing.elapsed = passing.elapsed.saturating_add(passing.reading);
            passing.elapsed
        });
        self.moment_since_1970().saturating_add(elapsed)
    }

    /// Sleeps until a moment since 1970.
    pub(super) fn sleep_until(&self, at: Duration) {
        let wanted = at.saturating_sub(self.moment_since_1970());
        self.with(|passing| {
            passing.overslept |= wanted > passing.most;
            passing.elapsed = wanted.min(passing.most).max(passing.elapsed);
        });
    }

    pub(super) fn check(&self) -> wasmtime::Result<()> {
        if self.with(|passing| passing.overslept) {
            return Err(wasmtime::Error::new(Overslept));
        }
        Ok(())
    }
}

impl HostWallClock for Clocks {
    fn resolution(&self) -> Duration {
        READING
    }

    fn now(&self) -> Duration {
        self.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_moves_the_clock_to_its_end_and_not_past_what_may_pass() {
        let clocks = Clocks::new(false);
        clocks.arm(Duration::from_mins(1));
        let began = clocks.read();
        clocks.sleep_until(began + Duration::from_mins(1));
        assert_eq!(clocks.read(), began + Duration::from_mins(1));
        assert!(clocks.check().is_ok());
        clocks.sleep_until(Duration::MAX);
        assert_eq!(clocks.passed().0, Duration::from_mins(1));
        assert!(clocks.check().is_err());
    }

    #[test]
    fn readings_move_the_clock_where_they_should() {
        for (moved, step) in [(true, READING), (false, Duration::ZERO)] {
            let clocks = Clocks::new(moved);
            let first = clocks.read();
            assert_eq!(clocks.read(), first + step);
        }
    }

    #[test]
    fn the_sessions_moment_stands_still() {
        let clocks = Clocks::new(true);
        clocks.arm(Duration::from_secs(9));
        clocks.sleep_until(clocks.read() + Duration::from_secs(5));
        assert_eq!(clocks.moment(), FIXED);
    }
}
