//! A suite to plans: everything that is asked of a run is decided and looked at before the first folder is made, so that a
//! mistake leaves none behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use super::answers::{is_private, offline};
use super::cast::{Names, cast, clients};
use super::{
    AgentRole, Answers, Guests, Machine, Made, Notice, Plan, PlanError, Roles, guests, process,
    whose,
};
use crate::log::Log;
use crate::role::prompts::Prompts;
use crate::spending::Spending;
use crate::tools::list_tools;
use pibench_agent::AgentPrompts;
use pibench_core::near::did_you_mean;
use pibench_core::vocabulary::{Ablation, PROTOCOL_VERSION};
use pibench_model::cassette::Tape;
use pibench_model::client::Clients;
use pibench_model::collector::Collector;
use pibench_model::web::Web;
use pibench_record::event::VERSION;
use pibench_record::folder::{FolderError, PluginMark, Shard, check_place};
use pibench_record::{Manifest, RunFolder};
use pibench_sandbox::GuestLimits;
use pibench_suite::load::{Assignment, LoadedPolicy, SCAFFOLD_PROMPT};
use pibench_suite::suite::{Session, Suite};

/// What is asked of a run beside its suite's settings.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only this part of the episodes.
    pub shard: Option<Shard>,
    /// A folder of plugins, before those of the program.
    pub plugins: Option<Utf8PathBuf>,
    /// A folder of prompts in the place of the built-in ones.
    pub prompts: Option<Utf8PathBuf>,
    /// US dollars.
    pub max_cost: Option<f64>,
    /// Whether the models are asked a question before the first session.
    pub preflight: bool,
    /// Whether plugins are compiled as quickly as for a run, though nothing is played.
    pub hurried: bool,
    /// How it is played; None for a trial, which reaches no real web and keeps no log.
    pub playing: Option<Playing>,
}

/// What only a run has that is played for its own sake.
#[derive(Debug, Clone)]
pub struct Playing {
    /// What goes into the folder's log.
    pub log: LevelFilter,
    /// Where spans go too.
    pub collector: Option<Collector>,
    /// Whether what is written survives a power cut; None: if a real model takes part, whose answers are not to be had again.
    pub sync: Option<bool>,
    /// How long turns may be played on after SIGTERM or SIGUSR1, until the scheduler kills.
    pub grace: Duration,
}

impl Playing {
    fn is_synced(&self, roles: &Roles) -> bool {
        self.sync.unwrap_or_else(|| !roles.scripted())
    }

    /// A private suite's messages go to no collector, who would have them open.
    pub(super) fn check_messages(&self, suite: &Suite) -> Result<(), PlanError> {
        let takes = self
            .collector
            .as_ref()
            .is_some_and(Collector::takes_messages);
        if takes && is_private(suite) {
            let reason = format!(
                "send messages to a collector: they hold what {} keeps private, and would lie there open; play without \
                 --otlp-messages",
                suite.path
            );
            return Err(PlanError::input(reason));
        }
        Ok(())
    }
}

/// One of the agents that play.
#[derive(Debug, Clone)]
pub struct Seat {
    pub agent: String,
    /// The new run folder; None for one by the time of day.
    pub out: Option<Utf8PathBuf>,
    pub answers: Answers,
}

/// What a suite and an operator decide, before anything is made.
#[derive(Debug)]
pub struct Settled {
    pub manifest: Manifest,
    pub limits: GuestLimits,
    pub policy: Option<LoadedPolicy>,
}

/// What the plans of all agents of a suite share.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) prompts: Prompts,
    pub(super) guests: Guests,
    marks: BTreeMap<String, PluginMark>,
}

/// Who plays, told before any plugin is compiled.
pub(super) struct Cast {
    roles: Roles,
    spending: Spending,
}

/// What a suite decides for one agent.
pub(super) struct Decided {
    pub(super) manifest: Manifest,
    pub(super) roles: Roles,
    pub(super) spending: Spending,
}

