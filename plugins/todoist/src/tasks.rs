//! Tasks: the tools about them, and what goes with a task that is deleted.

use jiff::civil::{Date, DateTime};
use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::time::{Since, Until};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;
use crate::arguments::TaskId;
use crate::notifications::Deed;
use crate::order::{self, OrderIndex};
use crate::work::{DurationUnit, Priority, Work, WorkChange};

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

fn by_order() -> String {
    "+order_index".to_owned()
}

/// The most tasks of a project: `show_tasks` has no pages.
const MAX_TASKS: usize = 2000;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub project: u32,
    /// None for a task outside the sections.
    pub section: Option<u32>,
    pub creator: Email,
    pub work: Work,
    pub assignment: Option<Assignment>,
    /// In the order in which they were added.
    pub labels: List<u32>,
    /// In their order.
    pub sub_tasks: List<u32>,
    /// The oldest first.
    pub comments: List<u32>,
    pub created_at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub assignee: Email,
    pub assigner: Email,
}

/// A task in a list.
pub(crate) struct Row<'a> {
    pub order_index: usize,
    pub id: u32,
    pub task: &'a Task,
}

/// What [`ShowTasks`] asks for, checked.
struct Filter {
    assignee: Option<Email>,
    assigner: Option<Email>,
    /// The ids of one name: in a shared project several people's labels may have it.
    labels: Option<Vec<u32>>,
    arguments: ShowTasks,
    today: Date,
}

impl Todoist {
    pub(crate) fn show_tasks(
        &mut self,
        me: &Email,
        arguments: ShowTasks,
    ) -> Result<Value, ToolError> {
        let (project_id, section_id) = (arguments.project_id, arguments.section_id);
        let project_id = self.named_project(me, project_id);
        let project = self.project(me, project_id)?;
        // Section 0 is what is outside the sections.
        if let Some(section) = section_id.filter(|id| *id != 0) {
            self.check_section(project_id, section)?;
        }
        let filter = self.filter(arguments)?;
        let no_section_tasks = match section_id {
            None | Some(0) => self.rows(&project.tasks, &filter)?,
            Some(_) => Vec::new(),
        };
        let mut sections = Vec::new();
        for (id, section) in self.sections_of(project) {
            if section_id.is_none_or(|wanted| wanted == id) {
                let tasks = self.rows(&section.tasks, &filter)?;
                sections.push(json!({"section_id": id, "tasks": tasks}));
            }
        }
        Ok(json!({
            "project_id": project_id,
            "no_section_tasks": no_section_tasks,
            "sections": sections,
        }))
    }

    /// 422 for what is no address and for dates that are asked for in two ways, 409 for a person or a label that there is
    /// not.
    fn filter(&self, arguments: ShowTasks) -> Result<Filter, ToolError> {
        arguments.check_dates()?;
        let labels = arguments.label_id.map(|label| self.labels_like(label));
        Ok(Filter {
            labels: labels.transpose()?,
            assignee: self
                .accounts
                .named_by(arguments.assignee_email.as_deref())?,
            assigner: self
                .accounts
                .named_by(arguments.assigner_email.as_deref())?,
            arguments,
            today: clock::now().date(),
        })
    }

    /// All labels that have the name of this one: 409 if there is none.
    fn labels_like(&self, label: u32) -> Result<Vec<u32>, ToolError> {
        let wanted = self.labels.get(label);
        let wanted = wanted.ok_or_else(|| ToolError::conflict("label", label))?;
        let like = self
            .labels
            .iter()
            .filter(|(_, label)| label.name == wanted.name);
        Ok(like.map(|(id, _)| id).collect())
    }

    fn rows(&self, tasks: &[u32], filter: &Filter) -> Result<Vec<Value>, ToolError> {
        let row = |(order_index, id): (usize, &u32)| {
            let (id, task) = (*id, self.tasks.get(*id)?);
            filter.wants(task).then_some(Row {
                order_index,
                id,
                task,
            })
        };
        let mut rows: Vec<Row> = tasks.iter().enumerate().filter_map(row).collect();
        let sort_by = filter.arguments.sort_by.as_str();
        listing::sort(&mut rows, Some(sort_by), &task_fields())?;
        if sort_by.ends_with("due_date") {
            rows.sort_by_key(|row| row.task.work.due_date.is_none());
        }
        Ok(rows.iter().map(|row| self.view_row(row)).collect())
    }

    pub(crate) fn show_task(
        &mut self,
        me: &Email,
        TaskId { task_id }: TaskId,
    ) -> Result<Value, ToolError> {
        let task = self.task(me, task_id)?;
        Ok(self.view_task(task_id, task))
    }

