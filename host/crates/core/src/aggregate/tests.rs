use proptest::prelude::*;

use super::*;

fn counts(covered: u32, missed: u32) -> IntentCounts {
    IntentCounts {
        completed: covered,
        provided: missed,
        ..IntentCounts::default()
    }
}

/// An independent session with a checklist.
fn session(id: &str, intents: IntentCounts, comp: f64) -> SessionScore {
    SessionScore {
        id: id.into(),
        depends_on: Vec::new(),
        dependency_only: false,
        has_checklist: true,
        intents,
        comp: Some(comp),
        outcome: Outcome::Complete,
    }
}

fn dependency(id: &str, intents: IntentCounts) -> SessionScore {
    SessionScore {
        dependency_only: true,
        has_checklist: false,
        comp: None,
        ..session(id, intents, 0.0)
    }
}

fn after(mut session: SessionScore, depends_on: &[&str]) -> SessionScore {
    session.depends_on = depends_on.iter().map(ToString::to_string).collect();
    session
}

fn ended(mut session: SessionScore, outcome: Outcome) -> SessionScore {
    session.outcome = outcome;
    session
}

/// A group of three (covered 1 of 2, 2 of 3, 3 of 5), and one independent session (1 of 4).
fn small_episode() -> Vec<SessionScore> {
    vec![
        dependency("a", counts(1, 1)),
        dependency("b", counts(2, 1)),
        session("x", counts(1, 3), 1.0),
        after(session("c", counts(3, 2), 0.5), &["a", "b"]),
    ]
}

fn persona(sessions: &[SessionScore]) -> PersonaScore {
    PersonaScore::new("lawyer", Protocol::Paper, sessions)
}

fn tally_of(scored: u32, of: u32) -> Tally {
    Tally { scored, of }
}

fn close(left: Option<f64>, right: f64) {
    assert!(
        left.is_some_and(|left| (left - right).abs() < 1e-12),
        "{left:?} is not {right}"
    );
}

#[test]
fn a_final_session_pools_its_group_and_weighs_as_much() {
    let score = persona(&small_episode());
    let weights: Vec<u32> = score
        .sessions
        .iter()
        .map(|session| session.weight)
        .collect();
    assert_eq!(weights, [0, 0, 1, 3]);
    let scored: Vec<Option<f64>> = score
        .sessions
        .iter()
        .map(|session| session.proc_scored)
        .collect();
    // Pooled: (1 + 2 + 3) of (2 + 3 + 5).
    assert_eq!(scored, [None, None, Some(0.25), Some(0.6)]);
    let own: Vec<Option<f64>> = score.sessions.iter().map(|session| session.proc).collect();
    assert_eq!(own, [Some(0.5), Some(2.0 / 3.0), Some(0.25), Some(0.6)]);
    // (1 * 0.25 + 3 * 0.6) / 4 and (1 * 1 + 3 * 0.5) / 4.
    close(score.proc, 0.5125);
    close(score.comp, 0.625);
    assert_eq!(
        (score.proc_sessions, score.comp_sessions),
        (tally_of(2, 2), tally_of(2, 2))
    );
    assert_eq!(score.intents, counts(7, 7), "dependencies are in Table 7");
}

#[test]
fn an_unscored_session_leaves_the_denominators() {
    let mut episode = small_episode();
    episode[2] = ended(episode[2].clone(), Outcome::JudgeFault);
    let score = persona(&episode);
    close(score.proc, 0.6);
    close(score.comp, 0.5);
    assert_eq!(
        (score.proc_sessions, score.comp_sessions),
        (tally_of(1, 2), tally_of(1, 2))
    );
    assert!(!score.proc_sessions.is_whole());
    assert_eq!(
        (score.sessions[2].proc, score.sessions[2].comp),
        (None, None)
    );
    assert_eq!(score.intents, counts(6, 4));
}

