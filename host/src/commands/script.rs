//! `pibench-host script`: what the scheduler of a cluster takes to play a suite in parts. It prints, and starts nothing; no key
//! is in what it prints.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use minijinja::{Environment, context};
use serde_json::json;

use super::machine;
use super::run::{folder_of, load_wanted, wanted};
use crate::cli::{RunArgs, RunLine, Scheduler, ScriptArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{agents, settle};
use pibench_record::Manifest;
use pibench_record::parts::MERGED;
use pibench_store::is_stored;
use pibench_suite::catalog::Catalog;
use pibench_suite::suite::Suite;

const SLURM: &str = include_str!("../../templates/cluster/slurm.sh");
const KUBERNETES: &str = include_str!("../../templates/cluster/kubernetes.yaml");

/// Tasks of one array, or indexes of one Job: Kubernetes takes no more that are counted one by one.
const MOST_PARTS: u32 = 100_000;

/// Bytes of a Job's name, which its pods' names begin with and which is a label of theirs.
const LONGEST_NAME: usize = 50;

/// Prints the script or the manifests.
pub(super) fn script(args: &ScriptArgs) -> Result<Exit, Failure> {
    let run = parse_options(&args.options)?;
    let suite = load_wanted(&run)?;
    keep_keys(&suite, &args.options)?;
    let agents = agents(&suite)?;
    // A mistake is told here and not by the first task.
    let manifest = settle(&machine()?, &suite, &wanted(&run)?, &agents[0])?.manifest;
    let parts = args.parts.unwrap_or_else(|| episodes(&suite, &manifest));
    if !(1..=MOST_PARTS).contains(&parts) {
        return Err(anyhow!(
            "plan {parts} parts: want 1 to {MOST_PARTS}; --parts N puts several episodes into each"
        ))
        .or_exit(Exit::Usage);
    }
    let text = match args.scheduler {
        Scheduler::Slurm => slurm(args, parts),
        Scheduler::Kubernetes => kubernetes(args, parts, &agents),
    };
    print!("{}", text?);
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

/// A key has no business in what is printed.
fn keep_keys(suite: &Suite, options: &[String]) -> Result<(), Failure> {
    let catalog = Catalog::with(&suite.providers, &suite.models);
    let names = catalog.providers.values();
    let names = names.filter_map(|provider| provider.key_env.as_deref());
    for name in names {
        let key = std::env::var(name).unwrap_or_default();
        if !key.is_empty() && options.iter().any(|option| option.contains(&key)) {
            return Err(anyhow!(
                "print the options: the key of {name} stands in one of them; keys are read from the environment of the tasks"
            ))
            .or_exit(Exit::Usage);
        }
    }
    let has_user = |option: &&String| {
        let rest = option.split_once("://").map(|(_, rest)| rest);
        let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        authority.is_some_and(|authority| authority.contains('@'))
    };
    match options.iter().find(has_user) {
        Some(_) => Err(anyhow!(
            "print the options: a name or password stands in the address of one of them; keys are read from the environment"
        ))
        .or_exit(Exit::Usage),
        None => Ok(()),
    }
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

fn slurm(args: &ScriptArgs, parts: u32) -> Result<String, Failure> {
    let here = std::env::current_dir().or_exit(Exit::Io)?;
    let here = Utf8PathBuf::try_from(here).or_exit(Exit::Io)?;
    let program = std::env::current_exe().or_exit(Exit::Io)?;
    let program = Utf8PathBuf::try_from(program).or_exit(Exit::Io)?;
    let stored = is_stored(args.out.as_str());
    let (out, log) = if stored {
        // Slurm writes what a task says into files.
        let name = args.out.file_name().unwrap_or("run");
        (args.out.clone(), here.join(format!("{name}-log")))
    } else {
        let out = here.join(&args.out);
        let log = out.join("log");
        (out, log)
    };
    for path in [&here, &out, &log] {
        // Slurm reads some of these in paths of its own, and has no way to write them otherwise.
        if path.as_str().contains(['"', '%', '\\', '\n']) {
            return Err(anyhow!(
                "print a script for {path}: Slurm takes no path with a quote, a percent sign, a backslash or a line break"
            ))
            .or_exit(Exit::Usage);
        }
    }
    if args.image.is_some() || args.queue.is_some() {
        return Err(anyhow!(
            "print a script for Slurm: --image and --queue are for Kubernetes"
        ))
        .or_exit(Exit::Usage);
    }
    let options: Vec<String> = args.options.iter().map(|word| quoted(word)).collect();
    render(
        SLURM,
        context! {
            parts, options, at_once => args.at_once,
            here_plain => here.as_str(), out_plain => out.as_str(), host_plain => program.as_str(),
            host => quoted(program.as_str()), out => quoted(out.as_str()),
            log_plain => log.as_str(), log => quoted(log.as_str()), stored,
        },
    )
}

fn kubernetes(args: &ScriptArgs, parts: u32, agents: &[String]) -> Result<String, Failure> {
    let out = &args.out;
    let stored = is_stored(out.as_str());
    let place = out.parent().filter(|_| out.is_absolute() || stored);
    let (Some(volume), Some(name)) = (place, out.file_name()) else {
        return Err(anyhow!(
            "print manifests for {out}: want an absolute path in the containers, as in --out /runs/NAME, or a store's, as in \
             s3://BUCKET/NAME"
        ))
        .or_exit(Exit::Usage);
    };
    for (what, label) in [("the last name of --out", name)]
        .into_iter()
        .chain(args.queue.as_deref().map(|queue| ("--queue", queue)))
    {
        is_label(label)
            .map_err(|reason| anyhow!("print manifests with {what} `{label}`: {reason}"))
            .or_exit(Exit::Usage)?;
    }
    if volume == Utf8Path::new("/") {
        return Err(anyhow!("print manifests for {out}: the volume would be mounted over everything; want /runs/NAME or the like"))
            .or_exit(Exit::Usage);
    }
    let worker = [
        "run",
        "--shard",
        "auto",
        "--exit-zero",
        "--grace",
        "110",
        "--out",
        out.as_str(),
    ];
    let worker = worker.into_iter().map(str::to_owned);
    let play: Vec<String> = worker.chain(args.options.iter().cloned()).collect();
    let merged = out.join(MERGED);
    let merged: Vec<Utf8PathBuf> = match agents {
        [_] => vec![merged],
        several => several
            .iter()
            .map(|agent| merged.join(folder_of(agent)))
            .collect(),
    };
    let verify: Vec<String> = merged
        .iter()
        .map(|run| json!(["verify", run]).to_string())
        .collect();
    let image = args.image.clone();
    let image = image.unwrap_or_else(|| concat!("pibench-host:", env!("CARGO_PKG_VERSION")).into());
    render(
        KUBERNETES,
        context! {
            parts, at_once => args.at_once, name, queue => args.queue.as_deref(), verify,
            // A text of JSON is one of YAML.
            image => json!(image).to_string(), volume => (!stored).then(|| json!(volume).to_string()),
            play => json!(play).to_string(), merge => json!(["merge", "--exit-zero", out]).to_string(),
        },
    )
}

fn render(template: &str, values: minijinja::Value) -> Result<String, Failure> {
    // The last line break of a template is dropped.
    let text = Environment::new().render_str(template, values);
    Ok(text.or_exit(Exit::Bug)? + "\n")
}

/// A word as a shell has to be told it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether Kubernetes takes a name (RFC 1123), with room for what it adds.
fn is_label(name: &str) -> Result<(), String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "it has {} characters, and may have {LONGEST_NAME}",
            name.len()
        ));
    }
    if name.is_empty() || !name.chars().all(inner) || name.starts_with('-') || name.ends_with('-') {
        return Err("want small letters, digits and hyphens, none of these at its ends".into());
    }
    Ok(())
}
