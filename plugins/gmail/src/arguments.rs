//! What the tools take. The comments are what a model reads.

use pibench_sdk::attachment::Attachments;
use pibench_sdk::listing::{List, Search};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignUp {
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    pub password: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchLabels {
    #[serde(flatten)]
    pub search: Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThreadIdOnly {
    pub email_thread_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmailIdOnly {
    pub email_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DraftIdOnly {
    pub draft_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelThread {
    pub email_thread_id: u32,
    pub label: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CategorySizes {
    pub read: Option<bool>,
}

/// For the inbox and the outbox.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListThreads {
    pub label: Option<String>,
    pub starred: Option<bool>,
    #[serde(default = "not")]
    pub archived: Option<bool>,
    #[serde(default = "not")]
    pub spam: Option<bool>,
    #[serde(default = "not")]
    pub snoozed: Option<bool>,
    pub read: Option<bool>,
    pub attachment: Option<bool>,
    pub from_email: Option<String>,
    pub to_email: Option<String>,
    #[serde(default)]
    pub min_created_at: Since,
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListStarredThreads {
    pub label: Option<String>,
    pub archived: Option<bool>,
    pub spam: Option<bool>,
    pub snoozed: Option<bool>,
    pub read: Option<bool>,
    pub attachment: Option<bool>,
    pub from_email: Option<String>,
    pub to_email: Option<String>,
    #[serde(default)]
    pub min_created_at: Since,
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(flatten)]
    pub list: List,
}

impl From<ListStarredThreads> for ListThreads {
    fn from(starred: ListStarredThreads) -> Self {
        let ListStarredThreads {
            label,
            archived,
            spam,
            snoozed,
            read,
            attachment,
            from_email,
            to_email,
            min_created_at,
            max_created_at,
            list,
            ..
        } = starred;
        Self {
            label,
            starred: Some(true),
            archived,
            spam,
            snoozed,
            read,
            attachment,
            from_email,
            to_email,
            min_created_at,
            max_created_at,
            list,
        }
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the default of an argument that may be null"
)]
fn not() -> Option<bool> {
    Some(false)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendEmail {
    pub email_addresses: Vec<String>,
    pub subject: String,
    pub body: String,
    #[serde(flatten)]
    pub attachments: Attachments,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyToEmail {
    pub email_thread_id: u32,
    pub email_id: u32,
    pub body: String,
    /// Default: the sender.
    pub email_addresses: Option<Vec<String>>,
    #[serde(flatten)]
    pub attachments: Attachments,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForwardThread {
    pub email_thread_id: u32,
    pub email_addresses: Vec<String>,
    #[serde(default)]
    pub draft_not_send: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDraft {
    pub recipient_email_addresses: Vec<String>,
    pub body: String,
    /// Default: the thread's.
    pub subject: Option<String>,
    pub belongs_to_email_thread_id: Option<u32>,
    pub response_to_email_id: Option<u32>,
    /// YYYY-MM-DDTHH:MM:SS.
    pub scheduled_send_at: Option<String>,
    #[serde(flatten)]
    pub attachments: Attachments,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateDraft {
    pub draft_id: u32,
    pub email_addresses: Option<Vec<String>>,
    pub subject: Option<String>,
    pub body: Option<String>,
    pub belongs_to_email_thread_id: Option<u32>,
    pub response_to_email_id: Option<u32>,
    /// Or None.
    pub scheduled_send_at: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendDraft {
    pub draft_id: u32,
    /// Not needed.
    #[schemars(extend("deprecated" = true))]
    #[serde(rename = "file_system_access_token")]
    pub _file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDrafts {
    pub recipient_email: Option<String>,
    pub attachment: Option<bool>,
    pub scheduled: Option<bool>,
    pub belongs_to_email_thread_id: Option<u32>,
    pub response_to_email_id: Option<u32>,
    #[serde(default)]
    pub min_created_at: Since,
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(flatten)]
    pub list: List,
}
