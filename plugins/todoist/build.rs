//! Writes the world's projects and what is in them as constant tables (`src/world.rs`). The first projects are
//! everybody's Inboxes.

use std::io;

use pibench_world::rust::{day, email, list, moment, option, table, text};
use pibench_world::{Label, Person, Project, SEED, Section, Task, World, rust};

/// The rows of each kind; a row's id is its place, from 1.
#[derive(Default)]
struct Tables {
    projects: Vec<String>,
    sections: Vec<String>,
    tasks: Vec<String>,
    sub_tasks: Vec<String>,
    comments: Vec<String>,
}

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let mut tables = Tables::default();
    tables.projects.extend(world.people.iter().map(inbox));
    for project in &world.projects() {
        tables.add_project(&world, project);
    }
    let inboxes = (1..)
        .zip(&world.people)
        .map(|(id, person): (u32, _)| (email(&person.email), format!("Inbox({id})")));
    let labels = world.labels().iter().map(|it| label(&world, it)).collect();
    let source = [
        table("INBOXES", "Email", "Inbox", inboxes),
        rows("PROJECTS", "Project", tables.projects),
        rows("SECTIONS", "Section", tables.sections),
        rows("TASKS", "Task", tables.tasks),
        rows("SUB_TASKS", "SubTask", tables.sub_tasks),
        rows("COMMENTS", "Comment", tables.comments),
        rows("LABELS", "Label", labels),
    ];
    rust::write(&source.concat())
}

fn rows(name: &str, row: &str, rows: Vec<String>) -> String {
    table(
        name,
        "u32",
        row,
        (1..).zip(rows).map(|(id, row): (u32, _)| (id, row)),
    )
}

fn inbox(person: &Person) -> String {
    format!(
        "Project {{ creator: {}, name: Text::constant(\"Inbox\"), color: Color::Charcoal, \
         description: Text::constant(\"\"), is_inbox: true, favorite_of: BTreeSet::new(), is_archived: false, \
         collaborators: {empty}, invites: {empty}, created_at: {}, sections: {empty}, tasks: {empty} }}",
        email(&person.email),
        moment(person.registered_at),
        empty = list::<&str>([]),
    )
}

fn label(world: &World, label: &Label) -> String {
    format!(
        "Label {{ creator: {}, name: {}, color: Color::{} }}",
        email(&world.people[label.owner].email),
        text(label.name),
        label.color,
    )
}

impl Tables {
    fn add_project(&mut self, world: &World, project: &Project) {
        let id = self.projects.len() + 1;
        let sections: Vec<usize> = project
            .sections
            .iter()
            .map(|section| self.add_section(world, project, id, section))
            .collect();
        let collaborators = project.collaborators.iter();
        self.projects.push(format!(
            "Project {{ creator: {}, name: {}, color: Color::{}, description: {}, is_inbox: false, \
             favorite_of: BTreeSet::new(), is_archived: {}, collaborators: {}, invites: {empty}, created_at: {}, \
             sections: {}, tasks: {empty} }}",
            email(&world.people[project.owner].email),
            text(&project.name),
            project.color,
            text(&project.description),
            project.archived,
            list(collaborators.map(|person| email(&world.people[*person].email))),
            moment(project.created_at),
            list(sections),
            empty = list::<&str>([]),
        ));
    }

    fn add_section(
        &mut self,
        world: &World,
        project: &Project,
        of: usize,
        section: &Section,
    ) -> usize {
        let id = self.sections.len() + 1;
        let tasks: Vec<usize> = section
            .tasks
            .iter()
            .map(|task| self.add_task(world, project, [of, id], task))
            .collect();
        self.sections.push(format!(
            "Section {{ project: {of}, name: {}, created_at: {}, tasks: {} }}",
            text(section.name),
            moment(project.created_at),
            list(tasks),
        ));
        id
    }

    fn add_task(&mut self, world: &World, project: &Project, of: [usize; 2], task: &Task) -> usize {
        let id = self.tasks.len() + 1;
        let sub_tasks: Vec<usize> = task
            .sub_tasks
            .iter()
            .map(|(title, completed)| {
                let work = work(title, "", None, "Medium", None, *completed);
                let created_at = moment(task.created_at);
                self.sub_tasks.push(format!(
                    "SubTask {{ task: {id}, work: {work}, created_at: {created_at} }}"
                ));
                self.sub_tasks.len()
            })
            .collect();
        let comments: Vec<usize> = task
            .comments
            .iter()
            .map(|comment| {
                self.comments.push(format!(
                    "Comment {{ task: {id}, author: {}, content: {}, attachments: {}, \
                     attachment_texts: {}, created_at: {} }}",
                    email(&world.people[comment.author].email),
                    text(&comment.content),
                    list::<&str>([]),
                    list::<&str>([]),
                    moment(comment.created_at),
                ));
                self.comments.len()
            })
            .collect();
        let owner = email(&world.people[project.owner].email);
        let assignment = task.assignee.map(|assignee| {
            let assignee = email(&world.people[assignee].email);
            format!("Assignment {{ assignee: {assignee}, assigner: {owner} }}")
        });
        let [project, section] = of;
        self.tasks.push(format!(
            "Task {{ project: {project}, section: Some({section}), creator: {owner}, work: {}, assignment: {}, \
             labels: {}, sub_tasks: {}, comments: {}, created_at: {} }}",
            work(
                &task.title,
                &task.description,
                task.due_date.map(day),
                task.priority,
                task.duration,
                task.completed
            ),
            option(assignment),
            list(task.labels.iter().map(|label| label + 1)),
            list(sub_tasks),
            list(comments),
            moment(task.created_at),
        ));
        id
    }
}

fn work(
    title: &str,
    description: &str,
    due_date: Option<String>,
    priority: &str,
    hours: Option<u32>,
    completed: bool,
) -> String {
    format!(
        "Work {{ title: {}, description: {}, due_date: {}, priority: Priority::{priority}, duration: {}, \
         is_completed: {completed} }}",
        text(title),
        text(description),
        option(due_date),
        option(hours.map(|hours| format!("Duration::hours({hours}.0)"))),
    )
}
