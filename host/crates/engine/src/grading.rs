//! The checklist of a session: which grader is asked what, what the judge says, and the maximum over turns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::judge::Judge;
use crate::role::{RoleError, TurnEvidence};
use pibench_agent::environment::guest_fault;
use pibench_core::score::ItemScore;
use pibench_core::vocabulary::{Protocol, When};
use pibench_model::ModelError;
use pibench_record::RunFolder;
use pibench_record::event::{Fault, FaultKind, ItemVerdict, Turn};
use pibench_record::folder::FolderError;
use pibench_sandbox::evidence::Evidence;
use pibench_sandbox::grader::Verdict;
use pibench_sandbox::workspace::View;
use pibench_sandbox::{Grader, LoadError};
use pibench_suite::suite::{Grading, Item, Rule, Session};

use super::error::{EpisodeError, Spot};
use super::plan::Plan;

/// The judge's name in faults.
pub(super) const JUDGE: &str = "judge";

/// The cause of a fault where a grader answers, and not for an item.
const NO_VERDICT: &str = "no verdict";

/// The graders of a suite, by name.
pub(super) type Graders = BTreeMap<String, Grader>;

/// Loads every grader that the sessions need.
pub(super) fn load<'a>(
    plan: &Plan,
    sessions: impl Iterator<Item = &'a Session>,
) -> Result<Graders, LoadError> {
    let mut graders = Graders::new();
    for rule in sessions
        .flat_map(|session| &session.checklist)
        .filter_map(rule_of)
    {
        if !graders.contains_key(&rule.grader) {
            let plugin = plan.plugins.get(&rule.grader)?;
            graders.insert(
                rule.grader.clone(),
                Grader::new(plugin, plan.limits_of_grader(&rule.grader))?,
            );
        }
    }
    Ok(graders)
}

fn rule_of(item: &Item) -> Option<&Rule> {
    match &item.grading {
        Grading::Rule(rule) => Some(rule),
        Grading::Rubric { .. } => None,
    }
}

/// What the items of a session scored so far: the maximum over turns (equation 4), or the last turn.
#[derive(Debug, Clone)]
pub(super) struct Checklist {
    met: Vec<bool>,
}

impl Checklist {
    pub(super) fn new(items: &[Item]) -> Self {
        Self {
            met: vec![false; items.len()],
        }
    }

    /// The items to grade now: not those that are met for good (the released code asks about these, too), and not those of
    /// the end before it.
    pub(super) fn due<'a>(
        &self,
        protocol: Protocol,
        items: &'a [Item],
        last: bool,
    ) -> Vec<(usize, &'a Item)> {
        let due = |&(index, item): &(usize, &Item)| match item.when {
            When::Ever => protocol == Protocol::PiBench || !self.met[index],
            When::End => last,
        };
        items.iter().enumerate().filter(due).collect()
    }

    pub(super) fn take(&mut self, items: &[Item], verdicts: &[ItemVerdict]) {
        for verdict in verdicts.iter().filter(|verdict| verdict.pass) {
            if let Some(index) = items.iter().position(|item| item.id == verdict.item) {
                self.met[index] = true;
            }
        }
    }

    pub(super) fn scores(&self, items: &[Item]) -> Vec<ItemScore> {
        let score = |(item, &met): (&Item, &bool)| ItemScore {
            id: item.id.clone(),
            weight: item.weight,
            met,
        };
        items.iter().zip(&self.met).map(score).collect()
    }
}

/// What the rules of one turn came to.
#[derive(Debug, Default)]
pub(super) struct RuleGrades {
    pub(super) verdicts: Vec<ItemVerdict>,
    pub(super) faults: Vec<Fault>,
}

