use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session, ids};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod balances;
mod cases;
mod expenses;
mod groups;
mod records;
mod world;

const TOOLS: [&str; 13] = [
    "add_member_to_group",
    "create_group",
    "delete_expense",
    "login",
    "record_expense",
    "search_users",
    "show_group",
    "show_group_balance",
    "show_group_expenses",
    "show_groups",
    "show_people_balance",
    "show_person_balance",
    "update_expense",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";
const CY: &str = "cy@moor.test";
const DI: &str = "di@fern.test";
const PEOPLE: [&str; 4] = [IDA, BO, CY, DI];

/// Group 1 is the flat of Ida, Bo and Cy, with the expenses 1 (100.00 by Ida for all), 2 (50.00 by Bo, 30.00 of it for
/// Ida) and the deleted 5; group 2 a trip of Bo and Di with expense 3; group 3 is deleted, with expense 6. Expense 4 is
/// outside groups, between Di and Ida; expense 7 too, between Bo and Di.
fn seed() -> Value {
    let person = |first_name: &str, last_name: &str, email: &str| json!({"first_name": first_name, "last_name": last_name, "email": email, "password": "pw"});
    json!({
        "people": [person("Ida", "Vale", IDA), person("Bo", "Lind", BO), person("Cy", "Moor", CY), person("Di", "Fern", DI)],
        "records": {
            "groups": [
                {"id": "flat", "name": "Flat 12", "description": "Rent and bills", "creator": IDA, "members": [BO, CY],
                 "created_at": "2026-01-01T10:00:00"},
                {"id": "trip", "name": "Trip", "creator": BO, "members": [DI, BO], "created_at": "2026-01-02T10:00:00"},
                {"id": "old", "name": "Old flat", "creator": BO, "members": [IDA], "deleted": true,
                 "created_at": "2024-01-02T10:00:00"},
            ],
            "expenses": [
                {"group": "flat", "description": "Rent for January", "paid_amount": 100, "payer": IDA,
                 "debtors": [IDA, BO, CY], "created_at": "2026-01-03T10:00:00"},
                {"group": "flat", "description": "Electricity", "paid_amount": 50.0, "payer": BO, "debtors": [IDA, BO],
                 "debt_amounts": [30, 20], "created_at": "2026-01-04T10:00:00", "receipt": "power.pdf", "creator": CY},
                {"group": "trip", "description": "Train", "paid_amount": 80.5, "payer": BO, "debtors": [BO, DI],
                 "created_at": "2026-01-05T10:00:00"},
                {"description": "Lunch", "paid_amount": 12.4, "payer": DI, "debtors": [DI, IDA],
                 "created_at": "2026-01-06T10:00:00"},
                {"group": "flat", "description": "Rent by mistake", "paid_amount": 9, "payer": CY, "debtors": [IDA],
                 "created_at": "2026-01-07T10:00:00", "deleted": true},
                {"group": "old", "description": "Deposit", "paid_amount": 10, "payer": BO, "debtors": [IDA],
                 "created_at": "2024-02-07T10:00:00"},
                {"description": "Tickets", "paid_amount": 30, "payer": DI, "debtors": [BO],
                 "created_at": "2026-01-08T10:00:00"},
            ],
        },
    })
}

fn open(email: &str) -> Session<Splitwise> {
    let mut session = Session::open(&seed());
    session.log_in(email, "pw");
    session
}

fn ida() -> Session<Splitwise> {
    open(IDA)
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

/// The arguments with one of them replaced.
fn with(mut arguments: Value, key: &str, value: Value) -> Value {
    arguments[key] = value;
    arguments
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<Splitwise>(&TOOLS);
}

#[test]
fn schemas_carry_the_bounds() {
    let tools = Splitwise::tools().declarations();
    let record = tools
        .iter()
        .find(|tool| tool.name == "record_expense")
        .unwrap();
    let properties = &record.schema["properties"];
    assert_eq!(properties["paid_amount"]["minimum"], 0);
    assert_eq!(properties["paid_amount"]["maximum"], 1_000_000_000);
    assert_eq!(properties["description"]["maxLength"], 500);
    assert_eq!(properties["debtor_emails"]["maxItems"], 50);
    assert_eq!(properties["debt_amounts"]["maxItems"], 50);
    assert_eq!(
        record.schema["required"],
        json!(["description", "paid_amount", "payer_email", "debtor_emails"])
    );
}

#[test]
fn every_private_tool_needs_a_token() {
    let arguments = json!({
        "group_id": 1, "expense_id": 1, "user_email": DI, "email": BO, "name": "N", "member_emails": [],
        "access_token": "guess",
    });
    let mut stranger = Session::<Splitwise>::open(&seed());
    for tool in TOOLS.iter().filter(|tool| **tool != "login") {
        assert_eq!(ida().refused(tool, arguments.clone()).status, 401, "{tool}");
        assert_eq!(stranger.refused(tool, json!({})).status, 401, "{tool}");
    }
}

#[test]
fn a_login_gives_the_same_token_and_a_wrong_one_none() {
    let mut session = ida();
    let answer = session.ok(
        "login",
        json!({"username": "Ida@Vale.test", "password": "pw"}),
    );
    let token = session.token.clone();
    assert_eq!(
        answer,
        json!({"access_token": token, "token_type": "Bearer"})
    );
    let wrong = json!({"username": IDA, "password": "no"});
    check_refused(
        "login",
        wrong,
        401,
        "The user name or the password is wrong.",
    );
}

#[test]
fn ill_typed_arguments_are_named() {
    check_refused(
        "show_group",
        json!({"group_id": "flat"}),
        422,
        "Wrong arguments: invalid type: string \"flat\", expected u32.",
    );
    let unknown = ida().refused("show_people_balance", json!({"group_id": 1}));
    assert!(
        unknown.message.contains("unknown field `group_id`"),
        "{unknown}"
    );
    check_refused("settle_up", json!({}), 404, "There is no tool settle_up.");
}

/// What random calls take for texts.
const TEXTS: [&str; 8] = [IDA, BO, CY, DI, "pw", "rent", "-paid_amount", "2026-01-04"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
        let mut session = ida();
        let step = |session: &mut Session<Splitwise>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let _ = step(&mut session, number);
            balances::check_zero_sums(&session);
        }
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
