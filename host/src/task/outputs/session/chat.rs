//! The chat of each turn: answers, calls and results, from the files that the reference's agent wrote. A session without
//! them is scored all the same, and the import says so.

use super::super::source::{ChatMessage, Folder, ToolStep, TurnFile, text_of};
use super::super::{PlayedStep, PlayedTurn};
use super::Found;
use crate::task::import::TOOL_PREFIX;

/// Adds the steps of every turn; the system prompt.
pub(super) fn read(
    folder: &mut Folder,
    traces: &str,
    turns: &mut [PlayedTurn],
    notes: &mut Vec<String>,
) -> Found<String> {
    let mut files: Vec<(u64, String)> = folder
        .names(traces)?
        .into_iter()
        .filter_map(|name| Some((number(&name)?, name)))
        .collect();
    files.sort_unstable();
    let answered = turns.iter().filter(|turn| turn.took.is_some()).count();
    if files.len() < answered {
        notes.push(format!(
            "{}: {} files for {answered} turns; the calls of the others are not in the record",
            folder.shown(traces),
            files.len(),
        ));
    }
    let mut system = String::new();
    let mut files = files.into_iter();
    for turn in turns.iter_mut() {
        if let Some((_, name)) = files.next() {
            let file = folder.json::<TurnFile>(&format!("{traces}/{name}"))?.value;
            turn.steps = steps(&file);
            if system.is_empty() {
                system = prompt(&file.messages);
            }
        }
        conclude(turn);
    }
    Ok(system)
}

/// `turn_3.json`, or `turn_20260501_120000.json` with the time of its end.
fn number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("turn_")?.strip_suffix(".json")?;
    digits.replace('_', "").parse().ok()
}

fn prompt(messages: &[ChatMessage]) -> String {
    let system = messages.iter().find(|message| message.role == "system");
    system.map_or_else(String::new, |message| text_of(&message.content))
}

/// What the agent did since the user's last message. The chat may hold a result's beginning only: where the list of calls
/// has it whole, that counts.
fn steps(file: &TurnFile) -> Vec<PlayedStep> {
    let start = file
        .messages
        .iter()
        .rposition(|message| message.role == "user")
        .map_or(0, |place| place + 1);
    let mut listed = file.tool_steps.iter();
    let mut steps = Vec::new();
    for message in &file.messages[start..] {
        match message.role.as_str() {
            "assistant" => steps.push(reply(message)),
            "tool" => steps.push(call(message, listed.next(), &steps)),
            _ => {}
        }
    }
    // Of an agent that lists its calls only.
    for step in listed {
        let number = steps.len() + 1;
        steps.push(PlayedStep::Call {
            id: format!("step-{number}"),
            tool: plain(&step.name),
            arguments: step.arguments.clone(),
            result: text_of(&step.result),
        });
    }
    steps
}

fn reply(message: &ChatMessage) -> PlayedStep {
    let calls = message.tool_calls.iter().flatten();
    PlayedStep::Reply {
        text: text_of(&message.content),
        reasoning: message.reasoning_content.clone(),
        calls: calls
            .map(|call| {
                (
                    call.id.clone(),
                    plain(&call.function.name),
                    text_of(&call.function.arguments),
                )
            })
            .collect(),
    }
}

fn call(message: &ChatMessage, listed: Option<&ToolStep>, before: &[PlayedStep]) -> PlayedStep {
    let id = message.tool_call_id.clone().unwrap_or_default();
    let asked = before.iter().rev().find_map(|step| match step {
        PlayedStep::Reply { calls, .. } => calls.iter().find(|(call, ..)| *call == id),
        PlayedStep::Call { .. } => None,
    });
    let name = listed
        .map(|step| &step.name)
        .or(message.name.as_ref())
        .or(asked.map(|(_, tool, _)| tool));
    let arguments = match (listed, asked) {
        (Some(step), _) => step.arguments.clone(),
        (None, Some((_, _, text))) => {
            serde_json::from_str(text).unwrap_or_else(|_| text.clone().into())
        }
        (None, None) => serde_json::Value::Null,
    };
    PlayedStep::Call {
        tool: name.map(|name| plain(name)).unwrap_or_default(),
        arguments,
        result: text_of(listed.map_or(&message.content, |step| &step.result)),
        id,
    }
}

/// Our tools have no prefix.
fn plain(tool: &str) -> String {
    tool.strip_prefix(TOOL_PREFIX).unwrap_or(tool).to_owned()
}

/// The turn's last word is what the user read.
fn conclude(turn: &mut PlayedTurn) {
    let told = turn.steps.iter().rev().any(|step| match step {
        PlayedStep::Reply { text, .. } => text.trim() == turn.response.trim(),
        PlayedStep::Call { .. } => false,
    });
    if !told && turn.took.is_some() {
        turn.steps.push(PlayedStep::Reply {
            text: turn.response.clone(),
            reasoning: None,
            calls: Vec::new(),
        });
    }
}
