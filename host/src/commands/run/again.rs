//! The command that goes on with a run, and what bounds its cost then. Runs nothing.

use pibench_core::cost::MicroUsd;
use pibench_engine::Plan;

use crate::commands::stored;

/// How a run is gone on with.
#[derive(Debug)]
pub(super) struct Again {
    command: String,
    limit: Option<MicroUsd>,
    /// Whether the run folder has another bound than this process.
    is_other: bool,
}

impl Again {
    /// `plan`: any of those that the command goes on with, which have the same bound.
    pub(super) fn of(command: &str, plan: Option<&Plan>) -> Self {
        let spending = plan.map(|plan| &plan.spending);
        Self {
            command: stored::name(command),
            limit: spending.and_then(|spending| spending.limit),
            is_other: spending.is_some_and(|spending| spending.is_other),
        }
    }

    /// With the bound of this process.
    pub(super) fn command(&self) -> String {
        let Self { command, limit, .. } = self;
        match limit {
            _ if !self.is_other => command.clone(),
            Some(limit) => format!("{command} --max-cost {}", limit.usd()),
            None => format!("{command} --max-cost inf"),
        }
    }

    /// With the operator's next bound, where this one is reached.
    pub(super) fn beyond(&self) -> String {
        format!("{} --max-cost USD", self.command)
    }

    /// What is said of the bound when a run is gone on with; None where there never was one.
    pub(super) fn bound(&self) -> Option<String> {
        match (self.limit, self.is_other) {
            (Some(limit), false) => Some(format!(
                "The run goes on within --max-cost {limit}, as it was begun."
            )),
            (Some(limit), true) => Some(format!(
                "The run goes on within --max-cost {limit}, and not as it was begun."
            )),
            (None, true) => Some(
                "Nothing bounds what is spent from here on: the run was begun with --max-cost, and goes on without.".into(),
            ),
            (None, false) => None,
        }
    }
}
