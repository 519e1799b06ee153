//! Text of PDF, DOCX, XLSX, PPTX and HTML, read by the plugin `document`: a fresh instance for each file, which gets the bytes
//! and nothing else. No parser of such formats runs in the host itself.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::civil::DateTime;

use super::bindings::document_reader::DocumentReader;
use super::bindings::document_reader::exports::pibench::plugin::documents as wit;
use super::fault::{GuestFault, bounded};
use super::limits::Limits;
use super::live::Live;
use super::load::Plugins;
use super::plugin::{Pre, World};
use super::state::Reach;

/// The plugin's name.
pub const DOCUMENT: &str = "document";

/// The largest document that is read, in bytes: the reader unpacks it in its own memory.
pub const MOST_BYTES: u64 = 32 << 20;

/// The formats, by the names of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Pdf,
    Docx,
    Xlsx,
    Pptx,
    /// A page of the web; in a file it is text.
    Html,
}

impl Format {
    /// The format that a file's name promises.
    pub fn of(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "pdf" => Some(Self::Pdf),
            "docx" => Some(Self::Docx),
            "xlsx" | "xlsm" => Some(Self::Xlsx),
            "pptx" => Some(Self::Pptx),
            _ => None,
        }
    }

    /// What its parts are called.
    pub fn part(self) -> &'static str {
        match self {
            Self::Pdf | Self::Docx | Self::Html => "page",
            Self::Xlsx => "sheet",
            Self::Pptx => "slide",
        }
    }
}

/// A page, slide or sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// 1, 2, 3, ...
    pub number: u32,
    /// A sheet's name, or a page's of the web; empty elsewhere.
    pub title: String,
    pub text: String,
}

/// Pages of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// How many the document has.
    pub total: u32,
    pub found: Vec<Page>,
}

impl Pages {
    /// The pages as one text, each below a line that names it.
    pub fn text(&self, format: Format) -> String {
        let mut text = String::new();
        for page in &self.found {
            let title = if page.title.is_empty() {
                String::new()
            } else {
                format!(" ({})", page.title)
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "--- {} {} of {}{title} ---",
                format.part(),
                page.number,
                self.total
            );
            let shown = if page.text.is_empty() {
                "(no text)"
            } else {
                &page.text
            };
            text.push_str(shown);
            text.push('\n');
        }
        text
    }
}

/// Reads documents. The plugin is loaded when the first one is read.
#[derive(Debug, Clone)]
pub struct Documents {
    plugins: Arc<Plugins>,
    limits: Limits,
}

/// The only moment that a reader knows.
const NOW: DateTime = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);

impl Documents {
    pub fn new(plugins: Arc<Plugins>, limits: Limits) -> Self {
        Self { plugins, limits }
    }

    /// The text of the pages `first` to `last`, as far as there are such. `Failed` says what is wrong with the file. A
    /// timeout is tried once more.
    pub async fn read(
        &self,
        content: &[u8],
        format: Format,
        first: u32,
        last: u32,
    ) -> Result<Pages, GuestFault> {
        match self.read_once(content, format, first, last).await {
            Err(GuestFault::Timeout { .. }) => self.read_once(content, format, first, last).await,
            other => other,
        }
    }

    async fn read_once(
        &self,
        content: &[u8],
        format: Format,
        first: u32,
        last: u32,
    ) -> Result<Pages, GuestFault> {
        let host = |error: &dyn std::fmt::Display| GuestFault::Host {
            reason: error.to_string(),
        };
        let plugin = self
            .plugins
            .get_soon(DOCUMENT)
            .map_err(|error| host(&error))?;
        let Pre::Document(pre) = &plugin.pre else {
            return Err(host(&plugin.wrong_world(World::Document)));
        };
        let limits = plugin.capped(self.limits);
        let made = plugin.start(limits, [0; 32], Reach::Nothing, async |store| {
            pre.instantiate_async(store).await
        });
        let mut live: Live<DocumentReader> = made.await?;
        let content = content.to_vec();
        let ran = live
            .call(limits, NOW, async |live: &mut Live<DocumentReader>| {
                let documents = live.guest.pibench_plugin_documents();
                documents
                    .call_read(&mut live.store, &content, convert(format), first, last)
                    .await
            })
            .await;
        let pages = ran.result?.map_err(|message| GuestFault::Failed {
            message: bounded(&message),
        })?;
        checked(pages, limits)
    }
}

fn convert(format: Format) -> wit::Format {
    match format {
        Format::Pdf => wit::Format::Pdf,
        Format::Docx => wit::Format::Docx,
        Format::Xlsx => wit::Format::Xlsx,
        Format::Pptx => wit::Format::Pptx,
        Format::Html => wit::Format::Html,
    }
}

fn checked(pages: wit::Pages, limits: Limits) -> Result<Pages, GuestFault> {
    let wit::Pages { total, found } = pages;
    let bytes: usize = found
        .iter()
        .map(|page| page.text.len() + page.title.len())
        .sum();
    if bytes > limits.result_bytes {
        let reason = format!("{bytes} bytes of text, more than {}", limits.result_bytes);
        return Err(GuestFault::BadOutput { reason });
    }
    let page = |page: wit::Page| Page {
        number: page.number,
        title: bounded(&page.title),
        text: page.text,
    };
    Ok(Pages {
        total,
        found: found.into_iter().map(page).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_told_by_the_name() {
        assert_eq!(Format::of("a/b.PDF"), Some(Format::Pdf));
        assert_eq!(Format::of("x.tar.xlsx"), Some(Format::Xlsx));
        assert_eq!(Format::of("notes.md"), None);
        assert_eq!(Format::of("pdf"), None);
    }
}
