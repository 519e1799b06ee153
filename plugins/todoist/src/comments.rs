//! Comments on tasks. Whoever is in the project reads them; only who wrote one changes or deletes it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::attachment::Attachments;
use pibench_sdk::clock;
use pibench_sdk::list::List;
use pibench_sdk::listing::Page;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;
use crate::notifications::Deed;
use crate::order;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowComments {
    pub task_id: u32,
    #[serde(flatten)]
    pub page: Page,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommentId {
    pub task_comment_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostComment {
    pub task_id: u32,
    pub content: String,
    #[serde(flatten)]
    pub attachments: Attachments,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateComment {
    pub task_comment_id: u32,
    pub content: Option<String>,
}

/// The longest text, in bytes: a page of 20 comments stays within what an answer may hold.
const MAX_CONTENT: usize = 16 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Comment {
    pub task: u32,
    pub author: Email,
    pub content: Text,
    /// File names.
    pub attachments: List<Text>,
    /// What the files of the file system app say, in the order of their names. Those of a seed have a name only.
    #[serde(default)]
    pub attachment_texts: List<Text>,
    pub created_at: DateTime,
}

impl Todoist {
    pub(crate) fn show_task_comments(
        &mut self,
        me: &Email,
        arguments: ShowComments,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowComments { task_id, page } = arguments;
        let ids = self.task(me, task_id)?.comments.iter();
        let comments = ids
            .filter_map(|id| Some((*id, self.comments.get(*id)?)))
            .collect();
        Ok(page
            .of(comments)
            .into_iter()
            .map(|(id, comment)| self.view_comment(id, comment))
            .collect())
    }

    pub(crate) fn show_task_comment(
        &mut self,
        me: &Email,
        CommentId { task_comment_id }: CommentId,
    ) -> Result<Value, ToolError> {
        let comment = self.comment(me, task_comment_id)?;
        Ok(self.view_comment(task_comment_id, comment))
    }

    pub(crate) fn post_task_comment(
        &mut self,
        me: &Email,
        arguments: PostComment,
    ) -> Result<Value, ToolError> {
        let PostComment {
            task_id,
            content,
            attachments,
        } = arguments;
        self.open_task(me, task_id)?;
        let files = attachments.files()?;
        let names: Vec<Text> = files.iter().map(|file| file.name().into()).collect();
        let texts: Vec<Text> = files.into_iter().map(|file| file.content.into()).collect();
        let comment = Comment {
            task: task_id,
            author: me.clone(),
            content: checked_content(content)?,
            attachments: names.into(),
            attachment_texts: texts.into(),
            created_at: clock::now(),
        };
        let task_comment_id = self.insert_comment(comment);
        self.tell_about(me, task_id, Deed::commented(task_comment_id));
        Ok(json!({
            "message": format!("Comment {task_comment_id} is posted."),
            "task_comment_id": task_comment_id,
        }))
    }

    pub(crate) fn update_task_comment(
        &mut self,
        me: &Email,
        arguments: UpdateComment,
    ) -> Result<Value, ToolError> {
        let UpdateComment {
            task_comment_id,
            content,
        } = arguments;
        self.own_comment(me, task_comment_id)?;
        let content = content.map(checked_content).transpose()?;
        if let (Some(content), Some(comment)) = (content, self.comments.get_mut(task_comment_id)) {
            comment.content = content;
        }
        Ok(json!({"message": format!("Comment {task_comment_id} is updated.")}))
    }

    pub(crate) fn delete_task_comment(
        &mut self,
        me: &Email,
        CommentId { task_comment_id }: CommentId,
    ) -> Result<Value, ToolError> {
        let task = self.own_comment(me, task_comment_id)?.task;
        if let Some(task) = self.tasks.get_mut(task) {
            order::remove(task_comment_id, task.comments.to_mut());
        }
        self.comments.remove(task_comment_id);
        Ok(json!({"message": format!("Comment {task_comment_id} is deleted.")}))
    }

    /// Adds a comment at its place in time.
    pub(crate) fn insert_comment(&mut self, comment: Comment) -> u32 {
        let (task, created_at) = (comment.task, comment.created_at);
        let id = self.comments.insert(comment);
        if let Some(task) = self.tasks.get_mut(task) {
            let earlier = |other: &u32| {
                let other = self.comments.get(*other);
                other.is_some_and(|other| other.created_at <= created_at)
            };
            let at = task.comments.partition_point(earlier);
            task.comments.to_mut().insert(at, id);
        }
        id
    }

    /// A comment on a task of a project that one is in: 409 if there is none, 422 if it is other people's.
    fn comment(&self, me: &Email, id: u32) -> Result<&Comment, ToolError> {
        let comment = self
            .comments
            .get(id)
            .ok_or_else(|| ToolError::conflict("comment", id))?;
        if self.task(me, comment.task).is_err() {
            return Err(ToolError::invalid(format!(
                "Comment {id} belongs to another account."
            )));
        }
        Ok(comment)
    }

    /// One's own, 422 too if its project is archived.
    fn own_comment(&self, me: &Email, id: u32) -> Result<&Comment, ToolError> {
        let comment = self.comment(me, id)?;
        if comment.author != *me {
            return Err(ToolError::invalid(format!(
                "Comment {id} was written by {}; only they can change or delete it.",
                comment.author
            )));
        }
        self.open_task(me, comment.task)?;
        Ok(comment)
    }
}

pub(crate) fn checked_content(content: String) -> Result<Text, ToolError> {
    if content.trim().is_empty() {
        return Err(ToolError::invalid("The content must not be empty."));
    }
    Ok(text::at_most("content", content, MAX_CONTENT)?.into())
}
