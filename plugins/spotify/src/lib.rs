//! Spotify: a catalogue of artists, albums and songs, and what listeners make of it.
//!
//! Everybody with an account has a library of songs and albums, playlists, likes, followed artists, downloads and a
//! player with a queue. Music goes on with the clock: a song that ends is followed by the next one of the queue, and
//! after the last one the queue rests at its first song. A song that begins counts as a play.
//!
//! Figures (likes, plays, followers) are those of the records plus those of the accounts. The rating of a song is the
//! mean of its reviews; those of albums and playlists come with the records, for no tool reviews them.
//!
//! # Records
//!
//! ```toml
//! [[apps.spotify.artists]]
//! id = "marrow"                       # a key for other records, unique among artists; may be left out
//! name = "Marrow Lane"
//! genre = "folk"
//! followers = 1200                    # without an account; 0 if left out
//! created_at = "2019-04-01"           # the clock's now if left out
//!
//! [[apps.spotify.albums]]
//! id = "harbour"
//! title = "Harbour Lights"
//! artists = ["marrow"]                # keys of artists, 1 to 5
//! genre = "folk"
//! release_date = "2021-05-14"
//! likes = 300                         # without an account; 0 if left out
//! rating = 4.2                        # with review_count; no reviews if both are left out
//! review_count = 18
//!
//! [[apps.spotify.songs]]              # in their order on the album
//! id = "ferry"
//! title = "First Ferry"
//! album = "harbour"                   # none if left out
//! duration = 214                      # in seconds
//! artists = ["marrow"]                # the album's if left out, like genre and release_date
//! genre = "folk"
//! release_date = "2021-03-01"
//! plays = 90000                       # without an account; 0 if left out
//! likes = 700
//!
//! [[apps.spotify.playlists]]
//! id = "morning"
//! owner = "ida@vale.example"          # somebody with an account, like every owner and user
//! title = "Slow morning"
//! songs = ["ferry"]                   # each once; none if left out
//! public = true                       # false if left out
//! created_at = "2026-01-10T08:00:00"  # the clock's now if left out
//! likes = 12
//! rating = 4.0                        # with review_count; no reviews if both are left out
//! review_count = 3
//!
//! [[apps.spotify.reviews]]
//! song = "ferry"
//! user = "bo@lind.example"            # one review for each user and song
//! rating = 5                          # 1 to 5
//! title = "Salt air"                  # may be left out, like the text
//! text = "..."
//! created_at = "2026-01-12T20:00:00"  # the clock's now if left out
//!
//! [[apps.spotify.library]]            # as many as there are moments
//! owner = "ida@vale.example"
//! songs = ["ferry"]                   # songs or albums may be left out
//! albums = ["harbour"]
//! added_at = "2026-01-10T08:00:00"    # the clock's now if left out, like the moments below
//!
//! [[apps.spotify.likes]]
//! owner = "ida@vale.example"
//! songs = ["ferry"]                   # two of the three may be left out
//! albums = ["harbour"]
//! playlists = ["morning"]
//! liked_at = "2026-01-10T08:00:00"
//!
//! [[apps.spotify.follows]]
//! owner = "ida@vale.example"
//! artists = ["marrow"]
//! followed_at = "2026-01-10T08:00:00"
//!
//! [[apps.spotify.downloads]]
//! owner = "ida@vale.example"
//! songs = ["ferry"]
//! downloaded_at = "2026-01-10T08:00:00"
//!
//! [[apps.spotify.players]]            # in place of the owner's earlier one
//! owner = "ida@vale.example"
//! queue = ["ferry", "ferry"]          # at least one song, any of them repeatedly
//! position = 0                        # of the current song, from 0; the first one if left out
//! played_seconds = 30                 # of the current song; 0 if left out
//! playing = true                      # false if left out; from the moment at which the record is added
//! looping = false                     # whether the current song begins again when it ends
//! ```
//!
//! Unknown keys are errors. Lists are read in the order above, and keys hold across later additions. Ids of each kind
//! count in the order of the records, after those of the world: from 1 without it. They are not reused.
//!
//! # State
//!
//! `{"users": [{id, first_name, last_name, registered_at}], "artists": [{id, name, genre, created_at}], "albums": [{id,
//! title, artist_ids, genre, release_date}], "songs": [{id, title, album_id, artist_ids, genre, release_date,
//! duration}], "playlists": [{id, owner, title, is_public, song_ids, created_at}], "reviews": [{id, song_id, user,
//! rating, title, text, created_at}], "library_songs": [{id, owner, song_id, added_at}], "library_albums": [{id, owner,
//! album_id, added_at}], "liked_songs": [{id, owner, song_id, liked_at}], "liked_albums", "liked_playlists" alike,
//! "followed_artists": [{id, owner, artist_id, followed_at}], "downloaded_songs": [{id, owner, song_id,
//! downloaded_at}], "plays": [{id, owner, song_id, play_count}], "players": [{id, song_ids, position, current_song_id,
//! is_playing, playing_since, played_seconds, is_looping}]}`.
//!
//! Users, owners and the ids of users and players are addresses. From `library_songs` to `plays` an id is
//! `ida@vale.example/7`, the owner and the thing. Players with an empty queue are left out. `playing_since` is null
//! while nothing plays, `played_seconds` while something does. Figures follow from the records and are left out, so
//! that a like changes one record. Of the world's people and music only what differs is there.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "tools are methods of one shape: arguments by value, and a result"
)]

