//! What is to be played, resolved once: nothing below reads a command line, a suite file or the environment again. A plan has
//! four doors: `resolve` of a suite, `reopen` of a run folder (`go_on` to play the rest), `regrade`, and for a hub, whose episodes come
//! one by one, `Shared`. It is whole when it comes out of them.

mod answers;
mod cast;
mod error;
mod guests;
mod machine;
mod process;
mod regrade;
mod reopen;
mod resolve;
mod shared;
mod whose;

pub use answers::{Answers, is_private};
pub(crate) use cast::UNKNOWN;
pub use cast::{agents, clients};
pub use error::PlanError;
pub use guests::{Guests, OF_TOOLS, at_once, limits, open, read_policy, search};
pub use machine::{Machine, Notice};
pub use regrade::{Grading, regrade};
pub use reopen::{
    GoingOn, Places, Purpose, go_on, go_on_all, load, of_draft, reopen_by, reopen_foreign,
    same_plan,
};
pub use resolve::{
    Playing, Seat, Settled, Wanted, absolute, default_out, resolve, resolve_all, settle,
};
pub use shared::{Paid, Shared};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::error::EpisodeError;
use super::log::Log;
use super::spending::{Others, Spending};
use super::stop::Stop;
use super::tools::{Toolboxes, list_tools};
use crate::judge::Judge;
use crate::user::UserAgent;
use pibench_agent::{AgentPrompts, Toolbox};
use pibench_core::player;
use pibench_core::player::ModelSettings;
use pibench_core::player::Players;
use pibench_core::vocabulary::{Ablation, Protocol, Scaffold};
use pibench_model::client::Client;
use pibench_model::external::External;
use pibench_model::web::Web;
use pibench_record::folder::Shard;
use pibench_record::{Manifest, RunFolder};
use pibench_sandbox::{GuestLimits, Limits, Plugins};
use pibench_suite::suite;
use pibench_suite::suite::{Item, Persona, Session, Suite};

/// Everything that a run needs.
#[derive(Debug)]
pub struct Plan {
    /// Shared: a hub has many plans of one suite.
    pub suite: Arc<Suite>,
    /// The rules of graders, judges and sums.
    pub protocol: Protocol,
    /// The rules that the sessions were played by: others only in a run that was graded again.
    pub played_by: Protocol,
    pub scaffold: Scaffold,
    /// What the agents search and fetch from.
    pub web: Arc<Web>,
    pub seed: u64,
    pub runs: u32,
    pub jobs: usize,
    /// Only these; empty for all.
    pub sessions: Vec<String>,
    pub personas: Vec<String>,
    pub ablate: Option<Ablation>,
    /// Whether a persona's sessions on which no other depends are variants of one: each begins as the first of them did.
    pub variants: bool,
    /// Only this part of the episodes; None for all.
    pub shard: Option<Shard>,
    pub roles: Roles,
    /// Whether other agents are played beside this one: progress then names it.
    pub beside: bool,
    pub plugins: Arc<Plugins>,
    pub toolboxes: Toolboxes,
    pub app_limits: Limits,
    pub grader_limits: Limits,
    pub python_limits: Limits,
    pub shell_limits: Limits,
    pub document_limits: Limits,
    pub folder: RunFolder,
    /// Whether the models are asked a question before the first session.
    pub preflight: bool,
    /// What is spent, and how much may be.
    pub spending: Spending,
    pub stop: Stop,
    /// Where its spans go; None for nowhere of its own.
    pub log: Option<Log>,
}

/// Who plays whom.
#[derive(Debug)]
pub struct Roles {
    pub agent: AgentRole,
    /// As written, for records.
    pub agent_name: String,
    /// Of the built-in scaffold.
    pub agent_prompts: Arc<AgentPrompts>,
    pub user: UserAgent,
    pub user_name: String,
    pub judge: Judge,
    pub judge_name: String,
    /// Models whose price is not known.
    pub unpriced: Vec<String>,
}

/// The agent's model. Scripted ones are made anew for each session, from what they may know of it.
#[derive(Debug)]
pub enum AgentRole {
    Reference,
    Reactive,
    Nop,
    Cheat,
    Client(Client),
    /// Somebody else's, which is served.
    External(External),
    /// The operator's own, a process for each session: its name says which.
    Process,
}