/// The plan of one agent, in a new run folder.
pub async fn resolve(
    machine: &Machine,
    suite: &Suite,
    wanted: &Wanted,
    seat: Seat,
) -> Result<Plan, PlanError> {
    only(resolve_all(machine, suite, wanted, &[seat]).await?)
}

/// The plan that there is for one agent.
pub(super) fn only(mut plans: Vec<Plan>) -> Result<Plan, PlanError> {
    let one = plans.pop();
    one.ok_or_else(|| PlanError::asked("play without an agent"))
}

/// The plans of these agents, each in a new run folder.
pub async fn resolve_all(
    machine: &Machine,
    suite: &Suite,
    wanted: &Wanted,
    seats: &[Seat],
) -> Result<Vec<Plan>, PlanError> {
    let tape = |seat: &Seat| seat.answers.tape(suite, false);
    let first = seats.first().map(tape).transpose()?;
    let mut clients = clients(suite, first.unwrap_or_default());
    // Before plugins are compiled, which takes a while on a new machine.
    for Seat { out, .. } in seats {
        let out = out.as_ref().map(|out| out.as_std_path());
        let usual = Path::new(RUNS).join(&suite.id);
        check_place(out.unwrap_or(&usual)).map_err(of_folder)?;
    }
    let prompts = load_prompts(suite, wanted)?;
    let mut all = Vec::new();
    for (at, seat) in seats.iter().enumerate() {
        if at > 0 && !seat.answers.is_shared() {
            clients.tape(tape(seat)?);
        }
        all.push(seat_one(
            suite,
            wanted,
            &seat.agent,
            &prompts,
            &mut clients,
        )?);
    }
    let ground = Ground::of(machine, suite, wanted, prompts)?;
    let mut decided = Vec::new();
    for (seat, cast) in seats.iter().zip(all) {
        let one = ground.decide(suite, wanted, cast)?;
        fit_tools(suite, &ground.guests, &one).await?;
        let web = match &wanted.playing {
            Some(_) => seat.answers.web(suite)?,
            None => offline(suite),
        };
        decided.push((seat, one, Arc::new(web)));
    }
    let beside = seats.len() > 1;
    let suite = Arc::new(suite.clone());
    let placed = decided.into_iter().map(|(seat, one, web)| {
        ground.place(
            machine,
            &suite,
            wanted,
            seat.out.as_deref(),
            one,
            web,
            beside,
        )
    });
    placed.collect()
}

/// What would be decided for an agent. Nothing is made, and no key is needed.
pub fn settle(
    machine: &Machine,
    suite: &Suite,
    wanted: &Wanted,
    agent: &str,
) -> Result<Settled, PlanError> {
    let mut clients = clients(suite, Tape::Silent);
    let prompts = load_prompts(suite, wanted)?;
    let cast = seat_one(suite, wanted, agent, &prompts, &mut clients)?;
    let ground = Ground::of(machine, suite, wanted, prompts)?;
    let Decided { manifest, .. } = ground.decide(suite, wanted, cast)?;
    let Guests { limits, policy, .. } = ground.guests;
    Ok(Settled {
        manifest,
        limits,
        policy,
    })
}

/// The prompts of a suite that has anything to play.
pub(super) fn load_prompts(suite: &Suite, wanted: &Wanted) -> Result<Prompts, PlanError> {
    check_filter(suite)?;
    Prompts::load(wanted.prompts.as_deref()).map_err(PlanError::input)
}

/// Everybody who plays beside this agent, and by whose words.
pub(super) fn seat_one(
    suite: &Suite,
    wanted: &Wanted,
    agent: &str,
    prompts: &Prompts,
    clients: &mut Clients<'_>,
) -> Result<Cast, PlanError> {
    let names = Names::of(suite, agent);
    let (roles, spending) = cast(names, prompts, clients, wanted.max_cost)?;
    if suite.has_option(SCAFFOLD_PROMPT) && prompts.own(AgentPrompts::SYSTEM).is_some() {
        return Err(PlanError::asked(format!(
            "use --scaffold-prompt: {} of --prompts goes in its place; leave one of them out",
            AgentPrompts::SYSTEM
        )));
    }
    Ok(Cast { roles, spending })
}

