use super::*;

#[test]
fn a_cart_shows_what_it_costs() {
    let mut session = ida_with(&[(LAMP, 1), (CLIP_LAMP, 1)]);
    let item = |id: u32, name: &str, days: u32, price: f64, stock: u32| {
        json!({
            "product_id": id, "product_name": name, "delivery_days": days, "quantity": 1, "price": price,
            "inventory_quantity": stock, "gift_wrap_quantity": 0,
        })
    };
    let mut expected = json!({
        "delivery_fee": 0.0, "base_cost": 37.04, "tax": 2.96, "gift_wrap_fee": 0.0, "discount": 0.0,
        "total_cost": 40.0, "promo_code": null, "promo_valid": false,
        "cart_items": [item(1, "Arc Desk Lamp", 3, 24.99, 12), item(5, "Clip Lamp", 1, 12.05, 40)],
    });
    assert_eq!(session.ok("show_cart", json!({})), expected);
    session.ok(
        "update_product_quantity_in_cart",
        json!({"product_id": CLIP_LAMP, "quantity": 0}),
    );
    expected["cart_items"].as_array_mut().unwrap().pop();
    expected["base_cost"] = json!(24.99);
    expected["tax"] = json!(2.0);
    expected["delivery_fee"] = json!(5.99);
    expected["total_cost"] = json!(32.98);
    assert_eq!(session.ok("show_cart", json!({})), expected);
}

#[test]
fn an_empty_cart_costs_nothing() {
    let cart = ida().ok("show_cart", json!({}));
    assert_eq!(
        (&cart["total_cost"], &cart["cart_items"]),
        (&json!(0.0), &json!([]))
    );
}

#[test]
fn a_promo_code_counts_while_it_is_valid_and_wrapping_is_paid_by_the_piece() {
    let mut session = ida();
    let mut add = |records: Value| app::add(&mut session.app, &records.to_string()).unwrap();
    add(json!({
        "customers": [{"owner": IDA, "promo_code": "SPRING10"}],
        "cart_items": [{"owner": IDA, "product": "kettle", "quantity": 2, "gift_wrapped": 2}],
    }));
    let cart = session.ok("show_cart", json!({}));
    let money = [
        "base_cost",
        "discount",
        "tax",
        "delivery_fee",
        "gift_wrap_fee",
        "total_cost",
    ];
    let parts = money.map(|part| cart[part].clone());
    assert_eq!(json!(parts), json!([79.0, 7.9, 5.69, 0.0, 7.0, 83.79]));
    assert_eq!(
        (&cart["promo_code"], &cart["promo_valid"]),
        (&json!("SPRING10"), &json!(true))
    );
    let old = json!({"customers": [{"owner": IDA, "promo_code": "OLD50"}]});
    app::add(&mut session.app, &old.to_string()).unwrap();
    let cart = session.ok("show_cart", json!({}));
    assert_eq!(
        (&cart["discount"], &cart["promo_valid"]),
        (&json!(0.0), &json!(false))
    );
    // Fewer pieces than were wrapped.
    session.ok(
        "update_product_quantity_in_cart",
        json!({"product_id": KETTLE, "quantity": 1}),
    );
    let cart = session.ok("show_cart", json!({}));
    assert_eq!(cart["cart_items"][0]["gift_wrap_quantity"], 1);
}

#[test]
fn adding_to_the_cart_adds_up_and_may_clear_it_first() {
    let mut session = ida_with(&[(LAMP, 2), (LAMP, 1), (KETTLE, 1)]);
    let answer = session.ok("add_product_to_cart", json!({"product_id": CLIP_LAMP}));
    assert_eq!(
        answer,
        json!({"message": "Product 5 is in your cart, 1 of it."})
    );
    let items = session.ok("show_cart", json!({}))["cart_items"].clone();
    assert_eq!(lines(&items), [(1, 3), (3, 1), (5, 1)]);
    session.ok(
        "add_product_to_cart",
        json!({"product_id": LAMP, "clear_cart_first": true}),
    );
    let items = session.ok("show_cart", json!({}))["cart_items"].clone();
    assert_eq!(lines(&items), [(1, 1)]);
    session.ok("clear_cart", json!({}));
    assert_eq!(session.state()["cart_items"], json!([]));
    assert_eq!(stock(&mut session, LAMP), 12);
}

