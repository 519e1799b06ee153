use super::*;

#[track_caller]
fn check_list(arguments: Value, expected: &[u64]) {
    assert_eq!(
        ids(&ida().ok("show_projects", arguments), "project_id"),
        expected
    );
}

#[test]
fn a_project_shows_its_sections_and_people() {
    let mut session = ida();
    let project = session.ok("show_project", json!({"project_id": 4}));
    let person = |name: &str, email: &str| json!({"name": name, "email": email});
    let invite = |index: usize, invitee: Value| {
        let code = &project["pending_invites"][index]["invite_code"];
        json!({"invite_code": code, "invitee": invitee, "inviter": person("Ida Vale", IDA)})
    };
    let expected = json!({
        "name": "Thesis", "color": "blue", "is_inbox": false, "description": "Four chapters", "is_favorite": true,
        "is_archived": false, "created_at": "2026-01-01T10:00:00", "project_id": 4,
        "creator": person("Ida Vale", IDA), "num_tasks": 3,
        "sections": [
            {"id": null, "name": null, "num_tasks": 1}, {"id": 1, "name": "Reading", "num_tasks": 2},
            {"id": 2, "name": "Writing", "num_tasks": 0},
        ],
        "collaborators": [person("Ida Vale", IDA), person("Bo Lind", BO)],
        "pending_invites": [
            invite(0, person("Cy Moor", CY)), invite(1, person("di@fern.test", "di@fern.test")),
        ],
        "is_shared": true,
    });
    assert_eq!(project, expected);
    assert_ne!(
        project["pending_invites"][0]["invite_code"],
        project["pending_invites"][1]["invite_code"]
    );
    let seen_by_bo = as_bo(session).ok("show_project", json!({"project_id": 4}));
    assert_eq!(seen_by_bo["is_favorite"], false);
}

#[test]
fn everybody_has_an_inbox() {
    let inbox = ida().ok("show_project", json!({"project_id": 3}));
    let facts = ["name", "is_inbox", "is_shared", "num_tasks"].map(|key| inbox[key].clone());
    assert_eq!(facts, [json!("Inbox"), json!(true), json!(false), json!(1)]);
}

#[test]
fn the_projects_that_one_is_in_are_listed() {
    check_list(json!({}), &[6, 4, 3]);
    check_list(json!({"page_limit": 1, "page_index": 1}), &[4]);
    check_list(json!({"sort_by": "+created_at"}), &[3, 4, 6]);
    check_list(json!({"page_limit": 21}), &[6, 4, 3]);
    check_list(json!({"query": "chapters"}), &[4]);
    check_list(json!({"query": "boat"}), &[]);
    check_list(json!({"color": "blue"}), &[4]);
    check_list(json!({"is_favorite": false}), &[6, 3]);
    check_list(json!({"is_archived": true}), &[6]);
    check_list(json!({"is_archived": false}), &[4, 3]);
    assert_eq!(
        ids(&bo().ok("show_projects", json!({})), "project_id"),
        [5, 4, 1]
    );
    let fields = "sort_by must be + or - and one of created_at, not \"+size\".";
    check_refused("show_projects", json!({"sort_by": "+size"}), 422, fields);
}

#[test]
fn a_project_is_created_as_told() {
    let mut session = ida();
    let answer = session.ok(
        "create_project",
        json!({"name": " Garden ", "is_favorite": true}),
    );
    assert_eq!(
        answer,
        json!({"message": "Project 7 is created.", "project_id": 7})
    );
    let expected = json!({
        "id": 7, "creator": IDA, "name": "Garden", "color": "charcoal", "description": "", "is_inbox": false,
        "favorite_of": [IDA], "is_archived": false, "collaborators": [], "invited": [],
        "created_at": "2026-03-02T09:00:00",
    });
    assert_eq!(record(&mut session, "projects", 7), expected);
    let refused = [
        (json!({"name": ""}), "The name must not be empty."),
        (
            json!({"name": "x".repeat(201)}),
            "The name has 201 bytes; at most 200 fit.",
        ),
        (
            json!({"name": "x", "description": "x".repeat(16_385)}),
            "The description has 16385 bytes; at most 16384 fit.",
        ),
    ];
    for (project, message) in refused {
        check_refused("create_project", project, 422, message);
    }
    assert_eq!(
        ida()
            .refused("create_project", json!({"name": "x", "color": "pink"}))
            .status,
        422
    );
}

#[test]
fn a_project_is_changed_where_told() {
    let mut session = ida();
    let change = json!({"project_id": 4, "name": "Dissertation", "color": "green", "description": "", "is_favorite": false});
    let answer = session.ok("update_project", change);
    assert_eq!(answer, json!({"message": "Project 4 is updated."}));
    let project = session.ok("show_project", json!({"project_id": 4}));
    let facts = ["name", "color", "description", "is_favorite"].map(|key| project[key].clone());
    assert_eq!(
        facts,
        [
            json!("Dissertation"),
            json!("green"),
            json!(""),
            json!(false)
        ]
    );
    session.ok(
        "update_project",
        json!({"project_id": 3, "is_favorite": true}),
    );
}

