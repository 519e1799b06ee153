//! An empty table of the terminal: its lines, and how wide it is. What stands in it is for others.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Columns of a terminal that nobody has made wider, and of what is written elsewhere. No table is wider than its terminal, unless
/// words that must stay whole make it so.
pub const WIDTH: u16 = 80;

/// A narrower terminal is written to as if it had so many columns.
const NARROWEST: u16 = 60;

/// A wider one has lines that no eye follows.
const WIDEST: u16 = 200;

/// Columns of the terminal that is written to; 80 where it is none.
pub fn width() -> u16 {
    // What a test expects hangs on no terminal.
    if cfg!(test) {
        return WIDTH;
    }
    let size = console::Term::stdout().size_checked();
    size.map_or(WIDTH, |(_, columns)| columns.clamp(NARROWEST, WIDEST))
}

/// A table that is no wider than a terminal: it is wrapped where it would be.
pub fn fitting() -> Table {
    fitting_in(width())
}

/// The same of a terminal with so many columns.
pub(super) fn fitting_in(width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table
}

/// Whether columns of these widths stand beside each other with nothing wrapped.
pub fn fits(widths: &[u16]) -> bool {
    fit(widths, width())
}

fn fit(widths: &[u16], width: u16) -> bool {
    /// A blank on both sides of each, and the border between them and around all.
    const BESIDE: u16 = 3;
    let all = widths.iter().map(|width| width.saturating_add(BESIDE));
    all.fold(1, u16::saturating_add) <= width
}

/// Breaks no word in these columns, counted from 0: an id is copied, and half a number is another one. Called when all rows
/// are there.
pub fn keep_words(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for at in columns {
        let longest = longest_in(table, at);
        keep(table, at, longest);
    }
}

/// The same in as many of these columns, the first ones first, as there is room for beside the others.
pub fn keep_words_in_room(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    /// What is left to a column whose words are broken.
    const LEAST: u16 = 4;
    let room = table.width().unwrap_or(WIDTH);
    let mut kept = vec![LEAST; table.column_iter().count()];
    for at in columns {
        let longest = longest_in(table, at);
        let before = std::mem::replace(&mut kept[at], longest);
        if fit(&kept, room) {
            keep(table, at, longest);
        } else {
            kept[at] = before;
        }
    }
}

fn longest_in(table: &Table, at: usize) -> u16 {
    let rows = table.header().into_iter().chain(table.row_iter());
    let cells = rows.filter_map(|row| row.cell_iter().nth(at));
    let longest = cells.map(|cell| longest_word(&cell.content())).max();
    longest.unwrap_or_default()
}

