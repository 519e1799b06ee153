//! Reports of real runs: every table and file, the banner of scripted runs, and text from strangers that stays text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::json_schema::JsonSchema;
use crate::models::{play as answer, run as run_models, server};
use crate::scene::{Scene, copy, expect, files, flowed, root};

/// Markup, a terminal sequence in two spellings, a turned direction, a formula, LaTeX, Markdown. It may stand in the name
/// of a file.
const HOSTILE: &str =
    "=cmd|<img src=x onerror=alert(1)>\"'&]]>{{7}}\\input{x}`*|\u{1b}[31m\u{9b}2J\u{202e}";

/// Plays one persona's episode.
fn play(scene: &Scene, out: &str, args: &[&str]) {
    scene.play(out, &[&["--persona", "law_trainee"], args].concat());
}

fn two_runs() -> Scene {
    let scene = Scene::new();
    play(&scene, "good", &["--runs", "2"]);
    play(&scene, "slow", &["--agent", "reactive", "--runs", "2"]);
    scene
}

fn read(scene: &Scene, path: &str) -> String {
    fs::read_to_string(scene.path(path)).unwrap()
}

#[test]
fn a_report_holds_every_table_and_figure_and_says_that_models_were_scripted() {
    let scene = two_runs();
    let output = scene.run(&["report", "good", "slow", "--out", "out"]);
    expect(&output, 0, &["out/index.html"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for table in 1..=8 {
        assert!(text.contains(&format!("Table {table}:")), "{text}");
    }
    assert_eq!(text, read(&scene, "out/tables.txt"));
    assert!(text.contains("published, not measured here") && text.contains("GPT-5.4"));
    assert!(text.contains("100.0 ± 0.0¹"), "{text}");
    for missing in ["No audit was given", "No real model was asked"] {
        assert!(text.contains(missing), "{text}");
    }
    let mut names = Vec::new();
    for (name, content) in files(&scene.path("out")) {
        let content = String::from_utf8(content).unwrap();
        // A table that no run supports says only why.
        let told = content.contains("Scripted models") || content.starts_with("missing\n");
        assert!(told, "{name} does not say that the models were scripted");
        names.push(name);
    }
    for name in [
        "figures/figure-3-categories.svg",
        "figures/figure-3.svg",
        "figures/figure-4.svg",
        "figures/figure-5.svg",
        "index.html",
        "tables.json",
        "tables.md",
        "tables.tex",
        "tables/certainty.csv",
        "tables/pass-k.csv",
        "tables/table-1.csv",
        "tables/table-8.csv",
    ] {
        assert!(
            names.iter().any(|one| one == name),
            "{name} is not in {names:?}"
        );
    }
    let json: Value = serde_json::from_str(&read(&scene, "out/tables.json")).unwrap();
    assert_eq!(json["tables"].as_array().unwrap().len(), 12);
    expect(
        &scene.run(&["report", "good", "--out", "out"]),
        4,
        &["it is there already"],
    );
}

#[test]
fn a_place_that_is_taken_is_told_before_any_run_is_read() {
    let scene = Scene::new();
    scene.write("out/notes.txt", "kept");
    for command in [
        &["report", "nothing"][..],
        &["export", "nothing", "--format", "jsonl"],
    ] {
        let output = scene.run(&[command, &["--out", "out"]].concat());
        expect(
            &output,
            4,
            &["write out: it is there already; choose another --out"],
        );
    }
}

/// A part and a run of another suite are no rivals of the others: it is said above the tables, in every format and on the page.
#[test]
fn runs_of_other_suites_and_parts_of_runs_are_marked() {
    let scene = Scene::new().with_short();
    scene.play("whole", &["--runs", "2"]);
    scene.play("part", &["--runs", "2", "--shard", "1/2"]);
    scene.replace(
        "tasks/suite.toml",
        "seed = 1",
        "seed = 1\nstate.reset = \"session\"",
    );
    let other = [
        "run",
        "tasks/suite.toml",
        "--agent",
        "nop",
        "--out",
        "other",
    ];
    expect(&scene.run(&other), 0, &[]);
    let report = |args: &[&str]| {
        let output = scene.run(&[&["report"], args].concat());
        expect(&output, 0, &[]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    let suites = "say nothing of each other";
    let part = "A part's scores are not those of its run";
    let alone = report(&["whole"]);
    assert!(!alone.contains(suites) && !alone.contains(part), "{alone}");
    let said = report(&["whole", "part"]);
    assert!(!said.contains(suites), "{said}");
    for told in [part, "This is so for: reference (part) (part 1/2)."] {
        assert!(said.contains(told), "`{told}` is not in: {said}");
    }
    for format in ["text", "markdown", "json", "latex"] {
        let said = report(&["whole", "other", "--format", format]);
        assert!(said.contains(suites) && !said.contains(part), "{said}");
    }
    report(&["whole", "other", "--out", "out"]);
    let page = read(&scene, "out/index.html");
    assert!(page.contains(suites), "the page does not say it");
}

#[test]
fn runs_that_were_not_played_alike_are_marked_and_none_is_the_best() {
    let scene = Scene::new();
    play(&scene, "paper", &[]);
    play(&scene, "alike", &["--agent", "nop"]);
    let other = ["--agent", "nop", "--protocol", "pi-bench"];
    play(&scene, "code", &other);
    let other = ["--agent", "nop", "--scaffold", "nanobot-0.1.4"];
    play(&scene, "tools", &other);
    let report = |other: &str| {
        let output = scene.run(&["report", "paper", other, "--format", "json"]);
        expect(&output, 0, &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let tables = json["tables"].as_array().unwrap().iter();
        let rows = tables.flat_map(|table| table["rows"].as_array().unwrap());
        let mut own = rows.filter(|row| row["origin"] == "apart");
        let ranked = own.any(|row| row.to_string().contains("\"rank\":\"best\""));
        (text, ranked)
    };
    let (text, ranked) = report("alike");
    assert!(ranked && !text.contains("not played alike"), "{text}");
    for (other, rule, marks) in [
        (
            "code",
            "protocol",
            ["(protocol paper)", "(protocol pi-bench)"],
        ),
        (
            "tools",
            "scaffold",
            ["(scaffold nanobot-0.1.5)", "(scaffold nanobot-0.1.4)"],
        ),
    ] {
        let (text, ranked) = report(other);
        assert!(!ranked, "{text}");
        let banner = format!("not played alike: they differ in {rule}");
        for told in [banner.as_str(), marks[0], marks[1]] {
            assert!(text.contains(told), "`{told}` is not in: {text}");
        }
    }
}

/// Whoever is the same on both sides makes no difference, and an agent of another name is what a report is for.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_other_judges_users_and_prompts_are_named_by_them_and_none_is_the_best() {
    let scene = Scene::new();
    let server = server(answer).await;
    let (one, other) = ("openai/m", "openai/n");
    let prompts = root().join("host/crates/agent/prompts/system.md");
    let prompts = fs::read_to_string(prompts).unwrap();
    for (folder, word) in [("first", "One."), ("second", "Two.")] {
        let file = format!("{folder}/system.md");
        scene.write(&file, &format!("{word}\n{prompts}"));
    }
    let suite = crate::scene::short();
    let suite = suite.to_str().unwrap();
    for (out, [agent, user, judge], more) in [
        ("plain", [one; 3], &[][..]),
        ("agent", [other, one, one], &[]),
        ("judge", [one, one, other], &[]),
        ("user", [one, other, one], &[]),
        ("first-run", [one; 3], &["--prompts", "first"]),
        ("second-run", [one; 3], &["--prompts", "second"]),
    ] {
        let chosen = ["--session", "corrie-extension", "--runs", "1"];
        let first = [&["run", suite, "--out", out][..], &chosen].concat();
        let roles = ["--agent", agent, "--user", user, "--judge", judge];
        let output = run_models(&scene, &[&first[..], &roles, more].concat(), &server);
        expect(&output, 0, &[]);
    }
    let report = |runs: [&str; 2]| {
        let args = ["report", runs[0], runs[1], "--format", "json"];
        let output = scene.run(&args);
        expect(&output, 0, &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let mut tables = json["tables"].as_array().unwrap().iter();
        let table = tables.find(|table| table["id"] == "table-1").unwrap();
        let rows = table["rows"].as_array().unwrap().iter();
        let mut own = rows.filter(|row| row["origin"] == "measured");
        let ranked = own.any(|row| row.to_string().contains("\"rank\":\"best\""));
        (text, ranked)
    };
    let (text, ranked) = report(["plain", "agent"]);
    assert!(ranked && !text.contains("not played alike"), "{text}");
    for (runs, what, labels) in [
        (
            ["plain", "judge"],
            "judge",
            ["(plain) (judge openai/m)", "(judge) (judge openai/n)"],
        ),
        (
            ["plain", "user"],
            "user",
            ["(plain) (user openai/m)", "(user) (user openai/n)"],
        ),
        (
            ["first-run", "second-run"],
            "agent's prompts",
            ["(first-run) (agent's prompts", "(second-run) (agent's"],
        ),
    ] {
        let (text, ranked) = report(runs);
        assert!(!ranked, "{text}");
        let banner = format!("not played alike: they differ in {what}. ");
        for told in [banner.as_str(), labels[0], labels[1]] {
            assert!(text.contains(told), "`{told}` is not in: {text}");
        }
    }
}

/// Makes of a run one that ended before its last session, as hosts of before `unplayed` told it.
pub(crate) fn leave_last_unplayed(scene: &Scene, run: &str) {
    let path = format!("{run}/results.json");
    let mut results: Value = serde_json::from_str(&read(scene, &path)).unwrap();
    let last = results["sessions"].as_array_mut().unwrap().last_mut();
    let last = last.unwrap();
    last["outcome"] = "unplayed".into();
    for score in ["proc", "proc_scored", "comp"] {
        last[score] = Value::Null;
    }
    scene.write(&path, &results.to_string());
}

#[test]
fn the_least_that_scores_can_be_is_told_where_a_session_has_none() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reference"]);
    let report = || {
        let output = scene.run(&["report", "run"]);
        expect(&output, 0, &[]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    let whole = report();
    assert!(!whole.contains("sessions are scored"), "{whole}");
    // Of a group of three, beside one that stands alone.
    leave_last_unplayed(&scene, "run");
    let path = "run/results.json";
    let mut results: Value = serde_json::from_str(&read(&scene, path)).unwrap();
    assert_eq!(results["scored"]["of"], 2);
    results["scored"]["scored"] = 1.into();
    scene.write(path, &results.to_string());
    let told = report();
    let least = "1 of 2 sessions are scored. Proc / Comp are at least 25.0 / 25.0, were the unscored counted as 0.";
    assert!(told.contains(least), "{told}");
}

/// The names of scripted runs that have a rank in some table.
fn ranked(scene: &Scene, runs: &[&str]) -> BTreeSet<String> {
    let output = scene.run(&[&["report", "--format", "json"], runs].concat());
    expect(&output, 0, &[]);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let has_rank = |cell: &Value| cell.to_string().contains("\"rank\":\"");
    let mut names = BTreeSet::new();
    for table in list(&all["tables"]) {
        let rows = list(&table["rows"]);
        for (at, column) in list(&table["columns"]).iter().enumerate() {
            let is_ranked = rows.iter().any(|row| has_rank(&row["cells"][at]));
            if column["origin"] == "apart" && is_ranked {
                names.insert(column["title"].as_str().unwrap().to_owned());
            }
        }
        for row in rows.iter().filter(|row| row["origin"] == "apart") {
            if has_rank(&row["cells"]) {
                let name = row["cells"][0]["words"].as_str().unwrap();
                names.insert(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn a_run_that_was_not_played_to_its_end_is_marked_and_ranked_nowhere() {
    let scene = Scene::new();
    for (out, agent) in [("cut", "reference"), ("slow", "reactive"), ("nop", "nop")] {
        scene.play(out, &["--agent", agent]);
    }
    let runs = ["cut", "slow", "nop"];
    assert!(ranked(&scene, &runs).contains("reference (scripted)"));
    leave_last_unplayed(&scene, "cut");
    let whole = ["nop (scripted)", "reactive (scripted)"].map(str::to_owned);
    assert_eq!(ranked(&scene, &runs), BTreeSet::from(whole));

    let output = scene.run(&["report", "cut", "slow", "nop", "--out", "out"]);
    expect(&output, 0, &[]);
    let text = read(&scene, "out/tables.json");
    for told in [
        "reference (scripted) (not played to its end)",
        "no rivals of others. This is so for: reference (3 of 4 sessions).",
    ] {
        assert!(text.contains(told), "`{told}` is not in: {text}");
    }
    assert!(!text.contains("reactive (scripted) (not"), "{text}");
    for figure in ["figure-3", "figure-3-categories", "figure-4"] {
        let figure = read(&scene, &format!("out/figures/{figure}.svg"));
        let told = figure.contains("reference (scripted) (not played to its end)");
        assert!(
            told && !figure.contains("reactive (scripted) (not"),
            "{figure}"
        );
    }
    let index = held(&read(&scene, "out/index.html"), "index");
    let mut entries = index["runs"].as_array().unwrap().iter();
    let cut = entries.find(|run| run["agent"] == "reference").unwrap();
    let told = [&cut["complete"], &cut["interrupted"], &cut["unplayed"]];
    assert_eq!(told, [&json!(false), &json!(true), &json!(1)]);
    let mark = "not played to its end: 3 of 4 sessions";
    assert_eq!(cut["marks"], json!(["scripted", mark]));
    let whole = &index["runs"][1];
    assert_eq!(whole["complete"], true, "{whole}");
    assert_eq!(whole["marks"], json!(["scripted"]));

    let compared = scene.run(&["compare", "slow", "cut"]);
    expect(&compared, 0, &[]);
    let compared = flowed(&String::from_utf8(compared.stdout).unwrap());
    for told in [
        "cut (reference, scripted, not played to its end)",
        "B was not played to its end: 3 of 4 sessions.",
    ] {
        assert!(compared.contains(told), "`{told}` is not in: {compared}");
    }
    assert!(!compared.contains("A was not played"), "{compared}");
}

#[test]
fn a_run_of_chosen_sessions_is_ranked_among_its_like_alone() {
    let scene = Scene::new();
    let chosen = ["--session", "corrie-extension"];
    for (out, agent) in [("whole", "nop"), ("slow", "reactive")] {
        scene.play(out, &["--agent", agent]);
    }
    for (out, agent) in [("some", "reference"), ("like", "nop")] {
        scene.play(out, &[&["--agent", agent], &chosen[..]].concat());
    }
    scene.play("another", &["--session", "saltmarsh-exhibit"]);
    let names = |names: [&str; 2]| BTreeSet::from(names.map(str::to_owned));
    assert_eq!(
        ranked(&scene, &["some", "whole", "slow"]),
        names(["nop (scripted)", "reactive (scripted)"])
    );
    assert_eq!(
        ranked(&scene, &["some", "like"]),
        names([
            "nop (scripted) (chosen sessions)",
            "reference (scripted) (chosen sessions)"
        ])
    );
    for none in [["some", "whole"], ["some", "another"]] {
        assert_eq!(ranked(&scene, &none), BTreeSet::new(), "{none:?}");
    }
}

#[test]
fn what_the_scripted_judges_cannot_see_is_marked_wherever_it_is_summed() {
    let scene = Scene::new();
    play(&scene, "run", &[]);
    copy(&scene.path("run"), &scene.path("blind"));
    for (file, sessions) in [
        ("results.json", "/sessions/0"),
        ("outline.json", "/personas/0/sessions/0"),
    ] {
        let path = scene.path("blind").join(file);
        let mut data: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        data.pointer_mut(sessions).unwrap()["no_offline_matcher"] = true.into();
        fs::write(&path, data.to_string()).unwrap();
    }
    let said = |args: &[&str]| {
        let output = scene.run(args);
        expect(&output, 0, &[]);
        String::from_utf8(output.stdout).unwrap()
    };
    let told = "of 1 session the scripted judges cannot see";
    for (dir, is_blind) in [("run", false), ("blind", true)] {
        let shown = said(&["show", dir]);
        for mark in ["law_trainee *", "overall *"] {
            assert_eq!(shown.contains(mark), is_blind, "{mark}: {shown}");
        }
        let compared = said(&["compare", "run", dir, "--json"]);
        assert_eq!(compared.contains(&format!("B: {told}")), is_blind);
        let report = said(&["report", dir, "--format", "json"]);
        assert_eq!(report.contains(told), is_blind, "{report}");
    }
}

#[test]
fn a_session_that_does_not_count_alone_says_so() {
    let scene = Scene::new();
    let suite = crate::scene::short();
    let first = ["run", suite.to_str().unwrap(), "--out", "run"];
    let output = scene.run(&[&first[..], &["--session", "saltmarsh-chronology"]].concat());
    expect(&output, 0, &[]);
    let table = String::from_utf8(output.stdout).unwrap();
    let report = String::from_utf8(scene.run(&["report", "run"]).stdout).unwrap();
    for said in [table, report].map(|said| flowed(&said)) {
        assert!(!said.contains("0 of 0"), "{said}");
        let told = "No session here counts by itself: of a group only the last session does.";
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn a_report_for_which_there_is_no_room_leaves_nothing_behind() {
    let scene = Scene::new();
    play(&scene, "run", &[]);
    let report = |blocks: u32, out: &str| {
        // A file of the process has at most so many blocks of 512 bytes.
        let shell = format!("trap '' XFSZ; ulimit -f {blocks}");
        let mut command = scene.command_after(&shell, &["report", "run", "--out", out]);
        command.output().unwrap()
    };
    expect(
        &report(200, "part"),
        4,
        &["write part/index.html: File too large"],
    );
    let names = || {
        fs::read_dir(scene.path("."))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
    };
    assert!(!names().any(|name| {
        let name = name.to_string_lossy();
        name == "part" || name.contains("new-report")
    }));
    expect(&report(200_000, "whole"), 0, &[]);
}

#[test]
fn a_run_that_is_not_finished_is_viewed_and_not_reported() {
    let scene = Scene::new();
    play(&scene, "run", &[]);
    fs::remove_file(scene.path("run/results.json")).unwrap();
    expect(
        &scene.run(&["report", "run"]),
        3,
        &["not played to its end", "run --resume run"],
    );
    expect(&scene.run(&["report", "nothing"]), 3, &["manifest.json"]);
}

#[test]
fn scores_so_far_are_the_scores_once_everything_is_played() {
    use pibench_report::run_record::RunRecord;
    let scene = Scene::new();
    for (out, part) in [("run", [].as_slice()), ("part", &["--shard", "2/2"])] {
        play(
            &scene,
            out,
            &[&["--agent", "cheat", "--runs", "2"], part].concat(),
        );
        let finished = RunRecord::read_finished(&scene.path(out)).unwrap();
        fs::remove_file(scene.path(out).join("results.json")).unwrap();
        let so_far = RunRecord::so_far(&scene.path(out)).unwrap();
        assert!(!so_far.complete && finished.complete);
        assert_eq!(so_far.results, finished.results, "{out}");
    }
}

#[test]
fn a_run_of_final_sessions_alone_is_drawn_beside_the_whole_one() {
    let scene = two_runs();
    play(&scene, "alone", &["--ablate", "dependencies"]);
    let output = scene.run(&["report", "good", "alone", "--out", "out"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("reference (alone) (scripted) (w/o dependencies)"),
        "{text}"
    );
    let figure = read(&scene, "out/figures/figure-5.svg");
    assert!(figure.contains("with the sessions that they depend on") && figure.contains("<rect"));
    expect(
        &scene.run(&["report", "good", "slow", "--out", "two"]),
        0,
        &[],
    );
    let figure = read(&scene, "two/figures/figure-5.svg");
    assert!(figure.contains("This needs two runs of one agent"));
}

#[test]
fn what_woke_the_agent_before_a_session_stands_with_it() {
    use pibench_report::page::episode_chunks;
    use pibench_report::run_record::RunRecord;
    let scene = Scene::new();
    play(&scene, "run", &[]);
    let journal = scene.path("run/journal/law_trainee.r1.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let second = text
        .match_indices("\"event\":\"session_started\"")
        .nth(1)
        .unwrap()
        .0;
    let at = text[..second].rfind('\n').unwrap() + 1;
    let wake = json!({ "event": "wake", "by": "job-1", "message": "It is due.", "steps": [], "changes": [] });
    let text = format!("{}{wake}\n{}", &text[..at], &text[at..]);
    fs::write(&journal, text).unwrap();
    let run = RunRecord::read_finished(&scene.path("run")).unwrap();
    let first = &run.results.sessions[0];
    let times = run.times(&first.persona, first.run);
    let chunks: Vec<Value> = episode_chunks(&run, &run.results.sessions, times).collect();
    assert_eq!(chunks[0]["wakes"], json!([]));
    assert_eq!(chunks[1]["wakes"][0]["by"], "job-1");
}

#[test]
fn evidence_that_was_opened_too_late_is_told_with_its_turn() {
    use pibench_report::page::episode_chunks;
    use pibench_report::run_record::RunRecord;
    let scene = Scene::new();
    play(&scene, "run", &["--agent", "reactive"]);
    let places = || -> Vec<[Value; 2]> {
        let run = RunRecord::read_finished(&scene.path("run")).unwrap();
        let first = &run.results.sessions[0];
        let times = run.times(&first.persona, first.run);
        let chunks: Vec<Value> = episode_chunks(&run, &run.results.sessions, times).collect();
        let missed = chunks
            .iter()
            .flat_map(|chunk| chunk["missed"].as_array().unwrap());
        let places = missed.flat_map(|one| one["places"].as_array().unwrap());
        places
            .map(|place| [place["opened"].clone(), place["late"].clone()])
            .collect()
    };
    // It works in its last turns, when all is said.
    let late = places();
    assert!(late.iter().all(|[opened, _]| opened.is_null()));
    assert!(late.iter().any(|[_, late]| late.as_u64() > Some(1)));
    assert!(late.iter().any(|[_, late]| late.is_null()));
    // The same calls, made in the first turn.
    let folder = scene.path("run/trajectories");
    for (name, content) in files(&folder) {
        let mut trajectory: Value = serde_json::from_slice(&content).unwrap();
        let turns = trajectory["turns"].as_array_mut().unwrap().iter_mut();
        for step in turns.flat_map(|turn| turn["steps"].as_array_mut().unwrap()) {
            if step["step"] == "call" {
                step["record"]["turn"] = 1.into();
            }
        }
        fs::write(folder.join(name), trajectory.to_string()).unwrap();
    }
    let early = places();
    assert!(early.iter().all(|[_, late]| late.is_null()));
    assert!(early.iter().any(|[opened, _]| *opened == 1));
}

#[test]
fn an_audit_of_a_run_that_is_shown_fills_table_6() {
    let scene = Scene::new();
    play(&scene, "run", &[]);
    play(&scene, "other", &["--agent", "nop"]);
    let axis = |rate: f64| {
        json!({
            "judgements": 200, "disagreements": 5, "rate": rate, "interval": { "low": 1.0, "high": 4.0 }, "kappa": 0.93,
        })
    };
    let audit = |run: &str| {
        let seal = fs::read(scene.path(run).join("seal.json")).unwrap();
        let seal = blake3::hash(&seal).to_hex();
        json!({
            "judge": "openai/other", "runs": [{ "folder": run, "seal": seal.as_str() }], "seed": 1, "sampled": 40, "of": 100,
            "checklist": axis(2.5), "intents": null, "cost": 1000,
        })
    };
    scene.write("audit.json", &json!([audit("run")]).to_string());
    let output = scene.run(&["report", "run", "--all", "--audit", "audit.json"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["openai/other", "40 of 100", "2.50", "1.0 to 4.0", "0.93"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let refused = |args: &[&str], code: i32, said: &[&str]| {
        let output = scene.run(&[&["report"], args].concat());
        expect(&output, code, said);
    };
    let file = ["--audit", "audit.json"];
    let foreign = ["read audit.json: it is an audit of run, and the report is of other"];
    refused(&[&["other"], &file[..]].concat(), 3, &foreign);
    let twice = ["its audit by openai/other is given already"];
    refused(&[&["run"], &file[..], &file].concat(), 2, &twice);
    // Audits of several runs say of which each is.
    scene.write("second.json", &json!([audit("other")]).to_string());
    let both = ["report", "run", "other", "--format", "json"];
    let output = scene.run(&[&both[..], &file, &["--audit", "second.json"]].concat());
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["openai/other (run)", "openai/other (other)"] {
        assert!(text.contains(name), "`{name}` is not in {text}");
    }
    // One that had no seal then was not played to its end.
    let mut changed = audit("run");
    changed["runs"][0]["seal"] = Value::Null;
    scene.write("audit.json", &json!([changed]).to_string());
    refused(&[&["run"], &file[..]].concat(), 3, &["audit it again"]);
    scene.write("audit.json", "{}");
    refused(&[&["run"], &file[..]].concat(), 3, &["read audit.json"]);
}

/// Puts the payload into every text of a document but those that are read as words of a format.
fn poison(value: &mut Value, key: &str) {
    const WORDS: [&str; 17] = [
        "outcome",
        "status",
        "kind",
        "protocol",
        "scope",
        "category",
        "stage",
        "step",
        "event",
        "style",
        "blob",
        "exchange",
        "system",
        "snapshot",
        "suite_digest",
        "clock",
        "scaffold",
    ];
    match value {
        Value::String(text) if !WORDS.contains(&key) => text.push_str(HOSTILE),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, key)),
        Value::Object(fields) => {
            // What plays a role is a word, whatever the roles are called.
            for (key, value) in fields.iter_mut().filter(|(key, _)| *key != "players") {
                poison(value, key);
            }
        }
        _ => {}
    }
}

/// A copy of a run whose every text holds the payload.
fn poisoned(scene: &Scene, from: &str, to: &str) {
    copy(&scene.path(from), &scene.path(to));
    fs::remove_dir_all(scene.path(to).join("trajectories")).unwrap();
    for name in ["manifest.json", "results.json", "outline.json"] {
        rewrite(&scene.path(from).join(name), &scene.path(to).join(name));
    }
    for (name, _) in files(&scene.path(from).join("trajectories")) {
        let (episode, session) = name.split_once('/').unwrap();
        let (persona, run) = episode.split_once('.').unwrap();
        let session = session.strip_suffix(".json").unwrap();
        let target = format!("trajectories/{persona}{HOSTILE}.{run}/{session}{HOSTILE}.json");
        let target = scene.path(to).join(target);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        rewrite(&scene.path(from).join("trajectories").join(&name), &target);
    }
}

fn rewrite(from: &Path, to: &Path) {
    let mut value: Value = serde_json::from_slice(&fs::read(from).unwrap()).unwrap();
    poison(&mut value, "");
    if to.ends_with("results.json") {
        value["faults"] = json!([{
            "persona": HOSTILE, "session": HOSTILE, "run": 1, "turn": 1,
            "kind": "guest", "source": HOSTILE, "cause": HOSTILE, "message": HOSTILE,
        }]);
    }
    fs::write(to, value.to_string()).unwrap();
}

#[test]
fn text_of_strangers_acts_in_no_format() {
    let scene = two_runs();
    poisoned(&scene, "good", "bad");
    poisoned(&scene, "slow", "worse");
    let output = scene.run(&["report", "bad", "worse", "--out", "out"]);
    expect(&output, 0, &[]);
    for (name, content) in files(&scene.path("out")) {
        let text = String::from_utf8(content).unwrap();
        let acts =
            |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(acts), "{name} holds a control character");
        assert!(
            !text.contains("<img src=x")
                || name.ends_with("txt")
                || name.ends_with("csv")
                || name.ends_with("json"),
            "{name} holds markup"
        );
        match Path::new(&name).extension().unwrap().to_str().unwrap() {
            "csv" => {
                let mut reader = csv::Reader::from_reader(text.as_bytes());
                for record in reader.records() {
                    for cell in &record.unwrap() {
                        assert!(!cell.starts_with(['=', '+', '@', '\t']), "{name}: {cell}");
                    }
                }
            }
            "tex" => assert!(!text.contains("\\input"), "{name} runs a command"),
            "md" => assert!(text.contains("{x}\\`\\*\\|"), "{name} holds markup"),
            "html" => assert_eq!(
                text.matches("<script").count(),
                text.matches("</script>").count()
            ),
            _ => {}
        }
    }
    let export = ["export", "bad", "--format", "hf", "--out", "set"];
    expect(&scene.run(&export), 0, &[]);
    let card = fs::read_to_string(scene.path("set/README.md")).unwrap();
    assert!(
        card.contains("{x}\\`\\*\\|") && !card.contains("<img"),
        "{card}"
    );
    for format in ["text", "markdown", "csv", "json", "latex"] {
        let output = scene.run(&["report", "bad", "--format", format]);
        expect(&output, 0, &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{format}");
        assert!(text.contains("alert"), "{format} shows the text");
    }
}

#[test]
fn a_hundred_sessions_fit_into_five_megabytes() {
    let scene = Scene::new();
    play(&scene, "run", &["--agent", "cheat"]);
    copy(&scene.path("run"), &scene.path("many"));
    let path = scene.path("many/results.json");
    let mut results: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let lines = results["sessions"].as_array().unwrap().clone();
    let sessions = results["sessions"].as_array_mut().unwrap();
    let folder = scene.path("many/trajectories/law_trainee.r1");
    for copied in 0..100 - lines.len() {
        let mut line = lines[copied % lines.len()].clone();
        let id = line["id"].as_str().unwrap().to_owned();
        let new = format!("{id}-{copied}");
        let trajectory = fs::read(folder.join(format!("{id}.json"))).unwrap();
        fs::write(folder.join(format!("{new}.json")), trajectory).unwrap();
        line["id"] = new.into();
        sessions.push(line);
    }
    fs::write(&path, results.to_string()).unwrap();
    expect(&scene.run(&["report", "many", "--out", "out"]), 0, &[]);
    let page = read(&scene, "out/index.html");
    assert_eq!(
        page.matches("type=\"application/octet-stream\"").count(),
        101
    );
    assert!(page.len() < 5_000_000, "{}", page.len());
    for outside in ["src=\"http", "href=\"http", "@import", "url("] {
        assert!(!page.contains(outside), "the page loads `{outside}`");
    }
}

#[test]
fn items_that_count_at_the_end_alone_are_told_as_a_deviation() {
    let scene = Scene::new().with_short();
    scene.replace(
        "tasks/personas/law_trainee/sessions/corrie-extension/session.toml",
        "when = \"end\"\n",
        "",
    );
    let said = |out: &str| {
        let output = scene.run(&["run", "tasks/suite.toml", "--out", out]);
        expect(&output, 0, &[]);
        let table = String::from_utf8(output.stdout).unwrap();
        let report = scene.run(&["report", out, "--format", "json"]);
        expect(&report, 0, &[]);
        let report = String::from_utf8(report.stdout).unwrap();
        let results = std::fs::read(scene.path(out).join("results.json")).unwrap();
        let results: Value = serde_json::from_slice(&results).unwrap();
        (results["at_end"].clone(), table, report)
    };
    let deviation = "1 checklist item counts as of the last turn alone";
    let (count, table, report) = said("ever");
    assert_eq!(count, Value::Null);
    assert!(!table.contains(deviation) && !report.contains(deviation));
    scene.replace(
        "tasks/personas/law_trainee/sessions/saltmarsh-statement/session.toml",
        "[[checklist]]\n",
        "[[checklist]]\nwhen = \"end\"\n",
    );
    let (count, table, report) = said("end");
    assert_eq!(count, 1);
    assert!(table.contains(deviation), "{table}");
    assert!(report.contains(deviation), "{report}");
    expect(&scene.run(&["verify", "end"]), 0, &[]);
}

/// What a page holds under this id.
fn held(page: &str, id: &str) -> Value {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">")).unwrap();
    let (packed, _) = rest.split_once("</script>").unwrap();
    let packed = STANDARD.decode(packed).unwrap();
    serde_json::from_reader(GzDecoder::new(&packed[..])).unwrap()
}

fn schema(scene: &Scene, name: &str) -> Value {
    serde_json::from_slice(&scene.run(&["schema", name]).stdout).unwrap()
}

#[test]
fn the_pages_data_and_the_tables_are_as_their_schemas_and_their_documentation_say() {
    let scene = Scene::new();
    for agent in ["reference", "nop"] {
        scene.play(agent, &["--agent", agent]);
    }
    expect(
        &scene.run(&["report", "reference", "nop", "--out", "out"]),
        0,
        &[],
    );
    let index = held(&read(&scene, "out/index.html"), "index");
    let tables: Value = serde_json::from_str(&read(&scene, "out/tables.json")).unwrap();
    assert_eq!(
        (&index["version"], &tables["version"]),
        (&1.into(), &1.into())
    );
    assert_eq!(index["sheets"], tables["tables"]);
    let text = std::fs::read_to_string(root().join("docs/results.md")).unwrap();
    let (_, said) = text.split_once("## The report's page").unwrap();
    let (said, _) = said.split_once("\n## ").unwrap();
    let names =
        |object: &Value| -> Vec<String> { object.as_object().unwrap().keys().cloned().collect() };
    let of_results = names(&schema(&scene, "results")["$defs"]["SessionLine"]["properties"]);
    for (name, data, parts) in [
        (
            "page",
            &index,
            &["RunEntry", "SessionEntry", "CategoryEntry", "Image"][..],
        ),
        (
            "tables",
            &tables,
            &["Sheet", "Column", "Part", "Row", "Figure"],
        ),
    ] {
        let schema = schema(&scene, name);
        let validator = JsonSchema::new(schema.clone());
        assert_eq!(validator.objection(data), None, "{name}");
        let mut wrong = data.clone();
        wrong["version"] = "one".into();
        assert!(validator.objection(&wrong).is_some());
        let objects = parts
            .iter()
            .map(|part| &schema["$defs"][part])
            .chain([&schema]);
        let mut looked_at = 0;
        for field in objects.flat_map(|object| names(&object["properties"])) {
            looked_at += 1;
            let told = said.contains(&format!("`{field}`")) || of_results.contains(&field);
            assert!(told, "docs/results.md lacks {name}: {field}");
        }
        assert!(looked_at > 12, "{name}: {looked_at}");
    }
    // The other way round: nothing is in the data that the schema does not name.
    let page = schema(&scene, "page");
    for (object, known) in [
        (&index, &page),
        (&index["runs"][0], &page["$defs"]["RunEntry"]),
        (&index["sessions"][0], &page["$defs"]["SessionEntry"]),
        (&index["figures"][0], &page["$defs"]["Image"]),
    ] {
        for field in names(object) {
            assert!(
                known["properties"].get(&field).is_some(),
                "no schema names {field}"
            );
        }
    }
    let first = held(&read(&scene, "out/index.html"), "s0");
    for field in names(&first) {
        assert!(
            said.contains(&format!("`{field}`")),
            "docs/results.md lacks {field}"
        );
    }
}