#[test]
fn no_two_projects_of_a_creator_and_no_two_sections_of_a_project_get_one_name() {
    let taken = "Project 4 has the name \"Thesis\" already.";
    check_refused("create_project", json!({"name": "Thesis"}), 409, taken);
    let mut session = ida();
    let id = session.ok("create_project", json!({"name": "Garden"}))["project_id"].clone();
    let error = session.refused(
        "update_project",
        json!({"project_id": id, "name": "Thesis"}),
    );
    assert_eq!((error.status, error.message.as_str()), (409, taken));
    session.ok(
        "update_project",
        json!({"project_id": 4, "name": "Thesis", "color": "red"}),
    );
    bo().ok("create_project", json!({"name": "Thesis"}));
    let taken = "Section 1 has the name \"Reading\" already.";
    let section = json!({"project_id": 4, "name": "Reading"});
    check_refused("create_section", section, 409, taken);
    let renamed = json!({"section_id": 2, "name": "Reading"});
    check_refused("update_section", renamed, 409, taken);
    session.ok(
        "update_section",
        json!({"section_id": 1, "name": "Reading"}),
    );
}

#[test]
fn project_0_is_the_inbox_and_section_0_what_is_outside_the_sections() {
    let mut session = ida();
    let inbox = json!({"project_id": 0});
    assert_eq!(session.ok("show_project", inbox.clone())["project_id"], 3);
    assert_eq!(session.ok("show_sections", inbox.clone()), json!([]));
    let task = json!({"project_id": 0, "section_id": 0, "title": "Milk"});
    let id = session.ok("create_task", task)["task_id"].clone();
    let task = session.ok("show_task", json!({"task_id": id}));
    assert_eq!(
        [&task["project_id"], &task["section_id"]],
        [&json!(3), &json!(null)]
    );
    session.ok("create_section", json!({"project_id": 0, "name": "Soon"}));
    session.ok(
        "update_project",
        json!({"project_id": 0, "is_favorite": true}),
    );
    let outside = session.ok("show_tasks", json!({"project_id": 4, "section_id": 0}));
    assert_eq!(ids(&outside["no_section_tasks"], "task_id"), [1]);
    assert_eq!(outside["sections"], json!([]));
    check_refused("delete_project", inbox, 422, "The Inbox cannot be deleted.");
}

#[test]
fn favorites_are_personal() {
    let mut session = bo();
    session.ok(
        "update_project",
        json!({"project_id": 4, "is_favorite": true}),
    );
    assert_eq!(
        record(&mut session, "projects", 4)["favorite_of"],
        json!([BO, IDA])
    );
}

#[test]
fn a_project_comes_out_of_the_archive_with_what_is_changed_about_it() {
    let mut session = ida();
    session.ok(
        "update_project",
        json!({"project_id": 6, "is_archived": false, "name": "New flat"}),
    );
    session.ok("create_task", json!({"project_id": 6, "title": "Paint"}));
    session.ok(
        "update_project",
        json!({"project_id": 6, "is_archived": true}),
    );
    assert_eq!(
        session
            .refused("create_task", json!({"project_id": 6, "title": "Paint"}))
            .status,
        422
    );
    check_archived(
        "update_project",
        json!({"project_id": 6, "name": "New flat"}),
    );
    let both = json!({"project_id": 4, "is_archived": true, "name": "Done"});
    assert_eq!(ida().refused("update_project", both).status, 422);
}

#[test]
fn a_project_change_that_breaks_a_rule_is_refused() {
    let update = "update_project";
    let inbox = "The Inbox can only be made a favorite; everything else about it is fixed.";
    check_refused(update, json!({"project_id": 3, "name": "In"}), 422, inbox);
    check_refused(
        update,
        json!({"project_id": 3, "is_archived": true}),
        422,
        inbox,
    );
    check_refused(
        update,
        json!({"project_id": 4, "name": " "}),
        422,
        "The name must not be empty.",
    );
    let error = bo().refused(update, json!({"project_id": 4, "is_archived": true}));
    assert_eq!(
        error,
        ToolError::invalid("Only the creator, ida@vale.test, can archive project 4.")
    );
}

#[test]
fn a_deleted_project_takes_all_that_was_in_it() {
    let mut session = ida();
    session.ok("delete_project", json!({"project_id": 4}));
    let state = session.state();
    let left = [
        "projects",
        "sections",
        "tasks",
        "sub_tasks",
        "comments",
        "labels",
    ]
    .map(|list| ids(&state[list], "id"));
    let expected = [
        vec![1, 2, 3, 5, 6],
        vec![3],
        vec![4, 5, 6],
        vec![3],
        vec![3, 4],
        vec![1, 2, 3],
    ];
    assert_eq!(left, expected);
    session.ok("delete_project", json!({"project_id": 6}));
    assert_eq!(
        session.ok("create_project", json!({"name": "Next"}))["project_id"],
        7
    );
}

