//! `grep`: lines of text files by a pattern. Patterns are regular expressions without backtracking, so that none takes
//! longer than the text is long.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Refusal;
use super::glob::{default_limit, root};
use super::search::{Pattern, depth, entries, page};
use pibench_core::path::WorkspacePath;
use pibench_sandbox::workspace::{EntryKind, Workspace};

pub(super) const DESCRIPTION: &str = "\
    Searches text files by line for a regular expression. .git, node_modules and such, binary files and those above \
    8 MiB are passed over.";

/// A larger file is passed over: an agent reads such a one in parts, or by a program.
const MAX_FILE: u64 = 8 << 20;

/// What a compiled pattern may take, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// Characters of a line that are shown.
const MAX_LINE: usize = 500;

/// Lines around a match.
const MAX_CONTEXT: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    pattern: String,
    #[serde(default = "root")]
    path: String,
    /// Such as *.md.
    #[serde(default)]
    #[schemars(with = "String")]
    glob: Option<String>,
    /// md, txt, csv, json, py, html, xml, toml, yaml, js, ts, rust, sh or tex.
    #[serde(default, rename = "type")]
    #[schemars(with = "String")]
    kind: Option<String>,
    #[serde(default)]
    case_insensitive: bool,
    #[serde(default)]
    fixed_strings: bool,
    #[serde(default)]
    output_mode: OutputMode,
    /// Lines around a match of content.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: usize,
    /// Lines of the answer.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1))]
    head_limit: usize,
    #[serde(default)]
    offset: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OutputMode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

/// The endings of a kind of file.
fn endings(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "md" | "markdown" => &["md", "markdown"],
        "txt" | "text" => &["txt"],
        "csv" => &["csv", "tsv"],
        "json" => &["json", "jsonl"],
        "py" | "python" => &["py"],
        "html" => &["html", "htm"],
        "xml" => &["xml", "svg"],
        "toml" => &["toml"],
        "yaml" => &["yaml", "yml"],
        "js" => &["js", "mjs"],
        "ts" => &["ts"],
        "rust" => &["rs"],
        "sh" => &["sh", "bash"],
        "tex" => &["tex", "bib"],
        _ => return None,
    })
}

pub(super) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments {
        pattern,
        path,
        glob,
        kind,
        case_insensitive,
        fixed_strings,
        output_mode,
        context,
        head_limit,
        offset,
    } = arguments;
    let regex = compiled(pattern, *case_insensitive, *fixed_strings)?;
    let glob = glob.as_deref().map(Pattern::new).transpose()?;
    let endings = kind.as_deref().map(wanted_endings).transpose()?;
    let found = entries(workspace, path)?;
    let from = depth(path, &found)?;
    let mut answer = Answer {
        mode: *output_mode,
        context: (*context).min(MAX_CONTEXT),
        ..Answer::default()
    };
    for entry in found.iter().filter(|entry| entry.kind == EntryKind::File) {
        let chosen = glob
            .as_ref()
            .is_none_or(|glob| glob.matches(&entry.path, from))
            && endings.is_none_or(|endings| has_ending(&entry.path, endings));
        if !chosen {
            continue;
        }
        // What a file's size was is what the folder said; what cannot be read is passed over like what is no text.
        let text = (entry.size <= MAX_FILE)
            .then(|| workspace.read(&entry.path).ok())
            .flatten()
            .and_then(|content| String::from_utf8(content).ok())
            .filter(|text| !text.contains('\0'));
        match text {
            Some(text) => answer.file(&entry.path, &text, &regex),
            None => answer.passed_over += 1,
        }
    }
    Ok(answer.text(pattern, path, *offset, *head_limit))
}

fn compiled(pattern: &str, case_insensitive: bool, fixed: bool) -> Result<Regex, Refusal> {
    let text = if fixed {
        regex::escape(pattern)
    } else {
        pattern.to_owned()
    };
    let regex = RegexBuilder::new(&text)
        .case_insensitive(case_insensitive)
        .size_limit(MAX_PATTERN)
        .build();
    regex.map_err(|error| {
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim();
        Refusal(format!(
            "the pattern {pattern:?} is not accepted: {reason}. Correct it, or set fixed_strings for plain text"
        ))
    })
}

fn wanted_endings(kind: &str) -> Result<&'static [&'static str], Refusal> {
    endings(kind).ok_or_else(|| {
        Refusal(format!(
            "the type {kind:?} is not known. Use glob instead, such as *.{kind}"
        ))
    })
}

fn has_ending(path: &WorkspacePath, endings: &[&str]) -> bool {
    let name = path.components().last().unwrap_or_default().to_lowercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| endings.contains(&ending))
}

/// The lines of an answer.
#[derive(Debug, Default)]
struct Answer {
    mode: OutputMode,
    context: usize,
    lines: Vec<String>,
    matches: usize,
    files: usize,
    passed_over: usize,
}

impl Answer {
    fn file(&mut self, path: &WorkspacePath, text: &str, regex: &Regex) {
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<usize> = (0..lines.len())
            .filter(|&place| regex.is_match(lines[place]))
            .collect();
        if found.is_empty() {
            return;
        }
        self.matches += found.len();
        self.files += 1;
        match self.mode {
            OutputMode::FilesWithMatches => self.lines.push(path.to_string()),
            OutputMode::Count => self.lines.push(format!("{path}:{}", found.len())),
            OutputMode::Content => self.content(path, &lines, &found),
        }
    }

