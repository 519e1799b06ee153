//! A run's missed intents and unlooked products (paper, appendix F.4), session by session from its record: what the outline
//! says of where an intent can be found, held against what the agent called. It judges nothing.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::run_record::{RecordError, RunRecord};
use pibench_core::failure::{Deeds, Made, Unlooked};
use pibench_core::record::Status;
use pibench_core::score::IntentCounts;
use pibench_core::vocabulary::FoundIn;
use pibench_record::event::{Step, Turn};
use pibench_record::outline::{IntentOutline, SessionOutline};
use pibench_record::results::SessionLine;

/// What a run's failures come to, over its scored sessions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Failures {
    pub intents: u32,
    /// Provided by the user, or open at the end.
    pub missed: u32,
    /// Missed intents that an earlier session, a file, an app or memory would have told; one may count in several.
    pub in_session: u32,
    pub in_file: u32,
    pub in_app: u32,
    pub in_memory: u32,
    /// Missed intents that only a question could have brought out.
    pub by_question: u32,
    /// Missed intents of which the outline names no place.
    pub unplaced: u32,
    /// Missed intents one of whose places was before the agent's eyes before they were missed.
    pub opened: u32,
    /// Turns with a targeted question.
    pub questions: u32,
    /// Sessions with a whole checklist, and those among them that missed an intent.
    pub whole: u32,
    pub whole_but_missed: u32,
    // `acts` and `unseen`.
    #[schemars(with = "std::collections::BTreeMap<String, usize>")]
    pub unlooked: Unlooked,
}

/// One missed intent and its places.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missed {
    /// The intent's id.
    pub intent: String,
    pub places: Vec<Place>,
}

/// Where an intent can be found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place {
    #[serde(flatten)]
    pub found_in: FoundIn,
    /// The turn in which it was first before the agent's eyes, 0 for what the prompt told; None if it was not before the
    /// intent was missed.
    pub opened: Option<u32>,
    /// The turn in which it first was after that; None too where it was before.
    pub late: Option<u32>,
}

/// One session's.
#[derive(Debug, Default)]
pub struct SessionFailures {
    pub missed: Vec<Missed>,
    pub questions: u32,
    pub unlooked: Unlooked,
}

impl Failures {
    /// Of a finished run; None where its outline is of before there was one.
    pub fn of(run: &RunRecord) -> Result<Option<Self>, RecordError> {
        if run.outline.is_none() || !run.ended {
            return Ok(None);
        }
        let mut all = Self::default();
        let (mut episode, mut made) = (None, Made::new());
        run.each_session(|line| {
            let of = Some((line.persona.clone(), line.run));
            if episode != of {
                (episode, made) = (of, Made::new());
            }
            if let Some(trajectory) = run.trajectory(line) {
                let found = session(run, line, &trajectory, &mut made);
                if line.outcome.scored() {
                    all.add(line, &found);
                }
            }
        })?;
        Ok(Some(all))
    }

    fn add(&mut self, line: &SessionLine, found: &SessionFailures) {
        let IntentCounts { provided, open, .. } = line.intents;
        self.intents += line.intents.total();
        self.missed += provided + open;
        self.questions += found.questions;
        self.unlooked.acts += found.unlooked.acts;
        self.unlooked.unseen += found.unlooked.unseen;
        if line.comp.is_some_and(|comp| comp >= 100.0) {
            self.whole += 1;
            self.whole_but_missed += u32::from(provided + open > 0);
        }
        for one in &found.missed {
            self.add_missed(one);
        }
    }

    fn add_missed(&mut self, one: &Missed) {
        let has = |is: fn(&FoundIn) -> bool| {
            u32::from(one.places.iter().any(|place| is(&place.found_in)))
        };
        self.in_session += has(|found| matches!(found, FoundIn::Session { .. }));
        self.in_file += has(|found| matches!(found, FoundIn::File { .. }));
        self.in_app += has(|found| matches!(found, FoundIn::App { .. }));
        self.in_memory += has(|found| matches!(found, FoundIn::Memory { .. }));
        let asked_only = |place: &Place| place.found_in == FoundIn::Question;
        let known = !one.places.is_empty();
        self.by_question += u32::from(known && one.places.iter().all(asked_only));
        self.unplaced += u32::from(!known);
        self.opened += u32::from(one.places.iter().any(|place| place.opened.is_some()));
    }
}

/// What one session missed. `made` is what the episode's sessions before it made, and is brought up to date.
pub fn session(
    run: &RunRecord,
    line: &SessionLine,
    trajectory: &Value,
    made: &mut Made,
) -> SessionFailures {
    let turns: Vec<Turn> = trajectory
        .get("turns")
        .and_then(|turns| serde_json::from_value(turns.clone()).ok())
        .unwrap_or_default();
    let prompt = trajectory
        .pointer("/started/system")
        .and_then(Value::as_str)
        .and_then(|name| run.blob(name))
        .unwrap_or_default();
    let calls = turns
        .iter()
        .flat_map(|turn| turn.steps.iter().flat_map(Step::calls));
    let deeds = Deeds::new(&String::from_utf8_lossy(&prompt), calls);
    let missed = outline(run, line).map_or_else(Vec::new, |outline| {
        let intents = outline.intents.iter().enumerate();
        intents
            .filter_map(|(at, intent)| missed(at, intent, &turns, &deeds, made))
            .collect()
    });
    let asks = |turn: &&Turn| {
        turn.intents
            .iter()
            .any(|one| one.status == Status::Inferred)
    };
    let found = SessionFailures {
        missed,
        questions: u32::try_from(turns.iter().filter(asks).count()).unwrap_or(u32::MAX),
        unlooked: deeds.unlooked(),
    };
    let changes = turns.iter().flat_map(|turn| &turn.changes);
    let paths = changes.map(|change| change.path.clone()).collect();
    made.insert(line.id.to_string(), paths);
    found
}

fn outline<'a>(run: &'a RunRecord, line: &SessionLine) -> Option<&'a SessionOutline> {
    let personas = &run.outline.as_ref()?.personas;
    let persona = personas.iter().find(|one| line.persona == one.id)?;
    persona.sessions.iter().find(|one| line.id == one.id)
}

/// The intent's places, if it was missed.
fn missed(
    at: usize,
    intent: &IntentOutline,
    turns: &[Turn],
    deeds: &Deeds<'_>,
    made: &Made,
) -> Option<Missed> {
    let mut changes = turns.iter().flat_map(|turn| {
        let changes = turn.intents.iter().filter(|change| change.intent == at);
        changes.map(|change| (change.status, turn.turn))
    });
    let until = match changes.next() {
        Some((Status::Provided, turn)) => turn,
        Some(_) => return None,
        None => u32::MAX,
    };
    let place = |found_in: &FoundIn| {
        let opened = deeds.opened(found_in, made, until);
        let ever = deeds.opened(found_in, made, u32::MAX);
        Place {
            found_in: found_in.clone(),
            opened,
            late: ever.filter(|_| opened.is_none()),
        }
    };
    Some(Missed {
        intent: intent.id.clone(),
        places: intent.found_in.iter().map(place).collect(),
    })
}
