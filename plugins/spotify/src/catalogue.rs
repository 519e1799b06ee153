//! The music itself: artists, albums and songs. Nothing that a listener does changes it.
//!
//! What the accounts add to it (likes, plays, reviews, followers) is kept elsewhere, by id, and only summed up with the
//! figures here: those are of listeners who have no account.

use std::cell::OnceCell;
use std::rc::Rc;

use jiff::civil::{Date, DateTime};
use pibench_sdk::layer::Layer;
use pibench_sdk::list::List;
use pibench_sdk::listing;
use pibench_sdk::search::Index;
use pibench_sdk::text::Text;
use serde::{Deserialize, Serialize};

pub(crate) type ArtistId = u32;
pub(crate) type AlbumId = u32;
pub(crate) type SongId = u32;

/// Somebody who makes music, alone or as a group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Artist {
    pub id: ArtistId,
    pub name: Text,
    pub genre: Text,
    /// Without those of the accounts.
    pub followers: u64,
    pub created_at: DateTime,
}

/// A published collection of songs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Album {
    pub id: AlbumId,
    pub title: Text,
    /// At least one.
    pub artists: List<ArtistId>,
    pub genre: Text,
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
    pub title: Text,
    /// `None` for a song that was published alone.
    pub album: Option<AlbumId>,
    /// At least one.
    pub artists: List<ArtistId>,
    pub genre: Text,
    pub release_date: Date,
    /// In seconds, at least 1.
    pub duration: u32,
    /// Without those of the accounts.
    pub plays: u64,
    pub likes: u64,
}

/// All music, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    pub artists: Layer<ArtistId, Artist>,
    pub albums: Layer<AlbumId, Album>,
    pub songs: Layer<SongId, Song>,
    /// Of the songs. Made at the first search after the music has changed; shared with copies of the app.
    #[serde(skip)]
    pub index: OnceCell<Rc<Index>>,
}

impl Catalogue {
    /// With the world's music, or empty.
    pub(crate) fn new(world: bool) -> Self {
        Self {
            artists: Layer::new(world),
            albums: Layer::new(world),
            songs: Layer::new(world),
            index: OnceCell::new(),
        }
    }

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

    /// The songs that match a query, best first; all by id without one.
    pub(crate) fn search_songs(&self, query: Option<&str>) -> Vec<&Song> {
        let songs: Vec<&Song> = self.songs.values().collect();
        let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
            return songs;
        };
        let texts = songs.iter().map(|song| self.song_text(song));
        let index = self.index.get_or_init(|| Rc::new(texts.collect()));
        listing::picked(songs, index.rank(query))
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
