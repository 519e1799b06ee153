//! `pibench-host run`.

mod config;
mod several;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use super::{
    finished, guest_limits, plugin_dirs, plugins, policy, runtime, show_problems, warn_of_unknown,
};
use crate::cli::{RunArgs, TapeArgs};
use crate::exit::{Exit, Failure, OrExit};
use crate::open_files;
use pibench_agent::AgentPrompts;
use pibench_core::cost::MicroUsd;
use pibench_core::estimate::{Estimate, assumptions};
use pibench_core::message::Role;
use pibench_core::player;
use pibench_core::player::Mark;
use pibench_core::vocabulary::{PROTOCOL_VERSION, ScaffoldPrompt};
use pibench_engine::judge::Judge;
use pibench_engine::user::UserAgent;
use pibench_engine::user::prompts::Prompts;
use pibench_engine::{
    AgentRole, EpisodeError, Finished, Log, Plan, Roles, RunError, Spending, Toolboxes, list_tools,
};
use pibench_model::cassette;
use pibench_model::cassette::{Cassette, Tape};
use pibench_model::client::{Client, Clients};
use pibench_model::external::External;
use pibench_model::provider::process_environment;
use pibench_model::web::{Corpus, Engine, Live, Recording, Source, Web};
use pibench_record::event::VERSION;
use pibench_record::folder::{FolderError, PluginMark, read_manifest};
use pibench_record::identity::{differences, listed};
use pibench_record::results::RunResults;
use pibench_record::{Manifest, RunFolder};
use pibench_report::estimate::Row;
use pibench_report::progress;
use pibench_report::{escape, estimate, table};
use pibench_sandbox::app::OpenError;
use pibench_sandbox::document::DOCUMENT;
use pibench_sandbox::load::Papers;
use pibench_sandbox::shell::{PYTHON, SHELL};
use pibench_sandbox::{GuestLimits, LoadError, Plugins};
use pibench_suite::catalog;
use pibench_suite::catalog::Catalog;
use pibench_suite::load::{Assignment, LoadedPolicy, load_with};
use pibench_suite::manifest::{WebFile, WebProvider};
use pibench_suite::suite::{Persona, Suite};

/// The embedded suite, beside the working directory of a checkout.
pub(super) const EMBEDDED: &str = "tasks/suite.toml";

/// The environment variable with the key of Brave's search.
const BRAVE_KEY: &str = "BRAVE_API_KEY";

/// Plays a suite, or goes on with a run.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if args.print_config {
        return config::print(args);
    }
    if args.dry_run {
        return dry_run(args);
    }
    let plan = if let Some(dir) = &args.resume {
        if let Some(several) = several::resumed(dir, args)? {
            return several.play(args);
        }
        resumed(dir, args)?
    } else {
        let suite = loaded(args)?;
        let agents = agents(args, &suite)?;
        if agents.len() > 1 {
            return several::planned(&suite, &agents, args)?.play(args);
        }
        begun(suite, args)?
    };
    if let AgentRole::External(_) = plan.roles.agent {
        let folder = plan.folder.root().display();
        return Err(anyhow!(
            "play {folder}: its agent comes from outside; go on with `pibench-host serve --resume {folder}`"
        ))
        .or_exit(Exit::Usage);
    }
    let output = if args.json {
        Output::Json
    } else {
        Output::Table
    };
    played(plan, args.resume.is_some(), output, std::future::ready(()))
}

/// Where the results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Table,
    Json,
    /// The table, on stderr: stdout is somebody else's.
    Stderr,
}

/// What is to be played, by the command line.
pub(super) fn plan_of(args: &RunArgs) -> Result<Plan, Failure> {
    match &args.resume {
        Some(dir) => resumed(dir, args),
        None => begun(loaded(args)?, args),
    }
}

/// The suite that the command line names, with everybody named who has to be.
fn loaded(args: &RunArgs) -> Result<Suite, Failure> {
    let path = args.suite.clone().unwrap_or_else(|| EMBEDDED.into());
    let suite = load_suite(&path, &args.set)?;
    named(args, &suite)?;
    Ok(suite)
}

/// Patterns play user and judge of a real agent by their name only: their verdicts say little of it.
fn named(args: &RunArgs, suite: &Suite) -> Result<(), Failure> {
    let Some((told, options)) = unnamed(args, suite) else {
        return Ok(());
    };
    Err(anyhow!(
        "{told}: want a model for it, as in\n\n    {} {options}\n\nor another one; `lexical` matches patterns, and every score is \
         then marked \"{}\"",
        command_line(),
        Mark::Patterns.words()
    ))
    .or_exit(Exit::Usage)
}

/// What is wrong when a real agent's user or judge is not named, and the options that name them.
pub(super) fn unnamed(args: &RunArgs, suite: &Suite) -> Option<(String, String)> {
    let agent = Names::of(args, suite).agent;
    let real = catalog::panel(&agent).find(|agent| !player::SCRIPTED.contains(agent))?;
    let model = match real {
        player::EXTERNAL => "PROVIDER/MODEL",
        real => real,
    };
    let roles = [
        ("user", args.user.is_none() && suite.user.is_none()),
        ("judge", args.judge.is_empty() && suite.judge.is_none()),
    ];
    let roles = roles.into_iter().filter(|(_, is)| *is);
    let roles: Vec<&str> = roles.map(|(role, _)| role).collect();
    let options: Vec<String> = roles
        .iter()
        .map(|role| format!("--{role} {model}"))
        .collect();
    let told = format!("play `{real}` without a {}", roles.join(" and a "));
    (!roles.is_empty()).then(|| (told, options.join(" ")))
}

