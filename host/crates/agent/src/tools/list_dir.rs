//! `list_dir`: what a folder holds.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_CHARACTERS, Refusal, directory_path, refusal_to_find};
use pibench_sandbox::workspace::{Entry, EntryKind, Workspace};

pub(super) const DESCRIPTION: &str = "\
    Folders end in /, files have their size; . is the workspace.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    #[serde(default)]
    recursive: bool,
    #[serde(default = "default_max_entries")]
    max_entries: NonZeroUsize,
}

fn default_max_entries() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(199)
}

/// Room for the footer, in characters.
const RESERVED: usize = 400;

pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments {
        path,
        recursive,
        max_entries,
    } = arguments;
    let path = directory_path(path)?;
    let entries = workspace
        .list(&path, *recursive)
        .map_err(|error| refusal_to_find(workspace, &error))?;
    if entries.is_empty() {
        return Ok(format!("({path} is an empty folder)"));
    }
    let mut text = String::new();
    let (mut shown, mut characters) = (0, 0);
    for line in entries.iter().take(max_entries.get()).map(line) {
        characters += line.chars().count();
        if characters > MAX_CHARACTERS - RESERVED {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    text.push_str(&footer(shown, entries.len()));
    Ok(text)
}

fn line(entry: &Entry) -> String {
    let Entry { path, kind, size } = entry;
    match kind {
        EntryKind::Directory => format!("{path}/\n"),
        EntryKind::File => format!("{path} ({size} bytes)\n"),
        EntryKind::Refused => format!("{path} (a link or device, which no tool opens)\n"),
    }
}

fn footer(shown: usize, total: usize) -> String {
    if shown == total {
        let noun = if total == 1 { "entry" } else { "entries" };
        return format!("({total} {noun})");
    }
    format!("({shown} of {total} entries; raise max_entries or list a folder below)")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Builtin;
    use super::super::tests::{check_refused, put, workspace};
    use super::*;

    fn check(files: &[&str], arguments: &Value, expected: &str) {
        let (_folder, mut workspace) = workspace();
        for path in files {
            put(&mut workspace, path, "12345");
        }
        assert_eq!(
            Builtin::ListDir.run(&mut workspace, arguments).unwrap(),
            expected
        );
    }

    #[test]
    fn a_folder_is_listed_with_sizes() {
        check(
            &["b/c/d", "a.md"],
            &json!({"path": "."}),
            "a.md (5 bytes)\nb/\n(2 entries)",
        );
        check(
            &["b/c/d", "a.md"],
            &json!({"path": "b/"}),
            "b/c/\n(1 entry)",
        );
        check(
            &["b/c/d"],
            &json!({"path": "/workspace/b/c"}),
            "b/c/d (5 bytes)\n(1 entry)",
        );
        check(&[], &json!({"path": ""}), "(. is an empty folder)");
    }

    #[test]
    fn everything_below_is_listed_when_asked() {
        let expected = "a.md (5 bytes)\nb/\nb/c/\nb/c/d (5 bytes)\n(4 entries)";
        check(
            &["b/c/d", "a.md"],
            &json!({"path": ".", "recursive": true}),
            expected,
        );
    }

    #[test]
    fn at_most_max_entries_are_listed() {
        let expected =
            "a (5 bytes)\nb (5 bytes)\n(2 of 3 entries; raise max_entries or list a folder below)";
        check(
            &["a", "b", "c"],
            &json!({"path": ".", "max_entries": 2}),
            expected,
        );
    }

    #[test]
    fn two_hundred_entries_are_listed_unless_the_call_says_otherwise() {
        let (_folder, mut workspace) = workspace();
        for number in 0..201 {
            put(&mut workspace, &format!("{number:03}"), "");
        }
        let text = Builtin::ListDir
            .run(&mut workspace, &json!({"path": "."}))
            .unwrap();
        assert!(text.ends_with(
            "199 (0 bytes)\n(200 of 201 entries; raise max_entries or list a folder below)"
        ));
    }

    #[test]
    fn an_answer_has_at_most_128_000_characters() {
        let (_folder, mut workspace) = workspace();
        let folder = ["d".repeat(250).as_str(), "e".repeat(250).as_str()].join("/");
        for number in 0..300 {
            put(&mut workspace, &format!("{folder}/{number}"), "");
        }
        let arguments = json!({"path": ".", "recursive": true, "max_entries": 1000});
        let text = Builtin::ListDir.run(&mut workspace, &arguments).unwrap();
        assert!(text.chars().count() <= MAX_CHARACTERS);
        assert!(text.contains(" of 302 entries"));
    }

    #[test]
    fn a_file_or_a_missing_folder_is_refused() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", "x");
        check_refused(
            &mut workspace,
            Builtin::ListDir,
            &json!({"path": "a"}),
            "is a file and no folder",
        );
        check_refused(
            &mut workspace,
            Builtin::ListDir,
            &json!({"path": "b"}),
            "no such file or folder",
        );
    }
}
