//! A host for the agents of others: who comes in, what each may use, what each can see, and what is signed at the end.

mod models;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use pibench_hub::NAMESPACE;
use pibench_signature::{AllowedSigners, verify};
use pibench_suite::suite::Grading;
use reqwest::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder};
use rusqlite::Connection;
use serde_json::{Value, json};
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};

use crate::hidden::{assert_hidden, fold, spans, texts};
use crate::models::{KEY, play, server};
use crate::openssh::keygen;
use crate::scaffold::suite;
use crate::scene::{Scene, expect, first_persona, root, short};

const PRINCIPAL: &str = "hub@board.example";

/// A hub's folder: its key, who may sign, and its settings over a suite of one persona and two sessions.
fn scene(more: &str) -> Scene {
    let scene = Scene::new();
    suite(&scene, "", "");
    configure(&scene, &format!("suite = \"tasks/suite.toml\"\n{more}"));
    scene
}

fn configure(scene: &Scene, more: &str) {
    use std::os::unix::fs::PermissionsExt;
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[7; 32]));
    let key = PrivateKey::new(pair, "").unwrap();
    let file = scene.write("hub-key", &key.to_openssh(LineEnding::LF).unwrap());
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let public = key.public_key().to_openssh().unwrap();
    scene.write("signers", &format!("{PRINCIPAL} {public}\n"));
    let least = format!(
        "version = 1\ndata = \"books\"\nkey = \"hub-key\"\nprincipal = \"{PRINCIPAL}\"\nlisten = \"127.0.0.1:0\"\n"
    );
    scene.write("hub.toml", &format!("{least}{more}"));
}

/// A client that opens a connection for each request: on a busy machine the hub closes one that waited too long just as it is used.
/// Where a connection is closed as it is made, a request could wait for ever otherwise: none is waited for that long.
fn client() -> Client {
    let builder = pibench_tls::client().no_proxy().pool_max_idle_per_host(0);
    builder.timeout(Duration::from_mins(5)).build().unwrap()
}

/// The same from an address of its own, for requests of which most have no answer.
fn client_of_flood() -> Client {
    let builder = pibench_tls::client().no_proxy().pool_max_idle_per_host(0);
    let builder = builder.local_address(std::net::IpAddr::from([127, 0, 0, 2]));
    builder.timeout(Duration::from_mins(1)).build().unwrap()
}

/// The program, hosting.
pub(crate) struct Hub {
    child: Child,
    url: String,
    client: Client,
}

impl Hub {
    fn start(scene: &Scene) -> Self {
        Self::start_with(scene, &[])
    }

    fn start_with(scene: &Scene, variables: &[(&str, &str)]) -> Self {
        let mut command = scene.command(&["hub"]);
        command.envs(variables.iter().copied());
        Self::started(command)
    }

    pub(crate) fn started(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let place: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            url: place["url"].as_str().unwrap().to_owned(),
            client: client(),
        }
    }

    pub(crate) fn as_of(&self, token: &str) -> Submitter<'_> {
        Submitter {
            hub: self,
            token: token.to_owned(),
        }
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // It has ended, unless a test kills it, or failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn add(scene: &Scene, name: &str) -> String {
    let output = scene.run(&["hub", "token", "add", name]);
    expect(&output, 0, &[]);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) struct Submitter<'a> {
    hub: &'a Hub,
    token: String,
}

