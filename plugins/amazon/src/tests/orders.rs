use super::*;

const PAY: &str = "place_order";

fn pay(card: u32, address: u32) -> Value {
    json!({"payment_card_id": card, "address_id": address})
}

#[test]
fn an_order_takes_the_cart_the_stock_and_the_money() {
    let mut session = ida_with(&[(KETTLE, 2), (LAMP, 1)]);
    let total = session.ok("show_cart", json!({}))["total_cost"].clone();
    let answer = session.ok(PAY, pay(1, 1));
    let message = "Order 3 is placed; 112.31 dollars are paid.";
    assert_eq!(answer, json!({"message": message, "order_id": 3}));
    let item = |id: u32, name: &str, quantity: u32, price: f64, expected: &str| {
        json!({
            "product_id": id, "product_name": name, "product_review_id": null, "ordered_quantity": quantity,
            "returned_quantity": 0, "gift_wrap_quantity": 0, "price": price, "expected_delivery_at": expected,
            "delivered_at": null,
        })
    };
    let expected = json!({
        "order_id": 3, "address_id": 1, "payment_card_id": 1, "tax": 8.32, "delivery_fee": 0.0,
        "gift_wrap_fee": 0.0, "discount": 0.0, "created_at": "2026-03-02T09:00:00",
        "address_text": "3 Mill Lane, Alder, Oregon 97001, USA", "payment_card_digits": "0042",
        "paid_amount": total,
        "order_items": [
            item(1, "Arc Desk Lamp", 1, 24.99, "2026-03-05T09:00:00"),
            item(3, "Swan Kettle", 2, 39.5, "2026-03-04T09:00:00"),
        ],
    });
    assert_eq!(session.ok("show_order", json!({"order_id": 3})), expected);
    assert_eq!(session.ok("show_cart", json!({}))["cart_items"], json!([]));
    assert_eq!(
        [LAMP, KETTLE, RED_LAMP].map(|id| stock(&mut session, id)),
        [11, 3, 3]
    );
}

#[test]
fn an_order_arrives_when_its_days_have_passed() {
    let mut session = ida_with(&[(KETTLE, 1)]);
    session.ok(PAY, pay(1, 1));
    let mut delivered = |moment: jiff::civil::DateTime| {
        testkit::set_clock(moment);
        let order = session.ok("show_order", json!({"order_id": 3}));
        order["order_items"][0]["delivered_at"].clone()
    };
    let day = jiff::civil::date(2026, 3, 4);
    assert_eq!(delivered(day.at(8, 59, 59, 0)), json!(null));
    assert_eq!(delivered(day.at(9, 0, 0, 0)), json!("2026-03-04T09:00:00"));
}

#[test]
fn an_order_that_breaks_a_rule_is_refused() {
    refused(ida(), PAY, pay(1, 1), (422, "Your cart is empty."));
    for (card, address, status, message) in [
        (9, 1, 409, "There is no payment card 9."),
        (1, 9, 409, "There is no address 9."),
        (3, 1, 422, "Payment card 3 belongs to another account."),
        (1, 2, 422, "Address 2 belongs to another account."),
        (2, 1, 422, "Payment card 2 has expired."),
    ] {
        refused(
            ida_with(&[(LAMP, 1)]),
            PAY,
            pay(card, address),
            (status, message),
        );
    }
}

#[test]
fn what_was_sold_to_somebody_else_is_no_longer_to_be_had() {
    let mut session = ida_with(&[(RED_LAMP, 3)]);
    let idas = session.token.clone();
    session.log_in(BO, "pb");
    session.ok(
        "add_product_to_cart",
        json!({"product_id": RED_LAMP, "quantity": 2}),
    );
    session.ok(PAY, pay(3, 2));
    session.token = idas;
    let message = "Product 2: only 1 in stock, not 3.";
    refused(session.clone(), PAY, pay(1, 1), (422, message));
    session.ok(
        "update_product_quantity_in_cart",
        json!({"product_id": RED_LAMP, "quantity": 1}),
    );
    session.ok(PAY, pay(1, 1));
    assert_eq!(stock(&mut session, RED_LAMP), 0);
}

