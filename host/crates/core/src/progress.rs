//! What happens while a run is played, as data: the engine tells it, displays show it.

use std::collections::BTreeMap;

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
    /// Who is at work, as [`AtWork::names`] has it.
    #[serde(default)]
    pub playing: Vec<String>,
}

/// `nina/nina-plan`, and the run from the second on.
fn place(persona: &str, run: u32, session: &str) -> String {
    match run {
        1 => format!("{persona}/{session}"),
        _ => format!("{persona}/{session} run {run}"),
    }
}

/// Whether this session is one of [`AtWork::names`].
pub fn is_at_work(names: &[String], persona: &str, run: u32, session: &str) -> bool {
    let place = place(persona, run, session);
    names.iter().any(|name| {
        let now = name.strip_prefix(&place);
        now.is_some_and(|now| now.starts_with(" turn ") || now.starts_with(" after "))
    })
}

/// Where each episode stands that is being played.
#[derive(Debug, Default)]
pub struct AtWork(BTreeMap<(String, u32), String>);

impl AtWork {
    pub fn enter(&mut self, event: &Progress) {
        match event {
            Progress::SessionStarted {
                persona,
                run,
                session,
            } => self.at(persona, *run, place(persona, *run, session) + " turn 1"),
            Progress::TurnFinished {
                persona,
                run,
                session,
                turn,
                is_last,
            } => {
                let now = match is_last {
                    true => format!(" after turn {turn}"),
                    false => format!(" turn {}", turn + 1),
                };
                self.at(persona, *run, place(persona, *run, session) + &now);
            }
            Progress::SessionFinished { persona, run, .. } => {
                self.0.remove(&(persona.clone(), *run));
            }
            _ => {}
        }
    }

    fn at(&mut self, persona: &str, run: u32, place: String) {
        self.0.insert((persona.to_owned(), run), place);
    }

    /// `nina/nina-plan turn 3`, one for each episode.
    pub fn names(&self) -> Vec<String> {
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
        assert_eq!(
            at_work.names(),
            ["nina/plan turn 1", "nina/plan run 2 turn 1"]
        );
        at_work.enter(&turn(1, true));
        at_work.enter(&turn(2, false));
        let names = at_work.names();
        assert_eq!(names, ["nina/plan after turn 1", "nina/plan run 2 turn 2"]);
        let is_there = |run, session| is_at_work(&names, "nina", run, session);
        assert!(is_there(1, "plan") && is_there(2, "plan"));
        assert!(!is_there(3, "plan") && !is_there(1, "plan-b") && !is_there(1, "pla"));
    }
}
