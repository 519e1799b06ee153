//! The command that goes on with a run, and what bounds its cost then. Runs nothing.

use anyhow::anyhow;
use pibench_core::cost::MicroUsd;
use pibench_engine::Plan;
use pibench_report::grid::paragraph;

use crate::cli::RunArgs;
use crate::commands::stored;
use crate::exit::{Exit, Failure, OrExit};

/// Said where a recording has no answer: it has none the next time, either.
const NOT_RECORDED: &str = "A recording answers what was asked when it was made and nothing else: play with the suite, the options and the \
    program that it was made with, into another --out; or record anew by --record DIR.";

/// Refuses a suite beside a run that is gone on with: the run keeps its own.
pub(super) fn refuse_suite(args: &RunArgs) -> Result<(), Failure> {
    let (Some(dir), Some(suite)) = (&args.resume, &args.settings.suite) else {
        return Ok(());
    };
    Err(anyhow!(
        "go on with {dir} by {suite}: a run goes on with the suite that it was begun with, which its manifest names; leave out {suite}, or \
         play it anew without --resume"
    ))
    .or_exit(Exit::Usage)
}

/// How a run is gone on with.
#[derive(Debug)]
pub(super) struct Again {
    command: String,
    limit: Option<MicroUsd>,
    /// Whether the run folder has another bound than this process.
    is_other: bool,
    /// Whether a recording answers, which has no more answers the next time.
    is_replayed: bool,
}

impl Again {
    /// `plan`: any of those that the command goes on with, which have the same bound.
    pub(super) fn of(command: &str, plan: Option<&Plan>) -> Self {
        let spending = plan.map(|plan| &plan.spending);
        Self {
            command: stored::name(command),
            limit: spending.and_then(|spending| spending.limit),
            is_other: spending.is_some_and(|spending| spending.is_other),
            is_replayed: plan.is_some_and(|plan| plan.roles.is_replayed()),
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

    /// What helps where something outside broke.
    pub(super) fn after_break(&self) -> String {
        if self.is_replayed {
            return paragraph(NOT_RECORDED);
        }
        format!("Go on with: {}", self.command())
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
