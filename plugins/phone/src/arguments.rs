//! What the tools take. The comments are what a model reads.

use pibench_sdk::listing::{List, Page, Search};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// Phone number.
    pub username: String,
    pub password: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddContact {
    pub first_name: String,
    pub last_name: String,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub relationships: Option<Vec<String>>,
    /// YYYY-MM-DD.
    pub birthday: Option<String>,
    pub home_address: Option<String>,
    pub work_address: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateContact {
    pub contact_id: u32,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub relationships: Option<Vec<String>>,
    pub birthday: Option<String>,
    pub home_address: Option<String>,
    pub work_address: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchContacts {
    pub relationship: Option<String>,
    #[serde(flatten)]
    pub search: Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendTextMessage {
    pub phone_number: String,
    pub message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextMessageId {
    pub text_message_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchTextMessages {
    /// The other's.
    pub phone_number: Option<String>,
    #[serde(default)]
    pub only_latest_per_contact: bool,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextMessageWindow {
    pub phone_number: String,
    #[serde(default)]
    pub min_datetime: Since,
    #[serde(default)]
    pub max_datetime: Until,
    #[serde(default)]
    pub pagination_order: PaginationOrder,
    #[serde(flatten)]
    pub page: Page,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaginationOrder {
    Ascending,
    #[default]
    Descending,
}
