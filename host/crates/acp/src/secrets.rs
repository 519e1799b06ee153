//! The values that an agent is given by the variables of its entry, a key among them perhaps: what it writes to standard error
//! and what it says of its errors is kept without them. It changes nothing of what an agent does or says to the user.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};

/// Shorter values are ordinary words, and no secret.
const SECRET_LENGTH: usize = 8;

/// Texts that are not kept, each with the name of its variable.
#[derive(Clone, Default)]
pub struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// The values of the variables of these names.
    pub fn of<'n>(
        names: impl Iterator<Item = &'n String>,
        environment: &BTreeMap<String, String>,
    ) -> Self {
        let mut texts = Vec::new();
        for name in names {
            let Some(value) = environment.get(name) else {
                continue;
            };
            if value.len() < SECRET_LENGTH {
                continue;
            }
            // As it stands in JSON, too.
            let json = serde_json::Value::from(value.as_str()).to_string();
            texts.push((json[1..json.len() - 1].to_owned(), name.clone()));
            texts.push((value.clone(), name.clone()));
        }
        // One may be a part of another.
        texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    /// `text` without them: the names of their variables stand in their place.
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
        let environment = [
            ("KEY", "secret-of-a-test"),
            ("LONG", "secret-of-a-test-and-more"),
            ("LINES", "begin \"key\"\nend of it"),
            ("SHORT", "small"),
            ("PATH", "/usr/bin:/bin"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = BTreeMap::from(environment);
        let names = ["KEY", "LONG", "LINES", "SHORT", "MISSING"].map(str::to_owned);
        let secrets = Secrets::of(names.iter(), &environment);
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
