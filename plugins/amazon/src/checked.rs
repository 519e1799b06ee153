//! Limits of what somebody writes. 422 when they are broken.

use pibench_sdk::text;
use pibench_sdk::tool::ToolError;

/// A text on one line, trimmed, that must not be empty.
pub(crate) fn line(what: &str, text: &str, limit: usize) -> Result<String, ToolError> {
    let text = text::not_empty(what, text, limit)?;
    if text.contains(char::is_control) {
        return Err(ToolError::invalid(format!(
            "The {what} must stand on one line, without control characters."
        )));
    }
    Ok(text)
}
