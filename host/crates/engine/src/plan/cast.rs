//! Who plays: names of agents, user agents and judges to those that play by them, and what they may cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AgentRole, PlanError, Roles};
use crate::judge::Judge;
use crate::role::prompts::Prompts;
use crate::spending::Spending;
use crate::user::UserAgent;
use pibench_agent::AgentPrompts;
use pibench_core::cost::MicroUsd;
use pibench_core::message::Role;
use pibench_core::player;
use pibench_core::vocabulary::ScaffoldPrompt;
use pibench_model::cassette::Tape;
use pibench_model::client::{Client, Clients};
use pibench_model::external::External;
use pibench_model::provider::{ProviderError, process_environment};
use pibench_record::Manifest;
use pibench_suite::catalog;
use pibench_suite::catalog::Catalog;
use pibench_suite::manifest::ModelFile;
use pibench_suite::suite::Suite;

/// What the outputs of another program say of who played user and judge: nothing.
pub(crate) const UNKNOWN: &str = "not recorded";

/// Who plays, as it was asked for.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) agent: String,
    pub(super) user: String,
    /// Several with commas between them.
    pub(super) judge: String,
    /// The agent's system prompt, unless the operator has one.
    pub(super) scaffold_prompt: ScaffoldPrompt,
}

impl Names {
    /// Those of a run that was played.
    pub(super) fn played(manifest: &Manifest) -> Self {
        let coached = manifest.scaffold_prompt.as_deref() == Some("coached");
        // Who played an imported run has a name and no server: nobody here is asked in its place.
        let imported = manifest.imported.is_some();
        let there = |name: &str, other: &str| {
            let name = if imported { other } else { name };
            name.to_owned()
        };
        let judge = match manifest.judge.as_str() {
            UNKNOWN if imported => player::LEXICAL,
            judge => judge,
        };
        Self {
            agent: there(&manifest.agent, "nop"),
            user: there(&manifest.user, player::LEXICAL),
            judge: judge.to_owned(),
            scaffold_prompt: if coached {
                ScaffoldPrompt::Coached
            } else {
                ScaffoldPrompt::Neutral
            },
        }
    }

    /// Those of a suite, of whose agents this one plays.
    pub(super) fn of(suite: &Suite, agent: &str) -> Self {
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| player::LEXICAL.into());
        Self {
            agent: agent.to_owned(),
            user: named(&suite.user),
            judge: named(&suite.judge),
            scaffold_prompt: suite.scaffold_prompt,
        }
    }

    /// The agent's prompts by its wording and the operator's files.
    pub(super) fn agent_prompts(&self, prompts: &Prompts) -> Result<AgentPrompts, PlanError> {
        let own = [AgentPrompts::SYSTEM, AgentPrompts::SUBAGENT].map(|file| prompts.own(file));
        AgentPrompts::new(self.scaffold_prompt, own[0], own[1]).map_err(PlanError::input)
    }
}

/// A model that cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("set up `{spec}`")]
struct NoModel {
    spec: String,
    source: ProviderError,
}

/// The agents of a suite, each once.
pub fn agents(suite: &Suite) -> Result<Vec<String>, PlanError> {
    let agents: Vec<String> = catalog::panel(&suite.agent).map(str::to_owned).collect();
    for (at, agent) in agents.iter().enumerate() {
        if agents[..at].contains(agent) {
            return Err(PlanError::asked(format!(
                "play the agent `{agent}` twice; --runs N plays it N times"
            )));
        }
    }
    Ok(agents)
}

/// The models of a suite.
pub fn clients(suite: &Suite, tape: Tape) -> Clients<'static> {
    let catalog = Catalog::with(&suite.providers, &suite.models);
    Clients::new(catalog, &process_environment, tape)
}

