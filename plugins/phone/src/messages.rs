//! Text messages: one message, seen by the account that sent it and by the one that got it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::listing::{List, Page};
use pibench_sdk::text::{self, Text};
use pibench_sdk::time::{Since, Until};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Phone;
use crate::contacts::Contact;
use crate::number::PhoneNumber;

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

/// The longest text, in bytes.
pub(crate) const MAX_MESSAGE: usize = 4096;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TextMessage {
    pub sender: PhoneNumber,
    pub receiver: PhoneNumber,
    pub message: Text,
    pub sent_at: DateTime,
}

/// A message as one of its two people sees it.
pub(crate) struct Seen<'a> {
    id: u32,
    message: &'a TextMessage,
    /// Who is at the other end; oneself for a message to oneself.
    other: &'a PhoneNumber,
}

/// Who is behind a number, for one account.
struct Directory<'a> {
    phone: &'a Phone,
    contacts: BTreeMap<&'a PhoneNumber, (u32, &'a Contact)>,
}

impl Phone {
    pub(crate) fn send_text_message(
        &mut self,
        me: &Email,
        arguments: SendTextMessage,
    ) -> Result<Value, ToolError> {
        let SendTextMessage {
            phone_number,
            message,
        } = arguments;
        let sender = self.own_number(me)?;
        let receiver = PhoneNumber::parse(&phone_number)?;
        if message.trim().is_empty() {
            return Err(ToolError::invalid("The message must not be empty."));
        }
        let message = text::at_most("message", message, MAX_MESSAGE)?.into();
        self.check_in_service(me, &sender, &receiver)?;
        let text_message_id = self.messages.insert(TextMessage {
            sender,
            receiver,
            message,
            sent_at: clock::now(),
        });
        Ok(json!({
            "message": format!("Text message {text_message_id} is sent."),
            "text_message_id": text_message_id,
        }))
    }

    pub(crate) fn show_text_message(
        &mut self,
        me: &Email,
        TextMessageId { text_message_id }: TextMessageId,
    ) -> Result<Value, ToolError> {
        let my_number = self.own_number(me)?;
        let message = self
            .messages
            .get(text_message_id)
            .ok_or_else(|| ToolError::conflict("text message", text_message_id))?;
        let seen = Seen::new(&my_number, text_message_id, message).ok_or_else(|| {
            ToolError::invalid(format!(
                "Text message {text_message_id} belongs to other accounts."
            ))
        })?;
        Ok(self.directory(me).view(&seen))
    }

    pub(crate) fn search_text_messages(
        &mut self,
        me: &Email,
        arguments: SearchTextMessages,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchTextMessages {
            phone_number,
            only_latest_per_contact,
            list,
        } = arguments;
        let my_number = self.own_number(me)?;
        let other = phone_number
            .map(|number| PhoneNumber::parse(&number))
            .transpose()?;
        if let Some(other) = &other {
            self.check_in_service(me, &my_number, other)?;
        }
        let directory = self.directory(me);
        let mut messages = self.conversation(&my_number, other.as_ref());
        messages.sort_by_key(|message| std::cmp::Reverse(message.moment()));
        let messages = listing::matching(messages, list.query.as_deref(), |message| {
            let name = directory.name(message.other).unwrap_or_default();
            format!("{}\n{name}", message.message.message)
        });
        let mut messages: Vec<&Seen> = messages.iter().collect();
        if only_latest_per_contact {
            keep_latest(&mut messages);
        }
        let page = list.of_matching(messages, &message_fields())?;
        Ok(page
            .into_iter()
            .map(|message| directory.view(message))
            .collect())
    }

