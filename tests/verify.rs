//! A finished run verifies; with any byte changed it does not.

use serde_json::{Value, json};

use crate::models::{play, run, server};
use crate::scene::{
    Scene, assert_fits, copy, expect, files, first_persona, flowed, output, short, stderr,
};

#[test]
fn a_finished_run_verifies() {
    let scene = Scene::new();
    let sessions = format!("{} sessions", 2 * first_persona().sessions.len());
    for (agent, protocol) in [
        ("reference", "paper"),
        ("reactive", "paper"),
        ("cheat", "pi-bench"),
    ] {
        let out = format!("{agent}-{protocol}");
        scene.play(
            &out,
            &["--agent", agent, "--protocol", protocol, "--runs", "2"],
        );
        let output = scene.run(&["verify", &out]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_fits(&said);
        let said = flowed(&said);
        assert!(
            said.contains(&sessions) && said.contains("every score follows"),
            "{said}"
        );
    }
}

/// As a host wrote them before protocol and scaffold were told there, or as somebody who takes them out.
#[test]
fn results_that_leave_something_out_are_named_and_can_be_written_anew() {
    let scene = Scene::new();
    let args = ["--protocol", "pi-bench", "--session", "saltmarsh-exhibit"];
    scene.play("run", &args);
    let text = |path: &str| std::fs::read_to_string(scene.path(path)).unwrap();
    let told = text("run/results.json");
    let seal = text("run/seal.json");
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let (protocol, scaffold) = (
        "  \"protocol\": \"pi-bench\",\n",
        "  \"scaffold\": \"nanobot-0.1.5\",\n",
    );
    assert!(told.contains(protocol) && told.contains(scaffold), "{told}");
    let less = told.replace(protocol, "").replace(scaffold, "");
    let other = told.replace(protocol, "  \"protocol\": \"paper\",\n");
    for (results, problem) in [
        (&told, "every score follows"),
        (&other, "its scores are not those of the journals"),
        (
            &less,
            "it leaves out `protocol` and `scaffold`, which follows from the journals",
        ),
    ] {
        scene.write("run/results.json", results);
        let seal = seal.replace(&digest(&told), &digest(results));
        scene.write("run/seal.json", &seal);
        let output = scene.run(&["verify", "run"]);
        let said = flowed(&String::from_utf8_lossy(&output.stdout));
        assert!(said.contains(problem), "{said}");
        assert_eq!(output.status.success(), *results == told, "{said}");
    }
    for name in ["results.json", "seal.json"] {
        std::fs::remove_file(scene.path("run").join(name)).unwrap();
    }
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert_eq!(text("run/results.json"), told);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    // What goes on with a run makes none of these anew.
    let grade = ["grade", "run", "--out", "graded"];
    for (made, again) in [
        (
            grade,
            "wrote it, remove results.json and seal.json: the same `pibench-host grade ",
        ),
        (
            ["publish", "run", "--out", "shown"],
            "wrote it, `pibench-host publish RUN --out DIR` makes the folder anew",
        ),
    ] {
        expect(&scene.run(&made), 0, &[]);
        let [results, seal] = ["results", "seal"].map(|name| format!("{}/{name}.json", made[3]));
        let whole = text(&results);
        let less = whole.replace(protocol, "").replace(scaffold, "");
        scene.write(&results, &less);
        scene.write(&seal, &text(&seal).replace(&digest(&whole), &digest(&less)));
        let output = scene.run(&["verify", made[3]]);
        expect(&output, 3, &[]);
        let said = flowed(&String::from_utf8_lossy(&output.stdout));
        assert!(said.contains(again) && !said.contains("--resume"), "{said}");
    }
    for name in ["results.json", "seal.json"] {
        std::fs::remove_file(scene.path("graded").join(name)).unwrap();
    }
    expect(&scene.run(&grade), 0, &[]);
    assert_eq!(text("graded/results.json"), told);
    expect(&scene.run(&["verify", "graded"]), 0, &[]);
}

/// One byte in the middle of every file, and one more at the end of the seal, which nothing else covers.
#[test]
fn a_changed_byte_in_any_file_is_found() {
    let scene = Scene::new();
    scene.play("run", &["--session", "saltmarsh-exhibit"]);
    let proved = |name: &str| !["lock", "log.jsonl"].contains(&name);
    let mut changed = Vec::new();
    for (name, mut content) in files(&scene.path("run")) {
        if name == "seal.json" {
            changed.push((name.clone(), [&content[..], b" "].concat()));
        }
        if proved(&name) {
            let middle = content.len() / 2;
            content[middle] ^= 1;
            changed.push((name, content));
        }
    }
    let mut tried = 0;
    for (name, content) in changed {
        let copied = scene.path("copy");
        let _ = std::fs::remove_dir_all(&copied);
        copy(&scene.path("run"), &copied);
        std::fs::write(copied.join(&name), content).unwrap();
        let output = scene.run(&["verify", "copy"]);
        assert_ne!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        tried += 1;
    }
    assert!(tried > 8, "{tried}");
}

/// A forged journal whose hashes are right again is found by its content.
#[test]
fn a_score_that_does_not_follow_is_found() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop"]);
    let journal = "run/journal/law_trainee.r1.jsonl";
    forge(&scene, journal, |event| {
        if event["event"] == "session_finished" {
            event["proc"] = 1.0.into();
            for intent in event["intents"].as_array_mut().unwrap() {
                intent["status"] = "completed".into();
            }
        }
    });
    let output = scene.run(&["verify", "run"]);
    expect(&output, 3, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_fits(&said);
    let said = flowed(&said);
    assert!(said.contains("do not follow from its turns"), "{said}");
}

/// A record that has more turns than its session, or problems without end, costs whoever looks at it no more than another.
#[test]
fn turns_after_a_session_are_not_graded_and_problems_without_end_are_counted() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop"]);
    let verified = |code: i32| -> Value {
        let output = scene.run(&["verify", "run", "--json"]);
        expect(&output, code, &[]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let told = |found: &Value, part: &str| {
        let problems = found["problems"].as_array().unwrap().iter();
        problems
            .filter(|problem| problem.as_str().unwrap().contains(part))
            .count()
    };
    let honest = verified(0);
    let journal = "run/journal/law_trainee.r1.jsonl";
    let text = std::fs::read_to_string(scene.path(journal)).unwrap();
    // The last turn of each session once more, with and without its end.
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(line.to_owned());
        let end = "\"outcome\":\"complete\"";
        if line.contains("\"event\":\"turn\"") && line.contains(end) {
            lines.push(line.replace(end, "\"outcome\":null"));
            lines.push(line.to_owned());
        }
    }
    scene.write(journal, &(lines.join("\n") + "\n"));
    forge(&scene, journal, |_| ());
    let found = verified(3);
    let sessions = first_persona().sessions.len();
    assert_eq!(
        told(&found, "the session's rules have no turn here"),
        sessions,
        "{found}"
    );
    for counted in ["turns", "rules"] {
        assert_eq!(found[counted], honest[counted], "{found}");
    }
    scene.write(journal, &text);
    let invented =
        |n: usize| json!({ "item": format!("invented-{n}"), "pass": true, "reason": "" });
    forge(&scene, journal, |event| {
        if event["event"] == "turn" {
            event["items"] = (0..100).map(invented).collect();
        }
    });
    let found = verified(3);
    assert_eq!(
        told(&found, "and is not graded in this turn"),
        20,
        "{found}"
    );
    assert_eq!(told(&found, " more problems"), 1, "{found}");
}

/// Changes a journal's lines, and makes its chain of hashes right again.
pub(crate) fn forge(scene: &Scene, path: &str, mut change: impl FnMut(&mut Value)) {
    let path = scene.path(path);
    let mut previous = blake3::hash(b"");
    let mut forged = String::new();
    for (n, line) in (1_u64..).zip(std::fs::read_to_string(&path).unwrap().lines()) {
        let mut event: Value = serde_json::from_str(line).unwrap();
        change(&mut event);
        event["n"] = n.into();
        event["prev"] = previous.to_hex().as_str().into();
        let text = event.to_string();
        previous = blake3::hash(text.as_bytes());
        forged.push_str(&text);
        forged.push('\n');
    }
    std::fs::write(&path, forged).unwrap();
}

/// In a copy of `run`, changes the first turn that `change` takes; what `verify` says of it.
pub(crate) fn verify_forged(scene: &Scene, change: impl Fn(&mut Value) -> bool) -> String {
    let _ = std::fs::remove_dir_all(scene.path("copy"));
    copy(&scene.path("run"), &scene.path("copy"));
    let mut is_done = false;
    forge(scene, "copy/journal/law_trainee.r1.jsonl", |event| {
        is_done = is_done || (event["event"] == "turn" && change(event));
    });
    assert!(is_done, "no turn has it");
    let output = scene.run(&["verify", "copy"]);
    expect(&output, 3, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_fits(&said);
    flowed(&said)
}

/// The first entry of a turn's list that `is_it` says.
pub(crate) fn find<'v>(
    turn: &'v mut Value,
    list: &str,
    is_it: impl Fn(&Value) -> bool,
) -> Option<&'v mut Value> {
    let entries = turn.get_mut(list)?.as_array_mut()?;
    entries.iter_mut().find(|entry| is_it(entry))
}

