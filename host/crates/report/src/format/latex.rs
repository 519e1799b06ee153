//! Tables for a LaTeX document: best in bold, second best underlined, as in the paper.

use super::{heading, joined, title};
use crate::escape::latex as escape;
use crate::sheet::{Cell, Column, Figure, Rank, Sheet};

pub(super) fn render(sheets: &[Sheet], banner: Option<&str>) -> String {
    let mut parts = vec!["% Needs \\usepackage{booktabs,longtable}.".to_owned()];
    parts.extend(
        banner
            .iter()
            .map(|banner| format!("\\noindent\\textbf{{{}}}", escape(banner))),
    );
    parts.extend(sheets.iter().map(sheet));
    parts.join("\n\n") + "\n"
}

fn sheet(sheet: &Sheet) -> String {
    // The paper's number is its own; the document numbers its tables by itself.
    let caption = format!("\\textbf{{{}}}", escape(&sheet.title));
    if let Some(missing) = &sheet.missing {
        return format!("\\noindent {caption}: {}", escape(missing));
    }
    let row = |cells: Vec<String>| format!("{} \\\\", cells.join(" & "));
    let titles = sheet.columns.iter().map(|column| escape(&title(column)));
    let align: String = sheet.columns.iter().map(alignment).collect();
    let mut lines = vec![
        format!("\\noindent {caption}"),
        format!("\\begin{{longtable}}{{{align}}}"),
        "\\toprule".into(),
        row(titles.collect()),
        "\\midrule".into(),
        "\\endhead".into(),
    ];
    for (at, one) in sheet.rows.iter().enumerate() {
        if let Some(heading) = heading(sheet, at) {
            lines.push("\\midrule".into());
            lines.push(format!(
                "\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\",
                sheet.columns.len(),
                escape(heading)
            ));
        }
        lines.push(row(one.cells.iter().map(cell).collect()));
    }
    lines.push("\\bottomrule".into());
    lines.push("\\end{longtable}".into());
    lines.extend(
        sheet
            .notes
            .iter()
            .map(|note| format!("\\noindent {}\\par", escape(note))),
    );
    lines.join("\n")
}

fn alignment(column: &Column) -> char {
    if column.parts.is_empty() { 'l' } else { 'r' }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Words(text) => escape(text),
        Cell::Count(count) => count.to_string(),
        Cell::Figures(figures) => joined(figures, marked),
    }
}

fn marked(figure: &Figure) -> String {
    let text = escape(&figure.text());
    match figure.rank {
        Some(Rank::Best) => format!("\\textbf{{{text}}}"),
        Some(Rank::Second) => format!("\\underline{{{text}}}"),
        None => text,
    }
}
