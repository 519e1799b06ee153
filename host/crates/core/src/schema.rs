//! JSON Schemas of tools.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// A JSON Schema, which arguments are checked against, and what a model is shown of it. That is most of what a request
/// says: made once, and not for each request. To copy it is cheap: whoever plays from outside is told all tools each turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Value")]
pub struct Schema {
    value: Arc<Value>,
    text: Arc<RawValue>,
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        // A value can always be written.
        let text = to_raw_value(&shown(&value)).unwrap_or_default().into();
        Self {
            value: value.into(),
            text,
        }
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Schema {
    /// What a model is shown.
    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// Leaves out of what is shown the descriptions of arguments that were said last.
    pub(crate) fn say_once(&mut self, said: &mut Said) {
        let mut shown: Value = serde_json::from_str(self.text()).unwrap_or_default();
        let Some(arguments) = shown["properties"].as_object_mut() else {
            return;
        };
        for (name, argument) in arguments {
            let description = argument["description"].as_str().unwrap_or_default();
            if !description.is_empty()
                && !said.anew(name, description)
                && let Some(fields) = argument.as_object_mut()
            {
                fields.shift_remove("description");
            }
        }
        self.text = to_raw_value(&shown).unwrap_or_default().into();
    }
}

/// What the tools of a request have said last about each name.
#[derive(Debug, Default)]
pub(crate) struct Said(HashMap<String, String>);

impl Said {
    /// Whether these words about this name are other ones than the last.
    fn anew(&mut self, name: &str, description: &str) -> bool {
        let last = self.0.insert(name.to_owned(), description.to_owned());
        last.as_deref() != Some(description)
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

/// From here on a number or length bounds what nobody asks for: a call beyond it is told so.
const FAR: f64 = 100_000.0;

/// A schema without what tells a model nothing: names of types, notes for the host, widths of numbers, that a number is not negative or that
/// counts begin at one, the bounds of ranges that are searched, that a text is not endless, null where leaving out is the same, a default that is nothing or a
/// bound, that other arguments are refused (a call with one is told so), descriptions that say the argument's name again,
/// and arguments that are deprecated. Names, types, bounds that matter, enumerations, other defaults and what is required
/// stay.
fn shown(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut shown = Map::new();
    for (key, value) in fields {
        let part = match key.as_str() {
            "$schema" | "title" | "maxLength" | "maxItems" => continue,
            note if note.starts_with("x-") => continue,
            "format" if is_number(fields) => continue,
            "minimum" if is_zero(value) || value.as_f64() == Some(1.0) => continue,
            "maximum" if value.as_f64() >= Some(FAR) => continue,
            "minLength" | "minItems" if *value == 1 => continue,
            "additionalProperties" if *value == false => continue,
            "default" if is_plain(value, fields) => continue,
            "properties" => properties(value, fields.get("required")),
            "$defs" | "definitions" | "patternProperties" => each(value),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => list(value),
            "items" | "additionalProperties" | "not" => self::shown(value),
            _ => value.clone(),
        };
        shown.insert(key.clone(), part);
    }
    Value::Object(shown)
}

fn is_number(schema: &Map<String, Value>) -> bool {
    let number = |kind: &Value| kind == "integer" || kind == "number";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(number),
        Some(kind) => number(kind),
        None => false,
    }
}

fn is_zero(value: &Value) -> bool {
    value.as_f64() == Some(0.0)
}

/// Whether a default is what anybody takes leaving out for: null, nothing of its type, this folder, or one of the bounds. Where null
/// may be given too, and is another thing, each default is told.
fn is_plain(default: &Value, schema: &Map<String, Value>) -> bool {
    if default.is_null() {
        return true;
    }
    if schema.get("type").is_some_and(Value::is_array) {
        return false;
    }
    let nothing = *default == false
        || is_zero(default)
        || *default == json!("")
        || *default == json!([])
        || *default == json!(".");
    let is_bound = |key| schema.get(key).and_then(Value::as_f64) == default.as_f64();
    nothing || (default.is_number() && (is_bound("minimum") || is_bound("maximum")))
}

fn each(schemas: &Value) -> Value {
    let Value::Object(schemas) = schemas else {
        return schemas.clone();
    };
    let shown = schemas.iter().map(|(name, one)| (name.clone(), shown(one)));
    Value::Object(shown.collect())
}

fn list(schemas: &Value) -> Value {
    let Value::Array(schemas) = schemas else {
        return schemas.clone();
    };
    schemas.iter().map(shown).collect()
}

/// The arguments that are in use. Of one that may be left out null says nothing, unless its default is another value.
fn properties(properties: &Value, required: Option<&Value>) -> Value {
    let Value::Object(properties) = properties else {
        return properties.clone();
    };
    let required = required.and_then(Value::as_array);
    let is_required =
        |name: &String| required.is_some_and(|names| names.iter().any(|one| one == name));
    let in_use = properties
        .iter()
        .filter(|(name, one)| is_required(name) || one["deprecated"] != true);
    let shown = in_use.map(|(name, one)| {
        let null_is_left_out = !is_required(name) && one["default"].is_null();
        let mut one = if null_is_left_out {
            without_null(shown(one))
        } else {
            shown(one)
        };
        if let Value::Object(fields) = &mut one
            && let Some(Value::String(description)) = fields.get("description")
            && !says_more(name, description)
        {
            fields.shift_remove("description");
        }
        if let Value::Object(fields) = &mut one
            && is_filter(name, properties)
        {
            fields.shift_remove("minimum");
            fields.shift_remove("maximum");
        }
        (name.clone(), one)
    });
    Value::Object(shown.collect())
}

/// Whether an argument is an end of a range: the bounds of `min_rating` and `max_rating` are those of ratings, and beyond
/// them nothing is found.
fn is_filter(name: &str, properties: &Map<String, Value>) -> bool {
    let other = match name.split_at_checked(4) {
        Some(("min_", what)) => format!("max_{what}"),
        Some(("max_", what)) => format!("min_{what}"),
        _ => return false,
    };
    properties.contains_key(&other)
}

/// Words that say nothing by themselves.
const SMALL: [&str; 7] = ["a", "an", "the", "of", "your", "as", "s"];

/// Whether a description says more than the name that it stands beside: `song_title` says all of "The song's title."
fn says_more(name: &str, description: &str) -> bool {
    let known: Vec<String> = name.split('_').map(root).collect();
    let words = description.split(|letter: char| !letter.is_alphanumeric());
    let mut words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.any(|word| !SMALL.contains(&word.as_str()) && !known.contains(&root(&word)))
}

/// A word without its ending: of `copies` and `copy` the same.
fn root(word: &str) -> String {
    let word = word.strip_suffix('s').unwrap_or(word);
    let word = word.strip_suffix('e').unwrap_or(word);
    match word.strip_suffix('y') {
        Some(start) => format!("{start}i"),
        None => word.to_owned(),
    }
}

fn without_null(mut schema: Value) -> Value {
    let Value::Object(fields) = &mut schema else {
        return schema;
    };
    if let Some(Value::Array(kinds)) = fields.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = &kinds[..] {
            let only = only.clone();
            fields.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for choice in ["anyOf", "oneOf"] {
        let Some(Value::Array(options)) = fields.get_mut(choice) else {
            continue;
        };
        options.retain(|option| option["type"] != "null");
        if let [Value::Object(only)] = &options[..] {
            let only = only.clone();
            fields.shift_remove(choice);
            for (key, value) in only {
                fields.entry(key).or_insert(value);
            }
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, expected: &Value) {
        let schema = Schema::from(schema);
        assert_eq!(
            serde_json::from_str::<Value>(schema.text()).unwrap(),
            *expected
        );
    }

    #[test]
    fn what_tells_a_model_nothing_is_not_shown_and_a_bound_that_matters_is() {
        check(
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Arguments",
                "type": "object", "additionalProperties": false, "required": ["count", "must"],
                "properties": {
                    "count": {"title": "Count", "type": "integer", "format": "uint32", "minimum": 0, "maximum": 9},
                    "id": {"type": ["integer", "null"], "format": "uint32", "minimum": 0},
                    "share": {"type": "number", "format": "double", "minimum": 0, "maximum": 1e9},
                    "stars": {"type": "integer", "minimum": 1, "maximum": 5, "default": 1},
                    "place": {"type": "integer", "minimum": -1},
                    "lines": {"type": "integer", "minimum": 1, "default": 200, "description": "Lines."},
                    "flag": {"type": "boolean", "default": false},
                    "on": {"type": "boolean", "default": true},
                    "text": {"type": "string", "minLength": 1, "maxLength": 512, "default": ""},
                    "when": {"type": "string", "format": "date", "description": "A day."},
                    "folder": {"type": "string", "default": "."},
                    "min_price": {"type": "number", "maximum": 5},
                    "max_price": {"type": "number", "minimum": 1, "maximum": 5},
                    "max_chars": {"type": "integer", "minimum": 100, "maximum": 500},
                    "title": {"type": ["string", "null"], "default": null},
                    "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
                    "color": {"type": ["string", "null"], "enum": ["red", null]},
                    "both": {"type": ["boolean", "null"], "default": false},
                    "must": {"type": ["string", "null"]},
                    "old": {"type": "string", "deprecated": true},
                    "parts": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {
                        "format": {"type": "string", "title": "Format"}}}},
                },
            }),
            &json!({
                "type": "object", "required": ["count", "must"],
                "properties": {
                    "count": {"type": "integer", "maximum": 9},
                    "id": {"type": "integer"},
                    "share": {"type": "number"},
                    "stars": {"type": "integer", "maximum": 5},
                    "place": {"type": "integer", "minimum": -1},
                    "lines": {"type": "integer", "default": 200},
                    "flag": {"type": "boolean"},
                    "on": {"type": "boolean", "default": true},
                    "text": {"type": "string"},
                    "when": {"type": "string", "format": "date", "description": "A day."},
                    "folder": {"type": "string"},
                    "min_price": {"type": "number"},
                    "max_price": {"type": "number"},
                    "max_chars": {"type": "integer", "minimum": 100, "maximum": 500},
                    "title": {"type": "string"},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "color": {"type": "string", "enum": ["red"]},
                    "both": {"type": ["boolean", "null"], "default": false},
                    "must": {"type": ["string", "null"]},
                    "parts": {"type": "array", "items": {"type": "object", "properties": {"format": {"type": "string"}}}},
                },
            }),
        );
    }