/// The command line as it was typed, for a shell.
fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(word.to_string_lossy().into_owned()));
    let words: Vec<String> = std::iter::once("pibench-host".to_owned())
        .chain(words)
        .collect();
    words.join(" ")
}

fn begun(suite: Suite, args: &RunArgs) -> Result<Plan, Failure> {
    let tape = tape(&args.tape, false)?;
    // Before the folder is made: a mistake leaves nothing behind.
    let web = web(&suite, &args.tape)?;
    ready(planned_suite(suite, args, tape)?, web, args)
}

fn resumed(dir: &Utf8Path, args: &RunArgs) -> Result<Plan, Failure> {
    let mut plan = reopened(dir, args.jobs, tape(&args.tape, true)?)?;
    may_go_on(dir, &plan)?;
    plan.spending.limit = limit(&plan.roles, args.max_cost)?;
    let web = web(&plan.suite, &args.tape)?;
    ready(plan, web, args)
}

/// With what only a run that is played has.
fn ready(mut plan: Plan, web: Web, args: &RunArgs) -> Result<Plan, Failure> {
    plan.web = Arc::new(web);
    plan.preflight = !args.no_preflight;
    plan.log = log(&plan, args)?;
    plan.jobs = affordable(&plan);
    Ok(plan)
}

/// As many episodes at once as were asked for and there are open files for.
fn affordable(plan: &Plan) -> usize {
    let (asked, most) = (plan.jobs, open_files::episodes());
    if asked.min(plan.episodes().count()) > most {
        eprintln!(
            "There are not enough open files for {asked} episodes at once (`ulimit -Hn`): {most} are played at once."
        );
    }
    asked.min(most)
}

/// The log of a run that is about to be played.
fn log(plan: &Plan, args: &RunArgs) -> Result<Option<Log>, Failure> {
    let level = args.log_level.unwrap_or(LevelFilter::INFO);
    if level == LevelFilter::OFF {
        return Ok(None);
    }
    let folder = plan.folder.root();
    let log = Log::open(folder, level, EnvFilter::from_env("PIBENCH_LOG"));
    let log = log.with_context(|| format!("write the log of {}", folder.display()));
    log.map(Some).or_exit(Exit::Io)
}

/// The rest is played by the models that the beginning was played by. Nothing is left to play of what was graded again.
fn may_go_on(dir: &Utf8Path, plan: &Plan) -> Result<(), Failure> {
    let folder = plan.folder.root();
    let manifest = read_manifest(folder).or_exit(Exit::InvalidInput)?;
    let now = Manifest {
        models: plan.roles.models(),
        ..manifest.clone()
    };
    let Some(graded) = manifest.graded else {
        return same_run(dir, &manifest, &now);
    };
    Err(anyhow!(
        "go on with {}: it was graded and not played; a grading that was cut off goes on by the same `pibench-host grade {} ...`",
        folder.display(),
        graded.from
    ))
    .or_exit(Exit::Usage)
}

/// How long what stands beside a run may take to end when the run is over.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Plays, with something else that is under way as long.
pub(super) fn played(
    plan: Plan,
    resume: bool,
    output: Output,
    beside: impl Future<Output = ()>,
) -> Result<Exit, Failure> {
    let folder = plan.folder.root().to_owned();
    for mark in plan.roles.players().marks() {
        eprintln!("{}", mark.sentence());
    }
    let finished = displayed(|sender| async move {
        let playing = pibench_engine::play(plan, resume, sender);
        tokio::pin!(playing);
        tokio::pin!(beside);
        tokio::select! {
            finished = &mut playing => {
                let _ = tokio::time::timeout(LAST_WORD, beside).await;
                finished
            }
            () = &mut beside => playing.await,
        }
    })?;
    let again = format!("pibench-host run --resume {}", folder.display());
    if let Finished::All { results, .. } = &finished {
        match output {
            Output::Table => show(results, false, &folder)?,
            Output::Json => show(results, true, &folder)?,
            Output::Stderr => eprintln!("{}", table::results(results)),
        }
    }
    Ok(ended(&[finished], &again))
}

/// Plays with a display of its progress.
fn displayed<T, F: Future<Output = Result<T, RunError>>>(
    play: impl FnOnce(mpsc::UnboundedSender<progress::Progress>) -> F,
) -> Result<T, Failure> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let display = progress::display(receiver, std::io::stderr().is_terminal());
    let runtime = runtime()?;
    let played = runtime.block_on(play(sender));
    // All episodes have ended: what is left are connections, closed beside what is left to do here.
    runtime.shutdown_background();
    // The display ends when the last sender is gone.
    let _ = display.join();
    played.map_err(|error| Failure {
        exit: exit_of_error(&error),
        error: error.into(),
    })
}

