//! Reviews, questions and answers of products, with their numbers and averages. It knows no tools.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use serde::{Deserialize, Serialize};

use crate::catalogue::ProductId;

/// All that is written about products.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Feedback {
    pub reviews: BTreeMap<u32, Review>,
    pub questions: BTreeMap<u32, Question>,
    pub answers: BTreeMap<u32, Answer>,
    /// Which of them belong to a product; none where there is nothing.
    by_product: BTreeMap<ProductId, Written>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Written {
    reviews: Vec<u32>,
    stars: u32,
    questions: Vec<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Review {
    pub id: u32,
    pub product: ProductId,
    pub author: Email,
    /// Whether the author had bought the product.
    pub verified: bool,
    /// From 1 to 5.
    pub rating: u32,
    pub title: String,
    pub text: String,
    pub created_at: DateTime,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Question {
    pub id: u32,
    pub product: ProductId,
    pub author: Email,
    pub text: String,
    pub created_at: DateTime,
    /// In the order in which they were given.
    pub answers: Vec<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub id: u32,
    pub question: u32,
    pub author: Email,
    /// Whether the author had bought the product.
    pub verified: bool,
    pub text: String,
    pub created_at: DateTime,
}

impl Feedback {
    pub(crate) fn next_review(&self) -> u32 {
        self.reviews.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    pub(crate) fn next_question(&self) -> u32 {
        self.questions.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    pub(crate) fn next_answer(&self) -> u32 {
        self.answers.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    pub(crate) fn insert_review(&mut self, review: Review) {
        let written = self.by_product.entry(review.product).or_default();
        written.reviews.push(review.id);
        written.stars += review.rating;
        self.reviews.insert(review.id, review);
    }

    pub(crate) fn insert_question(&mut self, question: Question) {
        let written = self.by_product.entry(question.product).or_default();
        written.questions.push(question.id);
        self.questions.insert(question.id, question);
    }

    /// The question must be there.
    pub(crate) fn insert_answer(&mut self, answer: Answer) {
        if let Some(question) = self.questions.get_mut(&answer.question) {
            question.answers.push(answer.id);
        }
        self.answers.insert(answer.id, answer);
    }

    pub(crate) fn reviews_of(&self, product: ProductId) -> impl Iterator<Item = &Review> {
        let written = self.by_product.get(&product);
        let ids = written.into_iter().flat_map(|written| &written.reviews);
        ids.filter_map(|id| self.reviews.get(id))
    }

    pub(crate) fn questions_of(&self, product: ProductId) -> impl Iterator<Item = &Question> {
        let written = self.by_product.get(&product);
        let ids = written.into_iter().flat_map(|written| &written.questions);
        ids.filter_map(|id| self.questions.get(id))
    }

    /// The review of a product that somebody has written.
    pub(crate) fn review_by(&self, product: ProductId, author: &Email) -> Option<&Review> {
        self.reviews_of(product)
            .find(|review| review.author == *author)
    }

    /// Average stars to one decimal (0 without reviews), and the numbers of reviews and questions.
    pub(crate) fn numbers(&self, product: ProductId) -> (f64, usize, usize) {
        let Some(written) = self.by_product.get(&product) else {
            return (0.0, 0, 0);
        };
        let (reviews, questions) = (written.reviews.len(), written.questions.len());
        let average = f64::from(written.stars) / reviews.max(1) as f64;
        ((average * 10.0).round() / 10.0, reviews, questions)
    }
}
