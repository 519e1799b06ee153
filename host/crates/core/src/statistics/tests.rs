use proptest::prelude::*;

use super::*;
use crate::aggregate::{PersonaScore, RunScore, SessionScore};
use crate::record::Outcome;
use crate::score::IntentCounts;
use crate::vocabulary::Protocol;

const SEED: u64 = 7;

/// The same scores for Proc and Comp, one per run.
fn session(persona: &str, id: &str, weight: u32, scores: &[f64]) -> SessionScores {
    let scores: Vec<Option<f64>> = scores.iter().copied().map(Some).collect();
    SessionScores {
        persona: persona.into(),
        id: id.into(),
        weight,
        proc: scores.clone(),
        comp: scores,
    }
}

/// One persona, one run: weights and scores.
fn persona(scores: &[(u32, f64)]) -> Vec<SessionScores> {
    let numbered = scores.iter().enumerate();
    numbered
        .map(|(number, &(weight, score))| session("p", &format!("s{number:02}"), weight, &[score]))
        .collect()
}

fn proc(a: &[SessionScores], b: &[SessionScores]) -> Difference {
    compare(a, b, SEED).proc.overall.unwrap()
}

#[track_caller]
fn near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual}, not {expected}");
}

/// `b` with every score moved.
fn shifted(sessions: &[SessionScores], by: f64) -> Vec<SessionScores> {
    let shift = |scores: &mut Vec<Option<f64>>| {
        for score in scores.iter_mut().flatten() {
            *score += by;
        }
    };
    let mut sessions = sessions.to_vec();
    for session in &mut sessions {
        shift(&mut session.proc);
        shift(&mut session.comp);
    }
    sessions
}

#[test]
fn the_difference_weighs_groups_and_then_averages_personas() {
    // p: (3 * 0.2 + 1 * -0.4) / 4 = 0.05; q: 0.3; overall 0.175.
    let a = [
        session("p", "x", 3, &[0.4, 0.6]),
        session("p", "y", 1, &[0.8]),
        session("q", "x", 2, &[0.1]),
    ];
    let b = [
        session("p", "x", 3, &[0.7]),
        session("p", "y", 1, &[0.4]),
        session("q", "x", 2, &[0.2, 0.6]),
    ];
    let result = proc(&a, &b);
    near(result.a, 33.75);
    near(result.b, 51.25);
    near(result.difference, 17.5);
}

#[test]
fn the_p_value_counts_sign_patterns_by_hand() {
    // All of one sign: of the eight patterns, +++ and --- are as far from 0.
    let a = persona(&[(1, 0.0), (1, 0.0), (1, 0.0)]);
    let result = proc(&a, &persona(&[(1, 0.3), (1, 0.6), (1, 0.9)]));
    assert!(result.exact);
    near(result.p_value, 0.25);
    // 3 + 2 - 1 = 4 tenths; as far of the eight: 6, 4 and their negatives.
    let a = persona(&[(1, 0.0), (1, 0.0), (1, 0.1)]);
    let result = proc(&a, &persona(&[(1, 0.3), (1, 0.2), (1, 0.0)]));
    near(result.p_value, 0.5);
}

#[test]
fn a_difference_is_told_where_the_interval_and_the_test_both_say_so() {
    let fell = |sessions: usize| {
        let a = persona(&vec![(1, 0.0); sessions]);
        proc(&a, &shifted(&a, 1.0))
    };
    let few = usize::try_from(FEWEST_TOLD).unwrap() - 1;
    for (sessions, told) in [(1, false), (2, false), (few, false), (few + 1, true)] {
        assert_eq!(fell(sessions).told, told, "{sessions}");
    }
    let two = fell(2);
    assert!(two.interval.unwrap().low > 0.0 && two.p_value > 0.4);
    let same = persona(&[(1, 0.5); 8]);
    assert!(!proc(&same, &same).told);
}

#[test]
fn the_p_value_sees_weights() {
    // 3 - 1 + 4 = 6 tenths; as far of the eight: 8, 6 and their negatives.
    let a = persona(&[(3, 0.5), (1, 0.5), (4, 0.5)]);
    let result = proc(&a, &persona(&[(3, 0.6), (1, 0.4), (4, 0.6)]));
    near(result.p_value, 0.5);
    // Unweighted, 0.1 would be seen, and every pattern is as far.
    let a = persona(&[(1, 0.5), (1, 0.5), (1, 0.5)]);
    let result = proc(&a, &persona(&[(1, 0.6), (1, 0.4), (1, 0.6)]));
    near(result.p_value, 1.0);
}

