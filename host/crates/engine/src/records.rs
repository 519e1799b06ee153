//! Opens the apps on all records that are to be played, as their episode does: what an app does not take is known before the
//! first turn. It calls no tool and keeps nothing.

use jiff::civil::DateTime;

use super::episode::{first_clock, seed};
use super::error::{EpisodeError, is_of_machine};
use super::plan::Plan;
use pibench_core::vocabulary::Protocol;
use pibench_sandbox::app::OpenError;
use pibench_sandbox::{App, Limits, Plugins};
use pibench_suite::manifest::Reset;
use pibench_suite::suite::{Persona, Session};

/// Nothing that is drawn while an app opens decides whether it does.
const KEY: [u8; 32] = [0; 32];

/// Records that an app does not take.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) app: String,
    /// Whose they are; None: the persona's.
    pub(super) session: Option<String>,
    pub(super) error: OpenError,
}

/// What apps are opened with.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) plugins: &'a Plugins,
    pub(super) limits: Limits,
    pub(super) reset: Reset,
}

impl Opening<'_> {
    /// All that the apps refuse of a persona's records, and of these sessions'. What the machine is to blame for is left to the
    /// play.
    pub(super) async fn refused(self, persona: &Persona, sessions: &[&Session]) -> Vec<Refused> {
        let mut refused = Vec::new();
        for app in persona.app_names() {
            refused.extend(self.refused_by(&app, persona, sessions).await);
        }
        refused.retain(|one| !is_of_machine(&one.error));
        refused
    }

    async fn refused_by(self, app: &str, persona: &Persona, sessions: &[&Session]) -> Vec<Refused> {
        let refusal = |session: Option<&Session>, error| Refused {
            app: app.to_owned(),
            session: session.map(|session| session.id.clone()),
            error,
        };
        let mut open = match self.open(app, persona, first_clock(persona)).await {
            Ok(open) => open,
            Err(error) => return vec![refusal(None, error)],
        };
        let mut refused = Vec::new();
        for &session in sessions {
            let Some(records) = session.apps.get(app) else {
                continue;
            };
            if self.reset == Reset::Session {
                open = match self.open(app, persona, session.clock).await {
                    Ok(open) => open,
                    Err(error) => return vec![refusal(None, error)],
                };
            }
            if let Err(error) = open.add(records, session.clock).await {
                refused.push(refusal(Some(session), error));
            }
        }
        refused
    }

    async fn open(self, app: &str, persona: &Persona, clock: DateTime) -> Result<App, OpenError> {
        let plugin = self.plugins.get(app)?;
        App::open(plugin, self.limits, KEY, &seed(persona, app), clock).await
    }
}

/// The first records that a run would end at. Looked for where models are paid, while they answer the preflight, which takes
/// longer. The released protocol opens apps in another way.
pub(super) async fn first_refused(plan: &Plan) -> Option<EpisodeError> {
    let roles = &plan.roles;
    if !roles.paid() || roles.is_replayed() || plan.protocol != Protocol::Paper {
        return None;
    }
    let opening = Opening {
        plugins: &plan.plugins,
        limits: plan.app_limits,
        reset: plan.suite.reset,
    };
    for persona in plan.playing() {
        let sessions: Vec<&Session> = plan.sessions(persona).collect();
        let refused = opening.refused(persona, &sessions).await;
        if let Some(Refused { session, error, .. }) = refused.into_iter().next() {
            let place = match session {
                Some(session) => format!("{}/{session}", persona.id),
                None => persona.id.clone(),
            };
            let error = Box::new(error);
            return Some(EpisodeError::Begin { place, error });
        }
    }
    None
}