#[test]
fn an_unscored_dependency_takes_the_pooled_score_with_it_but_not_comp() {
    let mut episode = small_episode();
    episode[0] = ended(episode[0].clone(), Outcome::Infrastructure);
    let score = persona(&episode);
    assert_eq!(
        (score.sessions[3].proc, score.sessions[3].proc_scored),
        (Some(0.6), None)
    );
    close(score.proc, 0.25);
    close(score.comp, 0.625);
    assert_eq!(
        (score.proc_sessions, score.comp_sessions),
        (tally_of(1, 2), tally_of(2, 2))
    );
}

#[test]
fn endings_that_are_the_agent_s_own_count() {
    for outcome in [Outcome::MaxTurns, Outcome::TurnTimeout, Outcome::ModelFault] {
        let open = IntentCounts {
            completed: 1,
            open: 3,
            ..IntentCounts::default()
        };
        let score = persona(&[ended(session("x", open, 0.0), outcome)]);
        assert_eq!((score.proc, score.comp), (Some(0.25), Some(0.0)));
    }
}

#[test]
fn a_dependency_that_was_not_to_be_played_makes_the_group_smaller() {
    let final_only = &small_episode()[3..];
    let score = persona(final_only);
    assert_eq!((score.proc, score.sessions[0].weight), (Some(0.6), 1));
}

#[test]
fn a_session_without_checklist_has_proc_only_and_in_pi_bench_neither() {
    let mut plain = session("x", counts(1, 1), 0.0);
    (plain.has_checklist, plain.comp) = (false, None);
    let score = PersonaScore::new("p", Protocol::Paper, &[plain.clone()]);
    assert_eq!((score.proc, score.comp), (Some(0.5), None));
    assert_eq!(
        (score.proc_sessions, score.comp_sessions),
        (tally_of(1, 1), tally_of(0, 0))
    );
    let score = PersonaScore::new("p", Protocol::PiBench, &[plain]);
    assert_eq!((score.proc, score.proc_sessions), (None, tally_of(0, 0)));
}

#[test]
fn overall_is_the_plain_mean_of_personas() {
    // The first persona has more sessions and weighs no more for it.
    let run = RunScore::new(vec![
        persona(&small_episode()),
        PersonaScore::new(
            "marketer",
            Protocol::Paper,
            &[session("m", counts(1, 0), 0.0)],
        ),
    ]);
    close(run.proc, f64::midpoint(0.5125, 1.0));
    close(run.comp, 0.3125);
    assert_eq!(run.proc_sessions, tally_of(3, 3));
    assert_eq!(run.intents, counts(8, 7));
}

fn sum_up(runs: &[RunScore]) -> SuiteScore {
    let mut sum = SuiteSum::default();
    for run in runs {
        sum.add(run);
    }
    sum.score()
}

#[test]
fn runs_have_mean_and_sample_deviation_of_their_overall_scores() {
    let run = |covered| {
        RunScore::new(vec![persona(&[session(
            "x",
            counts(covered, 10 - covered),
            1.0,
        )])])
    };
    let suite = sum_up(&[run(2), run(4), run(9)]);
    // Mean 0.5; squares 0.09 + 0.01 + 0.16 = 0.26, by 2.
    close(suite.proc, 0.5);
    close(suite.proc_std, 0.13_f64.sqrt());
    close(suite.comp_std, 0.0);
    assert_eq!((suite.runs, suite.proc_sessions), (3, tally_of(3, 3)));
    assert_eq!(suite.intents, counts(15, 15));
    close(suite.personas[0].proc, 0.5);
    let single = sum_up(&[run(2)]);
    assert_eq!((single.proc, single.proc_std), (Some(0.2), None));
}

