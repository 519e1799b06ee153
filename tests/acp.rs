//! Agents that are processes of their own and speak the Agent Client Protocol: what they do is played, recorded and scored as
//! what any other agent does, what they must not see they do not find, and each of their ends is typed. The agent is
//! `tests/agents/agent.py`. Where bubblewrap is not to be had, what needs it says so.

use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::models::{self, run, server};
use crate::scaffold::suite;
use crate::scene::{Scene, carries, flowed, root, short, stderr};

/// Of Debian, with its standard library and nothing else.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// The exit code, and what was said: the table of scores with its faults too.
pub(crate) fn expect(output: &std::process::Output, code: i32, said: &[&str]) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    // Wherever a line of a terminal is broken.
    let all = flowed(&text);
    for part in said {
        assert!(all.contains(&flowed(part)), "`{part}` is not in:\n{text}");
    }
}

/// Whether agents can be confined here; it says so where they cannot.
pub(crate) fn confines() -> bool {
    let here = Path::new(PYTHON).exists();
    let confined = here && pibench_acp::probe(&std::env::var_os("PATH").unwrap()).is_ok();
    if !confined {
        eprintln!("left out: wants {PYTHON} and bubblewrap that may make namespaces");
    }
    confined
}

pub(crate) fn script() -> PathBuf {
    root().join("tests/agents/agent.py")
}

/// The agent that does this.
pub(crate) fn agent(deed: &str) -> String {
    format!("acp:{PYTHON} {} {deed}", script().display())
}

pub(crate) fn turns(scene: &Scene, run: &str, persona: &str) -> Vec<Value> {
    let journal = scene.path(&format!("{run}/journal/{persona}.r1.jsonl"));
    let text = std::fs::read_to_string(journal).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter(|event: &Value| event["event"] == "turn")
        .collect()
}

fn calls(turn: &Value) -> Vec<&Value> {
    let steps = turn["steps"].as_array().unwrap().iter();
    steps
        .filter(|step| step["step"] == "call")
        .map(|step| &step["record"])
        .collect()
}

/// Plays the first session of a small suite with the agent that does this, and more arguments.
pub(crate) fn play(scene: &Scene, deed: &str, args: &[&str]) -> std::process::Output {
    let agent = agent(deed);
    let all = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--agent",
        &agent,
        "--out",
        "run",
    ];
    scene.run(&[&all, args].concat())
}

