//! The Unicode form in which texts are compared: composed (NFC). `é` can be one character or two that look like it, as files
//! from a Mac have it. What an author or an agent wrote is changed nowhere.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc, is_nfc_quick};

/// The text with letters and their marks as one character where there is such. Nearly every text is so already.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// Whether two texts are different ones that nobody can tell apart by looking at them.
pub fn differs_in_form_alone(one: &str, other: &str) -> bool {
    one != other && composed(one) == composed(other)
}

/// What keeps a name from being the one that looks like it and is there.
pub fn difference(wanted: &str, there: &str) -> &'static str {
    let both = wanted.chars().zip(there.chars());
    let common = both.take_while(|(one, other)| one == other).count();
    // A letter and its mark, or one that holds both.
    let differs: String = wanted.chars().skip(common).take(2).collect();
    other_form(&differs)
}

/// What is to be said of a text that is there in another form than the one that was looked for.
pub fn other_form(wanted: &str) -> &'static str {
    if is_nfc(wanted) {
        "in another Unicode form (decomposed there, composed here)"
    } else {
        "in another Unicode form (composed there, decomposed here)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_composed_is_not_copied_and_the_rest_becomes_it() {
        for text in ["", "cafe", "café", "がぎ", "İstanbul", "한국어"] {
            assert!(matches!(composed(text), Cow::Borrowed(_)), "{text}");
            let apart: String = text.nfd().collect();
            assert_eq!(composed(&apart), text);
        }
    }

    #[test]
    fn texts_that_look_the_same_are_told_apart() {
        assert!(differs_in_form_alone("caf\u{e9}", "cafe\u{301}"));
        assert!(!differs_in_form_alone("caf\u{e9}", "caf\u{e9}"));
        assert!(!differs_in_form_alone("caf\u{e9}", "cafe"));
        let name = |whole: &str, apart: &str| format!("{apart}/{whole}.md");
        let (whole, apart) = ("caf\u{e9}", "cafe\u{301}");
        for (wanted, there, told) in [
            (whole, apart, "(decomposed there, composed here)"),
            (apart, whole, "(composed there, decomposed here)"),
        ] {
            // What is alike in both tells nothing.
            let said = difference(&name(wanted, apart), &name(there, apart));
            assert_eq!(said, format!("in another Unicode form {told}"));
            assert_eq!(said, other_form(wanted));
        }
    }
}
