use super::*;

/// The same record with one more or another field.
fn with(mut record: Value, field: &str, value: Value) -> Value {
    record[field] = value;
    record
}

fn without(mut record: Value, field: &str) -> Value {
    record.as_object_mut().unwrap().remove(field);
    record
}

/// A record that is refused after a fine one of the same list; nothing is added.
#[track_caller]
fn check_wrong(list: &str, fine: Value, wrong: Value, expected: &str) {
    let mut session = ida();
    let before = session.app.snapshot();
    let error = app::add(&mut session.app, &json!({list: [fine, wrong]}).to_string()).unwrap_err();
    assert_eq!(error, format!("{list}[1]: {expected}"));
    assert_eq!(session.app.snapshot(), before);
}

#[test]
fn the_state_holds_all_records_and_no_secret() {
    let mut session = ida_with(&[(LAMP, 2)]);
    let state = session.state();
    let lists: Vec<&String> = state.as_object().unwrap().keys().collect();
    let expected = [
        "users",
        "sellers",
        "products",
        "promo_codes",
        "addresses",
        "payment_cards",
        "cart_items",
        "wish_list_items",
        "browsing_history",
        "orders",
        "reviews",
        "questions",
        "answers",
    ];
    assert_eq!(lists, expected);
    let user = json!({
        "id": BO, "first_name": "Bo", "last_name": "Lind", "is_prime": true, "verified": true,
        "track_browsing_history": false, "promo_code": null,
    });
    assert_eq!(state["users"][0], user);
    let product = json!({
        "id": 3, "seller_id": 2, "product_type": "kettle", "name": "Swan Kettle", "color": "steel",
        "relative_size": null, "price_cents": 3950, "stock": 5,
    });
    assert_eq!(state["products"][2], product);
    let card = json!({
        "id": 1, "owner": IDA, "card_name": "Blue Card", "owner_name": "Ida Vale", "last_digits": "0042",
        "expiry_year": 2026, "expiry_month": 3,
    });
    assert_eq!(state["payment_cards"][0], card);
    let item = json!({
        "id": "ida@vale.test/1", "owner": IDA, "product_id": 1, "product_name": "Arc Desk Lamp", "quantity": 2,
        "gift_wrapped": 0,
    });
    assert_eq!(state["cart_items"], json!([item]));
    let order = json!({
        "id": 1, "owner": IDA, "address_id": 1, "address_text": "3 Mill Lane, Alder, Oregon 97001, USA",
        "payment_card_id": 1, "payment_card_digits": "0042", "base_cents": 3625, "discount_cents": 500,
        "gift_wrap_cents": 350, "delivery_cents": 599, "tax_cents": 250, "paid_cents": 4324,
        "created_at": "2026-02-20T10:00:00",
        "items": [{
            "product_id": 3, "quantity": 1, "returned": 0, "gift_wrapped": 1, "price_cents": 3625,
            "expected_delivery_at": "2026-02-22T10:00:00", "arrives_at": "2026-02-22T10:00:00",
        }],
    });
    assert_eq!(state["orders"][0], order);
    let text = state.to_string();
    for secret in [
        "\"pw\"",
        "4000123412340042",
        session.token.as_deref().unwrap(),
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn a_session_changes_what_the_persona_has() {
    let mut session = ida();
    let records = json!({
        "product_updates": [{"product": "mug", "stock": 2}, {"product": "lamp", "price": 19.99}],
        "customers": [{"owner": BO, "verified": false}],
        "cart_items": [{"owner": IDA, "product": "mug"}],
        "wish_list_items": [{"owner": IDA, "product": "red-lamp"}],
        "answers": [{"question": "dimmer", "author": IDA, "answer": "Thank you."}],
        "orders": [{
            "owner": IDA, "address": "ida-home", "card": "blue", "created_at": "2026-02-25T10:00:00",
            "items": [{"product": "lamp", "expected_delivery_at": "2026-02-27T10:00:00",
                       "delivered_at": "2026-03-03T10:00:00"}],
        }],
    });
    app::add(&mut session.app, &records.to_string()).unwrap();
    let cart = session.ok("show_cart", json!({}));
    assert_eq!(lines(&cart["cart_items"]), [(4, 1)]);
    assert_eq!(lines(&session.ok("show_wish_list", json!({}))), [(2, 1)]);
    let order = session.ok("show_order", json!({"order_id": 3}));
    let item = &order["order_items"][0];
    assert_eq!(
        (&item["price"], &item["delivered_at"]),
        (&json!(19.99), &json!(null))
    );
    assert_eq!(item["expected_delivery_at"], "2026-02-27T10:00:00");
    let answers = session.ok("show_product_question_answers", json!({"question_id": 1}));
    assert_eq!(
        (&answers[0]["answer"], &answers[0]["is_verified"]),
        (&json!("Thank you."), &json!(true))
    );
    session.log_in(BO, "pb");
    let account = session.ok("show_account", json!({}));
    assert_eq!(
        (&account["verified"], &account["is_prime"]),
        (&json!(false), &json!(true))
    );
}

#[test]
fn a_wrong_seller_is_named() {
    let seller = || json!({"id": "new", "name": "New", "rating": 4});
    let other = || with(seller(), "id", json!("other"));
    check_wrong(
        "sellers",
        seller(),
        seller(),
        "id: \"new\" is in use already",
    );
    let wrong = with(other(), "rating", json!(5.1));
    check_wrong(
        "sellers",
        seller(),
        wrong,
        "rating must be from 0 to 5, not 5.1",
    );
    check_wrong(
        "sellers",
        seller(),
        with(other(), "name", json!("")),
        "The name must not be empty.",
    );
}

#[test]
fn a_wrong_product_or_code_is_named() {
    let fine = || json!({"id": "new", "variation_of": "lamp", "color": "green", "stock": 1});
    let product = |field: &str, value: Value| {
        let other = json!({"id": "other", "variation_of": "lamp", "color": "pink", "stock": 1});
        with(other, field, value)
    };
    for (wrong, expected) in [
        (product("id", json!("mug")), "id: \"mug\" is in use already"),
        (
            product("seller", json!("no")),
            "seller: there is none before this with the id \"no\"",
        ),
        (
            product("variation_of", json!("no")),
            "variation_of: there is none before this with the id \"no\"",
        ),
        (
            product("variation_of", json!(null)),
            "missing field `seller`",
        ),
        (
            product("color", json!("green")),
            "variation_of: product 6 has the same color and relative_size",
        ),
        (
            product("price", json!(1.005)),
            "1.005 is no amount: from 0 to 1000000, at most two decimals",
        ),
        (
            product("stock", json!(1_000_001)),
            "stock must be at most 1000000, not 1000001",
        ),
        (
            product("delivery_days", json!(366)),
            "delivery_days must be at most 365, not 366",
        ),
        (product("weight", json!(-1)), "weight must not be negative"),
        (
            product("description", json!("x".repeat(8193))),
            "The description has 8193 bytes; at most 8192 fit.",
        ),
    ] {
        check_wrong("products", fine(), wrong, expected);
    }
    let update = json!({"product": "lamp", "stock": 1});
    let wrong = json!({"product": "sofa"});
    let expected = "product: there is none before this with the id \"sofa\"";
    check_wrong("product_updates", update, wrong, expected);
    let promo = || json!({"code": "A", "percent": 5});
    check_wrong(
        "promo_codes",
        promo(),
        promo(),
        "code: \"A\" is in use already",
    );
    let wrong = json!({"code": "B", "percent": 101});
    check_wrong(
        "promo_codes",
        promo(),
        wrong,
        "percent must be from 1 to 100, not 101",
    );
}

#[test]
fn a_wrong_customer_address_or_card_is_named() {
    let customer = |owner: &str, code: &str| json!({"owner": owner, "promo_code": code});
    let fine = || customer(IDA, "OLD50");
    let expected = "owner: x@y.test has no account";
    check_wrong("customers", fine(), customer("x@y.test", "OLD50"), expected);
    let expected = "promo_code: there is no promo code \"NO\"";
    check_wrong("customers", fine(), customer(IDA, "NO"), expected);
    let address = || seed()["records"]["addresses"][0].clone();
    let fine = || without(address(), "id");
    check_wrong(
        "addresses",
        fine(),
        address(),
        "id: \"ida-home\" is in use already",
    );
    let expected = "The street_address must not be empty.";
    check_wrong(
        "addresses",
        fine(),
        with(fine(), "street_address", json!("")),
        expected,
    );
    let expected = "owner: x@y.test has no account";
    check_wrong(
        "addresses",
        fine(),
        with(fine(), "owner", json!("x@y.test")),
        expected,
    );
    let card = || seed()["records"]["payment_cards"][1].clone();
    for (field, value, expected) in [
        ("id", json!("green"), "id: \"green\" is in use already"),
        ("owner", json!("x@y.test"), "owner: x@y.test has no account"),
        (
            "card_number",
            json!(12),
            "card_number: 12 to 16 digits are expected",
        ),
        (
            "expiry_year",
            json!(26),
            "expiry_year: four digits are expected",
        ),
        (
            "expiry_month",
            json!(13),
            "expiry_month: from 1 to 12 are expected",
        ),
        (
            "cvv_number",
            json!(10_000),
            "cvv_number: at most four digits are expected",
        ),
        ("card_name", json!(""), "The card_name must not be empty."),
    ] {
        check_wrong(
            "payment_cards",
            card(),
            with(card(), field, value),
            expected,
        );
    }
}

#[test]
fn a_wrong_order_is_named() {
    let order = || seed()["records"]["orders"][1].clone();
    let items = |items: Value| with(order(), "items", items);
    for (wrong, expected) in [
        (
            with(order(), "owner", json!("x@y.test")),
            "owner: x@y.test has no account",
        ),
        (
            with(order(), "address", json!("no")),
            "address: there is none before this with the id \"no\"",
        ),
        (
            with(order(), "address", json!("ida-home")),
            "Address 1 belongs to another account.",
        ),
        (
            with(order(), "card", json!("blue")),
            "Payment card 1 belongs to another account.",
        ),
        (
            with(order(), "discount", json!(50)),
            "discount: more than the items cost",
        ),
        (items(json!([])), "items: 1 to 100 are expected"),
        (
            items(json!([{"product": "mug"}, {"product": "mug"}])),
            "items: a product stands twice",
        ),
        (
            items(json!([{"product": "mug"}, {"product": "kettle", "quantity": 0}])),
            "items[1]: quantity must be from 1 to 999, not 0",
        ),
        (
            items(json!([{"product": "mug", "returned": 2}])),
            "items[0]: returned and gift_wrapped must not be above quantity",
        ),
        (
            items(json!([{"product": "mug", "delivered_at": "2026-02-01T00:00:00"}])),
            "items[0]: a delivery must not be before the order's created_at",
        ),
    ] {
        check_wrong("orders", order(), wrong, expected);
    }
}

#[test]
fn a_wrong_list_is_named() {
    let cart = |product: &str, quantity: u32| json!({"owner": IDA, "product": product, "quantity": quantity});
    for (wrong, expected) in [
        (
            cart("sofa", 1),
            "product: there is none before this with the id \"sofa\"",
        ),
        (cart("mug", 1), "Product 4 is out of stock."),
        (cart("lamp", 0), "quantity must be from 1 to 999, not 0"),
        (
            with(cart("lamp", 1), "gift_wrapped", json!(2)),
            "gift_wrapped must not be above quantity",
        ),
        (
            with(cart("lamp", 1), "owner", json!("x@y.test")),
            "owner: x@y.test has no account",
        ),
    ] {
        check_wrong("cart_items", cart("kettle", 1), wrong, expected);
    }
    let expected = "quantity must be from 1 to 999, not 0";
    check_wrong(
        "wish_list_items",
        cart("kettle", 1),
        cart("lamp", 0),
        expected,
    );
    let visit = json!({"owner": IDA, "product": "lamp"});
    let wrong = json!({"owner": "x@y.test", "product": "lamp"});
    check_wrong(
        "browsing_history",
        visit,
        wrong,
        "owner: x@y.test has no account",
    );
}

#[test]
fn a_wrong_opinion_is_named() {
    let review =
        |author: &str, rating: u32| json!({"product": "lamp", "author": author, "rating": rating});
    let fine = || json!({"product": "mug", "author": IDA, "rating": 1});
    let expected = "author: bo@lind.test has reviewed this product already";
    check_wrong("reviews", fine(), review(BO, 1), expected);
    check_wrong(
        "reviews",
        fine(),
        review(IDA, 0),
        "The rating must be from 1 to 5, not 0.",
    );
    check_wrong(
        "reviews",
        fine(),
        review("x@y.test", 1),
        "author: x@y.test has no account",
    );
    let question = |key: &str, text: &str| json!({"id": key, "product": "mug", "author": IDA, "question": text});
    let expected = "id: \"dimmer\" is in use already";
    check_wrong(
        "questions",
        question("new", "?"),
        question("dimmer", "?"),
        expected,
    );
    let expected = "The question must not be empty.";
    check_wrong(
        "questions",
        question("new", "?"),
        question("other", ""),
        expected,
    );
    let answer = |key: &str, text: &str| json!({"question": key, "author": IDA, "answer": text});
    let expected = "question: there is none before this with the id \"no\"";
    check_wrong(
        "answers",
        answer("dimmer", "x"),
        answer("no", "x"),
        expected,
    );
    let expected = "The answer must not be empty.";
    check_wrong(
        "answers",
        answer("dimmer", "x"),
        answer("dimmer", ""),
        expected,
    );
}

#[test]
fn unknown_lists_and_fields_are_errors() {
    let mut session = ida();
    let error = app::add(&mut session.app, r#"{"cart": []}"#).unwrap_err();
    let expected = "unknown key \"cart\", expected one of `sellers`, `products`, `product_updates`, `promo_codes`, `customers`, \
                    `addresses`, `payment_cards`, `orders`, `cart_items`, `wish_list_items`, `browsing_history`, `reviews`, \
                    `questions`, `answers`; did you mean `cart_items`?";
    assert_eq!(error, expected);
    let records = json!({"customers": [{"owner": IDA, "prime": true}]});
    let error = app::add(&mut session.app, &records.to_string()).unwrap_err();
    assert!(
        error.starts_with("customers[0]: unknown field `prime`"),
        "{error}"
    );
}

#[test]
fn a_past_order_keeps_the_bill_that_it_had() {
    let mut session = ida();
    let order = json!({
        "owner": IDA, "address": "ida-home", "card": "blue", "created_at": "2026-02-25T10:00:00",
        "items": [{"product": "kettle", "price": 80}], "tax": 8, "delivery_fee": 5, "gift_wrap_fee": 0,
    });
    let kept = with(order.clone(), "paid_amount", json!(93.5));
    app::add(
        &mut session.app,
        &json!({"orders": [order, kept]}).to_string(),
    )
    .unwrap();
    let mut bill = |id: u32| {
        let order = session.ok("show_order", json!({"order_id": id}));
        ["tax", "delivery_fee", "gift_wrap_fee", "paid_amount"]
            .map(|key| order[key].as_f64().unwrap().to_string())
    };
    assert_eq!(bill(3), ["8", "5", "0", "93"]);
    assert_eq!(bill(4), ["8", "5", "0", "93.5"]);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<Amazon>(&[
        ("promo_codes", "valid_until"),
        ("orders", "created_at"),
        ("browsing_history", "viewed_at"),
        ("reviews", "created_at"),
        ("questions", "created_at"),
        ("answers", "created_at"),
    ]);
    for field in ["expected_delivery_at", "delivered_at"] {
        let items = json!([{field: "2026-03-01T23:00:00-05:00"}]);
        let records = json!({"orders": [{"items": items}]}).to_string();
        let error = app::add(&mut ida().app, &records).unwrap_err();
        assert!(error.contains(" has an offset: "), "{field}: {error}");
    }
}