#[test]
fn what_does_not_fit_into_the_cart_is_refused_and_nothing_is_cleared() {
    let add = |product_id: u32, quantity: u32| json!({"product_id": product_id, "quantity": quantity, "clear_cart_first": true});
    for (arguments, status, message) in [
        (add(UNKNOWN, 1), 409, "There is no product 99."),
        (add(MUG, 1), 422, "Product 4 is out of stock."),
        (add(RED_LAMP, 4), 422, "Product 2: only 3 in stock, not 4."),
        (add(LAMP, 0), 422, "The quantity must be at least 1."),
        (
            add(LAMP, 1000),
            422,
            "At most 999 of one product fit, not 1000.",
        ),
    ] {
        refused(
            ida_with(&[(KETTLE, 1)]),
            "add_product_to_cart",
            arguments,
            (status, message),
        );
    }
    let more = json!({"product_id": RED_LAMP, "quantity": 2});
    let expected = (422, "Product 2: only 3 in stock, not 4.");
    refused(
        ida_with(&[(RED_LAMP, 2)]),
        "add_product_to_cart",
        more,
        expected,
    );
}

#[test]
fn a_quantity_in_the_cart_is_set() {
    let set =
        |product_id: u32, quantity: u32| json!({"product_id": product_id, "quantity": quantity});
    let mut session = ida_with(&[(LAMP, 1)]);
    let answer = session.ok("update_product_quantity_in_cart", set(LAMP, 12));
    assert_eq!(
        answer,
        json!({"message": "Product 1 is in your cart, 12 of it."})
    );
    let answer = session.ok("update_product_quantity_in_cart", set(LAMP, 0));
    assert_eq!(answer, json!({"message": "Product 1 is out of your cart."}));
    for (arguments, status, message) in [
        (set(UNKNOWN, 1), 409, "There is no product 99."),
        (set(KETTLE, 1), 422, "Product 3 is not in your cart."),
        (set(LAMP, 13), 422, "Product 1: only 12 in stock, not 13."),
    ] {
        let session = ida_with(&[(LAMP, 1)]);
        refused(
            session,
            "update_product_quantity_in_cart",
            arguments,
            (status, message),
        );
    }
}

#[test]
fn a_wish_list_takes_what_is_in_stock_and_shows_what_it_holds_in_stock_or_not() {
    let mut session = ida();
    let wished =
        json!({"wish_list_items": [{"owner": "ida@vale.test", "product": "mug", "quantity": 6}]});
    app::add(&mut session.app, &wished.to_string()).unwrap();
    let answer = session.ok(
        "add_product_to_wish_list",
        json!({"product_id": RED_LAMP, "quantity": 2}),
    );
    assert_eq!(
        answer,
        json!({"message": "Product 2 is on your wish list, 4 of it."})
    );
    let expected = json!([
        {"product_id": 2, "product_name": "Arc Desk Lamp", "product_type": "desk lamp", "rating": 0.0,
         "relative_size": "medium", "color": "red", "quantity": 4, "price": 24.99, "inventory_quantity": 3},
        {"product_id": 4, "product_name": "Tall Mug", "product_type": "mug", "rating": 0.0,
         "relative_size": "small", "color": "white", "quantity": 6, "price": 8.0, "inventory_quantity": 0},
    ]);
    assert_eq!(session.ok("show_wish_list", json!({})), expected);
    let only = json!({"product_id": KETTLE, "clear_wish_list_first": true});
    session.ok("add_product_to_wish_list", only);
    assert_eq!(lines(&session.ok("show_wish_list", json!({}))), [(3, 1)]);
    let add =
        |product_id: u32, quantity: u32| json!({"product_id": product_id, "quantity": quantity});
    let tool = "add_product_to_wish_list";
    check_refused(tool, add(UNKNOWN, 1), 409, "There is no product 99.");
    check_refused(tool, add(MUG, 0), 422, "The quantity must be at least 1.");
    check_refused(tool, add(MUG, 1), 422, "Product 4 is out of stock.");
    check_refused(
        tool,
        add(RED_LAMP, 4),
        422,
        "Product 2: only 3 in stock, not 4.",
    );
}

