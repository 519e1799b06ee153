use super::*;

#[track_caller]
fn check_seed(list: &str, record: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let fine = json!({"owner": IDA, "name": "Fine"});
    let records = json!({"projects": [fine], list: [record]});
    let expected = match list {
        "projects" => expected.to_owned(),
        _ => format!("{list}[0]: {expected}"),
    };
    let error = app::add(&mut session.app, &records.to_string()).unwrap_err();
    assert_eq!(error.trim_start_matches("projects[0]: "), expected);
    assert_eq!(session.state(), before);
}

#[test]
fn the_state_holds_every_record_and_no_secret() {
    let mut session = ida();
    let state = session.state();
    let lists: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(
        lists,
        [
            "projects",
            "sections",
            "tasks",
            "sub_tasks",
            "labels",
            "comments",
            "notifications"
        ]
    );
    let counts: Vec<usize> = lists
        .iter()
        .map(|list| state[list.as_str()].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [6, 3, 6, 3, 3, 4, 2]);
    let notification = json!({
        "id": 2, "owner": BO, "type": "reminder", "title": "Paint", "message": "The paint is on sale.", "read": true,
        "created_at": "2026-02-02T10:00:00", "data": {"project_id": 5},
    });
    assert_eq!(state["notifications"][1], notification);
    assert_eq!(state["projects"][3]["invited"], json!([CY, "di@fern.test"]));
    let text = state.to_string();
    assert!(!text.contains("\"pw\"") && !text.contains(session.token.as_deref().unwrap()));
}

#[test]
fn a_session_continues_what_the_persona_has() {
    let mut session = ida();
    let records = json!({
        "tasks": [{"project": "thesis", "section": "Writing", "title": "Abstract", "creator": BO, "labels": ["urgent"]}],
        "comments": [{"task": "outline", "author": BO, "content": "Any news?"}],
    });
    app::add(&mut session.app, &records.to_string()).unwrap();
    let task = session.ok("show_task", json!({"task_id": 7}));
    assert_eq!(
        (&task["section_id"], &task["labels"][0]["id"]),
        (&json!(2), &json!(3))
    );
    let comments = session.ok("show_task_comments", json!({"task_id": 1}));
    assert_eq!(ids(&comments, "task_comment_id"), [2, 1, 5]);
}

