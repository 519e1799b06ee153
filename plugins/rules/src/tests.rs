//! Each condition with what it accepts and what it refuses, the errors of the configuration, and random input.

use std::collections::BTreeMap;

use pibench_sdk::grader::{
    AppState, Call, CallStatus, ChangeKind, Entry, Evidence, FileChange, Grader, Message, Speaker,
    Workspace, WorkspaceError,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Rules;

/// A workspace in memory. `hidden` paths are listed and denied.
#[derive(Default)]
struct Files {
    contents: BTreeMap<String, Vec<u8>>,
    hidden: Vec<String>,
    broken: bool,
}

impl Files {
    fn with(mut self, path: &str, content: &str) -> Self {
        self.contents
            .insert(path.to_owned(), content.as_bytes().to_vec());
        self
    }
}

impl Workspace for Files {
    fn list(&self, path: &str, recursive: bool) -> Result<Vec<Entry>, WorkspaceError> {
        if self.broken {
            return Err(WorkspaceError::TooLarge(10_001));
        }
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let below = |name: &&String| {
            name.strip_prefix(&prefix)
                .is_some_and(|rest| recursive || !rest.contains('/'))
        };
        let entry = |name: &String| Entry {
            path: name.clone(),
            directory: false,
            size: self.contents[name].len() as u64,
        };
        Ok(self.contents.keys().filter(below).map(entry).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        if self.hidden.iter().any(|hidden| hidden == path) {
            return Err(WorkspaceError::Denied("a link".to_owned()));
        }
        self.contents
            .get(path)
            .cloned()
            .ok_or(WorkspaceError::NotFound)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "json!() makes values")]
fn call(number: u32, tool: &str, arguments: Value, result: Value) -> Call {
    let result = match result {
        Value::String(text) => text,
        value => value.to_string(),
    };
    Call {
        number,
        turn: number.div_ceil(2),
        tool: tool.to_owned(),
        arguments: arguments.to_string(),
        status: CallStatus::Ok,
        code: 0,
        result,
    }
}

fn refused(number: u32, tool: &str, code: u16) -> Call {
    let call = call(number, tool, json!({}), json!("no such draft"));
    Call {
        status: CallStatus::ToolError,
        code,
        ..call
    }
}

fn message(turn: u32, speaker: Speaker, text: &str) -> Message {
    Message {
        turn,
        speaker,
        text: text.to_owned(),
    }
}

/// Two drafts, of which the second is sent; notes that are added, changed, removed and left alone; three files.
fn evidence() -> Evidence {
    let before = json!({
        "notes": [
            {"id": 1, "title": "Old", "pinned": false, "tags": []},
            {"id": 2, "title": "Kept", "pinned": false, "tags": ["a", "b"]},
            {"id": 3, "title": "Gone", "pinned": false, "tags": []},
        ],
        "labels": ["court"],
    });
    let now = json!({
        "notes": [
            {"id": 1, "title": "New", "pinned": true, "tags": []},
            {"id": 2, "title": "Kept", "pinned": false, "tags": ["a", "b"]},
            {"id": 4, "title": "Deadlines", "pinned": false, "tags": ["court"]},
        ],
        "labels": ["court"],
    });
    let change = |path: &str, kind| FileChange {
        turn: 1,
        path: path.to_owned(),
        kind,
    };
    Evidence {
        turn: 4,
        calls: vec![
            call(
                1,
                "read_file",
                json!({"path": "brief.md"}),
                json!("{\"court\": \"district\"}"),
            ),
            call(
                2,
                "gmail__create_draft",
                json!({"subject": "One", "to": [{"email": "a@x"}]}),
                json!({"draft_id": 5}),
            ),
            call(
                3,
                "gmail__create_draft",
                json!({"subject": "Two", "size": 2.0}),
                json!({"draft_id": 6}),
            ),
            refused(4, "gmail__send_draft", 409),
            call(
                5,
                "gmail__send_draft",
                json!({"draft_id": 6}),
                json!({"sent_id": 9, "copies": [1, 2]}),
            ),
            Call {
                status: CallStatus::Failed,
                ..call(6, "gmail__label", json!({}), json!(""))
            },
        ],
        messages: vec![
            message(1, Speaker::User, "Please file it by 14 March."),
            message(1, Speaker::Agent, "Which court?"),
            message(1, Speaker::Agent, "And which day?"),
            message(2, Speaker::Agent, "Filed for 14 March."),
        ],
        changes: vec![
            change("notes/a.md", ChangeKind::Created),
            change("old.txt", ChangeKind::Deleted),
            change("back.txt", ChangeKind::Deleted),
            change("back.txt", ChangeKind::Created),
        ],
        apps: vec![AppState {
            app: "simple_note".to_owned(),
            before: before.to_string(),
            now: now.to_string(),
        }],
    }
}

fn files() -> Files {
    Files::default()
        .with("notes/a.md", "Deadline: 14 March\nCourt: district\n")
        .with("notes/deep/b.md", "x")
        .with("data.json", r#"{"rows": [{"id": 1}, {"id": 2}]}"#)
        .with("back.txt", "back")
}

fn config(toml: &str) -> String {
    let value: Value = toml::from_str(toml).unwrap_or_else(|error| panic!("{error} in {toml}"));
    value.to_string()
}

fn judge(toml: &str, evidence: &Evidence, files: &Files) -> (bool, String) {
    let verdicts = Rules::grade(&config(toml), evidence, files)
        .unwrap_or_else(|error| panic!("{error} in {toml}"));
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0].check, "met");
    (verdicts[0].pass, verdicts[0].reason.clone())
}

fn check(toml: &str, expected: bool) {
    let (pass, reason) = judge(toml, &evidence(), &files());
    assert_eq!(pass, expected, "{toml}: {reason}");
}

fn accepts(toml: &str) {
    check(toml, true);
}

fn refuses(toml: &str) {
    check(toml, false);
}

/// The reason, whatever the verdict.
fn reason(toml: &str, expected: &str) {
    assert_eq!(judge(toml, &evidence(), &files()).1, expected);
}

fn wrong(toml: &str, expected: &str) {
    let error = Rules::list_checks(&config(toml)).expect_err(toml);
    assert!(error.contains(expected), "{toml}: {error}");
    assert_eq!(
        Rules::grade(&config(toml), &evidence(), &files()),
        Err(error)
    );
}

/// A matcher against one value, by way of an argument.
#[expect(clippy::needless_pass_by_value, reason = "json!() makes values")]
fn value(value: Value, matcher: &str, expected: bool) {
    let evidence = Evidence {
        turn: 1,
        calls: vec![call(1, "t", json!({"v": value}), json!(""))],
        ..Evidence::default()
    };
    let toml = format!("called = {{ tool = \"t\", arguments = {{ v = {matcher} }} }}");
    let (pass, reason) = judge(&toml, &evidence, &Files::default());
    assert_eq!(pass, expected, "{value} against {matcher}: {reason}");
}

#[test]
fn a_part_of_a_text_is_asked_for_itself() {
    let text = json!("# One\nfünf\n# Two\nlong enough");
    let under = |heading: &str, most: u32| {
        format!(
            "{{ part = {{ pattern = '(?ms)^# {heading}\\n(.*?)(?:\\z|\\n#)', is = {{ length = {{ max = {most} }} }} }} }}"
        )
    };
    value(text.clone(), &under("One", 4), true);
    value(text.clone(), &under("One", 3), false);
    value(text.clone(), &under("Two", 11), true);
    value(text.clone(), &under("Two", 10), false);
    value(text.clone(), &under("Three", 99), false);
    value(
        text.clone(),
        "{ part = { pattern = 'f.nf', is = 'fünf' } }",
        true,
    );
    value(
        text.clone(),
        "{ part = [{ pattern = 'f.nf', is = 'fünf' }, { pattern = 'Two', is = 'Tw' }] }",
        false,
    );
    value(json!(5), "{ part = { pattern = '5', is = '5' } }", false);
    wrong(
        "said = { text = { part = { pattern = '(' , is = 'x' } } }",
        "said.text.part.pattern",
    );
    wrong("said = { text = { part = { pattern = 'x' } } }", "is");
}

#[test]
fn texts_names_and_paths_are_compared_in_one_unicode_form() {
    let (whole, apart) = ("M\u{fc}ller", "Mu\u{308}ller");
    for (one, other) in [(whole, apart), (apart, whole), (apart, apart)] {
        value(json!(one), &format!("'{other}'"), true);
        value(json!(one), &format!("{{ one_of = ['{other}'] }}"), true);
        value(json!(one), &format!("{{ contains = '{other}' }}"), true);
        value(json!(one), &format!("{{ none_of = '{other}' }}"), false);
        value(json!(one), &format!("{{ matches = '^{other}$' }}"), true);
        value(json!(one), "{ length = 6 }", true);
        value(json!({one: 1}), &format!("{{ '{other}' = 1 }}"), true);
        value(json!(one), "'Muller'", false);
        let evidence = Evidence {
            messages: vec![message(1, Speaker::Agent, one)],
            ..Evidence::default()
        };
        // Python's own JSON has an escape for each such character.
        let escaped = r#"{"name": "Mu\u0308ller"}"#;
        let files = Files::default()
            .with(&format!("{one}/a.md"), one)
            .with(&format!("{one}/a.json"), escaped);
        for (toml, expected) in [
            (format!("said = {{ text = '{other}' }}"), true),
            (
                format!("said = {{ text = {{ contains = '{other}s' }} }}"),
                false,
            ),
            (
                format!("file = {{ path = '{other}/a.md', content = '{other}' }}"),
                true,
            ),
            (
                format!("file = {{ path = '{other}/*.md', content = '{other}' }}"),
                true,
            ),
            (
                format!("file = {{ path = '{other}/*.json', json = {{ name = '{other}' }} }}"),
                true,
            ),
            (format!("file = {{ path = '{other}/b.md' }}"), false),
        ] {
            let (pass, reason) = judge(&toml, &evidence, &files);
            assert_eq!(pass, expected, "{toml}: {reason}");
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let files = Files::default()
        .with("a.json", "\u{feff}{\"rows\": 2}")
        .with("a.csv", "\u{feff}day;sum\n1;2\n");
    for (toml, expected) in [
        ("file = { path = 'a.json', json = { rows = 2 } }", true),
        ("file = { path = 'a.json', json = { rows = 3 } }", false),
        (
            "file = { path = 'a.csv', content = { matches = '^day;' }, lines = 2 }",
            true,
        ),
        (
            "file = { path = 'a.csv', content = { matches = '^sum' } }",
            false,
        ),
        ("file = { path = 'a.csv', bytes = { exactly = 15 } }", true),
    ] {
        let (pass, reason) = judge(toml, &Evidence::default(), &files);
        assert_eq!(pass, expected, "{toml}: {reason}");
    }
}

#[test]
fn a_configuration_has_one_check() {
    let checks =
        Rules::list_checks(&config("called = { tool = \"read_file\" }")).expect("a condition");
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0].id, "met");
}

#[test]
fn every_example_of_the_documentation_is_a_condition() {
    let text = include_str!("lib.rs")
        .lines()
        .map(|line| line.trim_start_matches("//!").trim_start_matches(' '));
    let text = text.collect::<Vec<_>>().join("\n");
    let examples: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 7);
    for example in examples {
        let value: Value =
            toml::from_str(example).unwrap_or_else(|error| panic!("{error} in {example}"));
        let condition = match value.get("checklist") {
            Some(items) => &items[0]["rule"]["config"],
            None => &value,
        };
        Rules::list_checks(&condition.to_string())
            .unwrap_or_else(|error| panic!("{error} in {example}"));
    }
}

