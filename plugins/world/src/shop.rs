//! A shop: what is sold by whom, and what people say about it.

mod goods;

use jiff::civil::{DateTime, date};

use crate::draw::Draw;
use crate::shop::goods::{
    ADDED, AsOne, BRANDS, COLORS, InSizes, KINDS, MODELS, QUESTIONS, REVIEWS, SIZES,
};
use crate::words::capitalised;
use crate::{END, World};

#[derive(Debug)]
pub struct Shop {
    pub sellers: Vec<Seller>,
    pub products: Vec<Product>,
    /// By moment; one of each author for a product.
    pub reviews: Vec<Review>,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone)]
pub struct Seller {
    pub name: String,
    /// Tenths of a star.
    pub rating: u32,
}

#[derive(Debug, Clone)]
pub struct Product {
    pub seller: usize,
    pub kind: &'static str,
    pub name: String,
    pub description: String,
    /// In cents.
    pub price: u32,
    pub stock: u32,
    pub delivery_days: u32,
    /// In grams, and in millimetres.
    pub weight: u32,
    pub length: u32,
    pub width: u32,
    pub height: u32,
    pub color: Option<&'static str>,
    /// A variant of the app's `Size`.
    pub size: Option<&'static str>,
    /// The first of the products that differ in colour and size only.
    pub family: usize,
}

/// A purchase: what makes a review a verified one.
struct Order {
    owner: usize,
    products: Vec<usize>,
    created_at: DateTime,
}

#[derive(Debug, Clone)]
pub struct Review {
    pub product: usize,
    pub author: usize,
    pub verified: bool,
    pub rating: u32,
    pub title: &'static str,
    pub text: String,
    pub created_at: DateTime,
}

#[derive(Debug, Clone)]
pub struct Question {
    pub product: usize,
    pub author: usize,
    pub text: String,
    pub created_at: DateTime,
    pub answers: Vec<Answer>,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub author: usize,
    pub verified: bool,
    pub text: String,
    pub created_at: DateTime,
}

pub(crate) fn generate(world: &World) -> Shop {
    let mut draw = Draw::new(world.seed, "shop");
    let sellers = sellers(&mut draw);
    let products = products(&mut draw, sellers.len());
    let people = world.people.len();
    let orders = orders(&mut draw, people, products.len());
    let reviews = reviews(&mut draw, people, &products, &orders);
    let questions = questions(&mut draw, people, &products, &orders);
    Shop {
        sellers,
        products,
        reviews,
        questions,
    }
}

fn sellers(draw: &mut Draw) -> Vec<Seller> {
    let seller = |brand: &&str| Seller {
        name: format!("{brand} {}", draw.pick(ADDED)),
        rating: draw.between(32, 50),
    };
    BRANDS.iter().map(seller).collect()
}

fn products(draw: &mut Draw, sellers: usize) -> Vec<Product> {
    let mut products: Vec<Product> = Vec::new();
    for (kind, low, high, weight, side, comes, said) in KINDS {
        let said: Vec<&str> = said.split('|').collect();
        for model in draw.some(MODELS, 7) {
            let seller = draw.below(sellers);
            let family = products.len();
            let sentences = draw.some(&said, 2);
            let mut described = draw.some(&sentences, 2);
            described.push(
                [
                    "A favourite of our customers.",
                    "Sent in a box without plastic.",
                    "Two years of guarantee.",
                ][draw.below(3)],
            );
            // Prices end in 9, as they do.
            let price = (draw.between(*low, *high) / 50) * 50 + 49;
            let side = side * 10;
            let first = Product {
                seller,
                kind,
                name: format!("{} {model} {}", BRANDS[seller], title(kind)),
                description: described.join(" "),
                price,
                stock: 0,
                delivery_days: draw.between(1, 9),
                weight: weight * draw.between(80, 120) / 100,
                length: side,
                width: side * draw.between(30, 80) / 100,
                height: side * draw.between(10, 60) / 100,
                color: None,
                size: None,
                family,
            };
            let colors = draw.some(COLORS, if *comes == AsOne { 1 } else { 2 });
            for (place, color) in colors.into_iter().enumerate() {
                let sizes: &[_] = match comes {
                    InSizes if place == 0 => &SIZES[1..4],
                    InSizes => &SIZES[2..3],
                    _ => &[("", "")],
                };
                for (size, _) in sizes {
                    products.push(Product {
                        color: (*comes != AsOne).then_some(color),
                        size: (!size.is_empty()).then_some(*size),
                        stock: if draw.chance(6) {
                            0
                        } else {
                            draw.between(1, 140)
                        },
                        ..first.clone()
                    });
                }
            }
        }
    }
    products
}

