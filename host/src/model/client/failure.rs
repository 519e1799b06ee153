//! How an attempt at a model failed, and who is to mend it: the operator, time, or nobody because the model refused. It
//! judges by the status and, where servers use one status for both, by their words.

use std::time::Duration;

use super::one_line;
use crate::model::Usage;

/// What servers say with a status of 400 when the account, its key or the model's name is wrong, in lower case:
/// Anthropic's unpaid account and its own limit, Gemini's keys, `DashScope`'s debts, `OpenAI`'s budget, unknown models at
/// `OpenRouter` and `DeepSeek`.
const ACCOUNT: [&str; 12] = [
    "credit balance is too low",
    "reached your specified api usage limits",
    "api key not valid",
    "api key expired",
    "api key not found",
    "api_key_invalid",
    "account is in good standing",
    "arrearage",
    "billing",
    "insufficient balance",
    "is not a valid model id",
    "model not exist",
];

/// What they say with a status of 403 when it was the content, in lower case. Any other 403 is about rights.
const CONTENT: [&str; 6] = [
    "flagged",
    "moderation",
    "content policy",
    "content_policy",
    "content filter",
    "safety",
];

/// How an attempt failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Busy, broken or stalled: asked again.
    Trouble {
        reason: String,
        retry_after: Option<Duration>,
        /// It says that it is asked too much.
        busy: bool,
    },
    /// No JSON: asked again a few times.
    NotJson { reason: String },
    /// JSON of the wrong shape: asked again a few times.
    WrongShape { reason: String },
    /// A wrong key, an unpaid account, an unknown address or model: for the operator to mend.
    Settings { reason: String },
    /// Refused for good; an answer that is a refusal is paid for.
    Refused { reason: String, usage: Usage },
    /// The time of the question is used up.
    Late,
}

impl Failure {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Trouble { reason, .. }
            | Self::NotJson { reason }
            | Self::WrongShape { reason }
            | Self::Settings { reason }
            | Self::Refused { reason, .. } => reason,
            Self::Late => "the time of the turn is used up",
        }
    }

    /// A 4xx that names the temperature: reasoning models take their default only.
    pub(super) fn is_about_temperature(&self) -> bool {
        matches!(self, Self::Refused { reason, .. } if reason.to_lowercase().contains("temperature"))
    }

    /// A refusal that was no answer.
    pub(super) fn refused(reason: String) -> Self {
        Self::Refused {
            reason,
            usage: Usage::default(),
        }
    }

    pub(super) fn of_status(status: u16, words: &str, retry_after: Option<Duration>) -> Self {
        let reason = format!("status {status}: {}", one_line(words));
        let lower = words.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        match status {
            408 | 409 | 429 | 500.. => Self::Trouble {
                reason,
                retry_after,
                // 529 is Anthropic's word for an overload.
                busy: matches!(status, 429 | 503 | 529),
            },
            300..=399 | 401 | 402 | 404 => Self::Settings { reason },
            403 if !says(&CONTENT) => Self::Settings { reason },
            400 if says(&ACCOUNT) => Self::Settings { reason },
            _ => Self::refused(reason),
        }
    }
}
