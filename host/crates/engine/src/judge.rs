//! The judge of rubric items: for each criterion, whether the session has met it up to this turn. What that is worth is
//! for the scores to say; rule items are none of its business.

#[cfg(test)]
mod tests;

use crate::role::exhibit::{Subject, View};
use crate::role::lexical;
use crate::role::parse::{ListItem, Verdict};
use crate::role::prompted::{List, usages};
use crate::role::prompts::{PromptName, Prompts};
use crate::role::{Exchange, Judged, Judgement, Prompted, RoleError, TurnEvidence};
use pibench_core::vocabulary::{Protocol, ToolEvidence};
use pibench_model::client::Client;
use pibench_model::place::Place;
use pibench_record::event::Vote;
use pibench_suite::suite::{Grading, Item};

/// The judge of rubric items.
#[derive(Debug, Clone)]
pub enum Judge {
    /// Matchers of the task files on the agent's own words; no model.
    Lexical,
    /// One judge, or several who decide by majority.
    Panel(Vec<Prompted>),
}

impl Judge {
    /// The judge that asks these models, each the same question.
    pub fn prompted(clients: Vec<Client>, prompts: &Prompts) -> Self {
        let judges = clients.into_iter();
        Self::Panel(
            judges
                .map(|client| Prompted::new(client, prompts))
                .collect(),
        )
    }

    /// The models of the panel; none of the scripted judge.
    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        let judges = match self {
            Self::Lexical => &[][..],
            Self::Panel(judges) => judges,
        };
        judges.iter().map(Prompted::client)
    }

    /// The same judge, asked from this place.
    #[must_use]
    pub fn at(&self, place: &Place) -> Self {
        match self {
            Self::Lexical => Self::Lexical,
            Self::Panel(judges) => {
                Self::Panel(judges.iter().map(|judge| judge.at(place)).collect())
            }
        }
    }

    /// One judgement per item, which are all rubrics, on the session up to and with this turn. `selection`: the fields
    /// of tool calls that the task's author wants shown.
    pub async fn rubrics(
        &self,
        items: &[&Item],
        selection: &[ToolEvidence],
        evidence: &TurnEvidence,
    ) -> Result<Judged<Judgement>, RoleError> {
        match self {
            _ if items.is_empty() => Ok(Judged::offline(Vec::new())),
            Self::Lexical => {
                let judge = |item: &&Item| lexical_judgement(item, evidence);
                Ok(Judged::offline(items.iter().map(judge).collect()))
            }
            Self::Panel(judges) => by_majority(judges, items, selection, evidence).await,
        }
    }
}

fn lexical_judgement(item: &Item, evidence: &TurnEvidence) -> Judgement {
    match &item.grading {
        Grading::Rubric { met } => lexical::judgement(met.as_ref(), &evidence.all_pieces),
        Grading::Rule(_) => Judgement::no("not a rubric"),
    }
}

/// What more than half of the judges say. All must have answered: a verdict of fewer would be another panel's.
async fn by_majority(
    judges: &[Prompted],
    items: &[&Item],
    selection: &[ToolEvidence],
    evidence: &TurnEvidence,
) -> Result<Judged<Judgement>, RoleError> {
    let (mut votes, mut exchanges) = (Vec::new(), Vec::new());
    for judge in judges {
        let answer = by_model(judge, items, selection, evidence).await;
        let (verdicts, exchange) = answer.map_err(|error| error.after(usages(&exchanges)))?;
        votes.push(verdicts);
        exchanges.push(exchange);
    }
    let names = judges.iter().map(|judge| judge.client().spec());
    let verdicts = (0..items.len()).map(|at| {
        let votes = votes.iter().map(|votes| &votes[at]);
        majority(names.clone().zip(votes))
    });
    Ok(Judged::by_model(verdicts.collect(), &exchanges))
}

/// What the verdicts of these judges on one item come to, each with its judge's name. Of a tie: no, as of any doubt.
pub(crate) fn majority<'a>(
    votes: impl ExactSizeIterator<Item = (&'a str, &'a Verdict)> + Clone,
) -> Judgement {
    let yes = votes.clone().filter(|(_, vote)| vote.yes).count() * 2 > votes.len();
    let reasons = votes.clone().filter(|(_, vote)| vote.yes == yes);
    let reasons: Vec<&str> = reasons.map(|(_, vote)| vote.evidence.as_str()).collect();
    let several = votes.len() > 1;
    let told = votes.filter(|_| several).map(|(judge, vote)| Vote {
        judge: judge.to_owned(),
        pass: vote.yes,
    });
    Judgement {
        yes,
        reason: reasons.join(" / "),
        votes: told.collect(),
    }
}

async fn by_model(
    model: &Prompted,
    items: &[&Item],
    selection: &[ToolEvidence],
    evidence: &TurnEvidence,
) -> Result<(Vec<Verdict>, Exchange), RoleError> {
    let name = match evidence.protocol {
        Protocol::Paper => PromptName::Rubric,
        Protocol::PiBench => PromptName::PiBenchRubric,
    };
    let nonce = evidence.delimiter(name.file());
    let texts: Vec<&str> = items.iter().map(|item| item.criterion.as_str()).collect();
    let view = |vision| View::new(evidence, &nonce, subject(items, selection), vision);
    let show = |room| match evidence.protocol {
        Protocol::Paper => view(model.client().has_vision()).within(room).session(),
        Protocol::PiBench => view(false).within(room).released_session(),
    };
    let intents = match evidence.protocol {
        Protocol::Paper => Vec::new(),
        Protocol::PiBench => ListItem::list(evidence.background.intents.iter().map(String::as_str)),
    };
    let list = List {
        name,
        texts: &texts,
        intents,
        show: &show,
    };
    model.judge(list, evidence).await
}

fn subject<'a>(items: &[&'a Item], selection: &'a [ToolEvidence]) -> Subject<'a> {
    let met = |item: &&'a Item| match &item.grading {
        Grading::Rubric { met } => met.as_ref(),
        Grading::Rule(_) => None,
    };
    Subject {
        matchers: items.iter().filter_map(met).collect(),
        texts: items.iter().map(|item| item.criterion.as_str()).collect(),
        selection,
    }
}
