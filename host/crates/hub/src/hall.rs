//! The hub itself: who plays where. Episodes leave the queue for a place, play until they are over or paused, and are gone on
//! with by their journals; runs that are played get their result. One task for each episode, and one at a time that finishes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout_at};

use crate::config::{HubFile, Quotas};
use crate::disk::{Disk, Look};
use crate::finish::{FinishError, Places, Signer, finish, size};
use crate::ledger::{Episode, EpisodeState, Ledger, LedgerError, Run, RunState, Spot};
use crate::pace::{Guesses, Pace};
use crate::preflight::{PreflightError, preflight};
use crate::room::Room;
use crate::seat::Seat;
use pibench_engine::plan::{Machine, Paid, PlanError, Shared};
use pibench_engine::serve::{Endpoint, Service};
use pibench_engine::stop::Scheduler;
use pibench_engine::{AgentRole, Finished, RunError, play};
use pibench_record::folder::Shard;
use pibench_signature::{SignatureError, SigningKey};

/// How often the hub looks who is idle, and what waits.
const TICK: Duration = Duration::from_secs(1);

/// How long a request for an episode that is not in play waits until it is.
const WAIT: Duration = Duration::from_secs(25);

/// How long an episode that something outside broke has to wait.
const AFTER_TROUBLE: Duration = Duration::from_secs(30);

/// How old a measure of a submitter's disk space may be, in an episode.
const MEASURED: Duration = Duration::from_mins(1);

/// Episodes that are opened at once for each thread: each is work for a processor and waits for the disk as long.
const OPENED_BY_WORKER: usize = 4;

/// How often the books are brought to the disk.
const SETTLED: Duration = Duration::from_secs(10);

/// Bytes of a megabyte, as disks have them.
pub(crate) const MEGABYTE: u64 = 1_000_000;

/// Why there is no hub. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Sign(#[from] SignatureError),
    #[error("use the folder {path}: {source}")]
    Folder {
        path: camino::Utf8PathBuf,
        source: std::io::Error,
    },
    #[error("hear signals: {0}")]
    Signals(std::io::Error),
    #[error("go on with the hub: {0}")]
    Broken(#[from] tokio::task::JoinError),
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    #[error(
        "keep to `{bound}`: the price of `{model}` is not known; put it into [models.NAME] of the suite, or into `set` of hub.toml: \"models.NAME.price.input=USD\""
    )]
    Unpriced { bound: String, model: String },
}

/// What every request and every episode shares.
pub struct Hub {
    pub(crate) file: HubFile,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) pace: Pace,
    pub(crate) guesses: Guesses,
    /// For requests that are being read.
    pub(crate) room: Room,
    pub(crate) places: Places,
    /// Of a run.
    pub(crate) episodes: u32,
    shared: Arc<Shared>,
    machine: Machine,
    signer: Arc<Signer>,
    seats: Mutex<HashMap<Spot, Arc<Standing>>>,
    /// Something came into the queue.
    queued: Notify,
    /// An episode has its seat.
    seated: Notify,
    /// To open an episode is work for a processor, and waits for the disk.
    opening: Arc<Semaphore>,
    /// Bytes of requests and answers that are not in the books yet.
    bytes: Mutex<HashMap<String, u64>>,
    disk: Disk,
    closing: AtomicBool,
    /// Failed runs whose folders are to go.
    failed: Mutex<Vec<String>>,
    #[expect(dead_code, reason = "it is held, and not read")]
    lock: File,
}

/// An episode in play.
pub(crate) struct Standing {
    pub(crate) seat: Seat,
    pub(crate) endpoint: Endpoint<Seat>,
    since: Instant,
    before: Duration,
}

/// Why a request for an episode cannot be answered now.
#[derive(Debug)]
pub(crate) enum Away {
    /// It was never opened.
    Absent,
    Over,
    /// With so many before it.
    Queued(u64),
    Closing,
    /// The submitter's room on the disk is full.
    Full,
    /// Models may cost no more today: which bound is met.
    Spent(String),
}