impl Submitter<'_> {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.hub.url);
        let request = self.hub.client.request(method, url);
        request.bearer_auth(&self.token)
    }

    async fn text(&self, method: Method, path: &str, body: &Value) -> (u16, String) {
        let request = self.request(method, path).json(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let (status, text) = self.text(Method::GET, path, &json!({})).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, text) = self.text(Method::POST, path, &body).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub(crate) async fn begin(&self) -> String {
        let (status, run) = self.post("/runs", json!({ "agent": "mine" })).await;
        assert_eq!(status, 201, "{run}");
        run["run"].as_str().unwrap().to_owned()
    }

    /// Opens the next episode of a run; the path of its protocol.
    pub(crate) async fn open(&self, run: &str) -> String {
        let (status, opened) = self.post(&format!("/runs/{run}/episodes"), json!({})).await;
        assert_eq!(status, 201, "{opened}");
        opened["mcp"]
            .as_str()
            .unwrap()
            .trim_start_matches("/v1")
            .to_owned()
    }

    /// Under an id that no other has, as the protocol wants it.
    fn message(&self, mcp: &str, method: &str, params: &Value) -> RequestBuilder {
        static SENT: AtomicU64 = AtomicU64::new(1);
        let id = SENT.fetch_add(1, Ordering::Relaxed);
        self.message_as(&json!(id), mcp, method, params)
    }

    fn message_as(&self, id: &Value, mcp: &str, method: &str, params: &Value) -> RequestBuilder {
        self.request(Method::POST, mcp)
            .header("accept", "application/json, text/event-stream")
            .json(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    /// A call's status and text.
    async fn call(&self, mcp: &str, name: &str, arguments: Value) -> (u16, String) {
        let params = json!({ "name": name, "arguments": arguments });
        let response = self
            .message(mcp, "tools/call", &params)
            .send()
            .await
            .unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let told = answer["result"]["content"][0]["text"].as_str();
        (
            status,
            told.or(answer["error"].as_str())
                .unwrap_or(&text)
                .to_owned(),
        )
    }

    async fn converse(&self, mcp: &str, arguments: Value) -> Value {
        let (status, text) = self.call(mcp, "converse", arguments).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }

    /// Plays an episode to its end by one answer for all.
    pub(crate) async fn play(&self, mcp: &str) {
        let mut told = self.converse(mcp, json!({})).await;
        while told["over"] == false {
            told = self.converse(mcp, json!({ "answer": "Done." })).await;
        }
    }

    /// Waits until a run is not open any more.
    pub(crate) async fn ended(&self, run: &str) -> Value {
        loop {
            let (status, value) = self.get(&format!("/runs/{run}")).await;
            assert_eq!(status, 200, "{value}");
            if value["state"] != "open" {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until an episode is in a state.
    async fn is(&self, mcp: &str, state: &str) {
        let path = mcp.trim_end_matches("/mcp");
        while self.get(path).await.1["state"] != state {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_valid_token_gets_nothing_and_a_revoked_one_is_out_at_once() {
    let scene = scene("");
    let hub = Hub::start(&scene);
    let token = add(&scene, "ana");
    let ana = hub.as_of(&token);
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    ana.converse(&mcp, json!({})).await;
    let status = async |token: &str, path: &str| hub.as_of(token).get(path).await.0;
    assert_eq!(status(&token, "/runs").await, 200);
    let (id, secret) = token.rsplit_once('_').unwrap();
    let other = format!("{id}_{}", "0".repeat(secret.len()));
    for wrong in ["", "wrong", &token[..token.len() - 1], other.as_str()] {
        assert_eq!(status(wrong, "/runs").await, 401, "{wrong}");
    }
    let bare = hub.client.get(format!("{}/runs", hub.url));
    assert_eq!(bare.send().await.unwrap().status().as_u16(), 401);
    expect(
        &scene.run(&["hub", "token", "add", "ana"]),
        2,
        &["revoke ana"],
    );
    expect(&scene.run(&["hub", "token", "revoke", "ana"]), 0, &[]);
    assert_eq!(status(&token, "/runs").await, 401);
    assert_eq!(ana.call(&mcp, "converse", json!({})).await.0, 401);
    // The runs are the submitter's, whatever token it has.
    let newer = add(&scene, "ana");
    let again = hub.as_of(&newer);
    assert_eq!(again.get("/runs").await.1["runs"][0]["run"], run.as_str());
    again.play(&mcp).await;
    assert_eq!(status(&token, "/runs").await, 401);
    let output = scene.run(&["hub", "token", "list"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(
        listed.contains("revoked 2") && listed.contains("valid"),
        "{listed}"
    );
    assert!(!listed.contains(secret));
    assert_eq!(hub.end(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_submitters_cannot_see_one_another() {
    let scene = scene("");
    let hub = Hub::start(&scene);
    let [ana, bo] = ["ana", "bo"].map(|name| hub.as_of(&add(&scene, name)));
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    ana.play(&mcp).await;
    assert_eq!(ana.ended(&run).await["state"], "finished");
    let episode = mcp.trim_end_matches("/mcp").to_owned();
    let result = format!("/runs/{run}/result");
    let paths = [
        format!("/runs/{run}"),
        episode,
        result.clone(),
        format!("{result}.sig"),
    ];
    for path in &paths {
        let (status, text) = ana.text(Method::GET, path, &json!({})).await;
        assert_eq!(status, 200, "{path}: {text}");
        let others = bo.text(Method::GET, path, &json!({})).await;
        // As of a run that is nobody's.
        let nobodys = path.replace(&run, "0123456789abcdef");
        assert_eq!(others, bo.text(Method::GET, &nobodys, &json!({})).await);
        assert_eq!(others.0, 404, "{path}");
    }
    assert_eq!(bo.call(&mcp, "converse", json!({})).await.0, 404);
    assert_eq!(
        bo.post(&format!("/runs/{run}/episodes"), json!({})).await.0,
        404
    );
    assert_eq!(
        bo.text(Method::DELETE, &format!("/runs/{run}"), &json!({}))
            .await
            .0,
        404
    );
    assert_eq!(bo.get("/runs").await.1, json!({ "runs": [] }));
    assert_eq!(
        ana.get("/runs").await.1["runs"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_a_killed_hub_lost_is_begun_anew_and_nothing_else_is_lost() {
    let scene = scene("");
    let token = add(&scene, "ana");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&token);
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    assert_eq!(
        ana.call(&mcp, "list_dir", json!({ "path": "." }))
            .await
            .1
            .split(':')
            .next(),
        Some("this turn begins here")
    );
    ana.converse(&mcp, json!({})).await;
    // Nothing is made of a message of too many values; the twin is one of fewer.
    for (many, is_read) in [(20_000, false), (19_000, true)] {
        let arguments = json!({ "path": ".", "more": vec![0; many] });
        let (_, told) = ana.call(&mcp, "list_dir", arguments).await;
        let refused = told.contains("no message of more than 20000 values is read: send fewer");
        assert_eq!(refused, !is_read, "{told}");
    }
    ana.call(
        &mcp,
        "write_file",
        json!({ "path": "kept.md", "content": "x" }),
    )
    .await;
    let second = ana.converse(&mcp, json!({ "answer": "Done." })).await;
    ana.call(
        &mcp,
        "write_file",
        json!({ "path": "lost.md", "content": "x" }),
    )
    .await;
    // Killed, and without a word.
    drop(hub);
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&token);
    for (name, arguments) in [
        ("write_file", json!({ "path": "more.md", "content": "x" })),
        ("converse", json!({ "answer": "Done." })),
    ] {
        let (_, told) = ana.call(&mcp, name, arguments).await;
        assert!(told.starts_with("this turn begins here"), "{told}");
    }
    assert_eq!(
        ana.converse(&mcp, json!({})).await["message"],
        second["message"]
    );
    let (_, listed) = ana.call(&mcp, "list_dir", json!({ "path": "." })).await;
    assert!(
        listed.contains("kept.md") && !listed.contains("lost.md") && !listed.contains("more.md"),
        "{listed}"
    );
    ana.play(&mcp).await;
    // Turns are counted once, whoever was killed.
    let turns = ana.get("").await.1["today"]["turns"]["used"]
        .as_u64()
        .unwrap();
    assert_eq!(ana.ended(&run).await["state"], "finished");
    let played = format!("books/runs/{run}/run");
    let journal =
        std::fs::read_to_string(scene.path(&format!("{played}/journal/p.r1.jsonl"))).unwrap();
    let journaled = journal
        .lines()
        .filter(|line| line.contains("\"event\":\"turn\""));
    assert_eq!(turns, journaled.count() as u64);
    expect(&scene.run(&["verify", &played]), 0, &[]);
    // A signal ends it in order, in the middle of a turn too.
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    let first = ana.converse(&mcp, json!({})).await;
    assert_eq!(hub.end(), Some(0));
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&token);
    assert_eq!(ana.converse(&mcp, json!({})).await, first);
}

/// Each kind of quota, with a submitter that has it and one that has not.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_hub_over_the_same_books_is_refused_and_the_first_plays_on() {
    let scene = scene("");
    let list = ["hub", "token", "list"];
    expect(
        &scene.run(&list),
        3,
        &["read the hub's books in", "there is no such folder"],
    );
    let token = add(&scene, "ana");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&token);
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    ana.converse(&mcp, json!({})).await;
    expect(
        &scene.run(&["hub"]),
        4,
        &["another hub hosts by these books", "`data`"],
    );
    ana.play(&mcp).await;
    assert_eq!(ana.ended(&run).await["state"], "finished");
    // Tokens are made beside it; and the next hub finds the books free.
    expect(&scene.run(&list), 0, &[]);
    assert_eq!(hub.end(), Some(0));
    assert_eq!(Hub::start(&scene).end(), Some(0));
}

#[test]
fn an_address_that_is_taken_is_told_before_anything_is_compiled() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let scene = scene("");
    scene.replace("hub.toml", "127.0.0.1:0", &address);
    let cache = scene.path("cache");
    let mut command = scene.command(&["hub"]);
    command.env("PIBENCH_CACHE", &cache);
    expect(&command.output().unwrap(), 4, &[&address]);
    assert!(!cache.exists(), "something was compiled");
    // The twin: free again, it is the hub's.
    drop(taken);
    assert_eq!(Hub::start(&scene).end(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_quota_ends_at_its_number_and_leaves_the_other_submitter_alone() {
    let scene = scene(
        "runs = 3\n[quotas_of.day]\nepisodes_a_day = 1\n[quotas_of.once]\nepisodes_at_once = 1\n\
         [quotas_of.open]\nopen_runs = 1\n",
    );
    let hub = Hub::start(&scene);
    let of = |name: &str| hub.as_of(&add(&scene, name));
    let twin = of("twin");
    let opened = async |one: &Submitter<'_>| {
        let run = one.begin().await;
        let mcp = one.open(&run).await;
        (run, mcp)
    };
    let more = async |one: &Submitter<'_>, run: &str| {
        let (status, value) = one.post(&format!("/runs/{run}/episodes"), json!({})).await;
        (
            status,
            value["error"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let day = of("day");
    let (run, mcp) = opened(&day).await;
    day.play(&mcp).await;
    day.is(&mcp, "over").await;
    let (status, reason) = more(&day, &run).await;
    assert!(
        status == 429 && reason.contains("your 1 episodes of this day"),
        "{reason}"
    );
    let path = format!("/runs/{run}/episodes");
    let refused = day.request(Method::POST, &path).json(&json!({}));
    let refused = refused.send().await.unwrap();
    let wait = refused.headers()[RETRY_AFTER].to_str().unwrap();
    assert!((1..=86_400).contains(&wait.parse().unwrap()), "{wait}");

    let once = of("once");
    let (run, mcp) = opened(&once).await;
    let (status, reason) = more(&once, &run).await;
    assert!(
        status == 429 && reason.contains("1 may be at once"),
        "{reason}"
    );
    once.play(&mcp).await;
    once.is(&mcp, "over").await;
    assert_eq!(more(&once, &run).await.0, 201);

    let open = of("open");
    let run = open.begin().await;
    assert_eq!(open.post("/runs", json!({ "agent": "a" })).await.0, 409);
    assert_eq!(
        open.text(Method::DELETE, &format!("/runs/{run}"), &json!({}))
            .await
            .0,
        204
    );
    open.begin().await;

    // Beside all of them.
    let (run, mcp) = opened(&twin).await;
    assert_eq!(more(&twin, &run).await.0, 201);
    twin.play(&mcp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_are_begun_and_abandoned_end_at_their_number_and_leave_the_other_submitter_alone()
{
    let scene = scene("[quotas_of.again]\nruns_a_day = 2\n");
    let hub = Hub::start(&scene);
    let [again, twin] = ["again", "twin"].map(|name| hub.as_of(&add(&scene, name)));
    let begun = async |of: &Submitter<'_>| {
        let run = of.begin().await;
        let path = format!("/runs/{run}");
        let (status, told) = of.text(Method::DELETE, &path, &json!({})).await;
        assert_eq!(status, 204, "{told}");
    };
    for _ in 0..2 {
        begun(&again).await;
    }
    let refused = again.request(Method::POST, "/runs");
    let refused = refused.json(&json!({ "agent": "a" })).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    let wait = refused.headers()[RETRY_AFTER].to_str().unwrap();
    assert!((1..=86_400).contains(&wait.parse().unwrap()), "{wait}");
    let told = refused.text().await.unwrap();
    assert!(told.contains("your 2 runs of this day"), "{told}");
    let used = &again.get("").await.1["today"]["runs"];
    assert_eq!(*used, json!({ "used": 2, "of": 2 }));
    for _ in 0..3 {
        begun(&twin).await;
    }
}

/// The same of what is used in an episode.
#[tokio::test(flavor = "multi_thread")]
async fn each_quota_of_an_episode_ends_at_its_number_and_leaves_the_other_submitter_alone() {
    let scene = scene(
        "limits.request_kib = 1024\n[quotas_of.turns]\nturns_a_day = 2\n[quotas_of.bytes]\nmegabytes_a_day = 1\n\
         [quotas_of.disk]\ndisk_megabytes = 1\n[quotas_of.fast]\nrequests_a_second = 1\n",
    );
    let hub = Hub::start(&scene);
    let of = |name: &str| hub.as_of(&add(&scene, name));
    let opened = async |one: &Submitter<'_>| {
        let run = one.begin().await;
        let mcp = one.open(&run).await;
        (run, mcp)
    };
    let twin = of("twin");
    let (_, mcp_of_twin) = opened(&twin).await;

    let turns = of("turns");
    let (_, mcp) = opened(&turns).await;
    turns.converse(&mcp, json!({})).await;
    turns.converse(&mcp, json!({ "answer": "Done." })).await;
    for arguments in [json!({ "answer": "Done." }), json!({})] {
        let (_, told) = turns.call(&mcp, "converse", arguments).await;
        assert!(
            told.contains("your 2 turns of this day are used up"),
            "{told}"
        );
    }
    let (_, told) = turns.call(&mcp, "list_dir", json!({ "path": "." })).await;
    assert!(told.contains("this turn begins here"), "{told}");

    let bytes = of("bytes");
    let (_, mcp) = opened(&bytes).await;
    bytes.converse(&mcp, json!({})).await;
    let large = |bytes: usize| json!({ "path": "a.md", "content": "x".repeat(bytes) });
    for status in [200, 200, 429] {
        let (found, told) = bytes.call(&mcp, "write_file", large(600_000)).await;
        assert_eq!(found, status, "{told}");
    }
    let params = json!({ "name": "write_file", "arguments": large(2_000_000) });
    let sent = twin.message(&mcp_of_twin, "tools/call", &params).send();
    // Who still writes when the answer is given may find the connection closed in its place.
    match sent.await {
        Ok(response) => assert_eq!(response.status(), 413),
        Err(error) => assert!(error.is_request(), "{error}"),
    }

    let disk = of("disk");
    let run = disk.begin().await;
    let ballast = format!("books/runs/{run}/ballast");
    scene.write(&ballast, &"x".repeat(1_000_000));
    while disk.get("").await.1["disk_bytes"]["used"].as_u64() < Some(1_000_000) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (status, told) = disk.post("/runs", json!({ "agent": "a" })).await;
    assert_eq!(status, 507, "{told}");

    let fast = of("fast");
    // Many at once: a busy machine that takes its time between them gives no one a second more.
    let asked = (0..64).map(async |_| fast.get("/runs").await.0);
    let statuses = futures::future::join_all(asked).await;
    let granted = statuses.iter().filter(|status| **status == 200).count();
    assert!(granted >= 4 && statuses.contains(&429), "{statuses:?}");

    // Beside all of them.
    twin.play(&mcp_of_twin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_episode_that_was_played_for_its_hours_has_no_result_and_another_submitters_has() {
    let scene = scene("[quotas_of.time]\nhours = 1\n");
    let tokens = ["time", "twin"].map(|name| add(&scene, name));
    let hub = Hub::start(&scene);
    let mut begun = Vec::new();
    for token in &tokens {
        let one = hub.as_of(token);
        let run = one.begin().await;
        let mcp = one.open(&run).await;
        one.converse(&mcp, json!({})).await;
        begun.push((run, mcp));
    }
    assert_eq!(hub.end(), Some(0));
    let books = Connection::open(scene.path("books/hub.sqlite")).unwrap();
    let hour = books.execute("UPDATE episode SET seconds = 3600", []);
    assert_eq!(hour.unwrap(), 2);
    drop(books);
    let hub = Hub::start(&scene);
    let [time, twin] = [&tokens[0], &tokens[1]].map(|token| hub.as_of(token));
    let (run, mcp) = &begun[0];
    time.call(mcp, "converse", json!({})).await;
    let ended = time.ended(run).await;
    assert_eq!(ended["state"], "failed");
    assert!(
        ended["why"].to_string().contains("more than 1 hours"),
        "{ended}"
    );
    let (run, mcp) = &begun[1];
    twin.play(mcp).await;
    assert_eq!(twin.ended(run).await["state"], "finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_no_waiting_helps_does_not_say_that_it_does() {
    let scene = scene("runs = 1\n");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    for name in ["", "a b", "../a"] {
        let (status, told) = ana.post("/runs", json!({ "agent": name })).await;
        assert_eq!(status, 400, "{told}");
        assert!(
            told["error"].to_string().contains("name the agent"),
            "{told}"
        );
    }
    let run = ana.begin().await;
    let path = format!("/runs/{run}/episodes");
    for number in [0, 7] {
        let (status, told) = ana.post(&path, json!({ "episode": number })).await;
        assert_eq!(status, 404, "{told}");
        assert_eq!(told["error"], "this run has the episodes 1 to 1");
    }
    for number in [1, 7] {
        let mcp = format!("{path}/{number}/mcp");
        let (status, told) = ana.call(&mcp, "converse", json!({})).await;
        assert!(
            status == 404 && told.contains("never opened"),
            "{status} {told}"
        );
    }
    assert_eq!(ana.post(&path, json!({ "episode": 1 })).await.0, 201);
    assert_eq!(ana.post(&path, json!({ "episode": 1 })).await.0, 200);
    let (status, told) = ana.post(&path, json!({})).await;
    assert_eq!(status, 409, "{told}");
    assert!(
        told["error"].to_string().contains("every episode"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_no_request_has_are_refused_by_name_and_change_nothing() {
    let scene = scene("runs = 1\n");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    let refused = async |path: &str, body: Value, said: &str| {
        let (status, told) = ana.post(path, body).await;
        assert_eq!(status, 400, "{told}");
        assert!(told["error"].to_string().contains(said), "{told}");
    };
    refused(
        "/runs",
        json!({ "agent": "eve", "x": 1 }),
        "unknown field `x`",
    )
    .await;
    refused("/runs", json!({}), "missing field `agent`").await;
    refused("/runs", json!({ "agent": 1 }), "expected a string").await;
    refused("/runs", json!(["eve"]), "say who plays").await;
    assert_eq!(ana.get("/runs").await.1, json!({ "runs": [] }));
    let run = ana.begin().await;
    let path = format!("/runs/{run}/episodes");
    refused(&path, json!({ "epsode": 1 }), "unknown field `epsode`").await;
    refused(&path, json!({ "episode": "1" }), "say which episode").await;
    let opened = &ana.get(&format!("/runs/{run}")).await.1["opened"];
    assert_eq!(*opened, json!([]));
    ana.open(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_sent_again_gets_the_same_message_and_is_one_turn() {
    let scene = scene("");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    ana.converse(&mcp, json!({})).await;
    let params = json!({ "name": "converse", "arguments": { "answer": "Done." } });
    let send = async |id: &str| {
        let sent = ana.message_as(&json!(id), &mcp, "tools/call", &params);
        let answer: Value = sent.send().await.unwrap().json().await.unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"]["content"][0]["text"].clone()
    };
    let turns = async || ana.get("").await.1["today"]["turns"]["used"].clone();
    let second = send("one").await;
    assert_eq!(send("one").await, second);
    assert_eq!(turns().await, 2);
    // The twin: the same words by another request.
    assert_ne!(send("two").await, second);
    assert_eq!(turns().await, 3);
    ana.play(&mcp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_never_will_have_a_result_says_so_and_why() {
    let scene = scene("");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    let run = ana.begin().await;
    let of_run = format!("/runs/{run}");
    let results = [format!("{of_run}/result"), format!("{of_run}/result.sig")];
    for path in &results {
        let (status, told) = ana.get(path).await;
        assert_eq!(status, 409, "{told}");
        assert!(told["error"].to_string().contains("not signed yet"));
    }
    let abandoned = ana.text(Method::DELETE, &of_run, &json!({})).await;
    assert_eq!(abandoned.0, 204, "{}", abandoned.1);
    for path in &results {
        let (status, told) = ana.get(path).await;
        assert_eq!(status, 410, "{told}");
        let why = "the run has no result and never will: it was abandoned";
        assert_eq!(told["error"], why);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_says_why_in_the_same_form() {
    let scene = scene("");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    let of_run = format!("/runs/{run}/episodes");
    let no_number = format!("{of_run}/one");
    let refused = [
        (Method::POST, "", 405, "GET"),
        (Method::PUT, "/runs", 405, "POST"),
        (Method::GET, of_run.as_str(), 405, "POST"),
        (Method::GET, mcp.as_str(), 405, "POST"),
        (Method::POST, mcp.as_str(), 406, ""),
        (Method::GET, no_number.as_str(), 400, ""),
        (Method::GET, "/nothing", 404, ""),
    ];
    for (method, path, status, allowed) in refused {
        let sent = ana.request(method.clone(), path).json(&json!({})).send();
        let response = sent.await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        let allow = response.headers().get(ALLOW);
        let allow = allow.map_or("", |value| value.to_str().unwrap());
        assert!(allow.contains(allowed), "{method} {path}: {allow}");
        let text = response.text().await.unwrap();
        let told: Value = serde_json::from_str(&text).unwrap();
        assert!(
            told["error"].as_str().is_some_and(|why| !why.is_empty()),
            "{told}"
        );
    }
    // What is answered stays as it is.
    ana.play(&mcp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hangs_is_paused_goes_on_and_in_the_end_has_no_result() {
    let scene = scene(
        "limits.episodes = 1\n[quotas_of.hangs]\nidle_minutes = 0\nbroken_turns = 1\n[quotas_of.reads]\nidle_minutes = 0\n",
    );
    let hub = Hub::start(&scene);
    let [hangs, reads, other] =
        ["hangs", "reads", "other"].map(|name| hub.as_of(&add(&scene, name)));
    let run = hangs.begin().await;
    let mcp = hangs.open(&run).await;
    let first = hangs.converse(&mcp, json!({})).await;
    // The place is somebody else's now.
    let others = other.begin().await;
    let mcp_of_other = other.open(&others).await;
    other.play(&mcp_of_other).await;
    hangs.is(&mcp, "paused").await;
    assert_eq!(hangs.converse(&mcp, json!({})).await, first);
    let ended = hangs.ended(&run).await;
    assert_eq!(ended["state"], "failed");
    assert!(
        ended["why"].to_string().contains("more than 1 turns"),
        "{ended}"
    );
    assert_eq!(hangs.call(&mcp, "converse", json!({})).await.0, 410);
    // Who was not given a message has broken nothing off.
    let run = reads.begin().await;
    let mcp = reads.open(&run).await;
    for _ in 0..3 {
        reads.is(&mcp, "paused").await;
        let list = reads.message(&mcp, "tools/list", &json!({}));
        assert_eq!(list.send().await.unwrap().status().as_u16(), 200);
    }
    assert_eq!(
        reads.get(&format!("/runs/{run}")).await.1["opened"][0]["broken_turns"],
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_are_slowed_by_address_and_keep_no_submitter_out() {
    let proxied = scene("proxies = [\"127.0.0.1\"]\nlimits.guesses_a_minute = 2\n");
    let hub = Hub::start(&proxied);
    let ana = hub.as_of(&add(&proxied, "ana"));
    let guess = async |hub: &Hub, of: &str| {
        let wrong = hub.as_of("wrong").request(Method::GET, "/runs");
        let sent = wrong.header("x-forwarded-for", of).send().await;
        sent.unwrap().status().as_u16()
    };
    for expected in [401, 401, 429, 429] {
        assert_eq!(guess(&hub, "7.7.7.7").await, expected);
    }
    assert_eq!(guess(&hub, "8.8.8.8").await, 401);
    // What stands before the proxy's own word was written by anybody.
    assert_eq!(guess(&hub, "9.9.9.9, 7.7.7.7").await, 429);
    let own = ana
        .request(Method::GET, "/runs")
        .header("x-forwarded-for", "7.7.7.7");
    assert_eq!(own.send().await.unwrap().status().as_u16(), 200);

    let bare = scene("limits.guesses_a_minute = 2\n");
    let hub = Hub::start(&bare);
    let statuses = [
        guess(&hub, "1.1.1.1").await,
        guess(&hub, "2.2.2.2").await,
        guess(&hub, "3.3.3.3").await,
    ];
    assert_eq!(statuses, [401, 401, 429], "who is no proxy is not believed");
    let ana = hub.as_of(&add(&bare, "ana"));
    assert_eq!(ana.get("/runs").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_names_that_the_operator_says_are_the_hubs_and_no_browsers_page_is_let_in() {
    let scene = scene("hosts = [\"hub.board.example\"]\n");
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    let status = async |header: &'static str, value: &'static str| {
        let asked = ana
            .message(&mcp, "tools/list", &json!({}))
            .header(header, value);
        asked.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status("host", "hub.board.example").await, 200);
    assert_eq!(status("host", "evil.example").await, 403);
    assert_eq!(status("origin", "http://evil.example").await, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_end_and_a_flood_keep_the_other_submitter_in() {
    let scene = scene(
        "limits.connections = 64\nlimits.connections_of_address = 16\n[quotas_of.flood]\nrequests_a_second = 5\n",
    );
    let hub = Hub::start(&scene);
    let [token, others] = ["flood", "other"].map(|name| add(&scene, name));
    let other = hub.as_of(&others);
    let address = hub
        .url
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let address: std::net::SocketAddr = address.parse().unwrap();
    // From other addresses than the other submitter's.
    let mut idle = Vec::new();
    for number in 0..300_u32 {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        let from = [127, 0, 1, u8::try_from(number % 8).unwrap() + 1];
        socket.bind((from, 0).into()).unwrap();
        idle.push(socket.connect(address).await.unwrap());
    }
    let client = client_of_flood();
    let flood = async || {
        let request = client.get(format!("{}/runs", hub.url)).bearer_auth(&token);
        // One that has no connection left has no answer.
        request
            .send()
            .await
            .map_or(0, |answer| answer.status().as_u16())
    };
    let floods = futures::future::join_all((0..300).map(|_| flood()));
    let plays = async {
        let run = other.begin().await;
        let mcp = other.open(&run).await;
        other.play(&mcp).await;
    };
    let (floods, ()) = tokio::join!(floods, plays);
    let granted = floods.iter().filter(|status| **status == 200).count();
    assert!(granted > 0 && granted < 100, "{granted}");
}

/// A connection that has asked by a token and stays open.
async fn connected(hub: &Hub) -> tokio::net::TcpStream {
    let address = hub.url.trim_start_matches("http://");
    let address = address.trim_end_matches("/v1");
    tokio::net::TcpStream::connect(address).await.unwrap()
}

/// Whether a request is answered on this connection.
async fn is_answered(stream: &mut tokio::net::TcpStream, token: &str) -> bool {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let head = format!(
        "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    if stream.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    // Of who has no run the answer has a few bytes.
    let mut all = String::new();
    let mut bytes = [0; 1024];
    while !all.ends_with("{\"runs\":[]}") {
        match stream.read(&mut bytes).await {
            Ok(0) | Err(_) => return false,
            Ok(length) => all += &String::from_utf8_lossy(&bytes[..length]),
        }
    }
    all.starts_with("HTTP/1.1 200")
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_one_token_without_end_leave_the_others_theirs() {
    let scene = scene(
        "limits.connections = 40\nlimits.connections_of_address = 40\n[quotas_of.flood]\nconnections = 4\n\
         requests_a_second = 10000\n",
    );
    let hub = Hub::start(&scene);
    let [flood, idle, other] = ["flood", "idle", "other"].map(|name| add(&scene, name));
    let mut of_idle = Vec::new();
    for _ in 0..20 {
        let mut stream = connected(&hub).await;
        assert!(is_answered(&mut stream, &idle).await);
        of_idle.push(stream);
    }
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut stream = connected(&hub).await;
        assert!(is_answered(&mut stream, &flood).await);
        open.push(stream);
    }
    // One that is being closed may answer once more.
    for _ in 0..3 {
        let mut left = Vec::new();
        for mut stream in open {
            if is_answered(&mut stream, &flood).await {
                left.push(stream);
            }
        }
        open = left;
    }
    assert_eq!(open.len(), 4);
    // Who has fewer than it may has them still, and who comes now is let in.
    for stream in &mut of_idle {
        assert!(is_answered(stream, &idle).await);
    }
    let other = hub.as_of(&other);
    let mcp = other.open(&other.begin().await).await;
    other.play(&mcp).await;
}

/// What a submitter reads, from the first answer to the last.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_submitter_can_read_holds_no_intent_checklist_or_path_of_the_suite() {
    let scene = Scene::new();
    let suite = short();
    configure(
        &scene,
        &format!("suite = {suite:?}\nuser = \"lexical\"\njudge = [\"lexical\"]\nruns = 1\n"),
    );
    let hub = Hub::start(&scene);
    let ana = hub.as_of(&add(&scene, "ana"));
    let run = ana.begin().await;
    let mcp = ana.open(&run).await;
    let mut all = String::new();
    let mut read = async |request: RequestBuilder| {
        let response = request.send().await.unwrap();
        let head = format!("{:?}", response.headers());
        let text = response.text().await.unwrap();
        all.push_str(&head);
        all.push_str(&text);
        text
    };
    read(ana.message(&mcp, "initialize", &json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    })))
    .await;
    read(ana.message(&mcp, "tools/list", &json!({}))).await;
    let persona = first_persona();
    let call = |name: &str, arguments: Value| {
        ana.message(
            &mcp,
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        )
    };
    let mut told = read(call("converse", json!({}))).await;
    let mut sessions = persona.sessions.iter();
    while !told.contains("\\\"over\\\":true") {
        if told.contains("\\\"instructions\\\"") {
            // The first turn of a session: nothing was told yet.
            let session = sessions.next().unwrap();
            let mut first = told.clone();
            for (name, arguments) in [
                ("list_dir", json!({ "path": ".", "recursive": true })),
                ("read_file", json!({ "path": "USER.md" })),
                ("read_file", json!({ "path": "../../../manifest.json" })),
                (
                    "exec",
                    json!({ "command": "find / -name '*.toml'; env; cat /proc/self/environ" }),
                ),
                ("nothing", json!({ "a": ["b"] })),
            ] {
                first += &read(call(name, arguments)).await;
            }
            assert_hidden(&first, "the hub", session);
        }
        told = read(call("converse", json!({ "answer": "Done." }))).await;
    }
    assert!(sessions.next().is_none());
    ana.ended(&run).await;
    for request in others(&ana, &run) {
        read(request).await;
    }
    assert!(all.len() > 20_000, "{}", all.len());
    assert_tells_nothing(&all, &scene, &persona);
    // The search finds what is there.
    let criterion = &persona
        .sessions
        .iter()
        .find_map(|one| one.checklist.first())
        .unwrap()
        .criterion;
    let leak = format!("{all}{criterion}");
    assert!(std::panic::catch_unwind(|| assert_tells_nothing(&leak, &scene, &persona)).is_err());
}

/// Every other path, and requests that are none.
fn others(ana: &Submitter<'_>, run: &str) -> Vec<RequestBuilder> {
    let (of_run, result) = (format!("/runs/{run}"), format!("/runs/{run}/result"));
    let signature = format!("{result}.sig");
    let paths = ["", "/runs", "/nothing", &of_run, &result, &signature];
    let got = paths.into_iter().map(|path| ana.request(Method::GET, path));
    let bodies = ["{", "[]", "{\"agent\": 1}", "{\"agent\": \"../x\"}"];
    let sent = bodies
        .into_iter()
        .map(|body| ana.request(Method::POST, "/runs").body(body));
    got.chain(sent).collect()
}

fn assert_tells_nothing(all: &str, scene: &Scene, persona: &pibench_suite::suite::Persona) {
    let folded = fold(all);
    for session in &persona.sessions {
        for item in &session.checklist {
            let mut secrets = vec![item.criterion.clone()];
            if let Grading::Rule(rule) = &item.grading {
                secrets.extend(texts(&rule.config));
            }
            for secret in secrets {
                let leaked = spans(&secret)
                    .into_iter()
                    .find(|span| folded.contains(span.as_str()));
                assert_eq!(leaked, None, "{} of {}", item.id, session.id);
            }
        }
        assert!(!all.contains(&session.id), "{}", session.id);
    }
    let here = scene.dir.path().to_str().unwrap().to_owned();
    let suite = short().parent().unwrap().to_str().unwrap().to_owned();
    for place in [
        here.as_str(),
        suite.as_str(),
        root().to_str().unwrap(),
        "suite.toml",
        "books/",
    ] {
        assert!(!all.contains(place), "{place}");
    }
}

/// What models judge, played by an agent over the hub, on the owner's board.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_signed_as_ssh_verifies_it_and_stands_on_the_board_as_played_by_it() {
    let scene = Scene::new();
    let suite = short();
    configure(
        &scene,
        &format!("suite = {suite:?}\nuser = \"openai/m\"\njudge = [\"openai/m\"]\nruns = 2\n"),
    );
    let model = server(play).await;
    let base = format!("{}/v1", model.uri());
    let hub = Hub::start_with(
        &scene,
        &[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base)],
    );
    let ana = hub.as_of(&add(&scene, "ana@lab.example"));
    let run = ana.begin().await;
    let (one, two) = (ana.open(&run).await, ana.open(&run).await);
    assert_eq!(ana.get(&format!("/runs/{run}/result")).await.0, 409);
    tokio::join!(ana.play(&one), ana.play(&two));
    assert_eq!(ana.ended(&run).await["state"], "finished");
    let file = async |name: &str| {
        let (status, text) = ana
            .text(Method::GET, &format!("/runs/{run}/{name}"), &json!({}))
            .await;
        assert_eq!(status, 200, "{text}");
        scene.write(name, &text);
        text
    };
    let (statement, signature) = (file("result").await, file("result.sig").await);
    let told: Value = serde_json::from_str(&statement).unwrap();
    assert_eq!(
        (&told["submitter"], &told["runs"]),
        (&json!("ana@lab.example"), &json!(2))
    );
    let results = std::fs::read(scene.path(&format!("books/runs/{run}/run/results.json"))).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(
        (&told["proc"], &told["comp"]),
        (&results["proc"], &results["comp"])
    );
    assert_eq!(results["agent"], "external:mine");
    assert_eq!(
        (&told["attempt"], &told["broken_turns"]),
        (&json!(1), &json!(0))
    );
    assert_signed(&scene, &statement, &signature);
    // An agent of somebody else that answers alike is no copy of it.
    let bo = hub.as_of(&add(&scene, "bo@lab.example"));
    let other = bo.begin().await;
    let (one, two) = (bo.open(&other).await, bo.open(&other).await);
    tokio::join!(bo.play(&one), bo.play(&two));
    assert_eq!(bo.ended(&other).await["state"], "finished");
    assert_eq!(hub.end(), Some(0));
    let board = build_board(&scene, &suite);
    assert_eq!(board["refused"], json!([]), "{board}");
    let rows = board["rankings"][0]["rows"].as_array().unwrap();
    let mut names: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["submitter"]["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["ana@lab.example", "bo@lab.example"], "{board}");
    for row in rows {
        assert_eq!(row["verified"], "played-by-board", "{board}");
        assert_eq!(row["submitter"]["attempt"], 1, "{board}");
    }
    let page = std::fs::read_to_string(scene.path("site/index.html")).unwrap();
    assert!(page.contains("for ana@lab.example, run 1 under this name"));
    assert!(board.to_string().contains("external:mine"), "{board}");
}

/// By the crate and by the real program: over this text and no other.
fn assert_signed(scene: &Scene, statement: &str, signature: &str) {
    let signers = AllowedSigners::read(&scene.path("signers")).unwrap();
    let by = |text: &str| {
        verify(
            &signers,
            NAMESPACE,
            text.as_bytes(),
            signature,
            Timestamp::now(),
        )
    };
    assert_eq!(by(statement).unwrap().principal, PRINCIPAL);
    assert!(by(&statement.replace("\"runs\": 2", "\"runs\": 3")).is_err());
    let arguments = [
        "-Y",
        "verify",
        "-f",
        "signers",
        "-I",
        PRINCIPAL,
        "-n",
        NAMESPACE,
        "-s",
        "result.sig",
    ];
    if let Some((good, said)) = keygen(scene.dir.path(), &arguments, statement.as_bytes()) {
        assert!(good, "{said}");
        let (good, _) = keygen(scene.dir.path(), &arguments, b"{}").unwrap();
        assert!(!good);
    }
}

fn build_board(scene: &Scene, suite: &std::path::Path) -> Value {
    let rules = format!(
        "version = 1\nruns = 2\nunknown_cost = true\nsigned = true\nhubs = [\"{PRINCIPAL}\"]\n"
    );
    scene.write("board.toml", &rules);
    let build = [
        "board",
        "build",
        "books/submissions",
        "--rules",
        "board.toml",
        "--signers",
        "signers",
    ];
    let build = [
        &build[..],
        &["--suite", suite.to_str().unwrap(), "--out", "site"],
    ]
    .concat();
    let output = scene.run(&build);
    expect(&output, 0, &[]);
    let board = std::fs::read(scene.path("site/board.json")).unwrap();
    serde_json::from_slice(&board).unwrap()
}

#[test]
fn settings_that_cannot_be_meant_are_refused_with_a_reason() {
    let scene = scene("lisen = 1\n");
    expect(
        &scene.run(&["hub"]),
        3,
        &["read hub.toml", "unknown field `lisen`"],
    );
    expect(
        &scene.run(&["hub", "--config", "no.toml", "token", "list"]),
        3,
        &["read no.toml"],
    );
    for (line, said) in [
        ("runs = 0", "runs = 0: want 1 to 1000"),
        ("runs = 1001", "runs = 1001: want 1 to 1000"),
        ("quotas.hours = 0", "quotas.hours = 0: want 1 to 8760"),
    ] {
        configure(&scene, &format!("suite = \"tasks/suite.toml\"\n{line}\n"));
        expect(&scene.run(&["hub"]), 3, &["read hub.toml", said]);
    }
    configure(
        &scene,
        "suite = \"tasks/suite.toml\"\nset = [\"session.max_turns=0\"]\n",
    );
    expect(&scene.run(&["hub"]), 3, &["max_turns"]);
    configure(&scene, "suite = \"tasks/suite.toml\"\nuser = \"lexcal\"\n");
    expect(&scene.run(&["hub"]), 2, &["did you mean `lexical`"]);
    expect(
        &scene.run(&["hub", "token", "add", "a/b"]),
        2,
        &["name the submitter"],
    );
    expect(
        &scene.run(&["hub", "token", "revoke", "ana"]),
        2,
        &["there is no valid one"],
    );
}

/// All of 20 submitters, beside one that floods and one that hangs.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_agents_at_once_are_answered_each_in_its_own_episode_whoever_floods_or_hangs() {
    const SUBMITTERS: usize = 20;
    const EACH: usize = 10;
    let scene = scene(&format!(
        "runs = {EACH}\nlimits.episodes = 201\nlimits.connections = 1024\nlimits.connections_of_address = 512\n\
         quotas.episodes_at_once = {EACH}\nquotas.requests_a_second = 10000\n[quotas_of.floods]\nrequests_a_second = 5\n"
    ));
    let hub = Hub::start(&scene);
    let hangs = hub.as_of(&add(&scene, "hangs"));
    let hanging = hangs.open(&hangs.begin().await).await;
    let first = hangs.converse(&hanging, json!({})).await;
    // And a request whose end never comes.
    let half = half_a_request(&hub, &hangs, &hanging).await;
    let floods = add(&scene, "floods");
    let submitters: Vec<Submitter<'_>> = (0..SUBMITTERS)
        .map(|number| hub.as_of(&add(&scene, &format!("s{number}"))))
        .collect();
    let (mut runs, mut episodes) = (Vec::new(), Vec::new());
    for submitter in &submitters {
        let run = submitter.begin().await;
        for _ in 0..EACH {
            episodes.push((submitter, submitter.open(&run).await));
        }
        runs.push(run);
    }
    // All are in play before one goes on.
    let told = episodes.iter();
    let told = told.map(async |(of, mcp)| of.converse(mcp, json!({})).await);
    let told = futures::future::join_all(told).await;
    let plays = episodes.iter().zip(told).enumerate();
    let plays = plays.map(|(number, ((of, mcp), told))| play_own(of, mcp, number, told));
    let (turns, flood) = tokio::join!(futures::future::join_all(plays), flood(&hub, &floods));
    assert!(flood.contains(&429) && !flood.contains(&500), "{flood:?}");
    for ((submitter, run), turns) in submitters.iter().zip(&runs).zip(turns.chunks(EACH)) {
        assert_eq!(submitter.ended(run).await["state"], "finished");
        let used = &submitter.get("").await.1["today"]["turns"]["used"];
        let played: usize = turns.iter().sum();
        assert_eq!(used, played);
        let journals = (1..=EACH).map(|number| {
            let journal = format!("books/runs/{run}/run/journal/p.r{number}.jsonl");
            std::fs::read_to_string(scene.path(&journal)).unwrap()
        });
        let kept: Vec<usize> = journals
            .map(|journal| journal.matches("\"event\":\"turn\"").count())
            .collect();
        assert_eq!(kept, turns);
    }
    // Who hung has what was there.
    assert_eq!(hangs.converse(&hanging, json!({})).await, first);
    drop(half);
    assert_eq!(hub.end(), Some(0));
}

/// An agent that keeps a file of its own, looks at it in every turn, and answers until all is over; its turns.
async fn play_own(of: &Submitter<'_>, mcp: &str, number: usize, mut told: Value) -> usize {
    let own = format!("of agent {number:03}");
    let kept = json!({ "path": "own.md", "content": own });
    let (status, said) = of.call(mcp, "write_file", kept).await;
    assert_eq!(status, 200, "{said}");
    let mut turns = 0;
    while told["over"] == false {
        let read = of.call(mcp, "read_file", json!({ "path": "own.md" })).await;
        assert!(read.0 == 200 && read.1.contains(&own), "{own}: {read:?}");
        told = of.converse(mcp, json!({ "answer": own })).await;
        turns += 1;
    }
    turns
}

/// The statuses of many requests at once, from an address of their own; 0 where the connection was refused.
async fn flood(hub: &Hub, token: &str) -> Vec<u16> {
    let client = client_of_flood();
    let asked = (0..300).map(async |_| {
        let request = client.get(format!("{}/runs", hub.url)).bearer_auth(token);
        let answer = request.send().await;
        answer.map_or(0, |answer| answer.status().as_u16())
    });
    futures::future::join_all(asked).await
}

/// A connection on which the head of a request came, and half of what it says.
async fn half_a_request(hub: &Hub, of: &Submitter<'_>, mcp: &str) -> tokio::net::TcpStream {
    use tokio::io::AsyncWriteExt;
    let (address, base) = hub
        .url
        .trim_start_matches("http://")
        .split_once('/')
        .unwrap();
    let head = format!(
        "POST /{base}{mcp} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: 100\r\n\r\n{{",
        of.token
    );
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Sends a body of a length that is not told, which is more than a request may have.
async fn send_too_much(hub: &Hub, of: &Submitter<'_>, mcp: &str, bytes: usize) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let head = format!(
        "POST /v1{mcp} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\n\r\n{bytes:x}\r\n",
        of.token
    );
    let mut stream = connected(hub).await;
    let all = [head.as_bytes(), &vec![b'x'; bytes], b"\r\n0\r\n\r\n"].concat();
    // Who still writes when the answer is given may find the connection closed in its place.
    let _ = stream.write_all(&all).await;
    let mut answer = [0; 12];
    if stream.read_exact(&mut answer).await.is_ok() {
        assert_eq!(&answer, b"HTTP/1.1 413");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_requests_that_are_refused_or_never_end_are_counted_as_they_come() {
    let scene = scene("limits.request_kib = 64\n[quotas_of.ana]\nmegabytes_a_day = 1\n");
    let hub = Hub::start(&scene);
    let [ana, bo] = ["ana", "bo"].map(|name| hub.as_of(&add(&scene, name)));
    let mcp = ana.open(&ana.begin().await).await;
    let mcp_of_bo = bo.open(&bo.begin().await).await;
    let used = async |least: u64| {
        // On their way to the books they are in none for a moment.
        loop {
            let told = ana.get("").await.1;
            let used = told["today"]["bytes"]["used"].as_u64().unwrap();
            if used >= least {
                return used;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    // Of what begins a run and opens an episode, too.
    let before = used(1).await;
    let half = half_a_request(&hub, &ana, &mcp).await;
    used(before + 1).await;
    drop(half);
    for _ in 0..16 {
        send_too_much(&hub, &ana, &mcp, 65_537).await;
    }
    used(16 * 65_537).await;
    let (status, told) = ana.call(&mcp, "converse", json!({})).await;
    assert!(
        status == 429 && told.contains("your 1 megabytes of this day"),
        "{status} {told}"
    );
    bo.play(&mcp_of_bo).await;
}

/// How long calls take while 200 agents of 20 submitters play at once, on two cores for the hub: printed, not asserted.
/// `HUB_THINK_MS`: how long an agent's model takes between two calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it prints figures: make hub-load"]
async fn two_hundred_agents_play_at_once() {
    const SUBMITTERS: usize = 20;
    const EACH: usize = 10;
    let think = std::env::var("HUB_THINK_MS")
        .ok()
        .and_then(|text| text.parse().ok());
    let think: u64 = think.unwrap_or(500);
    let scene = Scene::new();
    let suite = short();
    configure(
        &scene,
        &format!(
            "suite = {suite:?}\nuser = \"lexical\"\njudge = [\"lexical\"]\nruns = {EACH}\nlimits.episodes = 200\nlimits.connections = 1024\n\
             limits.connections_of_address = 512\nquotas.episodes_at_once = {EACH}\nquotas.requests_a_second = 10000\n"
        ),
    );
    let hub = Hub::started(scene.command_after("taskset -pc 0,1 $$ > /dev/null", &["hub"]));
    let submitters: Vec<Submitter<'_>> = (0..SUBMITTERS)
        .map(|number| hub.as_of(&add(&scene, &format!("s{number}"))))
        .collect();
    let mut episodes = Vec::new();
    let begun = std::time::Instant::now();
    for submitter in &submitters {
        let run = submitter.begin().await;
        for _ in 0..EACH {
            episodes.push((submitter, submitter.open(&run).await));
        }
    }
    // All are in play before a call is measured.
    futures::future::join_all(episodes.iter().map(async |(of, mcp)| {
        of.converse(mcp, json!({})).await;
    }))
    .await;
    let opened = begun.elapsed();
    let plays = episodes.iter().enumerate();
    let plays = plays.map(|(number, (of, mcp))| play_timed(of, mcp, number as u64, think));
    let begun = std::time::Instant::now();
    let all = futures::future::join_all(plays).await;
    let took = begun.elapsed();
    println!("200 episodes opened in {opened:.1?}; {think} ms between two calls of an agent");
    for (kind, name) in ["tool calls", "turns (converse)"].into_iter().enumerate() {
        print_times(
            name,
            took,
            all.iter().flat_map(|times| times[kind].clone()).collect(),
        );
    }
    print_times(
        "all calls",
        took,
        all.iter().flatten().flatten().copied().collect(),
    );
    let of_hub = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", hub.child.id()));
    let status = of_hub("status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("memory of the hub: {}", peak.unwrap_or_default());
    // proc(5): hundredths of a second in its own code and in the kernel, all since it began.
    let stat = of_hub("stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    println!(
        "processor time of the hub: {} and {} hundredths of a second",
        fields[11], fields[12]
    );
    // Of a machine that does other things too: what calls waited for was not the hub then.
    let mut waited = Duration::ZERO;
    for task in std::fs::read_dir(format!("/proc/{}/task", hub.child.id())).unwrap() {
        let file = task.unwrap().path().join("schedstat");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let nanoseconds = text.split(' ').nth(1).and_then(|text| text.parse().ok());
        waited += Duration::from_nanos(nanoseconds.unwrap_or_default());
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!(
        "its threads waited for a processor: {waited:.1?}; load of the machine: {}",
        load.trim()
    );
}

/// Ten turns of an agent that thinks for a while before each call; how long its calls took, and its answers.
async fn play_timed(of: &Submitter<'_>, mcp: &str, number: u64, think: u64) -> [Vec<Duration>; 2] {
    let mut times: [Vec<Duration>; 2] = Default::default();
    for round in 0..10 {
        for (name, arguments) in [
            ("list_dir", json!({ "path": "." })),
            ("read_file", json!({ "path": "USER.md" })),
            (
                "write_file",
                json!({ "path": format!("{round}.md"), "content": "x".repeat(2000) }),
            ),
            ("grep", json!({ "pattern": "Samir" })),
            (
                "simple_note__login",
                json!({ "username": "x", "password": "x" }),
            ),
            ("converse", json!({ "answer": "Done." })),
        ] {
            // Agents do not think in step.
            let pause = think * (50 + (number * 37 + round * 11) % 100) / 100;
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let begun = std::time::Instant::now();
            let (status, told) = of.call(mcp, name, arguments).await;
            assert_eq!(status, 200, "{told}");
            times[usize::from(name == "converse")].push(begun.elapsed());
        }
    }
    times
}

fn print_times(name: &str, took: Duration, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!(
        "{name}: {} in {took:.1?}; median {:.1?}, p90 {:.1?}, p99 {:.1?}, longest {:.1?}",
        times.len(),
        at(50),
        at(90),
        at(99),
        at(100)
    );
}
