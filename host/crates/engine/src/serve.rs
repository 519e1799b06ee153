//! Sessions for an agent of somebody else's, over the Model Context Protocol. The tools of the session are tools of the
//! server; the conversation is one more, `converse`. The server listens on 127.0.0.1 and wants a token, or speaks on
//! standard input and output; it plays nothing itself and reaches the session only through `model/external`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, RequestId,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{Mutex, Notify, Semaphore};

use pibench_core::message::ToolSpec;
use pibench_core::weight::{MOST_VALUES, Weight};
use pibench_door::{Door, Guest};
use pibench_model::external::{Called, Outside, Over, Said, Told};

/// The tool that the conversation runs through.
pub const CONVERSE: &str = "converse";

/// What an agent is told that works before it has the message to work on.
pub const BEGINS: &str = "this turn begins here: call `converse` without arguments for its message; what was done in it before a \
                          break is not there any more";

/// Tools that are not offered: a subagent would be one of the built-in scaffold, and so would the memory.
const OF_SCAFFOLD: [&str; 2] = ["spawn", "save_memory"];

/// Bytes of one message: a whole file may be written with a call.
const MAX_MESSAGE: usize = 64 << 20;

/// Bytes of a message that is taken in whatever others are answered: taken apart, a byte takes up to 125.
const SHORT: usize = 16 << 10;

/// Longer ones that are taken in at once.
const LONG: usize = 4;

/// Bytes of standard input that lie between its reader and the protocol's.
const PIPE: usize = 64 << 10;

const INSTRUCTIONS: &str = "\
    You are the personal assistant of one user. Call `converse` without arguments for the first message. Work with the \
    other tools. When you are done with a message call `converse` with your answer; it gives you the user's next message. \
    Go on until it says that everything is over.";

const CONVERSE_DESCRIPTION: &str = "\
    Gives the next message as a JSON object: `message`; with the first message of a session also `instructions`, the \
    house rules with what is remembered of earlier sessions; `over` is true when nothing more comes. With `answer` it \
    first ends your turn with that text. Without it, and with a message open, it gives that message again.";

/// The served session. Clones are connections to the same one.
#[derive(Debug, Clone)]
pub struct Service(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    outside: Outside,
    conversation: Mutex<Conversation>,
    /// The last message that was handed out; 0 before the first.
    handed: AtomicU64,
    /// The agent was told that nothing more comes.
    over: Notify,
}

#[derive(Debug)]
struct Conversation {
    /// The message that is being worked on; None when every session is played.
    open: Option<Told>,
    /// The turn has ended, and what comes next was not asked for yet.
    ended: bool,
    /// The last answer, by its request, while nothing else was asked for: whose reply was lost sends it again.
    last: Option<(RequestId, String)>,
}

/// A request as it came, before it waits for those that came earlier.
#[derive(Debug)]
pub struct Asked {
    id: RequestId,
    /// The last message that was handed out by then. No later one can be what the request is about.
    seen: u64,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("serve on standard input and output: {0}")]
    Stdio(String),
}

impl Service {
    /// Waits for the first message, so that the tools are known when an agent asks for them.
    pub async fn new(outside: Outside) -> Self {
        let open = outside.next_message().await.ok();
        Self(Arc::new(Inner {
            outside,
            conversation: Mutex::new(Conversation {
                open,
                ended: false,
                last: None,
            }),
            handed: AtomicU64::new(0),
            over: Notify::new(),
        }))
    }

    /// Takes note of a request, when it comes.
    pub fn asked(&self, id: &RequestId) -> Asked {
        Asked {
            id: id.clone(),
            seen: self.0.handed.load(Ordering::Relaxed),
        }
    }

    /// The number of the message that is open; None when nothing more comes.
    pub async fn open(&self) -> Option<u64> {
        let conversation = self.0.conversation.lock().await;
        conversation.open.as_ref().map(|told| told.number)
    }

