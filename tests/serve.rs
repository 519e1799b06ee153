//! Sessions for an agent from outside, over the Model Context Protocol.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::scaffold::suite;
use crate::scene::{Scene, expect};

/// The program, serving.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Server {
    /// What it says stands in `said.txt`.
    fn start(scene: &Scene, args: &[&str]) -> Self {
        let begin = ["serve", "tasks/suite.toml", "--out", "run"];
        Self::start_by(scene, &[&begin[..], args].concat())
    }

    /// By a whole command line.
    fn start_by(scene: &Scene, line: &[&str]) -> Self {
        let said = std::fs::File::create(scene.path("said.txt")).unwrap();
        let mut child = scene
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            asked: 0,
        }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// One request of the protocol; its result.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        self.ask_as(self.asked, method, params)
    }

    /// The same under an id that may have been used before.
    fn ask_as(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.line();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{message}");
                return message["result"].clone();
            }
        }
    }

    /// What is answered to a call whose arguments hold so many values.
    fn call_with(&mut self, many: usize) -> Value {
        self.send(&call_with(many));
        loop {
            let message = self.line();
            if message["id"] == "many" {
                return message;
            }
        }
    }

    fn greet(&mut self) {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let greeted = self.ask("initialize", &params);
        assert_eq!(greeted["serverInfo"]["name"], "pibench-host");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        )
    }

    fn converse(&mut self, arguments: &Value) -> Value {
        let called = self.call("converse", arguments);
        serde_json::from_str(called["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// The exit code, when the other side has closed.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, unless a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(scene: &Scene) -> String {
    std::fs::read_to_string(scene.path("said.txt")).unwrap()
}

fn call_with(many: usize) -> Value {
    let arguments = json!({ "path": ".", "more": vec![0; many] });
    let params = json!({ "name": "list_dir", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": "many", "method": "tools/call", "params": params })
}

/// Nothing is made of a message of too many values, and its sender is told; the twin is one of fewer.
fn check_weighed(too_many: &Value, fewer: &Value) {
    let told = "no message of more than 200000 values is read: send fewer";
    assert_eq!(too_many["error"]["message"], told, "{too_many}");
    assert!(fewer["result"].is_object(), "{fewer}");
}

fn text(called: &Value) -> &str {
    called["content"][0]["text"].as_str().unwrap()
}

#[test]
fn an_agent_from_outside_plays_whole_sessions_over_standard_input_and_output() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let mut server = Server::start(&scene, &["--stdio"]);
    server.greet();
    let listed = server.ask("tools/list", &json!({}));
    let tools: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools[0], "converse");
    assert!(
        tools.contains(&"write_file") && !tools.contains(&"spawn"),
        "{tools:?}"
    );
    let first = server.converse(&json!({}));
    assert!(
        first["message"]
            .as_str()
            .unwrap()
            .starts_with("Request one."),
        "{first}"
    );
    assert!(
        first["instructions"]
            .as_str()
            .unwrap()
            .contains("personal assistant"),
        "{first}"
    );
    assert_eq!(
        server.converse(&json!({})),
        first,
        "an open message is given again"
    );
    let written = server.call("write_file", &json!({ "path": "a.md", "content": "x" }));
    assert_eq!(text(&written), "Created a.md (1 line, 1 byte)");
    check_weighed(&server.call_with(200_000), &server.call_with(100_000));
    let refused = server.call("read_file", &json!({ "path": "../a" }));
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("is not accepted"), "{refused}");
    assert_eq!(
        server.call("spawn", &json!({ "task": "x" }))["isError"],
        true
    );
    // Not what a tool said before.
    let empty = json!({ "answer": "" });
    let note = "Your answer was empty. Answer the user in words.";
    assert_eq!(server.converse(&empty)["message"], note);
    // The answer to a question is the call's result, and the turn goes on.
    let answered = server.call("ask_user", &json!({ "question": "Which colour?" }));
    assert!(text(&answered).starts_with("In blue."), "{answered}");
    let second = server.converse(&json!({ "answer": "It is blue." }));
    assert!(
        second["message"]
            .as_str()
            .unwrap()
            .starts_with("Request two."),
        "{second}"
    );
    assert_eq!(server.converse(&empty)["message"], note);
    let reveal = server.converse(&json!({ "answer": "Done." }));
    assert!(
        reveal["message"].as_str().unwrap().starts_with("In blue."),
        "{reveal}"
    );
    assert!(reveal["instructions"].is_null());
    assert_eq!(
        server.converse(&json!({ "answer": "Done." })),
        json!({ "over": true })
    );
    assert_eq!(server.end(), Some(0));
    let journal = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
    assert!(journal.contains("Played by an external agent."));
    check_unknown_cost(&scene);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// What an agent from outside costs is not known, and not nothing.
fn check_unknown_cost(scene: &Scene) {
    let results = std::fs::read(scene.path("run/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results["cost"], Value::Null);
    let agent = &results["usage"]["agent"];
    assert!(agent["calls"].as_u64() > Some(0) && agent["unpriced_calls"] == agent["calls"]);
    let progress = said(scene);
    assert!(progress.contains("; cost unknown"), "{progress}");
    assert!(!progress.contains("USD so far"), "{progress}");
}

#[test]
fn an_agent_that_leaves_can_be_gone_on_with() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let mut server = Server::start(&scene, &["--stdio"]);
    server.greet();
    server.converse(&json!({}));
    server.converse(&json!({ "answer": "Done." }));
    assert_eq!(server.end(), Some(6));
    let talk = said(&scene);
    let again = "Go on with: pibench-host serve --stdio --resume ";
    assert!(talk.contains(again), "{talk}");
    expect(
        &scene.run(&["run", "--resume", "run"]),
        2,
        &["pibench-host serve --resume"],
    );
    let mut line = vec!["serve", "tasks/suite.toml", "--out", "run"];
    let again = "`pibench-host serve --resume run`";
    expect(&scene.run(&line), 4, &[again]);
    line.push("--stdio");
    let again = "`pibench-host serve --stdio --resume run`";
    expect(&scene.run(&line), 4, &[again]);
    // What was done in the turn that was left is gone: it begins with its message.
    let mut server = Server::start_by(&scene, &["serve", "--stdio", "--resume", "run"]);
    server.greet();
    let answer = json!({ "answer": "Done." });
    let write = json!({ "path": "a.md", "content": "x" });
    for (name, arguments) in [("converse", &answer), ("write_file", &write)] {
        let refused = server.call(name, arguments);
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(text(&refused).starts_with("this turn begins here"));
    }
    let mut told = server.converse(&json!({}));
    assert!(told["message"].as_str().unwrap().starts_with("In blue."));
    assert_ne!(server.call("write_file", &write)["isError"], true);
    while told["over"] == false {
        told = server.converse(&answer);
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn an_answer_that_is_sent_again_gets_the_same_message_and_ends_no_second_turn() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let mut server = Server::start(&scene, &["--stdio"]);
    server.greet();
    server.converse(&json!({}));
    let params = json!({ "name": "converse", "arguments": { "answer": "Done." } });
    let second = server.ask_as(100, "tools/call", &params);
    assert!(text(&second).contains("In blue."), "{second}");
    for _ in 0..2 {
        assert_eq!(server.ask_as(100, "tools/call", &params), second);
    }
    // The twin: the same words by another request.
    let third = server.ask_as(101, "tools/call", &params);
    assert!(text(&third).contains("Request two."), "{third}");
}

#[test]
fn a_port_that_is_taken_is_told_before_a_run_folder_is_made() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let port = address.port().to_string();
    let scene = Scene::new();
    suite(&scene, "", "");
    let line = ["serve", "tasks/suite.toml", "--out", "run", "--port", &port];
    let output = scene.run(&line);
    expect(&output, 4, &[&format!("listen on {address}")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(told.matches("error:").count(), 1, "{told}");
    assert!(!scene.path("run").exists(), "{told}");
    // The twin: free again, it is served at.
    drop(taken);
    let mut server = Server::start(&scene, &["--port", &port]);
    assert_eq!(server.line()["url"], format!("http://{address}/mcp"));
    // Nobody took the first message, which waits, and this can be gone on with.
    let id = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(server.end(), Some(130));
    let talk = said(&scene);
    let again = "Interrupted. Go on with: pibench-host serve --resume ";
    assert!(talk.contains(again), "{talk}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_wants_its_token_and_no_other_host() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let mut server = Server::start(&scene, &["--json"]);
    let place = tokio::task::block_in_place(|| server.line());
    let (url, token) = (
        place["url"].as_str().unwrap(),
        place["token"].as_str().unwrap(),
    );
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert_eq!(token.len(), 64);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } });
    let client = pibench_tls::client().no_proxy().build().unwrap();
    let status = async |token: &str, headers: &[(&str, &str)]| {
        let mut request = client
            .post(url)
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(token)
            .json(&hello);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(token, &[]).await, 200);
    assert_eq!(status("wrong", &[]).await, 401);
    assert_eq!(status("", &[]).await, 401);
    let answer = async |many| {
        let request = client
            .post(url)
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(token)
            .json(&call_with(many));
        let answer = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    check_weighed(&answer(200_000).await, &answer(100_000).await);
    assert_eq!(status(token, &[("host", "evil.example")]).await, 403);
    assert_eq!(
        status(token, &[("origin", "http://evil.example")]).await,
        403
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_keep_no_agent_out() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let mut server = Server::start(&scene, &["--json"]);
    let place = tokio::task::block_in_place(|| server.line());
    let (url, token) = (
        place["url"].as_str().unwrap(),
        place["token"].as_str().unwrap(),
    );
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(std::net::TcpStream::connect(address).unwrap());
    }
    let client = pibench_tls::client().no_proxy().build().unwrap();
    let ping = async |token: &str| {
        let request = client
            .post(url)
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(token)
            .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ping(token).await, 200);
    assert_eq!(ping("wrong").await, 401);
    let closed = |stream: &mut std::net::TcpStream| {
        matches!(std::io::Read::read(stream, &mut [0]), Ok(0) | Err(_))
    };
    assert!(closed(&mut idle[0]));
}

#[test]
fn a_python_function_is_an_agent_in_five_lines() {
    let python = std::path::Path::new("/usr/bin/python3");
    if !python.exists() {
        eprintln!("left out: wants {}", python.display());
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    scene.write(
        "agent.py",
        "import sys\nfrom pibench_host import ToolError, serve\n\n\
         async def agent(message, tools):\n    \
         if message.instructions is None:\n        return \"Done.\"\n    \
         try:\n        tools[\"read_file\"](path=\"../a\")\n    \
         except ToolError as error:\n        tools[\"write_file\"](path=\"a.md\", content=str(error))\n    \
         return tools[\"ask_user\"](question=\"Which colour?\")\n\n\
         sys.exit(serve(agent, \"tasks/suite.toml\", \"--out\", \"run\", program=sys.argv[1]))\n",
    );
    let mut command = scene.command_after(
        "export PYTHONPATH=\"$MODULE\" PYTHONDONTWRITEBYTECODE=1; exec /usr/bin/python3 agent.py \"$0\"",
        &[],
    );
    let module = crate::scene::root().join("host/python");
    let output = command.env("MODULE", module).output();
    expect(&output.unwrap(), 0, &["p/two run 1: complete"]);
    let written = std::fs::read_to_string(scene.path("run/workspaces/p.r1/a.md")).unwrap();
    assert!(written.contains("is not accepted"), "{written}");
    let journal = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
    assert!(journal.contains("\"response\":\"Which colour?\""));
}