#[test]
fn drawn_patterns_agree_with_all_patterns() {
    // 13 of 16 groups the one way, 3 the other, all alike: a sign test, P(X <= 3 or X >= 13) = 2 * 697 / 65536.
    let a = persona(&[(1, 0.5); 16]);
    let mut b = persona(&[(1, 0.6); 16]);
    for session in &mut b[..3] {
        session.proc = vec![Some(0.4)];
    }
    let drawn = proc(&a, &b);
    assert!(!drawn.exact);
    assert!((drawn.p_value - 2.0 * 697.0 / 65536.0).abs() < 0.002);
    // Groups without a difference have no sign: 14 others are few enough to try all.
    let mut b = persona(&[(1, 0.6); 16]);
    for session in &mut b[..2] {
        session.proc = vec![Some(0.5)];
    }
    let tried = proc(&a, &b);
    assert!(tried.exact);
    near(tried.p_value, 2.0 / 16384.0);
}

#[test]
fn signs_beyond_the_first_word_are_flipped_too() {
    let parts = [1.0; 70];
    near(flipped(&parts, &[0, 0]), 70.0);
    near(flipped(&parts, &[1, 0]), 68.0);
    near(flipped(&parts, &[0, 0b11]), 66.0);
}

#[test]
fn the_smallest_detectable_difference_by_hand() {
    // Differences 0.1 and 0.3, weights alike: mean 0.2, standard error sqrt(2 * 2 * (0.5 * 0.1)^2) = 0.1.
    let a = persona(&[(1, 0.0), (1, 0.0)]);
    let result = proc(&a, &persona(&[(1, 0.1), (1, 0.3)]));
    near(
        result.smallest_detectable.unwrap(),
        2.801_585_218_112_968 * 10.0,
    );
    // Two such personas: the error of their mean is smaller by the root of 2.
    let twice = |scores: &[(u32, f64)]| -> Vec<SessionScores> {
        let mut sessions = persona(scores);
        let others = persona(scores).into_iter();
        sessions.extend(others.map(|session| SessionScores {
            persona: "q".into(),
            ..session
        }));
        sessions
    };
    let result = proc(&twice(&[(1, 0.0), (1, 0.0)]), &twice(&[(1, 0.1), (1, 0.3)]));
    near(
        result.smallest_detectable.unwrap(),
        2.801_585_218_112_968 * 10.0 / 2.0_f64.sqrt(),
    );
}

#[test]
fn the_standard_error_is_that_of_a_plain_mean_when_weights_are_alike() {
    let scores = [0.1, 0.7, 0.4, 0.9, 0.2];
    let b: Vec<(u32, f64)> = scores.iter().map(|&score| (2, score)).collect();
    let result = proc(&persona(&[(2, 0.0); 5]), &persona(&b));
    let error = sample_std(&scores).unwrap() / 5.0_f64.sqrt();
    near(
        result.smallest_detectable.unwrap(),
        percent((Z_ALPHA + Z_POWER) * error),
    );
}

#[test]
fn one_cluster_of_a_persona_leaves_the_spread_unknown() {
    let mut a = persona(&[(1, 0.0), (1, 0.5)]);
    a.push(session("q", "only", 1, &[0.5]));
    let result = proc(&a, &shifted(&a, 0.1));
    assert_eq!(result.interval, None);
    assert_eq!(result.smallest_detectable, None);
    near(result.p_value, 0.25);
    assert_eq!(estimate(&a, Measure::Comp, SEED).unwrap().interval, None);
}

#[test]
fn the_interval_of_two_clusters_spans_both() {
    // Means 0, 0.5 and 1 at chances 1/4, 1/2, 1/4.
    let result = estimate(&persona(&[(1, 0.0), (1, 1.0)]), Measure::Proc, SEED).unwrap();
    let expected = Interval {
        low: 0.0,
        high: 100.0,
    };
    assert_eq!(result.interval, Some(expected));
    near(result.score, 50.0);
    assert_eq!(result.sessions, 2);
}