/// What an episode's task came to.
struct Ended {
    spot: Spot,
    played: Duration,
    how: How,
}

enum How {
    Over,
    Paused,
    /// Something outside broke, for the operator.
    Trouble(String),
    /// It cannot be gone on with.
    Lost(String),
}

impl Hub {
    /// Opens the books, and makes the suite ready to be played.
    pub fn open(
        file: HubFile,
        machine: Machine,
        shared: Shared,
        key: SigningKey,
    ) -> Result<Self, HubError> {
        let ledger = Ledger::open(file.data.as_std_path())?;
        let lock = ledger.play()?;
        if let Some(bound) = file.bound_on_money() {
            let models = shared.models(|_| {})?;
            if let Some(client) = models.iter().find(|client| client.price().is_none()) {
                let model = client.spec().to_owned();
                return Err(HubError::Unpriced { bound, model });
            }
        }
        let places = Places::of(&file.data).map_err(|source| HubError::Folder {
            path: file.data.clone(),
            source,
        })?;
        let episodes = u32::try_from(shared.episodes()).unwrap_or(u32::MAX);
        let failed = ledger.failed_runs()?.into_iter();
        let failed = failed.filter(|id| places.run(id).exists()).collect();
        Ok(Self {
            signer: Arc::new(Signer {
                key,
                principal: file.principal.clone(),
            }),
            room: Room::of(&file.limits),
            opening: Arc::new(Semaphore::new(
                OPENED_BY_WORKER * Handle::current().metrics().num_workers(),
            )),
            ledger: Arc::new(ledger),
            shared: Arc::new(shared),
            pace: Pace::default(),
            guesses: Guesses::default(),
            seats: Mutex::default(),
            queued: Notify::new(),
            seated: Notify::new(),
            bytes: Mutex::default(),
            disk: Disk::default(),
            closing: AtomicBool::new(false),
            failed: Mutex::new(failed),
            lock,
            file,
            machine,
            places,
            episodes,
        })
    }

    /// Asks the models of user and judge one small question each, so that none of them fails a submitter's first episode; how it
    /// went, a line for each that was asked.
    pub async fn preflight(&self) -> Result<Vec<String>, HubError> {
        Ok(preflight(&self.shared, &self.ledger).await?)
    }

    /// Plays what is queued and finishes what is played, until a signal asks to stop and what plays has ended. In a task of its
    /// own: who answers requests beside it would wait for its work on the books.
    pub async fn attend(self: &Arc<Self>) -> Result<(), HubError> {
        let signals = Scheduler::heard().map_err(HubError::Signals)?;
        tokio::spawn(Arc::clone(self).attend_alone(signals)).await?
    }

    async fn attend_alone(self: Arc<Self>, mut signals: Scheduler) -> Result<(), HubError> {
        let mut playing: JoinSet<Ended> = JoinSet::new();
        let mut chores: JoinSet<(Run, Result<(), FinishError>)> = JoinSet::new();
        let mut tasks: HashMap<tokio::task::Id, Spot> = HashMap::new();
        // Runs that could not be finished: not tried again by this process.
        let mut unfinished: HashSet<String> = HashSet::new();
        let mut settling = Settling::default();
        loop {
            if self.is_closing() {
                if playing.is_empty() && chores.is_empty() {
                    self.keep_bytes()?;
                    return Ok(self.ledger.settle()?);
                }
            } else {
                while playing.len() < self.file.limits.episodes as usize
                    && let Some((spot, run, episode)) = self.ledger.next()?
                {
                    let hub = Arc::clone(&self);
                    let task = playing.spawn(hub.play(spot.clone(), run, episode));
                    tasks.insert(task.id(), spot);
                }
                if chores.is_empty() {
                    self.finish_next(&mut chores, &unfinished)?;
                }
            }
            tokio::select! {
                Some(ended) = playing.join_next_with_id() => {
                    let ended = match ended {
                        Ok((id, ended)) => {
                            tasks.remove(&id);
                            ended
                        }
                        Err(error) => {
                            let Some(spot) = tasks.remove(&error.id()) else { continue };
                            let how = How::Trouble(error.to_string());
                            Ended { spot, played: Duration::ZERO, how }
                        }
                    };
                    self.settle(ended)?;
                }
                Some(done) = chores.join_next() => if let Ok((run, done)) = done {
                    self.note_finished(&run, done, &mut unfinished)?;
                },
                () = self.queued.notified() => {}
                () = sleep(TICK) => {
                    self.look_round()?;
                    self.remove_failed(&tasks);
                    settling.go_on(&self.ledger);
                }
                () = signals.says_stop() => self.close(),
                _ = tokio::signal::ctrl_c() => self.close(),
            }
        }
    }

    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.seated.notify_waiters();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Says that an episode was queued.
    pub(crate) fn wake(&self) {
        self.queued.notify_one();
    }

