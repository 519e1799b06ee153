//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

use crate::world::{ANSWERS, FAMILIES, PRODUCTS, QUESTIONS, REVIEWS, SELLERS, WRITTEN};

#[test]
fn the_worlds_shop_hangs_together() {
    assert!(PRODUCTS.len() >= 500 && SELLERS.len() > 20 && ANSWERS.len() > 100);
    for (id, product) in PRODUCTS {
        assert_eq!(product.id, *id);
        assert!(product.seller as usize <= SELLERS.len());
        let family = FAMILIES.iter().find(|(first, _)| *first == product.family);
        assert!(family.map_or(product.family == *id, |(_, it)| it.0.contains(id)));
    }
    let stars: u32 = WRITTEN.iter().map(|(_, written)| written.stars).sum();
    assert_eq!(
        stars,
        REVIEWS.iter().map(|(_, review)| review.rating).sum::<u32>()
    );
    for (product, written) in WRITTEN {
        assert!(
            written
                .reviews
                .iter()
                .all(|id| REVIEWS[*id as usize - 1].1.product == *product)
        );
        assert!(
            written
                .questions
                .iter()
                .all(|id| QUESTIONS[*id as usize - 1].1.product == *product)
        );
    }
    for (id, question) in QUESTIONS {
        assert!(
            question
                .answers
                .iter()
                .all(|it| ANSWERS[*it as usize - 1].1.question == *id)
        );
    }
}

#[test]
fn a_purchase_takes_from_the_worlds_stock_and_the_state_tells_what_it_was() {
    let mut session = Session::<Amazon>::in_the_world(0, false);
    let records = json!({
        "addresses": [{"id": "home", "owner": session_email(&session), "name": "Home", "street_address": "1 Mill Lane",
            "city": "Ellery", "state": "Ohio", "country": "USA", "zip_code": 43977}],
        "payment_cards": [{"id": "card", "owner": session_email(&session), "card_name": "Card",
            "card_number": 4_000_123_412_341_234_u64, "expiry_year": 2030, "expiry_month": 8, "cvv_number": 123}],
    });
    pibench_sdk::app::add(&mut session.app, &records.to_string()).unwrap();
    let found = session.ok(
        "search_products",
        json!({"query": "wool sweaters in blue", "min_product_rating": 0}),
    );
    assert_eq!(found[0]["product_type"], "wool sweater");
    let product = PRODUCTS
        .iter()
        .find(|(_, product)| product.sale.stock > 1)
        .unwrap();
    session.ok(
        "add_product_to_cart",
        json!({"product_id": product.0, "quantity": 1}),
    );
    session.ok(
        "place_order",
        json!({"payment_card_id": 1, "address_id": 1}),
    );
    let state = session.state();
    assert_eq!(state["products"].as_array().map(Vec::len), Some(1));
    let stock = product.1.sale.stock;
    assert_eq!(state["products"][0]["stock"], stock - 1);
    assert_eq!(state["products"][0]["world"], json!({"stock": stock}));
    assert_eq!(state["reviews"], json!([]));
}

fn session_email(session: &Session<Amazon>) -> String {
    let named = session.app.accounts.named().next();
    named.unwrap().email.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["lamp", "blue", "medium", "-price", "fenwood", "desk lamp", "", "warm light"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<Amazon>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        let stock = |product: &(u32, crate::catalogue::Product)| session.app.catalogue.get(product.0).map(|it| it.sale.stock);
        prop_assert!(PRODUCTS.iter().all(|product| stock(product) <= Some(product.1.sale.stock)));
        prop_assert!(session.state().is_object());
    }
}
