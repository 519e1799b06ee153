use super::*;
use pibench_sdk::attachment::MAX_ATTACHED;

#[test]
fn an_email_arrives_in_a_thread_of_the_recipients_own() {
    let mut session = ida();
    let arguments =
        json!({"email_addresses": ["Bo@lind.test", BO], "subject": "Tea", "body": "At four?"});
    let answer = session.ok("send_email", arguments);
    assert_eq!(
        answer,
        json!({"message": "The email is sent.", "sent_email_id": 7, "sent_email_thread_id": 5})
    );
    let own = session.ok("show_thread", json!({"email_thread_id": 5}));
    assert_eq!(
        (&own["read"], &own["incoming"], &own["outgoing"]),
        (&json!(true), &json!(false), &json!(true))
    );
    let mut session = as_bo(session);
    let arrived = &session.ok("show_inbox_threads", json!({}))[0];
    assert_eq!(
        (&arrived["email_thread_id"], &arrived["email_ids"]),
        (&json!(6), &json!([8]))
    );
    assert_eq!(
        (&arrived["read"], &arrived["created_at"]),
        (&json!(false), &json!("2026-03-02T09:00:00"))
    );
    let email = session.ok("show_email", json!({"email_id": 8}));
    assert_eq!(
        email["recipients"],
        json!([{"name": "Bo Lind", "email": BO}])
    );
}

#[test]
fn what_may_not_be_sent_is_refused() {
    let email = |to: Value, subject: &str, body: &str| json!({"email_addresses": to, "subject": subject, "body": body});
    check_refused(
        "send_email",
        email(json!([]), "S", "B"),
        422,
        "At least one email address is needed.",
    );
    check_refused(
        "send_email",
        email(json!(["bo"]), "S", "B"),
        422,
        "\"bo\" is no email address.",
    );
    let long = email(json!([BO]), "S", &"x".repeat(65_537));
    check_refused(
        "send_email",
        long,
        422,
        "The body has 65537 bytes; at most 65536 fit.",
    );
    let many: Vec<String> = (0..101).map(|n| format!("p{n}@x.test")).collect();
    check_refused(
        "send_email",
        email(json!(many), "S", "B"),
        422,
        "An email has at most 100 recipients.",
    );
    check_refused(
        "send_email",
        json!({"body": "B"}),
        422,
        "Wrong arguments: missing field `email_addresses`.",
    );
}

#[test]
fn files_are_attached_as_the_host_hands_them_over_and_else_the_reason_is_told() {
    let send = json!({"email_addresses": [BO], "subject": "S", "body": "B"});
    let reply = json!({"email_thread_id": 1, "email_id": 4, "body": "B"});
    let draft = json!({"recipient_email_addresses": [BO], "body": "B"});
    for (tool, arguments) in [
        ("send_email", send),
        ("reply_to_email", reply),
        ("create_draft", draft),
    ] {
        let mut with = arguments.clone();
        with["attachment_file_paths"] = json!(["/files/a.txt"]);
        let missing = "Nothing can be attached: the file_system_access_token is missing.";
        check_refused(tool, with.clone(), 422, missing);
        with["file_system_access_token"] = json!("t");
        let refused = "Nothing can be attached: the file system app is not connected.";
        check_refused(tool, with.clone(), 422, refused);
        with["attached_files"] =
            json!([{"path": "/files/a.txt", "content": "x".repeat(MAX_ATTACHED + 1)}]);
        let long = "The attached files have 262145 bytes; at most 262144 fit.";
        check_refused(tool, with.clone(), 422, long);
        with["attached_files"][0]["content"] = json!("All of it.");
        let mut session = ida();
        session.ok(tool, with);
        let kind = if tool == "create_draft" {
            "drafts"
        } else {
            "emails"
        };
        let state = session.state();
        let attached = state[kind].as_array().unwrap().iter();
        let attached = attached.filter(|one| one["attachments"] == json!(["a.txt"]));
        let texts: Vec<&Value> = attached.map(|one| &one["attachment_texts"]).collect();
        assert!(!texts.is_empty(), "{state}");
        assert!(texts.iter().all(|texts| **texts == json!(["All of it."])));
        let mut without = arguments;
        without["attachment_file_paths"] = json!([]);
        ida().ok(tool, without);
    }
}

