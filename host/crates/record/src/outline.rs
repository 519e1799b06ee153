//! What a suite holds, in `outline.json` of a run folder: what its readers need to tell what a session was about when the
//! suite is not at hand. Written when a run begins; nothing that plays or scores reads it.

use std::iter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::foreign::is_plain;
use pibench_core::vocabulary::{Category, FoundIn, Scope};

/// `outline.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outline {
    /// 1.
    pub version: u32,
    pub suite: String,
    pub title: String,
    /// No real model takes part.
    pub scripted: bool,
    /// In the suite's order, those that are not played among them.
    pub personas: Vec<PersonaOutline>,
    /// The tools that the personas have, sorted by name.
    pub tools: Vec<Described>,
    /// The skills that the personas start with, sorted by folder.
    #[serde(default)]
    pub skills: Vec<Described>,
}

/// The most personas of a suite, and sessions of a persona.
const MOST_OF_LIST: usize = 1000;

/// The most sessions of a suite: a pack has no more files.
const MOST_SESSIONS: usize = 20_000;

/// The most sessions of all runs: whoever reads an unfinished run holds a line for each.
const MOST_LINES: usize = 4_000_000;

impl Outline {
    /// What of it goes beyond what a suite can hold, so that whoever counts by it would have no end, or whoever makes paths of its ids
    /// would leave the folder.
    pub(super) fn beyond(&self, runs: u32) -> Option<String> {
        let personas = &self.personas;
        let most = personas.iter().map(|persona| persona.sessions.len()).max();
        let sessions: usize = personas.iter().map(|persona| persona.sessions.len()).sum();
        for (what, count, limit) in [
            ("personas", personas.len(), MOST_OF_LIST),
            (
                "sessions of a persona",
                most.unwrap_or_default(),
                MOST_OF_LIST,
            ),
            ("sessions", sessions, MOST_SESSIONS),
            (
                "sessions of all runs",
                sessions.saturating_mul(runs as usize),
                MOST_LINES,
            ),
        ] {
            if count > limit {
                return Some(format!("{count} {what}, more than the limit of {limit}"));
            }
        }
        let mut ids = personas.iter().flat_map(|persona| {
            let sessions = persona.sessions.iter().map(|session| &session.id);
            iter::once(&persona.id).chain(sessions)
        });
        let odd = ids.find(|id| !is_plain(id))?;
        Some(format!(
            "{odd:?} is no name of a persona or a session, which are folders"
        ))
    }
}

/// One persona's episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaOutline {
    pub id: String,
    pub name: String,
    /// In the order of the episode.
    pub sessions: Vec<SessionOutline>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOutline {
    pub id: String,
    pub title: String,
    pub category: Option<Category>,
    /// The run plays it.
    pub planned: bool,
    /// The other sessions of the group, in a group's final session.
    pub depends_on: Vec<String>,
    /// A later session depends on it, so it is not scored by itself.
    pub dependency_only: bool,
    /// The scripted judges have nothing to go by here.
    pub no_offline_matcher: bool,
    pub request: String,
    /// In the order of the task file.
    pub intents: Vec<IntentOutline>,
    pub checklist: Vec<ItemOutline>,
}

/// One hidden intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntentOutline {
    pub id: String,
    pub content: String,
    pub scope: Scope,
    /// Where an agent can find it; empty where the task does not say.
    #[serde(default)]
    pub found_in: Vec<FoundIn>,
}

/// One checklist item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ItemOutline {
    pub id: String,
    pub criterion: String,
    pub weight: f64,
    /// The last turn alone counts for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_end: bool,
    /// The grader's name; None for a rubric, which the judge decides.
    pub grader: Option<String>,
}

/// A name and what it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Described {
    /// Of a tool as the agent calls it: `read_file`, `gmail__send_email`.
    pub name: String,
    pub description: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_suite_can_hold_is_refused() {
        let session = serde_json::json!({
            "id": "s", "title": "", "category": null, "planned": true, "depends_on": [], "dependency_only": false,
            "no_offline_matcher": false, "request": "", "intents": [], "checklist": [],
        });
        let session: SessionOutline = serde_json::from_value(session).unwrap();
        let outline = |persona: PersonaOutline, personas: usize| Outline {
            version: 1,
            suite: String::new(),
            title: String::new(),
            scripted: true,
            personas: vec![persona; personas],
            tools: Vec::new(),
            skills: Vec::new(),
        };
        let beyond = |personas: usize, sessions: usize, runs: u32| {
            let persona = PersonaOutline {
                id: "p".into(),
                name: String::new(),
                sessions: vec![session.clone(); sessions],
            };
            outline(persona, personas).beyond(runs).unwrap_or_default()
        };
        for (personas, sessions, runs) in [(1000, 20, 200), (20, 1000, 1), (1, 1, 1000)] {
            assert_eq!(beyond(personas, sessions, runs), "");
        }
        for (personas, sessions, runs, said) in [
            (1001, 1, 1, "1001 personas"),
            (1, 1001, 1, "1001 sessions of a persona"),
            (21, 1000, 1, "21000 sessions, more than the limit of 20000"),
            (20, 1000, 201, "4020000 sessions of all runs"),
        ] {
            let told = beyond(personas, sessions, runs);
            assert!(told.starts_with(said), "{told}");
        }
        let named = |persona: &str, id: &str| {
            let mut session = session.clone();
            session.id = id.into();
            let persona = PersonaOutline {
                id: persona.into(),
                name: String::new(),
                sessions: vec![session],
            };
            outline(persona, 1).beyond(1)
        };
        assert_eq!(named("p", "s.2"), None);
        for (persona, session) in [("..", "s"), ("/tmp/p", "s"), ("p", "../s"), ("p", "")] {
            let told = named(persona, session).unwrap();
            assert!(told.contains("is no name of a persona"), "{told}");
        }
    }
}
