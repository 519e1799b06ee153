use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session, ids};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod cases;
mod catalogue;
mod life;
mod opinions;
mod orders;
mod records;
mod shopping;
mod world;

const TOOLS: [&str; 33] = [
    "add_address",
    "add_product_to_browsing_history",
    "add_product_to_cart",
    "add_product_to_wish_list",
    "clear_cart",
    "login",
    "logout",
    "move_product_from_cart_to_wish_list",
    "move_product_from_wish_list_to_cart",
    "place_order",
    "search_product_types",
    "search_products",
    "search_sellers",
    "show_account",
    "show_addresses",
    "show_cart",
    "show_last_product_purchase",
    "show_order",
    "show_orders",
    "show_payment_card",
    "show_payment_cards",
    "show_product",
    "show_product_feature_choices",
    "show_product_purchases",
    "show_product_question_answers",
    "show_product_questions",
    "show_product_reviews",
    "show_recommended_products",
    "show_seller",
    "show_wish_list",
    "update_product_quantity_in_cart",
    "write_product_question",
    "write_product_review",
];

const PUBLIC: [&str; 10] = [
    "login",
    "search_product_types",
    "search_products",
    "search_sellers",
    "show_product",
    "show_product_feature_choices",
    "show_product_question_answers",
    "show_product_questions",
    "show_product_reviews",
    "show_seller",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";
const CY: &str = "cy@moor.test";

const LAMP: u32 = 1;
const RED_LAMP: u32 = 2;
const KETTLE: u32 = 3;
const MUG: u32 = 4;
const CLIP_LAMP: u32 = 5;
const UNKNOWN: u32 = 99;

/// Ida's: address 1, cards 1 and 2 (expired), order 1 of a kettle, two red lamps on the wish list. Bo's, who is prime:
/// address 2, card 3, order 2 of a lamp. The mug is out of stock. Two reviews and one question about the lamp.
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida", "last_name": "Vale", "email": IDA, "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": BO, "password": "pb"},
            {"first_name": "Cy", "last_name": "Moor", "email": CY},
        ],
        "records": {
            "sellers": [
                {"id": "lumen", "name": "Lumen House", "rating": 4.6},
                {"id": "brew", "name": "Brew Yard", "rating": 3.9},
            ],
            "products": [
                {"id": "lamp", "seller": "lumen", "type": "desk lamp", "name": "Arc Desk Lamp",
                 "description": "A bendable arm and warm light.", "price": 24.99, "stock": 12, "delivery_days": 3,
                 "weight": 1.2, "length": 20, "width": 15, "height": 42, "color": "blue", "relative_size": "medium"},
                {"id": "red-lamp", "variation_of": "lamp", "color": "red", "stock": 3},
                {"id": "kettle", "seller": "brew", "type": "kettle", "name": "Swan Kettle",
                 "description": "Boils a litre in two minutes.", "price": 39.5, "stock": 5, "delivery_days": 2,
                 "weight": 0.9, "length": 22, "width": 16, "height": 24, "color": "steel"},
                {"id": "mug", "seller": "brew", "type": "mug", "name": "Tall Mug", "description": "Keeps tea warm.",
                 "price": 8, "stock": 0, "delivery_days": 4, "weight": 0.4, "length": 9, "width": 9, "height": 13,
                 "color": "white", "relative_size": "small"},
                {"id": "clip", "seller": "lumen", "type": "desk lamp", "name": "Clip Lamp",
                 "description": "Holds on to any shelf.", "price": 12.05, "stock": 40, "delivery_days": 1,
                 "weight": 0.3, "length": 8, "width": 8, "height": 18, "color": "black", "relative_size": "small"},
            ],
            "promo_codes": [
                {"code": "SPRING10", "percent": 10, "valid_until": "2026-04-01T00:00:00"},
                {"code": "OLD50", "percent": 50, "valid_until": "2025-12-31T00:00:00"},
            ],
            "customers": [{"owner": BO, "is_prime": true, "track_browsing_history": false}],
            "addresses": [
                {"id": "ida-home", "owner": IDA, "name": "Home", "street_address": "3 Mill Lane", "city": "Alder",
                 "state": "Oregon", "country": "USA", "zip_code": 97001},
                {"id": "bo-home", "owner": BO, "name": "Home", "street_address": "8 Quay", "city": "Port Reed",
                 "state": "Maine", "country": "USA", "zip_code": 4001},
            ],
            "payment_cards": [
                {"id": "blue", "owner": IDA, "card_name": "Blue Card", "card_number": 4_000_123_412_340_042_u64,
                 "expiry_year": 2026, "expiry_month": 3, "cvv_number": 123},
                {"owner": IDA, "card_name": "Old Card", "owner_name": "Ida Fern",
                 "card_number": 4_000_123_412_345_678_u64, "expiry_year": 2026, "expiry_month": 2, "cvv_number": 77},
                {"id": "green", "owner": BO, "card_name": "Green Card", "card_number": 5_100_123_412_349_999_u64,
                 "expiry_year": 2030, "expiry_month": 1, "cvv_number": 9},
            ],
            "orders": [
                {"owner": IDA, "address": "ida-home", "card": "blue", "created_at": "2026-02-20T10:00:00",
                 "discount": 5, "items": [{"product": "kettle", "gift_wrapped": 1, "price": 36.25}]},
                {"owner": BO, "address": "bo-home", "card": "green", "created_at": "2026-03-01T10:00:00",
                 "items": [{"product": "lamp", "quantity": 2, "returned": 1}]},
            ],
            "wish_list_items": [{"owner": IDA, "product": "red-lamp", "quantity": 2}],
            "browsing_history": [{"owner": IDA, "product": "mug", "viewed_at": "2026-02-25T10:00:00"}],
            "reviews": [
                {"product": "lamp", "author": BO, "rating": 4, "title": "Good light", "text": "Bends well.",
                 "created_at": "2026-03-01T20:00:00"},
                {"product": "lamp", "author": CY, "rating": 5, "text": "Bright enough for sewing.",
                 "created_at": "2026-03-01T21:00:00"},
            ],
            "questions": [
                {"id": "dimmer", "product": "lamp", "author": IDA, "question": "Can it be dimmed?",
                 "created_at": "2026-02-22T10:00:00"},
            ],
            "answers": [
                {"question": "dimmer", "author": BO, "answer": "Yes, in three steps.",
                 "created_at": "2026-03-01T22:00:00"},
                {"question": "dimmer", "author": CY, "answer": "Mine is always bright.",
                 "created_at": "2026-03-01T23:00:00"},
            ],
        },
    })
}

