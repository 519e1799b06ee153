//! Web pages: readable text, as Markdown, in one part. One pass over its tags: there is no tree and nothing nests on the stack, so
//! that time and memory follow from the page's length, whatever it holds. Broken markup gives plain text, never an error.

use crate::{Pages, Wanted};

/// Lists and links within each other that are remembered; deeper ones are plain text.
const DEPTH: usize = 100;

/// Parts of a page that are not its text.
const ASIDE: [&str; 13] = [
    "head", "script", "style", "noscript", "template", "nav", "footer", "aside", "form", "iframe",
    "svg", "textarea", "title",
];

/// Of those, what holds no tags: everything up to the end tag is content.
const RAW: [&str; 5] = ["script", "style", "iframe", "textarea", "title"];

/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 22] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "body",
    "html",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "table",
    "blockquote",
    "figure",
    "figcaption",
    "address",
    "details",
    "summary",
    "pre",
    "hr",
];

/// What people come to a page for: its article or main part where it names one, without what stands around and behind it.
pub(crate) fn read(content: &[u8], mut wanted: Wanted) -> Pages {
    let html = String::from_utf8_lossy(content);
    if wanted.has(1) {
        let title = within(&html, &["title"], End::First).unwrap_or_default();
        let text = within(&html, &["article", "main"], End::Last).unwrap_or(&html);
        wanted.take(1, &markdown(title), &markdown(text));
    }
    wanted.of(1)
}

/// Which end tag ends a part of a page.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// What stands between the first start tag of one of these names and an end tag of one of them. The page is gone through twice
/// at most, whatever is in it.
fn within<'h>(html: &'h str, names: &[&str], end: End) -> Option<&'h str> {
    let is_meant = |text: &str| {
        names.iter().any(|name| {
            let begins = text.get(..name.len());
            let is_name = begins.is_some_and(|begins| begins.eq_ignore_ascii_case(name));
            is_name && !text[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
        })
    };
    let start = |&(place, _): &(usize, &str)| is_meant(&html[place + 1..]);
    let (start, _) = html.match_indices('<').find(start)?;
    let (_, inner) = html[start..].split_once('>')?;
    let ends = |&(place, _): &(usize, &str)| is_meant(&inner[place + 2..]);
    let (end, _) = match end {
        End::First => inner.match_indices("</").find(ends)?,
        End::Last => inner.rmatch_indices("</").find(ends)?,
    };
    Some(&inner[..end])
}

/// The page's text as Markdown.
fn markdown(html: &str) -> String {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        page.text(&rest[..start]);
        rest = &rest[start..];
        rest = if let Some((tag, after)) = tag(rest) {
            page.tag(&tag, after)
        } else {
            page.text("<");
            &rest[1..]
        };
    }
    page.text(rest);
    page.out.trim().to_owned()
}

/// A tag, by its parts; a comment or a declaration has no name.
struct Tag<'h> {
    /// In lower case.
    name: String,
    closes: bool,
    attributes: &'h str,
}

/// The tag that the text begins with, and what is behind it. None for a `<` that is none.
fn tag(html: &str) -> Option<(Tag<'_>, &str)> {
    let inner = &html[1..];
    let nothing = Tag {
        name: String::new(),
        closes: false,
        attributes: "",
    };
    if let Some(comment) = inner.strip_prefix("!--") {
        let after = comment.split_once("-->").map_or("", |(_, after)| after);
        return Some((nothing, after));
    }
    if inner.starts_with(['!', '?']) {
        let after = inner.split_once('>').map_or("", |(_, after)| after);
        return Some((nothing, after));
    }
    let closes = inner.starts_with('/');
    let inner = &inner[usize::from(closes)..];
    if !inner.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
    let name_end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
    // A `>` in quotes is none. Without an end the tag is the rest of the page, so that nothing is looked at twice.
    let mut quote = None;
    let end = inner[name_end..].bytes().position(|byte| match quote {
        Some(open) => {
            if byte == open {
                quote = None;
            }
            false
        }
        None if byte == b'"' || byte == b'\'' => {
            quote = Some(byte);
            false
        }
        None => byte == b'>',
    });
    let end = end.map_or(inner.len(), |end| name_end + end);
    let tag = Tag {
        name: inner[..name_end].to_ascii_lowercase(),
        closes,
        attributes: &inner[name_end..end],
    };
    Some((tag, inner.get(end + 1..).unwrap_or_default()))
}

