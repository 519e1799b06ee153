//! Spans for a collector of OpenTelemetry: what they say, what they never say, and that no collector holds a run up.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::models::{KEY, play, play_short, server};
use crate::scene::{Scene, expect, files, short, stderr};

/// A collector that takes what comes with this header.
async fn collector() -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/traces"))
        .and(header("content-type", "application/json"))
        .respond_with(ResponseTemplate::new(200).set_body_string("{}"))
        .mount(&server)
        .await;
    server
}

/// All spans that came.
async fn spans(collector: &MockServer) -> Vec<Value> {
    let requests = collector.received_requests().await.unwrap();
    let bodies = requests
        .iter()
        .map(|request| serde_json::from_slice::<Value>(&request.body).unwrap());
    let spans = bodies.flat_map(|body| {
        let resource = &body["resourceSpans"][0];
        let name = &resource["resource"]["attributes"][0];
        assert_eq!(name["value"]["stringValue"], "pibench-host");
        let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
        spans.clone()
    });
    spans.collect()
}

/// A span's attributes by their names.
fn attributes(span: &Value) -> BTreeMap<&str, &Value> {
    let all = span["attributes"].as_array().unwrap().iter();
    all.map(|attribute| {
        let value = attribute["value"].as_object().unwrap();
        (
            attribute["key"].as_str().unwrap(),
            value.values().next().unwrap(),
        )
    })
    .collect()
}

