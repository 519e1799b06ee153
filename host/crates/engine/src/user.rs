//! The simulated user: finds which hidden intents a turn satisfied (stage 1), which its questions target (stage 2), and
//! writes the user's next message. It decides nothing about statuses or endings: those are the session's rules.

#[cfg(test)]
mod tests;

use crate::role::exhibit::{Show, Subject, View};
use crate::role::lexical;
use crate::role::parse;
use crate::role::parse::{ListItem, Verdict};
use crate::role::prompted::{Attempts, List, usages};
use crate::role::prompts::{Fields, PromptName, Prompts};
use crate::role::{Background, Exchange, Judged, Judgement, Prompted, RoleError, TurnEvidence};
use pibench_core::session::Asked;
use pibench_core::vocabulary::Protocol;
use pibench_model::client::Client;
use pibench_model::place::Place;
use pibench_suite::suite::{Intent, Persona};

/// What stage 2 found for one intent, with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub asked: Asked,
    /// One line; empty without a model.
    pub reason: String,
}

impl From<Verdict> for Question {
    fn from(verdict: Verdict) -> Self {
        let style = verdict.style;
        Self {
            asked: if verdict.yes {
                Asked::Yes { style }
            } else {
                Asked::No
            },
            reason: verdict.evidence,
        }
    }
}

/// What stage 2 found.
#[derive(Debug, Clone, PartialEq)]
pub struct Asking {
    /// One question for each open intent.
    pub judged: Judged<Question>,
    /// Whether the response asks for a plain fact that the user tells whoever asks. No matcher finds that out.
    pub fact: bool,
}

/// The user agent.
#[derive(Debug, Clone)]
pub enum UserAgent {
    /// Matchers of the task files; no model.
    Lexical,
    Prompted(Prompted),
}

impl UserAgent {
    /// The user agent that asks a model.
    pub fn prompted(client: Client, prompts: &Prompts) -> Self {
        Self::Prompted(Prompted::new(client, prompts))
    }

    /// The model; none of the scripted user agent.
    pub fn client(&self) -> Option<&Client> {
        match self {
            Self::Lexical => None,
            Self::Prompted(model) => Some(model.client()),
        }
    }

    /// The same user agent, asked from this place.
    #[must_use]
    pub fn at(&self, place: &Place) -> Self {
        match self {
            Self::Lexical => Self::Lexical,
            Self::Prompted(model) => Self::Prompted(model.at(place)),
        }
    }

    /// Stage 1: for each open intent, whether the turn satisfied it unstated.
    pub async fn satisfied(
        &self,
        open: &[&Intent],
        evidence: &TurnEvidence,
    ) -> Result<Judged<Judgement>, RoleError> {
        match self {
            _ if open.is_empty() => Ok(Judged::offline(Vec::new())),
            Self::Lexical => Ok(Judged::offline(lexical::satisfied(open, evidence))),
            Self::Prompted(model) => satisfied(model, open, evidence).await,
        }
    }

    /// Stage 2: for each open intent, whether the response asks for exactly this; and whether it asks for a plain fact.
    pub async fn asked(
        &self,
        open: &[&Intent],
        evidence: &TurnEvidence,
    ) -> Result<Asking, RoleError> {
        let offline = |found| Asking {
            judged: Judged::offline(found),
            fact: false,
        };
        match self {
            _ if open.is_empty() => Ok(offline(Vec::new())),
            Self::Lexical => {
                let found = lexical::asked(open, evidence).into_iter();
                let question = |asked| Question {
                    asked,
                    reason: String::new(),
                };
                Ok(offline(found.map(question).collect()))
            }
            Self::Prompted(model) => asked(model, open, evidence).await,
        }
    }

