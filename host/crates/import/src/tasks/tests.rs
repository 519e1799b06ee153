//! A small data set of our own in the public format, what a task file must not say, and the public sample.

use std::fs;

use tempfile::TempDir;

use super::*;
use pibench_core::vocabulary::Protocol;
use pibench_suite::load::{Loaded, STAGED_LIMIT, load};
use pibench_suite::manifest::Trigger;
use pibench_suite::suite::{Grading, Suite};

const PROFILE: &str = "schema_version: v2
user_id: Registry_Clerk
role: |
  ## Work
  Keeps the land registry.
preferences: {language: en, channel: null}
long_term_goals: [Retire early]
motto: slow and sure
";

const EPISODE: &str = "schema_version: v2
episode_id: ep_1
user_id: Registry_Clerk
runtime: {docker_image_id: abc}
tasks:
  - task_id: Task_1
  - task_id: Task_2
    depends_on: [Task_1]
";

const TOOLS: &str = "tool_names: [gmail__login, mcp_appworld_gmail__send_email, exec]\n";

const TASK_1: &str = "schema_version: v2
task_id: Task_1
user_id: Registry_Clerk
environment_id: env_1
title: First entry
description: ''
task_type: long_term
trigger: {type: environmental_signal, source: court-feed, case: 7}
intent:
  initial_input: |
    Enter the parcel.
    It is \"new\".
  hidden_intent:
    - content: Name the owner first.
    - {content: Use the long form., status: provided}
metadata:
  difficulty: easy
  threads: []
  weight: 1.0
priority: high
";

const TASK_2: &str = "schema_version: v2
task_id: Task_2
user_id: Registry_Clerk
title: Second entry
task_type: short_term_contextual
trigger: {type: user}
intent:
  initial_input: Send the extract.
  hidden_intent:
    - content: Attach the plan.
      status: not_provided
objectives:
  checklist:
    - criterion: The extract was sent.
    - {criterion: The plan is attached., weight: 2.5}
  files_read: [./out.md, /etc/passwd]
  tools:
    - mcp_appworld_gmail__send_email: {call: [subject], result: [response.sent_email_id, response]}
    - exec: {call: [command], result: [response.x]}
  tools_evaluation_path: data/clerk/scripts/two.py
";

const SCRIPT: &str = "def score(history):\n    return {'sent': 0, 'attached': 0}\n";

struct Data {
    folder: TempDir,
}

impl Data {
    fn sound() -> Self {
        let new = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        new.write("profile.yaml", PROFILE);
        new.write("episode.yaml", EPISODE);
        new.write("tools.yaml", TOOLS);
        new.write("tasks/Task_1/task.yaml", TASK_1);
        new.write("tasks/Task_1/plan.txt", "a plan");
        new.write("tasks/Task_1/maps/north.txt", "a map");
        new.write("tasks/Task_2/task.yaml", TASK_2);
        new.write("scripts/two.py", SCRIPT);
        new.write("skills/planning/SKILL.md", "Plan.");
        new
    }

    fn root(&self) -> Utf8PathBuf {
        self.folder.path().to_str().unwrap().into()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join("data/clerk").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root().join("data/clerk").join(path)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {path}");
        self.write(path, &text.replace(from, to));
    }

    fn out(&self) -> Utf8PathBuf {
        self.root().join("out")
    }

    fn import(&self) -> Result<Report, ImportError> {
        let mut list_checks = |script: &str| {
            assert_eq!(script, SCRIPT);
            Ok(vec!["sent".to_owned(), "attached".to_owned()])
        };
        import(&self.root(), None, &self.out(), &mut list_checks, &|_| true)
    }

    fn suite(&self) -> Suite {
        let Loaded { suite, warnings: _ } = load(&self.out().join("suite.toml")).unwrap();
        suite
    }
}

