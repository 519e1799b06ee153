//! The shop and its customers. Returns are the numbers of returned pieces here, subscriptions a flag, promotions those in
//! percent; measures are in centimetres.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Database, Records, Row, Users, key, put, record};

const PRODUCT: [&str; 14] = [
    "id",
    "product_type",
    "name",
    "description",
    "seller_id",
    "price",
    "delivery_days",
    "inventory_quantity",
    "weight",
    "length",
    "width",
    "height",
    "color",
    "relative_size",
];
const ORDER: [&str; 10] = [
    "id",
    "user_id",
    "address_id",
    "payment_card_id",
    "discount",
    "tax",
    "delivery_fee",
    "gift_wrap_fee",
    "paid_amount",
    "created_at",
];
const ITEM: [&str; 9] = [
    "id",
    "order_id",
    "product_id",
    "ordered_quantity",
    "returned_quantity",
    "gift_wrap_quantity",
    "price",
    "expected_delivery_at",
    "delivered_at",
];
const ADDRESS: [&str; 8] = [
    "id",
    "user_id",
    "name",
    "street_address",
    "city",
    "state",
    "country",
    "zip_code",
];
const CARD: [&str; 8] = [
    "id",
    "user_id",
    "card_name",
    "owner_name",
    "card_number",
    "expiry_year",
    "expiry_month",
    "cvv_number",
];
const SIZES: [&str; 5] = ["extra-small", "small", "medium", "large", "extra-large"];

/// The least measure of a product.
const LEAST: f64 = 0.01;

/// Centimetres of an inch.
const INCH: f64 = 2.54;

/// The rows that others may name.
#[derive(Debug, Default)]
struct Known {
    sellers: BTreeSet<i64>,
    products: BTreeSet<i64>,
    /// With their owners.
    addresses: BTreeMap<i64, Value>,
    cards: BTreeMap<i64, Value>,
    questions: BTreeSet<i64>,
}

impl Known {
    fn product(&self, row: &Row) -> Option<String> {
        let id = row.integer("product_id")?;
        self.products.contains(&id).then(|| key("product", id))
    }
}

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut known = Known::default();
    let mut records = Records::new();
    let lists: [(&str, List); 12] = [
        ("sellers", sellers),
        ("products", products),
        ("promo_codes", promo_codes),
        ("customers", customers),
        ("addresses", addresses),
        ("payment_cards", cards),
        ("orders", orders),
        ("cart_items", cart),
        ("wish_list_items", wishes),
        ("browsing_history", visits),
        ("reviews", reviews),
        ("questions", questions),
    ];
    for (name, list) in lists {
        let items = list(database, users, &mut known);
        put(&mut records, name, items);
    }
    let answers = answers(database, users, &mut known);
    put(&mut records, "answers", answers);
    records
}

type List = fn(&mut Database, &Users, &mut Known) -> Vec<Value>;

fn sellers(database: &mut Database, _: &Users, known: &mut Known) -> Vec<Value> {
    let mut sellers = Vec::new();
    database.mark_derived("seller", &["search_text"]);
    for row in database.rows("seller", &["id", "name", "rating"]) {
        let (Some(id), Some(name)) = (row.id(), row.text("name")) else {
            database.skip("seller", "no name");
            continue;
        };
        known.sellers.insert(id);
        let rating = row.number("rating").unwrap_or_default();
        let taken = rating.clamp(0.0, 5.0);
        if taken.to_bits() != rating.to_bits() {
            row.note_loss("rating", "changed to the nearest from 0 to 5");
        }
        sellers.push(json!({ "id": key("seller", id), "name": name, "rating": taken }));
    }
    sellers
}

