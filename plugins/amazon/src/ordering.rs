//! Tools of the account, its addresses and cards, and its orders.

use std::cmp::Reverse;

use pibench_sdk::account::Email;
use pibench_sdk::listing::List;
use pibench_sdk::tool::{NoArguments, ToolError};
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Amazon;
use crate::arguments::{PageOnly, ProductIdOnly};
use crate::catalogue::{ProductId, Sale};
use crate::checked;
use crate::customer::{Address, Card, CartItem, Customer};
use crate::order::{Order, OrderItem, days_after};
use crate::shopping::in_stock;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderIdOnly {
    pub order_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardIdOnly {
    pub payment_card_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrder {
    pub payment_card_id: u32,
    pub address_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListOrders {
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddAddress {
    /// Such as Home.
    pub name: String,
    pub street_address: String,
    pub city: String,
    pub state: String,
    pub country: String,
    #[schemars(range(min = 1, max = 9_999_999))]
    pub zip_code: u32,
}

/// The most addresses of an account, so that they can be shown in one answer.
const MAX_ADDRESSES: usize = 100;
/// The longest line of an address, in bytes.
const MAX_ADDRESS_LINE: usize = 200;
/// Postal codes have at most seven digits.
const MAX_ZIP_CODE: u32 = 9_999_999;

pub(crate) const ORDER_FIELDS: &[listing::Field<Order>] =
    &[("created_at", |a, b| a.created_at.cmp(&b.created_at))];

impl Amazon {
    pub(crate) fn show_account(&mut self, me: &Email, _: NoArguments) -> Result<Value, ToolError> {
        let account = self.accounts.known(me)?;
        let customer = self.customer(me);
        Ok(json!({
            "first_name": account.first_name,
            "last_name": account.last_name,
            "email": account.email,
            "registered_at": account.registered_at,
            "last_logged_in": account.last_logged_in,
            "track_browsing_history": customer.track_browsing_history,
            "verified": customer.verified,
            "is_prime": customer.is_prime,
        }))
    }

    pub(crate) fn show_addresses(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Vec<Value>, ToolError> {
        Ok(self.addresses_of(me).map(view_address).collect())
    }

    fn addresses_of<'a>(&'a self, me: &'a Email) -> impl Iterator<Item = &'a Address> {
        self.addresses
            .values()
            .filter(move |address| address.owner == *me)
    }

    pub(crate) fn add_address(
        &mut self,
        me: &Email,
        arguments: AddAddress,
    ) -> Result<Value, ToolError> {
        let AddAddress {
            name,
            street_address,
            city,
            state,
            country,
            zip_code,
        } = arguments;
        let id = self.next_address();
        let address = checked_address(Address {
            id,
            owner: me.clone(),
            name,
            street: street_address,
            city,
            state,
            country,
            zip_code,
        })?;
        if self.addresses_of(me).count() >= MAX_ADDRESSES {
            return Err(ToolError::invalid(format!(
                "An account has at most {MAX_ADDRESSES} addresses."
            )));
        }
        if let Some(other) = self
            .addresses_of(me)
            .find(|other| other.name == address.name)
        {
            return Err(ToolError::taken(format!(
                "Address {} has the name {:?} already.",
                other.id, other.name
            )));
        }
        let message = format!("The address {:?} is added.", address.name);
        self.addresses.insert(id, address);
        Ok(json!({"message": message, "address_id": id}))
    }

    pub(crate) fn next_address(&self) -> u32 {
        self.addresses.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    pub(crate) fn show_payment_cards(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Vec<Value>, ToolError> {
        let mine = self.cards.values().filter(|card| card.owner == *me);
        Ok(mine.map(view_card).collect())
    }

    pub(crate) fn show_payment_card(
        &mut self,
        me: &Email,
        arguments: CardIdOnly,
    ) -> Result<Value, ToolError> {
        Ok(view_card(self.card(me, arguments.payment_card_id)?))
    }

    pub(crate) fn place_order(
        &mut self,
        me: &Email,
        arguments: PlaceOrder,
    ) -> Result<Value, ToolError> {
        let PlaceOrder {
            payment_card_id,
            address_id,
        } = arguments;
        let now = clock::now();
        let card = self.card(me, payment_card_id)?;
        let address = self.address(me, address_id)?;
        if card.has_expired(now) {
            return Err(ToolError::invalid(format!(
                "Payment card {payment_card_id} has expired."
            )));
        }
        let mut customer = self.customer(me);
        if customer.cart.is_empty() {
            return Err(ToolError::invalid("Your cart is empty."));
        }
        let order = Order {
            id: self.next_order(),
            owner: me.clone(),
            address: address_id,
            address_text: address.text(),
            card: payment_card_id,
            card_digits: card.last_digits(),
            bill: self.bill(&customer),
            items: self.bought(&customer)?,
            created_at: now,
        };
        self.take_from_stock(&order);
        customer.cart.clear();
        customer.promo_code = None;
        self.save(me, customer);
        let order_id = order.id;
        let paid = order.bill.total.dollars();
        let message = format!("Order {order_id} is placed; {paid:.2} dollars are paid.");
        self.orders.insert(order_id, order);
        Ok(json!({"message": message, "order_id": order_id}))
    }

    pub(crate) fn next_order(&self) -> u32 {
        self.orders.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    /// The cart as items of an order that is placed now. 422 if there is no longer enough of something.
    fn bought(&self, customer: &Customer) -> Result<Vec<OrderItem>, ToolError> {
        let now = clock::now();
        let item = |(id, item): (&ProductId, &CartItem)| {
            let product = self.catalogue.product(*id)?;
            let sale = product.sale;
            in_stock(*id, sale.stock, item.quantity)?;
            let expected_delivery_at = days_after(now, product.delivery_days);
            Ok(OrderItem {
                product: *id,
                quantity: item.quantity,
                returned: 0,
                gift_wrapped: item.gift_wrapped,
                price: sale.price,
                expected_delivery_at,
                arrives_at: expected_delivery_at,
            })
        };
        customer.cart.iter().map(item).collect()
    }

    fn take_from_stock(&mut self, order: &Order) {
        for item in &order.items {
            let Some(product) = self.catalogue.get(item.product) else {
                continue;
            };
            let Sale { price, stock } = product.sale;
            let stock = stock.saturating_sub(item.quantity);
            self.catalogue.put(item.product, Sale { price, stock });
        }
    }

    pub(crate) fn show_orders(
        &mut self,
        me: &Email,
        arguments: ListOrders,
    ) -> Result<Vec<Value>, ToolError> {
        let ListOrders { list } = arguments;
        let orders = self.orders_of(me);
        let orders = list.of(orders, |order| self.searchable(order), ORDER_FIELDS)?;
        Ok(orders
            .into_iter()
            .map(|order| self.view_order(order))
            .collect())
    }

    fn searchable(&self, order: &Order) -> String {
        let names = order
            .items
            .iter()
            .map(|item| self.product_name(item.product));
        names
            .chain([order.address_text.as_str()])
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The latest first.
    fn orders_of(&self, me: &Email) -> Vec<&Order> {
        let mine = self.orders.values().filter(|order| order.owner == *me);
        let mut orders: Vec<&Order> = mine.collect();
        orders.sort_by_key(|order| Reverse((order.created_at, order.id)));
        orders
    }

    pub(crate) fn show_order(
        &mut self,
        me: &Email,
        arguments: OrderIdOnly,
    ) -> Result<Value, ToolError> {
        let OrderIdOnly { order_id } = arguments;
        let order = self
            .orders
            .get(&order_id)
            .ok_or_else(|| ToolError::conflict("order", order_id))?;
        check_own("Order", order_id, &order.owner, me)?;
        Ok(self.view_order(order))
    }

    pub(crate) fn show_product_purchases(
        &mut self,
        me: &Email,
        arguments: PageOnly,
    ) -> Result<Vec<Value>, ToolError> {
        let purchases = self.purchases(me);
        let page = arguments.page.of(purchases);
        let products = page.into_iter().filter_map(|id| self.catalogue.get(id));
        Ok(products
            .map(|product| self.view_product(&self.offer(product)))
            .collect())
    }

    /// What somebody has bought, each product once, the latest first.
    pub(crate) fn purchases(&self, me: &Email) -> Vec<ProductId> {
        let mut purchases = Vec::new();
        for item in self.orders_of(me).iter().flat_map(|order| &order.items) {
            if !purchases.contains(&item.product) {
                purchases.push(item.product);
            }
        }
        purchases
    }

    pub(crate) fn has_bought(&self, who: &Email, product: ProductId) -> bool {
        let mut orders = self.orders.values();
        orders.any(|order| order.owner == *who && order.item(product).is_some())
    }

    pub(crate) fn show_last_product_purchase(
        &mut self,
        me: &Email,
        arguments: ProductIdOnly,
    ) -> Result<Value, ToolError> {
        let ProductIdOnly { product_id } = arguments;
        let product = self.catalogue.product(product_id)?;
        let orders = self.orders_of(me);
        let last = orders
            .into_iter()
            .find(|order| order.item(product_id).is_some());
        let order = last.ok_or_else(|| {
            ToolError::invalid(format!("You have never bought product {product_id}."))
        })?;
        Ok(json!({
            "order_id": order.id,
            "ordered_at": order.created_at,
            "product_id": product_id,
            "product_name": product.name,
            "product_relative_size": product.relative_size,
            "product_color": product.color,
        }))
    }

    /// One's own address: 409 if there is none, 422 if it is somebody else's.
    pub(crate) fn address(&self, me: &Email, id: u32) -> Result<&Address, ToolError> {
        let address = self
            .addresses
            .get(&id)
            .ok_or_else(|| ToolError::conflict("address", id))?;
        check_own("Address", id, &address.owner, me)?;
        Ok(address)
    }

    /// One's own card: 409 if there is none, 422 if it is somebody else's.
    pub(crate) fn card(&self, me: &Email, id: u32) -> Result<&Card, ToolError> {
        let card = self
            .cards
            .get(&id)
            .ok_or_else(|| ToolError::conflict("payment card", id))?;
        check_own("Payment card", id, &card.owner, me)?;
        Ok(card)
    }
}

fn check_own(what: &str, id: u32, owner: &Email, me: &Email) -> Result<(), ToolError> {
    if owner == me {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{what} {id} belongs to another account."
    )))
}

/// Its lines trimmed; 422 if one is empty or too long.
pub(crate) fn checked_address(address: Address) -> Result<Address, ToolError> {
    let line = |what, text: String| checked::line(what, &text, MAX_ADDRESS_LINE);
    if !(1..=MAX_ZIP_CODE).contains(&address.zip_code) {
        return Err(ToolError::invalid(format!(
            "The zip_code must be from 1 to {MAX_ZIP_CODE}."
        )));
    }
    Ok(Address {
        name: line("name", address.name)?,
        street: line("street_address", address.street)?,
        city: line("city", address.city)?,
        state: line("state", address.state)?,
        country: line("country", address.country)?,
        ..address
    })
}

fn view_address(address: &Address) -> Value {
    let Address {
        id,
        owner: _,
        name,
        street,
        city,
        state,
        country,
        zip_code,
    } = address;
    json!({
        "address_id": id, "name": name, "street_address": street, "city": city, "state": state,
        "country": country, "zip_code": zip_code,
    })
}

fn view_card(card: &Card) -> Value {
    let Card {
        id,
        owner: _,
        label,
        owner_name,
        number,
        expiry_year,
        expiry_month,
        cvv_number,
    } = card;
    json!({
        "payment_card_id": id, "card_name": label, "owner_name": owner_name, "card_number": number,
        "expiry_year": expiry_year, "expiry_month": expiry_month, "cvv_number": cvv_number,
    })
}
