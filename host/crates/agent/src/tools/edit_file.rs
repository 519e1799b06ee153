//! `edit_file`: replaces a passage of a text file. The passage is looked for as it is written, then
//! by whole lines without regard to white space; when it is not there, the answer shows what is
//! nearest to it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;
use similar::TextDiff;

use super::{Refusal, count, file_path, read_text, refusal};
use pibench_core::form::{composed, other_form};
use pibench_core::path::WorkspacePath;
use pibench_sandbox::workspace::Workspace;

pub(super) const DESCRIPTION: &str = "\
    old_text must stand there exactly once, unless replace_all; white space may differ.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    /// Without line numbers.
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

/// How many places an ambiguous passage is shown at.
const SHOWN_PLACES: usize = 10;

/// The most places that one call replaces.
const MAX_PLACES: usize = 10_000;

/// The longest passage and the largest file, in lines and bytes, that are compared line by line
/// when the passage does not stand there as written: the time is that of their product, and an
/// agent chooses both.
const MAX_COMPARED_LINES: usize = 200;
const MAX_COMPARED_BYTES: usize = 1 << 20;

/// The widest indentation that is carried over, in bytes: it multiplies with the lines of the
/// replacement.
const MAX_INDENTATION: usize = 200;

/// The most of a diff that is shown, in characters.
const MAX_DIFF: usize = 4_000;

/// The share of words in common (Dice) below which nothing counts as near.
const NEAR: f64 = 0.4;

pub(crate) fn run(workspace: &mut Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments {
        path,
        old_text,
        new_text,
        replace_all,
    } = arguments;
    let path = file_path(path)?;
    if old_text.is_empty() {
        return Err(Refusal::new(
            "old_text is empty. Give the passage to replace, or use write_file for a whole file"
                .into(),
        ));
    }
    if old_text == new_text {
        return Err(Refusal::new(
            "old_text and new_text are equal. Nothing would change".into(),
        ));
    }
    let text = read_text(workspace, &path)?;
    let Places {
        ranges,
        whole_lines,
    } = find(&text, old_text);
    if ranges.is_empty() {
        return Err(miss(&path, &text, old_text));
    }
    if ranges.len() > 1 && !replace_all {
        return Err(ambiguous(&path, &text, &ranges));
    }
    if ranges.len() > MAX_PLACES {
        return Err(Refusal::new(format!(
            "old_text stands in more than {MAX_PLACES} places in {path}. Add lines around it, or \
             write the file anew"
        )));
    }
    let new_text = with_line_ends_of(&text, new_text);
    let replacement = |found: &str| {
        if whole_lines {
            Cow::Owned(indented(&new_text, old_text, found))
        } else {
            Cow::Borrowed(new_text.as_str())
        }
    };
    let most = usize::try_from(workspace.view().quota().file_bytes).unwrap_or(usize::MAX);
    let edited = replaced(&text, &ranges, replacement, most).ok_or_else(|| {
        Refusal::new(format!(
            "{path} would have more than {most} bytes, the most in one file. Insert less"
        ))
    })?;
    workspace
        .write(&path, edited.as_bytes())
        .map_err(|error| refusal(&error))?;
    Ok(format!(
        "Edited {path}: replaced {} (at line {})",
        count(ranges.len(), "passage"),
        lines_of(&text, &ranges)
    ))
}

/// Where a passage stands.
struct Places {
    /// In bytes, in order, without overlaps; one more than `MAX_PLACES` at most.
    ranges: Vec<Range<usize>>,
    /// The passage was found as whole lines, without regard to white space.
    whole_lines: bool,
}

/// The exact places of the passage, or else those that differ in white space.
fn find(text: &str, old: &str) -> Places {
    let ranges: Vec<Range<usize>> = text
        .match_indices(old)
        .map(|(start, found)| start..start + found.len())
        .take(MAX_PLACES + 1)
        .collect();
    if !ranges.is_empty() {
        return Places {
            ranges,
            whole_lines: false,
        };
    }
    Places {
        ranges: find_lines(text, old),
        whole_lines: true,
    }
}