#[test]
fn carries_a_whole_data_set_over() {
    let data = Data::sound();
    let report = data.import().unwrap();
    insta::assert_debug_snapshot!(report, @r##"
        Report {
            personas: 1,
            sessions: 2,
            intents: 3,
            rubrics: 2,
            rules: 2,
            files: 2,
            people: 0,
            records: 0,
            left_out: [
                "clerk/tasks/Task_1/task.yaml: the intent i2 starts as \"provided\"; here every intent starts open",
                "clerk/tasks/Task_2/task.yaml: files_read `/etc/passwd`: the path is absolute; it must be relative",
                "clerk/tools.yaml: `exec` is no app tool",
                "clerk: metadata.pi_bench.preferences.channel: null",
            ],
            notes: [
                "clerk/episode.yaml: `runtime` is not needed here: apps run in the host",
                "clerk/skills: 1 files copied to personas/registry_clerk/skills",
                "the data has no people and no app records: the apps hold the generated world, and nobody can log in",
                "the data has no reference workflows or offline matchers: scripted models find no intent satisfied",
            ],
        }
        "##);
    let skill = data.out();
    let skill = skill.join("personas/registry_clerk/skills/planning/SKILL.md");
    assert_eq!(fs::read_to_string(skill).unwrap(), "Plan.");
}

#[test]
fn an_imported_suite_loads_with_all_that_the_data_said() {
    let data = Data::sound();
    data.import().unwrap();
    let suite = data.suite();
    let persona = &suite.personas[0];
    assert_eq!(
        (suite.protocol, persona.id.as_str()),
        (Protocol::Paper, "registry_clerk")
    );
    assert_eq!(persona.tools, ["gmail__login", "gmail__send_email"]);
    assert!(
        persona.profile.contains("Keeps the land registry.")
            && persona.profile.contains("- Retire early")
    );
    let [one, two] = persona.sessions.as_slice() else {
        panic!("two sessions")
    };
    assert_eq!(
        (
            one.clock.to_string().as_str(),
            two.clock.to_string().as_str()
        ),
        ("2026-03-02T09:00:00", "2026-03-03T09:00:00")
    );
    assert_eq!(one.request, "Enter the parcel.\nIt is \"new\".\n");
    assert_eq!(
        one.trigger,
        Trigger::Environment {
            source: "court-feed".into(),
            payload: json!({"case": 7})
        }
    );
    assert!(one.dependency_only);
    let staged: Vec<(&str, &[u8])> = one
        .files
        .iter()
        .map(|file| (file.path.as_str(), &*file.content))
        .collect();
    assert_eq!(
        staged,
        [
            ("maps/north.txt", b"a map".as_slice()),
            ("plan.txt", b"a plan")
        ]
    );
    assert_eq!(two.depends_on, ["task_1"]);
    let ids: Vec<&str> = two.checklist.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2", "r1", "r2"]);
    assert_eq!(two.checklist[1].weight.to_string(), "2.5");
    let Grading::Rule(rule) = &two.checklist[3].grading else {
        panic!("a rule")
    };
    assert_eq!(
        (rule.config["script"].as_str(), rule.check.as_deref()),
        (Some(SCRIPT), Some("attached"))
    );
    assert_eq!(
        rule.config["tools"],
        json!(["exec", "mcp_appworld_gmail__send_email"])
    );
    assert_eq!(two.files_read, ["out.md"]);
    assert_eq!(
        (
            two.tool_evidence[0].tool.as_str(),
            two.tool_evidence[0].result.as_slice()
        ),
        (
            "gmail__send_email",
            ["sent_email_id".to_owned(), "*".to_owned()].as_slice()
        )
    );
    assert_eq!(two.tool_evidence[1].result, ["response.x"]);
}

#[test]
fn writes_readable_files_that_keep_all_metadata() {
    let data = Data::sound();
    data.import().unwrap();
    let text = |path: &str| fs::read_to_string(data.out().join(path)).unwrap();
    insta::assert_snapshot!(text("suite.toml"), @r##"
        version = 1
        id = "pi-bench"
        title = "π-Bench"
        personas = ["personas/registry_clerk"]
        protocol = "paper"
        scaffold = "nanobot-0.1.5"
        scaffold_prompt = "neutral"
        agent = "nop"
        seed = 0

        [session]
        max_turns = 30
        max_iterations = 120
        turn_timeout_s = 1800
        window_tokens = 65536

        [state]
        reset = "episode"

        [web]
        provider = "offline"
        "##);
    insta::assert_snapshot!(text("personas/registry_clerk/persona.toml"), @r##"
        version = 1
        id = "registry_clerk"
        name = "Registry Clerk"
        profile = """
        ## Work
        Keeps the land registry.

        ## Preferences
        - language: en
        - channel: null

        ## Long-term goals
        - Retire early
        """
        tools = [
            "gmail__login",
            "gmail__send_email",
        ]
        skills = ["planning"]
        world = true

        [[episode]]
        session = "task_1"

        [[episode]]
        session = "task_2"
        depends_on = ["task_1"]

        [metadata.pi_bench]
        user_id = "Registry_Clerk"
        tool_names = [
            "gmail__login",
            "mcp_appworld_gmail__send_email",
            "exec",
        ]
        episode_id = "ep_1"
        long_term_goals = ["Retire early"]
        motto = "slow and sure"

        [metadata.pi_bench.preferences]
        language = "en"
        "##);
}

#[test]
fn writes_sessions_that_keep_what_has_no_place() {
    let data = Data::sound();
    data.import().unwrap();
    let text = |path: &str| fs::read_to_string(data.out().join(path)).unwrap();
    insta::assert_snapshot!(text("personas/registry_clerk/sessions/task_1/session.toml"), @r##"
        version = 1
        id = "task_1"
        title = "First entry"
        clock = 2026-03-02T09:00:00
        request = """
        Enter the parcel.
        It is "new".
        """

        [trigger]
        kind = "environment"
        source = "court-feed"

        [trigger.payload]
        case = 7

        [[intents]]
        id = "i1"
        content = "Name the owner first."

        [[intents]]
        id = "i2"
        content = "Use the long form."

        [[files]]
        source = "files/maps/north.txt"
        path = "maps/north.txt"

        [[files]]
        source = "files/plan.txt"

        [metadata]
        difficulty = "easy"
        threads = []
        weight = 1.0

        [metadata.pi_bench]
        task_id = "Task_1"
        user_id = "Registry_Clerk"
        environment_id = "env_1"
        task_type = "long_term"
        priority = "high"

        [metadata.pi_bench.trigger]
        type = "environmental_signal"
        source = "court-feed"
        case = 7

        [metadata.pi_bench.intent_status]
        i2 = "provided"
        "##);
}

#[test]
fn writes_a_session_with_its_rules() {
    let data = Data::sound();
    data.import().unwrap();
    let path = "personas/registry_clerk/sessions/task_2/session.toml";
    let text = fs::read_to_string(data.out().join(path)).unwrap();
    let (session, _) = text.split_once("[evidence]").unwrap();
    insta::assert_snapshot!(session, @r##"
        version = 1
        id = "task_2"
        title = "Second entry"
        clock = 2026-03-03T09:00:00
        request = "Send the extract."

        [trigger]
        kind = "user"

        [[intents]]
        id = "i1"
        content = "Attach the plan."

        [[checklist]]
        id = "c1"
        criterion = "The extract was sent."

        [[checklist]]
        id = "c2"
        criterion = "The plan is attached."
        weight = 2.5

        [[checklist]]
        id = "r1"
        criterion = "sent"

        [checklist.rule]
        grader = "python"
        script = "two.py"
        check = "sent"

        [checklist.rule.config]
        tools = [
            "exec",
            "mcp_appworld_gmail__send_email",
        ]

        [[checklist]]
        id = "r2"
        criterion = "attached"

        [checklist.rule]
        grader = "python"
        script = "two.py"
        check = "attached"

        [checklist.rule.config]
        tools = [
            "exec",
            "mcp_appworld_gmail__send_email",
        ]
        "##);
}

#[test]
fn writes_a_sessions_evidence_and_what_has_no_place_of_its_own() {
    let data = Data::sound();
    data.import().unwrap();
    let path = "personas/registry_clerk/sessions/task_2/session.toml";
    let text = fs::read_to_string(data.out().join(path)).unwrap();
    insta::assert_snapshot!(&text[text.find("[evidence]").unwrap()..], @r##"
        [evidence]
        files_read = ["out.md"]

        [[evidence.tools]]
        tool = "gmail__send_email"
        call = ["subject"]
        result = [
            "sent_email_id",
            "*",
        ]

        [[evidence.tools]]
        tool = "exec"
        call = ["command"]
        result = ["response.x"]

        [metadata.pi_bench]
        task_id = "Task_2"
        user_id = "Registry_Clerk"
        task_type = "short_term_contextual"
        tools_evaluation_path = "data/clerk/scripts/two.py"

        [metadata.pi_bench.trigger]
        type = "user"

        [metadata.pi_bench.intent_status]
        i1 = "not_provided"
        "##);
}

/// What an import of the sound data says was left out after one edit, beside what it always says.
#[track_caller]
fn leaves_out(path: &str, from: &str, to: &str, expected: &[&str]) {
    let data = Data::sound();
    let before = data.import().unwrap().left_out;
    fs::remove_dir_all(data.out()).unwrap();
    data.edit(path, from, to);
    let mut after = data.import().unwrap().left_out;
    after.retain(|line| !before.contains(line));
    assert_eq!(after, expected);
    data.suite();
}

#[test]
fn tells_what_it_left_out() {
    leaves_out(
        "tasks/Task_2/task.yaml",
        "scripts/two.py",
        "scripts/three.py",
        &[
            "clerk/tasks/Task_2/task.yaml: the rule script data/clerk/scripts/three.py: no such file",
            "clerk/scripts/two.py: a script that no task of the episode names",
        ],
    );
    leaves_out(
        "tasks/Task_1/task.yaml",
        "difficulty: easy",
        "difficulty: null",
        &["clerk/tasks/Task_1/task.yaml: metadata.difficulty: null"],
    );
    leaves_out(
        "tasks/Task_1/task.yaml",
        "difficulty: easy",
        "pi_bench: easy",
        &["clerk/tasks/Task_1/task.yaml: metadata key `pi_bench`: the import uses it"],
    );
}

#[test]
fn leaves_out_scripts_that_do_not_run_and_the_dependency_that_needs_them() {
    let data = Data::sound();
    let i = TASK_2.find("  checklist").unwrap();
    let j = TASK_2.find("  files_read").unwrap();
    data.write(
        "tasks/Task_2/task.yaml",
        &format!("{}{}", &TASK_2[..i], &TASK_2[j..]),
    );
    let report = import(
        &data.root(),
        None,
        &data.out(),
        &mut |_| Err("a fault".to_owned()),
        &|_| true,
    )
    .unwrap();
    let lines: Vec<&String> = report
        .left_out
        .iter()
        .filter(|line| line.contains("Task_2") && !line.contains("passwd"))
        .collect();
    assert_eq!(
        lines,
        [
            "clerk/tasks/Task_2/task.yaml: the checks of data/clerk/scripts/two.py could not be listed: a fault",
            "clerk/episode.yaml: depends_on of `Task_2`: none of its criteria could be carried over"
        ]
    );
    assert!(data.suite().personas[0].sessions[1].depends_on.is_empty());
}

#[test]
fn skills_get_names_that_ours_can_have() {
    let data = Data::sound();
    data.write("skills/Tax-2.0.1/SKILL.md", "Sums.");
    data.write("skills/Tax-2.0.1/scripts/sum.py", "x");
    data.write("skills/empty/_meta.json", "{}");
    let left_out = data.import().unwrap().left_out;
    assert!(
        left_out
            .iter()
            .any(|line| line.contains("skills/empty: it has no SKILL.md")),
        "{left_out:#?}"
    );
    let persona =
        fs::read_to_string(data.out().join("personas/registry_clerk/persona.toml")).unwrap();
    assert!(persona.contains("\"tax-2-0-1\""), "{persona}");
    assert!(persona.contains("tax-2-0-1 = \"Tax-2.0.1\""), "{persona}");
    let staged = &data.suite().personas[0].skills;
    let paths: Vec<&str> = staged.iter().map(|file| file.path.as_str()).collect();
    assert!(
        paths.contains(&"skills/tax-2-0-1/scripts/sum.py"),
        "{paths:?}"
    );
}

#[test]
fn leaves_out_what_is_no_part_of_the_format() {
    let data = Data::sound();
    data.write("notes.txt", "x");
    data.write("scripts/old.py", "x");
    data.write("tasks/Task_9/task.yaml", "x");
    let large = fs::File::create(data.root().join("data/clerk/tasks/Task_1/large.bin")).unwrap();
    large.set_len(STAGED_LIMIT + 1).unwrap();
    let left_out = data.import().unwrap().left_out;
    for line in [
        "notes.txt: no part of the format",
        "old.py: a script that no task",
        "Task_9: no task of the",
        "large.bin: cannot read",
    ] {
        assert!(
            left_out.iter().any(|left| left.contains(line)),
            "{line} in {left_out:#?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn follows_no_link() {
    let data = Data::sound();
    std::os::unix::fs::symlink(
        "/etc/hostname",
        data.root().join("data/clerk/tasks/Task_1/link"),
    )
    .unwrap();
    let report = data.import().unwrap();
    assert!(
        report
            .left_out
            .iter()
            .any(|line| line.contains("Task_1/link") && line.contains("is a link")),
        "{report:#?}"
    );
}

const ONE: &str = "tasks/Task_1/task.yaml";
const TWO: &str = "tasks/Task_2/task.yaml";

#[test]
fn what_the_released_loader_does_without_is_not_wanted() {
    let data = Data::sound();
    data.edit("profile.yaml", "schema_version: v2\n", "");
    data.edit("profile.yaml", "role: |\n", "role:\n  role_text: |\n");
    data.edit(
        "profile.yaml",
        "  ## Work\n  Keeps",
        "    ## Work\n    Keeps",
    );
    data.edit("episode.yaml", "schema_version: v2\n", "");
    let report = data.import().unwrap();
    assert_eq!((report.personas, report.sessions), (1, 2), "{report:#?}");
    let suite = data.suite();
    assert!(suite.personas[0].profile.contains("## Work\nKeeps"));
}

/// What is said of a task after one edit, which costs it its place; the other one is written.
#[track_caller]
fn leaves_task_out(path: &str, from: &str, to: &str, expected: &str) {
    let data = Data::sound();
    data.edit(path, from, to);
    let report = data.import().unwrap();
    let start = format!("clerk/{path}");
    let mut lines = report.left_out.iter();
    let line = lines.rfind(|line| line.starts_with(&start));
    assert_eq!(line, Some(&format!("{start}{expected}")));
    assert_eq!(
        (report.sessions, data.suite().personas[0].sessions.len()),
        (1, 1)
    );
}

#[test]
fn a_task_that_breaks_the_format_is_one_line_and_the_others_are_written() {
    let out = leaves_task_out;
    out(
        ONE,
        "schema_version: v2",
        "schema_version: v1",
        ":1:1: schema version `v1` is not known (this host imports v2)",
    );
    out(
        ONE,
        "  initial_input: |",
        "  detailed_intent: x\n  initial_input: |",
        ":10:3: `intent.detailed_intent` is not allowed in v2",
    );
    out(
        TWO,
        "  files_read:",
        "  tools_checklist: []\n  files_read:",
        ":16:3: unknown field `tools_checklist`, expected one of `checklist`, `files_read`, `tools`, `tools_evaluation_path`",
    );
    out(
        TWO,
        "weight: 2.5",
        "weight: 0",
        ":15:42: the weight 0 is not above 0",
    );
    out(
        TWO,
        "weight: 2.5",
        "weight: much",
        ":15:50: invalid type: string \"much\", expected f64",
    );
    out(
        TWO,
        "  hidden_intent:\n    - content: Attach the plan.\n      status: not_provided",
        "  hidden_intent: []",
        ":9:3: no hidden intents",
    );
    out(
        TWO,
        "task_id: Task_2",
        "task_id: Task_3",
        ":2:1: the task id `Task_3` is not the folder's name, `Task_2`",
    );
    out(
        TWO,
        "    - exec: {call: [command], result: [response.x]}",
        "    - {exec: {}, grep: {}}",
        ":17:3: an item of `objectives.tools` names 2 tools, not one",
    );
    out(
        TWO,
        "title: Second entry",
        "title: [",
        ":6:8: while parsing a flow mapping, did not find expected ',' or '}'",
    );
    out(
        TWO,
        "task_id: Task_2",
        "task_id:",
        ":2:8: invalid type: null, expected a string",
    );
    // Several problems of one task are one line.
    out(
        TWO,
        "task_id: Task_2\nuser_id: Registry_Clerk\ntitle: Second entry",
        "task_id: Task_3\nuser_id: Registry_Clerk\nweight: 0",
        ":2:1: the task id `Task_3` is not the folder's name, `Task_2`",
    );
}

#[test]
fn a_task_that_our_format_refuses_is_one_line_too() {
    leaves_task_out(
        TWO,
        "content: Attach the plan.",
        "content: ''",
        ": refused by the suite's format: missing key `content` of `intents` (The requirement, as the user would state it.)",
    );
}

#[test]
fn one_bad_task_among_many_costs_itself_alone() {
    let data = Data::sound();
    let mut episode = EPISODE.to_owned();
    for number in 3..60 {
        let task = TASK_1.replace("Task_1", &format!("Task_{number}"));
        data.write(&format!("tasks/Task_{number}/task.yaml"), &task);
        episode += &["  - task_id: Task_", &number.to_string(), "\n"].concat();
    }
    episode += "  - no task at all\n  - {task_id: Task_3}\n  - {task_id: '--'}\n";
    data.write("episode.yaml", &episode);
    data.write("tasks/Task_30/task.yaml", "\0\u{1}: [");
    data.write("tasks/Task_31/task.yaml", &"x: y\n".repeat(300_000));
    fs::remove_file(data.root().join("data/clerk/tasks/Task_32/task.yaml")).unwrap();
    let report = data.import().unwrap();
    assert_eq!((report.personas, report.sessions), (1, 56));
    for line in [
        "clerk/tasks/Task_30/task.yaml:1:1: unexpected character",
        "clerk/tasks/Task_31/task.yaml: cannot read",
        "clerk/tasks/Task_32/task.yaml: no such file",
        "clerk/episode.yaml: tasks[59]: invalid type",
        "clerk/episode.yaml: the task id `Task_3` stands twice",
        "clerk/episode.yaml: the task id `--` stands twice or has no letter",
    ] {
        let lines = report.left_out.iter();
        let count = lines.filter(|left| left.starts_with(line)).count();
        assert_eq!(count, 1, "{line} in {:#?}", report.left_out);
    }
    data.suite();
}

#[test]
fn any_type_of_task_and_trigger_is_kept() {
    for (from, to, note) in [
        (
            "task_type: short_term_contextual\n",
            "task_type: val\n",
            None,
        ),
        ("task_type: short_term_contextual\n", "", None),
        ("{type: user}", "{type: user_query}", None),
        (
            "{type: user}",
            "{type: webhook, url: x}",
            Some("`webhook` is not known here"),
        ),
        ("{type: user}", "{}", Some("null is not known here")),
        (
            "trigger: {type: user}\n",
            "",
            Some("null is not known here"),
        ),
    ] {
        let data = Data::sound();
        data.edit(TWO, from, to);
        let report = data.import().unwrap();
        let suite = data.suite();
        assert_eq!(suite.personas[0].sessions[1].trigger, Trigger::User);
        let told = report
            .notes
            .iter()
            .find(|line| line.contains("trigger type"));
        assert_eq!(told.is_some(), note.is_some(), "{told:?}");
        assert!(
            told.is_none_or(|told| told.contains(note.unwrap())),
            "{told:?}"
        );
    }
    let data = Data::sound();
    data.edit(ONE, "{type: environmental_signal,", "{type: env,");
    data.edit(ONE, "task_type: long_term", "task_type: test");
    data.import().unwrap();
    let suite = data.suite();
    let Trigger::Environment { source, .. } = &suite.personas[0].sessions[0].trigger else {
        panic!("an environment signal")
    };
    assert_eq!(source, "court-feed");
    let text = data
        .out()
        .join("personas/registry_clerk/sessions/task_1/session.toml");
    assert!(
        fs::read_to_string(text)
            .unwrap()
            .contains("task_type = \"test\"")
    );
}

#[test]
fn keys_that_the_format_does_not_have_are_told_and_cost_nothing() {
    leaves_out(
        TWO,
        "status: not_provided",
        "status: maybe\n      hint: x",
        &[
            "clerk/tasks/Task_2/task.yaml: the intent i1 starts as \"maybe\"; here every intent starts open",
            "clerk/tasks/Task_2/task.yaml: hidden_intent[0].hint: no key of the format",
        ],
    );
    leaves_out(
        TWO,
        "weight: 2.5",
        "note: x",
        &["clerk/tasks/Task_2/task.yaml: checklist[1].note: no key of the format"],
    );
    leaves_out(
        TWO,
        "{call: [command]",
        "{state: [x], call: [command]",
        &["clerk/tasks/Task_2/task.yaml: tools[1].exec.state: no key of the format"],
    );
    leaves_out(
        "tools.yaml",
        "tool_names:",
        "more: 1\ntool_names:",
        &["clerk/tools.yaml: more: no key of the format"],
    );
    // Null stands for nothing.
    leaves_out(
        TWO,
        "title: Second entry",
        "title:\ndescription: ~\nenvironment_id:",
        &[],
    );
    leaves_out(
        TWO,
        "files_read: [./out.md, /etc/passwd]",
        "files_read:",
        &[],
    );
}

#[test]
fn a_persona_that_cannot_be_read_is_left_out_and_without_any_nothing_is_written() {
    let data = Data::sound();
    let other = data.root().join("data/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("profile.yaml"), "schema_version: v2\nuser_id: [").unwrap();
    let report = data.import().unwrap();
    assert_eq!(report.personas, 1);
    for line in [
        "other/profile.yaml:2:10: ",
        "other/episode.yaml: no such file",
    ] {
        assert!(
            report.left_out.iter().any(|left| left.starts_with(line)),
            "{report:#?}"
        );
    }
    fs::remove_dir_all(data.out()).unwrap();
    // A second one of the same id.
    fs::write(other.join("profile.yaml"), PROFILE).unwrap();
    fs::write(other.join("episode.yaml"), EPISODE).unwrap();
    fs::write(other.join("tools.yaml"), TOOLS).unwrap();
    let report = data.import().unwrap();
    let twice = "other: the user id `Registry_Clerk` stands twice";
    assert!(
        report.left_out.iter().any(|left| left.starts_with(twice)),
        "{report:#?}"
    );
    fs::remove_dir_all(data.out()).unwrap();

    fs::remove_dir_all(other).unwrap();
    data.edit("profile.yaml", "user_id: Registry_Clerk", "user_id: '---'");
    let error = data.import().unwrap_err();
    assert!(matches!(&error, ImportError::Rejected(_)), "{error}");
    assert!(
        error.to_string().contains("has no letter or digit"),
        "{error}"
    );
    assert_eq!(
        fs::read_dir(data.root()).unwrap().count(),
        1,
        "something half-written is left"
    );
}

#[test]
fn dependencies_that_break_the_contract_are_left_out() {
    let depends = "depends_on: [Task_1]";
    let line = |what: &str| format!("clerk/episode.yaml: depends_on of `Task_2`: {what}");
    let check = |to: &str, what: &str| leaves_out("episode.yaml", depends, to, &[&line(what)]);
    check("depends_on: [Task_1, Task_1]", "`Task_1` stands twice");
    check("depends_on: [Task_2]", "`Task_2` is the task itself");
    check("depends_on: [Task_4]", "`Task_4` is no earlier task");
    leaves_out(
        "episode.yaml",
        "task_id: Task_1\n",
        "task_id: Task_1\n    depends_on: [Task_2]\n",
        &["clerk/episode.yaml: depends_on of `Task_1`: `Task_2` is no earlier task"],
    );
    leaves_out(
        ONE,
        "priority: high",
        "objectives: {checklist: [{criterion: x}]}",
        &[&line("`Task_1` has criteria of its own")],
    );
    leaves_out(
        "episode.yaml",
        "  - task_id: Task_1\n",
        "  - task_id: Task_3\n",
        &[
            "clerk/tasks/Task_3/task.yaml: no such file",
            &line("`Task_1` is no earlier task"),
            "clerk/tasks/Task_1: no task of the episode",
        ],
    );
    leaves_out(
        ONE,
        "initial_input: |",
        "other: |",
        &[
            "clerk/tasks/Task_1/task.yaml:10:3: missing field `initial_input`",
            &line("`Task_1` was left out"),
        ],
    );
}

#[test]
fn bounds_yaml_aliases() {
    let level = |name: char, of: char| {
        format!("{name}: &{name} [{}]", vec![format!("*{of}"); 9].join(", "))
    };
    let levels: Vec<String> = ('b'..='j')
        .zip('a'..='i')
        .map(|(name, of)| level(name, of))
        .collect();
    let bomb = format!("metadata: {{a: &a [x], {}}}", levels.join(", "));
    let data = Data::sound();
    data.edit(TWO, "title: Second entry", &bomb);
    let left_out = data.import().unwrap().left_out;
    let told = left_out
        .iter()
        .find(|line| line.contains("with its aliases"));
    assert!(
        told.is_some_and(|line| line.starts_with("clerk/tasks/Task_2/task.yaml:4:")),
        "{left_out:#?}"
    );
}

#[test]
fn refuses_a_folder_that_exists_and_one_without_users() {
    let data = Data::sound();
    fs::create_dir(data.out()).unwrap();
    assert!(matches!(data.import(), Err(ImportError::Exists(path)) if path == data.out()));
    assert_eq!(fs::read_dir(data.out()).unwrap().count(), 0);

    let empty = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(empty.path()).unwrap();
    let error = import(
        root,
        None,
        &root.join("out"),
        &mut |_| Ok(Vec::new()),
        &|_| true,
    )
    .unwrap_err();
    assert!(error.to_string().contains("no users"), "{error}");
}

#[test]
fn imports_the_data_folder_itself_too() {
    let data = Data::sound();
    let out = data.out();
    let report = import(
        &data.root().join("data"),
        None,
        &out,
        &mut |_| Ok(vec!["sent".to_owned()]),
        &|_| true,
    )
    .unwrap();
    assert_eq!((report.sessions, report.rules), (2, 1));
}

#[test]
fn the_public_sample_becomes_a_suite_that_loads() {
    let sample =
        Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/pi-bench-sample");
    if !sample.exists() {
        println!("skipped: {sample} is not there");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(folder.path()).unwrap().join("out");
    let report = import(
        &sample,
        None,
        &out,
        &mut |_| panic!("the sample has no scripts"),
        &|_| true,
    )
    .unwrap();
    assert_eq!(
        (report.personas, report.sessions, report.intents),
        (1, 5, 23)
    );
    assert_eq!((report.rubrics, report.rules, report.files), (33, 0, 0));
    assert_eq!(
        report.left_out,
        [
            "law_trainee/tasks/law_trainee_task_008/task.yaml: the rule script data/law_trainee/scripts/law_trainee_task_008_5.py: no such file",
            "law_trainee/tasks/law_trainee_task_012/task.yaml: the rule script data/law_trainee/scripts/law_trainee_task_012_5.py: no such file",
        ]
    );
    let Loaded { suite, .. } = load(&out.join("suite.toml")).unwrap();
    assert_eq!(
        suite.personas[0].sessions[2].depends_on,
        ["law_trainee_task_001", "law_trainee_task_004"]
    );
}

#[test]
fn tools_are_read_in_both_writings_and_odd_items_as_the_released_code_does() {
    let data = Data::sound();
    data.edit(
        TWO,
        "    - exec: {call: [command], result: [response.x]}",
        "    - exec:\n      call: [command]\n      result: [1]",
    );
    data.edit(
        TWO,
        "    - criterion: The extract was sent.\n",
        "    - criterion: ' '\n    - {criterion: Sent., weight: '2'}\n",
    );
    data.edit(TWO, "title: Second entry", "metadata: [a, b]");
    data.write("tasks/Task_2/.history/old.jsonl", "{}");
    data.import().unwrap();
    let suite = data.suite();
    let session = &suite.personas[0].sessions[1];
    let exec = &session.tool_evidence[1];
    assert_eq!(
        (exec.call.as_slice(), exec.result.as_slice()),
        (&["command".to_owned()][..], &["1".to_owned()][..])
    );
    assert_eq!(session.checklist[0].criterion, "Sent.");
    assert_eq!(session.checklist[0].weight.to_string(), "2");
    assert!(session.files.is_empty(), "{:?}", session.files);
    let text = data
        .out()
        .join("personas/registry_clerk/sessions/task_2/session.toml");
    assert!(fs::read_to_string(text).unwrap().contains("value = ["));
}

#[test]
fn tools_that_are_not_there_are_left_out() {
    let data = Data::sound();
    let more = "gmail__login, gmail__logon, phone__*, amazon__login";
    data.edit("tools.yaml", "gmail__login", more);
    let mut list_checks = |_: &str| Ok(vec!["sent".to_owned()]);
    let there = ["gmail", "gmail__login", "gmail__send_email", "phone"];
    let is_there = |name: &str| there.contains(&name);
    let report = import(&data.root(), None, &data.out(), &mut list_checks, &is_there).unwrap();
    let of_tools = |line: &&String| line.starts_with("clerk/tools.yaml");
    let told: Vec<&String> = report.left_out.iter().filter(of_tools).collect();
    assert_eq!(
        told,
        [
            "clerk/tools.yaml: app `gmail` has no tool `gmail__logon`",
            "clerk/tools.yaml: `exec` is no app tool",
            "clerk/tools.yaml: there is no plugin for app `amazon`: 1 of its tools",
        ]
    );
    let tools = ["gmail__login", "phone__*", "gmail__send_email"];
    assert_eq!(data.suite().personas[0].tools, tools);
}

#[test]
fn files_that_a_script_names_and_no_task_brings_are_told() {
    let data = Data::sound();
    data.edit(
        ONE,
        "metadata:\n",
        "objectives: {tools_evaluation_path: data/clerk/scripts/two.py}\nmetadata:\n",
    );
    let script = "CONFIG = 'config/nanobot.yaml'\nMAP = 'maps/north.txt'\n";
    data.write("scripts/two.py", &format!("{script}{SCRIPT}"));
    let mut list_checks = |_: &str| Ok(vec!["sent".to_owned()]);
    let report = import(&data.root(), None, &data.out(), &mut list_checks, &|_| true).unwrap();
    let told: Vec<&String> = report
        .notes
        .iter()
        .filter(|note| note.contains("two.py"))
        .collect();
    // A script that two tasks have is told of once.
    assert_eq!(
        told,
        [
            "data/clerk/scripts/two.py names `config/nanobot.yaml`: no task brings it, so it is there only if the agent makes it"
        ]
    );
}
