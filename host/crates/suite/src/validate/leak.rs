//! Hidden means hidden: nothing that an agent can see has an intent or an item in its own words, and the request does not
//! ask for what the user is said to keep to themselves.

use serde_json::Value;

use super::shown::{Text, opening, stands_in};
use super::{Ground, Shown, words};
use crate::problem::Report;
use crate::toml_file::Place;
use pibench_core::lexical::{SPAN, Spans};
use pibench_core::matcher::{Piece, Place as Where};

/// Share of an intent's words that stand in the request, from which on it looks stated. Intents and requests speak of the
/// same things, so half is common.
const STATED: f64 = 0.75;

const REWORD: &str =
    "say it in other words there, or leave it out: hidden is what the agent has to find or ask for";

pub(super) fn check(ground: &Ground<'_>, shown: &Shown, report: &mut Report<'_>) {
    let Ground { file, root, .. } = ground;
    for (index, intent) in file.intents.iter().enumerate() {
        let place = root.key("intents").index(index).key("content");
        let texts = shown.texts.iter().chain(&shown.facts);
        check_secret(ground, texts, &intent.content, &place, report);
        check_request(ground, index, &place, report);
    }
    for (index, item) in file.checklist.iter().enumerate() {
        let place = root.key("checklist").index(index);
        let criterion = place.key("criterion");
        check_secret(ground, &shown.texts, &item.criterion, &criterion, report);
        let config = item.rule.as_ref().map(|rule| sentences(&rule.config));
        for secret in config.into_iter().flatten() {
            check_secret(ground, &shown.texts, secret, &place.key("rule"), report);
        }
    }
}

/// The texts of a grader's configuration that are more than a name or an address, which the agent must know.
fn sentences(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if text.len() >= SPAN && text.contains(' ') => vec![text],
        Value::Array(entries) => entries.iter().flat_map(sentences).collect(),
        Value::Object(fields) => fields.values().flat_map(sentences).collect(),
        _ => Vec::new(),
    }
}

fn check_secret<'t>(
    ground: &Ground<'_>,
    texts: impl IntoIterator<Item = &'t Text>,
    secret: &str,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let spans = (secret.chars().count() >= SPAN).then(|| Spans::of(secret));
    // A long span of the secret, or all of a short one.
    let tells = |text: &&Text| match &spans {
        Some(spans) => text.seen.has_of(spans),
        None => stands_in(secret, &text.words),
    };
    let leaks = texts.into_iter().filter(tells);
    for text in leaks {
        let message = format!("{} has this in the same words", text.place);
        ground.report(report, place, message, REWORD);
    }
}

/// The request is held against the matcher and against the words of the intent.
fn check_request(ground: &Ground<'_>, index: usize, place: &Place<'_>, report: &mut Report<'_>) {
    let request = opening(ground.session);
    let matcher = ground.session.intents[index].satisfied.as_ref();
    let piece = Piece::new(Where::Response, &request);
    let name = format!("{}.satisfied", ground.session.intents[index].id);
    let read = matcher.and_then(|matcher| ground.tried(&name, matcher, &request, &piece));
    if read == Some(true) {
        let message = "the request holds all that `satisfied` looks for".to_owned();
        let help = "either the request states the intent, or the matcher takes too little for it";
        ground.report(report, place, message, help);
    }
    let wanted = words(&ground.file.intents[index].content);
    let stated = wanted.intersection(&words(&request)).count();
    // Counts of words are far below what a float holds exactly.
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let share = stated as f64 / wanted.len().max(1) as f64;
    if share >= STATED {
        report.warn(
            place.span(),
            format!(
                "{stated} of its {} words stand in the request",
                wanted.len()
            ),
            "see that the request does not state it",
        );
    }
}
