//! What a task and a sub-task have in common: what is to be done, until when, how long it takes.

use jiff::civil::Date;
use pibench_sdk::text::{self, Text};
use pibench_sdk::time;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The longest title and description, in bytes.
const MAX_TITLE: usize = 500;
const MAX_DESCRIPTION: usize = 16 * 1024;
/// The longest duration, in whatever unit.
const MAX_DURATION: f64 = 1_000_000.0;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Work {
    pub title: Text,
    pub description: Text,
    pub due_date: Option<Date>,
    pub priority: Priority,
    pub duration: Option<Duration>,
    pub is_completed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Duration {
    /// More than 0.
    amount: f64,
    unit: DurationUnit,
}

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Priority {
    Low,
    #[default]
    Medium,
    High,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DurationUnit {
    Minutes,
    Hours,
    Days,
}

/// What somebody says about a task; what is not given stays.
#[derive(Debug, Default)]
pub(crate) struct WorkChange {
    pub title: Option<String>,
    pub description: Option<String>,
    /// An empty text or `none` takes it away.
    pub due_date: Option<String>,
    /// 0 takes it away.
    pub duration: Option<f64>,
    pub duration_unit: Option<DurationUnit>,
    pub priority: Option<Priority>,
    pub is_completed: Option<bool>,
}

impl Work {
    /// What a change makes of nothing; 422 for what breaks a rule. There is no date yet that a word could take away.
    pub(crate) fn new(mut change: WorkChange) -> Result<Self, ToolError> {
        let due_date = change.due_date.take();
        let due_date = due_date.as_deref().map(str::trim);
        let due_date = due_date.filter(|date| !date.is_empty());
        let mut work = Self {
            title: Text::default(),
            description: Text::default(),
            due_date: due_date
                .map(|date| time::parse_date("due_date", date))
                .transpose()?,
            priority: Priority::default(),
            duration: None,
            is_completed: false,
        };
        work.apply(change)?;
        Ok(work)
    }

    /// 422 for what breaks a rule; the work is then to be thrown away.
    pub(crate) fn apply(&mut self, change: WorkChange) -> Result<(), ToolError> {
        let WorkChange {
            title,
            description,
            due_date,
            duration,
            duration_unit,
            priority,
            is_completed,
        } = change;
        if let Some(title) = title {
            self.title = text::not_empty("title", &title, MAX_TITLE)?.into();
        }
        if let Some(description) = description {
            self.description = text::at_most("description", description, MAX_DESCRIPTION)?.into();
        }
        if let Some(due_date) = due_date {
            self.due_date = match due_date.trim() {
                "" => None,
                none if none.eq_ignore_ascii_case("none") => None,
                date => Some(time::parse_date("due_date", date)?),
            };
        }
        if duration.is_some() || duration_unit.is_some() {
            self.duration = changed_duration(self.duration, duration, duration_unit)?;
        }
        self.priority = priority.unwrap_or(self.priority);
        self.is_completed = is_completed.unwrap_or(self.is_completed);
        Ok(())
    }

    /// Whether or not it is completed.
    pub(crate) fn is_overdue(&self, today: Date) -> bool {
        self.due_date.is_some_and(|due| due < today)
    }

    /// As tools answer with it.
    pub(crate) fn view(&self) -> Value {
        let mut view = self.state();
        view["due_date"] = json!(self.due_date.map(time::midnight));
        view
    }

    /// As graders see it.
    pub(crate) fn state(&self) -> Value {
        let amount = self.duration.map(|duration| whole(duration.amount));
        json!({
            "title": self.title,
            "description": self.description,
            "due_date": self.due_date,
            "priority": self.priority,
            "is_completed": self.is_completed,
            "duration": amount,
            "duration_unit": self.duration.map(|duration| duration.unit),
        })
    }
}

impl Duration {
    /// For the world's rows.
    pub(crate) const fn hours(amount: f64) -> Self {
        Self {
            amount,
            unit: DurationUnit::Hours,
        }
    }
}

/// A number and a unit go together; either may stay as it was.
fn changed_duration(
    old: Option<Duration>,
    amount: Option<f64>,
    unit: Option<DurationUnit>,
) -> Result<Option<Duration>, ToolError> {
    if amount == Some(0.0) {
        return Ok(None);
    }
    let amount = amount.or(old.map(|old| old.amount));
    let unit = unit.or(old.map(|old| old.unit));
    let (Some(amount), Some(unit)) = (amount, unit) else {
        return Err(ToolError::invalid(
            "duration and duration_unit go together: give both.",
        ));
    };
    if !(amount > 0.0 && amount <= MAX_DURATION) {
        return Err(ToolError::invalid(format!(
            "duration must be more than 0 and at most {MAX_DURATION}, not {amount}."
        )));
    }
    Ok(Some(Duration { amount, unit }))
}

/// 30 and not 30.0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a duration is at most a million"
)]
fn whole(amount: f64) -> Value {
    if amount.fract() == 0.0 {
        json!(amount as i64)
    } else {
        json!(amount)
    }
}