/// Says what kept runs from their end, and how to go on; the exit of all together.
fn ended(all: &[Finished], again: &str) -> Exit {
    let (mut cut, mut out_of_money, mut rejected) = (false, false, false);
    let mut results_of = Vec::new();
    for one in all {
        let Finished::All {
            results,
            broken,
            spent,
            setup,
        } = one
        else {
            eprintln!("Interrupted. Go on with: {again}");
            return Exit::Interrupted;
        };
        for reason in broken.iter().chain(spent).chain(setup) {
            // A server's words stand in it.
            eprintln!("error: failed to {}", escape::line(reason));
        }
        cut |= !broken.is_empty();
        out_of_money |= spent.is_some();
        rejected |= setup.is_some();
        results_of.push(&**results);
    }
    if rejected {
        eprintln!("Mend it, then go on with: {again}");
    } else if cut || out_of_money {
        eprintln!("Go on with: {again}");
    }
    if rejected {
        Exit::Setup
    } else if out_of_money {
        Exit::Spent
    } else if cut {
        Exit::Infrastructure
    } else {
        finished(results_of)
    }
}

/// What becomes of the models' answers. `resume`: a recording is gone on with.
pub(super) fn tape(args: &TapeArgs, resume: bool) -> Result<Tape, Failure> {
    let TapeArgs {
        record,
        replay,
        judge_cache,
    } = args;
    let tape = match (record, replay, judge_cache) {
        (Some(dir), ..) => Cassette::record(dir.as_std_path(), resume).map(Tape::Record),
        (_, Some(dir), _) => Cassette::replay(dir.as_std_path()).map(Tape::Replay),
        (.., Some(dir)) => Cassette::cache(dir.as_std_path()).map(Tape::Cache),
        (None, None, None) => Ok(Tape::Off),
    };
    tape.or_exit(Exit::InvalidInput)
}

/// A bound on what is spent needs a price for everything.
fn limit(roles: &Roles, max_cost: Option<f64>) -> Result<Option<MicroUsd>, Failure> {
    let Some(usd) = max_cost else {
        return Ok(None);
    };
    if !(usd.is_finite() && usd > 0.0) {
        return Err(anyhow!("use --max-cost {usd}: want US dollars above 0")).or_exit(Exit::Usage);
    }
    if let Some(model) = roles.unpriced.first() {
        return Err(anyhow!(
            "keep to --max-cost: the price of `{model}` is not known; put it into [models.NAME] of the suite"
        ))
        .or_exit(Exit::Usage);
    }
    Ok(Some(MicroUsd::from_usd(usd)))
}

pub(super) fn show(results: &RunResults, json: bool, folder: &Path) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string(results).or_exit(Exit::Bug)?;
        println!("{text}");
    } else {
        println!("{}", table::results(results));
    }
    eprintln!("Run folder: {}", folder.display());
    Ok(())
}

fn exit_of_error(error: &RunError) -> Exit {
    match error {
        RunError::Episode(EpisodeError::Setup { .. }) => Exit::Setup,
        RunError::Episode(
            EpisodeError::Load(_)
            | EpisodeError::Tools { .. }
            | EpisodeError::Open(
                OpenError::Records { .. } | OpenError::Load(_) | OpenError::Fault { .. },
            ),
        ) => Exit::InvalidInput,
        RunError::Task(_) => Exit::Bug,
        RunError::Episode(_) | RunError::Journal(_) | RunError::Folder(_) => Exit::Io,
    }
}

/// A suite file that is sound with these settings of the command line, its warnings shown; else every problem of it.
pub(super) fn load_suite(path: &Utf8Path, set: &[Assignment]) -> Result<Suite, Failure> {
    match load_with(path, set) {
        Ok(loaded) => {
            show_problems(&loaded.warnings);
            Ok(loaded.suite)
        }
        Err(problems) => {
            show_problems(&problems.0);
            let count = problems
                .0
                .iter()
                .filter(|problem| problem.is_error())
                .count();
            Err(anyhow!(
                "load {path}: {count} {}",
                if count == 1 { "error" } else { "errors" }
            ))
            .or_exit(Exit::InvalidInput)
        }
    }
}

/// Plans the run in a folder that is thrown away, and says what it would ask. No key is needed.
fn dry_run(args: &RunArgs) -> Result<Exit, Failure> {
    let suite = loaded(args)?;
    let mut limit = None;
    let (mut costs, mut objects) = (Vec::new(), Vec::new());
    for agent in agents(args, &suite)? {
        let dir = tempfile::tempdir().or_exit(Exit::Io)?;
        let out = Utf8PathBuf::from_path_buf(dir.path().join("run"))
            .map_err(|path| anyhow!("use {}: it is not UTF-8", path.display()))
            .or_exit(Exit::Io)?;
        let args = RunArgs {
            agent: vec![agent],
            out: Some(out),
            ..args.clone()
        };
        let plan = Plan {
            preflight: !args.no_preflight,
            ..planned_suite(suite.clone(), &args, Tape::Silent)?
        };
        let estimated = runtime()?.block_on(pibench_engine::estimate(&plan));
        let total = estimated.or_exit(Exit::InvalidInput)?;
        let personas = plan
            .personas()
            .map(|persona| plan.sessions(persona).count());
        let (sessions, rows) = (personas.sum(), asked(&plan.roles, &total));
        limit = plan.spending.limit;
        costs.push(estimate::total(&rows));
        if args.json {
            objects.push(estimate::object(sessions, plan.runs, &total, &rows));
        } else {
            println!("{}", estimate::estimate(sessions, plan.runs, &total, &rows));
        }
    }
    let cost = estimate::sum(costs);
    if args.json {
        let above = cost.zip(limit).map(|(cost, limit)| cost > limit);
        let all = json!({
            "agents": objects, "cost": cost, "max_cost": limit, "above_max_cost": above,
            "assumptions": assumptions(),
        });
        println!("{all}");
    } else if let Some(line) = estimate::bound(cost, limit) {
        println!("\n{line}");
    }
    Ok(Exit::Complete)
}

