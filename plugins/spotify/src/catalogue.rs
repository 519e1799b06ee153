//! The music itself: artists, albums and songs. Nothing that a listener does changes it.
//!
//! What the accounts add to it (likes, plays, reviews, followers) is kept elsewhere, by id, and only summed up with the
//! figures here: those are of listeners who have no account. So a constant catalogue can lie under the state, with the
//! ids of its records below those of new ones.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

pub(crate) type ArtistId = u32;
pub(crate) type AlbumId = u32;
pub(crate) type SongId = u32;

/// Somebody who makes music, alone or as a group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Artist {
    pub id: ArtistId,
    pub name: String,
    pub genre: String,
    /// Without those of the accounts.
    pub followers: u64,
    pub created_at: DateTime,
}

/// A published collection of songs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Album {
    pub id: AlbumId,
    pub title: String,
    /// At least one.
    pub artists: Vec<ArtistId>,
    pub genre: String,
    pub release_date: Date,
    /// Without those of the accounts.
    pub likes: u64,
    /// 0 to 5; 0 without reviews.
    pub rating: f64,
    pub review_count: u64,
}

/// One recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Song {
    pub id: SongId,
    pub title: String,
    /// `None` for a song that was published alone.
    pub album: Option<AlbumId>,
    /// At least one.
    pub artists: Vec<ArtistId>,
    pub genre: String,
    pub release_date: Date,
    /// In seconds, at least 1.
    pub duration: u32,
    /// Without those of the accounts.
    pub plays: u64,
    pub likes: u64,
}

/// All music, by id.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    pub artists: BTreeMap<ArtistId, Artist>,
    pub albums: BTreeMap<AlbumId, Album>,
    pub songs: BTreeMap<SongId, Song>,
}

impl Catalogue {
    pub(crate) fn artist(&self, id: ArtistId) -> Option<&Artist> {
        self.artists.get(&id)
    }

    pub(crate) fn album(&self, id: AlbumId) -> Option<&Album> {
        self.albums.get(&id)
    }

    pub(crate) fn song(&self, id: SongId) -> Option<&Song> {
        self.songs.get(&id)
    }

    /// The songs of an album in their order on it, which is that of their ids.
    pub(crate) fn songs_of(&self, album: AlbumId) -> impl Iterator<Item = &Song> {
        self.songs
            .values()
            .filter(move |song| song.album == Some(album))
    }

    pub(crate) fn album_of(&self, song: &Song) -> Option<&Album> {
        self.album(song.album?)
    }

    pub(crate) fn artists_of(&self, ids: &[ArtistId]) -> impl Iterator<Item = &Artist> {
        ids.iter().filter_map(|id| self.artist(*id))
    }

    /// In seconds; 1 for a song that does not exist, so that playing it would end.
    pub(crate) fn duration(&self, song: SongId) -> u32 {
        self.song(song).map_or(1, |song| song.duration.max(1))
    }

    /// What is searched for a song: its title, its album's, and the names of its artists.
    pub(crate) fn song_text(&self, song: &Song) -> String {
        let album = self.album_of(song).map_or("", |album| album.title.as_str());
        self.text([song.title.as_str(), album], &song.artists)
    }

    /// What is searched for an album: its title and the names of its artists.
    pub(crate) fn album_text(&self, album: &Album) -> String {
        self.text([album.title.as_str()], &album.artists)
    }

    fn text<const N: usize>(&self, titles: [&str; N], artists: &[ArtistId]) -> String {
        let names = self.artists_of(artists).map(|artist| artist.name.as_str());
        titles
            .into_iter()
            .chain(names)
            .collect::<Vec<_>>()
            .join("\n")
    }
}
