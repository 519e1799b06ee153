use super::*;

#[track_caller]
fn check_list(tool: &str, arguments: Value, expected: &[u64]) {
    assert_eq!(ids(&ida().ok(tool, arguments), "email_thread_id"), expected);
}

#[test]
fn the_inbox_holds_what_came_in_latest_first() {
    check_list("show_inbox_threads", json!({}), &[3, 1]);
    check_list(
        "show_inbox_threads",
        json!({"sort_by": "+updated_at"}),
        &[1, 3],
    );
    check_list(
        "show_inbox_threads",
        json!({"sort_by": "-created_at", "page_limit": 1, "page_index": 1}),
        &[1],
    );
    assert_eq!(
        ids(
            &open(BO, "pb").ok("show_inbox_threads", json!({})),
            "email_thread_id"
        ),
        [4, 2]
    );
}

#[test]
fn the_outbox_holds_what_went_out() {
    check_list("show_outbox_threads", json!({}), &[1]);
    assert_eq!(
        ids(
            &open(BO, "pb").ok("show_outbox_threads", json!({})),
            "email_thread_id"
        ),
        [4, 2]
    );
}

#[test]
fn a_row_tells_what_the_thread_is() {
    let expected = json!({
        "email_thread_id": 1, "incoming": true, "outgoing": true, "read": false, "label": null,
        "snoozed_until": null, "starred": false, "archived": false, "spam": false,
        "created_at": "2026-02-01T10:00:00", "updated_at": "2026-02-01T11:00:00",
        "email_ids": [1, 4], "draft_ids": [1], "subject": "Lunch",
        "participants": [{"name": "Ida Vale", "email": IDA}, {"name": "Bo Lind", "email": BO}],
        "preview": "Gladly.", "has_attachments": false,
    });
    assert_eq!(ida().ok("show_inbox_threads", json!({}))[1], expected);
}

#[test]
fn threads_are_found_by_words_of_any_email_and_by_people() {
    check_list(
        "show_inbox_threads",
        json!({"query": "signing leases"}),
        &[3],
    );
    check_list("show_inbox_threads", json!({"query": "glad"}), &[1]);
    check_list("show_inbox_threads", json!({"query": "tomorrow"}), &[1]);
    check_list("show_inbox_threads", json!({"query": "lind"}), &[1]);
}

#[test]
fn what_is_found_once_is_found_as_it_is_after_every_change() {
    let mut session = ida();
    let check = |session: &mut Session<Gmail>, query: &str, expected: &[u64]| {
        let found = session.ok("show_inbox_threads", json!({"query": query}));
        assert_eq!(ids(&found, "email_thread_id"), expected, "{query}");
    };
    check(&mut session, "tiger", &[]);
    check(&mut session, "rent", &[3]);
    // A reply, a record of a later session, and a name for an address that had none.
    let reply = json!({"email_thread_id": 1, "email_id": 4, "body": "With a tiger."});
    session.ok("reply_to_email", reply);
    check(&mut session, "tiger", &[1]);
    let record = json!({"emails": [{"thread": "lease", "from": OUTSIDE, "to": [IDA], "subject": "Zebras", "body": "No."}]});
    app::add(&mut session.app, &record.to_string()).unwrap();
    check(&mut session, "zebra", &[3]);
    check(&mut session, "quill", &[]);
    session.ok(
        "signup",
        json!({"first_name": "Una", "last_name": "Quill", "email": OUTSIDE, "password": "po"}),
    );
    check(&mut session, "quill", &[3]);
    // Who takes up a snapshot finds the same.
    let mut again = session.clone();
    again.app = Gmail::restore(&session.app.snapshot()).unwrap();
    for query in ["tiger", "zebra", "quill", "lind"] {
        let found = session.ok("show_inbox_threads", json!({"query": query}));
        assert_eq!(
            again.ok("show_inbox_threads", json!({"query": query})),
            found,
            "{query}"
        );
    }
}

#[test]
fn every_filter_filters() {
    for (filter, expected) in [
        (json!({"label": "home"}), &[3][..]),
        (json!({"label": "work"}), &[]),
        (json!({"starred": true}), &[3]),
        (json!({"starred": false}), &[1]),
        (json!({"read": false}), &[1]),
        (json!({"attachment": true}), &[3]),
        (json!({"from_email": OUTSIDE}), &[3]),
        (json!({"to_email": "BO@lind.test"}), &[1]),
        (json!({"min_created_at": "2026-02-02"}), &[3]),
        (json!({"max_created_at": "2026-02-01"}), &[1]),
        (json!({"max_created_at": "2026-02-01T09:59:59"}), &[]),
        (json!({"archived": true}), &[]),
        (json!({"spam": true}), &[]),
        (json!({"snoozed": true}), &[]),
    ] {
        check_list("show_inbox_threads", filter, expected);
    }
}

