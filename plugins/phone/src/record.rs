//! What a seed may hold, and how it gets into the phone; the crate's documentation shows it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::records::Records;
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, text, time};
use serde::Deserialize;

use crate::Phone;
use crate::alarms::{Alarm, AlarmChange, Weekday};
use crate::contacts::ContactChange;
use crate::messages::{MAX_MESSAGE, TextMessage};
use crate::number::PhoneNumber;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContactRecord {
    owner: Email,
    first_name: String,
    #[serde(default)]
    last_name: String,
    phone_number: Option<String>,
    email: Option<String>,
    relationships: Option<Vec<String>>,
    birthday: Option<String>,
    home_address: Option<String>,
    work_address: Option<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextMessageRecord {
    from: String,
    to: String,
    message: String,
    #[serde(default, deserialize_with = "time::read_moment")]
    sent_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlarmRecord {
    owner: Email,
    time: String,
    repeat_days: Option<Vec<Weekday>>,
    label: Option<String>,
    enabled: Option<bool>,
    snooze_minutes: Option<u32>,
    vibration: Option<bool>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

impl Phone {
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        self.check_numbers()?;
        for (index, record) in records.take_list("contacts")?.into_iter().enumerate() {
            self.add_contact_record(record)
                .map_err(|error| format!("contacts[{index}]: {error}"))?;
        }
        for (index, record) in records.take_list("text_messages")?.into_iter().enumerate() {
            self.add_text_message(record)
                .map_err(|error| format!("text_messages[{index}]: {error}"))?;
        }
        for (index, record) in records.take_list("alarms")?.into_iter().enumerate() {
            self.add_alarm(record)
                .map_err(|error| format!("alarms[{index}]: {error}"))?;
        }
        Ok(())
    }

    /// People are read by the SDK, which does not look at phone numbers.
    fn check_numbers(&self) -> Result<(), String> {
        for account in self.accounts.iter() {
            let Some(number) = &account.phone_number else {
                continue;
            };
            let number = PhoneNumber::parse(number).map_err(message)?;
            let holder = self.numbers.get(&number);
            if let Some(holder) = holder.filter(|holder| **holder != account.email) {
                return Err(format!(
                    "people: {holder} and {} have the same phone number {number}",
                    account.email
                ));
            }
        }
        Ok(())
    }

    fn add_contact_record(&mut self, record: ContactRecord) -> Result<(), String> {
        let ContactRecord {
            owner,
            first_name,
            last_name,
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
            created_at,
        } = record;
        self.check_owner(&owner)?;
        let change = ContactChange {
            first_name: Some(first_name),
            last_name: Some(last_name),
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
        };
        let created_at = created_at.unwrap_or_else(clock::now);
        self.insert_contact(&owner, change, created_at)
            .map_err(message)?;
        Ok(())
    }

    fn add_text_message(&mut self, record: TextMessageRecord) -> Result<(), String> {
        let TextMessageRecord {
            from,
            to,
            message: words,
            sent_at,
        } = record;
        let sender = self.named("from", &from)?;
        let receiver = self.named("to", &to)?;
        if ![&sender, &receiver]
            .map(|number| self.numbers.contains_key(number))
            .contains(&true)
        {
            return Err("neither from nor to has an account".to_owned());
        }
        if words.trim().is_empty() {
            return Err("The message must not be empty.".to_owned());
        }
        let text = text::at_most("message", words, MAX_MESSAGE).map_err(message)?;
        self.messages.insert(TextMessage {
            sender,
            receiver,
            message: text.into(),
            sent_at: sent_at.unwrap_or_else(clock::now),
        });
        Ok(())
    }

    fn add_alarm(&mut self, record: AlarmRecord) -> Result<(), String> {
        let AlarmRecord {
            owner,
            time,
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
            created_at,
        } = record;
        self.check_owner(&owner)?;
        let mut alarm = Alarm::new(owner, created_at.unwrap_or_else(clock::now));
        let change = AlarmChange {
            time: Some(time),
            repeat_days,
            label,
            enabled,
            snooze_minutes,
            vibration,
        };
        alarm.apply(change).map_err(message)?;
        self.alarms.insert(alarm);
        Ok(())
    }

    /// Who owns something must be able to log in.
    fn check_owner(&self, owner: &Email) -> Result<(), String> {
        if !self.accounts.contains(owner) {
            return Err(format!("owner: {owner} has no account"));
        }
        if self.number_of(owner).is_none() {
            return Err(format!("owner: {owner} has no phone number"));
        }
        Ok(())
    }

    /// The number that a seed names, by itself or by the address of an account.
    fn named(&self, key: &str, text: &str) -> Result<PhoneNumber, String> {
        if text.contains('@') {
            let email = Email::new(text);
            return self
                .number_of(&email)
                .ok_or_else(|| format!("{key}: {email} has no account with a phone number"));
        }
        PhoneNumber::parse(text).map_err(|error| format!("{key}: {}", error.message))
    }
}

fn message(error: ToolError) -> String {
    error.message
}
