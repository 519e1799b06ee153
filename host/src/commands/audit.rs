//! `pibench-host audit`: a sample of finished runs judged again, by the same judges, by others or by people.

use std::path::Path;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use super::listed::runs_of;
use super::output::print_json;
use super::publish::refuse_in_clear;
use super::stored;
use super::{machine, pack, runtime};
use crate::cli::AuditArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::plan::{Places, Purpose, reopen_by};
use pibench_engine::{Audited, Plan, Sample};
use pibench_record::audited::JudgedAgain;
use pibench_record::ballot::Votes;
use pibench_record::private::key_of;
use pibench_report::audit::{AuditedRun, Source, table};
use pibench_report::escape;

/// Audits by people and by each of the judges in turn, or writes the sheet for people.
pub(super) fn audit(args: &AuditArgs) -> Result<Exit, Failure> {
    if let Some(lexical) = args.judge.iter().find(|judge| judge.contains("lexical")) {
        return Err(anyhow!("audit by `{lexical}`: want a model")).or_exit(Exit::Usage);
    }
    let runs = runs(&args.runs)?;
    runs.iter()
        .try_for_each(|run| pack::check_suite_of(run, None))?;
    if let Some(sheet) = &args.sheet {
        return write_sheet(&runs, args, sheet);
    }
    let mut audits = Vec::new();
    if !args.human.is_empty() {
        audits.push((people(args.human.len()), by_people(&runs, args)?));
    }
    let runtime = runtime()?;
    for (at, judge) in args.judge.iter().enumerate() {
        let reopened = |(nth, run): (usize, &Utf8PathBuf)| {
            let purpose = Purpose::Judge {
                judge,
                answers: &args.tape.answers(),
                again: at + nth > 0,
                trusts_record: args.trust_record,
            };
            Ok(reopen_by(&machine()?, run, purpose, places(args))?)
        };
        let plans = runs.iter().enumerate().map(reopened);
        let plans = plans.collect::<Result<Vec<Plan>, Failure>>()?;
        let sample = draw_sample(&plans, args)?;
        let audited = runtime.block_on(pibench_engine::audit(&sample, args.seed));
        let stopped = audited.setup.is_some();
        audits.push((judge.clone(), audited));
        if stopped {
            break;
        }
    }
    print_audits(audits, &runs, args)
}

/// Prints what came of the audits, and what kept them from their end.
fn print_audits(
    audits: Vec<(String, Audited)>,
    runs: &[Utf8PathBuf],
    args: &AuditArgs,
) -> Result<Exit, Failure> {
    let all = runs.iter().map(|run| AuditedRun::of(run.as_std_path()));
    let all = all.collect::<Result<Vec<AuditedRun>, _>>();
    let mut all = all.or_exit(Exit::InvalidInput)?;
    for run in &mut all {
        run.folder = stored::name(&run.folder);
    }
    let mut sources = Vec::new();
    let (mut broken, mut faults) = (Vec::new(), Vec::new());
    let mut rejected = None;
    for (judge, audited) in audits {
        let Audited {
            sampled,
            of,
            checklist,
            intents,
            sessions,
            usage,
            undecided,
            faults: failed,
            broken: cut,
            setup,
        } = audited;
        faults.extend(failed);
        broken.extend(cut);
        if setup.is_some() {
            rejected = setup;
            break;
        }
        sources.push(Source {
            judge,
            runs: all.clone(),
            seed: args.seed,
            sampled,
            of,
            checklist,
            intents,
            undecided,
            cost: usage.total().known_cost(),
            sessions: told(sessions, runs)?,
        });
    }
    if args.json {
        print_json(&sources)?;
    } else {
        println!("{}", table(&sources));
    }
    for reason in faults.iter().chain(&broken).chain(&rejected) {
        // A server's words may stand in it.
        pibench_report::tell!("error: failed to {}", escape::line(reason));
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

/// Sessions by the runs that were given. What is printed becomes a file, which lies open: of a private run it has no words.
fn told(mut sessions: Vec<JudgedAgain>, runs: &[Utf8PathBuf]) -> Result<Vec<JudgedAgain>, Failure> {
    for one in &mut sessions {
        if let Some(key) = key_of(Path::new(&one.folder)).or_exit(Exit::InvalidInput)? {
            one.withhold(&key);
        }
        let is_given = |run: &&Utf8PathBuf| {
            let root = run.canonicalize_utf8();
            root.is_ok_and(|root| root == one.folder)
        };
        let given = runs.iter().find(is_given);
        one.folder = stored::name(given.map_or(&*one.folder, |run| run.as_str()));
    }
    Ok(sessions)
}

/// The run folders that are named, those of folders of several agents among them; each once.
fn runs(named: &[Utf8PathBuf]) -> Result<Vec<Utf8PathBuf>, Failure> {
    let mut runs = Vec::new();
    for dir in runs_of(named) {
        let dir = Utf8PathBuf::try_from(dir).or_exit(Exit::InvalidInput)?;
        if runs.contains(&dir) {
            return Err(anyhow!("audit {dir} twice; name each run once")).or_exit(Exit::Usage);
        }
        runs.push(dir);
    }
    Ok(runs)
}

fn draw_sample<'a>(plans: &'a [Plan], args: &AuditArgs) -> Result<Sample<'a>, Failure> {
    Sample::draw(plans, args.sample as usize, args.seed).or_exit(Exit::Io)
}