/// Every word with a capital.
fn title(kind: &str) -> String {
    kind.split(' ')
        .map(capitalised)
        .collect::<Vec<_>>()
        .join(" ")
}

fn orders(draw: &mut Draw, people: usize, products: usize) -> Vec<Order> {
    let mut orders = Vec::new();
    for owner in 0..people {
        for _ in 0..draw.between(1, 4) {
            let count = draw.between(1, 3);
            orders.push(Order {
                owner,
                products: (0..count).map(|_| draw.below(products)).collect(),
                created_at: draw.moment(date(2024, 2, 5), date(2025, 12, 15)),
            });
        }
    }
    orders
}

fn bought(orders: &[Order], owner: usize, product: usize) -> bool {
    let has = |order: &Order| order.owner == owner && order.products.contains(&product);
    orders.iter().any(has)
}

/// Of most that was bought, and some of people who got it elsewhere.
fn reviews(draw: &mut Draw, people: usize, products: &[Product], orders: &[Order]) -> Vec<Review> {
    let mut reviews: Vec<Review> = Vec::new();
    let mut write = |draw: &mut Draw, product: usize, author: usize, verified, after: DateTime| {
        if reviews
            .iter()
            .any(|review| review.product == product && review.author == author)
        {
            return;
        }
        let rating = [1, 2, 3, 3, 4, 4, 4, 5, 5, 5][draw.below(10)];
        let choices = REVIEWS[rating - 1];
        let (title, text) = choices[draw.below(choices.len())];
        let after = after
            .date()
            .saturating_add(jiff::Span::new().days(10))
            .min(END);
        reviews.push(Review {
            product,
            author,
            verified,
            rating: u32::try_from(rating).unwrap_or(5),
            title,
            text: text.replace("{thing}", products[product].kind),
            created_at: draw.moment(after, END),
        });
    };
    for order in orders {
        for product in &order.products {
            if draw.chance(60) {
                write(draw, *product, order.owner, true, order.created_at);
            }
        }
    }
    for product in 0..products.len() {
        for _ in 0..draw.below(4) {
            let author = draw.below(people);
            let verified = bought(orders, author, product);
            write(
                draw,
                product,
                author,
                verified,
                date(2024, 3, 4).at(0, 0, 0, 0),
            );
        }
    }
    reviews.sort_by_key(|review| review.created_at);
    reviews
}

fn questions(
    draw: &mut Draw,
    people: usize,
    products: &[Product],
    orders: &[Order],
) -> Vec<Question> {
    let mut questions = Vec::new();
    for (product, Product { kind, .. }) in products.iter().enumerate() {
        if !draw.chance(55) {
            continue;
        }
        let (text, answers) = QUESTIONS[draw.below(QUESTIONS.len())];
        let created_at = draw.moment(date(2024, 4, 1), date(2025, 11, 30));
        let count = draw.below(answers.len() + 1);
        let mut answered_at = created_at;
        let mut answer = |text: &&str| {
            answered_at = draw.later(answered_at, 9000);
            let author = draw.below(people);
            let verified = bought(orders, author, product);
            Answer {
                author,
                verified,
                text: (*text).to_owned(),
                created_at: answered_at,
            }
        };
        let answers = answers.iter().take(count).map(&mut answer).collect();
        let author = draw.below(people);
        questions.push(Question {
            product,
            author,
            text: text.replace("{thing}", kind),
            created_at,
            answers,
        });
    }
    questions.sort_by_key(|question| question.created_at);
    questions
}
