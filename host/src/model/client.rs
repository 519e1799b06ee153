//! Asks a model over HTTP and comes back with a reply or a typed error: attempts, waits, time and size limits. What a
//! message looks like on the wire is `wire`'s to know; nothing here reads or judges an answer's content. The key is in
//! no message, log or debug output.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::Retryable;
use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::provider::{Endpoint, Environment, ProviderError};
use super::retry::{LONGEST_RETRY_AFTER, Pause, backoff, retry_after};
use super::wire::{Unreadable, openai};
use super::{ChatRequest, ModelError, Reply};
use crate::task::manifest::ProviderFile;

/// Time to reach a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time of one attempt, from the first byte sent to the last received: thinking models are silent for minutes.
const ATTEMPT_TIMEOUT: Duration = Duration::from_mins(10);

/// Bytes of one answer after decompression; the longest output of any model today is a tenth of it. Stops a server that
/// sends without end, and compressed bombs.
const ANSWER_LIMIT: usize = 16 << 20;

/// Bytes that are read of an error's body.
const ERROR_LIMIT: usize = 64 << 10;

/// Characters of a server's own words in a message.
const WORDS_LIMIT: usize = 600;

/// Attempts at an answer that arrives but cannot be read. Fewer than for broken connections: each may be paid for.
const UNREADABLE_ATTEMPTS: usize = 3;

/// A model behind HTTP. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    http: reqwest::Client,
    pause: Pause,
    /// Turns false for good when the model refuses one.
    takes_temperature: AtomicBool,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.shared.endpoint.label();
        formatter.debug_tuple("Client").field(&label).finish()
    }
}

impl Client {
    /// The model `PROVIDER/MODEL`; the first slash splits. `providers` are the suite's, which go before built-in ones
    /// of the same name. The key is read from `environment` now, and never again.
    pub fn new(
        spec: &str,
        providers: &BTreeMap<String, ProviderFile>,
        environment: Environment<'_>,
    ) -> Result<Self, ProviderError> {
        Self::with_pause(spec, providers, environment, Pause::Real)
    }

