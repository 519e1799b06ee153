//! Amazon: a shop with sellers, products and their stock; carts, wish lists, orders, reviews, questions and answers.
//!
//! A product in another colour or size is a product of its own, and the two are variations of each other. Money is
//! whole cents inside, dollars with two decimals in records and answers; the price of a cart or order item is for one
//! piece. Stock is checked when something goes into a cart, and taken when the order is placed; it is never negative.
//!
//! A purchase costs its goods, less the discount of a promo code that is valid then, plus 8% sales tax on that, 3.50
//! for each piece wrapped as a gift, and 5.99 for the delivery: free for prime members, and from 35.00 of goods after
//! the discount. It is delivered when the product's days of delivery have passed on the session's clock.
//!
//! # Records
//!
//! ```toml
//! [[apps.amazon.sellers]]
//! id = "lumen"                        # a key for other records; the same below
//! name = "Lumen House"
//! rating = 4.6                        # 0 to 5
//!
//! [[apps.amazon.products]]
//! id = "lamp-blue"
//! seller = "lumen"
//! type = "desk lamp"
//! name = "Arc Desk Lamp"
//! description = "..."
//! price = 24.99
//! stock = 12
//! delivery_days = 3
//! weight = 1.2                        # kilograms
//! length = 20.0                       # centimetres; width and height too
//! width = 15.0
//! height = 42.0
//! color = "blue"                      # may be left out
//! relative_size = "medium"            # extra-small, small, medium, large, extra-large; may be left out
//!
//! [[apps.amazon.products]]            # differs in color or size; what is left out is as in the product it varies
//! id = "lamp-red"
//! variation_of = "lamp-blue"
//! color = "red"
//! stock = 3
//!
//! [[apps.amazon.product_updates]]     # what is new about a product
//! product = "lamp-blue"
//! price = 19.99
//! stock = 0
//!
//! [[apps.amazon.promo_codes]]
//! code = "SPRING10"
//! percent = 10                        # off the goods
//! valid_until = "2026-04-01T00:00:00" # for ever if left out
//!
//! [[apps.amazon.customers]]           # how an account differs from a fresh one
//! owner = "ida@vale.example"          # somebody with an account; the same below
//! is_prime = true                     # false if left out
//! verified = true                     # true if left out
//! track_browsing_history = true       # true if left out
//! promo_code = "SPRING10"             # stands in the cart
//!
//! [[apps.amazon.addresses]]
//! id = "ida-home"                     # may be left out
//! owner = "ida@vale.example"
//! name = "Home"
//! street_address = "3 Mill Lane"
//! city = "Alder"
//! state = "Oregon"
//! country = "USA"
//! zip_code = 97001
//!
//! [[apps.amazon.payment_cards]]
//! id = "ida-card"                     # may be left out
//! owner = "ida@vale.example"
//! card_name = "Blue Card"
//! owner_name = "Ida Vale"             # the owner's name if left out
//! card_number = 4000123412341234
//! expiry_year = 2027
//! expiry_month = 8
//! cvv_number = 123
//!
//! [[apps.amazon.orders]]              # what was bought; stock stays as it is
//! owner = "ida@vale.example"
//! address = "ida-home"
//! card = "ida-card"
//! created_at = "2026-02-20T10:00:00"  # the clock's now if left out; the same below
//! discount = 5.00                     # none if left out
//! tax = 3.60                          # as today's rules have it if left out; so are delivery_fee and gift_wrap_fee
//! paid_amount = 48.60                 # the sum of its parts if left out
//! items = [{ product = "lamp-blue", quantity = 2, price = 22.50, gift_wrapped = 1, returned = 1,
//!            expected_delivery_at = "2026-02-23T10:00:00", delivered_at = "2026-02-24T08:00:00" }]
//!     # only product is needed: 1 piece, today's price, nothing wrapped or returned, delivered on time
//!
//! [[apps.amazon.cart_items]]
//! owner = "ida@vale.example"
//! product = "lamp-blue"
//! quantity = 1                        # 1 if left out
//! gift_wrapped = 1                    # none if left out
//!
//! [[apps.amazon.wish_list_items]]
//! owner = "ida@vale.example"
//! product = "lamp-red"
//! quantity = 1                        # 1 if left out
//!
//! [[apps.amazon.browsing_history]]
//! owner = "ida@vale.example"
//! product = "lamp-red"
//! viewed_at = "2026-02-27T18:00:00"   # the clock's now if left out
//!
//! [[apps.amazon.reviews]]             # one of each author for a product
//! product = "lamp-blue"
//! author = "bo@lind.example"          # somebody with an account; the same below
//! rating = 4                          # 1 to 5
//! title = "Good light"                # may be left out
//! text = "..."                        # may be left out
//! verified = true                     # whether the author has bought it here, if left out; the same below
//! created_at = "2026-02-21T10:00:00"
//!
//! [[apps.amazon.questions]]
//! id = "dimmer"                       # may be left out
//! product = "lamp-blue"
//! author = "ida@vale.example"
//! question = "Can it be dimmed?"
//! created_at = "2026-02-22T10:00:00"
//!
//! [[apps.amazon.answers]]
//! question = "dimmer"
//! author = "bo@lind.example"
//! answer = "Yes, in three steps."
//! verified = true
//! created_at = "2026-02-22T11:00:00"
//! ```
//!
//! Unknown keys are errors. The lists are read in this order, each with its own ids in the order of the records, after
//! those of the world: 1, 2, 3, ... without it. Nothing is ever deleted but what is in carts and on wish lists. Keys hold across later additions.
//!
//! # State
//!
//! `{"users": [{id, first_name, last_name, is_prime, verified, track_browsing_history, promo_code}], "sellers": [{id,
//! name, rating}], "products": [{id, seller_id, product_type, name, color, relative_size, price_cents, stock}],
//! "promo_codes": [{id, percent, valid_until}], "addresses": [{id, owner, name, street_address, city, state, country,
//! zip_code}], "payment_cards": [{id, owner, card_name, owner_name, last_digits, expiry_year, expiry_month}],
//! "cart_items": [{id, owner, product_id, product_name, quantity, gift_wrapped}], "wish_list_items": [{id, owner,
//! product_id, product_name, quantity}], "browsing_history": [{id, owner, product_id, product_name, viewed_at}],
//! "orders": [{id, owner, address_id, address_text, payment_card_id, payment_card_digits, base_cents, discount_cents,
//! gift_wrap_cents, delivery_cents, tax_cents, paid_cents, created_at, items: [{product_id, quantity, returned,
//! gift_wrapped, price_cents, expected_delivery_at, arrives_at}]}], "reviews": [{id, product_id, author, verified,
//! rating, title, text, created_at}], "questions": [{id, product_id, author, question, created_at}], "answers": [{id,
//! question_id, author, verified, answer, created_at}]}`, by id; people are addresses, the id of a user too. The id of
//! a cart item, wish or visit is `owner/product_id`, that of a promo code the code. Of the world's people, sellers,
//! products and opinions only what differs is there.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "tools are methods of one shape: arguments by value, and a result"
)]

