//! Asks a model over HTTP and comes back with a reply or a typed error: attempts, waits, time and size limits. What a
//! message looks like on the wire is `wire`'s to know; nothing here reads or judges an answer's content. The key is in
//! no message, log or debug output.

mod failure;
mod remedy;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tracing::Instrument as _;
use tracing::field::Empty;

use super::ModelError;
use super::cassette::{Fingerprint, Question, Recorded, Tape};
use super::cut::{self, Count};
use super::gate::{Gate, Load};
use super::meter::Meter;
use super::place::Place;
use super::provider::{Endpoint, Environment, Key, ProviderError};
use super::retry::{ATTEMPTS, LONGEST_RETRY_AFTER, Pause, WINDOW, backoff, in_words, retry_after};
use super::told;
use super::wire::{self, Habits, Unreadable};
use failure::Failure;
use pibench_core::cost::Price;
use pibench_core::message::{ChatRequest, Reply, Role, Usage};
use pibench_core::player::ModelSettings;
use pibench_core::vocabulary::WireFormat;
use pibench_memory::{Crowded, hold};
use pibench_suite::catalog::Catalog;
use remedy::Mend;

/// Variables that name a proxy for `http` addresses.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Time to reach a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time of one attempt, from the first byte sent to the last received: thinking models are silent for minutes.
const ATTEMPT_TIMEOUT: Duration = Duration::from_mins(10);

/// Time between two pieces of an answer whose first has come: a connection that is silent for so long is stalled.
pub const STALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Bytes of one answer after decompression; the longest output of any model today is a tenth of it. Stops a server that
/// sends without end, and compressed bombs.
const ANSWER_LIMIT: usize = 16 << 20;

/// Bytes that are read of an error's body.
const ERROR_LIMIT: usize = 64 << 10;

/// What is said of a server that answers a greeting in TLS by other than TLS.
const NO_TLS: &str = "InvalidContentType";

/// Characters of a server's own words in a message.
const WORDS_LIMIT: usize = 600;

/// Attempts at an answer that arrives but cannot be read. Fewer than for broken connections: each may be paid for.
const UNREADABLE_ATTEMPTS: u32 = 3;

/// Tokens of an answer that is only to show that there is one. A model that thinks first may need more, and is given what it
/// has in the sessions.
const BRIEF: u32 = 1_024;

/// Attempts at it: who waits for it wants to know.
const BRIEF_ATTEMPTS: u32 = 4;

/// How long such a question waits in all for a server that is asked too much: many parts of one run may begin at once.
const BRIEF_WINDOW: Duration = Duration::from_mins(2);

/// Bytes of a request for each token, to keep to a rate before the true count is known. English prose has four.
const BYTES_PER_TOKEN: usize = 4;

/// The models of one run: what they share, and where they come from.
pub struct Clients<'a> {
    catalog: Catalog,
    environment: Environment<'a>,
    /// By whether it knows the machine's certificates, made for the first model that wants it.
    http: HashMap<bool, reqwest::Client>,
    gates: HashMap<String, Arc<Gate>>,
    tape: Arc<Tape>,
    meter: Arc<Meter>,
}

/// A model behind HTTP. Cheap to clone; clones share connections.
/// A wait for the operator's own rates is told from here on: shorter ones come and go with each call.
const TOLD_WAIT: Duration = Duration::from_secs(1);

/// Characters of a failure's reason where a wait is told: its status stands first.
const TOLD: usize = 40;

#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    place: Place,
    /// Whether short answers will do.
    brief: bool,
}

struct Shared {
    endpoint: Endpoint,
    role: Role,
    http: reqwest::Client,
    gate: Arc<Gate>,
    tape: Arc<Tape>,
    meter: Arc<Meter>,
    pause: Pause,
    stall: Duration,
    /// Turns false for good when the model refuses one.
    takes_temperature: AtomicBool,
    /// Turns true for good with the first answer that could be read: until then it may be no model's server at all.
    has_answered: AtomicBool,
    /// The last count of a request's tokens that was one of a cut request, and the fewest that it can have had.
    cut: Mutex<Option<(u64, u64)>>,
}

/// A reply, and how it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub reply: Reply,
    /// None: the model takes none, or none was asked for.
    pub temperature: Option<f64>,
    /// With a cache of judges' answers: what this one is the answer to, until it is kept.
    unkept: Option<Question>,
}

/// The time of a question: a model's work counts, waiting does not.
#[derive(Debug, Default)]
struct Time {
    /// None: as long as it takes.
    left: Option<Duration>,
    waited: Duration,
    /// Answers that were asked for and could not be used: calls of which nobody knows what they cost.
    spoiled: Usage,
}

/// What a question came to; where its time was used up, what that has cost.
type Asked = Result<Result<Answer, Usage>, ModelError>;

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.shared.endpoint.label();
        formatter.debug_tuple("Client").field(&label).finish()
    }
}

