//! The tools of one persona: what the model is told of them, and the check of their arguments. It runs none.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::tokens;
use super::tools::{BAD_ARGUMENTS, Builtin, NO_OBJECT, NO_TOOL, excerpt};
use pibench_core::message::ToolSpec;
use pibench_core::near::nearest;
use pibench_core::vocabulary::Scaffold;
use pibench_core::weight::{MOST_VALUES, Weight};
use pibench_sandbox::ArgumentCheck;

/// The tools of the released code's scaffold.
const OLD_TOOLS: [Builtin; 9] = [
    Builtin::ReadFile,
    Builtin::WriteFile,
    Builtin::EditFile,
    Builtin::ListDir,
    Builtin::Exec,
    Builtin::WebSearch,
    Builtin::WebFetch,
    Builtin::Message,
    Builtin::Cron,
];

/// What a subagent goes without: it speaks to nobody, and leaves nothing running.
const NOT_OF_SUBAGENTS: [Builtin; 4] = [
    Builtin::Message,
    Builtin::AskUser,
    Builtin::Spawn,
    Builtin::Cron,
];

/// The tools of one persona. To copy it is cheap.
#[derive(Debug, Clone)]
pub struct Toolbox(Arc<ToolboxInner>);

#[derive(Debug)]
struct ToolboxInner {
    specs: Vec<ToolSpec>,
    /// Of all specs; counted when first asked for.
    tokens: OnceLock<usize>,
    checks: Checks,
    /// Built-in tools but for those that are the agent's own matter.
    of_subagent: Option<Toolbox>,
}

/// By the tools' names.
type Checks = HashMap<String, Arc<ArgumentCheck>>;

impl Toolbox {
    /// The built-in tools of a profile, that of the memory step, and those of the apps. An error names the tool whose
    /// schema is none.
    pub fn new(
        scaffold: Scaffold,
        apps: impl IntoIterator<Item = ToolSpec>,
    ) -> Result<Self, String> {
        let own = builtin(scaffold);
        let all = own
            .iter()
            .cloned()
            .chain([Builtin::SaveMemory.spec()])
            .chain(apps);
        let specs: Vec<ToolSpec> = all.collect();
        let checks = compile(&specs)?;
        let of_subagent = |spec: &ToolSpec| {
            Builtin::named(&spec.name).is_some_and(|tool| !NOT_OF_SUBAGENTS.contains(&tool))
        };
        let subagents = own.into_iter().filter(of_subagent).collect();
        let subagents = Self::of(ToolSpec::shown(subagents), &checks, None);
        Ok(Self::of(ToolSpec::shown(specs), &checks, Some(subagents)))
    }

    /// The box of these tools; `checks` has theirs among others.
    fn of(specs: Vec<ToolSpec>, checks: &Checks, of_subagent: Option<Self>) -> Self {
        let own = |spec: &ToolSpec| {
            let (name, check) = checks.get_key_value(&spec.name)?;
            Some((name.clone(), Arc::clone(check)))
        };
        Self(Arc::new(ToolboxInner {
            checks: specs.iter().filter_map(own).collect(),
            specs,
            tokens: OnceLock::new(),
            of_subagent,
        }))
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.0.specs
    }

    /// Tokens of the specs, which go with every question.
    pub fn tokens(&self) -> usize {
        *self
            .0
            .tokens
            .get_or_init(|| tokens::of_tools(&self.0.specs))
    }

    /// Whether a tool is among them.
    pub fn has(&self, tool: &str) -> bool {
        self.0.checks.contains_key(tool)
    }

    /// The tools of a subagent. It has none of its own: its box is the same.
    pub(super) fn of_subagent(&self) -> Self {
        self.0.of_subagent.as_ref().unwrap_or(self).clone()
    }

    /// What is wrong with a call before any tool runs; None when nothing is.
    pub(super) fn objection(&self, tool: &str, arguments: &Value) -> Option<String> {
        let Some(check) = self.0.checks.get(tool) else {
            return Some(self.unknown(tool));
        };
        if let Value::String(text) = arguments {
            if Weight::of(text.as_bytes()).is_too_much() {
                return Some(format!(
                    "{NO_OBJECT} that is read: they hold more than {MOST_VALUES} values; send fewer"
                ));
            }
            return Some(format!("{NO_OBJECT}: {}", excerpt(text)));
        }
        let objection = check.objection(arguments)?;
        Some(format!("{BAD_ARGUMENTS}{objection}"))
    }

    /// There is no such tool; the nearest name, if there is one.
    fn unknown(&self, tool: &str) -> String {
        let names = self.specs().iter().map(|spec| spec.name.as_str());
        match nearest(tool, names) {
            Some(name) => format!("{NO_TOOL}`{tool}`; did you mean `{name}`?"),
            None => format!("{NO_TOOL}`{tool}`"),
        }
    }
}

/// What checks a call of each tool.
fn compile(specs: &[ToolSpec]) -> Result<Checks, String> {
    let one = |spec: &ToolSpec| {
        let check = ArgumentCheck::new(&spec.parameters)
            .map_err(|error| format!("the schema of `{}` is not taken: {error}", spec.name))?;
        Ok((spec.name.clone(), Arc::new(check)))
    };
    specs.iter().map(one).collect()
}

/// All built-in tools of a profile, in the order in which they are offered.
pub fn builtin(scaffold: Scaffold) -> Vec<ToolSpec> {
    let old = scaffold == Scaffold::Nanobot014;
    let offered = Builtin::OFFERED
        .into_iter()
        .filter(|tool| !old || OLD_TOOLS.contains(tool));
    let mut specs: Vec<ToolSpec> = offered.map(Builtin::spec).collect();
    if old {
        specs.iter_mut().for_each(remove_recursion);
    }
    specs
}

/// The old `list_dir` lists one folder, whole.
fn remove_recursion(spec: &mut ToolSpec) {
    if spec.name != Builtin::ListDir.name() {
        return;
    }
    let mut parameters = Value::clone(&spec.parameters);
    if let Some(properties) = parameters["properties"].as_object_mut() {
        properties.retain(|name, _| name == "path");
    }
    spec.parameters = parameters.into();
}