#[test]
fn the_deviation_leaves_the_spread_of_personas_out() {
    let run = || {
        RunScore::new(vec![
            PersonaScore::new("a", Protocol::Paper, &[session("x", counts(0, 4), 0.0)]),
            PersonaScore::new("b", Protocol::Paper, &[session("y", counts(4, 0), 1.0)]),
        ])
    };
    let suite = sum_up(&[run(), run()]);
    assert_eq!((suite.proc, suite.proc_std), (Some(0.5), Some(0.0)));
    let ids: Vec<&str> = suite
        .personas
        .iter()
        .map(|persona| persona.id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn a_persona_that_a_run_did_not_score_moves_no_mean_and_leaves_no_deviation() {
    let of = |id: &str, covered, outcome| {
        let session = session("x", counts(covered, 10 - covered), 1.0);
        PersonaScore::new(id, Protocol::Paper, &[ended(session, outcome)])
    };
    let run = |a, b, outcome| {
        let a = of("a", a, Outcome::Complete);
        RunScore::new(vec![a, of("b", b, outcome)])
    };
    let lacking = sum_up(&[
        run(2, 10, Outcome::Complete),
        run(4, 0, Outcome::Infrastructure),
    ]);
    // The mean of 0.3 and 1; that of the runs would be the mean of 0.6 and 0.4.
    close(lacking.proc, 0.65);
    close(lacking.comp, 1.0);
    assert_eq!((lacking.proc_std, lacking.comp_std), (None, None));
    close(lacking.personas[0].proc, 0.3);
    close(lacking.personas[1].proc, 1.0);
    // With both it is the mean of the runs too, and they vary.
    let whole = sum_up(&[run(2, 10, Outcome::Complete), run(4, 0, Outcome::Complete)]);
    close(whole.proc, 0.4);
    close(whole.proc_std, 0.08_f64.sqrt());
    close(whole.comp_std, 0.0);
    // A persona that no run scored is lacking in none.
    let never = sum_up(&[
        run(2, 0, Outcome::JudgeFault),
        run(4, 0, Outcome::JudgeFault),
    ]);
    close(never.proc, 0.3);
    close(never.proc_std, 0.02_f64.sqrt());
    // A run without any score lacks them all.
    let lost = RunScore::new(vec![of("a", 0, Outcome::Infrastructure)]);
    let one = || RunScore::new(vec![of("a", 2, Outcome::Complete)]);
    let stopped = sum_up(&[one(), one(), lost]);
    close(stopped.proc, 0.2);
    assert_eq!(stopped.proc_std, None);
}

#[test]
fn nothing_scored_is_no_score() {
    let lost = ended(session("x", counts(0, 1), 0.0), Outcome::Infrastructure);
    let suite = sum_up(&[RunScore::new(vec![persona(&[lost])])]);
    assert_eq!((suite.proc, suite.comp), (None, None));
    assert_eq!(
        (suite.proc_sessions, suite.comp_sessions),
        (tally_of(0, 1), tally_of(0, 1))
    );
    assert_eq!(RunScore::new(Vec::new()).proc, None);
}

/// The paper's episode: groups of these sizes, each with its final session, and five independent sessions.
const GROUPS: [usize; 6] = [3, 3, 3, 2, 2, 2];
const INDEPENDENT: usize = 5;

/// 20 sessions from as many (covered, missed, comp).
fn paper_episode(scores: &[(u32, u32, f64)]) -> Vec<SessionScore> {
    let mut scores = scores
        .iter()
        .map(|&(covered, missed, comp)| (counts(covered, missed), comp));
    let mut next = || scores.next().expect("20 scores");
    let mut episode = Vec::new();
    for (number, size) in GROUPS.into_iter().enumerate() {
        let ids: Vec<String> = (1..size)
            .map(|member| format!("g{number}-{member}"))
            .collect();
        episode.extend(ids.iter().map(|id| dependency(id, next().0)));
        let (intents, comp) = next();
        let mut last = session(&format!("g{number}-final"), intents, comp);
        last.depends_on = ids;
        episode.push(last);
    }
    for number in 0..INDEPENDENT {
        let (intents, comp) = next();
        episode.push(session(&format!("i{number}"), intents, comp));
    }
    episode
}

fn twenty_scores() -> impl Strategy<Value = Vec<(u32, u32, f64)>> {
    prop::collection::vec((0..6_u32, 1..6_u32, 0.0..=1.0_f64), 20)
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => Just(Outcome::Complete),
        1 => Just(Outcome::MaxTurns),
        1 => Just(Outcome::JudgeFault),
        1 => Just(Outcome::Infrastructure),
    ]
}

/// The same with an outcome each.
fn episodes() -> impl Strategy<Value = Vec<SessionScore>> {
    (twenty_scores(), prop::collection::vec(outcomes(), 20)).prop_map(|(scores, outcomes)| {
        paper_episode(&scores)
            .into_iter()
            .zip(outcomes)
            .map(|(session, outcome)| ended(session, outcome))
            .collect()
    })
}

fn same(left: Option<f64>, right: Option<f64>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => (left - right).abs() < 1e-9,
        (left, right) => left == right,
    }
}