    /// The next message, after an answer if there is one. An answer to a message that was not handed out ends nothing, and
    /// neither does one that is sent again: whoever lost a reply asks the same once more.
    async fn converse(
        &self,
        answer: Option<String>,
        asked: Asked,
        is_awaited: impl Fn() -> bool,
    ) -> CallToolResult {
        let Inner {
            outside,
            conversation,
            handed,
            over,
        } = &*self.0;
        let mut conversation = conversation.lock().await;
        let last = conversation.last.take();
        let open = conversation.open.as_ref();
        let is_known = open.map(|told| told.number <= asked.seen);
        if let (Some(answer), Some(is_known)) = (answer, is_known) {
            if asked.seen == 0 {
                return refused(BEGINS);
            }
            let answer = (asked.id, answer);
            if is_known && !conversation.ended && last.as_ref() != Some(&answer) {
                // Of a run that is over the next line knows, too.
                let _ = outside.answer(Said::by_unknown(answer.1.clone()));
                conversation.ended = true;
            }
            conversation.last = Some(answer);
        }
        if conversation.ended {
            conversation.open = outside.next_message().await.ok();
            conversation.ended = false;
        }
        let is_awaited = is_awaited();
        let Some(told) = &conversation.open else {
            if is_awaited {
                over.notify_one();
            }
            return answered(&json!({ "over": true }).to_string());
        };
        if is_awaited && handed.swap(told.number, Ordering::Relaxed) != told.number {
            // Of a run that is over the next line knows, too.
            let _ = outside.ready();
        }
        let mut message = json!({ "message": told.message, "over": false });
        if let Some(instructions) = &told.instructions {
            message["instructions"] = instructions.as_str().into();
        }
        answered(&message.to_string())
    }

    /// What the server says of itself.
    pub fn info() -> ServerConfig {
        let program = Implementation::new("pibench-host", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(INSTRUCTIONS)
    }

    /// The tools that there are now.
    pub async fn listed(&self) -> ListToolsResult {
        let conversation = self.0.conversation.lock().await;
        let open = conversation.open.as_ref();
        let specs = open.map_or(&[][..], |told| told.tools.as_slice());
        let all = std::iter::once(converse_tool()).chain(tools(specs).map(tool));
        ListToolsResult::with_all_items(all.collect())
    }

    /// Waits until the agent was told that nothing more comes.
    pub async fn over(&self) {
        self.0.over.notified().await;
    }

    async fn call(&self, name: &str, arguments: JsonObject, asked: &Asked) -> CallToolResult {
        let Inner {
            outside,
            conversation,
            ..
        } = &*self.0;
        // Held while the call runs: calls are made one after the other, and none while an answer is on its way.
        let mut conversation = conversation.lock().await;
        conversation.last = None;
        let told = match &conversation.open {
            Some(_) if asked.seen == 0 => return refused(BEGINS),
            Some(told) if !conversation.ended && told.number <= asked.seen => told,
            Some(_) => return refused("the turn is over: call `converse` for what comes next"),
            None => return refused("every session is played: there is nothing to work on"),
        };
        if !tools(&told.tools).any(|tool| tool.name == name) {
            return refused(&format!("there is no tool `{name}`"));
        }
        let arguments = Value::Object(arguments).to_string();
        match outside
            .call(name, arguments, Said::by_unknown(String::new()))
            .await
        {
            Err(Over) => refused("the run was broken off"),
            Ok(Called { text, ended }) => {
                conversation.ended = ended;
                // As the scaffold words what went wrong.
                if text.starts_with("Error") {
                    return refused(&text);
                }
                answered(&text)
            }
        }
    }

    /// The result of one tool call, whichever tool it is. `is_awaited`: whether anybody waits for it still.
    pub async fn call_named(
        &self,
        name: &str,
        arguments: JsonObject,
        asked: Asked,
        is_awaited: impl Fn() -> bool,
    ) -> CallToolResult {
        if name != CONVERSE {
            return self.call(name, arguments, &asked).await;
        }
        if let Some(other) = arguments.keys().find(|key| *key != "answer") {
            let other: String = other.chars().take(80).collect();
            return refused(&format!(
                "`{CONVERSE}` has no argument `{other}`: the turn's answer is its `answer`"
            ));
        }
        let answer = match arguments.get("answer") {
            None | Some(Value::Null) => None,
            Some(Value::String(answer)) => Some(answer.clone()),
            Some(_) => return refused("`answer` has to be a text"),
        };
        self.converse(answer, asked, is_awaited).await
    }
}

impl ServerHandler for Service {
    fn get_info(&self) -> ServerConfig {
        Self::info()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(self.listed().await)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        RequestContext { id, ct, .. }: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = self.asked(&id);
        let arguments = request.arguments.unwrap_or_default();
        let called = self.call_named(&request.name, arguments, asked, || !ct.is_cancelled());
        Ok(called.await.into())
    }
}

pub(super) fn answered(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// What a call that is not made is answered with.
pub fn refused(reason: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(reason)])
}

