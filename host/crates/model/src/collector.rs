//! Sends spans to a collector of the operator's: OTLP over HTTP, as JSON, from a thread of its own. It waits for nobody and
//! nobody waits for it: what finds no room or is not taken is lost, counted, and told at the end. It knows nothing of what the
//! spans say, and shows neither headers nor the part of an address that could hold a key.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde_json::{Value, json};
use thiserror::Error;

use super::provider::Environment;

/// Spans that wait to be sent; those of a thousand episodes' turns.
const ROOM: usize = 8_192;

/// Bytes of messages in the spans that wait.
const ROOM_BYTES: usize = 64 << 20;

/// Spans of one request.
const BATCH: usize = 512;

/// Bytes of messages that are enough for one request: collectors take 20 MiB.
const BATCH_BYTES: usize = 4 << 20;

/// How long spans gather before they are sent.
const GATHER: Duration = Duration::from_secs(1);

/// Time to reach the collector, and for its answer.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(5);

/// How long the end of a run waits for what is still to be sent.
const FLUSH: Duration = Duration::from_secs(3);

/// Bytes of an answer that are read.
const ANSWER_LIMIT: usize = 64 << 10;

/// The path of spans below a collector's address.
const PATH: &str = "v1/traces";

/// The variable that holds the address of spans itself.
const WHOLE: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/// The one word of OpenTelemetry by which an operator asks for messages, of all programs.
const CAPTURE: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// Why no spans can be sent.
#[derive(Debug, Error)]
pub enum CollectorError {
    #[error(
        "use {source_of} as a collector's address: want http://HOST:PORT or https://..., as in http://127.0.0.1:4318"
    )]
    BadUrl { source_of: String },
    #[error(
        "read {variable}: want name=value pairs with commas between, and values that can stand in an HTTP header"
    )]
    BadHeaders { variable: String },
    #[error(
        "send spans: {variable} is `{value}`, and they are sent as http/json only; name a collector's HTTP address by --otlp"
    )]
    Protocol { variable: String, value: String },
    #[error(
        "send messages: no collector is named; give its HTTP address, as in --otlp http://127.0.0.1:4318"
    )]
    Nowhere,
    #[error("set up the way to the collector: {reason}")]
    Setup { reason: String },
}

/// Where spans go.
pub struct Target {
    url: Url,
    headers: HeaderMap,
    service: String,
    messages: bool,
}

impl Target {
    /// By the command line (`asked`), else by the variables of OpenTelemetry; None: nowhere. `messages` asks for their text too.
    pub fn find(
        asked: Option<&str>,
        messages: bool,
        environment: Environment<'_>,
    ) -> Result<Option<Self>, CollectorError> {
        let variable = |names: [&str; 2]| {
            let mut found = names.into_iter().filter_map(|name| {
                let value = environment(name).filter(|value| !value.is_empty())?;
                Some((name.to_owned(), value))
            });
            found.next()
        };
        let url = if let Some(asked) = asked {
            below(asked, &format!("--otlp {asked}"))?
        } else {
            let is = |name: &str, value: &str| environment(name).is_some_and(|is| is == value);
            if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
                return nowhere(messages);
            }
            let Some((name, value)) = variable([WHOLE, "OTEL_EXPORTER_OTLP_ENDPOINT"]) else {
                return nowhere(messages);
            };
            let protocol = [
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
                "OTEL_EXPORTER_OTLP_PROTOCOL",
            ];
            if let Some((variable, value)) = variable(protocol).filter(|(_, value)| value == "grpc")
            {
                return Err(CollectorError::Protocol { variable, value });
            }
            if name == WHOLE {
                read(&value, &name)?
            } else {
                below(&value, &name)?
            }
        };
        let headers = [
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
            "OTEL_EXPORTER_OTLP_HEADERS",
        ];
        let headers = match variable(headers) {
            Some((name, value)) => {
                pairs(&value).ok_or(CollectorError::BadHeaders { variable: name })?
            }
            None => HeaderMap::new(),
        };
        let service = environment("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
        Ok(Some(Self {
            url,
            headers,
            service: service.unwrap_or_else(|| "pibench-host".into()),
            messages: messages || environment(CAPTURE).is_some_and(|asked| captures(&asked)),
        }))
    }
}