proptest! {
    #[test]
    fn the_paper_s_episode_has_11_scored_sessions_of_weight_20(scores in twenty_scores()) {
        let score = persona(&paper_episode(&scores));
        prop_assert_eq!(score.sessions.len(), 20);
        prop_assert_eq!(score.sessions.iter().map(|session| session.weight).sum::<u32>(), 20);
        prop_assert_eq!(score.proc_sessions, tally_of(11, 11));
        prop_assert_eq!(score.comp_sessions, tally_of(11, 11));
        prop_assert!((0.0..=1.0 + 1e-12).contains(&score.proc.unwrap()));
        let (covered, all) = scores.iter().fold((0, 0), |sum, score| (sum.0 + score.0, sum.1 + score.0 + score.1));
        prop_assert_eq!(score.intents.proc(), Some(f64::from(covered) / f64::from(all)));
    }

    #[test]
    fn pooling_is_the_sum_of_covered_by_the_sum_of_intents(scores in twenty_scores()) {
        let result = persona(&paper_episode(&scores));
        let mut at = 0;
        let mut expected_mean = 0.0;
        for size in GROUPS.into_iter().chain([1; INDEPENDENT]) {
            let group = &scores[at..at + size];
            at += size;
            let covered: u32 = group.iter().map(|score| score.0).sum();
            let all: u32 = group.iter().map(|score| score.0 + score.1).sum();
            let expected = f64::from(covered) / f64::from(all);
            prop_assert_eq!(result.sessions[at - 1].proc_scored, Some(expected));
            expected_mean += expected * size as f64 / 20.0;
        }
        prop_assert!(same(result.proc, Some(expected_mean)));
    }

    #[test]
    fn the_order_of_sessions_does_not_matter(
        (episode, shuffled) in episodes().prop_flat_map(|episode| (Just(episode.clone()), Just(episode).prop_shuffle())),
    ) {
        let (score, again) = (persona(&episode), persona(&shuffled));
        prop_assert!(same(score.proc, again.proc));
        prop_assert!(same(score.comp, again.comp));
        prop_assert_eq!(score.intents, again.intents);
        prop_assert_eq!((score.proc_sessions, score.comp_sessions), (again.proc_sessions, again.comp_sessions));
        for session in &score.sessions {
            prop_assert!(again.sessions.contains(session));
        }
    }

    #[test]
    fn what_an_unscored_session_would_have_scored_does_not_matter(mut episode in episodes()) {
        let score = persona(&episode);
        for session in episode.iter_mut().filter(|session| !session.outcome.scored()) {
            session.intents = counts(9, 0);
            session.comp = session.comp.map(|comp| 1.0 - comp);
        }
        let again = persona(&episode);
        prop_assert_eq!((score.proc, score.comp), (again.proc, again.comp));
        prop_assert_eq!(score.intents, again.intents);
        prop_assert!(score.proc_sessions.scored <= score.proc_sessions.of);
        prop_assert_eq!(score.proc_sessions.of, 11);
    }

    #[test]
    fn the_deviation_ignores_a_shift(values in prop::collection::vec(0.0..1.0_f64, 2..6), shift in -1.0..1.0_f64) {
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        prop_assert!((sample_std(&values).unwrap() - sample_std(&shifted).unwrap()).abs() < 1e-9);
        prop_assert!(same(mean(&shifted), mean(&values).map(|mean| mean + shift)));
    }
}