impl<'a> Clients<'a> {
    /// What becomes of the answers of models that are made from now on.
    pub fn tape(&mut self, tape: Tape) {
        self.tape = Arc::new(tape);
    }

    /// Models of the catalog. Keys are read from `environment` as models are made, and never again.
    pub fn new(catalog: Catalog, environment: Environment<'a>, tape: Tape) -> Self {
        Self {
            catalog,
            environment,
            http: HashMap::new(),
            gates: HashMap::new(),
            tape: Arc::new(tape),
            meter: Arc::default(),
        }
    }

    /// A client that reads the machine's certificates if it is to know them. Servers on the own machine need none, and
    /// slim containers have none.
    fn http(&mut self, certificates: bool) -> Result<reqwest::Client, ProviderError> {
        if let Some(http) = self.http.get(&certificates) {
            return Ok(http.clone());
        }
        let mut http = pibench_tls::client();
        if !certificates {
            http = http.tls_certs_only([]);
        }
        let http = http
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ATTEMPT_TIMEOUT)
            // A redirect could carry the key and the task's secrets to a server that nobody chose.
            .redirect(Policy::none())
            .user_agent(concat!("pibench-host/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ProviderError::Setup {
                reason: reasons(&error),
            })?;
        self.http.insert(certificates, http.clone());
        Ok(http)
    }

    /// A model by its preset's name or as `PROVIDER/MODEL`. A recording needs no key.
    pub fn client(&mut self, spec: &str, role: Role) -> Result<Client, ProviderError> {
        self.model_with(spec, role, Pause::Real, STALL_TIMEOUT)
    }

    /// Models that are made from now on are counted by this meter alone.
    pub fn count_by(&mut self, meter: Arc<Meter>) {
        self.meter = meter;
    }

    /// What all models of the run have spent.
    pub fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// The same, with another way to wait between attempts, and given up when nothing came for `stall`.
    pub fn model_with(
        &mut self,
        spec: &str,
        role: Role,
        pause: Pause,
        stall: Duration,
    ) -> Result<Client, ProviderError> {
        let needed = match *self.tape {
            Tape::Replay(_) | Tape::Silent => false,
            Tape::Off | Tape::Record(_) | Tape::Cache(_) => true,
        };
        let environment = self.environment;
        let endpoint = Endpoint::resolve(spec, role, &self.catalog, environment, needed)?;
        let has_tls = endpoint.url.scheme() == "https"
            // The proxy may speak it.
            || PROXIES.iter().any(|name| environment(name).is_some());
        let http = self.http(needed && has_tls)?;
        let gate = self
            .gates
            .entry(endpoint.provider.clone())
            .or_insert_with(|| Arc::new(Gate::new(endpoint.limits)));
        let shared = Shared {
            takes_temperature: AtomicBool::new(endpoint.temperature),
            has_answered: AtomicBool::new(false),
            cut: Mutex::default(),
            endpoint,
            role,
            http,
            gate: Arc::clone(gate),
            tape: Arc::clone(&self.tape),
            meter: Arc::clone(&self.meter),
            pause,
            stall,
        };
        Ok(Client {
            shared: Arc::new(shared),
            place: Place::default(),
            brief: false,
        })
    }
}

impl Client {
    /// The same model, asked from this place.
    #[must_use]
    pub fn at(&self, place: &Place) -> Self {
        Self {
            place: place.clone(),
            ..self.clone()
        }
    }

    /// The same model, asked for short answers, and less often when it cannot be reached.
    #[must_use]
    pub fn briefly(&self) -> Self {
        Self {
            brief: true,
            ..self.clone()
        }
    }

    /// As it was asked for: `PROVIDER/MODEL`, or a preset's name.
    pub fn spec(&self) -> &str {
        &self.shared.endpoint.spec
    }

    /// Whom it plays.
    pub fn role(&self) -> Role {
        self.shared.role
    }

    /// Tools that a request may have; None: as many as there are.
    pub fn max_tools(&self) -> Option<u32> {
        self.shared.endpoint.max_tools
    }

    /// The provider's name, in the catalog.
    pub fn provider(&self) -> &str {
        &self.shared.endpoint.provider
    }

    /// The variable that holds the key; None: the server needs none.
    pub fn key_env(&self) -> Option<&str> {
        self.shared.endpoint.key_env.as_deref()
    }

    /// Whether a key is sent.
    pub fn has_key(&self) -> bool {
        self.shared.endpoint.key.is_some()
    }

    /// Whether the server is reached with certificates.
    pub fn is_secured(&self) -> bool {
        self.shared.endpoint.url.scheme() == "https"
    }

    /// What of its entries changes its answers.
    pub fn settings(&self) -> ModelSettings {
        self.shared.endpoint.settings()
    }