#[test]
fn all_holds_when_each_does() {
    accepts(
        "all = [{ called = { tool = \"read_file\" } }, { said = { text = { contains = \"Filed\" } } }]",
    );
    refuses(
        "all = [{ called = { tool = \"read_file\" } }, { said = { text = { contains = \"Lost\" } } }]",
    );
}

#[test]
fn any_holds_when_one_does() {
    accepts("any = [{ called = { tool = \"none\" } }, { called = { tool = \"read_file\" } }]");
    refuses("any = [{ called = { tool = \"none\" } }, { called = { tool = \"nil\" } }]");
}

#[test]
fn not_turns_a_condition_round() {
    accepts("not = { called = { tool = \"none\" } }");
    refuses("not = { called = { tool = \"read_file\" } }");
}

#[test]
fn called_looks_at_the_tool_and_its_arguments() {
    accepts(
        "called = { tool = \"gmail__create_draft\", arguments = { subject = \"Two\", size = 2 } }",
    );
    refuses(
        "called = { tool = \"gmail__create_draft\", arguments = { subject = \"One\", size = 2 } }",
    );
    accepts(
        "called = { tool = \"gmail__create_draft\", arguments = { \"to.0.email\" = \"a@x\" } }",
    );
    accepts(
        "called = { tool = \"gmail__create_draft\", arguments = { to = { some = { email = \"a@x\" } } } }",
    );
    refuses(
        "called = { tool = \"gmail__create_draft\", arguments = { \"to.1.email\" = \"a@x\" } }",
    );
    refuses("called = { tool = \"create_draft\" }");
}