fn asked(roles: &Roles, total: &Estimate) -> Vec<Row> {
    let row = |role, model: &str, client: Option<&Client>, load| Row {
        role,
        model: model.to_owned(),
        asked: client.map(|client| (load, client.price())),
    };
    let agent = match &roles.agent {
        AgentRole::Client(client) => Some(client),
        AgentRole::Reference
        | AgentRole::Reactive
        | AgentRole::Nop
        | AgentRole::Cheat
        | AgentRole::External(_) => None,
    };
    let mut rows = vec![
        row("agent", &roles.agent_name, agent, total.agent),
        row("user", &roles.user_name, roles.user.client(), total.user),
    ];
    let judges = roles.judge.clients();
    rows.extend(judges.map(|judge| row("judge", judge.spec(), Some(judge), total.judge)));
    if matches!(roles.judge, Judge::Lexical) {
        rows.push(row("judge", &roles.judge_name, None, total.judge));
    }
    rows
}

/// The plan of a suite that is loaded, in a run folder of its own.
pub(super) fn planned_suite(suite: Suite, args: &RunArgs, tape: Tape) -> Result<Plan, Failure> {
    let shared = shared(&suite, args)?;
    let mut clients = clients(&suite, tape);
    let prepared = prepared(&suite, args, &shared, &mut clients)?;
    tools_fit(&suite, &shared, &prepared)?;
    placed(suite, args, &shared, prepared)
}

/// A persona with more tools than the agent's server takes is refused before anything is made or asked.
fn tools_fit(suite: &Suite, shared: &Shared, prepared: &Prepared) -> Result<(), Failure> {
    let AgentRole::Client(agent) = &prepared.roles.agent else {
        return Ok(());
    };
    // A recording takes what it took.
    let Some(most) = agent.max_tools().filter(|_| !agent.is_replayed()) else {
        return Ok(());
    };
    let Manifest {
        personas,
        sessions,
        scaffold,
        ..
    } = &prepared.manifest;
    let is_played = |persona: &&Persona| {
        let mut all = persona.sessions.iter();
        (personas.is_empty() || personas.contains(&persona.id))
            && (sessions.is_empty() || all.any(|session| sessions.contains(&session.id)))
    };
    let runtime = runtime()?;
    for persona in suite.personas.iter().filter(is_played) {
        let listed = list_tools(persona, &shared.plugins, shared.limits.app, *scaffold);
        let toolbox = runtime.block_on(listed).or_exit(Exit::InvalidInput)?;
        let count = toolbox.specs().len();
        if count > most as usize {
            let (id, model, provider) = (&persona.id, agent.spec(), agent.provider());
            return Err(anyhow!(
                "play {id} with {model}: it has {count} tools, built-in ones among them, and {provider} takes {most} in a \
                 request; shorten `tools` of its persona.toml, choose another model, or set `max_tools` of \
                 [providers.{provider}] in the suite if its server takes more"
            ))
            .or_exit(Exit::InvalidInput);
        }
    }
    Ok(())
}

/// The plan of what is prepared, in a new folder.
fn placed(
    suite: Suite,
    args: &RunArgs,
    shared: &Shared,
    prepared: Prepared,
) -> Result<Plan, Failure> {
    let Prepared {
        manifest,
        roles,
        spending,
    } = prepared;
    let out = args
        .out
        .clone()
        .map_or_else(|| default_out(&suite.id), Utf8PathBuf::into_std_path_buf);
    decided(&suite, &shared.plugins)?;
    let folder = RunFolder::create(&out, &manifest).or_exit(Exit::Io)?;
    let plugins = Arc::clone(&shared.plugins);
    let limits = &shared.limits;
    let mut plan = plan(suite, &manifest, roles, limits, plugins, folder, args.jobs);
    plan.spending = spending;
    Ok(plan)
}

/// What the plans of all agents of a suite share.
struct Shared {
    prompts: Prompts,
    policy: Option<LoadedPolicy>,
    dirs: Vec<PathBuf>,
    limits: GuestLimits,
    plugins: Arc<Plugins>,
    marks: BTreeMap<String, PluginMark>,
}

fn shared(suite: &Suite, args: &RunArgs) -> Result<Shared, Failure> {
    known(suite, args)?;
    let dirs = plugin_dirs(args.plugins.as_deref());
    let policy = policy(policy_path(suite, args))?;
    let (limits, plugins) = on_terms(suite, dirs.clone(), policy.as_ref(), args.jobs)?;
    Ok(Shared {
        prompts: Prompts::load(args.prompts.as_deref()).or_exit(Exit::InvalidInput)?,
        marks: marks(suite, &plugins)?,
        policy,
        dirs,
        limits,
        plugins,
    })
}

