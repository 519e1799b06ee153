//! Mail. An email is one record here and has a copy in each mailbox; the flags of a mailbox's thread go with its owner.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Database, Records, Users, key, put, record};

const EMAIL: [&str; 7] = [
    "id",
    "sender_id",
    "recipient_ids",
    "subject",
    "body",
    "response_to_email_id",
    "created_at",
];
const THREAD: [&str; 9] = [
    "id",
    "user_id",
    "email_ids",
    "read",
    "label",
    "starred",
    "archived",
    "spam",
    "snoozed_until",
];
const DRAFT: [&str; 10] = [
    "id",
    "user_id",
    "recipient_ids",
    "subject",
    "body",
    "belongs_to_email_thread_id",
    "response_to_email_id",
    "scheduled_send_at",
    "created_at",
    "updated_at",
];

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let (emails, known) = emails(database, users);
    let (threads, of_thread) = threads(database, users, &known);
    let drafts = drafts(database, users, &of_thread, &known);
    let mut records = Records::new();
    put(&mut records, "emails", emails);
    put(&mut records, "threads", threads);
    put(&mut records, "drafts", drafts);
    records
}

/// The emails, and which conversation and people each id has.
fn emails(database: &mut Database, users: &Users) -> (Vec<Value>, Known) {
    let conversations = conversations(database);
    let names = attachments(database);
    let mut emails = Vec::new();
    let mut known = Known::new();
    database.mark_derived("email", &["search_text"]);
    for row in database.rows("email", &EMAIL) {
        let to = users.emails(&row, "recipient_ids");
        let (Some(id), Some(from), false) =
            (row.id(), users.email(&row, "sender_id"), to.is_empty())
        else {
            database.skip("email", "no known sender or recipients");
            continue;
        };
        let thread = conversations.get(&id).map(|thread| key("thread", *thread));
        let answered = row.integer("response_to_email_id");
        // Only what stands before it can be answered, in its own conversation.
        let answered =
            answered.filter(|id| known.get(id).is_some_and(|(other, _)| *other == thread));
        let reason = "no email before it in its conversation";
        let answered = row.or_lost(answered, "response_to_email_id", reason);
        let people = to.iter().chain([&from]).cloned().collect();
        known.insert(id, (thread.clone(), people));
        emails.push(record(json!({
            "id": key("email", id),
            "from": from,
            "to": to,
            "subject": row.text("subject").unwrap_or_default(),
            "body": row.text("body").unwrap_or_default(),
            "sent_at": row.moment("created_at"),
            "thread": thread,
            "reply_to": answered.map(|id| key("email", id)),
            "attachments": names.get(&id),
        })));
    }
    for (_, names) in names.into_iter().filter(|(id, _)| !known.contains_key(id)) {
        for _ in names {
            database.skip("attachment", "of an email that is not there");
        }
    }
    (emails, known)
}

/// What people made of their threads, and the email of its owner that each thread's id stands for.
fn threads(
    database: &mut Database,
    users: &Users,
    known: &Known,
) -> (Vec<Value>, BTreeMap<i64, i64>) {
    let mut threads = Vec::new();
    let mut of_thread = BTreeMap::new();
    database.mark_derived("user_email_thread", &OF_ITS_EMAILS);
    for row in database.rows("user_email_thread", &THREAD) {
        let owner = users.email(&row, "user_id");
        let ids = row.integers("email_ids");
        let own = |id: &&i64| {
            let people = known.get(*id).map(|(_, people)| people);
            people.is_some_and(|people| people.iter().any(|one| Some(one) == owner.as_ref()))
        };
        let Some(first) = ids.iter().find(own).copied() else {
            database.skip("user_email_thread", "no email of its owner");
            continue;
        };
        if let Some(id) = row.id() {
            of_thread.insert(id, first);
        }
        let conversation = |id: &i64| known.get(id).map(|(conversation, _)| conversation);
        let inside = |id: &i64| {
            *id == first
                || (conversation(id).is_some_and(Option::is_some)
                    && conversation(id) == conversation(&first))
        };
        if !ids.iter().all(inside) {
            row.note_loss(
                "email_ids",
                "not whole: emails of another conversation, or not there",
            );
        }
        threads.push(record(json!({
            "owner": owner,
            "thread": key("email", first),
            "read": row.flag("read"),
            "starred": row.flag("starred"),
            "archived": row.flag("archived"),
            "spam": row.flag("spam"),
            "label": row.text("label"),
            "snoozed_until": row.moment("snoozed_until"),
        })));
    }
    (threads, of_thread)
}