/// Messages that were asked for have to go somewhere.
fn nowhere(messages: bool) -> Result<Option<Target>, CollectorError> {
    if messages {
        return Err(CollectorError::Nowhere);
    }
    Ok(None)
}

/// Whether the variable asks for messages in spans: `true`, or what newer programs know.
fn captures(asked: &str) -> bool {
    ["true", "span_only", "span_and_event"]
        .iter()
        .any(|word| asked.eq_ignore_ascii_case(word))
}

/// An address; `named`: where it is from, which is told and is the address itself only where that was typed.
fn read(address: &str, named: &str) -> Result<Url, CollectorError> {
    let bad = || CollectorError::BadUrl {
        source_of: if named.contains('@') { "--otlp" } else { named }.to_owned(),
    };
    let url = Url::parse(address).map_err(|_| bad())?;
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host();
    fits.then_some(url).ok_or_else(bad)
}

/// The address of spans below a collector's.
fn below(address: &str, named: &str) -> Result<Url, CollectorError> {
    let mut url = read(address, named)?;
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with(PATH) {
        url.set_path(&format!("{path}/{PATH}"));
    }
    Ok(url)
}

/// `name=value` pairs with commas between, values percent-encoded.
fn pairs(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = percent_encoding::percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let mut value = HeaderValue::from_bytes(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value);
    }
    Some(headers)
}

/// A way to a collector. Clones share it; with the last one it is closed, which takes 3 seconds at most.
#[derive(Clone)]
pub struct Collector {
    line: Arc<Line>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Collector")
            .field(&self.line.host)
            .finish()
    }
}

/// A span that waits to be sent, and the bytes of its messages.
type Waiting = (Value, usize);

struct Line {
    /// None once it is closed.
    queue: Option<SyncSender<Waiting>>,
    /// What went wrong last, when all is sent.
    done: Mutex<Receiver<Option<String>>>,
    lost: Arc<AtomicU64>,
    host: String,
    tell: fn(&str),
    messages: bool,
    /// Bytes of messages that were handed over and are not sent.
    waiting: Arc<AtomicUsize>,
}

impl Collector {
    /// Begins to send. `tell` is told at the end what was lost.
    pub fn open(target: Target, tell: fn(&str)) -> Result<Self, CollectorError> {
        let setup = |reason: String| CollectorError::Setup { reason };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| setup(error.to_string()))?;
        let http = client(&target).map_err(|error| setup(error.to_string()))?;
        let (queue, spans) = sync_channel(ROOM);
        let (finish, done) = sync_channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        let host = target.url.host_str().unwrap_or_default().to_owned();
        let counted = Arc::clone(&lost);
        let messages = target.messages;
        let waiting = Arc::new(AtomicUsize::new(0));
        let held = Arc::clone(&waiting);
        let work = move || {
            let failure = work(&spans, &counted, &held, |batch| {
                runtime.block_on(send(&http, &target, batch))
            });
            let _ = finish.send(failure);
        };
        let thread = std::thread::Builder::new().name("collector".into());
        thread
            .spawn(work)
            .map_err(|error| setup(error.to_string()))?;
        Ok(Self {
            line: Arc::new(Line {
                queue: Some(queue),
                done: Mutex::new(done),
                lost,
                host,
                tell,
                messages,
                waiting,
            }),
        })
    }

    /// Whether the text of messages is asked for.
    pub fn takes_messages(&self) -> bool {
        self.line.messages
    }

    /// Hands over a span, as OTLP writes it in JSON, with so many bytes of messages. Never waits.
    pub fn take(&self, span: Value, bytes: usize) {
        let Line {
            queue,
            lost,
            waiting,
            ..
        } = &*self.line;
        let held = waiting.fetch_add(bytes, Ordering::Relaxed);
        let has_room = held + bytes <= ROOM_BYTES;
        let sent = queue
            .as_ref()
            .filter(|_| has_room)
            .is_some_and(|queue| queue.try_send((span, bytes)).is_ok());
        if !sent {
            waiting.fetch_sub(bytes, Ordering::Relaxed);
            lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.queue = None;
        let done = self
            .done
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let failure = done.recv_timeout(FLUSH);
        let lost = self.lost.load(Ordering::Relaxed);
        let host = &self.host;
        match failure {
            Ok(None) if lost == 0 => {}
            Ok(reason) => {
                let reason = reason.unwrap_or_else(|| "it was too slow".into());
                (self.tell)(&format!(
                    "{lost} spans are lost: the collector at {host}: {reason}"
                ));
            }
            Err(_) => (self.tell)(&format!(
                "the last spans are lost, and {lost} before them: the collector at {host} is too slow"
            )),
        }
    }
}