    /// Matches as `path:line:text`, lines around them as `path-line-text`, and `--` where lines are left out.
    fn content(&mut self, path: &WorkspacePath, lines: &[&str], found: &[usize]) {
        let matched: BTreeSet<usize> = found.iter().copied().collect();
        let around = |&place: &usize| {
            place.saturating_sub(self.context)..(place + self.context + 1).min(lines.len())
        };
        let shown: BTreeSet<usize> = found.iter().flat_map(around).collect();
        let mut last = None;
        for place in shown {
            let gap = last.is_none_or(|last| place > last + 1);
            if self.context > 0 && gap && !self.lines.is_empty() {
                self.lines.push("--".into());
            }
            last = Some(place);
            let mark = if matched.contains(&place) { ':' } else { '-' };
            let text = clipped(lines[place]);
            self.lines
                .push(format!("{path}{mark}{}{mark}{text}", place + 1));
        }
    }

    fn text(self, pattern: &str, path: &str, offset: usize, limit: usize) -> String {
        let passed = match self.passed_over {
            0 => String::new(),
            1 => "\n(1 file was passed over: binary or too large)".into(),
            many => format!("\n({many} files were passed over: binary or too large)"),
        };
        if self.lines.is_empty() {
            return format!("(nothing in {path} matches {pattern}){passed}");
        }
        let noun = match self.mode {
            OutputMode::Content => "lines".to_owned(),
            OutputMode::FilesWithMatches => "files".into(),
            OutputMode::Count => format!("files, {} matching lines in all", self.matches),
        };
        page(&self.lines, offset, limit, &noun) + &passed
    }
}

fn clipped(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Builtin;
    use super::super::tests::{check_refused, put, workspace};
    use super::*;

    fn grep(mut arguments: Value, pattern: &str) -> String {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a.md", "one\ntwo\nthree\nfour\nfive\nTwo\n");
        put(&mut workspace, "notes/b.csv", "two,2\n");
        put(&mut workspace, ".git/c.md", "two\n");
        put(&mut workspace, "d.bin", "two\0");
        arguments["pattern"] = pattern.into();
        Builtin::Grep.run(&mut workspace, &arguments).unwrap()
    }

    fn check(arguments: Value, pattern: &str, expected: &str) {
        let text = grep(arguments, pattern);
        let passed = "\n(1 file was passed over: binary or too large)";
        assert_eq!(
            text.strip_suffix(passed).unwrap_or(&text),
            expected,
            "{pattern}"
        );
    }

    #[test]
    fn files_with_matches_are_listed() {
        check(json!({}), "tw.", "a.md\nnotes/b.csv\n(2 files)");
        check(json!({"path": "notes"}), "tw.", "notes/b.csv\n(1 files)");
        check(json!({"path": "a.md"}), "tw.", "a.md\n(1 files)");
    }

    #[test]
    fn lines_come_with_those_around_them() {
        check(
            json!({"output_mode": "content", "context": 1, "path": "a.md", "case_insensitive": true}),
            "^two$",
            "a.md-1-one\na.md:2:two\na.md-3-three\n--\na.md-5-five\na.md:6:Two\n(6 lines)",
        );
        check(
            json!({"output_mode": "content"}),
            "two",
            "a.md:2:two\nnotes/b.csv:1:two,2\n(2 lines)",
        );
    }

    #[test]
    fn matches_are_counted() {
        check(
            json!({"output_mode": "count", "case_insensitive": true}),
            "two",
            "a.md:2\nnotes/b.csv:1\n(2 files, 3 matching lines in all)",
        );
    }

    #[test]
    fn files_are_chosen_by_pattern_and_by_type() {
        check(json!({"glob": "*.csv"}), "two", "notes/b.csv\n(1 files)");
        check(json!({"type": "md"}), "two", "a.md\n(1 files)");
        check(
            json!({"glob": "*.txt"}),
            "two",
            "(nothing in . matches two)",
        );
    }

    #[test]
    fn plain_text_is_no_pattern() {
        check(
            json!({"fixed_strings": true}),
            "tw.",
            "(nothing in . matches tw.)",
        );
        check(
            json!({"fixed_strings": true}),
            "two,",
            "notes/b.csv\n(1 files)",
        );
    }

    #[test]
    fn a_page_goes_on_where_the_last_one_ended() {
        let arguments = json!({"output_mode": "content", "head_limit": 1, "path": "a.md"});
        check(
            arguments,
            "e",
            "a.md:1:one\n(1 of 3 lines; go on with offset=1)",
        );
        let arguments = json!({"output_mode": "content", "offset": 2, "path": "a.md"});
        check(
            arguments,
            "e",
            "a.md:5:five\n(1 of 3 lines; these are the last)",
        );
    }

    #[test]
    fn a_binary_file_is_passed_over_and_counted() {
        assert!(grep(json!({}), "two").ends_with("(1 file was passed over: binary or too large)"));
    }

    #[test]
    fn a_long_line_is_cut() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", &"x".repeat(10_000));
        let arguments = json!({"pattern": "x", "output_mode": "content"});
        let text = Builtin::Grep.run(&mut workspace, &arguments).unwrap();
        assert!(text.len() < MAX_LINE + 50, "{}", text.len());
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_would_do() {
        let (_folder, mut workspace) = workspace();
        let mut refused = |arguments: Value, expected| {
            check_refused(&mut workspace, Builtin::Grep, &arguments, expected);
        };
        refused(
            json!({"pattern": "("}),
            "unclosed group. Correct it, or set fixed_strings",
        );
        refused(json!({"pattern": "(a{1000}){1000}"}), "is not accepted");
        refused(
            json!({"pattern": "a", "type": "doc"}),
            "Use glob instead, such as *.doc",
        );
        refused(json!({"pattern": "a", "glob": "["}), "is not accepted");
        refused(json!({"pattern": "a", "path": "/etc"}), "is not accepted");
    }
}
