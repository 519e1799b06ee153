//! The JSON Schemas (draft 2020-12) of the task formats, generated from the types that read them.

use schemars::schema_for;
use serde_json::Value;

use crate::manifest::{PersonaFile, PilotsFile, PolicyFile, SessionFile, SuiteFile};

/// A format's name and what makes its schema.
pub type Format = (&'static str, fn() -> Value);

/// The task formats by name.
pub const FORMATS: [Format; 5] = [
    ("suite", || schema_for!(SuiteFile).to_value()),
    ("persona", || schema_for!(PersonaFile).to_value()),
    ("session", || schema_for!(SessionFile).to_value()),
    ("pilots", || schema_for!(PilotsFile).to_value()),
    ("policy", || schema_for!(PolicyFile).to_value()),
];

/// The schema of one of `formats`; `None` when the name is not among them.
pub fn schema(formats: &[Format], name: &str) -> Option<Value> {
    formats
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, make)| make())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::VERSION;

    #[test]
    fn every_format_has_a_closed_schema_of_the_draft() {
        for (name, _) in FORMATS {
            let schema = schema(&FORMATS, name).unwrap();
            assert_eq!(
                schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
                "{name}"
            );
            assert_eq!(schema["additionalProperties"], false, "{name}");
            let version = &schema["properties"]["version"];
            assert_eq!(version["minimum"], VERSION, "{name}");
            assert_eq!(version["maximum"], VERSION, "{name}");
        }
        assert_eq!(schema(&FORMATS, "unknown"), None);
    }

    #[test]
    fn triggers_refuse_unknown_keys_too() {
        let session = schema(&FORMATS, "session").unwrap();
        let variants = session["$defs"]["Trigger"]["oneOf"].as_array().unwrap();
        assert_eq!(variants.len(), 3);
        assert!(
            variants
                .iter()
                .all(|variant| variant["additionalProperties"] == false),
            "{variants:#?}"
        );
    }
}
