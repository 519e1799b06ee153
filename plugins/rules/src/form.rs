//! The Unicode form in which texts are compared: composed (NFC), on both sides. It decides nothing.

use std::borrow::Cow;

use serde_json::Value;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The text with letters and their marks as one character where there is such. Nearly every text is so already.
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if is_composed(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// Whether it surely is; what may be is composed anew.
fn is_composed(text: &str) -> bool {
    text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

/// Reads JSON, with all its texts and names composed.
pub(crate) fn read_json(text: &str) -> serde_json::Result<Value> {
    let mut value = serde_json::from_str(text)?;
    // An escape may stand for any character.
    if !text.is_ascii() || text.contains("\\u") {
        compose(&mut value);
    }
    Ok(value)
}

fn compose(value: &mut Value) {
    match value {
        Value::String(text) => {
            if !is_composed(text) {
                *text = composed(text).into_owned();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(compose),
        Value::Object(entries) => {
            entries.values_mut().for_each(compose);
            if !entries.keys().all(|key| is_composed(key)) {
                let named = std::mem::take(entries).into_iter();
                *entries = named
                    .map(|(key, value)| (composed(&key).into_owned(), value))
                    .collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
