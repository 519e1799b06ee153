//! Phone: contacts, text messages and alarms of the accounts that have a phone number.
//!
//! One logs in with one's phone number. A text message is one record that both its people see: what is sent to an
//! account's number is delivered at once. A number without an account can be written to if it is in one's contacts or
//! messages; another one is refused (409), for nobody has it. Names are those of one's own contacts, or else of the
//! accounts.
//!
//! # Records
//!
//! ```toml
//! [[apps.phone.contacts]]
//! owner = "ida@vale.example"          # somebody with an account and a phone number
//! first_name = "Bo"
//! last_name = "Lind"                  # this and all that follows may be left out
//! phone_number = "5550140201"         # no two contacts of an owner have the same
//! email = "bo@lind.example"
//! relationships = ["friend"]
//! birthday = "1998-04-30"
//! home_address = "4 Quay Street"
//! work_address = "..."
//! created_at = "2026-02-27T18:00:00"  # the clock's now if left out
//!
//! [[apps.phone.text_messages]]
//! from = "bo@lind.example"            # an account's email address, or a phone number
//! to = "5550140217"                   # the same; one of the two has an account
//! message = "Running late"
//! sent_at = "2026-02-27T18:00:00"     # the clock's now if left out
//!
//! [[apps.phone.alarms]]
//! owner = "ida@vale.example"
//! time = "07:30"
//! repeat_days = ["monday"]            # none if left out: it rings once
//! label = "Swimming"                  # empty if left out
//! enabled = true                      # true if left out
//! snooze_minutes = 15                 # 15 if left out; 0 to 60
//! vibration = true                    # true if left out
//! created_at = "2026-02-27T18:00:00"  # the clock's now if left out
//! ```
//!
//! Unknown keys are errors. Contacts, messages and alarms get ids of their own in the order in which they are added,
//! after those of the world: 1, 2, 3, ... without it. Ids are not reused. A phone number is kept as its digits, with a + in front if it has one.
//!
//! # State
//!
//! `{"contacts": [{id, owner, first_name, last_name, email, phone_number, relationships, birthday, home_address,
//! work_address, created_at}], "text_messages": [{id, sender, receiver, message, sent_at}], "alarms": [{id, owner, time,
//! repeat_days, label, enabled, snooze_minutes, vibration, created_at}]}`, by id; sender and receiver are
//! numbers. Of the world only what differs.
#![expect(
    clippy::unnecessary_wraps,
    reason = "tools are methods of one shape: arguments by value, and a result"
)]

mod alarms;
mod contacts;
mod messages;
mod number;
mod record;
mod world;

use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::layer::Layer;
use pibench_sdk::records::Records;
use pibench_sdk::table::Table;
use pibench_sdk::tool::{NoArguments, ToolError, Tools};
use pibench_sdk::{clock, export_tool_app};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::alarms::Alarm;
use crate::contacts::Contact;
use crate::messages::TextMessage;
use crate::number::PhoneNumber;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// Phone number.
    pub username: String,
    pub password: String,
}

export_tool_app!(Phone);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Phone {
    accounts: Accounts,
    /// Whose number it is.
    numbers: Layer<PhoneNumber, Email>,
    contacts: Table<Contact>,
    messages: Table<TextMessage>,
    alarms: Table<Alarm>,
}

impl ToolApp for Phone {
    fn tools() -> Tools<Self> {
        Tools::new()
            .public("login", pibench_sdk::tool::LOGIN, Self::log_in)
            .public(
                "get_current_date_and_time",
                "What it is now.",
                get_current_date_and_time,
            )
            .private("search_contacts", "By any field.", Self::search_contacts)
            .private("add_contact", "A new contact.", Self::add_contact)
            .private(
                "update_contact",
                "An empty text takes a field away.",
                Self::update_contact,
            )
            .private(
                "send_text_message",
                "It goes at once.",
                Self::send_text_message,
            )
            .private(
                "show_text_message",
                "One of yours.",
                Self::show_text_message,
            )
            .private(
                "search_text_messages",
                "Latest first.",
                Self::search_text_messages,
            )
            .sorted_by(&messages::message_fields())
            .private(
                "show_text_message_window",
                "Each page oldest first.",
                Self::show_text_message_window,
            )
            .private("create_alarm", "A new alarm.", Self::create_alarm)
            .private("show_alarm", "One of yours.", Self::show_alarm)
            .private("update_alarm", "Only what is given.", Self::update_alarm)
    }

    fn open(accounts: Accounts) -> Self {
        let world = accounts.world();
        let mut numbers = Layer::new(world);
        for account in accounts.named() {
            // Somebody of the world may have another number now.
            numbers.retain(|_, holder: &Email| *holder != account.email);
            let number = account.phone_number.as_deref();
            // Numbers that are none or stand twice are reported with the records.
            if let Some(number) = number.and_then(|number| PhoneNumber::parse(number).ok()) {
                numbers.insert(number, account.email.clone());
            }
        }
        Self {
            accounts,
            numbers,
            contacts: Table::new(world),
            messages: Table::new(world),
            alarms: Table::new(world),
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_records(records)
    }

    fn state(&self) -> impl Serialize {
        let contact = |id: u32, contact: &Contact| {
            let mut view = contact.view();
            view["id"] = json!(id);
            view["owner"] = json!(contact.owner);
            view
        };
        let message = |id: u32, message: &TextMessage| {
            let TextMessage {
                sender,
                receiver,
                message,
                sent_at,
            } = message;
            json!({"id": id, "sender": sender, "receiver": receiver, "message": message, "sent_at": sent_at})
        };
        let alarm = |id: u32, alarm: &Alarm| {
            let Alarm {
                owner,
                time,
                repeat_days,
                label,
                enabled,
                snooze_minutes,
                vibration,
                created_at,
            } = alarm;
            json!({
                "id": id, "owner": owner, "time": time, "repeat_days": repeat_days, "label": label, "enabled": enabled,
                "snooze_minutes": snooze_minutes, "vibration": vibration, "created_at": created_at,
            })
        };
        json!({
            "contacts": self.contacts.state(contact),
            "text_messages": self.messages.state(message),
            "alarms": self.alarms.state(alarm),
        })
    }
}

impl Phone {
    fn log_in(&mut self, Login { username, password }: Login) -> Result<Value, ToolError> {
        let number = PhoneNumber::parse(&username).ok();
        let email = number.and_then(|number| self.numbers.get(&number)).cloned();
        // Nobody has the empty address: an unknown number is refused like a wrong password.
        let email = email.unwrap_or_else(|| Email::new(""));
        let token = self.accounts.log_in(email.as_str(), &password)?;
        Ok(json!({"access_token": token, "token_type": "Bearer"}))
    }

    fn number_of(&self, email: &Email) -> Option<PhoneNumber> {
        let account = self.accounts.get(email)?;
        PhoneNumber::parse(account.phone_number.as_ref()?).ok()
    }

    fn own_number(&self, me: &Email) -> Result<PhoneNumber, ToolError> {
        let number = self.number_of(me);
        // Cannot happen: whoever is logged in has a number, because it is the user name.
        number.ok_or_else(|| ToolError::invalid("Your account has no phone number."))
    }
}

fn get_current_date_and_time(_: &mut Phone, _: NoArguments) -> Result<Value, ToolError> {
    let now = clock::now();
    Ok(json!({
        "date": now.strftime("%A, %B %d, %Y").to_string(),
        "time": now.strftime("%I:%M %p").to_string(),
    }))
}

#[cfg(test)]
mod tests;
