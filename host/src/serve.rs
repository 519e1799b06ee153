//! Sessions for an agent of somebody else's, over the Model Context Protocol (`protocol`). The tools of the session are
//! tools of the server; the conversation is one more, `converse`. The server listens on 127.0.0.1 and wants a token, or
//! speaks on standard input and output; it plays nothing itself and reaches the session only through `model/external`.

mod protocol;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Notify};

use crate::model::ToolSpec;
use crate::model::external::{Called, Outside, Over, Told};

/// The tool that the conversation runs through.
const CONVERSE: &str = "converse";

/// A subagent would be one of the built-in scaffold.
const SPAWN: &str = "spawn";

/// Bytes of one message: a whole file may be written with a call.
const MAX_MESSAGE: usize = 64 << 20;

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
    /// The agent was told that nothing more comes.
    over: Notify,
}

#[derive(Debug)]
struct Conversation {
    /// The message that is being worked on; None when every session is played.
    open: Option<Told>,
    /// The turn has ended, and what comes next was not asked for yet.
    ended: bool,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("serve on standard input and output: {0}")]
    Stdio(std::io::Error),
    #[error("serve: {0}")]
    Http(std::io::Error),
}

impl Service {
    /// Waits for the first message, so that the tools are known when an agent asks for them.
    pub async fn new(outside: Outside) -> Self {
        let open = outside.next().await.ok();
        Self(Arc::new(Inner {
            outside,
            conversation: Mutex::new(Conversation { open, ended: false }),
            over: Notify::new(),
        }))
    }

    /// The next message, after an answer if there is one.
    async fn converse(&self, answer: Option<String>) -> Value {
        let Inner {
            outside,
            conversation,
            over,
        } = &*self.0;
        let mut conversation = conversation.lock().await;
        if let (Some(answer), false) = (answer, conversation.ended) {
            // Of a run that is over the next line knows, too.
            conversation.ended = outside.answer(answer).is_ok() || conversation.open.is_some();
        }
        if conversation.ended {
            conversation.open = outside.next().await.ok();
            conversation.ended = false;
        }
        let Some(told) = &conversation.open else {
            over.notify_one();
            return json!({ "over": true });
        };
        let mut message = json!({ "message": told.message, "over": false });
        if let Some(instructions) = &told.instructions {
            message["instructions"] = instructions.as_str().into();
        }
        message
    }

    /// Waits until the agent was told that nothing more comes.
    pub async fn over(&self) {
        self.0.over.notified().await;
    }

    async fn call(&self, name: &str, arguments: Map<String, Value>) -> Value {
        let Inner {
            outside,
            conversation,
            ..
        } = &*self.0;
        // Held while the call runs: calls are made one after the other, and none while an answer is on its way.
        let mut conversation = conversation.lock().await;
        let told = match &conversation.open {
            Some(told) if !conversation.ended => told,
            Some(_) => return refused("the turn is over: call `converse` for what comes next"),
            None => return refused("every session is played: there is nothing to work on"),
        };
        if !tools(&told.tools).any(|tool| tool.name == name) {
            return refused(&format!("there is no tool `{name}`"));
        }
        let arguments = Value::Object(arguments).to_string();
        match outside.call(name, arguments).await {
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

    /// The result of one tool call, whichever tool it is.
    async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> Value {
        if name != CONVERSE {
            return self.call(name, arguments).await;
        }
        let answer = match arguments.get("answer") {
            None | Some(Value::Null) => None,
            Some(Value::String(answer)) => Some(answer.clone()),
            Some(_) => return refused("`answer` has to be a text"),
        };
        answered(&self.converse(answer).await.to_string())
    }

    /// The tools that there are now.
    async fn list_tools(&self) -> Vec<Value> {
        let conversation = self.0.conversation.lock().await;
        let open = conversation.open.as_ref();
        let specs = open.map_or(&[][..], |told| told.tools.as_slice());
        std::iter::once(converse_tool())
            .chain(tools(specs).map(tool))
            .collect()
    }
}

fn answered(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": false })
}

fn refused(reason: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": reason }], "isError": true })
}

fn tools(specs: &[ToolSpec]) -> impl Iterator<Item = &ToolSpec> {
    specs.iter().filter(|spec| spec.name != SPAWN)
}

fn tool(spec: &ToolSpec) -> Value {
    let ToolSpec {
        name,
        description,
        parameters,
    } = spec;
    json!({ "name": name, "description": description, "inputSchema": parameters })
}

fn converse_tool() -> Value {
    json!({
        "name": CONVERSE,
        "description": CONVERSE_DESCRIPTION,
        "inputSchema": {
            "type": "object",
            "properties": {
                "answer": { "type": "string", "description": "Your answer to the open message." },
            },
            "additionalProperties": false,
        },
    })
}

/// A listener on a port of its own, reachable from this machine only.
pub async fn listen(port: u16) -> Result<TcpListener, ServeError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| ServeError::Listen { address, source })
}

/// What a connection is served from.
#[derive(Debug, Clone)]
struct Door {
    service: Service,
    token: Arc<String>,
}

/// Serves `/mcp` to whoever has the token, until the future is dropped.
pub async fn http(
    service: Service,
    listener: TcpListener,
    token: String,
) -> Result<(), ServeError> {
    let door = Door {
        service,
        token: Arc::new(token),
    };
    // Without sessions and streams: each message is one request, and its answer one JSON text.
    let app = Router::new()
        .route("/mcp", post(message))
        .layer(DefaultBodyLimit::max(MAX_MESSAGE))
        .layer(middleware::from_fn_with_state(door.clone(), authorised))
        .with_state(door);
    axum::serve(listener, app).await.map_err(ServeError::Http)
}

async fn message(State(door): State<Door>, body: Bytes) -> Response {
    match protocol::answer(&door.service, &body).await {
        Some(answer) => ([(CONTENT_TYPE, "application/json")], answer.to_string()).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

/// Lets nobody in without the token, and no page of a browser: neither one of another origin, nor one whose name was
/// pointed at this machine.
async fn authorised(State(door): State<Door>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if headers.contains_key(ORIGIN) || !is_local(headers) {
        return (
            StatusCode::FORBIDDEN,
            "only programs of this machine are served",
        )
            .into_response();
    }
    let given = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "))
        .unwrap_or_default();
    // Equal hashes mean equal tokens, and their comparison takes the same time whatever they are.
    if blake3::hash(given) == blake3::hash(door.token.as_bytes()) {
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, "a bearer token is needed").into_response()
    }
}

fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
    name.is_some_and(|name| name == "127.0.0.1" || name == "localhost")
}

/// Serves on standard input and output, a message a line, until the other side closes them.
pub async fn stdio(service: Service) -> Result<(), ServeError> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut output = tokio::io::stdout();
    while let Some(line) = lines.next_line().await.map_err(ServeError::Stdio)? {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(answer) = protocol::answer(&service, line.as_bytes()).await {
            let answer = format!("{answer}\n");
            output
                .write_all(answer.as_bytes())
                .await
                .map_err(ServeError::Stdio)?;
            output.flush().await.map_err(ServeError::Stdio)?;
        }
    }
    Ok(())
}
