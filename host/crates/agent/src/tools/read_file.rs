//! `read_file`: numbered lines of a text file, in windows that fit a model's context; of documents and notebooks, lines
//! of their text.

mod notebook;
mod pages;
mod picture;

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_CHARACTERS, Refusal, count, file_path, read_text};
use pibench_core::path::WorkspacePath;
use pibench_record::event::Step;
use pibench_sandbox::document::Format;
use pibench_sandbox::workspace::Workspace;
use pibench_sandbox::{Documents, GuestFault};

pub(super) const DESCRIPTION: &str = "\
    Also PDF, DOCX, XLSX, PPTX, .ipynb as text, and PNG, JPEG, GIF, WebP as pictures. The number and `| ` before a line \
    are not in the file.";

/// What a call asks for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    /// From 1.
    #[serde(default = "first_line")]
    offset: NonZeroUsize,
    /// Lines.
    #[serde(default = "default_limit")]
    limit: NonZeroUsize,
    /// Slides, sheets, too: 21-40, at most 20, by default the first.
    #[serde(default)]
    #[schemars(with = "String")]
    pages: Option<String>,
}

fn first_line() -> NonZeroUsize {
    NonZeroUsize::MIN
}

fn default_limit() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(1999)
}

/// Room for the footer and for the mark of a cut line, in characters.
const RESERVED: usize = 400;

/// What a call gives.
#[derive(Debug)]
pub enum Read {
    Text(String),
    Picture {
        text: String,
        /// A `Step::Picture`.
        step: Step,
    },
}

/// How a call ends that is not answered.
#[derive(Debug)]
pub enum ReadError {
    Refused(Refusal),
    /// The document reader could not be run: the machine is to blame.
    Broke(GuestFault),
}

impl From<Refusal> for ReadError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Reads any file.
pub async fn read(
    documents: &Documents,
    workspace: &Workspace,
    arguments: &Arguments,
) -> Result<Read, ReadError> {
    let path = file_path(&arguments.path)?;
    if let Some(format) = Format::of(path.as_str()) {
        let text = pages::run(documents, workspace, &path, format, arguments).await?;
        return Ok(Read::Text(text));
    }
    match picture::show(workspace, &path)? {
        Some(picture) => Ok(picture),
        None => Ok(Read::Text(run(workspace, arguments)?)),
    }
}

/// Reads a text.
pub(super) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let path = file_path(&arguments.path)?;
    if arguments.pages.is_some() {
        return Err(Refusal::new(format!(
            "{path} has no pages: `pages` is for PDF, DOCX, XLSX and PPTX. Use `offset` and `limit`"
        )));
    }
    let text = read_text(workspace, &path)?;
    if text.is_empty() {
        return Ok(format!("({path} is empty)"));
    }
    if path.as_str().to_lowercase().ends_with(".ipynb") {
        return window(&path, &notebook::text(&path, &text)?, arguments);
    }
    window(&path, &text, arguments)
}

/// The lines of a text that a call asks for.
fn window(path: &WorkspacePath, text: &str, arguments: &Arguments) -> Result<String, Refusal> {
    let total = text.lines().count();
    let first = arguments.offset.get();
    if first > total {
        let total = count(total, "line");
        return Err(Refusal::new(format!(
            "offset {first} is behind the end: {path} has {total}. Use a smaller offset"
        )));
    }
    let mut window = Window::default();
    for (number, line) in (first..)
        .zip(text.lines().skip(first - 1))
        .take(arguments.limit.get())
    {
        if !window.push(number, line) {
            break;
        }
    }
    let mut shown = window.finish(first, total);
    // Nobody sees it in the line that it hides the beginning of.
    if first == 1 && text.starts_with('\u{feff}') {
        shown.push_str("\n(begins with a byte order mark)");
    }
    Ok(shown)
}

/// The lines shown so far.
#[derive(Debug, Default)]
struct Window {
    text: String,
    characters: usize,
    lines: usize,
}

impl Window {
    /// Adds a line if there is room. A line that is longer than a whole answer is cut.
    fn push(&mut self, number: usize, line: &str) -> bool {
        let room = MAX_CHARACTERS - RESERVED - self.characters;
        let numbered = format!("{number}| {line}\n");
        let length = numbered.chars().count();
        if length <= room {
            self.text.push_str(&numbered);
        } else if self.lines == 0 {
            self.text.extend(numbered.chars().take(room));
            let whole = line.chars().count();
            let _ = writeln!(
                self.text,
                "... (line {number} is cut: it has {whole} characters)"
            );
        } else {
            return false;
        }
        self.characters += length.min(room);
        self.lines += 1;
        true
    }

