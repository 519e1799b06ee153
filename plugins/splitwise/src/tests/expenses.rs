use super::*;
use pibench_sdk::attachment::MAX_ATTACHED;

fn dinner() -> Value {
    json!({"description": "Dinner", "paid_amount": 100.0, "payer_email": IDA, "debtor_emails": [BO, CY, IDA], "group_id": 1})
}

/// The shares of an expense of group 1, in order.
fn shares(session: &mut Session<Splitwise>, id: u64) -> Vec<(String, f64)> {
    let state = session.state();
    let expense = state["expenses"]
        .as_array()
        .unwrap()
        .iter()
        .find(|expense| expense["id"] == id);
    let share = |share: &Value| {
        (
            share["debtor"].as_str().unwrap().to_owned(),
            share["debt_amount"].as_f64().unwrap(),
        )
    };
    expense.unwrap()["shares"]
        .as_array()
        .unwrap()
        .iter()
        .map(share)
        .collect()
}

#[track_caller]
fn check_shares(session: &mut Session<Splitwise>, id: u64, expected: &[(&str, f64)]) {
    let shares = shares(session, id);
    let shares: Vec<(&str, f64)> = shares
        .iter()
        .map(|(debtor, amount)| (debtor.as_str(), *amount))
        .collect();
    assert_eq!(shares, expected);
}

#[test]
fn an_expense_is_shared_equally_to_the_last_cent() {
    let mut session = ida();
    let answer = session.ok("record_expense", dinner());
    assert_eq!(
        answer,
        json!({"message": "Expense 8 is recorded.", "expense_id": 8})
    );
    let listed = session.ok("show_group_expenses", json!({"group_id": 1}));
    let person = |name: &str, email: &str| json!({"name": name, "email": email});
    let expected = json!({
        "expense_id": 8, "group_id": 1, "description": "Dinner", "deleted": false, "receipt_file_name": null,
        "created_at": "2026-03-02T09:00:00",
        "shares": [
            {"debtor": person("Bo Lind", BO), "debt_amount": 33.34},
            {"debtor": person("Cy Moor", CY), "debt_amount": 33.33},
            {"debtor": person("Ida Vale", IDA), "debt_amount": 33.33},
        ],
        "creator": person("Ida Vale", IDA), "payer": person("Ida Vale", IDA), "paid_amount": 100.0,
    });
    assert_eq!(listed[0], expected);
}

#[test]
fn an_expense_is_shared_as_told() {
    let mut session = ida();
    let uneven = with(dinner(), "debt_amounts", json!([50.1, 0, 49.9]));
    session.ok("record_expense", uneven);
    check_shares(&mut session, 8, &[(BO, 50.1), (CY, 0.0), (IDA, 49.9)]);
}

#[test]
fn an_expense_for_others_is_recorded_by_any_member() {
    let mut session = ida();
    session.ok("record_expense", with(dinner(), "payer_email", json!(CY)));
    assert_eq!(session.state()["expenses"][7]["creator"], IDA);
    assert_eq!(session.state()["expenses"][7]["payer"], CY);
}

#[test]
fn an_expense_needs_a_description_and_an_amount() {
    for (key, value, status, message) in [
        (
            "description",
            json!(""),
            422,
            "The description must not be empty.",
        ),
        (
            "description",
            json!("d".repeat(501)),
            422,
            "The description has 501 characters; at most 500 fit.",
        ),
        (
            "paid_amount",
            json!(0),
            422,
            "The paid amount must be above 0.",
        ),
        (
            "paid_amount",
            json!(-1),
            422,
            "Wrong arguments: an amount must be from 0 to 1000000000.00, not -1.",
        ),
    ] {
        check_refused(
            "record_expense",
            with(dinner(), key, value),
            status,
            message,
        );
    }
}

