//! How a guest fails. A fault is data: it is recorded, and the run goes on.

use serde::{Deserialize, Serialize};

use pibench_core::record::GuestOutcome;
use pibench_memory::Crowded;

/// A guest's failure, by kind. What a guest says itself (an app's refusal, a grader's verdict) is no fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GuestFault {
    /// The guest executed something that it must not: `unreachable` (a panic), a bad access, a stack overflow.
    #[error("trapped: {trap}")]
    Trap { trap: String },
    /// The fuel of the call ran out.
    #[error("used up its fuel of {limit} units")]
    Fuel { limit: u64 },
    /// The guest wanted more memory than it may have, and did not survive the refusal.
    #[error("needs more than its {limit} bytes of memory")]
    Memory { limit: usize },
    /// The machine had hardly a processor for the call. Infrastructure: an overloaded machine must not change a score.
    #[error(
        "took longer than {limit_ms} ms, with hardly a processor: too much runs at once; lower --jobs"
    )]
    Timeout { limit_ms: u64 },
    /// A processor worked for the call as long as it may: for what of the host's work fuel does not count. That is the
    /// guest's doing, so that no guest can leave its session without a score, and no agent end its run. How long the
    /// call waited for a processor is not counted.
    #[error("kept a processor busy for longer than {limit_ms} ms")]
    Busy { limit_ms: u64 },
    /// The guest slept past the end of the call's time. Its sleep takes no real time, so this is the same each time.
    #[error("slept past the end of its {limit_ms} ms")]
    Slept { limit_ms: u64 },
    /// The guest's answer breaks a rule of its interface.
    #[error("gave a bad answer: {reason}")]
    BadOutput { reason: String },
    /// The guest answered with an error where it has none to give: a grader that cannot grade.
    #[error("failed: {message}")]
    Failed { message: String },
    /// No place for an instance became free in time.
    #[error(
        "waited {waited_ms} ms for one of {places} places: too much runs at once; lower --jobs"
    )]
    Overloaded { places: usize, waited_ms: u64 },
    /// The program came near the bound of its own memory, and of all that worked this held most. Infrastructure: what else
    /// the machine plays must not change a score.
    #[error(
        "was ended: it held {held} bytes, more than any other, when the program used {used} of its {most} bytes; raise --memory \
         or lower --jobs"
    )]
    Crowded { held: u64, used: u64, most: u64 },
    /// The host could not run the guest.
    #[error("could not be run: {reason}")]
    Host { reason: String },
}

impl GuestFault {
    /// Whether the machine is to blame and not the guest: such a call is tried again and never scored.
    pub fn is_infrastructure(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::Overloaded { .. }
                | Self::Crowded { .. }
                | Self::Host { .. }
        )
    }

    /// A panic is only an `unreachable` to the host: what it was about is in what the guest wrote last.
    #[must_use]
    pub(super) fn with_last_words(self, log: &str) -> Self {
        match self {
            Self::Trap { trap } if !log.trim().is_empty() => Self::Trap {
                trap: bounded(&format!("{trap}; it wrote: {}", log.trim())),
            },
            fault => fault,
        }
    }

    /// As timing files keep it.
    pub(super) fn outcome(&self) -> GuestOutcome {
        match self {
            Self::Trap { trap } => GuestOutcome::Trap { trap: trap.clone() },
            Self::Fuel { .. } => GuestOutcome::Fuel,
            Self::Memory { .. } => GuestOutcome::Memory,
            Self::Timeout { .. } | Self::Busy { .. } => GuestOutcome::Timeout,
            Self::Slept { .. } => GuestOutcome::Slept,
            Self::BadOutput { .. } => GuestOutcome::BadOutput,
            Self::Failed { .. } => GuestOutcome::Failed,
            Self::Overloaded { .. } | Self::Crowded { .. } => GuestOutcome::Overloaded,
            Self::Host { .. } => GuestOutcome::HostError,
        }
    }

    /// The kind's name in records and tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::Fuel { .. } => "fuel",
            Self::Memory { .. } => "memory",
            Self::Timeout { .. } => "timeout",
            Self::Busy { .. } => "busy",
            Self::Slept { .. } => "slept",
            Self::BadOutput { .. } => "bad_output",
            Self::Failed { .. } => "failed",
            Self::Overloaded { .. } => "overloaded",
            Self::Crowded { .. } => "crowded",
            Self::Host { .. } => "host",
        }
    }
}

/// A guest's own words, made safe for logs and terminals: control characters escaped, at most 4 KiB.
pub(super) fn bounded(text: &str) -> String {
    const MOST: usize = 4096;
    let end = text.floor_char_boundary(MOST);
    if end < text.len() {
        return escaped(&text[..end]) + " [cut]";
    }
    escaped(text)
}

/// A guest's own words, with control characters escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push('\n'),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

impl From<Crowded> for GuestFault {
    fn from(Crowded { held, used, most }: Crowded) -> Self {
        Self::Crowded { held, used, most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_words_cannot_move_the_cursor() {
        assert_eq!(bounded("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\nc");
    }

    #[test]
    fn a_guests_words_are_cut() {
        assert!(bounded(&"x".repeat(1 << 20)).len() < 5000);
    }
}
