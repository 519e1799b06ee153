//! Prompts of one's own, given on the command line.

use serde_json::Value;
use wiremock::{MockServer, Request};

use crate::models::{play, run, server};
use crate::scene::{Scene, expect, files, flowed, root, say_in_record, short, stderr};

const MARK: &str = "You are the strict grader of the harbour office.";

const OTHER_MARK: &str = "You are the lenient grader of the harbour office.";

fn manifest(scene: &Scene, run: &str) -> Value {
    let text = std::fs::read_to_string(scene.path(run).join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn read_built_in(path: &str) -> String {
    std::fs::read_to_string(root().join("host/crates").join(path)).unwrap()
}

/// The built-in prompt of the judge with a line more.
fn marked_rubric(mark: &str) -> String {
    let built_in = read_built_in("engine/prompts/rubric.md");
    let block = "{% block system %}\n";
    let own = built_in.replacen(block, &format!("{block}{mark}\n"), 1);
    assert_ne!(own, built_in);
    own
}

/// Plays a session that this server judges.
fn play_judged(scene: &Scene, server: &MockServer, out: &str, more: &[&str]) {
    let suite = short();
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
    expect(&run(scene, &[&first[..], more].concat(), server), 0, &[]);
}

fn holds(request: &Request, text: &str) -> bool {
    String::from_utf8_lossy(&request.body).contains(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_a_folder_reach_the_model_and_the_record() {
    let scene = Scene::new();
    scene.write("own/rubric.md", &marked_rubric(MARK));
    let mut marked = Vec::new();
    for (out, more) in [("plain", &[][..]), ("own_words", &["--prompts", "own"])] {
        let server = server(play).await;
        play_judged(&scene, &server, out, more);
        let asked = server.received_requests().await.unwrap();
        let with = asked.iter().filter(|request| holds(request, MARK));
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
    scene.write("own/rubric.md", &marked_rubric(OTHER_MARK));
    expect(
        &scene.run(&["run", "--resume", "own_words"]),
        3,
        &["changed since it was begun: the prompts"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_that_lie_elsewhere_are_asked_for_and_taken_by_name() {
    let scene = Scene::new();
    let server = server(play).await;
    scene.write("own/rubric.md", &marked_rubric(MARK));
    let system = read_built_in("agent/prompts/system.md");
    scene.write("agents/system.md", &system);
    for (run_of, folder) in [("judged", "own"), ("worded", "agents")] {
        play_judged(&scene, &server, run_of, &["--prompts", folder]);
        let moved = format!("moved-{folder}");
        std::fs::rename(scene.path(folder), scene.path(&moved)).unwrap();
        let (sheet, graded) = (format!("{folder}.html"), format!("{folder}-graded"));
        for (verb, args) in [
            ("verify", &["verify", run_of][..]),
            ("verify", &["review", run_of]),
            ("verify", &["audit", run_of, "--sheet", &sheet]),
            ("judge", &["audit", run_of, "--judge", "openai/m"]),
            ("grade", &["grade", run_of, "--out", &graded]),
        ] {
            let told = format!("{verb} {run_of}: its folder of prompts ");
            let absent = "is not there; put it back (`verify`, `review`, `audit`, `grade` and `submit prepare` take it from elsewhere by --prompts)";
            expect(&run(&scene, args, &server), 3, &[&told, absent]);
            let named = [args, &["--prompts", &moved]].concat();
            expect(&run(&scene, &named, &server), 0, &[]);
        }
        expect(&scene.run(&["verify", &graded]), 0, &[]);
        // Others are not taken for them.
        scene.write(&format!("{moved}/rubric.md"), &marked_rubric(OTHER_MARK));
        let verify = ["verify", run_of, "--prompts", &moved];
        let changed = "changed since it was begun: the prompts";
        expect(&scene.run(&verify), 3, &[changed]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_are_held_against_a_run_whose_prompts_are_gone() {
    let scene = Scene::new();
    let server = server(play).await;
    scene.write("own/rubric.md", &marked_rubric(MARK));
    let by = ["--user", "openai/m", "--prompts", "own"];
    play_judged(&scene, &server, "run", &by);
    std::fs::remove_dir_all(scene.path("own")).unwrap();
    let suite = short();
    let check = ["check", suite.to_str().unwrap(), "--against", "run"];
    let check = [&check[..], &["--session", "corrie-extension"]].concat();
    let output = scene.run(&check);
    expect(&output, 0, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    let told = "Patterns agree with the verdicts of run";
    assert!(said.contains(told), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grading_tells_changed_prompts_and_judges_by_those_that_are_named() {
    let scene = Scene::new();
    let first = server(play).await;
    scene.write("own/rubric.md", &marked_rubric(MARK));
    let system = read_built_in("agent/prompts/system.md");
    scene.write("own/system.md", &format!("{MARK}\n{system}"));
    play_judged(&scene, &first, "run", &["--prompts", "own"]);
    play_judged(&scene, &first, "plain", &[]);
    expect(
        &run(&scene, &["grade", "run", "--out", "same"], &first),
        0,
        &[],
    );

    scene.write("own/rubric.md", &marked_rubric(OTHER_MARK));
    let told = "grade run: changed since it was begun: the prompts in ";
    expect(
        &run(&scene, &["grade", "run", "--out", "other"], &first),
        3,
        &[
            told,
            "own, or the built-in ones beside them; put them back, or name them by --prompts",
        ],
    );
    assert!(!scene.path("other").exists());
    // They hold none of the agent's, who had one of its own.
    scene.write("lenient/rubric.md", &marked_rubric(OTHER_MARK));
    let [of_run, of_plain] = ["run", "plain"].map(|played| manifest(&scene, played));
    for (run_of, folder, was) in [
        ("run", "own", &of_run),
        ("run", "lenient", &of_run),
        ("plain", "lenient", &of_plain),
    ] {
        let second = server(play).await;
        let out = format!("{run_of}-by-{folder}");
        let args = ["grade", run_of, "--out", &out, "--prompts", folder];
        expect(&run(&scene, &args, &second), 0, &[]);
        let asked = second.received_requests().await.unwrap();
        assert!(!asked.is_empty() && asked.iter().all(|request| holds(request, OTHER_MARK)));
        let graded = manifest(&scene, &out);
        assert_eq!(graded["graded"]["prompts_digest"], was["prompts_digest"]);
        assert_ne!(graded["prompts_digest"], was["prompts_digest"]);
        assert_eq!(graded["prompts_version"], Value::Null);
        assert!(graded["prompts"].as_str().unwrap().ends_with(folder));
        expect(&scene.run(&["verify", &out]), 0, &[]);
    }
}

/// Makes of a run one that was judged by the built-in prompts of another version.
fn change_version(scene: &Scene, run: &str) {
    say_in_record(scene, run, |record| {
        record["prompts_version"] = 6.into();
        record["prompts_digest"] = "ab".repeat(32).into();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grading_by_the_built_in_prompts_of_another_version_says_so() {
    let scene = Scene::new();
    let server = server(play).await;
    play_judged(&scene, &server, "run", &[]);
    let before = |out: &str, told: &[&str]| -> (String, Value) {
        let output = run(&scene, &["grade", "run", "--out", out], &server);
        expect(&output, 0, told);
        let results = std::fs::read_to_string(scene.path(out).join("results.json")).unwrap();
        let results: Value = serde_json::from_str(&results).unwrap();
        expect(&scene.run(&["verify", out]), 0, &[]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        (flowed(&said), results["prompts_before"].clone())
    };
    let (said, same) = before("same", &[]);
    assert!(same.is_null() && !said.contains("other prompts"), "{said}");
    change_version(&scene, "run");
    let told = "run was judged by other prompts (built-in, version 6) than";
    let (said, other) = before("other", &[told]);
    assert_eq!(other, "built-in, version 6");
    assert!(said.contains("It was graded by other prompts"), "{said}");
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
    let said = "use the prompt satisfaction.md: it never shows `{{ earlier }}`, which the built-in prompts of version 8 do";
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
