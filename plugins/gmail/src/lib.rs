//! Gmail: mail between the accounts of the seed, each with a mailbox of its own.
//!
//! A sent email is one message with a copy in the sender's mailbox and one in each recipient's. Copies have their own
//! ids; so do threads: every account sees a conversation as a thread of its own, with its own flags and label. Mail goes to
//! whoever has an account or stands in the mail of the records; any other address is refused. Nothing is ever deleted but a
//! draft that was sent.
//!
//! Attachments have a name, and those of the file system app a text, which graders see. Apps do not see each other: a
//! call with `attachment_file_paths` is refused (422) where the host does not hand over the files of the file system app.
//!
//! # Records
//!
//! ```toml
//! [[apps.gmail.emails]]
//! from = "office@lind.example"        # anybody; at least one of the people involved has an account
//! to = ["ida@vale.example"]
//! subject = "Your lease"
//! body = "..."
//! sent_at = "2026-02-27T18:00:00"     # the clock's now if left out
//! id = "offer"                        # a key for other records, unique; may be left out
//! thread = "lease"                    # emails with the same key are one conversation; an email's id does as well
//! reply_to = "question"               # the id of the email that this one answers, in its conversation
//! attachments = ["lease.pdf"]         # file names
//!
//! [[apps.gmail.threads]]              # how one account's thread differs from a fresh one
//! owner = "ida@vale.example"
//! thread = "lease"                    # a thread's key or an email's id
//! read = true                         # a received thread is unread at first, a sent one read
//! starred = false
//! archived = false
//! spam = false
//! label = "Home"
//! snoozed_until = "2026-03-05T08:00:00"
//!
//! [[apps.gmail.drafts]]
//! owner = "ida@vale.example"
//! to = ["office@lind.example"]        # may be left out
//! subject = "Re: Your lease"
//! body = "..."
//! thread = "lease"                    # where it belongs; may be left out
//! reply_to = "offer"                  # the id of the email that it answers; may be left out
//! scheduled_send_at = "2026-03-09T08:00:00"
//! created_at = "2026-02-28T09:00:00"  # the clock's now if left out
//! updated_at = "2026-02-28T09:10:00"  # created_at if left out
//! ```
//!
//! Unknown keys are errors. Keys hold across later additions: a session's records may continue a persona's threads.
//! Ids count in the order of the records, after those of the world: from 1 without it. For each email first the sender's copy, then the recipients' in their
//! order; a thread gets its id with its first copy. Ids are not reused.
//!
//! # State
//!
//! `{"users": [{id, first_name, last_name, registered_at}], "threads": [{id, owner, subject, read, label,
//! snoozed_until, starred, archived, spam, email_ids, draft_ids, created_at, updated_at}], "emails": [{id, thread_id,
//! owner, sender, recipients, subject, body, attachments, response_to_email_id, created_at}], "drafts": [{id, owner,
//! recipients, subject, body, attachments, belongs_to_email_thread_id, response_to_email_id, scheduled_send_at,
//! created_at, updated_at}]}`, by id; people are addresses, the id of a user too. Of the world's people and mail only
//! what differs.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "tools are methods of one shape: arguments by value, and a result"
)]

mod drafting;
mod mail;
mod people;
mod record;
mod sending;
mod threads;
mod view;
mod world;

use std::collections::BTreeMap;

use pibench_sdk::account::Accounts;
use pibench_sdk::app::ToolApp;
use pibench_sdk::export_tool_app;
use pibench_sdk::records::Records;
use pibench_sdk::tool::Tools;
use serde::{Deserialize, Serialize};

use crate::mail::{Mail, MessageId};

export_tool_app!(Gmail);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Gmail {
    accounts: Accounts,
    mail: Mail,
    /// What the records call a message, or the conversation that it began.
    keys: BTreeMap<String, MessageId>,
}

impl ToolApp for Gmail {
    fn tools() -> Tools<Self> {
        let tools = Tools::new()
            .public("signup", "Creates an account.", Self::sign_up)
            .login()
            .logout()
            .search_users(&[("status", "active")]);
        email_tools(thread_tools(tools))
    }

    fn open(accounts: Accounts) -> Self {
        Self {
            mail: Mail::new(accounts.world(), world::ATTACHMENTS),
            accounts,
            keys: BTreeMap::new(),
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_records(records)
    }

    fn state(&self) -> impl Serialize {
        self.view_state()
    }

    /// Sends the drafts whose time has come.
    fn tick(&mut self) {
        self.send_due_drafts();
    }
}

/// Threads, and their labels.
fn thread_tools(tools: Tools<Gmail>) -> Tools<Gmail> {
    tools
        .private(
            "show_inbox_threads",
            "Received emails; latest change first; null: both.",
            Gmail::show_inbox_threads,
        )
        .sorted_by(&threads::thread_fields())
        .private(
            "show_outbox_threads",
            "Sent emails; latest change first; null: both.",
            Gmail::show_outbox_threads,
        )
        .sorted_by(&threads::thread_fields())
        .private(
            "show_starred_threads",
            "Latest change first.",
            Gmail::show_starred_threads,
        )
        .sorted_by(&threads::thread_fields())
        .private(
            "show_thread",
            "Oldest first; it stays unread.",
            Gmail::show_thread,
        )
        .private("show_email", "With its text.", Gmail::show_email)
        .private(
            "show_category_sizes",
            "Counts of threads.",
            Gmail::show_category_sizes,
        )
        .private(
            "mark_thread_read",
            "All its emails.",
            Gmail::mark_thread_read,
        )
        .private(
            "mark_thread_unread",
            "Until it is read.",
            Gmail::mark_thread_unread,
        )
        .private(
            "mark_thread_starred",
            "For your list of them.",
            Gmail::mark_thread_starred,
        )
        .private(
            "mark_thread_archived",
            "Until new mail comes in.",
            Gmail::mark_thread_archived,
        )
        .private(
            "label_thread",
            "A thread has one label.",
            Gmail::label_thread,
        )
        .private(
            "unlabel_thread",
            "Takes its label off.",
            Gmail::unlabel_thread,
        )
        .private("search_labels", "Those in use.", Gmail::search_labels)
}

/// Emails and drafts.
fn email_tools(tools: Tools<Gmail>) -> Tools<Gmail> {
    tools
        .private("send_email", "In a new thread.", Gmail::send_email)
        .private("reply_to_email", "In its thread.", Gmail::reply_to_email)
        .private(
            "forward_email_thread",
            "As one email, in a new thread.",
            Gmail::forward_email_thread,
        )
        .private("create_draft", "It is not sent.", Gmail::create_draft)
        .private("update_draft", "Only what is given.", Gmail::update_draft)
        .private(
            "send_email_from_draft",
            "As it stands.",
            Gmail::send_email_from_draft,
        )
        .private("show_draft", "With its text.", Gmail::show_draft)
        .private("show_drafts", "Latest change first.", Gmail::show_drafts)
        .sorted_by(drafting::DRAFT_FIELDS)
}

#[cfg(test)]
mod tests;
