//! Projects, tasks and what hangs on them. Everybody's Inbox is there from the beginning.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Database, Records, Row, Users, key, put, record};

const PROJECT: [&str; 7] = [
    "id",
    "user_id",
    "name",
    "color",
    "is_inbox",
    "description",
    "created_at",
];
const TASK: [&str; 15] = [
    "id",
    "project_id",
    "section_id",
    "user_id",
    "title",
    "description",
    "due_date",
    "priority",
    "is_completed",
    "duration",
    "duration_unit",
    "order_index",
    "assignee_id",
    "assigner_id",
    "created_at",
];
const SUB_TASK: [&str; 11] = [
    "id",
    "task_id",
    "title",
    "description",
    "due_date",
    "priority",
    "is_completed",
    "duration",
    "duration_unit",
    "order_index",
    "created_at",
];
const COLORS: [&str; 6] = ["charcoal", "red", "blue", "green", "orange", "yellow"];

/// What the rows of other tables name.
#[derive(Debug, Default)]
struct Known {
    /// Who is in a project; of an Inbox its owner alone.
    members: BTreeMap<i64, Vec<Value>>,
    inboxes: BTreeMap<i64, Value>,
    /// Names by id.
    sections: BTreeMap<i64, String>,
    labels: BTreeMap<i64, (Value, String)>,
    labels_of_task: BTreeMap<i64, Vec<i64>>,
    /// The project of each task that was taken.
    tasks: BTreeMap<i64, i64>,
}

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut known = Known::default();
    let mut records = Records::new();
    let labels = labels(database, users, &mut known);
    put(&mut records, "labels", labels);
    let projects = projects(database, users, &mut known);
    put(&mut records, "projects", projects);
    let tasks = tasks(database, users, &mut known);
    put(&mut records, "tasks", tasks);
    let sub_tasks = sub_tasks(database, &known);
    put(&mut records, "sub_tasks", sub_tasks);
    let comments = comments(database, users, &known);
    put(&mut records, "comments", comments);
    let notifications = notifications(database, users, &known);
    put(&mut records, "notifications", notifications);
    records
}

fn labels(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut labels = Vec::new();
    for row in database.rows("label", &["id", "user_id", "name", "color"]) {
        let (Some(id), Some(owner), Some(name)) =
            (row.id(), users.email(&row, "user_id"), row.text("name"))
        else {
            database.skip("label", "no known owner or no name");
            continue;
        };
        known.labels.insert(id, (owner.clone(), name.clone()));
        labels.push(record(
            json!({ "owner": owner, "name": name, "color": color(&row) }),
        ));
    }
    database.mark_derived("task_label_link", &["id"]);
    for row in database.rows("task_label_link", &["task_id", "label_id"]) {
        if let (Some(task), Some(label)) = (row.integer("task_id"), row.integer("label_id")) {
            known.labels_of_task.entry(task).or_default().push(label);
        }
    }
    labels
}

/// One that we have; else the app's own.
fn color(row: &Row) -> Option<String> {
    row.word("color", &COLORS)
}

/// Who works on which project, by its id, and who marked it, by id and person.
#[derive(Default)]
struct Links {
    favorites: BTreeSet<(i64, String)>,
    archived: BTreeSet<(i64, String)>,
    people: BTreeMap<i64, Vec<Value>>,
}

fn links(database: &mut Database, users: &Users) -> Links {
    let mut links = Links::default();
    let columns = ["project_id", "user_id", "is_favorite", "is_archived"];
    database.mark_derived("project_collaborator_link", &["id", "created_at"]);
    for row in database.rows("project_collaborator_link", &columns) {
        let (Some(project), Some(person)) =
            (row.integer("project_id"), users.email(&row, "user_id"))
        else {
            database.skip("project_collaborator_link", "no known project or user");
            continue;
        };
        if row.flag("is_favorite") {
            links.favorites.insert((project, person.to_string()));
        }
        if row.flag("is_archived") {
            links.archived.insert((project, person.to_string()));
        }
        links.people.entry(project).or_default().push(person);
    }
    links
}

fn read_invited(database: &mut Database, users: &Users) -> BTreeMap<i64, Vec<Value>> {
    let mut invited: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    database.mark_derived(
        "project_invite",
        &["id", "invitor_id", "invite_code", "created_at"],
    );
    for row in database.rows("project_invite", &["project_id", "invitee_id"]) {
        if let (Some(project), Some(person)) =
            (row.integer("project_id"), users.email(&row, "invitee_id"))
        {
            invited.entry(project).or_default().push(person);
        } else {
            database.skip("project_invite", "no known project or user");
        }
    }
    invited
}

