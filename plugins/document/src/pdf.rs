//! PDF: text by its place on the page. Scanned pages have none.

mod fonts;

use std::fmt::Write as _;

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use crate::{Pages, Wanted};

pub(crate) fn read(content: &[u8], mut wanted: Wanted) -> Result<Pages, String> {
    let mut document =
        Document::load_mem(content).map_err(|error| format!("it is no PDF: {error}"))?;
    if document.is_encrypted() {
        return Err("it is encrypted".into());
    }
    fonts::make_readable(&mut document);
    let pages = document.get_pages();
    for (&number, &page) in &pages {
        if !wanted.has(number) {
            continue;
        }
        let mut text = String::new();
        output_doc_page(&document, &mut PlainTextOutput::new(&mut text), number)
            .map_err(|error| format!("page {number} cannot be read: {error}"))?;
        let mut text = tidy(&text);
        for encoding in fonts::unreadable(&document, page) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "[text in the font's encoding `{encoding}` cannot be read]"
            );
        }
        wanted.take(number, "", &text);
    }
    Ok(wanted.of(u32::try_from(pages.len()).unwrap_or(u32::MAX)))
}

/// Lines without the blanks that stand for empty places of the page.
fn tidy(text: &str) -> String {
    let mut tidy = String::new();
    let mut empty = true;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() && empty {
            continue;
        }
        empty = line.is_empty();
        tidy.push_str(line);
        tidy.push('\n');
    }
    tidy
}
