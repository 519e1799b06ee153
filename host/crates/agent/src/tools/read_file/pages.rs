//! Documents: the pages that a call asks for, as lines of one text.

use super::{Arguments, ReadError, Refusal, window};
use crate::tools::{refusal, refusal_to_find};
use pibench_core::path::WorkspacePath;
use pibench_sandbox::document::{Format, MOST_BYTES, Pages};
use pibench_sandbox::workspace::Workspace;
use pibench_sandbox::{Documents, GuestFault};

/// The most pages of one call.
const MOST_PAGES: u32 = 20;

pub(super) async fn run(
    documents: &Documents,
    workspace: &Workspace,
    path: &WorkspacePath,
    format: Format,
    arguments: &Arguments,
) -> Result<String, ReadError> {
    let (first, last) = asked(arguments.pages.as_deref())?;
    let found = workspace.stat(path);
    let found = found.map_err(|error| refusal_to_find(workspace, &error))?;
    let size = found.size;
    if size > MOST_BYTES {
        return Err(Refusal::new(format!(
            "{path} has {size} bytes; documents are read up to {MOST_BYTES}. Work from a smaller file"
        ))
        .into());
    }
    let content = workspace.read(path).map_err(|error| refusal(&error))?;
    let pages = match documents.read(&content, format, first, last).await {
        Ok(pages) => pages,
        Err(fault) if fault.is_infrastructure() => return Err(ReadError::Broke(fault)),
        Err(GuestFault::Failed { message }) => {
            return Err(Refusal::new(format!(
                "{path} cannot be read: {message}. Work from another file"
            ))
            .into());
        }
        Err(fault) => {
            let text = format!("{path} cannot be read: the reader {fault}. Work from another file");
            return Err(Refusal::new(text).into());
        }
    };
    let total = pages.total;
    if first > total {
        let part = format.part();
        let text = format!("{path} has no {part} {first}: it has {total}. Ask for another");
        return Err(Refusal::new(text).into());
    }
    let mut text = window(path, &pages.text(format), arguments)?;
    text.push_str(&footer(&pages, format));
    Ok(text)
}

/// The pages that `pages` names, from 1.
fn asked(pages: Option<&str>) -> Result<(u32, u32), Refusal> {
    let Some(text) = pages else {
        return Ok((1, MOST_PAGES));
    };
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let range = match text.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(text).map(|page| (page, page)),
    };
    match range {
        Some((first, last)) if first <= last && last - first < MOST_PAGES => Ok((first, last)),
        _ => Err(Refusal::new(format!(
            "the pages {text:?} are not accepted. Give one such as 3, or at most {MOST_PAGES} such as 21-40"
        ))),
    }
}

/// Which pages these were, and how to go on; nothing for a document that is shown whole.
fn footer(pages: &Pages, format: Format) -> String {
    let (Some(first), Some(last)) = (pages.found.first(), pages.found.last()) else {
        return String::new();
    };
    let (first, last, total) = (first.number, last.number, pages.total);
    if last >= total {
        return String::new();
    }
    let next = (last + MOST_PAGES).min(total);
    format!(
        "\n({}s {first}-{last} of {total}; go on with pages={}-{next})",
        format.part(),
        last + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_sandbox::document::Page;

    #[test]
    fn pages_are_one_or_a_range_of_at_most_twenty() {
        assert_eq!(asked(None), Ok((1, 20)));
        assert_eq!(asked(Some("3")), Ok((3, 3)));
        assert_eq!(asked(Some("21-40")), Ok((21, 40)));
        assert_eq!(asked(Some(" 1 - 2 ")), Ok((1, 2)));
        for text in ["", "0", "a", "2-1", "1-21", "-3", "1,2", "99999999999"] {
            let Refusal { text: reason, .. } = asked(Some(text)).unwrap_err();
            assert!(reason.contains("are not accepted"), "{reason}");
        }
    }

    #[test]
    fn pages_are_headed_and_the_footer_says_how_to_go_on() {
        let page = |number, title: &str, text: &str| Page {
            number,
            title: title.into(),
            text: text.into(),
        };
        let pages = Pages {
            total: 30,
            found: vec![page(1, "Q1", "1: a"), page(2, "", "")],
        };
        assert_eq!(
            pages.text(Format::Xlsx),
            "--- sheet 1 of 30 (Q1) ---\n1: a\n--- sheet 2 of 30 ---\n(no text)\n"
        );
        assert_eq!(
            footer(&pages, Format::Xlsx),
            "\n(sheets 1-2 of 30; go on with pages=3-22)"
        );
        let whole = Pages { total: 2, ..pages };
        assert_eq!(footer(&whole, Format::Pdf), "");
    }
}