    fn finish(mut self, first: usize, total: usize) -> String {
        let last = first + self.lines - 1;
        let rest = if last < total {
            format!("; go on with offset={}", last + 1)
        } else {
            "; end of file".into()
        };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "(lines {first}-{last} of {total}{rest})");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Builtin;
    use super::super::tests::{check_refused, put, workspace};
    use super::*;

    fn read(content: &str, mut arguments: Value) -> String {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", content);
        arguments["path"] = "a".into();
        Builtin::ReadFile.run(&mut workspace, &arguments).unwrap()
    }

    #[test]
    fn a_short_file_comes_whole_with_numbered_lines() {
        assert_eq!(
            read("one\ntwo\n", json!({})),
            "1| one\n2| two\n(lines 1-2 of 2; end of file)"
        );
        assert_eq!(
            read("one\r\n\r\nthree", json!({})),
            "1| one\n2| \n3| three\n(lines 1-3 of 3; end of file)"
        );
        assert_eq!(read("", json!({})), "(a is empty)");
        assert_eq!(
            read("\u{feff}one\ntwo\n", json!({"limit": 1})),
            "1| \u{feff}one\n(lines 1-1 of 2; go on with offset=2)\n(begins with a byte order mark)"
        );
        assert_eq!(
            read("\u{feff}one\ntwo\n", json!({"offset": 2})),
            "2| two\n(lines 2-2 of 2; end of file)"
        );
    }

    #[test]
    fn offset_and_limit_choose_a_window() {
        let content = "a\nb\nc\nd\n";
        assert_eq!(
            read(content, json!({"offset": 2, "limit": 2})),
            "2| b\n3| c\n(lines 2-3 of 4; go on with offset=4)"
        );
        assert_eq!(
            read(content, json!({"offset": 4, "limit": 2})),
            "4| d\n(lines 4-4 of 4; end of file)"
        );
    }

    #[test]
    fn two_thousand_lines_are_shown_unless_the_call_says_otherwise() {
        assert!(
            read(&"x\n".repeat(2001), json!({}))
                .ends_with("\n(lines 1-2000 of 2001; go on with offset=2001)")
        );
    }

    #[test]
    fn an_answer_has_at_most_128_000_characters() {
        let content = format!("{}\n", "ü".repeat(999)).repeat(500);
        let text = read(&content, json!({}));
        assert!(text.chars().count() <= MAX_CHARACTERS);
        assert!(
            text.ends_with("\n(lines 1-127 of 500; go on with offset=128)"),
            "{}",
            &text[text.len() - 100..]
        );
    }

    #[test]
    fn a_line_longer_than_an_answer_is_cut_and_the_next_can_be_read() {
        let content = format!("{}\nlast\n", "x".repeat(200_000));
        let text = read(&content, json!({}));
        assert!(text.chars().count() <= MAX_CHARACTERS);
        let end = "\n... (line 1 is cut: it has 200000 characters)\n\
            (lines 1-1 of 2; go on with offset=2)";
        assert!(text.ends_with(&end[1..]), "{}", &text[text.len() - 100..]);
        assert_eq!(
            read(&content, json!({"offset": 2})),
            "2| last\n(lines 2-2 of 2; end of file)"
        );
    }

    #[test]
    fn an_offset_behind_the_end_is_refused() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", "x\n");
        let arguments = json!({"path": "a", "offset": 2});
        check_refused(
            &mut workspace,
            Builtin::ReadFile,
            &arguments,
            "offset 2 is behind the end: a has 1 line.",
        );
    }

    #[test]
    fn a_binary_file_is_refused_with_its_size() {
        let (_folder, mut workspace) = workspace();
        for content in [b"\x89PNG\r\n".as_slice(), b"text\0more"] {
            workspace
                .write(&file_path("a.bin").unwrap(), content)
                .unwrap();
            let expected = format!(
                "a.bin is a binary file of {} bytes and cannot be shown or edited as text; only UTF-8 text can. If \
                 it is text in another encoding, python3 by exec reads it: open(path, encoding=...).",
                content.len()
            );
            check_refused(
                &mut workspace,
                Builtin::ReadFile,
                &json!({"path": "a.bin"}),
                &expected,
            );
        }
    }
}
