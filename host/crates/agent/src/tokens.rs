//! An estimate of how many tokens a text has, for fitting a chat into a model's window. It errs on the high side for
//! prose, code and JSON alike, needs no vocabulary, and is the same for every model: a provider's own count differs and
//! is what the record's usage keeps.

use pibench_core::message::{Message, Reasoning, ToolCall, ToolSpec};

/// ASCII bytes that count as one token. English prose has some 4.2 bytes to a token and JSON some 3.2 with the common
/// vocabularies.
const ASCII_BYTES: usize = 3;

/// What roles and separators of a message cost.
const MESSAGE: usize = 4;

/// A picture of the largest size that providers do not shrink.
const PICTURE: usize = 1_600;

/// Tokens of a text: a third of its ASCII bytes, and one for each other character.
pub fn of_text(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    // The bytes of other characters that begin one.
    let others = text.bytes().filter(|byte| *byte >= 0xC0).count();
    ascii.div_ceil(ASCII_BYTES) + others
}

/// Tokens of a message, with what goes back of an answer's thinking: its blocks, and its text where the server takes
/// that back (`thoughts`).
pub(super) fn of_message(message: &Message, thoughts: bool) -> usize {
    let body = match message {
        Message::Assistant {
            text,
            reasoning,
            calls,
        } => {
            let thought = reasoning.as_ref();
            of_text(text)
                + thought.map_or(0, |thought| of_reasoning(thought, thoughts))
                + calls.iter().map(of_call).sum::<usize>()
        }
        Message::System { text } | Message::User { text } | Message::Tool { text, .. } => {
            of_text(text)
        }
        Message::Picture { text, image } => of_text(text) + image.as_ref().map_or(0, |_| PICTURE),
    };
    body + MESSAGE
}

fn of_reasoning(reasoning: &Reasoning, thoughts: bool) -> usize {
    let Reasoning { text, blocks } = reasoning;
    let told = if thoughts { of_text(text) } else { 0 };
    let sealed = blocks.iter().map(|block| of_text(&block.to_string()));
    told + sealed.sum::<usize>()
}

fn of_call(call: &ToolCall) -> usize {
    let ToolCall {
        id,
        name,
        arguments,
    } = call;
    of_text(id) + of_text(name) + of_text(arguments) + MESSAGE
}

/// Tokens of the tools that are offered with every question.
pub(super) fn of_tools(tools: &[ToolSpec]) -> usize {
    let one = |tool: &ToolSpec| {
        let ToolSpec {
            name,
            description,
            parameters,
        } = tool;
        of_text(name) + of_text(description) + of_text(parameters.text()) + MESSAGE
    };
    tools.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ascii_counts_by_bytes_and_others_by_characters() {
        for (text, expected) in [
            ("", 0),
            ("abc", 1),
            ("abcd", 2),
            ("日本語", 3),
            ("naïve", 3),
        ] {
            assert_eq!(of_text(text), expected, "{text}");
        }
    }

    #[test]
    fn arguments_count_and_so_does_the_thinking_that_goes_back() {
        let message = |reasoning: Option<Reasoning>, arguments: &str| Message::Assistant {
            text: String::new(),
            reasoning,
            calls: vec![ToolCall {
                id: "c".into(),
                name: "read_file".into(),
                arguments: arguments.into(),
            }],
        };
        let bare = of_message(&message(None, ""), true);
        let argued = of_message(&message(None, &"x".repeat(300)), true);
        assert_eq!(argued, bare + 100);
        let thought = message(Reasoning::new("x".repeat(300), Vec::new()), "");
        assert_eq!(of_message(&thought, false), bare);
        assert_eq!(of_message(&thought, true), bare + 100);
        // 16 bytes around 284.
        let block = json!({"thinking": "x".repeat(285)});
        let sealed = message(Reasoning::new("x".repeat(285), vec![block]), "");
        assert_eq!(of_message(&sealed, false), bare + 100);
    }
}
