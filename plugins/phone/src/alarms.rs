//! Alarms. They are settings only: none ever rings.

use std::fmt;

use jiff::civil::{DateTime, Time, time};
use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::list::List;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Phone;

/// The longest label, in bytes.
const MAX_LABEL: usize = 200;
/// The longest snooze, in minutes.
const MAX_SNOOZE: u32 = 60;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Alarm {
    pub owner: Email,
    pub time: AlarmTime,
    /// Each once, from Monday on.
    pub repeat_days: List<Weekday>,
    pub label: Text,
    pub enabled: bool,
    pub snooze_minutes: u32,
    pub vibration: bool,
    pub created_at: DateTime,
}

/// Hours and minutes; `07:30` in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct AlarmTime(Time);

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlarmId {
    pub alarm_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateAlarm {
    /// HH:MM.
    pub time: String,
    /// None: once.
    pub repeat_days: Option<Vec<Weekday>>,
    pub label: Option<String>,
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default = "default_snooze")]
    #[schemars(range(min = 0, max = 60))]
    pub snooze_minutes: u32,
    #[serde(default = "yes")]
    pub vibration: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateAlarm {
    pub alarm_id: u32,
    pub time: Option<String>,
    /// None: once.
    pub repeat_days: Option<Vec<Weekday>>,
    pub label: Option<String>,
    pub enabled: Option<bool>,
    #[schemars(range(min = 0, max = 60))]
    pub snooze_minutes: Option<u32>,
    pub vibration: Option<bool>,
}

/// What somebody says about an alarm; what is not given stays.
#[derive(Debug, Default)]
pub(crate) struct AlarmChange {
    pub time: Option<String>,
    pub repeat_days: Option<Vec<Weekday>>,
    pub label: Option<String>,
    pub enabled: Option<bool>,
    pub snooze_minutes: Option<u32>,
    pub vibration: Option<bool>,
}

impl Phone {
    pub(crate) fn create_alarm(
        &mut self,
        me: &Email,
        arguments: CreateAlarm,
    ) -> Result<Value, ToolError> {
        let CreateAlarm {
            time,
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
        } = arguments;
        let change = AlarmChange {
            time: Some(time),
            repeat_days,
            label,
            enabled: Some(enabled),
            snooze_minutes: Some(snooze_minutes),
            vibration: Some(vibration),
        };
        let mut alarm = Alarm::new(me.clone(), clock::now());
        alarm.apply(change)?;
        let same = |earlier: &Alarm| {
            earlier.owner == alarm.owner
                && earlier.time == alarm.time
                && earlier.repeat_days == alarm.repeat_days
                && earlier.label == alarm.label
        };
        // Those without a label may be the same.
        if !alarm.label.is_empty() && self.alarms.iter().any(|(_, earlier)| same(earlier)) {
            return Err(ToolError::taken(format!(
                "You have an alarm at {} on these days with this label already.",
                alarm.time
            )));
        }
        let alarm_id = self.alarms.insert(alarm);
        Ok(json!({"message": format!("Alarm {alarm_id} is created."), "alarm_id": alarm_id}))
    }

    pub(crate) fn update_alarm(
        &mut self,
        me: &Email,
        arguments: UpdateAlarm,
    ) -> Result<Value, ToolError> {
        let UpdateAlarm {
            alarm_id,
            time,
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
        } = arguments;
        let change = AlarmChange {
            time,
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
        };
        let mut alarm = self.alarm(me, alarm_id)?.clone();
        alarm.apply(change)?;
        if let Some(kept) = self.alarms.get_mut(alarm_id) {
            *kept = alarm;
        }
        Ok(json!({"message": format!("Alarm {alarm_id} is updated.")}))
    }

    pub(crate) fn show_alarm(
        &mut self,
        me: &Email,
        AlarmId { alarm_id }: AlarmId,
    ) -> Result<Value, ToolError> {
        let Alarm {
            owner,
            time,
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
            created_at,
        } = self.alarm(me, alarm_id)?;
        Ok(json!({
            "alarm_id": alarm_id,
            "time": time,
            "repeat_days": repeat_days,
            "label": label,
            "enabled": enabled,
            "snooze_minutes": snooze_minutes,
            "vibration": vibration,
            "created_at": created_at,
            "user": {"name": self.accounts.name(owner), "phone_number": self.number_of(owner)},
        }))
    }

    /// One's own alarm: 409 if there is none, 422 if it is somebody else's.
    fn alarm(&self, me: &Email, id: u32) -> Result<&Alarm, ToolError> {
        let alarm = self
            .alarms
            .get(id)
            .ok_or_else(|| ToolError::conflict("alarm", id))?;
        if alarm.owner != *me {
            return Err(ToolError::invalid(format!(
                "Alarm {id} belongs to another account."
            )));
        }
        Ok(alarm)
    }
}

impl Alarm {
    /// At midnight, once: a beginning for [`Alarm::apply`].
    pub(crate) fn new(owner: Email, created_at: DateTime) -> Self {
        Self {
            owner,
            time: AlarmTime(Time::midnight()),
            repeat_days: List::default(),
            label: Text::default(),
            enabled: true,
            snooze_minutes: default_snooze(),
            vibration: true,
            created_at,
        }
    }

    /// 422 for what breaks a rule; the alarm is then to be thrown away.
    pub(crate) fn apply(&mut self, change: AlarmChange) -> Result<(), ToolError> {
        let AlarmChange {
            time,
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
        } = change;
        if let Some(time) = time {
            self.time = match AlarmTime::try_from(time) {
                Ok(time) => time,
                Err(reason) => return Err(ToolError::invalid(reason)),
            };
        }
        if let Some(mut days) = repeat_days {
            days.sort_unstable();
            days.dedup();
            self.repeat_days = days.into();
        }
        if let Some(label) = label {
            self.label = text::at_most("label", label.trim().to_owned(), MAX_LABEL)?.into();
        }
        if let Some(minutes) = snooze_minutes {
            if minutes > MAX_SNOOZE {
                return Err(ToolError::invalid(format!(
                    "snooze_minutes must be from 0 to {MAX_SNOOZE}, not {minutes}."
                )));
            }
            self.snooze_minutes = minutes;
        }
        self.enabled = enabled.unwrap_or(self.enabled);
        self.vibration = vibration.unwrap_or(self.vibration);
        Ok(())
    }
}

impl AlarmTime {
    /// For the world's rows.
    pub(crate) const fn constant(hour: i8, minute: i8) -> Self {
        Self(time(hour, minute, 0, 0))
    }
}

impl TryFrom<String> for AlarmTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |part: &str| {
            let digits = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| part.parse::<i8>().ok()).flatten()
        };
        let time = text.trim().split_once(':').and_then(|(hour, minute)| {
            let minute = number(minute).filter(|_| minute.len() == 2)?;
            Time::new(number(hour)?, minute, 0, 0).ok()
        });
        time.map(Self)
            .ok_or_else(|| format!("{text:?} is no time of the day from 00:00 to 23:59."))
    }
}

impl From<AlarmTime> for String {
    fn from(time: AlarmTime) -> Self {
        time.to_string()
    }
}

impl fmt::Display for AlarmTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0.hour(), self.0.minute())
    }
}

fn yes() -> bool {
    true
}

fn default_snooze() -> u32 {
    15
}