    pub(crate) fn quotas(&self, name: &str) -> Quotas {
        self.file.quotas(name)
    }

    /// The episode's seat, when it is in play; waits for that a while.
    pub(crate) async fn seat(&self, spot: &Spot, name: &str) -> Result<Arc<Standing>, HubOrAway> {
        let until = tokio::time::Instant::now() + WAIT;
        let mut looked: Option<Instant> = None;
        loop {
            let seated = self.seated.notified();
            tokio::pin!(seated);
            seated.as_mut().enable();
            if let Some(standing) = self.seats().get(spot) {
                return Ok(Arc::clone(standing));
            }
            if self.is_closing() {
                return Err(Away::Closing.into());
            }
            if looked.is_none_or(|at| at.elapsed() >= TICK) {
                looked = Some(Instant::now());
                let episode = self.ledger.episode(spot)?;
                match episode.map(|episode| episode.state) {
                    Some(EpisodeState::Paused) if self.is_full(name) => {
                        return Err(Away::Full.into());
                    }
                    Some(EpisodeState::Paused) => {
                        if let Some(why) = self.lacks_money(name)? {
                            return Err(Away::Spent(why).into());
                        }
                        self.ledger.queue(spot)?;
                        self.wake();
                    }
                    Some(EpisodeState::Queued | EpisodeState::Playing) => {}
                    Some(EpisodeState::Over) => return Err(Away::Over.into()),
                    None => return Err(Away::Absent.into()),
                }
            }
            let soon = (tokio::time::Instant::now() + TICK).min(until);
            let _ = timeout_at(soon, seated).await;
            if tokio::time::Instant::now() >= until {
                return Err(Away::Queued(self.ledger.before(spot)?).into());
            }
        }
    }

    /// Counts bytes of the submitter's day; they are in the books a moment later.
    pub(crate) fn add_bytes(&self, name: &str, bytes: usize) {
        let mut all = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(name.to_owned()).or_default() += bytes as u64;
    }

    /// Bytes of the submitter's day.
    pub(crate) fn bytes(&self, name: &str) -> Result<u64, LedgerError> {
        let waiting = {
            let all = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(name).copied().unwrap_or_default()
        };
        Ok(self.ledger.used(name)?.bytes + waiting)
    }

