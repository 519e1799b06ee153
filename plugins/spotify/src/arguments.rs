//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    clippy::struct_field_names,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::Deserialize;

/// No upper bound for a count: the largest whole number that every client can write.
const NO_BOUND: u64 = i64::MAX as u64;

fn no_bound() -> u64 {
    NO_BOUND
}

fn best_rating() -> f64 {
    5.0
}

fn one_star() -> u8 {
    1
}

fn five_stars() -> u8 {
    5
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the default of an optional argument"
)]
fn latest_liked_first() -> Option<String> {
    Some("-liked_at".to_owned())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SongIdOnly {
    /// The song's id.
    pub song_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlbumIdOnly {
    /// The album's id.
    pub album_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtistIdOnly {
    /// The artist's id.
    pub artist_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaylistIdOnly {
    /// The playlist's id: a public one, or one of your own.
    pub playlist_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewIdOnly {
    /// The review's id, the song_review_id of show_song_reviews.
    pub review_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPlaylist {
    /// The playlist's id.
    pub playlist_id: u32,
    /// The access token from this app's login; only needed for a private playlist of your own.
    pub access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchUsers {
    /// Words to look for in names and email addresses; any of them may match. Without it, all.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSongs {
    /// Words to look for in song titles, album titles and artists' names; any of them may match. Without it, all songs.
    pub query: Option<String>,
    /// Only songs by this artist.
    pub artist_id: Option<u32>,
    /// Only songs of this album.
    pub album_id: Option<u32>,
    /// Only songs of this genre, one of show_genres.
    pub genre: Option<String>,
    /// Only songs released then or later: a date.
    #[serde(default)]
    pub min_release_date: Since,
    /// Only songs released then or earlier: a date.
    #[serde(default)]
    pub max_release_date: Until,
    /// The least duration, in seconds.
    #[serde(default)]
    pub min_duration: u64,
    /// The greatest duration, in seconds.
    #[serde(default = "no_bound")]
    pub max_duration: u64,
    /// The least rating; a song without reviews has 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    /// The greatest rating.
    #[serde(default = "best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    /// The least number of likes.
    #[serde(default)]
    pub min_like_count: u64,
    /// The greatest number of likes.
    #[serde(default = "no_bound")]
    pub max_like_count: u64,
    /// The least number of plays.
    #[serde(default)]
    pub min_play_count: u64,
    /// The greatest number of plays.
    #[serde(default = "no_bound")]
    pub max_play_count: u64,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: song_id, title, duration, release_date,
    /// play_count, rating, like_count, review_count.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchAlbums {
    /// Words to look for in titles and artists' names; any of them may match. Without it, all albums.
    pub query: Option<String>,
    /// The least rating; an album without reviews has 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    /// The greatest rating.
    #[serde(default = "best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    /// Only albums released then or later: a date.
    #[serde(default)]
    pub min_release_date: Since,
    /// Only albums released then or earlier: a date.
    #[serde(default)]
    pub max_release_date: Until,
    /// The least number of likes.
    #[serde(default)]
    pub min_like_count: u64,
    /// The greatest number of likes.
    #[serde(default = "no_bound")]
    pub max_like_count: u64,
    /// Only albums of this genre, one of show_genres.
    pub genre: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: album_id, title, release_date, rating,
    /// like_count, review_count.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArtists {
    /// Words to look for in names; any of them may match. Without it, all artists.
    pub query: Option<String>,
    /// Only artists of this genre, one of show_genres.
    pub genre: Option<String>,
    /// The least number of followers.
    #[serde(default)]
    pub min_follower_count: u64,
    /// The greatest number of followers.
    #[serde(default = "no_bound")]
    pub max_follower_count: u64,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: artist_id, name, follower_count, created_at.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchPlaylists {
    /// Words to look for in titles; any of them may match. Without it, all public playlists.
    pub query: Option<String>,
    /// The least number of likes.
    #[serde(default)]
    pub min_like_count: u64,
    /// The greatest number of likes.
    #[serde(default = "no_bound")]
    pub max_like_count: u64,
    /// The least rating; a playlist without reviews has 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    /// The greatest rating.
    #[serde(default = "best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    /// Only playlists of the person with this email address.
    pub owner_email: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: playlist_id, title, created_at, rating,
    /// like_count, review_count.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowSongLibrary {
    /// Words to look for in song titles, album titles and artists' names; any of them may match. Without it, all.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: added_at, song_id, title, duration,
    /// release_date, play_count, rating, like_count, review_count.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowAlbumLibrary {
    /// Words to look for in titles and artists' names; any of them may match. Without it, all.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: added_at, album_id, title, release_date,
    /// rating, like_count, review_count.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPlaylistLibrary {
    /// Words to look for in titles; any of them may match. Without it, all.
    pub query: Option<String>,
    /// Only public playlists (true), or only private ones (false).
    pub is_public: Option<bool>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: playlist_id, title, created_at, rating,
    /// like_count, review_count.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowLikedSongs {
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: liked_at, song_id, title, duration,
    /// release_date, play_count, rating, like_count, review_count.
    #[serde(default = "latest_liked_first")]
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreatePlaylist {
    /// The playlist's title, not empty.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Whether everybody may see it, or only you.
    #[serde(default)]
    pub is_public: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaylistSong {
    /// The id of one of your playlists.
    pub playlist_id: u32,
    /// The song's id.
    pub song_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToQueue {
    /// Add this song. Give exactly one of the three.
    pub song_id: Option<u32>,
    /// Add all songs of this album.
    pub album_id: Option<u32>,
    /// Add all songs of this playlist: a public one, or one of your own.
    pub playlist_id: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlayMusic {
    /// Play this song. Give at most one of the four.
    pub song_id: Option<u32>,
    /// Play this album from its first song.
    pub album_id: Option<u32>,
    /// Play this playlist from its first song: a public one, or one of your own.
    pub playlist_id: Option<u32>,
    /// Play the song at this position of the queue, counted from 0 as in show_song_queue.
    pub queue_position: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueuePosition {
    /// The position in the queue, counted from 0 as in show_song_queue.
    pub position: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewSong {
    /// The song's id.
    pub song_id: u32,
    /// From 1 (worst) to 5 (best).
    #[schemars(range(min = 1, max = 5))]
    pub rating: u8,
    /// The review's title; may be left out.
    pub title: Option<String>,
    /// What you think of the song; may be left out.
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSongReview {
    /// The id of one of your reviews, the song_review_id of show_song_reviews.
    pub review_id: u32,
    /// The new rating, from 1 (worst) to 5 (best).
    #[schemars(range(min = 1, max = 5))]
    pub rating: Option<u8>,
    /// The new title.
    pub title: Option<String>,
    /// The new text, in place of the old.
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowSongReviews {
    /// The song's id.
    pub song_id: u32,
    /// Words to look for in titles and texts; any of them may match. Without it, all reviews of the song.
    pub query: Option<String>,
    /// Only the review of the person with this email address.
    pub user_email: Option<String>,
    /// The least rating.
    #[serde(default = "one_star")]
    #[schemars(range(min = 1, max = 5))]
    pub min_rating: u8,
    /// The greatest rating.
    #[serde(default = "five_stars")]
    #[schemars(range(min = 1, max = 5))]
    pub max_rating: u8,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// What to sort by, with + (ascending) or - (descending) before it: created_at, rating, song_review_id.
    pub sort_by: Option<String>,
}
