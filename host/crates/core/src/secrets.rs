//! Texts that nothing may keep: keys, and what agents are given by the variables of their entries. They are cut out of what servers
//! and agents say of their errors before it is shown or recorded.

use std::fmt::{Debug, Formatter};

/// Shorter ones are ordinary words and placeholders for servers that want any (`EMPTY`, `ollama`), and no secrets.
const SHORTEST: usize = 8;

/// Texts that are not kept, each with the name that stands in its place.
#[derive(Clone, Default)]
pub struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// These texts by their names.
    pub fn new<N: Into<String>, T: Into<String>>(named: impl IntoIterator<Item = (N, T)>) -> Self {
        let mut texts = Vec::new();
        for (name, text) in named {
            let (name, text) = (name.into(), text.into());
            if text.len() < SHORTEST {
                continue;
            }
            // As it stands in JSON, too.
            let json = serde_json::Value::from(text.as_str()).to_string();
            let json = &json[1..json.len() - 1];
            if json != text {
                texts.push((json.to_owned(), name.clone()));
            }
            texts.push((text, name));
        }
        // One may be a part of another.
        texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    /// `text` without them: their names stand in their place, in brackets.
    pub fn cut(&self, mut text: String) -> String {
        for (secret, name) in &self.0 {
            if text.contains(secret) {
                text = text.replace(secret, &format!("[{name}]"));
            }
        }
        text
    }
}

impl Debug for Secrets {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_out_as_they_are_and_as_json_has_them_and_short_ones_are_left_alone() {
        let secrets = Secrets::new([
            ("KEY", "secret-of-a-test"),
            ("LONG", "secret-of-a-test-and-more"),
            ("LINES", "begin \"key\"\nend of it"),
            ("SHORT", "small"),
        ]);
        let cut = |text: &str| secrets.cut(text.to_owned());
        assert_eq!(cut("no secret-of-a-test!"), "no [KEY]!");
        assert_eq!(cut("secret-of-a-test-and-more"), "[LONG]");
        assert_eq!(cut("x begin \"key\"\nend of it"), "x [LINES]");
        assert_eq!(
            cut(r#"{"x":"begin \"key\"\nend of it"}"#),
            r#"{"x":"[LINES]"}"#
        );
        assert_eq!(cut("small /usr/bin:/bin"), "small /usr/bin:/bin");
        assert!(!format!("{secrets:?}").contains("secret"));
    }
}
