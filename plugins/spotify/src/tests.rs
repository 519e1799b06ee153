use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session, ids};
use pibench_sdk::tool::ToolError;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod browse;
mod cases;
mod library;
mod playback;
mod playlists;
mod queue;
mod records;
mod reviews;
mod world;

/// The list of the design.
const TOOLS: [&str; 37] = [
    "add_album_to_library",
    "add_song_to_library",
    "add_song_to_playlist",
    "add_to_queue",
    "create_playlist",
    "follow_artist",
    "like_album",
    "like_playlist",
    "like_song",
    "login",
    "logout",
    "play_music",
    "previous_song",
    "remove_downloaded_song",
    "remove_song_from_playlist",
    "remove_song_from_queue",
    "review_song",
    "search_albums",
    "search_artists",
    "search_playlists",
    "search_songs",
    "search_users",
    "show_album",
    "show_album_library",
    "show_artist",
    "show_artist_following",
    "show_current_song",
    "show_genres",
    "show_liked_songs",
    "show_playlist",
    "show_playlist_library",
    "show_song",
    "show_song_library",
    "show_song_queue",
    "show_song_review",
    "show_song_reviews",
    "update_song_review",
];

/// Those that need no account.
const PUBLIC: [&str; 13] = [
    "login",
    "search_albums",
    "search_artists",
    "search_playlists",
    "search_songs",
    "search_users",
    "show_album",
    "show_artist",
    "show_genres",
    "show_playlist",
    "show_song",
    "show_song_review",
    "show_song_reviews",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";
const CY: &str = "cy@moor.test";

/// Artists 1 Marrow Lane and 2 Ines Okar; albums 1 (songs 1 to 3), 2 (song 4) and 3, which has none; song 5 stands
/// alone. Ida's playlists 1 (public) and 2, Bo's 3 (public) and 4. Bo's review 1 and Cy's 2 of song 1. Bo's queue rests
/// at its second of four songs.
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida", "last_name": "Vale", "email": IDA, "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": BO, "password": "pb"},
            {"first_name": "Cy", "last_name": "Moor", "email": CY},
        ],
        "records": {
            "artists": [
                {"id": "marrow", "name": "Marrow Lane", "genre": "Folk", "followers": 1200,
                 "created_at": "2019-04-01"},
                {"id": "ines", "name": "Ines Okar", "genre": "jazz", "followers": 50, "created_at": "2018-01-01"},
            ],
            "albums": [
                {"id": "harbour", "title": "Harbour Lights", "artists": ["marrow"], "genre": "folk",
                 "release_date": "2021-05-14", "likes": 300, "rating": 4.2, "review_count": 18},
                {"id": "night", "title": "Night Desk", "artists": ["ines"], "genre": "jazz",
                 "release_date": "2023-09-01", "likes": 20},
                {"id": "blank", "title": "Blank Tape", "artists": ["ines", "marrow"], "genre": "noise",
                 "release_date": "2025-01-01"},
            ],
            "songs": [
                {"id": "ferry", "title": "First Ferry", "album": "harbour", "duration": 214, "plays": 1000,
                 "likes": 70},
                {"id": "salt", "title": "Salt on Glass", "album": "harbour", "duration": 180, "plays": 400},
                {"id": "lamp", "title": "Lamplighter", "album": "harbour", "duration": 200,
                 "artists": ["marrow", "ines"], "genre": "ballad", "release_date": "2021-03-01", "plays": 30},
                {"id": "desk", "title": "Night Desk", "album": "night", "duration": 300, "likes": 9},
                {"id": "thread", "title": "Loose Thread", "artists": ["ines"], "genre": "pop",
                 "release_date": "2024-01-05", "duration": 100},
            ],
            "playlists": [
                {"id": "morning", "owner": IDA, "title": "Slow morning", "songs": ["ferry", "desk"], "public": true,
                 "created_at": "2026-01-10T08:00:00", "likes": 12, "rating": 4.0, "review_count": 3},
                {"owner": IDA, "title": "Desk work", "songs": ["salt"], "created_at": "2026-02-10T08:00:00"},
                {"id": "walks", "owner": BO, "title": "Morning walks", "songs": ["thread", "ferry"], "public": true,
                 "created_at": "2026-01-20T08:00:00"},
                {"id": "secret", "owner": BO, "title": "Secret", "songs": ["lamp"],
                 "created_at": "2026-01-21T08:00:00"},
            ],
            "reviews": [
                {"song": "ferry", "user": BO, "rating": 5, "title": "Salt air", "text": "Smells of the sea.",
                 "created_at": "2026-01-12T20:00:00"},
                {"song": "ferry", "user": CY, "rating": 2, "created_at": "2026-01-11T20:00:00"},
            ],
            "library": [
                {"owner": IDA, "songs": ["ferry"], "albums": ["harbour"], "added_at": "2026-01-10T08:00:00"},
                {"owner": IDA, "songs": ["desk"], "albums": ["night"], "added_at": "2026-02-01T08:00:00"},
            ],
            "likes": [
                {"owner": IDA, "songs": ["salt"], "playlists": ["walks"], "liked_at": "2026-01-10T08:00:00"},
                {"owner": IDA, "songs": ["thread"], "albums": ["night"], "liked_at": "2026-02-01T08:00:00"},
                {"owner": BO, "songs": ["salt"], "liked_at": "2026-01-11T08:00:00"},
            ],
            "follows": [{"owner": IDA, "artists": ["marrow"], "followed_at": "2026-01-10T08:00:00"}],
            "downloads": [{"owner": IDA, "songs": ["ferry"], "downloaded_at": "2026-01-10T08:00:00"}],
            "players": [
                {"owner": BO, "queue": ["ferry", "salt", "ferry", "lamp"], "position": 1, "played_seconds": 30},
            ],
        },
    })
}