#[test]
fn called_takes_several_tools_and_wildcards() {
    accepts("called = { tool = [\"none\", \"read_file\"] }");
    accepts("called = { tool = \"gmail__*\", count = 3 }");
    refuses("called = { tool = \"gmail__*\", count = 4 }");
    refuses("called = { tool = \"gmail__.*\" }");
}

#[test]
fn called_looks_at_results() {
    accepts(
        "called = { tool = \"gmail__send_draft\", result = { sent_id = 9, \"copies.1\" = 2 } }",
    );
    refuses("called = { tool = \"gmail__send_draft\", result = { sent_id = 8 } }");
    accepts("called = { tool = \"read_file\", result = { contains = \"district\" } }");
    accepts("called = { tool = \"read_file\", result = { court = \"district\" } }");
    refuses("called = { tool = \"read_file\", result = { court = \"supreme\" } }");
}

#[test]
fn called_counts_successes_unless_told_otherwise() {
    accepts("called = { tool = \"gmail__send_draft\", count = 1 }");
    accepts("called = { tool = \"gmail__send_draft\", status = \"any\", count = 2 }");
    accepts("called = { tool = \"gmail__send_draft\", status = \"tool_error\", code = 409 }");
    refuses("called = { tool = \"gmail__send_draft\", status = \"tool_error\", code = 422 }");
    accepts("called = { tool = \"gmail__label\", status = \"failed\" }");
    refuses("called = { tool = \"gmail__label\" }");
    accepts(
        "called = { tool = \"gmail__send_draft\", status = \"tool_error\", result = { contains = \"no such\" } }",
    );
}

#[test]
fn called_looks_at_turns_and_counts() {
    accepts("called = { tool = \"gmail__create_draft\", turn = 2 }");
    refuses("called = { tool = \"gmail__create_draft\", turn = { min = 3 } }");
    accepts("called = { tool = \"none\", count = 0 }");
    refuses("called = { tool = \"read_file\", count = { max = 0 } }");
    accepts("called = { tool = \"read_file\", count = { min = 1, max = 2 } }");
    refuses("called = { tool = \"read_file\", count = { exactly = 2 } }");
}

#[test]
fn called_says_which_call_came_near() {
    reason(
        "called = { tool = \"gmail__send_draft\", arguments = { draft_id = 5 } }",
        "no call of gmail__send_draft fits, at least 1 wanted; but call 4: ended as tool_error, not ok; \
         call 5: its argument draft_id is 6, not 5",
    );
    reason(
        "called = { tool = \"read_file\" }",
        "call 1 of read_file fits, at least 1 wanted",
    );
}

#[test]
fn order_is_a_subsequence() {
    accepts("order = [{ tool = \"read_file\" }, { tool = \"gmail__send_draft\" }]");
    refuses("order = [{ tool = \"gmail__send_draft\" }, { tool = \"read_file\" }]");
    accepts("order = [{ tool = \"gmail__create_draft\" }, { tool = \"gmail__create_draft\" }]");
    refuses("order = [{ tool = \"gmail__send_draft\" }, { tool = \"gmail__send_draft\" }]");
}

const DRAFT: &str = "{ tool = \"gmail__create_draft\", capture = { draft = \"result.draft_id\" } }";

#[test]
fn order_carries_captured_values_and_tries_later_calls() {
    let sent =
        "{ tool = \"gmail__send_draft\", arguments = { draft_id = { captured = \"draft\" } } }";
    accepts(&format!("order = [{DRAFT}, {sent}]"));
    reason(
        &format!("order = [{DRAFT}, {sent}]"),
        "the steps are calls 3, 5",
    );
    let other = "{ tool = \"gmail__send_draft\", result = { sent_id = { captured = \"draft\" } } }";
    refuses(&format!("order = [{DRAFT}, {other}]"));
    reason(
        &format!("order = [{DRAFT}, {other}]"),
        "step 2 (gmail__send_draft) was not made after the steps before it; but call 5 its result sent_id is 9, \
         not 6 (captured as draft)",
    );
}

