//! `pibench-host doctor`: whether this machine and these settings could play a suite. It asks each model the question of the
//! preflight, looks, and plays nothing; what it makes is a cache folder.

mod machine;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::run::{EMBEDDED, clients, load_suite, on_terms, planned_suite, policy_path, unnamed};
use super::{cache_dir, plugin_dirs, policy, runtime};
use crate::cli::{DoctorArgs, RunArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::message::Role;
use pibench_core::player;
use pibench_engine::{Probe, preflight};
use pibench_model::cassette::Tape;
use pibench_model::client::Client;
use pibench_model::provider::ProviderError;
use pibench_report::escape;
use pibench_sandbox::document::DOCUMENT;
use pibench_sandbox::shell::{PYTHON, SHELL};
use pibench_sandbox::{LoadError, Plugins};
use pibench_suite::catalog;
use pibench_suite::suite::Suite;

/// One line of the report.
#[derive(Debug, Serialize)]
struct Finding {
    /// What was looked at.
    check: &'static str,
    state: State,
    found: String,
    /// Null where there is nothing to do.
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Problem,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warning(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Warning,
            found: found.into(),
            remedy: Some(remedy.into()),
        }
    }

    fn problem(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Problem,
            ..Self::warning(check, found, remedy)
        }
    }
}

/// Prints what was found, a line for each check.
pub(super) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let path = args.suite.clone().unwrap_or_else(|| EMBEDDED.into());
    let suite = load_suite(&path, &args.set)?;
    let run = of_run(args, &suite);
    let (models, mut findings) = models(&run, &suite);
    findings.extend(plugins(&run, &suite)?);
    // Without a key or a plugin there is nothing to ask, or nothing to ask with.
    if is_sound(&findings) && !models.is_empty() {
        findings.extend(answers(&suite, &run)?);
    }
    findings.push(machine::cache(&cache_dir()));
    findings.push(machine::open_files(&suite, args.jobs));
    findings.push(machine::disk(&args.out));
    if args.json {
        println!("{}", serde_json::to_string(&findings).or_exit(Exit::Bug)?);
    } else {
        findings.iter().for_each(show);
    }
    Ok(if is_sound(&findings) {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}

fn is_sound(findings: &[Finding]) -> bool {
    let mut states = findings.iter().map(|finding| finding.state);
    states.all(|state| state != State::Problem)
}

fn show(finding: &Finding) {
    let Finding {
        check,
        state,
        found,
        remedy,
    } = finding;
    let state = match state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Problem => "problem",
    };
    let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}"));
    // What files and servers say may stand in it.
    let text = escape::line(&format!("{found}{}", remedy.unwrap_or_default()));
    println!("{state:<8} {check:<12} {text}");
}

/// The run that is asked about. Who is not named is as the suite has it.
fn of_run(args: &DoctorArgs, suite: &Suite) -> RunArgs {
    let DoctorArgs {
        suite: path,
        agent,
        user,
        judge,
        persona,
        jobs,
        set,
        plugins,
        policy,
        out: _,
        json: _,
    } = args;
    let judge = if judge.is_empty() {
        suite.judge.iter().cloned().collect()
    } else {
        judge.clone()
    };
    RunArgs {
        suite: path.clone(),
        agent: vec![agent.as_ref().unwrap_or(&suite.agent).clone()],
        user: user.as_ref().or(suite.user.as_ref()).cloned(),
        judge,
        persona: persona.clone(),
        jobs: *jobs,
        set: set.clone(),
        plugins: plugins.clone(),
        policy: policy.clone(),
        ..RunArgs::default()
    }
}

