//! `grep`: lines of text files by a pattern. Patterns are regular expressions without backtracking; what each byte of a text
//! may cost is told by the pattern's states, and a search goes in slices, so that whoever runs it can give way or stop.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::glob::{default_limit, root};
use super::search::{MOST_SHOWN, Pattern, depth, entries, page};
use super::{Refusal, count, refusal};
use pibench_core::path::WorkspacePath;
use pibench_core::pattern::states;
use pibench_sandbox::workspace::{Entry, EntryKind, Workspace, WorkspaceError};

pub(super) const DESCRIPTION: &str = "\
    A regular expression, by line. Passes over .git and such, binary files and those above 8 MiB.";

/// A larger file is passed over: an agent reads such a one in parts, or by a program.
const MAX_FILE: u64 = 8 << 20;

/// What a compiled pattern may take, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// Steps of one slice, a step being a byte held against a state of the pattern: some milliseconds, and a second at worst.
const SLICE: usize = 20 << 20;

/// Steps of one line. A longer one is passed over: nothing gives way within it.
const LINE: usize = 100 << 20;

/// Steps of one search: an ordinary pattern goes through the largest workspace.
const SEARCH: usize = 32 << 30;

/// Lines of an answer that are kept, whatever page is asked for.
const MOST_LINES: usize = 100_000;

/// Characters of a line that are shown.
const MAX_LINE: usize = 500;

/// Lines around a match.
const MAX_CONTEXT: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
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
    /// Lines around content.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: usize,
    /// Lines.
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

/// A search under way.
#[derive(Debug)]
pub(crate) struct Search {
    arguments: Arguments,
    regex: Regex,
    /// States of the pattern.
    weight: usize,
    /// What is still to be searched, the next at the end.
    files: Vec<WorkspacePath>,
    file: Option<File>,
    answer: Answer,
    steps: usize,
}

/// A file that is being searched.
#[derive(Debug)]
struct File {
    path: WorkspacePath,
    text: String,
    /// The byte and the line that come next.
    at: usize,
    line: usize,
    found: Vec<usize>,
}

impl Search {
    pub(crate) fn new(workspace: &Workspace, arguments: Arguments) -> Result<Self, Refusal> {
        let Arguments {
            pattern,
            path,
            glob,
            kind,
            case_insensitive,
            fixed_strings,
            output_mode,
            context,
            ..
        } = &arguments;
        let (regex, weight) = compiled(pattern, *case_insensitive, *fixed_strings)?;
        let glob = glob.as_deref().map(Pattern::new).transpose()?;
        let endings = kind.as_deref().map(wanted_endings).transpose()?;
        let found = entries(workspace, path)?;
        let from = depth(path, &found)?;
        let mut answer = Answer {
            mode: *output_mode,
            context: (*context).min(MAX_CONTEXT),
            ..Answer::default()
        };
        let wanted = |entry: &Entry| {
            let by_glob = glob.as_ref();
            entry.kind == EntryKind::File
                && by_glob.is_none_or(|glob| glob.matches(&entry.path, from))
                && endings.is_none_or(|endings| has_ending(&entry.path, endings))
        };
        let mut files = Vec::new();
        for entry in found.into_iter().filter(wanted) {
            if entry.size <= MAX_FILE {
                files.push(entry.path);
            } else {
                answer.passed_over += 1;
            }
        }
        files.reverse();
        Ok(Self {
            arguments,
            regex,
            weight,
            files,
            file: None,
            answer,
            steps: 0,
        })
    }

    /// Searches a slice of the text; false when nothing is left to be searched. What the machine keeps from being read ends it.
    pub(crate) fn step(&mut self, workspace: &Workspace) -> Result<bool, Refusal> {
        let until = self.steps + SLICE;
        while self.steps < until {
            if self.steps > SEARCH || self.answer.lines.len() >= MOST_LINES {
                self.answer.stopped = true;
                return Ok(false);
            }
            let next = match self.file.take() {
                Some(file) => Some(file),
                None => self.open(workspace)?,
            };
            let Some(mut file) = next else {
                return Ok(!self.files.is_empty());
            };
            if self.lines(&mut file, until) {
                self.answer.file(&file);
            } else {
                self.file = Some(file);
            }
        }
        Ok(true)
    }

    /// The next file; None where it is no text, or where there is none. What cannot be read is passed over like what is
    /// no text.
    fn open(&mut self, workspace: &Workspace) -> Result<Option<File>, Refusal> {
        let Some(path) = self.files.pop() else {
            return Ok(None);
        };
        self.steps += 1;
        let Some(text) = text_of(workspace.read(&path))? else {
            self.answer.passed_over += 1;
            return Ok(None);
        };
        self.steps += text.len();
        Ok(Some(File {
            path,
            text,
            at: 0,
            line: 0,
            found: Vec::new(),
        }))
    }

    /// Searches lines of a file; true when it was the last.
    fn lines(&mut self, file: &mut File, until: usize) -> bool {
        while let Some(line) = file.text[file.at..].lines().next() {
            if self.steps >= until {
                return false;
            }
            let steps = line.len().saturating_mul(self.weight);
            if steps > LINE {
                self.answer.long += 1;
            } else {
                self.steps += steps + 1;
                if self.regex.is_match(line) {
                    file.found.push(file.line);
                }
            }
            let rest = &file.text[file.at + line.len()..];
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            file.at += line.len() + end;
            file.line += 1;
        }
        true
    }

    pub(crate) fn text(self) -> String {
        self.answer.text(&self.arguments)
    }
}

