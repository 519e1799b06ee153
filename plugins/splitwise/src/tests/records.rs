use super::*;

#[track_caller]
fn check_seed(list: &str, records: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let error = app::add(&mut session.app, &json!({list: records}).to_string()).unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(session.state(), before);
}

#[test]
fn the_state_holds_groups_and_expenses_and_no_secret() {
    let mut session = ida();
    let state = session.state();
    let lists: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(lists, ["groups", "expenses"]);
    assert_eq!(ids(&state["groups"], "id"), [1, 2, 3]);
    assert_eq!(ids(&state["expenses"], "id"), [1, 2, 3, 4, 5, 6, 7]);
    let group = json!({
        "id": 1, "name": "Flat 12", "description": "Rent and bills", "creator": IDA, "members": [IDA, BO, CY],
        "created_at": "2026-01-01T10:00:00", "deleted": false,
    });
    assert_eq!(state["groups"][0], group);
    let expense = json!({
        "id": 2, "group_id": 1, "description": "Electricity", "paid_amount": 50.0, "payer": BO,
        "shares": [{"debtor": IDA, "debt_amount": 30.0}, {"debtor": BO, "debt_amount": 20.0}], "creator": CY,
        "created_at": "2026-01-04T10:00:00", "receipt": "power.pdf", "deleted": false,
    });
    assert_eq!(state["expenses"][1], expense);
    let code = session.ok("show_group", json!({"group_id": 1}))["invitation_code"].clone();
    for secret in [
        "\"pw\"",
        session.token.as_deref().unwrap(),
        code.as_str().unwrap(),
    ] {
        assert!(!state.to_string().contains(secret), "{secret}");
    }
}

#[test]
fn a_session_continues_the_groups_of_the_persona() {
    let mut session = ida();
    let records = json!({
        "groups": [{"id": "band", "name": "Band", "creator": CY}],
        "expenses": [{"group": "flat", "description": "Soap", "paid_amount": 3, "payer": CY, "debtors": [IDA]}],
    });
    app::add(&mut session.app, &records.to_string()).unwrap();
    let state = session.state();
    assert_eq!(state["groups"][3]["members"], json!([CY]));
    assert_eq!(state["expenses"][7]["group_id"], 1);
    assert_eq!(state["expenses"][7]["created_at"], "2026-03-02T09:00:00");
}

#[test]
fn a_wrong_group_is_named_and_nothing_is_added() {
    let fine = json!({"name": "Fine", "creator": IDA});
    for (key, value, expected) in [
        ("name", json!(""), "groups[1]: The name must not be empty."),
        (
            "creator",
            json!("x@y.test"),
            "groups[1]: There is no account x@y.test.",
        ),
        (
            "members",
            json!(["x@y.test"]),
            "groups[1]: There is no account x@y.test.",
        ),
        (
            "id",
            json!("flat"),
            "groups[1]: id: \"flat\" is in use already",
        ),
        (
            "colour",
            json!("red"),
            "groups[1]: unknown field `colour`, expected one of `id`, `name`, `description`, `creator`, `members`, \
             `created_at`, `deleted`",
        ),
    ] {
        check_seed(
            "groups",
            json!([fine, with(fine.clone(), key, value)]),
            expected,
        );
    }
    let unknown = "unknown key \"members\", expected one of `groups`, `expenses`";
    check_seed("members", json!([]), unknown);
}

#[test]
fn a_wrong_expense_is_named_and_nothing_is_added() {
    let fine = json!({"group": "flat", "description": "Soap", "paid_amount": 3, "payer": CY, "debtors": [IDA]});
    for (key, value, expected) in [
        (
            "group",
            json!("no"),
            "expenses[1]: group: no group has the key \"no\"",
        ),
        (
            "group",
            json!("trip"),
            "expenses[1]: cy@moor.test is no member of group 2.",
        ),
        (
            "debtors",
            json!([DI]),
            "expenses[1]: di@fern.test is no member of group 1.",
        ),
        (
            "debtors",
            json!(["x@y.test"]),
            "expenses[1]: There is no account x@y.test.",
        ),
        (
            "debt_amounts",
            json!([2]),
            "expenses[1]: The debt amounts are 2.00 together, but 3.00 was paid. If part of it is the payer's own, \
             name the payer among the debtors with that part.",
        ),
        (
            "creator",
            json!(DI),
            "expenses[1]: di@fern.test is no member of group 1.",
        ),
    ] {
        check_seed(
            "expenses",
            json!([fine, with(fine.clone(), key, value)]),
            expected,
        );
    }
    let outside = json!([{"description": "Soap", "paid_amount": 3, "payer": CY, "debtors": [IDA], "creator": DI}]);
    let message = "expenses[0]: di@fern.test takes no part in the expense, and it belongs to no group: name \
                   di@fern.test as the payer or a debtor, or give a group_id.";
    check_seed("expenses", outside, message);
}

/// Three shares of 33.34 for 100.00: what a service made that rounds each share up.
#[test]
fn shares_that_were_rounded_one_by_one_stay_as_they_are() {
    let expense = |debts: [f64; 3]| {
        json!({"group": "flat", "description": "Sofa", "paid_amount": 100, "payer": IDA, "debtors": [IDA, BO, CY],
               "debt_amounts": debts})
    };
    check_seed(
        "expenses",
        json!([expense([33.40, 33.40, 33.31])]),
        "expenses[0]: The debt amounts are 100.11 together, but 100.00 was paid. If part of it is the payer's own, name \
         the payer among the debtors with that part.",
    );
    let mut session = ida();
    let records = json!({"expenses": [expense([33.34; 3]), expense([33.33; 3])]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    let state = session.state();
    let shares =
        |state: &Value, place: usize| state["expenses"][place]["shares"][1]["debt_amount"].clone();
    assert_eq!(
        (shares(&state, 7), shares(&state, 8)),
        (json!(33.34), json!(33.33))
    );
    // Other words change no share; another amount makes new ones.
    let change = |key: &str, value: Value| with(json!({"expense_id": 8}), key, value);
    session.ok("update_expense", change("description", json!("Couch")));
    assert_eq!(shares(&session.state(), 7), 33.34);
    session.ok("update_expense", change("paid_amount", json!(90)));
    assert_eq!(shares(&session.state(), 7), 30.0);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<Splitwise>(&[("groups", "created_at"), ("expenses", "created_at")]);
}