/// The value of an attribute.
fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before
            .split_ascii_whitespace()
            .next_back()
            .unwrap_or_default();
        let after = after.trim_start();
        let (value, left) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            _ => after
                .split_once(|c: char| c.is_ascii_whitespace())
                .unwrap_or((after, "")),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decoded(value.trim()));
        }
        rest = left;
    }
    None
}

/// What was written so far, and where in the page that is.
#[derive(Default)]
struct Page {
    out: String,
    /// The part that is passed over, and how often its tag stands within itself.
    aside: Option<(String, usize)>,
    /// Open lists: the number of the last point, None where points have none.
    lists: Vec<Option<usize>>,
    /// Addresses of open links.
    links: Vec<String>,
    /// Within `pre`.
    exact: bool,
}

impl Page {
    fn text(&mut self, text: &str) {
        if self.aside.is_some() {
            return;
        }
        let text = decoded(text);
        if self.exact {
            self.out.push_str(&text);
            return;
        }
        for (place, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            let apart = self.out.is_empty() || self.out.ends_with([' ', '\n']);
            if place > 0 && !apart {
                self.out.push(' ');
            }
            self.out.push_str(word);
        }
    }

    /// Takes a tag; what comes next.
    fn tag<'h>(&mut self, tag: &Tag<'_>, after: &'h str) -> &'h str {
        let Tag {
            name,
            closes,
            attributes,
        } = tag;
        if let Some((aside, depth)) = &mut self.aside {
            let body = aside == "head" && name == "body";
            if name == aside {
                *depth = if *closes { *depth - 1 } else { *depth + 1 };
            }
            if *depth == 0 || body {
                self.aside = None;
            }
            return after;
        }
        let is_empty = attributes.ends_with('/');
        if !closes && !is_empty && ASIDE.contains(&name.as_str()) {
            if RAW.contains(&name.as_str()) {
                return behind(after, name);
            }
            self.aside = Some((name.clone(), 1));
            return after;
        }
        self.mark(name, *closes, attributes);
        after
    }

    fn mark(&mut self, name: &str, closes: bool, attributes: &str) {
        match name {
            "br" => self.out.push('\n'),
            "b" | "strong" => self.out.push_str("**"),
            "i" | "em" => self.out.push('*'),
            "code" if !self.exact => self.out.push('`'),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.paragraph();
                if !closes {
                    let level = name
                        .as_bytes()
                        .get(1)
                        .map_or(1, |digit| usize::from(digit - b'0'));
                    self.out.push_str(&"######"[..level]);
                    self.out.push(' ');
                }
            }
            "a" if !closes => {
                if let Some(address) = attribute(attributes, "href")
                    && self.links.len() < DEPTH
                {
                    self.links.push(address);
                    self.out.push('[');
                }
            }
            "a" => {
                if let Some(address) = self.links.pop() {
                    self.out.push_str("](");
                    self.out.push_str(&address.replace([')', '\n'], ""));
                    self.out.push(')');
                }
            }
            "img" => {
                if let Some(words) = attribute(attributes, "alt") {
                    self.text(&words);
                }
            }
            "li" if !closes => {
                self.line();
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        let point = format!("{number}. ");
                        self.out.push_str(&point);
                    }
                    _ => self.out.push_str("- "),
                }
            }
            "tr" => self.line(),
            "td" | "th" if closes => self.out.push_str(" | "),
            name if BLOCKS.contains(&name) => self.block(name, closes),
            _ => {}
        }
    }

    fn block(&mut self, name: &str, closes: bool) {
        match name {
            "ul" | "ol" if !closes && self.lists.len() < DEPTH => {
                self.lists.push((name == "ol").then_some(0));
            }
            "ul" | "ol" if closes => drop(self.lists.pop()),
            _ => {}
        }
        let within = matches!(name, "ul" | "ol") && self.lists.len() > usize::from(!closes);
        match name {
            "pre" => {
                self.exact = !closes;
                self.line();
                self.out.push_str("```\n");
            }
            // A list in a list.
            _ if within => self.line(),
            // The paragraph of a point stays with its mark.
            _ if self.out.ends_with("- ") || self.out.ends_with(". ") => {}
            _ => self.paragraph(),
        }
        if name == "blockquote" && !closes {
            self.out.push_str("> ");
        }
    }

    fn line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn paragraph(&mut self) {
        self.line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

/// What is behind the end tag of this name.
fn behind<'h>(html: &'h str, name: &str) -> &'h str {
    for (place, _) in html.match_indices("</") {
        let found = html.get(place + 2..place + 2 + name.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            let after = &html[place..];
            return after.split_once('>').map_or("", |(_, after)| after);
        }
    }
    ""
}

