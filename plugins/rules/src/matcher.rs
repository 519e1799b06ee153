//! Matchers: what a configuration asks of one value, and why a value does not do. They look at nothing else.

use std::collections::BTreeMap;

use serde_json::Value;
use strsim::levenshtein;

use crate::pattern::Pattern;
use crate::schema::Schema;
use crate::shown::{SHOWN, clip, clip_to, shown};
use crate::table::{ConfigError, Node, Table};

/// Values that earlier steps of an order captured, by name.
pub(crate) type Captures = BTreeMap<String, Value>;

/// Names that may stand in `captured`; none outside of an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a>(pub(crate) &'a [String]);

impl Names<'_> {
    pub(crate) const NONE: Names<'static> = Names(&[]);
}

/// What is asked of one value: every test must hold.
pub(crate) struct Matcher {
    tests: Vec<Test>,
}

enum Test {
    Equals(Value),
    OneOf(Vec<Value>),
    Contains(Vec<Value>),
    NoneOf(Vec<Value>),
    Matches(Vec<Pattern>),
    Part(Vec<Part>),
    Min(f64),
    Max(f64),
    Length(Matcher),
    Unordered(Vec<Value>),
    Some(Matcher),
    Every(Matcher),
    Exists(bool),
    AnyOf(Vec<Matcher>),
    Not(Matcher),
    Schema(Schema),
    Captured(String),
    Fields(Fields),
}

/// What is asked of a place in a text.
struct Part {
    pattern: Pattern,
    is: Matcher,
}

const OPERATORS: [&str; 18] = [
    "equals",
    "one_of",
    "contains",
    "none_of",
    "matches",
    "part",
    "min",
    "max",
    "exactly",
    "length",
    "unordered",
    "some",
    "every",
    "exists",
    "any_of",
    "not",
    "schema",
    "captured",
];

impl Matcher {
    pub(crate) fn parse(node: Node, names: Names) -> Result<Self, ConfigError> {
        let Value::Object(entries) = &node.value else {
            return Ok(Self {
                tests: vec![Test::Equals(node.value)],
            });
        };
        let operator = entries.keys().find(|key| OPERATORS.contains(&key.as_str()));
        let field = entries
            .keys()
            .find(|key| !OPERATORS.contains(&key.as_str()));
        match (operator, field) {
            (None, None) => Err(node.error("must not be empty")),
            (None, Some(_)) => Ok(Self { tests: vec![Test::Fields(Fields::parse(node, names)?)] }),
            (Some(_), None) => operators(node.table()?, names),
            (Some(operator), Some(field)) => Err(node.error(format!(
                "mixes the operator `{operator}` with the field `{field}`; a field that is called like an operator is \
                 reached by a dotted path from above"
            ))),
        }
    }

    /// What is asked of a text: it has no fields, so that a key that is no operator is a mistake.
    pub(crate) fn parse_text(node: Node) -> Result<Self, ConfigError> {
        check_operators(&node.value, &node.path, "a text")?;
        Self::parse(node, Names::NONE)
    }

    /// The same of a number.
    pub(crate) fn parse_number(node: Node, names: Names) -> Result<Self, ConfigError> {
        check_operators(&node.value, &node.path, "a number")?;
        Self::parse(node, names)
    }

    /// Whether the matcher asks for fields, so that a text is to be read as JSON.
    pub(crate) fn asks_for_fields(&self) -> bool {
        matches!(self.tests.as_slice(), [Test::Fields(_)])
    }

    /// None where `value` does; else what differs, to read after the value's name.
    pub(crate) fn mismatch(&self, value: Option<&Value>, captures: &Captures) -> Option<String> {
        self.tests
            .iter()
            .find_map(|test| test.mismatch(value, captures))
    }
}

/// Whether all keys are operators, wherever a matcher looks at the value itself or a part of it. `kind` is what has no fields.
fn check_operators(matcher: &Value, path: &str, kind: &str) -> Result<(), ConfigError> {
    let Value::Object(entries) = matcher else {
        return Ok(());
    };
    let check = |value: &Value, path: &str| check_operators(value, path, kind);
    for (key, value) in entries {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "not" => check(value, &path)?,
            "any_of" => each(value, &path, check)?,
            "part" => each(value, &path, |part, path| match part.get("is") {
                Some(is) => check(is, &format!("{path}.is")),
                None => Ok(()),
            })?,
            operator if OPERATORS.contains(&operator) => {}
            other => {
                let known = match near(other) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known here are `{}`", OPERATORS.join("`, `")),
                };
                let message = format!("unknown key, and {kind} has no fields; {known}");
                return Err(ConfigError::new(&path, message));
            }
        }
    }
    Ok(())
}

