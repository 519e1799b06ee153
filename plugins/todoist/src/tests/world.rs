//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

use crate::world::{COMMENTS, INBOXES, LABELS, PROJECTS, SECTIONS, SUB_TASKS, TASKS};

#[test]
fn what_is_in_the_worlds_projects_names_each_other() {
    let app = Session::<Todoist>::in_the_world(0, false).app;
    let mut sections = 0;
    for (id, project) in PROJECTS {
        for section in &project.sections {
            assert_eq!(app.sections.get(*section).unwrap().project, *id);
            sections += 1;
        }
    }
    assert_eq!(sections, SECTIONS.len());
    let mut tasks = 0;
    for (id, section) in SECTIONS {
        for task in &section.tasks {
            let task = app.tasks.get(*task).unwrap();
            assert_eq!((task.section, task.project), (Some(*id), section.project));
            tasks += 1;
        }
    }
    assert_eq!(tasks, TASKS.len());
    assert!(tasks > 500, "{tasks}");
    for (id, task) in TASKS {
        let project = app.projects.get(task.project).unwrap();
        assert!(
            task.assignment
                .iter()
                .all(|it| project.has_member(&it.assignee))
        );
        assert!(
            task.labels
                .iter()
                .all(|it| LABELS[*it as usize - 1].1.creator == task.creator)
        );
        assert!(
            task.sub_tasks
                .iter()
                .all(|it| app.sub_tasks.get(*it).unwrap().task == *id)
        );
        assert!(
            task.comments
                .iter()
                .all(|it| app.comments.get(*it).unwrap().task == *id)
        );
    }
    let of_tasks: usize = TASKS.iter().map(|(_, task)| task.sub_tasks.len()).sum();
    assert_eq!(of_tasks, SUB_TASKS.len());
    let of_tasks: usize = TASKS.iter().map(|(_, task)| task.comments.len()).sum();
    assert_eq!(of_tasks, COMMENTS.len());
    for (owner, inbox) in INBOXES {
        let inbox = app.projects.get(inbox.0).unwrap();
        assert!(inbox.is_inbox && inbox.creator == *owner);
    }
}

#[test]
fn a_seed_person_gets_an_inbox_after_the_worlds_projects() {
    let person = json!({"first_name": "Ida", "last_name": "Vale", "email": "ida@vale.example", "password": "pw"});
    let mut session = Session::<Todoist>::open(&json!({"world": true, "people": [person]}));
    session.log_in("ida@vale.example", "pw");
    let projects = session.ok("show_projects", json!({}));
    assert_eq!(projects[0]["project_id"], PROJECTS.len() + 1);
    let state = session.state();
    assert_eq!(state["projects"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_task_of_the_world_that_is_completed_is_told_with_what_it_was() {
    let (owner, id) = TASKS
        .iter()
        .find(|(_, task)| !task.work.is_completed && !archived(task.project))
        .map(|(id, task)| (task.creator.clone(), *id))
        .unwrap();
    let person = INBOXES
        .iter()
        .position(|(email, _)| *email == owner)
        .unwrap();
    let mut session = Session::<Todoist>::in_the_world(person, false);
    session.ok("update_task", json!({"task_id": id, "is_completed": true}));
    let state = session.state();
    assert_eq!(state["tasks"].as_array().map(Vec::len), Some(1));
    assert_eq!(state["tasks"][0]["world"], json!({"is_completed": false}));
}

fn archived(project: u32) -> bool {
    PROJECTS[project as usize - 1].1.is_archived
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["urgent", "high", "2026-03-09", "hours", "-due_date", "fenwood", "", "Next"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<Todoist>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        prop_assert!(session.state().is_object());
    }
}
