//! What belongs to one account: settings, cart, wish list, browsing history, addresses, cards. It knows no tools and
//! checks nothing against the catalogue.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use serde::{Deserialize, Serialize};

use crate::catalogue::ProductId;

/// An account's settings and lists. An account that has none stored is as [`Customer::default`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Customer {
    pub is_prime: bool,
    pub verified: bool,
    pub track_browsing_history: bool,
    /// The code that stands in the cart, in the spelling of its record.
    pub promo_code: Option<String>,
    pub cart: BTreeMap<ProductId, CartItem>,
    /// How many of each product.
    pub wish_list: BTreeMap<ProductId, u32>,
    /// When each product was last looked at.
    pub history: BTreeMap<ProductId, DateTime>,
}

impl Default for Customer {
    fn default() -> Self {
        Self {
            is_prime: false,
            verified: true,
            track_browsing_history: true,
            promo_code: None,
            cart: BTreeMap::new(),
            wish_list: BTreeMap::new(),
            history: BTreeMap::new(),
        }
    }
}

impl Customer {
    pub(crate) fn in_cart(&self, product: ProductId) -> u32 {
        self.cart.get(&product).map_or(0, |item| item.quantity)
    }

    pub(crate) fn on_wish_list(&self, product: ProductId) -> u32 {
        self.wish_list.get(&product).copied().unwrap_or_default()
    }

    /// 0 takes the product out. No more are wrapped than there are.
    pub(crate) fn set_in_cart(&mut self, product: ProductId, quantity: u32) {
        if quantity == 0 {
            self.cart.remove(&product);
            return;
        }
        let item = self.cart.entry(product).or_default();
        item.quantity = quantity;
        item.gift_wrapped = item.gift_wrapped.min(quantity);
    }

    /// 0 takes the product off.
    pub(crate) fn set_on_wish_list(&mut self, product: ProductId, quantity: u32) {
        if quantity == 0 {
            self.wish_list.remove(&product);
        } else {
            self.wish_list.insert(product, quantity);
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CartItem {
    /// At least 1.
    pub quantity: u32,
    /// How many of them are wrapped as a gift.
    pub gift_wrapped: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Address {
    pub id: u32,
    pub owner: Email,
    pub name: String,
    pub street: String,
    pub city: String,
    pub state: String,
    pub country: String,
    pub zip_code: u32,
}

impl Address {
    /// On one line, as on a parcel.
    pub(crate) fn text(&self) -> String {
        let Self {
            street,
            city,
            state,
            country,
            zip_code,
            ..
        } = self;
        format!("{street}, {city}, {state} {zip_code:05}, {country}")
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Card {
    pub id: u32,
    pub owner: Email,
    /// What the owner calls it.
    pub label: String,
    pub owner_name: String,
    pub number: u64,
    pub expiry_year: i16,
    pub expiry_month: i8,
    pub cvv_number: u16,
}

impl Card {
    /// The last four digits, as receipts show them.
    pub(crate) fn last_digits(&self) -> String {
        format!("{:04}", self.number % 10_000)
    }

    /// A card is good until the end of its month.
    pub(crate) fn has_expired(&self, now: DateTime) -> bool {
        (self.expiry_year, self.expiry_month) < (now.year(), now.month())
    }
}
