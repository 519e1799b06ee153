//! `ask_user`: a question that ends the turn. Who runs the turn carries it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MOST_LISTED, Refusal, bounded};

/// What a question without words is answered with.
const NO_QUESTION: &str = "`question` is empty, so nothing was asked: write what you want to know";

/// Characters of one option.
const LONGEST_OPTION: usize = 500;

/// Ends the turn; the answer comes as this call's result.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Arguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

/// What the user reads, where anything is asked.
pub(crate) fn write(arguments: Arguments) -> Result<String, Refusal> {
    let Arguments { question, options } = arguments;
    if question.trim().is_empty() {
        return Err(Refusal::new(NO_QUESTION.into()));
    }
    Ok(text(question, &options))
}

/// What the user reads: the question, and a line for each option.
pub(super) fn text(question: String, options: &[String]) -> String {
    let listed = options.iter().take(MOST_LISTED);
    // Each has its bound too, or a long one would hide those behind it.
    let text = listed.fold(bounded(question), |text, option| {
        format!("{text}\n- {}", first_characters(option))
    });
    match options.len().saturating_sub(MOST_LISTED) {
        0 => text,
        more => format!("{text}\n[{more} more options were left out: at most {MOST_LISTED}]"),
    }
}

/// An option as far as anybody reads one.
fn first_characters(option: &str) -> String {
    match option.char_indices().nth(LONGEST_OPTION) {
        Some((end, _)) => format!("{} [...]", &option[..end]),
        None => option.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_option_is_cut_and_those_behind_it_are_read() {
        let options = vec!["the red one".into(), "x".repeat(10_000_000), "blue".into()];
        let arguments = Arguments {
            question: "Which?".into(),
            options,
        };
        let text = write(arguments).unwrap();
        assert!(text.starts_with("Which?\n- the red one\n- xxx"));
        assert!(text.ends_with("x [...]\n- blue"));
        assert_eq!(text.len(), 6 + 14 + 3 + LONGEST_OPTION + 6 + 7);
    }
}
