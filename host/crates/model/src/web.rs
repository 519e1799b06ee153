//! The web as the agent sees it: a search and a page by its address. By default it is the suite's own corpus, so that a
//! run can be repeated; the real one is there when the operator sets it up. What comes back is text of strangers: it is
//! handed to the agent as a tool's result, and nothing in it is followed.

mod address;
mod corpus;
mod live;
mod recording;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use corpus::Corpus;
pub use live::{Engine, Live};
pub use recording::{Recording, RecordingError};

use recording::Asked;

pub use pibench_memory::Crowded;
use pibench_suite::suite::Page;

/// Title, address, excerpt of the best pages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SearchArguments {
    pub query: String,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 10))]
    pub count: usize,
}

fn five() -> usize {
    5
}

/// Its readable content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FetchArguments {
    pub url: String,
    #[serde(default)]
    pub extract_mode: ExtractMode,
    #[serde(default = "fifty_thousand")]
    #[schemars(range(min = 100, max = 50_000))]
    pub max_chars: usize,
}

fn fifty_thousand() -> usize {
    50_000
}

// How a page is shown. A model reads the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ExtractMode {
    #[default]
    Markdown,
    Text,
}

/// Why the web gave no answer; for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WebError {
    #[error("fetch {url}: {reason}")]
    Fetch { url: String, reason: String },
    #[error("search for {query:?}: {reason}")]
    Search { query: String, reason: String },
    /// The program came near the bound of its own memory, and of all that worked this page held most. The machine's fault, so
    /// no recording keeps it.
    #[error("fetch a page: it held more than any other when the program was near its bound")]
    #[serde(skip)]
    Crowded(Crowded),
    /// The machine could not read a page. No recording keeps it.
    #[error("read a page: {0}")]
    #[serde(skip)]
    Machine(String),
}

/// Reads HTML, which the host itself does not: it is bytes of strangers.
pub trait PageReader: Sync {
    fn read<'a>(&'a self, html: &'a [u8]) -> BoxFuture<'a, Result<Readable, Unreadable>>;
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readable {
    /// Empty where it has none.
    pub title: String,
    /// Markdown.
    pub text: String,
}

/// Why a page cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// The page's own fault, in words for the agent.
    Page(String),
    /// What it is read with was ended near the bound of the program's memory.
    Crowded(Crowded),
    /// The machine's fault.
    Machine(String),
}

/// The agents' web, the same for all of a run.
#[derive(Debug)]
pub struct Web {
    source: Source,
    /// Every answer is kept in it, and what it holds is not asked again.
    recording: Option<Recording>,
}

/// Where searches and pages come from.
#[derive(Debug)]
pub enum Source {
    Offline(Corpus),
    Live(Live),
    /// The recording alone.
    Recorded,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) excerpt: String,
}

impl Web {
    pub fn new(source: Source, recording: Option<Recording>) -> Self {
        Self { source, recording }
    }

    /// The suite's own pages.
    pub fn offline(corpus: Corpus) -> Self {
        Self::new(Source::Offline(corpus), None)
    }

    /// The results as text, numbered.
    pub async fn search(&self, arguments: &SearchArguments) -> Result<String, WebError> {
        let asked = Asked::Search(arguments.clone());
        if let Some(answer) = self.known(&asked) {
            return answer;
        }
        let SearchArguments { query, count } = arguments;
        let hits = match &self.source {
            Source::Offline(corpus) => Ok(corpus.search(query, *count)),
            Source::Live(live) => live.search(query, *count).await,
            Source::Recorded => Err(WebError::Search {
                query: query.clone(),
                reason: recording::MISSING.into(),
            }),
        };
        self.keep(asked, hits.map(|hits| numbered(query, &hits)))
    }

    /// A page's text with its title and address.
    pub async fn fetch(
        &self,
        arguments: &FetchArguments,
        reader: &dyn PageReader,
    ) -> Result<String, WebError> {
        let asked = Asked::Fetch(arguments.clone());
        if let Some(answer) = self.known(&asked) {
            return answer;
        }
        let FetchArguments {
            url,
            extract_mode,
            max_chars,
        } = arguments;
        let page = match &self.source {
            Source::Offline(corpus) => corpus.page(url, *extract_mode),
            Source::Live(live) => live.page(url, *extract_mode, reader).await,
            Source::Recorded => Err(WebError::Fetch {
                url: url.clone(),
                reason: recording::MISSING.into(),
            }),
        };
        self.keep(asked, page.map(|page| shown(&page, *max_chars)))
    }

    fn known(&self, asked: &Asked) -> Option<Result<String, WebError>> {
        self.recording.as_ref()?.answer(asked)
    }

    fn keep(&self, asked: Asked, answer: Result<String, WebError>) -> Result<String, WebError> {
        if let Err(WebError::Crowded(_) | WebError::Machine(_)) = answer {
            return answer;
        }
        match &self.recording {
            // Of two agents that asked the same at once both are given the first answer.
            Some(recording) => recording.keep(asked, answer),
            None => answer,
        }
    }
}

fn numbered(query: &str, hits: &[Hit]) -> String {
    if hits.is_empty() {
        return format!("No results for {query:?}.");
    }
    let lines = hits.iter().enumerate().map(|(place, hit)| {
        let Hit {
            title,
            url,
            excerpt,
        } = hit;
        format!("{}. {title}\n   {url}\n   {excerpt}", place + 1)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn shown(page: &Page, max_chars: usize) -> String {
    let Page { url, title, text } = page;
    let (shown, is_cut) = clip(text, max_chars);
    let cut = if is_cut {
        let count = text.chars().count();
        format!("\n[the first {max_chars} of {count} characters]")
    } else {
        String::new()
    };
    format!("{title}\n{url}\n\n{shown}{cut}")
}

/// The first characters of a text, and whether there are more.
fn clip(text: &str, characters: usize) -> (&str, bool) {
    match text.char_indices().nth(characters) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands a page on as it is, under a title of its own; none that says so can be read.
    pub(crate) struct AsItIs;

    impl PageReader for AsItIs {
        fn read<'a>(&'a self, html: &'a [u8]) -> BoxFuture<'a, Result<Readable, Unreadable>> {
            let text = String::from_utf8_lossy(html).into_owned();
            let read = match text.as_str() {
                "unreadable" => Err(Unreadable::Page("its reader needs more".into())),
                "no room" => Err(Unreadable::Machine("no room".into())),
                _ => Ok(Readable {
                    title: text.lines().next().unwrap_or_default().to_owned(),
                    text,
                }),
            };
            Box::pin(std::future::ready(read))
        }
    }
}