fn tools(specs: &[ToolSpec]) -> impl Iterator<Item = &ToolSpec> {
    let offered = |spec: &&ToolSpec| !OF_SCAFFOLD.contains(&spec.name.as_str());
    specs.iter().filter(offered)
}

/// A tool as the protocol has it.
pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let ToolSpec {
        name,
        description,
        parameters,
    } = spec;
    // As a model of the host's is shown it.
    let schema: JsonObject = serde_json::from_str(parameters.text()).unwrap_or_default();
    Tool::new(name.clone(), description.clone(), schema)
}

fn converse_tool() -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert(
        "properties".into(),
        json!({ "answer": { "type": "string", "description": "Your answer to the open message." } }),
    );
    schema.insert("additionalProperties".into(), false.into());
    Tool::new(CONVERSE, CONVERSE_DESCRIPTION, schema)
}

/// What answers the protocol's requests over HTTP.
pub type Endpoint<H> = StreamableHttpService<H, LocalSessionManager>;

/// Without sessions and streams: each message is one request of at most so many bytes, and its answer one JSON text. Only
/// requests under the names in `hosts` are answered, beside those of this machine, and none of a browser's page.
pub fn endpoint<H: ServerHandler + Clone>(
    handler: H,
    hosts: &[String],
    most: usize,
) -> Endpoint<H> {
    let config = StreamableHttpServerConfig::default();
    let all = [config.allowed_hosts.as_slice(), hosts].concat();
    let config = config
        .with_allowed_hosts(all)
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .enforce_origin_validation()
        .with_max_request_body_bytes(most);
    let connection = move || Ok(handler.clone());
    StreamableHttpService::new(connection, Arc::default(), config)
}

/// Serves `/mcp` to whoever has the token, until the future is dropped. No page of a browser is let in: neither one of
/// another origin, nor one whose name was pointed at this machine.
pub async fn http<H: ServerHandler + Clone + Sync>(handler: H, door: Door, token: String) {
    let token: Arc<str> = token.into();
    let long = Arc::new(Semaphore::new(LONG));
    let app = Router::new()
        .route_service("/mcp", endpoint(handler, &[], MAX_MESSAGE))
        .layer(middleware::from_fn_with_state(long, weigh))
        .layer(middleware::from_fn_with_state(token, authorise));
    door.serve(app).await;
}

/// Takes in no message of too many values, and few long ones at once.
async fn weigh(State(long): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    let length = request.headers().get(CONTENT_LENGTH);
    let length: Option<usize> = length.and_then(|value| value.to_str().ok()?.parse().ok());
    let is_short = length.is_some_and(|length| length <= SHORT);
    let _place = if is_short {
        None
    } else {
        // It is never closed.
        long.acquire().await.ok()
    };
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_MESSAGE).await else {
        let reason = format!("a message of at most {MAX_MESSAGE} bytes is needed");
        return (StatusCode::PAYLOAD_TOO_LARGE, reason).into_response();
    };
    let bytes = weighed(bytes, MOST_VALUES);
    next.run(Request::from_parts(parts, Body::from(bytes)))
        .await
}

/// A message as it is, where it holds no more values than this. Of one that does nothing is made: in its place stands a request
/// under its id for what there is not, which is answered with these words.
pub fn weighed<B: AsRef<[u8]> + From<Vec<u8>>>(message: B, most: usize) -> B {
    #[derive(Deserialize)]
    struct Head<T> {
        id: T,
    }
    let bytes = message.as_ref();
    if Weight::of(bytes).values <= most {
        return message;
    }
    // A value that is neither is not made, whatever it holds.
    let number = serde_json::from_slice(bytes).map(|Head::<i64> { id }| Value::from(id));
    let id = number
        .or_else(|_| serde_json::from_slice(bytes).map(|Head::<String> { id }| Value::from(id)));
    let method = format!("no message of more than {most} values is read: send fewer");
    let instead = match id {
        Ok(id) => json!({ "jsonrpc": "2.0", "id": id, "method": method }),
        Err(_) => json!({}),
    };
    format!("{instead}\n").into_bytes().into()
}

/// Lets nobody in without the token.
async fn authorise(
    State(token): State<Arc<str>>,
    Extension(guest): Extension<Guest>,
    request: Request,
    next: Next,
) -> Response {
    let given = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "))
        .unwrap_or_default();
    // Equal hashes mean equal tokens, and their comparison takes the same time whatever they are.
    if blake3::hash(given) == blake3::hash(token.as_bytes()) {
        guest.admit();
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, "a bearer token is needed").into_response()
    }
}