/// Models that nobody asks, by the names and settings of a record: the suite's entries for them may be gone, and no variable of this
/// machine says where they are.
pub(super) fn recorded(manifest: &Manifest, names: &Names) -> Clients<'static> {
    let mut catalog = catalog::built_in();
    // An entry needs one, and it does not matter which.
    let provider = catalog.providers.keys().next().cloned().unwrap_or_default();
    let played = [names.agent.as_str(), names.user.as_str()];
    for spec in played.into_iter().chain(catalog::panel(&names.judge)) {
        let mut settings = manifest.models.values().flatten();
        let was = settings.find(|settings| settings.name == spec);
        let model = ModelFile {
            provider: provider.clone(),
            model: was.map_or(spec, |was| was.model.as_str()).to_owned(),
            format: was.map(|was| was.format),
            vision: was.is_none_or(|was| was.vision),
            temperature: was.map(|was| was.temperature),
            thinking: BTreeMap::new(),
            plain: BTreeMap::new(),
            always_thinks: false,
            max_output_tokens: None,
            max_tools: None,
            price: None,
        };
        catalog.models.insert(spec.to_owned(), model);
    }
    Clients::new(catalog, &|_| None, Tape::Silent)
}

/// Everybody who plays, and the money that they may spend.
pub(super) fn cast(
    names: Names,
    prompts: &Prompts,
    clients: &mut Clients<'_>,
    max_cost: Option<f64>,
) -> Result<(Roles, Spending), PlanError> {
    let agent_prompts = names.agent_prompts(prompts);
    let Names {
        agent,
        user,
        judge,
        scaffold_prompt: _,
    } = names;
    let meter = clients.meter();
    // What an agent's own models cost is known when it tells it, if it does.
    let process = player::process(&agent).map(|_| agent.clone());
    let mut unpriced: Vec<String> = process.into_iter().collect();
    let mut client = |spec: &str, role| -> Result<Client, PlanError> {
        let client = clients.client(spec, role);
        let client = client.map_err(|source| NoModel {
            spec: spec.to_owned(),
            source,
        });
        let client = client.map_err(PlanError::asked)?;
        if client.price().is_none() {
            unpriced.push(spec.to_owned());
        }
        Ok(client)
    };
    let roles = Roles {
        agent: match agent.as_str() {
            "reference" => AgentRole::Reference,
            "reactive" => AgentRole::Reactive,
            "nop" => AgentRole::Nop,
            "cheat" => AgentRole::Cheat,
            name if player::is_external(name) => AgentRole::External(External::default()),
            name if player::process(name).is_some() => AgentRole::Process,
            spec => AgentRole::Client(client(spec, Role::Agent)?),
        },
        user: match user.as_str() {
            player::LEXICAL => UserAgent::Lexical,
            spec => UserAgent::prompted(client(spec, Role::User)?, prompts),
        },
        judge: match judge.as_str() {
            player::LEXICAL => Judge::Lexical,
            specs => {
                if let Some(twice) = catalog::twice(specs) {
                    return Err(PlanError::asked(format!(
                        "judge by `{twice}` twice: its second vote would be its first; name each judge once"
                    )));
                }
                let panel = catalog::panel(specs).map(|spec| client(spec, Role::Judge));
                Judge::prompted(panel.collect::<Result<_, _>>()?, prompts)
            }
        },
        agent_name: agent,
        agent_prompts: Arc::new(agent_prompts?),
        user_name: user,
        judge_name: judge,
        unpriced,
    };
    let limit = limit(&roles, max_cost)?;
    let spending = Spending {
        meter,
        limit,
        ..Spending::default()
    };
    Ok((roles, spending))
}

/// A bound on what is spent needs a price for everything.
fn limit(roles: &Roles, max_cost: Option<f64>) -> Result<Option<MicroUsd>, PlanError> {
    let Some(usd) = max_cost else {
        return Ok(None);
    };
    if usd.is_nan() || usd <= 0.0 {
        return Err(PlanError::asked(format!(
            "use --max-cost {usd}: want US dollars above 0, or `inf` for no bound"
        )));
    }
    if usd.is_infinite() {
        return Ok(None);
    }
    if let Some(model) = roles.unpriced.first() {
        return Err(PlanError::asked(format!(
            "keep to --max-cost: the price of `{model}` is not known; put it into [models.NAME] of the suite, or where that is \
             not yours to change say --set models.NAME.provider=PROVIDER --set models.NAME.model=MODEL \
             --set models.NAME.price.input=USD --set models.NAME.price.output=USD, and play NAME"
        )));
    }
    Ok(Some(MicroUsd::from_usd(usd)))
}
