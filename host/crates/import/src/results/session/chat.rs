//! The chat of each turn: answers, calls and results, from the files that the reference's agent wrote. A session without
//! them is scored all the same, and the import says so.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::source::{ChatMessage, Folder, ToolStep, TurnFile, text_of};
use super::super::{PlayedStep, PlayedTurn};
use super::Found;
use crate::tasks::TOOL_PREFIX;
use pibench_core::record::exact;

/// Adds the steps of every turn; the system prompt.
pub(super) fn read(
    folder: &mut Folder,
    traces: &str,
    turns: &mut [PlayedTurn],
    notes: &mut Vec<String>,
) -> Found<String> {
    let files = files(&folder.names(traces)?, turns, &folder.shown(traces), notes);
    let mut system = String::new();
    for (place, turn) in turns.iter_mut().enumerate() {
        if let Some(name) = files.get(&place) {
            let path = format!("{traces}/{name}");
            let file = folder.json::<TurnFile>(&path)?.value;
            let (steps, agree) = steps(&file);
            if !agree {
                let path = folder.shown(&path);
                notes.push(format!(
                    "{path}: its list of calls names other tools than its chat, which was taken alone"
                ));
            }
            turn.steps = steps;
            if system.is_empty() {
                system = prompt(&file.messages);
            }
        }
        conclude(turn);
    }
    Ok(system)
}

/// The file of each turn, by the turn's place: the one with its number, or that of its rank where files have times for names.
fn files(
    names: &[String],
    turns: &[PlayedTurn],
    shown: &str,
    notes: &mut Vec<String>,
) -> BTreeMap<usize, String> {
    let answered: Vec<usize> = (0..turns.len())
        .filter(|place| turns[*place].took.is_some())
        .collect();
    let mut files = BTreeMap::new();
    let mut timed = Vec::new();
    for name in names {
        match turn_of(name) {
            Some(Named::Number(number)) if (1..=turns.len()).contains(&number) => {
                files.insert(number - 1, name.clone());
            }
            Some(Named::Number(number)) => {
                notes.push(format!("{shown}/{name}: turn {number} was not played"));
            }
            Some(Named::Time) => timed.push(name.clone()),
            None => {}
        }
    }
    if files.is_empty() && timed.len() == answered.len() {
        files.extend(answered.iter().copied().zip(timed));
    } else if !timed.is_empty() {
        let count = timed.len();
        notes.push(format!(
            "{shown}: {count} files with a time for {} turns; whose they are nobody can say",
            answered.len()
        ));
    }
    let there = answered.iter().filter(|place| files.contains_key(place));
    let there = there.count();
    if there < answered.len() {
        notes.push(format!(
            "{shown}: {there} files for {} turns; the calls of the others are not in the record",
            answered.len()
        ));
    }
    files
}

/// What a turn's file is named by.
enum Named {
    /// `turn_3.json`
    Number(usize),
    /// `turn_20260501_120000.json`: when the turn ended.
    Time,
}

fn turn_of(name: &str) -> Option<Named> {
    let name = name.strip_prefix("turn_")?.strip_suffix(".json")?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.split_once('_') {
        Some((day, time)) => (digits(day) && digits(time)).then_some(Named::Time),
        None => name
            .parse()
            .ok()
            .filter(|_| digits(name))
            .map(Named::Number),
    }
}

fn prompt(messages: &[ChatMessage]) -> String {
    let system = messages.iter().find(|message| message.role == "system");
    system.map_or_else(String::new, |message| text_of(&message.content))
}

/// A call as an answer asked for it: the tool, and the arguments as JSON text.
type Asked = (String, String);

