//! One process of an agent with its one session: what is asked of it, and what its lines come to.

use std::time::Duration;

use agent_client_protocol_schema::v1::{
    AuthMethod, CancelNotification, ClientCapabilities, ContentBlock, EnvVariable, Error,
    FileSystemCapabilities, HttpHeader, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, McpServer, McpServerHttp, McpServerStdio, NewSessionRequest,
    NewSessionResponse, PromptRequest, PromptResponse, RequestId, SessionId, SessionNotification,
    SessionUpdate, SetSessionModeRequest, StopReason, TextContent,
};
use agent_client_protocol_schema::{ProtocolVersion, v1};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::deeds::Deeds;
use super::desk::SERVER;
use super::ready::{Prepared, Refusal};
use super::terminal::Terminals;
use pibench_acp::{Event, Incoming, NoMessage, Outgoing, Process, read};
use pibench_core::cost::MicroUsd;
use pibench_core::message::Usage;
use pibench_core::secrets::Secrets;
use pibench_model::ModelError;
use pibench_record::folder::Product;

/// How long an agent may take until its session is open: some look for a newer version of themselves first.
const START: Duration = Duration::from_mins(2);

/// What a shell ends with that cannot start a program.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What is told of a confined agent that ends so, as a script does that starts the real program from elsewhere.
const UNSEEN: &str = "; its interpreter, or what it starts, lies outside of what it may read: name its folder under `read` of \
                      [agents.NAME], or give the real interpreter's path";

/// Lines that may be no messages: some programs greet on standard output.
const ODD: usize = 100;

/// The hidden command that is the MCP server of an agent that takes none by HTTP.
pub const BRIDGE: &str = "mcp-bridge";

/// The variables that tell the bridge where to and who it is.
pub const BRIDGE_URL: &str = "PIBENCH_BRIDGE_URL";
pub const BRIDGE_TOKEN: &str = "PIBENCH_BRIDGE_TOKEN";

/// What came of a request.
pub(super) struct Done {
    pub(super) id: RequestId,
    pub(super) result: Result<Value, Error>,
}

/// A process whose session is open.
pub(super) struct Running {
    process: Process,
    /// What is kept of none of its words.
    secrets: Secrets,
    /// What it says that it is.
    pub(super) product: Option<Product>,
    /// Whether it can load sessions: such a one plays several.
    pub(super) loads: bool,
    /// Whether it takes MCP servers by HTTP.
    by_http: bool,
    /// The ways of a login that it names.
    logins: String,
    session: SessionId,
    /// The number of the last request.
    asked: i64,
    /// The request of the prompt that is open.
    prompt: Option<i64>,
    pub(super) deeds: Deeds,
    pub(super) terminals: Terminals,
    /// Lines that were no messages, and what was wrong with the last one.
    odd: usize,
    /// What its work has taken, as the agent tells it.
    told: Told,
}

/// What an agent tells of its usage.
#[derive(Debug, Default)]
struct Told {
    /// Of the turn that has ended. The protocol's schema speaks of a sum too; those who send it send the turn's own.
    usage: Option<v1::Usage>,
    /// US dollars, a sum over its session.
    cost: Option<f64>,
    /// What was counted of that before.
    counted: f64,
}

/// What a line came to.
pub(super) enum Happened {
    Nothing,
    Update(Box<SessionUpdate>),
    /// It asks something of its client.
    Asked {
        id: RequestId,
        method: String,
        params: Value,
    },
    /// Its prompt ended.
    Ended(Ended),
}

/// How a prompt ended.
pub(super) enum Ended {
    Answered {
        /// What the record says of its end, where that is not the usual one.
        note: Option<String>,
        usage: Usage,
    },
    Failed(Refusal),
}

