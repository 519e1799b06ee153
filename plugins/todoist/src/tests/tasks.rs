use super::*;

/// The tasks of Ida's thesis that are listed: outside the sections, and in each.
#[track_caller]
fn check_list(mut arguments: Value, outside: &[u64], sections: &[&[u64]]) {
    arguments["project_id"] = json!(4);
    let answer = ida().ok("show_tasks", arguments);
    assert_eq!(ids(&answer["no_section_tasks"], "task_id"), outside);
    let in_sections = answer["sections"].as_array().unwrap().iter();
    let in_sections: Vec<Vec<u64>> = in_sections
        .map(|section| ids(&section["tasks"], "task_id"))
        .collect();
    assert_eq!(in_sections, sections);
}

#[test]
fn a_task_is_shown_whole() {
    let person = |name: &str, email: &str| json!({"name": name, "email": email});
    let expected = json!({
        "project_id": 4, "section_id": null, "title": "Write the outline", "description": "One page",
        "due_date": "2026-03-01T00:00:00", "priority": "high", "is_completed": false, "duration": 1.5, "duration_unit": "hours",
        "order_index": 0, "assignee": person("Bo Lind", BO), "assigner": person("Ida Vale", IDA),
        "created_at": "2026-01-04T10:00:00", "task_id": 1, "labels": [{"id": 1, "color": "red", "name": "urgent"}],
        "creator": person("Ida Vale", IDA), "num_sub_tasks": 2,
    });
    assert_eq!(ida().ok("show_task", json!({"task_id": 1})), expected);
    assert_eq!(bo().ok("show_task", json!({"task_id": 1})), expected);
}

#[test]
fn tasks_are_listed_by_section() {
    let answer = ida().ok("show_tasks", json!({"project_id": 4}));
    let expected = json!({
        "order_index": 0, "task_id": 1, "title": "Write the outline", "description": "One page", "num_sub_tasks": 2,
        "is_completed": false, "due_date": "2026-03-01T00:00:00", "priority": "high", "duration": 1.5, "duration_unit": "hours",
        "assignee": {"name": "Bo Lind", "email": BO}, "labels": [{"id": 1, "color": "red", "name": "urgent"}],
    });
    assert_eq!(answer["no_section_tasks"], json!([expected]));
    assert_eq!(answer["project_id"], 4);
    assert_eq!(ids(&answer["sections"], "section_id"), [1, 2]);
    check_list(json!({}), &[1], &[&[2, 3], &[]]);
    check_list(json!({"section_id": 1}), &[], &[&[2, 3]]);
}

#[test]
fn tasks_are_filtered() {
    check_list(json!({"assignee_email": "Bo@lind.test"}), &[1], &[&[], &[]]);
    check_list(json!({"assignee_email": IDA}), &[], &[&[], &[]]);
    check_list(json!({"assigner_email": IDA}), &[1], &[&[], &[]]);
    check_list(json!({"priority": "low"}), &[], &[&[3], &[]]);
    check_list(json!({"is_completed": false}), &[1], &[&[2], &[]]);
    check_list(json!({"label_id": 1}), &[1], &[&[], &[]]);
    let mut session = ida();
    let mut refused = |key: &str, value: Value| {
        let error = session.refused("show_tasks", json!({"project_id": 4, key: value}));
        (error.status, error.message)
    };
    let no_label = (409, "There is no label 77.".to_owned());
    assert_eq!(refused("label_id", json!(77)), no_label);
    for key in ["assignee_email", "assigner_email"] {
        let nobody = (409, "There is no account x@y.test.".to_owned());
        assert_eq!(refused(key, json!("x@y.test")), nobody);
    }
}