    /// Its server, role and settings, and a digest of its key, in one text: while that is the same, so is the way to it.
    pub fn mark(&self) -> String {
        let endpoint = &self.shared.endpoint;
        let settings = serde_json::to_string(&self.settings()).unwrap_or_default();
        let key = endpoint.key.as_ref().map(Key::digest);
        let key = key.as_deref().unwrap_or("no key");
        format!(
            "{} as {:?} with {key}: {settings}",
            endpoint.label(),
            self.role()
        )
    }

    /// None: costs are unknown.
    pub fn price(&self) -> Option<Price> {
        self.shared.endpoint.price
    }

    /// Whether a temperature is sent when a request has one. Settled once the model has answered.
    pub fn takes_temperature(&self) -> bool {
        self.shared.takes_temperature.load(Ordering::Relaxed)
    }

    /// Whether it thinks in whatever role it plays.
    pub fn always_thinks(&self) -> bool {
        self.shared.endpoint.always_thinks
    }

    /// Whether it can be shown pictures.
    pub fn has_vision(&self) -> bool {
        self.shared.endpoint.vision
    }

    /// Whether the text of earlier thinking is sent again.
    pub(super) fn wants_thoughts(&self) -> bool {
        self.shared.endpoint.give_back.is_some()
    }

    /// Asks for one reply.
    ///
    /// Asked again: status 408, 409, 429, 5xx and broken or stalled connections, 7 attempts in all, and answers that
    /// cannot be read, 3 attempts; then it is [`ModelError::Infrastructure`]. So is an answer that the server says it broke off.
    /// Every other 4xx, redirects, a 429 of an empty account and a page for people before the first answer are
    /// [`ModelError::Setup`] at once: the operator mends it. So is a chat that is longer than the context, and one that the server
    /// cuts to it; of user agent and judge these are [`ModelError::Window`].
    /// A 400 or 403 over the content, an answer over 16 MiB or 200,000 values and a call that the server itself cannot read (after
    /// 3 attempts) are [`ModelError::Refused`], and so are JSON of the wrong shape (after its 3 attempts) and an error that says
    /// nothing known, once the model has answered: before, it is the operator's server that is wrong. A model that refuses a temperature is asked without it, then and from then on.
    pub async fn chat(&self, request: ChatRequest<'_>) -> Result<Reply, ModelError> {
        self.answer(request).await.map(|answer| answer.reply)
    }

    /// As [`Client::chat`], with the temperature that the model took.
    pub async fn answer(&self, request: ChatRequest<'_>) -> Result<Answer, ModelError> {
        let answer = self.ask_on_tape(request, &mut Time::default()).await?;
        // Without a limit no time is used up.
        answer.map_err(|_| ModelError::Infrastructure {
            server: self.shared.endpoint.label(),
            reason: "its time was used up".into(),
        })
    }

    /// Puts an answer that could be read into the judges' cache, if there is one and it came from the model. What could
    /// not be read is asked for again the next time.
    pub fn keep(&self, answer: &Answer) -> Result<(), ModelError> {
        let Answer {
            reply,
            temperature,
            unkept,
        } = answer;
        let (Tape::Cache(cassette), Some(question)) = (&*self.shared.tape, unkept) else {
            return Ok(());
        };
        let recorded = Recorded::Reply {
            reply: reply.clone(),
            temperature: *temperature,
        };
        cassette.keep(question.clone(), recorded)
    }

    /// Whether answers come from a recording, and nobody has to be waited for.
    pub fn is_replayed(&self) -> bool {
        matches!(*self.shared.tape, Tape::Replay(_))
    }

    /// Whether this request, made for the first time at this spot, is answered by whoever answers: a recording may be of
    /// before such requests were made.
    pub fn can_answer(&self, request: ChatRequest<'_>) -> bool {
        let Tape::Replay(cassette) = &*self.shared.tape else {
            return true;
        };
        let (Shared { endpoint, role, .. }, spot) = (&*self.shared, self.place.spot());
        let request = Fingerprint::of(request);
        let question = Question::new(spot, *role, &endpoint.spec, &request, 1);
        cassette.find(&question).is_some()
    }

    /// As [`super::Model::chat_within`].
    pub async fn chat_within(
        &self,
        request: ChatRequest<'_>,
        left: Duration,
    ) -> Result<Result<(Reply, Duration), Usage>, ModelError> {
        let mut time = Time {
            left: Some(left),
            ..Time::default()
        };
        let answer = self.ask_on_tape(request, &mut time).await?;
        Ok(answer.map(|answer| (answer.reply, time.waited)))
    }