#[test]
fn order_captures_from_arguments_and_from_json_in_texts() {
    accepts(
        "order = [{ tool = \"read_file\", capture = { c = \"result.court\" } }, { tool = \"gmail__send_draft\" }]",
    );
    refuses(
        "order = [{ tool = \"read_file\", capture = { c = \"result.judge\" } }, { tool = \"gmail__send_draft\" }]",
    );
    accepts(
        "order = [{ tool = \"read_file\", capture = { p = \"arguments.path\" } }, \
         { tool = \"gmail__*\", arguments = { subject = { not = { captured = \"p\" } } } }]",
    );
}

#[test]
fn an_order_with_too_many_combinations_is_undecided() {
    let calls = (1..400)
        .map(|number| call(number, "t", json!({}), json!({"id": number})))
        .collect();
    let evidence = Evidence {
        turn: 1,
        calls,
        ..Evidence::default()
    };
    let step = |name: &str| format!("{{ tool = \"t\", capture = {{ {name} = \"result.id\" }} }}");
    let steps = ["a", "b", "c", "d"].map(step).join(", ");
    let toml = format!("order = [{steps}, {{ tool = \"none\" }}]");
    let steps = step("a").replace("\"t\"", "\"t*\"");
    let (pass, _) = judge(
        &format!("order = [{steps}, {{ tool = \"none\" }}]"),
        &evidence,
        &Files::default(),
    );
    assert!(!pass);
    let error = Rules::grade(&config(&toml), &evidence, &Files::default()).expect_err("too many");
    assert!(error.contains("combinations"), "{error}");
}

#[test]
fn file_looks_for_paths_and_globs() {
    accepts("file = { path = \"notes/a.md\" }");
    refuses("file = { path = \"notes/c.md\" }");
    accepts("file = { path = \"notes/*.md\", count = 1 }");
    accepts("file = { path = \"notes/**/*.md\", count = 2 }");
    accepts("file = { path = \"**/b.md\" }");
    accepts("file = { path = \"{notes,other}/a.md\" }");
    accepts("file = { path = \"?ack.txt\" }");
    refuses("file = { path = \"*.md\" }");
}

#[test]
fn file_looks_at_content() {
    accepts(
        "file = { path = \"notes/a.md\", content = { contains = [\"14 March\", \"district\"] } }",
    );
    refuses(
        "file = { path = \"notes/a.md\", content = { contains = [\"14 March\", \"supreme\"] } }",
    );
    refuses("file = { path = \"notes/a.md\", content = { none_of = [\"district\"] } }");
    accepts("file = { path = \"notes/a.md\", content = { matches = '(?m)^Court: \\w+$' } }");
    accepts("file = { path = \"back.txt\", content = \"back\" }");
    accepts("file = { path = \"notes/a.md\", lines = 2, bytes = { min = 10, max = 40 } }");
    refuses("file = { path = \"notes/a.md\", lines = 3 }");
    refuses("file = { path = \"notes/a.md\", bytes = { max = 10 } }");
    reason(
        "file = { path = \"back.txt\", content = \"front\" }",
        "no file back.txt fits, at least 1 wanted; but back.txt has a content that is \"back\", not \"front\"",
    );
}

#[test]
fn file_looks_at_json() {
    accepts(
        "file = { path = \"data.json\", json = { rows = { length = 2, every = { id = { min = 1 } } } } }",
    );
    refuses("file = { path = \"data.json\", json = { \"rows.0.id\" = 2 } }");
    accepts("file = { path = \"data.json\", json = { schema = { required = [\"rows\"] } } }");
    refuses("file = { path = \"data.json\", json = { schema = { required = [\"columns\"] } } }");
    refuses("file = { path = \"back.txt\", json = { a = 1 } }");
}

#[test]
fn file_knows_what_changed_in_the_session() {
    accepts("file = { path = \"notes/a.md\", changed = true }");
    accepts("file = { path = \"back.txt\", changed = true }");
    refuses("file = { path = \"data.json\", changed = true }");
    accepts("file = { path = \"data.json\", changed = false }");
}

#[test]
fn file_can_ask_for_absence() {
    accepts("file = { path = \"old.txt\", exists = false }");
    accepts("file = { path = \"old.txt\", exists = false, changed = true }");
    refuses("file = { path = \"never.txt\", exists = false, changed = true }");
    refuses("file = { path = \"back.txt\", exists = false }");
    refuses("file = { path = \"back.txt\", exists = false, changed = true }");
    accepts("file = { path = \"never.txt\", exists = false, changed = false }");
}

#[test]
fn a_file_that_cannot_be_read_does_not_fit() {
    let files = Files {
        hidden: vec!["back.txt".to_owned()],
        ..files()
    };
    let (pass, reason) = judge(
        "file = { path = \"back.txt\", content = \"back\" }",
        &evidence(),
        &files,
    );
    assert!(!pass);
    assert!(reason.contains("a link"), "{reason}");
}

#[test]
fn a_folder_that_cannot_be_listed_is_undecided() {
    let files = Files {
        broken: true,
        ..files()
    };
    let config = config("not = { file = { path = \"*.md\" } }");
    let error = Rules::grade(&config, &evidence(), &files).expect_err("undecided");
    assert!(error.contains("cannot be listed"), "{error}");
}

