//! Messages, their copies in the mailboxes, threads and drafts, and how a message gets into mailboxes. It knows nothing
//! of tools, and checks no rights.

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::civil::DateTime;
use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::layer::Layer;
use pibench_sdk::list::List;
use pibench_sdk::search::Words;
use pibench_sdk::text::Text;
use serde::{Deserialize, Serialize};

/// A message's number, the same in all mailboxes. Never shown.
pub(crate) type MessageId = u32;
/// A copy's number: what tools call `email_id`.
pub(crate) type EmailId = u32;
pub(crate) type ThreadId = u32;
pub(crate) type DraftId = u32;

/// All mail of all accounts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mail {
    messages: Layer<MessageId, Message>,
    pub emails: Layer<EmailId, Copy>,
    pub threads: Layer<ThreadId, Thread>,
    pub drafts: BTreeMap<DraftId, Draft>,
    last_draft: DraftId,
    last_attachment: u32,
}

/// What was sent, once for all mailboxes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Message {
    /// The conversation's first message.
    pub conversation: MessageId,
    pub response_to: Option<MessageId>,
    pub from: Email,
    pub to: List<Email>,
    pub subject: Text,
    pub body: Text,
    pub attachments: List<Attachment>,
    pub sent_at: DateTime,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Attachment {
    pub id: u32,
    pub file_name: Text,
    /// Of a file of the file system app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

/// A message in a mailbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Copy {
    pub thread: ThreadId,
    pub message: MessageId,
}

/// A conversation as one account sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags that are set one by one"
)]
pub(crate) struct Thread {
    pub id: ThreadId,
    pub owner: Email,
    pub conversation: MessageId,
    /// In the order of arrival.
    pub emails: List<EmailId>,
    pub read: bool,
    pub label: Option<Text>,
    pub snoozed_until: Option<DateTime>,
    pub starred: bool,
    pub archived: bool,
    pub spam: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub id: DraftId,
    pub owner: Email,
    pub content: Content,
    /// One of the owner's threads.
    pub thread: Option<ThreadId>,
    /// One of the emails of that thread.
    pub response_to: Option<EmailId>,
    pub scheduled_send_at: Option<DateTime>,
    pub created_at: DateTime,
    pub updated_at: DateTime,
}

/// What somebody writes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Content {
    pub to: Vec<Email>,
    pub subject: String,
    pub body: String,
    pub attachments: Vec<Attachment>,
}

/// Where a message stands in a conversation: nowhere, and it begins one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    pub conversation: Option<MessageId>,
    pub response_to: Option<MessageId>,
}

/// A copy that was just put into a mailbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    pub thread: ThreadId,
    pub email: EmailId,
}

/// A copy with its message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmailRef<'a> {
    pub id: EmailId,
    pub thread: &'a Thread,
    pub message_id: MessageId,
    pub message: &'a Message,
}

impl Mail {
    /// With the world's mail, which has so many attachments, or without any.
    pub(crate) fn new(world: bool, attachments: u32) -> Self {
        Self {
            messages: Layer::new(world),
            emails: Layer::new(world),
            threads: Layer::new(world),
            drafts: BTreeMap::new(),
            last_draft: 0,
            last_attachment: if world { attachments } else { 0 },
        }
    }