fn open(email: &str, password: &str) -> Session<Spotify> {
    let mut session = Session::open(&seed());
    session.log_in(email, password);
    session
}

fn ida() -> Session<Spotify> {
    open(IDA, "pw")
}

fn bo() -> Session<Spotify> {
    open(BO, "pb")
}

/// Sets the clock so many seconds after its start.
fn at_second(seconds: i64) {
    let start = jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0);
    testkit::set_clock(start + jiff::Span::new().seconds(seconds));
}

/// Ida is refused.
#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

/// What Ida's list holds.
#[track_caller]
fn check_list(tool: &str, arguments: Value, field: &str, expected: &[u64]) {
    assert_eq!(ids(&ida().ok(tool, arguments), field), expected);
}

/// The names of an object's fields, which graders and trajectories depend on.
#[track_caller]
fn check_fields(answer: &Value, expected: &str) {
    let names: Vec<&str> = answer
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(names.join(" "), expected);
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<Spotify>(&TOOLS);
}

#[test]
fn every_private_tool_needs_a_token() {
    let required = json!({
        "song_id": 1, "album_id": 1, "artist_id": 1, "playlist_id": 1, "review_id": 1, "position": 0, "rating": 1,
        "title": "x", "access_token": "guess",
    });
    for tool in TOOLS.iter().filter(|tool| !PUBLIC.contains(tool)) {
        assert_eq!(ida().refused(tool, required.clone()).status, 401, "{tool}");
        let mut stranger = Session::<Spotify>::open(&seed());
        assert_eq!(stranger.refused(tool, json!({})).status, 401, "{tool}");
    }
}

#[test]
fn a_public_tool_needs_no_token() {
    let mut stranger = Session::<Spotify>::open(&seed());
    for (tool, arguments) in [
        ("search_albums", json!({})),
        ("search_artists", json!({})),
        ("search_playlists", json!({})),
        ("search_songs", json!({})),
        ("search_users", json!({})),
        ("show_album", json!({"album_id": 1})),
        ("show_artist", json!({"artist_id": 1})),
        ("show_genres", json!({})),
        ("show_playlist", json!({"playlist_id": 1})),
        ("show_song", json!({"song_id": 1})),
        ("show_song_review", json!({"review_id": 1})),
        ("show_song_reviews", json!({"song_id": 1})),
    ] {
        stranger.ok(tool, arguments);
    }
}

#[test]
fn a_login_is_checked_and_a_logout_ends_it() {
    check_refused(
        "login",
        json!({"username": CY, "password": ""}),
        401,
        "The user name or the password is wrong.",
    );
    let mut session = ida();
    session.ok("logout", json!({}));
    assert_eq!(session.refused("show_song_queue", json!({})).status, 401);
}

