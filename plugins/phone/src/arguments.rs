//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alarms::Weekday;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The account's phone number.
    pub username: String,
    /// The account's password in this app.
    pub password: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddContact {
    /// The first name, not empty.
    pub first_name: String,
    /// The last name.
    pub last_name: String,
    /// The phone number. No two of your contacts can have the same.
    pub phone_number: Option<String>,
    /// The email address.
    pub email: Option<String>,
    /// What the person is to you, in your own words, such as friend or landlord.
    pub relationships: Option<Vec<String>>,
    /// The date of birth (1998-04-30).
    pub birthday: Option<String>,
    /// The address at home.
    pub home_address: Option<String>,
    /// The address at work.
    pub work_address: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateContact {
    /// The contact's id.
    pub contact_id: u32,
    /// The new first name, not empty.
    pub first_name: Option<String>,
    /// The new last name.
    pub last_name: Option<String>,
    /// The new phone number; an empty text takes it away.
    pub phone_number: Option<String>,
    /// The new email address; an empty text takes it away.
    pub email: Option<String>,
    /// The new relationships, in place of the old.
    pub relationships: Option<Vec<String>>,
    /// The new date of birth (1998-04-30); an empty text takes it away.
    pub birthday: Option<String>,
    /// The new address at home; an empty text takes it away.
    pub home_address: Option<String>,
    /// The new address at work; an empty text takes it away.
    pub work_address: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchContacts {
    /// Words to look for in names, numbers, addresses and relationships; any of them may match. Without it, all
    /// contacts.
    pub query: Option<String>,
    /// Only contacts with this relationship.
    pub relationship: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendTextMessage {
    /// The number to send to: that of an account, of one of your contacts, or of somebody who wrote to you.
    pub phone_number: String,
    /// The text, not empty.
    pub message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextMessageId {
    /// The text message's id.
    pub text_message_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchTextMessages {
    /// Words to look for in the texts and in the other person's name; any of them may match. Without it, all messages.
    pub query: Option<String>,
    /// Only messages with this number, sent or received.
    pub phone_number: Option<String>,
    /// Of the messages that match, only the latest one with each number.
    #[serde(default)]
    pub only_latest_per_contact: bool,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of sent_at, text_message_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextMessageWindow {
    /// The other person's number.
    pub phone_number: String,
    /// Only messages sent then or later: a date, or a date and time (2026-03-02T09:00:00).
    #[serde(default)]
    pub min_datetime: Since,
    /// Only messages sent then or earlier: a date, or a date and time (2026-03-02T09:00:00).
    #[serde(default)]
    pub max_datetime: Until,
    /// Whether the first page has the oldest messages (ascending) or the latest ones (descending).
    #[serde(default)]
    pub pagination_order: PaginationOrder,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaginationOrder {
    Ascending,
    #[default]
    Descending,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlarmId {
    /// The alarm's id.
    pub alarm_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateAlarm {
    /// When it rings, on the 24-hour clock (07:30).
    pub time: String,
    /// The days of the week on which it rings again and again. Without any, it rings once.
    pub repeat_days: Option<Vec<Weekday>>,
    /// What the alarm is for.
    pub label: Option<String>,
    /// Whether it is switched on.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How long a snooze lasts, in minutes.
    #[serde(default = "default_snooze")]
    #[schemars(range(min = 0, max = 60))]
    pub snooze_minutes: u32,
    /// Whether the phone vibrates too.
    #[serde(default = "yes")]
    pub vibration: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateAlarm {
    /// The alarm's id.
    pub alarm_id: u32,
    /// The new time, on the 24-hour clock (07:30).
    pub time: Option<String>,
    /// The new days, in place of the old; none makes it ring once.
    pub repeat_days: Option<Vec<Weekday>>,
    /// What the alarm is for.
    pub label: Option<String>,
    /// Whether it is switched on.
    pub enabled: Option<bool>,
    /// How long a snooze lasts, in minutes.
    #[schemars(range(min = 0, max = 60))]
    pub snooze_minutes: Option<u32>,
    /// Whether the phone vibrates too.
    pub vibration: Option<bool>,
}

pub(crate) fn yes() -> bool {
    true
}

pub(crate) fn default_snooze() -> u32 {
    15
}
