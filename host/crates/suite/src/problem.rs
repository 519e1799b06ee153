//! What is wrong with a task file, for people: a message, the place, the remedy. Knows nothing of the formats.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use miette::{Diagnostic, GraphicalReportHandler, LabeledSpan, NamedSource, SourceCode};

use pibench_core::path::is_acting;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The suite cannot be played.
    Error,
    /// It can, but not all of it does what its author may expect.
    Warning,
}

/// A file that was read, as problems show it.
#[derive(Debug, Clone)]
pub struct Source {
    pub path: Utf8PathBuf,
    pub text: Arc<str>,
}

/// One problem of a task file.
#[derive(Debug, Clone)]
pub struct Problem {
    severity: Severity,
    file: Utf8PathBuf,
    message: String,
    help: Option<String>,
    place: Option<Place>,
}

/// Where in a file.
#[derive(Debug, Clone)]
struct Place {
    source: NamedSource<Arc<str>>,
    /// In bytes, within one line.
    span: Range<usize>,
    line: usize,
    column: usize,
}

/// The line and the column of a place in a text, in words that quote nothing of it; without a place, those of its start.
pub fn place(text: &str, span: Option<Range<usize>>) -> String {
    let before = &text[..floor(text, span.unwrap_or(0..0).start)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("line {line}, column {column}")
}

impl Problem {
    /// A problem of a whole file: it is missing, or no text.
    pub fn of_file(file: &Utf8Path, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            file: file.to_owned(),
            message: printable(&message.into()),
            help: None,
            place: None,
        }
    }

    /// A problem at a place of a file. A span of several lines is shown by its first one.
    pub fn at(source: &Source, span: Range<usize>, message: impl Into<String>) -> Self {
        let text: &str = &source.text;
        let start = floor(text, span.start);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |length| start + length);
        let end = floor(text, span.end).clamp(start, line_end);
        let before = &text[..start];
        let place = Place {
            source: NamedSource::new(printable(source.path.as_str()), visible(&source.text)),
            span: start..end,
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or("").chars().count() + 1,
        };
        Self {
            place: Some(place),
            ..Self::of_file(&source.path, message)
        }
    }

    /// The same problem of a file that is to be in the folder `to` and was read in `from`.
    #[must_use]
    pub fn moved(mut self, from: &Utf8Path, to: &Utf8Path) -> Self {
        let Ok(rest) = self.file.strip_prefix(from) else {
            return self;
        };
        self.file = to.join(rest);
        self.message = self.message.replace(from.as_str(), to.as_str());
        if let Some(place) = &mut self.place {
            let text = Arc::clone(place.source.inner());
            place.source = NamedSource::new(printable(self.file.as_str()), text);
        }
        self
    }

    /// Says how to put it right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(&help.into()));
        self
    }

    /// Makes it a warning.
    #[must_use]
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    pub fn severity(&self) -> Severity {
        self.severity
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The file, as it was reached from the path that was loaded.
    pub fn file(&self) -> &Utf8Path {
        &self.file
    }

    /// Counts from 1; `None` for a problem of the whole file.
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.line)
    }

    /// In characters, counts from 1; `None` for a problem of the whole file.
    pub fn column(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.column)
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would put it right, where that is known.
    pub fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// One line for logs and editors: `file:line:column: message (remedy)`.
    pub fn to_line(&self) -> String {
        let place = match &self.place {
            Some(place) => format!("{}:{}:{}", place.source.name(), place.line, place.column),
            None => printable(self.file.as_str()),
        };
        let severity = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        let help = self
            .help
            .as_ref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        format!("{place}: {severity}{}{help}", self.message)
    }

    /// Where it starts, for sorting within a file.
    pub(super) fn offset(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.span.start)
    }
}

/// One line without characters that act on what shows it: the words of a pack or a guest must not drive a terminal.
fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '\n' => vec![' '],
            c if is_acting(c) => c.escape_default().collect(),
            c => vec![c],
        })
        .collect()
}

/// The text of a file with such characters replaced by others of the same length, so that spans still hold.
fn visible(text: &Arc<str>) -> Arc<str> {
    let hidden = |c: char| is_acting(c) && !matches!(c, '\n' | '\r' | '\t');
    if !text.contains(hidden) {
        return Arc::clone(text);
    }
    let replaced = |c: char| match c {
        c if !hidden(c) => c,
        c if c.is_ascii() => '?',
        c if c.len_utf8() == 2 => '\u{bf}',
        // None of them is longer.
        _ => '\u{fffd}',
    };
    text.chars().map(replaced).collect::<String>().into()
}

