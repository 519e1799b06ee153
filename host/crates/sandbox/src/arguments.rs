//! Whether the arguments of a call fit a tool's schema. A plugin writes the schema and a model the arguments, and the host
//! reads both: so of JSON Schema a subset is taken, whose every reading ends, and a check has a budget of steps. What is
//! outside of the subset is refused by its keyword and place, before anything is compiled.

use std::error::Error;
use std::fmt;

use boon::{Compiler, Draft, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

use super::fault::bounded;
use pibench_core::pattern;

/// Bytes of one schema as text. Those of honest tools have a few thousand.
pub const SCHEMA_BYTES: usize = 64 << 10;

/// JSON values of one schema where each `$ref` stands for what it names: what is compiled, and what each value of the
/// arguments may be held against.
const VALUES: usize = 2000;

/// JSON values of all schemas of one app, counted in the same way: an app has up to 256 tools.
pub const VALUES_OF_APP: usize = 50_000;

/// Keywords and names that lead to a schema from the top, counted in the same way.
const DEPTH: usize = 64;

/// States of all patterns of one schema, counted in the same way.
const PATTERN_UNITS: usize = 10_000;

/// Steps of one check: values of the arguments times those of the schema, and bytes of their texts times the states of its
/// patterns. About a second on a slow machine; honest calls take some thousands.
const STEPS: usize = 20_000_000;

/// What a schema is called while it is compiled; nothing is looked up there.
const URL: &str = "tool:/schema";

/// Errors of one check that are told, and bytes of each.
const ERRORS: usize = 3;
const ERROR_BYTES: usize = 2000;

/// The metaschemas that a schema may name.
const DRAFTS: [&str; 2] = [
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
];

/// What checks the arguments of one tool.
pub struct ArgumentCheck {
    schemas: Schemas,
    root: SchemaIndex,
    size: Size,
}

impl fmt::Debug for ArgumentCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentCheck")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// How much a schema is, where each `$ref` stands for what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// JSON values.
    pub values: usize,
    /// States of patterns.
    units: usize,
}

impl ArgumentCheck {
    /// An error says what of the schema is not taken, and where it stands.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let size = measure(schema)?;
        let wrong = |error: boon::CompileError| {
            format!("it is no JSON Schema: {}", cut(&format!("{error:#}")))
        };
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(Alone));
        let mut schemas = Schemas::new();
        compiler.add_resource(URL, schema.clone()).map_err(wrong)?;
        let root = compiler.compile(URL, &mut schemas).map_err(wrong)?;
        Ok(Self {
            schemas,
            root,
            size,
        })
    }

    /// Whether they fit. What is too large to be checked does not.
    pub fn is_valid(&self, arguments: &Value) -> bool {
        self.steps(arguments) <= STEPS && self.schemas.validate(arguments, self.root).is_ok()
    }

    /// What is wrong with them; None when nothing is.
    pub fn objection(&self, arguments: &Value) -> Option<String> {
        let steps = self.steps(arguments);
        if steps > STEPS {
            return Some(format!(
                "they are too large to be checked: {steps} steps, more than {STEPS}. Give less in one call"
            ));
        }
        let error = self.schemas.validate(arguments, self.root).err()?;
        let mut told = Vec::new();
        tell(&error, &mut told);
        Some(told.join("; "))
    }

    /// The most that a check of these can take.
    fn steps(&self, arguments: &Value) -> usize {
        let Size { values, units } = self.size;
        let of_values = count(arguments).saturating_mul(values);
        of_values.saturating_add(text_bytes(arguments).saturating_mul(units))
    }
}

/// Each of the errors that have no cause themselves, with its place in the arguments, until enough are told.
fn tell(error: &ValidationError<'_, '_>, told: &mut Vec<String>) {
    for cause in &error.causes {
        tell(cause, told);
    }
    if !error.causes.is_empty() || told.len() >= ERRORS {
        return;
    }
    let place = error.instance_location.to_string();
    told.push(cut(&match (place.as_str(), &error.kind) {
        ("", kind) => kind.to_string(),
        (place, kind) => format!("{place}: {kind}"),
    }));
}

/// Refuses every document.
struct Alone;

impl UrlLoader for Alone {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("a schema stands alone".into())
    }
}

/// The size of a schema that is in the subset; an error says what is not. Takes time by the limits above, whatever the
/// schema is.
pub fn measure(schema: &Value) -> Result<Size, String> {
    if let Some(draft) = schema.get("$schema")
        && !DRAFTS.iter().any(|known| draft == known)
    {
        return Err(format!("its `$schema` is none of {}", DRAFTS.join(", ")));
    }
    let mut walk = Walk {
        root: schema,
        size: Size {
            values: 0,
            units: 0,
        },
        path: Vec::new(),
        open: Vec::new(),
    };
    walk.schema(schema)?;
    Ok(walk.size)
}

/// What stands below a keyword.
enum Below {
    /// No schema.
    Data,
    Schema,
    /// A schema, or a list of them.
    Schemas,
    /// Schemas by names.
    Named,
    /// Schemas by patterns.
    ByPattern,
    Pattern,
    Reference,
}

