//! How an attempt at a model failed, and who is to mend it: time, the operator, or nobody because the model refused. The one
//! place that judges a server's error: by its status, and by its words where servers use one status for several things.

use std::time::Duration;

use super::one_line;
use super::remedy::{CONTEXT, Mend};
use pibench_core::message::Usage;

/// What servers say when it was the content, in lower case; with a status of 400 or 403, or without one. Anything else that
/// they reject is for the operator.
const CONTENT: [&str; 23] = [
    "content policy",
    "content_policy",
    "contentpolicy",
    "content filter",
    "content_filter",
    // OpenAI and Azure.
    "invalid_prompt",
    "content management policy",
    "responsibleaipolicyviolation",
    "usage policy",
    "usage policies",
    "input was flagged",
    "prompt was flagged",
    "request was flagged",
    "content was flagged",
    "moderation",
    // DashScope, DeepSeek, Moonshot, Gemini.
    "inappropriate content",
    "data_inspection_failed",
    "content exists risk",
    "considered high risk",
    "prohibited_content",
    // Z.ai, MiniMax and Ark.
    "sensitive content",
    "new_sensitive",
    "sensitive information",
];

/// What they say with a status of 429 when no waiting helps, in lower case: the account is empty or stopped.
const EMPTY: [&str; 6] = [
    "insufficient_quota",
    "exceeded_current_quota_error",
    "insufficient balance",
    "credit balance",
    "billing_hard_limit",
    "setlimitexceeded",
];

/// `DashScope` calls its tokens for each minute a quota, too.
const REFILLED: [&str; 2] = ["allocated quota", "#token-limit"];

/// What local servers say with a status of 500, and Groq with 400, when the model's own call is what they cannot read, in lower
/// case.
const UNPARSED: [&str; 3] = [
    // llama.cpp, Ollama, Groq.
    "failed to parse input at pos",
    "error parsing tool call",
    "tool_use_failed",
];

/// What llama.cpp says with a status of 500 where it was started without tools, in lower case.
const UNTOOLED: &str = "requires --jinja";

/// How an attempt failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Busy, broken or stalled: asked again.
    Trouble {
        reason: String,
        retry_after: Option<Duration>,
        /// It says that it is asked too much.
        busy: bool,
        /// It says that this is so for a while only: its rate is exceeded.
        rate: bool,
    },
    /// No JSON: asked again a few times.
    NotJson {
        reason: String,
        /// It is a page for people.
        is_page: bool,
    },
    /// JSON of the wrong shape: asked again a few times.
    WrongShape { reason: String },
    /// A call that the model wrote so that its own server cannot read it: asked again a few times.
    Unparsed { reason: String },
    /// An error with neither a status nor words that are known.
    Unexplained { reason: String },
    /// The request is rejected and would be again: for the operator to mend.
    Setup { reason: String, mend: Mend },
    /// Longer than any answer that is read, or of more values: it would be again.
    TooLong { reason: String },
    /// Refused for good; an answer that is a refusal is paid for.
    Refused { reason: String, usage: Usage },
    /// What was answered broke off: by its server's own word, or on its way. It was made all the same.
    Broken { reason: String },
    /// The time of the question is used up.
    Late,
}

impl Failure {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Trouble { reason, .. }
            | Self::Broken { reason }
            | Self::NotJson { reason, .. }
            | Self::WrongShape { reason }
            | Self::Unparsed { reason }
            | Self::Unexplained { reason }
            | Self::Setup { reason, .. }
            | Self::TooLong { reason }
            | Self::Refused { reason, .. } => reason,
            Self::Late => "the time of the turn is used up",
        }
    }

    /// The wait that the server asks for.
    pub(super) fn asked(&self) -> Option<Duration> {
        match self {
            Self::Trouble { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether an answer was asked for and could not be used: it was made all the same, and nobody knows for how much.
    pub(super) fn is_spoiled(&self) -> bool {
        matches!(
            self,
            Self::NotJson { .. }
                | Self::WrongShape { .. }
                | Self::Unparsed { .. }
                | Self::Broken { .. }
                | Self::TooLong { .. }
                | Self::Late
        )
    }

    /// Whether time alone mends it, as long as it may take.
    pub(super) fn is_rate(&self) -> bool {
        matches!(self, Self::Trouble { rate: true, .. })
    }

    /// A 4xx that names the temperature: reasoning models take their default only.
    pub(super) fn is_about_temperature(&self) -> bool {
        let (Self::Setup { reason, .. }
        | Self::Unexplained { reason }
        | Self::Refused { reason, .. }) = self
        else {
            return false;
        };
        reason.to_lowercase().contains("temperature")
    }

    /// A refusal that was no answer.
    pub(super) fn refused(reason: String) -> Self {
        Self::Refused {
            reason,
            usage: Usage::default(),
        }
    }

    /// What a server means that broke while the model answered, and names no status.
    pub(super) fn of_broken(message: &str, codes: &str) -> Self {
        match Self::of_status(0, message, codes, None) {
            Self::Unexplained { reason } => Self::Broken { reason },
            known => known,
        }
    }

    /// What an error of this status means; 0 where there is none. `codes`: its types and codes.
    pub(super) fn of_status(
        status: u16,
        message: &str,
        codes: &str,
        retry_after: Option<Duration>,
    ) -> Self {
        let words = one_line(message);
        let reason = match status {
            0 => words,
            _ => format!("status {status}: {words}"),
        };
        let lower = format!("{message} {codes}").to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        let about_content = || says(&CONTENT) || has_word(&lower, "safety");
        let too_long = matches!(status, 0 | 400 | 413 | 422 | 500) && says(&CONTEXT);
        match status {
            429 if says(&EMPTY) && !says(&REFILLED) => Self::Setup {
                reason,
                mend: Mend::Account,
            },
            _ if too_long => Self::Setup {
                reason,
                mend: Mend::Window,
            },
            400 | 500 if says(&UNPARSED) => Self::Unparsed { reason },
            500 if says(&[UNTOOLED]) => Self::Setup {
                reason,
                mend: Mend::Tools,
            },
            408 | 409 | 429 | 500.. => Self::Trouble {
                reason,
                retry_after,
                // 529 is Anthropic's word for an overload.
                busy: matches!(status, 429 | 503 | 529),
                rate: status == 429,
            },
            0 | 400 | 403 if about_content() => Self::refused(reason),
            // Without a status only what is recognised is the operator's.
            _ => match Mend::of(status, &lower) {
                Mend::Other if status == 0 => Self::Unexplained { reason },
                mend => Self::Setup { reason, mend },
            },
        }
    }
}

/// Whether a word stands by itself: `safety_settings` is a parameter.
fn has_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|found| found == word)
}
