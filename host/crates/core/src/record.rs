//! What happened in a session, as data: the words that scaffold, graders, judges, journal and reports share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// 1, 2, 3, ... over the session.
    pub number: u32,
    /// 1, 2, 3, ...
    pub turn: u32,
    /// As the agent called it: `read_file`, `gmail__send_email`.
    pub tool: String,
    /// An object; a text where the model wrote no JSON.
    pub arguments: Value,
    /// The arguments as they were written, where they hold integers of more than 64 bits: `arguments` has these as floating-point
    /// numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Box<str>>,
    pub status: CallStatus,
    /// The HTTP-like status of an app's refusal: 401, 409, 422; 0 elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
    /// JSON of an app, plain text of a built-in tool; the message of a refusal.
    pub result: String,
}

/// A text of JSON, where a value would not keep its integers.
pub fn exact(json: &str) -> Option<Box<str>> {
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let here = &rest[start..];
        if let Some(text) = here.strip_prefix('"') {
            rest = after_string(text);
            continue;
        }
        let in_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = here.find(|c| !in_number(c)).unwrap_or(here.len());
        let (number, after) = here.split_at(end);
        let whole = !number.contains(['.', 'e', 'E']);
        let kept = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
        if whole && !kept && number.len() > 18 {
            return Some(json.into());
        }
        rest = after;
    }
    None
}

/// What follows a text of JSON, whose first quotation mark is taken off.
fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(code: &u16) -> bool {
    *code == 0
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The tool did its work.
    Ok,
    /// The tool refused: wrong arguments, unknown id, a rule of the service.
    ToolError,
    /// The tool broke: a guest fault or a timeout.
    Failed,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Agent,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Utterance {
    pub turn: u32,
    pub speaker: Speaker,
    pub text: String,
}

/// What happened to a file in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Modified,
    Deleted,
}

/// One file that a turn changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    pub turn: u32,
    /// Relative to the workspace's root.
    pub path: String,
    pub kind: ChangeKind,
    /// BLAKE3 of the new content, hex: the name of its blob. None for a deleted file.
    pub blob: Option<String>,
    /// The blob of the content before the turn. None for a created file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The lines that the turn added, for text; empty for others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub added: String,
}

/// Where an intent stands (paper, section 3.4).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not yet terminal.
    #[default]
    Open,
    /// Satisfied without being stated.
    Completed,
    /// Answered to a targeted question.
    Inferred,
    /// Stated by the user unasked.
    Provided,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every intent is terminal and the agent has given its final response.
    Complete,
    /// `max_turns` was reached.
    MaxTurns,
    /// A turn of the agent took longer than `turn_timeout_s`.
    TurnTimeout,
    /// The agent's model refused for good. Scored: open intents are not proactive.
    ModelFault,
    /// A judge or the user agent never gave an answer that parses. Not scored.
    JudgeFault,
    /// Something outside of agent and task broke: a connection, a timeout of a guest. Not scored; run again by resume.
    Infrastructure,
    /// The record has no end of it: it was not begun, or something outside broke it off, or the operator has to mend something
    /// first. Not scored; in no journal.
    Unplayed,
}

impl Outcome {
    /// Whether the session's scores count.
    pub fn scored(self) -> bool {
        !matches!(
            self,
            Self::JudgeFault | Self::Infrastructure | Self::Unplayed
        )
    }
}

/// One call into a guest and what it took: for timing files, never for a journal. Even the fuel is no function of the
/// record: an instance that was made anew on a snapshot spends other fuel than one that lived on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuestCall {
    /// The plugin's name.
    pub plugin: String,
    /// The function of its interface; for a tool, its name behind a blank: `call add_note`.
    pub function: String,
    #[serde(flatten)]
    pub outcome: GuestOutcome,
    /// Units of work.
    pub fuel: u64,
    /// Most bytes of memories and tables during the call.
    pub peak_memory: u64,
    /// Waiting for a place, instantiating and restoring, in microseconds; 0 where the instance was there.
    pub instantiate_us: u64,
    /// The call itself, in microseconds.
    pub run_us: u64,
}

/// How a call into a guest ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum GuestOutcome {
    Ok,
    /// The guest refused: an ordinary answer.
    ToolError,
    /// It answered, and used an interface that the policy does not grant.
    Denied {
        interface: String,
    },
    Trap {
        trap: String,
    },
    Fuel,
    Memory,
    Timeout,
    /// It slept past the end of its time.
    Slept,
    /// Its answer breaks a rule of its interface.
    BadOutput,
    /// It answered with an error where it has none to give.
    Failed,
    /// No place became free in time.
    Overloaded,
    HostError,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_beyond_64_bits_need_their_text() {
        for json in [
            "{}",
            r#"{"id": 18446744073709551615, "low": -9223372036854775808}"#,
            r#"{"text": "99999999999999999999 \" 99999999999999999999", "n": 1}"#,
            r#"{"real": 99999999999999999999.5, "power": 12345678901234567890e9}"#,
        ] {
            assert_eq!(exact(json), None, "{json}");
        }
        for json in [
            r#"{"id": 18446744073709551616}"#,
            r"[-9223372036854775809]",
            r#"{"a": "\\", "id": 123456789012345678901234567890}"#,
        ] {
            assert_eq!(exact(json).as_deref(), Some(json));
        }
    }
}
