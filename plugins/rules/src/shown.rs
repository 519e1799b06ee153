//! How reasons show what they speak of: the beginning of it.

use serde_json::Value;

/// How much of a value a reason shows, in characters.
pub(crate) const SHOWN: usize = 120;

/// A value as reasons show it.
pub(crate) fn shown(value: &Value) -> String {
    // A long text is cut before it is escaped: it may be a megabyte.
    match value {
        Value::String(text) => Value::from(clip(text)).to_string(),
        _ => clip(&value.to_string()),
    }
}

/// The beginning of a text, for reasons.
pub(crate) fn clip(text: &str) -> String {
    clip_to(text, SHOWN)
}

/// The first `length` characters, with dots where something is left out.
pub(crate) fn clip_to(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
