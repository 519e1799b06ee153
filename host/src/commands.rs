//! One file per command, one public function each: an adapter from the command line to the library, where errors get
//! their exit code.

mod asking;
mod audit;
mod board;
mod bridge;
mod check;
mod compare;
mod compile_component;
mod compiling;
mod completions;
mod confine;
mod doctor;
mod export;
mod grade;
mod hub;
mod import;
mod list;
mod listed;
mod man;
mod merge;
mod newest;
mod output;
mod pack;
mod part;
mod places;
mod plugin;
mod prompts;
mod publish;
mod report;
mod review;
mod room;
mod run;
mod schema;
mod script;
mod serve;
mod show;
mod sign;
mod signing;
mod stored;
mod submission;
mod submit;
mod suite;
mod trajectory;
mod verified;
mod verify;
mod view;

use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use miette::{GraphicalReportHandler, GraphicalTheme};

use self::stored::Stored;
use crate::address_space;
use crate::cli::{Cli, Command, SettingArgs, TalkArgs};
use crate::embedded;
use crate::exit::{Exit, Failure, OrExit};
use crate::open_files;
use pibench_agent::builtin;
use pibench_core::message::ToolSpec;
use pibench_engine::plan::{Machine, Notice, PlanError, load};
use pibench_record::event::FaultKind;
use pibench_record::results::RunResults;
use pibench_report::escape;
use pibench_report::progress::Look;
use pibench_sandbox::{App, Limits, Plugins};
use pibench_suite::problem::{Problem, lines, render};
use pibench_suite::suite::Suite;
use pibench_vault::{Identities, keyring};
use tempfile::TempDir;

/// Runs the command; its exit, or what to say of its failure.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    // Nothing is said before.
    let _ = TALK.set(cli.talk);
    room::check(&cli.command)?;
    hold_identities(&cli.identity)?;
    if embedded::archive().is_some() {
        pibench_acp::set_bridge(|| embedded::hollow(&cache_dir()));
    }
    let mut command = cli.command;
    places::refuse_foreign(&mut command)?;
    let stored = Stored::fetch(&mut command).map_err(stored::rename)?;
    let exit = dispatch_to(command, &stored).map_err(stored::rename);
    if talk().verbose > 0
        && let Some(peak) = pibench_memory::peak()
    {
        pibench_report::tell!("Peak memory: {} MiB", peak >> 20);
    }
    exit
}

/// Reads the private keys that open what is private.
fn hold_identities(named: &[Utf8PathBuf]) -> Result<(), Failure> {
    let own = std::env::var("PIBENCH_IDENTITY").ok();
    let own = own.filter(|path| !path.is_empty() && named.is_empty());
    let own = own.map(Utf8PathBuf::from);
    let mut identities = Identities::default();
    for path in named.iter().chain(&own) {
        let passphrase = std::env::var("PIBENCH_KEY_PASSPHRASE").ok();
        let added = identities.add(path.as_std_path(), passphrase);
        added.or_exit(Exit::InvalidInput)?;
    }
    keyring::hold(identities);
    Ok(())
}

fn dispatch_to(command: Command, stored: &Stored) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Check(args) => check::check(&args),
        Command::List(args) => list::list(&args),
        Command::Suite(args) => suite::suite(&args.command),
        Command::Prompts(args) => prompts::prompts(&args.command),
        Command::Persona(args) => suite::persona(&args.command),
        Command::Session(args) => suite::session(&args.command),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man { out } => man::man(out.as_deref()),
        Command::Schema(args) => schema::schema(&args),
        Command::Script(args) => script::script(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Report(args) => report::report(&args),
        Command::Export(args) => export::export(&args),
        Command::Show(args) => show::show(&args, stored),
        Command::Trajectory(args) => trajectory::trajectory(&args),
        Command::View(args) => view::view(&args, stored),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Sign(args) => sign::sign(&args),
        Command::Pack(args) => pack::pack(&args),
        Command::Publish(args) => publish::publish(&args),
        Command::Grade(args) => grade::grade(&args),
        Command::Submit(args) => submit::submit(&args),
        Command::Board(args) => board::board(&args),
        Command::Hub(args) => hub::hub(&args),
        Command::Review(args) => review::review(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Import(args) => import::import(args),
        Command::Plugin(args) => plugin::plugin(&args),
        Command::Confine(args) => confine::confine(&args),
        Command::McpBridge => bridge::bridge(),
        Command::CompileComponent(args) => compile_component::compile_component(&args),
    }
}