#[test]
fn an_expense_is_between_people_of_its_group() {
    for (key, value, status, message) in [
        (
            "payer_email",
            json!("ida"),
            422,
            "\"ida\" is no email address.",
        ),
        (
            "payer_email",
            json!("x@y.test"),
            409,
            "There is no account x@y.test.",
        ),
        (
            "debtor_emails",
            json!([BO, DI]),
            422,
            "di@fern.test is no member of group 1.",
        ),
        (
            "debtor_emails",
            json!(["x@y.test"]),
            409,
            "There is no account x@y.test.",
        ),
        (
            "debtor_emails",
            json!([]),
            422,
            "An expense has from 1 to 50 debtors, not 0.",
        ),
        (
            "debtor_emails",
            json!([BO, CY, "Bo@lind.test"]),
            422,
            "bo@lind.test stands twice among the debtors.",
        ),
        (
            "debtor_emails",
            json!([IDA]),
            422,
            "Nobody but the payer has a share, so nobody owes anything.",
        ),
        ("group_id", json!(9), 409, "There is no group 9."),
        (
            "group_id",
            json!(2),
            422,
            "ida@vale.test is no member of group 2.",
        ),
        ("group_id", json!(3), 422, "Group 3 is deleted."),
    ] {
        check_refused(
            "record_expense",
            with(dinner(), key, value),
            status,
            message,
        );
    }
}

#[test]
fn debts_are_together_what_was_paid_but_for_a_cent_each() {
    let together = "The debt amounts are 99.89 together, but 100.00 was paid. If part of it is the payer's own, name the \
                    payer among the debtors with that part.";
    for (key, value, status, message) in [
        (
            "debt_amounts",
            json!([0, 0, 100]),
            422,
            "Nobody but the payer has a share, so nobody owes anything.",
        ),
        (
            "debt_amounts",
            json!([50, 50]),
            422,
            "There are 3 debtors and 2 debt amounts; each debtor needs one.",
        ),
        ("debt_amounts", json!([33.33, 33.33, 33.23]), 422, together),
    ] {
        check_refused(
            "record_expense",
            with(dinner(), key, value),
            status,
            message,
        );
    }
    let mut session = ida();
    let rounded = with(dinner(), "paid_amount", json!(99.999));
    let rounded = with(rounded, "debt_amounts", json!([33.333, 33.333, 33.31]));
    session.ok("record_expense", rounded);
    assert_eq!(session.state()["expenses"][7]["paid_amount"], 100.0);
    check_shares(&mut session, 8, &[(BO, 33.33), (CY, 33.33), (IDA, 33.31)]);
    let debts = |last: f64| json!({"expense_id": 8, "debt_amounts": [33.33, 33.33, last]});
    session.ok("update_expense", debts(33.37));
    assert_eq!(session.refused("update_expense", debts(33.38)).status, 422);
    let small = |debt: f64| {
        let small = with(dinner(), "debtor_emails", json!([BO]));
        let small = with(small, "paid_amount", json!(0.05));
        with(small, "debt_amounts", json!([debt]))
    };
    session.ok("record_expense", small(0.06));
    assert_eq!(session.refused("record_expense", small(0.15)).status, 422);
}

#[test]
fn a_receipt_is_kept_as_the_host_hands_it_over_and_else_the_reason_is_told() {
    let receipt = with(dinner(), "receipt_file_path", json!("~/a.note"));
    let missing = "Nothing can be attached: the file_system_access_token is missing.";
    check_refused("record_expense", receipt.clone(), 422, missing);
    let with_token = with(receipt, "file_system_access_token", json!("t"));
    let refused = "Nothing can be attached: the file system app is not connected.";
    check_refused("record_expense", with_token.clone(), 422, refused);
    let file = |content: &str| json!([{"path": "/files/a.note", "content": content}]);
    let long = with(
        with_token.clone(),
        "attached_files",
        file(&"x".repeat(MAX_ATTACHED + 1)),
    );
    let refused = "The attached files have 262145 bytes; at most 262144 fit.";
    check_refused("record_expense", long, 422, refused);
    let file = file("12.00");
    let mut session = ida();
    session.ok("record_expense", with(with_token, "attached_files", file));
    let shown = session.ok(
        "show_group_expenses",
        json!({"group_id": 1, "page_limit": 1}),
    );
    assert_eq!(shown[0]["receipt_file_name"], "a.note");
    session.ok(
        "update_expense",
        json!({"expense_id": 8, "description": "Supper"}),
    );
    let state = session.state();
    let kept = state["expenses"].as_array().unwrap();
    let kept = kept.iter().find(|expense| expense["id"] == 8).unwrap();
    assert_eq!(
        (&kept["receipt"], &kept["receipt_text"]),
        (&json!("a.note"), &json!("12.00"))
    );
}

