//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

use crate::world::{CONTACTS, MESSAGES, NUMBERS};

#[test]
fn a_contact_of_the_world_has_an_account_with_the_number_and_texts_reach_it() {
    assert!(CONTACTS.len() > 500 && MESSAGES.len() > 1000);
    assert!(NUMBERS.is_sorted_by(|a, b| a.0 < b.0));
    let mut session = Session::<Phone>::in_the_world(0, true);
    let contacts = session.ok("search_contacts", json!({}));
    let number = contacts[0]["phone_number"].clone();
    let sent = session.ok(
        "send_text_message",
        json!({"phone_number": number, "message": "Hi"}),
    );
    assert_eq!(sent["text_message_id"], MESSAGES.len() + 1);
    let shown = session.ok(
        "show_text_message",
        json!({"text_message_id": sent["text_message_id"]}),
    );
    assert_eq!(shown["receiver"]["contact_id"], contacts[0]["contact_id"]);
    let state = session.state();
    assert_eq!(state["text_messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(state["contacts"], json!([]));
}

#[test]
fn the_holder_of_every_number_has_it_in_the_account() {
    let phone = Session::<Phone>::in_the_world(0, true).app;
    for (number, holder) in NUMBERS {
        assert_eq!(phone.number_of(holder).as_ref(), Some(number));
    }
}

#[test]
fn the_worlds_contacts_and_alarms_keep_the_rules() {
    for (_, contact) in CONTACTS {
        let alike = |other: &&(u32, Contact)| {
            other.1.owner == contact.owner && other.1.phone_number == contact.phone_number
        };
        assert_eq!(CONTACTS.iter().filter(alike).count(), 1);
    }
    for (_, alarm) in crate::world::ALARMS {
        assert!(alarm.repeat_days.is_sorted() && alarm.snooze_minutes <= 60);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["5552123456", "family", "07:30", "monday", "2026-03-01", "-sent_at", "", "key"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<Phone>::in_the_world(person, true);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        prop_assert!(session.state().is_object());
    }
}