#[test]
fn tasks_are_filtered_by_date_and_those_without_one_are_no_error() {
    let mut session = ida();
    session.ok("create_task", json!({"project_id": 4, "title": "Some day"}));
    let mut list = |filter: Value| {
        let mut arguments = filter;
        arguments["project_id"] = json!(4);
        let answer = session.ok("show_tasks", arguments);
        let mut found = ids(&answer["no_section_tasks"], "task_id");
        found.extend(ids(&answer["sections"][0]["tasks"], "task_id"));
        found
    };
    assert_eq!(list(json!({})), [1, 7, 2, 3]);
    assert_eq!(list(json!({"overdue": true})), [1, 3], "completed or not");
    assert_eq!(list(json!({"due_today": true})), [2]);
    assert_eq!(list(json!({"min_due_date": "2026-03-01"})), [1, 2]);
    assert_eq!(list(json!({"max_due_date": "2026-03-01"})), [1, 3]);
    assert_eq!(
        list(json!({"min_due_date": "1500-01-01", "max_due_date": "3000-01-01"})),
        [1, 7, 2, 3]
    );
}

#[test]
fn dates_are_asked_for_in_one_way() {
    let both = "Give only one of due_today, overdue, and a min_due_date or max_due_date.";
    for dates in [
        json!({"due_today": true, "overdue": true}),
        json!({"due_today": true, "min_due_date": "2026-03-01"}),
        json!({"overdue": true, "max_due_date": "2026-03-01"}),
    ] {
        let mut arguments = dates;
        arguments["project_id"] = json!(4);
        check_refused("show_tasks", arguments, 422, both);
    }
    check_list(
        json!({"due_today": true, "min_due_date": "1500-01-01"}),
        &[],
        &[&[2], &[]],
    );
}

#[test]
fn a_label_finds_the_tasks_that_have_one_of_its_name() {
    let mut session = bo();
    let other = json!({"project_id": 4, "label_id": 3});
    let listed = session.ok("show_tasks", other);
    assert_eq!(listed["no_section_tasks"], json!([]), "Urgent is another");
    session.ok("delete_label", json!({"label_id": 3}));
    let label = session.ok("create_label", json!({"name": "urgent"}))["label_id"].clone();
    let listed = session.ok("show_tasks", json!({"project_id": 4, "label_id": label}));
    assert_eq!(ids(&listed["no_section_tasks"], "task_id"), [1]);
}

#[test]
fn tasks_are_sorted_within_their_sections() {
    check_list(json!({"sort_by": "-order_index"}), &[1], &[&[3, 2], &[]]);
    check_list(json!({"sort_by": "+due_date"}), &[1], &[&[3, 2], &[]]);
    check_list(json!({"sort_by": "-priority"}), &[1], &[&[2, 3], &[]]);
    let mut session = ida();
    session.ok(
        "create_task",
        json!({"project_id": 4, "title": "Some day", "order_index": 0}),
    );
    for sort_by in ["+due_date", "-due_date"] {
        let answer = session.ok("show_tasks", json!({"project_id": 4, "sort_by": sort_by}));
        assert_eq!(
            ids(&answer["no_section_tasks"], "task_id"),
            [1, 7],
            "no date comes last"
        );
    }
    let fields =
        "sort_by must be + or - and one of order_index, due_date, priority, not \"+size\".";
    check_refused(
        "show_tasks",
        json!({"project_id": 4, "sort_by": "+size"}),
        422,
        fields,
    );
}

#[test]
fn a_list_of_tasks_that_cannot_be_is_refused() {
    let show = |key: &str, value: Value| json!({"project_id": 4, key: value});
    check_refused(
        "show_tasks",
        show("section_id", json!(99)),
        409,
        "There is no section 99.",
    );
    check_refused(
        "show_tasks",
        show("section_id", json!(3)),
        422,
        "Section 3 is not in project 4.",
    );
    check_refused(
        "show_tasks",
        show("assignee_email", json!("bo")),
        422,
        "\"bo\" is no email address.",
    );
    assert_eq!(
        ida()
            .refused("show_tasks", show("min_due_date", json!("soon")))
            .status,
        422
    );
}

