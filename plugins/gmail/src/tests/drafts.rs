use super::*;

#[track_caller]
fn check_list(arguments: Value, expected: &[u64]) {
    let mut session = ida();
    let later = json!({"recipient_email_addresses": ["cy@moor.test"], "body": "Later", "subject": "Plans",
        "scheduled_send_at": "2026-03-09T08:00:00"});
    session.ok("create_draft", later);
    assert_eq!(
        ids(&session.ok("show_drafts", arguments), "draft_id"),
        expected
    );
}

#[test]
fn a_draft_is_saved_as_told() {
    let mut session = ida();
    let arguments = json!({"recipient_email_addresses": [BO], "body": "B", "subject": "S",
        "scheduled_send_at": "2026-03-09T08:00:00"});
    assert_eq!(
        session.ok("create_draft", arguments),
        json!({"message": "Draft 2 is saved.", "draft_id": 2})
    );
    let expected = json!({
        "draft_id": 2, "subject": "S", "body": "B", "belongs_to_email_thread_id": null, "response_to_email_id": null,
        "scheduled_send_at": "2026-03-09T08:00:00", "created_at": "2026-03-02T09:00:00",
        "updated_at": "2026-03-02T09:00:00", "recipients": [{"name": "Bo Lind", "email": BO}], "attachments": [],
    });
    assert_eq!(session.ok("show_draft", json!({"draft_id": 2})), expected);
}

