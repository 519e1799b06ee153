//! What a seed may hold, and how it becomes the state; the crate's documentation shows it.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::records::Records;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Amazon;
use crate::catalogue::{Product, ProductId, Sale, Seller, Size};
use crate::checked;
use crate::customer::{Address, Card};
use crate::feedback::{Answer, Question, Review};
use crate::money::{Cents, Dollars};
use crate::opinions::{checked_review, checked_text};
use crate::order::{Bill, Kept, Order, OrderItem, PromoCode, days_after};
use crate::ordering::checked_address;
use crate::shopping::{MAX_LINES, MAX_QUANTITY};

/// The longest name and description of a product, in bytes: a page of 20 stays within what an answer may hold.
const MAX_NAME: usize = 300;
const MAX_DESCRIPTION: usize = 8 * 1024;
/// The highest stock of a product: no sum of pieces can overflow.
const MAX_STOCK: u32 = 1_000_000;
/// Nothing takes longer than a year to arrive.
const MAX_DELIVERY_DAYS: u32 = 365;

/// What records call a thing, and its id.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Keys {
    sellers: Named,
    products: Named,
    addresses: Named,
    cards: Named,
    questions: Named,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Named(BTreeMap<String, u32>);

impl Named {
    fn check_free(&self, key: &str) -> Result<(), String> {
        if self.0.contains_key(key) {
            return Err(format!("id: {key:?} is in use already"));
        }
        Ok(())
    }

    fn name(&mut self, key: String, id: u32) -> Result<(), String> {
        self.check_free(&key)?;
        self.0.insert(key, id);
        Ok(())
    }

