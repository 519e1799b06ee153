//! Calls that a model wrote and its server did not read, for want of a parser for them. They stay the text that they came as:
//! they are counted, so that nobody takes them for answers, and never carried out.

use pibench_core::message::ToolSpec;

/// What stands before the tool's name: in JSON, and in the calls of Qwen's coders.
const BEFORE: [&str; 2] = ["\"name\"", "<function="];

/// What comes behind it: the arguments, or the first of them.
const BEHIND: [&str; 3] = ["\"arguments\"", "\"parameters\"", "<parameter="];

/// Whether a text holds a call of one of these tools, by its name.
pub(super) fn holds_call(text: &str, tools: &[ToolSpec]) -> bool {
    BEFORE.iter().any(|before| {
        let mut found = text.split(before).skip(1);
        found.any(|rest| is_call(rest, tools))
    })
}

/// Whether a text goes on as a call does whose name is next.
fn is_call(rest: &str, tools: &[ToolSpec]) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ':', '"']);
    let end = rest.find(['"', '>']).unwrap_or(rest.len());
    let (name, behind) = rest.split_at(end);
    let is_offered = tools.iter().any(|tool| tool.name == name.trim_end());
    is_offered && BEHIND.iter().any(|words| behind.contains(words))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: bool) {
        let tools = ["read_file", "gmail__send_email"].map(|name| ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: json!({ "type": "object" }).into(),
        });
        assert_eq!(holds_call(text, &tools), expected, "{text}");
    }

    #[test]
    fn a_call_in_the_text_is_known_by_the_name_of_an_offered_tool() {
        for text in [
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
            "[TOOL_REQUEST]{\"name\":\"gmail__send_email\",\"arguments\":{}}[END_TOOL_REQUEST]",
            "I look.\n```json\n{\n  \"name\" : \"read_file\",\n  \"parameters\": {}\n}\n```",
            "[TOOL_CALLS][{\"name\": \"other\", \"arguments\": {}}, {\"name\": \"read_file\", \"arguments\": {}}]",
            "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn what_only_speaks_of_tools_is_an_answer() {
        for text in [
            "",
            "I used read_file, with the arguments that you see.",
            "{\"name\": \"write_it\", \"arguments\": {}}",
            "{\"name\": \"read_file\", \"size\": 3}",
            "The \"name\" of it is \"read_file\".",
            "{\"name\": \"read_file_twice\", \"parameters\": []}",
        ] {
            check(text, false);
        }
    }
}