fn keep(table: &mut Table, at: usize, longest: u16) {
    if let Some(column) = table.column_mut(at) {
        let width = longest.saturating_add(column.padding_width());
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
}

/// In columns, with the blanks that a line begins with: they are kept.
fn longest_word(text: &str) -> u16 {
    let lines = text.lines().flat_map(|line| {
        let indent = line.len() - line.trim_start().len();
        let words = line.split_whitespace().enumerate();
        words.map(move |(at, word)| word.chars().count() + if at == 0 { indent } else { 0 })
    });
    u16::try_from(lines.max().unwrap_or_default()).unwrap_or(u16::MAX)
}

/// A line for each of these: a name, what it is, and where that comes from, if that is told. What does not fit beside the name
/// goes on below it, broken between words only; a word that is wider than a terminal is a line of its own, so that it can be
/// copied whole.
pub fn listing(rows: &[[String; 3]]) -> String {
    let width = usize::from(width());
    let cells = |at: usize| rows.iter().map(move |row| row[at].chars().count());
    let names = cells(0).max().unwrap_or_default() + 2;
    let short = cells(1)
        .filter(|long| *long <= 12)
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for [name, value, from] in rows {
        let mut lines = vec![format!("{name:<names$}")];
        for word in words(value) {
            let last = lines.last().map_or(0, |line| line.chars().count());
            let long = word.chars().count();
            if last > names && last + 1 + long <= width {
                push(&mut lines, &format!(" {word}"));
            } else if last == names && names + long <= width {
                push(&mut lines, &word);
            } else if names + long <= width {
                lines.push(format!("{:names$}{word}", ""));
            } else {
                lines.push(format!("  {word}"));
            }
        }
        // Short values leave a column for what they come from.
        let last = lines.last().map_or(0, |line| line.chars().count());
        let at = (names + short).max(last) + 2;
        let long = from.chars().count();
        if at + long <= width {
            push(&mut lines, &format!("{:1$}{from}", "", at - last));
        } else if long > 0 && names + long <= width {
            lines.push(format!("{:names$}{from}", ""));
        } else if long > 0 {
            lines.push(format!("  {from}"));
        }
        for line in lines {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// A paragraph of a terminal: broken between words only, so one that is wider stands whole, and so does a command between backticks, which
/// is copied. What goes on below a dash begins beside it. No terminal makes it wider than 80 columns, which are read well.
pub fn paragraph(text: &str) -> String {
    paragraph_in(text, width())
}

/// The same on a terminal with so many columns.
pub(super) fn paragraph_in(text: &str, width: u16) -> String {
    let width = usize::from(width.min(WIDTH));
    let below = if text.starts_with("- ") { "  " } else { "" };
    let mut lines = vec![String::new()];
    for word in words(text) {
        let last = lines.last().map_or(0, |line| line.chars().count());
        let long = word.chars().count();
        if last == 0 {
            push(&mut lines, &word);
        } else if last + 1 + long <= width {
            push(&mut lines, &format!(" {word}"));
        } else {
            lines.push(format!("{below}{word}"));
        }
    }
    lines.join("\n")
}

/// Its words; what stands between backticks is one, if all of them are closed.
fn words(text: &str) -> Vec<String> {
    let is_odd = |word: &str| word.matches('`').count() % 2 == 1;
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_open => last.extend([" ", word]),
            _ => words.push(word.to_owned()),
        }
        is_open ^= is_odd(word);
    }
    if is_open {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    words
}

fn push(lines: &mut [String], more: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_broken_between_words_only() {
        assert_eq!(paragraph(""), "");
        assert_eq!(paragraph("A note."), "A note.");
        let path = format!("/{}", "deep/".repeat(20));
        let five = "abcd ".repeat(16);
        let text = format!("- {five}{path} end");
        let lines = paragraph(&text);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[0].chars().count(), 76);
        assert_eq!(lines[1..], ["  abcd", &format!("  {path}"), "  end"]);
        let text = "a".repeat(39);
        let full = format!("{text} {text}a");
        assert_eq!(paragraph(&full), full, "80 columns");
        assert_eq!(paragraph(&format!("{full}a")).lines().count(), 2);
    }

    #[test]
    fn a_table_is_as_wide_as_its_terminal_and_keeps_the_words_for_which_there_is_room() {
        let words = ["preflight", "openai/a-model-of-some-name", "thinking"];
        let shown = |width: u16| {
            let mut table = fitting_in(width);
            table.set_header(words);
            table.add_row([
                "a b",
                "many words that fill what there is of a wide terminal, and go on below",
                "1",
            ]);
            keep_words_in_room(&mut table, [0, 2, 1]);
            table.to_string()
        };
        let (narrow, wide) = (shown(40), shown(90));
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 40),
            "{narrow}"
        );
        for word in ["preflight", "thinking"] {
            assert!(narrow.contains(word), "{narrow}");
        }
        assert!(!narrow.contains(words[1]), "{narrow}");
        assert!(words.iter().all(|word| wide.contains(word)), "{wide}");
        assert!(wide.lines().any(|line| line.chars().count() > 80), "{wide}");
    }

    #[test]
    fn a_command_is_not_broken() {
        let text = format!(
            "{} (go on with `pibench-host run --resume a`).",
            "word ".repeat(12)
        );
        let broken = paragraph(&text);
        assert_eq!(broken.lines().count(), 2, "{broken}");
        assert!(broken.contains("`pibench-host run --resume a`"), "{broken}");
        let open = paragraph(&text.replace("a`", "a"));
        assert!(open.lines().all(|line| line.len() <= 80), "{open}");
    }

    #[test]
    fn a_value_that_fills_its_line_and_comes_from_nowhere_has_no_empty_one_below() {
        let full = "a".repeat(74);
        let row = ["name".to_owned(), full.clone(), String::new()];
        assert_eq!(listing(&[row]), format!("name  {full}\n"));
    }

    #[test]
    fn a_value_is_broken_between_words_only() {
        let digest = "0123456789abcdef".repeat(4);
        let long = format!("/{}", "deep/".repeat(20));
        let rows = [
            ["seed", "1", "default"],
            ["session.max_turns", "30", "suite.toml:10"],
            ["digest", &digest, "default"],
            [
                "personas",
                r#"["one_of_them", "the_other_of_them", "a_third_of_them"]"#,
                &long,
            ],
            ["plugins", &long, "--plugins"],
        ];
        let text = listing(&rows.map(|row| row.map(str::to_owned)));
        let expected = format!(
            "seed               1   default
session.max_turns  30  suite.toml:10
digest
  {digest}  default
personas           [\"one_of_them\", \"the_other_of_them\", \"a_third_of_them\"]
  {long}
plugins
  {long}
                   --plugins
"
        );
        assert_eq!(text, expected);
    }
}