#[test]
fn what_is_put_away_is_shown_when_asked_for() {
    for (flag, field) in [
        (json!({"archived": true}), "archived"),
        (json!({"spam": true}), "spam"),
        (json!({"snoozed_until": "2026-03-05T08:00:00"}), "snoozed"),
    ] {
        let mut session = ida();
        let mut record = json!({"owner": IDA, "thread": "lunch"});
        record
            .as_object_mut()
            .unwrap()
            .extend(flag.as_object().unwrap().clone());
        app::add(&mut session.app, &json!({"threads": [record]}).to_string()).unwrap();
        let mut list = |arguments| {
            ids(
                &session.ok("show_inbox_threads", arguments),
                "email_thread_id",
            )
        };
        assert_eq!(list(json!({})), [3], "{field}");
        assert_eq!(list(json!({field: true})), [1], "{field}");
        assert_eq!(list(json!({field: null})), [3, 1], "{field}");
    }
}

#[test]
fn a_snoozed_thread_comes_back_when_its_time_has_come() {
    let mut session = ida();
    let record = json!({"threads": [{"owner": IDA, "thread": "lunch", "snoozed_until": "2026-03-05T08:00:00"}]});
    app::add(&mut session.app, &record.to_string()).unwrap();
    assert_eq!(session.ok("show_category_sizes", json!({}))["snoozed"], 1);
    testkit::set_clock(jiff::civil::date(2026, 3, 5).at(8, 0, 0, 0));
    assert_eq!(session.ok("show_category_sizes", json!({}))["snoozed"], 0);
    assert_eq!(
        ids(
            &session.ok("show_inbox_threads", json!({})),
            "email_thread_id"
        ),
        [3, 1]
    );
}

#[test]
fn starred_threads_are_listed_wherever_they_are() {
    let mut session = ida();
    session.ok("mark_thread_archived", json!({"email_thread_id": 3}));
    assert_eq!(
        ids(
            &session.ok("show_starred_threads", json!({})),
            "email_thread_id"
        ),
        [3]
    );
    assert_eq!(
        session.ok("show_starred_threads", json!({"archived": false})),
        json!([])
    );
    assert_eq!(
        session
            .refused("show_starred_threads", json!({"starred": true}))
            .status,
        422
    );
}

#[test]
fn a_list_that_cannot_be_is_refused() {
    let fields = "sort_by must be + or - and one of created_at, updated_at, not \"-size\".";
    for tool in [
        "show_inbox_threads",
        "show_outbox_threads",
        "show_starred_threads",
    ] {
        check_refused(tool, json!({"sort_by": "-size"}), 422, fields);
        assert_eq!(
            ida()
                .refused(tool, json!({"min_created_at": "soon"}))
                .status,
            422
        );
        assert_eq!(ida().refused(tool, json!({"page_limit": 21})).status, 422);
    }
}

#[test]
fn a_thread_shows_its_emails_and_drafts() {
    let (me, bo) = (
        json!({"name": "Ida Vale", "email": IDA}),
        json!({"name": "Bo Lind", "email": BO}),
    );
    let expected = json!({
        "email_thread_id": 1, "incoming": true, "outgoing": true, "read": false, "label": null,
        "snoozed_until": null, "starred": false, "archived": false, "spam": false,
        "created_at": "2026-02-01T10:00:00", "updated_at": "2026-02-01T11:00:00",
        "emails": [
            {"email_id": 1, "subject": "Lunch", "sender": me, "recipients": [bo], "body": "Tomorrow?",
             "attachments": [], "created_at": "2026-02-01T10:00:00"},
            {"email_id": 4, "subject": "Re: Lunch", "sender": bo, "recipients": [me], "body": "Gladly.",
             "attachments": [], "created_at": "2026-02-01T11:00:00"},
        ],
        "drafts": [
            {"draft_id": 1, "response_to_email_id": 4, "subject": "Re: Lunch", "recipients": [bo],
             "body": "At noon.", "attachments": [], "scheduled_send_at": null,
             "created_at": "2026-02-01T12:00:00", "updated_at": "2026-02-01T12:00:00"},
        ],
    });
    assert_eq!(
        ida().ok("show_thread", json!({"email_thread_id": 1})),
        expected
    );
}

#[test]
fn an_email_shows_what_it_answers_in_the_same_mailbox() {
    assert_eq!(
        ida().ok("show_email", json!({"email_id": 4}))["response_to_email_id"],
        1
    );
    assert_eq!(
        open(BO, "pb").ok("show_email", json!({"email_id": 3}))["response_to_email_id"],
        2
    );
    let expected = json!({
        "email_id": 5, "subject": "Your lease", "body": "Please sign it.", "response_to_email_id": null,
        "created_at": "2026-02-02T10:00:00", "sender": {"name": OUTSIDE, "email": OUTSIDE},
        "recipients": [{"name": "Ida Vale", "email": IDA}], "attachments": [{"id": 1, "file_name": "lease.pdf"}],
    });
    assert_eq!(ida().ok("show_email", json!({"email_id": 5})), expected);
}

