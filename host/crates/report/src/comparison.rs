//! Two runs side by side as plain text: each session, the overall difference, and what it is worth. It computes nothing.

use comfy_table::{CellAlignment, Table};

use super::escape::line;
use super::grid::{fitting, keep_words, paragraph};
use pibench_core::player::Player;
use pibench_core::statistics::{
    Comparison, Difference, Interval, MeasureComparison, SessionPair, Sides,
};
use pibench_record::folder::Manifest;
use pibench_record::identity::{beside_agent, listed};

/// What else than their agents may make the difference between two runs: another kind of judge first.
pub fn cautions(a: &Manifest, b: &Manifest) -> Vec<String> {
    let by_patterns = |player| player == Player::Patterns;
    let mixed = by_patterns(a.players.user) != by_patterns(b.players.user)
        || by_patterns(a.players.judge) != by_patterns(b.players.judge);
    let mixed = mixed.then(|| {
        "Judged by patterns on one side and by models on the other: the difference is that of the judges as much as that of the \
         agents."
            .to_owned()
    });
    let others = beside_agent(a, b);
    let others = (!others.is_empty()).then(|| {
        format!(
            "Beside their agents the runs differ in {}: what that makes out is part of the difference.",
            listed(&others)
        )
    });
    mixed.into_iter().chain(others).collect()
}

/// The comparison of run `a` with run `b`, which are named as the reader knows them. The cautions stand above the figures and
/// below them: tables are long.
pub fn comparison(comparison: &Comparison, a: &str, b: &str, cautions: &[String]) -> String {
    let measures = [("Proc", &comparison.proc), ("Comp", &comparison.comp)];
    let named = |side: &str, run| paragraph(&format!("{side}: {}", line(run)));
    let above = format!("{}\n{}", named("A", a), named("B", b));
    let mut parts = vec![above];
    let cautions: Vec<String> = cautions.iter().map(|one| paragraph(&line(one))).collect();
    parts.extend(cautions.iter().cloned());
    parts.push(sessions(&comparison.sessions));
    parts.push(overall(&measures));
    let mut below = vec![format!(
        "±: the noise floor, the standard deviation over a side's runs. p: sign-flip test; interval: bootstrap; both \
         over dependency groups, seed {}. least: the smallest difference that the suite can tell.",
        comparison.seed
    )];
    let all = measures.iter();
    below.extend(all.filter_map(|(name, measure)| left_out(name, measure)));
    let all = measures.iter();
    below.extend(all.map(|(name, measure)| verdict(name, measure)));
    parts.extend(below.iter().map(|text| paragraph(text)));
    parts.extend(cautions);
    parts.push(paragraph(&better(&measures)));
    parts.join("\n\n")
}

/// Runs of each side beyond which nobody asks for more.
const MANY_RUNS: f64 = 100.0;

/// What a reader wants to know: whether B is better, worse, or whether that cannot be told, and how many runs could.
fn better(measures: &[(&str, &MeasureComparison)]) -> String {
    let told = measures.iter().map(|(name, measure)| {
        let Some(overall) = &measure.overall else {
            return format!("{name} cannot be compared");
        };
        match overall.interval {
            Some(interval) if interval.low > 0.0 => format!("B is better in {name}"),
            Some(interval) if interval.high < 0.0 => format!("B is worse in {name}"),
            _ if signed(overall.difference) == "0.0" => {
                format!("in {name} there is no difference")
            }
            _ => format!("in {name} it cannot be told{}", runs_that_could(overall)),
        }
    });
    let told: Vec<String> = told.collect();
    format!("In short: {}.", told.join("; "))
}

/// The smallest difference that can be told shrinks with the root of the runs, at best: what differs between sessions stays.
fn runs_that_could(overall: &Difference) -> String {
    let Some(detectable) = overall.smallest_detectable else {
        return " (several runs of each side could, from two on: `--runs`)".into();
    };
    let times = (detectable / overall.difference.abs()).powi(2).ceil();
    if times > MANY_RUNS {
        return " (the difference is too small for any number of runs that one would pay for)"
            .into();
    }
    format!(" (some {times:.0} times as many runs could, at the least)")
}

