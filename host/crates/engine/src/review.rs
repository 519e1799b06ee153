//! The simulator's doubtful moves, for a person to look at: places where the user agent may have done what no user would.
//! It looks for signs in the record and asks no model, so it misses some and names some that are sound.

use std::collections::BTreeSet;

use serde::Serialize;

use super::plan::Plan;
use super::recorded::{RecordedSession, sessions};
use super::turn::calls;
use pibench_agent::tools::ASK_USER;
use pibench_core::record::{Outcome, Status};
use pibench_record::event::{Stage, Turn};
use pibench_record::journal::JournalError;

/// Share of an intent's own words from which a message counts as telling it.
const TOLD: f64 = 0.6;

/// Share below which it does not.
const NOT_TOLD: f64 = 0.2;

/// Own words that an intent needs for its sharing to say anything.
const OWN_WORDS: usize = 3;

/// Letters by which words are compared: endings differ when a text is put in other words.
const STEM: usize = 5;

/// What is doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The session ended as complete on a response that still asks, or on evidence that the turn does not show.
    EndedEarly,
    /// An intent was answered, and the response has no question.
    AnsweredUnasked,
    /// The user's message tells an intent that is still open.
    Leaked,
    /// The user's message does not tell the intent that it is meant to tell.
    Untold,
}

impl Doubt {
    pub fn words(self) -> &'static str {
        match self {
            Self::EndedEarly => "ended early",
            Self::AnsweredUnasked => "answered what was not asked",
            Self::Leaked => "leaked an intent",
            Self::Untold => "did not tell the intent",
        }
    }
}

/// One doubtful move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubtful {
    pub persona: String,
    pub session: String,
    pub run: u32,
    pub turn: u32,
    pub doubt: Doubt,
    /// The intent's id; None where it is about all of them.
    pub intent: Option<String>,
    /// What a person should look at.
    pub why: String,
    /// The blob with the exchange behind it.
    pub exchange: Option<String>,
}

/// Everything doubtful of a run's finished sessions, and how many there are of these.
pub fn review(plan: &Plan) -> Result<(Vec<Doubtful>, usize), JournalError> {
    let sessions = sessions(plan)?;
    let doubtful = sessions.iter().flat_map(of_session).collect();
    Ok((doubtful, sessions.len()))
}

fn of_session(recorded: &RecordedSession<'_>) -> Vec<Doubtful> {
    let mut found = Vec::new();
    let mut said = words(&recorded.started.message);
    let mut told: BTreeSet<usize> = BTreeSet::new();
    for one in &recorded.turns {
        let turn = &one.turn;
        said.extend(words(&turn.response));
        let look = Look {
            recorded,
            turn,
            said: &said,
        };
        found.extend(look.ended_early());
        found.extend(look.answered_unasked());
        told.extend(turn.intents.iter().map(|change| change.intent));
        found.extend(look.message(&told));
        said.extend(turn.next.as_deref().map(words).unwrap_or_default());
    }
    found
}

/// One turn under review.
struct Look<'a> {
    recorded: &'a RecordedSession<'a>,
    turn: &'a Turn,
    /// The words of request, messages and responses up to here: who repeats them tells nothing new.
    said: &'a BTreeSet<String>,
}