/// The places where whole lines equal those of the passage but for white space.
fn find_lines(text: &str, old: &str) -> Vec<Range<usize>> {
    let wanted: Vec<String> = old.trim_matches('\n').lines().map(squeezed).collect();
    let comparable = text.len() <= MAX_COMPARED_BYTES && wanted.len() <= MAX_COMPARED_LINES;
    if !comparable || wanted.iter().all(String::is_empty) {
        return Vec::new();
    }
    let lines = line_ranges(text);
    let squeezed: Vec<String> = lines
        .iter()
        .map(|range| squeezed(&text[range.clone()]))
        .collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at + wanted.len() <= lines.len() && ranges.len() <= MAX_PLACES {
        if squeezed[at..at + wanted.len()] == wanted[..] {
            ranges.push(lines[at].start..lines[at + wanted.len() - 1].end);
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    ranges
}

/// The lines as byte ranges without their ends.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let base = text.as_ptr() as usize;
    text.lines()
        .map(|line| {
            let start = line.as_ptr() as usize - base;
            start..start + line.len()
        })
        .collect()
}

/// The line with each run of white space as one blank, and none at its ends.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `new` for whole lines: without line ends around it, and moved from the passage's indentation to
/// that of the file.
fn indented(new: &str, old: &str, found: &str) -> String {
    let (from, to) = (indentation(old), indentation(found));
    let new = new.trim_matches(['\r', '\n']);
    if to.len() > MAX_INDENTATION {
        return new.to_owned();
    }
    let moved = |line: &str| match line.strip_prefix(from) {
        Some(rest) if !line.trim().is_empty() => format!("{to}{rest}"),
        _ => line.to_owned(),
    };
    new.split('\n').map(moved).collect::<Vec<_>>().join("\n")
}

/// The white space before the first line that has anything else.
fn indentation(text: &str) -> &str {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    &line[..line.len() - line.trim_start().len()]
}

/// `new` with the line ends of a file that has `\r\n` throughout.
fn with_line_ends_of(text: &str, new: &str) -> String {
    let ends = text.matches('\n').count();
    if ends > 0 && text.matches("\r\n").count() == ends {
        return new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    new.to_owned()
}

/// The text with each range replaced; None where it would have more than `most` bytes.
fn replaced<'a>(
    text: &str,
    ranges: &[Range<usize>],
    replacement: impl Fn(&str) -> Cow<'a, str>,
    most: usize,
) -> Option<String> {
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        edited.push_str(&text[done..range.start]);
        edited.push_str(&replacement(&text[range.clone()]));
        done = range.end;
        if edited.len() > most {
            return None;
        }
    }
    edited.push_str(&text[done..]);
    (edited.len() <= most).then_some(edited)
}

/// The numbers of the lines where the ranges begin, the first few of them.
fn lines_of(text: &str, ranges: &[Range<usize>]) -> String {
    let number = |range: &Range<usize>| (text[..range.start].matches('\n').count() + 1).to_string();
    let mut numbers: Vec<String> = ranges.iter().take(SHOWN_PLACES).map(number).collect();
    if ranges.len() > SHOWN_PLACES {
        numbers.push("...".into());
    }
    numbers.join(", ")
}

fn ambiguous(path: &WorkspacePath, text: &str, ranges: &[Range<usize>]) -> Refusal {
    Refusal::new(format!(
        "old_text stands {} times in {path} (at line {}). Add lines around it until it is the \
         only place, or set replace_all to true",
        ranges.len(),
        lines_of(text, ranges)
    ))
}

fn miss(path: &WorkspacePath, text: &str, old: &str) -> Refusal {
    if stands_in_another_form(text, old) {
        return Refusal::new(format!(
            "old_text stands in {path} only {}, which looks the same. Edit the file by exec, or write it anew with \
             write_file",
            other_form(old)
        ));
    }
    let near = nearest(text, old)
        .map(|lines| diff(text, old, lines))
        .unwrap_or_default();
    if near.is_empty() {
        return Refusal::new(format!(
            "old_text does not stand in {path}, and nothing there is like it. Look at the file \
             with read_file"
        ));
    }
    Refusal::new(format!(
        "old_text does not stand in {path}. What is nearest to it differs so:\n{near}Give the \
         lines of the file as they are"
    ))
}

