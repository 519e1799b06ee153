//! Text of documents, as a component of world `pibench:plugin/document-reader`: PDF, DOCX, XLSX, PPTX and HTML. It gets bytes
//! and gives text; layout, pictures and formulas are left out. A file that its format's reader cannot stand ends the
//! instance, and nothing else.

mod markup;
mod package;
mod pdf;
mod sheets;
mod slides;
mod web;
mod word;

#[cfg(target_family = "wasm")]
#[allow(
    unsafe_code,
    clippy::pedantic,
    unreachable_pub,
    reason = "generated code"
)]
mod bindings {
    wit_bindgen::generate!({
        world: "document-reader",
        path: "../../wit",
    });

    export!(Component with_types_in self);

    use crate::component::Component;
}
#[cfg(target_family = "wasm")]
mod component;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Pdf,
    Docx,
    Xlsx,
    Pptx,
    /// A page of the web.
    Html,
}

/// A page, slide or sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// 1, 2, 3, ...
    pub number: u32,
    /// A sheet's name.
    pub title: String,
    pub text: String,
}

/// What was asked for, and how much there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    pub total: u32,
    pub found: Vec<Page>,
}

/// The most text that one answer holds, in bytes: more than anybody shows to a model, less than the host takes.
const TEXT: usize = 768 << 10;

/// The text of the pages `first` to `last`. The error says what is wrong with the file.
pub fn read(content: Vec<u8>, format: Format, first: u32, last: u32) -> Result<Pages, String> {
    let wanted = Wanted {
        first,
        last,
        left: TEXT,
        found: Vec::new(),
    };
    match format {
        Format::Pdf => pdf::read(&content, wanted),
        Format::Docx => word::read(content, wanted),
        Format::Xlsx => sheets::read(content, wanted),
        Format::Pptx => slides::read(content, wanted),
        Format::Html => Ok(web::read(&content, wanted)),
    }
}

/// The pages that were asked for, as far as they are found.
#[derive(Debug)]
struct Wanted {
    first: u32,
    last: u32,
    /// Bytes of text for which there is room.
    left: usize,
    found: Vec<Page>,
}

impl Wanted {
    fn has(&self, number: u32) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// Takes a page's text, cut where there is no room.
    fn take(&mut self, number: u32, title: &str, text: &str) {
        let mut text = text.trim_end().to_owned();
        if text.len() > self.left {
            text.truncate(text.floor_char_boundary(self.left));
            text.push_str("\n[cut]");
        }
        self.left = self.left.saturating_sub(text.len());
        self.found.push(Page {
            number,
            title: title.to_owned(),
            text,
        });
    }

    fn of(self, total: u32) -> Pages {
        Pages {
            total,
            found: self.found,
        }
    }
}