    #[test]
    fn a_description_says_more_than_a_name_or_nothing() {
        for (name, description, expected) in [
            ("show_song", "Shows a song.", false),
            (
                "spotify__show_liked_songs",
                "Shows your liked songs.",
                false,
            ),
            ("copy_file", "Copies a file.", false),
            ("update_sub_task", "Updates a sub-task.", false),
            ("show_addresses", "Shows your addresses.", false),
            ("title", "", false),
            ("show_song", "Shows a song with its album.", true),
            ("delete_note", "Deletes it for good.", true),
            ("show_orders", "Latest first.", true),
            ("read", "Unread.", true),
            ("delete", "Not deleted.", true),
        ] {
            assert_eq!(says_more(name, description), expected, "{description}");
        }
    }

    #[test]
    fn a_schema_that_is_none_is_shown_as_it_is() {
        for odd in [
            json!(true),
            json!({"properties": 3, "anyOf": {}, "type": 1}),
            json!([1]),
        ] {
            check(odd.clone(), &odd);
        }
    }

    #[test]
    fn arguments_are_checked_against_the_whole_of_it() {
        let schema = Schema::from(json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "a": {"type": ["string", "null"], "maxLength": 3}, "old": {"type": "string", "deprecated": true},
                "n": {"type": "integer", "minimum": 0},
            },
        }));
        let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
        compiler
            .add_resource("tool:/schema", Value::clone(&schema))
            .unwrap();
        let root = compiler.compile("tool:/schema", &mut schemas).unwrap();
        let is_valid = |arguments: &Value| schemas.validate(arguments, root).is_ok();
        for accepted in [json!({"a": null}), json!({"old": "x"}), json!({})] {
            assert!(is_valid(&accepted), "{accepted}");
        }
        for refused in [json!({"b": 1}), json!({"a": "long"}), json!({"n": -1})] {
            assert!(!is_valid(&refused), "{refused}");
        }
    }
}