#[test]
fn a_task_is_created_as_told() {
    let mut session = ida();
    let task = json!({
        "project_id": 4, "section_id": 1, "title": " Find sources ", "description": "Ten", "due_date": "2026-03-09",
        "duration": 2, "duration_unit": "days", "order_index": 1, "priority": "low",
    });
    let answer = session.ok("create_task", task);
    assert_eq!(
        answer,
        json!({"message": "Task 7 is created.", "task_id": 7})
    );
    let expected = json!({
        "id": 7, "project_id": 4, "section_id": 1, "order_index": 1, "creator": IDA, "title": "Find sources",
        "description": "Ten", "due_date": "2026-03-09", "priority": "low", "is_completed": false, "duration": 2,
        "duration_unit": "days", "assignee": null, "assigner": null, "label_ids": [],
        "created_at": "2026-03-02T09:00:00",
    });
    assert_eq!(record(&mut session, "tasks", 7), expected);
    let listed = session.ok("show_tasks", json!({"project_id": 4, "section_id": 1}));
    assert_eq!(ids(&listed["sections"][0]["tasks"], "task_id"), [2, 7, 3]);
}

#[test]
fn a_task_in_the_inbox_needs_only_a_title() {
    let mut session = ida();
    session.ok("create_task", json!({"project_id": 3, "title": "Call"}));
    let task = session.ok("show_task", json!({"task_id": 7}));
    let facts = [
        "section_id",
        "due_date",
        "priority",
        "duration",
        "duration_unit",
        "assignee",
        "order_index",
    ];
    let expected = [
        json!(null),
        json!(null),
        json!("medium"),
        json!(null),
        json!(null),
        json!(null),
        json!(1),
    ];
    assert_eq!(facts.map(|key| task[key].clone()), expected);
}

#[test]
fn what_is_to_be_done_must_keep_the_rules() {
    let both = "duration and duration_unit go together: give both.";
    for (key, value, message) in [
        ("title", json!(" "), "The title must not be empty."),
        (
            "title",
            json!("x".repeat(501)),
            "The title has 501 bytes; at most 500 fit.",
        ),
        (
            "description",
            json!("x".repeat(16_385)),
            "The description has 16385 bytes; at most 16384 fit.",
        ),
        (
            "due_date",
            json!("9 March"),
            "due_date: \"9 March\" is no date (2026-03-02).",
        ),
        (
            "due_date",
            json!("2026-03-09T10:00:00"),
            "due_date: \"2026-03-09T10:00:00\" is no date (2026-03-02).",
        ),
        ("duration", json!(5), both),
        ("duration_unit", json!("hours"), both),
    ] {
        let with = |mut arguments: Value| {
            arguments[key] = value.clone();
            arguments
        };
        check_refused(
            "create_task",
            with(json!({"project_id": 4, "title": "T"})),
            422,
            message,
        );
        check_refused("update_task", with(json!({"task_id": 2})), 422, message);
        check_refused(
            "create_sub_task",
            with(json!({"task_id": 2, "title": "T"})),
            422,
            message,
        );
        check_refused(
            "update_sub_task",
            with(json!({"sub_task_id": 1})),
            422,
            message,
        );
    }
    let negative = json!({"project_id": 4, "title": "T", "duration": -1, "duration_unit": "hours"});
    check_refused(
        "create_task",
        negative,
        422,
        "duration must be more than 0 and at most 1000000, not -1.",
    );
    for (key, value) in [
        ("priority", json!("urgent")),
        ("order_index", json!(-2)),
        ("duration_unit", json!("weeks")),
    ] {
        let task = json!({"project_id": 4, "title": "T", key: value});
        assert_eq!(ida().refused("create_task", task).status, 422);
    }
}

#[test]
fn a_task_goes_into_a_section_of_its_project_that_is_open() {
    let task = |project: u32, section: u32| json!({"project_id": project, "title": "T", "section_id": section});
    check_refused("create_task", task(4, 99), 409, "There is no section 99.");
    check_refused(
        "create_task",
        task(4, 3),
        422,
        "Section 3 is not in project 4.",
    );
    check_archived("create_task", task(6, 3));
}

#[test]
fn a_task_is_changed_where_told() {
    let mut session = bo();
    let change = json!({"task_id": 1, "title": "Outline", "duration": 2, "priority": "low", "due_date": "2026-03-05"});
    let answer = session.ok("update_task", change);
    assert_eq!(answer, json!({"message": "Task 1 is updated."}));
    let task = record(&mut session, "tasks", 1);
    let facts = [
        "title",
        "description",
        "duration",
        "duration_unit",
        "priority",
        "due_date",
        "creator",
    ];
    let expected = [
        "Outline",
        "One page",
        "2",
        "hours",
        "low",
        "2026-03-05",
        IDA,
    ];
    let shown = facts.map(|key| {
        task[key]
            .as_str()
            .map_or_else(|| task[key].to_string(), str::to_owned)
    });
    assert_eq!(shown, expected);
}