/// The last judgement of a turn, which changed no status, is missed where it is taken away.
fn assert_judgement_is_missed(scene: &Scene) {
    let said = verify_forged(scene, |turn| {
        let judgements = turn.get_mut("judgements").and_then(Value::as_array_mut);
        judgements.and_then(Vec::pop).is_some()
    });
    let other =
        "the user agent judges each intent that is open, and the record has other judgements";
    assert!(said.contains(other), "{said}");
}

/// A turn names each item once, and those that were graded in it.
#[test]
fn a_second_verdict_beside_the_true_one_is_found() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "nop"]);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    let add = |turn: &mut Value, name: Option<&str>| {
        let Some(items) = turn.get_mut("items").and_then(Value::as_array_mut) else {
            return false;
        };
        let mut verdict = items[0].clone();
        verdict["pass"] = true.into();
        if let Some(name) = name {
            verdict["item"] = name.into();
        }
        items.insert(0, verdict);
        true
    };
    let said = verify_forged(&scene, |turn| add(turn, None));
    assert!(said.contains("has two verdicts"), "{said}");
    let said = verify_forged(&scene, |turn| add(turn, Some("unheard-of")));
    let wrong = "item `unheard-of` has a verdict, and is not graded in this turn";
    assert!(said.contains(wrong), "{said}");
    assert_judgement_is_missed(&scene);
    // Nobody goes on from it.
    let text = std::fs::read_to_string(scene.path("run/journal/law_trainee.r1.jsonl")).unwrap();
    let is_graded = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["event"] == "turn" && event.get("items").is_some()
    };
    let turn = text.lines().position(is_graded);
    let lines: Vec<&str> = text.lines().take(turn.unwrap() + 1).collect();
    scene.write(
        "run/journal/law_trainee.r1.jsonl",
        &(lines.join("\n") + "\n"),
    );
    copy(&scene.path("run"), &scene.path("honest"));
    forge(&scene, "run/journal/law_trainee.r1.jsonl", |event| {
        if event["event"] == "turn" {
            add(event, None);
        }
    });
    let output = scene.run(&["run", "--resume", "run"]);
    assert_ne!(output.status.code(), Some(0));
    let said = flowed(&stderr(&output));
    assert!(said.contains("has two verdicts"), "{said}");
    expect(&scene.run(&["run", "--resume", "honest"]), 0, &[]);
}

