//! The tools about drafts, but for sending one.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::attachment::Attachments;
use pibench_sdk::listing::List;
use pibench_sdk::time::{Since, Until};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing, time};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Gmail;
use crate::mail::{Content, Draft, DraftId, EmailId, ThreadId};
use crate::sending::{checked_body, checked_subject, recipients, reply_subject};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DraftIdOnly {
    pub draft_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDraft {
    pub recipient_email_addresses: Vec<String>,
    pub body: String,
    /// Default: the thread's. None in an answer, which has it.
    pub subject: Option<String>,
    pub belongs_to_email_thread_id: Option<u32>,
    /// The email that it answers, with its thread.
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

pub(crate) const DRAFT_FIELDS: &[listing::Field<Draft>] = &[
    ("created_at", |a, b| a.created_at.cmp(&b.created_at)),
    ("updated_at", |a, b| a.updated_at.cmp(&b.updated_at)),
];

impl Gmail {
    pub(crate) fn create_draft(
        &mut self,
        me: &Email,
        arguments: CreateDraft,
    ) -> Result<Value, ToolError> {
        let CreateDraft {
            recipient_email_addresses,
            body,
            subject,
            belongs_to_email_thread_id,
            response_to_email_id,
            attachments,
            scheduled_send_at,
        } = arguments;
        let files = attachments.files()?;
        both_or_neither(belongs_to_email_thread_id, response_to_email_id)?;
        if response_to_email_id.is_some() && subject.is_some() {
            return Err(ToolError::invalid(
                "An answer has the subject of the email that it answers: leave subject out.",
            ));
        }
        let (thread, response_to) =
            self.place(me, belongs_to_email_thread_id, response_to_email_id)?;
        let subject = subject.map(checked_subject).transpose()?;
        let to = recipients(&recipient_email_addresses)?;
        if let Some(nobody) = self.nobody(&to) {
            return Err(ToolError::conflict("user", nobody));
        }
        let mut content = Content {
            to,
            subject: subject.unwrap_or_else(|| self.reply_subject_of(thread)),
            body: checked_body(body)?,
            attachments: Vec::new(),
        };
        let scheduled_send_at = scheduled_send_at.as_deref().map(future).transpose()?;
        may_be_scheduled(scheduled_send_at, &content)?;
        content.attachments = self.attach(files);
        let id = self.save_draft(me, content);
        if let Some(draft) = self.mail.drafts.get_mut(&id) {
            (draft.thread, draft.response_to, draft.scheduled_send_at) =
                (thread, response_to, scheduled_send_at);
        }
        Ok(json!({"message": format!("Draft {id} is saved."), "draft_id": id}))
    }

    pub(crate) fn update_draft(
        &mut self,
        me: &Email,
        arguments: UpdateDraft,
    ) -> Result<Value, ToolError> {
        let mut draft = self.own_draft(me, arguments.draft_id)?.clone();
        let UpdateDraft {
            draft_id,
            email_addresses,
            subject,
            body,
            scheduled_send_at,
            belongs_to_email_thread_id: thread,
            response_to_email_id: response_to,
            ..
        } = arguments;
        if thread.or(response_to).is_some() {
            // A new email to answer moves the draft into its thread; a new thread must hold the email that it answers.
            let response_to = response_to.or(draft.response_to);
            (draft.thread, draft.response_to) = self.place(me, thread, response_to)?;
        }
        if let Some(addresses) = email_addresses {
            draft.content.to = self.recipients(&addresses)?;
        }
        if let Some(subject) = subject {
            draft.content.subject = checked_subject(subject)?;
        }
        if let Some(body) = body {
            draft.content.body = checked_body(body)?;
        }
        if let Some(at) = scheduled_send_at {
            let never = at.trim().eq_ignore_ascii_case("none");
            draft.scheduled_send_at = (!never).then(|| future(&at)).transpose()?;
        }
        may_be_scheduled(draft.scheduled_send_at, &draft.content)?;
        draft.updated_at = clock::now();
        self.mail.drafts.insert(draft_id, draft);
        Ok(json!({"message": format!("Draft {draft_id} is updated.")}))
    }

    pub(crate) fn show_draft(
        &mut self,
        me: &Email,
        arguments: DraftIdOnly,
    ) -> Result<Value, ToolError> {
        Ok(self.view_draft(self.own_draft(me, arguments.draft_id)?))
    }

    pub(crate) fn show_drafts(
        &mut self,
        me: &Email,
        list: ListDrafts,
    ) -> Result<Vec<Value>, ToolError> {
        let wanted = |draft: &&Draft| draft.owner == *me && fits(draft, &list);
        let mut drafts: Vec<&Draft> = self.mail.drafts.values().filter(wanted).collect();
        drafts.sort_by_key(|draft| std::cmp::Reverse((draft.updated_at, draft.id)));
        let text = |draft: &&Draft| self.searchable_draft(draft);
        let drafts = list.list.of(drafts, text, DRAFT_FIELDS)?;
        Ok(drafts
            .into_iter()
            .map(|draft| self.view_draft(draft))
            .collect())
    }

    fn searchable_draft(&self, draft: &Draft) -> String {
        let people = draft
            .content
            .to
            .iter()
            .map(|person| format!("{} {person}\n", self.accounts.name(person)));
        let people: String = people.collect();
        format!(
            "{}\n{}\n{people}",
            draft.content.subject, draft.content.body
        )
    }

    /// A draft that stands alone and is not scheduled.
    pub(crate) fn save_draft(&mut self, me: &Email, content: Content) -> DraftId {
        let (id, now) = (self.mail.next_draft(), clock::now());
        let draft = Draft {
            id,
            owner: me.clone(),
            content,
            thread: None,
            response_to: None,
            scheduled_send_at: None,
            created_at: now,
            updated_at: now,
        };
        self.mail.drafts.insert(id, draft);
        id
    }

    /// One's own draft: 409 if there is none, 422 if it is somebody else's.
    pub(crate) fn own_draft(&self, me: &Email, id: DraftId) -> Result<&Draft, ToolError> {
        let draft = self
            .mail
            .drafts
            .get(&id)
            .ok_or_else(|| ToolError::conflict("draft", id))?;
        if draft.owner != *me {
            return Err(ToolError::invalid(format!(
                "Draft {id} belongs to another account."
            )));
        }
        Ok(draft)
    }

    /// Where a draft belongs: the thread, if only the email is given the email's, and the email in it.
    fn place(
        &self,
        me: &Email,
        thread: Option<ThreadId>,
        response_to: Option<EmailId>,
    ) -> Result<(Option<ThreadId>, Option<EmailId>), ToolError> {
        let thread = thread
            .map(|id| self.own_thread(me, id))
            .transpose()?
            .map(|thread| thread.id);
        let Some(email) = response_to else {
            return Ok((thread, None));
        };
        let found = self.own_email(me, email)?.thread.id;
        if thread.is_some_and(|thread| thread != found) {
            return Err(ToolError::invalid(format!(
                "Email {email} is in thread {found}, where the draft must be too."
            )));
        }
        Ok((Some(found), Some(email)))
    }

    fn reply_subject_of(&self, thread: Option<ThreadId>) -> String {
        let thread = thread.and_then(|thread| self.mail.threads.get(&thread));
        let emails = thread
            .map(|thread| self.mail.emails_of(thread))
            .unwrap_or_default();
        emails
            .first()
            .map(|email| reply_subject(&email.message.subject))
            .unwrap_or_default()
    }
}

fn both_or_neither(
    thread: Option<ThreadId>,
    response_to: Option<EmailId>,
) -> Result<(), ToolError> {
    if thread.is_some() == response_to.is_some() {
        return Ok(());
    }
    Err(ToolError::invalid(
        "belongs_to_email_thread_id and response_to_email_id go together: give both or neither.",
    ))
}

fn fits(draft: &Draft, list: &ListDrafts) -> bool {
    let same = |wanted: Option<bool>, actual: bool| wanted.is_none_or(|wanted| wanted == actual);
    let recipient = list.recipient_email.as_deref().map(Email::new);
    same(list.attachment, !draft.content.attachments.is_empty())
        && same(list.scheduled, draft.scheduled_send_at.is_some())
        && recipient.is_none_or(|recipient| draft.content.to.contains(&recipient))
        && list
            .belongs_to_email_thread_id
            .is_none_or(|thread| draft.thread == Some(thread))
        && list
            .response_to_email_id
            .is_none_or(|email| draft.response_to == Some(email))
        && (list.min_created_at.0..=list.max_created_at.0).contains(&draft.created_at)
}

/// When a draft goes out by itself.
fn future(text: &str) -> Result<DateTime, ToolError> {
    let at = time::parse_datetime("scheduled_send_at", text)?;
    let now = clock::now();
    if at <= now {
        return Err(ToolError::invalid(format!(
            "scheduled_send_at must be in the future; it is {now}."
        )));
    }
    Ok(at)
}

fn may_be_scheduled(at: Option<DateTime>, content: &Content) -> Result<(), ToolError> {
    if at.is_some() && content.to.is_empty() {
        return Err(ToolError::invalid(
            "A scheduled draft needs at least one email address.",
        ));
    }
    Ok(())
}
