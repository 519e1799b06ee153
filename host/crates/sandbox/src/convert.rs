//! Between the generated types and ours. What a guest gives is checked here: sizes, JSON, depth.

use jiff::civil::DateTime;
use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::map::Entry;

use super::bindings::grader::pibench::plugin::evidence as wit;
use super::bindings::tool_app::pibench::plugin::types::Datetime;
use super::evidence::{AppState, Evidence};
use super::fault::{GuestFault, bounded};
use super::limits::Limits;
use pibench_core::record::{CallRecord, CallStatus, ChangeKind, FileChange, Speaker, Utterance};

/// The components of a civil date and time are small and, from year 0 on, not negative.
#[expect(
    clippy::cast_sign_loss,
    reason = "jiff's fields are positive for the years that sessions have"
)]
pub(super) fn datetime(now: DateTime) -> Datetime {
    Datetime {
        year: now.year().max(0) as u16,
        month: now.month() as u8,
        day: now.day() as u8,
        hour: now.hour() as u8,
        minute: now.minute() as u8,
        second: now.second() as u8,
    }
}

/// A value as text for a guest: what `to_string` gives, which writes each piece of it through a formatter and takes three times
/// as long.
pub(super) fn written(value: &Value) -> String {
    // It fails for keys that are no texts, which a value has not.
    serde_json::to_string(value).unwrap_or_default()
}

/// A guest's text as JSON, within the limits.
pub fn json(text: &str, limits: Limits) -> Result<Value, GuestFault> {
    read(text, limits, true)
}

/// Whether a guest's text is JSON within the limits, for those who want it as text.
pub(super) fn check(text: &str, limits: Limits) -> Result<(), GuestFault> {
    read(text, limits, false).map(drop)
}

/// `keep`: otherwise nothing is built, and what is given says nothing.
fn read(text: &str, limits: Limits, keep: bool) -> Result<Value, GuestFault> {
    let bad = |reason: String| GuestFault::BadOutput { reason };
    let Limits {
        result_bytes,
        json_depth,
        json_nodes,
        ..
    } = limits;
    if text.len() > result_bytes {
        return Err(bad(format!(
            "{} bytes of JSON, more than {result_bytes}",
            text.len()
        )));
    }
    let mut input = serde_json::Deserializer::from_str(text);
    let mut nodes = json_nodes;
    let seed = Bounded {
        depth: json_depth,
        nodes: &mut nodes,
        most: json_nodes,
        keep,
    };
    seed.deserialize(&mut input)
        .and_then(|value| input.end().map(|()| value))
        .map_err(|error| bad(format!("no JSON that the host takes: {error}")))
}

/// Reads JSON and counts on the way, so that no more than what is allowed is ever built. A key that stands twice is
/// refused: two readers could take it in two ways.
struct Bounded<'a> {
    /// Levels that may still be opened.
    depth: usize,
    /// Values that may still be read.
    nodes: &'a mut usize,
    most: usize,
    /// Whether texts and lists are built. Objects are in any case: for their keys.
    keep: bool,
}

