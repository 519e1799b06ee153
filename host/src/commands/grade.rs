//! `pibench-host grade`: a finished run scored again, in a new run folder, by the suite as it is now or by another, and by
//! other plugins, judges or rules. It plays nothing and leaves the graded run as it is.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use camino::Utf8Path;
use tokio::sync::mpsc;

use super::run::{
    Names, absolute, assignments, clients, decided, load_suite, marks, on_terms, plan,
    plugin_dirs_of, roles, same_rules, show, tape,
};
use super::{finished, policy, runtime};
use crate::cli::GradeArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::player::ModelSettings;
use pibench_core::player::Players;
use pibench_engine::user::prompts::Prompts;
use pibench_engine::{EpisodeError, Plan, Roles, RunError, collect, outline};
use pibench_model::cassette::Tape;
use pibench_record::event::{Event, VERSION};
use pibench_record::folder::{Graded, read_outline};
use pibench_record::identity::{differences, listed};
use pibench_record::outline::{IntentOutline, Outline, SessionOutline};
use pibench_record::{Manifest, RunFolder, journal};
use pibench_report::progress;
use pibench_suite::suite::{Intent, Session, Suite};

/// The judge's key in a manifest's models.
const JUDGE: &str = "judge";

/// Grades a run folder into another.
pub(super) fn grade(args: &GradeArgs) -> Result<Exit, Failure> {
    let (played, manifest) = RunFolder::read(args.run.as_std_path()).or_exit(Exit::InvalidInput)?;
    same_rules("grade", &args.run, &manifest)?;
    sound(&args.run, &played).or_exit(Exit::InvalidInput)?;
    let plan = planned(args, &played, &manifest)?;
    let runtime = runtime()?;
    let outline = runtime.block_on(outline(&plan));
    let outline = outline.or_exit(Exit::InvalidInput)?;
    let (sender, receiver) = mpsc::unbounded_channel();
    let display = progress::display(receiver, std::io::stderr().is_terminal());
    let graded = runtime.block_on(pibench_engine::grade(&plan, &played, &sender));
    drop(sender);
    // The display ends when the last sender is gone.
    let _ = display.join();
    let broken = graded.map_err(|error| Failure {
        exit: match &error {
            RunError::Episode(EpisodeError::Setup { .. }) => Exit::Setup,
            _ => Exit::InvalidInput,
        },
        error: error.into(),
    })?;
    plan.folder.put_outline(&outline).or_exit(Exit::Io)?;
    let results = collect(&plan).or_exit(Exit::Io)?;
    plan.folder.put_results(&results).or_exit(Exit::Io)?;
    show(&results, args.json, plan.folder.root())?;
    for reason in &broken {
        eprintln!("error: failed to {reason}");
    }
    if !broken.is_empty() {
        eprintln!("Go on with the same command.");
        return Ok(Exit::Infrastructure);
    }
    Ok(finished([&results]))
}

/// A run can be graded when it was played to its end and nothing was changed since.
fn sound(path: &Utf8Path, played: &RunFolder) -> anyhow::Result<()> {
    let mut broken = played.broken_seals()?;
    if let Some((name, what)) = broken.pop() {
        return Err(anyhow!(
            "grade {path}: {name}: {what}; see `pibench-host verify {path}`"
        ));
    }
    let results = pibench_record::folder::read_results(played.root())?;
    for line in &results.sessions {
        let events = played.journal(&line.persona, line.run);
        let over = events.exists()
            && matches!(
                journal::events(&events)?.last(),
                Some(Event::EpisodeFinished)
            );
        if !over {
            return Err(anyhow!(
                "grade {path}: {} in run {} is not played to its end; go on with `pibench-host run --resume {path}` first",
                line.persona,
                line.run
            ));
        }
    }
    Ok(())
}

