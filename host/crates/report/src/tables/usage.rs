//! What runs took: tokens of each role, and money where every price is known. Arranges what results say and prices nothing.

use super::{Measured, name, row};
use crate::sheet::{Best, Cell, Column, Figure, Sheet};
use pibench_core::message::Usage;

/// Tokens by role, and what they cost.
pub(super) fn usage(runs: &[Measured<'_>]) -> Sheet {
    let (id, title) = ("usage", "What the models were asked and answered (tokens)");
    let asked = runs.iter().map(|one| one.run.results.usage.total());
    if asked.clone().all(|usage| usage.tokens() == 0) {
        return Sheet::missing(
            id,
            title,
            "No real model was asked, or no run tells of it.".into(),
        );
    }
    let mut columns = vec![
        Column::words("Model"),
        Column::figure("Sessions", Best::None),
    ];
    for role in ["Agent", "User agent", "Judge"] {
        for what in ["calls", "in", "out"] {
            columns.push(Column::figure(&format!("{role}: {what}"), Best::None));
        }
    }
    columns.push(Column::figure("Agent: cached (%)", Best::None));
    columns.push(Column::figure("Tokens per session", Best::None));
    columns.push(Column::figure("US dollars", Best::None));
    let mut sheet = Sheet::new(id, title, columns);
    for (one, total) in runs.iter().zip(asked) {
        let results = &one.run.results;
        let sessions = one.run.played;
        let mut cells = vec![Cell::words(name(one.run)), Cell::count(sessions)];
        if results.imported {
            cells.resize(sheet.columns.len(), Cell::one(None));
            sheet.rows.push(row(one.run, cells));
            continue;
        }
        let mut asked = results.usage;
        asked += results.preflight;
        let roles = [asked.agent, asked.user, asked.judge];
        for usage in roles {
            cells.push(Cell::Count(usage.calls));
            cells.extend([usage.input_tokens, usage.output_tokens].map(|tokens| {
                let known = usage.known(tokens);
                known.map_or_else(|| Cell::one(None), Cell::Count)
            }));
        }
        let cached = results.usage.agent.cached_share();
        cells.push(Cell::one(
            cached.map(|share| Figure::new(share * 100.0, None, 1)),
        ));
        let is_part = roles.iter().any(Usage::lacks_counts);
        let tokens = total.tokens() as f64;
        let is_known = !is_part && sessions > 0;
        let each = Figure::new(tokens / sessions.max(1) as f64, None, 0);
        cells.push(Cell::one(is_known.then_some(each)));
        let dollars = results.cost.map(|cost| Figure::new(cost.usd(), None, 2));
        cells.push(Cell::one(dollars));
        sheet.rows.push(row(one.run, cells));
    }
    sheet.notes = vec![
        "Sessions: those that were played to their end. Calls, tokens and US dollars: with the question to each model before the \
         first session. Tokens per session: without. \
         Cached: of the agent's input, what the provider had seen before and says so. US dollars: at the prices of the \
         day, where every call has one. Where a server does not count its tokens they are not known."
            .into(),
    ];
    sheet
}