    pub(crate) fn create_task(
        &mut self,
        me: &Email,
        arguments: CreateTask,
    ) -> Result<Value, ToolError> {
        let CreateTask {
            project_id,
            title,
            section_id,
            description,
            due_date,
            duration,
            duration_unit,
            order_index,
            priority,
        } = arguments;
        let project_id = self.named_project(me, project_id);
        let section_id = section_id.filter(|id| *id != 0);
        self.open_project(me, project_id)?;
        let change = WorkChange {
            title: Some(title),
            description,
            due_date,
            duration,
            duration_unit,
            priority: Some(priority),
            is_completed: None,
        };
        let task = Task {
            project: project_id,
            section: section_id,
            creator: me.clone(),
            work: Work::new(change)?,
            assignment: None,
            labels: List::default(),
            sub_tasks: List::default(),
            comments: List::default(),
            created_at: clock::now(),
        };
        let task_id = self.insert_task(task, order_index)?;
        Ok(json!({"message": format!("Task {task_id} is created."), "task_id": task_id}))
    }

    pub(crate) fn update_task(
        &mut self,
        me: &Email,
        arguments: UpdateTask,
    ) -> Result<Value, ToolError> {
        let UpdateTask {
            task_id,
            title,
            description,
            due_date,
            duration,
            duration_unit,
            is_completed,
            order_index,
            priority,
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
        let task = self.open_task(me, task_id)?;
        let mut work = task.work.clone();
        work.apply(change)?;
        let completed = work.is_completed && !task.work.is_completed;
        let siblings = self.siblings(task.project, task.section);
        if let (Some(index), Some(siblings)) = (order_index, siblings) {
            index.move_to(task_id, siblings);
        }
        if let Some(task) = self.tasks.get_mut(task_id) {
            task.work = work;
        }
        if completed {
            self.tell_about(me, task_id, Deed::COMPLETED);
        }
        Ok(json!({"message": format!("Task {task_id} is updated.")}))
    }

    pub(crate) fn delete_task(
        &mut self,
        me: &Email,
        TaskId { task_id }: TaskId,
    ) -> Result<Value, ToolError> {
        let task = self.open_task(me, task_id)?;
        if let Some(siblings) = self.siblings(task.project, task.section) {
            order::remove(task_id, siblings);
        }
        self.forget_task(task_id);
        Ok(json!({"message": format!("Task {task_id} is deleted.")}))
    }

    pub(crate) fn assign_or_unassign_task(
        &mut self,
        me: &Email,
        arguments: AssignTask,
    ) -> Result<Value, ToolError> {
        let AssignTask {
            task_id,
            assignee_email,
        } = arguments;
        let task = self.open_task(me, task_id)?;
        let assignee = assignee_email
            .map(|email| Email::parse(&email))
            .transpose()?;
        if let Some(assignee) = &assignee {
            self.check_member(task.project, assignee)?;
        }
        let before = task.assignment.map(|assignment| assignment.assignee);
        if let Some(before) = before.filter(|before| Some(before) != assignee.as_ref()) {
            self.tell(me, &before, task_id, Deed::UNASSIGNED);
        }
        let message = match &assignee {
            None => format!("Task {task_id} is assigned to nobody now."),
            Some(assignee) => format!("Task {task_id} is assigned to {assignee}."),
        };
        if let Some(task) = self.tasks.get_mut(task_id) {
            task.assignment = assignee.clone().map(|assignee| Assignment {
                assignee,
                assigner: me.clone(),
            });
        }
        if let Some(assignee) = assignee {
            self.tell(me, &assignee, task_id, Deed::ASSIGNED);
        }
        Ok(json!({"message": message}))
    }

    /// Adds a task; 409 or 422 if its section is not in its project, 422 if the project is full.
    pub(crate) fn insert_task(&mut self, task: Task, index: OrderIndex) -> Result<u32, ToolError> {
        let (project, section) = (task.project, task.section);
        if let Some(section) = section {
            self.check_section(project, section)?;
        }
        let full = self
            .projects
            .get(project)
            .is_some_and(|project| self.num_tasks(project) >= MAX_TASKS);
        if full {
            return Err(ToolError::invalid(format!(
                "A project has at most {MAX_TASKS} tasks."
            )));
        }
        let id = self.tasks.insert(task);
        if let Some(siblings) = self.siblings(project, section) {
            index.insert(id, siblings);
        }
        Ok(id)
    }

    /// 409 if somebody has no account, 422 unless they are in the project.
    pub(crate) fn check_member(&self, project: u32, person: &Email) -> Result<(), ToolError> {
        self.accounts.known(person)?;
        let member = self
            .projects
            .get(project)
            .is_some_and(|project| project.has_member(person));
        if !member {
            return Err(ToolError::invalid(format!(
                "{person} is not in project {project}."
            )));
        }
        Ok(())
    }

    /// 409 if there is no such section, 422 if it is in another project.
    fn check_section(&self, project: u32, section: u32) -> Result<(), ToolError> {
        let found = self
            .sections
            .get(section)
            .ok_or_else(|| ToolError::conflict("section", section))?;
        if found.project != project {
            return Err(ToolError::invalid(format!(
                "Section {section} is not in project {project}."
            )));
        }
        Ok(())
    }

    /// The list in which a task has its place.
    pub(crate) fn siblings(&mut self, project: u32, section: Option<u32>) -> Option<&mut Vec<u32>> {
        match section {
            Some(section) => Some(self.sections.get_mut(section)?.tasks.to_mut()),
            None => Some(self.projects.get_mut(project)?.tasks.to_mut()),
        }
    }

    /// A task of a project that one is in: 409 if there is none, 422 if it is other people's.
    pub(crate) fn task(&self, me: &Email, id: u32) -> Result<&Task, ToolError> {
        let task = self
            .tasks
            .get(id)
            .ok_or_else(|| ToolError::conflict("task", id))?;
        if self.project(me, task.project).is_err() {
            return Err(ToolError::invalid(format!(
                "Task {id} belongs to another account."
            )));
        }
        Ok(task)
    }

    /// A copy of it, 422 too if its project is archived.
    pub(crate) fn open_task(&self, me: &Email, id: u32) -> Result<Task, ToolError> {
        let task = self.task(me, id)?;
        self.open_project(me, task.project)?;
        Ok(task.clone())
    }

    /// Removes tasks that no list holds any more.
    pub(crate) fn forget_tasks(&mut self, gone: impl Fn(&Task) -> bool) {
        let gone: Vec<u32> = self
            .tasks
            .iter()
            .filter(|(_, task)| gone(task))
            .map(|(id, _)| id)
            .collect();
        for id in gone {
            self.forget_task(id);
        }
    }

    fn forget_task(&mut self, id: u32) {
        let Some(task) = self.tasks.remove(id) else {
            return;
        };
        for sub_task in task.sub_tasks {
            self.sub_tasks.remove(sub_task);
        }
        for comment in task.comments {
            self.comments.remove(comment);
        }
    }
}

impl ShowTasks {
    /// The widest period is no wish: it has the tasks without a due date too.
    fn has_period(&self) -> bool {
        self.min_due_date != Since::default() || self.max_due_date != Until::default()
    }

