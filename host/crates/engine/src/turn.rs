//! What a turn of the record says, for those who show it to judges: its calls, what was said, its last text.

use serde_json::Value;

use pibench_agent::RESULTS_FOLDER;
use pibench_agent::tools::{ASK_USER, MESSAGE, MOST_LISTED};
use pibench_core::record::{CallRecord, CallStatus, Speaker, Utterance};
use pibench_record::event::{Step, Turn};

/// The calls of a turn, in order.
pub(super) fn calls(turn: &Turn) -> impl Iterator<Item = &CallRecord> {
    turn.steps.iter().flat_map(Step::calls)
}

/// What was said in a turn, in order.
pub(super) fn messages(turn: &Turn) -> [Utterance; 2] {
    let said = |speaker, text: &str| Utterance {
        turn: turn.turn,
        speaker,
        text: text.to_owned(),
    };
    [
        said(Speaker::User, &turn.message),
        said(Speaker::Agent, &turn.response),
    ]
}

/// The last text to the user alone: the answer without calls, else the last message or question.
pub(super) fn final_text(turn: &Turn) -> String {
    if let Some(Step::Notice { text }) = turn.steps.last() {
        return text.clone();
    }
    // An answer that was cut off was gone on with: its parts are one text.
    let parts = turn.steps.iter().rev().map_while(|step| match step {
        Step::Reply { text, calls, .. } if calls.is_empty() => Some(text.as_str()),
        Step::Nudge { .. } => Some(""),
        _ => None,
    });
    let parts: Vec<&str> = parts.collect();
    if !parts.is_empty() {
        return parts.into_iter().rev().collect();
    }
    let told = calls(turn).filter(|call| {
        call.status == CallStatus::Ok && matches!(call.tool.as_str(), MESSAGE | ASK_USER)
    });
    let Some(last) = told.last() else {
        return String::new();
    };
    told_by(&last.arguments)
}

/// What the user reads of a message or a question: as much of it as the tools write.
fn told_by(arguments: &Value) -> String {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let mut told = [text("content"), text("question")].concat();
    for (key, before, after) in [("options", "\n- ", ""), ("media", "\n[file: ", "]")] {
        let listed = arguments[key].as_array().map_or(&[][..], Vec::as_slice);
        for one in listed.iter().take(MOST_LISTED).filter_map(Value::as_str) {
            told.extend([before, one, after]);
        }
    }
    told
}

/// A file of the scaffold's own, which repeats what a call gave.
pub(super) fn is_kept_result(path: &str) -> bool {
    path.split('/').next() == Some(RESULTS_FOLDER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_read_with_as_many_options_as_its_tool_takes() {
        let few = json!({"question": "Which?", "options": ["a", 2, "b"]});
        assert_eq!(told_by(&few), "Which?\n- a\n- b");
        let message = json!({"content": "Here.", "media": ["a.md"]});
        assert_eq!(told_by(&message), "Here.\n[file: a.md]");
        let options: Vec<String> = (0..400_000).map(|number| number.to_string()).collect();
        let many = told_by(&json!({"question": "Which?", "options": options}));
        assert_eq!(many.lines().count(), 1 + MOST_LISTED);
    }
}
