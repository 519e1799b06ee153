//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::catalogue::Size;

fn one() -> u32 {
    1
}

/// A list without filters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

/// A list of product types or sellers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// Words to look for; any of them may match. Without it, all.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchProducts {
    /// Words to look for in name, type, description, color, size and seller; any of them may match, the best match
    /// comes first. Without it, all products.
    pub query: Option<String>,
    /// Only products of this type, one of those in search_product_types.
    pub product_type: Option<String>,
    /// Only products in this color.
    pub color: Option<String>,
    /// Only products of this size.
    pub relative_size: Option<Size>,
    /// Only products that cost this much or more, in dollars.
    #[schemars(range(min = 0))]
    pub min_price: Option<f64>,
    /// Only products that cost this much or less, in dollars.
    #[schemars(range(min = 0))]
    pub max_price: Option<f64>,
    /// Only products with this rating or a better one. A product without reviews has 0.
    #[schemars(range(min = 0, max = 5))]
    pub min_product_rating: Option<f64>,
    /// Only products with this rating or a lower one.
    #[schemars(range(min = 0, max = 5))]
    pub max_product_rating: Option<f64>,
    /// Only products of sellers with this rating or a better one.
    #[schemars(range(min = 0, max = 5))]
    pub min_seller_rating: Option<f64>,
    /// Only products of sellers with this rating or a lower one.
    #[schemars(range(min = 0, max = 5))]
    pub max_seller_rating: Option<f64>,
    /// Only products of this seller.
    pub seller_id: Option<u32>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// One of price, rating, num_product_reviews, num_product_questions, delivery_days, inventory_quantity, weight,
    /// name, product_id, with + (ascending) or - (descending) before it.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeatureChoices {
    /// A product type, one of those in search_product_types. Without it, all types.
    pub product_type: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProductIdOnly {
    /// The product's id.
    pub product_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SellerIdOnly {
    /// The seller's id.
    pub seller_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderIdOnly {
    /// The order's id.
    pub order_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardIdOnly {
    /// The payment card's id.
    pub payment_card_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToCart {
    /// The product's id.
    pub product_id: u32,
    /// How many to add to what is in the cart.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
    /// Take everything else out of the cart first.
    #[serde(default)]
    pub clear_cart_first: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToWishList {
    /// The product's id.
    pub product_id: u32,
    /// How many to add to what is on the wish list.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
    /// Take everything else off the wish list first.
    #[serde(default)]
    pub clear_wish_list_first: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    /// The product's id.
    pub product_id: u32,
    /// How many to move.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateQuantity {
    /// The product's id, one that is in the cart.
    pub product_id: u32,
    /// How many there shall be in the cart; 0 takes the product out.
    #[schemars(range(min = 0, max = 999))]
    pub quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrder {
    /// The card that pays, one of yours that has not expired.
    pub payment_card_id: u32,
    /// Where it is delivered, one of your addresses.
    pub address_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListOrders {
    /// Words to look for in product names and delivery addresses; any of them may match. Without it, all orders.
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, paid_amount, order_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddAddress {
    /// What you call the address, such as Home or Work.
    pub name: String,
    /// Street and number.
    pub street_address: String,
    /// The city.
    pub city: String,
    /// The state or province.
    pub state: String,
    /// The country.
    pub country: String,
    /// The postal code, digits only.
    #[schemars(range(min = 1, max = 9_999_999))]
    pub zip_code: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteReview {
    /// The product's id.
    pub product_id: u32,
    /// Stars, from 1 (bad) to 5 (very good).
    #[schemars(range(min = 1, max = 5))]
    pub rating: u32,
    /// The review's title.
    #[serde(default)]
    pub title: String,
    /// The review's text.
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteQuestion {
    /// The product's id.
    pub product_id: u32,
    /// What you want to know about it.
    pub question: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListReviews {
    /// The product's id.
    pub product_id: u32,
    /// Words to look for in titles and texts; any of them may match. Without it, all reviews.
    pub query: Option<String>,
    /// Only reviews by the account with this email address.
    pub user_email: Option<String>,
    /// Only reviews with this many stars or more.
    #[schemars(range(min = 1, max = 5))]
    pub min_rating: Option<u32>,
    /// Only reviews with this many stars or fewer.
    #[schemars(range(min = 1, max = 5))]
    pub max_rating: Option<u32>,
    /// Only reviews by people who bought the product here (true), or only others (false).
    pub is_verified: Option<bool>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, rating, review_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuestions {
    /// The product's id.
    pub product_id: u32,
    /// Words to look for in questions; any of them may match. Without it, all questions.
    pub query: Option<String>,
    /// Only questions by the account with this email address.
    pub user_email: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, num_answers, question_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAnswers {
    /// The question's id, from show_product_questions.
    pub question_id: u32,
    /// Words to look for in answers; any of them may match. Without it, all answers.
    pub query: Option<String>,
    /// Only answers by the account with this email address.
    pub user_email: Option<String>,
    /// Only answers by people who bought the product here (true), or only others (false).
    pub is_verified: Option<bool>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, question_answer_id.
    pub sort_by: Option<String>,
}
