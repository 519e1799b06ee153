//! `pibench-host grade`: a finished run scored again, in a new run folder, by the suite as it is now or by another, and by
//! other plugins, judges or rules. It plays nothing and leaves the graded run as it is.

use serde_json::Value;
use tokio::sync::mpsc;

use super::run::show;
use super::{finished, look, machine, pack, runtime};
use crate::cli::GradeArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{Grading, regrade};
use pibench_engine::{EpisodeError, RunError, collect, outline};
use pibench_record::folder::read_manifest;
use pibench_report::{escape, progress};
use pibench_suite::load::Assignment;

/// Grades a run folder into another.
pub(super) fn grade(args: &GradeArgs) -> Result<Exit, Failure> {
    pack::check_suite_of(&args.run, args.suite.as_deref())?;
    let by = Grading {
        suite: args.suite.as_deref(),
        chosen: &chosen(args),
        plugins: args.plugins.as_deref(),
        prompts: args.prompts.as_deref(),
        answers: args.tape.answers(),
        trusts_record: args.trust_record,
    };
    let (played, plan) = regrade(&machine()?, &args.run, &args.out, &by)?;
    let manifest = read_manifest(plan.folder.root()).or_exit(Exit::Io)?;
    if let (None, Some(before), Some(now)) = (
        &args.prompts,
        manifest.prompts_before(),
        manifest.prompts_version,
    ) {
        // A stranger's words may stand in it.
        let before = escape::line(&before);
        pibench_report::tell!(
            "warning: {} was judged by other prompts ({before}) than it is graded by (built-in, version {now}): scores by different \
             prompts do not compare",
            args.run
        );
    }
    let runtime = runtime()?;
    let outline = runtime.block_on(outline(&plan));
    let outline = outline.or_exit(Exit::InvalidInput)?;
    let (sender, receiver) = mpsc::unbounded_channel();
    let display = progress::display(receiver, look());
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
        // A server's words may stand in it.
        pibench_report::tell!("error: failed to {}", escape::line(reason));
    }
    if !broken.is_empty() {
        pibench_report::tell!("Go on with the same command.");
        return Ok(Exit::Infrastructure);
    }
    Ok(finished([&results]))
}

/// What goes in the place of what the run has.
fn chosen(args: &GradeArgs) -> Vec<Assignment> {
    let judge = (!args.judge.is_empty()).then(|| args.judge.join(","));
    let chosen = [
        ("judge", judge.map(Value::from)),
        ("protocol", args.protocol.clone().map(Value::from)),
        (
            "policy",
            args.policy.as_ref().map(|path| path.as_str().into()),
        ),
        ("jobs", args.jobs.map(Value::from)),
    ];
    let chosen = chosen.into_iter();
    let chosen = chosen.filter_map(|(option, value)| Some((option, value?)));
    chosen
        .map(|(option, value)| Assignment::chosen(option, value))
        .collect()
}
