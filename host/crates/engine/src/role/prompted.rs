//! Asks a model a question of the user agent or the judge until its reply can be read, and keeps every reply. What the
//! questions are is known to the callers.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::evidence::TurnEvidence;
use super::exhibit::{LEAST_ROOM, ROOM, Show};
use super::fence::Nonce;
use super::known::{self, Asks};
use super::parse::{self, ListItem, ParseError, Styles, Verdict};
use super::prompts::{Fields, Prompt, PromptError, PromptName, Prompts};
use super::questions::Questions;
use super::released::{self, Kept, Tags};
use pibench_core::message::{ChatRequest, Message, Reasoning, Reply, Usage};
use pibench_model::ModelError;
use pibench_model::client::{Answer, Client};
use pibench_model::place::Place;
use pibench_model::retry::Pause;

/// Tokens of an answer beside its items.
const AROUND: usize = 500;

/// Tokens of an answer for each item beside its text: the lines around it and a few words of evidence.
const PER_ITEM: usize = 300;

/// Tokens that a model is let to think where its provider counts them among the answer's: one that always thinks, and in
/// the next attempts one that was cut while it thought.
const THOUGHT: u32 = 16_000;

/// A question to a model and all that it said, for the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// The model as it was asked for.
    #[serde(default)]
    pub model: String,
    /// The prompt's file: `satisfaction.md`.
    pub prompt: String,
    /// BLAKE3 of the prompt as it was first answered, hex.
    pub prompt_hash: String,
    /// None: the model takes no temperature, so it ran at its default.
    pub temperature: Option<f64>,
    /// The numbers of the judged items in the order in which they were asked, where there is a list; 0 is an item whose
    /// answer is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<usize>,
    /// One for each attempt, as they came; the last one is the one that could be read, if any could.
    pub replies: Vec<String>,
    /// Of all attempts.
    pub usage: Usage,
}

/// What a role decided or wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<T> {
    /// In the order of what was asked.
    pub answers: Vec<T>,
    /// A JSON list of [`Exchange`]s, for the journal; None without a model.
    pub exchange: Option<String>,
    pub usage: Usage,
}

impl<T> Judged<T> {
    /// Decided without a model.
    pub(crate) fn offline(answers: Vec<T>) -> Self {
        Self {
            answers,
            exchange: None,
            usage: Usage::default(),
        }
    }

    pub(crate) fn by_model(answers: Vec<T>, exchanges: &[Exchange]) -> Self {
        let mut usage = Usage::default();
        for exchange in exchanges {
            usage += exchange.usage;
        }
        Self {
            answers,
            exchange: Some(to_json(exchanges)),
            usage,
        }
    }
}

fn to_json(exchanges: &[Exchange]) -> String {
    // Texts, numbers and lists: nothing that JSON cannot hold.
    serde_json::to_string(exchanges).unwrap_or_default()
}

/// What each exchange cost.
pub(crate) fn usages(exchanges: &[Exchange]) -> impl Iterator<Item = Usage> {
    exchanges.iter().map(|exchange| exchange.usage)
}

/// Why a role gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoleError {
    /// The model answered each time, and never so that it could be read: a judge fault.
    #[error("read an answer to {prompt} in {attempts} attempts: {reason}")]
    Unparsable {
        prompt: &'static str,
        attempts: usize,
        /// Of the last attempt.
        reason: String,
        /// As in [`Judged`], with every reply.
        exchange: String,
        usage: Box<Usage>,
    },
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A template that passed its trial failed on real input.
    #[error("{0}")]
    Prompt(String),
}

impl RoleError {
    /// What was spent without an answer.
    pub fn usage(&self) -> Usage {
        match self {
            Self::Unparsable { usage, .. } => **usage,
            Self::Model(error) => error.usage(),
            Self::Prompt(_) => Usage::default(),
        }
    }

