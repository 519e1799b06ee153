//! Bad input: one clear message each, with file and line where there is one, the exit code of its kind, and nothing
//! half-written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::scene::{Scene, expect, hostile, output, root, short, stderr};

const SUITE: &str = "tasks/suite.toml";
const PERSONA: &str = "tasks/personas/law_trainee/persona.toml";
const SESSION: &str = "tasks/personas/law_trainee/sessions/saltmarsh-chronology/session.toml";

/// Changes one text of the embedded suite and runs it.
fn check(file: &str, old: &str, new: &str, said: &[&str]) {
    let scene = Scene::new().with_short();
    scene.replace(file, old, new);
    let output = scene.run(&["run", SUITE, "--out", "run"]);
    expect(&output, 3, said);
    assert!(!scene.path("run").exists(), "something was written");
    expect(&scene.run(&["check", SUITE]), 3, said);
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    check(
        SUITE,
        "seed = 1",
        "sede = 1",
        &["suite.toml:5:", "sede", "seed"],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_line() {
    check(
        SUITE,
        "seed = 1",
        "seed = \"one\"",
        &["suite.toml:5:", "seed"],
    );
}

#[test]
fn a_model_that_could_never_be_meant_is_named() {
    let entry = |name: &str, model: &str| {
        format!("seed = 1\n[models.{name}]\nprovider = \"openai\"\nmodel = \"{model}\"\n")
    };
    for scripted in ["nop", "lexical", "external"] {
        let said = format!("`{scripted}` is a scripted model");
        check(
            SUITE,
            "seed = 1\n",
            &entry(scripted, "m"),
            &["suite.toml:", &said],
        );
    }
    let empty = entry("mine", "");
    check(
        SUITE,
        "seed = 1\n",
        &empty,
        &["suite.toml:8:", "`model` must not be empty"],
    );
}

#[test]
fn a_judge_that_is_named_twice_is_refused() {
    let scene = Scene::new();
    let suite = short();
    let output = scene.run(&[
        "run",
        suite.to_str().unwrap(),
        "--judge",
        "openai/m",
        "--judge",
        "openai/m",
        "--out",
        "run",
    ]);
    expect(&output, 2, &["judge by `openai/m` twice"]);
    assert!(!scene.path("run").exists());
}

#[test]
fn a_missing_file_is_named() {
    check(
        SUITE,
        "personas/law_trainee",
        "personas/nobody",
        &["suite.toml:4:", "nobody"],
    );
}

#[test]
fn a_staged_path_cannot_leave_the_pack() {
    let new = "source = \"../../../../../etc/passwd\"";
    let old = "source = \"documents.md\"";
    check(SESSION, old, new, &["session.toml:", "../../"]);
    let old = "source = \"access.md\"";
    check(PERSONA, old, new, &["persona.toml:", "../../"]);
}

#[test]
fn a_link_in_the_pack_is_refused() {
    let scene = Scene::new().with_short();
    let staged = scene.path(SESSION).with_file_name("documents.md");
    std::fs::remove_file(&staged).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &staged).unwrap();
    let output = scene.run(&["run", SUITE, "--out", "run"]);
    expect(&output, 3, &["session.toml:", "link"]);
    assert!(!scene.path("run").exists());
}

#[test]
fn a_cycle_of_dependencies_is_named() {
    let old = "{ session = \"saltmarsh-chronology\" }";
    let new = "{ session = \"saltmarsh-chronology\", depends_on = [\"saltmarsh-statement\"] }";
    check(
        PERSONA,
        old,
        new,
        &["persona.toml:", "cycle", "saltmarsh-statement"],
    );
}

#[test]
fn a_plugin_that_is_no_component_is_named() {
    let scene = Scene::new().with_short();
    scene.write("tasks/fake.wasm", "not wasm");
    let suite = std::fs::read_to_string(scene.path(SUITE)).unwrap();
    scene.write(
        SUITE,
        &format!("{suite}\n[plugins]\nsimple_note = \"fake.wasm\"\n"),
    );
    let output = scene.run(&["run", SUITE, "--out", "run"]);
    expect(
        &output,
        3,
        &["simple_note", "fake.wasm", "no WebAssembly component"],
    );
    assert!(!scene.path("run").exists());
}

#[test]
fn a_core_module_and_compiled_code_are_no_components() {
    let scene = Scene::new();
    for (name, bytes) in [
        ("module", wat::parse_str("(module)").unwrap()),
        ("elf", b"\x7fELF\x02\x01\x01".to_vec()),
    ] {
        let path = scene.path(&format!("{name}.wasm"));
        std::fs::write(&path, bytes).unwrap();
        expect(
            &scene.run(&["check", path.to_str().unwrap()]),
            3,
            &["no WebAssembly component"],
        );
    }
    expect(
        &scene.run(&["check", hostile("app").to_str().unwrap()]),
        0,
        &[],
    );
}

#[test]
fn a_foreign_import_is_refused_by_name() {
    let component = |import: &str| {
        wat::parse_str(format!(
            "(component (import \"{import}\" (instance)) (instance) \
            (export \"pibench:plugin/grading@0.1.0\" (instance 1)))"
        ))
        .unwrap()
    };
    let scene = Scene::new();
    for import in [
        "wasi:http/outgoing-handler@0.2.0",
        "wasi:cli/environment@0.3.0",
        "pibench:plugin/secrets@0.1.0",
        "env:x/y",
    ] {
        let path = scene.path("foreign.wasm");
        std::fs::write(&path, component(import)).unwrap();
        expect(
            &scene.run(&["check", path.to_str().unwrap()]),
            3,
            &[import, "no plugin gets"],
        );
    }
}

#[test]
fn a_missing_plugin_is_named_with_what_to_do() {
    let scene = Scene::new().with_short();
    scene.replace(
        PERSONA,
        "\"simple_note__*\"",
        "\"simple_note__*\", \"nosuchapp__*\"",
    );
    expect(
        &scene.run(&["run", SUITE, "--out", "run"]),
        3,
        &["nosuchapp", "make plugins"],
    );
}

#[test]
fn wrong_settings_of_a_suite_are_told_beside_the_other_problems() {
    let scene = Scene::new().with_short();
    let wrong = "seed = 1\npolicy = \"p.toml\"\nlock = \"p.lock\"\njobs = 0";
    scene.replace(SUITE, "seed = 1", wrong);
    scene.replace(SESSION, "title = ", "titel = ");
    let args = ["check", SUITE, "--session", "corrie-extension"];
    let output = scene.run(&args);
    expect(
        &output,
        3,
        &[
            "tasks/suite.toml:6",
            "no such file: tasks/p.toml",
            "tasks/suite.toml:7",
            "no such file: tasks/p.lock",
            "tasks/suite.toml:8",
            "`jobs` must be from 1 to 1000",
            "did you mean `title`",
        ],
    );
    let said = stderr(&output);
    assert!(!said.contains("0 places"), "{said}");
    scene.replace(SUITE, wrong, "seed = 1\njobs = 1");
    scene.replace(SESSION, "titel = ", "title = ");
    expect(&scene.run(&args), 0, &[]);
}

#[test]
fn a_misspelt_tool_is_told_with_the_one_that_is_like_it() {
    let scene = Scene::new().with_short();
    scene.replace(SESSION, "tool = \"read_file\"", "tool = \"readfile\"");
    let told = ["there is no tool `readfile`", "did you mean `read_file`?"];
    let args = ["check", SUITE, "--session", "corrie-extension"];
    expect(&scene.run(&args), 3, &told);
    scene.replace(SESSION, "tool = \"readfile\"", "tool = \"read_file\"");
    expect(&scene.run(&args), 0, &[]);
}

#[test]
fn a_misspelt_grader_is_told_where_it_stands() {
    let scene = Scene::new().with_short();
    let session = SESSION.replace("saltmarsh-chronology", "corrie-extension");
    let grader = |name: &str| format!("grader = \"{name}\"");
    scene.replace(&session, &grader("rules"), &grader("rule"));
    let args = ["check", SUITE, "--session", "saltmarsh-chronology"];
    let told = [
        "corrie-extension/session.toml:501:",
        "cannot find plugin `rule`",
        "did you mean `rules`?",
    ];
    expect(&scene.run(&args), 3, &told);
    scene.replace(&session, &grader("rule"), &grader("rules"));
    expect(&scene.run(&args), 0, &[]);
}

/// Checks the suite; what it says of problems, and the rest.
fn found(scene: &Scene, said: &[&str]) -> (String, String) {
    let output = scene.run(&["check", SUITE]);
    expect(&output, 3, said);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (stderr(&output), text)
}

#[test]
fn of_a_misspelt_app_one_error_is_told_with_the_app_that_was_meant() {
    let scene = Scene::new().with_short();
    scene.replace(PERSONA, "\"simple_note__*\"", "\"simplenote__*\"");
    let told = [
        "persona.toml:34:",
        "cannot find plugin `simplenote`",
        "did you mean `simple_note`?",
    ];
    let (said, text) = found(&scene, &told);
    assert!(!said.contains("did you mean `simplenote`"), "{said}");
    assert!(text.contains("1 error, 0 warnings"), "{said}{text}");
    scene.replace(PERSONA, "\"simplenote__*\"", "\"simple_note__*\"");
    expect(&scene.run(&["check", SUITE]), 0, &[]);
}

/// Nobody has records of it: its file is where the other one was looked for.
#[test]
fn a_misspelt_app_is_known_by_the_plugins_that_are_there() {
    let scene = Scene::new().with_short();
    let listed = "\"simple_note__*\", \"amazn__*\"";
    scene.replace(PERSONA, "\"simple_note__*\"", listed);
    let told = ["cannot find plugin `amazn`", "did you mean `amazon`?"];
    found(&scene, &told);
}

#[test]
fn for_a_misspelt_tool_its_persona_is_not_played_and_the_reason_is_told() {
    let scene = Scene::new().with_short();
    let listed = "\"gmail__*\", \"gmail__lgoin\"";
    scene.replace(PERSONA, "\"gmail__*\"", listed);
    let told = [
        "persona.toml:34:",
        "no plugin has the tool `gmail__lgoin`",
        "did you mean `gmail__login`?",
    ];
    let (said, text) = found(&scene, &told);
    let left = "Not played: persona law_trainee, as its app `gmail` has no tool `gmail__lgoin`.";
    assert!(text.contains(left), "{text}");
    assert!(text.contains("1 error, 0 warnings"), "{said}{text}");
    assert!(!text.contains("No session has a reference"), "{text}");
    scene.replace(PERSONA, listed, "\"gmail__*\"");
    let output = scene.run(&["check", SUITE]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("| reference | 100.0 | 100.0 |"), "{text}");
}

#[test]
fn of_a_script_that_is_not_there_one_error_is_told() {
    let scene = Scene::new().with_short();
    let session = SESSION.replace("saltmarsh-chronology", "corrie-extension");
    let python = "grader = \"python\"\nscript = \"none.py\"";
    scene.replace(&session, "grader = \"rules\"", python);
    let output = scene.run(&["check", SUITE, "--session", "saltmarsh-chronology"]);
    expect(&output, 3, &["none.py"]);
    let said = stderr(&output);
    assert!(!said.contains("config.script"), "{said}");
}

#[test]
fn a_fact_is_no_hidden_intent() {
    let scene = Scene::new().with_short();
    let intent = "The exhibit's mark is TO1 and its sheets are numbered straight through.";
    let fact = |text: &str| format!("[facts]\n\"the mark\" = \"{text}\"\n");
    scene.replace(PERSONA, "[facts]\n", &fact(intent));
    let args = ["check", SUITE, "--session", "saltmarsh-exhibit"];
    expect(
        &scene.run(&args),
        3,
        &[
            "saltmarsh-exhibit/session.toml:22:",
            "the fact `the mark` of the persona has this in the same words",
        ],
    );
    scene.replace(PERSONA, &fact(intent), &fact("as the court has it"));
    expect(&scene.run(&args), 0, &[]);
}

#[test]
fn an_unwritable_output_folder_is_an_io_error() {
    let scene = Scene::new();
    scene.write("file", "no folder");
    let suite = short();
    expect(
        &scene.run(&["run", suite.to_str().unwrap(), "--out", "file/run"]),
        4,
        &["file"],
    );
}

#[test]
fn a_raised_limit_is_refused() {
    let scene = Scene::new().with_short();
    let suite = std::fs::read_to_string(scene.path(SUITE)).unwrap();
    scene.write(
        SUITE,
        &format!("{suite}\n[limits.app]\nfuel = 999000000000\n"),
    );
    expect(
        &scene.run(&["run", SUITE, "--out", "run"]),
        3,
        &["fuel = 999000000000", "above the host's limit"],
    );
    scene.replace(SUITE, "999000000000", "400000000");
    expect(&scene.run(&["run", SUITE, "--out", "run"]), 0, &[]);
}

#[test]
fn mistakes_on_the_command_line_are_usage_errors() {
    let scene = Scene::new();
    let suite = short();
    let suite = suite.to_str().unwrap();
    expect(&scene.run(&["run", suite, "--agent", "gpt"]), 2, &["gpt"]);
    expect(
        &scene.run(&["run", suite, "--persona", "nobody"]),
        2,
        &["nobody", "law_trainee"],
    );
    expect(&scene.run(&["run", suite, "--runs", "0"]), 2, &["--runs"]);
    expect(&scene.run(&["schema", "nothing"]), 2, &["suite"]);
    assert!(!scene.path("runs").exists());
}

#[test]
fn every_problem_is_told_at_once() {
    let scene = Scene::new().with_short();
    scene.replace(SUITE, "seed = 1", "sede = 1");
    scene.replace(PERSONA, "\"simple_note__*\"", "\"no tool\"");
    let output = scene.run(&["check", SUITE]);
    expect(&output, 3, &["suite.toml:5:", "persona.toml:"]);
}

#[test]
fn the_schemas_are_printed() {
    let scene = Scene::new();
    let names = scene.run(&["schema"]);
    for name in String::from_utf8(names.stdout).unwrap().lines() {
        let output = scene.run(&["schema", name]);
        let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{name}"
        );
    }
}