    /// From the recording, or from the model and into the recording.
    async fn ask_on_tape(&self, request: ChatRequest<'_>, time: &mut Time) -> Asked {
        let Shared {
            endpoint,
            role,
            tape,
            ..
        } = &*self.shared;
        let cassette = match &**tape {
            Tape::Off => return self.ask_live(request, time).await,
            Tape::Silent => {
                return Err(ModelError::Infrastructure {
                    server: endpoint.spec.clone(),
                    reason: "no model is asked by this command".into(),
                });
            }
            Tape::Cache(_) if *role != Role::Judge => {
                return self.ask_live(request, time).await;
            }
            Tape::Record(cassette) | Tape::Replay(cassette) | Tape::Cache(cassette) => cassette,
        };
        let fingerprint = Fingerprint::of(request);
        let (spot, occurrence) = self.place.ask(*role, &endpoint.spec, fingerprint.hash);
        let question = Question::new(spot, *role, &endpoint.spec, &fingerprint, occurrence);
        match (&**tape, cassette.find(&question)) {
            (Tape::Replay(_), Some(recorded)) => return recorded.given(),
            (Tape::Replay(_), None) => return Err(cassette.miss(&question)),
            (Tape::Cache(_), Some(recorded @ Recorded::Reply { .. })) => {
                return Ok(recorded.given()?.map(free));
            }
            _ => {}
        }
        let result = self.ask_live(request, time).await;
        if let Tape::Cache(_) = **tape {
            let unkept = Some(question);
            return result.map(|answer| answer.map(|answer| Answer { unkept, ..answer }));
        }
        if let Some(recorded) = Recorded::of(&result) {
            cassette.keep(question, recorded)?;
        }
        result
    }

    async fn ask_live(&self, request: ChatRequest<'_>, time: &mut Time) -> Asked {
        let endpoint = &self.shared.endpoint;
        let role = match self.role() {
            Role::Agent => "agent",
            Role::User => "user",
            Role::Judge => "judge",
        };
        let span = tracing::info_span!(
            "chat",
            role,
            provider = %endpoint.provider,
            model = %endpoint.model,
            server = endpoint.url.host_str(),
            input_tokens = Empty,
            cached_tokens = Empty,
            output_tokens = Empty,
            reasoning_tokens = Empty,
            error = Empty,
        );
        span.in_scope(|| told::question(request.messages));
        let answer = self
            .ask_quietly(request, time)
            .instrument(span.clone())
            .await;
        match &answer {
            Ok(Ok(Answer { reply, .. })) => {
                span.in_scope(|| told::answer(reply));
                span.record("input_tokens", reply.usage.input_tokens);
                span.record("cached_tokens", reply.usage.cached_tokens);
                span.record("output_tokens", reply.usage.output_tokens);
                span.record("reasoning_tokens", reply.usage.reasoning_tokens);
            }
            Ok(Err(_)) => drop(span.record("error", "timeout")),
            Err(ModelError::Infrastructure { .. }) => drop(span.record("error", "infrastructure")),
            Err(ModelError::Setup { .. }) => drop(span.record("error", "setup")),
            Err(ModelError::Window { .. }) => drop(span.record("error", "window")),
            Err(ModelError::Refused { .. }) => drop(span.record("error", "refused")),
        }
        answer
    }

    /// As [`Client::ask_live`], without a word to the log.
    async fn ask_quietly(&self, request: ChatRequest<'_>, time: &mut Time) -> Asked {
        let temperature = request.temperature.filter(|_| self.takes_temperature());
        let with = ChatRequest {
            temperature,
            ..request
        };
        let mut asked = temperature;
        let mut result = self.ask(with, time).await;
        if let Err(failure) = &result
            && temperature.is_some()
            && failure.is_about_temperature()
        {
            let takes = &self.shared.takes_temperature;
            takes.store(false, Ordering::Relaxed);
            asked = None;
            let without = ChatRequest {
                temperature: None,
                ..request
            };
            result = self.ask(without, time).await;
        }
        if result.is_ok() {
            self.shared.has_answered.store(true, Ordering::Relaxed);
        }
        match result {
            Ok(reply) => {
                let mut usage = self.entered(reply.usage);
                usage += time.spoiled;
                if let Some(reason) = self.cut(request, &reply.usage) {
                    let remedy = remedy::cut(&self.shared.endpoint.model, self.shared.role);
                    return Err(self.window(reason, remedy, usage));
                }
                Ok(Ok(Answer {
                    reply: Reply {
                        usage,
                        ..self.redacted(reply)
                    },
                    temperature: asked,
                    unkept: None,
                }))
            }
            Err(Failure::Late) => Ok(Err(time.spoiled)),
            Err(failure) => Err(self.error(&failure, time.spoiled)),
        }
    }