#[test]
fn what_a_draft_and_a_page_may_not_have_is_told_before_it_is_refused() {
    let tools = Gmail::tools().declarations();
    let told = |tool: &str, argument: &str| {
        let tool = tools.iter().find(|one| one.name == tool).unwrap();
        let argument = &tool.schema["properties"][argument];
        argument["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(told("create_draft", "subject").contains("None in an answer"));
    assert!(told("create_draft", "response_to_email_id").contains("with its thread"));
    for list in ["show_drafts", "search_users", "show_inbox_threads"] {
        assert!(told(list, "page_limit").contains("at most 20"), "{list}");
    }
}

#[test]
fn a_draft_that_answers_an_email_belongs_to_its_thread() {
    let mut session = ida();
    let draft = |more: Value| {
        let mut draft =
            json!({"recipient_email_addresses": [], "body": "B", "response_to_email_id": 4});
        draft
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        draft
    };
    let message =
        "belongs_to_email_thread_id and response_to_email_id go together: give both or neither.";
    check_refused("create_draft", draft(json!({})), 422, message);
    let own = json!({"belongs_to_email_thread_id": 1, "subject": "Mine"});
    let message = "An answer has the subject of the email that it answers: leave subject out.";
    check_refused("create_draft", draft(own), 422, message);
    session.ok(
        "create_draft",
        draft(json!({"belongs_to_email_thread_id": 1})),
    );
    let draft = session.ok("show_draft", json!({"draft_id": 2}));
    assert_eq!(
        (&draft["belongs_to_email_thread_id"], &draft["subject"]),
        (&json!(1), &json!("Re: Lunch"))
    );
}

#[test]
fn a_draft_that_cannot_be_is_refused() {
    let draft = |more: Value| {
        let mut arguments = json!({"recipient_email_addresses": [BO], "body": "B"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        arguments
    };
    for (more, status, message) in [
        (
            json!({"belongs_to_email_thread_id": 99, "response_to_email_id": 4}),
            409,
            "There is no thread 99.",
        ),
        (
            json!({"belongs_to_email_thread_id": 2, "response_to_email_id": 4}),
            422,
            "Thread 2 belongs to another account.",
        ),
        (
            json!({"belongs_to_email_thread_id": 1, "response_to_email_id": 99}),
            409,
            "There is no email 99.",
        ),
        (
            json!({"belongs_to_email_thread_id": 1, "response_to_email_id": 2}),
            422,
            "Email 2 belongs to another account.",
        ),
        (
            json!({"belongs_to_email_thread_id": 3, "response_to_email_id": 1}),
            422,
            "Email 1 is in thread 1, where the draft must be too.",
        ),
        (
            json!({"recipient_email_addresses": ["x"]}),
            422,
            "\"x\" is no email address.",
        ),
        (
            json!({"scheduled_send_at": "2026-03-02T09:00:00"}),
            422,
            "scheduled_send_at must be in the future; it is 2026-03-02T09:00:00.",
        ),
        (
            json!({"scheduled_send_at": "soon"}),
            422,
            "scheduled_send_at: \"soon\" is no date (2026-03-02) and no date and time (2026-03-02T09:00:00).",
        ),
        (
            json!({"scheduled_send_at": "2026-03-09", "recipient_email_addresses": []}),
            422,
            "A scheduled draft needs at least one email address.",
        ),
    ] {
        check_refused("create_draft", draft(more), status, message);
    }
}

#[test]
fn a_draft_is_updated_where_told() {
    let mut session = ida();
    session.ok(
        "update_draft",
        json!({"draft_id": 1, "body": "At one.", "email_addresses": ["cy@moor.test"]}),
    );
    let draft = session.ok("show_draft", json!({"draft_id": 1}));
    assert_eq!(
        (&draft["body"], &draft["subject"]),
        (&json!("At one."), &json!("Re: Lunch"))
    );
    assert_eq!(draft["recipients"][0]["email"], "cy@moor.test");
    assert_eq!(
        (
            &draft["belongs_to_email_thread_id"],
            &draft["response_to_email_id"]
        ),
        (&json!(1), &json!(4))
    );
    assert_eq!(draft["updated_at"], "2026-03-02T09:00:00");
    session.ok(
        "update_draft",
        json!({"draft_id": 1, "response_to_email_id": 5}),
    );
    let draft = session.ok("show_draft", json!({"draft_id": 1}));
    assert_eq!(
        (
            &draft["belongs_to_email_thread_id"],
            &draft["response_to_email_id"]
        ),
        (&json!(3), &json!(5))
    );
}

#[test]
fn an_update_that_cannot_be_is_refused() {
    for (arguments, status, message) in [
        (
            json!({"draft_id": 1, "belongs_to_email_thread_id": 3}),
            422,
            "Email 4 is in thread 1, where the draft must be too.",
        ),
        (
            json!({"draft_id": 1, "belongs_to_email_thread_id": 99}),
            409,
            "There is no thread 99.",
        ),
        (
            json!({"draft_id": 1, "email_addresses": ["x"]}),
            422,
            "\"x\" is no email address.",
        ),
        (
            json!({"draft_id": 1, "email_addresses": [], "scheduled_send_at": "2026-03-09"}),
            422,
            "A scheduled draft needs at least one email address.",
        ),
        (
            json!({"draft_id": 1, "scheduled_send_at": "soon"}),
            422,
            "scheduled_send_at: \"soon\" is no date (2026-03-02) and no date and time (2026-03-02T09:00:00).",
        ),
        (
            json!({"draft_id": 1, "body": "x".repeat(65_537)}),
            422,
            "The body has 65537 bytes; at most 65536 fit.",
        ),
        (
            json!({"draft_id": 1, "subject": "x".repeat(1001)}),
            422,
            "The subject has 1001 bytes; at most 1000 fit.",
        ),
    ] {
        check_refused("update_draft", arguments, status, message);
    }
}

#[test]
fn a_draft_must_exist_and_be_ones_own() {
    for tool in ["show_draft", "update_draft", "send_email_from_draft"] {
        check_refused(tool, json!({"draft_id": 99}), 409, "There is no draft 99.");
        let error = open(BO, "pb").refused(tool, json!({"draft_id": 1}));
        assert_eq!(
            (error.status, error.message.as_str()),
            (422, "Draft 1 belongs to another account.")
        );
    }
}

#[test]
fn a_draft_that_is_sent_is_gone_and_lands_in_its_thread() {
    let mut session = ida();
    let answer = session.ok("send_email_from_draft", json!({"draft_id": 1}));
    assert_eq!(
        answer,
        json!({"message": "The email is sent.", "sent_email_id": 7, "sent_email_thread_id": 1})
    );
    assert_eq!(
        session.refused("show_draft", json!({"draft_id": 1})).status,
        409
    );
    assert_eq!(
        session.ok("show_email", json!({"email_id": 7}))["response_to_email_id"],
        4
    );
    let thread = as_bo(session).ok("show_thread", json!({"email_thread_id": 2}));
    assert_eq!(thread["emails"][2]["body"], "At noon.");
}

#[test]
fn a_draft_without_recipients_is_not_sent() {
    let mut session = ida();
    session.ok(
        "update_draft",
        json!({"draft_id": 1, "email_addresses": []}),
    );
    let error = session.refused("send_email_from_draft", json!({"draft_id": 1}));
    assert_eq!(
        error.message,
        "The draft has no recipients. Add some with update_draft."
    );
}

#[test]
fn the_word_none_takes_a_draft_off_the_schedule() {
    let mut session = ida();
    let shown = |session: &mut Session<Gmail>, id: u32| {
        session.ok("show_draft", json!({"draft_id": id}))["scheduled_send_at"].clone()
    };
    let at = |at: &str| json!({"draft_id": 1, "scheduled_send_at": at});
    session.ok("update_draft", at("2026-03-09"));
    assert_eq!(shown(&mut session, 1), "2026-03-09T00:00:00");
    session.ok("update_draft", at("None"));
    assert_eq!(shown(&mut session, 1), json!(null));
    session.ok("update_draft", at("2026-03-09"));
    session.ok("update_draft", at("none"));
    assert_eq!(shown(&mut session, 1), json!(null));
    let draft =
        json!({"recipient_email_addresses": [BO], "body": "x", "scheduled_send_at": "None"});
    let error = session.refused("create_draft", draft);
    assert!(error.message.contains("\"None\" is no date"), "{error}");
}

#[test]
fn a_scheduled_draft_is_sent_when_its_time_has_come() {
    let mut session = ida();
    session.ok(
        "update_draft",
        json!({"draft_id": 1, "scheduled_send_at": "2026-03-02T10:00:00"}),
    );
    assert_eq!(session.state()["drafts"].as_array().unwrap().len(), 1);
    testkit::set_clock(jiff::civil::date(2026, 3, 2).at(10, 30, 0, 0));
    assert_eq!(session.state()["drafts"], json!([]));
    let thread = as_bo(session).ok("show_thread", json!({"email_thread_id": 2}));
    assert_eq!(thread["emails"][2]["created_at"], "2026-03-02T10:00:00");
}

#[test]
fn drafts_are_listed_latest_change_first() {
    check_list(json!({}), &[2, 1]);
    check_list(json!({"sort_by": "+created_at"}), &[1, 2]);
    check_list(json!({"page_index": 1, "page_limit": 1}), &[1]);
    let fields = "sort_by must be + or - and one of created_at, updated_at, not \"-size\".";
    check_refused("show_drafts", json!({"sort_by": "-size"}), 422, fields);
}

#[test]
fn every_filter_of_drafts_filters() {
    check_list(json!({"query": "plan"}), &[2]);
    check_list(json!({"query": "bo"}), &[1]);
    check_list(json!({"recipient_email": "Cy@moor.test"}), &[2]);
    check_list(json!({"scheduled": false}), &[1]);
    check_list(json!({"attachment": true}), &[]);
    check_list(json!({"belongs_to_email_thread_id": 1}), &[1]);
    check_list(json!({"response_to_email_id": 1}), &[]);
    check_list(json!({"min_created_at": "2026-03-01"}), &[2]);
    check_list(json!({"max_created_at": "2026-03-01"}), &[1]);
    check_list(json!({"belongs_to_email_thread_id": 99}), &[]);
    check_list(json!({"response_to_email_id": 2}), &[]);
}
