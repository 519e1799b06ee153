//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignUp {
    /// The first name.
    pub first_name: String,
    /// The last name.
    pub last_name: String,
    /// The new address; nobody may have it yet.
    pub email: String,
    /// The password for later logins.
    pub password: String,
}

/// A list of people or labels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// Words to look for; any of them may match. Without it, all.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThreadIdOnly {
    /// The thread's id in your mailbox.
    pub email_thread_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmailIdOnly {
    /// The email's id in your mailbox.
    pub email_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DraftIdOnly {
    /// The draft's id.
    pub draft_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelThread {
    /// The thread's id in your mailbox.
    pub email_thread_id: u32,
    /// The label, a new one or one in use.
    pub label: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CategorySizes {
    /// Count only read threads (true), or only unread ones (false).
    pub read: Option<bool>,
}

/// For the inbox and the outbox.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListThreads {
    /// Words to look for in subjects, texts and participants; any of them may match. Without it, all threads.
    pub query: Option<String>,
    /// Only threads with this label.
    pub label: Option<String>,
    /// Only starred threads (true), or only others (false).
    pub starred: Option<bool>,
    /// Only archived threads (true), or only others (false); null for both.
    #[serde(default = "not")]
    pub archived: Option<bool>,
    /// Only spam (true), or only others (false); null for both.
    #[serde(default = "not")]
    pub spam: Option<bool>,
    /// Only snoozed threads (true), or only others (false); null for both.
    #[serde(default = "not")]
    pub snoozed: Option<bool>,
    /// Only read threads (true), or only unread ones (false).
    pub read: Option<bool>,
    /// Only threads with attachments (true), or only without (false).
    pub attachment: Option<bool>,
    /// Only threads with an email from this address.
    pub from_email: Option<String>,
    /// Only threads with an email to this address.
    pub to_email: Option<String>,
    /// Only threads that began then or later: a date, or a date and time.
    #[serde(default)]
    pub min_created_at: Since,
    /// Only threads that began then or earlier: a date, or a date and time.
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, updated_at, email_thread_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListStarredThreads {
    /// Words to look for in subjects, texts and participants; any of them may match. Without it, all threads.
    pub query: Option<String>,
    /// Only threads with this label.
    pub label: Option<String>,
    /// Only archived threads (true), or only others (false).
    pub archived: Option<bool>,
    /// Only spam (true), or only others (false).
    pub spam: Option<bool>,
    /// Only snoozed threads (true), or only others (false).
    pub snoozed: Option<bool>,
    /// Only read threads (true), or only unread ones (false).
    pub read: Option<bool>,
    /// Only threads with attachments (true), or only without (false).
    pub attachment: Option<bool>,
    /// Only threads with an email from this address.
    pub from_email: Option<String>,
    /// Only threads with an email to this address.
    pub to_email: Option<String>,
    /// Only threads that began then or later: a date, or a date and time.
    #[serde(default)]
    pub min_created_at: Since,
    /// Only threads that began then or earlier: a date, or a date and time.
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, updated_at, email_thread_id.
    pub sort_by: Option<String>,
}

impl From<ListStarredThreads> for ListThreads {
    fn from(list: ListStarredThreads) -> Self {
        let ListStarredThreads {
            query,
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
            page_index,
            page_limit,
            sort_by,
            ..
        } = list;
        Self {
            query,
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
            page_index,
            page_limit,
            sort_by,
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
    /// Whom it goes to, at least one address.
    pub email_addresses: Vec<String>,
    /// The subject.
    pub subject: String,
    /// The text.
    pub body: String,
    /// Files of the file system app. Not available: leave it out.
    pub attachment_file_paths: Option<Vec<String>>,
    /// The access token of the file system app, for attachments.
    pub file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyToEmail {
    /// The thread's id in your mailbox.
    pub email_thread_id: u32,
    /// The id of the email that you answer, one of that thread.
    pub email_id: u32,
    /// The text.
    pub body: String,
    /// Whom it goes to. Without it: the email's sender and its other recipients.
    pub email_addresses: Option<Vec<String>>,
    /// Files of the file system app. Not available: leave it out.
    pub attachment_file_paths: Option<Vec<String>>,
    /// The access token of the file system app, for attachments.
    pub file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForwardThread {
    /// The thread's id in your mailbox.
    pub email_thread_id: u32,
    /// Whom it goes to, at least one address.
    pub email_addresses: Vec<String>,
    /// Leave a draft instead of sending.
    #[serde(default)]
    pub draft_not_send: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDraft {
    /// Whom it shall go to; may be empty for now.
    pub recipient_email_addresses: Vec<String>,
    /// The text.
    pub body: String,
    /// The subject. Without it: that of the thread with Re: in front, or none.
    pub subject: Option<String>,
    /// The thread that it continues, by its id in your mailbox.
    pub belongs_to_email_thread_id: Option<u32>,
    /// The email that it answers, by its id in your mailbox.
    pub response_to_email_id: Option<u32>,
    /// Files of the file system app. Not available: leave it out.
    pub attachment_file_paths: Option<Vec<String>>,
    /// When to send it, a date and time in the future (2026-03-09T08:00:00). Without it, it is not sent by itself.
    pub scheduled_send_at: Option<String>,
    /// The access token of the file system app, for attachments.
    pub file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateDraft {
    /// The draft's id.
    pub draft_id: u32,
    /// Whom it shall go to, in place of the earlier addresses.
    pub email_addresses: Option<Vec<String>>,
    /// The new subject.
    pub subject: Option<String>,
    /// The new text.
    pub body: Option<String>,
    /// The thread that it continues, by its id in your mailbox.
    pub belongs_to_email_thread_id: Option<u32>,
    /// The email that it answers, by its id in your mailbox.
    pub response_to_email_id: Option<u32>,
    /// When to send it, a date and time in the future (2026-03-09T08:00:00).
    pub scheduled_send_at: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendDraft {
    /// The draft's id.
    pub draft_id: u32,
    /// The access token of the file system app. Not needed: what is attached to a draft is in it.
    #[serde(rename = "file_system_access_token")]
    pub _file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDrafts {
    /// Words to look for in subjects, texts and recipients; any of them may match. Without it, all drafts.
    pub query: Option<String>,
    /// Only drafts to this address.
    pub recipient_email: Option<String>,
    /// Only drafts with attachments (true), or only without (false).
    pub attachment: Option<bool>,
    /// Only drafts that will be sent by themselves (true), or only others (false).
    pub scheduled: Option<bool>,
    /// Only drafts that continue this thread.
    pub belongs_to_email_thread_id: Option<u32>,
    /// Only drafts that answer this email.
    pub response_to_email_id: Option<u32>,
    /// Only drafts made then or later: a date, or a date and time.
    #[serde(default)]
    pub min_created_at: Since,
    /// Only drafts made then or earlier: a date, or a date and time.
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, updated_at, draft_id.
    pub sort_by: Option<String>,
}
