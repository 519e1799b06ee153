//! What a seed may hold; the crate's documentation shows it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::time;
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
    #[serde(default, deserialize_with = "time::read_moment")]
    pub created_at: Option<DateTime>,
    #[serde(default, deserialize_with = "time::read_moment")]
    pub updated_at: Option<DateTime>,
}
