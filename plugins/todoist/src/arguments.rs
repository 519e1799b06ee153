//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::order::OrderIndex;
use crate::work::{DurationUnit, Priority};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Color {
    #[default]
    Charcoal,
    Red,
    Blue,
    Green,
    Orange,
    Yellow,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchUsers {
    /// Words to look for in names and email addresses; any of them may match. Without it, everybody.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectId {
    /// The project's id.
    pub project_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowProjects {
    /// Words to look for in names and descriptions; any of them may match. Without it, all projects.
    pub query: Option<String>,
    /// Only projects of this color.
    pub color: Option<Color>,
    /// Only your favorites (true), or only others (false).
    pub is_favorite: Option<bool>,
    /// Only archived projects (true), or only others (false). Without it, both.
    pub is_archived: Option<bool>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of name, created_at, project_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateProject {
    /// The project's name, not empty.
    pub name: String,
    /// The project's color.
    #[serde(default)]
    pub color: Color,
    /// What the project is about.
    pub description: Option<String>,
    /// Whether it is one of your favorites.
    #[serde(default)]
    pub is_favorite: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateProject {
    /// The project's id.
    pub project_id: u32,
    /// The new name, not empty.
    pub name: Option<String>,
    /// The new color.
    pub color: Option<Color>,
    /// The new description, in place of the old.
    pub description: Option<String>,
    /// Whether it is one of your favorites; others have their own.
    pub is_favorite: Option<bool>,
    /// Whether it is archived. Nothing in an archived project can be changed.
    pub is_archived: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SectionId {
    /// The section's id.
    pub section_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSection {
    /// The project's id.
    pub project_id: u32,
    /// The section's name, not empty.
    pub name: String,
    /// Where it stands among the project's sections, from 0 on; -1 is the end.
    #[serde(default)]
    pub order_index: OrderIndex,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSection {
    /// The section's id.
    pub section_id: u32,
    /// The new name, not empty.
    pub name: Option<String>,
    /// Where it stands among the project's sections, from 0 on; -1 is the end.
    pub order_index: Option<OrderIndex>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskId {
    /// The task's id.
    pub task_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowTasks {
    /// The project's id.
    pub project_id: u32,
    /// Only the tasks of this section.
    pub section_id: Option<u32>,
    /// Only tasks that are assigned to this email address.
    pub assignee_email: Option<String>,
    /// Only tasks that this email address assigned to somebody.
    pub assigner_email: Option<String>,
    /// Only tasks of this priority.
    pub priority: Option<Priority>,
    /// Only completed tasks (true), or only open ones (false). Without it, both.
    pub is_completed: Option<bool>,
    /// Only tasks that are due today.
    #[serde(default)]
    pub due_today: bool,
    /// Only tasks with this label.
    pub label_id: Option<u32>,
    /// Only open tasks that were due before today.
    #[serde(default)]
    pub overdue: bool,
    /// Only tasks that are due on this date or later.
    #[serde(default)]
    pub min_due_date: Since,
    /// Only tasks that are due on this date or earlier.
    #[serde(default)]
    pub max_due_date: Until,
    /// + (ascending) or - (descending) and one of order_index, due_date, priority, title, created_at, task_id.
    #[serde(default = "by_order")]
    pub sort_by: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTask {
    /// The project's id.
    pub project_id: u32,
    /// What is to be done, not empty.
    pub title: String,
    /// The section of the project to put it in. Without it, it stands outside the sections.
    pub section_id: Option<u32>,
    /// Details.
    pub description: Option<String>,
    /// When it is due, a date (2026-03-09).
    pub due_date: Option<String>,
    /// How long it takes, together with duration_unit.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    /// The unit of duration.
    pub duration_unit: Option<DurationUnit>,
    /// Where it stands among the tasks of its section, from 0 on; -1 is the end.
    #[serde(default)]
    pub order_index: OrderIndex,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateTask {
    /// The task's id.
    pub task_id: u32,
    /// The new title, not empty.
    pub title: Option<String>,
    /// The new details, in place of the old.
    pub description: Option<String>,
    /// When it is due, a date (2026-03-09); an empty text takes the date away.
    pub due_date: Option<String>,
    /// How long it takes; 0 takes the duration away.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    /// The unit of duration.
    pub duration_unit: Option<DurationUnit>,
    /// Whether it is done. Its sub-tasks stay as they are.
    pub is_completed: Option<bool>,
    /// Where it stands among the tasks of its section, from 0 on; -1 is the end.
    pub order_index: Option<OrderIndex>,
    /// How urgent it is.
    pub priority: Option<Priority>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignTask {
    /// The task's id.
    pub task_id: u32,
    /// Who shall do it: the email address of somebody in the project. Without it, the task is assigned to nobody.
    pub assignee_email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubTaskId {
    /// The sub-task's id.
    pub sub_task_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSubTask {
    /// The id of the task that it is a part of.
    pub task_id: u32,
    /// What is to be done, not empty.
    pub title: String,
    /// Details.
    pub description: Option<String>,
    /// When it is due, a date (2026-03-09).
    pub due_date: Option<String>,
    /// How long it takes, together with duration_unit.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    /// The unit of duration.
    pub duration_unit: Option<DurationUnit>,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// Where it stands among the task's sub-tasks, from 0 on; -1 is the end.
    #[serde(default)]
    pub order_index: OrderIndex,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSubTask {
    /// The sub-task's id.
    pub sub_task_id: u32,
    /// The new title, not empty.
    pub title: Option<String>,
    /// The new details, in place of the old.
    pub description: Option<String>,
    /// When it is due, a date (2026-03-09); an empty text takes the date away.
    pub due_date: Option<String>,
    /// How long it takes; 0 takes the duration away.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    /// The unit of duration.
    pub duration_unit: Option<DurationUnit>,
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// Whether it is done.
    pub is_completed: Option<bool>,
    /// Where it stands among the task's sub-tasks, from 0 on; -1 is the end.
    pub order_index: Option<OrderIndex>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchLabels {
    /// Words to look for in names; any of them may match. Without it, all labels.
    pub query: Option<String>,
    /// Look at this task: its labels, or with task_attached = false your labels that it does not have.
    pub task_id: Option<u32>,
    /// Only labels of this color.
    pub color: Option<Color>,
    /// Only used with task_id: whether the task has the label.
    #[serde(default = "yes")]
    pub task_attached: bool,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateLabel {
    /// The label's name. No two of your labels can have the same.
    pub name: String,
    /// The label's color.
    #[serde(default)]
    pub color: Color,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelId {
    /// The label's id.
    pub label_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskLabel {
    /// The task's id.
    pub task_id: u32,
    /// The label's id.
    pub label_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowComments {
    /// The task's id.
    pub task_id: u32,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommentId {
    /// The comment's id.
    pub task_comment_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostComment {
    /// The task's id.
    pub task_id: u32,
    /// The text, not empty.
    pub content: String,
    /// Not available: the file system app is not connected, so nothing can be attached.
    pub attachment_file_paths: Option<Vec<String>>,
    /// The access token of the file system app. Only needed for attachments.
    pub file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateComment {
    /// The comment's id.
    pub task_comment_id: u32,
    /// The new text, in place of the old, not empty.
    pub content: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CountNotifications {
    /// Only read notifications (true), or only unread ones (false). Without it, both.
    pub read: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowNotifications {
    /// Only read notifications (true), or only unread ones (false). Without it, both.
    pub read: Option<bool>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MarkNotification {
    /// The notification's id.
    pub notification_id: u32,
    /// Whether it is read (true) or unread (false).
    pub read: bool,
}

fn by_order() -> String {
    "+order_index".to_owned()
}

fn yes() -> bool {
    true
}