    pub(crate) fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id)
    }

    pub(crate) fn email(&self, id: EmailId) -> Option<EmailRef<'_>> {
        let copy = self.emails.get(&id)?;
        let thread = self.threads.get(&copy.thread)?;
        Some(EmailRef {
            id,
            thread,
            message_id: copy.message,
            message: self.messages.get(&copy.message)?,
        })
    }

    /// The words of an email's subject and body.
    pub(crate) fn words(&self, email: &EmailRef) -> Rc<Words> {
        self.messages.words(&email.message_id, |message| {
            message.map_or_else(String::new, |message| {
                format!("{}\n{}", message.subject, message.body)
            })
        })
    }

    /// A thread's emails, oldest first.
    pub(crate) fn emails_of(&self, thread: &Thread) -> Vec<EmailRef<'_>> {
        let mut emails: Vec<EmailRef<'_>> = thread
            .emails
            .iter()
            .filter_map(|id| self.email(*id))
            .collect();
        emails.sort_by_key(|email| (email.message.sent_at, email.id));
        emails
    }

    /// Whether somebody sent or got a message.
    pub(crate) fn names(&self, person: &Email) -> bool {
        let mut messages = self.messages.values();
        messages.any(|message| message.from == *person || message.to.contains(person))
    }

    /// The copy of a message that lies in a thread.
    pub(crate) fn copy_in(&self, thread: &Thread, message: MessageId) -> Option<EmailId> {
        let is_copy = |id: &&EmailId| {
            self.emails
                .get(id)
                .is_some_and(|copy| copy.message == message)
        };
        thread.emails.iter().find(is_copy).copied()
    }

    /// The thread in which an account sees a conversation.
    pub(crate) fn thread_of(&self, owner: &Email, conversation: MessageId) -> Option<ThreadId> {
        let mut threads = self.threads.values();
        threads
            .find(|thread| thread.conversation == conversation && thread.owner == *owner)
            .map(|thread| thread.id)
    }

    /// Puts a message into the mailboxes of its sender and its recipients, as far as they have one. Answers the message
    /// and the sender's copy.
    pub(crate) fn deliver(
        &mut self,
        accounts: &Accounts,
        from: &Email,
        content: Content,
        position: Position,
        sent_at: DateTime,
    ) -> (MessageId, Option<Delivered>) {
        let id = self.messages.next_id();
        let Content {
            to,
            subject,
            body,
            attachments,
        } = content;
        let Position {
            conversation,
            response_to,
        } = position;
        let conversation = conversation.unwrap_or(id);
        let sender = accounts
            .contains(from)
            .then(|| self.put(from, conversation, id));
        for recipient in to.iter().filter(|recipient| accounts.contains(recipient)) {
            let delivered = sender.filter(|_| recipient == from);
            let thread = delivered
                .unwrap_or_else(|| self.put(recipient, conversation, id))
                .thread;
            self.arrive(thread);
        }
        let from = from.clone();
        let message = Message {
            conversation,
            response_to,
            from,
            to: to.into(),
            subject: subject.into(),
            body: body.into(),
            attachments: attachments.into(),
            sent_at,
        };
        self.messages.insert(id, message);
        (id, sender)
    }

    /// A copy at the end of the owner's thread.
    fn put(&mut self, owner: &Email, conversation: MessageId, message: MessageId) -> Delivered {
        // Nobody has a thread yet of what begins with this message.
        let known = (conversation != message).then(|| self.thread_of(owner, conversation));
        let thread = known.flatten();
        let thread = thread.unwrap_or_else(|| self.begin(owner, conversation));
        let email = self.emails.next_id();
        self.emails.insert(email, Copy { thread, message });
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.emails.to_mut().push(email);
        }
        Delivered { thread, email }
    }

    fn begin(&mut self, owner: &Email, conversation: MessageId) -> ThreadId {
        let id = self.threads.next_id();
        let thread = Thread {
            id,
            owner: owner.clone(),
            conversation,
            emails: List::default(),
            read: true,
            label: None,
            snoozed_until: None,
            starred: false,
            archived: false,
            spam: false,
        };
        self.threads.insert(id, thread);
        id
    }

    /// New mail brings a thread back to the inbox. Spam stays spam.
    fn arrive(&mut self, thread: ThreadId) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.read = false;
            thread.archived = false;
            thread.snoozed_until = None;
        }
    }

    /// The id that the next draft gets.
    pub(crate) fn next_draft(&mut self) -> DraftId {
        self.last_draft += 1;
        self.last_draft
    }

    pub(crate) fn attach(&mut self, file_name: String, text: Option<String>) -> Attachment {
        self.last_attachment += 1;
        Attachment {
            id: self.last_attachment,
            file_name: file_name.into(),
            text: text.map(Text::from),
        }
    }
}

impl Thread {
    pub(crate) fn snoozed(&self, now: DateTime) -> bool {
        self.snoozed_until.is_some_and(|until| until > now)
    }
}