#[test]
fn what_does_not_exist_is_named() {
    for tool in [
        "add_song_to_library",
        "add_to_queue",
        "like_song",
        "play_music",
        "show_song",
        "show_song_reviews",
    ] {
        check_refused(tool, json!({"song_id": 99}), 409, "There is no song 99.");
    }
    check_refused(
        "review_song",
        json!({"song_id": 99, "rating": 1}),
        422,
        "There is no song 99.",
    );
    check_refused(
        "add_song_to_playlist",
        json!({"playlist_id": 1, "song_id": 99}),
        422,
        "There is no song 99.",
    );
    for tool in [
        "add_album_to_library",
        "add_to_queue",
        "like_album",
        "play_music",
        "show_album",
    ] {
        check_refused(tool, json!({"album_id": 99}), 409, "There is no album 99.");
    }
    for tool in ["follow_artist", "show_artist", "show_artist_following"] {
        check_refused(
            tool,
            json!({"artist_id": 99}),
            409,
            "There is no artist 99.",
        );
    }
    for tool in [
        "add_to_queue",
        "like_playlist",
        "play_music",
        "show_playlist",
    ] {
        check_refused(
            tool,
            json!({"playlist_id": 99}),
            409,
            "There is no playlist 99.",
        );
    }
    for tool in ["add_song_to_playlist", "remove_song_from_playlist"] {
        check_refused(
            tool,
            json!({"playlist_id": 99, "song_id": 1}),
            409,
            "There is no playlist 99.",
        );
    }
    check_refused(
        "remove_song_from_playlist",
        json!({"playlist_id": 1, "song_id": 99}),
        409,
        "There is no song 99.",
    );
    for tool in ["show_song_review", "update_song_review"] {
        check_refused(
            tool,
            json!({"review_id": 99}),
            409,
            "There is no review 99.",
        );
    }
}

#[test]
fn what_is_not_among_the_downloads_cannot_be_removed() {
    check_refused(
        "remove_downloaded_song",
        json!({"song_id": 99}),
        422,
        "There is no song 99.",
    );
}

#[test]
fn an_unknown_artist_or_album_finds_nothing() {
    for of in ["artist_id", "album_id"] {
        assert_eq!(ida().ok("search_songs", json!({of: 99})), json!([]));
    }
}

#[test]
fn bounds_of_ratings_are_ratings() {
    for (tool, least) in [
        ("search_songs", 0),
        ("search_albums", 0),
        ("search_playlists", 0),
        ("show_song_reviews", 1),
    ] {
        let bounds = |least: i32, most: i32| {
            let mut bounds = json!({"min_rating": least, "max_rating": most});
            if tool == "show_song_reviews" {
                bounds["song_id"] = json!(1);
            }
            bounds
        };
        ida().ok(tool, bounds(least, 5));
        let message = format!("min_rating and max_rating must be from {least} to 5.");
        check_refused(tool, bounds(least, 6), 422, &message);
    }
}

#[test]
fn a_field_to_sort_by_must_be_one_of_the_list() {
    for (tool, fields) in [
        ("search_songs", "rating, like_count, play_count"),
        ("search_albums", "rating, release_date"),
        ("search_artists", "follower_count"),
        ("search_playlists", "like_count, rating, created_at"),
        ("show_song_library", "added_at, title"),
        ("show_album_library", "added_at, title"),
        ("show_playlist_library", "created_at, title"),
        ("show_liked_songs", "liked_at, play_count, title"),
    ] {
        for field in fields.split(", ") {
            ida().ok(tool, json!({"sort_by": format!("-{field}")}));
        }
        let expected = format!("sort_by must be + or - and one of {fields}, not \"+colour\".");
        check_refused(tool, json!({"sort_by": "+colour"}), 422, &expected);
    }
}

