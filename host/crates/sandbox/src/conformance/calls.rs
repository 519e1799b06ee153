//! Recorded calls: lives of an app, each begun on a seed, with what every call came to. They say what an app answers in so
//! many words, for whoever makes the same app again. Nothing is judged but equality.

use std::sync::Arc;

use jiff::civil::DateTime;
use serde::Deserialize;
use serde_json::Value;

use super::{Finding, finding, limits, shown};
use crate::{App, Plugin};

const KEY: [u8; 32] = [7; 32];
const START: DateTime = DateTime::constant(2026, 3, 2, 9, 0, 0, 0);

/// Where an answer has this text, any text will do: what is drawn by chance.
const ANY: &str = "*";

/// What a line may be.
const FORM: &str = r#"a line is {"seed": {"people": [...], "records": {...}}}, or {"calls": [{"call": "login", "arguments": {...}, "at": "2026-03-02T09:00:00", "answer": {...}}]} with "status" and "message" of a refusal in the place of "answer""#;

/// A line of the file: an object of one key.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Of the lives that follow.
    Seed(Value),
    /// A life.
    Calls(Vec<Call>),
}

impl Line {
    fn read(line: &str) -> Result<Self, String> {
        serde_json::from_str(line)
            .map_err(|error| format!("neither a seed nor a life: {error}; {FORM}"))
    }
}

/// One call, with its answer or its refusal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(rename = "call")]
    tool: String,
    arguments: Value,
    at: DateTime,
    answer: Option<Value>,
    status: Option<u16>,
    message: Option<String>,
    /// A login whose token goes with the calls to come that have none.
    #[serde(default)]
    keep_token: bool,
}

/// Lives the lives of a file (JSON lines). The first call that comes to something else ends it.
pub async fn repeat(plugin: &Arc<Plugin>, text: &str) -> Finding {
    finding("calls", lives(plugin, text).await)
}

async fn lives(plugin: &Arc<Plugin>, text: &str) -> Result<String, String> {
    let tools = App::list_tools(plugin, limits(plugin))
        .await
        .map_err(|error| error.to_string())?;
    let private = |name: &str| {
        let name = format!("{}__{name}", plugin.name);
        let tool = tools.iter().find(|tool| tool.name == name);
        let token = tool.and_then(|tool| tool.parameters["properties"].get("access_token"));
        token.is_some_and(|token| token["deprecated"] != true)
    };
    let (mut seed, mut count, mut calls) = (None, 0, 0);
    for (index, line) in text.lines().enumerate() {
        let at = |reason: String| format!("line {}: {reason}", index + 1);
        match Line::read(line).map_err(at)? {
            Line::Seed(next) => seed = Some(next),
            Line::Calls(told) => {
                let seed = seed
                    .as_ref()
                    .ok_or_else(|| at("no seed before it".into()))?;
                live(plugin, seed, &told, private).await.map_err(at)?;
                count += 1;
                calls += told.len();
            }
        }
    }
    if count == 0 {
        return Err("the file has no life".into());
    }
    Ok(format!(
        "{count} lives, {calls} calls, each came to what is written"
    ))
}

async fn live(
    plugin: &Arc<Plugin>,
    seed: &Value,
    life: &[Call],
    private: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let mut app = App::open(Arc::clone(plugin), limits(plugin), KEY, seed, START)
        .await
        .map_err(|error| error.to_string())?;
    let mut token = None;
    for call in life {
        let mut arguments = call.arguments.clone();
        if let (true, Some(token), Some(arguments)) =
            (private(&call.tool), &token, arguments.as_object_mut())
        {
            arguments
                .entry("access_token")
                .or_insert_with(|| Value::clone(token));
        }
        let told = format!("{}({})", call.tool, shown(&call.arguments));
        let answer = app
            .call(&call.tool, &arguments, call.at)
            .await
            .map_err(|fault| format!("{told}: it {fault}"))?;
        let fits = match &answer {
            Ok(answer) => call
                .answer
                .as_ref()
                .is_some_and(|expected| same(expected, answer)),
            Err(refusal) => {
                call.status == Some(refusal.status)
                    && call.message.as_ref() == Some(&refusal.message)
            }
        };
        if !fits {
            return Err(format!("{told}: {}", difference(call, &answer)));
        }
        if call.keep_token {
            token = answer.ok().map(|answer| answer["access_token"].clone());
        }
    }
    Ok(())
}

fn difference(call: &Call, answer: &crate::app::Answer) -> String {
    let expected = match &call.answer {
        Some(answer) => shown(answer),
        None => format!(
            "{} {}",
            call.status.unwrap_or_default(),
            call.message.as_deref().unwrap_or_default()
        ),
    };
    let found = match answer {
        Ok(answer) => shown(answer),
        Err(refusal) => format!("{} {}", refusal.status, refusal.message),
    };
    format!("{found} instead of {expected}")
}

/// Whether an answer is the expected one.
fn same(expected: &Value, answer: &Value) -> bool {
    match (expected, answer) {
        (Value::String(any), Value::String(_)) if any == ANY => true,
        (Value::Object(expected), Value::Object(answer)) => {
            expected.len() == answer.len()
                && expected
                    .iter()
                    .all(|(key, value)| answer.get(key).is_some_and(|answer| same(value, answer)))
        }
        (Value::Array(expected), Value::Array(answer)) => {
            let mut pairs = expected.iter().zip(answer);
            expected.len() == answer.len() && pairs.all(|(expected, answer)| same(expected, answer))
        }
        (Value::Number(expected), Value::Number(answer)) => expected.as_f64() == answer.as_f64(),
        _ => expected == answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_seed_or_a_life_and_of_another_it_is_said_what_a_line_is() {
        for good in [
            r#"{"seed": {"people": [], "records": {}}}"#,
            r#"{"calls": [{"call": "a", "arguments": {}, "at": "2026-03-02T09:00:00", "answer": 1}]}"#,
        ] {
            Line::read(good).unwrap();
        }
        for (bad, said) in [
            (
                r#"{"call": "a", "arguments": {}}"#,
                "unknown variant `call`",
            ),
            (
                r#"{"calls": [{"call": "a", "arguments": {}}]}"#,
                "missing field `at`",
            ),
            (r#"{"seed": {}, "calls": []}"#, "line 1"),
            ("[]", "line 1"),
        ] {
            let error = Line::read(bad).unwrap_err();
            assert!(error.contains(said) && error.ends_with(FORM), "{error}");
        }
    }
}
