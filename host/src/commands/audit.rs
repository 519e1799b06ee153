//! `pibench-host audit`: a sample of a finished run judged again, by the same judges or by others.

use anyhow::anyhow;

use super::run::{reopened_for, tape};
use super::runtime;
use crate::cli::AuditArgs;
use crate::exit::{Exit, Failure, OrExit};
use crate::report::audit::{Source, table};
use crate::report::escape;
use crate::run;

/// Audits by each of the judges in turn.
pub(super) fn audit(args: &AuditArgs) -> Result<Exit, Failure> {
    if let Some(lexical) = args.judge.iter().find(|judge| judge.contains("lexical")) {
        return Err(anyhow!("audit by `{lexical}`: want a model")).or_exit(Exit::Usage);
    }
    let runtime = runtime()?;
    let (mut sources, mut broken, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut rejected = None;
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
            setup,
        } = audited.or_exit(Exit::Io)?;
        faults.extend(failed);
        broken.extend(cut);
        if setup.is_some() {
            rejected = setup;
            break;
        }
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
    for reason in faults.iter().chain(&broken).chain(&rejected) {
        // A server's words may stand in it.
        eprintln!("error: failed to {}", escape::line(reason));
    }
    if rejected.is_some() {
        return Ok(Exit::Setup);
    }
    Ok(match (broken.is_empty(), faults.is_empty()) {
        (false, _) => Exit::Infrastructure,
        (true, false) => Exit::JudgeFaults,
        (true, true) => Exit::Complete,
    })
}
