//! `pibench-host run`: the command line to a plan, and the plan played.

mod again;
mod broken;
mod config;
mod estimate;
mod play;
mod several;

use std::time::Duration;

use anyhow::anyhow;
use camino::Utf8Path;
use tracing::level_filters::LevelFilter;

use super::{asking, load_suite, machine, pack, part, runtime};
use crate::cli::{GRACE, RunArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::near::did_you_mean;
use pibench_core::player;
use pibench_core::player::Mark;
use pibench_engine::plan::{GoingOn, Playing, Seat, Wanted, agents, go_on, resolve, same_plan};
use pibench_engine::{AgentRole, Plan};
use pibench_model::collector::{Collector, Target};
use pibench_model::provider::process_environment;
use pibench_report::escape;
use pibench_suite::catalog;
use pibench_suite::catalog::Catalog;
use pibench_suite::suite::Suite;

pub(super) use play::{Output, play_plan, show, show_rows};
pub(super) use several::folder_of;

/// Plays a suite, or goes on with a run.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let args = part::place(args)?;
    Ok(dispatch(&args)?.or_zero(args.exit_zero))
}

fn dispatch(args: &RunArgs) -> Result<Exit, Failure> {
    again::refuse_suite(args)?;
    if args.print_config {
        return config::print(args);
    }
    if args.dry_run {
        return estimate::print(args);
    }
    let (plan, resume) = if let Some(dir) = &args.resume {
        if let Some(several) = several::resume(dir, args)? {
            return several.play(args);
        }
        (resume(dir, args, false)?, true)
    } else {
        let suite = load_wanted(args)?;
        let agents = agents(&suite)?;
        if agents.len() > 1 {
            return several::begin(&suite, &agents, args)?.play(args);
        }
        begin(&suite, args)?
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
    play_plan(plan, resume, output, std::future::ready(()))
}

/// What is to be played by one agent, by the command line, and whether it was begun before.
pub(super) fn plan_of(args: &RunArgs) -> Result<(Plan, bool), Failure> {
    let args = &part::place(args)?;
    again::refuse_suite(args)?;
    match &args.resume {
        Some(dir) => Ok((resume(dir, args, false)?, true)),
        None => begin(&load_wanted(args)?, args),
    }
}

/// The plan in a new folder, or in that of a part that was begun before.
fn begin(suite: &Suite, args: &RunArgs) -> Result<(Plan, bool), Failure> {
    let (machine, wanted) = (machine()?, wanted(args)?);
    part::clear_blank(args, args.out.as_deref())?;
    if let Some(out) = part::begun(args) {
        let is_said = same_plan(&machine, suite, &wanted, &suite.agent, out)?;
        return Ok((resume(out, args, is_said)?, true));
    }
    let seat = Seat {
        agent: suite.agent.clone(),
        out: args.out.clone(),
        answers: args.tape.answers(),
    };
    let plan = runtime()?.block_on(resolve(&machine, suite, &wanted, seat))?;
    Ok((plan, false))
}

/// `is_said`: this command says of servers, keys and programs what the record says.
fn resume(dir: &Utf8Path, args: &RunArgs, is_said: bool) -> Result<Plan, Failure> {
    pack::check_suite_of(dir, None)?;
    let how = going_on(args, false, is_said);
    let (machine, playing) = (machine()?, open_playing(args)?);
    let answers = args.tape.answers();
    Ok(go_on(&machine, dir, answers, &playing, &how)?)
}

/// What the command line asks of a run beside its suite's settings.
pub(super) fn wanted(args: &RunArgs) -> Result<Wanted, Failure> {
    Ok(Wanted {
        shard: part::of(args),
        plugins: args.settings.plugins.clone(),
        prompts: args.prompts.clone(),
        max_cost: args.max_cost,
        preflight: !args.no_preflight,
        hurried: args.dry_run,
        playing: Some(open_playing(args)?),
    })
}

fn open_playing(args: &RunArgs) -> Result<Playing, Failure> {
    let (otlp, environment) = (args.otlp.as_deref(), &process_environment);
    let target = Target::find(otlp, args.otlp_messages, environment).or_exit(Exit::Usage)?;
    let tell = |lost: &str| pibench_report::tell!("{}", escape::line(lost));
    let collector = target
        .map(|target| Collector::open(target, tell))
        .transpose();
    Ok(Playing {
        log: args.log_level.unwrap_or(LevelFilter::INFO),
        sync: match (args.sync, args.no_sync) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            (false, false) => None,
        },
        grace: Duration::from_secs(args.grace.unwrap_or(GRACE).into()),
        collector: collector.or_exit(Exit::Io)?,
    })
}

/// `beside`: as one of several. `is_said`: as of `resume`.
fn going_on(args: &RunArgs, beside: bool, is_said: bool) -> GoingOn {
    GoingOn {
        jobs: args.settings.jobs,
        memory: args.settings.memory,
        max_cost: args.max_cost,
        preflight: !args.no_preflight,
        beside,
        trusts_record: is_said || args.trust_record,
    }
}

/// The suite that the command line names, with everybody named who has to be.
pub(super) fn load_wanted(args: &RunArgs) -> Result<Suite, Failure> {
    let suite = load_suite(&args.settings)?;
    check_spelling(&suite)?;
    check_named(&suite)?;
    asking::say_who_stays(&args.settings, &suite);
    Ok(suite)
}

/// A player that is neither scripted nor a model of the list nor PROVIDER/MODEL is a slip of the pen, and what it is near is
/// offered.
pub(super) fn check_spelling(suite: &Suite) -> Result<(), Failure> {
    let catalog = Catalog::with(&suite.providers, &suite.models);
    let roles = [
        ("agent", Some(&suite.agent), &player::SCRIPTED[..]),
        ("user", suite.user.as_ref(), &[player::LEXICAL]),
        ("judge", suite.judge.as_ref(), &[player::LEXICAL]),
    ];
    for (role, named, scripted) in roles {
        let known = |name: &str| {
            name.contains('/')
                || player::is_external(name)
                || role == "agent" && player::process(name).is_some()
                || scripted.contains(&name)
                || catalog.models.contains_key(name)
        };
        let all = named.into_iter().flat_map(|named| catalog::panel(named));
        let Some(unknown) = all.into_iter().find(|name| !known(name)) else {
            continue;
        };
        let models = catalog.models.keys().map(String::as_str);
        let near = did_you_mean(unknown, scripted.iter().copied().chain(models.clone()));
        let all: Vec<&str> = scripted.iter().copied().chain(models).collect();
        return Err(anyhow!(
            "find the {role} `{unknown}`{near}; there are {}, and PROVIDER/MODEL",
            all.join(", ")
        ))
        .or_exit(Exit::Usage);
    }
    Ok(())
}

/// Patterns play user and judge of a real agent by their name only: their verdicts say little of it.
fn check_named(suite: &Suite) -> Result<(), Failure> {
    let Some((told, options)) = unnamed(suite) else {
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
pub(super) fn unnamed(suite: &Suite) -> Option<(String, String)> {
    let real = catalog::panel(&suite.agent).find(|agent| !player::SCRIPTED.contains(agent))?;
    let model = match real {
        other if !player::is_model(other) => "PROVIDER/MODEL",
        real => real,
    };
    let roles = [("user", &suite.user), ("judge", &suite.judge)];
    let roles = roles.into_iter().filter(|(_, name)| name.is_none());
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
