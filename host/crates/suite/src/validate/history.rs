//! The examples of rules as workflows that can be played: an author writes the steps that matter, and what they use comes
//! from the reference workflow.

use serde_json::Value;

use super::{Authored, Part};
use crate::load::step;
use crate::manifest::RuleFile;
use crate::suite::Step;

/// One example of a rule.
#[derive(Debug, Clone)]
pub struct History<'a> {
    /// Ids.
    pub persona: &'a str,
    pub session: &'a str,
    /// The item's place in the checklist.
    pub item: usize,
    /// Whether the rule must pass on it.
    pub accepted: bool,
    /// Its place among those of its kind.
    nth: usize,
    pub steps: Vec<Step>,
}

impl History<'_> {
    /// Where it stands in the session's file.
    pub fn part(&self) -> Part<'static> {
        let key = if self.accepted { "accepts" } else { "rejects" };
        Part::Example(self.item, key, self.nth)
    }
}

impl Authored<'_> {
    /// All examples of rules, in the order of the files.
    pub fn histories(&self) -> Vec<History<'_>> {
        let mut histories = Vec::new();
        for (persona, authored) in &self.personas {
            for session in &persona.sessions {
                let Some(authored) = authored.sessions.get(&session.id) else {
                    continue;
                };
                for (item, file) in authored.file.checklist.iter().enumerate() {
                    let of_rule = file.rule.iter().flat_map(examples);
                    histories.extend(of_rule.map(|(accepted, nth, steps)| History {
                        persona: &persona.id,
                        session: &session.id,
                        item,
                        accepted,
                        nth,
                        steps: complete(steps, &session.reference),
                    }));
                }
            }
        }
        histories
    }
}

/// Whether it must pass, its place, its steps.
fn examples(rule: &RuleFile) -> impl Iterator<Item = (bool, usize, Vec<Step>)> {
    let kinds = [(true, &rule.accepts), (false, &rule.rejects)];
    kinds.into_iter().flat_map(|(accepted, histories)| {
        let steps = histories.iter().enumerate();
        steps.map(move |(nth, steps)| {
            (
                accepted,
                nth,
                steps.iter().cloned().filter_map(step).collect(),
            )
        })
    })
}

/// The steps, each after those of the reference workflow that save what it uses.
fn complete(steps: Vec<Step>, reference: &[Step]) -> Vec<Step> {
    let mut done = Vec::new();
    for step in steps {
        fetch(&step, reference, &mut done);
        done.push(step);
    }
    done
}

fn fetch(step: &Step, reference: &[Step], done: &mut Vec<Step>) {
    let Step::Call { arguments, .. } = step else {
        return;
    };
    let mut names = Vec::new();
    collect_used(arguments, &mut names);
    for name in names {
        if done.iter().any(|step| saves(step, name)) {
            continue;
        }
        if let Some(at) = reference.iter().position(|step| saves(step, name)) {
            // What that one uses stands before it, so this ends.
            fetch(&reference[at], &reference[..at], done);
            done.push(reference[at].clone());
        }
    }
}

fn saves(step: &Step, name: &str) -> bool {
    matches!(step, Step::Call { save: Some(save), .. } if save == name)
}

/// The names in `{{name.path}}`.
fn collect_used<'a>(arguments: &'a Value, names: &mut Vec<&'a str>) {
    match arguments {
        Value::String(text) => {
            let places = text
                .split("{{")
                .skip(1)
                .filter_map(|rest| rest.split_once("}}"));
            names.extend(places.filter_map(|(place, _)| place.trim().split('.').next()));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect_used(entry, names)),
        Value::Object(fields) => fields.values().for_each(|field| collect_used(field, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(tool: &str, arguments: Value, save: Option<&str>) -> Step {
        Step::Call {
            tool: tool.into(),
            arguments,
            save: save.map(Into::into),
        }
    }

    #[test]
    fn what_a_step_uses_is_fetched_once_and_in_order() {
        let reference = [
            call("login", json!({}), Some("mail")),
            call("search", json!({"token": "{{mail.token}}"}), Some("found")),
            call("show", json!({"id": "{{found.0.id}}"}), None),
        ];
        let steps = vec![
            call(
                "reply",
                json!({"to": ["No {{ found.0.id }}"], "token": "{{mail.token}}"}),
                None,
            ),
            call("login", json!({}), Some("other")),
            call("send", json!({"token": "{{other.token}}"}), None),
        ];
        let complete = complete(steps, &reference);
        let tools: Vec<&str> = complete
            .iter()
            .filter_map(|step| match step {
                Step::Call { tool, .. } => Some(tool.as_str()),
                Step::Say { .. } => None,
            })
            .collect();
        assert_eq!(tools, ["login", "search", "reply", "login", "send"]);
    }
}
