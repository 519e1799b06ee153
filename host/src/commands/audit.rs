//! `pibench-host audit`: a sample of a finished run judged again, by the same judges or by others.

use anyhow::anyhow;

use super::run::{reopened_for, tape};
use super::runtime;
use crate::cli::AuditArgs;
use crate::exit::{Exit, Failure, OrExit};
use crate::report::audit::{Source, table};
use crate::run;

/// Audits by each of the judges in turn.
pub(super) fn audit(args: &AuditArgs) -> Result<Exit, Failure> {
    if let Some(lexical) = args.judge.iter().find(|judge| judge.contains("lexical")) {
        return Err(anyhow!("audit by `{lexical}`: want a model")).or_exit(Exit::Usage);
    }
    let runtime = runtime()?;
    let (mut sources, mut broken, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for judge in &args.judge {
        let plan = reopened_for(&args.run, judge, tape(&args.tape, !sources.is_empty())?)?;
        let audited = runtime.block_on(run::audit(&plan, args.sample as usize, args.seed));
        let run::Audited {
            sampled,
            of,
            checklist,
            intents,
            usage,
            faults: failed,
            broken: cut,
        } = audited.or_exit(Exit::Io)?;
        faults.extend(failed);
        broken.extend(cut);
        sources.push(Source {
            judge: judge.clone(),
            sampled,
            of,
            checklist,
            intents,
            cost: usage.total().known_cost(),
        });
    }
    if args.json {
        println!("{}", serde_json::to_string(&sources).or_exit(Exit::Bug)?);
    } else {
        println!("{}", table(&sources));
    }
    for reason in faults.iter().chain(&broken) {
        eprintln!("error: failed to {reason}");
    }
    Ok(match (broken.is_empty(), faults.is_empty()) {
        (false, _) => Exit::Infrastructure,
        (true, false) => Exit::JudgeFaults,
        (true, true) => Exit::Complete,
    })
}
