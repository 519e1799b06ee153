//! What is said to a language model and what it answers, apart from how it is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cost::{MicroUsd, Price, Tokens};
use crate::schema::{Said, Schema};

/// Told to an agent's model when its answer was cut off; a record tells by it that one was.
pub const GO_ON: &str = "Your answer was cut off at the output limit. Go on exactly where it stopped, without repeating any \
of it.";

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
    pub fn new(text: String, blocks: Vec<Value>) -> Option<Self> {
        Some(Self { text, blocks }).filter(Self::is_thought)
    }

    /// Whether anything was thought: a provider may have sent an empty field, which goes back to it.
    pub fn is_thought(&self) -> bool {
        !self.text.is_empty() || !self.blocks.is_empty()
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
    /// Never empty in a request: some servers refuse a tool without one.
    #[serde(default)]
    pub description: String,
    /// Of type `object`.
    pub parameters: Schema,
}

impl ToolSpec {
    /// All tools of a request as a model is shown them: without descriptions of arguments that say a name again, or that
    /// the last one about the same name has said. A tool without a description has its name for one.
    pub fn shown(tools: Vec<Self>) -> Vec<Self> {
        let mut said = Said::default();
        let one = |mut tool: Self| {
            if tool.description.trim().is_empty() {
                tool.description = tool.name.replace('_', " ");
            }
            tool.parameters.say_once(&mut said);
            tool
        };
        tools.into_iter().map(one).collect()
    }
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
    /// What of it was no Unicode or nested without end was replaced by U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    /// What those of `calls` came to that an agent from outside carried out itself: they are recorded and not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Done>,
}

/// What a call came to that was carried out elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The call's id.
    pub id: String,
    pub ok: bool,
    pub text: String,
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
    /// Calls of which it is not known what they cost, for want of a price or of the server's count of tokens; `cost` leaves
    /// them out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Calls of which no server has told how many tokens they were of; the counts of tokens leave them out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted_calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Tokens that a call can be of, far above what any model reads: a larger count is none.
    pub const MOST_TOKENS: u64 = 1 << 40;

    /// A call of which nobody told how many tokens it was of, nor what it cost.
    pub fn untold() -> Self {
        Self {
            calls: 1,
            unpriced_calls: 1,
            uncounted_calls: 1,
            ..Self::default()
        }
    }

    /// Input and output.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// With what it costs; None when the price is not known. A question is never of no tokens: a server that says so, or says
    /// nothing, has not counted. Nor has one that says nothing of its answer: its call comes as uncounted.
    #[must_use]
    pub fn priced(mut self, price: Option<&Price>) -> Self {
        let is_counted = self.input_tokens > 0 && self.uncounted_calls == 0;
        if !is_counted {
            self.uncounted_calls = self.calls;
        }
        let Some(price) = price.filter(|price| is_counted || price.is_nothing()) else {
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

    /// Whether nobody knows of how many tokens these calls were. Older records say no more than that their cost is unknown.
    pub fn is_uncounted(&self) -> bool {
        self.input_tokens == 0 && (self.uncounted_calls > 0 || self.unpriced_calls > 0)
    }

    /// Whether the counts of tokens leave out a call: they are not known then, or a lower bound.
    pub fn lacks_counts(&self) -> bool {
        self.uncounted_calls > 0 || self.is_uncounted()
    }

    /// One of its counts of tokens, if any call was counted.
    pub fn known(&self, tokens: u64) -> Option<u64> {
        (!self.is_uncounted()).then_some(tokens)
    }

    /// What all of it cost; None when the price of a part is not known.
    pub fn known_cost(&self) -> Option<MicroUsd> {
        (self.unpriced_calls == 0).then_some(self.cost)
    }
}

/// A record may hold any number: a sum stays at the largest and never begins again at 0.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
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
            uncounted_calls,
        } = other;
        add(&mut self.calls, calls);
        add(&mut self.input_tokens, input_tokens);
        add(&mut self.cached_tokens, cached_tokens);
        add(&mut self.output_tokens, output_tokens);
        add(&mut self.reasoning_tokens, reasoning_tokens);
        add(&mut self.cache_write_tokens, cache_write_tokens);
        self.cost += cost;
        add(&mut self.unpriced_calls, unpriced_calls);
        add(&mut self.uncounted_calls, uncounted_calls);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_known_as_far_as_calls_were_counted() {
        let of = |input_tokens, uncounted_calls, unpriced_calls| Usage {
            calls: 2,
            input_tokens,
            unpriced_calls,
            uncounted_calls,
            ..Usage::default()
        };
        for (usage, lacks, known) in [
            (of(9, 0, 0), false, Some(7)),
            // A script's.
            (of(0, 0, 0), false, Some(7)),
            // Of a model without a price.
            (of(9, 0, 2), false, Some(7)),
            (of(9, 1, 1), true, Some(7)),
            // Of one that costs nothing.
            (of(9, 1, 0), true, Some(7)),
            (of(0, 2, 0), true, None),
            (Usage::untold(), true, None),
            // Of a record of before it was told.
            (of(0, 0, 2), true, None),
        ] {
            let told = (usage.lacks_counts(), usage.known(7));
            assert_eq!(told, (lacks, known), "{usage:?}");
        }
    }

    #[test]
    fn sums_of_tokens_stay_at_the_largest_number() {
        let mut sum = Usage::default();
        for (input_tokens, total) in [(u64::MAX - 1, u64::MAX - 1), (7, u64::MAX)] {
            sum += Usage {
                calls: 1,
                input_tokens,
                output_tokens: 1,
                ..Usage::default()
            };
            assert_eq!(sum.input_tokens, total);
        }
        assert_eq!((sum.calls, sum.output_tokens), (2, 2));
        assert_eq!(sum.tokens(), u64::MAX);
    }

    #[test]
    fn the_same_words_about_the_same_name_are_shown_once_and_others_each_time() {
        let tool = |name: &str, description: &str, about: &str| {
            ToolSpec {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object", "properties": {"query": {"type": "string", "description": about}}})
                .into(),
        }
        };
        let tools = ToolSpec::shown(vec![
            tool("a__find", "Finds by words.", "Any word."),
            tool("b__find", "Finds by words.", "Any word."),
            tool("b__list", "", "A part."),
            tool("b__list_songs", "Lists songs.", "Any word."),
        ]);
        let told = |tool: &ToolSpec| {
            let shown: Value = serde_json::from_str(tool.parameters.text()).unwrap();
            let about = &shown["properties"]["query"]["description"];
            (tool.description.clone(), about.as_str().map(str::to_owned))
        };
        let told: Vec<_> = tools.iter().map(told).collect();
        let about = |words: &str| Some(words.to_owned());
        assert_eq!(
            told,
            [
                ("Finds by words.".into(), about("Any word.")),
                ("Finds by words.".into(), None),
                ("b  list".into(), about("A part.")),
                // Other words stood between.
                ("Lists songs.".into(), about("Any word.")),
            ]
        );
        // What a call is checked against is whole.
        assert_eq!(
            tools[1].parameters["properties"]["query"]["description"],
            "Any word."
        );
    }
}
