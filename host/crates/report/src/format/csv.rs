//! Tables for spreadsheets: one figure to a column, numbers bare, words that look like a formula made text. Where figures
//! come from stands in each row.

use csv::Writer;

use crate::escape::{line, spreadsheet};
use crate::published::MARK;
use crate::sheet::{Cell, Figure, Origin, Rank, Row, Sheet};

pub(super) fn render(sheets: &[Sheet], banner: Option<&str>) -> String {
    let parts: Vec<String> = sheets
        .iter()
        .map(|one| {
            format!(
                "{}{}",
                written(&[vec![spreadsheet(&one.title)]]),
                sheet(one, banner)
            )
        })
        .collect();
    parts.join("\n")
}

/// One table.
pub(super) fn sheet(sheet: &Sheet, banner: Option<&str>) -> String {
    if let Some(missing) = &sheet.missing {
        return written(&[vec!["missing".into()], vec![spreadsheet(missing)]]);
    }
    let columns = columns(sheet);
    let mut header: Vec<String> = columns
        .iter()
        .map(|column| spreadsheet(&column.title))
        .collect();
    header.push("remark".into());
    let mut records = vec![header];
    for row in &sheet.rows {
        let mut record: Vec<String> = columns.iter().map(|column| column.of(row)).collect();
        record.push(match (row.origin, banner) {
            (Origin::Published, _) => MARK.into(),
            (Origin::Measured | Origin::Ablated | Origin::Apart, banner) => {
                spreadsheet(banner.unwrap_or_default())
            }
        });
        records.push(record);
    }
    written(&records)
}

/// What one column of the file shows of a cell.
struct Shown {
    title: String,
    cell: usize,
    /// None: the whole cell.
    figure: Option<(usize, Aspect)>,
}

#[derive(Clone, Copy)]
enum Aspect {
    Value,
    Std,
    Rank,
}

fn columns(sheet: &Sheet) -> Vec<Shown> {
    let mut shown = Vec::new();
    for (cell, column) in sheet.columns.iter().enumerate() {
        if column.parts.is_empty() {
            shown.push(Shown {
                title: column.title.clone(),
                cell,
                figure: None,
            });
        }
        for (part, of) in column.parts.iter().enumerate() {
            let title = [column.title.as_str(), of.name]
                .join(" ")
                .trim_end()
                .to_owned();
            let aspects = [
                (Aspect::Value, ""),
                (Aspect::Std, " std"),
                (Aspect::Rank, " rank"),
            ];
            for (aspect, suffix) in aspects {
                let one = Shown {
                    title: format!("{title}{suffix}"),
                    cell,
                    figure: Some((part, aspect)),
                };
                let used = sheet.rows.iter().any(|row| !one.of(row).is_empty());
                if used || matches!(aspect, Aspect::Value) {
                    shown.push(one);
                }
            }
        }
    }
    shown
}

impl Shown {
    fn of(&self, row: &Row) -> String {
        let Some(cell) = row.cells.get(self.cell) else {
            return String::new();
        };
        match (cell, self.figure) {
            (Cell::Words(text), None | Some((0, Aspect::Value))) => spreadsheet(text),
            (Cell::Count(count), None | Some((0, Aspect::Value))) => count.to_string(),
            (Cell::Figures(figures), Some((part, aspect))) => {
                let figure = figures.get(part).and_then(Option::as_ref);
                figure.map_or_else(String::new, |figure| aspect.of(figure))
            }
            _ => String::new(),
        }
    }
}

impl Aspect {
    fn of(self, figure: &Figure) -> String {
        match self {
            Self::Value => figure.value.to_string(),
            Self::Std => figure.std.map_or_else(String::new, |std| std.to_string()),
            Self::Rank => match figure.rank {
                Some(Rank::Best) => "1".into(),
                Some(Rank::Second) => "2".into(),
                None => String::new(),
            },
        }
    }
}

fn written(records: &[Vec<String>]) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    for record in records {
        // A vector takes every byte, and all records of a table are of one length.
        let _ = writer.write_record(record);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    line_ends(&String::from_utf8_lossy(&bytes))
}

fn line_ends(text: &str) -> String {
    // Cells hold no line ends, so each line is a record.
    text.lines().map(|record| line(record) + "\n").collect()
}
