use super::*;

#[track_caller]
fn check_search(arguments: Value, expected: &[u64]) {
    let answer = ida().ok("search_text_messages", arguments);
    assert_eq!(ids(&answer, "text_message_id"), expected);
}

#[track_caller]
fn check_window(arguments: Value, expected: &[u64]) {
    let answer = ida().ok("show_text_message_window", arguments);
    assert_eq!(ids(&answer, "text_message_id"), expected);
}

#[test]
fn a_message_is_delivered_to_the_account_with_the_number() {
    let mut session = ida();
    let text = json!({"phone_number": "555-014-0201", "message": "Noon it is\n"});
    let answer = session.ok("send_text_message", text);
    assert_eq!(
        answer,
        json!({"message": "Text message 7 is sent.", "text_message_id": 7})
    );
    let seen_by = |session: &mut Session<Phone>| {
        session.ok("show_text_message", json!({"text_message_id": 7}))
    };
    let mut expected = json!({
        "text_message_id": 7,
        "sender": {"contact_id": null, "name": "Ida Vale", "phone_number": IDAS},
        "receiver": {"contact_id": 1, "name": "Bo Lind", "phone_number": BOS},
        "message": "Noon it is\n",
        "sent_at": "2026-03-02T09:00:00",
    });
    assert_eq!(seen_by(&mut session), expected);
    expected["sender"] = json!({"contact_id": 3, "name": "Ida", "phone_number": IDAS});
    expected["receiver"]["contact_id"] = json!(null);
    assert_eq!(seen_by(&mut as_bo(session)), expected);
}

#[test]
fn an_account_that_is_no_contact_gets_messages_too() {
    ida().ok(
        "send_text_message",
        json!({"phone_number": CYS, "message": "Hello"}),
    );
    ida().ok(
        "send_text_message",
        json!({"phone_number": IDAS, "message": "Note to self"}),
    );
}

#[test]
fn a_number_without_account_is_known_from_contacts_or_messages() {
    let mut session = ida();
    session.ok(
        "send_text_message",
        json!({"phone_number": DENTIST, "message": "Thank you"}),
    );
    session.ok(
        "update_contact",
        json!({"contact_id": 2, "phone_number": ""}),
    );
    session.ok(
        "send_text_message",
        json!({"phone_number": DENTIST, "message": "Still there?"}),
    );
    let shown = session.ok("show_text_message", json!({"text_message_id": 8}));
    let nameless = json!({"contact_id": null, "name": null, "phone_number": DENTIST});
    assert_eq!(shown["receiver"], nameless);
    let unknown = as_bo(session).refused(
        "send_text_message",
        json!({"phone_number": DENTIST, "message": "Hi"}),
    );
    assert_eq!(unknown, ToolError::conflict("phone number", DENTIST));
}

#[test]
fn a_message_that_breaks_a_rule_is_not_sent() {
    let text = |number: &str, message: &str| json!({"phone_number": number, "message": message});
    let send = "send_text_message";
    check_refused(
        send,
        text("5550140000", "Hi"),
        409,
        "There is no phone number 5550140000.",
    );
    check_refused(
        send,
        text("Bo", "Hi"),
        422,
        "\"Bo\" is no phone number: it needs 3 to 15 digits.",
    );
    check_refused(
        send,
        text(BOS, " \n"),
        422,
        "The message must not be empty.",
    );
    let long = "The message has 4097 bytes; at most 4096 fit.";
    check_refused(send, text(BOS, &"x".repeat(4097)), 422, long);
}

#[test]
fn a_message_must_exist_and_be_between_oneself_and_another() {
    let show = "show_text_message";
    check_refused(
        show,
        json!({"text_message_id": 99}),
        409,
        "There is no text message 99.",
    );
    let foreign = "Text message 6 belongs to other accounts.";
    check_refused(show, json!({"text_message_id": 6}), 422, foreign);
}

#[test]
fn messages_are_listed_latest_first() {
    check_search(json!({}), &[5, 4, 3, 2, 1]);
    check_search(json!({"page_limit": 2, "page_index": 1}), &[3, 2]);
    check_search(json!({"sort_by": "+created_at"}), &[1, 2, 3, 4, 5]);
}

#[test]
fn messages_are_found_by_words_names_and_numbers() {
    check_search(json!({"query": "lunches"}), &[1, 4]);
    check_search(json!({"query": "sable"}), &[5]);
    check_search(json!({"query": "see"}), &[]);
    check_search(json!({"phone_number": "555-014-0201"}), &[4, 3, 2, 1]);
    check_search(json!({"phone_number": CYS}), &[]);
}

#[test]
fn only_the_latest_message_of_each_conversation_remains_if_asked_for() {
    check_search(json!({"only_latest_per_contact": true}), &[5, 4]);
    check_search(
        json!({"only_latest_per_contact": true, "query": "noon"}),
        &[2],
    );
    check_search(
        json!({"only_latest_per_contact": true, "sort_by": "+created_at"}),
        &[4, 5],
    );
}

#[test]
fn a_search_that_cannot_be_is_refused() {
    let fields = "sort_by must be + or - and one of created_at, not \"+size\".";
    check_refused(
        "search_text_messages",
        json!({"sort_by": "+size"}),
        422,
        fields,
    );
    let number = "\"Bo\" is no phone number: it needs 3 to 15 digits.";
    check_refused(
        "search_text_messages",
        json!({"phone_number": "Bo"}),
        422,
        number,
    );
}

#[test]
fn a_window_is_a_conversation_within_a_period() {
    check_window(json!({"phone_number": BOS}), &[1, 2, 3, 4]);
    check_window(json!({"phone_number": BOS, "page_limit": 3}), &[2, 3, 4]);
    check_window(
        json!({"phone_number": BOS, "page_limit": 3, "page_index": 1}),
        &[1],
    );
    check_window(
        json!({"phone_number": BOS, "pagination_order": "ascending", "page_limit": 3}),
        &[1, 2, 3],
    );
    check_window(
        json!({"phone_number": BOS, "min_datetime": "2026-02-02"}),
        &[3, 4],
    );
    check_window(
        json!({"phone_number": BOS, "max_datetime": "2026-02-01"}),
        &[1, 2],
    );
    let period = json!({
        "phone_number": "(555) 0140201", "min_datetime": "2026-02-01|10:05:00", "max_datetime": "2026-02-02T11:55:00",
    });
    check_window(period, &[2, 3]);
}

#[test]
fn a_window_that_cannot_be_is_refused() {
    let show = "show_text_message_window";
    let number = "\"Bo\" is no phone number: it needs 3 to 15 digits.";
    check_refused(show, json!({"phone_number": "Bo"}), 422, number);
    let period =
        json!({"phone_number": BOS, "min_datetime": "2026-02-02", "max_datetime": "2026-02-01"});
    check_refused(show, period, 422, "min_datetime is after max_datetime.");
    let sideways = json!({"phone_number": BOS, "pagination_order": "sideways"});
    assert_eq!(ida().refused(show, sideways).status, 422);
    let nobody = json!({"phone_number": "5550140000"});
    for tool in [show, "search_text_messages"] {
        check_refused(
            tool,
            nobody.clone(),
            409,
            "There is no phone number 5550140000.",
        );
    }
    let date = json!({"phone_number": BOS, "min_datetime": "yesterday"});
    assert_eq!(ida().refused(show, date).status, 422);
}
