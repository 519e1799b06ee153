//! Strict reading of the configuration: every key is taken by name, what is left over is an error, and every error
//! names its place. It knows no condition.

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::{Map, Value};

/// What is wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub(crate) struct ConfigError {
    /// Dotted, from `config` on.
    pub(crate) path: String,
    pub(crate) message: String,
}

impl ConfigError {
    pub(crate) fn new(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
        }
    }
}

/// How a configuration is read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Whether every pattern is compiled as it is read, and not when it is first tried.
    pub(crate) compiles_all: bool,
    /// The first pattern that was tried and could not be compiled.
    pub(crate) refused: OnceCell<ConfigError>,
}

/// A value of the configuration and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) path: String,
    pub(crate) reading: Rc<Reading>,
}

impl Node {
    /// The configuration itself.
    pub(crate) fn root(value: Value, reading: Rc<Reading>) -> Self {
        Self {
            value,
            path: "config".to_owned(),
            reading,
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.path, message)
    }

    pub(crate) fn text(self) -> Result<String, ConfigError> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.error("must be a string")),
        }
    }

    pub(crate) fn boolean(self) -> Result<bool, ConfigError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.error("must be true or false"))
    }

    pub(crate) fn number(self) -> Result<f64, ConfigError> {
        self.value
            .as_f64()
            .ok_or_else(|| self.error("must be a number"))
    }

    /// A whole number from 0 on.
    pub(crate) fn count(self) -> Result<u64, ConfigError> {
        self.value
            .as_u64()
            .ok_or_else(|| self.error("must be a whole number, 0 or more"))
    }

    /// The elements of a list with at least one.
    pub(crate) fn list(self) -> Result<Vec<Node>, ConfigError> {
        let Value::Array(values) = self.value else {
            return Err(self.error("must be a list"));
        };
        if values.is_empty() {
            return Err(ConfigError::new(&self.path, "must not be empty"));
        }
        let Self { path, reading, .. } = self;
        Ok(values
            .into_iter()
            .enumerate()
            .map(|(index, value)| Node {
                value,
                path: format!("{path}.{index}"),
                reading: Rc::clone(&reading),
            })
            .collect())
    }

    /// A list's elements, or the one value that is no list.
    pub(crate) fn one_or_more(self) -> Result<Vec<Node>, ConfigError> {
        if self.value.is_array() {
            self.list()
        } else {
            Ok(vec![self])
        }
    }

    pub(crate) fn table(self) -> Result<Table, ConfigError> {
        match self.value {
            Value::Object(entries) => Ok(Table {
                path: self.path,
                entries,
                known: Vec::new(),
                reading: self.reading,
            }),
            _ => Err(self.error("must be a table")),
        }
    }
}

/// A table that is read key by key. Finish with [`Table::finish`].
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) path: String,
    entries: Map<String, Value>,
    known: Vec<&'static str>,
    reading: Rc<Reading>,
}

impl Table {
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Node> {
        self.known.push(key);
        let value = self.entries.shift_remove(key)?;
        Some(Node {
            value,
            path: format!("{}.{key}", self.path),
            reading: Rc::clone(&self.reading),
        })
    }

    pub(crate) fn require(&mut self, key: &'static str) -> Result<Node, ConfigError> {
        self.take(key)
            .ok_or_else(|| ConfigError::new(&self.path, format!("`{key}` is missing")))
    }

    /// Takes a key and reads it.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(Node) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.take(key).map(parse).transpose()
    }

    /// All that is left, in order.
    pub(crate) fn into_nodes(self) -> impl Iterator<Item = (String, Node)> {
        let Self {
            path,
            entries,
            known: _,
            reading,
        } = self;
        entries.into_iter().map(move |(key, value)| {
            let path = format!("{path}.{key}");
            let reading = Rc::clone(&reading);
            let node = Node {
                value,
                path,
                reading,
            };
            (key, node)
        })
    }

    /// An error if a key was not taken.
    pub(crate) fn finish(self) -> Result<(), ConfigError> {
        let Some(key) = self.entries.keys().next() else {
            return Ok(());
        };
        let known = self.known.join("`, `");
        Err(ConfigError::new(
            &format!("{}.{key}", self.path),
            format!("unknown key; known here are `{known}`"),
        ))
    }
}