impl Running {
    /// Starts a process and opens a session, with the workspace as its directory and our MCP server at a place with its token. A
    /// session that was kept is loaded, where the agent can; whether it was.
    pub(super) async fn start(
        prepared: &Prepared,
        server: (&str, &str),
        kept: Option<&str>,
    ) -> Result<(Self, bool), ModelError> {
        let process = prepared.launch.start();
        let process = process.map_err(|error| prepared.setup(format!("start it: {error}")))?;
        let mut running = Self {
            process,
            secrets: prepared.launch.secrets.clone(),
            product: None,
            loads: false,
            by_http: false,
            logins: String::new(),
            session: SessionId::new(""),
            asked: 0,
            prompt: None,
            deeds: Deeds::new(prepared.launch.root()),
            terminals: Terminals::default(),
            odd: 0,
            told: Told::default(),
        };
        let begun = tokio::time::timeout(START, running.begin(prepared, server, kept)).await;
        match begun {
            Ok(Ok(loaded)) => Ok((running, loaded)),
            Ok(Err(Refusal::Setup(reason))) => Err(prepared.setup(reason)),
            Ok(Err(Refusal::Own(reason))) => {
                let is_confined = prepared.launch.confined.is_some();
                let status = running.process.status().await;
                let code = status.and_then(|status| status.code());
                let reason = running.epitaph(reason).await;
                let unseen = is_confined && code.is_some_and(|code| NOT_STARTED.contains(&code));
                Err(prepared.setup(format!("{reason}{}", if unseen { UNSEEN } else { "" })))
            }
            Err(_) => {
                let reason = format!("its session was not open after {} s", START.as_secs());
                let reason = running.with_last_words(reason);
                Err(prepared.setup(reason))
            }
        }
    }

    async fn begin(
        &mut self,
        prepared: &Prepared,
        server: (&str, &str),
        kept: Option<&str>,
    ) -> Result<bool, Refusal> {
        self.greet().await?;
        if let Some(kept) = kept.filter(|_| self.loads)
            && self.load(prepared, server, kept).await?
        {
            return Ok(true);
        }
        self.open(prepared, server).await?;
        Ok(false)
    }

