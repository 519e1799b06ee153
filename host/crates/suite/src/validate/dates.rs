//! Nothing comes from the future: a record that says when it was written, sent or made says a moment before the session that
//! brings it, and so does the name of a staged file.

use jiff::civil::{Date, DateTime};
use serde_json::Value;

use super::Ground;
use crate::problem::Report;
use crate::suite::{Persona, Session};
use crate::toml_file::Place;

/// The fields of records that lie in the past. Others, like those of deadlines and deliveries, may lie ahead.
const PAST: &[&str] = &[
    "created_at",
    "updated_at",
    "sent_at",
    "added_at",
    "liked_at",
    "followed_at",
    "viewed_at",
    "downloaded_at",
    "registered_at",
];

/// The records and files of one session.
pub(super) fn check(ground: &Ground<'_>, report: &mut Report<'_>) {
    let Session {
        clock, apps, files, ..
    } = ground.session;
    for (app, records) in apps {
        let place = ground.root.key("apps").key(app);
        for (span_of, message) in late(records, &place, *clock) {
            let help = "date it before the session's clock, or bring it with a later session";
            ground.report(report, &span_of, message, help);
        }
    }
    for (index, file) in files.iter().enumerate() {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if let Some(date) = dates_in(name).find(|date| *date > clock.date()) {
            report.warn(
                ground.root.key("files").index(index).span(),
                format!(
                    "`{}` has a date after the session's clock, {clock}: {date}",
                    file.path
                ),
                "name it by a day that has been, or stage it with a later session",
            );
        }
    }
}

/// The records that a persona has from the start.
pub(super) fn check_persona(persona: &Persona, root: &Place<'_>, report: &mut Report<'_>) {
    let Some(first) = persona.sessions.first() else {
        return;
    };
    for (app, records) in &persona.apps {
        let place = root.key("apps").key(app);
        for (place, message) in late(records, &place, first.clock) {
            let help = "date it before the first session's clock, or bring it with a later session";
            report.add_with_help(place.span(), message, help);
        }
    }
}

/// The places of moments after the clock, each with what to say of it.
fn late<'d>(records: &Value, place: &Place<'d>, clock: DateTime) -> Vec<(Place<'d>, String)> {
    match records {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, field)| {
                let place = place.key(key);
                match moment(key, field).filter(|moment| *moment > clock) {
                    Some(moment) => {
                        let message =
                            format!("`{key}` is {moment}, after the session's clock, {clock}");
                        vec![(place, message)]
                    }
                    None => late(field, &place, clock),
                }
            })
            .collect(),
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .flat_map(|(index, entry)| late(entry, &place.index(index), clock))
            .collect(),
        _ => Vec::new(),
    }
}

/// A moment of the past, without its zone.
fn moment(key: &str, field: &Value) -> Option<DateTime> {
    let text = field.as_str().filter(|_| PAST.contains(&key))?;
    let whole = text.get(..19).and_then(|text| text.parse().ok());
    whole.or_else(|| {
        Some(
            text.get(..10)?
                .parse::<Date>()
                .ok()?
                .to_datetime(jiff::civil::Time::midnight()),
        )
    })
}

/// The days that stand in a name as in 2026-03-02.
fn dates_in(name: &str) -> impl Iterator<Item = Date> {
    let starts = name.char_indices().map(|(start, _)| start);
    starts.filter_map(|start| name.get(start..start + 10)?.parse().ok())
}