#[test]
fn app_counts_the_records_that_are_there() {
    accepts("app = { name = \"simple_note\", records = \"notes\", count = 3 }");
    accepts(
        "app = { name = \"simple_note\", records = \"notes\", where = { title = \"New\", pinned = true } }",
    );
    refuses("app = { name = \"simple_note\", records = \"notes\", where = { title = \"Gone\" } }");
    accepts("app = { name = \"simple_note\", records = [\"notes\", \"labels\"], count = 4 }");
    accepts("app = { name = \"simple_note\", count = 4 }");
}

#[test]
fn app_compares_with_the_sessions_start() {
    accepts(
        "app = { name = \"simple_note\", change = \"added\", where = { title = \"Deadlines\" }, count = 1 }",
    );
    refuses("app = { name = \"simple_note\", change = \"added\", where = { title = \"New\" } }");
    accepts(
        "app = { name = \"simple_note\", change = \"removed\", where = { title = \"Gone\" }, count = 1 }",
    );
    refuses("app = { name = \"simple_note\", change = \"removed\", where = { title = \"Kept\" } }");
    accepts(
        "app = { name = \"simple_note\", change = \"changed\", where = { title = \"New\" }, was = { title = \"Old\" } }",
    );
    refuses("app = { name = \"simple_note\", change = \"changed\", was = { title = \"Kept\" } }");
    accepts(
        "app = { name = \"simple_note\", change = \"unchanged\", records = \"notes\", count = 1 }",
    );
    accepts(
        "app = { name = \"simple_note\", change = \"unchanged\", records = \"labels\", count = 1 }",
    );
    accepts("app = { name = \"simple_note\", was = { title = \"Old\" }, count = 1 }");
}

#[test]
fn app_can_say_that_nothing_else_changed() {
    accepts("app = { name = \"simple_note\", change = \"touched\", count = 3 }");
    refuses(
        "app = { name = \"simple_note\", change = \"touched\", except = { title = \"Deadlines\" }, count = 0 }",
    );
    accepts(
        "app = { name = \"simple_note\", change = \"touched\", count = 0, \
         except = { title = { one_of = [\"Deadlines\", \"New\", \"Gone\"] } } }",
    );
}

#[test]
fn app_can_say_which_fields_changed() {
    let changed = "app = { name = \"simple_note\", change = \"changed\", count = 1";
    accepts(&format!("{changed}, only = [\"title\", \"pinned\"] }}"));
    refuses(&format!("{changed}, only = \"title\" }}"));
    refuses("app = { name = \"simple_note\", change = \"added\", only = \"title\" }");
}

#[test]
fn unchanged_is_everything_but_what_is_named() {
    reason(
        "unchanged = {}",
        "3 other changes: simple_note notes 1 changed (title, pinned); simple_note notes 3 removed; \
         simple_note notes 4 added",
    );
    let but = |changed: &str| {
        format!(
            "unchanged = {{ apps = \"simple_note\", except = [\
             {{ name = \"simple_note\", change = \"added\", where = {{ title = \"Deadlines\" }} }},\
             {{ name = \"simple_note\", records = \"notes\", change = \"removed\" }},\
             {{ name = \"simple_note\", change = \"changed\", only = {changed} }}] }}"
        )
    };
    accepts(&but("[\"title\", \"pinned\"]"));
    refuses(&but("[\"title\"]"));
    accepts("unchanged = { apps = [\"spotify\"] }");
}

#[test]
fn an_exception_from_a_list_that_there_is_not_is_an_error() {
    let config = config("unchanged = { except = { name = \"simple_note\", records = \"note\" } }");
    let error = Rules::grade(&config, &evidence(), &files()).expect_err("unknown list");
    assert!(error.contains("has no list `note`"), "{error}");
}

#[test]
fn an_exception_is_not_counted() {
    wrong(
        "unchanged = { except = { name = \"a\", count = 1 } }",
        "config.unchanged.except.count: unknown key",
    );
    wrong(
        "unchanged = { app = \"a\" }",
        "config.unchanged.app: unknown key",
    );
}

#[test]
fn a_record_of_the_world_that_was_first_touched_is_changed() {
    let product = json!({"id": 7, "stock": 4, "world": {"stock": 5}});
    let evidence = Evidence {
        turn: 1,
        apps: vec![AppState {
            app: "amazon".to_owned(),
            before: json!({"products": []}).to_string(),
            now: json!({"products": [product]}).to_string(),
        }],
        ..Evidence::default()
    };
    let holds = |change: &str| {
        let toml = format!(
            "app = {{ name = \"amazon\", change = \"{change}\", was = {{ stock = 5 }}, where = {{ stock = 4 }} }}"
        );
        judge(&toml, &evidence, &files()).0
    };
    assert!(holds("changed") && holds("touched") && !holds("removed"));
    let added = "app = { name = \"amazon\", change = \"added\" }";
    assert!(!judge(added, &evidence, &files()).0);
}

#[test]
fn an_app_without_state_has_no_records() {
    accepts("app = { name = \"spotify\", count = 0 }");
    refuses("app = { name = \"spotify\", records = \"songs\" }");
}

#[test]
fn a_list_that_the_state_has_not_is_an_error() {
    let config = config("not = { app = { name = \"simple_note\", records = \"note\" } }");
    let error = Rules::grade(&config, &evidence(), &files()).expect_err("unknown list");
    assert_eq!(
        error,
        "the state of simple_note has no list `note`; it has `notes`, `labels`"
    );
}

#[test]
fn app_names_the_records_in_its_reason() {
    reason(
        "app = { name = \"simple_note\", change = \"added\" }",
        "1 of 5 records of simple_note fit as added, at least 1 wanted: notes 4",
    );
    reason(
        "app = { name = \"simple_note\", change = \"added\", where = { title = \"X\" } }",
        "0 of 5 records of simple_note fit as added, at least 1 wanted; but of notes 4 title is \"Deadlines\", not \"X\"",
    );
}

