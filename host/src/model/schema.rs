//! JSON Schemas of tools.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A JSON Schema with its text, which is most of what a request says: made once, and not for each request.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Value")]
pub struct Schema {
    value: Value,
    text: Box<RawValue>,
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        // A value can always be written.
        let text = to_raw_value(&value).unwrap_or_default();
        Self { value, text }
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
    pub fn text(&self) -> &str {
        self.text.get()
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}
