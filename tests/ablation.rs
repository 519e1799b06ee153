//! A session that is played without those that it depends on: their material is there, and nothing that was made in them.

use std::collections::{BTreeMap, BTreeSet};

use pibench_suite::load::load;
use pibench_suite::suite::{Persona, Session, Step};
use serde_json::Value;

use crate::scene::{Scene, copy, embedded, expect, flowed, root};
use crate::verify::forge;

const ABLATE: [&str; 2] = ["--ablate", "dependencies"];

fn events(scene: &Scene, run: &str, persona: &str) -> Vec<Value> {
    let path = scene.path(&format!("{run}/journal/{persona}.r1.jsonl"));
    let journal = std::fs::read_to_string(path).unwrap();
    let lines = journal.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The line with which each session begins, and the paths that are in the workspace then, by its id.
fn started(events: &[Value]) -> BTreeMap<String, (Value, BTreeSet<String>)> {
    let (mut files, mut started) = (BTreeSet::new(), BTreeMap::new());
    for event in events {
        for change in event["changes"].as_array().into_iter().flatten() {
            let path = change["path"].as_str().unwrap().to_owned();
            if change["kind"] == "deleted" {
                files.remove(&path);
            } else {
                files.insert(path);
            }
        }
        if event["event"] == "session_started" {
            let session = event["session"].as_str().unwrap().to_owned();
            started.insert(session, (event.clone(), files.clone()));
        }
    }
    started
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap()).collect()
}

/// The files that a session's reference workflow makes.
fn made(session: &Session) -> impl Iterator<Item = &str> {
    session.reference.iter().filter_map(|step| match step {
        Step::Call {
            tool, arguments, ..
        } if tool == "write_file" => arguments["path"].as_str(),
        _ => None,
    })
}

/// The sessions of the persona that this one depends on, in the episode's order.
fn group<'a>(persona: &'a Persona, session: &'a Session) -> impl Iterator<Item = &'a Session> {
    let sessions = persona.sessions.iter();
    sessions.filter(|other| session.depends_on.contains(&other.id))
}

/// What the reference asked for in vain: the calls that were refused, by session.
fn refused(events: &[Value]) -> Vec<(String, Value)> {
    let turns = events.iter().filter(|event| event["event"] == "turn");
    let calls = turns.flat_map(|turn| {
        let steps = turn["steps"].as_array().unwrap().iter();
        let session = turn["session"].as_str().unwrap();
        steps
            .filter(|step| step["step"] == "call")
            .map(move |step| (session.to_owned(), step["record"].clone()))
    });
    calls
        .filter(|(_, record)| record["status"] != "ok")
        .collect()
}

/// What a final session was given of its group's others, held against them; `here` are the files that it finds.
fn check_inputs(persona: &Persona, session: &Session, begun: &Value, here: &BTreeSet<String>) {
    let members: Vec<&Session> = group(persona, session).collect();
    let inputs = begun["inputs"].as_array().unwrap();
    assert_eq!(inputs.len(), members.len(), "{}", session.id);
    for (input, member) in inputs.iter().zip(members) {
        assert_eq!(input["session"], member.id.as_str());
        let files = member.files.iter().map(|file| file.path.as_str());
        let files: Vec<&str> = files.collect();
        assert_eq!(texts(&input["files"]), files);
        assert!(files.iter().all(|path| here.contains(*path)), "{here:?}");
        let apps: Vec<&str> = member.apps.keys().map(String::as_str).collect();
        assert_eq!(texts(&input["apps"]), apps);
        let own = |path: &str| session.files.iter().any(|file| file.path == path);
        for path in made(member).filter(|path| !own(path) && !files.contains(path)) {
            assert!(!here.contains(path), "{}: {path}", session.id);
        }
    }
    assert!(here.contains("access.md"), "the persona's own file");
    assert!(!here.iter().any(|path| path.starts_with("memory/")));
}

/// The figures in a document are those that are printed.
fn assert_documented(results: &Value) {
    let document = std::fs::read_to_string(root().join("tasks/README.md")).unwrap();
    let document = flowed(&document);
    for persona in results["personas"].as_array().unwrap() {
        let figure = |score: &str| {
            let figure = format!("{:.1}", persona[score].as_f64().unwrap());
            figure.replace("100.0", "100")
        };
        let name = persona["id"].as_str().unwrap().replace('_', " ");
        let told = format!("{name} {} / {}", figure("proc"), figure("comp"));
        assert!(document.contains(&told), "it does not say `{told}`");
    }
}

