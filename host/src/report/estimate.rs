//! Shows what a run will ask of its models and cost, with the assumptions that the figures rest on.

use comfy_table::{CellAlignment, Table, presets};

use crate::eval::cost::{MicroUsd, Price};
use crate::eval::estimate::{Estimate, Load, assumptions};

/// One model of the plan, with what it will be asked.
#[derive(Debug)]
pub struct Row {
    pub role: &'static str,
    pub model: String,
    /// None: a scripted model, which asks nobody.
    pub asked: Option<(Load, Option<Price>)>,
}

/// The estimate as plain text.
pub fn estimate(sessions: usize, runs: u32, estimate: &Estimate, rows: &[Row]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_header(["role", "model", "calls", "input", "output", "cost"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut total = Some(MicroUsd::default());
    for Row { role, model, asked } in rows {
        let Some((load, price)) = asked else {
            table.add_row([*role, model, "-", "-", "-", "scripted"]);
            continue;
        };
        let cost = price.map(|price| price.of(load.tokens()));
        total = total.zip(cost).map(|(mut sum, cost)| {
            sum += cost;
            sum
        });
        table.add_row([
            (*role).to_owned(),
            model.clone(),
            load.calls.to_string(),
            load.input.to_string(),
            load.output.to_string(),
            money(cost),
        ]);
    }
    let lines: Vec<String> = assumptions()
        .iter()
        .map(|line| format!("- {line}"))
        .collect();
    format!(
        "{sessions} sessions in each of {runs} runs, {} turns\n{table}\nIn all: {}. Nothing was asked and nothing was \
         spent.\n\nAssumptions:\n{}",
        estimate.turns,
        money(total),
        lines.join("\n")
    )
}

fn money(cost: Option<MicroUsd>) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| cost.to_string())
}