#[test]
fn a_thread_must_exist_and_be_ones_own() {
    for tool in [
        "show_thread",
        "mark_thread_read",
        "mark_thread_unread",
        "mark_thread_starred",
        "mark_thread_archived",
        "unlabel_thread",
        "label_thread",
        "forward_email_thread",
        "reply_to_email",
    ] {
        let arguments = |id: u32| {
            let mut arguments = json!({"email_thread_id": id});
            let more = match tool {
                "label_thread" => json!({"label": "x"}),
                "forward_email_thread" => json!({"email_addresses": [BO]}),
                "reply_to_email" => json!({"email_id": 1, "body": "x"}),
                _ => json!({}),
            };
            arguments
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            arguments
        };
        check_refused(tool, arguments(99), 409, "There is no thread 99.");
        check_refused(
            tool,
            arguments(2),
            422,
            "Thread 2 belongs to another account.",
        );
    }
}

#[test]
fn an_email_must_exist_and_be_ones_own() {
    check_refused(
        "show_email",
        json!({"email_id": 99}),
        409,
        "There is no email 99.",
    );
    check_refused(
        "show_email",
        json!({"email_id": 2}),
        422,
        "Email 2 belongs to another account.",
    );
}

#[test]
fn a_mark_changes_ones_own_thread_only() {
    for (tool, field, expected, told) in [
        ("mark_thread_read", "read", true, "marked as read"),
        ("mark_thread_unread", "read", false, "marked as unread"),
        ("mark_thread_starred", "starred", true, "starred"),
        ("mark_thread_archived", "archived", true, "archived"),
    ] {
        let mut session = ida();
        if tool == "mark_thread_unread" {
            session.ok("mark_thread_read", json!({"email_thread_id": 1}));
        }
        session.ok(tool, json!({"email_thread_id": 1}));
        let again = session.refused(tool, json!({"email_thread_id": 1}));
        assert_eq!(
            (again.status, again.message),
            (422, format!("Thread 1 is {told} already."))
        );
        assert_eq!(
            session.ok("show_thread", json!({"email_thread_id": 1}))[field],
            expected,
            "{tool}"
        );
        let bos = as_bo(session).ok("show_thread", json!({"email_thread_id": 2}));
        assert_eq!(bos[field], json!(false), "{tool}");
    }
}

#[test]
fn an_archived_thread_is_no_spam_and_not_snoozed() {
    for flag in [
        json!({"spam": true}),
        json!({"snoozed_until": "2026-03-05T08:00:00"}),
    ] {
        let mut session = ida();
        let mut record = json!({"owner": IDA, "thread": "lunch"});
        let flags = flag.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(flags);
        app::add(&mut session.app, &json!({"threads": [record]}).to_string()).unwrap();
        session.ok("mark_thread_archived", json!({"email_thread_id": 1}));
        let thread = session.ok("show_thread", json!({"email_thread_id": 1}));
        assert_eq!(thread["archived"], true);
        assert_eq!(
            (&thread["spam"], &thread["snoozed_until"]),
            (&json!(false), &json!(null))
        );
    }
}

#[test]
fn a_label_is_set_replaced_and_taken_away() {
    let mut session = ida();
    session.ok(
        "label_thread",
        json!({"email_thread_id": 3, "label": " Flat "}),
    );
    assert_eq!(session.ok("search_labels", json!({})), json!(["Flat"]));
    session.ok(
        "label_thread",
        json!({"email_thread_id": 1, "label": "Fun"}),
    );
    assert_eq!(
        session.ok("search_labels", json!({})),
        json!(["Flat", "Fun"])
    );
    assert_eq!(
        session.ok("search_labels", json!({"query": "flats"})),
        json!(["Flat"])
    );
    assert_eq!(
        session.ok("search_labels", json!({"page_index": 1, "page_limit": 1})),
        json!(["Fun"])
    );
    session.ok("unlabel_thread", json!({"email_thread_id": 3}));
    assert_eq!(
        session.ok("show_thread", json!({"email_thread_id": 3}))["label"],
        Value::Null
    );
    assert_eq!(as_bo(session).ok("search_labels", json!({})), json!([]));
    check_refused(
        "label_thread",
        json!({"email_thread_id": 1, "label": " "}),
        422,
        "A label must have 1 to 100 bytes.",
    );
}

#[test]
fn categories_are_counted() {
    let expected = json!({
        "inbox": 2, "outbox": 1, "snoozed": 0, "starred": 1, "archived": 0, "spam": 0,
        "unscheduled_drafts": 1, "scheduled_drafts": 0,
    });
    assert_eq!(ida().ok("show_category_sizes", json!({})), expected);
    assert_eq!(
        ida().ok("show_category_sizes", json!({"read": false}))["inbox"],
        1
    );
    let mut session = ida();
    session.ok("mark_thread_archived", json!({"email_thread_id": 1}));
    let sizes = session.ok("show_category_sizes", json!({}));
    assert_eq!(
        (&sizes["inbox"], &sizes["outbox"], &sizes["archived"]),
        (&json!(1), &json!(0), &json!(1))
    );
}