/// A list's elements with their places, or the one value that is no list.
fn each(
    value: &Value,
    path: &str,
    check: impl Fn(&Value, &str) -> Result<(), ConfigError>,
) -> Result<(), ConfigError> {
    match value {
        Value::Array(values) => values
            .iter()
            .enumerate()
            .try_for_each(|(index, value)| check(value, &format!("{path}.{index}"))),
        value => check(value, path),
    }
}

/// The operator that is at most two letters away.
fn near(key: &str) -> Option<&'static str> {
    let away = OPERATORS.map(|operator| (levenshtein(key, operator), operator));
    let nearest = away.into_iter().min()?;
    (nearest.0 <= 2).then_some(nearest.1)
}

fn operators(mut table: Table, names: Names) -> Result<Matcher, ConfigError> {
    let one = |node: Node| Matcher::parse(node, names);
    let mut tests = Vec::new();
    tests.extend(table.read("exists", Node::boolean)?.map(Test::Exists));
    tests.extend(table.take("equals").map(|node| Test::Equals(node.value)));
    tests.extend(table.read("one_of", values)?.map(Test::OneOf));
    tests.extend(
        table
            .read("contains", one_or_more_values)?
            .map(Test::Contains),
    );
    tests.extend(table.read("none_of", one_or_more_values)?.map(Test::NoneOf));
    tests.extend(table.read("matches", patterns)?.map(Test::Matches));
    tests.extend(
        table
            .read("part", |node| parts(node, names))?
            .map(Test::Part),
    );
    tests.extend(table.read("min", Node::number)?.map(Test::Min));
    tests.extend(table.read("max", Node::number)?.map(Test::Max));
    tests.extend(table.read("exactly", number)?.map(Test::Equals));
    tests.extend(
        table
            .read("length", |node| Matcher::parse_number(node, names))?
            .map(Test::Length),
    );
    tests.extend(table.read("unordered", any_values)?.map(Test::Unordered));
    tests.extend(table.read("some", one)?.map(Test::Some));
    tests.extend(table.read("every", one)?.map(Test::Every));
    tests.extend(
        table
            .read("any_of", |node| node.list()?.into_iter().map(one).collect())?
            .map(Test::AnyOf),
    );
    tests.extend(table.read("not", one)?.map(Test::Not));
    tests.extend(table.read("schema", Schema::parse)?.map(Test::Schema));
    tests.extend(
        table
            .read("captured", |node| captured(node, names))?
            .map(Test::Captured),
    );
    table.finish()?;
    Ok(Matcher { tests })
}

fn number(node: Node) -> Result<Value, ConfigError> {
    let value = node.value.clone();
    node.number().map(|_| value)
}

fn values(node: Node) -> Result<Vec<Value>, ConfigError> {
    Ok(node.list()?.into_iter().map(|node| node.value).collect())
}

fn one_or_more_values(node: Node) -> Result<Vec<Value>, ConfigError> {
    Ok(node
        .one_or_more()?
        .into_iter()
        .map(|node| node.value)
        .collect())
}

/// A list that may be empty: to be equal to an empty list is a sensible wish.
fn any_values(node: Node) -> Result<Vec<Value>, ConfigError> {
    match node.value {
        Value::Array(values) => Ok(values),
        _ => Err(node.error("must be a list")),
    }
}

fn patterns(node: Node) -> Result<Vec<Pattern>, ConfigError> {
    node.one_or_more()?
        .into_iter()
        .map(Pattern::parse)
        .collect()
}

fn parts(node: Node, names: Names) -> Result<Vec<Part>, ConfigError> {
    let part = |node: Node| {
        let mut table = node.table()?;
        let part = Part {
            pattern: Pattern::parse(table.require("pattern")?)?,
            is: Matcher::parse(table.require("is")?, names)?,
        };
        table.finish()?;
        Ok(part)
    };
    node.one_or_more()?.into_iter().map(part).collect()
}

