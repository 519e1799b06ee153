//! Bounds of patterns that strangers write: how much a regular expression and a glob are, told before they are compiled.
//! Nothing is matched here.

use std::error::Error as _;

use globset::{Glob, GlobBuilder};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::util::syntax;
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;

/// Nesting of one pattern, so that parsing it cannot use up the stack.
pub(crate) const NESTING: u32 = 64;

/// Bytes of one regular expression: nobody writes or reads a longer one.
const BYTES: usize = 4096;

/// Bytes of one glob. All paths of a workspace are held against it at once.
const GLOB_BYTES: usize = 512;

/// Braces within braces of a glob. What it is made into nests as deep, and may not nest deeper than a few hundred.
const BRACES: usize = 8;

/// How many states and transitions a regular expression compiles to at most. What cannot be read is an error.
pub fn units(text: &str) -> Result<usize, String> {
    if text.len() > BYTES {
        return Err(format!("it has {} bytes, more than {BYTES}", text.len()));
    }
    let mut parser = ParserBuilder::new().nest_limit(NESTING).build();
    let pattern = parser.parse(text).map_err(|error| last_line(&error))?;
    // Unicode's tables are large, and a pattern of ASCII characters does without.
    let mut translator = TranslatorBuilder::new()
        .unicode(!text.is_ascii())
        .utf8(false)
        .build();
    let syntax = translator.translate(text, &pattern);
    syntax
        .map(|syntax| size(&syntax, false))
        .map_err(|error| last_line(&error))
}

/// How many states a regular expression compiles to as it stands: each byte of a text may be held against each of them.
/// `most`: bytes of what is compiled.
pub fn states(text: &str, case_insensitive: bool, most: usize) -> Result<usize, String> {
    if text.len() > BYTES {
        return Err(format!("it has {} bytes, more than {BYTES}", text.len()));
    }
    let syntax = syntax::Config::new()
        .case_insensitive(case_insensitive)
        .nest_limit(NESTING);
    let config = Config::new()
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(most));
    let compiled = Compiler::new().syntax(syntax).configure(config).build(text);
    compiled
        .map(|automaton| automaton.states().len())
        .map_err(|error| match (error.size_limit(), error.source()) {
            (None, Some(source)) => last_line(source),
            _ => last_line(&error),
        })
}

/// What is wrong: the lines before it draw the pattern.
fn last_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default().trim();
    line.trim_start_matches("error: ").to_owned()
}

/// How many states and transitions one that was read compiles to at most. `widened`: where each letter will stand for both of its
/// cases, and a blank for a line end.
pub(crate) fn size(syntax: &Hir, widened: bool) -> usize {
    let size = |part: &Hir| size(part, widened);
    let sum = |parts: &[Hir]| parts.iter().map(size).fold(1, usize::saturating_add);
    match syntax.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => {
            let is_wide = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b' ';
            let wide = literal.0.iter().filter(is_wide).count();
            // A class of two.
            literal.0.len() + if widened { 2 * wide } else { 0 }
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().len() * (1 + usize::from(widened)) + 1
        }
        HirKind::Class(Class::Unicode(class)) => {
            // A range of characters falls apart into sequences of bytes.
            let sequences = class
                .iter()
                .flat_map(|range| Utf8Sequences::new(range.start(), range.end()));
            sequences.map(|sequence| sequence.len()).sum::<usize>() + 1
        }
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min.saturating_add(1));
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            size(&repeated.sub)
                .saturating_add(1)
                .saturating_mul(times.max(1))
        }
        HirKind::Capture(capture) => size(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

/// A glob that compiles to no more than a few times its length. `*` stays within one folder, `**` does not, as in a shell.
pub fn glob(text: &str) -> Result<Glob, String> {
    if text.len() > GLOB_BYTES {
        return Err(format!(
            "it has {} bytes, more than {GLOB_BYTES}",
            text.len()
        ));
    }
    // Braces in a class or behind a backslash count too: no honest glob has that many.
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > BRACES {
            return Err(format!("its braces nest deeper than {BRACES}"));
        }
    }
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_bounded_in_length_and_nesting() {
        let nested = |deep: usize| format!("{}a{}", "{".repeat(deep), "}".repeat(deep));
        for good in ["*.{md,csv}", "notes/**/[!a]?.txt", &nested(8), "{a,b}{c,d}"] {
            assert!(glob(good).is_ok(), "{good}");
        }
        for (bad, expected) in [
            (nested(200), "nest deeper than 8"),
            ("{".repeat(300), "nest deeper than 8"),
            ("*".repeat(600), "600 bytes, more than 512"),
            ("[".into(), "unclosed character class"),
        ] {
            let error = glob(&bad).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_glob_at_the_bound_compiles() {
        for (part, times) in [
            ("*", 512),
            ("?", 512),
            ("**/", 170),
            ("[!a-z]", 85),
            ("{a,*}", 102),
        ] {
            let text = part.repeat(times);
            let matcher = glob(&text).unwrap().compile_matcher();
            assert_eq!(matcher.glob().glob(), text);
        }
    }

    #[test]
    fn what_a_pattern_compiles_to_is_told() {
        assert!(units(r"^\d{4}-\d{2}$").unwrap() < 40);
        assert!(units("[ab]*a[ab]{8000}c").unwrap() > 8000);
        assert!(units("(a{1000}){1000}").unwrap() > 1_000_000);
        let deep = format!("{}a{}", "(".repeat(500), ")".repeat(500));
        assert!(states(r"\bdue\b", true, 1 << 20).unwrap() < 40);
        assert!(states("[ab]*a[ab]{8000}c", false, 1 << 20).unwrap() > 8000);
        assert!(states("(a{1000}){1000}", false, 1 << 20).is_err());
        for bad in ["(", &deep, &"a".repeat(5000), "(?=a)b"] {
            assert!(units(bad).is_err(), "{bad}");
            assert!(states(bad, false, 1 << 20).is_err(), "{bad}");
        }
    }
}