mod arguments;
mod browsing;
mod catalogue;
mod checked;
mod customer;
mod feedback;
mod money;
mod opinions;
mod order;
mod ordering;
mod record;
mod shopping;
mod view;
mod world;

use std::collections::BTreeMap;

use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::export_tool_app;
use pibench_sdk::records::Records;
use pibench_sdk::tool::Tools;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::customer::{Address, Card, Customer};
use crate::feedback::Feedback;
use crate::order::{Order, PromoCode};
use crate::record::Keys;

export_tool_app!(Amazon);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Amazon {
    accounts: Accounts,
    catalogue: Catalogue,
    promo_codes: BTreeMap<String, PromoCode>,
    /// Of the accounts that differ from a fresh one.
    customers: BTreeMap<Email, Customer>,
    addresses: BTreeMap<u32, Address>,
    cards: BTreeMap<u32, Card>,
    orders: BTreeMap<u32, Order>,
    feedback: Feedback,
    keys: Keys,
}

impl ToolApp for Amazon {
    fn tools() -> Tools<Self> {
        let tools = Tools::new().login().logout();
        opinion_tools(order_tools(shopping_tools(catalogue_tools(tools))))
    }

    fn open(accounts: Accounts) -> Self {
        let world = accounts.world();
        Self {
            accounts,
            catalogue: Catalogue::new(world),
            promo_codes: BTreeMap::new(),
            customers: BTreeMap::new(),
            addresses: BTreeMap::new(),
            cards: BTreeMap::new(),
            orders: BTreeMap::new(),
            feedback: Feedback::new(world),
            keys: Keys::default(),
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_records(records)
    }

    fn state(&self) -> impl Serialize {
        self.view_state()
    }
}

impl Amazon {
    /// A copy, to be changed and saved as a whole.
    fn customer(&self, email: &Email) -> Customer {
        self.customers.get(email).cloned().unwrap_or_default()
    }

