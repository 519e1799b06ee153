//! Runs of agents that are processes of their own: what makes one the run that it is, how one that was cut off goes on, and how many
//! processes there are at once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::acp::{PYTHON, agent, confines, cut, expect, script, turns};
use crate::scaffold::suite;
use crate::scene::Scene;

/// A suite with an entry `it` of an agent that does this.
fn with_entry(scene: &Scene, deed: &str, more: &str) {
    let script = script();
    let script = script.display();
    let entry = format!("[agents.it]\ncommand = [\"{PYTHON}\", \"{script}\", \"{deed}\"]\n{more}");
    suite(scene, &entry, "");
}

const PLAY: [&str; 8] = [
    "run",
    "tasks/suite.toml",
    "--session",
    "one",
    "--agent",
    "acp:it",
    "--out",
    "run",
];

fn manifest(scene: &Scene) -> Value {
    let text = std::fs::read(scene.path("run/manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a_run_does_not_go_on_with_another_entry_or_another_version_of_its_agent() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    let settings = "environment = [\"AGENT_VERSION\"]\nset = { MODEL = \"small\" }\n";
    with_entry(&scene, "past", settings);
    let first = [("AGENT_VERSION", "1.0")];
    expect(&scene.run_with(&PLAY, &first), 0, &[]);
    let process = &manifest(&scene)["process"];
    assert_eq!(process["command"][2], "past");
    assert_eq!(
        process["product"],
        json!({ "name": "agent-of-a-test", "version": "1.0" })
    );
    // What is set may be a key: only its digest is kept.
    assert!(!process.to_string().contains("small"));
    cut(&scene);
    let resume = ["run", "--resume", "run"];
    for (deed, settings, said) in [
        ("refuses", settings, "`command` of the agent's entry"),
        (
            "past",
            "set = { MODEL = \"small\" }\n",
            "`environment` of the agent's entry",
        ),
        (
            "past",
            &settings.replace("small", "large"),
            "the agent's variable MODEL",
        ),
        (
            "past",
            &format!("{settings}isolation = \"none\"\n"),
            "`confined` of the agent's entry",
        ),
        (
            "past",
            &format!("{settings}tools = \"all\"\n"),
            "`tools` of the agent's entry",
        ),
    ] {
        with_entry(&scene, deed, settings);
        let changed = format!("changed since it was begun: {said}");
        expect(&scene.run_with(&resume, &first), 3, &[&changed]);
    }
    with_entry(&scene, "past", settings);
    let said = "the run was begun with agent-of-a-test 1.0, and this is agent-of-a-test 2.0";
    expect(
        &scene.run_with(&resume, &[("AGENT_VERSION", "2.0")]),
        10,
        &[said],
    );
    expect(&scene.run_with(&resume, &first), 0, &[]);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// Plays until the second turn has begun, and kills the host then.
fn kill_in_second_turn(scene: &Scene, is_begun: impl Fn() -> bool) {
    let mut host = scene
        .command(&[
            "run",
            "tasks/suite.toml",
            "--agent",
            "acp:it",
            "--out",
            "run",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = scene.path("run/journal/p.r1.jsonl");
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    while lines() < 3 || !is_begun() {
        assert!(host.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    host.kill().unwrap();
    host.wait().unwrap();
}

/// What the agent said and the record's word on how it went on, by turn.
fn said(scene: &Scene) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = turns(scene, "run", "p").into_iter();
    all.map(|turn| {
        (
            text(&turn["response"]),
            text(&turn["steps"][0]["reasoning"]),
        )
    })
    .collect()
}

#[test]
fn an_agent_that_loads_sessions_goes_on_with_its_own_and_plays_all_of_an_episode_in_one_process() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    with_entry(&scene, "loads", "home = \"episode\"\n");
    let home = scene.path("run/agents/p.r1/home");
    let is_told = || {
        let files = std::fs::read_dir(&home).into_iter().flatten().flatten();
        let text = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        text.map(|text| text.lines().count()).sum::<usize>() == 2
    };
    kill_in_second_turn(&scene, is_told);
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    let said = said(&scene);
    assert_eq!(
        said[0].0,
        "I know 1 messages, this is session 1 of mine, and I was told nothing."
    );
    // The message of the turn that was cut off, and the same once more.
    assert_eq!(
        said[1].0,
        "I know 3 messages, this is session 1 of mine, and I was told nothing."
    );
    assert!(said[1].1.contains("it loaded its session"), "{said:?}");
    let next = "I know 1 messages, this is session 2 of mine, and I was told nothing.";
    assert!(said.iter().any(|(said, _)| said == next), "{said:?}");
    // Nothing of it is left.
    assert!(!scene.path("run/agents").exists());
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

#[test]
fn an_agent_whose_home_ended_with_its_process_is_told_the_conversation() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    with_entry(&scene, "loads", "");
    kill_in_second_turn(&scene, || true);
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    let said = said(&scene);
    let second =
        "I know 1 messages, this is session 1 of mine, and I was told the conversation so far.";
    assert_eq!(said[1].0, second);
    assert!(
        said[1]
            .1
            .contains("was told the conversation so far as text"),
        "{said:?}"
    );
}

/// The pid namespaces of all processes that this one can see.
fn namespaces() -> BTreeSet<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let links =
        processes.filter_map(|process| std::fs::read_link(process.path().join("ns/pid")).ok());
    links
        .map(|link| link.to_string_lossy().into_owned())
        .collect()
}

/// The pid namespace that an agent who comes says that it lives in; none for a stranger: another test's agent knocks at each port of
/// the machine.
fn greeting(stream: &TcpStream) -> Option<String> {
    stream.set_nonblocking(false).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.starts_with("pid:[").then(|| line.trim().to_owned())
}

#[test]
fn as_many_agents_run_at_once_as_there_are_jobs_and_none_is_left() {
    if !confines() {
        return;
    }
    for jobs in [4, 8] {
        let scene = Scene::new();
        suite(&scene, "", "");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Two rounds: each agent waits until all of its round have come.
        let door = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            for _ in 0..2 {
                let mut waiting = Vec::new();
                while waiting.len() < jobs {
                    let (stream, _) = listener.accept().unwrap();
                    if let Some(namespace) = greeting(&stream) {
                        seen.insert(namespace);
                        waiting.push(stream);
                    }
                }
                listener.set_nonblocking(true).unwrap();
                while let Ok((stream, _)) = listener.accept() {
                    assert_eq!(greeting(&stream), None, "more than {jobs} at once");
                }
                listener.set_nonblocking(false).unwrap();
                for mut stream in waiting {
                    stream.write_all(b"x").unwrap();
                }
            }
            seen
        });
        let (agent, jobs, runs) = (
            agent(&format!("meets {port}")),
            jobs.to_string(),
            (2 * jobs).to_string(),
        );
        let args = [
            "run",
            "tasks/suite.toml",
            "--session",
            "one",
            "--agent",
            &agent,
            "--runs",
            &runs,
            "--jobs",
            &jobs,
            "--out",
            "run",
        ];
        expect(&scene.run(&args), 0, &[]);
        let seen = door.join().unwrap();
        // One for each session, and none of them is left.
        assert_eq!(seen.len().to_string(), runs);
        // The kernel may still be at it.
        let began = std::time::Instant::now();
        while namespaces().intersection(&seen).count() > 0 {
            assert!(began.elapsed() < Duration::from_mins(1), "agents live on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
