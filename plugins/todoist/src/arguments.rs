//! What the tools take. The comments are what a model reads.

use pibench_sdk::attachment::Attachments;
use pibench_sdk::listing::{List, NO_LIMIT, Page, Search};
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
pub(crate) struct ProjectId {
    pub project_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowProjects {
    pub color: Option<Color>,
    pub is_favorite: Option<bool>,
    pub is_archived: Option<bool>,
    #[serde(flatten)]
    pub list: List<NO_LIMIT>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateProject {
    pub name: String,
    #[serde(default)]
    pub color: Color,
    pub description: Option<String>,
    #[serde(default)]
    pub is_favorite: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateProject {
    pub project_id: u32,
    pub name: Option<String>,
    pub color: Option<Color>,
    pub description: Option<String>,
    pub is_favorite: Option<bool>,
    /// Nothing in it can be changed then.
    pub is_archived: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SectionId {
    pub section_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSection {
    pub project_id: u32,
    pub name: String,
    /// -1: last.
    #[serde(default)]
    pub order_index: OrderIndex,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSection {
    pub section_id: u32,
    pub name: Option<String>,
    /// -1: last.
    pub order_index: Option<OrderIndex>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskId {
    pub task_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowTasks {
    pub project_id: u32,
    pub section_id: Option<u32>,
    pub assignee_email: Option<String>,
    pub assigner_email: Option<String>,
    pub priority: Option<Priority>,
    pub is_completed: Option<bool>,
    #[serde(default)]
    pub due_today: bool,
    pub label_id: Option<u32>,
    #[serde(default)]
    pub overdue: bool,
    #[serde(default)]
    pub min_due_date: Since,
    #[serde(default)]
    pub max_due_date: Until,
    #[serde(default = "by_order")]
    pub sort_by: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTask {
    pub project_id: u32,
    pub title: String,
    pub section_id: Option<u32>,
    pub description: Option<String>,
    /// YYYY-MM-DD.
    pub due_date: Option<String>,
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    pub duration_unit: Option<DurationUnit>,
    /// -1: last.
    #[serde(default)]
    pub order_index: OrderIndex,
    #[serde(default)]
    pub priority: Priority,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateTask {
    pub task_id: u32,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Or None.
    pub due_date: Option<String>,
    /// 0: none.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    pub duration_unit: Option<DurationUnit>,
    pub is_completed: Option<bool>,
    /// -1: last.
    pub order_index: Option<OrderIndex>,
    pub priority: Option<Priority>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignTask {
    pub task_id: u32,
    pub assignee_email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubTaskId {
    pub sub_task_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSubTask {
    pub task_id: u32,
    pub title: String,
    pub description: Option<String>,
    pub due_date: Option<String>,
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    pub duration_unit: Option<DurationUnit>,
    #[serde(default)]
    pub priority: Priority,
    /// -1: last.
    #[serde(default)]
    pub order_index: OrderIndex,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSubTask {
    pub sub_task_id: u32,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Or None.
    pub due_date: Option<String>,
    /// 0: none.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub duration: Option<f64>,
    pub duration_unit: Option<DurationUnit>,
    pub priority: Option<Priority>,
    pub is_completed: Option<bool>,
    /// -1: last.
    pub order_index: Option<OrderIndex>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchLabels {
    pub task_id: Option<u32>,
    pub color: Option<Color>,
    /// False: those that it lacks.
    #[serde(default = "yes")]
    pub task_attached: bool,
    #[serde(flatten)]
    pub search: Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateLabel {
    pub name: String,
    #[serde(default)]
    pub color: Color,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelId {
    pub label_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskLabel {
    pub task_id: u32,
    pub label_id: u32,
}

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

fn by_order() -> String {
    "+order_index".to_owned()
}

fn yes() -> bool {
    true
}
