//! The built-in scaffold with a model behind it: a server of the tests' own, whose answers are a function of the chat.

use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::{asks_for_memory, is_preflight};
use crate::scene::{Scene, copy, expect, files};

/// What the model is asked.
pub(crate) struct Asked {
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<String>,
    pub(crate) may_call: bool,
}

impl Asked {
    pub(crate) fn last(&self) -> &str {
        self.messages.last().unwrap()["content"]
            .as_str()
            .unwrap_or_default()
    }

    fn system(&self) -> &str {
        self.messages[0]["content"].as_str().unwrap()
    }

    pub(crate) fn any(&self, text: &str) -> bool {
        let holds = |message: &Value| {
            message["content"]
                .as_str()
                .is_some_and(|all| all.contains(text))
        };
        self.messages.iter().skip(1).any(holds)
    }
}

fn completion(message: &Value, finish: &str) -> Value {
    json!({
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10 },
    })
}

pub(crate) fn text(content: &str) -> Value {
    completion(&json!({ "role": "assistant", "content": content }), "stop")
}

fn cut(content: &str) -> Value {
    completion(
        &json!({ "role": "assistant", "content": content }),
        "length",
    )
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    let call = |(place, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "id": format!("c{place}"), "type": "function", "function": function })
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    completion(
        &json!({ "role": "assistant", "content": null, "tool_calls": calls }),
        "tool_calls",
    )
}

/// A suite of one persona and two sessions, a day apart.
pub(crate) fn suite(scene: &Scene, more: &str, persona: &str) {
    scene.write(
        "tasks/suite.toml",
        &format!(
            "version = 1\nid = \"t\"\npersonas = [\"p\"]\nuser = \"lexical\"\njudge = \"lexical\"\nruns = 1\n{more}"
        ),
    );
    scene.write(
        "tasks/p/persona.toml",
        &format!(
            "version = 1\nid = \"p\"\nname = \"P\"\nprofile = \"A person.\"\n{persona}\n\
             episode = [{{ session = \"one\" }}, {{ session = \"two\" }}]\n"
        ),
    );
    for (id, day) in [("one", 2), ("two", 3)] {
        scene.write(
            &format!("tasks/p/sessions/{id}/session.toml"),
            &format!(
                "version = 1\nid = \"{id}\"\ntitle = \"T\"\nclock = 2026-03-0{day}T09:00:00\n\
                 request = \"Request {id}.\"\n[[intents]]\nid = \"i\"\ncontent = \"In blue.\"\n"
            ),
        );
    }
}

/// Runs the program with an agent that answers so; a session's memory step saves a fixed text.
pub(crate) async fn play(
    scene: &Scene,
    args: &[&str],
    answer: impl Fn(&Asked) -> Value + Send + Sync + 'static,
) -> Output {
    play_where(scene, args, &[], answer).await
}

/// The same, with more variables of the environment.
pub(crate) async fn play_where(
    scene: &Scene,
    args: &[&str],
    more: &[(&str, &str)],
    answer: impl Fn(&Asked) -> Value + Send + Sync + 'static,
) -> Output {
    let respond = move |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        let asked = Asked {
            messages: body["messages"].as_array().unwrap().clone(),
            tools: body["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .map(name)
                .collect(),
            may_call: body["tool_choice"] != "none",
        };
        // As it is told why it is asked.
        let goes_on = asked.last().starts_with("The session goes on, but ");
        let entry = if goes_on {
            "Played. It goes on."
        } else {
            "Played."
        };
        let saved = json!({ "history_entry": entry, "memory_update": "Likes blue." });
        let reply = if is_preflight(request) {
            text("OK")
        } else if asks_for_memory(&body) && !asked.any("never save") {
            calls(&[("save_memory", saved)])
        } else {
            answer(&asked)
        };
        if let Some(seconds) = reply["busy"].as_u64() {
            return ResponseTemplate::new(429).insert_header("Retry-After", seconds.to_string());
        }
        let delay = Duration::from_secs(reply["late"].as_u64().unwrap_or(0));
        ResponseTemplate::new(200)
            .set_body_json(reply)
            .set_delay(delay)
    };
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let url = format!("{}/v1", server.uri());
    let variables = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "k")];
    let variables = [&variables, more].concat();
    tokio::task::block_in_place(|| scene.run_with(args, &variables))
}

