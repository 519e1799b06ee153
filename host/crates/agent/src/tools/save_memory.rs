//! `save_memory`: what the memory step asks for at a session's end, and refuses before.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a call is told that nobody asked for.
pub(crate) const NOT_NOW: &str =
    "save_memory is for the end of the session, when you are asked for it; nothing was saved";

/// What later sessions need; only when asked, at a session's end.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Saved {
    /// One paragraph.
    pub(crate) history_entry: String,
    /// The whole new text; empty: as it is.
    #[serde(default)]
    pub(crate) memory_update: String,
}