impl Bounded<'_> {
    fn deeper<E: serde::de::Error>(&mut self) -> Result<Bounded<'_>, E> {
        let deep = || E::custom("it is nested too deep");
        Ok(Bounded {
            depth: self.depth.checked_sub(1).ok_or_else(deep)?,
            nodes: self.nodes,
            most: self.most,
            keep: self.keep,
        })
    }

    fn again(&mut self) -> Bounded<'_> {
        Bounded {
            depth: self.depth,
            nodes: self.nodes,
            most: self.most,
            keep: self.keep,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        let most = self.most;
        let left = self.nodes.checked_sub(1);
        *self.nodes = left.ok_or_else(|| {
            serde::de::Error::custom(format!("it has more than {most} JSON values"))
        })?;
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(if self.keep { value.into() } else { Value::Null })
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let keep = self.keep;
        let mut inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner.again())? {
            if keep {
                list.push(item);
            }
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut inner = self.deeper()?;
        let mut fields = serde_json::Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(inner.again())?;
            match fields.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(place) => {
                    let key = bounded(place.key());
                    return Err(serde::de::Error::custom(format!("it has `{key}` twice")));
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

/// A guest's plain text, within the limits.
pub(super) fn text(text: String, most: usize, what: &str) -> Result<String, GuestFault> {
    if text.len() <= most {
        return Ok(text);
    }
    Err(GuestFault::BadOutput {
        reason: format!("{what} of {} bytes, more than {most}", text.len()),
    })
}

pub(super) fn evidence(evidence: &Evidence<'_>) -> wit::Evidence {
    let Evidence {
        turn,
        calls,
        messages,
        changes,
        apps,
    } = *evidence;
    wit::Evidence {
        turn,
        calls: calls.iter().map(call).collect(),
        messages: messages.iter().map(message).collect(),
        changes: changes.iter().map(change).collect(),
        apps: apps.iter().map(app).collect(),
    }
}

fn call(call: &CallRecord) -> wit::Call {
    wit::Call {
        number: call.number,
        turn: call.turn,
        tool: call.tool.clone(),
        arguments: match &call.exact {
            Some(text) => text.to_string(),
            None => written(&call.arguments),
        },
        status: match call.status {
            CallStatus::Ok => wit::CallStatus::Ok,
            CallStatus::ToolError => wit::CallStatus::ToolError,
            CallStatus::Failed => wit::CallStatus::Failed,
        },
        code: call.code,
        result: call.result.clone(),
    }
}

fn message(message: &Utterance) -> wit::Message {
    let speaker = match message.speaker {
        Speaker::User => wit::Speaker::User,
        Speaker::Agent => wit::Speaker::Agent,
    };
    wit::Message {
        turn: message.turn,
        speaker,
        text: message.text.clone(),
    }
}

fn change(change: &FileChange) -> wit::FileChange {
    let kind = match change.kind {
        ChangeKind::Created => wit::ChangeKind::Created,
        ChangeKind::Modified => wit::ChangeKind::Modified,
        ChangeKind::Deleted => wit::ChangeKind::Deleted,
    };
    wit::FileChange {
        turn: change.turn,
        path: change.path.clone(),
        kind,
    }
}

fn app(app: &AppState) -> wit::AppState {
    wit::AppState {
        app: app.app.clone(),
        before: app.before.to_string(),
        now: app.now.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, limits: Limits, expected: Result<(), &str>) {
        let found = json(text, limits);
        assert_eq!(super::check(text, limits), found.clone().map(drop));
        match expected {
            Ok(()) => assert_eq!(found, Ok(serde_json::from_str(text).unwrap())),
            Err(reason) => {
                let fault = found.unwrap_err().to_string();
                assert!(
                    fault.starts_with("gave a bad answer: ") && fault.contains(reason),
                    "{fault}"
                );
            }
        }
    }

    #[test]
    fn json_is_bounded_in_bytes_depth_and_nodes() {
        let tight = Limits {
            result_bytes: 20,
            json_depth: 2,
            json_nodes: 5,
            ..Limits::APP
        };
        check(r#"{"a": [1, 2]}"#, tight, Ok(()));
        check(
            r#"{"a": "0123456789abcdef"}"#,
            tight,
            Err("25 bytes of JSON, more than 20"),
        );
        check("[[[1]]]", tight, Err("it is nested too deep"));
        check("[1,2,3,4,5]", tight, Err("more than 5 JSON values"));
    }

    #[test]
    fn what_is_no_json_is_the_guests_fault() {
        check(
            "{",
            Limits::APP,
            Err("EOF while parsing an object at line 1 column 1"),
        );
        check("1 2", Limits::APP, Err("trailing characters"));
        check(r#"{"a": 1, "a": 1}"#, Limits::APP, Err("`a` twice"));
    }

    #[test]
    fn json_is_read_as_it_stands() {
        check(
            r#"{"z": [null, true, -1, 18446744073709551615, 1.5e3, "\u00e9"], "a": {"z": 1}}"#,
            Limits::APP,
            Ok(()),
        );
    }
}