    fn customer_mut(&mut self, email: &Email) -> &mut Customer {
        self.customers.entry(email.clone()).or_default()
    }

    fn save(&mut self, email: &Email, customer: Customer) {
        self.customers.insert(email.clone(), customer);
    }
}

fn catalogue_tools(tools: Tools<Amazon>) -> Tools<Amazon> {
    tools
        .public(
            "search_product_types",
            "Kinds of products.",
            Amazon::search_product_types,
        )
        .public(
            "search_products",
            "USD, kg, cm. variations are products of their own.",
            Amazon::search_products,
        )
        .sorted_by(&browsing::offer_fields())
        .public("show_product", "With its variations.", Amazon::show_product)
        .public(
            "show_product_feature_choices",
            "Lists the colors, sizes and sellers that there are.",
            Amazon::show_product_feature_choices,
        )
        .public("search_sellers", "By their names.", Amazon::search_sellers)
        .public("show_seller", "With its rating.", Amazon::show_seller)
        .private(
            "show_recommended_products",
            "Lists products in stock that go with what you bought, want or looked at.",
            Amazon::show_recommended_products,
        )
        .private(
            "add_product_to_browsing_history",
            "Notes that you looked at a product.",
            Amazon::add_product_to_browsing_history,
        )
}

fn shopping_tools(tools: Tools<Amazon>) -> Tools<Amazon> {
    tools
        .private(
            "show_cart",
            "Prices of one piece; total_cost with tax and fees.",
            Amazon::show_cart,
        )
        .private(
            "add_product_to_cart",
            "Beside what is in it.",
            Amazon::add_product_to_cart,
        )
        .private(
            "update_product_quantity_in_cart",
            "Sets how many; 0: none.",
            Amazon::update_product_quantity_in_cart,
        )
        .private("clear_cart", "Leaves it empty.", Amazon::clear_cart)
        .private("show_wish_list", "With its prices.", Amazon::show_wish_list)
        .private(
            "add_product_to_wish_list",
            "Beside what is on it.",
            Amazon::add_product_to_wish_list,
        )
        .private(
            "move_product_from_cart_to_wish_list",
            "Moves pieces of a product.",
            Amazon::move_product_from_cart_to_wish_list,
        )
        .private(
            "move_product_from_wish_list_to_cart",
            "Moves pieces of a product.",
            Amazon::move_product_from_wish_list_to_cart,
        )
}

fn order_tools(tools: Tools<Amazon>) -> Tools<Amazon> {
    tools
        .private("show_account", "Your own one.", Amazon::show_account)
        .private("show_addresses", "With their ids.", Amazon::show_addresses)
        .private("add_address", "To ship to.", Amazon::add_address)
        .private(
            "show_payment_cards",
            "With their ids.",
            Amazon::show_payment_cards,
        )
        .private(
            "show_payment_card",
            "With its number.",
            Amazon::show_payment_card,
        )
        .private(
            "place_order",
            "Buys the cart, for good.",
            Amazon::place_order,
        )
        .private("show_orders", "Latest first.", Amazon::show_orders)
        .sorted_by(ordering::ORDER_FIELDS)
        .private("show_order", "Prices of one piece.", Amazon::show_order)
        .private(
            "show_product_purchases",
            "Latest first.",
            Amazon::show_product_purchases,
        )
        .private(
            "show_last_product_purchase",
            "Tells when and with which order you last bought a product.",
            Amazon::show_last_product_purchase,
        )
}

fn opinion_tools(tools: Tools<Amazon>) -> Tools<Amazon> {
    tools
        .public(
            "show_product_reviews",
            "Latest first.",
            Amazon::show_product_reviews,
        )
        .sorted_by(opinions::REVIEW_FIELDS)
        .private(
            "write_product_review",
            "Publishes your one review of a product, for good.",
            Amazon::write_product_review,
        )
        .public(
            "show_product_questions",
            "Latest first.",
            Amazon::show_product_questions,
        )
        .sorted_by(opinions::QUESTION_FIELDS)
        .public(
            "show_product_question_answers",
            "Latest first.",
            Amazon::show_product_question_answers,
        )
        .sorted_by(opinions::ANSWER_FIELDS)
        .private(
            "write_product_question",
            "Publishes a question about a product.",
            Amazon::write_product_question,
        )
}

#[cfg(test)]
mod tests;