/// The policy in effect: that of the command line, else the suite's.
pub(super) fn policy_path<'a>(suite: &'a Suite, args: &'a RunArgs) -> Option<&'a Utf8Path> {
    args.policy.as_deref().or(suite.policy.as_deref())
}

/// What a command line and a suite decide for one agent, before a folder is made.
struct Prepared {
    manifest: Manifest,
    roles: Roles,
    spending: Spending,
}

fn prepared(
    suite: &Suite,
    args: &RunArgs,
    shared: &Shared,
    clients: &mut Clients<'_>,
) -> Result<Prepared, Failure> {
    let Shared {
        prompts,
        policy,
        dirs,
        limits,
        plugins: _,
        marks,
    } = shared;
    let (roles, mut spending) = roles(Names::of(args, suite), prompts, clients)?;
    spending.limit = limit(&roles, args.max_cost)?;
    if args.scaffold_prompt.is_some() && prompts.own(AgentPrompts::SYSTEM).is_some() {
        return Err(anyhow!(
            "use --scaffold-prompt: {} of --prompts goes in its place; leave one of them out",
            AgentPrompts::SYSTEM
        ))
        .or_exit(Exit::Usage);
    }
    let runs = args
        .runs
        .or(suite.runs)
        .unwrap_or(if roles.scripted() { 1 } else { 3 });
    let manifest = Manifest {
        version: VERSION,
        host: env!("CARGO_PKG_VERSION").into(),
        started: jiff::Timestamp::now().to_string(),
        suite: suite.id.clone(),
        suite_path: absolute(&suite.path)?,
        suite_digest: suite.digest.clone(),
        suite_parts: suite.parts.clone(),
        protocol_version: PROTOCOL_VERSION,
        protocol: args.protocol.map_or(suite.protocol, Into::into),
        scaffold: args.scaffold.map_or(suite.scaffold, Into::into),
        scaffold_prompt: Some(roles.agent_prompts.wording.into()),
        scaffold_prompt_digest: Some(roles.agent_prompts.digest()),
        agent: roles.agent_name.clone(),
        user: roles.user_name.clone(),
        judge: roles.judge_name.clone(),
        players: roles.players(),
        models: roles.models(),
        runs,
        seed: args.seed.unwrap_or(suite.seed),
        personas: chosen(&args.persona, &suite.filter.personas),
        sessions: chosen(&args.session, &suite.filter.sessions),
        ablate: args.ablate.map_or(suite.ablate, Into::into),
        shard: args.shard,
        graded: None,
        set: args.set.iter().map(Assignment::to_string).collect(),
        plugin_dirs: dirs.iter().map(|dir| dir.display().to_string()).collect(),
        prompts: args.prompts.as_ref().map(|dir| absolute(dir)).transpose()?,
        prompts_version: prompts.version(),
        prompts_digest: prompts.digest().to_owned(),
        policy: policy_path(suite, args).map(absolute).transpose()?,
        policy_digest: policy.as_ref().map(|policy| policy.digest.clone()),
        plugins: marks.clone(),
        limits: for_record(limits),
        imported: None,
    };
    Ok(Prepared {
        manifest,
        roles,
        spending,
    })
}

/// The plan of a run folder, as it was made: nothing that a score depends on may have changed since.
pub(super) fn reopened(dir: &Utf8Path, jobs: Option<u32>, tape: Tape) -> Result<Plan, Failure> {
    let opened = RunFolder::open(dir.as_std_path());
    reopened_with(dir, opened, jobs, |suite, names, prompts| {
        roles(names, prompts, &mut clients(suite, tape))
    })
}

/// The same to look at it: no model is asked, and nothing is written to the folder.
/// `suite`: where its file is now, if that is elsewhere than it was.
pub(super) fn looked_at(dir: &Utf8Path, suite: Option<&Utf8Path>) -> Result<Plan, Failure> {
    let mut opened = RunFolder::read(dir.as_std_path());
    if let (Ok((_, manifest)), Some(suite)) = (&mut opened, suite) {
        suite.as_str().clone_into(&mut manifest.suite_path);
    }
    reopened_with(dir, opened, None, |suite, names, prompts| {
        roles(names, prompts, &mut clients(suite, Tape::Silent))
    })
}

/// That with another user agent and judge, and no agent: for judging it again.
pub(super) fn reopened_for(dir: &Utf8Path, judge: &str, tape: Tape) -> Result<Plan, Failure> {
    let opened = RunFolder::read(dir.as_std_path());
    reopened_with(dir, opened, None, |suite, played, prompts| {
        let names = Names {
            agent: "nop".into(),
            user: judge.to_owned(),
            judge: judge.to_owned(),
            ..played
        };
        roles(names, prompts, &mut clients(suite, tape))
    })
}

/// The settings that a run was given on its command line.
pub(super) fn assignments(manifest: &Manifest) -> Result<Vec<Assignment>, Failure> {
    let set = manifest.set.iter().map(|text| text.parse());
    set.collect::<Result<_, String>>()
        .map_err(|reason| anyhow!("use the settings of manifest.json: {reason}"))
        .or_exit(Exit::InvalidInput)
}

