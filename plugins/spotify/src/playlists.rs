//! Playlists and their tools. A private playlist exists for its owner only.

use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::list::List;
use pibench_sdk::listing;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Spotify;
use crate::arguments;
use crate::made::{Playlist, PlaylistId};
use crate::rows::{Row, fields};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPlaylist {
    pub playlist_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchPlaylists {
    #[serde(default)]
    pub min_like_count: u64,
    #[serde(default = "arguments::no_bound")]
    pub max_like_count: u64,
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    #[serde(default = "arguments::best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    pub owner_email: Option<String>,
    #[serde(flatten)]
    pub list: listing::List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowPlaylistLibrary {
    pub is_public: Option<bool>,
    #[serde(flatten)]
    pub list: listing::List,
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

/// The most songs of a playlist: one answer shows it whole.
pub(crate) const MAX_SONGS: usize = 500;
/// The longest title, in bytes.
const MAX_TITLE: usize = 200;

impl Spotify {
    pub(crate) fn search_playlists(
        &mut self,
        me: Option<&Email>,
        arguments: SearchPlaylists,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchPlaylists {
            min_like_count,
            max_like_count,
            min_rating,
            max_rating,
            owner_email,
            list,
        } = arguments;
        arguments::check_ratings([min_rating, max_rating], 0)?;
        let owner = self.accounts.named_by(owner_email.as_deref())?;
        let wanted = |playlist: &&Playlist| {
            (playlist.public || Some(&playlist.owner) == me)
                && owner.as_ref().is_none_or(|owner| playlist.owner == *owner)
        };
        let playlists = self.playlists.values().filter(wanted);
        let rows = playlists.map(|playlist| self.playlist_row(playlist));
        let rows = rows.filter(|row| {
            (min_like_count..=max_like_count).contains(&row.figures.likes)
                && (min_rating..=max_rating).contains(&row.figures.rating)
        });
        self.list_playlists(rows.collect(), &list, &fields::playlists())
    }

    /// One's own playlists, the latest first.
    pub(crate) fn show_playlist_library(
        &mut self,
        me: &Email,
        arguments: ShowPlaylistLibrary,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowPlaylistLibrary { is_public, list } = arguments;
        let wanted = |playlist: &&Playlist| {
            playlist.owner == *me && is_public.is_none_or(|public| playlist.public == public)
        };
        let mut playlists: Vec<&Playlist> = self.playlists.values().filter(wanted).collect();
        playlists.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.id.cmp(&a.id)));
        let rows = playlists
            .into_iter()
            .map(|playlist| self.playlist_row(playlist));
        self.list_playlists(rows.collect(), &list, &fields::own_playlists())
    }

    fn list_playlists<'a>(
        &'a self,
        rows: Vec<Row<'a, Playlist>>,
        list: &listing::List,
        fields: &[listing::Field<Row<'a, Playlist>>],
    ) -> Result<Vec<Value>, ToolError> {
        let rows = list.of(rows, |row| row.thing.title.to_string(), fields)?;
        Ok(rows.iter().map(|row| self.view_playlist_row(row)).collect())
    }

    pub(crate) fn show_playlist(
        &mut self,
        me: Option<&Email>,
        ShowPlaylist { playlist_id }: ShowPlaylist,
    ) -> Result<Value, ToolError> {
        let playlist = match me {
            Some(me) => self.readable_playlist(me, playlist_id)?,
            None => self.public_playlist(playlist_id)?,
        };
        Ok(self.view_playlist(playlist))
    }

    pub(crate) fn create_playlist(
        &mut self,
        me: &Email,
        arguments: CreatePlaylist,
    ) -> Result<Value, ToolError> {
        let CreatePlaylist { title, is_public } = arguments;
        let title = checked_title("title", title)?;
        let mine = |playlist: &&Playlist| playlist.owner == *me && playlist.title == *title;
        if let Some(earlier) = self.playlists.values().find(mine) {
            return Err(ToolError::taken(format!(
                "Your playlist {} has the title {title:?} already.",
                earlier.id
            )));
        }
        let message = format!("The playlist {title:?} is created.");
        let id = self.playlists.next_id();
        let playlist = Playlist {
            id,
            owner: me.clone(),
            title: title.into(),
            public: is_public,
            songs: List::default(),
            created_at: clock::now(),
            likes: 0,
            rating: 0.0,
            review_count: 0,
        };
        self.playlists.insert(id, playlist);
        Ok(json!({"message": message, "playlist_id": id}))
    }

    pub(crate) fn add_song_to_playlist(
        &mut self,
        me: &Email,
        arguments: PlaylistSong,
    ) -> Result<Value, ToolError> {
        let PlaylistSong {
            playlist_id,
            song_id,
        } = arguments;
        let playlist = self.own_playlist(me, playlist_id)?;
        let title = &self.song_meant(song_id)?.title;
        if playlist.songs.contains(&song_id) {
            return Err(ToolError::invalid(format!(
                "Song {song_id} ({title}) is in playlist {playlist_id} already."
            )));
        }
        if playlist.songs.len() >= MAX_SONGS {
            return Err(ToolError::invalid(format!(
                "Playlist {playlist_id} is full: it has {MAX_SONGS} songs."
            )));
        }
        let message = format!("Song {song_id} ({title}) is added to playlist {playlist_id}.");
        if let Some(playlist) = self.playlists.get_mut(&playlist_id) {
            playlist.songs.to_mut().push(song_id);
        }
        Ok(json!({"message": message}))
    }

    pub(crate) fn remove_song_from_playlist(
        &mut self,
        me: &Email,
        arguments: PlaylistSong,
    ) -> Result<Value, ToolError> {
        let PlaylistSong {
            playlist_id,
            song_id,
        } = arguments;
        let playlist = self.own_playlist(me, playlist_id)?;
        let title = &self.song(song_id)?.title;
        if !playlist.songs.contains(&song_id) {
            return Err(ToolError::invalid(format!(
                "Song {song_id} ({title}) is not in playlist {playlist_id}."
            )));
        }
        let message = format!("Song {song_id} ({title}) is removed from playlist {playlist_id}.");
        if let Some(playlist) = self.playlists.get_mut(&playlist_id) {
            playlist.songs.to_mut().retain(|song| *song != song_id);
        }
        Ok(json!({"message": message}))
    }

    fn playlist(&self, id: PlaylistId) -> Result<&Playlist, ToolError> {
        self.playlists
            .get(&id)
            .ok_or_else(|| ToolError::conflict("playlist", id))
    }

    /// 409 if there is none, 401 if only somebody who is logged in may see it.
    fn public_playlist(&self, id: PlaylistId) -> Result<&Playlist, ToolError> {
        let playlist = self.playlist(id)?;
        if playlist.public {
            return Ok(playlist);
        }
        Err(ToolError::unauthorized(format!(
            "Playlist {id} is private. Its owner can see it with the access_token."
        )))
    }

    /// A public playlist or one's own: 409 if there is none, 422 if it is somebody else's private one.
    pub(crate) fn readable_playlist(
        &self,
        me: &Email,
        id: PlaylistId,
    ) -> Result<&Playlist, ToolError> {
        let playlist = self.playlist(id)?;
        if playlist.public || playlist.owner == *me {
            return Ok(playlist);
        }
        Err(ToolError::invalid(format!(
            "Playlist {id} is private and belongs to another account."
        )))
    }

    /// One's own playlist: 409 if there is none, 422 if it is somebody else's.
    fn own_playlist(&self, me: &Email, id: PlaylistId) -> Result<&Playlist, ToolError> {
        let playlist = self.playlist(id)?;
        if playlist.owner == *me {
            return Ok(playlist);
        }
        Err(ToolError::invalid(format!(
            "Playlist {id} belongs to another account."
        )))
    }
}

/// Trimmed, 1 to 200 bytes. 422 with the name of the field otherwise.
pub(crate) fn checked_title(field: &str, title: String) -> Result<String, ToolError> {
    let trimmed = title.trim();
    if trimmed.is_empty() {
        return Err(ToolError::invalid(format!(
            "The {field} must not be empty."
        )));
    }
    if trimmed.len() > MAX_TITLE {
        return Err(ToolError::invalid(format!(
            "The {field} has {} bytes; at most {MAX_TITLE} fit.",
            trimmed.len()
        )));
    }
    Ok(trimmed.to_owned())
}