fn table(header: &[&str]) -> Table {
    let mut table = fitting();
    table.set_header(header.to_vec());
    for (column, title) in table.column_iter_mut().zip(header) {
        if !matches!(*title, "persona" | "session" | "score") {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn sessions(sessions: &[SessionPair]) -> String {
    let mut table = table(&[
        "session", "of", "Proc A", "B", "B - A", "Comp A", "B", "B - A",
    ]);
    let mut last = None;
    for session in sessions {
        // A persona has a line of its own, where its sessions begin.
        if last != Some(&session.persona) {
            table.add_row([line(&session.persona)]);
            last = Some(&session.persona);
        }
        let mut row = vec![
            format!("  {}", line(&session.id)),
            session.weight.to_string(),
        ];
        row.extend(sides(session.proc));
        row.extend(sides(session.comp));
        table.add_row(row);
    }
    keep_words(&mut table, 0..8);
    table.to_string()
}

fn sides(sides: Sides) -> [String; 3] {
    [
        plain(sides.a),
        plain(sides.b),
        sides.difference.map_or_else(|| "-".into(), signed),
    ]
}

fn overall(measures: &[(&str, &MeasureComparison)]) -> String {
    let mut table = table(&[
        "score",
        "of",
        "A",
        "B",
        "B - A",
        "95% interval",
        "p",
        "least",
    ]);
    for (name, measure) in measures {
        let mut row = vec![(*name).to_owned(), measure.shared.to_string()];
        match &measure.overall {
            Some(difference) => row.extend(figures(difference)),
            None => row.extend(["-"; 6].map(String::from)),
        }
        table.add_row(row);
    }
    keep_words(&mut table, 0..8);
    table.to_string()
}

fn figures(difference: &Difference) -> [String; 6] {
    [
        with_noise(difference.a, difference.std_a),
        with_noise(difference.b, difference.std_b),
        signed(difference.difference),
        difference.interval.map_or_else(|| "-".into(), interval),
        p_value(difference.p_value),
        plain(difference.smallest_detectable),
    ]
}

/// The noise floor of several runs beside their mean.
fn with_noise(score: f64, std: Option<f64>) -> String {
    match std {
        Some(std) => format!("{score:.1} ± {std:.1}"),
        None => format!("{score:.1}"),
    }
}

fn interval(interval: Interval) -> String {
    format!("{} to {}", signed(interval.low), signed(interval.high))
}

fn p_value(p: f64) -> String {
    if p < 0.0001 {
        return "< 0.0001".into();
    }
    format!("{p:.4}")
}

fn plain(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".into(), |percent| format!("{percent:.1}"))
}

/// With its sign, and 0 without one.
fn signed(points: f64) -> String {
    let text = format!("{points:+.1}");
    match text.as_str() {
        "+0.0" | "-0.0" => "0.0".into(),
        _ => text,
    }
}

fn left_out(name: &str, measure: &MeasureComparison) -> Option<String> {
    let counts = [
        (measure.only_a, "scored by A only"),
        (measure.only_b, "scored by B only"),
        (measure.regrouped, "with groups of different sizes"),
    ];
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!told.is_empty()).then(|| format!("{name}: sessions left out: {}.", told.join(", ")))
}

fn verdict(name: &str, measure: &MeasureComparison) -> String {
    let Some(overall) = &measure.overall else {
        return format!("{name}: no session was scored by both.");
    };
    let measured = signed(overall.difference);
    match overall.smallest_detectable {
        Some(points) => format!(
            "{name}: The suite cannot tell differences below {points:.1} points (alpha 0.05, power 0.8); the measured \
             one is {measured}."
        ),
        None => format!(
            "{name}: The sessions are too few or too alike to say which differences the suite can tell; the measured \
             one is {measured}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::statistics::{SessionScores, compare};

    fn session(id: &str, weight: u32, proc: &[f64], comp: Option<f64>) -> SessionScores {
        SessionScores {
            persona: "lawyer".into(),
            id: id.into(),
            weight,
            proc: proc.iter().copied().map(Some).collect(),
            comp: vec![comp; proc.len()],
        }
    }

    #[test]
    fn shows_sessions_the_overall_difference_and_what_it_is_worth() {
        let a = [
            session("brief", 3, &[0.25, 0.75], Some(0.5)),
            session("filing", 1, &[0.5, 0.5], None),
            session("gone", 1, &[0.5, 0.5], None),
        ];
        let b = [
            session("brief", 3, &[0.75], Some(0.25)),
            session("filing", 1, &[0.5], None),
        ];
        let text = comparison(&compare(&a, &b, 1), "first", "second", &[]);
        let expected = "\
A: first
B: second

┌───────────────────────────────────────────────────────────────┐
│ session    of   Proc A      B   B - A   Comp A      B   B - A │
╞═══════════════════════════════════════════════════════════════╡
│ lawyer                                                        │
│   brief     3     50.0   75.0   +25.0     50.0   25.0   -25.0 │
│   filing    1     50.0   50.0     0.0        -      -       - │
│   gone      1     50.0      -       -        -      -       - │
└───────────────────────────────────────────────────────────────┘

┌─────────────────────────────────────────────────────────────────────────┐
│ score   of             A      B   B - A   95% interval        p   least │
╞═════════════════════════════════════════════════════════════════════════╡
│ Proc     2   50.0 ± 26.5   68.8   +18.8   0.0 to +25.0   1.0000    26.3 │
│ Comp     1    50.0 ± 0.0   25.0   -25.0              -   1.0000       - │
└─────────────────────────────────────────────────────────────────────────┘

±: the noise floor, the standard deviation over a side's runs. p: sign-flip
test; interval: bootstrap; both over dependency groups, seed 1. least: the
smallest difference that the suite can tell.

Proc: sessions left out: 1 scored by A only.

Proc: The suite cannot tell differences below 26.3 points (alpha 0.05, power
0.8); the measured one is +18.8.

Comp: The sessions are too few or too alike to say which differences the suite
can tell; the measured one is -25.0.

In short: in Proc it cannot be told (some 2 times as many runs could, at the
least); in Comp it cannot be told (several runs of each side could, from two on:
`--runs`).";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_run_beside_itself_shows_no_signs() {
        let a = [
            session("x", 1, &[0.5], Some(1.0)),
            session("y", 1, &[0.25], Some(0.5)),
        ];
        let text = comparison(&compare(&a, &a, 1), "one", "one", &[]);
        assert!(!text.contains("-0.0") && !text.contains("+0.0"), "{text}");
        assert!(text.contains("1.0000"), "{text}");
        let same = "In short: in Proc there is no difference; in Comp there is no difference.";
        assert!(text.ends_with(same), "{text}");
        assert!(!text.contains("left out"), "{text}");
    }

    #[test]
    fn no_word_of_the_overall_table_is_broken() {
        let all = |score: f64| {
            ["u", "v", "w", "x", "y", "z"].map(|id| session(id, 1, &[score; 2], Some(score)))
        };
        let compared = compare(&all(1.0), &all(0.0), 1);
        let text = overall(&[("Proc", &compared.proc), ("Comp", &compared.comp)]);
        let words: Vec<&str> = text.split_whitespace().collect();
        for word in ["score", "least", "interval", "100.0", "-100.0"] {
            assert!(words.contains(&word), "{word}: {text}");
        }
    }

    #[test]
    fn tiny_p_values_are_bounded() {
        assert_eq!(p_value(0.000_01), "< 0.0001");
        assert_eq!(p_value(0.0312), "0.0312");
    }
}
