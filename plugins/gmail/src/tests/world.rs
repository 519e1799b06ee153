//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::*;

use crate::threads::Opened;
use crate::world::{COPIES, MESSAGES, THREADS};

#[test]
fn every_copy_lies_in_the_thread_of_its_owner_and_conversation() {
    let mail = Mail::new(true, crate::world::ATTACHMENTS);
    let mut copies = 0;
    for (id, thread) in THREADS {
        assert_eq!(thread.id, *id);
        let opened = Opened::new(&mail, thread).unwrap();
        assert!(opened.incoming || opened.outgoing);
        for email in &opened.emails {
            assert_eq!(email.thread.id, *id);
            assert_eq!(email.message.conversation, thread.conversation);
            let people = [&email.message.from].into_iter().chain(&email.message.to);
            assert!(people.into_iter().any(|person| *person == thread.owner));
            copies += 1;
        }
    }
    assert_eq!(copies, COPIES.len());
    assert!(MESSAGES.len() > 800 && THREADS.len() > 1000);
}

#[test]
fn mail_reaches_the_worlds_people_and_nobody_else() {
    let mut session = Session::<Gmail>::in_the_world(0, false);
    let users = session.ok("search_users", json!({"query": "larkmail"}));
    let me = session.app.accounts.named().next().unwrap().email.clone();
    let mut others = users.as_array().unwrap().iter().map(|user| &user["email"]);
    let somebody = others.find(|email| **email != json!(me)).unwrap().clone();
    let hello = |to: Value| json!({"email_addresses": to, "subject": "Hello", "body": "..."});
    let error = session.refused("send_email", hello(json!(["nobody@nowhere.example"])));
    assert_eq!(error.message, "There is no user nobody@nowhere.example.");
    session.ok("send_email", hello(json!([somebody])));
    let state = session.state();
    let owners: Vec<&Value> = state["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["owner"])
        .collect();
    assert_eq!(owners.len(), 2, "{state}");
    assert_eq!(owners[1], &somebody);
    assert_eq!(state["emails"][0]["id"], COPIES.len() + 1);
}

#[test]
fn a_thread_of_the_world_that_is_answered_is_told_with_what_it_was() {
    let mut session = Session::<Gmail>::in_the_world(0, false);
    let threads = session.ok("show_inbox_threads", json!({"page_limit": 1}));
    let id = threads[0]["email_thread_id"].clone();
    let before = threads[0]["email_ids"].clone();
    session.ok("mark_thread_starred", json!({"email_thread_id": id}));
    session.ok(
        "reply_to_email",
        json!({"email_thread_id": id, "email_id": before[0], "body": "Yes."}),
    );
    let state = session.state();
    let threads = state["threads"].as_array().unwrap();
    let own = threads.iter().find(|it| it["id"] == id).unwrap();
    assert_eq!(own["world"]["email_ids"], before);
    assert_eq!(own["world"]["starred"], false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["nobody@nowhere.example", "fenwood", "Home", "Re: hello", "-updated_at", "2026-04-01T10:00:00", "", "invoice"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<Gmail>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        // One of the calls may have been a logout.
        prop_assume!(session.call("show_category_sizes", json!({})).is_ok());
        // What is not read is counted as unread, and nowhere else.
        let count = |session: &mut Session<Gmail>, read| session.ok("show_category_sizes", json!({"read": read}));
        let sizes = [true, false].map(|read| count(&mut session, read));
        let all = session.ok("show_category_sizes", json!({}));
        for box_name in ["inbox", "outbox", "archived", "starred"] {
            let sum: u64 = sizes.iter().filter_map(|it| it[box_name].as_u64()).sum();
            prop_assert_eq!(Some(sum), all[box_name].as_u64(), "{}", box_name);
        }
    }
}
