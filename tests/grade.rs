//! A finished run graded again: by the same rules it is the same run, by others it has other scores, and what was played
//! stays what it was.

use serde_json::Value;
use wiremock::{Request, ResponseTemplate};

use crate::models::{play, play_short, run, server, text};
use crate::scene::{Scene, copy, embedded, expect, files, first_persona, flowed, hostile, stderr};

const JOURNAL: &str = "journal/law_trainee.r1.jsonl";
const SESSION: &str = "tasks/personas/law_trainee/sessions/saltmarsh-statement/session.toml";

fn grade(scene: &Scene, out: &str, args: &[&str]) -> Value {
    let output = scene.run(&[&["grade", "run", "--out", out, "--json"], args].concat());
    expect(&output, 0, &[]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The files that scores are in.
fn scores(scene: &Scene, run: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = files(&scene.path(run));
    let scored = |name: &str| {
        name == "results.json" || name.starts_with("journal") || name.starts_with("trajectories")
    };
    files.retain(|(name, _)| scored(name));
    assert!(files.len() > 5);
    files
}

fn manifest(scene: &Scene, run: &str) -> Value {
    let text = std::fs::read(scene.path(run).join("manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn the_same_graders_and_judges_give_the_same_scores_to_the_byte() {
    for (agent, protocol) in [
        ("reference", "paper"),
        ("reactive", "paper"),
        ("cheat", "pi-bench"),
    ] {
        let scene = Scene::new();
        let args = ["--agent", agent, "--protocol", protocol, "--runs", "2"];
        let played = scene.play("run", &args);
        let before = files(&scene.path("run"));
        assert_eq!(grade(&scene, "graded", &[]), played, "{agent}");
        assert_eq!(
            scores(&scene, "graded"),
            scores(&scene, "run"),
            "{agent} {protocol}"
        );
        assert_eq!(
            files(&scene.path("run")),
            before,
            "no grading changes the run"
        );
        let output = scene.run(&["verify", "graded"]);
        let said = flowed(&String::from_utf8_lossy(&output.stdout));
        assert!(said.contains("every score follows"), "{said}");
    }
}

#[test]
fn a_grading_tells_each_session_with_its_turns() {
    let scene = Scene::new();
    let played = scene.play("run", &["--agent", "reactive"]);
    let output = scene.run(&["grade", "run", "--out", "graded"]);
    expect(&output, 0, &[]);
    let said = flowed(&stderr(&output));
    for session in played["sessions"].as_array().unwrap() {
        let turns = session["turns"].as_u64().unwrap();
        assert!(turns > 0, "{session}");
        let id = session["id"].as_str().unwrap();
        let line = format!("law_trainee/{id} run 1: complete, {turns} turn");
        assert!(said.contains(&line), "{line}: {said}");
    }
}

#[test]
fn a_graded_run_is_compared_and_reported_and_names_where_it_is_from() {
    let scene = Scene::new();
    scene.play("run", &[]);
    grade(&scene, "graded", &[]);
    expect(&scene.run(&["compare", "run", "graded"]), 0, &[]);
    expect(&scene.run(&["report", "graded", "--out", "page"]), 0, &[]);
    let graded = &manifest(&scene, "graded")["graded"];
    assert_eq!(
        graded["from"],
        scene.path("run").canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(
        graded["seal"],
        blake3::hash(&std::fs::read(scene.path("run/seal.json")).unwrap())
            .to_hex()
            .as_str()
    );
    assert_eq!(graded["judge"], "lexical");
    assert!(manifest(&scene, "run").get("graded").is_none());
    expect(
        &scene.run(&["run", "--resume", "graded"]),
        2,
        &["graded and not played"],
    );
}

#[test]
fn a_changed_rule_gives_another_score_and_a_changed_request_is_refused() {
    let scene = Scene::new().with_short();
    let suite = "tasks/suite.toml";
    expect(
        &scene.run(&["run", suite, "--out", "run", "--json"]),
        0,
        &[],
    );
    scene.replace(SESSION, r"I\W+believe\W+that", r"I\W+doubt\W+that");
    let graded = grade(&scene, "graded", &[]);
    assert_eq!(graded["proc"], 100.0, "intents are as they were");
    let comp = graded["comp"].as_f64().unwrap();
    assert!(
        comp > 50.0 && comp < 100.0,
        "one item is not met now: {comp}"
    );
    expect(&scene.run(&["verify", "graded"]), 0, &[]);
    expect(
        &scene.run(&["verify", "run"]),
        3,
        &["law_trainee/sessions/saltmarsh-statement`; put it back"],
    );
    let as_played = embedded();
    let as_played = ["--suite", as_played.to_str().unwrap()];
    let output = scene.run(&[&["grade", "run", "--out", "other"], &as_played[..]].concat());
    expect(
        &output,
        3,
        &["grade law_trainee/lease", "the suite had no such session"],
    );

    scene.replace(SESSION, "request = '''\n", "request = '''\nPlease hurry. ");
    expect(
        &scene.run(&["grade", "run", "--out", "third"]),
        3,
        &["law_trainee/saltmarsh-statement", "only rules and rubrics"],
    );
    assert!(!scene.path("third").exists());
}

#[test]
fn the_other_protocol_sums_by_its_own_formula() {
    let scene = Scene::new().with_short();
    // A final session without a checklist: the released code leaves it out, the paper counts its intents.
    let path = scene.path("tasks/personas/law_trainee/sessions/corrie-extension/session.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once("[[checklist]]").unwrap();
    let reference = rest.find("[[reference]]").map_or("", |at| &rest[at..]);
    std::fs::write(&path, format!("{head}{reference}")).unwrap();
    let suite = "tasks/suite.toml";
    let args = [
        "run",
        suite,
        "--out",
        "run",
        "--protocol",
        "pi-bench",
        "--json",
    ];
    let output = scene.run(&args);
    expect(&output, 0, &[]);
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    let corrie = |results: &Value| {
        let mut sessions = results["sessions"].as_array().unwrap().iter();
        sessions
            .find(|line| line["id"] == "corrie-extension")
            .unwrap()
            .clone()
    };
    let group = played["proc"].as_f64().unwrap();
    let sessions = first_persona().sessions;
    let scored = sessions
        .iter()
        .filter(|session| !session.checklist.is_empty());
    let scored = scored.count();
    assert_eq!(played["scored"]["of"], scored - 1);
    assert_eq!(played["comp_scored"], Value::Null, "as Proc");
    let alone = corrie(&played)["proc"].as_f64().unwrap();
    assert!(group > 0.0 && alone < group, "{played:#}");

    let graded = grade(&scene, "graded", &["--protocol", "paper"]);
    assert_eq!(graded["scored"]["of"], scored);
    // It has a Proc now, and still no Comp.
    assert_eq!(graded["comp_scored"]["of"], scored - 1);
    let shown = scene.run(&["show", "graded"]).stdout;
    let shown = String::from_utf8_lossy(&shown);
    let both = format!("{scored} of {scored} / {0} of {0}", scored - 1);
    assert!(shown.contains(&both), "{shown}");
    let note = "\nscored: sessions with a Proc / with a Comp.";
    assert!(shown.contains(note), "{shown}");
    assert_eq!(corrie(&graded)["weight"], 1);
    // All the others with their groups' weights, and the one that was left out.
    #[expect(clippy::cast_precision_loss, reason = "a few sessions")]
    let all = sessions.len() as f64;
    let paper = graded["proc"].as_f64().unwrap();
    assert!(
        (paper - (group * (all - 1.0) + alone) / all).abs() < 1e-9,
        "{paper} of {group} and {alone}"
    );
    expect(&scene.run(&["verify", "graded"]), 0, &[]);
    expect(
        &scene.run(&["compare", "run", "graded"]),
        3,
        &["under the same protocol"],
    );
    let back = ["grade", "graded", "--out", "back", "--protocol", "pi-bench"];
    expect(&scene.run(&back), 0, &[]);
    assert_eq!(scores(&scene, "back"), scores(&scene, "run"));
}

/// Speaks as the others do, but the judge of rubrics gives no answer.
fn mute(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    let is_user = ["has not said", "wants certain", "<the message>", "REASON:"];
    if body["tools"].is_array() || is_user.iter().any(|part| system.contains(part)) {
        return play(request);
    }
    text("Looks fine!")
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_without_a_judges_answer_are_scored_afterwards() {
    let scene = Scene::new();
    let silent = server(mute).await;
    let output = play_short(&scene, &silent, &[]);
    expect(&output, 8, &[]);
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(played["scored"]["scored"], 0, "{played:#}");

    let speaks = server(play).await;
    let again = ["grade", "run", "--out", "graded", "--json"];
    let output = run(&scene, &again, &speaks);
    expect(&output, 0, &[]);
    let graded: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(graded["scored"]["scored"], graded["scored"]["of"]);
    assert!(graded["comp"].as_f64().unwrap() > 0.0);
    assert_eq!(graded["usage"]["agent"], played["usage"]["agent"]);
    expect(&scene.run(&["verify", "graded"]), 0, &[]);

    // Another judge costs what it is asked, and is named.
    let other = ["grade", "run", "--out", "third", "--judge", "lexical"];
    expect(&run(&scene, &other, &speaks), 0, &[]);
    assert_eq!(manifest(&scene, "third")["judge"], "lexical");
    assert_eq!(manifest(&scene, "third")["graded"]["judge"], "openai/m");
}

#[test]
fn a_changed_or_unfinished_run_is_not_graded() {
    let scene = Scene::new();
    scene.play("run", &[]);
    for (file, said) in [
        (JOURNAL, "was changed after the run"),
        ("results.json", "was changed after the run"),
        ("seal.json", "seal.json"),
    ] {
        let _ = std::fs::remove_dir_all(scene.path("copy"));
        copy(&scene.path("run"), &scene.path("copy"));
        let path = scene.path("copy").join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        // A seal is no JSON any more; of the others anything may be changed.
        let at = if file == "seal.json" {
            0
        } else {
            bytes.len() / 2
        };
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let output = scene.run(&["grade", "copy", "--out", "graded"]);
        expect(&output, 3, &[said]);
        assert!(!scene.path("graded").exists(), "{file}");
    }
    std::fs::remove_file(scene.path("run/seal.json")).unwrap();
    expect(
        &scene.run(&["grade", "run", "--out", "graded"]),
        3,
        &["seal.json"],
    );
}

#[test]
fn a_policy_that_lowers_a_limit_holds_for_the_grading_and_is_named() {
    let scene = Scene::new();
    scene.play("run", &[]);
    let table = "version = 1\n[limits.grader]\nfuel = ";
    scene.write("roomy.toml", &format!("{table}1900000000\n"));
    scene.write("tight.toml", &format!("{table}1000\n"));
    let graded = grade(&scene, "roomy", &["--policy", "roomy.toml"]);
    assert_eq!(graded["comp"], 100.0);
    let limits = &manifest(&scene, "roomy")["limits"];
    assert_eq!(limits["grader"]["fuel"], 1_900_000_000);
    assert!(manifest(&scene, "run")["policy"].is_null());

    let args = ["grade", "run", "--out", "tight", "--policy", "tight.toml"];
    let output = scene.run(&[&args[..], &["--json"]].concat());
    expect(&output, 5, &[]);
    let graded: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(graded["faults"][0]["cause"], "fuel", "{graded:#}");
    assert!(graded["comp"].as_f64().unwrap() < 100.0);
    let policy = scene.path("tight.toml").canonicalize().unwrap();
    assert_eq!(
        manifest(&scene, "tight")["policy"],
        policy.to_str().unwrap()
    );
    expect(&scene.run(&["verify", "tight"]), 0, &[]);

    scene.write("raised.toml", &format!("{table}3000000000\n"));
    let args = ["grade", "run", "--out", "third", "--policy", "raised.toml"];
    expect(&scene.run(&args), 3, &["the policy", "fuel"]);
    assert!(!scene.path("third").exists());
}

#[test]
fn a_grading_that_was_cut_off_goes_on_and_another_is_not_written_over_it() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive"]);
    grade(&scene, "graded", &[]);
    let whole = scores(&scene, "graded");
    let journal = std::fs::read(scene.path("graded").join(JOURNAL)).unwrap();
    for cut in [0, journal.len() / 3, journal.len() - 7] {
        std::fs::write(scene.path("graded").join(JOURNAL), &journal[..cut]).unwrap();
        std::fs::remove_file(scene.path("graded/results.json")).unwrap();
        grade(&scene, "graded", &[]);
        assert_eq!(scores(&scene, "graded"), whole, "cut at {cut}");
    }
    expect(
        &scene.run(&["grade", "run", "--out", "graded", "--protocol", "pi-bench"]),
        4,
        &["there already", "they differ in `protocol`"],
    );
}

/// A run of the short suite with an item more, whose grader does this: the exit code, and the faults.
fn graded_by(deed: &str) -> (Option<i32>, Value) {
    let scene = Scene::new().with_short();
    let plugin = format!("[plugins]\nhostile = \"{}\"\n", hostile("grader").display());
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    let suite = suite.replacen("seed = 1", "seed = 1\npolicy = \"policy.toml\"", 1);
    scene.write("tasks/suite.toml", &format!("{suite}\n{plugin}"));
    let policy = "version = 1\n[plugins.hostile]\ngrants = [\"log\"]\n";
    scene.write("tasks/policy.toml", policy);
    let text = std::fs::read_to_string(scene.path(SESSION)).unwrap();
    let item = format!(
        "\n[[checklist]]\nid = \"strange\"\ncriterion = \"The strange rule holds\"\n[checklist.rule]\n\
         grader = \"hostile\"\nconfig = {{ do = \"{deed}\" }}\n"
    );
    scene.write(SESSION, &(text + &item));
    let output = scene.run(&["run", "tasks/suite.toml", "--out", "run", "--json"]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    (output.status.code(), results["faults"].clone())
}

#[test]
fn a_grader_that_gives_no_verdict_is_at_fault_and_one_that_does_is_not() {
    let (code, faults) = graded_by("nothing");
    assert_eq!(code, Some(5), "{faults:#}");
    assert_eq!(faults[0]["source"], "hostile", "{faults:#}");
    assert_eq!(faults[0]["cause"], "no verdict", "{faults:#}");
    let (code, faults) = graded_by("pass");
    assert_eq!((code, faults), (Some(0), serde_json::json!([])));
}
