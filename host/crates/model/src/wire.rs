//! Providers' wire formats: one file each, bytes out and bytes in. Pure; connections and retries are the client's.

mod anthropic;
mod openai;
mod order;
mod repair;
mod responses;

use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value, json};

use pibench_core::message::{ChatRequest, Image, Message, Reply, ToolSpec, Usage};
use pibench_core::vocabulary::WireFormat;
use pibench_core::weight::{MOST_VALUES, Weight, read};

/// Why an answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// No JSON: a proxy's page, or an answer that was cut off on its way. Says nothing about the model.
    NotJson { reason: String },
    /// It holds more values than are read.
    TooMuch { reason: String },
    /// JSON of another shape than the format's.
    WrongShape { reason: String },
    /// An error in the place of an answer, as some gateways send it with status 200; 0 where it names no status.
    Error {
        status: u16,
        message: String,
        /// Its types and codes, with blanks between them.
        codes: String,
    },
    /// The server says that it broke while the model answered, and names no status.
    Broken { message: String, codes: String },
    /// The model, or the filter before it, will not answer this.
    Declined { reason: String, usage: Usage },
}

/// What a request's body says beside the chat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits<'a> {
    pub(super) model: &'a str,
    /// Fields that the body has, whatever the chat.
    pub(super) fields: &'a Map<String, Value>,
    pub(super) max_output_tokens: Option<u32>,
    /// The field of chat completions that takes it.
    pub(super) output_limit: &'a str,
    /// The field in which an assistant's earlier thinking goes back.
    pub(super) give_back: Option<&'a str>,
}

/// The body of a request. The tools are most of it and the same in each, so they are written as they stand and not
/// copied.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    /// First, as a server's cache takes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// A tool in each of the formats.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    OpenAi(openai::Tool<'a>),
    Anthropic(anthropic::Tool<'a>),
    Responses(responses::Tool<'a>),
}

/// The body of a request. A temperature is sent when the request has one.
pub(super) fn request<'a>(
    format: WireFormat,
    habits: Habits<'_>,
    request: ChatRequest<'a>,
) -> Body<'a> {
    let ChatRequest {
        messages,
        tools,
        may_call,
        temperature,
        max_output: _,
    } = request;
    let mut fields = match format {
        WireFormat::OpenAi => openai::request(habits, messages),
        WireFormat::Anthropic => anthropic::request(habits, messages, !tools.is_empty()),
        WireFormat::Responses => responses::request(habits, messages),
    };
    if !tools.is_empty() && !may_call {
        let none = match format {
            WireFormat::OpenAi | WireFormat::Responses => json!("none"),
            WireFormat::Anthropic => json!({"type": "none"}),
        };
        fields.insert("tool_choice".into(), none);
    }
    if let Some(temperature) = temperature {
        fields.insert("temperature".into(), temperature.into());
    }
    for (field, value) in habits.fields {
        fields.insert(field.clone(), value.clone());
    }
    // An operator's own go instead of the chat's.
    let tools = if fields.contains_key("tools") {
        &[]
    } else {
        tools
    };
    let tool = |tool: &'a ToolSpec| match format {
        WireFormat::OpenAi => Tool::OpenAi(tool.into()),
        WireFormat::Anthropic => Tool::Anthropic(tool.into()),
        WireFormat::Responses => Tool::Responses(tool.into()),
    };
    Body {
        fields,
        tools: tools.iter().map(tool).collect(),
    }
}

/// Headers that the format wants, beside the key's.
pub(super) fn header(format: WireFormat) -> Option<(HeaderName, HeaderValue)> {
    match format {
        WireFormat::OpenAi | WireFormat::Responses => None,
        WireFormat::Anthropic => Some(anthropic::VERSION),
    }
}

/// Reads the body of a successful response.
pub(super) fn reply(format: WireFormat, body: &[u8]) -> Result<Reply, Unreadable> {
    if Weight::of(body).is_too_much() {
        let reason = format!("its answer holds more than {MOST_VALUES} values");
        return Err(Unreadable::TooMuch { reason });
    }
    let mut repaired = false;
    let body: Value = serde_json::from_slice(body).or_else(|error| {
        repaired = true;
        serde_json::from_str(&repair::repaired(body)).map_err(|_| Unreadable::NotJson {
            reason: error.to_string(),
        })
    })?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(Unreadable::Error {
            status: error.get("code").and_then(status).unwrap_or(0),
            message: error_message(&body).unwrap_or_else(|| error.to_string()),
            codes: error_codes(&body),
        });
    }
    if let Some(error) = base_resp(&body) {
        return Err(error);
    }
    let reply = match format {
        WireFormat::OpenAi => openai::reply(&body),
        WireFormat::Anthropic => anthropic::reply(&body),
        WireFormat::Responses => responses::reply(&body),
    }?;
    Ok(Reply { repaired, ..reply })
}