/// The text with the usual character references read.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        // The longest name that is read has six letters.
        let end = rest.bytes().take(9).position(|byte| byte == b';');
        match end.and_then(|end| Some((reference(&rest[..end])?, end))) {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| !character.is_control());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '\u{2013}',
        "mdash" => '\u{2014}',
        "hellip" => '\u{2026}',
        "lsquo" => '\u{2018}',
        "rsquo" => '\u{2019}',
        "ldquo" => '\u{201c}',
        "rdquo" => '\u{201d}',
        "middot" => '\u{b7}',
        "copy" => '\u{a9}',
        "deg" => '\u{b0}',
        "euro" => '\u{20ac}',
        "pound" => '\u{a3}',
        "times" => '\u{d7}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn check(html: &str, expected: &str) {
        assert_eq!(markdown(html), expected, "{html}");
    }

    #[test]
    fn a_page_becomes_markdown() {
        check(
            "<h2>Tides</h2><p>High &amp; <b>low</b>,\n see <a class=x href='/t?a=1'>the  table</a>.</p>",
            "## Tides\n\nHigh & **low**, see [the table](/t?a=1).",
        );
        check(
            "<ul><li>one<li><p>two</p></ul><ol><li>a</li><li>b</li></ol><p>end",
            "- one\n- two\n\n1. a\n2. b\n\nend",
        );
        check("<pre>a  b\n c</pre>", "```\na  b\n c\n```");
        check(
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "A | B |\n1 | 2 |",
        );
        check(
            "a<br>b <img alt=\"a boat\" src=x> 1 < 2",
            "a\nb a boat 1 < 2",
        );
    }

    #[test]
    fn what_is_not_its_text_is_left_out() {
        check(
            "<head><title>T</title></head><body><nav><nav>x</nav>y</nav>in<script>'</p>'<b></script>\
             <!-- <p> -->side<style>b{}</style>",
            "inside",
        );
        check("<head><meta>x<body>text", "text");
        check("<p title='a > b'>text", "text");
    }

    #[test]
    fn a_part_of_a_page_is_between_its_tags() {
        let check = |html: &str, first: Option<&str>, last: Option<&str>| {
            let names = ["main", "article"];
            assert_eq!(within(html, &names, End::First), first, "{html}");
            assert_eq!(within(html, &names, End::Last), last, "{html}");
        };
        check("a<MAIN id=b>c</main>d", Some("c"), Some("c"));
        check("<main>a</main>b</Article >c", Some("a"), Some("a</main>b"));
        check("<mainly>a</mainly>", None, None);
        check("<main>a", None, None);
        check("</main><main", None, None);
        check("<main>é</mé</main>", Some("é</mé"), Some("é</mé"));
    }

    #[test]
    fn broken_markup_takes_no_stack_and_gives_bounded_text() {
        let large = 300_000;
        for part in [
            "<div></x>",
            "<div>",
            "<a href=x>",
            "<ul><li>",
            "<b",
            "<!--",
            "&",
            "<a '",
            "</",
            "<script>",
        ] {
            let text = markdown(&part.repeat(large));
            assert!(text.len() <= 10 * part.len() * large, "{part}");
        }
        check(&("<div></x>".repeat(2000) + "the bottom"), "the bottom");
    }

    #[test]
    fn a_page_is_its_article_with_the_pages_title() {
        let page = "<html><head><title>High &amp; low</title></head><body><nav>Menu</nav>\
                    <article><h1>Tides</h1><p>Noon.</p></article><footer>Imprint</footer></body></html>";
        let Pages { total, found } = crate::read(page.into(), Format::Html, 1, 1).unwrap();
        assert_eq!((total, found.len()), (1, 1));
        assert_eq!(found[0].title, "High & low");
        assert_eq!(found[0].text, "# Tides\n\nNoon.");
        // Bytes that are no text are shown as such.
        let odd = crate::read(b"<p>a\xff</p>".into(), Format::Html, 1, 1).unwrap();
        assert_eq!(odd.found[0].text, "a\u{fffd}");
    }
}
