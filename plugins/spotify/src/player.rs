//! One listener's player: a queue with a current song, which plays or rests.
//!
//! Always: the current position lies within the queue, or the queue is empty and nothing plays. No change reorders the
//! songs that stay. Which songs exist and how long they last is the caller's business.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use crate::catalogue::SongId;

/// The longest queue: one answer shows it whole.
pub(crate) const MAX_QUEUE: usize = 500;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Player {
    queue: Vec<SongId>,
    position: usize,
    playback: Playback,
    /// Whether the current song begins again when it ends.
    looping: bool,
}

/// What the current song does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Playback {
    /// It rests after so many seconds.
    Resting { played_seconds: u32 },
    /// It plays; this is when it began, or would have begun without the rests.
    Playing { since: DateTime },
}

const AT_ITS_START: Playback = Playback::Resting { played_seconds: 0 };

impl Default for Player {
    fn default() -> Self {
        Self {
            queue: Vec::new(),
            position: 0,
            playback: AT_ITS_START,
            looping: false,
        }
    }
}

impl Player {
    /// A player as a record describes it. The position must lie within the queue.
    pub(crate) fn new(
        queue: Vec<SongId>,
        position: usize,
        playback: Playback,
        looping: bool,
    ) -> Result<Self, String> {
        if queue.is_empty() {
            return Err("queue: at least one song is needed".to_owned());
        }
        if queue.len() > MAX_QUEUE {
            return Err(format!("queue: at most {MAX_QUEUE} songs fit"));
        }
        if position >= queue.len() {
            let last = queue.len() - 1;
            return Err(format!("position: {position} is beyond the last, {last}"));
        }
        Ok(Self {
            queue,
            position,
            playback,
            looping,
        })
    }

    pub(crate) fn queue(&self) -> &[SongId] {
        &self.queue
    }

    /// Of the current song, from 0; 0 when the queue is empty.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn playback(&self) -> Playback {
        self.playback
    }

    pub(crate) fn looping(&self) -> bool {
        self.looping
    }

    pub(crate) fn playing(&self) -> bool {
        matches!(self.playback, Playback::Playing { .. })
    }

    pub(crate) fn current(&self) -> Option<SongId> {
        self.queue.get(self.position).copied()
    }

    /// How far the current song is, if nothing ended since [`Player::advance`].
    pub(crate) fn played_seconds(&self, now: DateTime) -> u32 {
        match self.playback {
            Playback::Resting { played_seconds } => played_seconds,
            Playback::Playing { since } => {
                u32::try_from(seconds_between(since, now)).unwrap_or(u32::MAX)
            }
        }
    }

    /// At the end of the queue.
    pub(crate) fn append(&mut self, songs: &[SongId]) {
        self.queue.extend_from_slice(songs);
    }

    /// These songs in place of the queue, the first one playing.
    pub(crate) fn replace(&mut self, songs: Vec<SongId>, now: DateTime) {
        self.queue = songs;
        self.play(0, now);
    }

    /// A song in front of the queue, playing.
    pub(crate) fn play_first(&mut self, song: SongId, now: DateTime) {
        self.queue.insert(0, song);
        self.play(0, now);
    }

    /// Plays the song at this position, which must be in the queue, from its start.
    pub(crate) fn play(&mut self, position: usize, now: DateTime) {
        self.position = position;
        self.playback = Playback::Playing { since: now };
    }

    /// Plays the current song on from where it rests. Whether that begins it.
    pub(crate) fn resume(&mut self, now: DateTime) -> bool {
        let Playback::Resting { played_seconds } = self.playback else {
            return false;
        };
        self.playback = Playback::Playing {
            since: earlier(now, played_seconds),
        };
        played_seconds == 0
    }

    /// Takes the song at this position out, `None` if there is none. The song after a removed current one takes its
    /// place, from its start; after the last one the queue is over: it rests at its first song. Whether a song begins to
    /// play by that is the second value.
    pub(crate) fn remove(&mut self, position: usize, now: DateTime) -> Option<(SongId, bool)> {
        if position >= self.queue.len() {
            return None;
        }
        let song = self.queue.remove(position);
        if position < self.position {
            self.position -= 1;
            return Some((song, false));
        }
        if position > self.position {
            return Some((song, false));
        }
        if self.position == self.queue.len() {
            self.rest_at_first();
            return Some((song, false));
        }
        let playing = self.playing();
        self.playback = if playing {
            Playback::Playing { since: now }
        } else {
            AT_ITS_START
        };
        Some((song, playing))
    }

    /// Lets time pass: songs end, the next ones begin, and after the last one the queue rests at its first song.
    /// `began` hears of every song that begins, and how often.
    pub(crate) fn advance(
        &mut self,
        now: DateTime,
        duration: impl Fn(SongId) -> u32,
        mut began: impl FnMut(SongId, u64),
    ) {
        while let (Playback::Playing { since }, Some(song)) = (self.playback, self.current()) {
            let duration = duration(song);
            let rounds = seconds_between(since, now) / u64::from(duration.max(1));
            if rounds == 0 {
                return;
            }
            if self.looping {
                let passed = rounds.saturating_mul(u64::from(duration));
                self.playback = Playback::Playing {
                    since: later(since, passed),
                };
                began(song, rounds);
                return;
            }
            if self.position + 1 == self.queue.len() {
                self.rest_at_first();
                return;
            }
            self.position += 1;
            self.playback = Playback::Playing {
                since: later(since, u64::from(duration)),
            };
            if let Some(song) = self.current() {
                began(song, 1);
            }
        }
    }

    fn rest_at_first(&mut self) {
        self.position = 0;
        self.playback = AT_ITS_START;
    }
}

/// Whole seconds; 0 if the clock was set back.
fn seconds_between(since: DateTime, now: DateTime) -> u64 {
    u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0)
}

fn later(moment: DateTime, seconds: u64) -> DateTime {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    moment.saturating_add(SignedDuration::from_secs(seconds))
}

pub(crate) fn earlier(now: DateTime, seconds: u32) -> DateTime {
    now.saturating_sub(SignedDuration::from_secs(i64::from(seconds)))
}