/// What a model judged follows from its replies, and a status from what was judged.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_models_replies_do_not_say_is_found() {
    let scene = Scene::new();
    let server = server(play).await;
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--runs",
        "1",
        "--out",
        "run",
    ];
    let roles = [
        "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
    ];
    let args = [&args[..], &roles].concat();
    expect(&run(&scene, &args, &server), 0, &[]);
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    let by_model = |entry: &Value| entry["exchange"].is_string();
    let by_rule = |entry: &Value| !by_model(entry);
    let without = |is_it: &dyn Fn(&Value) -> bool| {
        verify_forged(&scene, |turn| {
            let items = turn.get_mut("items").and_then(Value::as_array_mut);
            let removed = items.and_then(|items| {
                let place = items.iter().position(is_it)?;
                Some(items.remove(place))
            });
            removed.is_some()
        })
    };
    let said = without(&by_model);
    let lacks = "is graded in this turn, and has no verdict";
    assert!(said.contains(lacks), "{said}");
    let said = without(&by_rule);
    assert!(said.contains("and the record says otherwise"), "{said}");
    assert_judgement_is_missed(&scene);
    let flip = |list: &'static str, key: &'static str| {
        verify_forged(&scene, |turn| {
            let entry = find(turn, list, by_model);
            entry
                .map(|entry| entry[key] = (!entry[key].as_bool().unwrap()).into())
                .is_some()
        })
    };
    let said = flip("items", "pass");
    assert!(said.contains("say yes, and the record says no"), "{said}");
    let said = flip("judgements", "yes");
    assert!(said.contains("say no, and the record says yes"), "{said}");
    assert!(
        said.contains("does not follow from what the user agent found"),
        "{said}"
    );
    for list in ["items", "judgements"] {
        let said = verify_forged(&scene, |turn| {
            let entry = find(turn, list, by_model).and_then(Value::as_object_mut);
            entry.map(|entry| entry.remove("exchange")).is_some()
        });
        assert!(
            said.contains("no reply of the model that judged it"),
            "{said}"
        );
    }
    let said = verify_forged(&scene, |turn| {
        let number = turn["turn"].clone();
        turn["intents"] = json!([{ "turn": number, "intent": 0, "status": "completed" }]);
        true
    });
    assert!(
        said.contains("does not follow from what the user agent found"),
        "{said}"
    );
}

