//! Limits of what somebody writes. 422 when they are broken.

use pibench_sdk::tool::ToolError;

/// A text on one line, trimmed, that must not be empty.
pub(crate) fn line(what: &str, text: &str, limit: usize) -> Result<String, ToolError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ToolError::invalid(format!("The {what} must not be empty.")));
    }
    if text.contains(char::is_control) {
        return Err(ToolError::invalid(format!(
            "The {what} must stand on one line, without control characters."
        )));
    }
    at_most(what, text.to_owned(), limit)
}

/// A text of at most so many bytes.
pub(crate) fn at_most(what: &str, text: String, limit: usize) -> Result<String, ToolError> {
    if text.len() > limit {
        return Err(ToolError::invalid(format!(
            "The {what} has {} bytes; at most {limit} fit.",
            text.len()
        )));
    }
    Ok(text)
}
