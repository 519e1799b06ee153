//! How deep a TOML text nests, told from its tokens before anything is built of it. The parser bounds lists, inline
//! tables and dotted keys each by itself, to 80; together they make a tree that no stack survives.

use std::ops::Range;

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Keys, lists and tables within each other, in one statement. A header comes on top, with as many.
pub const DEPTH_LIMIT: usize = 64;

/// Where a text first nests deeper; None when it never does.
pub fn too_deep(text: &str) -> Option<Range<usize>> {
    let mut nesting = Nesting::default();
    let mut tokens = Source::new(text).lex();
    let token = tokens.find(|token| nesting.after(token.kind()) > DEPTH_LIMIT)?;
    Some(token.span().start()..token.span().end())
}

#[derive(Default)]
struct Nesting {
    /// Levels of each list and table that is open, with the key that leads to it.
    open: Vec<usize>,
    /// Their sum.
    depth: usize,
    /// Parts of the key whose value comes next.
    key: usize,
    /// Dots since the last key, value or bracket: a key's, or a number's one.
    dots: usize,
}

impl Nesting {
    /// The depth after one more token.
    fn after(&mut self, token: TokenKind) -> usize {
        match token {
            TokenKind::Dot => self.dots += 1,
            TokenKind::Equals => {
                self.key = self.dots + 1;
                self.dots = 0;
            }
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                self.open.push(self.key + 1);
                self.depth += self.key + 1;
                self.next();
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                self.depth -= self.open.pop().unwrap_or(0);
                self.next();
            }
            TokenKind::Comma => self.next(),
            TokenKind::Newline if self.open.is_empty() => self.next(),
            _ => {}
        }
        self.depth + self.key + self.dots
    }

    fn next(&mut self) {
        self.key = 0;
        self.dots = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toml::Value;

    use super::*;

    fn depth(value: &Value) -> usize {
        let deepest = match value {
            Value::Array(items) => items.iter().map(depth).max(),
            Value::Table(fields) => fields.values().map(depth).max(),
            _ => return 0,
        };
        1 + deepest.unwrap_or(0)
    }

    #[test]
    fn every_way_to_nest_counts() {
        let many = DEPTH_LIMIT + 1;
        for deep in [
            format!("x = {}", "[".repeat(many)),
            format!("x = {}", "{ a = ".repeat(many)),
            format!("{}a = 1", "a.".repeat(many)),
            format!("[{}a]", "a.".repeat(many)),
            format!("x = {}", "{ a.b.c = [".repeat(many / 5 + 1)),
            format!("x = [\n{}", "{ a.b = [\n".repeat(many / 4 + 1)),
        ] {
            assert!(too_deep(&deep).is_some(), "{deep}");
        }
    }

    #[test]
    fn what_stands_beside_each_other_or_in_a_text_does_not() {
        let many = DEPTH_LIMIT * 3;
        for flat in [
            "a.b.c = [{ d.e = 1.5 }, { f = [2.5] }]\n".repeat(many),
            format!("x = [{}]", "[1.5, 2.5], ".repeat(many)),
            format!("x = '{}'", "[{a.".repeat(many)),
            format!("x = \"\"\"\n{}\"\"\"", "[{a.\n".repeat(many)),
            format!("# {}", "[{a.".repeat(many)),
            "[a.b.c]\nx = 1\n[[d.e]]\ny = 1.0\n".repeat(many),
        ] {
            assert_eq!(too_deep(&flat), None, "{flat}");
        }
    }

    proptest! {
        #[test]
        fn whatever_passes_has_a_bounded_depth(text in r"([a.=\[\]{},\n 1]|a\.|a = |\[|\{ a = ){0,120}") {
            if too_deep(&text).is_none() && let Ok(table) = text.parse::<toml::Table>() {
                prop_assert!(depth(&Value::Table(table)) <= 2 * DEPTH_LIMIT + 2);
            }
        }
    }
}
