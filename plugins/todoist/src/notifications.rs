//! Notifications: what others did that concerns an account. Nobody is told what they did themselves.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::listing::Page;
use pibench_sdk::text::Text;
use pibench_sdk::tool::{NoArguments, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CountNotifications {
    pub read: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowNotifications {
    pub read: Option<bool>,
    #[serde(flatten)]
    pub page: Page,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MarkNotification {
    pub notification_id: u32,
    pub read: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Notification {
    pub owner: Email,
    pub kind: Kind,
    pub title: Text,
    pub message: Text,
    pub read: bool,
    pub created_at: DateTime,
    /// Who did it, where that is known.
    pub by: Option<Email>,
    pub about: About,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    TaskAssigned,
    TaskUnassigned,
    TaskCompleted,
    CommentPosted,
    /// Only seeds bring these two.
    ProjectInvitation,
    Reminder,
}

/// What somebody did with a task, for those whom it concerns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deed {
    kind: Kind,
    /// The message's verb.
    did: &'static str,
    comment: Option<u32>,
}

/// The ids of what it is about, which may be deleted by now.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct About {
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    pub project: Option<u32>,
    #[serde(rename = "task_id", skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    #[serde(rename = "task_comment_id", skip_serializing_if = "Option::is_none")]
    pub comment: Option<u32>,
}

impl Todoist {
    pub(crate) fn show_notifications(
        &mut self,
        me: &Email,
        arguments: ShowNotifications,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowNotifications { read, page } = arguments;
        let mut notifications = self.notifications_of(me, read);
        notifications.sort_by_key(|(id, it)| std::cmp::Reverse((it.created_at, *id)));
        let view = |(id, notification): (u32, &Notification)| {
            let mut view = notification.view();
            view["notification_id"] = json!(id);
            // People have no ids here but that of their Inbox, of which each has one.
            let by = notification.by.as_ref();
            if let Some(inbox) = by.and_then(|by| self.inboxes.get(by)) {
                view["data"]["action_by_id"] = json!(inbox.0);
            }
            view
        };
        Ok(page.of(notifications).into_iter().map(view).collect())
    }

    pub(crate) fn show_notifications_count(
        &mut self,
        me: &Email,
        CountNotifications { read }: CountNotifications,
    ) -> Result<Value, ToolError> {
        Ok(json!({"notifications_count": self.notifications_of(me, read).len()}))
    }

    pub(crate) fn mark_notification(
        &mut self,
        me: &Email,
        arguments: MarkNotification,
    ) -> Result<Value, ToolError> {
        let MarkNotification {
            notification_id: id,
            read,
        } = arguments;
        let notification = self
            .notifications
            .get_mut(id)
            .ok_or_else(|| ToolError::conflict("notification", id))?;
        if notification.owner != *me {
            return Err(ToolError::invalid(format!(
                "Notification {id} belongs to another account."
            )));
        }
        notification.read = read;
        let how = if read { "read" } else { "unread" };
        Ok(json!({"message": format!("Notification {id} is marked as {how}.")}))
    }

    pub(crate) fn delete_notifications(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Value, ToolError> {
        self.notifications.retain(|_, it| it.owner != *me);
        Ok(json!({"message": "All your notifications are deleted."}))
    }

    fn notifications_of(&self, me: &Email, read: Option<bool>) -> Vec<(u32, &Notification)> {
        self.notifications
            .iter()
            .filter(|(_, it)| it.owner == *me && read.is_none_or(|read| it.read == read))
            .collect()
    }

    /// Tells the creator and the assignee of a task what one did with it.
    pub(crate) fn tell_about(&mut self, me: &Email, task: u32, deed: Deed) {
        let Some(found) = self.tasks.get(task) else {
            return;
        };
        let assignee = found.assignment.as_ref().map(|it| &it.assignee);
        let mut people = vec![found.creator.clone()];
        people.extend(assignee.filter(|it| **it != found.creator).cloned());
        for person in people {
            self.tell(me, &person, task, deed);
        }
    }

    /// Tells somebody, unless it is oneself, what one did with a task.
    pub(crate) fn tell(&mut self, me: &Email, whom: &Email, task: u32, deed: Deed) {
        let Some(found) = self.tasks.get(task).filter(|_| whom != me) else {
            return;
        };
        let Deed { kind, did, comment } = deed;
        let message = format!("{} {did}: {}", self.accounts.name(me), found.work.title);
        let about = About {
            project: Some(found.project),
            task: Some(task),
            comment,
        };
        self.notifications.insert(Notification {
            owner: whom.clone(),
            kind,
            title: Text::constant(kind.title()),
            message: message.into(),
            read: false,
            created_at: clock::now(),
            by: Some(me.clone()),
            about,
        });
    }
}

impl Kind {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TaskAssigned => "Task assigned",
            Self::TaskUnassigned => "Task unassigned",
            Self::TaskCompleted => "Task completed",
            Self::CommentPosted => "New comment",
            Self::ProjectInvitation => "Project invitation",
            Self::Reminder => "Reminder",
        }
    }
}

impl Deed {
    pub(crate) const ASSIGNED: Self = Self::new(Kind::TaskAssigned, "assigned a task to you", None);
    pub(crate) const UNASSIGNED: Self =
        Self::new(Kind::TaskUnassigned, "took a task from you", None);
    pub(crate) const COMPLETED: Self = Self::new(Kind::TaskCompleted, "completed a task", None);

    pub(crate) const fn commented(comment: u32) -> Self {
        Self::new(Kind::CommentPosted, "commented on a task", Some(comment))
    }

    const fn new(kind: Kind, did: &'static str, comment: Option<u32>) -> Self {
        Self { kind, did, comment }
    }
}

impl Notification {
    /// Without id and owner.
    pub(crate) fn view(&self) -> Value {
        json!({
            "type": self.kind,
            "title": self.title,
            "message": self.message,
            "read": self.read,
            "created_at": self.created_at,
            "data": self.about,
        })
    }
}
