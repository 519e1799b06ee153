//! What a seed may hold, and how it becomes mail; the crate's documentation shows it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::records::Records;
use pibench_sdk::{clock, time};
use serde::Deserialize;

use crate::Gmail;
use crate::mail::{Content, MessageId, Position, ThreadId};
use crate::threads::checked_label;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmailRecord {
    from: Email,
    to: Vec<Email>,
    subject: String,
    body: String,
    #[serde(default, deserialize_with = "time::read_moment")]
    sent_at: Option<DateTime>,
    id: Option<String>,
    thread: Option<String>,
    reply_to: Option<String>,
    #[serde(default)]
    attachments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadRecord {
    owner: Email,
    thread: String,
    read: Option<bool>,
    starred: Option<bool>,
    archived: Option<bool>,
    spam: Option<bool>,
    label: Option<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    snoozed_until: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftRecord {
    owner: Email,
    #[serde(default)]
    to: Vec<Email>,
    subject: String,
    body: String,
    thread: Option<String>,
    reply_to: Option<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    scheduled_send_at: Option<DateTime>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
    #[serde(default, deserialize_with = "time::read_moment")]
    updated_at: Option<DateTime>,
}

impl Gmail {
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        for (index, record) in records.take_list("emails")?.into_iter().enumerate() {
            self.add_email(record)
                .map_err(|error| format!("emails[{index}]: {error}"))?;
        }
        for (index, record) in records.take_list("threads")?.into_iter().enumerate() {
            self.add_flags(record)
                .map_err(|error| format!("threads[{index}]: {error}"))?;
        }
        for (index, record) in records.take_list("drafts")?.into_iter().enumerate() {
            self.add_draft(record)
                .map_err(|error| format!("drafts[{index}]: {error}"))?;
        }
        Ok(())
    }

    fn add_email(&mut self, record: EmailRecord) -> Result<(), String> {
        let EmailRecord {
            from,
            to,
            subject,
            body,
            sent_at,
            id,
            thread,
            reply_to,
            attachments,
        } = record;
        let to = checked_people(&from, to)?;
        if !std::iter::once(&from)
            .chain(&to)
            .any(|person| self.accounts.contains(person))
        {
            return Err("nobody in from and to has an account".to_owned());
        }
        if let Some(id) = id.as_ref().filter(|id| self.keys.contains_key(*id)) {
            return Err(format!("id: {id:?} is in use already"));
        }
        let position = self.position(thread.as_deref(), reply_to.as_deref())?;
        let attachments = attachments
            .into_iter()
            .map(|name| self.mail.attach(name, None))
            .collect();
        let content = Content {
            to,
            subject,
            body,
            attachments,
        };
        let sent_at = sent_at.unwrap_or_else(clock::now);
        let (message, _) = self
            .mail
            .deliver(&self.accounts, &from, content, position, sent_at);
        for key in thread.into_iter().chain(id) {
            self.keys.entry(key).or_insert(message);
        }
        Ok(())
    }

    /// A thread's key that nobody has used begins a conversation, or is another name for the answered email's.
    fn position(&self, thread: Option<&str>, reply_to: Option<&str>) -> Result<Position, String> {
        let response_to = reply_to
            .map(|key| self.message("reply_to", key))
            .transpose()?;
        let answered = response_to.and_then(|message| self.conversation(message));
        let named = thread
            .and_then(|key| self.keys.get(key))
            .and_then(|message| self.conversation(*message));
        match (named, answered) {
            (Some(named), Some(answered)) if named != answered => {
                Err("reply_to and thread are different conversations".to_owned())
            }
            _ => Ok(Position {
                conversation: named.or(answered),
                response_to,
            }),
        }
    }

    fn add_flags(&mut self, record: ThreadRecord) -> Result<(), String> {
        let ThreadRecord {
            owner,
            thread: key,
            read,
            starred,
            archived,
            spam,
            label,
            snoozed_until,
        } = record;
        let id = self.thread(&owner, "thread", &key)?;
        let label = label
            .map(|label| checked_label(&label))
            .transpose()
            .map_err(|error| error.message)?;
        if let Some(thread) = self.mail.threads.get_mut(&id) {
            thread.read = read.unwrap_or(thread.read);
            thread.starred = starred.unwrap_or(thread.starred);
            thread.archived = archived.unwrap_or(thread.archived);
            thread.spam = spam.unwrap_or(thread.spam);
            thread.label = label.or_else(|| thread.label.take());
            thread.snoozed_until = snoozed_until.or(thread.snoozed_until);
        }
        Ok(())
    }

    fn add_draft(&mut self, record: DraftRecord) -> Result<(), String> {
        let DraftRecord {
            owner,
            to,
            subject,
            body,
            thread,
            reply_to,
            scheduled_send_at,
            created_at,
            updated_at,
            ..
        } = record;
        if !self.accounts.contains(&owner) {
            return Err(format!("owner: {owner} has no account"));
        }
        let to = if to.is_empty() {
            to
        } else {
            checked_people(&owner, to)?
        };
        if scheduled_send_at.is_some() && to.is_empty() {
            return Err("scheduled_send_at: a draft without recipients cannot be sent".to_owned());
        }
        let named = thread
            .map(|key| self.thread(&owner, "thread", &key))
            .transpose()?;
        let answered = reply_to
            .as_ref()
            .map(|key| self.thread(&owner, "reply_to", key))
            .transpose()?;
        if named
            .zip(answered)
            .is_some_and(|(named, answered)| named != answered)
        {
            return Err("reply_to and thread are different conversations".to_owned());
        }
        let place = named.or(answered);
        let answered = reply_to
            .map(|key| self.message("reply_to", &key))
            .transpose()?;
        let thread = place.and_then(|thread| self.mail.threads.get(&thread));
        let response_to = thread
            .zip(answered)
            .and_then(|(thread, message)| self.mail.copy_in(thread, message));
        let id = self.save_draft(
            &owner,
            Content {
                to,
                subject,
                body,
                attachments: Vec::new(),
            },
        );
        if let Some(draft) = self.mail.drafts.get_mut(&id) {
            (draft.thread, draft.response_to, draft.scheduled_send_at) =
                (place, response_to, scheduled_send_at);
            draft.created_at = created_at.unwrap_or(draft.created_at);
            draft.updated_at = updated_at.unwrap_or(draft.created_at);
        }
        Ok(())
    }

    fn message(&self, field: &str, key: &str) -> Result<MessageId, String> {
        self.keys
            .get(key)
            .copied()
            .ok_or_else(|| format!("{field}: no email before this has the key {key:?}"))
    }

    fn conversation(&self, message: MessageId) -> Option<MessageId> {
        self.mail
            .message(message)
            .map(|message| message.conversation)
    }

    fn thread(&self, owner: &Email, field: &str, key: &str) -> Result<ThreadId, String> {
        let conversation = self.conversation(self.message(field, key)?);
        let thread = conversation.and_then(|conversation| self.mail.thread_of(owner, conversation));
        thread.ok_or_else(|| format!("{field}: {owner} has no email in {key:?}"))
    }
}

/// The recipients, each once; an error if there is none, or if one or the sender is no address.
fn checked_people(from: &Email, to: Vec<Email>) -> Result<Vec<Email>, String> {
    let mut recipients: Vec<Email> = Vec::new();
    for person in to {
        if !recipients.contains(&person) {
            recipients.push(person);
        }
    }
    if recipients.is_empty() {
        return Err("to: at least one address is needed".to_owned());
    }
    for person in recipients.iter().chain([from]) {
        Email::parse(person.as_str()).map_err(|error| error.message)?;
    }
    Ok(recipients)
}
