//! The tools about threads and the emails in them: lists, flags, labels. Nothing here sends.

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::listing::{List, Search};
use pibench_sdk::search::Words;
use pibench_sdk::text::Text;
use pibench_sdk::time::{Since, Until};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Gmail;
use crate::mail::{EmailRef, Mail, Thread};

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

/// The longest label, in bytes.
const MAX_LABEL: usize = 100;

/// A function, for a constant could not name the lifetime.
pub(crate) fn thread_fields<'a>() -> [listing::Field<Opened<'a>>; 2] {
    [
        ("created_at", |a, b| a.created_at.cmp(&b.created_at)),
        ("updated_at", |a, b| a.updated_at.cmp(&b.updated_at)),
    ]
}

/// A thread with its emails, and what follows from them.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    pub thread: &'a Thread,
    /// Oldest first.
    pub emails: Vec<EmailRef<'a>>,
    /// Whether the owner received one, and sent one.
    pub incoming: bool,
    pub outgoing: bool,
    pub created_at: DateTime,
    pub updated_at: DateTime,
}

impl<'a> Opened<'a> {
    /// `None` for a thread without emails, which does not occur.
    pub(crate) fn new(mail: &'a Mail, thread: &'a Thread) -> Option<Self> {
        let emails = mail.emails_of(thread);
        let created_at = emails.first()?.message.sent_at;
        let updated_at = emails.last()?.message.sent_at;
        let incoming = emails
            .iter()
            .any(|email| email.message.to.contains(&thread.owner));
        let outgoing = emails
            .iter()
            .any(|email| email.message.from == thread.owner);
        Some(Self {
            thread,
            emails,
            incoming,
            outgoing,
            created_at,
            updated_at,
        })
    }

    pub(crate) fn subject(&self) -> &'a str {
        self.emails
            .first()
            .map_or("", |email| email.message.subject.as_str())
    }

    pub(crate) fn has_attachments(&self) -> bool {
        self.emails
            .iter()
            .any(|email| !email.message.attachments.is_empty())
    }

    /// Everybody, each once, in the order of appearance.
    pub(crate) fn participants(&self) -> Vec<&'a Email> {
        let mut participants: Vec<&Email> = Vec::new();
        for email in &self.emails {
            for person in std::iter::once(&email.message.from).chain(&email.message.to) {
                if !participants.contains(&person) {
                    participants.push(person);
                }
            }
        }
        participants
    }

    /// Not put away: what the inbox and the outbox show.
    fn at_hand(&self, now: DateTime) -> bool {
        !self.thread.archived && !self.thread.spam && !self.thread.snoozed(now)
    }

    fn fits(&self, list: &ListThreads, now: DateTime) -> bool {
        let same =
            |wanted: Option<bool>, actual: bool| wanted.is_none_or(|wanted| wanted == actual);
        let label = self
            .thread
            .label
            .as_deref()
            .unwrap_or_default()
            .to_lowercase();
        let from = list.from_email.as_deref().map(Email::new);
        let to = list.to_email.as_deref().map(Email::new);
        same(list.starred, self.thread.starred)
            && same(list.archived, self.thread.archived)
            && same(list.spam, self.thread.spam)
            && same(list.snoozed, self.thread.snoozed(now))
            && same(list.read, self.thread.read)
            && same(list.attachment, self.has_attachments())
            && list
                .label
                .as_ref()
                .is_none_or(|wanted| wanted.trim().to_lowercase() == label)
            && from.is_none_or(|from| self.emails.iter().any(|email| email.message.from == from))
            && to.is_none_or(|to| {
                self.emails
                    .iter()
                    .any(|email| email.message.to.contains(&to))
            })
            && (list.min_created_at.0..=list.max_created_at.0).contains(&self.created_at)
    }
}

impl Gmail {
    pub(crate) fn show_inbox_threads(
        &mut self,
        me: &Email,
        list: ListThreads,
    ) -> Result<Vec<Value>, ToolError> {
        self.list_threads(me, &list, |thread| thread.incoming)
    }

    pub(crate) fn show_outbox_threads(
        &mut self,
        me: &Email,
        list: ListThreads,
    ) -> Result<Vec<Value>, ToolError> {
        self.list_threads(me, &list, |thread| thread.outgoing)
    }

