//! `pibench-host script`: what the scheduler of a cluster takes to play a suite in parts. It prints, and starts nothing; no key
//! is in what it prints.

mod kubernetes;
mod slurm;

use anyhow::anyhow;
use camino::Utf8Path;
use clap::Parser;
use minijinja::Environment;

use super::machine;
use super::run::{load_wanted, wanted};
use super::stored::split;
use crate::cli::{RunArgs, RunLine, Scheduler, ScriptArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::plan::{agents, is_private, settle};
use pibench_record::Manifest;
use pibench_store::{SECRETS, is_stored};
use pibench_suite::catalog::Catalog;
use pibench_suite::suite::Suite;

/// Tasks of one array, or indexes of one Job: Kubernetes takes no more that are counted one by one.
const MOST_PARTS: u32 = 100_000;

/// What stands in the name of a parameter that is a secret.
const SECRET_WORDS: [&str; 6] = ["key", "token", "secret", "password", "auth", "sig"];

/// Prints the script or the manifests.
pub(super) fn script(args: &ScriptArgs) -> Result<Exit, Failure> {
    let run = parse_options(&args.options)?;
    let suite = load_wanted(&run)?;
    keep_keys(&suite, args)?;
    check_private(&suite, args.scheduler)?;
    check_out(&args.out)?;
    let agents = agents(&suite)?;
    // A mistake is told here and not by the first task.
    let manifest = settle(&machine()?, &suite, &wanted(&run)?, &agents[0])?.manifest;
    let episodes = episodes(&suite, &manifest);
    let parts = args.parts.unwrap_or(episodes);
    if !(1..=MOST_PARTS).contains(&parts) {
        return Err(anyhow!(
            "plan {parts} parts: want 1 to {MOST_PARTS}; --parts N puts several episodes into each"
        ))
        .or_exit(Exit::Usage);
    }
    let text = match (args.scheduler, &args.kustomize) {
        (Scheduler::Slurm, Some(_)) => {
            return Err(anyhow!(
                "write a script of Slurm for Kustomize: that is for kubernetes"
            ))
            .or_exit(Exit::Usage);
        }
        (Scheduler::Slurm, None) => slurm::script(args, parts)?,
        (Scheduler::Kubernetes, None) => kubernetes::manifests(args, parts, &agents)?,
        (Scheduler::Kubernetes, Some(dir)) => kubernetes::kustomize(args, parts, &agents, dir)?,
    };
    print!("{text}");
    if let Some(empty) = parts.checked_sub(episodes).filter(|empty| *empty > 0) {
        let (empty, there) = (count(empty, "part"), count(episodes, "episode"));
        pibench_report::tell!(
            "{empty} of {parts} will have nothing to play: there are {there}; --parts {episodes} is one for each"
        );
    }
    Ok(Exit::Complete)
}

/// The options as `run` has them, without those that each part has of its own.
fn parse_options(options: &[String]) -> Result<RunArgs, Failure> {
    let line = std::iter::once("run").chain(options.iter().map(String::as_str));
    let run = RunLine::try_parse_from(line)
        .map_err(|error| {
            let text = error.to_string();
            let text = text.trim_start_matches("error: ").trim_end().to_owned();
            anyhow!("read the options of `run` after --: {text}")
        })
        .or_exit(Exit::Usage)?
        .run;
    let own = [
        ("--resume", run.resume.is_some()),
        ("--shard", run.shard.is_some()),
        ("--out", run.out.is_some()),
        ("--dry-run", run.dry_run),
        ("--print-config", run.print_config),
        // One folder of answers cannot be made by several.
        ("--record", run.tape.record.is_some()),
    ];
    match own.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(anyhow!(
            "print a script of `run {option}`: leave it out after --, for each part has its own"
        ))
        .or_exit(Exit::Usage),
        None => Ok(run),
    }
}

/// A place in which no part could be begun is told here and not by the first task.
fn check_out(out: &Utf8Path) -> Result<(), Failure> {
    let wrong = if is_stored(out.as_str()) {
        return split(out.as_str().trim_end_matches('/')).map(drop);
    } else if out.as_str().is_empty() {
        "name the folder of all parts"
    } else if out.exists() && !out.is_dir() {
        "it is a file, and all parts want a folder"
    } else {
        return Ok(());
    };
    Err(anyhow!("print a script for --out `{out}`: {wrong}")).or_exit(Exit::Usage)
}

/// A key has no business in what is printed.
fn keep_keys(suite: &Suite, args: &ScriptArgs) -> Result<(), Failure> {
    let places = [Some(args.out.as_str()), args.image.as_deref()];
    let options = args.options.iter().map(String::as_str);
    let options: Vec<&str> = options.chain(places.into_iter().flatten()).collect();
    let catalog = Catalog::with(&suite.providers, &suite.models);
    let names = catalog.providers.values();
    let names = names.filter_map(|provider| provider.key_env.as_deref());
    for name in names.chain(SECRETS) {
        let key = std::env::var(name).unwrap_or_default();
        if !key.is_empty() && options.iter().any(|option| option.contains(&key)) {
            return Err(anyhow!(
                "print the options: the key of {name} stands in one of them; keys are read from the environment of the tasks"
            ))
            .or_exit(Exit::Usage);
        }
    }
    let has_user = |option: &&&str| {
        let rest = option.split_once("://").map(|(_, rest)| rest);
        let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        authority.is_some_and(|authority| authority.contains('@'))
    };
    if options
        .iter()
        .any(|option| has_user(&option) || has_key(option))
    {
        return Err(anyhow!(
            "print the options: a name, password or key stands in the address of one of them; keys are read from the environment"
        ))
        .or_exit(Exit::Usage);
    }
    Ok(())
}

/// Whether the query of an address has a value that its name calls a secret.
fn has_key(option: &str) -> bool {
    let query = option
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('?'));
    query.is_some_and(|(_, query)| {
        let names = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut names = names.map(|(name, _)| name.to_ascii_lowercase());
        names.any(|name| SECRET_WORDS.iter().any(|word| name.contains(word)))
    })
}

/// A private suite's parts are played and merged by whoever has its key: on Slurm by a line of the file of keys.
fn check_private(suite: &Suite, scheduler: Scheduler) -> Result<(), Failure> {
    if is_private(suite) && matches!(scheduler, Scheduler::Kubernetes) {
        return Err(anyhow!(
            "print manifests for a private suite: pods are given no key that decrypts it; play it on one machine or on Slurm"
        ))
        .or_exit(Exit::Usage);
    }
    Ok(())
}

/// As many as there are: a part is an episode unless somebody says otherwise.
fn episodes(suite: &Suite, manifest: &Manifest) -> u32 {
    let Manifest {
        personas,
        sessions,
        runs,
        ..
    } = manifest;
    let played = suite.personas.iter().filter(|persona| {
        let mut all = persona.sessions.iter();
        (personas.is_empty() || personas.contains(&persona.id))
            && all.any(|session| sessions.is_empty() || sessions.contains(&session.id))
    });
    u32::try_from(played.count())
        .unwrap_or(u32::MAX)
        .saturating_mul(*runs)
}

fn render(template: &str, values: minijinja::Value) -> Result<String, Failure> {
    // The last line break of a template is dropped.
    let text = Environment::new().render_str(template, values);
    Ok(text.or_exit(Exit::Bug)? + "\n")
}
