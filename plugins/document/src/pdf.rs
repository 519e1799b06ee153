//! PDF: text by its place on the page. Scanned pages have none.

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use crate::{Pages, Wanted};

pub(crate) fn read(content: &[u8], mut wanted: Wanted) -> Result<Pages, String> {
    let document = Document::load_mem(content).map_err(|error| format!("it is no PDF: {error}"))?;
    if document.is_encrypted() {
        return Err("it is encrypted".into());
    }
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    for &number in &numbers {
        if !wanted.has(number) {
            continue;
        }
        let mut text = String::new();
        output_doc_page(&document, &mut PlainTextOutput::new(&mut text), number)
            .map_err(|error| format!("page {number} cannot be read: {error}"))?;
        wanted.take(number, "", &tidy(&text));
    }
    Ok(wanted.of(u32::try_from(numbers.len()).unwrap_or(u32::MAX)))
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