    async fn greet(&mut self) -> Result<(), Refusal> {
        let files = FileSystemCapabilities::new()
            .read_text_file(true)
            .write_text_file(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files).terminal(true))
            .client_info(Implementation::new(
                "pibench-host",
                env!("CARGO_PKG_VERSION"),
            ));
        let hello: InitializeResponse = self.ask("initialize", &request).await?;
        if hello.protocol_version != ProtocolVersion::V1 {
            return Err(Refusal::Setup(format!(
                "it speaks version {} of the Agent Client Protocol, and this program version 1",
                hello.protocol_version
            )));
        }
        self.product = hello.agent_info.map(|info| Product {
            name: named(&self.secrets.cut(info.name)),
            version: named(&self.secrets.cut(info.version)),
        });
        self.loads = hello.agent_capabilities.load_session;
        self.by_http = hello.agent_capabilities.mcp_capabilities.http;
        self.logins = logins(&hello.auth_methods);
        Ok(())
    }

    /// Our MCP server, as the agent takes it.
    fn server(&self, prepared: &Prepared, (url, token): (&str, &str)) -> Vec<McpServer> {
        vec![if self.by_http {
            let key = HttpHeader::new("Authorization", format!("Bearer {token}"));
            McpServer::Http(McpServerHttp::new(SERVER, url).headers(vec![key]))
        } else {
            let env = vec![
                EnvVariable::new(BRIDGE_URL, url),
                EnvVariable::new(BRIDGE_TOKEN, token),
            ];
            let server = McpServerStdio::new(SERVER, &prepared.launch.bridge);
            McpServer::Stdio(server.args(vec![BRIDGE.to_owned()]).env(env))
        }]
    }

    /// Opens a session.
    async fn open(&mut self, prepared: &Prepared, server: (&str, &str)) -> Result<(), Refusal> {
        let servers = self.server(prepared, server);
        let request = NewSessionRequest::new(prepared.launch.inside()).mcp_servers(servers);
        let opened: Result<NewSessionResponse, Refusal> = self.ask("session/new", &request).await;
        let opened = opened.map_err(|refusal| match refusal {
            Refusal::Setup(reason) => Refusal::Setup(format!("{reason}{}", self.logins)),
            Refusal::Own(reason) => Refusal::Own(reason),
        })?;
        self.session = opened.session_id;
        self.set_mode(prepared).await
    }

    /// Has it work in the mode of its entry, where that names one.
    async fn set_mode(&mut self, prepared: &Prepared) -> Result<(), Refusal> {
        let Some(mode) = &prepared.mode else {
            return Ok(());
        };
        let request = SetSessionModeRequest::new(self.session.clone(), mode.clone());
        let set: Result<Value, Refusal> = self.ask("session/set_mode", &request).await;
        set.map(drop)
    }

    /// Opens the next session in the same process: nothing of the one before counts in it. Whether that went well.
    pub(super) async fn open_another(&mut self, prepared: &Prepared, server: (&str, &str)) -> bool {
        self.process.begin();
        self.terminals = Terminals::default();
        self.odd = 0;
        self.told = Told::default();
        matches!(
            tokio::time::timeout(START, self.open(prepared, server)).await,
            Ok(Ok(()))
        )
    }

    /// Loads a session that an earlier process opened; false where the agent has it no more. What it repeats of it is known.
    async fn load(
        &mut self,
        prepared: &Prepared,
        server: (&str, &str),
        kept: &str,
    ) -> Result<bool, Refusal> {
        let session = SessionId::new(kept);
        let servers = self.server(prepared, server);
        let request = LoadSessionRequest::new(session.clone(), prepared.launch.inside());
        let request = request.mcp_servers(servers);
        // It tells nothing more than that it did.
        let loaded: Result<Value, Refusal> = self.ask("session/load", &request).await;
        match loaded {
            Ok(_) => self.session = session,
            Err(Refusal::Setup(reason)) => {
                tracing::warn!(reason, "the agent does not load its session");
                return Ok(false);
            }
            Err(refusal) => return Err(refusal),
        }
        self.set_mode(prepared).await?;
        Ok(true)
    }

    pub(super) fn session(&self) -> &str {
        &self.session.0
    }

    /// Asks and waits for the answer: before there is a session, nothing else is of interest.
    async fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Refusal> {
        let own = |error: &dyn std::fmt::Display| Refusal::Own(error.to_string());
        self.asked += 1;
        let asked = self.asked;
        let line = Outgoing::request(asked, method, params);
        self.process.tell(&line).map_err(|error| own(&error))?;
        loop {
            match self.message().await.map_err(Refusal::Own)? {
                Some(Incoming::Answer { id, result }) if id == asked => {
                    let result = result.map_err(|error| refusal(method, error, &self.secrets))?;
                    return serde_json::from_value(result).map_err(|error| {
                        Refusal::Own(format!(
                            "it answers `{method}` with something else: {error}"
                        ))
                    });
                }
                Some(Incoming::Request { id, .. }) => {
                    self.answer_request(Done {
                        id,
                        result: Err(Error::method_not_found()),
                    });
                }
                _ => {}
            }
        }
    }

    /// The next message; None for a line that is none.
    async fn message(&mut self) -> Result<Option<Incoming>, String> {
        let line = match self.process.next().await {
            Ok(Event::Line(line)) => line,
            Ok(Event::Closed) => return Err("its process ended".into()),
            Err(broken) => return Err(broken.to_string()),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        match read(&line) {
            Ok(Incoming::Answer { id, .. }) if !(1..=self.asked).contains(&id) => {
                let error = NoMessage::Unasked;
                Err(format!("one of its lines is refused: {error}"))
            }
            Ok(message) => Ok(Some(message)),
            // Whoever asked would wait for nothing.
            Err(error @ (NoMessage::Values | NoMessage::Depth | NoMessage::Unasked)) => {
                Err(format!("one of its lines is refused: {error}"))
            }
            Err(error) => {
                self.odd += 1;
                tracing::debug!(%error, "the agent wrote a line that is no message");
                if self.odd > ODD {
                    return Err(format!(
                        "{} of its lines are no messages of the protocol; of the last one: {error}",
                        self.odd
                    ));
                }
                Ok(None)
            }
        }
    }

    /// Opens a prompt with these texts.
    pub(super) fn prompt(&mut self, texts: Vec<String>) -> Result<(), String> {
        self.process.begin();
        self.deeds.begin();
        let block = |text| ContentBlock::Text(TextContent::new(text));
        let blocks = texts.into_iter().map(block).collect();
        self.asked += 1;
        let request = PromptRequest::new(self.session.clone(), blocks);
        let line = Outgoing::request(self.asked, "session/prompt", &request);
        self.process
            .tell(&line)
            .map_err(|error| error.to_string())?;
        self.prompt = Some(self.asked);
        Ok(())
    }

    /// Why its processes hold more of deleted files than so many bytes.
    pub(super) fn hoarded(&self, bytes: u64) -> Option<String> {
        self.process.hoarded(bytes)
    }

    /// Bytes of memory that its processes have for themselves.
    pub(super) fn memory(&self) -> u64 {
        self.process.memory()
    }

    pub(super) fn is_prompted(&self) -> bool {
        self.prompt.is_some()
    }

    /// Cancels the prompt that is open; whether it ended.
    pub(super) async fn cancel(&mut self) -> bool {
        let request = CancelNotification::new(self.session.clone());
        let line = Outgoing::notification("session/cancel", &request);
        if self.process.tell(&line).is_err() {
            return false;
        }
        while self.is_prompted() {
            match self.next().await {
                Ok(Happened::Asked { id, .. }) => self.answer_request(Done {
                    id,
                    result: Err(Error::request_cancelled()),
                }),
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// What happens next; an error ends the process. It may be dropped at any moment.
    pub(super) async fn next(&mut self) -> Result<Happened, String> {
        Ok(match self.message().await? {
            Some(Incoming::Request { id, method, params }) => {
                Happened::Asked { id, method, params }
            }
            Some(Incoming::Notification { method, params }) if method == "session/update" => {
                self.update(params)
            }
            Some(Incoming::Answer { id, result }) if Some(id) == self.prompt => {
                self.prompt = None;
                Happened::Ended(self.read_end(result))
            }
            None | Some(Incoming::Notification { .. } | Incoming::Answer { .. }) => {
                Happened::Nothing
            }
        })
    }

    /// What came too late, or is of a kind that is not known here, is nothing.
    fn update(&mut self, params: Value) -> Happened {
        let Ok(SessionNotification {
            session_id, update, ..
        }) = serde_json::from_value(params)
        else {
            return Happened::Nothing;
        };
        if session_id != self.session {
            return Happened::Nothing;
        }
        if let SessionUpdate::UsageUpdate(usage) = &update {
            let cost = usage.cost.as_ref();
            let cost = cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd"));
            self.told.cost = cost.map(|cost| cost.amount).or(self.told.cost);
            return Happened::Nothing;
        }
        if self.is_prompted() {
            Happened::Update(Box::new(update))
        } else {
            Happened::Nothing
        }
    }

    /// An answer that cannot be read ends the prompt too: nobody waits for another one.
    fn read_end(&mut self, result: Result<Value, Error>) -> Ended {
        let result = match result {
            Ok(result) => result,
            Err(error) => return Ended::Failed(refusal("session/prompt", error, &self.secrets)),
        };
        let PromptResponse {
            stop_reason,
            usage,
            meta,
            ..
        } = match serde_json::from_value(result) {
            Ok(response) => response,
            Err(error) => {
                let told = format!("it answers `session/prompt` with something else: {error}");
                return Ended::Failed(Refusal::Own(told));
            }
        };
        self.told.usage = usage.or_else(|| count_of(&meta?));
        let note = match stop_reason {
            StopReason::EndTurn => None,
            StopReason::MaxTokens => Some("[The agent stopped at its limit of tokens.]".to_owned()),
            StopReason::MaxTurnRequests => {
                Some("[The agent stopped at its limit of requests.]".to_owned())
            }
            StopReason::Refusal => {
                return Ended::Failed(Refusal::Own("it refuses to go on".into()));
            }
            other => {
                let told = format!("it ended its turn by itself as `{other:?}`");
                return Ended::Failed(Refusal::Own(told));
            }
        };
        Ended::Answered {
            note,
            usage: self.told.count(),
        }
    }

    /// Tells what came of a request of the agent's.
    pub(super) fn answer_request(&mut self, done: Done) {
        let Done { id, result } = done;
        // A child that does not read ends by its time.
        let _ = self.process.tell(&Outgoing::answer(&id, &result));
    }

    /// The reason with how the process ended.
    pub(super) async fn epitaph(&mut self, reason: String) -> String {
        let reason = match self.process.status().await {
            Some(status) => format!("{reason} ({status})"),
            None => reason,
        };
        self.with_last_words(reason)
    }

    fn with_last_words(&mut self, reason: String) -> String {
        let words = self.process.last_words(&self.secrets);
        if words.is_empty() {
            reason
        } else {
            format!("{reason}; it said last: {words}")
        }
    }

    pub(super) async fn end(self) {
        self.process.end().await;
    }
}

impl Told {
    /// What came since the last count.
    fn count(&mut self) -> Usage {
        let mut usage = Usage::untold();
        let told = self.usage.take();
        if let Some(told) = told.filter(|told| largest(told) <= Usage::MOST_TOKENS) {
            let cached = told.cached_read_tokens.unwrap_or_default();
            let written = told.cached_write_tokens.unwrap_or_default();
            // Ours counts what was cached as a part of the input.
            let input = told.input_tokens.saturating_add(cached);
            usage.input_tokens = input.saturating_add(written);
            usage.uncounted_calls = 0;
            usage.cached_tokens = cached;
            usage.cache_write_tokens = written;
            usage.output_tokens = told.output_tokens;
            usage.reasoning_tokens = told.thought_tokens.unwrap_or_default();
        }
        if let Some(cost) = self.cost.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            usage.cost = MicroUsd::from_usd((cost - self.counted).max(0.0));
            usage.unpriced_calls = 0;
            self.counted = cost;
        }
        usage
    }
}

/// The largest count among these.
fn largest(usage: &v1::Usage) -> u64 {
    let parts = [
        usage.cached_read_tokens,
        usage.cached_write_tokens,
        usage.thought_tokens,
    ];
    let most = parts.into_iter().flatten().max().unwrap_or_default();
    most.max(usage.input_tokens).max(usage.output_tokens)
}

/// The tokens of a turn as Gemini CLI tells them: beside the protocol's own place.
fn count_of(meta: &v1::Meta) -> Option<v1::Usage> {
    let count = meta.get("quota")?.get("token_count")?;
    let of = |name: &str| count.get(name)?.as_u64();
    let (input, output) = (of("input_tokens")?, of("output_tokens")?);
    Some(v1::Usage::new(input.saturating_add(output), input, output))
}

/// Whose fault it is that an agent answers with an error. What is told of it is without secrets: they are cut out before it is
/// shortened, since a part of one would not be known.
fn refusal(method: &str, error: Error, secrets: &Secrets) -> Refusal {
    let told = |text: String| -> String { secrets.cut(text).chars().take(400).collect() };
    let message = told(error.message);
    let detail = match error.data {
        Some(data) => {
            let data = told(data.to_string());
            format!("{message}: {data}")
        }
        None => message,
    };
    if error.code == Error::auth_required().code {
        return Refusal::Setup(format!("it wants a login ({detail})"));
    }
    let reason = format!("it answers `{method}` with an error: {detail}");
    if method == "session/prompt" {
        Refusal::Own(reason)
    } else {
        Refusal::Setup(reason)
    }
}

/// A name that an agent gives itself.
fn named(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// The ways of a login that an agent names.
fn logins(methods: &[AuthMethod]) -> String {
    let names = methods.iter().filter_map(|method| match method {
        AuthMethod::Agent(method) => Some(method.name.as_str()),
        AuthMethod::Terminal(method) => Some(method.name.as_str()),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; it knows these: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_turn_is_counted_by_its_own_tokens_and_its_share_of_the_cost() {
        let mut told = Told::default();
        let mut turn = |usage: Option<v1::Usage>, cost: f64| {
            told.usage = usage;
            told.cost = Some(cost);
            let counted = told.count();
            let tokens = (counted.input_tokens, counted.output_tokens);
            (tokens, counted.uncounted_calls, counted.cost)
        };
        let usage = v1::Usage::new(30, 20, 5).cached_read_tokens(4_u64);
        let dollars = MicroUsd::from_usd;
        assert_eq!(turn(Some(usage.clone()), 0.25), ((24, 5), 0, dollars(0.25)));
        assert_eq!(turn(Some(usage), 0.75), ((24, 5), 0, dollars(0.5)));
        assert_eq!(turn(None, 0.75), ((0, 0), 1, dollars(0.0)));
        let too_many = v1::Usage::new(30, 20, Usage::MOST_TOKENS + 1);
        assert_eq!(turn(Some(too_many), 0.75), ((0, 0), 1, dollars(0.0)));
    }

    #[test]
    fn an_error_that_quotes_a_secret_is_told_without_it_however_long_it_is() {
        let secrets = Secrets::new([("KEY", "secret-of-a-test")]);
        let quoting = |before: usize| format!("{}secret-of-a-test", "x".repeat(before));
        let mut error = Error::internal_error().data(json!([quoting(390)]));
        error.message = quoting(395);
        let Refusal::Own(told) = refusal("session/prompt", error, &secrets) else {
            panic!("not its own")
        };
        assert!(told.contains("x[KEY]") && !told.contains("secre"), "{told}");
    }

    #[test]
    fn gemini_tells_its_tokens_beside_the_protocol() {
        let meta = json!({ "quota": { "token_count": { "input_tokens": 7, "output_tokens": 2 } } });
        let meta: v1::Meta = serde_json::from_value(meta).unwrap();
        assert_eq!(count_of(&meta), Some(v1::Usage::new(9, 7, 2)));
        assert_eq!(count_of(&v1::Meta::new()), None);
    }
}
