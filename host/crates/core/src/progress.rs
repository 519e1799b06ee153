//! What happens while a run is played, as data: the engine tells it, displays show it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cost::MicroUsd;
use crate::record::Outcome;

/// What happens while a run is played, for progress displays.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// How many sessions there are, and how many were finished before.
    Planned { sessions: usize, finished: usize },
    /// What came of the question before the first session, model by model.
    Preflight(String),
    /// A plugin is compiled while the first turns play; who needs it waits.
    Compiling { plugin: String },
    /// It was, in so many milliseconds, and is kept for later runs.
    Compiled { plugin: String, ms: u64 },
    SessionStarted {
        persona: String,
        run: u32,
        session: String,
    },
    TurnFinished {
        persona: String,
        run: u32,
        session: String,
        turn: u32,
        /// It was the session's last one: what follows is its end alone.
        is_last: bool,
    },
    SessionFinished {
        persona: String,
        run: u32,
        session: String,
        outcome: Outcome,
        turns: u32,
        /// None where the session has no score: its table then has none, too.
        proc: Option<f64>,
        comp: Option<f64>,
        /// Proc as the table counts it.
        counted: Option<Counted>,
        /// What the run has cost so far.
        spent: Spent,
    },
    /// Told once a second.
    Pulse(Pulse),
}

/// A session's Proc as its persona's score takes it in. A session that others depend on has none by itself, nor has a group
/// of which one has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// Over the intents of its dependency group, 0 to 1.
    pub proc: f64,
    /// Sessions of the group.
    pub weight: u32,
}

/// How the models are doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Calls that they are at work on.
    pub calls: u64,
    /// Tokens so far, of input and output.
    pub tokens: u64,
    pub spent: Spent,
    /// Runs side by side, which have one such sum.
    #[serde(default)]
    pub runs: usize,
    /// What is waited for before it is asked again, each with its reason.
    pub waits: Vec<String>,
    /// The episodes that are being played.
    #[serde(default)]
    pub playing: Vec<Playing>,
}

/// Where an episode stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playing {
    pub persona: String,
    pub run: u32,
    pub session: String,
    /// The one that is played; of a session that has had its last one, that.
    pub turn: u32,
    pub is_ending: bool,
}

/// `nina/nina-plan turn 3`, and the run from the second on.
impl fmt::Display for Playing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            persona,
            run,
            session,
            turn,
            is_ending,
        } = self;
        write!(formatter, "{persona}/{session}")?;
        if *run > 1 {
            write!(formatter, " run {run}")?;
        }
        let after = if *is_ending { " after" } else { "" };
        write!(formatter, "{after} turn {turn}")
    }
}

/// The episodes that are being played, by persona and run.
#[derive(Debug, Default)]
pub struct AtWork(BTreeMap<(String, u32), Playing>);

impl AtWork {
    pub fn enter(&mut self, event: &Progress) {
        let (persona, run, session, turn, is_ending) = match event {
            Progress::SessionStarted {
                persona,
                run,
                session,
            } => (persona, *run, session, 1, false),
            Progress::TurnFinished {
                persona,
                run,
                session,
                turn,
                is_last,
            } => (persona, *run, session, turn + u32::from(!is_last), *is_last),
            Progress::SessionFinished { persona, run, .. } => {
                self.0.remove(&(persona.clone(), *run));
                return;
            }
            _ => return,
        };
        let playing = Playing {
            persona: persona.clone(),
            run,
            session: session.clone(),
            turn,
            is_ending,
        };
        self.0.insert((persona.clone(), run), playing);
    }

    pub fn all(&self) -> Vec<Playing> {
        self.0.values().cloned().collect()
    }
}

/// What a run has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spent {
    /// Nobody is paid.
    #[default]
    Nothing,
    Known(MicroUsd),
    /// The price of a call is not known.
    Unknown,
}

impl std::ops::Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Known(mut sum), Self::Known(more)) => {
                sum += more;
                Self::Known(sum)
            }
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_at_work_is_named_with_session_and_turn() {
        let mut at_work = AtWork::default();
        let (persona, session) = ("nina".to_owned(), "plan".to_owned());
        for run in [1, 2] {
            at_work.enter(&Progress::SessionStarted {
                persona: persona.clone(),
                run,
                session: session.clone(),
            });
        }
        let turn = |run, is_last| Progress::TurnFinished {
            persona: persona.clone(),
            run,
            session: session.clone(),
            turn: 1,
            is_last,
        };
        let names = |at_work: &AtWork| -> Vec<String> {
            at_work.all().iter().map(Playing::to_string).collect()
        };
        assert_eq!(
            names(&at_work),
            ["nina/plan turn 1", "nina/plan run 2 turn 1"]
        );
        at_work.enter(&turn(1, true));
        at_work.enter(&turn(2, false));
        assert_eq!(
            names(&at_work),
            ["nina/plan after turn 1", "nina/plan run 2 turn 2"]
        );
    }
}
