use proptest::prelude::*;

use super::*;

const MATCHED: Asked = Asked::Yes { style: None };
const CLARIFY: Asked = Asked::Yes {
    style: Some(Style::Clarify),
};

fn paper(intents: usize, max_turns: u32) -> Tracker {
    Tracker::new(Protocol::Paper, intents, max_turns)
}

fn pi_bench(intents: usize, max_turns: u32) -> Tracker {
    Tracker::new(Protocol::PiBench, intents, max_turns)
}

fn change(turn: u32, intent: usize, status: Status) -> IntentChange {
    IntentChange {
        turn,
        intent,
        status,
        style: None,
    }
}

/// Plays a turn that satisfies nothing, asks nothing, and has `intent` revealed.
fn idle_turn(session: &mut Tracker, intent: usize) {
    session.turn_done().unwrap();
    let open = session.open().len();
    session.judge_satisfaction(&vec![false; open]).unwrap();
    session
        .judge_questions(&vec![Asked::No; open], false)
        .unwrap();
    session.reveal(intent).unwrap();
    session.message_sent().unwrap();
}

#[test]
fn a_turn_that_satisfies_everything_ends_the_session_at_once() {
    let mut session = paper(2, 30);
    assert_eq!(session.next(), &Next::AgentTurn { turn: 1 });
    let next = session.turn_done().unwrap();
    assert_eq!(next, &Next::JudgeSatisfaction { open: vec![0, 1] });
    let next = session.judge_satisfaction(&[true, true]).unwrap();
    assert_eq!(next, &Next::End(Outcome::Complete));
    assert_eq!((session.turns(), session.counts().proc()), (1, Some(1.0)));
}

#[test]
fn a_turn_that_is_replayed_says_which_intents_are_judged_in_it() {
    let mut session = paper(3, 2);
    let changes = [
        change(1, 1, Status::Completed),
        change(1, 0, Status::Provided),
    ];
    let judged = session.replay_turn(&changes, &[]);
    assert_eq!(judged, Ok([vec![0, 1, 2], vec![0, 2]]));
    // Nobody would answer a question of the last turn.
    let judged = session.replay_turn(&[], &[]);
    assert_eq!(judged, Ok([vec![2], vec![]]));
    let judged = pi_bench(1, 1).replay_turn(&[], &[]);
    assert_eq!(judged, Ok([vec![0], vec![0]]));
}

#[test]
fn stage_two_sees_only_what_stage_one_left_open() {
    let mut session = paper(3, 30);
    session.turn_done().unwrap();
    let next = session.judge_satisfaction(&[false, true, false]).unwrap();
    assert_eq!(next, &Next::JudgeQuestions { open: vec![0, 2] });
    let next = session.judge_questions(&[MATCHED, MATCHED], false).unwrap();
    let message = Next::UserMessage {
        intents: vec![0, 2],
        status: Status::Inferred,
    };
    assert_eq!(next, &message);
    assert_eq!(
        session.message_sent().unwrap(),
        &Next::AgentTurn { turn: 2 }
    );
    // Nothing is open, and still the agent's answer to the last message is its final response.
    assert_eq!(session.turn_done().unwrap(), &Next::End(Outcome::Complete));
    let changes = [
        change(1, 1, Status::Completed),
        change(1, 0, Status::Inferred),
        change(1, 2, Status::Inferred),
    ];
    assert_eq!(session.changes(), changes);
}

#[test]
fn the_paper_s_user_may_reveal_any_open_intent() {
    let mut session = paper(3, 30);
    idle_turn(&mut session, 2);
    assert_eq!(
        session.statuses(),
        [Status::Open, Status::Open, Status::Provided]
    );
    session.turn_done().unwrap();
    session.judge_satisfaction(&[false, false]).unwrap();
    session
        .judge_questions(&[Asked::No, Asked::No], false)
        .unwrap();
    let refused = SessionError::NotAmong {
        intent: 2,
        among: vec![0, 1],
    };
    assert_eq!(session.reveal(2), Err(refused));
    assert!(session.reveal(1).is_ok());
}

