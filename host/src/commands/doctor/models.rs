//! The models of the roles: their names, certificates and keys, and what they say to the question of the preflight.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::Finding;
use crate::commands::run::unnamed;
use crate::commands::{make_temporary_folder, runtime};
use crate::exit::Failure;
use pibench_core::message::Role;
use pibench_core::player;
use pibench_engine::plan::{Answers, Machine, Seat, Wanted, clients, resolve};
use pibench_engine::{Probe, preflight};
use pibench_model::cassette::Tape;
use pibench_model::client::Client;
use pibench_model::provider::ProviderError;
use pibench_suite::catalog;
use pibench_suite::suite::Suite;

/// The real models of the roles, and what is to be said of their settings, certificates and keys.
pub(super) fn look(suite: &Suite) -> (Vec<Client>, Vec<Finding>) {
    let mut found = clients(suite, Tape::Off);
    let user = suite.user.iter().map(|spec| (Role::User, spec.as_str()));
    let judges = suite.judge.iter();
    let judges = judges.flat_map(|judges| catalog::panel(judges));
    let roles = catalog::panel(&suite.agent)
        .map(|spec| (Role::Agent, spec))
        .chain(user)
        .chain(judges.map(|spec| (Role::Judge, spec)));
    let (mut models, mut findings) = (Vec::new(), Vec::new());
    for (role, spec) in roles.filter(|(_, spec)| player::is_model(spec)) {
        match found.client(spec, role) {
            Ok(client) => models.push(client),
            Err(error) => findings.push(unusable(&error)),
        }
    }
    if let Some((told, options)) = unnamed(suite) {
        let told = format!("failed to {told}");
        findings.push(Finding::problem("models", told, options));
    }
    if models.is_empty() && findings.is_empty() {
        let all = "all scripted: no model is asked (--agent, --user and --judge name some)";
        findings.push(Finding::ok("models", all));
    }
    findings.extend(keys(&models));
    if models.iter().any(Client::is_secured) {
        findings.push(Finding::ok("certificates", "found"));
    }
    (models, findings)
}

fn unusable(error: &ProviderError) -> Finding {
    let said = format!("failed to {error}");
    match error {
        ProviderError::NoKey { variable, .. } | ProviderError::BadKey { variable, .. } => {
            Finding::problem("keys", said, format!("export {variable}=..."))
        }
        ProviderError::Setup { .. } => {
            Finding::problem("certificates", said, "install them, or name their file")
        }
        ProviderError::UnknownModel { .. }
        | ProviderError::Unknown { .. }
        | ProviderError::BadUrl { .. } => {
            Finding::problem("models", said, "mend the name, or the suite's entry")
        }
    }
}

/// A line for each variable, with who uses it; its value is nobody's business.
fn keys(models: &[Client]) -> Vec<Finding> {
    let mut users: BTreeMap<&str, (bool, BTreeSet<&str>)> = BTreeMap::new();
    for model in models {
        if let Some(variable) = model.key_env() {
            let (is_set, specs) = users.entry(variable).or_default();
            *is_set = model.has_key();
            specs.insert(model.spec());
        }
    }
    let line = |(variable, (is_set, specs)): (&str, (bool, BTreeSet<&str>))| {
        let specs: Vec<&str> = specs.into_iter().collect();
        let specs = specs.join(", ");
        if is_set {
            Finding::ok("keys", format!("{variable} is set, for {specs}"))
        } else {
            let found = format!("{variable} is not set, and the address of {specs} was replaced");
            Finding::warning("keys", found, "set it if the server there wants a key")
        }
    };
    users.into_iter().map(line).collect()
}

/// What the models say to the question of the preflight: all agents, and beside the first of them the other roles.
pub(super) fn ask(
    machine: &Machine,
    suite: &Suite,
    plugins: Option<&Utf8Path>,
) -> Result<Vec<Finding>, Failure> {
    let mut alone = suite.clone();
    alone.user = Some(player::LEXICAL.into());
    alone.judge = Some(player::LEXICAL.into());
    let trial = Wanted {
        plugins: plugins.map(ToOwned::to_owned),
        ..Wanted::default()
    };
    let mut findings = Vec::new();
    for (at, agent) in catalog::panel(&suite.agent).enumerate() {
        let suite = if at == 0 { suite } else { &alone };
        findings.extend(ask_beside(machine, suite, &trial, agent)?);
    }
    Ok(findings)
}

fn ask_beside(
    machine: &Machine,
    suite: &Suite,
    trial: &Wanted,
    agent: &str,
) -> Result<Vec<Finding>, Failure> {
    let dir = make_temporary_folder()?;
    let out = Utf8Path::from_path(dir.path()).map(|dir| dir.join("run"));
    let seat = Seat {
        agent: agent.to_owned(),
        out: Some(out.unwrap_or_else(|| Utf8PathBuf::from("run"))),
        answers: Answers::Asked,
    };
    let runtime = runtime()?;
    let plan = match runtime.block_on(resolve(machine, suite, trial, seat)) {
        Ok(plan) => plan,
        Err(error) => {
            let found = format!("failed to {}", Failure::from(error).reason());
            return Ok(vec![Finding::problem("settings", found, "mend it")]);
        }
    };
    match runtime.block_on(preflight(&plan)) {
        Ok(probes) => Ok(probes.iter().map(answer).collect()),
        Err(error) => {
            let found = format!("failed to {error}");
            Ok(vec![Finding::problem("plugins", found, "mend the plugin")])
        }
    }
}

fn answer(probe: &Probe) -> Finding {
    match &probe.answer {
        Ok(_) => Finding::ok("models", probe.line()),
        Err(error) => Finding {
            // The error says it.
            remedy: None,
            ..Finding::problem("models", format!("{} failed to {error}", probe.who()), "")
        },
    }
}