#[test]
fn the_interval_of_many_clusters_is_that_of_the_normal_approximation() {
    // 40 of 80 pass: standard error of the mean sqrt(0.25 / 80) = 0.0559.
    let scores: Vec<(u32, f64)> = (0..80).map(|n| (1, f64::from(n % 2))).collect();
    let interval = estimate(&persona(&scores), Measure::Proc, SEED)
        .unwrap()
        .interval
        .unwrap();
    assert!((interval.low - 39.04).abs() < 1.3, "{interval:?}");
    assert!((interval.high - 60.96).abs() < 1.3, "{interval:?}");
}

#[test]
fn resamples_stay_within_their_persona() {
    // Each persona is constant, so nothing can move; drawn across personas, everything would.
    let mut sessions = persona(&[(1, 0.0), (3, 0.0)]);
    sessions.push(session("q", "x", 1, &[1.0]));
    sessions.push(session("q", "y", 2, &[1.0]));
    let interval = estimate(&sessions, Measure::Proc, SEED)
        .unwrap()
        .interval
        .unwrap();
    near(interval.low, 50.0);
    near(interval.high, 50.0);
}

#[test]
fn the_noise_floor_is_over_the_runs_of_each_side() {
    // A's runs: (0.2 + 0.4) / 2 = 0.3 and (0.4 + 0.8) / 2 = 0.6: deviation 0.3 / sqrt(2).
    let a = [
        session("p", "x", 1, &[0.2, 0.4]),
        session("p", "y", 1, &[0.4, 0.8]),
    ];
    let b = persona(&[(1, 0.0)]);
    let b = [
        SessionScores {
            id: "x".into(),
            ..b[0].clone()
        },
        SessionScores {
            id: "y".into(),
            ..b[0].clone()
        },
    ];
    let result = proc(&a, &b);
    near(result.std_a.unwrap(), 30.0 / 2.0_f64.sqrt());
    assert_eq!(result.std_b, None);
}

#[test]
fn a_session_that_a_run_did_not_score_is_left_out_of_that_run() {
    let mut x = session("p", "x", 1, &[0.2, 0.4]);
    x.proc[1] = None;
    let a = [x, session("p", "y", 1, &[0.4, 0.8])];
    let result = proc(&a, &a);
    // x is 0.2 over the one run that scored it.
    near(result.a, 40.0);
    // Runs: 0.3 and, of y alone, 0.8.
    near(result.std_a.unwrap(), 50.0 / 2.0_f64.sqrt());
}

#[test]
fn sessions_of_one_side_are_left_out_and_counted() {
    let mut a = persona(&[(1, 0.1), (1, 0.2), (1, 0.3), (2, 0.4)]);
    let mut b = shifted(&a, 0.1);
    a[0].proc = vec![None];
    b.remove(1);
    b[2].weight = 3;
    b.push(session("new", "n", 1, &[0.9]));
    let result = compare(&a, &b, SEED);
    let MeasureComparison {
        shared,
        only_a,
        only_b,
        regrouped,
        overall,
    } = result.proc;
    assert_eq!((shared, only_a, only_b, regrouped), (1, 1, 2, 1));
    near(overall.unwrap().a, 30.0);
    // Comp of s00 is there on both sides.
    assert_eq!((result.comp.shared, result.comp.only_b), (2, 1));
    let ids: Vec<&str> = result.sessions.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["s00", "s01", "s02", "s03", "n"]);
    let row = &result.sessions[3];
    assert!(row.proc.a.is_some() && row.proc.b.is_some() && row.proc.difference.is_none());
    near(result.sessions[2].proc.difference.unwrap(), 10.0);
}

#[test]
fn nothing_shared_has_no_difference() {
    let a = persona(&[(1, 0.1)]);
    let result = compare(&a, &[], SEED);
    assert_eq!(result.proc.overall, None);
    assert_eq!((result.proc.shared, result.proc.only_a), (0, 1));
    assert_eq!(estimate(&[], Measure::Proc, SEED), None);
    assert_eq!(pass_k(&[], PASS_THRESHOLD), []);
}

