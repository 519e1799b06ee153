//! What happens while a run is played, as data: the engine tells it, displays show it.

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
        /// What the run has cost so far.
        spent: Spent,
    },
    /// Told once a second.
    Pulse(Pulse),
}

/// How the models are doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Calls that they are at work on.
    pub calls: u64,
    /// Tokens so far, of input and output.
    pub tokens: u64,
    pub spent: Spent,
    /// What is waited for before it is asked again, each with its reason.
    pub waits: Vec<String>,
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
