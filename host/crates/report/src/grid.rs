//! An empty table of the terminal: its lines, and how wide it is. What stands in it is for others.

use comfy_table::{ContentArrangement, Table, presets};

/// Columns of a terminal that nobody has made wider: no table is wider, on a terminal or off.
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