#[test]
fn pi_bench_reveals_the_first_open_intent() {
    let mut session = pi_bench(3, 30);
    session.turn_done().unwrap();
    session.judge_satisfaction(&[true, false, false]).unwrap();
    let next = session
        .judge_questions(&[Asked::No, Asked::No], false)
        .unwrap();
    assert_eq!(next, &Next::Reveal { among: vec![1] });
    assert!(session.reveal(2).is_err());
    assert!(session.reveal(1).is_ok());
}

#[test]
fn only_pi_bench_records_a_style() {
    let mut session = pi_bench(1, 30);
    session.turn_done().unwrap();
    session.judge_satisfaction(&[false]).unwrap();
    assert!(session.judge_questions(&[MATCHED], false).is_err());
    assert_eq!(
        session.next(),
        &Next::JudgeQuestions { open: vec![0] },
        "a refusal changes nothing"
    );
    session.judge_questions(&[CLARIFY], false).unwrap();
    assert_eq!(session.changes()[0].style, Some(Style::Clarify));

    let mut session = paper(1, 30);
    session.turn_done().unwrap();
    session.judge_satisfaction(&[false]).unwrap();
    let refused = session.judge_questions(&[CLARIFY], false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "take a targeted question for intent 0: Paper records no style"
    );
}

#[test]
fn the_turn_limit_ends_the_paper_s_session_after_stage_one() {
    let mut session = paper(3, 2);
    idle_turn(&mut session, 0);
    session.turn_done().unwrap();
    let next = session.judge_satisfaction(&[true, false]).unwrap();
    assert_eq!(next, &Next::End(Outcome::MaxTurns));
    assert_eq!(
        session.statuses(),
        [Status::Provided, Status::Completed, Status::Open]
    );
}

#[test]
fn the_turn_limit_ends_pi_bench_s_session_after_stage_two() {
    let mut session = pi_bench(2, 1);
    session.turn_done().unwrap();
    session.judge_satisfaction(&[false, false]).unwrap();
    let next = session
        .judge_questions(&[Asked::No, CLARIFY], false)
        .unwrap();
    assert_eq!(next, &Next::End(Outcome::MaxTurns));
    assert_eq!(session.statuses(), [Status::Open, Status::Inferred]);

    let mut session = pi_bench(1, 1);
    session.turn_done().unwrap();
    session.judge_satisfaction(&[false]).unwrap();
    let next = session.judge_questions(&[Asked::No], false).unwrap();
    assert_eq!(next, &Next::End(Outcome::MaxTurns), "nothing is revealed");
}

#[test]
fn a_last_turn_without_open_intents_is_complete() {
    let mut session = paper(1, 2);
    idle_turn(&mut session, 0);
    assert_eq!(session.turn_done().unwrap(), &Next::End(Outcome::Complete));
    let mut session = paper(1, 1);
    session.turn_done().unwrap();
    let next = session.judge_satisfaction(&[true]).unwrap();
    assert_eq!(next, &Next::End(Outcome::Complete));
}

#[test]
fn no_turn_is_played_when_none_is_allowed() {
    assert_eq!(paper(1, 0).outcome(), Some(Outcome::MaxTurns));
}

#[test]
fn a_break_leaves_open_intents_open() {
    let mut session = paper(2, 30);
    idle_turn(&mut session, 0);
    session.break_off(Outcome::TurnTimeout).unwrap();
    assert_eq!(session.outcome(), Some(Outcome::TurnTimeout));
    assert_eq!(session.counts().open, 1);
    assert_eq!(session.turns(), 1, "the turn in play does not count");
    assert!(session.break_off(Outcome::JudgeFault).is_err());
    let refused = paper(1, 1).break_off(Outcome::Complete).unwrap_err();
    assert_eq!(
        refused,
        SessionError::NotABreak {
            outcome: Outcome::Complete
        }
    );
}