fn projects(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let Links {
        mut favorites,
        mut archived,
        people: mut links,
    } = links(database, users);
    let mut invited = read_invited(database, users);
    let mut sections = sections(database, known);
    let mut projects = Vec::new();
    database.mark_derived("project", &["search_text"]);
    for row in database.rows("project", &PROJECT) {
        let (Some(id), Some(owner), Some(name)) =
            (row.id(), users.email(&row, "user_id"), row.text("name"))
        else {
            database.skip("project", "no known owner or no name");
            continue;
        };
        let own = (id, owner.to_string());
        let mut members = vec![owner.clone()];
        if row.flag("is_inbox") {
            // Theirs is there from the beginning, as the app has it.
            for column in ["color", "description"] {
                row.or_lost(None::<()>, column, "of an Inbox");
            }
            known.inboxes.insert(id, owner);
            known.members.insert(id, members);
            continue;
        }
        for person in links.remove(&id).unwrap_or_default() {
            if !members.contains(&person) {
                members.push(person);
            }
        }
        let mut waiting = invited.remove(&id).unwrap_or_default();
        let mut seen = BTreeSet::new();
        waiting.retain(|person| !members.contains(person) && seen.insert(person.to_string()));
        projects.push(record(json!({
            "id": key("project", id),
            "owner": owner,
            "name": name,
            "color": color(&row),
            "description": row.text("description"),
            "favorite": favorites.remove(&own),
            "archived": archived.remove(&own),
            "collaborators": members[1..],
            "invited": waiting,
            "sections": sections.remove(&id),
            "created_at": row.moment("created_at"),
        })));
        known.members.insert(id, members);
    }
    for _ in favorites.iter().chain(&archived) {
        let reason =
            "a favorite or archive mark of another than the project's owner, or of an Inbox";
        database.skip("project_collaborator_link", reason);
    }
    for _ in sections.values().flatten() {
        database.skip("section", "of an Inbox, or of a project that is not there");
    }
    projects
}

/// The sections of each project in their order.
fn sections(database: &mut Database, known: &mut Known) -> BTreeMap<i64, Vec<String>> {
    let mut rows = database.rows("section", &["id", "project_id", "name", "order_index"]);
    rows.sort_by_key(|row| row.integer("order_index"));
    database.mark_derived("section", &["created_at"]);
    let mut sections: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for row in rows {
        if let (Some(id), Some(project), Some(name)) =
            (row.id(), row.integer("project_id"), row.text("name"))
        {
            known.sections.insert(id, name.clone());
            sections.entry(project).or_default().push(name);
        } else {
            database.skip("section", "no project or no name");
        }
    }
    sections
}

fn tasks(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut rows = database.rows("task", &TASK);
    rows.sort_by_key(|row| (row.integer("order_index"), row.id()));
    let mut tasks = Vec::new();
    for row in rows {
        let (Some(id), Some(project), Some(title)) =
            (row.id(), row.integer("project_id"), row.text("title"))
        else {
            database.skip("task", "no project or no title");
            continue;
        };
        let Some(members) = known.members.get(&project) else {
            database.skip("task", "no known project");
            continue;
        };
        let inside = |column| {
            let one = users.email(&row, column);
            let one = one.filter(|one| members.contains(one));
            row.or_lost(one, column, "nobody in the project")
        };
        let inbox = known.inboxes.get(&project);
        let creator = inbox.cloned().or_else(|| inside("user_id"));
        let to = inside("assignee_id");
        let by = inside("assigner_id").filter(|_| to.is_some());
        let by = row.or_lost(by, "assigner_id", "nobody is assigned");
        let owner = creator.as_ref().or(members.first());
        let mut labels: BTreeSet<&String> = BTreeSet::new();
        for label in known.labels_of_task.remove(&id).unwrap_or_default() {
            match known.labels.get(&label) {
                Some((of, name)) if Some(of) == owner => {
                    labels.insert(name);
                }
                _ => database.skip("task_label_link", "no label of the task's creator"),
            }
        }
        let section = row
            .integer("section_id")
            .filter(|_| inbox.is_none())
            .and_then(|section| known.sections.get(&section));
        let section = row.or_lost(section, "section_id", "no section of a project");
        let mut task = work(&row, &title);
        if let Value::Object(fields) = &mut task {
            let more = record(json!({
                "id": key("task", id),
                "project": inbox.is_none().then(|| key("project", project)),
                "section": section,
                "creator": creator,
                "labels": labels,
                "assignee": to,
                "assigner": by,
            }));
            fields.extend(more.as_object().cloned().unwrap_or_default());
        }
        tasks.push(task);
        known.tasks.insert(id, project);
    }
    for _ in known.labels_of_task.values().flatten() {
        database.skip("task_label_link", "of a task that is not there");
    }
    tasks
}

