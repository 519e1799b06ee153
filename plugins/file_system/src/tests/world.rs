//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

use crate::path::Path;
use crate::world::{ENTRIES, ROOTS};

#[test]
fn everybody_of_the_world_has_a_tree_and_every_entry_stands_in_one() {
    let tree = Tree::new(true);
    let places = tree.walk();
    assert_eq!(places.len(), ENTRIES.len());
    let app = Session::<FileSystem>::in_the_world(0, false).app;
    for (owner, _) in ROOTS {
        let home = Path::home(app.accounts.get(owner).unwrap());
        assert!(tree.find(owner, &home).is_some(), "{owner}");
    }
}

#[test]
fn what_is_written_into_a_home_of_the_world_is_all_that_the_state_tells() {
    let mut session = Session::<FileSystem>::in_the_world(0, false);
    assert_eq!(session.state(), json!({"directories": [], "files": []}));
    session.ok(
        "create_file",
        json!({"file_path": "~/new.txt", "content": "text"}),
    );
    let state = session.state();
    assert_eq!(state["files"][0]["path"], "~/new.txt");
    assert_eq!(state["directories"][0]["path"], "~");
    assert_eq!(state["directories"][0]["world"], json!({}));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["~/ideas.txt", "~/Documents", "/home", "~/Documents/new", "~/copy", "text", "~/Work", "/"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<FileSystem>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        prop_assert!(session.state().is_object());
        let tree = &session.app.tree;
        // Walked from the roots, everything is met once: the tree has no circle and nothing is lost.
        let walked = tree.walk().len();
        prop_assert_eq!(walked, tree.count());
    }
}