    /// Why it is believed that the server read a part of the request only, by its own count. What may be chance before the sessions
    /// is none where another request has the same count: one that may be whole, too, for so long is what is left of a longer one.
    fn cut(&self, request: ChatRequest<'_>, usage: &Usage) -> Option<String> {
        let Shared { endpoint, cut, .. } = &*self.shared;
        let tools = if endpoint.fields.contains_key("tools") {
            &[]
        } else {
            request.tools
        };
        let count = Count::of(ChatRequest { tools, ..request }, usage);
        let mut known = cut.lock().unwrap_or_else(PoisonError::into_inner);
        let (counted, least, is_cut) = match count {
            Count::Whole => {
                let (counted, least) = (*known)?;
                (counted, least, counted == cut::counted(usage))
            }
            Count::Low { .. } => {
                *known = None;
                return None;
            }
            Count::Cut { counted, least } => {
                let before = known.replace((counted, least));
                let is_again = before.is_some_and(|(count, of)| count == counted && of != least);
                (counted, least, self.brief || is_again)
            }
        };
        is_cut.then(|| {
            format!(
                "it counted {counted} tokens of a request that has {least} at the least: it cuts what is longer than its context"
            )
        })
    }

    /// What a request is that is longer than the context. User agent and judge can be shown less.
    fn window(&self, reason: String, remedy: String, usage: Usage) -> ModelError {
        let server = self.shared.endpoint.label();
        if self.shared.role == Role::Agent {
            return ModelError::Setup {
                server,
                reason,
                remedy,
            };
        }
        ModelError::Window {
            server,
            reason,
            remedy,
            usage: Box::new(usage),
        }
    }

    /// The attempts at one request.
    async fn ask(&self, request: ChatRequest<'_>, time: &mut Time) -> Result<Reply, Failure> {
        let endpoint = &self.shared.endpoint;
        let habits = Habits {
            model: &endpoint.model,
            fields: &endpoint.fields,
            max_output_tokens: self.longest_answer(request.max_output),
            output_limit: &endpoint.output_limit,
            give_back: endpoint.give_back.as_deref(),
        };
        let body = write_body(&wire::request(endpoint.format, habits, request));
        let attempts = if self.brief { BRIEF_ATTEMPTS } else { ATTEMPTS };
        let (mut attempt, mut unreadable, mut limited) = (0, 0, Duration::ZERO);
        loop {
            attempt += 1;
            let failure = match self.send_admitted(&body, time).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let window = if self.brief { BRIEF_WINDOW } else { WINDOW };
            let outlasts = failure.is_rate() && limited < window;
            let own = (attempt < attempts || outlasts).then(|| backoff(attempt, &self.lot(&body)));
            let wait = match &failure {
                Failure::Trouble { retry_after, .. } => {
                    let most = LONGEST_RETRY_AFTER.max(window.saturating_sub(limited));
                    own.and_then(|own| match *retry_after {
                        // A limit is over when its window is, whatever its server says.
                        Some(wait) if outlasts && !self.brief => Some(own.max(wait.min(most))),
                        wait => longer(own, wait),
                    })
                }
                Failure::Broken { .. } => own,
                Failure::NotJson { .. } | Failure::WrongShape { .. } | Failure::Unparsed { .. } => {
                    unreadable += 1;
                    own.filter(|_| unreadable < UNREADABLE_ATTEMPTS)
                }
                Failure::Setup { .. }
                | Failure::Unexplained { .. }
                | Failure::TooLong { .. }
                | Failure::Refused { .. }
                | Failure::Late => None,
            };
            let Some(wait) = wait else {
                return Err(failure);
            };
            if failure.is_rate() {
                limited += wait;
            }
            self.note(&failure, wait);
            let of = if outlasts {
                String::new()
            } else {
                format!(" of {attempts}")
            };
            let told = self.told(&failure, wait);
            let _told = self
                .shared
                .meter
                .wait(format!("{told}, try {}{of}", attempt + 1));
            time.wait(self.shared.pause.clone().wait(wait)).await;
        }
    }

    /// Why a question waits, and how long: its server may have asked for more.
    fn told(&self, failure: &Failure, wait: Duration) -> String {
        let provider = &self.shared.endpoint.provider;
        let reason = one_line(&self.redact(failure.reason().to_owned()));
        let reason: String = reason.chars().take(TOLD).collect();
        let asked = failure.asked().filter(|asked| *asked > wait);
        let asked = asked.map(|asked| format!(" of the {} that it asks for", in_words(asked)));
        let asked = asked.unwrap_or_default();
        format!("{provider}: {reason}, waiting {}{asked}", in_words(wait))
    }

    /// What is asked for, within what the model is let to write at all, in tokens; None leaves it to the server.
    fn longest_answer(&self, asked: Option<u32>) -> Option<u32> {
        let Endpoint {
            max_output_tokens: usual,
            fields,
            ..
        } = &self.shared.endpoint;
        let brief = (self.brief && fields.is_empty()).then_some(BRIEF);
        [*usual, asked, brief].into_iter().flatten().min()
    }