#[test]
fn names_and_titles_of_a_seed_may_stand_twice_and_tools_make_no_second_project() {
    let mut session = ida();
    let project = json!({"id": "again", "owner": IDA, "name": "Thesis"});
    let task = json!({"id": "both", "project": "again", "title": "Write the outline"});
    let sub_task = json!({"task": "both", "title": "Headings"});
    let records = json!({"projects": [project], "tasks": [task, task.clone()], "sub_tasks": [sub_task, sub_task]});
    let error = app::add(&mut session.app, &records.to_string()).unwrap_err();
    assert_eq!(
        error, "tasks[1]: id: \"both\" is in use already",
        "a key stands once"
    );
    let mut same = task.clone();
    same["id"] = Value::Null;
    let records =
        json!({"projects": [project], "tasks": [task, same], "sub_tasks": [sub_task, sub_task]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    let state = session.state();
    let named = |list: &str, key: &str, name: &str| -> Vec<u64> {
        let records = state[list].as_array().unwrap().iter();
        let named = records.filter(|record| record[key] == name);
        named.map(|record| record["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(named("projects", "name", "Thesis"), [4, 7]);
    assert_eq!(named("tasks", "title", "Write the outline"), [1, 7, 8]);
    assert_eq!(named("sub_tasks", "title", "Headings"), [1, 4, 5]);
    // Each is found by its own id, and keeps its name; nobody makes another one by hand.
    for id in [4, 7] {
        let shown = session.ok("show_project", json!({"project_id": id}));
        assert_eq!(shown["name"], "Thesis");
    }
    let taken = "Project 4 has the name \"Thesis\" already.";
    session.check_refused("create_project", json!({"name": "Thesis"}), 409, taken);
}

#[test]
fn attachments_of_a_seed_are_names_that_are_shown_and_have_no_text() {
    let mut session = ida();
    let comment = |attachments: Value| json!({"task": "outline", "author": BO, "content": "See both", "attachments": attachments});
    let records = json!({"comments": [comment(json!(["a.pdf", "a.pdf"])), comment(json!([]))]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    let listed = session.ok("show_task_comments", json!({"task_id": 1}));
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["attachment_file_names"])
        .collect();
    assert_eq!(
        names,
        [
            &json!([]),
            &json!(["draft.pdf"]),
            &json!(["a.pdf", "a.pdf"]),
            &json!([])
        ]
    );
    let kept = record(&mut session, "comments", 5);
    assert_eq!(kept["attachments"], json!(["a.pdf", "a.pdf"]));
    assert_eq!(kept.get("attachment_texts"), None);
    for wrong in [json!("a.pdf"), json!([{"path": "/a.pdf", "content": "A"}])] {
        let records = json!({"comments": [comment(wrong)]});
        let error = app::add(&mut session.app, &records.to_string()).unwrap_err();
        assert!(error.starts_with("comments[0]: invalid type: "), "{error}");
    }
}

#[test]
fn a_wrong_project_or_label_is_named_and_nothing_is_added() {
    let project = |key: &str, value: Value| {
        let mut project = json!({"owner": IDA, "name": "P"});
        project[key] = value;
        project
    };
    for (key, value, expected) in [
        ("owner", json!("x@y.test"), "owner: x@y.test has no account"),
        ("name", json!(""), "The name must not be empty."),
        ("id", json!("thesis"), "id: \"thesis\" is in use already"),
        (
            "collaborators",
            json!(["x@y.test"]),
            "collaborators: x@y.test has no account",
        ),
        (
            "collaborators",
            json!([IDA]),
            "collaborators: ida@vale.test stands there twice",
        ),
        (
            "invited",
            json!([CY, CY]),
            "invited: cy@moor.test stands there twice",
        ),
        (
            "invited",
            json!(["cy"]),
            "invited: \"cy\" is no email address.",
        ),
        (
            "sections",
            json!([""]),
            "sections: The name must not be empty.",
        ),
    ] {
        check_seed("projects", project(key, value), expected);
    }
    let label = |owner: &str, name: &str| json!({"owner": owner, "name": name});
    check_seed(
        "labels",
        label("x@y.test", "a"),
        "owner: x@y.test has no account",
    );
    check_seed(
        "labels",
        label(BO, "URGENT"),
        "Label 3 has the name \"URGENT\" already.",
    );
}

#[test]
fn a_wrong_task_is_named() {
    let task = |key: &str, value: Value| {
        let mut task = json!({"project": "thesis", "title": "T"});
        task[key] = value;
        task
    };
    for (key, value, expected) in [
        (
            "project",
            json!("no"),
            "project: no project has the key \"no\"",
        ),
        ("project", json!(null), "a project or a creator is needed"),
        (
            "section",
            json!("Move"),
            "section: the project has no section \"Move\"",
        ),
        (
            "creator",
            json!(CY),
            "creator: cy@moor.test is not in project \"thesis\"",
        ),
        ("id", json!("outline"), "id: \"outline\" is in use already"),
        ("title", json!(""), "The title must not be empty."),
        (
            "due_date",
            json!("soon"),
            "due_date: \"soon\" is no date (2026-03-02).",
        ),
        (
            "labels",
            json!(["none"]),
            "labels: ida@vale.test has no label \"none\"",
        ),
        (
            "labels",
            json!(["urgent", "Urgent"]),
            "labels: The task has label 1 already.",
        ),
        (
            "assignee",
            json!(CY),
            "assignee: cy@moor.test is not in the project",
        ),
        ("assigner", json!(BO), "assigner: nobody is assigned"),
    ] {
        check_seed("tasks", task(key, value), expected);
    }
    let unknown = "unknown field `due`, expected one of `id`, `project`, `section`, `creator`, `title`, `description`, \
                   `due_date`, `duration`, `duration_unit`, `priority`, `completed`, `labels`, `assignee`, `assigner`, \
                   `created_at`";
    check_seed("tasks", task("due", json!("x")), unknown);
    let inbox = json!({"creator": "x@y.test", "title": "T"});
    check_seed("tasks", inbox, "creator: x@y.test has no account");
}

#[test]
fn a_wrong_part_of_a_task_is_named() {
    let no_task = "task: no task has the key \"no\"";
    check_seed("sub_tasks", json!({"task": "no", "title": "S"}), no_task);
    check_seed(
        "sub_tasks",
        json!({"task": "read", "title": ""}),
        "The title must not be empty.",
    );
    let comment = |task: &str, author: &str, content: &str| json!({"task": task, "author": author, "content": content});
    check_seed("comments", comment("no", IDA, "C"), no_task);
    let outside = "author: cy@moor.test is not in the project of task \"read\"";
    check_seed("comments", comment("read", CY, "C"), outside);
    check_seed(
        "comments",
        comment("read", IDA, ""),
        "The content must not be empty.",
    );
    let notification = |owner: &str, task: &str| json!({"owner": owner, "type": "reminder", "message": "M", "task": task});
    check_seed(
        "notifications",
        notification("x@y.test", "read"),
        "owner: x@y.test has no account",
    );
    check_seed("notifications", notification(IDA, "no"), no_task);
}

#[test]
fn a_key_of_something_deleted_is_unknown() {
    let mut session = ida();
    session.ok("delete_project", json!({"project_id": 4}));
    let error = app::add(
        &mut session.app,
        r#"{"tasks": [{"project": "thesis", "title": "T"}]}"#,
    )
    .unwrap_err();
    assert_eq!(
        error,
        "tasks[0]: project: no project has the key \"thesis\""
    );
    let comment = json!({"comments": [{"task": "outline", "author": IDA, "content": "C"}]});
    let error = app::add(&mut session.app, &comment.to_string()).unwrap_err();
    assert_eq!(error, "comments[0]: task: no task has the key \"outline\"");
}

#[test]
fn a_list_that_is_unknown_is_named() {
    let error = app::open::<Todoist>(r#"{"records": {"filters": []}}"#).unwrap_err();
    let expected = "unknown key \"filters\", expected one of `labels`, `projects`, `tasks`, `sub_tasks`, `comments`, \
                    `notifications`";
    assert_eq!(error, expected);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<Todoist>(&[
        ("projects", "created_at"),
        ("tasks", "created_at"),
        ("sub_tasks", "created_at"),
        ("comments", "created_at"),
        ("notifications", "created_at"),
    ]);
}
