//! An empty table of the terminal: its lines, and how wide it is. What stands in it is for others.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Columns of a terminal that nobody has made wider. No table is wider, on a terminal or off, unless words that must stay
/// whole make it so.
pub const WIDTH: u16 = 80;

/// A table that is no wider than a terminal: it is wrapped where it would be.
pub fn fitting() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table
}

/// Breaks no word in these columns, counted from 0: an id is copied, and half a number is another one. Called when all rows
/// are there.
pub fn keep_words(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for at in columns {
        let rows = table.header().into_iter().chain(table.row_iter());
        let cells = rows.filter_map(|row| row.cell_iter().nth(at));
        let longest = cells.map(|cell| longest_word(&cell.content())).max();
        let Some(column) = table.column_mut(at) else {
            continue;
        };
        let padding = column.padding_width();
        let width = longest.unwrap_or_default().saturating_add(padding);
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