/// Whether the passage, which does not stand there, does once letters and their marks are one character in both.
fn stands_in_another_form(text: &str, old: &str) -> bool {
    !text.is_ascii()
        && text.len() <= MAX_COMPARED_BYTES
        && !find(&composed(text), &composed(old)).ranges.is_empty()
}

/// The window of lines, as many as the passage has, that has the most words in common with it; None
/// where all have few.
fn nearest(text: &str, old: &str) -> Option<Range<usize>> {
    let height = old.lines().count();
    if height > MAX_COMPARED_LINES || text.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let height = height.min(lines.len());
    let mut window = Overlap::new(old);
    let mut best: Option<(f64, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        window.enter(line);
        if at >= height {
            window.leave(lines[at - height]);
        }
        let score = window.score();
        if at + 1 >= height && best.is_none_or(|(high, _)| score > high) {
            best = Some((score, at + 1 - height));
        }
    }
    best.filter(|(score, _)| *score >= NEAR)
        .map(|(_, start)| start..start + height)
}

/// How many words a moving window has in common with a passage, each as often as it stands in both.
/// One pass over the file, whatever the passage: the cost is that of its words.
struct Overlap<'a> {
    /// For each word of the passage, how often it stands there and how often in the window.
    words: HashMap<&'a str, (usize, usize)>,
    passage: usize,
    window: usize,
    common: usize,
}

impl<'a> Overlap<'a> {
    fn new(passage: &'a str) -> Self {
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for word in words(passage) {
            counts.entry(word).or_default().0 += 1;
        }
        Self {
            words: counts,
            passage: words(passage).count(),
            window: 0,
            common: 0,
        }
    }

    fn enter(&mut self, line: &str) {
        for word in words(line) {
            self.window += 1;
            if let Some((wanted, here)) = self.words.get_mut(word) {
                *here += 1;
                self.common += usize::from(*here <= *wanted);
            }
        }
    }

    fn leave(&mut self, line: &str) {
        for word in words(line) {
            self.window -= 1;
            if let Some((wanted, here)) = self.words.get_mut(word) {
                self.common -= usize::from(*here <= *wanted);
                *here -= 1;
            }
        }
    }

