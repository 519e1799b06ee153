//! The session's clock. Never the real time.

use jiff::civil::DateTime;

/// The current moment, local to the persona. Two calls within one tool call give the same answer.
#[cfg(target_family = "wasm")]
pub fn now() -> DateTime {
    use crate::bindings::tool_app::pibench::plugin::clock;
    let now = clock::now();
    // The host's clock is a real date; a year beyond 9999, which jiff does not know, ends at its last moment.
    let field = |value: u8| i8::try_from(value).unwrap_or(i8::MAX);
    let year = i16::try_from(now.year).unwrap_or(i16::MAX);
    let [month, day, hour, minute, second] =
        [now.month, now.day, now.hour, now.minute, now.second].map(field);
    DateTime::new(year, month, day, hour, minute, second, 0).unwrap_or(DateTime::MAX)
}

/// Natively: what [`testkit::set_clock`](crate::testkit::set_clock) says.
#[cfg(not(target_family = "wasm"))]
pub fn now() -> DateTime {
    crate::stand_in::now()
}
