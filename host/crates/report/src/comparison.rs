//! Two runs side by side as plain text: each session, the overall difference, and what it is worth. It computes nothing.

use comfy_table::{CellAlignment, Table};

use super::escape::line;
use super::grid::{fitting, keep_words, paragraph};
use super::run_record::{CUT, RunRecord, asked};
use pibench_core::count::{count, list_first};
use pibench_core::player::Player;
use pibench_core::statistics::{
    Comparison, Difference, FEWEST_TOLD, Interval, MeasureComparison, SessionPair, SessionScores,
    Sides,
};
use pibench_record::folder::Manifest;
use pibench_record::identity::{beside_agent, in_words};

/// What is to be known of a comparison: what else than their agents may make the difference between two runs, and what of their
/// scores it lacks.
pub fn cautions(
    (a, of_a): (&RunRecord, &[SessionScores]),
    (b, of_b): (&RunRecord, &[SessionScores]),
) -> Vec<String> {
    let mut cautions = beside_agents(&a.manifest, &b.manifest);
    if a.is_same(b) {
        cautions.insert(
            0,
            "A and B are the same run folder: nothing is compared.".into(),
        );
    }
    match (a.results.ablate, b.results.ablate) {
        (None, Some(_)) => cautions.push(ablated("B", ("A", a, of_a.len()))),
        (Some(_), None) => cautions.push(ablated("A", ("B", b, of_b.len()))),
        _ => {}
    }
    for (side, run) in [("A", a), ("B", b)] {
        cautions.extend(run.cut().map(|cut| {
            format!(
                "{side} was {CUT}: {cut}. Whatever it did not come to is no part of the comparison."
            )
        }));
    }
    for (side, scores) in [("A", of_a), ("B", of_b)] {
        cautions.extend(unscored(side, scores));
    }
    for (side, run) in [("A", a), ("B", b)] {
        cautions.extend(run.unseen().map(|unseen| format!("{side}: {unseen}")));
    }
    cautions
}

/// Said of a side that was played without dependencies, beside a whole one of which so many sessions count.
fn ablated(side: &str, (other, whole, counted): (&str, &RunRecord, usize)) -> String {
    let personas = whole.outline.iter().flat_map(|outline| &outline.personas);
    let sessions = personas.flat_map(|persona| &persona.sessions);
    let all = sessions.filter(|session| session.planned).count();
    let left = match all.saturating_sub(counted) {
        0 => String::new(),
        left => {
            format!("; {left} of {other}'s {all} sessions are left out, which {side} did not play")
        }
    };
    format!(
        "{side} was played without dependencies: that is a part of the difference. Each session counts by its own intents on both \
         sides, with the weight 1{left}."
    )
}

/// Sessions without a score that are named, and things that two runs differ in.
const MOST_NAMED: usize = 8;

/// Said of a side of which some sessions have no score in some run.
fn unscored(side: &str, scores: &[SessionScores]) -> Option<String> {
    let mut named = Vec::new();
    for session in scores {
        let has_checklist = session.comp.iter().any(Option::is_some);
        let by_run = session.proc.iter().zip(&session.comp).zip(1_u32..);
        let lacking = by_run
            .filter(|((proc, comp), _)| proc.is_none() || (has_checklist && comp.is_none()))
            .map(|(_, run)| format!("{}/{} in run {run}", session.persona, session.id));
        named.extend(lacking);
    }
    if named.is_empty() {
        return None;
    }
    let all: usize = scores.iter().map(|session| session.proc.len()).sum();
    Some(format!(
        "{side}: {} of {all} sessions are scored; left out: {}. A session's score is the mean over the runs that scored it, so that \
         the mean over all may be another than that of `run` and `report`.",
        all - named.len(),
        list_first(&named, MOST_NAMED)
    ))
}

