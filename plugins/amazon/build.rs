//! Writes the world's shop as constant tables (`src/world.rs`).

use std::collections::BTreeMap;
use std::io;

use pibench_world::rust::{email, list, moment, option, table, text};
use pibench_world::{Answer, Product, Question, Review, SEED, Seller, Shop, World, rust};

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let shop = world.shop();
    let answers: Vec<(usize, &Answer)> = (1..)
        .zip(&shop.questions)
        .flat_map(|(id, question)| question.answers.iter().map(move |answer| (id, answer)))
        .collect();
    let questions = shop.questions.iter().scan(0, |answered, it| {
        let first = *answered + 1;
        *answered += it.answers.len();
        Some(question(&world, it, first..=*answered))
    });
    let source = [
        rows("SELLERS", "Seller", shop.sellers.iter().map(seller)),
        rows("PRODUCTS", "Product", shop.products.iter().map(product)),
        families(&shop),
        rows(
            "REVIEWS",
            "Review",
            shop.reviews.iter().map(|it| review(&world, it)),
        ),
        rows("QUESTIONS", "Question", questions),
        rows(
            "ANSWERS",
            "Answer",
            answers.iter().map(|it| answer(&world, *it)),
        ),
        written(&shop),
    ];
    rust::write(&source.concat())
}

/// Each row begins with its id.
fn rows(name: &str, row: &str, fields: impl Iterator<Item = String>) -> String {
    let rows = (1..).zip(fields);
    let rows = rows.map(|(id, fields): (u32, _)| (id, format!("{row} {{ id: {id}, {fields} }}")));
    table(name, "u32", row, rows)
}

fn seller(seller: &Seller) -> String {
    let (stars, tenths) = (seller.rating / 10, seller.rating % 10);
    format!("name: {}, rating: {stars}.{tenths}", text(&seller.name))
}

fn product(product: &Product) -> String {
    let thousandths = |number: u32| format!("{}.{:03}", number / 1000, number % 1000);
    let tenths = |number: u32| format!("{}.{}", number / 10, number % 10);
    format!(
        "seller: {}, kind: {}, name: {}, description: {}, sale: Sale {{ price: Cents({}), stock: {} }}, \
         delivery_days: {}, weight: {}, length: {}, width: {}, height: {}, color: {}, relative_size: {}, family: {}",
        product.seller + 1,
        text(product.kind),
        text(&product.name),
        text(&product.description),
        product.price,
        product.stock,
        product.delivery_days,
        thousandths(product.weight),
        tenths(product.length),
        tenths(product.width),
        tenths(product.height),
        option(product.color.map(text)),
        option(product.size.map(|size| format!("Size::{size}"))),
        product.family + 1,
    )
}

/// Those with more than one product.
fn families(shop: &Shop) -> String {
    let mut families: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (id, product) in (1..).zip(&shop.products) {
        families.entry(product.family + 1).or_default().push(id);
    }
    families.retain(|_, members| members.len() > 1);
    let rows = families.into_iter();
    let rows = rows.map(|(first, members)| (first, format!("Family({})", list(members))));
    table("FAMILIES", "u32", "Family", rows)
}

fn review(world: &World, review: &Review) -> String {
    format!(
        "product: {}, author: {}, verified: {}, rating: {}, title: {}, text: {}, created_at: {}",
        review.product + 1,
        email(&world.people[review.author].email),
        review.verified,
        review.rating,
        text(review.title),
        text(&review.text),
        moment(review.created_at),
    )
}

fn question(world: &World, question: &Question, answers: impl Iterator<Item = usize>) -> String {
    format!(
        "product: {}, author: {}, text: {}, created_at: {}, answers: {}",
        question.product + 1,
        email(&world.people[question.author].email),
        text(&question.text),
        moment(question.created_at),
        list(answers),
    )
}

fn answer(world: &World, (question, answer): (usize, &Answer)) -> String {
    format!(
        "question: {question}, author: {}, verified: {}, text: {}, created_at: {}",
        email(&world.people[answer.author].email),
        answer.verified,
        text(&answer.text),
        moment(answer.created_at),
    )
}

/// What is written about each product.
fn written(shop: &Shop) -> String {
    let mut written: BTreeMap<usize, (Vec<usize>, u32, Vec<usize>)> = BTreeMap::new();
    for (id, review) in (1..).zip(&shop.reviews) {
        let (reviews, stars, _) = written.entry(review.product + 1).or_default();
        reviews.push(id);
        *stars += review.rating;
    }
    for (id, question) in (1..).zip(&shop.questions) {
        written.entry(question.product + 1).or_default().2.push(id);
    }
    let rows = written
        .into_iter()
        .map(|(product, (reviews, stars, questions))| {
            let (reviews, questions) = (list(reviews), list(questions));
            let row =
                format!("Written {{ reviews: {reviews}, stars: {stars}, questions: {questions} }}");
            (product, row)
        });
    table("WRITTEN", "u32", "Written", rows)
}