    fn keep_bytes(&self) -> Result<(), LedgerError> {
        let all = std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner));
        for (name, bytes) in all {
            self.ledger.add_bytes(&name, bytes)?;
        }
        Ok(())
    }

    /// What is kept of a submitter's runs, in bytes: measured now, or a moment ago.
    pub(crate) async fn measure(self: &Arc<Self>, name: &str) -> Result<u64, LedgerError> {
        let turn = match self.disk.look(name).await {
            Look::Known(bytes) => return Ok(bytes),
            Look::Turn(turn) => turn,
        };
        let (hub, name) = (Arc::clone(self), name.to_owned());
        // It goes on, and holds its turn, when nobody waits for it any more.
        let measured = tokio::task::spawn_blocking(move || -> Result<u64, LedgerError> {
            let places = &hub.places;
            let of = |id: &String| {
                let archive = std::fs::metadata(places.archive(id)).map_or(0, |data| data.len());
                size(places.run(id).as_std_path()) + archive
            };
            let bytes: u64 = hub.ledger.ids_of(&name)?.iter().map(of).sum();
            hub.disk.put(&name, bytes, turn);
            Ok(bytes)
        });
        measured.await.unwrap_or(Ok(0))
    }

    /// Whether the submitter's room was full when it was measured last.
    pub(crate) fn is_full(&self, name: &str) -> bool {
        let most = u64::from(self.quotas(name).disk_megabytes) * MEGABYTE;
        self.disk.last(name).is_some_and(|(_, bytes)| bytes >= most)
    }

    /// Why models may cost no more today for the submitter's episodes.
    pub(crate) fn lacks_money(&self, name: &str) -> Result<Option<String>, LedgerError> {
        self.ledger.lacks_money(name, self.file.purse(name))
    }

    /// Keeps what models cost for the submitter's episodes, as each answer comes.
    fn paid_for(&self, name: &str) -> impl Paid + use<> {
        let (ledger, name) = (Arc::clone(&self.ledger), name.to_owned());
        move |sum| {
            if let Err(error) = ledger.pay(&name, sum) {
                tracing::error!("failed to count {sum} for {name}: {error}");
            }
        }
    }

    /// A run has no result and never will. What is kept of it goes when nothing plays in it.
    pub(crate) fn fail(&self, run: &str, why: &str) -> Result<(), LedgerError> {
        self.ledger.end_run(run, RunState::Failed, Some(why))?;
        let of_run: Vec<Spot> = {
            let seats = self.seats();
            seats
                .keys()
                .filter(|spot| spot.run == run)
                .cloned()
                .collect()
        };
        for spot in of_run {
            self.let_go(&spot);
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.push(run.to_owned());
        Ok(())
    }

    fn let_go(&self, spot: &Spot) {
        if let Some(standing) = self.seats().remove(spot) {
            standing.seat.let_go();
        }
    }

    fn seats(&self) -> std::sync::MutexGuard<'_, HashMap<Spot, Arc<Standing>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn play(self: Arc<Self>, spot: Spot, run: Run, episode: Episode) -> Ended {
        let begun = Instant::now();
        let how = self.try_play(&spot, &run, &episode).await;
        self.seats().remove(&spot);
        Ended {
            spot,
            played: begun.elapsed(),
            how,
        }
    }

    async fn try_play(self: &Arc<Self>, spot: &Spot, run: &Run, episode: &Episode) -> How {
        // It is never closed.
        let Ok(opening) = Arc::clone(&self.opening).acquire_owned().await else {
            return How::Paused;
        };
        match self.lacks_money(&run.name) {
            Ok(None) => {}
            // Who asks for it is told.
            Ok(Some(_)) => return How::Paused,
            Err(error) => return How::Trouble(told(&error)),
        }
        let dir = self.places.part(&spot.run, spot.number);
        let paid = self.paid_for(&run.name);
        let plan = if dir.join("manifest.json").exists() {
            self.shared.go_on(&dir, paid)
        } else {
            let shard = Shard {
                index: spot.number,
                of: run.episodes,
            };
            let agent = format!("{}:{}", AgentRole::EXTERNAL, run.agent);
            self.shared.begin(&agent, shard, &dir, paid)
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(error @ PlanError::Disk(_)) => return How::Trouble(told(&error)),
            Err(error) => return How::Lost(told(&error)),
        };
        let outside = match &plan.roles.agent {
            AgentRole::External(external) => external.outside(),
            _ => None,
        };
        let Some(outside) = outside else {
            return How::Lost("play an agent that is not one from outside".into());
        };
        // Nobody follows it but by its folder.
        let (progress, _) = mpsc::unbounded_channel();
        let playing = play(plan, true, progress);
        tokio::pin!(playing);
        let service = tokio::select! {
            ended = &mut playing => return how(ended),
            service = Service::new(outside) => service,
        };
        drop(opening);
        let quotas = self.quotas(&run.name);
        let ledger = Arc::clone(&self.ledger);
        let open = service.open().await;
        let seat = Seat::new(
            service,
            spot.clone(),
            run.name.clone(),
            self.file.purse(&run.name),
            quotas,
            ledger,
            open.filter(|_| episode.turn_open),
        );
        let most = self.file.limits.request_kib as usize * 1024;
        let standing = Standing {
            endpoint: seat.endpoint(&self.file.hosts, most),
            seat: seat.clone(),
            since: Instant::now(),
            before: Duration::from_secs(episode.seconds),
        };
        self.seats().insert(spot.clone(), Arc::new(standing));
        // The run may have failed while this was on its way.
        if !matches!(self.ledger.run(&run.id), Ok(Some(run)) if run.state == RunState::Open) {
            self.let_go(spot);
        }
        self.seated.notify_waiters();
        let ended = playing.await;
        match how(ended) {
            // It ends so when the hub lets go of it.
            How::Trouble(_) if seat.is_let_go() => How::Paused,
            how => how,
        }
    }

    fn settle(&self, ended: Ended) -> Result<(), HubError> {
        let Ended { spot, played, how } = ended;
        let (state, wait) = match &how {
            How::Over => (EpisodeState::Over, Duration::ZERO),
            How::Paused => (EpisodeState::Paused, Duration::ZERO),
            How::Trouble(_) | How::Lost(_) => (EpisodeState::Paused, AFTER_TROUBLE),
        };
        self.ledger.stop(&spot, state, played, wait)?;
        match how {
            How::Trouble(reason) => {
                tracing::error!(run = %spot.run, episode = spot.number, "failed to {reason}");
            }
            How::Lost(reason) => {
                tracing::error!(run = %spot.run, episode = spot.number, "failed to {reason}");
                self.fail(&spot.run, "the host cannot go on with it")?;
            }
            How::Over | How::Paused => {}
        }
        Ok(())
    }

    /// Looks who is idle, for how long episodes play, whose token was revoked, and what has to be measured.
    fn look_round(self: &Arc<Self>) -> Result<(), HubError> {
        self.keep_bytes()?;
        let all: Vec<(Spot, Arc<Standing>)> = {
            let seats = self.seats();
            let all = seats.iter();
            all.map(|(spot, standing)| (spot.clone(), Arc::clone(standing)))
                .collect()
        };
        let names: BTreeSet<&str> = all
            .iter()
            .map(|(_, standing)| standing.seat.name())
            .collect();
        let (mut out, mut spent) = (HashSet::new(), HashSet::new());
        for name in names {
            if self.lacks_money(name)?.is_some() {
                spent.insert(name.to_owned());
            }
            if !self.ledger.is_valid(name)? {
                out.insert(name.to_owned());
            }
            let measured = self.disk.last(name);
            if measured.is_none_or(|(at, _)| at.elapsed() >= MEASURED) {
                self.measure_later(name);
            }
        }
        for (spot, standing) in all {
            let quotas = standing.seat.quotas();
            let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
            let idle = standing.seat.idle_since().map(|since| since.elapsed());
            if standing.before + standing.since.elapsed() > minutes(quotas.hours * 60) {
                let why = format!("an episode was played for more than {} hours", quotas.hours);
                self.fail(&spot.run, &why)?;
            } else if out.contains(standing.seat.name())
                // Who has a message may still answer it: the next one is not handed out.
                || (spent.contains(standing.seat.name()) && !standing.seat.in_turn())
            {
                self.let_go(&spot);
            } else if idle.is_some_and(|idle| idle > minutes(quotas.idle_minutes))
                || self.is_full(standing.seat.name())
            {
                self.let_go(&spot);
                // A turn that is played twice is counted, whatever the agent did to have it so.
                if standing.seat.in_turn() && self.ledger.broke_off(&spot)? > quotas.broken_turns {
                    let why = format!(
                        "more than {} turns of an episode were begun and left",
                        quotas.broken_turns
                    );
                    self.fail(&spot.run, &why)?;
                }
            }
        }
        Ok(())
    }

    fn measure_later(self: &Arc<Self>, name: &str) {
        let (hub, name) = (Arc::clone(self), name.to_owned());
        tokio::spawn(async move {
            if let Err(error) = hub.measure(&name).await {
                tracing::error!("failed to {error}");
            }
        });
    }

    /// Begins to finish a run that is played.
    fn finish_next(
        &self,
        chores: &mut JoinSet<(Run, Result<(), FinishError>)>,
        unfinished: &HashSet<String>,
    ) -> Result<(), HubError> {
        let played = self.ledger.played_runs()?;
        let next = played.into_iter().find(|run| !unfinished.contains(&run.id));
        let Some(run) = next else { return Ok(()) };
        let episodes = self.ledger.episodes(&run.id)?;
        let attempt = self.ledger.attempt(&run)?;
        let (machine, places) = (self.machine.clone(), self.places.clone());
        let signer = Arc::clone(&self.signer);
        chores.spawn_blocking(move || {
            let done = finish(&machine, &places, &signer, &run, &episodes, attempt);
            (run, done)
        });
        Ok(())
    }

    fn note_finished(
        &self,
        run: &Run,
        done: Result<(), FinishError>,
        unfinished: &mut HashSet<String>,
    ) -> Result<(), HubError> {
        match done {
            Ok(()) => {
                self.ledger.end_run(&run.id, RunState::Finished, None)?;
                tracing::info!(run = %run.id, submitter = %run.name, "finished");
            }
            Err(error) => {
                tracing::error!(run = %run.id, "failed to {error}; it is tried again when the hub starts");
                unfinished.insert(run.id.clone());
            }
        }
        Ok(())
    }

    /// Removes what is kept of runs that failed, when nothing plays in them any more.
    fn remove_failed(&self, tasks: &HashMap<tokio::task::Id, Spot>) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.retain(|run| {
            if tasks.values().any(|spot| spot.run == *run) {
                return true;
            }
            let (dir, run) = (self.places.run(run), run.clone());
            tokio::task::spawn_blocking(move || {
                if let Err(error) = remove_all(&dir) {
                    tracing::warn!(%run, "what is left of it was not removed: {error}");
                }
            });
            false
        });
    }
}

