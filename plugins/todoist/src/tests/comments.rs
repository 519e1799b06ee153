use super::*;
use pibench_sdk::attachment::MAX_ATTACHED;

#[test]
fn comments_are_listed_oldest_first() {
    let mut session = ida();
    let listed = session.ok("show_task_comments", json!({"task_id": 1}));
    assert_eq!(ids(&listed, "task_comment_id"), [2, 1]);
    let page = session.ok(
        "show_task_comments",
        json!({"task_id": 1, "page_limit": 1, "page_index": 1}),
    );
    assert_eq!(ids(&page, "task_comment_id"), [1]);
    let expected = json!({
        "task_id": 1, "content": "Three chapters?", "created_at": "2026-02-02T10:00:00", "task_comment_id": 1,
        "user": {"name": "Bo Lind", "email": BO}, "attachment_file_names": ["draft.pdf"],
    });
    assert_eq!(listed[1], expected);
    assert_eq!(
        session.ok("show_task_comment", json!({"task_comment_id": 1})),
        expected
    );
}

#[test]
fn a_comment_is_posted_changed_and_deleted() {
    let mut session = ida();
    let answer = session.ok(
        "post_task_comment",
        json!({"task_id": 1, "content": "Agreed", "attachment_file_paths": []}),
    );
    assert_eq!(
        answer,
        json!({"message": "Comment 5 is posted.", "task_comment_id": 5})
    );
    let answer = session.ok(
        "update_task_comment",
        json!({"task_comment_id": 5, "content": "Agreed!"}),
    );
    assert_eq!(answer, json!({"message": "Comment 5 is updated."}));
    let expected = json!({
        "id": 5, "task_id": 1, "author": IDA, "content": "Agreed!", "attachments": [],
        "created_at": "2026-03-02T09:00:00",
    });
    assert_eq!(record(&mut session, "comments", 5), expected);
    let answer = session.ok("delete_task_comment", json!({"task_comment_id": 5}));
    assert_eq!(answer, json!({"message": "Comment 5 is deleted."}));
    let listed = session.ok("show_task_comments", json!({"task_id": 1}));
    assert_eq!(ids(&listed, "task_comment_id"), [2, 1]);
}

#[test]
fn a_comment_that_breaks_a_rule_is_refused() {
    let post = |content: &str| json!({"task_id": 1, "content": content});
    check_refused(
        "post_task_comment",
        post(" "),
        422,
        "The content must not be empty.",
    );
    let long = "The content has 16385 bytes; at most 16384 fit.";
    check_refused("post_task_comment", post(&"x".repeat(16_385)), 422, long);
    let update = json!({"task_comment_id": 2, "content": ""});
    check_refused(
        "update_task_comment",
        update,
        422,
        "The content must not be empty.",
    );
}

#[test]
fn a_file_is_attached_as_the_host_hands_it_over_and_else_the_reason_is_told() {
    let mut post =
        json!({"task_id": 1, "content": "See file", "attachment_file_paths": ["/a.pdf"]});
    let missing = "Nothing can be attached: the file_system_access_token is missing.";
    check_refused("post_task_comment", post.clone(), 422, missing);
    post["file_system_access_token"] = json!("x");
    let unconnected = "Nothing can be attached: the file system app is not connected.";
    check_refused("post_task_comment", post.clone(), 422, unconnected);
    let long = json!([{"path": "/files/a.pdf", "content": "x".repeat(MAX_ATTACHED + 1)}]);
    post["attached_files"] = long;
    let long = "The attached files have 262145 bytes; at most 262144 fit.";
    check_refused("post_task_comment", post.clone(), 422, long);
    post["attached_files"] = json!([{"path": "/files/a.pdf", "content": "A"}]);
    let mut session = ida();
    let id = session.ok("post_task_comment", post)["task_comment_id"].clone();
    let shown = session.ok("show_task_comment", json!({"task_comment_id": id}));
    assert_eq!(shown["attachment_file_names"], json!(["a.pdf"]));
    let kept = record(&mut session, "comments", 5);
    assert_eq!(kept["attachment_texts"], json!(["A"]));
    let named = record(&mut session, "comments", 1);
    assert_eq!(named.get("attachment_texts"), None, "a seed's has a name");
}

#[test]
fn only_who_wrote_a_comment_changes_it() {
    let message = "Comment 1 was written by bo@lind.test; only they can change or delete it.";
    check_refused(
        "update_task_comment",
        json!({"task_comment_id": 1, "content": "x"}),
        422,
        message,
    );
    check_refused(
        "delete_task_comment",
        json!({"task_comment_id": 1}),
        422,
        message,
    );
}

#[test]
fn a_comment_must_exist_and_be_in_ones_projects() {
    let tools = [
        ("show_task_comment", json!({})),
        ("update_task_comment", json!({"content": "x"})),
        ("delete_task_comment", json!({})),
    ];
    check_id(&tools, "task_comment_id", "comment", 3);
}
