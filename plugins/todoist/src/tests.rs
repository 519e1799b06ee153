#![expect(clippy::needless_pass_by_value, reason = "`json!` is written in place")]

use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session, ids};
use pibench_sdk::tool::ToolError;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod cases;
mod comments;
mod labels;
mod model;
mod notifications;
mod projects;
mod records;
mod speed;
mod sub_tasks;
mod tasks;
mod world;

const TOOLS: [&str; 36] = [
    "add_label_to_task",
    "assign_or_unassign_task",
    "create_label",
    "create_project",
    "create_section",
    "create_sub_task",
    "create_task",
    "delete_label",
    "delete_notifications",
    "delete_project",
    "delete_section",
    "delete_sub_task",
    "delete_task",
    "delete_task_comment",
    "login",
    "logout",
    "mark_notification",
    "post_task_comment",
    "remove_label_from_task",
    "search_labels",
    "search_users",
    "show_notifications",
    "show_notifications_count",
    "show_project",
    "show_projects",
    "show_sections",
    "show_sub_tasks",
    "show_task",
    "show_task_comment",
    "show_task_comments",
    "show_tasks",
    "update_project",
    "update_section",
    "update_sub_task",
    "update_task",
    "update_task_comment",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";
const CY: &str = "cy@moor.test";

/// Inboxes: 1 Bo's, 2 Cy's, 3 Ida's. Project 4, Ida's thesis with Bo: sections 1 Reading (tasks 2, 3) and 2 Writing,
/// and task 1 outside them, assigned to Bo by Ida. Project 5, Bo's own: task 4. Project 6, Ida's, archived: section 3
/// with task 5 and sub-task 3. Task 6 in Ida's inbox. Task 1 has sub-tasks 1 and 2, and comments 1 by Bo and 2 by Ida.
/// Labels 1 urgent and 2 reading are Ida's, 3 is Bo's; comment 3 is Bo's in his own project. Comment 4 and sub-task 3
/// are in the archive. Notification 1 is Ida's, 2 Bo's.
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida", "last_name": "Vale", "email": IDA, "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": BO, "password": "pb"},
            {"first_name": "Cy", "last_name": "Moor", "email": CY, "password": "pc"},
        ],
        "records": {
            "labels": [
                {"owner": IDA, "name": "urgent", "color": "red"},
                {"owner": IDA, "name": "reading"},
                {"owner": BO, "name": "Urgent"},
            ],
            "projects": [
                {"id": "thesis", "owner": IDA, "name": "Thesis", "color": "blue", "description": "Four chapters",
                 "favorite": true, "collaborators": [BO], "invited": [CY, "di@fern.test"],
                 "sections": ["Reading", "Writing"], "created_at": "2026-01-01T10:00:00"},
                {"id": "boat", "owner": BO, "name": "Boat", "created_at": "2026-01-02T10:00:00"},
                {"id": "old", "owner": IDA, "name": "Old flat", "archived": true, "sections": ["Move"],
                 "created_at": "2026-01-03T10:00:00"},
            ],
            "tasks": [
                {"id": "outline", "project": "thesis", "title": "Write the outline", "description": "One page",
                 "due_date": "2026-03-01", "duration": 1.5, "duration_unit": "hours", "priority": "high",
                 "labels": ["urgent"], "assignee": BO, "created_at": "2026-01-04T10:00:00"},
                {"id": "read", "project": "thesis", "section": "Reading", "title": "Read chapter one",
                 "due_date": "2026-03-02", "created_at": "2026-01-05T10:00:00"},
                {"project": "thesis", "section": "Reading", "title": "Return books", "completed": true,
                 "due_date": "2026-02-01", "priority": "low", "creator": BO, "created_at": "2026-01-06T10:00:00"},
                {"id": "sand", "project": "boat", "title": "Sand the hull", "created_at": "2026-01-07T10:00:00"},
                {"id": "boxes", "project": "old", "section": "Move", "title": "Pack boxes",
                 "created_at": "2026-01-08T10:00:00"},
                {"creator": IDA, "title": "Buy stamps", "created_at": "2026-01-09T10:00:00"},
            ],
            "sub_tasks": [
                {"task": "outline", "title": "Headings", "completed": true, "created_at": "2026-01-10T10:00:00"},
                {"task": "outline", "title": "Sources", "priority": "low", "duration": 30, "duration_unit": "minutes",
                 "created_at": "2026-01-10T11:00:00"},
                {"task": "boxes", "title": "Find boxes"},
            ],
            "comments": [
                {"task": "outline", "author": BO, "content": "Three chapters?", "attachments": ["draft.pdf"],
                 "created_at": "2026-02-02T10:00:00"},
                {"task": "outline", "author": IDA, "content": "Four.", "created_at": "2026-02-01T10:00:00"},
                {"task": "sand", "author": BO, "content": "Buy sandpaper"},
                {"task": "boxes", "author": IDA, "content": "Done"},
            ],
            "notifications": [
                {"owner": IDA, "type": "comment_posted", "message": "Bo Lind commented on a task: Write the outline",
                 "by": BO, "task": "outline", "created_at": "2026-02-01T10:00:00"},
                {"owner": BO, "type": "reminder", "title": "Paint", "message": "The paint is on sale.", "read": true,
                 "project": "boat", "created_at": "2026-02-02T10:00:00"},
            ],
        },
    })
}