    fn with_pause(
        spec: &str,
        providers: &BTreeMap<String, ProviderFile>,
        environment: Environment<'_>,
        pause: Pause,
    ) -> Result<Self, ProviderError> {
        let endpoint = Endpoint::resolve(spec, providers, environment)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ATTEMPT_TIMEOUT)
            // A redirect could carry the key and the task's secrets to a server that nobody chose.
            .redirect(Policy::none())
            .user_agent(concat!("pibench-host/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ProviderError::Setup {
                spec: spec.to_owned(),
                reason: reasons(&error),
            })?;
        let takes_temperature = AtomicBool::new(endpoint.temperature);
        let shared = Shared {
            endpoint,
            http,
            pause,
            takes_temperature,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// A client whose waits pass at once, noted in `pause`.
    #[cfg(test)]
    pub(crate) fn for_test(base_url: &str, pause: Pause) -> Self {
        let file = ProviderFile {
            base_url: base_url.to_owned(),
            key_env: Some("TEST_KEY".into()),
            temperature: true,
        };
        let providers = BTreeMap::from([("test".to_owned(), file)]);
        let key = |_: &str| Some("sk-test-0123456789".to_owned());
        Self::with_pause("test/model", &providers, &key, pause).unwrap()
    }

    /// As it was asked for: `PROVIDER/MODEL`.
    pub fn spec(&self) -> &str {
        &self.shared.endpoint.spec
    }

    /// Whether a temperature is sent when a request has one. Settled once the model has answered.
    pub fn takes_temperature(&self) -> bool {
        self.shared.takes_temperature.load(Ordering::Relaxed)
    }

    /// Asks for one reply.
    ///
    /// Asked again: status 408, 409, 429, 5xx and broken or stalled connections, 7 attempts in all, and answers that
    /// cannot be read, 3 attempts. Then, and at once for a wrong key, an unpaid account or an unknown address or model
    /// (401, 402, 404, redirects: nothing that the model did), it is [`ModelError::Infrastructure`]. Every other 4xx, JSON
    /// of the wrong shape (after its 3 attempts) and an answer over 16 MiB are [`ModelError::Refused`]. A model that
    /// refuses a temperature is asked without it, then and from then on.
    pub async fn chat(&self, request: ChatRequest<'_>) -> Result<Reply, ModelError> {
        let temperature = request.temperature.filter(|_| self.takes_temperature());
        let request = ChatRequest {
            temperature,
            ..request
        };
        let result = match self.ask(request).await {
            Err(failure) if temperature.is_some() && failure.is_about_temperature() => {
                self.shared
                    .takes_temperature
                    .store(false, Ordering::Relaxed);
                let without = ChatRequest {
                    temperature: None,
                    ..request
                };
                self.ask(without).await
            }
            result => result,
        };
        result
            .map(|reply| self.redacted(reply))
            .map_err(|failure| self.error(&failure))
    }

    async fn ask(&self, request: ChatRequest<'_>) -> Result<Reply, Failure> {
        let body = Bytes::from(openai::request(&self.shared.endpoint.model, request).to_string());
        let pause = self.shared.pause.clone();
        let mut unreadable = 0;
        (|| self.attempt(body.clone()))
            .retry(backoff())
            .sleep(move |wait| pause.clone().wait(wait))
            .adjust(move |failure: &Failure, wait| match failure {
                Failure::Trouble { retry_after, .. } => longer(wait?, *retry_after),
                Failure::NotJson { .. } | Failure::WrongShape { .. } => {
                    unreadable += 1;
                    wait.filter(|_| unreadable < UNREADABLE_ATTEMPTS)
                }
                Failure::Settings { .. } | Failure::Refused { .. } => None,
            })
            .notify(|failure, wait| self.note(failure, wait))
            .await
    }

    async fn attempt(&self, body: Bytes) -> Result<Reply, Failure> {
        let Shared { endpoint, http, .. } = &*self.shared;
        let mut request = http
            .post(endpoint.url.clone())
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = &endpoint.key {
            request = request.header(AUTHORIZATION, key.header());
        }
        let mut response = request.body(body).send().await.map_err(broken)?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let (body, cut) = read(&mut response, ANSWER_LIMIT).await.map_err(broken)?;
        if cut {
            let reason = format!("its answer is longer than {ANSWER_LIMIT} bytes");
            return Err(Failure::Refused { reason });
        }
        openai::reply(&body).map_err(|error| unreadable(error, &body))
    }

    fn note(&self, failure: &Failure, wait: Duration) {
        let server = self.shared.endpoint.label();
        let reason = self.redact(failure.reason().to_owned());
        tracing::warn!(%server, %reason, wait_ms = wait.as_millis(), "asking again");
    }

    fn error(&self, failure: &Failure) -> ModelError {
        let server = self.shared.endpoint.label();
        let reason = self.redact(failure.reason().to_owned());
        match failure {
            Failure::Trouble { .. } | Failure::NotJson { .. } | Failure::Settings { .. } => {
                ModelError::Infrastructure { server, reason }
            }
            Failure::WrongShape { .. } | Failure::Refused { .. } => {
                ModelError::Refused { server, reason }
            }
        }
    }

    fn redact(&self, text: String) -> String {
        match &self.shared.endpoint.key {
            Some(key) => key.redact(text),
            None => text,
        }
    }

    /// Replies go into the journal, where no key may stand, not even one that a server echoed.
    fn redacted(&self, mut reply: Reply) -> Reply {
        reply.text = self.redact(reply.text);
        reply.reasoning = reply.reasoning.map(|text| self.redact(text));
        for call in &mut reply.calls {
            for text in [&mut call.id, &mut call.name, &mut call.arguments] {
                *text = self.redact(std::mem::take(text));
            }
        }
        reply
    }
}

/// How an attempt failed.
#[derive(Debug)]
enum Failure {
    /// Busy, broken or stalled: asked again.
    Trouble {
        reason: String,
        retry_after: Option<Duration>,
    },
    /// No JSON: asked again a few times.
    NotJson { reason: String },
    /// JSON of the wrong shape: asked again a few times.
    WrongShape { reason: String },
    /// A wrong key, an unpaid account, an unknown address or model: for the operator to mend.
    Settings { reason: String },
    /// Refused for good.
    Refused { reason: String },
}

impl Failure {
    fn reason(&self) -> &str {
        match self {
            Self::Trouble { reason, .. }
            | Self::NotJson { reason }
            | Self::WrongShape { reason }
            | Self::Settings { reason }
            | Self::Refused { reason } => reason,
        }
    }