#[test]
fn a_promo_code_is_used_once() {
    let mut session = ida_with(&[(KETTLE, 1)]);
    let records = json!({"customers": [{"owner": IDA, "promo_code": "SPRING10"}]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    session.ok(PAY, pay(1, 1));
    let order = session.ok("show_order", json!({"order_id": 3}));
    assert_eq!(
        (&order["discount"], &order["paid_amount"]),
        (&json!(3.95), &json!(38.39))
    );
    assert_eq!(
        session.ok("show_cart", json!({}))["promo_code"],
        json!(null)
    );
}

#[test]
fn an_order_of_the_seed_adds_up() {
    let order = ida().ok("show_order", json!({"order_id": 1}));
    // 36.25 - 5.00 = 31.25; 8% = 2.50; wrapping 3.50; delivery 5.99.
    assert_eq!(order["paid_amount"], 43.24);
    let item = &order["order_items"][0];
    assert_eq!(item["delivered_at"], "2026-02-22T10:00:00");
    let prime = bo().ok("show_order", json!({"order_id": 2}));
    assert_eq!(
        (&prime["delivery_fee"], &prime["paid_amount"]),
        (&json!(0.0), &json!(53.98))
    );
    assert_eq!(prime["order_items"][0]["delivered_at"], json!(null));
    assert_eq!(prime["order_items"][0]["product_review_id"], 1);
}

#[test]
fn orders_are_listed_searched_and_sorted() {
    let mut session = ida_with(&[(CLIP_LAMP, 1)]);
    session.ok(PAY, pay(1, 1));
    let mut listed = |arguments: Value| ids(&session.ok("show_orders", arguments), "order_id");
    assert_eq!(listed(json!({})), [3, 1]);
    assert_eq!(listed(json!({"query": "kettles"})), [1]);
    assert_eq!(
        listed(json!({"query": "mill lane", "sort_by": "+created_at"})),
        [1, 3]
    );
    assert_eq!(
        listed(json!({"sort_by": "-created_at", "page_limit": 1, "page_index": 1})),
        [1]
    );
    assert_eq!(listed(json!({"query": "mug"})), [0; 0]);
    assert_eq!(
        ida()
            .refused("show_orders", json!({"sort_by": "tax"}))
            .status,
        422
    );
    check_refused(
        "show_order",
        json!({"order_id": 9}),
        409,
        "There is no order 9.",
    );
    let message = "Order 2 belongs to another account.";
    check_refused("show_order", json!({"order_id": 2}), 422, message);
}

#[test]
fn purchases_are_listed_once_each() {
    let mut session = ida_with(&[(KETTLE, 1), (CLIP_LAMP, 1)]);
    session.ok(PAY, pay(1, 1));
    session.ok("add_product_to_cart", json!({"product_id": CLIP_LAMP}));
    session.ok(PAY, pay(1, 1));
    let purchases = session.ok("show_product_purchases", json!({}));
    assert_eq!(ids(&purchases, "product_id"), [5, 3]);
    let last = session.ok(
        "show_last_product_purchase",
        json!({"product_id": CLIP_LAMP}),
    );
    let expected = json!({
        "order_id": 4, "ordered_at": "2026-03-02T09:00:00", "product_id": 5, "product_name": "Clip Lamp",
        "product_relative_size": "small", "product_color": "black",
    });
    assert_eq!(last, expected);
    let tool = "show_last_product_purchase";
    check_refused(
        tool,
        json!({"product_id": UNKNOWN}),
        409,
        "There is no product 99.",
    );
    check_refused(
        tool,
        json!({"product_id": MUG}),
        422,
        "You have never bought product 4.",
    );
}

#[test]
fn cards_are_shown_to_their_owner() {
    let mut session = ida();
    let cards = session.ok("show_payment_cards", json!({}));
    assert_eq!(ids(&cards, "payment_card_id"), [1, 2]);
    let card = json!({
        "payment_card_id": 2, "card_name": "Old Card", "owner_name": "Ida Fern",
        "card_number": 4_000_123_412_345_678_u64, "expiry_year": 2026, "expiry_month": 2, "cvv_number": 77,
    });
    assert_eq!(
        session.ok("show_payment_card", json!({"payment_card_id": 2})),
        card
    );
    assert_eq!(cards[0]["owner_name"], "Ida Vale");
    let tool = "show_payment_card";
    check_refused(
        tool,
        json!({"payment_card_id": 9}),
        409,
        "There is no payment card 9.",
    );
    let message = "Payment card 3 belongs to another account.";
    check_refused(tool, json!({"payment_card_id": 3}), 422, message);
}

#[test]
fn an_address_is_added_and_can_be_delivered_to() {
    let address = |key: &str, value: Value| {
        let mut address = json!({
            "name": "Work", "street_address": " 1 High Street ", "city": "Alder", "state": "Oregon",
            "country": "USA", "zip_code": 97002,
        });
        address[key] = value;
        address
    };
    let mut session = ida_with(&[(LAMP, 1)]);
    let answer = session.ok("add_address", address("name", json!("Work")));
    assert_eq!(
        answer,
        json!({"message": "The address \"Work\" is added.", "address_id": 3})
    );
    let addresses = session.ok("show_addresses", json!({}));
    assert_eq!(ids(&addresses, "address_id"), [1, 3]);
    let mut expected = address("street_address", json!("1 High Street"));
    expected["address_id"] = json!(3);
    assert_eq!(addresses[1], expected);
    session.ok(PAY, pay(1, 3));
    let tool = "add_address";
    let taken = "Address 3 has the name \"Work\" already.";
    let error = session.refused(tool, address("name", json!("Work")));
    assert_eq!((error.status, error.message.as_str()), (409, taken));
    check_refused(
        tool,
        address("city", json!(" ")),
        422,
        "The city must not be empty.",
    );
    let message = "The zip_code must be from 1 to 9999999.";
    check_refused(tool, address("zip_code", json!(0)), 422, message);
    let message = "The name has 201 bytes; at most 200 fit.";
    check_refused(tool, address("name", json!("n".repeat(201))), 422, message);
    let message = "The state must stand on one line, without control characters.";
    check_refused(tool, address("state", json!("a\nb")), 422, message);
    let mut session = ida();
    for number in 0..99 {
        session.ok(tool, address("name", json!(format!("Work {number}"))));
    }
    let message = "An account has at most 100 addresses.";
    refused(
        session,
        tool,
        address("name", json!("Work")),
        (422, message),
    );
}
