//! The rules of one session as a state machine over its intents: who moves next, which intent gets which status when,
//! and when the session ends (paper, section 3.4 and appendix B). It knows intents by number only and never judges,
//! asks a model or writes a message: it is told what was found and says what is needed next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::record::{Outcome, Status};
use super::score::IntentCounts;
use crate::vocabulary::Protocol;

/// What a session needs next. Intents are indices into the session's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The agent plays this turn (1, 2, 3, ...); then [`Tracker::turn_done`].
    AgentTurn { turn: u32 },
    /// Stage 1: did the turn satisfy each of these, unstated? Then [`Tracker::judge_satisfaction`].
    JudgeSatisfaction { open: Vec<usize> },
    /// Stage 2: does the response ask for each of these? Then [`Tracker::judge_questions`].
    JudgeQuestions { open: Vec<usize> },
    /// The user chooses one of these to tell; then [`Tracker::reveal`]. In `pi-bench` there is no choice.
    Reveal { among: Vec<usize> },
    /// The user's message answers a question for a plain fact and tells no intent; then [`Tracker::message_sent`].
    FactMessage,
    /// The user's message states these intents, all `Inferred` or one `Provided`; then [`Tracker::message_sent`].
    UserMessage { intents: Vec<usize>, status: Status },
    /// Over. Nothing more is accepted.
    End(Outcome),
}

/// Messages of a session that answer a question for a plain fact and tell no intent: an agent that goes on asking has the
/// session go on all the same.
pub const FACT_MESSAGES: usize = 3;

/// How a targeted question asks (`pi-bench` only).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// An open question.
    Clarify,
    /// A choice between named answers.
    Options,
}

/// A judgement of stage 2 over one intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    No,
    /// `pi-bench` has a style, `paper` has none.
    Yes {
        style: Option<Style>,
    },
}

/// One intent that became terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentChange {
    /// The turn whose response decided it: 1, 2, 3, ...
    pub turn: u32,
    /// Index into the session's intents.
    pub intent: usize,
    /// Never `open`.
    pub status: Status,
    /// Of an inferred intent in `pi-bench`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
}

/// Why the state machine refused. Its state is as before the call.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SessionError {
    #[error("{step}: the session waits for {waits_for}")]
    OutOfOrder {
        step: &'static str,
        waits_for: &'static str,
    },
    #[error("take {given} judgements over {open} open intents")]
    JudgementCount { given: usize, open: usize },
    #[error("reveal intent {intent}: the choice is among {among:?}")]
    NotAmong { intent: usize, among: Vec<usize> },
    #[error("take a targeted question for intent {intent}: {protocol:?} records {wanted} style")]
    Style {
        intent: usize,
        protocol: Protocol,
        wanted: &'static str,
    },
    #[error("break the session off as {outcome:?}: only the rules end it so")]
    NotABreak { outcome: Outcome },
    #[error(
        "replay turn {turn}: no intent was revealed, though none was completed last or asked for"
    )]
    NothingRevealed { turn: u32 },
    #[error(
        "replay {turns} turns: their rules give other changes or messages than the {recorded} recorded changes"
    )]
    OtherChanges { turns: u32, recorded: usize },
}

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracker {
    protocol: Protocol,
    max_turns: u32,
    /// Turns that the agent has finished.
    turns: u32,
    statuses: Vec<Status>,
    changes: Vec<IntentChange>,
    /// The turns that were answered with a plain fact.
    facts: Vec<u32>,
    next: Next,
}

impl Tracker {
    /// A session of `intents` intents, all open, before the agent's first turn.
    pub fn new(protocol: Protocol, intents: usize, max_turns: u32) -> Self {
        let next = match max_turns {
            0 => Next::End(Outcome::MaxTurns),
            _ => Next::AgentTurn { turn: 1 },
        };
        Self {
            protocol,
            max_turns,
            turns: 0,
            statuses: vec![Status::Open; intents],
            changes: Vec::new(),
            facts: Vec::new(),
            next,
        }
    }

    /// The state after `turns` recorded turns with their changes; `facts` are the turns that were answered with a plain
    /// fact. `ended` is how the last of them ended the session,
    /// None when it did not: a turn that timed out or whose model refused was never judged, and one whose user agent or
    /// judge gave no answer was judged as far as its changes say. The same rules run again, so a record that they could
    /// not have given is an error.
    pub fn replay(
        protocol: Protocol,
        intents: usize,
        max_turns: u32,
        turns: u32,
        changes: &[IntentChange],
        facts: &[u32],
        ended: Option<Outcome>,
    ) -> Result<Self, SessionError> {
        let mut tracker = Self::new(protocol, intents, max_turns);
        let broken_off =
            ended.filter(|ended| !matches!(ended, Outcome::Complete | Outcome::MaxTurns));
        let whole = turns.saturating_sub(u32::from(broken_off.is_some()));
        for turn in 1..=whole {
            tracker.replay_turn(changes, facts)?;
            if matches!(tracker.next, Next::Reveal { .. }) {
                return Err(SessionError::NothingRevealed { turn });
            }
        }
        if broken_off == Some(Outcome::JudgeFault) {
            tracker.replay_turn(changes, facts)?;
        }
        if tracker.changes != changes || tracker.facts != facts {
            return Err(SessionError::OtherChanges {
                turns,
                recorded: changes.len(),
            });
        }
        if let Some(outcome) = broken_off {
            // Not a break-off: a judge of rubric items may fail in the very turn that the rules end.
            tracker.go(Next::End(outcome));
        }
        Ok(tracker)
    }