fn below(keyword: &str) -> Option<Below> {
    Some(match keyword {
        "$schema" | "$comment" | "title" | "description" | "default" | "examples"
        | "deprecated" | "readOnly" | "writeOnly" | "type" | "enum" | "const" | "format"
        | "required" | "dependentRequired" | "minimum" | "maximum" | "exclusiveMinimum"
        | "exclusiveMaximum" | "multipleOf" | "minLength" | "maxLength" | "minItems"
        | "maxItems" | "uniqueItems" | "minContains" | "maxContains" | "minProperties"
        | "maxProperties" => Below::Data,
        // Notes of the author's tools, which nobody reads.
        note if note.starts_with("x-") => Below::Data,
        "additionalProperties"
        | "additionalItems"
        | "propertyNames"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else" => Below::Schema,
        "items" | "prefixItems" | "allOf" | "anyOf" | "oneOf" => Below::Schemas,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => Below::Named,
        "patternProperties" => Below::ByPattern,
        "pattern" => Below::Pattern,
        "$ref" => Below::Reference,
        _ => return None,
    })
}

struct Walk<'s> {
    root: &'s Value,
    size: Size,
    /// Where it is, each `$ref` with what it names.
    path: Vec<&'s str>,
    /// The references that it is within.
    open: Vec<&'s str>,
}

impl<'s> Walk<'s> {
    fn schema(&mut self, schema: &'s Value) -> Result<(), String> {
        let Value::Object(fields) = schema else {
            return self.data(schema);
        };
        self.more(1)?;
        for (keyword, value) in fields {
            let Some(below) = below(keyword) else {
                return Err(format!(
                    "`{}`{} is no keyword that the host takes: leave it out",
                    bounded(keyword),
                    self.place()
                ));
            };
            self.within(keyword, |walk| match below {
                Below::Data => walk.data(value),
                Below::Schema => walk.schema(value),
                Below::Schemas => walk.list(value),
                Below::Named => walk.walk_named(value, false),
                Below::ByPattern => walk.walk_named(value, true),
                Below::Pattern => {
                    walk.pattern(value.as_str().unwrap_or_default())?;
                    walk.data(value)
                }
                Below::Reference => walk.reference(value),
            })?;
        }
        Ok(())
    }

    fn within(
        &mut self,
        step: &'s str,
        walk: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.path.len() >= DEPTH {
            return Err(format!(
                "it is nested deeper than {DEPTH} keywords and names"
            ));
        }
        self.path.push(step);
        walk(self)?;
        self.path.pop();
        Ok(())
    }

    fn list(&mut self, schemas: &'s Value) -> Result<(), String> {
        match schemas {
            Value::Array(schemas) => {
                self.more(1)?;
                schemas
                    .iter()
                    .try_for_each(|one| self.within("-", |walk| walk.schema(one)))
            }
            one => self.schema(one),
        }
    }

    fn walk_named(&mut self, schemas: &'s Value, by_pattern: bool) -> Result<(), String> {
        let Value::Object(schemas) = schemas else {
            return self.data(schemas);
        };
        self.more(1)?;
        for (name, schema) in schemas {
            if by_pattern {
                self.pattern(name)?;
            }
            self.within(name, |walk| walk.schema(schema))?;
        }
        Ok(())
    }

    fn reference(&mut self, reference: &'s Value) -> Result<(), String> {
        let text = reference.as_str().unwrap_or_default();
        let target = ["$defs", "definitions"].iter().find_map(|defs| {
            let name = text
                .strip_prefix("#/")?
                .strip_prefix(defs)?
                .strip_prefix('/')?;
            self.root.get(defs)?.get(name)
        });
        let shown = bounded(text);
        let Some(target) = target else {
            return Err(format!(
                "`$ref`{} names `{shown}`, which is not in its own `$defs`",
                self.place()
            ));
        };
        if self.open.contains(&text) {
            return Err(format!("`{shown}` refers to itself"));
        }
        self.open.push(text);
        self.schema(target)?;
        self.open.pop();
        Ok(())
    }

    fn pattern(&mut self, text: &str) -> Result<(), String> {
        let refused = |walk: &Self, why: &str| {
            let (place, text) = (walk.place(), bounded(text));
            format!("the pattern `{text}`{place} is not taken: {why}")
        };
        let units = pattern::units(text).map_err(|error| refused(self, &error))?;
        self.size.units = self.size.units.saturating_add(units);
        if self.size.units > PATTERN_UNITS {
            return Err(refused(
                self,
                &format!("all patterns together have more than {PATTERN_UNITS} states"),
            ));
        }
        Ok(())
    }

    fn data(&mut self, value: &Value) -> Result<(), String> {
        self.more(count(value))
    }

    fn more(&mut self, values: usize) -> Result<(), String> {
        self.size.values = self.size.values.saturating_add(values);
        if self.size.values > VALUES {
            return Err(format!(
                "it has more than {VALUES} JSON values, each `$ref` counted as what it names"
            ));
        }
        Ok(())
    }

