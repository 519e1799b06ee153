//! The user agent's two stages after a turn, and its next message: what the session's rules ask for next is found out and
//! told them, until they want another turn or an end.

use super::error::{EpisodeError, Spot};
use super::grading::{self, Unanswered};
use crate::role::{Judged, RoleError, TurnEvidence};
use crate::user::{Asking, UserAgent};
use pibench_core::record::{Outcome, Status};
use pibench_core::session::{Asked, Next, SessionError, Tracker};
use pibench_record::RunFolder;
use pibench_record::event::{IntentJudgement, Stage, Turn};
use pibench_suite::suite::{Intent, Persona, Session};

/// The user agent's name in faults.
const USER: &str = "user agent";

/// What the stages of one turn need.
pub(super) struct Stages<'p> {
    pub(super) spot: Spot<'p>,
    pub(super) folder: &'p RunFolder,
    pub(super) persona: &'p Persona,
    pub(super) session: &'p Session,
    pub(super) user: &'p UserAgent,
    pub(super) tracker: &'p mut Tracker,
}

/// Why the user agent's move ended early.
enum Stopped {
    Role(RoleError),
    Episode(Box<EpisodeError>),
}

impl From<RoleError> for Stopped {
    fn from(error: RoleError) -> Self {
        Self::Role(error)
    }
}

impl From<EpisodeError> for Stopped {
    fn from(error: EpisodeError) -> Self {
        Self::Episode(Box::new(error))
    }
}