#[test]
fn products_move_from_the_cart_to_the_wish_list() {
    let go =
        |product_id: u32, quantity: u32| json!({"product_id": product_id, "quantity": quantity});
    let tool = "move_product_from_cart_to_wish_list";
    let mut session = ida_with(&[(RED_LAMP, 3)]);
    let answer = session.ok(tool, json!({"product_id": RED_LAMP}));
    let message = "1 of product 2 moved from your cart to your wish list.";
    assert_eq!(answer, json!({"message": message}));
    let items = session.ok("show_cart", json!({}))["cart_items"].clone();
    assert_eq!(lines(&items), [(2, 2)]);
    assert_eq!(lines(&session.ok("show_wish_list", json!({}))), [(2, 3)]);
    session.ok(tool, go(RED_LAMP, 2));
    assert_eq!(session.state()["cart_items"], json!([]));
    check_refused(tool, go(UNKNOWN, 1), 409, "There is no product 99.");
    check_refused(tool, go(KETTLE, 1), 422, "Product 3 is not in your cart.");
    check_refused(tool, go(KETTLE, 0), 422, "The quantity must be at least 1.");
    let expected = (422, "Only 1 of product 1 in your cart, not 2.");
    refused(ida_with(&[(LAMP, 1)]), tool, go(LAMP, 2), expected);
}

#[test]
fn products_move_from_the_wish_list_to_the_cart() {
    let go =
        |product_id: u32, quantity: u32| json!({"product_id": product_id, "quantity": quantity});
    let tool = "move_product_from_wish_list_to_cart";
    let mut session = ida();
    let answer = session.ok(tool, go(RED_LAMP, 2));
    let message = "2 of product 2 moved from your wish list to your cart.";
    assert_eq!(answer, json!({"message": message}));
    let items = session.ok("show_cart", json!({}))["cart_items"].clone();
    assert_eq!(lines(&items), [(2, 2)]);
    assert_eq!(session.ok("show_wish_list", json!({})), json!([]));
    check_refused(tool, go(UNKNOWN, 1), 409, "There is no product 99.");
    check_refused(
        tool,
        go(KETTLE, 1),
        422,
        "Product 3 is not on your wish list.",
    );
    check_refused(
        tool,
        go(RED_LAMP, 3),
        422,
        "Only 2 of product 2 on your wish list, not 3.",
    );
    let expected = (422, "Product 2: only 3 in stock, not 4.");
    refused(ida_with(&[(RED_LAMP, 2)]), tool, go(RED_LAMP, 2), expected);
    let mut session = ida();
    let wished = json!({"wish_list_items": [{"owner": "ida@vale.test", "product": "mug"}]});
    app::add(&mut session.app, &wished.to_string()).unwrap();
    refused(
        session,
        tool,
        go(MUG, 1),
        (422, "Product 4 is out of stock."),
    );
}

#[test]
fn a_cart_holds_a_hundred_different_products_and_no_more() {
    let mut session = ida();
    let product = |number: u32| json!({"id": format!("p{number}"), "variation_of": "lamp", "color": format!("c{number}"), "stock": 1});
    let records = json!({"products": (0..101).map(product).collect::<Vec<_>>()});
    app::add(&mut session.app, &records.to_string()).unwrap();
    for id in 6..106 {
        session.ok("add_product_to_cart", json!({"product_id": id}));
        session.ok(
            "add_product_to_wish_list",
            json!({"product_id": id, "clear_wish_list_first": id == 6}),
        );
    }
    let message = "A cart holds at most 100 different products.";
    refused(
        session.clone(),
        "add_product_to_cart",
        json!({"product_id": 106}),
        (422, message),
    );
    let message = "A wish list holds at most 100 different products.";
    refused(
        session,
        "add_product_to_wish_list",
        json!({"product_id": 106}),
        (422, message),
    );
}