/// Serves on standard input and output, a message a line, until the other side closes them.
pub async fn stdio(service: Service) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio();
    let (weighed, lines) = tokio::io::duplex(PIPE);
    let lines = AsyncRwTransport::new_server(lines, output).with_max_line_length(MAX_MESSAGE);
    let failed = |error: &dyn std::fmt::Display| ServeError::Stdio(error.to_string());
    let serving = async {
        let running = service.serve(lines).await.map_err(|error| failed(&error))?;
        running.waiting().await.map_err(|error| failed(&error))
    };
    let weighing = async {
        match weigh_lines(input, weighed).await {
            // What came before the other side closed is answered.
            Ok(()) => std::future::pending().await,
            Err(error) => failed(&error),
        }
    };
    tokio::select! {
        served = serving => served.map(drop),
        error = weighing => Err(error),
    }
}

/// Hands on lines, each weighed. One that is longer than a message comes in pieces, which make none.
async fn weigh_lines(
    input: impl AsyncRead + Unpin,
    mut weighed_lines: DuplexStream,
) -> std::io::Result<()> {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut input).take(MAX_MESSAGE as u64);
        if bounded.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        let line = weighed(line, MOST_VALUES);
        weighed_lines.write_all(&line).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use pibench_core::message::{ChatRequest, Message};
    use pibench_model::Model;
    use pibench_model::external::External;

    /// A session of three messages, beside what is asked of its service; its answers.
    async fn session(ask: impl AsyncFnOnce(Service)) -> Vec<String> {
        let external = External::default();
        let outside = external.outside().unwrap();
        let asking = async { ask(Service::new(outside).await).await };
        tokio::join!(play(external), asking).0
    }

    /// As the loop does, until nobody answers any more.
    async fn play(external: External) -> Vec<String> {
        let model = Model::External(external);
        let mut messages = vec![Message::System { text: "s".into() }];
        let mut answers = Vec::new();
        for number in 1..=3 {
            let text = format!("message {number}");
            messages.push(Message::User { text });
            let request = ChatRequest {
                messages: &messages,
                tools: &[],
                may_call: true,
                temperature: None,
                max_output: None,
            };
            let Ok(reply) = model.chat(request).await else {
                break;
            };
            answers.push(reply.text.clone());
            messages.push(Message::Assistant {
                text: reply.text,
                reasoning: None,
                calls: Vec::new(),
            });
        }
        answers
    }

    fn saying(answer: Option<&str>) -> JsonObject {
        let mut arguments = JsonObject::new();
        if let Some(answer) = answer {
            arguments.insert("answer".into(), answer.into());
        }
        arguments
    }

    async fn call(service: &Service, name: &str, arguments: JsonObject) -> CallToolResult {
        let asked = service.asked(&RequestId::Number(0));
        service.call_named(name, arguments, asked, || true).await
    }

    /// Converses, by a request that came before; the message, or what else it is told.
    async fn converse(
        service: &Service,
        asked: Asked,
        answer: Option<&str>,
        is_awaited: bool,
    ) -> String {
        let called = service.call_named(CONVERSE, saying(answer), asked, || is_awaited);
        let called = called.await;
        let text = called.content[0].as_text().unwrap().text.clone();
        let told: Value = serde_json::from_str(&text).unwrap_or_default();
        told["message"].as_str().map_or(text, ToOwned::to_owned)
    }

    #[tokio::test]
    async fn an_answer_that_is_sent_again_ends_no_turn_of_which_nobody_has_the_message() {
        let answers = session(async |service: Service| {
            let asked = |id: i64| service.asked(&RequestId::Number(id));
            let told = converse(&service, asked(1), None, true).await;
            assert_eq!(told, "message 1");
            // At once, by requests of their own: one ends the turn.
            for asked in [asked(2), asked(3), asked(4)] {
                let told = converse(&service, asked, Some("one"), true).await;
                assert_eq!(told, "message 2");
            }
            // Under the same id, when the first reply went out.
            let told = converse(&service, asked(4), Some("one"), true).await;
            assert_eq!(told, "message 2");
            // By a request that nobody waited for, and the next.
            let told = converse(&service, asked(5), Some("two"), false).await;
            assert_eq!(told, "message 3");
            let called = call(&service, "read_file", JsonObject::new()).await;
            let over = "the turn is over: call `converse` for what comes next";
            assert_eq!(called, refused(over));
            let told = converse(&service, asked(6), Some("two"), true).await;
            assert_eq!(told, "message 3");
            // The twin: the same words, by a request of its own to a message that was handed out.
            let told = converse(&service, asked(7), Some("two"), true).await;
            assert_eq!(told, "{\"over\":true}");
        });
        assert_eq!(answers.await, ["one", "two", "two"]);
    }

    /// What comes of a turn of no time at all, whose message is handed out late.
    async fn handed_late(answer: Option<&str>) -> Option<String> {
        let external = External::default();
        let outside = external.outside().unwrap();
        let model = Model::External(external);
        let request = ChatRequest {
            messages: &[Message::User { text: "m".into() }],
            tools: &[],
            may_call: true,
            temperature: None,
            max_output: None,
        };
        let asking = async {
            let service = Service::new(outside).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            for (id, answer) in [(1, None), (2, answer)] {
                let asked = service.asked(&RequestId::Number(id));
                converse(&service, asked, answer, true).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            reply = model.chat_within(request, Duration::ZERO) => reply.unwrap().ok().map(|(reply, _)| reply.text),
            () = asking => unreachable!(),
        }
    }

    #[tokio::test]
    async fn the_time_of_a_turn_begins_when_its_message_is_handed_out() {
        let answered = handed_late(Some("Done.")).await;
        assert_eq!(answered.as_deref(), Some("Done."));
        // The twin: who has the message is late.
        assert_eq!(handed_late(None).await, None);
    }

    #[tokio::test]
    async fn an_id_that_is_used_again_after_other_work_is_no_second_sending() {
        let answers = session(async |service: Service| {
            let asked = || service.asked(&RequestId::Number(1));
            converse(&service, asked(), None, true).await;
            for message in ["message 2", "message 3"] {
                let told = converse(&service, asked(), Some("Done."), true).await;
                assert_eq!(told, message);
                call(&service, "read_file", JsonObject::new()).await;
            }
        });
        assert_eq!(answers.await, ["Done.", "Done."]);
    }

    #[tokio::test]
    async fn nothing_is_done_before_the_first_message_was_handed_out() {
        let answers = session(async |service: Service| {
            let early = [(CONVERSE, Some("Done.")), ("read_file", None)];
            for (name, answer) in early {
                let called = call(&service, name, saying(answer)).await;
                assert_eq!(called, refused(BEGINS));
            }
            // The twin.
            call(&service, CONVERSE, JsonObject::new()).await;
            let called = call(&service, "read_file", JsonObject::new()).await;
            assert_eq!(called, refused("there is no tool `read_file`"));
            let asked = service.asked(&RequestId::Number(1));
            let told = converse(&service, asked, Some("Done."), true).await;
            assert_eq!(told, "message 2");
        });
        assert_eq!(answers.await, ["Done."]);
    }

    #[tokio::test]
    async fn a_run_that_is_over_has_the_conversation_only_and_says_so() {
        let outside = External::default().outside().unwrap();
        let service = Service::new(outside).await;
        let told = call(&service, CONVERSE, JsonObject::new()).await;
        assert_eq!(told, answered("{\"over\":true}"));
        let called = call(&service, "read_file", JsonObject::new()).await;
        let over = "every session is played: there is nothing to work on";
        assert_eq!(called, refused(over));
    }

    #[test]
    fn a_message_of_too_many_values_is_refused_under_its_id_whatever_that_is() {
        let message =
            |id: &str| format!(r#"{{"x":[1,{{"id":9}}]{id},"jsonrpc":"2.0"}}"#).into_bytes();
        let method = "no message of more than 9 values is read: send fewer";
        for id in ["7", r#""a""#] {
            let all = message(&format!(r#","id":{id}"#));
            assert_eq!(weighed(all.clone(), 12), all, "the twin");
            let refused = weighed(all, 9);
            let id: Value = serde_json::from_str(id).unwrap();
            let instead = json!({ "jsonrpc": "2.0", "id": id, "method": method });
            assert_eq!(serde_json::from_slice::<Value>(&refused).unwrap(), instead);
        }
        // One that names none, or what can be none.
        for id in ["", r#","id":[1]"#] {
            assert_eq!(weighed(message(id), 7), b"{}\n");
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_no_text_is_refused() {
        let outside = External::default().outside().unwrap();
        let service = Service::new(outside).await;
        let mut arguments = JsonObject::new();
        arguments.insert("answer".into(), 7.into());
        let called = call(&service, CONVERSE, arguments).await;
        assert_eq!(called, refused("`answer` has to be a text"));
    }
}
