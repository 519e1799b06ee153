use super::*;

/// Queue, position of the current song, whether it plays.
#[track_caller]
fn check_queue(session: &mut Session<Spotify>, songs: &[u64], current: u64, playing: bool) {
    let queue = session.ok("show_song_queue", json!({}));
    assert_eq!(ids(&queue, "song_id"), songs);
    for (position, entry) in queue.as_array().unwrap().iter().enumerate() {
        let is_current = position as u64 == current;
        assert_eq!(entry["position"], json!(position));
        assert_eq!(entry["is_current"], json!(is_current), "at {position}");
        assert_eq!(
            entry["is_playing"],
            json!(is_current && playing),
            "at {position}"
        );
    }
}

fn plays(session: &mut Session<Spotify>, song: u32) -> u64 {
    session.ok("show_song", json!({"song_id": song}))["play_count"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_queue_is_shown_with_its_current_song() {
    let mut session = bo();
    check_queue(&mut session, &[1, 2, 1, 3], 1, false);
    check_fields(
        &session.ok("show_song_queue", json!({}))[0],
        "song_id title album_id album_title duration artists position is_playing is_current",
    );
    let expected = json!({
        "song_id": 2, "title": "Salt on Glass", "album_id": 1, "album_title": "Harbour Lights", "duration": 180,
        "artists": [{"id": 1, "name": "Marrow Lane"}],
        "played_seconds": 30, "is_playing": false, "is_looping": false,
    });
    assert_eq!(session.ok("show_current_song", json!({})), expected);
}

#[test]
fn an_empty_queue_has_nothing_to_play() {
    assert_eq!(ida().ok("show_song_queue", json!({})), json!([]));
    let empty = "Your queue is empty: play or add a song, an album or a playlist first.";
    for (tool, arguments) in [
        ("show_current_song", json!({})),
        ("play_music", json!({})),
        ("play_music", json!({"queue_position": 0})),
        ("previous_song", json!({})),
        ("remove_song_from_queue", json!({"position": 0})),
    ] {
        check_refused(tool, arguments, 422, empty);
    }
}

#[test]
fn songs_albums_and_playlists_are_added_to_the_end() {
    let mut session = ida();
    let answer = session.ok("add_to_queue", json!({"song_id": 5}));
    assert_eq!(
        answer,
        json!({"message": "Song 5 (Loose Thread) is added to the end of your queue."})
    );
    check_queue(&mut session, &[5], 0, false);
    session.ok("add_to_queue", json!({"album_id": 1}));
    session.ok("add_to_queue", json!({"playlist_id": 2}));
    session.ok("add_to_queue", json!({"song_id": 5}));
    check_queue(&mut session, &[5, 1, 2, 3, 2, 5], 0, false);
    assert_eq!(session.state()["plays"], json!([]));
}

#[test]
fn what_is_added_is_one_thing_that_has_songs() {
    let one = "Give exactly one of song_id, album_id and playlist_id.";
    check_refused("add_to_queue", json!({}), 422, one);
    check_refused(
        "add_to_queue",
        json!({"song_id": 1, "album_id": 1}),
        422,
        one,
    );
    let private = "Playlist 4 is private and belongs to another account.";
    check_refused("add_to_queue", json!({"playlist_id": 4}), 422, private);
    check_refused("play_music", json!({"playlist_id": 4}), 422, private);
    let blank = "Album 3 (Blank Tape) has no songs.";
    check_refused("add_to_queue", json!({"album_id": 3}), 422, blank);
    check_refused("play_music", json!({"album_id": 3}), 422, blank);
    let one = "Give at most one of song_id, album_id, playlist_id and queue_position.";
    check_refused(
        "play_music",
        json!({"song_id": 1, "playlist_id": 1}),
        422,
        one,
    );
    check_refused(
        "play_music",
        json!({"song_id": 1, "queue_position": 0}),
        422,
        one,
    );
}

#[test]
fn a_queue_that_is_full_takes_no_more() {
    let mut session = ida();
    for _ in 0..166 {
        session.ok("add_to_queue", json!({"album_id": 1}));
    }
    let refusal = session.refused("add_to_queue", json!({"album_id": 1}));
    assert_eq!(
        refusal.message,
        "The queue has 498 songs; with 3 more it would exceed 500."
    );
    session.ok("add_to_queue", json!({"song_id": 1}));
    assert_eq!(
        session
            .ok("show_song_queue", json!({}))
            .as_array()
            .unwrap()
            .len(),
        499
    );
}

#[test]
fn what_is_played_takes_the_place_of_the_queue() {
    let mut session = bo();
    let answer = session.ok("play_music", json!({"playlist_id": 1}));
    assert_eq!(
        answer,
        json!({"message": "Song 1 (First Ferry) is playing.", "song_id": 1})
    );
    check_queue(&mut session, &[1, 4], 0, true);
    assert_eq!(
        session.ok("play_music", json!({"album_id": 2}))["song_id"],
        4
    );
    check_queue(&mut session, &[4], 0, true);
    session.ok("play_music", json!({"song_id": 5}));
    check_queue(&mut session, &[5, 4], 0, true);
    assert_eq!(
        [1, 4, 5].map(|song| plays(&mut session, song)),
        [1001, 1, 1]
    );
}

#[test]
fn a_position_of_the_queue_is_played_from_its_start() {
    let mut session = bo();
    let answer = session.ok("play_music", json!({"queue_position": 3}));
    assert_eq!(
        answer,
        json!({"message": "Song 3 (Lamplighter) is playing.", "song_id": 3})
    );
    check_queue(&mut session, &[1, 2, 1, 3], 3, true);
    let refusal = session.refused("play_music", json!({"queue_position": 4}));
    assert_eq!(
        (refusal.status, refusal.message.as_str()),
        (422, "The queue has no position 4; its last one is 3.")
    );
}

#[test]
fn a_resting_song_plays_on_where_it_was() {
    at_second(0);
    let mut session = bo();
    assert_eq!(session.ok("play_music", json!({}))["song_id"], 2);
    at_second(10);
    let current = session.ok("show_current_song", json!({}));
    assert_eq!(
        (&current["played_seconds"], &current["is_playing"]),
        (&json!(40), &json!(true))
    );
    session.ok("play_music", json!({}));
    assert_eq!(
        session.ok("show_current_song", json!({}))["played_seconds"],
        40
    );
    assert_eq!(plays(&mut session, 2), 400, "going on is not another play");
}

#[test]
fn a_song_that_begins_from_rest_is_a_play() {
    let mut session = ida();
    session.ok("add_to_queue", json!({"song_id": 5}));
    session.ok("play_music", json!({}));
    assert_eq!(plays(&mut session, 5), 1);
    let expected = json!([{"id": "ida@vale.test/5", "owner": IDA, "song_id": 5, "play_count": 1}]);
    assert_eq!(session.state()["plays"], expected);
}

#[test]
fn the_previous_song_plays_and_before_the_first_the_last() {
    let mut session = bo();
    let answer = session.ok("previous_song", json!({}));
    assert_eq!(
        answer,
        json!({"message": "Song 1 (First Ferry) is playing.", "song_id": 1})
    );
    check_queue(&mut session, &[1, 2, 1, 3], 0, true);
    session.ok("previous_song", json!({}));
    check_queue(&mut session, &[1, 2, 1, 3], 3, true);
    let mut session = ida();
    session.ok("play_music", json!({"song_id": 1}));
    let refusal = session.refused("previous_song", json!({}));
    assert_eq!(refusal, ToolError::invalid("Your queue has only one song."));
}

#[test]
fn music_goes_on_with_the_clock_and_rests_at_the_first_song_after_the_last() {
    at_second(0);
    let mut session = ida();
    session.ok("play_music", json!({"album_id": 1}));
    at_second(213);
    check_queue(&mut session, &[1, 2, 3], 0, true);
    at_second(214);
    check_queue(&mut session, &[1, 2, 3], 1, true);
    at_second(214 + 180 + 50);
    check_queue(&mut session, &[1, 2, 3], 2, true);
    assert_eq!(
        session.ok("show_current_song", json!({}))["played_seconds"],
        50
    );
    at_second(86_400);
    check_queue(&mut session, &[1, 2, 3], 0, false);
    assert_eq!(
        [1, 2, 3].map(|song| plays(&mut session, song)),
        [1001, 401, 31]
    );
}

#[test]
fn a_day_at_once_is_a_day_step_by_step() {
    let play = |moments: &[i64]| {
        at_second(0);
        let mut session = ida();
        session.ok("play_music", json!({"album_id": 1}));
        for moment in moments {
            at_second(*moment);
            session.ok("show_genres", json!({}));
        }
        session.state()
    };
    let steps: Vec<i64> = (1..=500).collect();
    assert_eq!(play(&steps), play(&[500]));
}

#[test]
fn a_looping_song_begins_again() {
    at_second(0);
    let mut session = bo();
    let players = json!({"players": [{"owner": BO, "queue": ["salt", "ferry"], "playing": true, "looping": true}]});
    app::add(&mut session.app, &players.to_string()).unwrap();
    at_second(1000);
    let current = session.ok("show_current_song", json!({}));
    assert_eq!(
        (
            &current["song_id"],
            &current["played_seconds"],
            &current["is_looping"]
        ),
        (&json!(2), &json!(100), &json!(true))
    );
    assert_eq!(plays(&mut session, 2), 405);
}

#[test]
fn a_song_leaves_the_queue_and_the_others_keep_their_order() {
    let mut session = bo();
    let answer = session.ok("remove_song_from_queue", json!({"position": 0}));
    assert_eq!(
        answer,
        json!({"message": "Song 1 (First Ferry) is removed from your queue."})
    );
    check_queue(&mut session, &[2, 1, 3], 0, false);
    assert_eq!(
        session.ok("show_current_song", json!({}))["played_seconds"],
        30
    );
    session.ok("remove_song_from_queue", json!({"position": 1}));
    check_queue(&mut session, &[2, 3], 0, false);
    let refusal = session.refused("remove_song_from_queue", json!({"position": 2}));
    assert_eq!(
        refusal.message,
        "The queue has no position 2; its last one is 1."
    );
}

#[test]
fn the_song_after_a_removed_current_one_takes_its_place() {
    at_second(0);
    let mut session = bo();
    session.ok("play_music", json!({}));
    at_second(5);
    session.ok("remove_song_from_queue", json!({"position": 1}));
    check_queue(&mut session, &[1, 1, 3], 1, true);
    assert_eq!(
        session.ok("show_current_song", json!({}))["played_seconds"],
        0
    );
    assert_eq!(plays(&mut session, 1), 1001);
    session.ok("play_music", json!({"queue_position": 2}));
    session.ok("remove_song_from_queue", json!({"position": 2}));
    check_queue(&mut session, &[1, 1], 0, false);
}

#[test]
fn a_queue_that_is_emptied_is_as_if_never_filled() {
    let mut session = ida();
    let before = session.state();
    session.ok("add_to_queue", json!({"song_id": 1}));
    session.ok("remove_song_from_queue", json!({"position": 0}));
    assert_eq!(session.state(), before);
}

#[test]
fn what_holds_more_songs_than_fit_is_full() {
    let songs: Vec<Value> = (0..501)
        .map(|number| {
            json!({"id": format!("s{number}"), "title": format!("Part {number}"), "album": "long", "duration": 60})
        })
        .collect();
    let first: Vec<String> = (0..500).map(|number| format!("s{number}")).collect();
    let mut world = seed();
    world["records"] = json!({
        "artists": [{"id": "ines", "name": "Ines Okar", "genre": "jazz", "created_at": "2018-01-01"}],
        "albums": [{"id": "long", "title": "The Long Tape", "artists": ["ines"], "genre": "noise",
                    "release_date": "2025-01-01"}],
        "songs": songs,
        "playlists": [{"owner": IDA, "title": "All of it", "songs": first, "created_at": "2026-02-10T08:00:00"}],
    });
    let mut session = Session::<Spotify>::open(&world);
    session.log_in(IDA, "pw");
    let tape = json!({"album_id": 1});
    let error = session.refused("play_music", tape.clone());
    let holds = "Album 1 (The Long Tape) has 501 songs; a queue holds 500.";
    assert_eq!((error.status, error.message.as_str()), (422, holds));
    assert_eq!(session.refused("add_to_queue", tape).message, holds);
    session.ok("play_music", json!({"playlist_id": 1}));
    let error = session.refused("play_music", json!({"song_id": 1}));
    let full = "The queue is full: it holds 500 songs.";
    assert_eq!((error.status, error.message.as_str()), (422, full));
    let error = session.refused(
        "add_song_to_playlist",
        json!({"playlist_id": 1, "song_id": 501}),
    );
    let full = "Playlist 1 is full: it has 500 songs.";
    assert_eq!((error.status, error.message.as_str()), (422, full));
}
