//! Hints at texts that lean on others. Judges are given the intents, and the items, of a session in an order of their own, so
//! that "It asks for the log" has lost its subject. They are guesses at wording, so warnings.

use super::Ground;
use crate::problem::Report;
use crate::toml_file::Place;

/// First words that point to something said before.
const POINTERS: &[&str] = &[
    "it",
    "it's",
    "its",
    "this",
    "these",
    "those",
    "he",
    "she",
    "they",
    "his",
    "her",
    "hers",
    "their",
    "theirs",
    "him",
    "them",
    "such",
    "also",
    "and",
    "but",
    "or",
    "again",
    "likewise",
    "otherwise",
    "then",
    "so",
];

/// The same in several words.
const PHRASES: &[&str] = &[
    "the same",
    "the other",
    "the others",
    "the former",
    "the latter",
    "as above",
    "in addition",
    "as before",
];

/// Where the words after them would have to be an item or an intent.
const NEIGHBOURS: &[&str] = &[
    "item above",
    "items above",
    "previous item",
    "other item",
    "intent above",
    "previous intent",
    "other intent",
];

pub(super) fn check(ground: &Ground<'_>, report: &mut Report<'_>) {
    let intents = ground.root.key("intents");
    for (index, intent) in ground.file.intents.iter().enumerate() {
        let place = intents.index(index).key("content");
        hint("intent", &intent.id, &intent.content, &place, report);
    }
    let items = ground.root.key("checklist");
    for (index, item) in ground.file.checklist.iter().enumerate() {
        let place = items.index(index).key("criterion");
        hint("item", &item.id, &item.criterion, &place, report);
    }
}

fn hint(kind: &str, id: &str, text: &str, place: &Place<'_>, report: &mut Report<'_>) {
    if let Some(words) = leans(text) {
        report.warn(
            place.span(),
            format!("the {kind} `{id}` does not stand alone: \"{words}\" needs a text before it"),
            "name what is meant: judges are given each by itself, in any order",
        );
    }
}

/// The words by which a text leans on another one.
fn leans(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    let text = words.join(" ").to_lowercase();
    let begins = |phrase: &&&str| {
        text.strip_prefix(**phrase)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let first = POINTERS.iter().chain(PHRASES).find(begins);
    let neighbour = || NEIGHBOURS.iter().find(|phrase| text.contains(**phrase));
    first.or_else(neighbour).map(|phrase| (*phrase).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(leans(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_text_that_begins_with_a_pointer_leans() {
        check("It asks Orde & Lacey to tell the court", Some("it"));
        check("Her story closes in August.", Some("her"));
        check("  \"This\" is told", Some("this"));
        check("The same holds for the mouse", Some("the same"));
        check("Also the date is right", Some("also"));
        check(
            "The date, unlike in the item above, is right",
            Some("item above"),
        );
    }

    #[test]
    fn a_text_that_names_its_matter_stands() {
        for text in [
            "The draft asks Orde & Lacey to tell the court",
            "Herself a witness, Tamsin signs",
            "Items are numbered; each says what it costs",
            "The samples are counted",
            "Italy is left out",
            "My Deadlines note gets a line",
            "That the list starts again is told",
        ] {
            check(text, None);
        }
    }
}
