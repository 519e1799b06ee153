//! Writes the world's mail as constant tables (`src/world.rs`).
//!
//! Every email is one message with a copy in the mailbox of each person of the world who sent or received it, in the
//! thread in which that person sees the conversation; the sender's copy comes first.

use std::collections::BTreeMap;
use std::io;

use pibench_world::rust::{email, list, moment, option, table, text};
use pibench_world::{Conversation, Email, Flags, SEED, World, rust};

#[derive(Default)]
struct Tables<'a> {
    messages: Vec<String>,
    copies: Vec<String>,
    threads: Vec<Thread<'a>>,
    attachments: u32,
}

struct Thread<'a> {
    owner: &'a str,
    conversation: usize,
    emails: Vec<usize>,
    flags: Flags,
}

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let mail = world.mail();
    let mut tables = Tables::default();
    for conversation in &mail {
        tables.add(&world, conversation);
    }
    let threads = tables.threads.iter().zip(1..);
    let threads = threads.map(|(thread, id)| source(thread, id)).collect();
    let source = [
        rows("MESSAGES", "Message", tables.messages),
        rows("COPIES", "Copy", tables.copies),
        rows("THREADS", "Thread", threads),
        format!(
            "pub(crate) const ATTACHMENTS: u32 = {};\n",
            tables.attachments
        ),
    ];
    rust::write(&source.concat())
}

fn rows(name: &str, row: &str, rows: Vec<String>) -> String {
    table(
        name,
        "u32",
        row,
        (1..).zip(rows).map(|(id, row): (u32, _)| (id, row)),
    )
}

impl<'a> Tables<'a> {
    fn add(&mut self, world: &'a World, conversation: &'a Conversation) {
        let first = self.messages.len() + 1;
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, sent) in conversation.emails.iter().enumerate() {
            let id = first + place;
            // Each one answers the one before it.
            let answered = (place > 0).then(|| (id - 1).to_string());
            let message = self.message(first, answered, sent);
            self.messages.push(message);
            let people = std::iter::once(&sent.from).chain(&sent.to);
            for owner in people.filter_map(|address| {
                let person = world.people.iter().find(|person| person.email == *address);
                person.map(|person| person.email.as_str())
            }) {
                let thread = *own.entry(owner).or_insert_with(|| {
                    self.threads.push(Thread {
                        owner,
                        conversation: first,
                        emails: Vec::new(),
                        flags: flags(world, conversation, owner),
                    });
                    self.threads.len()
                });
                self.copies
                    .push(format!("Copy {{ thread: {thread}, message: {id} }}"));
                self.threads[thread - 1].emails.push(self.copies.len());
            }
        }
    }

    fn message(&mut self, conversation: usize, answered: Option<String>, sent: &Email) -> String {
        let attachments: Vec<String> = sent
            .attachments
            .iter()
            .map(|name| {
                self.attachments += 1;
                let id = self.attachments;
                format!(
                    "Attachment {{ id: {id}, file_name: {}, text: None }}",
                    text(name)
                )
            })
            .collect();
        format!(
            "Message {{ conversation: {conversation}, response_to: {}, from: {}, to: {}, subject: {}, body: {}, \
             attachments: {}, sent_at: {} }}",
            option(answered),
            email(&sent.from),
            list(sent.to.iter().map(|address| email(address))),
            text(&sent.subject),
            text(&sent.body),
            list(attachments),
            moment(sent.sent_at),
        )
    }
}

fn flags(world: &World, conversation: &Conversation, owner: &str) -> Flags {
    let mut all = conversation.flags.iter();
    let found = all.find(|(person, _)| world.people[*person].email == owner);
    found.map(|(_, flags)| *flags).unwrap_or_default()
}

fn source(thread: &Thread, id: usize) -> String {
    let Thread {
        owner,
        conversation,
        emails,
        flags:
            Flags {
                read,
                starred,
                archived,
                label,
            },
    } = thread;
    format!(
        "Thread {{ id: {id}, owner: {}, conversation: {conversation}, emails: {}, read: {read}, label: {}, \
         snoozed_until: None, starred: {starred}, archived: {archived}, spam: false }}",
        email(owner),
        list(emails),
        option(label.map(text)),
    )
}
