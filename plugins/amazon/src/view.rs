//! What the tools answer about products, orders and opinions, and what graders see.

use pibench_sdk::account::{Account, Email};
use pibench_sdk::clock;
use pibench_sdk::layer::RowState;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Amazon;
use crate::browsing::Offer;
use crate::catalogue::{Product, ProductId, Sale, Seller};
use crate::feedback::{Answer, Question, Review};
use crate::order::{Bill, Order, OrderItem};

/// What graders see.
#[derive(Debug, Serialize)]
pub(crate) struct State {
    users: Vec<RowState<Value>>,
    sellers: Vec<RowState<Value>>,
    products: Vec<RowState<Value>>,
    promo_codes: Vec<Value>,
    addresses: Vec<Value>,
    payment_cards: Vec<Value>,
    cart_items: Vec<Value>,
    wish_list_items: Vec<Value>,
    browsing_history: Vec<Value>,
    orders: Vec<Value>,
    reviews: Vec<RowState<Value>>,
    questions: Vec<RowState<Value>>,
    answers: Vec<RowState<Value>>,
}

impl Amazon {
    pub(crate) fn view_product(&self, offer: &Offer) -> Value {
        let Offer {
            product,
            sale: Sale { price, stock },
            rating,
            reviews,
            questions,
        } = offer;
        let Product {
            id,
            seller,
            kind,
            name,
            description,
            sale: _,
            delivery_days,
            weight,
            length,
            width,
            height,
            color,
            relative_size,
            family: _,
        } = product;
        let variation = |sibling: &Product| {
            let Product {
                id,
                relative_size,
                color,
                ..
            } = sibling;
            json!({"product_id": id, "relative_size": relative_size, "color": color})
        };
        let variations = self.catalogue.variations(product).map(variation);
        json!({
            "product_id": id,
            "seller_id": seller,
            "product_type": kind,
            "name": name,
            "description": description,
            "price": price.dollars(),
            "delivery_days": delivery_days,
            "inventory_quantity": stock,
            "weight": weight,
            "length": length,
            "width": width,
            "height": height,
            "color": color,
            "relative_size": relative_size,
            "rating": rating,
            "num_product_reviews": reviews,
            "num_product_questions": questions,
            "shareable_link": format!("https://amazon.example/products/{id}"),
            "variations": variations.collect::<Vec<_>>(),
        })
    }

    pub(crate) fn product_name(&self, id: ProductId) -> &str {
        self.catalogue
            .get(id)
            .map_or("", |product| product.name.as_str())
    }

