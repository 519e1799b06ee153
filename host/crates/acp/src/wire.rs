//! A line of the protocol: JSON-RPC 2.0, one message each. The words in it are the schema crate's; what is a request, an
//! answer or neither is decided here, after a look at how much the line holds.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use pibench_core::weight::{MOST_VALUES, Weight};

/// Levels of nesting.
const DEPTH: usize = 64;

/// What an agent wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// To the request of this number.
    Answer {
        id: i64,
        result: Result<Value, Error>,
    },
}

/// A line that is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoMessage {
    #[error("it has more than {MOST_VALUES} values")]
    Values,
    #[error("it nests deeper than {DEPTH} levels")]
    Depth,
    #[error("it is no JSON: {0}")]
    Json(String),
    #[error("it is no message of JSON-RPC 2.0")]
    Shape,
    #[error("it answers a request that was never made")]
    Unasked,
}

/// What a line says.
pub fn read(line: &[u8]) -> Result<Incoming, NoMessage> {
    weigh(line)?;
    let mut value: Value =
        serde_json::from_slice(line).map_err(|error| NoMessage::Json(error.to_string()))?;
    let message = value.as_object_mut().ok_or(NoMessage::Shape)?;
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(NoMessage::Shape);
    }
    let id = message.remove("id");
    let params = message.remove("params").unwrap_or(Value::Null);
    let method = match message.remove("method") {
        None => None,
        Some(Value::String(method)) => Some(method),
        Some(_) => return Err(NoMessage::Shape),
    };
    match (method, id) {
        (Some(method), None) => Ok(Incoming::Notification { method, params }),
        (Some(method), Some(id)) => Ok(Incoming::Request {
            id: serde_json::from_value(id).map_err(|_| NoMessage::Shape)?,
            method,
            params,
        }),
        (None, Some(id)) => {
            let unasked = if id.is_null() {
                NoMessage::Shape
            } else {
                NoMessage::Unasked
            };
            let id = id.as_i64().ok_or(unasked)?;
            let result = match (message.remove("result"), message.remove("error")) {
                (Some(result), None) => Ok(result),
                // One of another shape is an error all the same: who asked does not wait on.
                (_, Some(error)) => Err(serde_json::from_value(error.clone())
                    .unwrap_or_else(|_| Error::internal_error().data(error))),
                (None, None) => {
                    Err(Error::internal_error().data("the answer has neither result nor error"))
                }
            };
            Ok(Incoming::Answer { id, result })
        }
        (None, None) => Err(NoMessage::Shape),
    }
}

impl Incoming {
    /// The parameters as the schema has them.
    pub fn params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
        serde_json::from_value(params)
            .map_err(|error| Error::invalid_params().data(Value::String(error.to_string())))
    }
}

/// What is written to an agent, a line each.
#[derive(Debug)]
pub struct Outgoing;

impl Outgoing {
    pub fn request(id: i64, method: &str, params: &impl Serialize) -> Vec<u8> {
        line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    pub fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
        line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    pub fn answer(id: &RequestId, result: &Result<Value, Error>) -> Vec<u8> {
        line(&match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        })
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Looks at how much a line holds, without making anything of it.
fn weigh(line: &[u8]) -> Result<(), NoMessage> {
    let weight = Weight::of(line);
    if weight.is_too_much() {
        return Err(NoMessage::Values);
    }
    if weight.depth > DEPTH {
        return Err(NoMessage::Depth);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_notification_or_an_answer() {
        let read = |text: &str| read(text.as_bytes());
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#),
            Ok(Incoming::Request {
                id: RequestId::Str("a".into()),
                method: "m".into(),
                params: json!({"x": 1}),
            })
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","method":"m"}"#),
            Ok(Incoming::Notification {
                method: "m".into(),
                params: Value::Null,
            })
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":7,"result":null}"#),
            Ok(Incoming::Answer {
                id: 7,
                result: Ok(Value::Null),
            })
        );
        let Ok(Incoming::Answer { result, .. }) =
            read(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"log in"}}"#)
        else {
            panic!("no answer")
        };
        assert_eq!(result.unwrap_err().code, Error::auth_required().code);
        let Ok(Incoming::Answer { result, .. }) =
            read(r#"{"jsonrpc":"2.0","id":7,"error":"out of money"}"#)
        else {
            panic!("no answer")
        };
        assert_eq!(result.unwrap_err().data, Some(json!("out of money")));
        let empty = read(r#"{"jsonrpc":"2.0","id":7}"#);
        assert!(matches!(
            empty,
            Ok(Incoming::Answer {
                id: 7,
                result: Err(_)
            })
        ));
        for id in ["\"7\"", "7.5", "[]"] {
            let answer = read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
            assert_eq!(answer, Err(NoMessage::Unasked), "{id}");
        }
        for other in [
            "[]",
            "{}",
            "1",
            r#"{"id":1,"method":"m"}"#,
            // So is told of what could not be read, a notification perhaps.
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
        ] {
            assert_eq!(read(other), Err(NoMessage::Shape), "{other}");
        }
        assert!(matches!(read("hello"), Err(NoMessage::Json(_))));
    }

    #[test]
    fn a_line_of_too_many_values_or_levels_is_refused_before_it_is_taken_apart() {
        let values = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert_eq!(read(values.as_bytes()), Err(NoMessage::Values));
        let deep = format!("{}{}", "[".repeat(DEPTH + 1), "]".repeat(DEPTH + 1));
        assert_eq!(read(deep.as_bytes()), Err(NoMessage::Depth));
        // In a text neither counts.
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"m","params":"{}\"{}"}}"#,
            "[".repeat(DEPTH + 1),
            ",".repeat(MOST_VALUES)
        );
        assert!(read(text.as_bytes()).is_ok());
    }
}