#[test]
fn sessions_that_are_only_dependencies_take_no_part() {
    let mut a = persona(&[(1, 0.1), (0, 0.9)]);
    a[1].proc = vec![Some(0.9)];
    let result = compare(&a, &shifted(&a, 0.1), SEED);
    assert_eq!(result.sessions.len(), 1);
    near(result.proc.overall.unwrap().a, 10.0);
    assert_eq!(estimate(&a, Measure::Proc, SEED).unwrap().sessions, 1);
    assert_eq!(pass_k(&a, PASS_THRESHOLD)[0].sessions, 1);
}

#[test]
fn pass_k_by_hand() {
    // 2 of 3 pass: 2/3, C(2,2)/C(3,2) = 1/3, 0. All 3 pass: 1. None: 0. 1 of 1: 1, and only at k = 1.
    let sessions = [
        session("p", "some", 3, &[1.0, 0.5, 1.0]),
        session("p", "all", 1, &[1.0, 1.0, 1.0]),
        session("p", "none", 1, &[0.0, 0.99, 0.9]),
        session("p", "once", 1, &[1.0]),
    ];
    let result = pass_k(&sessions, PASS_THRESHOLD);
    let expected = [
        (1, (2.0 / 3.0 + 1.0 + 0.0 + 1.0) / 4.0, 4),
        (2, (1.0 / 3.0 + 1.0 + 0.0) / 3.0, 3),
        (3, 1.0 / 3.0, 3),
    ];
    assert_eq!(result.len(), expected.len());
    for (line, (k, pass, sessions)) in result.iter().zip(expected) {
        assert_eq!((line.k, line.sessions), (k, sessions));
        near(line.pass, percent(pass));
    }
    near(
        pass_k(&sessions, 50.0)[0].pass,
        percent((1.0 + 1.0 + 2.0 / 3.0 + 1.0) / 4.0),
    );
}

#[test]
fn a_whole_checklist_passes_whatever_its_sum_was_rounded_to() {
    let sum = 0.1 + 0.2 + 0.3 + 0.4;
    let nearly = session("p", "x", 1, &[sum - f64::EPSILON]);
    near(pass_k(&[nearly], PASS_THRESHOLD)[0].pass, 100.0);
}

/// Up to three personas with up to six sessions and three runs each, some of them unscored.
fn side() -> impl Strategy<Value = Vec<SessionScores>> {
    let score = prop::option::weighted(0.9, 0.0..=1.0_f64);
    let scores = prop::collection::vec(score, 3);
    let session = (1_u32..=3, scores.clone(), scores);
    let persona = prop::collection::vec(session, 1..=6);
    prop::collection::vec(persona, 1..=3).prop_map(|personas| {
        let mut sessions = Vec::new();
        for (persona, members) in personas.into_iter().enumerate() {
            for (id, (weight, proc, comp)) in members.into_iter().enumerate() {
                sessions.push(SessionScores {
                    persona: format!("p{persona}"),
                    id: format!("s{id}"),
                    weight,
                    proc,
                    comp,
                });
            }
        }
        sessions
    })
}

