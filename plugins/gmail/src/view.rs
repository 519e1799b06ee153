//! What the tools answer and what graders see.

use jiff::civil::DateTime;
use pibench_sdk::account::{Account, Email};
use pibench_sdk::layer::RowState;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Gmail;
use crate::mail::{Attachment, Draft, DraftId, EmailId, EmailRef, Thread, ThreadId};
use crate::threads::Opened;

/// How many characters of the latest email a list shows.
const PREVIEW: usize = 100;

/// What graders see.
#[derive(Debug, Serialize)]
pub(crate) struct State<'a> {
    users: Vec<RowState<UserState<'a>>>,
    threads: Vec<RowState<Option<ThreadState<'a>>>>,
    emails: Vec<RowState<Option<EmailState<'a>>>>,
    drafts: Vec<DraftState<'a>>,
}

#[derive(Debug, Serialize)]
struct UserState<'a> {
    id: &'a Email,
    first_name: &'a str,
    last_name: &'a str,
    registered_at: DateTime,
}

#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags that are set one by one"
)]
struct ThreadState<'a> {
    id: ThreadId,
    owner: &'a Email,
    subject: &'a str,
    read: bool,
    label: Option<&'a str>,
    snoozed_until: Option<DateTime>,
    starred: bool,
    archived: bool,
    spam: bool,
    email_ids: Vec<EmailId>,
    draft_ids: Vec<DraftId>,
    created_at: DateTime,
    updated_at: DateTime,
}

#[derive(Debug, Serialize)]
struct EmailState<'a> {
    id: EmailId,
    thread_id: ThreadId,
    owner: &'a Email,
    sender: &'a Email,
    recipients: &'a [Email],
    subject: &'a str,
    body: &'a str,
    attachments: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachment_texts: Vec<&'a str>,
    response_to_email_id: Option<EmailId>,
    created_at: DateTime,
}

#[derive(Debug, Serialize)]
struct DraftState<'a> {
    id: DraftId,
    owner: &'a Email,
    recipients: &'a [Email],
    subject: &'a str,
    body: &'a str,
    attachments: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachment_texts: Vec<&'a str>,
    belongs_to_email_thread_id: Option<ThreadId>,
    response_to_email_id: Option<EmailId>,
    scheduled_send_at: Option<DateTime>,
    created_at: DateTime,
    updated_at: DateTime,
}

impl Gmail {
    /// A thread in a list.
    pub(crate) fn view_row(&self, opened: &Opened) -> Value {
        let mut row = view_head(opened);
        let latest = opened
            .emails
            .last()
            .map_or("", |email| email.message.body.as_str());
        row["email_ids"] = opened.emails.iter().map(|email| email.id).collect();
        row["draft_ids"] = self
            .drafts_of(opened.thread)
            .map(|draft| draft.id)
            .collect();
        row["subject"] = json!(opened.subject());
        row["participants"] = self.view_people(opened.participants());
        row["preview"] = json!(preview(latest));
        row["has_attachments"] = json!(opened.has_attachments());
        row
    }

    /// A thread with all that is in it.
    pub(crate) fn view_thread(&self, opened: &Opened) -> Value {
        let mut thread = view_head(opened);
        let email = |email: &EmailRef| {
            json!({
                "email_id": email.id,
                "subject": email.message.subject,
                "sender": self.view_person(&email.message.from),
                "recipients": self.view_people(&email.message.to),
                "body": email.message.body,
                "attachments": view_attachments(&email.message.attachments),
                "created_at": email.message.sent_at,
            })
        };
        let draft = |draft: &Draft| {
            let mut view = self.view_draft(draft);
            view.as_object_mut()
                .map(|view| view.remove("belongs_to_email_thread_id"));
            view
        };
        thread["emails"] = opened.emails.iter().map(email).collect();
        thread["drafts"] = self.drafts_of(opened.thread).map(draft).collect();
        thread
    }

    pub(crate) fn view_email(&self, email: EmailRef) -> Value {
        json!({
            "email_id": email.id,
            "subject": email.message.subject,
            "body": email.message.body,
            "response_to_email_id": self.answered(email),
            "created_at": email.message.sent_at,
            "sender": self.view_person(&email.message.from),
            "recipients": self.view_people(&email.message.to),
            "attachments": view_attachments(&email.message.attachments),
        })
    }

    pub(crate) fn view_draft(&self, draft: &Draft) -> Value {
        json!({
            "draft_id": draft.id,
            "subject": draft.content.subject,
            "body": draft.content.body,
            "belongs_to_email_thread_id": draft.thread,
            "response_to_email_id": draft.response_to,
            "scheduled_send_at": draft.scheduled_send_at,
            "created_at": draft.created_at,
            "updated_at": draft.updated_at,
            "recipients": self.view_people(&draft.content.to),
            "attachments": view_attachments(&draft.content.attachments),
        })
    }

