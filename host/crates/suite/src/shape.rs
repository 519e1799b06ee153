//! Compares a document with the JSON Schema of its format, so that every unknown key, missing key and value of a wrong
//! type is found at once and at its place. Knows the part of JSON Schema that the formats' own types produce.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use schemars::JsonSchema;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::Report;
use pibench_core::near::nearest;

/// The schemas' `format` of a native TOML date and time without a zone.
const DATE: &str = "partial-date-time";

/// The schema of a type, made once: a suite has hundreds of files of a few types.
fn schema_of<T: JsonSchema>() -> Arc<Value> {
    static KNOWN: Mutex<BTreeMap<Cow<'static, str>, Arc<Value>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = known
        .entry(T::schema_id())
        .or_insert_with(|| Arc::new(schemars::schema_for!(T).to_value()));
    Arc::clone(schema)
}

/// Reports where the document differs from the schema of `T`.
pub(super) fn compare<T: JsonSchema>(document: &Spanned<DeTable<'_>>, report: &mut Report<'_>) {
    let schema = schema_of::<T>();
    let mut comparison = Comparison {
        root: &schema,
        report,
    };
    comparison.table(document.get_ref(), 0..0, &schema, "");
}

/// Of a schema that names none.
static NO_PROPERTIES: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

struct Comparison<'a, 'r> {
    root: &'a Value,
    report: &'a mut Report<'r>,
}

