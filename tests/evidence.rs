//! What user agent and judge are shown of a session of several turns, whole: prompts as the program sends them.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value, json};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::documents::pdf;
use crate::models::{is_preflight, run, server};
use crate::scene::{Scene, expect, files};

const COPY: &str = "A copy of the reply stands in letters/copy.md.";
const DAY: &str =
    "The reply names 12 March as the day of moving out, since the train leaves at noon then.";
const DEPOSIT: &str = "The reply asks for the deposit of 1250.00.";
const SIGNED: &str = "The reply is signed.";

/// A persona with one session to play, and another one whose matter is foreign to it.
fn suite(scene: &Scene, more: &str) {
    scene.write(
        "tasks/suite.toml",
        &format!("version = 1\nid = \"t\"\npersonas = [\"p\"]\nruns = 1\n{more}"),
    );
    scene.write(
        "tasks/p/persona.toml",
        "version = 1\nid = \"p\"\nname = \"Dana Reyes\"\nprofile = \"Writes short messages.\"\n\
         tools = []\nepisode = [{ session = \"letter\" }, { session = \"garden\" }]\n\
         [facts]\n\"home address\" = \"Alder Court 9\"\n\
         [[people]]\nfirst_name = \"Dana\"\nlast_name = \"Reyes\"\nemail = \"dana@reyes.example\"\n\
         phone_number = \"5550140217\"\n",
    );
    let intents = [("copy", COPY), ("day", DAY)]
        .map(|(id, text)| format!("[[intents]]\nid = \"{id}\"\ncontent = \"{text}\"\n"));
    let items = [("deposit", DEPOSIT), ("signed", SIGNED)]
        .map(|(id, text)| format!("[[checklist]]\nid = \"{id}\"\ncriterion = \"{text}\"\n"));
    scene.write(
        "tasks/p/sessions/letter/session.toml",
        &format!(
            "version = 1\nid = \"letter\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\n\
             request = \"Please reply to the landlord, in letters/reply.md.\"\n\
             files = [{{ source = \"from.md\", path = \"letters/from.md\" }}]\n\
             [evidence]\nfiles_read = [\"letters/reply.md\", \"letters/from.md\"]\n{}{}",
            intents.concat(),
            items.concat(),
        ),
    );
    scene.write("tasks/p/sessions/letter/from.md", "When do you move out?\n");
    scene.write(
        "tasks/p/sessions/garden/session.toml",
        "version = 1\nid = \"garden\"\ntitle = \"T\"\nclock = 2026-03-03T09:00:00\n\
         request = \"Plan the beds.\"\n[[intents]]\nid = \"i\"\n\
         content = \"The tomatoes come from the nursery in Tessaly Street.\"\n\
         [[checklist]]\nid = \"c\"\ncriterion = \"The beds are drawn.\"\n",
    );
}

fn completion(text: Option<&str>, calls: &[(&str, Value)]) -> Value {
    let call = |(place, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "id": format!("c{place}"), "type": "function", "function": function })
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    json!({ "choices": [choice], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } })
}

const REPLY: &str = "Dear Mr Ode,\n\nplease send the deposit of 1250.00.\n\nDana Reyes\n";

/// Drafts and asks for a number in the first turn, makes the copy in the second, adds the day in the third.
fn agent(messages: &[Value]) -> Value {
    let turn = messages.iter().filter(|one| one["role"] == "user").count();
    // A question's answer comes as its call's result.
    let answered = messages.iter().any(|one| {
        one["role"] == "tool" && one["content"].as_str().unwrap().contains("5550140217")
    });
    let steps = messages.iter().rev();
    let steps = steps.take_while(|one| one["role"] != "user");
    let steps = steps.filter(|one| one["role"] == "assistant").count();
    let write = |path: &str, text: &str| ("write_file", json!({ "path": path, "content": text }));
    match (turn, answered, steps) {
        (1, false, 0) => completion(
            Some("I look first."),
            &[
                ("read_file", json!({ "path": "letters/from.md" })),
                write("letters/reply.md", REPLY),
            ],
        ),
        (1, false, _) => completion(
            Some("The draft stands in letters/reply.md."),
            &[(
                "ask_user",
                json!({ "question": "What is your phone number?" }),
            )],
        ),
        (1, true, 2) => completion(
            None,
            &[
                ("message", json!({ "content": "I write the copy now." })),
                write("letters/copy.md", REPLY),
            ],
        ),
        (1, true, _) => completion(Some("Both are done."), &[]),
        (_, _, 0) => completion(
            None,
            &[(
                "edit_file",
                json!({ "path": "letters/reply.md", "old_text": "please", "new_text": "I move out on 12 March; please" }),
            )],
        ),
        _ => completion(Some("The day is in."), &[]),
    }
}

