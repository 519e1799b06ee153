//! Tools of the cart and the wish list.

use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::tool::{NoArguments, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Amazon;
use crate::catalogue::ProductId;
use crate::customer::Customer;
use crate::money::Cents;
use crate::order::{Bill, PromoCode};

fn one() -> u32 {
    1
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToCart {
    pub product_id: u32,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
    #[serde(default)]
    pub clear_cart_first: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddToWishList {
    pub product_id: u32,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
    #[serde(default)]
    pub clear_wish_list_first: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    pub product_id: u32,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 999))]
    pub quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateQuantity {
    pub product_id: u32,
    #[schemars(range(min = 0, max = 999))]
    pub quantity: u32,
}

/// The most pieces of one product in a cart or on a wish list.
pub(crate) const MAX_QUANTITY: u32 = 999;
/// The most products in a cart or on a wish list, so that it can be shown in one answer.
pub(crate) const MAX_LINES: usize = 100;

impl Amazon {
    pub(crate) fn show_cart(&mut self, me: &Email, _: NoArguments) -> Result<Value, ToolError> {
        let customer = self.customer(me);
        let bill = self.bill(&customer);
        let items: Vec<Value> = customer
            .cart
            .iter()
            .filter_map(|(id, item)| Some((self.catalogue.get(*id)?, item)))
            .map(|(product, item)| {
                let sale = product.sale;
                json!({
                    "product_id": product.id,
                    "product_name": product.name,
                    "delivery_days": product.delivery_days,
                    "quantity": item.quantity,
                    "price": sale.price.dollars(),
                    "inventory_quantity": sale.stock,
                    "gift_wrap_quantity": item.gift_wrapped,
                })
            })
            .collect();
        Ok(json!({
            "delivery_fee": bill.delivery_fee.dollars(),
            "base_cost": bill.base_cost.dollars(),
            "tax": bill.tax.dollars(),
            "gift_wrap_fee": bill.gift_wrap_fee.dollars(),
            "discount": bill.discount.dollars(),
            "total_cost": bill.total.dollars(),
            "promo_code": customer.promo_code,
            "promo_valid": self.promo(&customer).is_some(),
            "cart_items": items,
        }))
    }

    /// What the cart costs now.
    pub(crate) fn bill(&self, customer: &Customer) -> Bill {
        let price = |id: &ProductId| {
            let product = self.catalogue.get(*id);
            product.map_or(Cents(0), |product| product.sale.price)
        };
        let lines = customer.cart.iter();
        let base_cost = lines.map(|(id, item)| price(id).times(item.quantity)).sum();
        let percent = self.promo(customer).map_or(0, |promo| promo.percent);
        let wrapped = customer.cart.values().map(|item| item.gift_wrapped).sum();
        let discount = Cents::percent(base_cost, percent);
        Bill::new(base_cost, discount, wrapped, customer.is_prime)
    }

    /// The code in the cart, if it is good today.
    fn promo(&self, customer: &Customer) -> Option<&PromoCode> {
        let code = customer.promo_code.as_ref()?;
        let promo = self.promo_codes.get(code)?;
        promo.is_valid(clock::now()).then_some(promo)
    }

    pub(crate) fn add_product_to_cart(
        &mut self,
        me: &Email,
        arguments: AddToCart,
    ) -> Result<Value, ToolError> {
        let AddToCart {
            product_id,
            quantity,
            clear_cart_first,
        } = arguments;
        check_quantity(quantity)?;
        let mut customer = self.customer(me);
        if clear_cart_first {
            customer.cart.clear();
        }
        let total = customer.in_cart(product_id).saturating_add(quantity);
        self.put_in_cart(&mut customer, product_id, total)?;
        self.save(me, customer);
        Ok(json!({"message": format!("Product {product_id} is in your cart, {total} of it.")}))
    }

    pub(crate) fn update_product_quantity_in_cart(
        &mut self,
        me: &Email,
        arguments: UpdateQuantity,
    ) -> Result<Value, ToolError> {
        let UpdateQuantity {
            product_id,
            quantity,
        } = arguments;
        let mut customer = self.customer(me);
        self.at_least_in_cart(&customer, product_id, 1)?;
        self.put_in_cart(&mut customer, product_id, quantity)?;
        self.save(me, customer);
        let message = if quantity == 0 {
            format!("Product {product_id} is out of your cart.")
        } else {
            format!("Product {product_id} is in your cart, {quantity} of it.")
        };
        Ok(json!({ "message": message }))
    }

    pub(crate) fn clear_cart(&mut self, me: &Email, _: NoArguments) -> Result<Value, ToolError> {
        self.customer_mut(me).cart.clear();
        Ok(json!({"message": "Your cart is empty."}))
    }

    pub(crate) fn show_wish_list(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Vec<Value>, ToolError> {
        let customer = self.customer(me);
        let lines = customer.wish_list.iter();
        let lines = lines.filter_map(|(id, quantity)| Some((self.catalogue.get(*id)?, quantity)));
        let view = |(product, quantity)| {
            let offer = self.offer(product);
            json!({
                "product_id": product.id,
                "product_name": product.name,
                "product_type": product.kind,
                "rating": offer.rating,
                "relative_size": product.relative_size,
                "color": product.color,
                "quantity": quantity,
                "price": offer.sale.price.dollars(),
                "inventory_quantity": offer.sale.stock,
            })
        };
        Ok(lines.map(view).collect())
    }

    pub(crate) fn add_product_to_wish_list(
        &mut self,
        me: &Email,
        arguments: AddToWishList,
    ) -> Result<Value, ToolError> {
        let AddToWishList {
            product_id,
            quantity,
            clear_wish_list_first,
        } = arguments;
        check_quantity(quantity)?;
        let mut customer = self.customer(me);
        if clear_wish_list_first {
            customer.wish_list.clear();
        }
        let stock = self.catalogue.product(product_id)?.sale.stock;
        in_stock(product_id, stock, quantity)?;
        let total = customer.on_wish_list(product_id).saturating_add(quantity);
        self.put_on_wish_list(&mut customer, product_id, total)?;
        self.save(me, customer);
        let message = format!("Product {product_id} is on your wish list, {total} of it.");
        Ok(json!({ "message": message }))
    }

    pub(crate) fn move_product_from_cart_to_wish_list(
        &mut self,
        me: &Email,
        arguments: Move,
    ) -> Result<Value, ToolError> {
        let Move {
            product_id,
            quantity,
        } = arguments;
        check_quantity(quantity)?;
        let mut customer = self.customer(me);
        let there = self.at_least_in_cart(&customer, product_id, quantity)?;
        let total = customer.on_wish_list(product_id).saturating_add(quantity);
        self.put_on_wish_list(&mut customer, product_id, total)?;
        customer.set_in_cart(product_id, there - quantity);
        self.save(me, customer);
        let message =
            format!("{quantity} of product {product_id} moved from your cart to your wish list.");
        Ok(json!({ "message": message }))
    }

    pub(crate) fn move_product_from_wish_list_to_cart(
        &mut self,
        me: &Email,
        arguments: Move,
    ) -> Result<Value, ToolError> {
        let Move {
            product_id,
            quantity,
        } = arguments;
        check_quantity(quantity)?;
        self.catalogue.product(product_id)?;
        let mut customer = self.customer(me);
        let there = customer.on_wish_list(product_id);
        enough("on your wish list", product_id, there, quantity)?;
        let total = customer.in_cart(product_id).saturating_add(quantity);
        self.put_in_cart(&mut customer, product_id, total)?;
        customer.set_on_wish_list(product_id, there - quantity);
        self.save(me, customer);
        let message =
            format!("{quantity} of product {product_id} moved from your wish list to your cart.");
        Ok(json!({ "message": message }))
    }

    /// Sets how many of a product are in the cart: 409 for an unknown product, 422 for more than there are.
    pub(crate) fn put_in_cart(
        &self,
        customer: &mut Customer,
        product_id: ProductId,
        quantity: u32,
    ) -> Result<(), ToolError> {
        let product = self.catalogue.product(product_id)?;
        in_stock(product_id, product.sale.stock, quantity)?;
        at_most(quantity)?;
        customer.set_in_cart(product_id, quantity);
        not_too_long("cart", customer.cart.len())
    }

    /// Sets how many of a product are on the wish list, in stock or not: 409 for an unknown product.
    pub(crate) fn put_on_wish_list(
        &self,
        customer: &mut Customer,
        product_id: ProductId,
        quantity: u32,
    ) -> Result<(), ToolError> {
        self.catalogue.product(product_id)?;
        at_most(quantity)?;
        customer.set_on_wish_list(product_id, quantity);
        not_too_long("wish list", customer.wish_list.len())
    }

    /// How many of a product are in the cart: 409 for an unknown product, 422 for fewer than that.
    fn at_least_in_cart(
        &self,
        customer: &Customer,
        product_id: ProductId,
        quantity: u32,
    ) -> Result<u32, ToolError> {
        self.catalogue.product(product_id)?;
        let there = customer.in_cart(product_id);
        enough("in your cart", product_id, there, quantity)?;
        Ok(there)
    }
}

/// 422 when so many pieces are not there to be sold.
pub(crate) fn in_stock(product_id: ProductId, stock: u32, quantity: u32) -> Result<(), ToolError> {
    if quantity <= stock {
        return Ok(());
    }
    Err(ToolError::invalid(if stock == 0 {
        format!("Product {product_id} is out of stock.")
    } else {
        format!("Product {product_id}: only {stock} in stock, not {quantity}.")
    }))
}

fn enough(place: &str, product_id: ProductId, there: u32, quantity: u32) -> Result<(), ToolError> {
    if quantity <= there {
        return Ok(());
    }
    Err(ToolError::invalid(if there == 0 {
        format!("Product {product_id} is not {place}.")
    } else {
        format!("Only {there} of product {product_id} {place}, not {quantity}.")
    }))
}

fn check_quantity(quantity: u32) -> Result<(), ToolError> {
    if quantity == 0 {
        return Err(ToolError::invalid("The quantity must be at least 1."));
    }
    at_most(quantity)
}

fn at_most(quantity: u32) -> Result<(), ToolError> {
    if quantity > MAX_QUANTITY {
        return Err(ToolError::invalid(format!(
            "At most {MAX_QUANTITY} of one product fit, not {quantity}."
        )));
    }
    Ok(())
}

fn not_too_long(what: &str, lines: usize) -> Result<(), ToolError> {
    if lines > MAX_LINES {
        return Err(ToolError::invalid(format!(
            "A {what} holds at most {MAX_LINES} different products."
        )));
    }
    Ok(())
}