/// The nearest character boundary at or before `index`.
fn floor(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(_) => formatter.write_str(&self.message),
            None => write!(
                formatter,
                "{}: {}",
                printable(self.file.as_str()),
                self.message
            ),
        }
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place
            .as_ref()
            .map(|place| &place.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::new(
            None,
            place.span.start,
            place.span.len(),
        ))))
    }
}

/// Everything that is wrong, at least one error among it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", lines(.0).trim_end())]
pub struct Problems(pub Vec<Problem>);

/// Warnings of one kind that are shown one by one; of more the first stands for all.
const ALIKE: usize = 3;

/// The problems for people to read: errors first, each by itself, then warnings, the rarer kinds first. Of many warnings that
/// differ in names and numbers only the first is shown, with how many there are.
pub fn grouped(problems: &[Problem]) -> Vec<Problem> {
    let (errors, warnings): (Vec<&Problem>, Vec<&Problem>) =
        problems.iter().partition(|problem| problem.is_error());
    let mut kinds: Vec<(String, Vec<&Problem>)> = Vec::new();
    let mut places = HashMap::new();
    for problem in warnings {
        let kind = kind_of(problem);
        let place = *places.entry(kind.clone()).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push((kind, Vec::new()));
        }
        kinds[place].1.push(problem);
    }
    let (few, mut many): (Vec<_>, Vec<_>) = kinds
        .into_iter()
        .map(|(_, alike)| alike)
        .partition(|alike| alike.len() <= ALIKE);
    many.sort_by_key(Vec::len);
    let single = errors.into_iter().chain(few.into_iter().flatten()).cloned();
    single
        .chain(many.iter().map(|alike| one_for_all(alike)))
        .collect()
}

/// What a problem says without names and numbers.
fn kind_of(problem: &Problem) -> String {
    let mut text = String::new();
    let words = format!(
        "{} ({})",
        problem.message,
        problem.remedy().unwrap_or_default()
    );
    for (nth, part) in words.split('`').enumerate() {
        if nth % 2 == 0 {
            text.extend(part.chars().filter(|c| !c.is_ascii_digit()));
        }
        text.push('`');
    }
    text
}

fn one_for_all(alike: &[&Problem]) -> Problem {
    let files: BTreeSet<&Utf8Path> = alike.iter().map(|problem| problem.file()).collect();
    let mut first = alike[0].clone();
    let more = alike.len() - 1;
    let files = files.len();
    first.message = format!(
        "{}; and {more} more like this, in {files} files together (all by --json)",
        first.message
    );
    first
}

/// The problems as plain lines, each with its line end.
pub fn lines(problems: &[Problem]) -> String {
    problems.iter().fold(String::new(), |text, problem| {
        text + &problem.to_line() + "\n"
    })
}

/// The problems with the lines of the files that they stand in. Whether there is colour is the handler's matter.
pub fn render(problems: &[Problem], handler: &GraphicalReportHandler) -> String {
    let mut text = String::new();
    for problem in problems {
        if handler.render_report(&mut text, problem).is_err() {
            // A renderer that fails on a place still leaves the words.
            text += &problem.to_line();
        }
        text.push('\n');
    }
    text
}

/// Collects what is wrong with one file.
#[derive(Debug)]
pub(super) struct Report<'a> {
    source: &'a Source,
    pub(super) problems: Vec<Problem>,
    /// States of the file's matchers so far.
    states: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self {
            source,
            problems: Vec::new(),
            states: 0,
        }
    }

    /// Counts the states of one more matcher; gives those of all.
    pub(super) fn count_states(&mut self, states: usize) -> usize {
        self.states = self.states.saturating_add(states);
        self.states
    }

    /// Adds an error; the answer takes a remedy, or makes it a warning.
    pub(super) fn add(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(Problem::at(self.source, span, message));
    }

    pub(super) fn add_with_help(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems
            .push(Problem::at(self.source, span, message).help(help));
    }

    pub(super) fn warn(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems
            .push(Problem::at(self.source, span, message).help(help).warning());
    }

    /// The problems in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(Problem::offset);
        self.problems
    }
}

