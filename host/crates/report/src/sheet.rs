//! A table as data: what its cells mean, which are best, and what cannot be told. How it looks is the business of
//! `format`.

use schemars::JsonSchema;
use serde::Serialize;

use super::published::MARK;

/// One table of a report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sheet {
    /// `table-1`: also its file's name.
    pub id: String,
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Sentences below the table.
    pub notes: Vec<String>,
    /// Why there are no rows; a table that a run cannot support says so.
    pub missing: Option<String>,
}

impl Sheet {
    pub fn new(id: &str, title: &str, columns: Vec<Column>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            columns,
            rows: Vec::new(),
            notes: Vec::new(),
            missing: None,
        }
    }

    /// A table that cannot be made, and why.
    pub fn missing(id: &str, title: &str, why: String) -> Self {
        Self {
            missing: Some(why),
            ..Self::new(id, title, Vec::new())
        }
    }

    /// Marks the best and second best of a column's parts, among the rows of each origin that are rivals.
    pub fn rank_columns(&mut self) {
        for at in 0..self.columns.len() {
            for part in 0..self.columns[at].parts.len() {
                let best = self.columns[at].parts[part].best;
                for origin in Origin::ALL {
                    let rows = self.rows.iter_mut();
                    let figures = rows.filter(|row| row.origin == origin && row.is_rival);
                    rank(
                        figures.filter_map(|row| row.cells.get_mut(at)?.figure(part)),
                        best,
                    );
                }
            }
        }
    }

    /// Takes the marks from all that is not published: its runs are no rivals of each other.
    pub fn unrank_measured(&mut self) {
        for row in &mut self.rows {
            for (column, cell) in self.columns.iter().zip(&mut row.cells) {
                if column.origin.unwrap_or(row.origin) == Origin::Published {
                    continue;
                }
                if let Cell::Figures(figures) = cell {
                    for figure in figures.iter_mut().flatten() {
                        figure.rank = None;
                    }
                }
            }
        }
    }

    /// Marks the best and second best of each row, among the columns of each origin that are rivals.
    pub fn rank_rows(&mut self) {
        for row in &mut self.rows {
            for origin in Origin::ALL {
                for part in 0..2 {
                    let columns = self.columns.iter().zip(&mut row.cells);
                    let figures = columns
                        .filter(|(column, _)| column.origin == Some(origin) && column.is_rival)
                        .filter_map(|(_, cell)| cell.figure(part));
                    rank(figures, Best::Highest);
                }
            }
        }
    }
}

/// Where figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// By the runs of this report.
    Measured,
    /// By those of them whose agent was scripted, or whose user or judge was patterns.
    Apart,
    /// By runs of final sessions without those that they depend on.
    Ablated,
    /// By the paper.
    Published,
}

impl Origin {
    /// In the order of tables, where each is a block of its own.
    pub const ALL: [Self; 4] = [Self::Measured, Self::Ablated, Self::Apart, Self::Published];

    /// What stands above its block.
    pub fn heading(self) -> Option<&'static str> {
        match self {
            Self::Measured => None,
            Self::Apart => Some("scripted or by patterns, not comparable"),
            Self::Ablated => Some("without dependencies, no competitors"),
            Self::Published => Some(MARK),
        }
    }
}

/// A column of cells.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    pub title: String,
    /// What a cell's figures are, in their order; empty for a column of words.
    pub parts: Vec<Part>,
    /// Set where columns and not rows are models.
    pub origin: Option<Origin>,
    /// Whether it is ranked among others of its origin.
    #[serde(skip)]
    pub is_rival: bool,
}

/// One figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// Empty where the column's title says it.
    pub name: &'static str,
    pub best: Best,
}

/// Which figure is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Best {
    Highest,
    Lowest,
    /// Nothing is better here.
    None,
}

impl Column {
    pub fn words(title: &str) -> Self {
        Self {
            title: title.into(),
            parts: Vec::new(),
            origin: None,
            is_rival: true,
        }
    }

    pub fn figure(title: &str, best: Best) -> Self {
        Self {
            title: title.into(),
            parts: vec![Part { name: "", best }],
            origin: None,
            is_rival: true,
        }
    }

    /// Proc and Comp in one cell.
    pub fn scores(title: &str) -> Self {
        let part = |name| Part {
            name,
            best: Best::Highest,
        };
        Self {
            title: title.into(),
            parts: vec![part("Proc"), part("Comp")],
            origin: None,
            is_rival: true,
        }
    }

    #[must_use]
    pub fn from(self, origin: Origin) -> Self {
        Self {
            origin: Some(origin),
            ..self
        }
    }
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    pub origin: Origin,
    /// Whether it is ranked among others of its origin.
    #[serde(skip)]
    pub is_rival: bool,
    pub cells: Vec<Cell>,
}

impl Row {
    pub fn measured(cells: Vec<Cell>) -> Self {
        Self {
            origin: Origin::Measured,
            is_rival: true,
            cells,
        }
    }

    pub fn published(cells: Vec<Cell>) -> Self {
        Self {
            origin: Origin::Published,
            is_rival: true,
            cells,
        }
    }
}

/// What stands in a place.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    Words(String),
    Count(u64),
    /// One figure for each part of the column; None where there is nothing to tell.
    Figures(Vec<Option<Figure>>),
}

impl Cell {
    pub fn words(text: impl Into<String>) -> Self {
        Self::Words(text.into())
    }

    pub fn count(count: usize) -> Self {
        Self::Count(count as u64)
    }

    pub fn one(figure: Option<Figure>) -> Self {
        Self::Figures(vec![figure])
    }