    /// A 4xx that names the temperature: reasoning models take their default only.
    fn is_about_temperature(&self) -> bool {
        matches!(self, Self::Refused { reason } if reason.contains("temperature"))
    }

    fn of_status(status: u16, words: &str, retry_after: Option<Duration>) -> Self {
        let reason = format!("status {status}: {}", one_line(words));
        match status {
            408 | 409 | 429 | 500.. => Self::Trouble {
                reason,
                retry_after,
            },
            300..=399 | 401 | 402 | 404 => Self::Settings { reason },
            _ => Self::Refused { reason },
        }
    }
}

/// The server's wait where it is the longer one; None where it is too long to sit out.
fn longer(own: Duration, servers: Option<Duration>) -> Option<Duration> {
    match servers {
        Some(wait) if wait > LONGEST_RETRY_AFTER => None,
        Some(wait) => Some(own.max(wait)),
        None => Some(own),
    }
}

fn broken(error: reqwest::Error) -> Failure {
    // The address may hold what the operator keeps to himself; the server is named by its label.
    Failure::Trouble {
        reason: reasons(&error.without_url()),
        retry_after: None,
    }
}

/// An error with its sources: the first alone says no more than "error sending request".
fn reasons(error: &reqwest::Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts.join(": ")
}

async fn refusal(mut response: Response) -> Failure {
    let status = response.status();
    let header = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok());
    let wait = header.and_then(|header| retry_after(header, Timestamp::now()));
    // A body that breaks off leaves the status, which says enough.
    let (body, _) = read(&mut response, ERROR_LIMIT).await.unwrap_or_default();
    Failure::of_status(status.as_u16(), &words(status, &body), wait)
}

/// The provider's own words.
fn words(status: StatusCode, body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    if let Some(message) = json.as_ref().and_then(openai::error_message) {
        return message;
    }
    let text = String::from_utf8_lossy(body).trim().to_owned();
    if text.is_empty() {
        return status
            .canonical_reason()
            .unwrap_or("no reason given")
            .to_owned();
    }
    text
}

fn unreadable(error: Unreadable, body: &[u8]) -> Failure {
    let excerpt = one_line(&String::from_utf8_lossy(
        &body[..body.len().min(ERROR_LIMIT)],
    ));
    match error {
        Unreadable::NotJson { reason } => Failure::NotJson {
            reason: format!("its answer is no JSON ({reason}): {excerpt}"),
        },
        Unreadable::WrongShape { reason } => Failure::WrongShape {
            reason: format!("its answer is no chat completion ({reason}): {excerpt}"),
        },
        Unreadable::Error { status: 0, message } => Failure::Refused {
            reason: one_line(&message),
        },
        Unreadable::Error { status, message } => Failure::of_status(status, &message, None),
    }
}

/// Foreign text for a message: bounded, and without line breaks or control characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .collect();
    let joined: String = words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match joined.char_indices().nth(WORDS_LIMIT) {
        Some((end, _)) => format!("{} ...", &joined[..end]),
        None => joined,
    }
}

/// The body up to `limit` bytes, and whether there was more.
async fn read(response: &mut Response, limit: usize) -> reqwest::Result<(BytesMut, bool)> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, true));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, false))
}
