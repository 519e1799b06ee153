//! Rows of lists: a thing with the figures that are summed up for it, and the way from all rows to one page.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::listing::Field;

use crate::Spotify;
use crate::catalogue::{Album, Artist, Song, SongId};
use crate::made::{Playlist, Review};
use crate::marks::Marks;

/// What listeners made of something, those with an account and all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    /// 0 for what cannot be played as one.
    pub plays: u64,
    pub likes: u64,
    pub reviews: u64,
    /// 1 to 5; 0 without reviews.
    pub rating: f64,
}

/// A song, an album or a playlist.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a, T> {
    pub thing: &'a T,
    pub figures: Figures,
    /// When the reader of the list marked it, in lists of what somebody marked.
    pub at: Option<DateTime>,
}

/// An artist.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArtistRow<'a> {
    pub artist: &'a Artist,
    pub followers: u64,
}

/// A review and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReviewRow<'a> {
    pub song: SongId,
    pub user: &'a Email,
    pub review: &'a Review,
}

impl Spotify {
    pub(crate) fn song_row<'a>(&self, song: &'a Song) -> Row<'a, Song> {
        let by_accounts = self.plays.get(&song.id).into_iter().flatten();
        let plays = by_accounts.fold(song.plays, |sum, (_, plays)| sum.saturating_add(*plays));
        let ratings = self.reviews_of(song.id).map(|row| row.review.rating);
        let (reviews, stars) = ratings.fold((0_u64, 0_u64), |(reviews, stars), rating| {
            (reviews + 1, stars + u64::from(rating))
        });
        let figures = Figures {
            plays,
            likes: song.likes.saturating_add(self.liked_songs.count(song.id)),
            reviews,
            rating: mean(stars, reviews),
        };
        row(song, figures)
    }

    pub(crate) fn album_row<'a>(&self, album: &'a Album) -> Row<'a, Album> {
        let figures = Figures {
            plays: 0,
            likes: album
                .likes
                .saturating_add(self.liked_albums.count(album.id)),
            reviews: album.review_count,
            rating: album.rating,
        };
        row(album, figures)
    }

    pub(crate) fn playlist_row<'a>(&self, playlist: &'a Playlist) -> Row<'a, Playlist> {
        let likes = self.liked_playlists.count(playlist.id);
        let figures = Figures {
            plays: 0,
            likes: playlist.likes.saturating_add(likes),
            reviews: playlist.review_count,
            rating: playlist.rating,
        };
        row(playlist, figures)
    }

    pub(crate) fn artist_row<'a>(&self, artist: &'a Artist) -> ArtistRow<'a> {
        let followers = self.followed_artists.count(artist.id);
        ArtistRow {
            artist,
            followers: artist.followers.saturating_add(followers),
        }
    }

    /// The songs that somebody marked, the latest first.
    pub(crate) fn marked_songs(&self, marks: &Marks, who: &Email) -> Vec<Row<'_, Song>> {
        let row = |(id, at)| {
            let row = self.song_row(self.catalogue.song(id)?);
            Some(Row {
                at: Some(at),
                ..row
            })
        };
        marks.of(who).into_iter().filter_map(row).collect()
    }

    /// The albums that somebody marked, the latest first.
    pub(crate) fn marked_albums(&self, marks: &Marks, who: &Email) -> Vec<Row<'_, Album>> {
        let row = |(id, at)| {
            let row = self.album_row(self.catalogue.album(id)?);
            Some(Row {
                at: Some(at),
                ..row
            })
        };
        marks.of(who).into_iter().filter_map(row).collect()
    }
}

fn row<T>(thing: &T, figures: Figures) -> Row<'_, T> {
    Row {
        thing,
        figures,
        at: None,
    }
}

/// To two digits, so that the same stars are the same text everywhere.
fn mean(stars: u64, reviews: u64) -> f64 {
    if reviews == 0 {
        return 0.0;
    }
    (stars as f64 / reviews as f64 * 100.0).round() / 100.0
}

/// What lists may be sorted by. Functions, for a constant could not name the lifetime.
pub(crate) mod fields {
    use super::{Album, ArtistRow, Field, Playlist, ReviewRow, Row, Song};

    pub(crate) fn songs<'a>() -> [Field<Row<'a, Song>>; 3] {
        [
            ("rating", |a, b| {
                a.figures.rating.total_cmp(&b.figures.rating)
            }),
            ("like_count", |a, b| a.figures.likes.cmp(&b.figures.likes)),
            ("play_count", |a, b| a.figures.plays.cmp(&b.figures.plays)),
        ]
    }

    pub(crate) fn albums<'a>() -> [Field<Row<'a, Album>>; 2] {
        [
            ("rating", |a, b| {
                a.figures.rating.total_cmp(&b.figures.rating)
            }),
            ("release_date", |a, b| {
                a.thing.release_date.cmp(&b.thing.release_date)
            }),
        ]
    }

    pub(crate) fn artists<'a>() -> [Field<ArtistRow<'a>>; 1] {
        [("follower_count", |a, b| a.followers.cmp(&b.followers))]
    }

    pub(crate) fn playlists<'a>() -> [Field<Row<'a, Playlist>>; 3] {
        [
            ("like_count", |a, b| a.figures.likes.cmp(&b.figures.likes)),
            ("rating", |a, b| {
                a.figures.rating.total_cmp(&b.figures.rating)
            }),
            ("created_at", |a, b| {
                a.thing.created_at.cmp(&b.thing.created_at)
            }),
        ]
    }

    pub(crate) fn own_playlists<'a>() -> [Field<Row<'a, Playlist>>; 2] {
        [
            ("created_at", |a, b| {
                a.thing.created_at.cmp(&b.thing.created_at)
            }),
            ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ]
    }

    pub(crate) fn added_songs<'a>() -> [Field<Row<'a, Song>>; 2] {
        [
            ("added_at", |a, b| a.at.cmp(&b.at)),
            ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ]
    }

    pub(crate) fn added_albums<'a>() -> [Field<Row<'a, Album>>; 2] {
        [
            ("added_at", |a, b| a.at.cmp(&b.at)),
            ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ]
    }

    pub(crate) fn liked_songs<'a>() -> [Field<Row<'a, Song>>; 3] {
        [
            ("liked_at", |a, b| a.at.cmp(&b.at)),
            ("play_count", |a, b| a.figures.plays.cmp(&b.figures.plays)),
            ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ]
    }

    pub(crate) fn reviews<'a>() -> [Field<ReviewRow<'a>>; 2] {
        [
            ("rating", |a, b| a.review.rating.cmp(&b.review.rating)),
            ("created_at", |a, b| {
                a.review.created_at.cmp(&b.review.created_at)
            }),
        ]
    }
}
