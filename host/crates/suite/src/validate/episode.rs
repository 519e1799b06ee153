//! A dependency group depends: its final session needs something of each of the others.

use std::collections::BTreeMap;

use super::{AuthoredSession, written};
use crate::manifest::SessionFile;
use crate::problem::Report;
use crate::suite::{Persona, Session};
use crate::toml_file::Place;
use pibench_core::vocabulary::FoundIn;

pub(super) fn check(
    persona: &Persona,
    sessions: &BTreeMap<String, AuthoredSession>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    for (index, session) in persona.sessions.iter().enumerate() {
        for (nth, name) in session.depends_on.iter().enumerate() {
            let member = persona.sessions.iter().position(|other| other.id == *name);
            let Some(member) = member else { continue };
            if needs(
                &sessions[&session.id].file,
                &persona.sessions[member],
                &sessions[name].file,
            ) {
                continue;
            }
            report.add_with_help(
                place.index(index).key("depends_on").index(nth).span(),
                format!("no intent of `{}` is found in `{name}`", session.id),
                "a group shares what was asked and made in it, not only files: say so in the `found_in` of an intent",
            );
        }
    }
}

/// Whether an intent is found in what was asked or made in the other session. What that one stages and adds to the apps is
/// no history: it is given to this one also when the other is not played.
fn needs(file: &SessionFile, other: &Session, wire: &SessionFile) -> bool {
    let staged = |path: &str| other.files.iter().any(|staged| staged.path == path);
    let makes = |path: &str| written(wire).any(|(made, _)| made == path) && !staged(path);
    let mut places = file.intents.iter().flat_map(|intent| &intent.found_in);
    places.any(|found| match found {
        FoundIn::Session { session, .. } => *session == other.id,
        FoundIn::File { path, .. } => makes(path),
        FoundIn::App { .. } | FoundIn::Memory { .. } | FoundIn::Question => false,
    })
}
