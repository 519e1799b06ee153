//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

use crate::world::{INBOXES, LABELS, PROJECTS, TASKS};

/// The tree of projects, sections, tasks and what hangs on them: everything stands in exactly one list, that of what it
/// names as its parent.
fn assert_whole(app: &Todoist) {
    let (mut sections, mut tasks, mut sub_tasks, mut comments) = <[Vec<u32>; 4]>::default().into();
    for (id, project) in app.projects.iter() {
        for section in &project.sections {
            assert_eq!(app.sections.get(*section).unwrap().project, id);
        }
        for task in &project.tasks {
            let task = app.tasks.get(*task).unwrap();
            assert_eq!((task.section, task.project), (None, id));
        }
        sections.extend(project.sections.iter());
        tasks.extend(project.tasks.iter());
    }
    for (id, section) in app.sections.iter() {
        for task in &section.tasks {
            let task = app.tasks.get(*task).unwrap();
            assert_eq!((task.section, task.project), (Some(id), section.project));
        }
        tasks.extend(section.tasks.iter());
    }
    for (id, task) in app.tasks.iter() {
        let project = app.projects.get(task.project).unwrap();
        let mut assigned = task.assignment.iter();
        assert!(assigned.all(|it| project.has_member(&it.assignee)));
        let labels = task.labels.iter();
        assert!(labels.copied().all(|it| app.labels.get(it).is_some()));
        let mut under = task.sub_tasks.iter();
        assert!(under.all(|it| app.sub_tasks.get(*it).unwrap().task == id));
        let mut said = task.comments.iter();
        assert!(said.all(|it| app.comments.get(*it).unwrap().task == id));
        sub_tasks.extend(task.sub_tasks.iter());
        comments.extend(task.comments.iter());
    }
    let once = |mut listed: Vec<u32>, all: Vec<u32>| {
        listed.sort_unstable();
        assert_eq!(listed, all);
    };
    once(sections, app.sections.iter().map(|(id, _)| id).collect());
    once(tasks, app.tasks.iter().map(|(id, _)| id).collect());
    once(sub_tasks, app.sub_tasks.iter().map(|(id, _)| id).collect());
    once(comments, app.comments.iter().map(|(id, _)| id).collect());
}

#[test]
fn what_is_in_the_worlds_projects_names_each_other() {
    let app = Session::<Todoist>::in_the_world(0, false).app;
    assert_whole(&app);
    assert!(TASKS.len() > 500, "{}", TASKS.len());
    for (_, task) in TASKS {
        let of_the_creator = |label: &u32| LABELS[*label as usize - 1].1.creator == task.creator;
        assert!(task.labels.iter().all(of_the_creator));
    }
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
        assert_whole(&session.app);
    }
}
