//! Draws from a seed: the one place in scoring that has chance in it. The cipher gives the same numbers on every machine;
//! nothing here is ever seeded by the system.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What is drawn for: each has numbers of its own, so that one method's draws do not repeat the other's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    SignFlip,
    Bootstrap,
}

/// An endless sequence that follows from seed and purpose.
pub(super) struct Draws(ChaCha12Rng);

impl Draws {
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        let mut draws = ChaCha12Rng::seed_from_u64(seed);
        draws.set_stream(match purpose {
            Purpose::SignFlip => 1,
            Purpose::Bootstrap => 2,
        });
        Self(draws)
    }

    /// 64 fair coins.
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// 0 to `end` - 1, each as likely: 128 bits hold the product, whose upper half is the place. For the few sessions
    /// of a persona the bias is below 2^-50.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below `end`, which is a usize"
    )]
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }
}
