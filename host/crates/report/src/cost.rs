//! What a run cost: tokens and money by role and by session. It knows no prices; they are in the record.

use std::io;

use comfy_table::CellAlignment;

use super::escape::line;
use super::grid::{fitting, keep_words_in_room, listing, paragraph};

use pibench_core::cost::MicroUsd;
use pibench_core::count::count;
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
        "role", "calls", "input", "cached", "output", "thinking", "cost",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let preflight = results.preflight.total();
    let mut whole = results.usage.total();
    whole += preflight;
    let asked = [
        ("agent", agent),
        ("user", user),
        ("judge", judge),
        ("preflight", preflight),
        ("all", whole),
    ];
    let roles = [agent, user, judge, preflight];
    let is_part = roles.iter().any(Usage::lacks_counts);
    for (role, usage) in asked {
        let told = |tokens| told(tokens, &usage, role == "all" && is_part);
        if role == "preflight" && usage.calls == 0 {
            continue;
        }
        table.add_row([
            role.to_owned(),
            usage.calls.to_string(),
            told(usage.input_tokens.to_string()),
            told(cached(usage.cached_tokens, usage.cached_share())),
            told(usage.output_tokens.to_string()),
            told(usage.reasoning_tokens.to_string()),
            money(usage.known_cost()),
        ]);
    }
    // Half a number is another one.
    keep_words_in_room(&mut table, [1, 2, 3, 4, 5, 6, 0]);
    // A model's name is long, and no column would leave it whole.
    let names = [
        ("agent", &results.agent),
        ("user", &results.user),
        ("judge", &results.judge),
    ];
    let names = names.map(|(role, model)| [role.to_owned(), line(model), String::new()]);
    let mut parts = vec![listing(&names).trim_end().to_owned(), table.to_string()];
    parts.extend(by_session(rows)?);
    Ok(Some(parts.join("\n")))
}

/// A count of tokens, as far as it is known.
fn told(tokens: String, usage: &Usage, is_part: bool) -> String {
    if usage.is_uncounted() {
        return "-".into();
    }
    if is_part || usage.lacks_counts() {
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

/// Mean of the sessions whose cost is known, and the dearest where that of all is.
fn by_session(rows: &impl Rows<SessionLine>) -> io::Result<Option<String>> {
    let (mut played, mut known, mut sum) = (0_u64, 0, 0);
    let mut dearest: Option<(MicroUsd, SessionLine)> = None;
    rows.each(&mut |line| {
        // One that nobody played cost nothing.
        played += u64::from(line.turns > 0);
        let Some(cost) = line.cost.filter(|_| line.turns > 0) else {
            return Ok(());
        };
        known += 1;
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
    let mean = MicroUsd(sum / known);
    let told = if known == played {
        format!(
            "A session cost {mean} on average; {}/{} in run {} cost the most, {dearest}.",
            line.persona, line.id, line.run
        )
    } else {
        // One of the others may have cost more.
        let all = count(played, "session");
        format!("The cost of {known} of {all} is known: {mean} on average.")
    };
    Ok(Some(paragraph(&told)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::record::Outcome;
    use pibench_core::score::IntentCounts;
    use pibench_record::Used;

    #[test]
    fn the_dearest_session_is_told_only_where_the_cost_of_all_is_known() {
        let line = |id: &str, turns, cost: Option<u64>| SessionLine {
            id: id.into(),
            persona: "p".into(),
            run: 1,
            proc: None,
            proc_scored: None,
            weight: 1,
            comp: None,
            turns,
            outcome: Outcome::Complete,
            intents: IntentCounts::default(),
            no_offline_matcher: false,
            usage: Used::default(),
            cost: cost.map(MicroUsd),
        };
        // What nobody played is no session of unknown cost.
        let mut lines = vec![
            line("a", 2, Some(10_000)),
            line("b", 2, Some(30_000)),
            line("c", 0, None),
        ];
        let told = |lines: &Vec<SessionLine>| by_session(lines).unwrap();
        assert_eq!(
            told(&lines).unwrap(),
            "A session cost 0.0200 USD on average; p/b in run 1 cost the most, 0.0300 USD."
        );
        lines.push(line("d", 1, None));
        assert_eq!(
            told(&lines).unwrap(),
            "The cost of 2 of 3 sessions is known: 0.0200 USD on average."
        );
        assert_eq!(told(&lines.split_off(3)), None);
    }

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
        // A model that costs nothing may be asked of whom nobody counts.
        let free = |input_tokens| Usage {
            uncounted_calls: 1,
            ..of(input_tokens, 0)
        };
        assert_eq!(told("0".into(), &free(0), false), "-");
        assert_eq!(told("9".into(), &free(9), false), "at least 9");
    }
}
