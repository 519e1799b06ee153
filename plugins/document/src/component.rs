//! The exported interface: WIT values to the crate's own and back.

use crate::bindings::exports::pibench::plugin::documents::{Format, Guest, Page, Pages};

/// The component.
pub(crate) struct Component;

impl Guest for Component {
    fn read(content: Vec<u8>, format: Format, first: u32, last: u32) -> Result<Pages, String> {
        let format = match format {
            Format::Pdf => crate::Format::Pdf,
            Format::Docx => crate::Format::Docx,
            Format::Xlsx => crate::Format::Xlsx,
            Format::Pptx => crate::Format::Pptx,
            Format::Html => crate::Format::Html,
        };
        let crate::Pages { total, found } = crate::read(content, format, first, last)?;
        let page = |page: crate::Page| Page {
            number: page.number,
            title: page.title,
            text: page.text,
        };
        let found = found.into_iter().map(page).collect();
        Ok(Pages { total, found })
    }
}