fn products(database: &mut Database, _: &Users, known: &mut Known) -> Vec<Value> {
    let mut products = Vec::new();
    // The first product of a name, and how all of that name look.
    let mut families: BTreeMap<String, (i64, Vec<(Value, Value)>)> = BTreeMap::new();
    database.mark_derived(
        "product",
        &["rating", "seller_rating", "has_variations", "search_text"],
    );
    for row in database.rows("product", &PRODUCT) {
        let seller = row
            .integer("seller_id")
            .filter(|id| known.sellers.contains(id));
        let price = row.number("price").filter(|price| *price > 0.0);
        let (Some(id), Some(seller), Some(name), Some(price)) =
            (row.id(), seller, row.text("name"), price)
        else {
            database.skip("product", "no known seller, name or price");
            continue;
        };
        let size = row
            .text("relative_size")
            .map(|size| size.to_lowercase().replace([' ', '_'], "-"));
        let size = size.filter(|size| SIZES.contains(&size.as_str()));
        let size = row.or_lost(size, "relative_size", "a size that the app does not have");
        let size = json!(size);
        let color = json!(row.text("color"));
        let (first, looks) = families.entry(name.clone()).or_insert((id, Vec::new()));
        let look = (color.clone(), size.clone());
        if looks.contains(&look) {
            database.skip("product", "another one has the same name, color and size");
            continue;
        }
        looks.push(look);
        known.products.insert(id);
        products.push(record(json!({
            "id": key("product", id),
            "variation_of": (*first != id).then(|| key("product", *first)),
            "seller": key("seller", seller),
            "type": row.text("product_type").unwrap_or_else(|| "other".into()),
            "description": row.text("description").unwrap_or_else(|| name.clone()),
            "name": name,
            "price": dollars(price),
            "stock": row.within("inventory_quantity", 0, i64::MAX).unwrap_or_default(),
            "delivery_days": row.within("delivery_days", 0, i64::MAX).unwrap_or(1),
            "weight": measure(&row, "weight", 1.0),
            "length": measure(&row, "length", INCH),
            "width": measure(&row, "width", INCH),
            "height": measure(&row, "height", INCH),
            "color": color,
            "relative_size": size,
        })));
    }
    products
}

fn dollars(amount: f64) -> f64 {
    (amount * 100.0).round() / 100.0
}

/// A measure in our units, to the hundredth; as good as nothing where there is none.
fn measure(row: &Row, column: &str, unit: f64) -> f64 {
    let Some(measure) = row.number(column) else {
        return LEAST;
    };
    let measure = (measure * unit * 100.0).round() / 100.0;
    if measure < LEAST {
        row.note_loss(column, "changed to the least that the app takes");
    }
    measure.max(LEAST)
}

fn promo_codes(database: &mut Database, _: &Users, _: &mut Known) -> Vec<Value> {
    let mut codes = Vec::new();
    for row in database.rows("promo", &["id", "type", "code", "discount"]) {
        let percent = row
            .number("discount")
            .filter(|_| row.text("type").as_deref() == Some("percent"));
        if percent.is_some_and(|percent| percent.fract() != 0.0) {
            row.note_loss("discount", "changed to whole percent");
        }
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        let percent = percent.map(|percent| percent.round() as i64);
        match (
            row.text("code"),
            percent.filter(|percent| (1..=100).contains(percent)),
        ) {
            (Some(code), Some(percent)) => codes.push(json!({ "code": code, "percent": percent })),
            _ => database.skip("promo", "no code in percent"),
        }
    }
    codes
}

/// Whoever had a subscription when the last order was made.
fn customers(database: &mut Database, users: &Users, _: &mut Known) -> Vec<Value> {
    let now = database
        .rows("order", &["id", "created_at"])
        .iter()
        .filter_map(|row| row.moment("created_at"))
        .max();
    let mut prime = BTreeSet::new();
    let columns = ["id", "user_id", "end_date"];
    for row in database.rows("prime_subscription", &columns) {
        if row.moment("end_date") > now {
            prime.extend(row.integer("user_id"));
        }
    }
    let columns = ["id", "verified", "track_browsing_history"];
    let mut customers = Vec::new();
    for row in database.rows("user", &columns) {
        let Some(owner) = users.email(&row, "id") else {
            continue;
        };
        customers.push(json!({
            "owner": owner,
            "is_prime": row.id().is_some_and(|id| prime.contains(&id)),
            "verified": row.flag("verified"),
            "track_browsing_history": row.flag("track_browsing_history"),
        }));
    }
    customers
}