/// What the agent did since the user's last message, and whether the list of calls agrees with the chat. The chat may hold
/// a result's beginning only: where the list has it whole, that counts.
fn steps(file: &TurnFile) -> (Vec<PlayedStep>, bool) {
    let start = file
        .messages
        .iter()
        .rposition(|message| message.role == "user")
        .map_or(0, |place| place + 1);
    let chat = &file.messages[start..];
    let mut asked: HashMap<&str, Asked> = HashMap::new();
    let mut tools: Vec<(Option<String>, Option<Asked>)> = Vec::new();
    for message in chat {
        for call in message.tool_calls.iter().flatten() {
            let function = &call.function;
            let arguments = text_of(&function.arguments);
            asked.insert(&call.id, (plain(&function.name), arguments));
        }
        if message.role == "tool" {
            let name = message.name.as_deref().map(plain);
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            // An id may come again: the latest call before the message has it.
            let asked = asked.get(id).cloned();
            let tool = name.or_else(|| asked.as_ref().map(|(tool, _)| tool.clone()));
            tools.push((tool, asked));
        }
    }
    // They are paired by their order, which is right only where both name the same tools.
    let agree = tools
        .iter()
        .zip(&file.tool_steps)
        .all(|((tool, _), step)| tool.as_ref().is_none_or(|tool| *tool == plain(&step.name)));
    let mut listed = file
        .tool_steps
        .iter()
        .take(if agree { usize::MAX } else { 0 });
    let mut tools = tools.into_iter();
    let mut steps = Vec::new();
    for message in chat {
        match message.role.as_str() {
            "assistant" => steps.push(reply(message)),
            "tool" => {
                let (tool, asked) = tools.next().unwrap_or_default();
                steps.push(call(message, tool, listed.next(), asked));
            }
            _ => {}
        }
    }
    // Of an agent that lists its calls only.
    for step in listed {
        let number = steps.len() + 1;
        steps.push(PlayedStep::Call {
            id: format!("step-{number}"),
            tool: plain(&step.name),
            arguments: step.arguments(),
            exact: step.arguments.as_deref().and_then(|json| exact(json.get())),
            result: bare(&plain(&step.name), step.result()),
        });
    }
    (steps, agree)
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

fn call(
    message: &ChatMessage,
    tool: Option<String>,
    listed: Option<&ToolStep>,
    asked: Option<Asked>,
) -> PlayedStep {
    let exact = match listed.and_then(|step| step.arguments.as_deref()) {
        Some(json) => exact(json.get()),
        None => asked.as_ref().and_then(|(_, text)| exact(text)),
    };
    let arguments = match (listed, asked) {
        (Some(step), _) => step.arguments(),
        (None, Some((_, text))) => serde_json::from_str(&text).unwrap_or_else(|_| text.into()),
        (None, None) => serde_json::Value::Null,
    };
    let tool = tool.or_else(|| listed.map(|step| plain(&step.name)));
    let tool = tool.unwrap_or_default();
    PlayedStep::Call {
        result: bare(
            &tool,
            listed.map_or_else(|| text_of(&message.content), ToolStep::result),
        ),
        tool,
        arguments,
        exact,
        id: message.tool_call_id.clone().unwrap_or_default(),
    }
}

/// Our tools have no prefix.
fn plain(tool: &str) -> String {
    tool.strip_prefix(TOOL_PREFIX).unwrap_or(tool).to_owned()
}

/// Results of our apps have no wrapping; scripts are shown the reference's again.
fn bare(tool: &str, result: String) -> String {
    if !tool.contains("__") {
        return result;
    }
    // A value would not keep integers above 64 bits.
    match serde_json::from_str::<BTreeMap<String, &RawValue>>(&result) {
        Ok(fields) if fields.len() == 1 => match fields.get("response") {
            Some(response) => compact(response),
            None => result,
        },
        _ => result,
    }
}

/// A text of JSON without needless white space, and with its integers.
fn compact(json: &RawValue) -> String {
    let text = json.get();
    match (exact(text), serde_json::from_str::<Value>(text)) {
        (None, Ok(value)) => value.to_string(),
        _ => text.to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The only call of a turn that lists its calls alone.
    fn listed(arguments: &str, result: &str) -> (Option<Box<str>>, String) {
        let name = "mcp_appworld_gmail__show_email";
        let step = format!(r#"{{"name": "{name}", "arguments": {arguments}, "result": {result}}}"#);
        let file: TurnFile =
            serde_json::from_str(&format!(r#"{{"messages": [], "tool_steps": [{step}]}}"#))
                .unwrap();
        match steps(&file).0.pop() {
            Some(PlayedStep::Call { exact, result, .. }) => (exact, result),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn integers_of_any_size_are_kept() {
        let id = "123456789012345678901234567890";
        let arguments = format!(r#"{{"id": {id}}}"#);
        let wrapped = format!(r#""{{\"response\": {{\"id\": {id}}}}}""#);
        let (exact, result) = listed(&arguments, &wrapped);
        assert_eq!(exact.as_deref(), Some(arguments.as_str()));
        assert_eq!(result, format!(r#"{{"id": {id}}}"#));
        let (exact, result) = listed(r#"{"id": 7}"#, r#"{"response": {"id":  7}}"#);
        assert_eq!((exact, result.as_str()), (None, r#"{"id":7}"#));
    }
}