/// The same sessions on both sides, with scores of their own.
fn two_sides() -> impl Strategy<Value = (Vec<SessionScores>, Vec<SessionScores>)> {
    side().prop_perturb(|a, mut source| {
        let mut b = a.clone();
        for session in &mut b {
            for score in session.proc.iter_mut().chain(&mut session.comp).flatten() {
                *score = f64::from(source.next_u32()) / f64::from(u32::MAX);
            }
        }
        (a, b)
    })
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-6
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_side_does_not_differ_from_itself(a in side()) {
        let result = compare(&a, &a, SEED);
        for measure in [result.proc, result.comp] {
            prop_assert_eq!((measure.only_a, measure.only_b, measure.regrouped), (0, 0, 0));
            if let Some(overall) = measure.overall {
                prop_assert!(overall.difference.abs() < f64::EPSILON);
                prop_assert!(close(overall.p_value, 1.0));
                prop_assert_eq!(overall.smallest_detectable, None);
                prop_assert_eq!(overall.std_a, overall.std_b);
            }
        }
    }

    #[test]
    fn swapping_the_sides_turns_the_sign_and_nothing_else((a, b) in two_sides()) {
        let (there, back) = (compare(&a, &b, SEED).proc, compare(&b, &a, SEED).proc);
        if let (Some(there), Some(back)) = (there.overall, back.overall) {
            prop_assert!(close(there.difference, -back.difference));
            prop_assert!(close(there.p_value, back.p_value));
            prop_assert_eq!((there.a, there.std_a), (back.b, back.std_b));
            prop_assert_eq!(there.interval.is_some(), back.interval.is_some());
            if let (Some(there), Some(back)) = (there.interval, back.interval) {
                prop_assert!(close(there.low, -back.high) && close(there.high, -back.low));
            }
        }
    }

    #[test]
    fn figures_are_in_their_ranges((a, b) in two_sides()) {
        if let Some(overall) = compare(&a, &b, SEED).comp.overall {
            prop_assert!(overall.p_value > 0.0 && overall.p_value <= 1.0);
            prop_assert!(close(overall.difference, overall.b - overall.a));
            if let Some(interval) = overall.interval {
                prop_assert!(interval.low <= overall.difference + 1e-6);
                prop_assert!(interval.high >= overall.difference - 1e-6);
            }
        }
        if let Some(Estimate { score, interval: Some(interval), .. }) = estimate(&a, Measure::Comp, SEED) {
            prop_assert!(interval.low <= score + 1e-6 && interval.high >= score - 1e-6);
            prop_assert!(interval.low >= 0.0 && interval.high <= 100.0 + 1e-6);
        }
    }

    #[test]
    fn the_order_of_the_sessions_does_not_matter((a, b) in two_sides()) {
        let backwards = |sessions: &[SessionScores]| -> Vec<SessionScores> {
            sessions.iter().rev().cloned().collect()
        };
        let (first, second) = (compare(&a, &b, SEED), compare(&backwards(&a), &b, SEED));
        prop_assert_eq!(first.proc, second.proc);
        prop_assert_eq!(first.comp, second.comp);
        prop_assert_eq!(estimate(&a, Measure::Proc, SEED), estimate(&backwards(&a), Measure::Proc, SEED));
    }

    #[test]
    fn the_overall_score_is_that_of_the_protocol(sessions in prop::collection::vec((1_u32..5, 0_u32..5), 1..6)) {
        let episode: Vec<SessionScore> = sessions.iter().enumerate().map(|(id, &(completed, provided))| SessionScore {
            id: format!("s{id}"),
            depends_on: if id == 1 { vec!["s0".into()] } else { vec![] },
            dependency_only: id == 0 && sessions.len() > 1,
            has_checklist: true,
            intents: IntentCounts { completed, provided, ..IntentCounts::default() },
            comp: Some(f64::from(completed) / 5.0),
            outcome: Outcome::Complete,
        }).collect();
        let run = RunScore::new(vec![PersonaScore::new("p", Protocol::Paper, &episode)]);
        let scored = run.personas[0].sessions.iter().filter(|session| session.weight > 0);
        let scores: Vec<SessionScores> = scored.map(|session| SessionScores {
            persona: "p".into(),
            id: session.id.clone(),
            weight: session.weight,
            proc: vec![session.proc_scored],
            comp: vec![session.comp],
        }).collect();
        for (measure, expected) in [(Measure::Proc, run.proc), (Measure::Comp, run.comp)] {
            let score = estimate(&scores, measure, SEED).unwrap().score;
            prop_assert!(close(score, percent(expected.unwrap())));
        }
    }

    #[test]
    fn one_shift_of_many_groups_is_told(scores in prop::collection::vec((1_u32..=3, 0.0..0.8_f64), 20..60), by in 0.01..0.2_f64) {
        let a = persona(&scores);
        let overall = proc(&a, &shifted(&a, by));
        prop_assert!(close(overall.difference, percent(by)));
        prop_assert!(overall.p_value < 0.001);
        prop_assert!(overall.interval.unwrap().low > 0.0);
    }

    #[test]
    fn pass_k_falls_with_k_and_starts_at_the_pass_rate(a in side()) {
        let whole: Vec<SessionScores> = a.iter().filter(|session| session.comp.iter().all(Option::is_some)).cloned().collect();
        let lines = pass_k(&whole, 50.0);
        prop_assert!(lines.windows(2).all(|pair| pair[0].pass >= pair[1].pass - 1e-9));
        if let Some(first) = lines.first() {
            let passes = whole.iter().flat_map(|session| &session.comp).flatten().filter(|&&score| score >= 0.5).count();
            prop_assert!(close(first.pass, percent(passes as f64 / (whole.len() * 3) as f64)));
        }
    }
}
