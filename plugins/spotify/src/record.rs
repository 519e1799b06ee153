//! What a seed may hold, and how it becomes music and listeners; the crate's documentation shows it.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime};
use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::records::Records;
use pibench_sdk::text::Text;
use pibench_sdk::{clock, time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Spotify;
use crate::catalogue::{Album, AlbumId, Artist, ArtistId, Song, SongId};
use crate::made::{Playlist, PlaylistId};
use crate::marks::Marks;
use crate::player::{Playback, Player, earlier};
use crate::playlists::{MAX_SONGS, checked_title};

/// The most artists of a song or an album: a full queue stays within what an answer may hold.
const MAX_ARTISTS: usize = 5;

/// What the records call things: for each kind, an id by key.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Keys {
    artists: BTreeMap<String, ArtistId>,
    albums: BTreeMap<String, AlbumId>,
    songs: BTreeMap<String, SongId>,
    playlists: BTreeMap<String, PlaylistId>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtistRecord {
    id: Option<String>,
    name: String,
    genre: String,
    #[serde(default)]
    followers: u64,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlbumRecord {
    id: Option<String>,
    title: String,
    artists: Vec<String>,
    genre: String,
    release_date: String,
    #[serde(default)]
    likes: u64,
    #[serde(default)]
    rating: f64,
    #[serde(default)]
    review_count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SongRecord {
    id: Option<String>,
    title: String,
    album: Option<String>,
    artists: Option<Vec<String>>,
    genre: Option<String>,
    release_date: Option<String>,
    duration: u32,
    #[serde(default)]
    plays: u64,
    #[serde(default)]
    likes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaylistRecord {
    id: Option<String>,
    owner: Email,
    title: String,
    #[serde(default)]
    public: bool,
    #[serde(default)]
    songs: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
    #[serde(default)]
    likes: u64,
    #[serde(default)]
    rating: f64,
    #[serde(default)]
    review_count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewRecord {
    song: String,
    user: Email,
    rating: u8,
    title: Option<String>,
    text: Option<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LibraryRecord {
    owner: Email,
    #[serde(default)]
    songs: Vec<String>,
    #[serde(default)]
    albums: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    added_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LikesRecord {
    owner: Email,
    #[serde(default)]
    songs: Vec<String>,
    #[serde(default)]
    albums: Vec<String>,
    #[serde(default)]
    playlists: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    liked_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FollowsRecord {
    owner: Email,
    artists: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    followed_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DownloadsRecord {
    owner: Email,
    songs: Vec<String>,
    #[serde(default, deserialize_with = "time::read_moment")]
    downloaded_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlayerRecord {
    owner: Email,
    queue: Vec<String>,
    #[serde(default)]
    position: usize,
    #[serde(default)]
    played_seconds: u32,
    #[serde(default)]
    playing: bool,
    #[serde(default)]
    looping: bool,
}

impl Spotify {
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        self.catalogue.index.take();
        self.add_each(records, "artists", Self::add_artist)?;
        self.add_each(records, "albums", Self::add_album)?;
        self.add_each(records, "songs", Self::add_song)?;
        self.add_each(records, "playlists", Self::add_playlist)?;
        self.add_each(records, "reviews", Self::add_review)?;
        self.add_each(records, "library", Self::add_library)?;
        self.add_each(records, "likes", Self::add_likes)?;
        self.add_each(records, "follows", Self::add_follows)?;
        self.add_each(records, "downloads", Self::add_downloads)?;
        self.add_each(records, "players", Self::add_player)
    }

    fn add_each<T: DeserializeOwned>(
        &mut self,
        records: &mut Records,
        list: &str,
        add: fn(&mut Self, T) -> Result<(), String>,
    ) -> Result<(), String> {
        for (index, record) in records.take_list(list)?.into_iter().enumerate() {
            add(self, record).map_err(|error| format!("{list}[{index}]: {error}"))?;
        }
        Ok(())
    }

    fn add_artist(&mut self, record: ArtistRecord) -> Result<(), String> {
        let ArtistRecord {
            id: key,
            name,
            genre,
            followers,
            created_at,
        } = record;
        let id = self.catalogue.artists.next_id();
        let artist = Artist {
            id,
            name: checked_text("name", name)?,
            genre: checked_genre(genre)?,
            followers,
            created_at: created_at.unwrap_or_else(clock::now),
        };
        keep_key(&mut self.keys.artists, key, id)?;
        self.catalogue.artists.insert(id, artist);
        Ok(())
    }

    fn add_album(&mut self, record: AlbumRecord) -> Result<(), String> {
        let AlbumRecord {
            id: key,
            title,
            artists,
            genre,
            release_date,
            likes,
            rating,
            review_count,
        } = record;
        let id = self.catalogue.albums.next_id();
        let album = Album {
            id,
            title: checked_text("title", title)?,
            artists: self.checked_artists(&artists)?,
            genre: checked_genre(genre)?,
            release_date: release_day(&release_date)?,
            likes,
            rating: checked_rating(rating, review_count)?,
            review_count,
        };
        keep_key(&mut self.keys.albums, key, id)?;
        self.catalogue.albums.insert(id, album);
        Ok(())
    }

    /// What is left out is the album's.
    fn add_song(&mut self, record: SongRecord) -> Result<(), String> {
        let SongRecord {
            id: key,
            title,
            album,
            artists,
            genre,
            release_date,
            duration,
            plays,
            likes,
        } = record;
        if duration == 0 {
            return Err("duration: at least 1 second is needed".to_owned());
        }
        let album = album
            .map(|key| one(&self.keys.albums, "album", &key))
            .transpose()?;
        let album = album.and_then(|id| self.catalogue.album(id));
        let missing = |field: &str| format!("{field}: needed for a song without an album");
        let artists = artists
            .map(|keys| self.checked_artists(&keys))
            .transpose()?;
        let artists = artists
            .or_else(|| album.map(|album| album.artists.clone()))
            .ok_or_else(|| missing("artists"))?;
        let genre = genre.map(checked_genre).transpose()?;
        let genre = genre
            .or_else(|| album.map(|album| album.genre.clone()))
            .ok_or_else(|| missing("genre"))?;
        let release_date = release_date.as_deref().map(release_day).transpose()?;
        let release_date = release_date
            .or_else(|| album.map(|album| album.release_date))
            .ok_or_else(|| missing("release_date"))?;
        let id = self.catalogue.songs.next_id();
        let song = Song {
            id,
            title: checked_text("title", title)?,
            album: album.map(|album| album.id),
            artists,
            genre,
            release_date,
            duration,
            plays,
            likes,
        };
        keep_key(&mut self.keys.songs, key, id)?;
        self.catalogue.songs.insert(id, song);
        Ok(())
    }

    fn add_playlist(&mut self, record: PlaylistRecord) -> Result<(), String> {
        let PlaylistRecord {
            id: key,
            owner,
            title,
            public,
            songs,
            created_at,
            likes,
            rating,
            review_count,
        } = record;
        self.check_account("owner", &owner)?;
        if songs.len() > MAX_SONGS {
            return Err(format!("songs: at most {MAX_SONGS} fit"));
        }
        let id = self.playlists.next_id();
        let playlist = Playlist {
            id,
            owner,
            title: checked_text("title", title)?,
            public,
            songs: each_once(&self.keys.songs, "songs", &songs)?,
            created_at: created_at.unwrap_or_else(clock::now),
            likes,
            rating: checked_rating(rating, review_count)?,
            review_count,
        };
        keep_key(&mut self.keys.playlists, key, id)?;
        self.playlists.insert(id, playlist);
        Ok(())
    }

    fn add_review(&mut self, record: ReviewRecord) -> Result<(), String> {
        let ReviewRecord {
            song,
            user,
            rating,
            title,
            text,
            created_at,
        } = record;
        self.check_account("user", &user)?;
        let song = one(&self.keys.songs, "song", &song)?;
        let created_at = created_at.unwrap_or_else(clock::now);
        self.new_review(rating, title, text, created_at)
            .and_then(|review| self.keep_review(song, &user, review))
            .map_err(|error| error.message)?;
        Ok(())
    }

    fn add_library(&mut self, record: LibraryRecord) -> Result<(), String> {
        let LibraryRecord {
            owner,
            songs,
            albums,
            added_at,
        } = record;
        self.check_account("owner", &owner)?;
        let mark = Mark::new("songs or albums", &owner, added_at, [&songs, &albums])?;
        mark.set("songs", &songs, &self.keys.songs, &mut self.library_songs)?;
        mark.set(
            "albums",
            &albums,
            &self.keys.albums,
            &mut self.library_albums,
        )
    }

    fn add_likes(&mut self, record: LikesRecord) -> Result<(), String> {
        let LikesRecord {
            owner,
            songs,
            albums,
            playlists,
            liked_at,
        } = record;
        self.check_account("owner", &owner)?;
        let all = [&songs, &albums, &playlists];
        let mark = Mark::new("songs, albums or playlists", &owner, liked_at, all)?;
        for key in &playlists {
            let id = one(&self.keys.playlists, "playlists", key)?;
            self.readable_playlist(&owner, id)
                .map_err(|error| format!("playlists: {}", error.message))?;
        }
        mark.set("songs", &songs, &self.keys.songs, &mut self.liked_songs)?;
        mark.set("albums", &albums, &self.keys.albums, &mut self.liked_albums)?;
        mark.set(
            "playlists",
            &playlists,
            &self.keys.playlists,
            &mut self.liked_playlists,
        )
    }

    fn add_follows(&mut self, record: FollowsRecord) -> Result<(), String> {
        let FollowsRecord {
            owner,
            artists,
            followed_at,
        } = record;
        self.check_account("owner", &owner)?;
        let mark = Mark::new("artists", &owner, followed_at, [&artists])?;
        mark.set(
            "artists",
            &artists,
            &self.keys.artists,
            &mut self.followed_artists,
        )
    }

    fn add_downloads(&mut self, record: DownloadsRecord) -> Result<(), String> {
        let DownloadsRecord {
            owner,
            songs,
            downloaded_at,
        } = record;
        self.check_account("owner", &owner)?;
        let mark = Mark::new("songs", &owner, downloaded_at, [&songs])?;
        mark.set(
            "songs",
            &songs,
            &self.keys.songs,
            &mut self.downloaded_songs,
        )
    }

    /// In place of the player that the owner may have.
    fn add_player(&mut self, record: PlayerRecord) -> Result<(), String> {
        let PlayerRecord {
            owner,
            queue,
            position,
            played_seconds,
            playing,
            looping,
        } = record;
        self.check_account("owner", &owner)?;
        let song = |key: &String| one(&self.keys.songs, "queue", key);
        let queue: Vec<SongId> = queue.iter().map(song).collect::<Result<_, _>>()?;
        let playback = if playing {
            let since = earlier(clock::now(), played_seconds);
            Playback::Playing { since }
        } else {
            Playback::Resting { played_seconds }
        };
        let player = Player::new(queue, position, playback, looping)?;
        let duration = player
            .current()
            .map_or(0, |song| self.catalogue.duration(song));
        if played_seconds >= duration {
            return Err(format!(
                "played_seconds: {played_seconds} is not within the song, which has {duration}"
            ));
        }
        self.players.insert(owner, player);
        Ok(())
    }

    fn check_account(&self, field: &str, email: &Email) -> Result<(), String> {
        if self.accounts.contains(email) {
            return Ok(());
        }
        Err(format!("{field}: {email} has no account"))
    }

    fn checked_artists(&self, keys: &[String]) -> Result<List<ArtistId>, String> {
        if keys.is_empty() || keys.len() > MAX_ARTISTS {
            return Err(format!("artists: 1 to {MAX_ARTISTS} are needed"));
        }
        each_once(&self.keys.artists, "artists", keys)
    }
}

/// Somebody's marks of one moment.
struct Mark<'a> {
    owner: &'a Email,
    at: DateTime,
}

impl<'a> Mark<'a> {
    /// An error if nothing is marked: the record would say nothing.
    fn new<const N: usize>(
        what: &str,
        owner: &'a Email,
        at: Option<DateTime>,
        lists: [&Vec<String>; N],
    ) -> Result<Self, String> {
        if lists.iter().all(|list| list.is_empty()) {
            return Err(format!("no {what} are named"));
        }
        let at = at.unwrap_or_else(clock::now);
        Ok(Self { owner, at })
    }

    fn set(
        &self,
        field: &str,
        keys: &[String],
        ids: &BTreeMap<String, u32>,
        marks: &mut Marks,
    ) -> Result<(), String> {
        for key in keys {
            if !marks.set(one(ids, field, key)?, self.owner, self.at) {
                return Err(format!(
                    "{field}: {key:?} stands there already for {}",
                    self.owner
                ));
            }
        }
        Ok(())
    }
}

fn keep_key(keys: &mut BTreeMap<String, u32>, key: Option<String>, id: u32) -> Result<(), String> {
    let Some(key) = key else {
        return Ok(());
    };
    if keys.contains_key(&key) {
        return Err(format!("id: {key:?} is in use already"));
    }
    keys.insert(key, id);
    Ok(())
}

fn one(keys: &BTreeMap<String, u32>, field: &str, key: &str) -> Result<u32, String> {
    keys.get(key)
        .copied()
        .ok_or_else(|| format!("{field}: no record before this has the key {key:?}"))
}

fn each_once(
    ids: &BTreeMap<String, u32>,
    field: &str,
    keys: &[String],
) -> Result<List<u32>, String> {
    let mut found = Vec::new();
    for key in keys {
        let id = one(ids, field, key)?;
        if found.contains(&id) {
            return Err(format!("{field}: {key:?} stands there twice"));
        }
        found.push(id);
    }
    Ok(found.into())
}

/// A name or title as the tools check it.
fn checked_text(field: &str, text: String) -> Result<Text, String> {
    let checked = checked_title(field, text).map_err(|error| error.message)?;
    Ok(checked.into())
}

/// As it is written: `R&B`, `hip-hop`.
fn checked_genre(genre: String) -> Result<Text, String> {
    checked_text("genre", genre)
}

fn release_day(text: &str) -> Result<Date, String> {
    time::parse_date("release_date", text).map_err(|error| error.message)
}

fn checked_rating(rating: f64, review_count: u64) -> Result<f64, String> {
    if review_count == 0 && rating != 0.0 {
        return Err("rating: there is none without a review_count".to_owned());
    }
    if review_count > 0 && !(1.0..=5.0).contains(&rating) {
        return Err(format!("rating: from 1 to 5, not {rating}"));
    }
    Ok(rating)
}