    fn figure(&mut self, part: usize) -> Option<&mut Figure> {
        match self {
            Self::Figures(figures) => figures.get_mut(part)?.as_mut(),
            _ => None,
        }
    }
}

/// A number as people read it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    pub value: f64,
    /// Standard deviation over runs.
    pub std: Option<f64>,
    /// Digits after the point.
    pub digits: usize,
    pub rank: Option<Rank>,
}

impl Figure {
    pub fn new(value: f64, std: Option<f64>, digits: usize) -> Self {
        Self {
            value,
            std,
            digits,
            rank: None,
        }
    }

    /// Without its mark.
    pub fn text(&self) -> String {
        let digits = self.digits;
        match self.std {
            Some(std) => format!("{:.digits$} ± {std:.digits$}", self.value),
            None => self.value_text(),
        }
    }

    /// The value alone.
    pub fn value_text(&self) -> String {
        format!("{:.*}", self.digits, self.value)
    }
}

/// A place among others; equal figures share one, and after two that are best the next is the third.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    Best,
    Second,
}

/// Among fewer than two there is no best. Figures that read the same are equal. Where all beside the best are, none is second.
fn rank<'a>(figures: impl Iterator<Item = &'a mut Figure>, best: Best) {
    let mut figures: Vec<&mut Figure> = figures.collect();
    if figures.len() < 2 || best == Best::None {
        return;
    }
    let sign = if best == Best::Highest { -1.0 } else { 1.0 };
    let shown = |figure: &Figure| figure.value_text().parse().unwrap_or(figure.value) * sign;
    let mut values: Vec<f64> = figures.iter().map(|figure| shown(figure)).collect();
    values.sort_by(f64::total_cmp);
    let is_tie_of_the_rest = values.len() > 2 && values.last() <= values.get(1);
    for figure in &mut figures {
        let value = shown(figure);
        figure.rank = match values.iter().position(|&other| other >= value) {
            Some(0) => Some(Rank::Best),
            Some(1) if !is_tie_of_the_rest => Some(Rank::Second),
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(values: &[(Origin, f64)], best: Best) -> Vec<Option<Rank>> {
        let mut sheet = Sheet::new("t", "T", vec![Column::figure("x", best)]);
        sheet.rows = values
            .iter()
            .map(|&(origin, value)| Row {
                origin,
                is_rival: true,
                cells: vec![Cell::one(Some(Figure::new(value, None, 1)))],
            })
            .collect();
        sheet.rank_columns();
        let ranks = sheet.rows.iter_mut();
        ranks
            .map(|row| row.cells[0].figure(0).unwrap().rank)
            .collect()
    }

    #[test]
    fn best_and_second_are_marked_and_ties_share_a_place() {
        use Origin::Measured;
        let ranked = |values: [f64; 4], best| sheet(&values.map(|value| (Measured, value)), best);
        let values = [50.0, 49.96, 40.0, 30.0];
        let (best, second) = (Some(Rank::Best), Some(Rank::Second));
        assert_eq!(ranked(values, Best::Lowest), [None, None, second, best]);
        assert_eq!(ranked(values, Best::None), [None; 4]);
        assert_eq!(sheet(&[(Measured, 50.0)], Best::Highest), [None]);
        // After two that are best the next is the third.
        assert_eq!(ranked(values, Best::Highest), [best, best, None, None]);
        let values = [50.0, 40.0, 40.0, 30.0];
        assert_eq!(ranked(values, Best::Highest), [best, second, second, None]);
        // The last are not second for being all alike.
        let values = [50.0, 0.0, 0.0, 0.0];
        assert_eq!(ranked(values, Best::Highest), [best, None, None, None]);
        assert_eq!(ranked([0.0; 4], Best::Highest), [best; 4]);
    }

    #[test]
    fn who_is_no_rival_has_no_place() {
        let mut sheet = Sheet::new("t", "T", vec![Column::figure("x", Best::Highest)]);
        let row = |(value, is_rival)| Row {
            is_rival,
            ..Row::measured(vec![Cell::one(Some(Figure::new(value, None, 1)))])
        };
        sheet.rows = [(90.0, false), (50.0, true), (40.0, true)]
            .map(row)
            .to_vec();
        sheet.rank_columns();
        let ranks = sheet.rows.iter_mut();
        let ranks = ranks.map(|row| row.cells[0].figure(0).unwrap().rank);
        let expected = [None, Some(Rank::Best), Some(Rank::Second)];
        assert_eq!(ranks.collect::<Vec<_>>(), expected);

        let column = |is_rival| Column {
            is_rival,
            ..Column::scores("m").from(Origin::Measured)
        };
        let mut sheet = Sheet::new("t", "T", [false, true, true].map(column).to_vec());
        let cell = |value| Cell::Figures(vec![Some(Figure::new(value, None, 1)), None]);
        sheet.rows = vec![Row::measured([90.0, 50.0, 40.0].map(cell).to_vec())];
        sheet.rank_rows();
        let ranks = sheet.rows[0].cells.iter_mut();
        let ranks = ranks.map(|cell| cell.figure(0).unwrap().rank);
        assert_eq!(ranks.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn published_figures_do_not_compete_with_measured_ones() {
        use Origin::{Measured, Published};
        let values = [
            (Measured, 10.0),
            (Measured, 20.0),
            (Published, 90.0),
            (Published, 80.0),
        ];
        let (best, second) = (Some(Rank::Best), Some(Rank::Second));
        assert_eq!(sheet(&values, Best::Highest), [second, best, best, second]);
    }
}
