//! Prompts of one's own, given on the command line.

use serde_json::Value;

use crate::models::{play, run, server};
use crate::scene::{Scene, expect, files, root, short};

const MARK: &str = "You are the strict grader of the harbour office.";

fn manifest(scene: &Scene, run: &str) -> Value {
    let text = std::fs::read_to_string(scene.path(run).join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_a_folder_reach_the_model_and_the_record() {
    let scene = Scene::new();
    let built_in =
        std::fs::read_to_string(root().join("host/crates/engine/prompts/rubric.md")).unwrap();
    let own = built_in.replacen(
        "{% block system %}\n",
        &format!("{{% block system %}}\n{MARK}\n"),
        1,
    );
    assert_ne!(own, built_in);
    scene.write("own/rubric.md", &own);
    let suite = short();
    let args = |out, more: &[&'static str]| {
        let first = [
            "run",
            suite.to_str().unwrap(),
            "--session",
            "corrie-extension",
            "--runs",
            "1",
            "--judge",
            "openai/m",
            "--no-preflight",
            "--out",
            out,
        ];
        [&first[..], more].concat()
    };
    let mut marked = Vec::new();
    for (out, more) in [("plain", &[][..]), ("own_words", &["--prompts", "own"])] {
        let server = server(play).await;
        expect(&run(&scene, &args(out, more), &server), 0, &[]);
        let asked = server.received_requests().await.unwrap();
        let with = asked
            .iter()
            .filter(|request| String::from_utf8_lossy(&request.body).contains(MARK));
        marked.push((asked.len(), with.count()));
    }
    let [(asked, none), (again, all)] = marked[..] else {
        unreachable!()
    };
    assert!(
        asked > 0 && none == 0 && again > 0 && all == again,
        "{marked:?}"
    );
    let [plain, own_words] = ["plain", "own_words"].map(|run| manifest(&scene, run));
    assert_ne!(plain["prompts_digest"], own_words["prompts_digest"]);
    assert_eq!(plain["prompts"], Value::Null);
    assert!(own_words["prompts"].as_str().unwrap().ends_with("/own"));
    // What a score depends on does not change under a run.
    scene.write("own/rubric.md", &own.replace(MARK, "You are lenient."));
    expect(
        &scene.run(&["run", "--resume", "own_words"]),
        3,
        &["changed since it was begun: the prompts"],
    );
}

#[test]
fn prompts_of_an_older_version_are_refused_with_what_is_new() {
    let scene = Scene::new();
    let built_in =
        std::fs::read_to_string(root().join("host/crates/engine/prompts/satisfaction.md")).unwrap();
    let old = built_in.replace("{{ earlier or \"Nothing.\" }}", "");
    assert_ne!(old, built_in);
    scene.write("old/satisfaction.md", &old);
    let suite = short();
    let args = ["run", suite.to_str().unwrap(), "--prompts", "old"];
    let said = "use the prompt satisfaction.md: it never shows `{{ earlier }}`, which the built-in prompts of version 7 do";
    expect(&scene.run(&args), 3, &[said]);
}

#[test]
fn the_built_in_prompts_are_written_out_and_are_taken_back() {
    let scene = Scene::new();
    let made = scene.run(&["prompts", "export", "own"]);
    expect(&made, 0, &["--prompts own"]);
    let built_in = ["agent", "engine"].map(|of| root().join(format!("host/crates/{of}/prompts")));
    let mut expected: Vec<_> = built_in.iter().flat_map(|dir| files(dir)).collect();
    // The other wording of `system.md`.
    expected.retain(|(name, _)| name != "system-coached.md");
    expected.sort();
    assert_eq!(files(&scene.path("own")), expected);
    scene.play("run", &["--agent", "nop", "--prompts", "own"]);
    assert_eq!(manifest(&scene, "run")["scaffold_prompt"], "own");
    let again = scene.run(&["prompts", "export", "own"]);
    let said = "write the prompts into own: it is there already";
    expect(&again, 4, &[said]);
}

/// Each variable that a prompt shows stands in the table of the documentation.
#[test]
fn the_documentation_lists_what_prompts_may_show() {
    let text = std::fs::read_to_string(root().join("docs/protocols.md")).unwrap();
    let shown = regex::Regex::new(r"\{\{ ([a-z.]+)").unwrap();
    let loops = regex::Regex::new(r"\{% for [a-z]+ in ([a-z]+) %\}").unwrap();
    for of in ["agent", "engine"] {
        for (file, prompt) in files(&root().join(format!("host/crates/{of}/prompts"))) {
            let prompt = String::from_utf8(prompt).unwrap();
            let variables = shown.captures_iter(&prompt);
            for found in variables.chain(loops.captures_iter(&prompt)) {
                let name = format!("`{}`", &found[1]);
                assert!(text.contains(&name), "{file}: {name}");
            }
        }
    }
}

/// What only the coached wording says.
const ADVICE: &str = "ask one focused question";

const ONE: [&str; 11] = [
    "--session",
    "corrie-extension",
    "--agent",
    "openai/m",
    "--user",
    "lexical",
    "--judge",
    "lexical",
    "--runs",
    "1",
    "--out",
];

/// Plays a session with a model as the agent; how many of its system prompts hold the text.
async fn prompted(scene: &Scene, out: &str, more: &[&str], text: &str) -> usize {
    let server = server(play).await;
    let suite = short();
    let first = ["run", suite.to_str().unwrap()];
    let args = [&first[..], &ONE, &[out], more].concat();
    expect(&run(scene, &args, &server), 0, &[]);
    let asked = server.received_requests().await.unwrap();
    let system = |request: &wiremock::Request| -> String {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        body["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    assert!(!asked.is_empty());
    asked
        .iter()
        .filter(|request| system(request).contains(text))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_prompt_is_neutral_unless_the_coached_one_is_asked_for_and_tables_name_that() {
    let scene = Scene::new();
    assert_eq!(prompted(&scene, "neutral", &[], ADVICE).await, 0);
    let coached = ["--scaffold-prompt", "coached"];
    assert!(prompted(&scene, "coached", &coached, ADVICE).await > 0);
    let by_suite = ["--set", "scaffold_prompt=coached"];
    assert!(prompted(&scene, "by-suite", &by_suite, ADVICE).await > 0);
    for (out, wording) in [
        ("neutral", "neutral"),
        ("coached", "coached"),
        ("by-suite", "coached"),
    ] {
        assert_eq!(manifest(&scene, out)["scaffold_prompt"], wording);
        expect(&scene.run(&["verify", out]), 0, &[]);
    }
    let told = |args: &[&str]| String::from_utf8(scene.run(args).stdout).unwrap();
    let report = told(&["report", "neutral", "coached"]);
    assert!(
        report.contains("openai/m (coached) (by patterns) (coached prompt)"),
        "{report}"
    );
    assert!(!report.contains("(neutral prompt)"), "{report}");
    let compared = told(&["compare", "neutral", "coached"]);
    assert!(
        compared.contains("coached (openai/m, by patterns, coached prompt)"),
        "{compared}"
    );
    assert!(
        compared.contains("A: neutral (openai/m, by patterns)"),
        "{compared}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_system_prompt_reaches_the_agent_and_a_bad_one_is_refused_before_anything_is_played()
{
    let scene = Scene::new();
    let built_in =
        std::fs::read_to_string(root().join("host/crates/agent/prompts/system.md")).unwrap();
    scene.write("own/system.md", &format!("{MARK}\n{built_in}"));
    let own = ["--prompts", "own"];
    assert!(prompted(&scene, "out", &own, MARK).await > 0);
    let played = manifest(&scene, "out");
    assert_eq!(played["scaffold_prompt"], "own");
    scene.write("own/system.md", &built_in);
    let key = [("OPENAI_API_KEY", "k")];
    let resumed = scene.run_with(&["run", "--resume", "out"], &key);
    expect(
        &resumed,
        3,
        &["changed since it was begun: the agent's prompts"],
    );

    let suite = short();
    let refused = |text: &str, more: &[&str], code: i32, said: &str| {
        scene.write("bad/system.md", text);
        let args = [
            "run",
            suite.to_str().unwrap(),
            "--prompts",
            "bad",
            "--out",
            "no",
        ];
        expect(&scene.run(&[&args[..], more].concat()), code, &[said]);
        assert!(!scene.path("no").exists());
    };
    refused(
        "You are kind.",
        &[],
        3,
        "system.md: it never shows `{{ file.text }}`",
    );
    refused(
        "{% for %}",
        &[],
        3,
        "use the prompt system.md: syntax error",
    );
    let there = "there is no unknown; there are files, memory, always, others";
    refused("{{ unknown }}", &[], 3, there);
    let both = ["--scaffold-prompt", "coached"];
    refused(&built_in, &both, 2, "leave one of them out");
}