    /// What the waits of a question are drawn from: its words, and where they are said, since many sessions begin with
    /// the same ones.
    fn lot(&self, body: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.place.spot().to_string().as_bytes());
        hasher.update(body);
        hasher.finalize()
    }

    /// One attempt, when the provider's limits let it.
    async fn send_admitted(&self, body: &Bytes, time: &mut Time) -> Result<Reply, Failure> {
        // Nothing is asked that nobody waits for.
        if time.left == Some(Duration::ZERO) {
            return Err(Failure::Late);
        }
        let Shared {
            gate,
            pause,
            meter,
            endpoint,
            ..
        } = &*self.shared;
        let estimate = (body.len() / BYTES_PER_TOKEN) as u64;
        let entry = time.wait(gate.enter()).await;
        let wait = gate.reserve(estimate, Instant::now());
        if !wait.is_zero() {
            let _told = (wait >= TOLD_WAIT).then(|| {
                let (provider, wait) = (&endpoint.provider, in_words(wait));
                meter.wait(format!("{provider}: at its rate a minute, waiting {wait}"))
            });
            time.wait(pause.clone().wait(wait)).await;
        }
        let result = {
            let _told = self.shared.meter.flight();
            time.work(self.attempt(body.clone())).await
        };
        if result.as_ref().is_err_and(Failure::is_spoiled) {
            let spoiled = Usage {
                calls: 1,
                ..Usage::default()
            };
            let spoiled = spoiled.priced(endpoint.price.as_ref());
            // Not paid as an answer without a count is: a server that counts may break off, too.
            meter.add(&spoiled);
            time.spoiled += spoiled;
        }
        entry.finish(match &result {
            Ok(_) => Load::Answered,
            Err(Failure::Trouble { busy: true, .. }) => Load::TooMuch,
            Err(_) => Load::Unknown,
        });
        if let Ok(Reply { usage, .. }) | Err(Failure::Refused { usage, .. }) = &result {
            let more = usage.tokens().saturating_sub(estimate);
            gate.charge(more, Instant::now());
        }
        result
    }

    async fn attempt(&self, body: Bytes) -> Result<Reply, Failure> {
        let Shared {
            endpoint,
            http,
            stall,
            ..
        } = &*self.shared;
        let mut request = http
            .post(endpoint.url.clone())
            .header(CONTENT_TYPE, "application/json");
        if let Some((name, value)) = wire::header(endpoint.format) {
            request = request.header(name, value);
        }
        if let Some((name, value)) = endpoint.key.as_ref().map(super::provider::Key::header) {
            request = request.header(name, value);
        }
        let mut response = request.body(body).send().await.map_err(broken)?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let (body, cut) = read(&mut response, ANSWER_LIMIT, *stall).await?;
        if cut {
            let reason = format!("its answer is longer than {ANSWER_LIMIT} bytes");
            return Err(Failure::TooLong { reason });
        }
        wire::reply(endpoint.format, &body).map_err(|error| self.unreadable(error, &body))
    }

    /// What an answer with the status of an error means. The key is cut out of what it says before that is shortened: a part of a
    /// key would not be known.
    async fn refusal(&self, mut response: Response) -> Failure {
        let status = response.status();
        let header = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let wait = header.and_then(|header| retry_after(header, Timestamp::now()));
        // A body that breaks off leaves the status, which says enough.
        let read = read(&mut response, ERROR_LIMIT, self.shared.stall).await;
        let (body, cut) = read.unwrap_or_default();
        let body: &[u8] = match &self.shared.endpoint.key {
            Some(key) if cut => key.without_torn_end(&body),
            _ => &body,
        };
        let json: Option<Value> = serde_json::from_slice(body).ok();
        let codes = json.as_ref().map(wire::error_codes).unwrap_or_default();
        let said = json.as_ref().and_then(wire::error_message);
        let mut said = self.redact(said.unwrap_or_else(|| plain_words(status, body)));
        if status == StatusCode::NOT_FOUND {
            // The host is named beside it; mostly the path is what is wrong.
            said = format!("{said} (asked at {})", response.url().path());
        }
        Failure::of_status(status.as_u16(), &said, &codes, wait)
    }

    /// Why an answer cannot be used. Likewise without the key before anything is shortened.
    fn unreadable(&self, error: Unreadable, body: &[u8]) -> Failure {
        let excerpt = || {
            let text = self.redact(String::from_utf8_lossy(body).into_owned());
            one_line(&text[..text.floor_char_boundary(ERROR_LIMIT)])
        };
        match error {
            Unreadable::NotJson { reason } => {
                let excerpt = excerpt();
                Failure::NotJson {
                    reason: format!("its answer is no JSON ({reason}): {excerpt}"),
                    is_page: is_page(&excerpt),
                }
            }
            Unreadable::WrongShape { reason } => Failure::WrongShape {
                reason: format!("its answer is not in the format ({reason}): {}", excerpt()),
            },
            Unreadable::TooMuch { reason } => Failure::TooLong { reason },
            Unreadable::Broken { message, codes } => {
                Failure::of_broken(&self.redact(message), &codes)
            }
            Unreadable::Declined { reason, usage } => Failure::Refused {
                reason: one_line(&self.redact(reason)),
                usage,
            },
            Unreadable::Error {
                status,
                message,
                codes,
            } => Failure::of_status(status, &self.redact(message), &codes, None),
        }
    }

    /// With its price, and on the meter.
    fn entered(&self, usage: Usage) -> Usage {
        let usage = usage.priced(self.shared.endpoint.price.as_ref());
        let server = || self.shared.endpoint.label();
        self.shared.meter.pay(&usage, server);
        usage
    }

    fn note(&self, failure: &Failure, wait: Duration) {
        let server = self.shared.endpoint.label();
        let reason = self.redact(failure.reason().to_owned());
        tracing::warn!(%server, %reason, wait_ms = wait.as_millis(), "asking again");
    }

    /// `spoiled`: what answers that could not be used have cost.
    fn error(&self, failure: &Failure, spoiled: Usage) -> ModelError {
        let server = self.shared.endpoint.label();
        let reason = self.redact(failure.reason().to_owned());
        let setup = |mend: Mend, server, reason: String| ModelError::Setup {
            remedy: mend.remedy(&self.shared.endpoint, self.shared.role, &reason),
            server,
            reason,
        };
        match failure {
            Failure::Trouble { .. } | Failure::Broken { .. } => ModelError::Infrastructure {
                reason: reason + &self.too_long(failure) + &self.unreached(failure),
                server,
            },
            Failure::NotJson { is_page: true, .. }
                if !self.shared.has_answered.load(Ordering::Relaxed) =>
            {
                setup(Mend::Page, server, reason)
            }
            Failure::NotJson { .. } | Failure::Late => {
                ModelError::Infrastructure { server, reason }
            }
            Failure::Setup {
                mend: Mend::Window, ..
            } => {
                let shared = &self.shared;
                let remedy = Mend::Window.remedy(&shared.endpoint, shared.role, &reason);
                self.window(reason, remedy, spoiled)
            }
            Failure::Setup { mend, .. } => setup(*mend, server, reason),
            Failure::WrongShape { .. } | Failure::Unexplained { .. }
                if !self.shared.has_answered.load(Ordering::Relaxed) =>
            {
                setup(Mend::Format, server, reason)
            }
            Failure::WrongShape { .. }
            | Failure::Unparsed { .. }
            | Failure::Unexplained { .. }
            | Failure::TooLong { .. } => ModelError::Refused {
                server,
                reason,
                usage: Box::new(spoiled),
            },
            Failure::Refused { usage, .. } => {
                let mut usage = self.entered(*usage);
                usage += spoiled;
                ModelError::Refused {
                    server,
                    reason,
                    usage: Box::new(usage),
                }
            }
        }
    }

    /// What is said where nothing has ever answered at the address.
    fn unreached(&self, failure: &Failure) -> String {
        let reason = failure.reason();
        let is_wrong = ["Connection refused", "dns error"];
        let is_wrong = is_wrong.iter().any(|words| reason.contains(words));
        if !is_wrong || self.shared.has_answered.load(Ordering::Relaxed) {
            return String::new();
        }
        let address = remedy::whole_address(&self.shared.endpoint);
        format!("; check {address}, and that the server runs")
    }

    /// What is said of a server that asks for a longer wait than any that is sat out.
    fn too_long(&self, failure: &Failure) -> String {
        let most = if failure.is_rate() && !self.brief {
            WINDOW
        } else {
            LONGEST_RETRY_AFTER
        };
        let asked = failure.asked().filter(|asked| *asked > most);
        asked.map_or_else(String::new, |asked| {
            let (asked, most) = (in_words(asked), in_words(most));
            format!("; it asks for a wait of {asked} (Retry-After), and {most} is the longest that a run waits: go on later")
        })
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
        if let Some(reasoning) = &mut reply.reasoning {
            reasoning.text = self.redact(std::mem::take(&mut reasoning.text));
            if let Some(key) = &self.shared.endpoint.key {
                reasoning
                    .blocks
                    .iter_mut()
                    .for_each(|block| key.redact_value(block));
            }
        }
        for call in &mut reply.calls {
            for text in [&mut call.id, &mut call.name, &mut call.arguments] {
                *text = self.redact(std::mem::take(text));
            }
        }
        reply
    }
}

