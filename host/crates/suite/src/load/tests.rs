//! One small sound pack, and one change to it for each kind of problem.

use std::fs;

use camino::Utf8PathBuf;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::suite::{Grading, Step};
use pibench_core::vocabulary::{Ablation, Category, Protocol};

const SUITE_TEXT: &str = r#"version = 1
id = "small"
personas = ["people/clerk"]
"#;

const PERSONA_TEXT: &str = r#"version = 1
id = "clerk"
name = "Ada Roth"
profile = "Keeps the registry."
tools = ["notes__*", "mail__send"]

[[people]]
first_name = "Ada"
last_name = "Roth"
email = "ada@roth.example"

[[episode]]
session = "a"

[[episode]]
session = "b"

[[episode]]
session = "end"
depends_on = ["a", "b"]
"#;

const SESSION_A: &str = r#"version = 1
id = "a"
title = "First"
clock = 2026-03-02T09:00:00
request = "Write it down."

[[intents]]
id = "date"
content = "Name the date."
satisfied = { all = [["march"]] }

[[reference]]
serves = ["date"]
say = "In March."
"#;

const SESSION_END: &str = r#"version = 1
id = "end"
title = "Last"
category = "H"
clock = 2026-03-04T09:00:00
request = "Finish it."

[[intents]]
id = "file"
content = "Keep the file."
satisfied = { within = ["files"], all = [["kept", "filed"], ["ada"]] }
asked = { all = [["which file"]] }

[[checklist]]
id = "kept"
criterion = "The file was kept."
met = { all = [["kept"]] }

[[checklist]]
id = "noted"
criterion = "A note says so."
weight = 2
rule = { grader = "python", script = "grade.py", check = "noted", config = { due = 2026-03-05 } }

[[files]]
source = "files/list.txt"

[[reference]]
tool = "notes__create_note"
arguments = { title = "Kept", tags = ["x"] }
save = "note"

[[reference]]
serves = ["file"]
tool = "mail__send"
arguments = { body = ["{{note.note_id}}"] }

[[reference]]
say = "Done."
"#;

const SUITE_PATH: &str = "suite.toml";
const PERSONA_PATH: &str = "people/clerk/persona.toml";
const A: &str = "people/clerk/sessions/a/session.toml";
const B: &str = "people/clerk/sessions/b/session.toml";
const END: &str = "people/clerk/sessions/end/session.toml";

struct Folder {
    folder: TempDir,
}

impl Folder {
    fn sound() -> Self {
        let new = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        new.write(SUITE_PATH, SUITE_TEXT);
        new.write(PERSONA_PATH, PERSONA_TEXT);
        new.write(A, SESSION_A);
        let b = SESSION_A
            .replace("id = \"a\"", "id = \"b\"")
            .replace("03-02", "03-03");
        new.write(B, &b);
        new.write(END, SESSION_END);
        new.write(
            "people/clerk/sessions/end/grade.py",
            "def score(history):\n    return {\"noted\": 1}\n",
        );
        new.write("people/clerk/sessions/end/files/list.txt", "one\ntwo\n");
        new
    }

    fn root(&self) -> Utf8PathBuf {
        self.folder.path().to_str().unwrap().into()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces the one place where `from` stands.
    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root().join(path)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {path}");
        self.write(path, &text.replace(from, to));
    }

    fn load(&self) -> Result<Loaded, Problems> {
        load(&self.root().join(SUITE_PATH))
    }

    /// The problems as lines, without the folder's name and the folders of the one persona.
    fn lines(&self) -> Vec<String> {
        let problems = match self.load() {
            Ok(loaded) => loaded.warnings,
            Err(Problems(problems)) => problems,
        };
        let root = format!("{}/", self.root());
        problems
            .iter()
            .map(|problem| {
                problem
                    .to_line()
                    .replace(&root, "")
                    .replace("people/clerk/", "")
            })
            .collect()
    }
}

/// What is said of the sound pack after one edit.
#[track_caller]
fn check(path: &str, from: &str, to: &str, expected: &[&str]) {
    let folder = Folder::sound();
    folder.edit(path, from, to);
    told(&folder, expected);
}

#[track_caller]
fn told(folder: &Folder, expected: &[&str]) {
    assert_eq!(folder.lines(), expected);
}

