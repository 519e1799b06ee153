//! The tools that a persona's agent has. They are the same in each of its episodes, and their schemas have to be compiled, so they
//! are made once in a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::error::EpisodeError;
use pibench_agent::Toolbox;
use pibench_core::message::ToolSpec;
use pibench_core::near::did_you_mean;
use pibench_core::vocabulary::Scaffold;
use pibench_sandbox::{App, Limits, Plugins};
use pibench_suite::suite::Persona;

/// Toolboxes by what personas list: those of the examples of rules list the same.
#[derive(Debug, Default)]
pub struct Toolboxes(Mutex<BTreeMap<Vec<String>, Arc<OnceCell<Toolbox>>>>);

impl Toolboxes {
    /// The place of a persona's toolbox, in which the first episode makes it while the others wait.
    pub(super) fn of(&self, persona: &Persona) -> Arc<OnceCell<Toolbox>> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(places.entry(persona.tools.clone()).or_default())
    }
}

/// The built-in tools of a profile, and those that a persona lists of its apps'.
pub async fn list_tools(
    persona: &Persona,
    plugins: &Plugins,
    limits: Limits,
    scaffold: Scaffold,
) -> Result<Toolbox, EpisodeError> {
    let mut specs = Vec::new();
    for name in persona.app_names() {
        let plugin = plugins.get(&name)?;
        let tools = App::list_tools(&plugin, limits).await?;
        specs.extend(chosen(persona, &name, tools)?);
    }
    Toolbox::new(scaffold, specs).map_err(|reason| EpisodeError::Tools {
        persona: persona.id.clone(),
        reason,
    })
}

/// A tool that a persona lists of an app and that is not among the app's.
pub(super) fn find_lacking<'p>(
    persona: &'p Persona,
    app: &str,
    tools: &[ToolSpec],
) -> Option<&'p str> {
    let listed = persona.tools.iter().filter(|tool| {
        let own = tool.split_once("__").filter(|(of, _)| *of == app);
        own.is_some_and(|(_, name)| name != "*")
    });
    let mut lacking = listed.filter(|wanted| tools.iter().all(|tool| tool.name != **wanted));
    lacking.next().map(String::as_str)
}

/// The tools of an app that a persona lists, in the app's order.
fn chosen(
    persona: &Persona,
    app: &str,
    tools: Vec<ToolSpec>,
) -> Result<Vec<ToolSpec>, EpisodeError> {
    if let Some(wanted) = find_lacking(persona, app, &tools) {
        let near = did_you_mean(wanted, tools.iter().map(|tool| tool.name.as_str()));
        let reason = format!(
            "app `{app}` has no tool `{wanted}`{near}; mend it in `tools` of personas/{}/persona.toml, or take it away",
            persona.id
        );
        return Err(EpisodeError::Tools {
            persona: persona.id.clone(),
            reason,
        });
    }
    let has = |tool: &ToolSpec| persona.has_tool(&tool.name);
    Ok(tools.into_iter().filter(has).collect())
}