#[test]
fn steps_out_of_order_say_what_is_awaited() {
    let mut session = paper(1, 30);
    assert_eq!(
        session.judge_satisfaction(&[true]).unwrap_err().to_string(),
        "take judgements of stage 1: the session waits for the agent's turn"
    );
    assert!(session.judge_questions(&[MATCHED], false).is_err());
    assert!(session.reveal(0).is_err());
    assert!(session.message_sent().is_err());
    session.turn_done().unwrap();
    assert!(session.turn_done().is_err());
    let refused = SessionError::JudgementCount { given: 2, open: 1 };
    assert_eq!(session.judge_satisfaction(&[true, true]), Err(refused));
    session.judge_satisfaction(&[true]).unwrap();
    assert!(session.turn_done().is_err(), "it is over");
}

#[test]
fn a_record_that_the_rules_cannot_give_is_refused() {
    let replay =
        |changes: &[IntentChange]| Tracker::replay(Protocol::PiBench, 2, 30, 1, changes, &[], None);
    assert!(replay(&[change(1, 0, Status::Provided)]).is_ok());
    let twice = [
        change(1, 0, Status::Completed),
        change(1, 0, Status::Provided),
    ];
    let beyond = [
        change(1, 0, Status::Provided),
        change(2, 1, Status::Provided),
    ];
    for changes in [
        &[change(1, 1, Status::Provided)][..],
        &[],
        &twice,
        &beyond,
        &[change(1, 9, Status::Completed)],
    ] {
        assert!(replay(changes).is_err(), "{changes:?}");
    }
}

#[test]
fn a_question_for_a_plain_fact_is_answered_without_telling_an_intent() {
    let mut session = paper(1, 30);
    let ask = |session: &mut Tracker| {
        session.turn_done().unwrap();
        session.judge_satisfaction(&[false]).unwrap();
        session.judge_questions(&[Asked::No], true).unwrap().clone()
    };
    for _ in 0..FACT_MESSAGES {
        assert_eq!(ask(&mut session), Next::FactMessage);
        session.message_sent().unwrap();
        assert_eq!(session.counts().open, 1);
    }
    // Whoever goes on asking is told an intent all the same.
    assert_eq!(ask(&mut session), Next::Reveal { among: vec![0] });
    // Where an intent is asked for too, the message answers both.
    let mut both = paper(1, 30);
    both.turn_done().unwrap();
    both.judge_satisfaction(&[false]).unwrap();
    assert!(matches!(
        both.judge_questions(&[MATCHED], true).unwrap(),
        Next::UserMessage { .. }
    ));
    // The released code knows no such answer.
    let mut released = pi_bench(1, 30);
    assert_eq!(ask(&mut released), Next::Reveal { among: vec![0] });
}

#[test]
fn a_change_is_compact_json() {
    let mut inferred = change(3, 1, Status::Inferred);
    inferred.style = Some(Style::Options);
    for (change, expected) in [
        (
            change(2, 0, Status::Provided),
            r#"{"turn":2,"intent":0,"status":"provided"}"#,
        ),
        (
            inferred,
            r#"{"turn":3,"intent":1,"status":"inferred","style":"options"}"#,
        ),
    ] {
        let json = serde_json::to_string(&change).unwrap();
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<IntentChange>(&json).unwrap(), change);
    }
}

/// Answers every question of a session from a tape of bytes; past its end nothing is satisfied or asked.
#[derive(Debug)]
struct Tape {
    bytes: Vec<u8>,
    at: usize,
}

