//! The real web, for suites whose operator asks for it: a search service, and pages from public addresses only. Each
//! hop of a redirect is looked at anew, names are resolved by the same guard that the connection uses, and no proxy of
//! the environment stands in between. No cookie is kept and no key goes to a page.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::address::is_public;
use super::corpus::plain;
use super::{ExtractMode, Hit, PageReader, Readable, Unreadable, WebError};
use pibench_memory::hold;
use pibench_suite::suite::Page;

/// Redirects that are followed.
const MAX_HOPS: usize = 5;

/// Bytes of a page, unpacked: what is longer is cut.
const MAX_BYTES: usize = 5 << 20;

/// Wall clock of one connection and of one answer.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(30);

/// The address of Brave's search.
const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";

/// The real web.
#[derive(Debug)]
pub struct Live {
    engine: Engine,
    /// For the search service, whose address is the operator's choice.
    service: Client,
    /// For pages.
    pages: Client,
    public: fn(IpAddr) -> bool,
}

/// A search service.
#[derive(Clone)]
pub enum Engine {
    Brave { url: String, key: String },
    SearXng { url: String },
}

impl Engine {
    /// Brave's own address, with the operator's key.
    pub fn brave(key: String) -> Self {
        let url = BRAVE.into();
        Self::Brave { url, key }
    }

    /// A `SearXNG` server at an address without `/search`.
    pub fn searxng(url: &str) -> Self {
        let url = format!("{}/search", url.trim_end_matches('/'));
        Self::SearXng { url }
    }
}

/// The key stays out of every log.
impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Brave { url, .. } => write!(f, "Brave at {url}"),
            Self::SearXng { url } => write!(f, "SearXNG at {url}"),
        }
    }
}

impl Live {
    pub fn new(engine: Engine) -> Result<Self, String> {
        Self::with(engine, Arc::new(System), is_public)
    }

    fn with(
        engine: Engine,
        resolver: Arc<dyn Resolve>,
        public: fn(IpAddr) -> bool,
    ) -> Result<Self, String> {
        let client = || {
            pibench_tls::client()
                .redirect(Policy::none())
                .no_proxy()
                .connect_timeout(CONNECT)
                .timeout(ANSWER)
                .user_agent(concat!("pibench-host/", env!("CARGO_PKG_VERSION")))
        };
        let guarded = Guarded { resolver, public };
        Ok(Self {
            engine,
            service: client().build().map_err(|error| error.to_string())?,
            pages: client()
                .dns_resolver(Arc::new(guarded))
                .build()
                .map_err(|error| error.to_string())?,
            public,
        })
    }

