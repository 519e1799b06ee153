#![expect(clippy::needless_pass_by_value, reason = "`json!` is written in place")]

use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;

use super::*;

mod cases;
mod world;

const TOOLS: [&str; 10] = [
    "add_content_to_note",
    "create_note",
    "delete_note",
    "login",
    "logout",
    "search_notes",
    "show_account",
    "show_note",
    "show_profile",
    "update_note",
];

/// Ida's notes 1 to 3, Bo's note 4.
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida", "last_name": "Vale", "email": "ida@vale.test", "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": "bo@lind.test", "phone_number": "555", "password": "pb"},
        ],
        "records": {"notes": [
            {"owner": "ida@vale.test", "title": "Groceries", "content": "Milk, bread", "tags": ["home"],
             "created_at": "2026-01-01T10:00:00", "updated_at": "2026-02-01T10:00:00"},
            {"owner": "Ida@Vale.test", "title": "Moot court", "content": "Argue the second point first.",
             "tags": ["study", "court"], "created_at": "2026-01-02T10:00:00"},
            {"owner": "ida@vale.test", "title": "Passwords", "content": "None here.", "pinned": true,
             "created_at": "2026-01-03T10:00:00"},
            {"owner": "bo@lind.test", "title": "Bo's milk", "content": "Oat."},
        ]},
    })
}