#[test]
fn loads_the_sound_pack_without_a_warning() {
    let Loaded { suite, warnings } = Folder::sound().load().unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(
        (
            suite.id.as_str(),
            suite.agent.as_str(),
            suite.judge.as_deref()
        ),
        ("small", "reference", None)
    );
    let [persona] = suite.personas.as_slice() else {
        panic!("one persona")
    };
    assert_eq!(persona.app_names(), ["mail", "notes"]);
    let [a, b, end] = persona.sessions.as_slice() else {
        panic!("three sessions")
    };
    assert_eq!(
        (a.dependency_only, b.dependency_only, end.dependency_only),
        (true, true, false)
    );
    assert_eq!(end.depends_on, ["a", "b"]);
    assert_eq!(end.clock.to_string(), "2026-03-04T09:00:00");
    assert_eq!(end.category, Some(Category::H));
    assert_eq!(end.files[0].path, "list.txt");
    assert_eq!(*end.files[0].content, *b"one\ntwo\n");
    let Grading::Rule(rule) = &end.checklist[1].grading else {
        panic!("a rule")
    };
    assert_eq!(
        rule.config["script"],
        "def score(history):\n    return {\"noted\": 1}\n"
    );
    assert_eq!(rule.config["due"], "2026-03-05", "dates become text");
    let (script, text) = (
        "people/clerk/sessions/end/grade.py",
        "def score(history): ...",
    );
    let folder = Folder::sound();
    folder.write(script, &format!("\u{feff}{text}"));
    let marked = load(&folder.root().join(SUITE_PATH)).unwrap().suite;
    let Grading::Rule(rule) = &marked.personas[0].sessions[2].checklist[1].grading else {
        panic!("a rule")
    };
    assert_eq!(rule.config["script"], text, "without a byte order mark");
    assert!(matches!(
        &end.checklist[0].grading,
        Grading::Rubric { met: Some(_) }
    ));
    assert!(matches!(&end.reference[2], Step::Say { text } if text == "Done."));
    assert!(
        matches!(&end.reference[0], Step::Call { arguments, .. } if arguments["tags"] == json!(["x"]))
    );
}

#[test]
fn skills_and_pages_read_as_editors_on_windows_write_them() {
    let folder = Folder::sound();
    let named = "skills = [\"plan\"]\ntools = [";
    folder.edit(PERSONA_PATH, "tools = [", named);
    folder.write(
        SUITE_PATH,
        &format!("{SUITE_TEXT}[web]\ncorpus = \"corpus\"\n"),
    );
    folder.write(
        "people/clerk/skills/plan/SKILL.md",
        "\u{feff}---\r\nname: plan\r\ndescription: How to plan.\r\n---\r\nOne by one.\r\n",
    );
    folder.write(
        "corpus/tides.md",
        "\u{feff}---\r\nurl: https://tides.example/\r\ntitle: Tides\r\n---\r\nHigh at\r\nnoon.\r\n",
    );
    let Loaded { suite, warnings } = folder.load().unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let skill = "---\nname: plan\ndescription: How to plan.\n---\nOne by one.\n";
    assert_eq!(*suite.personas[0].skills[0].content, *skill.as_bytes());
    assert_eq!(suite.corpus[0].title, "Tides");
    assert_eq!(suite.corpus[0].text, "High at\nnoon.");
    folder.write("corpus/tides.md", "title: Tides\r\n");
    assert!(folder.load().is_err(), "a page without its block");
}

#[test]
fn a_skill_that_the_agent_would_not_be_told_of_is_warned_of_and_others_are_not() {
    let folder = Folder::sound();
    folder.edit(
        PERSONA_PATH,
        "tools = [",
        "skills = [\"plan\", \"other\"]\ntools = [",
    );
    let skill = |name: &str, more: &str| {
        let text =
            format!("---\nname: {name}\ndescription: How to plan.\n{more}\n---\nOne by one.\n");
        folder.write("people/clerk/skills/plan/SKILL.md", &text);
    };
    let other = "---\nname: other\ndescription: Another.\n---\nTwo by two.\n";
    folder.write("people/clerk/skills/other/SKILL.md", other);
    for (name, more, said) in [
        (
            "plan",
            "always: maybe",
            "of skill `plan` has a block that is wrong",
        ),
        (
            "plan",
            "tools: {a: b}",
            "of skill `plan` has a block that is wrong",
        ),
        (
            "plan",
            "tool: exec",
            "has the key `tool` (did you mean `tools`?)",
        ),
        (
            "plan",
            "alwyas: true",
            "has the key `alwyas` (did you mean `always`?)",
        ),
        ("other", "", "the skills `plan` and `other` have one `name`"),
        (
            "\" \"",
            "",
            "of skill `plan` needs a `name` and a `description`",
        ),
    ] {
        skill(name, more);
        let warnings = folder.load().unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{more}: {warnings:?}");
        assert!(warnings[0].message().contains(said), "{warnings:?}");
    }
    for more in [
        "tools: read_file, write_file",
        "tools: [exec]\nalways: true",
        "tools:",
        "license: MIT\nmetadata: {version: 1}\nallowed-tools: Read Write",
    ] {
        skill("plan", more);
        let warnings = folder.load().unwrap().warnings;
        assert!(warnings.is_empty(), "{more}: {warnings:?}");
    }
}

#[test]
fn the_digest_changes_with_any_file_that_is_read() {
    let folder = Folder::sound();
    let digest = folder.load().unwrap().suite.digest;
    assert_eq!(digest, Folder::sound().load().unwrap().suite.digest);
    folder.write("people/clerk/sessions/end/files/list.txt", "one\ntwo");
    assert_ne!(digest, folder.load().unwrap().suite.digest);
}

