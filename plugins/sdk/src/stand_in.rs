//! What stands in for the host in native tests: a clock and random numbers of the thread, so that tests do not disturb
//! each other. Not part of any component.

use std::cell::Cell;

use jiff::civil::{DateTime, datetime};

thread_local! {
    static CLOCK: Cell<DateTime> = const { Cell::new(datetime(2026, 3, 2, 9, 0, 0, 0)) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// Sets this thread's clock. It stands still until the next call.
pub fn set_clock(now: DateTime) {
    CLOCK.set(now);
}

pub(crate) fn now() -> DateTime {
    CLOCK.get()
}

/// Sets where this thread's random numbers start.
pub fn set_seed(seed: u64) {
    RANDOM.set(seed);
}

/// Where they have come to.
pub(crate) fn seed() -> u64 {
    RANDOM.get()
}

pub(crate) fn next_random() -> u64 {
    let mut draw = Draw(RANDOM.get());
    let number = draw.next();
    RANDOM.set(draw.0);
    number
}

/// `SplitMix64` (Steele, Lea, Flood 2014): small, and good enough to choose with.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
