//! What a seed may hold; the crate's documentation shows it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteRecord {
    pub owner: Email,
    pub title: String,
    pub content: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub pinned: bool,
    pub created_at: Option<DateTime>,
    pub updated_at: Option<DateTime>,
}