#[test]
fn of_the_suite_file_only_what_changes_a_score_is_in_the_digest() {
    let of = |more: &str| {
        let folder = Folder::sound();
        folder.edit(
            SUITE_PATH,
            "id = \"small\"",
            &format!("id = \"small\"\n{more}"),
        );
        folder.load().unwrap().suite
    };
    let plain = of("");
    for same in [
        "# A remark.",
        "title = \"Another\"",
        "jobs = 3\nruns = 2\nseed = 9\nagent = \"nop\"",
        "providers.lab.base_url = \"http://127.0.0.1:9/v1\"\nmodels.m.provider = \"lab\"\nmodels.m.model = \"m\"",
        "limits.app.live_stores = 3",
    ] {
        assert_eq!(of(same).digest, plain.digest, "{same}");
    }
    for (key, other, value) in [
        ("session.max_turns", "session.max_turns = 3", "3"),
        ("state.reset", "state.reset = \"session\"", "\"session\""),
        ("web.provider", "web.provider = \"brave\"", "\"brave\""),
    ] {
        let other = of(other);
        assert_ne!(other.digest, plain.digest, "{key}");
        let mut parts = plain.parts.clone();
        parts.insert(key.into(), value.into());
        assert_eq!(other.parts, parts);
    }
}

#[test]
fn reports_everything_at_once_file_by_file_and_line_by_line() {
    let folder = Folder::sound();
    folder.edit(
        SUITE_PATH,
        "id = \"small\"",
        "id = \"small\"\nagnet = \"nop\"\nruns = 0",
    );
    folder.edit(PERSONA_PATH, "\"mail__send\"", "\"mail_send\"");
    folder.edit(A, "title = \"First\"", "title = 7\nclok = 1");
    folder.edit(END, "grade.py", "grades.py");
    told(
        &folder,
        &[
            "suite.toml:3:1: unknown key `agnet` (did you mean `agent`?)",
            "suite.toml:4:8: `runs` must be from 1 to 1000",
            "persona.toml:5:22: `mail_send` is no app tool (write `<app>__<tool>`, or `<app>__*` for all tools of an app)",
            "sessions/a/session.toml:3:9: `title` must be text, not a whole number",
            "sessions/a/session.toml:4:1: unknown key `clok` (did you mean `clock`?)",
            "sessions/end/session.toml:23:38: cannot read `sessions/end/grades.py`: no such file",
            "sessions/end/session.toml:35:8: warning: the persona has no tool `mail__send` (add it to the persona's tools)",
        ],
    );
}

#[test]
fn suggests_the_key_that_was_meant() {
    check(
        SUITE_PATH,
        "id =",
        "titel = \"x\"\nid =",
        &["suite.toml:2:1: unknown key `titel` (did you mean `title`?)"],
    );
    check(
        END,
        "criterion = \"The",
        "criterium = \"The",
        &[
            "sessions/end/session.toml:14:1: missing key `criterion` of `checklist` (What must be true, for people and for the judge of rubrics.)",
            "sessions/end/session.toml:16:1: unknown key `criterium` (did you mean `criterion`?)",
        ],
    );
    check(
        SUITE_PATH,
        "id =",
        "zzz = 1\nid =",
        &[
            "suite.toml:2:1: unknown key `zzz` (known here: version, id, title, personas, protocol, scaffold, scaffold_prompt, agent, user, judge, runs, seed, filter, jobs, memory, session, state, ablate, plugins, policy, lock, limits, providers, models, agents, web)",
        ],
    );
}

#[test]
fn names_missing_keys_and_wrong_types_and_words() {
    check(
        END,
        "title = \"Last\"\n",
        "",
        &["sessions/end/session.toml:1:1: missing key `title`"],
    );
    check(
        END,
        "title = \"Last\"",
        "title = 3",
        &["sessions/end/session.toml:3:9: `title` must be text, not a whole number"],
    );
    check(
        END,
        "category = \"H\"",
        "category = \"Z\"",
        &[
            "sessions/end/session.toml:4:12: unknown category `Z` (one of A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R)",
        ],
    );
    check(
        END,
        "weight = 2",
        "weight = \"2\"",
        &["sessions/end/session.toml:22:10: `weight` must be a number, not text"],
    );
    check(
        END,
        "request = \"Finish it.\"",
        "request = \"x\"\ntrigger = { kind = \"usr\" }",
        &["sessions/end/session.toml:7:20: unknown kind `usr` (did you mean `user`?)"],
    );
    check(
        END,
        "request = \"Finish it.\"",
        "request = \"x\"\ntrigger = { kind = \"environment\", sorce = \"x\" }",
        &[
            "sessions/end/session.toml:7:11: missing key `source` of `trigger` (Who sends it: `calendar-webhook`, `court-feed`.)",
            "sessions/end/session.toml:7:35: unknown key `sorce` (did you mean `source`?)",
        ],
    );
    check(
        END,
        "clock = 2026-03-04T09:00:00",
        "clock = \"2026-03-04T09:00:00\"",
        &[
            "sessions/end/session.toml:5:9: `clock` must be a date and time (2026-03-02T09:00:00, without quotes), not text",
        ],
    );
    check(
        SUITE_PATH,
        "id =",
        "runs = -1\nid =",
        &["suite.toml:2:8: `runs` must not be negative"],
    );
    check(
        SUITE_PATH,
        "id =",
        "session.max_turns = []\nid =",
        &["suite.toml:2:21: `max_turns` must be a whole number, not a list"],
    );
}