impl Stages<'_> {
    /// Plays them, and notes in the turn what they found; the user's next message, or None at the session's end.
    pub(super) async fn play(
        &mut self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
    ) -> Result<Option<String>, EpisodeError> {
        let known = self.tracker.changes().len();
        let message = match self.follow_rules(turn, evidence).await {
            Ok(message) => message,
            Err(Stopped::Role(error)) => {
                self.break_off(turn, error)?;
                None
            }
            Err(Stopped::Episode(error)) => return Err(*error),
        };
        turn.intents = self.tracker.changes()[known..].to_vec();
        Ok(message)
    }

    async fn follow_rules(
        &mut self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
    ) -> Result<Option<String>, Stopped> {
        let mut message = None;
        loop {
            match self.tracker.next().clone() {
                Next::JudgeSatisfaction { open } => {
                    self.judge_satisfaction(turn, evidence, &open).await?;
                }
                Next::JudgeQuestions { open } => {
                    self.judge_questions(turn, evidence, &open).await?;
                }
                Next::Reveal { among } => {
                    message = Some(self.reveal(turn, evidence, &among).await?);
                }
                Next::FactMessage => {
                    message = self.answer(turn, evidence, &[]).await?;
                    turn.answers_fact = true;
                    self.note_sent()?;
                }
                Next::UserMessage { intents, status } => {
                    if status == Status::Inferred {
                        message = self.answer(turn, evidence, &intents).await?;
                    }
                    self.note_sent()?;
                }
                Next::AgentTurn { .. } => return Ok(message),
                Next::End(_) => return Ok(None),
            }
        }
    }

    /// Stage 1: which open intents does the work satisfy?
    async fn judge_satisfaction(
        &mut self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
        open: &[usize],
    ) -> Result<(), Stopped> {
        let judged = self.user.satisfied(&self.intents(open), evidence).await?;
        let (found, exchange) = self.keep(turn, judged)?;
        let yes: Vec<bool> = found.iter().map(|found| found.yes).collect();
        let found = found.into_iter().map(|found| (found.yes, found.reason));
        self.note(turn, Stage::Satisfaction, open, found, exchange.as_deref());
        let told = self.tracker.judge_satisfaction(&yes).map(drop);
        Ok(self.check(told)?)
    }

    /// Stage 2: which of the others does the response ask for?
    async fn judge_questions(
        &mut self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
        open: &[usize],
    ) -> Result<(), Stopped> {
        let Asking { judged, fact } = self.user.asked(&self.intents(open), evidence).await?;
        let (found, exchange) = self.keep(turn, judged)?;
        let asked: Vec<Asked> = found.iter().map(|found| found.asked).collect();
        let found = found
            .into_iter()
            .map(|found| (found.asked != Asked::No, found.reason));
        self.note(turn, Stage::Question, open, found, exchange.as_deref());
        let told = self.tracker.judge_questions(&asked, fact).map(drop);
        Ok(self.check(told)?)
    }

    /// One of these intents is told; the message.
    async fn reveal(
        &mut self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
        among: &[usize],
    ) -> Result<String, Stopped> {
        let (intents, settled) = (self.intents(among), self.settled(among));
        let judged = self
            .user
            .reveal(self.persona, &intents, &settled, evidence)
            .await?;
        let (revealed, exchange) = self.keep(turn, judged)?;
        turn.next_exchange = exchange;
        let revealed = revealed.into_iter().next();
        let (place, message) =
            revealed.ok_or_else(|| self.spot.record("no intent was revealed"))?;
        let intent = among.get(place).copied().unwrap_or(usize::MAX);
        let told = self.tracker.reveal(intent).map(drop);
        self.check(told)?;
        Ok(message)
    }

    /// The message that answers what was asked: these intents, or a plain fact.
    async fn answer(
        &self,
        turn: &mut Turn,
        evidence: &TurnEvidence,
        intents: &[usize],
    ) -> Result<Option<String>, Stopped> {
        let (intents, settled) = (self.intents(intents), self.settled(intents));
        let judged = self
            .user
            .answer(self.persona, &intents, &settled, evidence)
            .await?;
        let (messages, exchange) = self.keep(turn, judged)?;
        turn.next_exchange = exchange;
        Ok(messages.into_iter().next())
    }

    fn note_sent(&mut self) -> Result<(), EpisodeError> {
        let told = self.tracker.message_sent().map(drop);
        self.check(told)
    }

    /// The user agent gave no answer: the session cannot go on, and ends unscored.
    fn break_off(&mut self, turn: &mut Turn, error: RoleError) -> Result<(), EpisodeError> {
        let (spot, number) = (self.spot, turn.turn);
        grading::without_answer(self.folder, turn, USER, error)
            .map_err(|error: Unanswered| error.at(spot, number))?;
        let told = self.tracker.break_off(Outcome::JudgeFault).map(drop);
        self.check(told)
    }

    fn check(&self, told: Result<(), SessionError>) -> Result<(), EpisodeError> {
        told.map_err(|error| self.spot.rules(&error))
    }

    fn intents(&self, indices: &[usize]) -> Vec<&Intent> {
        let intents = indices.iter();
        intents
            .filter_map(|&index| self.session.intents.get(index))
            .collect()
    }

    /// What was met or told, but for what the next message is about.
    fn settled(&self, now: &[usize]) -> Vec<&Intent> {
        let settled = self.tracker.changes().iter().map(|change| change.intent);
        let settled: Vec<usize> = settled.filter(|intent| !now.contains(intent)).collect();
        self.intents(&settled)
    }

    /// Counts the tokens of an exchange and keeps it as a blob: its answers, and the blob's name.
    fn keep<T>(
        &self,
        turn: &mut Turn,
        judged: Judged<T>,
    ) -> Result<(Vec<T>, Option<String>), EpisodeError> {
        let Judged {
            answers,
            exchange,
            usage,
        } = judged;
        turn.usage.user += usage;
        let blob = exchange.map(|exchange| self.folder.put_blob(exchange.as_bytes()));
        Ok((answers, blob.transpose()?))
    }

    fn note(
        &self,
        turn: &mut Turn,
        stage: Stage,
        open: &[usize],
        found: impl Iterator<Item = (bool, String)>,
        exchange: Option<&str>,
    ) {
        let intents = self.intents(open).into_iter().zip(found);
        let judgements = intents.map(|(intent, (yes, reason))| IntentJudgement {
            intent: intent.id.clone(),
            stage,
            yes,
            reason,
            exchange: exchange.map(str::to_owned),
        });
        turn.judgements.extend(judgements);
    }
}
