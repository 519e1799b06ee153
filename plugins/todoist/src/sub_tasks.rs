//! Sub-tasks: parts of a task, with an order of their own.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;
use crate::arguments::TaskId;
use crate::order::{self, OrderIndex};
use crate::work::{DurationUnit, Priority, Work, WorkChange};

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

/// The most sub-tasks of a task: `show_sub_tasks` has no pages.
const MAX_SUB_TASKS: usize = 200;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SubTask {
    pub task: u32,
    pub work: Work,
    pub created_at: DateTime,
}

impl Todoist {
    pub(crate) fn show_sub_tasks(
        &mut self,
        me: &Email,
        TaskId { task_id }: TaskId,
    ) -> Result<Vec<Value>, ToolError> {
        let ids = self.task(me, task_id)?.sub_tasks.iter();
        let view = |(order_index, id): (usize, &u32)| {
            let sub_task = self.sub_tasks.get(*id)?;
            let mut view = sub_task.work.view();
            view["task_id"] = json!(task_id);
            view["order_index"] = json!(order_index);
            view["created_at"] = json!(sub_task.created_at);
            view["sub_task_id"] = json!(id);
            Some(view)
        };
        Ok(ids.enumerate().filter_map(view).collect())
    }

    pub(crate) fn create_sub_task(
        &mut self,
        me: &Email,
        arguments: CreateSubTask,
    ) -> Result<Value, ToolError> {
        let CreateSubTask {
            task_id,
            title,
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            order_index,
        } = arguments;
        self.open_task(me, task_id)?;
        let change = WorkChange {
            title: Some(title),
            description,
            due_date,
            duration,
            duration_unit,
            priority: Some(priority),
            is_completed: None,
        };
        let sub_task = SubTask {
            task: task_id,
            work: Work::new(change)?,
            created_at: clock::now(),
        };
        let sub_task_id = self.insert_sub_task(sub_task, order_index)?;
        Ok(json!({
            "message": format!("Sub-task {sub_task_id} is created."),
            "sub_task_id": sub_task_id,
        }))
    }

    pub(crate) fn update_sub_task(
        &mut self,
        me: &Email,
        arguments: UpdateSubTask,
    ) -> Result<Value, ToolError> {
        let UpdateSubTask {
            sub_task_id,
            title,
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            is_completed,
            order_index,
        } = arguments;
        let change = WorkChange {
            title,
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            is_completed,
        };
        let sub_task = self.open_sub_task(me, sub_task_id)?;
        let mut work = sub_task.work.clone();
        work.apply(change)?;
        let task = sub_task.task;
        if let (Some(index), Some(task)) = (order_index, self.tasks.get_mut(task)) {
            index.move_to(sub_task_id, task.sub_tasks.to_mut());
        }
        if let Some(sub_task) = self.sub_tasks.get_mut(sub_task_id) {
            sub_task.work = work;
        }
        Ok(json!({"message": format!("Sub-task {sub_task_id} is updated.")}))
    }

    pub(crate) fn delete_sub_task(
        &mut self,
        me: &Email,
        SubTaskId { sub_task_id }: SubTaskId,
    ) -> Result<Value, ToolError> {
        let task = self.open_sub_task(me, sub_task_id)?.task;
        if let Some(task) = self.tasks.get_mut(task) {
            order::remove(sub_task_id, task.sub_tasks.to_mut());
        }
        self.sub_tasks.remove(sub_task_id);
        Ok(json!({"message": format!("Sub-task {sub_task_id} is deleted.")}))
    }

    /// Adds a sub-task; 422 if its task has too many.
    pub(crate) fn insert_sub_task(
        &mut self,
        sub_task: SubTask,
        index: OrderIndex,
    ) -> Result<u32, ToolError> {
        let task = self.tasks.get_mut(sub_task.task);
        // Cannot happen: the caller has found it.
        let task = task.ok_or_else(|| ToolError::conflict("task", sub_task.task))?;
        if task.sub_tasks.len() >= MAX_SUB_TASKS {
            return Err(ToolError::invalid(format!(
                "A task has at most {MAX_SUB_TASKS} sub-tasks."
            )));
        }
        let id = self.sub_tasks.insert(sub_task);
        index.insert(id, task.sub_tasks.to_mut());
        Ok(id)
    }

    /// A sub-task that one may change: 409 if there is none, 422 if it is other people's or in an archived project.
    fn open_sub_task(&self, me: &Email, id: u32) -> Result<&SubTask, ToolError> {
        let sub_task = self
            .sub_tasks
            .get(id)
            .ok_or_else(|| ToolError::conflict("sub-task", id))?;
        let task = self.task(me, sub_task.task).map_err(|_| {
            ToolError::invalid(format!("Sub-task {id} belongs to another account."))
        })?;
        self.open_project(me, task.project)?;
        Ok(sub_task)
    }
}
