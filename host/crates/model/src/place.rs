//! Where in a run a model is asked: what tells apart two requests with the same words. It knows nothing of what is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use pibench_core::message::Role;

/// A turn of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Spot {
    pub persona: String,
    /// 1, 2, 3, ...
    pub run: u32,
    pub session: String,
    /// 0 for the memory step.
    pub turn: u32,
}

impl std::fmt::Display for Spot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            persona,
            run,
            session,
            turn,
        } = self;
        write!(formatter, "{persona}/{session}, run {run}, turn {turn}")
    }
}

/// Where an episode is. The three roles' models of one episode share it; within an episode one thing happens after the
/// other, so what is counted here follows from the record.
#[derive(Debug, Clone, Default)]
pub struct Place(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    spot: Spot,
    /// How often each request was made at this spot.
    asked: HashMap<(Role, String, blake3::Hash), u32>,
}

impl Place {
    pub fn new(persona: &str, run: u32) -> Self {
        let spot = Spot {
            persona: persona.to_owned(),
            run,
            ..Spot::default()
        };
        Self(Arc::new(Mutex::new(State {
            spot,
            asked: HashMap::new(),
        })))
    }

    /// A turn begins, or the memory step (0). A turn that is played again after an interruption counts from the start.
    pub fn begin(&self, session: &str, turn: u32) {
        let mut state = self.state();
        session.clone_into(&mut state.spot.session);
        state.spot.turn = turn;
        state.asked.clear();
    }

    /// Where it is, and how often this request was made here, this time included.
    pub(super) fn ask(&self, role: Role, spec: &str, request: blake3::Hash) -> (Spot, u32) {
        let mut state = self.state();
        let count = state
            .asked
            .entry((role, spec.to_owned(), request))
            .or_default();
        *count += 1;
        let occurrence = *count;
        (state.spot.clone(), occurrence)
    }

    /// Where it is.
    pub(super) fn spot(&self) -> Spot {
        self.state().spot.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_request_is_counted_within_a_turn() {
        let place = Place::new("p", 2);
        let request = blake3::hash(b"request");
        place.begin("s", 1);
        assert_eq!(place.ask(Role::Judge, "a/m", request).1, 1);
        let (spot, occurrence) = place.ask(Role::Judge, "a/m", request);
        assert_eq!(
            (spot.to_string().as_str(), occurrence),
            ("p/s, run 2, turn 1", 2)
        );
        assert_eq!(place.ask(Role::Judge, "b/m", request).1, 1);
        assert_eq!(place.ask(Role::User, "a/m", request).1, 1);
        place.begin("s", 1);
        assert_eq!(place.ask(Role::Judge, "a/m", request).1, 1);
    }
}