fn ida() -> Session<SimpleNote> {
    let mut session = Session::open(&seed());
    session.log_in("ida@vale.test", "pw");
    session
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

#[track_caller]
fn check_search(arguments: Value, expected: &[u32]) {
    let answer = ida().ok("search_notes", arguments);
    assert_eq!(
        testkit::ids(&answer, "note_id"),
        expected.iter().copied().map(u64::from).collect::<Vec<_>>()
    );
}

#[track_caller]
fn check_seed(record: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let records =
        json!({"notes": [{"owner": "ida@vale.test", "title": "Fine", "content": ""}, record]});
    assert_eq!(
        app::add(&mut session.app, &records.to_string()).unwrap_err(),
        expected
    );
    assert_eq!(session.state(), before);
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<SimpleNote>(&TOOLS);
}

#[test]
fn a_token_is_needed_and_ends_with_the_logout() {
    let mut session = ida();
    for tool in TOOLS
        .iter()
        .filter(|tool| !["login", "show_profile"].contains(tool))
    {
        let arguments = json!({"note_id": 1, "access_token": "guess"});
        assert_eq!(session.refused(tool, arguments).status, 401, "{tool}");
        let mut stranger = Session::<SimpleNote>::open(&seed());
        assert_eq!(
            stranger.refused(tool, json!({"note_id": 1})),
            ToolError::unauthorized("The access_token is missing. Log in first.")
        );
    }
    session.ok("logout", json!({}));
    assert_eq!(
        session.refused("show_note", json!({"note_id": 1})).status,
        401
    );
}

#[test]
fn a_wrong_password_is_refused() {
    let login = json!({"username": "ida@vale.test", "password": "pb"});
    check_refused(
        "login",
        login,
        401,
        "The user name or the password is wrong.",
    );
}

#[test]
fn an_unknown_tool_is_named() {
    check_refused("share_note", json!({}), 404, "There is no tool share_note.");
}

#[test]
fn an_account_shows_its_own_data() {
    let expected = json!({
        "first_name": "Ida", "last_name": "Vale", "email": "ida@vale.test", "registered_at": "2020-01-01T00:00:00",
        "last_logged_in": "2026-03-02T09:00:00", "verified": true,
    });
    assert_eq!(ida().ok("show_account", json!({})), expected);
}

#[test]
fn a_profile_is_public() {
    let expected = json!({
        "first_name": "Bo", "last_name": "Lind", "email": "bo@lind.test", "registered_at": "2020-01-01T00:00:00",
    });
    let mut stranger = Session::<SimpleNote>::open(&seed());
    assert_eq!(
        stranger.ok("show_profile", json!({"email": "Bo@lind.test"})),
        expected
    );
    check_refused(
        "show_profile",
        json!({}),
        422,
        "Whose profile? Give the email address.",
    );
    check_refused(
        "show_profile",
        json!({"email": "x@y.test"}),
        409,
        "There is no account x@y.test.",
    );
    check_refused(
        "show_profile",
        json!({"email": "Bo"}),
        422,
        "\"Bo\" is no email address.",
    );
}

#[test]
fn a_note_is_created_as_told() {
    let mut session = ida();
    let answer = session.ok(
        "create_note",
        json!({"title": "T", "content": "C", "tags": [" a ", "b", "a"]}),
    );
    assert_eq!(
        answer,
        json!({"message": "Note 5 is created.", "note_id": 5})
    );
    let expected = json!({
        "note_id": 5, "title": "T", "content": "C", "tags": ["a", "b"],
        "created_at": "2026-03-02T09:00:00", "updated_at": "2026-03-02T09:00:00", "pinned": false,
    });
    assert_eq!(session.ok("show_note", json!({"note_id": 5})), expected);
}

#[test]
fn a_note_that_breaks_a_rule_is_not_created() {
    check_refused(
        "create_note",
        json!({"title": " ", "content": ""}),
        422,
        "The title must not be empty.",
    );
    let tags = json!({"title": "T", "content": "", "tags": [""]});
    check_refused("create_note", tags, 422, "The tag must not be empty.");
    let long = json!({"title": "T", "content": "x".repeat(32_769)});
    check_refused(
        "create_note",
        long,
        422,
        "The content has 32769 bytes; at most 32768 fit.",
    );
    let many: Vec<String> = (0..51).map(|tag| tag.to_string()).collect();
    check_refused(
        "create_note",
        json!({"title": "T", "content": "", "tags": many}),
        422,
        "A note has at most 50 tags.",
    );
    check_refused(
        "create_note",
        json!({"title": "T"}),
        422,
        "Wrong arguments: missing field `content`.",
    );
}

#[test]
fn a_note_is_updated_where_told() {
    let mut session = ida();
    let answer = session.ok(
        "update_note",
        json!({"note_id": 1, "content": "Tea", "pinned": true}),
    );
    assert_eq!(answer, json!({"message": "Note 1 is updated."}));
    let expected = json!({
        "note_id": 1, "title": "Groceries", "content": "Tea", "tags": ["home"],
        "created_at": "2026-01-01T10:00:00", "updated_at": "2026-03-02T09:00:00", "pinned": true,
    });
    assert_eq!(session.ok("show_note", json!({"note_id": 1})), expected);
}

#[test]
fn no_two_notes_of_an_owner_get_one_title() {
    let taken = "Note 2 has the title \"Moot court\" already.";
    check_refused(
        "create_note",
        json!({"title": "Moot court", "content": ""}),
        409,
        taken,
    );
    check_refused(
        "update_note",
        json!({"note_id": 1, "title": "Moot court"}),
        409,
        taken,
    );
    let mut session = ida();
    session.ok("create_note", json!({"title": "Bo's milk", "content": ""}));
    session.ok(
        "update_note",
        json!({"note_id": 2, "title": "Moot court", "pinned": true}),
    );
}

#[test]
fn an_update_without_a_change_changes_nothing_and_one_against_a_rule_is_refused() {
    let mut session = ida();
    let before = session.state();
    session.ok(
        "update_note",
        json!({"note_id": 1, "title": before["notes"][0]["title"]}),
    );
    session.ok("update_note", json!({"note_id": 1}));
    let half = json!({"note_id": 1, "content": "new", "title": ""});
    check_refused("update_note", half, 422, "The title must not be empty.");
}

#[test]
fn content_is_added_on_either_side() {
    let mut session = ida();
    let add = |place: &str, text: &str| json!({"note_id": 1, "append_or_prepend": place, "added_content": text});
    session.ok("add_content_to_note", add("append", "Tea"));
    session.ok("add_content_to_note", add("prepend", "Buy\n"));
    assert_eq!(
        session.ok("show_note", json!({"note_id": 1}))["content"],
        "Buy\nMilk, bread\nTea"
    );
    assert_eq!(
        session
            .refused("add_content_to_note", add("between", ""))
            .status,
        422
    );
    assert_eq!(
        session
            .refused("add_content_to_note", add("append", &"x".repeat(32_768)))
            .status,
        422
    );
}

#[test]
fn a_deleted_note_is_gone_and_its_id_is_not_given_again() {
    let mut session = ida();
    let last = session.ok("create_note", json!({"title": "T", "content": ""}))["note_id"].clone();
    session.ok("delete_note", json!({"note_id": last}));
    assert_eq!(
        session
            .refused("show_note", json!({"note_id": last}))
            .status,
        409
    );
    assert_eq!(
        session.ok("create_note", json!({"title": "T", "content": ""}))["note_id"],
        6
    );
}

#[test]
fn a_note_must_exist_and_be_ones_own() {
    for (tool, rest) in [
        ("show_note", json!({})),
        ("delete_note", json!({})),
        ("update_note", json!({"pinned": true})),
        (
            "add_content_to_note",
            json!({"append_or_prepend": "append", "added_content": "x"}),
        ),
    ] {
        let with_id = |id: u32| {
            let mut arguments = rest.clone();
            arguments["note_id"] = json!(id);
            arguments
        };
        check_refused(tool, with_id(99), 409, "There is no note 99.");
        check_refused(tool, with_id(4), 422, "Note 4 belongs to another account.");
    }
}

#[test]
fn a_search_without_query_lists_the_latest_change_first_and_pinned_notes_before_all() {
    check_search(json!({}), &[3, 1, 2]);
    check_search(json!({"dont_reorder_pinned": true}), &[1, 3, 2]);
    check_search(json!({"page_index": 1, "page_limit": 2}), &[2]);
    check_search(
        json!({"sort_by": "+created_at", "dont_reorder_pinned": true}),
        &[1, 2, 3],
    );
}

#[test]
fn a_search_filters_by_words_tags_and_pins() {
    check_search(json!({"query": "arguing courts"}), &[2]);
    check_search(json!({"query": "milk"}), &[1]);
    check_search(json!({"tags": ["Study", "court"]}), &[2]);
    check_search(json!({"tags": ["study", "home"]}), &[1, 2]);
    check_search(json!({"tags": []}), &[3, 1, 2]);
    check_search(json!({"tags": ["zoo"]}), &[]);
    check_search(json!({"pinned": false}), &[1, 2]);
}

#[test]
fn a_note_is_found_by_what_it_says_after_every_change() {
    let mut session = ida();
    let check = |session: &mut Session<SimpleNote>, query: &str, expected: &[u64]| {
        let found = session.ok("search_notes", json!({"query": query}));
        let rows = found.as_array().unwrap().iter();
        let ids: Vec<u64> = rows.map(|note| note["note_id"].as_u64().unwrap()).collect();
        assert_eq!(ids, expected, "{query}");
    };
    check(&mut session, "milk", &[1]);
    check(&mut session, "ＭＩＬＫ", &[1]);
    check(&mut session, "tiger", &[]);
    session.ok(
        "update_note",
        json!({"note_id": 1, "title": "Tigers", "content": "None.", "tags": ["zoo"]}),
    );
    check(&mut session, "milk", &[]);
    check(&mut session, "tiger", &[1]);
    check(&mut session, "zoo", &[1]);
    session.ok(
        "add_content_to_note",
        json!({"note_id": 2, "append_or_prepend": "append", "added_content": " Tiger."}),
    );
    session.ok("update_note", json!({"note_id": 1, "title": "Lions"}));
    check(&mut session, "tiger", &[2]);
    session.ok("delete_note", json!({"note_id": 2}));
    check(&mut session, "tiger", &[]);
    let record = json!({"notes": [{"owner": "ida@vale.test", "title": "A tiger", "content": ""}]});
    app::add(&mut session.app, &record.to_string()).unwrap();
    let found = session.ok("search_notes", json!({"query": "tiger"}));
    assert_eq!(found[0]["title"], "A tiger");
}

#[test]
fn a_search_that_cannot_be_is_refused() {
    let fields = "sort_by must be + or - and one of created_at, updated_at, not \"+size\".";
    check_refused("search_notes", json!({"sort_by": "+size"}), 422, fields);
    assert_eq!(
        ida()
            .refused("search_notes", json!({"page_limit": 21}))
            .status,
        422
    );
    assert_eq!(
        ida()
            .refused("search_notes", json!({"page_index": -1}))
            .status,
        422
    );
}

#[test]
fn a_wrong_record_is_named_and_nothing_is_added() {
    let note = |key: &str, value: Value| {
        let mut note = json!({"owner": "ida@vale.test", "title": "T", "content": "C"});
        note[key] = value;
        note
    };
    check_seed(
        note("owner", json!("x@y.test")),
        "notes[1]: owner: x@y.test has no account",
    );
    check_seed(
        note("title", json!("")),
        "notes[1]: The title must not be empty.",
    );
    let early = json!({"owner": "ida@vale.test", "title": "T", "content": "C",
        "created_at": "2026-01-02", "updated_at": "2026-01-01"});
    check_seed(
        early,
        "notes[1]: updated_at 2026-01-01T00:00:00 is before created_at 2026-01-02T00:00:00",
    );
    let unknown = "notes[1]: unknown field `colour`, expected one of `owner`, `title`, `content`, `tags`, `pinned`, \
                   `created_at`, `updated_at`";
    check_seed(note("colour", json!("red")), unknown);
}

#[test]
fn a_list_that_is_unknown_is_named() {
    let error = app::open::<SimpleNote>(r#"{"records": {"note": []}}"#).unwrap_err();
    let expected = "unknown key \"note\", expected one of `notes`; did you mean `notes`?";
    assert_eq!(error, expected);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<SimpleNote>(&[("notes", "created_at"), ("notes", "updated_at")]);
}

#[test]
fn the_state_holds_every_note_and_no_secret() {
    let state = ida().state();
    assert_eq!(state["notes"].as_array().unwrap().len(), 4);
    let expected = json!({
        "id": 4, "owner": "bo@lind.test", "title": "Bo's milk", "content": "Oat.", "tags": [], "pinned": false,
        "created_at": "2026-03-02T09:00:00", "updated_at": "2026-03-02T09:00:00",
    });
    assert_eq!(state["notes"][3], expected);
    assert_eq!(state.as_object().unwrap().len(), 1);
}

/// What random calls take for texts.
const TEXTS: [&str; 8] = [
    "ida@vale.test",
    "pw",
    "bo@lind.test",
    "pb",
    "milk",
    "study",
    "+title",
    "-updated_at",
];

proptest! {
    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..40),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
        let mut session = ida();
        let step = |session: &mut Session<SimpleNote>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let _ = step(&mut session, number);
        }
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