/// What else than their agents may make the difference: another kind of judge or user first.
fn beside_agents(a: &Manifest, b: &Manifest) -> Vec<String> {
    let by_patterns = |player| player == Player::Patterns;
    let judges = by_patterns(a.players.judge) != by_patterns(b.players.judge);
    let judges = judges.then(|| {
        "Judged by patterns on one side and by models on the other: the difference is that of the judges as much as that of the \
         agents."
            .to_owned()
    });
    let users = by_patterns(a.players.user) != by_patterns(b.players.user);
    let users = users.then(|| {
        "The user was patterns on one side and a model on the other: the difference is that of the users as much as that of the \
         agents."
            .to_owned()
    });
    let others = others(a, b);
    let others = (!others.is_empty()).then(|| {
        format!(
            "Beside their agents the runs differ in {}: what that makes out is part of the difference.",
            list_first(&others, MOST_NAMED)
        )
    });
    judges.into_iter().chain(users).chain(others).collect()
}

/// What else may make the difference, and how the agents were asked, in words.
fn others(a: &Manifest, b: &Manifest) -> Vec<String> {
    let mut all = in_words(&beside_agent(a, b));
    if a.seed != b.seed {
        all.push("`seed`".into());
    }
    let (of_a, of_b) = (asked(a), asked(b));
    if of_a.0 != of_b.0 {
        all.push("the temperature of the agent's model".into());
    }
    if of_a.1 != of_b.1 {
        all.push("the output tokens that the agent's model may use".into());
    }
    // Another agent has other settings.
    let same_settings = a.models.get("agent") == b.models.get("agent");
    if of_a == of_b && a.agent == b.agent && !same_settings {
        all.push("the settings of the agent's model".into());
    }
    all
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

/// What a reader wants to know: whether B is better, worse, or whether that cannot be told, and what could.
fn better(measures: &[(&str, &MeasureComparison)]) -> String {
    let told = measures.iter().map(|(name, measure)| {
        let Some(overall) = &measure.overall else {
            return format!("{name} cannot be compared");
        };
        let by = count(measure.shared, "session");
        match overall.difference {
            points if overall.told && points > 0.0 => format!("B is better in {name}"),
            _ if overall.told => format!("B is worse in {name}"),
            _ if measure.shared < FEWEST_TOLD => format!(
                "in {name} it cannot be told by {by} ({FEWEST_TOLD} could, at the least, however many runs)"
            ),
            points if signed(points) == "0.0" => format!("in {name} there is no difference"),
            _ => format!("in {name} it cannot be told by {by}{}", what_could(overall)),
        }
    });
    let told: Vec<String> = told.collect();
    format!("In short: {}.", told.join("; "))
}

/// Standard errors in the smallest difference that can be told (alpha 0.05, power 0.8).
const ERRORS_TOLD: f64 = 2.8;

/// What runs differ in shrinks with the root of their number; what differs between sessions stays.
fn what_could(overall: &Difference) -> String {
    let Some(detectable) = overall.smallest_detectable else {
        return " (some persona has one alone, so that nobody knows how they spread)".into();
    };
    let (Some(std_a), Some(std_b)) = (overall.std_a, overall.std_b) else {
        return " (more dependency groups of sessions could; whether more runs could, several whole ones of each side show: `--runs`)"
            .into();
    };
    // A deviation is of two runs at the least, so that the means vary by no more.
    let of_runs = ERRORS_TOLD.powi(2) * (std_a.powi(2) + std_b.powi(2)) / 2.0;
    if detectable.powi(2) - of_runs >= overall.difference.powi(2) {
        return " (more dependency groups of sessions could; more runs could not, for it is sessions that differ)".into();
    }
    let times = (detectable / overall.difference.abs())
        .powi(2)
        .ceil()
        .max(2.0);
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
    use crate::measures::compare_runs;
    use pibench_core::statistics::compare;

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

In short: in Proc it cannot be told by 2 sessions (6 could, at the least,
however many runs); in Comp it cannot be told by 1 session (6 could, at the
least, however many runs).";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_a_run_did_not_score_is_named_and_the_deviation_is_left_out() {
        let whole = [session("x", 1, &[0.5, 0.75, 0.5], None)];
        assert_eq!(unscored("A", &whole), None);
        let mut lacking = whole.clone();
        lacking[0].proc[1] = None;
        let text = unscored("A", &lacking).unwrap();
        assert!(
            text.starts_with("A: 2 of 3 sessions are scored; left out: lawyer/x in run 2. "),
            "{text}"
        );
        let found = compare_runs(&whole, &lacking, 1).proc.overall.unwrap();
        assert!(found.std_a.is_some() && found.std_b.is_none(), "{found:?}");
    }

    #[test]
    fn a_run_beside_itself_shows_no_signs() {
        let all = |ids: &[&str]| -> Vec<SessionScores> {
            let sessions = ids.iter().map(|id| session(id, 1, &[0.5], Some(1.0)));
            sessions.collect()
        };
        let few = all(&["u", "v"]);
        let text = comparison(&compare(&few, &few, 1), "one", "one", &[]);
        assert!(!text.contains("there is no difference"), "{text}");
        assert!(text.contains("it cannot be told by 2 sessions"), "{text}");
        let a = all(&["u", "v", "w", "x", "y", "z"]);
        let text = comparison(&compare(&a, &a, 1), "one", "one", &[]);
        assert!(!text.contains("-0.0") && !text.contains("+0.0"), "{text}");
        assert!(text.contains("1.0000"), "{text}");
        let same = "In short: in Proc there is no difference; in Comp there is no difference.";
        assert!(text.ends_with(same), "{text}");
        assert!(!text.contains("left out"), "{text}");
    }

    /// Two sessions have an interval without a width, and prove nothing.
    #[test]
    fn what_may_be_luck_is_not_called_better_and_what_is_none_is() {
        let all = |ids: &[&str], score: f64| -> Vec<SessionScores> {
            let sessions = ids.iter().map(|id| session(id, 1, &[score], Some(score)));
            sessions.collect()
        };
        let said = |ids: &[&str]| {
            let compared = compare(&all(ids, 0.0), &all(ids, 1.0), 1);
            better(&[("Proc", &compared.proc)])
        };
        let few = "In short: in Proc it cannot be told by 2 sessions (6 could, at the least, however many runs).";
        assert_eq!(said(&["u", "v"]), few);
        let many = ["u", "v", "w", "x", "y", "z"];
        assert_eq!(said(&many), "In short: B is better in Proc.");
    }

    /// Where runs are alike no number of them tells more.
    #[test]
    fn what_could_tell_follows_from_what_varies() {
        let sessions = |scores: [f64; 6], runs: &[f64]| -> Vec<SessionScores> {
            let ids = ["u", "v", "w", "x", "y", "z"].into_iter().zip(scores);
            let scored = ids.map(|(id, score)| {
                let all: Vec<f64> = runs.iter().map(|by| score + by).collect();
                session(id, 1, &all, None)
            });
            scored.collect()
        };
        let said = |runs: &[f64], b: [f64; 6]| {
            let (a, b) = (sessions([0.5; 6], runs), sessions(b, runs));
            better(&[("Proc", &compare(&a, &b, 1).proc)])
        };
        let spread = [0.1, 0.9, 0.7, 0.4, 0.3, 0.9];
        let alike = said(&[0.0; 9], spread);
        assert!(alike.contains("more runs could not"), "{alike}");
        let once = said(&[0.0], spread);
        assert!(
            once.contains("several whole ones of each side show"),
            "{once}"
        );
        let noisy = said(&[-0.1, 0.1], [0.65, 0.6, 0.5, 0.5, 0.55, 0.5]);
        assert!(noisy.contains("times as many runs could"), "{noisy}");
        for text in [alike, once] {
            assert!(!text.contains("times as many"), "{text}");
        }
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