#[test]
fn a_final_session_alone_has_its_groups_material_and_nothing_that_was_made_there() {
    let scene = Scene::new();
    let results = scene.play_all("alone", &ABLATE);
    assert_documented(&results);
    let suite = load(camino::Utf8Path::from_path(&embedded()).unwrap());
    let personas = suite.unwrap().suite.personas;
    let sessions = personas.iter().flat_map(|persona| &persona.sessions);
    let groups = sessions.filter(|session| !session.depends_on.is_empty());
    let groups = groups.count();
    let mut in_vain = BTreeSet::new();
    let mut finals = 0;
    for persona in &personas {
        let events = events(&scene, "alone", &persona.id);
        for (id, (begun, here)) in &started(&events) {
            let session = persona.sessions.iter().find(|one| one.id == *id).unwrap();
            check_inputs(persona, session, begun, here);
            finals += 1;
        }
        for (id, record) in refused(&events) {
            let session = persona.sessions.iter().find(|one| one.id == id).unwrap();
            let path = record["arguments"]["path"].as_str().unwrap_or_default();
            let tool = record["tool"].as_str().unwrap();
            // What a session that is not played would have made is not there.
            let mut members = group(persona, session);
            if tool != "read_file" || !members.any(|one| made(one).any(|made| made == path)) {
                in_vain.insert((id, tool.to_owned()));
            }
        }
    }
    assert_eq!(finals, groups);
    // The trip's group of people in Splitwise is made in its first session.
    let group = (
        "trip-settle".to_owned(),
        "splitwise__record_expense".to_owned(),
    );
    assert_eq!(in_vain, BTreeSet::from([group]));
    // All material is there, so the work can be done; what is lost is foresight.
    let lines = results["sessions"].as_array().unwrap();
    // In the brief the patterns take a list for a copy of what the user then had to say.
    for line in lines {
        let is_exempt = ["trip-settle", "defence-brief"].contains(&line["id"].as_str().unwrap());
        assert!(line["comp"] == 100.0 || is_exempt, "{line}");
    }
    let lost = |score: &str| -> f64 {
        let lost = lines
            .iter()
            .map(|line| 100.0 - line[score].as_f64().unwrap());
        lost.sum()
    };
    assert!(lost("proc") > lost("comp"));
    expect(&scene.run(&["verify", "alone"]), 0, &[]);
}

#[test]
fn a_session_alone_is_gone_on_with_and_graded_again_with_the_same_material() {
    let scene = Scene::new();
    scene.play("whole", &ABLATE);
    let journal = |run: &str| scene.path(&format!("{run}/journal/law_trainee.r1.jsonl"));
    let text = std::fs::read_to_string(journal("whole")).unwrap();
    for kept in 1..text.lines().count() {
        let name = format!("cut{kept}");
        copy(&scene.path("whole"), &scene.path(&name));
        std::fs::remove_file(scene.path(&name).join("results.json")).unwrap();
        let lines: String = text.split_inclusive('\n').take(kept).collect();
        std::fs::write(journal(&name), lines).unwrap();
        expect(&scene.run(&["run", "--resume", &name]), 0, &[]);
        let again = std::fs::read_to_string(journal(&name)).unwrap();
        assert!(again == text, "{kept} lines kept");
    }
    expect(&scene.run(&["grade", "whole", "--out", "graded"]), 0, &[]);
    assert_eq!(std::fs::read_to_string(journal("graded")).unwrap(), text);
    expect(&scene.run(&["verify", "graded"]), 0, &[]);

    // The record is held to what the suite says.
    forge(&scene, "whole/journal/law_trainee.r1.jsonl", |event| {
        event.as_object_mut().unwrap().remove("inputs");
    });
    let output = scene.run(&["verify", "whole"]);
    expect(&output, 3, &[]);
    let said = flowed(&String::from_utf8_lossy(&output.stdout));
    assert!(
        said.contains("was not given what its group brings"),
        "{said}"
    );
}

#[test]
fn records_that_would_have_been_put_back_are_not_staged() {
    let scene = Scene::new();
    let played = |out: &str, more: &[&str]| {
        let session = ["--session", "rebuttal-letter", "--agent", "nop"];
        scene.play_all(out, &[&session, &ABLATE[..], more].concat());
        started(&events(&scene, out, "researcher"))["rebuttal-letter"]
            .0
            .clone()
    };
    let (kept, reset) = (
        played("kept", &[]),
        played("reset", &["--set", "state.reset=session"]),
    );
    let apps = |begun: &Value| -> Vec<usize> {
        let inputs = begun["inputs"].as_array().unwrap().iter();
        inputs.map(|input| texts(&input["apps"]).len()).collect()
    };
    assert!(apps(&kept).iter().sum::<usize>() > 0, "{kept}");
    assert_eq!(apps(&reset).iter().sum::<usize>(), 0);
    assert_ne!(kept["apps"], reset["apps"], "the apps hold other records");
    assert_eq!(
        kept["changes"], reset["changes"],
        "and the workspace the same files"
    );
}

