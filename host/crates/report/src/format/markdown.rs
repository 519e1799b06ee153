//! Tables as GitHub's Markdown: best in bold, second best in italics.

use super::{heading, joined, title};
use crate::escape::markdown as escape;
use crate::sheet::{Cell, Figure, Rank, Sheet};

pub(super) fn render(sheets: &[Sheet], banner: Option<&str>) -> String {
    let mut parts: Vec<String> = banner
        .iter()
        .map(|banner| format!("> **{}**", escape(banner)))
        .collect();
    parts.extend(sheets.iter().map(sheet));
    parts.join("\n\n") + "\n"
}

fn sheet(sheet: &Sheet) -> String {
    let title_line = format!("## {}", escape(&sheet.title));
    if let Some(missing) = &sheet.missing {
        return format!("{title_line}\n\n{}", escape(missing));
    }
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let titles = sheet.columns.iter().map(|column| escape(&title(column)));
    let rule = sheet.columns.iter().map(|column| {
        if column.parts.is_empty() {
            "---".into()
        } else {
            "---:".into()
        }
    });
    let mut lines = vec![row(titles.collect()), row(rule.collect())];
    for (at, one) in sheet.rows.iter().enumerate() {
        if let Some(heading) = heading(sheet, at) {
            let mut cells = vec![String::new(); sheet.columns.len()];
            cells[0] = format!("*({heading})*");
            lines.push(row(cells));
        }
        lines.push(row(one.cells.iter().map(cell).collect()));
    }
    let mut parts = vec![title_line, lines.join("\n")];
    if lines.iter().any(|line| line.contains("**")) {
        parts.push("**Best**, *second best*.".into());
    }
    parts.extend(sheet.notes.iter().map(|note| escape(note)));
    parts.join("\n\n")
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Words(text) => escape(text),
        Cell::Count(count) => count.to_string(),
        Cell::Figures(figures) => joined(figures, marked),
    }
}

fn marked(figure: &Figure) -> String {
    let text = figure.text();
    match figure.rank {
        Some(Rank::Best) => format!("**{text}**"),
        Some(Rank::Second) => format!("*{text}*"),
        None => text,
    }
}
