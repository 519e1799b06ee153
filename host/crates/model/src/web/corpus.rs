//! The suite's own web: pages in the pack, found by full text. The search is the one of the tool apps
//! (stemmed words, BM25): a search engine with files and threads of its own would be the larger part of the program.

use pibench_search::rank;

use super::{ExtractMode, Hit, WebError};
use pibench_suite::suite::Page;

/// Characters of an excerpt.
const EXCERPT: usize = 300;

/// Pages, and what is searched of them: titles and texts.
#[derive(Debug, Default)]
pub struct Corpus {
    pages: Vec<Page>,
    /// What is searched of each page. Not an index: that of the SDK holds on the thread alone that made it.
    texts: Vec<String>,
}

impl Corpus {
    pub fn new(pages: Vec<Page>) -> Self {
        let texts = pages
            .iter()
            // What stands in the title says more of a page than what stands in its text.
            .map(|page| format!("{}\n{}\n{}", page.title, page.title, page.text))
            .collect();
        Self { pages, texts }
    }

    /// The best pages first.
    pub(super) fn search(&self, query: &str, count: usize) -> Vec<Hit> {
        let places = rank(query, &self.texts);
        let hits = places.into_iter().take(count).map(|place| {
            let Page { url, title, text } = &self.pages[place];
            Hit {
                title: title.clone(),
                url: url.clone(),
                excerpt: excerpt(text, query),
            }
        });
        hits.collect()
    }

    /// The page of an address. A fragment, a trailing slash and the case of the host make no difference.
    pub(super) fn page(&self, url: &str, mode: ExtractMode) -> Result<Page, WebError> {
        let wanted = canonical(url);
        let found = self
            .pages
            .iter()
            .find(|page| canonical(&page.url) == wanted);
        let page = found.ok_or_else(|| WebError::Fetch {
            url: url.into(),
            reason: "there is no such page; web_search finds those that there are".into(),
        })?;
        let text = match mode {
            ExtractMode::Markdown => page.text.clone(),
            ExtractMode::Text => plain(&page.text),
        };
        Ok(Page {
            text,
            ..page.clone()
        })
    }
}

fn canonical(url: &str) -> String {
    let url = url
        .split('#')
        .next()
        .unwrap_or_default()
        .trim_end_matches('/');
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(end);
            format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
        }
        None => url.to_owned(),
    }
}

/// The paragraph that has the most of the query's words, in part.
fn excerpt(text: &str, query: &str) -> String {
    let paragraphs: Vec<&str> = text
        .split("\n\n")
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty() && !paragraph.starts_with('#'))
        .collect();
    let best = rank(query, &paragraphs);
    let chosen = best.first().map_or(0, |place| *place);
    let paragraph = paragraphs.get(chosen).copied().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept: String = line.chars().take(EXCERPT).collect();
    if kept.len() < line.len() {
        format!("{kept} ...")
    } else {
        kept
    }
}

/// Markdown without its marks: headings, emphasis, list points and the addresses of links.
pub(super) fn plain(markdown: &str) -> String {
    let lines = markdown.lines().map(|line| {
        let line = line.trim_start_matches(['#', '>']).trim_start();
        let line = line
            .strip_prefix("- ")
            .or(line.strip_prefix("* "))
            .unwrap_or(line);
        without_links(&line.replace("**", "").replace('`', ""))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `[text](address)` as `text`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('[') {
        let Some((label, after)) = rest[start + 1..].split_once("](") else {
            break;
        };
        let Some((_, after)) = after.split_once(')') else {
            break;
        };
        text.push_str(&rest[..start]);
        text.push_str(label);
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Corpus {
        let page = |url: &str, title: &str, text: &str| Page {
            url: url.into(),
            title: title.into(),
            text: text.into(),
        };
        Corpus::new(vec![
            page(
                "https://tides.example/harbour",
                "Harbour tides",
                "# Tides\n\nHigh water is at noon.\n\nLow water is at six.",
            ),
            page(
                "https://news.example/Budget/",
                "The town's budget",
                "The council raised the fees for moorings.",
            ),
        ])
    }

    #[test]
    fn pages_are_found_by_their_words_in_any_inflection() {
        let corpus = corpus();
        let urls = |query: &str| -> Vec<String> {
            corpus
                .search(query, 10)
                .into_iter()
                .map(|hit| hit.url)
                .collect()
        };
        assert_eq!(urls("mooring fee"), ["https://news.example/Budget/"]);
        assert_eq!(urls("low waters"), ["https://tides.example/harbour"]);
        assert!(urls("zebra").is_empty());
        let page = Page {
            url: "https://seoul.example/".into(),
            title: "전세 안내".into(),
            text: "전세보증금은 주민센터에서 확정일자를 받아야 보호됩니다.".into(),
        };
        let korean = Corpus::new(vec![page]);
        assert_eq!(korean.search("확정일자", 10).len(), 1);
        assert!(korean.search("보험", 10).is_empty());
    }

    #[test]
    fn an_excerpt_is_the_paragraph_that_answers() {
        assert_eq!(
            corpus().search("low water", 1)[0].excerpt,
            "Low water is at six."
        );
    }

    #[test]
    fn a_page_has_one_address_however_it_is_written() {
        let corpus = corpus();
        for url in [
            "https://news.example/Budget",
            "HTTPS://News.example/Budget/#fees",
        ] {
            assert_eq!(
                corpus.page(url, ExtractMode::Markdown).unwrap().title,
                "The town's budget",
                "{url}"
            );
        }
        for url in [
            "https://news.example/budget",
            "https://news.example/",
            "Budget",
            "",
        ] {
            let error = corpus
                .page(url, ExtractMode::Markdown)
                .unwrap_err()
                .to_string();
            assert!(error.contains("no such page"), "{error}");
        }
    }

    #[test]
    fn plain_text_has_no_marks() {
        assert_eq!(
            plain("# Title\n- **one** [two](https://x.example) [three\n> `four`"),
            "Title\none two [three\nfour"
        );
    }
}
