//! What a suite holds, in figures: the counts of the paper's Tables 2, 3 and 5. Counts data and runs nothing.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::suite::{Grading, Persona, Suite};
use pibench_core::vocabulary::Category;

/// One line of Table 2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Tasks: each is played in one session.
    pub sessions: usize,
    pub intents: usize,
    pub rubrics: usize,
    pub rules: usize,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self {
            sessions,
            intents,
            rubrics,
            rules,
        } = other;
        self.sessions += sessions;
        self.intents += intents;
        self.rubrics += rubrics;
        self.rules += rules;
    }
}

/// A line of Table 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Domain {
    pub name: String,
    pub tools: usize,
    /// Those that a persona of the suite has.
    pub used: usize,
}

/// A named count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    pub name: String,
    pub count: usize,
}

/// A persona's line of Table 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PersonaCounts {
    pub id: String,
    #[serde(flatten)]
    pub counts: Counts,
}

/// The figures of a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Table 2, in the suite's order.
    pub personas: Vec<PersonaCounts>,
    pub total: Counts,
    /// Table 3: tools by domain, those of apps first, each domain once.
    pub domains: Vec<Domain>,
    /// Table 5: sessions by category, A to R; categories without a session are left out.
    pub categories: Vec<Count>,
    /// Sessions whose file names no category.
    pub uncategorised: usize,
}

/// Counts a suite. `tools` are the names of all tools that there are, built-in ones among them; a name that stands there
/// twice counts once.
pub fn statistics(suite: &Suite, tools: &[String]) -> Statistics {
    let personas: Vec<PersonaCounts> = suite.personas.iter().map(count_persona).collect();
    let mut total = Counts::default();
    for persona in &personas {
        total += persona.counts;
    }
    let categories = || {
        suite
            .personas
            .iter()
            .flat_map(|persona| &persona.sessions)
            .map(|session| session.category)
    };
    Statistics {
        personas,
        total,
        domains: count_domains(suite, tools),
        categories: count_categories(categories().flatten()),
        uncategorised: categories().filter(Option::is_none).count(),
    }
}

fn count_persona(persona: &Persona) -> PersonaCounts {
    let mut counts = Counts {
        sessions: persona.sessions.len(),
        ..Counts::default()
    };
    for session in &persona.sessions {
        let rubrics = session
            .checklist
            .iter()
            .filter(|item| matches!(item.grading, Grading::Rubric { .. }))
            .count();
        counts.intents += session.intents.len();
        counts.rubrics += rubrics;
        counts.rules += session.checklist.len() - rubrics;
    }
    PersonaCounts {
        id: persona.id.clone(),
        counts,
    }
}

fn count_domains(suite: &Suite, tools: &[String]) -> Vec<Domain> {
    let mut names: Vec<&str> = tools.iter().map(String::as_str).collect();
    // Apps by name, then the built-in domains, as in the paper's table.
    names.sort_unstable_by_key(|tool| (domain(tool), *tool));
    names.dedup();
    let used = |tool: &str| {
        let built_in = domain(tool).0;
        built_in || suite.personas.iter().any(|one| one.has_tool(tool))
    };
    names
        .chunk_by(|one, other| domain(one) == domain(other))
        .map(|group| Domain {
            name: domain(group[0]).1.to_owned(),
            tools: group.len(),
            used: group.iter().filter(|tool| used(tool)).count(),
        })
        .collect()
}

/// The domain of a tool, and whether it is a built-in one.
fn domain(tool: &str) -> (bool, &str) {
    match tool.split_once("__") {
        Some((app, _)) => (false, app),
        None if tool.starts_with("web_") => (true, "web"),
        None => (true, "general"),
    }
}

fn count_categories(categories: impl Iterator<Item = Category>) -> Vec<Count> {
    let mut categories: Vec<Category> = categories.collect();
    categories.sort_unstable();
    categories
        .chunk_by(|one, other| one == other)
        .map(|group| Count {
            name: format!("{:?}", group[0]),
            count: group.len(),
        })
        .collect()
}