/// The conversation of each email that was taken, and who takes part.
type Known = BTreeMap<i64, (Option<String>, Vec<Value>)>;

/// What a thread says of its emails, and can be seen in them.
const OF_ITS_EMAILS: [&str; 11] = [
    "global_email_thread_id",
    "incoming",
    "outgoing",
    "sender_email_addresses",
    "sender_names",
    "recipient_email_addresses",
    "recipient_names",
    "created_at",
    "updated_at",
    "has_attachments",
    "search_text",
];

/// The conversation of each email.
fn conversations(database: &mut Database) -> BTreeMap<i64, i64> {
    database.mark_derived("global_email_thread", &["created_at", "updated_at"]);
    let mut found = BTreeMap::new();
    for row in database.rows("global_email_thread", &["id", "email_ids"]) {
        for email in row.integers("email_ids") {
            found.extend(row.id().map(|thread| (email, thread)));
        }
    }
    found
}

/// Attachments have a name only.
fn attachments(database: &mut Database) -> BTreeMap<i64, Vec<Value>> {
    let mut names: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    database.mark_derived("attachment", &["id", "created_at", "download_count"]);
    for row in database.rows("attachment", &["id", "email_id", "file_name"]) {
        match (row.integer("email_id"), row.text("file_name")) {
            (Some(email), Some(name)) => names.entry(email).or_default().push(json!(name)),
            _ => database.skip("attachment", "of a draft: drafts have none here"),
        }
    }
    names
}

fn drafts(
    database: &mut Database,
    users: &Users,
    of_thread: &BTreeMap<i64, i64>,
    known: &Known,
) -> Vec<Value> {
    let mut drafts = Vec::new();
    database.mark_derived(
        "draft",
        &[
            "recipient_email_addresses",
            "recipient_names",
            "search_text",
        ],
    );
    for row in database.rows("draft", &DRAFT) {
        let Some(owner) = users.email(&row, "user_id") else {
            database.skip("draft", "no known owner");
            continue;
        };
        let to = users.emails(&row, "recipient_ids");
        let thread = row
            .integer("belongs_to_email_thread_id")
            .and_then(|thread| of_thread.get(&thread));
        let thread = row.or_lost(thread, "belongs_to_email_thread_id", "no known thread");
        let conversation = |email: &i64| known.get(email).map(|(conversation, _)| conversation);
        let answered = row.integer("response_to_email_id");
        let answered = answered.filter(|email| {
            thread.is_some_and(|first| {
                first == email
                    || (conversation(email).is_some_and(Option::is_some)
                        && conversation(email) == conversation(first))
            })
        });
        let reason = "no email of the draft's conversation";
        let answered = row.or_lost(answered, "response_to_email_id", reason);
        let sent = row.moment("scheduled_send_at").filter(|_| !to.is_empty());
        let sent = row.or_lost(sent, "scheduled_send_at", "nobody to send it to");
        drafts.push(record(json!({
            "owner": owner,
            "to": to,
            "subject": row.text("subject").unwrap_or_default(),
            "body": row.text("body").unwrap_or_default(),
            "thread": thread.map(|email| key("email", *email)),
            "reply_to": answered.map(|email| key("email", email)),
            "scheduled_send_at": sent,
            "created_at": row.moment("created_at"),
            "updated_at": row.moment("updated_at"),
        })));
    }
    drafts
}