#[test]
fn the_embedded_suite_is_counted() {
    let scene = Scene::new();
    let suite = root().join("tasks/suite.toml");
    let listed = scene.run(&["list", suite.to_str().unwrap()]);
    expect(&listed, 0, &[]);
    let text = String::from_utf8(listed.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    // The paper's Table 3.
    for row in [
        ["amazon", "33"],
        ["file_system", "7"],
        ["gmail", "25"],
        ["phone", "12"],
        ["simple_note", "10"],
        ["splitwise", "13"],
        ["spotify", "37"],
        ["todoist", "36"],
        ["general", "12"],
        ["web", "2"],
        ["total", "187"],
    ] {
        assert!(
            rows.iter().any(|read| read.starts_with(&row)),
            "{row:?}\n{text}"
        );
    }
}

/// Told before anything is compiled or played, with the option that names another place.
#[test]
fn a_run_folder_that_cannot_be_made_is_named_with_its_option() {
    let scene = Scene::new();
    let out = |place: &str| scene.run(&["run", short().to_str().unwrap(), "--out", place]);
    let said = [
        "failed to write /dev/null/run (--out names another place): ",
        "not a directory",
    ];
    expect(&out("/dev/null/run"), 4, &said);
    expect(&out("new/run"), 0, &[]);
}

/// Beside a cache in which every plugin would have to be compiled first.
#[test]
fn names_and_prompts_that_are_wrong_are_told_before_any_plugin_is_compiled() {
    let scene = Scene::new();
    scene.write("own/rubric.md", "{% block system %}");
    let (suite, cache) = (short(), scene.path("cache"));
    let first = ["run", suite.to_str().unwrap(), "--out", "run"];
    let lexical = ["--user", "lexical", "--judge", "lexical"];
    for (more, code, said) in [
        (
            &["--agent", "foo/bar"][..],
            2,
            "find the provider of `foo/bar`",
        ),
        (&["--agent", "nop", "--agent", "foo/bar"], 2, "`foo/bar`"),
        (&["--agent", "openai/m", "--max-cost", "0"], 2, "--max-cost"),
        (&["--agent", "nop", "--prompts", "own"], 3, "rubric.md"),
    ] {
        let args = [&first[..], &lexical, more].concat();
        let variables = [
            ("PIBENCH_CACHE", cache.to_str().unwrap()),
            ("OPENAI_API_KEY", "k"),
        ];
        let output = scene.run_with(&args, &variables);
        expect(&output, code, &[said]);
        assert!(!stderr(&output).contains("compil"), "{}", stderr(&output));
    }
    assert!(!scene.path("run").exists());
}

#[test]
fn a_run_whose_messages_nobody_reads_is_played_to_its_end() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = scene.command(&["run", short().to_str().unwrap(), "--out", "run"]);
    // The program logs there, too.
    command.env("PIBENCH_LOG", "info").stderr(writer);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("overall"));
    expect(&scene.run(&["verify", "run"]), 0, &[]);
    // A failure that nobody hears of has its code all the same.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = scene.command(&["verify", "nowhere"]);
    let output = command.stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_script_of_completions_may_be_read_in_part() {
    let scene = Scene::new();
    for args in [&["completions", "bash"][..], &["man"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = scene.command(args).stdout(writer).output().unwrap();
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(4), String::new())
        );
    }
}

