//! What the tools answer and what graders see.

use jiff::civil::DateTime;
use pibench_sdk::account::{Account, Email};
use pibench_sdk::layer::RowState;
use pibench_sdk::time;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Spotify;
use crate::catalogue::{Album, Artist, ArtistId, Catalogue, Song};
use crate::made::Playlist;
use crate::marks::Marks;
use crate::player::{Playback, Player};
use crate::reviews::review_row;
use crate::rows::{ReviewRow, Row};

/// Where shareable links lead: nowhere.
const SITE: &str = "https://spotify.example";

/// What graders see.
#[derive(Debug, Serialize)]
pub(crate) struct State {
    users: Vec<RowState<Value>>,
    artists: Vec<RowState<Value>>,
    albums: Vec<RowState<Value>>,
    songs: Vec<RowState<Value>>,
    playlists: Vec<RowState<Value>>,
    reviews: Vec<Value>,
    library_songs: Value,
    library_albums: Value,
    liked_songs: Value,
    liked_albums: Value,
    liked_playlists: Value,
    followed_artists: Value,
    downloaded_songs: Value,
    plays: Value,
    players: Vec<Value>,
}

impl Spotify {
    /// What every view of a song begins with. Its id is named `song_id` in lists of songs, `id` within other things.
    pub(crate) fn view_song(&self, id_name: &str, song: &Song) -> Value {
        let album = self.catalogue.album_of(song);
        json!({
            id_name: song.id,
            "title": song.title,
            "album_id": song.album,
            "album_title": album.map(|album| &album.title),
            "duration": song.duration,
            "artists": self.view_artists(&song.artists),
        })
    }

    pub(crate) fn view_song_row(&self, row: &Row<Song>) -> Value {
        let Row {
            thing: song,
            figures,
            ..
        } = row;
        let mut view = self.view_song("song_id", song);
        view["release_date"] = json!(time::midnight(song.release_date));
        view["genre"] = json!(song.genre);
        view["play_count"] = json!(figures.plays);
        view["rating"] = json!(figures.rating);
        view["like_count"] = json!(figures.likes);
        view["review_count"] = json!(figures.reviews);
        view["shareable_link"] = json!(format!("{SITE}/songs/{}", song.id));
        view
    }

    /// With the moment of the mark under this name.
    pub(crate) fn view_marked_song(&self, moment_name: &str, row: &Row<Song>) -> Value {
        let mut view = self.view_song("song_id", row.thing);
        view[moment_name] = json!(row.at);
        view
    }

    pub(crate) fn view_album_row(&self, row: &Row<Album>) -> Value {
        let songs = self.catalogue.songs_of(row.thing.id);
        let mut view = self.view_album_head(row);
        view["song_ids"] = songs.map(|song| song.id).collect();
        view
    }

    pub(crate) fn view_album(&self, album: &Album) -> Value {
        let songs = self.catalogue.songs_of(album.id);
        let mut view = self.view_album_head(&self.album_row(album));
        view["shareable_link"] = json!(format!("{SITE}/albums/{}", album.id));
        view["songs"] = songs.map(|song| self.view_song("id", song)).collect();
        view
    }

    fn view_album_head(&self, row: &Row<Album>) -> Value {
        let Row {
            thing: album,
            figures,
            ..
        } = row;
        json!({
            "album_id": album.id,
            "title": album.title,
            "genre": album.genre,
            "artists": self.view_artists(&album.artists),
            "rating": figures.rating,
            "like_count": figures.likes,
            "review_count": figures.reviews,
            "release_date": time::midnight(album.release_date),
        })
    }

    pub(crate) fn view_playlist_row(&self, row: &Row<Playlist>) -> Value {
        let mut view = self.view_playlist_head(row);
        view["song_ids"] = json!(row.thing.songs);
        view
    }

    pub(crate) fn view_playlist(&self, playlist: &Playlist) -> Value {
        let songs = playlist
            .songs
            .iter()
            .filter_map(|id| self.catalogue.song(*id));
        let mut view = self.view_playlist_head(&self.playlist_row(playlist));
        view["shareable_link"] = json!(format!("{SITE}/playlists/{}", playlist.id));
        view["songs"] = songs.map(|song| self.view_song("id", song)).collect();
        view
    }

    fn view_playlist_head(&self, row: &Row<Playlist>) -> Value {
        let Row {
            thing: playlist,
            figures,
            ..
        } = row;
        json!({
            "playlist_id": playlist.id,
            "title": playlist.title,
            "is_public": playlist.public,
            "rating": figures.rating,
            "like_count": figures.likes,
            "review_count": figures.reviews,
            "owner": self.view_person(&playlist.owner),
            "created_at": playlist.created_at,
        })
    }

    pub(crate) fn view_artist(&self, artist: &Artist) -> Value {
        json!({
            "artist_id": artist.id,
            "name": artist.name,
            "genre": artist.genre,
            "follower_count": self.artist_row(artist).followers,
            "created_at": artist.created_at,
        })
    }

    pub(crate) fn view_review(&self, row: &ReviewRow) -> Value {
        let ReviewRow { song, user, review } = row;
        json!({
            "song_review_id": review.id,
            "song_id": song,
            "rating": review.rating,
            "title": review.title,
            "text": review.text,
            "created_at": review.created_at,
            "user": self.view_person(user),
        })
    }

