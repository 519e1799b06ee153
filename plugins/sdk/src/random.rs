//! Randomness that is the same in every run with the same seed.

/// The next 64 bits.
#[cfg(target_family = "wasm")]
pub fn next() -> u64 {
    crate::bindings::tool_app::pibench::plugin::random::next()
}

/// Natively: a seeded counter of the thread.
#[cfg(not(target_family = "wasm"))]
pub fn next() -> u64 {
    crate::stand_in::next_random()
}
