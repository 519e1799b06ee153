//! What a seed may hold, and how it gets into the app; the crate's documentation shows it.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::records::Records;
use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, random, time};
use serde::{Deserialize, Serialize};

use crate::Todoist;
use crate::arguments::Color;
use crate::comments::{Comment, checked_content};
use crate::labels;
use crate::notifications::{About, Kind, Notification};
use crate::order::OrderIndex;
use crate::projects::{Invite, Project, checked_description, checked_name};
use crate::sub_tasks::SubTask;
use crate::tasks::{Assignment, Task};
use crate::work::{DurationUnit, Priority, Work, WorkChange};

/// What records call projects and tasks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Keys {
    projects: BTreeMap<String, u32>,
    tasks: BTreeMap<String, u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelRecord {
    owner: Email,
    name: String,
    #[serde(default)]
    color: Color,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectRecord {
    id: Option<String>,
    owner: Email,
    name: String,
    #[serde(default)]
    color: Color,
    #[serde(default)]
    description: String,
    #[serde(default)]
    favorite: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    collaborators: Vec<Email>,
    #[serde(default)]
    invited: Vec<Email>,
    #[serde(default)]
    sections: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskRecord {
    id: Option<String>,
    project: Option<String>,
    section: Option<String>,
    creator: Option<Email>,
    title: String,
    description: Option<String>,
    due_date: Option<String>,
    duration: Option<f64>,
    duration_unit: Option<DurationUnit>,
    priority: Option<Priority>,
    completed: Option<bool>,
    #[serde(default)]
    labels: Vec<String>,
    assignee: Option<Email>,
    assigner: Option<Email>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubTaskRecord {
    task: String,
    title: String,
    description: Option<String>,
    due_date: Option<String>,
    duration: Option<f64>,
    duration_unit: Option<DurationUnit>,
    priority: Option<Priority>,
    completed: Option<bool>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommentRecord {
    task: String,
    author: Email,
    content: String,
    #[serde(default)]
    attachments: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NotificationRecord {
    owner: Email,
    #[serde(rename = "type")]
    kind: Kind,
    title: Option<String>,
    message: String,
    #[serde(default)]
    read: bool,
    by: Option<Email>,
    project: Option<String>,
    task: Option<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

impl Todoist {
    /// In the order in which records can name each other.
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_each(records, "labels", Self::add_label)?;
        self.add_each(records, "projects", Self::add_project)?;
        self.add_each(records, "tasks", Self::add_task)?;
        self.add_each(records, "sub_tasks", Self::add_sub_task)?;
        self.add_each(records, "comments", Self::add_comment)?;
        self.add_each(records, "notifications", Self::add_notification)
    }

    fn add_each<T: serde::de::DeserializeOwned>(
        &mut self,
        records: &mut Records,
        list: &str,
        add: fn(&mut Self, T) -> Result<(), String>,
    ) -> Result<(), String> {
        for (index, record) in records.take_list(list)?.into_iter().enumerate() {
            add(self, record).map_err(|error| format!("{list}[{index}]: {error}"))?;
        }
        Ok(())
    }

    fn add_label(&mut self, record: LabelRecord) -> Result<(), String> {
        let LabelRecord { owner, name, color } = record;
        self.check_account("owner", &owner)?;
        self.insert_label(&owner, &name, color).map_err(message)?;
        Ok(())
    }

    fn add_project(&mut self, record: ProjectRecord) -> Result<(), String> {
        let ProjectRecord {
            id,
            owner,
            name,
            color,
            description,
            favorite,
            archived,
            collaborators,
            invited,
            sections,
            created_at,
        } = record;
        self.check_account("owner", &owner)?;
        check_key(&self.keys.projects, id.as_ref())?;
        let created_at = created_at.unwrap_or_else(clock::now);
        let mut project = Project::new(owner, created_at);
        project.name = checked_name(&name).map_err(message)?;
        project.color = color;
        project.description = checked_description(description).map_err(message)?;
        project.is_archived = archived;
        if favorite {
            project.favorite_of.insert(project.creator.clone());
        }
        for person in collaborators {
            self.check_account("collaborators", &person)?;
            check_new("collaborators", &project, &person)?;
            project.collaborators.to_mut().push(person);
        }
        for person in invited {
            Email::parse(person.as_str()).map_err(|error| format!("invited: {}", error.message))?;
            check_new("invited", &project, &person)?;
            project.invites.to_mut().push(Invite {
                code: format!("{:016x}", random::next()).into(),
                invitee: person,
            });
        }
        let project = self.projects.insert(project);
        for section in sections {
            self.insert_section(project, &section, created_at)
                .map_err(|error| format!("sections: {}", error.message))?;
        }
        self.keys.projects.extend(id.map(|id| (id, project)));
        Ok(())
    }

    fn add_task(&mut self, record: TaskRecord) -> Result<(), String> {
        let TaskRecord {
            id,
            project,
            section,
            creator,
            title,
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            completed,
            labels,
            assignee,
            assigner,
            created_at,
        } = record;
        check_key(&self.keys.tasks, id.as_ref())?;
        let (project, creator) = self.place(project.as_deref(), creator)?;
        let section = section
            .map(|name| self.section_named(project, &name))
            .transpose()?;
        let change = WorkChange {
            title: Some(title),
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            is_completed: completed,
        };
        let mut task = Task {
            project,
            section,
            work: Work::new(change).map_err(message)?,
            assignment: self.assignment(project, &creator, assignee, assigner)?,
            creator,
            labels: List::default(),
            sub_tasks: List::default(),
            comments: List::default(),
            created_at: created_at.unwrap_or_else(clock::now),
        };
        for name in labels {
            let label = self.label_named(&task.creator, &name);
            let label =
                label.ok_or_else(|| format!("labels: {} has no label {name:?}", task.creator))?;
            labels::attach(&mut task, label)
                .map_err(|error| format!("labels: {}", error.message))?;
        }
        let task = self.insert_task(task, OrderIndex::END).map_err(message)?;
        self.keys.tasks.extend(id.map(|id| (id, task)));
        Ok(())
    }

    fn add_sub_task(&mut self, record: SubTaskRecord) -> Result<(), String> {
        let SubTaskRecord {
            task,
            title,
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            completed,
            created_at,
        } = record;
        let change = WorkChange {
            title: Some(title),
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            is_completed: completed,
        };
        let sub_task = SubTask {
            task: self.task_of(&task)?,
            work: Work::new(change).map_err(message)?,
            created_at: created_at.unwrap_or_else(clock::now),
        };
        self.insert_sub_task(sub_task, OrderIndex::END)
            .map_err(message)?;
        Ok(())
    }

    fn add_comment(&mut self, record: CommentRecord) -> Result<(), String> {
        let CommentRecord {
            task: key,
            author,
            content,
            attachments,
            created_at,
        } = record;
        let task = self.task_of(&key)?;
        if self.task(&author, task).is_err() {
            return Err(format!(
                "author: {author} is not in the project of task {key:?}"
            ));
        }
        self.insert_comment(Comment {
            task,
            author,
            content: checked_content(content).map_err(message)?,
            attachments: attachments.into_iter().map(Text::from).collect(),
            attachment_texts: List::default(),
            created_at: created_at.unwrap_or_else(clock::now),
        });
        Ok(())
    }

    fn add_notification(&mut self, record: NotificationRecord) -> Result<(), String> {
        let NotificationRecord {
            owner,
            kind,
            title,
            message,
            read,
            by,
            project,
            task,
            created_at,
        } = record;
        self.check_account("owner", &owner)?;
        if let Some(by) = &by {
            self.check_account("by", by)?;
        }
        let task = task.map(|key| self.task_of(&key)).transpose()?;
        let project = match project {
            Some(key) => Some(self.project_of(&key)?),
            None => task.and_then(|task| Some(self.tasks.get(task)?.project)),
        };
        self.notifications.insert(Notification {
            owner,
            kind,
            title: title.map_or(Text::constant(kind.title()), Text::from),
            message: message.into(),
            read,
            created_at: created_at.unwrap_or_else(clock::now),
            by,
            about: About {
                project,
                task,
                comment: None,
            },
        });
        Ok(())
    }

    /// Where a task goes, and whose it is: without a project the creator's inbox, without a creator the project's.
    fn place(&self, project: Option<&str>, creator: Option<Email>) -> Result<(u32, Email), String> {
        let Some(key) = project else {
            let creator = creator.ok_or("a project or a creator is needed")?;
            let inbox = self.inboxes.get(&creator);
            let inbox = inbox.ok_or_else(|| format!("creator: {creator} has no account"))?;
            return Ok((inbox.0, creator));
        };
        let id = self.project_of(key)?;
        let owner = self.projects.get(id).map(|project| project.creator.clone());
        let creator = creator.or(owner).ok_or_else(|| no_key("project", key))?;
        self.check_member(id, &creator)
            .map_err(|_| format!("creator: {creator} is not in project {key:?}"))?;
        Ok((id, creator))
    }

    fn section_named(&self, project: u32, name: &str) -> Result<u32, String> {
        let project = self.projects.get(project);
        let mut sections = project.into_iter().flat_map(|it| self.sections_of(it));
        let found = sections.find(|(_, section)| section.name.as_str() == name);
        found
            .map(|(id, _)| id)
            .ok_or_else(|| format!("section: the project has no section {name:?}"))
    }

    fn assignment(
        &self,
        project: u32,
        creator: &Email,
        to: Option<Email>,
        by: Option<Email>,
    ) -> Result<Option<Assignment>, String> {
        let Some(to) = to else {
            return match by {
                Some(_) => Err("assigner: nobody is assigned".to_owned()),
                None => Ok(None),
            };
        };
        let by = by.unwrap_or_else(|| creator.clone());
        for (key, person) in [("assignee", &to), ("assigner", &by)] {
            self.check_member(project, person)
                .map_err(|_| format!("{key}: {person} is not in the project"))?;
        }
        Ok(Some(Assignment {
            assignee: to,
            assigner: by,
        }))
    }

    fn check_account(&self, key: &str, person: &Email) -> Result<(), String> {
        if self.accounts.contains(person) {
            Ok(())
        } else {
            Err(format!("{key}: {person} has no account"))
        }
    }

    fn project_of(&self, key: &str) -> Result<u32, String> {
        let id = self.keys.projects.get(key).copied();
        let id = id.filter(|id| self.projects.get(*id).is_some());
        id.ok_or_else(|| no_key("project", key))
    }

    /// A task that was deleted since is not there any more.
    fn task_of(&self, key: &str) -> Result<u32, String> {
        let id = self.keys.tasks.get(key).copied();
        let id = id.filter(|id| self.tasks.get(*id).is_some());
        id.ok_or_else(|| no_key("task", key))
    }
}

fn check_key(keys: &BTreeMap<String, u32>, id: Option<&String>) -> Result<(), String> {
    match id.filter(|id| keys.contains_key(*id)) {
        Some(id) => Err(format!("id: {id:?} is in use already")),
        None => Ok(()),
    }
}

/// Nobody is in a project twice.
fn check_new(key: &str, project: &Project, person: &Email) -> Result<(), String> {
    let invited = project.invites.iter().any(|it| it.invitee == *person);
    if invited || project.has_member(person) {
        return Err(format!("{key}: {person} stands there twice"));
    }
    Ok(())
}

fn no_key(kind: &str, key: &str) -> String {
    format!("{kind}: no {kind} has the key {key:?}")
}

fn message(error: ToolError) -> String {
    error.message
}