/// Grades rule items. Items with one grader and one configuration share a call. A grader that faults, or has no verdict for
/// an item, scores 0 for its items, and the fault is recorded.
pub(super) async fn grade(
    graders: &Graders,
    protocol: Protocol,
    items: &[(usize, &Item)],
    evidence: &Evidence<'_>,
    workspace: &View,
) -> RuleGrades {
    let mut found = RuleGrades::default();
    let mut calls: Vec<(&Rule, Vec<&Item>)> = Vec::new();
    for &(_, item) in items {
        let Some(rule) = rule_of(item) else { continue };
        match calls
            .iter_mut()
            .find(|(other, _)| other.grader == rule.grader && other.config == rule.config)
        {
            Some((_, items)) => items.push(item),
            None => calls.push((rule, vec![item])),
        }
    }
    for (rule, items) in calls {
        let Some(grader) = graders.get(&rule.grader) else {
            continue;
        };
        let config = config(rule, protocol);
        match grader.grade(&config, evidence, workspace).await {
            Ok(verdicts) => {
                for item in items {
                    let (verdict, fault) = verdict_of(item, &rule.grader, &verdicts);
                    found.verdicts.push(verdict);
                    found.faults.extend(fault);
                }
            }
            Err(fault) => {
                let fault = guest_fault(&rule.grader, &fault);
                let failed = |item: &&Item| ItemVerdict {
                    item: item.id.clone(),
                    pass: false,
                    reason: fault.message.clone(),
                    votes: Vec::new(),
                    exchange: None,
                };
                found.verdicts.extend(items.iter().map(failed));
                found.faults.push(fault);
            }
        }
    }
    found
}

/// Why a role's answer is not in the turn, where that is no fault of the role.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Its model could not be reached, or its server rejects what it is asked.
    Model(ModelError),
    Folder(FolderError),
}

impl Unanswered {
    /// What it ends the episode with, in a turn of a session.
    pub(super) fn at(self, spot: Spot<'_>, turn: u32) -> EpisodeError {
        match self {
            Self::Model(error) => spot.unanswered(turn, &error),
            Self::Folder(error) => error.into(),
        }
    }
}

impl From<FolderError> for Unanswered {
    fn from(error: FolderError) -> Self {
        Self::Folder(error)
    }
}

/// Asks the judge about the rubric items among `due` and writes the verdicts into the turn. A judge without an answer is a
/// fault of the turn, and the session plays on: intents do not hang on rubrics, and `grade` makes the missing verdicts.
pub(super) async fn rubrics(
    judge: &Judge,
    folder: &RunFolder,
    session: &Session,
    due: &[(usize, &Item)],
    evidence: &TurnEvidence,
    turn: &mut Turn,
) -> Result<(), Unanswered> {
    let items = due.iter().map(|&(_, item)| item);
    let items: Vec<&Item> = items.filter(|item| is_rubric(item)).collect();
    if items.is_empty() {
        return Ok(());
    }
    match judge
        .rubrics(&items, &session.tool_evidence, evidence)
        .await
    {
        Ok(judged) => {
            turn.usage.judge += judged.usage;
            let exchange = judged.exchange.map(|text| folder.put_blob(text.as_bytes()));
            let exchange = exchange.transpose()?;
            let verdict = |(item, found): (&&Item, crate::role::Judgement)| ItemVerdict {
                item: item.id.clone(),
                pass: found.yes,
                reason: found.reason,
                votes: found.votes,
                exchange: exchange.clone(),
            };
            let verdicts = items.iter().zip(judged.answers).map(verdict);
            turn.items.extend(verdicts);
            Ok(())
        }
        Err(error) => without_answer(folder, turn, JUDGE, error),
    }
}

/// A role without an answer is a judge fault of the turn; what its model did not get to see is none.
pub(super) fn without_answer(
    folder: &RunFolder,
    turn: &mut Turn,
    role: &str,
    error: RoleError,
) -> Result<(), Unanswered> {
    if let RoleError::Model(
        error @ (ModelError::Infrastructure { .. } | ModelError::Setup { .. }),
    ) = error
    {
        return Err(Unanswered::Model(error));
    }
    let mut message = format!("failed to {error}");
    let counted = if role == JUDGE {
        &mut turn.usage.judge
    } else {
        &mut turn.usage.user
    };
    *counted += error.usage();
    if let RoleError::Unparsable { exchange, .. } = error {
        let blob = folder.put_blob(exchange.as_bytes())?;
        message = format!("{message}; its replies are in blob {blob}");
    }
    turn.faults.push(Fault {
        kind: FaultKind::Judge,
        source: role.into(),
        cause: "no answer".into(),
        message,
    });
    Ok(())
}

