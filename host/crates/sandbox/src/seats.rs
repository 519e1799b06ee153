//! Places for live instances: as many as the engine's pool is sure to have. Whoever finds none takes that of an app that
//! is between two calls, the one that has been so longest, or waits, and at last is told. An instance is dropped here
//! only when what is in it can be had again.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::GuestFault;

/// The places of one kind of guests. `T` holds its permit until it is dropped.
pub(super) struct Seats<T> {
    free: Arc<Semaphore>,
    places: usize,
    lot: Mutex<Lot<T>>,
}

struct Lot<T> {
    /// By ticket: the first has been parked longest.
    parked: BTreeMap<Ticket, T>,
    next: Ticket,
    /// Callers who wait for a place: nobody may park then.
    waiting: usize,
}

tokio::task_local! {
    /// How long the work at hand has waited for places.
    static WAITED: Cell<Duration>;
}

/// Also says how long the work waited for places, whichever and how deep inside: what a machine lacks is none of a
/// session's time.
pub async fn count_waits<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let counted = async {
        let done = work.await;
        (done, WAITED.with(Cell::get))
    };
    WAITED.scope(Cell::default(), counted).await
}

/// Names a parked instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

impl<T> Seats<T> {
    pub(super) fn new(places: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(places)),
            places,
            lot: Mutex::new(Lot {
                parked: BTreeMap::new(),
                next: Ticket(0),
                waiting: 0,
            }),
        }
    }

    /// A place, within `patience`. In the order of asking.
    pub(super) async fn take(
        &self,
        patience: Duration,
    ) -> Result<OwnedSemaphorePermit, GuestFault> {
        let free = Arc::clone(&self.free);
        if pibench_memory::is_near() {
            let evicted = self.lot().parked.pop_first();
            drop(evicted);
        }
        if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = self.wait();
        let began = Instant::now();
        let place = tokio::time::timeout(patience, free.acquire_owned()).await;
        // Who asked need not count.
        let _ = WAITED.try_with(|waited| waited.set(waited.get() + began.elapsed()));
        match place {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(closed)) => Err(GuestFault::Host {
                reason: closed.to_string(),
            }),
            Err(_) => Err(GuestFault::Overloaded {
                places: self.places,
                waited_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }

    /// Announces a caller and evicts one parked instance for it.
    fn wait(&self) -> Waiting<'_, T> {
        let evicted = {
            let mut lot = self.lot();
            lot.waiting += 1;
            lot.parked.pop_first()
        };
        // Its place is free from here on.
        drop(evicted);
        Waiting(self)
    }

    /// Leaves an instance where it can be evicted. None when it was evicted at once, for somebody who waits or for want of
    /// memory.
    pub(super) fn park(&self, instance: T) -> Option<Ticket> {
        let mut lot = self.lot();
        if lot.waiting > 0 || pibench_memory::is_near() {
            drop(lot);
            drop(instance);
            return None;
        }
        let ticket = lot.next;
        lot.next = Ticket(ticket.0 + 1);
        lot.parked.insert(ticket, instance);
        Some(ticket)
    }

    /// The instance, unless it was evicted.
    pub(super) fn unpark(&self, ticket: Ticket) -> Option<T> {
        self.lot().parked.remove(&ticket)
    }

    pub(super) fn is_parked(&self, ticket: Ticket) -> bool {
        self.lot().parked.contains_key(&ticket)
    }

    fn lot(&self) -> MutexGuard<'_, Lot<T>> {
        self.lot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller who waits; one who gives up waits no longer.
struct Waiting<'a, T>(&'a Seats<T>);

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        self.0.lot().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn who_finds_no_place_is_told_after_the_wait() {
        let seats: Seats<()> = Seats::new(1);
        let held = seats.take(SOON).await.unwrap();
        let fault = seats.take(SOON).await.unwrap_err();
        assert_eq!(
            fault,
            GuestFault::Overloaded {
                places: 1,
                waited_ms: 20
            }
        );
        assert!(fault.is_infrastructure());
        drop(held);
        assert!(seats.take(SOON).await.is_ok());
    }

    #[tokio::test]
    async fn only_waiting_for_a_place_is_counted() {
        let seats: Seats<()> = Seats::new(1);
        let minute = Duration::from_mins(1);
        let (held, waited) = count_waits(async {
            tokio::time::sleep(SOON).await;
            seats.take(minute).await.unwrap()
        })
        .await;
        assert_eq!(waited, Duration::ZERO, "there was one");
        let began = Instant::now();
        let holder = async {
            tokio::time::sleep(SOON).await;
            drop(held);
        };
        let asking = count_waits(async {
            let place = seats.take(minute).await;
            let got = began.elapsed();
            tokio::time::sleep(SOON).await;
            (place, got)
        });
        let ((), ((place, got), waited)) = tokio::join!(holder, asking);
        assert!(waited >= SOON / 2 && waited <= got, "{waited:?}, {got:?}");
        let (full, waited) = count_waits(seats.take(SOON)).await;
        assert!(full.is_err(), "{place:?} is held");
        assert!(waited >= SOON / 2, "{waited:?}");
    }

    #[tokio::test]
    async fn the_instance_that_was_parked_longest_gives_its_place() {
        let seats = Seats::new(2);
        let one = seats.take(SOON).await.unwrap();
        let two = seats.take(SOON).await.unwrap();
        let one = seats.park(one).unwrap();
        let two = seats.park(two).unwrap();
        let third = seats.take(SOON).await;
        assert!(third.is_ok());
        assert!(seats.unpark(one).is_none(), "evicted");
        assert!(seats.unpark(two).is_some(), "still there");
    }

    #[tokio::test]
    async fn nobody_parks_while_somebody_waits() {
        let seats = Arc::new(Seats::new(1));
        let held = seats.take(SOON).await.unwrap();
        let waiter = async {
            drop(seats.take(Duration::from_mins(1)).await.unwrap());
        };
        let holder = async {
            tokio::task::yield_now().await;
            assert!(seats.park(held).is_none());
        };
        tokio::join!(waiter, holder);
        assert_eq!(seats.lot().waiting, 0);
    }

    #[tokio::test]
    async fn who_gives_up_waits_no_longer() {
        let seats = Seats::new(1);
        let held = seats.take(SOON).await.unwrap();
        let given_up = tokio::time::timeout(SOON, seats.take(Duration::from_mins(1))).await;
        assert!(given_up.is_err());
        assert!(seats.park(held).is_some());
    }
}
