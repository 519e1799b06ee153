//! Text in the markup of Word and `PowerPoint`, which share the names of its elements: `p` a paragraph, `t` text, `tab`,
//! `br`, `tr` and `tc` a table's row and cell.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The text of a part: a line for each paragraph, and for each row of a table. Headings of Word are marked as in
/// Markdown.
pub(crate) fn text(xml: &str) -> Result<String, String> {
    let mut reader = Reader::from_str(xml);
    let mut text = Text::default();
    loop {
        match reader.read_event().map_err(malformed)? {
            Event::Eof => return Ok(text.lines),
            Event::Start(tag) => text.open(&tag),
            Event::Empty(tag) => {
                text.open(&tag);
                text.close(tag.local_name().as_ref());
            }
            Event::End(tag) => text.close(tag.local_name().as_ref()),
            Event::Text(piece) if text.inside => {
                text.line.push_str(&piece.xml10_content());
            }
            Event::GeneralRef(reference) if text.inside => {
                text.line.push_str(&character(&reference.xml10_content())?);
            }
            Event::CData(piece) if text.inside => {
                text.line.push_str(&piece.xml10_content());
            }
            _ => {}
        }
    }
}

#[derive(Default)]
struct Text {
    lines: String,
    line: String,
    /// Within a `t`.
    inside: bool,
    /// Open tables' cells; a paragraph in a cell ends no line.
    cells: usize,
}

impl Text {
    fn open(&mut self, tag: &BytesStart<'_>) {
        match tag.local_name().as_ref() {
            "t" => self.inside = true,
            "tab" if !self.line.is_empty() => self.line.push('\t'),
            "br" | "cr" => self.line.push(if self.cells > 0 { ' ' } else { '\n' }),
            "tc" => self.cells += 1,
            "pStyle" => {
                let style = attribute(tag, "val");
                let level = style
                    .strip_prefix("Heading")
                    .and_then(|level| level.parse().ok());
                if style == "Title" {
                    self.line.push_str("# ");
                } else if let Some(level @ 1..=6) = level {
                    self.line.push_str(&"#".repeat(level));
                    self.line.push(' ');
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "t" => self.inside = false,
            "p" if self.cells > 0 => self.line.push(' '),
            "p" => self.end_line(),
            "tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.line.truncate(self.line.trim_end().len());
                self.line.push_str(" | ");
            }
            "tr" => {
                let cells = self.line.trim_end().trim_end_matches('|').trim_end().len();
                self.line.truncate(cells);
                self.end_line();
            }
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.lines.push_str(&self.line);
        self.lines.push('\n');
        self.line.clear();
    }
}

/// The value of an attribute by its local name; empty where there is none.
pub(crate) fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    tag.attributes()
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == name)
        .and_then(|attribute| {
            quick_xml::escape::unescape(&attribute.value)
                .ok()
                .map(Cow::into_owned)
        })
        .unwrap_or_default()
}

/// What `&name;` stands for: the five of XML and numbers. Others would have to be declared, and are not looked up.
fn character(name: &str) -> Result<String, String> {
    quick_xml::escape::unescape(&format!("&{name};"))
        .map(Cow::into_owned)
        .map_err(malformed)
}

pub(crate) fn malformed(error: impl std::fmt::Display) -> String {
    format!("its XML is malformed: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(xml: &str, expected: &str) {
        assert_eq!(text(xml).as_deref(), Ok(expected));
    }

    #[test]
    fn a_paragraph_is_a_line() {
        check(
            "<d><p><t>a &amp; b</t><tab/><t>c&#33;</t></p><p/><p><t>d</t></p></d>",
            "a & b\tc!\n\nd\n",
        );
    }

    #[test]
    fn a_row_of_a_table_is_a_line() {
        check(
            "<tbl><tr><tc><p><t>a</t></p></tc><tc><p><t>b</t></p><p><t>c</t></p></tc></tr></tbl>",
            "a | b c\n",
        );
    }

    #[test]
    fn headings_are_marked() {
        check(
            r#"<w><p><pPr><pStyle val="Heading2"/></pPr><t>h</t></p><p><pPr><pStyle val="Title"/></pPr><t>t</t></p></w>"#,
            "## h\n# t\n",
        );
    }

    #[test]
    fn declared_entities_are_not_looked_up() {
        let bomb = "<!DOCTYPE d [<!ENTITY a \"xx\">]><d><p><t>&a;</t></p></d>";
        assert!(text(bomb).unwrap_err().contains("malformed"));
    }

    #[test]
    fn text_outside_of_runs_is_no_text() {
        check("<d>no<p>no<t>yes</t>no</p></d>", "yes\n");
    }
}
