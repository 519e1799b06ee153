//! Regular expressions of a configuration. Their syntax is looked at when they are read, and each is compiled when it is first
//! tried: most of a rule's are never, and compiling them all took most of the time of a call.

use std::cell::OnceCell;
use std::fmt::Display;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::parse::Parser;

use crate::table::{ConfigError, Node, Reading};

/// The longest one, in bytes.
const LONGEST: usize = 1024;

/// Bytes of a compiled one: repetitions of repetitions are refused.
const LARGEST: usize = 1 << 20;

/// A regular expression.
pub(crate) struct Pattern {
    text: String,
    path: String,
    reading: Rc<Reading>,
    /// None inside: it cannot be compiled, as its reading knows.
    compiled: OnceCell<Option<Regex>>,
}

impl Pattern {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let (path, reading) = (node.path.clone(), Rc::clone(&node.reading));
        let text = node.text()?;
        if text.len() > LONGEST {
            return Err(ConfigError::new(
                &path,
                format!("is longer than {LONGEST} bytes"),
            ));
        }
        Parser::new()
            .parse(&text)
            .map_err(|error| refused(&path, &error))?;
        let compiled = OnceCell::new();
        if reading.compiles_all {
            let _ = compiled.set(Some(compile(&path, &text)?));
        }
        Ok(Self {
            text,
            path,
            reading,
            compiled,
        })
    }

    /// As written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// The first place in the text, or what the first group took of it.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.regex()?.captures(text)?;
        // A group that took no part in the match is as good as none.
        let place = found.get(1).or_else(|| found.get(0))?;
        Some(place.as_str())
    }

    fn regex(&self) -> Option<&Regex> {
        let compile = || match compile(&self.path, &self.text) {
            Ok(regex) => Some(regex),
            Err(error) => {
                // The first one is told.
                let _ = self.reading.refused.set(error);
                None
            }
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

fn compile(path: &str, text: &str) -> Result<Regex, ConfigError> {
    RegexBuilder::new(text)
        .size_limit(LARGEST)
        .build()
        .map_err(|error| refused(path, &error))
}

fn refused(path: &str, error: &dyn Display) -> ConfigError {
    ConfigError::new(path, format!("is no regular expression: {error}"))
}
