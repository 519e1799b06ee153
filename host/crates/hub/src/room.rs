//! Room in memory for requests that are read and answered: so much for all together, and of it a share for each submitter, so
//! that nobody waits for what one holds. Reads nothing itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;

const KIB: usize = 1024;

/// A submitter has at most this part of all, but has room for one request.
const PART: usize = 8;

#[derive(Debug)]
pub(crate) struct Room {
    /// In KiB, as all that follows.
    all: Arc<Semaphore>,
    share: usize,
    own: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// What a request takes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    own: OwnedSemaphorePermit,
    all: OwnedSemaphorePermit,
}

impl Room {
    pub(crate) fn of(limits: &Limits) -> Self {
        let all = limits.requests_mib as usize * 1024;
        Self {
            all: Arc::new(Semaphore::new(all)),
            share: (all / PART).max(limits.request_kib as usize),
            own: Mutex::default(),
        }
    }

    /// Takes room for as many bytes; waits for it, first in the submitter's own share. None if there is no such room.
    pub(crate) async fn take(&self, name: &str, bytes: usize) -> Option<Taken> {
        let kib = u32::try_from(bytes.div_ceil(KIB)).ok()?;
        let share = {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            let share = own
                .entry(name.to_owned())
                .or_insert_with(|| Arc::new(Semaphore::new(self.share)));
            Arc::clone(share)
        };
        // Neither is ever closed.
        let own = share.acquire_many_owned(kib).await.ok()?;
        let all = Arc::clone(&self.all).acquire_many_owned(kib).await.ok()?;
        Some(Taken { own, all })
    }
}

impl Taken {
    /// Gives back what so many bytes do not need.
    pub(crate) fn keep(&mut self, bytes: usize) {
        for permit in [&mut self.own, &mut self.all] {
            let spare = permit.num_permits().saturating_sub(bytes.div_ceil(KIB));
            drop(permit.split(spare));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::pin::{Pin, pin};
    use std::task::Poll;

    use super::*;

    /// What a future has come to by now, without waiting.
    pub(crate) async fn now<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// Of 8 MiB, of which a request takes at most one, and a submitter too.
    fn room() -> Room {
        Room::of(&Limits {
            request_kib: 1024,
            requests_mib: 8,
            ..Limits::default()
        })
    }

    const LARGEST: usize = 1 << 20;

    #[tokio::test]
    async fn who_holds_its_share_waits_for_itself_and_nobody_else_does() {
        let room = room();
        let mut held = Vec::new();
        let mut waiting = Vec::new();
        for name in ["ana", "bo", "cy"] {
            held.push(room.take(name, LARGEST).await.unwrap());
            for _ in 0..24 {
                waiting.push(Box::pin(room.take(name, 1)));
            }
        }
        for more in &mut waiting {
            assert!(now(more.as_mut()).await.is_none());
        }
        let other = now(pin!(room.take("di", LARGEST))).await;
        assert!(other.flatten().is_some(), "di waits for the others");
        // The twin: room of one's own is taken as soon as it is free.
        drop(held);
        for more in waiting {
            assert!(more.await.is_some());
        }
    }

    #[tokio::test]
    async fn what_a_request_does_not_need_is_there_again_before_it_is_answered() {
        let room = room();
        let mut first = room.take("ana", LARGEST).await.unwrap();
        first.keep(LARGEST);
        assert!(now(pin!(room.take("ana", 1))).await.is_none());
        first.keep(1);
        let second = now(pin!(room.take("ana", LARGEST - 1024))).await.flatten();
        assert!(second.is_some());
        assert!(now(pin!(room.take("ana", 1))).await.is_none());
        // And for all.
        assert_eq!(room.all.available_permits(), 7 * 1024);
        drop((first, second));
        assert_eq!(room.all.available_permits(), 8 * 1024);
    }

    #[tokio::test]
    async fn a_share_has_room_for_the_largest_request_whatever_the_limits() {
        let least = Limits {
            request_kib: 1024,
            requests_mib: 1,
            ..Limits::default()
        };
        assert!(Room::of(&least).take("ana", LARGEST).await.is_some());
        let usual = Room::of(&Limits::default());
        assert_eq!(usual.share, 32 * 1024);
    }
}
