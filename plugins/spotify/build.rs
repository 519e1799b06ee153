//! Writes the world's music as constant tables (`src/world.rs`). What people of the world like and follow is part of
//! the figures: nobody sees who it was.

use std::io;

use pibench_world::rust::{day, email, list, moment, option, table, text};
use pibench_world::{Album, Artist, Playlist, SEED, Song, SongReview, World, rust};

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let music = world.music();
    let playlists = music.playlists.iter().map(|it| playlist(&world, it));
    let mut reviews: Vec<(u32, &SongReview)> = (1..).zip(&music.reviews).collect();
    // People stand in the order of their addresses.
    reviews.sort_by_key(|(_, review)| (review.song, review.user));
    let reviews = reviews.iter().map(|(id, it)| review(&world, *id, it));
    let source = [
        rows("ARTISTS", "Artist", music.artists.iter().map(artist)),
        rows("ALBUMS", "Album", music.albums.iter().map(album)),
        rows("SONGS", "Song", music.songs.iter().map(song)),
        rows("PLAYLISTS", "Playlist", playlists),
        table("REVIEWS", "(u32, Email)", "Review", reviews),
        format!(
            "pub(crate) const REVIEW_COUNT: u32 = {};\n",
            music.reviews.len()
        ),
    ];
    rust::write(&source.concat())
}

/// Each row begins with its id.
fn rows(name: &str, row: &str, fields: impl Iterator<Item = String>) -> String {
    let rows = (1..).zip(fields);
    let rows = rows.map(|(id, fields): (u32, _)| (id, format!("{row} {{ id: {id}, {fields} }}")));
    table(name, "u32", row, rows)
}

fn artist(artist: &Artist) -> String {
    format!(
        "name: {}, genre: {}, followers: {}, created_at: {}",
        text(&artist.name),
        text(artist.genre),
        artist.followers,
        moment(artist.created_at),
    )
}

fn album(album: &Album) -> String {
    format!(
        "title: {}, artists: {}, genre: {}, release_date: {}, likes: {}, rating: {}, review_count: {}",
        text(&album.title),
        list([album.artist + 1]),
        text(album.genre),
        day(album.release_date),
        album.likes,
        stars(album.rating),
        album.review_count,
    )
}

fn song(song: &Song) -> String {
    format!(
        "title: {}, album: {}, artists: {}, genre: {}, release_date: {}, duration: {}, plays: {}, likes: {}",
        text(&song.title),
        option(song.album.map(|album| (album + 1).to_string())),
        list(song.artists.iter().map(|artist| artist + 1)),
        text(song.genre),
        day(song.release_date),
        song.duration,
        song.plays,
        song.likes,
    )
}

fn playlist(world: &World, playlist: &Playlist) -> String {
    format!(
        "owner: {}, title: {}, public: {}, songs: {}, created_at: {}, likes: {}, rating: {}, review_count: {}",
        email(&world.people[playlist.owner].email),
        text(&playlist.title),
        playlist.public,
        list(playlist.songs.iter().map(|song| song + 1)),
        moment(playlist.created_at),
        playlist.likes,
        stars(playlist.rating),
        playlist.review_count,
    )
}

fn review(world: &World, id: u32, review: &SongReview) -> (String, String) {
    let user = email(&world.people[review.user].email);
    let row = format!(
        "Review {{ id: {id}, rating: {}, title: {}, text: {}, created_at: {} }}",
        review.rating,
        text(review.title),
        text(review.text),
        moment(review.created_at),
    );
    (format!("({}, {user})", review.song + 1), row)
}

/// Tenths as a number with one decimal.
fn stars(tenths: u32) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}
