//! Language models behind one interface: a chat of messages and tools in, one reply out. Providers' wire formats stay
//! below `wire`; nothing above this crate knows them. `web` is what an agent may read of it.
//! The only crate that asks models and reads the web; `pack` and `store` fetch their own things.

pub mod bridge;
pub mod cassette;
pub mod client;
pub mod collector;
pub mod cut;
pub mod external;
mod gate;
pub mod meter;
pub mod place;
pub mod provider;
pub mod retry;
pub mod scripted;
pub mod told;
pub mod web;
mod wire;

use std::time::Duration;

use pibench_core::message::{ChatRequest, Reply, Usage};

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
    /// What a user agent or a judge is asked is longer than its server's context: less can be shown to it. Where nothing shorter can
    /// be asked, it is the operator's to mend, as [`Self::Setup`].
    #[error("ask {server}: {reason}; {remedy}")]
    Window {
        server: String,
        reason: String,
        remedy: String,
        /// What answers to a part of the request have cost.
        usage: Box<Usage>,
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
            Self::Window { usage, .. } | Self::Refused { usage, .. } => **usage,
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
            Self::External(external) => {
                external.tell(request).await?;
                external.chat(request).await
            }
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
    /// among the provider's calls, for a rate limit, between attempts, for an agent from outside to take its message or to
    /// open its session. Where the time was used up, what that has cost.
    pub async fn chat_within(
        &self,
        request: ChatRequest<'_>,
        left: Duration,
    ) -> Result<Result<(Reply, Duration), Usage>, ModelError> {
        match self {
            Self::Scripted(scripted) => Ok(Ok((scripted.chat(request), Duration::ZERO))),
            Self::Client(client) => client.chat_within(request, left).await,
            Self::External(external) => {
                let waited = external.tell(request).await?;
                if let Ok(reply) = tokio::time::timeout(left, external.chat(request)).await {
                    Ok(Ok((reply?, waited)))
                } else {
                    external.out_of_time();
                    Ok(Err(Usage::default()))
                }
            }
        }
    }
}