#[test]
fn mail_to_nobody_is_refused_whoever_else_gets_it() {
    let to = json!([BO, "no@where.test"]);
    let nobody = "There is no user no@where.test.";
    for (tool, status, arguments) in [
        (
            "send_email",
            422,
            json!({"email_addresses": to, "subject": "Tea", "body": "?"}),
        ),
        (
            "reply_to_email",
            422,
            json!({"email_thread_id": 1, "email_id": 4, "email_addresses": to, "body": "?"}),
        ),
        (
            "forward_email_thread",
            422,
            json!({"email_thread_id": 1, "email_addresses": to}),
        ),
        (
            "update_draft",
            422,
            json!({"draft_id": 1, "email_addresses": to}),
        ),
        (
            "create_draft",
            409,
            json!({"recipient_email_addresses": to, "body": "?"}),
        ),
    ] {
        check_refused(tool, arguments, status, nobody);
    }
}

#[test]
fn whoever_wrote_without_an_account_is_answered() {
    let mut session = ida();
    session.ok(
        "reply_to_email",
        json!({"email_thread_id": 3, "email_id": 5, "body": "Signed."}),
    );
    let addresses = json!({"email_addresses": [OUTSIDE], "subject": "Keys", "body": "?"});
    session.ok("send_email", addresses);
    let outbox = session.ok("show_outbox_threads", json!({"to_email": OUTSIDE}));
    assert_eq!(ids(&outbox, "email_thread_id"), [5, 3]);
}

