//! Tools that look at the catalogue: search, products, sellers, choices, history and recommendations.

use std::collections::{BTreeMap, BTreeSet};

use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::listing;
use pibench_sdk::listing::{List, NO_LIMIT, Search};
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Amazon;
use crate::arguments::{PageOnly, ProductIdOnly};
use crate::catalogue::{Product, ProductId, Sale, Seller, Size, same};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchTypes {
    #[serde(flatten)]
    pub search: Search<NO_LIMIT>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSellers {
    #[serde(flatten)]
    pub search: Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchProducts {
    pub product_type: Option<String>,
    pub color: Option<String>,
    pub relative_size: Option<Size>,
    #[schemars(range(min = 0))]
    pub min_price: Option<f64>,
    #[schemars(range(min = 0))]
    pub max_price: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub min_product_rating: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub max_product_rating: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub min_seller_rating: Option<f64>,
    #[schemars(range(min = 0, max = 5))]
    pub max_seller_rating: Option<f64>,
    pub seller_id: Option<u32>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeatureChoices {
    pub product_type: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SellerIdOnly {
    pub seller_id: u32,
}

const BEST_RATING: f64 = 5.0;

/// How much a product of a type says about interest in the type.
const BOUGHT: u32 = 3;
const WANTED: u32 = 2;
const LOOKED_AT: u32 = 1;

/// A product with all that is known about it today.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub product: &'a Product,
    pub sale: Sale,
    pub rating: f64,
    pub reviews: usize,
    pub questions: usize,
}

pub(crate) fn offer_fields<'a>() -> [listing::Field<Offer<'a>>; 3] {
    [
        ("rating", |a, b| a.rating.total_cmp(&b.rating)),
        ("price", |a, b| a.sale.price.cmp(&b.sale.price)),
        ("delivery_days", |a, b| {
            a.product.delivery_days.cmp(&b.product.delivery_days)
        }),
    ]
}

impl Amazon {
    pub(crate) fn offer<'a>(&'a self, product: &'a Product) -> Offer<'a> {
        let (rating, reviews, questions) = self.feedback.numbers(product.id);
        Offer {
            product,
            sale: product.sale,
            rating,
            reviews,
            questions,
        }
    }

    pub(crate) fn search_product_types(
        &mut self,
        arguments: SearchTypes,
    ) -> Result<Value, ToolError> {
        let types: Vec<&str> = self.catalogue.types().into_iter().collect();
        Ok(json!(arguments.search.of(types, |name| (*name).to_owned())))
    }

    pub(crate) fn search_sellers(
        &mut self,
        arguments: SearchSellers,
    ) -> Result<Vec<Value>, ToolError> {
        let sellers: Vec<&Seller> = self.catalogue.sellers().collect();
        let sellers = arguments
            .search
            .of(sellers, |seller| seller.name.to_string());
        Ok(sellers.into_iter().map(view_seller_name).collect())
    }

    pub(crate) fn show_seller(&mut self, arguments: SellerIdOnly) -> Result<Value, ToolError> {
        let Seller { id, name, rating } = self.catalogue.seller(arguments.seller_id)?;
        Ok(json!({"seller_id": id, "name": name, "rating": rating}))
    }

    pub(crate) fn show_product(&mut self, arguments: ProductIdOnly) -> Result<Value, ToolError> {
        let product = self.catalogue.product(arguments.product_id)?;
        Ok(self.view_product(&self.offer(product)))
    }

    pub(crate) fn search_products(
        &mut self,
        arguments: SearchProducts,
    ) -> Result<Vec<Value>, ToolError> {
        let wanted = self.filter(&arguments)?;
        let found = self.catalogue.search(arguments.list.query.as_deref());
        let offers: Vec<Offer> = found
            .into_iter()
            .map(|product| self.offer(product))
            .filter(wanted)
            .collect();
        let page = arguments.list.of_matching(offers, &offer_fields())?;
        Ok(page.iter().map(|offer| self.view_product(offer)).collect())
    }

    /// What a product must be. 422 for bounds in the wrong order, or of ratings that there are not.
    fn filter<'a>(
        &'a self,
        arguments: &'a SearchProducts,
    ) -> Result<impl Fn(&Offer) -> bool + 'a, ToolError> {
        let SearchProducts {
            product_type,
            color,
            relative_size,
            seller_id,
            ..
        } = arguments;
        let price = bounds("price", arguments.min_price, arguments.max_price, None)?;
        let rating = bounds(
            "product_rating",
            arguments.min_product_rating,
            arguments.max_product_rating,
            Some(BEST_RATING),
        )?;
        let seller_rating = bounds(
            "seller_rating",
            arguments.min_seller_rating,
            arguments.max_seller_rating,
            Some(BEST_RATING),
        )?;
        Ok(move |offer: &Offer| {
            let product = offer.product;
            let seller = self.catalogue.seller(product.seller);
            let its_color = product.color.as_deref();
            product_type
                .as_deref()
                .is_none_or(|wanted| same(wanted, &product.kind))
                && color
                    .as_deref()
                    .is_none_or(|wanted| its_color.is_some_and(|color| same(wanted, color)))
                && (relative_size.is_none() || *relative_size == product.relative_size)
                && seller_id.is_none_or(|id| id == product.seller)
                && price(offer.sale.price.dollars())
                && rating(offer.rating)
                && seller_rating(seller.map_or(0.0, |seller| seller.rating))
        })
    }

    pub(crate) fn show_product_feature_choices(
        &mut self,
        arguments: FeatureChoices,
    ) -> Result<Value, ToolError> {
        let wanted = arguments.product_type.as_deref();
        let products: Vec<&Product> = self
            .catalogue
            .products()
            .filter(|product| wanted.is_none_or(|wanted| same(wanted, &product.kind)))
            .collect();
        let colors: BTreeSet<&str> = products
            .iter()
            .filter_map(|product| product.color.as_deref())
            .collect();
        let sizes: BTreeSet<Size> = products
            .iter()
            .filter_map(|product| product.relative_size)
            .collect();
        let sellers: BTreeSet<u32> = products.iter().map(|product| product.seller).collect();
        let sellers = self
            .catalogue
            .sellers()
            .filter(|seller| sellers.contains(&seller.id));
        Ok(json!({
            "colors": colors,
            "relative_sizes": sizes,
            "sellers": sellers.map(view_seller_name).collect::<Vec<_>>(),
        }))
    }

    pub(crate) fn add_product_to_browsing_history(
        &mut self,
        me: &Email,
        arguments: ProductIdOnly,
    ) -> Result<Value, ToolError> {
        let ProductIdOnly { product_id } = arguments;
        self.catalogue.product(product_id)?;
        // Also where the account does not keep a history by itself: this one was asked for.
        let customer = self.customer_mut(me);
        customer.history.insert(product_id, clock::now());
        Ok(json!({"message": format!("Product {product_id} is in your browsing history.")}))
    }

    pub(crate) fn show_recommended_products(
        &mut self,
        me: &Email,
        arguments: PageOnly,
    ) -> Result<Vec<Value>, ToolError> {
        let (known, interest) = self.interests(me);
        let mut offers: Vec<Offer> = self
            .catalogue
            .products()
            .filter(|product| !known.contains(&product.family))
            .map(|product| self.offer(product))
            .filter(|offer| offer.sale.stock > 0)
            .collect();
        let interest = |offer: &Offer| {
            interest
                .get(offer.product.kind.as_str())
                .copied()
                .unwrap_or_default()
        };
        offers.sort_by(|a, b| {
            interest(b)
                .cmp(&interest(a))
                .then(b.rating.total_cmp(&a.rating))
                .then(b.reviews.cmp(&a.reviews))
        });
        let page = arguments.page.of(offers);
        Ok(page.iter().map(|offer| self.view_product(offer)).collect())
    }

    /// The families of what somebody has bought, is about to buy or wishes for, and how much each type interests.
    fn interests(&self, me: &Email) -> (BTreeSet<ProductId>, BTreeMap<&str, u32>) {
        let customer = self.customer(me);
        let bought = self.purchases(me).into_iter().map(|id| (id, BOUGHT));
        let wanted = customer.cart.keys().chain(customer.wish_list.keys());
        let looked_at = customer.history.keys();
        let (mut known, mut interest) = (BTreeSet::new(), BTreeMap::new());
        for (id, weight) in bought
            .chain(wanted.map(|id| (*id, WANTED)))
            .chain(looked_at.map(|id| (*id, LOOKED_AT)))
        {
            let Some(product) = self.catalogue.get(id) else {
                continue;
            };
            *interest.entry(product.kind.as_str()).or_insert(0) += weight;
            if weight > LOOKED_AT {
                known.insert(product.family);
            }
        }
        (known, interest)
    }
}

/// Whether a value lies within; a bound that is not given does not hold. 422 for one of a value that there is not, or where
/// they stand in the wrong order.
fn bounds(
    what: &str,
    min: Option<f64>,
    max: Option<f64>,
    most: Option<f64>,
) -> Result<impl Fn(f64) -> bool + use<>, ToolError> {
    let (low, high) = (
        min.unwrap_or(f64::NEG_INFINITY),
        max.unwrap_or(f64::INFINITY),
    );
    let mut given = [min, max].into_iter().flatten();
    if let Some(most) = most
        && !given.all(|bound| (0.0..=most).contains(&bound))
    {
        return Err(ToolError::invalid(format!(
            "min_{what} and max_{what} must be from 0 to {most}."
        )));
    }
    if low > high {
        return Err(ToolError::invalid(format!(
            "min_{what} must not be above max_{what}."
        )));
    }
    Ok(move |value| (low..=high).contains(&value))
}

fn view_seller_name(seller: &Seller) -> Value {
    json!({"seller_id": seller.id, "name": seller.name})
}