/// A session counts on its persona, its group and itself alone; played without its group, on what that brings. Personas share
/// nothing, so that one session of each is played in a run.
#[test]
fn every_session_finds_its_material_when_it_is_chosen_alone() {
    let scene = Scene::new();
    let suite = load(camino::Utf8Path::from_path(&embedded()).unwrap());
    let personas = suite.unwrap().suite.personas;
    let most = personas.iter().map(|persona| persona.sessions.len()).max();
    let (mut given, mut second) = (BTreeSet::new(), BTreeSet::new());
    for nth in 0..most.unwrap() {
        let chosen = personas.iter().filter_map(|persona| {
            let session = persona.sessions.get(nth)?;
            Some((persona, session))
        });
        let chosen: Vec<_> = chosen.collect();
        let mut args = vec!["--agent", "reference"];
        for (_, session) in &chosen {
            args.extend(["--session", session.id.as_str()]);
        }
        let run = format!("alone-{nth}");
        scene.play_all(&run, &args);
        for (persona, session) in chosen {
            second.extend(session.depends_on.iter().skip(1).cloned());
            if is_given_its_group(persona, &session.id, &events(&scene, &run, &persona.id)) {
                given.insert(session.id.clone());
            }
        }
    }
    // The second session of each group of three; a final session has its group played.
    assert!(!second.is_empty());
    assert_eq!(given, second);
}

/// Whether a session that was chosen alone got what its group brings. What it looked for in vain is what the group makes.
fn is_given_its_group(persona: &Persona, session: &str, events: &[Value]) -> bool {
    let (begun, _) = &started(events)[session];
    let inputs = begun["inputs"].as_array().into_iter().flatten();
    let members: Vec<&str> = inputs.map(|one| one["session"].as_str().unwrap()).collect();
    for (id, record) in refused(events) {
        let path = record["arguments"]["path"].as_str().unwrap_or_default();
        let sessions = persona.sessions.iter();
        let mut members = sessions.filter(|one| members.contains(&one.id.as_str()));
        let is_result = members.any(|one| made(one).any(|made| made == path));
        assert!(is_result && record["tool"] == "read_file", "{id}: {record}");
    }
    !members.is_empty()
}

#[test]
fn what_a_group_brings_is_staged_once_for_all_of_it() {
    let scene = Scene::new().with_short();
    scene.replace(
        "tasks/personas/law_trainee/persona.toml",
        "[\"saltmarsh-chronology\", \"saltmarsh-exhibit\"]",
        "[\"saltmarsh-chronology\", \"saltmarsh-exhibit\", \"corrie-extension\"]",
    );
    let corrie = "tasks/personas/law_trainee/sessions/corrie-extension/session.toml";
    let text = std::fs::read_to_string(scene.path(corrie)).unwrap();
    let (start, rest) = text.split_once("\n[[checklist]]").unwrap();
    let (_, end) = rest.split_once("\n[[reference]]").unwrap();
    scene.write(corrie, &format!("{start}\n[[reference]]{end}"));
    let args = ["run", "tasks/suite.toml", "--agent", "nop", "--out", "run"];
    let sessions = [
        "--session",
        "saltmarsh-exhibit",
        "--session",
        "corrie-extension",
    ];
    expect(&scene.run(&[&args[..], &sessions].concat()), 0, &[]);
    let started = started(&events(&scene, "run", "law_trainee"));
    let inputs = &started["saltmarsh-exhibit"].0["inputs"];
    assert_eq!(inputs[0]["session"], "saltmarsh-chronology");
    assert_eq!(started["corrie-extension"].0["inputs"], Value::Null);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
}

/// Figure 5: what is lost without the earlier sessions is foresight first, and little of what is done in the end.
#[test]
fn every_final_of_the_embedded_suite_loses_proactivity_first() {
    let scene = Scene::new();
    let suite = embedded();
    let run = [
        "run",
        suite.to_str().unwrap(),
        "--agent",
        "reference",
        "--json",
    ];
    let output = scene.run(&[&run[..], &ABLATE].concat());
    expect(&output, 0, &[]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finals = results["sessions"].as_array().unwrap();
    assert_eq!(finals.len(), 30);
    let mut comp = 0.0;
    for session in finals {
        assert!(session["proc"].as_f64().unwrap() <= 80.0, "{session}");
        comp += session["comp"].as_f64().unwrap() / 30.0;
    }
    assert!(comp > 95.0, "{comp}");
}

#[test]
fn a_choice_that_leaves_nothing_to_play_is_refused() {
    let scene = Scene::new();
    let suite = embedded();
    let run = |args: &[&str]| {
        let first = ["run", suite.to_str().unwrap(), "--agent", "nop"];
        scene.run(&[&first, args].concat())
    };
    let first = ["--session", "desk-needs"];
    expect(
        &run(&[&first[..], &ABLATE].concat()),
        2,
        &[
            "find anything to play: without dependencies",
            "desk-needs is none",
        ],
    );
    expect(
        &run(&[&first[..], &["--persona", "law_trainee"]].concat()),
        2,
        &["desk-needs is of researcher, and persona law_trainee was asked for"],
    );
    assert!(!scene.path("runs").exists(), "nothing is made");
    let last = ["--session", "desk-order", "--persona", "researcher"];
    expect(&run(&[&last[..], &ABLATE].concat()), 0, &["1 session"]);
}
