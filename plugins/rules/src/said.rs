//! The condition `said`: what the agent told the user.

use serde_json::Value;

use crate::finding::Finding;
use crate::matcher::{Captures, Matcher};
use crate::range::Range;
use crate::scene::Scene;
use crate::table::{ConfigError, Node};

/// What is asked of responses.
pub(crate) struct Said {
    text: Matcher,
    turn: Option<Range>,
    count: Range,
}

impl Said {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let said = Self {
            text: Matcher::parse_text(table.require("text")?)?,
            turn: table.read("turn", Range::parse)?,
            count: table.read("count", Range::parse)?.unwrap_or(Range::SOME),
        };
        table.finish()?;
        Ok(said)
    }

    pub(crate) fn judge(&self, scene: &Scene) -> Finding {
        let Self { text, turn, count } = self;
        let mut fitting = Vec::new();
        let mut near = None;
        for (number, response) in &scene.responses {
            if turn.is_some_and(|turn| !turn.holds((*number).into())) {
                continue;
            }
            match text.mismatch(Some(&Value::from(response.as_str())), &Captures::new()) {
                None => fitting.push(number.to_string()),
                Some(reason) => {
                    near = Some(format!("; but the response of turn {number} {reason}"));
                }
            }
        }
        let pass = count.holds(fitting.len() as u64);
        let found = match fitting.as_slice() {
            [] => "no response fits".to_owned(),
            turns => format!("the response of turn {} fits", turns.join(", ")),
        };
        let near = near.filter(|_| !pass).unwrap_or_default();
        Finding {
            pass,
            reason: format!("{found}, {count} wanted{near}"),
        }
    }
}
