//! What the plugins of a suite say to it: the tools that there are, and whether graders take the rules. It plays nothing.

use std::collections::BTreeSet;
use std::path::Path;

use super::script;
use crate::plan::{Guests, OF_TOOLS};
use crate::tools;
use pibench_agent::builtin;
use pibench_core::message::ToolSpec;
use pibench_sandbox::grader::Grader;
use pibench_sandbox::{App, Limits, LoadError, Plugins};
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Grading, Persona, Rule, Suite};
use pibench_suite::validate::{Authored, Fault, Part, ToolText};

/// What of the plugins that a suite needs is there.
pub struct There {
    /// The tools of the host and of the apps.
    pub specs: Vec<ToolSpec>,
    /// The same as authors' texts are held against them.
    pub tools: Vec<ToolText>,
    /// The plugins that cannot be used, each with why not.
    pub faults: Vec<(String, Fault)>,
}

impl There {
    /// Asks each plugin.
    pub async fn of(suite: &Suite, plugins: &Plugins) -> Self {
        let apps: BTreeSet<String> = suite.personas.iter().flat_map(Persona::app_names).collect();
        let mut specs = builtin(suite.scaffold);
        // One of the agent's own tools that is none: nothing of it is asked for.
        let misnamed = OF_TOOLS.into_iter().filter_map(|name| {
            // What cannot be read is told where it is loaded.
            let papers = plugins.papers(name).ok()?;
            let reason = Guests::find_misnamed(name, &papers)?;
            let reason = format!("cannot {reason}; give the plugin another name");
            let there = Vec::new();
            Some((name.to_owned(), Fault { reason, there }))
        });
        let mut faults: Vec<(String, Fault)> = misnamed.collect();
        let mut names = suite.plugin_names();
        names.retain(|name| faults.iter().all(|(misnamed, _)| misnamed != name));
        for name in names {
            match tools_of(plugins, &name, apps.contains(&name)).await {
                Ok(listed) => specs.extend(listed),
                Err(error) => faults.push((name, fault_of(&error))),
            }
        }
        // What an earlier play compiled quickly has better code for all that plays from now on. What was never needed is not waited
        // for, and what is wrong with one is told where it is needed.
        let is_hurried = |name: &&str| plugins.is_soon_there(name) && !plugins.is_compiled(name);
        for name in OF_TOOLS.into_iter().filter(is_hurried) {
            let _ = plugins.get(name);
        }
        Self {
            tools: specs.iter().map(tool_text).collect(),
            specs,
            faults,
        }
    }

    /// The names of the plugins that cannot be used.
    pub fn absent(&self) -> BTreeSet<String> {
        self.faults.iter().map(|(name, _)| name.clone()).collect()
    }
}

fn fault_of(error: &LoadError) -> Fault {
    let looked = match error {
        LoadError::Missing { looked, .. } => looked.as_slice(),
        _ => &[],
    };
    let folders = looked.iter().filter_map(|path| Path::new(path).parent());
    let entries = folders.filter_map(|folder| folder.read_dir().ok());
    let files = entries.flatten().filter_map(|one| Some(one.ok()?.path()));
    let plugins = files.filter(|file| file.extension() == Some("wasm".as_ref()));
    Fault {
        reason: format!("cannot {error}"),
        there: plugins
            .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
            .collect(),
    }
}

/// A tool that a persona lists of an app and that the app does not have, with that app.
pub(super) async fn find_lacking<'p>(
    persona: &'p Persona,
    plugins: &Plugins,
) -> Option<(String, &'p str)> {
    for app in persona.app_names() {
        let Ok(tools) = tools_of(plugins, &app, true).await else {
            // That it cannot be asked is told where it is opened.
            continue;
        };
        if let Some(lacking) = tools::find_lacking(persona, &app, &tools) {
            return Some((app, lacking));
        }
    }
    None
}

/// The tools of a plugin that a run would take; a grader has none.
async fn tools_of(plugins: &Plugins, name: &str, is_app: bool) -> Result<Vec<ToolSpec>, LoadError> {
    let plugin = plugins.get(name)?;
    plugins.decide(name, &plugin.papers())?;
    if is_app {
        return App::list_tools(&plugin, Limits::APP).await;
    }
    Ok(Vec::new())
}

fn tool_text(spec: &ToolSpec) -> ToolText {
    ToolText {
        name: spec.name.clone(),
        text: format!("{}\n{}", spec.description, spec.parameters.text()),
    }
}

/// Whether each rule's grader takes its configuration and has its check. A problem goes with its persona's and session's ids.
pub(super) async fn check_rules(
    suite: &Suite,
    authored: &Authored<'_>,
    plugins: &Plugins,
    absent: &BTreeSet<String>,
) -> Vec<(String, String, Problem)> {
    let mut problems = Vec::new();
    for persona in &suite.personas {
        for session in &persona.sessions {
            for (index, item) in session.checklist.iter().enumerate() {
                let Grading::Rule(rule) = &item.grading else {
                    continue;
                };
                // That its script cannot be read was told when it was loaded.
                let is_told = rule.grader == "python" && rule.config.get("script").is_none();
                if is_told || absent.contains(&rule.grader) {
                    continue;
                }
                if let Some(reason) = find_refusal(rule, plugins).await {
                    let (persona, session) = (&persona.id, &session.id);
                    let reason = script::told(&reason, rule, authored.file(persona, session));
                    let message = format!("the rule of `{}` cannot be used: {reason}", item.id);
                    let problem = authored.session_problem(
                        persona,
                        session,
                        Part::Item(index),
                        message,
                        "mend the rule, or name another grader or check",
                    );
                    problems.push((persona.clone(), session.clone(), problem));
                }
            }
        }
    }
    problems
}

/// Why a grader does not take a rule.
async fn find_refusal(rule: &Rule, plugins: &Plugins) -> Option<String> {
    let limits = if rule.grader == "python" {
        Limits::PYTHON
    } else {
        Limits::GRADER
    };
    let grader = plugins
        .get(&rule.grader)
        .and_then(|plugin| Grader::new(plugin, limits));
    let found = match grader {
        Ok(grader) => grader.list_checks(&rule.config).await,
        Err(error) => return Some(error.to_string()),
    };
    match (found, &rule.check) {
        (Err(fault), _) => Some(format!("`{}` {fault}", rule.grader)),
        (Ok(checks), Some(check)) if !checks.iter().any(|found| found.id == *check) => {
            Some(format!("`{}` has no check `{check}`", rule.grader))
        }
        (Ok(checks), None) if checks.len() != 1 => Some(format!(
            "`{}` has {} checks; say which with `check`",
            rule.grader,
            checks.len()
        )),
        _ => None,
    }
}
