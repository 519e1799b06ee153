//! Work on a section does not grow with its tasks, and what a project may hold can be shown.

use std::time::{Duration, Instant};

use super::*;

/// A project of Ida's with one section of so many tasks: 7 and 4.
fn filled(tasks: u32) -> Session<Todoist> {
    let mut session = ida();
    session.ok("create_project", json!({"name": "Full"}));
    session.ok("create_section", json!({"project_id": 7, "name": "Full"}));
    for _ in 0..tasks {
        session.ok(
            "create_task",
            json!({"project_id": 7, "section_id": 4, "title": "T"}),
        );
    }
    session
}

/// The shortest of many times for one task's life: made at the front, moved to the end, deleted.
fn fastest(session: &mut Session<Todoist>) -> Duration {
    let mut life = || {
        let begun = Instant::now();
        let task = session.ok(
            "create_task",
            json!({"project_id": 7, "section_id": 4, "title": "T", "order_index": 0}),
        );
        session.ok(
            "update_task",
            json!({"task_id": task["task_id"], "order_index": -1}),
        );
        session.ok("delete_task", json!({"task_id": task["task_id"]}));
        begun.elapsed()
    };
    (0..200).map(|_| life()).min().unwrap_or_default()
}

#[test]
fn a_long_section_is_as_fast_as_a_short_one() {
    let [short, long] = [10, 1000].map(|tasks| fastest(&mut filled(tasks)));
    // Twice is far from the hundredfold that going through the tasks would cost.
    assert!(
        long < short * 2,
        "{short:?} with 10 tasks, {long:?} with 1,000"
    );
}

#[test]
fn a_project_holds_as_many_tasks_as_one_answer_shows() {
    let mut session = filled(2000);
    let error = session.refused("create_task", json!({"project_id": 7, "title": "T"}));
    assert_eq!(
        error,
        ToolError::invalid("A project has at most 2000 tasks.")
    );
    let shown = session.ok("show_tasks", json!({"project_id": 7}));
    assert_eq!(
        shown["sections"][0]["tasks"].as_array().unwrap().len(),
        2000
    );
}
