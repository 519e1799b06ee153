//! What the tools take. The comments are what a model reads.

use pibench_sdk::listing::List;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowProfile {
    pub email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchNotes {
    /// Any of these.
    pub tags: Option<Vec<String>>,
    pub pinned: Option<bool>,
    pub dont_reorder_pinned: Option<bool>,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteId {
    pub note_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateNote {
    pub title: String,
    pub content: String,
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub pinned: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateNote {
    pub note_id: u32,
    pub title: Option<String>,
    pub content: Option<String>,
    pub tags: Option<Vec<String>>,
    pub pinned: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddContent {
    pub note_id: u32,
    pub append_or_prepend: Place,
    pub added_content: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    Append,
    Prepend,
}