    pub(super) async fn search(&self, query: &str, count: usize) -> Result<Vec<Hit>, WebError> {
        let failed = |reason: String| WebError::Search {
            query: query.into(),
            reason,
        };
        let count_text = count.to_string();
        let (url, parameter, key) = match &self.engine {
            Engine::Brave { url, key } => (url, ("count", count_text.as_str()), Some(key)),
            Engine::SearXng { url } => (url, ("format", "json"), None),
        };
        let url = Url::parse_with_params(url, [("q", query), parameter])
            .map_err(|error| failed(format!("the search service's address: {error}")))?;
        let mut request = self.service.get(url);
        if let Some(key) = key {
            request = request.header("X-Subscription-Token", key);
        }
        let response = request.send().await;
        // The address of a request may hold what was asked, but never the key: it is a header.
        let response = response.map_err(|error| failed(error.without_url().to_string()))?;
        if !response.status().is_success() {
            return Err(failed(format!(
                "the search service answered {}",
                response.status()
            )));
        }
        let body = body(response).await.map_err(|cut| cut.told(failed))?;
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| failed(format!("the search service answered no JSON: {error}")))?;
        Ok(hits(&self.engine, &answer, count))
    }

    pub(super) async fn page(
        &self,
        address: &str,
        mode: ExtractMode,
        reader: &dyn PageReader,
    ) -> Result<Page, WebError> {
        let failed = |reason: String| WebError::Fetch {
            url: address.into(),
            reason,
        };
        let mut url = Url::parse(address).map_err(|error| failed(error.to_string()))?;
        for _ in 0..=MAX_HOPS {
            self.check(&url).map_err(failed)?;
            let response = self.pages.get(url.clone()).send().await;
            let response = response.map_err(|error| failed(reason(&error)))?;
            let status = response.status();
            if status.is_redirection() {
                let target = response.headers().get(LOCATION);
                let target = target.and_then(|value| value.to_str().ok());
                let target =
                    target.ok_or_else(|| failed(format!("{status} without an address")))?;
                url = url
                    .join(target)
                    .map_err(|error| failed(error.to_string()))?;
                continue;
            }
            if !status.is_success() {
                return Err(failed(format!("the server answered {status}")));
            }
            return read(url, response, mode, reader)
                .await
                .map_err(|cut| cut.told(failed));
        }
        Err(failed(format!("more than {MAX_HOPS} redirects")))
    }

    /// What of an address can be told before it is resolved.
    fn check(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{}` is neither http nor https", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the address holds a name or a password".into());
        }
        // A literal address is never resolved, so the guard of names does not see it.
        let host = url.host_str().ok_or("the address has no host")?;
        match host.trim_matches(['[', ']']).parse() {
            Ok(address) if !(self.public)(address) => Err(private(address)),
            _ => Ok(()),
        }
    }
}

fn private(address: IpAddr) -> String {
    format!("{address} is not an address of the public web")
}

/// The innermost cause: what is around it repeats the address.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Resolves names, and hands out public addresses only. The connection is made to what it hands out, so that no second
/// answer can come in between.
struct Guarded {
    resolver: Arc<dyn Resolve>,
    public: fn(IpAddr) -> bool,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let public = self.public;
        let resolving = self.resolver.resolve(name);
        Box::pin(async move {
            let found: Vec<SocketAddr> = resolving.await?.collect();
            // One private address is enough: a name that has both is no mistake.
            if let Some(address) = found.iter().find(|address| !public(address.ip())) {
                return Err(private(address.ip()).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The system's resolver.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

impl Unreadable {
    fn told(self, failed: impl FnOnce(String) -> WebError) -> WebError {
        match self {
            Self::Page(reason) => failed(reason),
            Self::Crowded(crowded) => WebError::Crowded(crowded),
            Self::Machine(reason) => WebError::Machine(reason),
        }
    }
}

/// The body up to `MAX_BYTES`. While it comes it can be ended.
async fn body(mut response: Response) -> Result<Vec<u8>, Unreadable> {
    let mut body = Vec::new();
    let holding = hold(|| {
        let host = response.url().host_str().unwrap_or("the web");
        format!("a page of {host}")
    });
    let broken = |error| Unreadable::Page(reason(&error));
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        let room = MAX_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        holding.set(body.len());
        if let Some(crowded) = holding.ended() {
            return Err(Unreadable::Crowded(crowded));
        }
        if body.len() == MAX_BYTES {
            break;
        }
    }
    Ok(body)
}

async fn read(
    url: Url,
    response: Response,
    mode: ExtractMode,
    reader: &dyn PageReader,
) -> Result<Page, Unreadable> {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind
        .and_then(|value| value.to_str().ok())
        .unwrap_or("text/html")
        .to_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let is_html = kind == "text/html" || kind == "application/xhtml+xml";
    let is_text = kind.starts_with("text/") || kind.ends_with("json") || kind.ends_with("xml");
    if !is_html && !is_text {
        let reason = format!("it is of type {kind}, and only text can be shown");
        return Err(Unreadable::Page(reason));
    }
    let body = body(response).await?;
    let url = url.to_string();
    if !is_html {
        return Ok(Page {
            title: url.clone(),
            url,
            text: String::from_utf8_lossy(&body).into_owned(),
        });
    }
    let Readable { title, text } = reader.read(&body).await?;
    let text = match mode {
        ExtractMode::Markdown => text,
        ExtractMode::Text => plain(&text),
    };
    let title = if title.is_empty() { url.clone() } else { title };
    Ok(Page {
        url,
        title,
        text: text.trim().to_owned(),
    })
}

/// The results of an answer; what has no address is left out.
fn hits(engine: &Engine, answer: &Value, count: usize) -> Vec<Hit> {
    let (place, excerpt) = match engine {
        Engine::Brave { .. } => ("/web/results", "description"),
        Engine::SearXng { .. } => ("/results", "content"),
    };
    let results = answer.pointer(place).and_then(Value::as_array);
    let hit = |result: &Value| {
        let text = |key: &str| result[key].as_str().unwrap_or_default().trim().to_owned();
        let url = text("url");
        (!url.is_empty()).then(|| Hit {
            title: text("title"),
            excerpt: text(excerpt),
            url,
        })
    };
    results
        .into_iter()
        .flatten()
        .filter_map(hit)
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests;