impl Look<'_> {
    fn doubtful(
        &self,
        doubt: Doubt,
        intent: Option<&str>,
        why: String,
        exchange: Option<&String>,
    ) -> Doubtful {
        Doubtful {
            persona: self.recorded.persona.id.clone(),
            session: self.recorded.session.id.clone(),
            run: self.recorded.run,
            turn: self.turn.turn,
            doubt,
            intent: intent.map(str::to_owned),
            why,
            exchange: exchange.cloned(),
        }
    }

    fn ended_early(&self) -> Vec<Doubtful> {
        if self.turn.outcome != Some(Outcome::Complete) {
            return Vec::new();
        }
        let mut found = Vec::new();
        if self.turn.response.trim_end().ends_with('?') || asks_user(self.turn) {
            let why = format!(
                "the last response still asks: {}",
                end_of(&self.turn.response)
            );
            found.push(self.doubtful(Doubt::EndedEarly, None, why, None));
        }
        let shown = self.shown();
        let yes = self.turn.judgements.iter();
        for judgement in yes.filter(|one| one.yes && one.stage == Stage::Satisfaction) {
            let cited = words(&judgement.reason);
            // Without a model nothing is cited.
            if judgement.exchange.is_some()
                && share(&cited, &shown).is_none_or(|share| share < NOT_TOLD)
            {
                let why = format!(
                    "it was completed on `{}`, which the turn does not show",
                    judgement.reason
                );
                let exchange = judgement.exchange.as_ref();
                found.push(self.doubtful(
                    Doubt::EndedEarly,
                    Some(&judgement.intent),
                    why,
                    exchange,
                ));
            }
        }
        found
    }

    /// The words of what the agent did in the turn.
    fn shown(&self) -> BTreeSet<String> {
        let mut shown = words(&self.turn.response);
        for call in calls(self.turn) {
            for text in [&call.tool, &call.arguments.to_string(), &call.result] {
                shown.extend(words(text));
            }
        }
        for change in &self.turn.changes {
            shown.extend(words(&change.path));
            shown.extend(words(&change.added));
        }
        shown
    }

    fn answered_unasked(&self) -> Vec<Doubtful> {
        if self.turn.response.contains(['?', '？', '؟']) || asks_user(self.turn) {
            return Vec::new();
        }
        let asked = self.turn.judgements.iter();
        asked
            .filter(|one| one.yes && one.stage == Stage::Question)
            .map(|one| {
                let why = format!(
                    "the response has no question: {}",
                    end_of(&self.turn.response)
                );
                self.doubtful(
                    Doubt::AnsweredUnasked,
                    Some(&one.intent),
                    why,
                    one.exchange.as_ref(),
                )
            })
            .collect()
    }

    /// What the user's next message tells. `told`: the intents that are terminal after this turn.
    fn message(&self, told: &BTreeSet<usize>) -> Vec<Doubtful> {
        let Some(message) = &self.turn.next else {
            return Vec::new();
        };
        let spoken = words(message);
        let now: BTreeSet<usize> = self
            .turn
            .intents
            .iter()
            .filter(|change| change.status != Status::Completed)
            .map(|change| change.intent)
            .collect();
        let mut known = self.said.clone();
        let intents = self.recorded.session.intents.iter().enumerate();
        for (_, intent) in intents.clone().filter(|(index, _)| now.contains(index)) {
            known.extend(words(&intent.content));
        }
        let exchange = self.turn.next_exchange.as_ref();
        let mut found = Vec::new();
        for (index, intent) in intents {
            let all = words(&intent.content);
            if now.contains(&index) {
                if share(&all, &spoken).is_some_and(|share| share < NOT_TOLD) {
                    let why = format!("it says `{}`: {message}", intent.content);
                    found.push(self.doubtful(Doubt::Untold, Some(&intent.id), why, exchange));
                }
                continue;
            }
            let own: BTreeSet<String> = all.difference(&known).cloned().collect();
            let leaks =
                own.len() >= OWN_WORDS && share(&own, &spoken).is_some_and(|share| share >= TOLD);
            if leaks && !told.contains(&index) {
                let why = format!(
                    "it is still open: `{}`; the message: {message}",
                    intent.content
                );
                found.push(self.doubtful(Doubt::Leaked, Some(&intent.id), why, exchange));
            }
        }
        found
    }
}

fn asks_user(turn: &Turn) -> bool {
    calls(turn).any(|call| call.tool == ASK_USER)
}

/// Words of four letters or more, and every number, by their first letters.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words
        .filter(|word| word.chars().count() >= 4 || word.chars().any(char::is_numeric))
        .map(|word| word.to_lowercase().chars().take(STEM).collect())
        .collect()
}

/// The share of `wanted` that is in `there`; None without any.
fn share(wanted: &BTreeSet<String>, there: &BTreeSet<String>) -> Option<f64> {
    let common = wanted.intersection(there).count();
    (!wanted.is_empty()).then(|| common as f64 / wanted.len() as f64)
}

/// The last words of a text, on one line.
fn end_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words[words.len().saturating_sub(20)..].join(" ")
}

#[cfg(test)]
mod tests;
