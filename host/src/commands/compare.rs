//! `pibench-host compare`: whether one run is better than another, or only luckier.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use camino::Utf8Path;

use crate::cli::CompareArgs;
use crate::eval::statistics::{SessionScores, compare as compare_scores};
use crate::exit::{Exit, Failure, OrExit};
use crate::report::comparison::comparison;
use crate::store::folder::{read_manifest, read_results};
use crate::store::results::{RunResults, SessionLine};

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
    let found = compare_scores(&scores(&left), &scores(&right), *seed);
    if *json {
        println!("{}", serde_json::to_string(&found).or_exit(Exit::Bug)?);
    } else {
        println!("{}", comparison(&found, &name(a, &left), &name(b, &right)));
    }
    Ok(Exit::Complete)
}

fn name(dir: &Utf8Path, results: &RunResults) -> String {
    let scripted = if results.scripted { ", scripted" } else { "" };
    format!("{dir} ({}{scripted})", results.agent)
}

/// Each scored session with its scores by run; what a run did not score is empty.
fn scores(results: &RunResults) -> Vec<SessionScores> {
    let mut sessions: Vec<SessionScores> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in results.sessions.iter().filter(|line| line.weight > 0) {
        let SessionLine {
            id,
            persona,
            proc_scored,
            comp,
            weight,
            ..
        } = line;
        let place = *places
            .entry((persona.as_str(), id.as_str()))
            .or_insert_with(|| {
                sessions.push(SessionScores {
                    persona: persona.clone(),
                    id: id.clone(),
                    weight: *weight,
                    proc: Vec::new(),
                    comp: Vec::new(),
                });
                sessions.len() - 1
            });
        let fraction = |percent: &Option<f64>| percent.map(|percent| percent / 100.0);
        sessions[place].proc.push(fraction(proc_scored));
        sessions[place].comp.push(fraction(comp));
    }
    sessions
}
