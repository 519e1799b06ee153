//! Scores made from the journals: `results.json`, and what `run --json` prints. Percent, for people and programs; the
//! journals keep fractions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Event, Fault, FaultKind, SessionFinished, VERSION};
use super::journal::{self, JournalError};
use crate::eval::aggregate::{
    PersonaScore, RunScore, SessionResult, SessionScore, SuiteScore, Tally,
};
use crate::eval::record::{Outcome, Status};
use crate::eval::score::{IntentCounts, percent};
use crate::run::Plan;
use crate::task::suite::{Persona, Session};

/// The scores of a run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResults {
    /// 1.
    pub version: u32,
    pub suite: String,
    pub agent: String,
    pub user: String,
    pub judge: String,
    /// No real model took part: such scores test the host and say nothing of any agent.
    pub scripted: bool,
    pub runs: u32,
    /// Mean over the runs' overall scores; null if nothing is scored.
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    /// Sample standard deviation over the runs' overall scores; null for one run.
    pub proc_std: Option<f64>,
    pub comp_std: Option<f64>,
    /// Sessions that the scores stand on, of those that should have one.
    pub scored: Tally,
    pub personas: Vec<PersonaResult>,
    pub sessions: Vec<SessionLine>,
    pub faults: Vec<FaultLine>,
}

/// One persona over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaResult {
    pub id: String,
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    pub scored: Tally,
}

/// One session in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLine {
    pub id: String,
    pub persona: String,
    /// 1, 2, 3, ...
    pub run: u32,
    /// Over the session's own intents; null if it is unscored.
    pub proc: Option<f64>,
    /// Over its dependency group; null for sessions that are only dependencies.
    pub proc_scored: Option<f64>,
    /// Null without a checklist.
    pub comp: Option<f64>,
    pub turns: u32,
    pub outcome: Outcome,
    pub intents: IntentCounts,
    /// An intent or rubric has no matcher for the scripted judges: its score says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_offline_matcher: bool,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultLine {
    pub persona: String,
    pub session: String,
    pub run: u32,
    /// None: in the memory step or between turns.
    pub turn: Option<u32>,
    #[serde(flatten)]
    pub fault: Fault,
}

/// Why results cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl RunResults {
    /// Reads every journal of the run.
    pub fn collect(plan: &Plan) -> Result<Self, ResultsError> {
        let mut sessions = Vec::new();
        let mut faults = Vec::new();
        let mut runs = Vec::new();
        for run in 1..=plan.runs {
            let mut personas = Vec::new();
            for persona in plan.personas() {
                let path = plan.folder.journal(&persona.id, run);
                let events = if path.exists() {
                    journal::events(&path)?
                } else {
                    Vec::new()
                };
                faults.extend(faults_of(&persona.id, run, &events));
                let score = score(plan, persona, &events);
                sessions.extend(lines(plan, persona, run, &events, &score.sessions));
                personas.push(score);
            }
            runs.push(RunScore::new(personas));
        }
        let roles = &plan.roles;
        let score = SuiteScore::new(&runs);
        Ok(Self {
            version: VERSION,
            suite: plan.suite.id.clone(),
            agent: roles.agent_name.clone(),
            user: roles.user_name.clone(),
            judge: roles.judge_name.clone(),
            scripted: roles.scripted(),
            runs: plan.runs,
            proc: score.proc.map(percent),
            comp: score.comp.map(percent),
            proc_std: score.proc_std.map(percent),
            comp_std: score.comp_std.map(percent),
            scored: score.proc_sessions,
            personas: score.personas.iter().map(PersonaResult::of).collect(),
            sessions,
            faults,
        })
    }
}

impl PersonaResult {
    fn of(score: &crate::eval::aggregate::PersonaSummary) -> Self {
        Self {
            id: score.id.clone(),
            proc: score.proc.map(percent),
            comp: score.comp.map(percent),
            scored: score.proc_sessions,
        }
    }
}

fn finished<'a>(events: &'a [Event], session: &str) -> Option<&'a SessionFinished> {
    events.iter().find_map(|event| match event {
        Event::SessionFinished(finished) if finished.session == session => Some(&**finished),
        _ => None,
    })
}

fn score(plan: &Plan, persona: &Persona, events: &[Event]) -> PersonaScore {
    let sessions: Vec<SessionScore> = plan
        .sessions(persona)
        .map(|session| session_score(session, finished(events, &session.id)))
        .collect();
    PersonaScore::new(&persona.id, plan.protocol, &sessions)
}

/// A session without an end in the journal was stopped by something outside.
fn session_score(session: &Session, finished: Option<&SessionFinished>) -> SessionScore {
    let open = vec![Status::Open; session.intents.len()];
    let statuses = finished.map_or(open, |finished| {
        finished
            .intents
            .iter()
            .map(|intent| intent.status)
            .collect()
    });
    SessionScore {
        id: session.id.clone(),
        depends_on: session.depends_on.clone(),
        dependency_only: session.dependency_only,
        has_checklist: !session.checklist.is_empty(),
        intents: IntentCounts::of(&statuses),
        comp: finished.and_then(|finished| finished.comp),
        outcome: finished.map_or(Outcome::Infrastructure, |finished| finished.outcome),
    }
}

fn lines(
    plan: &Plan,
    persona: &Persona,
    run: u32,
    events: &[Event],
    results: &[SessionResult],
) -> Vec<SessionLine> {
    let sessions = plan.sessions(persona).zip(results);
    let line = |(session, result): (&Session, &SessionResult)| SessionLine {
        id: session.id.clone(),
        persona: persona.id.clone(),
        run,
        proc: result.proc.map(percent),
        proc_scored: result.proc_scored.map(percent),
        comp: result.comp.map(percent),
        turns: finished(events, &session.id).map_or(0, |finished| finished.turns),
        outcome: result.outcome,
        intents: result.intents,
        no_offline_matcher: plan.roles.lacks_matcher(session),
    };
    sessions.map(line).collect()
}

fn faults_of(persona: &str, run: u32, events: &[Event]) -> Vec<FaultLine> {
    let line = |session: &str, turn: Option<u32>, fault: &Fault| FaultLine {
        persona: persona.to_owned(),
        session: session.to_owned(),
        run,
        turn,
        fault: fault.clone(),
    };
    let of = |event: &Event| -> Vec<FaultLine> {
        match event {
            Event::Turn(turn) => turn
                .faults
                .iter()
                .map(|fault| line(&turn.session, Some(turn.turn), fault))
                .collect(),
            Event::SessionFinished(finished) => {
                let ended =
                    |outcome: Outcome| (outcome == Outcome::ModelFault).then_some(FaultKind::Model);
                let refused = ended(finished.outcome).map(|kind| Fault {
                    kind,
                    source: "agent".into(),
                    cause: "refused".into(),
                    message: "the agent's model gave no answer".into(),
                });
                let faults = finished.faults.iter().cloned().chain(refused);
                faults
                    .map(|fault| line(&finished.session, None, &fault))
                    .collect()
            }
            _ => Vec::new(),
        }
    };
    events.iter().flat_map(of).collect()
}
