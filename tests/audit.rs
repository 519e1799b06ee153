//! Looking at the judges of a run: doubtful moves of the simulator, and a sample judged again.

use pibench_suite::suite::Grading;
use regex::Regex;
use serde_json::{Value, json};

use wiremock::{Request, ResponseTemplate};

use crate::models::{is_known, play, run, server};
use crate::scene::{Scene, expect, files, first_persona, flowed, root, short, stderr};
use crate::verify::{find, verify_forged};

const ALL: [&str; 6] = [
    "--agent", "openai/m", "--user", "openai/m", "--judge", "openai/m",
];

/// Says no where the other judge says yes, and the other way round; but not to what nobody can have done.
fn contrary(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let same = play(request);
    if body["tools"].is_array() {
        return same;
    }
    let prompt = body["messages"][1]["content"].as_str().unwrap();
    let system = body["messages"][0]["content"].as_str().unwrap();
    let text = crate::models::judge(system, prompt);
    let block = Regex::new(r"(?s)(TEXT: [^\n]*)(.*?VERDICT: )(YES|NO)").unwrap();
    let flipped = block.replace_all(&text, |found: &regex::Captures<'_>| {
        let known = is_known(prompt, found[1].trim_start_matches("TEXT: "));
        let verdict = if known || &found[3] == "YES" {
            "NO"
        } else {
            "YES"
        };
        format!("{}{}{verdict}", &found[1], &found[2])
    });
    crate::models::text(&flipped)
}

fn played(scene: &Scene, server: &wiremock::MockServer) {
    let suite = short();
    let suite = suite.to_str().unwrap();
    let first = [
        "run",
        suite,
        "--persona",
        "law_trainee",
        "--runs",
        "2",
        "--out",
        "run",
    ];
    expect(
        &run(scene, &[&first[..], &ALL[..]].concat(), server),
        0,
        &[],
    );
}

fn audit(scene: &Scene, server: &wiremock::MockServer, more: &[&str]) -> Value {
    let first = ["audit", "run", "--judge", "openai/m", "--json"];
    let output = run(scene, &[&first[..], more].concat(), server);
    expect(&output, 0, &[]);
    serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].clone()
}

