//! Episodes side by side: one task each, as many at a time as there are jobs. An episode that breaks leaves the others
//! alone; one whose model's server rejects what it is asked ends all.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, join};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::episode::spent;
use super::error::{EpisodeError, RunError};
use super::outline::outline;
use super::plan::{OF_TOOLS, Plan};
use super::preflight::{Probe, preflight};
use super::stop::{INTERRUPTED, Scheduler};
use super::{course, records, results};
use pibench_core::cost::MicroUsd;
use pibench_core::message::{Role, Usage};
use pibench_core::progress::{Progress, Pulse, Spent};
use pibench_model::ModelError;
use pibench_model::meter::Meter;
use pibench_record::EpisodeState;
use pibench_record::event::RoleUsage;
use pibench_record::journal;
use pibench_record::pulse::{Teller, clear_pulse, read_last};
use pibench_record::results::RunResults;
use pibench_record::standing::EpisodeResults;

const PULSE: Duration = Duration::from_secs(1);

/// How much a thread gives way to others (`nice`): a third of their share. With the least of all, a turn that needs what is
/// compiled waited for minutes beside a builder's work.
const LESS_URGENT: i32 = 5;

/// How often the program's own memory is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How a run ended.
#[derive(Debug)]
pub enum Finished {
    /// Every episode was played to its end, or as far as what is outside let it.
    All {
        results: Box<RunResults>,
        /// What broke outside, a text for each episode; empty when nothing did.
        broken: Vec<String>,
        /// Why episodes were stopped before their end: the run may cost no more.
        spent: Option<String>,
        /// Why all episodes were stopped: the operator has to mend something.
        setup: Option<String>,
        /// Calls that models answered in turns that were cut off, and what they cost: no record has them. Of runs side by
        /// side all are the first one's.
        lost: Box<Usage>,
    },
    /// A model did not pass the preflight, this plan's or that of one beside it: nothing was played.
    NotBegun {
        /// What broke outside, a text for each.
        broken: Vec<String>,
        /// What the operator has to mend.
        setup: Option<String>,
        /// Whether the folder is still there, as one that was there before is.
        is_kept: bool,
    },
    /// The user or the scheduler stopped it; the folder can be gone on with.
    Interrupted {
        /// As above.
        lost: Box<Usage>,
    },
}