    /// The user's message that answers a question: one text, which states all `matched` intents, and the plain facts that
    /// were asked for. They, and what is `settled`, are all that the writing model is told, so it cannot give others away.
    pub async fn answer(
        &self,
        persona: &Persona,
        matched: &[&Intent],
        settled: &[&Intent],
        evidence: &TurnEvidence,
    ) -> Result<Judged<String>, RoleError> {
        let Some(model) = self.voice(evidence) else {
            return Ok(Judged::offline(vec![verbatim(matched)]));
        };
        let said = Said {
            intents: matched,
            settled,
            asked: true,
        };
        let (message, exchange) = message(model, persona, said, evidence).await?;
        Ok(Judged::by_model(vec![message], &[exchange]))
    }

    /// The user's message that tells one of the `open` intents unasked: its index among them, and the text. `paper`
    /// with a model: the most relevant one, in the persona's voice; else the first, word for word. No answer when
    /// nothing is open.
    pub async fn reveal(
        &self,
        persona: &Persona,
        open: &[&Intent],
        settled: &[&Intent],
        evidence: &TurnEvidence,
    ) -> Result<Judged<(usize, String)>, RoleError> {
        let Some(first) = open.first() else {
            return Ok(Judged::offline(Vec::new()));
        };
        let Some(model) = self.voice(evidence) else {
            return Ok(Judged::offline(vec![(0, verbatim(&[*first]))]));
        };
        reveal(model, persona, open, settled, evidence).await
    }

    /// The model that speaks for the user, where the protocol has one.
    fn voice(&self, evidence: &TurnEvidence) -> Option<&Prompted> {
        match (self, evidence.protocol) {
            (Self::Prompted(model), Protocol::Paper) => Some(model),
            _ => None,
        }
    }
}

fn verbatim(intents: &[&Intent]) -> String {
    let texts: Vec<&str> = intents
        .iter()
        .map(|intent| intent.content.as_str())
        .collect();
    texts.join("\n")
}

fn list(intents: &[&Intent]) -> Vec<ListItem> {
    ListItem::list(intents.iter().map(|intent| intent.content.as_str()))
}

async fn satisfied(
    model: &Prompted,
    open: &[&Intent],
    evidence: &TurnEvidence,
) -> Result<Judged<Judgement>, RoleError> {
    let name = match evidence.protocol {
        Protocol::Paper => PromptName::Satisfaction,
        Protocol::PiBench => PromptName::PiBenchSatisfaction,
    };
    let nonce = evidence.delimiter(name.file());
    let view = |vision| View::new(evidence, &nonce, subject(open), vision);
    let show = |room| match evidence.protocol {
        Protocol::Paper => view(model.client().has_vision()).within(room).turn(),
        Protocol::PiBench => view(false).within(room).released_turn(),
    };
    let texts: Vec<&str> = open.iter().map(|intent| intent.content.as_str()).collect();
    judge(model, name, &texts, evidence, &show).await
}

fn subject<'a>(intents: &[&'a Intent]) -> Subject<'a> {
    Subject {
        matchers: intents
            .iter()
            .filter_map(|intent| intent.satisfied.as_ref())
            .collect(),
        texts: intents
            .iter()
            .map(|intent| intent.content.as_str())
            .collect(),
        selection: &[],
    }
}

async fn asked(
    model: &Prompted,
    open: &[&Intent],
    evidence: &TurnEvidence,
) -> Result<Asking, RoleError> {
    let name = match evidence.protocol {
        Protocol::Paper => PromptName::Question,
        Protocol::PiBench => PromptName::PiBenchQuestion,
    };
    let nonce = evidence.delimiter(name.file());
    let view = || View::new(evidence, &nonce, Subject::default(), false);
    let show = |room| match evidence.protocol {
        Protocol::Paper => view().within(room).dialogue(),
        Protocol::PiBench => view().within(room).released_question(),
    };
    let fact = match evidence.protocol {
        Protocol::Paper => plain_fact(evidence),
        Protocol::PiBench => None,
    };
    let texts = open.iter().map(|intent| intent.content.as_str());
    let texts: Vec<&str> = texts.chain(fact.as_deref()).collect();
    let mut judged: Judged<Question> = judge(model, name, &texts, evidence, &show).await?;
    let asked = judged.answers.split_off(open.len()).pop();
    let fact = asked.is_some_and(|question| question.asked != Asked::No);
    Ok(Asking { judged, fact })
}

