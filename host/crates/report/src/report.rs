//! A report as data: its runs, and all that is computed from them once. Writes nothing.

use super::comparison::cautions;
use super::measures::{Measures, compare_runs, own_scores};
use super::run_record::{RecordError, RunRecord, tell_apart};
use super::sheet::{Origin, Sheet};
use super::tables::{Audit, Measured, banner, find_rivals, origin, tables};
use pibench_core::statistics::{Comparison, SessionScores};
use pibench_record::identity::incomparable;

/// Runs and what follows from them.
#[derive(Debug)]
pub struct Report {
    pub runs: Vec<RunRecord>,
    /// One for each run.
    pub measures: Vec<Measures>,
    pub sheets: Vec<Sheet>,
    /// Stands in every format if a run was scripted or imported.
    pub banner: Option<String>,
    pub comparisons: Vec<RunPair>,
}

/// Two runs of one suite under one protocol, compared.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct RunPair {
    /// Places among the runs.
    pub a: usize,
    pub b: usize,
    /// What else than the agents may make the difference.
    pub cautions: Vec<String>,
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Report {
    /// Computes everything; `seed` is that of the resampling.
    pub fn new(mut runs: Vec<RunRecord>, audits: &[Audit], seed: u64) -> Result<Self, RecordError> {
        tell_apart(&mut runs);
        find_rivals(&mut runs);
        // Each block of a table whole, whatever the order in which the runs were named.
        runs.sort_by_key(|run| Origin::ALL.iter().position(|one| *one == origin(run)));
        let measured_with = runs.iter().map(|run| Measures::with_scores(run, seed));
        let found = measured_with.collect::<Result<Vec<_>, RecordError>>()?;
        let (measures, scores): (Vec<Measures>, Vec<_>) = found.into_iter().unzip();
        let sheets = tables(&measured(&runs, &measures), audits);
        let all: Vec<&RunRecord> = runs.iter().collect();
        Ok(Self {
            banner: banner(&all),
            comparisons: comparisons(&runs, &scores, seed)?,
            sheets,
            measures,
            runs,
        })
    }

    /// The runs with their measures.
    pub fn measured(&self) -> Vec<Measured<'_>> {
        measured(&self.runs, &self.measures)
    }
}

fn measured<'a>(runs: &'a [RunRecord], measures: &'a [Measures]) -> Vec<Measured<'a>> {
    runs.iter()
        .zip(measures)
        .map(|(run, measures)| Measured { run, measures })
        .collect()
}

fn comparisons(
    runs: &[RunRecord],
    scores: &[Vec<SessionScores>],
    seed: u64,
) -> Result<Vec<RunPair>, RecordError> {
    let mut pairs = Vec::new();
    for a in 0..runs.len() {
        for b in a + 1..runs.len() {
            let (one, other) = (&runs[a], &runs[b]);
            if incomparable(&one.manifest, &other.manifest).is_empty() {
                let own = own_scores(one, other)?;
                let (left, right) = match &own {
                    Some((left, right)) => (left, right),
                    None => (&scores[a], &scores[b]),
                };
                pairs.push(RunPair {
                    a,
                    b,
                    cautions: cautions((one, left), (other, right)),
                    comparison: compare_runs(left, right, seed),
                });
            }
        }
    }
    Ok(pairs)
}
