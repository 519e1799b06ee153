//! Random lives: orders against a model of plain lists, references against the state, and nothing panics.

use std::collections::BTreeMap;

use super::*;

/// Checks what must hold in every state: each list's places are 0, 1, 2, ..., nothing refers to something that is
/// gone, no label stands twice, and assignees are in the project.
fn check_consistent(state: &Value) {
    let list = |name: &str| state[name].as_array().unwrap().clone();
    let known = |name: &str| ids(&state[name], "id");
    let refer = |from: &str, key: &str, to: &str| {
        let ids = known(to);
        for record in list(from) {
            let id = &record[key];
            assert!(
                id.is_null() || ids.contains(&id.as_u64().unwrap()),
                "{from}: {record} refers to nothing"
            );
        }
    };
    refer("sections", "project_id", "projects");
    refer("tasks", "project_id", "projects");
    refer("tasks", "section_id", "sections");
    refer("sub_tasks", "task_id", "tasks");
    refer("comments", "task_id", "tasks");
    for (name, parents) in [
        ("sections", &["project_id"][..]),
        ("tasks", &["project_id", "section_id"]),
        ("sub_tasks", &["task_id"]),
    ] {
        let mut places: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for record in list(name) {
            let parent =
                json!(parents.iter().map(|key| &record[key]).collect::<Vec<_>>()).to_string();
            places
                .entry(parent)
                .or_default()
                .push(record["order_index"].as_u64().unwrap());
        }
        for (parent, mut places) in places {
            places.sort_unstable();
            assert!(
                places.iter().copied().eq(0..places.len() as u64),
                "{name} of {parent}: {places:?}"
            );
        }
    }
    for task in list("tasks") {
        let mut labels: Vec<u64> = task["label_ids"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_u64)
            .collect();
        assert!(labels.iter().all(|label| known("labels").contains(label)));
        let count = labels.len();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), count, "{task}");
        let projects = list("projects");
        let project = projects
            .iter()
            .find(|project| project["id"] == task["project_id"])
            .unwrap();
        let collaborators = project["collaborators"].as_array().unwrap();
        let member = |person: &Value| {
            person.is_null() || project["creator"] == *person || collaborators.contains(person)
        };
        assert!(
            member(&task["assignee"]) && member(&task["creator"]),
            "{task}"
        );
        assert_eq!(task["assignee"].is_null(), task["assigner"].is_null());
        assert_eq!(task["duration"].is_null(), task["duration_unit"].is_null());
    }
}

/// What somebody does with a section's tasks, all numbers taken modulo what there is.
#[derive(Debug, Clone)]
enum Deed {
    Create(i64),
    Move(usize, i64),
    Delete(usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        3 => (-1..12_i64).prop_map(Deed::Create),
        2 => (any::<usize>(), -1..12_i64).prop_map(|(which, to)| Deed::Move(which, to)),
        1 => any::<usize>().prop_map(Deed::Delete),
    ];
    prop::collection::vec(deed, 0..40)
}

fn put(list: &mut Vec<u64>, id: u64, at: i64) {
    let at = usize::try_from(at).map_or(list.len(), |at| at.min(list.len()));
    list.insert(at, id);
}

/// What random calls take for texts.
pub(super) const TEXTS: [&str; 9] = [
    IDA,
    "pw",
    BO,
    "pb",
    "urgent outline",
    "2026-03-02",
    "+due_date",
    "-name",
    "",
];

proptest! {
    #[test]
    fn a_section_is_in_the_order_that_was_told(deeds in deeds()) {
        let mut session = ida();
        let mut model: Vec<u64> = Vec::new();
        for deed in deeds {
            match deed {
                Deed::Create(at) => {
                    let task = json!({"project_id": 4, "section_id": 2, "title": "T", "order_index": at});
                    let id = session.ok("create_task", task)["task_id"].as_u64().unwrap();
                    put(&mut model, id, at);
                }
                Deed::Move(which, to) if !model.is_empty() => {
                    let id = model.remove(which % model.len());
                    session.ok("update_task", json!({"task_id": id, "order_index": to}));
                    put(&mut model, id, to);
                }
                Deed::Delete(which) if !model.is_empty() => {
                    let id = model.remove(which % model.len());
                    session.ok("delete_task", json!({"task_id": id}));
                }
                _ => {}
            }
        }
        let listed = session.ok("show_tasks", json!({"project_id": 4, "section_id": 2}));
        let tasks = &listed["sections"][0]["tasks"];
        prop_assert_eq!(ids(tasks, "task_id"), model.clone());
        prop_assert!(ids(tasks, "order_index").into_iter().eq(0..model.len() as u64));
        let project = session.ok("show_project", json!({"project_id": 4}));
        prop_assert_eq!(project["num_tasks"].as_u64(), Some(3 + model.len() as u64));
    }

    #[test]
    fn counts_of_notifications_add_up(numbers in prop::collection::vec(any::<u64>(), 0..60)) {
        let mut session = bo();
        for number in numbers {
            let _ = testkit::random_step(&mut session, number, &[IDA, "pw", BO, "pb", "x", "2026-03-02"]);
        }
        for (email, password) in [(IDA, "pw"), (BO, "pb")] {
            session.log_in(email, password);
            let mut count = |arguments: Value| {
                session.ok("show_notifications_count", arguments)["notifications_count"].as_u64().unwrap()
            };
            let (read, unread) = (count(json!({"read": true})), count(json!({"read": false})));
            prop_assert_eq!(count(json!({})), read + unread);
            let state = session.state();
            let own = state["notifications"].as_array().unwrap().iter().filter(|it| it["owner"] == email);
            prop_assert_eq!(own.filter(|it| it["read"] == false).count() as u64, unread);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..100),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
        let mut session = ida();
        let step = |session: &mut Session<Todoist>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let _ = step(&mut session, number);
        }
        check_consistent(&session.state());
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
