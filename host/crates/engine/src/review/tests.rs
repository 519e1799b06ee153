use super::*;
use crate::recorded::RecordedTurn;
use pibench_core::record::CallRecord;
use pibench_core::session::IntentChange;
use pibench_core::vocabulary::Scope;
use pibench_record::event::{IntentJudgement, RoleUsage, SessionFinished, Step};
use pibench_suite::manifest::Trigger;
use pibench_suite::suite::{Intent, Persona, Session};

const LETTERHEAD: &str = "Print the reply on the blue letterhead of the Harrow office.";
const DEADLINE: &str = "Courier everything before Thursday 16:30 to Saltmarsh.";

fn intent(id: &str, content: &str) -> Intent {
    Intent {
        id: id.into(),
        content: content.into(),
        scope: Scope::Session,
        found_in: Vec::new(),
        satisfied: None,
        asked: None,
    }
}

fn session() -> Session {
    Session {
        id: "s".into(),
        title: String::new(),
        category: None,
        clock: jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0),
        trigger: Trigger::User,
        request: "Draft the reply.".into(),
        depends_on: Vec::new(),
        dependency_only: false,
        intents: vec![
            intent("letterhead", LETTERHEAD),
            intent("deadline", DEADLINE),
        ],
        checklist: Vec::new(),
        files: Vec::new(),
        files_read: Vec::new(),
        tool_evidence: Vec::new(),
        apps: std::collections::BTreeMap::new(),
        reference: Vec::new(),
    }
}

fn judged(intent: &str, stage: Stage, reason: &str) -> IntentJudgement {
    IntentJudgement {
        intent: intent.into(),
        stage,
        yes: true,
        reason: reason.into(),
        exchange: Some("blob".into()),
    }
}

fn change(intent: usize, status: Status) -> IntentChange {
    IntentChange {
        turn: 1,
        intent,
        status,
        style: None,
    }
}

fn check(turn: Turn, expected: &[(Doubt, Option<&str>)]) {
    let persona = Persona {
        id: "p".into(),
        name: String::new(),
        profile: String::new(),
        user_md: String::new(),
        facts: std::collections::BTreeMap::new(),
        tools: Vec::new(),
        people: Vec::new(),
        apps: std::collections::BTreeMap::new(),
        skills: Vec::new(),
        files: Vec::new(),
        world: true,
        sessions: Vec::new(),
    };
    let session = session();
    let turns = vec![RecordedTurn::new(Turn { turn: 1, ..turn })];
    let finished = SessionFinished {
        session: "s".into(),
        outcome: Outcome::Complete,
        turns: 1,
        intents: Vec::new(),
        items: Vec::new(),
        proc: 0.0,
        comp: None,
        memory: Vec::new(),
        changes: Vec::new(),
        faults: Vec::new(),
        usage: RoleUsage::default(),
    };
    let recorded = RecordedSession::new(&persona, &session, turns, finished);
    let found = of_session(&recorded);
    let told: Vec<_> = found
        .iter()
        .map(|one| (one.doubt, one.intent.as_deref()))
        .collect();
    assert_eq!(told, expected, "{found:#?}");
}

#[test]
fn a_sound_turn_has_nothing_doubtful() {
    check(
        Turn {
            response: "The draft is ready. Which paper should it be printed on?".into(),
            judgements: vec![judged("letterhead", Stage::Question, "asks for the paper")],
            intents: vec![change(0, Status::Inferred)],
            next: Some("On the blue letterhead of our Harrow office, please.".into()),
            ..Turn::default()
        },
        &[],
    );
}

#[test]
fn an_answer_without_a_question_is_doubtful() {
    check(
        Turn {
            response: "The draft is ready.".into(),
            judgements: vec![judged("letterhead", Stage::Question, "-")],
            intents: vec![change(0, Status::Inferred)],
            next: Some("On the blue letterhead of our Harrow office, please.".into()),
            ..Turn::default()
        },
        &[(Doubt::AnsweredUnasked, Some("letterhead"))],
    );
}

#[test]
fn a_question_by_a_tool_is_a_question() {
    let call = CallRecord {
        exact: None,
        number: 1,
        turn: 1,
        tool: ASK_USER.into(),
        arguments: serde_json::json!({"question": "Paper"}),
        status: pibench_core::record::CallStatus::Ok,
        code: 0,
        result: String::new(),
    };
    check(
        Turn {
            steps: vec![Step::Call {
                id: "1".into(),
                record: call,
                file: None,
            }],
            response: "Paper".into(),
            judgements: vec![judged("letterhead", Stage::Question, "-")],
            intents: vec![change(0, Status::Inferred)],
            next: Some("Blue letterhead, Harrow office, print the reply.".into()),
            ..Turn::default()
        },
        &[],
    );
}

#[test]
fn a_message_that_tells_another_intent_leaks_it() {
    check(
        Turn {
            response: "The draft is ready.".into(),
            intents: vec![change(0, Status::Provided)],
            next: Some(
                "Use the blue Harrow letterhead for the printed reply, and courier everything to Saltmarsh by \
                 Thursday, 16:30."
                    .into(),
            ),
            ..Turn::default()
        },
        &[(Doubt::Leaked, Some("deadline"))],
    );
}

#[test]
fn a_message_that_tells_nothing_is_doubtful() {
    check(
        Turn {
            response: "The draft is ready.".into(),
            intents: vec![change(0, Status::Provided)],
            next: Some("Hm, I am not sure about that yet.".into()),
            ..Turn::default()
        },
        &[(Doubt::Untold, Some("letterhead"))],
    );
}

#[test]
fn an_end_on_a_question_or_on_evidence_that_is_not_there_is_early() {
    let last = |response: &str, reason: &str| Turn {
        response: response.into(),
        judgements: vec![judged("deadline", Stage::Satisfaction, reason)],
        intents: vec![change(1, Status::Completed)],
        outcome: Some(Outcome::Complete),
        ..Turn::default()
    };
    check(
        last(
            "I booked the courier for Thursday.",
            "booked the courier for Thursday",
        ),
        &[],
    );
    check(
        last(
            "I booked the courier for Thursday. Shall I go on?",
            "courier on Thursday",
        ),
        &[(Doubt::EndedEarly, None)],
    );
    check(
        last("Done.", "the message confirms delivery to Saltmarsh"),
        &[(Doubt::EndedEarly, Some("deadline"))],
    );
}