/// Where the runs' files are, if that is elsewhere.
fn places(args: &AuditArgs) -> Places<'_> {
    Places {
        prompts: args.prompts.as_deref(),
        ..Places::default()
    }
}

fn plans(runs: &[Utf8PathBuf], args: &AuditArgs) -> Result<Vec<Plan>, Failure> {
    let machine = machine()?;
    let look = Purpose::Look;
    let plans = runs
        .iter()
        .map(|run| reopen_by(&machine, run, look, places(args)));
    Ok(plans.collect::<Result<_, _>>()?)
}

fn write_sheet(runs: &[Utf8PathBuf], args: &AuditArgs, file: &Utf8Path) -> Result<Exit, Failure> {
    if file.exists() {
        return Err(anyhow!("write {file}: it is there already")).or_exit(Exit::Io);
    }
    refuse_in_clear(runs, "write the sheet of")?;
    let plans = plans(runs, args)?;
    let sample = draw_sample(&plans, args)?;
    let ballot = runtime()?
        .block_on(pibench_engine::ballot(&sample))
        .or_exit(Exit::Io)?;
    std::fs::write(file, pibench_report::ballot::html(&ballot))
        .with_context(|| format!("write {file}"))
        .or_exit(Exit::Io)?;
    let questions: usize = ballot.sessions.iter().map(|one| one.questions.len()).sum();
    println!(
        "{file}: {}, {}. Open it in a browser, answer all, save, and give the saved files of all \
         people to `pibench-host audit RUN... --human FILE...`, with the same runs, --sample and --seed.",
        count(ballot.sessions.len(), "session"),
        count(questions, "question")
    );
    Ok(Exit::Complete)
}

fn by_people(runs: &[Utf8PathBuf], args: &AuditArgs) -> Result<Audited, Failure> {
    let plans = plans(runs, args)?;
    let sample = draw_sample(&plans, args)?;
    let ballot = runtime()?
        .block_on(pibench_engine::ballot(&sample))
        .or_exit(Exit::Io)?;
    let read = |file: &Utf8PathBuf| -> Result<Votes, Failure> {
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("read {file}"));
        let votes = ballot.votes(&text.or_exit(Exit::InvalidInput)?);
        votes
            .with_context(|| format!("read the verdicts of {file}"))
            .or_exit(Exit::InvalidInput)
    };
    let votes = args.human.iter().map(read);
    let votes = votes.collect::<Result<Vec<Votes>, Failure>>()?;
    Ok(pibench_engine::audit_by_people(&sample, &votes, args.seed))
}

/// How people are named in tables, as in the paper.
fn people(count: usize) -> String {
    match count {
        1 => "Human expert".into(),
        count => format!("Human experts ({count})"),
    }
}