/// The text of what was read; None where it is none, or cannot be read. That the machine broke says nothing of the file.
fn text_of(content: Result<Vec<u8>, WorkspaceError>) -> Result<Option<String>, Refusal> {
    match content {
        Ok(content) => {
            let text = String::from_utf8(content).ok();
            Ok(text.filter(|text| !text.contains('\0')))
        }
        Err(error) if error.of_the_machine().is_some() => Err(refusal(&error)),
        Err(_) => Ok(None),
    }
}

/// The pattern and its states.
fn compiled(pattern: &str, case_insensitive: bool, fixed: bool) -> Result<(Regex, usize), Refusal> {
    let text = if fixed {
        regex::escape(pattern)
    } else {
        pattern.to_owned()
    };
    let refused = |reason: String| {
        let pattern: String = pattern.chars().take(MOST_SHOWN).collect();
        Refusal::new(format!(
            "the pattern {pattern:?} is not accepted: {reason}. Correct it, or set fixed_strings for plain text"
        ))
    };
    let weight = states(&text, case_insensitive, MAX_PATTERN).map_err(refused)?;
    let regex = RegexBuilder::new(&text)
        .case_insensitive(case_insensitive)
        .size_limit(MAX_PATTERN)
        .build();
    let regex = regex.map_err(|error| {
        let error = error.to_string();
        refused(error.lines().last().unwrap_or_default().trim().to_owned())
    })?;
    Ok((regex, weight))
}

fn wanted_endings(kind: &str) -> Result<&'static [&'static str], Refusal> {
    endings(kind).ok_or_else(|| {
        Refusal::new(format!(
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
    /// Lines that are too long for the pattern.
    long: usize,
    /// Whether there may be more.
    stopped: bool,
}

impl Answer {
    fn file(&mut self, file: &File) {
        let File {
            path, text, found, ..
        } = file;
        if found.is_empty() {
            return;
        }
        self.matches += found.len();
        self.files += 1;
        match self.mode {
            OutputMode::FilesWithMatches => self.lines.push(path.to_string()),
            OutputMode::Count => self.lines.push(format!("{path}:{}", found.len())),
            OutputMode::Content => {
                let lines: Vec<&str> = text.lines().collect();
                self.content(path, &lines, found);
            }
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
            if self.lines.len() >= MOST_LINES {
                break;
            }
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

    fn text(self, arguments: &Arguments) -> String {
        let Arguments {
            pattern,
            path,
            head_limit,
            offset,
            ..
        } = arguments;
        let mut passed = match self.passed_over {
            0 => String::new(),
            1 => "\n(1 file was passed over: binary or too large)".into(),
            many => format!("\n({many} files were passed over: binary or too large)"),
        };
        if self.long > 0 {
            let lines = count(self.long, "line");
            let _ = write!(passed, "\n({lines} passed over: too long for this pattern)");
        }
        if self.stopped {
            passed += "\n(the search was stopped, there may be more: narrow it by path, glob or a simpler pattern)";
        }
        if self.lines.is_empty() {
            return format!("(nothing in {path} matches {pattern}){passed}");
        }
        let noun = match self.mode {
            OutputMode::Content => "lines".to_owned(),
            OutputMode::FilesWithMatches => "files".into(),
            OutputMode::Count => format!("files, {} matching lines in all", self.matches),
        };
        page(&self.lines, *offset, *head_limit, &noun) + &passed
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
    fn a_file_that_the_machine_keeps_back_ends_the_search_and_a_locked_one_is_passed_over() {
        let read = |code| {
            text_of(Err(WorkspaceError::Io {
                path: WorkspacePath::ROOT,
                source: std::io::Error::from_raw_os_error(code),
            }))
        };
        // EMFILE
        assert!(read(24).unwrap_err().machine.is_some());
        // EACCES
        assert_eq!(read(13), Ok(None));
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
    fn a_pattern_that_is_too_much_for_a_line_passes_it_over() {
        let (_folder, mut workspace) = workspace();
        put(
            &mut workspace,
            "a",
            &format!("{}\naab\n", "ab".repeat(64 << 10)),
        );
        let mut check = |pattern: &str, expected: &str| {
            let arguments = json!({"pattern": pattern, "output_mode": "count"});
            let text = Builtin::Grep.run(&mut workspace, &arguments).unwrap();
            assert_eq!(text, expected, "{pattern}");
        };
        check(
            "[ab]*a[ab]{8000}c",
            "(nothing in . matches [ab]*a[ab]{8000}c)\n(1 line passed over: too long for this pattern)",
        );
        check("a[ab]{1,8}b", "a:2\n(1 files, 2 matching lines in all)");
    }

    #[test]
    fn a_search_goes_in_slices() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", &"one of many lines\n".repeat(200_000));
        let arguments =
            Builtin::Grep.parse(&json!({"pattern": "m(a|b)[n-z]y l", "output_mode": "count"}));
        let mut search = Search::new(&workspace, arguments.unwrap()).unwrap();
        let mut slices = 1;
        while search.step(&workspace).unwrap() {
            slices += 1;
        }
        assert!(slices > 1);
        assert_eq!(
            search.text(),
            "a:200000\n(1 files, 200000 matching lines in all)"
        );
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
            json!({"pattern": "x".repeat(5000)}),
            "5000 bytes, more than",
        );
        let braces = "{".repeat(300);
        refused(
            json!({"pattern": "a", "glob": braces}),
            "its braces nest deeper",
        );
        refused(
            json!({"pattern": "a", "type": "doc"}),
            "Use glob instead, such as *.doc",
        );
        refused(json!({"pattern": "a", "glob": "["}), "is not accepted");
        refused(json!({"pattern": "a", "path": "/etc"}), "is not accepted");
    }
}
