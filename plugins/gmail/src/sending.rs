//! The tools that send, and the rules for what may be sent.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::attachment::{Attachments, File};
use pibench_sdk::clock;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Gmail;
use crate::mail::{Attachment, Content, Delivered, Draft, EmailRef, Position};

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
pub(crate) struct SendDraft {
    pub draft_id: u32,
    /// Not needed.
    #[schemars(extend("deprecated" = true))]
    #[serde(rename = "file_system_access_token")]
    pub _file_system_access_token: Option<String>,
}

/// The most recipients of an email.
const MAX_RECIPIENTS: usize = 100;
/// The longest subject, in bytes.
const MAX_SUBJECT: usize = 1000;
/// The longest text, in bytes. A forwarded thread may have more: it grows with each forwarding, up to its own limit.
const MAX_BODY: usize = 64 * 1024;
const MAX_FORWARD: usize = 256 * 1024;

impl Gmail {
    pub(crate) fn send_email(
        &mut self,
        me: &Email,
        arguments: SendEmail,
    ) -> Result<Value, ToolError> {
        let SendEmail {
            email_addresses,
            subject,
            body,
            attachments,
        } = arguments;
        let files = attachments.files()?;
        let to = at_least_one(self.recipients(&email_addresses)?)?;
        let content = Content {
            to,
            subject: checked_subject(subject)?,
            body: checked_body(body)?,
            attachments: self.attach(files),
        };
        let sent = self.send(me, content, Position::default(), clock::now());
        Ok(json!({
            "message": "The email is sent.",
            "sent_email_id": sent.email,
            "sent_email_thread_id": sent.thread,
        }))
    }

    pub(crate) fn reply_to_email(
        &mut self,
        me: &Email,
        arguments: ReplyToEmail,
    ) -> Result<Value, ToolError> {
        let ReplyToEmail {
            email_thread_id,
            email_id,
            body,
            email_addresses,
            attachments,
        } = arguments;
        let files = attachments.files()?;
        let thread = self.own_thread(me, email_thread_id)?;
        let email = self.own_email(me, email_id)?;
        if email.thread.id != thread.id {
            return Err(ToolError::invalid(format!(
                "Email {email_id} is not in thread {email_thread_id}."
            )));
        }
        let to = match email_addresses {
            Some(addresses) => self.recipients(&addresses)?,
            None => vec![email.message.from.clone()],
        };
        let position = Position {
            conversation: Some(thread.conversation),
            response_to: Some(email.message_id),
        };
        let content = Content {
            to: at_least_one(to)?,
            subject: reply_subject(&email.message.subject),
            body: checked_body(body)?,
            attachments: self.attach(files),
        };
        let sent = self.send(me, content, position, clock::now());
        Ok(json!({"message": "The reply is sent.", "sent_email_id": sent.email}))
    }

    /// The attachments of an email that is written now, each with an id of its own.
    pub(crate) fn attach(&mut self, files: Vec<File>) -> Vec<Attachment> {
        let attach = |file: File| {
            let name = file.name().to_owned();
            self.mail.attach(name, Some(file.content))
        };
        files.into_iter().map(attach).collect()
    }

    pub(crate) fn forward_email_thread(
        &mut self,
        me: &Email,
        arguments: ForwardThread,
    ) -> Result<Value, ToolError> {
        let ForwardThread {
            email_thread_id,
            email_addresses,
            draft_not_send,
        } = arguments;
        let content = self.forwarded(me, email_thread_id, &email_addresses)?;
        if draft_not_send {
            let draft_id = self.save_draft(me, content);
            return Ok(json!({
                "message": format!("The forwarding is saved as draft {draft_id}."),
                "sent_email_thread_id": null,
                "sent_email_id": null,
                "draft_id": draft_id,
            }));
        }
        let sent = self.send(me, content, Position::default(), clock::now());
        Ok(json!({
            "message": "The thread is forwarded.",
            "sent_email_thread_id": sent.thread,
            "sent_email_id": sent.email,
            "draft_id": null,
        }))
    }

    fn forwarded(
        &self,
        me: &Email,
        thread: u32,
        addresses: &[String],
    ) -> Result<Content, ToolError> {
        let to = at_least_one(self.recipients(addresses)?)?;
        let emails = self.mail.emails_of(self.own_thread(me, thread)?);
        let subject = emails
            .first()
            .map(|email| prefixed("Fwd: ", &email.message.subject))
            .unwrap_or_default();
        let body: Vec<String> = emails.iter().map(|email| self.quoted(*email)).collect();
        let body = body.join("\n\n");
        if body.len() > MAX_FORWARD {
            return Err(ToolError::invalid(format!(
                "Thread {thread} is too long to be forwarded."
            )));
        }
        let attachments = emails
            .iter()
            .flat_map(|email| email.message.attachments.clone())
            .collect();
        Ok(Content {
            to,
            subject,
            body,
            attachments,
        })
    }