#[test]
fn nothing_is_said_when_nobody_reads_on() {
    let scene = Scene::new();
    // Closed before anything is written: a program that is quick would else be done before.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = scene
        .command(&["schema", "session"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(4), String::new())
    );
}

#[test]
fn a_folder_of_plugins_that_is_not_there_or_empty_is_refused_and_its_full_twin_is_used() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("empty")).unwrap();
    let suite = crate::scene::short();
    let suite = suite.to_str().unwrap();
    let run = |dir: &str| {
        scene.run(&[
            "run",
            suite,
            "--agent",
            "nop",
            "--plugins",
            dir,
            "--out",
            "run",
        ])
    };
    expect(&run("none"), 3, &["plugins of none: No such file"]);
    expect(&run("empty"), 3, &["plugins of empty", "no component"]);
    let doctor = scene.run(&["doctor", suite, "--plugins", "empty"]);
    expect(&doctor, 3, &["plugins of empty", "no component"]);
    assert!(!scene.path("run").exists());
    let own = crate::scene::root().join("target/plugins");
    expect(&run(own.to_str().unwrap()), 0, &[]);
}

#[test]
fn a_tool_that_its_app_lacks_is_told_with_the_persona_s_file_before_a_run() {
    let scene = Scene::new().with_short();
    let listed = "\"gmail__*\", \"gmail__send_mail\"";
    scene.replace(PERSONA, "\"gmail__*\"", listed);
    let told = [
        "app `gmail` has no tool `gmail__send_mail` (did you mean `gmail__send_email`?)",
        "personas/law_trainee/persona.toml",
    ];
    expect(&scene.run(&["run", SUITE, "--out", "a"]), 3, &told);
    scene.replace(PERSONA, listed, "\"gmail__*\"");
    expect(&scene.run(&["run", SUITE, "--out", "b"]), 0, &[]);
}

