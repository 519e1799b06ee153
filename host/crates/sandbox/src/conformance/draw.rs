//! Values drawn from a seed: arguments that fit a JSON Schema, mostly, and texts that nobody expects. The same seed
//! gives the same values. It never checks anything.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Map, Value, json};

/// Texts that break what was not written for them: empty, huge, controls, other scripts, path and JSON pieces.
const ODD_TEXTS: [&str; 12] = [
    "",
    " ",
    "\0",
    "\u{1b}[2J",
    "\u{202e}\u{feff}e\u{301}",
    "İıß𝄞",
    "../../etc/passwd",
    "{\"a\": [",
    "%s%n{{x}}",
    "2026-02-30T25:61:00",
    "-0",
    "a@b.example",
];

/// Texts that are likely to be of a form that a plugin asks for.
pub(super) const LIKELY_TEXTS: [&str; 10] = [
    "2026-03-02",
    "2026-03-02T09:00:00",
    "09:30",
    "ida@vale.example",
    "5550100",
    "/notes",
    "/notes/plan.md",
    "plan",
    "A plan for Friday",
    "weekly",
];

/// One in this many values does not fit its schema.
const ODD: usize = 30;

/// How deep drawn values nest: schemas may refer to themselves.
const DEPTH: usize = 4;

/// A source of values.
#[derive(Debug, Clone)]
pub(super) struct Draw {
    random: ChaCha12Rng,
    /// The only text, among values that all fit.
    tame: Option<&'static str>,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: ChaCha12Rng::seed_from_u64(seed),
            tame: None,
        }
    }

    /// Draws no value that does not fit, and no other text than this.
    pub(super) fn tame(text: &'static str) -> Self {
        Self {
            tame: Some(text),
            ..Self::new(0)
        }
    }

    /// A number below a bound, which is taken for at least 1.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.random.next_u64() % bound).unwrap_or_default()
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Arguments for a schema of type `object`: the required ones, and some of the others. `known` are values that the
    /// plugin may know: ids and names that it gave before.
    pub(super) fn arguments(&mut self, schema: &Value, known: &[Value]) -> Map<String, Value> {
        self.object(schema, known, DEPTH)
    }

    fn object(&mut self, schema: &Value, known: &[Value], depth: usize) -> Map<String, Value> {
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let mut fields = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if required.iter().any(|needed| needed == name) || self.one_in(3) {
                fields.insert(name.clone(), self.value(schema, known, depth));
            }
        }
        fields
    }

    fn value(&mut self, schema: &Value, known: &[Value], depth: usize) -> Value {
        if self.tame.is_none() && self.one_in(ODD) {
            return self.odd();
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        for choices in ["enum", "examples"] {
            if let Some(value) = schema[choices].as_array().and_then(|list| self.pick(list)) {
                return value.clone();
            }
        }
        for variants in ["anyOf", "oneOf"] {
            if let Some(schema) = schema[variants].as_array().and_then(|list| self.pick(list)) {
                return self.value(schema, known, depth);
            }
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.pick(kinds).and_then(Value::as_str),
            kind => kind.as_str(),
        };
        match kind {
            Some("null") => Value::Null,
            Some("boolean") => json!(self.one_in(2)),
            Some("integer") => self.integer(schema, known),
            Some("number") => json!(self.below(100_000) as f64 / 100.0),
            Some("array") if depth > 0 => {
                let length = self.below(4);
                (0..length)
                    .map(|_| self.value(&schema["items"], known, depth - 1))
                    .collect()
            }
            Some("array") => json!([]),
            Some("object") if depth > 0 => Value::Object(self.object(schema, known, depth - 1)),
            Some("object") => json!({}),
            _ => self.text(known),
        }
    }

    fn integer(&mut self, schema: &Value, known: &[Value]) -> Value {
        let given: Vec<&Value> = known.iter().filter(|value| value.is_u64()).collect();
        if !given.is_empty() && self.one_in(2) {
            return given[self.below(given.len())].clone();
        }
        let least = schema["minimum"].as_i64().unwrap_or(0);
        let most = schema["maximum"]
            .as_i64()
            .unwrap_or(least.saturating_add(40));
        let room = usize::try_from(most.saturating_sub(least)).unwrap_or(0);
        let above = i64::try_from(self.below(room.saturating_add(1))).unwrap_or(0);
        json!(least.saturating_add(above))
    }

    /// A text that the plugin may know, a likely one, or any other.
    pub(super) fn text(&mut self, known: &[Value]) -> Value {
        if let Some(text) = self.tame {
            return json!(text);
        }
        let given: Vec<&Value> = known.iter().filter(|value| value.is_string()).collect();
        match self.below(8) {
            0..4 if !given.is_empty() => given[self.below(given.len())].clone(),
            7 => json!(ODD_TEXTS[self.below(ODD_TEXTS.len())]),
            _ => json!(LIKELY_TEXTS[self.below(LIKELY_TEXTS.len())]),
        }
    }

    /// A value that hardly any schema has in mind.
    pub(super) fn odd(&mut self) -> Value {
        match self.below(9) {
            0 => Value::Null,
            1 => json!(-1),
            2 => json!(i64::MIN),
            3 => json!(u64::MAX),
            4 => json!(1e300),
            5 => json!([[{}]]),
            6 => json!({ "": [null] }),
            7 => json!("x".repeat(20_000)),
            _ => json!(ODD_TEXTS[self.below(ODD_TEXTS.len())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "integer", "minimum": 3, "maximum": 5 },
                "kind": { "enum": ["a", "b"] },
                "names": { "type": "array", "items": { "type": "string" } },
                "near": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
            },
            "required": ["id", "kind"],
        })
    }

    #[test]
    fn the_same_seed_gives_the_same_arguments_and_another_seed_others() {
        let drawn = |seed| {
            let mut draw = Draw::new(seed);
            (0..50)
                .map(|_| draw.arguments(&schema(), &[]))
                .collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn most_arguments_fit_their_schema_and_some_do_not() {
        let schema = schema();
        let validator = crate::ArgumentCheck::new(&schema).unwrap();
        let mut draw = Draw::new(7);
        let fitting = (0..1000)
            .filter(|_| validator.is_valid(&Value::Object(draw.arguments(&schema, &[]))))
            .count();
        assert!((600..990).contains(&fitting), "{fitting} of 1000 fit");
    }

    #[test]
    fn values_that_the_plugin_gave_come_back() {
        let schema = json!({ "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] });
        let mut draw = Draw::new(1);
        let known = [json!(4711)];
        assert!((0..100).any(|_| draw.arguments(&schema, &known)["id"] == 4711));
    }
}