/// Plays what is planned and not played yet, and scores it. `resume` says that journals may be there already.
pub async fn play(
    plan: Plan,
    resume: bool,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<Finished, RunError> {
    let mut finished = play_all(vec![plan], resume, progress).await?;
    // One plan has one end.
    let none = || Finished::Interrupted {
        lost: Box::default(),
    };
    Ok(finished.pop().unwrap_or_else(none))
}

/// Plays several plans side by side, as many episodes at a time as the first has jobs; how each ended, in their order. An
/// episode of each plan is begun before the next one of any.
pub async fn play_all(
    plans: Vec<Plan>,
    resume: bool,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<Vec<Finished>, RunError> {
    let memory = plans.first().and_then(|plan| plan.suite.memory);
    if memory.is_some() && pibench_memory::in_use().is_none() {
        return Err(RunError::Memory);
    }
    let mut scheduler = Scheduler::heard().map_err(RunError::Signals)?;
    for plan in &plans {
        plan.folder.put_outline(&outline(plan).await?)?;
    }
    report_planned(&plans, resume, &progress)?;
    // A trial has no log, and plays on the threads that would compile.
    if let Some(plan) = plans.first().filter(|plan| plan.log.is_some()) {
        compile_beside(plan, &progress);
    }
    for plan in &plans {
        if !results::is_whole(plan)? {
            plan.folder.unseal()?;
        }
    }
    if let Some(memory) = memory {
        pibench_memory::bound(memory.bytes());
    }
    let plans: Vec<Arc<Plan>> = plans.into_iter().map(Arc::new).collect();
    let Some(joined) = play_episodes(&plans, resume, &progress, &mut scheduler).await? else {
        return interrupted(&plans);
    };
    for plan in &plans {
        plan.spending.publish()?;
    }
    if joined.iter().any(|joined| joined.stopped) {
        return interrupted(&plans);
    }
    if joined.iter().any(|joined| joined.refused) {
        return refuse(&plans, joined, resume);
    }
    if joined.iter().all(Joined::is_whole) {
        for plan in &plans {
            clear_pulse(&plan.folder);
        }
    }
    let ended = plans.iter().zip(joined);
    let ended = ended.map(|(plan, joined)| finish(plan, joined));
    let mut ended = ended.collect::<Result<Vec<Finished>, RunError>>()?;
    if let Some(plan) = plans.first() {
        enter_lost(&mut ended, &plan.spending.meter);
    }
    Ok(ended)
}

/// How plans ended that were stopped.
fn interrupted(plans: &[Arc<Plan>]) -> Result<Vec<Finished>, RunError> {
    let mut recorded = Usage::default();
    for plan in plans {
        let results = results::collect(plan)?;
        recorded += results.usage.total();
        recorded += results.preflight.total();
    }
    let ended = plans.iter().enumerate().map(|(at, plan)| {
        let lost = (at == 0).then(|| plan.spending.meter.beyond(&recorded));
        Finished::Interrupted {
            lost: Box::new(lost.unwrap_or_default()),
        }
    });
    Ok(ended.collect())
}

/// Runs side by side have one meter.
fn enter_lost(ended: &mut [Finished], meter: &Meter) {
    let mut recorded = Usage::default();
    for one in &*ended {
        if let Finished::All { results, .. } = one {
            recorded += results.usage.total();
            recorded += results.preflight.total();
        }
    }
    if let Some(Finished::All { lost, .. }) = ended.first_mut() {
        **lost = meter.beyond(&recorded);
    }
}

/// What became of each plan's episodes, in the order of the plans; None when the user or the scheduler ended them all.
async fn play_episodes(
    plans: &[Arc<Plan>],
    resume: bool,
    progress: &mpsc::UnboundedSender<Progress>,
    scheduler: &mut Scheduler,
) -> Result<Option<Vec<Joined>>, RunError> {
    let jobs = plans.first().map_or(1, |plan| plan.jobs);
    // To open an episode is work for a processor: an app that is opened beside a thousand others would wait past the end of
    // its time, and so would the network of those that are open already.
    let opening = Arc::new(Semaphore::new(Handle::current().metrics().num_workers()));
    let episode = |(of, run, persona): (usize, u32, String), opening| {
        let (plan, progress) = (Arc::clone(&plans[of]), progress.clone());
        let played = play_episode(plan, persona, run, resume, opening, progress);
        played.map(move |result| (of, result))
    };
    let mut tasks = JoinSet::new();
    let mut joined: Vec<Joined> = plans.iter().map(|_| Joined::default()).collect();
    let begun = async {
        if !passes(plans, progress, &mut joined).await? {
            return Ok(());
        }
        let episodes = in_turn(plans);
        let room = Room {
            jobs,
            is_near: pibench_memory::is_near,
        };
        play_in_order(episodes, episode, room, &opening, &mut tasks, &mut joined).await
    };
    // What is written is whole at any moment, and a plugin that is being compiled may take its time.
    tokio::select! {
        ended = begun => ended.map(|()| Some(joined)),
        never = pulse(plans, progress) => match never {},
        never = keep_in_bounds(plans) => match never {},
        _ = tokio::signal::ctrl_c() => {
            tokio::select! {
                () = tasks.shutdown() => {}
                _ = tokio::signal::ctrl_c() => std::process::exit(INTERRUPTED.into()),
            }
            Ok(None)
        }
        () = stop_all(scheduler, plans) => {
            tokio::select! {
                () = tasks.shutdown() => {}
                () = until_killed(plans) => {}
            }
            Ok(None)
        }
    }
}

/// Plays an episode, logged where the run has a log. Boxed here, and in no async function: whoever awaits one of those compiles
/// it with all that it awaits, and a program would make an episode's code once more.
fn play_episode(
    plan: Arc<Plan>,
    persona: String,
    run: u32,
    resume: bool,
    opening: OwnedSemaphorePermit,
    progress: mpsc::UnboundedSender<Progress>,
) -> BoxFuture<'static, Result<EpisodeResults, EpisodeError>> {
    let logged = Arc::clone(&plan);
    let episode = async move {
        let agent = &plan.roles.agent_name;
        let span = tracing::info_span!("episode", %agent, %persona, run);
        let played = course::play(&plan, &persona, run, resume, opening, &progress);
        let result = played.instrument(span).await?;
        Ok(EpisodeResults::from([((run, persona.clone()), result)]))
    };
    match &logged.log {
        Some(log) => log.of(episode).boxed(),
        None => episode.boxed(),
    }
}

/// Scores what a plan's episodes came to.
fn finish(plan: &Plan, joined: Joined) -> Result<Finished, RunError> {
    let Joined {
        known,
        broken,
        spent,
        setup,
        stopped: _,
        refused: _,
    } = joined;
    let results = results::collect_others(plan, known)?;
    plan.folder.put_results(&results)?;
    Ok(Finished::All {
        results: Box::new(results),
        broken,
        spent,
        setup,
        lost: Box::default(),
    })
}

/// Takes away the folders of plans of which nothing was played; those that were there before are left as they were.
fn refuse(
    plans: &[Arc<Plan>],
    joined: Vec<Joined>,
    resume: bool,
) -> Result<Vec<Finished>, RunError> {
    let mut ended = Vec::new();
    // The first one's folder is the one that those above all were made for.
    for (plan, joined) in plans.iter().zip(joined).rev() {
        let is_kept = resume || !plan.folder.discard()?;
        if is_kept {
            let results = results::collect_others(plan, joined.known)?;
            plan.folder.put_results(&results)?;
        }
        ended.push(Finished::NotBegun {
            broken: joined.broken,
            setup: joined.setup,
            is_kept,
        });
    }
    ended.reverse();
    Ok(ended)
}

/// Passes when a scheduler has said that all must end, and the time for turns to end by themselves is over.
async fn stop_all(scheduler: &mut Scheduler, plans: &[Arc<Plan>]) {
    scheduler.says_stop().await;
    for plan in plans {
        plan.stop.ask();
    }
    // All have the same grace.
    if let Some(plan) = plans.first() {
        plan.stop.turns_may_end().await;
    }
}

/// Ends the process when its scheduler is about to.
async fn until_killed(plans: &[Arc<Plan>]) {
    if let Some(plan) = plans.first() {
        plan.stop.end().await;
    }
}

/// Looks at the program's own memory where it has a bound. Who has to go is named in the log, of several agents in the first's.
async fn keep_in_bounds(plans: &[Arc<Plan>]) -> Infallible {
    let looking = async {
        loop {
            if !pibench_memory::is_bounded() {
                return std::future::pending().await;
            }
            tokio::time::sleep(LOOK).await;
            if let Some(what) = pibench_memory::look() {
                tracing::warn!(%what, "ended: it held most of the program's memory, which is near its bound");
            }
        }
    };
    match plans.first().and_then(|plan| plan.log.as_ref()) {
        Some(log) => log.of(looking).await,
        None => looking.await,
    }
}

/// Tells once a second how the models are doing, in the folder too.
async fn pulse(plans: &[Arc<Plan>], progress: &mpsc::UnboundedSender<Progress>) -> Infallible {
    // Agents side by side have one meter.
    let Some(plan) = plans.first() else {
        return std::future::pending().await;
    };
    let mut telling = Telling {
        plan,
        runs: plans.len(),
        teller: Teller::of(&plan.folder),
    };
    loop {
        tokio::time::sleep(PULSE).await;
        let meter = &plan.spending.meter;
        let pulse = Pulse {
            calls: meter.in_flight(),
            tokens: meter.tokens(),
            waits: meter.waits(),
            playing: meter.at_work(),
            ..telling.sum()
        };
        telling.tell(&pulse);
        let _ = progress.send(Progress::Pulse(pulse));
    }
}

/// What tells how the models are doing, in the folder. Its last word is what was spent: turns that are cut off stand in no journal,
/// and whoever goes on has to know of them.
struct Telling<'a> {
    plan: &'a Plan,
    runs: usize,
    teller: Teller,
}