impl<'a> Comparison<'a, '_> {
    /// `name` is the value's key, for messages.
    fn value(&mut self, value: &Spanned<DeValue<'_>>, schema: &'a Value, name: &str) {
        let schema = self.resolve(schema);
        if let Some(variants) = schema["oneOf"].as_array() {
            return self.variants(value, variants, name);
        }
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            return self.word(value, &words, name);
        }
        let wanted = match schema["format"].as_str() {
            Some(DATE) => Some(DATE),
            _ => schema["type"]
                .as_str()
                .or_else(|| schema["type"].as_array()?.first()?.as_str()),
        };
        match (wanted, value.get_ref()) {
            (_, DeValue::Float(number))
                if number.as_str().contains("inf") || number.as_str().contains("nan") =>
            {
                self.report
                    .add(value.span(), format!("`{name}` must be a finite number"));
            }
            (Some("object") | None, DeValue::Table(table)) => {
                self.table(table, value.span(), schema, name);
            }
            (Some("array") | None, DeValue::Array(items)) => {
                for item in items {
                    self.value(item, &schema["items"], name);
                }
            }
            // Other bounds are the loader's: it has words for each.
            (Some("integer"), DeValue::Integer(number))
                if schema["minimum"].is_u64() && number.as_str().starts_with('-') =>
            {
                self.report
                    .add(value.span(), format!("`{name}` must not be negative"));
            }
            (None, _)
            | (Some("string"), DeValue::String(_))
            | (Some(DATE), DeValue::Datetime(_))
            | (Some("integer"), DeValue::Integer(_))
            | (Some("number"), DeValue::Integer(_) | DeValue::Float(_))
            | (Some("boolean"), DeValue::Boolean(_)) => {}
            (Some(wanted), found) => {
                let message = format!(
                    "`{name}` must be {}, not {}",
                    wanted_name(wanted),
                    found_name(found)
                );
                self.report.add(value.span(), message);
            }
        }
    }

    /// Follows a reference, and takes the part of an optional value that is not its absence.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        loop {
            if let Some(reference) = schema["$ref"].as_str() {
                schema = self
                    .root
                    .pointer(reference.trim_start_matches('#'))
                    .unwrap_or(&Value::Null);
            } else if let Some(parts) = schema["anyOf"].as_array() {
                schema = parts
                    .iter()
                    .find(|part| part["type"] != "null")
                    .unwrap_or(&Value::Null);
            } else {
                return schema;
            }
        }
    }

    fn table(&mut self, table: &DeTable<'_>, span: Range<usize>, schema: &'a Value, name: &str) {
        let known = schema["properties"].as_object().unwrap_or(&NO_PROPERTIES);
        for (key, value) in table {
            let word: &str = key.get_ref();
            match (known.get(word), &schema["additionalProperties"]) {
                (None, Value::Bool(false)) => {
                    self.refuse_key(key.span(), word, known.keys().map(String::as_str));
                }
                (Some(part), _) | (None, part) => self.value(value, part, word),
            }
        }
        let required = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        for key in required.filter(|key| !table.contains_key(*key)) {
            let of = if name.is_empty() {
                String::new()
            } else {
                format!(" of `{name}`")
            };
            let report = &mut *self.report;
            match known[key]["description"]
                .as_str()
                .and_then(|text| text.lines().next())
            {
                Some(meaning) => {
                    report.add_with_help(span.clone(), format!("missing key `{key}`{of}"), meaning);
                }
                None => report.add(span.clone(), format!("missing key `{key}`{of}")),
            }
        }
    }

    fn refuse_key<'k>(
        &mut self,
        span: Range<usize>,
        word: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let help = match nearest(word, known.clone()) {
            Some(candidate) => format!("did you mean `{candidate}`?"),
            None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
        };
        self.report
            .add_with_help(span, format!("unknown key `{word}`"), help);
    }

    /// An enumeration: of words, or of tables told apart by one key.
    fn variants(&mut self, value: &Spanned<DeValue<'_>>, variants: &'a [Value], name: &str) {
        let words: Vec<&str> = variants.iter().flat_map(words_of).collect();
        if !words.is_empty() {
            return self.word(value, &words, name);
        }
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!(
                "`{name}` must be a table, not {}",
                found_name(value.get_ref())
            );
            return self.report.add(value.span(), message);
        };
        let Some(tag) = variants.iter().find_map(tag_of) else {
            return;
        };
        let Some(kind) = table.get(tag) else {
            return self
                .report
                .add(value.span(), format!("missing key `{tag}` of `{name}`"));
        };
        let constant = |variant: &'a Value| variant["properties"][tag]["const"].as_str();
        let chosen = variants.iter().find(|variant| {
            matches!(kind.get_ref(), DeValue::String(word) if constant(variant) == Some(word.as_ref()))
        });
        match chosen {
            Some(variant) => self.table(table, value.span(), variant, name),
            None => self.word(
                kind,
                &variants.iter().filter_map(constant).collect::<Vec<_>>(),
                tag,
            ),
        }
    }

    fn word(&mut self, value: &Spanned<DeValue<'_>>, words: &[&str], name: &str) {
        let DeValue::String(word) = value.get_ref() else {
            let message = format!("`{name}` must be text, not {}", found_name(value.get_ref()));
            return self.report.add(value.span(), message);
        };
        if !words.contains(&word.as_ref()) {
            let help = match nearest(word, words.iter().copied()) {
                Some(candidate) => format!("did you mean `{candidate}`?"),
                None => format!("one of {}", words.join(", ")),
            };
            self.report
                .add_with_help(value.span(), format!("unknown {name} `{word}`"), help);
        }
    }
}

/// The words of one variant of an enumeration: those without a description stand together.
fn words_of(variant: &Value) -> Vec<&str> {
    let several = variant["enum"].as_array().into_iter().flatten();
    variant["const"]
        .as_str()
        .into_iter()
        .chain(several.filter_map(Value::as_str))
        .collect()
}

/// The key that tells a table variant from the others.
fn tag_of(variant: &Value) -> Option<&str> {
    let properties = variant["properties"].as_object()?;
    properties
        .iter()
        .find(|(_, part)| part["const"].is_string())
        .map(|(key, _)| key.as_str())
}

fn wanted_name(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        DATE => "a date and time (2026-03-02T09:00:00, without quotes)",
        other => other,
    }
}

fn found_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
