//! `glob`: files and folders by a pattern.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Refusal;
use super::search::{Pattern, depth, entries, page};
use pibench_sandbox::workspace::{Entry, EntryKind, Workspace};

pub(super) const DESCRIPTION: &str = "\
    Such as cases/**/*.{md,csv}; without a slash by name. Passes over .git, node_modules and such.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pattern: String,
    #[serde(default = "root")]
    path: String,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1))]
    head_limit: usize,
    #[serde(default)]
    offset: usize,
    #[serde(default)]
    entry_type: EntryType,
}

pub(super) fn root() -> String {
    ".".into()
}

pub(super) fn default_limit() -> usize {
    250
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum EntryType {
    #[default]
    Files,
    Dirs,
    Both,
}

pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments {
        pattern,
        path,
        head_limit,
        offset,
        entry_type,
    } = arguments;
    let matcher = Pattern::new(pattern)?;
    let found = entries(workspace, path)?;
    let from = depth(path, &found)?;
    let wanted = |entry: &&Entry| {
        let kind = match entry_type {
            EntryType::Files => entry.kind == EntryKind::File,
            EntryType::Dirs => entry.kind == EntryKind::Directory,
            EntryType::Both => true,
        };
        kind && matcher.matches(&entry.path, from)
    };
    let lines: Vec<String> = found
        .iter()
        .filter(wanted)
        .map(|entry| match entry.kind {
            EntryKind::Directory => format!("{}/", entry.path),
            EntryKind::File | EntryKind::Refused => entry.path.to_string(),
        })
        .collect();
    if lines.is_empty() {
        return Ok(format!("(nothing in {path} matches {pattern})"));
    }
    Ok(page(&lines, *offset, *head_limit, "found"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Builtin;
    use super::super::tests::{check_refused, put, workspace};

    fn check(mut arguments: Value, pattern: &str, expected: &[&str]) {
        let (_folder, mut workspace) = workspace();
        for path in [
            "a.md",
            "notes/b.md",
            "notes/old/c.md",
            "notes/d.csv",
            ".git/e.md",
            "node_modules/x/f.md",
        ] {
            put(&mut workspace, path, "x");
        }
        arguments["pattern"] = pattern.into();
        let text = Builtin::Glob.run(&mut workspace, &arguments).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, expected, "{pattern}");
    }

    #[test]
    fn a_pattern_without_a_slash_looks_at_names_in_every_folder() {
        check(
            json!({}),
            "*.md",
            &["a.md", "notes/b.md", "notes/old/c.md", "(3 found)"],
        );
        check(
            json!({}),
            "{b,c}.md",
            &["notes/b.md", "notes/old/c.md", "(2 found)"],
        );
    }

    #[test]
    fn a_pattern_with_a_slash_looks_at_paths() {
        check(json!({}), "notes/*.md", &["notes/b.md", "(1 found)"]);
        check(
            json!({}),
            "notes/**",
            &["notes/b.md", "notes/d.csv", "notes/old/c.md", "(3 found)"],
        );
        check(
            json!({"path": "notes"}),
            "*/c.md",
            &["notes/old/c.md", "(1 found)"],
        );
        check(
            json!({"path": "notes/b.md"}),
            "*.md",
            &["notes/b.md", "(1 found)"],
        );
    }

    #[test]
    fn folders_are_listed_when_asked_for() {
        check(
            json!({"entry_type": "dirs"}),
            "*",
            &["notes/", "notes/old/", "(2 found)"],
        );
        check(
            json!({"entry_type": "both", "path": "notes"}),
            "*",
            &[
                "notes/b.md",
                "notes/d.csv",
                "notes/old/",
                "notes/old/c.md",
                "(4 found)",
            ],
        );
    }

    #[test]
    fn results_come_in_pages() {
        check(
            json!({"head_limit": 1}),
            "*.md",
            &["a.md", "(1 of 3 found; go on with offset=1)"],
        );
        check(
            json!({"offset": 2}),
            "*.md",
            &["notes/old/c.md", "(1 of 3 found; these are the last)"],
        );
        check(
            json!({"offset": 3}),
            "*.md",
            &["(offset 3 is behind the last of 3 found)"],
        );
    }

    #[test]
    fn nothing_found_is_said_and_a_bad_pattern_refused() {
        check(json!({}), "*.pdf", &["(nothing in . matches *.pdf)"]);
        let (_folder, mut workspace) = workspace();
        let mut refused = |arguments: Value, expected| {
            check_refused(&mut workspace, Builtin::Glob, &arguments, expected);
        };
        refused(json!({"pattern": "a["}), "is not accepted");
        refused(
            json!({"pattern": "{".repeat(300)}),
            "its braces nest deeper",
        );
        refused(
            json!({"pattern": "*", "path": "nowhere"}),
            "no such file or folder",
        );
        refused(json!({"pattern": "*", "path": "../"}), "is not accepted");
    }
}