impl Telling<'_> {
    fn sum(&self) -> Pulse {
        Pulse {
            spent: spent(self.plan),
            runs: self.runs,
            ..Pulse::default()
        }
    }

    fn tell(&mut self, pulse: &Pulse) {
        if self.plan.roles.paid() {
            self.teller.tell(pulse);
        }
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let last = self.sum();
        self.tell(&last);
    }
}

/// What an earlier process of just these runs said last that was spent. Of agents side by side each alone does not know its share.
fn last_told(plans: &[Plan]) -> MicroUsd {
    let told = plans
        .iter()
        .filter_map(|plan| read_last(plan.folder.root()));
    let sums = told.filter_map(|pulse| match pulse.spent {
        Spent::Known(sum) if pulse.runs == plans.len() => Some(sum),
        _ => None,
    });
    sums.max().unwrap_or_default()
}

/// A run that has played for so long lasts: shorter ones would begin to compile the same plugin well, each anew, and end before it
/// is there.
const LASTING: Duration = Duration::from_secs(20);

/// Compiles the plugins of the agent's tools that are not yet, while the first turns play: one after the other, that which
/// takes longest last, on threads that give way to all others. On those of the pool that compiles the apps, the first turn would
/// wait for all of it. One that cannot be compiled is told where it is needed. Then, and without a word, what was
/// compiled quickly is compiled well, for the next run.
fn compile_beside(plan: &Plan, progress: &mpsc::UnboundedSender<Progress>) {
    let is_needed = |name: &&str| plan.plugins.is_there(name) && !plan.plugins.is_compiled(name);
    let needed: Vec<&str> = OF_TOOLS.into_iter().filter(is_needed).collect();
    if needed.is_empty() && plan.plugins.hurried().is_empty() {
        return;
    }
    // A thread that may not change its priority has the usual one.
    let give_way = |_| {
        let _ = rustix::process::nice(LESS_URGENT);
    };
    let pool = rayon::ThreadPoolBuilder::new().start_handler(give_way);
    // Without threads each is compiled where it is first used.
    let Ok(pool) = pool.build() else { return };
    // The display ends with the run and not with the compiling.
    let (plugins, progress) = (Arc::clone(&plan.plugins), progress.downgrade());
    pool.spawn(move || {
        let tell = |told| {
            if let Some(progress) = progress.upgrade() {
                // Nobody may be listening.
                let _ = progress.send(told);
            }
        };
        for name in needed {
            let (plugin, begun) = (name.to_owned(), Instant::now());
            let is_new = !plugins.is_soon_there(name);
            if is_new {
                tell(Progress::Compiling { plugin });
            }
            if let Ok(plugin) = plugins.get_soon(name)
                && is_new
            {
                tell(Progress::Compiled {
                    plugin: plugin.name.clone(),
                    ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                });
            }
        }
        if !plugins.hurried().is_empty() {
            std::thread::sleep(LASTING);
        }
        for name in plugins.hurried() {
            let begun = Instant::now();
            match plugins.compile_well(&name) {
                Ok(()) => tracing::info!(plugin = name, took = ?begun.elapsed(), "compiled well"),
                Err(error) => tracing::warn!(plugin = name, %error, "not compiled well"),
            }
        }
    });
}