/// The plan of the new folder: all of the run but what it is graded by.
fn planned(args: &GradeArgs, played: &RunFolder, was: &Manifest) -> Result<Plan, Failure> {
    let path = args.suite.clone();
    let path = path.unwrap_or_else(|| was.suite_path.clone().into());
    let suite = load_suite(&path, &assignments(was)?)?;
    if suite.id != was.suite {
        return Err(anyhow!(
            "grade {} by {path}: it is the suite `{}`, and `{}` was played",
            args.run,
            suite.id,
            was.suite
        ))
        .or_exit(Exit::InvalidInput);
    }
    let outline = read_outline(played.root()).or_exit(Exit::InvalidInput)?;
    let outline = outline.ok_or_else(|| anyhow!("grade {}: it has no outline.json", args.run));
    outline
        .and_then(|outline| same_play(&outline, &suite))
        .or_exit(Exit::InvalidInput)?;
    let own_prompts = was.prompts.as_deref().map(Utf8Path::new);
    let prompts = Prompts::load(own_prompts).or_exit(Exit::InvalidInput)?;
    let judge = match args.judge.as_slice() {
        [] => was.judge.clone(),
        judges => judges.join(","),
    };
    // Who played is named and not asked; the judge is.
    let names = Names {
        judge: judge.clone(),
        ..Names::played(was)
    };
    let mut silent = clients(&suite, Tape::Silent);
    let (mut all, _) = roles(names, &prompts, &mut silent)?;
    let alone = Names {
        agent: "nop".into(),
        user: "lexical".into(),
        judge,
        ..Names::played(was)
    };
    let mut asked = clients(&suite, tape(&args.tape, true)?);
    let (judging, spending) = roles(alone, &prompts, &mut asked)?;
    all.judge = judging.judge;
    let own_policy = args.policy.as_deref().map(absolute).transpose()?;
    let policy_path = own_policy.or_else(|| was.policy.clone());
    let loaded = policy(policy_path.as_deref().map(Utf8Path::new))?;
    let own = args.plugins.iter().map(|dir| dir.as_std_path().to_owned());
    let dirs: Vec<PathBuf> = own.chain(plugin_dirs_of(was)).collect();
    let (limits, plugins) = on_terms(&suite, dirs.clone(), loaded.as_ref(), args.jobs)?;
    decided(&suite, &plugins)?;
    let manifest = Manifest {
        version: VERSION,
        host: env!("CARGO_PKG_VERSION").into(),
        started: jiff::Timestamp::now().to_string(),
        suite_path: absolute(&suite.path)?,
        suite_digest: suite.digest.clone(),
        suite_parts: suite.parts.clone(),
        protocol: args.protocol.map_or(was.protocol, Into::into),
        judge: all.judge_name.clone(),
        players: Players {
            judge: all.players().judge,
            ..was.players
        },
        models: models(was, &all),
        plugin_dirs: dirs.iter().map(|dir| dir.display().to_string()).collect(),
        prompts_digest: prompts.digest().to_owned(),
        policy: policy_path,
        policy_digest: loaded.map(|policy| policy.digest),
        plugins: marks(&suite, &plugins)?,
        limits: super::run::for_record(&limits),
        graded: Some(Graded {
            from: absolute(&args.run)?,
            seal: played.seal().or_exit(Exit::Io)?,
            suite_digest: was.suite_digest.clone(),
            // Of a run that was graded before: as it was played.
            protocol: was
                .graded
                .as_ref()
                .map_or(was.protocol, |graded| graded.protocol),
            judge: was.judge.clone(),
        }),
        ..was.clone()
    };
    let folder = folder(args, &manifest)?;
    let mut plan = plan(suite, &manifest, all, &limits, plugins, folder, args.jobs);
    plan.spending = spending;
    Ok(plan)
}

/// Who played is who played; who judges is asked anew.
fn models(was: &Manifest, now: &Roles) -> BTreeMap<String, Vec<ModelSettings>> {
    let mut models = was.models.clone();
    models.remove(JUDGE);
    let judge = now.models().remove_entry(JUDGE);
    models.extend(judge);
    models
}

/// The new folder, or the one of a grading that was cut off.
fn folder(args: &GradeArgs, manifest: &Manifest) -> Result<RunFolder, Failure> {
    let out = args.out.as_std_path();
    if !out.exists() {
        return RunFolder::create(out, manifest).or_exit(Exit::Io);
    }
    let (folder, found) = RunFolder::open(out)
        .with_context(|| format!("grade into {}: it is there already", args.out))
        .or_exit(Exit::Io)?;
    let differ = differences(&found, manifest);
    if differ.is_empty() {
        return Ok(folder);
    }
    Err(anyhow!(
        "grade into {}: it is there already and another grading: they differ in {}",
        args.out,
        listed(&differ)
    ))
    .or_exit(Exit::Io)
}

/// What was played must be what the suite says now: its rules and rubrics may be others, and so may titles.
fn same_play(was: &Outline, suite: &Suite) -> anyhow::Result<()> {
    let now = suite.personas.iter();
    let now = now.flat_map(|one| one.sessions.iter().map(|session| (&one.id, session)));
    let then = was.personas.iter();
    let then = then.flat_map(|one| one.sessions.iter().map(|session| (&one.id, session)));
    let (now, then): (Vec<_>, Vec<_>) = (now.collect(), then.collect());
    for (at, (persona, session)) in then.iter().enumerate() {
        let same = now
            .get(at)
            .is_some_and(|(other, now)| other == persona && is_same(session, now));
        if !same {
            return Err(anyhow!(
                "grade {persona}/{}: the suite's session is not the one that was played; only rules and rubrics may differ",
                session.id
            ));
        }
    }
    match now.get(then.len()) {
        Some((persona, session)) => Err(anyhow!(
            "grade {persona}/{}: the suite had no such session when it was played",
            session.id
        )),
        None => Ok(()),
    }
}

fn is_same(was: &SessionOutline, now: &Session) -> bool {
    let intent = |(was, now): (&IntentOutline, &Intent)| {
        was.id == now.id && was.content == now.content && was.scope == now.scope
    };
    was.id == now.id
        && was.request == now.request
        && was.depends_on == now.depends_on
        && was.intents.len() == now.intents.len()
        && was.intents.iter().zip(&now.intents).all(intent)
}
