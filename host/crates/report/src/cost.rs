//! What a run cost: tokens and money by role and by session. It knows no prices; they are in the record.

use std::io;

use comfy_table::CellAlignment;

use super::grid::{fitting, keep_words_in_room, paragraph};

use pibench_core::cost::MicroUsd;
use pibench_core::message::Usage;
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
    let is_part = [agent, user, judge, preflight].iter().any(is_uncounted);
    for (role, model, usage) in asked {
        let told = |tokens| told(tokens, &usage, role == "all" && is_part);
        if role == "preflight" && usage.calls == 0 {
            continue;
        }
        table.add_row([
            role.to_owned(),
            model.to_owned(),
            usage.calls.to_string(),
            told(usage.input_tokens.to_string()),
            told(cached(usage.cached_tokens, usage.cached_share())),
            told(usage.output_tokens.to_string()),
            told(usage.reasoning_tokens.to_string()),
            money(usage.known_cost()),
        ]);
    }
    // Half a number is another one; a model's name is long.
    keep_words_in_room(&mut table, [2, 3, 4, 5, 6, 7, 0, 1]);
    let mut parts = vec![table.to_string()];
    parts.extend(by_session(rows)?);
    Ok(Some(parts.join("\n")))
}

/// Whether no server has told how many tokens these calls were of: a question is never of none.
fn is_uncounted(usage: &Usage) -> bool {
    usage.unpriced_calls > 0 && usage.input_tokens == 0
}

/// A count of tokens, as far as it is known.
fn told(tokens: String, usage: &Usage, is_part: bool) -> String {
    if is_uncounted(usage) {
        return "-".into();
    }
    if is_part {
        return format!("at least {tokens}");
    }
    tokens
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_no_server_counted_are_not_0() {
        let of = |input_tokens, unpriced_calls| Usage {
            calls: 1,
            input_tokens,
            unpriced_calls,
            ..Usage::default()
        };
        assert_eq!(told("0".into(), &of(0, 1), false), "-");
        // A script has none, and a model without a price has some.
        assert_eq!(told("0".into(), &of(0, 0), false), "0");
        assert_eq!(told("9".into(), &of(9, 1), false), "9");
        assert_eq!(told("9".into(), &of(9, 1), true), "at least 9");
    }
}