    pub(crate) fn show_starred_threads(
        &mut self,
        me: &Email,
        list: ListStarredThreads,
    ) -> Result<Vec<Value>, ToolError> {
        self.list_threads(me, &list.into(), |_| true)
    }

    fn list_threads(
        &self,
        me: &Email,
        list: &ListThreads,
        belongs: fn(&Opened) -> bool,
    ) -> Result<Vec<Value>, ToolError> {
        let now = clock::now();
        let threads: Vec<Opened> = self
            .opened(me)
            .filter(|thread| belongs(thread) && thread.fits(list, now))
            .collect();
        let mut rows: Vec<&Opened> = threads.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.updated_at, row.thread.id)));
        let query = list.list.query.as_deref();
        let rows = listing::matching_words(rows, query, |row| self.words(row));
        let page = list.list.of_matching(rows, &thread_fields())?;
        Ok(page.into_iter().map(|row| self.view_row(row)).collect())
    }

    fn words(&self, thread: &Opened) -> Vec<Rc<Words>> {
        let emails = thread.emails.iter();
        let emails = emails.map(|email| self.mail.words(email));
        let people = thread.participants().into_iter();
        let people = people.map(|person| self.accounts.words(person));
        emails.chain(people).collect()
    }

    pub(crate) fn show_thread(
        &mut self,
        me: &Email,
        arguments: ThreadIdOnly,
    ) -> Result<Value, ToolError> {
        let id = arguments.email_thread_id;
        let thread = Opened::new(&self.mail, self.own_thread(me, id)?);
        // Cannot happen: a thread begins with an email.
        let thread = thread.ok_or_else(|| ToolError::conflict("thread", id))?;
        Ok(self.view_thread(&thread))
    }

    pub(crate) fn show_email(
        &mut self,
        me: &Email,
        arguments: EmailIdOnly,
    ) -> Result<Value, ToolError> {
        Ok(self.view_email(self.own_email(me, arguments.email_id)?))
    }

    pub(crate) fn show_category_sizes(
        &mut self,
        me: &Email,
        arguments: CategorySizes,
    ) -> Result<Value, ToolError> {
        let now = clock::now();
        let wanted = |thread: &Opened| arguments.read.is_none_or(|read| read == thread.thread.read);
        let threads: Vec<Opened> = self.opened(me).filter(wanted).collect();
        let count = |counts: fn(&Opened, DateTime) -> bool| {
            threads.iter().filter(|row| counts(row, now)).count()
        };
        let drafts = |scheduled: bool| {
            let counts =
                |owner: &Email, at: Option<DateTime>| owner == me && at.is_some() == scheduled;
            self.mail
                .drafts
                .values()
                .filter(|draft| counts(&draft.owner, draft.scheduled_send_at))
                .count()
        };
        Ok(json!({
            "inbox": count(|row, now| row.incoming && row.at_hand(now)),
            "outbox": count(|row, now| row.outgoing && row.at_hand(now)),
            "snoozed": count(|row, now| row.thread.snoozed(now)),
            "starred": count(|row, _| row.thread.starred),
            "archived": count(|row, _| row.thread.archived),
            "spam": count(|row, _| row.thread.spam),
            "unscheduled_drafts": drafts(false),
            "scheduled_drafts": drafts(true),
        }))
    }

    pub(crate) fn mark_thread_read(
        &mut self,
        me: &Email,
        arguments: ThreadIdOnly,
    ) -> Result<Value, ToolError> {
        let (id, told) = (arguments.email_thread_id, "marked as read");
        self.check_unmarked(me, id, told, |thread| thread.read)?;
        self.change(me, id, told, |thread| thread.read = true)
    }

    pub(crate) fn mark_thread_unread(
        &mut self,
        me: &Email,
        arguments: ThreadIdOnly,
    ) -> Result<Value, ToolError> {
        let (id, told) = (arguments.email_thread_id, "marked as unread");
        self.check_unmarked(me, id, told, |thread| !thread.read)?;
        self.change(me, id, told, |thread| thread.read = false)
    }

    pub(crate) fn mark_thread_starred(
        &mut self,
        me: &Email,
        arguments: ThreadIdOnly,
    ) -> Result<Value, ToolError> {
        let (id, told) = (arguments.email_thread_id, "starred");
        self.check_unmarked(me, id, told, |thread| thread.starred)?;
        self.change(me, id, told, |thread| thread.starred = true)
    }

    pub(crate) fn mark_thread_archived(
        &mut self,
        me: &Email,
        arguments: ThreadIdOnly,
    ) -> Result<Value, ToolError> {
        let (id, told) = (arguments.email_thread_id, "archived");
        self.check_unmarked(me, id, told, |thread| thread.archived)?;
        self.change(me, id, told, |thread| {
            thread.archived = true;
            thread.spam = false;
            thread.snoozed_until = None;
        })
    }

    pub(crate) fn label_thread(
        &mut self,
        me: &Email,
        arguments: LabelThread,
    ) -> Result<Value, ToolError> {
        let LabelThread {
            email_thread_id,
            label,
        } = arguments;
        let label = checked_label(&label)?;
        let told = format!("labelled {label}");
        self.change(me, email_thread_id, &told, |thread| {
            thread.label = Some(label);
        })
    }

    pub(crate) fn unlabel_thread(
        &mut self,
        me: &Email,
        arguments: ThreadIdOnly,
    ) -> Result<Value, ToolError> {
        self.change(me, arguments.email_thread_id, "without a label", |thread| {
            thread.label = None;
        })
    }

    /// 422 for a mark that the thread has already.
    fn check_unmarked(
        &self,
        me: &Email,
        id: u32,
        told: &str,
        marked: fn(&Thread) -> bool,
    ) -> Result<(), ToolError> {
        if marked(self.own_thread(me, id)?) {
            return Err(ToolError::invalid(format!(
                "Thread {id} is {told} already."
            )));
        }
        Ok(())
    }

    fn change(
        &mut self,
        me: &Email,
        id: u32,
        told: &str,
        change: impl FnOnce(&mut Thread),
    ) -> Result<Value, ToolError> {
        self.own_thread(me, id)?;
        if let Some(thread) = self.mail.threads.get_mut(&id) {
            change(thread);
        }
        Ok(json!({"message": format!("Thread {id} is {told} now.")}))
    }

    pub(crate) fn search_labels(
        &mut self,
        me: &Email,
        arguments: SearchLabels,
    ) -> Result<Vec<String>, ToolError> {
        let own = self
            .mail
            .threads
            .values()
            .filter(|thread| thread.owner == *me);
        let labels: BTreeMap<String, &Text> = own
            .filter_map(|thread| thread.label.as_ref())
            .map(|label| (label.to_lowercase(), label))
            .collect();
        let labels = labels.into_values().cloned().map(String::from).collect();
        Ok(arguments.search.of(labels, Clone::clone))
    }

    fn opened(&self, me: &Email) -> impl Iterator<Item = Opened<'_>> {
        let own = self
            .mail
            .threads
            .values()
            .filter(move |thread| thread.owner == *me);
        own.filter_map(|thread| Opened::new(&self.mail, thread))
    }

    /// One's own thread: 409 if there is none, 422 if it is somebody else's.
    pub(crate) fn own_thread(&self, me: &Email, id: u32) -> Result<&Thread, ToolError> {
        let thread = self
            .mail
            .threads
            .get(&id)
            .ok_or_else(|| ToolError::conflict("thread", id))?;
        if thread.owner != *me {
            return Err(ToolError::invalid(format!(
                "Thread {id} belongs to another account."
            )));
        }
        Ok(thread)
    }

    /// One's own email: 409 if there is none, 422 if it is somebody else's.
    pub(crate) fn own_email(&self, me: &Email, id: u32) -> Result<EmailRef<'_>, ToolError> {
        let email = self
            .mail
            .email(id)
            .ok_or_else(|| ToolError::conflict("email", id))?;
        if email.thread.owner != *me {
            return Err(ToolError::invalid(format!(
                "Email {id} belongs to another account."
            )));
        }
        Ok(email)
    }
}

pub(crate) fn checked_label(label: &str) -> Result<Text, ToolError> {
    let label = label.trim();
    if label.is_empty() || label.len() > MAX_LABEL {
        return Err(ToolError::invalid(format!(
            "A label must have 1 to {MAX_LABEL} bytes."
        )));
    }
    Ok(label.into())
}
