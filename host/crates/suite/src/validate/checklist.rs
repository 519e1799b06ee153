//! Hints at items that hold several requirements or say the same twice. They are guesses at wording, so warnings.

use super::{Ground, words};
use crate::manifest::ItemFile;
use crate::problem::Report;

/// Characters of a criterion that can still be one requirement.
const LONG: usize = 220;

/// Shared words of two texts over all their words, from which on they look the same.
const ALIKE: f64 = 0.6;

pub(super) fn check(ground: &Ground<'_>, report: &mut Report<'_>) {
    let items = &ground.file.checklist;
    for (index, item) in items.iter().enumerate() {
        let place = ground.root.key("checklist").index(index);
        let criterion = place.key("criterion").span();
        if let Some(reason) = several(&item.criterion) {
            report.warn(
                criterion.clone(),
                format!("the item `{}` looks like several: {reason}", item.id),
                "one requirement an item: split it",
            );
        }
        let earlier = items[..index].iter();
        let twin = earlier
            .clone()
            .find(|other| alike(&item.criterion, &other.criterion));
        if let Some(other) = twin {
            report.warn(
                criterion.clone(),
                format!("`{}` and `{}` look alike", item.id, other.id),
                "say what sets them apart, or make one of them",
            );
        }
        let same = |one: &Option<_>, other: &Option<_>| one.is_some() && one == other;
        if let Some(other) = earlier.clone().find(|other| same(&item.met, &other.met)) {
            let message = format!(
                "`{}` has the same matcher as `{}`, so both are always met together",
                item.id, other.id
            );
            report.warn(
                place.key("met").span(),
                message,
                "let it look for what only this item wants",
            );
        }
        let asked_already = |other: &&ItemFile| {
            let rules = item.rule.as_ref().zip(other.rule.as_ref());
            rules.is_some_and(|(one, other)| one.asks_as(other))
        };
        if let Some(other) = earlier.clone().find(asked_already) {
            let message = format!("`{}` has the same rule as `{}`", item.id, other.id);
            report.warn(
                place.key("rule").span(),
                message,
                "let it decide what only this item wants",
            );
        }
        let stated = |content: &str| alike(&item.criterion, content);
        if let Some(intent) = ground
            .file
            .intents
            .iter()
            .find(|intent| stated(&intent.content))
        {
            report.warn(
                criterion,
                format!(
                    "`{}` is the intent `{}` once more",
                    item.id, intent.id
                ),
                "an item says what the outcome must be, and an intent what the user keeps to themselves",
            );
        }
    }
}

/// Why a criterion looks like several requirements.
fn several(criterion: &str) -> Option<String> {
    let count = criterion.chars().count();
    if count > LONG {
        return Some(format!("{count} characters"));
    }
    let sentences = criterion.trim_end_matches('.').split(". ").count();
    if sentences > 1 {
        return Some(format!("{sentences} sentences"));
    }
    criterion.contains("; ").then(|| "a semicolon".to_owned())
}

fn alike(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    let shared = one.intersection(&other).count();
    let all = one.union(&other).count().max(1);
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let share = shared as f64 / all as f64;
    share >= ALIKE
}
