//! Reviews, questions and answers of products, with their numbers and averages. It knows no tools.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::layer::Layer;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;
use serde::{Deserialize, Serialize};

use crate::catalogue::ProductId;

/// All that is written about products.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Feedback {
    pub reviews: Layer<u32, Review>,
    pub questions: Layer<u32, Question>,
    pub answers: Layer<u32, Answer>,
    /// Which of them belong to a product; none where there is nothing.
    by_product: Layer<ProductId, Written>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Written {
    pub reviews: List<u32>,
    pub stars: u32,
    pub questions: List<u32>,
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
    pub title: Text,
    pub text: Text,
    pub created_at: DateTime,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Question {
    pub id: u32,
    pub product: ProductId,
    pub author: Email,
    pub text: Text,
    pub created_at: DateTime,
    /// In the order in which they were given.
    pub answers: List<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub id: u32,
    pub question: u32,
    pub author: Email,
    /// Whether the author had bought the product.
    pub verified: bool,
    pub text: Text,
    pub created_at: DateTime,
}

impl Feedback {
    /// With what the world's people wrote, or empty.
    pub(crate) fn new(world: bool) -> Self {
        Self {
            reviews: Layer::new(world),
            questions: Layer::new(world),
            answers: Layer::new(world),
            by_product: Layer::new(world),
        }
    }

    pub(crate) fn next_review(&self) -> u32 {
        self.reviews.next_id()
    }

    pub(crate) fn next_question(&self) -> u32 {
        self.questions.next_id()
    }

    pub(crate) fn next_answer(&self) -> u32 {
        self.answers.next_id()
    }

    pub(crate) fn insert_review(&mut self, review: Review) {
        let written = self.written_mut(review.product);
        written.reviews.to_mut().push(review.id);
        written.stars += review.rating;
        self.reviews.insert(review.id, review);
    }

    pub(crate) fn insert_question(&mut self, question: Question) {
        let written = self.written_mut(question.product);
        written.questions.to_mut().push(question.id);
        self.questions.insert(question.id, question);
    }

    /// The question must be there.
    pub(crate) fn insert_answer(&mut self, answer: Answer) {
        if let Some(question) = self.questions.get_mut(&answer.question) {
            question.answers.to_mut().push(answer.id);
        }
        self.answers.insert(answer.id, answer);
    }

    fn written_mut(&mut self, product: ProductId) -> &mut Written {
        self.by_product
            .get_or_insert_with(&product, Written::default)
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