/// Asks the models of each plan that has something to play; whether all of them answered. Why not is entered.
async fn passes(
    plans: &[Arc<Plan>],
    progress: &mpsc::UnboundedSender<Progress>,
    joined: &mut [Joined],
) -> Result<bool, RunError> {
    let mut pass = true;
    for (plan, joined) in plans.iter().zip(&mut *joined) {
        if !plan.preflight || results::is_whole(plan)? {
            continue;
        }
        let asked = join(preflight(plan), records::first_refused(plan));
        let (probes, refused) = asked.await;
        let probes = probes?;
        if probes.is_empty() {
            continue;
        }
        let used = used(&probes);
        if used.total().calls > 0 {
            plan.folder.put_preflight(&used)?;
        }
        if let Some(error) = refused {
            return Err(error.into());
        }
        let lines: Vec<String> = probes.iter().map(Probe::line).collect();
        // Nobody may be listening.
        let _ = progress.send(Progress::Preflight(lines.join("; ")));
        for error in probes.into_iter().filter_map(|probe| probe.answer.err()) {
            pass = false;
            let reason = format!("pass the preflight: {error}");
            match error {
                // A model that is several roles is told of once.
                ModelError::Infrastructure { .. } if joined.broken.contains(&reason) => {}
                ModelError::Infrastructure { .. } => joined.broken.push(reason),
                // Who refuses to say OK is of no use.
                ModelError::Setup { .. }
                | ModelError::Window { .. }
                | ModelError::Refused { .. } => {
                    joined.setup.get_or_insert(reason);
                }
            }
        }
        if pass && let Err(error) = plan.spending.counted() {
            pass = false;
            joined.setup.get_or_insert(error.to_string());
        }
    }
    for joined in joined {
        joined.refused = !pass;
    }
    Ok(pass)
}

