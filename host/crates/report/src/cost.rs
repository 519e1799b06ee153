//! What a run cost: tokens and money by role and by session. It knows no prices; they are in the record.

use std::io;

use comfy_table::CellAlignment;

use super::grid::{fitting, paragraph};

use pibench_core::cost::MicroUsd;
use pibench_record::event::RoleUsage;
use pibench_record::results::{RunResults, SessionLine};
use pibench_record::rows::Rows;

/// Tokens and cost by role, and the dearest sessions; None when nobody was paid, or the record does not tell.
pub fn table(results: &RunResults, rows: &impl Rows<SessionLine>) -> io::Result<Option<String>> {
    if results.scripted || results.imported {
        return Ok(None);
    }
    let RoleUsage { agent, user, judge } = results.usage;
    let mut table = fitting();
    table.set_header([
        "role", "model", "calls", "input", "cached", "output", "thinking", "cost",
    ]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let preflight = results.preflight.total();
    let mut whole = results.usage.total();
    whole += preflight;
    let asked = [
        ("agent", results.agent.as_str(), agent),
        ("user", &results.user, user),
        ("judge", &results.judge, judge),
        ("preflight", "", preflight),
        ("all", "", whole),
    ];
    for (role, model, usage) in asked {
        if role == "preflight" && usage.calls == 0 {
            continue;
        }
        table.add_row([
            role.to_owned(),
            model.to_owned(),
            usage.calls.to_string(),
            usage.input_tokens.to_string(),
            cached(usage.cached_tokens, usage.cached_share()),
            usage.output_tokens.to_string(),
            usage.reasoning_tokens.to_string(),
            money(usage.known_cost()),
        ]);
    }
    let mut parts = vec![table.to_string()];
    parts.extend(by_session(rows)?);
    Ok(Some(parts.join("\n")))
}

/// What was cached of the input, with its share.
fn cached(tokens: u64, share: Option<f64>) -> String {
    let share = share.map_or_else(String::new, |share| format!(" ({:.0}%)", share * 100.0));
    format!("{tokens}{share}")
}

fn money(cost: Option<MicroUsd>) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| cost.to_string())
}

/// Mean and dearest of the sessions whose cost is known.
fn by_session(rows: &impl Rows<SessionLine>) -> io::Result<Option<String>> {
    let (mut count, mut sum) = (0, 0);
    let mut dearest: Option<(MicroUsd, SessionLine)> = None;
    rows.each(&mut |line| {
        // One that nobody played cost nothing.
        let Some(cost) = line.cost.filter(|_| line.turns > 0) else {
            return Ok(());
        };
        count += 1;
        sum += cost.0;
        if dearest.as_ref().is_none_or(|(most, _)| cost >= *most) {
            dearest = Some((cost, line.clone()));
        }
        Ok(())
    })?;
    // Where none cost anything, what was paid was paid for other things: sessions that were cut off, the question before the
    // first.
    let Some((dearest, line)) = dearest.filter(|(dearest, _)| dearest.0 > 0) else {
        return Ok(None);
    };
    let mean = MicroUsd(sum / count);
    Ok(Some(paragraph(&format!(
        "A session cost {mean} on average; {}/{} in run {} cost the most, {dearest}.",
        line.persona, line.id, line.run
    ))))
}
