//! What `check` says of a sound suite: its sessions in figures, and the scripted agents' scores. Text out of data.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use serde_json::{Value, json};

use crate::escape;
use pibench_suite::suite::{Grading, Item, Session, Suite};

/// By persona and session.
type BySession<T> = BTreeMap<(String, String), T>;

/// Sessions with what was counted and measured of each.
pub struct Sessions<'a> {
    pub suite: &'a Suite,
    /// Estimated tokens of what the session stages and says at its start.
    pub tokens: &'a BySession<usize>,
    /// By agent, in the order of the columns.
    pub turns: Vec<(&'a str, &'a BySession<u32>)>,
}

impl Sessions<'_> {
    /// A table, a line for each session that was played, of 80 columns where names are of a usual length.
    pub fn render(&self) -> String {
        let header = ["session", "intents", "rubrics", "rules", "tokens", "turns"];
        let mut table = table(&header, 1);
        let mut lines = 0;
        for (key, session) in self.sessions() {
            if !self.turns.iter().all(|(_, turns)| turns.contains_key(&key)) {
                continue;
            }
            let (rubrics, rules) = items(session);
            let turns = self.turns.iter().filter_map(|(_, turns)| turns.get(&key));
            let turns: Vec<String> = turns.map(u32::to_string).collect();
            table.add_row([
                session.id.clone(),
                session.intents.len().to_string(),
                rubrics.to_string(),
                rules.to_string(),
                self.tokens.get(&key).copied().unwrap_or(0).to_string(),
                turns.join(", "),
            ]);
            lines += 1;
        }
        if self.turns.is_empty() || lines == 0 {
            return String::new();
        }
        let agents: Vec<&str> = self.turns.iter().map(|(agent, _)| *agent).collect();
        let agents = agents.join(", ");
        format!("Material in tokens (4 bytes each), turns of {agents}:\n\n{table}\n\n")
    }

    /// The same for programs.
    pub fn value(&self) -> Value {
        let sessions = self.sessions().map(|(key, session)| {
            let (rubrics, rules) = items(session);
            let turns: BTreeMap<&str, u32> = self
                .turns
                .iter()
                .filter_map(|(agent, turns)| Some((*agent, *turns.get(&key)?)))
                .collect();
            json!({
                "persona": key.0,
                "session": key.1,
                "category": session.category,
                "intents": session.intents.len(),
                "rubrics": rubrics,
                "rules": rules,
                "tokens": self.tokens.get(&key),
                "turns": turns,
            })
        });
        sessions.collect()
    }

    fn sessions(&self) -> impl Iterator<Item = ((String, String), &Session)> {
        self.suite.personas.iter().flat_map(|persona| {
            let key = |session: &Session| (persona.id.clone(), session.id.clone());
            persona
                .sessions
                .iter()
                .map(move |session| (key(session), session))
        })
    }
}

/// Rubrics and rules.
fn items(session: &Session) -> (usize, usize) {
    let rubric = |item: &&Item| matches!(item.grading, Grading::Rubric { .. });
    let rubrics = session.checklist.iter().filter(rubric).count();
    (rubrics, session.checklist.len() - rubrics)
}

/// What an agent is offered with every question.
#[derive(Debug, Serialize)]
pub struct Offered {
    pub persona: String,
    /// Those of the host among them.
    pub tools: usize,
    /// By the host's estimate.
    pub tokens: usize,
}

/// A table, a line for each persona.
pub fn offered(personas: &[Offered]) -> String {
    let mut table = table(&["persona", "tools", "tokens"], 1);
    for one in personas {
        table.add_row([
            one.persona.clone(),
            one.tools.to_string(),
            one.tokens.to_string(),
        ]);
    }
    format!("Tools that the agent is offered, and their tokens in each request:\n\n{table}\n\n")
}

/// A blind play of a session.
#[derive(Debug)]
pub struct Piloted {
    /// With its persona.
    pub session: String,
    pub turns: u32,
    /// Intents met in the first turn, and all.
    pub first: (usize, usize),
    /// Percent.
    pub proc: f64,
    /// Percent; of a session without a checklist none, and of a play of another checklist.
    pub comp: Option<f64>,
}

/// A table, a line for each play.
pub fn piloted(plays: &[Piloted]) -> String {
    let header = ["session in pilots", "turns", "first turn", "Proc", "Comp"];
    let mut table = table(&header, 1);
    for play in plays {
        let (first, all) = play.first;
        table.add_row([
            escape::line(&play.session),
            play.turns.to_string(),
            format!("{first} of {all}"),
            format!("{:.1}", play.proc),
            play.comp
                .map_or_else(|| "-".into(), |comp| format!("{comp:.1}")),
        ]);
    }
    format!("Blind plays; intents that were met in the first turn:\n\n{table}\n\n")
}

/// The agents' scores, and how long an episode took.
pub fn plays(lines: &[(&str, Option<f64>, Option<f64>)], seconds: f64) -> String {
    if lines.is_empty() {
        return "No session has a reference workflow: nothing was played.\n".into();
    }
    let figure =
        |figure: &Option<f64>| figure.map_or_else(|| "-".into(), |figure| format!("{figure:.1}"));
    let mut table = table(&["agent", "Proc", "Comp"], 1);
    for (agent, proc, comp) in lines {
        table.add_row([(*agent).to_owned(), figure(proc), figure(comp)]);
    }
    format!("{table}\n\nThe reference took {seconds:.2} s.\n")
}

/// Names to the left, figures to the right.
fn table(header: &[&str], names: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(header.to_vec());
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
