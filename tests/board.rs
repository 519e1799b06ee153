//! Runs that are sent to a board: what may stand there, what is refused, and the site that comes of it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use pibench_board::rules::Rules;
use pibench_board::submission::{self, List, Submitter};
use pibench_report::run_record::RunRecord;
use serde_json::{Value, json};
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::models::{completion, message, run, server};
use crate::scene::{Scene, copy, expect, root, say_in_record, short};
use crate::verify::forge;

/// As the short suite is played: once, by a model without a price.
const RULES: &str =
    "version = 1\ntitle = \"Spring <2026>\"\nruns = 1\nunknown_cost = true\nsigned = true\n";

fn key(scene: &Scene, number: u8, path: &str) -> String {
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[number; 32]));
    let key = PrivateKey::new(pair, "").unwrap();
    let file = scene.write(path, &key.to_openssh(LineEnding::LF).unwrap());
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    key.public_key().to_openssh().unwrap()
}

/// As `models::play`, with agents that do not answer alike: each says its name. The judge `strict` finds nothing met.
fn play(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let mut message = message(&body);
    let name = body["model"].as_str().unwrap();
    if message["content"] == "I have written out.md." {
        message["content"] = format!("I have written out.md, {name}.").into();
    }
    if let ("strict", Some(verdicts)) = (name, message["content"].as_str()) {
        message["content"] = verdicts.replace("VERDICT: YES", "VERDICT: NO").into();
    }
    completion(&message)
}

/// With two who may sign, and one who may not.
fn scene() -> Scene {
    let scene = Scene::new();
    let [ana, bo, _] = [(1, "ana"), (2, "bo"), (3, "eve")].map(|(n, name)| key(&scene, n, name));
    scene.write(
        "signers",
        &format!("ana@lab.example {ana}\nbo@lab.example {bo}\n"),
    );
    scene.write("board.toml", RULES);
    scene
}

fn play_suite(scene: &Scene, server: &MockServer, agent: &str, out: &str, more: &[&str]) {
    let suite = short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--runs",
        "1",
        "--out",
        out,
        "--agent",
        agent,
    ];
    let args = [
        &args[..],
        &["--user", "openai/m", "--judge", "openai/m"],
        more,
    ]
    .concat();
    expect(&run(scene, &args, server), 0, &[]);
}

fn text(scene: &Scene, path: &str) -> String {
    fs::read_to_string(scene.path(path)).unwrap()
}

