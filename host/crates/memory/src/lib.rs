//! The bound of the program's own memory: how much it uses, and who of those that it works for holds most of that. It ends
//! nobody: who holds something asks whether it shall go. Without a bound nothing is counted.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

static BOUND: OnceLock<Bound> = OnceLock::new();

/// Nobody who holds less than this many bytes is ended: it would help nobody.
const WORTH: usize = 4 << 20;

struct Bound {
    most: u64,
    near: AtomicBool,
    used: AtomicUsize,
    held: Mutex<Vec<Weak<Slot>>>,
}

impl Bound {
    fn held(&self) -> MutexGuard<'_, Vec<Weak<Slot>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Slot {
    what: String,
    bytes: AtomicUsize,
    at_rest: AtomicBool,
    ended: AtomicBool,
}

/// Bounds the process to so many bytes, from now on. The first bound stays.
pub fn bound(most: u64) {
    BOUND.get_or_init(|| Bound {
        most,
        near: AtomicBool::new(false),
        used: AtomicUsize::new(0),
        held: Mutex::new(Vec::new()),
    });
}

/// Whether the process has a bound.
pub fn is_bounded() -> bool {
    BOUND.get().is_some()
}

/// Whether more than three quarters of the bound were in use at the last look: nothing new begins then.
pub fn is_near() -> bool {
    BOUND
        .get()
        .is_some_and(|bound| bound.near.load(Ordering::Relaxed))
}

/// What somebody holds of the process's memory, until it is dropped. `Default` counts nothing.
#[derive(Debug, Default)]
pub struct Holding(Option<Arc<Slot>>);

/// Counts what `what` holds, in words for the operator: `plugin NAME`, `an answer of MODEL`.
pub fn hold(what: impl FnOnce() -> String) -> Holding {
    let Some(bound) = BOUND.get() else {
        return Holding(None);
    };
    let slot = Arc::new(Slot {
        what: what(),
        bytes: AtomicUsize::new(0),
        at_rest: AtomicBool::new(false),
        ended: AtomicBool::new(false),
    });
    bound.held().push(Arc::downgrade(&slot));
    Holding(Some(slot))
}

impl Holding {
    /// It holds so many bytes now.
    pub fn set(&self, bytes: usize) {
        if let Some(slot) = &self.0 {
            slot.bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Whether nothing of it runs: it could not go if it was asked to.
    pub fn rest(&self, at_rest: bool) {
        if let Some(slot) = &self.0 {
            slot.at_rest.store(at_rest, Ordering::Relaxed);
        }
    }

    /// Why it has to go, if it has.
    pub fn ended(&self) -> Option<Crowded> {
        let slot = self.0.as_ref()?;
        let bound = BOUND.get()?;
        slot.ended.load(Ordering::Relaxed).then(|| Crowded {
            held: slot.bytes.load(Ordering::Relaxed) as u64,
            used: bound.used.load(Ordering::Relaxed) as u64,
            most: bound.most,
        })
    }
}

/// Why somebody had to go: it held most when the process came near its bound. All in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowded {
    pub held: u64,
    pub used: u64,
    pub most: u64,
}

/// Looks at how much is in use. Above seven eighths of the bound, whoever works and holds most has to go: its name, once.
/// While one that had to go is still there, no other has to. To be called every few milliseconds.
pub fn look() -> Option<String> {
    let bound = BOUND.get()?;
    let used = in_use()?;
    bound.used.store(
        usize::try_from(used).unwrap_or(usize::MAX),
        Ordering::Relaxed,
    );
    bound
        .near
        .store(used > bound.most / 4 * 3, Ordering::Relaxed);
    let mut held = bound.held();
    held.retain(|slot| slot.strong_count() > 0);
    if used <= bound.most / 8 * 7 {
        return None;
    }
    largest(held.iter().filter_map(Weak::upgrade))
}

/// Marks the largest of those that work.
fn largest(slots: impl Iterator<Item = Arc<Slot>>) -> Option<String> {
    let mut most: Option<(usize, Arc<Slot>)> = None;
    for slot in slots {
        if slot.ended.load(Ordering::Relaxed) {
            return None;
        }
        let bytes = slot.bytes.load(Ordering::Relaxed);
        let counts = bytes >= WORTH && !slot.at_rest.load(Ordering::Relaxed);
        if counts && most.as_ref().is_none_or(|(found, _)| bytes > *found) {
            most = Some((bytes, slot));
        }
    }
    let (_, slot) = most?;
    slot.ended.store(true, Ordering::Relaxed);
    Some(slot.what.clone())
}

/// Bytes of memory that are the process's own: none of files that are mapped. None where the system does not tell.
pub fn in_use() -> Option<u64> {
    status("RssAnon:")
}

/// Bytes of memory that the process held at most, with what it had mapped of its program. None where the system does not tell.
pub fn peak() -> Option<u64> {
    status("VmHWM:")
}

fn status(entry: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(entry))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(what: &str, bytes: usize, at_rest: bool) -> Arc<Slot> {
        Arc::new(Slot {
            what: what.into(),
            bytes: bytes.into(),
            at_rest: at_rest.into(),
            ended: false.into(),
        })
    }

    #[test]
    fn the_largest_that_works_has_to_go_and_no_second_one_while_it_is_there() {
        let slots = [
            slot("small", WORTH - 1, false),
            slot("resting", 9 * WORTH, true),
            slot("large", 3 * WORTH, false),
            slot("larger", 4 * WORTH, false),
        ];
        let all = || slots.iter().map(Arc::clone);
        assert_eq!(largest(all()).as_deref(), Some("larger"));
        assert_eq!(largest(all()), None);
        assert_eq!(largest(all().take(3)).as_deref(), Some("large"));
        assert_eq!(largest(all().take(2)), None);
    }

    #[test]
    fn what_is_used_is_known_and_grows_with_what_is_held() {
        let before = in_use().unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(in_use().unwrap() >= before + (60 << 20));
        drop(held);
    }
}