/// What is wrong with a turn's verdicts, of which each of these items may have one: no host writes another, or a second one.
pub(super) fn wrong_verdicts<'a>(
    items: impl IntoIterator<Item = &'a Item>,
    verdicts: &[ItemVerdict],
) -> Vec<String> {
    let known: BTreeSet<&String> = items.into_iter().map(|item| &item.id).collect();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for ItemVerdict { item, .. } in verdicts {
        if !known.contains(item) {
            wrong.push(format!(
                "item `{item}` has a verdict, and is not graded in this turn"
            ));
        } else if !seen.insert(item) {
            wrong.push(format!("item `{item}` has two verdicts, and one is made"));
        }
    }
    wrong
}

pub(super) fn is_rubric(item: &Item) -> bool {
    matches!(item.grading, Grading::Rubric { .. })
}

/// Python scripts see the history as the protocol shows it, so they are told which one is played.
fn config(rule: &Rule, protocol: Protocol) -> Value {
    let mut config = rule.config.clone();
    if let (true, Value::Object(fields)) = (rule.grader == "python", &mut config) {
        let protocol = match protocol {
            Protocol::Paper => "paper",
            Protocol::PiBench => "pi-bench",
        };
        fields.insert("protocol".into(), protocol.into());
    }
    config
}

/// What a grader's answer says of an item. One that says nothing of it is the grader's fault, as one that fails.
fn verdict_of(item: &Item, grader: &str, verdicts: &[Verdict]) -> (ItemVerdict, Option<Fault>) {
    let check = rule_of(item).and_then(|rule| rule.check.as_deref());
    let found = match check {
        Some(check) => verdicts.iter().find(|verdict| verdict.check == check),
        None => verdicts.first().filter(|_| verdicts.len() == 1),
    };
    let judged = |pass, reason| ItemVerdict {
        item: item.id.clone(),
        pass,
        reason,
        votes: Vec::new(),
        exchange: None,
    };
    if let Some(verdict) = found {
        return (judged(verdict.pass, verdict.reason.clone()), None);
    }
    let reason = match check {
        Some(check) => format!("the grader gave no verdict for its check `{check}`"),
        None => format!(
            "the grader gave {} verdicts, and the item names no check",
            verdicts.len()
        ),
    };
    let fault = Fault {
        kind: FaultKind::Guest,
        source: grader.into(),
        cause: NO_VERDICT.into(),
        message: reason.clone(),
    };
    (judged(false, reason), Some(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, when: When) -> Item {
        Item {
            id: id.into(),
            criterion: id.into(),
            weight: 1.0,
            when,
            grading: Grading::Rubric { met: None },
        }
    }

    #[test]
    fn the_released_code_asks_about_every_item_in_every_turn() {
        let items = [
            item("met", When::Ever),
            item("open", When::Ever),
            item("end", When::End),
        ];
        let checklist = Checklist {
            met: vec![true, false, false],
        };
        let due = |protocol, last| -> Vec<usize> {
            let due = checklist.due(protocol, &items, last);
            due.into_iter().map(|(index, _)| index).collect()
        };
        assert_eq!(due(Protocol::PiBench, false), [0, 1]);
        assert_eq!(due(Protocol::PiBench, true), [0, 1, 2]);
        assert_eq!(due(Protocol::Paper, false), [1]);
    }

    #[test]
    fn an_item_without_a_verdict_is_a_fault_of_its_grader_and_one_with_a_verdict_is_none() {
        let item = Item {
            grading: Grading::Rule(Rule {
                grader: "own".into(),
                config: Value::Null,
                check: Some("kept".into()),
            }),
            ..item("i", When::Ever)
        };
        let verdicts = |check: &str| {
            [Verdict {
                check: check.into(),
                pass: true,
                reason: "so".into(),
            }]
        };
        let (verdict, fault) = verdict_of(&item, "own", &verdicts("kept"));
        assert!(verdict.pass && fault.is_none(), "{fault:?}");
        let (verdict, fault) = verdict_of(&item, "own", &verdicts("kpet"));
        let fault = fault.unwrap();
        assert_eq!(
            (fault.kind, fault.source.as_str()),
            (FaultKind::Guest, "own")
        );
        assert_eq!(
            fault.message,
            "the grader gave no verdict for its check `kept`"
        );
        assert!(
            !verdict.pass && verdict.reason == fault.message,
            "{verdict:?}"
        );
    }
}