    pub(crate) fn show_text_message_window(
        &mut self,
        me: &Email,
        arguments: TextMessageWindow,
    ) -> Result<Vec<Value>, ToolError> {
        let TextMessageWindow {
            phone_number,
            min_datetime,
            max_datetime,
            pagination_order,
            page,
        } = arguments;
        let my_number = self.own_number(me)?;
        let other = PhoneNumber::parse(&phone_number)?;
        if min_datetime.0 > max_datetime.0 {
            return Err(ToolError::invalid("min_datetime is after max_datetime."));
        }
        self.check_in_service(me, &my_number, &other)?;
        let period = min_datetime.0..=max_datetime.0;
        let mut messages = self.conversation(&my_number, Some(&other));
        messages.retain(|message| period.contains(&message.message.sent_at));
        messages.sort_by_key(Seen::moment);
        if pagination_order == PaginationOrder::Descending {
            messages.reverse();
        }
        let directory = self.directory(me);
        let mut page = page.of(messages);
        // The order says which page comes first; a page is read from its oldest message on.
        page.sort_by_key(Seen::moment);
        Ok(page.iter().map(|message| directory.view(message)).collect())
    }

    /// The messages of a number, with everybody or with one other number; by id.
    fn conversation<'a>(
        &'a self,
        number: &'a PhoneNumber,
        other: Option<&PhoneNumber>,
    ) -> Vec<Seen<'a>> {
        let seen = |(id, message)| Seen::new(number, id, message);
        self.messages
            .iter()
            .filter_map(seen)
            .filter(|message| other.is_none_or(|other| message.other == other))
            .collect()
    }

    /// 409 for a number that nobody is known to have: a wrong digit is noticed.
    fn check_in_service(
        &self,
        me: &Email,
        my_number: &PhoneNumber,
        number: &PhoneNumber,
    ) -> Result<(), ToolError> {
        let known = self.numbers.contains_key(number)
            || self.directory(me).contacts.contains_key(number)
            || !self.conversation(my_number, Some(number)).is_empty();
        if known {
            Ok(())
        } else {
            Err(ToolError::conflict("phone number", number))
        }
    }

    fn directory(&self, me: &Email) -> Directory<'_> {
        let own = self
            .contacts
            .iter()
            .filter(|(_, contact)| contact.owner == *me);
        let by_number =
            own.filter_map(|(id, contact)| Some((contact.phone_number.as_ref()?, (id, contact))));
        Directory {
            phone: self,
            contacts: by_number.collect(),
        }
    }
}

impl<'a> Seen<'a> {
    /// Nothing for a message of other people.
    fn new(number: &PhoneNumber, id: u32, message: &'a TextMessage) -> Option<Self> {
        let other = if message.sender == *number {
            &message.receiver
        } else if message.receiver == *number {
            &message.sender
        } else {
            return None;
        };
        Some(Self { id, message, other })
    }

    /// When it was sent; the id decides between equals.
    fn moment(&self) -> (DateTime, u32) {
        (self.message.sent_at, self.id)
    }
}

impl Directory<'_> {
    /// The contact's name, or what the account with the number is called.
    fn name(&self, number: &PhoneNumber) -> Option<String> {
        if let Some((_, contact)) = self.contacts.get(number) {
            return Some(contact.name());
        }
        let account = self.phone.numbers.get(number)?;
        Some(self.phone.accounts.name(account))
    }

    fn view(&self, seen: &Seen) -> Value {
        json!({
            "text_message_id": seen.id,
            "sender": self.view_person(&seen.message.sender),
            "receiver": self.view_person(&seen.message.receiver),
            "message": seen.message.message,
            "sent_at": seen.message.sent_at,
        })
    }

    fn view_person(&self, number: &PhoneNumber) -> Value {
        json!({
            "contact_id": self.contacts.get(number).map(|(id, _)| id),
            "name": self.name(number),
            "phone_number": number,
        })
    }
}

pub(crate) fn message_fields<'a>() -> [listing::Field<Seen<'a>>; 1] {
    [("created_at", |a, b| a.moment().cmp(&b.moment()))]
}

/// Of the messages with each number, only the latest; the order stays.
fn keep_latest(messages: &mut Vec<&Seen>) {
    let mut latest: BTreeMap<&PhoneNumber, (DateTime, u32)> = BTreeMap::new();
    for message in messages.iter() {
        let moment = latest.entry(message.other).or_insert(message.moment());
        *moment = message.moment().max(*moment);
    }
    let kept: BTreeSet<u32> = latest.into_values().map(|(_, id)| id).collect();
    messages.retain(|message| kept.contains(&message.id));
}
