//! The session clock: it starts at the session's own date and time and moves with what happens, never with real time.

use std::fmt;

use jiff::civil::DateTime;
use jiff::{Span, ToSpan};

use super::event::Step;

/// The moment in a session. A call takes a second, a turn a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionClock(DateTime);

impl SessionClock {
    pub fn new(start: DateTime) -> Self {
        Self(start)
    }

    pub fn now(self) -> DateTime {
        self.0
    }

    /// A tool call was made.
    pub fn call(&mut self) {
        self.advance(1.second());
    }

    /// A turn is over.
    pub fn turn(&mut self) {
        self.advance(60.seconds());
    }

    /// The moment after a turn of the record that began at `start`.
    pub fn after_turn(start: DateTime, steps: &[Step]) -> Self {
        let mut clock = Self(start);
        for _ in steps.iter().flat_map(Step::calls) {
            clock.call();
        }
        clock.turn();
        clock
    }

    /// The year 9999 is the end of time: there the clock stands.
    fn advance(&mut self, by: Span) {
        self.0 = self.0.saturating_add(by);
    }
}

/// `2026-03-02T09:00:00`.
impl fmt::Display for SessionClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_call_takes_a_second_and_a_turn_a_minute() {
        let mut clock = SessionClock::new(date(2026, 3, 1).at(23, 59, 59, 0));
        clock.call();
        assert_eq!(clock.to_string(), "2026-03-02T00:00:00");
        clock.turn();
        assert_eq!(clock.to_string(), "2026-03-02T00:01:00");
    }
}
