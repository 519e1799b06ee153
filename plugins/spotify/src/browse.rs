//! The tools that look at the catalogue and at people. Nothing here changes anything.

use std::collections::BTreeMap;

use pibench_sdk::listing::List;
use pibench_sdk::text::Text;
use pibench_sdk::time::{Since, Until};
use pibench_sdk::tool::{NoArguments, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Spotify;
use crate::arguments::{self, AlbumIdOnly, ArtistIdOnly, SongIdOnly, check_ratings};
use crate::catalogue::{Album, Artist, Song};
use crate::rows::{ArtistRow, fields};

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
    #[serde(default = "arguments::no_bound")]
    pub max_duration: u64,
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub min_rating: f64,
    #[serde(default = "arguments::best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    #[serde(default)]
    pub min_like_count: u64,
    #[serde(default = "arguments::no_bound")]
    pub max_like_count: u64,
    #[serde(default)]
    pub min_play_count: u64,
    #[serde(default = "arguments::no_bound")]
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
    #[serde(default = "arguments::best_rating")]
    #[schemars(range(min = 0, max = 5))]
    pub max_rating: f64,
    #[serde(default)]
    pub min_release_date: Since,
    #[serde(default)]
    pub max_release_date: Until,
    #[serde(default)]
    pub min_like_count: u64,
    #[serde(default = "arguments::no_bound")]
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
    #[serde(default = "arguments::no_bound")]
    pub max_follower_count: u64,
    #[serde(flatten)]
    pub list: List,
}

impl Spotify {
    pub(crate) fn search_songs(&mut self, arguments: SearchSongs) -> Result<Vec<Value>, ToolError> {
        let SearchSongs {
            artist_id,
            album_id,
            genre,
            min_release_date,
            max_release_date,
            min_duration,
            max_duration,
            min_rating,
            max_rating,
            min_like_count,
            max_like_count,
            min_play_count,
            max_play_count,
            list,
        } = arguments;
        check_ratings([min_rating, max_rating], 0)?;
        let released = min_release_date.0..=max_release_date.0;
        let wanted = |song: &&Song| {
            artist_id.is_none_or(|id| song.artists.contains(&id))
                && album_id.is_none_or(|id| song.album == Some(id))
                && is_genre(&song.genre, genre.as_deref())
                && released.contains(&song.release_date.at(0, 0, 0, 0))
                && (min_duration..=max_duration).contains(&u64::from(song.duration))
        };
        let songs = self.catalogue.search_songs(list.query.as_deref());
        let rows = songs
            .into_iter()
            .filter(wanted)
            .map(|song| self.song_row(song))
            .filter(|row| {
                (min_rating..=max_rating).contains(&row.figures.rating)
                    && (min_like_count..=max_like_count).contains(&row.figures.likes)
                    && (min_play_count..=max_play_count).contains(&row.figures.plays)
            });
        // What matches the query stands in its order already.
        let rows = list.of_matching(rows.collect(), &fields::songs())?;
        Ok(rows.iter().map(|row| self.view_song_row(row)).collect())
    }

    pub(crate) fn search_albums(
        &mut self,
        arguments: SearchAlbums,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchAlbums {
            min_rating,
            max_rating,
            min_release_date,
            max_release_date,
            min_like_count,
            max_like_count,
            genre,
            list,
        } = arguments;
        check_ratings([min_rating, max_rating], 0)?;
        let released = min_release_date.0..=max_release_date.0;
        let wanted = |album: &&Album| {
            is_genre(&album.genre, genre.as_deref())
                && released.contains(&album.release_date.at(0, 0, 0, 0))
        };
        let albums = self.catalogue.albums.values().filter(wanted);
        let rows = albums.map(|album| self.album_row(album)).filter(|row| {
            (min_rating..=max_rating).contains(&row.figures.rating)
                && (min_like_count..=max_like_count).contains(&row.figures.likes)
        });
        let text = |row: &_| self.text_of_album(row);
        let rows = list.of(rows.collect(), text, &fields::albums())?;
        Ok(rows.iter().map(|row| self.view_album_row(row)).collect())
    }

    pub(crate) fn search_artists(
        &mut self,
        arguments: SearchArtists,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchArtists {
            genre,
            min_follower_count,
            max_follower_count,
            list,
        } = arguments;
        let artists = self.catalogue.artists.values();
        let rows = artists
            .filter(|artist| is_genre(&artist.genre, genre.as_deref()))
            .map(|artist| self.artist_row(artist))
            .filter(|row| (min_follower_count..=max_follower_count).contains(&row.followers));
        let text = |row: &ArtistRow| row.artist.name.to_string();
        let rows = list.of(rows.collect(), text, &fields::artists())?;
        Ok(rows
            .iter()
            .map(|row| self.view_artist(row.artist))
            .collect())
    }

    pub(crate) fn show_song(&mut self, arguments: SongIdOnly) -> Result<Value, ToolError> {
        let song = self.song(arguments.song_id)?;
        let artist = |artist: &Artist| {
            json!({
                "id": artist.id,
                "name": artist.name,
                "genre": artist.genre,
                "follower_count": self.artist_row(artist).followers,
            })
        };
        let artists = self.catalogue.artists_of(&song.artists).map(artist);
        let mut view = self.view_song_row(&self.song_row(song));
        view["artists"] = artists.collect();
        Ok(view)
    }

    pub(crate) fn show_album(&mut self, arguments: AlbumIdOnly) -> Result<Value, ToolError> {
        Ok(self.view_album(self.album(arguments.album_id)?))
    }

    pub(crate) fn show_artist(&mut self, arguments: ArtistIdOnly) -> Result<Value, ToolError> {
        Ok(self.view_artist(self.artist(arguments.artist_id)?))
    }

    /// Every genre of an artist, album or song, once whatever its case, by name.
    pub(crate) fn show_genres(&mut self, _: NoArguments) -> Result<Vec<String>, ToolError> {
        let catalogue = &self.catalogue;
        let artists = catalogue.artists.values().map(|artist| &artist.genre);
        let albums = catalogue.albums.values().map(|album| &album.genre);
        let songs = catalogue.songs.values().map(|song| &song.genre);
        let all = artists.chain(albums).chain(songs);
        let genres: BTreeMap<String, &Text> =
            all.map(|genre| (genre.to_lowercase(), genre)).collect();
        Ok(genres.into_values().map(Text::to_string).collect())
    }

    pub(crate) fn song(&self, id: u32) -> Result<&Song, ToolError> {
        self.catalogue
            .song(id)
            .ok_or_else(|| ToolError::conflict("song", id))
    }

    /// A song that something new is to be about, or that is to be in a list: 422 if there is none.
    pub(crate) fn song_meant(&self, id: u32) -> Result<&Song, ToolError> {
        let none = |error: ToolError| ToolError::invalid(error.message);
        self.song(id).map_err(none)
    }

    pub(crate) fn album(&self, id: u32) -> Result<&Album, ToolError> {
        self.catalogue
            .album(id)
            .ok_or_else(|| ToolError::conflict("album", id))
    }

    pub(crate) fn artist(&self, id: u32) -> Result<&Artist, ToolError> {
        self.catalogue
            .artist(id)
            .ok_or_else(|| ToolError::conflict("artist", id))
    }
}

/// Genres are kept in lower case.
fn is_genre(genre: &str, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| wanted.trim().to_lowercase() == genre.to_lowercase())
}