    fn find(&self, field: &str, key: &str) -> Result<u32, String> {
        let id = self.0.get(key).copied();
        id.ok_or_else(|| format!("{field}: there is none before this with the id {key:?}"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SellerRecord {
    id: String,
    name: String,
    rating: f64,
}

/// A variation has what is not given from the product that it varies.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductRecord {
    id: String,
    variation_of: Option<String>,
    seller: Option<String>,
    #[serde(rename = "type")]
    product_type: Option<String>,
    name: Option<String>,
    description: Option<String>,
    price: Option<Dollars>,
    stock: u32,
    delivery_days: Option<u32>,
    weight: Option<f64>,
    length: Option<f64>,
    width: Option<f64>,
    height: Option<f64>,
    color: Option<String>,
    relative_size: Option<Size>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateRecord {
    product: String,
    price: Option<Dollars>,
    stock: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PromoRecord {
    code: String,
    percent: u32,
    #[serde(default, deserialize_with = "time::read_moment")]
    valid_until: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CustomerRecord {
    owner: Email,
    is_prime: Option<bool>,
    verified: Option<bool>,
    track_browsing_history: Option<bool>,
    promo_code: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddressRecord {
    id: Option<String>,
    owner: Email,
    name: String,
    street_address: String,
    city: String,
    state: String,
    country: String,
    zip_code: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CardRecord {
    id: Option<String>,
    owner: Email,
    card_name: String,
    owner_name: Option<String>,
    card_number: u64,
    expiry_year: i16,
    expiry_month: i8,
    cvv_number: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderRecord {
    owner: Email,
    address: String,
    card: String,
    items: Vec<OrderItemRecord>,
    discount: Option<Dollars>,
    tax: Option<Dollars>,
    delivery_fee: Option<Dollars>,
    gift_wrap_fee: Option<Dollars>,
    paid_amount: Option<Dollars>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderItemRecord {
    product: String,
    #[serde(default = "one")]
    quantity: u32,
    #[serde(default)]
    returned: u32,
    #[serde(default)]
    gift_wrapped: u32,
    price: Option<Dollars>,
    #[serde(default, deserialize_with = "time::read_moment")]
    expected_delivery_at: Option<DateTime>,
    #[serde(default, deserialize_with = "time::read_moment")]
    delivered_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CartItemRecord {
    owner: Email,
    product: String,
    #[serde(default = "one")]
    quantity: u32,
    #[serde(default)]
    gift_wrapped: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WishRecord {
    owner: Email,
    product: String,
    #[serde(default = "one")]
    quantity: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VisitRecord {
    owner: Email,
    product: String,
    #[serde(default, deserialize_with = "time::read_moment")]
    viewed_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewRecord {
    product: String,
    author: Email,
    rating: u32,
    #[serde(default)]
    title: String,
    #[serde(default)]
    text: String,
    verified: Option<bool>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionRecord {
    id: Option<String>,
    product: String,
    author: Email,
    question: String,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerRecord {
    question: String,
    author: Email,
    answer: String,
    verified: Option<bool>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
}

fn one() -> u32 {
    1
}

/// Adds a list; an error begins with the record.
fn each<T: DeserializeOwned>(
    records: &mut Records,
    list: &str,
    mut add: impl FnMut(T) -> Result<(), String>,
) -> Result<(), String> {
    for (index, record) in records.take_list(list)?.into_iter().enumerate() {
        add(record).map_err(|error| format!("{list}[{index}]: {error}"))?;
    }
    Ok(())
}

fn told(error: ToolError) -> String {
    error.message
}

impl Amazon {
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        each(records, "sellers", |record| self.add_seller(record))?;
        each(records, "products", |record| self.add_product(record))?;
        each(records, "product_updates", |record| self.update(record))?;
        each(records, "promo_codes", |record| self.add_promo_code(record))?;
        each(records, "customers", |record| self.set_customer(record))?;
        each(records, "addresses", |record| self.add_address_of(record))?;
        each(records, "payment_cards", |record| self.add_card(record))?;
        each(records, "orders", |record| self.add_order(record))?;
        each(records, "cart_items", |record| self.add_cart_item(record))?;
        each(records, "wish_list_items", |record| self.add_wish(record))?;
        each(records, "browsing_history", |record| self.add_visit(record))?;
        each(records, "reviews", |record| self.add_review(record))?;
        each(records, "questions", |record| self.add_question(record))?;
        each(records, "answers", |record| self.add_answer(record))
    }

    fn check_known(&self, field: &str, email: &Email) -> Result<(), String> {
        if self.accounts.contains(email) {
            return Ok(());
        }
        Err(format!("{field}: {email} has no account"))
    }

    fn add_seller(&mut self, record: SellerRecord) -> Result<(), String> {
        let SellerRecord {
            id: key,
            name,
            rating,
        } = record;
        if !(0.0..=5.0).contains(&rating) {
            return Err(format!("rating must be from 0 to 5, not {rating}"));
        }
        let id = self.catalogue.next_seller();
        let name = checked::line("name", &name, MAX_NAME).map_err(told)?.into();
        self.keys.sellers.name(key, id)?;
        self.catalogue.insert_seller(Seller { id, name, rating });
        Ok(())
    }

    fn add_product(&mut self, record: ProductRecord) -> Result<(), String> {
        self.keys.products.check_free(&record.id)?;
        let id = self.catalogue.next_product();
        let key = record.id.clone();
        let product = self.product_of(id, record)?;
        self.keys.products.name(key, id)?;
        self.catalogue.insert_product(product);
        Ok(())
    }

    fn product_of(&self, id: ProductId, record: ProductRecord) -> Result<Product, String> {
        let base = record.variation_of.as_deref();
        let base = base
            .map(|key| self.product("variation_of", key))
            .transpose()?;
        let seller = record.seller.as_deref();
        let seller = seller
            .map(|key| self.keys.sellers.find("seller", key))
            .transpose()?;
        let text = |field: &str, given: Option<String>, base: Option<&Text>, limit: usize| {
            let text = inherited(field, given.map(Text::from), base.cloned())?;
            checked::line(field, &text, limit)
                .map(Text::from)
                .map_err(told)
        };
        let name = base.map(|base| &base.name);
        let product_type = base.map(|base| &base.kind);
        let color = record
            .color
            .map(|color| checked::line("color", &color, MAX_NAME).map(Text::from));
        let price = record.price.map(|price| price.0);
        let product = Product {
            id,
            seller: inherited("seller", seller, base.map(|base| base.seller))?,
            kind: text("type", record.product_type, product_type, MAX_NAME)?,
            name: text("name", record.name, name, MAX_NAME)?,
            description: checked_text_of_product(inherited(
                "description",
                record.description,
                base.map(|base| base.description.to_string()),
            )?)?,
            sale: Sale {
                price: inherited("price", price, base.map(|base| base.sale.price))?,
                stock: checked_stock(record.stock)?,
            },
            delivery_days: checked_days(inherited(
                "delivery_days",
                record.delivery_days,
                base.map(|base| base.delivery_days),
            )?)?,
            weight: measure("weight", record.weight, base.map(|base| base.weight))?,
            length: measure("length", record.length, base.map(|base| base.length))?,
            width: measure("width", record.width, base.map(|base| base.width))?,
            height: measure("height", record.height, base.map(|base| base.height))?,
            color: color
                .transpose()
                .map_err(told)?
                .or_else(|| base.and_then(|base| base.color.clone())),
            relative_size: record
                .relative_size
                .or_else(|| base.and_then(|base| base.relative_size)),
            family: base.map_or(id, |base| base.family),
        };
        self.check_differs(&product, base)?;
        Ok(product)
    }

    /// From the product that it varies, and from all other variations of that.
    fn check_differs(&self, product: &Product, base: Option<&Product>) -> Result<(), String> {
        let siblings = base.map(|base| self.catalogue.variations(base));
        let alike = siblings.into_iter().flatten().chain(base).find(|other| {
            (&other.color, other.relative_size) == (&product.color, product.relative_size)
        });
        match alike {
            None => Ok(()),
            Some(other) => Err(format!(
                "variation_of: product {} has the same color and relative_size",
                other.id
            )),
        }
    }

    fn product(&self, field: &str, key: &str) -> Result<&Product, String> {
        let id = self.keys.products.find(field, key)?;
        self.catalogue.product(id).map_err(told)
    }

    fn update(&mut self, record: UpdateRecord) -> Result<(), String> {
        let UpdateRecord {
            product,
            price,
            stock,
        } = record;
        let product = self.product("product", &product)?;
        let (id, sale) = (product.id, product.sale);
        let price = price.map_or(sale.price, |price| price.0);
        let stock = checked_stock(stock.unwrap_or(sale.stock))?;
        self.catalogue.put(id, Sale { price, stock });
        Ok(())
    }

    fn add_promo_code(&mut self, record: PromoRecord) -> Result<(), String> {
        let PromoRecord {
            code,
            percent,
            valid_until,
        } = record;
        let code = checked::line("code", &code, MAX_NAME).map_err(told)?;
        if !(1..=100).contains(&percent) {
            return Err(format!("percent must be from 1 to 100, not {percent}"));
        }
        if self.promo_codes.contains_key(&code) {
            return Err(format!("code: {code:?} is in use already"));
        }
        let promo = PromoCode {
            code: code.clone(),
            percent,
            valid_until,
        };
        self.promo_codes.insert(code, promo);
        Ok(())
    }

    fn set_customer(&mut self, record: CustomerRecord) -> Result<(), String> {
        let CustomerRecord {
            owner,
            is_prime,
            verified,
            track_browsing_history,
            promo_code,
        } = record;
        self.check_known("owner", &owner)?;
        if let Some(code) = promo_code
            .as_ref()
            .filter(|code| !self.promo_codes.contains_key(*code))
        {
            return Err(format!("promo_code: there is no promo code {code:?}"));
        }
        let customer = self.customer_mut(&owner);
        customer.is_prime = is_prime.unwrap_or(customer.is_prime);
        customer.verified = verified.unwrap_or(customer.verified);
        customer.track_browsing_history =
            track_browsing_history.unwrap_or(customer.track_browsing_history);
        customer.promo_code = promo_code.or_else(|| customer.promo_code.take());
        Ok(())
    }

    fn add_address_of(&mut self, record: AddressRecord) -> Result<(), String> {
        let AddressRecord {
            id: key,
            owner,
            name,
            street_address,
            city,
            state,
            country,
            zip_code,
        } = record;
        self.check_known("owner", &owner)?;
        let id = self.next_address();
        let address = checked_address(Address {
            id,
            owner,
            name,
            street: street_address,
            city,
            state,
            country,
            zip_code,
        });
        self.addresses.insert(id, address.map_err(told)?);
        key.map_or(Ok(()), |key| self.keys.addresses.name(key, id))
    }

    fn add_card(&mut self, record: CardRecord) -> Result<(), String> {
        let CardRecord {
            id: key,
            owner,
            card_name,
            owner_name,
            card_number,
            expiry_year,
            expiry_month,
            cvv_number,
        } = record;
        self.check_known("owner", &owner)?;
        let in_range = [
            (
                "card_number",
                (10_u64.pow(11)..10_u64.pow(16)).contains(&card_number),
                "12 to 16 digits",
            ),
            (
                "expiry_year",
                (2000..=9999).contains(&expiry_year),
                "four digits",
            ),
            (
                "expiry_month",
                (1..=12).contains(&expiry_month),
                "from 1 to 12",
            ),
            ("cvv_number", cvv_number <= 9999, "at most four digits"),
        ];
        if let Some((field, _, rule)) = in_range.iter().find(|(_, fine, _)| !fine) {
            return Err(format!("{field}: {rule} are expected"));
        }
        let id = self.cards.last_key_value().map_or(1, |(id, _)| id + 1);
        let owner_name = owner_name.unwrap_or_else(|| self.accounts.name(&owner));
        let card = Card {
            id,
            owner,
            label: checked::line("card_name", &card_name, MAX_NAME).map_err(told)?,
            owner_name: checked::line("owner_name", &owner_name, MAX_NAME).map_err(told)?,
            number: card_number,
            expiry_year,
            expiry_month,
            cvv_number,
        };
        self.cards.insert(id, card);
        key.map_or(Ok(()), |key| self.keys.cards.name(key, id))
    }

    fn add_order(&mut self, record: OrderRecord) -> Result<(), String> {
        let OrderRecord {
            owner,
            address,
            card,
            items,
            discount,
            tax,
            delivery_fee,
            gift_wrap_fee,
            paid_amount,
            created_at,
        } = record;
        self.check_known("owner", &owner)?;
        let created_at = created_at.unwrap_or_else(clock::now);
        let address = self.keys.addresses.find("address", &address)?;
        let address = self.address(&owner, address).map_err(told)?;
        let card = self.keys.cards.find("card", &card)?;
        let card = self.card(&owner, card).map_err(told)?;
        let read = |(index, item)| {
            self.order_item(created_at, item)
                .map_err(|error| format!("items[{index}]: {error}"))
        };
        let items = items.into_iter().enumerate().map(read);
        let items = checked_items(items.collect::<Result<_, String>>()?)?;
        let base_cost: Cents = items
            .iter()
            .map(|item| item.price.times(item.quantity))
            .sum();
        let discount = discount.map_or(Cents(0), |discount| discount.0);
        if discount > base_cost {
            return Err("discount: more than the items cost".to_owned());
        }
        let wrapped = items.iter().map(|item| item.gift_wrapped).sum();
        let is_prime = self.customer(&owner).is_prime;
        let cents = |dollars: Option<Dollars>| dollars.map(|dollars| dollars.0);
        let kept = Kept {
            gift_wrap_fee: cents(gift_wrap_fee),
            delivery_fee: cents(delivery_fee),
            tax: cents(tax),
            total: cents(paid_amount),
        };
        let order = Order {
            id: self.next_order(),
            address: address.id,
            address_text: address.text(),
            card: card.id,
            card_digits: card.last_digits(),
            bill: Bill::new(base_cost, discount, wrapped, is_prime).kept(kept),
            items,
            created_at,
            owner,
        };
        self.orders.insert(order.id, order);
        Ok(())
    }

    fn order_item(
        &self,
        created_at: DateTime,
        record: OrderItemRecord,
    ) -> Result<OrderItem, String> {
        let OrderItemRecord {
            product,
            quantity,
            returned,
            gift_wrapped,
            price,
            expected_delivery_at,
            delivered_at,
        } = record;
        let product = self.product("product", &product)?;
        check_quantity(quantity)?;
        if returned > quantity || gift_wrapped > quantity {
            return Err("returned and gift_wrapped must not be above quantity".to_owned());
        }
        let expected_delivery_at =
            expected_delivery_at.unwrap_or_else(|| days_after(created_at, product.delivery_days));
        let arrives_at = delivered_at.unwrap_or(expected_delivery_at);
        if expected_delivery_at < created_at || arrives_at < created_at {
            return Err("a delivery must not be before the order's created_at".to_owned());
        }
        Ok(OrderItem {
            product: product.id,
            quantity,
            returned,
            gift_wrapped,
            price: price.map_or(product.sale.price, |price| price.0),
            expected_delivery_at,
            arrives_at,
        })
    }

    fn add_cart_item(&mut self, record: CartItemRecord) -> Result<(), String> {
        let CartItemRecord {
            owner,
            product,
            quantity,
            gift_wrapped,
        } = record;
        self.check_known("owner", &owner)?;
        let product = self.product("product", &product)?.id;
        check_quantity(quantity)?;
        if gift_wrapped > quantity {
            return Err("gift_wrapped must not be above quantity".to_owned());
        }
        let mut customer = self.customer(&owner);
        self.put_in_cart(&mut customer, product, quantity)
            .map_err(told)?;
        if let Some(item) = customer.cart.get_mut(&product) {
            item.gift_wrapped = gift_wrapped;
        }
        self.save(&owner, customer);
        Ok(())
    }

    fn add_wish(&mut self, record: WishRecord) -> Result<(), String> {
        let WishRecord {
            owner,
            product,
            quantity,
        } = record;
        self.check_known("owner", &owner)?;
        let product = self.product("product", &product)?.id;
        check_quantity(quantity)?;
        let mut customer = self.customer(&owner);
        self.put_on_wish_list(&mut customer, product, quantity)
            .map_err(told)?;
        self.save(&owner, customer);
        Ok(())
    }

    fn add_visit(&mut self, record: VisitRecord) -> Result<(), String> {
        let VisitRecord {
            owner,
            product,
            viewed_at,
        } = record;
        self.check_known("owner", &owner)?;
        let product = self.product("product", &product)?.id;
        let viewed_at = viewed_at.unwrap_or_else(clock::now);
        self.customer_mut(&owner).history.insert(product, viewed_at);
        Ok(())
    }

    fn add_review(&mut self, record: ReviewRecord) -> Result<(), String> {
        let ReviewRecord {
            product,
            author,
            rating,
            title,
            text,
            verified,
            created_at,
        } = record;
        let product = self.product("product", &product)?.id;
        self.check_known("author", &author)?;
        if self.feedback.review_by(product, &author).is_some() {
            return Err(format!(
                "author: {author} has reviewed this product already"
            ));
        }
        let review = checked_review(Review {
            id: self.feedback.next_review(),
            product,
            verified: verified.unwrap_or_else(|| self.has_bought(&author, product)),
            author,
            rating,
            title: title.into(),
            text: text.into(),
            created_at: created_at.unwrap_or_else(clock::now),
        });
        self.feedback.insert_review(review.map_err(told)?);
        Ok(())
    }

    fn add_question(&mut self, record: QuestionRecord) -> Result<(), String> {
        let QuestionRecord {
            id: key,
            product,
            author,
            question,
            created_at,
        } = record;
        let product = self.product("product", &product)?.id;
        self.check_known("author", &author)?;
        let id = self.feedback.next_question();
        self.feedback.insert_question(Question {
            id,
            product,
            author,
            text: checked_text("question", question).map_err(told)?,
            created_at: created_at.unwrap_or_else(clock::now),
            answers: List::default(),
        });
        key.map_or(Ok(()), |key| self.keys.questions.name(key, id))
    }

    fn add_answer(&mut self, record: AnswerRecord) -> Result<(), String> {
        let AnswerRecord {
            question,
            author,
            answer,
            verified,
            created_at,
        } = record;
        let question = self.keys.questions.find("question", &question)?;
        self.check_known("author", &author)?;
        let asked = self.feedback.questions.get(&question);
        let bought = asked.is_some_and(|asked| self.has_bought(&author, asked.product));
        self.feedback.insert_answer(Answer {
            id: self.feedback.next_answer(),
            question,
            author,
            verified: verified.unwrap_or(bought),
            text: checked_text("answer", answer).map_err(told)?,
            created_at: created_at.unwrap_or_else(clock::now),
        });
        Ok(())
    }
}

fn inherited<T>(field: &str, given: Option<T>, base: Option<T>) -> Result<T, String> {
    given
        .or(base)
        .ok_or_else(|| format!("missing field `{field}`"))
}

fn measure(field: &str, given: Option<f64>, base: Option<f64>) -> Result<f64, String> {
    let value = inherited(field, given, base)?;
    if value < 0.0 {
        return Err(format!("{field} must not be negative"));
    }
    Ok(value)
}

fn checked_text_of_product(description: String) -> Result<Text, String> {
    let text = text::at_most("description", description, MAX_DESCRIPTION).map_err(told)?;
    Ok(text.into())
}

fn checked_stock(stock: u32) -> Result<u32, String> {
    if stock > MAX_STOCK {
        return Err(format!("stock must be at most {MAX_STOCK}, not {stock}"));
    }
    Ok(stock)
}

fn checked_days(days: u32) -> Result<u32, String> {
    if days > MAX_DELIVERY_DAYS {
        return Err(format!(
            "delivery_days must be at most {MAX_DELIVERY_DAYS}, not {days}"
        ));
    }
    Ok(days)
}

fn check_quantity(quantity: u32) -> Result<(), String> {
    if (1..=MAX_QUANTITY).contains(&quantity) {
        return Ok(());
    }
    Err(format!(
        "quantity must be from 1 to {MAX_QUANTITY}, not {quantity}"
    ))
}

/// At least one item, each of another product.
fn checked_items(items: Vec<OrderItem>) -> Result<Vec<OrderItem>, String> {
    if items.is_empty() || items.len() > MAX_LINES {
        return Err(format!("items: 1 to {MAX_LINES} are expected"));
    }
    let twice = |(index, item): (usize, &OrderItem)| {
        items[..index]
            .iter()
            .any(|other| other.product == item.product)
    };
    if items.iter().enumerate().any(twice) {
        return Err("items: a product stands twice".to_owned());
    }
    Ok(items)
}
