//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    clippy::struct_field_names,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{List, Page};
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SongIdOnly {
    pub song_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlbumIdOnly {
    pub album_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtistIdOnly {
    pub artist_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaylistIdOnly {
    pub playlist_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewIdOnly {
    /// A song_review_id.
    pub review_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPlaylist {
    pub playlist_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSongs {
    pub artist_id: Option<u32>,
    pub album_id: Option<u32>,
    pub genre: Option<String>,
    #[serde(default)]
    pub min_release_date: Since,
    #[serde(default)]
    pub max_release_date: Until,
    /// Seconds.
    #[serde(default)]
    pub min_duration: u64,
    #[serde(default = "no_bound")]
    pub max_duration: u64,
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    #[serde(default = "best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    #[serde(default)]
    pub min_like_count: u64,
    #[serde(default = "no_bound")]
    pub max_like_count: u64,
    #[serde(default)]
    pub min_play_count: u64,
    #[serde(default = "no_bound")]
    pub max_play_count: u64,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchAlbums {
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    #[serde(default = "best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    #[serde(default)]
    pub min_release_date: Since,
    #[serde(default)]
    pub max_release_date: Until,
    #[serde(default)]
    pub min_like_count: u64,
    #[serde(default = "no_bound")]
    pub max_like_count: u64,
    pub genre: Option<String>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArtists {
    pub genre: Option<String>,
    #[serde(default)]
    pub min_follower_count: u64,
    #[serde(default = "no_bound")]
    pub max_follower_count: u64,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchPlaylists {
    #[serde(default)]
    pub min_like_count: u64,
    #[serde(default = "no_bound")]
    pub max_like_count: u64,
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    #[serde(default = "best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    pub owner_email: Option<String>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowSongLibrary {
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowAlbumLibrary {
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPlaylistLibrary {
    pub is_public: Option<bool>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowLikedSongs {
    pub sort_by: Option<String>,
    #[serde(flatten)]
    pub page: Page,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreatePlaylist {
    #[schemars(length(min = 1))]
    pub title: String,
    #[serde(default)]
    pub is_public: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaylistSong {
    pub playlist_id: u32,
    pub song_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToQueue {
    /// Give one of the three.
    pub song_id: Option<u32>,
    pub album_id: Option<u32>,
    pub playlist_id: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlayMusic {
    /// Give at most one of the four.
    pub song_id: Option<u32>,
    pub album_id: Option<u32>,
    pub playlist_id: Option<u32>,
    /// From 0.
    pub queue_position: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueuePosition {
    /// From 0.
    pub position: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewSong {
    pub song_id: u32,
    #[schemars(range(min = 1, max = 5))]
    pub rating: u8,
    pub title: Option<String>,
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSongReview {
    /// A song_review_id.
    pub review_id: u32,
    #[schemars(range(min = 1, max = 5))]
    pub rating: Option<u8>,
    pub title: Option<String>,
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowSongReviews {
    pub song_id: u32,
    pub user_email: Option<String>,
    #[serde(default = "one_star")]
    #[schemars(range(min = 1, max = 5))]
    pub min_rating: u8,
    #[serde(default = "five_stars")]
    #[schemars(range(min = 1, max = 5))]
    pub max_rating: u8,
    #[serde(flatten)]
    pub list: List,
}
