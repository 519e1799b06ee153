//! `save_memory`: what the memory step asks for at a session's end, and refuses before.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a call is told that nobody asked for.
pub(crate) const NOT_NOW: &str =
    "save_memory is for the end of the session, when you are asked for it; nothing was saved";

/// Saves what later sessions need to know; only when you are asked, at a session's end.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Saved {
    /// One paragraph on the session.
    pub(crate) history_entry: String,
    /// The memory's whole new text; empty: as it is.
    #[serde(default)]
    pub(crate) memory_update: String,
}