    /// 422 for more than one of today, overdue and a period.
    fn check_dates(&self) -> Result<(), ToolError> {
        let ways = [self.due_today, self.overdue, self.has_period()];
        if ways.into_iter().filter(|asked| *asked).count() > 1 {
            return Err(ToolError::invalid(
                "Give only one of due_today, overdue, and a min_due_date or max_due_date.",
            ));
        }
        Ok(())
    }
}

impl Filter {
    fn wants(&self, task: &Task) -> bool {
        let arguments = &self.arguments;
        let assigned = task.assignment.as_ref();
        let by_whom = |wanted: &Option<Email>, who: fn(&Assignment) -> &Email| {
            wanted.is_none() || assigned.map(who) == wanted.as_ref()
        };
        by_whom(&self.assignee, |assignment| &assignment.assignee)
            && by_whom(&self.assigner, |assignment| &assignment.assigner)
            && arguments
                .priority
                .is_none_or(|priority| task.work.priority == priority)
            && arguments
                .is_completed
                .is_none_or(|completed| task.work.is_completed == completed)
            && self
                .labels
                .as_ref()
                .is_none_or(|wanted| task.labels.iter().any(|label| wanted.contains(label)))
            && self.wants_date(&task.work)
    }

    fn wants_date(&self, work: &Work) -> bool {
        let ShowTasks {
            due_today,
            overdue,
            min_due_date,
            max_due_date,
            ..
        } = &self.arguments;
        let any = !self.arguments.has_period();
        let period = min_due_date.0.date()..=max_due_date.0.date();
        (!due_today || work.due_date == Some(self.today))
            && (!overdue || work.is_overdue(self.today))
            && (any || work.due_date.is_some_and(|due| period.contains(&due)))
    }
}

pub(crate) fn task_fields<'a>() -> [listing::Field<Row<'a>>; 3] {
    [
        ("order_index", |a, b| a.order_index.cmp(&b.order_index)),
        ("due_date", |a, b| {
            a.task.work.due_date.cmp(&b.task.work.due_date)
        }),
        ("priority", |a, b| {
            a.task.work.priority.cmp(&b.task.work.priority)
        }),
    ]
}