fn used(probes: &[Probe]) -> RoleUsage {
    let mut used = RoleUsage::default();
    for probe in probes {
        *match probe.role {
            Role::Agent => &mut used.agent,
            Role::User => &mut used.user,
            Role::Judge => &mut used.judge,
        } += probe.usage;
    }
    used
}

/// The episodes of all plans: the first of each, the second of each, and so on, each with its plan's place.
fn in_turn(plans: &[Arc<Plan>]) -> Vec<(usize, u32, String)> {
    let mut episodes: Vec<(usize, usize, u32, String)> = Vec::new();
    for (of, plan) in plans.iter().enumerate() {
        let own = plan.episodes().enumerate();
        episodes.extend(own.map(|(at, (run, persona))| (at, of, run, persona.id.clone())));
    }
    episodes.sort_by_key(|&(at, of, ..)| (at, of));
    let named = episodes.into_iter();
    named
        .map(|(_, of, run, persona)| (of, run, persona))
        .collect()
}

/// How the episodes ended.
#[derive(Default)]
struct Joined {
    /// Those that came to their end.
    known: EpisodeResults,
    broken: Vec<String>,
    spent: Option<String>,
    setup: Option<String>,
    /// Whether one was stopped before its end.
    stopped: bool,
    /// Whether none was begun, because a model did not pass the preflight.
    refused: bool,
}

impl Joined {
    /// Whether nothing kept an episode from its end.
    fn is_whole(&self) -> bool {
        self.broken.is_empty() && self.spent.is_none() && self.setup.is_none()
    }
}

/// How many may play at once.
#[derive(Clone, Copy)]
struct Room {
    jobs: usize,
    /// Whether the program is near the bound of its memory: then no other begins.
    is_near: fn() -> bool,
}

/// Plays episodes, each begun when one of those before it has left its place, and when it may be opened. What broke outside
/// leaves the others alone and is told at the end; a request that is rejected ends them as an interruption does; the first
/// other error ends the run, after the other episodes.
async fn play_in_order<T, E>(
    episodes: Vec<T>,
    play: impl Fn(T, OwnedSemaphorePermit) -> E,
    room: Room,
    opening: &Arc<Semaphore>,
    tasks: &mut JoinSet<(usize, Result<EpisodeResults, EpisodeError>)>,
    joined: &mut [Joined],
) -> Result<(), RunError>
where
    E: Future<Output = (usize, Result<EpisodeResults, EpisodeError>)> + Send + 'static,
{
    let mut episodes = VecDeque::from(episodes);
    let mut first = Ok(());
    loop {
        // One plays in any case: nobody else would give memory back.
        let is_room = tasks.is_empty() || !(room.is_near)();
        let may_begin = !episodes.is_empty() && tasks.len() < room.jobs && is_room;
        let ended = tokio::select! {
            Ok(place) = Arc::clone(opening).acquire_owned(), if may_begin => {
                if let Some(next) = episodes.pop_front() {
                    tasks.spawn(play(next, place));
                }
                continue;
            }
            Some(ended) = tasks.join_next() => ended,
            () = tokio::time::sleep(LOOK), if !is_room => continue,
            else => return first,
        };
        let (of, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                first = first.and(Err(error.into()));
                continue;
            }
        };
        match ended {
            Err(error) if error.is_infrastructure() => joined[of].broken.push(error.to_string()),
            Err(EpisodeError::Stopped(_)) => joined[of].stopped = true,
            Err(error @ EpisodeError::Spent(_)) => joined[of].spent = Some(error.to_string()),
            // What has begun is paid for, and may end.
            Err(error @ EpisodeError::Uncounted(_)) => joined[of].setup = Some(error.to_string()),
            Err(error @ EpisodeError::Setup { .. }) => {
                joined[of].setup = Some(error.to_string());
                // What is written is whole at any moment.
                tasks.shutdown().await;
                return first;
            }
            Err(error) => first = first.and(Err(error.into())),
            Ok(mut episode) => joined[of].known.append(&mut episode),
        }
    }
}