/// As `expect`, with what was found.
fn expect_found(output: &std::process::Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

const BY: [&str; 2] = ["--rules", "board.toml"];
const SIGNERS: [&str; 2] = ["--signers", "signers"];

/// As a maintainer checks and builds: with rules, and with a suite of their own.
fn by() -> Vec<String> {
    let suite = short().to_str().unwrap().to_owned();
    let by = BY.map(str::to_owned).into_iter();
    by.chain(["--suite".to_owned(), suite]).collect()
}

/// Runs `args` with that, and with more.
fn maintain(scene: &Scene, args: &[&str], more: &[&str]) -> std::process::Output {
    let by = by();
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    scene.run(&[args, &by, more].concat())
}

#[test]
fn what_says_little_of_an_agent_is_not_prepared_and_each_reason_is_told() {
    let scene = scene();
    scene.play(
        "run",
        &["--agent", "reactive", "--session", "corrie-extension"],
    );
    let output = scene.run(&["submit", "prepare", "run", "--out", "a.submission"]);
    expect(&output, 3, &["would not rank them"]);
    let said = String::from_utf8(output.stdout).unwrap();
    for reason in [
        "it is marked `scripted`",
        "only some of the sessions were played",
        "it has 1 of 3 runs",
    ] {
        assert!(said.contains(reason), "{said}");
    }
    assert!(!scene.path("a.submission").exists());
    for (rules, reason) in [
        ("version = 2\n", "its version is 2"),
        ("version = 1\nrnus = 1\n", "unknown field `rnus`"),
    ] {
        scene.write("odd.toml", rules);
        let args = [
            "submit",
            "prepare",
            "run",
            "--rules",
            "odd.toml",
            "--out",
            "a.submission",
        ];
        expect(&scene.run(&args), 3, &["read the rules odd.toml", reason]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_are_ranked_and_one_that_changed_its_journal_is_named() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    play_suite(
        &scene,
        &server,
        "openai/n",
        "two",
        &["--scaffold-prompt", "coached"],
    );
    fs::create_dir(scene.path("sent")).unwrap();
    for (run, name) in [("one", "ana"), ("two", "bo")] {
        let out = format!("sent/{name}.submission");
        let args = ["submit", "prepare", run, "--out", &out, "--key", name];
        expect_found(&scene.run(&[&args[..], &BY].concat()), 0);
        let again = scene.run(&[&args[..], &BY].concat());
        expect(&again, 4, &["it is there already"]);
        let output = maintain(&scene, &["submit", "check", &out, "--json"], &SIGNERS);
        expect(&output, 0, &[]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["signed"]["by"], format!("{name}@lab.example"));
        assert!(found["runs"][0]["rules"].as_u64().unwrap() > 0, "{found}");
        let proc = &found["runs"][0]["proc"];
        assert!(
            proc["score"].as_f64() >= proc["interval"]["low"].as_f64(),
            "{found}"
        );
        let said = expect_found(&maintain(&scene, &["submit", "check", &out], &SIGNERS), 0);
        assert!(
            said.contains(&format!("Proc {:.1}", proc["score"].as_f64().unwrap())),
            "{said}"
        );
    }
    cheat(&scene);
    let site = ["board", "build", "sent", "--out", "site"];
    let output = maintain(&scene, &site, &SIGNERS);
    expect(&output, 0, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("2 runs ranked, 1 submission refused"),
        "{said}"
    );
    let board: Value = serde_json::from_str(&text(&scene, "site/board.json")).unwrap();
    let rows = board["rankings"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{board}");
    for row in rows {
        assert_eq!(row["verified"], "replayed");
        let results: Value = serde_json::from_str(&text(&scene, "one/results.json")).unwrap();
        assert_eq!(row["comp"]["score"], results["comp"]);
        let report = format!("site/{}/index.html", row["report"].as_str().unwrap());
        assert!(scene.path(&report).exists());
    }
    assert_eq!(board["refused"][0]["name"], "cheat");
    let reasons = board["refused"][0]["reasons"].to_string();
    assert!(
        reasons.contains("say yes, and the record says no"),
        "{reasons}"
    );
    let page = text(&scene, "site/index.html");
    for part in [
        "Spring &lt;2026&gt;",
        "ana@lab.example",
        "coached",
        "Not ranked",
    ] {
        assert!(page.contains(part), "`{part}` is not in the page");
    }
    assert!(!page.contains("<2026>"));
    let comp = board["rankings"][0]["rows"][0]["comp"]["score"]
        .as_f64()
        .unwrap();
    assert!(page.contains(&format!("<td>{comp:.1} ")), "{page}");
    assert!(!reasons.contains("pibench-submission-"), "{reasons}");
    // The site is made once, and whole.
    let again = maintain(&scene, &site, &SIGNERS);
    expect(&again, 4, &["it is there already"]);
}

/// Writes an archive as its sender likes it.
pub(crate) fn send_list(scene: &Scene, list: &List, signer: &str, name: &str, runs: &[PathBuf]) {
    let key = pibench_signature::SigningKey::read(&scene.path(signer), || None).unwrap();
    let armored = pibench_signature::sign(&key, submission::NAMESPACE, list.text().as_bytes());
    let out = scene.path(&format!("sent/{name}.submission"));
    submission::write(&out, list, Some(&armored.unwrap()), runs).unwrap();
}

/// For whom a run was played is told by hosts of the board's own alone.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_hubs_word_names_a_submitter() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    let runs = [scene.path("one")];
    let mut list = List::of(&runs).unwrap();
    let submitter = Submitter {
        name: "bo@lab.example".into(),
        attempt: 3,
    };
    list.runs[0].submitter = Some(submitter);
    send_list(&scene, &list, "ana", "ana", &runs);
    for (rules, out, named) in [
        (RULES.to_owned(), "site", Value::Null),
        (
            format!("{RULES}hubs = [\"ana@lab.example\"]\n"),
            "hub",
            json!({ "name": "bo@lab.example", "attempt": 3 }),
        ),
    ] {
        scene.write("board.toml", &rules);
        let site = ["board", "build", "sent", "--out", out];
        expect(&maintain(&scene, &site, &SIGNERS), 0, &[]);
        let board: Value =
            serde_json::from_str(&text(&scene, &format!("{out}/board.json"))).unwrap();
        assert_eq!(
            board["rankings"][0]["rows"][0]["submitter"], named,
            "{board}"
        );
    }
}

/// What somebody sends who changes a verdict, seals the folder anew and signs it.
fn cheat(scene: &Scene) {
    let journal = scene.path("one/journal/law_trainee.r1.jsonl");
    let mut is_done = false;
    forge(scene, "one/journal/law_trainee.r1.jsonl", |event| {
        let items = event.get_mut("items").and_then(Value::as_array_mut);
        let mut items = items.into_iter().flatten();
        let judged = items.find(|item| item["exchange"].is_string() && item["pass"] == true);
        if let (false, Some(item)) = (is_done, judged) {
            item["pass"] = false.into();
            is_done = true;
        }
    });
    assert!(is_done);
    let other = fs::read_to_string(&journal).unwrap();
    let args = [
        "submit",
        "prepare",
        "one",
        "--out",
        "sent/cheat.submission",
        "--key",
        "ana",
    ];
    let output = scene.run(&[&args[..], &BY].concat());
    expect(&output, 3, &["was changed since it was sealed"]);
    let mut seal: Value = serde_json::from_str(&text(scene, "one/seal.json")).unwrap();
    let digest = blake3::hash(other.as_bytes()).to_hex().to_string();
    seal["files"]["journal/law_trainee.r1.jsonl"] = digest.into();
    let seal = serde_json::to_string_pretty(&seal).unwrap() + "\n";
    fs::write(scene.path("one/seal.json"), seal).unwrap();
    let runs: [PathBuf; 1] = [scene.path("one")];
    send_list(scene, &List::of(&runs).unwrap(), "ana", "cheat", &runs);
    let check = ["submit", "check", "sent/cheat.submission"];
    let output = maintain(scene, &check, &SIGNERS);
    expect(&output, 3, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("it may not be ranked"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_signature_of_who_may_sign_counts() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    let prepare = |out: &str, more: &[&str]| {
        let args = ["submit", "prepare", "one", "--out", out];
        expect_found(&scene.run(&[&args[..], &BY, more].concat()), 0);
    };
    prepare("ana.submission", &["--key", "ana"]);
    prepare("eve.submission", &["--key", "eve"]);
    prepare("none.submission", &[]);
    let check = |archive: &str, more: &[&str], code: i32, reason: &str| {
        let output = maintain(&scene, &["submit", "check", archive], more);
        let said = expect_found(&output, code);
        assert!(said.contains(reason), "{said}");
    };
    check("ana.submission", &SIGNERS, 0, "signed by ana@lab.example");
    check("ana.submission", &[], 3, "name who may sign by --signers");
    check(
        "eve.submission",
        &SIGNERS,
        3,
        "signers names no one with the key",
    );
    check("none.submission", &SIGNERS, 3, "nobody signed it");
    scene.write("revoked", &key(&scene, 1, "ana"));
    let revoked = [&SIGNERS[..], &["--revoked", "revoked"]].concat();
    check("ana.submission", &revoked, 3, "is revoked");
    // The signature of one archive is not that of another.
    fs::write(
        scene.path("cut.submission"),
        &fs::read(scene.path("ana.submission")).unwrap()[..4000],
    )
    .unwrap();
    check("cut.submission", &SIGNERS, 3, "it is no whole archive");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_record_says_of_places_is_not_followed() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    let args = [
        "submit",
        "prepare",
        "one",
        "--out",
        "a.submission",
        "--key",
        "ana",
    ];
    expect_found(&scene.run(&[&args[..], &BY].concat()), 0);
    // The suite that its manifest names is there.
    let check = ["submit", "check", "a.submission"];
    let output = scene.run(&[&check[..], &BY, &SIGNERS].concat());
    let said = expect_found(&output, 3);
    assert!(said.contains("name its suite's file by --suite"), "{said}");
    expect_found(&maintain(&scene, &check, &SIGNERS), 0);
    // A suite that is another one is told to be that.
    copy(short().parent().unwrap(), &scene.path("other"));
    let session = "personas/law_trainee/sessions/corrie-extension";
    let file = format!("other/{session}/session.toml");
    scene.replace(&file, "title = \"", "title = \"The ");
    let other = ["--suite", "other/suite.toml"];
    let output = scene.run(&[&check[..], &BY, &SIGNERS, &other].concat());
    let said = expect_found(&output, 3);
    for part in [
        "run-1: failed to check run-1: it is a run of the suite ",
        "and it is checked by the suite ",
        "name the file of the suite that was played by --suite",
        &format!("(they differ in the suite's `{session}`)"),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Nor for a folder that a stranger sent.
    let verify = ["verify", "one", "--foreign"];
    let words = "name its suite's file by --suite";
    expect(&scene.run(&verify), 2, &[words]);
    let suite = short();
    let mine = ["--suite", suite.to_str().unwrap()];
    expect_found(&scene.run(&[&verify[..], &mine].concat()), 0);
    let with = scene.run(&["verify", "one", "--plugins", "."]);
    expect(&with, 2, &["--foreign"]);
}

/// A maintainer's key and files are in reach of the process that looks.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_record_sets_is_taken_where_it_says_how_it_was_played_and_nowhere_else() {
    let scene = scene();
    let server = server(play).await;
    let set = "session.max_turns=31";
    play_suite(&scene, &server, "openai/m", "one", &["--set", set]);
    fs::create_dir(scene.path("sent")).unwrap();
    let secret = "sk-of-the-maintainer";
    let by = by();
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    let maintain = |args: &[&str]| {
        let output = scene.run_with(
            &[args, &by, &SIGNERS].concat(),
            &[("OPENAI_API_KEY", secret)],
        );
        let said = expect_found(&output, 0);
        for text in [&said, &crate::scene::stderr(&output)] {
            assert!(!text.contains(secret) && !text.contains("root:"), "{text}");
        }
        said
    };
    scene.write("policy.toml", "version = 1\n");
    let policy = format!("policy={}", scene.path("policy.toml").display());
    // The suite that is here has the same digest by the first of them, and by it alone.
    for (at, more) in [
        "lock=/proc/self/environ",
        "lock=/etc/passwd",
        "plugins.gmail=/etc/passwd",
        &policy,
        "web.corpus=/etc",
        "providers.openai.base_url=http://127.0.0.1:9/v1",
    ]
    .into_iter()
    .enumerate()
    {
        say_in_record(&scene, "one", |record| record["set"] = json!([set, more]));
        let archive = format!("sent/{at}.submission");
        send(&scene, &["one"], Some("ana"), &archive);
        maintain(&["submit", "check", &archive]);
        let one = scene.path("one");
        let verify = ["verify", one.to_str().unwrap(), "--foreign", by[2], by[3]];
        expect_found(&scene.run(&verify), 0);
        if at > 0 {
            fs::remove_file(scene.path(&archive)).unwrap();
        }
    }
    maintain(&["board", "build", "sent", "--out", "site"]);
    for (name, content) in crate::scene::files(&scene.path("site")) {
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains(secret), "{name}");
    }
    say_in_record(&scene, "one", |record| record["set"] = json!([]));
    send(&scene, &["one"], Some("ana"), "none.submission");
    let check = ["submit", "check", "none.submission"];
    let said = expect_found(&self::maintain(&scene, &check, &SIGNERS), 3);
    assert!(said.contains("`session.max_turns`"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_judged_again_and_the_board_says_how_each_run_was_verified() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    play_suite(&scene, &server, "openai/n", "two", &[]);
    fs::create_dir(scene.path("sent")).unwrap();
    for (run, name, file) in [
        ("one", "ana", "ana"),
        ("two", "bo", "bo"),
        ("one", "bo", "copy"),
    ] {
        let out = format!("sent/{file}.submission");
        let args = ["submit", "prepare", run, "--out", &out, "--key", name];
        expect_found(&scene.run(&[&args[..], &BY].concat()), 0);
    }
    let judge = ["--judge", "openai/other", "--sample", "2"];
    let by = by();
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    let check = ["submit", "check", "sent/bo.submission"];
    let args = [&check[..], &by, &SIGNERS, &judge].concat();
    let said = expect_found(&run(&scene, &args, &server), 0);
    let (_, judged) = said.split_once("For the board's rules:").unwrap();
    for part in [
        "[judged.",
        "judge = \"openai/other\"",
        "sampled = 2",
        "seed = ",
        "intents = 0.0",
    ] {
        assert!(judged.contains(part), "{judged}");
    }
    assert_can_be_repeated(&scene, &server, &args, judged);
    // What is said of archives and runs that are not there is told.
    let nothing = "[judged.0a1b]\njudge = \"a/m\"\nsampled = 1\nof = 1\n";
    let rules = format!("{RULES}hubs = [\"ana@lab.example\"]\nowners = {{ 0c1d = \"x\" }}\n");
    scene.write("board.toml", &format!("{rules}{judged}\n{nothing}"));
    let build = ["board", "build", "sent", "--out", "site"];
    let output = maintain(&scene, &build, &SIGNERS);
    expect(
        &output,
        0,
        &[
            "warning: `judged.0a1b` of board.toml is of none of these archives",
            "warning: `owners` of board.toml has 0c1d, which is no run",
        ],
    );
    let told = crate::scene::stderr(&output);
    assert_eq!(told.matches(" of board.toml ").count(), 2, "{told}");
    let board: Value = serde_json::from_str(&text(&scene, "site/board.json")).unwrap();
    let mut verified: Vec<&str> = board["rankings"][0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["verified"].as_str().unwrap())
        .collect();
    verified.sort_unstable();
    assert_eq!(verified, ["judged-again", "played-by-board"]);
    let page = text(&scene, "site/index.html");
    assert!(page.contains("openai/other, 2 of"), "{page}");
    assert!(
        page.contains("it is the run of ana/run-1, sent again"),
        "{page}"
    );
}

/// A seed that was drawn is another each time, and by the one that was told the same sample is drawn again.
fn assert_can_be_repeated(scene: &Scene, server: &MockServer, args: &[&str], judged: &str) {
    let again = |more: &[&str]| {
        let said = expect_found(&run(scene, &[args, more].concat(), server), 0);
        said.split_once("For the board's rules:")
            .unwrap()
            .1
            .to_owned()
    };
    assert_ne!(again(&[]), judged);
    let (_, seed) = judged.split_once("seed = ").unwrap();
    let seed = seed.lines().next().unwrap();
    assert_eq!(again(&["--seed", seed]), judged);
}

/// Writes an archive of folders as they are, without the program's own look at them.
fn send(scene: &Scene, runs: &[&str], key: Option<&str>, out: &str) {
    let runs: Vec<PathBuf> = runs.iter().map(|run| scene.path(run)).collect();
    let list = List::of(&runs).unwrap();
    let signed = key.map(|key| {
        let key = pibench_signature::SigningKey::read(&scene.path(key), || None).unwrap();
        pibench_signature::sign(&key, submission::NAMESPACE, list.text().as_bytes()).unwrap()
    });
    submission::write(&scene.path(out), &list, signed.as_deref(), &runs).unwrap();
}

/// A board of nothing is none: it ends as a refused archive does.
fn assert_ends(output: &std::process::Output, ranked: usize, refused: usize) {
    let said = expect_found(output, if ranked == 0 { 3 } else { 0 });
    let submissions = if refused == 1 {
        "submission"
    } else {
        "submissions"
    };
    let counted = format!(" ranked, {refused} {submissions} refused\n");
    assert!(said.ends_with(&counted), "{said}");
    let failed = format!("failed to rank any run of sent: {refused} {submissions} refused");
    assert_eq!(crate::scene::stderr(output).contains(&failed), ranked == 0);
}

/// The names of the rows, and of each refused archive its first reason.
fn built(scene: &Scene, site: &str) -> (Vec<String>, Vec<(String, String)>) {
    let build = ["board", "build", "sent", "--out", site];
    let output = maintain(scene, &build, &SIGNERS);
    let board: Value = serde_json::from_str(&text(scene, &format!("{site}/board.json"))).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = board["rankings"].as_array().unwrap().iter();
    let rows = rows.flat_map(|ranking| ranking["rows"].as_array().unwrap());
    let rows: Vec<String> = rows.map(|row| word(&row["name"])).collect();
    let refused = board["refused"].as_array().unwrap().iter();
    let refused = refused.map(|one| (word(&one["name"]), word(&one["reasons"][0])));
    let refused: Vec<(String, String)> = refused.collect();
    assert_ends(&output, rows.len(), refused.len());
    (rows, refused)
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_sends_a_run_again_takes_nobodys_place() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    send(&scene, &["one"], None, "sent/aaa.submission");
    send(&scene, &["one"], Some("bo"), "sent/bo.submission");
    let (rows, refused) = built(&scene, "first");
    assert_eq!(rows, ["bo/run-1"], "{refused:?}");
    assert!(refused[0].1.contains("nobody signed it"), "{refused:?}");
    // Two people sign it: no name of a file says whose it is.
    send(&scene, &["one"], Some("ana"), "sent/ana.submission");
    let (rows, refused) = built(&scene, "second");
    assert!(rows.is_empty() && refused.len() == 3, "{refused:?}");
    let (_, reason) = &refused[1];
    assert!(
        reason.contains("ana@lab.example and bo@lab.example signed this same run"),
        "{reason}"
    );
    let (_, digest) = reason.split_once("whose it is: ").unwrap();
    // A name that signed none of them is told to be that.
    let wrong = digest.replace("\"...\"", "\"bu@lab.example\"");
    scene.write("board.toml", &format!("{RULES}[owners]\n{wrong}\n"));
    let (rows, refused) = built(&scene, "wrong");
    let words = "`owners` of board.toml names bu@lab.example, who signed none of them";
    assert!(
        rows.is_empty() && refused[1].1.contains(words),
        "{refused:?}"
    );
    let owners = digest.replace("\"...\"", "\"bo@lab.example\"");
    scene.write("board.toml", &format!("{RULES}[owners]\n{owners}\n"));
    let (rows, refused) = built(&scene, "third");
    assert_eq!(rows, ["bo/run-1"]);
    let again = "run-1: it is the run of bo/run-1, sent again";
    assert_eq!(refused[1], ("ana".to_owned(), again.to_owned()));
}

/// What a pull request's check is told of the archives that are there, it refuses by the rules of the board that would hold both.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_held_against_those_that_lie_there_already() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    play_suite(&scene, &server, "openai/n", "two", &[]);
    send(&scene, &["one"], Some("ana"), "sent/ana.submission");
    send(&scene, &["one"], Some("bo"), "sent/taken.submission");
    send(&scene, &["two"], Some("bo"), "sent/own.submission");
    let check = |archive: &str, more: &[&str]| {
        let check = ["submit", "check", archive];
        maintain(&scene, &[&check[..], more].concat(), &SIGNERS)
    };
    let beside = ["--beside", "sent"];
    expect_found(&check("sent/taken.submission", &[]), 0);
    let said = expect_found(&check("sent/taken.submission", &beside), 3);
    let words = "ana@lab.example and bo@lab.example signed this same run";
    assert!(said.contains(words), "{said}");
    expect_found(&check("sent/own.submission", &beside), 0);
    // Where it alone is there, nobody else's is.
    fs::remove_file(scene.path("sent/taken.submission")).unwrap();
    expect_found(&check("sent/ana.submission", &beside), 0);
    send(&scene, &["one"], Some("ana"), "sent/twice.submission");
    let said = expect_found(&check("sent/twice.submission", &beside), 3);
    assert!(
        said.contains("it is the run of ana/run-1, sent again"),
        "{said}"
    );
    let nowhere = check("sent/own.submission", &["--beside", "nowhere"]);
    expect(&nowhere, 3, &["read nowhere"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_that_was_graded_otherwise_stands_in_neither_way_until_one_is_taken_away() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    let grade = ["grade", "one", "--judge", "openai/strict", "--out", "again"];
    expect(&run(&scene, &grade, &server), 0, &[]);
    send(&scene, &["one"], Some("ana"), "sent/b.submission");
    send(&scene, &["again"], Some("ana"), "sent/a.submission");
    let (rows, refused) = built(&scene, "both");
    assert!(rows.is_empty() && refused.len() == 2, "{refused:?}");
    for (_, reason) in refused {
        for part in ["graded otherwise", "a/run-1 has Proc ", "b/run-1 has Proc "] {
            assert!(reason.contains(part), "{reason}");
        }
    }
    fs::remove_file(scene.path("sent/b.submission")).unwrap();
    let (rows, _) = built(&scene, "site");
    assert_eq!(rows, ["a/run-1"]);
    let board: Value = serde_json::from_str(&text(&scene, "site/board.json")).unwrap();
    let row = &board["rankings"][0]["rows"][0];
    let manifest = |run: &str| -> Value {
        serde_json::from_str(&text(&scene, &format!("{run}/manifest.json"))).unwrap()
    };
    // It was played before its verdicts were made again, and after the run was begun.
    assert_eq!(row["graded"], manifest("again")["started"]);
    let [begun, played, graded] = [&manifest("one")["started"], &row["started"], &row["graded"]]
        .map(|at| at.as_str().unwrap().to_owned());
    assert!(
        begun < played && played < graded,
        "{begun} {played} {graded}"
    );
    assert!(text(&scene, "site/index.html").contains("graded again, "));
    // What it is called in the site follows from it alone.
    let digest = |path: &str| {
        let bytes = fs::read(scene.path(path)).unwrap();
        blake3::hash(&bytes).to_hex().to_string()
    };
    assert_eq!(row["archive"], digest("sent/a.submission"));
    let report = format!("runs/{}", &digest("again/seal.json")[..12]);
    assert_eq!(row["report"], report);
    assert!(scene.path(&format!("site/{report}/index.html")).exists());
    assert_eq!(row["host"], manifest("again")["host"]);
}

/// A name of the built-in list, or of a provider's, is that model; one of a suite's own says nothing to a board that lists models.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_by_the_name_of_another_is_refused_and_by_a_name_of_its_own_it_is_told() {
    let scene = scene();
    let server = server(play).await;
    let play = |run: &str, players: [&str; 3], models: &[(&str, &str)]| {
        let suite = short();
        let set = models.iter().flat_map(|(name, model)| {
            [
                format!("models.\"{name}\".provider=openai"),
                format!("models.\"{name}\".model={model}"),
                format!("models.\"{name}\".price.input=1.0"),
                format!("models.\"{name}\".price.output=1.0"),
            ]
        });
        let set: Vec<String> = set.collect();
        let set: Vec<&str> = set.iter().flat_map(|one| ["--set", one]).collect();
        let [agent, user, judge] = players;
        let played = [
            &["run", suite.to_str().unwrap(), "--runs", "1", "--out", run],
            &["--agent", agent, "--user", user, "--judge", judge][..],
            &set,
        ];
        expect(&self::run(&scene, &played.concat(), &server), 0, &[]);
        send(
            &scene,
            &[run],
            Some("ana"),
            &format!("sent/{run}.submission"),
        );
    };
    let lax = [("gpt-5.4", "lax-1b")];
    play("judged", ["openai/m", "openai/m", "gpt-5.4"], &lax);
    play("renamed", ["gpt-5.4", "openai/m", "openai/m"], &lax);
    let mine = [("mine", "m"), ("theirs", "x")];
    play("own", ["theirs", "mine", "mine"], &mine);
    let (rows, refused) = built(&scene, "site");
    assert_eq!(rows, ["own/run-1"], "{refused:?}");
    for ((_, reason), words) in refused.iter().zip([
        "its judge is called gpt-5.4, which stands for the model `gpt-5.4`, and the server was asked for `lax-1b`",
        "its agent is called gpt-5.4, which stands for the model `gpt-5.4`, and the server was asked for `lax-1b`",
    ]) {
        assert!(reason.contains(words), "{reason}");
    }
    let board: Value = serde_json::from_str(&text(&scene, "site/board.json")).unwrap();
    let ranking = &board["rankings"][0];
    assert_eq!(
        [
            &ranking["user_model"],
            &ranking["judge_model"],
            &ranking["rows"][0]["model"]
        ],
        ["m", "m", "x"]
    );
    assert_eq!(ranking["rows"][0]["own_price"], true);
    let page = text(&scene, "site/index.html");
    for part in ["mine (asked for m)", "theirs (asked for x)", "own price"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // Whoever lists models lists what is known by its name.
    scene.write("board.toml", &format!("{RULES}judges = [\"mine\"]\n"));
    let check = ["submit", "check", "sent/own.submission"];
    let said = expect_found(&maintain(&scene, &check, &SIGNERS), 3);
    assert!(
        said.contains("its judge is called mine, which is a name of its suite's own"),
        "{said}"
    );
}

/// A run that is gone on with after a kill plays no turn twice; one that was cut back to before a session does, and tells it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_cut_back_and_played_on_is_refused_and_one_that_was_killed_is_not() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    // Plays on from where the journal is cut: before its last event of this kind.
    let cut = |event: &str| {
        let path = scene.path("one/journal/law_trainee.r1.jsonl");
        let journal = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = journal.lines().collect();
        let event = format!("\"event\":\"{event}\"");
        let last = lines
            .iter()
            .rposition(|line| line.contains(&event))
            .unwrap();
        let kept: String = lines[..last]
            .iter()
            .flat_map(|line| [*line, "\n"])
            .collect();
        fs::write(&path, kept).unwrap();
        for name in ["results.json", "seal.json"] {
            fs::remove_file(scene.path(&format!("one/{name}"))).unwrap();
        }
        expect(&run(&scene, &["run", "--resume", "one"], &server), 0, &[]);
    };
    let prepare = |out: &str| {
        let args = ["submit", "prepare", "one", "--out", out];
        scene.run(&[&args[..], &BY].concat())
    };
    let words = "turns of finished sessions were played again";
    cut("session_finished");
    expect_found(&prepare("killed.submission"), 0);
    let said = expect_found(&scene.run(&["verify", "one"]), 0);
    assert!(!crate::scene::flowed(&said).contains(words), "{said}");
    cut("session_started");
    let said = expect_found(&prepare("cut.submission"), 3);
    assert!(said.contains(words), "{said}");
    send(&scene, &["one"], Some("ana"), "sent/cut.submission");
    let check = ["submit", "check", "sent/cut.submission"];
    let said = expect_found(&maintain(&scene, &check, &SIGNERS), 3);
    assert!(said.contains(words), "{said}");
    let said = expect_found(&scene.run(&["verify", "one"]), 0);
    assert!(crate::scene::flowed(&said).contains(words), "{said}");
}

/// A board has the plugins that the program carries: what was played by others is told before it is sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_by_plugins_that_a_board_has_not_is_not_prepared_unless_it_has_them() {
    let scene = scene();
    let server = server(play).await;
    // A section of its own, which says nothing, makes other bytes of it.
    let mut rules = fs::read(root().join("target/plugins/rules.wasm")).unwrap();
    rules.extend([0, 2, 1, b'x']);
    fs::create_dir(scene.path("own")).unwrap();
    fs::write(scene.path("own/rules.wasm"), rules).unwrap();
    scene.write(
        "policy.toml",
        "version = 1\n[plugins.rules]\ngrants = [\"workspace\"]\n",
    );
    let by = ["--plugins", "own", "--policy", "policy.toml"];
    play_suite(&scene, &server, "openai/m", "one", &by);
    let prepare = ["submit", "prepare", "one", "--out", "a.submission"];
    let prepare = [&prepare[..], &BY].concat();
    let output = scene.run(&prepare);
    expect(
        &output,
        3,
        &["it was played by other things than those that are here: the bytes of plugin `rules`"],
    );
    assert!(!scene.path("a.submission").exists());
    let named = [&prepare[..], &["--plugins", "own", "--key", "ana"]].concat();
    expect_found(&scene.run(&named), 0);
    let check = ["submit", "check", "a.submission"];
    expect_found(&maintain(&scene, &check, &SIGNERS), 3);
    expect_found(&maintain(&scene, &check, &[&by[..], &SIGNERS].concat()), 0);
}

/// What somebody makes of another's run who gives its agent another name, and all that follows from it: chain and seal.
fn rename(scene: &Scene, from: &str, to: &str, names: (&str, &str)) {
    copy(&scene.path(from), &scene.path(to));
    let renamed = |path: &str| {
        let text = text(scene, &format!("{to}/{path}"));
        let quoted = |name: &str| format!("\"{name}\"");
        // What the server was asked for, too.
        let model = |name: &str| quoted(name.trim_start_matches("openai/"));
        text.replace(&quoted(names.0), &quoted(names.1))
            .replace(&model(names.0), &model(names.1))
    };
    let mut prev = blake3::hash(b"").to_hex().to_string();
    let journal = "journal/law_trainee.r1.jsonl";
    let mut lines = String::new();
    for line in renamed(journal).lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let line = line.replacen(event["prev"].as_str().unwrap(), &prev, 1);
        prev = blake3::hash(line.as_bytes()).to_hex().to_string();
        lines += &(line + "\n");
    }
    let mut seal: Value = serde_json::from_str(&text(scene, &format!("{to}/seal.json"))).unwrap();
    for (path, text) in [
        (journal, lines),
        ("manifest.json", renamed("manifest.json")),
        ("results.json", renamed("results.json")),
    ] {
        fs::write(scene.path(&format!("{to}/{path}")), &text).unwrap();
        seal["files"][path] = blake3::hash(text.as_bytes()).to_hex().to_string().into();
    }
    let seal = serde_json::to_string_pretty(&seal).unwrap() + "\n";
    fs::write(scene.path(&format!("{to}/seal.json")), seal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_under_another_agents_name_is_the_same_run_and_another_agent_is_not() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/ann", "one", &[]);
    play_suite(&scene, &server, "openai/other", "two", &[]);
    send(&scene, &["one"], Some("ana"), "sent/ana.submission");
    send(&scene, &["two"], Some("bo"), "sent/bo.submission");
    let (rows, refused) = built(&scene, "honest");
    assert_eq!((rows.len(), refused.len()), (2, 0), "{refused:?}");
    rename(&scene, "one", "copied", ("openai/ann", "openai/eve"));
    send(&scene, &["copied"], Some("bo"), "sent/copied.submission");
    let (rows, refused) = built(&scene, "copied-site");
    assert_eq!(rows, ["bo/run-1"], "{refused:?}");
    let words = "ana@lab.example and bo@lab.example signed this same run";
    assert_eq!(refused.len(), 2, "{refused:?}");
    for (name, reason) in refused {
        assert!(reason.contains(words), "{name}: {reason}");
    }
    // Where nobody signs, the first by the name of its file is not taken for whose it is.
    let unsigned = RULES.replace("signed = true", "signed = false");
    scene.write("board.toml", &unsigned);
    fs::remove_dir_all(scene.path("sent")).unwrap();
    send(&scene, &["one"], None, "sent/honest.submission");
    let (rows, refused) = built(&scene, "unsigned");
    assert_eq!(rows, ["honest/run-1"], "{refused:?}");
    send(&scene, &["copied"], None, "sent/aaa.submission");
    let (rows, refused) = built(&scene, "unsigned-copied");
    assert!(rows.is_empty() && refused.len() == 2, "{refused:?}");
    for (name, reason) in refused {
        for agent in ["by openai/ann", "by openai/eve"] {
            assert!(reason.contains(agent), "{name}: {reason}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_whose_judges_have_other_settings_are_not_ranked_against_each_other() {
    let scene = scene();
    let server = server(play).await;
    for (run, agent, effort) in [
        ("one", "openai/m", "low"),
        ("two", "openai/n", "low"),
        ("three", "openai/o", "high"),
    ] {
        let effort = format!("models.j.plain={{ reasoning_effort = \"{effort}\" }}");
        let model = ["models.j.provider=openai", "models.j.model=judge", &effort];
        let set: Vec<&str> = model.iter().flat_map(|one| ["--set", one]).collect();
        let suite = short();
        let played = [
            &["run", suite.to_str().unwrap(), "--runs", "1", "--out", run],
            &["--agent", agent, "--user", "openai/m", "--judge", "j"][..],
            &set,
        ];
        expect(&self::run(&scene, &played.concat(), &server), 0, &[]);
        send(
            &scene,
            &[run],
            Some("ana"),
            &format!("sent/{run}.submission"),
        );
    }
    let (rows, refused) = built(&scene, "site");
    assert_eq!((rows.len(), refused.len()), (3, 0), "{refused:?}");
    let board: Value = serde_json::from_str(&text(&scene, "site/board.json")).unwrap();
    let rankings = board["rankings"].as_array().unwrap();
    let of = |ranking: &Value| ranking["rows"].as_array().unwrap().len();
    assert_eq!(rankings.iter().map(of).collect::<Vec<_>>(), [2, 1]);
    for ranking in rankings {
        assert_eq!(ranking["scaffold"], "nanobot-0.1.5");
        let prompts = ranking["prompts"].as_str().unwrap();
        assert!(prompts.starts_with("built in, version "), "{prompts}");
    }
    let page = text(&scene, "site/index.html");
    let words = "which differs in the settings of the judge&#39;s model.";
    assert!(page.contains(words), "{page}");
    // So it is said where two are compared.
    let output = scene.run(&["compare", "one", "three"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("the settings of the judge's model"), "{said}");
    let output = scene.run(&["compare", "one", "two"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("the settings of"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_cannot_be_shown_is_refused_and_the_others_are_built() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    send(&scene, &["one"], Some("ana"), "sent/ana.submission");
    fs::rename(scene.path("one"), scene.path("bad")).unwrap();
    scene.write("bad/key.age", "no key");
    play_suite(&scene, &server, "openai/n", "two", &[]);
    send(&scene, &["bad", "two"], None, "sent/odd.submission");
    let (rows, refused) = built(&scene, "site");
    assert_eq!(rows, ["ana/run-1"]);
    assert_eq!(refused.len(), 1, "{refused:?}");
}

/// Each rule, by what a run says of itself: refused by its reason, and taken by a board that asks otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_a_board_refuses_by_name_and_has_a_twin_that_takes() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "plain", &[]);
    let prompt = root().join("host/crates/engine/prompts/rubric.md");
    let own = fs::read_to_string(prompt).unwrap() + "\n";
    scene.write("own/rubric.md", &own);
    play_suite(&scene, &server, "openai/n", "worded", &["--prompts", "own"]);
    let released = ["--protocol", "pi-bench"];
    play_suite(&scene, &server, "openai/m", "released", &released);
    let ablated = ["--ablate", "dependencies"];
    play_suite(&scene, &server, "openai/m", "ablated", &ablated);
    let manifest = |run: &str| -> Value {
        serde_json::from_str(&text(&scene, &format!("{run}/manifest.json"))).unwrap()
    };
    let (suite, words) = (manifest("plain"), manifest("worded"));
    let suites = format!("suites = [{}]", suite["suite_digest"]);
    let prompts = format!("prompts = [{}]", words["prompts_digest"]);
    let least = "version = 1\nruns = 1\nunknown_cost = true\n";
    let prepare = |run: &str, rules: &str, number: usize| {
        scene.write("these.toml", &format!("{least}{rules}"));
        let out = format!("{number}.submission");
        let args = [
            "submit",
            "prepare",
            run,
            "--rules",
            "these.toml",
            "--out",
            &out,
        ];
        scene.run(&args)
    };
    // The run, rules that refuse it, the reason, and rules that take it.
    let rows = [
        "plain|suites = ['x']|is none of this board's|SUITES",
        "plain|users = ['openai/u']|its user agent is openai/m|users = ['openai/m']",
        "plain|judges = ['openai/j']|its judge is openai/m|judges = ['openai/m']",
        "released||it follows the protocol|protocol = 'pi-bench'",
        "worded|prompts = ['x']|in other words than the built-in ones|PROMPTS",
        "worded||in other words than the built-in ones|own_prompts = true",
    ];
    for (number, row) in rows.into_iter().enumerate() {
        let row = row.replace("SUITES", &suites).replace("PROMPTS", &prompts);
        let [run, refusing, reason, taking] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let said = expect_found(&prepare(run, refusing, 2 * number), 3);
        assert!(said.contains(reason), "{reason}: {said}");
        expect_found(&prepare(run, taking, 2 * number + 1), 0);
    }
    // Nothing takes these.
    let said = expect_found(&prepare("ablated", "", 20), 3);
    assert!(said.contains("was taken away from its agent"), "{said}");
    play_suite(&scene, &server, "openai/m", "part", &["--shard", "1/1"]);
    let said = expect_found(&prepare("part", "", 22), 3);
    assert!(said.contains("it is one part of a run"), "{said}");
    // Merged, it is a run as any other.
    expect(&scene.run(&["merge", "part", "--out", "merged"]), 0, &[]);
    expect_found(&prepare("merged", "", 23), 0);
    scene.write("these.toml", "version = 1\nruns = 1\n");
    let args = [
        "submit",
        "prepare",
        "plain",
        "--rules",
        "these.toml",
        "--out",
        "21.submission",
    ];
    let said = expect_found(&scene.run(&args), 3);
    assert!(said.contains("what it cost is not known"), "{said}");
    assert!(said.contains("models.NAME.price.input=USD"), "{said}");
    assert_patterns_and_open_sessions_are_refused(&scene, &server);
    assert_ranked_apart(&scene, &format!("{least}{prompts}\n"));
    assert_moved_prompts_are_named(&scene, &format!("{least}{prompts}\n"));
}

/// Runs whose judges were asked in other words stand on one board, in rankings of their own.
fn assert_ranked_apart(scene: &Scene, rules: &str) {
    send(scene, &["plain"], None, "sent/plain.submission");
    send(scene, &["worded"], None, "sent/worded.submission");
    scene.write("board.toml", rules);
    let build = ["board", "build", "sent", "--out", "site"];
    expect_found(&maintain(scene, &build, &["--prompts", "own"]), 0);
    let board: Value = serde_json::from_str(&text(scene, "site/board.json")).unwrap();
    let rankings = board["rankings"].as_array().unwrap();
    let worded: BTreeSet<&str> = rankings
        .iter()
        .filter_map(|one| one["prompts"].as_str())
        .collect();
    assert_eq!((rankings.len(), worded.len()), (2, 2), "{board}");
}

/// Whoever submits a run whose prompts lie elsewhere by now names them.
fn assert_moved_prompts_are_named(scene: &Scene, rules: &str) {
    fs::rename(scene.path("own"), scene.path("moved")).unwrap();
    scene.write("these.toml", rules);
    let prepare = ["submit", "prepare", "worded", "--rules", "these.toml"];
    let prepare = [&prepare[..], &["--out", "moved.submission"]].concat();
    expect(&scene.run(&prepare), 3, &["its folder of prompts "]);
    let named = [&prepare[..], &["--prompts", "moved"]].concat();
    expect_found(&scene.run(&named), 0);
}

/// A judge that matches patterns, and a session that has no score.
fn assert_patterns_and_open_sessions_are_refused(scene: &Scene, server: &MockServer) {
    let suite = short();
    let played = [
        "run",
        suite.to_str().unwrap(),
        "--runs",
        "1",
        "--out",
        "matched",
    ];
    let players = [
        "--agent", "openai/m", "--user", "lexical", "--judge", "lexical",
    ];
    expect(
        &run(scene, &[&played[..], &players].concat(), server),
        0,
        &[],
    );
    let args = ["submit", "prepare", "matched", "--out", "m.submission"];
    let said = expect_found(&scene.run(&[&args[..], &BY].concat()), 3);
    assert!(said.contains("it is marked `by patterns`"), "{said}");
    let rules = Rules::read(&scene.path("board.toml")).unwrap();
    let RunRecord {
        manifest,
        mut results,
        ..
    } = RunRecord::read_finished(&scene.path("plain")).unwrap();
    assert_eq!(rules.objections(&manifest, &results), Vec::<String>::new());
    results.scored.scored -= 1;
    let found = rules.objections(&manifest, &results);
    assert!(
        found[0].starts_with("1 of its sessions have no score"),
        "{found:?}"
    );
}

/// What is prepared has a name that boards read, and holds each run once, as it was played.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_board_would_not_read_is_not_prepared_and_the_operators_mistake_is_no_submitters() {
    let scene = scene();
    let server = server(play).await;
    play_suite(&scene, &server, "openai/m", "one", &[]);
    expect(&scene.run(&["publish", "one", "--out", "shown"]), 0, &[]);
    let again = scene.run(&["publish", "one", "--out", "shown"]);
    expect(&again, 4, &["it is there already; choose another --out"]);
    for (runs, out, code, reason) in [
        (&["one"][..], "a.tar", 2, "end in `.submission`"),
        (&["one", "./one"], "a.submission", 2, "it is named twice"),
        (&["shown"], "a.submission", 3, "name the run itself"),
    ] {
        let args = [&["submit", "prepare", "--out", out][..], &BY, runs].concat();
        expect(&scene.run(&args), code, &[reason]);
        assert!(!scene.path(out).exists());
    }
    send(&scene, &["one"], Some("ana"), "sent/ana.submission");
    scene.write("odd.toml", "version = 1\nno = 1\n");
    let suite = short();
    let (file, folder) = (suite.to_str().unwrap(), suite.parent().unwrap());
    let folder = folder.to_str().unwrap();
    for (wrong, reason) in [
        (["--suite", "nowhere.toml"], "nowhere.toml"),
        (["--plugins", "nowhere"], "read nowhere: it is no folder"),
        (["--prompts", "nowhere"], "read nowhere: it is no folder"),
        (["--policy", "odd.toml"], "odd.toml"),
    ] {
        let own: &[&str] = if wrong[0] == "--suite" {
            &[]
        } else {
            &["--suite", file]
        };
        for command in [
            &["board", "build", "sent", "--out", "site"][..],
            &["submit", "check", "sent/ana.submission"],
        ] {
            let args = [command, &wrong, own, &BY, &SIGNERS].concat();
            expect(&scene.run(&args), 3, &[reason]);
        }
        assert!(!scene.path("site").exists());
    }
    // Nor is the room that this machine lacks the submitter's: no file may have more than a block.
    for command in [
        &["board", "build", "sent", "--out", "site"][..],
        &["submit", "check", "sent/ana.submission"],
    ] {
        let args = [command, &["--suite", file], &BY, &SIGNERS].concat();
        let narrow = scene
            .command_after("trap '' XFSZ; ulimit -f 1", &args)
            .output();
        let said = ["failed to unpack", "ana.submission", "File too large"];
        expect(&narrow.unwrap(), 4, &said);
    }
    // A suite may be named by its folder.
    let build = ["board", "build", "sent", "--out", "site", "--suite", folder];
    expect_found(&scene.run(&[&build[..], &BY, &SIGNERS].concat()), 0);
}

#[test]
fn the_workflow_is_yaml_and_gives_no_right_to_write() {
    let output = Scene::new().run(&["submit", "workflow"]);
    expect(&output, 0, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    let workflow: Value = serde_saphyr::from_str(&said).unwrap();
    assert_eq!(workflow["permissions"], json!({ "contents": "read" }));
    let steps = workflow["jobs"]["check"]["steps"].as_array().unwrap();
    let by_bash = steps.iter().filter(|step| step["shell"] == "bash");
    let lines: Vec<&str> = by_bash.map(|step| step["run"].as_str().unwrap()).collect();
    assert_looks_at_what_came(&lines, workflow["env"]["BY"].as_str().unwrap());
    // Nothing that somebody else may publish tomorrow.
    assert_eq!(said.matches("pip install --require-hashes").count(), 2);
    assert_eq!(said.matches("pip install").count(), 2);
    assert!(!said.contains("pull_request_target") && !said.contains("contents: write"));
}

/// A repository of a board, and a pull request to it.
struct Pull {
    scene: Scene,
}

impl Pull {
    fn new() -> Self {
        let scene = Scene::new();
        for (path, text) in [
            ("repo/submissions/stays.submission", "stays"),
            ("repo/board.toml", "as it was"),
            ("repo/revoked_keys", "eve's"),
        ] {
            scene.write(path, text);
        }
        // In the program's place: it writes down how it was called and by which rules, and refuses what has `bad` in it.
        let program = scene.write(
            "bin/pibench-host",
            "#!/bin/sh\nfor last; do :; done\necho \"$* $(cat board.toml revoked_keys)\" >> ../asked\n! grep -q bad \"$last\"\n",
        );
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        scene.write("temp/none", "");
        let pull = Self { scene };
        pull.git(&["init", "--quiet", "--initial-branch", "main"]);
        pull.commit();
        pull.git(&["branch", "pull"]);
        // The board goes on while somebody makes a pull request.
        pull.scene.write("repo/board.toml", "as it is");
        pull.commit();
        pull.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        pull.git(&["checkout", "--quiet", "pull"]);
        pull
    }

    #[expect(clippy::disallowed_methods, reason = "git, as in a workflow")]
    fn git(&self, args: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@lab.example"]);
        git.args(args).current_dir(self.scene.path("repo"));
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all", "."]);
        self.git(&["commit", "--quiet", "-m", "a"]);
    }

    /// Whether the check's steps pass, with what the program was asked.
    #[expect(clippy::disallowed_methods, reason = "bash, as in a workflow")]
    fn check(&self, lines: &[&str], by: &str) -> (bool, String) {
        self.commit();
        let mut path = self.scene.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let passed = lines.iter().all(|step| {
            let step = step.replace("${{ github.base_ref }}", "main");
            let mut bash = std::process::Command::new("bash");
            bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step]);
            bash.env("PATH", &path).env("BY", by);
            bash.env("RUNNER_TEMP", self.scene.path("temp"));
            bash.current_dir(self.scene.path("repo"));
            bash.status().unwrap().success()
        });
        let asked = fs::read_to_string(self.scene.path("asked"));
        (passed, asked.unwrap_or_default())
    }
}

/// Runs the check's steps in a repository: archives that were added are looked at by what the board has, one that may not be ranked
/// fails them, and so does whatever else a pull request does.
fn assert_looks_at_what_came(lines: &[&str], by: &str) {
    let good = Pull::new();
    for name in ["a new name", "comes", "*"] {
        good.scene
            .write(&format!("repo/submissions/{name}.submission"), "new");
    }
    let (passed, asked) = good.check(lines, by);
    assert!(passed, "{asked}");
    let expected = ["*", "a new name", "comes"].map(|name| {
        format!(
            "submit check {by} --beside submissions submissions/{name}.submission as it iseve's\n"
        )
    });
    assert_eq!(asked, expected.concat());
    let bad = Pull::new();
    bad.scene.write("repo/submissions/comes.submission", "bad");
    let (passed, asked) = bad.check(lines, by);
    assert!(!passed && asked.contains("comes"), "{asked}");
    let stays = "repo/submissions/stays.submission";
    let does: [&dyn Fn(&Scene); 8] = [
        &|scene| drop(scene.write(stays, "of somebody else")),
        &|scene| fs::remove_file(scene.path(stays)).unwrap(),
        &|scene| {
            fs::remove_file(scene.path(stays)).unwrap();
            std::os::unix::fs::symlink("../board.toml", scene.path(stays)).unwrap();
        },
        &|scene| {
            let link = scene.path("repo/submissions/link.submission");
            std::os::unix::fs::symlink("stays.submission", link).unwrap();
        },
        &|scene| {
            let moved = scene.path("repo/submissions/moved.submission");
            fs::rename(scene.path(stays), moved).unwrap();
        },
        &|scene| drop(scene.write("repo/submissions/below/a.submission", "new")),
        &|scene| drop(scene.write("repo/revoked_keys", "nobody's")),
        &|scene| drop(scene.write("repo/notes.md", "no submission")),
    ];
    for (number, does) in does.iter().enumerate() {
        let pull = Pull::new();
        pull.scene.write("repo/submissions/comes.submission", "new");
        does(&pull.scene);
        let (passed, asked) = pull.check(lines, by);
        assert!(!passed && asked.is_empty(), "{number}: {asked}");
    }
}