fn open(email: &str, password: &str) -> Session<Amazon> {
    let mut session = Session::open(&seed());
    session.log_in(email, password);
    session
}

fn ida() -> Session<Amazon> {
    open(IDA, "pw")
}

fn bo() -> Session<Amazon> {
    open(BO, "pb")
}

/// Ida, with so many of each of these products in the cart.
fn ida_with(cart: &[(u32, u32)]) -> Session<Amazon> {
    let mut session = ida();
    for (product_id, quantity) in cart {
        session.ok(
            "add_product_to_cart",
            json!({"product_id": product_id, "quantity": quantity}),
        );
    }
    session
}

#[track_caller]
fn refused(mut session: Session<Amazon>, tool: &str, arguments: Value, expected: (u16, &str)) {
    session.check_refused(tool, arguments, expected.0, expected.1);
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

/// Product and quantity of each item.
fn lines(items: &Value) -> Vec<(u64, u64)> {
    let products = ids(items, "product_id");
    products.into_iter().zip(ids(items, "quantity")).collect()
}

fn stock(session: &mut Session<Amazon>, product_id: u32) -> u64 {
    let product = session.ok("show_product", json!({"product_id": product_id}));
    product["inventory_quantity"].as_u64().unwrap()
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<Amazon>(&TOOLS);
}

#[test]
fn every_private_tool_needs_a_token_and_no_public_one_does() {
    for tool in Amazon::tools().declarations() {
        let token = &tool.schema["properties"]["access_token"];
        let private = token["deprecated"] != true;
        assert_eq!(private, !PUBLIC.contains(&tool.name), "{}", tool.name);
        let guess = json!({"access_token": "guess"});
        if !private {
            // A public tool does not look at it.
            let status = ida()
                .call(tool.name, guess)
                .map_or_else(|error| error.status, |_| 200);
            assert_ne!(status, 401, "{}", tool.name);
            continue;
        }
        assert_eq!(ida().refused(tool.name, guess).status, 401, "{}", tool.name);
        let mut stranger = Session::<Amazon>::open(&seed());
        assert_eq!(stranger.refused(tool.name, json!({})).status, 401);
    }
}

#[test]
fn a_login_is_checked_and_a_logout_ends_it() {
    check_refused(
        "login",
        json!({"username": CY, "password": ""}),
        401,
        "The user name or the password is wrong.",
    );
    let mut session = ida();
    session.ok("logout", json!({}));
    assert_eq!(session.refused("show_cart", json!({})).status, 401);
}

#[test]
fn an_account_shows_its_settings() {
    let mut session = bo();
    let account = json!({
        "first_name": "Bo", "last_name": "Lind", "email": BO, "registered_at": "2020-01-01T00:00:00",
        "last_logged_in": "2026-03-02T09:00:00", "track_browsing_history": false, "verified": true,
        "is_prime": true,
    });
    assert_eq!(session.ok("show_account", json!({})), account);
}
