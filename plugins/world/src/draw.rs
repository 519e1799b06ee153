//! The generator's dice: numbers that follow from a seed and a name, and from nothing else.

use jiff::Span;
use jiff::civil::{Date, DateTime};

/// `SplitMix64` (Steele, Lea, Flood 2014): small, and good enough to choose with.
#[derive(Debug, Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    /// Dice of their own for each part of the world, so that one part can grow without a change in the others.
    pub(crate) fn new(seed: u64, part: &str) -> Self {
        // FNV-1a, to tell the parts apart.
        let hash = part.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ hash)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the bound; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + u32::try_from(self.next() % u64::from(high - low + 1)).unwrap_or_default()
    }

    /// Whether something happens that happens in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of them; there must be one.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// So many of them, each at most once, in a drawn order.
    pub(crate) fn some<T: Clone>(&mut self, choices: &[T], count: usize) -> Vec<T> {
        let mut choices = choices.to_vec();
        self.shuffle(&mut choices);
        choices.truncate(count);
        choices
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }

    /// A moment of the waking hours of a day, both ends of the period included.
    pub(crate) fn moment(&mut self, from: Date, to: Date) -> DateTime {
        let day = self.date(from, to);
        let (hour, minute) = (self.between(7, 21), self.between(0, 59));
        let second = self.between(0, 59);
        day.at(small(hour), small(minute), small(second), 0)
    }

    pub(crate) fn date(&mut self, from: Date, to: Date) -> Date {
        let days = from.until(to).map_or(0, |span| span.get_days());
        let days = i32::try_from(self.below(usize::try_from(days).unwrap_or_default() + 1));
        from.saturating_add(Span::new().days(days.unwrap_or_default()))
    }

    /// So many minutes later, at most; at least one.
    pub(crate) fn later(&mut self, moment: DateTime, minutes: u32) -> DateTime {
        let minutes = i64::from(self.between(1, minutes));
        let seconds = i64::from(self.between(0, 59));
        moment.saturating_add(Span::new().minutes(minutes).seconds(seconds))
    }
}

fn small(number: u32) -> i8 {
    i8::try_from(number).unwrap_or_default()
}
