//! What accounts make of the music: playlists and reviews. Their tools are elsewhere.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;
use serde::{Deserialize, Serialize};

use crate::catalogue::SongId;

pub(crate) type PlaylistId = u32;

/// Songs in an order of somebody's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Playlist {
    pub id: PlaylistId,
    pub owner: Email,
    pub title: Text,
    pub public: bool,
    /// Each once.
    pub songs: List<SongId>,
    pub created_at: DateTime,
    /// Without those of the accounts.
    pub likes: u64,
    /// 0 to 5; 0 without reviews.
    pub rating: f64,
    pub review_count: u64,
}

/// What somebody thinks of a song; whom and which says the place where it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Review {
    pub id: u32,
    /// 1 to 5.
    pub rating: u8,
    /// May be empty, like the text.
    pub title: Text,
    pub text: Text,
    pub created_at: DateTime,
}
