//! `check` on content: what an author is told of a session that is well-formed and not good. Each finding is made in the
//! embedded law trainee's sessions, in which nothing of the kind is found.

use pibench_suite::suite::Grading;
use serde_json::Value;

use crate::scene::{Scene, embedded, expect, first_persona, hostile, root, stderr};

const SUITE: &str = "tasks/suite.toml";
const FOLDER: &str = "tasks/personas/law_trainee/sessions";

fn scene() -> Scene {
    Scene::new().with_short()
}

/// Changes a text of a file; the exit code and all that `check` then says.
fn check(file: &str, old: &str, new: &str, code: i32, said: &[&str]) {
    let scene = scene();
    scene.replace(file, old, new);
    expect(&scene.run(&["check", SUITE]), code, said);
}

fn session(id: &str) -> String {
    format!("{FOLDER}/{id}/session.toml")
}

#[test]
fn a_sound_suite_is_played_by_the_scripted_agents() {
    let scene = scene();
    let output = scene.run(&["check", SUITE]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "| reference | 100.0 | 100.0 |",
        "| reactive  |   0.0 | 100.0 |",
        "| nop       |   0.0 |   0.0 |",
        "saltmarsh-statement",
        "0 errors",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

/// The whole of what is embedded: every example of a matcher is tried, every agent played, and nothing is to be said.
#[test]
fn the_embedded_suite_gives_no_hint_of_anything() {
    let suite = crate::scene::embedded();
    let output = Scene::new().run(&["check", suite.to_str().unwrap()]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.contains("0 errors, 0 warnings"), "{}", stderr(&output));
    for id in ["rebuttal-letter", "upgrade-note", "camera-ready"] {
        assert!(
            text.contains(&format!("| {id} ")),
            "{id} is not in:\n{text}"
        );
    }
    let wide: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
}

#[test]
fn one_persona_is_played_alone() {
    let suite = crate::scene::embedded();
    let suite = suite.to_str().unwrap();
    let output = Scene::new().run(&["check", suite, "--session", "meal-plan"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("| meal-plan "), "{text}");
}

#[test]
fn the_same_is_printed_as_json() {
    let scene = scene();
    let output = scene.run(&["check", SUITE, "--json", "--session", "corrie-extension"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let path = &value["paths"][0];
    assert_eq!(value["version"], 1);
    assert_eq!(path["errors"], 0, "{}", stderr(&output));
    let holds = &path["holds"];
    let intents = first_persona().sessions;
    let intents: usize = intents.iter().map(|session| session.intents.len()).sum();
    assert_eq!(holds["statistics"]["total"]["intents"], intents);
    assert_eq!(holds["plays"]["agents"][0]["agent"], "reference");
    assert_eq!(holds["plays"]["agents"][0]["proc"], 100.0);
    let sessions = holds["sessions"].as_array().unwrap();
    let played = sessions
        .iter()
        .find(|session| session["session"] == "corrie-extension");
    assert_eq!(played.unwrap()["turns"]["nop"], 6);
    assert!(played.unwrap()["tokens"].as_u64().unwrap() > 1000);
}

#[test]
fn problems_are_json_with_file_line_and_remedy() {
    let scene = scene();
    scene.replace(
        &session("corrie-extension"),
        "\"Three weeks over",
        "\"Four weeks over",
    );
    let output = scene.run(&["check", SUITE, "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = value["paths"][0]["problems"].as_array().unwrap();
    let problem = problems
        .iter()
        .find(|problem| problem["severity"] == "error");
    let problem = problem.unwrap();
    assert!(
        problem["file"]
            .as_str()
            .unwrap()
            .ends_with("corrie-extension/session.toml")
    );
    assert!(problem["line"].as_u64().unwrap() > 100);
    assert!(
        problem["remedy"]
            .as_str()
            .unwrap()
            .contains("quote some words")
    );
}

#[test]
fn an_intent_in_the_request_is_a_leak() {
    check(
        &session("saltmarsh-exhibit"),
        "Page counts are in the two lists.",
        "The exhibit's mark is TO1 and its sheets are numbered straight through.",
        3,
        &[
            "session.toml:22:",
            "the request of `saltmarsh-exhibit` has this in the same words",
        ],
    );
}

#[test]
fn an_item_in_a_staged_file_is_a_leak() {
    check(
        &format!("{FOLDER}/saltmarsh-statement/statement-outline.md"),
        "Headings only",
        "The loss is stated in three heads, each with the sum of its paper and the page of it. Headings only",
        3,
        &["the file `saltmarsh/statement-outline.md` of `saltmarsh-statement` has this"],
    );
}

#[test]
fn a_request_that_the_matcher_takes_for_work_is_a_leak() {
    check(
        &session("saltmarsh-exhibit"),
        "Page counts are in the two lists.",
        "And the two private telephone numbers on the stock sheet are to be blacked out.",
        3,
        &["the request holds all that `satisfied` looks for"],
    );
}

#[test]
fn an_intent_without_a_place_to_find_it_is_refused() {
    let scene = scene();
    let text = std::fs::read_to_string(scene.path(&session("saltmarsh-statement"))).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("found_in"))
        .unwrap();
    scene.replace(&session("saltmarsh-statement"), line, "");
    expect(
        &scene.run(&["check", SUITE]),
        3,
        &["the intent `exhibit-pages` has no `found_in`"],
    );
}

#[test]
fn evidence_that_is_not_there_is_named() {
    for (old, new, said) in [
        (
            "path = \"corrie/service-record.md\", quote = \"Tuesday",
            "path = \"corrie/record.md\", quote = \"Tuesday",
            "no session up to here stages `corrie/record.md`",
        ),
        (
            "app = \"gmail\", quote = \"What is meant",
            "app = \"amazon\", quote = \"What is meant",
            "there are no records of `amazon`",
        ),
        (
            "{ kind = \"app\", app = \"gmail\", quote = \"What is meant for an opponent\" }, ",
            "",
            "the persistent intent `dorothea-first` stands nowhere",
        ),
        (
            "{ kind = \"app\", app = \"gmail\", quote = \"What is meant for an opponent\" }",
            "{ kind = \"session\", session = \"saltmarsh-statement\", intent = \"visit-clash\" }",
            "`saltmarsh-statement` is no earlier session",
        ),
        (
            "{ kind = \"app\", app = \"gmail\", quote = \"What is meant for an opponent\" }",
            "{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"two-numbers-go\" }",
            "the intent `two-numbers-go` of `saltmarsh-exhibit` is of that session only",
        ),
    ] {
        check(&session("corrie-extension"), old, new, 3, &[said]);
    }
}

/// Only what names the user, or is told to nobody else, is in their account.
#[test]
fn a_place_that_only_others_see_is_none() {
    let own = "imogen.rask@tolliverfinch.example";
    let other = "samir.aldous@tolliverfinch.example";
    let titled = |owner: &str| format!("owner = \"{owner}\"\ntitle = \"Deadlines\"");
    let said = [
        "corrie-extension/session.toml:",
        "stands in the records of `simple_note` only where the user does not see it",
    ];
    check(PERSONA, &titled(own), &titled(other), 3, &said);

    let sent = |to: &str| format!("to = [\"{to}\"");
    let from = "from = \"dorothea.quill@tolliverfinch.example\"\n";
    let said = [
        "corrie-extension/session.toml:",
        "stands in the records of `gmail` only where the user does not see it",
    ];
    check(
        PERSONA,
        &format!("{from}{}, \"{other}\"]\nsubject = \"How things", sent(own)),
        &format!("{from}{}]\nsubject = \"How things", sent(other)),
        3,
        &said,
    );
}

#[test]
fn an_address_that_is_somebodys_but_for_a_letter_is_hinted_at() {
    let to = |second: &str| {
        format!(
            "to = [\"imogen.rask@tolliverfinch.example\", \"{second}\"]\nsubject = \"How things"
        )
    };
    let samir = to("samir.aldous@tolliverfinch.example");
    let said = [
        "persona.toml:",
        "warning: `samir.aldos@tolliverfinch.example` is nobody's address",
        "very like `samir.aldous@tolliverfinch.example`",
    ];
    let slip = to("samir.aldos@tolliverfinch.example");
    check(PERSONA, &samir, &slip, 0, &said);
    let scene = scene();
    scene.replace(PERSONA, &samir, &to("orchard.office@elsewhere.example"));
    let output = scene.run(&["check", SUITE]);
    expect(&output, 0, &[]);
    let text = stderr(&output);
    assert!(!text.contains("is nobody's address"), "{text}");
}

#[test]
fn a_group_whose_last_session_needs_nothing_of_another_is_no_group() {
    let scene = scene();
    let path = session("saltmarsh-statement");
    let text = std::fs::read_to_string(scene.path(&path)).unwrap();
    let other =
        "{ kind = \"session\", session = \"saltmarsh-chronology\", intent = \"privileged-out\" }";
    let text = text
        .replace(
            "{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"exhibit-mark\" }",
            other,
        )
        .replace(
            "{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"kit-has-originals\" }",
            // A file that it stages is there without it, too.
            "{ kind = \"file\", path = \"saltmarsh/documents-2.md\", quote = \"the\" }",
        )
        .replace(
            "{ kind = \"session\", session = \"saltmarsh-exhibit\", quote = \"has no name there\" }",
            other,
        );
    scene.write(&path, &text);
    expect(
        &scene.run(&["check", SUITE]),
        3,
        &[
            "persona.toml:",
            "no intent of `saltmarsh-statement` is found in `saltmarsh-exhibit`",
        ],
    );
}

#[test]
fn examples_are_tried() {
    let file = session("corrie-extension");
    check(
        &file,
        "Dunstall: nothing has been sent; the draft awaits your approval.",
        "Dunstall is done.",
        3,
        &["the matcher does not match this"],
    );
    check(
        &file,
        "the Corrie answer went out at ten.",
        "the Corrie draft is unsent until you have read it.",
        3,
        &["the matcher matches this"],
    );
    // What is no question is no example of one, whatever the patterns say; the mark of another script makes one.
    check(
        &file,
        "\"Is the log lost after 240 days?\"",
        "\"Is the log lost after 240 days.\"",
        3,
        &["it has no sentence of at most 400 characters with a question mark at its end"],
    );
    let scene = scene();
    scene.replace(&file, r"[^?]{0,240}\?", r"[^?？]{0,240}[?？]");
    scene.replace(&file, "look at the frame?\"", "look at the frame？\"");
    expect(&scene.run(&["check", SUITE]), 0, &[]);
}

#[test]
fn items_that_look_like_several_or_alike_are_hinted_at() {
    let old = "criterion = \"By the statement the call logs show no alarm call in the night of 28 June 2025, and as the first call in them the head baker's to Kit at 04:55, before the one to Tamsin at 05:10\"";
    let file = session("saltmarsh-statement");
    check(
        &file,
        old,
        "criterion = \"By the statement the call logs show no alarm call. The night is that of 28 June 2025\"",
        0,
        &["warning: the item `night-in-the-logs` looks like several: 2 sentences"],
    );
    check(
        &file,
        old,
        "criterion = \"The loss is stated in three heads, each with the sum of its paper and the page: GBP 11,340, 6,875 and 3,120\"",
        0,
        &["warning: `three-heads` and `night-in-the-logs` look alike"],
    );
}

#[test]
fn tools_that_nobody_has_are_named() {
    let file = session("corrie-extension");
    check(
        &file,
        "{ tool = \"gmail__send_email\", call",
        "{ tool = \"gmail__send_mail\", call",
        3,
        &["there is no tool `gmail__send_mail`"],
    );
    check(
        "tasks/personas/law_trainee/persona.toml",
        "\"gmail__*\", ",
        "\"gmail__*\", \"gmail__send_fax\", ",
        3,
        &["no plugin has the tool `gmail__send_fax`"],
    );
}

/// What `check` says of a session with one more item, of this rule.
fn with_rule(config: &str) -> String {
    let scene = scene();
    let file = session("corrie-extension");
    let text = std::fs::read_to_string(scene.path(&file)).unwrap();
    let item = "\n[[checklist]]\nid = \"strange\"\ncriterion = \"The strange rule holds\"\n[checklist.rule]\n\
        grader = \"rules\"\n[checklist.rule.config]\n";
    scene.write(&file, &format!("{text}{item}{config}\n"));
    stderr(&scene.run(&["check", SUITE]))
}

/// A negative condition on what is not there is always true.
#[test]
fn what_a_rule_names_and_the_persona_has_not_is_told() {
    let rule = |tool: &str, pattern: &str, app: &str, list: &str| {
        with_rule(&format!(
            "all = [\n{{ not = {{ called = {{ tool = \"{tool}\" }} }} }},\n\
            {{ not = {{ order = [{{ tool = [\"exec\", \"{pattern}\"] }}, {{ tool = \"exec\" }}] }} }},\n\
            {{ unchanged = {{ apps = [\"splitwise\", \"{app}\"], except = {{ name = \"{app}\" }} }} }},\n\
            {{ app = {{ name = \"{list}\", records = \"tasks\", change = \"removed\", count = 0 }} }},\n]"
        ))
    };
    let text = rule("gmail__send_mail", "gmail__sned_*", "gmial", "todoits");
    for said in [
        "there is no tool `gmail__send_mail`",
        "did you mean `gmail__send_email`?",
        "the persona has no tool `gmail__sned_*`",
        "the persona has no app `gmial`",
        "did you mean `gmail`?",
        "the persona has no app `todoits`",
        "did you mean `todoist`?",
    ] {
        assert!(text.contains(said), "`{said}` is not in:\n{text}");
    }
    let text = rule(
        "gmail__forward_email_thread",
        "gmail__*",
        "phone",
        "todoist",
    );
    for said in ["the persona has no", "there is no tool"] {
        assert!(!text.contains(said), "{text}");
    }
}

#[test]
fn a_skill_that_needs_a_tool_that_there_is_not_is_hinted_at() {
    let file = "tasks/skills/planning/SKILL.md";
    let tools = |tools: &str| format!("tools: {tools}\n");
    let own = tools("[read_file, write_file, cron]");
    let said = [
        "persona.toml:",
        "warning: the skill `planning` needs the tool `gmail__send_mail`, which is not there",
        "did you mean `gmail__send_email`?",
    ];
    check(file, &own, &tools("cron, gmail__send_mail"), 0, &said);
    let scene = scene();
    scene.replace(file, &own, &tools("cron, gmail__send_email"));
    let output = scene.run(&["check", SUITE]);
    expect(&output, 0, &[]);
    let text = stderr(&output);
    assert!(!text.contains("needs the tool"), "{text}");
}

/// The first command would end the run.
#[test]
fn an_app_by_the_name_of_the_agents_shell_is_refused_before_anything_is_played() {
    let scene = scene();
    let suite = std::fs::read_to_string(scene.path(SUITE)).unwrap();
    let shell = |plugin: &str| {
        let path = root().join(format!("target/plugins/{plugin}.wasm"));
        let plugins = format!("\n[plugins]\nshell = {path:?}\n");
        scene.write(SUITE, &format!("{suite}{plugins}"));
    };
    shell("shell");
    let output = scene.run(&["check", SUITE]);
    let text = stderr(&output);
    assert!(!text.contains("it is no shell"), "{text}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(!told.contains("Not played: persona law_trainee"), "{told}");

    shell("simple_note");
    scene.replace(PERSONA, "tools = [", "tools = [\"shell__create_note\", ");
    let said = [
        "use plugin `shell`: it is no shell",
        "give the plugin another name",
    ];
    let output = scene.run(&["check", SUITE]);
    expect(&output, 3, &[&said[..], &["persona.toml:"]].concat());
    let text = stderr(&output);
    assert_eq!(text.matches(said[0]).count(), 1, "{text}");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = "Not played: persona law_trainee, as the agent's tools cannot use `shell`.";
    assert!(text.contains(line), "{text}");
    let run = ["run", SUITE, "--agent", "nop", "--out", "run"];
    expect(&scene.run(&run), 3, &said);
    assert!(!scene.path("run").exists(), "something was played");
}

#[test]
fn no_persona_is_played_beside_an_app_by_the_name_of_python() {
    let scene = scene();
    let line = "Not played: persona law_trainee, as the agent's tools cannot use `python`.";
    let check = |code: i32, said: &[&str]| {
        let output = scene.run(&["check", SUITE]);
        expect(&output, code, said);
        String::from_utf8(output.stdout).unwrap()
    };
    let told = check(0, &[]);
    assert!(!told.contains(line), "{told}");
    let suite = std::fs::read_to_string(scene.path(SUITE)).unwrap();
    let path = root().join("target/plugins/simple_note.wasm");
    scene.write(SUITE, &format!("{suite}\n[plugins]\npython = {path:?}\n"));
    let said = [
        "use plugin `python`: it is no Python",
        "give the plugin another name",
    ];
    let told = check(3, &said);
    assert!(told.contains(line), "{told}");
}

#[test]
fn an_item_that_doing_nothing_meets_is_found_by_playing() {
    check(
        &session("saltmarsh-statement"),
        "{ file = { path = \"saltmarsh/statement-orrell.md\", changed = true, content = { contains = \"TO1/8\" } } },\n",
        "",
        3,
        &["`nop`, who does nothing, meets the item `papers-untouched`"],
    );
}

#[test]
fn a_workflow_that_leaves_something_open_is_found_by_playing() {
    check(
        &session("corrie-extension"),
        "'17[./-]0?4[./-](20)?26', '17(th)? (of )?april', '2026-04-17'],\n    ['corrie|40188|dunstall'],\n]\naccepts = [\"D 21.04.26 | W 17.04.26 | 40188 | defence\", \"Corrie: last day 21 April, warn on 17 April\"]",
        "'16(th)? (of )?april'],\n    ['corrie|40188|dunstall'],\n]",
        3,
        &[
            "`reference` leaves the intent `deadline-line` unsatisfied",
            "mend the workflow",
        ],
    );
}

#[test]
fn a_matcher_that_takes_keywords_is_found_by_playing() {
    check(
        &session("saltmarsh-exhibit"),
        "within = [\"file:saltmarsh/chronology*.csv\", \"call:exec\", \"call:edit_file\"]\nall = [\n    ['2025-07-03\\b'],\n    ['(doc\\W{0,2}l\\b|to ?1/14)'],\n    ['2025-07-25\\b'],\n]",
        "all = [['everything is done']]",
        3,
        &["`cheat` scores", "rows-get-days"],
    );
}

#[test]
fn a_session_that_is_not_there_is_a_mistake_on_the_command_line() {
    expect(
        &scene().run(&["check", SUITE, "--session", "nothing"]),
        2,
        &["find session `nothing`"],
    );
}

#[test]
fn tables_2_and_5_are_printed() {
    let output = scene().run(&["check", SUITE, "--session", "corrie-extension"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let sessions = first_persona().sessions;
    let intents: usize = sessions.iter().map(|session| session.intents.len()).sum();
    let items = sessions.iter().flat_map(|session| &session.checklist);
    let (rubrics, rules): (Vec<_>, Vec<_>) =
        items.partition(|item| matches!(item.grading, Grading::Rubric { .. }));
    let row = format!(
        "| law_trainee | {all:>5} | {all:>8} | {intents:>7} | {:>7} | {:>5} |",
        rubrics.len(),
        rules.len(),
        all = sessions.len()
    );
    for part in [row.as_str(), "| category | sessions |"] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn a_leak_in_a_skill_or_in_a_page_of_the_web_is_found() {
    let secret =
        "The loss is stated in three heads, each with the sum of its paper and the page of it.";
    for (file, said) in [
        (
            "tasks/skills/planning/SKILL.md",
            "the skill's file `skills/planning/SKILL.md` has this",
        ),
        ("tasks/corpus/evidence-exhibits.md", "the page https://"),
    ] {
        let scene = scene();
        let text = std::fs::read_to_string(scene.path(file)).unwrap();
        scene.write(file, &format!("{text}\n{secret}\n"));
        let persona = "tasks/personas/law_trainee/persona.toml";
        if !std::fs::read_to_string(scene.path(persona))
            .unwrap()
            .contains("\"planning\"")
        {
            scene.replace(persona, "skills = [", "skills = [\"planning\", ");
        }
        expect(
            &scene.run(&["check", SUITE]),
            3,
            &["saltmarsh-statement/session.toml:", said],
        );
    }
}

/// As the agent reads it, and so its places can be named too.
#[test]
fn a_leak_in_a_document_is_found() {
    let scene = scene();
    let file = session("saltmarsh-statement");
    let secret =
        "The loss is stated in three heads, each with the sum of its paper and the page of it.";
    let folder = scene.path(&file);
    let pdf = folder.with_file_name("bundle.pdf");
    let staged = "{ source = \"bundle.pdf\", path = \"saltmarsh/bundle.pdf\" },\n";
    scene.replace(&file, "files = [\n", &format!("files = [\n    {staged}"));
    std::fs::write(&pdf, crate::documents::pdf(&["Bundle of papers", secret])).unwrap();
    let said = "the file `saltmarsh/bundle.pdf` of `saltmarsh-statement` has this";
    expect(&scene.run(&["check", SUITE]), 3, &[said]);
    std::fs::write(
        &pdf,
        crate::documents::pdf(&["Bundle of papers", "Nothing"]),
    )
    .unwrap();
    expect(&scene.run(&["check", SUITE]), 0, &[]);
    scene.replace(
        &file,
        "found_in = [{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"exhibit-mark\" }, ",
        "found_in = [{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"exhibit-mark\" }, \
         { kind = \"file\", path = \"saltmarsh/bundle.pdf\", quote = \"Bundle of papers\" }, ",
    );
    expect(&scene.run(&["check", SUITE]), 0, &[]);
    std::fs::write(&pdf, "no document").unwrap();
    let said = "warning: the document `saltmarsh/bundle.pdf` cannot be read";
    expect(
        &scene.run(&["check", SUITE]),
        3,
        &[said, "does not stand in"],
    );
}

/// What every session of a persona has is read as what one stages.
#[test]
fn a_leak_in_a_document_of_the_persona_is_found() {
    let scene = scene();
    let persona = "tasks/personas/law_trainee/persona.toml";
    let secret =
        "The loss is stated in three heads, each with the sum of its paper and the page of it.";
    scene.replace(
        persona,
        "files = [{ source = \"access.md\" }",
        "files = [{ source = \"access.md\" }, { source = \"house.docx\" }",
    );
    let document = scene.path(persona).with_file_name("house.docx");
    let write = |text: &str| {
        let body = format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
        std::fs::write(&document, crate::documents::docx(&body)).unwrap();
    };
    write(secret);
    let said = "the file `house.docx` of the persona has this";
    expect(&scene.run(&["check", SUITE]), 3, &[said]);
    write("Rules of the house");
    scene.replace(
        &session("saltmarsh-statement"),
        "found_in = [{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"exhibit-mark\" }, ",
        "found_in = [{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"exhibit-mark\" }, \
         { kind = \"file\", path = \"house.docx\", quote = \"Rules of the house\" }, ",
    );
    expect(&scene.run(&["check", SUITE]), 0, &[]);
}

/// Two names that look the same are two names.
#[test]
fn a_file_that_differs_in_its_unicode_form_alone_is_told() {
    let scene = scene();
    let file = session("saltmarsh-statement");
    let (whole, apart) = ("caf\u{e9}.md", "cafe\u{301}.md");
    let stage = |source: &str| format!("{{ source = \"{source}\", path = \"{apart}\" }},\n");
    let folder = scene.path(&file);
    std::fs::write(folder.with_file_name(apart), "Closed on caf\u{e9} days.\n").unwrap();
    scene.replace(
        &file,
        "files = [\n",
        &format!("files = [\n    {}", stage(whole)),
    );
    let form = "in another Unicode form (decomposed there, composed here)";
    let said = format!("no such file, but one of this name {form}");
    expect(&scene.run(&["check", SUITE]), 3, &[&said]);
    scene.replace(&file, &stage(whole), &stage(apart));
    let found = |path: &str| {
        format!("{{ kind = \"file\", path = \"{path}\", quote = \"on cafe\u{301} days\" }}, ")
    };
    let before = "found_in = [{ kind = \"session\", session = \"saltmarsh-exhibit\", intent = \"exhibit-mark\" }, ";
    scene.replace(&file, before, &format!("{before}{}", found(whole)));
    let said = format!("`{whole}` is there only {form}");
    expect(&scene.run(&["check", SUITE]), 3, &[&said]);
    // A quote is found in either form.
    scene.replace(&file, &found(whole), &found(apart));
    expect(&scene.run(&["check", SUITE]), 0, &[]);
}

/// What is wrong with one file keeps nothing else from being found.
#[test]
fn broken_files_plugins_content_and_plays_are_told_together() {
    let scene = scene();
    scene.replace(
        &session("saltmarsh-exhibit"),
        "clock = ",
        "klock = 1\nclock = ",
    );
    scene.replace(
        &session("saltmarsh-statement"),
        "clock = ",
        "files_red = []\nclock = ",
    );
    scene.replace(
        &session("corrie-extension"),
        "\"Corrie: last day 21 April, warn on 17 April\"",
        "\"Corrie: no day\"",
    );
    scene.replace(
        &session("corrie-extension"),
        "D 21.04.26 | W 17.04.26 | 40188 | Dunstall's defence, 4 pm",
        "D 21.04.26 | W 18.04.26 | 40188 | Dunstall's defence, 4 pm",
    );
    let output = scene.run(&["check", SUITE]);
    let said = [
        "saltmarsh-exhibit/session.toml:6:",
        "saltmarsh-statement/session.toml:6:",
        "the matcher does not match this",
        "`reference` does not meet the item `deadline-saved`: 0 of",
    ];
    expect(&output, 3, &said);
    let text = stderr(&output);
    assert!(
        !text.contains("`reactive` does not meet the item `deadline-saved`"),
        "one cause is told twice:\n{text}"
    );
    assert!(
        !text.contains("is no earlier session"),
        "a consequence is told:\n{text}"
    );
}

#[test]
fn a_session_that_cannot_be_read_leaves_its_persona_unplayed_and_the_rest_checked() {
    let scene = scene();
    scene.replace(&session("saltmarsh-exhibit"), "title = ", "title = 1 #");
    scene.replace(
        &session("corrie-extension"),
        "\"Corrie: last day 21 April",
        "\"Corrie: no day",
    );
    let output = scene.run(&["check", SUITE]);
    expect(
        &output,
        3,
        &[
            "saltmarsh-exhibit/session.toml:",
            "the matcher does not match this",
        ],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let said = "Not played: persona law_trainee, as not all of it could be read.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_plugin_that_is_missing_hides_nothing_else() {
    let scene = scene();
    scene.replace(
        &session("corrie-extension"),
        "grader = \"rules\"",
        "grader = \"nosuch\"",
    );
    scene.replace(
        &session("saltmarsh-statement"),
        "Dean Sollis is not named",
        "He is not named",
    );
    let output = scene.run(&["check", SUITE]);
    expect(
        &output,
        3,
        &[
            "cannot find plugin `nosuch`",
            "the intent `engineer-unnamed` does not stand alone",
        ],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("Not played: session corrie-extension"),
        "{text}"
    );
    assert!(text.contains("| reference | 100.0 | 100.0 |"), "{text}");
}

/// A grader that panics has judged nothing: the workflow is not at fault.
#[test]
fn a_grader_that_panics_is_named_with_its_text() {
    let scene = scene();
    let grader = hostile("grader");
    let suite = std::fs::read_to_string(scene.path(SUITE)).unwrap();
    let suite = suite.replacen("seed = 1", "seed = 1\npolicy = \"policy.toml\"", 1);
    let plugin = format!("\n[plugins]\nhostile = \"{}\"\n", grader.display());
    scene.write(SUITE, &(suite + &plugin));
    scene.write(
        "tasks/policy.toml",
        "version = 1\n[plugins.hostile]\ngrants = [\"log\"]\n",
    );
    let file = session("corrie-extension");
    let text = std::fs::read_to_string(scene.path(&file)).unwrap();
    let item = "\n[[checklist]]\nid = \"strange\"\ncriterion = \"The strange rule holds\"\n[checklist.rule]\n\
        grader = \"hostile\"\nconfig = { do = \"panic\" }\n";
    scene.write(&file, &(text + item));
    let output = scene.run(&["check", SUITE]);
    expect(
        &output,
        3,
        &[
            "the grader breaks: under `cheat` hostile trapped",
            "a guest's panic",
        ],
    );
    let text = stderr(&output);
    assert!(!text.contains("does not meet the item `strange`"), "{text}");
    let told = "the grader breaks";
    assert_eq!(
        text.matches(told).count(),
        1,
        "told for each agent:\n{text}"
    );
    assert!(text.contains("; also in 3 other plays"), "{text}");
}

/// What is printed of a suite of which a session is left out, and the rest played.
fn left_out(file: &str, (old, new): (&str, &str), said: &[&str], why: &str) -> String {
    let scene = scene();
    scene.replace(file, old, new);
    let output = scene.run(&["check", SUITE]);
    expect(&output, 3, said);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = format!("Not played: session corrie-extension, as {why}.");
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("| reference | 100.0 | 100.0 |"), "{text}");
    stderr(&output)
}

#[test]
fn records_that_an_app_refuses_are_told_in_their_file_and_the_rest_is_played() {
    let file = session("corrie-extension");
    let table = "[[apps.todoist.tasks]]\n";
    let wrong = format!("{table}contnt = \"y\"\n");
    let said = [
        "corrie-extension/session.toml:",
        "`todoist` does not take the records: tasks[0]: unknown field `contnt`",
    ];
    let why = "a plugin refuses a rule or a record of it";
    left_out(&file, (table, wrong.as_str()), &said, why);

    let scene = scene();
    let table = "[[apps.simple_note.notes]]\n";
    let wrong = format!("{table}contnt = \"y\"\n");
    scene.replace(PERSONA, table, &wrong);
    scene.replace(&file, "\"Corrie: last day 21 April", "\"Corrie: no day");
    let output = scene.run(&["check", SUITE]);
    let said = [
        "persona.toml:",
        "`simple_note` does not take the records: notes[0]: unknown field `contnt`",
        "the matcher does not match this",
    ];
    expect(&output, 3, &said);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = "Not played: persona law_trainee, as an app does not take its records.";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_session_whose_checklist_is_broken_is_not_played() {
    let file = session("corrie-extension");
    let weight = ("[[checklist]]\n", "[[checklist]]\nweight = inf\n");
    let said = ["`weight` must be a finite number"];
    let text = left_out(&file, weight, &said, "its file has errors");
    assert!(!text.contains("cannot read"), "{text}");

    let rule = (
        "{ called = { tool = \"gmail__create_draft\"",
        "{ caled = { tool = \"gmail__create_draft\"",
    );
    let said = ["cannot be used: `rules` failed: config"];
    let why = "a plugin refuses a rule or a record of it";
    let text = left_out(&file, rule, &said, why);
    assert!(!text.contains("the grader breaks"), "{text}");
}

#[test]
fn a_step_of_the_reference_that_no_tool_takes_is_hinted_at_and_a_refusal_is_not() {
    let file = session("corrie-extension");
    let first = "[[reference]]\ntool = \"read_file\"\narguments = { path = \"corrie/service-record.md\" }\n";
    let step = |arguments: &str| {
        format!("{first}\n[[reference]]\ntool = \"read_file\"\narguments = {{ {arguments} }}\n")
    };
    let said =
        "warning: step 2 of the reference workflow fails: `read_file` answers bad arguments: ";
    let mistaken = step("pth = \"house.md\"");
    check(&file, first, &mistaken, 0, &["session.toml:", said]);
    let scene = scene();
    scene.replace(&file, first, &step("path = \"house.md\""));
    let output = scene.run(&["check", SUITE]);
    expect(&output, 0, &[]);
    let text = stderr(&output);
    assert!(!text.contains("of the reference workflow fails"), "{text}");
}

#[test]
fn a_persona_or_session_alone_is_read_only_and_says_what_plays_it() {
    let scene = scene();
    let said = "Read only: to play it, check the suite tasks/suite.toml.";
    let folder = format!("{FOLDER}/corrie-extension");
    let file = session("corrie-extension");
    let law = "tasks/personas/law_trainee";
    for path in [law, PERSONA, folder.as_str(), file.as_str()] {
        let output = scene.run(&["check", path]);
        expect(&output, 0, &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(said), "{path}: {text}");
    }
    let holds = |path: &str| -> Value {
        let output = scene.run(&["check", path, "--json"]);
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["paths"][0]["holds"].clone()
    };
    let of_session = holds(&folder);
    assert_eq!(of_session["read_only"], true, "{of_session}");
    assert_eq!(of_session["suite"], SUITE, "{of_session}");
    let of_suite = holds(SUITE);
    assert!(of_suite["read_only"].is_null(), "{of_suite}");
    assert_eq!(of_suite["plays"]["agents"][0]["agent"], "reference");
}

#[test]
fn what_is_dated_after_its_session_is_found() {
    let persona = "tasks/personas/law_trainee/persona.toml";
    let text = std::fs::read_to_string(scene().path(persona)).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("created_at = "))
        .unwrap();
    check(
        persona,
        line,
        "created_at = \"2027-01-01T09:00:00\"",
        3,
        &[
            "persona.toml:",
            "`created_at` is 2027-01-01T09:00:00, after the session's clock, 2026-03-09",
        ],
    );
    let file = session("corrie-extension");
    let text = std::fs::read_to_string(scene().path(&file)).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("sent_at = "))
        .unwrap();
    check(
        &file,
        line,
        "sent_at = \"2026-03-26T09:36:00\"",
        3,
        &[
            "session.toml:",
            "`sent_at` is 2026-03-26T09:36:00, after the session's clock",
        ],
    );
    check(
        &file,
        "path = \"corrie/letter-style.md\"",
        "path = \"corrie/letter-style-2026-03-27.md\"",
        0,
        &["warning: `corrie/letter-style-2026-03-27.md` has a date after the session's clock"],
    );
}

#[test]
fn a_session_that_no_episode_names_is_hinted_at() {
    let scene = scene();
    let from = scene.path(&format!("{FOLDER}/corrie-extension"));
    crate::scene::copy(&from, &scene.path(&format!("{FOLDER}/corrie-again")));
    expect(
        &scene.run(&["check", SUITE]),
        0,
        &["warning: the episode does not name the session in `sessions/corrie-again`"],
    );
}

#[test]
fn an_item_or_intent_that_leans_on_another_is_hinted_at() {
    check(
        &session("saltmarsh-statement"),
        "criterion = \"By the statement the call logs show no alarm call in the night of 28 June 2025, and as the first call in them the head baker's to Kit at 04:55, before the one to Tamsin at 05:10\"",
        "criterion = \"It shows no alarm call\"",
        0,
        &[
            "warning: the item `night-in-the-logs` does not stand alone: \"it\" needs a text before it",
        ],
    );
}

#[test]
fn a_matcher_looks_only_at_what_the_judge_is_shown() {
    let file = session("corrie-extension");
    for (old, new, said) in [
        (
            "    { tool = \"gmail__update_draft\" },\n",
            "",
            "`call:gmail__update_draft` of `new-date`: the judge is shown no call of this tool",
        ),
        (
            "id = \"both-authorities\"\ncriterion = \"Dorothea is told all that the draft gives away and who said so: the time until 21 April, by Bettina's mail of 20 March, and the frame on a Thursday, by her text of 24 March\"\n\
             [checklist.met]\nwithin = [\"call:gmail__send_email\"]\n",
            "id = \"both-authorities\"\ncriterion = \"Dorothea is told all that the draft gives away and who said so: the time until 21 April, by Bettina's mail of 20 March, and the frame on a Thursday, by her text of 24 March\"\n\
             [checklist.met]\n",
            "the matcher of `both-authorities` looks everywhere",
        ),
        (
            "call = [\"email_addresses\", \"subject\", \"body\"]",
            "call = [\"email_addresses\"]",
            "the judge is shown email_addresses of it, and the matcher reads more",
        ),
    ] {
        check(&file, old, new, 3, &[said]);
    }
    let file = session("saltmarsh-statement");
    check(
        &file,
        "files_read = [\"saltmarsh/statement-orrell.md\", ",
        "files_read = [",
        3,
        &["`file:saltmarsh/*statement*` of `how-taken`: the judge is shown no such file"],
    );
    check(
        &file,
        "files_read = [",
        "files_read = [\"saltmarsh/nothing.md\", ",
        3,
        &["no session stages `saltmarsh/nothing.md`"],
    );
}

#[test]
fn the_examples_of_rules_are_carried_out() {
    let file = session("corrie-extension");
    let accepted = "subject = \"40188: a draft waits for you\"";
    for (old, new, said) in [
        (
            accepted,
            "subject = \"A draft waits for you\"",
            "the rule does not accept this history",
        ),
        (
            "subject = \"A draft waits\", body = \"It waits.\"",
            "subject = \"A draft for Corrie waits\", body = \"It waits.\"",
            "the rule accepts this history",
        ),
        (
            "W 20.04.26 | 40188 | defence",
            "W 17.04.26 | 40188 | defence",
            "the rule accepts this history",
        ),
        (
            accepted,
            "topic = \"40188: a draft waits for you\"",
            "a step of this history fails: `gmail__send_email` answers",
        ),
    ] {
        check(&file, old, new, 3, &["session.toml:", said]);
    }
    check(
        &file,
        "{ tool = \"simple_note__update_note\", arguments = { access_token = \"{{login.access_token}}\"",
        "{ tool = \"simple_note__update_note\", arguments = { access_token = \"{{nobody.access_token}}\"",
        3,
        &["`{{nobody.access_token}}` stands for a result that no earlier step saved"],
    );
    let scene = scene();
    let text = std::fs::read_to_string(scene.path(&file)).unwrap();
    let at = text.find("rejects = [\n    [").unwrap();
    let end = at + text[at..].find("\n]\n").unwrap();
    scene.write(&file, &format!("{}{}", &text[..at], &text[end + 3..]));
    expect(
        &scene.run(&["check", SUITE]),
        0,
        &["warning: 1 rules have no example of each kind, the first is `draft-in-thread`"],
    );
}

#[test]
fn no_personas_tools_take_12_000_tokens_of_a_request() {
    let suite = embedded();
    let path = suite.to_str().unwrap();
    let mut command = vec!["check", path, "--json"];
    for session in [
        "rebuttal-triage",
        "lease-audit",
        "stock-gaps",
        "validation-scope",
        "creator-brief",
    ] {
        command.extend(["--session", session]);
    }
    let output = Scene::new().run(&command);
    expect(&output, 0, &[]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let personas = printed["paths"][0]["holds"]["tools"].as_array().unwrap();
    assert_eq!(personas.len(), 5, "{personas:?}");
    for persona in personas {
        let tokens = persona["tokens"].as_u64().unwrap();
        assert!((6_000..12_000).contains(&tokens), "{persona}");
        let tools = persona["tools"].as_u64().unwrap();
        assert!((100..=128).contains(&tools), "{persona}");
    }
}

const PERSONA: &str = "tasks/personas/law_trainee/persona.toml";
const TOOLS: &str =
    r#"tools = ["simple_note__*", "gmail__*", "phone__*", "todoist__*", "splitwise__*"]"#;

/// With the host's fifteen, tools of these apps and some of another.
fn offered(more: &[&str]) -> std::process::Output {
    let scene = scene();
    let apps = [
        "simple_note",
        "gmail",
        "phone",
        "todoist",
        "file_system",
        "splitwise",
    ];
    let apps = apps.map(|app| format!("{app}__*"));
    let more = more.iter().map(|tool| format!("amazon__{tool}"));
    let tools: Vec<String> = apps.into_iter().chain(more).collect();
    scene.replace(PERSONA, TOOLS, &format!("tools = {tools:?}"));
    scene.run(&["check", SUITE, "--session", "corrie-extension", "--json"])
}

#[test]
fn a_persona_with_more_than_128_tools_is_refused_and_one_with_128_is_not() {
    let some = [
        "login",
        "show_cart",
        "search_products",
        "show_product",
        "place_order",
    ];
    let others = [
        "show_orders",
        "show_order",
        "show_addresses",
        "show_seller",
        "clear_cart",
    ];
    let value = |output: &std::process::Output| -> Value {
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let most = offered(&[&some[..], &others].concat());
    expect(&most, 0, &[]);
    let told = &value(&most)["paths"][0]["holds"]["tools"][0];
    assert_eq!(told["tools"], 128, "{told}");
    let tokens = told["tokens"].as_u64().unwrap();
    assert!((5_000..13_500).contains(&tokens), "{tokens}");

    let output = offered(&[&some[..], &others, &["search_sellers"]].concat());
    let said = "the agent is offered 129 tools";
    expect(
        &output,
        3,
        &[said, "persona.toml", "name the tools that the work needs"],
    );
    let problems = &value(&output)["paths"][0]["problems"];
    let problem = problems.as_array().unwrap().iter();
    let line = problem.filter(|problem| problem["message"].as_str().unwrap().contains(said));
    assert_eq!(
        line.map(|one| &one["severity"]).collect::<Vec<_>>(),
        ["error"]
    );
}