/// The books on their way to the disk: now and then, and never twice at once.
#[derive(Default)]
struct Settling {
    last: Option<Instant>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Settling {
    fn go_on(&mut self, ledger: &Arc<Ledger>) {
        let is_busy = self.task.as_ref().is_some_and(|task| !task.is_finished());
        if is_busy || self.last.is_some_and(|last| last.elapsed() < SETTLED) {
            return;
        }
        self.last = Some(Instant::now());
        let ledger = Arc::clone(ledger);
        self.task = Some(tokio::task::spawn_blocking(move || {
            if let Err(error) = ledger.settle() {
                tracing::error!("failed to {error}");
            }
        }));
    }
}

fn remove_all(dir: &Utf8Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Why there is no seat.
pub(crate) enum HubOrAway {
    Hub(LedgerError),
    Away(Away),
}

impl From<LedgerError> for HubOrAway {
    fn from(error: LedgerError) -> Self {
        Self::Hub(error)
    }
}

impl From<Away> for HubOrAway {
    fn from(away: Away) -> Self {
        Self::Away(away)
    }
}

fn how(ended: Result<Finished, RunError>) -> How {
    match ended {
        Ok(Finished::Interrupted { .. }) => How::Paused,
        Ok(Finished::All {
            results: _,
            broken,
            spent,
            setup,
            lost: _,
        }) => match setup.or(spent).or(broken.into_iter().next()) {
            None => How::Over,
            Some(reason) => How::Trouble(reason),
        },
        // A hub asks its models by itself.
        Ok(Finished::NotBegun { broken, setup, .. }) => {
            let reason = setup.or(broken.into_iter().next());
            How::Trouble(reason.unwrap_or_default())
        }
        Err(error) => How::Trouble(told(&error)),
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