    /// The same, with what was spent before it on answers that are of no use without this one.
    pub(crate) fn after(mut self, spent: impl IntoIterator<Item = Usage>) -> Self {
        if let Self::Unparsable { usage, .. } | Self::Model(ModelError::Refused { usage, .. }) =
            &mut self
        {
            for more in spent {
                **usage += more;
            }
        }
        self
    }
}

impl From<PromptError> for RoleError {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error.to_string())
    }
}

/// How often a reply that cannot be read is asked for again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts {
    pub(super) count: usize,
    /// Seconds between them, the last again and again; empty: at once.
    waits: &'static [u64],
    /// Whether the next attempt is told what was wrong with the last.
    tells: bool,
}

impl Attempts {
    /// For everything under `paper`.
    pub(crate) const PAPER: Self = Self {
        count: 5,
        waits: &[],
        tells: true,
    };
    /// As the released code has it.
    const PI_BENCH_INTENTS: Self = Self {
        count: 16,
        waits: Self::PI_BENCH_WAITS,
        tells: false,
    };
    const PI_BENCH_RUBRICS: Self = Self {
        count: 5,
        waits: Self::PI_BENCH_WAITS,
        tells: false,
    };
    const PI_BENCH_WAITS: &'static [u64] = &[1, 4, 16, 64, 128, 256, 512];

    /// The wait after the attempt of this index.
    fn wait(self, attempt: usize) -> Option<Duration> {
        let seconds = self.waits.get(attempt).or(self.waits.last())?;
        Some(Duration::from_secs(*seconds))
    }
}

/// A list of things to be judged, and what is shown for it.
pub(crate) struct List<'a> {
    /// Says by which protocol, and whether intents, questions or rubrics are judged.
    pub(crate) name: PromptName,
    pub(crate) texts: &'a [&'a str],
    /// All hidden intents, where the protocol shows them to who judges rubrics.
    pub(crate) intents: Vec<ListItem>,
    pub(crate) show: &'a Show<'a>,
}

/// How the verdicts on a list are asked for, and what of the answers counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    asks: Asks,
    pub(super) styles: Styles,
    /// How the released code's answers are marked up.
    pub(super) tags: Tags,
    pub(super) attempts: Attempts,
    /// Whether what did parse of one attempt counts in the next, as in the released code.
    pub(super) keeps: bool,
}

impl Rules {
    pub(super) fn of(name: PromptName) -> Self {
        let paper = Self {
            asks: Asks::Work,
            styles: Styles::Absent,
            tags: released::INTENTS,
            attempts: Attempts::PAPER,
            keeps: false,
        };
        match name {
            PromptName::Satisfaction | PromptName::Reveal | PromptName::Answer => paper,
            PromptName::Question => Self {
                asks: Asks::Question,
                ..paper
            },
            PromptName::Rubric => Self {
                tags: released::RUBRICS,
                ..paper
            },
            PromptName::PiBenchSatisfaction => Self {
                attempts: Attempts::PI_BENCH_INTENTS,
                ..paper
            },
            PromptName::PiBenchQuestion => Self {
                asks: Asks::Question,
                styles: Styles::Wanted,
                attempts: Attempts::PI_BENCH_INTENTS,
                ..paper
            },
            PromptName::PiBenchRubric => Self {
                tags: released::RUBRICS,
                attempts: Attempts::PI_BENCH_RUBRICS,
                keeps: true,
                ..paper
            },
        }
    }
}

/// A model with the prompts that it is asked by.
#[derive(Debug, Clone)]
pub struct Prompted {
    client: Client,
    prompts: Arc<Prompts>,
    pause: Pause,
}

