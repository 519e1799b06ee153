//! Whether a server read all of a request, by its own count of tokens: some cut what is longer than their context and say
//! nothing. It knows no vocabulary, and judges by what none of them goes below.

use pibench_core::message::{ChatRequest, Message, Usage};

/// Characters of a token at most, on the average of a whole request. English prose has some four, JSON some three, and other
/// scripts fewer.
const LONGEST: u64 = 8;

/// The shortest context that is looked for: a lower count is of a server that counts otherwise.
const SHORTEST: u64 = 1_024;

/// Contexts are whole multiples of it.
const UNIT: u64 = 1_024;

/// What is beyond half of the context in what Ollama keeps of a request that is too long.
const BEYOND_HALF: u64 = 2;

/// What a server counted of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// As many tokens as there can be, or it did not count.
    Whole,
    /// Fewer: it was cut, or counted otherwise.
    Low { counted: u64, least: u64 },
    /// Fewer, and what stays of a request that is cut: a whole context, or its half.
    Cut { counted: u64, least: u64 },
}

impl Count {
    pub fn of(request: ChatRequest<'_>, usage: &Usage) -> Self {
        let counted = counted(usage);
        if counted < SHORTEST {
            return Self::Whole;
        }
        let least = least(request);
        if counted >= least {
            Self::Whole
        } else if [0, BEYOND_HALF].contains(&(counted % UNIT)) {
            Self::Cut { counted, least }
        } else {
            Self::Low { counted, least }
        }
    }
}

/// How many tokens a server counted of a request. Some count apart what they had cached.
pub(crate) fn counted(usage: &Usage) -> u64 {
    let cached = usage.cached_tokens.saturating_add(usage.cache_write_tokens);
    usage.input_tokens.saturating_add(cached)
}

/// The fewest tokens that a request can have.
fn least(request: ChatRequest<'_>) -> u64 {
    // Some servers leave out tools that must not be called.
    let tools = if request.may_call {
        serde_json::to_string(request.tools).unwrap_or_default()
    } else {
        String::new()
    };
    let said: u64 = request.messages.iter().map(said).sum();
    (characters(&tools) + said) / LONGEST
}

/// Characters of a message. Earlier thinking is left out by most servers, and a picture is no text.
fn said(message: &Message) -> u64 {
    match message {
        Message::System { text }
        | Message::User { text }
        | Message::Tool { text, .. }
        | Message::Picture { text, .. } => characters(text),
        Message::Assistant { text, calls, .. } => {
            let arguments = calls.iter().map(|call| characters(&call.arguments));
            characters(text) + arguments.sum::<u64>()
        }
    }
}

/// Characters of a text, those of the same kind in a row as one: vocabularies have words for long rows of blanks and dashes.
fn characters(text: &str) -> u64 {
    let mut last = None;
    let other = |character: &char| last.replace(*character) != Some(*character);
    text.chars().filter(other).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of a count of a request with a text of so many characters.
    fn count(text: &str, usage: Usage) -> Count {
        let messages = [Message::User { text: text.into() }];
        let request = ChatRequest {
            messages: &messages,
            tools: &[],
            may_call: true,
            temperature: None,
            max_output: None,
        };
        Count::of(request, &usage)
    }

    fn counted(input_tokens: u64) -> Usage {
        Usage {
            input_tokens,
            ..Usage::default()
        }
    }

    #[test]
    fn a_count_below_what_a_request_can_have_is_told_from_one_that_it_can() {
        let text = "ab ".repeat(20_000);
        let least = 7_500;
        for whole in [0, 100, 1_023, 7_500, 8_192, 20_000] {
            assert_eq!(count(&text, counted(whole)), Count::Whole, "{whole}");
        }
        for low in [1_025, 4_000, 4_097, 7_499] {
            let expected = Count::Low {
                counted: low,
                least,
            };
            assert_eq!(count(&text, counted(low)), expected);
        }
        // Of contexts of 2,048, 4,096 and 6,144 tokens.
        for cut in [2_048, 1_026, 4_096, 2_050, 6_144] {
            let expected = Count::Cut {
                counted: cut,
                least,
            };
            assert_eq!(count(&text, counted(cut)), expected);
        }
    }

    #[test]
    fn who_counts_cached_tokens_apart_or_shortens_what_repeats_has_cut_nothing() {
        let text = "ab ".repeat(20_000);
        let apart = Usage {
            cached_tokens: 4_000,
            ..counted(4_096)
        };
        assert_eq!(count(&text, apart), Count::Whole);
        let dashes = "-".repeat(60_000);
        assert_eq!(count(&dashes, counted(2_048)), Count::Whole);
    }

    #[test]
    fn tools_count_where_they_may_be_called() {
        let tool = pibench_core::message::ToolSpec {
            name: "list".into(),
            description: "ab ".repeat(20_000),
            parameters: serde_json::json!({ "type": "object" }).into(),
        };
        let request = |may_call| ChatRequest {
            messages: &[],
            tools: std::slice::from_ref(&tool),
            may_call,
            temperature: None,
            max_output: None,
        };
        let of = |may_call| Count::of(request(may_call), &counted(4_096));
        assert!(matches!(of(true), Count::Cut { counted: 4_096, .. }));
        assert_eq!(of(false), Count::Whole);
    }
}
