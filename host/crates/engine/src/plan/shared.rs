//! Plans of one suite that are made one by one while others play: guests, prompts and ways to models are loaded once, and each
//! plan is one part of a run in a folder of its own.

use std::sync::{Arc, Mutex, PoisonError};

use camino::Utf8Path;

use super::cast::clients;
use super::error::GO_ON;
use super::reopen::{same_rules, same_run};
use super::resolve::{Decided, Ground, begin, load_prompts, log_of, of_folder, seat_one};
use super::{AgentRole, Answers, Machine, Made, Plan, PlanError, Playing, Wanted};
use pibench_core::cost::MicroUsd;
use pibench_model::cassette::Tape;
use pibench_model::client::{Client, Clients};
use pibench_model::meter::Meter;
use pibench_model::web::Web;
use pibench_record::folder::Shard;
use pibench_record::{Manifest, RunFolder};
use pibench_suite::suite::Suite;

/// Who hears of each sum that a model's answer cost, as [`Meter::telling`] tells it.
pub trait Paid: Fn(MicroUsd) + Send + Sync + 'static {}

impl<F: Fn(MicroUsd) + Send + Sync + 'static> Paid for F {}

/// A suite that is ready to be played in parts.
pub struct Shared {
    machine: Machine,
    suite: Arc<Suite>,
    web: Arc<Web>,
    wanted: Wanted,
    playing: Playing,
    ground: Ground,
    clients: Mutex<Clients<'static>>,
    episodes: usize,
}

impl Shared {
    /// Loads and compiles all that an episode may need, so that none waits for it.
    pub fn of(
        machine: Machine,
        suite: Suite,
        wanted: Wanted,
        playing: Playing,
    ) -> Result<Self, PlanError> {
        let mut clients = clients(&suite, Tape::Off);
        let prompts = load_prompts(&suite, &wanted)?;
        let cast = seat_one(&suite, &wanted, AgentRole::EXTERNAL, &prompts, &mut clients)?;
        let ground = Ground::of(&machine, &suite, &wanted, prompts)?;
        ground.guests.decide(&suite)?;
        ground.guests.load_tools(&machine)?;
        let decided = ground.decide(&suite, &wanted, cast)?;
        if suite.ablate.is_some() {
            return Err(PlanError::asked(
                "play a suite with `ablate` in parts of one episode: leave it out",
            ));
        }
        let episodes = episodes(&suite, &decided.manifest);
        Ok(Self {
            episodes,
            clients: Mutex::new(clients),
            web: Arc::new(Answers::Asked.web(&suite)?),
            machine,
            suite: Arc::new(suite),
            wanted,
            playing,
            ground,
        })
    }

    /// How many parts a run has when each is one episode.
    pub fn episodes(&self) -> usize {
        self.episodes
    }

    /// The models of the user agent and the judges, each as often as it has a role. `paid` hears what their answers cost.
    pub fn models(&self, paid: impl Paid) -> Result<Vec<Client>, PlanError> {
        let roles = self.decide(AgentRole::EXTERNAL, None, paid)?.roles;
        let all = roles.user.client().into_iter().chain(roles.judge.clients());
        Ok(all.cloned().collect())
    }

    /// The plan of a part of a new run, in a new folder. `paid` hears what its models cost, and no other part's.
    pub fn begin(
        &self,
        agent: &str,
        shard: Shard,
        out: &Utf8Path,
        paid: impl Paid,
    ) -> Result<Plan, PlanError> {
        let decided = self.decide(agent, Some(shard), paid)?;
        let (machine, suite, wanted) = (&self.machine, &self.suite, &self.wanted);
        let wanted = Wanted {
            playing: Some(self.playing.clone()),
            ..wanted.clone()
        };
        self.ground.place(
            machine,
            suite,
            &wanted,
            Some(out),
            decided,
            Arc::clone(&self.web),
            false,
        )
    }

    /// The plan of a part that was begun before; `paid` hears what is paid from now on.
    pub fn go_on(&self, dir: &Utf8Path, paid: impl Paid) -> Result<Plan, PlanError> {
        let (mut folder, manifest) = RunFolder::open(dir.as_std_path()).map_err(of_folder)?;
        same_rules(GO_ON, dir, &manifest)?;
        let decided = self.decide(&manifest.agent, manifest.shard, paid)?;
        let Decided {
            manifest: now,
            roles,
            spending,
        } = decided;
        same_run(GO_ON, dir, &manifest, &now)?;
        begin(&self.machine, &mut folder, &self.playing, &roles)?;
        let log = log_of(&self.machine, &folder, &self.playing)?;
        Ok(Plan::of(
            &manifest,
            Made {
                suite: Arc::clone(&self.suite),
                roles,
                spending,
                guests: &self.ground.guests,
                folder,
                web: Arc::clone(&self.web),
                beside: false,
                preflight: false,
                grace: self.playing.grace,
                log,
                most: Some(self.machine.most),
            },
        ))
    }

    fn decide(
        &self,
        agent: &str,
        shard: Option<Shard>,
        paid: impl Paid,
    ) -> Result<Decided, PlanError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.count_by(Arc::new(Meter::telling(paid)));
        let wanted = Wanted {
            shard,
            ..self.wanted.clone()
        };
        let (suite, prompts) = (&self.suite, &self.ground.prompts);
        let cast = seat_one(suite, &wanted, agent, prompts, &mut clients)?;
        self.ground.decide(suite, &wanted, cast)
    }
}

/// The personas that have anything to play, in each run.
fn episodes(suite: &Suite, manifest: &Manifest) -> usize {
    let played = suite.played(&manifest.personas, &manifest.sessions);
    played.count() * manifest.runs as usize
}
