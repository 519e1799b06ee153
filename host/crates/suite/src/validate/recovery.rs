//! Recoverable means that it is there: every place that an intent names exists and says so.

use super::shown::{Records, opening, stands_in};
use super::{Ground, Shown};
use crate::manifest::IntentFile;
use crate::problem::Report;
use crate::toml_file::Place;
use pibench_core::form::difference;
use pibench_core::vocabulary::{FoundIn, Scope};

pub(super) fn check(ground: &Ground<'_>, shown: &Shown, report: &mut Report<'_>) {
    for (index, intent) in ground.file.intents.iter().enumerate() {
        let place = ground.root.key("intents").index(index);
        check_named(intent, &place, report);
        for (nth, found) in intent.found_in.iter().enumerate() {
            if let Err((message, help)) = find(ground, shown, intent, found) {
                let span = place.key("found_in").index(nth).span();
                report.add_with_help(span, message, help);
            }
        }
    }
}

/// There is a place at all; what holds for later sessions too stands somewhere, and is not only there for the asking.
fn check_named(intent: &IntentFile, place: &Place<'_>, report: &mut Report<'_>) {
    let IntentFile {
        id,
        scope,
        found_in,
        ..
    } = intent;
    let span = place.key("id").span();
    if found_in.is_empty() {
        report.add_with_help(
            span,
            format!("the intent `{id}` has no `found_in`"),
            "name where an agent can find it: a file, an app's record, an earlier session, memory, a question",
        );
    } else if *scope == Scope::Persistent
        && found_in.iter().all(|found| *found == FoundIn::Question)
    {
        report.add_with_help(
            span,
            format!("the persistent intent `{id}` stands nowhere"),
            "what holds beyond the session has support in an earlier session, a file, memory or a record",
        );
    }
}

/// A message and its remedy, when the place is not there.
type Missing = (String, &'static str);

const QUOTE: &str = "quote some words that stand there";

fn find(
    ground: &Ground<'_>,
    shown: &Shown,
    intent: &IntentFile,
    found: &FoundIn,
) -> Result<(), Missing> {
    match found {
        FoundIn::File { path, quote } => match shown.file(path) {
            None => Err(missing_file(shown, path)),
            Some(text) => find_quote(quote, text, &format!("`{path}`")),
        },
        FoundIn::App { app, quote } => match shown.records(app) {
            None => Err((
                format!("there are no records of `{app}` up to here"),
                "name an app that the persona or a session has records for",
            )),
            Some(Records { seen, unseen }) => {
                let place = format!("the records of `{app}`");
                if !stands_in(quote, seen) && stands_in(quote, unseen) {
                    return Err((
                        format!("`{quote}` stands in {place} only where the user does not see it"),
                        "name the user as the record's owner, or as whom it is from or to",
                    ));
                }
                find_quote(quote, seen, &place)
            }
        },
        FoundIn::Memory { quote } => find_quote(quote, shown.user_md(), "`USER.md`"),
        FoundIn::Session {
            session,
            intent,
            quote,
        } => find_in_session(ground, session, intent.as_deref(), quote.as_deref()),
        FoundIn::Question if intent.asked.is_none() => Err((
            format!("the intent `{}` has no `asked`", intent.id),
            "say with a matcher which question asks for it",
        )),
        FoundIn::Question => Ok(()),
    }
}

fn missing_file(shown: &Shown, path: &str) -> Missing {
    match shown.looks_like(path) {
        Some(there) => (
            format!("`{path}` is there only {}", difference(path, there)),
            "rename the file, or write its path as it is staged",
        ),
        None => (
            format!(
                "no session up to here stages `{path}`, and no earlier reference workflow writes it"
            ),
            "name a file that is in the workspace when the session opens",
        ),
    }
}

fn find_in_session(
    ground: &Ground<'_>,
    id: &str,
    intent: Option<&str>,
    quote: Option<&str>,
) -> Result<(), Missing> {
    let earlier = &ground.persona.sessions[..ground.index];
    let Some(at) = earlier.iter().position(|session| session.id == id) else {
        return Err((
            format!("`{id}` is no earlier session of the episode"),
            "name one that is played before",
        ));
    };
    if intent.is_none() && quote.is_none() {
        return Err((
            format!("nothing of the session `{id}` is named"),
            "give an `intent` of it, or a `quote` of its request",
        ));
    }
    if let Some(name) = intent {
        let known = &ground.authored.sessions[id].file.intents;
        match known.iter().find(|known| known.id == name) {
            None => {
                return Err((
                    format!("`{id}` has no intent `{name}`"),
                    "name one of its intents",
                ));
            }
            Some(known) if known.scope != Scope::Persistent => {
                return Err((
                    format!("the intent `{name}` of `{id}` is of that session only"),
                    "what a later session builds on has scope = \"persistent\"",
                ));
            }
            Some(_) => {}
        }
    }
    match quote {
        Some(quote) => find_quote(
            quote,
            &opening(&earlier[at]),
            &format!("the request of `{id}`"),
        ),
        None => Ok(()),
    }
}

fn find_quote(quote: &str, text: &str, place: &str) -> Result<(), Missing> {
    if stands_in(quote, text) {
        return Ok(());
    }
    Err((format!("`{quote}` does not stand in {place}"), QUOTE))
}
