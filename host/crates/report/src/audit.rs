//! Shows how far audits agree with a run, in the form of the paper's Table 6.

use std::path::Path;

use comfy_table::CellAlignment;
use serde::{Deserialize, Serialize};

use super::escape::line;
use super::grid::{fitting, keep_words_in_room, paragraph};
use pibench_core::cost::MicroUsd;
use pibench_core::statistics::agreement::Agreement;
use pibench_record::RunFolder;
use pibench_record::audited::JudgedAgain;
use pibench_record::folder::FolderError;

/// A run that was audited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditedRun {
    /// As it was named.
    pub folder: String,
    /// BLAKE3 of its seal; None of a run that had none, since it was not played to its end.
    pub seal: Option<String>,
}

impl AuditedRun {
    /// The run of a folder, as it is now.
    pub fn of(dir: &Path) -> Result<Self, FolderError> {
        let (folder, _) = RunFolder::read(dir)?;
        Ok(Self {
            folder: dir.display().to_string(),
            // Whatever keeps it from being read, it is no seal that another run has.
            seal: folder.seal().ok(),
        })
    }
}

/// One audit.
#[derive(Debug, Serialize)]
pub struct Source {
    pub judge: String,
    pub runs: Vec<AuditedRun>,
    /// Of the sample and of the resampling.
    pub seed: u64,
    /// Sessions that were judged again, of those that are scored.
    pub sampled: usize,
    pub of: usize,
    /// The axis of Comp: rubric items met or not. None without any.
    pub checklist: Option<Agreement>,
    /// The axis of Proc: the intents' statuses.
    pub intents: Option<Agreement>,
    /// Questions on which people had no majority: they count in nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub undecided: usize,
    /// Millionths of a US dollar; null when it is not known.
    pub cost: Option<MicroUsd>,
    /// What the agreement is made of.
    pub sessions: Vec<JudgedAgain>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A line for each audit, and below it one for each axis.
pub fn table(sources: &[Source]) -> String {
    let mut table = fitting();
    table.set_header(["audit by", "judged", "differ", "95 %", "kappa", "cost"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for source in sources {
        let Source {
            judge,
            sampled,
            of,
            checklist,
            intents,
            cost,
            ..
        } = source;
        let cost = cost.map_or_else(|| "unknown".into(), |cost| cost.to_string());
        let judged = format!("{sampled} of {of}");
        let none = String::new;
        table.add_row([line(judge), judged, none(), none(), none(), cost]);
        for (axis, found) in [("checklist (Comp)", checklist), ("intents (Proc)", intents)] {
            let [judged, rate, interval, kappa] = cells(found.as_ref());
            table.add_row([format!("  {axis}"), judged, rate, interval, kappa, none()]);
        }
    }
    keep_words_in_room(&mut table, [1, 2, 3, 4, 5, 0]);
    let undecided = sources.iter().filter(|source| source.undecided > 0);
    let undecided = undecided.map(|source| {
        let Source {
            judge, undecided, ..
        } = source;
        let told =
            format!("{judge}: no majority on {undecided} questions, which count in nothing.");
        format!("\n{}", paragraph(&line(&told)))
    });
    let note = "judged: sessions of those that are scored, and judgements in them. differ: the share of judgements that the audit \
                decides otherwise than the run.";
    format!("{table}\n{}", paragraph(note)) + &undecided.collect::<String>()
}

fn cells(found: Option<&Agreement>) -> [String; 4] {
    let Some(found) = found else {
        return ["0", "-", "-", "-"].map(str::to_owned);
    };
    let Agreement {
        judgements,
        disagreements: _,
        rate,
        interval,
        kappa,
    } = found;
    [
        judgements.to_string(),
        format!("{rate:.2} %"),
        format!("{:.2} to {:.2}", interval.low, interval.high),
        kappa.map_or_else(|| "-".into(), |kappa| format!("{kappa:.2}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::statistics::Interval;

    #[test]
    fn each_axis_has_a_line_and_no_line_is_wider_than_a_terminal() {
        let source = Source {
            judge: "openai/gpt-5.4-of-some-date,anthropic/another".into(),
            runs: Vec::new(),
            seed: 1,
            sampled: 120,
            of: 300,
            checklist: Some(Agreement {
                judgements: 1_400,
                disagreements: 42,
                rate: 3.0,
                interval: Interval {
                    low: 2.25,
                    high: 4.0,
                },
                kappa: Some(0.912),
            }),
            intents: None,
            undecided: 2,
            cost: Some(MicroUsd(2_500_000)),
            sessions: Vec::new(),
        };
        let shown = table(&[source]);
        for part in [
            "120 of 300",
            "3.00 %",
            "2.25 to 4.00",
            "0.91",
            "2.50 USD",
            "no majority on 2",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let lines = shown.lines().map(|line| line.chars().count());
        assert!(lines.max() <= Some(80), "{shown}");
    }
}