    pub(crate) fn view_order(&self, order: &Order) -> Value {
        let now = clock::now();
        let Bill {
            discount,
            gift_wrap_fee,
            delivery_fee,
            tax,
            total,
            ..
        } = order.bill;
        let item = |item: &OrderItem| {
            let review = self.feedback.review_by(item.product, &order.owner);
            json!({
                "product_id": item.product,
                "product_name": self.product_name(item.product),
                "product_review_id": review.map(|review| review.id),
                "ordered_quantity": item.quantity,
                "returned_quantity": item.returned,
                "gift_wrap_quantity": item.gift_wrapped,
                "price": item.price.dollars(),
                "expected_delivery_at": item.expected_delivery_at,
                "delivered_at": item.delivered_at(now),
            })
        };
        json!({
            "order_id": order.id,
            "address_id": order.address,
            "payment_card_id": order.card,
            "tax": tax.dollars(),
            "delivery_fee": delivery_fee.dollars(),
            "gift_wrap_fee": gift_wrap_fee.dollars(),
            "discount": discount.dollars(),
            "created_at": order.created_at,
            "address_text": order.address_text,
            "payment_card_digits": order.card_digits,
            "paid_amount": total.dollars(),
            "order_items": order.items.iter().map(item).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn view_review(&self, review: &Review) -> Value {
        let Review {
            id,
            product,
            author,
            verified,
            rating,
            title,
            text,
            created_at,
        } = review;
        json!({
            "review_id": id, "product_id": product, "is_verified": verified, "rating": rating, "title": title,
            "text": text, "created_at": created_at, "user": self.view_user(author),
        })
    }

    pub(crate) fn view_question(&self, question: &Question) -> Value {
        let Question {
            id,
            product,
            author,
            text,
            created_at,
            answers,
        } = question;
        json!({
            "product_id": product, "question_id": id, "question": text, "num_answers": answers.len(),
            "created_at": created_at, "user": self.view_user(author),
        })
    }

    pub(crate) fn view_answer(&self, answer: &Answer) -> Value {
        let Answer {
            id,
            question,
            author,
            verified,
            text,
            created_at,
        } = answer;
        json!({
            "question_answer_id": id, "question_id": question, "is_verified": verified, "answer": text,
            "created_at": created_at, "user": self.view_user(author),
        })
    }

    fn view_user(&self, email: &Email) -> Value {
        json!({"name": self.accounts.name(email), "email": email})
    }

    /// See the crate's documentation.
    pub(crate) fn view_state(&self) -> State {
        let seller = |seller: &Seller| json!({"id": seller.id, "name": seller.name, "rating": seller.rating});
        let (sellers, products) = self.catalogue.state(seller, state_of_product);
        let addresses = self.addresses.values().map(|address| {
            json!({
                "id": address.id, "owner": address.owner, "name": address.name,
                "street_address": address.street, "city": address.city, "state": address.state,
                "country": address.country, "zip_code": address.zip_code,
            })
        });
        let cards = self.cards.values().map(|card| {
            json!({
                "id": card.id, "owner": card.owner, "card_name": card.label, "owner_name": card.owner_name,
                "last_digits": card.last_digits(), "expiry_year": card.expiry_year,
                "expiry_month": card.expiry_month,
            })
        });
        let promo_codes = self.promo_codes.values().map(|promo| {
            json!({"id": promo.code, "percent": promo.percent, "valid_until": promo.valid_until})
        });
        let feedback = &self.feedback;
        State {
            users: self.accounts.state(|user| self.state_of_user(user)),
            sellers,
            products,
            promo_codes: promo_codes.collect(),
            addresses: addresses.collect(),
            payment_cards: cards.collect(),
            cart_items: self.state_of_carts(),
            wish_list_items: self.state_of_wish_lists(),
            browsing_history: self.state_of_histories(),
            orders: self.orders.values().map(state_of_order).collect(),
            reviews: feedback.reviews.state(|_, review| state_of_review(review)),
            questions: feedback
                .questions
                .state(|_, question| state_of_question(question)),
            answers: feedback.answers.state(|_, answer| state_of_answer(answer)),
        }
    }

    fn state_of_user(&self, account: &Account) -> Value {
        let customer = self.customer(&account.email);
        json!({
            "id": account.email,
            "first_name": account.first_name,
            "last_name": account.last_name,
            "is_prime": customer.is_prime,
            "verified": customer.verified,
            "track_browsing_history": customer.track_browsing_history,
            "promo_code": customer.promo_code,
        })
    }

    fn state_of_carts(&self) -> Vec<Value> {
        let lines = self.customers.iter().flat_map(|(owner, customer)| {
            customer.cart.iter().map(move |(product, item)| {
                json!({
                    "id": line_id(owner, *product), "owner": owner, "product_id": product,
                    "product_name": self.product_name(*product), "quantity": item.quantity,
                    "gift_wrapped": item.gift_wrapped,
                })
            })
        });
        lines.collect()
    }

    fn state_of_wish_lists(&self) -> Vec<Value> {
        let lines = self.customers.iter().flat_map(|(owner, customer)| {
            customer.wish_list.iter().map(move |(product, quantity)| {
                json!({
                    "id": line_id(owner, *product), "owner": owner, "product_id": product,
                    "product_name": self.product_name(*product), "quantity": quantity,
                })
            })
        });
        lines.collect()
    }

    fn state_of_histories(&self) -> Vec<Value> {
        let lines = self.customers.iter().flat_map(|(owner, customer)| {
            customer.history.iter().map(move |(product, viewed_at)| {
                json!({
                    "id": line_id(owner, *product), "owner": owner, "product_id": product,
                    "product_name": self.product_name(*product), "viewed_at": viewed_at,
                })
            })
        });
        lines.collect()
    }
}

fn state_of_product(product: &Product) -> Value {
    let Sale { price, stock } = product.sale;
    json!({
        "id": product.id, "seller_id": product.seller, "product_type": product.kind,
        "name": product.name, "color": product.color, "relative_size": product.relative_size,
        "price_cents": price, "stock": stock,
    })
}

fn line_id(owner: &Email, product: ProductId) -> String {
    format!("{owner}/{product}")
}

fn state_of_order(order: &Order) -> Value {
    let Order {
        id,
        owner,
        address,
        address_text,
        card,
        card_digits,
        bill,
        items,
        created_at,
    } = order;
    let Bill {
        base_cost,
        discount,
        gift_wrap_fee,
        delivery_fee,
        tax,
        total,
    } = bill;
    let item = |item: &OrderItem| {
        json!({
            "product_id": item.product, "quantity": item.quantity, "returned": item.returned,
            "gift_wrapped": item.gift_wrapped, "price_cents": item.price,
            "expected_delivery_at": item.expected_delivery_at, "arrives_at": item.arrives_at,
        })
    };
    json!({
        "id": id, "owner": owner, "address_id": address, "address_text": address_text, "payment_card_id": card,
        "payment_card_digits": card_digits, "base_cents": base_cost, "discount_cents": discount,
        "gift_wrap_cents": gift_wrap_fee, "delivery_cents": delivery_fee, "tax_cents": tax,
        "paid_cents": total, "created_at": created_at,
        "items": items.iter().map(item).collect::<Vec<_>>(),
    })
}

fn state_of_review(review: &Review) -> Value {
    let Review {
        id,
        product,
        author,
        verified,
        rating,
        title,
        text,
        created_at,
    } = review;
    json!({
        "id": id, "product_id": product, "author": author, "verified": verified, "rating": rating, "title": title,
        "text": text, "created_at": created_at,
    })
}

fn state_of_question(question: &Question) -> Value {
    let Question {
        id,
        product,
        author,
        text,
        created_at,
        answers: _,
    } = question;
    json!({"id": id, "product_id": product, "author": author, "question": text, "created_at": created_at})
}

fn state_of_answer(answer: &Answer) -> Value {
    let Answer {
        id,
        question,
        author,
        verified,
        text,
        created_at,
    } = answer;
    json!({
        "id": id, "question_id": question, "author": author, "verified": verified, "answer": text,
        "created_at": created_at,
    })
}
