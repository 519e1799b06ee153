//! Regular expressions of a configuration: read and bounded with it, compiled when a text is first held against one. Most
//! never are, because what they ask about was not done, and compiling them was most of what a call took.

use std::cell::OnceCell;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::table::{ConfigError, Node};

/// The longest regular expression, in bytes.
const LONGEST: usize = 1024;

/// The largest compiled regular expression, in bytes: repetitions of repetitions are refused when they are read.
const LARGEST: usize = 1 << 20;

/// Bytes of a compiled expression for each unit of [`size`], generously.
const UNIT: usize = 32;

/// A regular expression.
pub(crate) struct Expression {
    text: String,
    /// None for what cannot be compiled, and is found nowhere.
    compiled: OnceCell<Option<Regex>>,
}

impl Expression {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let path = node.path.clone();
        let wrong = |reason: String| ConfigError::new(&path, reason);
        let text = node.text()?;
        if text.len() > LONGEST {
            return Err(wrong(format!("is longer than {LONGEST} bytes")));
        }
        let no =
            |error: &dyn std::fmt::Display| wrong(format!("is no regular expression: {error}"));
        let syntax = regex_syntax::parse(&text).map_err(|error| no(&error))?;
        let compiled = OnceCell::new();
        // The units are an upper bound: what is above the limit by them may still be small enough.
        if size(&syntax).saturating_mul(UNIT) > LARGEST {
            let regex = compile(&text).map_err(|error| no(&error))?;
            compiled.get_or_init(|| Some(regex));
        }
        Ok(Self { text, compiled })
    }

    /// As it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the text holds it anywhere.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.compiled().is_some_and(|regex| regex.is_match(text))
    }

    /// The first place of the text that it matches, or what the first group took of that.
    pub(crate) fn find_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.compiled()?.captures(text)?;
        // A group that took no part in the match is as good as none.
        let place = found.get(1).or_else(|| found.get(0))?;
        Some(place.as_str())
    }

    fn compiled(&self) -> Option<&Regex> {
        let compiled = self.compiled.get_or_init(|| compile(&self.text).ok());
        compiled.as_ref()
    }
}

fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(LARGEST).build()
}

/// How many states and transitions an expression compiles to at most.
fn size(syntax: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(size).fold(1, usize::saturating_add);
    match syntax.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() + 1,
        // A range of characters falls apart into sequences of bytes.
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(24) + 1,
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min.saturating_add(1));
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            size(&repeated.sub)
                .saturating_add(1)
                .saturating_mul(times.max(1))
        }
        HirKind::Capture(capture) => size(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn parse(text: &str) -> Result<Expression, ConfigError> {
        Expression::parse(Node::root(Value::from(text)))
    }

    #[test]
    fn an_expression_is_compiled_when_a_text_is_first_held_against_it() {
        let expression = parse(r"(?i)due (\w+)").ok().unwrap();
        assert!(expression.compiled.get().is_none());
        assert_eq!(expression.find_in("It is DUE today."), Some("today"));
        assert!(expression.compiled.get().is_some());
    }

    #[test]
    fn what_is_bounded_below_the_limit_compiles() {
        for part in [
            "a", ".", r"\d", r"\w", "(?i)k", "[^x]", "(?s:.)", "(ab|c)", "[a-z]?", r"\b",
        ] {
            for times in [1, 9, 50, 200, 800, 3000] {
                for text in [
                    format!("({part}){{0,{times}}}"),
                    format!("(?:x{part}){{{times}}}|y"),
                ] {
                    let syntax = regex_syntax::parse(&text).unwrap();
                    let bounded = size(&syntax).saturating_mul(UNIT) <= LARGEST;
                    assert!(!bounded || compile(&text).is_ok(), "{text}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_compiled_is_refused_when_it_is_read() {
        for wrong in ["(", "(a{1000}){1000}", r"\w{900}"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
