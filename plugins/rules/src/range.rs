//! Ranges of whole numbers: how many, which turns, how long.

use std::fmt;

use crate::table::{ConfigError, Node};

/// An inclusive range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    min: u64,
    max: Option<u64>,
}

impl Range {
    /// What a count means when it is left out.
    pub(crate) const SOME: Self = Self { min: 1, max: None };

    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        if node.value.is_number() {
            let exactly = node.count()?;
            return Ok(Self {
                min: exactly,
                max: Some(exactly),
            });
        }
        let mut table = node.table()?;
        let path = table.path.clone();
        let exactly = table.read("exactly", Node::count)?;
        let min = table.read("min", Node::count)?;
        let max = table.read("max", Node::count)?;
        table.finish()?;
        match (exactly, min, max) {
            (Some(exactly), None, None) => Ok(Self {
                min: exactly,
                max: Some(exactly),
            }),
            (Some(_), ..) => Err(ConfigError::new(&path, "`exactly` stands alone")),
            (None, None, None) => Err(ConfigError::new(&path, "needs `min`, `max` or `exactly`")),
            (None, Some(min), Some(max)) if min > max => {
                Err(ConfigError::new(&path, "`min` is above `max`"))
            }
            (None, min, max) => Ok(Self {
                min: min.unwrap_or(0),
                max,
            }),
        }
    }

    pub(crate) fn holds(self, number: u64) -> bool {
        number >= self.min && self.max.is_none_or(|max| number <= max)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, None) => write!(f, "at least {min}"),
            (min, Some(max)) if min == max => write!(f, "exactly {min}"),
            (0, Some(max)) => write!(f, "at most {max}"),
            (min, Some(max)) => write!(f, "{min} to {max}"),
        }
    }
}