/// How much is said on stderr: asked once, and the same for all that is said.
static TALK: OnceLock<TalkArgs> = OnceLock::new();

fn talk() -> TalkArgs {
    TALK.get().copied().unwrap_or_default()
}

/// How progress is shown.
fn look() -> Look {
    if talk().quiet {
        Look::Silent
    } else if std::io::stderr().is_terminal() {
        Look::Terminal
    } else {
        Look::Lines
    }
}

/// The exit of runs that are finished. Of several kinds of faults, a judge's come first, which leave sessions unscored, then
/// those of guests, which score 0; what models fail at is their score.
fn finished<'a>(runs: impl IntoIterator<Item = &'a RunResults>) -> Exit {
    let faults = runs.into_iter().flat_map(|results| &results.faults);
    let kinds: Vec<FaultKind> = faults.map(|line| line.fault.kind).collect();
    exit_of(&kinds)
}

/// The exit of a run with these kinds of faults.
fn exit_of(kinds: &[FaultKind]) -> Exit {
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
        pibench_report::tell::lines(format_args!("{}", lines(problems)));
        return;
    }
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode());
    pibench_report::tell::lines(format_args!("{}", render(problems, &handler)));
}

/// What this program has here.
fn machine() -> Result<Machine, Failure> {
    room::check_files()?;
    let compiler = std::env::current_exe()
        .context("find the program itself")
        .or_exit(Exit::Io)?;
    // A cargo build: target/release/pibench-host beside target/plugins.
    let beside = compiler.parent().into_iter();
    let beside = beside.flat_map(|dir| [dir.join("plugins"), dir.join("../plugins")]);
    let mut own: Vec<PathBuf> = beside.collect();
    let cache = cache_dir();
    let mut suite = None;
    if !own.iter().any(|dir| dir.is_dir())
        && let Some(folder) = unpack(&cache)?
    {
        own.push(folder.join(embedded::PLUGINS));
        suite = Some(folder.join(embedded::SUITE));
    }
    Ok(Machine {
        own,
        cache,
        stderr: std::env::var("PIBENCH_LOG")
            .ok()
            .or_else(|| talk().filter().map(str::to_owned))
            .unwrap_or_default(),
        most: open_files::episodes().min(address_space::episodes()),
        node: node(),
        suite,
        tell,
        compiler,
    })
}

/// The machine's name, as its scheduler has it: a container's own says little.
fn node() -> String {
    let named = ["PIBENCH_NODE", "SLURMD_NODENAME"].into_iter();
    let mut named = named.filter_map(|name| std::env::var(name).ok());
    let own = || {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    };
    named.find(|name| !name.is_empty()).unwrap_or_else(own)
}

/// Tells what is odd, on stderr.
fn tell(notice: Notice<'_>) {
    match notice {
        Notice::Suite(warnings) => show_problems(warnings),
        Notice::Compiling { .. } | Notice::Compiled { .. } if talk().quiet => {}
        Notice::Compiling { plugins } => compiling::begin(plugins),
        Notice::Compiled { plugins, took } => compiling::end(plugins, took),
        Notice::Unknown { plugin } => pibench_report::tell!(
            "The policy names plugin {}, which is in no folder of plugins: what it says of it has no effect.",
            escape::line(plugin)
        ),
        Notice::Withheld { plugin, asked } => pibench_report::tell!(
            "Plugin {plugin} asks for {}, which the policy does not grant.",
            asked.join(", ")
        ),
        Notice::Fewer { asked, most } => {
            let (lacking, bound) = if open_files::episodes() > most {
                ("is not enough address space", "ulimit -Hv")
            } else {
                ("are not enough open files", "ulimit -Hn")
            };
            pibench_report::tell!(
                "There {lacking} for {asked} episodes at once (`{bound}`): {most} are played at once."
            );
        }
    }
}