/// The figures as plain text tables, for people: Tables 2, 3 and 5.
pub fn render(statistics: &Statistics) -> String {
    [
        personas_table(statistics),
        domains_table(statistics),
        categories_table(statistics),
    ]
    .join("\n")
}

/// Table 2.
pub fn personas_table(statistics: &Statistics) -> String {
    let mut users = table(&[
        "persona", "tasks", "sessions", "intents", "rubrics", "rules",
    ]);
    for PersonaCounts { id, counts } in &statistics.personas {
        users.add_row(row(id, *counts));
    }
    users.add_row(row("total", statistics.total));
    users.trim_fmt() + "\n"
}

fn domains_table(statistics: &Statistics) -> String {
    let mut domains = statistics.domains.clone();
    domains.push(Domain {
        name: "total".into(),
        tools: domains.iter().map(|one| one.tools).sum(),
        used: domains.iter().map(|one| one.used).sum(),
    });
    let mut tools_table = table(&["domain", "tools", "used"]);
    for Domain { name, tools, used } in domains {
        tools_table.add_row([name, tools.to_string(), used.to_string()]);
    }
    tools_table.trim_fmt() + "\n"
}

/// Table 5.
pub fn categories_table(statistics: &Statistics) -> String {
    let Statistics {
        categories,
        uncategorised,
        ..
    } = statistics;
    let mut kinds = table(&["category", "sessions"]);
    for Count { name, count } in categories {
        kinds.add_row([name.clone(), count.to_string()]);
    }
    if *uncategorised > 0 {
        kinds.add_row(["none".to_owned(), uncategorised.to_string()]);
    }
    let all: usize = categories.iter().map(|one| one.count).sum();
    kinds.add_row(["total".to_owned(), (all + uncategorised).to_string()]);
    kinds.trim_fmt() + "\n"
}

fn row(name: &str, counts: Counts) -> Vec<String> {
    let Counts {
        sessions,
        intents,
        rubrics,
        rules,
    } = counts;
    // A task is one session: the paper's table has a column for both.
    let figures = [sessions, sessions, intents, rubrics, rules];
    std::iter::once(name.to_owned())
        .chain(figures.iter().map(usize::to_string))
        .collect()
}

/// Names to the left, figures to the right.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(header.to_vec());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tables_are_rendered() {
        let line = |sessions, intents, rubrics, rules| Counts {
            sessions,
            intents,
            rubrics,
            rules,
        };
        let count = |name: &str, count| Count {
            name: name.to_owned(),
            count,
        };
        let domain = |name: &str, tools, used| Domain {
            name: name.to_owned(),
            tools,
            used,
        };
        let statistics = Statistics {
            personas: vec![
                PersonaCounts {
                    id: "one".into(),
                    counts: line(20, 84, 125, 31),
                },
                PersonaCounts {
                    id: "two".into(),
                    counts: line(2, 5, 0, 1),
                },
            ],
            total: line(22, 89, 125, 32),
            domains: vec![domain("gmail", 25, 3), domain("general", 12, 12)],
            categories: vec![count("A", 7), count("R", 11)],
            uncategorised: 4,
        };
        insta::assert_snapshot!(render(&statistics), @r"
        | persona | tasks | sessions | intents | rubrics | rules |
        |---------|-------|----------|---------|---------|-------|
        | one     |    20 |       20 |      84 |     125 |    31 |
        | two     |     2 |        2 |       5 |       0 |     1 |
        | total   |    22 |       22 |      89 |     125 |    32 |

        | domain  | tools | used |
        |---------|-------|------|
        | gmail   |    25 |    3 |
        | general |    12 |   12 |
        | total   |    37 |   15 |

        | category | sessions |
        |----------|----------|
        | A        |        7 |
        | R        |       11 |
        | none     |        4 |
        | total    |       22 |
        ");
    }
}
