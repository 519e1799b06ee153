use super::*;

#[track_caller]
fn check_found(arguments: Value, expected: &[u32]) {
    let found = ida().ok("search_products", arguments);
    let expected: Vec<u64> = expected.iter().map(|id| u64::from(*id)).collect();
    assert_eq!(ids(&found, "product_id"), expected);
}

#[test]
fn a_product_is_shown_with_its_variations() {
    let product = ida().ok("show_product", json!({"product_id": RED_LAMP}));
    let expected = json!({
        "product_id": 2, "seller_id": 1, "product_type": "desk lamp", "name": "Arc Desk Lamp",
        "description": "A bendable arm and warm light.", "price": 24.99, "delivery_days": 3,
        "inventory_quantity": 3, "weight": 1.2, "length": 20.0, "width": 15.0, "height": 42.0, "color": "red",
        "relative_size": "medium", "rating": 0.0, "num_product_reviews": 0, "num_product_questions": 0,
        "shareable_link": "https://amazon.example/products/2",
        "variations": [{"product_id": 1, "relative_size": "medium", "color": "blue"}],
    });
    assert_eq!(product, expected);
    check_refused(
        "show_product",
        json!({"product_id": UNKNOWN}),
        409,
        "There is no product 99.",
    );
}

#[test]
fn products_are_found_by_words_in_every_inflection() {
    check_found(
        json!({"query": "lamps", "sort_by": "-price"}),
        &[LAMP, RED_LAMP, CLIP_LAMP],
    );
    check_found(json!({"query": "boiling"}), &[KETTLE]);
    check_found(json!({"query": "red lamp", "page_limit": 1}), &[RED_LAMP]);
    check_found(
        json!({"query": "brew yard", "sort_by": "+price"}),
        &[MUG, KETTLE],
    );
    check_found(json!({"query": "zebra"}), &[]);
    check_found(json!({"page_index": 1, "page_limit": 2}), &[KETTLE, MUG]);
}

#[test]
fn products_are_found_by_filters() {
    check_found(
        json!({"product_type": "Desk Lamp"}),
        &[LAMP, RED_LAMP, CLIP_LAMP],
    );
    check_found(json!({"color": "Red"}), &[RED_LAMP]);
    check_found(json!({"relative_size": "small"}), &[MUG, CLIP_LAMP]);
    check_found(
        json!({"min_price": 12.05, "max_price": 24.99}),
        &[LAMP, RED_LAMP, CLIP_LAMP],
    );
    check_found(json!({"min_product_rating": 4.5}), &[LAMP]);
    check_found(
        json!({"max_product_rating": 0, "max_seller_rating": 4}),
        &[KETTLE, MUG],
    );
    check_found(
        json!({"min_seller_rating": 4.6, "color": "black"}),
        &[CLIP_LAMP],
    );
    check_found(json!({"seller_id": 2}), &[KETTLE, MUG]);
    check_found(json!({"seller_id": 2, "color": "blue"}), &[]);
}

#[test]
fn products_are_sorted() {
    check_found(
        json!({"sort_by": "-price"}),
        &[KETTLE, LAMP, RED_LAMP, CLIP_LAMP, MUG],
    );
    check_found(json!({"sort_by": "-rating", "page_limit": 1}), &[LAMP]);
    check_found(
        json!({"sort_by": "+delivery_days", "page_limit": 2}),
        &[CLIP_LAMP, KETTLE],
    );
}

#[test]
fn a_search_that_breaks_a_rule_is_refused() {
    check_refused(
        "search_products",
        json!({"max_seller_rating": 6}),
        422,
        "min_seller_rating and max_seller_rating must be from 0 to 5.",
    );
    check_refused(
        "search_products",
        json!({"min_price": 2, "max_price": 1}),
        422,
        "min_price must not be above max_price.",
    );
    let error = ida().refused("search_products", json!({"sort_by": "-taste"}));
    assert_eq!(error.status, 422);
    assert!(error.message.contains("one of rating, price"), "{error}");
    assert_eq!(
        ida()
            .refused("search_products", json!({"relative_size": "huge"}))
            .status,
        422
    );
    assert_eq!(
        ida()
            .refused("search_products", json!({"page_limit": 21}))
            .status,
        422
    );
}

