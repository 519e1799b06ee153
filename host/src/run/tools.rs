//! The tools that a persona's agent has. They are the same in each of its episodes, so they are made once in a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::episode::EpisodeError;
use super::plan::Plan;
use crate::agent::Toolbox;
use crate::model::ToolSpec;
use crate::plugin::App;
use crate::task::suite::Persona;

/// Toolboxes by the personas' ids.
#[derive(Debug, Default)]
pub struct Toolboxes(Mutex<BTreeMap<String, Toolbox>>);

impl Toolboxes {
    fn of(&self, persona: &str) -> Option<Toolbox> {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(persona).cloned()
    }

    fn keep(&self, persona: &str, toolbox: &Toolbox) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(persona.to_owned(), toolbox.clone());
    }
}

/// The built-in tools of the plan's profile, and those that the persona lists of its apps'.
pub(super) async fn toolbox(plan: &Plan, persona: &Persona) -> Result<Toolbox, EpisodeError> {
    if let Some(made) = plan.toolboxes.of(&persona.id) {
        return Ok(made);
    }
    let mut specs = Vec::new();
    for name in persona.app_names() {
        let plugin = plan.plugins.get(&name)?;
        let tools = App::list_tools(&plugin, plan.app_limits).await?;
        specs.extend(chosen(persona, &name, tools)?);
    }
    let toolbox = Toolbox::new(plan.scaffold, specs).map_err(|reason| EpisodeError::Tools {
        persona: persona.id.clone(),
        reason,
    })?;
    plan.toolboxes.keep(&persona.id, &toolbox);
    Ok(toolbox)
}

/// The tools of an app that a persona lists, in the app's order.
fn chosen(
    persona: &Persona,
    app: &str,
    tools: Vec<ToolSpec>,
) -> Result<Vec<ToolSpec>, EpisodeError> {
    let all = format!("{app}__*");
    let prefix = format!("{app}__");
    for wanted in persona
        .tools
        .iter()
        .filter(|tool| tool.starts_with(&prefix) && **tool != all)
    {
        if !tools.iter().any(|tool| tool.name == *wanted) {
            let reason = format!("app `{app}` has no tool `{wanted}`");
            return Err(EpisodeError::Tools {
                persona: persona.id.clone(),
                reason,
            });
        }
    }
    let has = |tool: &ToolSpec| persona.has_tool(&tool.name);
    Ok(tools.into_iter().filter(has).collect())
}
