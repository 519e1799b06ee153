//! What the suite of a run holds: the paper's Tables 2 to 5. Counts the outline and reads no task file.

use std::collections::BTreeMap;

use super::Measured;
use crate::category::{CATEGORIES, describe, letter};
use crate::run_record::RunRecord;
use crate::sheet::{Best, Cell, Column, Row, Sheet};
use pibench_core::vocabulary::Category;
use pibench_record::outline::{Described, Outline, PersonaOutline};

/// The suites of the report, each once, with the label of the first run of it.
fn suites<'a>(runs: &[Measured<'a>]) -> Vec<(&'a RunRecord, &'a Outline)> {
    let mut suites: Vec<(&RunRecord, &Outline)> = Vec::new();
    for Measured { run, .. } in runs {
        let known = suites
            .iter()
            .any(|(other, _)| other.manifest.suite_digest == run.manifest.suite_digest);
        if let (false, Some(outline)) = (known, &run.outline) {
            suites.push((run, outline));
        }
    }
    suites
}

/// The sheet of every suite as one; `rows` makes those of one suite.
fn per_suite(
    runs: &[Measured<'_>],
    (id, title): (&str, &str),
    columns: Vec<Column>,
    rows: impl Fn(&Outline) -> Vec<Vec<Cell>>,
) -> Sheet {
    let suites = suites(runs);
    if suites.is_empty() {
        let why =
            "The run folders hold no outline of their suite: they were made before there was one.";
        return Sheet::missing(id, title, why.into());
    }
    let several = suites.len() > 1;
    let mut sheet = Sheet::new(id, title, columns);
    if several {
        sheet.columns.insert(0, Column::words("Suite"));
    }
    for (_, outline) in &suites {
        for mut cells in rows(outline) {
            if several {
                cells.insert(0, Cell::words(&outline.suite));
            }
            sheet.rows.push(Row::measured(cells));
        }
    }
    sheet
}

#[derive(Default)]
struct Counts {
    sessions: usize,
    intents: usize,
    rubrics: usize,
    rules: usize,
}

impl Counts {
    fn of(persona: &PersonaOutline) -> Self {
        let mut counts = Self {
            sessions: persona.sessions.len(),
            ..Self::default()
        };
        for session in &persona.sessions {
            let rules = session
                .checklist
                .iter()
                .filter(|item| item.grader.is_some());
            let rules = rules.count();
            counts.intents += session.intents.len();
            counts.rules += rules;
            counts.rubrics += session.checklist.len() - rules;
        }
        counts
    }

    fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.intents += other.intents;
        self.rubrics += other.rubrics;
        self.rules += other.rules;
    }

    fn cells(&self, name: &str) -> Vec<Cell> {
        vec![
            Cell::words(name),
            // A task is played in one session.
            Cell::count(self.sessions),
            Cell::count(self.sessions),
            Cell::count(self.intents),
            Cell::count(self.rubrics),
            Cell::count(self.rules),
        ]
    }
}

fn numbers(names: &[&str]) -> Vec<Column> {
    names
        .iter()
        .map(|name| Column::figure(name, Best::None))
        .collect()
}