/// The plain facts as one more thing that a message may ask for; None where there are none.
fn plain_fact(evidence: &TurnEvidence) -> Option<String> {
    let Background { user, facts, .. } = &*evidence.background;
    let kinds: Vec<&str> = facts.keys().map(String::as_str).collect();
    let one_of = kinds.join(", ");
    (!kinds.is_empty()).then(|| format!("{user} gives one of {user}'s own plain facts: {one_of}."))
}

async fn judge<T: From<Verdict>>(
    model: &Prompted,
    name: PromptName,
    texts: &[&str],
    evidence: &TurnEvidence,
    show: &Show<'_>,
) -> Result<Judged<T>, RoleError> {
    let list = List {
        name,
        texts,
        intents: Vec::new(),
        show,
    };
    let (verdicts, exchange) = model.judge(list, evidence).await?;
    Ok(Judged::by_model(
        verdicts.into_iter().map(T::from).collect(),
        &[exchange],
    ))
}

/// Chosen by one question and written by another that knows of the chosen intent and of settled ones only.
async fn reveal(
    model: &Prompted,
    persona: &Persona,
    open: &[&Intent],
    settled: &[&Intent],
    evidence: &TurnEvidence,
) -> Result<Judged<(usize, String)>, RoleError> {
    let mut exchanges = Vec::new();
    let mut index = 0;
    if open.len() > 1 {
        let (chosen, exchange) = choose(model, open, evidence).await?;
        index = chosen;
        exchanges.push(exchange);
    }
    let said = Said {
        intents: &open[index..=index],
        settled,
        asked: false,
    };
    let message = message(model, persona, said, evidence).await;
    let (text, exchange) = message.map_err(|error| error.after(usages(&exchanges)))?;
    exchanges.push(exchange);
    Ok(Judged::by_model(vec![(index, text)], &exchanges))
}

async fn choose(
    model: &Prompted,
    open: &[&Intent],
    evidence: &TurnEvidence,
) -> Result<(usize, Exchange), RoleError> {
    let name = PromptName::Reveal;
    let nonce = evidence.delimiter(name.file());
    let items = list(open);
    let view = || View::new(evidence, &nonce, subject(open), false);
    let fields = Fields {
        items: items.clone(),
        ..Fields::new(&nonce, parse::choice_format(&nonce), evidence)
    };
    let show = |room| view().within(room).turn();
    let read = |reply: &str| parse::choice(reply, &nonce, &items);
    model.ask(name, fields, &show, Attempts::PAPER, read).await
}

/// What a message of the user's may say beside plain facts.
struct Said<'a> {
    /// What it states.
    intents: &'a [&'a Intent],
    /// What was met or told before: a question about it is answered, as anyone would who had asked for it.
    settled: &'a [&'a Intent],
    /// Whether the assistant asked for what it states.
    asked: bool,
}

async fn message(
    model: &Prompted,
    persona: &Persona,
    said: Said<'_>,
    evidence: &TurnEvidence,
) -> Result<(String, Exchange), RoleError> {
    let Said {
        intents,
        settled,
        asked,
    } = said;
    let name = PromptName::Answer;
    let nonce = evidence.delimiter(name.file());
    let view = || View::new(evidence, &nonce, subject(intents), false);
    let fields = Fields {
        items: list(intents),
        settled: list(settled),
        persona_profile: persona.profile.clone(),
        facts: evidence.background.facts.clone(),
        asked,
        ..Fields::new(&nonce, parse::message_format(&nonce), evidence)
    };
    let show = |room| view().within(room).turn();
    let read = |reply: &str| parse::message(reply, &nonce);
    model.ask(name, fields, &show, Attempts::PAPER, read).await
}
