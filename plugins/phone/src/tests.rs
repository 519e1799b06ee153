#![expect(clippy::needless_pass_by_value, reason = "`json!` is written in place")]

use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session, ids};
use proptest::prelude::*;

use super::*;

mod alarms;
mod cases;
mod contacts;
mod messages;
mod model;
mod records;
mod world;

const TOOLS: [&str; 12] = [
    "add_contact",
    "create_alarm",
    "get_current_date_and_time",
    "login",
    "search_contacts",
    "search_text_messages",
    "send_text_message",
    "show_alarm",
    "show_text_message",
    "show_text_message_window",
    "update_alarm",
    "update_contact",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";
const CY: &str = "cy@moor.test";
const IDAS: &str = "5550140217";
const BOS: &str = "5550140201";
const CYS: &str = "5550140209";
/// Nobody's account, Ida's contact 2.
const DENTIST: &str = "5550149999";

/// Ida's contacts 1 (Bo) and 2 (the dentist), Bo's contact 3 (Ida). Messages 1 to 4 between Ida and Bo, 5 from the
/// dentist to Ida, 6 from Cy to Bo. Ida's alarm 1, Bo's alarm 2.
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida", "last_name": "Vale", "email": IDA, "phone_number": IDAS, "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": BO, "phone_number": "555-014-0201", "password": "pb"},
            {"first_name": "Cy", "last_name": "Moor", "email": CY, "phone_number": CYS},
            {"first_name": "Di", "last_name": "Fern", "email": "di@fern.test", "password": "pd"},
        ],
        "records": {
            "contacts": [
                {"owner": IDA, "first_name": "Bo", "last_name": "Lind", "phone_number": BOS, "email": BO,
                 "relationships": ["friend", "moot partner"], "birthday": "1998-04-30", "home_address": "4 Quay Street",
                 "created_at": "2026-01-01T10:00:00"},
                {"owner": IDA, "first_name": "Dr. Sable", "phone_number": DENTIST, "relationships": ["dentist"],
                 "work_address": "9 Mill Lane", "created_at": "2026-01-02T10:00:00"},
                {"owner": BO, "first_name": "Ida", "phone_number": "(555) 014-0217"},
            ],
            "text_messages": [
                {"from": IDA, "to": BO, "message": "Lunch tomorrow?", "sent_at": "2026-02-01T10:00:00"},
                {"from": BO, "to": IDA, "message": "Gladly, at noon", "sent_at": "2026-02-01T10:05:00"},
                {"from": BO, "to": IDA, "message": "Running late", "sent_at": "2026-02-02T11:55:00"},
                {"from": IDA, "to": BO, "message": "No hurry, lunch can wait", "sent_at": "2026-02-02T11:56:00"},
                {"from": DENTIST, "to": IDA, "message": "Your appointment is on Friday",
                 "sent_at": "2026-02-03T09:00:00"},
                {"from": CY, "to": BO, "message": "See you", "sent_at": "2026-02-04T09:00:00"},
            ],
            "alarms": [
                {"owner": IDA, "time": "07:30", "repeat_days": ["friday", "monday"], "label": "Swimming",
                 "created_at": "2026-01-03T10:00:00"},
                {"owner": BO, "time": "6:05"},
            ],
        },
    })
}

fn open(number: &str, password: &str) -> Session<Phone> {
    let mut session = Session::open(&seed());
    session.log_in(number, password);
    session
}

fn ida() -> Session<Phone> {
    open(IDAS, "pw")
}

/// The same app, with Bo at the keyboard.
fn as_bo(mut session: Session<Phone>) -> Session<Phone> {
    session.log_in(BOS, "pb");
    session
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<Phone>(&TOOLS);
}

#[test]
fn every_private_tool_needs_a_token() {
    for tool in TOOLS
        .iter()
        .filter(|tool| !["login", "get_current_date_and_time"].contains(tool))
    {
        let error = ida().refused(tool, json!({"access_token": "guess"}));
        assert_eq!(error.status, 401, "{tool}");
        let mut stranger = Session::<Phone>::open(&seed());
        assert_eq!(stranger.refused(tool, json!({})).status, 401, "{tool}");
    }
}

#[test]
fn the_phone_number_is_the_user_name_however_it_is_written() {
    let mut session = Session::<Phone>::open(&seed());
    let login = |username: &str| json!({"username": username, "password": "pb"});
    let answer = session.ok("login", login(BOS));
    assert_eq!(answer["token_type"], "Bearer");
    assert_eq!(
        session.ok("login", login("+5550140201".trim_start_matches('+'))),
        answer
    );
    assert_eq!(session.ok("login", login("(555) 014-0201")), answer);
}

#[test]
fn a_wrong_login_is_refused() {
    for (username, password) in [
        (IDAS, "pb"),
        (IDA, "pw"),
        ("5550000000", "pw"),
        ("di@fern.test", "pd"),
        (CYS, ""),
        ("", ""),
    ] {
        let login = json!({"username": username, "password": password});
        check_refused(
            "login",
            login,
            401,
            "The user name or the password is wrong.",
        );
    }
}

#[test]
fn the_phone_tells_the_time_of_the_session() {
    for (hour, time) in [(9, "09:05 AM"), (0, "12:05 AM"), (23, "11:05 PM")] {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(hour, 5, 59, 0));
        let now = Session::<Phone>::open(&seed()).ok("get_current_date_and_time", json!({}));
        assert_eq!(now, json!({"date": "Monday, March 02, 2026", "time": time}));
    }
    let zone = Session::<Phone>::open(&seed())
        .refused("get_current_date_and_time", json!({"zone": "UTC"}));
    assert_eq!(zone.status, 422);
}

#[test]
fn an_unknown_tool_is_named() {
    check_refused(
        "delete_alarm",
        json!({}),
        404,
        "There is no tool delete_alarm.",
    );
}
