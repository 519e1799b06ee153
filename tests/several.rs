//! Several agents of one suite, played side by side: each folder is what a run of its own would have been.

use serde_json::Value;

use crate::models::{play, run, server};
use crate::scene::{Scene, expect, files, first_persona, short};

const AGENTS: [&str; 6] = [
    "--agent",
    "reference",
    "--agent",
    "nop",
    "--agent",
    "reactive",
];

/// The files of a run in which nothing of the machine stands.
fn record(scene: &Scene, run: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = files(&scene.path(run));
    let of_machine = [
        "lock",
        "timing.jsonl",
        "manifest.json",
        "seal.json",
        "log.jsonl",
    ];
    files.retain(|(name, _)| !of_machine.contains(&name.as_str()));
    files
}

fn several<'a>(suite: &'a str, out: &'a str) -> Vec<&'a str> {
    [
        &["run", suite, "--persona", "law_trainee", "--out", out][..],
        &AGENTS,
    ]
    .concat()
}

#[test]
fn each_agent_has_the_run_that_it_would_have_alone() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let output = scene.run(&[&several(suite, "all")[..], &["--json", "--jobs", "2"]].concat());
    let sessions = format!("{} sessions", 3 * first_persona().sessions.len());
    expect(&output, 0, &[&sessions, "nop: law_trainee/"]);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for (agent, results) in ["reference", "nop", "reactive"].into_iter().zip(all) {
        assert_eq!(scene.play(agent, &["--agent", agent]), results);
        assert_eq!(
            record(&scene, &format!("all/{agent}")),
            record(&scene, agent),
            "{agent}"
        );
        expect(&scene.run(&["verify", &format!("all/{agent}")]), 0, &[]);
    }
    let report = scene.run(&["report", "all"]);
    expect(&report, 0, &[]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    for agent in ["reference", "nop", "reactive"] {
        assert!(report.contains(agent), "{agent} is not in:\n{report}");
    }
    expect(
        &scene.run(&several(suite, "all")),
        4,
        &["all: it is there already"],
    );
}

#[test]
fn one_table_shows_all_and_a_folder_that_was_cut_off_goes_on() {
    let scene = Scene::new();
    let suite = short();
    let output = scene.run(&several(suite.to_str().unwrap(), "all"));
    expect(&output, 0, &[]);
    let table = String::from_utf8(output.stdout).unwrap();
    for part in [
        "reference",
        "nop",
        "reactive",
        "law_trainee",
        "overall",
        "100.0",
    ] {
        assert!(table.contains(part), "{part} is not in:\n{table}");
    }
    let (nop, reactive) = (record(&scene, "all/nop"), record(&scene, "all/reactive"));
    std::fs::remove_file(scene.path("all/nop/journal/law_trainee.r1.jsonl")).unwrap();
    let path = scene.path("all/reactive/journal/law_trainee.r1.jsonl");
    let journal = std::fs::read(&path).unwrap();
    std::fs::write(&path, &journal[..journal.len() / 2]).unwrap();
    let output = scene.run(&["run", "--resume", "all"]);
    expect(&output, 0, &[]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().lines().count(),
        table.lines().count()
    );
    assert_eq!(record(&scene, "all/nop"), nop);
    assert_eq!(record(&scene, "all/reactive"), reactive);
}

#[test]
fn a_suite_can_name_several_and_none_twice() {
    let scene = Scene::new().with_short();
    scene.replace(
        "tasks/suite.toml",
        "seed = 1",
        "seed = 1\nagent = \"nop, reference\"",
    );
    let output = scene.run(&["run", "tasks/suite.toml", "--out", "all"]);
    expect(&output, 0, &[]);
    assert!(scene.path("all/nop/results.json").exists());
    assert!(scene.path("all/reference/results.json").exists());
    let twice = [
        "run",
        "tasks/suite.toml",
        "--agent",
        "nop",
        "--agent",
        "nop",
    ];
    expect(&scene.run(&twice), 2, &["`nop` twice"]);
    scene.replace("tasks/suite.toml", "nop, reference", "nop, unheard-of");
    expect(
        &scene.run(&["run", "tasks/suite.toml", "--out", "other"]),
        3,
        &["suite.toml:6", "unheard-of"],
    );
    assert!(!scene.path("other").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_recorded_each_by_itself_and_bounded_together() {
    let scene = Scene::new();
    let server = server(play).await;
    let suite = short();
    let first = [
        "run",
        suite.to_str().unwrap(),
        "--session",
        "saltmarsh-chronology",
        "--runs",
        "1",
        "--user",
        "openai/m",
        "--judge",
        "openai/m",
        "--agent",
        "openai/m",
        "--agent",
        "openai/n",
    ];
    let recorded = [&first[..], &["--out", "all", "--record", "tape"]].concat();
    expect(&run(&scene, &recorded, &server), 0, &[]);
    let replayed = [&first[..], &["--out", "again", "--replay", "tape"]].concat();
    expect(&scene.run(&replayed), 0, &[]);
    for agent in ["openai-m", "openai-n"] {
        let journal = |out: &str| {
            let journal = format!("{out}/{agent}/journal/law_trainee.r1.jsonl");
            std::fs::read(scene.path(&journal)).unwrap()
        };
        assert_eq!(journal("all"), journal("again"), "{agent}");
    }
    let price = "price={input=1000.0,output=1000.0}";
    let models = ["m", "n"].map(|name| {
        [
            format!("models.{name}.provider=openai"),
            format!("models.{name}.model={name}"),
            format!("models.{name}.{price}"),
        ]
    });
    let mut bounded = vec![
        "run",
        suite.to_str().unwrap(),
        "--runs",
        "1",
        "--out",
        "dear",
    ];
    bounded.extend([
        "--user", "m", "--judge", "m", "--agent", "m", "--agent", "n",
    ]);
    bounded.extend([
        "--persona",
        "law_trainee",
        "--jobs",
        "1",
        "--max-cost",
        "0.2",
        "--no-preflight",
    ]);
    for set in models.iter().flatten() {
        bounded.extend(["--set", set]);
    }
    let output = run(&scene, &bounded, &server);
    expect(&output, 7, &["start another turn", "run --resume dear"]);
    let turns = |agent: &str| {
        let journal = format!("dear/{agent}/journal/law_trainee.r1.jsonl");
        let text = std::fs::read_to_string(scene.path(&journal)).unwrap_or_default();
        text.matches("\"event\":\"turn\"").count()
    };
    assert!(turns("m") > 0, "one has begun");
    assert_eq!(turns("n"), 0, "the other found nothing left");
}