#[test]
fn an_empty_date_and_a_duration_of_nothing_are_taken_away() {
    let mut session = ida();
    session.ok(
        "update_task",
        json!({"task_id": 1, "due_date": "", "duration": 0}),
    );
    let task = record(&mut session, "tasks", 1);
    let facts = ["due_date", "duration", "duration_unit"].map(|key| task[key].clone());
    assert_eq!(facts, [json!(null), json!(null), json!(null)]);
}

#[test]
fn the_word_none_takes_a_date_away() {
    let mut session = ida();
    session.ok(
        "update_task",
        json!({"task_id": 1, "due_date": "2026-03-09"}),
    );
    let due = session.ok("show_task", json!({"task_id": 1}))["due_date"].clone();
    assert_eq!(due, json!("2026-03-09T00:00:00"));
    // What is shown is taken too.
    let shown = json!({"task_id": 1, "due_date": due.clone()});
    session.ok("update_task", shown);
    for none in ["None", " none"] {
        session.ok("update_task", json!({"task_id": 1, "due_date": none}));
        assert_eq!(record(&mut session, "tasks", 1)["due_date"], json!(null));
        session.ok("update_task", json!({"task_id": 1, "due_date": due}));
    }
    let none = "due_date: \"None\" is no date (2026-03-02).";
    let task = json!({"project_id": 4, "title": "T", "due_date": "None"});
    check_refused("create_task", task, 422, none);
    let sub_task = json!({"task_id": 1, "title": "T", "due_date": "None"});
    check_refused("create_sub_task", sub_task, 422, none);
    let task = json!({"project_id": 4, "title": "T", "due_date": ""});
    session.ok("create_task", task);
}

#[test]
fn a_task_is_moved_within_its_section() {
    let mut session = ida();
    session.ok("update_task", json!({"task_id": 3, "order_index": 0}));
    assert_eq!(
        [2, 3].map(|id| session.ok("show_task", json!({"task_id": id}))["order_index"].clone()),
        [1, 0]
    );
    session.ok("update_task", json!({"task_id": 3, "order_index": 50}));
    assert_eq!(
        session.ok("show_task", json!({"task_id": 3}))["order_index"],
        1
    );
}

#[test]
fn a_task_is_completed_and_opened_again_without_its_sub_tasks() {
    let mut session = ida();
    session.ok("update_task", json!({"task_id": 1, "is_completed": true}));
    assert_eq!(record(&mut session, "tasks", 1)["is_completed"], true);
    assert_eq!(record(&mut session, "sub_tasks", 2)["is_completed"], false);
    session.ok("update_task", json!({"task_id": 1, "is_completed": false}));
    assert_eq!(record(&mut session, "tasks", 1)["is_completed"], false);
}

#[test]
fn a_task_change_that_is_none_changes_nothing() {
    let before = ida().state();
    let mut session = ida();
    session.ok("update_task", json!({"task_id": 1}));
    assert_eq!(session.state(), before);
    let half = json!({"task_id": 3, "order_index": 0, "title": ""});
    check_refused("update_task", half, 422, "The title must not be empty.");
}

#[test]
fn a_deleted_task_takes_its_sub_tasks_and_comments() {
    let mut session = ida();
    let answer = session.ok("delete_task", json!({"task_id": 1}));
    assert_eq!(answer, json!({"message": "Task 1 is deleted."}));
    let state = session.state();
    let left = ["tasks", "sub_tasks", "comments"].map(|list| ids(&state[list], "id"));
    assert_eq!(left, [vec![2, 3, 4, 5, 6], vec![3], vec![3, 4]]);
    assert_eq!(
        session.ok("show_project", json!({"project_id": 4}))["num_tasks"],
        2
    );
}