    fn quoted(&self, email: EmailRef) -> String {
        let person = |person: &Email| format!("{} <{person}>", self.accounts.name(person));
        let message = email.message;
        let to: Vec<String> = message.to.iter().map(person).collect();
        format!(
            "---------- Forwarded email ----------\nFrom: {}\nDate: {}\nTo: {}\nSubject: {}\n\n{}",
            person(&message.from),
            message.sent_at,
            to.join(", "),
            message.subject,
            message.body
        )
    }

    pub(crate) fn send_email_from_draft(
        &mut self,
        me: &Email,
        arguments: SendDraft,
    ) -> Result<Value, ToolError> {
        let draft = self.own_draft(me, arguments.draft_id)?.clone();
        if draft.content.to.is_empty() {
            return Err(ToolError::invalid(
                "The draft has no recipients. Add some with update_draft.",
            ));
        }
        let sent = self.send_draft(draft, clock::now());
        Ok(json!({
            "message": "The email is sent.",
            "sent_email_id": sent.email,
            "sent_email_thread_id": sent.thread,
        }))
    }

    /// Sends the scheduled drafts whose time has come, each at its own time.
    pub(crate) fn send_due_drafts(&mut self) {
        let now = clock::now();
        let due =
            |draft: &Draft| Some((draft.scheduled_send_at.filter(|at| *at <= now)?, draft.id));
        let mut due: Vec<(DateTime, u32)> = self.mail.drafts.values().filter_map(due).collect();
        due.sort_unstable();
        for (at, id) in due {
            if let Some(draft) = self.mail.drafts.get(&id).cloned() {
                self.send_draft(draft, at);
            }
        }
    }

    fn send_draft(&mut self, draft: Draft, at: DateTime) -> Delivered {
        let thread = draft
            .thread
            .and_then(|thread| self.mail.threads.get(&thread));
        let conversation = thread.map(|thread| thread.conversation);
        let response_to = draft
            .response_to
            .and_then(|email| self.mail.email(email))
            .map(|email| email.message_id);
        self.mail.drafts.remove(&draft.id);
        self.send(
            &draft.owner,
            draft.content,
            Position {
                conversation,
                response_to,
            },
            at,
        )
    }

    /// Sends what was checked. Answers the sender's copy.
    fn send(
        &mut self,
        me: &Email,
        content: Content,
        position: Position,
        at: DateTime,
    ) -> Delivered {
        let (_, sent) = self.mail.deliver(&self.accounts, me, content, position, at);
        // Whoever is logged in has an account, and with it a copy; ids count from 1.
        sent.unwrap_or(Delivered {
            thread: 0,
            email: 0,
        })
    }

    /// Whom addresses name, each once: 422 for one that is nobody's.
    pub(crate) fn recipients(&self, addresses: &[String]) -> Result<Vec<Email>, ToolError> {
        let recipients = recipients(addresses)?;
        match self.nobody(&recipients) {
            None => Ok(recipients),
            Some(nobody) => Err(ToolError::invalid(format!("There is no user {nobody}."))),
        }
    }

    /// The first who neither has an account nor stands in the mail that there is: records bring mail of people without one.
    pub(crate) fn nobody<'a>(&self, people: &'a [Email]) -> Option<&'a Email> {
        let known = |person: &Email| self.accounts.contains(person) || self.mail.names(person);
        people.iter().find(|person| !known(person))
    }
}

/// Addresses, each once.
pub(crate) fn recipients(addresses: &[String]) -> Result<Vec<Email>, ToolError> {
    let mut recipients = Vec::new();
    for address in addresses {
        let address = Email::parse(address)?;
        if !recipients.contains(&address) {
            recipients.push(address);
        }
    }
    if recipients.len() > MAX_RECIPIENTS {
        return Err(ToolError::invalid(format!(
            "An email has at most {MAX_RECIPIENTS} recipients."
        )));
    }
    Ok(recipients)
}

fn at_least_one(recipients: Vec<Email>) -> Result<Vec<Email>, ToolError> {
    if recipients.is_empty() {
        return Err(ToolError::invalid("At least one email address is needed."));
    }
    Ok(recipients)
}

pub(crate) fn reply_subject(subject: &str) -> String {
    prefixed("Re: ", subject)
}

fn prefixed(prefix: &str, subject: &str) -> String {
    let start = subject.get(..prefix.len()).unwrap_or_default();
    if start.eq_ignore_ascii_case(prefix) {
        subject.to_owned()
    } else {
        format!("{prefix}{subject}")
    }
}

/// What somebody wrote, if it is not too long.
pub(crate) fn checked_subject(subject: String) -> Result<String, ToolError> {
    at_most("subject", subject, MAX_SUBJECT)
}

/// What somebody wrote, if it is not too long.
pub(crate) fn checked_body(body: String) -> Result<String, ToolError> {
    at_most("body", body, MAX_BODY)
}

fn at_most(what: &str, text: String, limit: usize) -> Result<String, ToolError> {
    if text.len() > limit {
        return Err(ToolError::invalid(format!(
            "The {what} has {} bytes; at most {limit} fit.",
            text.len()
        )));
    }
    Ok(text)
}
