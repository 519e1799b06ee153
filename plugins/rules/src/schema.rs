//! JSON Schema, 2020-12. A schema stands alone: no other document is ever loaded.

use std::error::Error;

use boon::{Compiler, Draft, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

use crate::shown::clip;
use crate::table::{ConfigError, Node};

/// What the schema is called while it is compiled; nothing is looked up there.
const URL: &str = "config:/schema";

/// A compiled schema.
pub(crate) struct Schema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Schema {
    /// From a table, or from a text that holds JSON.
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let path = node.path;
        let wrong =
            |message: String| ConfigError::new(&path, format!("is no JSON Schema: {message}"));
        let value = match node.value {
            Value::String(text) => {
                serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?
            }
            value => value,
        };
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(Alone));
        let mut schemas = Schemas::new();
        compiler
            .add_resource(URL, value)
            .map_err(|error| wrong(clip(&error.to_string())))?;
        let root = compiler
            .compile(URL, &mut schemas)
            .map_err(|error| wrong(clip(&error.to_string())))?;
        Ok(Self { schemas, root })
    }

    /// None for a value that fits; else what differs.
    pub(crate) fn mismatch(&self, value: &Value) -> Option<String> {
        let error = self.schemas.validate(value, self.root).err()?;
        let first = innermost(&error);
        let place = first.instance_location.to_string();
        let place = if place.is_empty() { "/" } else { &place };
        Some(format!(
            "does not fit the schema at {}: {}",
            clip(place),
            clip(&first.kind.to_string())
        ))
    }
}

/// The first of the errors that have no cause themselves.
fn innermost<'e, 's, 'v>(error: &'e ValidationError<'s, 'v>) -> &'e ValidationError<'s, 'v> {
    error.causes.first().map_or(error, innermost)
}

/// Refuses every document.
struct Alone;

impl UrlLoader for Alone {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("a schema stands alone".into())
    }
}
