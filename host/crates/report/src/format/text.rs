//! Tables for a terminal.

use comfy_table::CellAlignment;

use super::{heading, joined, parts};
use crate::escape::line;
use crate::grid::{fitting_in, paragraph_in};
use crate::sheet::{Cell, Column, Figure, Rank, Sheet};

pub(super) fn render(sheets: &[Sheet], banner: Option<&str>, width: u16) -> String {
    let mut parts: Vec<String> = banner.iter().map(|banner| told(banner, width)).collect();
    parts.extend(sheets.iter().map(|one| sheet(one, width)));
    parts.join("\n\n") + "\n"
}

fn sheet(sheet: &Sheet, width: u16) -> String {
    let mut text = told(&sheet.title, width);
    if let Some(missing) = &sheet.missing {
        return format!("{text}\n{}", told(missing, width));
    }
    let cells: Vec<Vec<String>> = sheet
        .rows
        .iter()
        .map(|row| row.cells.iter().map(cell).collect())
        .collect();
    let ranked = cells.iter().flatten().any(|cell| cell.contains(['¹', '²']));
    for columns in pages(sheet, &cells, width) {
        text = format!("{text}\n{}", page(sheet, &cells, &columns, width));
    }
    if ranked {
        text.push_str("\n¹ best, ² second best");
    }
    for note in &sheet.notes {
        text = format!("{text}\n{}", told(note, width));
    }
    text
}

/// Words beside a table, as wide as it may be.
fn told(text: &str, width: u16) -> String {
    paragraph_in(&line(text), width)
}

/// The title of a column, and its parts below it.
fn title(column: &Column) -> String {
    match parts(column) {
        Some(parts) => format!("{}\n{parts}", line(&column.title)),
        None => line(&column.title),
    }
}

/// What stands between two columns: a blank on either side, and the line's place.
const BETWEEN: usize = 3;

/// The columns of each part of a table that is wider than a terminal: the first one, which names the rows, stands in each.
fn pages(sheet: &Sheet, cells: &[Vec<String>], width: u16) -> Vec<Vec<usize>> {
    let room = usize::from(width);
    let widest = |at: usize| {
        let title = title(&sheet.columns[at]);
        let own = cells.iter().filter_map(|row| row.get(at));
        let own = own.map(|cell| cell.chars().count());
        let own = own.chain(title.lines().map(|line| line.chars().count()));
        own.max().unwrap_or_default() + BETWEEN
    };
    let first = if sheet.columns.is_empty() {
        0
    } else {
        widest(0)
    };
    let mut pages: Vec<Vec<usize>> = vec![vec![0]];
    let mut used = first;
    for at in 1..sheet.columns.len() {
        let width = widest(at);
        let last = pages.len() - 1;
        if used + width >= room && pages[last].len() > 1 {
            pages.push(vec![0, at]);
            used = first + width;
        } else {
            pages[last].push(at);
            used += width;
        }
    }
    pages
}

fn page(sheet: &Sheet, cells: &[Vec<String>], columns: &[usize], width: u16) -> String {
    let mut table = fitting_in(width);
    table.set_header(columns.iter().map(|at| title(&sheet.columns[*at])));
    for (column, at) in table.column_iter_mut().zip(columns) {
        if !sheet.columns[*at].parts.is_empty() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for (row, own) in cells.iter().enumerate() {
        if let Some(heading) = heading(sheet, row) {
            table.add_row([format!("({heading})")]);
        }
        let shown = columns.iter().map(|at| own.get(*at).cloned());
        table.add_row(shown.map(Option::unwrap_or_default));
    }
    table.to_string()
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
