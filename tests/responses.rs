//! A model that speaks the responses format: what the tests' own model says, in the items of that format.

use serde_json::{Value, json};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::models::{message, run, server_at};
use crate::scene::{Scene, expect, short};

/// Encrypted thinking that the server gives with each answer, and wants back.
const SEALED: &str = "gAAAAA-sealed";

pub(crate) async fn server() -> MockServer {
    server_at("/v1/responses", respond).await
}

fn respond(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    answered(&message(&as_chat(&body)))
}

/// A message of chat completions as an answer of this format.
pub(crate) fn answered(said: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(answer(said))
}

/// The same as JSON.
pub(crate) fn answer(said: &Value) -> Value {
    let mut output = vec![json!({
        "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SEALED,
    })];
    if let Some(text) = said["content"].as_str() {
        output.push(json!({
            "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }));
    }
    let calls = said["tool_calls"].as_array().into_iter().flatten();
    output.extend(calls.map(|call| {
        json!({
            "id": "fc_1", "type": "function_call", "call_id": call["id"], "status": "completed",
            "name": call["function"]["name"], "arguments": call["function"]["arguments"],
        })
    }));
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "output": output,
        "usage": { "input_tokens": 100, "output_tokens": 10, "total_tokens": 110 },
    })
}

/// A request of this format as one of chat completions. What it must not hold ends the test.
pub(crate) fn as_chat(body: &Value) -> Value {
    assert_eq!(body["store"], false);
    let mut messages = Vec::new();
    if let Some(system) = body["instructions"].as_str() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for item in body["input"].as_array().unwrap() {
        let has_id = item.get("id").is_some();
        assert_eq!(
            has_id,
            item["type"] == "reasoning",
            "nothing else was stored: {item}"
        );
        match item["type"].as_str() {
            None => messages.push(item.clone()),
            Some("function_call_output") => {
                messages.push(json!({ "role": "tool", "content": item["output"] }));
            }
            Some("reasoning") => assert_eq!(item["encrypted_content"], SEALED),
            Some(_) => messages.push(json!({ "role": "assistant", "content": null })),
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<Value> = tools.map(|tool| json!({ "function": tool })).collect();
    json!({ "messages": messages, "tools": tools })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_papers_judge_as_an_agent_calls_tools_and_is_given_its_thinking_back() {
    let scene = Scene::new();
    let server = server().await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--session",
        "corrie-extension",
        "--out",
        "run",
        "--runs",
        "1",
        "--agent",
        "gpt-5.4",
        "--no-preflight",
        "--user",
        "lexical",
        "--judge",
        "lexical",
    ];
    expect(&run(&scene, &args, &server), 0, &[]);
    let asked: Vec<Value> = server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    assert!(
        asked
            .iter()
            .all(|body| body["reasoning"]["effort"] == "medium")
    );
    let thinking = |item: &&Value| item["type"] == "reasoning";
    let after_call = asked[1]["input"].as_array().unwrap();
    assert_eq!(after_call.iter().filter(thinking).count(), 1);
    let kinds: Vec<&str> = after_call[1..]
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["reasoning", "function_call", "function_call_output"]
    );
    assert!(scene.path("run/workspaces/law_trainee.r1/out.md").exists());
}
