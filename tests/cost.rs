//! What a run costs: counted, bounded, estimated before and shown after.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pibench_core::cost::MicroUsd;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use wiremock::{MockServer, ResponseTemplate};

use crate::models::{KEY, message, run, server_at};
use crate::responses::{answer, answered, as_chat, server};
use crate::scene::{Scene, assert_fits, expect, first_persona, flowed, short, stderr};

/// A preset with a price, at the tests' own server: 100 tokens in and 10 out cost 400 millionths of a dollar.
const ALL: [&str; 6] = [
    "--agent",
    "openai/gpt-5.4",
    "--user",
    "openai/gpt-5.4",
    "--judge",
    "openai/gpt-5.4",
];

fn args<'a>(suite: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = [
        "run",
        suite,
        "--persona",
        "law_trainee",
        "--out",
        "run",
        "--runs",
        "1",
    ];
    [&first[..], &ALL[..], more].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_is_counted_by_role_and_session() {
    let scene = Scene::new();
    let server = server().await;
    let suite = short();
    let suite = suite.to_str().unwrap();
    let output = run(&scene, &args(suite, &[]), &server);
    expect(&output, 0, &[" USD so far"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("thinking") && said.contains("A session cost "),
        "{said}"
    );
    // Names of models are long, and stand whole.
    assert!(said.contains("\njudge  openai/gpt-5.4\n"), "{said}");
    assert_fits(&said);
    let results = results(&scene);
    let requests = server.received_requests().await.unwrap().len() as u64;
    assert_eq!(results["cost"], 400 * requests);
    // One sum, wherever it stands.
    let sum = MicroUsd(400 * requests).to_string();
    let number = sum.trim_end_matches(" USD");
    let row = |role: &str| {
        let is_it = |line: &&str| line.split_whitespace().nth(1) == Some(role);
        let line = said.lines().find(is_it);
        line.unwrap_or_else(|| panic!("no row {role}:\n{said}"))
            .to_owned()
    };
    let asked: Vec<String> = ["preflight", "all"].map(row).into();
    assert!(asked[0].contains(" 3 "), "{asked:?}");
    assert!(
        asked[1].contains(&format!(" {requests} ")) && asked[1].contains(number),
        "{asked:?}"
    );
    assert!(stderr(&output).contains(&format!("{sum} so far")));
    assert_eq!(reported(&scene), (requests, sum));
    let mut calls = 0;
    for role in ["agent", "user", "judge"] {
        let usage = &results["usage"][role];
        calls += usage["calls"].as_u64().unwrap();
        // Each was asked once before the first session.
        assert_eq!(results["preflight"][role]["calls"], 1, "{role}");
        assert_eq!(
            usage["cost"],
            400 * usage["calls"].as_u64().unwrap(),
            "{role}"
        );
    }
    assert_eq!(calls + 3, requests);
    let sessions = results["sessions"].as_array().unwrap();
    let sum: u64 = sessions
        .iter()
        .map(|session| session["cost"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 400 * calls);
}

/// What the only run used, as the report has it.
fn usage_row(scene: &Scene) -> Vec<Value> {
    let output = scene.run(&["report", "run", "--format", "json"]);
    expect(&output, 0, &[]);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut sheets = all["tables"].as_array().unwrap().iter();
    let sheet = sheets.find(|sheet| sheet["id"] == "usage").unwrap();
    sheet["rows"][0]["cells"].as_array().unwrap().clone()
}

/// Calls and cost of it.
fn reported(scene: &Scene) -> (u64, String) {
    let row = usage_row(scene);
    let calls = [2, 5, 8].map(|at| row[at]["count"].as_u64().unwrap());
    let dollars = &row.last().unwrap()["figures"][0]["value"];
    let cost = MicroUsd::from_usd(dollars.as_f64().unwrap_or_else(|| panic!("{row:?}")));
    (calls.iter().sum(), cost.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_stops_at_its_bound_and_is_gone_on_with() {
    let scene = Scene::new();
    let server = server().await;
    let suite = short();
    let suite = suite.to_str().unwrap();
    let output = run(&scene, &args(suite, &["--max-cost", "0.01"]), &server);
    expect(
        &output,
        7,
        &["are spent, and --max-cost is 0.0100 USD", "run --resume "],
    );
    let spent = 400 * server.received_requests().await.unwrap().len();
    assert!(
        (10_000..20_000).contains(&spent),
        "a turn more at most: {spent}"
    );
    let cut = results(&scene);
    let sessions = cut["sessions"].as_array().unwrap().iter();
    let unplayed = sessions.filter(|one| one["outcome"] == "unplayed").count();
    assert!(unplayed > 0, "{cut}");
    assert_eq!(cut["unplayed"], unplayed);
    assert_eq!(usage_row(&scene)[1]["count"], 4 - unplayed);
    let shown = || {
        let output = scene.run(&["show", "--once", "run"]);
        flowed(&String::from_utf8(output.stdout).unwrap())
    };
    let said = "interrupted (go on with `pibench-host run --resume run`)";
    assert!(shown().contains(said), "{}", shown());
    expect(
        &scene.run(&["show", "run"]),
        6,
        &["nobody plays it", "run --resume run"],
    );
    let path = scene.path("run/journal/law_trainee.r1.jsonl");
    let before = std::fs::read(&path).unwrap();
    let output = run(
        &scene,
        &["run", "--resume", "run", "--max-cost", "0.01"],
        &server,
    );
    expect(&output, 7, &["are spent"]);
    assert_eq!(std::fs::read(&path).unwrap(), before, "the record counts");
    expect(
        &run(
            &scene,
            &["run", "--resume", "run", "--max-cost", "5"],
            &server,
        ),
        0,
        &[],
    );
    assert!(
        std::fs::read(&path).unwrap().starts_with(&before),
        "nothing is played twice"
    );
    assert_eq!(results(&scene)["unplayed"], Value::Null);
    assert_eq!(usage_row(&scene)[1]["count"], 4);
    assert!(shown().contains("0 playing"), "{}", shown());
    expect(&scene.run(&["show", "run"]), 0, &[]);
}

/// Whoever goes on as the program says spends no more than was allowed at first.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_gone_on_with_keeps_its_bound_unless_it_is_given_another() {
    let scene = Scene::new();
    let server = server().await;
    let suite = short();
    let suite = suite.to_str().unwrap();
    let output = run(&scene, &args(suite, &["--max-cost", "0.01"]), &server);
    let higher = format!(
        "Go on with a higher bound: {} --max-cost USD",
        resume(&scene)
    );
    expect(&output, 7, &[&higher]);
    let manifest = std::fs::read(scene.path("run/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["max_cost"], 10_000);
    let path = scene.path("run/journal/law_trainee.r1.jsonl");
    let before = std::fs::read(&path).unwrap();

    let output = run(&scene, &["run", "--resume", "run"], &server);
    let said = [
        "goes on within --max-cost 0.0100 USD, as it was begun",
        "are spent, and --max-cost is 0.0100 USD",
        &higher,
    ];
    expect(&output, 7, &said);
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let rejects = server_at("/v1/responses", |_| ResponseTemplate::new(401)).await;
    let go_on = |bound, server: &MockServer| {
        run(
            &scene,
            &["run", "--resume", "run", "--max-cost", bound],
            server,
        )
    };
    let again = format!("go on with: {} --max-cost ", resume(&scene));
    expect(&go_on("5", &rejects), 10, &[&format!("{again}5")]);
    expect(&go_on("inf", &rejects), 10, &[&format!("{again}inf")]);
    expect(&go_on("inf", &server), 0, &["Nothing bounds what is spent"]);
}

/// What was paid for them stands in no journal.
#[tokio::test(flavor = "multi_thread")]
async fn turns_that_were_cut_off_count_for_the_bound_of_who_goes_on() {
    for signal in [Signal::KILL, Signal::INT] {
        let scene = Scene::new();
        let calls = AtomicU32::new(0);
        // The turn's first answer comes, and its second does not.
        let server = server_at("/v1/responses", move |request| {
            let body = serde_json::from_slice(&request.body).unwrap();
            let response = answered(&message(&as_chat(&body)));
            match calls.fetch_add(1, Ordering::SeqCst) {
                1 => response.set_delay(Duration::from_mins(5)),
                _ => response,
            }
        })
        .await;
        let suite = short();
        let first = ["run", suite.to_str().unwrap(), "--persona", "law_trainee"];
        let more = ["--runs", "1", "--no-preflight", "--out", "run"];
        let patterns = ["--user", "lexical", "--judge", "lexical"];
        let mut playing = scene
            .command(&[&first[..], &more, &ALL[..2], &patterns].concat())
            .env("OPENAI_BASE_URL", format!("{}/v1", server.uri()))
            .env("OPENAI_API_KEY", KEY)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pulse = scene.path("run/pulse.json");
        let is_told = || {
            let told = std::fs::read_to_string(&pulse).unwrap_or_default();
            told.contains("\"known\":400")
        };
        // Who is interrupted has time for a last word.
        while server.received_requests().await.unwrap().len() < 2
            || (signal == Signal::KILL && !is_told())
        {
            assert!(playing.try_wait().unwrap().is_none(), "it has ended");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        kill_process(Pid::from_child(&playing), signal).unwrap();
        playing.wait().unwrap();
        assert!(is_told(), "{signal:?}");
        let go_on = |bound| {
            let args = ["run", "--resume", "run", "--no-preflight"];
            run(
                &scene,
                &[&args[..], &["--max-cost", bound]].concat(),
                &server,
            )
        };
        expect(&go_on("0.0004"), 7, &["0.0004 USD are spent"]);
        expect(&go_on("5"), 0, &[]);
        assert!(!pulse.exists(), "{signal:?}");
        expect(&scene.run(&["verify", "run"]), 0, &[]);
    }
}

/// The command that goes on with the run of a test.
fn resume(scene: &Scene) -> String {
    let folder = std::fs::canonicalize(scene.path("run")).unwrap();
    format!("pibench-host run --resume {}", folder.display())
}

/// A server of which the first answers alone say how many tokens they took, as many as this.
async fn counting(first: &Arc<AtomicU32>) -> MockServer {
    let first = Arc::clone(first);
    server_at("/v1/responses", move |request| {
        let body = serde_json::from_slice(&request.body).unwrap();
        let mut answer = answer(&message(&as_chat(&body)));
        let counts = first.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        });
        if counts.is_err() {
            answer.as_object_mut().unwrap().remove("usage");
        }
        ResponseTemplate::new(200).set_body_json(answer)
    })
    .await
}

fn results(scene: &Scene) -> Value {
    let results = std::fs::read(scene.path("run/results.json")).unwrap();
    serde_json::from_slice(&results).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_that_counts_no_tokens_costs_is_unknown() {
    let scene = Scene::new();
    let server = counting(&Arc::default()).await;
    let suite = short();
    let output = run(&scene, &args(suite.to_str().unwrap(), &[]), &server);
    expect(&output, 0, &[]);
    let all = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    assert!(all.contains("unknown") && !all.contains(" USD"), "{all}");
    let results = results(&scene);
    assert_eq!(results["cost"], Value::Null);
    let sessions = results["sessions"].as_array().unwrap();
    assert!(sessions.iter().all(|session| session["cost"].is_null()));
    for role in ["agent", "user", "judge"] {
        let usage = &results["usage"][role];
        assert!(usage["calls"].as_u64() > Some(0), "{usage}");
        assert_eq!(usage["uncounted_calls"], usage["calls"], "{role}");
    }
    let export = |format| {
        let args = ["export", "run", "--format", format, "--out", format];
        expect(&scene.run(&args), 0, &[]);
    };
    export("jsonl");
    let rows = std::fs::read_to_string(scene.path("jsonl/usage.jsonl")).unwrap();
    let rows: Vec<Value> = rows
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let asked = rows.iter().filter(|row| row["calls"] != 0);
    for row in asked.clone() {
        assert!(row["input_tokens"].is_null(), "{row}");
        assert_eq!(row["uncounted_calls"], row["calls"], "{row}");
    }
    assert!(asked.count() > 0);
    export("inspect");
    let log = std::fs::File::open(scene.path("inspect/run-0.eval")).unwrap();
    let mut log = zip::ZipArchive::new(log).unwrap();
    let header: Value = serde_json::from_reader(log.by_name("header.json").unwrap()).unwrap();
    assert_eq!(header["stats"]["model_usage"], serde_json::json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_needs_a_server_that_counts_its_tokens() {
    let scene = Scene::new();
    let counted = Arc::new(AtomicU32::new(0));
    let server = counting(&counted).await;
    let suite = short();
    let bounded = args(suite.to_str().unwrap(), &["--max-cost", "5"]);
    let no_count = "keep to --max-cost: openai/gpt-5.4 at 127.0.0.1";
    let output = run(&scene, &bounded, &server);
    expect(&output, 10, &[no_count, "sends no count of tokens"]);
    let asked = server.received_requests().await.unwrap().len();
    assert_eq!(asked, 3, "the preflight alone");
    assert!(!scene.path("run").exists());

    counted.store(5, Ordering::SeqCst);
    let output = run(&scene, &bounded, &server);
    let again = format!("Mend it, then go on with: {}", resume(&scene));
    expect(&output, 10, &[no_count, &again]);
    let unfinished = results(&scene)["cost"].clone();
    assert_eq!(unfinished, Value::Null);

    counted.store(1_000_000, Ordering::SeqCst);
    let output = run(&scene, &["run", "--resume", "run"], &server);
    expect(&output, 0, &["within --max-cost 5.00 USD"]);
    assert_eq!(results(&scene)["cost"], Value::Null, "a part is not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_needs_prices_and_sense() {
    let scene = Scene::new();
    let server = server().await;
    let suite = short();
    let suite = suite.to_str().unwrap();
    let unpriced = ["run", suite, "--agent", "openai/m", "--max-cost", "1"];
    let patterns = ["--user", "lexical", "--judge", "lexical"];
    let unpriced = [&unpriced[..], &patterns].concat();
    expect(
        &run(&scene, &unpriced, &server),
        2,
        &[
            "the price of `openai/m` is not known",
            "--set models.NAME.price.input=USD",
        ],
    );
    let nothing = ["run", suite, "--max-cost", "0"];
    expect(
        &run(&scene, &nothing, &server),
        2,
        &["want US dollars above 0"],
    );
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[test]
fn a_dry_run_estimates_without_key_or_server_and_leaves_nothing() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let output = scene.run(&[
        "run",
        suite,
        "--dry-run",
        "--persona",
        "law_trainee",
        "--agent",
        "claude-opus-4.6",
        "--user",
        "lexical",
        "--judge",
        "gpt-5.4",
        "--judge",
        "kimi-k2.5",
        "--judge",
        "seed-2.0-pro",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_fits(&said);
    for part in [
        "claude-opus-4.6",
        &format!(
            "{} sessions in each of 3 runs",
            first_persona().sessions.len()
        ),
        "scripted",
        "unknown",
        "Nothing was asked",
        "Assumptions:\n- 45 % of the intents",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    let left = std::fs::read_dir(scene.dir.path()).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn a_dry_run_says_how_it_stands_to_the_bound_and_prints_json() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    let args = |more: &[&'static str]| [&args(suite, &["--dry-run"])[..], more].concat();
    let said = |more: &[&'static str]| {
        let output = scene.run(&args(more));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let above = said(&["--max-cost", "0.01"]);
    assert!(above.contains("is above --max-cost 0.0100 USD"), "{above}");
    let within = said(&["--max-cost", "10000"]);
    assert!(
        within.contains("is within --max-cost 10000.00 USD"),
        "{within}"
    );
    let json: Value = serde_json::from_str(&said(&["--json", "--max-cost", "0.01"])).unwrap();
    let agent = &json["agents"][0];
    let sessions = first_persona().sessions.len();
    assert_eq!(
        (&agent["sessions"], &agent["runs"]),
        (&sessions.into(), &1.into())
    );
    assert_eq!(agent["roles"][0]["model"], "openai/gpt-5.4");
    let roles = agent["roles"].as_array().unwrap();
    let sum: u64 = roles
        .iter()
        .map(|role| role["cost"].as_u64().unwrap())
        .sum();
    assert_eq!(json["cost"], sum);
    assert_eq!(json["above_max_cost"], true);
    assert_eq!(json["max_cost"], 10_000);
}
