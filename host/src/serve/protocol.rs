//! The Model Context Protocol, as far as a server of tools needs it: JSON-RPC 2.0 with `initialize`, `ping`, `tools/list`
//! and `tools/call` (<https://modelcontextprotocol.io/specification>). Messages in, messages out; how they travel is not
//! known here. Its Rust SDK was left: it changes the features of shared crates so that the whole wasm engine is compiled
//! anew, for four methods. `make interop-serve` holds this one against the official client.

use serde_json::{Map, Value, json};

use super::{INSTRUCTIONS, Service};

/// The versions that are spoken, the newest first: for tools they are the same.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Error codes of JSON-RPC 2.0.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// The answer to one message; None for one that wants none.
pub(super) async fn answer(service: &Service, message: &[u8]) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(message) else {
        return Some(failed(&Value::Null, PARSE_ERROR, "the message is no JSON"));
    };
    let Some(method) = message["method"].as_str() else {
        // An answer to a request that was never made, or no message at all.
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let reason = "the message has no method";
        return (!is_answer).then(|| failed(&message["id"], INVALID_REQUEST, reason));
    };
    let id = message.get("id")?;
    let result = match method {
        "initialize" => Ok(greeting(&message["params"])),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": service.list_tools().await })),
        "tools/call" => call(service, &message["params"]).await,
        _ => Err((METHOD_NOT_FOUND, format!("there is no method `{method}`"))),
    };
    Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, reason)) => failed(id, code, &reason),
    })
}

fn failed(id: &Value, code: i32, reason: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": reason } })
}

/// The client's version where it is spoken, else the newest that is: the client then decides.
fn greeting(params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| *version == wanted);
    json!({
        "protocolVersion": version.unwrap_or(VERSIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "pibench-host", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

async fn call(service: &Service, params: &Value) -> Result<Value, (i32, String)> {
    let wrong = |reason: &str| (INVALID_PARAMS, reason.to_owned());
    let name = params["name"]
        .as_str()
        .ok_or_else(|| wrong("`name` is missing"))?;
    let arguments = match &params["arguments"] {
        Value::Null => Map::new(),
        Value::Object(arguments) => arguments.clone(),
        _ => return Err(wrong("`arguments` is no object")),
    };
    Ok(service.call_tool(name, arguments).await)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::external::External;

    async fn check(message: &str, expected: &str) {
        let outside = External::default().outside().unwrap();
        let service = Service::new(outside).await;
        let answer = answer(&service, message.as_bytes()).await;
        let answer = answer.map_or_else(|| "none".into(), |answer| answer.to_string());
        assert!(answer.contains(expected), "{message}: {answer}");
    }

    #[tokio::test]
    async fn what_is_no_request_of_the_protocol_is_told_apart() {
        check("{", r#""id":null,"error":{"code":-32700"#).await;
        check("[]", "-32600").await;
        check(
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#""id":7,"error":{"code":-32600"#,
        )
        .await;
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":"resources/list"}"#,
            r#""id":"a","error":{"code":-32601"#,
        )
        .await;
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            "-32602",
        )
        .await;
        check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#, "-32602").await;
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "none",
        )
        .await;
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "none").await;
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#""result":{}"#,
        )
        .await;
    }

    #[tokio::test]
    async fn the_clients_version_is_spoken_where_it_is_known() {
        let hello = |version: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#
            )
        };
        check(&hello("2025-03-26"), r#""protocolVersion":"2025-03-26""#).await;
        check(&hello("1999-01-01"), r#""protocolVersion":"2025-11-25""#).await;
    }

    #[tokio::test]
    async fn a_run_that_is_over_has_the_conversation_only_and_says_so() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"[{"name":"converse""#,
        )
        .await;
        let converse =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"converse"}}"#;
        check(converse, r#"{\"over\":true}"#).await;
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file"}}"#;
        check(call, "every session is played").await;
    }
}
