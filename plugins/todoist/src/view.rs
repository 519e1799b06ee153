//! What the tools answer and what graders see.

use pibench_sdk::account::Email;
use serde_json::{Value, json};

use crate::Todoist;
use crate::comments::Comment;
use crate::labels::Label;
use crate::notifications::Notification;
use crate::order;
use crate::projects::{Invite, Project};
use crate::sections::Section;
use crate::sub_tasks::SubTask;
use crate::tasks::{Row, Task};

impl Todoist {
    pub(crate) fn view_project(&self, me: &Email, id: u32, project: &Project) -> Value {
        // What is outside the sections stands before them, as one without id and name.
        let outside = json!({"id": null, "name": null, "num_tasks": project.tasks.len()});
        let section = |(id, section): (u32, &Section)| json!({"id": id, "name": section.name, "num_tasks": section.tasks.len()});
        let sections = std::iter::once(outside).chain(self.sections_of(project).map(section));
        let collaborators = std::iter::once(&project.creator).chain(&project.collaborators);
        let invite = |invite: &Invite| {
            json!({
                "invite_code": invite.code,
                "invitee": self.view_person(&invite.invitee),
                "inviter": self.view_person(&project.creator),
            })
        };
        json!({
            "name": project.name,
            "color": project.color,
            "is_inbox": project.is_inbox,
            "description": project.description,
            "is_favorite": project.favorite_of.contains(me),
            "is_archived": project.is_archived,
            "created_at": project.created_at,
            "project_id": id,
            "creator": self.view_person(&project.creator),
            "num_tasks": self.num_tasks(project),
            "sections": sections.collect::<Vec<_>>(),
            "collaborators": collaborators.map(|person| self.view_person(person)).collect::<Vec<_>>(),
            "pending_invites": project.invites.iter().map(invite).collect::<Vec<_>>(),
            "is_shared": !project.collaborators.is_empty(),
        })
    }

    pub(crate) fn view_task(&self, id: u32, task: &Task) -> Value {
        let assignment = task.assignment.as_ref();
        let mut view = task.work.view();
        view["project_id"] = json!(task.project);
        view["section_id"] = json!(task.section);
        view["order_index"] = json!(self.order_index(id, task));
        view["assignee"] = json!(assignment.map(|it| self.view_person(&it.assignee)));
        view["assigner"] = json!(assignment.map(|it| self.view_person(&it.assigner)));
        view["created_at"] = json!(task.created_at);
        view["task_id"] = json!(id);
        view["labels"] = self.view_labels(task);
        view["creator"] = self.view_person(&task.creator);
        view["num_sub_tasks"] = json!(task.sub_tasks.len());
        view
    }

    /// A task in a list.
    pub(crate) fn view_row(&self, row: &Row) -> Value {
        let Row {
            order_index,
            id,
            task,
        } = row;
        let assignment = task.assignment.as_ref();
        let mut view = task.work.view();
        view["order_index"] = json!(order_index);
        view["task_id"] = json!(id);
        view["num_sub_tasks"] = json!(task.sub_tasks.len());
        view["assignee"] = json!(assignment.map(|it| self.view_person(&it.assignee)));
        view["labels"] = self.view_labels(task);
        view
    }

    pub(crate) fn view_comment(&self, id: u32, comment: &Comment) -> Value {
        json!({
            "task_id": comment.task,
            "content": comment.content,
            "created_at": comment.created_at,
            "task_comment_id": id,
            "user": self.view_person(&comment.author),
            "attachment_file_names": comment.attachments,
        })
    }

    pub(crate) fn view_person(&self, person: &Email) -> Value {
        json!({"name": self.accounts.name(person), "email": person})
    }

    fn view_labels(&self, task: &Task) -> Value {
        let labels = task.labels.iter();
        let labels = labels.filter_map(|id| Some((id, self.labels.get(*id)?)));
        labels
            .map(|(id, label)| json!({"id": id, "color": label.color, "name": label.name}))
            .collect()
    }

    fn order_index(&self, id: u32, task: &Task) -> usize {
        let siblings = match task.section {
            Some(section) => self.sections.get(section).map(|section| &section.tasks),
            None => self
                .projects
                .get(task.project)
                .map(|project| &project.tasks),
        };
        siblings.map_or(0, |siblings| order::position(id, siblings))
    }

    /// See the crate's documentation.
    pub(crate) fn view_state(&self) -> Value {
        let sub_task = |id, it: &SubTask| self.state_of_sub_task(id, it);
        json!({
            "projects": self.projects.state(state_of_project),
            "sections": self.sections.state(|id, it| self.state_of_section(id, it)),
            "tasks": self.tasks.state(|id, it| self.state_of_task(id, it)),
            "sub_tasks": self.sub_tasks.state(sub_task),
            "labels": self.labels.state(state_of_label),
            "comments": self.comments.state(state_of_comment),
            "notifications": self.notifications.state(state_of_notification),
        })
    }

    fn state_of_section(&self, id: u32, section: &Section) -> Value {
        let siblings = self.projects.get(section.project);
        let siblings = siblings.map_or(&[][..], |project| &project.sections);
        json!({
            "id": id,
            "project_id": section.project,
            "name": section.name,
            "order_index": order::position(id, siblings),
            "created_at": section.created_at,
        })
    }

    fn state_of_task(&self, id: u32, task: &Task) -> Value {
        let assignment = task.assignment.as_ref();
        let mut state = task.work.state();
        state["id"] = json!(id);
        state["project_id"] = json!(task.project);
        state["section_id"] = json!(task.section);
        state["order_index"] = json!(self.order_index(id, task));
        state["creator"] = json!(task.creator);
        state["assignee"] = json!(assignment.map(|it| &it.assignee));
        state["assigner"] = json!(assignment.map(|it| &it.assigner));
        state["label_ids"] = json!(task.labels);
        state["created_at"] = json!(task.created_at);
        state
    }

    fn state_of_sub_task(&self, id: u32, sub_task: &SubTask) -> Value {
        let siblings = self.tasks.get(sub_task.task);
        let siblings = siblings.map_or(&[][..], |task| &task.sub_tasks);
        let mut state = sub_task.work.state();
        state["id"] = json!(id);
        state["task_id"] = json!(sub_task.task);
        state["order_index"] = json!(order::position(id, siblings));
        state["created_at"] = json!(sub_task.created_at);
        state
    }
}

fn state_of_project(id: u32, project: &Project) -> Value {
    let invitees = project.invites.iter().map(|invite| &invite.invitee);
    json!({
        "id": id,
        "creator": project.creator,
        "name": project.name,
        "color": project.color,
        "description": project.description,
        "is_inbox": project.is_inbox,
        "favorite_of": project.favorite_of,
        "is_archived": project.is_archived,
        "collaborators": project.collaborators,
        "invited": invitees.collect::<Vec<_>>(),
        "created_at": project.created_at,
    })
}

fn state_of_label(id: u32, label: &Label) -> Value {
    json!({"id": id, "creator": label.creator, "name": label.name, "color": label.color})
}

fn state_of_comment(id: u32, comment: &Comment) -> Value {
    let mut state = json!({
        "id": id,
        "task_id": comment.task,
        "author": comment.author,
        "content": comment.content,
        "attachments": comment.attachments,
        "created_at": comment.created_at,
    });
    if !comment.attachment_texts.is_empty() {
        state["attachment_texts"] = json!(comment.attachment_texts);
    }
    state
}

fn state_of_notification(id: u32, notification: &Notification) -> Value {
    let mut state = notification.view();
    state["id"] = json!(id);
    state["owner"] = json!(notification.owner);
    state
}
