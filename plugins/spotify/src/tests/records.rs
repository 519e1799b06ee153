use super::*;

/// The list with a record that is fine, then a wrong one.
#[track_caller]
fn check_seed(list: &str, records: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let error = app::add(&mut session.app, &json!({list: records}).to_string()).unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(session.state(), before);
}

/// A record with one field changed.
fn with(mut record: Value, key: &str, value: Value) -> Value {
    record[key] = value;
    record
}

#[test]
fn the_state_holds_everything_and_no_secret() {
    let mut session = ida();
    let state = session.state();
    check_fields(
        &state,
        "users artists albums songs playlists reviews library_songs library_albums liked_songs liked_albums \
         liked_playlists followed_artists downloaded_songs plays players",
    );
    for (list, expected) in [
        (
            "users",
            json!({"id": BO, "first_name": "Bo", "last_name": "Lind", "registered_at": "2020-01-01T00:00:00"}),
        ),
        (
            "artists",
            json!({"id": 1, "name": "Marrow Lane", "genre": "Folk", "created_at": "2019-04-01T00:00:00"}),
        ),
        (
            "albums",
            json!({"id": 1, "title": "Harbour Lights", "artist_ids": [1], "genre": "folk",
                "release_date": "2021-05-14"}),
        ),
        (
            "songs",
            json!({"id": 1, "title": "First Ferry", "album_id": 1, "artist_ids": [1], "genre": "folk",
                "release_date": "2021-05-14", "duration": 214}),
        ),
        (
            "playlists",
            json!({"id": 1, "owner": IDA, "title": "Slow morning", "is_public": true, "song_ids": [1, 4],
                "created_at": "2026-01-10T08:00:00"}),
        ),
        (
            "reviews",
            json!({"id": 1, "song_id": 1, "user": BO, "rating": 5, "title": "Salt air",
                "text": "Smells of the sea.", "created_at": "2026-01-12T20:00:00"}),
        ),
        (
            "library_songs",
            json!({"id": "ida@vale.test/1", "owner": IDA, "song_id": 1, "added_at": "2026-01-10T08:00:00"}),
        ),
        (
            "library_albums",
            json!({"id": "ida@vale.test/1", "owner": IDA, "album_id": 1, "added_at": "2026-01-10T08:00:00"}),
        ),
        (
            "liked_songs",
            json!({"id": "bo@lind.test/2", "owner": BO, "song_id": 2, "liked_at": "2026-01-11T08:00:00"}),
        ),
        (
            "liked_albums",
            json!({"id": "ida@vale.test/2", "owner": IDA, "album_id": 2, "liked_at": "2026-02-01T08:00:00"}),
        ),
        (
            "liked_playlists",
            json!({"id": "ida@vale.test/3", "owner": IDA, "playlist_id": 3, "liked_at": "2026-01-10T08:00:00"}),
        ),
        (
            "followed_artists",
            json!({"id": "ida@vale.test/1", "owner": IDA, "artist_id": 1, "followed_at": "2026-01-10T08:00:00"}),
        ),
        (
            "downloaded_songs",
            json!({"id": "ida@vale.test/1", "owner": IDA, "song_id": 1, "downloaded_at": "2026-01-10T08:00:00"}),
        ),
        (
            "players",
            json!({"id": BO, "song_ids": [1, 2, 1, 3], "position": 1, "current_song_id": 2, "is_playing": false,
                "playing_since": null, "played_seconds": 30, "is_looping": false}),
        ),
    ] {
        assert_eq!(state[list][0], expected);
    }
    let text = state.to_string();
    assert!(!text.contains("\"pw\"") && !text.contains(session.token.as_deref().unwrap()));
}

#[test]
fn a_record_that_plays_does_so_from_its_moment_on() {
    at_second(0);
    let mut session = ida();
    let player = json!({"owner": IDA, "queue": ["ferry"], "playing": true, "played_seconds": 14});
    app::add(&mut session.app, &json!({"players": [player]}).to_string()).unwrap();
    at_second(6);
    assert_eq!(
        session.ok("show_current_song", json!({}))["played_seconds"],
        20
    );
    let state = session.state();
    let player = state["players"]
        .as_array()
        .unwrap()
        .iter()
        .find(|player| player["id"] == IDA)
        .unwrap();
    assert_eq!(
        (&player["playing_since"], &player["played_seconds"]),
        (&json!("2026-03-02T08:59:46"), &Value::Null)
    );
}

