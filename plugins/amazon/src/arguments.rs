//! What the tools take. The comments are what a model reads.

use pibench_sdk::listing::{List, NO_LIMIT, Page, Search};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::catalogue::Size;

fn one() -> u32 {
    1
}

/// A list without filters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageOnly {
    #[serde(flatten)]
    pub page: Page,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchTypes {
    #[serde(flatten)]
    pub search: Search<NO_LIMIT>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSellers {
    #[serde(flatten)]
    pub search: Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchProducts {
    pub product_type: Option<String>,
    pub color: Option<String>,
    pub relative_size: Option<Size>,
    #[schemars(range(min = 0))]
    pub min_price: Option<f64>,
    #[schemars(range(min = 0))]
    pub max_price: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub min_product_rating: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub max_product_rating: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub min_seller_rating: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub max_seller_rating: Option<f64>,
    pub seller_id: Option<u32>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeatureChoices {
    pub product_type: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProductIdOnly {
    pub product_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SellerIdOnly {
    pub seller_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderIdOnly {
    pub order_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardIdOnly {
    pub payment_card_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToCart {
    pub product_id: u32,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
    #[serde(default)]
    pub clear_cart_first: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToWishList {
    pub product_id: u32,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
    #[serde(default)]
    pub clear_wish_list_first: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    pub product_id: u32,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateQuantity {
    pub product_id: u32,
    #[schemars(range(min = 0, max = 999))]
    pub quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrder {
    pub payment_card_id: u32,
    pub address_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListOrders {
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddAddress {
    /// Such as Home.
    pub name: String,
    pub street_address: String,
    pub city: String,
    pub state: String,
    pub country: String,
    #[schemars(range(min = 1, max = 9_999_999))]
    pub zip_code: u32,
}

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
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuestions {
    pub product_id: u32,
    pub user_email: Option<String>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAnswers {
    pub question_id: u32,
    pub user_email: Option<String>,
    /// By buyers.
    pub is_verified: Option<bool>,
    #[serde(flatten)]
    pub list: List,
}