/// Judges as a person would who reads the session: the copy is made in the second turn, the phone number is asked for in
/// the first, the deposit is asked for and nothing is signed.
fn judge(system: &str, prompt: &str) -> String {
    if let Some(at) = system.lines().position(|line| line == "<the message>") {
        let lines: Vec<&str> = system.lines().collect();
        let text = if prompt.contains("Only the plain fact") {
            "It is 5550140217."
        } else {
            "Please say that I leave on 12 March."
        };
        return format!("{}\n{text}\n{}", lines[at - 1], lines[at + 1]);
    }
    let nonce = Regex::new(r"=== (\S+) ITEM").unwrap();
    let nonce = nonce.captures(system).unwrap()[1].to_owned();
    let items = Regex::new(r"(?m)^(\d+)\. (.+)$").unwrap();
    let list = prompt.rsplit("\n# ").next().unwrap();
    let done = prompt.contains("path: letters/copy.md");
    let latest = prompt.rsplit("# The latest message").next().unwrap();
    let asks = latest.contains("What is your phone number?");
    if system.contains("REASON:") {
        let found = items.captures(list).unwrap();
        let (number, text) = (&found[1], &found[2]);
        return format!("=== {nonce} ITEM {number} ===\nTEXT: {text}\nREASON: it is first");
    }
    let block = |found: regex::Captures<'_>| {
        let text = &found[2];
        let yes = (text == COPY && done && system.contains("You assess"))
            || (text.contains("own plain facts") && asks)
            || text == DEPOSIT;
        let verdict = if yes { "YES" } else { "NO" };
        // The released code asks for the style of a question, too.
        let style = match (system.contains("STYLE:"), yes) {
            (false, _) => "",
            (true, true) => "STYLE: CLARIFY\n",
            (true, false) => "STYLE: NONE\n",
        };
        format!(
            "=== {nonce} ITEM {} ===\nTEXT: {text}\nEVIDENCE: as seen\nVERDICT: {verdict}\n{style}",
            &found[1]
        )
    };
    items.captures_iter(list).map(block).collect()
}

fn answer(request: &Request) -> ResponseTemplate {
    answer_with(request, agent)
}

fn answer_with(request: &Request, agent: impl Fn(&[Value]) -> Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(reply_with(request, agent))
}

fn reply_with(request: &Request, agent: impl Fn(&[Value]) -> Value) -> Value {
    let body: Value = request.body_json().unwrap();
    let messages = body["messages"].as_array().unwrap();
    let content = |at: usize| messages[at]["content"].as_str().unwrap();
    match body["tools"].as_array().map_or(0, Vec::len) {
        0 => completion(Some(&judge(content(0), content(1))), &[]),
        1 => completion(
            None,
            &[(
                "save_memory",
                json!({ "history_entry": "Played.", "memory_update": "-" }),
            )],
        ),
        _ => agent(messages),
    }
}

const ALL: [&str; 6] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
];