/// An answer from the cache: nothing was asked, and nothing paid.
fn free(answer: Answer) -> Answer {
    let reply = Reply {
        usage: Usage::default(),
        ..answer.reply
    };
    Answer { reply, ..answer }
}

impl Recorded {
    /// What is worth recording of a result.
    fn of(result: &Asked) -> Option<Self> {
        match result {
            Ok(Ok(Answer {
                reply, temperature, ..
            })) => Some(Self::Reply {
                reply: reply.clone(),
                temperature: *temperature,
            }),
            Err(ModelError::Refused {
                server,
                reason,
                usage,
            }) => Some(Self::Refused {
                server: server.clone(),
                reason: reason.clone(),
                usage: usage.clone(),
            }),
            Err(ModelError::Window {
                server,
                reason,
                remedy,
                usage,
            }) => Some(Self::Window {
                server: server.clone(),
                reason: reason.clone(),
                remedy: remedy.clone(),
                usage: usage.clone(),
            }),
            Ok(Err(usage)) => Some(Self::OutOfTime {
                usage: Box::new(*usage),
            }),
            Err(ModelError::Infrastructure { .. } | ModelError::Setup { .. }) => None,
        }
    }

    fn given(self) -> Asked {
        match self {
            Self::Reply { reply, temperature } => Ok(Ok(Answer {
                reply,
                temperature,
                unkept: None,
            })),
            Self::Late => Ok(Err(Usage::default())),
            Self::OutOfTime { usage } => Ok(Err(*usage)),
            Self::Window {
                server,
                reason,
                remedy,
                usage,
            } => Err(ModelError::Window {
                server,
                reason,
                remedy,
                usage,
            }),
            Self::Refused {
                server,
                reason,
                usage,
            } => Err(ModelError::Refused {
                server,
                reason,
                usage,
            }),
        }
    }
}

