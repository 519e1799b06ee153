//! DOCX: the body's paragraphs and tables, as one page. Headers, footers and notes are left out.

use crate::package::Package;
use crate::{Pages, Wanted, markup};

pub(crate) fn read(content: Vec<u8>, mut wanted: Wanted) -> Result<Pages, String> {
    let body = Package::open(content)?.part("word/document.xml")?;
    if wanted.has(1) {
        let text = markup::text(&body)?;
        wanted.take(1, "", &text);
    }
    Ok(wanted.of(1))
}
