//! Pages of the web are read by the plugin that reads documents: no bytes of strangers are parsed by the host itself.

use futures::FutureExt;
use futures::future::BoxFuture;

use pibench_model::web::{Crowded, PageReader, Readable, Unreadable};
use pibench_sandbox::document::Format;
use pibench_sandbox::{Documents, GuestFault};

/// Reads a page as a document of one part.
pub(super) struct Pages<'d>(pub(super) &'d Documents);

impl PageReader for Pages<'_> {
    fn read<'a>(&'a self, html: &'a [u8]) -> BoxFuture<'a, Result<Readable, Unreadable>> {
        let read = async move {
            let pages = self.0.read(html, Format::Html, 1, 1).await;
            let first = pages.map(|pages| pages.found.into_iter().next());
            match first {
                Ok(Some(page)) => Ok(Readable {
                    title: page.title,
                    text: page.text,
                }),
                Ok(None) => Err(Unreadable::Page("it has no text".into())),
                Err(fault) => Err(unreadable(fault)),
            }
        };
        read.boxed()
    }
}

/// A page that its reader does not stand is the page's fault; what the machine lacked is not.
fn unreadable(fault: GuestFault) -> Unreadable {
    match fault {
        GuestFault::Crowded { held, used, most } => {
            Unreadable::Crowded(Crowded { held, used, most })
        }
        fault if fault.is_infrastructure() => Unreadable::Machine(fault.to_string()),
        fault => Unreadable::Page(format!("its reader {fault}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_too_much_is_at_fault_and_a_machine_without_room_is_not() {
        let page = unreadable(GuestFault::Fuel { limit: 7 });
        assert!(matches!(page, Unreadable::Page(_)), "{page:?}");
        let machine = unreadable(GuestFault::Timeout { limit_ms: 7 });
        assert!(matches!(machine, Unreadable::Machine(_)), "{machine:?}");
        let crowded = GuestFault::Crowded {
            held: 1,
            used: 2,
            most: 3,
        };
        assert!(matches!(unreadable(crowded), Unreadable::Crowded(_)));
    }
}
