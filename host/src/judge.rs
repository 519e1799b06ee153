//! The judge of rubric items: for each criterion, whether the session has met it up to this turn. What that is worth is
//! for the scores to say; rule items are none of its business.

#[cfg(test)]
mod tests;

use crate::model::client::Client;
use crate::task::manifest::{Protocol, ToolEvidence};
use crate::task::suite::{Grading, Item};
use crate::user::evidence::{self, Shown};
use crate::user::fence::Nonce;
use crate::user::lexical;
use crate::user::parse::{self, ListItem, ParseError, Styles, Verdict};
use crate::user::prompted::Attempts;
use crate::user::prompts::{Fields, PromptName, Prompts};
use crate::user::{Judged, Judgement, Prompted, RoleError, TurnEvidence};

/// The judge of rubric items.
#[derive(Debug, Clone)]
pub enum Judge {
    /// Matchers of the task files on the agent's own words; no model.
    Lexical,
    Prompted(Prompted),
}

impl Judge {
    /// The judge that asks a model.
    pub fn prompted(client: Client, prompts: &Prompts) -> Self {
        Self::Prompted(Prompted::new(client, prompts))
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
            Self::Prompted(model) => by_model(model, items, selection, evidence).await,
        }
    }
}

fn lexical_judgement(item: &Item, evidence: &TurnEvidence) -> Judgement {
    match &item.grading {
        Grading::Rubric { met } => lexical::judgement(met.as_ref(), &evidence.all_pieces),
        Grading::Rule(_) => Judgement::no("not a rubric"),
    }
}

async fn by_model(
    model: &Prompted,
    items: &[&Item],
    selection: &[ToolEvidence],
    evidence: &TurnEvidence,
) -> Result<Judged<Judgement>, RoleError> {
    let name = match evidence.protocol {
        Protocol::Paper => PromptName::Rubric,
        Protocol::PiBench => PromptName::PiBenchRubric,
    };
    let nonce = evidence.delimiter(name);
    let items = ListItem::list(items.iter().map(|item| item.criterion.as_str()));
    let fields = Fields {
        items: items.clone(),
        shown: shown(selection, evidence, &nonce),
        ..Fields::new(&nonce, parse::verdict_format(&nonce, Styles::Absent))
    };
    let (verdicts, exchange) = match evidence.protocol {
        Protocol::Paper => {
            let read = |reply: &str| parse::verdicts(reply, &nonce, &items, Styles::Absent);
            model.ask(name, fields, Attempts::PAPER, read).await?
        }
        Protocol::PiBench => {
            let mut kept = Kept::new(items.len());
            let read = |reply: &str| kept.read(reply, &nonce, &items);
            model
                .ask(name, fields, Attempts::PI_BENCH_RUBRICS, read)
                .await?
        }
    };
    Ok(Judged::by_model(
        verdicts.into_iter().map(Judgement::from).collect(),
        &[exchange],
    ))
}

fn shown(selection: &[ToolEvidence], evidence: &TurnEvidence, nonce: &Nonce) -> Shown {
    let selected = evidence::select(selection, &evidence.all_calls);
    Shown {
        conversation: evidence::conversation(&evidence.messages, nonce),
        tools: evidence::tools(&selected, nonce),
        files: evidence::files(&evidence.files_read, nonce),
        ..Shown::default()
    }
}

/// The blocks that did parse, over several attempts: the first of each item stands.
struct Kept {
    verdicts: Vec<Option<Verdict>>,
}

impl Kept {
    fn new(items: usize) -> Self {
        Self {
            verdicts: vec![None; items],
        }
    }

    fn read(
        &mut self,
        reply: &str,
        nonce: &Nonce,
        items: &[ListItem],
    ) -> Result<Vec<Verdict>, ParseError> {
        let fresh = parse::kept_verdicts(reply, nonce, items, Styles::Absent);
        for (kept, fresh) in self.verdicts.iter_mut().zip(fresh) {
            *kept = kept.take().or(fresh);
        }
        let all: Vec<Verdict> = self.verdicts.iter().flatten().cloned().collect();
        let (found, wanted) = (all.len(), items.len());
        if found < wanted {
            return Err(ParseError::Count { found, wanted });
        }
        Ok(all)
    }
}