impl AgentRole {
    /// How an agent from outside is named in records.
    pub const EXTERNAL: &'static str = player::EXTERNAL;

    /// Whether it can be shown pictures. Of an agent from outside nothing is known, and it is shown them.
    pub fn has_vision(&self) -> bool {
        match self {
            Self::Client(client) => client.has_vision(),
            _ => true,
        }
    }

    /// The model of the built-in scaffold.
    fn client(&self) -> Option<&Client> {
        match self {
            Self::Client(client) => Some(client),
            _ => None,
        }
    }
}

impl Roles {
    /// Who plays each role, for the record.
    pub fn players(&self) -> Players {
        Players::named(&self.agent_name, &self.user_name, &self.judge_name)
    }

    /// Whether no real model takes part: such scores test the host and say nothing of any agent.
    pub fn scripted(&self) -> bool {
        self.players().scripted()
    }

    /// The models by role, as they are asked; no entry for a role without one.
    pub fn models(&self) -> BTreeMap<String, Vec<ModelSettings>> {
        let all = |clients: Vec<&Client>| clients.into_iter().map(Client::settings).collect();
        let roles = [
            ("agent", all(self.agent.client().into_iter().collect())),
            ("user", all(self.user.client().into_iter().collect())),
            ("judge", all(self.judge.clients().collect())),
        ];
        let asked = roles
            .into_iter()
            .filter(|(_, models): &(_, Vec<_>)| !models.is_empty());
        asked
            .map(|(role, models)| (role.to_owned(), models))
            .collect()
    }

    /// Whether a scripted judge takes part, which goes by the agent's own words.
    pub fn lexical(&self) -> bool {
        matches!(self.user, UserAgent::Lexical) || matches!(self.judge, Judge::Lexical)
    }

    /// Whether a model plays the user or judges, which reads the evidence itself.
    pub fn asks_models(&self) -> bool {
        !matches!(
            (&self.user, &self.judge),
            (UserAgent::Lexical, Judge::Lexical)
        )
    }

    /// Whether a model's answers come from a recording, and from nowhere else.
    pub fn is_replayed(&self) -> bool {
        let clients = self.agent.client().into_iter().chain(self.user.client());
        clients.chain(self.judge.clients()).any(Client::is_replayed)
    }

    /// Whether anybody is paid.
    pub fn paid(&self) -> bool {
        !self.scripted()
    }

    /// Whether a scripted judge has nothing to go by in a session: an imported one has no matchers.
    pub fn lacks_matcher(&self, session: &Session) -> bool {
        let lexical_user = matches!(self.user, UserAgent::Lexical);
        let lexical_judge = matches!(self.judge, Judge::Lexical);
        let blind = |item: &Item| matches!(item.grading, suite::Grading::Rubric { met: None });
        (lexical_user
            && session
                .intents
                .iter()
                .any(|intent| intent.satisfied.is_none()))
            || (lexical_judge && session.checklist.iter().any(blind))
    }
}

/// What a plan is made of beside its manifest.
struct Made<'a> {
    suite: Arc<Suite>,
    roles: Roles,
    spending: Spending,
    guests: &'a Guests,
    folder: RunFolder,
    web: Arc<Web>,
    beside: bool,
    preflight: bool,
    /// From the signal of a scheduler to its kill.
    grace: Duration,
    log: Option<Log>,
    /// Most episodes at once; None for no bound.
    most: Option<usize>,
}

impl Plan {
    /// The built-in tools of its profile, and those that the persona lists of its apps'.
    pub(super) async fn toolbox(&self, persona: &Persona) -> Result<Toolbox, EpisodeError> {
        let place = self.toolboxes.of(persona);
        let make = || list_tools(persona, &self.plugins, self.app_limits, self.scaffold);
        place.get_or_try_init(make).await.cloned()
    }