#[test]
fn said_looks_at_the_agents_responses_only() {
    accepts("said = { text = { contains = \"14 March\" }, count = 1 }");
    accepts("said = { text = \"Which court?\\nAnd which day?\", turn = 1 }");
    refuses("said = { text = { contains = \"14 March\" }, turn = 1 }");
    refuses("said = { text = { contains = \"Please\" } }");
    accepts("said = { text = { matches = '(?i)FILED' }, turn = { min = 2 } }");
    accepts("said = { text = { contains = \"?\" }, count = { max = 1 } }");
}

#[test]
fn bare_values_are_equality() {
    value(json!("a"), "\"a\"", true);
    value(json!("a"), "\"A\"", false);
    value(json!(1.0), "1", true);
    value(json!(1), "1.5", false);
    value(json!(true), "true", true);
    value(json!(1), "true", false);
    value(json!([1, 2]), "[1, 2]", true);
    value(json!([2, 1]), "[1, 2]", false);
}

#[test]
fn operators_look_at_values() {
    value(json!({"a": [1.0]}), "{ equals = { a = [1] } }", true);
    value(json!({"a": 1, "b": 2}), "{ equals = { a = 1 } }", false);
    value(json!("b"), "{ one_of = [\"a\", \"b\"] }", true);
    value(json!("c"), "{ one_of = [\"a\", \"b\"] }", false);
    value(json!(["x", "y"]), "{ contains = \"x\" }", true);
    value(json!(["xy"]), "{ contains = \"x\" }", false);
    value(json!(5), "{ contains = \"5\" }", false);
    value(json!("abc"), "{ none_of = [\"z\", \"b\"] }", false);
    value(json!("abc"), "{ none_of = \"z\" }", true);
    value(json!(4), "{ none_of = [4, 5] }", false);
    value(json!(45), "{ none_of = [4, 5] }", true);
    value(json!([4, 6]), "{ none_of = [4, 5] }", false);
    value(json!("4"), "{ none_of = [4, 5] }", true);
    value(json!(true), "{ none_of = true }", false);
    value(json!("abc"), "{ matches = [\"^a\", \"c$\"] }", true);
    value(json!("abc"), "{ matches = [\"^a\", \"b$\"] }", false);
    value(json!(3), "{ min = 3, max = 3.5 }", true);
    value(json!(4), "{ min = 3, max = 3.5 }", false);
    value(json!("4"), "{ min = 3 }", false);
    value(json!("h\u{e9}"), "{ length = 2 }", true);
    value(json!([1, 2, 3]), "{ length = { min = 4 } }", false);
    value(json!([1, 2, 3]), "{ length = { exactly = 3 } }", true);
    value(json!([1, 2, 3]), "{ length.not = { exactly = 3 } }", false);
    value(json!("ab"), "{ length = { exactly = 3 } }", false);
    value(json!({"n": 2.0}), "{ n = { exactly = 2 } }", true);
    value(json!({"n": 3}), "{ n = { exactly = 2 } }", false);
    value(json!(12), "{ length = 2 }", false);
    value(json!([1, 2, 2]), "{ unordered = [2, 1, 2.0] }", true);
    value(json!([1, 2, 2]), "{ unordered = [2, 1, 1] }", false);
    value(json!([]), "{ unordered = [] }", true);
    value(json!([1, 2]), "{ some = { min = 2 } }", true);
    value(json!([1, 2]), "{ some = { min = 3 } }", false);
    value(json!([1, 2]), "{ every = { min = 1 } }", true);
    value(json!([1, 2]), "{ every = { min = 2 } }", false);
    value(json!([]), "{ every = { min = 1 } }", false);
    value(
        json!("a"),
        "{ any_of = [\"b\", { contains = \"a\" }] }",
        true,
    );
    value(
        json!("c"),
        "{ any_of = [\"b\", { contains = \"a\" }] }",
        false,
    );
    value(json!("a"), "{ not = \"b\" }", true);
    value(json!("b"), "{ not = \"b\" }", false);
    value(
        json!({"n": 1}),
        "{ schema = '{\"properties\": {\"n\": {\"type\": \"integer\"}}}' }",
        true,
    );
    value(
        json!({"n": "1"}),
        "{ schema = { properties = { n = { type = \"integer\" } } } }",
        false,
    );
    value(json!({"min": {"min": 3}}), "{ \"min.min\" = 3 }", true);
}

#[test]
fn absence_is_asked_for_by_name() {
    value(Value::Null, "{ exists = false }", true);
    value(Value::Null, "{ exists = true }", false);
    value(json!(0), "{ exists = true }", true);
    value(json!({"a": 1}), "{ b = { exists = false } }", true);
    value(json!({"a": 1}), "{ a = { exists = false } }", false);
    value(json!({"a": 1}), "{ b = { not = 1 } }", true);
    value(json!({"a": 1}), "{ b = { none_of = \"x\" } }", false);
    value(
        json!({"a": 1}),
        "{ b = { any_of = [{ exists = false }, 1] } }",
        true,
    );
}

#[test]
fn what_is_null_is_not_called_absent() {
    let evidence = Evidence {
        turn: 1,
        calls: vec![call(1, "t", json!({"closed": null}), json!(""))],
        ..Evidence::default()
    };
    for (field, said) in [
        ("closed", "closed is null, where something must be"),
        ("open", "open is absent"),
    ] {
        let toml = format!("called = {{ tool = \"t\", arguments.{field} = {{ exists = true }} }}");
        let (pass, reason) = judge(&toml, &evidence, &Files::default());
        assert!(!pass && reason.ends_with(said), "{reason}");
    }
}