#[test]
fn mail_to_oneself_is_one_copy_and_unread() {
    let mut session = ida();
    let sent = session.ok(
        "send_email",
        json!({"email_addresses": [IDA], "subject": "Note", "body": "x"}),
    );
    let thread = session.ok(
        "show_thread",
        json!({"email_thread_id": sent["sent_email_thread_id"]}),
    );
    assert_eq!(thread["emails"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&thread["incoming"], &thread["outgoing"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(thread["read"], false);
}

#[test]
fn a_reply_goes_into_both_threads_and_brings_an_archived_one_back() {
    let mut session = as_bo(ida());
    session.ok("mark_thread_archived", json!({"email_thread_id": 2}));
    session.log_in(IDA, "pw");
    let answer = session.ok(
        "reply_to_email",
        json!({"email_thread_id": 1, "email_id": 4, "body": "Noon."}),
    );
    assert_eq!(
        answer,
        json!({"message": "The reply is sent.", "sent_email_id": 7})
    );
    let sent = session.ok("show_email", json!({"email_id": 7}));
    assert_eq!(
        (&sent["subject"], &sent["response_to_email_id"]),
        (&json!("Re: Lunch"), &json!(4))
    );
    assert_eq!(
        ids(
            &session.ok("show_thread", json!({"email_thread_id": 1}))["emails"],
            "email_id"
        ),
        [1, 4, 7]
    );
    let mut session = as_bo(session);
    let thread = session.ok("show_thread", json!({"email_thread_id": 2}));
    assert_eq!(
        (&thread["archived"], &thread["read"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(ids(&thread["emails"], "email_id"), [2, 3, 8]);
    assert_eq!(
        session.ok("show_email", json!({"email_id": 8}))["response_to_email_id"],
        3
    );
}

#[test]
fn a_reply_goes_to_the_sender_alone_unless_told() {
    let mut session = ida();
    session.ok(
        "send_email",
        json!({"email_addresses": [BO, "cy@moor.test"], "subject": "All", "body": "x"}),
    );
    let mut session = as_bo(session);
    let thread = session.ok("show_inbox_threads", json!({}))[0].clone();
    let mut reply = |more: Value| {
        let mut arguments = json!({"email_thread_id": thread["email_thread_id"], "email_id": thread["email_ids"][0],
            "body": "y"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let sent = session.ok("reply_to_email", arguments)["sent_email_id"].clone();
        let recipients = session.ok("show_email", json!({"email_id": sent}))["recipients"].clone();
        recipients
            .as_array()
            .unwrap()
            .iter()
            .map(|person| person["email"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(reply(json!({})), [IDA]);
    let all = json!({"email_addresses": [IDA, "cy@moor.test"]});
    assert_eq!(reply(all), [IDA, "cy@moor.test"]);
}

#[test]
fn a_reply_to_ones_own_email_goes_to_oneself_unless_told() {
    let mut session = ida();
    session.ok(
        "reply_to_email",
        json!({"email_thread_id": 1, "email_id": 1, "body": "Well?"}),
    );
    assert_eq!(
        session.ok("show_email", json!({"email_id": 7}))["recipients"][0]["email"],
        IDA
    );
}

#[test]
fn a_reply_must_fit() {
    let reply = |thread: u32, email: u32| json!({"email_thread_id": thread, "email_id": email, "body": "x"});
    check_refused("reply_to_email", reply(1, 99), 409, "There is no email 99.");
    check_refused(
        "reply_to_email",
        reply(1, 2),
        422,
        "Email 2 belongs to another account.",
    );
    check_refused(
        "reply_to_email",
        reply(1, 5),
        422,
        "Email 5 is not in thread 1.",
    );
    let nobody = json!({"email_thread_id": 1, "email_id": 4, "body": "x", "email_addresses": []});
    check_refused(
        "reply_to_email",
        nobody,
        422,
        "At least one email address is needed.",
    );
}

#[test]
fn a_thread_is_forwarded_as_one_email() {
    let mut session = ida();
    let answer = session.ok(
        "forward_email_thread",
        json!({"email_thread_id": 1, "email_addresses": [BO]}),
    );
    let expected = json!({
        "message": "The thread is forwarded.", "sent_email_thread_id": 5, "sent_email_id": 7, "draft_id": null,
    });
    assert_eq!(answer, expected);
    let email = session.ok("show_email", json!({"email_id": 7}));
    assert_eq!(email["subject"], "Fwd: Lunch");
    let body = "---------- Forwarded email ----------\nFrom: Ida Vale <ida@vale.test>\nDate: 2026-02-01T10:00:00\n\
                To: Bo Lind <bo@lind.test>\nSubject: Lunch\n\nTomorrow?\n\n\
                ---------- Forwarded email ----------\nFrom: Bo Lind <bo@lind.test>\nDate: 2026-02-01T11:00:00\n\
                To: Ida Vale <ida@vale.test>\nSubject: Re: Lunch\n\nGladly.";
    assert_eq!(email["body"], body);
}

#[test]
fn a_thread_is_forwarded_with_its_attachments_or_left_as_a_draft() {
    let mut session = ida();
    let arguments = json!({"email_thread_id": 3, "email_addresses": [BO], "draft_not_send": true});
    let answer = session.ok("forward_email_thread", arguments);
    let expected = json!({
        "message": "The forwarding is saved as draft 2.", "sent_email_thread_id": null, "sent_email_id": null,
        "draft_id": 2,
    });
    assert_eq!(answer, expected);
    assert_eq!(
        session.ok("show_drafts", json!({"attachment": true}))[0]["draft_id"],
        2
    );
    session.ok("send_email_from_draft", json!({"draft_id": 2}));
    let arrived = as_bo(session).ok("show_inbox_threads", json!({"attachment": true}));
    assert_eq!(arrived[0]["subject"], "Fwd: Your lease");
    for (addresses, message) in [
        (json!([]), "At least one email address is needed."),
        (json!(["x"]), "\"x\" is no email address."),
    ] {
        let wrong = json!({"email_thread_id": 1, "email_addresses": addresses});
        check_refused("forward_email_thread", wrong, 422, message);
    }
}

#[test]
fn a_thread_that_has_grown_too_long_is_not_forwarded() {
    let mut session = ida();
    for _ in 0..4 {
        let reply = json!({"email_thread_id": 1, "email_id": 4, "body": "x".repeat(65_536)});
        session.ok("reply_to_email", reply);
    }
    let error = session.refused(
        "forward_email_thread",
        json!({"email_thread_id": 1, "email_addresses": [BO]}),
    );
    assert_eq!(
        error,
        pibench_sdk::tool::ToolError::invalid("Thread 1 is too long to be forwarded.")
    );
}