#[test]
fn an_expense_outside_groups_concerns_whoever_records_it() {
    let mut session = ida();
    let coffee = |payer: &str, debtor: &str| json!({"description": "Coffee", "paid_amount": 5, "payer_email": payer, "debtor_emails": [debtor]});
    session.ok("record_expense", coffee(IDA, DI));
    session.ok("record_expense", coffee(DI, IDA));
    let others = session.refused("record_expense", coffee(BO, DI));
    let message = "ida@vale.test takes no part in the expense, and it belongs to no group: name ida@vale.test as the \
                   payer or a debtor, or give a group_id.";
    assert_eq!((others.status, others.message.as_str()), (422, message));
}

#[test]
fn an_update_changes_what_is_given() {
    let mut session = ida();
    let before = session.state()["expenses"][1].clone();
    let answer = session.ok(
        "update_expense",
        json!({"expense_id": 2, "description": "Power"}),
    );
    assert_eq!(answer, json!({"message": "Expense 2 is updated."}));
    assert_eq!(
        session.state()["expenses"][1],
        with(before.clone(), "description", json!("Power"))
    );
    session.ok(
        "update_expense",
        json!({"expense_id": 2, "payer_email": CY}),
    );
    assert_eq!(session.state()["expenses"][1]["payer"], CY);
    check_shares(&mut session, 2, &[(IDA, 30.0), (BO, 20.0)]);
    session.ok(
        "update_expense",
        json!({"expense_id": 2, "paid_amount": 60, "debt_amounts": [25, 35]}),
    );
    check_shares(&mut session, 2, &[(IDA, 25.0), (BO, 35.0)]);
    session.ok(
        "update_expense",
        json!({"expense_id": 2, "debtor_emails": [CY, BO, IDA]}),
    );
    check_shares(&mut session, 2, &[(CY, 20.0), (BO, 20.0), (IDA, 20.0)]);
}

#[test]
fn equal_shares_follow_a_new_amount_and_uneven_ones_are_asked_for() {
    let mut session = ida();
    session.ok(
        "update_expense",
        json!({"expense_id": 1, "paid_amount": 0.05}),
    );
    check_shares(&mut session, 1, &[(IDA, 0.02), (BO, 0.02), (CY, 0.01)]);
    let uneven = "The shares are uneven: a new paid_amount needs new debt_amounts too.";
    check_refused(
        "update_expense",
        json!({"expense_id": 2, "paid_amount": 60}),
        422,
        uneven,
    );
}

#[test]
fn an_update_that_breaks_a_rule_is_refused() {
    let update = |id: u32, key: &str, value: Value| with(json!({"expense_id": id}), key, value);
    for (arguments, status, message) in [
        (
            update(99, "description", json!("x")),
            409,
            "There is no expense 99.",
        ),
        (
            update(3, "description", json!("x")),
            422,
            "ida@vale.test is no member of group 2.",
        ),
        (
            update(7, "description", json!("x")),
            422,
            "Expense 7 is between others.",
        ),
        (
            update(5, "description", json!("x")),
            422,
            "Expense 5 is deleted.",
        ),
        (
            update(6, "description", json!("x")),
            422,
            "Group 3 is deleted.",
        ),
        (
            update(1, "description", json!(" ")),
            422,
            "The description must not be empty.",
        ),
        (
            update(1, "debt_amounts", json!([1, 2, 3])),
            422,
            "The debt amounts are 6.00 together, but 100.00 was paid. If part of it is the payer's own, name the \
             payer among the debtors with that part.",
        ),
        (
            update(1, "debtor_emails", json!([DI])),
            422,
            "di@fern.test is no member of group 1.",
        ),
        (
            update(1, "payer_email", json!("no")),
            422,
            "\"no\" is no email address.",
        ),
    ] {
        check_refused("update_expense", arguments, status, message);
    }
    let alone = ida().refused("update_expense", update(4, "debtor_emails", json!([DI])));
    assert!(
        alone
            .message
            .starts_with("ida@vale.test takes no part in the expense")
    );
}