fn reopened_with(
    dir: &Utf8Path,
    opened: Result<(RunFolder, Manifest), FolderError>,
    jobs: Option<u32>,
    cast: impl FnOnce(&Suite, Names, &Prompts) -> Result<(Roles, Spending), Failure>,
) -> Result<Plan, Failure> {
    let (folder, manifest) = opened.map_err(|error| {
        let exit = if matches!(error, FolderError::Read { .. }) {
            Exit::InvalidInput
        } else {
            Exit::Io
        };
        Failure {
            exit,
            error: error.into(),
        }
    })?;
    if manifest.imported.is_some() {
        return Err(anyhow!(
            "go on with {dir}: it was imported and not played here; report, compare, view and verify take it"
        ))
        .or_exit(Exit::InvalidInput);
    }
    same_rules("go on with", dir, &manifest)?;
    let suite = load_suite(
        Utf8Path::new(&manifest.suite_path),
        &assignments(&manifest)?,
    )?;
    let own_prompts = manifest.prompts.as_deref().map(Utf8Path::new);
    let prompts = Prompts::load(own_prompts).or_exit(Exit::InvalidInput)?;
    let policy = policy(manifest.policy.as_deref().map(Utf8Path::new))?;
    let (limits, plugins) = on_terms(&suite, plugin_dirs_of(&manifest), policy.as_ref(), jobs)?;
    let now = Manifest {
        suite_digest: suite.digest.clone(),
        suite_parts: suite.parts.clone(),
        prompts_digest: prompts.digest().to_owned(),
        plugins: marks(&suite, &plugins)?,
        limits: for_record(&limits),
        ..manifest.clone()
    };
    same_run(dir, &manifest, &now)?;
    let (roles, spending) = cast(&suite, Names::played(&manifest), &prompts)?;
    let own = manifest.scaffold_prompt_digest.as_ref();
    if own.is_some_and(|own| *own != roles.agent_prompts.digest()) {
        return Err(anyhow!(
            "go on with {dir}: the agent's prompts were changed since"
        ))
        .or_exit(Exit::InvalidInput);
    }
    let mut plan = plan(suite, &manifest, roles, &limits, plugins, folder, jobs);
    plan.spending = spending;
    Ok(plan)
}

/// A run is gone on with, verified and judged by the rules that it was played by.
pub(super) fn same_rules(verb: &str, dir: &Utf8Path, manifest: &Manifest) -> Result<(), Failure> {
    let was = manifest.protocol_version;
    if was == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(anyhow!(
        "{verb} {dir}: it was played by version {was} of the protocol, and this host has version {PROTOCOL_VERSION}; \
         play it anew (report, view and show take it as it is)"
    ))
    .or_exit(Exit::InvalidInput)
}

/// Nothing that a score depends on may have changed since.
fn same_run(dir: &Utf8Path, was: &Manifest, now: &Manifest) -> Result<(), Failure> {
    let changed = differences(was, now);
    if changed.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "go on with {dir}: changed since it was begun: {}; put it back, or play anew (its suite is {})",
        listed(&changed),
        was.suite_path
    ))
    .or_exit(Exit::InvalidInput)
}

/// Where its plugins were, and where this program's are: the folder may have been played on another machine. Their bytes are
/// compared in any case.
pub(super) fn plugin_dirs_of(manifest: &Manifest) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = manifest.plugin_dirs.iter().map(PathBuf::from).collect();
    let mut here = plugin_dirs(None);
    here.retain(|dir| !dirs.contains(dir));
    dirs.extend(here);
    dirs
}

pub(super) fn plan(
    suite: Suite,
    manifest: &Manifest,
    roles: Roles,
    limits: &GuestLimits,
    plugins: Arc<Plugins>,
    folder: RunFolder,
    jobs: Option<u32>,
) -> Plan {
    // The suite's own pages, until the command line says otherwise.
    let web = Arc::new(Web::offline(Corpus::new(suite.corpus.clone())));
    let jobs = at_once(&suite, jobs);
    Plan {
        suite,
        protocol: manifest.protocol,
        played_by: manifest
            .graded
            .as_ref()
            .map_or(manifest.protocol, |graded| graded.protocol),
        scaffold: manifest.scaffold,
        web,
        seed: manifest.seed,
        runs: manifest.runs,
        jobs,
        sessions: manifest.sessions.clone(),
        personas: manifest.personas.clone(),
        ablate: manifest.ablate,
        shard: manifest.shard,
        roles,
        beside: false,
        plugins,
        toolboxes: Toolboxes::default(),
        app_limits: limits.app,
        grader_limits: limits.grader,
        python_limits: limits.python,
        shell_limits: limits.shell,
        document_limits: limits.document,
        folder,
        preflight: false,
        spending: Spending::default(),
        log: None,
    }
}

