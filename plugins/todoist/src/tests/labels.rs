use super::*;

#[track_caller]
fn check_search(arguments: Value, expected: &[u64]) {
    assert_eq!(
        ids(&ida().ok("search_labels", arguments), "label_id"),
        expected
    );
}

#[test]
fn labels_are_ones_own_by_name() {
    check_search(json!({}), &[2, 1]);
    check_search(json!({"page_limit": 1, "page_index": 1}), &[1]);
    check_search(json!({"query": "read"}), &[2]);
    check_search(json!({"color": "red"}), &[1]);
    check_search(json!({"task_attached": false}), &[2, 1]);
    let expected = json!({
        "name": "urgent", "color": "red", "label_id": 1, "creator": {"name": "Ida Vale", "email": IDA},
    });
    // As the service has it, without a limit.
    let all = ida().ok("search_labels", json!({"page_limit": 21}));
    assert_eq!(all, ida().ok("search_labels", json!({})));
    assert_eq!(
        ida().ok("search_labels", json!({"query": "urgent"})),
        json!([expected])
    );
}

#[test]
fn the_labels_of_a_task_are_seen_by_all_in_its_project() {
    check_search(json!({"task_id": 1}), &[1]);
    check_search(json!({"task_id": 1, "task_attached": false}), &[2]);
    assert_eq!(
        ids(&bo().ok("search_labels", json!({"task_id": 1})), "label_id"),
        [1]
    );
    let missing = bo().ok(
        "search_labels",
        json!({"task_id": 1, "task_attached": false}),
    );
    assert_eq!(ids(&missing, "label_id"), [3]);
}

#[test]
fn a_label_is_created_with_a_name_of_its_own() {
    let mut session = ida();
    let answer = session.ok("create_label", json!({"name": " later ", "color": "green"}));
    assert_eq!(
        answer,
        json!({"message": "Label 4 is created.", "label_id": 4})
    );
    let expected = json!({"id": 4, "creator": IDA, "name": "later", "color": "green"});
    assert_eq!(record(&mut session, "labels", 4), expected);
    let taken = "Label 1 has the name \"URGENT\" already.";
    check_refused("create_label", json!({"name": "URGENT"}), 409, taken);
    check_refused(
        "create_label",
        json!({"name": ""}),
        422,
        "The name must not be empty.",
    );
    assert_eq!(
        ida()
            .refused("create_label", json!({"name": "x", "color": "mauve"}))
            .status,
        422
    );
}

#[test]
fn a_label_is_put_on_a_task_and_taken_off() {
    let mut session = ida();
    let answer = session.ok("add_label_to_task", json!({"task_id": 1, "label_id": 2}));
    assert_eq!(answer, json!({"message": "Task 1 has label 2 now."}));
    assert_eq!(record(&mut session, "tasks", 1)["label_ids"], json!([1, 2]));
    let mut session = as_bo(session);
    let answer = session.ok(
        "remove_label_from_task",
        json!({"task_id": 1, "label_id": 1}),
    );
    assert_eq!(answer, json!({"message": "Label 1 is taken off task 1."}));
    assert_eq!(record(&mut session, "tasks", 1)["label_ids"], json!([2]));
}

#[test]
fn a_label_that_cannot_be_put_or_taken_off_is_refused() {
    let with = |label: u32| json!({"task_id": 1, "label_id": label});
    check_refused(
        "add_label_to_task",
        with(1),
        422,
        "The task has label 1 already.",
    );
    check_refused("add_label_to_task", with(99), 409, "There is no label 99.");
    check_refused(
        "add_label_to_task",
        with(3),
        422,
        "Label 3 belongs to another account.",
    );
    check_refused(
        "remove_label_from_task",
        with(2),
        422,
        "Task 1 does not have label 2.",
    );
    check_refused(
        "remove_label_from_task",
        with(99),
        409,
        "There is no label 99.",
    );
}

#[test]
fn a_task_has_a_limited_number_of_labels() {
    let mut session = ida();
    for number in 0..50 {
        let label = session.ok("create_label", json!({"name": format!("label {number}")}));
        let label = json!({"task_id": 1, "label_id": label["label_id"]});
        if number < 49 {
            session.ok("add_label_to_task", label);
        } else {
            let error = session.refused("add_label_to_task", label);
            assert_eq!(error, ToolError::invalid("A task has at most 50 labels."));
        }
    }
}

#[test]
fn a_deleted_label_is_taken_off_all_tasks() {
    let mut session = ida();
    let answer = session.ok("delete_label", json!({"label_id": 1}));
    assert_eq!(
        answer,
        json!({"message": "Label 1 is deleted and taken off all tasks."})
    );
    assert_eq!(record(&mut session, "tasks", 1)["label_ids"], json!([]));
    check_id(&[("delete_label", json!({}))], "label_id", "label", 3);
}