#[test]
fn a_session_builds_on_the_records_of_the_persona() {
    let mut session = ida();
    let records = json!({
        "songs": [{"id": "bonus", "title": "Bonus", "album": "harbour", "duration": 60}],
        "playlists": [{"owner": IDA, "title": "More", "songs": ["bonus", "ferry"]}],
        "likes": [{"owner": IDA, "songs": ["bonus"]}],
        "reviews": [{"song": "bonus", "user": BO, "rating": 1}],
    });
    app::add(&mut session.app, &records.to_string()).unwrap();
    assert_eq!(
        ids(
            &session.ok("show_album", json!({"album_id": 1}))["songs"],
            "id"
        ),
        [1, 2, 3, 6]
    );
    assert_eq!(
        ids(
            &session.ok("show_playlist", json!({"playlist_id": 5}))["songs"],
            "id"
        ),
        [6, 1]
    );
    assert_eq!(
        session.ok("show_liked_songs", json!({}))[0]["liked_at"],
        "2026-03-02T09:00:00"
    );
    assert_eq!(
        session.ok("show_song_review", json!({"review_id": 3}))["song_id"],
        6
    );
}

#[test]
fn a_wrong_artist_or_album_is_named_and_nothing_is_added() {
    let artist = || json!({"name": "New", "genre": "pop"});
    check_seed(
        "artists",
        json!([artist(), with(artist(), "name", json!(" "))]),
        "artists[1]: The name must not be empty.",
    );
    check_seed(
        "artists",
        json!([with(artist(), "genre", json!(""))]),
        "artists[0]: The genre must not be empty.",
    );
    check_seed(
        "artists",
        json!([with(artist(), "id", json!("ines"))]),
        "artists[0]: id: \"ines\" is in use already",
    );
    check_seed(
        "artists",
        json!([with(artist(), "fans", json!(1))]),
        "artists[0]: unknown field `fans`, expected one of `id`, `name`, `genre`, `followers`, `created_at`",
    );
    let album = || json!({"title": "New", "artists": ["ines"], "genre": "pop", "release_date": "2024-01-01"});
    for (key, value, expected) in [
        ("artists", json!([]), "artists: 1 to 5 are needed"),
        (
            "artists",
            json!(["nobody"]),
            "artists: no record before this has the key \"nobody\"",
        ),
        (
            "artists",
            json!(["ines", "ines"]),
            "artists: \"ines\" stands there twice",
        ),
        (
            "rating",
            json!(3.0),
            "rating: there is none without a review_count",
        ),
        ("review_count", json!(3), "rating: from 1 to 5, not 0"),
        (
            "release_date",
            json!("2024-01-01T23:00:00-05:00"),
            "release_date: \"2024-01-01T23:00:00-05:00\" is no date (2026-03-02).",
        ),
        (
            "title",
            json!("x".repeat(201)),
            "The title has 201 bytes; at most 200 fit.",
        ),
    ] {
        check_seed(
            "albums",
            json!([album(), with(album(), key, value)]),
            &format!("albums[1]: {expected}"),
        );
    }
}

#[test]
fn a_wrong_song_is_named_and_nothing_is_added() {
    let song = || json!({"title": "New", "album": "night", "duration": 60});
    for (key, value, expected) in [
        (
            "duration",
            json!(0),
            "duration: at least 1 second is needed",
        ),
        (
            "album",
            json!("lost"),
            "album: no record before this has the key \"lost\"",
        ),
        (
            "album",
            json!(null),
            "artists: needed for a song without an album",
        ),
        ("title", json!(""), "The title must not be empty."),
        ("id", json!("ferry"), "id: \"ferry\" is in use already"),
    ] {
        check_seed(
            "songs",
            json!([song(), with(song(), key, value)]),
            &format!("songs[1]: {expected}"),
        );
    }
    let single = json!({"title": "New", "duration": 60, "artists": ["ines"]});
    check_seed(
        "songs",
        json!([single]),
        "songs[0]: genre: needed for a song without an album",
    );
    let single = with(single, "genre", json!("pop"));
    check_seed(
        "songs",
        json!([single]),
        "songs[0]: release_date: needed for a song without an album",
    );
}

