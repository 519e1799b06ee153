use super::*;

#[test]
fn sub_tasks_are_listed_in_their_order() {
    let expected = json!({
        "task_id": 1, "title": "Sources", "description": "", "due_date": null, "priority": "low",
        "is_completed": false, "duration": 30, "duration_unit": "minutes", "order_index": 1,
        "created_at": "2026-01-10T11:00:00", "sub_task_id": 2,
    });
    let listed = ida().ok("show_sub_tasks", json!({"task_id": 1}));
    assert_eq!(ids(&listed, "sub_task_id"), [1, 2]);
    assert_eq!(listed[1], expected);
    assert_eq!(ida().ok("show_sub_tasks", json!({"task_id": 2})), json!([]));
}

#[test]
fn a_sub_task_is_created_as_told() {
    let mut session = ida();
    let sub_task = json!({
        "task_id": 1, "title": "Title page", "description": "Short", "due_date": "2026-03-01", "duration": 0.5,
        "duration_unit": "hours", "priority": "high", "order_index": 0,
    });
    let answer = session.ok("create_sub_task", sub_task);
    assert_eq!(
        answer,
        json!({"message": "Sub-task 4 is created.", "sub_task_id": 4})
    );
    let expected = json!({
        "id": 4, "task_id": 1, "order_index": 0, "title": "Title page", "description": "Short",
        "due_date": "2026-03-01", "priority": "high", "is_completed": false, "duration": 0.5, "duration_unit": "hours",
        "created_at": "2026-03-02T09:00:00",
    });
    assert_eq!(record(&mut session, "sub_tasks", 4), expected);
    assert_eq!(
        session.ok("show_task", json!({"task_id": 1}))["num_sub_tasks"],
        3
    );
}

#[test]
fn a_sub_task_is_changed_moved_and_completed() {
    let mut session = bo();
    let change = json!({"sub_task_id": 2, "title": "Books", "is_completed": true, "order_index": 0, "duration": 0});
    let answer = session.ok("update_sub_task", change);
    assert_eq!(answer, json!({"message": "Sub-task 2 is updated."}));
    let listed = session.ok("show_sub_tasks", json!({"task_id": 1}));
    assert_eq!(ids(&listed, "sub_task_id"), [2, 1]);
    let facts =
        ["title", "is_completed", "duration_unit", "priority"].map(|key| listed[0][key].clone());
    assert_eq!(
        facts,
        [json!("Books"), json!(true), json!(null), json!("low")]
    );
    assert_eq!(
        session.ok("show_task", json!({"task_id": 1}))["is_completed"],
        false
    );
}

#[test]
fn a_sub_task_change_that_is_none_changes_nothing() {
    let before = ida().state();
    let mut session = ida();
    session.ok("update_sub_task", json!({"sub_task_id": 1}));
    assert_eq!(session.state(), before);
}

#[test]
fn a_sub_task_is_deleted_alone() {
    let mut session = ida();
    let answer = session.ok("delete_sub_task", json!({"sub_task_id": 1}));
    assert_eq!(answer, json!({"message": "Sub-task 1 is deleted."}));
    let listed = session.ok("show_sub_tasks", json!({"task_id": 1}));
    assert_eq!(
        (ids(&listed, "sub_task_id"), &listed[0]["order_index"]),
        (vec![2], &json!(0))
    );
}

#[test]
fn a_task_has_a_number_of_sub_tasks_that_one_answer_holds() {
    let mut session = ida();
    for _ in 0..198 {
        session.ok("create_sub_task", json!({"task_id": 1, "title": "S"}));
    }
    let error = session.refused("create_sub_task", json!({"task_id": 1, "title": "S"}));
    assert_eq!(
        error,
        ToolError::invalid("A task has at most 200 sub-tasks.")
    );
    assert_eq!(
        session
            .ok("show_sub_tasks", json!({"task_id": 1}))
            .as_array()
            .unwrap()
            .len(),
        200
    );
}

#[test]
fn a_sub_task_must_exist_and_be_in_ones_projects() {
    let mut session = bo();
    session.ok("create_sub_task", json!({"task_id": 4, "title": "S"}));
    session.log_in(IDA, "pw");
    for (tool, rest) in [
        ("update_sub_task", json!({"title": "S"})),
        ("delete_sub_task", json!({})),
    ] {
        let mut arguments = rest;
        arguments["sub_task_id"] = json!(4);
        let foreign = ToolError::invalid("Sub-task 4 belongs to another account.");
        assert_eq!(session.refused(tool, arguments.clone()), foreign);
        arguments["sub_task_id"] = json!(99);
        check_refused(tool, arguments, 409, "There is no sub-task 99.");
    }
}
