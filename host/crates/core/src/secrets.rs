//! Texts that nothing may keep: keys, and what agents are given by the variables of their entries. They are cut out of what servers
//! and agents say before it is shown or recorded, and before it is shortened: a part of one would not be known.

use std::fmt::{Debug, Formatter};

use serde_json::Value;

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
            let json = Value::from(text.as_str()).to_string();
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

    /// The same of every text in a value, and of its fields' names.
    pub fn cut_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.cut(std::mem::take(text)),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.cut_value(entry)),
            Value::Object(fields) => {
                let cut = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                    self.cut_value(&mut field);
                    (self.cut(name), field)
                });
                *fields = cut.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether one of them stands in a text.
    pub fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|(secret, _)| text.contains(secret))
    }

    /// A text that was shortened at its beginning, without the end of one that may stand there: [`Secrets::cut`] knows whole ones
    /// only.
    pub fn without_torn_start<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let ends = (self.0.iter().map(|(secret, _)| secret.as_bytes()))
            .flat_map(|secret| (0..secret.len()).map(move |from| &secret[from..]));
        let torn = ends.filter(|end| text.starts_with(end)).map(<[u8]>::len);
        &text[torn.max().unwrap_or_default()..]
    }

    /// A text that was shortened at its end, without the beginning of one that may stand there.
    pub fn without_torn_end<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let starts = (self.0.iter().map(|(secret, _)| secret.as_bytes()))
            .flat_map(|secret| (0..secret.len()).map(move |left| &secret[..secret.len() - left]));
        let torn = starts
            .filter(|start| text.ends_with(start))
            .map(<[u8]>::len);
        &text[..text.len() - torn.max().unwrap_or_default()]
    }
}

/// User and password of an address as they stand in it, and the password alone.
pub fn credentials(address: &str) -> Vec<&str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let Some((user, _)) = rest.rsplit_once('@') else {
        return Vec::new();
    };
    let password = user.split_once(':').map(|(_, password)| password);
    std::iter::once(user).chain(password).collect()
}

impl Debug for Secrets {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert!(secrets.are_in("no secret-of-a-test!") && !secrets.are_in("small secret"));
    }

    #[test]
    fn what_a_shortened_text_has_of_one_at_its_ends_goes_too_and_all_else_stays() {
        let secrets = Secrets::new([("KEY", "secret-of-a-test"), ("OTHER", "more-of-a-test")]);
        for (text, start, end) in [
            ("-of-a-test broke", " broke", "-of-a-test broke"),
            ("broke: secret-of-", "broke: secret-of-", "broke: "),
            (
                "no secret-of-a- test",
                "no secret-of-a- test",
                "no secret-of-a- test",
            ),
            ("secret-of-a-test", "", ""),
            ("", "", ""),
        ] {
            let told = secrets.without_torn_start(text.as_bytes());
            assert_eq!(told, start.as_bytes(), "{text}");
            let told = secrets.without_torn_end(text.as_bytes());
            assert_eq!(told, end.as_bytes(), "{text}");
        }
    }

    #[test]
    fn a_value_is_cut_in_its_texts_and_names() {
        let secrets = Secrets::new([("LINES", "begin \"key\"\nend of it")]);
        let inner = json!({ "key": "begin \"key\"\nend of it" }).to_string();
        let mut value = json!({
            "begin \"key\"\nend of it": [1, null, "begin \"key\"\nend of it."],
            // A value as text within a value.
            "arguments": inner,
        });
        secrets.cut_value(&mut value);
        let expected = json!({
            "[LINES]": [1, null, "[LINES]."],
            "arguments": "{\"key\":\"[LINES]\"}",
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn an_address_has_its_credentials_before_its_host() {
        let both = credentials("http://me:word@proxy:3128/");
        assert_eq!(both, ["me:word", "word"]);
        assert_eq!(credentials("me:w@rd:x@proxy"), ["me:w@rd:x", "w@rd:x"]);
        assert_eq!(credentials("http://token@proxy"), ["token"]);
        assert_eq!(credentials("http://proxy:3128"), Vec::<&str>::new());
    }
}
