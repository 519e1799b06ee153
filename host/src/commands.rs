//! One file per command, one public function each: an adapter from the command line to the library, where errors get
//! their exit code.

mod audit;
mod check;
mod compare;
mod compile_component;
mod doctor;
mod grade;
mod import;
mod list;
mod merge;
mod plugin;
mod report;
mod review;
mod run;
mod schema;
mod serve;
mod show;
mod trajectory;
mod verify;
mod view;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use miette::{GraphicalReportHandler, GraphicalTheme};

use crate::cli::{Cli, Command};
use crate::exit::{Exit, Failure, OrExit};
use pibench_agent::builtin;
use pibench_core::message::ToolSpec;
use pibench_record::event::FaultKind;
use pibench_record::results::RunResults;
use pibench_report::escape;
use pibench_sandbox::{App, GuestLimits, Limits, Plugins, Terms, lock};
use pibench_suite::load::LoadedPolicy;
use pibench_suite::manifest::PolicyFile;
use pibench_suite::problem::{Problem, lines, render};
use pibench_suite::suite::Suite;

/// Runs the command; its exit, or what to say of its failure.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Check(args) => check::check(&args),
        Command::List(args) => list::list(&args),
        Command::Schema(args) => schema::schema(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Report(args) => report::report(&args),
        Command::Show(args) => show::show(&args),
        Command::Trajectory(args) => trajectory::trajectory(&args),
        Command::View(args) => view::view(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Grade(args) => grade::grade(&args),
        Command::Review(args) => review::review(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Import(args) => import::import(args),
        Command::Plugin(args) => plugin::plugin(&args),
        Command::CompileComponent(args) => compile_component::compile_component(&args),
    }
}

/// The exit of runs that are finished. Of several kinds of faults, a judge's come first, which leave sessions unscored, then
/// those of guests, which score 0; what models fail at is their score.
fn finished<'a>(runs: impl IntoIterator<Item = &'a RunResults>) -> Exit {
    let faults = runs.into_iter().flat_map(|results| &results.faults);
    let kinds: Vec<FaultKind> = faults.map(|line| line.fault.kind).collect();
    if kinds.contains(&FaultKind::Judge) {
        Exit::JudgeFaults
    } else if kinds.contains(&FaultKind::Guest) {
        Exit::GuestFaults
    } else if kinds.is_empty() {
        Exit::Complete
    } else {
        Exit::ModelFaults
    }
}

/// Shows problems of task files on stderr: with their source on a terminal, else a line each.
fn show_problems(problems: &[Problem]) {
    if problems.is_empty() {
        return;
    }
    if !std::io::stderr().is_terminal() {
        eprint!("{}", lines(problems));
        return;
    }
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode());
    eprint!("{}", render(problems, &handler));
}

/// Where plugins are looked for: the operator's folder, then those beside the program.
fn plugin_dirs(own: Option<&Utf8Path>) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = own.iter().map(|dir| dir.as_std_path().to_owned()).collect();
    if let Some(beside) = std::env::current_exe()
        .ok()
        .as_deref()
        .and_then(std::path::Path::parent)
    {
        dirs.push(beside.join("plugins"));
        // A cargo build: target/release/pibench-host beside target/plugins.
        dirs.push(beside.join("../plugins"));
    }
    dirs
}

/// The plugins of a suite's `[plugins]` and of folders, on the operator's terms. `lock` is the suite's.
fn plugins(
    named: BTreeMap<String, Utf8PathBuf>,
    dirs: Vec<PathBuf>,
    limits: &GuestLimits,
    policy: PolicyFile,
    lock: Option<&Utf8Path>,
) -> Result<Plugins, Failure> {
    let compiler = std::env::current_exe()
        .context("find the program itself")
        .or_exit(Exit::Io)?;
    let terms = Terms {
        limits: *limits,
        policy: Some(policy),
        lock: lock
            .map(|path| lock::read(path.as_std_path()))
            .transpose()
            .or_exit(Exit::InvalidInput)?,
        own: plugin_dirs(None),
        compiler: Some(compiler),
        on_demand: false,
    };
    Ok(Plugins::on_terms(named, dirs, &cache_dir(), terms))
}

/// A policy may be for several suites, so that a plugin of none of this one's folders is no error; but it may be a slip of
/// the pen too.
fn warn_of_unknown<'a>(plugins: &Plugins, named: impl Iterator<Item = &'a String>) {
    for name in named.filter(|name| !plugins.is_there(name)) {
        eprintln!(
            "The policy names plugin {}, which is in no folder of plugins: what it says of it has no effect.",
            escape::line(name)
        );
    }
}

/// The operator's policy: what the file says, or nothing.
fn policy(path: Option<&Utf8Path>) -> Result<Option<LoadedPolicy>, Failure> {
    let Some(path) = path else {
        return Ok(None);
    };
    let read = pibench_suite::load::policy(path).map_err(|problems| {
        show_problems(&problems.0);
        anyhow!("load {path}")
    });
    read.map(Some).or_exit(Exit::InvalidInput)
}

/// The limits of a suite and of a policy: of each the lower one.
fn guest_limits(suite: &Suite, policy: &PolicyFile) -> Result<GuestLimits, Failure> {
    let lowered = |by, whose: &str| {
        let lowered = GuestLimits::default().lowered(by);
        lowered
            .map_err(|reason| anyhow!("use the limits of {whose}: {reason}"))
            .or_exit(Exit::InvalidInput)
    };
    let suites = lowered(suite.limits, suite.path.as_str())?;
    Ok(suites.within(lowered(policy.limits, "the policy")?))
}

/// The tools of the host and of apps, as a model sees them.
async fn offered_tools(
    suite: &Suite,
    plugins: &Plugins,
    apps: impl IntoIterator<Item = String>,
) -> Result<Vec<ToolSpec>, Failure> {
    let mut tools = builtin(suite.scaffold);
    for app in apps {
        let plugin = plugins.get(&app).or_exit(Exit::InvalidInput)?;
        let listed = App::list_tools(&plugin, Limits::APP).await;
        tools.extend(listed.or_exit(Exit::InvalidInput)?);
    }
    Ok(tools)
}

/// The user's cache folder (XDG base directory specification); `PIBENCH_CACHE` names another one.
fn cache_dir() -> PathBuf {
    let named = std::env::var_os("PIBENCH_CACHE").map(PathBuf::from);
    let xdg =
        || std::env::var_os("XDG_CACHE_HOME").map(|dir| PathBuf::from(dir).join("pibench-host"));
    let home =
        || std::env::var_os("HOME").map(|dir| PathBuf::from(dir).join(".cache/pibench-host"));
    named
        .or_else(xdg)
        .or_else(home)
        .unwrap_or_else(|| std::env::temp_dir().join("pibench-host-cache"))
}

/// A runtime for commands that call guests.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // An episode's step takes a millisecond and not microseconds: who waits for the network is looked after as often.
        .event_interval(4)
        .build()
        .or_exit(Exit::Io)
}
