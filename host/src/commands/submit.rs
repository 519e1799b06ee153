//! `pibench-host submit`: runs that others may check, as one archive.

mod again;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use self::again::judge_again;
use super::board::ARCHIVE;
use super::board::copies::refuse_beside;
use super::output::print_json;
use super::signing::{read_key, read_signers};
use super::submission::{Checked, Readers, Told, check_archive, look, print_told, read_rules};
use super::{check_new, machine};
use crate::cli::board::{CheckSubmissionArgs, PrepareArgs, SubmitArgs, SubmitCommand};
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::submission::{self, List, NAMESPACE};
use pibench_core::count::count;
use pibench_engine::plan::{Places, Purpose, reopen_foreign};
use pibench_record::RunFolder;
use pibench_record::folder::read_manifest;
use pibench_report::escape::line;

/// Of the resampling, as `submit check` and `board build` have it where nothing is said.
const SEED: u64 = 1;

const WORKFLOW: &str = include_str!("../../templates/board/workflow.yaml");

pub(super) fn submit(args: &SubmitArgs) -> Result<Exit, Failure> {
    match &args.command {
        SubmitCommand::Prepare(args) => prepare(args),
        SubmitCommand::Check(args) => check(args),
        SubmitCommand::Workflow => {
            print!("{WORKFLOW}");
            Ok(Exit::Complete)
        }
    }
}

fn prepare(args: &PrepareArgs) -> Result<Exit, Failure> {
    let PrepareArgs {
        runs,
        out,
        key,
        suite,
        prompts,
        plugins,
        by,
    } = args;
    check_new(out)?;
    check_named(runs, out)?;
    let rules = read_rules(by.rules.as_deref())?;
    let machine = machine()?;
    // Asked for before the work is done.
    let key = key.as_deref().map(read_key).transpose()?;
    let mut may = true;
    for run in runs {
        if let Some(changed) =
            RunFolder::changed_since_sealed(run.as_std_path()).or_exit(Exit::InvalidInput)?
        {
            return Err(anyhow!("submit {run}: {changed}")).or_exit(Exit::InvalidInput);
        }
        let manifest = read_manifest(run.as_std_path()).or_exit(Exit::InvalidInput)?;
        let recorded = |path: &'_ Option<String>| path.clone().map(Utf8PathBuf::from);
        let suite = suite.clone().unwrap_or(manifest.suite_path.into());
        let prompts = prompts.clone().or(recorded(&manifest.prompts));
        let policy = recorded(&manifest.policy);
        let found = look(run, run.as_str(), &rules, || {
            // Its plugins are a board's: what was in their place is on this machine alone.
            let places = Places {
                suite: Some(&suite),
                plugins: plugins.as_deref(),
                policy: policy.as_deref(),
                prompts: prompts.as_deref(),
            };
            reopen_foreign(&machine, run, Purpose::Look, places)
        })?;
        print_told(&Told::of(&found, SEED)?);
        may &= found.reasons.is_empty();
    }
    if !may {
        return Err(anyhow!(
            "submit these runs: a board of these rules would not rank them"
        ))
        .or_exit(Exit::InvalidInput);
    }
    let runs: Vec<PathBuf> = runs
        .iter()
        .map(|run| run.clone().into_std_path_buf())
        .collect();
    let list = List::of(&runs).or_exit(Exit::InvalidInput)?;
    let signature = key.as_ref().map(|key| {
        let text = list.text();
        pibench_signature::sign(key, NAMESPACE, text.as_bytes())
    });
    let signature = signature.transpose().or_exit(Exit::InvalidInput)?;
    submission::write(out.as_std_path(), &list, signature.as_deref(), &runs).or_exit(Exit::Io)?;
    let by = key.map_or_else(
        || "unsigned".to_owned(),
        |key| format!("signed by {}", key.fingerprint()),
    );
    println!("{out}: {}, {by}", count(runs.len(), "run"));
    Ok(Exit::Complete)
}

/// Names that no board would read, and runs that it would refuse for another.
fn check_named(runs: &[Utf8PathBuf], out: &Utf8Path) -> Result<(), Failure> {
    if out.extension() != Some(ARCHIVE) {
        return Err(anyhow!(
            "write {out}: a board reads files that end in `.{ARCHIVE}`"
        ))
        .or_exit(Exit::Usage);
    }
    let mut seen = BTreeSet::new();
    for run in runs {
        let (_, manifest) = RunFolder::read(run.as_std_path()).or_exit(Exit::InvalidInput)?;
        if manifest.published.is_some() {
            return Err(anyhow!(
                "submit {run}: it is what was published of a run; name the run itself"
            ))
            .or_exit(Exit::InvalidInput);
        }
        let place = run.canonicalize_utf8().unwrap_or_else(|_| run.clone());
        if !seen.insert(place) {
            return Err(anyhow!("submit {run}: it is named twice")).or_exit(Exit::Usage);
        }
    }
    Ok(())
}

fn check(args: &CheckSubmissionArgs) -> Result<Exit, Failure> {
    let CheckSubmissionArgs {
        archive,
        beside,
        json,
        again,
        by,
        places,
        signers,
    } = args;
    let signers = read_signers(signers)?;
    let rules = read_rules(by.rules.as_deref())?;
    places.check()?;
    let places = places.places();
    let mut checked = check_archive(
        archive,
        &rules,
        places,
        signers.as_ref(),
        Readers::Recipients,
    )?;
    if let Some(dir) = beside {
        checked = refuse_beside((archive, checked), dir, &rules, places, signers.as_ref())?;
    }
    let may = checked.reasons.is_empty() && checked.runs.iter().all(|run| run.reasons.is_empty());
    // Nobody is asked about what is not ranked anyway.
    let judged = match &again.judge {
        Some(judge) if may => Some(judge_again(&checked, judge, again, places)?),
        _ => None,
    };
    let seed = again.seed.unwrap_or(SEED);
    let told = checked.runs.iter().map(|run| Told::of(run, seed));
    let told: Vec<Told<'_>> = told.collect::<Result<_, Failure>>()?;
    if *json {
        let found = serde_json::json!({
            "version": 1, "archive": archive, "digest": checked.digest, "may_be_ranked": may, "signed": checked.signed,
            "reasons": checked.reasons, "runs": told, "judged": judged,
        });
        print_json(&found)?;
    } else {
        print_checked(archive, &checked, &told, may);
        if let (Some(judged), Some(digest)) = (judged, checked.digest) {
            println!("\nFor the board's rules:\n");
            let judged = BTreeMap::from([("judged", BTreeMap::from([(digest, judged)]))]);
            print!("{}", toml::to_string(&judged).or_exit(Exit::Bug)?);
        }
    }
    Ok(if may {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}

fn print_checked(archive: &Utf8Path, checked: &Checked, told: &[Told<'_>], may: bool) {
    for run in told {
        print_told(run);
    }
    for reason in &checked.reasons {
        println!("{archive}: {}", line(reason));
    }
    let signer = checked
        .signed
        .as_ref()
        .map(|one| format!("signed by {} ({})", line(&one.by), one.fingerprint));
    let signer = signer.unwrap_or_else(|| "signed by nobody who is known".into());
    let verdict = if may {
        "it may be ranked"
    } else {
        "it may not be ranked"
    };
    println!("{archive}: {signer}; {verdict}");
}
