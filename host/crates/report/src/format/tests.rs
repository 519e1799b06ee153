use super::*;
use crate::sheet::{Best, Cell, Column, Figure, Row, Sheet};

fn scores(name: &str, proc: f64, comp: Option<f64>) -> Vec<Cell> {
    vec![
        Cell::words(name),
        Cell::one(Some(Figure::new(proc, Some(1.25), 1))),
        Cell::Figures(vec![
            Some(Figure::new(proc, None, 1)),
            comp.map(|comp| Figure::new(comp, None, 1)),
        ]),
    ]
}

fn sheets() -> Vec<Sheet> {
    let columns = vec![
        Column::words("Model"),
        Column::figure("Proc", Best::Highest),
        Column::scores("law_trainee"),
    ];
    let mut sheet = Sheet::new("table-1", "Table 1: Results (%)", columns);
    sheet.rows = vec![
        Row::measured(scores("=a|b & c_1", 70.0, Some(50.0))),
        Row::measured(scores("other", 60.5, None)),
        Row::published(scores("Known", 80.0, Some(90.0))),
    ];
    sheet.rank_columns();
    sheet.notes = vec!["A note.".into()];
    let missing = Sheet::missing("table-4", "Table 4: Skills", "There are none.".into());
    vec![sheet, missing]
}

fn check(format: Format, expected: &str) {
    assert_eq!(render(format, &sheets(), Some("Scripted.")), expected);
}

#[test]
fn text_marks_the_best_and_sets_the_published_apart() {
    check(
        Format::Text,
        "\
Scripted.

Table 1: Results (%)
┌─────────────────────────────────────────────────────────────┐
│ Model                                   Proc    law_trainee │
│                                                 Proc / Comp │
╞═════════════════════════════════════════════════════════════╡
│ =a|b & c_1                       70.0 ± 1.2¹   70.0¹ / 50.0 │
│ other                            60.5 ± 1.2²      60.5² / - │
│ (published, not measured here)                              │
│ Known                             80.0 ± 1.2    80.0 / 90.0 │
└─────────────────────────────────────────────────────────────┘
¹ best, ² second best
A note.

Table 4: Skills
There are none.
",
    );
}

#[test]
fn markdown_is_a_table_whose_cells_hold_no_markup() {
    check(
        Format::Markdown,
        "\
> **Scripted.**

## Table 1: Results (%)

| Model | Proc | law\\_trainee Proc / Comp |
| --- | ---: | ---: |
| =a\\|b &amp; c\\_1 | **70.0 ± 1.2** | **70.0** / 50.0 |
| other | *60.5 ± 1.2* | *60.5* / - |
| *(published, not measured here)* |  |  |
| Known | 80.0 ± 1.2 | 80.0 / 90.0 |

**Best**, *second best*.

A note.

## Table 4: Skills

There are none.
",
    );
}

#[test]
fn csv_has_a_column_for_each_figure_and_no_formula() {
    check(
        Format::Csv,
        "\
Table 1: Results (%)
Model,Proc,Proc std,Proc rank,law_trainee Proc,law_trainee Proc rank,law_trainee Comp,remark
'=a|b & c_1,70,1.25,1,70,1,50,Scripted.
other,60.5,1.25,2,60.5,2,,Scripted.
Known,80,1.25,,80,,90,\"published, not measured here\"

Table 4: Skills
missing
There are none.
",
    );
}

#[test]
fn latex_is_escaped_and_underlines_the_second_best() {
    check(
        Format::Latex,
        "\
% Needs \\usepackage{booktabs,longtable}.

\\noindent\\textbf{Scripted.}

\\noindent \\textbf{Table 1: Results (\\%)}
\\begin{longtable}{lrr}
\\toprule
Model & Proc & law\\_trainee Proc / Comp \\\\
\\midrule
\\endhead
=a\\textbar{}b \\& c\\_1 & \\textbf{70.0 $\\pm$ 1.2} & \\textbf{70.0} / 50.0 \\\\
other & \\underline{60.5 $\\pm$ 1.2} & \\underline{60.5} / - \\\\
\\midrule
\\multicolumn{3}{l}{\\emph{published{,} not measured here}} \\\\
Known & 80.0 $\\pm$ 1.2 & 80.0 / 90.0 \\\\
\\bottomrule
\\end{longtable}
\\noindent A note.\\par

\\noindent \\textbf{Table 4: Skills}: There are none.
",
    );
}

#[test]
fn json_holds_values_ranks_and_origins() {
    let text = render(Format::Json, &sheets(), None);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &value["tables"][0]["rows"][0];
    assert_eq!(value["banner"], serde_json::Value::Null);
    assert_eq!(row["origin"], "measured");
    assert_eq!(row["cells"][1]["figures"][0]["rank"], "best");
    assert_eq!(row["cells"][1]["figures"][0]["std"], 1.25);
    assert_eq!(value["tables"][1]["missing"], "There are none.");
}
