//! A TOML file with the places of its parts, so that a finding about a value can name the line where it stands.

use std::ops::Range;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shape;
use crate::depth::{DEPTH_LIMIT, too_deep};
use crate::manifest;
use crate::problem::Report;

/// A parsed file.
#[derive(Debug)]
pub(super) struct Document<'t> {
    table: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses the text; every syntax error is reported, and any makes the answer `None`.
    pub(super) fn parse(text: &'t str, report: &mut Report<'_>) -> Option<Self> {
        if let Some(span) = too_deep(text) {
            let message = format!(
                "nested too deep: keys, lists and tables may stand {DEPTH_LIMIT} within each other"
            );
            report.add(span, message);
            return None;
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            report.add(error.span().unwrap_or(0..0), error.message());
        }
        errors.is_empty().then_some(Self { table })
    }

    /// The keys of the top level.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.table
            .get_ref()
            .keys()
            .map(|key| key.get_ref().as_ref())
    }

    /// Reads the document as one of the formats. Whatever does not fit its schema is reported; unknown keys do not
    /// keep the rest from being read.
    pub(super) fn read<T: DeserializeOwned + JsonSchema>(
        &self,
        report: &mut Report<'_>,
    ) -> Option<T> {
        if !self.version_fits(report) {
            return None;
        }
        let before = report.problems.len();
        shape::compare::<T>(&self.table, report);
        match T::deserialize(toml::Deserializer::from(self.table.clone())) {
            Ok(file) => Some(file),
            Err(error) => {
                // The comparison has told it with more words already, unless it is a matter of ranges.
                if report.problems.len() == before {
                    report.add(error.span().unwrap_or(0..0), error.message());
                }
                None
            }
        }
    }

    /// A file of another version is read no further: its keys mean something else.
    fn version_fits(&self, report: &mut Report<'_>) -> bool {
        let place = self.root().key("version");
        match place.value {
            Some(DeValue::Integer(number)) if number.as_str() != manifest::VERSION.to_string() => {
                let message = format!("version {number} of the format is not known");
                report.add_with_help(
                    place.span(),
                    message,
                    format!("this host reads version {}", manifest::VERSION),
                );
                false
            }
            _ => true,
        }
    }

    pub(super) fn root(&self) -> Place<'_> {
        // A missing key of the top level has no place of its own: the file's start stands for it.
        Place {
            value: None,
            table: Some(self.table.get_ref()),
            span: 0..0,
        }
    }
}

/// A value of the document and where it stands. A path that leads nowhere stays at the last part that exists.
#[derive(Debug, Clone)]
pub(super) struct Place<'d> {
    value: Option<&'d DeValue<'d>>,
    /// The root's; a table value is found through `value`.
    table: Option<&'d DeTable<'d>>,
    span: Range<usize>,
}

impl Place<'_> {
    pub(super) fn key(&self, name: &str) -> Self {
        let table = match self.value {
            Some(DeValue::Table(table)) => Some(table),
            _ => self.table,
        };
        let found = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == name));
        match found {
            Some((key, value)) => {
                // Tables written as [header] have a span that starts there; others are best shown by their value.
                let span = if value.span().is_empty() {
                    key.span()
                } else {
                    value.span()
                };
                Self {
                    value: Some(value.get_ref()),
                    table: None,
                    span,
                }
            }
            None => Self {
                value: None,
                table: None,
                span: self.span.clone(),
            },
        }
    }

    /// Whether the path leads to a value.
    pub(super) fn is_there(&self) -> bool {
        self.value.is_some()
    }

    pub(super) fn index(&self, index: usize) -> Self {
        let found = match self.value {
            Some(DeValue::Array(items)) => items.get(index),
            _ => None,
        };
        match found {
            Some(item) => Self {
                value: Some(item.get_ref()),
                table: None,
                span: item.span(),
            },
            None => Self {
                value: None,
                table: None,
                span: self.span.clone(),
            },
        }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}
