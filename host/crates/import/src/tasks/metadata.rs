//! What our formats have no place for, kept as metadata.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Importer;
use pibench_suite::manifest::IMPORTED;

impl Importer<'_> {
    /// The file's own metadata, with ours under one key of it. TOML has no null: a null is told and left out.
    pub(super) fn metadata(
        &mut self,
        path: &str,
        own: Map<String, Value>,
        ours: Map<String, Value>,
    ) -> BTreeMap<String, Value> {
        let mut metadata = own;
        if metadata.contains_key(IMPORTED) {
            self.leave_out(
                path,
                format!("metadata key `{IMPORTED}`: the import uses it"),
            );
        }
        // What was absent says nothing.
        let ours = ours
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect();
        metadata.insert(IMPORTED.to_owned(), Value::Object(ours));
        let mut value = Value::Object(metadata);
        for place in drop_nulls(&mut value, "metadata") {
            self.leave_out(path, format!("{place}: null"));
        }
        let fields = value
            .as_object_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        fields.into_iter().collect()
    }
}

/// Takes nulls out of a value and says where they stood.
pub(super) fn drop_nulls(value: &mut Value, place: &str) -> Vec<String> {
    let mut dropped = Vec::new();
    match value {
        Value::Object(fields) => {
            fields.retain(|key, field| {
                if field.is_null() {
                    dropped.push(format!("{place}.{key}"));
                }
                !field.is_null()
            });
            for (key, field) in fields {
                dropped.extend(drop_nulls(field, &format!("{place}.{key}")));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                dropped.extend(drop_nulls(item, &format!("{place}[{index}]")));
            }
            if items.iter().any(Value::is_null) {
                dropped.push(format!("{place}[]"));
                items.retain(|item| !item.is_null());
            }
        }
        _ => {}
    }
    dropped
}
