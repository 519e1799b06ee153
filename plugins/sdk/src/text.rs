//! Rules for texts that somebody writes into an app: not empty, not too long.

use crate::tool::ToolError;

/// The text, if it has at most `limit` bytes; 422 otherwise. `what` names it in the message: "title".
pub fn at_most(what: &str, text: String, limit: usize) -> Result<String, ToolError> {
    if text.len() > limit {
        return Err(ToolError::invalid(format!(
            "The {what} has {} bytes; at most {limit} fit.",
            text.len()
        )));
    }
    Ok(text)
}

/// The same, trimmed; 422 too if nothing is left.
pub fn not_empty(what: &str, text: &str, limit: usize) -> Result<String, ToolError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ToolError::invalid(format!("The {what} must not be empty.")));
    }
    at_most(what, text.to_owned(), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let name = not_empty("name", text, 5).map_err(|error| error.message);
        assert_eq!(name.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_text_is_trimmed_and_neither_empty_nor_too_long() {
        check(" Home ", Ok("Home"));
        check(" \n", Err("The name must not be empty."));
        check("Garden", Err("The name has 6 bytes; at most 5 fit."));
    }

    #[test]
    fn a_text_that_may_be_empty_stays_as_it_is() {
        assert_eq!(at_most("note", " x ".to_owned(), 3).unwrap(), " x ");
        assert_eq!(
            at_most("note", "xxxx".to_owned(), 3).unwrap_err().status,
            422
        );
    }
}