pub(crate) const RUN: [&str; 7] = [
    "run",
    "tasks/suite.toml",
    "--agent",
    "openai/m",
    "--out",
    "run",
    "--json",
];

fn journal(scene: &Scene, run: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.path(&format!("{run}/journal/p.r1.jsonl"))).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn turns(scene: &Scene) -> Vec<Value> {
    let events = journal(scene, "run").into_iter();
    events.filter(|event| event["event"] == "turn").collect()
}

/// A server that asks for a wait before the call is made again.
fn busy(seconds: u64) -> Value {
    json!({ "busy": seconds })
}

/// The same answer, and late.
pub(crate) fn late(answer: Value, seconds: u64) -> Value {
    let mut answer = answer;
    answer["late"] = seconds.into();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_charged_for_a_late_answer_and_not_for_waiting_also_in_a_subagent() {
    let scene = Scene::new();
    suite(&scene, "[session]\nturn_timeout_s = 3\n", "");
    let refused = AtomicBool::new(false);
    let output = play(&scene, &RUN, move |asked| {
        if !asked.tools.is_empty() && !asked.tools.contains(&"message".into()) {
            if !refused.swap(true, Ordering::SeqCst) {
                return busy(4);
            }
            return text("The note is in note.md.");
        }
        if asked.last().contains("subagent `note` is done") {
            return text("It is written.");
        }
        if asked.last().contains("Request one.") {
            return calls(&[(
                "spawn",
                json!({ "task": "Write the note.", "label": "note" }),
            )]);
        }
        if asked.last().contains("Request two.") {
            return late(text("Here it is."), 5);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let turns = turns(&scene);
    assert_eq!(turns[0]["response"], "It is written.");
    let second = turns.iter().find(|turn| turn["session"] == "two").unwrap();
    assert_eq!(second["response"], "");
    assert_eq!(second["outcome"], "turn_timeout", "{second:#}");
    // The late answer was asked for: a call of which nobody knows the tokens. The server told those of the others.
    let lost = |turn: &Value| turn["usage"]["agent"]["uncounted_calls"].as_u64();
    assert_eq!((lost(&turns[0]), lost(second)), (None, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_cut_off_is_gone_on_with_three_times() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        if asked.any("In blue.") {
            return text("Done.");
        }
        let nudges = asked.messages.iter().filter(|message| {
            message["content"]
                .as_str()
                .is_some_and(|text| text.starts_with("Your answer was cut off"))
        });
        cut(["one ", "two ", "three ", "four", "five"][nudges.count()])
    })
    .await;
    expect(&output, 0, &[]);
    assert_eq!(turns(&scene)[0]["response"], "one two three four");
    let steps: Vec<Value> = turns(&scene)[0]["steps"].as_array().unwrap().clone();
    let nudges = steps.iter().filter(|step| step["step"] == "nudge").count();
    assert_eq!((steps.len(), nudges), (7, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_without_an_answer_are_told_beside_their_scores() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let args = &RUN[..6];
    let output = play(&scene, args, |asked| {
        if asked.any("In blue.") {
            text("Done.")
        } else if asked.any("Request two.") {
            text("")
        } else {
            cut("")
        }
    })
    .await;
    expect(&output, 0, &[]);
    let results = std::fs::read(scene.path("run/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let of = turns(&scene).len();
    assert_eq!(
        results["unanswered"],
        json!({ "turns": 2, "cut": 1, "of": of })
    );
    let note = format!(
        "2 of {of} turns ended without an answer (1 cut at the limit of output tokens: --max-output-tokens)."
    );
    let told = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&note), "{said}");
    };
    told(&output);
    told(&scene.run(&["show", "run"]));
    told(&scene.run(&["report", "run", "--format", "json"]));
    expect(&scene.run(&["verify", "run"]), 0, &[]);

    let args = [&["run", "tasks/suite.toml", "--out", "all"], &RUN[2..4]].concat();
    let output = play(&scene, &args, |_| text("Done.")).await;
    expect(&output, 0, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("without an answer"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_a_server_left_in_the_text_are_told_and_never_carried_out() {
    let played = async |name: &'static str| {
        let scene = Scene::new();
        suite(&scene, "", "");
        let output = play(&scene, &RUN, move |asked| {
            if asked.any("In blue.") {
                return text("Done.");
            }
            let arguments = json!({ "path": "out.md", "content": "x" });
            let call = json!({ "name": name, "arguments": arguments });
            text(&format!("<tool_call>\n{call}\n</tool_call>"))
        })
        .await;
        expect(&output, 0, &[]);
        let results = std::fs::read(scene.path("run/results.json")).unwrap();
        let results: Value = serde_json::from_slice(&results).unwrap();
        expect(&scene.run(&["verify", "run"]), 0, &[]);
        let shown = scene.run(&["show", "run"]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(turns(&scene).iter().all(|turn| turn["changes"].is_null()));
        (results["written_calls"].clone(), shown)
    };
    let note =
        "2 answers hold calls of tools as text, and nothing was called: the server has no parser";
    let (count, shown) = played("write_file").await;
    assert_eq!(count, 2);
    assert!(shown.contains(note), "{shown}");
    let (count, shown) = played("no_such_tool").await;
    assert!(count.is_null() && !shown.contains("as text"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_is_asked_for_again_and_then_without_calls() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        if !asked.may_call {
            // Servers refuse a chat with calls in it that comes without tools.
            assert!(asked.tools.contains(&"read_file".to_owned()));
            assert!(
                asked.last().starts_with("Your answer was empty"),
                "{}",
                asked.last()
            );
            return text("At last.");
        }
        if asked.last().contains("Request one.") {
            return calls(&[("list_dir", json!({ "path": "." }))]);
        }
        text("")
    })
    .await;
    expect(&output, 0, &[]);
    assert_eq!(turns(&scene)[0]["response"], "At last.");
    assert_eq!(turns(&scene)[0]["usage"]["agent"]["calls"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_a_row_is_refused_the_fourth_time_and_one_after_another_call_is_not() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let read = || ("list_dir", json!({ "path": "." }));
    let write = || ("write_file", json!({ "path": "a.txt", "content": "a" }));
    let row = [read(), read(), read(), read(), write(), read()];
    let output = play(&scene, &RUN, move |asked| {
        if asked.any("a.txt") {
            text("Done.")
        } else {
            calls(&row)
        }
    })
    .await;
    expect(&output, 0, &[]);
    let steps = turns(&scene)[0]["steps"].as_array().unwrap().clone();
    let calls: Vec<&Value> = steps.iter().filter(|step| step["step"] == "call").collect();
    let results: Vec<&str> = calls
        .iter()
        .map(|call| call["record"]["result"].as_str().unwrap())
        .collect();
    let refused: Vec<bool> = results
        .iter()
        .map(|result| result.contains("in a row"))
        .collect();
    assert_eq!(
        refused,
        [false, false, false, true, false, false],
        "{results:?}"
    );
    assert!(results[5].contains("a.txt"), "{results:?}");
}

/// An agent that makes two jobs in the first session and works when they are due.
fn with_jobs(asked: &Asked) -> Value {
    if asked.last().starts_with("[cron job-2] often") {
        let folded = "[It was due 2 times before, and did not wake you then.]";
        assert!(asked.last().contains(folded), "{}", asked.last());
        return calls(&[(
            "write_file",
            json!({ "path": "job.md", "content": "Done by a job." }),
        )]);
    }
    if asked.last().contains("Request one.") {
        return calls(&[
            (
                "cron",
                json!({ "action": "add", "message": "later", "at": "2026-03-02T20:00:00" }),
            ),
            (
                "cron",
                json!({ "action": "add", "message": "often", "cron_expr": "0 */8 * * *" }),
            ),
            (
                "write_file",
                json!({ "path": "HEARTBEAT.md", "content": "Check the tide." }),
            ),
        ]);
    }
    if asked.last().contains("Request two.") {
        return calls(&[
            ("cron", json!({ "action": "list" })),
            ("read_file", json!({ "path": "job.md" })),
        ]);
    }
    text("Noted.")
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_and_heartbeats_fire_between_sessions_in_the_order_of_time() {
    let scene = Scene::new();
    suite(&scene, "[session]\nheartbeat_minutes = 180\n", "");
    expect(&play(&scene, &RUN, with_jobs).await, 0, &[]);
    let events = journal(&scene, "run");
    let expected = [
        ("heartbeat", "2026-03-02T18:00:00", 2),
        ("job-1", "2026-03-02T20:00:00", 0),
        ("heartbeat", "2026-03-03T06:00:00", 3),
        ("job-2", "2026-03-03T08:00:00", 2),
        ("heartbeat", "2026-03-03T09:00:00", 0),
    ];
    assert_eq!(wakes(&events), expected);
    let second = events
        .iter()
        .find(|event| event["session"] == "two" && event["event"] == "turn");
    let steps = &second.unwrap()["steps"];
    let listed = steps[1]["record"]["result"].as_str().unwrap();
    assert_eq!(
        listed,
        "job-2 (cron 0 */8 * * *, next at 2026-03-03T16:00:00): often"
    );
    assert!(
        steps[2]["record"]["result"]
            .as_str()
            .unwrap()
            .contains("Done by a job.")
    );
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// What woke the agent, when, and how often it did not before.
fn wakes(events: &[Value]) -> Vec<(&str, &str, u64)> {
    let wakes = events.iter().filter(|event| event["event"] == "wake");
    let told = |event: &'_ Value| event["folded"].as_u64().unwrap_or(0);
    let wakes = wakes.map(|event| {
        let text = |key: &str| event[key].as_str().unwrap();
        (text("by"), text("clock"), told(event))
    });
    wakes.collect()
}

/// More jobs than an agent was ever woken for, and each wake makes another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fires_once_is_never_lost_and_none_is_added_in_the_twenty_fourth_wake() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let once = |message: String, at: String| {
        let job = json!({ "action": "add", "message": message, "at": at });
        ("cron", job)
    };
    let output = play(&scene, &RUN, move |asked| {
        if asked.last().contains("Request one.") {
            let often = json!({ "action": "add", "message": "often", "every_seconds": 60 });
            let jobs = (1..20).map(|hour| {
                let at = format!("2026-03-02T{:02}:{:02}:00", 10 + hour / 2, hour % 2 * 30);
                once(format!("once {hour}"), at)
            });
            let all = std::iter::once(("cron", often)).chain(jobs);
            return calls(&all.collect::<Vec<_>>());
        }
        if let Some((_, at)) = asked.last().split_once("[now: ")
            && asked.last().starts_with("[cron")
        {
            let next = at[..19].parse::<jiff::civil::DateTime>().unwrap();
            let next = next.checked_add(jiff::Span::new().minutes(2)).unwrap();
            return calls(&[once("chained".into(), next.to_string())]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let events = journal(&scene, "run");
    let wakes = wakes(&events);
    assert!(wakes.is_sorted_by_key(|(_, clock, _)| *clock), "{wakes:?}");
    // The nineteen, and what the first twenty-three wakes added.
    let once = wakes
        .iter()
        .filter(|(by, ..)| by.starts_with("job-") && *by != "job-1");
    assert_eq!(once.count(), 19 + 23, "{wakes:?}");
    let often: Vec<_> = wakes.iter().filter(|(by, ..)| *by == "job-1").collect();
    assert_eq!(often, [&("job-1", "2026-03-03T09:00:00", 1_439)]);
    let refused = "you were woken 24 times since the last session";
    let journal = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
    assert!(journal.contains(refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_jobs_and_subagents_that_is_cut_anywhere_ends_with_the_same_bytes() {
    let scene = Scene::new();
    suite(&scene, "[session]\nheartbeat_minutes = 600\n", "");
    let answer = |asked: &Asked| {
        if !asked.tools.is_empty() && !asked.tools.contains(&"message".into()) {
            return subagent(asked);
        }
        if asked.last().contains("In blue.") {
            return calls(&[(
                "spawn",
                json!({ "task": "Write the note.", "label": "note" }),
            )]);
        }
        with_jobs(asked)
    };
    expect(&play(&scene, &RUN, answer).await, 0, &[]);
    let journal = std::fs::read(scene.path("run/journal/p.r1.jsonl")).unwrap();
    let ends = (1..journal.len()).filter(|&at| journal[at - 1] == b'\n' && at < journal.len());
    for (number, cut) in ends.enumerate() {
        let name = format!("cut-{number}");
        copy(&scene.path("run"), &scene.path(&name));
        std::fs::remove_file(scene.path(&format!("{name}/results.json"))).unwrap();
        std::fs::write(
            scene.path(&format!("{name}/journal/p.r1.jsonl")),
            &journal[..cut],
        )
        .unwrap();
        expect(
            &play(&scene, &["run", "--resume", &name], answer).await,
            0,
            &[],
        );
        let resumed = std::fs::read(scene.path(&format!("{name}/journal/p.r1.jsonl"))).unwrap();
        assert!(
            resumed == journal,
            "cut at {cut}: {}",
            String::from_utf8_lossy(&resumed)
        );
        let workspace = |run: &str| files(&scene.path(&format!("{run}/workspaces")));
        assert_eq!(workspace(&name), workspace("run"), "cut at {cut}");
    }
}

fn subagent(asked: &Asked) -> Value {
    if asked.messages.len() == 2 {
        assert!(
            asked.last().starts_with("Write the note."),
            "{}",
            asked.last()
        );
        return calls(&[
            (
                "write_file",
                json!({ "path": "note.md", "content": "A note." }),
            ),
            ("spawn", json!({ "task": "Another one." })),
        ]);
    }
    text("The note is in note.md.")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_works_in_a_chat_of_its_own_and_tells_its_result() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        if !asked.tools.is_empty() && !asked.tools.contains(&"message".into()) {
            for absent in ["spawn", "cron", "ask_user"] {
                assert!(!asked.tools.contains(&absent.into()), "{absent}");
            }
            return subagent(asked);
        }
        if asked
            .last()
            .starts_with("[subagent `note` is done]\nThe note is in note.md.")
        {
            return text("It is written.");
        }
        if asked.last().contains("Request one.") {
            return calls(&[(
                "spawn",
                json!({ "task": "Write the note.", "label": "note" }),
            )]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let turn = &turns(&scene)[0];
    assert_eq!(turn["response"], "It is written.");
    let step = turn["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["step"] == "subagent");
    let steps = step.unwrap()["steps"].as_array().unwrap();
    assert_eq!(steps[1]["record"]["tool"], "write_file");
    assert!(
        steps[2]["record"]["result"]
            .as_str()
            .unwrap()
            .contains("no tool `spawn`")
    );
    assert_eq!(turn["changes"][0]["path"], "note.md");
    // Three calls, a second each.
    assert_eq!(turns(&scene)[1]["clock"], "2026-03-02T09:01:03");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_result_goes_to_a_file_and_stands_in_the_record_once() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        if asked.last().contains("Request one.") {
            let lines: Vec<String> = (0..3_000).map(|line| format!("needle {line}\n")).collect();
            let lines = lines.concat();
            return calls(&[
                ("write_file", json!({ "path": "hay.txt", "content": lines })),
                (
                    "grep",
                    json!({ "pattern": "needle", "output_mode": "content", "head_limit": 3000 }),
                ),
            ]);
        }
        if asked.last().contains("the whole result is in the file") {
            assert!(asked.last().len() < 5_000, "{}", asked.last().len());
            return text("Found.");
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let turn = &turns(&scene)[0];
    assert_eq!(turn["response"], "Found.");
    let kept = &turn["steps"][2];
    let file = kept["file"].as_str().unwrap();
    let path = scene.path(&format!("run/workspaces/p.r1/{file}"));
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        kept["record"]["result"].as_str().unwrap()
    );
    let line = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
    assert_eq!(line.matches("hay.txt:2999:needle 2998").count(), 1);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_and_the_suites_own_web_are_there() {
    let scene = Scene::new();
    suite(
        &scene,
        "[web]\ncorpus = \"corpus\"\n",
        "skills = [\"tides\", \"flying\"]",
    );
    scene.write(
        "tasks/corpus/a.md",
        "---\nurl: https://harbour.example/tides\ntitle: Tides\n---\n# Tides\n\nHigh water is at noon.\n",
    );
    scene.write(
        "tasks/skills/tides/SKILL.md",
        "---\nname: Tides\ndescription: Reads tide tables.\ntools: [web_search]\n---\nLook it up.\n",
    );
    scene.write(
        "tasks/p/skills/flying/SKILL.md",
        "---\nname: Flying\ndescription: Flies.\ntools: [wings]\n---\nFlap.\n",
    );
    let output = play(&scene, &RUN, |asked| {
        let system = asked.system();
        assert!(
            system.contains("- Tides: Reads tide tables. (skills/tides/SKILL.md)"),
            "{system}"
        );
        assert!(
            system.contains("(skills/flying/SKILL.md; not available: lacks wings)"),
            "{system}"
        );
        if asked.last().contains("Request one.") {
            return calls(&[
                ("read_file", json!({ "path": "skills/tides/SKILL.md" })),
                ("web_search", json!({ "query": "when is high water" })),
                (
                    "web_fetch",
                    json!({ "url": "https://harbour.example/tides" }),
                ),
                ("web_fetch", json!({ "url": "https://elsewhere.example/" })),
                ("web_search", json!({ "query": "x", "count": 11 })),
            ]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let turn = &turns(&scene)[0];
    let result = |place: usize| {
        turn["steps"][place]["record"]["result"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(result(1).contains("Look it up."));
    assert_eq!(
        result(2),
        "1. Tides\n   https://harbour.example/tides\n   High water is at noon."
    );
    assert_eq!(
        result(3),
        "Tides\nhttps://harbour.example/tides\n\n# Tides\n\nHigh water is at noon."
    );
    assert!(
        result(4).contains("there is no such page; web_search finds"),
        "{}",
        result(4)
    );
    assert!(result(5).contains("bad arguments: /count"), "{}", result(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_released_codes_profile_has_its_tools_and_no_other() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let args = [RUN.as_slice(), &["--scaffold", "nanobot-0.1.4"]].concat();
    let output = play(&scene, &args, |asked| {
        let tools: Vec<&str> = asked.tools.iter().map(String::as_str).collect();
        let expected = [
            "read_file",
            "write_file",
            "edit_file",
            "list_dir",
            "exec",
            "web_search",
            "web_fetch",
            "message",
            "cron",
            "save_memory",
        ];
        assert_eq!(tools, expected);
        if asked.last().contains("Request one.") {
            return calls(&[
                ("list_dir", json!({ "path": ".", "recursive": true })),
                ("list_dir", json!({ "path": "." })),
                ("glob", json!({ "pattern": "*" })),
            ]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let turn = &turns(&scene)[0];
    let status = |place: usize| {
        turn["steps"][place]["record"]["status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        [status(1), status(2), status(3)],
        ["tool_error", "ok", "tool_error"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_that_is_never_saved_leaves_an_extract_and_a_fault() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |_| text("I never save anything.")).await;
    expect(&output, 9, &[]);
    let history =
        std::fs::read_to_string(scene.path("run/workspaces/p.r1/memory/HISTORY.md")).unwrap();
    assert_eq!(
        history.matches("[raw extract] User: Request").count(),
        1,
        "{history}"
    );
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["faults"][0]["source"], "save_memory", "{results}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_go_with_a_message_have_to_be_there() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        if asked.last().contains("Request one.") {
            return calls(&[
                (
                    "message",
                    json!({ "content": "See this.", "media": ["a.md"] }),
                ),
                ("write_file", json!({ "path": "a.md", "content": "x" })),
                (
                    "message",
                    json!({ "content": "See this now.", "media": ["a.md"] }),
                ),
                ("mesage", json!({})),
                (
                    "ask_user",
                    json!({ "question": "Which one?", "options": ["red", "green"] }),
                ),
            ]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let turn = &turns(&scene)[0];
    let result = |place: usize| {
        turn["steps"][place]["record"]["result"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        result(1).contains("nothing was sent: the file \"a.md\""),
        "{}",
        result(1)
    );
    assert!(
        result(4).contains("did you mean `message`?"),
        "{}",
        result(4)
    );
    assert_eq!(
        turn["response"],
        "See this now.\n[file: a.md]\n\nWhich one?\n- red\n- green"
    );
}

/// A session of twelve turns whose answers alone are twice what fits the window.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_session_is_consolidated_and_can_be_gone_on_with_anywhere() {
    let scene = Scene::new();
    suite(&scene, "[session]\nwindow_tokens = 32768\n", "");
    let intents: Vec<String> = (0..12)
        .map(|number| format!("[[intents]]\nid = \"i{number}\"\ncontent = \"Wish {number}.\"\n"))
        .collect();
    let intents = intents.concat();
    scene.write(
        "tasks/p/sessions/one/session.toml",
        &format!(
            "version = 1\nid = \"one\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Request one.\"\n{intents}"
        ),
    );
    let answer = |asked: &Asked| {
        let sent: usize = asked
            .messages
            .iter()
            .map(|message| message["content"].as_str().unwrap_or_default().len())
            .sum();
        assert!(sent < 3 * 32_768, "{sent}");
        text(&format!(
            "Answer to {}: {}",
            asked.last(),
            "x".repeat(9_000)
        ))
    };
    expect(&play(&scene, &RUN, answer).await, 0, &[]);
    let consolidated = |turn: &Value| turn["steps"][0]["step"] == "consolidated";
    let all = turns(&scene);
    let times = all.iter().filter(|turn| consolidated(turn)).count();
    assert!((1..6).contains(&times), "{times} of {}", all.len());
    let history = std::fs::read_to_string(scene.path("run/workspaces/p.r1/memory/HISTORY.md"));
    let history = history.unwrap();
    assert_eq!(history.matches("Played.").count(), times + 1);
    assert_eq!(history.matches("It goes on.").count(), times);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    let journal = std::fs::read(scene.path("run/journal/p.r1.jsonl")).unwrap();
    let ends = (1..journal.len()).filter(|&at| journal[at - 1] == b'\n');
    for (number, cut) in ends.enumerate() {
        let name = format!("cut-{number}");
        copy(&scene.path("run"), &scene.path(&name));
        std::fs::remove_file(scene.path(&format!("{name}/results.json"))).unwrap();
        let path = scene.path(&format!("{name}/journal/p.r1.jsonl"));
        std::fs::write(&path, &journal[..cut]).unwrap();
        expect(
            &play(&scene, &["run", "--resume", &name], answer).await,
            0,
            &[],
        );
        assert!(std::fs::read(&path).unwrap() == journal, "cut at {cut}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_saved_when_it_is_asked_for_and_a_question_needs_words() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let output = play(&scene, &RUN, |asked| {
        if asked.last().contains("Request one.") {
            let saved = json!({ "history_entry": "Too early.", "memory_update": "Too early." });
            return calls(&[
                ("save_memory", saved),
                ("ask_user", json!({ "question": " \n", "options": ["red"] })),
                ("ask_user", json!({ "question": "Which one?" })),
            ]);
        }
        text("Noted.")
    })
    .await;
    expect(&output, 0, &[]);
    let first = &turns(&scene)[0];
    let result = |place: usize| first["steps"][place]["record"]["result"].as_str().unwrap();
    assert!(result(1).contains("nothing was saved"), "{}", result(1));
    assert!(result(2).contains("`question` is empty"), "{}", result(2));
    assert_eq!(first["response"], "Which one?");
    let memory = |file: &str| {
        std::fs::read_to_string(scene.path(&format!("run/workspaces/p.r1/memory/{file}"))).unwrap()
    };
    assert_eq!(memory("MEMORY.md"), "Likes blue.\n");
    assert_eq!(memory("HISTORY.md").matches("Played.").count(), 1);
    assert!(!memory("HISTORY.md").contains("Too early"));
    // The last session has nobody to remember for.
    let ends: Vec<Value> = journal(&scene, "run")
        .into_iter()
        .filter(|event| event["event"] == "session_finished")
        .collect();
    let steps = |end: &Value| end["memory"].as_array().map_or(0, Vec::len);
    assert_eq!(ends.iter().map(steps).collect::<Vec<_>>(), [1, 0]);
}