fn captured(node: Node, names: Names) -> Result<String, ConfigError> {
    let path = node.path.clone();
    let name = node.text()?;
    if names.0.contains(&name) {
        return Ok(name);
    }
    Err(ConfigError::new(
        &path,
        format!("no earlier step captures `{name}`"),
    ))
}

impl Test {
    fn mismatch(&self, value: Option<&Value>, captures: &Captures) -> Option<String> {
        match self {
            Self::Exists(wanted) => exists(value, *wanted),
            Self::Not(inner) => match inner.mismatch(value, captures) {
                Some(_) => None,
                None => Some(format!("{} is what must not be", shown_or_absent(value))),
            },
            Self::AnyOf(inner) => any_of(inner, value, captures),
            _ => match value {
                Some(value) => self.differs(value, captures),
                None => Some("is absent".to_owned()),
            },
        }
    }

    /// As `mismatch`, for a value that is there.
    fn differs(&self, value: &Value, captures: &Captures) -> Option<String> {
        let unless = |holds: bool, wanted: String| {
            (!holds).then(|| format!("is {}, not {wanted}", shown(value)))
        };
        match self {
            Self::Equals(wanted) => unless(same(value, wanted), shown(wanted)),
            Self::OneOf(wanted) => unless(
                wanted.iter().any(|one| same(value, one)),
                format!("one of {}", list(wanted)),
            ),
            Self::Contains(wanted) => wanted
                .iter()
                .find(|part| !contains(value, part))
                .map(|part| format!("is {}, without {}", shown(value), shown(part))),
            Self::NoneOf(unwanted) => unwanted.iter().find_map(|part| holds(value, part)),
            Self::Matches(wanted) => wanted
                .iter()
                .find(|pattern| !value.as_str().is_some_and(|text| pattern.is_match(text)))
                .map(|pattern| unmatched(value, pattern)),
            Self::Part(parts) => parts.iter().find_map(|part| part.mismatch(value, captures)),
            Self::Min(min) => unless(
                value.as_f64().is_some_and(|number| number >= *min),
                format!("{min} or more"),
            ),
            Self::Max(max) => unless(
                value.as_f64().is_some_and(|number| number <= *max),
                format!("{max} or less"),
            ),
            Self::Length(wanted) => match length(value) {
                Some(length) => wanted
                    .mismatch(Some(&Value::from(length)), captures)
                    .map(|differs| format!("is {}, whose length {differs}", shown(value))),
                None => Some(format!("is {}, which has no length", shown(value))),
            },
            Self::Unordered(wanted) => unless(
                same_elements(value, wanted),
                format!("{} in any order", list(wanted)),
            ),
            Self::Some(wanted) => some(wanted, value, captures),
            Self::Every(wanted) => every(wanted, value, captures),
            Self::Schema(schema) => schema.mismatch(value),
            Self::Captured(name) => match captures.get(name) {
                Some(wanted) => unless(
                    same(value, wanted),
                    format!("{} (captured as {name})", shown(wanted)),
                ),
                None => Some(format!("has nothing captured as {name} to equal")),
            },
            Self::Fields(fields) => fields.mismatch(value, captures),
            // Judged in `mismatch`, because they hold for absent values too.
            Self::Exists(_) | Self::Not(_) | Self::AnyOf(_) => None,
        }
    }
}

fn unmatched(value: &Value, pattern: &Pattern) -> String {
    let (value, pattern) = (shown(value), clip(pattern.text()));
    format!("is {value}, which does not match /{pattern}/")
}

impl Part {
    fn mismatch(&self, value: &Value, captures: &Captures) -> Option<String> {
        let Self { pattern, is } = self;
        let Some(place) = value.as_str().and_then(|text| pattern.find(text)) else {
            return Some(unmatched(value, pattern));
        };
        let reason = is.mismatch(Some(&Value::from(place)), captures)?;
        let pattern = clip(pattern.text());
        Some(format!("has a place that matches /{pattern}/ and {reason}"))
    }
}

fn exists(value: Option<&Value>, wanted: bool) -> Option<String> {
    let there = value.is_some_and(|value| !value.is_null());
    match (there, wanted) {
        (true, false) => Some(format!(
            "is {}, where nothing must be",
            shown_or_absent(value)
        )),
        (false, true) => Some(match value {
            Some(_) => "is null, where something must be".to_owned(),
            None => "is absent".to_owned(),
        }),
        _ => None,
    }
}

