//! `pibench-host compare`: whether one run is better than another, or only luckier.

use anyhow::{Context, anyhow};
use camino::Utf8Path;

use crate::cli::CompareArgs;
use crate::eval::statistics::compare as compare_scores;
use crate::exit::{Exit, Failure, OrExit};
use crate::report::comparison::comparison;
use crate::report::measures::comparable_scores;
use crate::store::folder::{read_manifest, read_results};
use crate::store::results::RunResults;
use crate::task::manifest::Ablation;

/// Compares two run folders, session by session and overall.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let CompareArgs { a, b, seed, json } = args;
    let comparable = |dir: &Utf8Path| {
        let manifest = read_manifest(dir.as_std_path())?;
        Ok::<_, anyhow::Error>((manifest.suite_digest, manifest.protocol))
    };
    if comparable(a).or_exit(Exit::InvalidInput)? != comparable(b).or_exit(Exit::InvalidInput)? {
        return Err(anyhow!(
            "compare {a} with {b}: they are not runs of the same suite under the same protocol"
        ))
        .or_exit(Exit::InvalidInput);
    }
    let results = |dir: &Utf8Path| {
        read_results(dir.as_std_path())
            .with_context(|| format!("compare {dir}: it is not played to its end"))
            .or_exit(Exit::InvalidInput)
    };
    let (left, right) = (results(a)?, results(b)?);
    let (a_scores, b_scores) = comparable_scores(&left, &right);
    let found = compare_scores(&a_scores, &b_scores, *seed);
    if *json {
        println!("{}", serde_json::to_string(&found).or_exit(Exit::Bug)?);
    } else {
        println!("{}", comparison(&found, &name(a, &left), &name(b, &right)));
    }
    Ok(Exit::Complete)
}

fn name(dir: &Utf8Path, results: &RunResults) -> String {
    let scripted = if results.scripted { ", scripted" } else { "" };
    let imported = if results.imported { ", imported" } else { "" };
    let ablated = match results.ablate {
        Some(Ablation::Dependencies) => ", without dependencies",
        None => "",
    };
    let prompt = results.scaffold_prompt.as_ref();
    let prompt = prompt.map_or_else(String::new, |wording| format!(", {wording} prompt"));
    format!(
        "{dir} ({}{scripted}{imported}{ablated}{prompt})",
        results.agent
    )
}
