//! The suite's own web: a folder of pages in Markdown, each with its address and title at the top.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Loader, join, plain_lines};
use crate::manifest::{WebFile, WebProvider};
use crate::problem::Problem;
use crate::problem::Report;
use crate::suite::Page;
use crate::toml_file::Place;

/// Reports settings that do not go together: none is read and ignored.
pub(super) fn check(web: &WebFile, place: &Place<'_>, report: &mut Report<'_>) {
    let WebFile {
        provider,
        corpus,
        url,
    } = web;
    if *provider != WebProvider::Offline && corpus.is_some() {
        report.add(
            place.key("corpus").span(),
            "a `corpus` goes with the provider `offline` only",
        );
    }
    let searxng = *provider == WebProvider::Searxng;
    match url.as_deref() {
        None if searxng => report.add_with_help(
            place.key("provider").span(),
            "the provider `searxng` needs a `url`",
            "the server's address, as in http://127.0.0.1:8888",
        ),
        Some(_) if !searxng => report.add(
            place.key("url").span(),
            "a `url` goes with the provider `searxng` only",
        ),
        Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => report.add(
            place.key("url").span(),
            format!("`{url}` is no http or https address"),
        ),
        _ => {}
    }
}

/// Pages of a corpus: with 20 KiB each they are read and indexed in about a second.
const PAGE_LIMIT: usize = 2000;

/// The block at a page's top.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    url: String,
    title: String,
}

impl Loader {
    /// The pages of the folder, sorted by file name.
    pub(super) fn corpus(
        &mut self,
        folder: Option<&str>,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Vec<Page> {
        let Some(folder) = folder else {
            return Vec::new();
        };
        self.pack.ask_folder(folder);
        let names = match self.pack.names(folder) {
            Ok(names) => names,
            Err(error) => {
                report.add(place.span(), super::cannot(&error));
                return Vec::new();
            }
        };
        let names: Vec<String> = names
            .into_iter()
            .filter(|name| name.to_lowercase().ends_with(".md"))
            .collect();
        if names.is_empty() || names.len() > PAGE_LIMIT {
            let count = names.len();
            report.add(
                place.span(),
                format!("the corpus `{folder}` has {count} pages; 1 to {PAGE_LIMIT} are allowed"),
            );
            return Vec::new();
        }
        let mut pages = Vec::new();
        let mut urls = BTreeSet::new();
        for name in names {
            let path = join(folder, &name);
            let source = self.source(&path);
            let page = source.and_then(|source| page(&plain_lines(&source.text)));
            match page {
                Ok(page) if urls.insert(page.url.clone()) => pages.push(page),
                Ok(page) => self.page_problem(&path, format!("a second page `{}`", page.url)),
                Err(reason) => self.page_problem(&path, reason),
            }
        }
        pages
    }

    fn page_problem(&mut self, path: &str, reason: String) {
        let path = self.pack.shown(path);
        self.problems.push(Problem::of_file(&path, reason));
    }
}

fn page(text: &str) -> Result<Page, String> {
    let (head, text) = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .ok_or("it opens without a block of `url` and `title` between two lines `---`")?;
    let Head { url, title } =
        serde_saphyr::from_str(head).map_err(|error| format!("its block is wrong: {error}"))?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(format!(
            "its `url` is `{url}`; an address begins with https://"
        ));
    }
    Ok(Page {
        url,
        title,
        text: text.trim().to_owned(),
    })
}
