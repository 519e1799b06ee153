//! What is for sale, by whom, at which price, and how many are left. It knows nothing of customers.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use pibench_sdk::layer::{Layer, RowState};
use pibench_sdk::list::List;
use pibench_sdk::listing;
use pibench_sdk::search::Index;
use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::money::Cents;

pub(crate) type ProductId = u32;
pub(crate) type SellerId = u32;

/// All products and sellers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    sellers: Layer<SellerId, Seller>,
    products: Layer<ProductId, Product>,
    /// The products of each family with more than one, by the id of its first.
    families: Layer<ProductId, Family>,
    /// Made at the first search after the products have changed; shared with copies of the app.
    #[serde(skip)]
    index: OnceCell<Rc<Index>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seller {
    pub id: SellerId,
    pub name: Text,
    /// From 0 to 5.
    pub rating: f64,
}

/// One thing in one colour and size; its siblings in others are products of their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Product {
    pub id: ProductId,
    pub seller: SellerId,
    /// What kind of thing it is: `product_type` in answers.
    pub kind: Text,
    pub name: Text,
    pub description: Text,
    pub sale: Sale,
    pub delivery_days: u32,
    /// In kilograms.
    pub weight: f64,
    /// In centimetres.
    pub length: f64,
    pub width: f64,
    pub height: f64,
    pub color: Option<Text>,
    pub relative_size: Option<Size>,
    /// The first of the products that differ in colour and size only.
    pub family: ProductId,
}

/// The products that differ in colour and size only.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Family(pub List<ProductId>);

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
    /// With the world's products, or empty.
    pub(crate) fn new(world: bool) -> Self {
        Self {
            sellers: Layer::new(world),
            products: Layer::new(world),
            families: Layer::new(world),
            index: OnceCell::new(),
        }
    }

    pub(crate) fn next_seller(&self) -> SellerId {
        self.sellers.next_id()
    }

    pub(crate) fn next_product(&self) -> ProductId {
        self.products.next_id()
    }

    pub(crate) fn insert_seller(&mut self, seller: Seller) {
        self.sellers.insert(seller.id, seller);
        self.index.take();
    }

    pub(crate) fn insert_product(&mut self, product: Product) {
        if product.family != product.id {
            let first = || Family(vec![product.family].into());
            let siblings = self.families.get_or_insert_with(&product.family, first);
            siblings.0.to_mut().push(product.id);
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

    /// A product that something new is to be about: 422 if there is none.
    pub(crate) fn product_meant(&self, id: ProductId) -> Result<&Product, ToolError> {
        let none = |error: ToolError| ToolError::invalid(error.message);
        self.product(id).map_err(none)
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

    /// Sets price and stock of a product that there is.
    pub(crate) fn put(&mut self, id: ProductId, sale: Sale) {
        if let Some(product) = self.products.get_mut(&id) {
            product.sale = sale;
        }
    }

    /// What graders see of sellers and products: see [`Layer::state`].
    pub(crate) fn state(
        &self,
        seller: impl Fn(&Seller) -> Value,
        product: impl Fn(&Product) -> Value,
    ) -> (Vec<RowState<Value>>, Vec<RowState<Value>>) {
        (
            self.sellers.state(|_, it| seller(it)),
            self.products.state(|_, it| product(it)),
        )
    }

    /// The products that differ from this one in colour and size only.
    pub(crate) fn variations(&self, product: &Product) -> impl Iterator<Item = &Product> {
        let family = self.families.get(&product.family);
        let siblings = family.into_iter().flat_map(|family| &family.0);
        let siblings = siblings.filter(|id| **id != product.id);
        siblings.filter_map(|id| self.get(*id))
    }

    /// All types, in the order of the alphabet.
    pub(crate) fn types(&self) -> BTreeSet<&str> {
        self.products()
            .map(|product| product.kind.as_str())
            .collect()
    }

    /// The products that match a query, best first; all by id without one.
    pub(crate) fn search(&self, query: Option<&str>) -> Vec<&Product> {
        let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
            return self.products().collect();
        };
        let products: Vec<&Product> = self.products().collect();
        let texts = products.iter().map(|product| self.searchable(product));
        let index = self.index.get_or_init(|| Rc::new(texts.collect()));
        let hits = index.rank(query);
        listing::picked(products, hits)
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
