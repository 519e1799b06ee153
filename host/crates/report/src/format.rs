//! Sheets as bytes: for terminals, documents, spreadsheets and programs. Each format escapes foreign text by itself.

mod csv;
mod latex;
mod markdown;
mod text;

use schemars::JsonSchema;
use serde::Serialize;

use super::escape;
use super::grid::WIDTH;
use super::sheet::{Column, Figure, Sheet};

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    Markdown,
    /// One table after the other, each after a line with its title.
    Csv,
    Json,
    /// To be read by `\input`; it needs the packages `booktabs` and `longtable`.
    Latex,
}

/// All tables in one text, as it is written to a file. `banner` stands above them.
pub fn render(format: Format, sheets: &[Sheet], banner: Option<&str>) -> String {
    render_in(format, sheets, banner, WIDTH)
}

/// The same for a terminal with so many columns.
pub fn render_in(format: Format, sheets: &[Sheet], banner: Option<&str>, width: u16) -> String {
    match format {
        Format::Text => text::render(sheets, banner, width),
        Format::Markdown => markdown::render(sheets, banner),
        Format::Csv => csv::render(sheets, banner),
        Format::Json => json_text(sheets, banner),
        Format::Latex => latex::render(sheets, banner),
    }
}

/// One table as a CSV file.
pub fn csv_file(sheet: &Sheet, banner: Option<&str>) -> String {
    csv::sheet(sheet, banner)
}

/// What `report --format json` prints, and `tables.json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TablesFile<'a> {
    /// 1.
    version: u32,
    /// What is to be said above all of them.
    banner: Option<&'a str>,
    tables: &'a [Sheet],
}

fn json_text(sheets: &[Sheet], banner: Option<&str>) -> String {
    let tables = TablesFile {
        version: 1,
        banner,
        tables: sheets,
    };
    let text = serde_json::to_string_pretty(&tables).unwrap_or_default();
    format!("{}\n", escape::json(&text))
}

/// The names of a column's parts, where there are several.
fn parts(column: &Column) -> Option<String> {
    let names: Vec<&str> = column.parts.iter().map(|part| part.name).collect();
    (names.len() > 1).then(|| names.join(" / "))
}

/// A column's title with the names of its parts.
fn title(column: &Column) -> String {
    match parts(column) {
        Some(parts) => format!("{} {parts}", column.title),
        None => column.title.clone(),
    }
}

/// Several figures of one cell, each as `show` writes it.
fn joined(figures: &[Option<Figure>], show: impl Fn(&Figure) -> String) -> String {
    if figures.iter().all(Option::is_none) {
        return "-".into();
    }
    let shown: Vec<String> = figures
        .iter()
        .map(|figure| figure.as_ref().map_or_else(|| "-".into(), &show))
        .collect();
    shown.join(" / ")
}

/// What stands above a row that opens a block of the table.
fn heading(sheet: &Sheet, at: usize) -> Option<&'static str> {
    let origin = sheet.rows[at].origin;
    let opens = at == 0 || sheet.rows[at - 1].origin != origin;
    origin.heading().filter(|_| opens)
}

#[cfg(test)]
mod tests;