#[test]
fn a_wrong_playlist_or_review_is_named_and_nothing_is_added() {
    let playlist = || json!({"owner": IDA, "title": "New"});
    for (key, value, expected) in [
        ("owner", json!("x@y.test"), "owner: x@y.test has no account"),
        (
            "songs",
            json!(["ferry", "ferry"]),
            "songs: \"ferry\" stands there twice",
        ),
        ("songs", json!(vec!["ferry"; 501]), "songs: at most 500 fit"),
        (
            "rating",
            json!(9),
            "rating: there is none without a review_count",
        ),
    ] {
        check_seed(
            "playlists",
            json!([playlist(), with(playlist(), key, value)]),
            &format!("playlists[1]: {expected}"),
        );
    }
    let review = |song: &str, user: &str, rating: u8| json!([{"song": song, "user": user, "rating": rating}]);
    check_seed(
        "reviews",
        review("ferry", "x@y.test", 1),
        "reviews[0]: user: x@y.test has no account",
    );
    check_seed(
        "reviews",
        review("salt", IDA, 6),
        "reviews[0]: The rating must be from 1 to 5, not 6.",
    );
    check_seed(
        "reviews",
        review("none", IDA, 1),
        "reviews[0]: song: no record before this has the key \"none\"",
    );
    check_seed(
        "reviews",
        review("ferry", BO, 1),
        "reviews[0]: bo@lind.test has reviewed song 1 already: review 1 can be updated.",
    );
}

#[test]
fn a_wrong_mark_is_named_and_nothing_is_added() {
    let songs = |songs: &[&str]| json!([{"owner": IDA, "songs": songs}]);
    let twice = "stands there already for ida@vale.test";
    check_seed(
        "library",
        songs(&["salt", "ferry"]),
        &format!("library[0]: songs: \"ferry\" {twice}"),
    );
    check_seed(
        "likes",
        songs(&["lamp", "salt"]),
        &format!("likes[0]: songs: \"salt\" {twice}"),
    );
    check_seed(
        "downloads",
        songs(&["ferry"]),
        &format!("downloads[0]: songs: \"ferry\" {twice}"),
    );
    check_seed(
        "library",
        songs(&[]),
        "library[0]: no songs or albums are named",
    );
    check_seed(
        "likes",
        songs(&[]),
        "likes[0]: no songs, albums or playlists are named",
    );
    check_seed(
        "downloads",
        songs(&["none"]),
        "downloads[0]: songs: no record before this has the key \"none\"",
    );
    check_seed(
        "follows",
        json!([{"owner": "x@y.test", "artists": ["ines"]}]),
        "follows[0]: owner: x@y.test has no account",
    );
    check_seed(
        "likes",
        json!([{"owner": IDA, "playlists": ["secret"]}]),
        "likes[0]: playlists: Playlist 4 is private and belongs to another account.",
    );
}

#[test]
fn a_wrong_player_is_named_and_nothing_is_added() {
    let player = || json!({"owner": IDA, "queue": ["ferry", "salt"]});
    for (key, value, expected) in [
        ("queue", json!([]), "queue: at least one song is needed"),
        (
            "queue",
            json!(["none"]),
            "queue: no record before this has the key \"none\"",
        ),
        (
            "queue",
            json!(vec!["ferry"; 501]),
            "queue: at most 500 songs fit",
        ),
        ("position", json!(2), "position: 2 is beyond the last, 1"),
        (
            "played_seconds",
            json!(214),
            "played_seconds: 214 is not within the song, which has 214",
        ),
    ] {
        check_seed(
            "players",
            json!([player(), with(player(), key, value)]),
            &format!("players[1]: {expected}"),
        );
    }
}

#[test]
fn a_list_that_is_unknown_is_named() {
    let error = app::open::<Spotify>(r#"{"records": {"tracks": []}}"#).unwrap_err();
    let expected = "unknown key \"tracks\", expected one of `artists`, `albums`, `songs`, `playlists`, `reviews`, `library`, \
                    `likes`, `follows`, `downloads`, `players`";
    assert_eq!(error, expected);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<Spotify>(&[
        ("artists", "created_at"),
        ("playlists", "created_at"),
        ("reviews", "created_at"),
        ("library", "added_at"),
        ("likes", "liked_at"),
        ("follows", "followed_at"),
        ("downloads", "downloaded_at"),
    ]);
}
