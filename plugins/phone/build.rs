//! Writes the world's address books, text messages and alarms as constant tables (`src/world.rs`).

use std::io;

use pibench_world::rust::{day, email, list, moment, option, table, text};
use pibench_world::{Alarm, Contact, Person, SEED, TextMessage, World, rust};

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let contacts = world.contacts();
    let messages = world.text_messages();
    let alarms = world.alarms();
    let mut numbers: Vec<&Person> = world.people.iter().collect();
    numbers.sort_by(|a, b| a.phone_number.cmp(&b.phone_number));
    let holder = |person: &&Person| (number(person), email(&person.email));
    let source = [
        table(
            "NUMBERS",
            "PhoneNumber",
            "Email",
            numbers.iter().map(holder),
        ),
        rows(
            "CONTACTS",
            "Contact",
            contacts.iter().map(|it| contact(&world, it)),
        ),
        rows(
            "MESSAGES",
            "TextMessage",
            messages.iter().map(|it| message(&world, it)),
        ),
        rows("ALARMS", "Alarm", alarms.iter().map(|it| alarm(&world, it))),
    ];
    rust::write(&source.concat())
}

fn rows(name: &str, row: &str, rows: impl Iterator<Item = String>) -> String {
    table(
        name,
        "u32",
        row,
        (1..).zip(rows).map(|(id, row): (u32, _)| (id, row)),
    )
}

fn number(person: &Person) -> String {
    format!("PhoneNumber::constant({:?})", person.phone_number)
}

fn contact(world: &World, contact: &Contact) -> String {
    let person = &world.people[contact.person];
    format!(
        "Contact {{ owner: {}, first_name: {}, last_name: {}, phone_number: Some({}), email: Some({}), \
         relationships: {}, birthday: {}, home_address: {}, work_address: {}, created_at: {} }}",
        email(&world.people[contact.owner].email),
        text(&person.first_name),
        text(&person.last_name),
        number(person),
        email(&person.email),
        list(contact.relationships.iter().map(|name| text(name))),
        option(contact.birthday.map(day)),
        option(contact.home_address.as_deref().map(text)),
        option(contact.work_address.as_deref().map(text)),
        moment(contact.created_at),
    )
}

fn message(world: &World, message: &TextMessage) -> String {
    format!(
        "TextMessage {{ sender: {}, receiver: {}, message: {}, sent_at: {} }}",
        number(&world.people[message.from]),
        number(&world.people[message.to]),
        text(&message.message),
        moment(message.sent_at),
    )
}

fn alarm(world: &World, alarm: &Alarm) -> String {
    let days = alarm.repeat_days.iter();
    format!(
        "Alarm {{ owner: {}, time: AlarmTime::constant({}, {}), repeat_days: {}, label: {}, enabled: {}, \
         snooze_minutes: {}, vibration: {}, created_at: {} }}",
        email(&world.people[alarm.owner].email),
        alarm.hour,
        alarm.minute,
        list(days.map(|day| format!("Weekday::{}", WEEKDAYS[*day]))),
        text(alarm.label),
        alarm.enabled,
        alarm.snooze_minutes,
        alarm.vibration,
        moment(alarm.created_at),
    )
}
