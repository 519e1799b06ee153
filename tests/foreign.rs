//! Foreign bytes that the host reads itself: schemas of plugins, patterns and calls of models, texts that are none. Each
//! hostile case ends soon, with a word that says what is wrong, and has a twin that is granted.

use pibench_sandbox::{App, Limits, LoadError};
use serde_json::{Map, Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::guest::{Guest, file};
use crate::models::{self, asks_for_memory, is_preflight};
use crate::scaffold;
use crate::scene::{Scene, expect, output, say_in_record, short};

/// A schema whose one argument is the first of `many` definitions, each made from the name of the next.
fn chain(many: usize, each: impl Fn(&Value) -> Value) -> Value {
    let mut defs: Map<String, Value> = (0..many)
        .map(|number| {
            let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
            (format!("d{number}"), each(&next))
        })
        .collect();
    defs.insert(format!("d{many}"), json!({ "type": "string" }));
    let properties = json!({ "a": { "$ref": "#/$defs/d0" } });
    json!({ "type": "object", "properties": properties, "additionalProperties": false, "$defs": defs })
}

async fn listed(schema: &Value) -> Result<usize, String> {
    let plugin = Guest::honest().taking(schema).load().unwrap();
    match App::list_tools(&plugin, Limits::APP).await {
        Ok(tools) => Ok(tools.len()),
        Err(LoadError::BadTools { reason, .. }) => Err(reason),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_schema_that_explodes_is_refused_by_name_when_its_app_is_loaded() {
    let twice = |key: &'static str| move |next: &Value| json!({ key: [next, next] });
    let all = |next: &Value| next.clone();
    for (schema, said) in [
        (chain(30_000, all), "bytes, more than 65536"),
        (chain(1000, all), "nested deeper than 64"),
        (chain(40, twice("allOf")), "nested deeper than 64"),
        (chain(25, twice("anyOf")), "nested deeper than 64"),
        (chain(12, twice("allOf")), "more than 2000 JSON values"),
        (
            json!({ "type": "object", "$ref": "#/$defs/a", "$defs": { "a": { "not": { "$ref": "#/$defs/a" } } } }),
            "`#/$defs/a` refers to itself",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "pattern": "(a{1000}){1000}" } } }),
            "the pattern `(a{1000}){1000}` at /properties/a/pattern is not taken",
        ),
    ] {
        let reason = listed(&schema).await.unwrap_err();
        assert!(
            reason.starts_with("the schema of `t` ") && reason.contains(said),
            "{reason}"
        );
    }
    for granted in [chain(8, all), chain(3, twice("anyOf"))] {
        assert_eq!(listed(&granted).await, Ok(1));
    }
}