impl Time {
    async fn wait<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = waiting.await;
        self.waited += began.elapsed();
        done
    }

    async fn work(
        &mut self,
        working: impl Future<Output = Result<Reply, Failure>>,
    ) -> Result<Reply, Failure> {
        let Some(left) = self.left else {
            return working.await;
        };
        let began = Instant::now();
        let done = tokio::time::timeout(left, working).await;
        self.left = Some(left.saturating_sub(began.elapsed()));
        done.unwrap_or(Err(Failure::Late))
    }
}

/// JSON, in as many bytes as it has: it is kept until the answer is there.
fn write_body(body: &wire::Body<'_>) -> Bytes {
    /// Few are longer, and a place that grows is copied each time.
    const USUAL: usize = 64 << 10;
    let mut text = Vec::with_capacity(USUAL);
    // Texts, numbers and lists, written to memory: nothing that could fail.
    let _ = serde_json::to_writer(&mut text, body);
    Bytes::copy_from_slice(&text)
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
    // It was asked, and took too long to answer.
    if error.is_timeout() && !error.is_connect() {
        return broken_off(error);
    }
    // The address may hold what the operator keeps to himself; the server is named by its label.
    let reason = reasons(&error.without_url());
    if reason.contains(NO_TLS) {
        return Failure::Setup {
            reason: "it does not speak TLS".into(),
            mend: Mend::Tls,
        };
    }
    Failure::Trouble {
        reason,
        retry_after: None,
        busy: false,
        rate: false,
    }
}

/// Likewise of an answer that was on its way.
fn broken_off(error: reqwest::Error) -> Failure {
    Failure::Broken {
        reason: reasons(&error.without_url()),
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

/// What is said in a body that is no error of a known form.
fn plain_words(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body).trim().to_owned();
    if text.is_empty() {
        return status
            .canonical_reason()
            .unwrap_or("no reason given")
            .to_owned();
    }
    text
}

/// Reads the body of a server's answer; why it cannot be read, in words. For who has only the bytes, such as a fuzzer.
pub fn read_reply(format: WireFormat, body: &[u8]) -> Result<Reply, String> {
    wire::reply(format, body).map_err(|error| format!("{error:?}"))
}

/// Whether a text is a page for people.
fn is_page(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.starts_with("<!doctype html") || text.starts_with("<html")
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
async fn read(
    response: &mut Response,
    limit: usize,
    stall: Duration,
) -> Result<(BytesMut, bool), Failure> {
    let mut body = BytesMut::new();
    let holding = hold(|| {
        let host = response.url().host_str().unwrap_or("a model");
        format!("an answer of {host}")
    });
    loop {
        let chunk = match tokio::time::timeout(stall, response.chunk()).await {
            Ok(chunk) => chunk.map_err(broken_off)?,
            Err(_) => return Err(stalled(body.len(), stall)),
        };
        let Some(chunk) = chunk else {
            return Ok((body, false));
        };
        let room = limit - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, true));
        }
        body.extend_from_slice(&chunk);
        holding.set(body.len());
        if let Some(Crowded { held, used, most }) = holding.ended() {
            return Err(Failure::Trouble {
                reason: format!(
                    "its answer was ended: it held {held} bytes, more than any other, when the program used {used} of its {most} bytes"
                ),
                retry_after: None,
                busy: false,
                rate: false,
            });
        }
    }
}

fn stalled(bytes: usize, stall: Duration) -> Failure {
    Failure::Broken {
        reason: format!(
            "its answer stalled: nothing came for {} ms after {bytes} bytes",
            stall.as_millis()
        ),
    }
}
