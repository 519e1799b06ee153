//! A report as a whole: what is computed once from its runs, and the folder that holds all of it.

use std::fs;
use std::path::Path;

use super::comparison::cautions;
use super::figure::{Theme, figures};
use super::format::{Format, csv_file, render};
use super::measures::{Measures, comparable_scores};
use super::page;
use super::run_record::{RunRecord, tell_apart};
use super::sheet::{Origin, Sheet};
use super::tables::{Audit, Measured, banner, origin, tables};
use pibench_core::statistics::{Comparison, compare};
use pibench_record::identity::incomparable;

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("write {path}: {reason}")]
pub struct WriteError {
    path: String,
    reason: String,
}

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
    pub fn new(mut runs: Vec<RunRecord>, audits: &[Audit], seed: u64) -> Self {
        tell_apart(&mut runs);
        // Each block of a table whole, whatever the order in which the runs were named.
        runs.sort_by_key(|run| Origin::ALL.iter().position(|one| *one == origin(run)));
        let measures: Vec<Measures> = runs.iter().map(|run| Measures::of(run, seed)).collect();
        let sheets = tables(&measured(&runs, &measures), audits);
        let all: Vec<&RunRecord> = runs.iter().collect();
        Self {
            banner: banner(&all),
            comparisons: comparisons(&runs, seed),
            sheets,
            measures,
            runs,
        }
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

fn comparisons(runs: &[RunRecord], seed: u64) -> Vec<RunPair> {
    let mut pairs = Vec::new();
    for a in 0..runs.len() {
        for b in a + 1..runs.len() {
            let (one, other) = (&runs[a].manifest, &runs[b].manifest);
            if incomparable(one, other).is_empty() {
                let (left, right) = comparable_scores(&runs[a].results, &runs[b].results);
                let comparison = compare(&left, &right, seed);
                let cautions = cautions(one, other);
                pairs.push(RunPair {
                    a,
                    b,
                    cautions,
                    comparison,
                });
            }
        }
    }
    pairs
}

/// Writes a new folder: `index.html`, `tables.<format>`, `tables/<id>.csv`, `figures/<id>.svg`.
pub fn write(report: &Report, dir: &Path) -> Result<(), WriteError> {
    let failed = |path: &Path, reason: String| WriteError {
        path: path.display().to_string(),
        reason,
    };
    if dir.exists() {
        let reason = "it is there already; choose another --out".into();
        return Err(failed(dir, reason));
    }
    let banner = report.banner.as_deref();
    let mut files = vec![("index.html".to_owned(), page::html(report))];
    for (name, format) in [
        ("tables.txt", Format::Text),
        ("tables.md", Format::Markdown),
        ("tables.json", Format::Json),
        ("tables.tex", Format::Latex),
    ] {
        files.push((name.into(), render(format, &report.sheets, banner)));
    }
    for sheet in &report.sheets {
        files.push((format!("tables/{}.csv", sheet.id), csv_file(sheet, banner)));
    }
    for figure in figures(&report.measured(), Theme::Light, banner) {
        files.push((format!("figures/{}.svg", figure.id), figure.svg));
    }
    for (name, text) in files {
        let path = dir.join(name);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(dir)).and_then(|()| fs::write(&path, text));
        written.map_err(|error| failed(&path, error.to_string()))?;
    }
    Ok(())
}
