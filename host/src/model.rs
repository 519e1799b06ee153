//! Language models behind one interface: a chat of messages and tools in, one reply out. Providers' wire formats stay
//! below `wire`; nothing above this module knows them.

pub mod cassette;
pub mod client;
pub mod external;
mod gate;
pub mod meter;
pub mod place;
pub mod provider;
pub(crate) mod retry;
mod schema;
pub mod scripted;
mod wire;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::schema::Schema;
use crate::eval::cost::{MicroUsd, Price, Tokens};

/// Whom a model plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Agent,
    User,
    Judge,
}

/// Thinking, as the provider gave it; kept in the record, never shown to the user.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reasoning {
    /// What can be read of it; empty where the provider keeps it to itself.
    #[serde(rename = "reasoning")]
    pub text: String,
    /// What the provider wants back unchanged with the message: signed or encrypted blocks, in its own format, and marks
    /// of the texts and calls that stood before the last of them.
    #[serde(
        rename = "reasoning_blocks",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub blocks: Vec<Value>,
}

impl Reasoning {
    /// None where there is neither a text nor a block.
    pub(crate) fn new(text: String, blocks: Vec<Value>) -> Option<Self> {
        (!text.is_empty() || !blocks.is_empty()).then_some(Self { text, blocks })
    }
}

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        text: String,
    },
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(flatten)]
        reasoning: Option<Reasoning>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    Tool {
        /// The id of the call that this answers.
        call_id: String,
        text: String,
    },
    /// A picture that a tool gave. A message of its own: no format takes pictures in every tool result.
    Picture {
        /// What it is, for models and readers that see only text: a path.
        text: String,
        /// None: it was shown before and is left out now, which the text says.
        #[serde(flatten)]
        image: Option<Image>,
    },
}

/// A picture's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// Base64 (RFC 4648, section 4).
    pub data: String,
}

impl Image {
    /// The largest that is shown, in bytes: as base64 it stays below what the servers take (5 MB).
    pub const MOST_BYTES: usize = 3 << 20;

    /// The picture that a file's bytes are; None where they are none, by how they begin. Nothing here decodes one.
    pub fn of(content: &[u8]) -> Option<Self> {
        Some(Self {
            media_type: Self::media_type_of(content)?.to_owned(),
            data: STANDARD.encode(content),
        })
    }

    /// What the first 16 bytes of a file say.
    pub fn media_type_of(head: &[u8]) -> Option<&'static str> {
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            return Some("image/png");
        }
        if head.starts_with(b"\xff\xd8\xff") {
            return Some("image/jpeg");
        }
        if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            return Some("image/gif");
        }
        let webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP".as_slice());
        webp.then_some("image/webp")
    }
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// The JSON text of the arguments, unchecked.
    pub arguments: String,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// Of type `object`.
    pub parameters: Schema,
}

/// One question to a model.
#[derive(Debug, Clone, Copy)]
pub struct ChatRequest<'a> {
    pub messages: &'a [Message],
    pub tools: &'a [ToolSpec],
    /// Whether it may call them. Servers want to see the tools of a chat that has calls even when no more are wanted.
    pub may_call: bool,
    /// None: the provider's default.
    pub temperature: Option<f64>,
    /// The longest answer, in tokens, thinking among them. None: as long as the model's own limit.
    pub max_output: Option<u32>,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    pub text: String,
    #[serde(flatten)]
    pub reasoning: Option<Reasoning>,
    pub calls: Vec<ToolCall>,
    pub usage: Usage,
    /// The answer was cut at the model's output limit.
    pub truncated: bool,
}

