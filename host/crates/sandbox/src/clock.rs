//! The clocks of a guest. A call begins at the session's moment, and within it time passes by sleeping only: a sleep
//! moves the clocks and waits for nothing. The machine's clocks are out of reach.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::civil::DateTime;
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::clocks::HostWallClock;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::io::poll;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use super::state::State;

/// Links the monotonic clock, and what waits for it, in place of WASI's own.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    poll::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// What a reading moves the clocks of a guest that may wait by looking at them, so that it ends. Two readings differ, as
/// those of a real clock do, and an hour of looking is within nobody's fuel.
const READING: Duration = Duration::from_micros(10);

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

    fn read(&self) -> Duration {
        let elapsed = self.with(|passing| {
            passing.elapsed = passing.elapsed.saturating_add(passing.reading);
            passing.elapsed
        });
        self.moment_since_1970().saturating_add(elapsed)
    }

    /// Sleeps until a moment since 1970.
    fn sleep_until(&self, at: Duration) {
        let wanted = at.saturating_sub(self.moment_since_1970());
        self.with(|passing| {
            passing.overslept |= wanted > passing.most;
            passing.elapsed = wanted.min(passing.most).max(passing.elapsed);
        });
    }

    fn check(&self) -> wasmtime::Result<()> {
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

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A moment, since 1970, that somebody waits for.
struct Alarm {
    at: Duration,
    clocks: Clocks,
}

#[async_trait::async_trait]
impl Pollable for Alarm {
    /// Gives way once: whatever else is waited for and is ready comes first, and then no time passes. Of several alarms
    /// the last one counts.
    async fn ready(&mut self) {
        if self.clocks.read() < self.at {
            tokio::task::yield_now().await;
            self.clocks.sleep_until(self.at);
        }
    }
}

impl State {
    fn alarm(&mut self, at: Duration) -> wasmtime::Result<Resource<DynPollable>> {
        let clocks = self.clocks.clone();
        let alarm = self.table_mut().push(Alarm { at, clocks })?;
        subscribe(self.table_mut(), alarm)
    }
}

impl monotonic_clock::Host for State {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(nanoseconds(self.clocks.read()))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(nanoseconds(READING))
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.alarm(Duration::from_nanos(when))
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.clocks.read();
        self.alarm(now.saturating_add(Duration::from_nanos(duration)))
    }
}

/// WASI's own, and an end for who overslept: an alarm cannot say so itself.
impl poll::Host for State {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        let ready = poll::Host::poll(self.table_mut(), pollables).await?;
        self.clocks.check()?;
        Ok(ready)
    }
}

impl poll::HostPollable for State {
    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::block(self.table_mut(), pollable).await?;
        self.clocks.check()
    }

    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        poll::HostPollable::ready(self.table_mut(), pollable).await
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::drop(self.table_mut(), pollable)
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
