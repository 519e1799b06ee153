//! Rows of lists: a thing with the figures that are summed up for it, and the way from all rows to one page.

use std::cmp::Ordering;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::listing::{self, Field, PageIndex, PageLimit};
use pibench_sdk::tool::ToolError;
use serde_json::Value;

use crate::Spotify;
use crate::catalogue::{Album, Artist, Song, SongId};
use crate::marks::Marks;
use crate::playlists::Playlist;
use crate::reviews::Review;

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

/// Which part of a list is asked for.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub query: Option<String>,
    pub sort_by: Option<String>,
    pub page_index: PageIndex,
    pub page_limit: PageLimit,
}

impl Part {
    /// The rows that match, sorted, one page of them.
    pub(crate) fn of<R>(
        &self,
        rows: Vec<R>,
        text: impl Fn(&R) -> String,
        fields: &[Field<R>],
        view: impl Fn(&R) -> Value,
    ) -> Result<Vec<Value>, ToolError> {
        let rows = listing::matching(rows, self.query.as_deref(), text);
        let mut rows: Vec<&R> = rows.iter().collect();
        listing::sort(&mut rows, self.sort_by.as_deref(), fields)?;
        let page = listing::page(rows, self.page_index, self.page_limit);
        Ok(page.into_iter().map(view).collect())
    }
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

// Functions, for a constant could not name the lifetime.

pub(crate) fn song_fields<'a>() -> Vec<Field<Row<'a, Song>>> {
    vec![
        ("song_id", |a, b| a.thing.id.cmp(&b.thing.id)),
        ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ("duration", |a, b| a.thing.duration.cmp(&b.thing.duration)),
        ("release_date", |a, b| {
            a.thing.release_date.cmp(&b.thing.release_date)
        }),
        ("play_count", |a, b| a.figures.plays.cmp(&b.figures.plays)),
        ("rating", by_rating),
        ("like_count", by_likes),
        ("review_count", by_reviews),
    ]
}

pub(crate) fn album_fields<'a>() -> Vec<Field<Row<'a, Album>>> {
    vec![
        ("album_id", |a, b| a.thing.id.cmp(&b.thing.id)),
        ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ("release_date", |a, b| {
            a.thing.release_date.cmp(&b.thing.release_date)
        }),
        ("rating", by_rating),
        ("like_count", by_likes),
        ("review_count", by_reviews),
    ]
}

pub(crate) fn playlist_fields<'a>() -> Vec<Field<Row<'a, Playlist>>> {
    vec![
        ("playlist_id", |a, b| a.thing.id.cmp(&b.thing.id)),
        ("title", |a, b| a.thing.title.cmp(&b.thing.title)),
        ("created_at", |a, b| {
            a.thing.created_at.cmp(&b.thing.created_at)
        }),
        ("rating", by_rating),
        ("like_count", by_likes),
        ("review_count", by_reviews),
    ]
}

pub(crate) fn artist_fields<'a>() -> Vec<Field<ArtistRow<'a>>> {
    vec![
        ("artist_id", |a, b| a.artist.id.cmp(&b.artist.id)),
        ("name", |a, b| a.artist.name.cmp(&b.artist.name)),
        ("follower_count", |a, b| a.followers.cmp(&b.followers)),
        ("created_at", |a, b| {
            a.artist.created_at.cmp(&b.artist.created_at)
        }),
    ]
}

pub(crate) fn review_fields<'a>() -> Vec<Field<ReviewRow<'a>>> {
    vec![
        ("created_at", |a, b| {
            a.review.created_at.cmp(&b.review.created_at)
        }),
        ("rating", |a, b| a.review.rating.cmp(&b.review.rating)),
        ("song_review_id", |a, b| a.review.id.cmp(&b.review.id)),
    ]
}

/// The same list with one more field: when the rows were marked.
pub(crate) fn with_moment<'a, T>(
    name: &'static str,
    mut fields: Vec<Field<Row<'a, T>>>,
) -> Vec<Field<Row<'a, T>>> {
    fields.insert(0, (name, |a, b| a.at.cmp(&b.at)));
    fields
}

fn by_rating<T>(a: &Row<T>, b: &Row<T>) -> Ordering {
    a.figures.rating.total_cmp(&b.figures.rating)
}

fn by_likes<T>(a: &Row<T>, b: &Row<T>) -> Ordering {
    a.figures.likes.cmp(&b.figures.likes)
}

fn by_reviews<T>(a: &Row<T>, b: &Row<T>) -> Ordering {
    a.figures.reviews.cmp(&b.figures.reviews)
}