/// Tokens of one or several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub calls: u64,
    pub input_tokens: u64,
    /// Part of `input_tokens` that the provider had cached.
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Part of `output_tokens` that was thinking.
    pub reasoning_tokens: u64,
    /// Part of `input_tokens` that the provider put into its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// At the prices of the day.
    #[serde(default, skip_serializing_if = "MicroUsd::is_zero")]
    pub cost: MicroUsd,
    /// Calls whose price is not known; `cost` leaves them out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// With what it costs; None when the price is not known.
    fn priced(self, price: Option<&Price>) -> Self {
        let Some(price) = price else {
            return Self {
                unpriced_calls: self.calls,
                ..self
            };
        };
        let aside = self.cached_tokens.saturating_add(self.cache_write_tokens);
        let tokens = Tokens {
            input: self.input_tokens.saturating_sub(aside),
            cached: self.cached_tokens,
            cache_write: self.cache_write_tokens,
            output: self.output_tokens,
        };
        Self {
            cost: price.of(tokens),
            ..self
        }
    }

    /// The share of the input that the provider had cached, 0 to 1; None without any input.
    pub fn cached_share(&self) -> Option<f64> {
        (self.input_tokens > 0).then(|| self.cached_tokens as f64 / self.input_tokens as f64)
    }

    /// What all of it cost; None when the price of a part is not known.
    pub fn known_cost(&self) -> Option<MicroUsd> {
        (self.unpriced_calls == 0).then_some(self.cost)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let Self {
            calls,
            input_tokens,
            cached_tokens,
            output_tokens,
            reasoning_tokens,
            cache_write_tokens,
            cost,
            unpriced_calls,
        } = other;
        self.calls += calls;
        self.input_tokens += input_tokens;
        self.cached_tokens += cached_tokens;
        self.output_tokens += output_tokens;
        self.reasoning_tokens += reasoning_tokens;
        self.cache_write_tokens += cache_write_tokens;
        self.cost += cost;
        self.unpriced_calls += unpriced_calls;
    }
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The way to the model broke, after all retries: the session can be run again.
    #[error("reach {server}: {reason}")]
    Infrastructure { server: String, reason: String },
    /// The server rejects the request and would reject it again: a wrong key, no such model, too many tools. Nothing that
    /// the model did; the run stops until the operator has mended it.
    #[error("ask {server}: {reason}; {remedy}")]
    Setup {
        server: String,
        /// The server's words, in one line of bounded length.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The model, or the filter before it, refused this request for good: the session counts as it is.
    #[error("get an answer from {server}: {reason}")]
    Refused {
        server: String,
        reason: String,
        /// What the refusal cost, where it came as an answer, and all attempts before it.
        usage: Box<Usage>,
    },
}

impl ModelError {
    /// What was spent without an answer.
    pub fn usage(&self) -> Usage {
        match self {
            Self::Infrastructure { .. } | Self::Setup { .. } => Usage::default(),
            Self::Refused { usage, .. } => **usage,
        }
    }
}

/// A model that plays a role. Scripted ones need neither key nor network.
#[derive(Debug, Clone)]
pub enum Model {
    Scripted(scripted::Scripted),
    Client(client::Client),
    /// An agent of somebody else's.
    External(external::External),
}

impl Model {
    /// Asks for one reply.
    pub async fn chat(&self, request: ChatRequest<'_>) -> Result<Reply, ModelError> {
        match self {
            Self::Scripted(scripted) => Ok(scripted.chat(request)),
            Self::Client(client) => client.chat(request).await,
            Self::External(external) => external.chat(request).await,
        }
    }

    /// Asks to save what later sessions need to know. Only a real model has anything to say there.
    pub async fn remember(&self, request: ChatRequest<'_>) -> Result<Reply, ModelError> {
        match self {
            Self::Scripted(_) => Ok(scripted::remember()),
            Self::Client(client) => client.chat(request).await,
            Self::External(_) => Ok(external::remembered()),
        }
    }

    /// The session is over: an agent from outside may still wait for a result.
    pub async fn end_session(&self) {
        if let Self::External(external) = self {
            external.end_session().await;
        }
    }

    /// Whether what it is sent has to fit a window.
    pub fn has_window(&self) -> bool {
        matches!(self, Self::Client(_))
    }

    /// Whether the text of its earlier thinking is sent to it again. Blocks always are.
    pub fn wants_thoughts(&self) -> bool {
        matches!(self, Self::Client(client) if client.wants_thoughts())
    }

    /// Asks for one reply within `left` of work by the model, and says how long was waited beside that: for a place
    /// among the provider's calls, for a rate limit, between attempts. None: the time was used up.
    pub async fn chat_within(
        &self,
        request: ChatRequest<'_>,
        left: Duration,
    ) -> Result<Option<(Reply, Duration)>, ModelError> {
        match self {
            Self::Scripted(scripted) => Ok(Some((scripted.chat(request), Duration::ZERO))),
            Self::Client(client) => client.chat_within(request, left).await,
            Self::External(external) => {
                match tokio::time::timeout(left, external.chat(request)).await {
                    Ok(reply) => Ok(Some((reply?, Duration::ZERO))),
                    Err(_) => Ok(None),
                }
            }
        }
    }
}
