//! The allotment of the suite's 100 sessions: its totals are the paper's, and a session that is written keeps to its line.

use std::collections::BTreeMap;

use camino::Utf8Path;
use pibench_suite::load::load;
use pibench_suite::suite::{Grading, Persona, Session};
use serde::Deserialize;

use crate::scene::{embedded, root};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allotment {
    version: u32,
    persona: Vec<Lines>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    id: String,
    sessions: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    category: String,
    #[serde(default)]
    group: String,
    intents: usize,
    rubrics: usize,
    rules: usize,
}

fn allotment() -> Allotment {
    let text = std::fs::read_to_string(root().join("tasks/allotment.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

/// Table 2: intents, rubrics, rules.
#[test]
fn the_totals_are_those_of_table_2() {
    let allotment = allotment();
    assert_eq!(allotment.version, 1);
    let sum = |lines: &Lines| {
        lines.sessions.iter().fold((0, 0, 0), |sum, line| {
            (
                sum.0 + line.intents,
                sum.1 + line.rubrics,
                sum.2 + line.rules,
            )
        })
    };
    let totals: Vec<(&str, usize, (usize, usize, usize))> = allotment
        .persona
        .iter()
        .map(|lines| (lines.id.as_str(), lines.sessions.len(), sum(lines)))
        .collect();
    let expected = [
        ("researcher", 20, (84, 125, 31)),
        ("marketer", 20, (74, 58, 11)),
        ("law_trainee", 20, (89, 131, 43)),
        ("pharmacist", 20, (195, 85, 25)),
        ("financier", 20, (82, 111, 58)),
    ];
    assert_eq!(totals, expected);
}

#[test]
fn the_totals_are_those_of_table_5() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in allotment().persona.iter().flat_map(|lines| &lines.sessions) {
        *counts.entry(line.category.clone()).or_default() += 1;
    }
    let counts: Vec<(&str, usize)> = counts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    let figures = [7, 4, 4, 6, 9, 7, 6, 5, 5, 2, 5, 3, 4, 7, 3, 3, 9, 11];
    let letters = "ABCDEFGHIJKLMNOPQR";
    let expected: Vec<(&str, usize)> = (0..18).map(|at| (&letters[at..=at], figures[at])).collect();
    assert_eq!(counts, expected);
}

#[test]
fn each_persona_has_six_groups_five_independent_sessions_and_eleven_checklists() {
    for lines in allotment().persona {
        let mut groups: Vec<Vec<&Line>> = Vec::new();
        for line in lines.sessions.iter().filter(|line| !line.group.is_empty()) {
            match groups.iter_mut().find(|group| group[0].group == line.group) {
                Some(group) => group.push(line),
                None => groups.push(vec![line]),
            }
        }
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3, 3, 2, 2, 2], "{}", lines.id);
        let has_items = |line: &Line| line.rubrics + line.rules > 0;
        for group in groups {
            let (last, others) = group.split_last().unwrap();
            assert!(has_items(last), "{}", last.id);
            assert!(!others.iter().any(|line| has_items(line)), "{}", last.id);
        }
        let with_items = lines.sessions.iter().filter(|line| has_items(line));
        assert_eq!(with_items.count(), 11, "{}", lines.id);
        let alone = lines.sessions.iter().filter(|line| line.group.is_empty());
        assert_eq!(alone.count(), 5, "{}", lines.id);
        assert!(lines.sessions.iter().all(|line| line.intents > 0));
    }
}

#[test]
fn a_session_that_is_written_keeps_to_its_line() {
    let suite = load(Utf8Path::from_path(&embedded()).unwrap())
        .unwrap()
        .suite;
    let allotment = allotment();
    for persona in &suite.personas {
        let lines = allotment
            .persona
            .iter()
            .find(|lines| lines.id == persona.id);
        for session in &persona.sessions {
            let line = lines
                .and_then(|lines| lines.sessions.iter().find(|line| line.id == session.id))
                .unwrap_or_else(|| panic!("{} has no line in the allotment", session.id));
            assert_keeps(session, line);
            assert_eq!(
                group_of(persona, session),
                members(lines.unwrap(), line),
                "{}",
                line.id
            );
        }
    }
}

fn assert_keeps(session: &Session, line: &Line) {
    let rubric =
        |item: &&pibench_suite::suite::Item| matches!(item.grading, Grading::Rubric { .. });
    let rubrics = session.checklist.iter().filter(rubric).count();
    let category = session.category.map(|category| format!("{category:?}"));
    assert_eq!(category.as_ref(), Some(&line.category), "{}", line.id);
    assert_eq!(
        (
            session.intents.len(),
            rubrics,
            session.checklist.len() - rubrics
        ),
        (line.intents, line.rubrics, line.rules),
        "{}",
        line.id
    );
}

/// The sessions of a session's group, sorted, itself among them.
fn group_of(persona: &Persona, session: &Session) -> Vec<String> {
    let last = persona
        .sessions
        .iter()
        .find(|other| other.depends_on.contains(&session.id))
        .unwrap_or(session);
    let mut group = last.depends_on.clone();
    group.push(last.id.clone());
    group.sort();
    group
}

fn members(lines: &Lines, line: &Line) -> Vec<String> {
    let same = |other: &&Line| {
        other.id == line.id || (!line.group.is_empty() && other.group == line.group)
    };
    let mut group: Vec<String> = lines
        .sessions
        .iter()
        .filter(same)
        .map(|line| line.id.clone())
        .collect();
    group.sort();
    group
}
