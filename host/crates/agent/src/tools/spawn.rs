//! `spawn`: a part of the task for a subagent. Who runs the turn runs it, when the calls of the answer are done.

use schemars::JsonSchema;
use serde::Deserialize;

use super::bounded;

/// Characters of a subagent's name where the agent gives none.
const LABEL: usize = 40;

/// A subagent with the tools for files and the web does task, all that it knows; its result comes as a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Arguments {
    task: String,
    #[serde(default)]
    label: Option<String>,
}

/// A subagent that is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spawned {
    pub(crate) task: String,
    pub(crate) label: String,
}

/// What the agent is told, and what is to be done.
pub(crate) fn order(arguments: Arguments) -> (String, Spawned) {
    let Arguments { task, label } = arguments;
    let label = label.as_ref().unwrap_or(&task).chars();
    let spawned = Spawned {
        label: label.take(LABEL).collect(),
        task: bounded(task),
    };
    let told = format!(
        "Subagent `{}` is at work; its result comes as a message.",
        spawned.label
    );
    (told, spawned)
}
