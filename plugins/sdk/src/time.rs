//! Dates and times as the apps write them: `2026-03-02` and `2026-03-02T09:00:00`, without a zone.

use std::borrow::Cow;

use jiff::civil::{Date, DateTime, date};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::refusal::ToolError;

/// The lower end of a period, inclusive. A date alone is its first moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Since(pub DateTime);

/// The upper end of a period, inclusive. A date alone is its last second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Until(pub DateTime);

impl Default for Since {
    fn default() -> Self {
        Self(date(1500, 1, 1).at(0, 0, 0, 0))
    }
}

impl Default for Until {
    fn default() -> Self {
        Self(date(3000, 1, 1).at(23, 59, 59, 0))
    }
}

impl TryFrom<String> for Since {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_moment(&text, |day| day.at(0, 0, 0, 0)).map(Self)
    }
}

impl TryFrom<String> for Until {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_moment(&text, |day| day.at(23, 59, 59, 0)).map(Self)
    }
}

impl From<Since> for String {
    fn from(since: Since) -> Self {
        since.0.date().to_string()
    }
}

impl From<Until> for String {
    fn from(until: Until) -> Self {
        until.0.date().to_string()
    }
}

impl JsonSchema for Since {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Since".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl JsonSchema for Until {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Until".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// The moment that an argument names; 422 if it is none.
pub fn parse_datetime(argument: &str, text: &str) -> Result<DateTime, ToolError> {
    parse_moment(text, |day| day.at(0, 0, 0, 0))
        .map_err(|error| ToolError::invalid(format!("{argument}: {error}.")))
}

/// The moment of a record's field that is `#[serde(default, deserialize_with = "time::read_moment")]`: none where it is null.
pub fn read_moment<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<DateTime>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let moment = text.map(|text| parse_moment(&text, midnight)).transpose();
    moment.map_err(de::Error::custom)
}

/// A day as the services answer with one: its first moment.
pub fn midnight(day: Date) -> DateTime {
    day.at(0, 0, 0, 0)
}

/// The day that an argument names, alone or as [`midnight`] writes it; 422 if it is none.
pub fn parse_date(argument: &str, text: &str) -> Result<Date, ToolError> {
    let text = text.trim();
    let text = text.strip_suffix("T00:00:00").unwrap_or(text);
    // Jiff takes a date and time for a date too.
    let date = text
        .parse()
        .ok()
        .filter(|_| text.len() == "2026-03-02".len());
    date.ok_or_else(|| ToolError::invalid(format!("{argument}: {text:?} is no date (2026-03-02).")))
}

fn parse_moment(text: &str, of_day: fn(Date) -> DateTime) -> Result<DateTime, String> {
    let text = text.trim();
    // Jiff drops an offset without a word, and what is left is another moment.
    if has_offset(text) {
        return Err(format!(
            "{text:?} has an offset: write the local time without an offset, as 2026-03-02T10:00:00"
        ));
    }
    local(text, of_day).ok_or_else(|| {
        format!("{text:?} is no date (2026-03-02) and no date and time (2026-03-02T09:00:00)")
    })
}

/// Whether an offset, `Z` or a zone in brackets follows a date, or a date and time.
fn has_offset(text: &str) -> bool {
    let date = "2026-03-02".len();
    let after = text.get(date..).unwrap_or_default();
    let end = after.find(['+', '-', 'Z', 'z', '[']);
    end.is_some_and(|end| local(text[..date + end].trim_end(), midnight).is_some())
}

fn local(text: &str, of_day: fn(Date) -> DateTime) -> Option<DateTime> {
    // A date first: as a date and time it would be midnight.
    if text.len() <= "2026-03-02".len() {
        text.parse().ok().map(of_day)
    } else {
        // Public trajectories write a bar between date and time.
        text.replacen('|', "T", 1).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let since = Since::try_from(text.to_owned()).map(|since| since.0.to_string());
        let until = Until::try_from(text.to_owned()).map(|until| until.0.to_string());
        let expected = expected.map(|(since, until)| (since.to_owned(), until.to_owned()));
        assert_eq!(since.ok().zip(until.ok()), expected, "{text}");
    }

    #[test]
    fn a_date_alone_is_the_whole_day() {
        check(
            "2026-03-02",
            Some(("2026-03-02T00:00:00", "2026-03-02T23:59:59")),
        );
    }

    #[test]
    fn a_date_and_time_is_itself() {
        check(
            "2026-03-02T09:30:00",
            Some(("2026-03-02T09:30:00", "2026-03-02T09:30:00")),
        );
        check(
            "2026-03-02 09:30",
            Some(("2026-03-02T09:30:00", "2026-03-02T09:30:00")),
        );
        check(
            "2026-03-02|09:30:00",
            Some(("2026-03-02T09:30:00", "2026-03-02T09:30:00")),
        );
    }

    #[test]
    fn a_day_is_a_date_and_nothing_more() {
        let day = |text| parse_date("due_date", text).map_err(|error| error.message);
        assert_eq!(day(" 2026-03-02 "), Ok(date(2026, 3, 2)));
        for text in ["", "tomorrow", "2026-02-30", "2026-03-02T09:00:00"] {
            let expected = format!("due_date: {text:?} is no date (2026-03-02).");
            assert_eq!(day(text), Err(expected));
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2026-13-01",
            "2026-02-30T00:00:00",
            "2026-03-02T09:00:00Z",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_moment_with_an_offset_is_refused_everywhere_and_without_it_taken() {
        #[derive(Debug, Deserialize)]
        struct Record {
            #[serde(default, deserialize_with = "read_moment")]
            sent_at: Option<DateTime>,
        }
        let read = |record: &str| {
            let record = serde_json::from_str(record).map_err(|error| error.to_string());
            record.map(|record: Record| record.sent_at)
        };
        let local = date(2026, 3, 1).at(23, 0, 0, 0);
        let zones = ["Z", "z", "-05:00", "+02", " +02:00", "[Europe/Berlin]"];
        for zone in zones {
            let text = format!("2026-03-01T23:00:00{zone}");
            let said = format!(
                "{text:?} has an offset: write the local time without an offset, as 2026-03-02T10:00:00"
            );
            assert_eq!(Since::try_from(text.clone()), Err(said.clone()));
            assert_eq!(Until::try_from(text.clone()), Err(said.clone()));
            let error = parse_datetime("scheduled_send_at", &text).unwrap_err();
            assert_eq!(error.message, format!("scheduled_send_at: {said}."));
            let error = read(&format!(r#"{{"sent_at": "{text}"}}"#)).unwrap_err();
            assert!(error.starts_with(&said), "{error}");
        }
        for text in ["2026-03-01T23:00:00", "2026-03-01 23:00"] {
            let record = format!(r#"{{"sent_at": "{text}"}}"#);
            assert_eq!(read(&record), Ok(Some(local)));
            assert_eq!(parse_datetime("scheduled_send_at", text), Ok(local));
        }
        for empty in ["{}", r#"{"sent_at": null}"#] {
            assert_eq!(read(empty), Ok(None));
        }
        let error = read(r#"{"sent_at": "to-morrow [noon]"}"#).unwrap_err();
        assert!(error.contains("is no date (2026-03-02)"), "{error}");
    }
}
