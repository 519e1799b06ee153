//! Tools of reviews, questions and answers.

use std::cmp::Reverse;

use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Amazon;
use crate::feedback::{Answer, Question, Review};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteReview {
    pub product_id: u32,
    #[schemars(range(min = 1, max = 5))]
    pub rating: u32,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteQuestion {
    pub product_id: u32,
    pub question: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListReviews {
    pub product_id: u32,
    pub user_email: Option<String>,
    #[schemars(range(min = 1, max = 5))]
    pub min_rating: Option<u32>,
    #[schemars(range(min = 1, max = 5))]
    pub max_rating: Option<u32>,
    /// By buyers.
    pub is_verified: Option<bool>,
    #[serde(flatten)]
    pub list: listing::List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuestions {
    pub product_id: u32,
    pub user_email: Option<String>,
    #[serde(flatten)]
    pub list: listing::List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAnswers {
    pub question_id: u32,
    pub user_email: Option<String>,
    /// By buyers.
    pub is_verified: Option<bool>,
    #[serde(flatten)]
    pub list: listing::List,
}

/// The longest title and text of a review, question or answer, in bytes: a page of 20 stays within what an answer may
/// hold.
const MAX_TITLE: usize = 300;
const MAX_TEXT: usize = 8 * 1024;

pub(crate) const REVIEW_FIELDS: &[listing::Field<Review>] = &[
    ("rating", |a, b| a.rating.cmp(&b.rating)),
    ("created_at", |a, b| a.created_at.cmp(&b.created_at)),
];

pub(crate) const QUESTION_FIELDS: &[listing::Field<Question>] = &[
    ("created_at", |a, b| a.created_at.cmp(&b.created_at)),
    ("num_answers", |a, b| a.answers.len().cmp(&b.answers.len())),
];

pub(crate) const ANSWER_FIELDS: &[listing::Field<Answer>] =
    &[("created_at", |a, b| a.created_at.cmp(&b.created_at))];

impl Amazon {
    pub(crate) fn show_product_reviews(
        &mut self,
        arguments: ListReviews,
    ) -> Result<Vec<Value>, ToolError> {
        let ListReviews {
            product_id,
            user_email,
            min_rating,
            max_rating,
            is_verified,
            list,
        } = arguments;
        let (min, max) = (min_rating.unwrap_or(1), max_rating.unwrap_or(5));
        if !(1..=5).contains(&min) || !(1..=5).contains(&max) {
            return Err(ToolError::invalid(
                "min_rating and max_rating must be from 1 to 5.",
            ));
        }
        self.catalogue.product(product_id)?;
        let author = self.accounts.named_by(user_email.as_deref())?;
        if min > max {
            return Err(ToolError::invalid(
                "min_rating must not be above max_rating.",
            ));
        }
        let mut reviews: Vec<&Review> = self
            .feedback
            .reviews_of(product_id)
            .filter(|review| (min..=max).contains(&review.rating))
            .filter(|review| {
                author
                    .as_ref()
                    .is_none_or(|author| *author == review.author)
            })
            .filter(|review| is_verified.is_none_or(|verified| verified == review.verified))
            .collect();
        reviews.sort_by_key(|review| Reverse((review.created_at, review.id)));
        let text = |review: &&Review| format!("{}\n{}", review.title, review.text);
        let reviews = list.of(reviews, text, REVIEW_FIELDS)?;
        Ok(reviews
            .into_iter()
            .map(|review| self.view_review(review))
            .collect())
    }

    pub(crate) fn write_product_review(
        &mut self,
        me: &Email,
        arguments: WriteReview,
    ) -> Result<Value, ToolError> {
        let WriteReview {
            product_id,
            rating,
            title,
            text,
        } = arguments;
        self.catalogue.product_meant(product_id)?;
        let review = checked_review(Review {
            id: self.feedback.next_review(),
            product: product_id,
            author: me.clone(),
            verified: self.has_bought(me, product_id),
            rating,
            title: title.into(),
            text: text.into(),
            created_at: clock::now(),
        })?;
        if let Some(earlier) = self.feedback.review_by(product_id, me) {
            return Err(ToolError::taken(format!(
                "You have reviewed product {product_id} already: review {}.",
                earlier.id
            )));
        }
        let id = review.id;
        self.feedback.insert_review(review);
        let message = format!("Your review of product {product_id} is published.");
        Ok(json!({"message": message, "product_review_id": id}))
    }

    pub(crate) fn show_product_questions(
        &mut self,
        arguments: ListQuestions,
    ) -> Result<Vec<Value>, ToolError> {
        let ListQuestions {
            product_id,
            user_email,
            list,
        } = arguments;
        self.catalogue.product(product_id)?;
        let author = self.accounts.named_by(user_email.as_deref())?;
        let mut questions: Vec<&Question> = self
            .feedback
            .questions_of(product_id)
            .filter(|question| {
                author
                    .as_ref()
                    .is_none_or(|author| *author == question.author)
            })
            .collect();
        questions.sort_by_key(|question| Reverse((question.created_at, question.id)));
        let text = |question: &&Question| question.text.to_string();
        let questions = list.of(questions, text, QUESTION_FIELDS)?;
        Ok(questions
            .into_iter()
            .map(|question| self.view_question(question))
            .collect())
    }

    pub(crate) fn write_product_question(
        &mut self,
        me: &Email,
        arguments: WriteQuestion,
    ) -> Result<Value, ToolError> {
        let WriteQuestion {
            product_id,
            question,
        } = arguments;
        self.catalogue.product(product_id)?;
        let question = checked_text("question", question)?;
        let same = |earlier: &&Question| earlier.author == *me && earlier.text == question;
        if let Some(earlier) = self.feedback.questions_of(product_id).find(same) {
            return Err(ToolError::taken(format!(
                "You have asked this about product {product_id} already: question {}.",
                earlier.id
            )));
        }
        let id = self.feedback.next_question();
        self.feedback.insert_question(Question {
            id,
            product: product_id,
            author: me.clone(),
            text: question,
            created_at: clock::now(),
            answers: List::default(),
        });
        let message = format!("Your question about product {product_id} is published.");
        Ok(json!({"message": message, "question_id": id}))
    }

    pub(crate) fn show_product_question_answers(
        &mut self,
        arguments: ListAnswers,
    ) -> Result<Vec<Value>, ToolError> {
        let ListAnswers {
            question_id,
            user_email,
            is_verified,
            list,
        } = arguments;
        let question = self
            .feedback
            .questions
            .get(&question_id)
            .ok_or_else(|| ToolError::conflict("question", question_id))?;
        let author = self.accounts.named_by(user_email.as_deref())?;
        let mut answers: Vec<&Answer> = question
            .answers
            .iter()
            .filter_map(|id| self.feedback.answers.get(id))
            .filter(|answer| {
                author
                    .as_ref()
                    .is_none_or(|author| *author == answer.author)
            })
            .filter(|answer| is_verified.is_none_or(|verified| verified == answer.verified))
            .collect();
        answers.sort_by_key(|answer| Reverse((answer.created_at, answer.id)));
        let text = |answer: &&Answer| answer.text.to_string();
        let answers = list.of(answers, text, ANSWER_FIELDS)?;
        Ok(answers
            .into_iter()
            .map(|answer| self.view_answer(answer))
            .collect())
    }
}

/// 422 for stars that there are not, or too long a text.
pub(crate) fn checked_review(review: Review) -> Result<Review, ToolError> {
    if !(1..=5).contains(&review.rating) {
        return Err(ToolError::invalid(format!(
            "The rating must be from 1 to 5, not {}.",
            review.rating
        )));
    }
    Ok(Review {
        title: text::at_most("title", review.title.into(), MAX_TITLE)?.into(),
        text: text::at_most("text", review.text.into(), MAX_TEXT)?.into(),
        ..review
    })
}

/// 422 for an empty question or answer, or one that is too long.
pub(crate) fn checked_text(what: &str, text: String) -> Result<Text, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::invalid(format!("The {what} must not be empty.")));
    }
    Ok(text::at_most(what, text, MAX_TEXT)?.into())
}