mod arguments;
mod browse;
mod catalogue;
mod library;
mod made;
mod marks;
mod playback;
mod player;
mod playlists;
mod record;
mod reviews;
mod rows;
mod view;
mod world;

use std::collections::BTreeMap;

use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::export_tool_app;
use pibench_sdk::layer::Layer;
use pibench_sdk::records::Records;
use pibench_sdk::tool::Tools;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Catalogue, SongId};
use crate::made::{Playlist, PlaylistId, Review};
use crate::marks::Marks;
use crate::player::Player;
use crate::record::Keys;
use crate::rows::fields;

export_tool_app!(Spotify);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spotify {
    accounts: Accounts,
    catalogue: Catalogue,
    keys: Keys,
    playlists: Layer<PlaylistId, Playlist>,
    /// One of each person for a song.
    reviews: Layer<(SongId, Email), Review>,
    /// 0 before the first.
    last_review_id: u32,
    library_songs: Marks,
    library_albums: Marks,
    liked_songs: Marks,
    liked_albums: Marks,
    liked_playlists: Marks,
    followed_artists: Marks,
    downloaded_songs: Marks,
    /// How often each account has begun a song.
    plays: BTreeMap<SongId, BTreeMap<Email, u64>>,
    /// Those with something in the queue.
    players: BTreeMap<Email, Player>,
}

impl ToolApp for Spotify {
    fn tools() -> Tools<Self> {
        let tools = Tools::new().login().logout();
        player_tools(playlist_tools(library_tools(catalogue_tools(tools))))
    }

