use super::*;

#[test]
fn reviews_are_listed_filtered_and_sorted() {
    let mut session = ida();
    let mut listed = |mut arguments: Value| {
        arguments["product_id"] = json!(LAMP);
        ids(&session.ok("show_product_reviews", arguments), "review_id")
    };
    assert_eq!(listed(json!({})), [2, 1]);
    assert_eq!(listed(json!({"sort_by": "+rating"})), [1, 2]);
    assert_eq!(listed(json!({"sort_by": "+created_at"})), [1, 2]);
    assert_eq!(listed(json!({"query": "bending"})), [1]);
    assert_eq!(listed(json!({"user_email": "Cy@moor.test"})), [2]);
    assert_eq!(listed(json!({"min_rating": 5})), [2]);
    assert_eq!(listed(json!({"max_rating": 4})), [1]);
    assert_eq!(listed(json!({"is_verified": true})), [1]);
    assert_eq!(listed(json!({"is_verified": false})), [2]);
    assert_eq!(listed(json!({"page_limit": 1, "page_index": 1})), [1]);
    let review = json!({
        "review_id": 1, "product_id": 1, "is_verified": true, "rating": 4, "title": "Good light",
        "text": "Bends well.", "created_at": "2026-03-01T20:00:00", "user": {"name": "Bo Lind", "email": BO},
    });
    assert_eq!(
        session.ok("show_product_reviews", json!({"product_id": LAMP}))[1],
        review
    );
}

#[test]
fn a_list_of_reviews_that_breaks_a_rule_is_refused() {
    let list = |key: &str, value: Value| {
        let mut list = json!({"product_id": LAMP, "max_rating": 3});
        list[key] = value;
        list
    };
    let tool = "show_product_reviews";
    check_refused(
        tool,
        list("product_id", json!(99)),
        409,
        "There is no product 99.",
    );
    let message = "min_rating must not be above max_rating.";
    check_refused(tool, list("min_rating", json!(4)), 422, message);
    let message = "min_rating and max_rating must be from 1 to 5.";
    check_refused(tool, list("max_rating", json!(6)), 422, message);
    check_refused(
        tool,
        list("user_email", json!("bo")),
        422,
        "\"bo\" is no email address.",
    );
    check_refused(
        tool,
        list("user_email", json!("x@y.test")),
        409,
        "There is no account x@y.test.",
    );
    assert_eq!(ida().refused(tool, list("sort_by", json!("x"))).status, 422);
}

#[test]
fn a_review_counts_for_the_product() {
    let mut session = ida();
    let review = json!({"product_id": LAMP, "rating": 1, "title": "Broken"});
    let answer = session.ok("write_product_review", review);
    let message = "Your review of product 1 is published.";
    assert_eq!(answer, json!({"message": message, "product_review_id": 3}));
    let product = session.ok("show_product", json!({"product_id": LAMP}));
    assert_eq!(
        (&product["rating"], &product["num_product_reviews"]),
        (&json!(3.3), &json!(3))
    );
    let reviews = session.ok(
        "show_product_reviews",
        json!({"product_id": LAMP, "page_limit": 1}),
    );
    assert_eq!(
        (&reviews[0]["is_verified"], &reviews[0]["text"]),
        (&json!(false), &json!(""))
    );
    session.ok(
        "write_product_review",
        json!({"product_id": KETTLE, "rating": 5}),
    );
    let reviews = session.ok("show_product_reviews", json!({"product_id": KETTLE}));
    assert_eq!(reviews[0]["is_verified"], true);
    let order = session.ok("show_order", json!({"order_id": 1}));
    assert_eq!(order["order_items"][0]["product_review_id"], 4);
}

#[test]
fn a_review_that_breaks_a_rule_is_refused() {
    let review = |product_id: u32, rating: u32| json!({"product_id": product_id, "rating": rating});
    let tool = "write_product_review";
    check_refused(tool, review(UNKNOWN, 3), 422, "There is no product 99.");
    check_refused(
        tool,
        review(LAMP, 0),
        422,
        "The rating must be from 1 to 5, not 0.",
    );
    check_refused(
        tool,
        review(LAMP, 6),
        422,
        "The rating must be from 1 to 5, not 6.",
    );
    let message = "You have reviewed product 1 already: review 1.";
    refused(bo(), tool, review(LAMP, 3), (409, message));
    let long = json!({"product_id": LAMP, "rating": 3, "text": "x".repeat(8193)});
    check_refused(
        tool,
        long,
        422,
        "The text has 8193 bytes; at most 8192 fit.",
    );
    let long = json!({"product_id": LAMP, "rating": 3, "title": "x".repeat(301)});
    check_refused(tool, long, 422, "The title has 301 bytes; at most 300 fit.");
}

