//! Matcher and judge see the same: what an item's matcher looks at, `[evidence]` shows to a model as judge, in the rules of
//! the released code too, which show nothing else.

use serde_json::{Map, Value};

use super::Ground;
use crate::problem::Report;
use crate::suite::{Grading, Step};
use pibench_core::lexical::arguments_text;
use pibench_core::matcher::{Matcher, Piece, Place as Where};
use pibench_core::vocabulary::{ToolEvidence, WHOLE};

pub(super) fn check(ground: &Ground<'_>, report: &mut Report<'_>) {
    let items = ground.session.checklist.iter().zip(&ground.file.checklist);
    for (index, (item, file)) in items.enumerate() {
        let (Grading::Rubric { met: Some(matcher) }, Some(file)) = (&item.grading, &file.met)
        else {
            continue;
        };
        let place = ground.root.key("checklist").index(index).key("met");
        if file.within.is_empty() {
            report.add_with_help(
                place.span(),
                format!(
                    "the matcher of `{}` looks everywhere, and the judge is not shown all",
                    item.id
                ),
                "say with `within` where it is to look, and name that in [evidence]",
            );
        }
        for (nth, within) in file.within.iter().enumerate() {
            if let Some(missing) = missing(ground, matcher, within) {
                let span = place.key("within").index(nth).span();
                let message = format!("`{within}` of `{}`: {}", item.id, missing.reason);
                report.add_with_help(span, message, missing.help);
            }
        }
    }
}

/// What the judge is not shown.
struct Missing {
    reason: String,
    help: String,
}

impl Missing {
    fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            help: help.into(),
        }
    }
}

fn missing(ground: &Ground<'_>, matcher: &Matcher, within: &str) -> Option<Missing> {
    match within.split_once(':') {
        None if within == "response" => None,
        None => Some(Missing::new(
            "the judge is shown some calls and files, and this looks at all",
            "name them: `call:<tool>` or `file:<path>`, and the same in [evidence]",
        )),
        Some(("call", tool)) => missing_call(ground, matcher, tool),
        Some((_, glob)) => {
            let shown = &ground.session.files_read;
            let is_shown = shown.iter().any(|path| {
                let path = path.clone();
                matcher.names(&Where::File { path })
            });
            (!is_shown).then(|| {
                Missing::new(
                    "the judge is shown no such file",
                    format!("add the file that is meant by `{glob}` to `files_read` of [evidence]"),
                )
            })
        }
    }
}

fn missing_call(ground: &Ground<'_>, matcher: &Matcher, tool: &str) -> Option<Missing> {
    let Some(evidence) = ground
        .session
        .tool_evidence
        .iter()
        .find(|it| it.tool == tool)
    else {
        return Some(Missing::new(
            "the judge is shown no call of this tool",
            format!("add {{ tool = \"{tool}\" }} to `tools` of [evidence]"),
        ));
    };
    let calls = ground
        .session
        .reference
        .iter()
        .filter_map(|step| match step {
            Step::Call {
                tool: called,
                arguments,
                ..
            } if called == tool => Some(arguments),
            _ => None,
        });
    let reads = |arguments: &Value| {
        let tool = tool.to_owned();
        let text = arguments_text(arguments);
        let piece = Piece::new(Where::Arguments { tool: tool.clone() }, &text);
        ground.tried(&tool, matcher, &text, &piece) == Some(true)
    };
    let hidden = calls
        .filter(|arguments| reads(arguments))
        .any(|arguments| !reads(&selected(evidence, arguments)));
    hidden.then(|| {
        Missing::new(
            format!("the judge is shown {} of it, and the matcher reads more", evidence.call.join(", ")),
            format!("add what it reads to `call` of `{tool}` in [evidence], or leave `call` and `result` out to show all"),
        )
    })
}

/// The arguments that the author selected; all where nothing is.
fn selected(evidence: &ToolEvidence, arguments: &Value) -> Value {
    let whole = evidence.call.iter().any(|path| path == WHOLE);
    if whole || (evidence.call.is_empty() && evidence.result.is_empty()) {
        return arguments.clone();
    }
    let mut fields = Map::new();
    for path in &evidence.call {
        let found = arguments.pointer(&format!("/{}", path.replace('.', "/")));
        fields.extend(found.map(|value| (path.clone(), value.clone())));
    }
    Value::Object(fields)
}
