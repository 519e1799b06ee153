use super::*;

/// A tool that marks something for Ida: what it answers, and what it says when it is done already.
#[track_caller]
fn check_mark(tool: &str, arguments: Value, list: &str, message: &str, again: &str) {
    let mut session = ida();
    let before = session.state()[list].as_array().unwrap().len();
    assert_eq!(
        session.ok(tool, arguments.clone()),
        json!({"message": message})
    );
    let records = session.state()[list].clone();
    assert_eq!(records.as_array().unwrap().len(), before + 1);
    assert!(
        records.to_string().contains("2026-03-02T09:00:00"),
        "the moment is not the clock's"
    );
    let refusal = session.refused(tool, arguments);
    assert_eq!((refusal.status, refusal.message.as_str()), (422, again));
}

#[test]
fn everything_is_marked_once() {
    check_mark(
        "add_song_to_library",
        json!({"song_id": 5}),
        "library_songs",
        "Song 5 (Loose Thread) is in your library now.",
        "Song 5 (Loose Thread) is in your library already.",
    );
    check_mark(
        "add_album_to_library",
        json!({"album_id": 3}),
        "library_albums",
        "Album 3 (Blank Tape) is in your library now.",
        "Album 3 (Blank Tape) is in your library already.",
    );
    check_mark(
        "like_song",
        json!({"song_id": 1}),
        "liked_songs",
        "You like song 1 (First Ferry) now.",
        "You like song 1 (First Ferry) already.",
    );
    check_mark(
        "like_album",
        json!({"album_id": 1}),
        "liked_albums",
        "You like album 1 (Harbour Lights) now.",
        "You like album 1 (Harbour Lights) already.",
    );
    check_mark(
        "like_playlist",
        json!({"playlist_id": 2}),
        "liked_playlists",
        "You like playlist 2 (Desk work) now.",
        "You like playlist 2 (Desk work) already.",
    );
    check_mark(
        "follow_artist",
        json!({"artist_id": 2}),
        "followed_artists",
        "You follow artist 2 (Ines Okar) now.",
        "You follow artist 2 (Ines Okar) already.",
    );
}

#[test]
fn a_like_changes_one_record_and_the_count() {
    let mut session = ida();
    let before = session.state();
    session.ok("like_song", json!({"song_id": 1}));
    let mut after = session.state();
    assert_eq!(
        after["liked_songs"][0],
        json!({"id": "ida@vale.test/1", "owner": IDA, "song_id": 1, "liked_at": "2026-03-02T09:00:00"})
    );
    after["liked_songs"].as_array_mut().unwrap().remove(0);
    assert_eq!(after, before);
    assert_eq!(
        session.ok("show_song", json!({"song_id": 1}))["like_count"],
        71
    );
    session.ok("like_album", json!({"album_id": 1}));
    assert_eq!(
        session.ok("show_album", json!({"album_id": 1}))["like_count"],
        301
    );
}

#[test]
fn somebody_elses_private_playlist_cannot_be_liked() {
    check_refused(
        "like_playlist",
        json!({"playlist_id": 4}),
        422,
        "Playlist 4 is private and belongs to another account.",
    );
    let mut session = bo();
    session.ok("like_playlist", json!({"playlist_id": 1}));
    assert_eq!(
        session.ok("show_playlist", json!({"playlist_id": 1}))["like_count"],
        13
    );
}

#[test]
fn a_followed_artist_is_told_from_another() {
    let mut session = ida();
    assert_eq!(
        session.ok("show_artist_following", json!({"artist_id": 1})),
        json!({"following": true})
    );
    assert_eq!(
        session.ok("show_artist_following", json!({"artist_id": 2})),
        json!({"following": false})
    );
    session.ok("follow_artist", json!({"artist_id": 2}));
    assert_eq!(
        session.ok("show_artist_following", json!({"artist_id": 2})),
        json!({"following": true})
    );
    assert_eq!(
        session.ok("show_artist", json!({"artist_id": 2}))["follower_count"],
        51
    );
}

#[test]
fn the_song_library_is_listed_found_and_sorted() {
    let check = |arguments, expected: &[u64]| {
        check_list("show_song_library", arguments, "song_id", expected);
    };
    check(json!({}), &[4, 1]);
    check(json!({"query": "harbour"}), &[1]);
    check(json!({"sort_by": "+added_at"}), &[1, 4]);
    check(json!({"sort_by": "+title"}), &[1, 4]);
    check(json!({"page_limit": 1, "page_index": 1}), &[1]);
    let row = &ida().ok("show_song_library", json!({}))[0];
    check_fields(
        row,
        "song_id title album_id album_title duration artists added_at",
    );
    assert_eq!(row["added_at"], "2026-02-01T08:00:00");
    assert_eq!(bo().ok("show_song_library", json!({})), json!([]));
}

#[test]
fn the_album_library_is_listed_found_and_sorted() {
    let check = |arguments, expected: &[u64]| {
        check_list("show_album_library", arguments, "album_id", expected);
    };
    check(json!({}), &[2, 1]);
    check(json!({"query": "marrow"}), &[1]);
    check(json!({"sort_by": "+added_at"}), &[1, 2]);
    check(json!({"sort_by": "-title"}), &[2, 1]);
    check_fields(
        &ida().ok("show_album_library", json!({}))[0],
        "album_id title genre artists rating like_count review_count release_date song_ids added_at",
    );
}

#[test]
fn liked_songs_are_listed_the_latest_first() {
    let check = |arguments, expected: &[u64]| {
        check_list("show_liked_songs", arguments, "song_id", expected);
    };
    check(json!({}), &[5, 2]);
    check(json!({"sort_by": "+liked_at"}), &[2, 5]);
    check(json!({"sort_by": "-play_count"}), &[2, 5]);
    check(json!({"sort_by": null}), &[5, 2]);
    let row = &ida().ok("show_liked_songs", json!({}))[0];
    check_fields(
        row,
        "song_id title album_id album_title duration artists liked_at",
    );
    assert_eq!(ids(&bo().ok("show_liked_songs", json!({})), "song_id"), [2]);
}

#[test]
fn a_download_is_removed_and_the_library_keeps_the_song() {
    let mut session = ida();
    let answer = session.ok("remove_downloaded_song", json!({"song_id": 1}));
    assert_eq!(
        answer,
        json!({"message": "Song 1 (First Ferry) is no longer downloaded."})
    );
    assert_eq!(session.state()["downloaded_songs"], json!([]));
    assert_eq!(
        ids(&session.ok("show_song_library", json!({})), "song_id"),
        [4, 1]
    );
    let refusal = session.refused("remove_downloaded_song", json!({"song_id": 1}));
    assert_eq!(
        (refusal.status, refusal.message.as_str()),
        (422, "Song 1 (First Ferry) is not among your downloads.")
    );
    assert_eq!(
        bo().refused("remove_downloaded_song", json!({"song_id": 1}))
            .status,
        422
    );
}