    /// See the crate's documentation.
    pub(crate) fn view_state(&self) -> State<'_> {
        State {
            users: self.accounts.state(state_of_user),
            threads: self.mail.threads.state(|_, thread| {
                let opened = Opened::new(&self.mail, thread);
                opened.map(|opened| self.state_of_thread(&opened))
            }),
            emails: self.mail.emails.state(|id, _| {
                let email = self.mail.email(*id);
                email.map(|email| self.state_of_email(email))
            }),
            drafts: self.mail.drafts.values().map(state_of_draft).collect(),
        }
    }

    fn state_of_thread<'a>(&'a self, opened: &Opened<'a>) -> ThreadState<'a> {
        let thread = opened.thread;
        ThreadState {
            id: thread.id,
            owner: &thread.owner,
            subject: opened.subject(),
            read: thread.read,
            label: thread.label.as_deref(),
            snoozed_until: thread.snoozed_until,
            starred: thread.starred,
            archived: thread.archived,
            spam: thread.spam,
            email_ids: opened.emails.iter().map(|email| email.id).collect(),
            draft_ids: self.drafts_of(thread).map(|draft| draft.id).collect(),
            created_at: opened.created_at,
            updated_at: opened.updated_at,
        }
    }

    fn state_of_email<'a>(&'a self, email: EmailRef<'a>) -> EmailState<'a> {
        EmailState {
            id: email.id,
            thread_id: email.thread.id,
            owner: &email.thread.owner,
            sender: &email.message.from,
            recipients: &email.message.to,
            subject: &email.message.subject,
            body: &email.message.body,
            attachments: file_names(&email.message.attachments),
            attachment_texts: texts(&email.message.attachments),
            response_to_email_id: self.answered(email),
            created_at: email.message.sent_at,
        }
    }

    /// The copy of the answered email in the same mailbox, if its owner got one.
    fn answered(&self, email: EmailRef) -> Option<u32> {
        self.mail.copy_in(email.thread, email.message.response_to?)
    }

    fn drafts_of<'a>(&'a self, thread: &'a Thread) -> impl Iterator<Item = &'a Draft> {
        self.mail
            .drafts
            .values()
            .filter(|draft| draft.thread == Some(thread.id))
    }

    fn view_people<'a>(&self, people: impl IntoIterator<Item = &'a Email>) -> Value {
        people
            .into_iter()
            .map(|person| self.view_person(person))
            .collect()
    }

    fn view_person(&self, person: &Email) -> Value {
        json!({"name": self.accounts.name(person), "email": person})
    }
}

/// What a row and a whole thread have in common.
fn view_head(opened: &Opened) -> Value {
    let Thread {
        id,
        read,
        label,
        snoozed_until,
        starred,
        archived,
        spam,
        ..
    } = opened.thread;
    json!({
        "email_thread_id": id,
        "incoming": opened.incoming,
        "outgoing": opened.outgoing,
        "read": read,
        "label": label,
        "snoozed_until": snoozed_until,
        "starred": starred,
        "archived": archived,
        "spam": spam,
        "created_at": opened.created_at,
        "updated_at": opened.updated_at,
    })
}

fn state_of_user(user: &Account) -> UserState<'_> {
    UserState {
        id: &user.email,
        first_name: &user.first_name,
        last_name: &user.last_name,
        registered_at: user.registered_at,
    }
}

fn state_of_draft(draft: &Draft) -> DraftState<'_> {
    DraftState {
        id: draft.id,
        owner: &draft.owner,
        recipients: &draft.content.to,
        subject: &draft.content.subject,
        body: &draft.content.body,
        attachments: file_names(&draft.content.attachments),
        attachment_texts: texts(&draft.content.attachments),
        belongs_to_email_thread_id: draft.thread,
        response_to_email_id: draft.response_to,
        scheduled_send_at: draft.scheduled_send_at,
        created_at: draft.created_at,
        updated_at: draft.updated_at,
    }
}

fn view_attachments(attachments: &[Attachment]) -> Value {
    attachments
        .iter()
        .map(|file| json!({"id": file.id, "file_name": file.file_name}))
        .collect()
}

fn file_names(attachments: &[Attachment]) -> Vec<&str> {
    attachments
        .iter()
        .map(|file| file.file_name.as_str())
        .collect()
}

fn texts(attachments: &[Attachment]) -> Vec<&str> {
    let texts = attachments.iter().map(|file| file.text.as_deref());
    texts.flatten().collect()
}

/// The beginning of a text on one line.
fn preview(body: &str) -> String {
    let line = body.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(PREVIEW) {
        None => line,
        Some((end, _)) => format!("{}...", &line[..end]),
    }
}
