//! Texts of records, and rules for those that somebody writes into an app: not empty, not too long.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::refusal::ToolError;

/// A text of a record: a part of the component for the world's rows, on the heap for others.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(Cow<'static, str>);

impl Text {
    /// For the world's rows.
    pub const fn constant(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Like that of any text: messages quote with it.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.into_owned()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

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
    fn a_constant_text_is_saved_and_compared_like_another() {
        let (constant, own) = (Text::constant("Home"), Text::from("Home"));
        assert_eq!(constant, own);
        let saved = serde_json::to_string(&constant).unwrap();
        assert_eq!(serde_json::from_str::<Text>(&saved).unwrap(), own);
        assert_eq!(saved, "\"Home\"");
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