fn addresses(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut addresses = Vec::new();
    for row in database.rows("address", &ADDRESS) {
        let texts: Vec<Option<String>> = ADDRESS[2..7]
            .iter()
            .map(|column| row.text(column))
            .collect();
        let (Some(id), Some(owner), true, Some(zip)) = (
            row.id(),
            users.email(&row, "user_id"),
            texts.iter().all(Option::is_some),
            row.integer("zip_code"),
        ) else {
            database.skip("address", "no known owner, or a part is missing");
            continue;
        };
        known.addresses.insert(id, owner.clone());
        addresses.push(json!({
            "id": key("address", id),
            "owner": owner,
            "name": texts[0],
            "street_address": texts[1],
            "city": texts[2],
            "state": texts[3],
            "country": texts[4],
            "zip_code": zip,
        }));
    }
    addresses
}

fn cards(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut cards = Vec::new();
    for row in database.rows("payment_card", &CARD) {
        let numbers = ["card_number", "expiry_year", "expiry_month", "cvv_number"];
        let (Some(id), Some(owner), Some(name), true) = (
            row.id(),
            users.email(&row, "user_id"),
            row.text("card_name"),
            numbers.iter().all(|column| row.integer(column).is_some()),
        ) else {
            database.skip("payment_card", "no known owner, or a part is missing");
            continue;
        };
        known.cards.insert(id, owner.clone());
        cards.push(record(json!({
            "id": key("card", id),
            "owner": owner,
            "card_name": name,
            "owner_name": row.text("owner_name"),
            "card_number": row.integer("card_number"),
            "expiry_year": row.integer("expiry_year"),
            "expiry_month": row.integer("expiry_month"),
            "cvv_number": row.integer("cvv_number"),
        })));
    }
    cards
}

fn orders(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut items: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    for row in database.rows("order_item", &ITEM) {
        match (row.integer("order_id"), known.product(&row)) {
            (Some(order), Some(_)) => items.entry(order).or_default().push(row),
            _ => database.skip("order_item", "no known order or product"),
        }
    }
    let mut orders = Vec::new();
    // The app keeps the texts with the address and the card.
    database.mark_derived(
        "order",
        &[
            "address_text",
            "payment_card_digits",
            "receipt_download_count",
            "search_text",
        ],
    );
    for row in database.rows("order", &ORDER) {
        let owner = users.email(&row, "user_id");
        let of_owner = |column: &str, all: &BTreeMap<i64, Value>| {
            row.integer(column)
                .filter(|id| all.get(id) == owner.as_ref() && owner.is_some())
        };
        let address = of_owner("address_id", &known.addresses);
        let card = of_owner("payment_card_id", &known.cards);
        let created = row.moment("created_at");
        let own = row
            .id()
            .and_then(|id| items.remove(&id))
            .unwrap_or_default();
        let (Some(address), Some(card), false) = (address, card, own.is_empty()) else {
            database.skip(
                "order",
                "its address or card is gone, or it has no known item",
            );
            continue;
        };
        let lines: Vec<Value> = own
            .iter()
            .map(|item| order_item(item, known, created.as_deref()))
            .collect();
        orders.push(record(json!({
            "owner": owner,
            "address": key("address", address),
            "card": key("card", card),
            "items": lines,
            "discount": row.number("discount").filter(|discount| *discount > 0.0).map(dollars),
            "tax": row.number("tax").map(dollars),
            "delivery_fee": row.number("delivery_fee").map(dollars),
            "gift_wrap_fee": row.number("gift_wrap_fee").map(dollars),
            "paid_amount": row.number("paid_amount").map(dollars),
            "created_at": created,
        })));
    }
    orders
}

fn order_item(row: &Row, known: &Known, ordered: Option<&str>) -> Value {
    let quantity = row.within("ordered_quantity", 1, i64::MAX).unwrap_or(1);
    let part = |column| row.within(column, 0, quantity).unwrap_or_default();
    // Nothing arrives before it is ordered.
    let arrival = |column| {
        let moment = row.moment(column);
        let moment =
            moment.filter(|moment| ordered.is_none_or(|ordered| moment.as_str() >= ordered));
        row.or_lost(moment, column, "no moment after the order")
    };
    record(json!({
        "product": known.product(row),
        "quantity": quantity,
        "returned": part("returned_quantity"),
        "gift_wrapped": part("gift_wrap_quantity"),
        "price": row.number("price").map(dollars),
        "expected_delivery_at": arrival("expected_delivery_at"),
        "delivered_at": arrival("delivered_at"),
    }))
}

