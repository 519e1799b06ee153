//! Phone numbers: the same number is the same value, however it is written.

use std::fmt;

use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use serde::{Deserialize, Serialize};

/// Fewer digits are an emergency or service number, more no number at all (ITU-T E.164).
const MIN_DIGITS: usize = 3;
const MAX_DIGITS: usize = 15;

/// Digits, perhaps with a + in front; blanks, dashes, dots and brackets are left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct PhoneNumber(Text);

impl PhoneNumber {
    /// 422 if the text is no phone number.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let number: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && !matches!(c, '-' | '.' | '(' | ')' | '/'))
            .collect();
        let digits = number.strip_prefix('+').unwrap_or(&number);
        let well_formed = (MIN_DIGITS..=MAX_DIGITS).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        if well_formed {
            Ok(Self(number.into()))
        } else {
            Err(ToolError::invalid(format!(
                "{text:?} is no phone number: it needs {MIN_DIGITS} to {MAX_DIGITS} digits."
            )))
        }
    }

    /// For the world's rows: a number in this form.
    pub(crate) const fn constant(number: &'static str) -> Self {
        Self(Text::constant(number))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let number = PhoneNumber::parse(text).ok();
        assert_eq!(number.as_ref().map(PhoneNumber::as_str), expected, "{text}");
    }

    #[test]
    fn a_number_is_the_same_however_it_is_written() {
        for text in ["5550140217", "555-014-0217", " (555) 014.0217"] {
            check(text, Some("5550140217"));
        }
        check("+49 30/5550140", Some("+49305550140"));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "12",
            "1234567890123456",
            "555-HELP",
            "+",
            "555+0140",
            "٥٥٥٠",
        ] {
            check(text, None);
        }
    }
}
