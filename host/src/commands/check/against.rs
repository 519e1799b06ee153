//! A suite's patterns beside the verdicts of runs that models judged.

use anyhow::anyhow;
use camino::Utf8Path;

use super::Found;
use crate::cli::CheckArgs;
use crate::commands::{machine, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{Places, Purpose, reopen_by};
use pibench_engine::{Against, Disagreement, hold_against};
use pibench_record::RunFolder;
use pibench_report::escape;
use pibench_suite::manifest::{Pilot, PilotsFile};
use serde_json::{Value, json};

/// Adds to what a suite holds how far its patterns agree with each run.
pub(super) fn hold(suite: &Utf8Path, args: &CheckArgs, found: &mut Found) -> Result<(), Failure> {
    let mut values = Vec::new();
    for run in &args.against {
        let places = Places {
            suite: Some(suite),
            ..Places::default()
        };
        let plan = reopen_by(&machine()?, run, Purpose::Against, places)?;
        let against = runtime()?.block_on(hold_against(&plan));
        let against = against
            .map_err(|error| anyhow!(error))
            .or_exit(Exit::InvalidInput)?;
        found.text.push_str(&render(run, &against));
        if let Some(id) = &args.pilot {
            found.text.push_str(&entry(id, run, &against)?);
        }
        values.push(json!({ "run": run, "agreement": against }));
    }
    if let Value::Object(holds) = &mut found.value
        && !values.is_empty()
    {
        holds.insert("against".into(), values.into());
    }
    Ok(())
}

/// An entry of `pilots.toml`.
fn entry(id: &str, run: &Utf8Path, against: &Against) -> Result<String, Failure> {
    let (_, manifest) = RunFolder::read(run.as_std_path()).or_exit(Exit::InvalidInput)?;
    let pilot = Pilot {
        id: id.to_owned(),
        agent: manifest.agent,
        judge: manifest.judge,
        suite: manifest.suite_digest,
        sessions: against.sessions.clone(),
    };
    let file = PilotsFile {
        version: 1,
        pilots: vec![pilot],
    };
    let text = toml::to_string(&file).or_exit(Exit::Bug)?;
    Ok(format!("\n{text}"))
}

fn render(run: &Utf8Path, against: &Against) -> String {
    let mut text = format!(
        "Patterns agree with the verdicts of {run} on {} of intents and {} of rubrics.\n",
        share(against.intents),
        share(against.rubrics)
    );
    for one in &against.disagreements {
        let Disagreement {
            session,
            id,
            recorded,
            patterns,
        } = one;
        let line = format!("{session}, {id}: {recorded}, by patterns {patterns}");
        text.push_str(&["  ", &escape::line(&line), "\n"].concat());
    }
    for session in &against.changed {
        let line = format!("{session}: left out, its intents or items are other ones now");
        text.push_str(&["  ", &escape::line(&line), "\n"].concat());
    }
    text
}

fn share((agreed, all): (usize, usize)) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts of a suite")]
    let percent = 100.0 * agreed as f64 / all.max(1) as f64;
    match all {
        0 => "0 of 0".into(),
        _ => format!("{agreed} of {all} ({percent:.1}%)"),
    }
}