fn cart(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let columns = [
        "id",
        "user_id",
        "product_id",
        "quantity",
        "gift_wrap_quantity",
    ];
    let mut items = Vec::new();
    for row in database.rows("cart_entry", &columns) {
        let (Some(owner), Some(product)) = (users.email(&row, "user_id"), known.product(&row))
        else {
            database.skip("cart_entry", "no known owner or product");
            continue;
        };
        let quantity = row.within("quantity", 1, i64::MAX).unwrap_or(1);
        let wrapped = row.within("gift_wrap_quantity", 0, quantity);
        items.push(json!({
            "owner": owner,
            "product": product,
            "quantity": quantity,
            "gift_wrapped": wrapped.unwrap_or_default(),
        }));
    }
    items
}

fn wishes(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut items = Vec::new();
    for row in database.rows(
        "wish_list_entry",
        &["id", "user_id", "product_id", "quantity"],
    ) {
        let (Some(owner), Some(product)) = (users.email(&row, "user_id"), known.product(&row))
        else {
            database.skip("wish_list_entry", "no known owner or product");
            continue;
        };
        let quantity = row.within("quantity", 1, i64::MAX).unwrap_or(1);
        items.push(json!({ "owner": owner, "product": product, "quantity": quantity }));
    }
    items
}

fn visits(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut visits = Vec::new();
    for row in database.rows("browsing_history_entry", &["id", "user_id", "product_id"]) {
        match (users.email(&row, "user_id"), known.product(&row)) {
            (Some(owner), Some(product)) => {
                visits.push(json!({ "owner": owner, "product": product }));
            }
            _ => database.skip("browsing_history_entry", "no known owner or product"),
        }
    }
    visits
}

fn reviews(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let columns = [
        "id",
        "product_id",
        "user_id",
        "is_verified",
        "rating",
        "title",
        "text",
        "created_at",
    ];
    let mut reviews = Vec::new();
    let mut seen = BTreeSet::new();
    database.mark_derived("product_review", &["search_text"]);
    for row in database.rows("product_review", &columns) {
        let rating = row
            .integer("rating")
            .filter(|rating| (1..=5).contains(rating));
        let (Some(author), Some(product), Some(rating)) =
            (users.email(&row, "user_id"), known.product(&row), rating)
        else {
            database.skip("product_review", "no known author, product or rating");
            continue;
        };
        if !seen.insert((product.clone(), author.to_string())) {
            database.skip("product_review", "a second one of its author");
            continue;
        }
        reviews.push(record(json!({
            "product": product,
            "author": author,
            "rating": rating,
            "title": row.text("title"),
            "text": row.text("text"),
            "verified": row.flag("is_verified"),
            "created_at": row.moment("created_at"),
        })));
    }
    reviews
}

fn questions(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let mut questions = Vec::new();
    database.mark_derived("product_question", &["search_text"]);
    for row in database.rows(
        "product_question",
        &["id", "product_id", "user_id", "question", "created_at"],
    ) {
        let (Some(id), Some(author), Some(product), Some(question)) = (
            row.id(),
            users.email(&row, "user_id"),
            known.product(&row),
            row.text("question"),
        ) else {
            database.skip("product_question", "no known author, product or text");
            continue;
        };
        known.questions.insert(id);
        questions.push(record(json!({
            "id": key("question", id),
            "product": product,
            "author": author,
            "question": question,
            "created_at": row.moment("created_at"),
        })));
    }
    questions
}

fn answers(database: &mut Database, users: &Users, known: &mut Known) -> Vec<Value> {
    let columns = [
        "id",
        "product_question_id",
        "user_id",
        "is_verified",
        "answer",
        "created_at",
    ];
    let mut answers = Vec::new();
    database.mark_derived("product_question_answer", &["search_text"]);
    for row in database.rows("product_question_answer", &columns) {
        let question = row
            .integer("product_question_id")
            .filter(|id| known.questions.contains(id));
        let (Some(question), Some(author), Some(answer)) =
            (question, users.email(&row, "user_id"), row.text("answer"))
        else {
            database.skip(
                "product_question_answer",
                "no known question or author, or no text",
            );
            continue;
        };
        answers.push(record(json!({
            "question": key("question", question),
            "author": author,
            "answer": answer,
            "verified": row.flag("is_verified"),
            "created_at": row.moment("created_at"),
        })));
    }
    answers
}