impl Prompted {
    pub(crate) fn new(client: Client, prompts: &Prompts) -> Self {
        Self {
            client,
            prompts: Arc::new(prompts.clone()),
            pause: Pause::Real,
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The same model, asked from this place.
    pub(crate) fn at(&self, place: &Place) -> Self {
        Self {
            client: self.client.at(place),
            prompts: Arc::clone(&self.prompts),
            pause: self.pause.clone(),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_pause(self, pause: Pause) -> Self {
        Self { pause, ..self }
    }

    /// Asks until `read` can read the reply. Less is shown where the server says that its context is too small.
    pub(crate) async fn ask<T>(
        &self,
        name: PromptName,
        mut fields: Fields,
        show: &Show<'_>,
        attempts: Attempts,
        mut read: impl FnMut(&str) -> Result<T, ParseError>,
    ) -> Result<(T, Exchange), RoleError> {
        let mut room = ROOM;
        fields.shown = show(room);
        let mut prompt = self.prompts.render(name, &fields)?;
        let mut exchange = Exchange {
            model: self.client.spec().to_owned(),
            prompt: name.file().to_owned(),
            prompt_hash: String::new(),
            temperature: None,
            order: Vec::new(),
            replies: Vec::new(),
            usage: Usage::default(),
        };
        let mut attempt = 0;
        let limit = output_limit(&fields);
        let mut thought = if self.client.always_thinks() {
            THOUGHT
        } else {
            0
        };
        loop {
            let answer = match self.chat(&prompt, limit + thought, &mut exchange).await {
                Err(RoleError::Model(error @ ModelError::Window { .. })) => {
                    exchange.usage += error.usage();
                    let shorter = self.shorten(name, &mut fields, show, &mut room, &prompt, error);
                    prompt = shorter.map_err(|error| error.after([exchange.usage]))?;
                    continue;
                }
                answer => answer?,
            };
            if exchange.replies.len() == 1 {
                exchange.prompt_hash = prompt.hash();
            }
            let mut found = read(&answer.reply.text);
            // Under the rules of the released code whatever can be read counts.
            if answer.reply.truncated && (attempts.tells || found.is_err()) {
                let limit = limit + thought;
                found = Err(ParseError::Cut { limit });
            }
            let error = match found {
                Ok(value) => {
                    self.client.keep(&answer)?;
                    return Ok((value, exchange));
                }
                Err(error) => error,
            };
            if attempt + 1 == attempts.count {
                return Err(RoleError::Unparsable {
                    prompt: name.file(),
                    attempts: attempts.count,
                    reason: error.to_string(),
                    usage: Box::new(exchange.usage),
                    exchange: to_json(&[exchange]),
                });
            }
            if answer.reply.truncated && thinks(&answer.reply) {
                thought = THOUGHT;
            }
            if attempts.tells {
                fields.error = error.to_string();
                prompt = self.prompts.render(name, &fields)?;
            }
            if let Some(wait) = attempts.wait(attempt)
                && !self.client.is_replayed()
            {
                self.pause.clone().wait(wait).await;
            }
            attempt += 1;
        }
    }

    /// Asks about a list of things; one verdict for each, in the list's order.
    pub(crate) async fn judge(
        &self,
        list: List<'_>,
        evidence: &TurnEvidence,
    ) -> Result<(Vec<Verdict>, Exchange), RoleError> {
        let List {
            name,
            texts,
            intents,
            show,
        } = list;
        let Rules {
            asks,
            styles,
            tags,
            attempts,
            keeps,
        } = Rules::of(name);
        let nonce = &evidence.delimiter(name.file());
        let known = known::item(evidence, texts, asks, nonce);
        let questions = Questions::new(evidence.protocol, texts, &known, self.client.spec(), nonce);
        let items = questions.items();
        let fields = Fields {
            intents,
            items: items.to_vec(),
            ..Fields::new(nonce, parse::verdict_format(nonce, styles), evidence)
        };
        let mut kept = Kept::new(items.len(), attempts.count);
        let by_released = self.prompts.asks_for_released(name);
        let read = |reply: &str| {
            let verdicts = match (keeps, by_released) {
                (false, false) => parse::verdicts(reply, nonce, items, styles),
                (false, true) => released::verdicts(reply, tags, items, styles),
                (true, false) => kept.add(parse::each_verdict(reply, nonce, items, styles)),
                (true, true) => kept.add(released::each_verdict(reply, tags, items, styles)),
            };
            questions.answers(verdicts?)
        };
        let (verdicts, exchange) = self.ask(name, fields, show, attempts, read).await?;
        let order = questions.order();
        Ok((verdicts, Exchange { order, ..exchange }))
    }

    /// The same question with half of the evidence, or half of that. Where none is shorter, the operator mends it. Where the server
    /// took not even the shortest, a refusal: an agent that wrote that much ends its own session, not the run.
    fn shorten(
        &self,
        name: PromptName,
        fields: &mut Fields,
        show: &Show<'_>,
        room: &mut usize,
        before: &Prompt,
        error: ModelError,
    ) -> Result<Prompt, RoleError> {
        let is_first = *room == ROOM;
        while *room > LEAST_ROOM {
            *room /= 2;
            fields.shown = show(*room);
            let shorter = self.prompts.render(name, fields)?;
            if shorter != *before {
                return Ok(shorter);
            }
        }
        let ModelError::Window {
            server,
            reason,
            remedy,
            ..
        } = error
        else {
            return Err(error.into());
        };
        let error = if is_first {
            ModelError::Setup {
                server,
                reason,
                remedy,
            }
        } else {
            ModelError::Refused {
                server,
                reason: format!("{reason}, with {LEAST_ROOM} characters of evidence too; {remedy}"),
                usage: Box::default(),
            }
        };
        Err(error.into())
    }

    async fn chat(
        &self,
        prompt: &Prompt,
        limit: u32,
        exchange: &mut Exchange,
    ) -> Result<Answer, RoleError> {
        let Prompt {
            system,
            user,
            pictures,
        } = prompt.clone();
        let pictures = pictures.into_iter().map(|picture| Message::Picture {
            text: picture.head,
            image: Some(picture.image),
        });
        // The released code's prompts are one text.
        let system = (!system.is_empty()).then_some(Message::System { text: system });
        let user = [Message::User { text: user }];
        let messages: Vec<Message> = system.into_iter().chain(user).chain(pictures).collect();
        let request = ChatRequest {
            messages: &messages,
            tools: &[],
            may_call: true,
            temperature: Some(0.0),
            max_output: Some(limit),
        };
        let answer = self.client.answer(request).await;
        let answer = answer.map_err(|error| RoleError::from(error).after([exchange.usage]))?;
        exchange.temperature = answer.temperature;
        exchange.usage += answer.reply.usage;
        exchange.replies.push(answer.reply.text.clone());
        Ok(answer)
    }
}

/// The longest answer, in tokens: for each item its text again, at worst a token for each character, and some words on
/// it; for a message as much, and what is settled. A model that writes more does not answer but ramble.
fn output_limit(fields: &Fields) -> u32 {
    let facts = fields.facts.values();
    let items = fields.items.iter().chain(&fields.settled);
    let items = items.map(|item| item.text.chars().count() + PER_ITEM);
    let all = AROUND + items.sum::<usize>() + facts.map(|fact| fact.chars().count()).sum::<usize>();
    u32::try_from(all).unwrap_or(u32::MAX / 2)
}

/// Whether an answer that was cut was, or may have been, used up by thinking.
fn thinks(reply: &Reply) -> bool {
    let text = reply.text.trim_start();
    reply.usage.reasoning_tokens > 0
        || reply.reasoning.as_ref().is_some_and(Reasoning::is_thought)
        || text.is_empty()
        || text.starts_with("<think>")
}

impl Fields {
    /// The fields that every prompt has.
    pub(crate) fn new(nonce: &Nonce, format: String, evidence: &TurnEvidence) -> Self {
        Self {
            nonce: nonce.to_string(),
            format,
            persona_name: evidence.background.user.clone(),
            ..Self::default()
        }
    }
}
