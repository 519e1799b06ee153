//! WASI's monotonic clock, and what waits for it: on the guest's own time.

use std::time::Duration;

use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::io::poll;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use crate::clock::{Clocks, READING};
use crate::state::{State, WAITED};

/// Links the monotonic clock, and what waits for it, in place of WASI's own.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    poll::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
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

/// WASI's own, charged by the handles, and an end for who overslept: an alarm cannot say so itself.
impl poll::Host for State {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        self.work.spend(WAITED * pollables.len() as u64)?;
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