/// Nothing is wrong with a run that is under way: what there is of it is checked.
#[test]
fn a_run_that_is_not_over_verifies_as_far_as_it_goes() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive", "--runs", "2"]);
    let verify = |code: i32| {
        let output = scene.run(&["verify", "run"]);
        expect(&output, code, &[]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_fits(&said);
        flowed(&said)
    };
    let path = |run: u32| scene.path(&format!("run/journal/law_trainee.r{run}.jsonl"));
    let text = std::fs::read_to_string(path(1)).unwrap();
    let results = std::fs::read(scene.path("run/results.json")).unwrap();
    // That of a run which was played to its end is missed.
    std::fs::remove_file(scene.path("run/results.json")).unwrap();
    assert!(verify(3).contains("results.json"));
    // As a process leaves it that is killed in a turn.
    let half = text.match_indices("\"event\":\"turn\"").nth(1).unwrap().0;
    std::fs::write(path(1), &text[..half + 40]).unwrap();
    std::fs::remove_file(path(2)).unwrap();
    // What was sealed was over.
    assert!(verify(3).contains("law_trainee.r1.jsonl"));
    std::fs::remove_file(scene.path("run/seal.json")).unwrap();
    let said = verify(6);
    for part in [
        "as far as it goes: the run is not played to its end (2 episodes left)",
        "`pibench-host run --resume run`",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
    let json = scene.run(&["verify", "run", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["unfinished"], &json["problems"]),
        (&2.into(), &Value::Array(Vec::new()))
    );
    // What is there is checked.
    let forged = text[..half + 40].replacen("law_trainee", "law_trainer", 1);
    std::fs::write(path(1), forged).unwrap();
    assert!(verify(3).contains("law_trainee.r1.jsonl"));
    std::fs::write(path(1), &text[..half + 40]).unwrap();
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert!(verify(0).contains("every score follows"));
    let again = std::fs::read(scene.path("run/results.json")).unwrap();
    assert_eq!(again, results);
}

/// Wherever a file is added, it is named; where nothing was, nothing is.
#[test]
fn an_added_file_is_named_wherever_it_lies() {
    let scene = Scene::new();
    scene.play("run", &["--session", "saltmarsh-exhibit"]);
    let said = |args: &[&str], code: i32| {
        let output = scene.run(args);
        expect(&output, code, &[]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    said(&["verify", "run"], 0);
    for added in [
        "notes.txt",
        "page/index.html",
        "parts/1/manifest.json",
        ".new-run-x/lock",
        "blobs/other",
        "blobs/0000000000000000000000000000000000000000000000000000000000000000",
        "journal/law_trainee.r2.jsonl",
        "journal/chunks/1.jsonl",
        "trajectories/law_trainee.r1/other.json",
        "trajectories/nobody.r1/other.json",
        "workspaces/law_trainee.r1/planted.md",
        "workspaces/law_trainee.r1/deep/er/planted.md",
        "workspaces/nobody.r1/planted.md",
    ] {
        let _ = std::fs::remove_dir_all(scene.path("copy"));
        copy(&scene.path("run"), &scene.path("copy"));
        scene.write(&format!("copy/{added}"), "planted");
        let found = said(&["verify", "copy"], 3);
        // A folder that no run has is named itself, and a file of a workspace as its owner knows it.
        let parts: Vec<&str> = added.split('/').collect();
        let name = match parts[..] {
            ["workspaces", "law_trainee.r1", ..] => &parts[2..].join("/"),
            ["workspaces", other, ..] => other,
            ["blobs" | "journal" | "trajectories", ..] => added,
            _ => parts[0],
        };
        assert!(
            found.contains(name) && found.contains("was added"),
            "{added}: {found}"
        );
    }
}

/// What a folder holds is foreign: neither its seal nor a link or pipe in it makes the program read elsewhere or wait.
#[test]
fn a_seal_that_names_what_is_no_file_of_the_run_is_not_followed() {
    let scene = Scene::new();
    scene.play("run", &["--session", "saltmarsh-exhibit"]);
    let seal = scene.path("run/seal.json");
    let text = std::fs::read_to_string(&seal).unwrap();
    let zeros = "0".repeat(64);
    let named = format!(
        "\"files\": {{\n    \"../../../../../../../../dev/zero\": \"{zeros}\",\n    \"/dev/zero\": \"{zeros}\","
    );
    let forged = text.replace("\"files\": {", &named);
    std::fs::write(&seal, forged).unwrap();
    let output = scene.run(&["verify", "run"]);
    expect(&output, 3, &[]);
    let said = flowed(&String::from_utf8(output.stdout).unwrap());
    assert!(said.contains("/dev/zero: it is gone"), "{said}");
    std::fs::write(&seal, text).unwrap();

    let timing = scene.path("run/timing.jsonl");
    std::fs::remove_file(&timing).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &timing).unwrap();
    std::os::unix::fs::symlink("/dev/zero", scene.path("run/journal/more.jsonl")).unwrap();
    let output = scene.run(&["verify", "run"]);
    expect(&output, 3, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("timing.jsonl") && said.contains("journal/more.jsonl"),
        "{said}"
    );
}

/// The suite that the program carries stands in for no other.
#[test]
fn a_suite_that_is_gone_is_named_and_no_other_takes_its_place() {
    let scene = Scene::new().with_short();
    scene.replace("tasks/suite.toml", "id = \"embedded\"", "id = \"mine\"");
    let play = ["run", "tasks/suite.toml", "--out", "run"];
    expect(&scene.run(&play), 0, &[]);
    let (there, elsewhere) = (scene.path("tasks"), scene.path("moved"));
    std::fs::rename(&there, &elsewhere).unwrap();
    let (verify, grade) = (["verify", "run"], ["grade", "run", "--out", "graded"]);
    let resume = ["run", "--resume", "run"];
    for (verb, args) in [
        ("verify", &verify[..]),
        ("grade", &grade[..]),
        ("go on with", &resume[..]),
    ] {
        let told = format!("{verb} run: its suite's file ");
        let gone = "tasks/suite.toml is not there; put it back";
        expect(&output(&mut scene.alone(args)), 3, &[&told, gone]);
    }
    for args in [&verify[..], &grade] {
        let named = [args, &["--suite", "moved/suite.toml"]].concat();
        expect(&scene.run(&named), 0, &[]);
    }
    std::fs::rename(&elsewhere, &there).unwrap();
    expect(&scene.run(&resume), 0, &[]);
    // What was changed is told as that.
    scene.replace(
        "tasks/suite.toml",
        "seed = 1",
        "seed = 1\nstate.reset = \"session\"",
    );
    let changed = "verify run: changed since it was begun: the suite's `state.reset`";
    expect(&scene.run(&verify), 3, &[changed]);
}

#[test]
fn a_policy_that_lies_elsewhere_is_asked_for_and_taken_by_name() {
    let scene = Scene::new();
    let table = "version = 1\n[limits.grader]\nfuel = ";
    scene.write("policy.toml", &format!("{table}1900000000\n"));
    let args = ["--session", "saltmarsh-exhibit", "--policy", "policy.toml"];
    scene.play("run", &args);
    std::fs::rename(scene.path("policy.toml"), scene.path("moved.toml")).unwrap();
    let (look, resume) = (["verify", "run"], ["run", "--resume", "run"]);
    let grade = ["grade", "run", "--out", "graded"];
    for (args, verb) in [
        (&look[..], "verify"),
        (&resume, "go on with"),
        (&grade, "grade"),
    ] {
        let told = format!("{verb} run: its policy's file ");
        let absent =
            "is not there; put it back (`verify` and `grade` take it from elsewhere by --policy)";
        expect(&scene.run(args), 3, &[&told, absent]);
    }
    let verify = ["verify", "run", "--policy"];
    let by = |policy: &'static str| scene.run(&[&verify[..], &[policy]].concat());
    expect(&by("moved.toml"), 0, &[]);
    let named = [&grade[..], &["--policy", "moved.toml"]].concat();
    expect(&scene.run(&named), 0, &[]);
    // Another one is not taken for it.
    scene.write("other.toml", &format!("{table}1800000000\n"));
    let changed = "verify run: changed since it was begun";
    expect(&by("other.toml"), 3, &[changed]);
}

/// Nobody is asked, so that nobody has to be known.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_verifies_without_the_suites_entries_for_its_models() {
    let scene = Scene::new().with_short();
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    let entry = "\n[models.better]\nprovider = \"openai\"\nmodel = \"m\"\n";
    scene.write("tasks/suite.toml", &(suite.clone() + entry));
    let server = server(play).await;
    let args = ["run", "tasks/suite.toml", "--runs", "1", "--out", "run"];
    let roles = ["--agent", "better", "--user", "better", "--judge", "better"];
    let args = [&args[..], &roles].concat();
    expect(&run(&scene, &args, &server), 0, &[]);
    let verify = || {
        for more in [&[][..], &["--foreign", "--suite", "tasks/suite.toml"]] {
            let args = [&["verify", "run"][..], more].concat();
            expect(&scene.run(&args), 0, &[]);
        }
    };
    verify();
    scene.write("tasks/suite.toml", &suite);
    verify();
    // Who judges again is asked, and who played is not.
    let grade = ["grade", "run", "--out", "graded"];
    expect(&scene.run(&grade), 2, &["find the model `better`"]);
    let lexical = [&grade[..], &["--judge", "lexical"]].concat();
    expect(&scene.run(&lexical), 0, &[]);
}
