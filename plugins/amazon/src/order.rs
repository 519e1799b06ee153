//! Bills and orders: what a purchase costs, and when it arrives. It knows no tools.

use jiff::Span;
use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use serde::{Deserialize, Serialize};

use crate::catalogue::ProductId;
use crate::money::Cents;

/// Sales tax, in percent of the goods after the discount.
const TAX: u32 = 8;
/// What a delivery costs, and from which value of goods it is free for everybody. Prime members never pay it.
const DELIVERY_FEE: Cents = Cents(599);
const FREE_DELIVERY_FROM: Cents = Cents(3500);
/// For each wrapped piece.
const GIFT_WRAP_FEE: Cents = Cents(350);

/// What a purchase costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bill {
    pub base_cost: Cents,
    /// At most the base cost.
    pub discount: Cents,
    pub gift_wrap_fee: Cents,
    pub delivery_fee: Cents,
    pub tax: Cents,
    /// What is paid.
    pub total: Cents,
}

impl Bill {
    /// The bill for goods of this value, of which so many pieces are wrapped. No goods cost nothing.
    pub(crate) fn new(base_cost: Cents, discount: Cents, wrapped: u32, is_prime: bool) -> Self {
        let discount = discount.min(base_cost);
        let goods = Cents(base_cost.0 - discount.0);
        let free = is_prime || base_cost == Cents(0) || goods >= FREE_DELIVERY_FROM;
        let parts = Self {
            base_cost,
            discount,
            gift_wrap_fee: GIFT_WRAP_FEE.times(wrapped),
            delivery_fee: if free { Cents(0) } else { DELIVERY_FEE },
            tax: goods.percent(TAX),
            total: Cents(0),
        };
        parts.kept(Kept::default())
    }

    /// With the parts and the total that somebody else made, and a total of the parts where that is not told.
    pub(crate) fn kept(self, kept: Kept) -> Self {
        let Kept {
            gift_wrap_fee,
            delivery_fee,
            tax,
            total,
        } = kept;
        let parts = Self {
            gift_wrap_fee: gift_wrap_fee.unwrap_or(self.gift_wrap_fee),
            delivery_fee: delivery_fee.unwrap_or(self.delivery_fee),
            tax: tax.unwrap_or(self.tax),
            ..self
        };
        let goods = Cents(parts.base_cost.0 - parts.discount.0);
        let sum = goods + parts.gift_wrap_fee + parts.delivery_fee + parts.tax;
        let total = total.unwrap_or(sum);
        Self { total, ..parts }
    }
}

/// What of a past bill is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kept {
    pub gift_wrap_fee: Option<Cents>,
    pub delivery_fee: Option<Cents>,
    pub tax: Option<Cents>,
    pub total: Option<Cents>,
}

/// A purchase. Nothing about it changes later but that it arrives.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub id: u32,
    pub owner: Email,
    pub address: u32,
    pub address_text: String,
    pub card: u32,
    pub card_digits: String,
    pub bill: Bill,
    /// At least one, each of another product.
    pub items: Vec<OrderItem>,
    pub created_at: DateTime,
}

impl Order {
    pub(crate) fn item(&self, product: ProductId) -> Option<&OrderItem> {
        self.items.iter().find(|item| item.product == product)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OrderItem {
    pub product: ProductId,
    pub quantity: u32,
    /// How many of them were sent back.
    pub returned: u32,
    pub gift_wrapped: u32,
    /// For one.
    pub price: Cents,
    pub expected_delivery_at: DateTime,
    /// As expected, unless a record says otherwise. May be in the future.
    pub arrives_at: DateTime,
}

impl OrderItem {
    pub(crate) fn delivered_at(&self, now: DateTime) -> Option<DateTime> {
        (self.arrives_at <= now).then_some(self.arrives_at)
    }
}

/// So many days later, at the same time of day.
pub(crate) fn days_after(moment: DateTime, days: u32) -> DateTime {
    moment
        .checked_add(Span::new().days(days))
        .unwrap_or(DateTime::MAX)
}

/// A code that takes so many percent off.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PromoCode {
    pub code: String,
    pub percent: u32,
    pub valid_until: Option<DateTime>,
}

impl PromoCode {
    pub(crate) fn is_valid(&self, now: DateTime) -> bool {
        self.valid_until.is_none_or(|until| now <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: u64, discount: u64, wrapped: u32, prime: bool, expected: [u64; 4]) {
        let bill = Bill::new(Cents(base), Cents(discount), wrapped, prime);
        let parts = [bill.gift_wrap_fee, bill.delivery_fee, bill.tax, bill.total];
        assert_eq!(parts.map(|part| part.0), expected);
    }

    #[test]
    fn a_small_purchase_pays_for_its_delivery_and_a_large_one_does_not() {
        check(3499, 0, 0, false, [0, 599, 280, 4378]);
        check(3500, 0, 0, false, [0, 0, 280, 3780]);
        check(4000, 600, 0, false, [0, 599, 272, 4271]);
    }

    #[test]
    fn a_prime_member_and_an_empty_cart_pay_no_delivery() {
        check(1000, 0, 2, true, [700, 0, 80, 1780]);
        check(0, 0, 0, false, [0, 0, 0, 0]);
    }

    #[test]
    fn a_discount_is_never_more_than_the_goods() {
        check(1000, 2000, 0, false, [0, 599, 0, 599]);
    }
}