fn open(email: &str, password: &str) -> Session<Todoist> {
    let mut session = Session::open(&seed());
    session.log_in(email, password);
    session
}

fn ida() -> Session<Todoist> {
    open(IDA, "pw")
}

fn bo() -> Session<Todoist> {
    open(BO, "pb")
}

/// The same app, with Bo at the keyboard.
fn as_bo(mut session: Session<Todoist>) -> Session<Todoist> {
    session.log_in(BO, "pb");
    session
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

/// Tools that take this id, with whatever else they need: 409 for an unknown one, 422 for one of Bo's.
#[track_caller]
fn check_id(tools: &[(&str, Value)], key: &str, kind: &str, foreign: u32) {
    for (tool, rest) in tools {
        let with_id = |id: u32| {
            let mut arguments = rest.clone();
            arguments[key] = json!(id);
            arguments
        };
        check_refused(tool, with_id(99), 409, &format!("There is no {kind} 99."));
        let (first, others) = kind.split_at(1);
        let message = format!(
            "{}{others} {foreign} belongs to another account.",
            first.to_uppercase()
        );
        check_refused(tool, with_id(foreign), 422, &message);
    }
}

/// Changes in project 6, which is in the archive.
#[track_caller]
fn check_archived(tool: &str, arguments: Value) {
    let message =
        "Project 6 is archived, so nothing in it can be changed. Set is_archived to false first.";
    check_refused(tool, arguments, 422, message);
}

/// A record of the state.
fn record(session: &mut Session<Todoist>, list: &str, id: u32) -> Value {
    let state = session.state();
    let mut records = state[list].as_array().unwrap().iter();
    records
        .find(|record| record["id"] == id)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<Todoist>(&TOOLS);
}

#[test]
fn every_private_tool_needs_a_token() {
    for tool in TOOLS
        .iter()
        .filter(|tool| !["login", "search_users"].contains(tool))
    {
        let error = ida().refused(tool, json!({"access_token": "guess"}));
        assert_eq!(error.status, 401, "{tool}");
        let mut stranger = Session::<Todoist>::open(&seed());
        assert_eq!(stranger.refused(tool, json!({})).status, 401, "{tool}");
    }
}

#[test]
fn a_login_is_checked_and_a_logout_ends_it() {
    let login = json!({"username": IDA, "password": "pb"});
    check_refused(
        "login",
        login,
        401,
        "The user name or the password is wrong.",
    );
    let mut session = ida();
    session.ok("logout", json!({}));
    assert_eq!(session.refused("show_projects", json!({})).status, 401);
}

#[test]
fn an_unknown_tool_is_named() {
    check_refused(
        "share_project",
        json!({}),
        404,
        "There is no tool share_project.",
    );
}

#[test]
fn people_are_found_by_name_and_address() {
    let mut stranger = Session::<Todoist>::open(&seed());
    let found = stranger.ok("search_users", json!({"query": "lind"}));
    let expected = json!([{
        "first_name": "Bo", "last_name": "Lind", "email": BO, "registered_at": "2020-01-01T00:00:00",
    }]);
    assert_eq!(found, expected);
    let all = stranger.ok("search_users", json!({"page_limit": 2, "page_index": 1}));
    assert_eq!(all[0]["email"], IDA);
    assert_eq!(
        stranger.ok("search_users", json!({"query": "zorro"})),
        json!([])
    );
    let none = stranger.refused("search_users", json!({"page_limit": 0}));
    assert_eq!(none.status, 422);
}
