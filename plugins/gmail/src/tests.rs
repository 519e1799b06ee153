use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session, ids};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod cases;
mod drafts;
mod records;
mod sending;
mod threads;
mod unread;
mod world;

const TOOLS: [&str; 25] = [
    "create_draft",
    "forward_email_thread",
    "label_thread",
    "login",
    "logout",
    "mark_thread_archived",
    "mark_thread_read",
    "mark_thread_starred",
    "mark_thread_unread",
    "reply_to_email",
    "search_labels",
    "search_users",
    "send_email",
    "send_email_from_draft",
    "show_category_sizes",
    "show_draft",
    "show_drafts",
    "show_email",
    "show_inbox_threads",
    "show_outbox_threads",
    "show_starred_threads",
    "show_thread",
    "signup",
    "unlabel_thread",
    "update_draft",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";
const OUTSIDE: &str = "office@rent.test";

/// Ida's mailbox: thread 1 (emails 1, 4) with Bo about lunch, thread 3 (email 5) from outside about the lease, starred
/// and labelled; Bo's: thread 2 (emails 2, 3), and thread 4 (email 6), a note to himself. Ida's draft 1 answers email 4.
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida", "last_name": "Vale", "email": IDA, "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": BO, "password": "pb"},
            {"first_name": "Cy", "last_name": "Moor", "email": "cy@moor.test"},
        ],
        "records": {
            "emails": [
                {"id": "ask", "thread": "lunch", "from": IDA, "to": [BO], "subject": "Lunch", "body": "Tomorrow?",
                 "sent_at": "2026-02-01T10:00:00"},
                {"id": "yes", "reply_to": "ask", "from": BO, "to": [IDA], "subject": "Re: Lunch", "body": "Gladly.",
                 "sent_at": "2026-02-01T11:00:00"},
                {"thread": "lease", "from": OUTSIDE, "to": [IDA], "subject": "Your lease", "body": "Please sign it.",
                 "sent_at": "2026-02-02T10:00:00", "attachments": ["lease.pdf"]},
                {"from": BO, "to": [BO], "subject": "Note to self", "body": "Buy tea.",
                 "sent_at": "2026-02-03T10:00:00"},
            ],
            "threads": [
                {"owner": IDA, "thread": "lease", "read": true, "starred": true, "label": "Home"},
            ],
            "drafts": [
                {"owner": IDA, "to": [BO], "subject": "Re: Lunch", "body": "At noon.", "reply_to": "yes",
                 "created_at": "2026-02-01T12:00:00"},
            ],
        },
    })
}

fn open(email: &str, password: &str) -> Session<Gmail> {
    let mut session = Session::open(&seed());
    session.log_in(email, password);
    session
}

fn ida() -> Session<Gmail> {
    open(IDA, "pw")
}

/// The same app, with Bo at the keyboard.
fn as_bo(mut session: Session<Gmail>) -> Session<Gmail> {
    session.log_in(BO, "pb");
    session
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<Gmail>(&TOOLS);
}

#[test]
fn every_private_tool_needs_a_token() {
    let required = json!({
        "email_thread_id": 1, "email_id": 1, "draft_id": 1, "label": "x", "body": "x", "subject": "x",
        "email_addresses": [BO], "recipient_email_addresses": [BO], "access_token": "guess",
    });
    for tool in TOOLS
        .iter()
        .filter(|tool| !["login", "signup", "search_users"].contains(tool))
    {
        assert_eq!(ida().refused(tool, required.clone()).status, 401, "{tool}");
        let mut stranger = Session::<Gmail>::open(&seed());
        assert_eq!(stranger.refused(tool, json!({})).status, 401, "{tool}");
    }
}

#[test]
fn a_login_is_checked_and_a_logout_ends_it() {
    check_refused(
        "login",
        json!({"username": "cy@moor.test", "password": ""}),
        401,
        "The user name or the password is wrong.",
    );
    let mut session = ida();
    session.ok("logout", json!({}));
    assert_eq!(session.refused("search_labels", json!({})).status, 401);
}

#[test]
fn somebody_new_signs_up_and_gets_mail() {
    let mut session = ida();
    let answer = session.ok(
        "signup",
        json!({"first_name": "Di", "last_name": "Fern", "email": "Di@fern.test", "password": "pd"}),
    );
    assert_eq!(
        answer,
        json!({"message": "The account di@fern.test is created. Log in to use it."})
    );
    session.ok(
        "send_email",
        json!({"email_addresses": ["di@fern.test"], "subject": "Hello", "body": "Welcome."}),
    );
    session.log_in("di@fern.test", "pd");
    assert_eq!(
        session.ok("show_inbox_threads", json!({}))[0]["subject"],
        "Hello"
    );
}

#[test]
fn a_signup_that_breaks_a_rule_is_refused() {
    let person = |first_name: &str, email: &str, password: &str| json!({"first_name": first_name, "last_name": "X", "email": email, "password": password});
    check_refused(
        "signup",
        person("Bo", BO, "x"),
        409,
        "bo@lind.test has an account already.",
    );
    check_refused(
        "signup",
        person("Bo", "bo", "x"),
        422,
        "\"bo\" is no email address.",
    );
    check_refused(
        "signup",
        person(" ", "x@y.test", "x"),
        422,
        "The first and the last name must not be empty.",
    );
    check_refused(
        "signup",
        person("X", "x@y.test", ""),
        422,
        "The password must not be empty.",
    );
}

#[test]
fn people_are_found_by_name_and_address() {
    let mut stranger = Session::<Gmail>::open(&seed());
    let found = stranger.ok("search_users", json!({"query": "lind"}));
    let expected = json!([{
        "first_name": "Bo", "last_name": "Lind", "email": BO, "registered_at": "2020-01-01T00:00:00",
        "status": "active",
    }]);
    assert_eq!(found, expected);
    assert_eq!(
        stranger
            .ok("search_users", json!({}))
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        stranger.ok("search_users", json!({"query": "zorro"})),
        json!([])
    );
    assert_eq!(
        stranger
            .refused("search_users", json!({"page_limit": 0}))
            .status,
        422
    );
}

/// What random calls take for texts.
const TEXTS: [&str; 10] = [
    IDA,
    "pw",
    BO,
    "pb",
    OUTSIDE,
    "lunch lease",
    "Home",
    "-updated_at",
    "2026-03-02T10:30:00",
    "2026-02-02",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
        let mut session = ida();
        let step = |session: &mut Session<Gmail>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let _ = step(&mut session, number);
        }
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
