use super::*;

#[track_caller]
fn check_songs(arguments: Value, expected: &[u64]) {
    check_list("search_songs", arguments, "song_id", expected);
}

#[track_caller]
fn check_albums(arguments: Value, expected: &[u64]) {
    check_list("search_albums", arguments, "album_id", expected);
}

#[track_caller]
fn check_artists(arguments: Value, expected: &[u64]) {
    check_list("search_artists", arguments, "artist_id", expected);
}

#[test]
fn a_song_is_shown_with_artists_figures_and_album() {
    let expected = json!({
        "song_id": 3, "title": "Lamplighter", "album_id": 1, "album_title": "Harbour Lights", "duration": 200,
        "artists": [
            {"id": 1, "name": "Marrow Lane", "genre": "Folk", "follower_count": 1201},
            {"id": 2, "name": "Ines Okar", "genre": "jazz", "follower_count": 50},
        ],
        "release_date": "2021-03-01T00:00:00", "genre": "ballad", "play_count": 30, "rating": 0.0, "like_count": 0,
        "review_count": 0, "shareable_link": "https://spotify.example/songs/3",
    });
    assert_eq!(ida().ok("show_song", json!({"song_id": 3})), expected);
    let single = ida().ok("show_song", json!({"song_id": 5}));
    assert_eq!(
        (&single["album_id"], &single["album_title"]),
        (&Value::Null, &Value::Null)
    );
    let reviewed = ida().ok("show_song", json!({"song_id": 1}));
    assert_eq!(
        (&reviewed["rating"], &reviewed["review_count"]),
        (&json!(3.5), &json!(2))
    );
}

#[test]
fn an_album_is_shown_with_its_songs_in_order() {
    let album = ida().ok("show_album", json!({"album_id": 1}));
    check_fields(
        &album,
        "album_id title genre artists rating like_count review_count release_date shareable_link songs",
    );
    assert_eq!(ids(&album["songs"], "id"), [1, 2, 3]);
    check_fields(
        &album["songs"][0],
        "id title album_id album_title duration artists",
    );
    assert_eq!(album["artists"], json!([{"id": 1, "name": "Marrow Lane"}]));
    assert_eq!(
        (&album["rating"], &album["review_count"]),
        (&json!(4.2), &json!(18))
    );
}

#[test]
fn an_artist_is_shown_with_all_followers() {
    let expected = json!({
        "artist_id": 1, "name": "Marrow Lane", "genre": "Folk", "follower_count": 1201,
        "created_at": "2019-04-01T00:00:00",
    });
    assert_eq!(ida().ok("show_artist", json!({"artist_id": 1})), expected);
}

#[test]
fn genres_are_those_of_artists_albums_and_songs() {
    assert_eq!(
        ida().ok("show_genres", json!({})),
        json!(["ballad", "folk", "jazz", "noise", "pop"])
    );
    let query = ida().refused("show_genres", json!({"query": "folk"}));
    assert_eq!(query.status, 422);
}

#[test]
fn songs_are_found_by_title_album_and_artist() {
    check_songs(json!({}), &[1, 2, 3, 4, 5]);
    check_songs(json!({"query": "ferries"}), &[1]);
    check_songs(json!({"query": "harbour"}), &[1, 2, 3]);
    check_songs(json!({"query": "okar thread"}), &[5, 4, 3]);
    check_songs(json!({"query": "zither"}), &[]);
}

#[test]
fn songs_are_filtered() {
    check_songs(json!({"artist_id": 2}), &[3, 4, 5]);
    check_songs(json!({"album_id": 1}), &[1, 2, 3]);
    check_songs(json!({"album_id": 3}), &[]);
    check_songs(json!({"genre": " Folk"}), &[1, 2]);
    check_songs(json!({"genre": "opera"}), &[]);
    check_songs(
        json!({"min_release_date": "2021-05-14", "max_release_date": "2023-09-01"}),
        &[1, 2, 4],
    );
    check_songs(json!({"min_duration": 180, "max_duration": 200}), &[2, 3]);
    check_songs(json!({"min_rating": 3.5, "max_rating": 3.5}), &[1]);
    check_songs(json!({"max_rating": 3}), &[2, 3, 4, 5]);
    check_songs(json!({"min_like_count": 2, "max_like_count": 9}), &[2, 4]);
    check_songs(
        json!({"min_play_count": 30, "max_play_count": 400}),
        &[2, 3],
    );
}

#[test]
fn songs_are_sorted_and_paged() {
    check_songs(json!({"sort_by": "-play_count"}), &[1, 2, 3, 4, 5]);
    check_songs(json!({"sort_by": "+play_count"}), &[4, 5, 3, 2, 1]);
    check_songs(
        json!({"sort_by": "-play_count", "page_limit": 2, "page_index": 2}),
        &[5],
    );
    check_songs(json!({"sort_by": "-rating", "page_limit": 1}), &[1]);
    check_songs(
        json!({"sort_by": "-like_count", "page_limit": 3}),
        &[1, 4, 2],
    );
    assert_eq!(
        ida()
            .refused("search_songs", json!({"page_limit": 21}))
            .status,
        422
    );
    assert_eq!(
        ida()
            .refused("search_songs", json!({"min_release_date": "soon"}))
            .status,
        422
    );
}

#[test]
fn albums_are_found_filtered_and_sorted() {
    check_albums(json!({"query": "lights okar"}), &[1, 2, 3]);
    check_albums(json!({"genre": "JAZZ"}), &[2]);
    check_albums(json!({"min_rating": 4}), &[1]);
    check_albums(json!({"max_rating": 4}), &[2, 3]);
    check_albums(json!({"min_release_date": "2023-01-01"}), &[2, 3]);
    check_albums(json!({"max_release_date": "2021-05-14"}), &[1]);
    check_albums(json!({"min_like_count": 21, "max_like_count": 21}), &[2]);
    check_albums(json!({"sort_by": "-release_date", "page_limit": 1}), &[3]);
    let row = &ida().ok("search_albums", json!({}))[0];
    check_fields(
        row,
        "album_id title genre artists rating like_count review_count release_date song_ids",
    );
    assert_eq!(row["song_ids"], json!([1, 2, 3]));
}

#[test]
fn artists_are_found_filtered_and_sorted() {
    check_artists(json!({"query": "marrow"}), &[1]);
    check_artists(json!({"genre": "jazz"}), &[2]);
    check_artists(json!({"min_follower_count": 1201}), &[1]);
    check_artists(json!({"max_follower_count": 1200}), &[2]);
    check_artists(json!({"sort_by": "+follower_count"}), &[2, 1]);
    check_artists(json!({"sort_by": "-follower_count"}), &[1, 2]);
    check_fields(
        &ida().ok("search_artists", json!({}))[0],
        "artist_id name genre follower_count created_at",
    );
}

#[test]
fn people_are_found_by_name_and_address() {
    let found = ida().ok("search_users", json!({"query": "lind"}));
    let expected = json!([{
        "first_name": "Bo", "last_name": "Lind", "email": BO, "registered_at": "2020-01-01T00:00:00",
    }]);
    assert_eq!(found, expected);
    assert_eq!(
        ida()
            .ok("search_users", json!({"page_limit": 2}))
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        ida().ok("search_users", json!({"query": "zorro"})),
        json!([])
    );
    let none = ida().refused("search_users", json!({"page_limit": 0}));
    assert_eq!(none.status, 422);
}