fn any_of(matchers: &[Matcher], value: Option<&Value>, captures: &Captures) -> Option<String> {
    let mut reasons = Vec::new();
    for matcher in matchers {
        reasons.push(matcher.mismatch(value, captures)?);
    }
    Some(clip_to(&reasons.join(", and "), 4 * SHOWN))
}

fn some(wanted: &Matcher, value: &Value, captures: &Captures) -> Option<String> {
    let Value::Array(elements) = value else {
        return Some(format!("is {}, not a list", shown(value)));
    };
    let mut last = None;
    for element in elements {
        match wanted.mismatch(Some(element), captures) {
            None => return None,
            reason => last = reason,
        }
    }
    let last = last.map_or_else(String::new, |reason| format!(" (the last {reason})"));
    Some(format!(
        "has no element among {} that fits{last}",
        elements.len()
    ))
}

fn every(wanted: &Matcher, value: &Value, captures: &Captures) -> Option<String> {
    let Value::Array(elements) = value else {
        return Some(format!("is {}, not a list", shown(value)));
    };
    if elements.is_empty() {
        return Some("is an empty list".to_owned());
    }
    elements.iter().enumerate().find_map(|(index, element)| {
        let reason = wanted.mismatch(Some(element), captures)?;
        Some(format!("has an element {index} that {reason}"))
    })
}

/// Equal, with numbers compared as numbers: 1 and 1.0 are the same.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

fn same_elements(value: &Value, wanted: &[Value]) -> bool {
    let Value::Array(elements) = value else {
        return false;
    };
    let mut left: Vec<&Value> = elements.iter().collect();
    elements.len() == wanted.len()
        && wanted.iter().all(
            |wanted| match left.iter().position(|element| same(element, wanted)) {
                Some(index) => {
                    left.swap_remove(index);
                    true
                }
                None => false,
            },
        )
}

/// A part of a text, or an element of a list.
fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Array(elements), part) => elements.iter().any(|element| same(element, part)),
        _ => false,
    }
}

/// How a value has what none of it may be: in it, or as the whole of what has no parts.
fn holds(value: &Value, unwanted: &Value) -> Option<String> {
    match value {
        Value::String(_) | Value::Array(_) => contains(value, unwanted)
            .then(|| format!("is {}, with {}", shown(value), shown(unwanted))),
        _ => same(value, unwanted).then(|| format!("is {}, which must not be", shown(value))),
    }
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(elements) => Some(elements.len()),
        _ => None,
    }
}

/// Matchers by path into a value: all must hold.
pub(crate) struct Fields {
    fields: Vec<(Path, Matcher)>,
}

impl Fields {
    pub(crate) fn parse(node: Node, names: Names) -> Result<Self, ConfigError> {
        let table = node.table()?;
        let table_path = table.path.clone();
        let mut fields = Vec::new();
        for (key, node) in table.into_nodes() {
            let path = Path::parse(&key).ok_or_else(|| node.error("is no dotted path"))?;
            fields.push((path, Matcher::parse(node, names)?));
        }
        if fields.is_empty() {
            return Err(ConfigError::new(&table_path, "must not be empty"));
        }
        Ok(Self { fields })
    }

    /// None where every field does; else the first that does not, and why.
    pub(crate) fn mismatch(&self, value: &Value, captures: &Captures) -> Option<String> {
        self.fields.iter().find_map(|(path, matcher)| {
            let reason = matcher.mismatch(path.find(value), captures)?;
            Some(format!("{} {reason}", path.text))
        })
    }
}

/// A dotted path: keys of objects, indexes of lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    text: String,
}

impl Path {
    /// None for a path with an empty part.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let whole = text.split('.').all(|part| !part.is_empty());
        whole.then(|| Self {
            text: text.to_owned(),
        })
    }

    pub(crate) fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.text
            .split('.')
            .try_fold(value, |value, part| match value {
                Value::Object(entries) => entries.get(part),
                Value::Array(elements) => elements.get(part.parse::<usize>().ok()?),
                _ => None,
            })
    }
}

fn shown_or_absent(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), shown)
}

fn list(values: &[Value]) -> String {
    clip(&values.iter().map(shown).collect::<Vec<_>>().join(", "))
}