fn client(target: &Target) -> reqwest::Result<Client> {
    let mut http = pibench_tls::client();
    // A slim machine has no certificates.
    if target.url.scheme() == "http" {
        http = http.tls_certs_only([]);
    }
    http.connect_timeout(CONNECT)
        .timeout(ANSWER)
        // A redirect could carry the headers to a server that nobody chose.
        .redirect(Policy::none())
        .user_agent(concat!("pibench-host/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Sends what comes until nothing will; what went wrong last.
fn work(
    spans: &Receiver<Waiting>,
    lost: &AtomicU64,
    waiting: &AtomicUsize,
    send: impl Fn(Vec<Value>) -> Result<u64, String>,
) -> Option<String> {
    let mut failure = None;
    while let Ok(first) = spans.recv() {
        let (mut batch, mut bytes) = (vec![first.0], first.1);
        let until = Instant::now() + GATHER;
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((span, more)) => {
                    batch.push(span);
                    bytes += more;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let count = batch.len() as u64;
        let taken = send(batch);
        waiting.fetch_sub(bytes, Ordering::Relaxed);
        match taken {
            Ok(0) => {}
            Ok(rejected) => {
                lost.fetch_add(rejected, Ordering::Relaxed);
                failure = Some("it rejected them".into());
            }
            Err(reason) => {
                lost.fetch_add(count, Ordering::Relaxed);
                failure = Some(reason);
            }
        }
    }
    failure
}

/// Sends spans in one request; how many of them the collector says it rejected.
async fn send(http: &Client, target: &Target, spans: Vec<Value>) -> Result<u64, String> {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let version = env!("CARGO_PKG_VERSION");
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": [text("service.name", &target.service), text("service.version", version)] },
        "scopeSpans": [{ "scope": { "name": "pibench-host", "version": version }, "spans": spans }],
    }] });
    // An error's own words may hold the address.
    let broken = |error: reqwest::Error| {
        let why = match &error {
            error if error.is_timeout() => "it does not answer in time",
            error if error.is_connect() => "it cannot be reached",
            _ => "the connection broke",
        };
        why.to_owned()
    };
    let request = http
        .post(target.url.clone())
        .headers(target.headers.clone());
    let mut response = request.json(&body).send().await.map_err(broken)?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("it answers with status {}", status.as_u16()));
    }
    let mut answer = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if answer.len() + piece.len() > ANSWER_LIMIT {
            return Ok(0);
        }
        answer.extend_from_slice(&piece);
    }
    // A count of 64 bits is a text in JSON; some write a number.
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let rejected = &answer["partialSuccess"]["rejectedSpans"];
    let rejected = rejected
        .as_u64()
        .or_else(|| rejected.as_str()?.parse().ok());
    Ok(rejected.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(asked: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Target>, String> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Target::find(asked, false, &environment).map_err(|error| error.to_string())
    }

    fn url(asked: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        Some(find(asked, variables).unwrap()?.url.to_string())
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");

    #[test]
    fn an_address_is_that_of_the_command_line_else_of_the_variables_else_none() {
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/in");
        let of = |asked, variables: &[_]| url(asked, variables);
        assert_eq!(of(None, &[]), None);
        assert_eq!(of(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), None);
        assert_eq!(of(None, &[BASE]).unwrap(), "http://c:4318/v1/traces");
        assert_eq!(of(None, &[BASE, traces]).unwrap(), "http://t:1/in");
        assert_eq!(
            of(Some("https://o/x"), &[BASE]).unwrap(),
            "https://o/x/v1/traces"
        );
        assert_eq!(
            of(Some("http://o/v1/traces"), &[]).unwrap(),
            "http://o/v1/traces"
        );
        assert_eq!(of(None, &[BASE, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(of(None, &[BASE, ("OTEL_TRACES_EXPORTER", "none")]), None);
    }

    #[test]
    fn a_wrong_address_header_or_protocol_is_told_without_its_secret() {
        let error = |asked, variables: &[_]| find(asked, variables).err().unwrap();
        assert!(error(Some("collector:4318"), &[]).contains("--otlp collector:4318"));
        let secret = error(Some("ftp://me:pass@c"), &[]);
        assert!(
            secret.contains("--otlp") && !secret.contains("pass"),
            "{secret}"
        );
        let unset = error(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "c")]);
        assert!(unset.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{unset}");
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "secret");
        let headers = error(None, &[BASE, headers]);
        assert!(headers.contains("OTEL_EXPORTER_OTLP_HEADERS") && !headers.contains("secret"));
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        assert!(error(None, &[BASE, grpc]).contains("grpc"));
        assert!(find(Some("http://c"), &[grpc]).is_ok());
    }

    #[test]
    fn headers_are_read_decoded_and_hidden() {
        let headers = pairs("a=1, authorization=Basic%20eA==,").unwrap();
        assert_eq!(headers["a"], "1");
        assert_eq!(headers["authorization"], "Basic eA==");
        assert!(!format!("{headers:?}").contains("eA"));
        assert_eq!(pairs("a"), None);
        assert_eq!(pairs("a=%0a"), None);
    }

    #[test]
    fn what_is_not_taken_is_counted() {
        let (queue, spans) = sync_channel(3);
        for number in 0..3 {
            queue.send((json!(number), 5)).unwrap();
        }
        drop(queue);
        let lost = AtomicU64::new(0);
        let waiting = AtomicUsize::new(15);
        let failure = work(&spans, &lost, &waiting, |batch| {
            assert_eq!(batch.len(), 3);
            Ok(2)
        });
        assert_eq!((lost.load(Ordering::Relaxed), failure.is_some()), (2, true));
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn large_messages_are_requests_of_their_own() {
        let (queue, spans) = sync_channel(3);
        for number in 0..3 {
            queue.send((json!(number), BATCH_BYTES)).unwrap();
        }
        drop(queue);
        let waiting = AtomicUsize::new(3 * BATCH_BYTES);
        let batches = AtomicU64::new(0);
        let failure = work(&spans, &AtomicU64::new(0), &waiting, |batch| {
            batches.fetch_add(1, Ordering::Relaxed);
            assert_eq!(batch.len(), 1);
            Ok(0)
        });
        assert_eq!((batches.load(Ordering::Relaxed), failure), (3, None));
    }

    #[test]
    fn messages_go_only_where_they_are_asked_for() {
        let of = |messages, variables: &[(&str, &str)]| {
            let environment = |name: &str| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Target::find(None, messages, &environment)
        };
        let asks = |messages, variables: &[_]| of(messages, variables).unwrap().unwrap().messages;
        assert!(!asks(false, &[BASE]));
        assert!(asks(true, &[BASE]));
        assert!(asks(false, &[BASE, (CAPTURE, "True")]));
        assert!(asks(false, &[BASE, (CAPTURE, "SPAN_ONLY")]));
        for other in ["false", "", "EVENT_ONLY", "1"] {
            assert!(!asks(false, &[BASE, (CAPTURE, other)]), "{other}");
        }
        let error = of(true, &[]).err().unwrap().to_string();
        assert!(error.contains("--otlp http"), "{error}");
    }
}
