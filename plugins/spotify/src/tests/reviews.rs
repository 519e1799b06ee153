use super::*;

#[test]
fn a_review_is_published_as_told() {
    let mut session = ida();
    let review = json!({"song_id": 1, "rating": 4, "title": "Good", "text": "Twice a day."});
    let answer = session.ok("review_song", review);
    assert_eq!(
        answer,
        json!({"message": "Your review of song 1 (First Ferry) is published.", "song_review_id": 3})
    );
    let expected = json!({
        "song_review_id": 3, "song_id": 1, "rating": 4, "title": "Good", "text": "Twice a day.",
        "created_at": "2026-03-02T09:00:00", "user": {"name": "Ida Vale", "email": IDA},
    });
    assert_eq!(
        session.ok("show_song_review", json!({"review_id": 3})),
        expected
    );
    let song = session.ok("show_song", json!({"song_id": 1}));
    assert_eq!(
        (&song["rating"], &song["review_count"]),
        (&json!(3.67), &json!(3))
    );
}

#[test]
fn a_review_that_breaks_a_rule_is_refused() {
    for rating in [0, 6] {
        let message = format!("The rating must be from 1 to 5, not {rating}.");
        check_refused(
            "review_song",
            json!({"song_id": 1, "rating": rating}),
            422,
            &message,
        );
        let own = json!({"review_id": 1, "rating": rating});
        assert_eq!(bo().refused("update_song_review", own).message, message);
    }
    let long = json!({"song_id": 1, "rating": 1, "text": "x".repeat(8193)});
    check_refused(
        "review_song",
        long,
        422,
        "The text has 8193 bytes; at most 8192 fit.",
    );
    let long = json!({"song_id": 1, "rating": 1, "title": "x".repeat(201)});
    check_refused(
        "review_song",
        long,
        422,
        "The title has 201 bytes; at most 200 fit.",
    );
}

#[test]
fn a_song_is_reviewed_once_by_each() {
    let refusal = bo().refused("review_song", json!({"song_id": 1, "rating": 1}));
    let message = "bo@lind.test has reviewed song 1 already: review 1 can be updated.";
    assert_eq!((refusal.status, refusal.message.as_str()), (409, message));
}

#[test]
fn a_review_is_updated_where_told() {
    let mut session = bo();
    let answer = session.ok(
        "update_song_review",
        json!({"review_id": 1, "rating": 3, "title": ""}),
    );
    assert_eq!(answer, json!({"message": "Your review 1 is updated."}));
    let review = session.ok("show_song_review", json!({"review_id": 1}));
    assert_eq!(
        (&review["rating"], &review["title"], &review["text"]),
        (&json!(3), &json!(""), &json!("Smells of the sea."))
    );
    assert_eq!(review["created_at"], "2026-01-12T20:00:00");
}

#[test]
fn only_ones_own_review_is_updated() {
    check_refused(
        "update_song_review",
        json!({"review_id": 1, "rating": 1}),
        422,
        "Review 1 belongs to another account.",
    );
    bo().ok("update_song_review", json!({"review_id": 1}));
}

#[test]
fn reviews_are_listed_filtered_and_sorted() {
    let check = |arguments: Value, expected: &[u64]| {
        let mut arguments = arguments;
        arguments["song_id"] = json!(1);
        check_list("show_song_reviews", arguments, "song_review_id", expected);
    };
    check(json!({}), &[1, 2]);
    check(json!({"query": "smelling"}), &[1]);
    check(json!({"user_email": CY}), &[2]);
    for (user, status) in [("x@y.test", 409), ("x", 422)] {
        let user = json!({"song_id": 1, "user_email": user});
        assert_eq!(ida().refused("show_song_reviews", user).status, status);
    }
    check(json!({"min_rating": 3}), &[1]);
    check(json!({"max_rating": 3}), &[2]);
    check(json!({"sort_by": "+created_at"}), &[2, 1]);
    check(json!({"sort_by": "+rating"}), &[2, 1]);
    check(json!({"page_limit": 1, "page_index": 1}), &[2]);
    assert_eq!(
        ida().ok("show_song_reviews", json!({"song_id": 2})),
        json!([])
    );
    assert_eq!(
        ida()
            .refused(
                "show_song_reviews",
                json!({"song_id": 1, "sort_by": "+likes"})
            )
            .status,
        422
    );
}