    /// ` at /properties/day`, nothing at the top.
    fn place(&self) -> String {
        if self.path.is_empty() {
            return String::new();
        }
        format!(" at /{}", bounded(&self.path.join("/")))
    }
}

/// JSON values, itself and all below it. Nesting is bounded by who read it.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Bytes of all texts, names of fields too.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => {
            let one = |(name, value): (&String, &Value)| name.len() + text_bytes(value);
            fields.iter().map(one).sum()
        }
        _ => 0,
    }
}

fn cut(text: &str) -> String {
    if text.len() <= ERROR_BYTES {
        return text.to_owned();
    }
    format!("{} ...", &text[..text.floor_char_boundary(ERROR_BYTES)])
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn check(schema: &Value, expected: Result<(), &str>) {
        let found = ArgumentCheck::new(schema).map(drop);
        match expected {
            Ok(()) => assert_eq!(found, Ok(())),
            Err(reason) => {
                let error = found.unwrap_err();
                assert!(error.contains(reason), "{error}");
            }
        }
    }

    /// A definition for each of `many`, the last of which is a text.
    fn definitions(many: usize, each: impl Fn(String) -> Value) -> Value {
        let mut defs: Map<String, Value> = (0..many)
            .map(|number| {
                let next = format!("#/$defs/d{}", number + 1);
                (format!("d{number}"), each(next))
            })
            .collect();
        defs.insert(format!("d{many}"), json!({ "type": "string" }));
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": defs })
    }

    #[test]
    fn references_are_followed_as_far_as_they_lead_somewhere() {
        check(&definitions(8, |next| json!({ "$ref": next })), Ok(()));
        check(
            &definitions(500, |next| json!({ "$ref": next })),
            Err("nested deeper than 64"),
        );
        for outside in [
            "https://schemas.example/x",
            "#",
            "#/properties/a",
            "#/$defs/b",
        ] {
            let schema = json!({ "type": "object", "properties": { "a": { "$ref": outside } } });
            check(&schema, Err("at /properties/a/$ref names"));
        }
        let around = json!({ "$ref": "#/$defs/a", "$defs": {
            "a": { "items": { "$ref": "#/$defs/b" } }, "b": { "not": { "$ref": "#/$defs/a" } } } });
        check(&around, Err("`#/$defs/a` refers to itself"));
    }

    #[test]
    fn what_is_expanded_counts() {
        let twice = |key: &'static str| move |next: String| json!({ key: [{ "$ref": next.clone() }, { "$ref": next }] });
        check(&definitions(3, twice("anyOf")), Ok(()));
        for key in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            let bomb = definitions(12, twice(key));
            check(&bomb, Err("more than 2000 JSON values"));
        }
        let wide = json!({ "enum": vec![0; 2000] });
        check(&wide, Err("more than 2000 JSON values"));
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
        check(&deep, Err("nested deeper than 64"));
    }

    #[test]
    fn patterns_are_bounded_and_cannot_backtrack() {
        let pattern = |text: &str| json!({ "type": "string", "pattern": text });
        check(&pattern(r"^\d{4}-\d{2}-\d{2}$"), Ok(()));
        check(&pattern("(a{1000}){1000}"), Err("is not taken"));
        check(&pattern("(?=a)b"), Err("is not taken"));
        check(
            &json!({ "patternProperties": { "(a{1000}){1000}": {} } }),
            Err("at /patternProperties is not taken"),
        );
    }

    #[test]
    fn what_is_outside_of_the_subset_is_named() {
        check(
            &json!({ "$id": "https://a.example" }),
            Err("`$id` is no keyword"),
        );
        check(
            &json!({ "properties": { "a": { "$dynamicRef": "#x" } } }),
            Err("`$dynamicRef` at /properties/a is no keyword"),
        );
        check(
            &json!({ "$schema": "https://a.example" }),
            Err("`$schema` is none of"),
        );
        check(&json!({ "type": "txt" }), Err("it is no JSON Schema"));
        // A field may have any name.
        check(&json!({ "properties": { "$id": { "x-note": 1 } } }), Ok(()));
    }

    #[test]
    fn a_check_has_a_budget() {
        let schema = json!({ "type": "object", "properties": {
            "list": { "type": "array", "items": { "enum": (0..1000).collect::<Vec<_>>() } },
            "text": { "type": "string", "pattern": "^[ab]*a[ab]{400}c" },
        } });
        let check = ArgumentCheck::new(&schema).unwrap();
        for large in [
            json!({ "list": vec![999; 100_000] }),
            json!({ "text": "ab".repeat(100_000) }),
        ] {
            assert!(!check.is_valid(&large));
            let objection = check.objection(&large).unwrap();
            assert!(objection.contains("too large to be checked"), "{objection}");
        }
        let few = json!({ "list": vec![999; 1000] });
        assert_eq!(check.objection(&few), None);
        let wrong = check
            .objection(&json!({ "text": "x".repeat(10_000) }))
            .unwrap();
        assert!(wrong.len() < ERROR_BYTES + 100, "{}", wrong.len());
    }
}
