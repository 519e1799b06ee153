use super::*;

#[track_caller]
fn check_seed(list: &str, record: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let fine = seed()["records"][list][0].clone();
    let fine = if list == "contacts" {
        json!({"owner": IDA, "first_name": "Fine"})
    } else {
        fine
    };
    let error = app::add(&mut session.app, &json!({list: [fine, record]}).to_string()).unwrap_err();
    assert_eq!(error, format!("{list}[1]: {expected}"));
    assert_eq!(session.state(), before);
}

#[test]
fn the_state_holds_every_record_and_no_secret() {
    let mut session = ida();
    let state = session.state();
    let lists: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(lists, ["contacts", "text_messages", "alarms"]);
    assert_eq!(ids(&state["contacts"], "id"), [1, 2, 3]);
    assert_eq!(ids(&state["alarms"], "id"), [1, 2]);
    let message = json!({
        "id": 5, "sender": DENTIST, "receiver": IDAS, "message": "Your appointment is on Friday",
        "sent_at": "2026-02-03T09:00:00",
    });
    assert_eq!(state["text_messages"][4], message);
    let text = state.to_string();
    assert!(!text.contains("\"pw\"") && !text.contains(session.token.as_deref().unwrap()));
}

#[test]
fn a_session_adds_its_own_records() {
    let mut session = ida();
    let message = json!({"from": CYS, "to": IDA, "message": "Are you home?"});
    let records = json!({"text_messages": [message]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    let latest = session.ok("search_text_messages", json!({"page_limit": 1}));
    assert_eq!(latest[0]["sent_at"], "2026-03-02T09:00:00");
    let sender = json!({"contact_id": null, "name": "Cy Moor", "phone_number": CYS});
    assert_eq!(latest[0]["sender"], sender);
}

#[test]
fn a_wrong_contact_is_named_and_nothing_is_added() {
    let contact = |key: &str, value: &str| {
        let mut contact = json!({"owner": IDA, "first_name": "A"});
        contact[key] = json!(value);
        contact
    };
    for (key, value, expected) in [
        ("owner", "x@y.test", "owner: x@y.test has no account"),
        (
            "owner",
            "di@fern.test",
            "owner: di@fern.test has no phone number",
        ),
        ("first_name", "", "The first name must not be empty."),
        (
            "phone_number",
            BOS,
            "Contact 1, Bo Lind, has the number 5550140201 already.",
        ),
        (
            "birthday",
            "April",
            "birthday: \"April\" is no date (2026-03-02).",
        ),
    ] {
        check_seed("contacts", contact(key, value), expected);
    }
    let unknown = "unknown field `nickname`, expected one of `owner`, `first_name`, `last_name`, `phone_number`, `email`, \
                   `relationships`, `birthday`, `home_address`, `work_address`, `created_at`";
    check_seed("contacts", contact("nickname", "B"), unknown);
}

#[test]
fn a_wrong_message_or_alarm_is_named() {
    let message = |from: &str, text: &str| json!({"from": from, "to": DENTIST, "message": text});
    for (record, expected) in [
        (message(DENTIST, "Hi"), "neither from nor to has an account"),
        (
            message("di@fern.test", "Hi"),
            "from: di@fern.test has no account with a phone number",
        ),
        (
            message("Bo", "Hi"),
            "from: \"Bo\" is no phone number: it needs 3 to 15 digits.",
        ),
        (message(IDA, " "), "The message must not be empty."),
    ] {
        check_seed("text_messages", record, expected);
    }
    let time = "\"noon\" is no time of the day from 00:00 to 23:59.";
    check_seed("alarms", json!({"owner": IDA, "time": "noon"}), time);
    let owner = json!({"owner": "x@y.test", "time": "12:00"});
    check_seed("alarms", owner, "owner: x@y.test has no account");
}

#[test]
fn wrong_people_and_unknown_lists_are_named() {
    let open = |people: Value, records: Value| {
        let seed = json!({"people": people, "records": records}).to_string();
        app::open::<Phone>(&seed).map(|_| ()).unwrap_err()
    };
    let person = |email: &str, number: &str| json!({"first_name": "A", "last_name": "B", "email": email, "phone_number": number});
    assert_eq!(
        open(
            json!([person("a@b.test", "1-23"), person("c@d.test", "123")]),
            json!({})
        ),
        "people: c@d.test and a@b.test have the same phone number 123"
    );
    assert_eq!(
        open(json!([person("a@b.test", "none")]), json!({})),
        "\"none\" is no phone number: it needs 3 to 15 digits."
    );
    assert_eq!(
        open(json!([]), json!({"calls": []})),
        "unknown key \"calls\", expected one of `contacts`, `text_messages`, `alarms`"
    );
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<Phone>(&[
        ("contacts", "created_at"),
        ("text_messages", "sent_at"),
        ("alarms", "created_at"),
    ]);
}
