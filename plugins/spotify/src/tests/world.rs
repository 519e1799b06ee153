//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::*;

use crate::world::{ALBUMS, ARTISTS, PLAYLISTS, REVIEWS, SONGS};

#[test]
fn the_worlds_music_names_only_what_there_is() {
    let artist = |id: &u32| {
        ARTISTS
            .get(*id as usize - 1)
            .is_some_and(|(other, _)| other == id)
    };
    for (_, song) in SONGS {
        assert!(song.artists.iter().all(artist) && song.duration > 0);
        let album = song.album.map(|id| &ALBUMS[id as usize - 1].1);
        assert!(album.is_none_or(|album| song.artists.contains(&album.artists[0])));
    }
    for (_, playlist) in PLAYLISTS {
        assert!(playlist.songs.iter().all(|id| *id as usize <= SONGS.len()));
    }
    assert!(REVIEWS.is_sorted_by(|a, b| a.0 < b.0));
    let mut ids: Vec<u32> = REVIEWS.iter().map(|(_, review)| review.id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(1..=crate::world::REVIEW_COUNT));
}

#[test]
fn a_like_and_a_review_change_figures_and_no_record_of_the_catalogue() {
    let mut session = Session::<Spotify>::in_the_world(0, false);
    let me = session_email(&session);
    let song = (1..=SONGS.len()).find(|song| {
        let mine = json!({"song_id": song, "user_email": me});
        session.ok("show_song_reviews", mine) == json!([])
    });
    let song = song.unwrap();
    let before = session.ok("show_song", json!({"song_id": song}));
    session.ok("like_song", json!({"song_id": song}));
    let review = session.ok("review_song", json!({"song_id": song, "rating": 5}));
    assert_eq!(review["song_review_id"], crate::world::REVIEW_COUNT + 1);
    let after = session.ok("show_song", json!({"song_id": song}));
    let count = |view: &Value, name: &str| view[name].as_u64().unwrap();
    assert_eq!(
        count(&after, "review_count"),
        count(&before, "review_count") + 1
    );
    assert_eq!(
        count(&after, "like_count"),
        count(&before, "like_count") + 1
    );
    let state = session.state();
    for list in ["songs", "albums", "artists", "playlists"] {
        assert_eq!(state[list], json!([]), "{list}");
    }
    assert_eq!(state["reviews"].as_array().map(Vec::len), Some(1));
}

fn session_email(session: &Session<Spotify>) -> String {
    let named = session.app.accounts.named().next();
    named.unwrap().email.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["folk", "harbour", "fenwood", "-play_count", "+title", "first", "", "pop"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<Spotify>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        let state = session.state();
        for player in state["players"].as_array().unwrap() {
            let length = player["song_ids"].as_array().map_or(0, Vec::len);
            prop_assert!(player["position"].as_u64() < Some(length as u64));
        }
    }
}
