//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowProfile {
    /// The account's email address.
    pub email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchNotes {
    /// Words to look for; any of them may match. Without it, all notes.
    pub query: Option<String>,
    /// Only notes that have all of these tags.
    pub tags: Option<Vec<String>>,
    /// Only pinned notes (true), or only others (false).
    pub pinned: Option<bool>,
    /// Leave pinned notes in their place instead of putting them first.
    pub dont_reorder_pinned: Option<bool>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, updated_at, title, note_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteId {
    /// The note's id.
    pub note_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateNote {
    /// The note's title, not empty.
    pub title: String,
    /// The note's text.
    pub content: String,
    /// Tags to find the note by.
    pub tags: Option<Vec<String>>,
    /// Whether the note comes first in lists.
    #[serde(default)]
    pub pinned: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateNote {
    /// The note's id.
    pub note_id: u32,
    /// The new title.
    pub title: Option<String>,
    /// The new text, in place of the old.
    pub content: Option<String>,
    /// The new tags, in place of the old.
    pub tags: Option<Vec<String>>,
    /// Whether the note comes first in lists.
    pub pinned: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddContent {
    /// The note's id.
    pub note_id: u32,
    /// Where the text goes: append = after the content, prepend = before it.
    pub append_or_prepend: Place,
    /// The text to add, exactly as it shall stand.
    pub added_content: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    Append,
    Prepend,
}
