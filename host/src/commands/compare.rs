//! `pibench-host compare`: whether one run is better than another, or only luckier.

use anyhow::anyhow;
use camino::Utf8Path;
use serde_json::json;

use super::output::print_json;
use super::report::{check_one, failure};
use super::stored;
use crate::cli::CompareArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::vocabulary::Ablation;
use pibench_record::RunFolder;
use pibench_record::folder::read_manifest;
use pibench_record::identity::{incomparable, listed};
use pibench_report::comparison::{cautions, comparison};
use pibench_report::measures::{comparable_scores, compare_runs};
use pibench_report::run_record::{RecordError, RunRecord};

/// Compares two run folders, session by session and overall.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let CompareArgs { a, b, seed, json } = args;
    for dir in [a, b] {
        check_one(dir)?;
    }
    let manifest = |dir: &Utf8Path| read_manifest(dir.as_std_path()).or_exit(Exit::InvalidInput);
    let (of_a, of_b) = (manifest(a)?, manifest(b)?);
    let differ = incomparable(&of_a, &of_b);
    if !differ.is_empty() {
        return Err(anyhow!(
            "compare {a} with {b}: they are not runs of the same suite under the same protocol: they differ in {}; `pibench-host report {a} {b}` \
             shows them side by side",
            listed(&differ)
        ))
        .or_exit(Exit::InvalidInput);
    }
    let read = |dir: &Utf8Path| {
        RunRecord::read_unheld(dir.as_std_path()).map_err(|error| match error {
            RecordError::Unfinished { .. } => Failure {
                exit: Exit::InvalidInput,
                error: anyhow!(
                    "compare {dir}: it is not played to its end; go on with it by `pibench-host run --resume {dir}`"
                ),
            },
            error => failure(error),
        })
    };
    let (left, right) = (read(a)?, read(b)?);
    let scores = comparable_scores(&left, &right);
    let (a_scores, b_scores) = scores.or_exit(Exit::InvalidInput)?;
    let found = compare_runs(&a_scores, &b_scores, *seed);
    let mut cautions = cautions((&left, &a_scores), (&right, &b_scores));
    for dir in [a, b] {
        let changed = RunFolder::changed_since_sealed(dir.as_std_path());
        cautions.extend(changed.or_exit(Exit::InvalidInput)?);
    }
    let cautions: Vec<String> = cautions.iter().map(|text| stored::name(text)).collect();
    if *json {
        let mut found = serde_json::to_value(&found).or_exit(Exit::Bug)?;
        found["cautions"] = json!(cautions);
        print_json(&found)?;
    } else {
        let (a, b) = (name(a, &left), name(b, &right));
        println!("{}", comparison(&found, &a, &b, &cautions));
    }
    Ok(Exit::Complete)
}

fn name(dir: &Utf8Path, run: &RunRecord) -> String {
    let results = &run.results;
    let marks = results.players.marks().into_iter();
    let marks: Vec<String> = marks.map(|mark| format!(", {}", mark.words())).collect();
    let marks = marks.concat();
    let ablated = match results.ablate {
        Some(Ablation::Dependencies) => ", without dependencies",
        None => "",
    };
    let prompt = results.scaffold_prompt.as_ref();
    let prompt = prompt.map_or_else(String::new, |wording| format!(", {wording} prompt"));
    let cut = if run.is_cut() {
        ", not played to its end"
    } else {
        ""
    };
    let dir = stored::name(dir.as_str());
    format!("{dir} ({}{marks}{ablated}{prompt}{cut})", results.agent)
}