    /// What is needed now.
    pub fn next(&self) -> &Next {
        &self.next
    }

    /// How the session ended; None while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.next {
            Next::End(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Turns that the agent has finished.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// One status per intent.
    pub fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    /// All changes so far, in order: what [`Tracker::replay`] takes.
    pub fn changes(&self) -> &[IntentChange] {
        &self.changes
    }

    pub fn counts(&self) -> IntentCounts {
        IntentCounts::of(&self.statuses)
    }

    /// The agent has finished its turn. With no intent left open this was its final response.
    pub fn turn_done(&mut self) -> Result<&Next, SessionError> {
        if !matches!(self.next, Next::AgentTurn { .. }) {
            return Err(self.out_of_order("finish the agent's turn"));
        }
        self.turns += 1;
        let open = self.open();
        Ok(self.go(if open.is_empty() {
            Next::End(Outcome::Complete)
        } else {
            Next::JudgeSatisfaction { open }
        }))
    }

    /// Stage 1: one judgement per open intent, in the order of [`Next::JudgeSatisfaction`].
    pub fn judge_satisfaction(&mut self, judgements: &[bool]) -> Result<&Next, SessionError> {
        let Next::JudgeSatisfaction { open } = &self.next else {
            return Err(self.out_of_order("take judgements of stage 1"));
        };
        same_count(judgements.len(), open.len())?;
        for (intent, &yes) in open.clone().into_iter().zip(judgements) {
            if yes {
                self.change(intent, Status::Completed, None);
            }
        }
        let open = self.open();
        if open.is_empty() {
            return Ok(self.go(Next::End(Outcome::Complete)));
        }
        // No turn follows the last one, so a question in it is never answered and, in the paper's words, nothing is
        // inferred. The released code judges it all the same, and its score counts the match.
        if self.is_last_turn() && self.protocol == Protocol::Paper {
            return Ok(self.go(Next::End(Outcome::MaxTurns)));
        }
        Ok(self.go(Next::JudgeQuestions { open }))
    }

    /// Stage 2: one judgement per open intent, in the order of [`Next::JudgeQuestions`]; `fact`: whether the response asks
    /// for a plain fact that the user knows. In `paper` it is answered before an intent is told.
    pub fn judge_questions(
        &mut self,
        judgements: &[Asked],
        fact: bool,
    ) -> Result<&Next, SessionError> {
        let Next::JudgeQuestions { open } = &self.next else {
            return Err(self.out_of_order("take judgements of stage 2"));
        };
        same_count(judgements.len(), open.len())?;
        let open = open.clone();
        let mut matched = Vec::new();
        for (&intent, judgement) in open.iter().zip(judgements) {
            if let Asked::Yes { style } = *judgement {
                self.check_style(intent, style)?;
                matched.push((intent, style));
            }
        }
        for &(intent, style) in &matched {
            self.change(intent, Status::Inferred, style);
        }
        // Nobody would read the message.
        if self.is_last_turn() {
            return Ok(self.go(Next::End(Outcome::MaxTurns)));
        }
        let answers_fact = fact && self.protocol == Protocol::Paper;
        if matched.is_empty() && answers_fact && self.facts.len() < FACT_MESSAGES {
            self.facts.push(self.turns);
            return Ok(self.go(Next::FactMessage));
        }
        if matched.is_empty() {
            let among = self.revealable(open);
            return Ok(self.go(Next::Reveal { among }));
        }
        Ok(self.go(Next::UserMessage {
            intents: matched.into_iter().map(|(intent, _)| intent).collect(),
            status: Status::Inferred,
        }))
    }

    /// The user tells this intent, one of [`Next::Reveal`].
    pub fn reveal(&mut self, intent: usize) -> Result<&Next, SessionError> {
        let Next::Reveal { among } = &self.next else {
            return Err(self.out_of_order("reveal an intent"));
        };
        if !among.contains(&intent) {
            let among = among.clone();
            return Err(SessionError::NotAmong { intent, among });
        }
        self.change(intent, Status::Provided, None);
        Ok(self.go(Next::UserMessage {
            intents: vec![intent],
            status: Status::Provided,
        }))
    }

    /// The user's message is out: the agent plays another turn, also when no intent is open any more, because it may
    /// only now act on what it was told.
    pub fn message_sent(&mut self) -> Result<&Next, SessionError> {
        if !matches!(self.next, Next::UserMessage { .. } | Next::FactMessage) {
            return Err(self.out_of_order("send the user's message"));
        }
        Ok(self.go(Next::AgentTurn {
            turn: self.turns + 1,
        }))
    }

    /// Something from outside ends the session, at any point: a timeout or a fault. Open intents stay open.
    pub fn break_off(&mut self, outcome: Outcome) -> Result<&Next, SessionError> {
        if matches!(outcome, Outcome::Complete | Outcome::MaxTurns) {
            return Err(SessionError::NotABreak { outcome });
        }
        if self.outcome().is_some() {
            return Err(self.out_of_order("break the session off"));
        }
        Ok(self.go(Next::End(outcome)))
    }

    fn go(&mut self, next: Next) -> &Next {
        self.next = next;
        &self.next
    }

    fn open(&self) -> Vec<usize> {
        (0..self.statuses.len())
            .filter(|&intent| self.statuses[intent] == Status::Open)
            .collect()
    }

    fn is_last_turn(&self) -> bool {
        self.turns >= self.max_turns
    }

    fn revealable(&self, open: Vec<usize>) -> Vec<usize> {
        match self.protocol {
            Protocol::Paper => open,
            Protocol::PiBench => open.into_iter().take(1).collect(),
        }
    }

    fn change(&mut self, intent: usize, status: Status, style: Option<Style>) {
        self.statuses[intent] = status;
        self.changes.push(IntentChange {
            turn: self.turns,
            intent,
            status,
            style,
        });
    }

    fn check_style(&self, intent: usize, style: Option<Style>) -> Result<(), SessionError> {
        let wanted = match (self.protocol, style) {
            (Protocol::Paper, Some(_)) => "no",
            (Protocol::PiBench, None) => "a",
            _ => return Ok(()),
        };
        let protocol = self.protocol;
        Err(SessionError::Style {
            intent,
            protocol,
            wanted,
        })
    }

    fn out_of_order(&self, step: &'static str) -> SessionError {
        let waits_for = match self.next {
            Next::AgentTurn { .. } => "the agent's turn",
            Next::JudgeSatisfaction { .. } => "the judgements of stage 1",
            Next::JudgeQuestions { .. } => "the judgements of stage 2",
            Next::Reveal { .. } => "an intent to reveal",
            Next::UserMessage { .. } | Next::FactMessage => "the user's message",
            Next::End(_) => "nothing: it is over",
        };
        SessionError::OutOfOrder { step, waits_for }
    }

    /// Plays a turn with its recorded changes; up to the choice of an intent to reveal when none is recorded. `facts`: the
    /// turns that were answered with a plain fact. The intents that are judged in it, by stage: one after the other, both
    /// in the session's order.
    pub fn replay_turn(
        &mut self,
        changes: &[IntentChange],
        facts: &[u32],
    ) -> Result<[Vec<usize>; 2], SessionError> {
        self.turn_done()?;
        let turn = self.turns;
        let mut judged = [Vec::new(), Vec::new()];
        let recorded = |intent: usize, status: Status| {
            changes.iter().find(|change| {
                change.turn == turn && change.intent == intent && change.status == status
            })
        };
        loop {
            match self.next.clone() {
                Next::JudgeSatisfaction { open } => {
                    judged[0].clone_from(&open);
                    let completed = |intent| recorded(intent, Status::Completed).is_some();
                    self.judge_satisfaction(&open.into_iter().map(completed).collect::<Vec<_>>())?;
                }
                Next::JudgeQuestions { open } => {
                    judged[1].clone_from(&open);
                    let asked = |intent| match recorded(intent, Status::Inferred) {
                        Some(change) => Asked::Yes {
                            style: change.style,
                        },
                        None => Asked::No,
                    };
                    let asked: Vec<Asked> = open.into_iter().map(asked).collect();
                    self.judge_questions(&asked, facts.contains(&turn))?;
                }
                Next::Reveal { among } => {
                    let provided = |&intent: &usize| recorded(intent, Status::Provided).is_some();
                    let Some(intent) = among.into_iter().find(provided) else {
                        return Ok(judged);
                    };
                    self.reveal(intent)?;
                }
                Next::UserMessage { .. } | Next::FactMessage => {
                    self.message_sent()?;
                }
                Next::AgentTurn { .. } | Next::End(_) => return Ok(judged),
            }
        }
    }
}

fn same_count(given: usize, open: usize) -> Result<(), SessionError> {
    if given == open {
        return Ok(());
    }
    Err(SessionError::JudgementCount { given, open })
}

#[cfg(test)]
mod tests;