#[test]
fn reports_syntax_errors_and_other_versions_alone() {
    check(
        SUITE_PATH,
        "id = \"small\"",
        "id = \"small",
        &["suite.toml:2:12: invalid basic string, expected `\"`"],
    );
    check(
        A,
        "version = 1",
        "version = 2\nnew = 1",
        &[
            "sessions/a/session.toml:1:11: version 2 of the format is not known (this host reads version 1)",
        ],
    );
    check(
        A,
        "version = 1\n",
        "",
        &["sessions/a/session.toml:1:1: missing key `version` (The format's version: 1.)"],
    );
}

#[test]
fn checks_ids_and_that_folders_bear_them() {
    check(
        SUITE_PATH,
        "\"small\"",
        "\"Small Suite\"",
        &[
            "suite.toml:2:6: `Small Suite` is no id (an id has 1 to 64 lower case letters, digits, `-` and `_`, and starts with a letter or digit)",
        ],
    );
    check(
        PERSONA_PATH,
        "id = \"clerk\"",
        "id = \"clark\"",
        &[
            "persona.toml:2:6: the id `clark` is not the folder's name, `clerk` (rename one of them)",
        ],
    );
    check(
        A,
        "id = \"a\"",
        "id = \"x\"",
        &[
            "sessions/a/session.toml:2:6: the id `x` is not the folder's name, `a` (rename one of them)",
        ],
    );
    check(
        PERSONA_PATH,
        "session = \"a\"",
        "session = \"../a\"",
        &[
            "persona.toml:13:11: `../a` is no id (an id has 1 to 64 lower case letters, digits, `-` and `_`, and starts with a letter or digit)",
            "persona.toml:20:15: unknown session `a` (name an earlier session of the episode)",
        ],
    );
    check(
        END,
        "id = \"noted\"",
        "id = \"kept\"",
        &["sessions/end/session.toml:20:6: a second `kept`; ids are unique within the session"],
    );
    check(
        PERSONA_PATH,
        "session = \"b\"",
        "session = \"a\"",
        &[
            "persona.toml:16:11: the session `a` stands twice in the episode",
            "persona.toml:20:20: unknown session `b` (name an earlier session of the episode)",
        ],
    );
    check(
        SUITE_PATH,
        "[\"people/clerk\"]",
        "[\"people/clerk\", \"people/clerk\"]",
        &["suite.toml:3:29: the persona folder `people/clerk` is listed twice"],
    );
}

#[test]
fn checks_the_suites_settings() {
    check(
        SUITE_PATH,
        "id =",
        "agent = \"refrence\"\nid =",
        &[
            "suite.toml:2:9: unknown model `refrence` (reference, reactive, nop, cheat, a known model, or PROVIDER/MODEL)",
        ],
    );
    check(
        SUITE_PATH,
        "id =",
        "judge = \"openai/\"\nid =",
        &["suite.toml:2:9: unknown model `openai/` (lexical, a known model, or PROVIDER/MODEL)"],
    );
    check(
        SUITE_PATH,
        "id =",
        "limits.app.fuel = 0\nid =",
        &["suite.toml:2:19: `fuel` must be above 0 (leave it out instead)"],
    );
    check(
        SUITE_PATH,
        "id =",
        "providers.x.base_url = \"ftp://x\"\nid =",
        &[
            "suite.toml:2:24: `ftp://x` is no http or https address (as in https://api.openai.com/v1)",
        ],
    );
    check(
        SUITE_PATH,
        "id =",
        "providers.x = { base_url = \"http://x\", key_header = \"Host\" }\nid =",
        &[
            "suite.toml:2:53: no key can stand in the header `Host` (as in `api-key`, of letters, digits and hyphens, and none \
             that every request has)",
        ],
    );
    check(
        SUITE_PATH,
        "id =",
        "plugins.x = \"x.wasm\"\nid =",
        &[
            "suite.toml:2:13: no such plugin file: x.wasm (if it is yours, build it with `pibench-host plugin build`)",
        ],
    );
    check(
        SUITE_PATH,
        "id =",
        "session.max_turns = 0\nid =",
        &["suite.toml:2:21: `max_turns` must be at least 1"],
    );
    check(
        SUITE_PATH,
        "[\"people/clerk\"]",
        "[]",
        &["suite.toml:3:12: no personas (name at least one persona's folder)"],
    );
}

#[test]
fn names_the_place_of_a_missing_file() {
    check(
        SUITE_PATH,
        "people/clerk",
        "people/clark",
        &["suite.toml:3:13: cannot read `people/clark/persona.toml`: no such file"],
    );
    check(
        SUITE_PATH,
        "people/clerk",
        "../clerk",
        &[
            "suite.toml:3:13: cannot read the persona folder `../clerk`: the path leaves its folder by `..`",
        ],
    );
    check(
        PERSONA_PATH,
        "session = \"a\"",
        "session = \"c\"",
        &[
            "persona.toml:13:11: cannot read `sessions/c/session.toml`: no such file",
            "persona.toml:20:15: unknown session `a` (name an earlier session of the episode)",
        ],
    );
    check(
        END,
        "files/list.txt",
        "files/lost.txt",
        &[
            "sessions/end/session.toml:26:10: cannot read `sessions/end/files/lost.txt`: no such file",
        ],
    );
    let folder = Folder::sound();
    fs::remove_file(folder.root().join(SUITE_PATH)).unwrap();
    assert_eq!(
        folder.lines(),
        ["suite.toml: cannot read `suite.toml`: no such file"]
    );
}