/// Table 2.
pub(super) fn counts(runs: &[Measured<'_>]) -> Sheet {
    let mut columns = vec![Column::words("User")];
    columns.extend(numbers(&[
        "Task",
        "Session",
        "Hidden intent",
        "Rubric",
        "Rule",
    ]));
    let rows = |outline: &Outline| {
        let mut total = Counts::default();
        let mut rows = Vec::new();
        for persona in &outline.personas {
            let counts = Counts::of(persona);
            rows.push(counts.cells(&persona.id));
            total.add(&counts);
        }
        rows.push(total.cells("Total"));
        rows
    };
    per_suite(
        runs,
        ("table-2", "Table 2: Tasks and graders"),
        columns,
        rows,
    )
}

/// The domain of a tool, built-in ones after the apps.
fn domain(tool: &str) -> (bool, &str) {
    match tool.split_once("__") {
        Some((app, _)) => (false, app),
        None if tool.starts_with("web_") => (true, "web"),
        None => (true, "general"),
    }
}

/// Table 3.
pub(super) fn tools(runs: &[Measured<'_>]) -> Sheet {
    let columns = vec![
        Column::words("Domain"),
        Column::figure("Tools", Best::None),
        Column::words("Tool"),
        Column::words("Function"),
    ];
    let rows = |outline: &Outline| {
        let mut domains: BTreeMap<(bool, &str), Vec<(&str, &str)>> = BTreeMap::new();
        for tool in &outline.tools {
            let name = tool
                .name
                .split_once("__")
                .map_or(tool.name.as_str(), |(_, name)| name);
            let domain = domains.entry(domain(&tool.name)).or_default();
            domain.push((name, first_sentence(&tool.description)));
        }
        let mut rows = Vec::new();
        for ((_, domain), tools) in domains {
            for (at, (name, function)) in tools.iter().enumerate() {
                let count = if at == 0 {
                    Cell::count(tools.len())
                } else {
                    Cell::words("")
                };
                rows.push(vec![
                    Cell::words(domain),
                    count,
                    Cell::words(*name),
                    Cell::words(*function),
                ]);
            }
        }
        rows
    };
    let mut sheet = per_suite(runs, ("table-3", "Table 3: Tools by domain"), columns, rows);
    if sheet.missing.is_none() {
        sheet.notes.push(format!("{} tools.", sheet.rows.len()));
    }
    sheet
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].trim_end()
}

/// Table 4.
pub(super) fn skills(runs: &[Measured<'_>]) -> Sheet {
    let names = ("table-4", "Table 4: Skills");
    let columns = vec![Column::words("Skill"), Column::words("Function")];
    let rows = |outline: &Outline| {
        let row = |skill: &Described| {
            vec![
                Cell::words(&skill.name),
                Cell::words(first_sentence(&skill.description)),
            ]
        };
        outline.skills.iter().map(row).collect()
    };
    let mut sheet = per_suite(runs, names, columns, rows);
    if sheet.missing.is_none() && sheet.rows.is_empty() {
        let why = "The suites of these runs have no skills.";
        return Sheet::missing(names.0, names.1, why.into());
    }
    if sheet.missing.is_none() {
        sheet.notes.push(format!("{} skills.", sheet.rows.len()));
    }
    sheet
}

/// Table 5.
pub(super) fn categories(runs: &[Measured<'_>]) -> Sheet {
    let columns = vec![
        Column::words("Type"),
        Column::words("Category"),
        Column::words("Description"),
        Column::figure("Count", Best::None),
    ];
    let rows = |outline: &Outline| {
        let mut counts: BTreeMap<Category, usize> = BTreeMap::new();
        let sessions = outline
            .personas
            .iter()
            .flat_map(|persona| &persona.sessions);
        for category in sessions.clone().filter_map(|session| session.category) {
            *counts.entry(category).or_default() += 1;
        }
        let row = |category: Category| {
            let (title, description) = describe(category);
            vec![
                Cell::words(letter(category)),
                Cell::words(title),
                Cell::words(description),
                Cell::count(counts.get(&category).copied().unwrap_or(0)),
            ]
        };
        let mut rows: Vec<Vec<Cell>> = CATEGORIES.into_iter().map(row).collect();
        let without = sessions
            .filter(|session| session.category.is_none())
            .count();
        if without > 0 {
            rows.push(vec![
                Cell::words("-"),
                Cell::words("Without a category"),
                Cell::words("Its file names none."),
                Cell::count(without),
            ]);
        }
        rows
    };
    per_suite(
        runs,
        ("table-5", "Table 5: Categories of tasks"),
        columns,
        rows,
    )
}
