//! Foreign text made harmless for the place where it is shown: agents, apps, files and task authors write what they like.
//! It decides nothing about looks.

use std::fmt::Write;
use std::io;

use pibench_core::path::{is_acting, is_hidden};

/// One line that a terminal shows as it is: control characters (an escape sequence starts with one), those that turn the
/// direction of writing and those of no width become their code, line ends a blank.
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => shown.push(' '),
            c if is_acting(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The same of a text of several lines.
pub fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
}

/// JSON text whose strings hold nothing raw that is not seen, and the same values: serde leaves what is above U+007E as it is.
pub fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A string takes every text.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The same of JSON that is written as it is made.
#[derive(Debug)]
pub struct Seen;

impl serde_json::ser::Formatter for Seen {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        to.write_all(json(fragment).as_bytes())
    }
}

/// A cell of a Markdown table: no markup, no HTML, no end of the cell.
pub fn markdown(text: &str) -> String {
    let mut shown = String::new();
    // Addresses must not become links.
    let text = line(text).replace("www.", "www\0").replace("://", "\0//");
    for c in text.chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '@' => shown.push_str("&#64;"),
            '\0' if shown.ends_with("www") => shown.push_str("&#46;"),
            '\0' => shown.push_str("&#58;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '|' | '~' | '$' => {
                shown.push('\\');
                shown.push(c);
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Plain text in a LaTeX document.
pub fn latex(text: &str) -> String {
    let mut shown = String::new();
    for c in line(text).chars() {
        match c {
            '\\' => shown.push_str("\\textbackslash{}"),
            '~' => shown.push_str("\\textasciitilde{}"),
            '^' => shown.push_str("\\textasciicircum{}"),
            '<' => shown.push_str("\\textless{}"),
            '>' => shown.push_str("\\textgreater{}"),
            '|' => shown.push_str("\\textbar{}"),
            '"' => shown.push_str("\\textquotedbl{}"),
            '`' => shown.push_str("\\textasciigrave{}"),
            // Brackets would be taken for options, dashes and quotes for ligatures.
            '[' | ']' | '-' | '\'' | ',' | '?' | '!' => {
                shown.push('{');
                shown.push(c);
                shown.push('}');
            }
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => {
                shown.push('\\');
                shown.push(c);
            }
            '±' => shown.push_str("$\\pm$"),
            c => shown.push(c),
        }
    }
    shown
}

/// A cell of words for a spreadsheet: one that starts like a formula is made text by an apostrophe (OWASP, CSV injection), and so
/// is what stands behind a semicolon, where a spreadsheet of many countries begins another cell.
pub fn spreadsheet(text: &str) -> String {
    let shown = line(text);
    let cells = shown.split(';').map(|cell| {
        let starts = cell.trim_start();
        let acts = starts.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
        if acts && cell != "-" {
            format!("'{cell}")
        } else {
            cell.to_owned()
        }
    });
    cells.collect::<Vec<_>>().join(";")
}

/// Text or an attribute's value in HTML or SVG.
pub fn html(text: &str) -> String {
    let mut shown = String::new();
    for c in line(text).chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOSTILE: &str =
        "\u{1b}[31m\u{9b}2J\u{202e}<script>alert(1)</script>&\"'|*_`\\input{/x}$^~#%\r\nnext";

    #[test]
    fn a_terminal_gets_one_line_without_a_sequence() {
        let shown = line(HOSTILE);
        assert!(
            shown.starts_with("\\u{1b}[31m\\u{9b}2J\\u{202e}<script>"),
            "{shown}"
        );
        assert!(shown.ends_with("  next"), "{shown}");
    }

    #[test]
    fn what_has_no_width_is_shown_by_its_code_and_emoji_stay_whole() {
        assert_eq!(
            line("a\u{200b}\u{2060}\u{61c}\u{2066}\u{7f}b\u{2028}c"),
            "a\\u{200b}\\u{2060}\\u{61c}\\u{2066}\\u{7f}b c"
        );
        let family = "\u{1f468}\u{200d}\u{1f469} \u{2714}\u{fe0f}";
        assert_eq!(line(family), family);
        let text = "\u{85}\u{7f}\u{202e}\u{2028}\u{200b}\u{200d}\u{e0041}é";
        let shown = json(&serde_json::to_string(text).unwrap());
        assert_eq!(
            shown,
            r#""\u0085\u007f\u202e\u2028\u200b\u200d\udb40\udc41é""#
        );
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        let mut written = Vec::new();
        let mut to = serde_json::Serializer::with_formatter(&mut written, Seen);
        serde::Serialize::serialize(text, &mut to).unwrap();
        assert_eq!(written, shown.as_bytes());
    }

    #[test]
    fn latex_runs_no_command_of_the_text() {
        assert_eq!(
            latex("\\input{a_b} 5% [x]"),
            "\\textbackslash{}input\\{a\\_b\\} 5\\% {[}x{]}"
        );
    }

    #[test]
    fn a_formula_becomes_text_and_a_dash_stays() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=cmd", "' =cmd"),
            ("-", "-"),
            ("-5 lower", "'-5 lower"),
            ("a=b", "a=b"),
            ("gpt; =1+1;b", "gpt;' =1+1;b"),
        ] {
            assert_eq!(spreadsheet(text), expected);
        }
    }

    #[test]
    fn markdown_shows_what_was_written() {
        assert_eq!(
            markdown("a|b <b>[x](http://y)"),
            "a\\|b &lt;b&gt;\\[x\\](http&#58;//y)"
        );
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left(text in "\\PC*|[\\x00-\\x1f\\x7f-\\u{9f}<>&\"'a]*") {
            prop_assert!(!line(&text).chars().any(is_acting));
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
            prop_assert!(!markdown(&text).contains(['<', '>', '\n']));
            let json_text = json(&serde_json::to_string(&text).unwrap());
            prop_assert!(!json_text.chars().any(is_hidden));
            prop_assert_eq!(serde_json::from_str::<String>(&json_text).unwrap(), text);
        }
    }
}
