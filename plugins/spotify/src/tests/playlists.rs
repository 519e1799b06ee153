use super::*;

#[test]
fn a_playlist_is_created_as_told() {
    let mut session = ida();
    let answer = session.ok(
        "create_playlist",
        json!({"title": " Rain ", "is_public": true}),
    );
    assert_eq!(
        answer,
        json!({"message": "The playlist \"Rain\" is created.", "playlist_id": 5})
    );
    let expected = json!({
        "playlist_id": 5, "title": "Rain", "is_public": true, "rating": 0.0, "like_count": 0, "review_count": 0,
        "owner": {"name": "Ida Vale", "email": IDA}, "created_at": "2026-03-02T09:00:00",
        "shareable_link": "https://spotify.example/playlists/5", "songs": [],
    });
    assert_eq!(
        session.ok("show_playlist", json!({"playlist_id": 5})),
        expected
    );
    let private = session.ok("create_playlist", json!({"title": "Own"}))["playlist_id"].clone();
    assert_eq!(
        session.ok("show_playlist", json!({"playlist_id": private}))["is_public"],
        false
    );
}

#[test]
fn a_playlist_without_a_good_title_is_refused() {
    let mut session = ida();
    session.ok("create_playlist", json!({"title": "Rain"}));
    let refusal = session.refused("create_playlist", json!({"title": " Rain"}));
    let message = "Your playlist 5 has the title \"Rain\" already.";
    assert_eq!((refusal.status, refusal.message.as_str()), (409, message));
    // Somebody else's may.
    bo().ok("create_playlist", json!({"title": "Rain"}));
    check_refused(
        "create_playlist",
        json!({"title": " "}),
        422,
        "The title must not be empty.",
    );
    let long = "The title has 201 bytes; at most 200 fit.";
    check_refused(
        "create_playlist",
        json!({"title": "x".repeat(201)}),
        422,
        long,
    );
}

#[test]
fn a_private_playlist_is_shown_to_its_owner_only() {
    assert_eq!(
        ids(
            &ida().ok("show_playlist", json!({"playlist_id": 2}))["songs"],
            "id"
        ),
        [2]
    );
    assert_eq!(
        bo().refused("show_playlist", json!({"playlist_id": 2}))
            .message,
        "Playlist 2 is private and belongs to another account."
    );
    let mut stranger = Session::<Spotify>::open(&seed());
    assert_eq!(
        stranger.refused("show_playlist", json!({"playlist_id": 2})),
        ToolError::unauthorized(
            "Playlist 2 is private. Its owner can see it with the access_token."
        )
    );
    let guess = json!({"playlist_id": 1, "access_token": "guess"});
    assert_eq!(stranger.refused("show_playlist", guess).status, 401);
}

#[test]
fn public_playlists_are_found_filtered_and_sorted() {
    let check = |arguments, expected: &[u64]| {
        let mut stranger = Session::<Spotify>::open(&seed());
        let found = stranger.ok("search_playlists", arguments);
        assert_eq!(ids(&found, "playlist_id"), expected);
    };
    check(json!({}), &[1, 3]);
    // Ida's token shows her own private one too.
    check_list("search_playlists", json!({}), "playlist_id", &[1, 2, 3]);
    let guess = json!({"access_token": "guess"});
    assert_eq!(ida().refused("search_playlists", guess).status, 401);
    check(json!({"query": "walking"}), &[3]);
    check(json!({"query": "secret"}), &[]);
    check(json!({"owner_email": "Bo@lind.test"}), &[3]);
    for (owner, status) in [("x@y.test", 409), ("x", 422)] {
        let owner = json!({"owner_email": owner});
        assert_eq!(ida().refused("search_playlists", owner).status, status);
    }
    check(json!({"min_like_count": 12}), &[1]);
    check(json!({"max_like_count": 1}), &[3]);
    check(json!({"min_rating": 4.0}), &[1]);
    check(json!({"max_rating": 3.9}), &[3]);
    check(json!({"sort_by": "-created_at"}), &[3, 1]);
    check_fields(
        &ida().ok("search_playlists", json!({}))[0],
        "playlist_id title is_public rating like_count review_count owner created_at song_ids",
    );
}

#[test]
fn the_playlist_library_holds_ones_own() {
    let check = |arguments, expected: &[u64]| {
        check_list("show_playlist_library", arguments, "playlist_id", expected);
    };
    check(json!({}), &[2, 1]);
    check(json!({"is_public": true}), &[1]);
    check(json!({"is_public": false}), &[2]);
    check(json!({"query": "morning"}), &[1]);
    check(json!({"sort_by": "+created_at"}), &[1, 2]);
    check(json!({"page_limit": 1, "page_index": 1}), &[1]);
}

#[test]
fn songs_come_to_the_end_and_leave_without_disorder() {
    let mut session = ida();
    let song = |id: u32| json!({"playlist_id": 1, "song_id": id});
    assert_eq!(
        session.ok("add_song_to_playlist", song(2)),
        json!({"message": "Song 2 (Salt on Glass) is added to playlist 1."})
    );
    session.ok("add_song_to_playlist", song(5));
    assert_eq!(
        session.ok("remove_song_from_playlist", song(4)),
        json!({"message": "Song 4 (Night Desk) is removed from playlist 1."})
    );
    assert_eq!(
        ids(
            &session.ok("show_playlist", json!({"playlist_id": 1}))["songs"],
            "id"
        ),
        [1, 2, 5]
    );
}

#[test]
fn a_song_is_in_a_playlist_once_or_not() {
    let song = |id: u32| json!({"playlist_id": 1, "song_id": id});
    check_refused(
        "add_song_to_playlist",
        song(1),
        422,
        "Song 1 (First Ferry) is in playlist 1 already.",
    );
    check_refused(
        "remove_song_from_playlist",
        song(2),
        422,
        "Song 2 (Salt on Glass) is not in playlist 1.",
    );
}

#[test]
fn somebody_elses_playlist_stays_as_it_is() {
    for (tool, playlist) in [
        ("add_song_to_playlist", 3),
        ("remove_song_from_playlist", 4),
    ] {
        let message = format!("Playlist {playlist} belongs to another account.");
        check_refused(
            tool,
            json!({"playlist_id": playlist, "song_id": 3}),
            422,
            &message,
        );
    }
}