/// What both judges said in an audit: of rubric items, or of intents.
fn both<'a>(found: &'a Value, key: &str) -> Vec<&'a Value> {
    let sessions = found["sessions"].as_array().unwrap().iter();
    let both = sessions.flat_map(|one| one[key].as_array().unwrap());
    both.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_by_the_same_judge_agrees_and_by_a_contrary_one_does_not() {
    let scene = Scene::new();
    let same = server(play).await;
    played(&scene, &same);
    let before = files(&scene.path("run"));
    let found = audit(&scene, &same, &[]);
    let all = 2 * first_persona().sessions.len();
    assert_eq!([&found["sampled"], &found["of"]], [all, all]);
    for key in ["checklist", "intents"] {
        assert_eq!(found[key]["disagreements"], 0);
    }
    let seal = blake3::hash(&std::fs::read(scene.path("run/seal.json")).unwrap());
    let audited = json!([{ "folder": "run", "seal": seal.to_hex().as_str() }]);
    assert_eq!((&found["runs"], &found["seed"]), (&audited, &1.into()));
    let items = found["checklist"]["judgements"].as_u64().unwrap();
    let intents = found["intents"]["judgements"].as_u64().unwrap();
    assert!(items > 0 && intents > 0, "{found}");
    // What it is made of.
    let one = &found["sessions"][0];
    let named = [&one["folder"], &one["persona"]].map(Value::as_str);
    assert_eq!(named, [Some("run"), Some("law_trainee")]);
    assert!(one["run"].is_u64() && one["session"].is_string(), "{one}");
    for key in ["checklist", "intents"] {
        let both = both(&found, key);
        assert_eq!(found[key]["judgements"], both.len());
        assert!(both.iter().all(|one| one["first"] == one["second"]));
    }

    let other = server(contrary).await;
    let found = audit(&scene, &other, &[]);
    assert_eq!(
        found["checklist"]["disagreements"], items,
        "every rubric item was met before"
    );
    assert_eq!(
        found["intents"]["disagreements"], intents,
        "none was satisfied before"
    );
    assert_eq!(found["intents"]["rate"], 100.0);
    for key in ["checklist", "intents"] {
        let both = both(&found, key);
        assert!(both.iter().all(|one| one["first"] != one["second"]));
        assert!(both.iter().any(|one| one["reason"].is_string()), "{found}");
    }
    assert!(
        found["intents"]["kappa"].as_f64().unwrap() <= 0.0,
        "{found}"
    );

    let sample = audit(&scene, &same, &["--sample", "3"]);
    assert_eq!(
        (&sample["sampled"], &sample["of"]),
        (&3.into(), &all.into())
    );
    assert_eq!(
        files(&scene.path("run")),
        before,
        "no audit changes the run"
    );
    let output = run(
        &scene,
        &["audit", "run", "--judge", "openai/m", "--judge", "openai/n"],
        &same,
    );
    expect(&output, 0, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "openai/n",
        &format!("{all} of {all}"),
        "checklist (Comp)",
        "intents (Proc)",
        "0.00 %",
        "kappa",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    let widths = said.lines().map(|line| line.chars().count());
    assert!(widths.max() <= Some(80), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_judges_has_its_vote_in_the_record_and_one_alone_has_none() {
    let scene = Scene::new();
    let server = server(play).await;
    let suite = short();
    let suite = suite.to_str().unwrap();
    let two = ["--judge", "openai/m", "--judge", "openai/n"];
    for (out, judges) in [("one", &two[..2]), ("run", &two[..])] {
        let first = ["run", suite, "--session", "corrie-extension", "--out", out];
        let played = run(&scene, &[&first[..], judges].concat(), &server);
        expect(&played, 0, &[]);
        expect(&scene.run(&["verify", out]), 0, &[]);
        let journal = scene.path(out).join("journal/law_trainee.r1.jsonl");
        let journal = std::fs::read_to_string(journal).unwrap();
        let votes = r#"[{"judge":"openai/m","pass":true},{"judge":"openai/n","pass":true}]"#;
        let told = journal.contains(&format!("\"votes\":{votes}"));
        assert_eq!(told, out == "run", "{out}");
        assert_eq!(journal.contains("\"votes\""), out == "run", "{out}");
        let table = format!("{out}.jsonl");
        let export = ["export", out, "--format", "jsonl", "--out", &table];
        expect(&scene.run(&export), 0, &[]);
        let rows = std::fs::read_to_string(scene.path(&table).join("verdicts.jsonl")).unwrap();
        let rows = rows
            .lines()
            .map(|row| serde_json::from_str::<Value>(row).unwrap());
        let (of_panel, of_one): (Vec<_>, Vec<_>) = rows.partition(|row| row["votes"].is_string());
        assert_eq!(
            of_panel.iter().any(|row| row["votes"] == votes),
            out == "run"
        );
        assert_eq!(of_panel.is_empty(), out == "one");
        // A rule has no judge.
        assert!(of_one.iter().all(|row| row["votes"].is_null()) && !of_one.is_empty());
    }
    let has_votes = |item: &Value| item["votes"].is_array();
    let said = verify_forged(&scene, |turn| {
        let item = find(turn, "items", has_votes);
        item.map(|item| item["votes"][0]["pass"] = false.into())
            .is_some()
    });
    let other = "give other votes than the record";
    assert!(said.contains(other), "{said}");
    // The second judge is taken away from the replies.
    let said = verify_forged(&scene, |turn| {
        let Some(item) = find(turn, "items", has_votes) else {
            return false;
        };
        let blobs = scene.path("copy/blobs");
        let replies = std::fs::read(blobs.join(item["exchange"].as_str().unwrap())).unwrap();
        let replies: Vec<Value> = serde_json::from_slice(&replies).unwrap();
        let first = serde_json::to_vec(&replies[..1]).unwrap();
        let name = blake3::hash(&first).to_hex().to_string();
        std::fs::write(blobs.join(&name), first).unwrap();
        item["exchange"] = name.into();
        true
    });
    let other = "are not those of the models that the manifest names, one of each";
    assert!(said.contains(other), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_whose_judge_cannot_be_read_names_the_session() {
    let scene = Scene::new();
    let same = server(play).await;
    played(&scene, &same);
    let silent = server(|_| crate::models::text("Looks fine!")).await;
    let output = run(
        &scene,
        &["audit", "run", "--judge", "openai/m", "--sample", "1"],
        &silent,
    );
    expect(
        &output,
        8,
        &["failed to judge law_trainee/", "in 5 attempts"],
    );
    expect(
        &run(&scene, &["audit", "run", "--judge", "lexical"], &same),
        2,
        &["want a model"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_names_the_moves_of_a_vague_user() {
    let scene = Scene::new();
    // Its user says "As I said, I want it done properly." whatever it has to tell.
    let server = server(play).await;
    played(&scene, &server);
    let output = scene.run(&["review", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("did not tell the intent (intent `") && said.contains("[blobs/"),
        "{said}"
    );
    let all = 2 * first_persona().sessions.len();
    assert!(said.contains(&format!("run: {all} sessions, ")), "{said}");
    let output = scene.run(&["review", "run", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = &list.as_array().unwrap()[0];
    assert_eq!((&one["doubt"], &one["turn"]), (&"untold".into(), &1.into()));
    let blob = format!("run/blobs/{}", one["exchange"].as_str().unwrap());
    assert!(
        std::fs::read_to_string(scene.path(&blob))
            .unwrap()
            .contains("answer.md")
    );
}

#[test]
fn a_scripted_run_tells_intents_word_for_word_and_has_nothing_doubtful() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive", "--persona", "law_trainee"]);
    let output = scene.run(&["review", "run"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = first_persona().sessions.len();
    let wanted = format!("run: {all} sessions, 0 doubtful moves");
    assert!(said.contains(&wanted), "{said}");
}

/// The questions of a sheet: id, and whether it is of an intent.
fn questions(page: &str) -> Vec<(String, bool)> {
    let field = Regex::new(r#"data-item="([0-9a-f]+)"><legend>([^<]*)"#).unwrap();
    let found = field.captures_iter(page);
    found
        .map(|found| (found[1].to_owned(), found[2].contains("wish")))
        .collect()
}

/// A file of verdicts on a sheet: these words for items and for intents.
fn verdicts(page: &str, item: &str, intent: &str) -> String {
    let sheet = Regex::new(r#"data-sheet="([0-9a-f]+)""#).unwrap();
    let sheet = &sheet.captures(page).unwrap()[1];
    let questions = questions(page);
    let lines = questions.iter().map(|(id, is_intent)| {
        let word = if *is_intent { intent } else { item };
        format!("{sheet},{id},{word}\n")
    });
    "sheet,item,verdict\n".to_owned() + &lines.collect::<String>()
}

#[test]
fn people_judge_a_sheet_blind_and_their_majority_is_a_row_of_table_6() {
    let scene = Scene::new();
    // It reads a scan.
    scene.play_all("secretive", &["--session", "lease-draft"]);
    let before = files(&scene.path("secretive"));
    let output = scene.run(&["audit", "secretive", "--sheet", "sheet.html"]);
    expect(&output, 0, &[]);
    let page = std::fs::read_to_string(scene.path("sheet.html")).unwrap();
    // Of what an agent's program tells of itself people are told what models are.
    let prompt = root().join("host/crates/engine/prompts/rubric.md");
    let claim = "is what the assistant's own program tells of itself, and nobody else saw it: it is a claim, and no evidence of an \
                 action. Changed files were found by comparison, whatever it tells.";
    for text in [&std::fs::read_to_string(prompt).unwrap(), &page] {
        assert!(flowed(text).contains(claim), "{text}");
    }
    let chosen = Regex::new("<input[^>]* checked").unwrap();
    assert!(!page.contains("secretive") && !chosen.is_match(&page));
    // Documents are shown as the text of their pages, pictures as pictures.
    assert!(page.contains("<img alt=\"\" src=\"data:image/png;base64,"));
    assert!(!page.contains("that are no text") && !page.contains("could not be read"));
    let shown = questions(&page);
    let intents = shown.iter().filter(|(_, is_intent)| *is_intent).count();
    assert!(intents > 10 && shown.len() > intents + 10, "{shown:?}");

    // The reference satisfies everything.
    scene.write("right.csv", &verdicts(&page, "yes", "completed"));
    scene.write("wrong.csv", &verdicts(&page, "no", "provided"));
    let judged = |files: &[&str]| -> Value {
        let output = scene.run(&[&["audit", "secretive", "--json", "--human"], files].concat());
        expect(&output, 0, &[]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].clone()
    };
    let alone = judged(&["wrong.csv"]);
    assert_eq!(alone["judge"], "Human expert");
    assert_eq!(alone["intents"]["disagreements"], intents);
    assert_eq!(alone["checklist"]["rate"], 100.0);
    let all = judged(&["right.csv", "wrong.csv", "right.csv"]);
    assert_eq!(all["judge"], "Human experts (3)");
    assert_eq!(all["intents"]["judgements"], intents);
    assert_eq!(all["intents"]["disagreements"], 0);
    assert_eq!(all["checklist"]["disagreements"], 0);
    let split = judged(&["right.csv", "wrong.csv"]);
    assert_eq!(split["undecided"], shown.len());
    assert_eq!(both(&split, "intents").len(), intents);
    assert_eq!(both(&split, "intents")[0]["second"], Value::Null);
    assert_eq!(split["intents"], Value::Null, "not judged is no number");

    scene.write("audit.json", &Value::from(vec![all]).to_string());
    let output = scene.run(&["report", "secretive", "--audit", "audit.json"]);
    expect(&output, 0, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("Human experts (3)"), "{said}");
    assert_eq!(files(&scene.path("secretive")), before);
}

#[test]
fn verdicts_that_cannot_be_taken_are_told_with_file_and_line() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let sheet = |out: &str, more: &[&str]| {
        let output = scene.run(&[&["audit", "run", "--sheet", out], more].concat());
        expect(&output, 0, &[]);
        std::fs::read_to_string(scene.path(out)).unwrap()
    };
    let page = sheet("sheet.html", &[]);
    let whole = verdicts(&page, "yes", "completed");
    let check = |text: &str, said: &[&str]| {
        scene.write("mine.csv", text);
        let output = scene.run(&["audit", "run", "--human", "mine.csv"]);
        expect(
            &output,
            3,
            &[&["read the verdicts of mine.csv"], said].concat(),
        );
    };
    check(
        &whole.replacen(",yes", ",", 1),
        &["line ", "has no verdict; want yes, no"],
    );
    check(
        &whole.replacen(",completed", ",yes", 1),
        &["line ", "want completed, inferred"],
    );
    let cut = &whole[..=whole.trim_end().rfind('\n').unwrap()];
    check(cut, &["1 of ", "questions have no verdict"]);
    let other = sheet("other.html", &["--sample", "2"]);
    check(
        &verdicts(&other, "yes", "completed"),
        &["line 2: it is of the sheet"],
    );
    expect(
        &scene.run(&["audit", "run", "--human", "none.csv"]),
        3,
        &["read none.csv"],
    );
    expect(
        &scene.run(&["audit", "run", "--sheet", "sheet.html"]),
        4,
        &["is there already"],
    );
    expect(&scene.run(&["audit", "run"]), 2, &["--judge"]);
    expect(
        &scene.run(&["audit", "run", "run", "--sheet", "x.html"]),
        2,
        &["name each run once"],
    );
}

#[test]
fn a_folder_of_several_agents_is_sampled_over_all_of_them() {
    let scene = Scene::new();
    let agents = [
        "--persona",
        "law_trainee",
        "--agent",
        "reference",
        "--agent",
        "nop",
    ];
    let suite = short();
    let first = ["run", suite.to_str().unwrap(), "--out", "both"];
    expect(&scene.run(&[&first[..], &agents].concat()), 0, &[]);
    let sheet = |name: &str, runs: &[&str], sample: &str| {
        let args = [&["audit"], runs, &["--sample", sample, "--sheet", name]].concat();
        expect(&scene.run(&args), 0, &[]);
        std::fs::read_to_string(scene.path(name)).unwrap()
    };
    let all = sheet("all.html", &["both"], "120");
    let played = 2 * first_persona().sessions.len();
    assert_eq!(all.matches("<section").count(), played);
    let some = sheet("some.html", &["both"], "4");
    // Each answers in its own way, two sessions each.
    assert_eq!(some.matches("<section").count(), 4);
    let silent = some
        .split("<section")
        .filter(|one| one.contains("<pre dir=\"auto\">OK.</pre>"));
    assert_eq!(silent.count(), 2);
    let named = sheet("named.html", &["both/nop", "both/reference"], "4");
    assert_eq!(named, some, "no order of runs has a part");
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_are_held_against_the_verdicts_of_models() {
    let scene = Scene::new().with_short();
    let server = server(play).await;
    let first = ["run", "tasks/suite.toml", "--runs", "1", "--out", "run"];
    let output = run(&scene, &[&first[..], &ALL[..]].concat(), &server);
    expect(&output, 0, &[]);
    let against = || {
        let one = ["check", "tasks", "--session", "corrie-extension"];
        let output = scene.run(&[&one[..], &["--against", "run"]].concat());
        expect(&output, 0, &[]);
        String::from_utf8(output.stdout).unwrap()
    };
    // The model has done nothing, and its judge says yes to every item and to no intent.
    let text = against();
    let persona = first_persona();
    let items = persona.sessions.iter().flat_map(|session| {
        let items = session.checklist.iter();
        items.filter(|item| !matches!(item.grading, Grading::Rule(_)))
    });
    let items = items.count();
    let said = format!("(100.0%) of intents and 0 of {items} (0.0%) of rubrics.");
    assert!(text.contains(&said), "`{said}` is not in:\n{text}");
    assert!(text.contains("corrie-extension, run 1, gauge-log: met, by patterns not met"));

    // What it came to is kept beside the suite, and three plays that met nothing say so; two agree by chance.
    let one = ["check", "tasks", "--session", "corrie-extension"];
    let output = scene.run(&[&one[..], &["--against", "run", "--pilot", "a"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let from = text.find("version = 1\n").unwrap();
    let to = text.find("tasks: 0 errors").unwrap();
    let pilot = &text[from..to];
    let (_, again) = pilot.split_once('\n').unwrap();
    let named = |id: &str| again.replace("id = \"a\"", &format!("id = \"{id}\""));
    let warned = "was met in no pilot: it tells no agents apart; and";
    let two = format!("{pilot}\n{}", named("b"));
    scene.write("tasks/pilots.toml", &two);
    let output = scene.run(&one);
    expect(&output, 0, &[]);
    assert!(!stderr(&output).contains(warned));
    scene.write("tasks/pilots.toml", &format!("{two}\n{}", named("c")));
    let output = scene.run(&one);
    expect(&output, 0, &[warned, "pilots.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    // A line for each play.
    let line = "| law_trainee/corrie-extension     |     6 |     0 of 5 |  0.0 | 60.0 |\n";
    assert_eq!(text.matches(line).count(), 3, "{text}");
    std::fs::remove_file(scene.path("tasks/pilots.toml")).unwrap();

    // Patterns may change after the run; a session that asks for something else is left out.
    let session = "tasks/personas/law_trainee/sessions/saltmarsh-exhibit/session.toml";
    scene.replace(
        session,
        "no paper begins again at one",
        "no paper begins at one again",
    );
    let text = against();
    assert!(
        text.contains("saltmarsh-exhibit, run 1: left out"),
        "{text}"
    );

    let played = ["run", "tasks/suite.toml", "--out", "patterns"];
    expect(&scene.run(&played), 0, &[]);
    let output = scene.run(&["check", "tasks", "--against", "patterns"]);
    expect(&output, 2, &["patterns judged it"]);
}