    /// Dice's coefficient, 0 to 1.
    fn score(&self) -> f64 {
        let both = self.passage + self.window;
        if both == 0 {
            0.0
        } else {
            2.0 * self.common as f64 / both as f64
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Lines of a passage that are compared with the file: the time is quadratic in the worst case.
const MAX_COMPARED: usize = 2000;

/// The unified diff from the passage to these lines of the file.
fn diff(text: &str, old: &str, lines: Range<usize>) -> String {
    if lines.len() > MAX_COMPARED {
        return format!("(not shown: above {MAX_COMPARED} lines)\n");
    }
    let found = ended(text.lines().skip(lines.start).take(lines.len()));
    let old = ended(old.lines());
    let place = format!("the file, lines {}-{}", lines.start + 1, lines.end);
    let diff = TextDiff::from_lines(old.as_str(), found.as_str());
    let unified = diff.unified_diff().header("old_text", &place).to_string();
    if unified.chars().count() <= MAX_DIFF {
        return unified;
    }
    let mut head: String = unified.chars().take(MAX_DIFF).collect();
    head.push_str("\n... (cut)\n");
    head
}

/// The lines, each with its end.
fn ended<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Builtin;
    use super::super::tests::{check_refused, get, put, workspace};
    use super::*;

    fn arguments(old: &str, new: &str) -> Value {
        json!({"path": "a", "old_text": old, "new_text": new})
    }

    fn check_edit(content: &str, arguments: &Value, expected: &str) {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", content);
        Builtin::EditFile.run(&mut workspace, arguments).unwrap();
        assert_eq!(get(&workspace, "a"), expected);
    }

    fn check_no_edit(content: &str, arguments: &Value, expected: &str) {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", content);
        check_refused(&mut workspace, Builtin::EditFile, arguments, expected);
        assert_eq!(get(&workspace, "a"), content);
    }

    #[test]
    fn an_exact_passage_is_replaced() {
        check_edit("one two three\n", &arguments("two", "2"), "one 2 three\n");
        check_edit("a\nb\nc\n", &arguments("a\nb", "x"), "x\nc\n");
        check_edit("a\nb\n", &arguments("b\n", ""), "a\n");
    }

    #[test]
    fn the_answer_says_how_many_passages_at_which_lines() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", "x\ny\nx\n");
        let mut arguments = arguments("x", "z");
        arguments["replace_all"] = true.into();
        let answer = Builtin::EditFile.run(&mut workspace, &arguments).unwrap();
        assert_eq!(answer, "Edited a: replaced 2 passages (at line 1, 3)");
        assert_eq!(get(&workspace, "a"), "z\ny\nz\n");
    }

    #[test]
    fn an_ambiguous_passage_asks_for_more_context() {
        let expected = "old_text stands 2 times in a (at line 1, 3). Add lines around it";
        check_no_edit("x\ny\nx\n", &arguments("x", "z"), expected);
        check_edit("x\ny\nx\n", &arguments("y\nx", "y\nz"), "x\ny\nz\n");
        check_no_edit(
            "  x  1\ny\n\tx 1\n",
            &arguments("x   1", "z"),
            "stands 2 times",
        );
    }

    #[test]
    fn many_places_are_not_all_told() {
        let expected = "stands 50 times in a (at line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)";
        check_no_edit(&"x\n".repeat(50), &arguments("x", "z"), expected);
    }

    #[test]
    fn lines_that_differ_in_white_space_are_taken() {
        check_edit(
            "a\nfoo  bar\nb\n",
            &arguments("foo bar", "baz"),
            "a\nbaz\nb\n",
        );
        check_edit("a  \nb\t\nc\n", &arguments("a\nb\n", "x\ny\n"), "x\ny\nc\n");
        check_edit(
            "- one\n- two \n",
            &arguments("\n- one\n- two\n", "- three"),
            "- three\n",
        );
    }

    #[test]
    fn the_replacement_takes_the_indentation_of_the_file() {
        let new = "if a:\n    c()\n\n    d()";
        check_edit(
            "    if a:\n        b()\n",
            &arguments("if a:\n    b()", new),
            "    if a:\n        c()\n\n        d()\n",
        );
        check_edit(
            "\tx = 1\n\ty = 2\n",
            &arguments("  x = 1\n  y = 2", "  x = 3"),
            "\tx = 3\n",
        );
    }

    #[test]
    fn an_exact_passage_goes_before_one_that_differs_in_white_space() {
        check_edit("a  b\na b\n", &arguments("a b", "x"), "a  b\nx\n");
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        check_edit(
            "a\r\nb\r\nc\r\n",
            &arguments("b", "x\ny"),
            "a\r\nx\r\ny\r\nc\r\n",
        );
        check_edit(
            "a\r\nb\r\nc\r\n",
            &arguments("a\nb", "x\ny"),
            "x\r\ny\r\nc\r\n",
        );
    }

    #[test]
    fn a_miss_shows_the_nearest_text_as_a_diff() {
        let content = "intro\n\nThe hearing is on 3 March.\nBring two copies.\n\nend\n";
        let old = "The hearing is on 4 March.\nBring two copies.";
        check_no_edit(
            content,
            &arguments(old, "x"),
            "old_text does not stand in a. What is nearest to it differs so:\n--- old_text\n\
             +++ the file, lines 3-4\n@@ -1,2 +1,2 @@\n\
             -The hearing is on 4 March.\n+The hearing is on 3 March.\n \
             Bring two copies.\nGive the lines",
        );
    }

    #[test]
    fn a_passage_longer_than_the_file_is_compared_with_all_of_it() {
        check_no_edit(
            "alpha beta\n",
            &arguments("alpha beta\ngamma", "x"),
            "lines 1-1",
        );
    }

    #[test]
    fn a_miss_without_anything_like_it_says_so() {
        check_no_edit(
            "alpha\nbeta\n",
            &arguments("gamma delta", "x"),
            "nothing there is like it",
        );
        check_no_edit("", &arguments("gamma", "x"), "nothing there is like it");
        check_no_edit(
            "alpha\n",
            &arguments("+-+", "x"),
            "nothing there is like it",
        );
        check_no_edit(
            "alpha\n\nbeta\n",
            &arguments(" \n ", "x"),
            "nothing there is like it",
        );
    }

    #[test]
    fn a_passage_in_another_unicode_form_is_told_and_not_replaced() {
        let (whole, apart) = ("Stra\u{df}e f\u{fc}r", "Stra\u{df}e fu\u{308}r");
        for (content, old, form) in [
            (apart, whole, "(decomposed there, composed here)"),
            (whole, apart, "(composed there, decomposed here)"),
        ] {
            check_no_edit(
                &format!("The {content} all\n"),
                &arguments(old, "x"),
                &format!("old_text stands in a only in another Unicode form {form}"),
            );
            check_edit(
                &format!("The {content} all\n"),
                &arguments(content, "x"),
                "The x all\n",
            );
        }
        check_no_edit(whole, &arguments("für alle", "x"), "does not stand in a");
    }

    #[test]
    fn a_long_diff_is_cut() {
        let line = |n: usize, end: &str| format!("word{n} {} {end}\n", "same ".repeat(20));
        let content: String = (0..150).map(|n| line(n, "here")).collect();
        let old: String = (0..150).map(|n| line(n, "there")).collect();
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a", &content);
        let Refusal { text, .. } = Builtin::EditFile
            .run(&mut workspace, &arguments(&old, "x"))
            .unwrap_err();
        assert!(text.contains("... (cut)") && text.len() < MAX_DIFF + 500);
    }

    #[test]
    fn an_edit_that_makes_too_much_is_refused_before_it_is_made() {
        let (_folder, mut workspace) = workspace();
        let mut replace = |content: &str, new: &str| {
            put(&mut workspace, "a", content);
            let arguments =
                json!({"path": "a", "old_text": "x", "new_text": new, "replace_all": true});
            Builtin::EditFile.run(&mut workspace, &arguments)
        };
        let many = "x".repeat(MAX_PLACES);
        assert!(replace(&many, "yy").is_ok());
        let Refusal { text, .. } = replace(&many, &"y".repeat(1 << 20)).unwrap_err();
        assert!(
            text.contains("would have more than 67108864 bytes"),
            "{text}"
        );
        let Refusal { text, .. } = replace(&format!("{many}x"), "yy").unwrap_err();
        assert!(text.contains("in more than 10000 places"), "{text}");
    }

    #[test]
    fn what_is_too_large_to_compare_is_still_edited_exactly() {
        let content = format!("{}target  line\n", "line\n".repeat(MAX_COMPARED_BYTES / 5));
        check_no_edit(
            &content,
            &arguments("target line", "x"),
            "nothing there is like it",
        );
        check_edit(
            &content,
            &arguments("target  line", "x"),
            &content.replace("target  line", "x"),
        );
    }

    #[test]
    fn an_edit_of_nothing_is_refused() {
        check_no_edit("a", &arguments("", "x"), "old_text is empty");
        check_no_edit("a", &arguments("a", "a"), "are equal");
    }

    #[test]
    fn a_missing_or_binary_file_is_refused() {
        let (_folder, mut workspace) = workspace();
        check_refused(
            &mut workspace,
            Builtin::EditFile,
            &arguments("x", "y"),
            "no such file",
        );
        workspace.write(&file_path("a").unwrap(), b"x\0").unwrap();
        check_refused(
            &mut workspace,
            Builtin::EditFile,
            &arguments("x", "y"),
            "is a binary file",
        );
    }
}
