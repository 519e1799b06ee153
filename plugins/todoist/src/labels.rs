//! Labels. Everybody has labels of their own; whoever is in a project can see which labels its tasks have, and take
//! them off.

use pibench_sdk::account::Email;
use pibench_sdk::listing::{NO_LIMIT, Search};
use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;
use crate::arguments::Color;
use crate::order;
use crate::projects::checked_name;
use crate::tasks::Task;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchLabels {
    pub task_id: Option<u32>,
    pub color: Option<Color>,
    /// False: those that it lacks.
    #[serde(default = "yes")]
    pub task_attached: bool,
    #[serde(flatten)]
    pub search: Search<NO_LIMIT>,
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

fn yes() -> bool {
    true
}

/// The most labels of a task.
const MAX_TASK_LABELS: usize = 50;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Label {
    pub creator: Email,
    pub name: Text,
    pub color: Color,
}

impl Todoist {
    pub(crate) fn search_labels(
        &mut self,
        me: &Email,
        arguments: SearchLabels,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchLabels {
            task_id,
            color,
            task_attached,
            search,
        } = arguments;
        let task = task_id.map(|id| self.task(me, id)).transpose()?;
        let wanted = |id: u32, label: &Label| {
            let visible = match task {
                Some(task) if task_attached => task.labels.contains(&id),
                Some(task) => label.creator == *me && !task.labels.contains(&id),
                None => label.creator == *me,
            };
            visible && color.is_none_or(|color| label.color == color)
        };
        let mut labels: Vec<(u32, &Label)> = self
            .labels
            .iter()
            .filter(|(id, label)| wanted(*id, label))
            .collect();
        labels.sort_by_cached_key(|(id, label)| (label.name.to_lowercase(), *id));
        let labels = search.of(labels, |(_, label)| label.name.to_string());
        let view = |(id, label): (u32, &Label)| {
            json!({
                "name": label.name,
                "color": label.color,
                "label_id": id,
                "creator": self.view_person(&label.creator),
            })
        };
        Ok(labels.into_iter().map(view).collect())
    }

    pub(crate) fn create_label(
        &mut self,
        me: &Email,
        arguments: CreateLabel,
    ) -> Result<Value, ToolError> {
        let CreateLabel { name, color } = arguments;
        let label_id = self.insert_label(me, &name, color)?;
        Ok(json!({"message": format!("Label {label_id} is created."), "label_id": label_id}))
    }

    pub(crate) fn delete_label(
        &mut self,
        me: &Email,
        LabelId { label_id }: LabelId,
    ) -> Result<Value, ToolError> {
        self.own_label(me, label_id)?;
        self.labels.remove(label_id);
        let labelled = self
            .tasks
            .iter()
            .filter(|(_, task)| task.labels.contains(&label_id));
        let labelled: Vec<u32> = labelled.map(|(id, _)| id).collect();
        for id in labelled {
            if let Some(task) = self.tasks.get_mut(id) {
                order::remove(label_id, task.labels.to_mut());
            }
        }
        Ok(json!({"message": format!("Label {label_id} is deleted and taken off all tasks.")}))
    }

    pub(crate) fn add_label_to_task(
        &mut self,
        me: &Email,
        arguments: TaskLabel,
    ) -> Result<Value, ToolError> {
        let TaskLabel { task_id, label_id } = arguments;
        self.open_task(me, task_id)?;
        self.own_label(me, label_id)?;
        if let Some(task) = self.tasks.get_mut(task_id) {
            attach(task, label_id)?;
        }
        Ok(json!({"message": format!("Task {task_id} has label {label_id} now.")}))
    }

    pub(crate) fn remove_label_from_task(
        &mut self,
        me: &Email,
        arguments: TaskLabel,
    ) -> Result<Value, ToolError> {
        let TaskLabel { task_id, label_id } = arguments;
        let task = self.open_task(me, task_id)?;
        if self.labels.get(label_id).is_none() {
            return Err(ToolError::conflict("label", label_id));
        }
        if !task.labels.contains(&label_id) {
            return Err(ToolError::invalid(format!(
                "Task {task_id} does not have label {label_id}."
            )));
        }
        if let Some(task) = self.tasks.get_mut(task_id) {
            order::remove(label_id, task.labels.to_mut());
        }
        Ok(json!({"message": format!("Label {label_id} is taken off task {task_id}.")}))
    }

    /// Adds a label; 422 if it breaks a rule, 409 if another one of the creator's has its name.
    pub(crate) fn insert_label(
        &mut self,
        creator: &Email,
        name: &str,
        color: Color,
    ) -> Result<u32, ToolError> {
        let name = checked_name(name)?;
        if let Some(id) = self.label_named(creator, &name) {
            return Err(ToolError::taken(format!(
                "Label {id} has the name {name:?} already."
            )));
        }
        let creator = creator.clone();
        Ok(self.labels.insert(Label {
            creator,
            name,
            color,
        }))
    }

    /// Whatever the case of the letters.
    pub(crate) fn label_named(&self, creator: &Email, name: &str) -> Option<u32> {
        let name = name.trim().to_lowercase();
        let mut labels = self.labels.iter();
        let found = labels
            .find(|(_, label)| label.creator == *creator && label.name.to_lowercase() == name);
        found.map(|(id, _)| id)
    }

    /// One's own label: 409 if there is none, 422 if it is somebody else's.
    fn own_label(&self, me: &Email, id: u32) -> Result<&Label, ToolError> {
        let label = self
            .labels
            .get(id)
            .ok_or_else(|| ToolError::conflict("label", id))?;
        if label.creator != *me {
            return Err(ToolError::invalid(format!(
                "Label {id} belongs to another account."
            )));
        }
        Ok(label)
    }
}

/// Puts a label on a task; 422 if it has it, or has too many.
pub(crate) fn attach(task: &mut Task, label: u32) -> Result<(), ToolError> {
    if task.labels.contains(&label) {
        return Err(ToolError::invalid(format!(
            "The task has label {label} already."
        )));
    }
    if task.labels.len() >= MAX_TASK_LABELS {
        return Err(ToolError::invalid(format!(
            "A task has at most {MAX_TASK_LABELS} labels."
        )));
    }
    task.labels.to_mut().push(label);
    Ok(())
}