/// What an error body says in words, if it says anything.
pub(super) fn error_message(body: &Value) -> Option<String> {
    // Gemini puts it into a list, litellm into an object.
    let places = [
        "/error/message",
        "/error/message/error",
        "/0/error/message",
        "/error",
        "/message",
        "/detail",
    ];
    let mut found = places
        .iter()
        .filter_map(|place| body.pointer(place)?.as_str());
    let message = found.next()?.to_owned();
    // OpenRouter says that something went wrong, and here what its provider said.
    Some(match body.pointer("/error/metadata/raw") {
        Some(Value::String(raw)) => format!("{message}: {raw}"),
        _ => message,
    })
}

/// What it says for programs: types and codes, such as `invalid_request_error context_length_exceeded`.
pub(super) fn error_codes(body: &Value) -> String {
    let places = [
        "/error/type",
        "/error/code",
        "/error/status",
        "/error/innererror/code",
        "/0/error/status",
        "/type",
        "/code",
    ];
    let found = places
        .iter()
        .filter_map(|place| body.pointer(place)?.as_str());
    found.collect::<Vec<_>>().join(" ")
}

/// `MiniMax` says with status 200 what went wrong (<https://platform.minimax.io/docs/api-reference/errorcode>).
fn base_resp(body: &Value) -> Option<Unreadable> {
    let code = body.pointer("/base_resp/status_code")?.as_u64()?;
    let status = match code {
        0 => return None,
        1004 | 2049 => 401,
        1008 | 2056 => 402,
        1002 | 1039 | 1041 => 429,
        1000 | 1001 | 1013 | 1024 | 1033 => 500,
        // Parameters: a context that is too long, among others.
        2013 => 400,
        // What was asked, or what would be answered.
        _ => 0,
    };
    let said = body.pointer("/base_resp/status_msg");
    let said = said.and_then(Value::as_str).unwrap_or("no reason given");
    Some(Unreadable::Error {
        status,
        message: format!("{said} ({code})"),
        codes: String::new(),
    })
}

/// A number, or one of the names that `OpenAI` gives to what passes.
fn status(code: &Value) -> Option<u16> {
    match code.as_str() {
        Some("server_error") => return Some(500),
        Some("rate_limit_exceeded") => return Some(429),
        _ => {}
    }
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok()
}

/// A count of tokens; None where it is none that a call can have.
fn tokens(count: &Value) -> Option<u64> {
    count.as_u64().filter(|count| *count <= Usage::MOST_TOKENS)
}

fn wrong(reason: &str) -> Unreadable {
    Unreadable::WrongShape {
        reason: reason.to_owned(),
    }
}

/// The arguments of an earlier call as an object. Some servers parse them and refuse the whole chat over malformed ones,
/// so those go back wrapped.
fn object(arguments: &str) -> Map<String, Value> {
    match read(arguments) {
        Some(Value::Object(fields)) => fields,
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("malformed_arguments".to_owned(), json!(arguments))]),
    }
}

fn data_url(image: &Image) -> String {
    let Image { media_type, data } = image;
    format!("data:{media_type};base64,{data}")
}

/// The same as text. Well-formed arguments go back as they came.
fn object_text(arguments: &str) -> String {
    match read(arguments) {
        Some(Value::Object(_)) => arguments.to_owned(),
        _ => Value::Object(object(arguments)).to_string(),
    }
}

/// The chat with each picture after the results of the calls that it stands among: the formats want all results of an
/// answer's calls right after it.
fn pictures_after_results(messages: &[Message]) -> Vec<&Message> {
    let mut ordered = Vec::with_capacity(messages.len());
    let mut pictures = Vec::new();
    for message in messages {
        match message {
            Message::Picture { .. } => pictures.push(message),
            Message::Tool { .. } => ordered.push(message),
            _ => {
                ordered.append(&mut pictures);
                ordered.push(message);
            }
        }
    }
    ordered.append(&mut pictures);
    ordered
}