    pub(crate) fn text_of_song(&self, row: &Row<Song>) -> String {
        self.catalogue.song_text(row.thing)
    }

    pub(crate) fn text_of_album(&self, row: &Row<Album>) -> String {
        self.catalogue.album_text(row.thing)
    }

    fn view_artists(&self, ids: &[ArtistId]) -> Value {
        self.catalogue
            .artists_of(ids)
            .map(|artist| json!({"id": artist.id, "name": artist.name}))
            .collect()
    }

    fn view_person(&self, person: &Email) -> Value {
        json!({"name": self.accounts.name(person), "email": person})
    }

    /// See the crate's documentation.
    pub(crate) fn view_state(&self) -> State {
        let user = |user: &Account| {
            json!({
                "id": user.email,
                "first_name": user.first_name,
                "last_name": user.last_name,
                "registered_at": user.registered_at,
            })
        };
        let reviews = self
            .reviews
            .state(|place, review| state_of_review(&review_row((place, review))));
        let mut reviews: Vec<Value> = reviews.into_iter().map(Value::from).collect();
        reviews.sort_by_key(|review| review["id"].as_u64());
        let Catalogue {
            artists,
            albums,
            songs,
            index: _,
        } = &self.catalogue;
        State {
            users: self.accounts.state(user),
            artists: artists.state(|_, artist| state_of_artist(artist)),
            albums: albums.state(|_, album| state_of_album(album)),
            songs: songs.state(|_, song| state_of_song(song)),
            playlists: self
                .playlists
                .state(|_, playlist| state_of_playlist(playlist)),
            reviews,
            library_songs: state_of_marks(&self.library_songs, "song_id", "added_at"),
            library_albums: state_of_marks(&self.library_albums, "album_id", "added_at"),
            liked_songs: state_of_marks(&self.liked_songs, "song_id", "liked_at"),
            liked_albums: state_of_marks(&self.liked_albums, "album_id", "liked_at"),
            liked_playlists: state_of_marks(&self.liked_playlists, "playlist_id", "liked_at"),
            followed_artists: state_of_marks(&self.followed_artists, "artist_id", "followed_at"),
            downloaded_songs: state_of_marks(&self.downloaded_songs, "song_id", "downloaded_at"),
            plays: self.state_of_plays(),
            players: self.players.iter().map(state_of_player).collect(),
        }
    }

    fn state_of_plays(&self) -> Value {
        let mut views = Vec::new();
        for (song, plays) in &self.plays {
            for (who, count) in plays {
                views.push(json!({
                    "id": mark_id(*song, who),
                    "owner": who,
                    "song_id": song,
                    "play_count": count,
                }));
            }
        }
        Value::Array(views)
    }
}

fn state_of_artist(artist: &Artist) -> Value {
    json!({
        "id": artist.id,
        "name": artist.name,
        "genre": artist.genre,
        "created_at": artist.created_at,
    })
}

fn state_of_album(album: &Album) -> Value {
    json!({
        "id": album.id,
        "title": album.title,
        "artist_ids": album.artists,
        "genre": album.genre,
        "release_date": album.release_date,
    })
}

fn state_of_song(song: &Song) -> Value {
    json!({
        "id": song.id,
        "title": song.title,
        "album_id": song.album,
        "artist_ids": song.artists,
        "genre": song.genre,
        "release_date": song.release_date,
        "duration": song.duration,
    })
}

fn state_of_playlist(playlist: &Playlist) -> Value {
    json!({
        "id": playlist.id,
        "owner": playlist.owner,
        "title": playlist.title,
        "is_public": playlist.public,
        "song_ids": playlist.songs,
        "created_at": playlist.created_at,
    })
}

fn state_of_review(row: &ReviewRow) -> Value {
    json!({
        "id": row.review.id,
        "song_id": row.song,
        "user": row.user,
        "rating": row.review.rating,
        "title": row.review.title,
        "text": row.review.text,
        "created_at": row.review.created_at,
    })
}

/// While a song plays, when it began says how far it is: a record that does not change with every look.
fn state_of_player((owner, player): (&Email, &Player)) -> Value {
    let (since, played_seconds): (Option<DateTime>, Option<u32>) = match player.playback() {
        Playback::Playing { since } => (Some(since), None),
        Playback::Resting { played_seconds } => (None, Some(played_seconds)),
    };
    json!({
        "id": owner,
        "song_ids": player.queue(),
        "position": player.position(),
        "current_song_id": player.current(),
        "is_playing": player.playing(),
        "playing_since": since,
        "played_seconds": played_seconds,
        "is_looping": player.looping(),
    })
}

fn state_of_marks(marks: &Marks, thing_name: &str, moment_name: &str) -> Value {
    let view = |(thing, owner, at): (u32, &Email, DateTime)| {
        json!({
            "id": mark_id(thing, owner),
            "owner": owner,
            thing_name: thing,
            moment_name: at,
        })
    };
    marks.iter().map(view).collect()
}

fn mark_id(thing: u32, owner: &Email) -> String {
    format!("{owner}/{thing}")
}