#[cfg(test)]
mod tests {
    use miette::GraphicalTheme;

    use super::*;

    fn source(text: &str) -> Source {
        Source {
            path: "pack/suite.toml".into(),
            text: text.into(),
        }
    }

    #[test]
    fn many_warnings_of_one_kind_are_one_and_errors_come_first() {
        let of = |file: &str, message: String| Problem::of_file(file.into(), message);
        let mut problems: Vec<Problem> = (1..=5)
            .map(|number| {
                of(
                    &format!("s{}", number / 2),
                    format!("the intent `i{number}` has no matcher"),
                )
                .warning()
            })
            .collect();
        problems.extend((1..=4).map(|number| of("s0", format!("{number} of its words")).warning()));
        problems.extend((1..=3).map(|number| of("s0", format!("no tool `t{number}`")).warning()));
        problems.extend((1..=4).map(|number| of("s9", format!("the id `{number}` stands twice"))));
        assert_eq!(
            lines(&grouped(&problems)),
            "s9: the id `1` stands twice
s9: the id `2` stands twice
s9: the id `3` stands twice
s9: the id `4` stands twice
s0: warning: no tool `t1`
s0: warning: no tool `t2`
s0: warning: no tool `t3`
s0: warning: 1 of its words; and 3 more like this, in 1 files together (all by --json)
s0: warning: the intent `i1` has no matcher; and 4 more like this, in 3 files together (all by --json)
"
        );
    }

    #[test]
    fn names_file_line_and_column_in_characters() {
        let problem = Problem::at(&source("a = 1\né = b\n"), 11..12, "no value").help("write one");
        assert_eq!(
            problem.to_line(),
            "pack/suite.toml:2:5: no value (write one)"
        );
        assert_eq!((problem.line(), problem.column()), (Some(2), Some(5)));
    }

    #[test]
    fn survives_spans_outside_of_the_text_and_within_a_character() {
        assert_eq!(
            Problem::at(&source("é"), 1..9, "x").to_line(),
            "pack/suite.toml:1:1: x"
        );
        assert_eq!(
            Problem::at(&source(""), 5..9, "x").to_line(),
            "pack/suite.toml:1:1: x"
        );
    }

    #[test]
    fn shows_the_line_that_is_wrong() {
        let problem = Problem::at(
            &source("version = 1\ntitel = \"x\"\n"),
            12..17,
            "unknown key `titel`",
        )
        .help("did you mean `title`?");
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
        insta::assert_snapshot!(render(&[problem], &handler), @r#"
         × unknown key `titel`
          ╭─[pack/suite.toml:2:1]
        1 │ version = 1
        2 │ titel = "x"
          · ─────
          ╰────
         help: did you mean `title`?
        "#);
    }

    #[test]
    fn marks_warnings() {
        let problem = Problem::of_file("a.toml".into(), "odd").warning();
        assert_eq!(problem.to_line(), "a.toml: warning: odd");
        assert!(!problem.is_error());
    }

    #[test]
    fn shows_no_control_characters_of_a_pack() {
        let problem =
            Problem::at(&source("a = \u{1b}\u{9b}x\n"), 4..5, "bad\n\u{1b}[2J").help("\u{7}");
        assert_eq!(
            problem.to_line(),
            "pack/suite.toml:1:5: bad \\u{1b}[2J (\\u{7})"
        );
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
        let text = render(&[problem], &handler);
        assert!(
            text.contains("a = ?\u{bf}x") && !text.contains(['\u{1b}', '\u{9b}', '\u{7}']),
            "{text}"
        );
    }

    #[test]
    fn shows_nothing_that_turns_a_line_around_or_has_no_width() {
        let said = "it said \u{202e}\u{2066}\u{200b}\u{feff}, \u{2714}\u{fe0f}";
        let problem = Problem::at(&source("a = \u{202e}x\n"), 4..7, said);
        assert_eq!(
            problem.to_line(),
            "pack/suite.toml:1:5: it said \\u{202e}\\u{2066}\\u{200b}\\u{feff}, \u{2714}\u{fe0f}"
        );
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
        let text = render(&[problem], &handler);
        assert!(
            text.contains("a = \u{fffd}x") && !text.contains(['\u{202e}', '\u{2066}', '\u{200b}']),
            "{text}"
        );
    }
}
