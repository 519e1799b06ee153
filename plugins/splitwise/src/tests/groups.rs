use super::*;

#[test]
fn a_group_is_created_with_its_creator_first() {
    let mut session = ida();
    let answer = session.ok(
        "create_group",
        json!({"name": "Ski", "member_emails": ["CY@moor.test", IDA, CY], "description": "Week 8"}),
    );
    assert_eq!(
        answer,
        json!({"message": "Group 4 is created.", "group_id": 4})
    );
    let mut group = session.ok("show_group", json!({"group_id": 4}));
    let code = group["invitation_code"].take();
    assert_eq!(code.as_str().unwrap().len(), 10);
    let expected = json!({
        "group_id": 4, "name": "Ski", "description": "Week 8", "created_at": "2026-03-02T09:00:00", "deleted": false,
        "creator": {"name": "Ida Vale", "email": IDA},
        "members": [{"name": "Ida Vale", "email": IDA}, {"name": "Cy Moor", "email": CY}],
        "invitation_code": null,
    });
    assert_eq!(group, expected);
    session.ok(
        "create_group",
        json!({"name": "Alone", "member_emails": []}),
    );
    let alone = session.ok("show_group", json!({"group_id": 5}));
    assert_eq!(alone["members"].as_array().unwrap().len(), 1);
    assert_ne!(alone["invitation_code"], code);
}

#[test]
fn a_group_that_breaks_a_rule_is_not_created() {
    let group = json!({"name": "Ski", "member_emails": [BO]});
    for (key, value, status, message) in [
        ("name", json!("  "), 422, "The name must not be empty."),
        (
            "name",
            json!("n".repeat(101)),
            422,
            "The name has 101 characters; at most 100 fit.",
        ),
        (
            "description",
            json!("ü".repeat(2001)),
            422,
            "The description has 2001 characters; at most 2000 fit.",
        ),
        (
            "member_emails",
            json!(["bo"]),
            422,
            "\"bo\" is no email address.",
        ),
        (
            "member_emails",
            json!([BO, "x@y.test"]),
            409,
            "There is no account x@y.test.",
        ),
    ] {
        check_refused(
            "create_group",
            with(group.clone(), key, value),
            status,
            message,
        );
    }
}

#[test]
fn a_group_has_at_most_fifty_members() {
    let people: Vec<String> = (0..51).map(|number| format!("p{number}@x.test")).collect();
    let person = |email: &String| json!({"first_name": "P", "last_name": "X", "email": email, "password": "pw"});
    let seed = json!({"people": people.iter().map(person).collect::<Vec<_>>()});
    let mut session = Session::<Splitwise>::open(&seed);
    session.log_in(&people[0], "pw");
    let full = "A group has at most 50 members.";
    let all = json!({"name": "All", "member_emails": people});
    assert_eq!(session.refused("create_group", all).message, full);
    session.ok(
        "create_group",
        json!({"name": "Most", "member_emails": people[..50]}),
    );
    let one_more = json!({"group_id": 1, "user_email": people[50]});
    assert_eq!(
        session.refused("add_member_to_group", one_more).message,
        full
    );
    let again = json!({"name": "Most", "member_emails": []});
    let error = session.refused("create_group", again);
    let message = "You have a group of the name \"Most\" already.";
    assert_eq!((error.status, error.message.as_str()), (409, message));
    let expense = json!({"group_id": 1, "description": "All", "paid_amount": 1, "payer_email": people[0],
        "debtor_emails": people[..50]});
    session.ok("record_expense", expense.clone());
    let balance = session.ok("show_group_balance", json!({"group_id": 1}));
    assert_eq!(balance.as_array().unwrap().len(), 50);
    let error = session.refused(
        "record_expense",
        with(expense, "debtor_emails", json!(people)),
    );
    assert_eq!(
        error.message,
        "An expense has from 1 to 50 debtors, not 51."
    );
}

#[test]
fn a_member_joins_and_sees_the_group() {
    let mut session = ida();
    let answer = session.ok(
        "add_member_to_group",
        json!({"group_id": 1, "user_email": "Di@fern.test"}),
    );
    assert_eq!(
        answer,
        json!({"message": "di@fern.test is a member of group 1 now."})
    );
    session.log_in(DI, "pw");
    let group = session.ok("show_group", json!({"group_id": 1}));
    assert_eq!(group["members"][3], json!({"name": "Di Fern", "email": DI}));
}

#[test]
fn a_member_who_cannot_join_is_refused() {
    let add = |group: u32, email: &str| json!({"group_id": group, "user_email": email});
    for (arguments, status, message) in [
        (add(9, DI), 409, "There is no group 9."),
        (add(2, CY), 422, "ida@vale.test is no member of group 2."),
        (add(3, CY), 422, "Group 3 is deleted."),
        (add(1, "x@y.test"), 409, "There is no account x@y.test."),
        (add(1, "di"), 422, "\"di\" is no email address."),
        (
            add(1, BO),
            409,
            "bo@lind.test is a member of group 1 already.",
        ),
    ] {
        check_refused("add_member_to_group", arguments, status, message);
    }
}

#[test]
fn a_group_is_shown_to_its_members_only() {
    check_refused(
        "show_group",
        json!({"group_id": 9}),
        409,
        "There is no group 9.",
    );
    check_refused(
        "show_group",
        json!({"group_id": 2}),
        422,
        "ida@vale.test is no member of group 2.",
    );
    let old = ida().ok("show_group", json!({"group_id": 3}));
    assert_eq!(old["deleted"], true);
}

#[test]
fn groups_are_listed_with_the_newest_first() {
    let mut session = open(BO);
    assert_eq!(
        ids(&session.ok("show_groups", json!({})), "group_id"),
        [2, 1]
    );
    let second = json!({"page_index": 1, "page_limit": 1});
    assert_eq!(ids(&session.ok("show_groups", second), "group_id"), [1]);
    assert_eq!(
        ids(
            &session.ok("show_groups", json!({"delete": true})),
            "group_id"
        ),
        [3]
    );
    assert_eq!(
        open(CY).ok("show_groups", json!({"delete": true})),
        json!([])
    );
    assert_eq!(
        session
            .refused("show_groups", json!({"page_limit": 0}))
            .status,
        422
    );
}

#[test]
fn people_are_found_with_their_balance() {
    let mut session = ida();
    let found = session.ok("search_users", json!({"query": "lind"}));
    let bo = json!({"name": "Bo Lind", "email": BO, "direction": "they_owe_you", "amount": 3.33});
    assert_eq!(found, json!([bo]));
    let all = session.ok("search_users", json!({}));
    let balances: Vec<(&str, f64)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|user| {
            (
                user["direction"].as_str().unwrap(),
                user["amount"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        balances,
        [
            ("they_owe_you", 3.33),
            ("they_owe_you", 33.33),
            ("you_owe_them", 6.2)
        ]
    );
    let me = session.ok(
        "search_users",
        json!({"query": "vale", "include_self": true}),
    );
    assert_eq!(
        me,
        json!([{"name": "Ida Vale", "email": IDA, "direction": "no_balance", "amount": 0.0}])
    );
    assert_eq!(
        session.ok("search_users", json!({"query": "vale"})),
        json!([])
    );
    let third = json!({"page_index": 2, "page_limit": 1});
    assert_eq!(session.ok("search_users", third)[0]["email"], DI);
}
