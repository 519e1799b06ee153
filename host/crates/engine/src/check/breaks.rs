//! Plugins that break while a suite is played, each told once for each cause: one mistake shows under several agents, in several
//! turns and on several examples.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ground, script};
use pibench_core::count::count;
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Grading, Rule, Suite};
use pibench_suite::validate::Part;

/// Where a plugin breaks, and how.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Break {
    persona: String,
    session: String,
    /// Its place in the checklist, for a grader.
    item: Option<usize>,
    cause: String,
}

/// What it broke under.
#[derive(Debug, Default)]
struct Under {
    agents: BTreeSet<&'static str>,
    examples: Vec<Part<'static>>,
}

/// All breaks of a suite's plays.
#[derive(Debug, Default)]
pub(super) struct Breaks(BTreeMap<Break, Under>);

impl Breaks {
    /// A plugin broke under an agent, so that this item, if it is any's, has no verdict.
    pub(super) fn in_play(
        &mut self,
        agent: &'static str,
        (persona, session): (&str, &str),
        item: Option<usize>,
        cause: &str,
    ) {
        let under = self.under((persona, session), item, cause);
        under.agents.insert(agent);
    }

    /// A grader broke on an example of this item.
    pub(super) fn on_example(
        &mut self,
        place: (&str, &str),
        item: usize,
        part: Part<'static>,
        cause: &str,
    ) {
        self.under(place, Some(item), cause).examples.push(part);
    }

    fn under(
        &mut self,
        (persona, session): (&str, &str),
        item: Option<usize>,
        cause: &str,
    ) -> &mut Under {
        let found = Break {
            persona: persona.to_owned(),
            session: session.to_owned(),
            item,
            cause: cause.to_owned(),
        };
        self.0.entry(found).or_default()
    }

    /// Each with the first place where it showed, and how often it did elsewhere.
    pub(super) fn problems(self, suite: &Suite, ground: &Ground<'_>) -> Vec<Problem> {
        let told = self.0.into_iter().map(|(found, under)| {
            let Break {
                persona,
                session,
                item,
                cause,
            } = found;
            let authored = ground.authored;
            let file = authored.file(&persona, &session);
            let rule = item.and_then(|item| rule(suite, &persona, &session, item));
            let cause = match rule {
                Some(rule) => script::told(&cause, rule, file),
                None => cause,
            };
            let (part, message) = under.told(item, &cause);
            let help = if item.is_some() {
                "mend the grader: it judges every history, one without any call too"
            } else {
                "mend the plugin: it answers every call, if only by refusing it"
            };
            authored.session_problem(&persona, &session, part, message, help)
        });
        told.collect()
    }
}

impl Under {
    fn told(&self, item: Option<usize>, cause: &str) -> (Part<'static>, String) {
        let who = if item.is_some() {
            "the grader"
        } else {
            "a plugin"
        };
        let Some(agent) = self.agents.first() else {
            let part = self.examples.first().copied().unwrap_or(Part::Session);
            let also = also(0, self.examples.len().saturating_sub(1));
            return (part, format!("{who} breaks on this history: {cause}{also}"));
        };
        let also = also(self.agents.len() - 1, self.examples.len());
        (
            item.map_or(Part::Session, Part::Item),
            format!("{who} breaks: under `{agent}` {cause}{also}"),
        )
    }
}

/// How often else.
fn also(plays: usize, examples: usize) -> String {
    let of = |number: usize, what: &str| (number > 0).then(|| count(number, what));
    let all: Vec<String> = [of(plays, "other play"), of(examples, "example")]
        .into_iter()
        .flatten()
        .collect();
    if all.is_empty() {
        return String::new();
    }
    format!("; also in {}", all.join(" and "))
}

fn rule<'s>(suite: &'s Suite, persona: &str, session: &str, item: usize) -> Option<&'s Rule> {
    let (_, session) = suite.find_session(persona, session)?;
    match &session.checklist.get(item)?.grading {
        Grading::Rule(rule) => Some(rule),
        Grading::Rubric { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_with_how_often_it_showed_and_another_cause_by_itself() {
        let mut breaks = Breaks::default();
        let place = ("p", "s");
        for agent in ["reference", "nop", "nop"] {
            breaks.in_play(agent, place, Some(0), "own trapped");
        }
        breaks.on_example(place, 0, Part::Example(0, "accepts", 0), "own trapped");
        breaks.on_example(place, 0, Part::Example(0, "rejects", 1), "own failed");
        let told = breaks.0.into_iter().map(|(found, under)| {
            let (_, message) = under.told(found.item, &found.cause);
            message
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "the grader breaks on this history: own failed",
                "the grader breaks: under `nop` own trapped; also in 1 other play and 1 example",
            ]
        );
    }
}