#[test]
fn a_task_is_assigned_to_somebody_else_and_to_nobody() {
    let mut session = bo();
    let answer = session.ok(
        "assign_or_unassign_task",
        json!({"task_id": 1, "assignee_email": "Ida@vale.test"}),
    );
    assert_eq!(
        answer,
        json!({"message": "Task 1 is assigned to ida@vale.test."})
    );
    let task = record(&mut session, "tasks", 1);
    assert_eq!([&task["assignee"], &task["assigner"]], [IDA, BO]);
    let answer = session.ok("assign_or_unassign_task", json!({"task_id": 1}));
    assert_eq!(
        answer,
        json!({"message": "Task 1 is assigned to nobody now."})
    );
    let task = record(&mut session, "tasks", 1);
    assert_eq!(
        [&task["assignee"], &task["assigner"]],
        [&json!(null), &json!(null)]
    );
}

#[test]
fn an_assignment_that_breaks_a_rule_is_refused() {
    let assign = |task: u32, email: &str| json!({"task_id": task, "assignee_email": email});
    let tool = "assign_or_unassign_task";
    check_refused(
        tool,
        assign(1, CY),
        422,
        "cy@moor.test is not in project 4.",
    );
    let nobody = "There is no account x@y.test.";
    check_refused(tool, assign(1, "x@y.test"), 409, nobody);
    check_refused(tool, assign(1, "bo"), 422, "\"bo\" is no email address.");
}

#[test]
fn what_is_so_already_is_taken_once_more() {
    let mut session = bo();
    let assign = json!({"task_id": 1, "assignee_email": BO});
    session.ok("assign_or_unassign_task", assign);
    let task = record(&mut session, "tasks", 1);
    assert_eq!([&task["assignee"], &task["assigner"]], [BO, BO]);
    session.ok("assign_or_unassign_task", json!({"task_id": 2}));
    assert_eq!(record(&mut session, "tasks", 2)["assignee"], json!(null));
    for _ in 0..2 {
        session.ok("update_task", json!({"task_id": 1, "is_completed": true}));
        let done = json!({"sub_task_id": 2, "is_completed": true});
        session.ok("update_sub_task", done);
    }
    session.log_in(IDA, "pw");
    let archived = json!({"project_id": 6, "is_archived": true});
    session.ok("update_project", archived);
    assert_eq!(record(&mut session, "projects", 6)["is_archived"], true);
}

#[test]
fn a_task_must_exist_and_be_in_ones_projects() {
    let tools = [
        ("show_task", json!({})),
        ("update_task", json!({"title": "T"})),
        ("delete_task", json!({})),
        ("assign_or_unassign_task", json!({"assignee_email": IDA})),
        ("show_sub_tasks", json!({})),
        ("create_sub_task", json!({"title": "S"})),
        ("add_label_to_task", json!({"label_id": 1})),
        ("remove_label_from_task", json!({"label_id": 1})),
        ("search_labels", json!({})),
        ("show_task_comments", json!({})),
        ("post_task_comment", json!({"content": "C"})),
    ];
    check_id(&tools, "task_id", "task", 4);
}

#[test]
fn nothing_in_the_archive_is_changed() {
    for (tool, arguments) in [
        ("update_task", json!({"task_id": 5, "title": "T"})),
        ("delete_task", json!({"task_id": 5})),
        (
            "assign_or_unassign_task",
            json!({"task_id": 5, "assignee_email": IDA}),
        ),
        ("create_sub_task", json!({"task_id": 5, "title": "S"})),
        ("update_sub_task", json!({"sub_task_id": 3, "title": "S"})),
        ("delete_sub_task", json!({"sub_task_id": 3})),
        ("add_label_to_task", json!({"task_id": 5, "label_id": 1})),
        (
            "remove_label_from_task",
            json!({"task_id": 5, "label_id": 1}),
        ),
        ("post_task_comment", json!({"task_id": 5, "content": "C"})),
        (
            "update_task_comment",
            json!({"task_comment_id": 4, "content": "C"}),
        ),
        ("delete_task_comment", json!({"task_comment_id": 4})),
    ] {
        check_archived(tool, arguments);
    }
    ida().ok("show_task", json!({"task_id": 5}));
}