/// The bounds that the host checks before a call.
#[test]
fn the_schemas_have_the_bounds() {
    let declarations = Spotify::tools().declarations();
    let property = |tool: &str, name: &str| {
        let tool = declarations
            .iter()
            .find(|declared| declared.name == tool)
            .unwrap();
        tool.schema["properties"][name].clone()
    };
    let rating = property("review_song", "rating");
    assert_eq!(
        (&rating["minimum"], &rating["maximum"]),
        (&json!(1), &json!(5))
    );
    let rating = property("update_song_review", "rating");
    assert_eq!(
        (&rating["minimum"], &rating["maximum"]),
        (&json!(1), &json!(5))
    );
    let likes = property("search_songs", "max_like_count");
    assert_eq!(likes.get("default"), None);
    let rating = property("search_albums", "max_rating");
    assert_eq!(
        (&rating["default"], rating["maximum"].as_f64()),
        (&json!(5.0), Some(5.0))
    );
    assert_eq!(
        property("show_liked_songs", "sort_by")["description"],
        "+ or -: liked_at, play_count, title."
    );
    assert_eq!(
        property("search_songs", "min_release_date").get("default"),
        None
    );
}

/// What holds in every state, whatever was called.
fn assert_sound(state: &Value) -> Result<(), TestCaseError> {
    for player in state["players"].as_array().unwrap() {
        let queue = player["song_ids"].as_array().unwrap();
        let position = usize::try_from(player["position"].as_u64().unwrap()).unwrap();
        prop_assert!(position < queue.len() && queue.len() <= crate::player::MAX_QUEUE);
        prop_assert_eq!(&queue[position], &player["current_song_id"]);
        prop_assert_eq!(
            player["is_playing"].as_bool(),
            Some(player["played_seconds"].is_null())
        );
        prop_assert!(player["playing_since"].is_null() != player["played_seconds"].is_null());
    }
    for playlist in state["playlists"].as_array().unwrap() {
        let songs = playlist["song_ids"].as_array().unwrap();
        let once: std::collections::BTreeSet<u64> =
            songs.iter().filter_map(Value::as_u64).collect();
        prop_assert_eq!(once.len(), songs.len());
    }
    let lists = state.as_object().unwrap().values();
    for list in lists.map(|list| list.as_array().unwrap()) {
        let ids: std::collections::BTreeSet<String> =
            list.iter().map(|record| record["id"].to_string()).collect();
        prop_assert_eq!(ids.len(), list.len());
    }
    Ok(())
}

/// Every figure that the tools show is what the state adds up to.
fn assert_figures(session: &mut Session<Spotify>) -> Result<(), TestCaseError> {
    let state = session.state();
    let of_song = |list: &str, song: u64| -> Vec<Value> {
        let records = state[list].as_array().unwrap().iter();
        records
            .filter(|record| record["song_id"] == json!(song))
            .cloned()
            .collect()
    };
    for (song, plays, likes) in [(1, 1000, 70), (2, 400, 0), (3, 30, 0), (4, 0, 9), (5, 0, 0)] {
        let shown = session.ok("show_song", json!({"song_id": song}));
        let played: u64 = of_song("plays", song)
            .iter()
            .map(|record| record["play_count"].as_u64().unwrap())
            .sum();
        prop_assert_eq!(&shown["play_count"], &json!(plays + played));
        prop_assert_eq!(
            &shown["like_count"],
            &json!(likes + of_song("liked_songs", song).len())
        );
        let reviews = of_song("reviews", song);
        prop_assert_eq!(&shown["review_count"], &json!(reviews.len()));
        let stars: f64 = reviews
            .iter()
            .map(|review| review["rating"].as_f64().unwrap())
            .sum();
        let mean = if reviews.is_empty() {
            0.0
        } else {
            stars / reviews.len() as f64
        };
        prop_assert!((shown["rating"].as_f64().unwrap() - mean).abs() < 0.006);
    }
    Ok(())
}

/// What random calls take for texts.
const TEXTS: [&str; 9] = [
    IDA,
    "pw",
    BO,
    "pb",
    "ferry morning",
    "folk",
    "-added_at",
    "+title",
    "2023-01-01",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..80),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        at_second(0);
        let mut session = ida();
        let step = |session: &mut Session<Spotify>, number| -> Result<Value, ToolError> {
            testkit::random_step(session, number, &TEXTS)
        };
        for number in before {
            let _ = step(&mut session, number);
            assert_sound(&session.state())?;
        }
        assert_figures(&mut session)?;
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