fn is<'a>(spans: &'a [Value], operation: &str) -> Vec<&'a Value> {
    let of = |span: &&Value| {
        attributes(span)
            .get("gen_ai.operation.name")
            .is_some_and(|name| *name == operation)
    };
    spans.iter().filter(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_a_trace_with_models_tokens_tools_and_scores_and_no_text() {
    let scene = Scene::new();
    let (server, collector) = (server(play).await, collector().await);
    let output = play_short(&scene, &server, &["--otlp", &collector.uri()]);
    expect(&output, 0, &[]);
    let spans = spans(&collector).await;
    are_one_tree(&spans);

    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let chats = is(&spans, "chat");
    let sum = |role: &str, key: &str| -> u64 {
        let of_role = chats
            .iter()
            .map(|span| attributes(span))
            .filter(|one| one["pibench.role"] == role);
        of_role
            .map(|one| one[key].as_str().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    for role in ["agent", "user", "judge"] {
        let used = &results["usage"][role];
        assert_eq!(
            sum(role, "gen_ai.usage.input_tokens"),
            used["input_tokens"],
            "{role}"
        );
        assert_eq!(
            sum(role, "gen_ai.usage.output_tokens"),
            used["output_tokens"],
            "{role}"
        );
    }
    let chat = attributes(chats[0]);
    assert_eq!(chat["gen_ai.provider.name"], "openai");
    assert_eq!(chat["gen_ai.request.model"], "m");
    assert_eq!(chat["server.address"], "127.0.0.1");
    assert_eq!(chats[0]["kind"], 3);

    let tools = is(&spans, "execute_tool");
    assert!(
        tools
            .iter()
            .any(|span| attributes(span)["gen_ai.tool.name"] == "write_file")
    );
    let turns = is(&spans, "invoke_agent");
    let played = results["sessions"].as_array().unwrap();
    let count: u64 = played
        .iter()
        .map(|line| line["turns"].as_u64().unwrap())
        .sum();
    assert_eq!(turns.len() as u64, count);
    assert_eq!(attributes(turns[0])["gen_ai.request.model"], "openai/m");

    hold_the_scores_of(&spans, played);
    says_nothing_of_its_messages(&scene, &Value::from(spans).to_string());
}

/// One trace, with one root, whose spans each have a parent in it and end after they began.
fn are_one_tree(spans: &[Value]) {
    let traces: BTreeSet<&str> = spans
        .iter()
        .map(|span| span["traceId"].as_str().unwrap())
        .collect();
    assert_eq!(traces.len(), 1, "one episode was played");
    let ids: BTreeSet<&str> = spans
        .iter()
        .map(|span| span["spanId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), spans.len());
    let roots = spans
        .iter()
        .filter(|span| span["parentSpanId"].is_null())
        .collect::<Vec<_>>();
    assert_eq!(roots.len(), 1);
    assert_eq!(roots[0]["name"], "episode law_trainee");
    for span in spans {
        let parent = span["parentSpanId"].as_str();
        assert!(parent.is_none_or(|parent| ids.contains(parent)), "{span}");
        let at = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(at("startTimeUnixNano") <= at("endTimeUnixNano"));
    }
}

/// Each session's span holds its scores.
fn hold_the_scores_of(spans: &[Value], played: &[Value]) {
    for line in played {
        let name = format!("session {}", line["id"].as_str().unwrap());
        let session = spans.iter().find(|span| span["name"] == *name).unwrap();
        let conversation = format!("law_trainee.r1/{}", line["id"].as_str().unwrap());
        assert_eq!(
            attributes(session)["gen_ai.conversation.id"],
            &*conversation
        );
        for score in ["proc", "comp"] {
            let events = session["events"].as_array().unwrap().iter();
            let mut found =
                events.filter(|event| attributes(event)["gen_ai.evaluation.name"] == score);
            let value = found.next().map(|event| {
                assert_eq!(event["name"], "gen_ai.evaluation.result");
                100.0
                    * attributes(event)["gen_ai.evaluation.score.value"]
                        .as_f64()
                        .unwrap()
            });
            assert_eq!(value, line[score].as_f64(), "{name} {score}");
        }
    }
}

/// What the agent's questions and calls say, where messages are asked for.
fn says_all_of_its_messages(spans: &[Value]) {
    let json = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap();
    let chats = is(spans, "chat");
    for role in ["agent", "user", "judge"] {
        let mut of_role = chats.iter().map(|span| attributes(span));
        let chat = of_role.find(|one| one["pibench.role"] == role).unwrap();
        let system = json(chat["gen_ai.system_instructions"]);
        assert_eq!(system[0]["type"], "text", "{role}");
        let input = json(chat["gen_ai.input.messages"]);
        assert_eq!(input[0]["role"], "user", "{role}");
        assert!(input[0]["parts"][0]["content"].is_string(), "{role}");
        let output = json(chat["gen_ai.output.messages"]);
        assert_eq!(output[0]["role"], "assistant", "{role}");
        assert!(output[0]["finish_reason"].is_string(), "{role}");
    }
    let of_tools = is(spans, "execute_tool");
    let mut written = of_tools.iter().map(|span| attributes(span));
    let written = written
        .find(|one| one["gen_ai.tool.name"] == "write_file")
        .unwrap();
    assert!(json(written["gen_ai.tool.call.arguments"])["path"].is_string());
    assert!(
        !written["gen_ai.tool.call.result"]
            .as_str()
            .unwrap()
            .is_empty()
    );
    // The same call stands in the answer that asked for it, and its result in the next question.
    let all = Value::from(spans.to_vec()).to_string();
    assert!(all.contains("tool_call_response"));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_go_to_a_collector_on_request_and_nowhere_else() {
    let scene = Scene::new();
    let (server, collector) = (server(play).await, collector().await);
    let uri = collector.uri();
    let args = ["--otlp", &uri, "--otlp-messages", "--log-level", "trace"];
    let output = play_short(&scene, &server, &args);
    expect(&output, 0, &[]);
    let spans = spans(&collector).await;
    says_all_of_its_messages(&spans);
    assert!(!Value::from(spans).to_string().contains(KEY));
    // Neither the log of the folder nor stderr has them.
    let log = std::fs::read_to_string(scene.path("run/log.jsonl")).unwrap();
    says_nothing_of_its_messages(&scene, &log);
    says_nothing_of_its_messages(&scene, &stderr(&output));
    // Asked for and nowhere to go.
    let nowhere = tokio::task::block_in_place(|| {
        let suite = short();
        scene.run(&["run", suite.to_str().unwrap(), "--otlp-messages"])
    });
    expect(&nowhere, 2, &["no collector is named", "--otlp http://"]);
}

fn says_nothing_of_its_messages(scene: &Scene, sent: &str) {
    assert!(!sent.contains(KEY));
    let mut looked_for = 0;
    for (path, content) in files(&scene.path("run/trajectories")) {
        let trajectory: Value = serde_json::from_slice(&content).unwrap();
        for turn in trajectory["turns"].as_array().unwrap() {
            for text in [&turn["message"], &turn["response"]] {
                let start: String = text.as_str().unwrap().chars().take(24).collect();
                if start.len() == 24 {
                    looked_for += 1;
                    assert!(!sent.contains(&start), "{path}: {start}");
                }
            }
        }
    }
    assert!(looked_for > 4, "{looked_for}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variables_of_opentelemetry_name_a_collector_and_its_headers_too() {
    let scene = Scene::new();
    let collector = MockServer::start().await;
    Mock::given(path("/v1/traces"))
        .and(header("x-tenant", "a b"))
        .respond_with(ResponseTemplate::new(200))
        .mount(&collector)
        .await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--session",
        "corrie-extension",
        "--agent",
        "nop",
        "--out",
    ];
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.uri()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20b".into()),
    ];
    let variables = variables
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let play = |out: &str, variables: &[(&str, &str)]| {
        tokio::task::block_in_place(|| scene.run_with(&[&args[..], &[out]].concat(), variables))
    };
    let output = play("with", &variables);
    expect(&output, 0, &[]);
    assert!(!stderr(&output).contains("lost"), "{}", stderr(&output));
    assert!(!spans(&collector).await.is_empty());
    // The same bytes are journaled, and nothing of the collector is kept.
    expect(&play("without", &[]), 0, &[]);
    let journal =
        |run: &str| std::fs::read(scene.path(run).join("journal/law_trainee.r1.jsonl")).unwrap();
    assert_eq!(journal("with"), journal("without"));
    for (path, content) in files(&scene.path("with")) {
        assert!(
            !String::from_utf8_lossy(&content).contains("a%20b"),
            "{path}"
        );
    }
    let before = collector.received_requests().await.unwrap().len();
    expect(
        &play("off", &[variables[0], ("OTEL_SDK_DISABLED", "true")]),
        0,
        &[],
    );
    assert_eq!(collector.received_requests().await.unwrap().len(), before);
    // Without its header it is refused, which is told and changes nothing else.
    expect(
        &play("refused", &variables[..1]),
        0,
        &["spans are lost", "status 404"],
    );
    expect(
        &play(
            "grpc",
            &[variables[0], ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        ),
        2,
        &["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "--otlp"],
    );
    expect(
        &play("bad", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "here")]),
        2,
        &["OTEL_EXPORTER_OTLP_ENDPOINT"],
    );
}

#[test]
fn a_collector_that_is_dead_or_silent_holds_nothing_up() {
    let scene = Scene::new();
    let suite = short();
    let play = |out: &str, address: &str| {
        let began = Instant::now();
        let args = [
            "run",
            suite.to_str().unwrap(),
            "--agent",
            "reference",
            "--otlp",
            address,
            "--out",
            out,
        ];
        let output = scene.run(&args);
        (output, began.elapsed())
    };
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let listener = silent.try_clone().unwrap();
    let held = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut content = Vec::new();
        let _ = connection.read_to_end(&mut content);
        content.len()
    });
    let (output, took) = play("silent", &address);
    expect(&output, 0, &["spans are lost", "too slow"]);
    // Its answer would be waited for longer.
    assert!(took < Duration::from_mins(1), "{took:?}");
    assert!(held.join().unwrap() > 1000, "spans were sent");
    drop(silent);
    let (output, _) = play("dead", &address);
    expect(&output, 0, &["spans are lost", "cannot be reached"]);
    let results = |run: &str| std::fs::read(scene.path(run).join("results.json")).unwrap();
    assert_eq!(results("silent"), results("dead"));
}
