//! What tools of several topics take. The comments are what a model reads.

use pibench_sdk::listing::Page;
use schemars::JsonSchema;
use serde::Deserialize;

/// A list without filters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageOnly {
    #[serde(flatten)]
    pub page: Page,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProductIdOnly {
    pub product_id: u32,
}
