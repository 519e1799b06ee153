use super::*;

#[track_caller]
fn check_search(arguments: Value, expected: &[u64]) {
    assert_eq!(
        ids(&ida().ok("search_contacts", arguments), "contact_id"),
        expected
    );
}

#[test]
fn contacts_are_listed_by_name_and_only_ones_own() {
    check_search(json!({}), &[1, 2]);
    check_search(json!({"page_index": 1, "page_limit": 1}), &[2]);
    assert_eq!(
        ids(&as_bo(ida()).ok("search_contacts", json!({})), "contact_id"),
        [3]
    );
}

#[test]
fn contacts_are_found_by_words_numbers_and_relationships() {
    check_search(json!({"query": "lind"}), &[1]);
    check_search(json!({"query": "mill lane"}), &[2]);
    check_search(json!({"query": "dentists friends"}), &[2, 1]);
    check_search(json!({"query": "555-014-9999"}), &[2]);
    check_search(json!({"query": "zebra"}), &[]);
    check_search(json!({"relationship": " Moot Partner"}), &[1]);
    check_search(json!({"relationship": "moot"}), &[]);
    check_search(json!({"relationship": "dentist", "query": "bo"}), &[]);
    assert_eq!(
        ida()
            .refused("search_contacts", json!({"page_limit": 21}))
            .status,
        422
    );
}

#[test]
fn a_contact_is_added_as_told() {
    let mut session = ida();
    let contact = json!({
        "first_name": " Cy ", "last_name": "Moor", "phone_number": "+49 (30) 555-0142", "email": "Cy@Moor.test",
        "relationships": ["landlord", " landlord"], "birthday": "1970-12-31", "home_address": "1 Hill", "work_address": "",
    });
    let answer = session.ok("add_contact", contact);
    assert_eq!(
        answer,
        json!({"message": "Contact 4 is added.", "contact_id": 4})
    );
    let expected = json!([{
        "contact_id": 4, "first_name": "Cy", "last_name": "Moor", "phone_number": "+49305550142", "email": CY,
        "relationships": ["landlord"], "birthday": "1970-12-31", "home_address": "1 Hill", "work_address": null,
        "created_at": "2026-03-02T09:00:00",
    }]);
    assert_eq!(
        session.ok("search_contacts", json!({"query": "landlord"})),
        expected
    );
}

#[test]
fn a_contact_is_changed_where_told_and_an_empty_text_takes_away() {
    let mut session = ida();
    let change = json!({
        "contact_id": 1, "last_name": "Lind-Moor", "phone_number": "", "birthday": " ", "relationships": [],
        "work_address": "7 Dock Road",
    });
    let answer = session.ok("update_contact", change);
    assert_eq!(answer, json!({"message": "Contact 1 is updated."}));
    let expected = json!({
        "id": 1, "owner": IDA, "first_name": "Bo", "last_name": "Lind-Moor", "phone_number": null, "email": BO,
        "relationships": [], "birthday": null, "home_address": "4 Quay Street", "work_address": "7 Dock Road",
        "created_at": "2026-01-01T10:00:00",
    });
    assert_eq!(session.state()["contacts"][0], expected);
    session.ok(
        "update_contact",
        json!({"contact_id": 2, "phone_number": BOS}),
    );
}

#[test]
fn a_contact_that_breaks_a_rule_is_refused() {
    let long = "x".repeat(501);
    for (key, value, message) in [
        (
            "first_name",
            json!(" "),
            "The first name must not be empty.",
        ),
        (
            "phone_number",
            json!("12"),
            "\"12\" is no phone number: it needs 3 to 15 digits.",
        ),
        (
            "phone_number",
            json!("5550149999"),
            "Contact 2, Dr. Sable, has the number 5550149999 already.",
        ),
        ("email", json!("bo"), "\"bo\" is no email address."),
        (
            "birthday",
            json!("30.4.1998"),
            "birthday: \"30.4.1998\" is no date (2026-03-02).",
        ),
        (
            "home_address",
            json!(long),
            "The address has 501 bytes; at most 500 fit.",
        ),
        (
            "relationships",
            json!([""]),
            "The relationship must not be empty.",
        ),
        (
            "relationships",
            (0..21).map(|n| json!(n.to_string())).collect(),
            "A contact has at most 20 relationships.",
        ),
    ] {
        let mut contact = json!({"first_name": "A", "last_name": "B"});
        contact[key] = value.clone();
        let status = if message.ends_with("already.") {
            409
        } else {
            422
        };
        check_refused("add_contact", contact, status, message);
        check_refused(
            "update_contact",
            json!({"contact_id": 1, key: value}),
            status,
            message,
        );
    }
}

#[test]
fn a_number_may_stay_and_two_people_may_have_the_same_contact() {
    let mut session = ida();
    session.ok(
        "update_contact",
        json!({"contact_id": 1, "phone_number": "555 014 0201"}),
    );
    as_bo(session).ok(
        "add_contact",
        json!({"first_name": "Dentist", "last_name": "", "phone_number": DENTIST}),
    );
}

#[test]
fn a_contact_must_exist_and_be_ones_own() {
    let change = |id: u32| json!({"contact_id": id, "last_name": "X"});
    check_refused("update_contact", change(9), 409, "There is no contact 9.");
    let foreign = "Contact 3 belongs to another account.";
    check_refused("update_contact", change(3), 422, foreign);
}