impl Ground {
    /// Loads the plugins: what can be told without them is to be told before.
    pub(super) fn of(
        machine: &Machine,
        suite: &Suite,
        wanted: &Wanted,
        prompts: Prompts,
    ) -> Result<Self, PlanError> {
        let dirs = guests::search(machine, wanted.plugins.as_deref())?;
        let guests = Guests::of(machine, suite, dirs, suite.policy.as_deref())?;
        let played = (&*suite.filter.personas, &*suite.filter.sessions);
        Ok(Self {
            prompts,
            marks: guests.load_marks(
                machine,
                suite,
                played,
                wanted.hurried || wanted.playing.is_some(),
            )?,
            guests,
        })
    }

    pub(super) fn decide(
        &self,
        suite: &Suite,
        wanted: &Wanted,
        cast: Cast,
    ) -> Result<Decided, PlanError> {
        let prompts = &self.prompts;
        let Cast { roles, spending } = cast;
        let few = if roles.scripted() { 1 } else { 3 };
        let set = suite.assigned.iter().filter_map(Assignment::text);
        let policy = self.guests.policy.as_ref();
        let manifest = Manifest {
            version: VERSION,
            host: env!("CARGO_PKG_VERSION").into(),
            started: jiff::Timestamp::now().to_string(),
            suite: suite.id.clone(),
            suite_path: absolute(&suite.path)?,
            suite_digest: suite.digest.clone(),
            suite_parts: suite.parts.clone(),
            protocol_version: PROTOCOL_VERSION,
            protocol: suite.protocol,
            scaffold: suite.scaffold,
            scaffold_prompt: Some(roles.agent_prompts.wording.into()),
            scaffold_prompt_digest: Some(roles.agent_prompts.digest()),
            agent: roles.agent_name.clone(),
            user: roles.user_name.clone(),
            judge: roles.judge_name.clone(),
            players: roles.players(),
            models: roles.models(),
            process: process::mark(&roles.agent_name, &suite.agents),
            runs: suite.runs.unwrap_or(few),
            seed: suite.seed,
            personas: suite.filter.personas.clone(),
            sessions: suite.filter.sessions.clone(),
            ablate: suite.ablate,
            shard: wanted.shard,
            graded: None,
            set: set.map(str::to_owned).collect(),
            max_cost: spending.limit,
            plugin_dirs: self.guests.recorded_dirs(),
            prompts: wanted.prompts.as_deref().map(absolute).transpose()?,
            prompts_version: prompts.version(),
            prompts_digest: prompts.digest().to_owned(),
            policy: suite.policy.as_deref().map(absolute).transpose()?,
            policy_digest: policy.map(|policy| policy.digest.clone()),
            plugins: self.marks.clone(),
            limits: self.guests.recorded_limits(),
            imported: None,
            published: None,
        };
        Ok(Decided {
            manifest,
            roles,
            spending,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "each is decided elsewhere")]
    pub(super) fn place(
        &self,
        machine: &Machine,
        suite: &Arc<Suite>,
        wanted: &Wanted,
        out: Option<&Utf8Path>,
        decided: Decided,
        web: Arc<Web>,
        beside: bool,
    ) -> Result<Plan, PlanError> {
        let Decided {
            manifest,
            roles,
            spending,
        } = decided;
        self.guests.decide(suite)?;
        if let Some(playing) = &wanted.playing {
            playing.check_messages(suite)?;
            whose::keep(machine, &manifest, suite);
        }
        let out = out.map(|out| out.as_std_path().to_owned());
        let out = out.unwrap_or_else(|| default_out(&suite.id));
        let suite_folder = suite.path.parent().unwrap_or(Utf8Path::new(""));
        let playing = wanted.playing.as_ref();
        let is_synced = playing.is_some_and(|playing| playing.is_synced(&roles));
        let folder = RunFolder::create_as(&out, &manifest, suite_folder.as_std_path(), is_synced);
        let mut folder = folder.map_err(PlanError::disk)?;
        if let Some(playing) = &wanted.playing {
            begin(machine, &mut folder, playing, &roles)?;
        }
        let log = wanted.playing.as_ref();
        let log = log.map(|playing| log_of(machine, &folder, playing));
        let plan = Plan::of(
            &manifest,
            Made {
                suite: Arc::clone(suite),
                roles,
                spending,
                guests: &self.guests,
                folder,
                web,
                beside,
                preflight: wanted.preflight,
                grace: wanted
                    .playing
                    .as_ref()
                    .map_or(Duration::ZERO, |playing| playing.grace),
                log: log.transpose()?.flatten(),
                most: wanted.playing.as_ref().map(|_| machine.most),
            },
        );
        warn_of_files(machine, &plan);
        Ok(plan)
    }
}

/// Makes a run folder ready to be played into: says who does, and how much of it is to last.
pub(super) fn begin(
    machine: &Machine,
    folder: &mut RunFolder,
    playing: &Playing,
    roles: &Roles,
) -> Result<(), PlanError> {
    folder.begin(&machine.node).map_err(PlanError::disk)?;
    if playing.is_synced(roles) {
        folder.survive_power_cuts().map_err(PlanError::disk)?;
    }
    Ok(())
}

/// Tells that fewer episodes are played at once than were asked for.
pub(super) fn warn_of_files(machine: &Machine, plan: &Plan) {
    let asked = guests::at_once(&plan.suite);
    let wanted = asked.min(plan.episodes().count());
    if plan.jobs < asked && wanted > plan.jobs {
        (machine.tell)(Notice::Fewer {
            asked,
            most: plan.jobs,
        });
    }
}

/// The log of a run that is about to be played.
pub(super) fn log_of(
    machine: &Machine,
    folder: &RunFolder,
    playing: &Playing,
) -> Result<Option<Log>, PlanError> {
    /// A log that cannot be written.
    #[derive(Debug, thiserror::Error)]
    #[error("write the log of {}", folder.display())]
    struct NoLog {
        folder: PathBuf,
        source: std::io::Error,
    }

    if playing.log == LevelFilter::OFF && playing.collector.is_none() {
        return Ok(None);
    }
    let stderr = EnvFilter::builder().parse_lossy(&machine.stderr);
    let log = Log::open(
        folder.root(),
        playing.log,
        playing.collector.clone(),
        stderr,
    )
    .map_err(|source| NoLog {
        folder: folder.root().to_owned(),
        source,
    });
    log.map(Some).map_err(PlanError::disk)
}

/// Names that stand in a message; more are listed elsewhere.
const MOST_NAMED: usize = 20;

/// A persona or session that the suite does not have: of an option, as the file's own filter was checked with the file.
fn check_filter(suite: &Suite) -> Result<(), PlanError> {
    let personas = suite.personas.iter().map(|persona| persona.id.as_str());
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    let sessions = sessions.map(|session| session.id.as_str());
    let filter = &suite.filter;
    for (what, wanted, there) in [
        ("persona", &filter.personas, personas.collect::<Vec<_>>()),
        ("session", &filter.sessions, sessions.collect()),
    ] {
        if let Some(unknown) = wanted.iter().find(|id| !there.contains(&id.as_str())) {
            let near = did_you_mean(unknown, there.iter().copied());
            let there = match there.len() {
                0..=MOST_NAMED => format!("the suite has {}", there.join(", ")),
                many => format!("`pibench-host list sessions` names all {many}"),
            };
            let told = format!("find {what} `{unknown}`{near}: {there}");
            return Err(PlanError::asked(told));
        }
    }
    check_any_left(suite)
}

/// Each name is there, and yet nothing would be played: a session of another persona, or an ablation of what ends no group.
fn check_any_left(suite: &Suite) -> Result<(), PlanError> {
    let filter = &suite.filter;
    let is_wanted =
        |session: &&Session| filter.sessions.is_empty() || filter.sessions.contains(&session.id);
    let personas = suite.personas.iter();
    let personas = personas
        .filter(|persona| filter.personas.is_empty() || filter.personas.contains(&persona.id));
    let sessions = personas.flat_map(|persona| persona.sessions.iter().filter(is_wanted));
    let sessions: Vec<&Session> = sessions.collect();
    let asked = filter.sessions.join(", ");
    if sessions.is_empty() && !filter.sessions.is_empty() {
        let owners = suite.personas.iter();
        let owners = owners.filter(|persona| persona.sessions.iter().any(|one| is_wanted(&one)));
        let owners: Vec<&str> = owners.map(|persona| persona.id.as_str()).collect();
        let personas = filter.personas.join(", ");
        return Err(PlanError::asked(format!(
            "find anything to play: {asked} is of {}, and persona {personas} was asked for",
            owners.join(", ")
        )));
    }
    if suite.ablate == Some(Ablation::Dependencies)
        && sessions.iter().all(|session| session.depends_on.is_empty())
    {
        let none = match asked.as_str() {
            "" => "there is none".into(),
            asked => format!("{asked} is none"),
        };
        return Err(PlanError::asked(format!(
            "find anything to play: without dependencies the sessions that end a group are played, and {none}"
        )));
    }
    Ok(())
}

/// A persona with more tools than the agent's server takes is refused before anything is made or asked.
async fn fit_tools(suite: &Suite, guests: &Guests, decided: &Decided) -> Result<(), PlanError> {
    let AgentRole::Client(agent) = &decided.roles.agent else {
        return Ok(());
    };
    // A recording takes what it took.
    let Some(most) = agent.max_tools().filter(|_| !agent.is_replayed()) else {
        return Ok(());
    };
    let Manifest {
        personas,
        sessions,
        scaffold,
        ..
    } = &decided.manifest;
    for persona in suite.played(personas, sessions) {
        let listed = list_tools(persona, &guests.plugins, guests.limits.app, *scaffold);
        let count = listed.await.map_err(PlanError::input)?.specs().len();
        if count > most as usize {
            let (id, model, provider) = (&persona.id, agent.spec(), agent.provider());
            return Err(PlanError::input(format!(
                "play {id} with {model}: it has {count} tools, built-in ones among them, and {provider} takes {most} in a \
                 request; shorten `tools` of its persona.toml, choose another model, or set `max_tools` of \
                 [providers.{provider}] in the suite if its server takes more"
            )));
        }
    }
    Ok(())
}

/// A file that is not there.
#[derive(Debug, thiserror::Error)]
#[error("find {path}")]
struct NotThere {
    path: Utf8PathBuf,
    source: std::io::Error,
}

/// A path for a manifest.
pub fn absolute(path: &Utf8Path) -> Result<String, PlanError> {
    let found = path.canonicalize_utf8().map_err(|source| NotThere {
        path: path.to_owned(),
        source,
    });
    let found = found.map_err(PlanError::disk)?;
    Ok(found.into_string())
}

/// Where runs go without `--out`.
const RUNS: &str = "runs";

/// A folder by the time of day, with a number where that is taken: two short runs can begin in one second.
pub fn default_out(suite: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let mut out = PathBuf::from(format!("{RUNS}/{suite}-{now}"));
    for number in 2.. {
        if !out.exists() {
            break;
        }
        out = PathBuf::from(format!("{RUNS}/{suite}-{now}-{number}"));
    }
    out
}

pub(super) fn of_folder(error: FolderError) -> PlanError {
    match error {
        FolderError::Read { .. } | FolderError::Within { .. } | FolderError::NotUtf8 { .. } => {
            PlanError::input(error)
        }
        _ => PlanError::disk(error),
    }
}