/// The real models of the roles, and what is to be said of their settings, certificates and keys.
fn models(run: &RunArgs, suite: &Suite) -> (Vec<Client>, Vec<Finding>) {
    let mut found = clients(suite, Tape::Off);
    let user = run.user.iter().map(|spec| (Role::User, spec.as_str()));
    let agents = run.agent.iter().flat_map(|agents| catalog::panel(agents));
    let judges = run.judge.iter().flat_map(|judges| catalog::panel(judges));
    let roles = agents
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
    if let Some((told, options)) = unnamed(run, suite) {
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

/// The plugins that the suite and the agent's own tools need: each that cannot be used, and one line for the others.
fn plugins(run: &RunArgs, suite: &Suite) -> Result<Vec<Finding>, Failure> {
    let dirs = plugin_dirs(run.plugins.as_deref());
    let terms = policy(policy_path(suite, run))?;
    let (_, plugins) = on_terms(suite, dirs, terms.as_ref(), run.jobs)?;
    let needed = suite.plugin_names();
    let own = [PYTHON, SHELL, DOCUMENT].map(str::to_owned);
    let names: BTreeSet<String> = needed.iter().cloned().chain(own).collect();
    let (mut findings, mut there) = (Vec::new(), Vec::new());
    for name in &names {
        let papers = plugins.papers(name).and_then(|papers| {
            plugins.decided(name, &papers)?;
            Ok(papers)
        });
        match papers {
            Ok(papers) => there.push((name.as_str(), papers.pinned)),
            Err(error @ LoadError::Missing { .. }) if !needed.contains(name) => {
                let found = format!("failed to {error}");
                findings.push(Finding::warning(
                    "plugins",
                    found,
                    "the agent's tools go without it",
                ));
            }
            Err(error) => {
                let found = format!("failed to {error}");
                findings.push(Finding::problem("plugins", found, "mend or build it"));
            }
        }
    }
    findings.push(usable(&there, &plugins));
    Ok(findings)
}

fn usable(there: &[(&str, bool)], plugins: &Plugins) -> Finding {
    let names = |of: &dyn Fn(&(&str, bool)) -> bool| -> Vec<&str> {
        let found = there.iter().filter(|one| of(one));
        found.map(|(name, _)| *name).collect()
    };
    let loose = names(&|(_, pinned)| !pinned);
    let uncompiled = names(&|(name, _)| !plugins.is_compiled(name));
    let mut found = format!("{} needed and found", there.len());
    if !uncompiled.is_empty() {
        let later = uncompiled.join(", ");
        found = format!("{found}; compiled when they are first used: {later}");
    }
    if loose.is_empty() {
        return Finding::ok("plugins", format!("{found}; all pinned"));
    }
    let found = format!("{found}; not pinned: {}", loose.join(", "));
    Finding::warning("plugins", found, "`pibench-host plugin lock` pins a folder")
}

/// What the models say to the question of the preflight: all agents, and beside the first of them the other roles.
fn answers(suite: &Suite, run: &RunArgs) -> Result<Vec<Finding>, Failure> {
    let agents = run.agent.iter().flat_map(|agents| catalog::panel(agents));
    let mut findings = Vec::new();
    for (at, agent) in agents.enumerate() {
        let alone = RunArgs {
            user: Some("lexical".into()),
            judge: vec!["lexical".into()],
            ..run.clone()
        };
        let one = RunArgs {
            agent: vec![agent.to_owned()],
            ..if at == 0 { run.clone() } else { alone }
        };
        findings.extend(answers_beside(suite, one)?);
    }
    Ok(findings)
}

fn answers_beside(suite: &Suite, run: RunArgs) -> Result<Vec<Finding>, Failure> {
    let dir = tempfile::tempdir().or_exit(Exit::Io)?;
    let out = Utf8Path::from_path(dir.path()).map(|dir| dir.join("run"));
    let run = RunArgs {
        out: Some(out.unwrap_or_else(|| Utf8PathBuf::from("run"))),
        ..run
    };
    let plan = match planned_suite(suite.clone(), &run, Tape::Off) {
        Ok(plan) => plan,
        Err(failure) => {
            let found = format!("failed to {}", failure.reason());
            return Ok(vec![Finding::problem("settings", found, "mend it")]);
        }
    };
    match runtime()?.block_on(preflight(&plan)) {
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