impl Tape {
    fn read(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    fn step(&mut self, session: &mut Tracker) {
        let protocol = session.protocol;
        match session.next().clone() {
            Next::AgentTurn { .. } => session.turn_done(),
            Next::JudgeSatisfaction { open } => {
                let judgements: Vec<bool> = open.iter().map(|_| self.read() % 4 == 1).collect();
                session.judge_satisfaction(&judgements)
            }
            Next::JudgeQuestions { open } => {
                let judgements: Vec<Asked> =
                    open.iter().map(|_| asked(protocol, self.read())).collect();
                session.judge_questions(&judgements, self.read() % 3 == 1)
            }
            Next::Reveal { among } => session.reveal(among[self.read() as usize % among.len()]),
            Next::UserMessage { .. } | Next::FactMessage => session.message_sent(),
            Next::End(_) => panic!("stepped past the end"),
        }
        .expect("the step that was asked for is accepted");
    }
}

fn asked(protocol: Protocol, byte: u8) -> Asked {
    match (protocol, byte % 5) {
        (Protocol::Paper, 1) => MATCHED,
        (Protocol::PiBench, 1) => CLARIFY,
        (Protocol::PiBench, 2) => Asked::Yes {
            style: Some(Style::Options),
        },
        _ => Asked::No,
    }
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Paper), Just(Protocol::PiBench)]
}

/// A session of 1 to 8 intents and a tape for it.
fn games() -> impl Strategy<Value = (Tracker, Tape)> {
    let bytes = prop::collection::vec(any::<u8>(), 0..120);
    (protocols(), 1..9_usize, 1..12_u32, bytes).prop_map(|(protocol, intents, max_turns, bytes)| {
        let tape = Tape { bytes, at: 0 };
        (Tracker::new(protocol, intents, max_turns), tape)
    })
}