fn sub_tasks(database: &mut Database, known: &Known) -> Vec<Value> {
    let mut rows = database.rows("sub_task", &SUB_TASK);
    rows.sort_by_key(|row| (row.integer("order_index"), row.id()));
    let mut sub_tasks = Vec::new();
    for row in rows {
        let task = row
            .integer("task_id")
            .filter(|id| known.tasks.contains_key(id));
        let (Some(task), Some(title)) = (task, row.text("title")) else {
            database.skip("sub_task", "no known task or no title");
            continue;
        };
        let mut sub_task = work(&row, &title);
        sub_task["task"] = key("task", task).into();
        sub_tasks.push(sub_task);
    }
    sub_tasks
}

/// What tasks and sub-tasks have in common.
fn work(row: &Row, title: &str) -> Value {
    let unit = row.word("duration_unit", &["minutes", "hours", "days"]);
    let duration = row.number("duration");
    let duration = duration.filter(|duration| *duration > 0.0 && unit.is_some());
    let duration = row.or_lost(duration, "duration", "not above 0, or in no known unit");
    record(json!({
        "title": title,
        "description": row.text("description"),
        "due_date": row.day("due_date"),
        "duration": duration,
        "duration_unit": unit.filter(|_| duration.is_some()),
        "priority": row.word("priority", &["low", "medium", "high"]),
        "completed": row.flag("is_completed"),
        "created_at": row.moment("created_at"),
    }))
}

fn comments(database: &mut Database, users: &Users, known: &Known) -> Vec<Value> {
    let mut names: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    database.mark_derived("attachment", &["id", "created_at", "download_count"]);
    for row in database.rows("attachment", &["task_comment_id", "file_name"]) {
        if let (Some(comment), Some(name)) = (row.integer("task_comment_id"), row.text("file_name"))
        {
            names.entry(comment).or_default().push(name);
        } else {
            database.skip("attachment", "no comment or no name");
        }
    }
    let mut comments = Vec::new();
    let columns = ["id", "task_id", "user_id", "content", "created_at"];
    for row in database.rows("task_comment", &columns) {
        let task = row.integer("task_id");
        let members = task
            .and_then(|task| known.tasks.get(&task))
            .and_then(|project| known.members.get(project));
        let author = users
            .email(&row, "user_id")
            .filter(|author| members.is_some_and(|members| members.contains(author)));
        let (Some(task), Some(author), Some(content)) = (task, author, row.text("content")) else {
            database.skip(
                "task_comment",
                "no known task, no author in its project or no text",
            );
            continue;
        };
        comments.push(record(json!({
            "task": key("task", task),
            "author": author,
            "content": content,
            "attachments": row.id().and_then(|id| names.remove(&id)),
            "created_at": row.moment("created_at"),
        })));
    }
    for _ in names.values().flatten() {
        database.skip("attachment", "of a comment that is not there");
    }
    comments
}

fn notifications(database: &mut Database, users: &Users, known: &Known) -> Vec<Value> {
    let columns = [
        "id",
        "user_id",
        "type",
        "title",
        "message",
        "read",
        "data",
        "created_at",
    ];
    let mut notifications = Vec::new();
    for row in database.rows("notification", &columns) {
        let kind = match row.text("type").as_deref() {
            Some("task_assigned") => "task_assigned",
            Some("task_unassigned") => "task_unassigned",
            Some("task_comment_added") => "comment_posted",
            _ => {
                database.skip("notification", "of a kind that the app does not have");
                continue;
            }
        };
        let (Some(owner), Some(message)) = (users.email(&row, "user_id"), row.text("message"))
        else {
            database.skip("notification", "no known owner or no text");
            continue;
        };
        let data: Value = row
            .text("data")
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let task = data["task_id"].as_i64();
        let task = task.filter(|task| known.tasks.contains_key(task));
        let task = row.or_lost(task, "data", "no task that is there");
        let by = data["action_by_id"].as_i64();
        let by = by.and_then(|by| users.emails.get(&by));
        notifications.push(record(json!({
            "owner": owner,
            "type": kind,
            "title": row.text("title"),
            "message": message,
            "read": row.flag("read"),
            "by": by,
            "task": task.map(|task| key("task", task)),
            "created_at": row.moment("created_at"),
        })));
    }
    notifications
}
