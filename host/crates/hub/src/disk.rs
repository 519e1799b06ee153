//! What each submitter's runs take of the disk: measured once at a time for each, so that many requests are not many walks over
//! it. Walks nowhere itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

/// A measure that is as good as a new one: a flood of requests is not a flood of walks over the disk.
const MOMENT: Duration = Duration::from_secs(2);

/// Measures by submitter, each with when it was made.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    made: Mutex<HashMap<String, (Instant, u64)>>,
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What somebody finds who wants a measure.
#[derive(Debug)]
pub(crate) enum Look {
    /// It was measured now, or a moment ago: bytes.
    Known(u64),
    /// Nobody else measures this submitter's until it is dropped.
    Turn(Turn),
}

/// Of one submitter.
#[derive(Debug)]
pub(crate) struct Turn(OwnedMutexGuard<()>);

impl Disk {
    /// What was measured last.
    pub(crate) fn last(&self, name: &str) -> Option<(Instant, u64)> {
        self.made().get(name).copied()
    }

    /// Who has to wait for another's measure has that one.
    pub(crate) async fn look(&self, name: &str) -> Look {
        let asked = Instant::now();
        let known = || {
            let last = self.last(name);
            last.filter(|(at, _)| *at >= asked || at.elapsed() < MOMENT)
        };
        if let Some((_, bytes)) = known() {
            return Look::Known(bytes);
        }
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(name.to_owned()).or_default())
        };
        let turn = turn.lock_owned().await;
        known().map_or(Look::Turn(Turn(turn)), |(_, bytes)| Look::Known(bytes))
    }

    /// Keeps what was measured, and lets the next have its turn.
    pub(crate) fn put(&self, name: &str, bytes: u64, Turn(turn): Turn) {
        self.made().insert(name.to_owned(), (Instant::now(), bytes));
        drop(turn);
    }

    fn made(&self) -> MutexGuard<'_, HashMap<String, (Instant, u64)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::room::tests::now;

    #[tokio::test]
    async fn many_who_ask_at_once_are_one_measure_for_each_submitter() {
        let disk = Disk::default();
        let Look::Turn(first) = disk.look("ana").await else {
            panic!("nothing was measured");
        };
        let mut second = pin!(disk.look("ana"));
        let mut third = pin!(disk.look("ana"));
        assert!(now(second.as_mut()).await.is_none());
        assert!(now(third.as_mut()).await.is_none());
        // Another's is measured meanwhile.
        let Some(Look::Turn(_)) = now(pin!(disk.look("bo"))).await else {
            panic!("bo waits for ana");
        };
        disk.put("ana", 7, first);
        for waited in [second.await, third.await] {
            assert!(matches!(waited, Look::Known(7)), "{waited:?}");
        }
        assert_eq!(disk.last("bo"), None);
    }

    #[tokio::test]
    async fn a_measure_that_came_to_nothing_is_made_by_the_next() {
        let disk = Disk::default();
        let first = disk.look("ana").await;
        let mut second = pin!(disk.look("ana"));
        assert!(now(second.as_mut()).await.is_none());
        drop(first);
        assert!(matches!(second.await, Look::Turn(_)));
    }
}
