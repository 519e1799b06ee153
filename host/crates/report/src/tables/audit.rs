//! Table 6 from audits: how far other judges disagree with the run's own. It reads what `audit --json` printed and judges
//! nothing.

use serde::Deserialize;

use crate::audit::AuditedRun;
use crate::sheet::{Best, Cell, Column, Figure, Row, Sheet};
use pibench_core::statistics::Interval;

/// One judge's audit of a run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Audit {
    pub judge: String,
    pub runs: Vec<AuditedRun>,
    pub seed: u64,
    /// Sessions that were judged again, of those that are scored.
    pub sampled: u64,
    pub of: u64,
    /// Rubric items; None without any.
    pub checklist: Option<Axis>,
    /// Hidden intents.
    pub intents: Option<Axis>,
    /// Questions on which people had no majority.
    #[serde(default)]
    pub undecided: u64,
}

/// Disagreement over one kind of judgement.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Axis {
    pub judgements: u64,
    /// Percent.
    pub rate: f64,
    pub interval: Interval,
    /// None where both always judged the same.
    pub kappa: Option<f64>,
}

/// Table 6.
pub(super) fn audits(audits: &[Audit]) -> Sheet {
    let (id, title) = (
        "table-6",
        "Table 6: Disagreement of auditors with the judge (%)",
    );
    if audits.is_empty() {
        let why = "No audit was given: `pibench-host audit RUN --judge M --json` makes one, and `report --audit FILE` takes \
                   it.";
        return Sheet::missing(id, title, why.into());
    }
    let mut columns = vec![Column::words("Auditor"), Column::words("Sessions")];
    for axis in ["Checklist", "Intents"] {
        columns.push(Column::figure(axis, Best::None));
        columns.push(Column::words("95% interval"));
        columns.push(Column::figure("Kappa", Best::None));
        columns.push(Column::figure("Judgements", Best::None));
    }
    let mut sheet = Sheet::new(id, title, columns);
    let of_others = audits.iter().any(|audit| audit.runs != audits[0].runs);
    let auditor = |audit: &Audit| {
        let runs = audit.runs.iter().map(|run| run.folder.as_str());
        let runs: Vec<&str> = runs.collect();
        if of_others {
            format!("{} ({})", audit.judge, runs.join(", "))
        } else {
            audit.judge.clone()
        }
    };
    for audit in audits {
        let mut cells = vec![
            Cell::words(auditor(audit)),
            Cell::words(format!("{} of {}", audit.sampled, audit.of)),
        ];
        cells.extend(axis(audit.checklist));
        cells.extend(axis(audit.intents));
        sheet.rows.push(Row::measured(cells));
    }
    let undecided = audits.iter().filter(|audit| audit.undecided > 0);
    let undecided = undecided.map(|audit| {
        format!(
            "{}: no majority on {} questions, which count in nothing.",
            auditor(audit),
            audit.undecided
        )
    });
    sheet.notes = vec![
        "Checklist: the judgements behind Comp; intents: those behind Proc. Kappa takes off what chance alone would agree \
         on."
            .into(),
    ];
    sheet.notes.extend(undecided);
    sheet
}

fn axis(axis: Option<Axis>) -> [Cell; 4] {
    let figure = |value, digits| Cell::one(Some(Figure::new(value, None, digits)));
    match axis {
        None => [
            Cell::one(None),
            Cell::words("-"),
            Cell::one(None),
            Cell::Count(0),
        ],
        Some(axis) => [
            figure(axis.rate, 2),
            Cell::words(super::interval(Some(axis.interval))),
            Cell::one(axis.kappa.map(|kappa| Figure::new(kappa, None, 2))),
            Cell::Count(axis.judgements),
        ],
    }
}