#[test]
fn a_condition_has_exactly_one_known_key() {
    wrong("", "config: must have exactly one key");
    wrong(
        "called = { tool = \"a\" }\nsaid = { text = \"b\" }",
        "config: must have exactly one key",
    );
    wrong(
        "calls = { tool = \"a\" }",
        "config.calls: unknown condition",
    );
    wrong("all = []", "config.all: must not be empty");
    wrong(
        "all = [{ not = { was = 1 } }]",
        "config.all.0.not.was: unknown condition",
    );
}

#[test]
fn unknown_keys_are_named_with_their_place() {
    wrong(
        "called = { tool = \"a\", argument = {} }",
        "config.called.argument: unknown key; known here are `tool`",
    );
    wrong(
        "called = { tool = \"a\", count = { least = 1 } }",
        "config.called.count.least: unknown key",
    );
    wrong(
        "file = { path = \"a\", text = \"b\" }",
        "config.file.text: unknown key",
    );
    wrong(
        "app = { name = \"a\", with = {} }",
        "config.app.with: unknown key",
    );
    wrong(
        "said = { text = \"a\", by = \"user\" }",
        "config.said.by: unknown key",
    );
    wrong(
        "order = [{ tool = \"a\" }, { tool = \"b\", count = 1 }]",
        "config.order.1.count: unknown key",
    );
}

#[test]
fn a_word_that_is_no_operator_is_refused_of_a_text_or_a_number_and_a_field_of_json_is_not() {
    for (toml, said) in [
        (
            r#"file = { path = "a.md", content.not = { mathces = "x" } }"#,
            "config.file.content.not.mathces: unknown key, and a text has no fields; did you mean `matches`?",
        ),
        (
            r#"file = { path = "a.md", content = { any_of = [{ contains = "x" }, { contain = "y" }] } }"#,
            "config.file.content.any_of.1.contain: unknown key, and a text has no fields; did you mean `contains`?",
        ),
        (
            r#"file = { path = "a.md", content.part = { pattern = "x", is.eqals = "x" } }"#,
            "config.file.content.part.is.eqals: unknown key, and a text has no fields; did you mean `equals`?",
        ),
        (
            r#"said = { text = { subject = "x" } }"#,
            "config.said.text.subject: unknown key, and a text has no fields; known here are `equals`, `one_of`",
        ),
        (
            r#"file = { path = "a.json", json.rows.length = { exact = 3 } }"#,
            "config.file.json.rows.length.exact: unknown key, and a number has no fields; did you mean `exactly`?",
        ),
        (
            r#"called = { tool = "t", status = "tool_error", code.not = { from = 400 } }"#,
            "config.called.code.not.from: unknown key, and a number has no fields; known here are `equals`, `one_of`",
        ),
        (
            r#"called = { tool = "t", arguments.n.exactly = "3" }"#,
            "config.called.arguments.n.exactly: must be a number",
        ),
    ] {
        wrong(toml, said);
    }
    for toml in [
        r#"file = { path = "a.md", content.not = { matches = "x" } }"#,
        r#"file = { path = "a.md", content.length = { min = 2 } }"#,
        r#"file = { path = "a.md", content.length.any_of = [{ exactly = 2 }, { min = 4 }] }"#,
        r#"called = { tool = "t", status = "tool_error", code.exactly = 409 }"#,
        r#"file = { path = "a.json", json.mathces = "x" }"#,
        r#"called = { tool = "t", arguments.contain = "x" }"#,
    ] {
        assert!(Rules::list_checks(&config(toml)).is_ok(), "{toml}");
    }
}

#[test]
fn missing_and_mistaken_values_of_a_call_are_named_with_their_place() {
    wrong(
        "called = { arguments = { a = 1 } }",
        "config.called: `tool` is missing",
    );
    wrong(
        "called = { tool = 1 }",
        "config.called.tool: must be a string",
    );
    wrong(
        "called = { tool = \"a\", status = \"bad\" }",
        "config.called.status: must be",
    );
    wrong(
        "called = { tool = \"a\", count = -1 }",
        "config.called.count: must be a whole number",
    );
    wrong(
        "called = { tool = \"a\", count = { min = 2, max = 1 } }",
        "`min` is above `max`",
    );
    wrong(
        "called = { tool = \"a\", count = { exactly = 2, max = 1 } }",
        "`exactly` stands alone",
    );
    wrong(
        "called = { tool = \"a\", arguments = { v = { contains = \"x\", v = 1 } } }",
        "mixes the operator `contains`",
    );
    wrong(
        "called = { tool = \"a\", arguments = { v = {} } }",
        "config.called.arguments.v: must not be empty",
    );
    wrong(
        "called = { tool = \"a\", arguments = { \"a..b\" = 1 } }",
        "is no dotted path",
    );
}