/// Who has to mend it decides the exit.
impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let exit = match &error {
            PlanError::Suite { problems, .. } | PlanError::Policy { problems, .. } => {
                show_problems(&problems.0);
                Exit::InvalidInput
            }
            PlanError::Asked(_) => Exit::Usage,
            PlanError::Input(_) => Exit::InvalidInput,
            PlanError::Disk(_) => Exit::Io,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}

/// Where a command's files lie that nobody keeps.
fn make_temporary_folder() -> Result<TempDir, Failure> {
    let made = pibench_engine::make_temporary_folder();
    made.map_err(anyhow::Error::msg).or_exit(Exit::Io)
}

/// The embedded suite in a checkout, when that is the working directory.
const EMBEDDED: &str = "tasks/suite.toml";

/// The folder of what the program carries; None where it was built without.
fn unpack(cache: &Path) -> Result<Option<PathBuf>, Failure> {
    let archive = embedded::archive();
    let folder = archive.map(|archive| embedded::unpack(archive, cache));
    folder.transpose().map_err(|error| {
        let exit = unusable(&error);
        let cache = cache.display();
        let error = anyhow::Error::new(error).context(format!(
            "unpack the built-in suite and plugins into {cache}; name another folder by PIBENCH_CACHE"
        ));
        Failure { exit, error }
    })
}

/// The exit of a cache that cannot be used: whose folder it is stays so until another is named, and a disk may have room later.
fn unusable(error: &io::Error) -> Exit {
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::AlreadyExists
        | ErrorKind::NotADirectory
        | ErrorKind::InvalidData => Exit::InvalidInput,
        _ => Exit::Io,
    }
}

/// The suite's file where the command line names none: the checkout's, else the one that the program carries.
fn embedded_suite() -> Result<Utf8PathBuf, Failure> {
    let checkout = Utf8PathBuf::from(EMBEDDED);
    if checkout.exists() {
        return Ok(checkout);
    }
    let folder = unpack(&cache_dir())?;
    let carried = folder.and_then(|folder| Utf8PathBuf::try_from(folder).ok());
    Ok(carried.map_or(checkout, |folder| folder.join(embedded::SUITE)))
}

/// The suite that the command line names, with what it puts in the place of its settings; else every problem of it.
fn load_suite(args: &SettingArgs) -> Result<Suite, Failure> {
    let path = args.suite.clone().map_or_else(embedded_suite, Ok)?;
    pack::check_unchanged(&path)?;
    let mut assigned = asking::assignments(args, &path)?;
    assigned.extend(args.assignments());
    let mut suite = load(&machine()?, &path, &assigned)?;
    suite.name_agents();
    Ok(suite)
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
    // One that is empty is as one that is not set.
    let folder = |name| {
        let named = std::env::var_os(name).filter(|dir| !dir.is_empty());
        named.map(PathBuf::from)
    };
    let xdg = || folder("XDG_CACHE_HOME").map(|dir| dir.join("pibench-host"));
    let home = || folder("HOME").map(|dir| dir.join(".cache/pibench-host"));
    folder("PIBENCH_CACHE")
        .or_else(xdg)
        .or_else(home)
        // Everybody makes folders there: each user has an own one.
        .unwrap_or_else(|| {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("pibench-host-cache-{user}"))
        })
}

/// Refuses the place of something new where anything lies, before the work is done.
fn check_new(out: &Utf8Path) -> Result<(), Failure> {
    if out.exists() {
        return Err(anyhow!(
            "write {out}: it is there already; choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    Ok(())
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