#[test]
fn refuses_staged_paths_that_leave_the_pack_or_the_workspace() {
    check(
        END,
        "files/list.txt",
        "../a/session.toml",
        &[
            "sessions/end/session.toml:26:10: cannot read `../a/session.toml`: the path leaves its folder by `..`",
        ],
    );
    check(
        END,
        "files/list.txt",
        "/etc/hostname",
        &[
            "sessions/end/session.toml:26:10: cannot read `/etc/hostname`: the path is absolute; it must be relative",
        ],
    );
    check(
        END,
        "source = \"files/list.txt\"",
        "source = \"files/list.txt\"\npath = \"../x\"",
        &[
            "sessions/end/session.toml:27:8: cannot stage `../x` into the workspace: the path leaves its folder by `..`",
        ],
    );
    check(
        END,
        "source = \"files/list.txt\"",
        "source = \"files/list.txt\"\npath = \"/x\"",
        &[
            "sessions/end/session.toml:27:8: cannot stage `/x` into the workspace: the path is absolute; it must be relative",
        ],
    );
    check(
        END,
        "\"grade.py\"",
        "\"../a/session.toml\"",
        &[
            "sessions/end/session.toml:23:38: cannot read `../a/session.toml`: the path leaves its folder by `..`",
        ],
    );
}

