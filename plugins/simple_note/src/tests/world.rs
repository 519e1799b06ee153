//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

#[test]
fn the_worlds_notes_are_there_and_none_of_them_is_in_the_state() {
    let mut session = Session::<SimpleNote>::in_the_world(0, false);
    assert_eq!(session.state(), json!({"notes": []}));
    let found = session.ok("search_notes", json!({"page_limit": 20}));
    let id = found[0]["note_id"].clone();
    let title = session.ok("show_note", json!({"note_id": id}))["title"].clone();
    session.ok("update_note", json!({"note_id": id, "title": "Mine"}));
    let state = session.state();
    assert_eq!(state["notes"][0]["title"], "Mine");
    assert_eq!(state["notes"][0]["world"]["title"], title);
    session.ok("delete_note", json!({"note_id": id}));
    assert_eq!(
        session.state(),
        json!({"notes": [{"id": id, "world": "removed"}]})
    );
    let new = session.ok("create_note", json!({"title": "New", "content": ""}));
    let last = crate::world::NOTES.last().unwrap().0;
    assert_eq!(new["note_id"], last + 1);
}

#[test]
fn the_worlds_notes_keep_the_rules() {
    for (id, note) in crate::world::NOTES {
        assert_eq!(note.id, *id);
        assert!(checked_title(note.title.to_string()).is_ok());
        let tags = note.tags.iter().map(Text::to_string).collect();
        assert_eq!(checked_tags(tags).unwrap(), note.tags);
        assert!(note.created_at <= note.updated_at);
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
        const TEXTS: [&str; 8] = ["home", "work", "Shopping", "append", "+title", "-updated_at", "", "list"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<SimpleNote>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        prop_assert!(session.state().is_object());
    }
}