/// Episodes that are played at once: what the command line says, else the suite, else one for each processor.
pub(super) fn at_once(suite: &Suite, jobs: Option<u32>) -> usize {
    let jobs = jobs.or(suite.jobs);
    jobs.map_or_else(processors, |jobs| jobs as usize)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The agents' web, as the suite wants it. The real one is recorded and replayed with the models.
fn web(suite: &Suite, tape: &TapeArgs) -> Result<Web, Failure> {
    let WebFile { provider, url, .. } = &suite.web;
    let file = |dir: &Utf8PathBuf| dir.join(cassette::WEB).into_std_path_buf();
    if *provider == WebProvider::Offline {
        return Ok(Web::offline(Corpus::new(suite.corpus.clone())));
    }
    if let Some(dir) = &tape.replay {
        let recording = Recording::replay(&file(dir)).or_exit(Exit::InvalidInput)?;
        return Ok(Web::new(Source::Recorded, Some(recording)));
    }
    let engine = if *provider == WebProvider::Brave {
        let key = process_environment(BRAVE_KEY).filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| {
            anyhow!("search with Brave: the environment variable {BRAVE_KEY} is not set")
        });
        Engine::brave(key.or_exit(Exit::Usage)?)
    } else {
        Engine::searxng(url.as_deref().unwrap_or_default())
    };
    let live = Live::new(engine).map_err(|reason| anyhow!("set up the web: {reason}"));
    let recording = tape
        .record
        .as_ref()
        .map(|dir| Recording::record(&file(dir)));
    let recording = recording.transpose().or_exit(Exit::Io)?;
    Ok(Web::new(
        Source::Live(live.or_exit(Exit::Usage)?),
        recording,
    ))
}

/// What the command line names, else what the suite's filter does.
fn chosen(named: &[String], filter: &[String]) -> Vec<String> {
    let chosen = if named.is_empty() { filter } else { named };
    chosen.to_vec()
}

/// A persona or session that the suite does not have is a mistake on the command line.
fn known(suite: &Suite, args: &RunArgs) -> Result<(), Failure> {
    let personas: Vec<&str> = suite
        .personas
        .iter()
        .map(|persona| persona.id.as_str())
        .collect();
    let sessions: Vec<&str> = suite
        .personas
        .iter()
        .flat_map(|persona| &persona.sessions)
        .map(|session| session.id.as_str())
        .collect();
    for (what, wanted, there) in [
        ("persona", &args.persona, personas),
        ("session", &args.session, sessions),
    ] {
        if let Some(unknown) = wanted.iter().find(|id| !there.contains(&id.as_str())) {
            return Err(anyhow!(
                "find {what} `{unknown}`: the suite has {}",
                there.join(", ")
            ))
            .or_exit(Exit::Usage);
        }
    }
    Ok(())
}

/// The agents under test, each once.
fn agents(args: &RunArgs, suite: &Suite) -> Result<Vec<String>, Failure> {
    let Names { agent, .. } = Names::of(args, suite);
    let agents: Vec<String> = catalog::panel(&agent).map(str::to_owned).collect();
    for (at, agent) in agents.iter().enumerate() {
        if agents[..at].contains(agent) {
            return Err(anyhow!(
                "play the agent `{agent}` twice; --runs N plays it N times"
            ))
            .or_exit(Exit::Usage);
        }
    }
    Ok(agents)
}

/// Who plays, as it was asked for.
pub(super) struct Names {
    pub(super) agent: String,
    pub(super) user: String,
    /// Several with commas between them.
    pub(super) judge: String,
    /// The agent's system prompt, unless the operator has one.
    pub(super) scaffold_prompt: ScaffoldPrompt,
}

impl Names {
    /// Those of a run.
    pub(super) fn played(manifest: &Manifest) -> Self {
        let coached = manifest.scaffold_prompt.as_deref() == Some("coached");
        Self {
            agent: manifest.agent.clone(),
            user: manifest.user.clone(),
            judge: manifest.judge.clone(),
            scaffold_prompt: if coached {
                ScaffoldPrompt::Coached
            } else {
                ScaffoldPrompt::Neutral
            },
        }
    }

    fn of(args: &RunArgs, suite: &Suite) -> Self {
        let judge = match args.judge.as_slice() {
            [] => suite
                .judge
                .clone()
                .unwrap_or_else(|| player::LEXICAL.into()),
            judges => judges.join(","),
        };
        let user = args.user.as_ref().or(suite.user.as_ref());
        Self {
            agent: match args.agent.as_slice() {
                [] => suite.agent.clone(),
                agents => agents.join(","),
            },
            user: user.cloned().unwrap_or_else(|| player::LEXICAL.into()),
            judge,
            scaffold_prompt: args
                .scaffold_prompt
                .map_or(suite.scaffold_prompt, Into::into),
        }
    }
}

/// The models of a suite.
pub(super) fn clients(suite: &Suite, tape: Tape) -> Clients<'static> {
    let catalog = Catalog::with(&suite.providers, &suite.models);
    Clients::new(catalog, &process_environment, tape)
}

