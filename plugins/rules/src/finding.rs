//! What a condition finds in a session.

/// Whether a condition holds, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) pass: bool,
    /// One or two sentences without a final stop.
    pub(crate) reason: String,
}

/// A condition can be called neither true nor false: under a `not`, a guess would be credit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Undecided(pub(crate) String);
