//! One live instance: its store and what it exports, and the one way to call it: armed, bounded, measured. It knows
//! neither what is called nor what the answer means.

use std::time::{Duration, Instant};

use jiff::civil::DateTime;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;
use wasmtime::component::Component;

use super::fault::GuestFault;
use super::limits::Limits;
use super::state::{Owner, Reach, State, arm, bound_call, fault};
use pibench_core::record::{GuestCall, GuestOutcome};
use pibench_core::vocabulary::Grant;

/// A store with its instance. Dropping it gives back its place.
pub(super) struct Live<G> {
    pub(super) store: Store<State>,
    pub(super) guest: G,
}

/// What one call came to, and what it took.
pub(super) struct Ran<T> {
    pub(super) result: Result<T, GuestFault>,
    took: Took,
}

struct Took {
    fuel: u64,
    peak_memory: usize,
    run: Duration,
    denied: Option<Grant>,
}

impl<G> Live<G> {
    /// A fresh instance. `permit` is its place, given back with it.
    pub(super) async fn new(
        owner: Owner<'_>,
        limits: Limits,
        key: [u8; 32],
        reach: Reach,
        permit: OwnedSemaphorePermit,
        instantiate: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<G>,
    ) -> Result<Self, GuestFault> {
        make_images(owner.component)
            .await
            .map_err(|error| host(&error))?;
        let mut store = State::store(owner, limits, key, reach, permit);
        arm(&mut store, limits).map_err(|error| host(&error))?;
        let guest = bound_call(limits, Box::pin(instantiate(&mut store))).await;
        match guest {
            Ok(guest) => Ok(Self { store, guest }),
            Err(error) => Err(fault(&error, store.data().limiter.refused, limits)),
        }
    }

    /// Runs one call at a moment of the session's clock. After a fault the instance must be dropped.
    pub(super) async fn call<T>(
        &mut self,
        limits: Limits,
        now: DateTime,
        call: impl AsyncFnOnce(&mut Self) -> wasmtime::Result<T>,
    ) -> Ran<T> {
        let began = Instant::now();
        if let Err(error) = arm(&mut self.store, limits) {
            return Ran {
                result: Err(host(&error)),
                took: self.took(limits, began),
            };
        }
        self.store.data_mut().set_now(now);
        // In its own place: what is around it moves it more than once, and it is large.
        let result = bound_call(limits, Box::pin(call(self))).await;
        Ran {
            result: result
                .map_err(|error| fault(&error, self.store.data().limiter.refused, limits)),
            took: self.took(limits, began),
        }
    }

    fn took(&mut self, limits: Limits, began: Instant) -> Took {
        self.store.data().limiter.holding.rest(true);
        Took {
            fuel: limits.fuel - self.store.get_fuel().unwrap_or(0).min(limits.fuel),
            peak_memory: self.store.data().limiter.peak,
            run: began.elapsed(),
            denied: self.store.data_mut().denied.take(),
        }
    }
}

/// The starting memory of each instance, as sealed files in memory, made when the first one is wanted. The kernel refuses
/// a seal while it still looks after the pages, which passes: without this, the guest would seem to trap.
async fn make_images(component: &Component) -> wasmtime::Result<()> {
    const ATTEMPTS: u32 = 5;
    for attempt in 1..ATTEMPTS {
        match component.initialize_copy_on_write_image() {
            Ok(()) => return Ok(()),
            Err(_) => tokio::time::sleep(Duration::from_millis(20) * attempt).await,
        }
    }
    component.initialize_copy_on_write_image()
}

fn host(error: &wasmtime::Error) -> GuestFault {
    GuestFault::Host {
        reason: format!("{error:#}"),
    }
}

impl<T> Ran<T> {
    /// The units that the call used.
    pub(super) fn fuel(&self) -> u64 {
        self.took.fuel
    }

    /// As timing files keep it. `refused` says that the answer is a refusal.
    pub(super) fn record(
        &self,
        plugin: &str,
        function: String,
        instantiate: Duration,
        refused: bool,
    ) -> GuestCall {
        let Took {
            fuel,
            peak_memory,
            run,
            denied,
        } = &self.took;
        let outcome = match (&self.result, denied) {
            (Err(fault), _) => fault.outcome(),
            (Ok(_), Some(grant)) => GuestOutcome::Denied {
                interface: grant.name().into(),
            },
            (Ok(_), None) if refused => GuestOutcome::ToolError,
            (Ok(_), None) => GuestOutcome::Ok,
        };
        GuestCall {
            plugin: plugin.to_owned(),
            function,
            outcome,
            fuel: *fuel,
            peak_memory: *peak_memory as u64,
            instantiate_us: micros(instantiate),
            run_us: micros(*run),
        }
    }
}

/// A call that found no instance to run in.
pub(super) fn not_run(
    plugin: &str,
    function: String,
    fault: &GuestFault,
    instantiate: Duration,
) -> GuestCall {
    GuestCall {
        plugin: plugin.to_owned(),
        function,
        outcome: fault.outcome(),
        fuel: 0,
        peak_memory: 0,
        instantiate_us: micros(instantiate),
        run_us: 0,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
