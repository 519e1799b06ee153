//! `ask_user`: a question that ends the turn. Who runs the turn carries it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MOST_LISTED, Refusal, bounded};

/// What a question without words is answered with.
const NO_QUESTION: &str = "`question` is empty, so nothing was asked: write what you want to know";

/// Ends the turn; the answer comes as this call's result.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Arguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

/// What the user reads: the question, and a line for each option.
pub(crate) fn write(arguments: Arguments) -> Result<String, Refusal> {
    let Arguments { question, options } = arguments;
    if question.trim().is_empty() {
        return Err(Refusal::new(NO_QUESTION.into()));
    }
    let listed = options.iter().take(MOST_LISTED);
    let text = listed.fold(bounded(question), |text, option| {
        format!("{text}\n- {option}")
    });
    Ok(match options.len().saturating_sub(MOST_LISTED) {
        0 => text,
        more => format!("{text}\n[{more} more options were left out: at most {MOST_LISTED}]"),
    })
}