    fn open(accounts: Accounts) -> Self {
        let world = accounts.world();
        Self {
            accounts,
            catalogue: Catalogue::new(world),
            keys: Keys::default(),
            playlists: Layer::new(world),
            reviews: Layer::new(world),
            last_review_id: if world { world::REVIEW_COUNT } else { 0 },
            library_songs: Marks::default(),
            library_albums: Marks::default(),
            liked_songs: Marks::default(),
            liked_albums: Marks::default(),
            liked_playlists: Marks::default(),
            followed_artists: Marks::default(),
            downloaded_songs: Marks::default(),
            plays: BTreeMap::new(),
            players: BTreeMap::new(),
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_records(records)
    }

    fn state(&self) -> impl Serialize {
        self.view_state()
    }

    /// Lets the music play on.
    fn tick(&mut self) {
        self.advance_players();
    }
}

fn catalogue_tools(tools: Tools<Spotify>) -> Tools<Spotify> {
    tools
        .search_users(&[])
        .public(
            "search_songs",
            "By title, album, artist.",
            Spotify::search_songs,
        )
        .sorted_by(&fields::songs())
        .public("search_albums", "By title, artist.", Spotify::search_albums)
        .sorted_by(&fields::albums())
        .public("search_artists", "By their names.", Spotify::search_artists)
        .sorted_by(&fields::artists())
        .public("show_genres", "All there are.", Spotify::show_genres)
        .public("show_song", "With its artists.", Spotify::show_song)
        .public("show_album", "With its songs.", Spotify::show_album)
        .public("show_artist", "With followers.", Spotify::show_artist)
        .public(
            "show_song_reviews",
            "Latest first.",
            Spotify::show_song_reviews,
        )
        .sorted_by(&fields::reviews())
        .public(
            "show_song_review",
            "Shows a review of a song.",
            Spotify::show_song_review,
        )
        .private(
            "review_song",
            "Publishes your one review of a song.",
            Spotify::review_song,
        )
        .private(
            "update_song_review",
            "Only what is given.",
            Spotify::update_song_review,
        )
}

fn library_tools(tools: Tools<Spotify>) -> Tools<Spotify> {
    tools
        .private(
            "show_song_library",
            "Latest added first.",
            Spotify::show_song_library,
        )
        .sorted_by(&fields::added_songs())
        .private(
            "show_album_library",
            "Latest added first.",
            Spotify::show_album_library,
        )
        .sorted_by(&fields::added_albums())
        .private(
            "add_song_to_library",
            "Adds a song; it is neither liked nor downloaded.",
            Spotify::add_song_to_library,
        )
        .private(
            "add_album_to_library",
            "Adds an album, not its single songs.",
            Spotify::add_album_to_library,
        )
        .private(
            "remove_downloaded_song",
            "Removes a song from the downloads, not from the library.",
            Spotify::remove_downloaded_song,
        )
        .private(
            "show_liked_songs",
            "Latest liked first.",
            Spotify::show_liked_songs,
        )
        .sorted_by(&fields::liked_songs())
        .private("like_song", "Apart from the library.", Spotify::like_song)
        .private(
            "like_album",
            "Likes an album, not its single songs.",
            Spotify::like_album,
        )
        .private("like_playlist", "Public or yours.", Spotify::like_playlist)
        .private("follow_artist", "From now on.", Spotify::follow_artist)
        .private(
            "show_artist_following",
            "Tells whether you follow an artist.",
            Spotify::show_artist_following,
        )
}

fn playlist_tools(tools: Tools<Spotify>) -> Tools<Spotify> {
    tools
        .open(
            "search_playlists",
            "Public; with access_token yours too.",
            Spotify::search_playlists,
        )
        .sorted_by(&fields::playlists())
        .open("show_playlist", "With its songs.", Spotify::show_playlist)
        .private(
            "show_playlist_library",
            "Latest first.",
            Spotify::show_playlist_library,
        )
        .sorted_by(&fields::own_playlists())
        .private(
            "create_playlist",
            "Empty at first.",
            Spotify::create_playlist,
        )
        .private(
            "add_song_to_playlist",
            "At the end, at most once.",
            Spotify::add_song_to_playlist,
        )
        .private(
            "remove_song_from_playlist",
            "It stays elsewhere.",
            Spotify::remove_song_from_playlist,
        )
}

fn player_tools(tools: Tools<Spotify>) -> Tools<Spotify> {
    tools
        .private(
            "show_song_queue",
            "Shows the queue in order, with the current song marked.",
            Spotify::show_song_queue,
        )
        .private(
            "show_current_song",
            "Shows the queue's current song, whether it plays and how far it is.",
            Spotify::show_current_song,
        )
        .private(
            "add_to_queue",
            "Adds a song, or those of an album or playlist, at the end; nothing begins to play.",
            Spotify::add_to_queue,
        )
        .private(
            "remove_song_from_queue",
            "Removes a song; those behind move up.",
            Spotify::remove_song_from_queue,
        )
        .private(
            "play_music",
            "Puts a song, album or playlist in place of the queue and plays it, plays another song of the queue, \
             or without arguments plays on.",
            Spotify::play_music,
        )
        .private(
            "previous_song",
            "Plays the song before the current one from its start.",
            Spotify::previous_song,
        )
}

#[cfg(test)]
mod tests;