proptest! {
    #[test]
    fn every_session_ends_within_its_turns((mut session, mut tape) in games()) {
        let intents = session.statuses().len();
        while session.outcome().is_none() {
            tape.step(&mut session);
            prop_assert!(session.turns() <= session.max_turns);
            prop_assert_eq!(session.counts().total() as usize, intents);
        }
        // Every turn but a final one settles an intent or answers a plain fact.
        prop_assert!(session.facts.len() <= FACT_MESSAGES);
        prop_assert!(session.turns() as usize <= intents + 1 + session.facts.len());
        if session.outcome() == Some(Outcome::Complete) {
            prop_assert_eq!(session.counts().open, 0);
        } else {
            prop_assert_eq!(session.turns(), session.max_turns);
        }
        let proc = session.counts().proc().unwrap();
        prop_assert!((0.0..=1.0).contains(&proc));
    }

    #[test]
    fn an_intent_becomes_terminal_once_and_stays((mut session, mut tape) in games()) {
        while session.outcome().is_none() {
            let before = session.statuses().to_vec();
            tape.step(&mut session);
            for (before, after) in before.iter().zip(session.statuses()) {
                prop_assert!(*before == Status::Open || before == after);
            }
        }
        let mut settled: Vec<usize> = session.changes().iter().map(|change| change.intent).collect();
        settled.sort_unstable();
        settled.dedup();
        prop_assert_eq!(settled.len(), session.changes().len());
        prop_assert_eq!(settled.len() + session.open().len(), session.statuses().len());
    }

    #[test]
    fn stage_one_goes_before_stage_two_goes_before_a_reveal((mut session, mut tape) in games()) {
        while session.outcome().is_none() {
            tape.step(&mut session);
        }
        for pair in session.changes().windows(2) {
            prop_assert!(pair[0].turn <= pair[1].turn);
            if pair[0].turn == pair[1].turn {
                prop_assert!(pair[0].status == Status::Completed || pair[0].status == pair[1].status);
                prop_assert!(pair[0].status != Status::Provided);
            }
        }
    }

    #[test]
    fn replay_gives_the_same_state_after_every_turn((mut session, mut tape) in games()) {
        while session.outcome().is_none() {
            tape.step(&mut session);
            if !matches!(session.next(), Next::AgentTurn { .. } | Next::End(_)) {
                continue;
            }
            let json = serde_json::to_string(session.changes()).unwrap();
            let changes: Vec<IntentChange> = serde_json::from_str(&json).unwrap();
            let again = Tracker::replay(
                session.protocol,
                session.statuses().len(),
                session.max_turns,
                session.turns(),
                &changes,
                &session.facts,
                session.outcome(),
            );
            prop_assert_eq!(again, Ok(session.clone()));
        }
    }

    #[test]
    fn any_single_altered_change_is_noticed((mut session, mut tape) in games(), at in any::<prop::sample::Index>()) {
        while session.outcome().is_none() {
            tape.step(&mut session);
        }
        prop_assume!(!session.changes().is_empty());
        let mut changes = session.changes().to_vec();
        at.get_mut(&mut changes).turn += 1;
        let again = Tracker::replay(
            session.protocol,
            session.statuses().len(),
            session.max_turns,
            session.turns(),
            &changes,
            &session.facts,
            session.outcome(),
        );
        prop_assert_ne!(again, Ok(session));
    }

    #[test]
    fn an_agent_that_waits_takes_one_turn_more_than_there_are_intents(protocol in protocols(), intents in 1..20_usize) {
        let mut session = Tracker::new(protocol, intents, 30);
        let mut tape = Tape { bytes: Vec::new(), at: 0 };
        while session.outcome().is_none() {
            tape.step(&mut session);
        }
        prop_assert_eq!(session.outcome(), Some(Outcome::Complete));
        prop_assert_eq!(session.turns() as usize, intents + 1);
        prop_assert_eq!(session.counts().provided as usize, intents);
        prop_assert_eq!(session.counts().proc(), Some(0.0));
    }

    #[test]
    fn pi_bench_reveals_in_file_order((session, mut tape) in games()) {
        let mut session = Tracker::new(Protocol::PiBench, session.statuses().len(), session.max_turns);
        while session.outcome().is_none() {
            tape.step(&mut session);
        }
        let provided = session.changes().iter().filter(|change| change.status == Status::Provided);
        let order: Vec<usize> = provided.map(|change| change.intent).collect();
        prop_assert!(order.is_sorted());
    }

    #[test]
    fn replay_gives_the_same_state_after_any_break((mut session, mut tape) in games(), steps in 0..40) {
        for _ in 0..steps {
            if session.outcome().is_none() {
                tape.step(&mut session);
            }
        }
        prop_assume!(session.outcome().is_none());
        let before_the_turn_was_done = matches!(session.next(), Next::AgentTurn { .. });
        let outcomes: &[Outcome] = match (before_the_turn_was_done, session.turns()) {
            (true, 0) => &[Outcome::TurnTimeout, Outcome::ModelFault],
            // A rubric judge's fault comes after the user's message.
            (true, _) => &[Outcome::TurnTimeout, Outcome::ModelFault, Outcome::JudgeFault],
            (false, _) => &[Outcome::JudgeFault],
        };
        for &outcome in outcomes {
            let mut broken = session.clone();
            broken.break_off(outcome).unwrap();
            let again = Tracker::replay(
                session.protocol,
                session.statuses().len(),
                session.max_turns,
                session.turns() + u32::from(outcome != Outcome::JudgeFault),
                session.changes(),
                &session.facts,
                Some(outcome),
            );
            prop_assert_eq!(again, Ok(broken));
        }
    }

    #[test]
    fn a_break_ends_any_session_at_any_point((mut session, mut tape) in games(), steps in 0..40_usize) {
        for _ in 0..steps {
            if session.outcome().is_none() {
                tape.step(&mut session);
            }
        }
        prop_assume!(session.outcome().is_none());
        let before = session.counts();
        session.break_off(Outcome::Infrastructure).unwrap();
        prop_assert_eq!(session.outcome(), Some(Outcome::Infrastructure));
        prop_assert_eq!(session.counts(), before);
    }
}