/// The seal of a run has all that lies in its folder.
#[test]
fn a_run_folder_in_another_is_refused_and_one_beside_it_is_made() {
    let scene = Scene::new();
    scene.play("fin", &[]);
    let out = |place: &str| scene.run(&["run", short().to_str().unwrap(), "--out", place]);
    for place in ["fin/inner", "fin/workspaces/a/b"] {
        let said = format!("make {place}: it would lie in the run folder ");
        expect(&out(place), 3, &[&said, "/fin, ", "choose another --out"]);
    }
    let graded = scene.run(&["grade", "fin", "--out", "fin/graded"]);
    expect(&graded, 3, &["make fin/graded: it would lie in"]);
    expect(&scene.run(&["verify", "fin"]), 0, &[]);
    expect(&out("beside/fin"), 0, &[]);
}

#[test]
fn a_folder_whose_path_is_no_text_is_refused_before_anything_is_made_in_it() {
    let scene = Scene::new();
    let dir = scene.dir.path().join(OsStr::from_bytes(b"bad\xff"));
    std::fs::create_dir(&dir).unwrap();
    let suite = short();
    let there = |more: &[&str]| {
        let args = [&["run", suite.to_str().unwrap()][..], more].concat();
        output(scene.command(&args).current_dir(&dir))
    };
    for more in [&[][..], &["--out", "run"]] {
        expect(&there(more), 3, &["is not UTF-8", "--out"]);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    }
    let elsewhere = scene.path("run");
    expect(&there(&["--out", elsewhere.to_str().unwrap()]), 0, &[]);
}