    /// The plan that a manifest says; the suite's own settings were decided when that was made.
    fn of(manifest: &Manifest, made: Made<'_>) -> Self {
        let Made {
            suite,
            roles,
            spending,
            guests,
            folder,
            web,
            beside,
            preflight,
            grace,
            log,
            most,
        } = made;
        let GuestLimits {
            app,
            grader,
            python,
            shell,
            document,
            load: _,
        } = guests.limits;
        let graded = manifest.graded.as_ref();
        let others = Others::of(folder.root(), manifest.shard);
        let spending = Spending { others, ..spending };
        Self {
            protocol: manifest.protocol,
            played_by: graded.map_or(manifest.protocol, |graded| graded.protocol),
            scaffold: manifest.scaffold,
            web,
            seed: manifest.seed,
            runs: manifest.runs,
            jobs: at_once(&suite).min(most.unwrap_or(usize::MAX)),
            sessions: manifest.sessions.clone(),
            personas: manifest.personas.clone(),
            ablate: manifest.ablate,
            variants: false,
            shard: manifest.shard,
            roles,
            beside,
            plugins: Arc::clone(&guests.plugins),
            toolboxes: Toolboxes::default(),
            app_limits: app,
            grader_limits: grader,
            python_limits: python,
            shell_limits: shell,
            document_limits: document,
            folder,
            preflight,
            spending,
            stop: Stop::within(grace),
            log,
            suite,
        }
    }

    /// Whether another turn may begin: nobody asked to stop, and there is money.
    pub(super) fn may_begin_turn(&self) -> Result<(), EpisodeError> {
        self.stop.check()?;
        self.spending.check()
    }

    /// A persona's name in progress displays.
    pub fn shown(&self, persona: &str) -> String {
        if self.beside {
            format!("{}: {persona}", self.roles.agent_name)
        } else {
            persona.to_owned()
        }
    }

    /// The personas to play, in the suite's order.
    pub fn personas(&self) -> impl Iterator<Item = &Persona> {
        let wanted =
            |persona: &&Persona| self.personas.is_empty() || self.personas.contains(&persona.id);
        self.suite.personas.iter().filter(wanted)
    }

    /// Those of them that have anything to play.
    pub fn playing(&self) -> impl Iterator<Item = &Persona> {
        self.personas()
            .filter(|persona| self.sessions(persona).next().is_some())
    }

    /// The episodes to play: run by run, each persona that has anything to play.
    pub fn episodes(&self) -> impl Iterator<Item = (u32, &Persona)> {
        let all = (1..=self.runs).flat_map(|run| self.playing().map(move |persona| (run, persona)));
        let ours = |number| self.shard.is_none_or(|shard| shard.has(number));
        let numbered = all.enumerate().filter(move |(number, _)| ours(*number));
        numbered.map(|(_, episode)| episode)
    }

    /// The sessions of a persona to play, in the episode's order: the chosen ones and, but in an ablation, those that they
    /// depend on.
    pub fn sessions<'a>(&'a self, persona: &'a Persona) -> impl Iterator<Item = &'a Session> {
        let ablated = self.ablate == Some(Ablation::Dependencies);
        let chosen = move |session: &Session| {
            (self.sessions.is_empty() || self.sessions.contains(&session.id))
                && !(ablated && session.depends_on.is_empty())
        };
        let needed: Vec<&String> = persona
            .sessions
            .iter()
            .filter(|session| !ablated && chosen(session))
            .flat_map(|session| &session.depends_on)
            .collect();
        persona
            .sessions
            .iter()
            .filter(move |session| chosen(session) || needed.contains(&&session.id))
    }

    /// The sessions of its group that come before this one and are not played, in the episode's order, back to one that
    /// is: that one was given what those before it bring.
    pub fn unplayed<'a>(&self, persona: &'a Persona, session: &'a Session) -> Vec<&'a Session> {
        let played: Vec<&str> = self.sessions(persona).map(|one| one.id.as_str()).collect();
        let sessions = || persona.sessions.iter();
        let last = if session.depends_on.is_empty() {
            sessions().find(|other| other.depends_on.contains(&session.id))
        } else {
            Some(session)
        };
        let members = last.map_or(&[][..], |last| last.depends_on.as_slice());
        let mut before: Vec<&Session> = sessions()
            .take_while(|other| other.id != session.id)
            .filter(|other| members.contains(&other.id))
            .collect();
        let is_played = |other: &&Session| played.contains(&other.id.as_str());
        let known = before.iter().rposition(is_played).map_or(0, |at| at + 1);
        before.split_off(known)
    }

    /// The limits of a grader's calls.
    pub fn limits_of_grader(&self, grader: &str) -> Limits {
        if grader == "python" {
            self.python_limits
        } else {
            self.grader_limits
        }
    }
}
