//! What plugins refuse of a suite's files: rules that a grader does not take, records that an app does not. Nothing is played.

use std::collections::{BTreeMap, BTreeSet};

use super::guests::{check_rules, find_lacking};
use crate::plan::OF_TOOLS;
use crate::records::{Opening, Refused};
use pibench_sandbox::app::OpenError;
use pibench_sandbox::shell::PYTHON;
use pibench_sandbox::{Limits, Plugins};
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Persona, Session, Suite};
use pibench_suite::validate::{Authored, Part};

/// What puts refused records right.
const MEND: &str = "mend the record: entries are counted from 0";

/// Problems with the places that they leave unplayed.
#[derive(Debug, Default)]
pub struct Refusals {
    pub problems: Vec<Problem>,
    /// One of the agent's own tools without which no persona can be played.
    pub(super) own: Option<&'static str>,
    /// Personas of which nothing can be played, each with why not.
    pub(super) personas: BTreeMap<String, String>,
    /// Sessions, by persona, of which a rule or a record is refused.
    pub(super) sessions: BTreeSet<(String, String)>,
}

impl Refusals {
    /// Asks the graders and the apps; of those that are `absent` a problem was told.
    pub async fn of(
        suite: &Suite,
        authored: &Authored<'_>,
        plugins: &Plugins,
        absent: &BTreeSet<String>,
    ) -> Self {
        // A machine may be without Python: what asks for it is left out alone. One that is there has to be one.
        let is_needed = |name: &&str| *name != PYTHON || plugins.is_there(PYTHON);
        let mut own = OF_TOOLS.into_iter().filter(is_needed);
        let mut refusals = Self {
            own: own.find(|name| absent.contains(*name)),
            ..Self::default()
        };
        for (persona, session, problem) in check_rules(suite, authored, plugins, absent).await {
            refusals.sessions.insert((persona, session));
            refusals.problems.push(problem);
        }
        let opening = Opening {
            plugins,
            limits: Limits::APP,
            reset: suite.reset,
        };
        for persona in &suite.personas {
            if persona.app_names().iter().any(|app| absent.contains(app)) {
                continue;
            }
            // It was told at the persona's list of tools.
            if let Some((app, tool)) = find_lacking(persona, plugins).await {
                let reason = format!("its app `{app}` has no tool `{tool}`");
                refusals.personas.insert(persona.id.clone(), reason);
            }
            let sessions: Vec<&Session> = persona.sessions.iter().collect();
            for refused in opening.refused(persona, &sessions).await {
                refusals.add_records(persona, refused, authored);
            }
        }
        refusals
    }

    fn add_records(&mut self, persona: &Persona, refused: Refused, authored: &Authored<'_>) {
        let Refused {
            app,
            session,
            error,
        } = refused;
        let reason = match error {
            OpenError::Records { reason, .. } => reason,
            other => other.to_string(),
        };
        let message = format!("`{app}` does not take the records: {reason}");
        let persona = &persona.id;
        if let Some(session) = session {
            let part = Part::Key("apps");
            let problem = authored.session_problem(persona, &session, part, message, MEND);
            self.problems.push(problem);
            self.sessions.insert((persona.clone(), session));
            return;
        }
        let key = if reason.starts_with("people") {
            "people"
        } else {
            "apps"
        };
        let told = authored.persona_problem(persona, key, &message, MEND);
        // Imported data cannot be played with them either.
        let error = |problem: Problem| {
            if problem.is_error() {
                return problem;
            }
            Problem::of_file(problem.file(), problem.message()).help(MEND)
        };
        self.problems.extend(told.into_iter().map(error));
        let reason = "an app does not take its records".to_owned();
        self.personas.insert(persona.clone(), reason);
    }
}
