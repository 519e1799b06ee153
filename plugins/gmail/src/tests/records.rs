use super::*;

#[track_caller]
fn check_seed(list: &str, records: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let error = app::add(&mut session.app, &json!({list: records}).to_string()).unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(session.state(), before);
}

fn email(key: &str, value: Value) -> Value {
    let mut email = json!({"from": BO, "to": [IDA], "subject": "S", "body": "B"});
    email[key] = value;
    email
}

#[test]
fn the_state_holds_every_mailbox_and_no_secret() {
    let mut session = ida();
    let state = session.state();
    let lists: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(lists, ["users", "threads", "emails", "drafts"]);
    assert_eq!(ids(&state["threads"], "id"), [1, 2, 3, 4]);
    assert_eq!(ids(&state["emails"], "id"), [1, 2, 3, 4, 5, 6]);
    let user = json!({"id": BO, "first_name": "Bo", "last_name": "Lind", "registered_at": "2020-01-01T00:00:00"});
    assert_eq!(state["users"][0], user);
    let thread = json!({
        "id": 3, "owner": IDA, "subject": "Your lease", "read": true, "label": "Home", "snoozed_until": null,
        "starred": true, "archived": false, "spam": false, "email_ids": [5], "draft_ids": [],
        "created_at": "2026-02-02T10:00:00", "updated_at": "2026-02-02T10:00:00",
    });
    assert_eq!(state["threads"][2], thread);
    let email = json!({
        "id": 5, "thread_id": 3, "owner": IDA, "sender": OUTSIDE, "recipients": [IDA], "subject": "Your lease",
        "body": "Please sign it.", "attachments": ["lease.pdf"], "response_to_email_id": null,
        "created_at": "2026-02-02T10:00:00",
    });
    assert_eq!(state["emails"][4], email);
    let draft = json!({
        "id": 1, "owner": IDA, "recipients": [BO], "subject": "Re: Lunch", "body": "At noon.", "attachments": [],
        "belongs_to_email_thread_id": 1, "response_to_email_id": 4, "scheduled_send_at": null,
        "created_at": "2026-02-01T12:00:00", "updated_at": "2026-02-01T12:00:00",
    });
    assert_eq!(state["drafts"], json!([draft]));
    let text = state.to_string();
    assert!(!text.contains("\"pw\"") && !text.contains(session.token.as_deref().unwrap()));
}

#[test]
fn a_session_continues_the_threads_of_the_persona() {
    let mut session = ida();
    let records = json!({"emails": [
        {"reply_to": "yes", "from": BO, "to": [IDA], "subject": "Re: Lunch", "body": "Still on?"},
        {"thread": "lease", "from": OUTSIDE, "to": [IDA], "subject": "Reminder", "body": "Please."},
    ]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    let thread = session.ok("show_thread", json!({"email_thread_id": 1}));
    assert_eq!(thread["emails"][2]["created_at"], "2026-03-02T09:00:00");
    let lease = session.ok("show_thread", json!({"email_thread_id": 3}));
    assert_eq!(
        (lease["emails"].as_array().unwrap().len(), &lease["read"]),
        (2, &json!(false))
    );
}

#[test]
fn a_wrong_email_is_named_and_nothing_is_added() {
    let fine = email("subject", json!("Fine"));
    for (record, expected) in [
        (
            email("to", json!([])),
            "emails[1]: to: at least one address is needed",
        ),
        (
            email("to", json!(["ida"])),
            "emails[1]: \"ida\" is no email address.",
        ),
        (
            email("id", json!("ask")),
            "emails[1]: id: \"ask\" is in use already",
        ),
        (
            email("reply_to", json!("no")),
            "emails[1]: reply_to: no email before this has the key \"no\"",
        ),
        (
            email("sent_on", json!("x")),
            "emails[1]: unknown field `sent_on`, expected one of `from`, `to`, `subject`, \
            `body`, `sent_at`, `id`, `thread`, `reply_to`, `attachments`",
        ),
        (
            json!({"from": OUTSIDE, "to": ["a@b.test"], "subject": "S", "body": "B"}),
            "emails[1]: nobody in from and to has an account",
        ),
        (
            json!({"from": BO, "to": [IDA], "subject": "S", "body": "B", "thread": "lease", "reply_to": "ask"}),
            "emails[1]: reply_to and thread are different conversations",
        ),
    ] {
        check_seed("emails", json!([fine, record]), expected);
    }
}

#[test]
fn a_wrong_thread_or_draft_is_named() {
    let thread = |owner: &str, key: &str| json!([{"owner": owner, "thread": key}]);
    check_seed(
        "threads",
        thread(BO, "lease"),
        "threads[0]: thread: bo@lind.test has no email in \"lease\"",
    );
    check_seed(
        "threads",
        thread(IDA, "no"),
        "threads[0]: thread: no email before this has the key \"no\"",
    );
    let label = json!([{"owner": IDA, "thread": "lease", "label": ""}]);
    check_seed(
        "threads",
        label,
        "threads[0]: A label must have 1 to 100 bytes.",
    );
    let draft = |key: &str, value: Value| {
        let mut draft = json!({"owner": IDA, "subject": "S", "body": "B", "thread": "lunch"});
        draft[key] = value;
        json!([draft])
    };
    check_seed(
        "drafts",
        draft("owner", json!(OUTSIDE)),
        "drafts[0]: owner: office@rent.test has no account",
    );
    let unsendable = "drafts[0]: scheduled_send_at: a draft without recipients cannot be sent";
    check_seed(
        "drafts",
        draft("scheduled_send_at", json!("2026-03-09")),
        unsendable,
    );
    check_seed(
        "drafts",
        draft("thread", json!("no")),
        "drafts[0]: thread: no email before this has the key \"no\"",
    );
    let unknown = "unknown key \"labels\", expected one of `emails`, `threads`, `drafts`";
    check_seed("labels", json!([]), unknown);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<Gmail>(&[
        ("emails", "sent_at"),
        ("threads", "snoozed_until"),
        ("drafts", "scheduled_send_at"),
        ("drafts", "created_at"),
        ("drafts", "updated_at"),
    ]);
}
