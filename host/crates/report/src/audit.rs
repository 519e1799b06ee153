//! Shows how far audits agree with a run, in the form of the paper's Table 6.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use pibench_core::cost::MicroUsd;
use pibench_core::statistics::agreement::Agreement;

/// One audit.
#[derive(Debug, Serialize)]
pub struct Source {
    pub judge: String,
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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A line for each audit and axis.
pub fn table(sources: &[Source]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header([
        "audit by",
        "sessions",
        "axis",
        "judgements",
        "disagreement",
        "95 %",
        "kappa",
        "cost",
    ]);
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for source in sources {
        let axes = [
            ("checklist (Comp)", &source.checklist),
            ("intents (Proc)", &source.intents),
        ];
        for (at, (axis, found)) in axes.into_iter().enumerate() {
            let once = |text: String| if at == 0 { text } else { String::new() };
            let mut row = vec![
                once(source.judge.clone()),
                once(format!("{} of {}", source.sampled, source.of)),
                axis.to_owned(),
            ];
            row.extend(cells(found.as_ref()));
            row.push(once(
                source
                    .cost
                    .map_or_else(|| "unknown".into(), |cost| cost.to_string()),
            ));
            table.add_row(row);
        }
    }
    let undecided = sources.iter().filter(|source| source.undecided > 0);
    let undecided = undecided.map(|source| {
        let Source {
            judge, undecided, ..
        } = source;
        format!("\n{judge}: no majority on {undecided} questions, which count in nothing.")
    });
    table.to_string() + &undecided.collect::<String>()
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
    fn each_axis_has_a_line() {
        let source = Source {
            judge: "gpt-5.4".into(),
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
    }
}