#[test]
fn what_an_agent_does_by_itself_by_its_client_and_by_its_tools_is_in_the_record() {
    if !confines() {
        return;
    }
    for deed in ["work", "work-stdio"] {
        let scene = Scene::new();
        suite(&scene, "", "");
        expect(&play(&scene, deed, &[]), 0, &[]);
        let turns = turns(&scene, "run", "p");
        let calls = calls(&turns[0]);
        let told: Vec<(&str, &str)> = calls
            .iter()
            .map(|call| {
                (
                    call["tool"].as_str().unwrap(),
                    call["status"].as_str().unwrap(),
                )
            })
            .collect();
        // Its own word of `ask_user` is known again and not counted twice.
        assert_eq!(
            told,
            [
                ("agent.execute", "ok"),
                ("write_file", "ok"),
                ("read_file", "ok"),
                ("exec", "ok"),
                ("agent.permission", "ok"),
                ("agent.permission", "tool_error"),
                ("agent.permission", "tool_error"),
                ("ask_user", "ok"),
            ]
        );
        assert_eq!(calls[4]["arguments"]["paths"], json!(["/workspace/own.md"]));
        let first = &turns[0]["steps"][0];
        assert_eq!(first["text"], "I begin. ");
        let thoughts = first["reasoning"].as_str().unwrap();
        assert!(
            thoughts.contains("I think of blue.") && thoughts.contains("[pending] Write it down")
        );
        // What it wrote past the door was found by comparison.
        let changes: Vec<&str> = turns[0]["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|change| change["path"].as_str().unwrap())
            .collect();
        assert_eq!(changes, ["by-client.md", "own.md"]);
        assert_eq!(turns[0]["response"], "Which colour?");
        let response = turns[1]["response"].as_str().unwrap();
        assert!(response.starts_with("It is blue: In blue."), "{response}");
        // It told its tokens, and its cost in US dollars.
        let usage = &turns[1]["usage"]["agent"];
        assert_eq!(usage["cost"], 250_000);
        assert_eq!([&usage["input_tokens"], &usage["output_tokens"]], [24, 10]);
        let manifest = std::fs::read_to_string(scene.path("run/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["players"]["agent"], "process");
        expect(&scene.run(&["verify", "run"]), 0, &[]);
    }
}

/// Plays the first session with an agent whose entry is this, beside what it does.
fn play_entry(scene: &Scene, deed: &str, entry: &str) -> std::process::Output {
    suite(scene, "", "");
    let entry = format!(
        "agents.it={{ command = [\"{PYTHON}\", \"{}\", \"{deed}\"]{entry} }}",
        script().display()
    );
    let args = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--set",
        &entry,
        "--agent",
        "acp:it",
        "--out",
        "run",
    ];
    scene.run(&args)
}

/// The turns of such an agent.
fn told(deed: &str, entry: &str) -> Vec<Value> {
    let scene = Scene::new();
    expect(&play_entry(&scene, deed, entry), 0, &[]);
    turns(&scene, "run", "p")
}

#[test]
fn tokens_are_those_of_a_turn_and_costs_are_sums_and_a_commands_output_is_heard_beside_its_call() {
    if !confines() {
        return;
    }
    for (deed, input, cached) in [("tells", 16, 5), ("tells-quota", 11, 0)] {
        let turns = told(deed, "");
        for (turn, number) in turns[..2].iter().zip(1..) {
            let usage = &turn["usage"]["agent"];
            assert_eq!(usage["input_tokens"], 11 * number + input - 11, "{usage}");
            assert_eq!(usage["cached_tokens"].as_u64().unwrap_or(0), cached);
            assert_eq!(usage["output_tokens"], 3, "{usage}");
            assert_eq!(usage["cost"], 250_000, "{usage}");
            let calls = calls(turn);
            assert_eq!(calls[0]["tool"], "agent.permission");
            assert_eq!(calls[0]["arguments"]["title"], "cat /workspace/in.md");
            assert_eq!(calls[0]["arguments"]["paths"], json!(["/workspace"]));
            assert_eq!(calls[1]["tool"], "agent.execute");
            assert_eq!(calls[1]["result"], "one\ntwo\nExit code: 7");
        }
        assert_eq!(turns[0]["response"], "I work in the mode of its own.");
    }
}

#[test]
fn an_agent_works_in_the_mode_of_its_entry() {
    if !confines() {
        return;
    }
    let turns = told("tells", ", mode = \"careful\"");
    assert_eq!(turns[0]["response"], "I work in the mode careful.");
    let refused = play_entry(&Scene::new(), "tells", ", mode = \"none-such\"");
    let said = "it answers `session/set_mode` with an error: Invalid mode";
    expect(&refused, 10, &[said]);
}

#[test]
fn an_agent_whose_time_is_up_in_its_last_session_is_told_to_stop() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let deed = format!("waits {}", listener.local_addr().unwrap().port());
    expect(
        &play(&scene, &deed, &["--set", "session.turn_timeout_s=1"]),
        0,
        // It told nothing of it, which is not the same as nothing.
        &["cost unknown"],
    );
    // It knocked before the run was over, and so may another test's agent, which knocks everywhere.
    listener.set_nonblocking(true).unwrap();
    let says = |mut stream: TcpStream| {
        stream.set_nonblocking(false).unwrap();
        let patience = std::time::Duration::from_secs(10);
        stream.set_read_timeout(Some(patience)).unwrap();
        let mut said = Vec::new();
        // A stranger says nothing.
        let _ = stream.read_to_end(&mut said);
        said
    };
    let mut knocks = std::iter::from_fn(|| listener.accept().ok());
    assert!(knocks.any(|(stream, _)| says(stream) == b"cancelled"));
}

/// A suite whose first session wants a report with the word `done`.
fn with_report(scene: &Scene) {
    suite(scene, "", "");
    let session = "tasks/p/sessions/one/session.toml";
    let text = std::fs::read_to_string(scene.path(session)).unwrap();
    let rule = "[[checklist]]\nid = \"c\"\ncriterion = \"The report says that it is done\"\n\
                [checklist.rule]\ngrader = \"rules\"\n[checklist.rule.config]\n\
                file = { path = \"report.md\", content = { contains = \"done\" } }\n";
    scene.write(session, &(text + rule));
}

/// Plays that session with a user agent who takes its time: meanwhile the file is written once more, as a process of the agent's
/// may do. The first turn.
async fn play_with_late_report(deed: &str) -> Value {
    let scene = Scene::new();
    with_report(&scene);
    let late = scene.path("run/workspaces/p.r1/report.md");
    let server = server(move |request| {
        std::fs::write(&late, "done").unwrap();
        models::play(request)
    })
    .await;
    let agent = agent(deed);
    let args = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--agent",
        &agent,
        "--user",
        "openai/m",
        "--out",
        "run",
    ];
    expect(&run(&scene, &args, &server), 0, &[]);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    turns(&scene, "run", "p").remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_writes_while_its_turn_is_judged_is_not_graded_and_what_it_wrote_before_is() {
    if !confines() {
        return;
    }
    for (deed, pass) in [("reports-nothing", false), ("reports-done", true)] {
        let turn = play_with_late_report(deed).await;
        assert_eq!(turn["changes"][0]["path"], "report.md");
        assert_eq!(turn["items"][0]["item"], "c", "{turn:#}");
        assert_eq!(turn["items"][0]["pass"], pass, "{turn:#}");
    }
}

#[test]
fn what_an_agent_leaves_locked_or_at_work_ends_no_run_and_is_in_the_record() {
    if !confines() {
        return;
    }
    for (deed, kept) in [
        (
            "locks",
            &[".pibench-incoming/notes", "locked.md", "sub/locked.md"][..],
        ),
        ("churns", &["report.md"]),
    ] {
        let scene = Scene::new();
        suite(&scene, "", "");
        let agent = agent(deed);
        let args = ["run", "tasks/suite.toml", "--agent", &agent, "--out", "run"];
        expect(&scene.run(&args), 0, &[]);
        let turns = turns(&scene, "run", "p");
        let changes = turns[0]["changes"].as_array().unwrap().iter();
        let changes: Vec<&str> = changes
            .map(|change| change["path"].as_str().unwrap())
            .collect();
        for path in kept {
            assert!(changes.contains(path), "{changes:?}");
            assert!(scene.path("run/workspaces/p.r1").join(path).exists());
        }
        assert!(turns.iter().any(|turn| turn["session"] == "two"));
        // What is not kept is not left, either.
        let link = scene.path("run/workspaces/p.r1/link");
        assert!(link.symlink_metadata().is_err());
        expect(&scene.run(&["verify", "run"]), 0, &[]);
    }
}

#[test]
fn a_file_that_an_agent_holds_by_a_lease_is_found_when_it_lets_it_go() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    expect(&play(&scene, "leases", &[]), 0, &[]);
    let turns = turns(&scene, "run", "p");
    for (turn, name) in turns.iter().zip(["free.md", "leased.md"]) {
        let changes = turn["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 1, "{turn:#}");
        assert_eq!(changes[0]["path"], name, "{turn:#}");
    }
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[test]
fn what_an_agent_writes_is_found_after_a_run_was_cut_off_too() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    expect(&play(&scene, "adds", &[]), 0, &[]);
    cut(&scene);
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    let turns = turns(&scene, "run", "p");
    assert!(turns.len() > 1);
    for turn in turns {
        assert_eq!(turn["changes"][0]["path"], "lines.md", "{turn:#}");
    }
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// An agent's process that is told the workflows of a suite.
fn with_workflows(scene: &Scene, suite: &Path, tools: &str) -> String {
    let mut told = Vec::new();
    for (path, content) in crate::scene::files(suite.parent().unwrap()) {
        if path.ends_with("session.toml") {
            let session: toml::Table = String::from_utf8(content).unwrap().parse().unwrap();
            told.push(json!({ "request": session["request"].as_str().unwrap(), "reference": session.get("reference") }));
        }
    }
    let file = scene.write("agent/sessions.json", &json!(told).to_string());
    format!(
        "agents.it={{ command = [\"{PYTHON}\", \"{}\", \"reference\", \"{}\"], tools = \"{tools}\" }}",
        script().display(),
        file.display()
    )
}

#[test]
fn the_scripted_reference_over_the_protocol_scores_what_the_built_in_one_does_to_the_same_journal()
{
    if !confines() {
        return;
    }
    let scene = Scene::new();
    let expected = scene.play("built-in", &[]);
    let entry = with_workflows(&scene, &short(), "all");
    let by_patterns = [
        "--user", "lexical", "--judge", "lexical", "--runs", "1", "--jobs", "2",
    ];
    let args = [&["--set", &entry, "--agent", "acp:it"], &by_patterns[..]].concat();
    let found = scene.play("process", &args);
    let scores = |results: &Value| {
        let sessions = results["sessions"].as_array().unwrap().iter();
        let of = |session: &Value| {
            ["id", "proc", "comp", "turns", "outcome", "intents"].map(|key| session[key].clone())
        };
        sessions.map(of).collect::<Vec<_>>()
    };
    assert_eq!(scores(&found), scores(&expected));
    let of_both = ["built-in", "process"].map(|run| turns(&scene, run, "law_trainee"));
    assert!(of_both[0].len() > 3);
    // But for who it is, what it is said to have taken, and what it calls its calls.
    let same = |mut turn: Value| {
        let fields = turn.as_object_mut().unwrap();
        for own in ["prev", "usage"] {
            fields.remove(own);
        }
        let mut ids = Vec::new();
        for step in turn["steps"].as_array_mut().unwrap() {
            for call in step["calls"].as_array_mut().into_iter().flatten() {
                ids.push(call["id"].take());
                let arguments = call["arguments"].as_str().unwrap();
                call["arguments"] = serde_json::from_str(arguments).unwrap();
            }
            if step["step"] == "call" {
                assert!(ids.contains(&step["id"].take()));
                step["record"]["arguments"].sort_all_objects();
                step["record"].as_object_mut().unwrap().remove("exact");
            }
        }
        turn
    };
    let [built_in, process] = of_both.map(|turns| turns.into_iter().map(same).collect::<Vec<_>>());
    for (turn, expected) in process.iter().zip(&built_in) {
        assert_eq!(turn, expected);
    }
    assert_eq!(process.len(), built_in.len());
    expect(&scene.run(&["verify", "process"]), 0, &[]);
}

/// What a run's agent wrote down.
fn noted(scene: &Scene, run: &str, name: &str) -> Value {
    let text = std::fs::read(scene.path(&format!("{run}/workspaces/p.r1/{name}"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    let all = value.as_array().unwrap().iter();
    all.filter_map(Value::as_str).collect()
}

/// A session that another agent plays over `serve`, and where the operator keeps the key to it.
fn serve(scene: &Scene) -> std::process::Child {
    let mut server = scene
        .command(&[
            "serve",
            "tasks/suite.toml",
            "--session",
            "one",
            "--out",
            "served",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = server.stdout.as_mut().unwrap();
    std::io::BufReader::new(output)
        .read_line(&mut line)
        .unwrap();
    scene.write("operator/serve.json", &line);
    server
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_pibench-host");

/// A suite with secrets, and another run.
pub(crate) fn write_secrets(scene: &Scene) {
    suite(scene, "", "");
    let session = "tasks/p/sessions/one/session.toml";
    for (file, from, to) in [
        (session, "In blue.", "Secret-intent-of-a-test."),
        (session, "Request one.", "Secret-request-of-a-test."),
        (
            "tasks/p/persona.toml",
            "A person.",
            "Secret-profile-of-a-test.",
        ),
    ] {
        scene.replace(file, from, to);
    }
    scene.write(
        "run-of-another/journal/x.jsonl",
        "Secret-session-of-a-test.",
    );
}

/// What an agent is told to look for in a place: a file that it can read.
pub(crate) fn write_wanted(scene: &Scene, place: &str) -> PathBuf {
    let wanted = json!({
        "an intent": "Secret-intent-of-a-test.",
        "a profile": "Secret-profile-of-a-test.",
        "another run": "Secret-session-of-a-test.",
        "another session": "Secret-request-of-a-test.",
        "a key": "Secret-key-of-a-test",
    });
    let told = json!({ "wanted": wanted, "places": [place], "programs": [PROGRAM] });
    scene.write("agent/wanted.json", &told.to_string())
}

/// What the agent found in a place, confined or not, and its list.
fn search(scene: &Scene, run: &str, place: &str, args: &[&str]) -> (Value, PathBuf) {
    let file = write_wanted(scene, place);
    (search_by(scene, run, &file, args), file)
}

/// What the agent found that is told by this list what to look for.
pub(crate) fn search_by(scene: &Scene, run: &str, file: &Path, args: &[&str]) -> Value {
    let agent = format!(
        "acp:{PYTHON} {} search {}",
        script().display(),
        file.display()
    );
    let all = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--out",
        run,
        "--agent",
        &agent,
    ];
    let keys = [("JUDGE_KEY", "Secret-key-of-a-test")];
    let output = scene.run_with(&[&all, args].concat(), &keys);
    let results = std::fs::read_to_string(scene.path(run).join("results.json"));
    let told = format!("{}\n{results:?}", stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{told}");
    noted(scene, run, "found.json")
}

/// What was found, but for the list itself.
pub(crate) fn leaks<'a>(searched: &'a Value, list: &Path) -> Vec<&'a str> {
    let mut leaks = texts(&searched["found"]);
    leaks.retain(|found| !found.ends_with(list.to_str().unwrap()));
    leaks
}

/// The program that carries a suite is not there; what hands on its messages is a copy that carries none.
fn assert_no_program_carries(confined: &Value) {
    let programs = confined["programs"].as_object().unwrap();
    assert_eq!(programs[PROGRAM], Value::Null, "{confined}");
    let others = programs.iter().filter(|(name, _)| *name != PROGRAM);
    let others: Vec<_> = others.map(|(_, intents)| intents.as_u64()).collect();
    let expected = if carries() { vec![Some(0)] } else { vec![] };
    assert_eq!(others, expected, "{confined}");
}

#[test]
fn an_agent_that_searches_the_machine_finds_nothing_that_is_hidden_and_its_unconfined_twin_does() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    write_secrets(&scene);
    let mut server = serve(&scene);

    let (confined, list) = search(&scene, "confined", "/", &[]);
    assert_eq!(leaks(&confined, &list), Vec::<&str>::new());
    // The namespace's first process, the agent, and nobody else.
    assert_eq!(confined["processes"], 2, "{confined}");
    assert!(
        confined["servers"].as_u64() > Some(0),
        "it knocked nowhere: {confined}"
    );
    assert_eq!(confined["home"], "/agent");
    assert_no_program_carries(&confined);
    let places = texts(&confined["root"]);
    assert!(
        places.contains(&"workspace") && !places.contains(&"root"),
        "{places:?}"
    );

    // Without walls the same search finds all of it: files of the suite and of another run, a key among the variables of a process,
    // and by a key that lies about a session that another agent plays.
    let here = scene.path("").to_string_lossy().into_owned();
    let (twin, _) = search(&scene, "open", &here, &["--agent-unconfined"]);
    server.kill().unwrap();
    server.wait().unwrap();
    let found = texts(&twin["found"]);
    for (what, place) in [
        ("an intent in ", "tasks/p/sessions/one/session.toml"),
        ("a profile in ", "tasks/p/persona.toml"),
        ("another run in ", "run-of-another/journal/x.jsonl"),
        ("a key in /proc/", "/environ"),
        ("another session in http://127.0.0.1:", "/mcp"),
    ] {
        let is_it = |found: &&&str| found.starts_with(what) && found.ends_with(place);
        assert!(
            found.iter().any(|found| is_it(&found)),
            "no `{what}...{place}` in {found:?}"
        );
    }
    assert!(twin["processes"].as_u64() > Some(2), "{twin}");
    assert!(
        !carries() || twin["programs"][PROGRAM].as_u64() > Some(500),
        "{twin}"
    );
}

/// As it plays over `serve`, which it finds by its key alone.
#[test]
fn a_command_that_is_confined_by_hand_and_searches_the_machine_finds_nothing_and_its_twin_does() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    write_secrets(&scene);
    let mut server = serve(&scene);
    let list = write_wanted(&scene, "/");
    std::fs::create_dir(scene.path("work")).unwrap();
    let (script, told) = (script(), list.to_str().unwrap());
    let searches = [PYTHON, script.to_str().unwrap(), "search-alone", told];
    let confine = ["confine", "--workspace", "work", "--"];
    let keys = [("JUDGE_KEY", "Secret-key-of-a-test")];
    let output = scene.run_with(&[&confine[..], &searches].concat(), &keys);
    expect(&output, 0, &[]);
    let read = |folder: &str| {
        let found = std::fs::read(scene.path(folder).join("found.json")).unwrap();
        serde_json::from_slice::<Value>(&found).unwrap()
    };
    let confined = read("work");
    assert_eq!(leaks(&confined, &list), Vec::<&str>::new());
    assert_eq!(confined["processes"], 2, "{confined}");
    assert!(confined["servers"].as_u64() > Some(0), "{confined}");
    let programs = confined["programs"].as_object().unwrap();
    assert!(programs.values().all(Value::is_null), "{confined}");

    // The twin, without walls.
    write_wanted(&scene, scene.path("").to_str().unwrap());
    let mut command = scene.started_here(searches[0]);
    let output = command.args(&searches[1..]).output().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let twin = read("");
    let found = texts(&twin["found"]);
    for what in [
        "an intent in ",
        "a profile in ",
        "another run in ",
        "another session in http://",
    ] {
        assert!(found.iter().any(|found| found.starts_with(what)), "{twin}");
    }
}

#[test]
fn an_agent_that_fills_the_disk_finds_its_home_bounded_and_is_ended_for_its_workspace() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    expect(&play(&scene, "fills", &[]), 0, &[]);
    let taken = noted(&scene, "run", "taken.json");
    for (place, got) in taken.as_object().unwrap() {
        let is_its_own = ["~", "/tmp", "/dev/shm"].contains(&place.as_str());
        // Some room, and not a gibibyte.
        assert_eq!(got == "room", is_its_own, "{place}: {taken}");
        assert_ne!(got, "all", "{place}: {taken}");
    }
    assert_eq!(taken.as_object().unwrap().len(), 9);
    // One that goes on and on, and one whose turn is over before anybody has looked.
    for deed in ["swamps", "swampsonce"] {
        let scene = Scene::new();
        suite(&scene, "", "");
        let said = "it has filled its workspace: it holds more than 10000 files and folders";
        expect(&play(&scene, deed, &[]), 9, &[said]);
    }
}

#[test]
fn folders_deeper_than_a_path_is_long_end_their_agent_and_not_the_run() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let agent = agent("digs");
    let args = ["run", "tasks/suite.toml", "--agent", &agent, "--out", "run"];
    let said = "it has filled its workspace: one of its folders cannot be looked into";
    expect(&scene.run(&args), 9, &[said]);
    let results = std::fs::read(scene.path("run/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    for number in [0, 1] {
        let session = &results["sessions"][number];
        assert_eq!(session["outcome"], "model_fault", "{results:#}");
    }
}

#[test]
fn files_that_an_agent_deleted_and_holds_open_count_and_one_of_common_size_is_granted() {
    if !confines() {
        return;
    }
    let deleted = "files that it deleted and holds open have more than 1073741824 bytes";
    for (deed, said) in [
        ("hoards", deleted),
        ("hoards-mapped", deleted),
        ("hoards-sent", "it has put more than 16 open files away"),
        ("hoards-open", "it has more than 20000 files open"),
        // While nobody asks it anything.
        ("hoards-late", deleted),
    ] {
        let scene = Scene::new();
        suite(&scene, "", "");
        expect(&play(&scene, deed, &[]), 9, &[said]);
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    expect(&play(&scene, "hoards-one", &[]), 0, &[]);
    // The twin, whose single file has a bound too.
    let turns = turns(&scene, "run", "p");
    assert_eq!(turns[0]["response"], "I got: ['File too large']");
}

#[test]
fn an_agent_that_is_not_confined_is_called_so_wherever_its_scores_stand() {
    if !Path::new(PYTHON).exists() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let secret = scene.path("tasks/p/sessions/one/session.toml");
    scene.write(
        "agent.sh",
        &format!(
            "#!/bin/sh\ncat {} > seen.txt\nexec {PYTHON} {} refuses\n",
            secret.display(),
            script().display()
        ),
    );
    let agent = format!("acp:/bin/sh {}", scene.path("agent.sh").display());
    let all = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--out",
        "run",
        "--agent",
        &agent,
    ];
    let output = scene.run(&[&all[..], &["--agent-unconfined"]].concat());
    expect(
        &output,
        9,
        &["Unconfined agent: its process could read this machine"],
    );
    // The twin: what a confined agent does not find is there for this one.
    let seen = std::fs::read_to_string(scene.path("run/workspaces/p.r1/seen.txt")).unwrap();
    assert!(seen.contains("In blue."), "{seen}");
    let manifest = std::fs::read_to_string(scene.path("run/manifest.json")).unwrap();
    assert!(manifest.contains("\"acp-unconfined:") && manifest.contains("\"unconfined\""));
    expect(&scene.run(&["report", "run", "--out", "report"]), 0, &[]);
    let page = std::fs::read_to_string(scene.path("report/index.html")).unwrap();
    assert!(page.contains("Unconfined agent"));
    if confines() {
        let output = scene.run(&[&all[..4], &["--out", "confined", "--agent", &agent]].concat());
        // Neither that file is there for it, nor the agent, of which its own says nothing.
        expect(&output, 10, &["No such file or directory"]);
    }
}

#[test]
fn an_agent_without_bubblewrap_is_refused_with_what_to_do() {
    if !Path::new(PYTHON).exists() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let all = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--out",
        "run",
        "--agent",
        &agent("refuses"),
    ];
    // No program of that name in a PATH of one empty folder.
    std::fs::create_dir(scene.path("bin")).unwrap();
    let path = scene.path("bin");
    let output = scene.run_with(&all, &[("PATH", path.to_str().unwrap())]);
    expect(
        &output,
        10,
        &[
            "confine the agent by bubblewrap",
            "install Debian's package bubblewrap",
            "--agent-unconfined",
        ],
    );
}

#[test]
fn every_way_in_which_an_agent_ends_is_typed() {
    if !confines() {
        return;
    }
    let outcome = |deed: &str, code: i32, said: &[&str]| {
        let scene = Scene::new();
        suite(&scene, "", "");
        // Others end by themselves, however slow the machine is.
        let limit = match deed {
            "hangs" | "slow" => 3,
            _ => 300,
        };
        let limit = format!("session.turn_timeout_s={limit}");
        let output = play(&scene, deed, &["--set", &limit]);
        expect(&output, code, said);
        let results = std::fs::read(scene.path("run/results.json")).unwrap_or_default();
        let results: Value = serde_json::from_slice(&results).unwrap_or_default();
        results["sessions"][0]["outcome"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    // The operator's to mend.
    outcome(
        "unborn",
        10,
        &["its process ended (exit status: 3)", "no such file: config"],
    );
    outcome(
        "login",
        10,
        &[
            "it wants a login (Authentication required)",
            "Log in on the web",
        ],
    );
    outcome(
        "newer",
        10,
        &["it speaks version 2 of the Agent Client Protocol"],
    );
    // Its own.
    for (deed, said) in [
        (
            "dies",
            "its process ended (exit status: 7); it said last: a bug of mine",
        ),
        ("floods", "it wrote a line of more than"),
        ("chatters", "in one turn"),
        ("nests", "it nests deeper than"),
        ("babbles", "are no messages of the protocol"),
        ("refuses", "it refuses to go on"),
        ("errs", "RuntimeError: the model of mine is away"),
        ("mumbles", "it answers `session/prompt` with something else"),
        ("mumbles-nothing", "the answer has neither result nor error"),
        ("mumbles-apart", "it answers a request that was never made"),
    ] {
        assert_eq!(outcome(deed, 9, &[said]), "model_fault", "{deed}");
    }
    // Time.
    assert_eq!(outcome("hangs", 0, &[]), "turn_timeout");
    // That it is opened is none of a turn's.
    assert_ne!(outcome("slow", 0, &[]), "turn_timeout");
}

/// Tells an agent that its turn is over; what came of its calls after that. None of who else knocks.
fn overtake(mut stream: TcpStream) -> Option<Value> {
    stream.set_nonblocking(false).unwrap();
    let patience = std::time::Duration::from_mins(1);
    stream.set_read_timeout(Some(patience)).unwrap();
    let mut first = [0; 5];
    let is_known = stream.read_exact(&mut first).is_ok() && first == *b"late\n";
    is_known.then(|| {
        stream.write_all(b"over").unwrap();
        let mut came = String::new();
        stream.read_to_string(&mut came).unwrap();
        serde_json::from_str(&came).unwrap()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_does_after_its_turn_counts_for_nothing_and_what_it_started_ends_with_its_session()
 {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let deed = format!("late {}", listener.local_addr().unwrap().port());
    let (tells, told) = std::sync::mpsc::channel();
    // Who asks the user agent has heard the turn's end, and begins no other before the answer.
    let server = server(move |request| {
        let knocks = std::iter::from_fn(|| listener.accept().ok());
        for came in knocks.filter_map(|(stream, _)| overtake(stream)) {
            tells.send(came).unwrap();
        }
        models::play(request)
    })
    .await;
    let agent = agent(&deed);
    let args = [
        "run",
        "tasks/suite.toml",
        "--session",
        "one",
        "--agent",
        &agent,
        "--user",
        "openai/m",
        "--out",
        "run",
    ];
    expect(&run(&scene, &args, &server), 0, &[]);
    let over = "no message is open: the turn is over";
    let told: Vec<Value> = told.try_iter().collect();
    assert!(!told.is_empty());
    for came in told {
        assert_eq!(came, json!([over, over]));
    }
    let turns = turns(&scene, "run", "p");
    assert!(turns.len() > 1);
    for turn in turns {
        assert_eq!(turn["response"], "Done.");
        assert_eq!(calls(&turn).len(), 0);
    }
    let lives = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let mut lines = processes.map(|process| std::fs::read(process.path().join("cmdline")));
        lines.any(|line| {
            line.unwrap_or_default()
                .windows(6)
                .any(|part| part == b"987654")
        })
    };
    // It is killed with the others; a busy machine takes a moment to carry that out.
    let began = std::time::Instant::now();
    while lives() {
        let waited = began.elapsed();
        assert!(waited.as_secs() < 30, "a child of the agent's lives on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Takes away all of a run behind its first turn.
pub(crate) fn cut(scene: &Scene) {
    let journal = scene.path("run/journal/p.r1.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    // The episode's beginning, the session's, and its first turn.
    let lines: Vec<&str> = whole.lines().take(3).collect();
    std::fs::write(&journal, lines.join("\n") + "\n").unwrap();
    for made in ["results.json", "seal.json"] {
        std::fs::remove_file(scene.path("run").join(made)).unwrap();
    }
}

#[test]
fn a_run_that_was_cut_off_goes_on_with_a_new_process_that_is_told_the_conversation() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    expect(&play(&scene, "past", &[]), 0, &[]);
    cut(&scene);
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    let turns = turns(&scene, "run", "p");
    let last = turns.last().unwrap();
    assert!(turns.len() > 1);
    let said = last["steps"][0]["reasoning"].as_str().unwrap();
    assert!(
        said.contains("was told the conversation so far as text"),
        "{said}"
    );
}

#[test]
fn a_key_of_the_judges_is_not_given_to_an_agent() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    let settings =
        "providers.lab.base_url = \"http://127.0.0.1:9/v1\"\nproviders.lab.key_env = \"LAB_KEY\"\n";
    suite(&scene, settings, "");
    let entry = format!(
        "agents.it={{ command = [\"{PYTHON}\", \"{}\", \"refuses\"], environment = [\"OWN_KEY\"] }}",
        script().display()
    );
    let play = |own: &str, out: &str| {
        let args = [
            "run",
            "tasks/suite.toml",
            "--session",
            "one",
            "--agent",
            "acp:it",
            "--set",
            &entry,
            "--judge",
            "lab/m",
            "--no-preflight",
            "--out",
            out,
        ];
        let given = [("LAB_KEY", "shared-key\n"), ("OWN_KEY", own)];
        scene.run_with(&args, &given)
    };
    for (own, out) in [
        ("shared-key", "refused"),
        ("shared-key ", "refused-with-a-blank"),
        ("Bearer shared-key", "refused-within"),
    ] {
        expect(
            &play(own, out),
            10,
            &["the key of the judge, `lab/m`, too", "a key of its own"],
        );
    }
    expect(&play("its own", "played"), 9, &["it refuses to go on"]);

    let settings = format!("{settings}web.provider = \"brave\"\n");
    suite(&scene, &settings, "");
    let search = |own: &str, out: &str| {
        let args = [
            "run",
            "tasks/suite.toml",
            "--session",
            "one",
            "--agent",
            "acp:it",
            "--set",
            &entry,
            "--no-preflight",
            "--out",
            out,
        ];
        scene.run_with(&args, &[("BRAVE_API_KEY", "search-key"), ("OWN_KEY", own)])
    };
    expect(
        &search("search-key", "refused-to-search"),
        10,
        &["the key of the web's search, too"],
    );
    expect(&search("its own", "searched"), 9, &["it refuses to go on"]);
}

#[test]
fn what_an_agent_is_given_stands_in_nothing_that_is_kept_or_told_of_its_errors() {
    if !confines() {
        return;
    }
    for (deed, code) in [("leaks", 9), ("leaks-answer", 9), ("leaks-early", 10)] {
        let scene = Scene::new();
        let entry = format!(
            "[agents.it]\ncommand = [\"{PYTHON}\", \"{}\", \"{deed}\"]\nenvironment = [\"OWN_KEY\"]\n\
             set = {{ OWN_SET = \"Secret-set-of-a-test\" }}\n",
            script().display()
        );
        suite(&scene, &entry, "");
        let args = [
            "run",
            "tasks/suite.toml",
            "--session",
            "one",
            "--agent",
            "acp:it",
            "--out",
            "run",
        ];
        let output = scene.run_with(&args, &[("OWN_KEY", "Secret-key-of-a-test")]);
        // The twin: all else that it said is told.
        expect(&output, code, &["401 invalid key [OWN_KEY] of [OWN_SET]"]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        assert!(!flowed(&told).contains("Secret-"), "{deed}: {told}");
        for (path, content) in crate::scene::files(&scene.path("run")) {
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains("Secret-"), "{deed}: {path}");
        }
    }
}

#[test]
fn what_an_agent_is_given_is_cut_out_of_all_that_it_tells_and_stays_in_the_files_that_it_writes() {
    if !confines() {
        return;
    }
    let play = |deed: &str| {
        let scene = Scene::new();
        let entry = format!(
            "[agents.it]\ncommand = [\"{PYTHON}\", \"{}\", \"{deed}\"]\nenvironment = [\"OWN_KEY\"]\n",
            script().display()
        );
        suite(&scene, &entry, "");
        let args = [
            "run",
            "tasks/suite.toml",
            "--session",
            "one",
            "--agent",
            "acp:it",
            "--out",
            "run",
        ];
        let proxy = "http://somebody:Secret-word-of-a-proxy@127.0.0.1:9";
        let given = [("OWN_KEY", "Secret-key-of-a-test"), ("HTTPS_PROXY", proxy)];
        expect(&scene.run_with(&args, &given), 0, &[]);
        scene
    };
    let scene = play("confides");
    for (path, content) in crate::scene::files(&scene.path("run")) {
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains("Secret-"), "{path}");
    }
    // The twin: all else that it told is there.
    let told = Value::from(turns(&scene, "run", "p")).to_string();
    for part in [
        "It is [OWN_KEY]. ",
        "I think of [OWN_KEY].",
        "Use [OWN_KEY]",
        "OWN_KEY=[OWN_KEY]",
        "http://[HTTPS_PROXY]@127.0.0.1:9",
        "Send [OWN_KEY]",
        "Tell [OWN_KEY]",
        "/etc/[OWN_KEY] is outside of the workspace",
        "It was [OWN_KEY].",
    ] {
        assert!(told.contains(part), "`{part}` is not in {told}");
    }

    let scene = play("confides-file");
    let told = Value::from(turns(&scene, "run", "p")).to_string();
    assert!(told.contains("Done."), "{told}");
    let files = crate::scene::files(&scene.path("run/workspaces"));
    let mut written = files.iter().filter(|(path, _)| path.ends_with("own.md"));
    let (_, content) = written.next().unwrap();
    assert_eq!(content, b"Secret-key-of-a-test");
}

#[test]
fn a_command_can_be_confined_by_hand() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    scene.write("work/in.txt", "inside");
    scene.write("secret.txt", "outside");
    let secret = scene.path("secret.txt");
    // The machine's certificates are there, and no key beside them.
    let script = format!(
        "cat in.txt; cat {} 2>/dev/null || echo unseen; echo $GIVEN$KEPT > out.txt; \
         ls -A /etc/ssl/private /etc/pki/tls/private 2>/dev/null | grep key; ls -d /etc/ssl",
        secret.display()
    );
    let args = [
        "confine",
        "--workspace",
        "work",
        "--env",
        "GIVEN",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let output = scene.run_with(&args, &[("GIVEN", "given"), ("KEPT", "kept")]);
    expect(&output, 0, &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "insideunseen\n/etc/ssl\n");
    assert_eq!(
        std::fs::read_to_string(scene.path("work/out.txt")).unwrap(),
        "given\n"
    );
    let output = scene.run(&[
        "confine",
        "--workspace",
        "work",
        "--env",
        "MISSING_ONE",
        "--",
        "sh",
    ]);
    expect(&output, 2, &["MISSING_ONE"]);
}

#[test]
fn a_confined_command_sees_no_suite_of_the_working_directory_and_nothing_that_is_hidden_by_hand() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    scene.write("work/in.txt", "inside");
    scene.write("data/keys/secret.txt", "outside");
    let confine = |workspace: &str, more: &[&str]| {
        let args = ["confine", "--workspace", workspace];
        scene.run(&[&args[..], more, &["--", "cat", "in.txt"]].concat())
    };
    expect(&confine("work", &["--read", "data"]), 0, &[]);
    expect(&confine("work", &["--hide", "data/keys"]), 0, &[]);
    let hidden = "which is hidden from it";
    let asked = ["--read", "data", "--hide", "data/keys"];
    expect(&confine("work", &asked), 3, &[hidden]);
    expect(&confine("work", &["--read", "tasks/p"]), 3, &[hidden]);
    expect(&confine("tasks", &[]), 3, &[hidden]);
    expect(
        &confine("work", &["--hide", "gone"]),
        3,
        &["hide the folder gone"],
    );
}

#[test]
fn a_confined_command_is_refused_a_workspace_with_a_suite_or_a_run_in_it_and_granted_another() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    let confine = |workspace: &str| scene.run(&["confine", "--workspace", workspace, "--", "true"]);
    for (files, hidden) in [
        (
            &[("a/mine/suite.toml", "personas = [\"p\"]")][..],
            "a/mine/suite.toml with it",
        ),
        (
            &[("b/personas/p/persona.toml", "id = \"p\"")][..],
            "b/personas/p with it",
        ),
        (
            &[
                ("c/runs/x/manifest.json", "{}"),
                ("c/runs/x/outline.json", "{}"),
            ][..],
            "c/runs/x with it",
        ),
    ] {
        for (path, text) in files {
            scene.write(path, text);
        }
        let said = [
            hidden,
            "which is hidden from it; give it an empty folder as --workspace",
        ];
        expect(&confine(&files[0].0[..1]), 3, &said);
    }
    expect(&confine("."), 3, &["which is hidden from it"]);
    scene.write("d/mine/suite.toml", "tests = 1");
    scene.write("d/runs/x/manifest.json", "{}");
    expect(&confine("d"), 0, &[]);
}

#[test]
fn a_run_beside_a_confined_program_is_not_shown_with_it_and_a_file_is() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    std::fs::create_dir(scene.path("work")).unwrap();
    let outline = scene.write("agent/runs/x/outline.json", "told\n");
    let script = format!("cat {} 2>/dev/null || echo unseen\n", outline.display());
    scene.write("agent/agent.sh", &script);
    let said = || {
        let args = [
            "confine",
            "--workspace",
            "work",
            "--",
            "sh",
            "agent/agent.sh",
        ];
        let output = scene.run(&args);
        expect(&output, 0, &[]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(said(), "told\n");
    scene.write("agent/runs/x/manifest.json", "{}");
    assert_eq!(said(), "unseen\n");
}

/// A script that can be started.
fn program(scene: &Scene, path: &str, text: &str) -> PathBuf {
    let file = scene.write(path, text);
    let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&file, mode).unwrap();
    file
}

#[test]
fn doctor_wants_the_key_of_a_built_in_agent() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let text = std::fs::read_to_string(script()).unwrap();
    let text = format!("#!{PYTHON}\nimport sys\nsys.argv = ['it', 'files']\n{text}");
    program(&scene, "opt/bin/claude-agent-acp", &text);
    let path = format!("{}:/usr/bin:/bin", scene.path("opt/bin").display());
    let args = ["doctor", "tasks/suite.toml", "--agent", "claude-agent-acp"];
    let doctor = |key: &str| {
        let variables = [("PATH", path.as_str()), ("ANTHROPIC_API_KEY", key)];
        let given = if key.is_empty() {
            &variables[..1]
        } else {
            &variables
        };
        scene.run_with(&args, given)
    };
    let lacks = doctor("");
    let named = [
        "is given no key: ANTHROPIC_API_KEY is not set",
        "export ANTHROPIC_API_KEY=",
    ];
    expect(&lacks, 3, &named);
    let opened = [
        "ok       agent",
        "opened a session in",
        "MiB",
        "fit into the free memory",
    ];
    expect(&doctor("of-no-worth"), 0, &opened);
}

#[test]
fn doctor_says_what_an_agent_lacks() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let doctor = |agent: &str| scene.run(&["doctor", "tasks/suite.toml", "--agent", agent]);
    expect(
        &doctor(&agent("files")),
        0,
        &["ok       agent", "confined, opened a session in"],
    );
    expect(
        &doctor(&agent("login")),
        3,
        &["problem  agent", "it wants a login"],
    );
    // By the name of a file of the working directory.
    let text = std::fs::read_to_string(script()).unwrap();
    scene.write("own.py", &text);
    expect(
        &doctor(&format!("acp:{PYTHON} own.py files")),
        0,
        &["confined, opened a session in"],
    );
    // What starts another program from a place that it does not see, as shims do.
    let real = scene.path("elsewhere/real");
    let shim = format!("#!/bin/sh\nexec {} \"$@\"\n", real.display());
    let shim = program(&scene, "opt/bin/shim", &shim);
    expect(
        &doctor(&format!("acp:{}", shim.display())),
        3,
        &[
            "lies outside of what it may read: name its folder under `read` of [agents.NAME]",
            "with another command line or entry it is a new run",
        ],
    );
    // By the name of its entry alone, and with what installs it.
    let output = scene.run_with(
        &["doctor", "tasks/suite.toml", "--agent", "codex-acp"],
        &[("PATH", "/usr/bin:/bin")],
    );
    expect(
        &output,
        3,
        &[
            "find the program `codex-acp`",
            "npm install -g",
            "it needs OPENAI_API_KEY",
        ],
    );
}