fn report_planned(
    plans: &[Plan],
    resume: bool,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<(), RunError> {
    let mut sessions = 0;
    let mut finished = 0;
    for plan in plans {
        if resume {
            plan.spending.meter.add(&plan.folder.preflight().total());
        }
        for (run, persona) in plan.episodes() {
            sessions += plan.sessions(persona).count();
            let path = plan.folder.journal(&persona.id, run);
            if resume && path.exists() {
                let events = journal::events(&path)?;
                plan.spending.enter(&events);
                finished += EpisodeState::of(&events, plan.ablate).finished.len();
            }
        }
    }
    // Those side by side have one meter.
    if let Some(plan) = plans.first() {
        plan.spending.recall(last_told(plans))?;
    }
    // Nobody may be listening.
    let _ = progress.send(Progress::Planned { sessions, finished });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn episodes_begin_in_order_and_no_more_of_them_than_there_is_room_for() {
        // Near the bound of memory one plays in any case.
        let near: fn() -> bool = || true;
        let far: fn() -> bool = || false;
        for (jobs, is_near, at_most) in [(1, far, 1), (3, far, 3), (3, near, 1)] {
            let room = Room { jobs, is_near };
            let begun = Arc::new(Mutex::new((Vec::new(), 0, 0)));
            let opening = Arc::new(Semaphore::new(2));
            let play = |number, place: OwnedSemaphorePermit| {
                let begun = Arc::clone(&begun);
                assert!(opening.available_permits() < 2, "it holds one");
                async move {
                    drop(place);
                    {
                        let (order, playing, most) = &mut *begun.lock().unwrap();
                        order.push(number);
                        *playing += 1;
                        *most = (*most).max(*playing);
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    begun.lock().unwrap().1 -= 1;
                    (0, Ok(EpisodeResults::new()))
                }
            };
            let mut joined = [Joined::default()];
            let (episodes, mut tasks) = ((0..60).collect(), JoinSet::new());
            let ended =
                play_in_order(episodes, play, room, &opening, &mut tasks, &mut joined).await;
            assert!(ended.is_ok());
            let (order, playing, most) = begun.lock().unwrap().clone();
            assert_eq!((playing, most), (0, at_most));
            assert_eq!(order.len(), 60);
            assert!(at_most > 1 || order.is_sorted(), "{order:?}");
        }
    }

    #[tokio::test]
    async fn a_rejected_request_ends_those_that_play_and_begins_no_other() {
        let opening = Arc::new(Semaphore::new(3));
        let begun = Arc::new(Mutex::new(Vec::new()));
        let play = |number: usize, place: OwnedSemaphorePermit| {
            begun.lock().unwrap().push(number);
            async move {
                drop(place);
                if number != 1 {
                    // Until it is ended.
                    std::future::pending::<()>().await;
                }
                let rejected = ModelError::Setup {
                    server: "a/m".into(),
                    reason: "status 401: no".into(),
                    remedy: "check the key".into(),
                };
                (0, Err(EpisodeError::unanswered("p", "s", 3, &rejected)))
            }
        };
        let mut joined = [Joined::default()];
        let (episodes, mut tasks) = ((0..60).collect(), JoinSet::new());
        let room = Room {
            jobs: 3,
            is_near: || false,
        };
        let ended = play_in_order(episodes, play, room, &opening, &mut tasks, &mut joined).await;
        assert!(ended.is_ok() && tasks.is_empty());
        assert_eq!(*begun.lock().unwrap(), [0, 1, 2]);
        assert_eq!(
            joined[0].setup.as_deref(),
            Some("play p/s, turn 3: failed to ask a/m: status 401: no; check the key")
        );
    }
}