#[cfg(unix)]
#[test]
fn refuses_links_of_files_and_of_folders() {
    let folder = Folder::sound();
    let session = folder.root().join("people/clerk/sessions/end");
    fs::remove_file(session.join("files/list.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", session.join("files/list.txt")).unwrap();
    told(
        &folder,
        &[
            "sessions/end/session.toml:26:10: cannot read `sessions/end/files/list.txt`: `sessions/end/files/list.txt` is a link, and packs are read without following any",
        ],
    );

    let folder = Folder::sound();
    let people = folder.root().join("people");
    fs::rename(people.join("clerk"), people.join("real")).unwrap();
    std::os::unix::fs::symlink("real", people.join("clerk")).unwrap();
    told(
        &folder,
        &[
            "suite.toml:3:13: cannot read `persona.toml`: `people/clerk` is a link, and packs are read without following any",
        ],
    );
}

#[test]
fn refuses_files_over_their_limits() {
    let folder = Folder::sound();
    let large = fs::File::create(
        folder
            .root()
            .join("people/clerk/sessions/end/files/list.txt"),
    )
    .unwrap();
    large.set_len(STAGED_LIMIT + 1).unwrap();
    let large = fs::File::create(folder.root().join("people/clerk/sessions/end/grade.py")).unwrap();
    large.set_len(TEXT_LIMIT + 1).unwrap();
    told(
        &folder,
        &[
            "sessions/end/session.toml:23:38: cannot read `sessions/end/grade.py`: 1048577 bytes, more than the limit of 1048576",
            "sessions/end/session.toml:26:10: cannot read `sessions/end/files/list.txt`: 67108865 bytes, more than the limit of 67108864",
        ],
    );
}

#[test]
fn refuses_a_second_file_at_one_staged_path() {
    let two = "source = \"files/list.txt\"\n\n[[files]]\nsource = \"files/list.txt\"";
    check(
        END,
        "source = \"files/list.txt\"",
        two,
        &[
            "sessions/end/session.toml:29:10: `list.txt` is in the way of the staged file `list.txt` (give each file a `path` of its own)",
        ],
    );
    check(
        END,
        "source = \"files/list.txt\"",
        &format!("{two}\npath = \"list.txt/x\""),
        &[
            "sessions/end/session.toml:30:8: `list.txt/x` is in the way of the staged file `list.txt` (give each file a `path` of its own)",
        ],
    );
}

#[test]
fn refuses_text_that_is_not_utf8() {
    let folder = Folder::sound();
    fs::write(folder.root().join(A), b"version = \xff").unwrap();
    told(
        &folder,
        &["persona.toml:13:11: cannot read `sessions/a/session.toml`: not UTF-8 from byte 10 on"],
    );
}

const DEPENDS: &str = "depends_on = [\"a\", \"b\"]";

#[test]
fn checks_what_depends_on_names() {
    check(
        PERSONA_PATH,
        DEPENDS,
        "depends_on = [\"a\", \"bb\"]",
        &[
            "persona.toml:16:11: warning: `b` has no checklist, and no later session depends on it (its completeness cannot be scored)",
            "persona.toml:20:20: unknown session `bb` (did you mean `b`?)",
        ],
    );
    check(
        PERSONA_PATH,
        DEPENDS,
        "depends_on = [\"a\", \"b\", \"end\"]",
        &["persona.toml:20:25: `end` depends on itself"],
    );
    check(
        PERSONA_PATH,
        DEPENDS,
        "depends_on = [\"a\", \"b\", \"a\"]",
        &["persona.toml:20:25: `a` is named twice"],
    );
}

#[test]
fn names_later_sessions_and_cycles() {
    check(
        PERSONA_PATH,
        "session = \"a\"",
        "session = \"a\"\ndepends_on = [\"b\"]",
        &[
            "persona.toml:14:14: `a` has `depends_on` and no checklist (a group's final session has the group's checklist)",
            "persona.toml:14:15: `a` depends on `b`, which comes later (a session depends on earlier ones only)",
            "persona.toml:21:15: `a` has a `depends_on` of its own (only a group's final session has one; name all sessions of the group there)",
        ],
    );
    check(
        PERSONA_PATH,
        "session = \"a\"",
        "session = \"a\"\ndepends_on = [\"end\"]",
        &[
            "persona.toml:14:15: depends_on makes a cycle: a -> end -> a (a session depends on earlier ones only)",
        ],
    );
    let folder = Folder::sound();
    folder.edit(
        PERSONA_PATH,
        "session = \"a\"",
        "session = \"a\"\ndepends_on = [\"b\"]",
    );
    folder.edit(
        PERSONA_PATH,
        "session = \"b\"",
        "session = \"b\"\ndepends_on = [\"end\"]",
    );
    folder.edit(PERSONA_PATH, DEPENDS, "depends_on = [\"a\"]");
    told(
        &folder,
        &[
            "persona.toml:14:15: depends_on makes a cycle: a -> b -> end -> a (a session depends on earlier ones only)",
        ],
    );
}

#[test]
fn depends_on_stands_on_final_sessions_with_a_checklist_only() {
    check(
        PERSONA_PATH,
        "session = \"b\"",
        "session = \"b\"\ndepends_on = [\"a\"]",
        &[
            "persona.toml:17:14: `b` has `depends_on` and no checklist (a group's final session has the group's checklist)",
            "persona.toml:21:15: `a` belongs to the group of `b` already (a session belongs to one dependency group)",
            "persona.toml:21:20: `b` has a `depends_on` of its own (only a group's final session has one; name all sessions of the group there)",
        ],
    );
    let item = "[[checklist]]\nid = \"x\"\ncriterion = \"x\"\n\n[[reference]]";
    check(
        A,
        "[[reference]]",
        item,
        &[
            "persona.toml:20:15: `end` depends on `a`, which has a checklist (the checklist stands on a group's final session alone)",
        ],
    );
    check(
        PERSONA_PATH,
        DEPENDS,
        "depends_on = [\"a\"]",
        &[
            "persona.toml:16:11: warning: `b` has no checklist, and no later session depends on it (its completeness cannot be scored)",
        ],
    );
}

#[test]
fn a_session_belongs_to_one_group() {
    let folder = Folder::sound();
    let end = fs::read_to_string(folder.root().join(END))
        .unwrap()
        .replace("id = \"end\"", "id = \"end2\"");
    folder.write("people/clerk/sessions/end2/session.toml", &end);
    folder.write("people/clerk/sessions/end2/grade.py", "pass");
    folder.write("people/clerk/sessions/end2/files/list.txt", "one");
    folder.edit(
        PERSONA_PATH,
        DEPENDS,
        "depends_on = [\"a\", \"b\"]\n\n[[episode]]\nsession = \"end2\"\ndepends_on = [\"b\"]",
    );
    told(
        &folder,
        &[
            "persona.toml:24:15: `b` belongs to the group of `end` already (a session belongs to one dependency group)",
        ],
    );
}

#[test]
fn warns_of_a_clock_that_goes_backwards() {
    check(
        END,
        "2026-03-04T09:00:00",
        "2026-03-01T09:00:00",
        &[
            "persona.toml:19:11: warning: `end` starts at 2026-03-01T09:00:00, before `b` did (start after 2026-03-03T09:00:00)",
        ],
    );
    check(
        END,
        "2026-03-04T09:00:00",
        "2026-03-04",
        &[
            "sessions/end/session.toml:5:9: `2026-03-04` is no local date and time (as in 2026-03-02T09:00:00, without a zone)",
        ],
    );
    check(
        END,
        "2026-03-04T09:00:00",
        "2026-03-04T09:00:00Z",
        &[
            "sessions/end/session.toml:5:9: `2026-03-04T09:00:00Z` is no local date and time (as in 2026-03-02T09:00:00, without a zone)",
        ],
    );
}

#[test]
fn checks_intents_items_and_weights() {
    let folder = Folder::sound();
    folder.write(
        A,
        "version = 1\nid = \"a\"\ntitle = \"x\"\nclock = 2026-03-02T09:00:00\nrequest = \" \"\nintents = []\n",
    );
    told(
        &folder,
        &[
            "sessions/a/session.toml:2:6: warning: no reference workflow (the `reference` agent cannot play it)",
            "sessions/a/session.toml:5:11: `request` is empty",
            "sessions/a/session.toml:6:11: no intents (a session has at least one hidden intent)",
        ],
    );
    check(
        END,
        "content = \"Keep the file.\"",
        "content = \"\"",
        &["sessions/end/session.toml:10:11: `content` is empty"],
    );
    check(
        END,
        "weight = 2",
        "weight = 0",
        &["sessions/end/session.toml:22:10: the weight 0 is not above 0"],
    );
    check(
        END,
        "weight = 2",
        "weight = inf",
        &["sessions/end/session.toml:22:10: `weight` must be a finite number"],
    );
    for heavy in ["1e308", "1000000.5"] {
        check(
            END,
            "weight = 2",
            &format!("weight = {heavy}"),
            &["sessions/end/session.toml:22:10: `weight` must be at most 1000000"],
        );
    }
    check(END, "weight = 2", "weight = 1000000", &[]);
    check(
        END,
        "weight = 2",
        "met = { all = [[\"x\"]] }",
        &["sessions/end/session.toml:22:7: an item with a `rule` has no `met`: the grader decides"],
    );
    check(
        A,
        "satisfied = { all = [[\"march\"]] }\n",
        "",
        &[
            "sessions/a/session.toml:8:6: warning: the intent `date` has no matcher (with the `lexical` user agent it is never satisfied and never asked for)",
        ],
    );
}

#[test]
fn reports_every_mistake_of_a_matcher_at_its_place() {
    check(
        END,
        "within = [\"files\"], all = [[\"kept\", \"filed\"], [\"ada\"]]",
        "within = [\"fils\"], all = [[\"kept\", \"(\"], []], none = [\"*\"]",
        &[
            "sessions/end/session.toml:11:25: cannot use the matcher's within[0], `fils`: want `response`, `arguments`, `files`, `call:<tool>` or `file:<glob>`",
            "sessions/end/session.toml:11:50: bad regular expression `(`: unclosed group",
            "sessions/end/session.toml:11:56: cannot use the matcher's all[1]: a group without alternatives never matches",
            "sessions/end/session.toml:11:69: bad regular expression `*`: repetition operator missing expression",
        ],
    );
    check(
        END,
        "asked = { all",
        "asked = { within = [\"files\"], all",
        &[
            "sessions/end/session.toml:12:20: `asked` looks at the response only (leave `within` out)",
        ],
    );
}

#[test]
fn checks_rules() {
    check(
        END,
        "script = \"grade.py\", ",
        "",
        &[
            "sessions/end/session.toml:23:8: a `python` rule without a script (name the file beside the session file: script = \"<file>.py\")",
        ],
    );
    check(
        END,
        "config = { due = 2026-03-05 }",
        "config = 3",
        &["sessions/end/session.toml:23:76: `config` must be a table"],
    );
    check(
        END,
        "config = { due = 2026-03-05 }",
        "config = { script = \"x\" }",
        &["sessions/end/session.toml:23:38: both a script file and a `script` in `config`"],
    );
    check(
        END,
        "grader = \"python\"",
        "grader = \"../python\"",
        &[
            "sessions/end/session.toml:23:19: `../python` is no id (an id has 1 to 64 lower case letters, digits, `-` and `_`, and starts with a letter or digit)",
        ],
    );
}

#[test]
fn checks_the_reference_workflow() {
    check(
        END,
        "say = \"Done.\"",
        "",
        &["sessions/end/session.toml:38:1: a step with neither `tool` nor `say` (add one of them)"],
    );
    check(
        END,
        "say = \"Done.\"",
        "say = \"Done.\"\ntool = \"mail__send\"",
        &[
            "sessions/end/session.toml:38:1: a step with both `tool` and `say` (make two steps of it)",
        ],
    );
    check(
        END,
        "say = \"Done.\"",
        "say = \"Done.\"\nsave = \"x\"",
        &["sessions/end/session.toml:40:8: a step with `say` has no `save`"],
    );
    check(
        END,
        "{{note.note_id}}",
        "{{nota.note_id}}",
        &[
            "sessions/end/session.toml:36:23: `{{nota.note_id}}` stands for a result that no earlier step saved (write save = \"nota\" in the step before)",
        ],
    );
    check(
        END,
        "save = \"note\"",
        "save = \"no.te\"",
        &[
            "sessions/end/session.toml:31:8: `no.te` cannot be used in `{{name.path}}`",
            "sessions/end/session.toml:36:23: `{{note.note_id}}` stands for a result that no earlier step saved (write save = \"note\" in the step before)",
        ],
    );
    check(
        END,
        "serves = [\"file\"]",
        "serves = [\"fill\"]",
        &[
            "sessions/end/session.toml:9:6: warning: no step of the reference workflow serves the intent `file` (name it in the `serves` of the step that satisfies it)",
            "sessions/end/session.toml:34:11: unknown intent `fill` (known: file)",
        ],
    );
    check(
        END,
        "tool = \"mail__send\"",
        "tool = \"mail__sent\"",
        &[
            "sessions/end/session.toml:35:8: warning: the persona has no tool `mail__sent` (add it to the persona's tools)",
        ],
    );
    check(
        END,
        "arguments = { title = \"Kept\", tags = [\"x\"] }",
        "arguments = 3",
        &["sessions/end/session.toml:30:13: `arguments` must be a table"],
    );
    check(
        A,
        "[[reference]]\nserves = [\"date\"]\nsay = \"In March.\"\n",
        "",
        &[
            "sessions/a/session.toml:2:6: warning: no reference workflow (the `reference` agent cannot play it)",
        ],
    );
}

#[test]
fn checks_people_tools_and_apps() {
    let second = "email = \"ada@roth.example\"\n\n[[people]]\nfirst_name = \"A\"\nlast_name = \"R\"\nemail = \"ADA@roth.example\"";
    check(
        PERSONA_PATH,
        "email = \"ada@roth.example\"",
        second,
        &["persona.toml:15:9: a second person with the email ADA@roth.example"],
    );
    check(
        PERSONA_PATH,
        "ada@roth.example",
        "ada",
        &["persona.toml:10:9: `ada` is no email address"],
    );
    check(
        PERSONA_PATH,
        "\"mail__send\"",
        "\"mail__send\", \"mail__send\"",
        &["persona.toml:5:36: the tool `mail__send` is listed twice"],
    );
    check(
        PERSONA_PATH,
        "\"mail__send\"",
        "\"mail__send\", \"mail__\"",
        &[
            "persona.toml:5:36: `mail__` is no app tool (write `<app>__<tool>`, or `<app>__*` for all tools of an app)",
        ],
    );
    check(
        PERSONA_PATH,
        "[[people]]",
        "[apps.phone]\nx = 1\n\n[[people]]",
        &[
            "persona.toml:7:1: warning: the persona has no tools of the app `phone` (add `phone__*` to the persona's tools, or take the records away)",
        ],
    );
    check(
        END,
        "[[files]]",
        "[apps.phone]\nx = 1\n\n[[files]]",
        &[
            "sessions/end/session.toml:25:1: warning: the persona has no tools of the app `phone` (add `phone__*` to the persona's tools, or take the records away)",
        ],
    );
    check(
        END,
        "[[files]]",
        "[apps.note]\nx = 1\n\n[[files]]",
        &[
            "sessions/end/session.toml:25:1: warning: the persona has no tools of the app `note` (did you mean `notes`?)",
        ],
    );
}

#[test]
fn checks_evidence() {
    check(
        END,
        "title = \"Last\"",
        "title = \"Last\"\nevidence = { files_read = [\"../x\"], tools = [{ tool = \"\", call = [\"a..b\"] }] }",
        &[
            "sessions/end/session.toml:4:28: `../x` is no file of the workspace: the path leaves its folder by `..`",
            "sessions/end/session.toml:4:55: `tool` is empty",
            "sessions/end/session.toml:4:67: `a..b` is no dotted path",
        ],
    );
}

#[test]
fn refuses_lists_without_end() {
    let tools: Vec<String> = (0..=LIST_LIMIT)
        .map(|number| format!("\"mail__t{number}\""))
        .collect();
    check(
        PERSONA_PATH,
        "\"mail__send\"",
        &format!("\"mail__send\", {}", tools.join(", ")),
        &["persona.toml:5:9: `tools` has 1003 entries, more than the limit of 1000"],
    );
}

#[test]
fn every_option_puts_its_value_on_a_suite_and_another_kind_of_value_is_refused() {
    let Loaded { mut suite, .. } = Folder::sound().load().unwrap();
    let values: [(&str, Value); 14] = [
        ("agent", "nop".into()),
        ("user", "lexical".into()),
        ("judge", "a,b".into()),
        ("persona", vec!["p"].into()),
        ("session", vec!["s"].into()),
        ("runs", 4.into()),
        ("jobs", 5.into()),
        ("memory", "4G".into()),
        ("protocol", "pi-bench".into()),
        ("scaffold", "nanobot-0.1.4".into()),
        ("scaffold-prompt", "coached".into()),
        ("seed", u64::MAX.into()),
        ("policy", "policy.toml".into()),
        ("ablate", "dependencies".into()),
    ];
    assert_eq!(values.len(), OPTIONS.len());
    for (choice, (option, value)) in OPTIONS.iter().zip(values) {
        assert_eq!(choice.option, option);
        let refused = suite.put(&[Assignment::chosen(choice.option, true)]);
        assert!(
            refused
                .unwrap_err()
                .contains(&format!("use --{option} true"))
        );
        assert!(!suite.has_option(option));
        suite
            .put(&[Assignment::chosen(choice.option, value)])
            .unwrap();
        assert!(suite.has_option(option));
    }
    assert_eq!((suite.agent.as_str(), suite.seed), ("nop", u64::MAX));
    assert_eq!((suite.runs, suite.jobs), (Some(4), Some(5)));
    assert_eq!(suite.judge.as_deref(), Some("a,b"));
    assert_eq!(suite.filter.personas, ["p"]);
    assert_eq!(suite.filter.sessions, ["s"]);
    assert_eq!(suite.protocol, Protocol::PiBench);
    assert_eq!(suite.policy.as_deref(), Some(Utf8Path::new("policy.toml")));
    assert_eq!(suite.ablate, Some(Ablation::Dependencies));
    suite.put(&[Assignment::chosen("ablate", "none")]).unwrap();
    assert_eq!(suite.ablate, None);
}