#[test]
fn the_standard_suite_and_check_name_a_schema_that_explodes() {
    let component = Guest::honest()
        .taking(&chain(12, |next| json!({ "anyOf": [next, next] })))
        .component();
    let (_folder, path) = file(&component);
    let scene = Scene::new();
    // In kilobytes: a reading that goes on without end must not take the machine with it.
    let bounded = |args: &[&str]| output(&mut scene.command_after("ulimit -d 2000000", args));
    let output = bounded(&["plugin", "test", path.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{told}");
    let said = "the schema of `t` is not taken: it has more than 2000 JSON values";
    assert!(told.contains(said), "{told}");
    let suite = format!("policy = \"policy.toml\"\n[plugins]\nguest = {path:?}\n");
    scaffold::suite(&scene, &suite, "tools = [\"guest__*\"]");
    let policy = "version = 1\n[plugins.guest]\ngrants = []\n";
    scene.write("tasks/policy.toml", policy);
    expect(&bounded(&["check", "tasks"]), 3, &[said]);
}

/// The results of the calls of a session's first turn.
async fn results(calls: Vec<(&'static str, Value)>) -> Vec<(String, String)> {
    let scene = Scene::new();
    scaffold::suite(&scene, "", "");
    let output = scaffold::play(&scene, &scaffold::RUN, move |asked| {
        if asked.any("Request one.") && asked.messages.len() == 2 {
            return scaffold::calls(&calls);
        }
        scaffold::text("Done.")
    })
    .await;
    expect(&output, 0, &[]);
    let steps = scaffold::turns(&scene)[0]["steps"]
        .as_array()
        .unwrap()
        .clone();
    let call = |step: &Value| {
        let record = step["record"].as_object()?;
        let text = |key: &str| record[key].as_str().unwrap().to_owned();
        Some((text("status"), text("result")))
    };
    steps.iter().filter_map(call).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn globs_and_patterns_of_a_model_are_bounded() {
    let line = "ab".repeat(64 << 10);
    let found = results(vec![
        ("write_file", json!({ "path": "a.md", "content": line })),
        ("glob", json!({ "pattern": "{".repeat(300) })),
        ("glob", json!({ "pattern": "*.{md,csv}" })),
        ("grep", json!({ "pattern": "[ab]*a[ab]{8000}c" })),
        ("grep", json!({ "pattern": "ba{1,3}b" })),
    ])
    .await;
    let said: Vec<&str> = found.iter().map(|(_, result)| result.as_str()).collect();
    assert!(
        said[1].contains("its braces nest deeper than 8"),
        "{}",
        said[1]
    );
    assert_eq!(said[2], "a.md\n(1 found)");
    assert!(
        said[3].contains("1 line passed over: too long for this pattern"),
        "{}",
        said[3]
    );
    assert_eq!(said[4], "a.md\n(1 files)");
}

#[test]
fn huge_matchers_are_named_and_the_rest_is_checked() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", "");
    let file = "tasks/p/sessions/one/session.toml";
    let text = std::fs::read_to_string(scene.path(file)).unwrap();
    let large: Vec<String> = (0..600)
        .map(|number| {
            format!(
                "[[intents]]\nid = \"i{number}\"\ncontent = \"Number {number} is blue.\"\n\
                 satisfied = {{ all = [[\"{number}a(a{{500}}b{{500}}c{{500}}){{3}}\"]] }}\n"
            )
        })
        .collect();
    scene.write(file, &(text.clone() + &large.concat()));
    let said = "states, more than 1048576 together; this one has";
    expect(&scene.run(&["check", "tasks"]), 3, &[file, said]);
    scene.write(file, &(text.clone() + &large[..8].concat()));
    let output = scene.run(&["check", "tasks"]);
    assert!(!crate::scene::stderr(&output).contains("states"));
    let one = large[0].replace("{3}", "{900}");
    scene.write(file, &(text + &one));
    expect(
        &scene.run(&["check", "tasks"]),
        3,
        &[file, "exceeds size limit"],
    );
}

/// Each try is below every bound, and all of them together are not: who costs most is named, and `check` ends.
#[test]
fn the_tries_of_all_matchers_have_a_budget_together() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", "");
    let play = |sessions: usize| {
        let named: Vec<String> = (0..sessions)
            .map(|number| format!("{{ session = \"s{number}\" }}"))
            .collect();
        let persona = format!(
            "version = 1\nid = \"p\"\nname = \"P\"\nprofile = \"A person.\"\nepisode = [{}]\n",
            named.join(", ")
        );
        scene.write("tasks/p/persona.toml", &persona);
        scene.run(&["check", "tasks"])
    };
    let pattern = |number: usize| format!("\"{number}(a|b){{4000}}c\"");
    let patterns: Vec<String> = (0..7).map(pattern).collect();
    let example = |number: usize| format!("\"{number} {}\"", "ab ".repeat(8_000));
    let examples: Vec<String> = (0..40).map(example).collect();
    for number in 0..30 {
        let session = format!(
            "version = 1\nid = \"s{number}\"\ntitle = \"T\"\nclock = 2026-03-{:02}T09:00:00\nrequest = \"Request {number}.\"\n\
             [[intents]]\nid = \"greedy\"\ncontent = \"In blue.\"\nfound_in = [{{ kind = \"question\" }}]\n\
             satisfied = {{ all = [[{}]], rejects = [{}] }}\nasked = {{ all = [[\"which[^?]*\\\\?\"]] }}\n",
            number + 1,
            patterns.join(", "),
            examples.join(", ")
        );
        scene.write(
            &format!("tasks/p/sessions/s{number}/session.toml"),
            &session,
        );
    }
    let whole = play(2);
    expect(&whole, 0, &[]);
    assert!(!crate::scene::stderr(&whole).contains("states times bytes"));
    expect(
        &play(30),
        3,
        &[
            "states times bytes, most of it for `s",
            "/greedy.satisfied`",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_one_answer_are_bounded_in_number_and_by_their_results() {
    let calls = (0..18_000).map(|number| ("list_dir", json!({ "path": ".", "depth": number })));
    let mut calls: Vec<_> = calls.collect();
    calls[..10].fill_with(|| ("exec", json!({ "command": "true" })));
    for (number, call) in calls.iter_mut().enumerate().take(10) {
        call.1["command"] = json!(format!("echo {number}"));
    }
    let found = results(calls).await;
    assert_eq!(found.len(), 18_000);
    assert!(
        found[..10].iter().all(|(status, _)| status == "ok"),
        "{:?}",
        found[0]
    );
    for (status, result) in &found[128..] {
        assert_eq!(
            (status.as_str(), result.as_str()),
            ("tool_error", "not run: of one answer 128 calls are run")
        );
    }
    let content = "word ".repeat(24_000);
    let mut calls = vec![("write_file", json!({ "path": "a.md", "content": content }))];
    calls.extend(
        (0..100).map(|line| ("read_file", json!({ "path": "a.md", "limit": 2000 + line }))),
    );
    let found = results(calls).await;
    assert_eq!(found[1].0, "ok");
    let (status, result) = found.last().unwrap();
    assert!(
        status == "tool_error" && result.contains("the results of this answer's calls have"),
        "{result}"
    );
}

/// Plays with an agent that answers the first request so; the exit, and the most memory of the process in KiB.
async fn peak_of(scene: &Scene, answer: Value) -> (Option<i32>, u64) {
    scaffold::suite(scene, "", "");
    let server = MockServer::start().await;
    let respond = move |request: &Request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let messages = asked["messages"].as_array().unwrap();
        let reply = if is_preflight(request) {
            scaffold::text("OK")
        } else if asks_for_memory(&asked) {
            let saved = json!({ "history_entry": "Played.", "memory_update": "Blue." });
            scaffold::calls(&[("save_memory", saved)])
        } else if messages.len() == 2 && asked.to_string().contains("Request one.") {
            answer.clone()
        } else {
            scaffold::text("Done.")
        };
        ResponseTemplate::new(200).set_body_json(reply)
    };
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let url = format!("{}/v1", server.uri());
    let mut command = scene.command(&scaffold::RUN);
    command
        .env("OPENAI_BASE_URL", url)
        .env("OPENAI_API_KEY", "k")
        .stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0_u64;
    loop {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            return (ended.code(), peak);
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// The most calls that are read, more than are read, and thinking of as many values as are read: the process stays below a
/// bound that an answer of 100 calls is below too.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_hundred_thousand_calls_takes_bounded_memory() {
    let calls = |many: usize| {
        let calls = (0..many).map(|number| ("list_dir", json!({ "path": ".", "depth": number })));
        scaffold::calls(&calls.collect::<Vec<_>>())
    };
    let mut thinking = scaffold::text("Done.");
    thinking["choices"][0]["message"]["reasoning_details"] = json!(vec![[0]; 99_000]);
    for (what, answer, code) in [
        ("100 calls", calls(100), 0),
        ("18,000 calls", calls(18_000), 0),
        ("100,000 calls", calls(100_000), 9),
        ("99,000 lists of thinking", thinking, 0),
    ] {
        let scene = Scene::new();
        let (ended, peak) = peak_of(&scene, answer).await;
        println!("{what}: {} MiB at most", peak >> 10);
        assert_eq!(ended, Some(code), "{what}");
        assert!(peak < 512 << 10, "{what}: {peak} KiB");
        let outcome = &scaffold::turns(&scene)[0]["outcome"];
        assert_eq!(outcome == "model_fault", code == 9, "{what}: {outcome}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_too_many_values_are_refused_with_words_and_take_bounded_memory() {
    let scene = Scene::new();
    let mut answer = scaffold::calls(&[("list_dir", json!({}))]);
    let lists = "[],".repeat(2_500_000);
    let arguments = format!(r#"{{"path":".","depth":[{lists}0]}}"#);
    answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments.into();
    let (ended, peak) = peak_of(&scene, answer).await;
    println!("2,500,000 lists: {} MiB at most", peak >> 10);
    assert_eq!(ended, Some(0));
    assert!(peak < 512 << 10, "{peak} KiB");
    let record = &scaffold::turns(&scene)[0]["steps"][1]["record"];
    assert_eq!(record["status"], "tool_error");
    assert_eq!(
        record["result"],
        "the arguments are no JSON object that is read: they hold more than 200000 values; send fewer"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_of_a_turn_is_looked_at_between_its_calls() {
    let scene = Scene::new();
    scaffold::suite(&scene, "[session]\nturn_timeout_s = 2\n", "");
    let output = scaffold::play(&scene, &scaffold::RUN, |asked| {
        if !asked.last().contains("Request") {
            return scaffold::text("Done.");
        }
        let long = |number| {
            let command = format!("for i in $(seq 1 9000); do a=$((i + {number})); done");
            ("exec", json!({ "command": command }))
        };
        scaffold::calls(&(0..128).map(long).collect::<Vec<_>>())
    })
    .await;
    expect(&output, 0, &[]);
    let turn = &scaffold::turns(&scene)[0];
    assert_eq!(turn["outcome"], "turn_timeout");
    let steps = turn["steps"].as_array().unwrap();
    let last = &steps.last().unwrap()["record"];
    assert_eq!(
        last["result"],
        "not run to its end: the time of this turn is used up"
    );
    assert_eq!(steps[1]["record"]["status"], "ok", "the first has its time");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_built_in_tools_are_cut_with_a_reason() {
    let file = |_| json!("a.md");
    let media = |many: usize| (0..many).map(file).collect::<Vec<_>>();
    let options: Vec<String> = (0..150_000).map(|number| number.to_string()).collect();
    let found = results(vec![
        ("write_file", json!({ "path": "a.md", "content": "x" })),
        ("message", json!({ "content": "Here.", "media": media(2) })),
        (
            "message",
            json!({ "content": "Here.", "media": media(2000) }),
        ),
        (
            "ask_user",
            json!({ "question": "Which?", "options": options }),
        ),
    ])
    .await;
    assert_eq!(found[1].1, "The user has it.");
    assert_eq!(
        found[2].1,
        "The user has it, without the last 1900 files: a message takes 100."
    );
    // Without the bound the turn would take minutes, and end only then.
    assert_eq!(found[3].0, "ok");
}

/// Plays with an agent whose first answer holds these bytes where `CONTENT` stands.
async fn answering(content: &'static [u8], code: i32) -> Value {
    let whole = scaffold::text("CONTENT").to_string().into_bytes();
    let place = whole
        .windows(7)
        .position(|part| part == b"CONTENT")
        .unwrap();
    let body = [&whole[..place], content, &whole[place + 7..]].concat();
    let server = MockServer::start().await;
    let answer = move |request: &Request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let body = if is_preflight(request) {
            scaffold::text("OK").to_string().into_bytes()
        } else if asks_for_memory(&asked) {
            let saved = json!({ "history_entry": "Played.", "memory_update": "Blue." });
            let answer = scaffold::calls(&[("save_memory", saved)]);
            answer.to_string().into_bytes()
        } else {
            body.clone()
        };
        ResponseTemplate::new(200).set_body_raw(body, "application/json")
    };
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let scene = Scene::new();
    scaffold::suite(&scene, "", "");
    let url = format!("{}/v1", server.uri());
    let variables = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "k")];
    let run = || scene.run_with(&scaffold::RUN, &variables);
    expect(&tokio::task::block_in_place(run), code, &[]);
    scaffold::turns(&scene).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_unicode_is_the_models_and_repaired() {
    for (content, response) in [
        (&br"half \ud83d pair"[..], "half \u{fffd} pair"),
        (b"no \xff UTF-8", "no \u{fffd} UTF-8"),
    ] {
        let turn = answering(content, 9).await;
        assert_eq!(turn["response"], response);
        let fault = &turn["faults"][0];
        assert_eq!(
            (&fault["kind"], &fault["cause"]),
            (&json!("model"), &json!("unreadable"))
        );
    }
    let granted = answering(br"whole \ud83d\ude00 pair", 0).await;
    assert_eq!(granted["response"], "whole \u{1f600} pair");
    assert_eq!(granted["faults"].as_array().map_or(0, Vec::len), 0);
}

/// The commands that ask a model by what a record says, each into a folder of its own.
const ASKING: [&[&str]; 3] = [
    &["grade", "run", "--judge", "lab/m", "--out", "graded"],
    &["audit", "run", "--judge", "lab/m"],
    &["run", "--resume", "run"],
];

const REFUSED: &str = "says which servers are asked by which keys, or what runs here: ";

/// Who has a server answers at it, and sees who asks.
async fn is_unasked(server: &MockServer) -> bool {
    server.received_requests().await.unwrap().is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_says_no_server_and_no_key_until_the_operator_says_that_he_trusts_it() {
    let scene = Scene::new();
    let server = models::server(models::play).await;
    let theirs = models::server(models::play).await;
    let [own, address] = [&server, &theirs].map(|server| {
        let uri = server.uri();
        format!("providers.lab.base_url={uri}/v1")
    });
    let key = "providers.lab.key_env=OPENAI_API_KEY";
    let roles = ["--agent", "lab/m", "--user", "lab/m", "--judge", "lab/m"];
    let set = ["--set", &own, "--set", key];
    let run = |args: &[&str]| models::run(&scene, args, &server);
    let suite = short();
    let suite = suite.to_str().unwrap();
    let first = ["run", suite, "--runs", "1", "--out", "run"];
    expect(&run(&[&first[..], &roles, &set].concat()), 0, &[]);
    // What the operator said when he played it holds.
    expect(&run(ASKING[2]), 0, &[]);
    say_in_record(&scene, "run", |record| {
        record["set"] = json!([address, key]);
    });
    let by_mine = [ASKING[0], &["--suite", suite]].concat();
    for args in ASKING.into_iter().chain([&by_mine[..]]) {
        expect(&run(args), 2, &[REFUSED, &address, key, "--trust-record"]);
    }
    assert!(is_unasked(&theirs).await && !scene.path("graded").exists());
    // Said once, it is known.
    expect(&run(&[ASKING[1], &["--trust-record"]].concat()), 0, &[]);
    assert!(!is_unasked(&theirs).await);
    for args in ASKING {
        expect(&run(args), 0, &[]);
    }
    // Of other words nothing is known, and of what only names and counts nothing is asked.
    let other = "providers.lab.key_env=HOME";
    say_in_record(&scene, "run", |record| {
        record["set"] = json!([address, other]);
    });
    expect(&run(ASKING[1]), 2, &[REFUSED, other]);
    say_in_record(&scene, "run", |record| {
        record["set"] = json!(["title=Theirs"]);
    });
    let audit = ["audit", "run", "--judge", "openai/m"];
    expect(&run(&audit), 0, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_that_a_record_alone_names_says_no_server_and_one_that_the_operator_named_does() {
    let scene = Scene::new().with_short();
    let server = models::server(models::play).await;
    let own = models::server(models::play).await;
    let run = |args: &[&str]| models::run(&scene, args, &server);
    let play = ["run", "tasks/suite.toml", "--out", "run"];
    expect(&run(&play), 0, &[]);
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    let uri = own.uri();
    let lab = format!(
        "{suite}\n[providers.lab]\nbase_url = \"{uri}/v1\"\nkey_env = \"OPENAI_API_KEY\"\n"
    );
    scene.write("tasks/suite.toml", &lab);
    let words = format!("providers.lab.base_url={uri}/v1, key_env=OPENAI_API_KEY");
    for args in ASKING {
        expect(
            &run(args),
            2,
            &[REFUSED, &words, "tasks/suite.toml", "--trust-record"],
        );
    }
    assert!(is_unasked(&own).await && !scene.path("graded").exists());
    // Who names it means it, and it is known from then on.
    let named = ["--suite", "tasks/suite.toml", "--out", "named"];
    expect(&run(&[&ASKING[0][..4], &named].concat()), 0, &[]);
    assert!(!is_unasked(&own).await);
    for args in ASKING {
        expect(&run(args), 0, &[]);
    }
}

/// What is started where a run is gone on with is a program of the operator's choice.
#[test]
fn a_record_starts_no_program() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop"]);
    let agent = "acp-unconfined:touch started";
    say_in_record(&scene, "run", |record| record["agent"] = agent.into());
    let said = format!("agent={agent}");
    // Who grades it has not said that it may be started.
    expect(&scene.run(&["grade", "run", "--out", "graded"]), 0, &[]);
    expect(
        &scene.run(&["run", "--resume", "run"]),
        2,
        &[REFUSED, &said],
    );
    assert!(!scene.path("started").exists());
}

#[test]
fn a_run_of_another_cache_is_trusted_once_and_a_part_goes_on_by_its_command_line() {
    let scene = Scene::new();
    models::write_lab(&scene, "http://127.0.0.1:9");
    let run = |cache: &str, args: &[&str]| {
        let cache = scene.path(cache);
        scene.run_with(args, &[("PIBENCH_CACHE", cache.to_str().unwrap())])
    };
    let lab = ["run", "suite.toml", "--agent", "nop", "--runs", "2"];
    let part = [&lab[..], &["--shard", "1/2", "--out", "part"]].concat();
    for cache in ["one", "two"] {
        expect(&run(cache, &part), 0, &[]);
    }
    let resume = ["run", "--resume", "part"];
    let words = "providers.lab.base_url=http://127.0.0.1:9/v1";
    expect(&run("three", &resume), 2, &[REFUSED, words]);
    let trusted = [&resume[..], &["--trust-record"]].concat();
    for args in [&trusted[..], &resume] {
        expect(&run("three", args), 0, &[]);
    }
}
