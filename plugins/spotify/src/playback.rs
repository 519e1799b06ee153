//! The tools of the player: the queue and what plays. The clock moves it on: see `player`.

use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::tool::{NoArguments, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Spotify;
use crate::catalogue::{AlbumId, SongId};
use crate::made::PlaylistId;
use crate::player::{MAX_QUEUE, Player};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_field_names,
    reason = "a model reads argument names as they are"
)]
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

/// Where songs come from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Song(SongId),
    Album(AlbumId),
    Playlist(PlaylistId),
}

impl Spotify {
    pub(crate) fn show_song_queue(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Vec<Value>, ToolError> {
        let Some(player) = self.players.get(me) else {
            return Ok(Vec::new());
        };
        let entry = |(position, id): (usize, &SongId)| {
            let mut view = self.view_song("song_id", self.song(*id)?);
            let current = position == player.position();
            view["position"] = json!(position);
            view["is_playing"] = json!(current && player.playing());
            view["is_current"] = json!(current);
            Ok(view)
        };
        player.queue().iter().enumerate().map(entry).collect()
    }

    pub(crate) fn show_current_song(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Value, ToolError> {
        let player = self.players.get(me);
        let (player, id) = player
            .and_then(|player| Some((player, player.current()?)))
            .ok_or_else(empty_queue)?;
        let mut view = self.view_song("song_id", self.song(id)?);
        view["played_seconds"] = json!(player.played_seconds(clock::now()));
        view["is_playing"] = json!(player.playing());
        view["is_looping"] = json!(player.looping());
        Ok(view)
    }

    pub(crate) fn add_to_queue(
        &mut self,
        me: &Email,
        arguments: AddToQueue,
    ) -> Result<Value, ToolError> {
        let AddToQueue {
            song_id,
            album_id,
            playlist_id,
        } = arguments;
        let [source] = sources(song_id, album_id, playlist_id)[..] else {
            return Err(ToolError::invalid(
                "Give exactly one of song_id, album_id and playlist_id.",
            ));
        };
        let (what, songs) = self.songs_from(me, source)?;
        let length = self
            .players
            .get(me)
            .map_or(0, |player| player.queue().len());
        if length + songs.len() > MAX_QUEUE {
            return Err(ToolError::invalid(format!(
                "The queue has {length} songs; with {} more it would exceed {MAX_QUEUE}.",
                songs.len()
            )));
        }
        self.players.entry(me.clone()).or_default().append(&songs);
        Ok(json!({"message": format!("{what} is added to the end of your queue.")}))
    }

    pub(crate) fn remove_song_from_queue(
        &mut self,
        me: &Email,
        arguments: QueuePosition,
    ) -> Result<Value, ToolError> {
        let index = self.queue_index(me, arguments.position)?;
        let player = self.players.get_mut(me);
        let (song, begins) = player
            .and_then(|player| player.remove(index, clock::now()))
            .ok_or_else(empty_queue)?;
        if begins {
            self.count_current(me);
        }
        // An emptied queue is the same as one that was never filled.
        if self
            .players
            .get(me)
            .is_some_and(|player| player.queue().is_empty())
        {
            self.players.remove(me);
        }
        let title = &self.song(song)?.title;
        Ok(json!({"message": format!("Song {song} ({title}) is removed from your queue.")}))
    }

    pub(crate) fn play_music(
        &mut self,
        me: &Email,
        arguments: PlayMusic,
    ) -> Result<Value, ToolError> {
        let PlayMusic {
            song_id,
            album_id,
            playlist_id,
            queue_position,
        } = arguments;
        match (&sources(song_id, album_id, playlist_id)[..], queue_position) {
            ([], None) => self.resume(me),
            ([], Some(position)) => {
                let index = self.queue_index(me, position)?;
                self.play(me, index)
            }
            ([Source::Song(song)], None) => {
                self.song(*song)?;
                let player = self.players.entry(me.clone()).or_default();
                if player.queue().len() >= MAX_QUEUE {
                    return Err(ToolError::invalid(format!(
                        "The queue is full: it holds {MAX_QUEUE} songs."
                    )));
                }
                player.play_first(*song, clock::now());
                self.count_current(me);
                self.tell_playing(me)
            }
            ([source], None) => {
                let (_, songs) = self.songs_from(me, *source)?;
                let player = self.players.entry(me.clone()).or_default();
                player.replace(songs, clock::now());
                self.count_current(me);
                self.tell_playing(me)
            }
            _ => Err(ToolError::invalid(
                "Give at most one of song_id, album_id, playlist_id and queue_position.",
            )),
        }
    }

    pub(crate) fn previous_song(&mut self, me: &Email, _: NoArguments) -> Result<Value, ToolError> {
        let player = self.players.get(me).ok_or_else(empty_queue)?;
        let last = player.queue().len() - 1;
        if last == 0 {
            return Err(ToolError::invalid("Your queue has only one song."));
        }
        // Before the first comes the last.
        let previous = player.position().checked_sub(1).unwrap_or(last);
        self.play(me, previous)
    }

    fn resume(&mut self, me: &Email) -> Result<Value, ToolError> {
        let player = self.players.get_mut(me).ok_or_else(empty_queue)?;
        if player.resume(clock::now()) {
            self.count_current(me);
        }
        self.tell_playing(me)
    }

    /// `index` must lie within the queue.
    fn play(&mut self, me: &Email, index: usize) -> Result<Value, ToolError> {
        let player = self.players.get_mut(me).ok_or_else(empty_queue)?;
        player.play(index, clock::now());
        self.count_current(me);
        self.tell_playing(me)
    }

    fn tell_playing(&self, me: &Email) -> Result<Value, ToolError> {
        let current = self.players.get(me).and_then(Player::current);
        let id = current.ok_or_else(empty_queue)?;
        let title = &self.song(id)?.title;
        Ok(json!({"message": format!("Song {id} ({title}) is playing."), "song_id": id}))
    }

    /// An index into the queue: 422 if the position is not in it.
    fn queue_index(&self, me: &Email, position: u32) -> Result<usize, ToolError> {
        let length = self
            .players
            .get(me)
            .map_or(0, |player| player.queue().len());
        if length == 0 {
            return Err(empty_queue());
        }
        let index = usize::try_from(position)
            .ok()
            .filter(|index| *index < length);
        index.ok_or_else(|| {
            ToolError::invalid(format!(
                "The queue has no position {position}; its last one is {}.",
                length - 1
            ))
        })
    }

    /// What it is, and its songs, at least one.
    fn songs_from(&self, me: &Email, source: Source) -> Result<(String, Vec<SongId>), ToolError> {
        let (what, songs) = match source {
            Source::Song(id) => (format!("Song {id} ({})", self.song(id)?.title), vec![id]),
            Source::Album(id) => (
                format!("Album {id} ({})", self.album(id)?.title),
                self.catalogue.songs_of(id).map(|song| song.id).collect(),
            ),
            Source::Playlist(id) => {
                let playlist = self.readable_playlist(me, id)?;
                (
                    format!("Playlist {id} ({})", playlist.title),
                    playlist.songs.to_vec(),
                )
            }
        };
        if songs.is_empty() {
            return Err(ToolError::invalid(format!("{what} has no songs.")));
        }
        if songs.len() > MAX_QUEUE {
            return Err(ToolError::invalid(format!(
                "{what} has {} songs; a queue holds {MAX_QUEUE}.",
                songs.len()
            )));
        }
        Ok((what, songs))
    }

    fn count_current(&mut self, me: &Email) {
        if let Some(song) = self.players.get(me).and_then(Player::current) {
            self.count_plays(song, me, 1);
        }
    }

    fn count_plays(&mut self, song: SongId, who: &Email, times: u64) {
        let plays = self.plays.entry(song).or_default();
        let plays = plays.entry(who.clone()).or_default();
        *plays = plays.saturating_add(times);
    }

    /// Moves every player on to the clock.
    pub(crate) fn advance_players(&mut self) {
        let now = clock::now();
        let mut begun: Vec<(SongId, Email, u64)> = Vec::new();
        for (who, player) in &mut self.players {
            player.advance(
                now,
                |song| self.catalogue.duration(song),
                |song, times| begun.push((song, who.clone(), times)),
            );
        }
        for (song, who, times) in begun {
            self.count_plays(song, &who, times);
        }
    }
}

fn sources(
    song: Option<SongId>,
    album: Option<AlbumId>,
    playlist: Option<PlaylistId>,
) -> Vec<Source> {
    let song = song.map(Source::Song);
    let album = album.map(Source::Album);
    let playlist = playlist.map(Source::Playlist);
    [song, album, playlist].into_iter().flatten().collect()
}

fn empty_queue() -> ToolError {
    ToolError::invalid("Your queue is empty: play or add a song, an album or a playlist first.")
}