#[test]
fn a_deleted_expense_counts_no_more_and_stays_listed_as_deleted() {
    let mut session = ida();
    let answer = session.ok("delete_expense", json!({"expense_id": 1}));
    assert_eq!(answer, json!({"message": "Expense 1 is deleted."}));
    let list = |session: &mut Session<Splitwise>, deleted: bool| {
        ids(
            &session.ok(
                "show_group_expenses",
                json!({"group_id": 1, "deleted": deleted}),
            ),
            "expense_id",
        )
    };
    assert_eq!(list(&mut session, false), [2]);
    assert_eq!(list(&mut session, true), [5, 1]);
    let bo = session.ok("show_person_balance", json!({"email": BO}));
    assert_eq!(
        (&bo["direction"], &bo["total"]),
        (&json!("you_owe_them"), &json!(30.0))
    );
    session.ok("record_expense", dinner());
    assert_eq!(list(&mut session, false), [8, 2]);
}

#[test]
fn only_what_concerns_oneself_is_deleted() {
    let delete = |id: u32| json!({"expense_id": id});
    for (id, status, message) in [
        (99, 409, "There is no expense 99."),
        (3, 422, "ida@vale.test is no member of group 2."),
        (5, 422, "Expense 5 is deleted."),
        (6, 422, "Group 3 is deleted."),
        (7, 422, "Expense 7 is between others."),
    ] {
        check_refused("delete_expense", delete(id), status, message);
    }
    ida().ok("delete_expense", delete(4));
}

#[test]
fn expenses_are_listed_filtered_and_sorted() {
    let mut session = ida();
    session.ok("record_expense", with(dinner(), "paid_amount", json!(20)));
    let mut check = |arguments: Value, expected: &[u64]| {
        let listed = session.ok(
            "show_group_expenses",
            with(arguments.clone(), "group_id", json!(1)),
        );
        assert_eq!(ids(&listed, "expense_id"), expected, "{arguments}");
    };
    check(json!({}), &[8, 2, 1]);
    check(json!({"query": "rents"}), &[1]);
    check(json!({"query": "zebra"}), &[]);
    check(json!({"participant_email": CY}), &[8, 1]);
    check(json!({"min_amount": 20.01}), &[2, 1]);
    check(json!({"min_amount": 20, "max_amount": 50}), &[8, 2]);
    check(json!({"min_created_at": "2026-01-04"}), &[8, 2]);
    check(json!({"max_created_at": "2026-01-04"}), &[2, 1]);
    check(json!({"deleted": true}), &[5]);
    check(json!({"sort_by": "+amount"}), &[8, 2, 1]);
    check(json!({"sort_by": "+created_at"}), &[1, 2, 8]);
    check(
        json!({"sort_by": "+created_at", "page_index": 1, "page_limit": 2}),
        &[8],
    );
}

#[test]
fn a_list_that_cannot_be_is_refused() {
    let list = |key: &str, value: Value| with(json!({"group_id": 1}), key, value);
    let fields = "sort_by must be + or - and one of created_at, amount, not \"+size\".";
    for (arguments, status, message) in [
        (list("sort_by", json!("+size")), 422, fields),
        (
            list("participant_email", json!("bo")),
            422,
            "\"bo\" is no email address.",
        ),
        (
            list("min_created_at", json!("soon")),
            422,
            "Wrong arguments: \"soon\" is no date (2026-03-02) and no date and time (2026-03-02T09:00:00).",
        ),
    ] {
        check_refused("show_group_expenses", arguments, status, message);
    }
}
