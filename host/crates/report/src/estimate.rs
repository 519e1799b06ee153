//! Shows what a run will ask of its models and cost, with the assumptions that the figures rest on.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::grid::paragraph;
use pibench_core::cost::{MicroUsd, Price};
use pibench_core::estimate::{Estimate, Load, assumptions};

/// One model of the plan, with what it will be asked.
#[derive(Debug)]
pub struct Row {
    pub role: &'static str,
    pub model: String,
    /// None: a scripted model, which asks nobody.
    pub asked: Option<(Load, Option<Price>)>,
}

impl Row {
    /// Nothing for a scripted model; None where the price is not known.
    fn cost(&self) -> Option<MicroUsd> {
        match &self.asked {
            None => Some(MicroUsd::default()),
            Some((load, price)) => price.map(|price| price.of(load.tokens())),
        }
    }
}

/// What all of it costs; None when the price of a part is not known.
pub fn total(rows: &[Row]) -> Option<MicroUsd> {
    sum(rows.iter().map(Row::cost))
}

/// None when one of them is.
pub fn sum(costs: impl IntoIterator<Item = Option<MicroUsd>>) -> Option<MicroUsd> {
    costs
        .into_iter()
        .try_fold(MicroUsd::default(), |mut sum, cost| {
            sum += cost?;
            Some(sum)
        })
}

/// The estimate for one agent as JSON; amounts are millionths of a US dollar.
pub fn object(sessions: usize, runs: u32, estimate: &Estimate, rows: &[Row]) -> Value {
    let roles: Vec<Value> = rows
        .iter()
        .map(|row| {
            let Row { role, model, asked } = row;
            let load = asked.as_ref().map(|(load, _)| *load).unwrap_or_default();
            json!({
                "role": role, "model": model, "scripted": asked.is_none(), "calls": load.calls,
                "input_tokens": load.input, "output_tokens": load.output, "cost": row.cost(),
            })
        })
        .collect();
    json!({
        "sessions": sessions, "runs": runs, "turns": estimate.turns, "roles": roles, "cost": total(rows),
    })
}

/// How a sum stands to the bound that a run is given; None without a bound. The price of everything is known then.
pub fn bound(cost: Option<MicroUsd>, limit: Option<MicroUsd>) -> Option<String> {
    let (cost, limit) = cost.zip(limit)?;
    Some(if cost > limit {
        let above = format!(
            "The estimate of {cost} is above --max-cost {limit}: the run would stop before its end."
        );
        paragraph(&above)
    } else {
        format!("The estimate of {cost} is within --max-cost {limit}.")
    })
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
    for row in rows {
        let Row { role, model, asked } = row;
        let Some((load, _)) = asked else {
            table.add_row([*role, model, "-", "-", "-", "scripted"]);
            continue;
        };
        table.add_row([
            (*role).to_owned(),
            model.clone(),
            load.calls.to_string(),
            load.input.to_string(),
            load.output.to_string(),
            money(row.cost()),
        ]);
    }
    let lines: Vec<String> = assumptions()
        .iter()
        .map(|line| paragraph(&format!("- {line}")))
        .collect();
    let all = format!(
        "In all: {}. Nothing was asked and nothing was spent.",
        money(total(rows))
    );
    format!(
        "{sessions} sessions in each of {runs} runs, {} turns\n{table}\n{}\n\nAssumptions:\n{}",
        estimate.turns,
        paragraph(&all),
        lines.join("\n")
    )
}

fn money(cost: Option<MicroUsd>) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| cost.to_string())
}