#[test]
fn a_search_knows_products_that_came_later() {
    let mut session = ida();
    session.ok("search_products", json!({"query": "lamp"}));
    let records = json!({"products": [
        {"id": "green", "variation_of": "red-lamp", "color": "green", "price": 30, "stock": 1},
    ]});
    app::add(&mut session.app, &records.to_string()).unwrap();
    let found = session.ok("search_products", json!({"query": "green"}));
    assert_eq!(ids(&found, "product_id"), [6]);
    assert_eq!(ids(&found[0]["variations"], "product_id"), [1, 2]);
}

#[test]
fn types_sellers_and_choices_are_listed() {
    let mut session = ida();
    let types = session.ok("search_product_types", json!({}));
    assert_eq!(types, json!(["desk lamp", "kettle", "mug"]));
    let types = session.ok("search_product_types", json!({"query": "lamps"}));
    assert_eq!(types, json!(["desk lamp"]));
    let sellers = session.ok("search_sellers", json!({"query": "brew"}));
    assert_eq!(sellers, json!([{"seller_id": 2, "name": "Brew Yard"}]));
    assert_eq!(
        ids(&session.ok("search_sellers", json!({})), "seller_id"),
        [1, 2]
    );
    for tool in ["search_product_types", "search_sellers"] {
        let none = session.refused(tool, json!({"page_limit": 0}));
        assert_eq!(none.status, 422, "{tool}");
    }
    let seller = session.ok("show_seller", json!({"seller_id": 1}));
    assert_eq!(
        seller,
        json!({"seller_id": 1, "name": "Lumen House", "rating": 4.6})
    );
    let choices = session.ok(
        "show_product_feature_choices",
        json!({"product_type": "desk lamp"}),
    );
    let expected = json!({
        "colors": ["black", "blue", "red"], "relative_sizes": ["small", "medium"],
        "sellers": [{"seller_id": 1, "name": "Lumen House"}],
    });
    assert_eq!(choices, expected);
    let choices = session.ok("show_product_feature_choices", json!({}));
    assert_eq!(choices["sellers"].as_array().unwrap().len(), 2);
    check_refused(
        "show_seller",
        json!({"seller_id": 3}),
        409,
        "There is no seller 3.",
    );
    let sofa = json!({"product_type": "sofa"});
    let none = json!({"colors": [], "relative_sizes": [], "sellers": []});
    assert_eq!(
        session.ok("show_product_feature_choices", sofa.clone()),
        none
    );
    assert_eq!(session.ok("search_products", sofa), json!([]));
    let nobodys = json!({"seller_id": 7});
    assert_eq!(session.ok("search_products", nobodys), json!([]));
    let unknown = session.refused("show_product_feature_choices", json!({"sofa": true}));
    assert_eq!(unknown.status, 422);
}

#[test]
fn recommendations_go_by_what_interests_and_leave_out_what_is_known() {
    let mut session = ida();
    // Bought: kettle. Wished for: red lamp, so its blue sibling is known too. Looked at: mug, which is out of stock.
    let recommended = session.ok("show_recommended_products", json!({}));
    assert_eq!(ids(&recommended, "product_id"), [5]);
    let mut bo = bo();
    // Bought: lamp; so the other lamp comes first, then all that is in stock.
    let recommended = bo.ok("show_recommended_products", json!({}));
    assert_eq!(ids(&recommended, "product_id"), [5, 3]);
    bo.ok(
        "write_product_review",
        json!({"product_id": KETTLE, "rating": 5}),
    );
    let recommended = bo.ok("show_recommended_products", json!({"page_limit": 1}));
    assert_eq!(ids(&recommended, "product_id"), [5]);
}

#[test]
fn what_was_looked_at_is_remembered_if_the_account_keeps_a_history() {
    let mut session = ida();
    session.ok(
        "add_product_to_browsing_history",
        json!({"product_id": KETTLE}),
    );
    session.ok(
        "add_product_to_browsing_history",
        json!({"product_id": MUG}),
    );
    let history = session.state()["browsing_history"].clone();
    assert_eq!(ids(&history, "product_id"), [3, 4]);
    let visit = json!({
        "id": "ida@vale.test/4", "owner": IDA, "product_id": 4, "product_name": "Tall Mug",
        "viewed_at": "2026-03-02T09:00:00",
    });
    assert_eq!(history[1], visit);
    check_refused(
        "add_product_to_browsing_history",
        json!({"product_id": UNKNOWN}),
        409,
        "There is no product 99.",
    );
    // Bo's account keeps no history by itself.
    bo().ok(
        "add_product_to_browsing_history",
        json!({"product_id": KETTLE}),
    );
}
