//! Tables for a terminal.

use comfy_table::{CellAlignment, Table, presets};

use super::{heading, joined, parts};
use crate::escape::line;
use crate::sheet::{Cell, Figure, Rank, Sheet};

pub(super) fn render(sheets: &[Sheet], banner: Option<&str>) -> String {
    let mut parts: Vec<String> = banner.iter().map(|banner| line(banner)).collect();
    parts.extend(sheets.iter().map(sheet));
    parts.join("\n\n") + "\n"
}

fn sheet(sheet: &Sheet) -> String {
    let mut text = line(&sheet.title);
    if let Some(missing) = &sheet.missing {
        return format!("{text}\n{}", line(missing));
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    // The parts stand below the title: tables are wide enough.
    table.set_header(sheet.columns.iter().map(|column| match parts(column) {
        Some(parts) => format!("{}\n{parts}", line(&column.title)),
        None => line(&column.title),
    }));
    for (column, of) in table.column_iter_mut().zip(&sheet.columns) {
        if !of.parts.is_empty() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut ranked = false;
    for (at, row) in sheet.rows.iter().enumerate() {
        if let Some(heading) = heading(sheet, at) {
            table.add_row([format!("({heading})")]);
        }
        let cells: Vec<String> = row.cells.iter().map(cell).collect();
        ranked |= cells.iter().any(|cell| cell.contains(['¹', '²']));
        table.add_row(cells);
    }
    text = format!("{text}\n{table}");
    if ranked {
        text.push_str("\n¹ best, ² second best");
    }
    for note in &sheet.notes {
        text = format!("{text}\n{}", line(note));
    }
    text
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Words(text) => line(text),
        Cell::Count(count) => count.to_string(),
        Cell::Figures(figures) => joined(figures, marked),
    }
}

fn marked(figure: &Figure) -> String {
    let mark = match figure.rank {
        Some(Rank::Best) => "¹",
        Some(Rank::Second) => "²",
        None => "",
    };
    format!("{}{mark}", figure.text())
}
