use super::*;

/// What somebody is told, the latest first, as type and message.
fn told(session: &mut Session<Todoist>) -> Vec<(String, String)> {
    let listed = session.ok("show_notifications", json!({"read": false}));
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = listed.as_array().unwrap().iter();
    rows.map(|row| (text(row, "type"), text(row, "message")))
        .collect()
}

#[test]
fn notifications_are_ones_own() {
    let expected = json!([{
        "notification_id": 1, "type": "comment_posted", "title": "New comment",
        "message": "Bo Lind commented on a task: Write the outline", "read": false,
        "created_at": "2026-02-01T10:00:00", "data": {"action_by_id": 1, "project_id": 4, "task_id": 1},
    }]);
    assert_eq!(ida().ok("show_notifications", json!({})), expected);
    assert_eq!(
        ida().ok("show_notifications", json!({"read": true})),
        json!([])
    );
    let bos = bo().ok("show_notifications", json!({}));
    assert_eq!(
        (&bos[0]["title"], &bos[0]["data"]),
        (&json!("Paint"), &json!({"project_id": 5}))
    );
}

#[test]
fn whoever_a_task_is_given_to_or_taken_from_is_told() {
    let mut session = ida();
    let assign = |session: &mut Session<Todoist>, arguments: Value| {
        session.ok("assign_or_unassign_task", arguments);
    };
    assign(&mut session, json!({"task_id": 2, "assignee_email": BO}));
    assign(&mut session, json!({"task_id": 1, "assignee_email": IDA}));
    assert_eq!(
        told(&mut session).len(),
        1,
        "nobody is told what they did themselves"
    );
    let mut session = as_bo(session);
    let expected = [
        (
            "task_unassigned",
            "Ida Vale took a task from you: Write the outline",
        ),
        (
            "task_assigned",
            "Ida Vale assigned a task to you: Read chapter one",
        ),
    ];
    assert_eq!(
        told(&mut session),
        expected.map(|(kind, message)| (kind.to_owned(), message.to_owned()))
    );
    let data = session.ok("show_notifications", json!({}))[1]["data"].clone();
    assert_eq!(
        data,
        json!({"action_by_id": 3, "project_id": 4, "task_id": 2}),
        "Ida's Inbox is the third project"
    );
}

#[test]
fn the_creator_and_the_assignee_are_told_of_completion_and_comments_once() {
    let mut session = bo();
    session.ok("update_task", json!({"task_id": 1, "is_completed": true}));
    session.ok("update_task", json!({"task_id": 1, "is_completed": true}));
    let comment = session.ok(
        "post_task_comment",
        json!({"task_id": 1, "content": "Done"}),
    );
    assert_eq!(told(&mut session), []);
    session.log_in(IDA, "pw");
    let expected = [
        (
            "comment_posted",
            "Bo Lind commented on a task: Write the outline",
        ),
        (
            "task_completed",
            "Bo Lind completed a task: Write the outline",
        ),
        (
            "comment_posted",
            "Bo Lind commented on a task: Write the outline",
        ),
    ];
    assert_eq!(
        told(&mut session),
        expected.map(|(kind, message)| (kind.to_owned(), message.to_owned()))
    );
    let data = session.ok("show_notifications", json!({}))[0]["data"].clone();
    assert_eq!(data["task_comment_id"], comment["task_comment_id"]);
}

#[test]
fn notifications_are_marked_counted_and_deleted() {
    let mut session = ida();
    let count = |session: &mut Session<Todoist>, arguments: Value| {
        session.ok("show_notifications_count", arguments)["notifications_count"].clone()
    };
    session.ok(
        "mark_notification",
        json!({"notification_id": 1, "read": false}),
    );
    assert_eq!(count(&mut session, json!({"read": false})), 1);
    let answer = session.ok(
        "mark_notification",
        json!({"notification_id": 1, "read": true}),
    );
    assert_eq!(
        answer,
        json!({"message": "Notification 1 is marked as read."})
    );
    let counts = [json!({"read": false}), json!({"read": true}), json!({})];
    assert_eq!(
        counts.map(|arguments| count(&mut session, arguments)),
        [0, 1, 1]
    );
    let answer = session.ok("delete_notifications", json!({}));
    assert_eq!(
        answer,
        json!({"message": "All your notifications are deleted."})
    );
    assert_eq!(ids(&session.state()["notifications"], "id"), [2]);
}

#[test]
fn a_notification_must_exist_and_be_ones_own() {
    check_id(
        &[("mark_notification", json!({"read": true}))],
        "notification_id",
        "notification",
        2,
    );
}
