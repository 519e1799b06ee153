//! Reviews of songs and their tools. A person reviews a song once; the rating of a song is the mean of its reviews.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::listing::List;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Spotify;
use crate::arguments::check_ratings;
use crate::catalogue::SongId;
use crate::made::Review;
use crate::rows::{ReviewRow, fields};

fn one_star() -> u8 {
    1
}

fn five_stars() -> u8 {
    5
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]
pub(crate) struct ReviewIdOnly {
    /// A song_review_id.
    pub review_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewSong {
    pub song_id: u32,
    #[schemars(range(min = 1, max = 5))]
    pub rating: u8,
    pub title: Option<String>,
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]
pub(crate) struct UpdateSongReview {
    /// A song_review_id.
    pub review_id: u32,
    #[schemars(range(min = 1, max = 5))]
    pub rating: Option<u8>,
    pub title: Option<String>,
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowSongReviews {
    pub song_id: u32,
    pub user_email: Option<String>,
    #[serde(default = "one_star")]
    #[schemars(range(min = 1, max = 5))]
    pub min_rating: u8,
    #[serde(default = "five_stars")]
    #[schemars(range(min = 1, max = 5))]
    pub max_rating: u8,
    #[serde(flatten)]
    pub list: List,
}

/// The longest title and text, in bytes: a page of 20 reviews stays within what an answer may hold.
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 8 * 1024;

impl Spotify {
    pub(crate) fn review_song(
        &mut self,
        me: &Email,
        arguments: ReviewSong,
    ) -> Result<Value, ToolError> {
        let ReviewSong {
            song_id,
            rating,
            title,
            text,
        } = arguments;
        self.song_meant(song_id)?;
        let review = self.new_review(rating, title, text, clock::now())?;
        let id = self.keep_review(song_id, me, review)?;
        let title = &self.song(song_id)?.title;
        let message = format!("Your review of song {song_id} ({title}) is published.");
        Ok(json!({"message": message, "song_review_id": id}))
    }

    pub(crate) fn update_song_review(
        &mut self,
        me: &Email,
        arguments: UpdateSongReview,
    ) -> Result<Value, ToolError> {
        let UpdateSongReview {
            review_id,
            rating,
            title,
            text,
        } = arguments;
        let row = self.review_row(review_id)?;
        if row.user != me {
            return Err(ToolError::invalid(format!(
                "Review {review_id} belongs to another account."
            )));
        }
        let song = row.song;
        let rating = rating.map(checked_rating).transpose()?;
        let title = title.map(checked_title).transpose()?;
        let text = text.map(checked_text).transpose()?;
        if let Some(review) = self.reviews.get_mut(&(song, me.clone())) {
            review.rating = rating.unwrap_or(review.rating);
            review.title = title.unwrap_or_else(|| std::mem::take(&mut review.title));
            review.text = text.unwrap_or_else(|| std::mem::take(&mut review.text));
        }
        Ok(json!({"message": format!("Your review {review_id} is updated.")}))
    }

    pub(crate) fn show_song_review(&mut self, arguments: ReviewIdOnly) -> Result<Value, ToolError> {
        Ok(self.view_review(&self.review_row(arguments.review_id)?))
    }

    /// The latest first.
    pub(crate) fn show_song_reviews(
        &mut self,
        arguments: ShowSongReviews,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowSongReviews {
            song_id,
            user_email,
            min_rating,
            max_rating,
            list,
        } = arguments;
        check_ratings([min_rating, max_rating].map(f64::from), 1)?;
        self.song(song_id)?;
        let user = self.accounts.named_by(user_email.as_deref())?;
        let mut rows: Vec<ReviewRow> = self
            .reviews_of(song_id)
            .filter(|row| {
                user.as_ref().is_none_or(|user| user == row.user)
                    && (min_rating..=max_rating).contains(&row.review.rating)
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.review.created_at, row.review.id)));
        let text = |row: &ReviewRow| format!("{}\n{}", row.review.title, row.review.text);
        let rows = list.of(rows, text, &fields::reviews())?;
        Ok(rows.iter().map(|row| self.view_review(row)).collect())
    }

    /// A review with the next id, not kept yet.
    pub(crate) fn new_review(
        &self,
        rating: u8,
        title: Option<String>,
        text: Option<String>,
        created_at: DateTime,
    ) -> Result<Review, ToolError> {
        Ok(Review {
            id: self.last_review_id.saturating_add(1),
            rating: checked_rating(rating)?,
            title: checked_title(title.unwrap_or_default())?,
            text: checked_text(text.unwrap_or_default())?,
            created_at,
        })
    }

    /// Keeps a new review: 409 if this person has reviewed this song.
    pub(crate) fn keep_review(
        &mut self,
        song: SongId,
        user: &Email,
        review: Review,
    ) -> Result<u32, ToolError> {
        let place = (song, user.clone());
        if let Some(earlier) = self.reviews.get(&place) {
            return Err(ToolError::taken(format!(
                "{user} has reviewed song {song} already: review {} can be updated.",
                earlier.id
            )));
        }
        self.last_review_id = review.id;
        self.reviews.insert(place, review);
        Ok(self.last_review_id)
    }

    /// The reviews of a song, by person.
    pub(crate) fn reviews_of(&self, song: SongId) -> impl Iterator<Item = ReviewRow<'_>> {
        // No address is before the empty one.
        let rows = self.reviews.iter_from(&(song, Email::constant("")));
        rows.map(review_row).take_while(move |row| row.song == song)
    }

    fn review_row(&self, id: u32) -> Result<ReviewRow<'_>, ToolError> {
        let mut rows = self.reviews.iter().map(review_row);
        rows.find(|row| row.review.id == id)
            .ok_or_else(|| ToolError::conflict("review", id))
    }
}

pub(crate) fn review_row<'a>(
    ((song, user), review): (&'a (SongId, Email), &'a Review),
) -> ReviewRow<'a> {
    ReviewRow {
        song: *song,
        user,
        review,
    }
}

fn checked_rating(rating: u8) -> Result<u8, ToolError> {
    if (1..=5).contains(&rating) {
        return Ok(rating);
    }
    Err(ToolError::invalid(format!(
        "The rating must be from 1 to 5, not {rating}."
    )))
}

fn checked_title(title: String) -> Result<Text, ToolError> {
    Ok(text::at_most("title", title, MAX_TITLE)?.into())
}

fn checked_text(text: String) -> Result<Text, ToolError> {
    Ok(text::at_most("text", text, MAX_TEXT)?.into())
}
