//! The examples of matchers, tried: what an author says must match does, and what must not does not.

use super::Ground;
use crate::manifest::RuleFile;
use crate::problem::Report;
use crate::suite::Grading;
use crate::toml_file::Place;
use pibench_core::matcher::{Matcher, Piece, Place as Where, QUESTION_LIMIT};
use pibench_core::vocabulary::MatcherFile;

/// Examples of each kind that a matcher should have.
const WANTED: usize = 2;

pub(super) fn check(ground: &Ground<'_>, report: &mut Report<'_>) {
    let mut few: Vec<String> = Vec::new();
    let mut try_one = |matcher: &Matcher, file: &MatcherFile, place: &Place<'_>, name: String| {
        let questions = name.rsplit('.').next() == Some("asked");
        check_examples(ground, &name, (matcher, file), questions, place, report);
        if file.accepts.len() < WANTED || file.rejects.len() < WANTED {
            few.push(name);
        }
    };
    let intents = ground.session.intents.iter().zip(&ground.file.intents);
    for (index, (intent, file)) in intents.enumerate() {
        let place = ground.root.key("intents").index(index);
        for (key, matcher, file) in [
            ("satisfied", &intent.satisfied, &file.satisfied),
            ("asked", &intent.asked, &file.asked),
        ] {
            if let (Some(matcher), Some(file)) = (matcher, file) {
                try_one(
                    matcher,
                    file,
                    &place.key(key),
                    format!("{}.{key}", intent.id),
                );
            }
        }
    }
    let items = ground.session.checklist.iter().zip(&ground.file.checklist);
    for (index, (item, file)) in items.enumerate() {
        if let (Grading::Rubric { met: Some(matcher) }, Some(file)) = (&item.grading, &file.met) {
            let place = ground.root.key("checklist").index(index).key("met");
            try_one(matcher, file, &place, format!("{}.met", item.id));
        }
    }
    let rules = ground.file.checklist.iter().filter(|item| {
        let bare = |rule: &RuleFile| rule.accepts.is_empty() || rule.rejects.is_empty();
        item.rule.as_ref().is_some_and(bare)
    });
    let bare: Vec<&str> = rules.map(|item| item.id.as_str()).collect();
    if let Some(first) = bare.first() {
        report.warn(
            ground.root.key("id").span(),
            format!(
                "{} rules have no example of each kind, the first is `{first}`",
                bare.len()
            ),
            "give the rule `accepts` and `rejects`: histories, each a list of steps as in `reference`",
        );
    }
    if let Some(first) = few.first() {
        report.warn(
            ground.root.key("id").span(),
            format!(
                "{} matchers have less than two examples of each kind, the first is `{first}`",
                few.len()
            ),
            "give `accepts` and `rejects`: other good wordings, and texts that are near and wrong",
        );
    }
}

fn check_examples(
    ground: &Ground<'_>,
    name: &str,
    (matcher, file): (&Matcher, &MatcherFile),
    questions: bool,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    for (key, texts, wanted) in [
        ("accepts", &file.accepts, true),
        ("rejects", &file.rejects, false),
    ] {
        for (nth, text) in texts.iter().enumerate() {
            let span = place.key(key).index(nth).span();
            if reads(ground, name, matcher, text, questions).is_none_or(|read| read == wanted) {
                continue;
            }
            let asks = !questions || !Piece::new(Where::Response, text).questions().is_empty();
            let (message, help) = match (wanted, asks) {
                (true, false) => (
                    format!(
                        "the matcher does not match this: it has no sentence of at most {QUESTION_LIMIT} characters with a \
                         question mark at its end"
                    ),
                    "`asked` looks at questions alone: write the example as one, with the mark of its script",
                ),
                (true, true) => (
                    "the matcher does not match this".to_owned(),
                    "widen its patterns, or correct the example",
                ),
                (false, _) => (
                    "the matcher matches this".to_owned(),
                    "tie its patterns to what only good work says, or correct the example",
                ),
            };
            report.add_with_help(span, message, help);
        }
    }
}

/// `asked` looks at questions one by one, the others at the text.
fn reads(
    ground: &Ground<'_>,
    name: &str,
    matcher: &Matcher,
    text: &str,
    questions: bool,
) -> Option<bool> {
    let piece = Piece::new(Where::Response, text);
    let pieces = if questions {
        piece.questions()
    } else {
        vec![piece]
    };
    for piece in &pieces {
        // A text counts once for each of its questions.
        if ground.tried(name, matcher, text, piece)? {
            return Some(true);
        }
    }
    Some(false)
}