#[test]
fn only_ones_own_project_is_deleted_and_never_an_inbox() {
    check_refused(
        "delete_project",
        json!({"project_id": 3}),
        422,
        "The Inbox cannot be deleted.",
    );
    let error = bo().refused("delete_project", json!({"project_id": 4}));
    assert_eq!(
        error,
        ToolError::invalid("Only the creator, ida@vale.test, can delete project 4.")
    );
}

#[test]
fn a_project_must_exist_and_be_shared_with_oneself() {
    let tools = [
        ("show_project", json!({})),
        ("update_project", json!({"is_favorite": true})),
        ("delete_project", json!({})),
        ("show_sections", json!({})),
        ("create_section", json!({"name": "S"})),
        ("show_tasks", json!({})),
        ("create_task", json!({"title": "T"})),
    ];
    check_id(&tools, "project_id", "project", 5);
}

#[test]
fn sections_are_listed_in_their_order() {
    let mut session = ida();
    let answer = session.ok(
        "create_section",
        json!({"project_id": 4, "name": "Plan", "order_index": 0}),
    );
    assert_eq!(
        answer,
        json!({"message": "Section 4 is created.", "section_id": 4})
    );
    session.ok(
        "create_section",
        json!({"project_id": 4, "name": "Defence"}),
    );
    let sections = session.ok("show_sections", json!({"project_id": 4}));
    assert_eq!(ids(&sections, "section_id"), [4, 1, 2, 5]);
    let expected = json!({
        "project_id": 4, "name": "Plan", "order_index": 0, "created_at": "2026-03-02T09:00:00", "section_id": 4,
        "num_tasks": 0,
    });
    assert_eq!(sections[0], expected);
    assert_eq!(sections[1]["num_tasks"], 2);
}

#[test]
fn a_section_is_renamed_and_moved() {
    let mut session = bo();
    let answer = session.ok(
        "update_section",
        json!({"section_id": 2, "name": "Drafting", "order_index": 0}),
    );
    assert_eq!(answer, json!({"message": "Section 2 is updated."}));
    let expected = json!({
        "id": 2, "project_id": 4, "name": "Drafting", "order_index": 0, "created_at": "2026-01-01T10:00:00",
    });
    assert_eq!(record(&mut session, "sections", 2), expected);
    session.ok(
        "update_section",
        json!({"section_id": 2, "order_index": -1}),
    );
    assert_eq!(record(&mut session, "sections", 2)["order_index"], 1);
}

#[test]
fn a_deleted_section_takes_its_tasks() {
    let mut session = ida();
    let answer = session.ok("delete_section", json!({"section_id": 1}));
    assert_eq!(
        answer,
        json!({"message": "Section 1 is deleted with its tasks."})
    );
    assert_eq!(ids(&session.state()["tasks"], "id"), [1, 4, 5, 6]);
    assert_eq!(
        session.ok("show_project", json!({"project_id": 4}))["num_tasks"],
        1
    );
}

#[test]
fn a_section_that_breaks_a_rule_is_refused() {
    let empty = "The name must not be empty.";
    check_refused(
        "create_section",
        json!({"project_id": 4, "name": ""}),
        422,
        empty,
    );
    check_refused(
        "update_section",
        json!({"section_id": 1, "name": "", "order_index": 1}),
        422,
        empty,
    );
    let index = json!({"project_id": 4, "name": "S", "order_index": -2});
    let message = "Wrong arguments: order_index must be -1 or from 0 on, not -2.";
    check_refused("create_section", index, 422, message);
    check_archived("create_section", json!({"project_id": 6, "name": "S"}));
    check_archived("update_section", json!({"section_id": 3, "name": "S"}));
    check_archived("delete_section", json!({"section_id": 3}));
    let mut session = ida();
    for number in 0..98 {
        session.ok(
            "create_section",
            json!({"project_id": 4, "name": format!("S {number}")}),
        );
    }
    let error = session.refused("create_section", json!({"project_id": 4, "name": "S"}));
    assert_eq!(
        error,
        ToolError::invalid("A project has at most 100 sections.")
    );
}

#[test]
fn a_section_must_exist_and_be_in_ones_projects() {
    let mut session = bo();
    let section = session.ok("create_section", json!({"project_id": 5, "name": "Hull"}));
    session.log_in(IDA, "pw");
    for (tool, arguments) in [
        (
            "update_section",
            json!({"section_id": section["section_id"], "name": "S"}),
        ),
        (
            "delete_section",
            json!({"section_id": section["section_id"]}),
        ),
    ] {
        let foreign = ToolError::invalid("Section 4 belongs to another account.");
        assert_eq!(session.refused(tool, arguments), foreign);
        check_refused(
            tool,
            json!({"section_id": 99}),
            409,
            "There is no section 99.",
        );
    }
}