pub(super) fn roles(
    names: Names,
    prompts: &Prompts,
    clients: &mut Clients<'_>,
) -> Result<(Roles, Spending), Failure> {
    let Names {
        agent,
        user,
        judge,
        scaffold_prompt,
    } = names;
    let own = [AgentPrompts::SYSTEM, AgentPrompts::SUBAGENT].map(|file| prompts.own(file));
    let agent_prompts = AgentPrompts::new(scaffold_prompt, own[0], own[1]);
    let spending = Spending {
        meter: clients.meter(),
        limit: None,
    };
    let mut unpriced = Vec::new();
    let mut client = |spec: &str, role| -> Result<Client, Failure> {
        let client = clients.client(spec, role);
        let client = client
            .with_context(|| format!("set up `{spec}`"))
            .or_exit(Exit::Usage)?;
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
            AgentRole::EXTERNAL => AgentRole::External(External::default()),
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
                    return Err(anyhow!(
                        "judge by `{twice}` twice: its second vote would be its first; name each judge once"
                    ))
                    .or_exit(Exit::Usage);
                }
                let panel = catalog::panel(specs).map(|spec| client(spec, Role::Judge));
                Judge::prompted(panel.collect::<Result<_, _>>()?, prompts)
            }
        },
        agent_name: agent,
        agent_prompts: Arc::new(agent_prompts.or_exit(Exit::InvalidInput)?),
        user_name: user,
        judge_name: judge,
        unpriced,
    };
    Ok((roles, spending))
}

/// The plugins of a suite under a policy, and the limits of all guests. `jobs` as on the command line.
pub(super) fn on_terms(
    suite: &Suite,
    dirs: Vec<PathBuf>,
    policy: Option<&LoadedPolicy>,
    jobs: Option<u32>,
) -> Result<(GuestLimits, Arc<Plugins>), Failure> {
    let policy = policy
        .map(|loaded| loaded.policy.clone())
        .unwrap_or_default();
    let limits = guest_limits(suite, &policy)?;
    let in_policy: Vec<String> = policy.plugins.keys().cloned().collect();
    let places = limits.for_episodes(at_once(suite, jobs));
    let named = suite.plugins.clone();
    let plugins = plugins(named, dirs, &places, policy, suite.lock.as_deref())?;
    warn_of_unknown(&plugins, in_policy.iter());
    Ok((limits, Arc::new(plugins)))
}

pub(super) fn for_record(limits: &GuestLimits) -> BTreeMap<String, serde_json::Value> {
    match json!(limits) {
        serde_json::Value::Object(fields) => fields.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

/// Loads every plugin that the suite needs, so that a missing one is told before anything is played. Those of the agent's
/// own tools are loaded when they are first used: they are looked for only.
pub(super) fn marks(
    suite: &Suite,
    plugins: &Plugins,
) -> Result<BTreeMap<String, PluginMark>, Failure> {
    let needed = suite.plugin_names();
    // The largest first.
    let own = [PYTHON, SHELL, DOCUMENT].into_iter();
    let own = own.filter(|name| !needed.contains(*name));
    let names: Vec<&str> = own.chain(needed.iter().map(String::as_str)).collect();
    let papers = |&name: &&str| {
        if needed.contains(name) {
            plugins.get(name).map(|plugin| plugin.papers())
        } else {
            plugins.papers(name)
        }
    };
    // Reading and hashing some 100 MB is most of the start of a run.
    let papers: Vec<_> = names.par_iter().with_max_len(1).map(papers).collect();
    let mut marks = BTreeMap::new();
    for (name, papers) in names.into_iter().zip(papers) {
        match papers {
            Ok(papers) => {
                marks.insert(name.to_owned(), mark(name, papers));
            }
            // A machine may be without Python: the shell says so where a command needs it.
            Err(LoadError::Missing { .. }) if name == PYTHON && !needed.contains(PYTHON) => {}
            Err(error) => return Err(error).or_exit(Exit::InvalidInput),
        }
    }
    Ok(marks)
}

/// Refuses plugins of others that no policy speaks of, before anything is played or graded.
pub(super) fn decided(suite: &Suite, plugins: &Plugins) -> Result<(), Failure> {
    let own = [PYTHON, SHELL, DOCUMENT].into_iter().map(str::to_owned);
    for name in suite.plugin_names().into_iter().chain(own) {
        // One that is missing was told, if it is needed.
        if plugins.is_there(&name) {
            let papers = plugins.papers(&name);
            let decided = papers.and_then(|papers| plugins.decided(&name, &papers));
            decided.or_exit(Exit::InvalidInput)?;
        }
    }
    Ok(())
}

/// What the manifest keeps of a plugin. What it asked for and did not get is told.
fn mark(name: &str, papers: Papers) -> PluginMark {
    let withheld = papers.declared.without(papers.grants).names();
    if !withheld.is_empty() {
        eprintln!(
            "Plugin {name} asks for {}, which the policy does not grant.",
            withheld.join(", ")
        );
    }
    let grants = papers.grants.names();
    PluginMark {
        sha256: papers.sha256,
        size: papers.size,
        version: papers.facts.version.clone(),
        interface: papers.facts.wit().to_owned(),
        pinned: papers.pinned,
        grants: grants.into_iter().map(str::to_owned).collect(),
        limits: json!(papers.cap),
    }
}

pub(super) fn absolute(path: &Utf8Path) -> Result<String, Failure> {
    let path = path
        .canonicalize_utf8()
        .with_context(|| format!("find {path}"))
        .or_exit(Exit::Io)?;
    Ok(path.into_string())
}

/// A folder by the time of day, with a number where that is taken: two short runs can begin in one second.
fn default_out(suite: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let mut out = PathBuf::from(format!("runs/{suite}-{now}"));
    for number in 2.. {
        if !out.exists() {
            break;
        }
        out = PathBuf::from(format!("runs/{suite}-{now}-{number}"));
    }
    out
}
