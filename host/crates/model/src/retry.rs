//! When to ask a server again: the waits between attempts. It knows nothing of what was asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Attempts of one request, the first included. Their own waits add up to one to two minutes, which outlasts a
/// restart or a short rate limit; longer ones are announced by `Retry-After`.
pub(crate) const ATTEMPTS: u32 = 7;

/// A server that asks for a longer wait is given up, unless it is asked too much: a later resume is cheaper than a process that
/// sleeps.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);

/// How long a request waits in all while its server says nothing but that it is asked too much, whatever it says of when to
/// come back: a limit of requests or tokens is over when its window is, which is a minute mostly, and seldom more than this.
pub(crate) const WINDOW: Duration = Duration::from_mins(30);

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How waits pass.
#[derive(Debug, Clone, Default)]
pub enum Pause {
    /// On the wall clock.
    #[default]
    Real,
    /// At once, but noted: for tests, which never sleep.
    Noted(Arc<Mutex<Vec<Duration>>>),
}

impl Pause {
    pub async fn wait(self, duration: Duration) {
        match self {
            Self::Real => tokio::time::sleep(duration).await,
            Self::Noted(waits) => noted(&waits).push(duration),
        }
    }

    /// The waits so far, in seconds.
    pub fn noted(&self) -> Vec<f64> {
        match self {
            Self::Real => Vec::new(),
            Self::Noted(waits) => noted(waits).iter().map(Duration::as_secs_f64).collect(),
        }
    }
}

fn noted(waits: &Mutex<Vec<Duration>>) -> MutexGuard<'_, Vec<Duration>> {
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A wait in words, in the largest unit that it is a whole number of, and a long one rounded up: `45 s`, `90 s`, `31 min`, `1 h`.
pub(super) fn in_words(wait: Duration) -> String {
    let seconds = wait.as_secs_f64().ceil();
    let units = [(86_400.0, "days"), (3_600.0, "h"), (60.0, "min")];
    let whole = |unit: &(f64, _)| seconds >= unit.0 && seconds % unit.0 == 0.0;
    match units.into_iter().find(whole) {
        Some((86_400.0, _)) if seconds < 172_800.0 => "24 h".into(),
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None if seconds >= 172_800.0 => format!("{} h", (seconds / 3_600.0).ceil()),
        None if seconds >= 600.0 => format!("{} min", (seconds / 60.0).ceil()),
        None => format!("{seconds} s"),
    }
}

/// The wait after the attempt of this number (1, 2, ...): 1, 2, 4, ... 30 s, each with up to as much again, so that many
/// sessions do not come back at once. How much is drawn from the question's lot, so that nothing depends on a generator's
/// state.
pub(super) fn backoff(attempt: u32, lot: &blake3::Hash) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << (attempt - 1).min(16));
    let mut hasher = blake3::Hasher::new_derive_key("pibench-host wait of an attempt, version 1");
    hasher.update(lot.as_bytes());
    hasher.update(&attempt.to_le_bytes());
    let drawn = hasher.finalize();
    let [a, b, c, d, ..] = *drawn.as_bytes();
    let share = f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX);
    doubled.min(LONGEST_WAIT).mul_f64(1.0 + share)
}

/// What a `Retry-After` header asks for: seconds, or an HTTP date (RFC 9110, section 10.2.3). A date that has passed is
/// no wait; what cannot be read is None.
pub(super) fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(header)
        .ok()?;
    Some(
        date.duration_since(now)
            .try_into()
            .unwrap_or(Duration::ZERO),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: Option<u64>) {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        assert_eq!(
            retry_after(header, now),
            expected.map(Duration::from_secs),
            "{header}"
        );
    }

    #[test]
    fn waits_double_up_to_a_bound_and_differ_between_requests() {
        let [one, other] = [blake3::hash(b"one"), blake3::hash(b"other")];
        for (attempt, least) in [(1, 1), (2, 2), (3, 4), (6, 30), (40, 30)] {
            let wait = backoff(attempt, &one);
            let bounds = Duration::from_secs(least)..=Duration::from_secs(2 * least);
            assert!(bounds.contains(&wait), "{attempt}: {wait:?}");
            assert_eq!(wait, backoff(attempt, &one));
            assert_ne!(wait, backoff(attempt, &other));
        }
    }

    #[test]
    fn a_wait_is_told_in_the_unit_that_people_would_take() {
        for (seconds, told) in [
            (0.2, "1 s"),
            (12.0, "12 s"),
            (60.0, "1 min"),
            (90.0, "90 s"),
            (1_800.0, "30 min"),
            (1_801.0, "31 min"),
            (3_600.0, "1 h"),
            (7_300.0, "122 min"),
            (86_400.0, "24 h"),
            (172_800.0, "2 days"),
        ] {
            assert_eq!(in_words(Duration::from_secs_f64(seconds)), told);
        }
    }

    #[test]
    fn seconds_and_dates_are_read() {
        check("7", Some(7));
        check(" 0 ", Some(0));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(37));
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
    }

    #[test]
    fn what_cannot_be_read_is_no_wait() {
        for header in ["", "soon", "-3", "NaN", "inf", "1e300", "Sun, 99 Nov"] {
            check(header, None);
        }
    }
}
