//! Contacts, text messages and alarms. Voice messages have no place here.

use std::collections::BTreeSet;

use jiff::civil::Time;
use serde_json::{Value, json};

use super::{Database, Records, Row, Users, put, record};

const CONTACT: [&str; 11] = [
    "id",
    "user_id",
    "first_name",
    "last_name",
    "email",
    "phone_number",
    "relationships",
    "birthday",
    "home_address",
    "work_address",
    "created_at",
];
const MESSAGE: [&str; 5] = ["id", "sender_id", "receiver_id", "message", "created_at"];
const ALARM: [&str; 9] = [
    "id",
    "user_id",
    "time",
    "repeat_days",
    "label",
    "enabled",
    "snooze_minutes",
    "vibration",
    "created_at",
];

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut records = Records::new();
    put(&mut records, "contacts", contacts(database, users));
    put(&mut records, "text_messages", messages(database, users));
    put(&mut records, "alarms", alarms(database, users));
    records
}

fn contacts(database: &mut Database, users: &Users) -> Vec<Value> {
    let mut contacts = Vec::new();
    let mut numbers = BTreeSet::new();
    database.mark_derived("contact", &["search_text"]);
    for row in database.rows("contact", &CONTACT) {
        let (Some(owner), Some(name)) = (users.email(&row, "user_id"), row.text("first_name"))
        else {
            database.skip("contact", "no known owner or no name");
            continue;
        };
        let number = row.text("phone_number");
        if number.is_some() && !numbers.insert((owner.to_string(), number.clone())) {
            database.skip("contact", "the owner has another contact with that number");
            continue;
        }
        contacts.push(record(json!({
            "owner": owner,
            "first_name": name,
            "last_name": row.text("last_name"),
            "email": row.text("email"),
            "phone_number": number,
            "relationships": row.list("relationships"),
            "birthday": row.day("birthday"),
            "home_address": row.text("home_address"),
            "work_address": row.text("work_address"),
            "created_at": row.moment("created_at"),
        })));
    }
    contacts
}

fn messages(database: &mut Database, users: &Users) -> Vec<Value> {
    let mut messages = Vec::new();
    // A message is one record here, that both its people see.
    database.mark_derived(
        "user_text_message",
        &[
            "id",
            "global_text_message_id",
            "user_id",
            "created_at",
            "search_text",
        ],
    );
    for row in database.rows("global_text_message", &MESSAGE) {
        let number = |column| users.numbers.get(&row.integer(column)?);
        let (Some(from), Some(to), Some(message)) = (
            number("sender_id"),
            number("receiver_id"),
            row.text("message"),
        ) else {
            database.skip(
                "global_text_message",
                "no known sender or receiver, or no text",
            );
            continue;
        };
        // Somebody with an account must have it.
        let read = ["sender_id", "receiver_id"].map(|column| users.email(&row, column));
        if read.iter().all(Option::is_none) {
            database.skip("global_text_message", "between people without an account");
            continue;
        }
        messages.push(record(json!({
            "from": from,
            "to": to,
            "message": message,
            "sent_at": row.moment("created_at"),
        })));
    }
    messages
}

fn alarms(database: &mut Database, users: &Users) -> Vec<Value> {
    let mut alarms = Vec::new();
    database.mark_derived("alarm", &["search_text"]);
    for row in database.rows("alarm", &ALARM) {
        let (Some(owner), Some(time)) = (users.email(&row, "user_id"), time(&row)) else {
            database.skip("alarm", "no known owner or no time");
            continue;
        };
        alarms.push(record(json!({
            "owner": owner,
            "time": time,
            "repeat_days": days(&row),
            "label": row.text("label"),
            "enabled": row.flag("enabled"),
            "snooze_minutes": row.within("snooze_minutes", 0, 60),
            "vibration": row.integer("vibration").map(|flag| flag != 0),
            "created_at": row.moment("created_at"),
        })));
    }
    alarms
}

/// Hours and minutes, without the seconds that some write behind; what is no time is for the app to refuse.
fn time(row: &Row) -> Option<String> {
    let text = row.text("time")?;
    let Ok(time) = text.parse::<Time>() else {
        return Some(text);
    };
    if time.second() != 0 {
        row.note_loss("time", "changed: its seconds are not kept");
    }
    Some(time.strftime("%H:%M").to_string())
}

/// The days that there are, as the app writes them.
fn days(row: &Row) -> Vec<String> {
    const DAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let mut days = Vec::new();
    for day in row.list("repeat_days") {
        let day = day.as_str().unwrap_or_default().to_lowercase();
        if DAYS.contains(&day.as_str()) {
            days.push(day);
        } else {
            row.note_loss("repeat_days", "not whole: no day of the week");
        }
    }
    days
}