#[test]
fn missing_and_mistaken_values_of_texts_orders_files_and_apps_are_named_with_their_place() {
    wrong(
        "said = { text = { matches = \"(\" } }",
        "config.said.text.matches: is no regular expression",
    );
    wrong(
        "said = { text = { matches = \"(a{500}){500}\" } }",
        "is no regular expression",
    );
    // Compiled when it is tried: where nothing is, its syntax alone is looked at.
    let large = "file = { path = \"no-such-file\", content = { matches = \"(a{500}){500}\" } }";
    let error = Rules::list_checks(&config(large)).unwrap_err();
    assert!(error.contains("is no regular expression"), "{error}");
    accepts(&format!("not = {{ {large} }}"));
    wrong(
        "not = { file = { path = \"no-such-file\", content = { matches = \"(\" } } }",
        "config.not.file.content.matches: is no regular expression",
    );
    wrong(
        "said = { text = { schema = { type = 5 } } }",
        "config.said.text.schema: is no JSON Schema",
    );
    for url in ["http://x.example/y", "file:///etc/passwd"] {
        wrong(
            &format!("said = {{ text = {{ schema = {{ '$ref' = \"{url}\" }} }} }}"),
            &format!("is no JSON Schema: error loading {url}"),
        );
    }
    wrong(
        "said = { text = { captured = \"x\" } }",
        "no earlier step captures `x`",
    );
    wrong("order = [{ tool = \"a\" }]", "at least two steps");
    wrong(
        "order = [{ tool = \"a\", capture = { x = \"value.y\" } }, { tool = \"b\" }]",
        "config.order.0.capture.x",
    );
    wrong(
        &format!("order = [{DRAFT}, {DRAFT}]"),
        "captured by an earlier step already",
    );
    wrong("file = { path = \"../a\" }", "must be a relative path");
    wrong("file = { path = \"/a\" }", "must be a relative path");
    wrong("file = { path = \"a[\" }", "is no glob");
    wrong(
        "file = { path = \"a\", exists = false, lines = 1 }",
        "goes with `path` and `changed` only",
    );
    wrong(
        "app = { name = \"a\", change = \"new\" }",
        "config.app.change: must be",
    );
    wrong(
        "app = { name = \"a\", change = \"added\", was = { b = 1 } }",
        "`was` is of no use",
    );
}

#[test]
fn reasons_are_bounded() {
    let long = "\u{1f600}".repeat(100_000);
    let evidence = Evidence {
        messages: vec![message(1, Speaker::Agent, &long)],
        ..evidence()
    };
    let one = "{ not = { said = { text = \"a\" } } }";
    let toml = format!("all = [{}]", vec![one; 200].join(", "));
    let (_, reason) = judge(&toml, &evidence, &files());
    assert!(reason.len() <= 4096, "{}", reason.len());
}

/// JSON that is often almost a configuration.
fn nearly_config() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 42] = [
        "all",
        "any",
        "not",
        "called",
        "order",
        "file",
        "app",
        "said",
        "unchanged",
        "only",
        "tool",
        "arguments",
        "result",
        "status",
        "count",
        "turn",
        "code",
        "capture",
        "path",
        "content",
        "json",
        "bytes",
        "lines",
        "changed",
        "exists",
        "name",
        "records",
        "where",
        "was",
        "except",
        "change",
        "text",
        "equals",
        "contains",
        "matches",
        "min",
        "max",
        "length",
        "some",
        "schema",
        "captured",
        "unordered",
    ];
    const TEXTS: [&str; 12] = [
        "gmail__*",
        "read_file",
        "ok",
        "any",
        "added",
        "touched",
        "simple_note",
        "notes",
        "notes/*.md",
        "result.a",
        "(",
        "a",
    ];
    let leaf = prop_oneof![
        prop::sample::select(TEXTS.to_vec()).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..4).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        let key = prop_oneof![
            9 => prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
            1 => ".{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 1..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Conditions that are right in form, with random values.
fn condition() -> impl Strategy<Value = Value> {
    let matcher = || {
        nearly_config().prop_map(|value| {
            let bare = json!({"equals": value});
            if Rules::list_checks(&json!({"said": {"text": value}}).to_string()).is_ok() {
                value
            } else {
                bare
            }
        })
    };
    prop_oneof![
        (matcher(), matcher()).prop_map(|(arguments, result)| {
            json!({"called": {"tool": "*", "status": "any", "arguments": {"a.0": arguments}, "result": result}})
        }),
        matcher().prop_map(|matcher| json!({"file": {"path": "**", "content": matcher, "json": matcher}})),
        matcher().prop_map(|matcher| json!({"app": {"name": "a", "where": {"id": matcher}, "change": "touched"}})),
        matcher().prop_map(|matcher| json!({"unchanged": {"except": [{"name": "a", "where": {"id": matcher}}]}})),
        matcher().prop_map(|matcher| json!({"order": [
            {"tool": "*", "capture": {"x": "arguments.a"}},
            {"tool": "*", "arguments": {"a": {"not": {"captured": "x"}}}, "result": matcher},
        ]})),
    ]
}

proptest! {
    #[test]
    fn random_configurations_never_panic(value in nearly_config()) {
        let _ = Rules::list_checks(&value.to_string());
        let _ = Rules::grade(&value.to_string(), &evidence(), &files());
    }

    #[test]
    fn random_texts_never_panic(text in ".{0,64}") {
        prop_assert!(Rules::list_checks(&text).is_err());
    }

    #[test]
    fn random_evidence_never_panics(
        condition in condition(),
        texts in prop::collection::vec(prop_oneof![nearly_config().prop_map(|v| v.to_string()), ".{0,20}"], 6),
    ) {
        let call = |number, tool: &str, arguments: &str, result: &str| Call {
            number,
            turn: 1,
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            status: CallStatus::Ok,
            code: 0,
            result: result.to_owned(),
        };
        let evidence = Evidence {
            turn: 1,
            calls: vec![call(1, "a__b", &texts[0], &texts[1]), call(2, "b", &texts[1], &texts[0])],
            messages: vec![message(1, Speaker::Agent, &texts[2])],
            changes: Vec::new(),
            apps: vec![AppState { app: "a".to_owned(), before: texts[3].clone(), now: texts[4].clone() }],
        };
        let files = Files::default().with("a", &texts[5]);
        prop_assert!(Rules::list_checks(&condition.to_string()).is_ok(), "{condition}");
        if let Ok(verdicts) = Rules::grade(&condition.to_string(), &evidence, &files) {
            prop_assert!(verdicts[0].reason.len() <= 4096);
        }
    }
}
