//! What is for sale, by whom, at which price, and how many are left. It knows nothing of customers.
//!
//! Records are as they were seeded. What has changed since, price and stock, lies apart from them: the records may
//! become a constant base, of which a snapshot needs only the difference.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use pibench_sdk::search::Index;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::Cents;

pub(crate) type ProductId = u32;
pub(crate) type SellerId = u32;

/// All products and sellers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    sellers: BTreeMap<SellerId, Seller>,
    products: BTreeMap<ProductId, Product>,
    /// The products of each family with more than one, by the id of its first.
    families: BTreeMap<ProductId, Vec<ProductId>>,
    /// What is no longer as in the record.
    sales: BTreeMap<ProductId, Sale>,
    /// Made at the first search after the products have changed.
    #[serde(skip)]
    index: OnceCell<Index>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seller {
    pub id: SellerId,
    pub name: String,
    /// From 0 to 5.
    pub rating: f64,
}

/// One thing in one colour and size; its siblings in others are products of their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Product {
    pub id: ProductId,
    pub seller: SellerId,
    /// What kind of thing it is: `product_type` in answers.
    pub kind: String,
    pub name: String,
    pub description: String,
    /// As seeded: see [`Catalogue::sale`].
    pub sale: Sale,
    pub delivery_days: u32,
    /// In kilograms.
    pub weight: f64,
    /// In centimetres.
    pub length: f64,
    pub width: f64,
    pub height: f64,
    pub color: Option<String>,
    pub relative_size: Option<Size>,
    /// The first of the products that differ in colour and size only.
    pub family: ProductId,
}

/// What changes about a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sale {
    pub price: Cents,
    pub stock: u32,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Size {
    ExtraSmall,
    Small,
    Medium,
    Large,
    ExtraLarge,
}

impl Size {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ExtraSmall => "extra-small",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::ExtraLarge => "extra-large",
        }
    }
}

impl Catalogue {
    pub(crate) fn next_seller(&self) -> SellerId {
        self.sellers.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    pub(crate) fn next_product(&self) -> ProductId {
        self.products.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    pub(crate) fn insert_seller(&mut self, seller: Seller) {
        self.sellers.insert(seller.id, seller);
        self.index.take();
    }

    pub(crate) fn insert_product(&mut self, product: Product) {
        if product.family != product.id {
            let siblings = self.families.entry(product.family);
            siblings
                .or_insert_with(|| vec![product.family])
                .push(product.id);
        }
        self.products.insert(product.id, product);
        self.index.take();
    }

    pub(crate) fn sellers(&self) -> impl Iterator<Item = &Seller> {
        self.sellers.values()
    }

    pub(crate) fn products(&self) -> impl Iterator<Item = &Product> {
        self.products.values()
    }

    pub(crate) fn get(&self, id: ProductId) -> Option<&Product> {
        self.products.get(&id)
    }

    /// 409 if there is none.
    pub(crate) fn product(&self, id: ProductId) -> Result<&Product, ToolError> {
        self.get(id)
            .ok_or_else(|| ToolError::conflict("product", id))
    }

    /// 409 if there is none.
    pub(crate) fn seller(&self, id: SellerId) -> Result<&Seller, ToolError> {
        self.sellers
            .get(&id)
            .ok_or_else(|| ToolError::conflict("seller", id))
    }

    /// Price and stock of today.
    pub(crate) fn sale(&self, product: &Product) -> Sale {
        self.sales.get(&product.id).copied().unwrap_or(product.sale)
    }

    /// Sets price and stock of a product that there is.
    pub(crate) fn put(&mut self, id: ProductId, sale: Sale) {
        if self.get(id).is_some_and(|product| product.sale == sale) {
            self.sales.remove(&id);
        } else {
            self.sales.insert(id, sale);
        }
    }

    /// The products that differ from this one in colour and size only.
    pub(crate) fn variations(&self, product: &Product) -> impl Iterator<Item = &Product> {
        let family = self.families.get(&product.family);
        let siblings = family.into_iter().flatten().filter(|id| **id != product.id);
        siblings.filter_map(|id| self.get(*id))
    }

    /// All types, in the order of the alphabet.
    pub(crate) fn types(&self) -> BTreeSet<&str> {
        self.products()
            .map(|product| product.kind.as_str())
            .collect()
    }

    /// The type of this name in the catalogue's spelling. 422 if there is none.
    pub(crate) fn product_type(&self, name: &str) -> Result<&str, ToolError> {
        let is_it = |product: &&Product| same(&product.kind, name);
        let found = self.products().find(is_it);
        found.map(|product| product.kind.as_str()).ok_or_else(|| {
            ToolError::invalid(format!(
                "There is no product type {name:?}. search_product_types lists them."
            ))
        })
    }

    /// The products that match a query, best first; all by id without one.
    pub(crate) fn search(&self, query: Option<&str>) -> Vec<&Product> {
        let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
            return self.products().collect();
        };
        let products: Vec<&Product> = self.products().collect();
        let index = self.index.get_or_init(|| {
            products
                .iter()
                .map(|product| self.searchable(product))
                .collect()
        });
        let hits = index.rank(query);
        hits.into_iter().map(|hit| products[hit]).collect()
    }

    fn searchable(&self, product: &Product) -> String {
        let seller = self.sellers.get(&product.seller);
        [
            product.name.as_str(),
            &product.kind,
            &product.description,
            product.color.as_deref().unwrap_or_default(),
            product.relative_size.map_or("", Size::name),
            seller.map_or("", |seller| &seller.name),
        ]
        .join("\n")
    }
}

/// Equal but for ASCII letter case and blanks at the ends.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.trim().eq_ignore_ascii_case(b.trim())
}
