//! The tools about what somebody keeps, likes, follows and downloaded.

use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::listing;
use pibench_sdk::listing::{List, Page};
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Spotify;
use crate::arguments::{AlbumIdOnly, ArtistIdOnly, SongIdOnly};
use crate::rows::fields;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaylistIdOnly {
    pub playlist_id: u32,
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
pub(crate) struct ShowLikedSongs {
    pub sort_by: Option<String>,
    #[serde(flatten)]
    pub page: Page,
}

impl Spotify {
    pub(crate) fn add_song_to_library(
        &mut self,
        me: &Email,
        SongIdOnly { song_id }: SongIdOnly,
    ) -> Result<Value, ToolError> {
        let title = self.song(song_id)?.title.clone();
        if self.library_songs.set(song_id, me, clock::now()) {
            Ok(told(format!(
                "Song {song_id} ({title}) is in your library now."
            )))
        } else {
            refuse(format!(
                "Song {song_id} ({title}) is in your library already."
            ))
        }
    }

    pub(crate) fn add_album_to_library(
        &mut self,
        me: &Email,
        AlbumIdOnly { album_id }: AlbumIdOnly,
    ) -> Result<Value, ToolError> {
        let title = self.album(album_id)?.title.clone();
        if self.library_albums.set(album_id, me, clock::now()) {
            Ok(told(format!(
                "Album {album_id} ({title}) is in your library now."
            )))
        } else {
            refuse(format!(
                "Album {album_id} ({title}) is in your library already."
            ))
        }
    }

    pub(crate) fn like_song(
        &mut self,
        me: &Email,
        SongIdOnly { song_id }: SongIdOnly,
    ) -> Result<Value, ToolError> {
        let title = self.song(song_id)?.title.clone();
        if self.liked_songs.set(song_id, me, clock::now()) {
            Ok(told(format!("You like song {song_id} ({title}) now.")))
        } else {
            refuse(format!("You like song {song_id} ({title}) already."))
        }
    }

    pub(crate) fn like_album(
        &mut self,
        me: &Email,
        AlbumIdOnly { album_id }: AlbumIdOnly,
    ) -> Result<Value, ToolError> {
        let title = self.album(album_id)?.title.clone();
        if self.liked_albums.set(album_id, me, clock::now()) {
            Ok(told(format!("You like album {album_id} ({title}) now.")))
        } else {
            refuse(format!("You like album {album_id} ({title}) already."))
        }
    }

    pub(crate) fn like_playlist(
        &mut self,
        me: &Email,
        PlaylistIdOnly { playlist_id }: PlaylistIdOnly,
    ) -> Result<Value, ToolError> {
        let title = self.readable_playlist(me, playlist_id)?.title.clone();
        if self.liked_playlists.set(playlist_id, me, clock::now()) {
            Ok(told(format!(
                "You like playlist {playlist_id} ({title}) now."
            )))
        } else {
            refuse(format!(
                "You like playlist {playlist_id} ({title}) already."
            ))
        }
    }

    pub(crate) fn follow_artist(
        &mut self,
        me: &Email,
        ArtistIdOnly { artist_id }: ArtistIdOnly,
    ) -> Result<Value, ToolError> {
        let name = self.artist(artist_id)?.name.clone();
        if self.followed_artists.set(artist_id, me, clock::now()) {
            Ok(told(format!("You follow artist {artist_id} ({name}) now.")))
        } else {
            refuse(format!("You follow artist {artist_id} ({name}) already."))
        }
    }

    pub(crate) fn show_artist_following(
        &mut self,
        me: &Email,
        ArtistIdOnly { artist_id }: ArtistIdOnly,
    ) -> Result<Value, ToolError> {
        self.artist(artist_id)?;
        Ok(json!({"following": self.followed_artists.has(artist_id, me)}))
    }

    pub(crate) fn remove_downloaded_song(
        &mut self,
        me: &Email,
        SongIdOnly { song_id }: SongIdOnly,
    ) -> Result<Value, ToolError> {
        let title = self.song_meant(song_id)?.title.clone();
        if self.downloaded_songs.remove(song_id, me) {
            Ok(told(format!(
                "Song {song_id} ({title}) is no longer downloaded."
            )))
        } else {
            refuse(format!(
                "Song {song_id} ({title}) is not among your downloads."
            ))
        }
    }

    pub(crate) fn show_song_library(
        &mut self,
        me: &Email,
        arguments: ShowSongLibrary,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowSongLibrary { list } = arguments;
        let rows = self.marked_songs(&self.library_songs, me);
        let text = |row: &_| self.text_of_song(row);
        let rows = list.of(rows, text, &fields::added_songs())?;
        let view = |row| self.view_marked_song("added_at", row);
        Ok(rows.iter().map(view).collect())
    }

    pub(crate) fn show_album_library(
        &mut self,
        me: &Email,
        arguments: ShowAlbumLibrary,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowAlbumLibrary { list } = arguments;
        let rows = self.marked_albums(&self.library_albums, me);
        let text = |row: &_| self.text_of_album(row);
        let rows = list.of(rows, text, &fields::added_albums())?;
        let view = |row| {
            let mut view = self.view_album_row(row);
            view["added_at"] = json!(row.at);
            view
        };
        Ok(rows.iter().map(view).collect())
    }

    pub(crate) fn show_liked_songs(
        &mut self,
        me: &Email,
        arguments: ShowLikedSongs,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowLikedSongs { sort_by, page } = arguments;
        let mut rows = self.marked_songs(&self.liked_songs, me);
        listing::sort(&mut rows, sort_by.as_deref(), &fields::liked_songs())?;
        let rows = page.of(rows);
        let view = |row| self.view_marked_song("liked_at", row);
        Ok(rows.iter().map(view).collect())
    }
}

fn told(message: String) -> Value {
    json!({"message": message})
}

fn refuse(message: String) -> Result<Value, ToolError> {
    Err(ToolError::invalid(message))
}