#[test]
fn a_question_is_asked_and_found() {
    let mut session = bo();
    let ask = json!({"product_id": LAMP, "question": "How long is the cord?"});
    let answer = session.ok("write_product_question", ask);
    let message = "Your question about product 1 is published.";
    assert_eq!(answer, json!({"message": message, "question_id": 2}));
    let mut listed = |mut arguments: Value| {
        arguments["product_id"] = json!(LAMP);
        ids(
            &session.ok("show_product_questions", arguments),
            "question_id",
        )
    };
    assert_eq!(listed(json!({})), [2, 1]);
    assert_eq!(listed(json!({"query": "cords"})), [2]);
    assert_eq!(listed(json!({"user_email": IDA})), [1]);
    assert_eq!(listed(json!({"sort_by": "-num_answers"})), [1, 2]);
    assert_eq!(listed(json!({"page_limit": 1})), [2]);
    let questions = session.ok("show_product_questions", json!({"product_id": LAMP}));
    let expected = json!({
        "product_id": 1, "question_id": 1, "question": "Can it be dimmed?", "num_answers": 2,
        "created_at": "2026-02-22T10:00:00", "user": {"name": "Ida Vale", "email": IDA},
    });
    assert_eq!(questions[1], expected);
    let product = session.ok("show_product", json!({"product_id": LAMP}));
    assert_eq!(product["num_product_questions"], 2);
}

#[test]
fn a_question_that_breaks_a_rule_is_refused() {
    let ask = |product_id: u32, text: &str| json!({"product_id": product_id, "question": text});
    let tool = "write_product_question";
    check_refused(tool, ask(UNKNOWN, "?"), 409, "There is no product 99.");
    let mut session = ida();
    session.ok(tool, ask(LAMP, "Is it warm?"));
    let again = session.refused(tool, ask(LAMP, "Is it warm?"));
    let message = "You have asked this about product 1 already: question 2.";
    assert_eq!((again.status, again.message.as_str()), (409, message));
    check_refused(tool, ask(LAMP, " "), 422, "The question must not be empty.");
    let message = "The question has 8193 bytes; at most 8192 fit.";
    check_refused(tool, ask(LAMP, &"x".repeat(8193)), 422, message);
    let unknown = json!({"product_id": UNKNOWN});
    check_refused(
        "show_product_questions",
        unknown,
        409,
        "There is no product 99.",
    );
    for (key, message) in [
        ("user_email", "\"x\" is no email address."),
        (
            "sort_by",
            "sort_by must be + or - and one of created_at, num_answers, not \"x\".",
        ),
    ] {
        let mut wrong = json!({"product_id": LAMP});
        wrong[key] = json!("x");
        check_refused("show_product_questions", wrong, 422, message);
    }
    let nobody = json!({"product_id": LAMP, "user_email": "x@y.test"});
    check_refused(
        "show_product_questions",
        nobody,
        409,
        "There is no account x@y.test.",
    );
}

#[test]
fn answers_are_listed_and_filtered() {
    let mut session = ida();
    let mut listed = |mut arguments: Value| {
        arguments["question_id"] = json!(1);
        ids(
            &session.ok("show_product_question_answers", arguments),
            "question_answer_id",
        )
    };
    assert_eq!(listed(json!({})), [2, 1]);
    assert_eq!(listed(json!({"sort_by": "+created_at"})), [1, 2]);
    assert_eq!(listed(json!({"is_verified": true})), [1]);
    assert_eq!(listed(json!({"query": "brightness"})), [2]);
    assert_eq!(listed(json!({"user_email": CY})), [2]);
    assert_eq!(listed(json!({"page_index": 1, "page_limit": 1})), [1]);
    let answers = session.ok("show_product_question_answers", json!({"question_id": 1}));
    let expected = json!({
        "question_answer_id": 1, "question_id": 1, "is_verified": true, "answer": "Yes, in three steps.",
        "created_at": "2026-03-01T22:00:00", "user": {"name": "Bo Lind", "email": BO},
    });
    assert_eq!(answers[1], expected);
    let tool = "show_product_question_answers";
    check_refused(
        tool,
        json!({"question_id": 2}),
        409,
        "There is no question 2.",
    );
    for key in ["sort_by", "user_email"] {
        let mut wrong = json!({"question_id": 1});
        wrong[key] = json!("x");
        assert_eq!(ida().refused(tool, wrong).status, 422, "{key}");
    }
    let nobody = json!({"question_id": 1, "user_email": "x@y.test"});
    check_refused(tool, nobody, 409, "There is no account x@y.test.");
}