fn play(scene: &Scene, server: &MockServer, more: &[&str]) -> Value {
    let first = [
        "run",
        "tasks/suite.toml",
        "--session",
        "letter",
        "--json",
        "--out",
        "run",
    ];
    let output = run(scene, &[&first[..], &ALL[..], more].concat(), server);
    assert!(
        matches!(output.status.code(), Some(0 | 5)),
        "{}",
        crate::scene::stderr(&output)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The turns of the journal.
fn turns(scene: &Scene) -> Vec<Value> {
    let journal = std::fs::read_to_string(scene.path("run/journal/p.r1.jsonl")).unwrap();
    let lines = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == "turn").collect()
}

/// The prompts without tools whose system text starts so, in order: system and user text.
async fn prompts(server: &MockServer, start: &str) -> Vec<String> {
    let requests = server.received_requests().await.unwrap();
    let bodies = requests
        .iter()
        .map(|request| request.body_json::<Value>().unwrap());
    let of_role = bodies.filter(|body| {
        let system = body["messages"][0]["content"].as_str().unwrap();
        system.starts_with(start)
    });
    of_role
        .map(|body| {
            let text = |at: usize| body["messages"][at]["content"].as_str().unwrap().to_owned();
            format!("{}\n\n----\n\n{}", text(0), text(1))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_several_turns_is_shown_whole() {
    let scene = Scene::new();
    suite(&scene, "");
    let server = server(answer).await;
    let results = play(&scene, &server, &[]);
    assert_eq!(results["proc"], 50.0, "{results:#}");
    assert_eq!(results["comp"], 50.0, "{results:#}");
    let turns = turns(&scene);
    assert_eq!(turns.len(), 3);
    assert_eq!(turns[0]["answers_fact"], true);
    assert_eq!(turns[0]["next"], "It is 5550140217.");
    assert_eq!(
        turns[0]["intents"],
        Value::Null,
        "a plain fact costs no intent"
    );
    assert_eq!(
        turns[0]["response"],
        "The draft stands in letters/reply.md.\n\nWhat is your phone number?"
    );
    assert_eq!(
        turns[1]["response"],
        "I write the copy now.\n\nBoth are done."
    );
    assert_eq!(turns[1]["answers_fact"], Value::Null);
    let satisfied = prompts(&server, "You assess one turn").await;
    let asked = prompts(&server, "You read the latest message").await;
    let written = prompts(&server, "You are Dana Reyes").await;
    let graded = prompts(&server, "You grade the work").await;
    assert_eq!(
        (satisfied.len(), asked.len(), written.len(), graded.len()),
        (2, 2, 2, 3)
    );
    let deposit = Regex::new(r"\. The reply asks for the deposit of (\d{4})\.00\.").unwrap();
    let mut sums: Vec<String> = deposit
        .captures_iter(&graded[0])
        .map(|found| found[1].to_owned())
        .collect();
    sums.retain(|sum| sum != "1250");
    assert_eq!(
        sums.len(),
        1,
        "the item whose answer is known: {}",
        graded[0]
    );
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("prompt_satisfaction", satisfied[1]);
        insta::assert_snapshot!("prompt_question", asked[0]);
        insta::assert_snapshot!("prompt_answer_fact", written[0]);
        insta::assert_snapshot!("prompt_answer_reveal", written[1]);
        insta::assert_snapshot!("prompt_rubric", graded[2]);
    });
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// The requests of judges of rubrics, as they were sent.
async fn of_judges(server: &MockServer) -> BTreeSet<String> {
    let graded = prompts(server, "You grade the work").await;
    graded.into_iter().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn grading_again_shows_the_judge_the_same_to_the_byte() {
    let scene = Scene::new();
    suite(&scene, "");
    let first = server(answer_in_documents).await;
    play(&scene, &first, &[]);
    let again = server(answer_in_documents).await;
    let args = ["grade", "run", "--judge", "openai/m", "--out", "again"];
    expect(&run(&scene, &args, &again), 0, &[]);
    let shown = of_judges(&first).await;
    assert!(
        shown
            .iter()
            .any(|prompt| prompt.contains("The deposit of 1250"))
    );
    assert_eq!(of_judges(&again).await, shown);
    expect(&scene.run(&["verify", "again"]), 0, &[]);
}

/// The same agent, which writes a document, a broken one and a picture first.
fn in_documents(messages: &[Value]) -> Value {
    let steps = messages
        .iter()
        .filter(|one| one["role"] == "assistant")
        .count();
    let letter = String::from_utf8(pdf(&["The deposit of 1250"])).unwrap();
    let write = |path: &str, text: &str| ("write_file", json!({ "path": path, "content": text }));
    match steps {
        0 => completion(
            None,
            &[
                write("letters/reply.pdf", &letter),
                write("letters/broken.docx", "no document"),
                write("letters/plan.gif", "GIF89a and so on"),
            ],
        ),
        _ => completion(Some("All three are there."), &[]),
    }
}

fn answer_in_documents(request: &Request) -> ResponseTemplate {
    answer_with(request, in_documents)
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_pictures_of_the_agent_reach_user_and_judge() {
    let scene = Scene::new();
    suite(
        &scene,
        "[models.blind]\nprovider = \"openai\"\nmodel = \"n\"\nvision = false\n",
    );
    let server = server(answer_in_documents).await;
    play(&scene, &server, &["--judge", "blind"]);
    let satisfied = prompts(&server, "You assess one turn").await.remove(0);
    // One judge can see, the other cannot.
    let blind = "| content: a picture, image/gif; it cannot be shown to you";
    let graded = prompts(&server, "You grade the work").await.into_iter();
    let (blind, seeing): (Vec<_>, Vec<_>) = graded.partition(|prompt| prompt.contains(blind));
    let (graded, seeing) = (blind.concat(), seeing.concat());
    for prompt in [&satisfied, &graded, &seeing] {
        assert!(
            prompt.contains("| --- page 1 of 1 ---\n| The deposit of 1250\n"),
            "{prompt}"
        );
        assert!(prompt.contains("letters/broken.docx"));
        assert!(
            prompt.contains("| content: could not be read: "),
            "{prompt}"
        );
    }
    let shown = "| content: a picture, image/gif; it is picture 1 after this text";
    assert!(satisfied.contains(shown) && seeing.contains(shown));
    let requests = server.received_requests().await.unwrap();
    let pictures = requests.iter().filter(|request| {
        String::from_utf8_lossy(&request.body).contains("data:image/gif;base64,R0lGODlh")
    });
    let shown_to = pictures.map(|request| {
        let body: Value = request.body_json().unwrap();
        let system = body["messages"][0]["content"].as_str().unwrap();
        (body["model"].clone(), system[..13].to_owned())
    });
    let shown_to: Vec<_> = shown_to.collect();
    for role in ["You assess on", "You grade the"] {
        assert!(shown_to.contains(&(json!("m"), role.to_owned())), "{role}");
    }
    assert!(
        shown_to.iter().all(|(model, _)| model == "m"),
        "{shown_to:?}"
    );
    // What is no document is the agent's doing, and no fault.
    assert!(
        turns(&scene)
            .iter()
            .all(|turn| turn["faults"] == Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn under_the_released_rules_documents_and_pictures_are_the_texts_that_they_are_or_none() {
    let scene = Scene::new();
    suite(&scene, "");
    let session = "tasks/p/sessions/letter/session.toml";
    let all = "\"letters/reply.pdf\", \"letters/broken.docx\", \"letters/plan.gif\", \"letters/scan.pdf\"";
    scene.replace(session, "\"letters/reply.md\", \"letters/from.md\"", all);
    let staged = "{ source = \"scan.pdf\", path = \"letters/scan.pdf\" }, { source";
    scene.replace(session, "{ source", staged);
    let scan = scene.path("tasks/p/sessions/letter/scan.pdf");
    std::fs::write(scan, b"%PDF-1.4\n\xff\xfe").unwrap();
    let server = server(answer_in_documents).await;
    play(&scene, &server, &["--protocol", "pi-bench"]);
    let satisfied = prompts(&server, "Dana Reyes has requirements").await;
    let graded = prompts(&server, "You are a strict grader").await;
    for prompt in [&satisfied[0], &graded[0]] {
        for said in [
            "| path: letters/reply.pdf\n| content:\n| %PDF-",
            "| path: letters/broken.docx\n| content:\n| no document\n",
            "| path: letters/plan.gif\n| content:\n| GIF89a and so on\n",
            "| path: letters/scan.pdf\n| content: no text, 11 bytes\n",
        ] {
            assert!(prompt.contains(said), "{said} is not in {prompt}");
        }
        for said in ["--- page 1", "a picture", "could not be read"] {
            assert!(!prompt.contains(said), "{said} is in {prompt}");
        }
    }
    let requests = server.received_requests().await.unwrap();
    let is_shown = |request: &Request| {
        let body = String::from_utf8_lossy(&request.body);
        body.contains("data:image")
    };
    assert!(!requests.iter().any(is_shown), "no picture is shown");
    let faults: Vec<Value> = turns(&scene)
        .iter()
        .map(|turn| turn["faults"].clone())
        .collect();
    assert!(faults.iter().all(Value::is_null), "{faults:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_breaks_is_a_fault_and_the_session_is_scored() {
    let scene = Scene::new();
    suite(&scene, "[limits.document]\nfuel = 1000\n");
    let server = server(answer_in_documents).await;
    let results = play(&scene, &server, &[]);
    assert_eq!(results["scored"]["scored"], 1, "{results:#}");
    let faults = &turns(&scene)[0]["faults"];
    assert_eq!(
        (&faults[0]["kind"], &faults[0]["source"]),
        (&json!("guest"), &json!("document"))
    );
    let graded = prompts(&server, "You grade the work").await.remove(0);
    assert!(
        graded.contains("| content: could not be read: document "),
        "{graded}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_rambles_is_cut_at_a_limit_and_is_a_fault() {
    let scene = Scene::new();
    suite(&scene, "");
    let server = server(|request| {
        let body: Value = request.body_json().unwrap();
        let system = body["messages"][0]["content"].as_str().unwrap();
        if !system.starts_with("You grade the work") {
            return answer(request);
        }
        let mut reply = completion(Some("Well, well, well"), &[]);
        reply["choices"][0]["finish_reason"] = "length".into();
        ResponseTemplate::new(200).set_body_json(reply)
    })
    .await;
    let first = [
        "run",
        "tasks/suite.toml",
        "--session",
        "letter",
        "--json",
        "--out",
        "run",
    ];
    let output = run(&scene, &[&first[..], &ALL[..]].concat(), &server);
    expect(&output, 8, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["comp"], Value::Null, "never a number");
    let reason = results["faults"][0]["message"].as_str().unwrap();
    assert!(
        reason.contains("it was cut off at the limit of"),
        "{reason}"
    );
    let requests = server.received_requests().await.unwrap();
    let played = requests.iter().filter(|request| !is_preflight(request));
    let mut limits = played.filter_map(|request| {
        let body: Value = request.body_json().unwrap();
        let judged = body["tools"].is_null();
        judged.then(|| body["max_completion_tokens"].as_u64().unwrap())
    });
    assert!(limits.all(|limit| (500..3_000).contains(&limit)));
}

/// Writes a text into a file of its own in each session.
fn writes(messages: &[Value], text: &str) -> Value {
    let steps = messages.iter().filter(|one| one["role"] == "assistant");
    let is_garden = messages
        .iter()
        .any(|one| one.to_string().contains("Plan the beds."));
    let path = if is_garden {
        "beds.md"
    } else {
        "letters/reply.md"
    };
    match steps.count() {
        0 => completion(
            None,
            &[("write_file", json!({ "path": path, "content": text }))],
        ),
        _ => completion(Some("It is written."), &[]),
    }
}

/// Writes more than some contexts take.
fn in_chinese(messages: &[Value]) -> Value {
    writes(messages, &"\u{6f22}".repeat(30_000))
}

/// The same, where user agent and judge take prompts of so many characters.
fn answer_within(request: &Request, most: usize) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    if body["tools"].is_null() && body["messages"].to_string().chars().count() > most {
        return ResponseTemplate::new(400).set_body_json(json!({ "error": {
            "message": "This model's maximum context length is 128000 tokens.",
            "type": "invalid_request_error", "code": "context_length_exceeded",
        } }));
    }
    answer_with(request, in_chinese)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_whose_context_is_too_small_is_shown_less_and_ends_no_run() {
    let scene = Scene::new();
    suite(&scene, "");
    let smaller = server(|request| answer_within(request, 50_000)).await;
    let results = play(&scene, &smaller, &[]);
    assert_eq!(results["scored"]["scored"], 1, "{results:#}");
    let shown = prompts(&smaller, "You grade the work").await;
    let cut = shown
        .iter()
        .filter(|one| one.contains("characters left out"));
    assert!(cut.count() > 0);

    let scene = Scene::new();
    suite(&scene, "");
    let none = server(|request| answer_within(request, 1_000)).await;
    let all = ["run", "tasks/suite.toml", "--json", "--out", "run"];
    let output = run(&scene, &[&all[..], &ALL[..]].concat(), &none);
    expect(&output, 8, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["scored"]["scored"], 0, "{results:#}");
    // Each session was played and has a fault of its own.
    let faults = results["faults"].as_array().unwrap();
    for session in ["letter", "garden"] {
        let own = faults.iter().find(|fault| fault["session"] == session);
        let said = own.unwrap()["message"].as_str().unwrap();
        assert!(said.contains("maximum context length"), "{said}");
    }
}

/// The same of a server that says nothing, reads a part and counts that.
fn answer_to_a_part(request: &Request, most: usize) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let long = |messages: &[Value]| writes(messages, &"It is a long letter.\n".repeat(3_000));
    let mut reply = reply_with(request, long);
    if body["tools"].is_null() && body["messages"].to_string().chars().count() > most {
        reply["usage"]["prompt_tokens"] = 4_096.into();
    }
    ResponseTemplate::new(200).set_body_json(reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_whose_server_cuts_what_it_is_sent_is_shown_less_and_ends_no_run() {
    let scene = Scene::new();
    suite(&scene, "");
    let smaller = server(|request| answer_to_a_part(request, 60_000)).await;
    let results = play(&scene, &smaller, &[]);
    assert_eq!(results["scored"]["scored"], 1, "{results:#}");
    let shown = prompts(&smaller, "You grade the work").await;
    let cut = shown
        .iter()
        .filter(|one| one.contains("characters left out"));
    assert!(cut.count() > 0);

    let scene = Scene::new();
    suite(&scene, "");
    let none = server(|request| answer_to_a_part(request, 8_000)).await;
    let all = ["run", "tasks/suite.toml", "--json", "--out"];
    let live = [&all[..], &["live", "--record", "tape"], &ALL[..]].concat();
    let output = run(&scene, &live, &none);
    expect(&output, 8, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["scored"]["scored"], 0, "{results:#}");
    let faults = results["faults"].as_array().unwrap();
    for session in ["letter", "garden"] {
        let own = faults.iter().find(|fault| fault["session"] == session);
        let said = own.unwrap()["message"].as_str().unwrap();
        let mend = "it cuts what is longer than its context, with 45000 characters of evidence too; serve `m` with a context";
        assert!(said.contains(mend), "{said}");
    }
    // The recording comes to the same end, and what was paid for stands in it.
    let again = [&all[..], &["again", "--replay", "tape"], &ALL[..]].concat();
    expect(&scene.run(&again), 8, &[]);
    let journal = |out: &str| files(&scene.path(out).join("journal"));
    assert!(journal("live") == journal("again"));
}

/// Keeps a long result, and writes a file beside it.
fn beside_results(messages: &[Value]) -> Value {
    let steps = messages.iter().filter(|one| one["role"] == "assistant");
    let lines: Vec<String> = (0..3_000).map(|line| format!("needle {line}\n")).collect();
    match steps.count() {
        0 => completion(
            None,
            &[
                (
                    "write_file",
                    json!({ "path": "hay.txt", "content": lines.concat() }),
                ),
                (
                    "grep",
                    json!({ "pattern": "needle", "output_mode": "content", "head_limit": 3000 }),
                ),
                (
                    "write_file",
                    json!({ "path": "tool-results/own.md", "content": "The agent's own." }),
                ),
            ],
        ),
        _ => completion(Some("It is done."), &[]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_writes_beside_kept_results_is_shown_and_they_are_not() {
    let scene = Scene::new();
    suite(&scene, "");
    let server = server(|request| answer_with(request, beside_results)).await;
    play(&scene, &server, &[]);
    let steps = turns(&scene)[0]["steps"].as_array().unwrap().clone();
    let mut kept = steps.iter().filter_map(|step| step["file"].as_str());
    let kept = kept.next().unwrap();
    assert!(kept.starts_with("tool-results/"), "{kept}");
    // Patterns look at what was added.
    let changes = turns(&scene)[0]["changes"].as_array().unwrap().clone();
    let added = |path: &str| {
        let change = changes.iter().find(|change| change["path"] == path);
        change.unwrap()["added"].clone()
    };
    let own = added("tool-results/own.md");
    assert_eq!(own.as_str().map(str::trim_end), Some("The agent's own."));
    assert_eq!(added(kept), Value::Null);
    for start in ["You assess one turn", "You grade the work"] {
        let shown = prompts(&server, start).await;
        assert!(!shown.is_empty());
        for prompt in shown {
            assert!(prompt.contains("| path: tool-results/own.md\n"));
            assert!(!prompt.contains(&format!("| path: {kept}\n")));
        }
    }
}

/// What decides stands in the middle of a long file.
fn at_length(messages: &[Value]) -> Value {
    let steps = messages.iter().filter(|one| one["role"] == "assistant");
    let half = "It is a long letter.\n".repeat(1_900);
    let text = format!("{half}The deposit of 1250.00 is asked for.\n{half}");
    match steps.count() {
        0 => completion(
            None,
            &[(
                "write_file",
                json!({ "path": "letters/reply.md", "content": text }),
            )],
        ),
        _ => completion(Some("It is written."), &[]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_file_is_shown_whole_where_there_is_room() {
    let scene = Scene::new();
    suite(&scene, "");
    let server = server(|request| answer_with(request, at_length)).await;
    play(&scene, &server, &[]);
    for start in ["You assess one turn", "You grade the work"] {
        let shown = prompts(&server, start).await;
        assert!(!shown.is_empty());
        for prompt in shown {
            assert!(prompt.contains("| The deposit of 1250.00 is asked for."));
            assert!(!prompt.contains("characters left out"));
        }
    }
}
