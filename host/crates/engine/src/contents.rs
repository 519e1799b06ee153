//! What files hold, as far as judges can be shown it: texts, the text of documents, pictures. A document is read by the
//! same component as for the agent; each content is read once in a session.

use std::collections::HashMap;
use std::sync::Arc;

use super::plan::Plan;
use crate::role::Content;
use crate::role::fence::NOT_SHOWN;
use pibench_agent::environment::guest_fault;
use pibench_core::message::Image;
use pibench_core::vocabulary::Protocol;
use pibench_record::event::Fault;
use pibench_sandbox::document::{DOCUMENT, Format, MOST_BYTES, Pages};
use pibench_sandbox::{Documents, GuestFault};

/// Pages, slides or sheets that are read at once, and how often: more than a judge is shown of any document.
const PAGES: u32 = 20;
const TIMES: u32 = 5;

/// Bytes of text after which no more pages are read: as many characters are shown of all evidence together.
const ENOUGH: usize = 360_000;

/// What a content came to, and the reader's fault if it broke on it.
type Read = (Content, Option<Fault>);

/// Reads what files hold.
pub(super) struct Contents {
    protocol: Protocol,
    documents: Documents,
    /// By the content's hash, and for documents the format that the name promises.
    known: HashMap<(blake3::Hash, Option<Format>), Read>,
}

impl Contents {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            protocol: plan.protocol,
            documents: Documents::new(Arc::clone(&plan.plugins), plan.document_limits),
            known: HashMap::new(),
        }
    }

    /// What a file holds. A reader that breaks on a document is a fault of the turn, and the document is shown as one that
    /// could not be read; one that had no time is an error.
    pub(super) async fn of(
        &mut self,
        path: &str,
        content: Option<Vec<u8>>,
        faults: &mut Vec<Fault>,
    ) -> Result<Content, Fault> {
        let Some(content) = content else {
            return Ok(Content::Missing);
        };
        // The released code reads texts alone.
        let format = Format::of(path).filter(|_| self.protocol == Protocol::Paper);
        let key = (blake3::hash(&content), format);
        if !self.known.contains_key(&key) {
            let read = match format {
                Some(format) => self.document(&content, format).await?,
                None => (self.plain(content), None),
            };
            self.known.insert(key, read);
        }
        let (found, fault) = self.known[&key].clone();
        faults.extend(fault.filter(|fault| !faults.contains(fault)));
        Ok(found)
    }

    fn plain(&self, content: Vec<u8>) -> Content {
        let size = content.len();
        let picture = Image::of(&content)
            .filter(|_| self.protocol == Protocol::Paper && size <= Image::MOST_BYTES);
        match (picture, String::from_utf8(content)) {
            (Some(picture), _) => Content::Picture(Arc::new(picture)),
            (None, Ok(text)) => Content::Text(text.into()),
            (None, Err(_)) => Content::Bytes(size),
        }
    }

    async fn document(&self, content: &[u8], format: Format) -> Result<Read, Fault> {
        if content.len() as u64 > MOST_BYTES {
            let why = format!("it has more than {MOST_BYTES} bytes");
            return Ok((Content::Unread(why), None));
        }
        match self.pages(content, format).await {
            Ok(text) => Ok((Content::Text(text.into()), None)),
            Err(fault) if fault.is_infrastructure() => Err(guest_fault(DOCUMENT, &fault)),
            // The file is to blame, not the reader.
            Err(GuestFault::Failed { message }) => Ok((Content::Unread(message), None)),
            Err(fault) => {
                let fault = guest_fault(DOCUMENT, &fault);
                Ok((Content::Unread(fault.message.clone()), Some(fault)))
            }
        }
    }

    /// The text of a document, as far as anybody reads it.
    async fn pages(&self, content: &[u8], format: Format) -> Result<String, GuestFault> {
        let mut text = String::new();
        for time in 0..TIMES {
            let first = time * PAGES + 1;
            let last = first + PAGES - 1;
            let pages = self.documents.read(content, format, first, last).await?;
            text.push_str(&pages.text(format));
            let Pages { total, .. } = pages;
            if last >= total {
                return Ok(text);
            }
            if text.len() > ENOUGH || time + 1 == TIMES {
                let (part, rest) = (format.part(), total - last);
                let rest = format!("({rest} more {part}s are left out; {NOT_SHOWN})\n");
                text.push_str(&rest);
                return Ok(text);
            }
        }
        Ok(text)
    }
}
